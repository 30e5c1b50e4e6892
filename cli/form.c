/* form.c - see form.h */
#define _POSIX_C_SOURCE 200809L /* newlocale */

#include "form.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

#define FAIL(error, ...)              \
    ((error)->strip_cr_helps = false, \
     (void)snprintf((error)->text, sizeof(error)->text, __VA_ARGS__), false)

const char *key_type_name(uint32_t type) {
    static const char *const names[] = {KEY_TYPE_NAMES};
    return type < sizeof names / sizeof names[0] ? names[type] : "?";
}

void record_text(const uint8_t *bytes, size_t length, char *text, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < length && used + 8 < size; i++) {
        const bool plain = bytes[i] >= ' ' && bytes[i] < 127;
        used += (size_t)snprintf(text + used, size - used, plain ? "%c" : "\\x%02x", bytes[i]);
    }
    snprintf(text + used, size - used, "%s", used + 8 >= size ? "..." : "");
}

bool hex_decode(const uint8_t *digits, size_t bytes, uint8_t *to) {
    for (size_t i = 0; i < bytes; i++) {
        const unsigned high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
        if ((high | low) >= 16) return false;
        to[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* ---- fields */

/* The next place of the separator in [at, end), or NULL. */
static const uint8_t *find_separator(const uint8_t *at, const uint8_t *end,
                                     const tamis_key_form *form) {
    const size_t length = form->separator_length;
    while ((size_t)(end - at) >= length) {
        const uint8_t *first =
            (const uint8_t *)memchr(at, form->separator[0], (size_t)(end - at) - length + 1);
        if (first == NULL || memcmp(first, form->separator, length) == 0) return first;
        at = first + 1;
    }
    return NULL;
}

static bool take_field(struct form_piece *piece, const tamis_key_form *form,
                       struct form_error *error) {
    const uint8_t *at = piece->at;
    const uint8_t *const end = piece->at + piece->length;
    for (uint32_t field = 1;; field++) {
        const uint8_t *separator = find_separator(at, end, form);
        if (field == form->field) {
            piece->at = at;
            piece->length = (size_t)((separator != NULL ? separator : end) - at);
            return true;
        }
        if (separator == NULL) {
            return FAIL(error, "the record has %u field%s, and no field %u", (unsigned)field,
                        field == 1 ? "" : "s", (unsigned)form->field);
        }
        at = separator + form->separator_length;
    }
}

/* ---- hexadecimal digits */

/* The record ends with a carriage return, which the error is about. */
static bool fail_at_return(struct form_error *error, bool at_return) {
    error->strip_cr_helps = at_return;
    return false;
}

/* What is wrong with digits that are not pairs of hexadecimal ones. */
static bool bad_digit(struct form_piece piece, struct form_error *error) {
    size_t i = 0;
    while (i < piece.length && hex_digit(piece.at[i]) < 16) i++;
    if (i == piece.length) {
        return FAIL(error, "an odd number of hexadecimal digits (%zu)", piece.length);
    }
    if (piece.at[i] > ' ' && piece.at[i] < 127) {
        return FAIL(error, "'%c' at byte %zu is not a hexadecimal digit", piece.at[i], i + 1);
    }
    (void)FAIL(error, "byte 0x%02x at byte %zu is not a hexadecimal digit", (unsigned)piece.at[i],
               i + 1);
    return fail_at_return(error, piece.at[i] == '\r' && i + 1 == piece.length);
}

static bool decode_hex(struct form_piece *piece, uint8_t *to, struct form_error *error) {
    if (piece->length % 2 != 0 || !hex_decode(piece->at, piece->length / 2, to)) {
        return bad_digit(*piece, error);
    }
    piece->at = to;
    piece->length /= 2;
    return true;
}

static bool decode_hash(struct form_piece piece, uint64_t *hash, struct form_error *error) {
    uint64_t value = 0;
    if (piece.length != 16) {
        (void)FAIL(error, "a hash must have 16 hexadecimal digits, not %zu bytes", piece.length);
        return fail_at_return(error, piece.length == 17 && piece.at[16] == '\r');
    }
    for (size_t i = 0; i < 16; i++) {
        const unsigned digit = hex_digit(piece.at[i]);
        if (digit >= 16) return bad_digit(piece, error);
        value = value << 4 | digit;
    }
    *hash = value;
    return true;
}

/* ---- typed keys: text in, little-endian bytes out */

static size_t store_little(uint8_t *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
    return bytes;
}

static bool encode_utf16(struct form_piece *piece, uint8_t *to, struct form_error *error) {
    size_t written = 0;
    for (size_t i = 0; i < piece->length;) {
        uint32_t point = 0;
        const size_t length = utf8_decode(piece->at + i, piece->length - i, &point);
        if (length == 0) return FAIL(error, "the key is not UTF-8 at byte %zu", i + 1);
        if (point >= 0x10000) {
            point -= 0x10000;
            written += store_little(to + written, 0xd800 + (point >> 10), 2);
            point = 0xdc00 + (point & 0x3ff);
        }
        written += store_little(to + written, point, 2);
        i += length;
    }
    piece->at = to;
    piece->length = written;
    return true;
}

/* Digits and a sign; false if it is no number or its size does not fit in 64 bits. */
static bool parse_integer(struct form_piece piece, bool *negative, uint64_t *size) {
    size_t i = 0;
    *negative = piece.length > 0 && piece.at[0] == '-';
    if (piece.length > 0 && (piece.at[0] == '-' || piece.at[0] == '+')) i = 1;
    if (i == piece.length) return false;
    *size = 0;
    for (; i < piece.length; i++) {
        const uint64_t digit = (uint64_t)piece.at[i] - '0';
        if (digit > 9 || *size > (UINT64_MAX - digit) / 10) return false;
        *size = 10 * *size + digit;
    }
    return true;
}

static bool wrong_type(struct form_piece piece, uint32_t type, struct form_error *error) {
    char text[72];
    record_text(piece.at, piece.length, text, sizeof text);
    (void)FAIL(error, "'%s' is not of type %s", text, key_type_name(type));
    return fail_at_return(error, piece.length > 0 && piece.at[piece.length - 1] == '\r');
}

size_t form_store_integer(uint32_t type, bool negative, uint64_t size, uint8_t *to) {
    const uint64_t high = type == TAMIS_KEY_I32   ? INT32_MAX
                          : type == TAMIS_KEY_I64 ? INT64_MAX
                                                  : UINT64_MAX;
    const uint64_t low = type == TAMIS_KEY_U64 ? 0 : high + 1;
    if (size > (negative ? low : high)) return 0;
    return store_little(to, negative ? 0 - size : size, type == TAMIS_KEY_I32 ? 4 : 8);
}

static bool encode_integer(struct form_piece *piece, uint32_t type, uint8_t *to,
                           struct form_error *error) {
    bool negative;
    uint64_t size;
    size_t length = 0;
    if (parse_integer(*piece, &negative, &size)) {
        length = form_store_integer(type, negative, size, to);
    }
    if (length == 0) return wrong_type(*piece, type, error);
    piece->at = to;
    piece->length = length;
    return true;
}

/* strtod also accepts 0x1p3, nan(7) and leading blanks. */
static bool is_decimal(struct form_piece piece) {
    for (size_t i = 0; i < piece.length; i++) {
        if (strchr("xX(", piece.at[i]) != NULL) return false;
    }
    return piece.length > 0 && piece.at[0] > ' ';
}

/* Reads a number in the "C" locale, since a Python program may have set one that writes 0,5.  f32
 * is rounded once, to its own size.  false: out of memory. */
static bool parse_float(const char *text, uint32_t type, double *value, char **end) {
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) return false;
    const locale_t before = uselocale(plain); /* of this thread alone */
    *value = type == TAMIS_KEY_F32 ? strtof(text, end) : strtod(text, end);
    uselocale(before);
    freelocale(plain);
    return true;
}

size_t form_store_float(uint32_t type, double value, uint8_t *to) {
    const float narrow = (float)value;
    uint32_t narrow_bits;
    uint64_t bits;
    memcpy(&narrow_bits, &narrow, 4);
    memcpy(&bits, &value, 8);
    const bool is_narrow = type == TAMIS_KEY_F32;
    return store_little(to, is_narrow ? narrow_bits : bits, is_narrow ? 4 : 8);
}

static bool encode_float(struct form_piece *piece, uint32_t type, uint8_t *to,
                         struct form_error *error) {
    char *const text = (char *)to, *end; /* until the key takes its place */
    double value;
    memcpy(text, piece->at, piece->length);
    text[piece->length] = '\0';
    if (!parse_float(text, type, &value, &end)) return FAIL(error, "out of memory");
    /* A number that is too large is an error, as it is for integers, and not infinity. */
    const bool overflow = isinf(value) && strpbrk(text, "iI") == NULL;
    if (end == text || end != text + piece->length || !is_decimal(*piece) || overflow) {
        return wrong_type(*piece, type, error);
    }
    piece->length = form_store_float(type, value, to);
    piece->at = to;
    return true;
}

static bool encode_typed(struct form_piece *piece, uint32_t type, uint8_t *to,
                         struct form_error *error) {
    if (type == TAMIS_KEY_UTF16) return encode_utf16(piece, to, error);
    const bool is_float = type == TAMIS_KEY_F32 || type == TAMIS_KEY_F64;
    return (is_float ? encode_float : encode_integer)(piece, type, to, error);
}

static void fold_case(struct form_piece *piece, uint8_t *to) {
    for (size_t i = 0; i < piece->length; i++) {
        const uint8_t c = piece->at[i];
        to[i] = (uint8_t)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    piece->at = to;
}

/* ---- one key */

bool form_check_length(size_t length, uint32_t key_bytes, struct form_error *error) {
    return key_bytes == 0 || length == key_bytes ||
           FAIL(error, "the key has %zu bytes; the keys of this filter have %u", length,
                (unsigned)key_bytes);
}

bool form_make_key(const tamis_key_form *form, struct form_piece *piece, uint64_t *hash,
                   uint8_t *room, struct form_error *error) {
    uint8_t *const made = room + piece->length;
    if ((form->flags & TAMIS_KEY_STRIP_CR) && piece->length > 0 &&
        piece->at[piece->length - 1] == '\r') {
        piece->length--;
    }
    if (form->field != 0 && !take_field(piece, form, error)) return false;
    if (form->flags & TAMIS_KEY_FOLD_CASE) fold_case(piece, room);
    if (form->flags & TAMIS_KEY_PREHASHED) return decode_hash(*piece, hash, error);
    if ((form->flags & TAMIS_KEY_HEX) && !decode_hex(piece, made, error)) return false;
    if (form->type != TAMIS_KEY_BYTES && !encode_typed(piece, form->type, made, error))
        return false;
    if (form->flags & KEY_FOLD_DECODED) fold_case(piece, made);
    return true;
}

/* ---- in words */

static void separator_text(const tamis_key_form *form, char *text, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < form->separator_length && used + 5 < size; i++) {
        const uint8_t byte = form->separator[i];
        const bool plain = byte > ' ' && byte < 127 && byte != '\\';
        const char *format = byte == '\t' ? "\\t" : plain ? "%c" : "\\x%02x";
        used += (size_t)snprintf(text + used, size - used, format, byte);
    }
    text[used] = '\0';
}

void key_form_text(const tamis_key_form *form, char *text, size_t size) {
    char separator[4 * TAMIS_SEPARATOR_MAX + 8], field[120] = "", type[32] = "";
    separator_text(form, separator, sizeof separator);
    if (form->field != 0) {
        snprintf(field, sizeof field, " -t %s -F %u", separator, (unsigned)form->field);
    }
    if (form->type != TAMIS_KEY_BYTES) {
        snprintf(type, sizeof type, " --as %s", key_type_name(form->type));
    }
    const int length =
        snprintf(text, size, "%s%s%s%s%s%s", form->flags & TAMIS_KEY_STRIP_CR ? " --strip-cr" : "",
                 field, form->flags & TAMIS_KEY_FOLD_CASE ? " --fold-case" : "",
                 form->flags & TAMIS_KEY_HEX ? " --hex" : "",
                 form->flags & TAMIS_KEY_PREHASHED ? " --prehashed" : "", type);
    if (length > 0) memmove(text, text + 1, strlen(text));
}
