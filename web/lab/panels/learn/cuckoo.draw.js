/* cuckoo.draw.js - the slots of a cuckoo filter as SVG, with the windows of a key and the fingerprints that moved */
import { s } from "../../dom.js";
import { isNarrow } from "./tools.js";

const UNIT = 34, HEIGHT = 46, TOP = 16;
const COLUMNS = 17, NARROW_COLUMNS = 9;
const KICK_SECONDS = 0.4;

/** A fingerprint as it is written in its slot. */
export const hex = (print) => print.toString(16).padStart(2, "0");

const centre = (slot, columns) => [(slot % columns + 0.5) * UNIT, TOP + Math.floor(slot / columns) * HEIGHT + 15];

/* Kicks are drawn one after the other: `turn` is the place in that order. */
function arrow({ from, to }, columns, turn) {
    const [x1, y1] = centre(from, columns), [x2, y2] = centre(to, columns);
    const lift = y1 === y2 ? 22 : 6, middle = (x1 + x2) / 2;
    return s("path", {
        d: `M${x1},${y1 - 11} Q${middle},${Math.min(y1, y2) - 11 - lift} ${x2},${y2 - 12}`,
        "marker-end": "url(#learn-kick)", class: "kick", pathLength: 1,
        style: `fill: none; stroke: var(--mark); stroke-width: 1.8; animation-delay: ${turn * KICK_SECONDS}s`,
    });
}

const arrowHead = () => s("marker", {
    id: "learn-kick", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 5, markerHeight: 5, orient: "auto",
}, s("path", { d: "M0 0L8 4L0 8z", style: "fill: var(--mark)" }));

function slotShapes(symbol, slot, { columns, window, isNew, inWindows }) {
    const [x, y] = centre(slot, columns);
    const text = (dy, size, fill, content, weight = 400) => s("text", {
        x, y: y + dy, "text-anchor": "middle", "dominant-baseline": "central",
        style: `font: ${weight} ${size}px var(--mono); fill: ${fill}`,
    }, content);
    return [
        s("rect", {
            x: x - 15, y: y - 11, width: 30, height: 22, rx: 3,
            style: `fill: var(${symbol === 0 ? "--cell" : "--cell-on"}); stroke-width: 3.5; ` +
                `stroke: ${isNew ? "var(--mark)" : "none"}`,
        }),
        symbol !== 0 && text(0.5, 13, "var(--paper)", hex(Math.floor((symbol - 1) / (2 * window))), 700),
        text(19, 8, "var(--muted)", slot),
        inWindows !== "" && s("rect", { x: x - 15, y: y + 12.5, width: 30, height: 2.5, style: "fill: var(--ink)" }),
        inWindows !== "" && s("text", {
            x: x + 11, y: y + 19, "text-anchor": "middle", "dominant-baseline": "central",
            style: "font: 700 9px var(--sans); fill: var(--ink)",
        }, inWindows),
    ];
}

/** The slots; `home`: the windows to mark, `moves` and `added`: what the last add changed. */
export function drawSlots(content, shape, { moves = [], added = [], home, label }) {
    const columns = isNarrow() ? NARROW_COLUMNS : COLUMNS, { symbols } = content, { window } = shape;
    const isIn = (slot, first) => slot >= first && slot < first + window;
    const windowsOf = (slot) =>
        (home === undefined ? "" : `${isIn(slot, home.first) ? "1" : ""}${isIn(slot, home.second) ? "2" : ""}`);
    const height = TOP + Math.ceil(symbols.length / columns) * HEIGHT;
    return s("svg", {
        viewBox: `0 0 ${columns * UNIT} ${height}`, role: "img", "aria-label": label, class: "slots",
    }, arrowHead(),
    symbols.map((symbol, slot) =>
        slotShapes(symbol, slot, { columns, window, isNew: added.includes(slot), inWindows: windowsOf(slot) })),
    moves.map((move, turn) => arrow(move, columns, turn)));
}
