/* codecs.c - the only file that names every codec */
#include <string.h>

#include "format/format.h"

extern const struct tamis__codec tamis__guava, tamis__guava32, tamis__leveldb, tamis__spark1,
    tamis__spark2, tamis__dcso, tamis__libbloom, tamis__libbloom1, tamis__parquet, tamis__rocksdb,
    tamis__redisbloom, tamis__redisbloom_dump, tamis__seiflotfy, tamis__xor8, tamis__xor16,
    tamis__fuse8, tamis__fuse16, tamis__xor8_pack, tamis__xor16_pack, tamis__fuse8_pack,
    tamis__fuse16_pack;

static const struct tamis__codec *const codecs[] = {
    &tamis__native,          &tamis__guava,       &tamis__guava32,   &tamis__leveldb,
    &tamis__spark1,          &tamis__spark2,      &tamis__dcso,      &tamis__libbloom,
    &tamis__libbloom1,       &tamis__parquet,     &tamis__rocksdb,   &tamis__redisbloom,
    &tamis__redisbloom_dump, &tamis__seiflotfy,   &tamis__xor8,      &tamis__xor16,
    &tamis__fuse8,           &tamis__fuse16,      &tamis__xor8_pack, &tamis__xor16_pack,
    &tamis__fuse8_pack,      &tamis__fuse16_pack,
};

const struct tamis__codec *tamis__codec_at(size_t index) {
    return index < sizeof codecs / sizeof *codecs ? codecs[index] : NULL;
}

const struct tamis__codec *tamis__codec_find(const char *name) {
    const size_t length = strcspn(name, ":");
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        if (strlen(codecs[i]->name) == length && memcmp(codecs[i]->name, name, length) == 0) {
            return codecs[i];
        }
    }
    return NULL;
}

const struct tamis__codec *tamis__codec_detect(const uint8_t *bytes, uint64_t length) {
    const struct tamis__codec *sure = NULL;
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        if (codecs[i]->detect(bytes, length) != TAMIS__SURE) continue;
        if (codecs[i] == &tamis__native) return codecs[i];
        if (sure != NULL) return NULL; /* two are: the user must say */
        sure = codecs[i];
    }
    return sure;
}

const struct tamis__codec *tamis__codec_of(const tamis_filter *f) {
    return f->codec == NULL ? &tamis__native : f->codec;
}
