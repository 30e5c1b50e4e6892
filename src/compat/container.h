/* container.h - files that hold several filters: tables of LevelDB and RocksDB, Parquet files
 *
 * A container has the positions of its filters; one codec decodes each, in place.  The bytes belong
 * to the container or to a caller, and do not change. */
#ifndef TAMIS_COMPAT_CONTAINER_H
#define TAMIS_COMPAT_CONTAINER_H

#include "core/bytes.h"
#include "filter/codec.h"

/* A filter in a file. */
struct tamis__part {
    uint64_t offset, bytes;
    const uint8_t *label; /* what the format's part_name reads; in the file */
    uint32_t row_group;   /* Parquet */
};

struct tamis_container {
    const struct tamis__container_format *format;
    const uint8_t *bytes;
    uint64_t length;
    enum tamis__storage storage; /* of the bytes */
    uint64_t block_bytes;        /* as allocated or mapped */
    tamis_allocator allocator;
    struct tamis__part *parts;
    size_t count, room;
    void *own; /* the format's */
};

/* A part of no bytes. */
enum tamis__empty_part {
    TAMIS__EMPTY_MATCHES_ALL,  /* there is no filter */
    TAMIS__EMPTY_MATCHES_NONE, /* there are no keys */
    TAMIS__EMPTY_IS_A_FILTER   /* the codec decodes it */
};

/* The parts whose filters cover a key. */
enum tamis__coverage {
    TAMIS__COVERED_BY_ALL,
    TAMIS__COVERED_BY_ONE,
    TAMIS__COVERED_BY_NONE, /* the key is not in the file */
    TAMIS__COVERAGE_UNKNOWN
};

struct tamis__container_format {
    const char *name;                 /* its codec's, or one of its own */
    const char *about;                /* a line for people */
    const struct tamis__codec *codec; /* of the filters in it */
    enum tamis__empty_part empty;
    bool replaceable; /* no checksum covers a filter */

    bool (*detect)(const uint8_t *bytes, uint64_t length);
    /* Adds the parts. */
    tamis_status (*open)(tamis_container *c);

    /* ---- these may be NULL */

    /* Frees what `open` allocated; it may have failed. */
    void (*close)(tamis_container *c);
    /* NULL: all. */
    enum tamis__coverage (*cover)(const tamis_container *c, const void *key, size_t length,
                                  size_t *part);
    /* "GROUP/NAME"; NAME alone selects all parts that end with it.  NULL: the index. */
    void (*part_name)(const tamis_container *c, size_t index, char name[TAMIS_PART_NAME]);
};

/* ---- container.c: for the formats and the entry points */

/* Appends a part: E_NOMEM, E_UNSUPPORTED if there are more than the file has room for. */
tamis_status tamis__part_add(tamis_container *c, const struct tamis__part *part);

/* Does the name select the part? */
bool tamis__part_is(const tamis_container *c, size_t index, const char *name);
void tamis__part_name(const tamis_container *c, size_t index, char name[TAMIS_PART_NAME]);

bool tamis__part_has_filter(const tamis_container *c, size_t index);
/* The filter of a part, over the bytes where they are. */
tamis_status tamis__part_view(const tamis_container *c, size_t index, const tamis_allocator *a,
                              tamis_filter **out);

#endif
