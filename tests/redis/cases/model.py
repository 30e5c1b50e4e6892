"""Random commands against a model in Python, on all kinds of keys at once.

The model knows for each key what is certainly in it.  No item of it may ever be denied; what is
reported as new must not be in it; counts, replies' shapes and errors follow from it.  In between the
server reloads everything, copies, dumps and restores, renames.
"""
import random
from collections import Counter

from resp import Error
from servers import Server
from sizes import some

ITEMS = ["i%d" % i for i in range(2000)] + ["", "\0", "x" * 300]


class Bloom:
    def __init__(self, capacity=100, fixed=False):
        self.items, self.card, self.capacity, self.fixed = set(), 0, capacity, fixed

    def copy(self):
        other = Bloom(self.capacity, self.fixed)
        other.items, other.card = set(self.items), self.card
        return other

    def add(self, item, reply):
        """What a reply to the adding of an item may be."""
        if isinstance(reply, Error):
            assert self.fixed and self.card >= self.capacity and item not in self.items, reply
            assert reply == "ERR non scaling filter is full", reply
            return
        assert reply in (0, 1), reply
        assert not (reply == 1 and item in self.items), "%r was there" % item
        assert not (reply == 1 and self.fixed and self.card >= self.capacity)
        self.card += reply
        self.items.add(item)


class Cuckoo:
    def __init__(self):
        self.items = Counter()

    def copy(self):
        other = Cuckoo()
        other.items = Counter(self.items)
        return other


class World:
    def __init__(self, client):
        self.c = client
        self.keys = {}
        self.false = self.queried = 0

    def some_key(self, kind=None):
        names = [k for k, v in self.keys.items() if kind is None or isinstance(v, kind)]
        return random.choice(names) if names else None

    @staticmethod
    def items(most=30):
        return [random.choice(ITEMS) for _ in range(random.randrange(1, most))]

    # ---- making

    def bf_reserve(self):
        key, fixed = "b%d" % random.randrange(12), random.random() < 0.3
        capacity = random.choice([1, 5, 50, 500, 5000])
        rate = random.choice(["0.01", "0.001", "0.1"])
        words = ["NONSCALING"] if fixed else random.choice([[], ["EXPANSION", "4"], ["EXPANSION", "1"]])
        reply = self.c.call("BF.RESERVE", key, rate, str(capacity), *words)
        if key in self.keys:
            assert reply == "ERR item exists", reply
        else:
            assert reply == "OK", reply
            self.keys[key] = Bloom(capacity, fixed)

    def cf_reserve(self):
        key = "c%d" % random.randrange(12)
        words = random.choice([[], ["EXPANSION", "2"], ["BUCKETSIZE", "4"], ["MAXITERATIONS", "50"]])
        reply = self.c.call("CF.RESERVE", key, str(random.choice([8, 100, 5000])), *words)
        if key in self.keys:
            assert reply == "ERR item exists", reply
        else:
            assert reply == "OK", reply
            self.keys[key] = Cuckoo()

    # ---- adding

    def bf_add(self):
        key, item = "b%d" % random.randrange(12), random.choice(ITEMS)
        reply = self.c.call("BF.ADD", key, item)
        self.keys.setdefault(key, Bloom()).add(item, reply)

    def bf_madd(self):
        key, items = "b%d" % random.randrange(12), self.items(random.choice([30, 30, 30, 300]))
        if random.random() < 0.5:
            replies = self.c.do("BF.MADD", key, *items)
        else:
            replies = self.c.do("BF.INSERT", key, "ITEMS", *items)
        model = self.keys.setdefault(key, Bloom())
        for item, reply in zip(items, replies):
            model.add(item, reply)
        stopped = bool(replies) and isinstance(replies[-1], Error)
        assert len(replies) == len(items) or stopped

    def is_at_its_end(self, key):
        """A cuckoo filter of 8 slots, say, grows to 31 times that."""
        info = self.c.do("CF.INFO", key)
        return info[info.index("Number of filters") + 1] == 31

    def cf_refused(self, key, reply):
        """Was the whole command refused?  Then for want of room."""
        if isinstance(reply, Error):
            assert reply == "Maximum expansions reached" and self.is_at_its_end(key), reply
        return isinstance(reply, Error)

    def cf_add(self):
        key, item = "c%d" % random.randrange(12), random.choice(ITEMS)
        reply = self.c.call("CF.ADD", key, item)
        model = self.keys.setdefault(key, Cuckoo())
        if not self.cf_refused(key, reply):
            assert reply == 1
            model.items[item] += 1

    def cf_addnx(self):
        key, item = "c%d" % random.randrange(12), random.choice(ITEMS)
        reply = self.c.call("CF.ADDNX", key, item)
        model = self.keys.setdefault(key, Cuckoo())
        if not self.cf_refused(key, reply):
            assert not (reply == 1 and model.items[item] > 0)
            model.items[item] += reply

    def cf_insert(self):
        key, items = "c%d" % random.randrange(12), self.items()
        only_new = random.random() < 0.7
        replies = self.c.call("CF.INSERTNX" if only_new else "CF.INSERT", key, "ITEMS", *items)
        model = self.keys.setdefault(key, Cuckoo())
        if self.cf_refused(key, replies):
            return
        assert len(replies) == len(items)
        for item, reply in zip(items, replies):
            assert reply != -1 or self.is_at_its_end(key), item
            assert reply != 0 or only_new, item
            assert not (only_new and reply == 1 and model.items[item] > 0), item
            model.items[item] += reply == 1

    # ---- queries

    def bf_ask(self):
        key = self.some_key(Bloom)
        if key is None:
            return
        model, items = self.keys[key], self.items(60)
        replies = self.c.do("BF.MEXISTS", key, *items)
        for item, reply in zip(items, replies):
            if item in model.items:
                assert reply == 1, "%s denies %r" % (key, item)
        assert self.c.do("BF.CARD", key) == model.card
        info = self.c.do("BF.INFO", key)
        assert info[info.index("Number of items inserted") + 1] == model.card

    def cf_ask(self):
        key = self.some_key(Cuckoo)
        if key is None:
            return
        model, items = self.keys[key], self.items(60)
        for item, reply in zip(items, self.c.do("CF.MEXISTS", key, *items)):
            if model.items[item] > 0:
                assert reply == 1, "%s denies %r" % (key, item)
            else:
                self.queried += 1
                self.false += reply
        item = random.choice(ITEMS)
        count = self.c.do("CF.COUNT", key, item)
        if model.items[item] <= 4:
            assert count >= model.items[item], (key, item, count, model.items[item])
        assert (count > 0) == (self.c.do("CF.EXISTS", key, item) == 1)

    def cf_del(self):
        """Only of what is there: to delete what is not may hit another that looks the same."""
        key = self.some_key(Cuckoo)
        if key is None:
            return
        model = self.keys[key]
        there = [i for i, n in model.items.items() if n > 0]
        for item in random.sample(there, min(len(there), 20)):
            assert self.c.do("CF.DEL", key, item) == 1, "%s: %r" % (key, item)
            model.items[item] -= 1
        if random.random() < 0.2:
            assert self.c.do("CF.COMPACT", key) == "OK"

    # ---- what every key can do

    def generic(self):
        key = self.some_key()
        if key is None:
            return
        model, fresh = self.keys[key], key[0] + str(random.randrange(12))
        choice = random.randrange(5)
        if choice == 0:
            assert self.c.do("DEL", key) == 1
            del self.keys[key]
        elif choice == 1 and fresh != key:
            self.c.do("RENAME", key, fresh)
            self.keys[fresh] = self.keys.pop(key)
        elif choice == 2 and fresh != key:
            assert self.c.do("COPY", key, fresh, "REPLACE") == 1
            self.keys[fresh] = model.copy()
        elif choice == 3:
            self.c.do("RESTORE", fresh, "0", self.c.do("DUMP", key), "REPLACE")
            self.keys[fresh] = model.copy()
        else:
            verb = "BF" if key[0] == "b" else "CF"
            at, parts = 0, []
            while True:
                at, data = self.c.do(verb + ".SCANDUMP", key, str(at))
                if at == 0:
                    break
                parts.append((at, data))
            if parts:
                self.c.do("DEL", fresh)
                for at, data in parts:
                    self.c.do(verb + ".LOADCHUNK", fresh, str(at), data)
                self.keys[fresh] = model.copy()

    def wrong(self):
        """Errors change nothing."""
        key = self.some_key()
        if key is None:
            return
        other = {"b": ["CF.ADD", key, "x"], "c": ["BF.ADD", key, "x"]}[key[0]]
        for command in (other, ["BF.RESERVE", key, "7", "7"], ["CF.RESERVE", key, "-1"],
                        ["BF.LOADCHUNK", key, "0", "x"], ["CF.LOADCHUNK", key, "0", "x"],
                        ["BF.INFO", key, "NONSENSE"], ["BF.ADD", key], ["GET", key]):
            assert isinstance(self.c.call(*command), Error), command


def _alike(c, one, many, *words):
    """Items one by one in the filter `one`, and many at once in another of the same secret."""
    items = [random.choice(ITEMS) + str(random.randrange(20)) for _ in range(30000)]
    items[5000:5400] = ["often"] * 200 + ["a", "b"] * 100
    c.do("COPY", "one", "many")
    at = 0
    while at < len(items):
        some_items = items[at:at + random.choice([1, 2, 7, 100, 128, 129, 300])]
        at += len(some_items)
        apart = c.many([[one, "one", item] for item in some_items])
        assert c.do(many, "many", *words, *some_items) == apart
    digests = c.do("DEBUG", "DIGEST-VALUE", "one", "many")
    assert digests[0] == digests[1]
    assert c.do(one[:2] + ".INFO", "one") == c.do(one[:2] + ".INFO", "many")
    c.do("FLUSHALL")


def test_many_as_one_by_one():
    """A command of many items replies and leaves what as many commands would, in filters that
    grow on the way."""
    with Server() as server:
        c = server.client()
        c.do("BF.RESERVE", "one", "0.01", "10000")
        _alike(c, "BF.ADD", "BF.MADD")
        c.do("CF.RESERVE", "one", "10000", "ERROR", "0.001")
        _alike(c, "CF.ADD", "CF.INSERT", "ITEMS")
        c.do("CF.RESERVE", "one", "10000", "ERROR", "0.001")
        _alike(c, "CF.ADDNX", "CF.INSERTNX", "ITEMS")


def test_full_within_a_command():
    """The replies end with the item that finds no room, wherever in its batch that is."""
    with Server() as server:
        c = server.client()
        for room in (1, 127, 128, 129, 255, 256, 300):
            for count in (1, 128, 129, 400):
                c.do("DEL", "k")
                c.do("BF.RESERVE", "k", "0.0001", str(room), "NONSCALING")
                replies = c.do("BF.MADD", "k", *["item-%d" % i for i in range(count)])
                new = sum(r for r in replies if not isinstance(r, Error))
                assert new == c.do("BF.CARD", "k") <= room
                assert not any(isinstance(r, Error) for r in replies[:-1])
                if isinstance(replies[-1], Error):
                    assert replies[-1] == "ERR non scaling filter is full" and new == room
                else:
                    assert len(replies) == count


def test_random_commands():
    steps = some(3000, 100000)
    with Server() as server:
        world = World(server.client())
        actions = ([world.bf_madd] * 4 + [world.cf_insert] * 4 + [world.bf_ask] * 6 +
                   [world.cf_ask] * 6 + [world.bf_add] * 4 + [world.cf_add, world.cf_addnx] * 2 +
                   [world.bf_reserve, world.cf_reserve] * 2 + [world.cf_del] * 3 +
                   [world.generic] * 3 + [world.wrong])
        for step in range(steps):
            random.choice(actions)()
            if step % some(500, 5000) == 499:
                server.client().do("DEBUG", "RELOAD")
            if step % 2000 == 1999:  # not all keys full for ever
                world.c.do("FLUSHALL")
                world.keys.clear()
        if world.queried > 5000:
            assert world.false < 0.05 * world.queried, (world.false, world.queried)
        server.check()
