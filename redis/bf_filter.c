/* bf_filter.c - a Bloom filter of ours
 *
 *     chain 0    takes the items          } with a window: the generations, newest first,
 *     chain 1    ...                      } each with its epoch and the same secret
 *     guests     from other filters, by BF.MERGE: asked, never added to
 *
 * An item is there if any chain has it.  A chain is a store (store.c) and a reckoning in links
 * as RedisBloom has them: a link holds `capacity` items, the next `expansion` times as many; an
 * item that no chain has is counted in the newest link, or in a new one if that is full.  The
 * reckoning is what BF.INFO tells and what makes a filter that does not scale full; it costs
 * four numbers, since all links but the newest are full.  What the store does below is its own.
 *
 * The window.  With WINDOW seconds and g generations time is cut into steps of window / g.  A
 * step in which an item is added has its own generation; those that are more than g steps old
 * are forgotten.  So an item is there for at least the window after it was last added, and for
 * at most a step longer.  Each of the g + 1 generations that may be alive has an equal part of the
 * error and of the capacity.  Adding an item that only an older generation has puts it in the
 * newest as well: that is what "last added" means.
 *
 * Turning happens only when the primary says so (BF_TURN in bf_commands.c), so that a replica
 * and a replayed AOF have the generations that the primary had; looking skips what is too old
 * by the clock.
 *
 * A filter that is small and has one link is kept as a bud (bf_bud.c).
 *
 * Merging keeps the chains of the other filter as guests, since filters have secrets of their
 * own and bits of different secrets cannot be united.  The rates add up; bf_numbers tells the
 * bound.  A chain of the same secret and shape (from COPY, or merged before) is united bit by
 * bit as long as that keeps its promise. */
#include "bf.h"

#include <math.h>
#include <string.h>

#include "census.h"
#include "memory.h"
#include "secret.h"

/* ---- chains */

static double chain_error(const struct bf *f) {
    return f->window == 0 ? f->error : f->error / (f->generations + 1);
}

static uint64_t chain_capacity(uint64_t capacity, uint64_t window, uint32_t generations) {
    return window == 0 ? capacity : (capacity + generations - 1) / generations;
}

static struct store_want chain_want(const struct bf *f, const uint8_t *secret) {
    return (struct store_want){
        .secret = secret,
        .capacity = chain_capacity(f->capacity, f->window, f->generations),
        .rate = chain_error(f),
        .limit = f->window == 0 ? f->limit : f->limit / (f->generations + 1),
        .grows = f->expansion != 0,
    };
}

/* Room for another chain at `at`. */
static bool chains_insert(struct bf *f, uint32_t at, const struct chain *chain) {
    struct chain *larger = memory_alloc((f->chains + 1) * sizeof *larger);
    if (larger == NULL) return false;
    if (at != 0) memcpy(larger, f->in.chain, at * sizeof *larger);
    larger[at] = *chain;
    if (at < f->chains) {
        memcpy(larger + at + 1, f->in.chain + at, (f->chains - at) * sizeof *larger);
    }
    memory_free(f->in.chain);
    f->in.chain = larger;
    f->chains++;
    return true;
}

static bool chain_open(struct bf *f, const uint8_t *secret, uint64_t epoch) {
    const struct store_want want = chain_want(f, secret);
    const struct chain chain = {.store = store_create(&want),
                                .links = 1,
                                .first_capacity = want.capacity,
                                .last_capacity = want.capacity,
                                .epoch = epoch};
    if (chain.store == NULL) return false;
    if (chains_insert(f, 0, &chain)) return true;
    store_free(chain.store);
    return false;
}

/* ---- life */

struct bf *bf_new(void) {
    struct bf *f = memory_zeroed(sizeof *f);
    if (f != NULL) census_born(CENSUS_BF);
    return f;
}

/* Beyond these no rate can be kept, nor be divided among generations. */
static double error_of(const struct bf_want *want) {
    if (want->error < RATE_LEAST) return RATE_LEAST;
    return want->error > BF_ERROR_MOST ? BF_ERROR_MOST : want->error;
}

static struct bf *bf_empty(const struct bf_want *want) {
    struct bf *f = bf_new();
    if (f == NULL) return NULL;
    f->error = error_of(want);
    f->capacity = want->capacity;
    f->expansion = want->expansion;
    f->limit = want->limit;
    f->window = want->window;
    f->generations = want->generations;
    return f;
}

struct bf *bf_create(const struct bf_want *want) {
    uint8_t secret[TAMIS_SECRET_BYTES];
    struct bf *f = bf_empty(want);
    if (f == NULL) return NULL;
    secret_new(secret);
    if (chain_open(f, secret, want->epoch)) return f;
    bf_free(f);
    return NULL;
}

uint64_t bf_plan(const struct bf_want *want) {
    static const uint8_t nothing[TAMIS_SECRET_BYTES];
    const struct bf f = {.error = error_of(want),
                         .capacity = want->capacity,
                         .expansion = want->expansion,
                         .limit = want->limit,
                         .window = want->window,
                         .generations = want->generations};
    const struct store_want store = chain_want(&f, nothing);
    const uint64_t bytes = store_plan(&store);
    const uint64_t chains = want->window == 0 ? 1 : want->generations + 1;
    if (bytes > UINT64_MAX / 2 / chains) return UINT64_MAX;
    if (want->limit != 0 && bytes * chains > want->limit) return UINT64_MAX;
    return bytes * chains;
}

struct bf *bf_of_legacy(struct bf_legacy *legacy) {
    struct bf *f = legacy == NULL ? NULL : bf_new();
    if (f != NULL) f->legacy = legacy;
    if (f == NULL) bf_legacy_free(legacy);
    return f;
}

void bf_free(struct bf *f) {
    if (f == NULL) return;
    census_died(CENSUS_BF);
    bf_legacy_free(f->legacy);
    for (uint32_t i = 0; i < f->chains; i++) store_free(f->in.chain[i].store);
    memory_free(f->in.chain); /* or the bud */
    memory_free(f);
}

struct bf *bf_copy(const struct bf *from) {
    if (from->legacy != NULL) return bf_of_legacy(bf_legacy_copy(from->legacy));
    struct bf *f = bf_new();
    if (f == NULL) return NULL;
    *f = *from;
    if (bf_is_bud(from)) {
        f->in.bud = bud_copy(from->in.bud);
        if (f->in.bud != NULL) return f;
        bf_free(f);
        return NULL;
    }
    f->chains = 0;
    f->in.chain = memory_alloc(from->chains * sizeof *f->in.chain);
    while (f->in.chain != NULL && f->chains < from->chains) {
        struct chain *c = &f->in.chain[f->chains];
        *c = from->in.chain[f->chains];
        c->store = store_copy(c->store);
        if (c->store == NULL) break;
        f->chains++;
    }
    if (f->chains == from->chains) return f;
    bf_free(f);
    return NULL;
}

/* ---- asking */

static bool is_alive(const struct bf *f, const struct chain *c, uint64_t epoch) {
    return f->window == 0 || c->guest || c->epoch + f->generations >= epoch;
}

static bool same_secret(const struct chain *a, const struct chain *b) {
    return memcmp(a->store->secret, b->store->secret, TAMIS_SECRET_BYTES) == 0;
}

/* Asks the chains from `first` on; `hashes` are those of chain 0. */
static void ask_chains(const struct bf *f, uint32_t first, const struct items *items,
                       const uint64_t *hashes, uint64_t epoch, bool *answers) {
    uint64_t others[STORE_BATCH];
    for (uint32_t i = first; i < f->chains; i++) {
        const struct chain *c = &f->in.chain[i];
        if (!is_alive(f, c, epoch)) continue;
        const bool same = same_secret(c, &f->in.chain[0]);
        if (!same) store_hash_items(c->store, items, others);
        store_contains_batch(c->store, same ? hashes : others, items->count, answers);
    }
}

void bf_contains(const struct bf *f, const struct items *items, uint64_t epoch, bool *answers) {
    uint64_t hashes[STORE_BATCH];
    if (f->legacy != NULL) {
        for (size_t i = 0; i < items->count; i++) {
            answers[i] = bf_legacy_contains(f->legacy, items->bytes[i], items->length[i]);
        }
        return;
    }
    memset(answers, 0, items->count * sizeof *answers);
    if (bf_is_bud(f)) {
        bud_contains(f, items, answers);
        return;
    }
    store_hash_items(f->in.chain[0].store, items, hashes);
    ask_chains(f, 0, items, hashes, epoch, answers);
}

/* ---- adding */

/* Counts one item more; false if the chain is full and must not scale. */
static bool reckon(const struct bf *f, struct chain *c) {
    if (c->last_size >= c->last_capacity) {
        if (f->expansion == 0 || c->last_capacity > BF_RECKONED_MOST / f->expansion ||
            c->last_capacity > BF_RECKONED_MOST - c->before) {
            return false;
        }
        c->before += c->last_capacity;
        c->last_capacity *= f->expansion;
        c->last_size = 0;
        c->links++;
    }
    c->last_size++;
    return true;
}

/* Adds an item that the layers before `known` do not have. */
static enum bf_wrong add_one(struct bf *f, uint64_t hash, uint32_t known, bool *added) {
    struct chain *c = &f->in.chain[0];
    *added = false;
    if (store_contains_since(c->store, hash, known)) return BF_OK;
    const struct chain as_it_was = *c;
    if (!reckon(f, c)) return BF_FULL;
    const enum store_result result = store_add(c->store, hash);
    if (result == STORE_OK) {
        *added = true;
        return BF_OK;
    }
    *c = as_it_was;
    return result == STORE_FULL && f->limit != 0 ? BF_LIMIT : BF_FAILED;
}

static void add_to_legacy(struct bf_legacy *f, const struct items *items, struct bf_batch *b) {
    for (; b->done < items->count; b->done++) {
        const size_t i = b->done;
        const enum legacy_result result = bf_legacy_add(f, items->bytes[i], items->length[i]);
        if (result != LEGACY_ADDED && result != LEGACY_PRESENT) {
            b->wrong = result == LEGACY_FULL ? BF_FULL : BF_FAILED;
            return;
        }
        b->fresh[i] = b->changed[i] = result == LEGACY_ADDED;
        b->changes += b->changed[i];
    }
}

/* All items fit and there is but one layer to add them to: no need to ask first. */
static bool takes_all(const struct bf *f, size_t count) {
    const struct chain *c = &f->in.chain[0];
    return f->chains == 1 && count <= c->last_capacity - c->last_size &&
           store_takes(c->store, count);
}

static void add_fresh(struct bf *f, const uint64_t *hashes, size_t count, struct bf_batch *b) {
    struct chain *c = &f->in.chain[0];
    if (!store_add_fresh(c->store, hashes, count, b->fresh, &b->changes)) {
        b->wrong = BF_FAILED;
        return;
    }
    memcpy(b->changed, b->fresh, count * sizeof *b->fresh);
    c->last_size += b->changes;
    b->done = count;
}

/* First all are asked in one go, which brings what they need into the cache; then those that
 * are not there are added one by one, since an item may come twice.  One that may be there for no
 * other reason than that a table could not be looked at must not be left out. */
static void ask_and_add(struct bf *f, const struct items *items, const uint64_t *hashes,
                        struct bf_batch *b) {
    const struct store *s = f->in.chain[0].store;
    uint32_t known = s->layers; /* layers that have not changed since they were asked */
    const size_t failures = shared_failures();
    bool newest[STORE_BATCH], others[STORE_BATCH];
    memset(newest, 0, items->count * sizeof *newest);
    memset(others, 0, items->count * sizeof *others);
    store_contains_batch(s, hashes, items->count, newest);
    ask_chains(f, 1, items, hashes, f->in.chain[0].epoch, others);
    if (shared_failures() != failures) {
        b->wrong = BF_FAILED;
        return;
    }
    for (; b->done < items->count; b->done++) {
        const size_t i = b->done;
        b->fresh[i] = b->changed[i] = false;
        if (newest[i] || (others[i] && f->window == 0)) continue;
        const uint32_t newest_layer = s->layers - 1;
        b->wrong = add_one(f, hashes[i], known, &b->changed[i]);
        if (b->wrong != BF_OK) return;
        if (b->changed[i] && known > newest_layer) known = newest_layer;
        b->fresh[i] = b->changed[i] && !others[i];
        b->changes += b->changed[i];
    }
}

void bf_add(struct bf *f, const struct items *items, struct bf_batch *b) {
    uint64_t hashes[STORE_BATCH];
    b->done = b->changes = 0;
    b->wrong = BF_OK;
    if (f->legacy != NULL) {
        add_to_legacy(f->legacy, items, b);
        return;
    }
    if (bf_is_loading(f)) {
        b->wrong = BF_LOADING;
        return;
    }
    if (bf_is_bud(f)) {
        bud_add(f, items, b);
        if (b->done == items->count) return;
        b->wrong = f->expansion == 0 ? BF_FULL : bf_unpack(f) ? BF_OK : BF_FAILED;
        if (b->wrong != BF_OK) return;
    }
    store_hash_items(f->in.chain[0].store, items, hashes);
    if (takes_all(f, items->count)) {
        add_fresh(f, hashes, items->count, b);
    } else {
        ask_and_add(f, items, hashes, b);
    }
}

/* ---- the window */

uint64_t bf_epoch(const struct bf *f, uint64_t milliseconds) {
    if (f->legacy != NULL || f->window == 0) return 0;
    /* Rounded up: all steps together must not be shorter than the window. */
    const uint64_t step = (f->window + f->generations - 1) / f->generations;
    return milliseconds / step;
}

bool bf_turn(struct bf *f, uint64_t epoch, bool *failed) {
    *failed = false;
    if (f->legacy != NULL || f->window == 0 || f->in.chain[0].epoch >= epoch) return false;
    if (bf_is_loading(f)) return false; /* pieces are numbered through all generations */
    uint8_t secret[TAMIS_SECRET_BYTES];
    memcpy(secret, f->in.chain[0].store->secret, sizeof secret);
    if (!chain_open(f, secret, epoch)) {
        *failed = true;
        return false;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->chains; i++) {
        if (is_alive(f, &f->in.chain[i], epoch)) {
            f->in.chain[kept++] = f->in.chain[i];
        } else {
            store_free(f->in.chain[i].store);
        }
    }
    f->chains = kept;
    return true;
}

/* ---- merging */

/* Unites a chain with one that is alike. */
static bool merge_alike(struct bf *into, const struct chain *from, bool *changed) {
    for (uint32_t i = 0; i < into->chains; i++) {
        struct chain *c = &into->in.chain[i];
        if (!store_merge(c->store, from->store, changed)) continue;
        const uint64_t keys = store_keys(c->store), size = c->last_size;
        if (keys > c->before + c->last_size) c->last_size = keys - c->before;
        if (c->last_size > c->last_capacity) c->last_size = c->last_capacity;
        *changed |= c->last_size != size;
        return true;
    }
    return false;
}

/* Is there memory for the chain of another filter? */
static bool has_room_for(const struct bf *f, const struct chain *guest) {
    return f->limit == 0 || bf_numbers(f).bytes + store_bytes(guest->store) <= f->limit;
}

static const char *merge_chain(struct bf *into, const struct chain *from, bool take_all,
                               bool *changed) {
    if (merge_alike(into, from, changed)) return NULL;
    *changed = true;
    if (into->chains == BF_CHAINS_MOST) return "ERR too many filters in one";
    if (!take_all && !has_room_for(into, from)) return "ERR the filter is at its memory limit";
    struct chain guest = *from;
    guest.guest = true;
    guest.store = store_copy(from->store);
    if (guest.store == NULL) return "ERR Insufficient memory";
    if (chains_insert(into, into->chains, &guest)) return NULL;
    store_free(guest.store);
    return "ERR Insufficient memory";
}

const char *bf_unmergeable(const struct bf *f) {
    if (f->window != 0) return "ERR a filter with a window is not merged";
    return bf_is_loading(f) ? "ERR the filter is being loaded" : NULL;
}

const char *bf_merge(struct bf *into, const struct bf *from, bool take_all, bool *changed) {
    if ((into->legacy == NULL) != (from->legacy == NULL)) {
        return "ERR a filter of RedisBloom can be merged with its like alone";
    }
    if (into->legacy != NULL) {
        *changed = true;
        return bf_legacy_merge(into->legacy, from->legacy)
                   ? NULL
                   : "ERR filters of RedisBloom must be of the same shape, and hold what both have";
    }
    struct bf *whole = bf_is_bud(from) ? bf_whole(from) : NULL;
    const struct bf *source = whole == NULL ? from : whole;
    const char *wrong = NULL;
    if (!bf_unpack(into) || bf_is_bud(source)) wrong = "ERR Insufficient memory";
    for (uint32_t i = 0; i < source->chains && wrong == NULL; i++) {
        wrong = merge_chain(into, &source->in.chain[i], take_all, changed);
    }
    bf_free(whole);
    bf_pack(into);
    return wrong;
}

/* ---- tables */

size_t bf_unready(const struct bf *f, size_t items, bool change) {
    if (f->legacy != NULL) return bf_legacy_unready(f->legacy, items, change);
    size_t unready = 0;
    for (uint32_t i = 0; i < f->chains; i++) {
        unready += store_unready(f->in.chain[i].store, items, change && i == 0);
    }
    return unready;
}

void bf_prepare(const struct bf *f) {
    if (f->legacy != NULL) bf_legacy_prepare(f->legacy);
    for (uint32_t i = 0; i < f->chains; i++) store_prepare(f->in.chain[i].store);
}

/* ---- numbers */

static struct bf_numbers legacy_numbers(const struct bf_legacy *l) {
    struct bf_numbers n = {.bytes = bf_legacy_bytes(l), .links = l->links, .items = l->size};
    for (uint32_t i = 0; i < l->links; i++) {
        n.capacity += l->link[i].entries;
        n.error += l->link[i].error;
    }
    return n;
}

struct bf_numbers bf_numbers(const struct bf *f) {
    if (f->legacy != NULL) return legacy_numbers(f->legacy);
    if (bf_is_bud(f)) {
        return (struct bf_numbers){.bytes = sizeof *f + bud_bytes(f->in.bud),
                                   .capacity = f->capacity,
                                   .links = 1,
                                   .items = bud_keys(f->in.bud),
                                   .error = f->error};
    }
    struct bf_numbers n = {.bytes = sizeof *f + f->chains * sizeof *f->in.chain};
    for (uint32_t i = 0; i < f->chains; i++) {
        const struct chain *c = &f->in.chain[i];
        n.bytes += store_bytes(c->store);
        n.capacity += c->before + c->last_capacity;
        n.links += c->links;
        n.items += c->before + c->last_size;
        if (f->window == 0) n.error += c->store->rate;
    }
    if (f->window != 0) n.error = f->error;
    return n;
}

uint64_t bf_items(const struct bf *f, uint64_t epoch) {
    if (f->legacy != NULL) return f->legacy->size;
    if (bf_is_bud(f)) return bud_keys(f->in.bud);
    uint64_t items = 0;
    for (uint32_t i = 0; i < f->chains; i++) {
        const struct chain *c = &f->in.chain[i];
        if (is_alive(f, c, epoch)) items += c->before + c->last_size;
    }
    return items;
}

size_t bf_effort(const struct bf *f) {
    if (f->legacy != NULL) return 1 + bf_legacy_bytes(f->legacy) / EFFORT_BYTES;
    size_t effort = bf_is_bud(f);
    for (uint32_t i = 0; i < f->chains; i++) effort += store_effort(f->in.chain[i].store);
    return effort;
}

bool bf_is_loading(const struct bf *f) {
    for (uint32_t i = 0; i < f->chains; i++) {
        if (f->in.chain[i].store->awaiting != 0) return true;
    }
    return false;
}
