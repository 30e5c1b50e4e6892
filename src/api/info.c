/* info.c - entry points: what a filter is and holds */
#include <stddef.h>
#include <string.h>

#include "api/api.h"
#include "file/codecs.h"

/* `count`: read the whole table if that is needed to count the keys. */
static void fill_facts(const tamis_filter *f, tamis_facts *facts, bool count) {
    struct tamis__state state = {.stages = 1};
    struct tamis__traits traits = {0};
    if (count || (f->family->caps & TAMIS_IS_STATIC) != 0) f->family->state(f, &state);
    f->family->traits(&f->shape, &traits);
    facts->kind = f->family->kind;
    facts->format = tamis__codec_of(f)->name;
    facts->caps = f->family->caps;
    facts->readonly = tamis__filter_is_readonly(f);
    if (facts->readonly) facts->caps &= TAMIS_IS_STATIC;
    facts->capacity = state.capacity != 0 ? state.capacity : f->capacity;
    facts->adds = f->adds;
    facts->distinct = state.distinct;
    facts->distinct_error = state.distinct_error;
    facts->table_bytes =
        f->family->export_bytes == NULL ? f->shape.table_bytes : f->family->export_bytes(f);
    facts->encoded_bytes = tamis_encoded_size(f);
    const double keys = state.distinct >= 1 ? state.distinct : (double)facts->capacity;
    facts->bits_per_key = keys >= 1 ? (double)facts->encoded_bytes * 8 / keys : 0;
    facts->hashes = traits.hashes;
    facts->width = traits.width;
    facts->stages = state.stages;
    facts->fill = state.fill;
    facts->fpr_target = f->fpr;
    facts->fpr_now = state.fpr_now;
    facts->hasher = f->hashing.id;
    facts->seed = f->hashing.seed;
    facts->key_id = f->hashing.key_id;
    facts->keyed = f->hashing.id == TAMIS_HASH_SIP24;
    facts->prehashed = tamis__filter_takes_hashes(f);
    facts->path = f->ops->path;
    facts->form = f->settings.form;
    const struct tamis__codec *codec = tamis__codec_of(f);
    facts->note = codec->note == NULL ? NULL : codec->note(f);
    facts->hash = tamis__hashing_name(&f->hashing);
    facts->key_bytes = f->hashing.compat != NULL && f->hashing.compat->integers ? 8 : 0;
}

/* A filter is over capacity when its false positive rate exceeds the target. */
static void check_capacity(const tamis_filter *f, tamis_facts *facts) {
    const double room = (double)facts->capacity - facts->distinct;
    facts->over_capacity = facts->fpr_target > 0 && facts->fpr_now > facts->fpr_target;
    /* Other systems size for the mean, so half of all full filters are a little above the target.
     * In a small, nearly saturated table the estimate of keys has a large error; but n keys whose
     * bits all differ look like 1.7 n at most, or 2 n with one probe too many. */
    if (f->shape.layout != 0) {
        facts->over_capacity &= room < -TAMIS__SIGMAS * facts->distinct_error ||
                                facts->distinct > 2 * (double)facts->capacity + 8;
    }
    if ((f->family->caps & TAMIS_CAN_GROW) != 0) {
        facts->headroom = UINT64_MAX;
    } else if ((f->family->caps & TAMIS_IS_STATIC) == 0 && room >= 1 && !facts->over_capacity) {
        facts->headroom =
            room < 0x1p64 ? (uint64_t)room : UINT64_MAX; /* a file may contain any number */
    }
}

static tamis_status copy_facts(const tamis_filter *f, tamis_facts *facts, bool count) {
    if (f == NULL || facts == NULL) return TAMIS_E_ARGUMENT;
    tamis_facts all = {0};
    fill_facts(f, &all, count);
    if (count) check_capacity(f, &all);
    return tamis__struct_copy(facts, facts->struct_size, offsetof(tamis_facts, form), &all,
                              sizeof all);
}

tamis_status tamis_info(const tamis_filter *filter, tamis_facts *facts) {
    return copy_facts(filter, facts, true);
}

tamis_status tamis_info_brief(const tamis_filter *filter, tamis_facts *facts) {
    return copy_facts(filter, facts, false);
}
