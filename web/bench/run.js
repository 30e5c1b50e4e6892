/* run.js - compares the package with npm's bloom-filters and bloomfilter
 *
 *     node web/bench/run.js PEERS [RESULTS.md]
 *
 * PEERS is a folder with node_modules/bloom-filters and node_modules/bloomfilter (web/build DIRECTORY --peers makes
 * DIRECTORY/peers).  $TAMIS_PACKAGE is the folder of the package (default: what "tamis" resolves to).  Prints a page in
 * Markdown, and writes it to RESULTS.md.  Takes two minutes; run it while the machine does nothing else.
 *
 * Every round measures all contenders, each round in another order.  Each contender has loops of its own, compiled from
 * text, so that no loop is compiled for the objects of another.  All are warm before the first round. */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [, , peersFolder, output] = process.argv;
if (peersFolder === undefined) {
    console.error("usage: node run.js FOLDER_WITH_PEERS [RESULTS.md]");
    process.exit(2);
}
const KEYS = Number(process.env.TAMIS_BENCH_KEYS ?? 1_000_000), ROUNDS = Number(process.env.TAMIS_BENCH_ROUNDS ?? 5);
const QUERIES = Math.min(KEYS, 200_000), FPR = 0.01;

const own = process.env.TAMIS_PACKAGE ?? dirname(createRequire(import.meta.url).resolve("tamis/package.json"));
const tamis = await import(pathToFileURL(join(resolve(own), "index.js")));
const require = createRequire(join(resolve(peersFolder), "x.js"));
const { BloomFilter: BloomFilters } = require("bloom-filters");
const { BloomFilter: Bloomfilter } = await import(pathToFileURL(require.resolve("bloomfilter")));
const versionOf = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version;
const peerVersion = (name) => versionOf(join(resolve(peersFolder), "node_modules", name));

/* ---- contenders */

const each = (call) => new Function("filter", "keys", `for (let i = 0; i < keys.length; i++) filter.${call}(keys[i]);`);
const countEach = (call, key = "keys[i]") =>
    new Function("filter", "keys", `let n = 0; for (let i = 0; i < keys.length; i++) if (filter.${call}(${key})) n++; return n;`);
const sum = (results) => {
    let n = 0;
    for (let i = 0; i < results.length; i++) n += results[i];
    return n;
};

/* `has` has a loop for each type of key: the peers accept text alone. */
const ours = (kind) => ({
    name: `tamis \`${kind}\``,
    build: (keys) => tamis.Filter.build(keys, { kind, fpr: FPR }),
    share: 1,
    ...(kind === "fuse" ? {} : {
        adds: (() => {
            const add = each("add");
            return (keys) => {
                const filter = tamis.Filter.create({ kind, capacity: keys.length, fpr: FPR });
                add(filter, keys);
                return filter;
            };
        })(),
        addMany: (keys) => {
            const filter = tamis.Filter.create({ kind, capacity: keys.length, fpr: FPR });
            filter.addMany(keys);
            return filter;
        },
    }),
    has: { text: countEach("has"), url: countEach("has"), number: countEach("has"), bigint: countEach("has") },
    many: (filter, keys) => sum(filter.hasMany(keys)),
    bits: (filter) => filter.info().bitsPerKey,
    free: (filter) => filter.free(),
});
/* Of a slow peer a tenth of the queries and of the keys that are added is measured. */
function peer(name, create, query, bitsOf, share = 1) {
    const add = each("add"), build = (keys) => {
        const filter = create(KEYS);
        add(filter, keys);
        return filter;
    };
    const asText = "String(keys[i])";
    return {
        name, build, share,
        has: { text: countEach(query), url: countEach(query), number: countEach(query, asText), bigint: countEach(query, asText) },
        bits: (filter) => bitsOf(filter) / KEYS,
        free: () => {},
    };
}
const contenders = [
    ours("bloom"), ours("block"), ours("fuse"),
    peer("bloomfilter", (n) => Bloomfilter.withTargetError(n, FPR), "test", (filter) => 32 * filter.buckets.length),
    peer("bloom-filters", (n) => BloomFilters.create(n, FPR), "has", (filter) => filter.size, 10),
];

const peers = contenders.filter(({ many }) => many === undefined).map(({ name }) => name);

/* ---- keys: text as JSON.parse makes it, one string for each */

const text = (make, from, count) => JSON.parse(JSON.stringify(Array.from({ length: count }, (_, i) => make(from + i))));
const short = (i) => `key-${i}`, url = (i) => `https://www.example.com/articles/${i % 97}/${i}`;
/* Every second query is of a member. */
const half = (make, count) => Array.from({ length: count }, (_, i) => make(i % 2 ? i : 3 * KEYS + i));
const big = (i) => BigInt(i) * 0x9e3779b97fn;

const sets = {
    text: {
        makeKeys: () => text(short, 0, KEYS), queries: JSON.parse(JSON.stringify(half(short, QUERIES))), title: "`has`, text such as \"key-123\"",
        many: "`hasMany`, an array of short text", packed: "`hasMany`, packed short text", pack: "`pack`, short text",
    },
    url: {
        makeKeys: () => text(url, 0, KEYS), queries: JSON.parse(JSON.stringify(half(url, QUERIES))), title: "`has`, URLs of 40 bytes",
        many: "`hasMany`, an array of URLs", packed: "`hasMany`, packed URLs", pack: "`pack`, URLs",
    },
    number: { makeKeys: () => Array.from({ length: KEYS }, (_, i) => i), queries: half((i) => i, QUERIES), title: "`has`, numbers" },
    bigint: {
        makeKeys: () => Array.from({ length: KEYS }, (_, i) => big(i)), queries: half(big, QUERIES), title: "`has`, BigInts",
        many: "`hasMany`, a `BigInt64Array`",
    },
};
const textOf = (type, keys) => (type === "text" || type === "url" ? keys : keys.map(String));

/* ---- measuring */

const say = (words) => console.error(`bench: ${words}`);
const time = (work, count) => {
    const start = performance.now();
    work();
    return ((performance.now() - start) * 1e6) / count;
};

/* Rows of times: `tasks` has [row, contender, work, number of keys]; returns times[row][contender].  With `warm` the work is
 * done once more before it is timed, so that the caches are those of a loop. */
function measure(tasks, warm) {
    const times = {};
    for (const [, , work] of tasks) work();
    for (let round = 0; round < ROUNDS; round++) {
        const turn = (round * 3) % tasks.length;
        for (const [row, name, work, count] of [...tasks.slice(turn), ...tasks.slice(0, turn)]) {
            if (warm) work();
            ((times[row] ??= {})[name] ??= []).push(time(work, count));
        }
    }
    return times;
}

const load = os.loadavg()[0].toFixed(2);
const results = {}, facts = [];

for (const [type, set] of Object.entries(sets)) {
    say(set.title);
    const tasks = [], keys = set.makeKeys(), filters = contenders.map((one) => one.build(one.many ? keys : textOf(type, keys)));
    contenders.forEach((one, i) => {
        const queries = set.queries.slice(0, QUERIES / one.share);
        tasks.push([set.title, one.name, () => one.has[type](filters[i], queries), queries.length]);
        if (type === "number") return;
        if (!one.many) return;
        const batch = type === "bigint" ? BigInt64Array.from(set.queries) : set.queries;
        tasks.push([set.many, one.name, () => one.many(filters[i], batch), QUERIES]);
        if (type === "bigint") return;
        const packed = tamis.pack(set.queries);
        tasks.push([set.packed, one.name, () => one.many(filters[i], packed), QUERIES]);
        if (i === 0) tasks.push([set.pack, one.name, () => tamis.pack(set.queries), QUERIES]);
    });
    Object.assign(results, measure(tasks, true));
    /* The peers have no batches: a loop over the same keys. */
    for (const row of [set.many, set.packed].filter(Boolean)) for (const name of peers) results[row][name] = results[set.title][name];
    if (type === "text") measureRates(filters, keys);
    filters.forEach((filter, i) => contenders[i].free(filter));
}

function measureRates(filters, keys) {
    say("false positives");
    const absent = text(short, 10 * KEYS, KEYS), isFound = (one, filter, some) => one.has.text(filter, some);
    contenders.forEach((one, i) => {
        const some = absent.slice(0, KEYS / one.share);
        facts.push({ name: one.name, bits: one.bits(filters[i]), rate: isFound(one, filters[i], some) / some.length,
            lost: QUERIES - isFound(one, filters[i], keys.slice(0, QUERIES)) });
    });
}

for (const type of ["text", "url"]) {
    say(`build: ${type}`);
    const keys = sets[type].makeKeys(), what = type === "url" ? "URLs" : "short text";
    const some = keys.slice(0, KEYS / 10);
    const work = (make, one) => () => one.free(make(one.share > 1 ? some : keys)), build = `build from an array of ${what}`, adds = `\`add\` one by one, ${what}`;
    const addMany = `\`addMany\`, an array of ${what}`;
    Object.assign(results, measure(contenders.flatMap((one) => [
        [build, one.name, work(one.build, one), one.share > 1 ? some.length : KEYS],
        ...(one.adds ? [[adds, one.name, work(one.adds, one), KEYS], [addMany, one.name, work(one.addMany, one), KEYS]] : []),
    ])));
    for (const name of peers) results[addMany][name] = results[adds][name] = results[build][name];
}

/* ---- the page */

const best = (times) => Math.min(...times);
const median = (times) => [...times].sort((a, b) => a - b)[times.length >> 1];
const digits = (n) => (n >= 100 ? Math.round(n).toLocaleString("en-US").replace(/,/g, " ") : n.toFixed(1));
const names = contenders.map(({ name }) => name);
const table = (head, rows) => [`| ${head.join(" | ")} |`, `|---|${"--:|".repeat(head.length - 1)}`, ...rows.map((row) => `| ${row.join(" | ")} |`)].join("\n");

function ratio(times, name) {
    const mine = Math.min(...names.slice(0, 3).filter((one) => times[one]).map((one) => best(times[one])));
    return times[name] ? `${(best(times[name]) / mine).toFixed(1)}` : "-";
}
/* `pack` last. */
const order = [/^build/, /^`addMany`/, /^`add`/, /^`has`/, /^`hasMany`/, /^`pack`/];
const titles = Object.keys(results).sort((a, b) => order.findIndex((one) => one.test(a)) - order.findIndex((one) => one.test(b)));
const rows = titles.map((title) => {
    const times = results[title];
    return [title, ...names.map((name) => (times[name] ? `${digits(best(times[name]))} (${digits(median(times[name]))})` : "-")),
        ...(/^`pack`/.test(title) ? ["-", "-"] : peers.map((name) => ratio(times, name)))];
});
const cpu = os.cpus()[0].model.trim();
const page = `# JavaScript libraries compared

\`node web/bench/run.js PEERS\` makes these measurements and writes this page.

${cpu}, ${os.cpus().length} processors, ${os.type()} ${os.arch()}; Node ${process.versions.node}, V8 ${process.versions.v8};
tamis ${tamis.version}${tamis.simd ? " (SIMD)" : ""}, bloomfilter ${peerVersion("bloomfilter")}, bloom-filters ${peerVersion("bloom-filters")}.
${new Date().toISOString().slice(0, 10)}. Load of the machine at the start: ${load}.

${KEYS.toLocaleString("en-US").replace(/,/g, " ")} keys, a false positive rate of ${100 * FPR} %; nanoseconds per key, best and (median) of ${ROUNDS} rounds in
alternating order. Half of the ${QUERIES.toLocaleString("en-US").replace(/,/g, " ")} queries are of members. The last columns are the best time of the peer divided by the best of
tamis. The peers have no batches and accept text only: their builds and their rows of \`hasMany\` are loops, and numbers and BigInts become text with
\`String()\`, which is in their time. Of bloom-filters a tenth of the queries is measured, and of
builds the first tenth of the keys, in a filter of full size.

${table(["ns per key", ...names, ...peers.map((name) => `${name}, ratio`)], rows)}

## Size and false positives

*lost* counts members that a filter denies.

${table(["", "bits per key", "measured FPR", "lost"], facts.map(({ name, bits, rate, lost }) => [name, bits.toFixed(2), `${(100 * rate).toFixed(3)} %`, lost]))}
`;
console.log(page);
if (output !== undefined) writeFileSync(output, page);
