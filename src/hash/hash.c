/* hash.c - see hash.h */
#include "hash/hash.h"

#include <string.h>

#include "core/bits.h"
#include "core/bytes.h"
#include "core/cpu.h"
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

void tamis__hashing_compat(struct tamis__hashing *h, const struct tamis__compat_hash *hash,
                           uint64_t seed) {
    *h = (struct tamis__hashing){.id = TAMIS_HASH_COMPAT, .seed = seed, .compat = hash};
}

const char *tamis__hashing_name(const struct tamis__hashing *h) {
    switch (h->id) {
        case TAMIS_HASH_XXH3:
            return "xxh3";
        case TAMIS_HASH_SIP24:
            return "siphash-2-4";
        case TAMIS_HASH_COMPAT:
            return h->compat->name;
        case TAMIS_HASH_NONE:
            break;
    }
    return "none";
}

bool tamis__hashing_equal(const struct tamis__hashing *a, const struct tamis__hashing *b) {
    return a->id == b->id && a->seed == b->seed && a->key_id == b->key_id && a->compat == b->compat;
}

struct tamis__hash tamis__hash_key(const struct tamis__hashing *h, const void *key, size_t length) {
    if (TAMIS_LIKELY(h->plain && length <= TAMIS__XXH3_SHORT)) {
        return (struct tamis__hash){tamis__xxh3_short(key, length), 0};
    }
    switch (h->id) {
        case TAMIS_HASH_SIP24:
            return (struct tamis__hash){tamis__siphash24(key, length, h->secret), 0};
        case TAMIS_HASH_COMPAT:
            return h->compat->hash(key, length, h->seed);
        case TAMIS_HASH_XXH3:
        case TAMIS_HASH_NONE:
            break;
    }
    return (struct tamis__hash){tamis__xxh3(key, length, h->seed), 0};
}

/* ---- many keys */

/* What hashes integers several at once, if there are enough to make up for the call. */
static tamis__xxh3_integers *integers_of(const size_t *lengths, size_t count, bool portable) {
    if (count < 8 || lengths[0] != 8 || lengths[count - 1] != 8 || portable) return NULL;
    const uint32_t cpu = tamis__cpu();
#if defined(TAMIS_HAVE_AVX512)
    if (cpu & TAMIS__CPU_AVX512) return tamis__xxh3_integers_avx512;
#endif
#if defined(TAMIS_HAVE_AVX2)
    if (cpu & TAMIS__CPU_AVX2) return tamis__xxh3_integers_avx2;
#endif
    (void)cpu;
    return NULL;
}

/* XXH3 of keys up to this length is inlined: a call takes a third of the time of a short key. */
#define INLINED 64

static void hash_keys_xxh3(const struct tamis__hashing *h, const void *const *keys,
                           const size_t *lengths, size_t count, uint64_t *lo) {
    if (!h->plain) {
        for (size_t i = 0; i < count; i++) lo[i] = tamis__xxh3(keys[i], lengths[i], h->seed);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (TAMIS_LIKELY(lengths[i] <= TAMIS__XXH3_SHORT)) {
            lo[i] = tamis__xxh3_short(keys[i], lengths[i]);
        } else if (TAMIS_LIKELY(lengths[i] <= INLINED)) {
            lo[i] = tamis__xxh3_medium(keys[i], lengths[i], INLINED);
        } else {
            lo[i] = tamis__xxh3(keys[i], lengths[i], 0);
        }
    }
}

static void hash_keys_compat(const struct tamis__hashing *h, const void *const *keys,
                             const size_t *lengths, size_t count, uint64_t *lo, uint64_t *hi) {
    for (size_t i = 0; i < count; i++) {
        const struct tamis__hash hash = h->compat->hash(keys[i], lengths[i], h->seed);
        lo[i] = hash.lo;
        if (hi != NULL) hi[i] = hash.hi;
    }
}

void tamis__hash_keys(const struct tamis__hashing *h, bool portable, const void *const *keys,
                      const size_t *lengths, size_t count, uint64_t *lo, uint64_t *hi) {
    if (h->id == TAMIS_HASH_COMPAT) {
        hash_keys_compat(h, keys, lengths, count, lo, hi);
        return;
    }
    if (h->id == TAMIS_HASH_SIP24) {
        tamis__siphash24_keys(h->secret, portable, keys, lengths, count, lo);
    } else {
        tamis__xxh3_integers *integers = integers_of(lengths, count, portable);
        const size_t done =
            integers == NULL ? 0 : integers(tamis__xxh3_flip(h->seed), keys, lengths, count, lo);
        hash_keys_xxh3(h, keys + done, lengths + done, count - done, lo + done);
    }
    for (size_t i = 0; hi != NULL && i < count; i++) hi[i] = 0;
}
