/* redisbloom.h - what the two formats of RedisBloom's filters share */
#ifndef TAMIS_FORMAT_REDISBLOOM_H
#define TAMIS_FORMAT_REDISBLOOM_H

#include "format/format.h"

/* The image of a table of so many bytes, of a chain with these options or a cuckoo filter. */
void tamis__redis_image(uint32_t scheme, uint32_t options, uint64_t bytes,
                        struct tamis__image *image);
tamis_status tamis__redis_make(const struct tamis__recipe *recipe, struct tamis__image *image);
const char *tamis__redis_refuse(const tamis_filter *f);

#endif
