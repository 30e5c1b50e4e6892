/* chart.js - line charts in SVG
 *
 *     lineChart({
 *         title: "False positive rate against the number of keys",
 *         x: { label: "keys", log: true, format: format.count },
 *         y: { label: "rate", log: true, format: format.rate, min: 1e-6 },
 *         series: [{ name: "bloom", colour: "var(--kind-bloom)", dashed: false, points: [[x, y], ...] }],
 *         marks: [{ x: 1e6, label: "capacity" }, { y: 0.01, label: "promise" }],
 *     })
 *
 * returns a figure.  The points of a series ascend in x.  Pointer, arrow keys, Home and End move a line along x; the
 * legend shows the values there.  `min` and `max` of an axis are optional, as are `height`, `dashed` and `marks`.
 * Series differ by their colour and by the shape of their markers.  The data follows as a table. */
import { h, s, show } from "./dom.js";

const WORDS = {
    en: {
        table: "The data as a table",
        summary: (title, x, names) => `${title}. Lines: ${names}. The arrow keys move along ${x}.`,
        at: (label, value) => `${label}: ${value}`,
        hint: "Point at the chart, or use the arrow keys, to read values.",
    },
    zh: {
        table: "以表格查看数据",
        summary: (title, x, names) => `${title}。曲线：${names}。用方向键沿“${x}”移动。`,
        at: (label, value) => `${label}：${value}`,
        hint: "把指针移到图上，或用方向键，读取数值。",
    },
};

const MARGIN = { top: 24, right: 16, bottom: 40, left: 58 };
const TABLE_ROWS = 40;

const words = () => WORDS[document.documentElement.lang.startsWith("zh") ? "zh" : "en"];

/* ---- axes */

function extent(axis, values) {
    const shown = values.filter((value) => Number.isFinite(value) && (!axis.log || value > 0));
    let low = axis.min ?? Math.min(...shown), high = axis.max ?? Math.max(...shown);
    if (shown.length === 0) [low, high] = [1, 10];
    if (low === high) [low, high] = axis.log ? [low / 2, high * 2] : [low - 1, high + 1];
    return [low, high];
}

function logTicks(low, high, most) {
    const from = Math.ceil(Math.log10(low) - 1e-9), to = Math.floor(Math.log10(high) + 1e-9);
    const step = Math.max(1, Math.ceil((to - from + 1) / most));
    const ticks = [];
    for (let power = from; power <= to; power += step) ticks.push(10 ** power);
    return ticks.length > 1 ? ticks : linearTicks(low, high, most);
}

function linearTicks(low, high, most) {
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((one) => one * power >= rough) * power;
    const ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) {
        ticks.push(Number((i * step).toPrecision(12)));
    }
    return ticks;
}

/* The place of a value on the axis, in pixels. */
function scale(axis, [low, high], from, to) {
    const f = axis.log ? Math.log : (value) => value;
    return (value) => from + ((to - from) * (f(value) - f(low))) / (f(high) - f(low));
}

/* ---- series */

const SHAPES = [
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0", "M-3.2-3.2h6.4v6.4h-6.4z", "M0-4.2L4 3H-4z",
        "M0-4.6L4.6 0L0 4.6L-4.6 0z",
    "M0 4.2L4-3H-4z", "M-4-1.4h2.6V-4h2.8v2.6H4v2.8H1.4V4h-2.8V1.4H-4z", "M-4.5-1.6h9v3.2h-9z", "M-1.6-4.5h3.2v9h-3.2z",
];
const shapeOf = (index) => SHAPES[index % SHAPES.length];
const dashOf = (one) => (one.dashed ? "6 4" : null);

function linePath(points, x, y) {
    let path = "", pen = "M";
    for (const [px, py] of points) {
        if (!Number.isFinite(py)) {
            pen = "M";
            continue;
        }
        path += `${pen}${x(px).toFixed(1)} ${y(py).toFixed(1)}`;
        pen = "L";
    }
    return path;
}

const isDrawn = (point) => point !== undefined && point !== null && Number.isFinite(point[1]);

/* The point nearest to a value of x, in the scale of the axis; null outside of the series. */
function nearest(points, value, place) {
    if (points.length === 0 || value < points[0][0] || value > points.at(-1)[0]) return null;
    return points.reduce((best, point) =>
        (Math.abs(place(point[0]) - place(value)) < Math.abs(place(best[0]) - place(value)) ? point : best));
}

/* Every `step`-th point bears the shape of its series; the series do not all bear it at the same x. */
function markers(one, index, x, y) {
    const step = Math.max(1, Math.ceil(one.points.length / 6));
    return one.points
        .filter(([, py], i) => i % step === index % step && Number.isFinite(py))
        .map(([px, py]) => s("path", {
            d: shapeOf(index), transform: `translate(${x(px).toFixed(1)} ${y(py).toFixed(1)})`, fill: one.colour,
        }));
}

/* ---- drawing */

function drawAxes(options, ranges, place, width, height) {
    const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
    const ticks = (axis, [low, high], most) => (axis.log ? logTicks(low, high, most) : linearTicks(low, high, most));
    const horizontal = ticks(options.y, ranges.y, 6).map((value) => [
        s("line", { class: "grid", x1: MARGIN.left, x2: right, y1: place.y(value), y2: place.y(value) }),
        s("text", { x: MARGIN.left - 8, y: place.y(value) + 4, "text-anchor": "end" }, options.y.format(value)),
    ]);
    const vertical = ticks(options.x, ranges.x, Math.max(3, Math.floor(width / 90))).map((value) => [
        s("line", { class: "axis", x1: place.x(value), x2: place.x(value), y1: bottom, y2: bottom + 5 }),
        s("text", { x: place.x(value), y: bottom + 18, "text-anchor": "middle" }, options.x.format(value)),
    ]);
    return [
        horizontal, vertical,
        s("line", { class: "axis", x1: MARGIN.left, x2: right, y1: bottom, y2: bottom }),
        s("text", { x: right, y: height - 4, "text-anchor": "end" }, `${options.x.label} →`),
        s("text", { x: 0, y: 10 }, `↑ ${options.y.label}`),
    ];
}

/* On the side of the point where there is room. */
function markLabel(x, y, isLeft, label) {
    const anchor = isLeft ? "end" : "start";
    return s("text", { class: "reference", x: isLeft ? x - 8 : x + 8, y, "text-anchor": anchor }, label);
}

function drawMark(mark, place, width, height) {
    const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
    const line = (x1, x2, y1, y2) => s("line", { class: "reference", x1, x2, y1, y2 });
    if (mark.x !== undefined && mark.y !== undefined) {
        const x = place.x(mark.x), y = place.y(mark.y);
        return [
            s("circle", { class: "reference", cx: x, cy: y, r: 6, fill: "none" }),
            markLabel(x, y - 8, x > width / 2, mark.label),
        ];
    }
    if (mark.x !== undefined) {
        const x = place.x(mark.x);
        return [line(x, x, MARGIN.top, bottom), markLabel(x, MARGIN.top + 10, x > width * 0.7, mark.label)];
    }
    const y = place.y(mark.y);
    return [
        line(MARGIN.left, right, y, y),
        s("text", { class: "reference", x: right, y: y - 5, "text-anchor": "end" }, mark.label),
    ];
}

function drawSeries(one, index, place, clip) {
    return s("g", { "clip-path": clip }, [
        s("path", {
            class: "line", d: linePath(one.points, place.x, place.y),
            stroke: one.colour, "stroke-dasharray": dashOf(one),
        }),
        markers(one, index, place.x, place.y),
    ]);
}

function legendItem(one, index) {
    return h("li", {},
        s("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" },
            s("path", { d: "M0 6H28", stroke: one.colour, "stroke-width": 2, "stroke-dasharray": dashOf(one) }),
            s("path", { d: shapeOf(index), transform: "translate(14 6)", fill: one.colour })),
        h("span", {}, one.name), h("span", { class: "value" }));
}

function dataTable(options, xs) {
    const step = Math.ceil(xs.length / TABLE_ROWS);
    const rows = xs.filter((_, i) => i % step === 0);
    const cell = (one, value) => {
        const point = one.points.find(([px]) => px === value);
        return h("td", { class: "number" }, isDrawn(point) ? options.y.format(point[1]) : "–");
    };
    return h("details", {},
        h("summary", {}, words().table),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.title },
            h("table", {},
                h("thead", {}, h("tr", {},
                    h("th", { scope: "col" }, options.x.label),
                    options.series.map((one) => h("th", { scope: "col", class: "number" }, one.name)))),
                h("tbody", {}, rows.map((value) => h("tr", {},
                    h("th", { scope: "row" }, options.x.format(value)),
                    options.series.map((one) => cell(one, value))))))));
}

/* ---- the chart */

class LineChart {
    constructor(options) {
        this.options = { height: 300, marks: [], ...options };
        const { series, marks, x, y } = this.options;
        this.xs = [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
        this.ranges = {
            x: extent(x, [...this.xs, ...marks.map((mark) => mark.x)]),
            y: extent(y, [...series.flatMap((one) => one.points.map((point) => point[1])),
                ...marks.map((mark) => mark.y)]),
        };
        this.clip = `clip-${++LineChart.count}`;
        this.build();
        this.draw(640);
    }

    build() {
        const { title, series, x } = this.options;
        this.svg = s("svg", { "aria-hidden": "true" });
        this.items = series.map(legendItem);
        this.place = h("li", { class: "place" });
        this.plot = h("div", {
            class: "plot", tabindex: "0", role: "slider", "aria-valuemin": 0,
            "aria-valuemax": Math.max(0, this.xs.length - 1),
            "aria-label": words().summary(title, x.label, series.map((one) => one.name).join(", ")),
            onpointermove: (event) => this.moveTo(this.indexAt(event.clientX)),
            onpointerdown: (event) => this.moveTo(this.indexAt(event.clientX)),
            onpointerleave: () => this.plot.matches(":focus-visible") || this.moveTo(null),
            onblur: () => this.moveTo(null),
            onkeydown: (event) => this.press(event),
        }, this.svg);
        this.element = h("figure", { class: "chart" },
            h("figcaption", {}, title), this.plot,
            h("ul", { class: "legend" }, this.place, this.items), dataTable(this.options, this.xs));
        this.moveTo(null);
        new ResizeObserver(([entry]) => this.draw(Math.max(240, entry.contentRect.width))).observe(this.plot);
    }

    draw(width) {
        if (width === this.width) return;
        this.width = width;
        const { options, ranges } = this, { height } = options;
        const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
        this.at = {
            x: scale(options.x, ranges.x, MARGIN.left, right),
            y: scale(options.y, ranges.y, bottom, MARGIN.top),
        };
        this.cross = s("g", {});
        this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
        this.svg.setAttribute("height", height);
        show(this.svg,
            s("clipPath", { id: this.clip },
                s("rect", { x: MARGIN.left - 5, y: MARGIN.top - 5, width: right - MARGIN.left + 10,
                    height: bottom - MARGIN.top + 10 })),
            drawAxes(options, ranges, this.at, width, height),
            options.series.map((one, i) => drawSeries(one, i, this.at, `url(#${this.clip})`)),
            options.marks.flatMap((mark) => drawMark(mark, this.at, width, height)),
            this.cross);
    }

    indexAt(clientX) {
        const box = this.svg.getBoundingClientRect();
        const pixel = ((clientX - box.left) * this.width) / box.width;
        const distance = (value) => Math.abs(this.at.x(value) - pixel);
        return this.xs.reduce((best, value, i) => (distance(value) < distance(this.xs[best]) ? i : best), 0);
    }

    press(event) {
        const last = this.xs.length - 1, now = this.index ?? -1, before = now < 0 ? last : now - 1;
        const target = {
            ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: before, ArrowDown: before,
            Home: 0, End: last, PageUp: now + 10, PageDown: now - 10, Escape: null,
        }[event.key];
        if (target === undefined) return;
        event.preventDefault();
        this.moveTo(target === null ? null : Math.min(last, Math.max(0, target)));
    }

    /* Shows the values at one of the values of x; null: none. */
    moveTo(index) {
        const { options } = this;
        this.index = index;
        const value = index === null ? null : this.xs[index];
        const points = options.series.map((one) => (value === null ? null : nearest(one.points, value, this.at.x)));
        const read = (point) => (isDrawn(point) ? options.y.format(point[1]) : "");
        this.items.forEach((item, i) => {
            item.lastChild.textContent = read(points[i]);
        });
        const place = value === null ? "" : words().at(options.x.label, options.x.format(value));
        this.place.textContent = place || words().hint;
        this.plot.setAttribute("aria-valuenow", index ?? 0);
        const readings = options.series.map((one, i) => isDrawn(points[i]) && `${one.name} ${read(points[i])}`);
        this.plot.setAttribute("aria-valuetext", [place, ...readings].filter(Boolean).join(", "));
        if (this.cross !== undefined) this.drawCross(value, points);
    }

    drawCross(value, points) {
        if (value === null) return show(this.cross);
        const x = this.at.x(value), [low, high] = this.ranges.y;
        return show(this.cross,
            s("line", { class: "cross", x1: x, x2: x, y1: MARGIN.top, y2: this.options.height - MARGIN.bottom }),
            points.map((point, i) => isDrawn(point) && point[1] >= low && point[1] <= high && s("circle", {
                cx: this.at.x(point[0]), cy: this.at.y(point[1]), r: 4, fill: this.options.series[i].colour,
            })));
    }
}
LineChart.count = 0;

/** A figure with the lines; the head of this file describes the options. */
export const lineChart = (options) => new LineChart(options).element;
