/* wasm.js - one instance of the WebAssembly module: its memory, texts, numbers and errors */

/** An error of the library. */
export class TamisError extends Error {
    constructor(status, message) {
        super(message);
        this.name = "TamisError";
        this.status = status;
    }
}

/* The members of `request` and of what web_info and web_size put into `result`, in the order of
 * wasm/module.c. */
const REQUEST = [
    "kind", "needs", "capacity", "fpr", "bytes", "bits", "hashes", "arity", "stage", "hasher",
    "check", "flags", "type", "format", "part", "secret",
];
/* Of these the module receives the address: text, or the bytes of the secret. */
const ADDRESSES = new Set(["format", "part", "secret"]);
const INFO = [
    "kind", "format", "caps", "capacity", "adds", "distinct", "distinctError", "tableBytes",
    "bytes", "bitsPerKey", "hashes", "width", "stages", "fill", "fprTarget", "fprNow", "headroom",
    "overCapacity", "hasherId", "keyed", "prehashed", "path", "flags", "type", "field", "note",
    "hasher", "keyBytes", "separatorLength",
];
const SIZE = [
    "bytes", "bitsPerKey", "hashes", "width", "fpr", "fprAtHalf", "fprAtDouble", "cacheLines",
    "buildBytes",
];

export const ACTION = { add: 0, has: 1, remove: 2, count: 3, hash: 4, build: 5 };

/* malloc receives the low 32 bits of a number. */
const MAX_BYTES = 0xffffffff;

/* More than there are. */
const STATUSES = 64;

/* Scratch memory: results of calls first, then the bytes of a single key. */
const OUT_BYTES = 16;
const KEY_BYTES = 4096;
/* Up to this length a loop over the characters is faster than the encoder, of which a call takes 35 ns in Node and 250
 * in Chromium. */
const SHORT_TEXT = globalThis.process?.versions?.node !== undefined ? 20 : 200;
export const SECRET_BYTES = 16;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const CELL_BYTES = 40;
const CELL_RULES = ["set", "equal", "xor", "parity", "always"];

const readCell = (view, at) => ({
    bit: Number(view.getBigUint64(at, true)),
    bits: view.getUint32(at + 8, true),
    group: view.getUint32(at + 12, true),
    equation: view.getUint32(at + 16, true),
    rule: CELL_RULES[view.getUint32(at + 20, true)],
    mask: view.getBigUint64(at + 24, true),
    expected: view.getBigUint64(at + 32, true),
});

export class Wasm {
    constructor(module) {
        this.x = new WebAssembly.Instance(module, { Math }).exports;
        this.refresh();
        this.out = this.alloc(OUT_BYTES);
        this.key = this.alloc(KEY_BYTES);
        this.keyBytes = KEY_BYTES;
        this.request = this.x.web_request() >>> 0;
        this.result = this.x.web_result() >>> 0;
    }

    /* Views of the memory; new ones after it has grown. */
    refresh() {
        const buffer = this.x.memory.buffer;
        this.u8 = new Uint8Array(buffer);
        this.u32 = new Uint32Array(buffer);
        this.view = new DataView(buffer);
    }
    memory() {
        if (this.u8.length === 0) this.refresh();
        return this.u8;
    }
    alloc(size) {
        const at = size > MAX_BYTES ? 0 : this.x.malloc(size || 1) >>> 0;
        if (at === 0) throw new TamisError("E_NOMEM", `out of memory: ${size} bytes`);
        this.memory();
        return at;
    }
    free(at) {
        if (at !== 0) this.x.free(at);
    }
    /* Memory for the time of a call. */
    using(size, call) {
        const at = this.alloc(size);
        try {
            return call(at);
        } finally {
            this.x.free(at);
        }
    }

    text(at) {
        const u8 = this.memory();
        let end = at;
        while (u8[end] !== 0) end++;
        return decoder.decode(u8.subarray(at, end));
    }

    usingText(text, call) {
        const bytes = encoder.encode(text + "\0");
        return this.using(bytes.length, (at) => {
            this.u8.set(bytes, at);
            return call(at);
        });
    }

    /* ---- status */

    statusValue(name) {
        return (this.values ??= this.readStatuses())[name];
    }
    readStatuses() {
        const values = {};
        for (let value = 0; value < STATUSES; value++) values[this.text(this.x.tamis_status_name(value) >>> 0)] = value;
        return values;
    }

    check(status, about = "") {
        if (status === 0) return;
        const name = this.text(this.x.tamis_status_name(status) >>> 0);
        const text = this.text(this.x.tamis_status_text(status) >>> 0);
        throw new TamisError(name, about === "" ? text : `${about}: ${text}`);
    }
    /* Calls with an out-parameter for an object, and returns the object. */
    made(call, about) {
        this.check(call(this.out), about);
        this.memory();
        return this.u32[this.out >>> 2];
    }

    /* ---- keys, one at a time: written to `this.key`; returns the length */

    writeText(text) {
        const length = text.length;
        if (length > SHORT_TEXT) return this.encode(text);
        this.memory();
        /* Four characters at a time: ASCII, or the encoder does it. */
        const u32 = this.u32;
        let at = this.key >>> 2, i = 0, all = 0;
        for (; i + 4 <= length; i += 4) {
            const a = text.charCodeAt(i), b = text.charCodeAt(i + 1), c = text.charCodeAt(i + 2), d = text.charCodeAt(i + 3);
            all |= a | b | c | d;
            u32[at++] = a | (b << 8) | (c << 16) | (d << 24);
        }
        let rest = 0;
        for (let shift = 0; i < length; i++, shift += 8) {
            const unit = text.charCodeAt(i);
            all |= unit;
            rest |= unit << shift;
        }
        u32[at] = rest;
        return all > 127 ? this.encode(text) : length;
    }
    encode(text) {
        if (text.length > this.keyBytes / 3) this.enlarge(3 * text.length);
        return encoder.encodeInto(text, this.keyView()).written;
    }
    /* The memory of `key`, as a view that is made anew when the memory has grown. */
    keyView() {
        if (this.view8 === undefined || this.view8.length === 0) {
            this.view8 = new Uint8Array(this.x.memory.buffer, this.key, this.keyBytes);
        }
        return this.view8;
    }
    /* An integer of 64 bits; a safe integer needs no BigInt. */
    writeInteger(number) {
        this.memory();
        const at = this.key >>> 2;
        this.u32[at] = number;
        this.u32[at + 1] = Math.floor(number / 2 ** 32);
        return 8;
    }
    writeBigInt(number) {
        this.memory();
        this.view.setBigInt64(this.key, number, true);
        return 8;
    }
    writeBytes(bytes) {
        if (bytes.length > this.keyBytes) this.enlarge(bytes.length);
        this.memory().set(bytes, this.key);
        return bytes.length;
    }
    enlarge(size) {
        const key = this.alloc(size);
        this.free(this.key);
        this.key = key;
        this.keyBytes = size;
        this.view8 = undefined;
    }

    /* ---- structures */

    /* Calls with `request` filled in.  Texts and bytes of the options live until the call ends. */
    withRequest(options, call) {
        const held = [];
        const hold = (value) => {
            const bytes = typeof value === "string" ? encoder.encode(value) : value;
            const at = this.alloc(bytes.length + 1);
            held.push(at);
            this.u8.set(bytes, at);
            this.u8[at + bytes.length] = 0;
            return at;
        };
        try {
            const numbers = REQUEST.map((name) => {
                const value = options[name];
                if (ADDRESSES.has(name)) return value === undefined ? 0 : hold(value);
                return value ?? 0;
            });
            this.memory();
            numbers.forEach((n, i) => this.view.setFloat64(this.request + 8 * i, n, true));
            this.x.web_seed(options.seed ?? 0n);
            return call();
        } finally {
            held.forEach((at) => this.free(at));
        }
    }

    number(index) {
        this.memory();
        return this.view.getFloat64(this.result + 8 * index, true);
    }
    read(names) {
        return Object.fromEntries(names.map((name, i) => [name, this.number(i)]));
    }
    readInfo(filter, brief) {
        this.check(this.x.web_info(filter, brief ? 1 : 0));
        const info = this.read(INFO);
        for (const name of ["format", "path", "note", "hasher"]) {
            info[name] = info[name] === 0 ? null : this.text(info[name]);
        }
        const at = this.x.web_text() >>> 0;
        info.separator = this.memory().slice(at, at + info.separatorLength);
        info.seed = BigInt.asUintN(64, this.x.web_result_seed());
        info.keyId = BigInt.asUintN(64, this.x.web_result_key_id());
        return info;
    }
    /* The cells of a lookup: see tamis_cell in tamis.h. */
    readCells(filter, hash) {
        this.check(this.x.web_cells(filter, hash, 0, 0));
        const count = this.number(0);
        return this.using(CELL_BYTES * count, (at) => {
            this.check(this.x.web_cells(filter, hash, at, count));
            const view = new DataView(this.memory().buffer, at);
            return Array.from({ length: count }, (_, i) => readCell(view, CELL_BYTES * i));
        });
    }
    readSize() {
        return this.read(SIZE);
    }
}
