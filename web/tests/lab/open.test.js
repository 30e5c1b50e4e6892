/* open.test.js - the panel Open: files of the vectors, of every format; what is wrong; downloads */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import * as format from "../../lab/format.js";
import * as texts from "../../lab/panels/open.text.js";
import {
    Filter, KINDS, LANGUAGES, VECTORS, command, eventually, needsCommand, paste, run, shows, tamis, textOf, visit,
    withFiles,
} from "./helper.js";

const bytesOf = (name) => readFileSync(join(VECTORS, name));
const linesOf = (name) => bytesOf(name).toString().split("\n").slice(0, -1);
const small = "keys/small.txt", native = (name) => `native/${name}.tamis`;

/* A file, the keys that are in it, the format where the content does not show it, and whether it is a container. */
const FILES = [
    ...KINDS.map(({ name }) =>
        ({ file: native(`${name === "fuse" ? "fuse-4" : name}-1000`), keys: "native/keys.txt" })),
    { file: "guava/m64-str-small-n100-p0.2.guava", keys: small },
    { file: "guava/m32-str-small-n100-p1e-09.guava", keys: small, from: "guava32" },
    { file: "spark/v1-s0-small-p0.2.sparkbloom", keys: small },
    { file: "spark/v2-s42-small-p0.03.sparkbloom", keys: small },
    { file: "dcso/cli-create.bloom", keys: small },
    { file: "redisbloom/bf-0.01-100-add-small.dump", keys: small },
    { file: "libbloom/2.0-e1000-p0.05-small.libbloom2", keys: small },
    { file: "libbloom/1.6-e1000-p0.05-small.bits", keys: small, from: "libbloom1:entries=1000,error=0.05" },
    { file: "leveldb/b10-small.bloom", keys: small, from: "leveldb" },
    { file: "rocksdb/bloom-b1-medium.filter", keys: "keys/medium.txt", from: "rocksdb" },
    { file: "seiflotfy_cuckoo/c1000-insert-small.cuckoo", keys: small, from: "seiflotfy" },
    { file: "fastfilter/fuse8-u100.ser", keys: "keys/u100.u64", from: "fuse8" },
    { file: "leveldb/db-small.ldb", keys: small, part: "0" },
    { file: "rocksdb/sst-bloom10-small.sst", keys: small, part: "0" },
    { file: "parquet/duckdb-small-varchar-p0.01.parquet", keys: small, part: "0/k" },
];

/* ---- opening */

const choose = (page, ...files) => page.setInputFiles("#open-input", files.map((file) =>
    (typeof file === "string" ? join(VECTORS, file) : file)));
const upload = (name, buffer) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(buffer) });

/** The id of the newest card, once its file has been read. */
async function newest(page, name) {
    await page.locator("#open-files article h2").first().getByText(name).waitFor();
    const id = await page.locator("#open-files article").first().getAttribute("id");
    await page.locator(`#${id} .facts, #${id} [role=alert]`).first().waitFor();
    return id;
}

/** Opens a file as a person does, with its format where the page wants to know it.  Returns the id of its card. */
async function openFile(page, { file, from }) {
    await choose(page, file);
    const id = await newest(page, basename(file));
    if (from === undefined || await page.locator(`#${id}-facts`).count() > 0) return id;
    const [name, parameters] = from.split(":");
    await page.selectOption(`#${id}-format`, name);
    if (parameters !== undefined) await page.fill(`#${id}-parameters`, parameters);
    await page.locator(`#${id}-open-as`).press("Enter");
    await page.locator(`#${id}-facts`).waitFor();
    return id;
}

/* ---- facts */

const commandOptions = ({ from, part }) => [...(from ? ["--from", from] : []), ...(part ? ["--part", part] : [])];
const commandInfo = (one) =>
    JSON.parse(run(["info", "--json", ...commandOptions(one), join(VECTORS, one.file)]));

async function factsAre(page, id, info, t) {
    const fact = async (name) => (await textOf(page, `#${id}-facts [data-fact=${name}] dd`));
    const or = (number, shown) => (number > 0 ? shown(number) : t.unknown);
    assert.equal(await page.getAttribute(`#${id} .kind`, "data-kind"), info.kind);
    assert.ok((await fact("format")).startsWith(info.format), info.file);
    assert.equal(await fact("keys"), info.distinct_error === 0 ? format.count(info.keys) : t.about(
        format.count(info.distinct), info.distinct_error < 0.5 ? "" : format.count(info.distinct_error)), info.file);
    const capacity = info.kind === "growing" ? t.unlimited : or(info.capacity, format.count);
    assert.ok((await fact("capacity")).startsWith(capacity), info.file);
    assert.equal(await fact("size"), format.bytes(info.bytes));
    assert.equal(await fact("bitsPerKey"), info.keys > 0 ? format.bits(info.bits_per_key) : t.unknown);
    assert.equal(await fact("fill"), format.share(info.fill), info.file);
    assert.equal(await fact("fprTarget"), or(info.fpr_target, format.rate));
    assert.equal(await fact("fprNow"), format.rate(info.fpr_now), info.file);
    assert.equal(await fact("hashes"), String(info.hashes));
    assert.ok((await fact("hash")).startsWith(info.hasher), info.file);
    if (info.width > 0) assert.equal(await fact("width"), String(info.width));
    assert.equal(await page.locator(`#${id}-over`).count(), info.over_capacity ? 1 : 0);
}

/* ---- queries */

async function answersAre(page, id, lines, yes, t) {
    await paste(page, `#${id}-keys`, lines.map((line) => `${line}\n`).join(""));
    await eventually(async () => assert.equal(await textOf(page, `#${id}-answers .note >> nth=0`),
        t.counted(format.count(yes), format.count(lines.length - yes))));
    assert.equal(await page.locator(`#${id}-answers tbody tr`).count(), Math.min(200, lines.length));
}

/* How many of the lines the command prints. */
const countFound = (one, lines, options = []) => Number(Buffer.from(command(
    ["query", "-c", ...commandOptions(one), ...options, join(VECTORS, one.file)], lines).output).toString());

for (const view of [{ language: "en", size: "desktop" }, { language: "zh", size: "phone" }]) {
    const { language } = view;
    visit(`files of every format: ${language}`, { ...needsCommand, ...view, at: "#open" }, async (page, test) => {
        const t = texts[language], files = language === "en" ? FILES : FILES.filter((_, i) => i % 4 === 0);
        for (const one of files) {
            await test.test(one.file, async () => {
                const id = await openFile(page, one), info = commandInfo(one);
                await factsAre(page, id, info, t);
                const keys = linesOf(one.keys), probes = linesOf(one.keys.replace(/(\.\w+)$/, ".probe$1")
                    .replace("native/keys.probe.txt", "native/probes.txt"));
                await answersAre(page, id, keys, keys.length, t);
                const options = one.keys.endsWith(".u64") ? ["--as", "u64"] : [];
                await answersAre(page, id, probes, countFound(one, probes, options), t);
                assert.ok((await page.getAttribute(`#${id} .heat .map`, "aria-label")).length > 30);
                await page.click(`#${id}-close`);
                assert.equal(await page.locator(`#${id}`).count(), 0);
                await page.waitForSelector("#open-choose:focus");
            });
        }
    });
}

visit("several files; a change of language keeps their cards", { ...needsCommand, at: "#open" }, async (page) => {
    await choose(page, native("bloom-1000"), native("xor-1000"), "native/README.md", native("cuckoo-1000"));
    const names = () => page.locator("#open-files h2").evaluateAll((all) =>
        all.map((one) => one.firstChild.textContent));
    const expected = ["cuckoo-1000.tamis", "README.md", "xor-1000.tamis", "bloom-1000.tamis"];
    await eventually(async () => assert.equal(await page.locator("#open-files .facts").count(), 3));
    assert.deepEqual(await names(), expected);
    assert.equal(await page.locator("#open-files [role=alert]").count(), 1);
    await page.fill("#open-0-keys", "apple\n");
    await page.click("#language");
    await eventually(async () => assert.equal(await page.locator("#open-files .facts").count(), 3));
    assert.deepEqual((await names()).sort(), [...expected].sort());
    assert.equal(await page.inputValue("#open-0-keys"), "apple\n");
    await factsAre(page, "open-1", commandInfo({ file: "native/xor-1000.tamis" }), texts.zh);
});

/* ---- what is wrong */

/* The only alert of a card is this sentence. */
async function alertIs(page, id, sentence) {
    await shows(page, `#${id} [role=alert]`, sentence);
    assert.equal(await page.locator(`#${id} [role=alert]`).count(), 1);
    assert.equal((await textOf(page, `#${id} [role=alert]`)).match(/[.。](?=\s|$)/g).length, 1, "one sentence");
    assert.equal(await page.locator(`#${id}-facts`).count(), 0);
}

function problemOf(bytes, options) {
    try {
        Filter.open(bytes, options);
    } catch ({ status, message }) {
        return { status, message };
    }
    return assert.fail("is accepted");
}

for (const language of LANGUAGES) {
    visit(`damaged files, and what is no filter: ${language}`, { at: "#open", language }, async (page) => {
        const t = texts[language], good = bytesOf("native/bloom-1000.tamis");
        const flipped = Buffer.from(good), trailing = Buffer.concat([good, Buffer.from("more")]);
        flipped[good.length >> 1] ^= 1;
        const damaged = {
            "truncated.tamis": good.subarray(0, 900), "header.tamis": good.subarray(0, 100), "flipped.tamis": flipped,
            "trailing.tamis": trailing, "note.txt": Buffer.from("These are words."), "empty.bin": Buffer.alloc(0),
        };
        for (const [name, bytes] of Object.entries(damaged)) {
            await choose(page, upload(name, bytes));
            const id = await newest(page, name), { status, message } = problemOf(bytes);
            const isAmbiguous = status === "E_FORMAT" && tamis.detect(bytes).length > 0;
            const reason = t.status(isAmbiguous ? "E_AMBIGUOUS" : status, message);
            await alertIs(page, id, t.errorIn(name, reason.replace(/\.$/, "")));
            assert.equal(await page.getAttribute(`#${id}-error`, "data-status"), status);
            await choose(page, "native/bloom-1000.tamis");
            await page.locator(`#${await newest(page, "bloom-1000.tamis")}-facts`).waitFor();
        }
    });

    visit(`a keyed filter needs its secret: ${language}`, { at: "#open", language }, async (page) => {
        const t = texts[language], name = "cuckoo-keyed.tamis";
        const reason = (status) => t.errorIn(name, t.status(status, ""));
        await choose(page, `native/${name}`);
        const id = await newest(page, name);
        const open = async (text) => {
            await page.fill(`#${id}-secret`, text);
            await page.keyboard.press("Enter");
        };
        await alertIs(page, id, reason("E_SECRET"));
        await open("00ff");
        await eventually(async () => assert.equal(await textOf(page, `#${id} form [role=alert]`), t.badSecret));
        await open("f".repeat(32));
        await alertIs(page, id, reason("E_WRONG_SECRET"));
        await open("000102030405060708090a0b0c0d0e0f");
        await page.locator(`#${id}-facts`).waitFor();
        await answersAre(page, id, linesOf("native/keys.txt").slice(0, 100), 100, t);
    });
}

visit("wrong parameters of a format are a sentence, right ones cure it", { at: "#open" }, async (page) => {
    const name = "1.6-e1000-p0.05-small.bits";
    await choose(page, `libbloom/${name}`);
    const id = await newest(page, name);
    for (const [parameters, isRight] of [["", false], ["entries=many", false], ["entries=1000,error=0.05", true]]) {
        await page.selectOption(`#${id}-format`, "libbloom1");
        await page.fill(`#${id}-parameters`, parameters);
        await page.locator(`#${id}-open-as`).press("Enter");
        await eventually(async () => assert.equal(await page.locator(`#${id}-facts`).count(), isRight ? 1 : 0));
        if (!isRight) assert.equal(await page.locator(`#${id} [role=alert]`).count(), 1);
    }
});

/* ---- keys in another form */

visit("lines are read as the reader or the file prescribes", { ...needsCommand, at: "#open" }, async (page) => {
    await choose(page, "native/bloom-1000.tamis");
    const plain = await newest(page, "bloom-1000.tamis"), [key] = linesOf("native/keys.txt").slice(5);
    await page.selectOption(`#${plain}-read-as`, "hex");
    await answersAre(page, plain, [Buffer.from(key).toString("hex")], 1, texts.en);
    await page.fill(`#${plain}-keys`, "not hex\n");
    await page.locator(`#${plain}-answers td.wrong`).waitFor();

    const seeded = { file: "native/bloom-seed.tamis" }, id = await openFile(page, seeded);
    assert.equal(await textOf(page, `#${id}-facts [data-fact=keyOptions] dd`), commandInfo(seeded).key_options);
    assert.equal(await page.locator(`#${id}-read-as`).count(), 0);
    const lines = linesOf("native/keys.txt").map((line) => `x;${line}`);
    await answersAre(page, id, lines, countFound(seeded, lines), texts.en);
    await page.fill(`#${id}-keys`, "one field\n");
    await page.locator(`#${id}-answers td.wrong`).waitFor();
});

visit("parts of a file with several filters", { at: "#open" }, async (page) => {
    await choose(page, "parquet/duckdb-multi.parquet");
    const container = tamis.Container.open(bytesOf("parquet/duckdb-multi.parquet")), parts = container.parts();
    const id = await newest(page, "duckdb-multi.parquet"), options = page.locator(`#${id}-part option`);
    assert.equal(await options.count(), parts.length);
    for (const [i, part] of parts.entries()) {
        assert.equal(await options.nth(i).evaluate((option) => option.disabled), part.bytes === 0);
        if (part.bytes === 0) continue;
        await page.selectOption(`#${id}-part`, String(i));
        await shows(page, `#${id}-facts [data-fact=fill] dd`, format.share(container.filter(i).info().fill));
    }
});

/* ---- dropping, the picture, downloads, samples */

visit("a file that is dropped is opened", { ...needsCommand, at: "#open" }, async (page) => {
    const file = "native/ribbon-1000.tamis", content = [...bytesOf(file)];
    const dataTransfer = await page.evaluateHandle((bytes) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(bytes)], "dropped.tamis"));
        return transfer;
    }, content);
    await page.dispatchEvent("#open-drop", "dragover", { dataTransfer });
    assert.ok((await page.getAttribute("#open-drop", "class")).includes("over"));
    await page.dispatchEvent("#open-drop", "drop", { dataTransfer });
    await factsAre(page, await newest(page, "dropped.tamis"), commandInfo({ file }), texts.en);
});

visit("the picture of the table reports how full each region is", { at: "#open" }, async (page) => {
    for (const kind of ["bloom", "block"]) {
        await choose(page, `native/${kind}-1000.tamis`);
        const id = await newest(page, `${kind}-1000.tamis`), map = page.locator(`#${id} .heat .map`);
        const table = bytesOf(`native/${kind}-1000.tamis`).subarray(192);
        for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "End", "ArrowUp", "Home"]) {
            await map.press(key);
            const shown = await map.getAttribute("aria-valuetext");
            const [, from, to] = /bits (\d+) to (\d+)/.exec(shown.replace(/(\d),(?=\d)/g, "$1")).map(Number);
            let set = 0;
            for (let bit = from; bit <= to; bit++) set += (table[bit >> 3] >> (bit & 7)) & 1;
            assert.ok(shown.endsWith(`, ${((100 * set) / (to - from + 1)).toFixed(1)} % in use`), shown);
            assert.equal(await textOf(page, `#${id} .heat .reading`), shown);
        }
    }
});

async function download(page, id) {
    const [file] = await Promise.all([page.waitForEvent("download"), page.locator(`#${id}-download`).press("Enter")]);
    return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
}

/* The browser lets a page start ten downloads in a burst. */
for (const [about, isMeant] of [["own format", /^native/], ["other formats", /guava|parquet|redisbloom|seiflotfy/]]) {
    visit(`downloads open in the command: ${about}`, { ...needsCommand, at: "#open" }, async (page) => {
        for (const one of FILES.filter(({ file }) => isMeant.test(file))) {
            const id = await openFile(page, one), file = await download(page, id), keys = linesOf(one.keys);
            assert.match(file.name, /^[\w.-]+\.tamis$/);
            if (one.file.startsWith("native/")) assert.deepEqual(file.bytes, bytesOf(one.file), one.file);
            withFiles([file.bytes], (path) => {
                const info = JSON.parse(run(["info", "--json", path])), before = commandInfo(one);
                for (const name of ["kind", "keys", "fpr_now"]) assert.equal(info[name], before[name], one.file);
                assert.equal(run(["query", "-c", path], keys), `${keys.length}\n`, one.file);
            });
        }
    });
}

visit("samples are what the command builds of the same keys", { ...needsCommand, at: "#open" }, async (page) => {
    const keys = Array.from({ length: 10000 }, (_, i) => `https://example.com/${i}`);
    const samples = {
        tamis: ["-k", "bloom", "-n", "20000", "-p", "0.01"], cuckoo: ["-k", "cuckoo", "-n", "12000", "-p", "0.001"],
        fuse: ["-k", "fuse", "-p", "0.001"],
    };
    for (const [sample, args] of Object.entries(samples)) {
        await page.click(`#open-sample-${sample}`);
        const id = await newest(page, sample === "tamis" ? "urls.tamis" : `${sample}.tamis`);
        const { output } = command(["build", "-q", "-o", "-", ...args], keys);
        assert.deepEqual((await download(page, id)).bytes, Buffer.from(output), sample);
        await shows(page, `#${id}-answers .note >> nth=0`, texts.en.counted(2, 2));
    }
    await page.click("#open-sample-damaged");
    const damaged = await newest(page, "damaged.tamis");
    await alertIs(page, damaged, "damaged.tamis: a checksum does not match: the input is damaged.");
    await page.click("#open-sample-guava");
    await page.locator(`#${await newest(page, "urls.guava")}-facts`).waitFor();
    await page.reload();
    await page.locator(`#${await newest(page, "urls.guava")}-facts`).waitFor();
});
