/* counting.js - step 7: counters in place of bits */
import { numbersOf, tableOf } from "../../cells.js";
import { h, show } from "../../dom.js";
import { button, figure, row, sentences, wordField } from "./tools.js";
import { badgesOf, drawBits, usersOf } from "./small.js";
import { lookupTable, wordsThatShare } from "./remove.js";

const COUNTERS = 64, WIDTH = 4, SATURATED = 15;

class CountingFigure {
    constructor(lab, words, body, say) {
        Object.assign(this, { lab, words, say });
        this.place = h("div", {});
        this.results = h("div", {});
        this.field = wordField("counting-word", lab.t("word"), words[0], () => {});
        body.append(this.controls(), this.place, this.results);
        this.reset();
    }

    controls() {
        const { t } = this.lab;
        return row(this.field,
            button("counting-add", t("addWord"), () => this.add(1), "primary"),
            button("counting-many", t("many"), () => this.add(SATURATED)),
            button("counting-remove", t("removeWord"), () => this.remove()),
            button("counting-reset", t("reset"), () => this.reset(), "plain"));
    }

    reset() {
        this.filter?.free();
        this.filter = this.lab.tamis.Filter.create({ kind: "counting", bits: COUNTERS, hashes: 3 });
        this.words.forEach((word) => this.filter.add(word));
        this.shown = this.words;
        this.counters = this.read();
        this.draw([], this.lab.t("start"));
    }

    read() {
        return numbersOf(tableOf(this.filter), WIDTH, COUNTERS);
    }

    add(times) {
        this.change("didAdd", (word) => {
            for (let i = 0; i < times; i++) this.filter.add(word);
        });
    }
    remove() {
        this.change("didRemove", (word) => this.filter.remove(word));
    }

    /* Does something to the word in the field, and shows which counters changed. */
    change(remark, act) {
        const { t } = this.lab, word = this.field.querySelector("input").value.trim();
        if (word === "") return;
        if (!this.shown.includes(word)) this.shown = [...this.shown, word];
        const isAbsent = act(word) === false, before = this.counters;
        this.counters = this.read();
        const changed = this.counters.flatMap((value, at) => (before[at] === value ? [] : [at]));
        this.draw(changed, isAbsent ? t(this.filter.has(word) ? "neverAdded" : "absent", word)
            : changed.length === 0 ? t("unchanged", word) : t(remark, word, changed.join(", ")));
    }

    draw(changed, remark) {
        const { lab, filter, counters, shown } = this;
        show(this.place, drawBits({
            bits: counters, marks: new Map(changed.map((at) => [at, "fresh"])),
            badges: badgesOf(usersOf(filter, shown, WIDTH)),
            label: lab.t("label", counters.filter((value) => value !== 0).length),
        }));
        const lookups = shown.map((word) =>
            ({ word, isIn: filter.has(word), note: lab.t("count", filter.count(word)) }));
        show(this.results, lookupTable(lab, "counting-lookups", lookups));
        const full = counters.filter((value) => value === SATURATED).length;
        this.say(sentences(lab, remark, full > 0 && lab.t("full", full)));
    }
}

export function counting(section, lab) {
    const { gone, partner, stored } = wordsThatShare(lab);
    const build = (body, say) => new CountingFigure(lab, stored, body, say);
    section.append(...lab.prose("intro", gone, partner), figure(lab, { id: "counting", build }), ...lab.prose("outro"));
}
