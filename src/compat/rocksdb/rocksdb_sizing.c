/* rocksdb_sizing.c - how RocksDB sizes its filters
 *
 * Doubles are computed in RocksDB's order: a size that is one block off is another filter. */
#include <math.h>

#include "compat/parameters.h"
#include "compat/rocksdb/rocksdb.h"
#include "core/bits.h"

#define BITS_DEFAULT 10
#define BITS_MIN 1
#define BITS_MAX 100
#define BLOOM_BYTES_MAX UINT64_C(0xffffffc0)
#define RIBBON_KEYS_MAX 950000000
#define SMALL_SLOTS 1024
#define META 5

/* ---- bits per key */

static uint64_t millibits(double bits) { return (uint64_t)(bits * 1000 + 0.500001); }

uint64_t tamis__rocksdb_hashes(double bits) {
    static const uint16_t limit[] = {2080,  3580,  5100,  6640,  8300,  10070,
                                     11720, 14001, 16050, 18300, 22001, 25501};
    const uint64_t mb = millibits(bits);
    for (unsigned i = 0; i < sizeof limit / sizeof *limit; i++) {
        if (mb <= limit[i]) return i + 1;
    }
    return mb > 50000 ? 24 : (mb - 1) / 2000 - 1;
}

static double standard_fpr(double bits, double hashes) {
    return pow(1 - exp(-hashes / bits), hashes);
}

/* The number of keys in a block varies: the mean of one deviation up and one down. */
static double bloom_fpr(double bits) {
    const double hashes = (double)tamis__rocksdb_hashes(bits);
    const double keys = 512 / bits, deviation = sqrt(keys);
    const double crowded = standard_fpr(512 / (keys + deviation), hashes);
    const double sparse = standard_fpr(512 / (keys - deviation), hashes);
    return (crowded + sparse) / 2;
}

tamis_status tamis__rocksdb_bits(const struct tamis__spec *spec, double *bits) {
    *bits = BITS_DEFAULT;
    if (!tamis__parameter_number(spec->parameters, "bits", bits)) return TAMIS_E_ARGUMENT;
    if (tamis__parameter(spec->parameters, "bits") || spec->fpr == 0) {
        if (*bits < 0.5) return TAMIS_E_ARGUMENT; /* RocksDB creates no filter then */
        *bits = *bits < BITS_MIN ? BITS_MIN : *bits > BITS_MAX ? BITS_MAX : *bits;
        return TAMIS_OK;
    }
    for (int tenths = 10 * BITS_MIN; tenths <= 10 * BITS_MAX; tenths++) {
        *bits = tenths / 10.0;
        if (bloom_fpr(*bits) <= spec->fpr) return TAMIS_OK;
    }
    return TAMIS_E_FPR_TOO_LOW;
}

/* ---- Bloom */

uint64_t tamis__rocksdb_blocks(uint64_t keys, double bits) {
    const uint64_t mb = millibits(bits);
    if (keys > UINT64_MAX / 200000) return BLOOM_BYTES_MAX / 64;
    const uint64_t bytes = (keys * mb + 7999) / 8000;
    const uint64_t lines = tamis__div_up(bytes, 64);
    return lines < BLOOM_BYTES_MAX / 64 ? lines : BLOOM_BYTES_MAX / 64;
}

/* An odd number, so that the modulo uses all bits of the hash. */
uint64_t tamis__rocksdb_legacy_blocks(uint64_t keys, double bits, uint64_t *hashes) {
    const uint64_t whole = (millibits(bits) + 500) / 1000;
    const uint64_t k = (uint64_t)((double)whole * 0.69);
    *hashes = k < 1 ? 1 : k > 30 ? 30 : k;
    if (keys == 0) return 0;
    if (keys > UINT64_MAX / 1024) return UINT64_MAX;
    return tamis__div_up(keys * whole, 512) | 1;
}

/* ---- Ribbon */

/* The keys that 2^lg slots hold with a chance of failure of about one in two, as measured by
 * RocksDB's authors. */
static double keys_for_slots(int lg) {
    static const double measured[18] = {0,       0,       0,       0,       0,       0,
                                        0,       0,       248.851, 499.532, 1001.26, 2003.97,
                                        4005.59, 8000.39, 15966.6, 31828.1, 63447.3, 126506};
    if (lg < 18) return measured[lg < 0 ? 0 : lg];
    const double slope = 0.0038;
    const double at17 = ldexp(1, 17) / measured[17], steps17 = 17 * slope, steps = lg * slope;
    return ldexp(1, lg) / (at17 - steps17 + steps);
}

static uint64_t ribbon_slots(uint64_t keys) {
    const double n = (double)keys;
    const double exact = log(n) * 1.4426950409;
    int lg = (int)(exact + 0.5);
    double below = keys_for_slots(lg), above;
    if (lg == 0 || below == 0) return 256;
    if (n < below) {
        above = below;
        lg--;
        below = keys_for_slots(lg);
    } else {
        above = keys_for_slots(lg + 1);
    }
    const double share = (n - below) / (above - below), power = ldexp(1, lg);
    const double more = share * power;
    const uint64_t slots = (uint64_t)(more + power + 0.999999999);
    const uint64_t rounded = tamis__div_up(slots, 128) * 128;
    return rounded < 256 ? 256 : rounded;
}

static uint64_t ribbon_segments(uint64_t slots, double one_in, uint64_t first) {
    const uint64_t blocks = slots / 128;
    if (!(one_in > 1)) return 1;
    if (one_in > 4294967295.0) return blocks * 32;
    const int lower = (int)tamis__log2((uint64_t)one_in);
    const double low_fpr = ldexp(1, -(lower + 1)), high_fpr = ldexp(1, -lower);
    const double share = (1 / one_in - low_fpr) / (high_fpr - low_fpr);
    const double bias = ((double)(first >> 32) + 0.5) / 4294967296.0;
    const double starts = (double)(slots - 127);
    const double shorter = share * starts;
    return blocks * (uint64_t)lower + blocks - (uint64_t)((shorter + bias) / 128);
}

bool tamis__rocksdb_ribbon(uint64_t keys, double bits, uint64_t first, uint64_t *blocks,
                           uint64_t *segments) {
    if (keys > RIBBON_KEYS_MAX) return false;
    const uint64_t slots = ribbon_slots(keys);
    *blocks = slots / 128;
    *segments = ribbon_segments(slots, 1 / bloom_fpr(bits), first);
    const uint64_t bytes = *segments * 16 + META, bloom = tamis__rocksdb_blocks(keys, bits) * 64;
    return slots >= SMALL_SLOTS || bloom + META >= bytes;
}
