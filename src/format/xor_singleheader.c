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
 * Follows c482686.  Keys are 64-bit integers; a user who has strings hashes them himself.
 *
 * Quirks
 *   - binary_fuse16_serialization_bytes says four bytes too many: files of 16 bits have four
 *     bytes of nothing at their end, or have not.  Both are read, and written as they came.
 *   - Packed fuse filters leave their geometry to be computed anew from the number of keys.
 *   - The library's xor filters have garbage in slots that no key uses; zeros are written here. */
#include "core/bits.h"
#include "core/bytes.h"
#include "family/fastfilter.h"
#include "family/sizing.h"
#include "format/format.h"

#define FUSE_HEADER 28
#define FUSE_PACKED 12
#define XOR_HEADER 16
#define TRAIL TAMIS__FAST_TRAIL_LENGTH

extern const struct tamis__codec tamis__xor8, tamis__xor16, tamis__fuse8, tamis__fuse16,
    tamis__xor8_pack, tamis__xor16_pack, tamis__fuse8_pack, tamis__fuse16_pack;

struct variant {
    const struct tamis__codec *codec;
    tamis_kind kind;
    uint64_t width;
    bool packed;
};

static const struct variant variants[] = {
    {&tamis__xor8, TAMIS_XOR, 8, false},       {&tamis__xor16, TAMIS_XOR, 16, false},
    {&tamis__fuse8, TAMIS_FUSE, 8, false},     {&tamis__fuse16, TAMIS_FUSE, 16, false},
    {&tamis__xor8_pack, TAMIS_XOR, 8, true},   {&tamis__xor16_pack, TAMIS_XOR, 16, true},
    {&tamis__fuse8_pack, TAMIS_FUSE, 8, true}, {&tamis__fuse16_pack, TAMIS_FUSE, 16, true},
};

static const struct variant *variant_of(const struct tamis__codec *codec) {
    size_t i = 0;
    while (variants[i].codec != codec) i++;
    return &variants[i];
}

static void start_image(const struct variant *v, struct tamis__image *image) {
    *image = (struct tamis__image){.kind = v->kind, .shape = {.scheme = TAMIS__SCHEME_FASTFILTER}};
    image->shape.word[TAMIS__FAST_WIDTH] = v->width;
    tamis__hashing_foreign(&image->hashing, TAMIS__FOREIGN_INTEGER, 0);
}

/* ---- headers: the shape, and how long they are */

static tamis_status read_xor(struct tamis__reader *r, struct tamis__shape *shape) {
    shape->word[TAMIS__FAST_SEED] = tamis__read64(r);
    shape->word[TAMIS__FAST_LENGTH] = tamis__read64(r);
    if (r->bad) return TAMIS_E_TRUNCATED;
    const uint64_t length = shape->word[TAMIS__FAST_LENGTH];
    if (length == 0 || length > (uint64_t)1 << 32) return TAMIS_E_CORRUPT;
    shape->table_bytes = 3 * length * (shape->word[TAMIS__FAST_WIDTH] / 8);
    return TAMIS_OK;
}

static tamis_status read_fuse(struct tamis__reader *r, struct tamis__shape *shape) {
    shape->word[TAMIS__FAST_SEED] = tamis__read64(r);
    shape->word[TAMIS__FAST_KEYS] = tamis__read32(r);
    const uint64_t length = tamis__read32(r), segments = tamis__read32(r);
    const uint64_t product = tamis__read32(r), slots = tamis__read32(r);
    if (r->bad) return TAMIS_E_TRUNCATED;
    shape->word[TAMIS__FAST_LENGTH] = length;
    shape->word[TAMIS__FAST_SEGMENTS] = segments;
    if (product != segments * length || slots != (segments + 2) * length) return TAMIS_E_CORRUPT;
    shape->table_bytes = slots * (shape->word[TAMIS__FAST_WIDTH] / 8);
    return TAMIS_OK;
}

static tamis_status read_fuse_packed(struct tamis__reader *r, struct tamis__shape *shape) {
    shape->word[TAMIS__FAST_SEED] = tamis__read64(r);
    const uint64_t keys = tamis__read32(r);
    if (r->bad) return TAMIS_E_TRUNCATED;
    tamis__fast_geometry(TAMIS_FUSE, keys, shape);
    return TAMIS_OK;
}

/* ---- reading */

static tamis_status read_plain(const struct variant *v, struct tamis__reader *r,
                               struct tamis__image *image) {
    const tamis_status status =
        v->kind == TAMIS_XOR ? read_xor(r, &image->shape) : read_fuse(r, &image->shape);
    if (status != TAMIS_OK) return status;
    const uint64_t left = (uint64_t)(r->end - r->at), table = image->shape.table_bytes;
    if (left < table) return TAMIS_E_TRUNCATED;
    const bool trails = v->kind == TAMIS_FUSE && v->width == 16 && left - table == TRAIL;
    if (left != table && !trails) return TAMIS_E_TRAILING;
    image->table = r->at;
    if (trails) {
        image->shape.word[TAMIS__FAST_TRAIL] = TRAIL;
        image->shape.word[TAMIS__FAST_TRAIL_BYTES] = tamis__load32(r->at + table);
    }
    return TAMIS_OK;
}

/* The header of a packed filter, and whether just as many bytes follow as its bits say. */
static tamis_status measure_packed(const struct variant *v, struct tamis__reader *r,
                                   struct tamis__shape *shape) {
    const tamis_status status =
        v->kind == TAMIS_XOR ? read_xor(r, shape) : read_fuse_packed(r, shape);
    if (status != TAMIS_OK) return status;
    const uint64_t slots = tamis__fast_slots_of(v->kind, shape), map = tamis__div_up(slots, 8);
    const uint64_t left = (uint64_t)(r->end - r->at);
    if (left < map) return TAMIS_E_TRUNCATED;
    uint64_t set = 0;
    for (uint64_t i = 0; i < map; i++) set += tamis__popcount(r->at[i]);
    if (slots % 8 != 0 && r->at[map - 1] >> (slots % 8) != 0) return TAMIS_E_CORRUPT;
    const uint64_t prints = set * (v->width / 8);
    return left - map < prints   ? TAMIS_E_TRUNCATED
           : left - map > prints ? TAMIS_E_TRAILING
                                 : TAMIS_OK;
}

/* false if a fingerprint that should not be 0 is. */
static bool unpack(const struct variant *v, const uint8_t *bytes, const struct tamis__shape *shape,
                   uint8_t *table) {
    const uint64_t slots = tamis__fast_slots_of(v->kind, shape);
    const uint8_t *prints = bytes + tamis__div_up(slots, 8);
    uint64_t used = 0;
    for (uint64_t i = 0; i < slots; i++) {
        if ((bytes[i / 8] >> (i % 8) & 1) == 0) continue;
        const uint16_t print = tamis__fast_get(prints, used++, v->width);
        if (print == 0) return false;
        tamis__fast_set(table, i, v->width, print);
    }
    return true;
}

static tamis_status read_packed(const struct variant *v, struct tamis__reader *r,
                                const tamis_allocator *a, struct tamis__image *image) {
    const tamis_status status = measure_packed(v, r, &image->shape);
    if (status != TAMIS_OK) return status;
    image->made = tamis__table_alloc(a, image->shape.table_bytes);
    if (image->made == NULL) return TAMIS_E_NOMEM;
    if (unpack(v, r->at, &image->shape, image->made)) return TAMIS_OK;
    tamis__table_free(a, image->made, image->shape.table_bytes);
    return TAMIS_E_CORRUPT;
}

static tamis_status fast_decode(const uint8_t *bytes, uint64_t length, const tamis_filter *like,
                                const tamis_open_options *options, tamis_filter **out) {
    const struct variant *v = variant_of(like->codec);
    struct tamis__reader r = {bytes, bytes + length, false};
    struct tamis__image image;
    (void)options;
    start_image(v, &image);
    const tamis_status status =
        v->packed ? read_packed(v, &r, &like->allocator, &image) : read_plain(v, &r, &image);
    if (status != TAMIS_OK) return status;
    image.capacity = image.adds = image.shape.word[TAMIS__FAST_KEYS];
    return tamis__image_open(&image, like, out);
}

/* ---- recognising: a fuse filter's geometry follows from its keys; a xor filter's header is
 * only a length, which other formats could have, too */

static enum tamis__likeness detect(const struct variant *v, const uint8_t *bytes, uint64_t length) {
    struct tamis__reader r = {bytes, bytes + length, false};
    struct tamis__image image;
    start_image(v, &image);
    if (v->packed) {
        return measure_packed(v, &r, &image.shape) == TAMIS_OK ? TAMIS__COULD : TAMIS__NOT;
    }
    if (read_plain(v, &r, &image) != TAMIS_OK) return TAMIS__NOT;
    if (v->kind == TAMIS_XOR) return TAMIS__COULD;
    struct tamis__shape again = image.shape;
    tamis__fast_geometry(TAMIS_FUSE, image.shape.word[TAMIS__FAST_KEYS], &again);
    return memcmp(&again, &image.shape, sizeof again) == 0 ? TAMIS__SURE : TAMIS__NOT;
}

/* ---- writing */

static uint64_t packed_prints(const tamis_filter *f) {
    const uint64_t width = f->shape.word[TAMIS__FAST_WIDTH];
    const uint64_t slots = tamis__fast_slots_of(f->family->kind, &f->shape);
    uint64_t set = 0;
    for (uint64_t i = 0; i < slots; i++) set += tamis__fast_get(f->table, i, width) != 0;
    return set * (width / 8);
}

static uint64_t fast_encoded_size(const tamis_filter *f) {
    const struct variant *v = variant_of(f->codec);
    const uint64_t slots = tamis__fast_slots_of(v->kind, &f->shape);
    if (v->packed) {
        return (v->kind == TAMIS_XOR ? XOR_HEADER : FUSE_PACKED) + tamis__div_up(slots, 8) +
               packed_prints(f);
    }
    return (v->kind == TAMIS_XOR ? XOR_HEADER : FUSE_HEADER) + slots * (v->width / 8) +
           f->shape.word[TAMIS__FAST_TRAIL];
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

static void pack(const tamis_filter *f, uint64_t width, uint8_t *to) {
    const uint64_t slots = tamis__fast_slots_of(f->family->kind, &f->shape);
    uint8_t *prints = to + tamis__div_up(slots, 8);
    uint64_t used = 0;
    memset(to, 0, (size_t)tamis__div_up(slots, 8));
    for (uint64_t i = 0; i < slots; i++) {
        const uint16_t print = tamis__fast_get(f->table, i, width);
        if (print == 0) continue;
        to[i / 8] = (uint8_t)(to[i / 8] | 1u << (i % 8));
        tamis__fast_set(prints, used++, width, print);
    }
}

static tamis_status fast_encode(const tamis_filter *f, uint8_t *buffer) {
    const struct variant *v = variant_of(f->codec);
    const uint64_t bytes = tamis__fast_slots_of(v->kind, &f->shape) * (v->width / 8);
    uint8_t *at = write_header(f, v, buffer);
    if (v->packed) {
        pack(f, v->width, at);
        return TAMIS_OK;
    }
    memcpy(at, f->table, (size_t)bytes);
    if (f->shape.word[TAMIS__FAST_TRAIL] == TRAIL) {
        tamis__store32(at + bytes, (uint32_t)f->shape.word[TAMIS__FAST_TRAIL_BYTES]);
    }
    return TAMIS_OK;
}

/* ---- making */

/* There is one rate, that of the fingerprints: a lower one is not to be had. */
static tamis_status make(const struct variant *v, const struct tamis__recipe *recipe,
                         struct tamis__image *image) {
    if (recipe->rate != 0 && recipe->rate < tamis__rate_of_width((unsigned)v->width))
        return TAMIS_E_TOO_FINE;
    start_image(v, image);
    return TAMIS_OK;
}

static tamis_status fast_build(const struct tamis__recipe *recipe, const uint64_t *lo, size_t count,
                               const tamis_filter *like, tamis_filter **out) {
    const struct variant *v = variant_of(like->codec);
    struct tamis__image image;
    (void)recipe;
    start_image(v, &image);
    const tamis_status status =
        tamis__fast_build(&like->allocator, v->kind, lo, count, &image.shape, &image.made);
    if (status != TAMIS_OK) return status;
    if (v->kind == TAMIS_FUSE && v->width == 16) image.shape.word[TAMIS__FAST_TRAIL] = TRAIL;
    image.capacity = image.adds = count;
    return tamis__image_open(&image, like, out);
}

static const char *refuse(const struct variant *v, const tamis_filter *f) {
    if (!tamis__image_fits(f, TAMIS__SCHEME_FASTFILTER, TAMIS__FOREIGN_INTEGER) ||
        f->family->kind != v->kind) {
        return "its slots come from that library's own hash of each key: the keys are needed";
    }
    struct tamis__shape again = f->shape;
    if (v->kind == TAMIS_FUSE && (f->shape.word[TAMIS__FAST_KEYS] > UINT32_MAX ||
                                  tamis__fast_slots_of(v->kind, &f->shape) > UINT32_MAX)) {
        return tamis__image_beyond;
    }
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

/* One instance per variant: wrappers and the codec, no logic. */
#define FAST_CODEC(id, label, line)                                                        \
    static enum tamis__likeness id##_detect(const uint8_t *bytes, uint64_t length) {       \
        return detect(variant_of(&tamis__##id), bytes, length);                            \
    }                                                                                      \
    static tamis_status id##_make(const struct tamis__recipe *r, struct tamis__image *i) { \
        return make(variant_of(&tamis__##id), r, i);                                       \
    }                                                                                      \
    static const char *id##_refuse(const tamis_filter *f) {                                \
        return refuse(variant_of(&tamis__##id), f);                                        \
    }                                                                                      \
    const struct tamis__codec tamis__##id = {                                              \
        .name = label,                                                                     \
        .about = line,                                                                     \
        .detect = id##_detect,                                                             \
        .decode = fast_decode,                                                             \
        .encoded_size = fast_encoded_size,                                                 \
        .encode = fast_encode,                                                             \
        .make = id##_make,                                                                 \
        .build = fast_build,                                                               \
        .refuse = id##_refuse,                                                             \
    };

FAST_CODEC(xor8, "xor8", "xor_singleheader's xor8, serialized")
FAST_CODEC(xor16, "xor16", "xor_singleheader's xor16, serialized")
FAST_CODEC(fuse8, "fuse8", "xor_singleheader's binary_fuse8, serialized")
FAST_CODEC(fuse16, "fuse16", "xor_singleheader's binary_fuse16, serialized")
FAST_CODEC(xor8_pack, "xor8-pack", "xor_singleheader's xor8, packed")
FAST_CODEC(xor16_pack, "xor16-pack", "xor_singleheader's xor16, packed")
FAST_CODEC(fuse8_pack, "fuse8-pack", "xor_singleheader's binary_fuse8, packed")
FAST_CODEC(fuse16_pack, "fuse16-pack", "xor_singleheader's binary_fuse16, packed")
