/* native.test.js - the same keys and options give the same bytes as the command and the C library */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
    DYNAMIC, KINDS, NATIVE, SECRET, command, commandBuild, core, existsSync, join, needsCommand, readFileSync, refused,
    sameBytes, tamis, withFiles,
} from "./helper.js";
import { manifest } from "./vectors.js";

const { Filter } = tamis;
const KEY_FILE = Buffer.from(SECRET).toString("hex");

const lines = (count) => Array.from({ length: count }, (_, i) => (i % 97 === 5 ? `ключ ${i}` : `https://example.org/${i}`));

/* Builds with the command and here, and opens each side's bytes on the other. */
function compare(args, keys, options, input = keys, format = options.format?.split(":")[0]) {
    const about = `build ${args.join(" ")} of ${input.length} keys`;
    const theirs = commandBuild(args, input), ours = Filter.build(keys, options);
    sameBytes(ours.encode(), theirs, about);
    const opened = Filter.open(theirs, { secret: options.secret, format });
    assert.ok(opened.hasMany(keys).every((found) => found === 1), about);
    sameBytes(opened.encode(), theirs, `${about}: encoded again`);
    ours.free();
    opened.free();
    return theirs;
}

test("every kind, size and rate", needsCommand, () => {
    const sizes = [0, 1, 10, 1000, 6000];
    for (const kind of KINDS) {
        for (const [i, count] of sizes.entries()) {
            for (const fpr of i === 0 ? [0.01] : [0.2, 0.01, 1e-5]) {
                compare(["-k", kind, "-p", `${fpr}`], lines(count), { kind, fpr });
            }
        }
        compare(["-k", kind], lines(100_000), { kind });
    }
});

test("without a kind: the planner's choice", needsCommand, () => {
    for (const [args, options] of [[[], {}], [["-n", "500"], { capacity: 500, needs: "add" }], [["-p", "1e-9"], { fpr: 1e-9 }]]) {
        compare(args, lines(300), options);
    }
});

test("capacity, seed and secret", needsCommand, () => {
    for (const kind of KINDS) {
        compare(["-k", kind, "-n", "5000"], lines(1000), { kind, capacity: 5000 });
        for (const seed of [1, 2n ** 53n + 1n, 2n ** 64n - 1n]) compare(["-k", kind, "--seed", `${seed}`], lines(200), { kind, seed });
        withFiles([KEY_FILE], (path) => {
            const bytes = compare(["-k", kind, "--key-file", path], lines(500), { kind, secret: SECRET });
            refused(() => Filter.open(bytes));
            refused(() => Filter.open(bytes, { secret: new Uint8Array(16) }));
        });
    }
});

test("integers, key types and folded case", needsCommand, () => {
    const integers = Array.from({ length: 1500 }, (_, i) => BigInt(i - 700) ** 5n);
    const floats = ["1e5", "-0", "0.1", "inf", "2.5e-310"];
    for (const kind of ["bloom", "fuse", "ribbon", "cuckoo"]) {
        const typed = (type, keys, input) => compare(["-k", kind, "--as", type], keys, { kind, keyType: type }, input);
        typed("i64", integers, integers.map(String));
        typed("i64", integers.map(String), integers.map(String));
        typed("u64", integers.map((one) => BigInt.asUintN(64, one)), integers.map((one) => BigInt.asUintN(64, one)));
        typed("i32", [0, -1, 2 ** 31 - 1, -(2 ** 31)], ["0", "-1", "2147483647", "-2147483648"]);
        typed("utf16", ["a", "é", "😀"], ["a", "é", "😀"]);
        typed("f32", floats, floats);
        typed("f64", [1e5, -0, 0.1, Infinity, 2.5e-310], floats);
        compare(["-k", kind, "--fold-case"], ["Apple", "PEAR", "Éa"], { kind, foldCase: true });
    }
});

test("keys that are added one by one, or as a batch", needsCommand, () => {
    for (const kind of DYNAMIC) {
        const keys = lines(3000), empty = commandBuild(["-k", kind, "-n", "4000"], []);
        const one = Filter.create({ kind, capacity: 4000 }), many = Filter.create({ kind, capacity: 4000 });
        sameBytes(one.encode(), empty, `${kind}: empty`);
        for (const key of keys) one.add(key);
        many.addMany(keys);
        sameBytes(one.encode(), many.encode(), kind);
        withFiles([empty], (path) => {
            assert.equal(command(["add", "-q", path], keys).code, 0);
            sameBytes(one.encode(), new Uint8Array(readFileSync(path)), `${kind}: tamis add`);
        });
    }
});

test("the other side opens the file and gives the same answers", needsCommand, () => {
    const probes = lines(4000).map((line) => `${line}/other`);
    for (const kind of KINDS) {
        const filter = Filter.build(lines(1000), { kind, fpr: 0.1 });
        withFiles([filter.encode()], (path) => {
            const printed = new Set(Buffer.from(command(["query", path], [...lines(1000), ...probes]).output).toString().split("\n"));
            const found = filter.hasMany(probes);
            assert.ok(lines(1000).every((line) => printed.has(line)), kind);
            assert.ok(probes.every((probe, i) => printed.has(probe) === (found[i] === 1)), kind);
        });
    }
});

test("info is that of the command", needsCommand, () => {
    const snake = (name) => name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
    for (const kind of KINDS) {
        const filter = Filter.build(lines(1000), { kind, seed: 7 }), info = filter.info();
        withFiles([filter.encode()], (path) => {
            const theirs = JSON.parse(Buffer.from(command(["info", "--json", path]).output).toString());
            const shared = Object.keys(info).filter((name) => snake(name) in theirs);
            assert.ok(shared.length >= 15, `${shared}`);
            for (const name of shared) {
                const mine = typeof info[name] === "bigint" ? Number(info[name]) : info[name] === Infinity ? null : info[name];
                assert.deepEqual(mine, theirs[snake(name)], `${kind}: ${name}`);
            }
        });
    }
});

test("compatible formats that can be created", needsCommand, () => {
    for (const format of tamis.formats.filter(({ create, name }) => create && name !== "tamis").map(({ name }) => name)) {
        const integers = /^(xor|fuse)/.test(format);
        const keys = integers ? Array.from({ length: 500 }, (_, i) => BigInt(i) ** 3n) : lines(500);
        for (const fpr of /^(guava|spark|dcso|libbloom|redisbloom)/.test(format) ? [0.01, 0.2] : [undefined]) {
            const args = ["--to", format, "-n", "1000", ...(fpr ? ["-p", `${fpr}`] : []), ...(integers ? ["--as", "u64"] : [])];
            const from = format === "libbloom1" ? `libbloom1:entries=1000,error=${fpr}` : format;
            compare(args, keys, { format, capacity: 1000, fpr }, keys.map(String), from);
        }
    }
    for (const format of ["leveldb:bits=7", "redisbloom:cuckoo,bucket=4", "rocksdb:ribbon"]) {
        compare(["--to", format, "-n", "1000"], lines(1000), { format, capacity: 1000 });
    }
});

/* ---- files of the repository */

const native = { skip: existsSync(join(NATIVE, "manifest.tsv")) ? false : "tests/vectors/native is not here" };

test("tests/vectors/native is opened and reproduced", native, () => {
    const read = (name) => readFileSync(join(NATIVE, name), "utf8").split("\n").slice(0, -1);
    const [keys, probes] = [read("keys.txt"), read("probes.txt")];
    for (const row of manifest(join(NATIVE, "manifest.tsv"))) {
        const bytes = new Uint8Array(readFileSync(join(NATIVE, row.file))), secret = row.keyed === "1" ? SECRET : undefined;
        for (const side of [tamis, core]) {
            const filter = side.Filter.open(bytes, { secret }), info = filter.info(), own = keys.slice(0, Number(row.keys));
            assert.deepEqual([info.kind, info.format, info.keyed], [row.kind, "tamis", row.keyed === "1"], row.file);
            assert.equal(info.fprTarget, Number(row.rate));
            if (!info.keyed) assert.equal(info.seed, BigInt(row.seed));
            sameBytes(filter.encode(), bytes, row.file);
            const isPlain = info.keyOptions === "";
            if (isPlain) assert.ok(filter.hasMany(own).every((found) => found === 1), row.file);
            if (isPlain) assert.equal(filter.hasMany(probes).reduce((sum, found) => sum + found, 0), Number(row.probe_hits), row.file);
            if (isPlain) sameBytes(reproduce(side.Filter, row, own, secret).encode(), bytes, `${row.file}: again`);
        }
    }
});

function reproduce(Made, row, keys, secret) {
    const options = {
        kind: row.kind, fpr: Number(row.rate), seed: BigInt(row.seed), secret, capacity: Number(row.capacity),
        ...(row.arity === "0" ? {} : { arity: Number(row.arity) }), ...(row.stage === "-" ? {} : { stage: row.stage }),
    };
    if (row.how === "build") return Made.build(keys, { ...options, capacity: undefined });
    const filter = Made.create(options);
    for (const key of keys) filter.add(key);
    return filter;
}

test("bits, hashes, arity and stage are as given", () => {
    for (const kind of ["bloom", "counting"]) {
        const info = Filter.create({ kind, bits: 10_007, hashes: 5 }).info();
        assert.equal(info.hashes, 5);
        assert.ok(Math.abs((info.tableBytes * 8) / (kind === "bloom" ? 1 : 4) - 10_007) <= 512, `${kind}: ${info.tableBytes}`);
    }
    const three = Filter.build(lines(1000), { kind: "fuse", arity: 3 }), four = Filter.build(lines(1000), { kind: "fuse", arity: 4 });
    assert.deepEqual([three.info().hashes, four.info().hashes], [3, 4]);
    assert.equal(Filter.create({ kind: "growing", stage: "bloom" }).info().hashes > 1, true);
});
