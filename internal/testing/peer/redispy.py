"""redis-py's own Lock, for the tests beside it: does what it is told line by line, and answers.

Started with Redis's URL. Its key is the bare name; it sleeps between tries and pushes no signal.
"""

import sys
import threading

import redis
from redis.exceptions import LockError

client = redis.Redis.from_url(sys.argv[1])
locks = {}  # by name, those held


def say(*words):
    print(*words, flush=True)


def new(name, ttl):
    return client.lock(name, timeout=float(ttl), sleep=0.01, thread_local=False)


def lock(name, ttl):
    mine = new(name, ttl)
    if mine.acquire(blocking=False):
        locks[name] = mine
        say("locked", mine.local.token.decode())
    else:
        say("taken")


def wait(name, ttl):
    """Waits in the background."""

    def acquire():
        mine = new(name, ttl)
        mine.acquire()
        locks[name] = mine
        say("acquired", mine.local.token.decode())

    threading.Thread(target=acquire, daemon=True).start()
    say("waiting")


def unlock(name):
    try:
        locks.pop(name).release()
        say("unlocked")
    except LockError:
        say("not held")


def owned(name):
    say("owned", locks[name].owned())


for line in sys.stdin:
    command, *arguments = line.split()
    {"lock": lock, "wait": wait, "unlock": unlock, "owned": owned}[command](*arguments)
