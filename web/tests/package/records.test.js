/* records.test.js - text becomes a key as in the command: the same acceptance, key and sentence */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Random, command, commandBuild, needsCommand, refused, tamis, times, withFiles } from "./helper.js";

const { Filter, TamisError } = tamis;

const ODD = [
    "", " ", "0", "-0", "+0", "00", "+5", "-5", "--5", "+-5", "5 ", " 5", "5.", ".5", ".", "-.5", "1e5", "1E5", "1e", "1e+", "1e-5", "1.e5",
    ".e5", "e5", "0x10", "0X1p3", "inf", "-inf", "+INF", "infinity", "Infinity", "infinit", "nan", "-nan", "NaN", "nan(7)", "1e400", "-1e400",
    "1e39", "3.4028235e38", "3.4028236e38", "340282356779733661637539395458142568447", "340282356779733661637539395458142568448", "1e-400",
    "5e-324", "2e-324", "1e-45", "7e-46", "7.006492321624085e-46", "7.0064923216240853546186479164495806564013097093825788587853e-46",
    "7.0064923216240853546186479164495806564013097093825788587852e-46", "7.0064923216240853546186479164495806564013097093825788587854e-46",
    "1.00000005960464477539062500000000000001", "1.000000059604644775390625", "1.00000005960464477539062499999999999999",
    "1.00000017881393432617187500000000000001", "1.000000178813934326171875", "16777217", "16777219", "0.1", "0.3", "1_000", "1,5", "१",
    "2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "18446744073709551615", "18446744073709551616", "99999999999999999999999", "000000000000000000000000000000000000001",
    "0e99999999999", "1e99999999999", "0.".padEnd(400, "0") + "1e399", "1".repeat(80), "x".repeat(100), "é".repeat(20), "\t", "a\tb", "a\r", "5\r", "\r",
    "ab", "AB", "aB0f", "abc", "ag", "g", "0\x7f", "é", "0é", "00 ", "zz", "12 4", "0123456789abcdef", "0123456789ABCDEF", "0123456789abcdeg",
    "0123456789abcde", "0123456789abcdef0", "0123456789abcdef\r", "abcdef\r", "12\r", "a:b:c", "a::c", ":::", "one:two", "5:6", "5:", ":6",
    "x:ff", "x:0123456789abcdef", "a😀b", "日本", "\u0001", "\u0000", "a\u0000b",
].filter((text) => !text.includes("\n"));

const FORMS = [
    ["--as", "i32"], ["--as", "i64"], ["--as", "u64"], ["--as", "f32"], ["--as", "f64"], ["--as", "utf16"], ["--hex"], ["--prehashed"], ["--strip-cr"],
    ["--fold-case"], ["-t", ":", "-F", "1"], ["-t", ":", "-F", "2"], ["-t", "::", "-F", "2"], ["-F", "2"],
    ["--strip-cr", "--as", "f32"], ["--strip-cr", "-t", ":", "-F", "2", "--fold-case", "--hex"], ["--prehashed", "-t", ":", "-F", "2"],
    ["--strip-cr", "--prehashed"], ["--fold-case", "--as", "utf16"], ["-t", "\\xa9", "-F", "1", "--as", "utf16"], ["-t", "\\xa9", "-F", "1", "--as", "i64"],
    ["-t", "\\xa9", "-F", "2", "--hex"],
];

/* The command's answer, or its sentence. */
function queried(path, text) {
    const { code, error } = command(["query", "-q", path], `${text}\n`);
    return code === 2 ? error : code === 0;
}

/* Ours, or the error. */
function answered(filter, text) {
    try {
        return filter.has(text);
    } catch (error) {
        assert.ok(error instanceof TamisError && error.status === "E_KEY", `${JSON.stringify(text)}: ${error}`);
        return error;
    }
}

/* The command's sentence for each text that it refuses. */
function refusals(args, texts) {
    const answers = new Map();
    withFiles([commandBuild(args, [])], (path) => {
        for (const text of texts) {
            const found = queried(path, text);
            answers.set(text, found === false || found === true ? undefined : found);
        }
    });
    return answers;
}

for (const form of FORMS) {
    test(`${form.join(" ")}: odd texts`, needsCommand, () => {
        const args = ["-k", "bloom", "-p", "1e-7", ...form], errors = refusals(args, ODD);
        const good = ODD.filter((text) => errors.get(text) === undefined);
        const filter = Filter.open(commandBuild(args, good)), empty = Filter.open(commandBuild(args, []));
        assert.equal(filter.info().keyOptions.length > 0, true);
        for (const text of ODD) {
            const found = answered(filter, text), error = errors.get(text);
            if (error === undefined) {
                assert.equal(found, true, `${form}: ${JSON.stringify(text)}: ${found}`);
                assert.equal(empty.has(text), false);
            } else {
                assert.ok(found instanceof TamisError, `${form}: ${JSON.stringify(text)}: accepted, but ${error}`);
                assert.ok(error.includes(found.message), `${JSON.stringify(text)}: '${found.message}', but ${error}`);
            }
        }
        assert.deepEqual([...filter.hasMany(good)], good.map(() => 1));
        if (good.length < ODD.length) refused(() => filter.hasMany(ODD), "E_KEY");
        /* Each key alone: a filter of one text gives the command's answers for all others. */
        const random = new Random(`records ${form}`);
        for (let i = 0; i < times(4); i++) {
            const text = random.pick(good), bytes = commandBuild(args, [text]), one = Filter.open(bytes);
            const printed = new Set(withFiles([bytes], (path) => Buffer.from(command(["query", path], good).output).toString().split("\n").slice(0, -1)));
            for (const other of good) assert.equal(one.has(other), printed.has(other), `${JSON.stringify(text)} and ${JSON.stringify(other)}`);
        }
    });
}

test("random decimals have the command's bytes", needsCommand, () => {
    const random = new Random("decimals");
    const digits = () => Array.from({ length: 1 + random.below(22) }, () => random.below(10)).join("");
    const halfway = () => {
        const view = new DataView(new ArrayBuffer(4));
        view.setUint32(0, random.bits() & 0x7f7fffff);
        const low = view.getFloat32(0);
        view.setUint32(0, view.getUint32(0) + 1);
        const middle = (low + view.getFloat32(0)) / 2;
        return `${middle.toFixed(Math.min(100, Math.max(0, 30 - Math.floor(Math.log10(middle || 1)))))}${random.pick(["", "0", "1"])}`;
    };
    const texts = Array.from({ length: times(2000) }, () => random.pick([
        () => `${random.pick(["", "-", "+"])}${digits()}.${digits()}`,
        () => `${digits()}e${random.below(90) - 60}`,
        () => `.${digits()}E-${random.below(330)}`,
        halfway,
    ])());
    for (const type of ["f32", "f64"]) {
        const args = ["-k", "bloom", "-p", "1e-7", "--as", type], errors = refusedHere(args, texts);
        const good = texts.filter((text) => !errors.has(text)), filter = Filter.open(commandBuild(args, good));
        for (const text of texts) assert.equal(answered(filter, text) === true, !errors.has(text), `${type}: ${text}`);
    }
});

/* The texts that are refused here; the command refuses them too (a sample: each takes a process). */
function refusedHere(args, texts) {
    const refusedTexts = new Set(), filter = Filter.open(commandBuild(args, []));
    for (const text of texts) if (answered(filter, text) instanceof TamisError) refusedTexts.add(text);
    for (const text of [...refusedTexts].slice(0, 20)) withFiles([filter.encode()], (path) => assert.equal(typeof queried(path, text), "string", text));
    return refusedTexts;
}

test("numbers take the type of the filter's keys", () => {
    const make = (keyType) => Filter.create({ kind: "bloom", capacity: 100, fpr: 1e-7, keyType });
    for (const keyType of ["i32", "i64", "u64", "f32", "f64"]) {
        const filter = make(keyType);
        filter.addMany(["7", 8, 9n]);
        assert.deepEqual([...filter.hasMany([7, 7n, "8", 8n, "9", 9, 10])], [1, 1, 1, 1, 1, 1, 0], keyType);
    }
    for (const [keyType, key] of [["i32", 2 ** 31], ["i32", -(2n ** 40n)], ["u64", -1], ["i64", 2n ** 63n], ["u64", 2n ** 64n], ["f32", 1e39], ["utf16", 5]]) {
        refused(() => make(keyType).add(key), "E_KEY", `${keyType} ${key}`);
    }
    const floats = make("f32");
    floats.addMany([0.1, NaN, -Infinity]);
    assert.deepEqual([...floats.hasMany([Math.fround(0.1), "0.1", "nan", "-inf", 0.2])], [1, 1, 1, 1, 0]);
    assert.throws(() => make("i64").add(0.5), TypeError);
    const folded = Filter.build(["Apple"], { foldCase: true });
    assert.deepEqual([folded.has("APPLE"), folded.info().keyOptions], [true, "--fold-case"]);
});

test("prehashed keys are hashes", needsCommand, () => {
    const hash = 0x0123456789abcdefn;
    const filter = Filter.open(commandBuild(["-k", "bloom", "-p", "1e-7", "--prehashed"], ["0123456789abcdef", "ffffffffffffffff"]));
    assert.deepEqual([filter.has(hash), filter.has("0123456789ABCDEF"), filter.has(-1n), filter.has(5), filter.hash(hash)], [true, true, true, false, hash]);
    assert.deepEqual([...filter.hasMany(BigUint64Array.of(hash, 1n))], [1, 0]);
    assert.deepEqual([...filter.hasMany(["0123456789abcdef", hash, 1n])], [1, 1, 0]);
    refused(() => filter.has(new Uint8Array(8)), "E_KEY");
    refused(() => filter.has(2n ** 64n), "E_KEY");
    refused(() => filter.has(-(2n ** 63n) - 1n), "E_KEY");
    assert.throws(() => filter.has(0.5), TypeError);
});
