/* learn.test.js - the first half of the tour: bits, false positives, no deletion, the numbers, counting */
import assert from "node:assert/strict";
import { Filter, eventually, goTo, slide, tamis, textOf, textsOf, type, visit } from "./helper.js";
import {
    bitsOf, countIn, factOf, format, lookupsIn, numbersOf, placesOf, report, setIn, showsArray, smallBloom, tableOf,
    testSteps, verdictIs, wordsThatShare,
} from "./learn-helper.js";

/* ---- 1: two answers */

async function answers(page, step) {
    const { words, t } = step, half = words.slice(0, words.length / 2), others = words.slice(words.length / 2);
    for (const [name, fpr] of [["20", 0.2], ["1", 0.01], ["5", 0.05]]) {
        await page.click(`#learn-answers-rate-${name}`);
        const filter = Filter.build(half, { kind: "bloom", fpr });
        const wasted = others.filter((word) => filter.has(word)), saved = others.length - wasted.length;
        await report(page, "answers",
            t("report", words.length, saved, others.length, wasted.length, filter.info().tableBytes));
        for (const [id, number] of Object.entries({ found: half.length, saved, wasted: wasted.length })) {
            assert.equal(await textOf(page, `#learn-answers-${id}`), String(number));
        }
        assert.equal(await textOf(page, "#learn-answers-names"), wasted.length > 0 ? t("names", wasted) : "");
        assert.equal(await page.locator("#learn-answers-figure svg.outcomes path").count(), words.length);
    }
}

/* ---- 2: positions */

async function bits(page, { words, t, join }) {
    const empty = smallBloom([]), hasTwice = (word) => new Set(placesOf(empty, word)).size < 3;
    for (const word of [words[0], "tamis", "筛子", words.find(hasTwice)]) {
        await type(page, "#learn-bits-word", word);
        const places = placesOf(empty, word), list = t("and", places);
        await report(page, "bits", join(t("report", word, list), hasTwice(word) && t("collide")));
        await showsArray(page, "bits", Array(64).fill(0), places);
    }
    await type(page, "#learn-bits-word", "");
    await report(page, "bits", t("typeWord"));
    await showsArray(page, "bits", Array(64).fill(0), []);
}

/* ---- 3: adding */

/* The report of the words, of which the last one was just added. */
function addReport(stored, { t, join }) {
    const before = bitsOf(smallBloom(stored.slice(0, -1))), filter = smallBloom(stored), word = stored.at(-1);
    const fresh = [...new Set(placesOf(filter, word))].filter((place) => before[place] === 0);
    const uses = stored.flatMap((one) => [...new Set(placesOf(filter, one))]);
    const shared = new Set(uses.filter((place, i) => uses.indexOf(place) !== i)).size;
    return join(t("added", word, fresh.length), t("report", stored.length, setIn(bitsOf(filter)), shared));
}

async function add(page, step) {
    const { words: [dog, cat, third], t } = step, filter = smallBloom([dog, cat]);
    await report(page, "add", t("nothing"));
    await page.click("#learn-add-dog");
    await report(page, "add", addReport([dog], step));
    await page.click("#learn-add-cat");
    await report(page, "add", addReport([dog, cat], step));
    await showsArray(page, "add", bitsOf(filter), placesOf(filter, cat));

    await type(page, "#learn-add-word", third);
    const zeros = placesOf(filter, third).filter((place) => bitsOf(filter)[place] === 0);
    await report(page, "add", zeros.length > 0 ? t("someZero", third, zeros) : t("allSet", third));
    await verdictIs(page, "#learn-add-answer", filter.has(third), step);
    await page.keyboard.press("Enter");
    await report(page, "add", addReport([dog, cat, third], step));
    assert.equal(await page.inputValue("#learn-add-word"), "");

    assert.deepEqual(await textsOf(page, "#learn-add-stored button"), [dog, cat, third]);
    await page.locator("#learn-add-stored button").first().click();
    await showsArray(page, "add", bitsOf(smallBloom([dog, cat, third])), placesOf(filter, dog));
    await page.click("#learn-add-reset");
    await report(page, "add", t("nothing"));
    await showsArray(page, "add", Array(64).fill(0), []);
}

/* ---- 4: false positives */

async function positive(page, { words, t }) {
    for (const count of [0, 3, 24, 10]) {
        await slide(page, "#learn-positive-count", count);
        const stored = words.slice(0, count), absent = words.slice(count), filter = smallBloom(stored);
        const wrong = absent.filter((word) => filter.has(word)), expected = filter.info().fprNow * absent.length;
        await report(page, "positive",
            t("report", count, absent.length, wrong.length, expected.toFixed(1), setIn(bitsOf(filter))));
        assert.deepEqual(await textsOf(page, "#learn-positive-found button"), wrong);
        for (const word of wrong.slice(0, 3)) {
            await page.locator("#learn-positive-found button").getByText(word, { exact: true }).click();
            await showsArray(page, "positive", bitsOf(filter), placesOf(filter, word));
            const blamed = [...new Set(placesOf(filter, word))].map((place) =>
                t("setBy", place, stored.filter((one) => placesOf(filter, one).includes(place)).join(", ")));
            assert.deepEqual(await textsOf(page, "#learn-positive-blame li"), blamed);
        }
        if (count === 24) assert.ok(wrong.length > 0, "no false positive to show");
    }
}

/* ---- 5: why a plain filter cannot delete */

async function remove(page, step) {
    const { t } = step, { gone, partner, stored } = wordsThatShare(step.words), filter = smallBloom(stored);
    const all = bitsOf(filter), places = placesOf(filter, gone);
    const cleared = all.map((bit, place) => (places.includes(place) ? 0 : bit));
    const found = (bit) => stored.map((word) => placesOf(filter, word).every((place) => bit[place] === 1));
    const lookups = async () => (await lookupsIn(page, "remove-lookups", step)).map(({ isIn }) => isIn);
    const shared = placesOf(filter, partner).filter((place) => places.includes(place)).join(", ");

    await report(page, "remove", t("before", gone, partner, shared));
    await page.click("#learn-remove-refused");
    assert.throws(() => filter.remove(gone), ({ status, message }) => {
        assert.equal(status, "E_NO_REMOVE");
        step.refusal = t("refused", status, message);
        return true;
    });
    assert.equal(await textOf(page, "#learn-remove-error[role=alert]"), step.refusal);
    assert.deepEqual(await lookups(), stored.map(() => true));

    await page.click("#learn-remove-clear");
    const lost = stored.filter((word, i) => word !== gone && !found(cleared)[i]);
    assert.ok(lost.includes(partner));
    await report(page, "remove", t("after", gone, t("quote", lost)));
    assert.deepEqual(await lookups(), found(cleared));
    assert.equal(await page.locator("#learn-remove-lookups .lost").count(), lost.length);
    await showsArray(page, "remove", cleared, places);

    await page.click("#learn-remove-restore");
    assert.deepEqual(await lookups(), stored.map(() => true));
    await showsArray(page, "remove", all, places);
}

/* ---- 6: n, m, k and p */

const integers = (from, count) => BigInt64Array.from({ length: count }, (_, i) => BigInt(from + i));

async function numbersAre(page, { n, m, k, seed = 0 }, { t }) {
    const shape = { kind: "bloom", bits: m, hashes: k, capacity: n }, filter = Filter.create({ ...shape, seed });
    filter.addMany(integers(0, n));
    const wrong = countIn(filter.hasMany(integers(2 ** 40, 10000))), rate = tamis.expectedFpr(shape, n);
    await report(page, "numbers", t("report", format.count(n), format.count(m), k, format.rate(rate),
        format.rate(wrong / 10000), format.count(wrong)));
    const facts = {
        rate: format.rate(rate), measured: format.rate(wrong / 10000), measuredFill: format.rate(filter.info().fill),
        bitsPerKey: format.bits(m / n), bestK: format.bits((m / n) * Math.LN2),
        fill: format.rate(1 - Math.exp((-k * n) / m)),
    };
    for (const [name, value] of Object.entries(facts)) assert.equal(await factOf(page, `numbers-${name}`), value, name);
    assert.equal(await textOf(page, "#learn-numbers-p-value"), format.rate(rate));
    filter.free();
}

const sliderValue = async (page, name) =>
    Number((await page.getAttribute(`#learn-numbers-${name}`, "aria-valuetext")).replaceAll(",", ""));

/* The first chart at its start: a twentieth of the keys. */
async function chartIs(page, { n, m, k }) {
    const plot = page.locator("#learn-numbers-figure .plot").first(), keys = Math.round(n / 20);
    const rate = tamis.expectedFpr({ kind: "bloom", bits: m, hashes: k, capacity: n }, keys);
    await eventually(async () => {
        await plot.press("Home");
        const shown = await plot.getAttribute("aria-valuetext");
        assert.ok(shown.includes(format.count(keys)) && shown.endsWith(` ${format.rate(rate)}`), shown);
    });
}

async function numbers(page, step) {
    const classic = ({ n, fpr }) => {
        const { classicBits, classicHashes } = tamis.plan({ n, fpr });
        return { n, m: classicBits, k: classicHashes };
    };
    let now = classic({ n: 1000, fpr: 0.01 });
    await numbersAre(page, now, step);
    await chartIs(page, now);
    await page.click("#learn-numbers-seed");
    await numbersAre(page, { ...now, seed: 1 }, step);
    for (const [name, stop] of [["n", 20], ["m", 40], ["k", 2]]) {
        await slide(page, `#learn-numbers-${name}`, stop);
        now = { ...now, [name]: await sliderValue(page, name) };
        await numbersAre(page, { ...now, seed: 1 }, step);
    }
    await slide(page, "#learn-numbers-p", 0);
    now = classic({ n: now.n, fpr: 0.5 });
    await numbersAre(page, { ...now, seed: 1 }, step);
    await chartIs(page, now);
}

/* ---- 7: counting */

async function counting(page, step) {
    const { t, join } = step, { gone, stored } = wordsThatShare(step.words), added = "tamis", absent = "not there";
    const filter = Filter.create({ kind: "counting", bits: 64, hashes: 3 }), shown = [...stored];
    const counters = () => numbersOf(tableOf(filter), 4, 64);
    stored.forEach((word) => filter.add(word));
    await showsArray(page, "counting", counters(), []);

    const change = async (id, word, act, remark) => {
        const before = counters();
        await type(page, "#learn-counting-word", word);
        await page.click(`#learn-counting-${id}`);
        if (!shown.includes(word)) shown.push(word);
        const isAbsent = act() === false, changed = before.flatMap((one, i) => (counters()[i] === one ? [] : [i]));
        const full = counters().filter((one) => one === 15).length;
        await report(page, "counting", join(isAbsent ? t("absent", word) : changed.length === 0 ? t("unchanged", word)
            : t(remark, word, changed.join(", ")), full > 0 && t("full", full)));
        await showsArray(page, "counting", counters(), changed);
        assert.deepEqual(await lookupsIn(page, "counting-lookups", step), shown.map((one) =>
            ({ word: one, isIn: filter.has(one), note: t("count", filter.count(one)) })));
    };
    const adds = (word, times) => () => Array.from({ length: times }, () => filter.add(word)).fill(true);
    await change("add", added, adds(added, 1), "didAdd");
    await change("add", added, adds(added, 1), "didAdd");
    await change("remove", added, () => filter.remove(added), "didRemove");
    assert.ok(filter.has(added), "added twice, removed once");
    await change("remove", gone, () => filter.remove(gone), "didRemove");
    await change("remove", absent, () => filter.remove(absent), "didRemove");
    await change("many", added, adds(added, 15), "didAdd");
    await change("remove", added, () => filter.remove(added), "didRemove");
    assert.ok(filter.has(added), "saturated");
    await page.click("#learn-counting-reset");
    await report(page, "counting", t("start"));
}

testSteps("figures", { answers, bits, add, positive, remove, numbers, counting });

visit("words that are added are in the address, at most 40", { at: "#learn?words=dog,cat" }, async (page) => {
    await showsArray(page, "add", bitsOf(smallBloom(["dog", "cat"])), []);
    await page.click("#learn-add-dog");
    assert.deepEqual(await textsOf(page, "#learn-add-stored button"), ["dog", "cat"]);
    await type(page, "#learn-add-word", "a,b");
    await page.keyboard.press("Enter");
    assert.deepEqual(await textsOf(page, "#learn-add-stored button"), ["dog", "cat", "ab"]);
    await eventually(() => assert.match(decodeURIComponent(page.url()), /words=dog,cat,ab/));

    await goTo(page, `learn?words=${Array.from({ length: 40 }, (_, i) => `w${i}`)}`);
    await page.click("#learn-add-dog");
    await eventually(async () => assert.match(await textOf(page, "#learn-add-report"), /40 words/));
    assert.equal(await page.locator("#learn-add-stored button").count(), 40);
});
