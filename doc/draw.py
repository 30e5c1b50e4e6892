#!/usr/bin/env python3
"""draw.py: draws the figures of doc/theory.md, doc/architecture.svg and doc/terminal.svg.

Usage: python3 doc/draw.py    (tests/check_links compares the figures with its output)

Every figure is a light card with dark ink, so it reads on light and dark pages.  The curves are
computed here from the formulas of theory.md; the bits per key are the output of `tamis plan`.
"""
import math
import os
from html import escape

INK, SOFT, RULE, PAPER, CELL = "#1f2933", "#52606d", "#9aa5b1", "#fcfcf9", "#ffffff"
BLUE, RED, GREEN, GOLD, PURPLE, PINK = "#0b6fa4", "#c2410c", "#0f766e", "#b7791f", "#7c3aed", "#be185d"
PALE = {BLUE: "#d6ebf7", RED: "#fde3d6", GREEN: "#d3f0ea", GOLD: "#fbecc8", PURPLE: "#e8defc",
        RULE: "#e7ebef"}


class Figure:
    def __init__(self, name, width, height, title):
        self.name, self.width, self.height, self.title = name, width, height, title
        self.parts = []

    def text(self, x, y, words, size=13, fill=INK, anchor="middle", weight=None, mono=False, style=None):
        extra = f' font-weight="{weight}"' if weight else ""
        extra += ' font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace"' if mono else ""
        extra += f' font-style="{style}"' if style else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" '
                          f'text-anchor="{anchor}"{extra}>{escape(words)}</text>')

    def rect(self, x, y, w, h, fill=CELL, stroke=RULE, radius=0, width=1, dash=None):
        extra = f' rx="{radius}"' if radius else ""
        extra += f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" fill="{fill}" '
                          f'stroke="{stroke}" stroke-width="{width}"{extra}/>')

    def path(self, d, stroke=INK, width=1.5, arrow=False, dash=None, fill="none"):
        extra = f' marker-end="url(#{stroke[1:]})"' if arrow else ""
        extra += f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<path d="{d}" fill="{fill}" stroke="{stroke}" stroke-width="{width}"{extra}/>')

    def line(self, x1, y1, x2, y2, stroke=INK, width=1.5, arrow=False, dash=None):
        self.path(f"M{x1:g} {y1:g}L{x2:g} {y2:g}", stroke, width, arrow, dash)

    def drop(self, x1, y1, x2, y2, stroke=INK, width=1.5, arrow=True, dash=None):
        """A curve that leaves and arrives vertically."""
        middle = (y1 + y2) / 2
        self.path(f"M{x1:g} {y1:g}C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}", stroke, width, arrow, dash)

    def dot(self, x, y, radius=4, fill=INK):
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius}" fill="{fill}"/>')

    def cells(self, x, y, values, size=26, height=None, tint=None, mono=True, font=13):
        """A row of cells; `tint` maps a cell's number to its colour."""
        height = height or size
        for i, value in enumerate(values):
            color = (tint or {}).get(i)
            self.rect(x + i * size, y, size, height, PALE.get(color, CELL), color or RULE)
            if value != "":
                self.text(x + (i + 0.5) * size, y + height / 2 + font * 0.36, str(value), font,
                          color or (SOFT if value in (0, "0") else INK), mono=mono,
                          weight="bold" if color else None)

    def chip(self, x, y, words, color, width=None):
        """A key: a rounded label, centred at x."""
        width = width or 10 * len(words) + 18
        self.rect(x - width / 2, y - 13, width, 26, PALE[color], color, radius=13)
        self.text(x, y + 4.5, words, 13, color, weight="bold")

    def save(self, directory):
        markers = "".join(
            f'<marker id="{c[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6.5" markerHeight="6.5" '
            f'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="{c}"/></marker>'
            for c in (INK, SOFT, RULE, BLUE, RED, GREEN, GOLD, PURPLE))
        with open(os.path.join(directory, self.name + ".svg"), "w", encoding="utf-8") as file:
            file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                       f'width="{self.width}" height="{self.height}" role="img" '
                       'font-family="system-ui, DejaVu Sans, Helvetica, Arial, sans-serif">\n'
                       f"<title>{escape(self.title)}</title>\n<defs>{markers}</defs>\n"
                       f'<rect x="0.5" y="0.5" width="{self.width - 1}" height="{self.height - 1}" rx="8" '
                       f'fill="{PAPER}" stroke="#d9dee3"/>\n' + "\n".join(self.parts) + "\n</svg>\n")


# ------------------------------------------------------------------ one figure each

def answers():
    f = Figure("answers", 760, 230, "A filter in front of an exact but slow set")
    f.chip(80, 115, "key", BLUE, 70)
    f.line(118, 115, 182, 115, SOFT, arrow=True)
    f.rect(186, 75, 150, 80, PALE[GOLD], GOLD, 6)
    f.text(261, 108, "filter", 16, weight="bold")
    f.text(261, 130, "a few bits per key", 12, SOFT)
    f.path("M336 95C400 60 420 50 470 50", GREEN, arrow=True)
    f.text(478, 47, "“no”: definitely not in the set", 14, GREEN, "start", "bold")
    f.text(478, 66, "always right; the lookup is saved", 12, SOFT, "start")
    f.path("M336 135C400 165 400 165 446 165", RED, arrow=True)
    f.text(392, 148, "“maybe”", 14, RED, "middle", "bold")
    f.rect(450, 135, 128, 60, CELL, RULE, 6)
    f.text(514, 161, "the real set", 14, weight="bold")
    f.text(514, 180, "disk, network", 12, SOFT)
    f.line(578, 152, 612, 152, SOFT, arrow=True)
    f.line(578, 178, 612, 178, SOFT, arrow=True)
    f.text(618, 156, "a member", 13, INK, "start")
    f.text(618, 182, "a false positive", 13, RED, "start", "bold")
    return f


def bloom():
    f = Figure("bloom", 760, 330, "Bloom filter: inserting two keys, looking up two others")
    x, y, size = 68, 128, 26
    apple, pear, plum, fig = (2, 9, 17), (5, 14, 21), (5, 12, 20), (2, 14, 21)
    bits = [0] * 24
    for i in apple + pear:
        bits[i] = 1
    at = lambda i: x + (i + 0.5) * size
    f.text(24, 44, "insert", 13, SOFT, "start", "bold")
    f.text(24, 296, "look up", 13, SOFT, "start", "bold")
    f.chip(220, 40, "apple", BLUE)
    f.chip(470, 40, "pear", GREEN)
    for i in apple:
        f.drop(220, 54, at(i), y - 4, BLUE)
    for i in pear:
        f.drop(470, 54, at(i), y - 4, GREEN)
    tint = {i: BLUE for i in apple} | {i: GREEN for i in pear}
    f.cells(x, y, bits, size, tint=tint)
    for i in range(0, 24):
        f.text(at(i), y + size + 14, str(i), 9, SOFT)
    f.chip(320, 292, "plum", GOLD)
    f.chip(520, 292, "fig", RED)
    for i in plum:
        f.drop(320, 278, at(i), y + size + 22, GOLD, dash="4 3")
    for i in fig:
        f.drop(520, 278, at(i), y + size + 22, RED, dash="4 3")
    f.text(280, 297, "bits 12 and 20 are 0: “no”", 12, GOLD, "end", "bold")
    f.text(552, 297, "all three are 1: “maybe”", 12, RED, "start", "bold")
    f.text(552, 313, "wrong: a false positive", 12, SOFT, "start")
    return f


def axis_plot(f, left, top, width, height, xs, ys, x_label, y_label, x_of, y_of):
    f.rect(left, top, width, height, CELL, RULE)
    for value, words in xs:
        f.line(x_of(value), top, x_of(value), top + height, PALE[RULE], 1)
        f.text(x_of(value), top + height + 17, words, 11, SOFT)
    for value, words in ys:
        f.line(left, y_of(value), left + width, y_of(value), PALE[RULE], 1)
        f.text(left - 7, y_of(value) + 4, words, 11, SOFT, "end")
    f.text(left + width / 2, top + height + 36, x_label, 12, INK)
    f.text(left, top - 10, y_label, 12, INK, "start")


def curve(f, points, x_of, y_of, color, width=2.2, dash=None):
    f.path("M" + "L".join(f"{x_of(a):.1f} {y_of(b):.1f}" for a, b in points), color, width, dash=dash)


def hashes():
    f = Figure("hashes", 760, 300, "False positive rate and share of bits set, by the number of hash functions")
    ratio = 9585059 / 1e6
    rate = lambda k: (1 - math.exp(-k / ratio)) ** k
    fill = lambda k: 1 - math.exp(-k / ratio)
    for left, what in ((70, rate), (450, fill)):
        width, top, height = 270, 46, 190
        x_of = lambda k, left=left: left + (k - 1) / 15 * width
        if what is rate:
            y_of = lambda p: top + (math.log10(0.2) - math.log10(p)) / (math.log10(0.2) - math.log10(0.005)) * height
            ys = [(0.1, "10 %"), (0.05, "5 %"), (0.02, "2 %"), (0.01, "1 %"), (0.005, "0.5 %")]
            label, color = "false positive rate, 9.59 bits per key", RED
        else:
            y_of = lambda p: top + (1 - p) * height
            ys = [(v / 4, f"{25 * v} %") for v in range(5)]
            label, color = "share of bits set", BLUE
        axis_plot(f, left, top, width, height, [(k, str(k)) for k in (1, 4, 7, 10, 13, 16)], ys,
                  "hash functions k", label, x_of, y_of)
        curve(f, [(1 + i / 10, what(1 + i / 10)) for i in range(151)], x_of, y_of, color)
        f.dot(x_of(7), y_of(what(7)), 4.5, color)
        if what is rate:
            f.text(x_of(7), y_of(what(7)) - 14, "k = 7: 1.00 %", 12, color, weight="bold")
        else:
            f.line(left, y_of(0.5), x_of(math.log(2) * ratio), y_of(0.5), SOFT, 1, dash="4 3")
            f.text(x_of(7) + 12, y_of(what(7)) + 16, "k = 7: 51.8 %", 12, color, "start", "bold")
    return f


def overfill():
    f = Figure("overfill", 760, 270, "False positive rate of a Bloom filter below and above its capacity")
    bits, k = 9585059, 7
    rate = lambda n: (1 - math.exp(-k * n / bits)) ** k
    left, top, width, height = 80, 44, 620, 170
    x_of = lambda n: left + n / 3 * width
    y_of = lambda p: top + (0 - math.log10(p)) / 6 * height
    axis_plot(f, left, top, width, height,
              [(v / 2, words) for v, words in enumerate(("0", "½", "1 = the capacity", "1½", "2", "2½", "3"))],
              [(10.0 ** -e, words) for e, words in enumerate(("100 %", "10 %", "1 %", "0.1 %", "0.01 %", "10⁻⁵", "10⁻⁶"))],
              "keys, as a share of the capacity", "false positive rate of a Bloom filter sized for 1 %", x_of, y_of)
    curve(f, [(i / 100, rate(i * 1e4)) for i in range(20, 301)], x_of, y_of, RED)
    for n, words, dx, dy, anchor in ((0.5, "0.025 %", 8, 16, "start"), (1, "1 %", 8, 18, "start"), (2, "15.7 %", 0, 20, "middle")):
        f.dot(x_of(n), y_of(rate(n * 1e6)), 4.5, RED)
        f.text(x_of(n) + dx, y_of(rate(n * 1e6)) + dy, words, 12, RED, anchor, "bold")
    return f


def double():
    f = Figure("double", 760, 190, "Double hashing: k positions from one 64-bit hash")
    x, y, size, count = 60, 104, 20, 32
    at = lambda i: x + (i + 0.5) * size
    f.chip(130, 40, "apple", BLUE)
    f.line(172, 40, 222, 40, SOFT, arrow=True)
    f.text(197, 32, "hash", 11, SOFT)
    f.text(230, 45, "64 bits  →  a = 3,  b = 7", 13, INK, "start", mono=True)
    f.text(700, 45, "position i = (a + i·b) mod m", 13, BLUE, "end", mono=True)
    places = [3 + 7 * i for i in range(4)]
    f.cells(x, y, [""] * count, size, tint={p: BLUE for p in places})
    for i, p in enumerate(places):
        f.text(at(p), y + 15, "1", 12, BLUE, weight="bold", mono=True)
        f.text(at(p), y + 38, f"i = {i}", 11, SOFT)
        if i:
            f.path(f"M{at(places[i - 1]):g} {y - 4}C{at(places[i - 1]) + 30:g} {y - 34} {at(p) - 30:g} {y - 34} {at(p):g} {y - 4}", BLUE, arrow=True)
            f.text((at(p) + at(places[i - 1])) / 2, y - 31, "+ b", 11, SOFT)
    f.text(x + count * size / 2, y + 66, "one hash, then k − 1 additions: no need for k independent hash functions", 12, SOFT)
    return f


def remove():
    f = Figure("remove", 760, 250, "Why a plain Bloom filter cannot remove")
    size = 26
    apple, pear = (1, 5, 9), (5, 7, 11)
    bits = [1 if i in apple + pear else 0 for i in range(13)]
    for x, words in ((24, "apple and pear share bit 5"), (398, "after clearing apple's bits")):
        f.text(x, 32, words, 13, INK, "start", "bold")
    at = lambda x, i: x + (i + 0.5) * size
    x, y = 24, 118
    f.chip(110, 62, "apple", BLUE)
    f.chip(260, 62, "pear", GREEN)
    for i in apple:
        f.drop(110, 76, at(x, i), y - 4, BLUE)
    for i in pear:
        f.drop(260, 76, at(x, i), y - 4, GREEN)
    f.cells(x, y, bits, size, tint={1: BLUE, 9: BLUE, 7: GREEN, 11: GREEN, 5: PURPLE})
    x = 398
    for i in apple:
        bits[i] = 0
    f.cells(x, y, bits, size, tint={7: GREEN, 11: GREEN, 5: RED, 1: RULE, 9: RULE})
    f.chip(570, 210, "pear?", GREEN)
    for i in pear:
        f.drop(570, 196, at(x, i), y + size + 5, RED if i == 5 else GREEN, dash="4 3")
    f.text(528, 215, "bit 5 is 0: “no”", 12, RED, "end", "bold")
    f.text(612, 215, "a false negative", 12, RED, "start", "bold")
    return f


def block():
    f = Figure("block", 760, 330, "Bloom and blocked Bloom: which cache lines a key touches")
    def lines(x, y, touched, words, sub):
        f.text(x, y - 14, words, 13, INK, "start", "bold")
        for row in range(6):
            for column in range(8):
                hit = (row, column) in touched
                f.rect(x + column * 40, y + row * 20, 40, 20, PALE[BLUE] if hit else CELL, RULE)
                if hit:
                    f.rect(x + column * 40 + touched[(row, column)], y + row * 20 + 2, 4, 16, BLUE, BLUE)
        for row in sorted({row for row, _ in touched}):
            f.rect(x, y + row * 20, 320, 20, "none", BLUE, width=2)
        f.text(x, y + 142, sub, 12, SOFT, "start")
    spread = {(0, 1): 11, (0, 5): 25, (2, 3): 30, (2, 6): 6, (3, 0): 18, (4, 7): 9, (5, 2): 21}
    one = {(3, c): o for c, o in enumerate((12, 30, 5, 21, 33, 8, 26, 16))}
    lines(34, 60, spread, "Bloom: k bits anywhere", "several cache lines per key (drawn: five)")
    lines(406, 60, one, "blocked Bloom: k bits in one line", "one cache line per key, one bit in each 64-bit lane")
    y = 248
    f.text(34, y + 17, "hash", 13, SOFT, "start", "bold")
    f.rect(86, y, 210, 28, PALE[GOLD], GOLD, 4)
    f.text(191, y + 18, "upper bits: which line", 12, GOLD, weight="bold")
    f.rect(296, y, 300, 28, PALE[BLUE], BLUE, 4)
    f.text(446, y + 18, "lower bits: which bit of each lane", 12, BLUE, weight="bold")
    f.text(34, y + 56, "A few vector instructions compute the bits of all eight lanes and test them at once, without a branch or a loop.", 12, SOFT, "start")
    return f


def counting():
    f = Figure("counting", 760, 222, "Counting Bloom filter: counters of four bits in place of bits")
    size = 34
    x, y = 60, 96
    at = lambda i: x + (i + 0.5) * size
    apple, pear = (1, 6, 11), (6, 9, 15)
    counts = [0, 1, 0, 2, 0, 1, 2, 0, 0, 1, 0, 3, 0, 0, 1, 1, 0, 0, 15]
    f.chip(180, 36, "apple", BLUE)
    f.chip(420, 36, "pear", GREEN)
    for i in apple:
        f.drop(180, 50, at(i), y - 4, BLUE)
    for i in pear:
        f.drop(420, 50, at(i), y - 4, GREEN)
    f.cells(x, y, counts, size, tint={1: BLUE, 11: BLUE, 9: GREEN, 15: GREEN, 6: PURPLE, 18: RED})
    f.text(at(6), y + 52, "2: both keys", 11, PURPLE, weight="bold")
    f.text(at(18) + 16, y + 52, "15: saturated, never decremented", 11, RED, "end", "bold")
    f.text(x, y + 84, "insert: k counters + 1", 12, INK, "start", mono=True)
    f.text(x + 200, y + 84, "remove: k counters − 1", 12, INK, "start", mono=True)
    f.text(x + 400, y + 84, "look up: none of k is 0", 12, INK, "start", mono=True)
    f.text(x, y + 106, "Four bits per counter: four times the space of a Bloom filter.", 12, SOFT, "start")
    return f


def cuckoo():
    f = Figure("cuckoo", 760, 318, "Cuckoo filter: a fingerprint in one of two windows")
    size = 38
    x, y = 38, 112
    at = lambda i: x + (i + 0.5) * size
    slots = ["3a", "", "7f", "c1", "", "90", "", "15", "5e", "08", "", "d2", "", "b6", "44", "", "e9", ""]
    f.chip(120, 36, "apple", BLUE)
    f.line(162, 36, 212, 36, SOFT, arrow=True)
    f.text(187, 28, "hash", 11, SOFT)
    f.text(220, 41, "fingerprint a7", 13, BLUE, "start", "bold", mono=True)
    f.text(360, 41, "first window 2", 13, INK, "start", mono=True)
    f.text(500, 41, "distance(a7) = 11", 13, INK, "start", mono=True)
    f.cells(x, y, slots, size, 30, tint={2: GOLD, 3: GOLD, 13: GREEN, 14: GREEN})
    f.path(f"M{at(2) - size / 2 + 3} {y - 7}h{2 * size - 6}", GOLD, 3)
    f.path(f"M{at(13) - size / 2 + 3} {y - 7}h{2 * size - 6}", GREEN, 3)
    f.text(at(2) + size / 2, y - 15, "first window", 12, GOLD, weight="bold")
    f.text(at(13) - size / 2 + 3, y - 15, "second window", 12, GREEN, "start", "bold")
    f.path(f"M{at(3) + 26} {y - 8}C{at(6)} {y - 46} {at(10)} {y - 46} {at(13) - 30} {y - 4}", SOFT, arrow=True, dash="4 3")
    f.text(at(8), y - 45, "+ distance", 11, SOFT)
    y2 = y + 84
    f.text(at(7) - size / 2, y + 62, "all four slots are taken: 7f moves to its other window, a7 takes its place", 12, PURPLE, "start")
    slots[2], slots[6] = "a7", "7f"
    f.cells(x, y2, slots, size, 30, tint={2: BLUE, 6: PURPLE})
    f.drop(at(2), y + 32, at(6), y2 - 3, PURPLE)
    f.text(x, y2 + 56, "look up: is a7 in one of the four slots?  remove: empty one such slot.", 12, INK, "start")
    f.text(x, y2 + 76, "A slot also stores which of its two windows it is in, so a fingerprint can move although its key is unknown.", 12, SOFT, "start")
    f.text(x, y2 + 98, "Drawn with windows of 2 slots (tamis uses 2 or 3); a window may begin at any slot, so windows overlap.", 12, SOFT, "start")
    return f


def xor():
    f = Figure("xor", 760, 400, "Xor filter: three slots xor to the fingerprint; building by peeling")
    size = 34
    at = lambda b, i: 60 + b * 226 + (i + 0.5) * size
    y = 100
    f.chip(120, 36, "apple", BLUE)
    f.line(162, 36, 212, 36, SOFT, arrow=True)
    f.text(187, 28, "hash", 11, SOFT)
    f.text(220, 41, "fingerprint 5c, one slot in each third", 13, BLUE, "start", "bold")
    values = (["9e", "21", "b4", "07", "33", "f0"], ["48", "d1", "6a", "95", "1b", "c2"], ["ff", "80", "3c", "27", "e5", "5a"])
    chosen = (1, 3, 0)
    values[0][1], values[1][3], values[2][0] = "21", "95", "e8"
    assert 0x21 ^ 0x95 ^ 0xE8 == 0x5C
    for b in range(3):
        f.cells(60 + b * 226, y, values[b], size, 30, tint={chosen[b]: BLUE})
        f.drop(330, 52, at(b, chosen[b]), y - 4, BLUE)
    f.text(380, y + 58, "21  ⊕  95  ⊕  e8  =  5c :  “maybe”", 15, BLUE, weight="bold", mono=True)
    f.text(380, y + 80, "an absent key's slots xor to a random value: equal with probability 2⁻⁸ for 8 bits", 12, SOFT)
    top = y + 112
    f.text(38, top, "Building: peel keys that have a slot to themselves; then assign in the opposite order.", 13, INK, "start", "bold")
    steps = (("1. a is alone in slot 0", {"a": (0, 2, 4), "b": (1, 2, 5), "c": (1, 3, 5)}, "a", 0),
             ("2. then b is alone in slot 2", {"b": (1, 2, 5), "c": (1, 3, 5)}, "b", 2),
             ("3. then c; now assign c, b, a", {"c": (1, 3, 5)}, "c", 3))
    colors = {"a": BLUE, "b": GREEN, "c": PURPLE}
    for n, (words, keys, peeled, slot) in enumerate(steps):
        left = 38 + n * 240
        f.text(left, top + 28, words, 12, SOFT, "start")
        for j, (key, slots) in enumerate(sorted(keys.items())):
            kx = left + 36 + 70 * "abc".index(key)
            f.chip(kx, top + 54, key, colors[key], 30)
            for s in slots:
                f.drop(kx, top + 68, left + 17 + s * 34, top + 122, colors[key], 2 if key == peeled else 1, arrow=False,
                       dash=None if key == peeled else "3 3")
        f.cells(left, top + 124, [""] * 6, 34, 26, tint={slot: colors[peeled]})
        for s in range(6):
            f.text(left + 17 + s * 34, top + 165, str(s), 10, SOFT)
    return f


def fuse():
    f = Figure("fuse", 760, 252, "Binary fuse filter: slots in neighbouring segments")
    x, y, segment, height = 40, 92, 68, 30
    for s in range(10):
        f.rect(x + s * segment, y, segment, height, CELL if s % 2 else PALE[RULE], RULE)
        f.text(x + (s + 0.5) * segment, y + height + 15, f"segment {s}", 10, SOFT)
    for name, color, first, offsets, kx in (("apple", BLUE, 1, (20, 51, 8, 40), 200), ("pear", GREEN, 3, (47, 12, 30, 60), 370),
                                            ("plum", PURPLE, 6, (33, 10, 55, 24), 580)):
        f.chip(kx, 34, name, color)
        for j, offset in enumerate(offsets):
            sx = x + (first + j) * segment + offset
            f.rect(sx - 4, y, 8, height, color, color)
            f.drop(kx, 48, sx, y - 3, color)
    f.text(40, y + 70, "A key's slots lie in 4 (or 3) consecutive segments; which ones depends on the upper bits of its hash.", 12.5, INK, "start")
    f.path(f"M{x} {y + 92}h150", RED, arrow=True, width=2)
    f.path(f"M{x + 680} {y + 92}h-150", RED, arrow=True, width=2)
    f.text(380, y + 97, "peeling starts at both ends and moves inwards", 13, RED, weight="bold")
    f.text(40, y + 122, "The outer segments have fewer keys, so some slot there has one key only. Each key that is peeled frees", 12, SOFT, "start")
    f.text(40, y + 139, "the next. The middle can therefore be fuller than that of an xor filter: 1.08 slots per key in large sets, not 1.23.", 12, SOFT, "start")
    return f


def ribbon():
    f = Figure("ribbon", 760, 372, "Ribbon filter: a banded system of linear equations")
    size, x, y = 24, 76, 66
    starts = (0, 0, 2, 3, 5, 6, 8, 9, 11, 12)
    rows = ("10110", "11011", "10011", "11101", "10101", "11010", "10111", "11001", "10110", "11111")
    f.text(x + 200, 40, "one row per key, sorted by start", 13, INK, weight="bold")
    for r, (start, row) in enumerate(zip(starts, rows)):
        f.rect(x, y + r * size, 17 * size, size, CELL, PALE[RULE])
        for j, bit in enumerate(row):
            f.rect(x + (start + j) * size, y + r * size, size, size, PALE[BLUE] if bit == "1" else "#eef5fa", BLUE if bit == "1" else RULE)
            f.text(x + (start + j + 0.5) * size, y + r * size + 17, bit, 13, BLUE if bit == "1" else SOFT, mono=True,
                   weight="bold" if bit == "1" else None)
        f.text(x - 10, y + r * size + 17, f"key {r}", 11, SOFT, "end")
    f.text(x + 17 * size + 22, y + 5 * size + 6, "×", 20, INK)
    zx = x + 17 * size + 44
    f.text(zx + 24, 40, "table", 13, GOLD, weight="bold")
    for s in range(10):
        f.rect(zx, y + s * size, 48, size, PALE[GOLD], GOLD)
        f.text(zx + 24, y + s * size + 16, f"slot {s}" if s < 9 else "…", 10, GOLD)
    f.text(zx + 70, y + 5 * size + 6, "=", 20, INK)
    fx = zx + 92
    f.text(fx + 34, 40, "fingerprints", 13, GREEN, weight="bold")
    for r in range(10):
        f.rect(fx, y + r * size, 68, size, PALE[GREEN], GREEN)
        f.text(fx + 34, y + r * size + 16, f"of key {r}", 10, GREEN)
    f.text(40, 334, "A key's 64 coefficients (drawn: 5) start at a position given by its hash. They select the slots whose xor is its", 12, SOFT, "start")
    f.text(40, 352, "fingerprint of r bits. Rows are sorted and narrow, so elimination works in one sweep inside the cache.", 12, SOFT, "start")
    return f


def growing():
    f = Figure("growing", 760, 262, "Growing filter: stages that double in size, with rates that add up to p")
    x, y = 40, 150
    width, stages = 44, (("stage 0", "p/2"), ("stage 1", "p/16"), ("stage 2", "7p/128"), ("stage 3", "49p/1024"))
    for i, (name, rate) in enumerate(stages):
        w = width * 2 ** i
        h = 46
        f.rect(x, y - h, w, h, PALE[BLUE] if i < 3 else CELL, BLUE, 4)
        if i == 3:
            f.rect(x, y - h, w * 0.4, h, PALE[BLUE], BLUE, 4)
        cx = x + w / 2
        f.text(max(cx, x + 21), y + 18, name, 11, SOFT)
        f.text(cx, y + 36, rate, 12.5, RED, weight="bold", mono=True)
        x += w + 14
    f.text(40, 36, "insert: into the newest stage; when it is full, add one of twice the size", 13, INK, "start", "bold")
    f.path("M560 44C590 60 590 70 580 98", BLUE, arrow=True)
    f.text(40, 60, "look up: “maybe” if any stage answers “maybe”", 13, INK, "start", "bold")
    f.text(40, 216, "p/2 + p/16 + 7p/128 + 49p/1024 + …  =  p/2 + p/16 · 1/(1 − 7/8)  =  p", 14, RED, "start", "bold", mono=True)
    f.text(40, 240, "The false positive rates of the stages add up to at most p, however many stages there are.", 12, SOFT, "start")
    return f


def merge():
    f = Figure("merge", 760, 270, "Union and intersection of two Bloom filters")
    size, x = 30, 216
    a = [int(i in (1, 4, 6, 9, 12)) for i in range(16)]  # apple 1, 6, 9; fig 4, 9, 12
    b = [int(i in (2, 4, 6, 9, 12, 14)) for i in range(16)]  # pear 2, 6, 14; fig 4, 9, 12
    rows = (("A: apple, fig", a, BLUE, 30), ("B: pear, fig", b, GREEN, 72),
            ("A OR B", [p | q for p, q in zip(a, b)], PURPLE, 130), ("A AND B", [p & q for p, q in zip(a, b)], RED, 192))
    for words, bits, color, y in rows:
        f.text(x - 14, y + 20, words, 13, color, "end", "bold")
        f.cells(x, y, bits, size, tint={i: color for i, bit in enumerate(bits) if bit})
    f.text(x, 178, "exactly the filter of {apple, pear, fig}", 12, SOFT, "start")
    f.text(x, 240, "contains fig (bits 4, 9, 12). Bit 6 is set by apple in A and by pear in B: the rate", 12, SOFT, "start")
    f.text(x, 256, "can be higher than that of a filter built from {fig} alone.", 12, SOFT, "start")
    return f


def space():
    f = Figure("space", 760, 372, "Bits per key by kind at one million keys, and the bound")
    # tamis plan -n 1M -p RATE --json, families[].bits_per_key
    rates = (0.1, 0.01, 0.001, 1e-4, 1e-6)
    kinds = (("growing", (6.36, 11.64, 17.50, 24.41, 42.78), RULE), ("block", (4.87, 10.12, 15.77, 22.20, 39.49), BLUE),
             ("bloom", (4.82, 9.64, 14.41, 19.27, 28.90), GREEN), ("xor", (4.92, 8.61, 12.30, 17.22, 24.61), PINK), ("cuckoo", (6.52, 9.81, 13.05, 16.85, 23.92), GOLD),
             ("fuse", (4.31, 7.54, 10.78, 15.09, 21.55), PURPLE), ("ribbon", (3.41, 6.74, 9.99, 13.38, 19.98), RED))
    left, top, width, height = 66, 46, 560, 270
    x_of = lambda p: left + (-math.log10(p) - 1) / 5 * width
    y_of = lambda bits: top + (1 - bits / 45) * height
    axis_plot(f, left, top, width, height, [(10.0 ** -e, w) for e, w in ((1, "10 %"), (2, "1 %"), (3, "0.1 %"), (4, "0.01 %"), (5, "10⁻⁵"), (6, "10⁻⁶"))],
              [(v, str(v)) for v in (0, 10, 20, 30, 40)], "false positive rate", "bits per key, one million keys", x_of, y_of)
    ends = {"growing": 0, "block": 0, "bloom": 0, "xor": -9, "cuckoo": 0, "fuse": 1, "ribbon": 6}
    for kind, bits, color in kinds:
        shade = SOFT if color == RULE else color
        curve(f, list(zip(rates, bits)), x_of, y_of, shade)
        for p, b in zip(rates, bits):
            f.dot(x_of(p), y_of(b), 3, shade)
        f.text(left + width + 10, y_of(bits[-1]) + 4 + ends[kind], f"{kind} {bits[-1]:.1f}", 12, shade, "start", "bold")
    curve(f, [(p, -math.log2(p)) for p in rates], x_of, y_of, INK, 1.5, "6 4")
    f.text(left + 12, top + 22, "counting (not drawn): 4 times bloom", 12, SOFT, "start")
    f.text(x_of(10 ** -4.4), y_of(8.3), "bound log₂(1/p)", 12, INK, weight="bold")
    f.line(x_of(10 ** -4.4), y_of(9.7), x_of(10 ** -4.4), y_of(14.2), INK, 1)
    return f


def architecture():
    f = Figure("../architecture", 900, 640, "The parts of tamis, and the steps from a key to a file")
    def box(x, y, w, h, title, sub, color, size=14):
        f.rect(x, y, w, h, PALE[color], color, 6)
        lines = sub if isinstance(sub, tuple) else (sub,)
        top = y + h / 2 - 9 * len(lines) + 5
        f.text(x + w / 2, top, title, size, INK, weight="bold", mono=True)
        for i, words in enumerate(lines):
            f.text(x + w / 2, top + 18 * (i + 1), words, 11.5, SOFT)
    f.text(24, 34, "programs: only the public header", 12, SOFT, "start", "bold")
    rooms = (("client/", "Redis Cluster", RULE), ("cli/", "the command", BLUE), ("redis/", "module", BLUE), ("leveldb/", "filter policy", BLUE),
             ("sqlite/", "extension", BLUE), ("examples/", "use cases", BLUE), ("your program", "C or C++", GREEN))
    for i, (title, sub, color) in enumerate(rooms):
        box(24 + i * 122.5, 46, 112, 54, title, sub, color, 13)
        if i:
            f.line(80 + i * 122.5, 100, 80 + i * 122.5, 129, SOFT, arrow=True)
    f.line(146, 73, 138, 73, SOFT, arrow=True)
    f.rect(24, 132, 852, 34, CELL, INK, 6, 1.5)
    f.text(450, 154, "include/tamis.h", 15, INK, weight="bold", mono=True)
    f.rect(12, 184, 876, 402, "none", RULE, 10, 1, "6 4")
    f.text(24, 203, "src/: the library; a part includes only parts below it", 12, SOFT, "start", "bold")
    f.line(450, 166, 450, 209, INK, arrow=True)
    def layer(y, title, sub, color, x=24, w=852):
        f.rect(x, y, w, 36, PALE[color], color, 6)
        f.text(x + 14, y + 23, title, 14, INK, "start", "bold", mono=True)
        f.text(x + 100, y + 23, sub, 12, SOFT, "start")
    layer(212, "api/", "entry points, one file per chapter of tamis.h; statuses", PURPLE)
    layer(258, "plan/", "kind and size", GOLD, 24, 262)
    layer(258, "file/", "the .tamis format, checksums, atomic save, update in place, journal", GOLD, 300, 576)
    layer(304, "compat/", "one folder per system: Guava, Spark, LevelDB, RocksDB, Parquet, …", GOLD, 300, 576)
    layer(350, "family/", "bloom, block, counting, cuckoo, xor, fuse, ribbon, growing: each an algorithm over one table of bytes", RED)
    layer(396, "build/", "how static filters are made: collect the hashes, cut into shards, peel, solve", RED)
    layer(442, "filter/", "the filter object; what a family and a codec must provide", GREEN)
    layer(488, "hash/", "key to 64 bits: XXH3, or SipHash with a secret", GREEN)
    layer(534, "core/", "bits, bytes, memory, threads, files, processor features", GREEN)
    f.text(24, 617, "from key to file", 12, SOFT, "start", "bold")
    steps = (("key", BLUE, 70), ("64-bit hash", GREEN, 120), ("positions", RED, 110), ("table", RED, 80), ("codec", GOLD, 80), ("file", GOLD, 70))
    x = 150
    for i, (words, color, width) in enumerate(steps):
        f.chip(x + width / 2, 612, words, color, width)
        if i + 1 < len(steps):
            f.line(x + width + 3, 612, x + width + 31, 612, SOFT, arrow=True)
        x += width + 34
    return f


def terminal():
    """doc/terminal.txt is the recorded session; prompts and comments are coloured."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "terminal.txt"), encoding="utf-8") as file:
        session = file.read().rstrip("\n").split("\n")
    width, pitch, top = 16 + max(len(line) for line in session) * 7.83 + 16, 18, 56
    f = Figure("../terminal", math.ceil(width), top + pitch * len(session) + 8, "A session of tamis in a terminal")
    f.rect(0.5, 0.5, f.width - 1, f.height - 1, "#10171f", "#334155", 8)
    for i, color in enumerate(("#f87171", "#fbbf24", "#34d399")):
        f.dot(22 + 18 * i, 20, 5.5, color)
    for row, line in enumerate(session):
        pieces = [(line, "#a7b4c2")]
        if line.startswith("$ "):
            command, mark, comment = line.partition("  #")
            pieces = [("$", "#34d399"), (command[1:], "#f8fafc"), (mark + comment, "#7dd3fc")]
        spans = "".join(f'<tspan fill="{color}">{escape(words)}</tspan>' for words, color in pieces if words)
        f.parts.append(f'<text x="16" y="{top + pitch * row}" font-size="13" xml:space="preserve" '
                       f'font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace">{spans}</text>')
    return f


if __name__ == "__main__":
    target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "theory")
    for draw in (answers, bloom, hashes, overfill, double, remove, block, counting, cuckoo, xor, fuse, ribbon, growing,
                 merge, space, architecture, terminal):
        draw().save(target)
