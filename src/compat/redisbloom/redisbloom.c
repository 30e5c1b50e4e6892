/* redisbloom.c - RedisBloom's filters as BF.SCANDUMP and CF.SCANDUMP give them
 *
 *     header, then data: the chunks of a SCANDUMP one after the other (bloom_chain.c and
 *     cuckoo_tables.c have the layouts).  The header is what LOADCHUNK takes with iterator 1;
 *     the data goes in chunks of at most 16 MiB that do not cross a sub-filter, each with the
 *     iterator 1 + bytes of data up to its end.
 *
 * Follows RedisBloom 2.8.20.  See redis_dump.c for DUMP payloads.
 *
 * Quirks
 *   - A Bloom filter counts only keys that were new, a cuckoo filter every add.
 *   - SCANDUMP of a cuckoo filter without keys returns nothing; DUMP works.
 *   - The oldest Bloom filters hash to 32 bits (no FORCE64 in their options). */
#include <math.h>

#include "compat/common/hashes.h"
#include "compat/parameters.h"
#include "compat/redisbloom/redisbloom.h"
#include "compat/registry.h"
#include "core/bits.h"
#include "core/bytes.h"

#define FPR_DEFAULT 0.01
#define KEYS_DEFAULT 100
#define CUCKOO_DEFAULT 1024
#define OPTION_NOROUND 1
#define OPTION_FORCE64 4
#define OPTION_FIXED 8

/* ---- the hashes: MurmurHash64A, MurmurHash2 with 64-bit words
 *
 * Bloom filters hash a key twice, with the multiplier itself as seed and with the first hash as
 * seed; cuckoo filters hash it once with seed 0. */

#define MULTIPLIER UINT64_C(0xc6a4a7935bd1e995)

static uint64_t murmur64a(const void *key, size_t length, uint64_t seed) {
    const uint64_t m = MULTIPLIER;
    const uint8_t *p = (const uint8_t *)key;
    uint64_t h = seed ^ ((uint64_t)length * m);

    for (; length >= 8; p += 8, length -= 8) {
        uint64_t k = tamis__load64(p) * m;
        k ^= k >> 47;
        h = (h ^ (k * m)) * m;
    }
    if (length > 0) h = (h ^ tamis__load_tail(p, length)) * m;

    h ^= h >> 47;
    h *= m;
    h ^= h >> 47;
    return h;
}

static struct tamis__hash hash_bloom(const void *key, size_t length, uint64_t seed) {
    const uint64_t a = murmur64a(key, length, MULTIPLIER);
    (void)seed;
    return (struct tamis__hash){a, murmur64a(key, length, a)};
}
static struct tamis__hash hash_cuckoo(const void *key, size_t length, uint64_t seed) {
    (void)seed;
    return (struct tamis__hash){murmur64a(key, length, 0), 0};
}

static const struct tamis__compat_hash bloom_hash = {
    .id = 7, .wide = true, .name = "murmur64a (twice)", .hash = hash_bloom};
static const struct tamis__compat_hash cuckoo_hash = {
    .id = 8, .name = "murmur64a", .hash = hash_cuckoo};

/* ---- reading */

void tamis__redis_contents(bool chain, uint32_t options, uint64_t bytes,
                           struct tamis__contents *contents) {
    *contents =
        (struct tamis__contents){.family = chain ? &tamis__growing_compat : &tamis__cuckoo_compat,
                                 .shape = {.word = {bytes}, .table_bytes = bytes}};
    tamis__hashing_compat(&contents->hashing,
                          !chain                            ? &cuckoo_hash
                          : (options & OPTION_FORCE64) != 0 ? &bloom_hash
                                                            : &tamis__hash_murmur2,
                          0);
}

/* A chain's third word is its number of sub-filters, 1 or a few, and its options; a cuckoo filter's
 * second number is a power of two.  The lengths decide: they must add up to the end. */
static bool chain_adds_up(const uint8_t *bytes, uint64_t length) {
    if (length < TAMIS__CHAIN_HEADER + TAMIS__CHAIN_SUB) return false;
    const uint64_t subs = tamis__load32(bytes + 8);
    if (subs == 0 || subs > (length - TAMIS__CHAIN_HEADER) / TAMIS__CHAIN_SUB) return false;
    uint64_t left = length - TAMIS__CHAIN_HEADER - subs * TAMIS__CHAIN_SUB;
    for (uint64_t i = 0; i < subs; i++) {
        const uint8_t *sub = bytes + TAMIS__CHAIN_HEADER + i * TAMIS__CHAIN_SUB;
        const uint64_t size = tamis__load64(sub);
        if (size == 0 || size > left || tamis__load64(sub + 8) != size * 8) return false;
        left -= size;
    }
    return left == 0;
}

static bool cuckoo_adds_up(const uint8_t *bytes, uint64_t length) {
    if (length <= TAMIS__CUCKOO_HEADER) return false;
    uint64_t left = length - TAMIS__CUCKOO_HEADER, buckets = tamis__load64(bytes + 8);
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

static void contents_of(bool chain, const uint8_t *bytes, uint64_t length,
                        struct tamis__contents *contents) {
    tamis__redis_contents(chain, chain ? tamis__load32(bytes + 12) : 0, length, contents);
    contents->adds = tamis__load64(bytes);
    contents->table = bytes;
}

static tamis_status redis_decode(const uint8_t *bytes, uint64_t length, struct tamis__decoding *d) {
    if (length < TAMIS__CUCKOO_HEADER) return TAMIS_E_TRUNCATED;
    const bool chain = chain_adds_up(bytes, length);
    if (!chain && !cuckoo_adds_up(bytes, length)) return TAMIS_E_CORRUPT;
    contents_of(chain, bytes, length, &d->contents);
    return TAMIS_OK;
}

/* The lengths distinguish the two headers: 20 + 53 n is never 38. */
static tamis_status redis_open_header(const uint8_t *header, uint64_t length,
                                      const struct tamis__settings *settings, tamis_filter **out) {
    const bool chain = length != TAMIS__CUCKOO_HEADER;
    struct tamis__contents contents;
    if (chain && length < TAMIS__CHAIN_HEADER + TAMIS__CHAIN_SUB) return TAMIS_E_TRUNCATED;
    contents_of(chain, header, length, &contents);
    return tamis__filter_make(&contents, settings, out);
}

static void redis_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    (void)size;
    f->family->export_table(f, buffer);
}

/* ---- making */

/* A whole number of at most `most`; `fallback` if it is not given. */
static bool whole(const struct tamis__spec *spec, const char *name, double fallback, double max,
                  uint64_t *value) {
    double number = fallback;
    if (!tamis__parameter_number(spec->parameters, name, &number)) return false;
    if (number != floor(number) || number > max) return false;
    *value = (uint64_t)number;
    return true;
}

static tamis_status make_chain(const struct tamis__spec *spec, struct tamis__contents *contents) {
    const bool fixed = tamis__parameter(spec->parameters, "nonscaling");
    const double fpr = spec->fpr == 0 ? FPR_DEFAULT : spec->fpr;
    const uint64_t entries = spec->capacity == 0 ? KEYS_DEFAULT : spec->capacity;
    const double error = fixed ? fpr : fpr * 0.5;
    const uint32_t options = OPTION_FORCE64 | OPTION_NOROUND | (fixed ? OPTION_FIXED : 0);
    struct tamis__subfilter sub;
    uint64_t growth;
    if (!whole(spec, "expansion", 2, 32768, &growth) || growth == 0) return TAMIS_E_ARGUMENT;
    if (!tamis__chain_sub_size(entries, error, options, &sub)) return TAMIS_E_TOO_BIG;
    tamis__redis_contents(true, options, TAMIS__CHAIN_HEADER + TAMIS__CHAIN_SUB + sub.bytes,
                          contents);
    contents->shape.word[1] = entries;
    contents->shape.word[2] = growth;
    contents->shape.word[3] = options;
    contents->shape.word[4] = tamis__double_bits(error);
    contents->capacity = entries;
    contents->fpr = fpr;
    return TAMIS_OK;
}

static uint64_t next_power_of_two(uint64_t x) {
    return x <= 1 ? x : (uint64_t)1 << (tamis__log2(x - 1) + 1);
}

static tamis_status make_cuckoo(const struct tamis__spec *spec, struct tamis__contents *contents) {
    const uint64_t keys = spec->capacity == 0 ? CUCKOO_DEFAULT : spec->capacity;
    uint64_t size, iterations, expansion;
    if (!whole(spec, "bucket", 2, 255, &size) || size == 0 ||
        !whole(spec, "iterations", 20, UINT16_MAX, &iterations) || iterations == 0 ||
        !whole(spec, "expansion", 1, 32768, &expansion)) {
        return TAMIS_E_ARGUMENT;
    }
    if (keys > (uint64_t)1 << 48) return TAMIS_E_TOO_BIG;
    const uint64_t needed = next_power_of_two(keys / size);
    const uint64_t buckets = needed == 0 ? 1 : needed;
    tamis__redis_contents(false, 0, TAMIS__CUCKOO_HEADER + buckets * size, contents);
    contents->shape.word[1] = buckets;
    contents->shape.word[2] = size;
    contents->shape.word[3] = iterations;
    contents->shape.word[4] = next_power_of_two(expansion);
    contents->capacity = keys;
    return TAMIS_OK;
}

tamis_status tamis__redis_make(const struct tamis__spec *spec, struct tamis__contents *contents) {
    return tamis__parameter(spec->parameters, "cuckoo") ? make_cuckoo(spec, contents)
                                                        : make_chain(spec, contents);
}

/* Does it have the hash that its header requires? */
static bool fits(const tamis_filter *f) {
    struct tamis__contents contents;
    const bool chain = f->family == &tamis__growing_compat;
    if (!chain && f->family != &tamis__cuckoo_compat) return false;
    tamis__redis_contents(chain, tamis__const_subs(f)->options, f->shape.table_bytes, &contents);
    return f->hashing.compat == contents.hashing.compat;
}

const char *tamis__redis_reason(const struct tamis__codec *codec, const tamis_filter *f) {
    (void)codec;
    return fits(f) ? NULL
                   : "RedisBloom's bits come from its own hash of each key: the keys are needed";
}

static const struct tamis__codec redisbloom = {
    .name = "redisbloom",
    .about = "RedisBloom filter, Bloom or cuckoo: SCANDUMP header and data in one file",
    .parameters = "expansion,nonscaling,cuckoo,bucket,iterations",
    .decode = redis_decode,
    .open_header = redis_open_header,
    .encoded_size = tamis__subs_export_bytes,
    .encode = redis_encode,
    .make = tamis__redis_make,
    .reason = tamis__redis_reason,
};

const struct tamis__system tamis__system_redisbloom = {
    .codecs = {&redisbloom, &tamis__redisbloom_dump},
    .families = {&tamis__growing_compat, &tamis__cuckoo_compat},
    .hashes = {&bloom_hash, &cuckoo_hash, &tamis__hash_murmur2},
};
