/**
 * Bloom, blocked Bloom, counting, cuckoo, xor, binary fuse, ribbon and growing filters.
 *
 * A filter answers "is this key in the set?" from a few bits per key. `false` is always right; `true` is wrong at a
 * false positive rate (`fpr`) that you choose. The same keys and options give the same bytes as the C library, the
 * command and the Python package.
 */

/** The kind of a filter. */
export type Kind = "bloom" | "block" | "counting" | "cuckoo" | "xor" | "fuse" | "ribbon" | "growing";

/** What a filter must support: without `kind`, the planner chooses by it. */
export type Need = "add" | "remove" | "grow" | "merge" | "static";

/** How text becomes the bytes of a key, as the option `--as` of the command. */
export type KeyType = "bytes" | "utf16" | "i32" | "i64" | "u64" | "f32" | "f64";

/**
 * A key: text (as UTF-8), bytes, or an integer (8 bytes, little-endian, two's complement: as `--as i64` and `--as u64`
 * of the command). A number must be a safe integer. In a filter with a key form (`keyType`, `foldCase`, or the form that
 * its file has), text is first made a key as the command would, and a number is stored in the type of the filter's keys;
 * with "f32" and "f64" it may be any number.
 */
export type Key = string | Uint8Array | number | bigint;

/** Many keys without an object for each: key `i` is `bytes.subarray(offsets[i], offsets[i + 1])`. */
export interface PackedKeys {
    readonly bytes: Uint8Array;
    /** One number more than there are keys, ascending. */
    readonly offsets: Uint32Array;
}

/** The bytes of a file. */
export type Bytes = ArrayBufferView | ArrayBuffer;

/** Many keys. */
export type Keys = Iterable<Key> | BigInt64Array | BigUint64Array | PackedKeys;

/** Options of a new filter. What contradicts each other, or what the kind cannot do, is an error. */
export interface Options {
    /** Default: the planner chooses by `needs`. Without `capacity`, `Filter.create` makes a growing filter. */
    kind?: Kind;
    /** Default: `Filter.create` makes a filter to which keys can be added, `Filter.build` a static one. */
    needs?: Need | readonly Need[];
    /**
     * Distinct keys that the filter is sized for. `Filter.build` counts the keys by default; `Filter.create` needs it
     * unless the filter grows or has `bits`.
     */
    capacity?: number;
    /** False positive rate, between 0 and 1. Default: 0.01, or what `bytes` allows. */
    fpr?: number;
    /** Instead of `fpr`, with `capacity`: the size; the filter gets the lowest rate that fits. */
    bytes?: number;
    /** `bloom`, `counting`: the exact number of bits (counters). */
    bits?: number;
    /** `bloom`, `counting`: the exact number of hash functions. */
    hashes?: number;
    /** `fuse`: slots per key, 3 or 4. Default: 4, the smaller filter. */
    arity?: 3 | 4;
    /** `growing`: the kind of its stages. Default: block, or bloom if the rate is too low for it. */
    stage?: "block" | "bloom" | "counting";
    /** Seed of the hash function: a safe integer or 64 bits. Default: 0. */
    seed?: number | bigint;
    /** 16 secret bytes: keyed mode. Nobody who does not know them can choose keys that collide. */
    secret?: Uint8Array;
    /** How text becomes a key; stored with the filter. */
    keyType?: KeyType;
    /** Folds ASCII capitals of text to lower case; stored with the filter. */
    foldCase?: boolean;
    /** Create a filter of another system, sized as that system does: "guava", or "leveldb:bits=10". */
    format?: string;
}

/** Options of `Filter.open` and `Container.open`. */
export interface OpenOptions {
    /** Default: detected from the content. */
    format?: string;
    /** The filter's secret, if it is keyed. */
    secret?: Uint8Array;
    /** Of bytes that hold several filters: the name of one. */
    part?: string;
}

/** The parameters and the state of a filter: what `tamis info --json` prints, in camel case. */
export interface Info {
    /** "tamis", or a compatible format. */
    readonly format: string;
    readonly kind: Kind;
    /** Number of keys: counted if the format counts them, otherwise estimated. */
    readonly keys: number;
    /** Estimated number of distinct keys; exact for static kinds. */
    readonly distinct: number;
    /** One standard deviation of that estimate; 0: exact. */
    readonly distinctError: number;
    /** Adds less removes, repeats included; 0 if the format does not count them. */
    readonly adds: number;
    /** Distinct keys that the filter was sized for; 0: unknown. */
    readonly capacity: number;
    /** Size of the encoded filter, with header and checksums. */
    readonly bytes: number;
    /** Size of the table alone. */
    readonly tableBytes: number;
    readonly bitsPerKey: number;
    /** Bits, slots or counters that a lookup reads. */
    readonly hashes: number;
    /** Bits of a fingerprint or counter; 0 if there is none. */
    readonly width: number;
    /** growing: stages; static kinds: shards; otherwise 1. */
    readonly stages: number;
    /** Share of bits that are set, or of counters or slots in use. */
    readonly fill: number;
    /** The promised false positive rate; 0: unknown. */
    readonly fprTarget: number;
    /** The rate that is expected now, from the fill. */
    readonly fprNow: number;
    /** Distinct keys that still fit the promise; Infinity: it grows. */
    readonly headroom: number;
    readonly overCapacity: boolean;
    /** "xxh3", "siphash-2-4", "none", or another system's hash. */
    readonly hasher: string;
    readonly seed: bigint;
    readonly keyed: boolean;
    /** Identifies the secret without revealing it; 0n: not keyed. */
    readonly keyId: bigint;
    /** The command's options for how a record becomes a key; "": keys are used as they are. */
    readonly keyOptions: string;
    /** The length that keys must have; 0: any. */
    readonly keyBytes: number;
    /** What this filter supports. */
    readonly add: boolean;
    readonly remove: boolean;
    readonly merge: boolean;
    readonly grow: boolean;
    readonly static: boolean;
    /** A remark on a filter of a compatible format. */
    readonly note: string | null;
}

/** What a kind takes for a number of keys. */
export interface Sizing<Name extends string = Kind> {
    readonly kind: Name;
    readonly bitsPerKey: number;
    /** Size of the encoded filter. */
    readonly bytes: number;
    /** Bits, slots or counters that a lookup reads. */
    readonly hashes: number;
    /** Bits of a fingerprint or counter; 0 if there is none. */
    readonly width: number;
    /** The expected false positive rate, at `capacity` keys, ... */
    readonly fpr: number;
    /** ... at half of them ... */
    readonly fprAtHalf: number;
    /** ... and at twice as many; 1: it cannot hold them. */
    readonly fprAtDouble: number;
    /** Cache lines that a lookup reads, on average. */
    readonly cacheLines: number;
    /** Memory for building it, without the keys. */
    readonly buildBytes: number;
    readonly static: boolean;
    readonly remove: boolean;
    readonly grow: boolean;
    readonly merge: boolean;
}

/** What `tamis plan --json` prints, in camel case, and the width. */
export interface Plan {
    readonly n: number;
    readonly fpr: number;
    /** The size that was given, if it was. */
    readonly size?: number;
    /** "" if no kind fits. */
    readonly choice: Kind | "";
    readonly why: string;
    /** The command that builds the filter; absent if no kind fits. */
    readonly command?: string;
    /** Bits and hash functions of a textbook Bloom filter; absent if `bytes` was given. */
    readonly classicBits?: number;
    readonly classicHashes?: number;
    /** The theoretical minimum, log2(1 / fpr); absent if `bytes` was given. */
    readonly boundBitsPerKey?: number;
    readonly families: readonly Sizing[];
}

export interface PlanOptions {
    /** Number of keys. */
    n: number;
    /** Instead of `fpr`: the size. */
    bytes?: number;
    /** False positive rate. Default: 0.01. */
    fpr?: number;
    /** Default: all keys are known and none is added later, as `tamis build` assumes. */
    needs?: Need | readonly Need[];
}

/** One filter, or a place for one, in a container. */
export interface Part {
    readonly name: string;
    /** The format of the filter. */
    readonly format: string;
    /** Where it begins in the file. */
    readonly offset: number;
    /** 0: there is no filter here. */
    readonly bytes: number;
    /** Parquet: the row group. */
    readonly rowGroup: number;
}

/** An error of the library: `status` is "E_FULL", "E_CHECKSUM", ... */
export class TamisError extends Error {
    constructor(status: string, message: string);
    readonly name: "TamisError";
    readonly status: string;
    /** Of addMany, hasMany and removeMany: the number of keys that were processed. */
    readonly done?: number;
}

/** What decides when an equation of cells holds: see `Cell`. */
export type CellRule = "set" | "equal" | "xor" | "parity" | "always";

/**
 * A range of bits of the table that decides a lookup. Cells with equal `group` and `equation` form an equation; the key
 * is possibly in the set if all equations of at least one group hold. The table is that of the .tamis file: its bytes
 * from offset 192 on.
 */
export interface Cell {
    /** Where it begins: bit `b` of the table is bit `b % 8` of byte `b / 8`. */
    readonly bit: number;
    /** Its length, 0 to 64; its value is little-endian. */
    readonly bits: number;
    /** growing: the stage. */
    readonly group: number;
    readonly equation: number;
    /**
     * set: the value is not 0. equal: it is `expected`. xor: the xor of the values of the equation is `expected`.
     * parity: of the bits that `mask` selects in the cells of the equation, an odd number is 1 if `expected` is 1.
     * always: it always holds.
     */
    readonly rule: CellRule;
    readonly mask: bigint;
    readonly expected: bigint;
}

/** A filter. Its memory is freed when it is collected as garbage, or at once by `free()`. */
export class Filter {
    private constructor();
    /** An empty filter to which keys can be added. */
    static create(options?: Options): Filter;
    /** A filter of these keys, of any kind. Without `capacity` it is sized for their number. */
    static build(keys: Keys, options?: Options): Filter;
    /** Reads an encoded filter: .tamis, or another system's. The bytes are copied. */
    static open(bytes: Bytes, options?: OpenOptions): Filter;

    /** Adds a key. Returns whether it was definitely not in the filter before. */
    add(key: Key): boolean;
    /** Is the key possibly in the set? `false`: definitely not. */
    has(key: Key): boolean;
    /** Removes one occurrence of a key (counting, cuckoo). Returns false, and changes nothing, if it is not there. */
    remove(key: Key): boolean;
    /** An upper bound of how often the key is in the set (counting, cuckoo; other kinds: 0 or 1). */
    count(key: Key): number;
    /** The 64-bit hash of a key. */
    hash(key: Key): bigint;

    /**
     * Adds keys. After an error, `done` of the TamisError is the number of keys that were added. Element `i` of the result is 1 if key
     * `i` was definitely not in the filter before.
     */
    addMany(keys: Keys): Uint8Array;
    /** Queries keys. Element `i` of the result is 1 if key `i` is possibly in the set, 0 if it is definitely not. */
    hasMany(keys: Keys): Uint8Array;
    /** Removes keys. Element `i` of the result is 1 if key `i` was in the filter. */
    removeMany(keys: Keys): Uint8Array;

    /** Makes this filter the union of both. They must have equal kind, size, hash and seed. */
    union(other: Filter): this;
    /** Makes this filter the intersection of both. */
    intersect(other: Filter): this;
    /** A copy. */
    clone(): Filter;
    /** A filter of another kind (counting to bloom), or in another format (`{format: "guava"}`). */
    convert(to: { kind?: Kind; format?: string }): Filter;

    /** The bytes of the filter: a .tamis file, or its compatible format. */
    encode(): Uint8Array;
    /** Its parameters and state. */
    info(): Info;

    /** The cells of the table that a lookup of the key reads, for programs that show how a filter works. */
    cells(key: Key): Cell[];

    /** Frees the memory. The filter cannot be used afterwards. */
    free(): void;
}

/** A file with several filters: a table of LevelDB or RocksDB, a Parquet file. */
export class Container {
    private constructor();
    /** Reads a file. The bytes are copied. */
    static open(bytes: Bytes, options?: Omit<OpenOptions, "part">): Container;
    /** "leveldb-table", "rocksdb-table" or "parquet". */
    readonly format: string;
    parts(): Part[];
    /** The filter of a part, by its index or its name. */
    filter(part: number | string): Filter;
    /** Is the key possibly in the file, or in one of its parts? */
    has(key: Key, part?: string): boolean;
    /** Frees the memory. */
    free(): void;
}

/** Compares the kinds for `n` keys and chooses one. */
export function plan(options: PlanOptions): Plan;
/** The size of the filter that `Filter.create` or `Filter.build` make of these options. */
export function size(options: Options & { format?: undefined }): Sizing;
/** The size of a filter of another system: `kind` is the name of the format. */
export function size(options: Options & { format: string }): Sizing<string>;
/** The expected false positive rate of the filter that `options` describe when it holds `keys` keys; 1: it cannot. */
export function expectedFpr(options: Options, keys: number): number;
/** The formats that these bytes could have, most certain first. */
export function detect(bytes: Bytes): string[];
/** Packs keys once, for several calls. */
export function pack(keys: Keys): PackedKeys;

export interface KindInfo {
    readonly name: Kind;
    readonly description: string;
    readonly add: boolean;
    readonly remove: boolean;
    readonly merge: boolean;
    readonly grow: boolean;
    readonly static: boolean;
}
/** The kinds. */
export const kinds: readonly KindInfo[];

export interface FormatInfo {
    readonly name: string;
    readonly description: string;
    /** Names of its parameters: "bits", ... */
    readonly parameters: readonly string[];
    /** Can filters of this format be created? */
    readonly create: boolean;
}
/** The formats, "tamis" first. */
export const formats: readonly FormatInfo[];

/** The version of the library: "0.1.0". */
export const version: string;
/** Does this engine run the module with SIMD? */
export const simd: boolean;
