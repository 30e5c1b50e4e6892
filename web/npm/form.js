/* form.js - the text of a record becomes a key, as in the command (cli/form.c)
 *
 *     record --strip-cr--> --field--> --fold-case--> --hex | prehashed | type--> key bytes */
import { TamisError } from "./wasm.js";

export const KEY_TYPES = ["bytes", "utf16", "i32", "i64", "u64", "f32", "f64"];
const HEX = 1, PREHASHED = 2, STRIP_CR = 4, FOLD_CASE = 8;
export { FOLD_CASE, PREHASHED };

/** Keys are used as they are. */
export const PLAIN = { flags: 0, field: 0, type: 0, separator: new Uint8Array(), length: 0 };

const encoder = new TextEncoder();
const fail = (message) => {
    throw new TamisError("E_KEY", message);
};

export const isPlain = (form) => form.flags === 0 && form.field === 0 && form.type === 0 && form.length === 0;
export const isPrehashed = (form) => (form.flags & PREHASHED) !== 0;

function indexOfBytes(bytes, sought, from) {
    for (let i = from; i + sought.length <= bytes.length; i++) {
        if (sought.every((byte, j) => bytes[i + j] === byte)) return i;
    }
    return -1;
}

function takeField(bytes, form) {
    for (let at = 0, field = 1; ; field++) {
        const separator = indexOfBytes(bytes, form.separator, at);
        if (field === form.field) return bytes.subarray(at, separator < 0 ? bytes.length : separator);
        if (separator < 0) {
            fail(`the record has ${field} field${field === 1 ? "" : "s"}, and no field ${form.field}`);
        }
        at = separator + form.separator.length;
    }
}

const hexDigit = (byte) => parseInt(String.fromCharCode(byte), 16);

/* What is wrong with digits that are not pairs of hexadecimal ones. */
function badDigit(bytes) {
    const at = bytes.findIndex((byte) => Number.isNaN(hexDigit(byte)));
    if (at < 0) fail(`an odd number of hexadecimal digits (${bytes.length})`);
    const byte = bytes[at], plain = byte > 32 && byte < 127;
    const name = plain ? `'${String.fromCharCode(byte)}'` : `byte 0x${byte.toString(16).padStart(2, "0")}`;
    fail(`${name} at byte ${at + 1} is not a hexadecimal digit`);
}

function decodeHex(bytes) {
    const digits = Array.from(bytes, hexDigit);
    if (digits.length % 2 !== 0 || digits.some(Number.isNaN)) badDigit(bytes);
    return Uint8Array.from({ length: digits.length / 2 }, (_, i) => 16 * digits[2 * i] + digits[2 * i + 1]);
}

/* The longest beginning that is UTF-8. */
function validBytes(bytes) {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let valid = 0;
    for (let end = 1; end <= bytes.length; end++) {
        try {
            decoder.decode(bytes.subarray(valid, end));
            valid = end;
        } catch {
            if (end - valid >= 4) break;
        }
    }
    return valid;
}

function utf16(bytes) {
    let text;
    try {
        text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
        fail(`the key is not UTF-8 at byte ${validBytes(bytes) + 1}`);
    }
    const units = new Uint8Array(2 * text.length);
    for (let i = 0; i < text.length; i++) {
        units[2 * i] = text.charCodeAt(i);
        units[2 * i + 1] = text.charCodeAt(i) >> 8;
    }
    return units;
}

/* A record in a message: printable, and cut off as by the command. */
const RECORD_TEXT = 72;
function recordText(bytes) {
    let text = "";
    for (const byte of bytes) {
        if (text.length + 8 >= RECORD_TEXT) break;
        text += byte >= 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`;
    }
    return text.length + 8 >= RECORD_TEXT ? `${text}...` : text;
}

/* The range of the integer types. */
const LOW = { i32: -(2n ** 31n), i64: -(2n ** 63n), u64: 0n };
const HIGH = { i32: 2n ** 31n - 1n, i64: 2n ** 63n - 1n, u64: 2n ** 64n - 1n };
const isFloat = (type) => type === "f32" || type === "f64";
const isOfType = (value, type) => value >= LOW[type] && value <= HIGH[type];

function integer(value, type) {
    if (!isOfType(value, type)) fail(`'${value}' is not of type ${type}`);
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, BigInt.asUintN(64, value), true);
    return new Uint8Array(view.buffer, 0, type === "i32" ? 4 : 8);
}

function float(value, type) {
    const view = new DataView(new ArrayBuffer(8));
    if (type === "f32") view.setFloat32(0, value, true);
    else view.setFloat64(0, value, true);
    return new Uint8Array(view.buffer, 0, type === "f32" ? 4 : 8);
}

const DECIMAL = /^([+-]?)(?:(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?|inf(?:inity)?|nan)$/i;

/* Sign of: the decimal number digits * 10^exponent, less the double. */
function compareExactly(digits, exponent, double) {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, double);
    const bits = view.getBigUint64(0), biased = Number(bits >> 52n);
    const shift = Math.max(biased, 1) - 1075;
    const mantissa = (bits & (2n ** 52n - 1n)) | (biased > 0 ? 2n ** 52n : 0n);
    const scale = (base, power) => (power > 0 ? base ** BigInt(power) : 1n);
    const decimal = BigInt(digits) * scale(10n, exponent) * scale(2n, -shift);
    const binary = mantissa * scale(2n, shift) * scale(10n, -exponent);
    return decimal < binary ? -1 : decimal > binary ? 1 : 0;
}

/* A positive number, rounded once to 32 bits: `double` is it rounded to 64.  Where that is halfway
 * between two floats, its digits decide. */
function roundToFloat(double, [, , whole, fraction, exponent]) {
    const near = Math.fround(double);
    const other = 2 * double - (near === Infinity ? 2 ** 128 : near);
    if (other === near || Math.fround(other) !== other) return near;
    const sign = compareExactly(whole + fraction, Number(exponent ?? 0) - fraction.length, double);
    return sign === 0 ? near : sign > 0 ? Math.max(near, other) : Math.min(near, other);
}

/* undefined: it is no number, or too large. */
function parseFloatKey(text, type) {
    const match = DECIMAL.exec(text);
    if (match === null) return undefined;
    const [, sign, whole, fraction] = match;
    if (whole === undefined) {
        return /inf/i.test(text) ? float(sign === "-" ? -Infinity : Infinity, type) : notANumber(sign, type);
    }
    if (whole + fraction === "") return undefined;
    const double = Number(text.replace(/^[+-]/, ""));
    const size = type === "f32" ? roundToFloat(double, match) : double;
    return Number.isFinite(size) ? float(sign === "-" ? -size : size, type) : undefined;
}

function notANumber(sign, type) {
    const bytes = float(NaN, type);
    if (sign === "-") bytes[bytes.length - 1] |= 128;
    return bytes;
}

function typed(bytes, type) {
    if (type === "utf16") return utf16(bytes);
    const text = new TextDecoder("latin1").decode(bytes);
    const key = (isFloat(type) ? parseFloatKey : parseIntegerKey)(text, type);
    return key ?? fail(`'${recordText(bytes)}' is not of type ${type}`);
}

/* undefined: it is no number of the type. */
function parseIntegerKey(text, type) {
    const match = /^([+-]?)0*(\d{1,20})$/.exec(text);
    if (match === null) return undefined;
    const value = match[1] === "-" ? -BigInt(match[2]) : BigInt(match[2]);
    return isOfType(value, type) ? integer(value, type) : undefined;
}

/** The key itself, if the filter can have keys of its length. */
export function checkLength(form, bytes) {
    if (form.length === 0 || bytes.length === form.length) return bytes;
    return fail(`the key has ${bytes.length} bytes; the keys of this filter have ${form.length}`);
}

/* The key of a text: bytes, or its hash as a BigInt. */
export function keyOfText(form, text) {
    let bytes = encoder.encode(text);
    if ((form.flags & STRIP_CR) !== 0 && bytes.at(-1) === 13) bytes = bytes.subarray(0, -1);
    if (form.field !== 0) bytes = takeField(bytes, form);
    if ((form.flags & FOLD_CASE) !== 0) {
        bytes = bytes.map((byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte));
    }
    if (isPrehashed(form)) {
        if (bytes.length !== 16) fail(`a hash must have 16 hexadecimal digits, not ${bytes.length} bytes`);
        return new DataView(decodeHex(bytes).buffer).getBigUint64(0);
    }
    if ((form.flags & HEX) !== 0) bytes = decodeHex(bytes);
    return checkLength(form, form.type === 0 ? bytes : typed(bytes, KEY_TYPES[form.type]));
}

/* The key of a number, in the type of the filter's keys. */
export function keyOfNumber(form, number) {
    const type = KEY_TYPES[form.type];
    if (typeof number === "number" && !isFloat(type) && !Number.isSafeInteger(number)) {
        throw new TypeError(`a key must be an integer of at most 2^53, not ${number}: pass a BigInt, text or bytes`);
    }
    if (isPrehashed(form)) return BigInt.asUintN(64, wholeKey(number));
    if ((form.flags & HEX) !== 0) fail("the keys of this filter are hexadecimal digits: pass text");
    if (type === "utf16") fail("the keys of this filter are UTF-16 text: pass text");
    const whole = type !== "bytes" ? type : number < 0 ? "i64" : "u64";
    const key = isFloat(type) ? floatKey(number, type) : integer(wholeKey(number), whole);
    return checkLength(form, key);
}

/* An integer from -2^63 to 2^64 - 1. */
function wholeKey(number) {
    const value = BigInt(number);
    return isOfType(value, value < 0n ? "i64" : "u64") ? value : fail(`'${value}' is not of type u64`);
}

/* As of integers, a number that is too large is an error, and not infinity. */
function floatKey(number, type) {
    if (typeof number === "bigint") return typed(encoder.encode(String(number)), type);
    const isLost = type === "f32" && Number.isFinite(number) && !Number.isFinite(Math.fround(number));
    return isLost ? fail(`'${number}' is not of type ${type}`) : float(number, type);
}

function separatorText(separator) {
    return Array.from(separator, (byte) =>
        byte === 9 ? "\\t"
            : byte > 32 && byte < 127 && byte !== 92 ? String.fromCharCode(byte)
                : `\\x${byte.toString(16).padStart(2, "0")}`).join("");
}

/* The form as options of the command. */
export function formText(form) {
    return [
        form.flags & STRIP_CR ? "--strip-cr" : "",
        form.field !== 0 ? `-t ${separatorText(form.separator)} -F ${form.field}` : "",
        form.flags & FOLD_CASE ? "--fold-case" : "",
        form.flags & HEX ? "--hex" : "",
        form.flags & PREHASHED ? "--prehashed" : "",
        form.type !== 0 ? `--as ${KEY_TYPES[form.type]}` : "",
    ].filter((part) => part !== "").join(" ");
}
