"""The python-redis-lock side of the interop tests: does what it is told line by line, and answers.

Started with Redis's URL. A name of - for an expiry means none.
"""

import sys
import threading
import time

import redis
import redis_lock

client = redis.Redis.from_url(sys.argv[1])
locks = {}  # by name, those held
printing = threading.Lock()


def say(*words):
    with printing:
        print(*words, flush=True)


def new(name, expire, **options):
    return redis_lock.Lock(client, name, expire=None if expire == "-" else int(expire), **options)


def lock(name, expire):
    locks[name] = new(name, expire)
    locks[name].acquire()
    say("locked", locks[name].id)


def wait(name, expire):
    """Waits in the background."""

    def acquire():
        mine = new(name, expire)
        mine.acquire()
        locks[name] = mine
        say("acquired", mine.id)

    threading.Thread(target=acquire, daemon=True).start()
    say("waiting")


def unlock(name):
    try:
        locks.pop(name).release()
        say("unlocked")
    except redis_lock.NotAcquired:
        say("not held")


def owner(name):
    say("owner", new(name, "-").get_owner_id())


def extend(name, expire, owner_id):
    new(name, expire, id=owner_id).extend()
    say("extended")


def reset(name):
    new(name, "-").reset()
    say("reset")


def reset_all():
    redis_lock.reset_all(client)
    say("reset all")


def increment(name, key, times):
    for _ in range(int(times)):
        with new(name, "20"):
            client.set(key, int(client.get(key) or 0) + 1)
    say("incremented")


def crowd(name, key, hold, pause):
    """Takes the lock again and again, until the process ends, and counts how often."""

    def work():
        while True:
            with new(name, "60"):
                client.incr(key)
                time.sleep(float(hold))
            time.sleep(float(pause))

    threading.Thread(target=work, daemon=True).start()
    say("working")


for line in sys.stdin:
    command, *args = line.split()
    try:
        globals()[command](*args)
    except Exception as e:
        say("error", repr(e))
