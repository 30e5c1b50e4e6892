/* seiflotfy.c - the cuckoo filter of seiflotfy/cuckoofilter (Go): the output of Encode
 *
 *     four bytes a bucket, a power of two of buckets; nothing else
 *
 * Follows Debian's 0.0~git20201222.  The scalable variant (a Go gob) is not supported.
 *
 * Quirks
 *   - There is no header: any file whose length is four times a power of two could be one.
 *   - Decode accepts any number of buckets, but the library finds keys only if it is a power of
 *     two: other lengths are rejected here.
 *   - The original evicts at random: the bytes are equal as long as nothing was evicted. */
#include <math.h>

#include "compat/common/each.h"
#include "compat/registry.h"
#include "core/bits.h"
#include "core/bytes.h"

#define SLOTS 4
#define BUCKETS_MAX ((uint64_t)1 << 32)
#define KEYS_DEFAULT 1000
#define KICKS 500
#define METRO_SEED 1337

enum { BUCKETS };

/* ---- the hash: MetroHash64 with seed 1337
 *
 * Keys of 32 bytes and more go through four lanes; the rest in pieces of 16, 8, 4, 2 and 1 bytes.
 * Of the several published MetroHashes this is the one with the multipliers below; metrohash64_1
 * and _2 have others. */

static const uint64_t metro_k0 = UINT64_C(0xd6d018f5);
static const uint64_t metro_k1 = UINT64_C(0xa2aa033b);
static const uint64_t metro_k2 = UINT64_C(0x62992fc1);
static const uint64_t metro_k3 = UINT64_C(0x30bc5b29);

TAMIS_TEMPLATE uint64_t metro_rotate(uint64_t x, unsigned right) {
    return x >> right | x << (64 - right);
}

/* All whole blocks of 32 bytes.  Each statement uses the results of those before it. */
static uint64_t metro_blocks(const uint8_t *p, size_t length, uint64_t h) {
    uint64_t v0 = h, v1 = h, v2 = h, v3 = h;
    for (; length >= 32; p += 32, length -= 32) {
        v0 = metro_rotate(v0 + tamis__load64(p) * metro_k0, 29) + v2;
        v1 = metro_rotate(v1 + tamis__load64(p + 8) * metro_k1, 29) + v3;
        v2 = metro_rotate(v2 + tamis__load64(p + 16) * metro_k2, 29) + v0;
        v3 = metro_rotate(v3 + tamis__load64(p + 24) * metro_k3, 29) + v1;
    }
    v2 ^= metro_rotate((v0 + v3) * metro_k0 + v1, 37) * metro_k1;
    v3 ^= metro_rotate((v1 + v2) * metro_k1 + v0, 37) * metro_k0;
    v0 ^= metro_rotate((v0 + v2) * metro_k0 + v3, 37) * metro_k1;
    v1 ^= metro_rotate((v1 + v3) * metro_k1 + v2, 37) * metro_k0;
    return h + (v0 ^ v1);
}

static uint64_t metro_16(const uint8_t *p, uint64_t h) {
    uint64_t v0 = metro_rotate(h + tamis__load64(p) * metro_k2, 29) * metro_k3;
    uint64_t v1 = metro_rotate(h + tamis__load64(p + 8) * metro_k2, 29) * metro_k3;
    v0 ^= metro_rotate(v0 * metro_k0, 21) + v1;
    v1 ^= metro_rotate(v1 * metro_k3, 21) + v0;
    return h + v1;
}

/* One word of 8, 4, 2 or 1 bytes; each size rotates by another amount. */
TAMIS_TEMPLATE uint64_t metro_word(uint64_t h, uint64_t word, unsigned turn) {
    h += word * metro_k3;
    return h ^ metro_rotate(h, turn) * metro_k1;
}

static struct tamis__hash hash_metro(const void *key, size_t length, uint64_t seed) {
    const uint8_t *p = (const uint8_t *)key;
    uint64_t h = (METRO_SEED + metro_k2) * metro_k0;
    (void)seed;

    if (length >= 32) {
        h = metro_blocks(p, length, h);
        p += length / 32 * 32;
    }
    if (length & 16) {
        h = metro_16(p, h);
        p += 16;
    }
    if (length & 8) {
        h = metro_word(h, tamis__load64(p), 55);
        p += 8;
    }
    if (length & 4) {
        h = metro_word(h, tamis__load32(p), 26);
        p += 4;
    }
    if (length & 2) {
        h = metro_word(h, tamis__load16(p), 48);
        p += 2;
    }
    if (length & 1) h = metro_word(h, *p, 37);

    h ^= metro_rotate(h, 28);
    h *= metro_k0;
    h ^= metro_rotate(h, 29);
    return (struct tamis__hash){h, 0};
}

static const struct tamis__compat_hash metro = {
    .id = 14, .name = "metrohash64", .hash = hash_metro};

/* ---- the family: buckets of four one-byte fingerprints
 *
 *     table   four bytes a bucket, 0 is an empty slot
 *     shape   word[0] buckets, a power of two
 *
 * A fingerprint is in bucket (h >> 32) mod n, or in that xor the hash of the fingerprint.  Where
 * both are full, others are moved up to 500 times.  The original moves at random and, if that
 * fails, loses the last one; here the fingerprints fix the choice, and a failure undoes all moves:
 * a filter that is full still has every key. */

struct quartet {
    tamis_filter base;
    uint64_t jump[256]; /* hash of each fingerprint: from one of its buckets to the other */
};

struct metro_key {
    uint64_t first, second; /* buckets */
    uint8_t fp;
};

static uint64_t mask_of(const tamis_filter *f) { return f->shape.word[BUCKETS] - 1; }

static struct metro_key fingerprint_of(const tamis_filter *f, uint64_t hash) {
    const uint8_t fp = (uint8_t)(hash % 255 + 1);
    const uint64_t first = (hash >> 32) & mask_of(f);
    const uint64_t jump = ((const struct quartet *)f)->jump[fp];
    return (struct metro_key){first, first ^ (jump & mask_of(f)), fp};
}

static uint8_t *slot_with(const tamis_filter *f, uint64_t bucket, uint8_t fp) {
    uint8_t *slots = f->table + bucket * SLOTS;
    for (unsigned i = 0; i < SLOTS; i++) {
        if (slots[i] == fp) return slots + i;
    }
    return NULL;
}

static uint8_t *find(const tamis_filter *f, struct metro_key p, uint8_t fp) {
    uint8_t *slot = slot_with(f, p.first, fp);
    return slot != NULL ? slot : slot_with(f, p.second, fp);
}

/* ---- eviction */

static void swap_with(uint8_t *slot, uint8_t *fp) {
    const uint8_t old = *slot;
    *slot = *fp;
    *fp = old;
}

/* Keeps the slots that it changes, so that a failure can undo all of it. */
static bool evict(tamis_filter *f, struct metro_key p) {
    const uint64_t *jump = ((const struct quartet *)f)->jump;
    uint8_t *path[KICKS], fp = p.fp;
    uint64_t bucket = (p.fp & 1) != 0 ? p.first : p.second;
    unsigned moved = 0;
    while (moved < KICKS) {
        path[moved] = f->table + bucket * SLOTS + (fp + moved) % SLOTS;
        swap_with(path[moved++], &fp);
        bucket ^= jump[fp] & mask_of(f);
        uint8_t *empty = slot_with(f, bucket, 0);
        if (empty != NULL) {
            *empty = fp;
            return true;
        }
    }
    while (moved-- > 0) swap_with(path[moved], &fp);
    return false;
}

/* ---- operations */

static bool quartet_contains(const tamis_filter *f, uint64_t hash) {
    const struct metro_key p = fingerprint_of(f, hash);
    return find(f, p, p.fp) != NULL;
}

static tamis_status quartet_add(tamis_filter *f, uint64_t hash, bool *fresh) {
    const struct metro_key p = fingerprint_of(f, hash);
    const bool was_there = fresh != NULL && find(f, p, p.fp) != NULL;
    uint8_t *empty = find(f, p, 0);
    if (empty != NULL) {
        *empty = p.fp;
    } else if (!evict(f, p)) {
        return TAMIS_E_FULL;
    }
    if (fresh != NULL) *fresh = !was_there;
    return TAMIS_OK;
}

static tamis_status quartet_remove(tamis_filter *f, uint64_t hash) {
    const struct metro_key p = fingerprint_of(f, hash);
    uint8_t *slot = find(f, p, p.fp);
    if (slot == NULL) return TAMIS_E_ABSENT;
    *slot = 0;
    return TAMIS_OK;
}

static unsigned copies_in(const tamis_filter *f, uint64_t bucket, uint8_t fp) {
    const uint8_t *slots = f->table + bucket * SLOTS;
    unsigned copies = 0;
    for (unsigned i = 0; i < SLOTS; i++) copies += slots[i] == fp;
    return copies;
}

static unsigned quartet_count(const tamis_filter *f, uint64_t hash) {
    const struct metro_key p = fingerprint_of(f, hash);
    const unsigned copies = copies_in(f, p.first, p.fp);
    return p.second == p.first ? copies : copies + copies_in(f, p.second, p.fp);
}

static const struct tamis__ops quartet_ops = {
    .path = "portable",
    .contains = quartet_contains,
    .contains_batch = tamis__contains_each,
    .add = quartet_add,
    .add_batch = tamis__add_each,
    .remove = quartet_remove,
};

/* ---- creating and freeing */

static bool quartet_check(const struct tamis__shape *shape) {
    const uint64_t n = shape->word[BUCKETS], exact = n * SLOTS;
    if (n == 0 || n > BUCKETS_MAX || (n & (n - 1)) != 0) return false;
    return shape->table_bytes >= exact && shape->table_bytes - exact < 8;
}

static tamis_status quartet_attach(tamis_filter *f) {
    uint64_t *jump = ((struct quartet *)f)->jump;
    for (unsigned i = 0; i < 256; i++) {
        const uint8_t fp = (uint8_t)i;
        jump[i] = hash_metro(&fp, 1, 0).lo;
    }
    return TAMIS_OK;
}

static void quartet_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    (void)shape;
    traits->hashes = 2;
    traits->width = 8;
    traits->cache_lines = 2;
}

static void quartet_state(const tamis_filter *f, struct tamis__state *state) {
    const uint64_t slots = f->shape.word[BUCKETS] * SLOTS;
    uint64_t taken = 0;
    for (uint64_t i = 0; i < slots; i++) taken += f->table[i] != 0;
    state->fill = (double)taken / (double)slots;
    state->distinct = (double)taken;
    state->capacity = slots;
    state->fpr_now = 1 - pow(254.0 / 255, 2 * SLOTS * state->fill);
    state->stages = 1;
}

static const struct tamis__family cuckoo_family = {
    .kind = TAMIS_CUCKOO,
    .layout = 34,
    .name = "cuckoo",
    .caps = TAMIS_CAN_ADD | TAMIS_CAN_REMOVE,
    .object_size = sizeof(struct quartet),
    .traits = quartet_traits,
    .check = quartet_check,
    .only_ops = &quartet_ops,
    .attach = quartet_attach,
    .state = quartet_state,
    .count = quartet_count,
};

/* ---- reading and writing */

static tamis_status check_length(uint64_t length) {
    const uint64_t buckets = length / SLOTS;
    if (length % SLOTS != 0 || (buckets & (buckets - 1)) != 0) return TAMIS_E_CORRUPT;
    return buckets == 0 || buckets > BUCKETS_MAX ? TAMIS_E_CORRUPT : TAMIS_OK;
}

static void cuckoo_contents(uint64_t buckets, struct tamis__contents *contents) {
    contents->shape = (struct tamis__shape){.word = {buckets}, .table_bytes = buckets * SLOTS};
}

static tamis_status cuckoo_decode(const uint8_t *bytes, uint64_t length,
                                  struct tamis__decoding *d) {
    const tamis_status status = length == 0 ? TAMIS_E_TRUNCATED : check_length(length);
    if (status != TAMIS_OK) return status;
    cuckoo_contents(length / SLOTS, &d->contents);
    for (uint64_t i = 0; i < length; i++) d->contents.adds += bytes[i] != 0;
    d->contents.table = bytes;
    return TAMIS_OK;
}

static enum tamis__detection cuckoo_detect(const struct tamis__codec *codec, const uint8_t *bytes,
                                           uint64_t length) {
    (void)codec, (void)bytes;
    return length >= 16 && check_length(length) == TAMIS_OK ? TAMIS__POSSIBLE : TAMIS__NO_MATCH;
}

static uint64_t cuckoo_encoded_size(const tamis_filter *f) {
    return f->shape.word[BUCKETS] * SLOTS;
}

static void cuckoo_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    memcpy(buffer, f->table, (size_t)size);
}

/* NewFilter rounds the capacity up to a power of two, for any load factor: a set that just fits
 * fills every slot, so leave room. */
static tamis_status cuckoo_make(const struct tamis__spec *spec, struct tamis__contents *contents) {
    const uint64_t keys = spec->capacity == 0 ? KEYS_DEFAULT : spec->capacity;
    if (keys > BUCKETS_MAX * SLOTS) return TAMIS_E_TOO_BIG;
    const uint64_t slots = keys <= 1 ? 1 : (uint64_t)1 << (tamis__log2(keys - 1) + 1);
    cuckoo_contents(slots < SLOTS ? 1 : slots / SLOTS, contents);
    contents->capacity = keys;
    return TAMIS_OK;
}

static const struct tamis__codec seiflotfy = {
    .name = "seiflotfy",
    .about = "seiflotfy/cuckoofilter (Go), Encode",
    .family = &cuckoo_family,
    .hash = &metro,
    .refusal = "the fingerprints come from that filter's own hash of each key: the keys are needed",
    .detect = cuckoo_detect,
    .decode = cuckoo_decode,
    .encoded_size = cuckoo_encoded_size,
    .encode = cuckoo_encode,
    .make = cuckoo_make,
};

const struct tamis__system tamis__system_seiflotfy = {
    .codecs = {&seiflotfy}, .families = {&cuckoo_family}, .hashes = {&metro}};
