/* redisbloom.c - RedisBloom's filters as BF.SCANDUMP and CF.SCANDUMP give them
 *
 *     header, then data: the chunks of a SCANDUMP one after the other (growing_foreign.c and
 *     cuckoo_foreign.c have the layouts).  The header is what LOADCHUNK takes with iterator 1;
 *     the data goes in pieces of at most 16 MiB that do not cross a link, each with the
 *     iterator 1 + bytes of data so far, its own included.
 *
 * Follows RedisBloom 2.8.20.  See redis_dump.c for DUMP payloads.
 *
 * Quirks
 *   - A Bloom filter counts only keys that were new, a cuckoo filter every add.
 *   - SCANDUMP of a cuckoo filter without keys gives nothing at all; DUMP works.
 *   - The oldest Bloom filters hash to 32 bits (no FORCE64 in their options): these can be
 *     asked, and added to until their last link is full. */
#include <math.h>

#include "core/bits.h"
#include "core/bytes.h"
#include "family/chain_link.h"
#include "family/scheme.h"
#include "format/redisbloom.h"

#define RATE_DEFAULT 0.01
#define KEYS_DEFAULT 100
#define CUCKOO_DEFAULT 1024
#define OPTION_NOROUND 1
#define OPTION_FORCE64 4
#define OPTION_FIXED 8

enum { EXACT };

/* ---- reading */

void tamis__redis_image(uint32_t scheme, uint32_t options, uint64_t bytes,
                        struct tamis__image *image) {
    const bool chain = scheme == TAMIS__SCHEME_CHAIN;
    *image =
        (struct tamis__image){.kind = chain ? TAMIS_GROWING : TAMIS_CUCKOO,
                              .shape = {.word = {bytes}, .table_bytes = bytes, .scheme = scheme}};
    tamis__hashing_foreign(&image->hashing,
                           !chain                            ? TAMIS__FOREIGN_REDIS_CUCKOO
                           : (options & OPTION_FORCE64) != 0 ? TAMIS__FOREIGN_MURMUR64A
                                                             : TAMIS__FOREIGN_MURMUR2,
                           0);
}

/* A chain's third word is its number of links, 1 or a few, and its options; a cuckoo filter's
 * second number is a power of two.  Which it is the lengths tell: they must come out even. */
static bool chain_adds_up(const uint8_t *bytes, uint64_t length) {
    if (length < TAMIS__CHAIN_HEADER + TAMIS__CHAIN_LINK) return false;
    const uint64_t links = tamis__load32(bytes + 8);
    if (links == 0 || links > (length - TAMIS__CHAIN_HEADER) / TAMIS__CHAIN_LINK) return false;
    uint64_t left = length - TAMIS__CHAIN_HEADER - links * TAMIS__CHAIN_LINK;
    for (uint64_t i = 0; i < links; i++) {
        const uint8_t *link = bytes + TAMIS__CHAIN_HEADER + i * TAMIS__CHAIN_LINK;
        const uint64_t size = tamis__load64(link);
        if (size == 0 || size > left || tamis__load64(link + 8) != size * 8) return false;
        left -= size;
    }
    return left == 0;
}

static bool cuckoo_adds_up(const uint8_t *bytes, uint64_t length) {
    if (length <= TAMIS__SUBTABLES_HEADER) return false;
    uint64_t left = length - TAMIS__SUBTABLES_HEADER, buckets = tamis__load64(bytes + 8);
    const uint64_t tables = tamis__load64(bytes + 24), size = tamis__load16(bytes + 32);
    if (tables == 0 || tables > left || size == 0) return false;
    for (uint64_t i = 0; i < tables; i++) {
        if (buckets == 0 || buckets > left / size) return false;
        left -= buckets * size;
        if (buckets > UINT64_MAX >> 16) return false;
        buckets *= tamis__load16(bytes + 36);
    }
    return left == 0;
}

static tamis_status redis_decode(const uint8_t *bytes, uint64_t length, const tamis_filter *like,
                                 const tamis_open_options *options, tamis_filter **out) {
    struct tamis__image image;
    (void)options;
    if (length < TAMIS__SUBTABLES_HEADER) return TAMIS_E_TRUNCATED;
    if (chain_adds_up(bytes, length)) {
        tamis__redis_image(TAMIS__SCHEME_CHAIN, tamis__load32(bytes + 12), length, &image);
        image.adds = tamis__load64(bytes);
    } else if (cuckoo_adds_up(bytes, length)) {
        tamis__redis_image(TAMIS__SCHEME_SUBTABLES, 0, length, &image);
        image.adds = tamis__load64(bytes);
    } else {
        return TAMIS_E_CORRUPT;
    }
    image.table = bytes;
    return tamis__image_open(&image, like, out);
}

static enum tamis__likeness redis_detect(const uint8_t *bytes, uint64_t length) {
    return chain_adds_up(bytes, length) || cuckoo_adds_up(bytes, length) ? TAMIS__SURE : TAMIS__NOT;
}

static uint64_t redis_encoded_size(const tamis_filter *f) { return f->shape.word[EXACT]; }

static tamis_status redis_encode(const tamis_filter *f, uint8_t *buffer) {
    f->family->export_table(f, buffer);
    return TAMIS_OK;
}

/* ---- making */

/* A whole number of at most `most`; `fallback` if it is not given. */
static bool whole(const struct tamis__recipe *recipe, const char *name, double fallback,
                  double most, uint64_t *value) {
    double number = fallback;
    if (!tamis__parameter_number(recipe->parameters, name, &number)) return false;
    if (number != floor(number) || number > most) return false;
    *value = (uint64_t)number;
    return true;
}

static tamis_status make_chain(const struct tamis__recipe *recipe, struct tamis__image *image) {
    const bool fixed = tamis__parameter(recipe->parameters, "nonscaling");
    const double rate = recipe->rate == 0 ? RATE_DEFAULT : recipe->rate;
    const uint64_t entries = recipe->keys == 0 ? KEYS_DEFAULT : recipe->keys;
    const double error = fixed ? rate : rate * 0.5;
    const uint32_t options = OPTION_FORCE64 | OPTION_NOROUND | (fixed ? OPTION_FIXED : 0);
    struct tamis__chain_link link;
    uint64_t growth;
    if (!whole(recipe, "expansion", 2, 32768, &growth) || growth == 0) return TAMIS_E_ARGUMENT;
    if (!tamis__chain_link_size(entries, error, &link)) return TAMIS_E_TOO_BIG;
    tamis__redis_image(TAMIS__SCHEME_CHAIN, options,
                       TAMIS__CHAIN_HEADER + TAMIS__CHAIN_LINK + link.bytes, image);
    image->shape.word[1] = entries;
    image->shape.word[2] = growth;
    image->shape.word[3] = options;
    image->shape.word[4] = tamis__double_bits(error);
    image->capacity = entries;
    image->rate = rate;
    return TAMIS_OK;
}

static uint64_t next_power_of_two(uint64_t x) {
    return x <= 1 ? x : (uint64_t)1 << (tamis__log2(x - 1) + 1);
}

static tamis_status make_cuckoo(const struct tamis__recipe *recipe, struct tamis__image *image) {
    const uint64_t keys = recipe->keys == 0 ? CUCKOO_DEFAULT : recipe->keys;
    uint64_t size, iterations, expansion;
    if (!whole(recipe, "bucket", 2, 255, &size) || size == 0 ||
        !whole(recipe, "iterations", 20, UINT16_MAX, &iterations) || iterations == 0 ||
        !whole(recipe, "expansion", 1, 32768, &expansion)) {
        return TAMIS_E_ARGUMENT;
    }
    if (keys > (uint64_t)1 << 48) return TAMIS_E_TOO_BIG;
    const uint64_t wanted = next_power_of_two(keys / size);
    const uint64_t buckets = wanted == 0 ? 1 : wanted;
    tamis__redis_image(TAMIS__SCHEME_SUBTABLES, 0, TAMIS__SUBTABLES_HEADER + buckets * size, image);
    image->shape.word[1] = buckets;
    image->shape.word[2] = size;
    image->shape.word[3] = iterations;
    image->shape.word[4] = next_power_of_two(expansion);
    image->capacity = keys;
    return TAMIS_OK;
}

tamis_status tamis__redis_make(const struct tamis__recipe *recipe, struct tamis__image *image) {
    return tamis__parameter(recipe->parameters, "cuckoo") ? make_cuckoo(recipe, image)
                                                          : make_chain(recipe, image);
}

/* Has it the hash that its header tells? */
static bool fits(const tamis_filter *f) {
    uint8_t header[TAMIS__CHAIN_HEADER];
    struct tamis__image image;
    const uint32_t scheme = f->shape.scheme;
    if (scheme != TAMIS__SCHEME_CHAIN && scheme != TAMIS__SCHEME_SUBTABLES) return false;
    if (scheme == TAMIS__SCHEME_CHAIN) tamis__chain_header(f, header);
    const uint32_t options = scheme == TAMIS__SCHEME_CHAIN ? tamis__load32(header + 12) : 0;
    tamis__redis_image(scheme, options, f->shape.table_bytes, &image);
    return f->hashing.foreign == image.hashing.foreign;
}

const char *tamis__redis_refuse(const tamis_filter *f) {
    return fits(f) ? NULL
                   : "RedisBloom's bits come from its own hash of each key: the keys are needed";
}

const struct tamis__codec tamis__redisbloom = {
    .name = "redisbloom",
    .about = "RedisBloom filter, Bloom or cuckoo: SCANDUMP header and data in one file",
    .parameters = "expansion,nonscaling,cuckoo,bucket,iterations",
    .detect = redis_detect,
    .decode = redis_decode,
    .encoded_size = redis_encoded_size,
    .encode = redis_encode,
    .make = tamis__redis_make,
    .refuse = tamis__redis_refuse,
};
