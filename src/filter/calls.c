/* contains.c - queries of one key
 *
 * Out of cache, as many queries overlap as fit in the reorder window of a core, so every
 * instruction of a single call counts.  What depends on the filter alone is decided once, here,
 * and kept as two pointers in the object:
 *
 *     tamis_contains_hash   f->contains       the family's, or true where 64 bits are not a key
 *     tamis_contains        f->contains_key   XXH3 without a seed, inlined, and then the same; or
 *                                             any other hash
 *
 * A key that the filter cannot hash is "possibly in the set": false would be a promise. */
#include "filter/family.h"
#include "hash/xxh3.h"

static bool contains_maybe(const tamis_filter *f, struct tamis__hash h) {
    (void)f, (void)h;
    return true;
}

/* Not inlined, so that the common path needs no stack frame. */
static __attribute__((noinline)) bool contains_key_any(const tamis_filter *f, const void *key,
                                                       size_t length) {
    if (f->hashing.id == TAMIS_HASH_NONE || !tamis__hashing_takes(&f->hashing, length)) return true;
    return f->ops->contains(f, tamis__hash_key(&f->hashing, key, length));
}

/* Keys hashed with XXH3 without a seed. */
static bool contains_key_plain(const tamis_filter *f, const void *key, size_t length) {
    if (TAMIS_UNLIKELY(length > TAMIS__XXH3_SHORT)) return contains_key_any(f, key, length);
    return f->contains(f, (struct tamis__hash){tamis__xxh3_short(key, length), 0});
}

void tamis__contains_attach(tamis_filter *f) {
    f->contains = tamis__hashing_is_narrow(&f->hashing) ? f->ops->contains : contains_maybe;
    f->contains_key = f->hashing.plain ? contains_key_plain : contains_key_any;
}
