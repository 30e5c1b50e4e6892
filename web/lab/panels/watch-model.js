/* watch-model.js - one filter of the words that the user typed, and what each word reads in its table
 *
 * Kinds that take adds keep one filter, to which the words are added in order.  The others are built from all
 * words, and again when the words change. */
import { groupsOf, holds, valueOf } from "../cells.js";
import { layoutOf, placeOf } from "./watch-layout.js";

const CAPACITY_STEP = 4;

/** The words of a text, one in a line. */
export const wordsOf = (text) => text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== "");

/** Room for a few more words than there are. */
export const defaultCapacity = (words) => CAPACITY_STEP * Math.ceil((words + 1) / CAPACITY_STEP);

/** Words that are in the filter besides the typed ones. */
export const extraWord = (i) => `word-${i + 1}`;

export class Watched {
    /**
     * @param tamis
     * @param options  {kind, fpr, capacity, seed}
     * @param words    in the order in which they are added
     * @param extra    number of generated words, which are added first
     */
    constructor(tamis, options, words, extra) {
        Object.assign(this, { tamis, options, words: [], extra, refused: [], refusal: null });
        const kind = tamis.kinds.find(({ name }) => name === options.kind);
        Object.assign(this, { isStatic: kind.static, canRemove: kind.remove });
        const generated = Array.from({ length: extra }, (_, i) => extraWord(i));
        const { capacity, ...others } = options;
        if (this.isStatic) {
            this.filter = tamis.Filter.build([...generated, ...words], others);
            this.words = [...words];
        } else {
            this.filter = tamis.Filter.create({ ...others, capacity });
            this.filter.addMany(generated);
            words.forEach((word) => this.tryAdd(word));
        }
        this.read();
    }

    /* Reads the table again after a change. */
    read() {
        this.layout = layoutOf(this.filter);
        this.info = this.filter.info();
        this.lookups = new Map();
        this.owners = null;
    }

    /* A full cuckoo filter refuses words: the others are in it nevertheless. */
    tryAdd(word) {
        try {
            this.filter.add(word);
            this.words.push(word);
        } catch (error) {
            this.refused.push(word);
            this.refusal = error;
        }
    }

    free() {
        this.filter.free();
    }

    isMember(word) {
        return this.words.includes(word) || this.isExtra(word);
    }
    isExtra(word) {
        const match = /^word-([1-9]\d*)$/.exec(word);
        return match !== null && Number(match[1]) <= this.extra;
    }

    /** The section and the number of the cell at a bit of the table. */
    placeOf(bit) {
        return placeOf(this.layout, bit);
    }

    /* ---- lookups */

    /** What a lookup of the word reads: [{stage, isTrue, equations: [{rule, cells, values, isTrue}]}], by group. */
    lookup(word) {
        if (!this.lookups.has(word)) this.lookups.set(word, this.evaluate(word));
        return this.lookups.get(word);
    }
    evaluate(word) {
        const { table } = this.layout;
        return groupsOf(this.filter.cells(word)).map((equations) => {
            const evaluated = equations.map((cells) => ({
                rule: cells[0].rule, cells, expected: cells[0].expected,
                values: cells.map((cell) => valueOf(table, cell)), isTrue: holds(table, cells),
            }));
            return { stage: equations[0][0].group, equations: evaluated, isTrue: evaluated.every((one) => one.isTrue) };
        });
    }

    /** The cells that keep a member in the set: those of the groups that hold, or of its stage. */
    ownCells(word) {
        const holding = this.lookup(word).filter((group) => group.isTrue);
        const groups = this.options.kind === "growing" ? holding.slice(0, 1) : holding;
        return groups.flatMap((group) => group.equations.flatMap((equation) => equation.cells));
    }

    /** The words that use the cell that begins at this bit of the table. */
    wordsAt(bit) {
        this.owners ??= this.findOwners();
        return this.owners.get(bit) ?? [];
    }
    findOwners() {
        const owners = new Map();
        for (const word of new Set(this.words)) {
            for (const bit of new Set(this.ownCells(word).flatMap(bitsRead))) {
                if (!owners.has(bit)) owners.set(bit, []);
                owners.get(bit).push(word);
            }
        }
        return owners;
    }

    /** As wordsAt, with the generated words: looks all of them up. */
    allWordsAt(bits) {
        const found = new Map(bits.map((bit) => [bit, [...this.wordsAt(bit)]]));
        for (let i = 0; i < this.extra; i++) {
            const word = extraWord(i);
            const group = this.evaluate(word).find(({ isTrue }) => isTrue);
            const read = group?.equations.flatMap((equation) => equation.cells.flatMap(bitsRead)) ?? [];
            for (const bit of read) found.get(bit)?.push(word);
        }
        return found;
    }

    /* ---- changes.  Each throws the error of the library where the kind does not support it. */

    /** Adds a word.  Returns what changed: {isNew, changed, moved, stages}. */
    add(word) {
        const before = this.snapshot();
        const isNew = this.filter.add(word);
        this.words.push(word);
        this.read();
        return { isNew, ...this.changesSince(before) };
    }

    /** Removes a word.  Returns null if it is definitely not in the set, otherwise what changed. */
    remove(word) {
        const before = this.snapshot();
        if (!this.filter.remove(word)) return null;
        const at = this.words.lastIndexOf(word);
        if (at >= 0) this.words.splice(at, 1);
        this.read();
        return { wasMember: at >= 0, ...this.changesSince(before) };
    }

    /** Members that the filter does not find any more, because another word was removed that was never added. */
    lost() {
        return [...new Set(this.words)].filter((word) => !this.filter.has(word));
    }

    snapshot() {
        const words = this.options.kind === "cuckoo" ? new Set(this.words) : [];
        const places = new Map([...words].map((word) => [word, this.slotsOf(word)]));
        return { layout: this.layout, stages: this.info.stages, places };
    }
    slotsOf(word) {
        return this.ownCells(word).map((cell) => cell.bit);
    }

    changesSince({ layout, stages, places }) {
        const sections = this.layout.sections.filter((section) =>
            layout.sections.some((old) => old.first === section.first && old.count === section.count));
        const changed = sections.flatMap((section) => changedCells(section, layout.table, this.layout.table));
        const moved = [...places].map(([word, from]) => ({ word, from, to: this.slotsOf(word) }))
            .filter(({ from, to }) => from.length === 1 && to.length === 1 && from[0] !== to[0]);
        return { changed, moved, stages: this.info.stages - stages };
    }
}

/* The bits that name the parts of a cell: its first, or of a parity each bit that counts. */
export function bitsRead({ bit, bits, rule, mask }) {
    if (rule === "always") return [];
    if (rule !== "parity") return [bit];
    const isSelected = (i) => ((mask >> BigInt(i)) & 1n) === 1n;
    return Array.from({ length: bits }, (_, i) => i).filter(isSelected).map((i) => bit + i);
}

function changedCells(section, before, after) {
    const changed = [];
    for (let i = 0; i < section.count; i++) {
        const cell = { bit: section.first + i * section.bits, bits: section.bits };
        const from = valueOf(before, cell), to = valueOf(after, cell);
        if (from !== to) changed.push({ bit: cell.bit, from, to });
    }
    return changed;
}
