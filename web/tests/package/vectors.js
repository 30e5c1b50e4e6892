/* vectors.js - reads the vectors: see tests/vectors/README.md */
import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { VECTORS } from "./helper.js";

/** The rows of a file of tab-separated columns. */
export function manifest(path) {
    const lines = readFileSync(path, "utf8").split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const names = lines[0].split("\t");
    return lines.slice(1).map((line) => {
        const cells = line.split("\t");
        return Object.fromEntries(names.map((name, i) => [name, cells[i] ?? ""]));
    });
}

function keyOf(line, ending) {
    const text = () => line.toString("latin1");
    if (ending === ".hex") return new Uint8Array(Buffer.from(text(), "hex"));
    if (ending === ".i32") return new Uint8Array(new Int32Array([Number(text())]).buffer);
    if (ending === ".i64" || ending === ".u64") {
        return new Uint8Array(BigUint64Array.of(BigInt.asUintN(64, BigInt(text()))).buffer);
    }
    return new Uint8Array(line);
}

const known = new Map();

/** The keys, as bytes, of a file, or of several that are joined by "+". */
export function readKeys(names) {
    if (!known.has(names)) known.set(names, names.split("+").flatMap(readFile));
    return known.get(names);
}
function readFile(name) {
    const bytes = readFileSync(join(VECTORS, name)), keys = [];
    for (let at = 0, end; at < bytes.length; at = end + 1) {
        end = bytes.indexOf(10, at);
        if (end < 0) end = bytes.length;
        keys.push(keyOf(bytes.subarray(at, end), extname(name)));
    }
    return keys;
}

export const readBytes = (name) => new Uint8Array(readFileSync(join(VECTORS, name)));
export const readText = (name) => readFileSync(join(VECTORS, name), "utf8");
