/* helper.js - what the tests of the page share: a browser, a server of the page's folder, visits, axe, screenshots
 *
 * Environment:
 *     CHROMIUM       the browser
 *     TAMIS_LAB      what web/build made: lab/, tamis-lab.html, package/; and tools/node_modules with playwright-core
 *                    and axe-core
 *     TAMIS          the command; tests that compare with it skip themselves without it
 *     TAMIS_VECTORS  tests/vectors
 *
 * A visit fails its test if the page logs an error, throws, or requests anything but its own files. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

export const LAB = resolve(process.env.TAMIS_LAB);
process.env.TAMIS_PACKAGE ??= join(LAB, "package");
const shared = await import("../package/helper.js");
export const { ROOT, VECTORS, command, needsCommand, tamis, withFiles } = shared;
export const { manifest, readBytes, readKeys } = await import("../package/vectors.js");
export const { kinds: KINDS, Filter } = tamis;

const tools = createRequire(join(LAB, "tools/"));
const { chromium } = tools("playwright-core");
const axeSource = readFileSync(tools.resolve("axe-core/axe.min.js"), "utf8");

export const LANGUAGES = ["en", "zh"];
export const SIZES = { phone: { width: 360, height: 740 }, desktop: { width: 1280, height: 800 } };
const FILES = ["index.html", "lab.css", "lab.js", "peers.js"];
const TYPES = { html: "text/html; charset=utf-8", css: "text/css", js: "text/javascript" };
const ARGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
];

/* ---- the browser and the server, once for each file of tests */

let browser, server, origin;

function serve(request, response) {
    const name = request.url === "/" ? "index.html" : request.url.slice(1);
    if (!FILES.includes(name)) return response.writeHead(404).end();
    return response.writeHead(200, { "Content-Type": TYPES[name.split(".").at(-1)] })
        .end(readFileSync(join(LAB, "lab", name)));
}

before(async () => {
    server = createServer(serve);
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    origin = `http://127.0.0.1:${server.address().port}/`;
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ARGS });
});

after(async () => {
    await browser?.close();
    server.close();
    server.closeAllConnections();
});

/** Addresses of the page: from a server, from a file, as a single file. */
export const SOURCES = {
    server: () => origin,
    file: () => pathToFileURL(join(LAB, "lab/index.html")).href,
    single: () => pathToFileURL(join(LAB, "tamis-lab.html")).href,
};

/* ---- visits */

const folderOf = (address) => new URL(".", address).href;
const isOwn = (address, start) => /^(data|blob):/.test(address) || folderOf(address) === folderOf(start);

/** A new browser window.  `check()` fails if something went wrong in it. */
async function openVisit({ source = "server", at = "", size = "desktop", language = "en", still = true }) {
    const context = await browser.newContext({
        viewport: SIZES[size], locale: language === "zh" ? "zh-CN" : "en-US", colorScheme: "light",
        reducedMotion: still ? "reduce" : "no-preference", acceptDownloads: true,
    });
    const page = await context.newPage(), start = SOURCES[source](), problems = [];
    page.setDefaultTimeout(20000);
    page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => problems.push(`page: ${error.stack}`));
    page.on("request", (request) => isOwn(request.url(), start) || problems.push(`request: ${request.url()}`));
    page.on("websocket", (socket) => problems.push(`websocket: ${socket.url()}`));
    await page.goto(start + at);
    await page.waitForSelector("html[data-ready]");
    return { context, page, check: () => assert.deepEqual(problems, []) };
}

/** A test on the page; `options` are those of the visit, and `skip`.  `body` is called with the page and the test. */
export function visit(name, { skip = false, ...options }, body) {
    test(name, { skip }, async (t) => {
        const { context, page, check } = await openVisit(options);
        try {
            await body(page, t);
            check();
        } finally {
            await context.close();
        }
    });
}

/** Shows another panel, or the same one with another state. */
export async function goTo(page, address) {
    await page.evaluate((hash) => {
        location.hash = hash;
    }, address);
    await page.waitForSelector(`#tab-${address.split("?")[0]}[aria-current=page]`);
}

/* ---- waiting and reading */

/** Calls until it does not throw any more; for what the page does after a pause. */
export async function eventually(check, milliseconds = 15000) {
    for (const end = Date.now() + milliseconds; ;) {
        try {
            return await check();
        } catch (error) {
            if (Date.now() > end) throw error;
        }
        await new Promise((done) => setTimeout(done, 25));
    }
}

/** The text of an element, with single spaces. */
export const textOf = async (page, selector) =>
    (await page.locator(selector).textContent()).replace(/\s+/g, " ").trim();

/** Waits until an element has this text. */
export const shows = (page, selector, text) =>
    eventually(async () => assert.equal(await textOf(page, selector), text.replace(/\s+/g, " ").trim(), selector));

/** The text of each element that matches. */
export const textsOf = (page, selector) => page.locator(selector).allTextContents();

/** Replaces the text of a field as a person does: selects it and types. */
export async function type(page, selector, text) {
    await page.locator(selector).focus();
    await page.keyboard.press("ControlOrMeta+A");
    if (text === "") await page.keyboard.press("Delete");
    else await page.keyboard.type(text);
}

/** Pastes text into a field.  (Typing many lines takes the browser minutes.) */
export const paste = (page, selector, text) => page.locator(selector).evaluate((field, value) => {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
}, text);

/** Moves a slider to a stop. */
export const slide = (page, selector, stop) => page.locator(selector).fill(String(stop));

/** A command that must succeed: what it prints. */
export function run(args, input = "") {
    const { code, output, error } = command(args, input);
    assert.equal(code, 0, `tamis ${args.join(" ")}: ${error}`);
    return Buffer.from(output).toString();
}

/* ---- accessibility and pictures */

/** Runs axe-core: no violations. */
export async function axe(page, about) {
    await page.evaluate(axeSource);
    const violations = await page.evaluate(async () => {
        const found = await globalThis.axe.run(document, { resultTypes: ["violations"] });
        const place = ({ target, any }) => `${target} ${any[0]?.message ?? ""}`;
        return found.violations.map(({ id, impact, nodes }) =>
            `${impact} ${id}: ${nodes.slice(0, 3).map(place).join("; ")}`);
    });
    assert.deepEqual(violations, [], about);
}

/** Leaves a picture of the whole page, or of an element. */
export async function screenshot(page, name, selector) {
    mkdirSync(join(LAB, "screenshots"), { recursive: true });
    const path = join(LAB, "screenshots", `${name}.png`);
    if (selector === undefined) await page.screenshot({ path, fullPage: true });
    else await page.locator(selector).screenshot({ path });
}
