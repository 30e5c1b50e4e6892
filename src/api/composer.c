/* composer.c - entry points: composite keys, over any of our hashes
 *
 * A composite key is hashed field by field: the state becomes the hash of (state, type, length,
 * hash of the field's bytes).  A record of fixed size per field makes the encoding unambiguous
 * without a buffer, so composing cannot fail. */
#include <string.h>

#include "api/api.h"
#include "core/bits.h"
#include "core/bytes.h"

struct tamis_composer {
    struct tamis__hashing hashing;
    tamis_allocator allocator;
    uint64_t state;
};

/* Values are hashed: frozen. */
enum field { INTEGER = 1, UNSIGNED, DOUBLE, BYTES, STRING };

tamis_status tamis__composer_create(const struct tamis__hashing *hashing, const tamis_allocator *a,
                                    tamis_composer **out) {
    if (hashing->id == TAMIS_HASH_COMPAT) return TAMIS_E_UNSUPPORTED;
    tamis_composer *c = tamis__alloc(a, sizeof *c);
    if (c == NULL) return TAMIS_E_NOMEM;
    *c = (struct tamis_composer){.hashing = *hashing, .allocator = *a};
    *out = c;
    return TAMIS_OK;
}

tamis_status tamis_composer_create(const tamis_filter *filter, tamis_composer **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    if (filter == NULL) return TAMIS_E_ARGUMENT;
    return tamis__composer_create(&filter->hashing, &filter->settings.allocator, out);
}

static void compose(tamis_composer *c, enum field type, const void *data, size_t length) {
    uint8_t record[32];
    tamis__store64(record, c->state);
    tamis__store64(record + 8, type);
    tamis__store64(record + 16, length);
    tamis__store64(record + 24, tamis__hash_key(&c->hashing, data, length).lo);
    c->state = tamis__hash_key(&c->hashing, record, sizeof record).lo;
}

static void compose_word(tamis_composer *c, enum field type, uint64_t word) {
    uint8_t bytes[8];
    tamis__store64(bytes, word);
    compose(c, type, bytes, sizeof bytes);
}

void tamis_compose_integer(tamis_composer *c, int64_t value) {
    compose_word(c, INTEGER, (uint64_t)value);
}

void tamis_compose_unsigned(tamis_composer *c, uint64_t value) { compose_word(c, UNSIGNED, value); }

void tamis_compose_double(tamis_composer *c, double value) {
    compose_word(c, DOUBLE, tamis__double_bits(value));
}

void tamis_compose_bytes(tamis_composer *c, const void *data, size_t length) {
    compose(c, BYTES, data, length);
}

void tamis_compose_string(tamis_composer *c, const char *text) {
    compose(c, STRING, text, strlen(text));
}

uint64_t tamis_composer_finish(tamis_composer *c) {
    const uint64_t hash = tamis__mix64(c->state);
    c->state = 0;
    return hash;
}

void tamis_composer_free(tamis_composer *c) {
    if (c == NULL) return;
    const tamis_allocator a = c->allocator;
    tamis__release(&a, c, sizeof *c);
}
