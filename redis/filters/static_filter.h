/* static_filter.h - the value of a TAMIS key: a filter built elsewhere and loaded for queries */
#ifndef TAMIS_REDIS_FILTERS_STATIC_FILTER_H
#define TAMIS_REDIS_FILTERS_STATIC_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tables/cow_table.h"
#include "tamis.h"

#define STATIC_MAX ((uint64_t)1 << 36) /* bytes of a file */

struct static_filter {
    /* The filter in use; NULL until the first file is complete. */
    const tamis_filter *filter; /* a view of `bytes` */
    const tamis_facts *facts;   /* of the filter */
    const uint8_t *bytes;
    uint64_t length;
    bool keyed;
    uint8_t secret[TAMIS_SECRET_BYTES];
    struct cow_table *file; /* owns the above; copies of the key share it */
    /* The file being loaded. */
    uint8_t *staged;
    uint64_t total, received;
    struct cow_table *upload; /* owns the above */
};

struct static_filter *static_filter_create(void);
/* Shares the complete file; copies the one being loaded. */
struct static_filter *static_filter_copy(const struct static_filter *s);
void static_filter_free(void *filter);
size_t static_filter_bytes(const struct static_filter *s);

/* Starts loading a file of `total` bytes; drops the one being loaded.  False if memory runs out. */
bool static_filter_begin(struct static_filter *s, uint64_t total);
/* Appends bytes: at most as many as are missing. */
void static_filter_append(struct static_filter *s, const void *bytes, size_t length);
/* Drops the file being loaded. */
void static_filter_abort(struct static_filter *s);
/* The same, but frees its memory at once instead of in the worker. */
void static_filter_give_back(struct static_filter *s);
/* Verifies the complete file and replaces the previous one.  NULL, or an error; the file is then
 * dropped and the previous one stays. */
const char *static_filter_finish(struct static_filter *s, const uint8_t *secret);

/* ---- early verification, in the worker: the checksums of a large file take a while */

/* Queues the verification of the file completed by these last bytes, which do not count as received
 * until they are appended. */
void static_filter_check(struct static_filter *s, const void *bytes, size_t length,
                         const uint8_t *secret);
/* Returns whether the verification is queued or running. */
bool static_filter_is_checking(const struct static_filter *s);
/* Returns whether this very file has been verified: then append and finish take no time. */
bool static_filter_is_checked(const struct static_filter *s, const void *bytes, size_t length,
                              const uint8_t *secret);

#endif
