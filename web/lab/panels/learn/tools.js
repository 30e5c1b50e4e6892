/* tools.js - the parts that the steps of the tour are made of: prose, figures, controls */
import { debounce, h, show } from "../../dom.js";

/* ---- prose */

/** `code`, *emphasis*, [a link](#address) and e^(x), e^x in a text. */
export function inline(text) {
    return text.split(/(`[^`]+`|\*[^*]+\*|\[[^\]]+\]\([^)]+\)|\^\([^)]+\)|\^\w)/).map((part) => {
        if (part.startsWith("^")) return h("sup", {}, part.replace(/^\^\(?|\)$/g, ""));
        if (part.startsWith("`")) return h("code", {}, part.slice(1, -1));
        if (part.startsWith("*") && part.length > 2) return h("strong", {}, part.slice(1, -1));
        const link = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part);
        return link === null ? part : h("a", { href: link[2] }, link[1]);
    });
}

/** Paragraphs of a text; an empty line separates them. */
export const prose = (text) => text.split("\n\n").map((paragraph) => h("p", { class: "prose" }, inline(paragraph)));

/* ---- figures */

/* One observer starts all heavy figures when they come near the screen; printing starts the rest. */
const starts = new WeakMap();
const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) start(target);
}, { rootMargin: "400px 0px" });

function start(element) {
    const build = starts.get(element);
    if (build === undefined) return;
    starts.delete(element);
    observer.unobserve(element);
    build();
}

/** Starts all figures in an element. */
export const startFigures = (element) => element.querySelectorAll(".figure").forEach(start);
addEventListener("beforeprint", () => document.querySelectorAll(".panel.learn").forEach(startFigures));

/**
 * A figure: what `build(body, say)` puts into its body, and a sentence that reports what it shows.  `say` sets the
 * sentence; after the first time it is also announced, once the reader has paused.
 */
export function figure(lab, { id, build, isHeavy = false }) {
    const body = h("div", { class: "stage" });
    const report = h("p", { class: "report", id: `learn-${id}-report` });
    const announce = debounce((text) => body.isConnected && lab.announce(text), 800);
    let isFirst = true;
    const say = (text) => {
        if (text === report.textContent) return;
        show(report, inline(text));
        if (!isFirst) announce(report.textContent);
        isFirst = false;
    };
    const element = h("figure", { class: isHeavy ? "card figure heavy" : "card figure", id: `learn-${id}-figure` },
        body, report);
    if (isHeavy) {
        starts.set(element, () => build(body, say));
        observer.observe(element);
    } else {
        build(body, say);
    }
    return element;
}

/* ---- controls */

export const button = (id, label, onclick, kind = "") =>
    h("button", { type: "button", id: `learn-${id}`, class: kind, onclick }, label);

export const row = (...children) => h("div", { class: "row" }, children);

/** A field for a word. `oninput` receives the trimmed text. */
export function wordField(id, label, value, oninput) {
    const input = h("input", {
        id: `learn-${id}`, type: "text", value, maxlength: 60, size: 14,
        autocomplete: "off", autocapitalize: "none", spellcheck: "false", oninput: () => oninput(input.value.trim()),
    });
    return h("label", { class: "field" }, h("span", {}, label), input);
}

/**
 * A slider that shows its value; `values` are the numbers at its stops.  `set` of the element moves it to a value,
 * which need not be a stop.
 */
export function slider(id, label, values, value, format, oninput) {
    const output = h("output", { id: `learn-${id}-value`, for: `learn-${id}` });
    const input = h("input", {
        id: `learn-${id}`, type: "range", min: 0, max: values.length - 1, step: 1,
        oninput: () => {
            showValue(values[Number(input.value)]);
            oninput(values[Number(input.value)]);
        },
    });
    const showValue = (now) => {
        output.textContent = format(now);
        input.setAttribute("aria-valuetext", format(now));
    };
    const element = h("label", { class: "field slider" }, h("span", {}, label, " ", output), input);
    element.set = (now) => {
        const isNearer = (i, than) => Math.abs(values[i] - now) < Math.abs(values[than] - now);
        input.value = values.reduce((best, _, i) => (isNearer(i, best) ? i : best), 0);
        showValue(now);
    };
    element.set(value);
    return element;
}

/** Whole numbers from `low` to `high`, evenly spaced in the logarithm. */
export function logSteps(low, high, count) {
    const steps = Array.from({ length: count }, (_, i) => {
        const exact = low * (high / low) ** (i / (count - 1));
        const unit = 10 ** Math.max(0, Math.floor(Math.log10(exact)) - 1); /* two digits */
        return Math.round(exact / unit) * unit;
    });
    return [...new Set(steps)];
}
export const range = (low, high) => Array.from({ length: high - low + 1 }, (_, i) => low + i);

/** One of a few choices, as buttons of which one is pressed. */
export function choice(id, label, options, value, onchange) {
    const buttons = options.map(([name, text]) => h("button", {
        type: "button", class: "small", id: `learn-${id}-${name}`, "aria-pressed": String(name === value),
        onclick: () => {
            buttons.forEach((one, i) => one.setAttribute("aria-pressed", String(options[i][0] === name)));
            onchange(name);
        },
    }, text));
    return h("div", { class: "field", role: "group", "aria-label": label },
        h("span", {}, label), h("div", { class: "pressed" }, buttons));
}

/** Replaces what an element contains; if one of its buttons has the focus, so has the one in its place. */
export function showKeepingFocus(element, ...children) {
    const index = [...element.querySelectorAll("button")].indexOf(document.activeElement);
    show(element, ...children);
    if (index >= 0) element.querySelectorAll("button")[index]?.focus();
}

/** Words as buttons. */
export const chips = (id, words, onclick, chosen) =>
    h("div", { class: "chips", id: `learn-${id}` }, words.map((word) => h("button", {
        type: "button", class: "small chip", "aria-pressed": String(word === chosen), onclick: () => onclick(word),
    }, word)));

/** A table that scrolls by itself where it does not fit; `heads` are cells, `lines` rows. */
export const scrollTable = (id, label, heads, lines) =>
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
        h("table", { id: `learn-${id}` }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, lines)));

/** What a lookup reports, with a sign besides the colour. */
export function verdict(lab, isIn) {
    const text = isIn ? `? ${lab.t("possibly")}` : `✗ ${lab.t("definitelyNot")}`;
    return h("span", { class: isIn ? "verdict yes" : "verdict no" }, text);
}

/** The message of a failure. */
export const failure = (id, message) => h("p", { class: "error", role: "alert", id: `learn-${id}` }, message);

/** Sentences in a row; Chinese has no space between them. */
export const sentences = (lab, ...parts) => parts.filter(Boolean).join(lab.language === "zh" ? "" : " ");

/** On a phone, arrays get shorter rows. */
export const isNarrow = () => matchMedia("(max-width: 30rem)").matches;

/** Does the reader prefer no motion? */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/* ---- canvases */

/** The colours of the theme, by the names of their properties without dashes. */
export function colours(...names) {
    const style = getComputedStyle(document.documentElement);
    return names.map((name) => style.getPropertyValue(`--${name}`).trim());
}

/** Calls when the theme changes, as long as the element is in the page. */
export function onTheme(element, call) {
    const watcher = new MutationObserver(() => (element.isConnected ? call() : watcher.disconnect()));
    watcher.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => element.isConnected && call());
}
