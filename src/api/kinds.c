/* kinds.c - entry points: the kinds of filters */
#include <string.h>

#include "filter/family.h"

tamis_kind tamis_kind_next(tamis_kind kind) {
    for (size_t i = 0; tamis__family_at(i) != NULL; i++) {
        if (tamis__family_at(i)->kind > kind) return tamis__family_at(i)->kind;
    }
    return TAMIS_AUTO;
}

const char *tamis_kind_name(tamis_kind kind) {
    const struct tamis__family *family = tamis__family_of(kind);
    return family == NULL ? NULL : family->name;
}

const char *tamis_kind_description(tamis_kind kind) {
    switch (kind) {
#define X(name, value, text, description) \
    case TAMIS_##name:                    \
        return description;
        TAMIS_KIND_MAP(X)
#undef X
        default:
            return NULL;
    }
}

tamis_kind tamis_kind_find(const char *name) {
    for (size_t i = 0; name != NULL && tamis__family_at(i) != NULL; i++) {
        if (strcmp(tamis__family_at(i)->name, name) == 0) return tamis__family_at(i)->kind;
    }
    return TAMIS_AUTO;
}

uint32_t tamis_kind_caps(tamis_kind kind) {
    const struct tamis__family *family = tamis__family_of(kind);
    return family == NULL ? 0 : family->caps;
}
