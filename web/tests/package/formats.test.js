/* formats.test.js - filters that other systems wrote, with those systems' own answers
 *
 * See tests/vectors/README.md of the repository. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { VECTORS, existsSync, join, refused, sameBytes, tamis } from "./helper.js";
import { manifest, readBytes, readKeys, readText } from "./vectors.js";

const { Container, Filter } = tamis;
const here = { skip: existsSync(join(VECTORS, "keys")) ? false : "the vectors are not here: set TAMIS_VECTORS" };
const rows = (name) => manifest(join(VECTORS, name));
const isNone = (name) => name === "" || name === "-";

/* Compares with the other system's answers, one by one and as a batch. */
function checkAnswers(answers, found, one, probes) {
    if (isNone(answers)) return;
    const expected = readText(answers).split(/\s+/).filter(Boolean);
    assert.equal(found.length, expected.length, answers);
    expected.forEach((answer, i) => {
        if (answer !== "-") assert.equal(found[i], Number(answer), `${answers}: ${i}`);
        assert.equal(one(probes[i]) ? 1 : 0, found[i], `${answers}: ${i}, one by one`);
    });
}

function checkFilter(bytes, format, keys, probes, answers) {
    const filter = Filter.open(bytes, { format });
    assert.equal(filter.info().format, format.split(":")[0]);
    assert.ok(filter.hasMany(keys).every((found) => found === 1), format);
    checkAnswers(answers, filter.hasMany(probes), (probe) => filter.has(probe), probes);
    return filter;
}

function checkRow(row, format, column = "filter") {
    const bytes = readBytes(row[column]);
    const filter = checkFilter(bytes, format, readKeys(row.keys), readKeys(row.probes), row.answers);
    sameBytes(filter.encode(), bytes, `${row[column]}: encoded again`);
    return filter;
}

/* ---- Guava, Spark */

/* The bytes that a funnel of Guava makes of a key. */
function funnelled(key, funnel) {
    const plain = funnel.startsWith("person-") ? key.filter((byte) => byte !== 9) : key;
    return funnel.endsWith("-chars") ? new Uint8Array(Buffer.from(new TextDecoder("utf-8", { ignoreBOM: true }).decode(plain), "utf16le")) : plain;
}

test("Guava", here, () => {
    for (const row of rows("guava/manifest.tsv")) {
        const format = row.strategy === "32" ? "guava32" : "guava", bytes = readBytes(row.filter);
        const [keys, probes] = [row.keys, row.probes].map((name) => readKeys(name).map((key) => funnelled(key, row.funnel)));
        sameBytes(checkFilter(bytes, format, keys, probes, row.answers).encode(), bytes, row.id);
        const made = Filter.create({ format, capacity: Number(row.expected_insertions), fpr: Number(row.fpp) });
        made.addMany(keys);
        sameBytes(made.encode(), bytes, `${row.id}: made`);
    }
});

/* Spark hashes every integer as a long. */
const asLong = (key) =>
    key.length === 4 ? new Uint8Array(BigInt64Array.of(BigInt(new DataView(key.buffer, key.byteOffset).getInt32(0, true))).buffer) : key;

test("Spark", here, () => {
    for (const row of rows("spark/manifest.tsv")) {
        const widen = (keys) => (row.item_type === "long" ? keys.map(asLong) : keys), bytes = readBytes(row.filter);
        const filter = checkFilter(bytes, `spark${row.version}`, widen(readKeys(row.keys)), widen(readKeys(row.probes)), row.answers);
        sameBytes(filter.encode(), bytes, row.id);
    }
});

/* ---- the others */

test("LevelDB, RocksDB, DCSO", here, () => {
    for (const format of ["leveldb", "rocksdb", "dcso"]) {
        for (const row of rows(`${format}/manifest.tsv`)) checkRow(row, format);
    }
});

test("libbloom", here, () => {
    for (const row of rows("libbloom/manifest_1.6.tsv")) checkRow(row, `libbloom1:entries=${row.entries},error=${row.error}`);
    for (const row of rows("libbloom/manifest_2.0.tsv")) {
        checkFilter(readBytes(row.filter), "libbloom", readKeys(row.keys), readKeys(row.probes), row.answers);
    }
});

test("seiflotfy/cuckoofilter", here, () => {
    for (const row of rows("seiflotfy_cuckoo/manifest.tsv")) {
        const bytes = readBytes(row.filter);
        sameBytes(checkFilter(bytes, "seiflotfy", [], readKeys(row.probes), row.answers).encode(), bytes, row.id);
    }
});

test("xor_singleheader: integers are keys, others are refused", here, () => {
    for (const row of rows("fastfilter/manifest.tsv")) {
        for (const [column, suffix] of [["serialized", ""], ["packed", "-pack"]]) {
            if (isNone(row[column])) continue;
            const filter = checkRow(row, row.type + suffix, column);
            const integers = BigUint64Array.from(readKeys(row.keys), (key) => new DataView(key.buffer, key.byteOffset).getBigUint64(0, true));
            assert.ok(filter.hasMany(integers).every((found) => found === 1));
            assert.ok([...integers.subarray(0, 20)].every((one) => filter.has(one)));
            assert.match(refused(() => filter.has("text"), "E_KEY").message, /4 bytes.*8/);
            refused(() => filter.hasMany(["text"]), "E_KEY");
        }
    }
});

/* Were all keys added, and none removed? */
const holdsAll = ({ mode, reserve_args: args }) => mode !== "add+del" && !/NONSCALING|EXPANSION 0|BUCKETSIZE 1/.test(args);

test("RedisBloom", here, () => {
    for (const row of rows("redisbloom/manifest.tsv")) {
        const keys = holdsAll(row) ? readKeys(row.keys) : [], probes = readKeys(row.probes);
        const dumped = checkFilter(readBytes(row.dump), "redisbloom-dump", keys, probes, row.answers);
        const chunks = new Uint8Array([...readBytes(row.header), ...readBytes(row.data)]);
        if (chunks.length === 0) continue;
        sameBytes(checkFilter(chunks, "redisbloom", keys, probes, row.answers).encode(), chunks, row.id);
        sameBytes(dumped.convert({ format: "redisbloom" }).encode(), chunks, `${row.id}: converted`);
        dumped.free();
    }
});

/* ---- containers */

/* Integers as a column of another type holds them. */
function typed(key, type) {
    if (type !== "FLOAT" && type !== "DOUBLE") return key;
    const value = new DataView(key.buffer, key.byteOffset).getInt32(0, true);
    return new Uint8Array((type === "FLOAT" ? Float32Array : Float64Array).of(value).buffer);
}

test("Parquet", here, () => {
    for (const row of rows("parquet/manifest.tsv")) {
        const [keys, probes] = [row.keys, row.probes].map((name) => readKeys(name).map((key) => typed(key, row.sql_type)));
        const container = Container.open(readBytes(row.file));
        assert.equal(container.format, "parquet");
        if (!row.bloom_offset.startsWith("-")) {
            const [part] = container.parts();
            assert.deepEqual([part.name, part.offset, part.bytes], [`0/${row.column}`, Number(row.bloom_offset), Number(row.bloom_length)]);
            assert.ok(keys.every((key) => container.has(key, row.column)));
            const found = probes.map((probe) => (container.has(probe, part.name) ? 1 : 0));
            checkAnswers(row.answers, found, (probe) => container.has(probe), probes);
            const filter = container.filter(part.name);
            container.free();
            assert.deepEqual([...filter.hasMany(probes)], found);
        } else {
            assert.ok(probes.every((probe) => container.has(probe)));
        }
    }
});

test("Parquet with several columns", here, () => {
    const bytes = readBytes("parquet/duckdb-multi.parquet"), meta = rows("parquet/duckdb-multi.meta.tsv");
    refused(() => Filter.open(bytes), "E_PART");
    const container = Container.open(bytes), parts = container.parts();
    assert.equal(parts.length, meta.length);
    meta.forEach((row, i) => {
        assert.equal(parts[i].name, `${row.row_group}/${row.column}`);
        assert.equal(parts[i].bytes, row.bloom_length === "-" ? 0 : Number(row.bloom_length));
        assert.equal(parts[i].rowGroup, Number(row.row_group));
    });
    for (const row of rows("parquet/duckdb-multi.probes.tsv")) {
        const key = row.column.startsWith("a") ? new Uint8Array(Int32Array.of(Number(row.value)).buffer) : row.value;
        assert.equal(container.has(key, `${row.row_group}/${row.column}`), row.may_contain === "1", row.value);
    }
    refused(() => container.filter("9/none"), "E_PART");
    const some = parts.find((part) => part.bytes > 0);
    sameBytes(Filter.open(bytes, { part: some.name }).encode(), container.filter(some.name).encode(), some.name);
});

test("tables of LevelDB and RocksDB", here, () => {
    for (const [folder, format] of [["leveldb", "leveldb-table"], ["rocksdb", "rocksdb-table"]]) {
        for (const row of rows(`${folder}/sst_manifest.tsv`)) {
            const container = Container.open(readBytes(row.sst)), probes = readKeys(row.probes);
            assert.equal(container.format, format);
            assert.ok(readKeys(row.keys).every((key) => container.has(key)), row.id);
            checkAnswers(row.answers, probes.map((probe) => (container.has(probe) ? 1 : 0)), (probe) => container.has(probe), probes);
        }
    }
});

/* ---- what is not quite right */

test("what the other system refuses is refused", here, () => {
    for (const format of ["guava", "dcso"]) {
        for (const row of rows(`${format}/malformed.tsv`)) {
            const open = () => Filter.open(readBytes(row.file), { format });
            if (row.result !== "accepted") refused(open, undefined, row.id);
        }
    }
});

test("filters that no version writes give the other system's answers, or are refused", here, () => {
    const keys = ["", "a", "hello", "key0001", "yy", "中"];
    for (const [format, shortest] of [["leveldb", 2], ["rocksdb", 6]]) {
        for (const row of rows(`${format}/malformed.tsv`)) {
            const bytes = new Uint8Array(Buffer.from(row.filter_hex, "hex"));
            let filter;
            try {
                filter = Filter.open(bytes, { format });
            } catch (error) {
                assert.ok(error instanceof tamis.TamisError && bytes.length < shortest, row.filter_hex);
                continue;
            }
            assert.deepEqual([...filter.hasMany(keys)], Array.from(row.answers, Number), row.filter_hex);
            sameBytes(filter.encode(), bytes, row.filter_hex);
        }
    }
});

test("detect", here, () => {
    assert.deepEqual(tamis.detect(Filter.build(["a"]).encode()), ["tamis"]);
    for (const [folder, ending] of [["parquet", ".parquet"], ["redisbloom", ".dump"]]) {
        const names = readdirSync(join(VECTORS, folder)).filter((name) => name.endsWith(ending)).slice(0, 5);
        for (const name of names) {
            assert.ok(tamis.detect(readBytes(`${folder}/${name}`)).some((format) => format.includes(folder)), name);
        }
    }
    assert.deepEqual(tamis.detect(new Uint8Array()), []);
});

test("a filter of a compatible format keeps it as a .tamis file, and gives it back", here, () => {
    const guava = readBytes(rows("guava/manifest.tsv")[5].filter), filter = Filter.open(guava, { format: "guava" });
    const stored = filter.convert({ format: "tamis" }).encode();
    assert.deepEqual(tamis.detect(stored), ["tamis"]);
    sameBytes(Filter.open(stored).convert({ format: "guava" }).encode(), guava, "guava");
});
