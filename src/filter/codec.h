/* codec.h - the contract between a file format and everything above it
 *
 * A codec turns a block of bytes into a filter whose table lies inside that block, and back.
 * It does not copy: tamis_decode, tamis_view and tamis_open differ only in where the block came
 * from, and hand it to the filter afterwards.  A few formats must build a table (packed,
 * compressed); then the filter owns it and the block is no longer needed.
 *
 * A codec of a compatible format parses its header into a `tamis__contents`;
 * codec_defaults.c makes the filter and has the defaults for functions that are NULL.  A codec
 * trusts nothing: every length and relation is checked before anything is allocated, and no more is
 * allocated than there are bytes. */
#ifndef TAMIS_FILTER_CODEC_H
#define TAMIS_FILTER_CODEC_H

#include "filter/family.h"

/* What one lookup may cost, whatever the bytes state: the bits or slots that it reads.  Numbers of
 * hashes, sub-filters and slots come from the bytes, so every format bounds their product or sum by
 * this; more is E_UNSUPPORTED.  No system creates filters that need more: the smallest double above
 * 0 is a false positive rate of 2^-1074, 1,075 hashes.  A RedisBloom chain halves the rate from one
 * sub-filter to the next, so until the rate is 0 it has at most 1 + 2 + ... + 1,075 = 578,350.  A
 * lookup that reads all of them takes about 2 ms. */
#define TAMIS__LOOKUP_PROBES_MAX ((uint64_t)1 << 20)

/* Whether bytes have a codec's format. */
enum tamis__detection {
    TAMIS__NO_MATCH,
    TAMIS__POSSIBLE, /* consistent with the format, but so is much else */
    TAMIS__CERTAIN   /* a magic number, or equations that hold over the whole length */
};

enum {
    TAMIS__COUNTS_FRESH = 1u << 0,     /* `adds` counts the keys that changed a bit */
    TAMIS__SIZED_BY_DISTINCT = 1u << 1 /* if no capacity is given, distinct keys count */
};

/* What `decode` is given, and what it sets. */
struct tamis__decoding {
    const struct tamis__codec *codec; /* may be set to the variant that the bytes have */
    const char *parameters;           /* "entries=N,error=P"; NULL: none */
    tamis_allocator allocator;        /* for `contents.made` */
    struct tamis__contents contents;  /* family and hashing are the codec's */
};

struct tamis__codec {
    const char *name;       /* as in tamis_facts.format and --from */
    const char *about;      /* one line of description */
    const char *parameters; /* those that `make` understands: "bits,ribbon"; NULL: none */
    uint32_t flags;

    /* NULL: certain of bytes that `decode` accepts as its own variant. */
    enum tamis__detection (*detect)(const struct tamis__codec *codec, const uint8_t *bytes,
                                    uint64_t length);
    /* Makes a filter from its header alone, with tables of zeros in `settings->pages`.  NULL: not
     * supported. */
    tamis_status (*open_header)(const uint8_t *header, uint64_t length,
                                const struct tamis__settings *settings, tamis_filter **out);
    uint64_t (*encoded_size)(const tamis_filter *f);
    /* Writes `size` bytes, what encoded_size returned; also if another process has changed the
     * table since. */
    void (*encode)(const tamis_filter *f, uint8_t *buffer, uint64_t size);
    /* A further reason why a filter cannot be written in this format, or NULL.  May be NULL. */
    const char *(*reason)(const struct tamis__codec *codec, const tamis_filter *f);
    /* tamis_facts.note, or NULL.  May be NULL. */
    const char *(*note)(const tamis_filter *f);

    /* ---- compatible formats; NULL for our own */

    /* Family and hash of every filter of the format, and the reason why others cannot be written
     * in it.  NULL: `decode` and `make` set them, `reason` checks them. */
    const struct tamis__family *family;
    const struct tamis__compat_hash *hash;
    const char *refusal;
    /* Do the filter's numbers fit into the format?  A .tamis file may contain any.  NULL: yes. */
    bool (*holds)(const tamis_filter *f);
    const void *variant; /* the codec's own, if several codecs share functions */

    /* The contents of a filter whose table points into `bytes`.  Nothing in them may be trusted. */
    tamis_status (*decode)(const uint8_t *bytes, uint64_t length, struct tamis__decoding *d);
    /* A filter of no keys with the system's own sizing; family and hashing are the codec's. */
    tamis_status (*make)(const struct tamis__spec *spec, struct tamis__contents *contents);
    /* From all hashes in the order given, if the size of the table depends on them; `make` then
     * sets only kind and hashing.  NULL: make, then add. */
    tamis_status (*build)(const struct tamis__spec *spec, const uint64_t *lo, size_t count,
                          const struct tamis__settings *settings, tamis_filter **out);
};

#endif
