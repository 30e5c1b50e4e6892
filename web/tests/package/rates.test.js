/* rates.test.js - the measured false positive rate of every kind
 *
 * Of 100,000 absent keys about n p are reported as present.  A test fails beyond 3.3 standard deviations of the binomial
 * distribution (99.9 %), so that with another seed one of a thousand right filters fails.  The seeds are fixed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DYNAMIC, KINDS, tamis, times } from "./helper.js";

const { Filter } = tamis;
const KEYS = 20_000, PROBES = times(100_000), DEVIATIONS = 3.3;
const keys = BigInt64Array.from({ length: KEYS }, (_, i) => BigInt(i) * 7919n);
const probes = BigInt64Array.from({ length: PROBES }, (_, i) => BigInt(i) * 104_729n + 1n << 20n);

const sum = (results) => results.reduce((total, one) => total + one, 0);
const deviation = (fpr) => DEVIATIONS * Math.sqrt(PROBES * fpr * (1 - fpr));

function check(filter, fpr, about) {
    assert.equal(sum(filter.hasMany(keys)), KEYS, `${about}: false negatives`);
    const found = sum(filter.hasMany(probes)), now = filter.info().fprNow;
    assert.ok(found <= PROBES * fpr + deviation(fpr), `${about}: ${found} of ${PROBES}`);
    assert.ok(Math.abs(found - PROBES * now) <= deviation(now) + 0.05 * PROBES * now + 3, `${about}: ${found} of ${PROBES}, expected ${now}`);
}

for (const kind of KINDS) {
    test(`${kind}: the rate of a built filter`, () => {
        for (const fpr of [0.3, 0.1, 0.01, 0.001]) check(Filter.build(keys, { kind, fpr }), fpr, `${kind}, ${fpr}`);
    });
}

test("the rate of filters with adds", () => {
    for (const kind of DYNAMIC) {
        const filter = Filter.create({ kind, capacity: KEYS, fpr: 0.01 });
        filter.addMany(keys);
        check(filter, 0.01, kind);
        const { distinct, distinctError, keys: counted } = filter.info();
        assert.ok(Math.abs(distinct - KEYS) <= Math.max(5 * distinctError, 0.02 * KEYS), `${kind}: ${distinct}`);
        assert.ok(Math.abs(counted - KEYS) <= 0.02 * KEYS, `${kind}: ${counted}`);
    }
});

test("growing without a capacity keeps its rate", () => {
    const filter = Filter.create({ fpr: 0.01 });
    assert.equal(filter.info().kind, "growing");
    for (let i = 0; i < KEYS; i += 500) filter.addMany(keys.subarray(i, i + 500));
    assert.ok(filter.info().stages > 1);
    check(filter, 0.01, "growing");
});

test("keyed filters, text, a size in bytes, and core", () => {
    check(Filter.build(keys, { secret: new Uint8Array(16).fill(7), fpr: 0.01 }), 0.01, "keyed");
    const bytes = Filter.create({ kind: "bloom", capacity: KEYS, bytes: 30_000 });
    bytes.addMany(keys);
    assert.ok(bytes.info().bytes <= 30_000);
    check(bytes, bytes.info().fprTarget || bytes.info().fprNow, "bytes");
    const text = Filter.build(Array.from(keys, String), { fpr: 0.01 });
    assert.ok(sum(text.hasMany(Array.from(probes, String))) <= PROBES * 0.01 + deviation(0.01));
});

test("over capacity is reported", () => {
    const filter = Filter.create({ kind: "bloom", capacity: 1000, fpr: 0.01 });
    filter.addMany(keys.subarray(0, 900));
    assert.equal(filter.info().overCapacity, false);
    filter.addMany(keys.subarray(900, 3000));
    assert.equal(filter.info().overCapacity, true);
    assert.ok(filter.info().fprNow > 0.05);
    const cuckoo = Filter.create({ kind: "cuckoo", capacity: 1000 });
    assert.throws(() => cuckoo.addMany(keys), ({ status, done }) => status === "E_FULL" && done >= 1000 && done < KEYS);
});
