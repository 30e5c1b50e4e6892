/* xor_singleheader.c - the xor and binary fuse filters of FastFilter's C library
 *
 *     fuse, serialize  u64 seed, u32 keys, u32 segment length, u32 segments,
 *                      u32 segments * length, u32 fingerprints, then the fingerprints
 *     fuse, pack       u64 seed, u32 keys, then packed fingerprints
 *     xor, serialize   u64 seed, u64 block length, then 3 * length fingerprints
 *     xor, pack        u64 seed, u64 block length, then packed fingerprints
 *     packed           a bit for each fingerprint, the lowest first, set where it is not 0; then
 *                      those that are not 0
 *
 * Fingerprints of 8 or 16 bits; everything in the byte order of the writer, here little-endian.
 * Follows c482686.  Keys are 64-bit integers.
 *
 * Quirks
 *   - binary_fuse16_serialization_bytes returns four bytes too many: 16-bit files end with four
 *     unused bytes or not.  Both are read, and written back unchanged.
 *   - The geometry of packed fuse filters is computed from the number of keys.
 *   - The library's xor filters have uninitialised bytes in unused slots; zeros are written here.
 */
#include <math.h>

#include "compat/fastfilter/fastfilter.h"
#include "compat/registry.h"
#include "core/bits.h"
#include "core/bytes.h"
#include "family/sizing.h"

#define FUSE_HEADER 28
#define FUSE_PACKED 12
#define XOR_HEADER 16
#define TRAIL 4
#define SLOTS_MAX ((uint64_t)1 << 40)

/* The key itself; callers check that there are 8 bytes. */
static struct tamis__hash hash_integer(const void *key, size_t length, uint64_t seed) {
    (void)seed;
    return (struct tamis__hash){length == 8 ? tamis__load64(key) : 0, 0};
}

static const struct tamis__compat_hash integers = {
    .id = 13, .integers = true, .name = "none (64-bit integers)", .hash = hash_integer};

/* ---- queries: a key is present if its fingerprint is the xor of three slots */

TAMIS_TEMPLATE struct tamis__fast_slots slots_of(const tamis_filter *f, uint64_t hash,
                                                 tamis_kind kind) {
    return tamis__fast_slots(kind, hash, f->shape.word[TAMIS__FAST_LENGTH],
                             f->shape.word[TAMIS__FAST_SEGMENTS]);
}

TAMIS_TEMPLATE bool slots_hold(const tamis_filter *f, const struct tamis__fast_slots *s,
                               uint64_t hash, uint64_t width) {
    const uint16_t sum = tamis__fast_get(f->table, s->at[0], width) ^
                         tamis__fast_get(f->table, s->at[1], width) ^
                         tamis__fast_get(f->table, s->at[2], width);
    return sum == tamis__fast_fingerprint(hash, width);
}

TAMIS_TEMPLATE bool fast_contains(const tamis_filter *f, uint64_t key, tamis_kind kind,
                                  uint64_t width) {
    const uint64_t hash = tamis__fast_hash(key, f->shape.word[TAMIS__FAST_SEED]);
    const struct tamis__fast_slots s = slots_of(f, hash, kind);
    return slots_hold(f, &s, hash, width);
}

TAMIS_TEMPLATE size_t fast_contains_batch(const tamis_filter *f, const uint64_t *keys, size_t count,
                                          bool *answers, tamis_kind kind, uint64_t width) {
    struct tamis__fast_slots slots[TAMIS__PREFETCHED_KEYS];
    uint64_t hash[TAMIS__PREFETCHED_KEYS];
    size_t found = 0;
    for (size_t at = 0; at < count; at += TAMIS__PREFETCHED_KEYS) {
        const size_t n = count - at < TAMIS__PREFETCHED_KEYS ? count - at : TAMIS__PREFETCHED_KEYS;
        for (size_t i = 0; i < n; i++) {
            hash[i] = tamis__fast_hash(keys[at + i], f->shape.word[TAMIS__FAST_SEED]);
            slots[i] = slots_of(f, hash[i], kind);
            for (int j = 0; j < 3; j++) TAMIS_PREFETCH(f->table + slots[i].at[j] * (width / 8));
        }
        for (size_t i = 0; i < n; i++) {
            const bool maybe = slots_hold(f, &slots[i], hash[i], width);
            if (answers != NULL) answers[at + i] = maybe;
            found += maybe;
        }
    }
    return found;
}

/* One instance per kind and width: wrappers and a table, no logic. */
#define FAST_INSTANCE(name, kind, width)                                                   \
    static bool name##_contains(const tamis_filter *f, uint64_t hash) {                    \
        return fast_contains(f, hash, kind, width);                                        \
    }                                                                                      \
    static size_t name##_contains_batch(const tamis_filter *f, const uint64_t *lo,         \
                                        const uint64_t *hi, size_t count, bool *answers) { \
        (void)hi;                                                                          \
        return fast_contains_batch(f, lo, count, answers, kind, width);                    \
    }                                                                                      \
    static const struct tamis__ops name##_ops = {                                          \
        .path = "portable",                                                                \
        .contains = name##_contains,                                                       \
        .contains_batch = name##_contains_batch,                                           \
    };

/* Both widths of a kind, and the choice between them. */
#define FAST_KIND(NAME, KIND)                                                                  \
    FAST_INSTANCE(NAME##8, KIND, 8)                                                            \
    FAST_INSTANCE(NAME##16, KIND, 16)                                                          \
    static const struct tamis__ops *NAME##_ops(const struct tamis__shape *shape, uint32_t cpu, \
                                               bool shared) {                                  \
        (void)cpu, (void)shared;                                                               \
        return shape->word[TAMIS__FAST_WIDTH] == 8 ? &NAME##8_ops : &NAME##16_ops;             \
    }

FAST_KIND(xor, TAMIS_XOR)
FAST_KIND(fuse, TAMIS_FUSE)

/* ---- shapes */

static bool fast_check(const struct tamis__shape *shape, tamis_kind kind) {
    const uint64_t width = shape->word[TAMIS__FAST_WIDTH];
    if (width != 8 && width != 16) return false;
    const uint64_t exact = tamis__fast_slots_of(kind, shape) * (width / 8);
    const uint64_t trail = shape->word[TAMIS__FAST_TRAIL];
    const bool may_trail = kind == TAMIS_FUSE && width == 16;
    return (trail == 0 || (trail == TRAIL && may_trail)) && shape->table_bytes >= exact &&
           shape->table_bytes - exact < 8;
}

/* The slots of a 32-bit hash are below the length, which must not be 0. */
static bool xor_check(const struct tamis__shape *shape) {
    const uint64_t length = shape->word[TAMIS__FAST_LENGTH];
    return length >= 1 && length <= (uint64_t)1 << 32 && fast_check(shape, TAMIS_XOR);
}

/* An xor with less than the segment length stays in the segment, since that is a power of two. */
static bool fuse_check(const struct tamis__shape *shape) {
    const uint64_t length = shape->word[TAMIS__FAST_LENGTH];
    const uint64_t segments = shape->word[TAMIS__FAST_SEGMENTS];
    return length >= 1 && length <= (uint64_t)1 << 31 && (length & (length - 1)) == 0 &&
           segments >= 1 && segments <= SLOTS_MAX / length && fast_check(shape, TAMIS_FUSE);
}

static void fast_traits(const struct tamis__shape *shape, struct tamis__traits *traits) {
    traits->hashes = 3;
    traits->width = (uint32_t)shape->word[TAMIS__FAST_WIDTH];
    traits->cache_lines = 3;
}

/* A xor filter does not store its number of keys: the sizing rule gives an estimate. */
static void fast_state(const tamis_filter *f, struct tamis__state *state) {
    const double slots = (double)tamis__fast_slots_of(f->family->kind, &f->shape);
    state->stages = 1;
    state->fill = 1;
    state->fpr_now = ldexp(1, -(int)f->shape.word[TAMIS__FAST_WIDTH]);
    state->distinct = (double)f->shape.word[TAMIS__FAST_KEYS];
    if (f->family->kind == TAMIS_XOR) {
        state->distinct = slots > 32 ? (slots - 32) / 1.23 : 0;
        state->distinct_error = 2;
    }
}

#define FAST_FAMILY(KIND, NAME)                                                            \
    {                                                                                      \
        .kind = KIND, .layout = 40, .name = #NAME, .caps = TAMIS_IS_STATIC,                \
        .object_size = sizeof(tamis_filter), .traits = fast_traits, .check = NAME##_check, \
        .ops = NAME##_ops, .state = fast_state,                                            \
    }

static const struct tamis__family xor_family = FAST_FAMILY(TAMIS_XOR, xor);
static const struct tamis__family fuse_family = FAST_FAMILY(TAMIS_FUSE, fuse);

/* ---- formats */

/* They differ in kind, width and packing. */
struct variant {
    tamis_kind kind;
    uint64_t width;
    bool packed;
};

/* ---- headers */

static tamis_status read_header(const struct variant *v, struct tamis__reader *r,
                                struct tamis__shape *shape) {
    uint64_t *word = shape->word, product = 0, slots = 0;
    word[TAMIS__FAST_SEED] = tamis__read64(r);
    if (v->kind == TAMIS_XOR) {
        word[TAMIS__FAST_LENGTH] = tamis__read64(r);
    } else {
        word[TAMIS__FAST_KEYS] = tamis__read32(r);
    }
    if (v->kind == TAMIS_FUSE && !v->packed) {
        word[TAMIS__FAST_LENGTH] = tamis__read32(r);
        word[TAMIS__FAST_SEGMENTS] = tamis__read32(r);
        product = tamis__read32(r);
        slots = tamis__read32(r);
    }
    if (r->bad) return TAMIS_E_TRUNCATED;
    const uint64_t length = word[TAMIS__FAST_LENGTH];
    if (v->kind == TAMIS_XOR && (length == 0 || length > (uint64_t)1 << 32)) return TAMIS_E_CORRUPT;
    if (v->kind == TAMIS_FUSE && v->packed) {
        tamis__fast_geometry(TAMIS_FUSE, word[TAMIS__FAST_KEYS], shape);
    } else if (v->kind == TAMIS_FUSE && (product != word[TAMIS__FAST_SEGMENTS] * length ||
                                         slots != tamis__fast_slots_of(TAMIS_FUSE, shape))) {
        return TAMIS_E_CORRUPT;
    }
    shape->table_bytes = tamis__fast_slots_of(v->kind, shape) * (v->width / 8);
    return TAMIS_OK;
}

/* ---- reading */

static tamis_status read_plain(const struct variant *v, struct tamis__reader *r,
                               struct tamis__contents *contents) {
    const tamis_status status = read_header(v, r, &contents->shape);
    if (status != TAMIS_OK) return status;
    const uint64_t left = (uint64_t)(r->end - r->at), table = contents->shape.table_bytes;
    const bool trails = v->kind == TAMIS_FUSE && v->width == 16 && left == table + TRAIL;
    contents->table = r->at;
    if (trails) {
        contents->shape.word[TAMIS__FAST_TRAIL] = TRAIL;
        contents->shape.word[TAMIS__FAST_TRAIL_BYTES] = tamis__load32(r->at + table);
    }
    return trails ? TAMIS_OK : tamis__length_status(left, table);
}

/* Reads the header of a packed filter and checks that the number of bytes after it matches its
 * bits. */
static tamis_status measure_packed(const struct variant *v, struct tamis__reader *r,
                                   struct tamis__shape *shape) {
    const tamis_status status = read_header(v, r, shape);
    if (status != TAMIS_OK) return status;
    const uint64_t slots = tamis__fast_slots_of(v->kind, shape), map = tamis__div_up(slots, 8);
    const uint64_t left = (uint64_t)(r->end - r->at);
    if (left < map) return TAMIS_E_TRUNCATED;
    uint64_t set = 0;
    for (uint64_t i = 0; i < map; i++) set += tamis__popcount(r->at[i]);
    if (slots % 8 != 0 && r->at[map - 1] >> (slots % 8) != 0) return TAMIS_E_CORRUPT;
    return tamis__length_status(left - map, set * (v->width / 8));
}

/* false if a fingerprint is 0 that must not be, or if the bits have changed since they were
 * counted: then there are more or fewer fingerprints than bits. */
static bool unpack(const struct variant *v, struct tamis__reader map,
                   const struct tamis__shape *shape, uint8_t *table) {
    const uint64_t slots = tamis__fast_slots_of(v->kind, shape);
    struct tamis__reader r = {map.at + tamis__div_up(slots, 8), map.end, false};
    uint8_t bits = 0;
    for (uint64_t i = 0; i < slots; i++) {
        bits = i % 8 == 0 ? tamis__read8(&map) : (uint8_t)(bits >> 1);
        if ((bits & 1) == 0) continue;
        const uint16_t fingerprint = v->width == 8 ? tamis__read8(&r) : tamis__read16(&r);
        if (fingerprint == 0) return false;
        tamis__fast_set(table, i, v->width, fingerprint);
    }
    return r.at == r.end;
}

static tamis_status read_packed(const struct variant *v, struct tamis__reader *r,
                                const tamis_allocator *a, struct tamis__contents *contents) {
    const tamis_status status = measure_packed(v, r, &contents->shape);
    if (status != TAMIS_OK) return status;
    contents->made = tamis__table_alloc(a, contents->shape.table_bytes);
    if (contents->made == NULL) return TAMIS_E_NOMEM;
    if (unpack(v, *r, &contents->shape, contents->made)) return TAMIS_OK;
    tamis__table_free(a, contents->made, contents->shape.table_bytes);
    return TAMIS_E_CORRUPT;
}

static tamis_status fast_decode(const uint8_t *bytes, uint64_t length, struct tamis__decoding *d) {
    const struct variant *v = d->codec->variant;
    struct tamis__reader r = {bytes, bytes + length, false};
    d->contents.shape.word[TAMIS__FAST_WIDTH] = v->width;
    const tamis_status status = v->packed ? read_packed(v, &r, &d->allocator, &d->contents)
                                          : read_plain(v, &r, &d->contents);
    d->contents.capacity = d->contents.adds = d->contents.shape.word[TAMIS__FAST_KEYS];
    return status;
}

/* ---- detection: a fuse filter's geometry follows from its keys; a xor filter's header is only a
 * length, which other formats may match */

static enum tamis__detection fast_detect(const struct tamis__codec *codec, const uint8_t *bytes,
                                         uint64_t length) {
    const struct variant *v = codec->variant;
    struct tamis__reader r = {bytes, bytes + length, false};
    struct tamis__contents contents = {.shape = {.word = {[TAMIS__FAST_WIDTH] = v->width}}};
    const tamis_status status =
        v->packed ? measure_packed(v, &r, &contents.shape) : read_plain(v, &r, &contents);
    if (status != TAMIS_OK) return TAMIS__NO_MATCH;
    if (v->packed || v->kind == TAMIS_XOR) return TAMIS__POSSIBLE;
    struct tamis__shape again = contents.shape;
    tamis__fast_geometry(TAMIS_FUSE, contents.shape.word[TAMIS__FAST_KEYS], &again);
    return memcmp(&again, &contents.shape, sizeof again) == 0 ? TAMIS__CERTAIN : TAMIS__NO_MATCH;
}

/* ---- writing */

static uint64_t packed_bytes(const tamis_filter *f, uint64_t width) {
    const uint64_t slots = tamis__fast_slots_of(f->family->kind, &f->shape);
    uint64_t used = 0;
    for (uint64_t i = 0; i < slots; i++) used += tamis__fast_get(f->table, i, width) != 0;
    return tamis__div_up(slots, 8) + used * (width / 8);
}

/* A table of mapped bytes may have changed since its size was computed: fingerprints that exceed
 * it are left out, those that are missing are zeros. */
static void pack(const tamis_filter *f, uint64_t width, uint8_t *to, uint64_t size) {
    const uint64_t slots = tamis__fast_slots_of(f->family->kind, &f->shape);
    const uint64_t map = tamis__div_up(slots, 8), room = (size - map) / (width / 8);
    memset(to, 0, (size_t)size);
    for (uint64_t i = 0, used = 0; i < slots && used < room; i++) {
        const uint16_t fingerprint = tamis__fast_get(f->table, i, width);
        if (fingerprint == 0) continue;
        to[i / 8] = (uint8_t)(to[i / 8] | 1u << (i % 8));
        tamis__fast_set(to + map, used++, width, fingerprint);
    }
}

static uint64_t plain_bytes(const tamis_filter *f, const struct variant *v) {
    return tamis__fast_slots_of(v->kind, &f->shape) * (v->width / 8);
}

static uint64_t fast_encoded_size(const tamis_filter *f) {
    const struct variant *v = f->settings.codec->variant;
    const uint64_t header = v->kind == TAMIS_XOR ? XOR_HEADER
                            : v->packed          ? FUSE_PACKED
                                                 : FUSE_HEADER;
    return header + (v->packed ? packed_bytes(f, v->width)
                               : plain_bytes(f, v) + f->shape.word[TAMIS__FAST_TRAIL]);
}

static uint8_t *write_header(const tamis_filter *f, const struct variant *v, uint8_t *buffer) {
    const uint64_t *word = f->shape.word, length = word[TAMIS__FAST_LENGTH];
    tamis__store64(buffer, word[TAMIS__FAST_SEED]);
    if (v->kind == TAMIS_XOR) {
        tamis__store64(buffer + 8, length);
        return buffer + XOR_HEADER;
    }
    tamis__store32(buffer + 8, (uint32_t)word[TAMIS__FAST_KEYS]);
    if (v->packed) return buffer + FUSE_PACKED;
    tamis__store32(buffer + 12, (uint32_t)length);
    tamis__store32(buffer + 16, (uint32_t)word[TAMIS__FAST_SEGMENTS]);
    tamis__store32(buffer + 20, (uint32_t)(word[TAMIS__FAST_SEGMENTS] * length));
    tamis__store32(buffer + 24, (uint32_t)tamis__fast_slots_of(v->kind, &f->shape));
    return buffer + FUSE_HEADER;
}

static void fast_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    const struct variant *v = f->settings.codec->variant;
    const uint64_t bytes = plain_bytes(f, v);
    uint8_t *at = write_header(f, v, buffer);
    if (v->packed) {
        pack(f, v->width, at, size - (uint64_t)(at - buffer));
        return;
    }
    memcpy(at, f->table, (size_t)bytes);
    if (f->shape.word[TAMIS__FAST_TRAIL] == TRAIL) {
        tamis__store32(at + bytes, (uint32_t)f->shape.word[TAMIS__FAST_TRAIL_BYTES]);
    }
}

/* ---- making */

/* The width of the fingerprints fixes the rate: a lower one is impossible. */
static tamis_status fast_make(const struct tamis__spec *spec, struct tamis__contents *contents) {
    const struct variant *v = spec->codec->variant;
    contents->shape.word[TAMIS__FAST_WIDTH] = v->width;
    const bool too_low = spec->fpr != 0 && spec->fpr < tamis__fpr_of_width((unsigned)v->width);
    return too_low ? TAMIS_E_FPR_TOO_LOW : TAMIS_OK;
}

static tamis_status fast_build(const struct tamis__spec *spec, const uint64_t *lo, size_t count,
                               const struct tamis__settings *settings, tamis_filter **out) {
    const struct variant *v = settings->codec->variant;
    struct tamis__contents contents = tamis__compat_contents(settings->codec);
    (void)spec;
    contents.shape.word[TAMIS__FAST_WIDTH] = v->width;
    const tamis_status status = tamis__fast_build(&settings->allocator, v->kind, lo, count,
                                                  &contents.shape, &contents.made);
    if (status != TAMIS_OK) return status;
    if (v->kind == TAMIS_FUSE && v->width == 16) contents.shape.word[TAMIS__FAST_TRAIL] = TRAIL;
    contents.capacity = contents.adds = count;
    return tamis__filter_make(&contents, settings, out);
}

static bool fast_holds(const tamis_filter *f) {
    return f->family->kind == TAMIS_XOR ||
           (f->shape.word[TAMIS__FAST_KEYS] <= UINT32_MAX &&
            tamis__fast_slots_of(TAMIS_FUSE, &f->shape) <= UINT32_MAX);
}

static const char *fast_reason(const struct tamis__codec *codec, const tamis_filter *f) {
    const struct variant *v = codec->variant;
    struct tamis__shape again = f->shape;
    if (!fast_holds(f)) return NULL; /* the geometry of that many keys cannot be computed */
    if (v->packed && v->kind == TAMIS_FUSE) {
        tamis__fast_geometry(TAMIS_FUSE, f->shape.word[TAMIS__FAST_KEYS], &again);
        if (again.word[TAMIS__FAST_LENGTH] != f->shape.word[TAMIS__FAST_LENGTH] ||
            again.word[TAMIS__FAST_SEGMENTS] != f->shape.word[TAMIS__FAST_SEGMENTS]) {
            return "its geometry does not follow from its number of keys, as packing wants";
        }
    }
    return f->shape.word[TAMIS__FAST_WIDTH] == v->width ? NULL
                                                        : "its fingerprints are of another width";
}

#define FAST_CODEC(ID, NAME, ABOUT, FAMILY, KIND, WIDTH, PACKED)                                   \
    static const struct variant ID##_variant = {KIND, WIDTH, PACKED};                              \
    static const struct tamis__codec ID = {                                                        \
        .name = NAME,                                                                              \
        .about = "xor_singleheader's " ABOUT,                                                      \
        .family = FAMILY,                                                                          \
        .hash = &integers,                                                                         \
        .refusal = "its slots come from that library's own hash of each key: the keys are needed", \
        .variant = &ID##_variant,                                                                  \
        .detect = fast_detect,                                                                     \
        .decode = fast_decode,                                                                     \
        .encoded_size = fast_encoded_size,                                                         \
        .encode = fast_encode,                                                                     \
        .make = fast_make,                                                                         \
        .build = fast_build,                                                                       \
        .holds = fast_holds,                                                                       \
        .reason = fast_reason,                                                                     \
    };
#define XOR_CODEC(WIDTH)                                                                      \
    FAST_CODEC(xor##WIDTH, "xor" #WIDTH, "xor" #WIDTH ", serialized", &xor_family, TAMIS_XOR, \
               WIDTH, false)                                                                  \
    FAST_CODEC(xor##WIDTH##_pack, "xor" #WIDTH "-pack", "xor" #WIDTH ", packed", &xor_family, \
               TAMIS_XOR, WIDTH, true)
#define FUSE_CODEC(WIDTH)                                                                     \
    FAST_CODEC(fuse##WIDTH, "fuse" #WIDTH, "binary_fuse" #WIDTH ", serialized", &fuse_family, \
               TAMIS_FUSE, WIDTH, false)                                                      \
    FAST_CODEC(fuse##WIDTH##_pack, "fuse" #WIDTH "-pack", "binary_fuse" #WIDTH ", packed",    \
               &fuse_family, TAMIS_FUSE, WIDTH, true)
XOR_CODEC(8)
XOR_CODEC(16)
FUSE_CODEC(8)
FUSE_CODEC(16)

const struct tamis__system tamis__system_fastfilter = {
    .codecs = {&xor8, &xor16, &fuse8, &fuse16, &xor8_pack, &xor16_pack, &fuse8_pack, &fuse16_pack},
    .families = {&xor_family, &fuse_family},
    .hashes = {&integers},
};
