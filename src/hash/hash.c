/* hash.c - the choice of a hash, and composite keys
 *
 * A composite key is hashed field by field: each field gives the hash of its bytes, and the
 * running state becomes the hash of (state, type, length, field's hash).  A fixed-size record
 * per field makes the encoding unambiguous without a buffer, so composing cannot fail. */
#include "hash/hash.h"

#include <string.h>

#include "core/alloc.h"
#include "core/bits.h"
#include "core/bytes.h"
#include "hash/composer.h"
#include "hash/xxh3.h"

void tamis__hashing_init(struct tamis__hashing *h, tamis_hasher id, uint64_t seed,
                         const uint8_t *secret) {
    static const char id_text[] = "tamis key id";
    *h = (struct tamis__hashing){
        .id = id, .plain = id == TAMIS_HASH_XXH3 && seed == 0, .seed = seed};
    if (secret == NULL) return;
    h->id = TAMIS_HASH_SIP24;
    h->plain = false;
    h->seed = 0;
    h->secret[0] = tamis__load64(secret);
    h->secret[1] = tamis__load64(secret + 8);
    h->key_id = tamis__siphash24(id_text, sizeof id_text - 1, h->secret);
}

void tamis__hashing_foreign(struct tamis__hashing *h, enum tamis__foreign_id id, uint64_t seed) {
    *h = (struct tamis__hashing){
        .id = TAMIS_HASH_FOREIGN, .seed = seed, .foreign = tamis__foreign_of(id)};
}

const char *tamis__hashing_name(const struct tamis__hashing *h) {
    switch (h->id) {
        case TAMIS_HASH_XXH3:
            return "xxh3";
        case TAMIS_HASH_SIP24:
            return "siphash-2-4";
        case TAMIS_HASH_FOREIGN:
            return h->foreign->name;
        case TAMIS_HASH_NONE:
            break;
    }
    return "none";
}

bool tamis__hashing_equal(const struct tamis__hashing *a, const struct tamis__hashing *b) {
    return a->id == b->id && a->seed == b->seed && a->key_id == b->key_id &&
           a->foreign == b->foreign;
}

struct tamis__hash tamis__hash_key(const struct tamis__hashing *h, const void *key, size_t length) {
    if (TAMIS_LIKELY(h->plain && length <= TAMIS__XXH3_SHORT)) {
        return (struct tamis__hash){tamis__xxh3_short(key, length), 0};
    }
    switch (h->id) {
        case TAMIS_HASH_SIP24:
            return (struct tamis__hash){tamis__siphash24(key, length, h->secret), 0};
        case TAMIS_HASH_FOREIGN:
            return h->foreign->hash(key, length, h->seed);
        case TAMIS_HASH_XXH3:
        case TAMIS_HASH_NONE:
            break;
    }
    return (struct tamis__hash){tamis__xxh3(key, length, h->seed), 0};
}

/* ---- many keys */

/* The usual hash of short keys is inlined: a call takes a third of its time. */
static void hash_keys_xxh3(const struct tamis__hashing *h, const void *const *keys,
                           const size_t *lengths, size_t count, uint64_t *lo) {
    if (!h->plain) {
        for (size_t i = 0; i < count; i++) lo[i] = tamis__xxh3(keys[i], lengths[i], h->seed);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        lo[i] = TAMIS_LIKELY(lengths[i] <= TAMIS__XXH3_SHORT)
                    ? tamis__xxh3_short(keys[i], lengths[i])
                    : tamis__xxh3(keys[i], lengths[i], 0);
    }
}

static void hash_keys_foreign(const struct tamis__hashing *h, const void *const *keys,
                              const size_t *lengths, size_t count, uint64_t *lo, uint64_t *hi) {
    for (size_t i = 0; i < count; i++) {
        const struct tamis__hash hash = h->foreign->hash(keys[i], lengths[i], h->seed);
        lo[i] = hash.lo;
        if (hi != NULL) hi[i] = hash.hi;
    }
}

void tamis__hash_keys(const struct tamis__hashing *h, bool portable, const void *const *keys,
                      const size_t *lengths, size_t count, uint64_t *lo, uint64_t *hi) {
    if (h->id == TAMIS_HASH_FOREIGN) {
        hash_keys_foreign(h, keys, lengths, count, lo, hi);
        return;
    }
    if (h->id == TAMIS_HASH_SIP24) {
        tamis__siphash24_keys(h->secret, portable, keys, lengths, count, lo);
    } else {
        hash_keys_xxh3(h, keys, lengths, count, lo);
    }
    for (size_t i = 0; hi != NULL && i < count; i++) hi[i] = 0;
}

/* ---- composite keys */

enum { FIELD_INTEGER = 1, FIELD_UNSIGNED, FIELD_DOUBLE, FIELD_BYTES, FIELD_STRING };

struct tamis_composer {
    struct tamis__hashing hashing;
    tamis_allocator allocator;
    uint64_t state;
};

tamis_status tamis__composer_create(const struct tamis__hashing *hashing, const tamis_allocator *a,
                                    tamis_composer **out) {
    if (hashing->id == TAMIS_HASH_FOREIGN) return TAMIS_E_UNSUPPORTED;
    tamis_composer *c = tamis__alloc(a, sizeof *c);
    if (c == NULL) return TAMIS_E_NOMEM;
    *c = (struct tamis_composer){.hashing = *hashing, .allocator = *a};
    *out = c;
    return TAMIS_OK;
}

static void compose(tamis_composer *c, uint64_t type, const void *data, size_t length) {
    uint8_t record[32];
    tamis__store64(record, c->state);
    tamis__store64(record + 8, type);
    tamis__store64(record + 16, length);
    tamis__store64(record + 24, tamis__hash_key(&c->hashing, data, length).lo);
    c->state = tamis__hash_key(&c->hashing, record, sizeof record).lo;
}

static void compose_word(tamis_composer *c, uint64_t type, uint64_t word) {
    uint8_t bytes[8];
    tamis__store64(bytes, word);
    compose(c, type, bytes, sizeof bytes);
}

void tamis_compose_integer(tamis_composer *c, int64_t value) {
    compose_word(c, FIELD_INTEGER, (uint64_t)value);
}

void tamis_compose_unsigned(tamis_composer *c, uint64_t value) {
    compose_word(c, FIELD_UNSIGNED, value);
}

void tamis_compose_double(tamis_composer *c, double value) {
    uint64_t word;
    memcpy(&word, &value, 8);
    compose_word(c, FIELD_DOUBLE, word);
}

void tamis_compose_bytes(tamis_composer *c, const void *data, size_t length) {
    compose(c, FIELD_BYTES, data, length);
}

void tamis_compose_string(tamis_composer *c, const char *text) {
    compose(c, FIELD_STRING, text, strlen(text));
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
