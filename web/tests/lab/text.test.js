/* text.test.js - the texts of the page exist in both languages, and each stays in its own */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { ROOT, SOURCES, goTo, visit } from "./helper.js";

const PAGE = join(ROOT, "web/lab");
const FILES = readdirSync(PAGE, { recursive: true }).filter((name) => name.endsWith(".text.js"));

/* Texts that may be empty, or alike in both languages: separators, names, units. */
const EMPTY = ["plan.text.js original", "watch.text.js space"];
const ALIKE = [
    "plan.text.js names.c", "plan.text.js names.python", "plan.text.js names.redis", "plan.text.js cNote",
    "race.text.js perKey", "watch.text.js quoted", "ribbon.text.js short", "learn.text.js ribbon.short",
];

/* The texts in an object, by path. */
const flat = (texts, path = []) => Object.entries(texts).flatMap(([name, value]) =>
    (typeof value === "object" ? flat(value, [...path, name]) : [[[...path, name].join("."), value]]));

for (const file of FILES) {
    test(`both languages: ${file}`, async () => {
        const module = await import(pathToFileURL(join(PAGE, file)).href), { en, zh } = module.text ?? module;
        const english = new Map(flat(en)), chinese = new Map(flat(zh)), name = file.split("/").at(-1);
        assert.deepEqual([...chinese.keys()].sort(), [...english.keys()].sort());
        for (const [key, value] of english) {
            const other = chinese.get(key), about = `${name} ${key}`;
            assert.equal(typeof other, typeof value, about);
            if (!EMPTY.includes(about)) assert.ok(value !== "" && other !== "", `empty: ${about}`);
            if (!ALIKE.includes(about)) assert.notEqual(String(other), String(value), `not translated: ${about}`);
            assert.doesNotMatch(String(value), /[\u3400-\u9fff，。：；]/, `Chinese in English: ${about}`);
        }
    });
}

/* ---- on the page */

/* Text that is seen, but for code and for what is marked as another language. */
const textSeen = (page) => page.evaluate(() => {
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), texts = [];
    const lang = document.documentElement.lang;
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const parent = node.parentElement;
        if (parent.closest("code, pre, textarea, .mono") || parent.closest("[lang]").lang !== lang) continue;
        if (parent.checkVisibility()) texts.push(node.textContent);
    }
    const labels = [...document.querySelectorAll("main [aria-label]")].map((one) => one.getAttribute("aria-label"));
    return [...texts, ...labels];
});

/* What each panel shows at first, and after errors. */
const VIEWS = [
    "learn", "plan", "plan?n=x", "plan?p=2", "plan?m=0", "plan?n=1M&m=100", "plan?need=remove,grow",
    "plan?n=1M&p=1e-12", "plan?n=5000000T", "watch", "watch?kind=xor&p=0", "watch?kind=ribbon&seed=x",
    "watch?kind=growing&extra=1000", "open?sample=tamis", "open?sample=guava", "open?sample=damaged", "race",
];

/* The English term after a Chinese one. */
const TERM = /（[\w\s-]+）/g;

for (const [language, other] of [["en", /[\u3400-\u9fff]/], ["zh", /\b[a-z]{2,}( [a-z]{2,}){2,}/i]]) {
    visit(`no other language on the page: ${language}`, { language }, async (page) => {
        const leaks = [];
        for (const view of VIEWS) {
            await page.goto("about:blank"); /* forgets the files that are open */
            await page.goto(`${SOURCES.server()}#${view}`);
            await page.waitForSelector("html[data-ready]");
            await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
            if (view.startsWith("open")) await page.locator(".file :is(.facts, [role=alert])").waitFor();
            const texts = (await textSeen(page)).map((text) => text.replaceAll(TERM, ""));
            leaks.push(...texts.filter((text) => other.test(text)).map((text) => `${view}: ${text}`));
        }
        assert.deepEqual(leaks, []);
    });
}

visit("errors of the library are in the language of the page", { language: "zh" }, async (page) => {
    const isChinese = async (selector) => {
        const shown = await page.locator(selector).textContent();
        assert.doesNotMatch(shown, /\b[a-z]{2,}( [a-z]{2,}){2,}/i, selector);
    };
    await page.click("#learn-remove-refused");
    await isChinese("#learn-remove-error");
    await page.click("#learn-cuckoo-fill");
    await isChinese("#learn-cuckoo-full");
    await goTo(page, "open");
    await page.click("#open-sample-damaged");
    await isChinese(".file [role=alert]");
});
