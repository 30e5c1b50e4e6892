/* watch.js - the panel Watch: a filter of the user's words, its table, and why a lookup has its result
 *
 * watch-model.js has the filter, watch-grid.js the picture of its table, watch-why.js the explanation,
 * watch-search.js the search for a false positive. */
import { debounce, h, show } from "../dom.js";
import { valueOf } from "../cells.js";
import { Picture } from "./watch-grid.js";
import { bitsRead, defaultCapacity, Watched, wordsOf } from "./watch-model.js";
import { cellName, hex } from "./watch-names.js";
import { findFalsePositive } from "./watch-search.js";
import { explain, nameList } from "./watch-why.js";
import * as text from "./watch.text.js";

export { text };

const EXTRAS = [0, 100, 1000, 10_000];
const CAPACITY_MAX = 1_000_000;
const CHIPS = 200; /* buttons of words at most */
const URLS = [
    "/", "/about", "/news", "/news/today", "/shop", "/shop/cart", "/search?q=sieve", "/login", "/logo.svg", "/feed.xml",
].map((path) => `https://example.com${path}`);

/* An error in a field, in the words of the page. */
class InputError extends Error {
    constructor(field, message) {
        super(message);
        this.field = field;
    }
}

class Panel {
    constructor(root, lab) {
        Object.assign(this, { root, lab, t: lab.t, watched: null, picture: null, seek: 0, search: null });
        const chosen = lab.state.get("kind");
        this.kind = lab.tamis.kinds.some(({ name }) => name === chosen) ? chosen : "bloom";
        this.build();
        this.rebuild();
        this.showResult(false);
    }

    /* A listener that waits until the user pauses, unless the panel has been left by then. */
    later(call, milliseconds) {
        return debounce(() => this.root.isConnected && call(), milliseconds);
    }

    /* ---- the controls */

    build() {
        const { t } = this;
        this.notice = h("div", { id: "watch-notice" });
        this.wordsNote = h("p", { class: "note words-note" });
        this.chips = h("div", { id: "watch-words-list", class: "chips", role: "group", "aria-label": t("wordList") });
        this.cellLine = h("p", { id: "watch-cell", class: "cell-line note" }, t("cellHint"));
        this.pictureSlot = h("div", {});
        this.legend = h("ul", { class: "legend", "aria-label": t("legend") });
        this.result = h("div", { id: "watch-result", class: "card result" });
        this.facts = h("dl", { class: "facts", id: "watch-facts" });
        show(this.root,
            h("h1", {}, t("title")), h("p", { class: "lead" }, t("lead")),
            this.kindButtons(),
            h("div", { class: "columns" },
                h("div", { class: "side" }, this.wordsField(), this.parameters()),
                h("div", { class: "stage" },
                    this.queryForm(), this.notice,
                    h("div", { class: "card" },
                        this.wordsNote, this.chips, this.pictureSlot, this.legend, this.cellLine),
                    this.result)),
            h("h2", {}, t("facts")), this.facts);
    }

    kindButtons() {
        const { t, lab } = this;
        this.kinds = lab.tamis.kinds.map(({ name }) => h("button", {
            type: "button", class: "kind", id: `watch-kind-${name}`, style: `--kind: var(--kind-${name})`,
            "aria-pressed": String(name === this.kind),
            onclick: () => {
                this.kind = name;
                this.kinds.forEach((button) => button.setAttribute("aria-pressed", button.id === `watch-kind-${name}`));
                this.choose({ kind: name });
            },
        }, t(`k_${name}`)));
        return h("div", { class: "kinds", role: "group", "aria-label": t("kind") }, this.kinds);
    }

    wordsField() {
        const { t, lab } = this;
        const oninput = this.later(() => this.edited(), 250);
        this.area = h("textarea", { id: "watch-words", rows: 8, spellcheck: "false", oninput });
        this.area.value = lab.state.get("words", this.example("animals").join("\n"));
        const examples = ["animals", "elements", "urls"].map((name) => h("button", {
            type: "button", class: "small", id: `watch-example-${name}`,
            onclick: () => {
                this.area.value = this.example(name).join("\n");
                this.edited();
            },
        }, t(`e_${name}`)));
        return h("div", { class: "words" },
            h("label", { class: "field" }, h("span", {}, t("words")), this.area),
            h("div", { class: "examples", role: "group", "aria-label": t("examples") }, examples));
    }
    example(name) {
        return name === "urls" ? URLS : this.t(name).split(" ");
    }

    parameters() {
        const { t, lab } = this;
        const field = (name, label, otherwise) => {
            const input = h("input", {
                id: `watch-${name}`, type: "text", autocomplete: "off",
                oninput: this.later(() => this.choose({ [name]: input.value.trim() }), 250),
            });
            input.value = lab.state.get(name, otherwise);
            this[name] = input;
            return h("label", { class: "field" }, h("span", {}, label), input);
        };
        this.extra = h("select", {
            id: "watch-extra",
            onchange: () => this.choose({ extra: this.extra.value === "0" ? null : this.extra.value }),
        }, EXTRAS.map((number) =>
            h("option", { value: number }, number === 0 ? t("noExtra") : lab.format.count(number))));
        this.extra.value = EXTRAS.includes(Number(lab.state.get("extra"))) ? lab.state.get("extra") : "0";
        return h("div", { class: "parameters" },
            field("p", t("rate"), "5 %"), field("capacity", t("capacity"), ""), field("seed", t("seed"), "0"),
            h("label", { class: "field" }, h("span", {}, t("extra")), this.extra));
    }

    queryForm() {
        const { t, lab } = this;
        this.word = h("input", {
            id: "watch-word", type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
            oninput: this.later(() => this.query(this.word.value.trim()), 150),
        });
        this.word.value = lab.state.get("q", t("probe"));
        const button = (id, name, onclick) => h("button", { type: "button", id, onclick }, t(name));
        this.findButton = button("watch-find", "find", () => this.find());
        return h("form", {
            class: "query", onsubmit: (event) => {
                event.preventDefault();
                this.query(this.word.value.trim());
                this.showResult(true);
            },
        },
        h("label", { class: "field" }, h("span", {}, t("word")), this.word),
        h("button", { type: "submit", class: "primary", id: "watch-query" }, t("query")),
        button("watch-add", "add", () => this.add(this.word.value.trim())),
        button("watch-remove", "remove", () => this.remove(this.word.value.trim())),
        this.findButton);
    }

    /* ---- the filter */

    edited() {
        this.choose({ words: this.area.value });
    }

    /* What the user chose goes into the address, and makes a new filter. */
    choose(values) {
        this.lab.state.set({ ...values, gone: null });
        this.rebuild();
        this.showResult(false);
    }

    options() {
        const { t, lab } = this, words = wordsOf(this.area.value).length, extra = Number(this.extra.value);
        const fpr = lab.format.parseRate(this.p.value), capacity = lab.format.parseCount(this.capacity.value);
        const isAutomatic = this.capacity.value.trim() === "";
        if (Number.isNaN(fpr)) throw new InputError(this.p, t("badRate", this.p.value));
        if (!isAutomatic && !(capacity >= 1 && capacity <= CAPACITY_MAX)) {
            throw new InputError(this.capacity, t("badCapacity", this.capacity.value));
        }
        if (!/^\s*\d+\s*$/.test(this.seed.value)) throw new InputError(this.seed, t("badSeed", this.seed.value));
        return {
            kind: this.kind, fpr, seed: BigInt(this.seed.value.trim()),
            capacity: isAutomatic ? extra + defaultCapacity(words) : capacity,
        };
    }

    /* Makes the filter from what the controls say.  Where that is impossible, the last one stays. */
    rebuild() {
        this.search?.stop();
        const isStatic = this.lab.tamis.kinds.find(({ name }) => name === this.kind).static;
        this.capacity.disabled = isStatic;
        [this.p, this.capacity, this.seed].forEach((field) => field.removeAttribute("aria-invalid"));
        try {
            const words = wordsOf(this.area.value);
            const watched = new Watched(this.lab.tamis, this.options(), words, Number(this.extra.value));
            if (watched.canRemove) wordsOf(this.lab.state.get("gone", "")).forEach((word) => watched.remove(word));
            this.watched?.free();
            this.watched = watched;
            this.capacity.placeholder = isStatic ? this.t("capacityStatic") : String(watched.options.capacity);
            this.say(watched.refused.length === 0 ? null
                : this.alert(this.t("refused", nameList(watched.refused, this.t), this.messageOf(watched.refusal))));
        } catch (error) {
            error.field?.setAttribute("aria-invalid", "true");
            this.say(this.alert(this.messageOf(error)));
        }
        if (this.watched !== null) this.redraw();
    }

    messageOf(error) {
        if (["E_FULL", "E_FPR", "E_FPR_TOO_LOW"].includes(error.status)) return this.t(error.status);
        return error.message;
    }
    alert(message, ...more) {
        return h("div", { class: "error", role: "alert" }, message, more);
    }
    say(element) {
        show(this.notice, element);
    }

    /* ---- the picture */

    redraw() {
        const { watched, t } = this;
        this.picture?.free();
        this.picture = new Picture({ watched, t, onCell: (cell, byKeyboard) => this.pointAtCell(cell, byKeyboard) });
        show(this.pictureSlot, this.picture.element);
        this.wordsNote.textContent = t(this.picture.isLarge ? "wordListLarge" : "wordList");
        this.cellLine.hidden = this.picture.isLarge;
        const words = [...new Set(watched.words)], more = Math.max(0, words.length - CHIPS) + watched.extra;
        this.chipOf = new Map(words.slice(0, CHIPS).map((word) => [word, this.chip(word)]));
        const remark = words.length + watched.extra === 0 ? t("noWords") : more > 0 ? t("moreWords", more) : null;
        show(this.chips, [...this.chipOf.values()], remark && h("span", { class: "note" }, remark));
        this.showFacts();
    }

    chip(word) {
        const light = () => this.picture.light(this.watched.ownCells(word).flatMap(bitsRead));
        const unlight = () => this.picture.light([]);
        return h("button", {
            type: "button", class: "chip", "data-word": word,
            onpointerenter: light, onpointerleave: unlight, onfocus: light, onblur: unlight,
            onclick: () => {
                this.word.value = word;
                this.query(word);
                this.showResult(true);
            },
        }, word);
    }

    pointAtCell(cell, byKeyboard) {
        const { watched, t } = this;
        const words = cell === null ? [] : watched.wordsAt(cell.bit);
        for (const [word, chip] of this.chipOf) chip.classList.toggle("lit", words.includes(word));
        if (cell === null) {
            this.cellLine.textContent = t("cellHint");
            return;
        }
        const { section, bit } = cell, value = valueOf(watched.layout.table, { bit, bits: section.bits });
        const shown = value === 0n && section.canBeEmpty ? t("empty") : section.bits > 4 ? hex(value) : String(value);
        const isGenerated = watched.extra > 0 && value !== 0n;
        const used = words.length > 0 ? nameList(words, t) : t(isGenerated ? "generatedWord" : "readNothing");
        this.cellLine.textContent = t("cell", cellName(watched, cell, t), shown) + t("cellUsed", used);
        if (byKeyboard) this.lab.announce(this.cellLine.textContent);
    }

    showFacts() {
        const { watched, t } = this, { info } = watched, { format } = this.lab;
        const cells = watched.layout.sections.filter(({ unit }) => unit !== "stash")
            .reduce((sum, { bits, count }) => sum + bits * count, 0);
        const fact = (name, value, note = null) =>
            h("div", {}, h("dt", {}, t(`f_${name}`)), h("dd", { id: `watch-fact-${name}` }, value, note));
        const over = info.overCapacity && h("span", { class: "tag over" }, t("over"));
        show(this.facts, [
            fact("keys", format.count(info.keys), over),
            fact("promise", format.rate(info.fprTarget)),
            fact("now", format.rate(info.fprNow)),
            fact("fill", `${Math.round(100 * info.fill)} %`),
            fact("hashes", info.hashes),
            info.width > 0 && fact(watched.options.kind === "counting" ? "counter" : "width", info.width),
            watched.options.kind === "growing" && fact("stages", info.stages),
            fact("bits", info.keys === 0 ? "–" : format.bits((cells || 8 * info.tableBytes) / info.keys)),
            fact("table", format.bytes(info.tableBytes)),
            fact("bytes", format.bytes(info.bytes)),
        ]);
    }

    /* ---- lookups */

    query(word) {
        this.lab.state.set({ q: word });
        this.showResult(false);
    }

    /* Shows why the word of the field is in the set or not; `extra` are marks of cells that have changed. */
    showResult(isAnnounced, changes = []) {
        const word = this.word.value.trim(), { t, watched } = this;
        this.result.hidden = word === "" || watched === null;
        for (const [name, chip] of this.chipOf ?? []) chip.setAttribute("aria-pressed", name === word);
        if (this.result.hidden) {
            this.picture?.mark(new Map());
            return;
        }
        const found = explain(watched, word, t);
        const marks = new Map([...found.marks, ...changes]);
        this.picture.mark(marks);
        this.showLegend(new Set(marks.values()));
        this.result.classList.toggle("positive", found.isTrue);
        const sign = h("span", { class: found.isTrue ? "yes" : "no", "aria-hidden": "true" }, found.isTrue ? "≈" : "✗");
        show(this.result,
            h("p", { class: "answer", id: "watch-answer" }, sign, " ", found.answer),
            h("p", { class: found.isTrue === found.isMember ? "truth" : "truth warn", id: "watch-truth" }, found.truth),
            h("div", { id: "watch-why" }, h("p", {}, this.joined(found.sentences)), found.body));
        if (isAnnounced) this.lab.announce([found.answer, found.truth, ...found.sentences].join(" "));
    }

    showLegend(marks) {
        const names = ["hit", "miss", "read", "fresh"].filter((name) => marks.has(name));
        if (!this.picture.isLarge) names.push("lit");
        const label = (name) => this.t(name === "hit" && this.kind === "cuckoo" ? "l_hit_equal" : `l_${name}`);
        show(this.legend, names.map((name) =>
            h("li", {}, h("span", { class: `swatch ${name}`, "aria-hidden": "true" }), label(name))));
    }

    /* ---- changes */

    /* Runs a change; shows an error of the library, with a button that builds the filter again instead. */
    change(word, call, status, message, button, edit) {
        if (word === "") return this.say(this.alert(this.t("emptyWord")));
        this.search?.stop();
        try {
            return call();
        } catch (error) {
            const isForbidden = error.status === status || error.status === "E_STATIC";
            const rebuild = isForbidden && h("button", {
                type: "button", class: "small", id: "watch-rebuild",
                onclick: () => {
                    edit();
                    this.say(h("p", { class: "done" }, this.t("rebuilt", this.watched.words.length)));
                },
            }, this.t(button));
            const sentence = isForbidden ? this.t(message, this.kind) : this.messageOf(error);
            return this.say(this.alert(sentence, rebuild && [" ", rebuild]));
        }
    }

    add(word) {
        this.change(word, () => {
            const change = this.watched.add(word);
            this.keepWords();
            this.report(this.sentencesOfAdd(word, change), change.changed);
        }, "E_STATIC", "cannotAdd", "rebuildWith", () => this.editWords([...this.watched.words, word]));
    }

    sentencesOfAdd(word, { isNew, changed, moved, stages }) {
        const { t, watched } = this, nameOf = (bit) => cellName(watched, watched.placeOf(bit), t);
        return [
            t("added", word, changed.length), !isNew && t("wasThere", word), stages > 0 && t("newStage"),
            ...moved.map((one) => t("moved", one.word, nameOf(one.from[0]), nameOf(one.to[0]))),
        ].filter(Boolean);
    }

    remove(word) {
        this.change(word, () => {
            const change = this.watched.remove(word), { t } = this;
            if (change === null) {
                const reason = this.watched.filter.has(word) ? "neverAdded" : "absent";
                return this.say(h("p", { class: "done" }, t(reason, word)));
            }
            const lost = this.watched.lost();
            if (!change.wasMember) this.lab.state.set({ gone: `${this.lab.state.get("gone", "")}\n${word}`.trim() });
            this.keepWords();
            this.report([
                t("removed", word, change.changed.length),
                !change.wasMember && (lost.length > 0 ? t("damaged", nameList(lost, t)) : t("removedStranger")),
            ].filter(Boolean), change.changed, !change.wasMember);
        }, "E_NO_REMOVE", "cannotRemove", "rebuildWithout", () => {
            this.editWords(this.watched.words.filter((one) => one !== word));
        });
    }

    /* The text and the address follow the filter. */
    keepWords() {
        if (this.capacity.value.trim() === "") this.capacity.value = String(this.watched.options.capacity);
        this.area.value = this.watched.words.join("\n");
        this.lab.state.set({ words: this.area.value, capacity: this.capacity.value });
        this.redraw();
    }
    editWords(words) {
        this.area.value = words.join("\n");
        this.edited();
    }

    joined(sentences) {
        return sentences.join(this.t("space"));
    }
    report(sentences, changed, isWarning = false) {
        const sentence = this.joined(sentences);
        this.say(h("p", { class: isWarning ? "warning" : "done", role: isWarning ? "alert" : null }, sentence));
        if (!isWarning) this.lab.announce(sentence);
        this.showResult(false, changed.map(({ bit }) => [bit, "fresh"]));
    }

    /* ---- a false positive */

    async find() {
        if (this.search !== null) return this.search.stop();
        const { t, watched } = this;
        let isStopped = false;
        this.search = { stop: () => (isStopped = true) };
        this.findButton.textContent = t("stopFinding");
        const progress = h("p", { class: "done" });
        const onProgress = (tried) => {
            if (progress.parentNode === null) this.say(progress);
            progress.textContent = t("finding", tried);
            return !isStopped && this.root.isConnected;
        };
        const found = await findFalsePositive(watched.filter, (word) => watched.isMember(word), this.seek, onProgress);
        this.search = null;
        this.seek = found.next;
        this.findButton.textContent = t("find");
        if (this.root.isConnected && watched === this.watched) this.showFound(found, isStopped);
    }

    showFound({ word, tried }, isStopped) {
        const { t } = this;
        if (word !== null) {
            this.word.value = word;
            this.query(word);
            this.showResult(true);
        }
        const sentence = t(word !== null ? "found" : isStopped ? "findingStopped" : "notFound", tried);
        this.say(h("p", { class: "done", id: "watch-found" }, sentence));
        if (word === null) this.lab.announce(sentence);
    }
}

export function mount(root, lab) {
    new Panel(root, lab);
}
