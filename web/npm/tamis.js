/* tamis.js - filters, containers, sizes and plans over an instance of the WebAssembly module
 *
 * `bind` makes the package's interface from a compiled module; index.js and core.js load one. */
import { FOLD_CASE, KEY_TYPES, PLAIN, PREHASHED, formText, isPlain } from "./form.js";
import { Area, countOf, forEachPiece, keyBytes, pack } from "./keys.js";
import { FIXED, NEEDS, Planner, abilities, checkWhole, estimate, needsOf } from "./plan.js";
import { ACTION, SECRET_BYTES, TamisError, Wasm } from "./wasm.js";

export { TamisError };

const MERGE = { union: 0, intersection: 1 };
const INT64_MIN = -(2n ** 63n), INT64_MAX = 2n ** 63n - 1n;

/* What `new Filter` must be given: filters come from create, build and open. */
const INTERNAL = Symbol("internal");

const OPTIONS = new Set([
    "kind", "needs", "capacity", "fpr", "bytes", "bits", "hashes", "arity", "stage", "seed",
    "secret", "keyType", "foldCase", "format",
]);
const OPEN_OPTIONS = new Set(["format", "secret", "part"]);
const PLAN_OPTIONS = new Set(["n", "fpr", "bytes", "needs"]);
const CONVERT_OPTIONS = new Set(["kind", "format"]);

function checkNames(options, known, what) {
    if (options === null || typeof options !== "object") throw new TypeError(`${what}: options must be an object`);
    for (const name of Object.keys(options)) {
        if (!known.has(name)) throw new TypeError(`${what}: no option is named '${name}'`);
    }
    return options;
}
function checkText(value, name) {
    if (value === undefined || typeof value === "string") return;
    throw new TypeError(`${name} must be text, not ${value === null ? "null" : typeof value}`);
}
function checkSeed(seed) {
    if (typeof seed === "bigint" || Number.isSafeInteger(seed)) return BigInt.asUintN(64, BigInt(seed));
    throw new TypeError(`seed must be a whole number or a BigInt, not ${String(seed)}`);
}
function checkSecret(secret) {
    if (secret === undefined || (secret instanceof Uint8Array && secret.length === SECRET_BYTES)) return;
    throw new TypeError(`secret must be a Uint8Array of ${SECRET_BYTES} bytes`);
}
function bytesOf(input) {
    if (input instanceof ArrayBuffer) return new Uint8Array(input);
    if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    throw new TypeError("the encoded filter must be a Uint8Array or an ArrayBuffer");
}

export function bind(module) {
    const wasm = new Wasm(module);
    const { x } = wasm;
    const area = new Area(wasm);
    const kinds = listKinds();
    const formats = listFormats();
    const planner = new Planner(wasm, kinds);
    const registry = new FinalizationRegistry(({ free, at }) => free(at));

    /* ---- the lists */

    function listKinds() {
        const list = [];
        for (let value = x.tamis_kind_next(0); value !== 0; value = x.tamis_kind_next(value)) {
            list.push({
                value,
                name: wasm.text(x.tamis_kind_name(value)),
                description: wasm.text(x.tamis_kind_description(value)),
                caps: x.tamis_kind_caps(value),
            });
        }
        return list;
    }
    function listFormats() {
        const list = [];
        for (let i = 0, at; (at = x.tamis_format_at(i) >>> 0) !== 0; i++) {
            list.push(Object.freeze({
                name: wasm.text(at),
                description: wasm.text(x.tamis_format_description(at) >>> 0),
                parameters: wasm.text(x.tamis_format_parameters(at) >>> 0).split(",").filter(Boolean),
                create: x.tamis_format_can_create(at) !== 0,
            }));
        }
        return list;
    }
    function kindValue(name) {
        if (name === undefined) return 0;
        const kind = kinds.find((one) => one.name === name);
        if (kind !== undefined) return kind.value;
        throw new TamisError("E_KIND", `no kind is named '${name}': ${kinds.map((one) => one.name).join(", ")}`);
    }

    /* ---- options */

    function requestOf(options) {
        checkNames(options, OPTIONS, "filter");
        checkWhole(options, ["capacity", "bytes", "bits", "hashes", "arity"]);
        checkSecret(options.secret);
        checkFormat(options.format);
        const { fpr, keyType = "bytes", seed = 0 } = options;
        if (fpr !== undefined && typeof fpr !== "number") throw new TypeError(`fpr must be a number, not ${String(fpr)}`);
        if (fpr !== undefined && !(fpr > 0 && fpr < 1)) wasm.check(wasm.statusValue("E_FPR"), `fpr ${fpr}`);
        if (!KEY_TYPES.includes(keyType)) {
            throw new TypeError(`no key type is named '${keyType}': ${KEY_TYPES.join(", ")}`);
        }
        const values = { kind: kindValue(options.kind), stage: kindValue(options.stage), needs: needsOf(options.needs) };
        checkNeeds(options);
        return {
            ...options,
            ...values,
            type: KEY_TYPES.indexOf(keyType),
            flags: options.foldCase ? FOLD_CASE : 0,
            seed: checkSeed(seed),
        };
    }
    function checkNeeds({ kind, needs }) {
        const can = kind === undefined ? undefined : kinds.find(({ name }) => name === kind);
        for (const need of [needs ?? []].flat()) {
            if (can === undefined || need === "static" || abilities(can.caps)[need]) continue;
            throw new TamisError("E_ARGUMENT", `a ${kind} filter does not meet needs '${need}'`);
        }
    }
    /* Without a capacity a filter grows; a kind of fixed size needs one. */
    function completeRequest(request) {
        const kind = kinds.find(({ value }) => value === request.kind);
        const fail = (sentence) => {
            throw new TamisError("E_ARGUMENT", sentence);
        };
        if (request.bytes !== undefined) fail("bytes needs a capacity, the number of keys to expect");
        if (request.format !== undefined) fail(`format '${request.format}' needs a capacity`);
        if (kind === undefined) {
            if ((request.needs & FIXED) === 0) request.kind = kindValue("growing");
            else if ((request.needs & NEEDS.static) === 0) fail("filters that remove or merge have a fixed size: give a capacity");
        } else if (!abilities(kind.caps).grow && !abilities(kind.caps).static) {
            fail(`a ${kind.name} filter has a fixed size: give a capacity`);
        }
    }
    function checkFormat(format) {
        checkText(format, "format");
        const name = format?.split(":")[0];
        if (name === undefined || formats.some((one) => one.name === name)) return;
        throw new TamisError("E_ARGUMENT", `no format is named '${name}': ${formats.map((one) => one.name).join(", ")}`);
    }
    function openRequestOf(options) {
        checkNames(options, OPEN_OPTIONS, "open");
        checkFormat(options.format);
        checkText(options.part, "part");
        checkSecret(options.secret);
        return options;
    }

    /* ---- filters */

    /* Writes the bytes of a key that is used as it is; returns their number. */
    function writePlain(key) {
        if (typeof key === "string") return wasm.writeText(key);
        if (Number.isSafeInteger(key)) return wasm.writeInteger(key);
        if (typeof key === "bigint" && key >= INT64_MIN && key <= INT64_MAX) return wasm.writeBigInt(key);
        return wasm.writeBytes(keyBytes(PLAIN, key));
    }

    /* An object of the module, which is freed with its JavaScript object. */
    class Handle {
        #at;
        #free;
        constructor(key, at, free) {
            if (key !== INTERNAL) throw new TypeError("use create, build or open");
            this.#at = at;
            this.#free = free;
            registry.register(this, { free, at }, this);
        }
        static live(handle) {
            if (handle.#at !== 0) return handle.#at;
            throw new TamisError("E_ARGUMENT", "the filter has been freed");
        }
        free() {
            if (this.#at === 0) return;
            registry.unregister(this);
            this.#free.call(undefined, this.#at);
            this.#at = 0;
        }
    }
    const { live } = Handle;

    class Filter extends Handle {
        #form;
        #direct; /* keys are used as they are */

        static #make(at) {
            return new Filter(INTERNAL, at, x.tamis_free);
        }

        constructor(key, at, free) {
            super(key, at, free);
            const brief = wasm.readInfo(at, true);
            const { flags, type, field, separator, keyBytes: length } = brief;
            const form = { flags, type, field, separator, length };
            /* Keys are hashes where the filter was made so or has no hash function. */
            if (brief.hasher === "none") form.flags |= PREHASHED;
            this.#form = form;
            this.#direct = isPlain(form);
        }

        static create(options = {}) {
            const request = requestOf(options);
            if (options.capacity === undefined && options.bits === undefined) completeRequest(request);
            return Filter.#make(wasm.withRequest(request, () => wasm.made(x.web_create)));
        }

        static build(keys, options = {}) {
            const request = requestOf(options);
            const form = { ...PLAIN, flags: request.flags, type: request.type };
            const builder = wasm.withRequest(request, () => wasm.made(x.web_builder));
            try {
                forEachPiece(area, form, keys, (layout, count) => {
                    wasm.check(x.web_keys(builder, ACTION.build, layout, area.bytes, area.offsets, count, 0));
                });
                return Filter.#make(wasm.made((out) => x.tamis_builder_finish(builder, out)));
            } finally {
                x.tamis_builder_free(builder);
                wasm.memory();
            }
        }

        static open(bytes, options = {}) {
            const from = bytesOf(bytes), request = openRequestOf(options);
            return Filter.#make(wasm.withRequest(request, () => wasm.using(from.length, (at) => {
                wasm.u8.set(from, at);
                return wasm.made((out) => x.web_open(at, from.length, out));
            })));
        }

        /* ---- one key */

        /* Calls with the key's bytes in memory, or with its hash. */
        #one(key, onBytes, onHash) {
            const at = live(this);
            if (this.#direct) {
                const length = writePlain(key); /* a long key moves wasm.key */
                return onBytes(at, wasm.key, length);
            }
            const bytes = keyBytes(this.#form, key);
            if (typeof bytes === "bigint") return onHash(at, bytes);
            const length = wasm.writeBytes(bytes);
            return onBytes(at, wasm.key, length);
        }

        has(key) {
            if (this.#direct) {
                const at = live(this), length = writePlain(key);
                return x.tamis_contains(at, wasm.key, length) !== 0;
            }
            return this.#one(key, x.tamis_contains, x.tamis_contains_hash) !== 0;
        }

        add(key) {
            const status = this.#one(key,
                (at, bytes, length) => x.tamis_add(at, bytes, length, wasm.out),
                (at, hash) => x.tamis_add_hash(at, hash, wasm.out));
            wasm.check(status);
            return wasm.memory()[wasm.out] !== 0;
        }

        remove(key) {
            const status = this.#one(key, x.tamis_remove, x.tamis_remove_hash);
            if (status === wasm.statusValue("E_ABSENT")) return false;
            wasm.check(status);
            return true;
        }

        count(key) {
            return this.#one(key, x.tamis_count, x.tamis_count_hash);
        }

        hash(key) {
            return BigInt.asUintN(64, this.#one(key, x.tamis_hash, (_at, hash) => hash));
        }

        /* ---- many keys */

        #many(keys, action) {
            live(this);
            const results = new Results(countOf(keys));
            try {
                forEachPiece(area, this.#form, keys, (layout, count) => {
                    const status = x.web_keys(live(this), action, layout, area.bytes, area.offsets, count, area.results);
                    const done = wasm.number(0);
                    results.append(wasm.u8.subarray(area.results, area.results + done));
                    wasm.check(status);
                });
            } catch (error) {
                if (error instanceof TamisError) error.done = results.count;
                throw error;
            }
            return results.all();
        }
        addMany(keys) {
            return this.#many(keys, ACTION.add);
        }
        hasMany(keys) {
            return this.#many(keys, ACTION.has);
        }
        removeMany(keys) {
            return this.#many(keys, ACTION.remove);
        }

        /* ---- the whole filter */

        #merge(other, mode) {
            if (!(other instanceof Filter)) throw new TypeError("the other must be a Filter");
            wasm.check(x.tamis_merge(live(this), live(other), mode));
            return this;
        }
        union(other) {
            return this.#merge(other, MERGE.union);
        }
        intersect(other) {
            return this.#merge(other, MERGE.intersection);
        }
        clone() {
            return Filter.#make(wasm.made((out) => x.tamis_clone(live(this), out)));
        }

        convert(to) {
            const { kind, format } = checkNames(to, CONVERT_OPTIONS, "convert");
            checkFormat(format);
            const made = kind === undefined
                ? this.clone()
                : Filter.#make(wasm.made((out) => x.tamis_convert(live(this), kindValue(kind), out)));
            if (format !== undefined) {
                try {
                    wasm.usingText(format, (at) => {
                        const reason = x.tamis_reformat_reason(live(made), at) >>> 0;
                        if (reason !== 0) throw new TamisError("E_CONVERT", wasm.text(reason));
                        wasm.check(x.tamis_reformat(live(made), at), `format '${format}'`);
                    });
                } catch (error) {
                    made.free();
                    throw error;
                }
            }
            return made;
        }

        encode() {
            const size = Number(BigInt.asUintN(64, x.tamis_encoded_size(live(this))));
            return wasm.using(size, (at) => {
                wasm.check(x.tamis_encode(live(this), at, size, wasm.out));
                return wasm.memory().slice(at, at + wasm.u32[wasm.out >>> 2]);
            });
        }

        info() {
            const f = wasm.readInfo(live(this), false);
            const kind = kinds.find(({ value }) => value === f.kind);
            return {
                format: f.format,
                kind: kind.name,
                keys: f.distinctError > 0 && f.adds !== 0 ? f.adds : Math.floor(f.distinct + 0.5),
                distinct: estimate(f.distinct),
                distinctError: estimate(f.distinctError),
                adds: f.adds,
                capacity: f.capacity,
                bytes: f.bytes,
                tableBytes: f.tableBytes,
                bitsPerKey: estimate(f.bitsPerKey),
                hashes: f.hashes,
                width: f.width,
                stages: f.stages,
                fill: estimate(f.fill),
                fprTarget: f.fprTarget,
                fprNow: estimate(f.fprNow),
                headroom: f.headroom >= 2 ** 64 ? Infinity : f.headroom,
                overCapacity: f.overCapacity !== 0,
                hasher: f.hasher,
                seed: f.seed,
                keyed: f.keyed !== 0,
                keyId: f.keyId,
                keyOptions: formText(f),
                keyBytes: f.keyBytes,
                ...abilities(f.caps),
                note: f.note,
            };
        }

        /* The cells of the table that a lookup of the key reads: see tamis_cells in tamis.h. */
        cells(key) {
            return wasm.readCells(live(this), this.hash(key));
        }
    }

    /* ---- containers */

    class Container extends Handle {
        static open(bytes, options = {}) {
            const from = bytesOf(bytes), request = openRequestOf(options);
            const copy = wasm.alloc(from.length);
            wasm.u8.set(from, copy);
            try {
                const at = wasm.withRequest(request, () => wasm.made((out) => x.web_container(copy, from.length, out)));
                return new Container(INTERNAL, at, (container) => {
                    x.tamis_container_free(container);
                    wasm.free(copy);
                });
            } catch (error) {
                wasm.free(copy);
                throw error;
            }
        }

        get format() {
            return wasm.text(x.tamis_container_format(live(this)) >>> 0);
        }

        parts() {
            return Array.from({ length: x.tamis_container_count(live(this)) >>> 0 }, (_, i) => {
                wasm.check(x.web_part(live(this), i));
                return {
                    name: wasm.text(x.web_text() >>> 0),
                    format: wasm.text(wasm.number(0)),
                    offset: wasm.number(1),
                    bytes: wasm.number(2),
                    rowGroup: wasm.number(3),
                };
            });
        }

        filter(part) {
            if (typeof part === "number") checkWhole({ part }, ["part"]);
            const index = typeof part === "number" ? part : this.parts().findIndex(({ name }) => name === part);
            if (index < 0) throw new TamisError("E_PART", `no part is named '${part}'`);
            return new Filter(INTERNAL, wasm.made((out) => x.tamis_container_filter(live(this), index, out)), x.tamis_free);
        }

        has(key, part) {
            checkText(part, "part");
            const at = live(this), length = wasm.writeBytes(keyBytes(PLAIN, key));
            const contains = (name) => x.tamis_container_contains(at, name, wasm.key, length) !== 0;
            return part === undefined ? contains(0) : wasm.usingText(part, contains);
        }
    }

    /* ---- functions */

    const size = (options) => {
        const request = requestOf(options);
        const found = planner.size(request, "");
        const value = request.kind || (request.format === undefined ? planner.advise(request).choice : 0);
        const kind = kinds.find((one) => one.value === value) ?? { name: options.format, caps: 0 };
        return planner.sizing(kind, found);
    };

    const expectedFpr = (options, keys) => {
        const request = requestOf(options);
        if (keys === undefined) throw new TypeError("keys, the number of keys, is missing");
        checkWhole({ keys }, ["keys"]);
        return wasm.withRequest(request, () => {
            wasm.check(x.web_size_fpr(keys));
            return estimate(wasm.number(0));
        });
    };

    const detect = (bytes) => {
        const from = bytesOf(bytes);
        return wasm.using(from.length, (at) => {
            wasm.u8.set(from, at);
            const names = [];
            for (let i = 0, name; (name = x.tamis_format_detect(at, from.length, i) >>> 0) !== 0; i++) {
                names.push(wasm.text(name));
            }
            return names;
        });
    };

    return {
        Filter,
        Container,
        TamisError,
        plan: (options) => planner.plan(checkNames(options, PLAN_OPTIONS, "plan")),
        size,
        expectedFpr,
        detect,
        pack,
        kinds: kinds.map(({ name, description, caps }) => Object.freeze({ name, description, ...abilities(caps) })),
        formats,
        version: wasm.text(x.tamis_version() >>> 0),
    };
}

/* The results of all pieces. */
class Results {
    constructor(count) {
        this.count = 0;
        this.bytes = new Uint8Array(count ?? 4096);
    }
    append(piece) {
        if (this.count + piece.length > this.bytes.length) {
            const larger = new Uint8Array(2 * (this.count + piece.length));
            larger.set(this.bytes.subarray(0, this.count));
            this.bytes = larger;
        }
        this.bytes.set(piece, this.count);
        this.count += piece.length;
    }
    all() {
        return this.count === this.bytes.length ? this.bytes : this.bytes.slice(0, this.count);
    }
}
