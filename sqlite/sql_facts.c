/* sql_facts.c - the facts about a filter as JSON: the fields of `tamis info --json` */
#include "sql.h"
SQLITE_EXTENSION_INIT3

#include <math.h>
#include <string.h>

static void text_field(sqlite3_str *json, const char *name, const char *value) {
    sqlite3_str_appendf(json, "\"%s\":\"", name);
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\') sqlite3_str_appendchar(json, 1, '\\');
        sqlite3_str_appendchar(json, 1, *value);
    }
    sqlite3_str_append(json, "\",", 2);
}

static void whole_field(sqlite3_str *json, const char *name, uint64_t value) {
    sqlite3_str_appendf(json, "\"%s\":%llu,", name, (sqlite3_uint64)value);
}

static void real_field(sqlite3_str *json, const char *name, double value) {
    if (isfinite(value)) {
        sqlite3_str_appendf(json, "\"%s\":%!.15g,", name, value);
    } else {
        sqlite3_str_appendf(json, "\"%s\":null,", name);
    }
}

static void bool_field(sqlite3_str *json, const char *name, bool value) {
    sqlite3_str_appendf(json, "\"%s\":%s,", name, value ? "true" : "false");
}

/* The number of keys: counted, or estimated from the fill. */
uint64_t sql_keys_of(const tamis_facts *f) {
    if (f->distinct_error > 0 && f->adds != 0) return f->adds;
    return f->distinct > 0 && f->distinct < 0x1p63 ? (uint64_t)(f->distinct + 0.5) : 0;
}

void sql_result_facts(sqlite3_context *context, const tamis_facts *f) {
    sqlite3_str *json = sqlite3_str_new(sqlite3_context_db_handle(context));
    sqlite3_str_appendchar(json, 1, '{');
    text_field(json, "format", f->format);
    text_field(json, "kind", tamis_kind_name(f->kind));
    whole_field(json, "keys", sql_keys_of(f));
    real_field(json, "distinct", f->distinct);
    real_field(json, "distinct_error", f->distinct_error);
    whole_field(json, "adds", f->adds);
    whole_field(json, "capacity", f->capacity);
    whole_field(json, "bytes", f->encoded_bytes);
    whole_field(json, "table_bytes", f->table_bytes);
    real_field(json, "bits_per_key", f->bits_per_key);
    whole_field(json, "hashes", f->hashes);
    whole_field(json, "width", f->width);
    whole_field(json, "stages", f->stages);
    real_field(json, "fill", f->fill);
    real_field(json, "fpr_target", f->fpr_target);
    real_field(json, "fpr_now", f->fpr_now);
    bool_field(json, "over_capacity", f->over_capacity);
    text_field(json, "hasher", f->hash);
    whole_field(json, "seed", f->seed);
    bool_field(json, "keyed", f->keyed);
    if (f->note != NULL) text_field(json, "note", f->note);
    sqlite3_str_appendf(json, "\"checksum\":\"%s\"}",
                        strcmp(f->format, "tamis") == 0 ? "ok" : "none");
    if (sqlite3_str_errcode(json) != SQLITE_OK) {
        sqlite3_result_error_code(context, sqlite3_str_errcode(json));
        sqlite3_free(sqlite3_str_finish(json));
        return;
    }
    const int length = sqlite3_str_length(json);
    sqlite3_result_text(context, sqlite3_str_finish(json), length, sqlite3_free);
}
