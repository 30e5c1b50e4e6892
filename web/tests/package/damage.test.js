/* damage.test.js - any bytes are refused with a sentence, or give a filter whose calls are safe */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { KINDS, Random, VECTORS, core, existsSync, join, memoryBytes, refused, stillWorks, tamis, times } from "./helper.js";
import { readBytes } from "./vectors.js";

const { Container, Filter, TamisError } = tamis;
const KEYS = Array.from({ length: 30 }, (_, i) => `key-${i}`);

/* Opens, and calls everything on what opens.  Errors must be TamisErrors: a trap is a RuntimeError. */
function tryAll(bytes, options, side = tamis) {
    let filter;
    try {
        filter = side.Filter.open(bytes, options);
    } catch (error) {
        assert.ok(error instanceof TamisError, `${error.stack}`);
        assert.match(error.status, /^E_/);
        assert.ok(error.message.length > 5);
        return undefined;
    }
    const calls = [
        () => filter.has("key-1"), () => filter.hasMany(KEYS), () => filter.add(5n), () => filter.remove(5n), () => filter.addMany(BigInt64Array.of(1n, 2n)),
        () => filter.count(7n), () => filter.clone().free(), () => filter.encode(), () => filter.info(), () => filter.cells(5n), () => filter.union(filter),
    ];
    for (const call of calls) {
        try {
            call();
        } catch (error) {
            assert.ok(error instanceof TamisError, `${call}: ${error.stack}`);
        }
    }
    return filter;
}

for (const kind of KINDS) {
    test(`${kind}: every truncation and every changed byte is refused`, () => {
        const bytes = Filter.build(KEYS, { kind }).encode();
        for (let length = 0; length < bytes.length; length++) refused(() => Filter.open(bytes.subarray(0, length)), undefined, `${length} bytes`);
        for (let at = 0; at < bytes.length; at++) {
            for (const change of [1, 0x80, 0xff]) {
                const damaged = bytes.slice();
                damaged[at] ^= change;
                refused(() => Filter.open(damaged), undefined, `byte ${at}`);
                if (change === 1) refused(() => core.Filter.open(damaged), undefined, `byte ${at}`);
            }
        }
        refused(() => Filter.open(new Uint8Array([...bytes, 0])), "E_TRAILING");
        stillWorks();
    });
}

/* ---- compatible formats: few have checksums, so that most changes give another filter */

const OF_FORMAT = tamis.formats.filter(({ create, name }) => create && name !== "tamis").map(({ name }) => name);

test("compatible formats: truncations, changed bytes, trailing bytes", () => {
    for (const name of OF_FORMAT) {
        const keys = /^(xor|fuse)/.test(name) ? BigUint64Array.from({ length: 20 }, (_, i) => BigInt(i)) : KEYS.slice(0, 10);
        const bytes = Filter.build(keys, { format: name, capacity: 40 }).encode();
        const format = name === "libbloom1" ? "libbloom1:entries=40,error=0.01" : name, step = Math.ceil(bytes.length / 300);
        for (let length = 0; length < bytes.length; length += step) tryAll(bytes.subarray(0, length), { format })?.free();
        for (let at = 0; at < bytes.length; at += step) {
            for (const value of [0, 0xff, bytes[at] ^ 1]) {
                const damaged = bytes.slice();
                damaged[at] = value;
                tryAll(damaged, { format })?.free();
            }
        }
        tryAll(new Uint8Array([...bytes, 1, 2, 3]), { format })?.free();
    }
    stillWorks();
});

test("random bytes, in every format", () => {
    const random = new Random("bytes");
    for (let i = 0; i < times(300); i++) {
        const bytes = random.bytes(random.below(200)), format = random.pick([undefined, ...tamis.formats.map(({ name }) => name)]);
        if (bytes.length > 16 && random.below(3) === 0) bytes.fill(random.pick([0, 255]), 0, random.below(16));
        tryAll(bytes, { format })?.free();
        for (const name of tamis.detect(bytes)) assert.ok(tamis.formats.some((one) => one.name === name));
    }
    stillWorks();
});

test("huge numbers in headers allocate nothing", () => {
    const before = memoryBytes();
    for (const name of OF_FORMAT) {
        const keys = /^(xor|fuse)/.test(name) ? BigUint64Array.of(1n, 2n) : ["a"];
        const bytes = Filter.build(keys, { format: name, capacity: 40 }).encode(), format = name === "libbloom1" ? "libbloom1:entries=4000000000,error=0.01" : name;
        for (let at = 0; at < Math.min(bytes.length, 100); at++) {
            for (const width of [2, 4, 8]) {
                for (const value of [0xff, 0x7f, 0x10]) {
                    const damaged = bytes.slice();
                    damaged.fill(0xff, at, at + width - 1)[at + width - 1] = value;
                    tryAll(damaged, { format })?.free();
                }
            }
        }
    }
    assert.ok(memoryBytes() - before < 64 << 20, `${memoryBytes() - before} bytes more`);
    stillWorks();
});

/* ---- containers */

const here = { skip: existsSync(join(VECTORS, "keys")) ? false : "the vectors are not here: set TAMIS_VECTORS" };

function tryContainer(bytes) {
    let container;
    try {
        container = Container.open(bytes);
        container.has("key");
        container.has(5n, "a");
        for (const [i, part] of container.parts().slice(0, 3).entries()) {
            assert.equal(typeof part.name, "string");
            container.filter(i).free();
        }
    } catch (error) {
        assert.ok(error instanceof TamisError, `${error.stack}`);
    }
    container?.free();
}

test("damaged tables and Parquet files", here, () => {
    const files = [["parquet", /small-varchar-p0.01.parquet$/], ["leveldb", /db-small.ldb$/], ["rocksdb", /sst-bloom10-small.sst$/]];
    for (const [folder, pattern] of files) {
        const name = readdirSync(join(VECTORS, folder)).find((one) => pattern.test(one)), bytes = readBytes(`${folder}/${name}`);
        const random = new Random(name), step = Math.ceil(bytes.length / 200);
        for (let length = 0; length < bytes.length; length += step) tryContainer(bytes.subarray(0, length));
        for (let i = 0; i < times(500); i++) {
            const damaged = bytes.slice();
            /* The index is at the end. */
            const at = random.below(2) ? random.below(bytes.length) : bytes.length - 1 - random.below(Math.min(bytes.length, 400));
            damaged.set(random.bytes(1 + random.below(3)).subarray(0, bytes.length - at), at);
            tryContainer(damaged);
        }
    }
    stillWorks();
});

test("a filter of another version or of no kind is refused with its reason", () => {
    const bytes = Filter.build(KEYS, { kind: "bloom" }).encode();
    refused(() => Filter.open(new Uint8Array()), "E_FORMAT");
    assert.match(refused(() => Filter.open(bytes.subarray(0, bytes.length - 1))).status, /E_TRUNCATED|E_CHECKSUM/);
    const changed = bytes.slice();
    changed[bytes.length - 20] ^= 4;
    refused(() => Filter.open(changed), "E_CHECKSUM");
    refused(() => Filter.open(Buffer.from("this is no filter, but some text")), "E_FORMAT");
});
