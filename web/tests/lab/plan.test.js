/* plan.test.js - the panel Plan: its numbers are those of `tamis plan --json`, its snippets are right */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "../../lab/panels/plan.js";
import {
    KINDS, LANGUAGES, ROOT, command, eventually, goTo, needsCommand, tamis, textOf, textsOf, type, visit,
} from "./helper.js";

const NEEDS = ["add", "remove", "grow", "merge", "static"];
const FIELDS = ["bits_per_key", "bytes", "hashes", "cache_lines", "fpr_at_half", "fpr", "fpr_at_double"];

/* What is typed, and the numbers that it means. */
const KEYS = { "1000": 1000, "50K": 50000, "1,234,567": 1234567, "64Ki": 65536, "100M": 100000000, "0": 0, "1": 1 };
const RATES = {
    "1%": 0.01, "0.001": 0.001, "1e-6": 1e-6, "1/1000": 1 / 1000, "33 %": 0.33, "1e-12": 1e-12, "1e-30": 1e-30,
};
const SIZES = { "1Mi": 2 ** 20, "64Ki": 65536, "100": 100 };

function commandPlan({ n, fpr, bytes, needs = [] }) {
    const target = bytes === undefined ? ["-p", `${fpr}`] : ["-M", `${bytes}`];
    const needed = needs.flatMap((need) => ["--need", need]);
    const { output } = command(["plan", "--json", "-n", `${n}`, ...target, ...needed]);
    return JSON.parse(Buffer.from(output).toString());
}

/* The sentence of the planner, as the page writes it. */
const sentence = (why) => why.replace(/^[a-z]+: /, "").replace(/^./, (first) => first.toUpperCase());

/* The choice and the table are those of the command.  Returns its plan. */
async function numbersAre(page, request) {
    const plan = commandPlan(request), rows = page.locator("#plan-table tr.chosen, #plan-table tr:has(td[data-field])");
    await eventually(async () =>
        assert.equal(await page.getAttribute(".choice", "data-choice"), plan.choice, JSON.stringify(request)));
    await eventually(async () => {
        const numbers = await rows.evaluateAll((all, fields) => all.map((row) => [row.id.slice(9),
            ...fields.map((field) => row.querySelector(`[data-field=${field}]`)?.dataset.value)]), FIELDS);
        assert.deepEqual(numbers, plan.families.map((family) =>
            [family.kind, ...FIELDS.map((field) => String(family[field]))]), JSON.stringify(request));
    });
    assert.equal(await page.locator("#plan-table tbody tr").count(), KINDS.length);
    return plan;
}

async function showsPlan(page, request, language = "en") {
    const plan = await numbersAre(page, request);
    if (language === "en") assert.equal(await textOf(page, "#plan-why"), sentence(plan.why));
    else assert.match(await textOf(page, "#plan-why"), /^[\u4e00-\u9fff]/, `not in Chinese: ${plan.why}`);
    if (plan.bound_bits_per_key !== undefined) {
        assert.equal(await page.getAttribute("#plan-bound", "data-value"), String(plan.bound_bits_per_key));
        assert.equal(await page.getAttribute("#plan-classic", "data-bits"), String(plan.classic_bits));
        assert.equal(await page.getAttribute("#plan-classic", "data-hashes"), String(plan.classic_hashes));
    }
    const lines = plan.choice === "" ? [] : (await textOf(page, "#plan-snippet-command")).split(/ (?=tamis )/);
    assert.equal(lines[0], plan.command);
    return plan;
}

async function chooseNeeds(page, needs) {
    for (const need of NEEDS) {
        const box = page.locator(`#plan-need-${need}`);
        if (await box.isChecked() !== needs.includes(need)) await box.press("Space");
    }
}

/* ---- the numbers */

const byRate = async (page, language) => {
    await showsPlan(page, { n: 1000000, fpr: 0.01 }, language);
    for (const [keys, n] of language === "en" ? Object.entries(KEYS) : []) {
        await type(page, "#plan-n", keys);
        await showsPlan(page, { n, fpr: 0.01 }, language);
    }
    await type(page, "#plan-n", "50K");
    for (const [rate, fpr] of Object.entries(RATES)) {
        await type(page, "#plan-fpr", rate);
        await showsPlan(page, { n: 50000, fpr }, language);
    }
};

for (const view of [{ language: "en", size: "desktop" }, { language: "zh", size: "phone" }]) {
    visit(`plans by rate: ${view.language}, ${view.size}`, { ...needsCommand, ...view, at: "#plan" },
        (page) => byRate(page, view.language));
}

visit("plans by memory", { ...needsCommand, at: "#plan?n=50K" }, async (page) => {
    /* Radio buttons change with the arrow keys. */
    await page.locator("#plan-by-fpr").press("ArrowRight");
    await page.waitForSelector("#plan-by-size:focus");
    for (const [memory, bytes] of Object.entries(SIZES)) {
        await type(page, "#plan-size", memory);
        await showsPlan(page, { n: 50000, bytes });
    }
    await page.locator("#plan-by-size").press("ArrowLeft");
    await showsPlan(page, { n: 50000, fpr: 0.01 });
});

for (const language of LANGUAGES) {
    visit(`needs, also impossible ones: ${language}`, { ...needsCommand, at: "#plan", language }, async (page) => {
        /* The last two: static alone, and with remove. */
        const sets = language === "en" ? [...Array(16).keys(), 16, 18] : [0, 3, 14, 18];
        for (const set of sets) {
            const needs = NEEDS.filter((_, i) => (set >> i) & 1);
            await chooseNeeds(page, needs);
            const { choice } = await showsPlan(page, { n: 1000000, fpr: 0.01, needs }, language);
            assert.equal(await page.locator("#plan-snippet-command").count(), choice === "" ? 0 : 1);
        }
        await goTo(page, "plan?n=1M&p=1e-12&need=remove");
        await showsPlan(page, { n: 1000000, fpr: 1e-12, needs: ["remove"] }, language);
        await goTo(page, "plan?n=1M&m=1K&need=remove");
        await showsPlan(page, { n: 1000000, bytes: 1000, needs: ["remove"] }, language);
    });
}

visit("a filter that WebAssembly cannot address is a sentence, not a trap", { at: "#plan?n=9T&p=1%" }, async (page) => {
    assert.ok((await textOf(page, "#plan-why")).length > 20);
    await type(page, "#plan-n", "1K");
    await eventually(async () => assert.equal(await page.getAttribute(".choice", "data-choice"), "fuse"));
});

/* ---- wrong input, the address */

for (const language of LANGUAGES) {
    visit(`wrong input: ${language}`, { at: "#plan?n=1K", language }, async (page) => {
        const wrong = async (field, input, key, good) => {
            await type(page, `#plan-${field}`, input);
            await page.locator("#plan-error[role=alert]").waitFor();
            await eventually(async () => assert.equal(await textOf(page, "#plan-error"), text[language][key](input)));
            assert.equal(await page.getAttribute(`#plan-${field}`, "aria-invalid"), "true");
            assert.equal(await page.locator("#plan-table").count(), 0, "numbers beside an error");
            await type(page, `#plan-${field}`, good);
            await page.locator("#plan-table").waitFor();
            assert.equal(await page.getAttribute(`#plan-${field}`, "aria-invalid"), "false");
        };
        const inputs = language === "zh" ? [["很多"], ["1/0"], ["1Q"]]
            : [["many", "-5", "1 2 x", "1e400"], ["0", "100%", "2", "rare"], ["0", "big"]];
        for (const input of inputs[0]) await wrong("n", input, "badKeys", "1K");
        for (const input of inputs[1]) await wrong("fpr", input, "badRate", "1%");
        await page.check("#plan-by-size");
        for (const input of inputs[2]) await wrong("size", input, "badSize", "1K");
    });
}

visit("the address keeps the plan", { ...needsCommand, at: "#plan" }, async (page) => {
    await type(page, "#plan-n", "50K");
    await type(page, "#plan-fpr", "1e-6");
    await chooseNeeds(page, ["remove"]);
    await page.selectOption("#plan-kind", "counting");
    const stays = async () => {
        await numbersAre(page, { n: 50000, fpr: 1e-6, needs: ["remove"] });
        assert.equal(await page.inputValue("#plan-n"), "50K");
        assert.equal(await page.inputValue("#plan-fpr"), "1e-6");
        assert.equal(await page.isChecked("#plan-need-remove"), true);
        assert.equal(await page.inputValue("#plan-kind"), "counting");
    };
    await page.reload();
    await page.waitForSelector("#plan-table");
    await stays();
    await page.click("#language");
    await page.waitForSelector("html[lang=zh-CN]");
    await stays();
    await page.click("#tab-watch");
    await page.click("#tab-plan");
    await stays();
});

/* ---- snippets */

/* Calls with an empty folder in which `tamis` is a command. */
function withFolder(call) {
    const folder = mkdtempSync(join(tmpdir(), "tamis-lab-"));
    try {
        symlinkSync(resolve(process.env.TAMIS), join(folder, "tamis"));
        return call(folder, (program, args, input) => spawnSync(program, args, {
            cwd: folder, input, encoding: "utf8", env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
        }));
    } finally {
        rmSync(folder, { recursive: true });
    }
}

const isHere = (program) => spawnSync(program, ["--version"]).error === undefined;
const HAS_PYTHON = isHere("python3"), HAS_CC = isHere("cc");

/* The commands of a snippet, in a folder with the files that they name. */
function runCommands(commands, start, about) {
    const [build] = commands.split("\n");
    for (const line of [build.replace("FILE.tamis", "OTHER.tamis"), ...commands.split("\n")]) {
        const { status, stdout, stderr } = start("sh", ["-c", line]), isQuery = line.startsWith("tamis query");
        assert.ok(status === 0 || (isQuery && status === 1), `${about}: ${line}: ${stderr}`);
        if (isQuery) assert.equal(/^apple$/m.test(stdout), !line.includes(" -v "), `${about}: ${line}: ${stdout}`);
    }
}

function checkSnippets({ commands, c, python }, about, isLarge) {
    withFolder((folder, start) => {
        const files = {
            "KEYS.txt": "apple\npear\nplum\n", "INPUT.txt": "apple\nbanana\n", "MORE.txt": "fig\n",
            "GONE.txt": "pear\n", "program.c": c, "program.py": python,
        };
        for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
        if (!isLarge) runCommands(commands, start, about);
        const compile = (program, ...args) => {
            const { status, stderr } = start(program, args);
            assert.equal(status, 0, `${about}: ${stderr}`);
        };
        const include = join(ROOT, "include");
        if (HAS_CC) compile("cc", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", include, "program.c");
        if (HAS_PYTHON) compile("python3", "-m", "py_compile", "program.py");
    });
}

for (const [language, at] of [
    ["en", "#plan?n=50K&p=0.1%"], ["zh", "#plan?n=20K&m=50K"], ["en", "#plan?n=5G&p=1/3&need=add"],
]) {
    visit(`snippets of every kind run: ${language} ${at}`, { ...needsCommand, at, language }, async (page) => {
        const kinds = await page.locator("#plan-kind option").evaluateAll((all) => all.map(({ value }) => value));
        for (const kind of kinds) {
            await page.selectOption("#plan-kind", kind);
            const [commands, c, python, redis] = await textsOf(page, ".snippets pre");
            assert.match(commands, new RegExp(`^tamis build -k ${kind} `));
            checkSnippets({ commands, c, python }, kind, at.includes("5G"));
            assert.match(redis, /redis-cli (BF|CF|TAMIS)\./);
        }
    });
}

visit("snippets are copied", { at: "#plan?n=1000&p=1%" }, async (page) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    for (const name of ["command", "c", "python", "redis"]) {
        await page.locator(`#plan-copy-${name}`).press("Enter");
        await eventually(async () => assert.equal(await textOf(page, `#plan-copy-${name}`), text.en.copied));
        const copied = await page.evaluate(() => navigator.clipboard.readText());
        assert.equal(copied, await page.locator(`#plan-snippet-${name}`).textContent());
        assert.equal(await textOf(page, "#announcement"), text.en.copied);
    }
});

/* ---- curves */

visit("the curves show expectedFpr and size", { at: "#plan?n=1000&p=1%" }, async (page) => {
    const lines = async (id) => page.locator(`#plan-curve-${id} tbody tr`).evaluateAll((rows) =>
        rows.map((row) => [...row.children].map((cell) => cell.textContent)));
    const names = await textsOf(page, "#plan-curve-keys thead th:not(:first-child)");
    assert.deepEqual(names, KINDS.map(({ name }) => name));
    const { rate } = await import("../../lab/format.js"), all = await lines("keys");
    assert.ok(all.length >= 20);
    for (const [keys, ...rates] of all.filter(([keys]) => /^\d+$/.test(keys))) {
        names.forEach((kind, i) => {
            if (rates[i] === "–") return;
            const exact = tamis.expectedFpr({ kind, capacity: 1000, fpr: 0.01 }, Number(keys));
            assert.equal(rates[i], rate(exact), `${kind}, ${keys} keys`);
        });
    }
    for (const id of ["keys", "rate"]) {
        const plot = page.locator(`#plan-curve-${id} .plot`), shown = () => plot.getAttribute("aria-valuetext");
        await plot.press("Home");
        const first = await shown();
        await plot.press("ArrowRight");
        assert.notEqual(await shown(), first);
        await plot.press("End");
        assert.match(await shown(), id === "keys" ? /bloom \d/ : /information bound \d/);
        await plot.press("Escape");
        assert.equal(await shown(), "");
    }
});
