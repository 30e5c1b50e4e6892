/* api.h - what the files of the public entry points share */
#ifndef TAMIS_API_API_H
#define TAMIS_API_API_H

#include "filter/codec.h"
#include "filter/family.h"

/* ---- create.c: options -> spec + settings -> contents -> filter */

/* A copy of the options that has all fields, whatever size the caller's struct had.
 * E_ARGUMENT if it is NULL or a field has no meaning. */
tamis_status tamis__options_read(const tamis_options *options, tamis_options *copy);
/* Is `format` set to a compatible format? */
bool tamis__is_compat(const tamis_options *options);
/* The spec and settings of checked options.  A compatible format's `parameters` point into
 * options->format. */
tamis_status tamis__spec_read(const tamis_options *options, struct tamis__spec *spec,
                              struct tamis__settings *settings);
/* Must all keys be known before the filter is made?  `codec` is the settings': NULL is ours. */
bool tamis__spec_is_static(const struct tamis__spec *spec, const struct tamis__codec *codec);
/* The contents of a filter of no keys.  For static kinds: its shape is an estimate. */
tamis_status tamis__spec_size(const struct tamis__spec *spec, const struct tamis__codec *codec,
                              struct tamis__contents *contents);
/* A filter of no keys; not for static kinds. */
tamis_status tamis__spec_create(const struct tamis__spec *spec,
                                const struct tamis__settings *settings, tamis_filter **out);

/* ---- composer.c */

/* E_UNSUPPORTED for another system's hash. */
tamis_status tamis__composer_create(const struct tamis__hashing *hashing, const tamis_allocator *a,
                                    tamis_composer **out);

/* ---- operations.c */

/* Byte keys that are hashed at a time; with 256 adding to `block` took 6 % longer. */
#define TAMIS__HASHED_AT_ONCE 1024

static inline bool tamis__filter_is_readonly(const tamis_filter *f) {
    return f->storage != TAMIS__OWNED && f->storage != TAMIS__DRAFT;
}

/* Do 64 bits stand for a key of this filter?  Compatible formats may need more. */
static inline bool tamis__filter_takes_hashes(const tamis_filter *f) {
    return tamis__hashing_is_narrow(&f->hashing);
}

/* Adds hashes and counts them in f->adds; `*done` receives how many were added.  `hi` may be NULL
 * if the hash is narrow. */
tamis_status tamis__filter_add(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                               size_t count, size_t *done);

/* files.c: E_CHECKSUM if the table has not been verified yet and does not match its checksums. Call
 * before a table gets new checksums or goes into another filter, which would hide the damage. */
tamis_status tamis__filter_trust(const tamis_filter *f);

/* ---- sizes.c */

/* Copies the part of a result that the caller's struct of `to_size` bytes has.  E_ARGUMENT if that
 * is less than `min`. */
tamis_status tamis__struct_copy(void *to, size_t to_size, size_t min, void *from, size_t from_size);

/* ---- storage.c: filters in the caller's storage */

tamis_status tamis__storage_merge(tamis_filter *into, const tamis_filter *from,
                                  tamis_merge_mode mode);

/* ---- containers.c: files that hold several filters */

/* files.c: a copy of the options that has all fields; E_ARGUMENT. */
tamis_status tamis__open_options_read(const tamis_open_options *options, tamis_open_options *copy);

/* The format of a container with these bytes (and this name, if it is not NULL); NULL: it is none.
 */
const struct tamis__container_format *tamis__container_detect(const char *format,
                                                              const uint8_t *bytes,
                                                              uint64_t length);

/* Opens a container, which takes the bytes over; on failure they are dropped. */
struct tamis__file;
tamis_status tamis__container_take(const struct tamis__file *bytes,
                                   const tamis_open_options *options, tamis_container **out);

/* The filter of that name, or the only one; E_PART. */
tamis_status tamis__container_pick(const tamis_container *c, const char *part, tamis_filter **out);

#endif
