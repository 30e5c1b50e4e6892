/* rocksdb.c - one filter block of a RocksDB table: FastLocalBloom, Standard128Ribbon, legacy
 *
 *     data, then five bytes m0..m4 that tell what it is:
 *       ff 00  k  00 00      FastLocalBloom: 64-byte lines, k in 1..30
 *       fe seed b0 b1 b2     Standard128Ribbon of b blocks (24 bits, little-endian)
 *        k l0 l1 l2 l3       legacy Bloom, k in 1..127, l lines (32 bits, little-endian)
 *
 * Follows RocksDB 7.8.3.  A table has one such block: see rocksdb_table.c.
 *
 * Quirks
 *   - Whatever the reader does not understand it takes for "may match"; so it is here, and
 *     `info` says so.  Five bytes or none at all is a filter of no keys, which matches nothing.
 *   - Keys come sorted; a hash that equals the one before it is dropped.
 *   - The size of a ribbon depends on the hash of its first key.
 *   - Newer versions size filters to what malloc likes (optimize_filters_for_memory): these are
 *     read, but not made to the byte. */
#include <math.h>

#include "core/bits.h"
#include "core/bytes.h"
#include "family/scheme.h"
#include "format/rocksdb_sizing.h"

#define META 5
#define LINE 64
#define LINE_LG 6
#define IS_BLOOM 0xff
#define IS_RIBBON 0xfe
#define LEGACY_MOST 127
#define HASHES_MOST 30

enum { LINES, HASHES, LG, WHOLE }; /* block; WHOLE: bytes kept as they came, where k = 0 */
enum { BLOCKS, SEGMENTS, SEED };   /* ribbon */

/* ---- reading */

static void block_image(uint32_t scheme, uint64_t lines, uint64_t hashes, uint64_t lg,
                        struct tamis__image *image) {
    *image = (struct tamis__image){
        .kind = TAMIS_BLOCK,
        .shape = {.word = {lines, hashes, lg}, .table_bytes = lines << lg, .scheme = scheme}};
    tamis__hashing_foreign(
        &image->hashing,
        scheme == TAMIS__SCHEME_LEGACY_LINE ? TAMIS__FOREIGN_ROCKSDB_LEGACY : TAMIS__FOREIGN_XXPH3,
        0);
}

static void match_all(const uint8_t *bytes, uint64_t length, struct tamis__image *image) {
    block_image(TAMIS__SCHEME_FASTLOCAL, 0, 0, 0, image);
    image->shape.word[WHOLE] = length;
    image->shape.table_bytes = length;
    image->table = bytes;
}

static void ribbon_image(uint64_t blocks, uint64_t segments, uint64_t seed,
                         struct tamis__image *image) {
    *image = (struct tamis__image){.kind = TAMIS_RIBBON,
                                   .shape = {.word = {blocks, segments, seed},
                                             .table_bytes = segments * 16,
                                             .scheme = TAMIS__SCHEME_RIBBON128}};
    tamis__hashing_foreign(&image->hashing, TAMIS__FOREIGN_XXPH3, 0);
}

/* No key was added.  What else is so short has lost its bytes. */
static tamis_status read_empty(const uint8_t *bytes, uint64_t length, struct tamis__image *image) {
    const uint32_t rest = length == META ? tamis__load32(bytes + 1) : 0;
    const bool bloom = length == META && bytes[0] == IS_BLOOM && (rest & 0xffe000ff) == 0;
    const bool legacy = length == META && bytes[0] >= 1 && bytes[0] <= HASHES_MOST && rest == 0;
    const uint64_t k = bloom ? rest >> 8 : legacy ? bytes[0] : 1;
    if ((length != 0 && !bloom && !legacy) || k < 1 || k > HASHES_MOST) return TAMIS_E_TRUNCATED;
    block_image(legacy ? TAMIS__SCHEME_LEGACY_LINE : TAMIS__SCHEME_FASTLOCAL, 0, k, LINE_LG, image);
    image->shape.word[WHOLE] = length;
    image->table = bytes;
    return TAMIS_OK;
}

static tamis_status read_bloom(const uint8_t *bytes, uint64_t data, struct tamis__image *image) {
    const uint8_t *m = bytes + data;
    const unsigned k = m[2] & 31;
    if (m[1] != 0 || m[2] >> 5 != 0 || m[3] != 0 || m[4] != 0 || k < 1 || k > HASHES_MOST) {
        match_all(bytes, data + META, image);
        return TAMIS_OK;
    }
    if (data % LINE != 0) return TAMIS_E_CORRUPT; /* RocksDB would read past its end */
    block_image(TAMIS__SCHEME_FASTLOCAL, data / LINE, k, LINE_LG, image);
    image->table = bytes;
    return TAMIS_OK;
}

static tamis_status read_ribbon(const uint8_t *bytes, uint64_t data, struct tamis__image *image) {
    const uint8_t *m = bytes + data;
    const uint64_t blocks = tamis__load32(m + 1) >> 8;
    if (blocks < 2) {
        match_all(bytes, data + META, image);
        return TAMIS_OK;
    }
    if (data % 16 != 0) return TAMIS_E_CORRUPT;
    ribbon_image(blocks, data / 16, m[1], image);
    image->table = bytes;
    return TAMIS_OK;
}

/* Lines of 64 bytes, or of any power of two that other machines' cache lines had. */
static tamis_status read_legacy(const uint8_t *bytes, uint64_t data, struct tamis__image *image) {
    const uint64_t lines = tamis__load32(bytes + data + 1);
    const uint64_t line = lines == 0 || data % lines != 0 ? 0 : data / lines;
    if (line == 0 || (line & (line - 1)) != 0 || line > (uint64_t)1 << 28) {
        match_all(bytes, data + META, image);
        return TAMIS_OK;
    }
    block_image(TAMIS__SCHEME_LEGACY_LINE, lines, bytes[data], tamis__log2(line), image);
    image->table = bytes;
    return TAMIS_OK;
}

static tamis_status rocksdb_image(const uint8_t *bytes, uint64_t length,
                                  struct tamis__image *image) {
    if (length <= META) return read_empty(bytes, length, image);
    const uint64_t data = length - META;
    const uint8_t what = bytes[data];
    if (what == IS_BLOOM) return read_bloom(bytes, data, image);
    if (what == IS_RIBBON) return read_ribbon(bytes, data, image);
    if (what >= 1 && what <= LEGACY_MOST) return read_legacy(bytes, data, image);
    match_all(bytes, length, image);
    return TAMIS_OK;
}

static tamis_status rocksdb_decode(const uint8_t *bytes, uint64_t length, const tamis_filter *like,
                                   const tamis_open_options *options, tamis_filter **out) {
    static const uint8_t nothing[1] = {0};
    struct tamis__image image;
    (void)options;
    const tamis_status status = rocksdb_image(length == 0 ? nothing : bytes, length, &image);
    return status == TAMIS_OK ? tamis__image_open(&image, like, out) : status;
}

static enum tamis__likeness rocksdb_detect(const uint8_t *bytes, uint64_t length) {
    struct tamis__image image;
    if (length <= META || rocksdb_image(bytes, length, &image) != TAMIS_OK) return TAMIS__NOT;
    return image.kind == TAMIS_BLOCK && image.shape.word[HASHES] == 0 ? TAMIS__NOT : TAMIS__COULD;
}

/* ---- writing */

static bool is_ribbon(const tamis_filter *f) { return f->shape.scheme == TAMIS__SCHEME_RIBBON128; }

/* Bytes kept as they came: it matches everything, or nothing. */
static bool is_odd(const tamis_filter *f) {
    return !is_ribbon(f) && (f->shape.word[HASHES] == 0 || f->shape.word[LINES] == 0);
}

static uint64_t data_bytes(const tamis_filter *f) {
    return is_ribbon(f) ? f->shape.word[SEGMENTS] * 16 : f->shape.word[LINES] << f->shape.word[LG];
}

static uint64_t rocksdb_encoded_size(const tamis_filter *f) {
    return is_odd(f) ? f->shape.word[WHOLE] : data_bytes(f) + META;
}

static void write_meta(const tamis_filter *f, uint8_t m[META]) {
    switch (f->shape.scheme) {
        case TAMIS__SCHEME_RIBBON128:
            m[0] = IS_RIBBON;
            tamis__store32(m + 1, (uint32_t)(f->shape.word[BLOCKS] << 8 | f->shape.word[SEED]));
            return;
        case TAMIS__SCHEME_FASTLOCAL:
            m[0] = IS_BLOOM;
            tamis__store32(m + 1, (uint32_t)f->shape.word[HASHES] << 8);
            return;
        default:
            m[0] = (uint8_t)f->shape.word[HASHES];
            tamis__store32(m + 1, (uint32_t)f->shape.word[LINES]);
    }
}

static tamis_status rocksdb_encode(const tamis_filter *f, uint8_t *buffer) {
    const uint64_t whole = f->shape.word[WHOLE], data = data_bytes(f);
    if (is_odd(f) && f->shape.word[HASHES] == 0) {
        memcpy(buffer, f->table, (size_t)whole);
    } else if (!is_odd(f) || whole != 0) {
        memcpy(buffer, f->table, (size_t)data);
        write_meta(f, buffer + data);
    }
    return TAMIS_OK;
}

/* ---- making */

enum policy { POLICY_BLOOM, POLICY_RIBBON, POLICY_LEGACY };

static enum policy policy_of(const struct tamis__recipe *recipe) {
    return tamis__parameter(recipe->parameters, "legacy")   ? POLICY_LEGACY
           : tamis__parameter(recipe->parameters, "ribbon") ? POLICY_RIBBON
                                                            : POLICY_BLOOM;
}

static tamis_status rocksdb_make(const struct tamis__recipe *recipe, struct tamis__image *image) {
    double bits;
    const tamis_status status = tamis__rocksdb_bits(recipe, &bits);
    block_image(
        policy_of(recipe) == POLICY_LEGACY ? TAMIS__SCHEME_LEGACY_LINE : TAMIS__SCHEME_FASTLOCAL, 0,
        1, LINE_LG, image);
    return status;
}

/* Adjacent equal hashes are kept once. */
static uint64_t *keep_hashes(const tamis_allocator *a, const uint64_t *lo, size_t count,
                             size_t *kept) {
    size_t size;
    if (!tamis__array_size(count, sizeof *lo, &size)) return NULL;
    uint64_t *hashes = tamis__alloc(a, size);
    *kept = 0;
    for (size_t i = 0; hashes != NULL && i < count; i++) {
        if (*kept == 0 || hashes[*kept - 1] != lo[i]) hashes[(*kept)++] = lo[i];
    }
    return hashes;
}

static tamis_status build_block(struct tamis__image *image, const uint64_t *hashes, size_t count,
                                const tamis_filter *like, tamis_filter **out) {
    if (count == 0) image->shape.word[WHOLE] = META;
    tamis_status status = tamis__image_open(image, like, out);
    size_t done;
    if (status == TAMIS_OK && count != 0) {
        status = (*out)->ops->add_batch(*out, hashes, NULL, count, NULL, &done);
    }
    return status;
}

static tamis_status build_bloom(double bits, const uint64_t *hashes, size_t count,
                                const tamis_filter *like, tamis_filter **out) {
    struct tamis__image image;
    block_image(TAMIS__SCHEME_FASTLOCAL, tamis__rocksdb_lines(count, bits),
                tamis__rocksdb_hashes(bits), LINE_LG, &image);
    return build_block(&image, hashes, count, like, out);
}

static tamis_status build_legacy(double bits, const uint64_t *hashes, size_t count,
                                 const tamis_filter *like, tamis_filter **out) {
    struct tamis__image image;
    uint64_t k;
    const uint64_t lines = tamis__rocksdb_legacy_lines(count, bits, &k);
    if (lines > UINT32_MAX) return TAMIS_E_TOO_BIG;
    block_image(TAMIS__SCHEME_LEGACY_LINE, lines, k, LINE_LG, &image);
    return build_block(&image, hashes, count, like, out);
}

/* E_FULL: RocksDB writes a Bloom filter instead. */
static tamis_status build_ribbon(double bits, const uint64_t *hashes, size_t count,
                                 const tamis_filter *like, tamis_filter **out) {
    struct tamis__image image;
    uint64_t blocks, segments;
    if (!tamis__rocksdb_ribbon(count, bits, hashes[0], &blocks, &segments)) return TAMIS_E_FULL;
    ribbon_image(blocks, segments, hashes[0] & 0xff, &image);
    image.made = tamis__table_alloc(&like->allocator, image.shape.table_bytes);
    if (image.made == NULL) return TAMIS_E_NOMEM;
    const tamis_status status =
        tamis__ribbon128_solve(&like->allocator, hashes, count, &image.shape, image.made);
    if (status != TAMIS_OK) {
        tamis__table_free(&like->allocator, image.made, image.shape.table_bytes);
        return status;
    }
    return tamis__image_open(&image, like, out);
}

/* A ribbon of no keys is no bytes at all. */
static tamis_status build_nothing(const tamis_filter *like, tamis_filter **out) {
    struct tamis__image image;
    block_image(TAMIS__SCHEME_FASTLOCAL, 0, 1, LINE_LG, &image);
    return tamis__image_open(&image, like, out);
}

static tamis_status build_policy(enum policy policy, double bits, const uint64_t *hashes,
                                 size_t count, const tamis_filter *like, tamis_filter **out) {
    if (policy == POLICY_LEGACY) return build_legacy(bits, hashes, count, like, out);
    if (policy == POLICY_RIBBON && count == 0) return build_nothing(like, out);
    if (policy == POLICY_RIBBON) {
        const tamis_status status = build_ribbon(bits, hashes, count, like, out);
        if (status != TAMIS_E_FULL) return status;
    }
    return build_bloom(bits, hashes, count, like, out);
}

static tamis_status rocksdb_build(const struct tamis__recipe *recipe, const uint64_t *lo,
                                  size_t count, const tamis_filter *like, tamis_filter **out) {
    double bits;
    size_t kept;
    tamis_status status = tamis__rocksdb_bits(recipe, &bits);
    if (status != TAMIS_OK) return status;
    uint64_t *hashes = keep_hashes(&like->allocator, lo, count, &kept);
    if (hashes == NULL) return TAMIS_E_NOMEM;
    status = build_policy(policy_of(recipe), bits, hashes, kept, like, out);
    tamis__release(&like->allocator, hashes, count * sizeof *hashes);
    if (status != TAMIS_OK) return status;
    (*out)->adds = count;
    (*out)->capacity = kept;
    return TAMIS_OK;
}

/* Would the five bytes be read as they are meant, and bytes that are kept as they came as those of
 * a filter that matches everything? */
static bool holds(const tamis_filter *f) {
    const uint64_t lines = f->shape.word[LINES], k = f->shape.word[HASHES];
    struct tamis__image image;
    if (is_ribbon(f)) return true;
    if (k == 0) {
        return rocksdb_image(f->table, f->shape.word[WHOLE], &image) == TAMIS_OK &&
               image.kind == TAMIS_BLOCK && image.shape.word[HASHES] == 0;
    }
    const bool legacy = f->shape.scheme == TAMIS__SCHEME_LEGACY_LINE;
    return legacy && lines != 0 ? lines <= UINT32_MAX : k <= HASHES_MOST;
}

static const char *rocksdb_refuse(const tamis_filter *f) {
    const bool fits =
        tamis__image_fits(f, TAMIS__SCHEME_FASTLOCAL, TAMIS__FOREIGN_XXPH3) ||
        tamis__image_fits(f, TAMIS__SCHEME_RIBBON128, TAMIS__FOREIGN_XXPH3) ||
        tamis__image_fits(f, TAMIS__SCHEME_LEGACY_LINE, TAMIS__FOREIGN_ROCKSDB_LEGACY);
    if (!fits) return "RocksDB's bits come from its own hash of each key: the keys are needed";
    return holds(f) ? NULL : tamis__image_beyond;
}

static const char *rocksdb_note(const tamis_filter *f) {
    if (is_ribbon(f)) return NULL;
    if (f->shape.word[HASHES] == 0) {
        return "RocksDB does not understand its last five bytes: it matches every key";
    }
    return f->shape.word[LINES] == 0 ? "it was made of no keys: it matches none" : NULL;
}

const struct tamis__codec tamis__rocksdb = {
    .name = "rocksdb",
    .about = "RocksDB full filter: FastLocalBloom, Ribbon, legacy Bloom",
    .parameters = "bits,ribbon,legacy",
    .detect = rocksdb_detect,
    .decode = rocksdb_decode,
    .encoded_size = rocksdb_encoded_size,
    .encode = rocksdb_encode,
    .make = rocksdb_make,
    .build = rocksdb_build,
    .refuse = rocksdb_refuse,
    .note = rocksdb_note,
};
