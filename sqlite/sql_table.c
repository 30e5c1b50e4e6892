/* sql_table.c - the table-valued functions: filters in files and blobs
 *
 *     SELECT url FROM crawl, tamis_file('seen.tamis') AS seen WHERE tamis_contains(seen.filter,
 * url);
 *
 * tamis_file(path [, format [, part]]) reads a file, tamis_filter(blob [, format [, part]]) a
 * blob.  Each filter in it is a row: one for a .tamis file, one for each part of a LevelDB or
 * RocksDB table or a Parquet file.  The column `filter` gives bytes that are this module's own,
 * so that tamis_contains identifies them by their address (sql_filters.c): that makes
 * tamis_filter the fast way to query a filter that is stored in a table.
 *
 * A cursor holds the source's bytes and, for a file of several filters, the container over
 * them; each row's filter is released when the cursor moves on, or with the last value that
 * refers to its bytes. */
#define _POSIX_C_SOURCE 200809L /* fstat */
#include "sql.h"
SQLITE_EXTENSION_INIT3

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COLUMN_FILTER,
    COLUMN_PART,
    COLUMN_FORMAT,
    COLUMN_KIND,
    COLUMN_KEYS,
    COLUMN_BYTES,
    COLUMN_FPR,
    COLUMN_INFO,
    COLUMN_SOURCE, /* hidden from here on: the arguments */
    COLUMN_AS_FORMAT,
    COLUMN_AS_PART
};
#define SCHEMA                                                                      \
    "CREATE TABLE x(filter BLOB, part TEXT, format TEXT, kind TEXT, keys INTEGER, " \
    "bytes INTEGER, fpr REAL, info TEXT, source HIDDEN, as_format HIDDEN, as_part HIDDEN)"

/* A module: one for each of the two names. */
struct module {
    struct sql_state *state;
    bool files;
};

struct table {
    sqlite3_vtab base;
    struct module *module;
};

struct cursor {
    sqlite3_vtab_cursor base;
    struct sql_filter *source;  /* all bytes, if they hold several filters */
    tamis_container *container; /* over them; NULL: there is one filter, the row's own */
    struct sql_filter *row;     /* NULL: at the end */
    size_t index;               /* of the part */
    tamis_part part;
    char wanted[TAMIS_PART_NAME]; /* the only part to show; "": all */
};

/* -------------------------------------------------------------------- errors */

static int complain(struct cursor *c, const char *sentence) {
    sqlite3_vtab *table = c->base.pVtab;
    const bool files = ((struct table *)table)->module->files;
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s: %s", files ? "tamis_file" : "tamis_filter", sentence);
    return SQLITE_ERROR;
}

static int complain_status(struct cursor *c, tamis_status status) {
    return status == TAMIS_E_NOMEM ? SQLITE_NOMEM : complain(c, tamis_status_text(status));
}

/* ----------------------------------------------------------------- the table */

static int table_connect(sqlite3 *db, void *context, int count, const char *const *arguments,
                         sqlite3_vtab **out, char **error) {
    struct module *module = context;
    (void)count;
    (void)arguments;
    (void)error;
    int code = sqlite3_declare_vtab(db, SCHEMA);
    if (code != SQLITE_OK) return code;
    /* A schema (view, trigger) must not read files; only a query may. */
    code = sqlite3_vtab_config(db, module->files ? SQLITE_VTAB_DIRECTONLY : SQLITE_VTAB_INNOCUOUS);
    if (code != SQLITE_OK) return code;
    struct table *table = sqlite3_malloc(sizeof *table);
    if (table == NULL) return SQLITE_NOMEM;
    memset(table, 0, sizeof *table);
    table->module = module;
    *out = &table->base;
    return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *table) {
    sqlite3_free(table);
    return SQLITE_OK;
}

/* The arguments are constraints "hidden column = value"; bit i of idxNum: argument i is present. */
static int table_plan(sqlite3_vtab *table, sqlite3_index_info *plan) {
    int at[3] = {-1, -1, -1};
    (void)table;
    for (int i = 0; i < plan->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &plan->aConstraint[i];
        const int argument = c->iColumn - COLUMN_SOURCE;
        if (argument < 0 || c->op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
        if (!c->usable) return SQLITE_CONSTRAINT;
        at[argument] = i;
    }
    int arguments = 0;
    for (int i = 0; i < 3; i++) {
        if (at[i] < 0) continue;
        plan->aConstraintUsage[at[i]].argvIndex = ++arguments;
        plan->aConstraintUsage[at[i]].omit = 1;
        plan->idxNum |= 1 << i;
    }
    plan->estimatedCost = 1000; /* run it once, outside the loop over another table */
    plan->estimatedRows = 1;
    return SQLITE_OK;
}

/* ---------------------------------------------------------------- the source */

/* SQLite allocates no more at once. */
#define PAGE_SIZE_MAX ((uint64_t)0x7fff0000)

/* The size of a file; 0 and the reason if it cannot be read. */
static size_t file_size(FILE *file, const char **why) {
    struct stat status;
    if (fstat(fileno(file), &status) != 0) {
        *why = strerror(errno);
    } else if (!S_ISREG(status.st_mode)) {
        *why = "not a file";
    } else if ((uint64_t)status.st_size > PAGE_SIZE_MAX) {
        *why = "the file is larger than a value of SQLite can be";
    } else if (status.st_size == 0) {
        *why = "the file is empty";
    } else {
        return (size_t)status.st_size;
    }
    return 0;
}

/* Opens a file and returns its size; NULL and the reason if it cannot be read. */
static FILE *open_file(const char *path, size_t *size, const char **why) {
    /* Not blocking: a pipe of that name may never have a writer. */
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "rb");
    if (file == NULL) {
        *why = strerror(errno);
        if (descriptor >= 0) close(descriptor);
        return NULL;
    }
    *size = file_size(file, why);
    if (*size != 0) return file;
    fclose(file);
    return NULL;
}

/* Is it a .tamis file?  Leaves the file at its beginning. */
static bool is_native(FILE *file) {
    uint64_t head[8];
    const size_t length = fread(head, 1, sizeof head, file);
    rewind(file);
    const char *format = tamis_format_detect(head, length, 0);
    return format != NULL && strcmp(format, "tamis") == 0;
}

/* A .tamis file may be changed in place by others, even now, or half changed with a journal
 * beside it that has the rest: the library reads both. */
static tamis_status read_native(struct sql_state *state, const char *path, const char *format,
                                struct sql_filter **out) {
    tamis_open_options o = TAMIS_OPEN_INIT;
    tamis_filter *filter;
    size_t length;
    o.format = format;
    o.map = true;
    tamis_status status = tamis_open(path, &o, &filter);
    if (status != TAMIS_OK) return status;
    if (tamis_encoded(filter, &length) != NULL) {
        *out = sql_filter_mapped(state, filter);
        if (*out == NULL) tamis_free(filter);
        return *out == NULL ? TAMIS_E_NOMEM : TAMIS_OK;
    }
    const uint64_t size = tamis_encoded_size(filter);
    *out = size > PAGE_SIZE_MAX ? NULL : sql_filter_new(state, (size_t)size);
    status = *out == NULL ? TAMIS_E_NOMEM : tamis_encode(filter, (*out)->own, (*out)->size, NULL);
    tamis_free(filter);
    if (status != TAMIS_OK) {
        sql_filter_release(*out);
        *out = NULL;
    }
    return status;
}

/* A file of another system, as it is; NULL and the reason (none: memory), if it cannot be read. */
static struct sql_filter *read_compat(struct sql_state *state, FILE *file, size_t size,
                                      const char **why) {
    struct sql_filter *f = sql_filter_new(state, size);
    if (f != NULL && fread(f->own, 1, size, file) != size) {
        *why = ferror(file) ? strerror(errno) : "the file became shorter";
        sql_filter_release(f);
        f = NULL;
    }
    return f;
}

static int take_file(struct cursor *c, const char *path, const char *format,
                     struct sql_filter **out) {
    struct sql_state *state = ((struct table *)c->base.pVtab)->module->state;
    const char *why = NULL;
    size_t size;
    FILE *file = open_file(path, &size, &why);
    if (file != NULL && is_native(file)) {
        fclose(file);
        const tamis_status status = read_native(state, path, format, out);
        if (status == TAMIS_E_IO) return complain(c, strerror(errno));
        return status == TAMIS_OK ? SQLITE_OK : complain_status(c, status);
    }
    if (file != NULL) {
        *out = read_compat(state, file, size, &why);
        fclose(file);
    }
    if (*out != NULL) return SQLITE_OK;
    return why == NULL ? SQLITE_NOMEM : complain(c, why);
}

static int take_blob(struct cursor *c, sqlite3_value *value, struct sql_filter **out) {
    struct sql_state *state = ((struct table *)c->base.pVtab)->module->state;
    if (sqlite3_value_type(value) != SQLITE_BLOB) return complain(c, "a filter is a BLOB");
    const void *bytes = sqlite3_value_blob(value);
    *out = sql_filter_new(state, (size_t)sqlite3_value_bytes(value));
    if (*out == NULL) return SQLITE_NOMEM;
    if ((*out)->size != 0) memcpy((*out)->own, bytes, (*out)->size);
    return SQLITE_OK;
}

/* ------------------------------------------------------------------- the rows */

static void cursor_clear(struct cursor *c) {
    sql_filter_release(c->row);
    tamis_container_free(c->container);
    sql_filter_release(c->source);
    c->row = c->source = NULL;
    c->container = NULL;
    c->index = 0;
}

/* The filter of a part as a row. */
static int row_of_part(struct cursor *c) {
    tamis_filter *filter;
    tamis_status status = tamis_container_filter(c->container, c->index, &filter);
    if (status != TAMIS_OK) return complain_status(c, status);
    const uint64_t size = tamis_encoded_size(filter);
    struct sql_filter *row =
        size > PAGE_SIZE_MAX / 2 ? NULL : sql_filter_new(c->source->state, (size_t)size);
    status = row == NULL ? TAMIS_E_NOMEM : tamis_encode(filter, row->own, row->size, NULL);
    tamis_free(filter);
    if (status != TAMIS_OK) {
        sql_filter_release(row);
    } else {
        status = sql_filter_open(row, c->part.format);
    }
    if (status != TAMIS_OK) return complain_status(c, status);
    c->row = row;
    return SQLITE_OK;
}

/* The next part, from c->index on, that has a filter and is wanted. */
static int row_seek(struct cursor *c) {
    sql_filter_release(c->row);
    c->row = NULL;
    if (c->container == NULL) return SQLITE_OK;
    for (; c->index < tamis_container_count(c->container); c->index++) {
        c->part.struct_size = sizeof c->part;
        const tamis_status status = tamis_container_part(c->container, c->index, &c->part);
        if (status != TAMIS_OK) return complain_status(c, status);
        const bool wanted = c->wanted[0] == '\0' || strcmp(c->wanted, c->part.name) == 0;
        if (c->part.bytes != 0 && wanted) return row_of_part(c);
    }
    return SQLITE_OK;
}

/* Does a part of the wanted name exist, with or without a filter? */
static bool has_wanted(const struct cursor *c) {
    tamis_part part = {.struct_size = sizeof part};
    for (size_t i = 0; i < tamis_container_count(c->container); i++) {
        if (tamis_container_part(c->container, i, &part) == TAMIS_OK &&
            strcmp(c->wanted, part.name) == 0) {
            return true;
        }
    }
    return false;
}

/* Opens a source as a file of several filters, or as a filter. */
static int cursor_begin(struct cursor *c, struct sql_filter *source, const char *format) {
    tamis_open_options o = TAMIS_OPEN_INIT;
    o.format = format;
    c->source = source;
    const tamis_status container =
        tamis_container_view(source->bytes, source->size, &o, &c->container);
    if (container == TAMIS_OK) {
        /* An empty result would look like an empty filter. */
        const bool missing = c->wanted[0] != '\0' && !has_wanted(c);
        return missing ? complain(c, SQL_NO_PART) : row_seek(c);
    }
    if (c->wanted[0] != '\0') {
        return container == TAMIS_E_FORMAT
                   ? complain(c, "the source is a single filter and has no parts")
                   : complain_status(c, container);
    }
    c->source = NULL;
    const tamis_status status = sql_filter_open(source, format);
    if (status != TAMIS_OK) {
        /* The container's error names the damage; the filter's only reports E_FORMAT. */
        const bool unknown = status == TAMIS_E_FORMAT || status == TAMIS_E_ARGUMENT;
        return complain_status(c, unknown && container != TAMIS_E_FORMAT ? container : status);
    }
    c->row = source;
    return SQLITE_OK;
}

/* The texts of the arguments, NULL for those that are missing or NULL; a filter's own has none. */
static int take_texts(struct cursor *c, sqlite3_value **arguments, const char **text) {
    static const char *const cut[] = {"the path contains a NUL", SQL_NO_FORMAT, SQL_NO_PART};
    const bool files = ((struct table *)c->base.pVtab)->module->files;
    for (int i = files ? 0 : 1; i < 3; i++) {
        const enum sql_name verdict = sql_name_of(arguments[i], &text[i]);
        if (verdict == SQL_NAME_NOMEM) return SQLITE_NOMEM;
        if (verdict == SQL_NAME_CUT) return complain(c, cut[i]);
    }
    if (text[1] != NULL && !sql_is_format(text[1])) return complain(c, SQL_NO_FORMAT);
    return SQLITE_OK;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int given, const char *unused, int count,
                         sqlite3_value **values) {
    struct cursor *c = (struct cursor *)base;
    sqlite3_value *argument[3] = {NULL, NULL, NULL};
    const char *text[3] = {NULL, NULL, NULL};
    struct sql_filter *source = NULL;
    (void)unused;
    cursor_clear(c);
    c->wanted[0] = '\0';
    for (int i = 0, next = 0; i < 3 && next < count; i++) {
        if ((given >> i & 1) != 0) argument[i] = values[next++];
    }
    if (argument[0] == NULL) return complain(c, "missing argument: the file or the BLOB");
    if (sqlite3_value_type(argument[0]) == SQLITE_NULL) return SQLITE_OK;
    int code = take_texts(c, argument, text);
    if (code != SQLITE_OK) return code;
    if (text[2] != NULL) snprintf(c->wanted, sizeof c->wanted, "%s", text[2]);
    code = text[0] != NULL ? take_file(c, text[0], text[1], &source)
                           : take_blob(c, argument[0], &source);
    return code != SQLITE_OK ? code : cursor_begin(c, source, text[1]);
}

static int cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out) {
    struct cursor *c = sqlite3_malloc(sizeof *c);
    (void)table;
    if (c == NULL) return SQLITE_NOMEM;
    memset(c, 0, sizeof *c);
    *out = &c->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *base) {
    cursor_clear((struct cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *base) {
    struct cursor *c = (struct cursor *)base;
    c->index++;
    return row_seek(c);
}

static int cursor_eof(sqlite3_vtab_cursor *base) { return ((struct cursor *)base)->row == NULL; }

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
    *rowid = (sqlite3_int64)((struct cursor *)base)->index;
    return SQLITE_OK;
}

/* The columns that need a pass over the table. */
static int measured_column(struct cursor *c, sqlite3_context *context, int column) {
    tamis_status status;
    const tamis_facts *facts = sql_filter_facts(c->row, &status);
    if (facts == NULL) return complain_status(c, status);
    if (column == COLUMN_KEYS) {
        sqlite3_result_int64(context, (sqlite3_int64)sql_keys_of(facts));
    } else if (column == COLUMN_FPR) {
        sqlite3_result_double(context, facts->fpr_now);
    } else {
        sql_result_facts(context, facts);
    }
    return SQLITE_OK;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    struct cursor *c = (struct cursor *)base;
    const tamis_facts *facts = &c->row->facts;
    switch (column) {
        case COLUMN_FILTER:
            sql_result_bytes(context, c->row);
            break;
        case COLUMN_PART:
            if (c->container != NULL) {
                sqlite3_result_text(context, c->part.name, -1, SQLITE_TRANSIENT);
            }
            break;
        case COLUMN_FORMAT:
            sqlite3_result_text(context, facts->format, -1, SQLITE_STATIC);
            break;
        case COLUMN_KIND:
            sqlite3_result_text(context, tamis_kind_name(facts->kind), -1, SQLITE_STATIC);
            break;
        case COLUMN_BYTES:
            sqlite3_result_int64(context, (sqlite3_int64)facts->encoded_bytes);
            break;
        case COLUMN_KEYS:
        case COLUMN_FPR:
        case COLUMN_INFO:
            return measured_column(c, context, column);
        default: /* the arguments are where they came from */
            break;
    }
    return SQLITE_OK;
}

/* ----------------------------------------------------------------- registration */

/* Without xCreate it needs no CREATE VIRTUAL TABLE, and there can be none. */
static const sqlite3_module methods = {
    .iVersion = 0,
    .xConnect = table_connect,
    .xBestIndex = table_plan,
    .xDisconnect = table_disconnect,
    .xOpen = cursor_open,
    .xClose = cursor_close,
    .xFilter = cursor_filter,
    .xNext = cursor_next,
    .xEof = cursor_eof,
    .xColumn = cursor_column,
    .xRowid = cursor_rowid,
};

static void module_free(void *pointer) {
    struct module *module = pointer;
    sql_state_release(module->state);
    sqlite3_free(module);
}

static int module_register(sqlite3 *db, struct sql_state *state, const char *name, bool files) {
    struct module *module = sqlite3_malloc(sizeof *module);
    if (module == NULL) return SQLITE_NOMEM;
    state->users++;
    *module = (struct module){state, files};
    return sqlite3_create_module_v2(db, name, &methods, module, module_free);
}

int sql_tables_register(sqlite3 *db, struct sql_state *state) {
    const int code = module_register(db, state, "tamis_file", true);
    return code != SQLITE_OK ? code : module_register(db, state, "tamis_filter", false);
}
