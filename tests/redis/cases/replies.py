"""Replies, letter by letter, in both protocols: see golden.py."""
import glob
import os

import golden
from servers import Server

_FILES = sorted(glob.glob(os.path.join(os.path.dirname(__file__), "..", "replies", "*.txt")))


def _play(protocol):
    assert len(_FILES) >= 5, "where are the files?"
    wrong = []
    with Server() as server:
        for path in _FILES:
            wrong += golden.play(server.client(protocol), protocol, path)
    assert not wrong, "%d replies:\n%s" % (len(wrong), "\n".join(wrong))


def test_resp2():
    _play(2)


def test_resp3():
    _play(3)
