/* cuckoo.js - step 8: a small cuckoo filter, filled step by step */
import { h, show } from "../../dom.js";
import { button, failure, figure, row, sentences, verdict, wordField } from "./tools.js";
import { drawSlots, hex } from "./cuckoo.draw.js";
import { Nest } from "./cuckoo.nest.js";

const START_WORDS = 12, MOST_WORDS = 1000;
const percent = (share) => `${(100 * share).toFixed(0)} %`;

class CuckooFigure {
    constructor(lab, body, say) {
        Object.assign(this, { lab, t: lab.t, say });
        this.place = h("div", {});
        this.stash = h("p", { class: "note", id: "learn-cuckoo-stash" });
        this.load = h("b", { id: "learn-cuckoo-load" });
        this.error = h("div", {});
        this.answer = h("p", { id: "learn-cuckoo-answer" });
        this.field = wordField("cuckoo-word", this.t("word"), "", (word) => this.look(word));
        body.append(this.listControls(), this.wordControls(), this.error, this.answer, this.place,
            h("p", { class: "note" }, this.t("load"), this.t("colon"), this.load, " · ", this.t("key")), this.stash);
        this.reset();
        this.addFromList(START_WORDS);
    }

    listControls() {
        const { t } = this, more = (id, label, act, kind) => button(`cuckoo-${id}`, label, act, kind);
        this.next = more("next", "", () => this.addFromList(1), "primary");
        return row(this.next, more("ten", t("ten"), () => this.addFromList(10)),
            more("kick", t("untilKick"), () => this.addFromList(MOST_WORDS, ({ moves }) => moves.length > 0)),
            more("fill", t("fill"), () => this.addFromList(MOST_WORDS)),
            more("reset", t("reset"), () => this.reset(), "plain"));
    }

    wordControls() {
        const input = this.field.querySelector("input"), ifTyped = (act) => () => {
            const word = input.value.trim();
            if (word !== "") act(word);
        };
        return row(this.field, button("cuckoo-add", this.t("addWord"), ifTyped((word) => this.addWords(() => word, 1))),
            button("cuckoo-remove", this.t("removeWord"), ifTyped((word) => this.remove(word))));
    }

    reset() {
        this.nest?.filter.free();
        this.nest = new Nest(this.lab);
        this.nextWord = 0;
        this.clear();
        this.say(this.t("start", this.nest.shape.slots));
        this.draw();
    }

    clear() {
        show(this.error);
        show(this.answer);
    }

    addFromList(count, enough) {
        this.addWords(() => this.lab.words[this.nextWord++ % this.lab.words.length], count, enough);
    }

    /* Adds words, at most `count`, until a change is `enough`. */
    addWords(nextOne, count, enough = () => false) {
        this.clear();
        let word, changes;
        for (let i = 0; i < count && (changes === undefined || !enough(changes)); i++) {
            word = nextOne();
            try {
                changes = this.nest.add(word);
            } catch (problem) {
                return this.refuse(word, problem);
            }
        }
        return this.describe(word, changes);
    }

    state() {
        return this.t("inTable", this.nest.keys, percent(this.nest.load));
    }

    describe(word, { moves, added, isStashed }) {
        const { t } = this, home = this.nest.home(word);
        const where = isStashed ? t("stashed", word) : t("added", word, hex(home.print), added[0]);
        this.say(sentences(this.lab, where, moves.length > 0 && t("moved", moves), this.state()));
        this.draw({ moves, added, home });
    }

    refuse(word, { status, message }) {
        this.draw({ home: this.nest.home(word) });
        show(this.error, failure("cuckoo-full", this.t("full", status, message, this.nest.keys)));
        this.say(this.state());
    }

    look(word) {
        this.clear();
        if (word === "") return this.draw();
        const home = this.nest.home(word);
        show(this.answer, this.t("looked", word, hex(home.print), home.first, home.second), " ",
            verdict(this.lab, this.nest.filter.has(word)));
        return this.draw({ home });
    }

    remove(word) {
        const { result, emptied } = this.nest.remove(word);
        this.look(word);
        this.say(!result ? this.t("absent", word)
            : emptied.length === 0 ? this.t("unstashed", word) : this.t("removed", word, emptied.join(", ")));
    }

    draw(changes = {}) {
        const { nest, t } = this, { symbols, stash } = nest.content;
        show(this.place, drawSlots(nest.content, nest.shape, {
            ...changes, label: t("label", symbols.filter((symbol) => symbol !== 0).length, nest.shape.slots),
        }));
        this.stash.textContent = `${t("stash")}: ${stash.filter((hash) => hash !== 0n).length} / ${stash.length}`;
        this.load.textContent = percent(nest.load);
        this.next.textContent = t("next", this.lab.words[this.nextWord % this.lab.words.length]);
    }
}

export function cuckoo(section, lab) {
    const { slots, width } = new Nest(lab).shape;
    const build = (body, say) => new CuckooFigure(lab, body, say);
    section.append(...lab.prose("intro", slots, width), figure(lab, { id: "cuckoo", build }), ...lab.prose("outro"));
}
