/* foreign.c - public entry points: other systems' filters as formats, and making them
 *
 * A foreign filter is made as its system would make it: sized by that system's own rule for the
 * number of keys and the rate, and filled in the order in which the keys came, because some
 * systems' bytes depend on it.  Where the number of keys is not given, the hashes wait in
 * memory until all have come; repeats count, as they do there. */
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "plan/plan.h"
#include "tamis.h"

#define GROUP 4096
#define ROOM_FIRST 1024

/* --------------------------------------------------------------------- the formats */

static size_t codec_count(void) {
    size_t count = 0;
    while (tamis__codec_at(count) != NULL) count++;
    return count;
}

const char *tamis_format_at(size_t index) {
    const size_t codecs = codec_count();
    return index < codecs ? tamis__codec_at(index)->name : tamis__table_name(index - codecs);
}

const char *tamis_format_about(const char *name) {
    const struct tamis__codec *codec = name == NULL ? NULL : tamis__codec_find(name);
    for (size_t i = 0; codec == NULL && name != NULL && tamis__table_name(i) != NULL; i++) {
        if (strcmp(name, tamis__table_name(i)) == 0) return "a table: it holds filters";
    }
    return codec == NULL ? NULL : codec->about;
}

/* Tables and Parquet files are sure of themselves, and come first. */
static const char *guess_container(const uint8_t *bytes, size_t length) {
    for (size_t i = 0; tamis__table_name(i) != NULL; i++) {
        if (tamis__is_container(tamis__table_name(i), bytes, length)) return tamis__table_name(i);
    }
    return tamis__is_container("parquet", bytes, length) ? "parquet" : NULL;
}

const char *tamis_format_guess(const void *bytes, size_t length, size_t index) {
    if (bytes == NULL) return NULL;
    const char *container = guess_container(bytes, length);
    if (container != NULL && index-- == 0) return container;
    for (int wanted = TAMIS__SURE; wanted >= TAMIS__COULD; wanted--) {
        for (size_t i = 0; tamis__codec_at(i) != NULL; i++) {
            const struct tamis__codec *codec = tamis__codec_at(i);
            if ((int)codec->detect(bytes, length) == wanted && index-- == 0) return codec->name;
        }
    }
    return NULL;
}

const char *tamis_cannot(const tamis_filter *filter, const char *format) {
    const struct tamis__codec *codec = format == NULL ? NULL : tamis__codec_find(format);
    if (filter == NULL || codec == NULL) return "there is no such format";
    if (strchr(format, ':') != NULL) return "parameters are for making a filter, not for one made";
    return codec->refuse(filter);
}

tamis_status tamis_reformat(tamis_filter *filter, const char *format) {
    if (filter == NULL || format == NULL) return TAMIS_E_ARGUMENT;
    const struct tamis__codec *codec = tamis__codec_find(format);
    if (codec == NULL) return TAMIS_E_ARGUMENT;
    if (tamis_cannot(filter, format) != NULL) return TAMIS_E_CONVERT;
    filter->codec = codec == &tamis__native ? NULL : codec;
    return TAMIS_OK;
}

/* -------------------------------------------------------------------------- making */

bool tamis__is_foreign(const tamis_options *o) {
    return o->format != NULL && strcmp(o->format, tamis__native.name) != 0;
}

/* What the options ask of which codec. */
static tamis_status read_recipe(const tamis_options *o, const struct tamis__codec **codec,
                                struct tamis__recipe *recipe) {
    *codec = tamis__codec_find(o->format);
    if (*codec == NULL) return TAMIS_E_ARGUMENT;
    if ((*codec)->make == NULL || o->shared || o->secret != NULL || o->bytes != 0) {
        return TAMIS_E_UNSUPPORTED;
    }
    if (o->kind != TAMIS_AUTO || o->hasher != TAMIS_HASH_XXH3) return TAMIS_E_ARGUMENT;
    if (o->rate != 0 && !(o->rate > 0 && o->rate < 1)) return TAMIS_E_RATE;
    const char *colon = strchr(o->format, ':');
    *recipe = (struct tamis__recipe){.keys = o->capacity,
                                     .rate = o->rate,
                                     .bits = o->bits,
                                     .seed = o->seed,
                                     .parameters = colon == NULL ? "" : colon + 1};
    return tamis__parameters_known(recipe->parameters, (*codec)->parameters) ? TAMIS_OK
                                                                             : TAMIS_E_ARGUMENT;
}

static void read_like(const tamis_options *o, const struct tamis__codec *codec,
                      tamis_filter *like) {
    const struct tamis__want none = {0};
    tamis__filter_like(o, &none, like);
    like->codec = codec;
}

static tamis_status make_empty(const struct tamis__codec *codec, const struct tamis__recipe *recipe,
                               const tamis_filter *like, tamis_filter **out) {
    struct tamis__image image;
    const tamis_status status = codec->make(recipe, &image);
    return status == TAMIS_OK ? tamis__image_open(&image, like, out) : status;
}

tamis_status tamis__foreign_create(const tamis_options *o, tamis_filter **out) {
    const struct tamis__codec *codec;
    struct tamis__recipe recipe;
    tamis_filter like;
    const tamis_status status = read_recipe(o, &codec, &recipe);
    if (status != TAMIS_OK) return status;
    if (codec->build != NULL) return TAMIS_E_STATIC;
    read_like(o, codec, &like);
    return make_empty(codec, &recipe, &like, out);
}

/* -------------------------------------------------------------------- keys in order */

tamis_status tamis__order_open(const tamis_options *o, struct tamis__order *order) {
    struct tamis__image image;
    *order = (struct tamis__order){.count = 0};
    tamis_status status = read_recipe(o, &order->codec, &order->recipe);
    if (status != TAMIS_OK) return status;
    read_like(o, order->codec, &order->like);
    if (o->capacity != 0 && order->codec->build == NULL) {
        status = make_empty(order->codec, &order->recipe, &order->like, &order->direct);
        if (status == TAMIS_OK) order->like.hashing = order->direct->hashing;
        return status;
    }
    if (o->memory != 0) return TAMIS_E_UNSUPPORTED; /* the order would be lost by spilling */
    status = order->codec->make(&order->recipe, &image);
    if (status != TAMIS_OK) return status;
    order->like.hashing = image.hashing;
    const size_t length = strlen(order->recipe.parameters) + 1; /* the caller's may go away */
    char *parameters = tamis__alloc(&order->like.allocator, length);
    if (parameters == NULL) return TAMIS_E_NOMEM;
    order->recipe.parameters = memcpy(parameters, order->recipe.parameters, length);
    return TAMIS_OK;
}

static void release_words(struct tamis__order *order, uint64_t *words) {
    if (words != NULL) tamis__release(&order->like.allocator, words, order->room * sizeof *words);
}

void tamis__order_close(struct tamis__order *order) {
    if (order->codec == NULL) return;
    release_words(order, order->lo);
    release_words(order, order->hi);
    if (order->direct == NULL && order->recipe.parameters != NULL) {
        char *parameters = (char *)(uintptr_t)order->recipe.parameters;
        tamis__release(&order->like.allocator, parameters, strlen(parameters) + 1);
    }
    tamis_free(order->direct);
    *order = (struct tamis__order){.count = 0};
}

/* Room for more hashes: a copy, because a caller's allocator cannot resize. */
static tamis_status reserve(struct tamis__order *order, size_t count) {
    if (count <= order->room - order->count) return TAMIS_OK;
    const bool wide = !tamis__hashing_is_narrow(&order->like.hashing);
    size_t room = order->room < ROOM_FIRST ? ROOM_FIRST : order->room + order->room / 2;
    if (room - order->count < count) room = order->count + count;
    size_t size;
    if (!tamis__array_size(room, sizeof(uint64_t), &size)) return TAMIS_E_NOMEM;
    uint64_t *lo = tamis__alloc(&order->like.allocator, size);
    uint64_t *hi = wide ? tamis__alloc(&order->like.allocator, size) : NULL;
    if (lo == NULL || (wide && hi == NULL)) {
        tamis__release(&order->like.allocator, lo, size);
        tamis__release(&order->like.allocator, hi, size);
        return TAMIS_E_NOMEM;
    }
    if (order->count != 0) memcpy(lo, order->lo, order->count * sizeof *lo);
    if (order->count != 0 && wide) memcpy(hi, order->hi, order->count * sizeof *hi);
    release_words(order, order->lo);
    release_words(order, order->hi);
    order->lo = lo;
    order->hi = hi;
    order->room = room;
    return TAMIS_OK;
}

tamis_status tamis__order_add(struct tamis__order *order, const uint64_t *lo, const uint64_t *hi,
                              size_t count, size_t *done) {
    *done = 0;
    if (order->codec == NULL) return TAMIS_E_ARGUMENT; /* finished */
    if (order->direct != NULL) return tamis__filter_add(order->direct, lo, hi, count, done);
    const tamis_status status = reserve(order, count);
    if (status != TAMIS_OK) return status;
    if (count != 0) memcpy(order->lo + order->count, lo, count * sizeof *lo);
    if (count != 0 && order->hi != NULL) memcpy(order->hi + order->count, hi, count * sizeof *hi);
    order->count += count;
    *done = count;
    return TAMIS_OK;
}

static int compare_words(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How many keys to size for, where nobody said. */
static tamis_status count_keys(const struct tamis__order *order, uint64_t *keys) {
    *keys = order->count;
    if ((order->codec->flags & TAMIS__SIZED_BY_DISTINCT) == 0 || order->count == 0) {
        return TAMIS_OK;
    }
    const size_t size = order->count * sizeof *order->lo;
    uint64_t *sorted = tamis__alloc(&order->like.allocator, size);
    if (sorted == NULL) return TAMIS_E_NOMEM;
    memcpy(sorted, order->lo, size);
    qsort(sorted, order->count, sizeof *sorted, compare_words);
    for (size_t i = 1; i < order->count; i++) *keys -= sorted[i] == sorted[i - 1];
    tamis__release(&order->like.allocator, sorted, size);
    return TAMIS_OK;
}

static tamis_status fill(struct tamis__order *order, tamis_filter **out) {
    size_t done;
    tamis_status status = make_empty(order->codec, &order->recipe, &order->like, out);
    if (status != TAMIS_OK) return status;
    if ((*out)->ops->add == NULL) return TAMIS_OK; /* without bits: everything matches */
    status = tamis__filter_add(*out, order->lo, order->hi, order->count, &done);
    if (status != TAMIS_OK) {
        tamis_free(*out);
        *out = NULL;
    }
    return status;
}

/* Where nobody said for how many keys, a table that cannot take as many as it was made for is made
 * anew with twice the room, and so on: seiflotfy's has none to spare.  A key that comes more often
 * than it has places for does not fit into any. */
#define ROOM_MOST 4

static tamis_status fill_counted(struct tamis__order *order, tamis_filter **out) {
    const uint64_t counted = order->recipe.keys;
    tamis_status status = fill(order, out);
    while (status == TAMIS_E_FULL && order->recipe.keys / ROOM_MOST < counted) {
        order->recipe.keys *= 2;
        status = fill(order, out);
    }
    return status;
}

static tamis_status finish_all(struct tamis__order *order, tamis_filter **out) {
    const struct tamis__codec *codec = order->codec;
    if (codec->build == NULL) return fill_counted(order, out);
    return codec->build(&order->recipe, order->lo, order->count, &order->like, out);
}

tamis_status tamis__order_finish(struct tamis__order *order, tamis_filter **out) {
    tamis_status status = TAMIS_OK;
    if (order->codec == NULL) return TAMIS_E_ARGUMENT;
    if (order->direct != NULL) {
        *out = order->direct;
        order->direct = NULL;
        order->recipe.parameters = NULL;
    } else {
        if (order->recipe.keys == 0) status = count_keys(order, &order->recipe.keys);
        if (status == TAMIS_OK) status = finish_all(order, out);
    }
    tamis__order_close(order);
    return status;
}
