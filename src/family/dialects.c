/* dialects.c - the only file that names the families of other systems' layouts */
#include "family/scheme.h"

extern const struct tamis__family tamis__bloom_foreign, tamis__block_foreign, tamis__ribbon_foreign,
    tamis__growing_foreign, tamis__cuckoo_foreign, tamis__cuckoo_quartet, tamis__xor_foreign,
    tamis__fuse_foreign;

/* The schemes of one family are neighbours. */
static const struct {
    uint32_t first, last;
    const struct tamis__family *family;
} dialects[] = {
    {TAMIS__SCHEME_WRAP32, TAMIS__SCHEME_DCSO, &tamis__bloom_foreign},
    {TAMIS__SCHEME_SPLIT, TAMIS__SCHEME_LEGACY_LINE, &tamis__block_foreign},
    {TAMIS__SCHEME_RIBBON128, TAMIS__SCHEME_RIBBON128, &tamis__ribbon_foreign},
    {TAMIS__SCHEME_CHAIN, TAMIS__SCHEME_CHAIN, &tamis__growing_foreign},
    {TAMIS__SCHEME_SUBTABLES, TAMIS__SCHEME_SUBTABLES, &tamis__cuckoo_foreign},
    {TAMIS__SCHEME_QUARTET, TAMIS__SCHEME_QUARTET, &tamis__cuckoo_quartet},
    {TAMIS__SCHEME_FASTFILTER, TAMIS__SCHEME_FASTFILTER, &tamis__xor_foreign},
    {TAMIS__SCHEME_FASTFILTER, TAMIS__SCHEME_FASTFILTER, &tamis__fuse_foreign},
};

const struct tamis__family *tamis__dialect_of(tamis_kind kind, uint32_t scheme) {
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        if (scheme >= dialects[i].first && scheme <= dialects[i].last &&
            dialects[i].family->kind == kind) {
            return dialects[i].family;
        }
    }
    return NULL;
}
