/* plan.test.js - plans and sizes are those of the command, to the digit */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DYNAMIC, KINDS, Random, command, core, needsCommand, refused, tamis, times } from "./helper.js";

const { Filter, expectedFpr, plan, size } = tamis;
const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
const inCamelCase = (value) =>
    Array.isArray(value) ? value.map(inCamelCase)
        : value === null || typeof value !== "object" ? value
            : Object.fromEntries(Object.entries(value).map(([name, one]) => [camel(name), inCamelCase(one)]));

function commandPlan({ n, fpr, bytes, needs = [] }) {
    const args = ["plan", "--json", "-n", `${n}`, ...[needs].flat().flatMap((need) => ["--need", need])];
    if (fpr !== undefined) args.push("-p", `${fpr}`);
    if (bytes !== undefined) args.push("-M", `${bytes}`);
    return inCamelCase(JSON.parse(Buffer.from(command(args).output).toString()));
}

/* The command prints no width. */
const withoutWidth = ({ families, ...rest }) => ({ ...rest, families: families.map(({ width: _width, ...family }) => family) });

function compare(options) {
    assert.deepEqual(withoutWidth(plan(options)), commandPlan(options), JSON.stringify(options));
    if (options.bytes === undefined) assert.deepEqual(core.plan(options), plan(options));
}

const COUNTS = [0, 1, 2, 10, 999, 1000, 123_456, 1_000_000, 50_000_000, 3_000_000_000];
const RATES = [0.999, 0.5, 0.25, 0.1, 0.01, 0.0123456789, 1 / 3, 2 ** -14, 1e-5, 1e-6, 2 ** -32, 1e-10, 1e-15, 1e-30, 5e-324];
const NEEDS = ["add", "remove", "grow", "merge", "static"];

/* On 64 bits the command can address more. */
const fits = ({ n, fpr, bytes }) => (bytes ?? (n * 6 * (1 - Math.log2(fpr ?? 0.01))) / 2) < 2 ** 30 && (n < 2 ** 31 || bytes !== undefined);

test("rates", needsCommand, () => {
    for (const n of COUNTS) {
        for (const fpr of n === 1000 ? RATES : [0.5, 0.01, 0.0123, 1e-6, 1e-12]) if (fits({ n, fpr })) compare({ n, fpr });
    }
});

test("memory", needsCommand, () => {
    for (const n of [1, 1000, 1_000_000]) {
        for (const bytes of [1, 100, 208, 1000, 10_000, 1_234_567, 100_000_000]) compare({ n, bytes });
    }
});

test("needs, also where no kind fits", needsCommand, () => {
    for (const need of NEEDS) {
        for (const fpr of [0.01, 1e-9, 1e-30]) compare({ n: 1000, fpr, needs: need });
        for (const bytes of [300]) compare({ n: 1000, bytes, needs: [need] });
        for (const other of NEEDS) compare({ n: 5000, needs: [need, other] });
    }
});

test("at random", needsCommand, () => {
    const random = new Random("plan");
    for (let i = 0; i < times(20); i++) {
        const n = Math.floor(10 ** (7 * (random.bits() / 2 ** 32)));
        const needs = random.below(2) ? [] : [random.pick(NEEDS)];
        const target = random.below(2)
            ? { fpr: Number((10 ** (-9 * (random.bits() / 2 ** 32) - 0.01)).toPrecision(1 + random.below(6))) }
            : { bytes: 1 + Math.floor((n * (1 + random.below(30))) / 8) + random.below(1000) };
        compare({ n, needs, ...target });
    }
});

test("what is beyond 32 bits is an answer, not a trap", () => {
    for (const n of [2 ** 32, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
        const found = plan({ n, fpr: 0.01 });
        assert.equal(typeof found.why, "string");
        assert.ok(found.why.length > 10);
        plan({ n, bytes: 2 ** 45 });
    }
});

test("size is that of a plan, and of the filter", () => {
    for (const n of [0, 1, 1000, 20_000]) {
        for (const fpr of [0.1, 0.01, 1e-5]) {
            for (const family of plan({ n, fpr }).families) {
                assert.deepEqual(size({ kind: family.kind, capacity: n, fpr }), family);
                if (DYNAMIC.includes(family.kind)) {
                    assert.equal(Filter.create({ kind: family.kind, capacity: n, fpr }).encode().length, family.bytes);
                }
            }
        }
    }
    const built = Filter.build(Array.from({ length: 20_000 }, (_, i) => i), { kind: "fuse" });
    assert.equal(built.info().bytes, size({ kind: "fuse", capacity: 20_000, fpr: 0.01 }).bytes);
});

test("size without a kind is that of the planner's choice", () => {
    for (const needs of [[], "add", "remove", "grow", "merge", "static"]) {
        const found = size({ capacity: 1000, needs });
        assert.deepEqual(found, size({ capacity: 1000, kind: found.kind }), `${needs}`);
        if (needs !== "static") assert.equal(Filter.create({ capacity: 1000, needs }).info().kind, found.kind);
    }
    assert.equal(size({ format: "guava", capacity: 1000, fpr: 0.01 }).kind, "guava");
    refused(() => size({ format: "xor8", capacity: 1000 }), "E_UNSUPPORTED");
});

test("expectedFpr is that of the sizing at n, n / 2 and 2 n", () => {
    for (const kind of KINDS) {
        const options = { kind, capacity: 10_000, fpr: 0.01 }, found = size(options);
        assert.deepEqual([10_000, 5000, 20_000].map((keys) => expectedFpr(options, keys)), [found.fpr, found.fprAtHalf, found.fprAtDouble], kind);
        assert.ok(expectedFpr(options, 0) <= found.fpr);
    }
    refused(() => expectedFpr({ format: "guava", capacity: 10 }, 5), "E_UNSUPPORTED");
});

test("a planned command builds the filter that was planned", needsCommand, () => {
    const keys = Array.from({ length: 1000 }, (_, i) => `${i}`);
    for (const needs of NEEDS) {
        const found = plan({ n: 1000, fpr: 0.01, needs });
        const words = found.command.split(" ").slice(2).filter((word) => word !== "KEYS.txt").map((word) => (word === "FILE.tamis" ? "-" : word));
        const done = command(["build", "-q", ...words], keys);
        assert.equal(done.output.length, found.families.find(({ kind }) => kind === found.choice).bytes, found.command);
    }
});
