/* ribbon.js - step 10: the band of coefficients, and a lookup as parities */
import { bitGrid, parity, tableOf, valueOf } from "../../cells.js";
import { h, show } from "../../dom.js";
import { button, colours, figure, isNarrow, onTheme, row, verdict, wordField } from "./tools.js";
import { phrases } from "./words.js";

const KEYS = 240, FPR = 1 / 64, SCALE = 4;
const DIRECTORY_BYTES = 64;

/* The start and the coefficients of a key, from the cell of its first column. */
const rowOf = (cells) => ({ start: cells[0].bit - 8 * DIRECTORY_BYTES, window: cells[0].bits, mask: cells[0].mask });

const positionsOf = (mask) => Array.from({ length: 64 }, (_, i) => i).filter((i) => (mask >> BigInt(i)) & 1n);

export function ribbon(section, lab) {
    const all = phrases(lab.language, KEYS + 50), stored = all.slice(0, KEYS), absent = all.slice(KEYS);
    const filter = lab.tamis.Filter.build(stored, { kind: "ribbon", fpr: FPR });
    const cells = filter.cells(stored[0]), columns = cells.length, slots = cells[1].bit - cells[0].bit;
    const matrix = (body, say) => drawMatrix(lab, { filter, stored, slots }, body, say);
    const lookup = (body, say) => drawLookup(lab, { filter, stored, absent }, body, say);
    section.append(
        ...lab.prose("intro", KEYS, slots, columns),
        figure(lab, { id: "ribbon", isHeavy: true, build: matrix }),
        ...lab.prose("table", columns),
        figure(lab, { id: "parity", isHeavy: true, build: lookup }),
        ...lab.prose("outro"));
}

/* ---- the matrix */

function drawMatrix(lab, { filter, stored, slots }, body, say) {
    const rows = stored.map((key) => rowOf(filter.cells(key))).sort((a, b) => a.start - b.start);
    const canvas = h("canvas", {
        width: slots * SCALE, height: rows.length * SCALE, role: "img", class: "matrix", id: "learn-ribbon-matrix",
        "aria-label": lab.t("labelMatrix", rows.length, slots),
    });
    let dots = 0;
    const draw = () => {
        const context = canvas.getContext("2d"), [paper, window, dot] = colours("paper", "cell", "kind-ribbon");
        context.fillStyle = paper;
        context.fillRect(0, 0, canvas.width, canvas.height);
        dots = 0;
        rows.forEach((one, y) => {
            context.fillStyle = window;
            context.fillRect(one.start * SCALE, y * SCALE, one.window * SCALE, SCALE);
            context.fillStyle = dot;
            for (const i of positionsOf(one.mask)) {
                context.fillRect((one.start + i) * SCALE, y * SCALE, SCALE - 1, SCALE - 1);
                dots++;
            }
        });
    };
    body.append(canvas);
    onTheme(body, draw);
    draw();
    say(lab.t("saysMatrix", rows.length, slots, lab.format.count(dots)));
}

/* ---- a lookup */

function drawColumn(lab, table, cell, i) {
    const value = valueOf(table, cell), found = parity(value & cell.mask), wanted = Number(cell.expected);
    const bits = Array.from({ length: cell.bits }, (_, at) => Number((value >> BigInt(at)) & 1n));
    const isEqual = found === wanted, agreement = `${lab.t("parity", found, wanted)} ${isEqual ? "✓" : "✗"}`;
    return h("div", { class: "column" },
        h("p", { class: "note" }, lab.t("column", i + 1), lab.t("colon"), h("b", { class: isEqual ? "yes" : "no" }, agreement)),
        bitGrid({
            bits, columns: isNarrow() ? cell.bits / 2 : cell.bits, digits: false,
            label: lab.t("label", i + 1, found, wanted),
            marks: new Map(positionsOf(cell.mask).map((at) => [at, "probe"])),
        }));
}

function drawLookup(lab, { filter, stored, absent }, body, say) {
    const { t } = lab, table = tableOf(filter);
    const place = h("div", { id: "learn-parity-columns" }), answer = h("p", { id: "learn-parity-answer" });
    let turn = 0;
    const look = (word) => {
        if (word === "") return;
        const cells = filter.cells(word), isIn = filter.has(word);
        const agree = cells.filter((cell) => BigInt(parity(valueOf(table, cell) & cell.mask)) === cell.expected).length;
        show(place, cells.map((cell, i) => drawColumn(lab, table, cell, i)));
        show(answer, h("b", {}, word), " ", verdict(lab, isIn));
        say(t("report", word, rowOf(cells).start, agree, cells.length, t(isIn ? "possibly" : "definitelyNot")));
    };
    const field = wordField("parity-word", t("word"), "", look);
    const use = (list) => {
        const word = list[turn++ % list.length];
        field.querySelector("input").value = word;
        look(word);
    };
    body.append(row(field, button("parity-member", t("aMember"), () => use(stored)),
        button("parity-absent", t("anAbsent"), () => use(absent))), answer, place);
    use(stored);
}
