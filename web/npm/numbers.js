/* numbers.js - sizes and rates as the command prints them */

const BYTES = [" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"];

/** 1,000,000 */
export const textCount = (number) => Math.round(number).toLocaleString("en-US");

/** 1.14 MiB: three digits and a unit. */
export function textBytes(number) {
    if (number < 1023.5) return `${Math.round(number)} byte${Math.round(number) === 1 ? "" : "s"}`;
    let unit = -1;
    for (; number >= 1023.5 && unit < BYTES.length - 1; unit++) number /= 1024;
    return number.toFixed(number < 9.995 ? 2 : number < 99.95 ? 1 : 0) + BYTES[unit];
}

/** 1 %, 0.0371 %, 3.35e-7: three digits at most. */
export function textRate(fpr) {
    if (!(fpr >= 2.2250738585072014e-308)) return "0"; /* as the command, which prints no denormal rates */
    if (fpr < 9.995e-5) return Number(fpr.toPrecision(3)).toExponential();
    return `${Number((100 * fpr).toPrecision(3))} %`;
}
