"""chance.py - false positives that a test must allow for

Each filter has a random secret, so an item that was never added is a false positive in some runs
and not in others.  A test either chooses its items by the replies (new_items, absent) or compares a
number of false positives with a bound that it exceeds in less than one of 10^10 runs (upper_bound).
"""
import math

RARE = 1e-10


def _log_tail(trials, rate, count):
    """A bound of the logarithm of the probability that `count` or more of the trials succeed
    (Chernoff); `count` is above the mean."""
    share = count / trials
    sum_ = count * math.log(share / rate)
    if count < trials:
        sum_ += (trials - count) * math.log((1 - share) / (1 - rate))
    return -sum_


def upper_bound(trials, rate):
    """More successes than this in independent trials of this rate have a probability below RARE."""
    count = int(trials * rate)
    while count < trials and _log_tail(trials, rate, count + 1) > math.log(RARE):
        count += 1
    return count


def new_items(client, key, count, prefix="in"):
    """Adds items to a Bloom filter until `count` of them were new, and returns these."""
    added, tried = [], 0
    while len(added) < count:
        items = ["%s-%d" % (prefix, tried + i) for i in range(count - len(added))]
        tried += len(items)
        replies = client.do("BF.MADD", key, *items)
        added += [item for item, reply in zip(items, replies) if reply == 1]
        assert tried <= 2 * count + 100, "hardly any item is new: %s" % replies[:5]
    return added


def absent(client, verb, *keys):
    """An item that none of the filters reports; `verb` is BF or CF."""
    for item in ("absent-%d" % i for i in range(100)):
        if not any(client.do(verb + ".EXISTS", key, item) for key in keys):
            return item
    raise AssertionError("all items are in %s" % (keys,))
