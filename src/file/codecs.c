/* codecs.c - see codecs.h */
#include "file/codecs.h"

#include <string.h>

#include "compat/registry.h"
#include "file/native.h"

const struct tamis__codec *tamis__codec_at(size_t index) {
    return index == 0 ? &tamis__native : tamis__compat_codec_at(index - 1);
}

const struct tamis__codec *tamis__codec_find(const char *name) {
    const size_t length = strcspn(name, ":");
    const struct tamis__codec *codec;
    for (size_t i = 0; (codec = tamis__codec_at(i)) != NULL; i++) {
        if (strlen(codec->name) == length && memcmp(codec->name, name, length) == 0) return codec;
    }
    return NULL;
}

const struct tamis__codec *tamis__codec_detect(const uint8_t *bytes, uint64_t length) {
    const struct tamis__codec *codec, *certain = NULL;
    for (size_t i = 0; (codec = tamis__codec_at(i)) != NULL; i++) {
        if (tamis__compat_detect(codec, bytes, length) != TAMIS__CERTAIN) continue;
        if (codec == &tamis__native) return codec;
        if (certain != NULL) return NULL; /* two match: the user must choose */
        certain = codec;
    }
    return certain;
}

const struct tamis__codec *tamis__codec_of(const tamis_filter *f) {
    return f->settings.codec == NULL ? &tamis__native : f->settings.codec;
}
