/* each.c - see each.h */
#include "compat/common/each.h"

size_t tamis__contains_each(const tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                            size_t count, bool *answers) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tamis__hash h = {lo[i], hi == NULL ? 0 : hi[i]};
        const bool maybe = tamis__filter_contains(f, h);
        if (answers != NULL) answers[i] = maybe;
        found += maybe;
    }
    return found;
}

tamis_status tamis__add_each(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, size_t count,
                             bool *fresh, size_t *done) {
    tamis_status status = TAMIS_OK;
    for (*done = 0; *done < count; ++*done) {
        const struct tamis__hash h = {lo[*done], hi == NULL ? 0 : hi[*done]};
        status = tamis__filter_add_one(f, h, fresh == NULL ? NULL : fresh + *done);
        if (status != TAMIS_OK) break;
    }
    return status;
}

bool tamis__match_contains(const tamis_filter *f, uint64_t hash) {
    (void)f, (void)hash;
    return true;
}

const struct tamis__ops tamis__match_all = {
    .path = "portable",
    .contains = tamis__match_contains,
    .contains_batch = tamis__contains_each,
};
