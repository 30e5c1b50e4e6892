/* use.ts - every function of the package, and wrong uses of them */
import {
    Container, Filter, TamisError, detect, expectedFpr, formats, kinds, pack, plan, simd, size, version,
    type Bytes, type Cell, type CellRule, type FormatInfo, type Info, type Key, type KeyType, type Keys, type Kind, type KindInfo, type Need,
    type OpenOptions, type Options, type PackedKeys, type Part, type Plan, type PlanOptions, type Sizing,
} from "tamis";
import * as core from "tamis/core";

const options: Options = {
    kind: "bloom", needs: ["add", "merge"], capacity: 1000, fpr: 0.01, bits: 5, hashes: 3, seed: 5n, secret: new Uint8Array(16), keyType: "i64", foldCase: true,
};
const filter: Filter = Filter.create(options), grows: Filter = Filter.create();
const built: Filter = Filter.build(["a", 1, 2n, new Uint8Array(3)], { kind: "fuse", arity: 3, needs: "static" });
const key: Key = "a", added: boolean = filter.add(key), found: boolean = filter.has(5n), removed: boolean = filter.remove(5);
const count: number = filter.count(new Uint8Array(4)), hash: bigint = filter.hash("a");

const packed: PackedKeys = pack(["a", new Uint8Array(2), 3, 4n]), other: PackedKeys = { bytes: packed.bytes, offsets: packed.offsets };
const many: Keys[] = [["a"], new Set(["a", 5n]), packed, other, BigInt64Array.of(1n), new BigUint64Array(3), ["a"].values(), new Int32Array(3)];
for (const keys of many) {
    const results: Uint8Array[] = [filter.addMany(keys), filter.hasMany(keys), filter.removeMany(keys)];
    Filter.build(keys).free();
    void results;
}

const same: Filter = filter.union(grows).intersect(built), copy: Filter = filter.clone();
const converted: Filter = filter.convert({ kind: "bloom" }).convert({ format: "tamis" });
const bytes: Uint8Array = filter.encode(), inputs: Bytes[] = [bytes, new ArrayBuffer(8), new DataView(new ArrayBuffer(8))];
const how: OpenOptions = { format: "guava", secret: new Uint8Array(16), part: "0/a" };
for (const input of inputs) Filter.open(input, how);
const info: Info = filter.info(), kind: Kind = info.kind, note: string | null = info.note, seed: bigint = info.seed;
const cells: Cell[] = filter.cells(key), rule: CellRule = cells[0]!.rule, mask: bigint = cells[0]!.mask;

const container: Container = Container.open(bytes, { format: "parquet" }), parts: Part[] = container.parts(), format: string = container.format;
const part: Filter = container.filter(0), byName: Filter = container.filter("0/a"), inPart: boolean = container.has("a", "0/a") || container.has(5);
container.free();

const need: Need = "remove", wanted: PlanOptions = { n: 1000, fpr: 0.01, needs: [need] }, planned: Plan = plan(wanted);
const choice: Kind | "" = planned.choice, sizing: Sizing | undefined = planned.families[0], why: string = planned.why, command: string | undefined = planned.command;
const sized: Sizing = size({ kind: "bloom", capacity: 5, bytes: 100 }), sizedKind: Kind = sized.kind, guava: string = size({ format: "guava", capacity: 5 }).kind;
const rate: number = expectedFpr(options, 1000), names: string[] = detect(new ArrayBuffer(3));
const one: KindInfo | undefined = kinds[0], two: FormatInfo | undefined = formats[0], three: readonly string[] | undefined = two?.parameters;
const texts: string[] = [version], has: boolean = simd, type: KeyType = "utf16";

try {
    filter.add("a");
} catch (error) {
    if (error instanceof TamisError) {
        const { status, done, message }: { status: string; done?: number; message: string } = error;
        void [status, done, message];
    }
}

const small: core.Filter = core.Filter.create({ capacity: 5 }), smallPlan: core.Plan = core.plan({ n: 5 });
small.addMany(core.pack(["a"]));
const again: [string, number, number] = [core.version, core.kinds.length, core.size({ kind: "xor", capacity: 5 }).bytes + core.expectedFpr({}, 3)];
const isError: boolean = new core.TamisError("E_X", "text") instanceof Error;

/* ---- wrong uses */

// @ts-expect-error filters come from create, build and open
new Filter();
// @ts-expect-error likewise
new Container();
// @ts-expect-error no such kind
Filter.create({ kind: "blom" });
// @ts-expect-error no such option
Filter.create({ colour: "red" });
// @ts-expect-error not a number
Filter.create({ capacity: "10" });
// @ts-expect-error no such need
Filter.create({ needs: ["speed"] });
// @ts-expect-error 3 or 4
Filter.create({ arity: 5 });
// @ts-expect-error not text
Filter.create({ secret: "secret" });
// @ts-expect-error stages are blocks or Bloom filters
Filter.create({ stage: "fuse" });
// @ts-expect-error a key is no object
filter.add({});
// @ts-expect-error nor null
filter.has(null);
// @ts-expect-error nor an array
filter.has(["a"]);
// @ts-expect-error many keys are no number
filter.hasMany(5);
// @ts-expect-error offsets are a Uint32Array
filter.hasMany({ bytes: new Uint8Array(1), offsets: [0, 1] });
// @ts-expect-error these are no keys
filter.addMany([{}]);
// @ts-expect-error not text
Filter.open("text");
// @ts-expect-error the bytes are missing
Filter.open();
// @ts-expect-error no such option
Filter.open(bytes, { kind: "bloom" });
// @ts-expect-error another filter is needed
filter.union();
// @ts-expect-error read-only
info.kind = "xor";
// @ts-expect-error read-only
planned.families[0] = sized;
// @ts-expect-error n is missing
plan({ fpr: 0.01 });
// @ts-expect-error the number of keys is missing
expectedFpr({ kind: "bloom", capacity: 10 });
// @ts-expect-error the size of a format names the format
const wrong: Kind = size({ format: "guava", capacity: 5 }).kind;
// @ts-expect-error core has no containers
core.Container;
// @ts-expect-error and no formats
core.formats;
// @ts-expect-error parts are numbers or text
container.filter(true);
// @ts-expect-error what is inside is no part of the interface
filter.at;

export { added, found, removed, count, hash, same, copy, converted, kind, note, seed, rule, mask, parts, format, part, byName, inPart, choice, sizing, why,
    command, sizedKind, guava, rate, names, one, three, texts, has, type, smallPlan, again, isError, wrong };
