/* format.js - numbers as the command prints them */

const BYTES = [" bytes", " KiB", " MiB", " GiB", " TiB"];

/** 1,000,000 */
export const count = (number) => Math.round(number).toLocaleString("en-US");

/** 1.5M, as a person types it. */
export function shortCount(number) {
    let unit = 0;
    while (number >= 999.5 && unit < 4) {
        number /= 1000;
        unit++;
    }
    return Number(number.toPrecision(3)) + ["", "K", "M", "G", "T"][unit];
}

/** 1.14 MiB */
export function bytes(number) {
    let unit = 0;
    while (number >= 1023.5 && unit < BYTES.length - 1) {
        number /= 1024;
        unit++;
    }
    const decimals = unit === 0 ? 0 : number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
    return number.toFixed(decimals) + BYTES[unit];
}

/** 9.64 */
export const bits = (number) => (number >= 1000 ? count(number) : number.toFixed(2));

/** 1 %, 0.0371 %, 3.35e-7: three digits at most. */
export function rate(fpr) {
    if (!(fpr > 0)) return "0";
    if (fpr < 9.995e-5) return Number(fpr.toPrecision(3)).toExponential().replace("e+", "e");
    return `${Number((100 * fpr).toPrecision(3))} %`;
}

/** 51.8 % */
export const share = (part) => `${(100 * part).toFixed(1)} %`;

/** 1 in 100 */
export function odds(fpr) {
    if (!(fpr > 0)) return "never";
    return fpr > 0.2 ? `1 in ${(1 / fpr).toPrecision(2)}` : `1 in ${count(1 / fpr)}`;
}

/** What a person types: 1M, 64Ki, 1 %, 1/1000.  NaN if it is no number. */
export function parseCount(text) {
    const match = /^\s*([\d.,_ ]+?)\s*(?:([KMGT])(i?)B?)?\s*$/i.exec(text);
    if (match === null) return NaN;
    const [, digits, unit = "", binary = ""] = match;
    const scale = (binary === "" ? 1000 : 1024) ** ("KMGT".indexOf(unit.toUpperCase()) + 1);
    const number = Number(digits.replace(/[, _]/g, "")) * (unit === "" ? 1 : scale);
    return Number.isFinite(number) ? Math.round(number) : NaN;
}
export function parseRate(text) {
    const match = /^\s*([\d.eE+-]+)\s*(%|\/\s*([\d.eE+-]+))?\s*$/.exec(text);
    if (match === null) return NaN;
    const number = Number(match[1]);
    if (match[2] === undefined) return number;
    return match[2] === "%" ? number / 100 : number / Number(match[3]);
}
