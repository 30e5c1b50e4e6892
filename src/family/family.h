/* family.h - the contract between the families and everything above them
 *
 * A family is an algorithm over one table of bytes.  It never sees keys, only their 64-bit
 * hashes, and never sees files: its table in memory is, byte for byte, what the file holds
 * (little-endian, use bytes.h), and all that is needed to use a table again is a `shape`: up
 * to eight numbers whose meaning is the family's own.  So one generic codec serves all.
 *
 * A new family is a file with a `const struct tamis__family`, and a line in registry.c.
 *
 * Laws (tests/laws runs them over the registry)
 *   - no false negative, whatever the hashes are;
 *   - a batch does what its keys would do one by one, `fresh` included;
 *   - every instruction set gives the same answers and the same table;
 *   - a table that `attach` accepted is safe to use, whatever bytes are in it;
 *   - the table depends on the set of keys only, not on order, threads or memory
 *     (`ordered` families: on the order of adds too);
 *   - the expected rate at capacity, over keys and over sets of keys, is at most the rate
 *     asked for.  Small tables vary from set to set, so dynamic families are sized for
 *     TAMIS__SIGMAS standard deviations above the mean fill: the promise is about *your* set.
 *
 * Two families never include each other; what they share has its own file. */
#ifndef TAMIS_FAMILY_FAMILY_H
#define TAMIS_FAMILY_FAMILY_H

#include "core/alloc.h"
#include "hash/hash.h"
#include "tamis.h"

#define TAMIS__SHAPE_WORDS 8
#define TAMIS__SIGMAS 4.0

/* The numbers that define a table; in the file's header.  Each family names its words. */
struct tamis__shape {
    uint64_t word[TAMIS__SHAPE_WORDS];
    uint64_t table_bytes;
    uint32_t scheme;  /* whose layout (scheme.h): 0 is ours */
    uint32_t padding; /* 0, so that shapes can be compared as bytes */
};

/* What a user wants of a filter.  Checked: 0 < rate < 1. */
struct tamis__want {
    uint64_t capacity;
    double rate;
    uint64_t bits;   /* 0, or fixed by the user */
    uint32_t hashes; /* 0, or fixed by the user */
    uint32_t arity;  /* 0, 3 or 4 */
    tamis_kind stage;
    uint32_t threads;
};

/* What a shape means to a reader of a plan. */
struct tamis__traits {
    uint32_t hashes;
    uint32_t width;
    double cache_lines;         /* read for an absent key */
    double build_bytes_per_key; /* static: scratch beyond the table; else 0 */
};

/* What a filter knows of itself now. */
struct tamis__state {
    double fill;
    double distinct, distinct_error;
    double rate_now;
    uint32_t stages;
    uint64_t capacity; /* growing: of all stages; 0: as asked for */
};

struct tamis__family;
struct tamis__codec;
struct tamis__keys;
struct tamis__change;

/* No more places in the table than this belong to a key of a family that has `touched`. */
#define TAMIS__TOUCHED_MOST 64

/* The operations of one family, scheme, width and instruction set: chosen once per object.
 * `hi` arrays may be NULL for our own filters.  `answers`, `fresh`, `removed` may be NULL.
 * Entries that a family lacks are NULL. */
struct tamis__ops {
    const char *path; /* "portable", "avx2", "neon" */

    bool (*contains)(const tamis_filter *f, struct tamis__hash h);
    /* Returns how many answered true. */
    size_t (*contains_batch)(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                             size_t count, bool *answers);

    /* OK or E_FULL (nothing changed). */
    tamis_status (*add)(tamis_filter *f, struct tamis__hash h, bool *fresh);
    /* Stops at the first E_FULL; *done (never NULL) counts what was added. */
    tamis_status (*add_batch)(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, size_t count,
                              bool *fresh, size_t *done);

    /* OK or E_ABSENT (nothing changed). */
    tamis_status (*remove)(tamis_filter *f, struct tamis__hash h);
};

/* Where the block of memory that holds the table came from. */
enum tamis__storage {
    TAMIS__OWNED,    /* tamis__table_alloc: writable */
    TAMIS__BORROWED, /* somebody else's bytes; read-only unless `lent` */
    TAMIS__MAPPED,   /* a mapped file: read-only */
    TAMIS__DRAFT     /* a mapped file: writable, and what is written stays in memory */
};

/* The flags that a key form may have. */
#define TAMIS__KEY_FLAGS \
    (TAMIS_KEY_HEX | TAMIS_KEY_PREHASHED | TAMIS_KEY_STRIP_CR | TAMIS_KEY_FOLD_CASE)

/* Every filter starts with this; a family may embed it in a larger struct (object_size). */
struct tamis_filter {
    /* How one key is asked for (question.c), chosen with `ops`: first, so that it is one jump. */
    bool (*contains)(const tamis_filter *f, struct tamis__hash h);
    bool (*contains_key)(const tamis_filter *f, const void *key, size_t length);

    const struct tamis__ops *ops;
    const struct tamis__family *family;
    uint8_t *table; /* shape.table_bytes bytes, aligned to TAMIS_LINE (a view: to 8) */
    struct tamis__shape shape;
    struct tamis__hashing hashing;
    const struct tamis__codec *codec; /* how it is encoded; NULL: .tamis */

    uint64_t adds;     /* adds less removes; kept by tamis.c, atomically if shared */
    uint64_t capacity; /* as asked for; static: distinct keys */
    double rate;       /* as asked for */
    tamis_key_form form;
    bool shared, portable;
    tamis_allocator allocator;

    enum tamis__storage storage;
    bool lent;      /* borrowed from an owner that may be written: a stage of growing */
    uint8_t *block; /* what is freed or unmapped: the table, or all bytes around it */
    uint64_t block_bytes;
    const uint8_t *extra; /* in `block`: what a foreign file holds besides; written back as is */
    uint64_t extra_bytes;
    bool unverified; /* `block` is a whole .tamis file whose checksums nobody compared at first */
    bool compared;   /* somebody has since, and they match; set atomically */
    int held;        /* mapped: descriptor + 1 that keeps the file as it is; 0: none */
    struct tamis__change *change; /* opened to be changed: what to write back; else NULL */
};

struct tamis__family {
    tamis_kind kind;
    const char *name;
    uint32_t caps; /* TAMIS_CAN_* */
    bool ordered;  /* the table depends on the order of adds */
    size_t object_size;

    /* ---- sizing: pure functions.  A family of another system's layout (dialects.c) is sized
     * by its codec, and has only `traits`. */

    /* The shape for a want.  For a static family `capacity` is the number of distinct keys
     * and the result an estimate (within a percent) of what build will make.
     * E_TOO_FINE, E_TOO_BIG, E_ARGUMENT. */
    tamis_status (*shape)(const struct tamis__want *want, struct tamis__shape *shape);
    /* Expected rate with `keys` distinct keys in it; 1 if it cannot hold them. */
    double (*rate)(const struct tamis__shape *shape, double keys);
    void (*traits)(const struct tamis__shape *shape, struct tamis__traits *traits);

    /* ---- life */

    /* Writes what an empty filter's table holds besides zeros.  May be NULL. */
    void (*init)(const struct tamis__shape *shape, uint8_t *table);
    /* Is the shape one that this family could have made, table_bytes included?  Nothing in
     * it may be trusted: multiplications must not overflow.  Every use is safe afterwards. */
    bool (*check)(const struct tamis__shape *shape);
    /* The operations for a shape: `cpu` has TAMIS__CPU_* bits. */
    const struct tamis__ops *(*ops)(const struct tamis__shape *shape, uint32_t cpu, bool shared);
    /* Called when shape, table and ops are set: derives what the object keeps besides.  The
     * table may be untrusted: E_CORRUPT if it has an inside that does not hold together.
     * May be NULL. */
    tamis_status (*attach)(tamis_filter *f);
    /* Frees what attach and later operations allocated, not the table.  May be NULL. */
    void (*detach)(tamis_filter *f);

    /* ---- the rest; NULL where the family cannot */

    /* The bytes of the table that an add or a removal of the hash may change, as offsets; returns
     * how many.  For families whose files are changed in place. */
    size_t (*touched)(const tamis_filter *f, uint64_t hash, uint64_t offsets[TAMIS__TOUCHED_MOST]);

    /* Has the lines that a question or an add for the hash reads fetched, and does not wait. */
    void (*prefetch)(const tamis_filter *f, uint64_t hash);

    /* The version of the .tamis format that its table came with; NULL: 1.  tamis__filter_version
     * asks. */
    uint32_t (*version)(const tamis_filter *f);

    void (*state)(const tamis_filter *f, struct tamis__state *state);
    /* Copies of a key, if there can be more than one. */
    unsigned (*count)(const tamis_filter *f, struct tamis__hash h);
    /* Both have equal shapes; but of foreign ones the table of one may be padded to whole words. */
    tamis_status (*merge)(tamis_filter *into, const tamis_filter *from, tamis_merge_mode mode);
    /* static: makes the filter's table from all hashes.  On OK the shape, the table (through
     * tamis__filter_own) and f->capacity (distinct keys) are set; attach has not been called. */
    tamis_status (*build)(const struct tamis__want *want, struct tamis__keys *keys,
                          tamis_filter *f);
    /* A table that is not one piece (growing): its size now, and its bytes.  NULL: f->table. */
    uint64_t (*export_bytes)(const tamis_filter *f);
    void (*export_table)(const tamis_filter *f, uint8_t *bytes);
    /* Fills the shape and (allocated by the caller) table of another kind. */
    tamis_status (*convert_shape)(const tamis_filter *f, tamis_kind kind,
                                  struct tamis__shape *shape);
    void (*convert_table)(const tamis_filter *f, uint8_t *table);
};

/* ---- registry.c: the only file that names every family */

/* NULL if there is none. */
const struct tamis__family *tamis__family_of(tamis_kind kind);
/* In order of kind; NULL at the end. */
const struct tamis__family *tamis__family_at(size_t index);

/* ---- object.c: making filters out of a shape and a table */

/* An object of `family` with hashing, allocator and flags copied from `like` and no table;
 * NULL if there is no memory. */
tamis_filter *tamis__filter_new(const struct tamis__family *family, const tamis_filter *like);
/* Makes `table` (from tamis__table_alloc, shape.table_bytes long) the filter's own. */
void tamis__filter_own(tamis_filter *f, uint8_t *table);
/* Sets ops and what follows from them, and calls attach; shape, table and hashing are set.  On
 * failure the object is still the caller's to free. */
tamis_status tamis__filter_attach(tamis_filter *f);
/* The oldest version of the .tamis format that has the layout of its table. */
uint32_t tamis__filter_version(const tamis_filter *f);
/* detach, then the table as `storage` says, then the object.  NULL is allowed. */
void tamis__filter_free(tamis_filter *f);

/* ---- question.c: one key is asked for */

/* Sets f->contains and f->contains_key; ops and hashing are set. */
void tamis__question_attach(tamis_filter *f);

#endif
