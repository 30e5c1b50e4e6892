/* calls.c - calls of one key
 *
 * Out of cache, as many calls overlap as fit in the reorder window of a core, so every instruction
 * of a single call counts.  What depends on the filter alone is decided once, here, and kept as
 * three pointers in the object:
 *
 *     tamis_contains_hash   f->contains       the family's, or true where 64 bits are not a key
 *     tamis_contains        f->contains_key   XXH3 without a seed, inlined, and then the same; or
 *                                             any other hash
 *     tamis_add_hash        f->add            the family's, which counts by itself, if all checks
 *                                             would pass; or NULL: checks, add and count
 *
 * A key that the filter cannot hash is "possibly in the set": false would be a promise. */
#include "filter/family.h"
#include "hash/xxh3.h"

static bool contains_maybe(const tamis_filter *f, uint64_t hash) {
    (void)f, (void)hash;
    return true;
}

/* Not inlined, so that the common path needs no stack frame. */
static __attribute__((noinline)) bool contains_key_any(const tamis_filter *f, const void *key,
                                                       size_t length) {
    if (f->hashing.id == TAMIS_HASH_NONE || !tamis__hashing_takes(&f->hashing, length)) return true;
    return tamis__filter_contains(f, tamis__hash_key(&f->hashing, key, length));
}

/* Keys hashed with XXH3 without a seed. */
static bool contains_key_plain(const tamis_filter *f, const void *key, size_t length) {
    if (TAMIS_UNLIKELY(length > TAMIS__XXH3_SHORT)) return contains_key_any(f, key, length);
    return f->contains(f, tamis__xxh3_short(key, length));
}

static tamis_status add_and_count(tamis_filter *f, uint64_t hash, bool *fresh) {
    const tamis_status status = f->ops->add(f, hash, fresh);
    f->adds += status == TAMIS_OK;
    return status;
}

/* One of our own filters, writable and not shared. */
static bool is_plain(const tamis_filter *f) {
    return f->hashing.compat == NULL && f->settings.codec == NULL && f->storage == TAMIS__OWNED &&
           !f->settings.shared;
}

void tamis__calls_attach(tamis_filter *f) {
    const struct tamis__ops *ops = f->ops;
    const bool narrow = ops->contains != NULL && tamis__hashing_is_narrow(&f->hashing);
    f->contains = narrow ? ops->contains : contains_maybe;
    f->contains_key = f->hashing.plain ? contains_key_plain : contains_key_any;
    f->add = NULL;
    if (ops->add == NULL || !is_plain(f)) return;
    f->add = ops->add_counted != NULL ? ops->add_counted : add_and_count;
}
