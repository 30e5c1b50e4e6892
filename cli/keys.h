/* keys.h - a record becomes a key: KEYOPTS
 *
 *     record --strip-cr--> --field--> --fold-case--> --hex | prehashed | type--> key bytes
 *
 * How keys were made is stored in the filter (tamis_key_form) and applied again when it is
 * used.  What the command line says besides must not contradict it (see key_form_merge).
 *
 * Records are handed over in batches, as the library wants them.  A record that needs no change
 * is its own key and is not copied. */
#ifndef TAMIS_CLI_KEYS_H
#define TAMIS_CLI_KEYS_H

#include "records.h"

/* Keys in a batch: enough to hide the latency of memory, little enough for the nearest cache. */
#define BATCH_KEYS 512

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

/* Takes one option of options_keys; false if it is another. */
bool key_options_take(struct key_options *keys, int id, const struct args *args);

/* Checks that they fit together, fills in the default separator, reads the secret.  Dies. */
void key_options_check(struct key_options *keys);

/* The secret, or NULL if none was given. */
const uint8_t *key_options_secret(const struct key_options *keys);

/* The form for a filter at `path` that stores facts->form.  Options that say where and how the key
 * is written in this input (field, carriage return, hexadecimal, type) may be added to a filter
 * that knows nothing of them; one that says otherwise than the filter does is an error, and so
 * is folding the case for a filter that was built without: it would miss its own keys. */
tamis_key_form key_form_merge(const tamis_facts *facts, const struct key_options *given,
                              const char *path);

/* A flag of the forms that key_form_merge makes, not of any file: the case is folded in what --hex
 * or --as has made of the text, too.  A filter that folds the bytes of its keys, and is given them
 * in hexadecimal or as numbers, wants it so. */
#define KEY_FOLD_DECODED (UINT32_C(1) << 31)

/* The form in words, as options: "--hex -t , -F 2"; "" for the whole record. */
void key_form_text(const tamis_key_form *form, char *text, size_t size);
const char *key_type_name(uint32_t type);

/* The value of a hexadecimal digit; 16 for another byte. */
static inline unsigned hex_digit(int byte) {
    if (byte >= '0' && byte <= '9') return (unsigned)(byte - '0');
    const unsigned letter = ((unsigned)byte | 0x20) - 'a';
    return letter < 6 ? letter + 10 : 16;
}

/* ---- batches */

struct batch {
    size_t count;
    size_t start[BATCH_KEYS]; /* offset of the record in its block */
    const void *record[BATCH_KEYS];
    size_t record_length[BATCH_KEYS];

    const void *const *keys; /* the keys: the records themselves, or made[] */
    const size_t *lengths;
    uint64_t hash[BATCH_KEYS];
    bool answer[BATCH_KEYS];

    const void *made[BATCH_KEYS];
    size_t made_length[BATCH_KEYS];
    uint8_t *scratch;
    size_t scratch_capacity;
};

/* Before its first use; and at the end. */
void batch_start(struct batch *batch);
void batch_free(struct batch *batch);

/* The next records of the block from offset *at on; false when there are none left. */
bool batch_next(struct batch *batch, const struct block *block, uint8_t delimiter, size_t *at);

/* Makes the keys of the batch.  False if a record has none: then `error` is set (its record
 * counted within the batch) and the batch is cut to the records before it.  `prehashed` forms
 * fill hash[] instead. */
bool batch_keys(struct batch *batch, const tamis_key_form *form, struct record_error *error);

/* The same for a filter whose keys all have `key_bytes` bytes (0: any number): another is a record
 * that has none. */
bool batch_keys_of(struct batch *batch, const tamis_key_form *form, uint32_t key_bytes,
                   struct record_error *error);

/* Keys, then their hashes as `filter` hashes them. */
bool batch_hashes(struct batch *batch, const tamis_key_form *form, const tamis_filter *filter,
                  struct record_error *error);

#endif
