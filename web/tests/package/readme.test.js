/* readme.test.js - the examples of the package's README.md, and of the repository's, give what their comments show
 *
 * All examples run as one program.  A statement with a comment that is a value is checked.  An example that begins with
 * the comment `// NAME.js` is that file. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { PACKAGE, ROOT, existsSync, join, tamis } from "./helper.js";

const text = readFileSync(join(PACKAGE, "README.md"), "utf8");
const examplesOf = (page) => [...page.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
const examples = examplesOf(text);
const VALUE = /^(?!(?:const|let|import) )(\S.*);\s+\/\/ ((?:true|false|\d+|"[^"]*"|\[.*\]|Uint8Array\.of\(.*\)))(?:: .*)?$/gm;

/* Runs the examples of a page; returns the values that were checked. */
async function run(examples) {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "tamis-readme-"))), before = process.cwd(), checked = [];
    try {
        mkdirSync(join(folder, "node_modules"));
        symlinkSync(PACKAGE, join(folder, "node_modules", "tamis"));
        writeFileSync(join(folder, "package.json"), '{"type": "module"}');
        const program = examples.filter((code) => {
            const name = /^\/\/ (\w+\.js)\n/.exec(code)?.[1];
            if (name !== undefined) writeFileSync(join(folder, name), code);
            return name === undefined;
        }).join("").replace(VALUE, "check($1, $2);");
        writeFileSync(join(folder, "readme.mjs"), program);
        process.chdir(folder);
        globalThis.check = (found, expected) => {
            assert.deepEqual(found, expected);
            checked.push(found);
        };
        await import(pathToFileURL(join(folder, "readme.mjs")));
    } finally {
        delete globalThis.check;
        process.chdir(before);
        rmSync(folder, { recursive: true });
    }
    return checked;
}

test("README.md: every example runs, and gives what it shows", async () => {
    const { length } = await run(examples);
    assert.ok(length >= 30, `only ${length} values were checked`);
});

const front = join(ROOT, "README.md");

test("the repository's README.md: its example runs, too", { skip: existsSync(front) ? false : "README.md is not here" }, async () => {
    assert.deepEqual(await run(examplesOf(readFileSync(front, "utf8"))), [true, Uint8Array.of(1, 0)]);
});

test("README.md: every comment with a value is one that is checked", () => {
    const values = examples.join("").split("\n").filter((line) => /;\s+\/\/ (true|false|\d|"|\[|Uint8Array)/.test(line));
    assert.equal(values.length, [...examples.join("").matchAll(VALUE)].length);
});

/* Another compiler gives slightly other sizes. */
test("README.md: the sizes are those of the files", () => {
    for (const [row, file] of [["`tamis`, with SIMD", "tamis-simd.wasm"], ["`tamis`, without SIMD", "tamis.wasm"], ["`tamis/core`", "core.wasm"]]) {
        const [, bytes, packed] = text.split("\n").find((line) => line.startsWith(`| ${row} |`)).split("|").slice(1).map((cell) => Number(cell.replace(/ /g, "")));
        const near = (stated, size) => assert.ok(Math.abs(stated - size) <= 0.03 * size, `${file}: ${size} bytes, not ${stated}`);
        near(bytes, statSync(join(PACKAGE, file)).size);
        near(packed, gzipSync(readFileSync(join(PACKAGE, file)), { level: 9 }).length);
    }
});

const results = join(ROOT, "web/bench/results.md");

test("README.md: the measurements are rows of web/bench/results.md", { skip: existsSync(results) ? false : "web/bench/results.md is not here" }, () => {
    const rows = /<!-- speed -->(.*)<!-- end -->/s.exec(text)[1].split("\n").filter((line) => line.startsWith("|"));
    const lines = new Set(readFileSync(results, "utf8").split("\n"));
    assert.ok(rows.length >= 5);
    for (const row of rows) assert.ok(lines.has(row), row);
});

test("README.md: the bits per key are those of plans", () => {
    for (const { name } of tamis.kinds) {
        const [, cells] = new RegExp(`\\| \`${name}\`.*\\| ([\\d., ]+) \\|$`, "m").exec(text);
        const found = [0.01, 0.001].map((fpr) => tamis.size({ kind: name, capacity: 1_000_000, fpr }).bitsPerKey.toFixed(1));
        assert.equal(cells, found.join(", "), name);
    }
});
