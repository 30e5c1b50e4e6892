/* served.h - the value of a TAMIS key: a filter that was built elsewhere, to be asked */
#ifndef TAMIS_REDIS_SERVED_H
#define TAMIS_REDIS_SERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared.h"
#include "tamis.h"

#define SERVED_MOST ((uint64_t)1 << 36) /* bytes of a file */

struct served {
    /* What is asked; NULL until the first file is there. */
    const tamis_filter *filter; /* a view of `bytes` */
    const tamis_facts *facts;   /* of the filter */
    const uint8_t *bytes;
    uint64_t length;
    bool keyed;
    uint8_t secret[TAMIS_SECRET_BYTES];
    struct shared *file; /* what these belong to: copies of the key have it too */
    /* What is coming. */
    uint8_t *staged;
    uint64_t total, received;
    struct shared *coming; /* what these belong to */
};

struct served *served_create(void);
/* Shares the file; what is coming is copied. */
struct served *served_copy(const struct served *s);
void served_free(struct served *s);
size_t served_bytes(const struct served *s);

/* Begins a file of `total` bytes; what was coming is dropped.  False if there is no memory. */
bool served_begin(struct served *s, uint64_t total);
/* The next bytes of it: at most as many as are missing. */
void served_append(struct served *s, const void *bytes, size_t length);
/* Drops what is coming. */
void served_abort(struct served *s);
/* The same, and its memory is free at once, not when the worker comes to it. */
void served_give_back(struct served *s);
/* All is there: checks the file and puts it in the place of the old one.  NULL, or what is wrong
 * with it; then it is dropped and the old one stays. */
const char *served_finish(struct served *s, const uint8_t *secret);

/* ---- the check ahead: a file is large, and its checksums take a while */

/* Has the worker check the file as it will be with these last bytes; until they are appended they
 * are not counted as received. */
void served_check(struct served *s, const void *bytes, size_t length, const uint8_t *secret);
/* Is the worker at it? */
bool served_is_checking(const struct served *s);
/* Was that very file checked?  Then served_append and served_finish take no time. */
bool served_is_checked(const struct served *s, const void *bytes, size_t length,
                       const uint8_t *secret);

#endif
