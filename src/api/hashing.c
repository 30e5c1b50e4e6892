/* hashing.c - entry points: hashes of keys */
#include "core/bits.h"
#include "core/bytes.h"
#include "filter/family.h"

uint64_t tamis_hash(const tamis_filter *filter, const void *key, size_t length) {
    return tamis__hash_key(&filter->hashing, key, length).lo;
}

void tamis_hash_batch(const tamis_filter *filter, const void *const *keys, const size_t *lengths,
                      size_t count, uint64_t *hashes) {
    tamis__hash_keys(&filter->hashing, filter->settings.portable, keys, lengths, count, hashes,
                     NULL);
}

uint64_t tamis_hash_integer(uint64_t value) { return tamis__mix64(value); }

uint64_t tamis_hash_secret(const uint8_t *secret, const void *key, size_t length) {
    assert(secret != NULL && (key != NULL || length == 0));
    const uint64_t words[2] = {tamis__load64(secret), tamis__load64(secret + 8)};
    return tamis__siphash24(key, length, words);
}

void tamis_hash_secret_batch(const uint8_t *secret, const void *const *keys, const size_t *lengths,
                             size_t count, uint64_t *hashes) {
    assert(secret != NULL);
    const uint64_t words[2] = {tamis__load64(secret), tamis__load64(secret + 8)};
    tamis__siphash24_keys(words, false, keys, lengths, count, hashes);
}
