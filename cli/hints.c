/* hints.c - see hints.h */
#include "hints.h"

#include <string.h>

const struct compression *compression_of(const void *bytes, size_t length) {
    static const struct {
        struct compression compression;
        const char *magic;
        size_t length;
    } known[] = {{{"gzip", "zcat"}, "\x1f\x8b\x08", 3},
                 {{"zstd", "zstdcat"}, "\x28\xb5\x2f\xfd", 4},
                 {{"xz", "xzcat"}, "\xfd\x37zXZ", 5},
                 {{"bzip2", "bzcat"}, "BZh", 3}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (length >= known[i].length && memcmp(bytes, known[i].magic, known[i].length) == 0) {
            return &known[i].compression;
        }
    }
    return NULL;
}

/* Do all keys of the first batch end in CR? */
static bool keys_end_in_cr(const struct block *block, uint8_t delimiter,
                           const tamis_key_form *form) {
    struct batch batch;
    struct record_error error = {false, 0, ""};
    size_t at = 0, found = 0;
    const uint32_t decoded = TAMIS_KEY_HEX | TAMIS_KEY_PREHASHED;
    if (delimiter != '\n' || (form->flags & decoded) || form->type != TAMIS_KEY_BYTES) return false;
    batch_start(&batch);
    if (batch_next(&batch, block, delimiter, &at) && batch_keys(&batch, form, 0, &error)) {
        for (size_t i = 0; i < batch.count; i++) {
            const char *key = (const char *)batch.keys[i];
            found += batch.lengths[i] != 0 && key[batch.lengths[i] - 1] == '\r';
        }
    }
    const bool all = found != 0 && found == batch.count;
    batch_free(&batch);
    return all;
}

void hint_input(const char *name, const struct block *block, uint8_t delimiter,
                const tamis_key_form *form) {
    static bool compressed, marked, returns; /* hinted before */
    const struct compression *packed = compression_of(block->data, block->length);
    if (packed != NULL) {
        const bool piped = strcmp(name, "standard input") == 0;
        if (!compressed) {
            warn("note: '%s' is compressed with %s and is read as it is; use %s%s%s | tamis ...",
                 name, packed->name, packed->cat, piped ? "" : " ", piped ? "" : name);
        }
        compressed = true;
        return;
    }
    if (form == NULL) return;
    if (!marked && block->length >= 3 && memcmp(block->data, "\xef\xbb\xbf", 3) == 0) {
        warn("note: '%s' begins with a byte order mark (BOM), which is part of its first key",
             name);
        marked = true;
    }
    if (!returns && keys_end_in_cr(block, delimiter, form)) {
        warn("note: the keys of '%s' end in CR (Windows line ends); --strip-cr drops it", name);
        returns = true;
    }
}
