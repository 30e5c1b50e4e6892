/* learn-kinds.test.js - the second half of the tour: cuckoo, xor and fuse, ribbon, block, growing, the choice */
import assert from "node:assert/strict";
import { Filter, KINDS, goTo, shows, slide, tamis, textOf, textsOf, type, visit } from "./helper.js";
import {
    bitOf, countIn, factOf, format, numbersOf, report, tableOf, testSteps, verdictIs,
} from "./learn-helper.js";

/* ---- 8: cuckoo */

const emptyNest = () => Filter.create({ kind: "cuckoo", capacity: 20, fpr: 0.02 });

/* The slots of a cuckoo filter: symbols of `width` bits after a stash of 64 bytes. */
function slotsOf(filter) {
    const header = new DataView(filter.encode().slice(96, 120).buffer);
    const [count, width, window] = [0, 8, 16].map((at) => Number(header.getBigUint64(at, true)));
    return { symbols: numbersOf(tableOf(filter), width, count, 512), width, window };
}

const printOf = (symbol, window) => Math.floor((symbol - 1) / (2 * window)).toString(16).padStart(2, "0");

/* Adds a word.  Returns whether a fingerprint moved: a slot that had one now has another. */
function addAndSeeMoves(filter, word) {
    const before = slotsOf(filter).symbols;
    filter.add(word);
    return slotsOf(filter).symbols.some((symbol, slot) => before[slot] !== 0 && symbol !== before[slot]);
}

/* The page shows the slots of this filter. */
async function slotsAre(page, filter) {
    const { symbols, window } = slotsOf(filter), used = symbols.filter((symbol) => symbol !== 0);
    const shown = await page.locator("#learn-cuckoo-figure svg.slots text").evaluateAll((texts) =>
        texts.filter((one) => one.getAttribute("style").includes(" 13px ")).map((one) => one.textContent));
    assert.deepEqual(shown, used.map((symbol) => printOf(symbol, window)));
    assert.equal(await textOf(page, "#learn-cuckoo-load"), `${((100 * used.length) / symbols.length).toFixed(0)} %`);
}

/* Adds words in order until the filter refuses one. */
function fill(filter, words, from) {
    for (let at = from; ; at++) {
        try {
            filter.add(words[at % words.length]);
        } catch (error) {
            assert.equal(error.status, "E_FULL");
            return { keys: at, message: error.message };
        }
    }
}

async function cuckoo(page, step) {
    const { words, t } = step, filter = emptyNest();
    let count = 12;
    words.slice(0, count).forEach((word) => filter.add(word));
    await slotsAre(page, filter);
    await page.click("#learn-cuckoo-next");
    filter.add(words[count++]);
    await slotsAre(page, filter);

    await page.click("#learn-cuckoo-kick");
    while (!addAndSeeMoves(filter, words[count++]));
    await slotsAre(page, filter);
    assert.ok(await page.locator("#learn-cuckoo-figure path.kick").count() >= 1, "no arrow for a kick");
    assert.match(await textOf(page, "#learn-cuckoo-report"), /\d+ → \d+/);

    await page.click("#learn-cuckoo-fill");
    const { keys, message } = fill(filter, words, count);
    await shows(page, "#learn-cuckoo-full[role=alert]", t("full", "E_FULL", message, keys));
    await slotsAre(page, filter);

    await type(page, "#learn-cuckoo-word", words[1]);
    await verdictIs(page, "#learn-cuckoo-answer", true, step);
    await page.click("#learn-cuckoo-remove");
    assert.equal(filter.remove(words[1]), true);
    await slotsAre(page, filter);
    await verdictIs(page, "#learn-cuckoo-answer", filter.has(words[1]), step);
    await page.click("#learn-cuckoo-add");
    filter.add(words[1]);
    await slotsAre(page, filter);
    await type(page, "#learn-cuckoo-word", "not there");
    await verdictIs(page, "#learn-cuckoo-answer", filter.has("not there"), step);

    await page.click("#learn-cuckoo-reset");
    await report(page, "cuckoo", t("start", slotsOf(filter).symbols.length));
    await page.click("#learn-cuckoo-ten");
    const again = emptyNest();
    words.slice(0, 10).forEach((word) => again.add(word));
    await slotsAre(page, again);
}

/* ---- 9: xor and binary fuse */

const KEYS = 20000;

/* Rounds of peeling: each takes the keys that are alone in a slot.  Returns the keys left after each round. */
function peel(keys) {
    const left = [keys.length];
    for (let rest = keys; rest.length > 0;) {
        const uses = new Map();
        for (const slot of rest.flat()) uses.set(slot, (uses.get(slot) ?? 0) + 1);
        rest = rest.filter((slots) => slots.every((slot) => uses.get(slot) > 1));
        assert.ok(rest.length < left.at(-1), "peeling does not end");
        left.push(rest.length);
    }
    return left;
}

/* What a lookup reads in an xor or fuse filter. */
function equationOf(filter, table, word) {
    const cells = filter.cells(word).filter(({ rule }) => rule === "xor"), width = cells[0].bits;
    const values = cells.map(({ bit }) => numbersOf(table, width, 1, bit)[0]);
    const binary = (value) => Number(value).toString(2).padStart(width, "0");
    return {
        slots: cells.map(({ bit }) => (bit - 512) / width),
        values: values.map(binary), sum: binary(values.reduce((all, one) => all ^ one, 0)),
        wanted: binary(cells[0].expected),
    };
}

async function equationIs(page, { kind, filter, table }, word, step) {
    const { t } = step, { slots, values, sum, wanted } = equationOf(filter, table, word);
    const boxes = await textsOf(page, `#learn-equation-${kind} .cell-row > span > span`);
    const names = slots.map((slot) => t("slot", format.count(slot)));
    assert.deepEqual(boxes.filter((text) => !"⊕=".includes(text)),
        [...values.flatMap((value, i) => [names[i], value]), t("xorOfAll"), sum, t("wanted", wanted)]);
    assert.equal(sum === wanted, filter.has(word), word);
    await verdictIs(page, `#learn-equation-${kind}`, filter.has(word), step);
}

async function peeling(page, step) {
    const { t } = step, all = step.phrases(KEYS + 100), stored = all.slice(0, KEYS);
    const filters = ["xor", "fuse"].map((kind) => {
        const filter = Filter.build(stored, { kind, fpr: 1 / 128 });
        return { kind, filter, table: tableOf(filter) };
    });
    const check = async (word) => {
        const verdicts = filters.map(({ filter }) => t(filter.has(word) ? "possibly" : "definitelyNot"));
        await report(page, "equation", t("saysWord", word, ...verdicts));
        for (const one of filters) await equationIs(page, one, word, step);
    };
    await check(stored[1]);
    await page.click("#learn-equation-member");
    await check(stored[2]);
    await page.click("#learn-equation-absent");
    await check(await page.inputValue("#learn-equation-word"));
    assert.ok(all.slice(KEYS).includes(await page.inputValue("#learn-equation-word")));
    await type(page, "#learn-equation-word", "tamis 筛子");
    await check("tamis 筛子");

    const left = filters.map(({ filter }) => peel(stored.map((key) =>
        filter.cells(key).filter(({ rule }) => rule === "xor").map(({ bit }) => bit))));
    const rounds = Math.max(...left.map((one) => one.length - 1));
    const roundIs = (round) => report(page, "peeling", t("report", round, filters.map(({ kind }, i) =>
        t("state", t(kind), format.count(left[i][round] ?? 0), format.count(KEYS)))));
    await roundIs(rounds);
    await page.click("#learn-peeling-step");
    await roundIs(0);
    await page.click("#learn-peeling-step");
    await roundIs(1);
    await slide(page, "#learn-peeling-round", 5);
    await roundIs(5);
    await page.click("#learn-peeling-all");
    await roundIs(rounds);
}

/* ---- 10: ribbon */

async function ribbon(page, step) {
    const { t } = step, all = step.phrases(290), stored = all.slice(0, 240);
    const filter = Filter.build(stored, { kind: "ribbon", fpr: 1 / 64 }), table = tableOf(filter);
    const first = filter.cells(stored[0]), ones = (value) => [...value.toString(2)].filter((bit) => bit === "1").length;
    const dots = stored.reduce((sum, key) => sum + ones(filter.cells(key)[0].mask), 0);
    await report(page, "ribbon", t("saysMatrix", stored.length, first[1].bit - first[0].bit, format.count(dots)));

    const check = async (word) => {
        const parities = filter.cells(word).map(({ bit, bits, mask, expected }) => {
            const selected = Array.from({ length: bits }, (_, i) => i).filter((i) => (mask >> BigInt(i)) & 1n);
            return [selected.filter((i) => bitOf(table, bit + i)).length % 2, Number(expected)];
        });
        const agree = parities.filter(([found, wanted]) => found === wanted).length, isIn = filter.has(word);
        assert.equal(agree === parities.length, isIn, word);
        await report(page, "parity", t("report", word, filter.cells(word)[0].bit - 512, agree, parities.length,
            t(isIn ? "possibly" : "definitelyNot")));
        await verdictIs(page, "#learn-parity-answer", isIn, step);
        assert.deepEqual(await textsOf(page, "#learn-parity-columns .note"), parities.map(([found, wanted], i) =>
            `${t("column", i + 1)}${t("colon")}${t("parity", found, wanted)} ${found === wanted ? "✓" : "✗"}`));
    };
    await check(stored[0]);
    await page.click("#learn-parity-member");
    await check(stored[1]);
    await page.click("#learn-parity-absent");
    await check(await page.inputValue("#learn-parity-word"));
    await type(page, "#learn-parity-word", "tamis");
    await check("tamis");
}

/* ---- 11: block */

/* Cache lines up to the first bit that is 0, on average. */
function linesOf(filter, keys) {
    const table = tableOf(filter);
    return keys.reduce((sum, key) => {
        const bits = filter.cells(key).map(({ bit }) => bit), end = bits.findIndex((bit) => bitOf(table, bit) === 0);
        return sum + new Set(bits.slice(0, end < 0 ? bits.length : end + 1).map((bit) => Math.floor(bit / 512))).size;
    }, 0) / keys.length;
}

async function block(page, step) {
    const { t } = step, all = step.phrases(12000), stored = all.slice(0, 10000), absent = all.slice(10000);
    const filter = Filter.build(stored, { kind: "block", fpr: 0.01 }), { tableBytes, hashes } = filter.info();
    const bloom = Filter.create({ kind: "bloom", bits: 8 * tableBytes, hashes, capacity: stored.length });
    bloom.addMany(stored);
    for (const word of [stored[0], absent[0], "tamis"]) {
        await type(page, "#learn-block-word", word);
        const bits = filter.cells(word).map(({ bit }) => bit);
        const lines = new Set(bits.map((bit) => Math.floor(bit / 512)));
        assert.equal(lines.size, 1, "one cache line");
        const set = bits.filter((bit) => bitOf(tableOf(filter), bit) === 1).length;
        await report(page, "block", t("report", word, format.count([...lines][0]), format.count(tableBytes / 64),
            bits.length, set));
        await verdictIs(page, "#learn-block-answer", filter.has(word), step);
    }
    for (const [name, one] of Object.entries({ block: filter, bloom })) {
        const expected = [linesOf(one, stored.slice(0, 2000)).toFixed(2), linesOf(one, absent).toFixed(2),
            format.rate(countIn(one.hasMany(absent)) / absent.length)];
        assert.deepEqual(await textsOf(page, `#learn-block-table td[id^=learn-block-${name}-]`), expected, name);
    }
}

/* ---- 12: growing */

async function growing(page, step) {
    const { t } = step, all = step.phrases(60000), absent = all.slice(50000);
    const filter = Filter.create({ kind: "growing", capacity: 50, fpr: 0.01 });
    let count = 0;
    const check = async (more) => {
        if (count > 0) await page.click(`#learn-growing-${more}`);
        const to = Math.min(50000, count + more);
        filter.addMany(all.slice(count, to));
        count = to;
        const { stages, fprNow } = filter.info();
        await page.locator("#learn-growing-stages li").nth(stages - 1).waitFor();
        assert.equal(await page.locator("#learn-growing-stages li").count(), stages);
        assert.match(await textOf(page, "#learn-growing-report"), new RegExp(`${format.count(count)} .*\\b${stages} `));
        assert.equal(await factOf(page, "growing-promise"), format.rate(0.01));
        assert.equal(await factOf(page, "growing-now"), format.rate(fprNow));
        const measured = countIn(filter.hasMany(absent)) / absent.length;
        assert.equal(await factOf(page, "growing-measured"), format.rate(measured));
        assert.ok(parseFloat(await factOf(page, "growing-sum")) <= 1, "the sum of the rates is within the promise");
    };
    for (const more of [40, 1, 10, 100, 1000, 10000, 10000, 10000, 10000, 10000]) await check(more);
    assert.ok((await textOf(page, "#learn-growing-figure")).includes(t("full", format.count(50000))));
    await page.click("#learn-growing-reset");
    assert.equal(await page.locator("#learn-growing-stages li").count(), 1);
}

/* ---- 13: the choice */

async function choose(page, { t }) {
    const { families, boundBitsPerKey } = tamis.plan({ n: 1000000, fpr: 0.01 });
    await report(page, "choose", t("report", format.count(1000000), format.bits(boundBitsPerKey)));
    for (const { name, add, remove, merge } of KINDS) {
        const cells = await textsOf(page, `#learn-choose-table tr:has(#learn-choose-${name}) td`);
        const can = [add, remove, merge].map((ability) => (ability ? `✓ ${t("yes")}` : `– ${t("no")}`));
        const { bitsPerKey } = families.find(({ kind }) => kind === name);
        assert.deepEqual(cells, [format.bits(bitsPerKey), ...can, t(`use_${name}`)], name);
    }
    await page.click("#learn-plan");
    await page.waitForSelector("#plan-choice");
    assert.equal(await page.inputValue("#plan-n"), "1000000");
}

testSteps("kinds", { cuckoo, peeling, ribbon, block, growing, choose });

/* ---- the list of steps */

visit("the list of steps leads to each, by keyboard, and the address keeps the place", {}, async (page) => {
    const names = await page.locator("#learn-steps a").evaluateAll((links) => links.map(({ id }) => id.slice(9)));
    assert.equal(names.length, 13);
    for (const name of [...names.slice(1), names[0]]) {
        await page.locator(`#learn-go-${name}`).press("Enter");
        await page.waitForSelector(`#learn-${name}-title:focus`);
        await page.waitForSelector(`#learn-go-${name}[aria-current=step]`);
        await page.waitForURL(({ hash }) => hash === `#learn?step=${name}`);
    }
    await goTo(page, "learn?step=ribbon");
    await page.waitForSelector("#learn-ribbon-title:focus");
    const { y } = await page.locator("#learn-ribbon-title").boundingBox();
    assert.ok(y >= 0 && y < 200, `the title is at ${y}`);
});

visit("the peeling plays", { at: "#learn?step=peeling", still: false }, async (page) => {
    const rounds = Number(await page.getAttribute("#learn-peeling-round", "max"));
    await slide(page, "#learn-peeling-round", rounds - 8);
    await page.click("#learn-peeling-play");
    await page.waitForFunction((last) => document.querySelector("#learn-peeling-round").value === last, String(rounds));
    assert.match(await textOf(page, "#learn-peeling-report"), /: 0 of 20,000 keys left; .*: 0 of 20,000 keys left\.$/);
});
