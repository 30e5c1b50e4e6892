/* record.h - the log of the calls of a process that change files, between record.c and cuts.c
 *
 * The log is a sequence of records: this header, the two names, the data. */
#ifndef TESTS_POWER_RECORD_H
#define TESTS_POWER_RECORD_H

#include <stdint.h>

enum record_kind {
    RECORD_CREATE,   /* name: a new file, or without a name (O_TMPFILE) */
    RECORD_WRITE,    /* at, data */
    RECORD_TRUNCATE, /* at: the new length */
    RECORD_SYNC,     /* of a file */
    RECORD_SYNC_DIR,
    RECORD_SYNC_ALL,
    RECORD_RENAME, /* name to other */
    RECORD_LINK,   /* other: a further name */
    RECORD_UNLINK  /* name */
};

struct record {
    uint32_t kind;
    uint32_t name_bytes, other_bytes; /* last components, with their NUL */
    uint32_t unused;
    uint64_t inode, at, length;
};

#endif
