/* peeling.wave.js - the peeling of xor and fuse filters as pictures: place by round */
import { h } from "../../dom.js";
import { button, colours, isStill, onTheme, range, row, slider } from "./tools.js";
import { peel, sharesOf, slotsOf } from "./peeling.peel.js";

const BINS = 420, FRAME_MS = 60;

const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
const blend = (from, to, share) => from.map((one, i) => one + (to[i] - one) * share);

/* Rows from the top: the state before the first round, and after each up to `round`. */
function paint(canvas, shares, round) {
    const context = canvas.getContext("2d"), pixels = context.createImageData(canvas.width, canvas.height);
    const [free, used, mark] = colours("cell", "cell-on", "mark").map(channels);
    for (let y = 0; y < Math.min(round + 1, shares.length); y++) {
        for (let x = 0; x < BINS; x++) {
            const freed = Math.min(1, 6 * shares[y].freed[x] * (y > 0));
            const colour = blend(blend(free, used, shares[y].used[x]), mark, 0.75 * freed);
            pixels.data.set([...colour, 255], 4 * (y * BINS + x));
        }
    }
    context.putImageData(pixels, 0, 0);
}

/** Peels the filters, {kind, filter, stored}, and lets the reader step through the rounds. */
export class WaveFigure {
    constructor(lab, filters, body, say) {
        Object.assign(this, { lab, t: lab.t, body, say, timer: 0, keys: filters[0].stored.length });
        this.peeled = filters.map(({ kind, filter, stored }) => {
            const result = peel(stored.map((key) => slotsOf(filter.cells(key))));
            return { kind, ...result, shares: sharesOf(result, BINS) };
        });
        this.rounds = Math.max(...this.peeled.map((one) => one.rounds));
        this.round = this.rounds;
        this.peeled.forEach((one) => (one.canvas = this.canvasFor(one)));
        body.append(this.controls(), ...this.peeled.map((one) => this.wave(one)));
        onTheme(body, () => this.draw());
        this.draw();
    }

    canvasFor({ kind, slots, rounds }) {
        const { t } = this;
        return h("canvas", {
            width: BINS, height: this.rounds + 1, role: "img", id: `learn-peeling-${kind}`,
            "aria-label": `${t("label", t(kind), this.lab.format.count(slots), rounds)} ` +
                t(kind === "xor" ? "labelXor" : "labelFuse"),
        });
    }

    wave({ kind, slots, rounds, canvas }) {
        return h("div", { class: "wave" }, h("h3", {}, this.t(kind)), canvas,
            h("p", { class: "note" }, this.t("axis", this.lab.format.count(slots), rounds)));
    }

    controls() {
        const { t, rounds } = this, stopAndGo = (to) => {
            this.stop();
            this.goTo(to);
        };
        this.play = button("peeling-play", t("play"), () => (this.timer === 0 ? this.start() : this.stop()), "primary");
        this.position = slider("peeling-round", t("round"), range(0, rounds), rounds, String, stopAndGo);
        return row(this.play,
            button("peeling-step", t("step"), () => stopAndGo(this.round >= rounds ? 0 : this.round + 1)),
            button("peeling-all", t("all"), () => stopAndGo(rounds)), this.position);
    }

    start() {
        if (isStill()) return this.goTo(this.rounds);
        if (this.round >= this.rounds) this.goTo(0);
        this.play.textContent = this.t("pause");
        this.timer = setInterval(() => {
            if (!this.body.isConnected || this.round >= this.rounds) this.stop();
            else this.goTo(this.round + 1);
        }, FRAME_MS);
        return undefined;
    }

    stop() {
        clearInterval(this.timer);
        this.timer = 0;
        this.play.textContent = this.t("play");
    }

    goTo(round) {
        this.round = round;
        this.position.set(round);
        this.draw();
    }

    draw() {
        const { t, round } = this, { count } = this.lab.format;
        const left = ({ kind, leftAfter }) =>
            t("state", t(kind), count(leftAfter[Math.min(round, leftAfter.length - 1)]), count(this.keys));
        this.peeled.forEach(({ shares, canvas }) => paint(canvas, shares, round));
        this.say(t("report", round, this.peeled.map(left)));
    }
}
