/* form.h - the text of a record becomes a key
 *
 *     record --strip-cr--> --field--> --fold-case--> --hex | prehashed | type--> key bytes
 *
 * Depends on tamis.h and utf8.h alone: the Python package makes its keys with it, too. */
#ifndef TAMIS_CLI_FORM_H
#define TAMIS_CLI_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tamis.h"

/* The types of keys, in the order of tamis_key_type. */
#define KEY_TYPE_NAMES "bytes", "utf16", "i32", "i64", "u64", "f32", "f64"
const char *key_type_name(uint32_t type);

/* A flag for forms that are not stored: folds the case of the key that --hex or --as has decoded,
 * for a filter that folds the bytes of its keys. */
#define KEY_FOLD_DECODED (UINT32_C(1) << 31)

/* Why a record has no key. */
struct form_error {
    char text[160];
    bool strip_cr_helps; /* the record ends with a carriage return that is kept */
};

struct form_piece {
    const uint8_t *at;
    size_t length;
};

/* The form in words, as options: "--hex -t , -F 2"; "" for the whole record. */
void key_form_text(const tamis_key_form *form, char *text, size_t size);

/* Is the whole record the key, unchanged? */
static inline bool form_is_plain(const tamis_key_form *form) {
    return form->flags == 0 && form->field == 0 && form->type == TAMIS_KEY_BYTES;
}

/* The room that a key needs: first the text with its case folded, then what is made of it, at most
 * two bytes for one (UTF-16) or eight (a number; before that, its text and a NUL). */
static inline size_t form_room(size_t length) { return 3 * length + 8; }

/* Turns a record into its key, which lies in the record or in `room`; with TAMIS_KEY_PREHASHED into
 * `*hash`.  false: `error` has the reason. */
bool form_make_key(const tamis_key_form *form, struct form_piece *piece, uint64_t *hash,
                   uint8_t *room, struct form_error *error);

/* Does a filter accept keys of this length?  key_bytes: the length of all its keys; 0: any. */
bool form_check_length(size_t length, uint32_t key_bytes, struct form_error *error);

/* The number in the type's size, little-endian, into at most 8 bytes at `to`; returns its length.
 * A negative number is its two's complement.  0: an integer outside the range of the type. */
size_t form_store_integer(uint32_t type, bool negative, uint64_t size, uint8_t *to);
size_t form_store_float(uint32_t type, double value, uint8_t *to);

/* A record as it can be shown: its first bytes, those that are not printable as \xHH. */
void record_text(const uint8_t *bytes, size_t length, char *text, size_t size);

/* The value of a hexadecimal digit; 16 for another byte. */
static inline unsigned hex_digit(int byte) {
    if (byte >= '0' && byte <= '9') return (unsigned)(byte - '0');
    const unsigned letter = ((unsigned)byte | 0x20) - 'a';
    return letter < 6 ? letter + 10 : 16;
}

/* Decodes pairs of hexadecimal digits; false if one is not. */
bool hex_decode(const uint8_t *digits, size_t bytes, uint8_t *to);

#endif
