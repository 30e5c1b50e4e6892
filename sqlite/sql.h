/* sql.h - what the files of the SQLite extension share
 *
 * tamis_sqlite.c    the entry point: what is registered, and how it is marked
 * sql_functions.c   the scalar functions and aggregates
 * sql_table.c       the table-valued functions: filters in files and blobs
 * sql_filters.c     the filters of a connection: decoded once, verified always
 * sql_keys.c        from an SQL value to the bytes of a key
 * sql_facts.c       the result of tamis_info, as JSON
 *
 * All state belongs to a connection, which only one thread uses at a time. */
#ifndef TAMIS_SQLITE_SQL_H
#define TAMIS_SQLITE_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tamis.h>

#include "sqlite3ext.h"

struct sql_filter;

#define SQL_RECENT 4

/* One for each connection, shared by all that is registered with it. */
struct sql_state {
    int users;                             /* registered functions and tables */
    struct sql_filter *all;                /* that are alive, linked */
    struct sql_filter *recent[SQL_RECENT]; /* kept for the next call, newest first */
    uint8_t *scratch;                      /* of sql_keys.c */
    size_t scratch_size;
};
struct sql_state *sql_state_new(void);
void sql_state_release(void *state);

/* ---- sql_filters.c */

/* A filter and the bytes that it was read from.  The bytes never change, so a pointer to
 * them identifies the filter. */
struct sql_filter {
    int references;
    struct sql_state *state;
    struct sql_filter *next;
    struct sql_filter *next_mapped;
    tamis_filter *filter; /* of the bytes: a view, or a mapped file */
    tamis_facts facts;    /* see sql_filter_facts */
    bool measured;
    char format[64]; /* the requested format; "": detected */
    size_t size;
    const void *bytes; /* `own`, or those of a mapped file */
    uint64_t own[];    /* aligned, as a view must be */
};

/* Memory for `size` bytes in `own`, which the caller fills and then opens; NULL if out of memory.
 */
struct sql_filter *sql_filter_new(struct sql_state *state, size_t size);
/* A mapped file, which is taken over; NULL if out of memory. */
struct sql_filter *sql_filter_mapped(struct sql_state *state, tamis_filter *filter);
/* Reads the filter.  Checksums are compared now, or those of a mapped file as queries touch it.  On
 * failure it is released. */
tamis_status sql_filter_open(struct sql_filter *f, const char *format);
void sql_filter_release(void *f);
/* All facts, with a pass over the table if there was none; NULL and the reason if it is damaged.
 * f->facts has those that need no pass. */
const tamis_facts *sql_filter_facts(const struct sql_filter *f, tamis_status *status);

/* The filter in the argument of that index.  The index is -1 in aggregates, where SQLite would keep
 * the auxiliary data of the first row.  NULL, with the result (NULL or an error) set, if there is
 * none.  `format` may be NULL.  Valid until the next call. */
const struct sql_filter *sql_filter_argument(sqlite3_context *context, int index,
                                             sqlite3_value *value, sqlite3_value *format,
                                             const char *function);

enum sql_name {
    SQL_NAME,
    SQL_NAME_CUT, /* it contains a NUL */
    SQL_NAME_NOMEM
};
/* The text of a value that names something; NULL if the value is NULL or missing. */
enum sql_name sql_name_of(sqlite3_value *value, const char **name);
/* Is there a format of that name?  Parameters may follow it. */
bool sql_is_format(const char *name);
#define SQL_NO_FORMAT "there is no such format"
#define SQL_NO_PART "there is no such part"

/* Returns a filter's own bytes without copying them. */
void sql_result_bytes(sqlite3_context *context, struct sql_filter *f);
/* Returns the encoded filter. */
void sql_result_filter(sqlite3_context *context, const tamis_filter *filter, const char *function);
/* "tamis_add: the filter is full" */
void sql_result_error(sqlite3_context *context, const char *sentence, const char *function);
void sql_result_status(sqlite3_context *context, tamis_status status, const char *function);

/* ---- sql_keys.c */

struct sql_key {
    const void *bytes;
    size_t length;
    uint64_t hash; /* instead of bytes, if */
    bool is_hash;
    uint8_t number[8]; /* where the bytes of a number are */
};

/* The key of a value (not NULL) by its type alone; false if out of memory. */
bool sql_key_plain(sqlite3_value *value, struct sql_key *key);

enum sql_key_verdict {
    SQL_KEY,        /* the value is a key */
    SQL_KEY_ABSENT, /* no key of the filter can have this value */
    SQL_KEY_NOMEM
};
/* The key of a value for a filter, made as the filter's keys were made. */
enum sql_key_verdict sql_key_for(struct sql_state *state, const struct sql_filter *f,
                                 sqlite3_value *value, struct sql_key *key);

/* ---- sql_facts.c */

uint64_t sql_keys_of(const tamis_facts *facts);
void sql_result_facts(sqlite3_context *context, const tamis_facts *facts);

/* ---- registration: each is a user of `state` and releases it */

int sql_functions_register(sqlite3 *db, struct sql_state *state);
int sql_tables_register(sqlite3 *db, struct sql_state *state);

#endif
