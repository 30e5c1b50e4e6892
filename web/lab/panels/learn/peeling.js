/* peeling.js - step 9: xor and binary fuse filters: an equation for each key, and how they are solved */
import { cellRow, isInTable, tableOf, valueOf } from "../../cells.js";
import { h, s, show } from "../../dom.js";
import { button, figure, row, verdict, wordField } from "./tools.js";
import { slotsOf } from "./peeling.peel.js";
import { WaveFigure } from "./peeling.wave.js";
import { phrases } from "./words.js";

const KEYS = 20000, ABSENT = 100, FPR = 1 / 128;
const KINDS = ["xor", "fuse"];

/* Both filters and their keys, made when the first figure needs them. */
function maker(lab) {
    let made;
    return () => (made ??= make(lab));
}
function make(lab) {
    const all = phrases(lab.language, KEYS + ABSENT), stored = all.slice(0, KEYS), absent = all.slice(KEYS);
    return KINDS.map((kind) => {
        const filter = lab.tamis.Filter.build(stored, { kind, fpr: FPR });
        return { kind, filter, table: tableOf(filter), stored, absent };
    });
}

export function peeling(section, lab) {
    const filters = maker(lab), perKey = h("div", {});
    const drawWaves = (body, say) => {
        const { peeled } = new WaveFigure(lab, filters(), body, say);
        show(perKey, lab.prose("outro", ...peeled.map(({ slots }) => (slots / KEYS).toFixed(2))));
    };
    section.append(
        ...lab.prose("intro", lab.format.count(KEYS)),
        figure(lab, { id: "equation", build: (body, say) => drawEquations(lab, filters(), body, say), isHeavy: true }),
        ...lab.prose("peel"),
        figure(lab, { id: "peeling", build: drawWaves, isHeavy: true }),
        perKey);
}

/* ---- the equation of a word */

/* The whole array, from its directory: doc/format.md, "xor, fuse". */
function slotsIn({ table, kind }) {
    const directory = new DataView(table.slice(0, 64).buffer);
    const [length, segment] = [32, 40].map((at) => Number(directory.getBigUint64(at, true)));
    return length + (kind === "xor" ? 2 : 3) * segment;
}

/* Where the slots of a key are in the array. */
function arrayMap(slots, total) {
    return s("svg", { viewBox: "0 0 600 16", "aria-hidden": "true", class: "map", preserveAspectRatio: "none" },
        s("rect", { x: 0, y: 5, width: 600, height: 6, style: "fill: var(--cell)" }),
        slots.map((at) => s("rect", { x: (at / total) * 597, y: 0, width: 3, height: 16, style: "fill: var(--mark)" })));
}

function equation(lab, { filter, table, kind }, word) {
    const { t } = lab, cells = filter.cells(word), width = cells[0].bits;
    const binary = (value) => value.toString(2).padStart(width, "0");
    const sum = cells.reduce((all, cell) => all ^ valueOf(table, cell), 0n);
    const isIn = isInTable(table, cells);
    return {
        isIn,
        element: h("div", { class: "equation", id: `learn-equation-${kind}` },
            h("h3", {}, t(kind)),
            cellRow({
                cells: slotsOf(cells).map((at, i) => ({
                    name: t("slot", lab.format.count(at)), value: binary(valueOf(table, cells[i])), state: "probe",
                })),
                between: "⊕",
                result: {
                    name: t("xorOfAll"), value: binary(sum), note: t("wanted", binary(cells[0].expected)),
                    state: isIn ? "yes" : "no",
                },
            }),
            arrayMap(slotsOf(cells), slotsIn({ table, kind })),
            h("p", {}, t("looked", word), " ", verdict(lab, isIn))),
    };
}

function drawEquations(lab, filters, body, say) {
    const { t } = lab, { stored, absent } = filters[0];
    const place = h("div", {});
    let turn = 1; /* the first phrase is a word twice */
    const look = (word) => {
        if (word === "") return;
        const found = filters.map((one) => equation(lab, one, word));
        show(place, found.map(({ element }) => element));
        say(t("saysWord", word, ...found.map(({ isIn }) => t(isIn ? "possibly" : "definitelyNot"))));
    };
    const field = wordField("equation-word", t("word"), "", look);
    const use = (list) => {
        const word = list[turn++ % list.length];
        field.querySelector("input").value = word;
        look(word);
    };
    body.append(row(field, button("equation-member", t("aMember"), () => use(stored)),
        button("equation-absent", t("anAbsent"), () => use(absent))), place);
    use(stored);
}
