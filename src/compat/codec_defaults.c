/* codec_defaults.c - the functions of a codec, with the defaults of those that are NULL */
#include <string.h>

#include "compat/parameters.h"
#include "compat/registry.h"

struct tamis__contents tamis__compat_contents(const struct tamis__codec *codec) {
    struct tamis__contents contents = {.family = codec->family};
    if (codec->hash != NULL) tamis__hashing_compat(&contents.hashing, codec->hash, 0);
    return contents;
}

tamis_status tamis__length_status(uint64_t length, uint64_t expected) {
    return length < expected ? TAMIS_E_TRUNCATED : length > expected ? TAMIS_E_TRAILING : TAMIS_OK;
}

/* No bytes have an address for the codecs, so that they may add 0 to it. */
static const uint8_t no_bytes[1] = {0};

enum tamis__detection tamis__compat_detect(const struct tamis__codec *codec, const uint8_t *bytes,
                                           uint64_t length) {
    if (length == 0) bytes = no_bytes;
    if (codec->detect != NULL) return codec->detect(codec, bytes, length);
    struct tamis__decoding d = {.codec = codec, .contents = tamis__compat_contents(codec)};
    const bool own = codec->decode(bytes, length, &d) == TAMIS_OK && d.codec == codec;
    return own ? TAMIS__CERTAIN : TAMIS__NO_MATCH;
}

tamis_status tamis__compat_decode(const uint8_t *bytes, uint64_t length,
                                  const struct tamis__settings *settings, const char *format,
                                  tamis_filter **out) {
    const char *colon = format == NULL ? NULL : strchr(format, ':');
    struct tamis__decoding d = {.codec = settings->codec,
                                .parameters = colon == NULL ? NULL : colon + 1,
                                .allocator = settings->allocator,
                                .contents = tamis__compat_contents(settings->codec)};
    struct tamis__settings own = *settings;
    if (colon != NULL && !tamis__parameters_known(d.parameters, d.codec->parameters)) {
        return TAMIS_E_ARGUMENT;
    }
    if (length == 0) bytes = no_bytes;
    const tamis_status status = d.codec->decode(bytes, length, &d);
    own.codec = d.codec;
    return status == TAMIS_OK ? tamis__filter_make(&d.contents, &own, out) : status;
}

tamis_status tamis__compat_make(const struct tamis__spec *spec, struct tamis__contents *contents) {
    *contents = tamis__compat_contents(spec->codec);
    return spec->codec->make(spec, contents);
}

const char *tamis__compat_reason(const struct tamis__codec *codec, const tamis_filter *f) {
    const bool fits = f->family == codec->family && f->hashing.compat == codec->hash;
    if (codec->family != NULL && !fits) return codec->refusal;
    const char *other = codec->reason == NULL ? NULL : codec->reason(codec, f);
    if (other != NULL || codec->holds == NULL || codec->holds(f)) return other;
    return "its parameters exceed the limits of this format";
}
