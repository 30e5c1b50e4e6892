/* learn-helper.js - what the tests of the tour share: its texts and words, filters made here, and what figures show */
import assert from "node:assert/strict";
import * as format from "../../lab/format.js";
import { text } from "../../lab/panels/learn.text.js";
import { phrases, wordsIn } from "../../lab/panels/learn/words.js";
import { Filter, LANGUAGES, SIZES, screenshot, shows, textsOf, visit } from "./helper.js";

export { format };

/** What a step is tested with: the words of its language, and its texts before the common ones. */
function stepIn(language, name) {
    const t = (key, ...values) => {
        const one = text[language][`${name}.${key}`] ?? text[language][key];
        assert.notEqual(one, undefined, `${name}.${key}`);
        return typeof one === "function" ? one(...values) : one;
    };
    return {
        t, language, words: wordsIn(language), phrases: (count) => phrases(language, count),
        join: (...sentences) => sentences.filter(Boolean).join(language === "zh" ? "" : " "),
    };
}

/** Tests the steps, {name: (page, step) => ...}, in one visit for each language and size. */
export function testSteps(about, steps) {
    const views = LANGUAGES.flatMap((language) => Object.keys(SIZES).map((size) => ({ language, size })));
    for (const { language, size } of views) {
        visit(`${about}: ${language}, ${size}`, { language, size }, async (page, test) => {
            for (const [name, check] of Object.entries(steps)) {
                await test.test(name, async () => {
                    await page.click(`#learn-go-${name}`);
                    await check(page, stepIn(language, name));
                });
                if (name !== "choose") await screenshot(page, `learn-${name}-${language}-${size}`, `#learn-${name}`);
            }
        });
    }
}

/* ---- filters made here */

/** The bytes of the table of a filter. */
export const tableOf = (filter) => filter.encode().subarray(192, 192 + filter.info().tableBytes);

export const bitOf = (bytes, bit) => (bytes[Math.floor(bit / 8)] >> (bit % 8)) & 1;

/** The numbers of `width` bits of a table. */
export const numbersOf = (table, width, count, first = 0) => Array.from({ length: count }, (_, i) =>
    Array.from({ length: width }, (_, bit) => bitOf(table, first + i * width + bit) * 2 ** bit)
        .reduce((sum, one) => sum + one, 0));

/** The Bloom filter of the first steps. */
export function smallBloom(words) {
    const filter = Filter.create({ kind: "bloom", bits: 64, hashes: 3 });
    words.forEach((word) => filter.add(word));
    return filter;
}
export const placesOf = (filter, word, width = 1) => filter.cells(word).map(({ bit }) => bit / width);
export const bitsOf = (filter) => numbersOf(tableOf(filter), 1, 64);
export const setIn = (bits) => bits.filter((bit) => bit !== 0).length;

/** The first word, the next one that shares a bit with it, and the words that these steps store. */
export function wordsThatShare([first, ...others]) {
    const empty = smallBloom([]), places = placesOf(empty, first);
    const partner = others.find((word) => placesOf(empty, word).some((place) => places.includes(place)));
    return { gone: first, partner, stored: [...new Set([first, others[0], partner, others[1]])] };
}

export const countIn = (answers) => answers.reduce((sum, one) => sum + one, 0);

/* ---- what figures show */

export const report = (page, figure, sentence) => shows(page, `#learn-${figure}-report`, sentence);

/** The first `count` cells of an array: {isOn, isMarked, value}. */
export function cellsIn(page, figure, count = 64) {
    return page.locator(`#learn-${figure}-figure svg.bit-grid`).evaluate((svg, most) => {
        const values = [...svg.querySelectorAll("text")].filter((one) => one.getAttribute("style").includes(" 9.5px "));
        return [...svg.querySelectorAll("rect")].slice(0, most).map((one, i) => ({
            isOn: one.getAttribute("style").includes("--cell-on"),
            isMarked: one.getAttribute("style").includes("stroke:"), value: Number(values[i]?.textContent),
        }));
    }, count);
}

/** The array shows these numbers, and marks these places. */
export async function showsArray(page, figure, numbers, marked) {
    const cells = await cellsIn(page, figure);
    assert.deepEqual(cells.map(({ value }) => value), numbers);
    assert.deepEqual(cells.map(({ isOn }) => isOn), numbers.map((number) => number !== 0));
    const places = cells.flatMap(({ isMarked }, place) => (isMarked ? [place] : []));
    assert.deepEqual(places, [...new Set(marked)].sort((a, b) => a - b), "marked");
}

/** The verdicts of a list of lookups: {word, isIn, isLost, note}. */
export async function lookupsIn(page, id, step) {
    const lines = await page.locator(`#learn-${id} li`).evaluateAll((items) => items.map((item) => ({
        word: item.querySelector("b").textContent, verdict: item.querySelector(".verdict").textContent.slice(2),
        note: item.querySelector(".verdict").nextSibling?.textContent ?? "",
    })));
    const verdicts = [step.t("definitelyNot"), step.t("possibly")];
    return lines.map(({ word, verdict, note }) => {
        assert.ok(verdicts.includes(verdict), verdict);
        return { word, isIn: verdict === verdicts[1], note: note.trim() };
    });
}

/** The verdict of one lookup. */
export async function verdictIs(page, selector, isIn, step) {
    const [verdict] = await textsOf(page, `${selector} .verdict`);
    assert.equal(verdict.slice(2), step.t(isIn ? "possibly" : "definitelyNot"), selector);
}

/** The value of a fact, without the formula before it. */
export const factOf = (page, id) => page.locator(`#learn-${id}`).evaluate((element) => element.lastChild.textContent);
