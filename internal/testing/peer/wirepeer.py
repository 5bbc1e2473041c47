"""A peer that speaks python-redis-lock's wire through redis-py, for the fault tests: does what it is
told line by line, and answers. Started with Redis's URL. It acquires with SET NX, blocks on the signal
and releases with a script, as python-redis-lock does. A name of - for an expiry means none.
"""

import sys
import threading
import uuid

import redis

client = redis.Redis.from_url(sys.argv[1])
ids = {}  # by name, of the locks held

RELEASE = client.register_script("""
if redis.call("get", KEYS[1]) ~= ARGV[1] then return 1 end
redis.call("del", KEYS[2])
redis.call("lpush", KEYS[2], 1)
redis.call("pexpire", KEYS[2], ARGV[2])
redis.call("del", KEYS[1])
return 0
""")


def say(*words):
    print(*words, flush=True)


def try_lock(name, expire):
    mine = uuid.uuid4().hex
    if not client.set("lock:" + name, mine, nx=True, ex=None if expire == "-" else int(expire)):
        return None
    ids[name] = mine
    return mine


def lock(name, expire):
    say("locked", try_lock(name, expire))


def wait(name, expire):
    """Waits in the background."""

    def acquire():
        while not (mine := try_lock(name, expire)):
            client.blpop("lock-signal:" + name, 0 if expire == "-" else int(expire))
        say("acquired", mine)

    threading.Thread(target=acquire, daemon=True).start()
    say("waiting")


def hear(name):
    """Takes a signal, and does nothing about it: here a process dies that was woken."""

    def pop():
        client.blpop("lock-signal:" + name, 0)
        say("heard")

    threading.Thread(target=pop, daemon=True).start()
    say("hearing")


def unlock(name):
    done = RELEASE(keys=["lock:" + name, "lock-signal:" + name], args=[ids.pop(name), 1000])
    say("not held" if done else "unlocked")


def owner(name):
    value = client.get("lock:" + name)
    say("owner", value.decode() if value else None)


for line in sys.stdin:
    command, *args = line.split()
    try:
        globals()[command](*args)
    except Exception as e:
        say("error", repr(e))
