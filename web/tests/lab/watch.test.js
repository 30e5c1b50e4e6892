/* watch.test.js - the panel Watch: every kind, with the user's words, as the package has it */
import assert from "node:assert/strict";
import * as format from "../../lab/format.js";
import * as texts from "../../lab/panels/watch.text.js";
import { Filter, KINDS, eventually, goTo, shows, textOf, textsOf, type, visit } from "./helper.js";
import { numbersOf, tableOf } from "./learn-helper.js";

const WORDS = ["cat", "dog", "筛子", "https://example.com/?q=1", "naïve", "otter", "owl"];
const OTHERS = ["zebra", "tamis", "猫"];

/* ---- filters made here */

/** The filter that the page should have: words are added in order, to a capacity that leaves some room. */
function filterOf(kind, words, { fpr = 0.05, seed = 0, capacity = 4 * Math.ceil((words.length + 1) / 4) } = {}) {
    if (KINDS.find(({ name }) => name === kind.name).static) return Filter.build(words, { kind: kind.name, fpr, seed });
    const filter = Filter.create({ kind: kind.name, fpr, seed, capacity });
    words.forEach((word) => filter.add(word));
    return filter;
}

/* Bits of a cell in the picture of a small table. */
const widthIn = (filter, { name }) => (name === "counting" ? 4
    : name === "cuckoo" ? Number(new DataView(filter.encode().slice(104, 112).buffer).getBigUint64(0, true)) : 1);

/* The bits that name what a lookup reads: of a parity, those that count. */
const bitsRead = ({ bit, bits, rule, mask }) => (rule !== "parity" ? [bit]
    : Array.from({ length: bits }, (_, i) => bit + i).filter((_, i) => (mask >> BigInt(i)) & 1n));

/* ---- what the page shows */

const picture = (page) => page.locator("#watch-table .cell").evaluateAll((cells) => cells.map((cell) => ({
    bit: Number(cell.dataset.bit), isOn: cell.classList.contains("on"), text: cell.querySelector("text")?.textContent,
    mark: ["hit", "miss", "read", "fresh"].find((name) => cell.classList.contains(name)),
})));

/* Every cell has its value, and everything that a lookup of these words reads is there. */
async function pictureIs(page, kind, filter, words) {
    const width = widthIn(filter, kind), table = tableOf(filter);
    await eventually(async () => {
        const cells = await picture(page);
        for (const { bit, isOn, text } of cells) {
            const [value] = numbersOf(table, width, 1, bit);
            assert.equal(isOn, value !== 0, `${kind.name}: bit ${bit}`);
            const shown = width <= 4 ? String(value) : value === 0 ? "·" : value.toString(16);
            if (text !== undefined) assert.equal(text, shown, `${kind.name}: bit ${bit}`);
        }
        const drawn = new Set(cells.map(({ bit }) => bit));
        for (const word of words) {
            for (const bit of filter.cells(word).filter(({ bits }) => bits < 64 || width === 1).flatMap(bitsRead)) {
                assert.ok(drawn.has(bit), `${kind.name}: bit ${bit} of ${word} is not drawn`);
            }
        }
    });
}

async function factsAre(page, filter) {
    const info = filter.info(), fact = (name) => textOf(page, `#watch-fact-${name}`);
    assert.match(await fact("keys"), new RegExp(`^${format.count(info.keys)}\\b`));
    assert.equal(await fact("promise"), format.rate(info.fprTarget));
    assert.equal(await fact("now"), format.rate(info.fprNow));
    assert.equal(await fact("fill"), `${Math.round(100 * info.fill)} %`);
    assert.equal(await fact("table"), format.bytes(info.tableBytes));
    assert.equal(await fact("bytes"), format.bytes(info.bytes));
}

/* Looks a word up by keyboard: the answer, what is true, and the marks in the table. */
async function lookup(page, filter, words, word, t) {
    await type(page, "#watch-word", word);
    await page.keyboard.press("Enter");
    const isTrue = filter.has(word), isMember = words.includes(word);
    await eventually(async () => assert.ok((await textOf(page, "#watch-answer")).endsWith(
        (isTrue ? t.possibly : t.definitelyNot)(word)), `${word}: ${await textOf(page, "#watch-answer")}`));
    assert.ok(isTrue || !isMember, word);
    assert.equal(await textOf(page, "#watch-truth"), isMember ? t.wasAdded : isTrue ? t.falsePositive : t.trueNegative);
    assert.ok((await textOf(page, "#watch-why")).length > 10, "no reason");

    const marked = (await picture(page)).filter(({ mark }) => mark !== undefined);
    const read = [...new Set(filter.cells(word).flatMap(bitsRead))].sort((a, b) => a - b);
    const drawn = read.filter((bit) => marked.some((cell) => cell.bit === bit));
    assert.deepEqual(marked.map(({ bit }) => bit).sort((a, b) => a - b), drawn, `${word}: marks`);
    const table = tableOf(filter);
    for (const { bit, bits, rule } of filter.cells(word).filter((cell) => cell.rule === "set")) {
        const isSet = numbersOf(table, bits, 1, bit)[0] !== 0;
        assert.equal(marked.find((cell) => cell.bit === bit).mark, isSet ? "hit" : "miss", `${word}: ${rule}`);
    }
}

/* ---- every kind */

async function adds(page, kind, filter, words, t) {
    const word = "added later";
    await type(page, "#watch-word", word);
    await page.click("#watch-add");
    if (kind.static) {
        await shows(page, "#watch-notice [role=alert]", `${t.cannotAdd(kind.name)} ${t.rebuildWith}`);
        await page.locator("#watch-rebuild").press("Enter");
    } else {
        await page.locator("#watch-notice .done").waitFor();
        filter.add(word);
    }
    const now = kind.static ? filterOf(kind, [...words, word]) : filter;
    await eventually(async () => assert.equal(await page.inputValue("#watch-words"), [...words, word].join("\n")));
    await pictureIs(page, kind, now, [word]);
    return { filter: now, words: [...words, word] };
}

async function removes(page, kind, filter, words, t) {
    const [word, ...others] = words;
    await type(page, "#watch-word", word);
    await page.click("#watch-remove");
    if (kind.remove) {
        await page.locator("#watch-notice .done").waitFor();
        assert.equal(filter.remove(word), true);
        await pictureIs(page, kind, filter, others);
        await shows(page, "#watch-truth", filter.has(word) ? t.falsePositive : t.trueNegative);
        await type(page, "#watch-word", "never there");
        await page.click("#watch-remove");
        if (!filter.has("never there")) await shows(page, "#watch-notice .done", t.absent("never there"));
        return;
    }
    await shows(page, "#watch-notice [role=alert]", `${t.cannotRemove(kind.name)} ${t.rebuildWithout}`);
    await page.locator("#watch-rebuild").press("Enter");
    await eventually(async () => assert.equal(await page.inputValue("#watch-words"), others.join("\n")));
}

/* Clicks until the page shows a false positive that `isGood`.  Returns the word. */
async function findOne(page, filter, words, isGood = () => true) {
    for (let word, before = "";; before = word) {
        await page.click("#watch-find");
        await eventually(async () => assert.notEqual(await page.inputValue("#watch-word"), before));
        await page.locator("#watch-found").waitFor();
        word = await page.inputValue("#watch-word");
        assert.ok(!words.includes(word), word);
        assert.equal(filter.has(word), true, `“${word}” is no false positive`);
        if (isGood(word)) return word;
    }
}

for (const view of [{ language: "en", size: "desktop" }, { language: "zh", size: "phone" }]) {
    visit(`every kind: ${view.language}, ${view.size}`, { ...view, at: "#watch" }, async (page, test) => {
        const t = texts[view.language];
        for (const kind of view.language === "en" ? KINDS : KINDS.filter((_, i) => i % 2 === 1)) {
            await test.test(kind.name, async () => {
                await page.click(`#watch-kind-${kind.name}`);
                await type(page, "#watch-words", WORDS.join("\n"));
                await eventually(async () => assert.deepEqual(await textsOf(page, "#watch-words-list button"), WORDS));
                let filter = filterOf(kind, WORDS), words = WORDS;
                await pictureIs(page, kind, filter, [...WORDS, ...OTHERS]);
                await factsAre(page, filter);
                for (const word of [...WORDS, ...OTHERS]) await lookup(page, filter, words, word, t);
                ({ filter, words } = await adds(page, kind, filter, words, t));
                await removes(page, kind, filter, words, t);
            });
        }
    });
}

/* ---- false positives */

visit("false positives that are found are such", { at: "#watch" }, async (page) => {
    const generated = Array.from({ length: 1000 }, (_, i) => `word-${i + 1}`);
    for (const kind of KINDS) {
        await goTo(page, `watch?kind=${kind.name}&extra=1000&p=20%25&words=here`);
        const words = [...generated, "here"], filter = filterOf(kind, words, { fpr: 0.2, capacity: 1004 });
        for (let i = 0; i < 3; i++) await findOne(page, filter, words);
        assert.equal(await textOf(page, "#watch-truth"), texts.en.falsePositive);
        assert.match(await textOf(page, "#watch-found"), /^The first false positive after [\d,]+ words? that/);
    }
    await goTo(page, "watch?kind=block&p=0.0001&words=alone");
    await page.click("#watch-find");
    await eventually(async () => assert.equal(await textOf(page, "#watch-find"), texts.en.stopFinding));
    await page.click("#watch-find");
    await eventually(async () => assert.match(await textOf(page, "#watch-found"), /^Stopped after [\d,]+ words\.$/));
});

/* ---- parameters */

visit("rate, capacity and seed make the filter; wrong ones are one sentence", { at: "#watch" }, async (page) => {
    const bloom = KINDS[0], words = texts.en.animals.split(" ");
    await type(page, "#watch-p", "1/1000");
    await type(page, "#watch-capacity", "40");
    await type(page, "#watch-seed", "7");
    await pictureIs(page, bloom, filterOf(bloom, words, { fpr: 0.001, capacity: 40, seed: 7 }), words);
    for (const [name, wrong, sentence, good] of [
        ["p", "often", texts.en.badRate, "1%"], ["p", "2", () => texts.en.E_FPR, "1%"],
        ["capacity", "none", texts.en.badCapacity, "20"], ["seed", "x", texts.en.badSeed, "0"],
    ]) {
        await type(page, `#watch-${name}`, wrong);
        await shows(page, "#watch-notice [role=alert]", sentence(wrong));
        await type(page, `#watch-${name}`, good);
        await eventually(async () => assert.equal(await page.locator("#watch-notice [role=alert]").count(), 0));
    }
    await pictureIs(page, bloom, filterOf(bloom, words, { fpr: 0.01, capacity: 20 }), words);
    await page.reload();
    await page.waitForSelector("#watch-table .cell");
    await pictureIs(page, bloom, filterOf(bloom, words, { fpr: 0.01, capacity: 20 }), words);
});

visit("a full cuckoo filter names the words that it refused", { at: "#watch?kind=cuckoo&capacity=1" }, async (page) => {
    const all = Array.from({ length: 60 }, (_, i) => `w${i}`), kept = [], filter = Filter.create({
        kind: "cuckoo", fpr: 0.05, seed: 0, capacity: 1,
    });
    for (const word of all) {
        try {
            filter.add(word);
            kept.push(word);
        } catch (error) {
            assert.equal(error.status, "E_FULL");
        }
    }
    assert.ok(kept.length < all.length);
    await type(page, "#watch-words", all.join("\n"));
    await page.locator("#watch-notice [role=alert]").waitFor();
    assert.ok((await textOf(page, "#watch-notice [role=alert]")).endsWith(texts.en.E_FULL));
    await eventually(async () => assert.deepEqual(await textsOf(page, "#watch-words-list button"), kept));
});

visit("examples, and ten thousand generated words", { at: "#watch" }, async (page) => {
    await page.click("#watch-example-elements");
    await eventually(async () =>
        assert.deepEqual(await textsOf(page, "#watch-words-list button"), texts.en.elements.split(" ")));
    await page.click("#watch-example-urls");
    await page.click("#watch-kind-xor");
    await page.selectOption("#watch-extra", "10000");
    await page.locator("#watch-table svg.strip").waitFor();
    const urls = (await page.inputValue("#watch-words")).split("\n");
    const filter = Filter.build([...Array.from({ length: 10000 }, (_, i) => `word-${i + 1}`), ...urls], {
        kind: "xor", fpr: 0.05, seed: 0,
    });
    for (const [word, truth] of [[urls[0], "wasAdded"], ["word-10000", "wasGenerated"], ["word-10001", null]]) {
        await type(page, "#watch-word", word);
        await page.keyboard.press("Enter");
        const isTrue = filter.has(word), shown = isTrue ? texts.en.possibly(word) : texts.en.definitelyNot(word);
        await eventually(async () => assert.ok((await textOf(page, "#watch-answer")).endsWith(shown)));
        await shows(page, "#watch-truth", texts.en[truth ?? (isTrue ? "falsePositive" : "trueNegative")]);
        const [cells] = [filter.cells(word).filter(({ rule }) => rule === "xor")];
        const sum = cells.reduce((all, { bit, bits }) => all ^ numbersOf(tableOf(filter), bits, 1, bit)[0], 0);
        assert.match(await textOf(page, "#watch-why"), new RegExp(`0x${sum.toString(16)}\\b`));
    }
});

/* ---- changes that damage, the address, the keyboard */

const COUNTING = KINDS.find(({ name }) => name === "counting");

visit("removing a false positive is a warning, and survives a change of language",
    { at: "#watch?kind=counting&p=20%25" }, async (page) => {
        const words = texts.en.animals.split(" "), filter = filterOf(COUNTING, words, { fpr: 0.2 });
        const word = await findOne(page, filter, words, (one) => filter.clone().remove(one));
        await page.click("#watch-remove");
        await page.locator("#watch-notice [role=alert]").waitFor();
        filter.remove(word);
        await pictureIs(page, COUNTING, filter, words);
        const lost = words.filter((one) => !filter.has(one)), shown = await textOf(page, "#watch-notice");
        for (const one of lost) assert.ok(shown.includes(texts.en.quoted(one)), shown);
        assert.ok(lost.length > 0 || shown.includes(texts.en.removedStranger), shown);
        await page.click("#language");
        await page.waitForSelector("html[lang=zh-CN]");
        await pictureIs(page, COUNTING, filter, words);
    });

/* Two of its positions are the same counter, which is 1: an add would have made it 2. */
visit("a word that a lookup finds is not called absent", { at: "#watch?kind=counting&p=20%25" }, async (page) => {
    const words = texts.en.animals.split(" "), filter = filterOf(COUNTING, words, { fpr: 0.2 });
    const word = await findOne(page, filter, words, (one) => !filter.clone().remove(one));
    await page.click("#watch-remove");
    await eventually(async () => assert.equal(await page.locator("#watch-found").count(), 0));
    assert.notEqual(await textOf(page, "#watch-notice"), texts.en.absent(word));
});

visit("the arrow keys move in the table", { at: "#watch" }, async (page) => {
    const words = texts.en.animals.split(" "), filter = filterOf(KINDS[0], words), count = tableOf(filter).length * 8;
    await page.locator("#watch-table .cell").first().waitFor();
    const cells = await picture(page), at = () => page.locator("#watch-table .cell.cursor").getAttribute("data-bit");
    const press = async (key, bit) => {
        await page.locator("#watch-table").press(key);
        assert.equal(await at(), String(bit), key);
        const used = words.filter((word) => filter.cells(word).some((cell) => cell.bit === bit));
        const shown = await textOf(page, "#watch-cell");
        assert.ok(shown.startsWith(`Bit ${bit}: ${cells[bit].isOn ? 1 : 0}`), shown);
        used.slice(0, 3).forEach((word) => assert.ok(shown.includes(texts.en.quoted(word)), shown));
        assert.equal(await textOf(page, "#announcement"), shown);
    };
    await press("ArrowRight", 0);
    await press("ArrowRight", 1);
    await press("ArrowDown", 33);
    await press("ArrowLeft", 32);
    await press("ArrowUp", 0);
    await press("End", cells.at(-1).bit);
    assert.ok(cells.at(-1).bit < count);
    await press("Home", 0);
});

visit("a word lights up its cells, and the cells can be enlarged", { at: "#watch" }, async (page) => {
    const filter = filterOf(KINDS[0], texts.en.animals.split(" "));
    await page.locator("#watch-words-list button", { hasText: "fox" }).focus();
    await page.locator("#watch-table .cell.lit").first().waitFor();
    const lit = await page.locator("#watch-table .cell.lit").evaluateAll((cells) =>
        cells.map(({ dataset }) => Number(dataset.bit)));
    assert.deepEqual(lit, [...new Set(filter.cells("fox").map(({ bit }) => bit))].sort((a, b) => a - b));
    const width = () => page.locator("#watch-table svg").first().evaluate((svg) => svg.getBoundingClientRect().width);
    const before = await width();
    await page.locator("#watch-zoom-in").press("Enter");
    assert.ok(await width() > before);
    await page.locator("#watch-zoom-out").press("Enter");
    assert.equal(await width(), before);
    await goTo(page, "watch?kind=nonsense&q=");
    assert.equal(await page.getAttribute("#watch-kind-bloom", "aria-pressed"), "true");
});
