/* tamis.h - membership filters: every family behind one API
 *
 * A filter answers "have I seen this key?" from a few bits per key.  "No" is
 * certain; "maybe" is wrong at a rate that you chose.
 *
 *     tamis_options want = TAMIS_OPTIONS_INIT;
 *     want.capacity = 1000000;                      // keys you expect
 *     want.rate = 0.01;                             // wrong "maybe"s you accept
 *     tamis_filter *seen;
 *     if (tamis_create(&want, &seen) != TAMIS_OK) ...
 *     tamis_add(seen, "apple", 5, NULL);
 *     if (!tamis_contains(seen, "pear", 4)) ...     // certainly never added
 *     tamis_free(seen);
 *
 * Rules that hold for every function
 *   - A key is `(const void *, size_t)`: any bytes; NULL is allowed when the
 *     length is 0, and the empty key is a key like any other.
 *   - A function that can fail returns a tamis_status, and on failure changes
 *     nothing: the filter is as it was, and an out-parameter that would have
 *     received an object is NULL.  A function that answers a question returns
 *     the answer and cannot fail.
 *   - Structures that may grow begin with their own size.  Start them with
 *     their INIT macro and set what you need; zero means "the default".
 *   - Read-only calls on one filter may run in any number of threads at once.
 *     A call that changes a filter needs it alone, except that a filter created
 *     or opened as `shared` (bloom, block) takes adds from many threads.
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

/* The version; everything else that needs it reads it from here. */
#define TAMIS_VERSION_MAJOR 0
#define TAMIS_VERSION_MINOR 1
#define TAMIS_VERSION_PATCH 0

/* The version of the library at run time, as "0.1.0". */
TAMIS_API const char *tamis_version(void);

/* ------------------------------------------------------------------ status */

/* Values are frozen: append, never renumber, never reuse.
 * 1..19 are about the call, 20.. about the input. */
#define TAMIS_STATUS_MAP(X)                                                             \
    X(OK, 0, "success")                                                                 \
    X(E_ARGUMENT, 1, "an argument is missing or contradicts another")                   \
    X(E_NOMEM, 2, "out of memory")                                                      \
    X(E_RATE, 3, "the rate must be greater than 0 and less than 1")                     \
    X(E_KIND, 4, "no such kind of filter")                                              \
    X(E_TOO_BIG, 5, "the filter would be larger than is allowed or can be addressed")   \
    X(E_TOO_FINE, 6, "this kind of filter cannot reach so low a rate")                  \
    X(E_STATIC, 7, "this kind is built from all of its keys at once and takes no more") \
    X(E_NO_REMOVE, 8, "this kind cannot remove a key: other keys share its bits")       \
    X(E_NO_MERGE, 9, "this kind of filter cannot be merged")                            \
    X(E_UNLIKE, 10, "the filters differ in kind, size, hash or seed")                   \
    X(E_FULL, 11, "the filter is full")                                                 \
    X(E_ABSENT, 12, "the key is not in the filter")                                     \
    X(E_READONLY, 13, "the filter is a read-only view")                                 \
    X(E_SMALL, 14, "the buffer is too small")                                           \
    X(E_CONVERT, 15, "this filter cannot become that kind without its keys")            \
    X(E_IO, 16, "a file could not be read or written")                                  \
    X(E_EXISTS, 17, "the file exists already")                                          \
    X(E_UNSUPPORTED, 18, "the operation is not supported for this filter")              \
    X(E_KEY, 19, "the keys of this filter are 64-bit integers: 8 bytes, little-endian") \
    X(E_FORMAT, 20, "the input is not a filter of a known format")                      \
    X(E_VERSION, 21, "the input was written by a newer version of the format")          \
    X(E_TRUNCATED, 22, "the input ends before the format says it should")               \
    X(E_TRAILING, 23, "the input goes on after the format says it should end")          \
    X(E_CHECKSUM, 24, "a checksum does not match: the input is damaged")                \
    X(E_CORRUPT, 25, "the input contradicts itself")                                    \
    X(E_SECRET, 26, "the filter is keyed and needs its secret")                         \
    X(E_WRONG_SECRET, 27, "the secret is not the one that the filter was made with")    \
    X(E_PART, 28, "the file holds several filters, or none: say which")

typedef enum tamis_status {
#define X(name, value, text) TAMIS_##name = value,
    TAMIS_STATUS_MAP(X)
#undef X
} tamis_status;

/* "E_FULL", and "the filter is full".  An unknown value gives "?" and a sentence that says so. */
TAMIS_API const char *tamis_status_name(tamis_status status);
TAMIS_API const char *tamis_status_text(tamis_status status);

/* -------------------------------------------------------------------- kinds */

/* Values are in files: frozen. */
#define TAMIS_KIND_MAP(X)                                                                 \
    X(BLOOM, 1, "bloom")       /* classic Bloom filter: any size, any number of hashes */ \
    X(BLOCK, 2, "block")       /* all bits of a key in one cache line: the fastest */     \
    X(COUNTING, 3, "counting") /* Bloom with 4-bit counters: removes */                   \
    X(CUCKOO, 4, "cuckoo")     /* fingerprints in overlapping windows: removes, small */  \
    X(XOR, 5, "xor")           /* static: three-wise xor */                               \
    X(FUSE, 6, "fuse")         /* static: binary fuse, the fastest static one */          \
    X(RIBBON, 7, "ribbon")     /* static: within a percent or so of the bound */          \
    X(GROWING, 8, "growing")   /* no size needed: grows and keeps its rate */

typedef enum tamis_kind {
    TAMIS_AUTO = 0, /* let the planner choose */
#define X(name, value, text) TAMIS_##name = value,
    TAMIS_KIND_MAP(X)
#undef X
} tamis_kind;

/* What a kind can do. */
enum {
    TAMIS_CAN_ADD = 1u << 0,    /* takes keys after it was created */
    TAMIS_CAN_REMOVE = 1u << 1, /* takes keys out again */
    TAMIS_CAN_UNION = 1u << 2,
    TAMIS_CAN_INTERSECT = 1u << 3,
    TAMIS_CAN_GROW = 1u << 4,  /* needs no capacity */
    TAMIS_CAN_SHARE = 1u << 5, /* lock-free adds from many threads */
    TAMIS_IS_STATIC = 1u << 6  /* built from all keys at once */
};

/* Walks the kinds: the one after `kind`, starting after TAMIS_AUTO; TAMIS_AUTO at the end. */
TAMIS_API tamis_kind tamis_kind_next(tamis_kind kind);

/* "bloom"; NULL for a kind that does not exist. */
TAMIS_API const char *tamis_kind_name(tamis_kind kind);

/* The kind of that name; TAMIS_AUTO if there is none. */
TAMIS_API tamis_kind tamis_kind_find(const char *name);

/* The TAMIS_CAN_* bits of a kind; 0 for one that does not exist. */
TAMIS_API uint32_t tamis_kind_caps(tamis_kind kind);

/* ------------------------------------------------------------------- memory */

/* Where an object takes its memory from; copied into the object.  `alloc`
 * returns NULL on failure and needs no alignment beyond malloc's; `free` takes
 * what `alloc` returned, with the size that was asked for.  With both NULL the
 * library uses malloc, and maps large tables with huge pages.  `zeroed`, which may
 * be NULL, is an `alloc` of zeros: tables come from it, so that those who have
 * memory that is known to be zero (calloc) need not have it cleared again.  They
 * are called by whatever thread calls the library, and with `threads` by several
 * at once. */
typedef struct tamis_allocator {
    void *(*alloc)(void *context, size_t size);
    void (*free)(void *context, void *block, size_t size);
    void *context;
    void *(*zeroed)(void *context, size_t size);
} tamis_allocator;

/* --------------------------------------------------------------------- keys */

/* How the bytes of a key become the 64 bits that a filter works on. */
typedef enum tamis_hasher {
    TAMIS_HASH_XXH3 = 0,   /* XXH3-64 with the filter's seed: fast, public */
    TAMIS_HASH_SIP24 = 1,  /* SipHash-2-4 with a 128-bit secret: nobody without the secret
                              can choose keys that collide.  Chosen by giving a secret. */
    TAMIS_HASH_NONE = 2,   /* keys come as 64-bit hashes only (`_hash` calls) */
    TAMIS_HASH_FOREIGN = 3 /* another system's hash, fixed by its format */
} tamis_hasher;

#define TAMIS_SECRET_BYTES 16

/* How the text of a record becomes a key: stored with the filter, so that it is
 * queried the way it was built.  The library keeps it and the command applies
 * it; keys given to the calls below are taken as they are. */
enum {
    TAMIS_KEY_HEX = 1u << 0,       /* hexadecimal digits, two a byte */
    TAMIS_KEY_PREHASHED = 1u << 1, /* sixteen hexadecimal digits: the hash itself */
    TAMIS_KEY_STRIP_CR = 1u << 2,  /* without a carriage return at the end */
    TAMIS_KEY_FOLD_CASE = 1u << 3  /* ASCII capitals as small letters */
};
typedef enum tamis_key_type {
    TAMIS_KEY_BYTES = 0,
    TAMIS_KEY_UTF16 = 1,
    TAMIS_KEY_I32 = 2,
    TAMIS_KEY_I64 = 3,
    TAMIS_KEY_U64 = 4,
    TAMIS_KEY_F32 = 5,
    TAMIS_KEY_F64 = 6
} tamis_key_type;
#define TAMIS_SEPARATOR_MAX 14
typedef struct tamis_key_form {
    uint32_t flags; /* TAMIS_KEY_HEX and so on */
    uint32_t type;  /* a tamis_key_type */
    uint32_t field; /* 1-based field of the record; 0: the whole record */
    uint8_t separator_length;
    uint8_t separator[TAMIS_SEPARATOR_MAX];
    uint8_t reserved;
} tamis_key_form;

/* ------------------------------------------------------------------ options */

typedef struct tamis_options {
    size_t struct_size;    /* sizeof(tamis_options), set by TAMIS_OPTIONS_INIT */
    tamis_kind kind;       /* TAMIS_AUTO: the planner chooses by `needs` */
    uint32_t needs;        /* TAMIS_NEED_* for TAMIS_AUTO */
    uint64_t capacity;     /* distinct keys to hold; 0 is legal.  growing: of the first stage */
    double rate;           /* in (0,1); 0: 1 %, or what `bytes` allows if that is set */
    uint64_t bytes;        /* with rate 0: spend about this many bytes and get the best rate;
                              E_TOO_BIG if no rate is worth so few */
    uint64_t bits;         /* bloom, counting: this many bits (counters), not by formula */
    uint32_t hashes;       /* bloom, counting: this many hashes, not by formula */
    uint32_t arity;        /* fuse: 3 or 4 slots a key; 0: 4, the smaller */
    tamis_kind stage;      /* growing: the kind of its stages; TAMIS_AUTO: block, or bloom if the
                              rate is too low for that */
    uint32_t threads;      /* builds: at most so many; 0 and 1: no extra thread */
    uint64_t memory;       /* builder: bytes to stay within by spilling to disk; 0: no limit */
    const char *temporary; /* builder: directory for spilling; NULL: $TMPDIR or /tmp */
    uint64_t seed;         /* of the hash; any value */
    const uint8_t *secret; /* TAMIS_SECRET_BYTES bytes: keyed mode.  Copied, never written */
    tamis_hasher hasher;   /* TAMIS_HASH_NONE to refuse byte keys; else by `secret` */
    bool shared;           /* bloom, block: adds may come from many threads at once; other kinds:
                              E_UNSUPPORTED */
    bool portable;         /* do not use the machine's special instructions */
    tamis_key_form form;
    tamis_allocator allocator;
    const char *format; /* another system's filter, sized as that system does: "guava", or with
                           parameters "leveldb:bits=10" (doc/formats); `kind` is then left
                           TAMIS_AUTO; `bytes`, `secret` and `shared` are E_UNSUPPORTED, and so is
                           `memory` where keys have to wait for the last.  NULL or "tamis": ours */
} tamis_options;

#ifdef __cplusplus
#define TAMIS_OPTIONS_INIT tamis_options_default()
#else
#define TAMIS_OPTIONS_INIT \
    { .struct_size = sizeof(tamis_options) }
#endif

/* ------------------------------------------------------- making and dropping */

typedef struct tamis_filter tamis_filter;

/* Makes an empty filter that takes adds: bloom, block, counting, cuckoo or
 * growing.  A static kind gives E_STATIC: use tamis_build or a builder.
 * Time and memory are those of the table. */
TAMIS_API tamis_status tamis_create(const tamis_options *options, tamis_filter **out);

/* Makes a filter of any kind from `count` keys: in any order, repeats welcome.  They make a
 * set: a key that is given several times is in it once, and one tamis_remove takes it out.
 * The arrays are only read.  With capacity 0 the filter is sized for the distinct
 * keys that there are.  Never fails for want of luck: only for lack of memory, or
 * E_FULL for cuckoo, where a `capacity` is smaller than the set, or where hashes were
 * chosen to collide (a secret keeps others from that). */
TAMIS_API tamis_status tamis_build(const tamis_options *options, const void *const *keys,
                                   const size_t *lengths, size_t count, tamis_filter **out);
TAMIS_API tamis_status tamis_build_hash(const tamis_options *options, const uint64_t *hashes,
                                        size_t count, tamis_filter **out);

/* A copy of its own memory; `out` may be changed even if `filter` is a view. */
TAMIS_API tamis_status tamis_clone(const tamis_filter *filter, tamis_filter **out);

/* The same set as another kind where the bits allow it: counting to bloom.
 * Otherwise E_CONVERT. */
TAMIS_API tamis_status tamis_convert(const tamis_filter *filter, tamis_kind kind,
                                     tamis_filter **out);

/* NULL is allowed. */
TAMIS_API void tamis_free(tamis_filter *filter);

/* ---------------------------------------------------------------- operations */

/* Adds a key.  `fresh`, if not NULL, becomes true when the key was certainly not
 * there before, false when it may have been.
 *
 * Past their capacity bloom, block and counting go on working at a worse rate: see
 * `over_capacity` and `rate_now` in tamis_info.  cuckoo returns E_FULL (and, now and then,
 * earlier where many keys are held several times).  A key that was added 15 times
 * (counting), or 4 or 6 times (cuckoo), is kept for good: later removals leave it, since
 * nobody knows any more how often it is there.
 *
 * On a `shared` filter any number of threads may add and ask (tamis_contains,
 * tamis_count, tamis_hash and their kin) at once, without a lock.  An add that
 * happens before a question (in C11's sense: joined, released, ...) is always seen
 * by it; of two threads that add one key at the same moment, both may be told
 * `fresh`.  Any other call (tamis_info, tamis_clone, tamis_encode, ...) is for when
 * no thread is adding. */
TAMIS_API tamis_status tamis_add(tamis_filter *filter, const void *key, size_t length, bool *fresh);
TAMIS_API tamis_status tamis_add_hash(tamis_filter *filter, uint64_t hash, bool *fresh);

/* Adds `count` keys: the same as adding them one by one, faster.  `fresh`, if not
 * NULL, has room for `count`.  If it fails in the middle (cuckoo: E_FULL, growing:
 * E_NOMEM) `*done` (if not NULL) tells how many of them, from the first, were added;
 * otherwise it is `count`, or 0 if the call is refused. */
TAMIS_API tamis_status tamis_add_batch(tamis_filter *filter, const void *const *keys,
                                       const size_t *lengths, size_t count, bool *fresh,
                                       size_t *done);
TAMIS_API tamis_status tamis_add_hash_batch(tamis_filter *filter, const uint64_t *hashes,
                                            size_t count, bool *fresh, size_t *done);

/* Removes one occurrence of a key.  E_ABSENT, and nothing changes, if it is not
 * there.  Remove only what was added: a key that was never added but looks present
 * cannot be told apart, and removing it takes another key's place. */
TAMIS_API tamis_status tamis_remove(tamis_filter *filter, const void *key, size_t length);
TAMIS_API tamis_status tamis_remove_hash(tamis_filter *filter, uint64_t hash);

/* Removes each of `count` keys that is there; `removed`, if not NULL, tells for each.
 * E_ABSENT if at least one was not (the others are removed all the same). */
TAMIS_API tamis_status tamis_remove_batch(tamis_filter *filter, const void *const *keys,
                                          const size_t *lengths, size_t count, bool *removed);
TAMIS_API tamis_status tamis_remove_hash_batch(tamis_filter *filter, const uint64_t *hashes,
                                               size_t count, bool *removed);

/* Might the key be in the set?  false is certain; true is wrong with the filter's
 * rate.  A filter of no keys answers false to everything. */
TAMIS_API bool tamis_contains(const tamis_filter *filter, const void *key, size_t length);
TAMIS_API bool tamis_contains_hash(const tamis_filter *filter, uint64_t hash);

/* Has what a question or an add for this hash will read fetched from memory, without waiting
 * for it.  A batch does so by itself; this is for a program that asks several filters, one key
 * each, and can call this for all before it asks the first.  Changes no answer; kinds and
 * formats that have nothing to gain ignore it. */
TAMIS_API void tamis_prefetch_hash(const tamis_filter *filter, uint64_t hash);

/* Asks for `count` keys and returns how many may be in the set.  `answers`, if not
 * NULL, has room for `count`. */
TAMIS_API size_t tamis_contains_batch(const tamis_filter *filter, const void *const *keys,
                                      const size_t *lengths, size_t count, bool *answers);
TAMIS_API size_t tamis_contains_hash_batch(const tamis_filter *filter, const uint64_t *hashes,
                                           size_t count, bool *answers);

/* Says how many adds there have been, for one who counts them himself: what tamis_info tells
 * and a file keeps.  The library never needs it.  E_READONLY.  Time: constant. */
TAMIS_API tamis_status tamis_set_adds(tamis_filter *filter, uint64_t adds);

/* How often the key may be in the set: never less than it was added (and not removed since),
 * more where other keys look like it.  Only cuckoo and counting count, up to the number from
 * which a key is kept for good (see tamis_add); other kinds answer 0 or 1. */
TAMIS_API unsigned tamis_count(const tamis_filter *filter, const void *key, size_t length);
TAMIS_API unsigned tamis_count_hash(const tamis_filter *filter, uint64_t hash);

/* Makes `into` the union or the intersection of itself and `from`.  Both must be
 * alike: same kind, size, hash and seed (E_UNLIKE).  The union holds just the keys
 * of both.  The intersection holds every key that is in both, and its rate may be
 * higher than a filter made of those keys alone would have.  counting: the union
 * adds the counters up. */
typedef enum tamis_merge_mode { TAMIS_UNION = 0, TAMIS_INTERSECTION = 1 } tamis_merge_mode;
TAMIS_API tamis_status tamis_merge(tamis_filter *into, const tamis_filter *from,
                                   tamis_merge_mode mode);

/* ----------------------------------------------------------------- hashing once */

/* The 64 bits that stand for a key in every `_hash` call on this filter and on any
 * other with the same hasher and seed (or secret):
 * tamis_contains(f, k, n) == tamis_contains_hash(f, tamis_hash(f, k, n)).
 * A hash of your own may be given instead if all of its 64 bits vary; an integer is
 * made fit by tamis_hash_integer.  Filters of other systems (TAMIS_HASH_FOREIGN) may
 * need more than 64 bits: where `prehashed` in tamis_info is false, `_hash` changes
 * are E_UNSUPPORTED and `_hash` questions answer true. */
TAMIS_API uint64_t tamis_hash(const tamis_filter *filter, const void *key, size_t length);
TAMIS_API void tamis_hash_batch(const tamis_filter *filter, const void *const *keys,
                                const size_t *lengths, size_t count, uint64_t *hashes);
TAMIS_API uint64_t tamis_hash_integer(uint64_t value);

/* What tamis_hash gives for a filter with this secret (TAMIS_SECRET_BYTES bytes): for one who
 * hashes for many filters, or before there is one. */
TAMIS_API uint64_t tamis_hash_secret(const uint8_t *secret, const void *key, size_t length);
TAMIS_API void tamis_hash_secret_batch(const uint8_t *secret, const void *const *keys,
                                       const size_t *lengths, size_t count, uint64_t *hashes);

/* Composite keys: a record of several fields as one key.  Each field is hashed with
 * its type and length, so ("ab","c") and ("a","bc") differ, and so do 1 and "1".
 *
 *     tamis_composer *c;
 *     tamis_composer_create(filter, &c);         // hashes as `filter` does
 *     tamis_compose_string(c, "Ada");
 *     tamis_compose_integer(c, 1815);
 *     tamis_add_hash(filter, tamis_composer_finish(c), NULL);   // and starts anew
 *     tamis_composer_free(c);
 *
 * Foreign filters: E_UNSUPPORTED. */
typedef struct tamis_composer tamis_composer;
TAMIS_API tamis_status tamis_composer_create(const tamis_filter *filter, tamis_composer **out);
TAMIS_API void tamis_compose_integer(tamis_composer *composer, int64_t value);
TAMIS_API void tamis_compose_unsigned(tamis_composer *composer, uint64_t value);
TAMIS_API void tamis_compose_double(tamis_composer *composer, double value);
TAMIS_API void tamis_compose_bytes(tamis_composer *composer, const void *data, size_t length);
TAMIS_API void tamis_compose_string(tamis_composer *composer, const char *text);
TAMIS_API uint64_t tamis_composer_finish(tamis_composer *composer);
TAMIS_API void tamis_composer_free(tamis_composer *composer);

/* ------------------------------------------------------------------- the builder */

/* Collects keys and builds a filter of any kind from them: unknown number, any
 * order, repeats welcome.  The keys' hashes are kept (8 bytes each) in memory, or
 * past `options.memory` in a nameless file in `options.temporary`.  The same keys
 * and options give the same bytes, whatever the order, threads or memory; only with a
 * `capacity`, which lets keys be added as they come, growing remembers their order.
 * Several threads may add at once; all else is for one, when they are done.  Of a batch that
 * fails some keys may have been added, and count; those of other calls stay. */
typedef struct tamis_builder tamis_builder;
TAMIS_API tamis_status tamis_builder_create(const tamis_options *options, tamis_builder **out);
TAMIS_API tamis_status tamis_builder_add(tamis_builder *builder, const void *key, size_t length);
TAMIS_API tamis_status tamis_builder_add_hash(tamis_builder *builder, uint64_t hash);
TAMIS_API tamis_status tamis_builder_add_batch(tamis_builder *builder, const void *const *keys,
                                               const size_t *lengths, size_t count);
TAMIS_API tamis_status tamis_builder_add_hash_batch(tamis_builder *builder, const uint64_t *hashes,
                                                    size_t count);

/* The hash that tamis_builder_add would use: for threads that hash ahead. */
TAMIS_API uint64_t tamis_builder_hash(const tamis_builder *builder, const void *key, size_t length);

/* Keys added so far, repeats included. */
TAMIS_API uint64_t tamis_builder_count(const tamis_builder *builder);

/* Builds.  A key that came several times is in the filter once.  Whether it succeeds or not,
 * the builder is then only good for tamis_builder_free. */
TAMIS_API tamis_status tamis_builder_finish(tamis_builder *builder, tamis_filter **out);
TAMIS_API void tamis_builder_free(tamis_builder *builder);

/* ------------------------------------------------------------------- looking inside */

typedef struct tamis_facts {
    size_t struct_size;
    tamis_kind kind;
    const char *format;     /* "tamis", or the other system's: "guava", "leveldb", ... */
    uint32_t caps;          /* TAMIS_CAN_* of this very filter (a view cannot add) */
    uint64_t capacity;      /* distinct keys for which it was sized; 0: unknown */
    uint64_t adds;          /* adds less removes, repeats included; 0 if the format keeps none */
    double distinct;        /* estimate of the distinct keys in it; static: their number */
    double distinct_error;  /* one standard deviation of that estimate; 0: exact */
    uint64_t table_bytes;   /* the table alone */
    uint64_t encoded_bytes; /* with header and checksums: what tamis_encode writes */
    double bits_per_key;    /* encoded bits per distinct key, or per key of capacity if empty */
    uint32_t hashes;        /* probes or slots read for a key */
    uint32_t width;         /* bits of a fingerprint or counter; 0 if it has none */
    uint32_t stages;        /* growing: stages; static: shards; else 1 */
    double fill;            /* share of bits set, counters or slots in use */
    double rate_target;     /* promised; 0: unknown */
    double rate_now;        /* expected now, from the fill */
    uint64_t headroom;      /* distinct keys that still fit in the promise; UINT64_MAX: grows */
    bool over_capacity;     /* rate_now is above the promise */
    tamis_hasher hasher;
    uint64_t seed;
    uint64_t key_id;  /* keyed: tells secrets apart without telling them */
    bool keyed;       /* a secret is needed */
    bool prehashed;   /* `_hash` calls work */
    bool readonly;    /* a view or a mapped file */
    const char *path; /* "avx2", "neon", "portable": the instructions in use */
    tamis_key_form form;
    const char *note;   /* what one should know of a foreign filter, a sentence; NULL: nothing */
    const char *hash;   /* "xxh3", "siphash-2-4", "none", or the other system's */
    uint32_t key_bytes; /* keys must have so many bytes (8: integers); 0: any number */
} tamis_facts;
#ifdef __cplusplus
#define TAMIS_FACTS_INIT tamis_facts_default()
#else
#define TAMIS_FACTS_INIT \
    { .struct_size = sizeof(tamis_facts) }
#endif

/* Fills `facts`.  Time: a pass over the table where the fill must be counted (bloom,
 * block, counting, growing); constant otherwise. */
TAMIS_API tamis_status tamis_info(const tamis_filter *filter, tamis_facts *facts);

/* The same in constant time, without what a pass over the table would tell of a filter that takes
 * adds: distinct, fill, rate_now, headroom are then 0, stages 1, and over_capacity is false. */
TAMIS_API tamis_status tamis_info_brief(const tamis_filter *filter, tamis_facts *facts);

/* ----------------------------------------------------------------------- sizing */

/* The classic formulas, exact: m = ceil(-n ln p / (ln 2)^2), k = round(m/n ln 2) but from
 * 1 to 1000, p = (1 - e^(-kn/m))^k.  0 where the arguments make no sense (of k: 1). */
TAMIS_API uint64_t tamis_classic_bits(uint64_t keys, double rate);
TAMIS_API uint32_t tamis_classic_hashes(uint64_t bits, uint64_t keys);
TAMIS_API double tamis_classic_rate(uint64_t bits, uint32_t hashes, uint64_t keys);
TAMIS_API uint64_t tamis_classic_keys(uint64_t bits, uint32_t hashes, double rate);

/* What a kind really takes, its own rounding included. */
typedef struct tamis_sizing {
    size_t struct_size;
    tamis_kind kind;
    uint64_t bytes;        /* of the encoded filter */
    double bits_per_key;   /* 0 for 0 keys */
    uint32_t hashes;       /* bits, slots or fingerprints read for a key */
    uint32_t width;        /* bits of a fingerprint or counter */
    double rate;           /* expected when it holds `keys` */
    double rate_at_half;   /* expected with half as many */
    double rate_at_double; /* with twice as many: 1 if it cannot hold them */
    double cache_lines;    /* read for a key that is not there */
    uint64_t build_bytes;  /* memory needed to build it, the filter included */
} tamis_sizing;
#ifdef __cplusplus
#define TAMIS_SIZING_INIT tamis_sizing_default()
#else
#define TAMIS_SIZING_INIT \
    { .struct_size = sizeof(tamis_sizing) }
#endif

/* What `options` (kind, capacity, rate or bytes, bits, hashes, arity) come to: pure
 * arithmetic, nothing is made.  For bytes, the lowest rate that fits in them. */
TAMIS_API tamis_status tamis_size(const tamis_options *options, tamis_sizing *sizing);

/* The rate to expect of the filter that `options` come to when it holds `keys`, whatever it was
 * made for; 1 if it cannot hold them. */
TAMIS_API tamis_status tamis_size_rate(const tamis_options *options, uint64_t keys, double *rate);

/* What the filter must be able to do, for TAMIS_AUTO and tamis_plan. */
enum {
    TAMIS_NEED_REMOVE = 1u << 0,
    TAMIS_NEED_GROW = 1u << 1,
    TAMIS_NEED_MERGE = 1u << 2,
    TAMIS_NEED_STATIC = 1u << 3, /* all keys are known beforehand */
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

/* Picks the kind for `options` (capacity, rate or bytes, needs) and says why.
 * E_ARGUMENT with `why` filled in if no kind has all that is needed. */
TAMIS_API tamis_status tamis_plan(const tamis_options *options, tamis_advice *advice);

/* ------------------------------------------------------------------ bytes and files */

typedef struct tamis_open_options {
    size_t struct_size;
    const char *format;    /* NULL: known by its content; see tamis_format_guess */
    const uint8_t *secret; /* for a keyed filter: E_SECRET without, E_WRONG_SECRET with another */
    bool map;              /* tamis_open: map the file instead of reading it: see there */
    bool unverified;       /* tamis_view: do not compare checksums yet: see tamis_verify */
    bool shared;           /* as in tamis_options */
    bool portable;         /* as in tamis_options */
    tamis_allocator allocator;
    const char *part; /* of a file that holds several filters: see tamis_container_open */
    bool change;      /* tamis_open: to be changed and written back: see tamis_commit */
} tamis_open_options;
#ifdef __cplusplus
#define TAMIS_OPEN_INIT tamis_open_options_default()
#else
#define TAMIS_OPEN_INIT \
    { .struct_size = sizeof(tamis_open_options) }
#endif

/* Bytes that tamis_encode will write. */
TAMIS_API uint64_t tamis_encoded_size(const tamis_filter *filter);

/* Writes the filter in the .tamis format (doc/format.md), or a foreign filter in its own,
 * into `capacity` bytes at `buffer`.  `*length`, if not NULL, receives the bytes written.
 * The same filter gives the same bytes on every machine. */
TAMIS_API tamis_status tamis_encode(const tamis_filter *filter, void *buffer, size_t capacity,
                                    size_t *length);

/* Hands what tamis_encode would write to `write`, from the first byte to the last, at most 1 MiB at
 * a time and without a copy of the table (of a growing or foreign filter, with one).  `write`
 * returns false to stop: E_IO. */
typedef bool tamis_writer(void *context, const void *bytes, size_t length);
TAMIS_API tamis_status tamis_encode_to(const tamis_filter *filter, tamis_writer *write,
                                       void *context);

/* Reads a filter from bytes.  decode copies them; view borrows them, read-only: they must
 * stay and not change until tamis_free, and be aligned to 8 bytes (E_ARGUMENT).
 *
 * The input is untrusted: on TAMIS_OK every later call is safe, whatever the bytes were,
 * and allocation is bounded by a small multiple of `length`.  Checksums are compared, by a
 * view unless `unverified`.  `options` may be NULL. */
TAMIS_API tamis_status tamis_decode(const void *bytes, size_t length,
                                    const tamis_open_options *options, tamis_filter **out);
TAMIS_API tamis_status tamis_view(const void *bytes, size_t length,
                                  const tamis_open_options *options, tamis_filter **out);

/* Compares the table with its checksums: for a mapped file and an `unverified` view.
 * E_CHECKSUM if it is damaged.  A filter that cannot be verified must not be believed when
 * it says "no".  OK at once for any other filter.  What writes, copies or merges a filter that
 * nobody has verified does so first, and fails with E_CHECKSUM: no damage gets a right checksum. */
TAMIS_API tamis_status tamis_verify(const tamis_filter *filter);

/* Writes the filter to a file: to a temporary beside it, synced, then renamed, then the
 * directory synced, so that at any moment the file is the old one or the new one, whole.
 * Unless `replace`, a file that exists is E_EXISTS.  After E_IO errno tells why. */
TAMIS_API tamis_status tamis_save(const tamis_filter *filter, const char *path, bool replace);

/* Opens a file.  With `map` the file is mapped and shared with other processes, read-only,
 * in time that does not depend on its size; checksums of the table are then not compared
 * (call tamis_verify), and the file must not be truncated while it is mapped (replacing it
 * by rename, as tamis_save does, is fine).  A mapped .tamis file keeps a descriptor open, whose
 * lock keeps tamis_commit of others from changing it in place.  What is no regular file cannot be
 * mapped: E_UNSUPPORTED.  A change that a crash has interrupted is made up for in memory.  After
 * E_IO errno tells why. */
TAMIS_API tamis_status tamis_open(const char *path, const tamis_open_options *options,
                                  tamis_filter **out);

/* Writes what was changed since tamis_open with `change` back to the file: at any moment, also
 * after a crash, whoever opens it finds the old filter or the new one, whole.
 *
 *     tamis_open_options how = TAMIS_OPEN_INIT;
 *     how.change = true;
 *     tamis_open("seen.tamis", &how, &seen);        // waits for others who change it
 *     tamis_add(seen, key, length, NULL);
 *     tamis_commit(seen, NULL);
 *     tamis_free(seen);                             // without a commit: as if never opened
 *
 * Of a large .tamis file of kind bloom, block or counting (16 MiB or more) only the pieces of
 * 64 KiB that the keys touch are read, compared with their checksums, and written: first to a
 * journal beside it, then in place (doc/format.md).  So ten keys cost the same in a filter of any
 * size.  Any other file is written as by tamis_save; a large one also if more than an eighth of
 * it changes, if it is another user's, or if another process has it mapped, which so keeps the
 * file that it has.
 *
 * From tamis_open to tamis_free nobody else can open the file for change: they wait.  Readers do
 * not, but for the moment of a commit in place.  `*written`, if not NULL, receives the bytes
 * written to the file.  One commit for each open: then free it.  E_ARGUMENT for a filter that was
 * not opened so.  After E_IO errno tells why: ESTALE if another file has been put in its place
 * meanwhile (tamis_save does not wait), which stays as it is.  When it is the file itself that
 * cannot be written, the journal stays, and the next one to open it finishes the change.  Needs the
 * filter alone. */
TAMIS_API tamis_status tamis_commit(tamis_filter *filter, uint64_t *written);

/* --------------------------------------------------------------- many tiny filters */

/* For storage engines, which keep a filter for every block or page: tens of keys each, and
 * millions of them.  Such a filter is bytes and nothing else: a table, and one byte behind it
 * that says how to read it.  It has no header, no object and no checksum: whoever stores it
 * keeps its length and guards its bytes.
 *
 * From a few keys to some thousands (more are taken; from 10000 on tamis_build is the better
 * call) these are the smallest filters there are: 10.3 bits for each of 30 keys give a rate of
 * 0.1 %.  Keys come as hashes, from tamis_hash with any filter of the wanted seed or secret, or
 * from tamis_hash_integer; they are asked for with the same. */

/* One byte of this value is a filter that matches everything: for when none could be built. */
#define TAMIS_SMALL_ANY 0xff

/* The most bytes that tamis_small_build writes for `count` hashes; 0 if it would refuse.  Any
 * thread. */
TAMIS_API size_t tamis_small_bound(const tamis_options *options, size_t count);

/* Builds a filter from hashes, repeats welcome, into `capacity` bytes at `buffer`; `*length`,
 * at least 1, is what it took.  Of `options` these count: kind, rate or (with rate 0) bytes,
 * and allocator.  With a rate the filter is as small as it can be; with bytes the rate is as low
 * as it can be in at most that many.  kind: TAMIS_AUTO and the static ones are the smallest;
 * TAMIS_BLOOM (and TAMIS_BLOCK, which is the same here) is built five times as fast and takes
 * half as much again.  For the others, which are made to be changed: E_UNSUPPORTED.
 * The same hashes and options give the same bytes, in any order and on any machine.
 * E_NOMEM, E_SMALL (not if `capacity` is tamis_small_bound).  Any thread. */
TAMIS_API tamis_status tamis_small_build(const tamis_options *options, const uint64_t *hashes,
                                         size_t count, void *buffer, size_t capacity,
                                         size_t *length);

/* Might the hash be in the set?  The bytes are untrusted: nothing outside of them is read, and
 * what no version of this call has written (no bytes at all, an unknown last byte) gives true.
 * Any thread. */
TAMIS_API bool tamis_small_contains(const void *bytes, size_t length, uint64_t hash);

/* An empty Bloom filter in the same form, which takes keys one by one: for options->capacity keys
 * at options->rate, or (with rate 0) in options->bytes, with the promise of tamis_create.  kind:
 * TAMIS_AUTO, TAMIS_BLOOM or TAMIS_BLOCK.  E_SMALL, with `*length` what it takes, if `capacity`
 * bytes at `buffer` are too few; E_TOO_FINE below a rate of 2^-30.  Any thread. */
TAMIS_API tamis_status tamis_small_create(const tamis_options *options, void *buffer,
                                          size_t capacity, size_t *length);

/* Adds a key.  `*fresh`, if not NULL, tells whether it was not there before.  E_UNSUPPORTED, and
 * nothing changes, for bytes that are no Bloom filter.  Needs the bytes alone. */
TAMIS_API tamis_status tamis_small_add(void *bytes, size_t length, uint64_t hash, bool *fresh);

/* ------------------------------------------------------------- other systems' filters */

/* A filter of another system is opened, asked, changed, merged and saved like any other, and
 * answers as that system does, false positives included.  Its bytes stay that system's:
 * tamis_encode and tamis_save write what they read.  Such filters cannot be `shared`. */

/* The formats: "tamis", then those of other systems; NULL when `index` is past the last.
 * The strings live for ever.  Time: constant.  Any thread. */
TAMIS_API const char *tamis_format_at(size_t index);

/* A line about a format of that name; NULL if there is none.  As tamis_format_at. */
TAMIS_API const char *tamis_format_about(const char *name);

/* The formats that these bytes could be of, surest first; NULL when `index` is past the last.
 * The only one that is sure is what a NULL `format` in tamis_open_options means; formats
 * without a magic number can merely be guessed, and have to be named.
 * Time: that of checking lengths and headers.  Any thread. */
TAMIS_API const char *tamis_format_guess(const void *bytes, size_t length, size_t index);

/* From now on the filter is encoded in `format`: "tamis" keeps any foreign filter, with
 * checksums, and from there it can go back to its own format.  E_CONVERT, and nothing changes,
 * if that format cannot hold this filter; E_ARGUMENT if there is no such format.  Time:
 * constant.  Needs the filter alone. */
TAMIS_API tamis_status tamis_reformat(tamis_filter *filter, const char *format);

/* Why tamis_reformat would refuse: a sentence that lives for ever; NULL if it would not.
 * Time: constant.  A read-only call. */
TAMIS_API const char *tamis_cannot(const tamis_filter *filter, const char *format);

/* Files that hold several filters: tables of LevelDB ("leveldb-table") and RocksDB
 * ("rocksdb-table"), Parquet files ("parquet").  tamis_open and its sisters open one of their
 * filters: the one named by `part`, or the only one there is (else E_PART).
 *
 * A container is read-only and keeps to its file: asking it is a read-only call, which any
 * number of threads may make at once. */
typedef struct tamis_container tamis_container;

/* Opens a file, mapped; or bytes that must stay until tamis_container_free.  Of `options`
 * (which may be NULL) format and allocator count.  Checksums of the blocks that are read are
 * compared.  E_FORMAT if it is no such file.  On failure `*out` is NULL.
 * Time: that of the index, not of the data.  After E_IO errno tells why. */
TAMIS_API tamis_status tamis_container_open(const char *path, const tamis_open_options *options,
                                            tamis_container **out);
TAMIS_API tamis_status tamis_container_view(const void *bytes, size_t length,
                                            const tamis_open_options *options,
                                            tamis_container **out);

/* NULL is allowed. */
TAMIS_API void tamis_container_free(tamis_container *container);

/* "leveldb-table", "rocksdb-table", "parquet". */
TAMIS_API const char *tamis_container_format(const tamis_container *container);

/* Its parts: filters, and the places where there could be one (Parquet: column chunks without
 * a filter; LevelDB: stretches of the file in which no data block begins). */
TAMIS_API size_t tamis_container_count(const tamis_container *container);

#define TAMIS_PART_NAME 256
typedef struct tamis_part {
    size_t struct_size;
    char name[TAMIS_PART_NAME]; /* for tamis_open_options.part: "17", Parquet "2/address.zip" */
    const char *format;         /* of the filter */
    uint64_t offset, bytes;     /* in the file; no bytes: there is no filter here */
    uint64_t row_group;         /* Parquet */
} tamis_part;
#ifdef __cplusplus
#define TAMIS_PART_INIT tamis_part_default()
#else
#define TAMIS_PART_INIT \
    { .struct_size = sizeof(tamis_part) }
#endif

/* What is known of a part.  E_ARGUMENT if there is no such index.  Time: constant. */
TAMIS_API tamis_status tamis_container_part(const tamis_container *container, size_t index,
                                            tamis_part *part);

/* The filter of a part, with its own copy of the bytes.  E_PART if it has none. */
TAMIS_API tamis_status tamis_container_filter(const tamis_container *container, size_t index,
                                              tamis_filter **out);

/* Might the key be in the file?  Asks the filters that cover it: of a LevelDB table the one of
 * the data block where it would be; of a Parquet file those of all row groups.  `part` names one
 * of them, or a column of a Parquet file; NULL is all.  Where there is no filter to ask the
 * answer is true.  Time: that of finding the filter in the index, and of asking it. */
TAMIS_API bool tamis_container_contains(const tamis_container *container, const char *part,
                                        const void *key, size_t length);

/* Writes the file anew with another filter in the place of a part's: to `path`, as tamis_save
 * does; it may be the file itself.  Parquet only; E_UNLIKE if the filter is not encoded to just
 * as many bytes. */
TAMIS_API tamis_status tamis_container_replace(const tamis_container *container, size_t index,
                                               const tamis_filter *filter, const char *path,
                                               bool replace);

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
