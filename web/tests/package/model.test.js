/* model.test.js - random operations on every kind, against exact multisets */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DYNAMIC, KINDS, REMOVABLE, Random, UNITABLE, refused, sameFilter, tamis, times } from "./helper.js";

const { Filter, pack } = tamis;
const FPR = 1e-7;
/* Beyond it a key may stay for good. */
const MOST = { counting: 6, cuckoo: 2 };

const TEXTS = ["", "a", "é", "日本語", "😀", "\ud83d", "x\ude00y", "\0", "a\0b", "0", "-1", "12345678", "ab".repeat(9) + "cd",
    "ab".repeat(10) + "c", "k".repeat(1365), "k".repeat(1366), "ü".repeat(4097), "z".repeat(65_537), "日".repeat(70_000)];
const NUMBERS = [0, -0, 1, -1, 255, 2 ** 31, 2 ** 32, -(2 ** 32), 2 ** 53 - 1, -(2 ** 53) + 1];
const BIGS = [0n, 1n, -1n, 2n ** 53n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 63n, 2n ** 64n - 1n];

/** What decides whether two keys are the same: their bytes. */
function identity(key) {
    if (typeof key === "string") return Buffer.from(new TextEncoder().encode(key)).toString("latin1");
    if (key instanceof Uint8Array) return Buffer.from(key).toString("latin1");
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(key)));
    return bytes.toString("latin1");
}

function randomKey(random) {
    switch (random.below(8)) {
        case 0: return random.pick(random.below(40) === 0 ? TEXTS : TEXTS.slice(0, 14));
        case 1: return random.pick(NUMBERS);
        case 2: return random.pick(BIGS);
        case 3: return random.bytes(random.below(3));
        case 4: return BigInt.asIntN(64, random.big()) >> BigInt(random.below(64));
        case 5: return random.below(100);
        default: return `key-${random.below(200)}`;
    }
}

const randomKeys = (random) => Array.from({ length: random.below(40) }, () => randomKey(random));

/* The same keys in another form; `filter` is used while a generator runs. */
function inSomeForm(random, keys, filter) {
    switch (random.below(4)) {
        case 0: return pack(keys);
        case 1: return (function* generate() {
            for (const key of keys) {
                filter.has("another key, which is longer than twenty characters");
                filter.hasMany(["some", "others"]);
                yield key;
            }
        })();
        case 2: return { [Symbol.iterator]: () => keys[Symbol.iterator](), length: -5, size: "wrong" };
        default: return keys;
    }
}

class Machine {
    constructor(kind, random) {
        Object.assign(this, { kind, random, model: new Map(), most: MOST[kind] ?? Infinity });
        this.options = { kind, fpr: FPR, seed: random.big(), ...(kind === "growing" && random.below(2) ? {} : { capacity: 4000 }) };
        this.filter = Filter.create(this.options);
    }
    countOf(key) {
        return this.model.get(identity(key)) ?? 0;
    }
    note(key, more) {
        this.model.set(identity(key), this.countOf(key) + more);
    }
    /* Keys that can be added without saturating a counter. */
    addable(keys) {
        const more = new Map();
        return keys.filter((key) => {
            const id = identity(key), count = (more.get(id) ?? 0) + 1;
            more.set(id, count);
            return this.countOf(key) + count <= this.most;
        });
    }
    check(key, name) {
        assert.equal(this.filter.has(key), this.countOf(key) > 0, `${this.kind}: has after ${name}`);
        const counted = this.filter.count(key);
        if (REMOVABLE.includes(this.kind)) assert.ok(counted >= this.countOf(key), `${this.kind}: count after ${name}`);
        assert.equal(counted > 0, this.countOf(key) > 0);
    }

    add() {
        const [key] = this.addable([randomKey(this.random)]);
        if (key === undefined) return;
        assert.equal(this.filter.add(key), this.countOf(key) === 0);
        this.note(key, 1);
        this.check(key, "add");
    }
    addMany() {
        const keys = this.addable(randomKeys(this.random));
        const expected = keys.map((key) => {
            this.note(key, 1);
            return this.countOf(key) === 1 ? 1 : 0;
        });
        assert.deepEqual([...this.filter.addMany(inSomeForm(this.random, keys, this.filter))], expected);
    }
    has() {
        this.check(randomKey(this.random), "others");
    }
    hasMany() {
        const keys = randomKeys(this.random);
        const found = this.filter.hasMany(inSomeForm(this.random, keys, this.filter));
        assert.deepEqual([...found], keys.map((key) => (this.countOf(key) > 0 ? 1 : 0)));
    }
    remove() {
        const key = randomKey(this.random);
        if (!REMOVABLE.includes(this.kind)) {
            refused(() => this.filter.remove(key), "E_NO_REMOVE");
            return;
        }
        assert.equal(this.filter.remove(key), this.countOf(key) > 0);
        if (this.countOf(key) > 0) this.note(key, -1);
        this.check(key, "remove");
    }
    removeMany() {
        if (!REMOVABLE.includes(this.kind)) return;
        const keys = randomKeys(this.random);
        const expected = keys.map((key) => {
            if (this.countOf(key) === 0) return 0;
            this.note(key, -1);
            return 1;
        });
        assert.deepEqual([...this.filter.removeMany(inSomeForm(this.random, keys, this.filter))], expected);
    }
    union() {
        if (!UNITABLE.includes(this.kind) || this.random.below(4) > 0) return;
        const keys = this.addable(randomKeys(this.random)), other = Filter.create(this.options);
        other.addMany(keys);
        assert.equal(this.filter.union(other), this.filter);
        for (const key of keys) this.note(key, 1);
        other.free();
    }
    replace() {
        const before = this.filter, how = this.random.below(2);
        this.filter = how === 0 ? before.clone() : Filter.open(before.encode());
        sameFilter(before, this.filter, `${this.kind}: a copy`);
        before.free();
    }
}

const OPERATIONS = ["add", "add", "addMany", "has", "hasMany", "remove", "removeMany", "union", "replace"];

for (const kind of DYNAMIC) {
    test(`${kind}: random operations`, () => {
        const random = new Random(`model ${kind}`);
        for (let round = 0; round < times(3); round++) {
            const machine = new Machine(kind, random);
            for (let i = 0; i < 500; i++) machine[random.pick(OPERATIONS)]();
            for (const [id, count] of machine.model) machine.check(Uint8Array.from(Buffer.from(id, "latin1")), `all, ${count}`);
            machine.filter.free();
        }
    });
}

test("intersection has every key that is in both", () => {
    for (const kind of ["bloom", "block"]) {
        const options = { kind, capacity: 1000, fpr: 0.001 };
        const [a, b] = [Filter.create(options), Filter.create(options)];
        a.addMany(["1", "2", "3"]);
        b.addMany(["2", "3", "4"]);
        assert.deepEqual([...a.intersect(b).hasMany(["1", "2", "3", "4"])], [0, 1, 1, 0]);
    }
});

test("a built filter is that of its keys in any order and form", () => {
    const random = new Random("build");
    for (const kind of KINDS) {
        for (let round = 0; round < times(5); round++) {
            const keys = [...randomKeys(random), ...TEXTS, ...NUMBERS, ...BIGS], options = { kind, seed: random.big() };
            const filter = Filter.build(keys, options);
            assert.ok(filter.hasMany(keys).every((one) => one === 1), kind);
            for (const key of keys) assert.ok(filter.has(key), kind);
            sameFilter(filter, Filter.build([...keys].reverse(), options), `${kind}: in another order`);
            sameFilter(filter, Filter.build(inSomeForm(random, keys, filter), options), `${kind}: in another form`);
        }
    }
});

/* ---- batches: pieces of 4096 keys or 256 KiB */

const FORMS = {
    array: (texts) => texts,
    set: (texts) => new Set(texts),
    generator: (texts) => texts.values(),
    packed: pack,
    bytes: (texts) => texts.map((text) => new TextEncoder().encode(text)),
};

test("batches are single calls, across pieces", () => {
    for (const count of [0, 1, 2, 255, 256, 257, 4095, 4096, 4097, 8191, 8193, 12_289]) {
        const texts = Array.from({ length: count }, (_, i) => (i % 1000 === 7 ? `é${i}` : `key-${i}`));
        const one = Filter.create({ kind: "counting", capacity: 20_000 });
        const fresh = texts.map((text) => (one.add(text) ? 1 : 0));
        for (const [name, form] of Object.entries(FORMS)) {
            const many = Filter.create({ kind: "counting", capacity: 20_000 });
            assert.deepEqual([...many.addMany(form(texts))], fresh, `${name}, ${count}`);
            sameFilter(one, many, `${name}, ${count}`);
            assert.ok(many.hasMany(form([...texts])).every((found) => found === 1));
            assert.equal(many.removeMany(form(texts)).length, count);
            assert.equal(many.hasMany(form(texts)).reduce((sum, found) => sum + found, 0), 0);
            many.free();
        }
        one.free();
    }
});

test("batches of integers", () => {
    for (const count of [0, 1, 4095, 4096, 4097, 9000]) {
        const values = Array.from({ length: count }, (_, i) => BigInt(i - 2000) * 1_000_003n ** 2n);
        const one = Filter.create({ kind: "bloom", capacity: 10_000 });
        for (const value of values) one.add(value);
        for (const keys of [BigInt64Array.from(values), BigUint64Array.from(values), values, BigInt64Array.from([0n, ...values]).subarray(1)]) {
            const many = Filter.create({ kind: "bloom", capacity: 10_000 });
            many.addMany(keys);
            sameFilter(one, many, `${count} integers`);
            assert.ok(many.hasMany(keys).every((found) => found === 1));
        }
    }
});

test("pieces over 256 KiB, and keys longer than a piece", () => {
    const lengths = [262_144, 1, 262_143, 262_145, 0, 131_072, 131_072, 1, 600_000, 2, ...Array.from({ length: 300 }, (_, i) => 3000 + i)];
    const texts = lengths.map((length, i) => `${i}`.padEnd(length, i % 2 ? "é" : "e"));
    const one = Filter.build([], { kind: "bloom", capacity: 1000 });
    for (const text of texts) one.add(text);
    for (const text of texts) assert.ok(one.has(text));
    for (const [name, form] of Object.entries(FORMS)) {
        const many = Filter.create({ kind: "bloom", capacity: 1000 });
        many.addMany(form(texts));
        sameFilter(one, many, name);
        assert.ok(many.hasMany(form(texts)).every((found) => found === 1), name);
    }
});

test("packed keys may begin anywhere in their bytes", () => {
    const filter = Filter.create({ capacity: 10, fpr: 1e-6 });
    const bytes = new TextEncoder().encode("--abcde--");
    filter.addMany({ bytes, offsets: Uint32Array.of(2, 3, 3, 5) });
    assert.deepEqual([...filter.hasMany(["a", "", "bc", "b", "de"])], [1, 1, 1, 0, 0]);
    assert.equal(filter.addMany({ bytes, offsets: new Uint32Array() }).length, 0);
    assert.equal(filter.addMany({ bytes, offsets: Uint32Array.of(4) }).length, 0);
});

test("hash: equal keys have equal hashes, and others do not", () => {
    const filter = Filter.create({ capacity: 10 }), hashes = new Map();
    for (const key of [...TEXTS, ...NUMBERS, ...BIGS]) {
        const hash = filter.hash(key);
        assert.equal(typeof hash, "bigint");
        assert.equal(hashes.get(hash) ?? identity(key), identity(key));
        hashes.set(hash, identity(key));
    }
    assert.equal(hashes.size, new Set([...TEXTS, ...NUMBERS, ...BIGS].map(identity)).size);
});
