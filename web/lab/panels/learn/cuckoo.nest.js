/* cuckoo.nest.js - a small cuckoo filter that reports what each change did to its table */
import { changesBetween, contentOf, homeOf, shapeOf } from "./cuckoo.table.js";

const OPTIONS = { kind: "cuckoo", capacity: 20, fpr: 0.02 };

export class Nest {
    constructor(lab) {
        this.lab = lab;
        this.filter = lab.tamis.Filter.create(OPTIONS);
        this.shape = shapeOf(this.filter);
        this.content = contentOf(this.filter, this.shape);
        this.keys = 0;
    }
    get load() {
        return this.content.symbols.filter((symbol) => symbol !== 0).length / this.shape.slots;
    }
    /* Calls `act` and returns what it changed in the table. */
    change(act) {
        const before = this.content;
        const result = act(this.filter);
        this.content = contentOf(this.filter, this.shape);
        const isStashed = this.content.stash.some((hash, i) => hash !== before.stash[i] && hash !== 0n);
        return { result, isStashed, ...changesBetween(before, this.content, this.shape) };
    }
    add(word) {
        const changes = this.change((filter) => filter.add(word));
        this.keys++;
        return changes;
    }
    remove(word) {
        const changes = this.change((filter) => filter.remove(word));
        if (changes.result) this.keys--;
        return changes;
    }
    home(word) {
        return homeOf(this.filter, word, this.shape);
    }
}
