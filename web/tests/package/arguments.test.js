/* arguments.test.js - wrong types and options are errors that name the option */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KINDS, SECRET, core, refused, stillWorks, tamis } from "./helper.js";

const { Container, Filter, TamisError, detect, expectedFpr, formats, kinds, pack, plan, size } = tamis;
const filter = Filter.create({ kind: "counting", capacity: 100 });

/* Throws a TypeError, RangeError or TamisError whose sentence has the word. */
function wrong(call, word) {
    try {
        call();
    } catch (error) {
        const known = error instanceof TamisError || error.constructor === TypeError || error.constructor === RangeError;
        assert.ok(known, `${call}: ${error.stack}`);
        assert.ok(error.message.toLowerCase().includes(word.toLowerCase()), `${call}: '${error.message}' does not name '${word}'`);
        return;
    }
    assert.fail(`${call}: was accepted`);
}

const WRONG = {
    kind: ["blom", "", null, 5, {}],
    needs: ["speed", ["add", "x"], 5, null],
    capacity: [-1, 1.5, NaN, Infinity, "10", null, 10n, {}],
    fpr: [0, 1, -0.1, 2, NaN, "0.01", null, {}],
    bytes: [-1, 0.5, "1 MiB", null],
    bits: [-1, 1.5, "8", null],
    hashes: [-1, 1.5, "3", null],
    arity: [-3, 1.5, "3", null],
    stage: ["blom", null, 5],
    seed: [0.5, NaN, "1", null, {}, true],
    secret: ["secret", new Uint8Array(15), new Uint8Array(17), null, [1, 2], new ArrayBuffer(16)],
    keyType: ["int", null, 5],
    format: [5, null, {}, "nope", "guavo:x=1"],
    colour: ["red"],
};

test("options of create, build, size and expectedFpr", () => {
    for (const [name, values] of Object.entries(WRONG)) {
        for (const value of values) {
            const options = { capacity: 100, kind: "bloom", ...(name === "format" ? { kind: undefined } : {}), [name]: value };
            const word = name === "kind" || name === "stage" ? "kind" : name === "needs" ? "need" : name === "keyType" ? "key type" : name;
            wrong(() => Filter.create(options), word);
            wrong(() => Filter.build(["a"], options), word);
            wrong(() => size(options), word);
            wrong(() => expectedFpr(options, 10), word);
        }
    }
    for (const options of [null, 5, "bloom", undefined]) wrong(() => size(options), "options");
    for (const options of [null, 5, "bloom"]) wrong(() => Filter.create(options), "options");
    stillWorks();
});

test("options that contradict each other", () => {
    for (const options of [
        { kind: "block", bits: 100 }, { kind: "fuse", arity: 5 }, { kind: "xor", hashes: 3 }, { kind: "bloom", format: "guava" }, { kind: "bloom", needs: "remove" },
        { format: "guava", secret: SECRET }, { format: "guava", bytes: 100 }, { format: "leveldb:bits=x" }, { format: "leveldb:colour=1" },
        { kind: "growing", stage: "fuse" }, { kind: "bloom", fpr: 1e-300 }, { needs: ["remove", "grow"] }, { kind: "xor", fpr: 1e-30 },
    ]) refused(() => Filter.build(["a"], { capacity: 10, ...options }), undefined, JSON.stringify(options));
});

test("a filter of fixed size needs a capacity; without one it grows", () => {
    assert.equal(Filter.create().info().kind, "growing");
    assert.equal(Filter.create({ fpr: 0.001, needs: "add" }).info().kind, "growing");
    for (const kind of ["bloom", "block", "counting", "cuckoo"]) wrong(() => Filter.create({ kind }), "capacity");
    wrong(() => Filter.create({ format: "guava" }), "capacity");
    wrong(() => Filter.create({ bytes: 1000 }), "capacity");
    wrong(() => Filter.create({ needs: "remove" }), "capacity");
    assert.equal(Filter.create({ kind: "bloom", bits: 64, hashes: 2 }).info().kind, "bloom");
    assert.equal(Filter.create({ kind: "bloom", capacity: 0 }).has("a"), false);
    for (const kind of ["xor", "fuse", "ribbon"]) refused(() => Filter.create({ kind }), "E_STATIC");
    refused(() => Filter.create({ format: "xor8", capacity: 10 }), "E_STATIC");
});

test("keys", () => {
    const one = [undefined, null, {}, [], ["a"], true, Symbol("a"), () => 1, 0.5, NaN, Infinity, 2 ** 53, new ArrayBuffer(8), new Date(), new Float64Array(1)];
    for (const key of one) {
        for (const name of ["add", "has", "remove", "count", "hash", "cells"]) wrong(() => filter[name](key), "key");
        for (const name of ["addMany", "hasMany", "removeMany"]) wrong(() => filter[name]([key]), "key");
        wrong(() => Filter.build(["a", key]), "key");
        wrong(() => pack([key]), "key");
    }
    for (const key of [2n ** 64n, -(2n ** 63n) - 1n]) {
        refused(() => filter.has(key), "E_KEY");
        refused(() => filter.hasMany([key]), "E_KEY");
    }
});

test("many keys", () => {
    for (const keys of [undefined, null, 5, "abc", new Uint8Array(8), {}, () => 1, new ArrayBuffer(8), new DataView(new ArrayBuffer(8)), Symbol.iterator]) {
        for (const name of ["addMany", "hasMany", "removeMany"]) wrong(() => filter[name](keys), "keys");
        wrong(() => Filter.build(keys), "keys");
        wrong(() => pack(keys), "keys");
    }
    const bytes = new Uint8Array(4);
    wrong(() => filter.hasMany({ bytes, offsets: [0, 1] }), "offsets");
    wrong(() => filter.hasMany({ bytes: [1], offsets: Uint32Array.of(0, 1) }), "bytes");
    wrong(() => filter.hasMany({ bytes, offsets: Uint32Array.of(0, 5) }), "offset 5");
    wrong(() => filter.hasMany({ bytes, offsets: Uint32Array.of(2, 1) }), "offset 1");
    wrong(() => filter.hasMany(new Map([["a", 1]])), "key");
});

test("a batch that fails reports how many keys it processed", () => {
    const some = Filter.create({ kind: "bloom", capacity: 10_000 });
    assert.throws(() => some.addMany([...Array.from({ length: 4096 }, (_, i) => i), 2n ** 64n]), ({ status, done }) => status === "E_KEY" && done === 4096);
    assert.ok(some.has(4095));
});

test("open, Container.open and detect", () => {
    const bytes = Filter.build(["a"], { kind: "bloom" }).encode();
    for (const input of [undefined, null, "text", 5, [1, 2], {}]) {
        for (const call of [Filter.open, Container.open, detect]) wrong(() => call(input), "encoded filter");
    }
    for (const options of [{ format: 5 }, { format: "nope" }, { format: null }]) wrong(() => Filter.open(bytes, options), "format");
    for (const secret of ["x", new Uint8Array(3), null]) wrong(() => Filter.open(bytes, { secret }), "secret");
    wrong(() => Filter.open(bytes, { part: 5 }), "part");
    wrong(() => Filter.open(bytes, { kind: "bloom" }), "kind");
    wrong(() => Filter.open(bytes, null), "options");
    refused(() => Container.open(bytes), "E_FORMAT");
    for (const input of [bytes.buffer, Buffer.from(bytes), new DataView(bytes.buffer)]) assert.equal(Filter.open(input).has("a"), true);
});

test("whole filters", () => {
    for (const other of [undefined, null, {}, "filter", Filter.prototype]) {
        wrong(() => filter.union(other), "filter");
        wrong(() => filter.intersect(other), "filter");
    }
    const other = Filter.create({ kind: "counting", capacity: 5000 });
    refused(() => filter.union(other), "E_MISMATCH");
    refused(() => filter.intersect(filter.clone()), "E_NO_MERGE");
    wrong(() => filter.union(core.Filter.create({ kind: "counting", capacity: 100 })), "filter");
    for (const to of [undefined, null, 5]) wrong(() => filter.convert(to), "options");
    wrong(() => filter.convert({ to: "bloom" }), "'to'");
    wrong(() => filter.convert({ kind: "blom" }), "kind");
    wrong(() => filter.convert({ format: 5 }), "format");
    refused(() => filter.convert({ kind: "fuse" }), "E_CONVERT");
    refused(() => filter.convert({ format: "guava" }), "E_CONVERT");
    assert.equal(filter.convert({ kind: "bloom" }).info().kind, "bloom");
    wrong(() => new Filter(), "create");
    wrong(() => new Container(), "open");
});

test("plan, size and expectedFpr", () => {
    for (const options of [undefined, null, 5]) wrong(() => plan(options), "options");
    for (const n of [undefined, -1, 1.5, "10", 10n]) wrong(() => plan({ n }), "n must");
    for (const fpr of [0, 1, NaN, "x"]) wrong(() => plan({ n: 10, fpr }), "false positive rate");
    for (const bytes of [0, -5, 1.5, "1"]) wrong(() => plan({ n: 10, bytes }), "bytes");
    wrong(() => plan({ n: 10, fpr: 0.1, bytes: 100 }), "fpr and bytes");
    wrong(() => plan({ n: 10, needs: "speed" }), "speed");
    wrong(() => plan({ n: 10, capacity: 5 }), "capacity");
    for (const keys of [undefined, -1, 1.5, "5", null]) wrong(() => expectedFpr({ kind: "bloom", capacity: 10 }, keys), "keys");
});

test("lists", () => {
    assert.deepEqual(kinds.map(({ name }) => name), KINDS);
    for (const one of [...kinds, ...formats]) assert.ok(Object.isFrozen(one) && one.description.length > 10, one.name);
    assert.deepEqual(core.kinds, kinds);
    assert.deepEqual(core.Filter.create({}).info(), Filter.create({}).info());
    assert.equal(new TamisError("E_X", "a sentence").name, "TamisError");
    assert.equal(core.TamisError, TamisError);
});
