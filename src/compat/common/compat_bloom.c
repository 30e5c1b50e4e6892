/* compat_bloom.c - see compat_bloom.h */
#include "compat/common/compat_bloom.h"

bool tamis__compat_bloom_check(const struct tamis__shape *shape, uint64_t unit) {
    const uint64_t bits = shape->word[BITS], hashes = shape->word[HASHES];
    if (bits > TAMIS__COMPAT_BITS_MAX || hashes > TAMIS__COMPAT_HASHES_MAX) return false;
    if ((bits == 0 && hashes != 0) || bits % unit != 0) return false;
    return shape->table_bytes >= tamis__div_up(bits, 8) &&
           shape->table_bytes <= tamis__div_up(bits, 64) * 8;
}

void tamis__compat_bloom_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    traits->hashes = (uint32_t)shape->word[HASHES];
    traits->cache_lines = traits->hashes < 2 ? 1 : 2;
}

/* ---- double hashing in 32 bits */

TAMIS_TEMPLATE struct tamis__probe wrap32_first(struct tamis__hash h) {
    return (struct tamis__probe){(uint32_t)h.lo, h.lo >> 32, 0};
}
TAMIS_TEMPLATE uint64_t wrap32_next(struct tamis__probe *p, uint64_t bits) {
    const uint32_t x = (uint32_t)p->x;
    p->x += p->y;
    return x % bits;
}
static const struct tamis__probe_rule wrap32_rule = {wrap32_first, wrap32_next, .words = false};
COMPAT_BLOOM(BLOOM_INSTANCE, wrap32, &wrap32_rule, 1, &tamis__match_all)
const struct tamis__family tamis__bloom_wrap32 = COMPAT_BLOOM_FAMILY(wrap32, 1);

TAMIS_TEMPLATE struct tamis__probe fold32_first(struct tamis__hash h) {
    return (struct tamis__probe){(uint32_t)h.lo + (h.lo >> 32), h.lo >> 32, 0};
}
TAMIS_TEMPLATE uint64_t fold32_next(struct tamis__probe *p, uint64_t bits) {
    const uint32_t x = (uint32_t)p->x;
    p->x += p->y;
    return (x >> 31 != 0 ? ~x : x) % bits ^ TAMIS__BIG_ENDIAN_BIT;
}
static const struct tamis__probe_rule fold32_rule = {fold32_first, fold32_next, .words = false};
COMPAT_BLOOM(BLOOM_INSTANCE, fold32, &fold32_rule, 64, &tamis__match_all)
const struct tamis__family tamis__bloom_fold32 = COMPAT_BLOOM_FAMILY(fold32, 2);
