/* page.test.js - what all panels share: accessibility, width, requests, keyboard, language, theme, files, printing */
import assert from "node:assert/strict";
import { LANGUAGES, SIZES, SOURCES, axe, eventually, goTo, screenshot, textOf, visit } from "./helper.js";

const PANELS = ["learn", "plan", "watch", "open", "race"];

/* ---- panels with everything in them */

const FILL = {
    async learn(page) {
        await page.evaluate(() => dispatchEvent(new Event("beforeprint"))); /* starts all figures */
        await eventually(async () => assert.notEqual(await textOf(page, "#learn-numbers-measured"), "…"));
        await page.locator("#learn-numbers-figure .chart").nth(1).waitFor();
    },
    plan: (page) => page.locator("#plan-curve-rate svg .line").first().waitFor(),
    watch: (page) => page.locator("#watch-table .cell").first().waitFor(),
    async open(page) {
        if (await page.locator(".file").count() === 0) await page.click("#open-sample-tamis");
        await page.locator(".file .facts").waitFor();
    },
    race: (page) => page.locator("#race-start").waitFor(),
};

async function show(page, panel) {
    await goTo(page, panel);
    await FILL[panel](page);
}

/* The results of a race, which stay when the language changes. */
async function race(page) {
    await show(page, "race");
    await page.selectOption("#race-n", "10000");
    await page.click("#race-start");
    await page.locator("#race-table").waitFor({ timeout: 120000 });
}

async function setLanguage(page, language) {
    const lang = language === "zh" ? "zh-CN" : "en";
    if (await page.getAttribute("html", "lang") !== lang) await page.click("#language");
    await page.waitForSelector(`html[lang=${lang}]`);
}

/* ---- accessibility, width, pictures */

/* Canvases of one colour, and drawings without shapes. */
const emptyPictures = (page) => page.evaluate(() => {
    const isPlain = (canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size < 2;
    };
    return [...document.querySelectorAll("main canvas, main svg")]
        .filter((one) => one.checkVisibility())
        .filter((one) => one.getBoundingClientRect().width < 5 ||
            (one.tagName === "CANVAS" ? isPlain(one) : one.children.length === 0))
        .map((one) => one.closest("[id]").id);
});

const overflow = (page) => page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth - clientWidth;
});

for (const size of Object.keys(SIZES)) {
    visit(`every panel, language and theme: ${size}`, { size }, async (page, test) => {
        await race(page);
        for (const panel of PANELS) {
            for (const language of LANGUAGES) {
                await test.test(`${panel}, ${language}`, async () => {
                    await setLanguage(page, language);
                    await show(page, panel);
                    assert.deepEqual(await emptyPictures(page), [], "empty pictures");
                    /* axe takes long: the dark theme has its turn in one size of each language. */
                    for (const theme of (language === "en") === (size === "desktop") ? ["light", "dark"] : ["light"]) {
                        await page.emulateMedia({ colorScheme: theme });
                        assert.ok(await overflow(page) <= 0, `the page scrolls sideways: ${theme}`);
                        await axe(page, theme);
                        await screenshot(page, `${panel}-${language}-${size}-${theme}`);
                    }
                });
            }
        }
    });
}

/* ---- requests: the visit fails if there is one */

visit("a click on everything requests nothing", { language: "zh", size: "phone" }, async (page) => {
    for (const panel of PANELS) {
        await show(page, panel);
        const buttons = page.locator("main :is(button, summary, select, input[type=checkbox])");
        for (let i = await buttons.count() - 1; i >= 0; i--) {
            const button = buttons.nth(i);
            if (await button.count() === 0 || !await button.isVisible() || await button.isDisabled()) continue;
            if (await button.getAttribute("id") === "open-choose") continue; /* a dialog of the system */
            if (await button.evaluate((one) => one.tagName) === "SELECT") {
                await button.selectOption({ index: await button.locator("option").count() - 1 });
            } else {
                await button.click();
            }
        }
        const links = await page.locator("main a[href]").evaluateAll((all) => all.map(({ href }) => href));
        for (const link of links) assert.equal(link.split("#")[0], SOURCES.server());
    }
});

/* ---- keyboard */

/* Remembers what a keyboard must reach: one radio button of each group. */
const rememberControls = (page) => page.evaluate(() => {
    const all = document.querySelectorAll(
        "a[href], button, input, select, textarea, summary, [tabindex='0']");
    const isOther = (one) => one.type === "radio" && !one.checked;
    globalThis.controls = [...all].filter((one) => one.checkVisibility({ visibilityProperty: true }) &&
        !one.disabled && one.type !== "file" && !isOther(one));
    return globalThis.controls.length;
});

/* Where the focus is: the number of the control, and whether it shows. */
const focused = (page) => page.evaluate(() => {
    const one = document.activeElement, { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    return {
        index: globalThis.controls.indexOf(one), name: one.id || one.className || one.tagName,
        isMarked: (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none",
        isInView: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    };
});

for (const view of [{ language: "en", size: "desktop" }, { language: "zh", size: "phone" }]) {
    visit(`Tab reaches every control, and the focus shows: ${view.size}`, view, async (page, test) => {
        for (const panel of PANELS) {
            await test.test(panel, async () => {
                await show(page, panel);
                const count = await rememberControls(page), reached = new Set();
                await page.locator(".skip").focus();
                await page.keyboard.press("Tab");
                await page.keyboard.press("Shift+Tab"); /* a focus by keyboard shows */
                for (let i = 0; i < count; i++) {
                    const { index, name, isMarked, isInView } = await focused(page);
                    assert.ok(isMarked, `no visible focus: ${name}`);
                    assert.ok(isInView, `the focus is out of sight: ${name}`);
                    reached.add(index);
                    await page.keyboard.press("Tab");
                }
                const missed = await page.evaluate((found) => globalThis.controls
                    .filter((_, i) => !found.includes(i)).map((one) => one.outerHTML.slice(0, 100)), [...reached]);
                assert.deepEqual(missed, []);
            });
        }
    });
}

visit("the first Tab is the skip link, and it leads to the content", {}, async (page) => {
    await page.keyboard.press("Tab");
    await page.waitForSelector(".skip:focus");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#main:focus");
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.querySelector("main").contains(document.activeElement)));
    assert.equal(new URL(page.url()).hash, "", "the address is as before");
});

/* ---- language, theme, address */

visit("the language and the theme are kept", {}, async (page) => {
    await page.locator("#language").press("Enter");
    await page.waitForSelector("html[lang=zh-CN]");
    await page.waitForSelector("#language:focus");
    await page.locator("#theme").press("Enter");
    assert.equal(await page.getAttribute("html", "data-theme"), "dark");
    await page.reload();
    await page.waitForSelector("html[lang=zh-CN][data-theme=dark]");
    assert.equal(await page.title(), "学习 · tamis");
    await page.click("#theme");
    await page.click("#language");
    await page.reload();
    await page.waitForSelector("html[lang=en][data-theme=light]");
    assert.equal(await page.title(), "Learn · tamis");
});

visit("the theme is the system's until one is chosen", { at: "#open?sample=tamis" }, async (page) => {
    await page.locator(".file .facts").waitFor();
    const painted = () => page.locator(".heat canvas").evaluate((canvas) => canvas.toDataURL());
    const light = await painted(), themeIs = async (theme, other) => {
        await page.waitForSelector(`html[data-theme=${theme}]`);
        await eventually(async () => assert.equal(await textOf(page, "#theme"), other));
    };
    await themeIs("light", "Dark");
    await page.emulateMedia({ colorScheme: "dark" });
    await themeIs("dark", "Light");
    assert.notEqual(await painted(), light);
    await page.click("#theme");
    await themeIs("light", "Dark");
    await page.emulateMedia({ colorScheme: "light" });
    await page.emulateMedia({ colorScheme: "dark" });
    await themeIs("light", "Dark");
    assert.equal(await painted(), light);
});

for (const [language, lang] of [["en", "en"], ["zh", "zh-CN"]]) {
    visit(`the language of the browser is the first choice: ${language}`, { language }, async (page) => {
        assert.equal(await page.getAttribute("html", "lang"), lang);
    });
}

visit("the address chooses panel and language; each panel keeps its state", { at: "#plan?lang=zh&n=7K" },
    async (page) => {
        assert.equal(await page.getAttribute("html", "lang"), "zh-CN");
        assert.equal(await page.inputValue("#plan-n"), "7K");
        await page.click("#tab-race");
        await page.waitForSelector("#race-start");
        await page.click("#tab-plan");
        assert.equal(await page.inputValue("#plan-n"), "7K");
        await page.goBack();
        await page.waitForSelector("#race-start");
        await goTo(page, "learn");
        await page.evaluate(() => (location.hash = "nothing"));
        await page.waitForSelector("#learn-answers");
    });

/* ---- where the page is */

for (const source of ["file", "single"]) {
    visit(`every panel works from: ${source}`, { source }, async (page) => {
        for (const panel of PANELS) {
            await show(page, panel);
            assert.ok((await page.locator(".panel").innerText()).length > 300, panel);
        }
        await page.reload();
        await page.waitForSelector("#race-start");
    });
}

/* ---- printing */

visit("every panel prints, with all figures", {}, async (page) => {
    for (const panel of PANELS) {
        await goTo(page, panel);
        const paper = await page.pdf();
        assert.equal(paper.subarray(0, 5).toString(), "%PDF-", panel);
        assert.ok(paper.length > 10000, `${panel}: ${paper.length} bytes`);
        if (panel === "learn") assert.ok((await textOf(page, "#learn-growing-report")).length > 20);
    }
});
