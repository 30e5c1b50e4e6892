/* codecs.h - every codec: the .tamis format and the compatible formats */
#ifndef TAMIS_FILE_CODECS_H
#define TAMIS_FILE_CODECS_H

#include "filter/codec.h"

/* The codecs in order, our own first; NULL at the end. */
const struct tamis__codec *tamis__codec_at(size_t index);
/* The codec of that name (up to a colon), or the only one that is certain of the bytes; NULL if
 * there is none. */
const struct tamis__codec *tamis__codec_find(const char *name);
const struct tamis__codec *tamis__codec_detect(const uint8_t *bytes, uint64_t length);

/* The codec of a filter: f->settings.codec or our own. */
const struct tamis__codec *tamis__codec_of(const tamis_filter *f);

#endif
