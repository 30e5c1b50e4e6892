/* api.h - what the files of the public entry points share */
#ifndef TAMIS_API_API_H
#define TAMIS_API_API_H

#include "build/kept.h"
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

/* Adds hashes and counts them in f->adds; `*done` receives how many were added.  `hi` may be NULL
 * if the hash is narrow. */
tamis_status tamis__filter_add(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                               size_t count, size_t *done);

/* files.c: E_CHECKSUM if the table has not been verified yet and does not match its checksums, or
 * if the filter is sealed and the table does not match the seal.  Call before a table gets new
 * checksums or goes into another filter, which would hide the damage. */
tamis_status tamis__filter_trust(const tamis_filter *f);

/* ---- self_check.c: filters built with tamis_options.check */

struct tamis__keys;

/* Where all keys are found again, in one of these. */
struct tamis__given {
    struct tamis__keys *collected;  /* with tamis__keys_keep */
    const uint64_t *hashes, *upper; /* `upper`: the other halves of wide hashes, or NULL */
    const void *const *keys;
    const size_t *lengths;
    size_t count;
};

/* Seals the filter, then queries all keys: those in `given`, or if it is NULL in `kept`.  E_LOST
 * if one is missing or if these are not the keys that came; E_NOMEM, E_IO. */
tamis_status tamis__self_check(tamis_filter *f, const struct tamis__kept *kept,
                               const struct tamis__given *given, unsigned threads);

/* E_CHECKSUM if the filter is sealed and its table has changed since.  Call after the table was
 * copied, or its checksums were made. */
tamis_status tamis__seal_verify(const tamis_filter *f);
/* The same for the encoded filter. */
tamis_status tamis__seal_verify_bytes(const tamis_filter *f, const uint8_t *bytes);

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
