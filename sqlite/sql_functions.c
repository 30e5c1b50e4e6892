/* sql_functions.c - the scalar functions and aggregates
 *
 * A NULL argument gives NULL; aggregates ignore NULL.  A BLOB that is not a filter, or a damaged
 * filter, is an error. */
#include "sql.h"
SQLITE_EXTENSION_INIT3

#include <string.h>

/* FUNCTION(filter, key [, format]): the filter and the key; false if the result is set already. */
static bool filter_and_key(sqlite3_context *context, int count, sqlite3_value **values,
                           const char *function, const struct sql_filter **f, struct sql_key *key,
                           enum sql_key_verdict *verdict) {
    if (sqlite3_value_type(values[1]) == SQLITE_NULL) return false;
    *f = sql_filter_argument(context, 0, values[0], count > 2 ? values[2] : NULL, function);
    if (*f == NULL) return false;
    *verdict = sql_key_for(sqlite3_user_data(context), *f, values[1], key);
    if (*verdict == SQL_KEY_NOMEM) sqlite3_result_error_nomem(context);
    return *verdict != SQL_KEY_NOMEM;
}

static void contains(sqlite3_context *context, int count, sqlite3_value **values) {
    const struct sql_filter *f;
    struct sql_key key;
    enum sql_key_verdict verdict;
    if (!filter_and_key(context, count, values, "tamis_contains", &f, &key, &verdict)) return;
    bool answer = verdict == SQL_KEY;
    if (answer && key.is_hash) {
        answer = tamis_contains_hash(f->filter, key.hash);
    } else if (answer) {
        answer = tamis_contains(f->filter, key.bytes, key.length);
    }
    const tamis_status status = tamis_query_status(f->filter);
    if (status != TAMIS_OK) {
        sql_result_status(context, status, "tamis_contains");
        return;
    }
    sqlite3_result_int(context, answer);
}

/* A copy of the filter with one key added or removed. */
static void change(sqlite3_context *context, int count, sqlite3_value **values, bool add) {
    const char *const function = add ? "tamis_add" : "tamis_remove";
    const struct sql_filter *f;
    struct sql_key key;
    enum sql_key_verdict verdict;
    tamis_filter *copy = NULL;
    if (!filter_and_key(context, count, values, function, &f, &key, &verdict)) return;
    if (verdict != SQL_KEY) {
        sql_result_error(context, "the filter's keys are of another type", function);
        return;
    }
    tamis_status status = tamis_clone(f->filter, &copy);
    if (status == TAMIS_OK && add) {
        status = key.is_hash ? tamis_add_hash(copy, key.hash, NULL)
                             : tamis_add(copy, key.bytes, key.length, NULL);
    } else if (status == TAMIS_OK) {
        status = key.is_hash ? tamis_remove_hash(copy, key.hash)
                             : tamis_remove(copy, key.bytes, key.length);
    }
    if (status == TAMIS_OK) {
        sql_result_filter(context, copy, function);
    } else {
        sql_result_status(context, status, function);
    }
    tamis_free(copy);
}

static void add(sqlite3_context *context, int count, sqlite3_value **values) {
    change(context, count, values, true);
}

static void removes(sqlite3_context *context, int count, sqlite3_value **values) {
    change(context, count, values, false);
}

static void info(sqlite3_context *context, int count, sqlite3_value **values) {
    const struct sql_filter *f =
        sql_filter_argument(context, 0, values[0], count > 1 ? values[1] : NULL, "tamis_info");
    if (f == NULL) return;
    tamis_status status;
    const tamis_facts *facts = sql_filter_facts(f, &status);
    if (facts != NULL) {
        sql_result_facts(context, facts);
    } else {
        sql_result_status(context, status, "tamis_info");
    }
}

static void version(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    (void)values;
    sqlite3_result_text(context, tamis_version(), -1, SQLITE_STATIC);
}

/* ------------------------------------------------------------------ tamis_build */

struct building {
    tamis_builder *builder;
    bool started;
};

static void default_options(tamis_options *o) {
    *o = (tamis_options)TAMIS_OPTIONS_INIT;
    o->needs = TAMIS_NEED_STATIC;
}

static bool build_refuse(sqlite3_context *context, const char *sentence) {
    sql_result_error(context, sentence, "tamis_build");
    return false;
}

/* A kind, another system's format (which may have parameters), or "auto". */
static bool take_kind(sqlite3_context *context, sqlite3_value *value, tamis_options *o) {
    const char *name;
    const enum sql_name verdict = sql_name_of(value, &name);
    if (verdict == SQL_NAME_NOMEM) {
        sqlite3_result_error_nomem(context);
        return false;
    }
    if (verdict == SQL_NAME && (name == NULL || strcmp(name, "auto") == 0)) return true;
    if (verdict == SQL_NAME) o->kind = tamis_kind_find(name);
    if (o->kind != TAMIS_AUTO) return true;
    if (verdict == SQL_NAME_CUT || !sql_is_format(name)) {
        return build_refuse(context, "no such kind of filter");
    }
    o->format = name;
    return true;
}

/* fpr, kind and capacity; each may be missing or NULL. */
static bool take_options(sqlite3_context *context, int count, sqlite3_value **values,
                         tamis_options *o) {
    default_options(o);
    if (count > 1 && sqlite3_value_type(values[1]) != SQLITE_NULL) {
        const int type = sqlite3_value_numeric_type(values[1]);
        o->fpr = sqlite3_value_double(values[1]);
        if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || !(o->fpr > 0 && o->fpr < 1)) {
            return build_refuse(context, tamis_status_text(TAMIS_E_FPR));
        }
    }
    if (count > 3 && sqlite3_value_type(values[3]) != SQLITE_NULL) {
        const int type = sqlite3_value_numeric_type(values[3]);
        const sqlite3_int64 capacity = sqlite3_value_int64(values[3]);
        if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || capacity < 0) {
            return build_refuse(context, "the capacity must be a number, and not less than 0");
        }
        o->capacity = (uint64_t)capacity;
    }
    return count < 3 || take_kind(context, values[2], o);
}

static void build_step(sqlite3_context *context, int count, sqlite3_value **values) {
    struct building *b = sqlite3_aggregate_context(context, sizeof *b);
    tamis_status status = TAMIS_OK;
    if (b == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (!b->started) {
        tamis_options o;
        if (!take_options(context, count, values, &o)) return;
        status = tamis_builder_create(&o, &b->builder);
        b->started = status == TAMIS_OK;
    }
    if (status == TAMIS_OK && sqlite3_value_type(values[0]) != SQLITE_NULL) {
        struct sql_key key;
        status = sql_key_plain(values[0], &key)
                     ? tamis_builder_add(b->builder, key.bytes, key.length)
                     : TAMIS_E_NOMEM;
    }
    if (status != TAMIS_OK) sql_result_status(context, status, "tamis_build");
}

/* Without rows the result is an empty filter. */
static void build_final(sqlite3_context *context) {
    struct building *b = sqlite3_aggregate_context(context, 0);
    tamis_builder *builder = b == NULL ? NULL : b->builder;
    tamis_filter *filter = NULL;
    tamis_status status = TAMIS_OK;
    if (builder == NULL) {
        tamis_options o;
        default_options(&o);
        status = tamis_builder_create(&o, &builder);
    }
    if (status == TAMIS_OK) status = tamis_builder_finish(builder, &filter);
    if (status == TAMIS_OK) {
        sql_result_filter(context, filter, "tamis_build");
    } else {
        sql_result_status(context, status, "tamis_build");
    }
    tamis_builder_free(builder);
    tamis_free(filter);
    if (b != NULL) b->builder = NULL;
}

/* --------------------------------------------------- tamis_merge, tamis_intersect */

static const char *merge_name(tamis_merge_mode mode) {
    return mode == TAMIS_UNION ? "tamis_merge" : "tamis_intersect";
}

/* Merges a value into `*sum`, which is NULL at first. */
static tamis_status merge_value(const struct sql_filter *f, tamis_merge_mode mode,
                                tamis_filter **sum) {
    if (*sum == NULL) return tamis_clone(f->filter, sum);
    return tamis_merge(*sum, f->filter, mode);
}

static void merge_all(sqlite3_context *context, int count, sqlite3_value **values,
                      tamis_merge_mode mode) {
    tamis_filter *sum = NULL;
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < count; i++) {
        if (sqlite3_value_type(values[i]) == SQLITE_NULL) return;
    }
    for (int i = 0; i < count && status == TAMIS_OK; i++) {
        const struct sql_filter *f =
            sql_filter_argument(context, i, values[i], NULL, merge_name(mode));
        if (f == NULL) {
            tamis_free(sum);
            return;
        }
        status = merge_value(f, mode, &sum);
    }
    if (status == TAMIS_OK) {
        sql_result_filter(context, sum, merge_name(mode));
    } else {
        sql_result_status(context, status, merge_name(mode));
    }
    tamis_free(sum);
}

static void merge(sqlite3_context *context, int count, sqlite3_value **values) {
    merge_all(context, count, values, TAMIS_UNION);
}

static void intersect(sqlite3_context *context, int count, sqlite3_value **values) {
    merge_all(context, count, values, TAMIS_INTERSECTION);
}

struct merging {
    tamis_filter *sum;
};

static void merge_step_mode(sqlite3_context *context, sqlite3_value *value, tamis_merge_mode mode) {
    struct merging *m = sqlite3_aggregate_context(context, sizeof *m);
    if (m == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    const struct sql_filter *f = sql_filter_argument(context, -1, value, NULL, merge_name(mode));
    if (f == NULL) return;
    const tamis_status status = merge_value(f, mode, &m->sum);
    if (status != TAMIS_OK) sql_result_status(context, status, merge_name(mode));
}

static void merge_step(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    merge_step_mode(context, values[0], TAMIS_UNION);
}

static void intersect_step(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    merge_step_mode(context, values[0], TAMIS_INTERSECTION);
}

/* The result of no filters is NULL: their kind is unknown. */
static void merge_final(sqlite3_context *context) {
    struct merging *m = sqlite3_aggregate_context(context, 0);
    if (m == NULL || m->sum == NULL) return;
    sql_result_filter(context, m->sum, "tamis_merge");
    tamis_free(m->sum);
    m->sum = NULL;
}

/* ----------------------------------------------------------------- registration */

typedef void function(sqlite3_context *context, int count, sqlite3_value **values);

/* Takes `min` to `max` arguments.  Aggregates have `step` and `final`. */
struct entry {
    const char *name;
    int min, max;
    function *scalar, *step;
    void (*final)(sqlite3_context *context);
};

static const struct entry entries[] = {
    {"tamis_contains", 2, 3, contains, NULL, NULL},
    {"tamis_add", 2, 3, add, NULL, NULL},
    {"tamis_remove", 2, 3, removes, NULL, NULL},
    {"tamis_info", 1, 2, info, NULL, NULL},
    {"tamis_version", 0, 0, version, NULL, NULL},
    {"tamis_build", 1, 4, NULL, build_step, build_final},
    /* As min and max: an aggregate with one argument, a scalar function with several. */
    {"tamis_merge", 1, 1, NULL, merge_step, merge_final},
    {"tamis_merge", 2, 8, merge, NULL, NULL},
    {"tamis_intersect", 1, 1, NULL, intersect_step, merge_final},
    {"tamis_intersect", 2, 8, intersect, NULL, NULL},
};

/* All are pure functions of their arguments without side effects: safe in views, triggers and
 * indexes of a schema that is not trusted. */
int sql_functions_register(sqlite3 *db, struct sql_state *state) {
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        const struct entry *e = &entries[i];
        for (int arguments = e->min; arguments <= e->max; arguments++) {
            state->users++; /* SQLite calls sql_state_release, even if it fails */
            const int code =
                sqlite3_create_function_v2(db, e->name, arguments, flags, state, e->scalar, e->step,
                                           e->final, sql_state_release);
            if (code != SQLITE_OK) return code;
        }
    }
    return SQLITE_OK;
}
