/* sql_keys.c - from an SQL value to the bytes of a key
 *
 * Plain, for filters that were made here and for other systems':
 *
 *     TEXT      its UTF-8 bytes, whatever the encoding of the database
 *     BLOB      its bytes
 *     INTEGER   8 bytes, little-endian, two's complement: as `tamis build --as i64`
 *     REAL      equal to an INTEGER: as that integer, since 1.0 = 1 in SQL;
 *               else the 8 bytes of the double, little-endian: as `tamis build --as f64`
 *
 * A filter that the command built may store how its records became keys (--as, --hex, --fold-case,
 * ...).  Then the text of the value is treated as the command treats a
 * record; the value already is the field (-F) of a record.  A value that cannot be such a record (a
 * word, where all keys are numbers) is definitely not in the set.
 *
 * The host may have set a locale in which 0.5 is written 0,5: numbers are
 * converted in the "C" locale. */
#define _POSIX_C_SOURCE 200809L /* newlocale */
#include "sql.h"
SQLITE_EXTENSION_INIT3

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_little(struct sql_key *key, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) key->number[i] = (uint8_t)(value >> 8 * i);
    key->bytes = key->number;
    key->length = bytes;
}

static uint64_t bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Does an INTEGER have this value? */
static bool is_integer(double value) {
    return value >= -0x1p63 && value < 0x1p63 && (double)(int64_t)value == value;
}

bool sql_key_plain(sqlite3_value *value, struct sql_key *key) {
    key->is_hash = false;
    switch (sqlite3_value_type(value)) {
        case SQLITE_INTEGER:
            put_little(key, (uint64_t)sqlite3_value_int64(value), 8);
            break;
        case SQLITE_FLOAT: {
            const double real = sqlite3_value_double(value);
            put_little(key, is_integer(real) ? (uint64_t)(int64_t)real : bits_of_double(real), 8);
            break;
        }
        case SQLITE_BLOB:
            key->bytes = sqlite3_value_blob(value);
            key->length = (size_t)sqlite3_value_bytes(value);
            break;
        default: /* of a database in UTF-16 it is a copy */
            key->bytes = sqlite3_value_text(value);
            key->length = (size_t)sqlite3_value_bytes(value);
            return key->bytes != NULL;
    }
    return true;
}

/* --------------------------------------------------------------------- records */

/* The text of a value as the command would read it, in writable memory. */
struct record {
    char *at;
    size_t length;
};

static bool reserve(struct sql_state *state, size_t size) {
    if (size <= state->scratch_size) return true;
    uint8_t *scratch = sqlite3_realloc64(state->scratch, size + size / 2);
    if (scratch == NULL) return false;
    state->scratch = scratch;
    state->scratch_size = size + size / 2;
    return true;
}

/* Is it a whole number that a record of integers could be?  Those of a u64 that are no INTEGER
 * of SQL are REAL there. */
static bool is_whole(double value) {
    return is_integer(value) || (value >= 0x1p63 && value < 0x1p64);
}

static bool record_of(struct sql_state *state, sqlite3_value *value, struct record *record) {
    char number[40];
    const void *text = number;
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_FLOAT && is_whole(sqlite3_value_double(value))) {
        /* 7.0 = 7, so it is the same record.  (A "-0" would be another.) */
        const double real = sqlite3_value_double(value);
        record->length = (size_t)snprintf(number, sizeof number, "%.0f", real == 0 ? 0.0 : real);
    } else {
        text = type == SQLITE_BLOB ? sqlite3_value_blob(value) : sqlite3_value_text(value);
        record->length = (size_t)sqlite3_value_bytes(value);
    }
    /* An empty blob is NULL; so is one that SQLite has no memory for. */
    const bool lost = text == NULL && (type != SQLITE_BLOB || record->length != 0);
    if (lost || !reserve(state, record->length + 1)) return false;
    record->at = (char *)state->scratch;
    if (record->length != 0) memcpy(record->at, text, record->length);
    record->at[record->length] = '\0';
    return true;
}

/* 16 or more for a byte that is not a digit. */
static unsigned digit(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
    return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

static void strip_cr(const tamis_key_form *form, struct record *r) {
    const bool wanted = (form->flags & TAMIS_KEY_STRIP_CR) != 0;
    if (wanted && r->length > 0 && r->at[r->length - 1] == '\r') r->at[--r->length] = '\0';
}

/* In place. */
static bool decode_hex(struct record *r) {
    if (r->length % 2 != 0) return false;
    for (size_t i = 0; i < r->length; i += 2) {
        const unsigned high = digit(r->at[i]), low = digit(r->at[i + 1]);
        if ((high | low) > 15) return false;
        r->at[i / 2] = (char)(high << 4 | low);
    }
    r->length /= 2;
    return true;
}

static bool decode_hash(const struct record *r, uint64_t *hash) {
    if (r->length != 16) return false;
    *hash = 0;
    for (size_t i = 0; i < 16; i++) {
        if (digit(r->at[i]) > 15) return false;
        *hash = *hash << 4 | digit(r->at[i]);
    }
    return true;
}

static bool decode_integer(const struct record *r, uint32_t type, struct sql_key *key) {
    const uint64_t high = type == TAMIS_KEY_I32   ? INT32_MAX
                          : type == TAMIS_KEY_I64 ? INT64_MAX
                                                  : UINT64_MAX;
    const bool negative = r->length > 0 && r->at[0] == '-';
    const uint64_t max = !negative ? high : type == TAMIS_KEY_U64 ? 0 : high + 1;
    size_t i = negative || (r->length > 0 && r->at[0] == '+');
    uint64_t size = 0;
    if (i == r->length) return false;
    for (; i < r->length; i++) {
        const unsigned d = digit(r->at[i]);
        if (d > 9 || size > (UINT64_MAX - d) / 10) return false;
        size = 10 * size + d;
    }
    if (size > max) return false;
    put_little(key, negative ? 0 - size : size, type == TAMIS_KEY_I32 ? 4 : 8);
    return true;
}

/* A number in both widths; the type selects one.  A number that is too large for the type is
 * absent, not infinity, as with integers. */
static enum sql_key_verdict put_float(struct sql_key *key, uint32_t type, double wide, float single,
                                      bool infinite) {
    const bool is_wide = type == TAMIS_KEY_F64;
    uint32_t bits;
    if (isinf(is_wide ? wide : (double)single) && !infinite) return SQL_KEY_ABSENT;
    memcpy(&bits, &single, sizeof bits);
    put_little(key, is_wide ? bits_of_double(wide) : bits, is_wide ? 8 : 4);
    return SQL_KEY;
}

/* strtod also accepts 0x1p3, nan(7) and leading blanks: these are not decimal numbers. */
static enum sql_key_verdict decode_float(const struct record *r, uint32_t type,
                                         struct sql_key *key) {
    char *end;
    if (r->length == 0 || strspn(r->at, "+-.0123456789eEinfatyINFATY") != r->length) {
        return SQL_KEY_ABSENT;
    }
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) return SQL_KEY_NOMEM;
    const locale_t before = uselocale(plain); /* of this thread alone */
    const double wide = strtod(r->at, &end);
    const float single = strtof(r->at, NULL);
    uselocale(before);
    freelocale(plain);
    if (end != r->at + r->length) return SQL_KEY_ABSENT;
    return put_float(key, type, wide, single, strpbrk(r->at, "iI") != NULL);
}

/* A number becomes a float without text in between, and is rounded once. */
static enum sql_key_verdict float_key(struct sql_state *state, const tamis_key_form *form,
                                      sqlite3_value *value, struct sql_key *key) {
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_INTEGER) {
        const int64_t whole = sqlite3_value_int64(value);
        return put_float(key, form->type, (double)whole, (float)whole, false);
    }
    if (type == SQLITE_FLOAT) {
        double real = sqlite3_value_double(value);
        if (real == 0) real = 0; /* -0.0 = 0 */
        return put_float(key, form->type, real, (float)real, isinf(real));
    }
    struct record r;
    if (!record_of(state, value, &r)) return SQL_KEY_NOMEM;
    strip_cr(form, &r);
    return decode_float(&r, form->type, key);
}

static void fold_case(struct record *r, size_t step) {
    for (size_t i = 0; i < r->length; i += step) {
        const bool wide = step == 2 && r->at[i + 1] != 0;
        if (!wide && r->at[i] >= 'A' && r->at[i] <= 'Z') r->at[i] = (char)(r->at[i] + 32);
    }
}

/* The record of a number, which is ASCII, widened from its end. */
static enum sql_key_verdict utf16_number(struct sql_state *state, sqlite3_value *value,
                                         struct sql_key *key) {
    struct record r;
    if (!record_of(state, value, &r) || !reserve(state, 2 * r.length)) return SQL_KEY_NOMEM;
    r.at = (char *)state->scratch; /* which may have moved */
    for (size_t i = r.length; i-- > 0;) {
        r.at[2 * i + 1] = '\0';
        r.at[2 * i] = r.at[i];
    }
    key->bytes = r.at;
    key->length = 2 * r.length;
    return SQL_KEY;
}

/* SQLite converts text to UTF-16; a blob is taken as UTF-16 already. */
static enum sql_key_verdict utf16_key(struct sql_state *state, const tamis_key_form *form,
                                      sqlite3_value *value, struct sql_key *key) {
    struct record r;
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) return utf16_number(state, value, key);
    const bool blob = type == SQLITE_BLOB;
    const void *text = blob ? sqlite3_value_blob(value) : sqlite3_value_text16le(value);
    r.length = (size_t)(blob ? sqlite3_value_bytes(value) : sqlite3_value_bytes16(value));
    if (r.length % 2 != 0) return SQL_KEY_ABSENT;
    const bool lost = text == NULL && (!blob || r.length != 0);
    if (lost || !reserve(state, r.length + 1)) return SQL_KEY_NOMEM;
    r.at = (char *)state->scratch;
    if (r.length != 0) memcpy(r.at, text, r.length);
    if ((form->flags & TAMIS_KEY_STRIP_CR) && r.length >= 2 && r.at[r.length - 2] == '\r' &&
        r.at[r.length - 1] == 0) {
        r.length -= 2;
    }
    if (form->flags & TAMIS_KEY_FOLD_CASE) fold_case(&r, 2);
    key->bytes = r.at;
    key->length = r.length;
    return SQL_KEY;
}

static enum sql_key_verdict record_key(struct sql_state *state, const tamis_key_form *form,
                                       sqlite3_value *value, struct sql_key *key) {
    struct record r;
    bool right = true;
    if (!record_of(state, value, &r)) return SQL_KEY_NOMEM;
    strip_cr(form, &r);
    if (form->flags & TAMIS_KEY_FOLD_CASE) fold_case(&r, 1);
    key->is_hash = (form->flags & TAMIS_KEY_PREHASHED) != 0;
    if (key->is_hash) return decode_hash(&r, &key->hash) ? SQL_KEY : SQL_KEY_ABSENT;
    if (form->type != TAMIS_KEY_BYTES) {
        right = decode_integer(&r, form->type, key);
    } else {
        if (form->flags & TAMIS_KEY_HEX) right = decode_hex(&r);
        key->bytes = r.at;
        key->length = r.length;
    }
    return right ? SQL_KEY : SQL_KEY_ABSENT;
}

enum sql_key_verdict sql_key_for(struct sql_state *state, const struct sql_filter *f,
                                 sqlite3_value *value, struct sql_key *key) {
    const tamis_key_form *form = &f->facts.form;
    key->is_hash = false;
    if (form->type == TAMIS_KEY_UTF16) return utf16_key(state, form, value, key);
    if (form->type == TAMIS_KEY_F32 || form->type == TAMIS_KEY_F64) {
        return float_key(state, form, value, key);
    }
    if (form->type != TAMIS_KEY_BYTES || form->flags != 0) {
        return record_key(state, form, value, key);
    }
    if (f->facts.hasher == TAMIS_HASH_NONE) {
        key->is_hash = true;
        key->hash = (uint64_t)sqlite3_value_int64(value);
        return sqlite3_value_type(value) == SQLITE_INTEGER ? SQL_KEY : SQL_KEY_ABSENT;
    }
    if (!sql_key_plain(value, key)) return SQL_KEY_NOMEM;
    const bool fits = f->facts.key_bytes == 0 || key->length == f->facts.key_bytes;
    return fits ? SQL_KEY : SQL_KEY_ABSENT;
}
