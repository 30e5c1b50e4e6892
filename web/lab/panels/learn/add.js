/* add.js - step 3: words turn bits on, and share some */
import { h, show } from "../../dom.js";
import { button, chips, figure, row, sentences, showKeepingFocus, verdict, wordField } from "./tools.js";
import { badgesOf, bitsIn, drawBits, filterOf, lookupMarks, placesOf, usersOf } from "./small.js";

const MAX_WORDS = 40;

class AddFigure {
    constructor(lab, body, say) {
        Object.assign(this, { lab, say });
        this.stored = lab.state.get("words", "").split(",").filter(Boolean).slice(0, MAX_WORDS);
        this.filter = filterOf(lab, this.stored);
        this.place = h("div", {});
        this.list = h("div", {});
        this.answer = h("p", { id: "learn-add-answer" });
        this.field = wordField("add-word", lab.t("other"), "", (word) => this.look(word));
        body.append(this.controls(), this.answer, this.place, this.list);
        this.draw();
    }

    controls() {
        const { lab } = this, input = this.field.querySelector("input");
        const submit = (event) => {
            event.preventDefault();
            this.store(input.value.trim().replaceAll(",", "")); /* the address separates words by commas */
            input.value = "";
        };
        return row(
            ["dog", "cat"].map((id, i) =>
                button(`add-${id}`, lab.t("add", lab.words[i]), () => this.store(lab.words[i]))),
            h("form", { class: "inline", onsubmit: submit },
                this.field, h("button", { id: "learn-add-add", class: "primary" }, lab.t("addWord"))),
            button("add-reset", lab.t("reset"), () => this.setWords([]), "plain"));
    }

    setWords(words) {
        this.stored = words;
        this.filter.free();
        this.filter = filterOf(this.lab, words);
        this.lab.state.set({ words: words.join(",") });
        this.draw();
    }

    store(word) {
        if (word === "") return;
        if (this.stored.length >= MAX_WORDS) return this.say(this.lab.t("enough", MAX_WORDS));
        const bits = bitsIn(this.filter);
        const fresh = [...new Set(placesOf(this.filter, word))].filter((at) => bits[at] === 0);
        if (!this.stored.includes(word)) this.setWords([...this.stored, word]);
        return this.draw(word, fresh, this.lab.t("added", word, fresh.length));
    }

    /* A lookup, before or instead of adding. */
    look(word) {
        this.draw(word === "" ? undefined : word);
        if (word === "") return;
        const bits = bitsIn(this.filter), zeros = placesOf(this.filter, word).filter((at) => bits[at] === 0);
        show(this.answer, h("b", {}, word), " ", verdict(this.lab, zeros.length === 0));
        this.say(this.lab.t(zeros.length === 0 ? "allSet" : "someZero", word, zeros));
    }

    draw(word, fresh = [], remark = "") {
        const { lab, filter, stored } = this, bits = bitsIn(filter), users = usersOf(filter, stored);
        const set = bits.filter((bit) => bit !== 0).length, places = word === undefined ? [] : placesOf(filter, word);
        show(this.answer);
        show(this.place, drawBits({
            bits, badges: badgesOf(users), probe: word === undefined ? undefined : { name: word, places },
            marks: new Map([...lookupMarks(bits, places), ...fresh.map((at) => [at, "fresh"])]),
            label: lab.t("label", set, stored.join(", ")),
        }));
        showKeepingFocus(this.list, stored.length > 0 && [
            h("p", { class: "note" }, lab.t("chosen")),
            chips("add-stored", stored, (one) => this.draw(one === word ? undefined : one), word),
        ]);
        const shared = [...users.values()].filter((words) => words.length > 1).length;
        this.say(stored.length === 0 ? lab.t("nothing")
            : sentences(lab, remark, lab.t("report", stored.length, set, shared)));
    }
}

export function add(section, lab) {
    const build = (body, say) => new AddFigure(lab, body, say);
    section.append(...lab.prose("intro"), figure(lab, { id: "add", build }), ...lab.prose("outro"));
}
