/* cells.js - draws the table of a filter: bit arrays, cells with values, and what a lookup reads
 *
 *     tableOf(filter)                        the bytes of the table of a .tamis filter
 *     bitsOf(table, first, count)            its bits, as 0 and 1
 *     valueOf(table, cell)                   the value of a cell of filter.cells(key), a BigInt
 *     groupsOf(cells), holds(table, cells)   the equations of a lookup, and whether they hold
 *     isInTable(table, cells)                the result of the lookup
 *
 *     bitGrid({ bits, columns, marks, label })          an array of bits or counters, as SVG
 *     cellRow({ cells: [{ name, value, state }], between: "⊕", result: { ... } })   cells with values, as HTML
 *
 * Colours come from the page's custom properties and are set on the elements, so that every panel can use the
 * drawings.  A mark has a shape besides its colour: see MARKS. */
import { h, s } from "./dom.js";

const HEADER_BYTES = 192;
const UNIT = 20; /* a cell, with its gap, in units of the SVG */
const GAP = 2;

/* ---- reading a table */

/** The bytes of the table: bit b of the table is bit b % 8 of byte b / 8. */
export function tableOf(filter) {
    return filter.encode().subarray(HEADER_BYTES, HEADER_BYTES + filter.info().tableBytes);
}

/** `count` bits from bit `first` on, as an array of 0 and 1. */
export function bitsOf(table, first = 0, count = 8 * table.length - first) {
    return Uint8Array.from({ length: count }, (_, i) => (table[(first + i) >> 3] >> ((first + i) & 7)) & 1);
}

/** The numbers of `width` bits from bit `first` on: counters, slots. */
export function numbersOf(table, width, count, first = 0) {
    return Array.from({ length: count }, (_, i) => Number(valueOf(table, { bit: first + i * width, bits: width })));
}

/** The value of a cell. */
export function valueOf(table, { bit, bits }) {
    let value = 0n;
    const start = Number(bit), end = start + Number(bits);
    for (let byte = start >> 3; byte << 3 < end; byte++) {
        value |= BigInt(table[byte]) << BigInt(8 * (byte - (start >> 3)));
    }
    return BigInt.asUintN(Number(bits), value >> BigInt(start & 7));
}

/** 1 if an odd number of bits are set. */
export function parity(value) {
    let odd = 0;
    for (; value !== 0n; value &= value - 1n) odd ^= 1;
    return odd;
}

/* ---- the equations of a lookup */

/** The cells of filter.cells(key) as groups of equations of cells. */
export function groupsOf(cells) {
    const groups = new Map();
    for (const cell of cells) {
        const group = groups.get(cell.group) ?? groups.set(cell.group, new Map()).get(cell.group);
        const equation = group.get(cell.equation) ?? group.set(cell.equation, []).get(cell.equation);
        equation.push(cell);
    }
    return [...groups.values()].map((group) => [...group.values()]);
}

/** Does an equation hold?  `cells` are all of its cells. */
export function holds(table, cells) {
    const { rule, expected } = cells[0];
    const values = cells.map((cell) => valueOf(table, cell));
    switch (rule) {
    case "set": return values.every((value) => value !== 0n);
    case "equal": return values.every((value) => value === expected);
    case "xor": return values.reduce((sum, value) => sum ^ value) === expected;
    case "parity": {
        const odd = values.reduce((sum, value, i) => sum ^ parity(value & cells[i].mask), 0);
        return BigInt(odd) === expected;
    }
    default: return true;
    }
}

/** Is the key of these cells possibly in the set? */
export const isInTable = (table, cells) =>
    groupsOf(cells).some((group) => group.every((equation) => holds(table, equation)));

/* ---- bit arrays */

/* What a mark looks like: an outline, and a sign where cells are large enough to carry one. */
const MARKS = {
    hit: { stroke: "var(--mark)", width: 2.5, sign: "✓" }, /* a lookup reads it, and it is set */
    miss: { stroke: "var(--no)", width: 2.5, dashes: "3 2", sign: "✗" }, /* a lookup reads it, and it is 0 */
    fresh: { stroke: "var(--mark)", width: 3.5, sign: "+" }, /* has just changed */
    lost: { stroke: "var(--no)", width: 2.5, dashes: "1.5 2", sign: "−" }, /* was cleared */
    shared: { stroke: "var(--ink)", width: 2, sign: "" }, /* several keys use it */
    probe: { stroke: "var(--mark)", width: 2.5, sign: "" }, /* the place of a key */
};

function cellShape(at, value, { columns, mark, top, isDense }) {
    const look = MARKS[mark], stroke = look === undefined ? 0 : look.width * (isDense ? 2 : 1);
    const inset = isDense && stroke > 0 ? stroke / 2 - GAP / 2 : GAP / 2 + stroke / 2;
    return s("rect", {
        x: (at % columns) * UNIT + inset, y: top + Math.floor(at / columns) * UNIT + inset,
        width: UNIT - 2 * inset, height: UNIT - 2 * inset, rx: 2,
        style: `fill: var(${value === 0 ? "--cell" : "--cell-on"});` + (look === undefined ? "" :
            `stroke: ${look.stroke}; stroke-width: ${stroke}; stroke-dasharray: ${look.dashes ?? "none"}`),
    });
}

function cellText(at, columns, top, text, { size, fill, dx = 0, dy = 0, weight = 400 }) {
    return s("text", {
        x: (at % columns + 0.5) * UNIT + dx, y: top + (Math.floor(at / columns) + 0.5) * UNIT + dy,
        "text-anchor": "middle", "dominant-baseline": "central", "aria-hidden": "true",
        style: `font: ${weight} ${size}px var(--mono); fill: ${fill}`,
    }, text);
}

/* The position of the first cell of each row. */
const rowNumbers = (rows, columns, top) => Array.from({ length: rows }, (_, row) => s("text", {
    x: -4, y: top + (row + 0.5) * UNIT, "text-anchor": "end", "dominant-baseline": "central", "aria-hidden": "true",
    style: "font: 400 7px var(--mono); fill: var(--muted)",
}, row * columns));

/* The name of a key above the array, and a line to each of its places. */
function probeShapes({ name, places }, columns, top) {
    const letters = [...name], most = 2 * columns - 4;
    const shown = letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : name;
    const middle = (columns * UNIT) / 2, width = Math.min(columns * UNIT - 4, 10 * [...shown].length + 26);
    const lines = places.map((place) => {
        const x = (place % columns + 0.5) * UNIT, y = top + Math.floor(place / columns) * UNIT + 2;
        return s("path", {
            d: `M${middle},20 C${middle},${(20 + y) / 2} ${x},${(20 + y) / 2} ${x},${y}`,
            style: "fill: none; stroke: var(--mark); stroke-width: 1.2; opacity: 0.7",
        });
    });
    return [lines, s("rect", {
        x: middle - width / 2, y: 1, width, height: 20, rx: 10,
        style: "fill: var(--raised); stroke: var(--mark); stroke-width: 1.5",
    }), s("text", {
        x: middle, y: 11.5, "text-anchor": "middle", "dominant-baseline": "central",
        style: "font: 600 12px var(--sans); fill: var(--ink)",
    }, shown)];
}

/**
 * An array of bits, or of counters, as an SVG picture.
 *
 * bits     numbers; 0 is an empty cell
 * columns  cells in a row
 * marks    a Map from a position to "hit", "miss", "fresh", "lost", "shared" or "probe"
 * badges   a Map from a position to a short text in its corner, such as how many keys use it
 * digits   writes the value into each cell (default: if a row has at most 32)
 * probe    {name, places}: a key above the array with a line to each of its places
 * label    the text alternative: state what the picture shows
 */
export function bitGrid({
    bits, columns = 16, marks = new Map(), badges = new Map(), digits = columns <= 32, probe, label,
}) {
    const top = probe === undefined ? 0 : 48;
    const rows = Math.ceil(bits.length / columns);
    const shapes = Array.from(bits, (value, at) => [
        cellShape(at, value, { columns, mark: marks.get(at), top, isDense: !digits }),
        digits && cellText(at, columns, top, value, {
            size: 9.5, fill: value === 0 ? "var(--muted)" : "var(--paper)", weight: value === 0 ? 400 : 700,
        }),
        digits && marks.has(at) && cellText(at, columns, top, MARKS[marks.get(at)].sign, {
            size: 6, fill: value === 0 ? "var(--ink)" : "var(--paper)", dx: -5, dy: 5,
        }),
        badges.has(at) && cellText(at, columns, top, badges.get(at), {
            size: 5, fill: value === 0 ? "var(--ink)" : "var(--paper)", dx: 4.4, dy: -5.4, weight: 700,
        }),
    ]);
    const gutter = digits && rows > 1 ? UNIT : 0;
    return s("svg", {
        viewBox: `${-gutter} 0 ${gutter + columns * UNIT} ${top + rows * UNIT}`,
        role: "img", "aria-label": label, class: "bit-grid",
        style: `display: block; inline-size: 100%; max-inline-size: ${columns * (digits ? 2.75 : 1)}rem`,
    }, gutter > 0 && rowNumbers(rows, columns, top), shapes,
    probe === undefined ? [] : probeShapes(probe, columns, top));
}

/* ---- cells with values */

const STATES = {
    plain: "border-color: var(--line)",
    probe: "border-color: var(--mark); border-width: 2px",
    yes: "border-color: var(--yes); border-width: 2px",
    no: "border-color: var(--no); border-width: 2px; border-style: dashed",
};

function cellBox({ name, value, note, state = "plain" }) {
    return h("span", { style: "display: inline-grid; justify-items: center; gap: 0.15rem" },
        h("span", { style: "font-size: 0.8rem; color: var(--muted)" }, name),
        h("span", {
            style: "font-family: var(--mono); padding: 0.25rem 0.6rem; border: 1px solid; border-radius: 0.3rem; " +
                `background: var(--raised); ${STATES[state]}`,
        }, value),
        note !== undefined && h("span", { style: "font-size: 0.8rem; color: var(--muted)" }, note));
}

/**
 * Cells with their values in a row that wraps: {name, value, note, state} with state "plain", "probe", "yes" or "no",
 * `between` them a sign, and after "=" the result, a cell as well.
 */
export function cellRow({ cells, between = "", result }) {
    const sign = (text) => h("span", { style: "align-self: center; font-size: 1.2rem" }, text);
    return h("div", { class: "cell-row", style: "display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: start" },
        cells.map((cell, i) => [i > 0 && between !== "" && sign(between), cellBox(cell)]),
        result !== undefined && [sign("="), cellBox(result)]);
}
