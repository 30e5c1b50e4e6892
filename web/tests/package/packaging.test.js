/* packaging.test.js - what is in the package, its sizes, and the engines that load it */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { gunzipSync, gzipSync } from "node:zlib";
import { PACKAGE, ROOT, core, existsSync, join, load, needsCommand, readFileSync, sameBytes, tamis } from "./helper.js";

const INTENDED = [
    "LICENSE", "README.md", "core.d.ts", "core.js", "core.wasm", "form.js", "index.d.ts", "index.js", "keys.js", "load.js", "numbers.js", "package.json",
    "plan.js", "tamis-simd.wasm", "tamis.js", "tamis.wasm", "wasm.js",
];
const described = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
const entry = pathToFileURL(join(PACKAGE, "index.js")).href;

test("versions are equal", () => {
    assert.equal(described.version, tamis.version);
    assert.equal(core.version, tamis.version);
    const header = join(ROOT, "include/tamis.h");
    if (!existsSync(header)) return;
    const parts = [...readFileSync(header, "utf8").matchAll(/#define TAMIS_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)/g)].map(([, part]) => part);
    assert.equal(described.version, parts.join("."));
});

test("the package needs nothing, and runs nothing when it is installed", () => {
    for (const name of ["dependencies", "peerDependencies", "optionalDependencies", "bundledDependencies", "scripts", "bin"]) assert.equal(described[name], undefined);
    assert.deepEqual([described.name, described.type, described.license, described.engines.node], ["tamis", "module", "Apache-2.0", ">=18"]);
    for (const target of Object.values(described.exports).flatMap((one) => (typeof one === "string" ? one : Object.values(one)))) {
        assert.ok(existsSync(join(PACKAGE, target)), target);
    }
});

test("the files are the intended ones", () => {
    assert.deepEqual(readdirSync(PACKAGE).sort(), INTENDED);
});

/* The names in a tar archive. */
function tarNames(bytes) {
    const names = [];
    for (let at = 0; at + 512 <= bytes.length && bytes[at] !== 0;) {
        const field = (from, length) => bytes.toString("latin1", at + from, at + from + length).replace(/\0.*$/s, "");
        names.push(field(0, 100));
        at += 512 + 512 * Math.ceil(parseInt(field(124, 12), 8) / 512);
    }
    return names;
}

test("so are those of the tarball", { skip: process.env.TAMIS_TARBALL ? false : "TAMIS_TARBALL does not name what npm pack made" }, () => {
    const packed = readFileSync(process.env.TAMIS_TARBALL);
    assert.deepEqual(tarNames(gunzipSync(packed)).map((name) => name.replace(/^package\//, "")).sort(), INTENDED);
    assert.ok(packed.length < 320_000, `${packed.length} bytes`);
});

test("no file names a host of a registry or of a network", () => {
    for (const name of INTENDED.filter((one) => !/\.wasm$|LICENSE|README/.test(one))) {
        assert.doesNotMatch(readFileSync(join(PACKAGE, name), "utf8"), /https?:\/\//, name);
    }
    assert.doesNotMatch(readFileSync(join(PACKAGE, "README.md"), "utf8"), /npmjs|unpkg|jsdelivr|esm\.sh/);
});

/* Node's zlib compresses 0.6 % less than zlib. */
for (const [name, bytes, packed] of [["tamis.wasm", 300_000, 110_000], ["tamis-simd.wasm", 300_000, 110_000], ["core.wasm", 160_000, 60_000]]) {
    test(`${name}: size, and what it imports`, async () => {
        const file = readFileSync(join(PACKAGE, name));
        assert.ok(file.length <= bytes, `${file.length} bytes`);
        const small = gzipSync(file, { level: 9 }).length;
        assert.ok(small <= packed, `${small} bytes with gzip`);
        const module = await WebAssembly.compile(file), isMath = (one) => one.module === "Math" && one.kind === "function" && one.name in Math;
        assert.ok(WebAssembly.Module.imports(module).every(isMath));
        assert.equal(statSync(join(PACKAGE, name)).mode & 0o111, 0);
    });
}

test("the declarations name every export, and no other", () => {
    const declared = (file) => [...readFileSync(join(PACKAGE, file), "utf8").matchAll(/^export (?:declare )?(?:class|function|const) (\w+)/gm)].map(([, name]) => name);
    assert.deepEqual([...new Set(declared("index.d.ts"))].sort(), Object.keys(tamis).sort());
    const [, names] = /^export \{ (.*) \} from/m.exec(readFileSync(join(PACKAGE, "core.d.ts"), "utf8"));
    assert.deepEqual(names.split(", ").sort(), Object.keys(core).sort());
    const members = (type) => Object.getOwnPropertyNames(type.prototype).filter((name) => name !== "constructor");
    const text = readFileSync(join(PACKAGE, "index.d.ts"), "utf8");
    for (const member of [...members(tamis.Filter), ...members(tamis.Container), "free"]) assert.match(text, new RegExp(`^    (readonly )?${member}[(:]`, "m"), member);
    const info = tamis.Filter.create({}).info(), fields = /interface Info \{(.*?)^\}/ms.exec(text)[1];
    assert.deepEqual([...fields.matchAll(/readonly (\w+):/g)].map(([, name]) => name).sort(), Object.keys(info).sort());
    const sizing = /interface Sizing<.*?\{(.*?)^\}/ms.exec(text)[1];
    assert.deepEqual([...sizing.matchAll(/readonly (\w+):/g)].map(([, name]) => name).sort(), Object.keys(tamis.size({ kind: "xor", capacity: 5 })).sort());
});

test("core has the subset, with the same bytes", () => {
    assert.deepEqual(core.kinds, tamis.kinds);
    const keys = Array.from({ length: 5000 }, (_, i) => `${i}`);
    for (const { name } of tamis.kinds) {
        const [small, large] = [core, tamis].map((side) => side.Filter.build(keys, { kind: name, fpr: 0.003, seed: 9 }));
        sameBytes(small.encode(), large.encode(), name);
        assert.deepEqual(small.info(), large.info());
    }
    assert.throws(() => core.Filter.build(["a"], { format: "guava" }), ({ status }) => status === "E_ARGUMENT");
    assert.throws(() => core.Filter.open(tamis.Filter.build(["a"], { format: "guava", capacity: 5 }).encode()), ({ status }) => /^E_/.test(status));
});

test("concurrent imports give one module", async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => load("index.js")));
    assert.ok(all.every((one) => one === tamis));
    const copies = await Promise.all(Array.from({ length: 5 }, (_, i) => import(`${entry}?copy=${i}`)));
    assert.equal(new Set(copies.map(({ Filter }) => Filter)).size, 5);
    for (const copy of copies) assert.ok(copy.Filter.open(tamis.Filter.build(["a"]).encode()).has("a"));
});

test("the module without SIMD has the same bytes", async () => {
    const { bind } = await load("tamis.js");
    const plain = bind(await WebAssembly.compile(readFileSync(join(PACKAGE, "tamis.wasm"))));
    const keys = Array.from({ length: 3000 }, (_, i) => `${"k".repeat(i % 300)}${i}`);
    for (const { name } of tamis.kinds) {
        sameBytes(plain.Filter.build(keys, { kind: name }).encode(), tamis.Filter.build(keys, { kind: name }).encode(), name);
    }
});

const SCRIPT = `
    const { Filter } = await import(${JSON.stringify(entry)});
    const filter = Filter.open(Filter.build(["a", 5, 7n]).encode());
    console.log([...filter.hasMany(["a", 5, 7, "other"])].join(""));
`;

test("worker threads", async () => {
    const workers = Array.from({ length: 4 }, () => new Worker(
        `import(${JSON.stringify(entry)}).then(({ Filter }) => require("node:worker_threads").parentPort.postMessage(Filter.build(["a", "b"], { kind: "fuse" }).encode()))`, { eval: true }));
    const expected = tamis.Filter.build(["a", "b"], { kind: "fuse" }).encode();
    const messages = workers.map((worker) => new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject)));
    for (const bytes of await Promise.all(messages)) sameBytes(bytes, expected, "of a worker");
    await Promise.all(workers.map((worker) => worker.terminate()));
});

for (const [engine, args] of [["node", ["--input-type=module", "-e", SCRIPT]], ["deno", ["eval", SCRIPT]], ["bun", ["-e", SCRIPT]]]) {
    const isThere = spawnSync(engine, ["--version"]).status === 0;
    test(`${engine} runs a script`, { skip: isThere ? false : `${engine} is not installed` }, () => {
        const done = spawnSync(engine, args, { encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } });
        assert.equal(done.stdout.trim(), "1110", done.stderr);
    });
}

test("the version is the command's", needsCommand, () => {
    assert.match(spawnSync(process.env.TAMIS, ["--version"], { encoding: "utf8" }).stdout, new RegExp(described.version.replace(/\./g, "\\.")));
});
