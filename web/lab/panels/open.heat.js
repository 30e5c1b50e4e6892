/* open.heat.js - a picture of a filter's table: each square is a region, shaded by how much of it is in use
 *
 * Use is the share of bits that are set, or of counters and slots that are not 0.  The table is that of the .tamis
 * file, whose layout is in doc/format.md. */
import { h, show } from "../dom.js";

const HEADER_BYTES = 192;
const REGIONS_MAX = 2048;
const COLUMNS = 64;
const COUNTING = 3, CUCKOO = 4, XOR = 5, RIBBON = 7, GROWING = 8;
const COUNTER_BITS = 4;
const STASH_BYTES = 64;
/* Directories at the head of a table: an entry for each stage or shard. */
const STAGE_BYTES = 128, SHARD_BYTES = 64;
/* Rows of the table that stands for the picture. */
const SUMMARY_ROWS = 16;

/* ---- regions */

const bitAt = (bytes, bit) => (bytes[bit >> 3] >> (bit & 7)) & 1;

const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

/* The members of the header of a .tamis file that describe the table. */
function readHeader(file) {
    const view = new DataView(file.buffer, file.byteOffset, HEADER_BYTES);
    const u64 = (at) => Number(view.getBigUint64(at, true));
    return {
        kind: view.getUint16(16, true), tableBytes: u64(88), shape: [96, 104, 112].map(u64),
        isOwn: view.getUint32(164, true) === 0,
    };
}

/* Bytes before the cells. */
function headOfTable({ kind, shape, isOwn }) {
    if (!isOwn) return 0;
    if (kind === CUCKOO) return STASH_BYTES;
    if (kind === GROWING) return STAGE_BYTES * shape[2];
    return kind >= XOR && kind <= RIBBON ? SHARD_BYTES * 2 ** shape[0] : 0;
}

/* What the table consists of: `count` cells of `bits` bits. */
function cellsOf(file) {
    const header = readHeader(file), { kind, tableBytes, shape, isOwn } = header;
    const table = file.subarray(HEADER_BYTES + headOfTable(header), HEADER_BYTES + tableBytes);
    if (isOwn && kind === COUNTING) return { table, bits: COUNTER_BITS, count: 2 * table.length, unit: "counters" };
    if (isOwn && kind === CUCKOO) return { table, bits: shape[1], count: shape[0], unit: "slots" };
    return { table, bits: 1, count: 8 * table.length, unit: "bits" };
}

/* How many of the cells from `from` on are in use. */
function usedCells({ table, bits }, from, to) {
    let used = 0;
    if (bits === 1 && from % 8 === 0 && to % 8 === 0) {
        for (let i = from / 8; i < to / 8; i++) used += ONES[table[i]];
        return used;
    }
    for (let cell = from; cell < to; cell++) {
        const end = (cell + 1) * bits;
        for (let bit = cell * bits; bit < end; bit++) {
            if (bitAt(table, bit) === 0) continue;
            used++;
            break;
        }
    }
    return used;
}

/* The table in regions of equal size: { unit, count, perRegion, shares }. */
function regionsOf(file) {
    const cells = cellsOf(file), { count } = cells;
    const least = Math.max(1, Math.ceil(count / REGIONS_MAX));
    const perRegion = least < 8 ? 2 ** Math.ceil(Math.log2(least)) : 8 * Math.ceil(least / 8);
    const shares = new Float64Array(Math.ceil(count / perRegion));
    for (let i = 0; i < shares.length; i++) {
        const from = i * perRegion, to = Math.min(count, from + perRegion);
        shares[i] = usedCells(cells, from, to) / (to - from);
    }
    return { unit: cells.unit, count, perRegion, shares };
}

/* ---- the picture */

class HeatMap {
    constructor(regions, { t, format }) {
        Object.assign(this, { regions, t, format, index: null, isStretched: false });
        const { shares } = regions;
        this.columns = Math.min(COLUMNS, shares.length);
        this.rows = Math.ceil(shares.length / this.columns);
        this.low = shares.reduce((a, b) => Math.min(a, b), 1);
        this.high = shares.reduce((a, b) => Math.max(a, b), 0);
        this.mean = shares.reduce((a, b) => a + b, 0) / shares.length;
        this.build();
    }

    percent(share) {
        return `${(100 * share).toFixed(1)} %`;
    }
    range(index) {
        const { perRegion, count } = this.regions;
        return [index * perRegion, Math.min(count, (index + 1) * perRegion) - 1];
    }
    describe(index) {
        const { regions, t, format } = this, [from, to] = this.range(index);
        return t("region", format.count(index + 1), format.count(regions.shares.length), t("units")[regions.unit],
            format.count(from), format.count(to), this.percent(regions.shares[index]));
    }

    summarize() {
        const { regions, t } = this;
        return t("heatLabel", regions.shares.length, t("units")[regions.unit],
            ...[this.mean, this.low, this.high].map((share) => this.percent(share)));
    }

    build() {
        const { t, regions } = this;
        this.canvas = h("canvas", { "aria-hidden": "true" });
        this.reading = h("p", { class: "reading note" }, t("heatHint"));
        this.plot = h("div", {
            class: "map", tabindex: "0", role: "slider", "aria-label": this.summarize(),
            "aria-valuemin": 1, "aria-valuemax": regions.shares.length, "aria-valuenow": 1,
            "aria-valuetext": this.describe(0),
            onkeydown: (event) => this.press(event),
            onpointermove: (event) => this.moveTo(this.indexAt(event)),
            onpointerdown: (event) => this.moveTo(this.indexAt(event)),
            onblur: () => this.moveTo(null),
            onpointerleave: () => this.moveTo(null),
        }, this.canvas);
        this.ends = [h("span"), h("span")];
        this.element = h("figure", { class: "heat" },
            h("figcaption", {}, t("heat")), this.plot, this.reading,
            h("div", { class: "legend" }, this.ends[0], h("div", { class: "ramp", "aria-hidden": "true" }),
                this.ends[1], this.stretchBox()),
            this.summary());
        new ResizeObserver(() => this.draw()).observe(this.plot);
    }

    stretchBox() {
        return h("label", { class: "check" },
            h("input", {
                type: "checkbox",
                onchange: (event) => {
                    this.isStretched = event.target.checked;
                    this.draw();
                },
            }), this.t("stretch"));
    }

    summary() {
        const { t, format, regions: { shares, perRegion, unit } } = this;
        const step = Math.ceil(shares.length / SUMMARY_ROWS), rows = [];
        for (let at = 0; at < shares.length; at += step) {
            const some = shares.subarray(at, at + step), last = at + some.length - 1;
            rows.push([at * perRegion, this.range(last)[1], some.reduce((a, b) => a + b, 0) / some.length]);
        }
        return h("details", {}, h("summary", {}, t("asTable")),
            h("table", {},
                h("thead", {}, h("tr", {},
                    h("th", { scope: "col" }, t("units")[unit]),
                    h("th", { scope: "col", class: "number" }, t("inUse")))),
                h("tbody", {}, rows.map(([from, to, share]) => h("tr", {},
                    h("th", { scope: "row" }, `${format.count(from)} – ${format.count(to)}`),
                    h("td", { class: "number" }, this.percent(share)))))));
    }

    /* ---- drawing */

    draw() {
        const width = this.plot.clientWidth;
        if (width === 0) return;
        this.side = Math.min(28, width / this.columns);
        const ratio = devicePixelRatio, height = this.side * this.rows;
        Object.assign(this.canvas, { width: width * ratio, height: Math.ceil(height * ratio) });
        this.canvas.style.height = `${height}px`;
        const context = this.canvas.getContext("2d"), style = getComputedStyle(this.plot);
        context.scale(ratio, ratio);
        const colours = ["--cell", "--cell-on", "--mark"].map((name) => style.getPropertyValue(name).trim());
        const low = this.isStretched ? this.low : 0, span = (this.isStretched ? this.high : 1) - low || 1;
        this.regions.shares.forEach((share, i) => this.square(context, i, colours, (share - low) / span));
        if (this.index !== null) this.outline(context, colours[2]);
        this.ends[0].textContent = this.percent(low);
        this.ends[1].textContent = this.percent(low + span);
    }
    square(context, index, [empty, used], share) {
        const gap = this.side > 6 ? 1 : 0, size = this.side - gap;
        const x = (index % this.columns) * this.side, y = Math.floor(index / this.columns) * this.side;
        context.globalAlpha = 1;
        context.fillStyle = empty;
        context.fillRect(x, y, size, size);
        context.globalAlpha = share;
        context.fillStyle = used;
        context.fillRect(x, y, size, size);
    }
    outline(context, colour) {
        const x = (this.index % this.columns) * this.side, y = Math.floor(this.index / this.columns) * this.side;
        context.globalAlpha = 1;
        context.strokeStyle = colour;
        context.lineWidth = 2;
        context.strokeRect(x, y, this.side, this.side);
    }

    /* ---- reading */

    indexAt(event) {
        const box = this.canvas.getBoundingClientRect();
        const column = Math.floor((event.clientX - box.left) / this.side);
        const row = Math.floor((event.clientY - box.top) / this.side);
        const index = row * this.columns + column;
        return column < this.columns && row >= 0 && index < this.regions.shares.length ? index : null;
    }
    press(event) {
        const now = this.index ?? 0, last = this.regions.shares.length - 1;
        const target = {
            ArrowRight: this.index === null ? 0 : now + 1, ArrowLeft: now - 1,
            ArrowDown: now + this.columns, ArrowUp: now - this.columns, Home: 0, End: last,
        }[event.key];
        if (target === undefined) return;
        event.preventDefault();
        this.moveTo(Math.min(last, Math.max(0, target)));
    }
    moveTo(index) {
        if (index === this.index) return;
        this.index = index;
        show(this.reading, index === null ? this.t("heatHint") : this.describe(index));
        if (index !== null) {
            this.plot.setAttribute("aria-valuenow", index + 1);
            this.plot.setAttribute("aria-valuetext", this.describe(index));
        }
        this.draw();
    }
}

/** A figure of the table in the bytes of a .tamis file; `redraw()` after a change of the theme. */
export function heatMap(file, lab) {
    const regions = regionsOf(file);
    if (regions.count === 0) return { element: h("p", { class: "note" }, lab.t("emptyTable")), redraw: () => {} };
    const map = new HeatMap(regions, lab);
    return { element: map.element, redraw: () => map.draw() };
}
