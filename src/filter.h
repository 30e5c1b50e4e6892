/* filter.h - what the files of the public entry points share */
#ifndef TAMIS_FILTER_H
#define TAMIS_FILTER_H

#include "family/family.h"
#include "format/format.h"

/* Fills `seed_object` with what a new filter takes from checked options: hashing, form,
 * allocator, flags, capacity, rate. */
void tamis__filter_like(const tamis_options *options, const struct tamis__want *want,
                        tamis_filter *like);

/* An empty filter of a dynamic family. */
tamis_status tamis__filter_create(const struct tamis__family *family,
                                  const struct tamis__want *want, const tamis_filter *like,
                                  tamis_filter **out);

/* Adds hashes and counts them, `*done` of them; `hi` may be NULL where the hash is narrow. */
tamis_status tamis__filter_add(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                               size_t count, size_t *done);

/* files.c: E_CHECKSUM if the table was not compared with its checksums yet and differs from them.
 * To be asked before it gets new checksums, or into another filter: damage must stay to be seen. */
tamis_status tamis__filter_trust(const tamis_filter *f);

/* ---- foreign.c: other systems' filters */

/* Do the options ask for one? */
bool tamis__is_foreign(const tamis_options *options);

/* An empty one that takes adds. */
tamis_status tamis__foreign_create(const tamis_options *options, tamis_filter **out);

/* Hashes in the order in which they came, for a filter that is made when all are known. */
struct tamis__order {
    const struct tamis__codec *codec;
    struct tamis__recipe recipe;
    tamis_filter like; /* hashing, allocator and flags of the filter that will be */
    uint64_t *lo, *hi; /* hi is NULL unless the hash is wide */
    size_t count, room;
    tamis_filter *direct; /* or this one, where the capacity is known: filled straight away */
};
tamis_status tamis__order_open(const tamis_options *options, struct tamis__order *order);
/* Takes `*done` of them, all unless it fails. */
tamis_status tamis__order_add(struct tamis__order *order, const uint64_t *lo, const uint64_t *hi,
                              size_t count, size_t *done);
tamis_status tamis__order_finish(struct tamis__order *order, tamis_filter **out);
void tamis__order_close(struct tamis__order *order);

/* ---- containers.c: files that hold several filters */

/* files.c: a copy of the options that has all fields; E_ARGUMENT. */
tamis_status tamis__open_options_read(const tamis_open_options *options, tamis_open_options *copy);

/* The names of those that no codec has: "leveldb-table", ...; NULL at the end. */
const char *tamis__table_name(size_t index);

/* Are the bytes such a file (of this format, if it is not NULL)? */
bool tamis__is_container(const char *format, const uint8_t *bytes, uint64_t length);

/* The filter of that name, or the only one; E_PART. */
tamis_status tamis__container_pick(const tamis_container *c, const char *part, tamis_filter **out);

#endif
