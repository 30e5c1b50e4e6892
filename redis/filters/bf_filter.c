/* bf_filter.c - a Bloom filter of this module
 *
 *     generation 0   items are added to it    } with a window: newest first,
 *     generation 1   ...                      } each with its epoch and the same secret
 *     merged         from other filters, by BF.MERGE: queried, never added to
 *
 * An item is possibly in the filter if any generation has it.  A generation is a scalable filter
 * (scalable.c) with accounting per sub-filter, as in RedisBloom: a sub-filter holds `capacity`
 * items, the next one `expansion` times as many.  An item that no generation has is counted in the
 * newest sub-filter, or in a new one if that is full.  BF.INFO reports this accounting, and it
 * decides when a filter that does not scale is full.  It takes four numbers, because all
 * sub-filters but the newest are full.  It is independent of the stages of the scalable filter.
 *
 * The window.  With WINDOW seconds and g generations, time is divided into steps of window / g.
 * Each step in which items are added has its own generation; generations more than g steps old
 * expire.  So an item stays for at least the window after it was last added, and at most one step
 * longer.  Each of the g + 1 generations that may be alive has an equal part of the rate and of the
 * capacity.  Adding an item that only an older generation has adds it to the newest one as well.
 *
 * Only the primary starts a generation, and replicates it (TAMIS.TURN), so that replicas and a
 * replayed AOF have the same generations; queries skip generations that have expired by the clock.
 *
 * A small filter with one sub-filter is kept in one block (bf_small.c).
 *
 * Merging.  Each filter has its own secret, and bits under different secrets cannot be united:
 * BF.MERGE keeps the generations of the other filter as merged filters.  The rates add up;
 * bf_numbers returns the bound.  A generation with the same secret and shape (from COPY, or merged
 * before) is united bit by bit as long as its rate holds. */
#include "filters/bf.h"

#include <math.h>
#include <string.h>

#include "server/live_counts.h"
#include "server/memory.h"
#include "server/secret.h"

/* ---- generations */

static uint64_t generation_capacity(const struct bf *f) {
    return f->window == 0 ? f->capacity : (f->capacity + f->per_window - 1) / f->per_window;
}

static struct scalable generation_want(const struct bf *f) {
    const uint32_t parts = f->window == 0 ? 1 : f->per_window + 1;
    return (struct scalable){
        .fpr = f->error / parts, .limit = f->limit / parts, .grows = f->expansion != 0};
}

/* Inserts a generation at `at`; false if memory runs out. */
static bool generations_insert(struct bf *f, uint32_t at, const struct generation *generation) {
    struct generation *larger = memory_alloc((f->generations + 1) * sizeof *larger);
    if (larger == NULL) return false;
    if (at != 0) memcpy(larger, f->in.generation, at * sizeof *larger);
    larger[at] = *generation;
    if (at < f->generations) {
        memcpy(larger + at + 1, f->in.generation + at, (f->generations - at) * sizeof *larger);
    }
    memory_free(f->in.generation);
    f->in.generation = larger;
    f->generations++;
    return true;
}

static bool generation_open(struct bf *f, const uint8_t *secret, uint64_t epoch) {
    const uint64_t capacity = generation_capacity(f);
    struct scalable want = generation_want(f);
    memcpy(want.secret, secret, sizeof want.secret);
    const struct generation generation = {.scalable = scalable_create(&want, capacity, false),
                                          .subfilters = 1,
                                          .first_capacity = capacity,
                                          .last_capacity = capacity,
                                          .epoch = epoch};
    if (generation.scalable == NULL) return false;
    if (generations_insert(f, 0, &generation)) return true;
    scalable_free(generation.scalable);
    return false;
}

/* ---- creating and freeing */

struct bf *bf_new(void) {
    struct bf *f = memory_zeroed(sizeof *f);
    if (f != NULL) live_count_change(LIVE_BF, 1);
    return f;
}

/* The supported range of rates, also when divided among generations. */
static double supported_error(double error) {
    return error < FPR_MIN ? FPR_MIN : error > BF_ERROR_MAX ? BF_ERROR_MAX : error;
}

struct bf *bf_create(const struct bf *want, uint64_t epoch) {
    uint8_t secret[TAMIS_SECRET_BYTES];
    struct bf *f = bf_new();
    if (f == NULL) return NULL;
    *f = *want;
    f->error = supported_error(want->error);
    secret_new(secret);
    if (generation_open(f, secret, epoch)) return f;
    bf_free(f);
    return NULL;
}

uint64_t bf_plan(const struct bf *want) {
    struct bf f = *want;
    f.error = supported_error(want->error);
    const struct scalable scalable = generation_want(&f);
    const uint64_t bytes = scalable_plan(&scalable, generation_capacity(&f));
    const uint64_t generations = want->window == 0 ? 1 : want->per_window + 1;
    if (bytes > UINT64_MAX / 2 / generations) return UINT64_MAX;
    if (want->limit != 0 && bytes * generations > want->limit) return UINT64_MAX;
    return bytes * generations;
}

struct bf *bf_of_redisbloom(tamis_filter *redisbloom) {
    struct bf *f = redisbloom == NULL ? NULL : bf_new();
    if (f != NULL) f->redisbloom = redisbloom;
    if (f == NULL) tamis_free(redisbloom);
    return f;
}

void bf_free(void *bf) {
    struct bf *f = bf;
    if (f == NULL) return;
    live_count_change(LIVE_BF, -1);
    tamis_free(f->redisbloom);
    for (uint32_t i = 0; i < f->generations; i++) scalable_free(f->in.generation[i].scalable);
    memory_free(f->in.generation); /* or in.bf_small */
    memory_free(f);
}

struct bf *bf_copy(const struct bf *from) {
    if (from->redisbloom != NULL) return bf_of_redisbloom(redisbloom_copy(from->redisbloom));
    struct bf *f = bf_new();
    if (f == NULL) return NULL;
    *f = *from;
    if (bf_is_small(from)) {
        f->in.bf_small = bf_small_copy(from->in.bf_small);
        if (f->in.bf_small != NULL) return f;
        bf_free(f);
        return NULL;
    }
    f->generations = 0;
    f->in.generation = memory_alloc(from->generations * sizeof *f->in.generation);
    while (f->in.generation != NULL && f->generations < from->generations) {
        struct generation *c = &f->in.generation[f->generations];
        *c = from->in.generation[f->generations];
        c->scalable = scalable_copy(c->scalable);
        if (c->scalable == NULL) break;
        f->generations++;
    }
    if (f->generations == from->generations) return f;
    bf_free(f);
    return NULL;
}

/* ---- queries */

static bool is_alive(const struct bf *f, const struct generation *c, uint64_t epoch) {
    return f->window == 0 || c->merged || c->epoch + f->per_window >= epoch;
}

static bool same_secret(const struct generation *a, const struct generation *b) {
    return memcmp(a->scalable->secret, b->scalable->secret, TAMIS_SECRET_BYTES) == 0;
}

/* Queries the generations from `first` on; `hashes` are those of generation 0. */
static void query_generations(const struct bf *f, uint32_t first, const struct items *items,
                              const uint64_t *hashes, uint64_t epoch, bool *results) {
    uint64_t others[SCALABLE_BATCH];
    for (uint32_t i = first; i < f->generations; i++) {
        const struct generation *c = &f->in.generation[i];
        if (!is_alive(f, c, epoch)) continue;
        const bool same = same_secret(c, &f->in.generation[0]);
        if (!same) hash_items(c->scalable->secret, items, others);
        scalable_contains_batch(c->scalable, same ? hashes : others, items->count, results);
    }
}

void bf_contains(const struct bf *f, const struct items *items, uint64_t epoch, bool *results) {
    uint64_t hashes[SCALABLE_BATCH];
    if (f->redisbloom != NULL) {
        tamis_contains_batch(f->redisbloom, items->bytes, items->length, items->count, results);
        return;
    }
    memset(results, 0, items->count * sizeof *results);
    if (bf_is_small(f)) {
        bf_small_contains(f, items, results);
        return;
    }
    hash_items(f->in.generation[0].scalable->secret, items, hashes);
    query_generations(f, 0, items, hashes, epoch, results);
}

/* ---- adding */

/* Counts one more item; false if the generation is full and does not scale. */
static bool count_item(const struct bf *f, struct generation *c) {
    if (c->last_size >= c->last_capacity) {
        if (f->expansion == 0 || c->last_capacity > BF_ITEMS_MAX / f->expansion ||
            c->last_capacity > BF_ITEMS_MAX - c->before) {
            return false;
        }
        c->before += c->last_capacity;
        c->last_capacity *= f->expansion;
        c->last_size = 0;
        c->subfilters++;
    }
    c->last_size++;
    return true;
}

/* Adds an item that the stages before `known` do not have. */
static enum bf_wrong add_one(struct bf *f, uint64_t hash, uint32_t known, bool *added) {
    struct generation *c = &f->in.generation[0];
    *added = false;
    if (scalable_contains(c->scalable, hash, known)) return BF_OK;
    const struct generation as_it_was = *c;
    if (!count_item(f, c)) return BF_FULL;
    const enum scalable_result result = scalable_add(c->scalable, hash);
    if (result == SCALABLE_OK) {
        *added = true;
        return BF_OK;
    }
    *c = as_it_was;
    return result == SCALABLE_FULL && f->limit != 0 ? BF_LIMIT : BF_FAILED;
}

static void add_to_redisbloom(tamis_filter *f, const struct items *items, struct bf_batch *b) {
    for (; b->done < items->count; b->done++) {
        const size_t i = b->done;
        const tamis_status status = tamis_add(f, items->bytes[i], items->length[i], &b->fresh[i]);
        if (status != TAMIS_OK) {
            b->wrong = status == TAMIS_E_FULL ? BF_FULL : BF_FAILED;
            return;
        }
        b->changed[i] = b->fresh[i];
        b->changes += b->fresh[i];
    }
}

/* Returns whether all items fit in the only stage, so that no query is needed first. */
static bool takes_all(const struct bf *f, size_t count) {
    const struct generation *c = &f->in.generation[0];
    return f->generations == 1 && count <= c->last_capacity - c->last_size &&
           scalable_takes(c->scalable, count);
}

static void add_fresh(struct bf *f, const uint64_t *hashes, size_t count, struct bf_batch *b) {
    struct generation *c = &f->in.generation[0];
    if (!scalable_add_fresh(c->scalable, hashes, count, b->fresh, &b->changes)) {
        b->wrong = BF_FAILED;
        return;
    }
    memcpy(b->changed, b->fresh, count * sizeof *b->fresh);
    c->last_size += b->changes;
    b->done = count;
}

/* Queries all items in one batch, which brings their cache lines into the cache; then adds those
 * not found one by one, because a batch may repeat an item.  If a table could not be read, its
 * items seem present: then the batch fails rather than dropping them. */
static void query_and_add(struct bf *f, const struct items *items, const uint64_t *hashes,
                          struct bf_batch *b) {
    const struct scalable *s = f->in.generation[0].scalable;
    uint32_t known = s->stages; /* stages unchanged since the query */
    const size_t failures = cow_table_failures();
    bool newest[SCALABLE_BATCH], others[SCALABLE_BATCH];
    memset(newest, 0, items->count * sizeof *newest);
    memset(others, 0, items->count * sizeof *others);
    scalable_contains_batch(s, hashes, items->count, newest);
    query_generations(f, 1, items, hashes, f->in.generation[0].epoch, others);
    if (cow_table_failures() != failures) {
        b->wrong = BF_FAILED;
        return;
    }
    for (; b->done < items->count; b->done++) {
        const size_t i = b->done;
        b->fresh[i] = b->changed[i] = false;
        if (newest[i] || (others[i] && f->window == 0)) continue;
        const uint32_t newest_stage = s->stages - 1;
        b->wrong = add_one(f, hashes[i], known, &b->changed[i]);
        if (b->wrong != BF_OK) return;
        if (b->changed[i] && known > newest_stage) known = newest_stage;
        b->fresh[i] = b->changed[i] && !others[i];
        b->changes += b->changed[i];
    }
}

void bf_add(struct bf *f, const struct items *items, struct bf_batch *b) {
    uint64_t hashes[SCALABLE_BATCH];
    b->done = b->changes = 0;
    b->wrong = BF_OK;
    if (f->redisbloom != NULL) {
        add_to_redisbloom(f->redisbloom, items, b);
        return;
    }
    if (bf_is_loading(f)) {
        b->wrong = BF_LOADING;
        return;
    }
    if (bf_is_small(f)) {
        bf_small_add(f, items, b);
        if (b->done == items->count) return;
        b->wrong = f->expansion == 0 ? BF_FULL : bf_unpack(f) ? BF_OK : BF_FAILED;
        if (b->wrong != BF_OK) return;
    }
    hash_items(f->in.generation[0].scalable->secret, items, hashes);
    if (takes_all(f, items->count)) {
        add_fresh(f, hashes, items->count, b);
    } else {
        query_and_add(f, items, hashes, b);
    }
}

/* ---- the window */

uint64_t bf_epoch(const struct bf *f, uint64_t milliseconds) {
    if (f->redisbloom != NULL || f->window == 0) return 0;
    /* Rounded up, so that all steps together cover the window. */
    const uint64_t step = (f->window + f->per_window - 1) / f->per_window;
    return milliseconds / step;
}

bool bf_turn(struct bf *f, uint64_t epoch, bool *failed) {
    *failed = false;
    if (f->redisbloom != NULL || f->window == 0 || f->in.generation[0].epoch >= epoch) return false;
    if (bf_is_loading(f)) return false; /* chunk numbers depend on the generations */
    uint8_t secret[TAMIS_SECRET_BYTES];
    memcpy(secret, f->in.generation[0].scalable->secret, sizeof secret);
    if (!generation_open(f, secret, epoch)) {
        *failed = true;
        return false;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->generations; i++) {
        if (is_alive(f, &f->in.generation[i], epoch)) {
            f->in.generation[kept++] = f->in.generation[i];
        } else {
            scalable_free(f->in.generation[i].scalable);
        }
    }
    f->generations = kept;
    return true;
}

/* ---- merging */

/* Unites a generation with one of the same secret and shape. */
static bool merge_same_secret(struct bf *into, const struct generation *from, bool *changed) {
    for (uint32_t i = 0; i < into->generations; i++) {
        struct generation *c = &into->in.generation[i];
        if (!scalable_merge(c->scalable, from->scalable, changed)) continue;
        const uint64_t keys = scalable_keys(c->scalable), size = c->last_size;
        if (keys > c->before + c->last_size) c->last_size = keys - c->before;
        if (c->last_size > c->last_capacity) c->last_size = c->last_capacity;
        *changed |= c->last_size != size;
        return true;
    }
    return false;
}

/* Returns whether a merged filter fits in the memory limit. */
static bool has_room_for(const struct bf *f, const struct generation *merged) {
    return f->limit == 0 || bf_numbers(f).bytes + scalable_bytes(merged->scalable) <= f->limit;
}

static const char *merge_generation(struct bf *into, const struct generation *from, bool take_all,
                                    bool *changed) {
    if (merge_same_secret(into, from, changed)) return NULL;
    *changed = true;
    if (into->generations == BF_GENERATIONS_MAX) return "ERR too many merged filters";
    if (!take_all && !has_room_for(into, from)) return "ERR the filter is at its memory limit";
    struct generation merged = *from;
    merged.merged = true;
    merged.scalable = scalable_copy(from->scalable);
    if (merged.scalable == NULL) return "ERR Insufficient memory";
    if (generations_insert(into, into->generations, &merged)) return NULL;
    scalable_free(merged.scalable);
    return "ERR Insufficient memory";
}

const char *bf_unmergeable(const struct bf *f) {
    if (f->window != 0) return "ERR filters with a window cannot be merged";
    return bf_is_loading(f) ? "ERR the filter is being loaded" : NULL;
}

const char *bf_merge(struct bf *into, const struct bf *from, bool take_all, bool *changed) {
    if ((into->redisbloom == NULL) != (from->redisbloom == NULL)) {
        return "ERR filters of RedisBloom can only be merged with each other";
    }
    if (into->redisbloom != NULL) {
        *changed = true;
        const tamis_status status = tamis_merge(into->redisbloom, from->redisbloom, TAMIS_UNION);
        return status == TAMIS_OK        ? NULL
               : status == TAMIS_E_NOMEM ? "ERR Insufficient memory"
                                         : "ERR filters of RedisBloom need the same shape and room "
                                           "for all items";
    }
    struct bf *unpacked = bf_is_small(from) ? bf_unpacked(from) : NULL;
    const struct bf *source = unpacked == NULL ? from : unpacked;
    const char *wrong = NULL;
    if (!bf_unpack(into) || bf_is_small(source)) wrong = "ERR Insufficient memory";
    for (uint32_t i = 0; i < source->generations && wrong == NULL; i++) {
        wrong = merge_generation(into, &source->in.generation[i], take_all, changed);
    }
    bf_free(unpacked);
    bf_pack(into);
    return wrong;
}

/* ---- tables */

size_t bf_unready(const void *bf, size_t items, bool change) {
    const struct bf *f = bf;
    if (f->redisbloom != NULL) return redisbloom_unready(f->redisbloom, items, change);
    size_t unready = 0;
    for (uint32_t i = 0; i < f->generations; i++) {
        unready += scalable_unready(f->in.generation[i].scalable, items, change && i == 0);
    }
    return unready;
}

void bf_prepare(const struct bf *f) {
    if (f->redisbloom != NULL) redisbloom_prepare(f->redisbloom);
    for (uint32_t i = 0; i < f->generations; i++) scalable_prepare(f->in.generation[i].scalable);
}

/* ---- statistics */

static struct bf_numbers redisbloom_numbers(const tamis_filter *f) {
    const struct redisbloom_bloom c = redisbloom_bloom(f);
    struct bf_numbers n = {
        .bytes = redisbloom_bytes(f), .subfilters = c.subfilters, .items = c.size};
    for (uint32_t i = 0; i < c.subfilters; i++) {
        const struct redisbloom_sub l = redisbloom_sub(f, i);
        n.capacity += l.entries;
        n.error += l.error;
    }
    return n;
}

struct bf_numbers bf_numbers_at(const struct bf *f, uint64_t epoch) {
    if (f->redisbloom != NULL) return redisbloom_numbers(f->redisbloom);
    if (bf_is_small(f)) {
        return (struct bf_numbers){.bytes = sizeof *f + bf_small_bytes(f->in.bf_small),
                                   .capacity = f->capacity,
                                   .subfilters = 1,
                                   .items = bf_small_keys(f->in.bf_small),
                                   .error = f->error};
    }
    struct bf_numbers n = {.bytes = sizeof *f + f->generations * sizeof *f->in.generation};
    for (uint32_t i = 0; i < f->generations; i++) {
        const struct generation *c = &f->in.generation[i];
        n.bytes += scalable_bytes(c->scalable);
        n.capacity += c->before + c->last_capacity;
        n.subfilters += c->subfilters;
        if (is_alive(f, c, epoch)) n.items += c->before + c->last_size;
        if (f->window == 0) n.error += c->scalable->fpr;
    }
    if (f->window != 0) n.error = f->error;
    return n;
}

struct bf_numbers bf_numbers(const struct bf *f) {
    return bf_numbers_at(f, 0);
}

size_t bf_effort(const struct bf *f) {
    if (f->redisbloom != NULL) return 1 + redisbloom_bytes(f->redisbloom) / EFFORT_BYTES;
    size_t effort = bf_is_small(f);
    for (uint32_t i = 0; i < f->generations; i++)
        effort += scalable_effort(f->in.generation[i].scalable);
    return effort;
}

bool bf_is_loading(const struct bf *f) {
    for (uint32_t i = 0; i < f->generations; i++) {
        if (f->in.generation[i].scalable->awaiting != 0) return true;
    }
    return false;
}
