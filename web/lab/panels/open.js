/* open.js - opens filters of any supported format from files, in the page
 *
 * What is open survives a change of the language or of the panel, as long as the page. */
import { h, nextFrame } from "../dom.js";
import { closeEntry, entryOf, openEntry } from "./open.entry.js";
import { drawCard } from "./open.card.js";
import * as texts from "./open.text.js";

export const text = { en: texts.en, zh: texts.zh };

const opened = [];
let nextNumber = 0;

/* ---- samples, built by the library when they are wanted */

const SAMPLE_KEYS = 10000;
const sampleKeys = () => Array.from({ length: SAMPLE_KEYS }, (_, i) => `https://example.com/${i}`);
const SAMPLE_QUERIES = ["com/0", "com/4711", "com/10000", "org/"].map((end) => `https://example.${end}\n`).join("");

const SAMPLES = {
    tamis: { file: "urls.tamis", options: { kind: "bloom", capacity: 20000, fpr: 0.01 } },
    cuckoo: { file: "cuckoo.tamis", options: { kind: "cuckoo", capacity: 12000, fpr: 0.001 } },
    fuse: { file: "fuse.tamis", options: { kind: "fuse", fpr: 0.001 } },
    guava: { file: "urls.guava", options: { format: "guava", capacity: SAMPLE_KEYS, fpr: 0.03 } },
    damaged: { file: "damaged.tamis", options: { kind: "block", fpr: 0.01 }, damage: true },
};

function encodeSample(tamis, { options, damage }) {
    const filter = tamis.Filter.build(sampleKeys(), options);
    const bytes = filter.encode();
    filter.free();
    if (damage) bytes[bytes.length >> 1] ^= 1;
    return bytes;
}

function sampleSource(tamis, name) {
    const sample = SAMPLES[name];
    return { name: sample.file, keys: SAMPLE_QUERIES, read: async () => encodeSample(tamis, sample) };
}

/* ---- the panel */

class OpenPanel {
    constructor(root, lab) {
        Object.assign(this, { root, lab });
        this.cards = h("div", { id: "open-files" });
        this.input = h("input", {
            type: "file", multiple: true, hidden: true, id: "open-input",
            onchange: () => this.take([...this.input.files]),
        });
        const { t } = lab;
        root.append(
            h("h1", {}, t("title")), h("p", { class: "lead" }, t("lead")), this.dropZone(), this.samples(), this.cards);
        for (const entry of opened) this.addCard(entry);
        const wanted = lab.state.get("sample");
        if (opened.length === 0 && Object.hasOwn(SAMPLES, wanted ?? "")) this.take([sampleSource(lab.tamis, wanted)]);
        root.addEventListener("theme", () => opened.forEach((entry) => entry.repaint?.()));
        this.listenToDrops();
    }

    dropZone() {
        const { t } = this.lab;
        this.zone = h("div", { id: "open-drop" }, h("span", {}, t("drop")),
            h("button", {
                type: "button", class: "primary", id: "open-choose", onclick: () => this.input.click(),
            }, t("choose")), this.input);
        return this.zone;
    }

    samples() {
        const { t, state, tamis } = this.lab;
        const open = (name) => {
            state.set({ sample: name });
            this.take([sampleSource(tamis, name)]);
        };
        return h("p", { class: "samples" }, h("span", {}, t("samples")), Object.keys(SAMPLES).map((name) =>
            h("button", {
                type: "button", class: "small", id: `open-sample-${name}`, onclick: () => open(name),
            }, t("sample")[name])));
    }

    listenToDrops() {
        const mark = (isOver) => this.zone.classList.toggle("over", isOver);
        this.root.addEventListener("dragover", (event) => {
            event.preventDefault();
            mark(true);
        });
        this.root.addEventListener("dragleave", (event) => this.root.contains(event.relatedTarget) || mark(false));
        this.root.addEventListener("drop", (event) => {
            event.preventDefault();
            mark(false);
            this.take([...event.dataTransfer.files]);
        });
    }

    /* One after the other: each may be large.  The newest is on top. */
    async take(sources) {
        this.input.value = "";
        const entries = sources.map(entryOf);
        for (const entry of entries) {
            opened.unshift(entry);
            this.addCard(entry);
        }
        for (const entry of entries) await this.open(entry);
    }

    async open(entry) {
        await nextFrame();
        const { lab } = this, { t, tamis } = lab;
        await openEntry(tamis, entry);
        if (!opened.includes(entry)) return closeEntry(entry);
        entry.draw();
        if (entry.filter === undefined) return undefined;
        const { kind, format } = entry.filter.info();
        return lab.announce(t("opened", entry.name, t("kindName", kind), format));
    }

    addCard(entry) {
        entry.number ??= nextNumber++;
        const id = `open-${entry.number}`;
        const card = h("article", { class: "card file", id, "aria-labelledby": `${id}-name` });
        const reopen = (changes) => {
            Object.assign(entry, changes);
            return this.open(entry);
        };
        const close = () => {
            opened.splice(opened.indexOf(entry), 1);
            closeEntry(entry);
            card.remove();
            this.root.querySelector("#open-choose").focus();
        };
        entry.draw = () => drawCard(this.lab, entry, id, card, { reopen, close });
        this.cards.prepend(card);
        entry.draw();
    }
}

export function mount(root, lab) {
    new OpenPanel(root, lab);
}
