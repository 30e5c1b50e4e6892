/* formats.c - entry points: the list of formats, detection, and the format of a filter */
#include <string.h>

#include "api/api.h"
#include "compat/registry.h"
#include "file/codecs.h"
#include "file/native.h"

/* The container formats that do not share the name of a codec, by index. */
static const struct tamis__container_format *container_at(size_t index) {
    const struct tamis__container_format *f;
    for (size_t i = 0; (f = tamis__container_format_at(i)) != NULL; i++) {
        if (tamis__codec_find(f->name) == NULL && index-- == 0) return f;
    }
    return NULL;
}

const char *tamis_format_at(size_t index) {
    size_t codecs = 0;
    while (tamis__codec_at(codecs) != NULL) codecs++;
    if (index < codecs) return tamis__codec_at(index)->name;
    const struct tamis__container_format *container = container_at(index - codecs);
    return container == NULL ? NULL : container->name;
}

const char *tamis_format_description(const char *name) {
    const struct tamis__codec *codec = name == NULL ? NULL : tamis__codec_find(name);
    if (codec != NULL || name == NULL) return codec == NULL ? NULL : codec->about;
    const struct tamis__container_format *container;
    for (size_t i = 0; (container = container_at(i)) != NULL; i++) {
        if (strcmp(name, container->name) == 0) return container->about;
    }
    return NULL;
}

const char *tamis_format_parameters(const char *name) {
    const struct tamis__codec *codec = name == NULL ? NULL : tamis__codec_find(name);
    if (codec == NULL) return tamis_format_description(name) == NULL ? NULL : "";
    return codec->parameters == NULL ? "" : codec->parameters;
}

bool tamis_format_can_create(const char *name) {
    const struct tamis__codec *codec = name == NULL ? NULL : tamis__codec_find(name);
    return codec != NULL && (codec == &tamis__native || codec->make != NULL);
}

/* Containers have a magic number and come first. */
const char *tamis_format_detect(const void *bytes, size_t length, size_t index) {
    if (bytes == NULL) return NULL;
    const struct tamis__container_format *container = tamis__container_detect(NULL, bytes, length);
    if (container != NULL && index-- == 0) return container->name;
    for (int certainty = TAMIS__CERTAIN; certainty >= TAMIS__POSSIBLE; certainty--) {
        for (size_t i = 0; tamis__codec_at(i) != NULL; i++) {
            const struct tamis__codec *codec = tamis__codec_at(i);
            if ((int)tamis__compat_detect(codec, bytes, length) == certainty && index-- == 0)
                return codec->name;
        }
    }
    return NULL;
}

const char *tamis_reformat_reason(const tamis_filter *filter, const char *format) {
    const struct tamis__codec *codec = format == NULL ? NULL : tamis__codec_find(format);
    if (filter == NULL || codec == NULL) return "there is no such format";
    if (strchr(format, ':') != NULL) return "parameters apply only when a filter is created";
    return tamis__compat_reason(codec, filter);
}

tamis_status tamis_reformat(tamis_filter *filter, const char *format) {
    if (filter == NULL || format == NULL) return TAMIS_E_ARGUMENT;
    const struct tamis__codec *codec = tamis__codec_find(format);
    if (codec == NULL) return TAMIS_E_ARGUMENT;
    if (tamis_reformat_reason(filter, format) != NULL) return TAMIS_E_CONVERT;
    filter->settings.codec = codec == &tamis__native ? NULL : codec;
    return TAMIS_OK;
}
