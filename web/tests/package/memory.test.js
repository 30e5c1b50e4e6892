/* memory.test.js - memory is freed; what is too large is an error after which everything works */
import assert from "node:assert/strict";
import { freemem } from "node:os";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { DYNAMIC, KINDS, VECTORS, existsSync, join, memoryBytes, refused, stillWorks, tamis } from "./helper.js";
import { readBytes } from "./vectors.js";

const { Container, Filter } = tamis;
const gc = { skip: globalThis.gc ? false : "node runs without --expose-gc" };
/* Memory of the module is written when it is allocated. */
const large = { skip: freemem() > 4 * 2 ** 30 ? false : "less than 4 GiB of memory are free" };

async function collect() {
    for (let i = 0; i < 4; i++) {
        globalThis.gc();
        await setImmediate();
    }
}

test("dropped filters are collected", gc, async () => {
    const make = () => Filter.create({ kind: "bloom", capacity: 100_000 });
    for (let i = 0; i < 50; i++) make();
    await collect();
    const before = memoryBytes();
    for (let i = 0; i < 10_000; i++) {
        make().add(i);
        if (i % 50 === 49) await collect();
    }
    assert.ok(memoryBytes() - before <= 16 << 20, `${memoryBytes() - before} bytes more; the filters had 1.2 GB`);
});

test("free() frees at once, also after errors", () => {
    const round = () => {
        for (const kind of DYNAMIC) {
            const filter = Filter.create({ kind, capacity: 50_000 });
            filter.addMany(Array.from({ length: 1000 }, (_, i) => `${i}`));
            const copies = [filter.clone(), Filter.open(filter.encode()), filter.convert({})];
            filter.info();
            filter.cells("5");
            refused(() => filter.convert({ format: "guava" }));
            refused(() => Filter.open(filter.encode().subarray(1)));
            [filter, ...copies].forEach((one) => one.free());
        }
        for (const kind of KINDS) Filter.build(Array.from({ length: 1000 }, (_, i) => i), { kind }).free();
        assert.throws(() => Filter.build([1, 2, {}]), TypeError);
        assert.throws(() => Filter.build((function* fail() {
            yield "a";
            throw new Error("of the generator");
        })()), /of the generator/);
        tamis.plan({ n: 1000, fpr: 0.01 });
    };
    round();
    const before = memoryBytes();
    for (let i = 0; i < 30; i++) round();
    assert.ok(memoryBytes() - before <= 1 << 20, `${memoryBytes() - before} bytes more`);
});

test("free twice, and use after free", () => {
    const filter = Filter.create({ capacity: 10 }), other = Filter.create({ capacity: 10 });
    filter.free();
    filter.free();
    const calls = {
        add: () => filter.add("a"), has: () => filter.has("a"), remove: () => filter.remove("a"), count: () => filter.count("a"), hash: () => filter.hash("a"),
        addMany: () => filter.addMany(["a"]), hasMany: () => filter.hasMany([]), removeMany: () => filter.removeMany(["a"]), clone: () => filter.clone(),
        union: () => filter.union(other), unionOf: () => other.union(filter), intersect: () => other.intersect(filter), convert: () => filter.convert({}),
        encode: () => filter.encode(), info: () => filter.info(), cells: () => filter.cells("a"),
    };
    for (const [name, call] of Object.entries(calls)) assert.match(refused(call, "E_ARGUMENT", name).message, /freed/, name);
    assert.throws(() => other.hasMany((function* free() {
        yield "a";
        other.free();
        yield "b";
    })()), /freed/);
    stillWorks();
});

test("a container, and filters that outlive it", { skip: existsSync(join(VECTORS, "parquet")) ? false : "the vectors are not here" }, () => {
    const bytes = readBytes("parquet/duckdb-small-varchar-p0.01.parquet"), container = Container.open(bytes), filter = container.filter(0);
    const has = Array.from({ length: 500 }, (_, i) => container.has(`${i}`));
    container.free();
    container.free();
    for (const call of [() => container.has("a"), () => container.parts(), () => container.format, () => container.filter(0)]) refused(call, "E_ARGUMENT");
    for (let i = 0; i < 50; i++) Filter.create({ kind: "bloom", capacity: 1000 }).add("x");
    assert.deepEqual(has, Array.from({ length: 500 }, (_, i) => filter.has(`${i}`)));
});

test("a batch needs no more memory than a piece", () => {
    const filter = Filter.create({ kind: "bloom", capacity: 300_000 }), keys = BigInt64Array.from({ length: 300_000 }, (_, i) => BigInt(i));
    const before = memoryBytes();
    filter.addMany(keys);
    filter.hasMany(Array.from(keys, (key) => `a text with the number ${key}`));
    assert.equal(memoryBytes(), before);
});

test("what cannot be addressed is an error", () => {
    for (const capacity of [2 ** 32, 2 ** 40, 2 ** 53 - 1]) {
        for (const kind of DYNAMIC) assert.match(refused(() => Filter.create({ kind, capacity })).status, /E_TOO_BIG|E_NOMEM/, kind);
    }
    refused(() => Filter.create({ kind: "bloom", bits: 2 ** 33, hashes: 2 }), "E_TOO_BIG");
    for (const bytes of [2 ** 31, 2 ** 32, 2 ** 33, 2 ** 50]) assert.match(refused(() => Filter.create({ kind: "bloom", capacity: 1e9, bytes })).status, /E_TOO_BIG|E_NOMEM/);
    for (const bits of [2 ** 36, 2 ** 53 - 1]) assert.match(refused(() => Filter.create({ kind: "bloom", bits, hashes: 3 })).status, /E_TOO_BIG|E_NOMEM|E_ARGUMENT/);
    stillWorks();
});

test("filters and keys beyond 2 GiB, and no memory for another", large, () => {
    const filters = [], make = (bits) => Filter.create({ kind: "bloom", bits, hashes: 2 });
    for (let i = 0; i < 3; i++) filters.push(make(8 * 700 * 2 ** 20));
    refused(() => {
        for (;;) filters.push(make(8 * 1000 * 2 ** 20));
    }, "E_NOMEM");
    stillWorks();
    for (const key of ["a", "é", 5, -5n, 2n ** 63n, "k".repeat(10_000_000), "b", 6, 7n, new Uint8Array(30)]) {
        const filter = filters.at(-1);
        filter.add(key);
        assert.ok(filter.has(key) && filter.hasMany([key])[0] === 1, `${key}`.slice(0, 20));
        assert.equal(filter.hash(key), Filter.create({ capacity: 1 }).hash(key));
    }
    filters.forEach((filter) => filter.free());
    stillWorks();
});
