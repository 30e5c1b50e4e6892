/* growing.js - step 12: stages that appear as keys arrive */
import { tableOf } from "../../cells.js";
import { h, show } from "../../dom.js";
import { button, figure, row } from "./tools.js";
import { phrases } from "./words.js";

const CAPACITY = 50, FPR = 0.01, START = 40, STEPS = [1, 10, 100, 1000, 10000];
const MAX_KEYS = 50000, ABSENT = 10000, ENTRY_BYTES = 128;

/* The directory at the head of the table: doc/format.md, "growing". */
function stagesOf(filter) {
    const directory = new DataView(tableOf(filter).slice().buffer);
    return Array.from({ length: filter.info().stages }, (_, i) => ({
        capacity: Number(directory.getBigUint64(i * ENTRY_BYTES, true)),
        rate: directory.getFloat64(i * ENTRY_BYTES + 8, true),
        keys: Number(directory.getBigUint64(i * ENTRY_BYTES + 16, true)),
    }));
}

class GrowingFigure {
    constructor(lab, body, say) {
        Object.assign(this, { lab, t: lab.t, format: lab.format, say });
        this.keys = phrases(lab.language, MAX_KEYS);
        this.absent = phrases(lab.language, MAX_KEYS + ABSENT).slice(MAX_KEYS);
        this.stages = h("ol", { class: "stages", id: "learn-growing-stages" });
        this.facts = h("dl", { class: "facts" });
        this.note = h("p", { class: "note" });
        body.append(this.controls(), this.stages, this.facts, this.note);
        this.reset();
    }

    controls() {
        const { t, format } = this;
        return row(STEPS.map((more) => button(`growing-${more}`, t("addCount", format.count(more)),
            () => this.add(more), more === 10 ? "primary" : "")),
        button("growing-reset", t("reset"), () => this.reset(), "plain"));
    }

    reset() {
        this.filter?.free();
        this.filter = this.lab.tamis.Filter.create({ kind: "growing", capacity: CAPACITY, fpr: FPR });
        this.count = 0;
        this.add(START);
    }

    add(more) {
        const to = Math.min(MAX_KEYS, this.count + more);
        this.filter.addMany(this.keys.slice(this.count, to));
        this.count = to;
        this.draw();
    }

    /* A stage as a bar: its width is the capacity, its filled part the keys. */
    bar({ capacity, rate, keys }, i, largest) {
        const { t } = this, { count, rate: percent } = this.format;
        return h("li", {},
            h("span", { class: "about" },
                h("b", {}, t("stage", i)), ` ${t("keysOf", count(keys), count(capacity))}, ${percent(rate)}`),
            h("span", { class: "bar", "aria-hidden": "true", style: `inline-size: ${(100 * capacity) / largest}%` },
                h("span", { style: `inline-size: ${Math.min(100, (100 * keys) / capacity)}%` })));
    }

    draw() {
        const { t, format, filter, count } = this, stages = stagesOf(filter);
        const largest = Math.max(...stages.map(({ capacity }) => capacity));
        const sum = stages.reduce((total, { rate }) => total + rate, 0);
        const wrong = filter.hasMany(this.absent).reduce((total, one) => total + one, 0);
        const fact = (id, rate) =>
            h("div", {}, h("dt", {}, t(id)), h("dd", { id: `learn-growing-${id}` }, format.rate(rate)));
        show(this.stages, stages.map((stage, i) => this.bar(stage, i, largest)));
        show(this.facts, fact("promise", FPR), fact("sum", sum), fact("now", filter.info().fprNow),
            fact("measured", wrong / ABSENT));
        this.note.textContent = count === MAX_KEYS ? t("full", format.count(MAX_KEYS)) : "";
        this.say(t("report", format.count(count), stages.length, format.rate(sum), format.rate(FPR)));
    }
}

export function growing(section, lab) {
    const build = (body, say) => new GrowingFigure(lab, body, say);
    section.append(...lab.prose("intro", CAPACITY, lab.format.rate(FPR)),
        figure(lab, { id: "growing", build, isHeavy: true }), ...lab.prose("outro"));
}
