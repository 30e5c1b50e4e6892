/* family.h - the contract between the families and everything above them
 *
 * A family is an algorithm over one table of bytes.  It never sees keys, only their 64-bit
 * hashes, and never sees files: its table in memory is, byte for byte, what the file holds
 * (little-endian, use bytes.h), and all that is needed to use a table again is a `shape`: up
 * to eight numbers that the family defines.  So one generic codec serves all families.
 *
 * A new family is a file with a `const struct tamis__family`, a row in families.c, and a line of
 * TAMIS_KIND_MAP in tamis.h.
 *
 * Laws (tests/laws runs them over the registry)
 *   - no false negative, whatever the hashes are;
 *   - a batch does what its keys would do one by one, `fresh` included;
 *   - every instruction set gives the same answers and the same table;
 *   - a table that `attach` accepted is safe to use, whatever bytes are in it;
 *   - the table depends on the set of keys only, not on order, threads or memory
 *     (`ordered` families: on the order of adds too);
 *   - the expected false positive rate at capacity, over keys and over sets of keys, is at
 *     most the rate requested.  Small tables vary from set to set, so dynamic families are sized
 *     for TAMIS__SIGMAS standard deviations above the mean fill: the promise is about *your* set.
 *
 * Two families never include each other; what they share has its own file. */
#ifndef TAMIS_FILTER_FAMILY_H
#define TAMIS_FILTER_FAMILY_H

#include "core/alloc.h"
#include "hash/hash.h"
#include "tamis.h"

#define TAMIS__SHAPE_WORDS 8
#define TAMIS__SIGMAS 4.0

/* The numbers that define a table; in the file's header.  Each family names its words. */
struct tamis__shape {
    uint64_t word[TAMIS__SHAPE_WORDS];
    uint64_t table_bytes;
    uint32_t layout;  /* the family's */
    uint32_t padding; /* 0, so that shapes can be compared as bytes */
};

/* Are all words after `last` 0? */
static inline bool tamis__shape_ends(const struct tamis__shape *shape, unsigned last) {
    uint64_t unused = 0;
    for (unsigned i = last + 1; i < TAMIS__SHAPE_WORDS; i++) unused |= shape->word[i];
    return unused == 0;
}

struct tamis__codec;

/* What the caller wants: the options, checked.  The way to a filter is options -> spec + settings
 * -> contents -> filter, for our kinds and for compatible formats. */
struct tamis__spec {
    tamis_kind kind;   /* ours; AUTO: a compatible format */
    uint64_t capacity; /* keys; a compatible format whose keys were counted: repeats included */
    double fpr;        /* in (0,1); compatible formats: 0 is the system's default */
    uint64_t bits;     /* 0, or fixed by the caller */
    uint32_t hashes;   /* 0, or fixed by the caller */
    uint32_t arity;    /* 0, 3 or 4 */
    tamis_kind stage;
    uint32_t threads;
    struct tamis__hashing hashing; /* ours; a compatible format has its own */
    uint64_t seed;
    const struct tamis__codec *codec; /* compatible formats; else NULL */
    const char *parameters;           /* compatible formats: "bits=10,ribbon", known to the codec */
};

/* What a filter inherits from its caller or its parent, besides its contents. */
struct tamis__settings {
    const struct tamis__codec *codec; /* how it is encoded; NULL: .tamis */
    tamis_allocator allocator;
    tamis_key_form form;
    bool shared, portable;
    const tamis_storage *pages; /* tables are in the caller's storage; else NULL */
};

/* Everything about a filter except its settings, before it is an object.  A codec decodes it, or
 * sizing derives it from a spec.  At most one of `table` and `made` is set; with neither, the
 * filter gets a table of its own: zeros, and what the family's init writes. */
struct tamis__contents {
    const struct tamis__family *family;
    struct tamis__shape shape; /* its layout is set from the family */
    struct tamis__hashing hashing;
    uint64_t capacity; /* 0: unknown */
    double fpr;        /* 0: unknown */
    uint64_t adds;
    const uint8_t *table; /* borrowed */
    uint8_t *made;        /* from tamis__table_alloc, table_bytes + extra_bytes long: taken over */
    const uint8_t *extra; /* in the block of `table` or `made` */
    uint64_t extra_bytes;
};

/* What a plan reports about a shape. */
struct tamis__traits {
    uint32_t hashes;
    uint32_t width;
    double cache_lines;         /* read for an absent key */
    double build_bytes_per_key; /* static: scratch beyond the table; else 0 */
};

/* The state of a filter, measured from its table. */
struct tamis__state {
    double fill;
    double distinct, distinct_error;
    double fpr_now;
    uint32_t stages;
    uint64_t capacity; /* growing: of all stages; 0: as requested */
};

struct tamis__family;
struct tamis__shard_maker;
struct tamis__touched;
struct tamis__update;

/* Keys whose cache lines a batch prefetches before it reads the first. */
#define TAMIS__PREFETCHED_KEYS 32

/* Receives a part of a table. */
typedef void tamis__part_taker(void *context, const uint8_t *at, uint64_t bytes);
/* Receives a cell that a lookup reads. */
typedef void tamis__cell_taker(void *context, const tamis_cell *cell);

/* The operations of one family, layout, width and instruction set: chosen once per object.
 * `hi` arrays may be NULL for our own filters.  `answers`, `fresh`, `removed` may be NULL.
 * Entries that a family lacks are NULL. */
struct tamis__ops {
    const char *path; /* "portable", "avx2", "avx512", "neon" */

    /* One key.  A family whose keys need 128 bits has contains_wide and add_wide instead. */
    bool (*contains)(const tamis_filter *f, uint64_t hash);
    bool (*contains_wide)(const tamis_filter *f, struct tamis__hash h);
    /* Returns how many answered true. */
    size_t (*contains_batch)(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                             size_t count, bool *answers);

    /* OK or E_FULL (nothing changed). */
    tamis_status (*add)(tamis_filter *f, uint64_t hash, bool *fresh);
    tamis_status (*add_wide)(tamis_filter *f, struct tamis__hash h, bool *fresh);
    /* The same as `add`, and then increments f->adds: for our own filters that are writable and
     * not shared.  NULL: `add` is called, and then it is counted. */
    tamis_status (*add_counted)(tamis_filter *f, uint64_t hash, bool *fresh);
    /* Stops at the first E_FULL; *done (never NULL) counts what was added. */
    tamis_status (*add_batch)(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, size_t count,
                              bool *fresh, size_t *done);

    /* OK or E_ABSENT (nothing changed). */
    tamis_status (*remove)(tamis_filter *f, uint64_t hash);
};

/* Who owns the block of memory that holds the table. */
enum tamis__storage {
    TAMIS__OWNED,    /* tamis__table_alloc: writable */
    TAMIS__BORROWED, /* the caller's bytes: read-only */
    TAMIS__MAPPED,   /* a mapped file: read-only */
    TAMIS__DRAFT     /* a mapped file: writable in memory, written back by tamis_commit */
};

/* The flags that a key form may have. */
#define TAMIS__KEY_FLAGS \
    (TAMIS_KEY_HEX | TAMIS_KEY_PREHASHED | TAMIS_KEY_STRIP_CR | TAMIS_KEY_FOLD_CASE)

/* What was verified when a filter was built with `check` (api/self_check.c).  Adds change `adds`
 * of the filter, so they need not clear it: that would cost each an instruction. */
struct tamis__seal {
    bool set;
    uint64_t sum;                     /* of the table and what it means */
    uint64_t adds;                    /* of the filter then */
    const struct tamis__codec *codec; /* of the filter then; NULL: .tamis */
    uint64_t encoded;                 /* compatible formats: of the encoded filter */
};

/* Every filter starts with this; a family may embed it in a larger struct (object_size). */
struct tamis_filter {
    /* Calls of one key (calls.c), chosen with `ops`.  They and all that a call of `block` reads are
     * in the first 64 bytes. */
    bool (*contains)(const tamis_filter *f, uint64_t hash);
    bool (*contains_key)(const tamis_filter *f, const void *key, size_t length);
    tamis_status (*add)(tamis_filter *f, uint64_t hash, bool *fresh);

    uint8_t *table; /* shape.table_bytes bytes, aligned to TAMIS_LINE (a view: to 8) */
    uint64_t adds;  /* adds less removes; atomic if shared */
    const struct tamis__ops *ops;
    struct tamis__shape shape;
    const struct tamis__family *family;
    struct tamis__hashing hashing;
    struct tamis__settings settings;

    uint64_t capacity; /* as requested; static: distinct keys */
    double fpr;        /* as requested */

    enum tamis__storage storage;
    uint8_t *block; /* what is freed or unmapped: the table, or all bytes around it */
    uint64_t block_bytes;
    const uint8_t *extra; /* in `block`: other data of a compatible file; written back as is */
    uint64_t extra_bytes;
    bool unverified; /* `block` is a whole .tamis file, opened without comparing checksums */
    bool compared;   /* compared since, and they match; set atomically */
    int held;        /* mapped: descriptor + 1 that keeps the file as it is; 0: none */
    struct tamis__touched *touched; /* verified as queries touch it: what has been; else NULL */
    struct tamis__update *update;   /* opened for update: what to write back; else NULL */
    struct tamis__seal seal;        /* of a filter whose keys were all queried */
};

/* The largest part of a header. */
#define TAMIS__HEADER_PART 64

/* What a family does for filters in the caller's storage. */
struct tamis__paged {
    /* Writes the part of the header that contains `offset`, and where it begins; returns its
     * length, 0 past the end. */
    size_t (*header_part)(const tamis_filter *f, size_t offset, uint8_t *part, size_t *begins);
    void *(*table)(const tamis_filter *f, size_t index);
    /* `to` is a copy of the object: gives it tables of its own. */
    tamis_status (*copy)(const tamis_filter *from, tamis_filter *to);
    /* Adds all keys of another.  May be NULL. */
    tamis_status (*unite)(tamis_filter *into, const tamis_filter *from);
};

struct tamis__family {
    tamis_kind kind;
    uint32_t layout; /* 0: ours; else of a compatible format, and in .tamis files: frozen */
    const char *name;
    uint32_t caps;   /* TAMIS_CAN_* */
    bool ordered;    /* the table depends on the order of adds */
    bool takes_bits; /* the caller may fix bits and hashes */
    size_t object_size;

    /* ---- sizing: pure functions.  A family of a compatible format is sized by its codec and has
     * only `traits`. */

    /* The shape for a spec.  For a static family `capacity` is the number of distinct keys
     * and the result estimates (within a percent) what `build` makes.
     * E_FPR_TOO_LOW, E_TOO_BIG, E_ARGUMENT. */
    tamis_status (*shape)(const struct tamis__spec *spec, struct tamis__shape *shape);
    /* The expected false positive rate with `keys` distinct keys; 1 if it cannot hold them. */
    double (*fpr)(const struct tamis__shape *shape, double keys);
    void (*traits)(const struct tamis__shape *shape, struct tamis__traits *traits);

    /* ---- creating and freeing */

    /* Initializes the zeroed table of an empty filter.  May be NULL. */
    void (*init)(const struct tamis__shape *shape, uint8_t *table);
    /* Is the shape one that this family could have made, table_bytes included?  Nothing in
     * it may be trusted: multiplications must not overflow.  Every use is safe afterwards. */
    bool (*check)(const struct tamis__shape *shape);
    /* The operations for a shape: `cpu` has TAMIS__CPU_* bits.  NULL: `only_ops` for all. */
    const struct tamis__ops *(*ops)(const struct tamis__shape *shape, uint32_t cpu, bool shared);
    const struct tamis__ops *only_ops;
    /* Called when shape, table and ops are set: derives the other fields of the object, and may
     * choose other ops.  The table may be untrusted: E_CORRUPT if its contents are inconsistent.
     * May be NULL. */
    tamis_status (*attach)(tamis_filter *f);
    /* Frees what attach and later operations allocated, not the table.  May be NULL. */
    void (*detach)(tamis_filter *f);

    /* ---- optional; NULL if the family does not support it */

    /* Passes the parts of the table on which the answer to a query of the hash depends to `take`,
     * what `attach` has read for it included.  If the table is damaged it may pass others, but the
     * part that misled it is always among them. */
    void (*touches)(const tamis_filter *f, uint64_t hash, tamis__part_taker *take, void *context);
    /* Adds and removals of the hash read and change nothing but these parts: files are changed in
     * place. */
    bool in_place;
    /* Passes the cells that decide a lookup of the hash to `take`, as tamis_cells promises: at
     * their bits of the exported table. */
    void (*cells)(const tamis_filter *f, uint64_t hash, tamis__cell_taker *take, void *context);

    /* Prefetches the cache lines that a query or add of the hash reads. */
    void (*prefetch)(const tamis_filter *f, uint64_t hash);

    /* The version of the .tamis format that introduced its table layout; NULL: 1. */
    uint32_t (*version)(const tamis_filter *f);

    void (*state)(const tamis_filter *f, struct tamis__state *state);
    /* Copies of a key, if there can be more than one. */
    unsigned (*count)(const tamis_filter *f, uint64_t hash);
    /* Both have equal shapes, but a compatible format's table may be padded to whole words. */
    tamis_status (*merge)(tamis_filter *into, const tamis_filter *from, tamis_merge_mode mode);
    /* A table that is not contiguous (growing): its current size, and its bytes.  NULL: f->table.
     */
    uint64_t (*export_bytes)(const tamis_filter *f);
    void (*export_table)(const tamis_filter *f, uint8_t *bytes);
    /* The shape of another kind, and its table, which the caller allocates. */
    tamis_status (*convert_shape)(const tamis_filter *f, tamis_kind kind,
                                  struct tamis__shape *shape);
    void (*convert_table)(const tamis_filter *f, uint8_t *table);
    /* Moves keys together: tamis_compact. */
    tamis_status (*compact)(tamis_filter *f, bool *changed);
    const struct tamis__shard_maker *shards; /* static: how one is built (build/shards.h) */
    const struct tamis__paged *paged;        /* NULL: tables are contiguous */
};

/* ---- families.c: the only file that names every family */

/* NULL if there is none. */
const struct tamis__family *tamis__family_of(tamis_kind kind);
/* In order of kind; NULL at the end. */
const struct tamis__family *tamis__family_at(size_t index);

/* ---- object.c: only this file constructs and frees filters */

/* Makes a filter of untrusted contents: E_CORRUPT if shape and table are inconsistent,
 * E_UNSUPPORTED if the settings say shared and the kind cannot be, E_TOO_BIG, E_NOMEM.  On failure
 * `made` is freed and `*out` is unchanged. */
tamis_status tamis__filter_make(const struct tamis__contents *contents,
                                const struct tamis__settings *settings, tamis_filter **out);
/* A copy of a filter in the caller's storage (`paged`), with tables of its own.  On failure `*out`
 * is unchanged. */
tamis_status tamis__filter_copy(const tamis_filter *f, tamis_filter **out);
/* The oldest version of the .tamis format that has the layout of its table. */
uint32_t tamis__filter_version(const tamis_filter *f);
/* For `merge` where the table is nothing but bits: OR or AND of both tables. */
tamis_status tamis__merge_bits(tamis_filter *into, const tamis_filter *from, tamis_merge_mode mode);
/* detach, then the table according to `storage`, then the object.  NULL is allowed. */
void tamis__filter_free(tamis_filter *f);

/* ---- calls.c: calls of one key */

/* Sets f->contains, f->contains_key and f->add from ops, hashing, settings and storage: call it
 * again when one of them changes. */
void tamis__calls_attach(tamis_filter *f);

static inline bool tamis__filter_is_readonly(const tamis_filter *f) {
    return f->storage != TAMIS__OWNED && f->storage != TAMIS__DRAFT;
}

/* Do 64 bits stand for a key of this filter?  Compatible formats may need more. */
static inline bool tamis__filter_takes_hashes(const tamis_filter *f) {
    return tamis__hashing_is_narrow(&f->hashing);
}

/* The family's operations on a key of 64 or 128 bits; tamis__filter_add_one does not count. */
static inline bool tamis__filter_contains(const tamis_filter *f, struct tamis__hash h) {
    return f->ops->contains_wide != NULL ? f->ops->contains_wide(f, h) : f->ops->contains(f, h.lo);
}
static inline tamis_status tamis__filter_add_one(tamis_filter *f, struct tamis__hash h,
                                                 bool *fresh) {
    return f->ops->add_wide != NULL ? f->ops->add_wide(f, h, fresh) : f->ops->add(f, h.lo, fresh);
}

/* E_ARGUMENT (NULL), E_STATIC, E_UNSUPPORTED or E_READONLY if nothing can be added. */
tamis_status tamis__filter_can_add(const tamis_filter *f);
/* Adds a key, of a filter to which keys can be added, and counts it. */
tamis_status tamis__filter_add_key(tamis_filter *f, struct tamis__hash h, bool *fresh);
/* Does `adds` count only keys that change the filter? */
bool tamis__filter_counts_fresh(const tamis_filter *f);

static inline void tamis__filter_count_adds(tamis_filter *f, uint64_t count) {
    if (f->settings.shared) {
        __atomic_fetch_add(&f->adds, count, __ATOMIC_RELAXED);
    } else {
        f->adds += count;
    }
}

#endif
