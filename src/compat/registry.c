/* registry.c - the only file that names every system */
#include "compat/registry.h"

/* In the order in which formats are listed.  TAMIS_NO_COMPAT leaves them all out. */
#if defined(TAMIS_NO_COMPAT)
#define SYSTEMS(X)
#else
#define SYSTEMS(X) \
    X(guava)       \
    X(leveldb)     \
    X(spark)       \
    X(dcso)        \
    X(libbloom)    \
    X(parquet)     \
    X(rocksdb)     \
    X(redisbloom)  \
    X(seiflotfy)   \
    X(fastfilter)
#endif

#define DECLARE(name) extern const struct tamis__system tamis__system_##name;
#define ADDRESS(name) &tamis__system_##name,

SYSTEMS(DECLARE)

static const struct tamis__system *const systems[] = {SYSTEMS(ADDRESS) NULL};

const struct tamis__system *tamis__system_at(size_t index) {
    return index < sizeof systems / sizeof *systems ? systems[index] : NULL;
}

const struct tamis__codec *tamis__compat_codec_at(size_t index) {
    for (size_t i = 0; systems[i] != NULL; i++) {
        for (const struct tamis__codec *const *codec = systems[i]->codecs; *codec != NULL;
             codec++) {
            if (index-- == 0) return *codec;
        }
    }
    return NULL;
}

const struct tamis__container_format *tamis__container_format_at(size_t index) {
    for (size_t i = 0; systems[i] != NULL; i++) {
        if (systems[i]->container != NULL && index-- == 0) return systems[i]->container;
    }
    return NULL;
}

const struct tamis__family *tamis__compat_family_of(tamis_kind kind, uint32_t layout) {
    for (size_t i = 0; systems[i] != NULL; i++) {
        for (const struct tamis__family *const *f = systems[i]->families; *f != NULL; f++) {
            if ((*f)->kind == kind && (*f)->layout == layout) return *f;
        }
    }
    return NULL;
}

const struct tamis__compat_hash *tamis__compat_hash_of(unsigned id) {
    for (size_t i = 0; systems[i] != NULL; i++) {
        for (const struct tamis__compat_hash *const *h = systems[i]->hashes; *h != NULL; h++) {
            if ((*h)->id == id) return *h;
        }
    }
    return NULL;
}
