/* watch-grid.js - the picture of a table: each cell of a small one, a strip of a large one
 *
 *     const picture = new Picture({ watched, t, onCell })
 *     picture.element            goes into the page
 *     picture.mark(marks)        a Map from the first bit of a cell to "hit", "miss", "read" or "fresh"
 *     picture.light(bits)        cells of the word under the pointer
 *     onCell(cell, byKeyboard)   the pointer or the cursor is on a cell: {bit, section, index}, or null */
import { h, s, show } from "../dom.js";
import { valueOf } from "../cells.js";
import { cellCount } from "./watch-layout.js";
import { cellName, cellText } from "./watch-names.js";

const LARGE = 2600; /* cells: more are drawn as a strip */
const GUTTER = 38; /* for the number of the first cell of a row */
const ZOOMS = [1, 1.5, 2, 3];
const SIGNS = { hit: "✓", miss: "✗", fresh: "+" };
const BINS = 256;
const DIGIT_SIZE = 13; /* pixels: smaller cells have no digits */

const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);

/* ---- the places of cells */

/* Cells in a row, and their size in pixels, for a section of a picture that is `width` pixels wide. */
function measure(section, width) {
    const room = width - GUTTER;
    const choose = (counts, smallest) => counts.find((count) => room / count >= smallest) ?? counts.at(-1);
    const digits = Math.ceil(section.bits / 4);
    switch (section.unit) {
    case "bit": return fit(choose([64, 32, 16], 18), 1);
    case "counter": return fit(choose([32, 16, 8], 22), 1);
    case "column": return fit(Math.min(section.group, choose([64, 32, 16], 18)), 1);
    default: return fit(choose([32, 16, 8, 4, 2, 1], 9 * digits + 16), 0.75 * digits + 1);
    }
    function fit(columns, aspect) {
        const height = Math.min(28, room / columns / aspect);
        return {
            columns, cellWidth: Math.min(room / columns, height * aspect),
            cellHeight: Math.max(height, section.bits > 4 ? 24 : 0),
        };
    }
}

/* Where cell `index` is: x and y in cells, and the number of gaps above it. */
function placeIn(section, columns) {
    if (section.unit === "column") {
        /* Slots side by side; one column of the table below the other. */
        const slots = section.group, depth = section.count / slots;
        return (index) => {
            const slot = index % slots, part = Math.floor(slot / columns);
            return { x: slot % columns, y: part * depth + Math.floor(index / slots), gaps: part };
        };
    }
    const hasGaps = section.group > columns;
    return (index) => ({
        x: index % columns, y: Math.floor(index / columns), gaps: hasGaps ? Math.floor(index / section.group) : 0,
    });
}

/* ---- one section */

function cellElement(view, index) {
    const { section, table, place, size } = view;
    const bit = section.first + index * section.bits;
    const value = valueOf(table, { bit, bits: section.bits });
    const { x, y, gaps } = place(index);
    const left = GUTTER + x * size.cellWidth, top = y * size.cellHeight + gaps * size.cellHeight * 0.4;
    const isWide = size.cellHeight >= DIGIT_SIZE && size.cellWidth >= DIGIT_SIZE;
    return s("g", {
        class: value === 0n ? "cell" : "cell on", "data-bit": bit, "data-index": index,
        transform: `translate(${left.toFixed(2)} ${top.toFixed(2)})`,
    },
    s("rect", { x: 1, y: 1, width: size.cellWidth - 2, height: size.cellHeight - 2, rx: 2 }),
    isWide && s("text", { x: size.cellWidth / 2, y: size.cellHeight / 2 }, cellText(section, value)));
}

function rowLabels(view) {
    const { section, place, size } = view;
    const labels = [];
    for (let index = 0; index < section.count; index++) {
        const { x, y, gaps } = place(index);
        if (x !== 0) continue;
        labels.push(s("text", {
            class: "row-label", x: GUTTER - 8, y: (y + 0.5) * size.cellHeight + gaps * size.cellHeight * 0.4,
        }, section.unit === "column" ? `c${Math.floor(index / section.group)}` : (section.from ?? 0) + index));
    }
    return labels;
}

function sectionView(section, table, width, zoom) {
    const { columns, cellWidth, cellHeight } = measure(section, width);
    const size = { cellWidth: cellWidth * zoom, cellHeight: cellHeight * zoom };
    const view = { section, table, columns, size, place: placeIn(section, columns) };
    const last = view.place(section.count - 1);
    const bottom = (last.y + 1) * size.cellHeight + last.gaps * size.cellHeight * 0.4;
    const right = GUTTER + Math.min(columns, section.count) * size.cellWidth;
    view.svg = s("svg", {
        width: right, height: bottom, viewBox: `0 0 ${right} ${bottom}`, "aria-hidden": "true",
        "font-size": Math.min(14, 0.55 * size.cellHeight),
    },
    rowLabels(view), Array.from({ length: section.count }, (_, index) => cellElement(view, index)));
    return view;
}

/* ---- the strip of a large table */

const ONES = Uint8Array.from({ length: 256 }, (_, byte) => sum([...byte.toString(2)].map(Number)));
const onesIn = (bytes) => bytes.reduce((total, byte) => total + ONES[byte], 0);

/* The table in equal parts, each as dark as it is full. */
function strip(table) {
    const edge = (i) => Math.floor((i * table.length) / BINS);
    const bins = Array.from({ length: BINS }, (_, i) => table.subarray(edge(i), Math.max(edge(i) + 1, edge(i + 1))));
    const marks = s("g", {});
    const fill = (bytes) => (onesIn(bytes) / (8 * bytes.length)).toFixed(3);
    const svg = s("svg", {
        viewBox: `0 0 ${BINS * 4} 76`, class: "strip", "aria-hidden": "true", preserveAspectRatio: "none",
    },
    bins.map((bytes, i) => s("rect", {
        class: "bin", x: 4 * i, y: 0, width: 4.2, height: 56, "fill-opacity": fill(bytes),
    })), marks);
    return { svg, marks, xOf: (bit) => (BINS * 4 * bit) / (8 * table.length) };
}

/* The neighbours of a cell, enlarged. */
function enlargement(watched, place, t, mark) {
    const { section, index } = place, { table } = watched.layout;
    const reach = section.bits === 1 ? 7 : section.bits === 4 ? 5 : 2;
    const from = Math.max(0, index - reach), to = Math.min(section.count, index + reach + 1);
    const cells = Array.from({ length: to - from }, (_, i) => {
        const bit = section.first + (from + i) * section.bits, value = valueOf(table, { bit, bits: section.bits });
        const classes = ["near", value !== 0n && "on", from + i === index && mark].filter(Boolean);
        return h("span", { class: classes.join(" ") }, cellText(section, value));
    });
    const name = [cellName(watched, place, t), SIGNS[mark]].filter(Boolean).join(" ");
    return h("li", {}, h("span", { class: "near-name" }, name), h("span", { class: "nears" }, cells));
}

/* ---- the picture */

export class Picture {
    constructor({ watched, t, onCell }) {
        Object.assign(this, { watched, t, onCell, zoom: 0, marks: new Map(), lit: [], cursor: null });
        this.isLarge = watched.layout.sections.length === 0 || cellCount(watched.layout) > LARGE;
        this.body = h("div", { class: "picture-body" });
        this.frame = h("div", {
            class: "frame", id: "watch-table", role: "group", tabindex: "0", "aria-label": this.label(),
            onpointermove: (event) => this.point(event.target), onpointerleave: () => this.point(null),
            onkeydown: (event) => this.press(event), onblur: () => this.moveTo(null),
        }, this.body);
        this.element = h("div", { class: "picture" }, this.isLarge ? null : this.zoomButtons(), this.frame);
        this.observer = new ResizeObserver(([entry]) => this.resize(Math.floor(entry.contentRect.width)));
        this.observer.observe(this.frame);
    }

    label() {
        const { watched, t } = this, { kind, table, sections } = watched.layout;
        if (this.isLarge) return t("labelLarge", kind, 8 * table.length, onesIn(table));
        const names = sections.map((section) => t("sectionName", section, watched)).join(t("comma"));
        return t("labelSmall", kind, names, watched.info.fill);
    }

    zoomButtons() {
        const zoomBy = (step) => {
            this.zoom = Math.min(ZOOMS.length - 1, Math.max(0, this.zoom + step));
            this.draw();
        };
        const button = (id, step, sign, name) => h("button", {
            type: "button", class: "small", id, "aria-label": name, title: name, onclick: () => zoomBy(step),
        }, sign);
        return h("div", { class: "zoom" },
            button("watch-zoom-out", -1, "−", this.t("zoomOut")), button("watch-zoom-in", 1, "+", this.t("zoomIn")));
    }

    resize(width) {
        if (width === this.width || width === 0) return;
        this.width = width;
        this.draw();
    }

    draw() {
        this.elements = new Map();
        if (this.isLarge) this.drawLarge();
        else this.drawSmall();
        this.mark(this.marks);
    }

    drawSmall() {
        const { watched, t } = this, { sections, table } = watched.layout;
        this.views = sections.filter((section) => section.unit !== "stash" || isUsed(section, table))
            .map((section) => sectionView(section, table, this.width, ZOOMS[this.zoom]));
        show(this.body, this.views.map((view) => [
            h("p", { class: "section-name" }, t("sectionName", view.section, watched)), view.svg,
        ]));
        for (const view of this.views) {
            for (const element of view.svg.querySelectorAll(".cell")) {
                this.elements.set(Number(element.dataset.bit), { element, view });
            }
        }
    }

    drawLarge() {
        const { table, sections } = this.watched.layout;
        this.strip = strip(table);
        this.near = h("ul", { class: "nears-list" });
        const isEnlarged = sections.length > 0 && sections[0].unit !== "column";
        const name = h("p", { class: "section-name" },
            this.t("stripName", 8 * table.length), " ", isEnlarged && this.t("stripEnlarged"));
        show(this.body, name, this.strip.svg, this.near);
    }

    /* ---- marks */

    mark(marks) {
        this.marks = marks;
        if (this.width === undefined) return;
        if (this.isLarge) {
            this.markStrip();
            return;
        }
        for (const [bit, { element }] of this.elements) {
            const mark = marks.get(bit);
            for (const name of ["hit", "miss", "read", "fresh"]) element.classList.toggle(name, mark === name);
            element.querySelector(".sign")?.remove();
            if (SIGNS[mark] !== undefined) element.append(s("text", { class: "sign", x: 6, y: 7 }, SIGNS[mark]));
        }
        this.light(this.lit);
    }

    markStrip() {
        const { watched, t } = this, bits = [...this.marks];
        show(this.strip.marks, bits.map(([bit, mark]) => {
            const x = this.strip.xOf(bit).toFixed(1);
            return s("path", { class: `tick ${mark}`, d: `M${x} 56l-7 16h14z` });
        }));
        /* The bits of parities are in the explanation. */
        const isNear = (place) => place !== undefined && place.section.unit !== "column";
        show(this.near, bits.map(([bit, mark]) => ({ place: watched.placeOf(bit), mark }))
            .filter(({ place }) => isNear(place)).map(({ place, mark }) => enlargement(watched, place, t, mark)));
    }

    light(bits) {
        this.lit = bits;
        if (this.isLarge || this.width === undefined) return;
        const wanted = new Set(bits);
        this.body.classList.toggle("lighting", bits.length > 0);
        for (const [bit, { element }] of this.elements) element.classList.toggle("lit", wanted.has(bit));
    }

    /* ---- pointing */

    cellOf(element) {
        const { view } = this.elements.get(Number(element.dataset.bit));
        return { bit: Number(element.dataset.bit), section: view.section, index: Number(element.dataset.index) };
    }
    point(target) {
        if (this.isLarge) return;
        const element = target?.closest(".cell") ?? null;
        if (element === this.pointed) return;
        this.pointed = element;
        this.onCell(element === null ? null : this.cellOf(element), false);
    }

    press(event) {
        if (this.isLarge) return;
        const bits = [...this.elements.keys()], at = bits.indexOf(this.cursor);
        const view = this.elements.get(this.cursor ?? bits[0]).view;
        const target = {
            ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + view.columns, ArrowUp: at - view.columns,
            Home: 0, End: bits.length - 1,
        }[event.key];
        if (target === undefined) return;
        event.preventDefault();
        this.moveTo(bits[Math.min(bits.length - 1, Math.max(0, target))]);
    }
    moveTo(bit) {
        if (bit === this.cursor) return;
        this.elements?.get(this.cursor)?.element.classList.remove("cursor");
        this.cursor = bit;
        const found = this.elements?.get(bit);
        found?.element.classList.add("cursor");
        found?.element.scrollIntoView({ block: "nearest", inline: "nearest" });
        this.onCell(found === undefined ? null : this.cellOf(found.element), true);
    }

    free() {
        this.observer.disconnect();
    }
}

const isUsed = ({ first, bits, count }, table) => table.subarray(first / 8, (first + bits * count) / 8).some(Boolean);
