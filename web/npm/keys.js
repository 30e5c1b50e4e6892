/* keys.js - many keys, written into the memory of the module a piece at a time
 *
 * A piece is the keys' bytes one behind the other, and offsets; integers need no offsets.  The
 * pieces go through one area of memory, so that a call with a million keys needs no more of it
 * than one with a thousand. */
import { PLAIN, checkLength, isPlain, isPrehashed, keyOfNumber, keyOfText } from "./form.js";
import { TamisError } from "./wasm.js";

const PIECE_KEYS = 4096;
const PIECE_BYTES = 1 << 18;

const INT64_MIN = -(2n ** 63n), UINT64_MAX = 2n ** 64n - 1n;

const encoder = new TextEncoder();

/** The key as bytes, or as a BigInt if the filter's keys are hashes. */
export function keyBytes(form, key) {
    if (typeof key === "string") return isPlain(form) ? encoder.encode(key) : keyOfText(form, key);
    if (key instanceof Uint8Array) {
        if (!isPrehashed(form)) return checkLength(form, key);
        throw new TamisError("E_KEY", "the keys of this filter are hashes: pass BigInts, or text of 16 hexadecimal digits");
    }
    if (typeof key === "number" || typeof key === "bigint") return keyOfNumber(form, key);
    throw new TypeError(`a key must be text, a Uint8Array, a number or a BigInt, not ${describe(key)}`);
}

const describe = (value) => (value === null ? "null" : Array.isArray(value) ? "an array" : typeof value);

/* ---- the area */

export class Area {
    constructor(wasm) {
        this.wasm = wasm;
        this.size = PIECE_BYTES;
        this.bytes = wasm.alloc(PIECE_BYTES);
        this.offsets = wasm.alloc(4 * (PIECE_KEYS + 1));
        this.results = wasm.alloc(8 * PIECE_KEYS);
        this.start();
    }
    start() {
        this.count = 0;
        this.used = 0;
    }
    /* Room for `length` more bytes; only a single key may need more than a piece has. */
    reserve(length) {
        if (this.used + length <= this.size) return;
        const wasm = this.wasm, old = this.bytes;
        const bytes = wasm.alloc(this.used + length);
        wasm.u8.copyWithin(bytes, old, old + this.used);
        wasm.free(old);
        this.bytes = bytes;
        this.size = this.used + length;
    }
    has(length) {
        return this.count < PIECE_KEYS && (this.count === 0 || this.used + length <= PIECE_BYTES);
    }
    end(length) {
        this.used += length;
        this.count++;
        this.wasm.u32[(this.offsets >>> 2) + this.count] = this.used;
    }
    put(bytes) {
        this.reserve(bytes.length);
        this.wasm.memory().set(bytes, this.bytes + this.used);
        this.end(bytes.length);
    }
    putHash(hash) {
        this.wasm.memory();
        this.wasm.view.setBigUint64(this.bytes + 8 * this.count, hash, true);
        this.count++;
    }
}

/* ---- pieces: how the area is laid out when `call` receives it */

export const OFFSETS = 0, INTEGERS = 1, HASHES = 2;

/* Text in ASCII is joined and encoded at once; the length of each is the number of its bytes. */
function putJoined(area, keys) {
    const wasm = area.wasm;
    let total = 0;
    for (const key of keys) {
        if (typeof key !== "string") return false;
        total += key.length;
    }
    if (total > PIECE_BYTES) return false;
    const target = wasm.memory().subarray(area.bytes, area.bytes + total);
    const { read, written } = encoder.encodeInto(keys.join(""), target);
    if (read !== total || written !== total) return false;
    const offsets = wasm.u32.subarray(area.offsets >>> 2, (area.offsets >>> 2) + keys.length + 1);
    let at = 0;
    for (let i = 0; i < keys.length; i++) offsets[i + 1] = at += keys[i].length;
    area.count = keys.length;
    area.used = total;
    return true;
}

/* Integers, 8 bytes each. */
function putIntegers(area, keys) {
    const wasm = area.wasm, count = keys.length, first = area.bytes >>> 2;
    wasm.memory();
    const numbers = new BigInt64Array(wasm.u8.buffer, area.bytes, count);
    for (let i = 0; i < count; i++) {
        const key = keys[i];
        if (Number.isSafeInteger(key)) {
            wasm.u32[first + 2 * i] = key;
            wasm.u32[first + 2 * i + 1] = Math.floor(key / 2 ** 32);
        } else if (typeof key === "bigint" && key >= INT64_MIN && key <= UINT64_MAX) {
            numbers[i] = key;
        } else {
            return false;
        }
    }
    area.count = count;
    return true;
}

function putEach(area, form, keys, call) {
    const layout = isPrehashed(form) ? HASHES : OFFSETS;
    for (const key of keys) {
        const bytes = keyBytes(form, key);
        if (area.count > 0 && !area.has(bytes.length)) {
            call(layout, area.count);
            area.start();
        }
        if (layout === OFFSETS) area.put(bytes);
        else area.putHash(bytes);
    }
    if (area.count > 0) call(layout, area.count);
}

function ofSome(area, form, keys, call) {
    area.start();
    if (keys.length === 0) return;
    const isText = typeof keys[0] === "string";
    if (isPlain(form) && (isText ? putJoined(area, keys) : putIntegers(area, keys))) {
        call(isText ? OFFSETS : INTEGERS, area.count);
        return;
    }
    area.start();
    putEach(area, form, keys, call);
}

/* The keys of a piece are taken before the area is written: an iterator may use the filter. */
function ofIterable(area, form, keys, call) {
    let some = [];
    for (const key of keys) {
        if (some.push(key) < PIECE_KEYS) continue;
        ofSome(area, form, some, call);
        some = [];
    }
    ofSome(area, form, some, call);
}

function ofArray(area, form, keys, call) {
    for (let from = 0; from < keys.length; from += PIECE_KEYS) {
        ofSome(area, form, keys.slice(from, from + PIECE_KEYS), call);
    }
}

function ofIntegers(area, form, keys, call) {
    if (!isPlain(form) && !isPrehashed(form)) return ofIterable(area, form, keys, call);
    const layout = isPrehashed(form) ? HASHES : INTEGERS;
    for (let from = 0; from < keys.length; from += PIECE_KEYS) {
        const piece = keys.subarray(from, from + PIECE_KEYS);
        new BigUint64Array(area.wasm.memory().buffer, area.bytes, piece.length).set(piece);
        call(layout, piece.length);
    }
}

function checkPacked({ bytes, offsets }) {
    if (!(bytes instanceof Uint8Array) || !(offsets instanceof Uint32Array)) {
        throw new TypeError("packed keys have bytes, a Uint8Array, and offsets, a Uint32Array");
    }
    let last = 0;
    for (let i = 0; i < offsets.length; i++) {
        if (offsets[i] < last) throw new RangeError(`packed keys: offset ${i} is less than the one before`);
        last = offsets[i];
    }
    if (last > bytes.length) {
        throw new RangeError(`packed keys: offset ${last} is beyond the ${bytes.length} bytes`);
    }
}

/* The index after the last key of a piece that begins with key `from`. */
function pieceEnd(offsets, from, count) {
    const end = Math.min(count, from + PIECE_KEYS), most = offsets[from] + PIECE_BYTES;
    if (offsets[end] <= most) return end;
    let to = from + 1;
    while (to < end && offsets[to + 1] <= most) to++;
    return to;
}

function ofPacked(area, { bytes, offsets }, call) {
    const wasm = area.wasm, count = Math.max(0, offsets.length - 1);
    for (let from = 0, to; from < count; from = to) {
        to = pieceEnd(offsets, from, count);
        const begin = offsets[from], length = offsets[to] - begin;
        area.start();
        area.reserve(length);
        wasm.memory().set(bytes.subarray(begin, begin + length), area.bytes);
        const first = area.offsets >>> 2;
        for (let i = from; i <= to; i++) wasm.u32[first + i - from] = offsets[i] - begin;
        call(OFFSETS, to - from);
    }
}

function* unpacked({ bytes, offsets }) {
    for (let i = 0; i + 1 < offsets.length; i++) yield bytes.subarray(offsets[i], offsets[i + 1]);
}

const isPacked = (keys) => "offsets" in keys && "bytes" in keys;

function checkMany(keys) {
    if (typeof keys === "string" || keys instanceof Uint8Array) {
        throw new TypeError("keys must be an array of keys or another iterable: this is one key");
    }
    if (keys === null || typeof keys !== "object") {
        throw new TypeError(`keys must be an array or another iterable, not ${describe(keys)}`);
    }
    if (typeof keys[Symbol.iterator] !== "function" && !isPacked(keys)) {
        throw new TypeError("keys must be an array, another iterable, or packed keys");
    }
}

/** Fills the area with one piece of the keys after the other, and calls with the layout and count of each. */
export function forEachPiece(area, form, keys, call) {
    checkMany(keys);
    area.wasm.memory();
    area.wasm.u32[area.offsets >>> 2] = 0;
    if (isPacked(keys)) {
        checkPacked(keys);
        if (isPlain(form)) ofPacked(area, keys, call);
        else ofIterable(area, form, unpacked(keys), call);
        area.wasm.u32[area.offsets >>> 2] = 0;
    } else if (Array.isArray(keys)) {
        ofArray(area, form, keys, call);
    } else if (keys instanceof BigInt64Array || keys instanceof BigUint64Array) {
        ofIntegers(area, form, keys, call);
    } else {
        ofIterable(area, form, keys, call);
    }
}

/** Number of keys if it is known beforehand; otherwise undefined. */
export function countOf(keys) {
    if (keys?.offsets instanceof Uint32Array) return Math.max(0, keys.offsets.length - 1);
    if (Array.isArray(keys) || ArrayBuffer.isView(keys)) return keys.length;
    return keys instanceof Set ? keys.size : undefined;
}

/* The bytes of packed keys, while they are collected. */
class Packer {
    constructor(count) {
        this.offsets = new Uint32Array(count + 1);
        this.bytes = new Uint8Array(16 * count);
        this.count = this.used = 0;
    }
    room(length) {
        if (this.used + length > 0xffffffff) throw new RangeError("packed keys have less than 4 GiB");
        if (this.used + length <= this.bytes.length) return;
        const larger = new Uint8Array(Math.max(this.used + length, Math.min(2 * this.bytes.length, 0xffffffff)));
        larger.set(this.bytes.subarray(0, this.used));
        this.bytes = larger;
    }
    end(length) {
        this.offsets[++this.count] = this.used += length;
    }
    /* Text in ASCII is encoded at once, as by putJoined. */
    joined(keys) {
        if (!keys.every((key) => typeof key === "string")) return false;
        const text = keys.join("");
        this.room(text.length);
        const { read, written } = encoder.encodeInto(text, this.bytes.subarray(this.used, this.used + text.length));
        if (read !== text.length || written !== text.length) return false;
        for (const key of keys) this.end(key.length);
        return true;
    }
    one(key) {
        const bytes = keyBytes(PLAIN, key);
        this.room(bytes.length);
        this.bytes.set(bytes, this.used);
        this.end(bytes.length);
    }
}

/** Packs keys, text as UTF-8, for several calls. */
export function pack(keys) {
    checkMany(keys);
    const list = Array.isArray(keys) ? keys : Array.from(isPacked(keys) ? unpacked(keys) : keys);
    const packer = new Packer(list.length);
    for (let from = 0; from < list.length; from += PIECE_KEYS) {
        const some = list.slice(from, from + PIECE_KEYS);
        if (!packer.joined(some)) for (const key of some) packer.one(key);
    }
    return { bytes: packer.bytes.slice(0, packer.used), offsets: packer.offsets };
}
