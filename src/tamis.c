/* tamis.c - the public entry points: check arguments, dispatch; no algorithm */
#include "tamis.h"

#include <math.h>
#include <string.h>

#include "core/bits.h"
#include "core/bytes.h"
#include "family/family.h"
#include "filter.h"
#include "format/format.h"
#include "hash/composer.h"
#include "plan/plan.h"

#define GROUP 1024 /* byte keys that are hashed together; with 256 `block` took 6 % longer */

/* --------------------------------------------------------------------- kinds */

tamis_kind tamis_kind_next(tamis_kind kind) {
    for (size_t i = 0; tamis__family_at(i) != NULL; i++) {
        if (tamis__family_at(i)->kind > kind) return tamis__family_at(i)->kind;
    }
    return TAMIS_AUTO;
}

const char *tamis_kind_name(tamis_kind kind) {
    const struct tamis__family *family = tamis__family_of(kind);
    return family == NULL ? NULL : family->name;
}

tamis_kind tamis_kind_find(const char *name) {
    for (size_t i = 0; name != NULL && tamis__family_at(i) != NULL; i++) {
        if (strcmp(tamis__family_at(i)->name, name) == 0) return tamis__family_at(i)->kind;
    }
    return TAMIS_AUTO;
}

uint32_t tamis_kind_caps(tamis_kind kind) {
    const struct tamis__family *family = tamis__family_of(kind);
    return family == NULL ? 0 : family->caps;
}

/* -------------------------------------------------------------------- making */

void tamis__filter_like(const tamis_options *o, const struct tamis__want *want,
                        tamis_filter *like) {
    *like = (struct tamis_filter){.capacity = want->capacity,
                                  .rate = want->rate,
                                  .form = o->form,
                                  .shared = o->shared,
                                  .portable = o->portable,
                                  .allocator = o->allocator};
    like->form.reserved = 0;
    for (int i = like->form.separator_length; i < TAMIS_SEPARATOR_MAX; i++) {
        like->form.separator[i] = 0;
    }
    const tamis_hasher id = o->hasher == TAMIS_HASH_NONE ? TAMIS_HASH_NONE : TAMIS_HASH_XXH3;
    tamis__hashing_init(&like->hashing, id, o->seed, o->secret);
}

/* With bits or hashes fixed by the user the promise is what they come to at capacity, with the
 * same slack that our own sizes have. */
static double promised_rate(const struct tamis__family *family, const struct tamis__want *want,
                            const struct tamis__shape *shape) {
    if (want->bits == 0) return want->rate;
    const double keys = (double)want->capacity;
    const double rate = family->rate(shape, keys + TAMIS__SIGMAS * sqrt(keys));
    return rate > 0 && rate < 1 ? rate : want->rate;
}

tamis_status tamis__filter_create(const struct tamis__family *family,
                                  const struct tamis__want *want, const tamis_filter *like,
                                  tamis_filter **out) {
    struct tamis__shape shape;
    tamis_status status = family->shape(want, &shape);
    if (status != TAMIS_OK) return status;
    if (shape.table_bytes > SIZE_MAX / 4) return TAMIS_E_TOO_BIG;
    tamis_filter *f = tamis__filter_new(family, like);
    if (f == NULL) return TAMIS_E_NOMEM;
    f->shape = shape;
    f->rate = promised_rate(family, want, &shape);
    uint8_t *table = tamis__table_alloc(&f->allocator, shape.table_bytes);
    status = table == NULL ? TAMIS_E_NOMEM : TAMIS_OK;
    if (status == TAMIS_OK) {
        tamis__filter_own(f, table);
        if (family->init != NULL) family->init(&shape, table);
        status = tamis__filter_attach(f);
    }
    if (status != TAMIS_OK) {
        tamis__filter_free(f);
        return status;
    }
    *out = f;
    return TAMIS_OK;
}

tamis_status tamis_create(const tamis_options *options, tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_options o;
    const struct tamis__family *family;
    struct tamis__want want;
    tamis_status status = tamis__options_read(options, &o);
    if (status == TAMIS_OK && tamis__is_foreign(&o)) return tamis__foreign_create(&o, out);
    if (status == TAMIS_OK) {
        status = tamis__plan_want(&o, tamis__native_room(o.bytes), &family, &want);
    }
    if (status != TAMIS_OK) return status;
    if ((family->caps & TAMIS_IS_STATIC) != 0) return TAMIS_E_STATIC;
    if (o.shared && (family->caps & TAMIS_CAN_SHARE) == 0) return TAMIS_E_UNSUPPORTED;
    tamis_filter like;
    tamis__filter_like(&o, &want, &like);
    return tamis__filter_create(family, &want, &like, out);
}

/* The table in one piece, in memory of its own, and behind it what the file holds besides. */
static tamis_status copy_table(const tamis_filter *f, tamis_filter *copy) {
    const uint64_t block_bytes = copy->shape.table_bytes + f->extra_bytes;
    uint8_t *table = tamis__table_alloc(&copy->allocator, block_bytes);
    if (table == NULL) return TAMIS_E_NOMEM;
    if (f->family->export_table == NULL) {
        memcpy(table, f->table, (size_t)copy->shape.table_bytes);
    } else {
        f->family->export_table(f, table);
    }
    tamis__filter_own(copy, table);
    copy->block_bytes = block_bytes;
    if (f->extra_bytes != 0) {
        copy->extra = memcpy(table + copy->shape.table_bytes, f->extra, (size_t)f->extra_bytes);
        copy->extra_bytes = f->extra_bytes;
    }
    return tamis__filter_attach(copy);
}

tamis_status tamis_clone(const tamis_filter *filter, tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    if (filter == NULL) return TAMIS_E_ARGUMENT;
    tamis_status status = tamis__filter_trust(filter);
    if (status != TAMIS_OK) return status;
    tamis_filter *copy = tamis__filter_new(filter->family, filter);
    if (copy == NULL) return TAMIS_E_NOMEM;
    copy->shape = filter->shape;
    copy->adds = filter->adds;
    status = copy_table(filter, copy);
    if (status != TAMIS_OK) {
        tamis__filter_free(copy);
        return status;
    }
    *out = copy;
    return TAMIS_OK;
}

tamis_status tamis_convert(const tamis_filter *filter, tamis_kind kind, tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    const struct tamis__family *family = tamis__family_of(kind);
    if (filter == NULL || family == NULL) return filter == NULL ? TAMIS_E_ARGUMENT : TAMIS_E_KIND;
    if (kind == filter->family->kind) return tamis_clone(filter, out);
    struct tamis__shape shape;
    if (filter->family->convert_shape == NULL) return TAMIS_E_CONVERT;
    tamis_status status = filter->family->convert_shape(filter, kind, &shape);
    if (status == TAMIS_OK) status = tamis__filter_trust(filter);
    if (status != TAMIS_OK) return status;
    tamis_filter *f = tamis__filter_new(family, filter);
    if (f == NULL) return TAMIS_E_NOMEM;
    f->shape = shape;
    f->adds = filter->adds;
    uint8_t *table = tamis__table_alloc(&f->allocator, shape.table_bytes);
    status = table == NULL ? TAMIS_E_NOMEM : TAMIS_OK;
    if (status == TAMIS_OK) {
        filter->family->convert_table(filter, table);
        tamis__filter_own(f, table);
        status = tamis__filter_attach(f);
    }
    if (status != TAMIS_OK) {
        tamis__filter_free(f);
        return status;
    }
    *out = f;
    return TAMIS_OK;
}

void tamis_free(tamis_filter *filter) {
    if (filter == NULL) return;
    struct tamis__change *change = filter->change;
    tamis__filter_free(filter);
    tamis__change_free(change);
}

/* ------------------------------------------------------------------- changing */

static bool is_readonly(const tamis_filter *f) {
    return f->storage != TAMIS__OWNED && f->storage != TAMIS__DRAFT;
}

/* Is it one of our own, with one owner, who may write?  One test instead of four. */
static inline bool is_plain(const tamis_filter *f) {
    static_assert(TAMIS__OWNED == 0, "is tested as such");
    return ((uintptr_t)f->hashing.foreign | (uintptr_t)f->codec | (unsigned)f->storage |
            f->shared) == 0;
}

/* May keys be added at all? */
static tamis_status can_add(const tamis_filter *f) {
    if (f == NULL) return TAMIS_E_ARGUMENT;
    if (f->ops->add == NULL) {
        return (f->family->caps & TAMIS_IS_STATIC) != 0 ? TAMIS_E_STATIC : TAMIS_E_UNSUPPORTED;
    }
    return is_readonly(f) ? TAMIS_E_READONLY : TAMIS_OK;
}

static tamis_status can_remove(const tamis_filter *f) {
    if (f == NULL) return TAMIS_E_ARGUMENT;
    if (f->ops->remove == NULL) return TAMIS_E_NO_REMOVE;
    return is_readonly(f) ? TAMIS_E_READONLY : TAMIS_OK;
}

/* Do 64 bits stand for a key of this filter?  Other systems' may need more. */
static bool takes_hashes(const tamis_filter *f) { return tamis__hashing_is_narrow(&f->hashing); }

static bool takes_bytes(const tamis_filter *f) { return f->hashing.id != TAMIS_HASH_NONE; }

/* Is it a key at all?  Some foreign filters know only integers. */
static tamis_status check_key(const tamis_filter *f, const void *key, size_t length) {
    if ((key == NULL && length != 0) || !takes_bytes(f)) return TAMIS_E_ARGUMENT;
    return tamis__hashing_takes(&f->hashing, length) ? TAMIS_OK : TAMIS_E_KEY;
}

static tamis_status check_keys(const tamis_filter *f, const void *const *keys,
                               const size_t *lengths, size_t count) {
    if (count != 0 && (keys == NULL || lengths == NULL)) return TAMIS_E_ARGUMENT;
    if (!takes_bytes(f)) return TAMIS_E_ARGUMENT;
    if (f->hashing.foreign == NULL || !f->hashing.foreign->integers) return TAMIS_OK;
    for (size_t i = 0; i < count; i++) {
        if (!tamis__hashing_takes(&f->hashing, lengths[i])) return TAMIS_E_KEY;
    }
    return TAMIS_OK;
}

static void count_adds(tamis_filter *f, uint64_t count) {
    if (f->shared) {
        __atomic_fetch_add(&f->adds, count, __ATOMIC_RELAXED);
    } else {
        f->adds += count;
    }
}

/* Does only a key that changes the filter count? */
static bool counts_fresh(const tamis_filter *f) {
    return f->codec != NULL && (f->codec->flags & TAMIS__COUNTS_FRESH) != 0;
}

/* An add of which only a fresh key counts. */
static tamis_status add_if_fresh(tamis_filter *f, struct tamis__hash h, bool *fresh) {
    bool was_new = false;
    const tamis_status status = f->ops->add(f, h, &was_new);
    if (status != TAMIS_OK) return status;
    if (fresh != NULL) *fresh = was_new;
    count_adds(f, was_new);
    return TAMIS_OK;
}

static tamis_status add_one(tamis_filter *f, struct tamis__hash h, bool *fresh) {
    if (TAMIS_UNLIKELY(counts_fresh(f))) return add_if_fresh(f, h, fresh);
    const tamis_status status = f->ops->add(f, h, fresh);
    if (TAMIS_LIKELY(status == TAMIS_OK)) count_adds(f, 1);
    return status;
}

/* A batch, counted. */
static tamis_status add_group(tamis_filter *f, const uint64_t *lo, const uint64_t *hi, size_t count,
                              bool *fresh, size_t *done) {
    if (!counts_fresh(f)) {
        const tamis_status status = f->ops->add_batch(f, lo, hi, count, fresh, done);
        count_adds(f, *done);
        return status;
    }
    tamis_status status = TAMIS_OK;
    for (*done = 0; *done < count && status == TAMIS_OK; *done += status == TAMIS_OK) {
        const struct tamis__hash h = {lo[*done], hi == NULL ? 0 : hi[*done]};
        status = add_if_fresh(f, h, fresh == NULL ? NULL : fresh + *done);
    }
    return status;
}

tamis_status tamis__filter_add(tamis_filter *f, const uint64_t *lo, const uint64_t *hi,
                               size_t count, size_t *done) {
    return add_group(f, lo, hi, count, NULL, done);
}

tamis_status tamis_add(tamis_filter *filter, const void *key, size_t length, bool *fresh) {
    tamis_status status = can_add(filter);
    if (status == TAMIS_OK) status = check_key(filter, key, length);
    if (status != TAMIS_OK) return status;
    return add_one(filter, tamis__hash_key(&filter->hashing, key, length), fresh);
}

/* Apart, so that the usual way is short. */
static __attribute__((noinline)) tamis_status add_hash_any(tamis_filter *f, uint64_t hash,
                                                           bool *fresh) {
    const tamis_status status = can_add(f);
    if (status != TAMIS_OK) return status;
    if (!takes_hashes(f)) return TAMIS_E_UNSUPPORTED;
    return add_one(f, (struct tamis__hash){hash, 0}, fresh);
}

tamis_status tamis_add_hash(tamis_filter *filter, uint64_t hash, bool *fresh) {
    if (TAMIS_UNLIKELY(filter == NULL || !is_plain(filter) || filter->ops->add == NULL)) {
        return add_hash_any(filter, hash, fresh);
    }
    const tamis_status status = filter->ops->add(filter, (struct tamis__hash){hash, 0}, fresh);
    filter->adds += status == TAMIS_OK;
    return status;
}

/* The hashes of a group of keys.  Returns `hi`, or NULL for our own hashes, which have none. */
static uint64_t *hash_group(const tamis_filter *f, const void *const *keys, const size_t *lengths,
                            size_t count, uint64_t *lo, uint64_t *hi) {
    if (f->hashing.foreign == NULL) hi = NULL;
    tamis__hash_keys(&f->hashing, f->portable, keys, lengths, count, lo, hi);
    return hi;
}

tamis_status tamis_add_batch(tamis_filter *filter, const void *const *keys, const size_t *lengths,
                             size_t count, bool *fresh, size_t *done) {
    if (done != NULL) *done = 0;
    tamis_status status = can_add(filter);
    if (status == TAMIS_OK) status = check_keys(filter, keys, lengths, count);
    if (status != TAMIS_OK) return status;
    uint64_t lo[GROUP], hi[GROUP];
    size_t added = 0, some = 0;
    while (added < count && status == TAMIS_OK) {
        const size_t n = count - added < GROUP ? count - added : GROUP;
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
    tamis_status status = can_add(filter);
    if (status != TAMIS_OK) return status;
    if (count != 0 && hashes == NULL) return TAMIS_E_ARGUMENT;
    if (!takes_hashes(filter)) return TAMIS_E_UNSUPPORTED;
    size_t added = 0;
    status = add_group(filter, hashes, NULL, count, fresh, &added);
    if (done != NULL) *done = added;
    return status;
}

static tamis_status remove_one(tamis_filter *f, struct tamis__hash h) {
    const tamis_status status = f->ops->remove(f, h);
    if (status == TAMIS_OK && f->adds != 0) f->adds--;
    return status;
}

tamis_status tamis_remove(tamis_filter *filter, const void *key, size_t length) {
    tamis_status status = can_remove(filter);
    if (status == TAMIS_OK) status = check_key(filter, key, length);
    if (status != TAMIS_OK) return status;
    return remove_one(filter, tamis__hash_key(&filter->hashing, key, length));
}

tamis_status tamis_remove_hash(tamis_filter *filter, uint64_t hash) {
    const tamis_status status = can_remove(filter);
    if (status != TAMIS_OK) return status;
    if (!takes_hashes(filter)) return TAMIS_E_UNSUPPORTED;
    return remove_one(filter, (struct tamis__hash){hash, 0});
}

tamis_status tamis_remove_batch(tamis_filter *filter, const void *const *keys,
                                const size_t *lengths, size_t count, bool *removed) {
    tamis_status status = can_remove(filter);
    if (status == TAMIS_OK) status = check_keys(filter, keys, lengths, count);
    if (status != TAMIS_OK) return status;
    for (size_t i = 0; i < count; i++) {
        const struct tamis__hash h = tamis__hash_key(&filter->hashing, keys[i], lengths[i]);
        const bool there = remove_one(filter, h) == TAMIS_OK;
        if (removed != NULL) removed[i] = there;
        if (!there) status = TAMIS_E_ABSENT;
    }
    return status;
}

tamis_status tamis_remove_hash_batch(tamis_filter *filter, const uint64_t *hashes, size_t count,
                                     bool *removed) {
    tamis_status status = can_remove(filter);
    if (status != TAMIS_OK) return status;
    if (count != 0 && hashes == NULL) return TAMIS_E_ARGUMENT;
    if (!takes_hashes(filter)) return TAMIS_E_UNSUPPORTED;
    for (size_t i = 0; i < count; i++) {
        const bool there = remove_one(filter, (struct tamis__hash){hashes[i], 0}) == TAMIS_OK;
        if (removed != NULL) removed[i] = there;
        if (!there) status = TAMIS_E_ABSENT;
    }
    return status;
}

/* --------------------------------------------------------------------- asking */

bool tamis_contains(const tamis_filter *filter, const void *key, size_t length) {
    assert(filter != NULL && (key != NULL || length == 0));
    return filter->contains_key(filter, key, length);
}

bool tamis_contains_hash(const tamis_filter *filter, uint64_t hash) {
    assert(filter != NULL);
    return filter->contains(filter, (struct tamis__hash){hash, 0});
}

void tamis_prefetch_hash(const tamis_filter *filter, uint64_t hash) {
    assert(filter != NULL);
    if (filter->family->prefetch != NULL) filter->family->prefetch(filter, hash);
}

static size_t answer_maybe(size_t count, bool *answers) {
    for (size_t i = 0; answers != NULL && i < count; i++) answers[i] = true;
    return count;
}

/* Corrects the answers for what is no key of this filter; returns how many became true.  They
 * were hashed as the integer 0. */
static size_t not_keys(const tamis_filter *f, const size_t *lengths, size_t count, bool *answers) {
    const bool answered = f->ops->contains(f, (struct tamis__hash){0, 0});
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
    uint64_t lo[GROUP], hi[GROUP];
    size_t found = 0;
    for (size_t at = 0; at < count; at += GROUP) {
        const size_t n = count - at < GROUP ? count - at : GROUP;
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
    if (TAMIS_UNLIKELY(!takes_hashes(filter))) return answer_maybe(count, answers);
    return filter->ops->contains_batch(filter, hashes, NULL, count, answers);
}

uint64_t tamis_hash(const tamis_filter *filter, const void *key, size_t length) {
    return tamis__hash_key(&filter->hashing, key, length).lo;
}

void tamis_hash_batch(const tamis_filter *filter, const void *const *keys, const size_t *lengths,
                      size_t count, uint64_t *hashes) {
    tamis__hash_keys(&filter->hashing, filter->portable, keys, lengths, count, hashes, NULL);
}

uint64_t tamis_hash_integer(uint64_t value) { return tamis__mix64(value); }

uint64_t tamis_hash_secret(const uint8_t *secret, const void *key, size_t length) {
    assert(secret != NULL && (key != NULL || length == 0));
    const uint64_t words[2] = {tamis__load64(secret), tamis__load64(secret + 8)};
    return tamis__siphash24(key, length, words);
}

void tamis_hash_secret_batch(const uint8_t *secret, const void *const *keys, const size_t *lengths,
                             size_t count, uint64_t *hashes) {
    assert(secret != NULL);
    const uint64_t words[2] = {tamis__load64(secret), tamis__load64(secret + 8)};
    tamis__siphash24_keys(words, false, keys, lengths, count, hashes);
}

tamis_status tamis_composer_create(const tamis_filter *filter, tamis_composer **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    if (filter == NULL) return TAMIS_E_ARGUMENT;
    return tamis__composer_create(&filter->hashing, &filter->allocator, out);
}

/* ------------------------------------------------------------------- counting */

tamis_status tamis_set_adds(tamis_filter *filter, uint64_t adds) {
    if (filter == NULL) return TAMIS_E_ARGUMENT;
    if (is_readonly(filter)) return TAMIS_E_READONLY;
    filter->adds = adds;
    return TAMIS_OK;
}

static unsigned count_one(const tamis_filter *f, struct tamis__hash h) {
    return f->family->count == NULL ? f->ops->contains(f, h) : f->family->count(f, h);
}

unsigned tamis_count(const tamis_filter *filter, const void *key, size_t length) {
    assert(filter != NULL && (key != NULL || length == 0));
    if (!takes_bytes(filter) || !tamis__hashing_takes(&filter->hashing, length)) return 1;
    return count_one(filter, tamis__hash_key(&filter->hashing, key, length));
}

unsigned tamis_count_hash(const tamis_filter *filter, uint64_t hash) {
    assert(filter != NULL);
    return takes_hashes(filter) ? count_one(filter, (struct tamis__hash){hash, 0}) : 1;
}

/* -------------------------------------------------------------------- merging */

/* Another system's table that was kept in a .tamis file is padded to whole words; one that was not
 * may end with any byte. */
static bool same_shape(const tamis_filter *a, const tamis_filter *b) {
    struct tamis__shape x = a->shape, y = b->shape;
    x.table_bytes = tamis__div_up(x.table_bytes, 8);
    y.table_bytes = tamis__div_up(y.table_bytes, 8);
    return memcmp(&x, &y, sizeof x) == 0;
}

tamis_status tamis_merge(tamis_filter *into, const tamis_filter *from, tamis_merge_mode mode) {
    if (into == NULL || from == NULL) return TAMIS_E_ARGUMENT;
    if (mode != TAMIS_UNION && mode != TAMIS_INTERSECTION) return TAMIS_E_ARGUMENT;
    const uint32_t needed = mode == TAMIS_UNION ? TAMIS_CAN_UNION : TAMIS_CAN_INTERSECT;
    if ((into->family->caps & needed) == 0) return TAMIS_E_NO_MERGE;
    if (is_readonly(into)) return TAMIS_E_READONLY;
    if (into->family != from->family || into->codec != from->codec || !same_shape(into, from) ||
        !tamis__hashing_equal(&into->hashing, &from->hashing)) {
        return TAMIS_E_UNLIKE;
    }
    if (into == from && mode == TAMIS_INTERSECTION) return TAMIS_OK;
    tamis_status status = tamis__filter_trust(from);
    if (status != TAMIS_OK) return status;
    const uint64_t adds = from->adds;
    if (into->change != NULL) tamis__change_all(into);
    status = into->family->merge(into, from, mode);
    if (status != TAMIS_OK) return status;
    if (mode == TAMIS_UNION) {
        into->adds += adds;
    } else if (adds < into->adds) {
        into->adds = adds; /* no more than the smaller of the two */
    }
    return TAMIS_OK;
}

/* -------------------------------------------------------------- looking inside */

/* `count`: with a pass over the table, if that takes one. */
static void fill_facts(const tamis_filter *f, tamis_facts *facts, bool count) {
    struct tamis__state state = {.stages = 1};
    struct tamis__traits traits = {0};
    if (count || (f->family->caps & TAMIS_IS_STATIC) != 0) f->family->state(f, &state);
    f->family->traits(&f->shape, &traits);
    facts->kind = f->family->kind;
    facts->format = tamis__codec_of(f)->name;
    facts->caps = f->family->caps;
    facts->readonly = is_readonly(f);
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
    facts->rate_target = f->rate;
    facts->rate_now = state.rate_now;
    facts->hasher = f->hashing.id;
    facts->seed = f->hashing.seed;
    facts->key_id = f->hashing.key_id;
    facts->keyed = f->hashing.id == TAMIS_HASH_SIP24;
    facts->prehashed = takes_hashes(f);
    facts->path = f->ops->path;
    facts->form = f->form;
    const struct tamis__codec *codec = tamis__codec_of(f);
    facts->note = codec->note == NULL ? NULL : codec->note(f);
    facts->hash = tamis__hashing_name(&f->hashing);
    facts->key_bytes = f->hashing.foreign != NULL && f->hashing.foreign->integers ? 8 : 0;
}

/* The promise holds while the rate does.  Within the capacity the sizes see to that. */
static void judge_capacity(const tamis_filter *f, tamis_facts *facts) {
    const double room = (double)facts->capacity - facts->distinct;
    facts->over_capacity = facts->rate_target > 0 && facts->rate_now > facts->rate_target;
    /* Other systems size for the mean, so half of all full filters are a little above it.  How many
     * keys are in a small table with hardly a bit left nobody can tell, and the error is large; but
     * n keys, all bits of which differ, look like 1.7 n at most, or 2 n with a probe too many. */
    if (f->shape.scheme != 0) {
        facts->over_capacity &= room < -TAMIS__SIGMAS * facts->distinct_error ||
                                facts->distinct > 2 * (double)facts->capacity + 8;
    }
    if ((f->family->caps & TAMIS_CAN_GROW) != 0) {
        facts->headroom = UINT64_MAX;
    } else if ((f->family->caps & TAMIS_IS_STATIC) == 0 && room >= 1 && !facts->over_capacity) {
        facts->headroom = room < 0x1p64 ? (uint64_t)room : UINT64_MAX; /* a file may say so */
    }
}

/* Copies the part of `from` that the caller's struct has. */
static tamis_status give(void *to, size_t to_size, size_t least, void *from, size_t from_size) {
    if (to_size < least) return TAMIS_E_ARGUMENT;
    memcpy(from, &to_size, sizeof to_size); /* the struct_size stays the caller's */
    memcpy(to, from, to_size < from_size ? to_size : from_size);
    return TAMIS_OK;
}

static tamis_status give_facts(const tamis_filter *f, tamis_facts *facts, bool count) {
    if (f == NULL || facts == NULL) return TAMIS_E_ARGUMENT;
    tamis_facts all = {0};
    fill_facts(f, &all, count);
    if (count) judge_capacity(f, &all);
    return give(facts, facts->struct_size, offsetof(tamis_facts, form), &all, sizeof all);
}

tamis_status tamis_info(const tamis_filter *filter, tamis_facts *facts) {
    return give_facts(filter, facts, true);
}

tamis_status tamis_info_brief(const tamis_filter *filter, tamis_facts *facts) {
    return give_facts(filter, facts, false);
}

/* ---------------------------------------------------------------------- sizing */

static double rate_with(const struct tamis__family *family, const struct tamis__shape *shape,
                        double keys) {
    const double rate = family->rate(shape, keys);
    return rate > 1 ? 1 : rate;
}

/* UINT64_MAX if it is more than that. */
static uint64_t build_bytes(uint64_t table_bytes, double scratch) {
    return (double)table_bytes + scratch < 0x1p64 ? table_bytes + (uint64_t)scratch : UINT64_MAX;
}

/* What the options come to; `o` are those that were read. */
static tamis_status shape_for(const tamis_options *options, tamis_options *o,
                              const struct tamis__family **family, struct tamis__shape *shape) {
    struct tamis__want want;
    tamis_status status = tamis__options_read(options, o);
    if (status == TAMIS_OK) {
        status = tamis__plan_want(o, tamis__native_room(o->bytes), family, &want);
    }
    return status == TAMIS_OK ? (*family)->shape(&want, shape) : status;
}

tamis_status tamis_size(const tamis_options *options, tamis_sizing *sizing) {
    tamis_options o;
    const struct tamis__family *family;
    struct tamis__shape shape;
    if (sizing == NULL) return TAMIS_E_ARGUMENT;
    const tamis_status status = shape_for(options, &o, &family, &shape);
    if (status != TAMIS_OK) return status;

    const double keys = (double)o.capacity;
    struct tamis__traits traits = {0};
    family->traits(&shape, &traits);
    tamis_sizing all = {.kind = family->kind,
                        .bytes = tamis__native_size(shape.table_bytes),
                        .hashes = traits.hashes,
                        .width = traits.width,
                        .rate = rate_with(family, &shape, keys),
                        .rate_at_half = rate_with(family, &shape, keys / 2),
                        .rate_at_double = rate_with(family, &shape, keys * 2),
                        .cache_lines = traits.cache_lines};
    if (o.capacity != 0) all.bits_per_key = (double)all.bytes * 8 / keys;
    all.build_bytes = build_bytes(shape.table_bytes, keys * traits.build_bytes_per_key);
    return give(sizing, sizing->struct_size, offsetof(tamis_sizing, build_bytes), &all, sizeof all);
}

tamis_status tamis_size_rate(const tamis_options *options, uint64_t keys, double *rate) {
    tamis_options o;
    const struct tamis__family *family;
    struct tamis__shape shape;
    if (rate == NULL) return TAMIS_E_ARGUMENT;
    const tamis_status status = shape_for(options, &o, &family, &shape);
    if (status == TAMIS_OK) *rate = rate_with(family, &shape, (double)keys);
    return status;
}

tamis_status tamis_plan(const tamis_options *options, tamis_advice *advice) {
    tamis_options o;
    if (advice == NULL) return TAMIS_E_ARGUMENT;
    tamis_status status = tamis__options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if (o.rate != 0 && !(o.rate > 0 && o.rate < 1)) return TAMIS_E_RATE;
    tamis_advice all = {0};
    all.choice = tamis__plan_kind(&o, tamis__native_room(o.bytes), all.why);
    status = give(advice, advice->struct_size, sizeof all, &all, sizeof all);
    return status == TAMIS_OK && all.choice == TAMIS_AUTO ? TAMIS_E_ARGUMENT : status;
}
