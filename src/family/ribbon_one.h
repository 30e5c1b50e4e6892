/* ribbon_one.h - what the x86-64 batches of a ribbon filter of one shard share
 *
 * Vectors locate several keys at a time in layer 0.  Keys that were bumped are located again, one
 * by one, layer by layer. */
#ifndef TAMIS_FAMILY_RIBBON_ONE_H
#define TAMIS_FAMILY_RIBBON_ONE_H

#include "family/ribbon.h"

/* A shard with more segments than its intended size has takes the other path. */
#define RIBBON_ONE_SEGMENTS_LG_MAX 5

/* A filter of one shard: the numbers of its layer 0. */
struct one_shard {
    const struct tamis__ribbon_shard *shard;
    struct tamis__ribbon_form form;
    uint64_t threshold[1 << RIBBON_ONE_SEGMENTS_LG_MAX];
};

/* Located keys, as tamis__ribbon_location, but as one array per field, as vectors write them. */
struct locations {
    uint64_t block[TAMIS__RIBBON_AHEAD], hash[TAMIS__RIBBON_AHEAD];
    uint64_t columns[TAMIS__RIBBON_AHEAD], shift[TAMIS__RIBBON_AHEAD];
};

/* False if the filter does not fit: the vectors' products have 32 bits. */
TAMIS_TEMPLATE bool one_shard_of(const tamis_filter *filter, struct one_shard *one) {
    const struct tamis__ribbon *f = (const struct tamis__ribbon *)(const void *)filter;
    const struct tamis__ribbon_layer *layer = &f->shards[0].layer[0];
    if (f->base.lg_shards != 0 || layer->slots == 0) return false;
    if (layer->lg_segments > RIBBON_ONE_SEGMENTS_LG_MAX) return false;
    *one =
        (struct one_shard){.shard = &f->shards[0], .form = tamis__ribbon_form_of(&filter->shape)};
    for (size_t i = 0; i >> layer->lg_segments == 0; i++) one->threshold[i] = layer->thresholds[i];
    return true;
}

/* Locates the keys from index `at` on again that were bumped: a bit for each. */
TAMIS_TEMPLATE void locate_bumped(const struct one_shard *f, unsigned bumped, struct locations *to,
                                  size_t at) {
    for (; bumped != 0; bumped &= bumped - 1) {
        const size_t i = at + tamis__ctz(bumped);
        const struct tamis__ribbon_location location =
            tamis__ribbon_locate_deep(f->shard, f->form, to->hash[i]);
        to->block[i] = (uint64_t)(uintptr_t)location.block;
        to->hash[i] = location.hash;
        to->columns[i] = location.columns;
        to->shift[i] = location.shift;
    }
}

TAMIS_TEMPLATE void prefetch_located(const struct locations *l, size_t i) {
    const struct tamis__ribbon_location location = {(const uint8_t *)(uintptr_t)l->block[i], 0,
                                                    (uint32_t)l->columns[i], 0};
    if (location.block != NULL) tamis__ribbon_prefetch(&location);
}

#endif
