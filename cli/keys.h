/* keys.h - KEYOPTS: how a record becomes a key (see form.h)
 *
 * How keys were made is stored in the filter (tamis_key_form) and applied again when it is
 * used.  Options of the command line must not contradict it (see key_form_merge). */
#ifndef TAMIS_CLI_KEYS_H
#define TAMIS_CLI_KEYS_H

#include "form.h"
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

/* Do both make the same keys of records? */
bool key_form_same(const tamis_key_form *a, const tamis_key_form *b);

#endif
