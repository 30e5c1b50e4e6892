/* plan.js - the size of filters, and the choice of a kind: what `tamis plan --json` prints */
import { textBytes, textCount, textRate } from "./numbers.js";
import { TamisError } from "./wasm.js";

export const NEEDS = { remove: 1, grow: 2, merge: 4, static: 8, add: 16 };
const CAN = { add: 1, remove: 2, merge: 4, grow: 16, static: 64 };
const DEFAULT_FPR = 0.01;

export const needsOf = (needs) =>
    [needs === undefined ? [] : needs].flat().reduce((bits, need) => {
        if (!Object.hasOwn(NEEDS, need)) {
            throw new TypeError(`no need is named '${need}': ${Object.keys(NEEDS).join(", ")}`);
        }
        return bits | NEEDS[need];
    }, 0);

/** A filter with one of these needs has a fixed size. */
export const FIXED = NEEDS.remove | NEEDS.merge | NEEDS.static;

export function checkWhole(options, names) {
    for (const name of names) {
        const value = options[name];
        if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) continue;
        throw new TypeError(`${name} must be a whole number, not ${String(value)}`);
    }
}

/** The abilities of a kind or a filter. */
export const abilities = (caps) => ({
    add: (caps & CAN.add) !== 0,
    remove: (caps & CAN.remove) !== 0,
    merge: (caps & CAN.merge) !== 0,
    grow: (caps & CAN.grow) !== 0,
    static: (caps & CAN.static) !== 0,
});

/**
 * An estimate with the 9 digits that the command prints: further ones depend on the machine's mathematics. A tie, as of
 * 2^-14, goes to the even digit, as in C.
 */
export function estimate(number) {
    const digits = number.toExponential(60);
    const tie = /^(\d\.\d{7}[02468])50*(e.*)$/.exec(digits);
    return tie === null ? Number(number.toPrecision(9)) : Number(tie[1] + tie[2]);
}

export class Planner {
    constructor(wasm, kinds, request) {
        this.wasm = wasm;
        this.kinds = kinds;
        this.request = request;
    }

    /* A sizing, or undefined if the kind cannot do it; with `about`, that is an error. */
    size(options, about) {
        const { wasm } = this;
        return wasm.withRequest(options, () => {
            const status = wasm.x.web_size();
            if (status !== 0 && about === undefined) return undefined;
            wasm.check(status, about);
            return wasm.readSize();
        });
    }

    sizing(kind, found) {
        const { add: _add, ...can } = abilities(kind.caps);
        return {
            kind: kind.name,
            bitsPerKey: estimate(found.bitsPerKey),
            bytes: found.bytes,
            hashes: found.hashes,
            width: found.width,
            fpr: estimate(found.fpr),
            fprAtHalf: estimate(found.fprAtHalf),
            fprAtDouble: estimate(found.fprAtDouble),
            cacheLines: estimate(found.cacheLines),
            buildBytes: found.buildBytes,
            ...can,
        };
    }

    /* What `tamis build` needs that has all keys: a static kind if one has this rate. */
    needsOfKnownKeys(options) {
        const needs = NEEDS.static;
        return this.size({ ...options, needs }) !== undefined ? needs : NEEDS.add;
    }

    advise(options) {
        const { wasm } = this;
        return wasm.withRequest(options, () => {
            const status = wasm.x.web_plan();
            const why = wasm.text(wasm.x.web_text() >>> 0);
            if (status !== 0 && why === "") wasm.check(status);
            return { choice: status === 0 ? wasm.number(0) : 0, why };
        });
    }

    plan({ n, fpr, bytes, needs }) {
        checkPlan(n, fpr, bytes);
        const options = { capacity: n, bytes: bytes ?? 0, fpr: fpr ?? (bytes === undefined ? DEFAULT_FPR : 0) };
        options.needs = needsOf(needs) || this.needsOfKnownKeys(options);
        const advice = this.advise(options);
        const found = this.kinds.map((kind) => ({ kind, size: this.size({ ...options, kind: kind.value }) }));
        const chosen = found.find(({ kind, size }) => kind.value === advice.choice && size !== undefined);
        const rate = options.fpr > 0 ? options.fpr : chosen === undefined ? 0 : chosen.size.fpr;
        return {
            n,
            fpr: options.fpr > 0 ? rate : estimate(rate),
            ...(bytes === undefined ? {} : { size: bytes }),
            choice: chosen?.kind.name ?? "",
            why: chosen !== undefined || advice.choice === 0 ? advice.why : this.whyNone(options, advice.choice),
            ...(chosen === undefined ? {} : { command: this.command(options, chosen) }),
            ...(options.fpr > 0 ? this.classic(n, options.fpr) : {}),
            families: found.filter(({ size }) => size !== undefined)
                .map(({ kind, size }) => this.sizing(kind, size)),
        };
    }

    classic(n, fpr) {
        this.wasm.x.web_classic(n, fpr);
        return {
            classicBits: this.wasm.number(0),
            classicHashes: this.wasm.number(1),
            boundBitsPerKey: estimate(-Math.log2(fpr)),
        };
    }

    whyNone(options, choice) {
        const keys = `${textCount(options.capacity)} key${options.capacity === 1 ? "" : "s"}`;
        if (options.bytes !== 0) return `no filter of ${keys} that meets the needs fits in ${textBytes(options.bytes)}`;
        return this.statusOf({ ...options, kind: choice }) === "E_FPR_TOO_LOW"
            ? `no kind that meets the needs reaches a false positive rate of ${textRate(options.fpr)}`
            : `a filter of ${textCount(options.capacity)} keys would be larger than this machine can address`;
    }
    statusOf(options) {
        try {
            this.size(options, "");
            return "OK";
        } catch (error) {
            return error.status;
        }
    }

    command(options, { kind, size }) {
        const { static: isStatic, grow } = abilities(kind.caps);
        const rate = options.fpr > 0 ? exact(options.fpr) : this.rateThatFits(options, kind, size.fpr);
        const capacity = isStatic || grow ? "" : ` -n ${options.capacity}`;
        return `tamis build -k ${kind.name} -p ${rate}${capacity} -o FILE.tamis KEYS.txt`;
    }

    /* The lowest rate of three digits at which the filter fits in the size: a filter built for a
     * rate keeps it with a margin. */
    rateThatFits(options, kind, expected) {
        const next = (fpr) => rateAbove(expected > 0 ? fpr : 1.05 * fpr);
        for (let fpr = expected > 0 ? rateAbove(expected) : DEFAULT_FPR; ; fpr = next(fpr)) {
            const text = exact(Number(fpr.toPrecision(3)));
            fpr = Number(text);
            const size = this.size({ ...options, kind: kind.value, bytes: 0, fpr });
            if ((size !== undefined && size.bytes <= options.bytes) || next(fpr) >= 1) return text;
        }
    }
}

function checkPlan(n, fpr, bytes) {
    if (!Number.isSafeInteger(n) || n < 0) throw new TypeError(`n must be a whole number of keys, not ${n}`);
    if (fpr !== undefined && bytes !== undefined) {
        throw new TypeError("fpr and bytes contradict each other: give the rate or the size, not both");
    }
    if (fpr !== undefined && !(fpr > 0 && fpr < 1)) {
        throw new TamisError("E_FPR", "the false positive rate must be greater than 0 and less than 1");
    }
    if (bytes !== undefined && !(Number.isSafeInteger(bytes) && bytes > 0)) {
        throw new TypeError(`bytes must be a positive whole number, not ${bytes}`);
    }
}

/* The next rate of three digits. */
function rateAbove(fpr) {
    const unit = 10 ** (Math.floor(Math.log10(fpr)) - 2);
    return (Math.floor(fpr / unit + 1e-6) + 1) * unit;
}

/* 0.01, 1e-6: as the command writes a rate. */
function exact(number) {
    const exponent = Math.floor(Math.log10(number));
    return exponent < -4 ? number.toExponential() : String(number);
}
