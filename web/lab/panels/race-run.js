/* race-run.js - measures filters in turns of a few milliseconds
 *
 * All entrants share one thread.  In each phase everybody gets turns of the same length, so the bars fill at the
 * speed of the filters and the page stays responsive.  Only the time inside of the turns counts. */
import { nextFrame } from "../dom.js";
import { KEY_FORMS } from "./race-entrants.js";

const TURN_MS = 8;
/* Per key, for clocks that are so coarse that a piece of work takes no time. */
const LEAST_MS = 2e-5;
const PASSES = 5;
const PASS_KEYS = 200_000;
const ABSENT_KEYS = PASSES * PASS_KEYS;
/* A small filter is built several times, because clocks of browsers are coarse. */
const BUILD_KEYS = 200_000;

/* Before the race everybody runs on a few keys: the engine compiles, and slow entrants are found. */
const TRIAL_KEYS = 20_000;
const TRIAL_MS = 60;
/* What the build of an entrant may take, and half of what each phase of lookups may; a slower one gets a sample. */
const BUDGET_MS = 1500;

export const PHASES = ["build", "presentMany", "absentMany", "present", "absent"];

/** The race was stopped. */
export class Stopped extends Error {}

/* Lets the page handle events.  setTimeout would wait for 4 ms. */
const channel = new MessageChannel();
const waiting = [];
channel.port1.onmessage = () => waiting.shift()();
const breathe = () => new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(0);
});

/* 1, 2 or 5 times a power of ten: a sample that reads well. */
function roundDown(number) {
    const power = 10 ** Math.floor(Math.log10(Math.max(1, number)));
    return power * (number >= 5 * power ? 5 : number >= 2 * power ? 2 : 1);
}

const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);

/* ---- a task: one entrant in one phase */

/* `keysOf(from, to)` are the keys of a turn and `work(keys)` handles them; only work is timed.  `note` receives what
 * it returns, and the number of keys.  `total` keys are handled in passes of `pass`; a pass of a task that is whole
 * cannot be interrupted. */
class Task {
    constructor(options) {
        Object.assign(this, { note: () => undefined, isBuild: false, isWhole: false, ...options });
        this.done = 0;
        this.passes = [0];
    }
    get isDone() {
        return this.done >= this.total;
    }
    /* Of the average pass for builds, which are not repeated in large races; otherwise of the best. */
    get nanoseconds() {
        const time = this.isBuild ? sum(this.passes) / this.passes.length : Math.min(...this.passes);
        return (1e6 * time) / this.pass;
    }
    turn() {
        for (let left = TURN_MS; left > TURN_MS / 4 && !this.isDone;) left -= this.piece(left);
    }
    /* Handles as many keys as fit the time, up to the end of a pass.  Returns the time that it took. */
    piece(milliseconds) {
        const passEnd = this.pass * this.passes.length;
        const count = this.isWhole ? this.pass : Math.max(16, Math.floor(milliseconds / this.msPerKey));
        const to = Math.min(passEnd, this.done + count);
        const keys = this.keysOf(this.done, to);
        const start = performance.now();
        const result = this.work(keys);
        const took = performance.now() - start;
        this.passes[this.passes.length - 1] += took;
        this.note(result, keys.length);
        this.msPerKey = Math.max(LEAST_MS, (this.msPerKey + took / keys.length) / 2);
        this.done = to;
        if (to === passEnd && !this.isDone) this.passes.push(0);
        return Math.max(took, keys.length * LEAST_MS);
    }
}

function countHits(has, keys) {
    let hits = 0;
    for (const key of keys) if (has(key)) hits++;
    return hits;
}

/* ---- the race */

export class Race {
    /**
     * @param entrants  see race-entrants.js
     * @param course    {n, p, form}: number of keys, false positive rate, kind of the keys
     * @param onPhase   is called with the name of each phase and its tasks, whose `done` and `total` grow
     */
    constructor(entrants, course, onPhase) {
        Object.assign(this, { entrants, course, onPhase, isStopped: false });
        this.results = new Map(entrants.map((entrant) => [entrant, this.emptyResult(entrant)]));
    }

    emptyResult(entrant) {
        return {
            name: entrant.name, colour: entrant.colour, isPeer: entrant.isPeer,
            keys: this.course.n, lookups: PASS_KEYS,
            falsePositives: 0, absentTries: 0, falseNegatives: 0, presentTries: 0,
        };
    }

    stop() {
        this.isStopped = true;
    }
    check() {
        if (this.isStopped) throw new Stopped();
    }

    /** The results, in the order of the entrants.  Throws Stopped. */
    async run() {
        try {
            await this.prepare();
            for (const phase of PHASES) await this.runPhase(phase);
            return [...this.results.values()];
        } finally {
            this.entrants.forEach((entrant) => entrant.free());
        }
    }

    /* ---- before the start */

    async prepare() {
        const { n, form } = this.course;
        const total = n + ABSENT_KEYS + this.entrants.length * TRIAL_KEYS;
        const task = { entrant: null, total, done: 0 };
        this.onPhase("prepare", [task]);
        this.present = await this.makeKeys(form, 0, n, task);
        this.absent = await this.makeKeys(form, n, ABSENT_KEYS, task);
        for (const entrant of this.entrants) {
            await this.tryOut(entrant);
            task.done += TRIAL_KEYS;
        }
    }

    async makeKeys(form, first, count, task) {
        const make = KEY_FORMS[form], keys = new Array(count);
        for (let i = 0; i < count; i++) {
            keys[i] = make(first + i);
            if (i % 8192 !== 0) continue;
            await breathe();
            this.check();
            task.done += Math.min(8192, count - i);
        }
        return keys;
    }

    /* Warms up, and finds out how many keys the entrant can take. */
    async tryOut(entrant) {
        const { n, p } = this.course, result = this.results.get(entrant);
        const keys = this.present.slice(0, TRIAL_KEYS);
        if (entrant.isStatic) entrant.build(keys, p);
        else entrant.create(keys.length, p);
        const speed = {
            build: entrant.isStatic ? LEAST_MS : await this.trial(keys, (some) => entrant.addMany(some)),
            batch: entrant.hasMany && await this.trial(keys, (some) => entrant.hasMany(some)),
            single: await this.trial(keys, (some) => countHits(entrant.has, some)),
        };
        result.speed = speed;
        if (speed.build * n > BUDGET_MS) result.keys = Math.min(n, roundDown(BUDGET_MS / speed.build));
        const slowest = Math.max(speed.batch ?? 0, speed.single) * PASSES * PASS_KEYS;
        if (slowest > 2 * BUDGET_MS) result.lookups = Math.min(PASS_KEYS, roundDown((BUDGET_MS / slowest) * PASS_KEYS));
        result.isSampled = result.keys < n || result.lookups < PASS_KEYS;
    }

    /* Milliseconds per key, from as many keys as fit the time. */
    async trial(keys, work) {
        let done = 0, spent = 0;
        while (done < keys.length && spent < TRIAL_MS) {
            const some = keys.slice(done, done + 512), start = performance.now();
            work(some);
            spent += performance.now() - start;
            done += some.length;
            await breathe();
            this.check();
        }
        return Math.max(LEAST_MS, spent / done);
    }

    /* ---- the phases */

    async runPhase(phase) {
        const tasks = this.entrants.map((entrant) => this.taskOf(phase, entrant)).filter((task) => task !== null);
        this.onPhase(phase, tasks);
        for (let open = tasks; open.length > 0; open = open.filter((task) => !task.isDone)) {
            for (const task of open) {
                await (task.isWhole ? nextFrame() : breathe());
                this.check();
                task.turn();
            }
        }
        for (const task of tasks) {
            const result = this.results.get(task.entrant);
            result[phase] = task.nanoseconds;
            if (phase === "build") result.bitsPerKey = (8 * task.entrant.bytes()) / result.keys;
        }
    }

    taskOf(phase, entrant) {
        if (phase === "build") return this.buildTask(entrant);
        const isBatch = phase.endsWith("Many"), isPresent = phase.startsWith("present");
        if (isBatch && !entrant.hasMany) return null;
        return this.lookupTask(entrant, isBatch, isPresent);
    }

    buildTask(entrant) {
        const { n, p } = this.course, { keys, speed } = this.results.get(entrant);
        let isNew = false;
        const add = (some) => {
            if (isNew) entrant.create(keys, p);
            entrant.addMany(some);
        };
        return new Task({
            entrant, total: keys * Math.ceil(BUILD_KEYS / n), pass: keys,
            isBuild: true, isWhole: entrant.isStatic, msPerKey: speed.build,
            keysOf: (from, to) => {
                isNew = from % keys === 0;
                return stretch(this.present.slice(0, keys), from, to);
            },
            work: entrant.isStatic ? (some) => entrant.build(some, p) : add,
        });
    }

    lookupTask(entrant, isBatch, isPresent) {
        const result = this.results.get(entrant);
        const source = isPresent ? this.present.slice(0, result.keys) : this.absent;
        /* The answers of single lookups are those of the batch: they count once. */
        const isCounted = isBatch || !entrant.hasMany;
        return new Task({
            entrant, total: PASSES * result.lookups, pass: result.lookups,
            msPerKey: result.speed[isBatch ? "batch" : "single"],
            keysOf: (from, to) => stretch(source, from, to),
            work: isBatch ? (some) => entrant.hasMany(some) : (some) => countHits(entrant.has, some),
            note: (answer, number) => {
                if (isCounted) countAnswers(result, isPresent, isBatch ? sum(answer) : answer, number);
            },
        });
    }
}

/* Keys from..to of a list that begins again at its end. */
function stretch(list, from, to) {
    const begin = from % list.length, end = begin + to - from;
    if (end <= list.length) return list.slice(begin, end);
    return Array.from({ length: to - from }, (_, i) => list[(from + i) % list.length]);
}

function countAnswers(result, isPresent, hits, number) {
    if (isPresent) {
        result.presentTries += number;
        result.falseNegatives += number - hits;
    } else {
        result.absentTries += number;
        result.falsePositives += hits;
    }
}
