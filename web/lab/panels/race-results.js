/* race-results.js - the results of a race: sorted bars, a table, plain text */
import { h } from "../dom.js";

/* The 99.5th percentile of the normal distribution, for intervals of 99 %. */
const Z = 2.5758293035489;
/* Bars of more than this many times the median are cut off. */
const CUT = 5;

export const MEASURES = ["build", "presentMany", "absentMany", "present", "absent", "bits", "fpr"];

/** The interval of Wilson for a share of `hits` in `tries`. */
export function wilson(hits, tries) {
    const share = hits / tries, z2 = (Z * Z) / tries;
    const middle = (share + z2 / 2) / (1 + z2);
    const half = (Z / (1 + z2)) * Math.sqrt((share * (1 - share)) / tries + z2 / (4 * tries));
    return { share, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

const intervalOf = (result) => wilson(result.falsePositives, result.absentTries);
const valueOf = (result, measure) =>
    measure === "bits" ? result.bitsPerKey : measure === "fpr" ? intervalOf(result).share : result[measure];

export const nanoseconds = (value) =>
    value >= 1000 ? Math.round(value).toLocaleString("en-US") : value >= 100 ? value.toFixed(0) : value.toFixed(1);

/* Percent with as many digits for all: 0.995 %. */
const percent = (share, promise) =>
    `${(100 * share).toFixed(Math.max(0, 2 - Math.floor(Math.log10(100 * promise))))} %`;

function valueText(result, measure, race) {
    const value = valueOf(result, measure);
    if (measure === "bits") return value.toFixed(2);
    return measure === "fpr" ? percent(value, race.course.p) : nanoseconds(value);
}

/** Is the promised rate below what chance explains? */
export const isKept = (result, promise) => intervalOf(result).low <= promise;

/* ---- bars */

function scaleOf(values, reference) {
    const sorted = [...values].sort((a, b) => a - b), limit = CUT * sorted[Math.floor(sorted.length / 2)];
    const shown = values.filter((value) => value <= limit);
    return 1.05 * Math.max(...shown, reference ?? 0);
}

function track(result, measure, top, reference) {
    const place = (value) => `${Math.min(100, (100 * value) / top).toFixed(2)}%`;
    const value = valueOf(result, measure), isCut = value > top;
    const { low, high } = measure === "fpr" ? intervalOf(result) : {};
    return h("span", { class: `track${isCut ? " cut" : ""}` },
        h("span", { class: "bar", style: `inline-size: ${place(value)}; background: ${result.colour}` }),
        reference !== undefined && h("span", { class: "reference", style: `inset-inline-start: ${place(reference)}` }),
        low !== undefined && h("span", {
            class: "interval",
            style: `inset-inline-start: ${place(low)}; inline-size: calc(${place(high)} - ${place(low)})`,
        }));
}

/** A list of bars, the best first.  `race` is {course, results}. */
export function bars(race, measure, t) {
    const present = race.results.filter((result) => valueOf(result, measure) !== undefined)
        .sort((a, b) => valueOf(a, measure) - valueOf(b, measure));
    const missing = race.results.filter((result) => valueOf(result, measure) === undefined);
    const reference = { bits: -Math.log2(race.course.p), fpr: race.course.p }[measure];
    const highest = (result) => (measure === "fpr" ? intervalOf(result).high : valueOf(result, measure));
    const top = scaleOf(present.map(highest), reference);
    const unit = ["bits", "fpr"].includes(measure) ? "" : " ns";
    return h("ol", { class: "bars" },
        present.map((result) => h("li", {},
            h("span", { class: "name" }, result.name),
            track(result, measure, top, reference),
            h("span", { class: "value" }, valueText(result, measure, race) + unit,
                valueOf(result, measure) > top && h("span", { class: "hidden" }, ` ${t("cut")}`)))),
        missing.map((result) => h("li", { class: "missing" },
            h("span", { class: "name" }, result.name), h("span", { class: "track" }),
            h("span", { class: "value" }, t("noBatch")))));
}

/* ---- the table */

function cellsOf(result, race, t, format) {
    const { p } = race.course, { share, low, high } = intervalOf(result);
    const time = (name) => (result[name] === undefined ? "–" : nanoseconds(result[name]));
    return [
        time("build"), time("presentMany"), time("absentMany"), time("present"), time("absent"),
        result.bitsPerKey.toFixed(2),
        `${percent(share, p)} (${percent(low, p)} – ${percent(high, p)})`,
        t(isKept(result, p) ? "kept" : "exceeded"),
        t("missed", format.count(result.falseNegatives), format.count(result.presentTries)),
    ];
}

const headsOf = (race, t, format) => [
    t("filter"), t("c_build"), t("c_presentMany"), t("c_absentMany"), t("c_present"), t("c_absent"), t("c_bits"),
    t("c_fpr"), t("c_verdict", format.rate(race.course.p)), t("c_missed"),
];

export function table(race, t, format) {
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("table") },
        h("table", { id: "race-table" },
            h("thead", {}, h("tr", {}, headsOf(race, t, format).map((head, i) =>
                h("th", { scope: "col", class: i === 0 ? null : "number" }, head)))),
            h("tbody", {}, race.results.map((result) => h("tr", { "data-name": result.name },
                h("th", { scope: "row" }, result.name, result.isSampled && " *"),
                cellsOf(result, race, t, format).map((text) => h("td", { class: "number" }, text)))))));
}

/** A sentence for each entrant that got a sample. */
export const sampleNotes = (race, t, format) => race.results
    .filter((result) => result.isSampled)
    .map((result) => t("sample", result.name, format.count(result.keys), format.count(result.lookups), result.keys < race.course.n));

/* Chinese characters are two columns wide in a terminal. */
const widthOf = (text) => [...text].reduce((width, sign) => width + (sign > "\u2e7f" ? 2 : 1), 0);

/** All of it as text, in columns. */
export function asText(race, t, format) {
    const rows = race.results.map((result) => [result.name, ...cellsOf(result, race, t, format)]);
    const heads = headsOf(race, t, format);
    const legend = heads.slice(1).map((head, i) => `  ${String.fromCharCode(97 + i)}  ${head}`);
    const all = [["", ...legend.map((_, i) => String.fromCharCode(97 + i))], ...rows];
    const widths = heads.map((_, i) => Math.max(...all.map((row) => widthOf(row[i]))));
    const line = (row) => row.map((text, i) => {
        const space = " ".repeat(widths[i] - widthOf(text));
        return i === 0 ? text + space : space + text;
    }).join("  ").trimEnd();
    const { n, form, p } = race.course;
    return [
        `tamis ${race.version}: ${t("resultsOf", format.count(n), t(form), format.rate(p))}`,
        race.machine, "", ...all.map(line), "", ...legend, "", ...sampleNotes(race, t, format),
    ].join("\n").trim();
}
