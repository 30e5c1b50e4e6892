/* numbers.js - step 6: n, m, k and p with sliders, the curves, and a measurement */
import { lineChart } from "../../chart.js";
import { debounce, h, show } from "../../dom.js";
import { button, figure, inline, logSteps, range, row, slider } from "./tools.js";

const QUERIES = 10000;
const START_KEYS = 1000, START_RATE = 0.01;
const KEYS = logSteps(100, 100000, 91), BITS = logSteps(500, 2000000, 181), HASHES = range(1, 16);
const RATES = logSteps(1, 5000, 80).map((unit) => unit / 10000).reverse(); /* 50 % to 0.01 % */
const ABSENT_FROM = 2 ** 40;
const LOWEST = 1e-6; /* of the charts */

const shapeOf = ({ n, m, k }) => ({ kind: "bloom", bits: m, hashes: k, capacity: n });
const integers = (from, count) => BigInt64Array.from({ length: count }, (_, i) => BigInt(from + i));

/* m and k of the textbook. */
function classic(lab, n, fpr) {
    const { classicBits, classicHashes } = lab.tamis.plan({ n, fpr });
    return { n, m: classicBits, k: Math.min(classicHashes, HASHES.at(-1)) };
}

/* Fills a filter and looks up absent keys. */
function measure(lab, now, seed) {
    const filter = lab.tamis.Filter.create({ ...shapeOf(now), seed });
    filter.addMany(integers(0, now.n));
    const wrong = filter.hasMany(integers(ABSENT_FROM, QUERIES)).reduce((sum, one) => sum + one, 0);
    const { fill } = filter.info();
    filter.free();
    return { wrong, fill };
}

class NumbersFigure {
    constructor(lab, body, say) {
        Object.assign(this, { lab, t: lab.t, format: lab.format, body, say });
        this.now = classic(lab, START_KEYS, START_RATE);
        this.seed = 0;
        this.facts = h("dl", { class: "facts", id: "learn-numbers-facts" });
        this.charts = h("div", { class: "charts" });
        this.sliders = this.makeSliders();
        this.drawChartsSoon = debounce(() => show(this.charts, this.byKeys(), this.byHashes()), 60);
        this.measureSoon = debounce(() => body.isConnected && this.measure(), 250);
        body.append(h("div", { class: "sliders" }, Object.values(this.sliders)), this.facts,
            row(button("numbers-seed", this.t("seed"), () => this.measure(this.seed + 1))), this.charts);
        this.change({});
    }

    makeSliders() {
        const { t, format, now } = this;
        return {
            n: slider("numbers-n", t("n"), KEYS, now.n, format.count, (n) => this.change({ n })),
            m: slider("numbers-m", t("m"), BITS, now.m, format.count, (m) => this.change({ m })),
            k: slider("numbers-k", t("k"), HASHES, now.k, String, (k) => this.change({ k })),
            p: slider("numbers-p", t("p"), RATES, START_RATE, format.rate, (p) => {
                this.change(classic(this.lab, this.now.n, p));
            }),
        };
    }

    change(changes) {
        this.now = { ...this.now, ...changes };
        for (const name of ["n", "m", "k"]) this.sliders[name].set(this.now[name]);
        this.sliders.p.set(this.expected());
        this.drawFacts();
        this.drawChartsSoon();
        this.measureSoon();
    }

    /* The expected rate of the filter, or of one with other numbers. */
    expected(changes = {}) {
        return this.lab.tamis.expectedFpr(shapeOf({ ...this.now, ...changes }), changes.n ?? this.now.n);
    }
    fillAt(k) {
        return 1 - Math.exp((-k * this.now.n) / this.now.m);
    }

    measure(seed = this.seed) {
        const { t, format } = this, { n, m, k } = this.now;
        this.seed = seed;
        const { wrong, fill } = measure(this.lab, this.now, seed);
        this.drawFacts({ measured: format.rate(wrong / QUERIES), measuredFill: format.rate(fill) });
        this.say(t("report", format.count(n), format.count(m), k, format.rate(this.expected()),
            format.rate(wrong / QUERIES), format.count(wrong)));
    }

    drawFacts({ measured = "…", measuredFill = "…" } = {}) {
        const { t, format, facts } = this, { n, m, k } = this.now;
        const fact = (name, formula, value) => h("div", {}, h("dt", {}, t(name)),
            h("dd", { id: `learn-numbers-${name}` }, formula !== "" && h("small", {}, inline(formula)), value));
        show(facts,
            fact("bitsPerKey", "m / n =", format.bits(m / n)),
            fact("bestK", "(m / n) ln 2 =", format.bits((m / n) * Math.LN2)),
            fact("fill", `1 − e^(−${k}·${format.count(n)} / ${format.count(m)}) =`, format.rate(this.fillAt(k))),
            fact("rate", `${this.fillAt(k).toFixed(3)}^(${k}) ≈`, format.rate(this.expected())),
            fact("measuredFill", "", measuredFill), fact("measured", "", measured));
    }

    chart(title, label, x, series, at) {
        return lineChart({
            title, height: 240, x, series,
            marks: [{ x: at, y: Math.max(LOWEST, this.expected()), label: this.t("now") }],
            y: { label, log: true, min: LOWEST, max: 1, format: this.format.rate },
        });
    }
    byKeys() {
        const { t, now, format } = this;
        const points = range(1, 60).map((i) => Math.round((i * now.n) / 20)).map((n) => [n, this.expected({ n })]);
        return this.chart(t("rateByKeys"), t("rate"), { label: t("keys"), format: format.count },
            [{ name: t("rate"), colour: "var(--kind-bloom)", points }], now.n);
    }
    byHashes() {
        const { t, now } = this, fills = HASHES.map((k) => [k, this.fillAt(k)]);
        return this.chart(t("rateByHashes"), t("share"), { label: t("hashes"), format: String }, [
            { name: t("rate"), colour: "var(--kind-bloom)", points: HASHES.map((k) => [k, this.expected({ k })]) },
            { name: t("fill"), colour: "var(--kind-block)", dashed: true, points: fills },
        ], now.k);
    }
}

export function numbers(section, lab) {
    const build = (body, say) => new NumbersFigure(lab, body, say);
    section.append(...lab.prose("intro"), figure(lab, { id: "numbers", build, isHeavy: true }), ...lab.prose("outro"));
}
