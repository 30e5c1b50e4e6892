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
 *                                             would pass; or checks, add and count
 *
 * A key that the filter cannot hash is "possibly in the set": false would be a promise. */
#include "filter/codec.h"
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

tamis_status tamis__filter_can_add(const tamis_filter *f) {
    if (f == NULL) return TAMIS_E_ARGUMENT;
    if (f->ops->add_batch == NULL) {
        return (f->family->caps & TAMIS_IS_STATIC) != 0 ? TAMIS_E_STATIC : TAMIS_E_UNSUPPORTED;
    }
    return tamis__filter_is_readonly(f) ? TAMIS_E_READONLY : TAMIS_OK;
}

bool tamis__filter_counts_fresh(const tamis_filter *f) {
    return f->settings.codec != NULL && (f->settings.codec->flags & TAMIS__COUNTS_FRESH) != 0;
}

/* Counts a key only if it changed the filter. */
static tamis_status add_if_fresh(tamis_filter *f, struct tamis__hash h, bool *fresh) {
    bool was_new = false;
    const tamis_status status = tamis__filter_add_one(f, h, &was_new);
    if (status != TAMIS_OK) return status;
    if (fresh != NULL) *fresh = was_new;
    tamis__filter_count_adds(f, was_new);
    return TAMIS_OK;
}

tamis_status tamis__filter_add_key(tamis_filter *f, struct tamis__hash h, bool *fresh) {
    if (TAMIS_UNLIKELY(tamis__filter_counts_fresh(f))) return add_if_fresh(f, h, fresh);
    const tamis_status status = tamis__filter_add_one(f, h, fresh);
    if (TAMIS_LIKELY(status == TAMIS_OK)) tamis__filter_count_adds(f, 1);
    return status;
}

static tamis_status add_checked(tamis_filter *f, uint64_t hash, bool *fresh) {
    const tamis_status status = tamis__filter_can_add(f);
    if (status != TAMIS_OK) return status;
    if (!tamis__filter_takes_hashes(f)) return TAMIS_E_UNSUPPORTED;
    return tamis__filter_add_key(f, (struct tamis__hash){hash, 0}, fresh);
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
    f->add = add_checked;
    if (ops->add == NULL || !is_plain(f)) return;
    f->add = ops->add_counted != NULL ? ops->add_counted : add_and_count;
}
