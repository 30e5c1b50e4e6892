/* tamis.h - Bloom, blocked Bloom, counting, cuckoo, xor, binary fuse, ribbon and growing filters
 *
 * A membership filter answers "is this key in the set?" from a few bits per key.  "No" is always
 * right.  "Yes" is wrong at a false positive rate (FPR) that you choose.
 *
 *     tamis_options options = TAMIS_OPTIONS_INIT;
 *     options.capacity = 1000000;                   // keys you expect
 *     options.fpr = 0.01;                           // false positive rate: 1 %
 *     tamis_filter *seen;
 *     if (tamis_create(&options, &seen) != TAMIS_OK) ...
 *     tamis_add(seen, "apple", 5, NULL);
 *     if (!tamis_contains(seen, "pear", 4)) ...     // definitely never added
 *     tamis_free(seen);
 *
 * Rules for every function
 *   - A key is `(const void *, size_t)`: any bytes.  NULL is allowed when the length is 0, and the
 *     empty key is a key like any other.
 *   - A function that can fail returns a tamis_status.  On failure it changes nothing: the filter
 *     and the file are as before, and an out-parameter for an object is set to NULL.  Exceptions
 *     are stated at the function; E_CHANGED is always one.  A lookup returns its result and cannot
 *     fail.
 *   - Every function may return E_ARGUMENT (a NULL, or a struct_size that no version had) and, if
 *     it creates an object, E_NOMEM.  Comments list the other statuses to expect.
 *   - Structures that may grow begin with their own size.  Initialise them with their INIT macro
 *     and set the fields you need; zero means "the default".
 *   - Any number of threads may call functions that take a `const` filter at once, and functions
 *     that take no filter at any time.  Other calls need exclusive access to the filter, except
 *     that a filter created or opened as `shared` (bloom, block) accepts adds from many threads.
 *   - A lookup, an add and a removal take time that does not depend on the number of keys
 *     (growing: a lookup queries each stage).  Other functions take constant time unless their
 *     comment gives another cost.
 *   - No function prints, exits, or keeps global state.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_H
#define TAMIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(TAMIS_STATIC)
#define TAMIS_API
#elif defined(_WIN32) && defined(TAMIS_BUILDING)
#define TAMIS_API __declspec(dllexport)
#elif defined(_WIN32)
#define TAMIS_API __declspec(dllimport)
#else
#define TAMIS_API __attribute__((visibility("default")))
#endif

/* The version.  Everything else that needs it reads it from here. */
#define TAMIS_VERSION_MAJOR 0
#define TAMIS_VERSION_MINOR 1
#define TAMIS_VERSION_PATCH 0

/* The version of the library at run time, as "0.1.0". */
TAMIS_API const char *tamis_version(void);

/* ------------------------------------------------------------------ status */

/* Values are frozen: append, never renumber, never reuse.
 * 1..19 are about the call, 20.. about the input. */
#define TAMIS_STATUS_MAP(X)                                                                  \
    X(OK, 0, "success")                                                                      \
    X(E_ARGUMENT, 1, "an argument is missing or contradicts another")                        \
    X(E_NOMEM, 2, "out of memory")                                                           \
    X(E_FPR, 3, "the false positive rate must be greater than 0 and less than 1")            \
    X(E_KIND, 4, "unknown kind of filter")                                                   \
    X(E_TOO_BIG, 5, "the filter would exceed the size limit or the address space")           \
    X(E_FPR_TOO_LOW, 6, "this kind of filter does not support so low a false positive rate") \
    X(E_STATIC, 7, "this kind is built from all keys at once and accepts no further keys")   \
    X(E_NO_REMOVE, 8, "this kind cannot remove a key: other keys share its bits")            \
    X(E_NO_MERGE, 9, "this kind of filter cannot be merged")                                 \
    X(E_MISMATCH, 10, "the filters differ in kind, size, hash, seed or key form")            \
    X(E_FULL, 11, "the filter is full")                                                      \
    X(E_ABSENT, 12, "the key is not in the filter")                                          \
    X(E_READONLY, 13, "the filter is a read-only view")                                      \
    X(E_BUFFER, 14, "the buffer is too small")                                               \
    X(E_CONVERT, 15, "this filter cannot become that kind without its keys")                 \
    X(E_IO, 16, "a file could not be read or written")                                       \
    X(E_EXISTS, 17, "the file exists already")                                               \
    X(E_UNSUPPORTED, 18, "the operation is not supported for this filter")                   \
    X(E_KEY, 19, "the keys of this filter are 64-bit integers: 8 bytes, little-endian")      \
    X(E_FORMAT, 20, "the input is not a filter of a known format")                           \
    X(E_VERSION, 21, "the input was written by a newer version of the format")               \
    X(E_TRUNCATED, 22, "the input ends before the end of the filter (truncated)")            \
    X(E_TRAILING, 23, "the input continues after the end of the filter")                     \
    X(E_CHECKSUM, 24, "a checksum does not match: the input is damaged")                     \
    X(E_CORRUPT, 25, "the input is inconsistent")                                            \
    X(E_SECRET, 26, "the filter is keyed and needs its secret key")                          \
    X(E_WRONG_SECRET, 27, "the secret key is not the one the filter was created with")       \
    X(E_PART, 28, "the file holds several filters, or none: name one of its parts")          \
    X(E_CHANGED, 29, "the file was changed, but a step after that failed: do not repeat it") \
    X(E_BUSY, 30, "another process holds a lock on the file")                                \
    X(E_LOST, 31, "the filter lost a key while it was built: faulty memory or processor")

typedef enum tamis_status {
#define X(name, value, text) TAMIS_##name = value,
    TAMIS_STATUS_MAP(X)
#undef X
} tamis_status;

/* "E_FULL", and "the filter is full".  An unknown value gives "?" and "unknown status". */
TAMIS_API const char *tamis_status_name(tamis_status status);
TAMIS_API const char *tamis_status_text(tamis_status status);

/* -------------------------------------------------------------------- kinds */

/* Values are stored in files: frozen. */
#define TAMIS_KIND_MAP(X)                                                                \
    X(BLOOM, 1, "bloom", "classic Bloom filter: any size, any false positive rate")      \
    X(BLOCK, 2, "block", "blocked Bloom filter: one cache line per key, the fastest")    \
    X(COUNTING, 3, "counting", "counting Bloom filter: 4-bit counters, supports remove") \
    X(CUCKOO, 4, "cuckoo", "cuckoo filter: fingerprints, supports remove, small")        \
    X(XOR, 5, "xor", "xor filter: static, 3 slots per key")                              \
    X(FUSE, 6, "fuse", "binary fuse filter: static, small, the fastest to build")        \
    X(RIBBON, 7, "ribbon", "ribbon filter: static, within about 1 % of the bound")       \
    X(GROWING, 8, "growing", "scalable filter: needs no capacity, keeps its FPR")

typedef enum tamis_kind {
    TAMIS_AUTO = 0, /* let the planner choose */
#define X(name, value, text, description) TAMIS_##name = value,
    TAMIS_KIND_MAP(X)
#undef X
} tamis_kind;

/* What a kind supports. */
enum {
    TAMIS_CAN_ADD = 1u << 0,       /* tamis_add: accepts keys after creation */
    TAMIS_CAN_REMOVE = 1u << 1,    /* tamis_remove */
    TAMIS_CAN_UNION = 1u << 2,     /* tamis_merge with TAMIS_UNION */
    TAMIS_CAN_INTERSECT = 1u << 3, /* tamis_merge with TAMIS_INTERSECTION */
    TAMIS_CAN_GROW = 1u << 4,      /* needs no capacity */
    TAMIS_CAN_SHARE = 1u << 5,     /* lock-free adds from many threads */
    TAMIS_IS_STATIC = 1u << 6      /* built from all keys at once */
};

/* Iterates over the kinds: returns the one after `kind`, starting after TAMIS_AUTO; TAMIS_AUTO at
 * the end. */
TAMIS_API tamis_kind tamis_kind_next(tamis_kind kind);

/* "bloom"; NULL for a kind that does not exist. */
TAMIS_API const char *tamis_kind_name(tamis_kind kind);

/* "classic Bloom filter: any size, ..."; NULL for a kind that does not exist. */
TAMIS_API const char *tamis_kind_description(tamis_kind kind);

/* The kind of that name; TAMIS_AUTO if there is none. */
TAMIS_API tamis_kind tamis_kind_find(const char *name);

/* The TAMIS_CAN_* bits of a kind; 0 for one that does not exist. */
TAMIS_API uint32_t tamis_kind_caps(tamis_kind kind);

/* ------------------------------------------------------------------- memory */

/* The allocator of an object; copied into the object.  `alloc` returns NULL on failure and needs
 * no alignment beyond malloc's.  `zeroed`, which may be NULL, allocates zeroed memory (as calloc):
 * tables come from it, which saves clearing memory that is known to be zero.  `free` receives what
 * either returned and the requested size.  With `alloc` and `free` NULL the library uses malloc,
 * and maps large tables with huge pages; one of them alone is E_ARGUMENT.  The functions are called
 * by the thread that calls the library, and with `threads` by several threads at once. */
typedef struct tamis_allocator {
    void *(*alloc)(void *context, size_t size);
    void (*free)(void *context, void *block, size_t size);
    void *context;
    void *(*zeroed)(void *context, size_t size);
} tamis_allocator;

/* --------------------------------------------------------------------- keys */

/* How the bytes of a key become the 64 bits that a filter works on. */
typedef enum tamis_hasher {
    TAMIS_HASH_XXH3 = 0,  /* XXH3-64 with the filter's seed: fast, public */
    TAMIS_HASH_SIP24 = 1, /* SipHash-2-4 with a 128-bit secret key, which prevents chosen
                             collisions.  Selected by setting `secret`. */
    TAMIS_HASH_NONE = 2,  /* keys are given as 64-bit hashes only (`_hash` calls) */
    TAMIS_HASH_COMPAT = 3 /* another system's hash, fixed by its format */
} tamis_hasher;

#define TAMIS_SECRET_BYTES 16

/* How the text of a record becomes a key.  Stored with the filter, so that queries normalise
 * records as the build did.  The library stores it and the command applies it; the calls below
 * use keys as given. */
enum {
    TAMIS_KEY_HEX = 1u << 0,       /* hexadecimal digits, two per byte */
    TAMIS_KEY_PREHASHED = 1u << 1, /* sixteen hexadecimal digits: the hash itself */
    TAMIS_KEY_STRIP_CR = 1u << 2,  /* without a trailing carriage return */
    TAMIS_KEY_FOLD_CASE = 1u << 3  /* ASCII letters in lower case */
};
typedef enum tamis_key_type {
    TAMIS_KEY_BYTES = 0, /* the text as it is */
    TAMIS_KEY_UTF16 = 1, /* UTF-8 text as UTF-16 code units */
    TAMIS_KEY_I32 = 2,   /* a decimal number as an integer or IEEE 754 number of this size, */
    TAMIS_KEY_I64 = 3,   /* little-endian, as are the code units */
    TAMIS_KEY_U64 = 4,
    TAMIS_KEY_F32 = 5,
    TAMIS_KEY_F64 = 6
} tamis_key_type;
#define TAMIS_SEPARATOR_MAX 14
typedef struct tamis_key_form {
    uint32_t flags;           /* TAMIS_KEY_HEX and so on */
    uint32_t type;            /* a tamis_key_type */
    uint32_t field;           /* 1-based field of the record; 0: the whole record */
    uint8_t separator_length; /* of the fields */
    uint8_t separator[TAMIS_SEPARATOR_MAX];
    uint8_t reserved; /* 0 */
} tamis_key_form;

/* ------------------------------------------------------------------ options */

typedef struct tamis_options {
    size_t struct_size; /* sizeof(tamis_options), set by TAMIS_OPTIONS_INIT */
    tamis_kind kind;    /* TAMIS_AUTO: the planner chooses by `needs` */
    uint32_t needs;     /* TAMIS_NEED_* for TAMIS_AUTO */
    uint64_t capacity;  /* distinct keys to hold; 0 is legal.  growing: of the first stage */
    double fpr;         /* false positive rate, in (0,1); 0: 1 %, or what `bytes` allows if set */
    uint64_t bytes;     /* with fpr 0: use about this many bytes, with the lowest possible FPR;
                           E_TOO_BIG if that is too few for any FPR */
    uint64_t bits;      /* bloom, counting: exactly this many bits (counters).  Other kinds:
                           E_ARGUMENT */
    uint32_t hashes;    /* bloom, counting: exactly this many hash functions.  Other kinds:
                           E_ARGUMENT */
    uint32_t arity;     /* fuse: 3 or 4 slots per key; 0: 4, the smaller filter */
    tamis_kind stage;   /* growing: the kind of its stages; TAMIS_AUTO: block, or bloom if the
                           FPR is too low for block */
    uint32_t threads;   /* builds: maximum number of threads; 0 and 1: no extra thread */
    uint64_t memory;    /* builder: memory limit, kept by spilling to disk; 0: none */
    const char *temporary; /* builder: directory for spilling; NULL: $TMPDIR or /tmp */
    uint64_t seed;         /* of the hash; any value */
    const uint8_t *secret; /* TAMIS_SECRET_BYTES bytes: keyed mode.  Copied, never written */
    tamis_hasher hasher;   /* 0, or TAMIS_HASH_NONE to refuse byte keys.  A `secret` selects
                              TAMIS_HASH_SIP24 in any case */
    bool shared;           /* bloom, block: lock-free adds from many threads; other kinds:
                              E_UNSUPPORTED */
    bool portable;         /* do not use the machine's SIMD instructions */
    tamis_key_form form;   /* stored with the filter */
    tamis_allocator allocator;
    const char *format; /* a compatible format, sized as that system does: "guava", or with
                           parameters "leveldb:bits=10" (doc/formats).  Leave `kind` TAMIS_AUTO.
                           `bytes`, `secret` and `shared` are E_UNSUPPORTED, and so is `memory`
                           where the keys must be kept in order.  NULL or "tamis": our own */
    bool check; /* tamis_build, builder: query every key before the filter is returned (E_LOST) and
                   verify the table again when it is encoded, saved, copied or merged (E_CHECKSUM),
                   until keys are added or removed: a bit that flips in memory cannot cause a false
                   negative.  Not covered: changes of a key before it is hashed or given as a hash.
                   A builder keeps the hashes until then: 8 bytes each, or 16 if they are wide, in
                   memory or beyond `memory` on disk */
} tamis_options;

#ifdef __cplusplus
#define TAMIS_OPTIONS_INIT tamis_options_default()
#else
#define TAMIS_OPTIONS_INIT \
    { .struct_size = sizeof(tamis_options) }
#endif

/* ------------------------------------------------------ creating and freeing */

typedef struct tamis_filter tamis_filter;

/* Creates an empty filter that accepts adds: bloom, block, counting, cuckoo or growing.  A static
 * kind, and a compatible format that needs all keys (rocksdb, xor8, ...), gives E_STATIC: use
 * tamis_build or a builder.  E_KIND, E_FPR, E_FPR_TOO_LOW, E_TOO_BIG, E_UNSUPPORTED; E_ARGUMENT
 * also if options contradict each other.  Time and memory: those of the table. */
TAMIS_API tamis_status tamis_create(const tamis_options *options, tamis_filter **out);

/* Builds a filter of any kind from `count` keys, in any order, duplicates allowed.  The keys form
 * a set: a key that is given several times is in it once, and one tamis_remove removes it.
 * TAMIS_AUTO without `needs` chooses a static kind, since all keys are known.  With capacity 0 the
 * filter is sized for the number of distinct keys.  Construction retries with
 * new seeds, so it fails only when memory runs out; cuckoo returns E_FULL if `capacity` is smaller
 * than the set, or if hashes were chosen to collide (a secret key prevents that).  Errors in the
 * options are those of tamis_create.  Time: linear in `count`.  Memory: `build_bytes` in
 * tamis_size. */
TAMIS_API tamis_status tamis_build(const tamis_options *options, const void *const *keys,
                                   const size_t *lengths, size_t count, tamis_filter **out);
TAMIS_API tamis_status tamis_build_hash(const tamis_options *options, const uint64_t *hashes,
                                        size_t count, tamis_filter **out);

/* Copies a filter into memory of its own.  The copy of a read-only view is writable.  E_CHECKSUM:
 * see tamis_verify.  Time and memory: those of the table. */
TAMIS_API tamis_status tamis_clone(const tamis_filter *filter, tamis_filter **out);

/* Converts a filter to another kind where the bits allow it: counting to bloom.  The filter's own
 * kind gives a copy.  Otherwise E_CONVERT; E_KIND if there is no such kind.  Time and memory: those
 * of the table. */
TAMIS_API tamis_status tamis_convert(const tamis_filter *filter, tamis_kind kind,
                                     tamis_filter **out);

/* NULL is allowed. */
TAMIS_API void tamis_free(tamis_filter *filter);

/* ---------------------------------------------------------------- operations */

/* Adds a key.  `fresh`, if not NULL, becomes true if the key was definitely not in the filter
 * before, false if it possibly was.  E_STATIC, E_READONLY, E_FULL, E_NOMEM (growing), E_KEY; byte
 * keys are E_ARGUMENT if the hasher is TAMIS_HASH_NONE.
 *
 * Over capacity, bloom, block and counting keep working at a higher false positive rate: see
 * `over_capacity` and `fpr_now` in tamis_info.  cuckoo returns E_FULL, occasionally earlier if
 * many keys were added several times.  A key that was added 15 times (counting), or 4 or 6 times
 * (cuckoo), stays for good: its counter is saturated, so removals leave it unchanged.
 *
 * On a `shared` filter any number of threads may add and look up (tamis_contains, tamis_count,
 * tamis_hash and their variants) at once, without a lock.  A lookup sees every add that happens
 * before it (in the sense of C11).  If two threads add one key at the same moment, both may get
 * `fresh`.  All other calls (tamis_info, tamis_clone, tamis_encode, ...) require that no thread is
 * adding. */
TAMIS_API tamis_status tamis_add(tamis_filter *filter, const void *key, size_t length, bool *fresh);
TAMIS_API tamis_status tamis_add_hash(tamis_filter *filter, uint64_t hash, bool *fresh);

/* Adds `count` keys: the same as adding them one by one, faster.  `fresh`, if not NULL, has room
 * for `count`.  If an add fails (cuckoo: E_FULL, growing: E_NOMEM), `*done` (if not NULL) is the
 * number of keys that were added before it; otherwise it is `count`, or 0 if the call is
 * refused. */
TAMIS_API tamis_status tamis_add_batch(tamis_filter *filter, const void *const *keys,
                                       const size_t *lengths, size_t count, bool *fresh,
                                       size_t *done);
TAMIS_API tamis_status tamis_add_hash_batch(tamis_filter *filter, const uint64_t *hashes,
                                            size_t count, bool *fresh, size_t *done);

/* Removes one occurrence of a key.  E_ABSENT, and nothing changes, if it is not in the filter.
 * E_NO_REMOVE, E_READONLY, E_KEY.  Remove only keys that were added: removing a false positive
 * removes the fingerprint or counters of another key, which becomes a false negative. */
TAMIS_API tamis_status tamis_remove(tamis_filter *filter, const void *key, size_t length);
TAMIS_API tamis_status tamis_remove_hash(tamis_filter *filter, uint64_t hash);

/* Removes each of `count` keys that is in the filter.  `removed`, if not NULL, receives whether it
 * was, for each.  E_ABSENT if at least one was not; the others are removed nevertheless. */
TAMIS_API tamis_status tamis_remove_batch(tamis_filter *filter, const void *const *keys,
                                          const size_t *lengths, size_t count, bool *removed);
TAMIS_API tamis_status tamis_remove_hash_batch(tamis_filter *filter, const uint64_t *hashes,
                                               size_t count, bool *removed);

/* Is the key possibly in the set?  false: definitely not.  true: yes, or a false positive, at the
 * filter's false positive rate.  An empty filter returns false for every key.  A key that the
 * filter cannot hash (bytes with TAMIS_HASH_NONE, or a length other than `key_bytes` in tamis_info)
 * gives true. */
TAMIS_API bool tamis_contains(const tamis_filter *filter, const void *key, size_t length);
TAMIS_API bool tamis_contains_hash(const tamis_filter *filter, uint64_t hash);

/* Prefetches the cache lines that a query or add of this hash will touch.  Batches do this
 * themselves.  Use it to query several filters with one key each: prefetch in all of them, then
 * query the first.  It does nothing for kinds and formats that do not gain from it. */
TAMIS_API void tamis_prefetch_hash(const tamis_filter *filter, uint64_t hash);

/* Queries `count` keys and returns how many are possibly in the set.  `results`, if not NULL, has
 * room for `count`. */
TAMIS_API size_t tamis_contains_batch(const tamis_filter *filter, const void *const *keys,
                                      const size_t *lengths, size_t count, bool *results);
TAMIS_API size_t tamis_contains_hash_batch(const tamis_filter *filter, const uint64_t *hashes,
                                           size_t count, bool *results);

/* Sets the number of adds that tamis_info reports and a file stores: for callers that keep their
 * own count.  The library itself does not depend on it.  E_READONLY. */
TAMIS_API tamis_status tamis_set_adds(tamis_filter *filter, uint64_t adds);

/* An upper bound of how often the key is in the set: never less than it was added (and not
 * removed since), more if other keys collide with it.  Only cuckoo and counting count, up to the
 * number at which they saturate (see tamis_add), and RedisBloom's cuckoo filters, as CF.COUNT does.
 * Other kinds return 0 or 1. */
TAMIS_API unsigned tamis_count(const tamis_filter *filter, const void *key, size_t length);
TAMIS_API unsigned tamis_count_hash(const tamis_filter *filter, uint64_t hash);

/* Replaces `into` by the union or the intersection of `into` and `from`.  Both must have the same
 * kind, size, hash, seed and key form (E_MISMATCH).  The union equals a filter of the keys of both.
 * The intersection contains every key that is in both; its false positive rate may be higher than
 * that of a filter built from those keys alone.  counting: the union adds the counters. E_NO_MERGE,
 * E_READONLY, E_CHECKSUM.  Time: a pass over both tables. */
typedef enum tamis_merge_mode { TAMIS_UNION = 0, TAMIS_INTERSECTION = 1 } tamis_merge_mode;
TAMIS_API tamis_status tamis_merge(tamis_filter *into, const tamis_filter *from,
                                   tamis_merge_mode mode);

/* -------------------------------------------------------------------- hashing */

/* The 64-bit hash of a key, for every `_hash` call on this filter and on any other with the same
 * hasher and seed (or secret):
 * tamis_contains(f, k, n) == tamis_contains_hash(f, tamis_hash(f, k, n)).
 * With TAMIS_HASH_NONE it is XXH3 with the filter's seed.  If you already have good 64-bit hashes,
 * pass them directly: all 64 bits must vary.  For integers, tamis_hash_integer gives such a hash
 * without a filter.  Compatible formats (TAMIS_HASH_COMPAT) may need more than 64 bits: where
 * `prehashed` in tamis_info is false, `_hash` calls that change the filter are E_UNSUPPORTED and
 * `_hash` lookups return true. */
TAMIS_API uint64_t tamis_hash(const tamis_filter *filter, const void *key, size_t length);
TAMIS_API void tamis_hash_batch(const tamis_filter *filter, const void *const *keys,
                                const size_t *lengths, size_t count, uint64_t *hashes);
TAMIS_API uint64_t tamis_hash_integer(uint64_t value);

/* The same hash for a filter with this secret (TAMIS_SECRET_BYTES bytes), without a filter. */
TAMIS_API uint64_t tamis_hash_secret(const uint8_t *secret, const void *key, size_t length);
TAMIS_API void tamis_hash_secret_batch(const uint8_t *secret, const void *const *keys,
                                       const size_t *lengths, size_t count, uint64_t *hashes);

/* Composite keys: a record of several fields as one key.  Each field is hashed with its type and
 * length, so ("ab","c") and ("a","bc") differ, and so do 1 and "1".
 *
 *     tamis_composer *c;
 *     tamis_composer_create(filter, &c);         // hashes as `filter` does
 *     tamis_compose_string(c, "Ada");
 *     tamis_compose_integer(c, 1815);
 *     tamis_add_hash(filter, tamis_composer_finish(c), NULL);   // and resets the composer
 *     tamis_composer_free(c);
 *
 * Compatible formats: E_UNSUPPORTED.  For a builder: tamis_builder_composer.  A composer does not
 * refer to the filter after it is created.  One thread at a time may use it; free accepts NULL. */
typedef struct tamis_composer tamis_composer;
TAMIS_API tamis_status tamis_composer_create(const tamis_filter *filter, tamis_composer **out);
TAMIS_API void tamis_compose_integer(tamis_composer *composer, int64_t value);
TAMIS_API void tamis_compose_unsigned(tamis_composer *composer, uint64_t value);
TAMIS_API void tamis_compose_double(tamis_composer *composer, double value);
TAMIS_API void tamis_compose_bytes(tamis_composer *composer, const void *data, size_t length);
TAMIS_API void tamis_compose_string(tamis_composer *composer, const char *text);
TAMIS_API uint64_t tamis_composer_finish(tamis_composer *composer);
TAMIS_API void tamis_composer_free(tamis_composer *composer);

/* ---------------------------------------------------------------- the builder */

/* Collects keys and builds a filter of any kind from them: their number need not be known, any
 * order, duplicates allowed.  The builder keeps the hashes (8 bytes each) in memory, or beyond
 * `options.memory` in an unnamed file in `options.temporary`.  With a `capacity`, bloom, block and
 * growing keep nothing: each key is added to the filter at once.  TAMIS_AUTO without `needs`
 * chooses a static kind, as in tamis_build.
 *
 * The same keys and options give the same bytes, whatever the order, threads or memory.  Two
 * exceptions depend on the order: growing with a `capacity`, and compatible formats.
 *
 * Errors in the options are those of tamis_create, without E_STATIC.  Several threads may add at
 * once; all other calls need exclusive access.  Adding returns E_NOMEM, E_IO (after which errno has
 * the reason), E_FULL, E_KEY, or E_UNSUPPORTED for hashes where the format needs more than 64 bits.
 * If a batch fails, some of its keys may have been added. */
typedef struct tamis_builder tamis_builder;
TAMIS_API tamis_status tamis_builder_create(const tamis_options *options, tamis_builder **out);
TAMIS_API tamis_status tamis_builder_add(tamis_builder *builder, const void *key, size_t length);
TAMIS_API tamis_status tamis_builder_add_hash(tamis_builder *builder, uint64_t hash);
TAMIS_API tamis_status tamis_builder_add_batch(tamis_builder *builder, const void *const *keys,
                                               const size_t *lengths, size_t count);
TAMIS_API tamis_status tamis_builder_add_hash_batch(tamis_builder *builder, const uint64_t *hashes,
                                                    size_t count);

/* The hash that tamis_builder_add uses, for one key and for many; of a hash of more than 64 bits
 * (compatible formats) the lower 64.  Several threads may hash at once, also while others add. */
TAMIS_API uint64_t tamis_builder_hash(const tamis_builder *builder, const void *key, size_t length);
TAMIS_API void tamis_builder_hash_batch(const tamis_builder *builder, const void *const *keys,
                                        const size_t *lengths, size_t count, uint64_t *hashes);

/* A composer for composite keys that hashes as the filter will.  Pass its result to
 * tamis_builder_add_hash.  It may outlive the builder.  Compatible formats: E_UNSUPPORTED. */
TAMIS_API tamis_status tamis_builder_composer(const tamis_builder *builder, tamis_composer **out);

/* Number of keys added so far, duplicates included.  Several threads may call it while others add.
 */
TAMIS_API uint64_t tamis_builder_count(const tamis_builder *builder);

/* Builds the filter.  A key that was added several times is in it once (except in compatible
 * formats that keep copies).  Afterwards, also on failure, the only legal call on the builder is
 * tamis_builder_free, which accepts NULL.  Errors are those of tamis_build, and E_IO.  Time: linear
 * in the number of keys. */
TAMIS_API tamis_status tamis_builder_finish(tamis_builder *builder, tamis_filter **out);
TAMIS_API void tamis_builder_free(tamis_builder *builder);

/* ----------------------------------------------------------------- information */

typedef struct tamis_facts {
    size_t struct_size;
    tamis_kind kind;
    const char *format;     /* "tamis", or a compatible format: "guava", "leveldb", ... */
    uint32_t caps;          /* TAMIS_CAN_* of this very filter (a view cannot add) */
    uint64_t capacity;      /* distinct keys it was sized for; 0: unknown */
    uint64_t adds;          /* adds less removes, duplicates included; 0 if the format has none */
    double distinct;        /* estimated number of distinct keys; static: exact */
    double distinct_error;  /* one standard deviation of that estimate; 0: exact */
    uint64_t table_bytes;   /* the table alone */
    uint64_t encoded_bytes; /* with header and checksums: what tamis_encode writes */
    double bits_per_key;    /* encoded bits per distinct key, or per key of capacity if empty */
    uint32_t hashes;        /* probes or slots read per key */
    uint32_t width;         /* bits of a fingerprint or counter; 0 if there is none */
    uint32_t stages;        /* growing: stages; static: shards; otherwise 1 */
    double fill;            /* fraction of bits set, or of counters or slots in use */
    double fpr_target;      /* promised false positive rate; 0: unknown */
    double fpr_now;         /* expected false positive rate now, from the fill */
    uint64_t headroom;      /* distinct keys that still fit the promise; UINT64_MAX: it grows */
    bool over_capacity;     /* fpr_now is above the promise */
    tamis_hasher hasher;
    uint64_t seed;
    uint64_t key_id;  /* keyed: identifies the secret without revealing it */
    bool keyed;       /* a secret is needed */
    bool prehashed;   /* `_hash` calls work */
    bool readonly;    /* a view or a mapped file */
    const char *path; /* "avx512", "avx2", "neon", "portable": the instructions in use */
    tamis_key_form form;
    const char *note;   /* a remark on a filter of a compatible format, one sentence; or NULL */
    const char *hash;   /* "xxh3", "siphash-2-4", "none", or the other system's */
    uint32_t key_bytes; /* required key length in bytes (8: integers); 0: any */
} tamis_facts;
#ifdef __cplusplus
#define TAMIS_FACTS_INIT tamis_facts_default()
#else
#define TAMIS_FACTS_INIT \
    { .struct_size = sizeof(tamis_facts) }
#endif

/* Fills `facts`.  Time: one pass over the table; constant for static kinds. */
TAMIS_API tamis_status tamis_info(const tamis_filter *filter, tamis_facts *facts);

/* The same in constant time, without the results of a pass over the table of a filter that accepts
 * adds: distinct, fill, fpr_now and headroom are then 0, stages is 1, over_capacity is false. */
TAMIS_API tamis_status tamis_info_brief(const tamis_filter *filter, tamis_facts *facts);

/* ------------------------------------------------------------- what a lookup reads */

/* For programs that show how a filter works: the cells of the table that decide a lookup.  The
 * table is that of the .tamis file: the bytes from offset 192 on of what tamis_encode writes.
 *
 * Cells form equations, and equations form groups.  The key is possibly in the set if all equations
 * of at least one group hold; with no group it is definitely not in the set.  So the cells and the
 * table give the result of the lookup. */

/* When an equation holds. */
typedef enum tamis_cell_rule {
    TAMIS_CELL_SET = 0,    /* bloom, block, counting: the value of its cell is not 0 */
    TAMIS_CELL_EQUAL = 1,  /* cuckoo, listed hashes: the value of its cell equals `expected` */
    TAMIS_CELL_XOR = 2,    /* xor, fuse: the xor of the values of its cells equals `expected` */
    TAMIS_CELL_PARITY = 3, /* ribbon, dense tables: of the bits that `mask` selects in its cells, an
                              odd number is 1 if `expected` is 1, an even number if it is 0 */
    TAMIS_CELL_ALWAYS = 4  /* always: its cell has no bits (ribbon, at a high FPR) */
} tamis_cell_rule;

typedef struct tamis_cell {
    uint64_t bit;         /* where it begins: bit b of the table is bit b % 8 of byte b / 8 */
    uint32_t bits;        /* its length, 0..64.  Its value is little-endian; it may span 9 bytes */
    uint32_t group;       /* growing: the stage */
    uint32_t equation;    /* in the group: cells with the same numbers are one equation */
    tamis_cell_rule rule; /* the same in all cells of an equation, as is `expected` */
    uint64_t mask;        /* PARITY: the bits of the value that count; otherwise 0 */
    uint64_t expected;    /* EQUAL, XOR, PARITY; otherwise 0 */
} tamis_cell;

/* Writes the cells of a lookup of this hash, at most `capacity` of them, ordered by group and
 * equation, and sets `*count` to their number, which may be larger.  `cells` may be NULL if
 * `capacity` is 0.  Two cells may be the same bits.  Parts that only lead to the cells
 * (directories, the marks of ribbon) are not reported.  Of a cuckoo filter's stash and of listed
 * hashes, only the entries that match are.  E_UNSUPPORTED for filters of compatible formats;
 * E_CHECKSUM if the lookup touches a damaged part of a mapped file. */
TAMIS_API tamis_status tamis_cells(const tamis_filter *filter, uint64_t hash, tamis_cell *cells,
                                   size_t capacity, size_t *count);

/* ----------------------------------------------------------------------- sizing */

/* The classic formulas for n keys, m bits and k hash functions, exact:
 * bits m = ceil(-n ln p / (ln 2)^2), hashes k = round(m/n ln 2) limited to 1..1000,
 * fpr p = (1 - e^(-kn/m))^k, and keys: the largest n for which p holds.
 * They return 0 for invalid arguments (hashes: 1). */
TAMIS_API uint64_t tamis_classic_bits(uint64_t keys, double fpr);
TAMIS_API uint32_t tamis_classic_hashes(uint64_t bits, uint64_t keys);
TAMIS_API double tamis_classic_fpr(uint64_t bits, uint32_t hashes, uint64_t keys);
TAMIS_API uint64_t tamis_classic_keys(uint64_t bits, uint32_t hashes, double fpr);

/* The real size of a kind, with its own rounding. */
typedef struct tamis_sizing {
    size_t struct_size;
    tamis_kind kind;
    uint64_t bytes;       /* of the encoded filter */
    double bits_per_key;  /* 0 for 0 keys */
    uint32_t hashes;      /* bits, slots or fingerprints read per key */
    uint32_t width;       /* bits of a fingerprint or counter */
    double fpr;           /* expected with `capacity` keys */
    double fpr_at_half;   /* expected with half as many */
    double fpr_at_double; /* expected with twice as many; 1 if it cannot hold them */
    double cache_lines;   /* read for an absent key */
    uint64_t build_bytes; /* memory needed to build it, the filter included */
} tamis_sizing;
#ifdef __cplusplus
#define TAMIS_SIZING_INIT tamis_sizing_default()
#else
#define TAMIS_SIZING_INIT \
    { .struct_size = sizeof(tamis_sizing) }
#endif

/* Computes the size of the filter that `options` (kind, capacity, fpr or bytes, bits, hashes,
 * arity) describe; creates nothing.  With `bytes`: the lowest false positive rate that fits.
 * Errors are those of tamis_create, without E_STATIC.
 *
 * With `format`: `bytes` is the table (RedisBloom: and its header), `fpr` the system's target (0:
 * it has none), and bits_per_key, fpr_at_half, fpr_at_double and build_bytes are 0.  E_UNSUPPORTED
 * if the size depends on the keys (rocksdb, xor8 and the other formats of xor_singleheader). */
TAMIS_API tamis_status tamis_size(const tamis_options *options, tamis_sizing *sizing);

/* The expected false positive rate of the filter that `options` describe when it holds `keys`
 * keys, whatever its capacity; 1 if it cannot hold them.  Errors as above; E_UNSUPPORTED for a
 * compatible format. */
TAMIS_API tamis_status tamis_size_fpr(const tamis_options *options, uint64_t keys, double *fpr);

/* What the filter must support, for TAMIS_AUTO and tamis_plan. */
enum {
    TAMIS_NEED_REMOVE = 1u << 0,
    TAMIS_NEED_GROW = 1u << 1,
    TAMIS_NEED_MERGE = 1u << 2,
    TAMIS_NEED_STATIC = 1u << 3, /* all keys are known in advance */
    TAMIS_NEED_ADD = 1u << 4     /* keys will be added later */
};

typedef struct tamis_advice {
    size_t struct_size;
    tamis_kind choice;
    char why[256]; /* one sentence */
} tamis_advice;
#ifdef __cplusplus
#define TAMIS_ADVICE_INIT tamis_advice_default()
#else
#define TAMIS_ADVICE_INIT \
    { .struct_size = sizeof(tamis_advice) }
#endif

/* Chooses a kind for `options` (capacity, fpr or bytes, needs; no other field counts) and gives the
 * reason.  E_ARGUMENT, with `why` filled in, if no kind supports all needs; E_FPR. */
TAMIS_API tamis_status tamis_plan(const tamis_options *options, tamis_advice *advice);

/* -------------------------------------------------------------- bytes and files */

/* How long tamis_open waits for a lock by default, in milliseconds. */
#define TAMIS_WAIT_MS 60000

/* When the checksums of a table are verified: see tamis_verify. */
typedef enum tamis_verification {
    TAMIS_VERIFY_DEFAULT, /* a mapped file: TOUCHED; otherwise ALL */
    TAMIS_VERIFY_ALL,     /* the whole table, when it is opened */
    TAMIS_VERIFY_TOUCHED, /* each 64 KiB when a query first touches it, before the answer */
    TAMIS_VERIFY_LATER    /* not before tamis_verify: do not trust negative answers until then */
} tamis_verification;

typedef struct tamis_open_options {
    size_t struct_size;
    const char *format;    /* NULL: detected from the content; see tamis_format_detect.  A .tamis
                              file is read as such in any case. */
    const uint8_t *secret; /* for a keyed filter: E_SECRET without, E_WRONG_SECRET with another */
    bool map;              /* tamis_open: map the file instead of reading it: see there.  Ignored
                              with `update` */
    tamis_verification verify; /* tamis_view, and tamis_open with `map`.  Otherwise ALL */
    uint32_t threads; /* maximum number of threads that verify a whole table; 0 and 1: no extra
                         thread */
    bool shared;      /* as in tamis_options */
    bool portable;    /* as in tamis_options */
    tamis_allocator allocator;
    const char *part; /* of a file that holds several filters: see tamis_container_open */
    bool update;      /* tamis_open: open for update: see tamis_commit */
    const struct tamis_storage *storage; /* tamis_header_open: where the tables are */
    int64_t wait_ms; /* tamis_open: milliseconds to wait while another process has the file locked,
                        then E_BUSY; 0: TAMIS_WAIT_MS; negative: do not wait */
} tamis_open_options;
#ifdef __cplusplus
#define TAMIS_OPEN_INIT tamis_open_options_default()
#else
#define TAMIS_OPEN_INIT \
    { .struct_size = sizeof(tamis_open_options) }
#endif

/* Number of bytes that tamis_encode will write. */
TAMIS_API uint64_t tamis_encoded_size(const tamis_filter *filter);

/* Writes the filter in the .tamis format (doc/format.md), or in its compatible format, into
 * `capacity` bytes at `buffer`.  `*length`, if not NULL, receives the number of bytes written.
 * E_BUFFER if they are too few, E_CHECKSUM (see tamis_verify).  The same filter gives the same
 * bytes on every machine.  Time: that of copying and hashing the table. */
TAMIS_API tamis_status tamis_encode(const tamis_filter *filter, void *buffer, size_t capacity,
                                    size_t *length);

/* The encoded filter where it already is, without a copy: of a mapped file or a view, and only in
 * the .tamis format; otherwise NULL.  Valid until tamis_free.  Parts that no query has touched may
 * be damaged, but then their checksums do not match: see tamis_verify. */
TAMIS_API const void *tamis_encoded(const tamis_filter *filter, size_t *length);

/* Passes what tamis_encode would write to `write`, in order, at most 1 MiB at a time and without a
 * copy of the table (growing and compatible formats: with one).  `write` returns false to stop:
 * E_IO. */
typedef bool tamis_writer(void *context, const void *bytes, size_t length);
TAMIS_API tamis_status tamis_encode_to(const tamis_filter *filter, tamis_writer *write,
                                       void *context);

/* Reads a filter from bytes.  tamis_decode copies them.  tamis_view borrows them, read-only: they
 * must exist, unchanged, until tamis_free, and be aligned to 8 bytes (E_ARGUMENT).
 *
 * The input is untrusted: on TAMIS_OK every later call is safe, whatever the bytes were, and
 * allocation is bounded by a small multiple of `length`.  Checksums are verified, by tamis_view as
 * `verify` chooses.  `options` may be NULL.  E_FORMAT, E_VERSION, E_TRUNCATED, E_TRAILING,
 * E_CHECKSUM, E_CORRUPT, E_SECRET, E_WRONG_SECRET, E_PART, E_UNSUPPORTED (`shared`, or a feature of
 * the other system); E_ARGUMENT also if there is no such format.  Time: a pass over the bytes; of
 * a .tamis filter with TAMIS_VERIFY_TOUCHED or _LATER, only its header and its checksums are read.
 */
TAMIS_API tamis_status tamis_decode(const void *bytes, size_t length,
                                    const tamis_open_options *options, tamis_filter **out);
TAMIS_API tamis_status tamis_view(const void *bytes, size_t length,
                                  const tamis_open_options *options, tamis_filter **out);

/* Verifies the checksums of the whole table, if that has not been done: see tamis_verification.
 * E_CHECKSUM if it is damaged.  Calls that write, copy or merge a filter verify it first and fail
 * with E_CHECKSUM: damage never gets a valid checksum.  Time: a pass over the table, once. */
TAMIS_API tamis_status tamis_verify(const tamis_filter *filter);

/* E_CHECKSUM if a query has touched a damaged part of a filter that is verified as it is touched
 * (TAMIS_VERIFY_TOUCHED); otherwise OK.  The key was then reported as possibly in the set, and
 * tamis_count returned 1: "no" would have been a promise.  Call it after queries, before you rely
 * on what they returned. */
TAMIS_API tamis_status tamis_query_status(const tamis_filter *filter);

/* Writes the filter to a file atomically: writes a temporary file beside it, syncs it, renames it,
 * and syncs the directory.  At any moment, also after a crash, the file is the old or the new
 * version, complete.  Unless `replace`, an existing file is E_EXISTS.  A symbolic link that belongs
 * to the process's user or to root is followed.  Only regular files are replaced; another kind of
 * file is E_IO (ENOTSUP, EISDIR).  E_CHECKSUM: see tamis_verify.  After E_IO errno has the reason.
 * E_CHANGED: the file is the new version, but the directory could not be synced (errno has the
 * reason), so a power cut may restore the old one. */
TAMIS_API tamis_status tamis_save(const tamis_filter *filter, const char *path, bool replace);

/* Opens a file.  With `map` the file is mapped read-only and shared with other processes, and only
 * the parts that queries touch are read and verified: the first answer takes the same time in a
 * file of any size (tamis_query_status reports damage).  The file must not be truncated while it is
 * mapped (replacing it by rename, as tamis_save does, is fine).  So a file that another user may
 * change is read instead, as without `map`: one that belongs neither to the process's user nor to
 * root, or that others, or a group that is not the process's own, may write. A mapped .tamis file
 * keeps a descriptor open, whose lock prevents tamis_commit of other processes from changing it in
 * place.  Only regular files can be mapped (E_UNSUPPORTED). An update that a crash has interrupted
 * is completed in memory.  `options` may be NULL.  Errors are those of tamis_decode; E_BUSY, see
 * `wait_ms`; and E_IO, after which errno has the reason. */
TAMIS_API tamis_status tamis_open(const char *path, const tamis_open_options *options,
                                  tamis_filter **out);

/* Writes the changes since tamis_open with `update` back to the file, atomically: at any moment,
 * also after a crash, a reader finds the old or the new filter, complete.
 *
 *     tamis_open_options how = TAMIS_OPEN_INIT;
 *     how.update = true;
 *     tamis_open("seen.tamis", &how, &seen);        // waits for other writers: `wait_ms`
 *     tamis_add(seen, key, length, NULL);
 *     tamis_commit(seen, NULL);
 *     tamis_free(seen);                             // without a commit: changes are discarded
 *
 * In a large .tamis file (16 MiB or more) of kind bloom, block or counting, only the 64 KiB chunks
 * that the keys touch are read, verified and written: first to a journal beside the file, then in
 * place (doc/format.md).  Queries report damage as in a mapped file (tamis_query_status), and a key
 * that touches a damaged chunk is not added (E_CHECKSUM).  So adding ten keys costs the same in a
 * filter of any size.  Any other file is written as by tamis_save; so is a large one if more than
 * an eighth of it changes, if another user may change it (see tamis_open), or if another process
 * has it mapped (which keeps the old file).
 *
 * From tamis_open to tamis_free other writers wait.  Readers wait only during a commit in place.
 * `*written`, if not NULL, receives the number of bytes written to the file.  One commit per open:
 * then free the filter.  E_ARGUMENT for a filter that was not opened for update.  After E_IO errno
 * has the reason: ESTALE if the file has been replaced in the meantime (tamis_save does not wait);
 * the new file is left alone.
 *
 * E_CHANGED, with the reason in errno: readers find the new filter, but a later step failed.  Do
 * not repeat the change.  Either the directory could not be synced after the file was replaced, as
 * in tamis_save; or the journal is complete but the file could not be written: then the journal
 * stays, and the next process that opens the file for update completes it.  Needs exclusive access.
 */
TAMIS_API tamis_status tamis_commit(tamis_filter *filter, uint64_t *written);

/* ---------------------------------------------------------------- small filters */

/* For storage engines, which keep a filter for every block or page: tens of keys each, and
 * millions of filters.  A small filter is bytes and nothing else: a table, and one byte behind it
 * that gives its layout.  It has no header, no object and no checksum: the caller stores its
 * length and protects its bytes.
 *
 * From a few keys to some thousands these are the smallest filters available: 10.3 bits per key
 * give a false positive rate of 0.1 % with 30 keys.  More keys are accepted; from 10,000 on
 * tamis_build is the better choice.  Keys are given as hashes, from tamis_hash with any filter of
 * the same seed or secret, or from tamis_hash_integer. */

/* One byte of this value is a filter that matches every key: store it if no filter can be built. */
#define TAMIS_SMALL_ANY 0xff

/* The maximum number of bytes that tamis_small_build writes for `count` hashes; 0 if it would
 * refuse. */
TAMIS_API size_t tamis_small_bound(const tamis_options *options, size_t count);

/* Builds a filter from hashes, duplicates allowed, into `capacity` bytes at `buffer`; `*length`,
 * at least 1, receives its size.  Uses these options: kind, fpr or (with fpr 0) bytes, and
 * allocator.  With an fpr the filter is as small as possible; with bytes its FPR is as low as
 * possible in at most that many bytes.  kind: TAMIS_AUTO and the static kinds give the smallest
 * filter; TAMIS_BLOOM (and TAMIS_BLOCK, the same here) builds five times as fast and takes half as
 * much again.  Other kinds: E_UNSUPPORTED.  The same hashes and options give the same bytes, in
 * any order and on any machine.  E_KIND, E_FPR, E_FPR_TOO_LOW, E_NOMEM, E_BUFFER (not if `capacity`
 * is tamis_small_bound). */
TAMIS_API tamis_status tamis_small_build(const tamis_options *options, const uint64_t *hashes,
                                         size_t count, void *buffer, size_t capacity,
                                         size_t *length);

/* Is the hash possibly in the set?  The bytes are untrusted: nothing outside of them is read, and
 * bytes that no version of this call has written (none at all, an unknown last byte) give true. */
TAMIS_API bool tamis_small_contains(const void *bytes, size_t length, uint64_t hash);

/* Creates an empty Bloom filter of the same form that accepts adds: for options->capacity keys at
 * options->fpr, or (with fpr 0) in options->bytes, with the promise of tamis_create.  kind:
 * TAMIS_AUTO, TAMIS_BLOOM or TAMIS_BLOCK.  E_BUFFER, with `*length` set to the required size, if
 * `capacity` bytes at `buffer` are too few; E_FPR_TOO_LOW below 2^-30. */
TAMIS_API tamis_status tamis_small_create(const tamis_options *options, void *buffer,
                                          size_t capacity, size_t *length);

/* Adds a key.  `*fresh`, if not NULL, receives whether it was definitely not in the filter before.
 * E_UNSUPPORTED, and nothing changes, if the bytes are not a Bloom filter.  Needs exclusive access
 * to the bytes. */
TAMIS_API tamis_status tamis_small_add(void *bytes, size_t length, uint64_t hash, bool *fresh);

/* ----------------------------------------------------------- compatible formats */

/* A filter of another system is opened, queried, changed, merged and saved like any other, and
 * answers as that system does, false positives included.  Its bytes stay that system's:
 * tamis_encode and tamis_save write its own format.  Such filters cannot be `shared`. */

/* The names of the formats: "tamis", then the compatible formats; NULL past the end.  The strings
 * are static. */
TAMIS_API const char *tamis_format_at(size_t index);

/* A one-line description of the format; NULL if there is no such format. */
TAMIS_API const char *tamis_format_description(const char *name);

/* The names of the parameters that may follow the name of a format: "bits,ribbon,legacy" for
 * "rocksdb", as in "rocksdb:bits=10,ribbon".  "" if it has none; NULL for an unknown format. */
TAMIS_API const char *tamis_format_parameters(const char *name);

/* Can tamis_create, tamis_build or a builder make filters of this format?  false for tables of
 * LevelDB and RocksDB, which can only be read, and if there is no such format. */
TAMIS_API bool tamis_format_can_create(const char *name);

/* The formats that these bytes could have, most certain first; NULL past the end.  If exactly one
 * is certain, a NULL `format` in tamis_open_options selects it.  Formats without a magic number
 * are only possible matches and must be named.  Time: that of checking lengths and headers. */
TAMIS_API const char *tamis_format_detect(const void *bytes, size_t length, size_t index);

/* Selects the format in which the filter will be encoded.  "tamis" stores a filter of any
 * compatible format, with checksums; it can be converted back to its own format later.  E_CONVERT,
 * and nothing changes, if the format cannot hold this filter; E_ARGUMENT if there is no such
 * format. */
TAMIS_API tamis_status tamis_reformat(tamis_filter *filter, const char *format);

/* The reason why tamis_reformat would refuse: a static sentence; NULL if it would not. */
TAMIS_API const char *tamis_reformat_reason(const tamis_filter *filter, const char *format);

/* Containers are files that hold several filters: tables of LevelDB ("leveldb-table") and RocksDB
 * ("rocksdb-table"), Parquet files ("parquet").  tamis_open, tamis_decode and tamis_view open one
 * of their filters: the one named by `part`, or the only one (otherwise E_PART).
 *
 * A container is read-only.  Any number of threads may query it at once. */
typedef struct tamis_container tamis_container;

/* Opens a file, mapped; or bytes that must exist until tamis_container_free.  Uses format and
 * allocator of `options` (which may be NULL).  Verifies the checksums of the blocks that it reads.
 * E_FORMAT if it is not a container.  On failure `*out` is NULL.  Time: that of reading the index,
 * not the data.  After E_IO errno has the reason. */
TAMIS_API tamis_status tamis_container_open(const char *path, const tamis_open_options *options,
                                            tamis_container **out);
TAMIS_API tamis_status tamis_container_view(const void *bytes, size_t length,
                                            const tamis_open_options *options,
                                            tamis_container **out);

/* Opens a file that holds one filter or several, reading it once.  Without `part` and `update`, a
 * container is opened as by tamis_container_open, and `*filter` is NULL.  Otherwise the call is
 * tamis_open, and `*container` is NULL. */
TAMIS_API tamis_status tamis_open_any(const char *path, const tamis_open_options *options,
                                      tamis_filter **filter, tamis_container **container);

/* NULL is allowed. */
TAMIS_API void tamis_container_free(tamis_container *container);

/* The name of its format: "leveldb-table", "rocksdb-table" or "parquet". */
TAMIS_API const char *tamis_container_format(const tamis_container *container);

/* The number of its parts: filters, and places where there could be one (Parquet: column chunks
 * without a filter; LevelDB: ranges of the file in which no data block begins). */
TAMIS_API size_t tamis_container_count(const tamis_container *container);

#define TAMIS_PART_NAME 256
typedef struct tamis_part {
    size_t struct_size;
    char name[TAMIS_PART_NAME]; /* for tamis_open_options.part: "17", Parquet "2/address.zip" */
    const char *format;         /* of the filter */
    uint64_t offset, bytes;     /* in the file; 0 bytes: no filter here */
    uint64_t row_group;         /* Parquet */
} tamis_part;
#ifdef __cplusplus
#define TAMIS_PART_INIT tamis_part_default()
#else
#define TAMIS_PART_INIT \
    { .struct_size = sizeof(tamis_part) }
#endif

/* Describes a part.  E_ARGUMENT if there is no such index. */
TAMIS_API tamis_status tamis_container_part(const tamis_container *container, size_t index,
                                            tamis_part *part);

/* The filter of a part, with its own copy of the bytes.  E_PART if the part has none; otherwise as
 * tamis_decode. */
TAMIS_API tamis_status tamis_container_filter(const tamis_container *container, size_t index,
                                              tamis_filter **out);

/* Is the key possibly in the file?  Queries the filters that cover it: in a LevelDB table the
 * filter of the data block where it would be; in a Parquet file those of all row groups.  `part`
 * names one of them, or a column of a Parquet file; NULL means all.  Returns true where there is no
 * filter, and if memory runs out.  Time: that of finding the filter in the index and of querying
 * it. */
TAMIS_API bool tamis_container_contains(const tamis_container *container, const char *part,
                                        const void *key, size_t length);

/* Writes a copy of the file to `path`, as tamis_save does, with the filter of one part replaced;
 * `path` may be the file itself.  Only for Parquet (E_UNSUPPORTED).  E_PART if the part has no
 * filter, E_MISMATCH if the filter has another format or another encoded length. */
TAMIS_API tamis_status tamis_container_replace(const tamis_container *container, size_t index,
                                               const tamis_filter *filter, const char *path,
                                               bool replace);

/* ------------------------------------------------- filters in the caller's storage */

/* RedisBloom's filters can keep their tables in storage that the caller provides: pages that are
 * allocated when they are first written, shared by copies, and loaded one at a time.  Such a filter
 * is created from its header alone, with tables of zeros; the caller then fills the tables or adds
 * keys.
 *
 *     tamis_open_options how = TAMIS_OPEN_INIT;
 *     how.format = "redisbloom";
 *     how.storage = &pages;                         // a tamis_storage, static
 *     tamis_header_open(header, length, &how, &filter);
 *     fill(tamis_storage_table(filter, 0));         // what `pages.open` returned
 *     if (tamis_contains(filter, key, length)) ...
 *
 * Keys are added, looked up, counted and removed as in any other filter.  tamis_clone copies the
 * tables with `copy`; tamis_merge computes the union of two Bloom filters with `unite`.  tamis_add
 * and tamis_remove return E_NOMEM if a page cannot be read or written.  A lookup that cannot read a
 * page returns true.  tamis_encode, tamis_save and tamis_convert are E_UNSUPPORTED: read the header
 * and the tables instead. */
typedef struct tamis_storage {
    size_t struct_size;  /* sizeof(tamis_storage) */
    uint32_t page_shift; /* pages have 2^page_shift bytes; the last of a table may be shorter */
    uint32_t max_tables; /* sub-filters of a cuckoo filter: it is E_FULL beyond; 0: 32 */
    uint64_t max_bytes;  /* of all tables of a filter: E_TOO_BIG beyond */
    void *context;       /* for `open` */
    void *(*open)(void *context, uint64_t bytes); /* a table of zeros; NULL: out of memory */
    void (*close)(void *table);
    void *(*copy)(void *table); /* another table with the same bytes; NULL: out of memory */
    /* Sets in `into` the bits that `from`, of the same size, has.  false: out of memory; some bits
     * may have been set. */
    bool (*unite)(void *into, void *from);
    /* A page to read, valid until the table is next written or closed.  NULL: all of its bytes are
     * zero; or, with `*failed` set to true, out of memory. */
    const uint8_t *(*read)(void *table, uint64_t page, bool *failed);
    /* A page to write, valid until it is shared by `copy` or `unite`.  NULL: out of memory. */
    uint8_t *(*write)(void *table, uint64_t page);
} tamis_storage;

/* Creates a filter with tables of zeros from its header: the first chunk of BF.SCANDUMP or
 * CF.SCANDUMP.  Uses format ("redisbloom" or NULL), storage and allocator of `options`.  The header
 * is untrusted: it is checked as a whole before a table is opened.  The storage must outlive the
 * filter. E_ARGUMENT without a storage, E_CORRUPT, E_TRUNCATED, E_TRAILING, E_UNSUPPORTED (more
 * sub-filters than 8192, or 1024 of a cuckoo filter), E_TOO_BIG, E_NOMEM. */
TAMIS_API tamis_status tamis_header_open(const void *header, size_t length,
                                         const tamis_open_options *options, tamis_filter **out);

/* Copies up to `length` bytes of the filter's current header, from `offset` on, and returns their
 * number: 0 past the end and for any other filter.  Time: that of the bytes copied. */
TAMIS_API size_t tamis_header_read(const tamis_filter *filter, size_t offset, void *buffer,
                                   size_t length);

/* The table of a sub-filter, as `open` or `copy` returned it; NULL past the last and for any other
 * filter.  The caller may read it, and write it between other calls. */
TAMIS_API void *tamis_storage_table(const tamis_filter *filter, size_t index);

/* Moves keys of a RedisBloom cuckoo filter to earlier sub-filters and drops the last ones if they
 * become empty, as CF.COMPACT does.  `*changed`, if not NULL, becomes false if there was nothing to
 * do.  E_UNSUPPORTED, E_READONLY.  Time: a pass over the tables.  Needs exclusive access. */
TAMIS_API tamis_status tamis_compact(tamis_filter *filter, bool *changed);

#ifdef __cplusplus
}
static inline tamis_options tamis_options_default() {
    tamis_options o = tamis_options();
    o.struct_size = sizeof o;
    return o;
}
static inline tamis_facts tamis_facts_default() {
    tamis_facts o = tamis_facts();
    o.struct_size = sizeof o;
    return o;
}
static inline tamis_sizing tamis_sizing_default() {
    tamis_sizing o = tamis_sizing();
    o.struct_size = sizeof o;
    return o;
}
static inline tamis_advice tamis_advice_default() {
    tamis_advice o = tamis_advice();
    o.struct_size = sizeof o;
    return o;
}
static inline tamis_part tamis_part_default() {
    tamis_part o = tamis_part();
    o.struct_size = sizeof o;
    return o;
}
static inline tamis_open_options tamis_open_options_default() {
    tamis_open_options o = tamis_open_options();
    o.struct_size = sizeof o;
    return o;
}
#endif
#endif
