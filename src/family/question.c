/* question.c - how a filter is asked for one key
 *
 * Beyond the near cache as many questions overlap as fit in the instructions that a core looks
 * ahead, so every instruction of a single call counts.  What depends on the filter alone is found
 * out once, here, and kept as two pointers in the object:
 *
 *     tamis_contains_hash   f->contains       the family's own, or "maybe" where 64 bits are no key
 *     tamis_contains        f->contains_key   the usual hash, inlined, and then the same; or any
 *
 * A question that the filter cannot be asked is answered "maybe": "no" would be a promise. */
#include "family/family.h"
#include "hash/xxh3.h"

static bool contains_maybe(const tamis_filter *f, struct tamis__hash h) {
    (void)f, (void)h;
    return true;
}

/* Apart, so that the usual way needs no stack. */
static __attribute__((noinline)) bool contains_key_any(const tamis_filter *f, const void *key,
                                                       size_t length) {
    if (f->hashing.id == TAMIS_HASH_NONE || !tamis__hashing_takes(&f->hashing, length)) return true;
    return f->ops->contains(f, tamis__hash_key(&f->hashing, key, length));
}

/* Keys that are hashed in the usual way. */
static bool contains_key_plain(const tamis_filter *f, const void *key, size_t length) {
    if (TAMIS_UNLIKELY(length > TAMIS__XXH3_SHORT)) return contains_key_any(f, key, length);
    return f->contains(f, (struct tamis__hash){tamis__xxh3_short(key, length), 0});
}

void tamis__question_attach(tamis_filter *f) {
    f->contains = tamis__hashing_is_narrow(&f->hashing) ? f->ops->contains : contains_maybe;
    f->contains_key = f->hashing.plain ? contains_key_plain : contains_key_any;
}
