/* race.js - the panel Race: builds and queries the same keys in every kind, and in two npm packages
 *
 * race-run.js measures, race-entrants.js has the filters, race-results.js shows what came out. */
import { h, show } from "../dom.js";
import { hasSimd } from "../../npm/load.js";
import { entrantsOf, KEY_FORMS, peers } from "./race-entrants.js";
import { asText, bars, MEASURES, nanoseconds, sampleNotes, table } from "./race-results.js";
import { PHASES, Race, Stopped } from "./race-run.js";
import * as text from "./race.text.js";

export { text };

const COUNTS = [10_000, 100_000, 1_000_000];
const RATES = [0.1, 0.01, 0.001, 0.0001];

/* The last race, so that its results survive a change of language. */
let last = null;

class Panel {
    constructor(root, lab) {
        Object.assign(this, { root, lab, t: lab.t, fields: {}, running: null });
        this.build();
        if (last !== null) this.showResults(last);
    }

    /* ---- the controls */

    build() {
        const { t } = this;
        const button = (name, properties, onclick) =>
            h("button", { type: "button", id: `race-${name}`, onclick, ...properties }, t(name));
        this.start = button("start", { class: "primary" }, () => this.run());
        this.stop = button("stop", { disabled: true }, () => this.running.stop());
        this.status = h("p", { id: "race-status", class: "status" }, t("ready"));
        this.lanes = h("ol", { id: "race-lanes", class: "bars lanes", hidden: true });
        this.results = h("div", { id: "race-results" });
        const names = peers().map((one) => one.name).join(t("and"));
        show(this.root,
            h("h1", {}, t("title")), h("p", { class: "lead" }, t("lead")),
            h("p", { id: "race-entrants" }, peers().length === 0 ? t("alone") : t("withPeers", names)),
            h("div", { class: "row" }, this.selects(), h("div", { class: "buttons" }, this.start, this.stop)),
            this.status, this.lanes, this.results, howItIsMeasured(t));
    }

    selects() {
        const { t } = this, { format } = this.lab, forms = Object.keys(KEY_FORMS);
        return [
            this.select("n", t("count"), COUNTS.map((n) => [n, format.count(n)]), 1_000_000),
            this.select("form", t("form"), forms.map((name) => [name, t(name)]), "numbered"),
            this.select("p", t("rate"), RATES.map((p) => [p, format.rate(p)]), 0.01),
        ];
    }
    select(name, label, options, otherwise) {
        const { state } = this.lab, chosen = state.get(name);
        const control = h("select", { id: `race-${name}`, onchange: () => state.set({ [name]: control.value }) },
            options.map(([key, caption]) => h("option", { value: key }, caption)));
        control.value = options.some(([key]) => String(key) === chosen) ? chosen : otherwise;
        this.fields[name] = control;
        return h("label", { class: "field" }, h("span", {}, label), control);
    }
    course() {
        const { n, p, form } = this.fields;
        return { n: Number(n.value), p: Number(p.value), form: form.value };
    }

    /* ---- while it runs */

    async run() {
        const entrants = entrantsOf(this.lab.tamis);
        const race = new Race(entrants, this.course(), (phase, tasks) => this.beginPhase(phase, tasks));
        const stopIfHidden = () => document.hidden && race.stop();
        this.running = race;
        last = null;
        this.setRunning(true);
        show(this.results);
        document.addEventListener("visibilitychange", stopIfHidden);
        try {
            const begun = performance.now(), results = await race.run();
            this.finish(race.course, results, (performance.now() - begun) / 1000);
        } catch (error) {
            this.giveUp(error);
        } finally {
            document.removeEventListener("visibilitychange", stopIfHidden);
            this.running = null;
            this.setRunning(false);
        }
    }

    setRunning(isRunning) {
        const { start, stop } = this, hadFocus = document.activeElement === (isRunning ? start : stop);
        start.disabled = isRunning;
        stop.disabled = !isRunning;
        for (const field of Object.values(this.fields)) field.disabled = isRunning;
        this.lanes.hidden = !isRunning;
        if (hadFocus) (isRunning ? stop : start).focus();
    }

    beginPhase(phase, tasks) {
        const { t, lab, lanes, root, running } = this, number = PHASES.indexOf(phase) + 1;
        const heading = number === 0 ? t("prepare") : t("phase", number, t(phase));
        this.status.textContent = heading;
        lab.announce(heading);
        const length = Math.max(...tasks.map((task) => task.total));
        const rows = tasks.map((task) => laneOf(task, length, t, lab.format));
        show(lanes, rows.map((row) => row.element));
        if (number === 1) lanes.scrollIntoView({ block: "nearest" });
        const draw = () => {
            /* The panel was left: nobody watches any more. */
            if (!root.isConnected) running.stop();
            if (this.running !== running || !lanes.contains(rows[0].element)) return;
            rows.forEach((row) => row.update());
            requestAnimationFrame(draw);
        };
        draw();
    }

    giveUp(error) {
        const { t } = this;
        if (error instanceof Stopped) {
            this.status.textContent = t(document.hidden ? "stoppedHidden" : "stopped");
            this.lab.announce(this.status.textContent);
        } else {
            this.status.textContent = t("stopped");
            show(this.results, h("p", { class: "error", role: "alert" }, t("failed", error.message)));
        }
    }

    /* ---- afterwards */

    finish(course, results, seconds) {
        last = { course, results, seconds, version: this.lab.tamis.version, measure: MEASURES[0] };
        this.showResults(last);
        this.lab.announce(this.t("finished", seconds.toFixed(1)));
    }

    showResults(race) {
        const { t } = this, { format } = this.lab;
        this.status.textContent = t("finished", race.seconds.toFixed(1));
        race.machine = t("machine", hasSimd(), navigator.userAgent);
        show(this.results,
            h("h2", {}, t("results")),
            h("p", {}, t("resultsOf", format.count(race.course.n), t(race.course.form), format.rate(race.course.p))),
            comparison(race, t, format),
            h("h3", {}, t("table")), table(race, t, format),
            sampleNotes(race, t, format).map((note) => h("p", { class: "note sample" }, `* ${note}`)),
            h("p", { class: "note", id: "race-machine" }, race.machine),
            copying(asText(race, t, format), t, this.lab.announce));
    }
}

export function mount(root, lab) {
    new Panel(root, lab);
}

/* ---- a lane: one entrant while the race runs */

function laneOf(task, length, t, format) {
    const bar = h("span", { class: "bar", style: `background: ${task.entrant?.colour ?? "var(--accent)"}` });
    const value = h("span", { class: "value" });
    const track = h("span", { class: "track", "aria-hidden": "true" }, bar);
    const element = h("li", {}, h("span", { class: "name" }, task.entrant?.name ?? ""), track, value);
    /* All lanes of a phase are as long as the longest: a sample does not fill its own. */
    const update = () => {
        bar.style.inlineSize = `${(100 * task.done) / length}%`;
        element.classList.toggle("done", task.isDone === true);
        track.classList.toggle("waiting", task.isWhole === true && !task.isDone);
        value.textContent = task.isDone ? t("perKey", nanoseconds(task.nanoseconds))
            : task.isWhole ? t("building") : t("progress", format.count(task.done), format.count(task.total));
    };
    return { element, update };
}

/* ---- the results */

function comparison(race, t, format) {
    const picture = h("div", { id: "race-bars" }), about = h("p", { class: "note", id: "race-about" });
    const descriptions = {
        bits: () => t("about_bits", (-Math.log2(race.course.p)).toFixed(2)),
        fpr: () => t("about_fpr", format.rate(race.course.p)),
    };
    const compareBy = (measure) => {
        race.measure = measure;
        buttons.forEach((button) => button.setAttribute("aria-pressed", button.dataset.measure === measure));
        about.textContent = descriptions[measure]?.() ?? t(`about_${measure}`);
        show(picture, bars(race, measure, t));
    };
    const buttons = MEASURES.map((measure) => h("button", {
        type: "button", class: "small", "data-measure": measure, onclick: () => compareBy(measure),
    }, t(`m_${measure}`)));
    compareBy(race.measure);
    return h("div", { class: "card" },
        h("div", { class: "measures", role: "group", "aria-label": t("measure"), id: "race-measures" }, buttons),
        about, picture);
}

function copying(content, t, announce) {
    const area = h("textarea", { id: "race-text", readonly: true, rows: 18, "aria-label": t("asText"), wrap: "off" });
    area.value = content;
    const details = h("details", {}, h("summary", {}, t("asText")), area);
    const feedback = h("span", { class: "note", id: "race-copied" });
    const copy = async () => {
        try {
            await navigator.clipboard.writeText(content);
            feedback.textContent = t("copied");
        } catch {
            details.open = true;
            area.select();
            feedback.textContent = t("copyFailed");
        }
        announce(feedback.textContent);
    };
    const button = h("button", { type: "button", id: "race-copy", onclick: copy }, t("copy"));
    return [h("p", { class: "copy" }, button, feedback), details];
}

const howItIsMeasured = (t) => h("details", { class: "how" },
    h("summary", {}, t("how")), h("ul", {}, t("howItems").map((item) => h("li", {}, item))));
