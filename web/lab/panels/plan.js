/* plan.js - compares the kinds for a number of keys, as `tamis plan` does, and shows how to build the one chosen
 *
 * Each number in the table carries the exact value of `tamis plan --json` in data-value. */
import { copyText, debounce, h, show } from "../dom.js";
import { lineChart } from "../chart.js";
import * as texts from "./plan.text.js";
import { rateText, snippets } from "./plan.snippets.js";

export const text = { en: texts.en, zh: texts.zh };

const NEEDS = ["add", "remove", "grow", "merge", "static"];
/* Capacities that the Redis module accepts. */
const REDIS_MIN = { cf: 4, bf: 1 };
const REDIS_MAX = 2 ** 30;
/* Bars longer than this multiple of the bound are cut. */
const BAR_BOUNDS = 2.4;

/* ---- what is planned */

/* The request in the fields, or the sentence on what is wrong with them. */
function readRequest({ format, state, t }) {
    const request = { needs: state.get("need", "").split(",").filter((need) => NEEDS.includes(need)) };
    const keys = state.get("n", "1M"), size = state.get("m"), rate = state.get("p", "1%");
    request.n = format.parseCount(keys);
    if (!Number.isSafeInteger(request.n)) return { error: t("badKeys", keys), field: "n" };
    if (size !== undefined) {
        request.bytes = format.parseCount(size);
        const isSize = request.bytes > 0 && Number.isSafeInteger(request.bytes);
        if (!isSize) return { error: t("badSize", size), field: "m" };
    } else {
        request.fpr = format.parseRate(rate);
        if (!(request.fpr > 0 && request.fpr < 1)) return { error: t("badRate", rate), field: "p" };
    }
    return { request };
}

/* The lowest rate of three digits at which a filter of this kind fits in the size. */
function rateThatFits(tamis, { kind, fpr }, { n, bytes }) {
    for (let rate = Number(fpr.toPrecision(3)), steps = 0; steps < 200 && rate < 1; steps++) {
        try {
            if (rate >= fpr && tamis.size({ kind, capacity: n, fpr: rate }).bytes <= bytes) return rate;
        } catch (error) {
            if (!(error instanceof tamis.TamisError)) throw error;
        }
        rate = Number((rate + 10 ** (Math.floor(Math.log10(rate) + 1e-9) - 2)).toPrecision(3));
    }
    return fpr;
}

/* Why a kind has no numbers. */
function reasonOf({ tamis, t }, kind, { n, fpr, bytes }) {
    try {
        tamis.size({ kind, capacity: n, ...(bytes === undefined ? { fpr } : { bytes }) });
        return t("tooBig");
    } catch (error) {
        if (error.status === "E_TOO_BIG" && bytes === undefined) return t("tooBig");
        return t("reason")[error.status] ?? error.message;
    }
}

/* Every kind can be built from keys that are known. */
const lacking = (kind, needs) => needs.filter((need) => need !== "static" && !kind[need]);

/* ---- the form */

function field(lab, id, name, label, hint, otherwise, onChange) {
    return h("label", { class: "field" }, h("span", {}, label),
        h("input", {
            id, type: "text", value: lab.state.get(name, otherwise), autocomplete: "off", spellcheck: "false",
            "aria-describedby": `${id}-hint`, oninput: (event) => onChange(name, event.target.value),
        }),
        h("small", { id: `${id}-hint` }, hint));
}

function sizeBy(lab, remount) {
    const { state, t } = lab, bySize = state.get("m") !== undefined;
    const choice = (id, label, isChecked, values) => h("label", {},
        h("input", {
            type: "radio", name: "plan-by", id, checked: isChecked,
            onchange: () => {
                state.set(values);
                remount(id);
            },
        }), label);
    return h("fieldset", {}, h("legend", {}, t("by")), h("div", { class: "choices" },
        choice("plan-by-fpr", t("byRate"), !bySize, { m: null }),
        choice("plan-by-size", t("bySize"), bySize, { m: "1Mi", p: null })));
}

function needsField(lab, onChange) {
    const { state, t } = lab, chosen = new Set(state.get("need", "").split(","));
    const box = (need) => h("label", {},
        h("input", {
            type: "checkbox", id: `plan-need-${need}`, checked: chosen.has(need),
            onchange: (event) => {
                if (event.target.checked) chosen.add(need);
                else chosen.delete(need);
                onChange("need", NEEDS.filter((one) => chosen.has(one)).join(","));
            },
        }), t("need")[need]);
    return h("fieldset", { class: "needs" },
        h("legend", {}, t("needs")),
        h("div", { class: "choices" }, NEEDS.map(box)),
        h("small", {}, t("noNeeds")));
}

function form(lab, onChange, remount) {
    const { state, t } = lab;
    return h("form", { class: "card", id: "plan-form", onsubmit: (event) => event.preventDefault() },
        h("div", { class: "row" },
            field(lab, "plan-n", "n", t("keys"), t("keysHint"), "1M", onChange),
            sizeBy(lab, remount),
            state.get("m") === undefined
                ? field(lab, "plan-fpr", "p", t("rate"), t("rateHint"), "1%", onChange)
                : field(lab, "plan-size", "m", t("size"), t("sizeHint"), "1Mi", onChange)),
        needsField(lab, onChange));
}

/* ---- the choice */

function choiceCard(lab, plan, request) {
    const { format, language, t } = lab, { choice, why } = plan;
    const original = language === "zh" &&
        h("span", { class: "original", lang: "en" }, h("span", { lang: "zh-CN" }, t("original")), why);
    const reason = h("p", { id: "plan-why" }, t("why", why), original);
    const summary = request.bytes === undefined
        ? t("summary", format.count(plan.n), format.rate(plan.fpr), format.odds(plan.fpr))
        : t("summarySize", format.count(plan.n), format.bytes(request.bytes));
    return h("section", { class: "choice", "data-choice": choice },
        h("p", { class: "note" }, summary),
        h("h2", { id: "plan-choice" }, choice === "" ? t("noChoice") : t("choose", choice),
            choice !== "" && h("span", { class: "full-name" }, t("kindName", choice))),
        reason,
        plan.boundBitsPerKey !== undefined && h("p", { class: "note" },
            h("span", { id: "plan-bound", "data-value": plan.boundBitsPerKey },
                t("bound", format.bits(plan.boundBitsPerKey))), " ",
            h("span", { id: "plan-classic", "data-bits": plan.classicBits, "data-hashes": plan.classicHashes },
                t("classic", format.count(plan.classicBits), plan.classicHashes))));
}

/* ---- the table */

function number(name, value, shown) {
    return h("td", { class: "number", "data-field": name, "data-value": value, title: String(value) }, shown);
}

/* A bar for the bits per key, cut if it is too long, and a line at the bound. */
function bar(kind, bits, bound, most) {
    const share = (value) => `${(100 * Math.min(1, value / most)).toFixed(2)}%`;
    return h("div", { class: bits > most ? "bar cut" : "bar", "aria-hidden": "true" },
        h("div", { class: "length", style: `width: ${share(bits)}; background: var(--kind-${kind})` }),
        bound !== undefined && h("div", { class: "bound", style: `left: ${share(bound)}` }));
}

function rateCell(lab, name, family, isWithin) {
    const { format, t } = lab, value = family[name];
    const isFull = value >= 1 && !family.static;
    const shown = family.static && !isWithin ? t("isStatic") : isFull ? t("isFull") : format.rate(value);
    return number({ fpr: "fpr", fprAtHalf: "fpr_at_half", fprAtDouble: "fpr_at_double" }[name], value, shown);
}

const abilityTags = (family, t) => ["add", "remove", "grow", "merge", "static"]
    .filter((name) => family[name]).map((name) => h("span", { class: "tag" }, t("abilities")[name]));

function kindRow(lab, family, plan, request, most) {
    const { format, t } = lab, kind = lab.tamis.kinds.find((one) => one.name === family.kind);
    const lacks = lacking(kind, request.needs), isChosen = plan.choice === family.kind;
    const bound = plan.boundBitsPerKey ?? -Math.log2(family.fpr);
    return h("tr", { id: `plan-row-${family.kind}`, class: isChosen ? "chosen" : lacks.length > 0 ? "unfit" : null },
        h("th", { scope: "row" }, h("span", { class: "name" }, family.kind),
            isChosen && h("span", { class: "tag" }, t("chosen")),
            h("span", { class: "full-name" }, t("kindName", family.kind))),
        h("td", {
            class: "bits", title: String(family.bitsPerKey),
            "data-field": "bits_per_key", "data-value": family.bitsPerKey,
        }, h("span", {}, format.bits(family.bitsPerKey)), bar(family.kind, family.bitsPerKey, bound, most)),
        number("bytes", family.bytes, format.bytes(family.bytes)),
        number("hashes", family.hashes, String(family.hashes)),
        number("cache_lines", family.cacheLines, family.cacheLines.toFixed(1)),
        rateCell(lab, "fprAtHalf", family, false),
        rateCell(lab, "fpr", family, true),
        rateCell(lab, "fprAtDouble", family, false),
        h("td", { class: "can" }, lacks.length > 0
            ? h("span", { class: "reason" }, t("lacks", lacks.map((need) => t("abilities")[need])))
            : abilityTags({ ...kind, ...family }, t)));
}

function missingRow(lab, kind, request) {
    return h("tr", { id: `plan-row-${kind.name}`, class: "unfit" },
        h("th", { scope: "row" }, h("span", { class: "name" }, kind.name),
            h("span", { class: "full-name" }, lab.t("kindName", kind.name))),
        h("td", { colspan: "8" }, h("span", { class: "reason" }, reasonOf(lab, kind.name, request))));
}

function comparison(lab, plan, request) {
    const { t, tamis } = lab, columns = t("columns");
    const bounds = plan.families.map((family) => plan.boundBitsPerKey ?? -Math.log2(family.fpr));
    const widest = Math.max(...plan.families.map((family) => family.bitsPerKey));
    const most = Math.min(widest, BAR_BOUNDS * Math.max(...bounds));
    const isText = (name) => ["kind", "can", "bits"].includes(name);
    const head = (name) => h("th", { scope: "col", class: isText(name) ? null : "number" }, columns[name]);
    const row = (kind) => {
        const family = plan.families.find((one) => one.kind === kind.name);
        return family === undefined ? missingRow(lab, kind, request) : kindRow(lab, family, plan, request, most);
    };
    return h("section", {},
        h("h2", { id: "plan-compared" }, t("compared")),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "plan-compared" },
            h("table", { id: "plan-table" },
                h("thead", {}, h("tr", {}, Object.keys(columns).map(head))),
                h("tbody", {}, tamis.kinds.map(row)))),
        h("p", { class: "note" }, t("tableNote")));
}

/* ---- snippets */

/* The filter that the snippets build. */
function snippetFilter({ tamis }, plan, request, kind) {
    const family = plan.families.find((one) => one.kind === kind);
    const rate = request.fpr ?? rateThatFits(tamis, family, request);
    return {
        ...family, n: plan.n, fpr: request.fpr, bytes: request.bytes, rate: rateText(rate),
        command: kind === plan.choice ? plan.command : undefined,
    };
}

function codeBlock(lab, name, code, remark) {
    const { t } = lab, title = t("names")[name];
    const button = h("button", {
        type: "button", class: "small", id: `plan-copy-${name}`, "aria-label": t("copyOf", title),
        onclick: async () => {
            await copyText(code);
            button.textContent = t("copied");
            lab.announce(t("copied"));
            setTimeout(() => {
                button.textContent = t("copy");
            }, 1500);
        },
    }, t("copy"));
    return h("div", { class: `code ${name}` },
        h("div", { class: "head" }, h("h3", {}, title), button),
        h("pre", { id: `plan-snippet-${name}`, tabindex: "0", role: "region", "aria-label": title },
            h("code", {}, code)),
        remark && h("p", { class: "note" }, remark));
}

function redisRemark({ format, t }, filter) {
    if (filter.static) return t("redisNote").static;
    const least = REDIS_MIN[filter.remove ? "cf" : "bf"];
    if (filter.n < least || filter.n > REDIS_MAX) return t("redisNote").limit(least, format.count(REDIS_MAX));
    return t("redisNote")[filter.kind];
}

function snippetsSection(lab, plan, request) {
    const { state, t } = lab, kinds = plan.families.map((family) => family.kind);
    const wanted = () => (kinds.includes(state.get("kind")) ? state.get("kind") : plan.choice || kinds[0]);
    const blocks = h("div", { class: "snippets" });
    const draw = () => {
        const filter = snippetFilter(lab, plan, request, wanted());
        const codes = snippets(filter, (name) => t("note")[name]);
        const remarks = { c: h("code", {}, t("cNote")), redis: redisRemark(lab, filter) };
        show(blocks, Object.entries(codes).map(([name, code]) => codeBlock(lab, name, code, remarks[name])));
    };
    const select = h("select", {
        id: "plan-kind",
        onchange: (event) => {
            state.set({ kind: event.target.value === plan.choice ? null : event.target.value });
            draw();
        },
    }, kinds.map((kind) => h("option", { value: kind }, kind === plan.choice ? t("asChosen", kind) : kind)));
    select.value = wanted();
    draw();
    return h("section", {},
        h("h2", { id: "plan-build" }, t("snippets")),
        h("div", { class: "row" }, h("label", { class: "field" }, h("span", {}, t("snippetKind")), select)),
        blocks);
}

/* ---- curves */

const spread = (from, to, count) =>
    Array.from({ length: count }, (_, i) => Number((from * (to / from) ** (i / (count - 1))).toPrecision(4)));

const seriesOf = (families, points) => families.map(({ kind, static: isStatic }) =>
    ({ name: kind, colour: `var(--kind-${kind})`, points: points(kind, isStatic) }));

/* A rate, or NaN if there is none: the line has a gap. */
function attempt(tamis, call) {
    try {
        return call();
    } catch (error) {
        if (error instanceof tamis.TamisError) return NaN;
        throw error;
    }
}

function rateByKeys({ tamis, format, t }, plan, request) {
    const { n } = plan;
    /* A size is searched for its rate once: each search takes up to half a second. */
    const rates = new Map(plan.families.map((family) =>
        [family.kind, request.fpr ?? rateThatFits(tamis, family, request)]));
    const keys = [...new Set([...spread(Math.max(1, n / 20), 5 * n, 48), n])].map(Math.round).sort((a, b) => a - b);
    const points = (kind, isStatic) => keys.filter((one) => !isStatic || one <= n)
        .map((one) => [one, attempt(tamis, () => tamis.expectedFpr({ kind, capacity: n, fpr: rates.get(kind) }, one))])
        .map(([one, rate]) => [one, rate < 1 ? rate : NaN]);
    const short = (value) => format.shortCount(value);
    return lineChart({
        title: t("curveKeys"),
        x: { label: t("axisKeys"), log: true, format: short },
        y: { label: t("axisRate"), log: true, format: format.rate, min: Math.max(plan.fpr / 1000, 1e-15), max: 1 },
        series: seriesOf(plan.families, points),
        marks: [{ x: n, label: `n = ${short(n)}` }, { y: plan.fpr, label: `p = ${format.rate(plan.fpr)}` }],
    });
}

const shortNumber = (value) => String(Number(value.toFixed(2)));

function bitsByRate({ tamis, format, t }, plan) {
    const lowest = Math.min(1e-6, plan.fpr / 10), rates = spread(Math.max(lowest, 1e-15), 0.3, 64);
    const bits = (kind, fpr) => attempt(tamis, () => tamis.size({ kind, capacity: plan.n, fpr }).bitsPerKey);
    const points = (kind) => rates.map((fpr) => [fpr, bits(kind, fpr)]);
    const bound = {
        name: t("boundShort"), colour: "var(--bound)", dashed: true, points: rates.map((fpr) => [fpr, -Math.log2(fpr)]),
    };
    return lineChart({
        title: t("curveRate"),
        x: { label: t("axisRate"), log: true, format: format.rate },
        y: { label: t("axisBits"), format: shortNumber, min: 0, max: -2.2 * Math.log2(rates[0]) },
        series: [...seriesOf(tamis.kinds.map((kind) => ({ kind: kind.name })), points), bound],
        marks: [{ x: plan.fpr, label: `p = ${format.rate(plan.fpr)}` }],
    });
}

function curves(lab, plan, request) {
    const { t } = lab;
    return h("section", {},
        h("h2", { id: "plan-curves" }, t("curves")),
        h("p", { class: "note" }, t("curveNote")),
        h("div", { class: "curves" },
            h("div", { class: "card", id: "plan-curve-keys" }, rateByKeys(lab, plan, request)),
            h("div", { class: "card", id: "plan-curve-rate" }, bitsByRate(lab, plan))));
}

/* ---- the panel */

function results(lab, request) {
    const plan = lab.tamis.plan(request);
    const chosen = plan.families.find((family) => family.kind === plan.choice);
    if (chosen !== undefined) lab.announce(lab.t("announce", plan.choice, lab.format.bits(chosen.bitsPerKey)));
    return [
        choiceCard(lab, plan, request),
        comparison(lab, plan, request),
        plan.choice !== "" && snippetsSection(lab, plan, request),
        plan.choice !== "" && plan.n > 0 && curves(lab, plan, request),
    ];
}

function update(lab, root, output) {
    const { request, error, field: wrong } = readRequest(lab);
    for (const [name, id] of Object.entries({ n: "plan-n", p: "plan-fpr", m: "plan-size" })) {
        const input = root.querySelector(`#${id}`);
        if (input !== null) input.setAttribute("aria-invalid", String(name === wrong));
    }
    if (error !== undefined) return show(output, h("p", { class: "error", role: "alert", id: "plan-error" }, error));
    try {
        return show(output, results(lab, request));
    } catch (failure) {
        if (!(failure instanceof lab.tamis.TamisError)) throw failure;
        return show(output, h("p", { class: "error", role: "alert", id: "plan-error" }, failure.message));
    }
}

export function mount(root, lab) {
    const { state, t } = lab;
    const output = h("div", { id: "plan-results" });
    const later = debounce(() => root.isConnected && update(lab, root, output), 200);
    const onChange = (name, value) => {
        state.set({ [name]: value });
        later();
    };
    const remount = (focused) => {
        show(root);
        mount(root, lab);
        root.querySelector(`#${focused}`).focus();
    };
    root.append(
        h("h1", {}, t("title")), h("p", { class: "lead" }, t("lead")),
        form(lab, onChange, remount), output);
    update(lab, root, output);
}
