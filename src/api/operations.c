/* operations.c - entry points: add, remove, query, count and merge
 *
 * They check arguments, hash keys and call the family's operations. */
#include <math.h>
#include <string.h>

#include "api/api.h"
#include "core/bits.h"
#include "file/touched.h"
#include "file/update.h"

/* ------------------------------------------------------------------------ add */

static tamis_status can_remove(const tamis_filter *f) {
    if (f == NULL) return TAMIS_E_ARGUMENT;
    if (f->ops->remove == NULL) return TAMIS_E_NO_REMOVE;
    return tamis__filter_is_readonly(f) ? TAMIS_E_READONLY : TAMIS_OK;
}

static bool takes_bytes(const tamis_filter *f) { return f->hashing.id != TAMIS_HASH_NONE; }

/* Some compatible formats take only 64-bit integers. */
static tamis_status check_key(const tamis_filter *f, const void *key, size_t length) {
    if ((key == NULL && length != 0) || !takes_bytes(f)) return TAMIS_E_ARGUMENT;
    return tamis__hashing_takes(&f->hashing, length) ? TAMIS_OK : TAMIS_E_KEY;
}

static tamis_status check_keys(const tamis_filter *f, const void *const *keys,
                               const size_t *lengths, size_t count) {
    if (count != 0 && (keys == NULL || lengths == NULL)) return TAMIS_E_ARGUMENT;
    if (!takes_bytes(f)) return TAMIS_E_ARGUMENT;
    if (f->hashing.compat == NULL || !f->hashing.compat->integers) return TAMIS_OK;
    for (size_t i = 0; i < count; i++) {
        if (!tamis__hashing_takes(&f->hashing, lengths[i])) return TAMIS_E_KEY;
    }
    return TAMIS_OK;
}

/* Adds a batch and counts it. */
static tamis_status add_group(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, size_t count,
                              bool *fresh, size_t *done) {
    if (!tamis__filter_counts_fresh(f)) {
        const tamis_status status = f->ops->add_batch(f, lo, hi, count, fresh, done);
        tamis__filter_count_adds(f, *done);
        return status;
    }
    tamis_status status = TAMIS_OK;
    for (*done = 0; *done < count && status == TAMIS_OK; *done += status == TAMIS_OK) {
        const struct tamis__hash h = {lo[*done], hi == NULL ? 0 : hi[*done]};
        status = tamis__filter_add_key(f, h, fresh == NULL ? NULL : fresh + *done);
    }
    return status;
}

tamis_status tamis__filter_add(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                               size_t count, size_t *done) {
    return add_group(f, lo, hi, count, NULL, done);
}

tamis_status tamis_add(tamis_filter *filter, const void *key, size_t length, bool *fresh) {
    tamis_status status = tamis__filter_can_add(filter);
    if (status == TAMIS_OK) status = check_key(filter, key, length);
    if (status != TAMIS_OK) return status;
    return tamis__filter_add_key(filter, tamis__hash_key(&filter->hashing, key, length), fresh);
}

tamis_status tamis_add_hash(tamis_filter *filter, uint64_t hash, bool *fresh) {
    return TAMIS_UNLIKELY(filter == NULL) ? TAMIS_E_ARGUMENT : filter->add(filter, hash, fresh);
}

/* Hashes a group of keys.  Returns `hi`, or NULL for our own hashes, which do not use it. */
static uint64_t *hash_group(const tamis_filter *f, const void *const *keys, const size_t *lengths,
                            size_t count, uint64_t *lo, uint64_t *hi) {
    if (f->hashing.compat == NULL) hi = NULL;
    tamis__hash_keys(&f->hashing, f->settings.portable, keys, lengths, count, lo, hi);
    return hi;
}

tamis_status tamis_add_batch(tamis_filter *filter, const void *const *keys, const size_t *lengths,
                             size_t count, bool *fresh, size_t *done) {
    if (done != NULL) *done = 0;
    tamis_status status = tamis__filter_can_add(filter);
    if (status == TAMIS_OK) status = check_keys(filter, keys, lengths, count);
    if (status != TAMIS_OK) return status;
    uint64_t lo[TAMIS__HASHED_AT_ONCE], hi[TAMIS__HASHED_AT_ONCE];
    size_t added = 0, some = 0;
    while (added < count && status == TAMIS_OK) {
        const size_t n =
            count - added < TAMIS__HASHED_AT_ONCE ? count - added : TAMIS__HASHED_AT_ONCE;
        const uint64_t *upper = hash_group(filter, keys + added, lengths + added, n, lo, hi);
        status = add_group(filter, lo, upper, n, fresh == NULL ? NULL : fresh + added, &some);
        added += some;
    }
    if (done != NULL) *done = added;
    return status;
}

tamis_status tamis_add_hash_batch(tamis_filter *filter, const uint64_t *hashes, size_t count,
                                  bool *fresh, size_t *done) {
    if (done != NULL) *done = 0;
    tamis_status status = tamis__filter_can_add(filter);
    if (status != TAMIS_OK) return status;
    if (count != 0 && hashes == NULL) return TAMIS_E_ARGUMENT;
    if (!tamis__filter_takes_hashes(filter)) return TAMIS_E_UNSUPPORTED;
    size_t added = 0;
    status = add_group(filter, hashes, NULL, count, fresh, &added);
    if (done != NULL) *done = added;
    return status;
}

static tamis_status remove_one(tamis_filter *f, uint64_t hash) {
    const tamis_status status = f->ops->remove(f, hash);
    f->seal.set = false; /* `adds` may come to its old value */
    if (status == TAMIS_OK && f->adds != 0) f->adds--;
    return status;
}

/* Removes a key of a batch and returns the status of the batch so far, `batch` before this key:
 * E_ABSENT, unless another error occurred. */
static tamis_status remove_next(tamis_filter *f, uint64_t hash, bool *removed, tamis_status batch) {
    const tamis_status status = remove_one(f, hash);
    if (removed != NULL) *removed = status == TAMIS_OK;
    const bool worse = batch != TAMIS_OK && batch != TAMIS_E_ABSENT;
    return status == TAMIS_OK || worse ? batch : status;
}

tamis_status tamis_remove(tamis_filter *filter, const void *key, size_t length) {
    tamis_status status = can_remove(filter);
    if (status == TAMIS_OK) status = check_key(filter, key, length);
    if (status != TAMIS_OK) return status;
    return remove_one(filter, tamis__hash_key(&filter->hashing, key, length).lo);
}

tamis_status tamis_remove_hash(tamis_filter *filter, uint64_t hash) {
    const tamis_status status = can_remove(filter);
    if (status != TAMIS_OK) return status;
    if (!tamis__filter_takes_hashes(filter)) return TAMIS_E_UNSUPPORTED;
    return remove_one(filter, hash);
}

tamis_status tamis_remove_batch(tamis_filter *filter, const void *const *keys,
                                const size_t *lengths, size_t count, bool *removed) {
    tamis_status status = can_remove(filter);
    if (status == TAMIS_OK) status = check_keys(filter, keys, lengths, count);
    if (status != TAMIS_OK) return status;
    for (size_t i = 0; i < count; i++) {
        const uint64_t hash = tamis__hash_key(&filter->hashing, keys[i], lengths[i]).lo;
        status = remove_next(filter, hash, removed == NULL ? NULL : removed + i, status);
    }
    return status;
}

tamis_status tamis_remove_hash_batch(tamis_filter *filter, const uint64_t *hashes, size_t count,
                                     bool *removed) {
    tamis_status status = can_remove(filter);
    if (status != TAMIS_OK) return status;
    if (count != 0 && hashes == NULL) return TAMIS_E_ARGUMENT;
    if (!tamis__filter_takes_hashes(filter)) return TAMIS_E_UNSUPPORTED;
    for (size_t i = 0; i < count; i++) {
        status = remove_next(filter, hashes[i], removed == NULL ? NULL : removed + i, status);
    }
    return status;
}

/* ---------------------------------------------------------------------- query */

bool tamis_contains(const tamis_filter *filter, const void *key, size_t length) {
    assert(filter != NULL && (key != NULL || length == 0));
    return filter->contains_key(filter, key, length);
}

bool tamis_contains_hash(const tamis_filter *filter, uint64_t hash) {
    assert(filter != NULL);
    return filter->contains(filter, hash);
}

void tamis_prefetch_hash(const tamis_filter *filter, uint64_t hash) {
    assert(filter != NULL);
    if (filter->family->prefetch != NULL) filter->family->prefetch(filter, hash);
}

static size_t answer_maybe(size_t count, bool *answers) {
    for (size_t i = 0; answers != NULL && i < count; i++) answers[i] = true;
    return count;
}

/* Sets the answers of keys that the filter cannot hash to true; returns how many changed.  They
 * were hashed as the integer 0. */
static size_t not_keys(const tamis_filter *f, const size_t *lengths, size_t count, bool *answers) {
    const bool answered = tamis__filter_contains(f, (struct tamis__hash){0, 0});
    size_t corrected = 0;
    for (size_t i = 0; i < count; i++) {
        if (tamis__hashing_takes(&f->hashing, lengths[i])) continue;
        corrected += !answered;
        if (answers != NULL) answers[i] = true;
    }
    return corrected;
}

size_t tamis_contains_batch(const tamis_filter *filter, const void *const *keys,
                            const size_t *lengths, size_t count, bool *answers) {
    assert(filter != NULL && ((keys != NULL && lengths != NULL) || count == 0));
    if (TAMIS_UNLIKELY(!takes_bytes(filter))) return answer_maybe(count, answers);
    uint64_t lo[TAMIS__HASHED_AT_ONCE], hi[TAMIS__HASHED_AT_ONCE];
    size_t found = 0;
    for (size_t at = 0; at < count; at += TAMIS__HASHED_AT_ONCE) {
        const size_t n = count - at < TAMIS__HASHED_AT_ONCE ? count - at : TAMIS__HASHED_AT_ONCE;
        const uint64_t *upper = hash_group(filter, keys + at, lengths + at, n, lo, hi);
        found += filter->ops->contains_batch(filter, lo, upper, n,
                                             answers == NULL ? NULL : answers + at);
        if (TAMIS_UNLIKELY(check_keys(filter, keys + at, lengths + at, n) != TAMIS_OK)) {
            found += not_keys(filter, lengths + at, n, answers == NULL ? NULL : answers + at);
        }
    }
    return found;
}

size_t tamis_contains_hash_batch(const tamis_filter *filter, const uint64_t *hashes, size_t count,
                                 bool *answers) {
    assert(filter != NULL && (hashes != NULL || count == 0));
    if (TAMIS_UNLIKELY(!tamis__filter_takes_hashes(filter))) return answer_maybe(count, answers);
    return filter->ops->contains_batch(filter, hashes, NULL, count, answers);
}

/* ---------------------------------------------------------------------- count */

tamis_status tamis_set_adds(tamis_filter *filter, uint64_t adds) {
    if (filter == NULL) return TAMIS_E_ARGUMENT;
    if (tamis__filter_is_readonly(filter)) return TAMIS_E_READONLY;
    filter->adds = adds;
    filter->seal.set = false;
    return TAMIS_OK;
}

/* Copies of a key; 1, "possibly", if it cannot be known because the table is damaged. */
static unsigned count_one(const tamis_filter *f, struct tamis__hash h) {
    if (f->touched != NULL && !tamis__touched_ready(f, h.lo)) return 1;
    return f->family->count == NULL ? tamis__filter_contains(f, h) : f->family->count(f, h.lo);
}

unsigned tamis_count(const tamis_filter *filter, const void *key, size_t length) {
    assert(filter != NULL && (key != NULL || length == 0));
    if (!takes_bytes(filter) || !tamis__hashing_takes(&filter->hashing, length)) return 1;
    return count_one(filter, tamis__hash_key(&filter->hashing, key, length));
}

unsigned tamis_count_hash(const tamis_filter *filter, uint64_t hash) {
    assert(filter != NULL);
    return tamis__filter_takes_hashes(filter) ? count_one(filter, (struct tamis__hash){hash, 0})
                                              : 1;
}

/* ---------------------------------------------------------------------- merge */

/* A compatible format's table is padded to whole words if it comes from a .tamis file; otherwise it
 * may end at any byte. */
static bool same_shape(const tamis_filter *a, const tamis_filter *b) {
    struct tamis__shape x = a->shape, y = b->shape;
    x.table_bytes = tamis__div_up(x.table_bytes, 8);
    y.table_bytes = tamis__div_up(y.table_bytes, 8);
    return memcmp(&x, &y, sizeof x) == 0;
}

/* Do both make the same key of a record?  Otherwise the keys of one would be missed when records
 * are looked up as those of the other. */
static bool same_form(const tamis_key_form *a, const tamis_key_form *b) {
    return a->flags == b->flags && a->type == b->type && a->field == b->field &&
           a->separator_length == b->separator_length &&
           memcmp(a->separator, b->separator, a->separator_length) == 0;
}

/* After an intersection: the number of keys is not known, but it is at most that of each filter,
 * and at most the number that the table shows. */
static void limit_adds(tamis_filter *f, uint64_t limit) {
    struct tamis__state state;
    f->family->state(f, &state);
    const double shown = ceil(state.distinct + TAMIS__SIGMAS * state.distinct_error);
    if (shown < (double)limit) limit = (uint64_t)shown;
    if (limit < f->adds) f->adds = limit;
}

tamis_status tamis_merge(tamis_filter *into, const tamis_filter *from, tamis_merge_mode mode) {
    if (into == NULL || from == NULL) return TAMIS_E_ARGUMENT;
    if (mode != TAMIS_UNION && mode != TAMIS_INTERSECTION) return TAMIS_E_ARGUMENT;
    if (into->settings.pages != NULL) return tamis__storage_merge(into, from, mode);
    const uint32_t needed = mode == TAMIS_UNION ? TAMIS_CAN_UNION : TAMIS_CAN_INTERSECT;
    if ((into->family->caps & needed) == 0) return TAMIS_E_NO_MERGE;
    if (tamis__filter_is_readonly(into)) return TAMIS_E_READONLY;
    if (into->family != from->family || into->settings.codec != from->settings.codec ||
        !same_shape(into, from) || !tamis__hashing_equal(&into->hashing, &from->hashing) ||
        !same_form(&into->settings.form, &from->settings.form)) {
        return TAMIS_E_MISMATCH;
    }
    if (into == from && mode == TAMIS_INTERSECTION) return TAMIS_OK;
    tamis_status status = tamis__filter_trust(from);
    if (status == TAMIS_OK) status = tamis__seal_verify(into);
    if (status != TAMIS_OK) return status;
    const uint64_t adds = from->adds;
    into->seal.set = false;
    if (into->update != NULL) tamis__update_all(into);
    status = into->family->merge(into, from, mode);
    if (status != TAMIS_OK) return status;
    if (mode == TAMIS_UNION) {
        into->adds += adds;
    } else {
        limit_adds(into, adds);
    }
    return TAMIS_OK;
}
