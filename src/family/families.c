/* families.c - the only file that names every family */
#include <string.h>

#include "filter/family.h"

extern const struct tamis__family tamis__bloom, tamis__block, tamis__counting, tamis__cuckoo,
    tamis__xor, tamis__fuse, tamis__ribbon, tamis__growing;

static const struct tamis__family *const families[] = {
    &tamis__bloom, &tamis__block, &tamis__counting, &tamis__cuckoo,
    &tamis__xor,   &tamis__fuse,  &tamis__ribbon,   &tamis__growing,
};

const struct tamis__family *tamis__family_at(size_t index) {
    return index < sizeof families / sizeof *families ? families[index] : NULL;
}

const struct tamis__family *tamis__family_of(tamis_kind kind) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (families[i]->kind == kind) return families[i];
    }
    return NULL;
}
