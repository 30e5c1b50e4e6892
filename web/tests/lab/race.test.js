/* race.test.js - the panel Race: a race to its end, one that is stopped, and one that is left */
import assert from "node:assert/strict";
import * as texts from "../../lab/panels/race.text.js";
import { Filter, KINDS, eventually, goTo, shows, textOf, textsOf, visit } from "./helper.js";

const KEYS = 10000, ABSENT = 1000000, PROMISE = 0.01;
const AT = `#race?n=${KEYS}&p=${PROMISE}`;
const PEERS = ["bloom-filters", "bloomfilter"];

/* Counts the turns that a timer of the page gets. */
const countTurns = (page) => page.evaluate(() => {
    globalThis.turns = 0;
    setInterval(() => globalThis.turns++, 20);
});

/* The rows of the table: {name, isSampled, cells}. */
const rowsOf = (page) => page.locator("#race-table tbody tr").evaluateAll((rows) => rows.map((row) => ({
    name: row.dataset.name, isSampled: row.querySelector("th").textContent.includes("*"),
    cells: [...row.querySelectorAll("td")].map((cell) => cell.textContent),
})));

/* What the package counts for the same keys. */
function expectedOf(kind, absent) {
    const keys = Array.from({ length: KEYS }, (_, i) => `key-${i}`);
    const filter = Filter.build(keys, { kind, fpr: PROMISE, capacity: KEYS });
    const bits = ((8 * filter.info().bytes) / KEYS).toFixed(2);
    const share = filter.hasMany(absent).reduce((sum, one) => sum + one, 0) / ABSENT;
    filter.free();
    return { bits, share: `${(100 * share).toFixed(2)} %` };
}

function checkRow({ name, isSampled, cells }, absent, t) {
    const isPeer = PEERS.some((peer) => name.startsWith(peer)), [build, ...lookups] = cells.slice(0, 5);
    const [bits, rate, verdict, missed] = cells.slice(5);
    const isNumber = (text) => /^[\d,.]+$/.test(text) && parseFloat(text) > 0;
    assert.ok(isNumber(build) && lookups.slice(2).every(isNumber), `${name}: ${cells}`);
    for (const text of lookups.slice(0, 2)) assert.ok(isPeer ? text === "–" : isNumber(text), `${name}: ${cells}`);
    assert.match(missed, new RegExp(`^${t.missed("0", "[\\d,]+")}$`), `${name}: false negatives`);
    const [share, low, high] = rate.match(/[\d.]+/g).map(Number);
    assert.ok(low <= share && share <= high, `${name}: ${rate}`);
    assert.equal(verdict === t.kept, low <= 100 * PROMISE, `${name}: ${rate}`);
    if (isPeer) return;
    assert.ok(low <= 100 * PROMISE, `${name}: ${rate}`);
    const expected = expectedOf(name, absent);
    assert.equal(bits, expected.bits, name);
    if (!isSampled) assert.ok(rate.startsWith(expected.share), `${name}: ${rate}, not ${expected.share}`);
}

visit("ten thousand keys, to the end", { at: AT }, async (page) => {
    await countTurns(page);
    await page.locator("#race-start").press("Enter");
    await page.waitForSelector("#race-stop:focus");
    await page.locator("#race-lanes li").first().waitFor();
    await page.locator("#race-table").waitFor({ timeout: 120000 });
    /* Each of some hundred slices leaves the page a turn. */
    const turns = await page.evaluate(() => globalThis.turns);
    assert.ok(turns >= 50, `the page was busy: ${turns} turns`);

    const rows = await rowsOf(page), absent = Array.from({ length: ABSENT }, (_, i) => `key-${KEYS + i}`);
    const peers = (await page.evaluate(() => globalThis.tamisPeers ?? [])).map(({ name }) => name);
    assert.deepEqual(rows.map(({ name }) => name.split(" ")[0]), [...KINDS.map(({ name }) => name), ...peers]);
    for (const row of rows) checkRow(row, absent, texts.en);
    assert.match(await textOf(page, "#race-status"), /^Finished in [\d.]+ s\.$/);

    for (const button of await page.locator("#race-measures button").all()) {
        await button.press("Enter");
        assert.equal(await button.getAttribute("aria-pressed"), "true");
        assert.deepEqual((await textsOf(page, "#race-bars .name")).sort(), rows.map(({ name }) => name).sort());
        for (const text of await textsOf(page, "#race-bars li:not(.missing) .value")) assert.match(text, /^[\d,.]+/);
    }

    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.locator("#race-copy").press("Enter");
    await shows(page, "#race-copied", texts.en.copied);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    for (const { name, cells } of rows) assert.ok(copied.includes(name) && copied.includes(cells[6]), name);

    await page.click("#language");
    await page.waitForSelector("html[lang=zh-CN]");
    const chinese = await rowsOf(page);
    assert.deepEqual(chinese.map(({ cells }) => cells.slice(0, 7)), rows.map(({ cells }) => cells.slice(0, 7)));
    for (const { cells } of chinese) assert.ok([texts.zh.kept, texts.zh.exceeded].includes(cells[7]), cells[7]);
});

visit("a race is stopped, and starts again", { at: AT, language: "zh", size: "phone" }, async (page) => {
    for (let i = 0; i < 2; i++) {
        await page.click("#race-start");
        assert.ok(await page.isDisabled("#race-n"));
        await page.click("#race-stop");
        await shows(page, "#race-status", texts.zh.stopped);
        assert.ok(await page.isDisabled("#race-stop"));
        assert.ok(await page.isEnabled("#race-start"));
        assert.equal(await page.locator("#race-table").count(), 0);
    }
});

visit("leaving the panel ends the race", { at: AT }, async (page) => {
    await page.click("#race-start");
    await page.locator("#race-lanes li").first().waitFor();
    await goTo(page, "watch");
    await page.locator("#watch-table .cell").first().waitFor();
    await goTo(page, "race");
    await eventually(async () => assert.ok(await page.isEnabled("#race-start")));
    assert.equal(await textOf(page, "#race-status"), texts.en.ready);
});

visit("the choice of a race is in the address", { at: "#race" }, async (page) => {
    await page.selectOption("#race-n", "100000");
    await page.selectOption("#race-p", "0.001");
    await page.selectOption("#race-form", "urls");
    await page.reload();
    await page.waitForSelector("#race-start");
    assert.deepEqual(await Promise.all(["n", "p", "form"].map((name) => page.inputValue(`#race-${name}`))),
        ["100000", "0.001", "urls"]);
});
