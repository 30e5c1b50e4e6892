/* text.c - a record's text, an integer or a float becomes a key, as in the command */
#include "module.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "form.h"

#define ERROR_SIZE 160
#define FAIL(error, ...) ((void)snprintf(error, ERROR_SIZE, __VA_ARGS__), false)

static bool is_float(uint32_t type) { return type == TAMIS_KEY_F32 || type == TAMIS_KEY_F64; }

static bool check_length(const struct key_rule *rule, size_t length, char error[ERROR_SIZE]) {
    struct form_error why;
    return form_check_length(length, rule->key_bytes, &why) || FAIL(error, "%s", why.text);
}

/* ---- text */

size_t key_made_bytes(size_t length) { return form_room(length); }

bool key_of_text(const struct key_rule *rule, const void *text, size_t length, uint8_t *made,
                 const void **key, size_t *key_length, uint64_t *hash, char error[ERROR_SIZE]) {
    struct form_piece piece = {(const uint8_t *)text, length};
    struct form_error why;
    tamis_key_form form = rule->form;
    if (rule->prehashed) form.flags |= TAMIS_KEY_PREHASHED;
    if (!form_make_key(&form, &piece, hash, made, &why)) return FAIL(error, "%s", why.text);
    *key = piece.at;
    *key_length = piece.length;
    return rule->prehashed || check_length(rule, piece.length, error);
}

/* ---- numbers */

static bool refuse_number(const char *what, const char *cure, char error[ERROR_SIZE]) {
    return FAIL(error, "the keys of this filter are %s, and a number is none: pass %s", what, cure);
}

static bool outside(const char *number, uint32_t type, char error[ERROR_SIZE]) {
    return FAIL(error, "%s is outside the range of %s, the type of this filter's keys", number,
                key_type_name(type));
}

static bool store_typed(uint32_t type, bool negative, uint64_t value, uint8_t number[8],
                        size_t *key_length, char error[ERROR_SIZE]) {
    char text[24];
    const uint64_t size = negative ? 0 - value : value;
    *key_length = form_store_integer(type, negative, size, number);
    if (*key_length != 0) return true;
    snprintf(text, sizeof text, "%s%" PRIu64, negative ? "-" : "", size);
    return outside(text, type, error);
}

/* It is rounded once, to the size that is stored. */
static double rounded(uint32_t type, bool negative, uint64_t value) {
    if (type == TAMIS_KEY_F32) return negative ? (float)(int64_t)value : (float)value;
    return negative ? (double)(int64_t)value : (double)value;
}

bool key_of_integer(const struct key_rule *rule, bool is_unsigned, uint64_t value,
                    uint8_t number[8], size_t *key_length, uint64_t *hash, char error[ERROR_SIZE]) {
    const uint32_t type = rule->form.type;
    const bool negative = !is_unsigned && (int64_t)value < 0;
    if (rule->prehashed) {
        *hash = value;
        return true;
    }
    if (rule->form.flags & TAMIS_KEY_HEX) {
        return refuse_number("hexadecimal digits", "them as str", error);
    }
    if (type == TAMIS_KEY_UTF16) return refuse_number("UTF-16 text", "str", error);
    if (is_float(type)) {
        *key_length = form_store_float(type, rounded(type, negative, value), number);
        return check_length(rule, *key_length, error);
    }
    const uint32_t whole = negative ? TAMIS_KEY_I64 : TAMIS_KEY_U64;
    return store_typed(type != TAMIS_KEY_BYTES ? type : whole, negative, value, number, key_length,
                       error) &&
           check_length(rule, *key_length, error);
}

bool key_of_float(const struct key_rule *rule, double value, uint8_t number[8], size_t *key_length,
                  char error[ERROR_SIZE]) {
    const uint32_t type = rule->form.type;
    if (!is_float(type)) return FAIL(error, "the keys of this filter are not of type f32 or f64");
    /* As with integers, a number that is too large is an error, and not infinity. */
    if (type == TAMIS_KEY_F32 && isinf((float)value) && !isinf(value)) {
        char text[32];
        snprintf(text, sizeof text, "%g", value);
        return outside(text, type, error);
    }
    *key_length = form_store_float(type, value, number);
    return check_length(rule, *key_length, error);
}
