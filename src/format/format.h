/* format.h - bytes on disk: our own format, files, and the contract of a codec
 *
 * A codec turns a block of bytes into a filter whose table lies inside that block, and back.
 * It does not copy: tamis_decode, tamis_view and tamis_open differ only in where the block came
 * from (files.c gives it to the filter afterwards).  A few formats must make a table (packed,
 * compressed); then the filter owns it, and the block is not needed any more.
 *
 * A codec of another system's format parses its header into an `image` and leaves the rest to
 * image.c.  It trusts nothing: every length and relation is checked before anything is
 * allocated, and never more is allocated than there are bytes. */
#ifndef TAMIS_FORMAT_FORMAT_H
#define TAMIS_FORMAT_FORMAT_H

#include "family/family.h"

/* What a codec thinks of some bytes. */
enum tamis__likeness {
    TAMIS__NOT,
    TAMIS__COULD, /* nothing speaks against it, but much else would pass, too */
    TAMIS__SURE   /* a magic number, or equations that hold over the whole length */
};

/* What a user wants of another system's filter. */
struct tamis__recipe {
    uint64_t keys; /* to be held: the capacity, or all that were counted, repeats included */
    double rate;   /* in (0,1); 0: the system's default */
    uint64_t bits; /* 0, or fixed by the user */
    uint64_t seed;
    const char *parameters; /* "bits=10,ribbon": checked by tamis__parameters_known */
};

/* A filter as a codec sees it, before anything is allocated. */
struct tamis__image {
    tamis_kind kind;
    struct tamis__shape shape;
    struct tamis__hashing hashing;
    uint64_t capacity; /* 0: unknown */
    double rate;       /* 0: unknown */
    uint64_t adds;
    const uint8_t *table; /* in the block; NULL: zeros, and what the family's init writes */
    uint8_t *made;        /* or from tamis__table_alloc, shape.table_bytes long: taken over */
    const uint8_t *extra; /* in the block */
    uint64_t extra_bytes;
};

enum {
    TAMIS__COUNTS_FRESH = 1u << 0,     /* `adds` counts the keys that changed a bit */
    TAMIS__SIZED_BY_DISTINCT = 1u << 1 /* a size that is not given counts no key twice */
};

struct tamis__codec {
    const char *name;       /* as in tamis_facts.format and --from */
    const char *about;      /* a line for people */
    const char *parameters; /* those that `make` understands: "bits,ribbon"; NULL: none */
    uint32_t flags;

    enum tamis__likeness (*detect)(const uint8_t *bytes, uint64_t length);
    /* Makes the filter: hashing, shape, table (pointing into `bytes`) and attached.  `like`
     * has allocator and flags.  Nothing in the bytes may be trusted. */
    tamis_status (*decode)(const uint8_t *bytes, uint64_t length, const tamis_filter *like,
                           const tamis_open_options *options, tamis_filter **out);
    uint64_t (*encoded_size)(const tamis_filter *f);
    /* `buffer` has room for encoded_size bytes. */
    tamis_status (*encode)(const tamis_filter *f, uint8_t *buffer);

    /* ---- other systems' formats; NULL for our own */

    /* A filter of no keys with the system's own sizing.  NULL: cannot be made. */
    tamis_status (*make)(const struct tamis__recipe *recipe, struct tamis__image *image);
    /* From all hashes, in the order given, where the bytes depend on them: `make` then gives no
     * more than kind and hashing.  NULL: make, then add. */
    tamis_status (*build)(const struct tamis__recipe *recipe, const uint64_t *lo, size_t count,
                          const tamis_filter *like, tamis_filter **out);
    /* Why a filter cannot be written in this format; NULL if it can. */
    const char *(*refuse)(const tamis_filter *f);
    /* What a reader of `info` should know; NULL: nothing.  May be NULL itself. */
    const char *(*note)(const tamis_filter *f);
};

/* The codecs in order, our own first; NULL at the end. */
const struct tamis__codec *tamis__codec_at(size_t index);
/* The codec of that name (which ends at a colon, too), or the only one that is sure of the
 * bytes; NULL if there is none. */
const struct tamis__codec *tamis__codec_find(const char *name);
const struct tamis__codec *tamis__codec_detect(const uint8_t *bytes, uint64_t length);

/* ---- image.c */

/* Checks the shape and makes the filter.  `image->made` is freed if that fails. */
tamis_status tamis__image_open(const struct tamis__image *image, const tamis_filter *like,
                               tamis_filter **out);
/* Is the filter one that a codec with this scheme and hash reads and writes? */
bool tamis__image_fits(const tamis_filter *f, uint32_t scheme, enum tamis__foreign_id hash);
/* Why such a filter is refused whose numbers are beyond those of the format.  A .tamis file that
 * kept it may say anything. */
extern const char tamis__image_beyond[];

/* ---- parameters.c: "NAME=VALUE,NAME,..." */

/* Are all names in `known` ("bits,ribbon"; NULL: none)? */
bool tamis__parameters_known(const char *parameters, const char *known);
/* Is it there? */
bool tamis__parameter(const char *parameters, const char *name);
/* Its value, a decimal number: `value` is left as it is if it is not there; false if it is no
 * number of at most 15 digits. */
bool tamis__parameter_number(const char *parameters, const char *name, double *value);

/* The codec of a filter: f->codec or our own. */
const struct tamis__codec *tamis__codec_of(const tamis_filter *f);

/* ---- native.c: the .tamis format */

extern const struct tamis__codec tamis__native;

#define TAMIS__HEADER_BYTES 192

/* The encoded size of a filter with a table of so many bytes; UINT64_MAX if it overflows. */
uint64_t tamis__native_size(uint64_t table_bytes);
/* The largest table whose encoded filter takes at most `bytes`; 0 if there is none. */
uint64_t tamis__native_room(uint64_t bytes);
/* The encoded filter as header, table and checksums, without a copy of the table.  Only for a
 * table that is one piece.  `sums` has room for tamis__native_size less header and table. */
struct tamis__span {
    const uint8_t *bytes;
    uint64_t length;
};
void tamis__native_spans(const tamis_filter *f, uint8_t header[TAMIS__HEADER_BYTES], uint8_t *sums,
                         struct tamis__span spans[3]);
/* Magic, version, sum of the header, and whether a file of `length` bytes is as long as the header
 * says: if so, `*table_bytes` is set.  Reads no more than the header. */
tamis_status tamis__native_frame(const uint8_t *bytes, uint64_t length, uint64_t *table_bytes);
/* Of a header that is there: the table's bytes, the sum of the header, the sum of the sums. */
uint64_t tamis__native_table_bytes(const uint8_t *header);
uint64_t tamis__native_header_sum(const uint8_t *header);
uint64_t tamis__native_sums_sum(const uint8_t *header);
/* The header of a filter whose checksums have the sum `sums`. */
void tamis__native_header(const tamis_filter *f, uint64_t table_bytes, uint64_t sums,
                          uint8_t header[TAMIS__HEADER_BYTES]);
/* The pieces of a table that have a checksum each: how many, and the bytes of one of them. */
#define TAMIS__PIECE_LG 16
uint64_t tamis__native_pieces(uint64_t table_bytes);
uint64_t tamis__native_piece_bytes(uint64_t table_bytes, uint64_t piece);
/* Compares the table of a .tamis file with its checksums. */
tamis_status tamis__native_verify(const uint8_t *bytes, uint64_t length);

/* ---- file.c */

/* Writes the spans to a temporary beside `path`, syncs, renames, syncs the directory.  `old` is the
 * descriptor of the file that it may replace, or -1 for any: if there is another by then, that
 * stays, and it is E_IO with ESTALE. */
tamis_status tamis__file_write(const char *path, bool replace, int old,
                               const struct tamis__span *spans, size_t count);
/* A whole file in a block from tamis__table_alloc (*block_bytes long), `*length` of it used.
 * A change that was interrupted (journal.h) is made up for in memory. */
tamis_status tamis__file_read(const char *path, const tamis_allocator *a, uint8_t **block,
                              uint64_t *block_bytes, uint64_t *length);
/* The same of a descriptor, from where it stands. */
tamis_status tamis__descriptor_read(int descriptor, const tamis_allocator *a, uint8_t **block,
                                    uint64_t *block_bytes, uint64_t *length);
/* A whole file, mapped read-only; an empty one is no bytes at NULL.  `descriptor` holds the lock
 * that keeps the file from being changed in place; -1 if that is not needed. */
struct tamis__mapping {
    uint8_t *bytes;
    uint64_t length;
    int descriptor;
};
tamis_status tamis__file_map(const char *path, struct tamis__mapping *mapping);
void tamis__file_unmap(struct tamis__mapping *mapping);

/* ---- change.c: files that are opened to be changed, and changed in place where that pays */

struct tamis__change;
/* Opens and locks the file, after anybody else who changes it, and finishes a change that was
 * interrupted.  E_UNSUPPORTED if it is no regular file. */
tamis_status tamis__change_begin(const char *path, const tamis_allocator *a,
                                 struct tamis__change **out);
/* A large .tamis file, mapped so that what is written stays in memory; E_UNSUPPORTED for any
 * other.  The descriptor of the mapping is -1: it is the change's. */
tamis_status tamis__change_map(const struct tamis__change *c, struct tamis__mapping *mapping);
/* Any file, read as by tamis__file_read. */
tamis_status tamis__change_read(const struct tamis__change *c, uint8_t **block,
                                uint64_t *block_bytes, uint64_t *length);
/* From now on the filter, made of what was mapped or read, keeps track of what is changed. */
tamis_status tamis__change_attach(struct tamis__change *c, tamis_filter *f);
/* Everything may have changed. */
void tamis__change_all(tamis_filter *f);
/* Compares what was not compared yet with its checksums, as it was before it was changed. */
tamis_status tamis__change_verify(const tamis_filter *f);
/* Writes the changes into the file, `*written` bytes; or says that it should be written as a
 * whole.  E_ARGUMENT after tamis__change_end, which lets others change the file. */
tamis_status tamis__change_commit(tamis_filter *f, uint64_t *written, bool *whole);
void tamis__change_end(tamis_filter *f);
const char *tamis__change_path(const tamis_filter *f);
int tamis__change_descriptor(const tamis_filter *f);
/* Lets the file and its locks go.  NULL is allowed. */
void tamis__change_free(struct tamis__change *c);

#endif
