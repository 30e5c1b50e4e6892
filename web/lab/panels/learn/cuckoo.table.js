/* cuckoo.table.js - reads the slots of a cuckoo filter, and compares two states of them: doc/format.md, "cuckoo" */
import { numbersOf, tableOf } from "../../cells.js";

const SHAPE_AT = 96, STASH_BYTES = 64;

/** Slots, bits of a slot, and slots of a window, from the header. */
export function shapeOf(filter) {
    const header = new DataView(filter.encode().buffer);
    const [slots, width, window] = [0, 1, 2].map((i) => Number(header.getBigUint64(SHAPE_AT + 8 * i, true)));
    return { slots, width, window, windows: slots - window + 1 };
}

/** The symbols in the slots, and the hashes in the stash. */
export function contentOf(filter, { slots, width }) {
    const table = tableOf(filter);
    const stash = new BigUint64Array(table.slice(0, STASH_BYTES).buffer);
    return { symbols: numbersOf(table, width, slots, 8 * STASH_BYTES), stash: [...stash] };
}

/* How far the second window is from the first. */
function distanceOf(print, { window, windows }) {
    const span = Math.min(windows - 2 * window, 16384 - window) + 1, k = BigInt((print % 256) + 1);
    const spread = BigInt.asUintN(32, k * k * 0x9e3779b1n);
    return window + Number((spread * BigInt(span)) >> 32n);
}

/** What a slot holds: the fingerprint and both windows of its key; undefined if it is empty. */
export function entryIn(slot, symbol, shape) {
    if (symbol === 0) return undefined;
    const { window, windows } = shape;
    const place = (symbol - 1) % (2 * window), print = Math.floor((symbol - 1) / (2 * window));
    const here = slot - (place % window), distance = distanceOf(print, shape);
    const isFirst = place < window;
    const first = isFirst ? here : (here - distance + windows) % windows;
    return { print, first, second: (first + distance) % windows };
}

/** The fingerprint and the windows of a key. */
export function homeOf(filter, key, { width, window }) {
    const cells = filter.cells(key), slotOf = (cell) => (Number(cell.bit) - 8 * STASH_BYTES) / width;
    return {
        print: Math.floor((Number(cells[0].expected) - 1) / (2 * window)),
        first: slotOf(cells[0]), second: slotOf(cells[window]),
    };
}

/** What an add changed: the fingerprints that moved, and the slot that received a new one. */
export function changesBetween(before, after, shape) {
    const left = new Map(), moves = [], added = [], idOf = ({ print, first }) => `${print}:${first}`;
    before.symbols.forEach((symbol, slot) => {
        if (symbol === 0 || after.symbols[slot] === symbol) return;
        const id = idOf(entryIn(slot, symbol, shape));
        left.set(id, [...(left.get(id) ?? []), slot]);
    });
    after.symbols.forEach((symbol, slot) => {
        if (symbol === 0 || before.symbols[slot] === symbol) return;
        const from = left.get(idOf(entryIn(slot, symbol, shape)))?.pop();
        if (from === undefined) added.push(slot);
        else moves.push({ from, to: slot });
    });
    const emptied = [...left.values()].flat();
    return { moves: inOrder(moves, added), added, emptied };
}

/* The new fingerprint pushes out the one in its slot, which pushes out the next. */
function inOrder(moves, added) {
    const rest = [...moves], ordered = [];
    for (let at = added[0]; rest.length > 0;) {
        const next = Math.max(0, rest.findIndex(({ from }) => from === at));
        const [move] = rest.splice(next, 1);
        ordered.push(move);
        at = move.to;
    }
    return ordered;
}
