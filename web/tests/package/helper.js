/* helper.js - what the tests of the package share
 *
 * Environment:
 *     TAMIS_PACKAGE      the folder of the package (default: what "tamis" resolves to)
 *     TAMIS              the command tamis; tests that compare with it skip themselves without it
 *     TAMIS_TARBALL      what `npm pack` made
 *     TAMIS_VECTORS      the vectors (default: tests/vectors of the repository)
 *     TAMIS_TEST_SEED    the seed of the tests that choose at random (default 1)
 *     TAMIS_TEST_FACTOR  how many times as much they try (default 1) */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
export const ROOT = resolve(HERE, "../../..");
export const PACKAGE = process.env.TAMIS_PACKAGE
    ? resolve(process.env.TAMIS_PACKAGE)
    : dirname(createRequire(import.meta.url).resolve("tamis/package.json"));
export const VECTORS = resolve(process.env.TAMIS_VECTORS ?? join(ROOT, "tests/vectors"));
export const NATIVE = join(ROOT, "tests/vectors/native");
const SEED = process.env.TAMIS_TEST_SEED ?? "1";
const FACTOR = Number(process.env.TAMIS_TEST_FACTOR ?? 1);

/* ---- the package; its instances of the modules are recorded, to see their memory */

const instances = [], { Instance } = WebAssembly;
WebAssembly.Instance = function record(...words) {
    const instance = new Instance(...words);
    instances.push(instance);
    return instance;
};
/** The memory of the modules in bytes; it never shrinks. */
export const memoryBytes = () => instances.reduce((sum, { exports }) => sum + exports.memory.buffer.byteLength, 0);

export const load = (file) => import(pathToFileURL(join(PACKAGE, file)));
export const tamis = await load("index.js");
export const core = await load("core.js");
const { Filter, TamisError } = tamis;

export const KINDS = tamis.kinds.map(({ name }) => name);
export const DYNAMIC = tamis.kinds.filter((kind) => kind.add).map(({ name }) => name);
export const STATIC = tamis.kinds.filter((kind) => kind.static).map(({ name }) => name);
export const REMOVABLE = ["counting", "cuckoo"];
export const UNITABLE = ["bloom", "block", "counting"];
export const SECRET = Uint8Array.from({ length: 16 }, (_, i) => i);

/** A number of attempts, scaled by TAMIS_TEST_FACTOR. */
export const times = (count) => Math.max(1, Math.floor(count * FACTOR));

/* ---- random numbers, which depend on a name and on TAMIS_TEST_SEED alone */

export class Random {
    constructor(name) {
        this.state = [1, 2, 3, 4].map((i) => hashText(`${SEED} ${name} ${i}`));
        for (let i = 0; i < 16; i++) this.bits();
    }
    /** 32 bits: xoshiro128**. */
    bits() {
        const s = this.state, rotate = (x, k) => (x << k) | (x >>> (32 - k));
        const result = Math.imul(rotate(Math.imul(s[1], 5), 7), 9) >>> 0, t = s[1] << 9;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = rotate(s[3], 11);
        return result;
    }
    below(limit) {
        return Math.floor((this.bits() / 2 ** 32) * limit);
    }
    pick(list) {
        return list[this.below(list.length)];
    }
    big() {
        return (BigInt(this.bits()) << 32n) | BigInt(this.bits());
    }
    bytes(length) {
        return Uint8Array.from({ length }, () => this.bits() & 255);
    }
}

function hashText(text) {
    let hash = 0x811c9dc5;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    return hash;
}

/* ---- the command */

/** For the options of a test: why it is skipped without the command. */
export const needsCommand = { skip: process.env.TAMIS ? false : "TAMIS does not name the command" };

/** Runs the command; lines are its standard input. */
export function command(args, input = "") {
    const text = Array.isArray(input) ? input.map((line) => `${line}\n`).join("") : input;
    const done = spawnSync(process.env.TAMIS, args, { input: text, maxBuffer: 1 << 28 });
    return { code: done.status, output: new Uint8Array(done.stdout), error: String(done.stderr) };
}

/** The bytes of the filter that `tamis build` writes. */
export function commandBuild(args, lines) {
    const done = command(["build", "-q", "-o", "-", ...args], lines);
    assert.equal(done.code, 0, `tamis build ${args.join(" ")}: ${done.error}`);
    return done.output;
}

/** Calls with the paths of temporary files that have these contents. */
export function withFiles(contents, call) {
    const folder = mkdtempSync(join(tmpdir(), "tamis-test-"));
    try {
        const paths = contents.map((content, i) => {
            writeFileSync(join(folder, `${i}`), content);
            return join(folder, `${i}`);
        });
        return call(...paths);
    } finally {
        rmSync(folder, { recursive: true });
    }
}

/* ---- assertions */

export function sameBytes(a, b, message) {
    assert.ok(Buffer.compare(a, b) === 0, `${message}: ${a.length} and ${b.length} bytes differ`);
}
export const sameFilter = (a, b, message) => sameBytes(a.encode(), b.encode(), message);

/** Calls what must throw a TamisError with a sentence; returns it. */
export function refused(call, status, message) {
    try {
        call();
    } catch (error) {
        assert.ok(error instanceof TamisError, `${message ?? call}: ${error}`);
        assert.match(error.status, /^E_[A-Z_]+$/);
        assert.ok(error.message.length > 5, `no sentence: ${error.status}`);
        if (status !== undefined) assert.equal(error.status, status, `${message ?? call}: ${error.message}`);
        return error;
    }
    return assert.fail(`${message ?? call}: was accepted`);
}

export const encode = (text) => new TextEncoder().encode(text);

/** A filter of the package with a few keys, to see that the module still works. */
export function stillWorks() {
    const filter = Filter.build(["a", "b"], { kind: "bloom", fpr: 1e-6 });
    assert.deepEqual([...filter.hasMany(["a", "b", "c"])], [1, 1, 0]);
    filter.free();
}

export { existsSync, readFileSync, join };
