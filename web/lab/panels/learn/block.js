/* block.js - step 11: all bits of a key in one cache line */
import { bitGrid, bitsOf, tableOf } from "../../cells.js";
import { h, show } from "../../dom.js";
import { figure, isNarrow, row, scrollTable, verdict, wordField } from "./tools.js";
import { lookupMarks } from "./small.js";
import { phrases } from "./words.js";

const LINE_BITS = 512, LANE_BITS = 64;
const KEYS = 10000, SAMPLE = 2000, FPR = 0.01;

/* A block filter, and a Bloom filter with as many bits and hash functions. */
function makePair(lab, stored) {
    const { Filter } = lab.tamis;
    const block = Filter.build(stored, { kind: "block", fpr: FPR });
    const { tableBytes, hashes } = block.info();
    const bloom = Filter.create({ kind: "bloom", bits: 8 * tableBytes, hashes, capacity: stored.length });
    bloom.addMany(stored);
    return { block, bloom };
}

/* The lines that lookups of the keys touch, on average: a lookup ends at the first bit that is 0. */
function linesTouched(filter, keys) {
    const bits = tableOf(filter);
    const touched = keys.map((key) => {
        const lines = new Set();
        for (const { bit } of filter.cells(key)) {
            lines.add(Math.floor(bit / LINE_BITS));
            if (((bits[bit >> 3] >> (bit & 7)) & 1) === 0) break;
        }
        return lines.size;
    });
    return touched.reduce((sum, one) => sum + one, 0) / keys.length;
}

function compareTable(lab, filters, stored, absent) {
    const { t, format } = lab, sample = stored.slice(0, SAMPLE);
    const line = (name) => {
        const filter = filters[name], wrong = filter.hasMany(absent).reduce((sum, one) => sum + one, 0);
        const cell = (id, text) => h("td", { class: "number", id: `learn-block-${name}-${id}` }, text);
        return h("tr", {}, h("th", { scope: "row" }, t(name)),
            cell("present", linesTouched(filter, sample).toFixed(2)),
            cell("absent", linesTouched(filter, absent).toFixed(2)),
            cell("fpr", format.rate(wrong / absent.length)));
    };
    const head = (name) => h("th", { scope: "col", class: name === "kind" ? null : "number" }, t(name));
    return scrollTable("block-table", t("compare", format.count(KEYS)),
        ["kind", "present", "absent", "fpr"].map(head), ["block", "bloom"].map(line));
}

export function block(section, lab) {
    section.append(...lab.prose("intro"), figure(lab, { id: "block", build, isHeavy: true }), ...lab.prose("outro"));

    function build(body, say) {
        const { t, format } = lab;
        const all = phrases(lab.language, KEYS + SAMPLE), stored = all.slice(0, KEYS), absent = all.slice(KEYS);
        const filters = makePair(lab, stored), table = tableOf(filters.block);
        const place = h("div", {}), answer = h("p", { id: "learn-block-answer" });
        const look = (word) => {
            if (word === "") return;
            const places = filters.block.cells(word).map(({ bit }) => bit), line = Math.floor(places[0] / LINE_BITS);
            const bits = bitsOf(table, line * LINE_BITS, LINE_BITS), inLine = places.map((at) => at - line * LINE_BITS);
            show(place, bitGrid({
                bits, columns: isNarrow() ? LANE_BITS / 2 : LANE_BITS, digits: false,
                marks: lookupMarks(bits, inLine), label: t("label", format.count(line), word),
            }));
            show(answer, h("b", {}, word), " ", verdict(lab, filters.block.has(word)));
            say(t("report", word, format.count(line), format.count((8 * table.length) / LINE_BITS), places.length,
                inLine.filter((at) => bits[at] !== 0).length));
        };
        body.append(row(wordField("block-word", t("word"), stored[0], look)), answer, place,
            h("p", { class: "compare" }, t("compare", format.count(KEYS))), compareTable(lab, filters, stored, absent));
        look(stored[0]);
    }
}
