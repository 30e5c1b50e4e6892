/* sql_filters.c - the filters of a connection: decoded once, verified always
 *
 * A statement over a million rows looks up a million keys in one filter, and SQLite passes its
 * bytes to the function each time.  Decoding them each time would cost a pass over the filter per
 * row, but a filter is trusted only if these very bytes were verified.  Three ways to find that
 * out without decoding them again, the cheapest first:
 *
 *   1. auxiliary data   the argument is a constant of the statement (a literal, a bound
 *                       parameter): SQLite stores our filter with it;
 *   2. our own bytes    the pointer is to bytes that we returned (tamis_file, tamis_filter): they
 *                       never change, and nothing else is at their address while they are alive;
 *   3. equal bytes      as long as one of the last SQL_RECENT filters, and equal in every byte: a
 *                       memcmp, some ten times faster than decoding.
 *
 * Pointer and length of bytes that are SQLite's own prove nothing: the next row's value may be
 * at the same address, or the page may have changed.  Nor do the checksums in the bytes: a
 * damaged copy has the same ones. */
#include "sql.h"
SQLITE_EXTENSION_INIT3

#include <stdio.h>
#include <string.h>

/* The filters kept for the next call take at most this, but a single one may be larger. */
#define RECENT_BYTES ((size_t)64 << 20)

/* ------------------------------------------------------------------- the state */

struct sql_state *sql_state_new(void) {
    struct sql_state *state = sqlite3_malloc(sizeof *state);
    if (state == NULL) return NULL;
    memset(state, 0, sizeof *state);
    state->users = 1;
    return state;
}

/* A value of a statement may outlive the functions. */
static void state_free_if_unused(struct sql_state *state) {
    if (state->users > 0 || state->all != NULL) return;
    sqlite3_free(state->scratch);
    sqlite3_free(state);
}

void sql_state_release(void *pointer) {
    struct sql_state *state = pointer;
    if (state->users == 1) {
        for (int i = 0; i < SQL_RECENT; i++) sql_filter_release(state->recent[i]);
    }
    state->users--;
    state_free_if_unused(state);
}

/* ------------------------------------------------------------------- a filter */

struct sql_filter *sql_filter_new(struct sql_state *state, size_t size) {
    struct sql_filter *f = sqlite3_malloc64(sizeof *f + size);
    if (f == NULL) return NULL;
    memset(f, 0, sizeof *f);
    f->references = 1;
    f->size = size;
    f->bytes = f->own;
    f->state = state;
    f->next = state->all;
    state->all = f;
    return f;
}

/* The mapped files of all connections: SQLite returns the address of a value alone when it needs
 * the value no longer (release_mapped). */
static struct sql_filter *all_mapped;

static sqlite3_mutex *mapped_mutex(void) { return sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP3); }

struct sql_filter *sql_filter_mapped(struct sql_state *state, tamis_filter *filter) {
    struct sql_filter *f = sql_filter_new(state, 0);
    if (f == NULL) return NULL;
    f->filter = filter;
    f->bytes = tamis_encoded(filter, &f->size);
    sqlite3_mutex_enter(mapped_mutex());
    f->next_mapped = all_mapped;
    all_mapped = f;
    sqlite3_mutex_leave(mapped_mutex());
    return f;
}

static bool is_mapped(const struct sql_filter *f) { return f->bytes != f->own; }

static void forget_mapped(const struct sql_filter *f) {
    sqlite3_mutex_enter(mapped_mutex());
    struct sql_filter **link = &all_mapped;
    while (*link != f) link = &(*link)->next_mapped;
    *link = f->next_mapped;
    sqlite3_mutex_leave(mapped_mutex());
}

tamis_status sql_filter_open(struct sql_filter *f, const char *format) {
    tamis_open_options o = TAMIS_OPEN_INIT;
    f->facts = (tamis_facts)TAMIS_FACTS_INIT;
    o.format = format;
    if (format != NULL) snprintf(f->format, sizeof f->format, "%s", format);
    tamis_status status = TAMIS_OK;
    if (!is_mapped(f)) status = tamis_view(f->bytes, f->size, &o, &f->filter);
    if (status == TAMIS_OK) status = tamis_info_brief(f->filter, &f->facts);
    if (status != TAMIS_OK) sql_filter_release(f);
    return status;
}

const tamis_facts *sql_filter_facts(const struct sql_filter *f, tamis_status *status) {
    struct sql_filter *measured = (struct sql_filter *)(uintptr_t)f;
    *status = TAMIS_OK;
    if (f->measured) return &f->facts;
    *status = tamis_verify(f->filter);
    if (*status == TAMIS_OK) *status = tamis_info(f->filter, &measured->facts);
    measured->measured = *status == TAMIS_OK;
    return f->measured ? &f->facts : NULL;
}

void sql_filter_release(void *pointer) {
    struct sql_filter *f = pointer;
    if (f == NULL || --f->references > 0) return;
    struct sql_filter **link = &f->state->all;
    while (*link != f) link = &(*link)->next;
    *link = f->next;
    if (is_mapped(f)) forget_mapped(f);
    struct sql_state *state = f->state;
    tamis_free(f->filter);
    sqlite3_free(f);
    state_free_if_unused(state);
}

/* ------------------------------------------------------------- the recent filters */

/* Moves a filter to the front. */
static void keep(struct sql_state *state, struct sql_filter *f) {
    if (state->recent[0] == f) return;
    f->references++;
    struct sql_filter *moved = f;
    size_t bytes = 0;
    for (int i = 0; i < SQL_RECENT; i++) {
        struct sql_filter *here = state->recent[i];
        state->recent[i] = moved;
        if (moved != NULL) bytes += moved->size;
        if (i > 0 && moved != NULL && bytes > RECENT_BYTES) {
            sql_filter_release(moved);
            state->recent[i] = NULL;
        }
        moved = here;
        if (here == f) break; /* its old position */
    }
    sql_filter_release(moved);
}

/* A live filter that was read from exactly these bytes in this format; NULL if none.  Our own
 * bytes have a format already, and need no name for it. */
static struct sql_filter *find(struct sql_state *state, const void *bytes, size_t size,
                               const char *format) {
    for (struct sql_filter *f = state->all; f != NULL; f = f->next) {
        const bool same = format[0] == '\0' || strcmp(f->format, format) == 0;
        if (f->bytes == bytes && f->size == size && f->filter != NULL && same) {
            return f;
        }
    }
    for (int i = 0; i < SQL_RECENT; i++) {
        struct sql_filter *f = state->recent[i];
        if (f != NULL && f->size == size && strcmp(f->format, format) == 0 &&
            memcmp(f->bytes, bytes, size) == 0) {
            return f;
        }
    }
    return NULL;
}

/* With a reference for the caller. */
static tamis_status obtain(struct sql_state *state, const void *bytes, size_t size,
                           const char *format, struct sql_filter **out) {
    struct sql_filter *f = find(state, bytes, size, format != NULL ? format : "");
    if (f == NULL) {
        f = sql_filter_new(state, size);
        if (f == NULL) return TAMIS_E_NOMEM;
        memcpy(f->own, bytes, size);
        const tamis_status status = sql_filter_open(f, format);
        if (status != TAMIS_OK) return status;
    } else {
        f->references++;
    }
    if (!is_mapped(f)) keep(state, f); /* a file is closed when the statement ends */
    *out = f;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------- arguments */

enum sql_name sql_name_of(sqlite3_value *value, const char **name) {
    *name = NULL;
    if (value == NULL || sqlite3_value_type(value) == SQLITE_NULL) return SQL_NAME;
    *name = (const char *)sqlite3_value_text(value);
    if (*name == NULL) return SQL_NAME_NOMEM;
    return strlen(*name) == (size_t)sqlite3_value_bytes(value) ? SQL_NAME : SQL_NAME_CUT;
}

bool sql_is_format(const char *name) {
    char format[sizeof((struct sql_filter *)0)->format];
    if (strlen(name) >= sizeof format) return false;
    const size_t length = strcspn(name, ":");
    memcpy(format, name, length);
    format[length] = '\0';
    return tamis_format_description(format) != NULL;
}

/* The name of a format, which may have parameters; NULL if the value is NULL or missing. */
static bool format_argument(sqlite3_context *context, sqlite3_value *value, const char *function,
                            const char **format) {
    const enum sql_name verdict = sql_name_of(value, format);
    if (verdict == SQL_NAME && (*format == NULL || sql_is_format(*format))) return true;
    if (verdict == SQL_NAME_NOMEM) {
        sqlite3_result_error_nomem(context);
    } else {
        sql_result_error(context, SQL_NO_FORMAT, function);
    }
    return false;
}

const struct sql_filter *sql_filter_argument(sqlite3_context *context, int index,
                                             sqlite3_value *value, sqlite3_value *format_value,
                                             const char *function) {
    struct sql_filter *f = index < 0 ? NULL : sqlite3_get_auxdata(context, index);
    const char *format;
    if (f != NULL && format_value == NULL) return f;
    if (sqlite3_value_type(value) == SQLITE_NULL) return NULL;
    if (!format_argument(context, format_value, function, &format)) return NULL;
    if (f != NULL && strcmp(f->format, format != NULL ? format : "") == 0) return f;
    if (sqlite3_value_type(value) != SQLITE_BLOB) {
        sql_result_error(context, "a filter is a BLOB", function);
        return NULL;
    }
    const void *bytes = sqlite3_value_blob(value);
    const size_t size = (size_t)sqlite3_value_bytes(value);
    const tamis_status status =
        size == 0 ? TAMIS_E_TRUNCATED : obtain(sqlite3_user_data(context), bytes, size, format, &f);
    if (status != TAMIS_OK) {
        sql_result_status(context, status, function);
        return NULL;
    }
    /* SQLite keeps it for constant arguments only; the recent filters are for the others. */
    if (index < 0) {
        sql_filter_release(f);
    } else {
        sqlite3_set_auxdata(context, index, f, sql_filter_release);
    }
    return f;
}

/* --------------------------------------------------------------------- results */

static void release_own(void *bytes) {
    sql_filter_release((char *)bytes - offsetof(struct sql_filter, own));
}

static void release_mapped(void *bytes) {
    sqlite3_mutex_enter(mapped_mutex());
    struct sql_filter *f = all_mapped;
    while (f->bytes != bytes) f = f->next_mapped;
    sqlite3_mutex_leave(mapped_mutex());
    sql_filter_release(f);
}

void sql_result_bytes(sqlite3_context *context, struct sql_filter *f) {
    f->references++;
    sqlite3_result_blob64(context, f->bytes, f->size, is_mapped(f) ? release_mapped : release_own);
}

void sql_result_filter(sqlite3_context *context, const tamis_filter *filter, const char *function) {
    const uint64_t size = tamis_encoded_size(filter);
    void *bytes = size > SIZE_MAX / 2 ? NULL : sqlite3_malloc64(size);
    if (bytes == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    const tamis_status status = tamis_encode(filter, bytes, (size_t)size, NULL);
    if (status == TAMIS_OK) {
        sqlite3_result_blob64(context, bytes, size, sqlite3_free);
    } else {
        sqlite3_free(bytes);
        sql_result_status(context, status, function);
    }
}

void sql_result_error(sqlite3_context *context, const char *sentence, const char *function) {
    char text[200];
    snprintf(text, sizeof text, "%s: %s", function, sentence);
    sqlite3_result_error(context, text, -1);
}

void sql_result_status(sqlite3_context *context, tamis_status status, const char *function) {
    if (status == TAMIS_E_NOMEM) {
        sqlite3_result_error_nomem(context);
    } else {
        sql_result_error(context, tamis_status_text(status), function);
    }
}
