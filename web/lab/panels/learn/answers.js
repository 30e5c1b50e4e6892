/* answers.js - step 1: a filter in front of something slow */
import { h, s, show } from "../../dom.js";
import { choice, figure } from "./tools.js";

const RATES = [["20", 0.2], ["5", 0.05], ["1", 0.01]];
const UNIT = 14, COLUMNS = 30;
const SHAPES = {
    found: { d: "M3 7.5l3 3 5-7", style: "fill: none; stroke: var(--yes); stroke-width: 2" },
    saved: { d: "M7 5.5a1.5 1.5 0 1 0 .01 0z", style: "fill: var(--muted)" },
    wasted: { d: "M3 3l8 8M11 3l-8 8", style: "fill: none; stroke: var(--no); stroke-width: 2.5" },
};

/* The first half of the words is stored; the rest is absent. */
function lookUpAll(lab, fpr) {
    const { words } = lab;
    const stored = new Set(words.slice(0, words.length / 2));
    const filter = lab.tamis.Filter.build(stored, { kind: "bloom", fpr });
    const outcomes = words.map((word) => (!filter.has(word) ? "saved" : stored.has(word) ? "found" : "wasted"));
    const tableBytes = filter.info().tableBytes;
    filter.free();
    return { outcomes, tableBytes };
}

const drawOutcomes = (outcomes, label) => s("svg", {
    viewBox: `0 0 ${COLUMNS * UNIT} ${Math.ceil(outcomes.length / COLUMNS) * UNIT}`,
    role: "img", "aria-label": label, class: "outcomes",
}, outcomes.map((outcome, i) => s("path", {
    ...SHAPES[outcome], transform: `translate(${(i % COLUMNS) * UNIT} ${Math.floor(i / COLUMNS) * UNIT})`,
})));

const legend = (lab, counts) => h("ul", { class: "legend" }, Object.keys(SHAPES).map((name) => h("li", {},
    s("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, s("path", SHAPES[name])), lab.t(name), lab.t("colon"),
    h("b", { id: `learn-answers-${name}` }, counts(name)))));

export function answers(section, lab) {
    section.append(...lab.prose("intro"), figure(lab, { id: "answers", build }), ...lab.prose("outro"));

    function build(body, say) {
        const place = h("div", {}), names = h("p", { class: "note", id: "learn-answers-names" });
        const draw = (fpr) => {
            const { outcomes, tableBytes } = lookUpAll(lab, fpr);
            const counts = (name) => outcomes.filter((one) => one === name).length;
            const [found, saved, wasted] = ["found", "saved", "wasted"].map(counts);
            show(place, drawOutcomes(outcomes, lab.t("label", found, saved, wasted)), legend(lab, counts));
            const wrong = lab.words.filter((_, i) => outcomes[i] === "wasted");
            show(names, wrong.length > 0 && lab.t("names", wrong));
            say(lab.t("report", outcomes.length, saved, saved + wasted, wasted, tableBytes));
        };
        body.append(h("p", {}, lab.t("task")),
            choice("answers-rate", lab.t("rate"), RATES.map(([name]) => [name, `${name} %`]), "5",
                (name) => draw(new Map(RATES).get(name))), place, names);
        draw(0.05);
    }
}
