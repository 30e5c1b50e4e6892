/* keys.h - a record becomes a key: KEYOPTS
 *
 *     record --strip-cr--> --field--> --fold-case--> --hex | prehashed | type--> key bytes
 *
 * How keys were made is stored in the filter (tamis_key_form) and applied again when it is
 * used.  Options of the command line must not contradict it (see key_form_merge). */
#ifndef TAMIS_CLI_KEYS_H
#define TAMIS_CLI_KEYS_H

#include "options.h"

/* KEYOPTS as given. */
struct key_options {
    uint8_t delimiter;
    bool has_separator, has_type;
    tamis_key_form form;
    const char *key_file; /* NULL: none */
    uint8_t secret[TAMIS_SECRET_BYTES];
};
#define KEY_OPTIONS_INIT \
    { .delimiter = '\n' }

/* Takes one option of KEYOPTS or --key-file; false if it is another. */
bool key_options_take(struct key_options *keys, int id, const struct args *args);

/* Checks that they fit together, fills in the default separator, reads the secret.  Dies. */
void key_options_check(struct key_options *keys);

/* The secret, or NULL if none was given. */
const uint8_t *key_options_secret(const struct key_options *keys);

/* The form for a filter at `path` that stores facts->form.  Options that describe this input
 * (field, carriage return, hexadecimal, type) may be added if the filter does not store them; an
 * option that contradicts the filter is an error, and so is folding the case for a filter built
 * without it, which would miss its own keys. */
tamis_key_form key_form_merge(const tamis_facts *facts, const struct key_options *given,
                              const char *path);

/* A flag of the forms that key_form_merge makes, never stored: folds the case of the key that --hex
 * or --as has decoded, for a filter that folds the bytes of its keys. */
#define KEY_FOLD_DECODED (UINT32_C(1) << 31)

/* Do both make the same keys of records? */
bool key_form_same(const tamis_key_form *a, const tamis_key_form *b);

/* The form in words, as options: "--hex -t , -F 2"; "" for the whole record. */
void key_form_text(const tamis_key_form *form, char *text, size_t size);
const char *key_type_name(uint32_t type);

/* The value of a hexadecimal digit; 16 for another byte. */
static inline unsigned hex_digit(int byte) {
    if (byte >= '0' && byte <= '9') return (unsigned)(byte - '0');
    const unsigned letter = ((unsigned)byte | 0x20) - 'a';
    return letter < 6 ? letter + 10 : 16;
}

/* Decodes pairs of hexadecimal digits; false if one is not. */
bool hex_decode(const uint8_t *digits, size_t bytes, uint8_t *to);

#endif
