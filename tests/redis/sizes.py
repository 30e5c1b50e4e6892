"""sizes.py - how much a test does: `run --full` sets FULL"""
FULL = False


def some(default, full):
    return full if FULL else default
