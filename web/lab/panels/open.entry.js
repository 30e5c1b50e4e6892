/* open.entry.js - one opened file: its filter, or why there is none
 *
 * An entry is { name, read, format, secret, part, size, problem, formats, container, parts, filter, keys, readAs }.
 * `read()` gives the bytes; `problem` is { status, message } and `formats` what the content could be. */
import { PLAIN, keyOfText } from "../../npm/form.js";

const SECRET = /^[0-9a-fA-F]{32}$/;
const TYPES = ["bytes", "utf16", "i32", "i64", "u64", "f32", "f64"];
const HEX = 1;

/** How the text of the query becomes a key, where the file does not say it. */
export const READ_AS = ["bytes", "hex", "i64", "u64", "i32", "f64", "f32", "utf16"];

/** An entry for a file, or for bytes that a function gives. */
export function entryOf(source) {
    const read = source.read ?? (async () => new Uint8Array(await source.arrayBuffer()));
    return { name: source.name, read, keys: source.keys ?? "", readAs: source.readAs ?? "" };
}

/** Frees what the entry holds in the module's memory. */
export function closeEntry(entry) {
    entry.filter?.free();
    entry.container?.free();
    entry.filter = entry.container = entry.parts = undefined;
}

/** The secret of 32 hexadecimal digits, as bytes; undefined if it is not one. */
export function secretOf(text) {
    if (!SECRET.test(text.trim())) return undefined;
    return Uint8Array.from(text.trim().match(/../g), (digits) => parseInt(digits, 16));
}

/** What went wrong: { status, message }, with a status for what is no error of the library, too. */
export function problemOf(tamis, error) {
    if (error instanceof tamis.TamisError) return { status: error.status, message: error.message };
    if (error instanceof RangeError) return { status: "E_NOMEM", message: error.message };
    if (error instanceof DOMException) return { status: "E_IO", message: error.message };
    return { status: "E_UNKNOWN", message: error.message };
}

const openOptions = ({ format, secret }) => ({ ...(format ? { format } : {}), ...(secret ? { secret } : {}) });

/* A file of several filters: its first filter is shown. */
function openContainer(tamis, entry, bytes) {
    entry.container = tamis.Container.open(bytes, openOptions(entry));
    entry.parts = entry.container.parts();
    const first = entry.parts.findIndex((part) => part.bytes > 0);
    if (first < 0) throw new tamis.TamisError("E_NO_PART", "the file holds no filter");
    choosePart(entry, first);
}

/** Shows another part of a container. */
export function choosePart(entry, index) {
    const filter = entry.container.filter(index);
    entry.filter?.free();
    entry.filter = filter;
    entry.part = index;
}

function openBytes(tamis, entry, bytes) {
    try {
        entry.filter = tamis.Filter.open(bytes, openOptions(entry));
    } catch (error) {
        if (!(error instanceof tamis.TamisError) || error.status !== "E_PART") throw error;
        openContainer(tamis, entry, bytes);
    }
}

/** Opens the entry, with its format and secret if it has them; afterwards it has a filter or a problem. */
export async function openEntry(tamis, entry) {
    closeEntry(entry);
    entry.problem = entry.formats = undefined;
    try {
        const bytes = await entry.read();
        entry.size = bytes.length;
        if (entry.format === undefined) entry.formats = tamis.detect(bytes);
        openBytes(tamis, entry, bytes);
    } catch (error) {
        closeEntry(entry);
        entry.problem = problemOf(tamis, error);
    }
}

/** Does the file leave open how text becomes a key? */
export const isFormOpen = (info) => info.keyOptions === "" && info.hasher !== "none";

function defaultReadAs({ keyBytes }, line) {
    if (keyBytes !== 8) return "bytes";
    return line.trim().startsWith("-") ? "i64" : "u64";
}

/* The key of a line: the filter's own form, or as the reader chose. */
function keyOf(entry, info, line) {
    if (!isFormOpen(info)) return line;
    const readAs = entry.readAs || defaultReadAs(info, line);
    if (readAs === "bytes") return line;
    const flags = readAs === "hex" ? HEX : 0, type = Math.max(0, TYPES.indexOf(readAs));
    return keyOfText({ ...PLAIN, flags, type }, line.trim());
}

/** The answer for a line: { found, inFile } or { problem }. */
export function queryLine(tamis, entry, info, line) {
    try {
        const key = keyOf(entry, info, line);
        return { found: entry.filter.has(key), inFile: entry.container?.has(key) };
    } catch (error) {
        return { problem: problemOf(tamis, error) };
    }
}

/** The filter as the bytes of a .tamis file. */
export function asTamis(entry, info) {
    if (info.format === "tamis") return entry.filter.encode();
    const converted = entry.filter.convert({ format: "tamis" });
    try {
        return converted.encode();
    } finally {
        converted.free();
    }
}
