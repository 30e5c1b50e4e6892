/* rocksdb.c - one filter block of a RocksDB table: FastLocalBloom, Standard128Ribbon, legacy
 *
 *     data, then five bytes m0..m4 that identify it:
 *       ff 00  k  00 00      FastLocalBloom: 64-byte blocks, k in 1..30
 *       fe seed b0 b1 b2     Standard128Ribbon of b blocks (24 bits, little-endian)
 *        k l0 l1 l2 l3       legacy Bloom, k in 1..127, l blocks (32 bits, little-endian)
 *
 * Follows RocksDB 7.8.3.  A table has one such block: see rocksdb_table.c.
 *
 * Quirks
 *   - The reader answers "may match" for a filter that it does not understand; so does this one,
 *     with a note.  Five bytes, or none, are a filter of no keys, which matches nothing.
 *   - Keys come sorted; a hash that equals the one before it is dropped.
 *   - The size of a ribbon depends on the hash of its first key.
 *   - Newer versions round sizes to those of the allocator (optimize_filters_for_memory): such
 *     filters are read, but not created. */
#include "compat/rocksdb/rocksdb.h"
#include "compat/common/compat_block.h"
#include "compat/common/hashes.h"
#include "compat/parameters.h"
#include "compat/registry.h"
#include "core/bits.h"
#include "core/bytes.h"

#define META 5
#define BLOCK 64
#define BYTES_LG 6
#define IS_BLOOM 0xff
#define IS_RIBBON 0xfe
#define LEGACY_MAX 127
#define HASHES_MAX 30

enum { SEGMENTS = 1, SEED }; /* ribbon */

/* ---- the hashes */

static struct tamis__hash hash_legacy(const void *key, size_t length, uint64_t seed) {
    (void)seed;
    return tamis__leveldb_hash(key, length, true);
}

static const struct tamis__compat_hash xxph3 = {.id = 11, .name = "xxph3", .hash = tamis__xxph3};
static const struct tamis__compat_hash legacy_hash = {
    .id = 12, .name = "rocksdb hash", .hash = hash_legacy};

/* ---- reading */

static void block_contents(const struct tamis__family *family, uint64_t blocks, uint64_t hashes,
                           uint64_t lg, struct tamis__contents *contents) {
    *contents = (struct tamis__contents){
        .family = family, .shape = {.word = {blocks, hashes, lg}, .table_bytes = blocks << lg}};
    tamis__hashing_compat(&contents->hashing,
                          family == &tamis__legacy_bloom ? &legacy_hash : &xxph3, 0);
}

static tamis_status match_all(uint64_t length, struct tamis__contents *contents) {
    block_contents(&tamis__fastlocal, 0, 0, 0, contents);
    contents->shape.word[WHOLE] = contents->shape.table_bytes = length;
    return TAMIS_OK;
}

static void ribbon_contents(uint64_t blocks, uint64_t segments, uint64_t seed,
                            struct tamis__contents *contents) {
    block_contents(&tamis__ribbon128, blocks, segments, 0, contents);
    contents->shape.word[SEED] = seed;
    contents->shape.table_bytes = segments * 16;
}

/* A filter of no keys. Other bytes this short are truncated. */
static tamis_status read_empty(const uint8_t m[META], uint64_t length,
                               struct tamis__contents *contents) {
    const uint32_t rest = tamis__load32(m + 1);
    const bool bloom = length == META && m[0] == IS_BLOOM && (rest & 0xffe000ff) == 0;
    const bool legacy = length == META && m[0] >= 1 && m[0] <= HASHES_MAX && rest == 0;
    const uint64_t k = bloom ? rest >> 8 : legacy ? m[0] : 1;
    if ((length != 0 && !bloom && !legacy) || k < 1 || k > HASHES_MAX) return TAMIS_E_TRUNCATED;
    block_contents(legacy ? &tamis__legacy_bloom : &tamis__fastlocal, 0, k, BYTES_LG, contents);
    contents->shape.word[WHOLE] = length;
    return TAMIS_OK;
}

static tamis_status read_bloom(const uint8_t m[META], uint64_t data,
                               struct tamis__contents *contents) {
    const unsigned k = m[2] & 31;
    if (m[1] != 0 || m[2] >> 5 != 0 || m[3] != 0 || m[4] != 0 || k < 1 || k > HASHES_MAX) {
        return match_all(data + META, contents);
    }
    if (data % BLOCK != 0) return TAMIS_E_CORRUPT; /* RocksDB would read past its end */
    block_contents(&tamis__fastlocal, data / BLOCK, k, BYTES_LG, contents);
    return TAMIS_OK;
}

static tamis_status read_ribbon(const uint8_t m[META], uint64_t data,
                                struct tamis__contents *contents) {
    const uint64_t blocks = tamis__load32(m + 1) >> 8;
    if (blocks < 2) return match_all(data + META, contents);
    if (data % 16 != 0) return TAMIS_E_CORRUPT;
    ribbon_contents(blocks, data / 16, m[1], contents);
    return TAMIS_OK;
}

/* Blocks of 64 bytes, or of another power of two: the cache line of the writer's machine. */
static tamis_status read_legacy(const uint8_t m[META], uint64_t data,
                                struct tamis__contents *contents) {
    const uint64_t blocks = tamis__load32(m + 1);
    const uint64_t block = blocks == 0 || data % blocks != 0 ? 0 : data / blocks;
    if (block == 0 || (block & (block - 1)) != 0 || block > (uint64_t)1 << 28) {
        return match_all(data + META, contents);
    }
    block_contents(&tamis__legacy_bloom, blocks, m[0], tamis__log2(block), contents);
    return TAMIS_OK;
}

static tamis_status rocksdb_contents(const uint8_t *bytes, uint64_t length,
                                     struct tamis__contents *contents) {
    const uint64_t data = length < META ? 0 : length - META;
    uint8_t m[META] = {0};
    if (length >= META) tamis__copy_once(m, bytes + data, META);
    if (length <= META) return read_empty(m, length, contents);
    if (m[0] == IS_BLOOM) return read_bloom(m, data, contents);
    if (m[0] == IS_RIBBON) return read_ribbon(m, data, contents);
    if (m[0] >= 1 && m[0] <= LEGACY_MAX) return read_legacy(m, data, contents);
    return match_all(length, contents);
}

static tamis_status rocksdb_decode(const uint8_t *bytes, uint64_t length,
                                   struct tamis__decoding *d) {
    const tamis_status status = rocksdb_contents(bytes, length, &d->contents);
    d->contents.table = bytes;
    return status;
}

static enum tamis__detection rocksdb_detect(const struct tamis__codec *codec, const uint8_t *bytes,
                                            uint64_t length) {
    struct tamis__contents contents;
    (void)codec;
    if (length <= META || rocksdb_contents(bytes, length, &contents) != TAMIS_OK)
        return TAMIS__NO_MATCH;
    return contents.family != &tamis__ribbon128 && contents.shape.word[HASHES] == 0
               ? TAMIS__NO_MATCH
               : TAMIS__POSSIBLE;
}

/* ---- writing */

static bool is_ribbon(const tamis_filter *f) { return f->family == &tamis__ribbon128; }

/* Its bytes are kept unchanged: it matches everything, or nothing. */
static bool is_opaque(const tamis_filter *f) {
    return !is_ribbon(f) && (f->shape.word[HASHES] == 0 || f->shape.word[BLOCKS] == 0);
}

static uint64_t data_bytes(const tamis_filter *f) {
    return is_ribbon(f) ? f->shape.word[SEGMENTS] * 16
                        : f->shape.word[BLOCKS] << f->shape.word[BLOCK_LG];
}

static uint64_t rocksdb_encoded_size(const tamis_filter *f) {
    return is_opaque(f) ? f->shape.word[WHOLE] : data_bytes(f) + META;
}

static void write_meta(const tamis_filter *f, uint8_t m[META]) {
    if (is_ribbon(f)) {
        m[0] = IS_RIBBON;
        tamis__store32(m + 1, (uint32_t)(f->shape.word[BLOCKS] << 8 | f->shape.word[SEED]));
    } else if (f->family == &tamis__fastlocal) {
        m[0] = IS_BLOOM;
        tamis__store32(m + 1, (uint32_t)f->shape.word[HASHES] << 8);
    } else {
        m[0] = (uint8_t)f->shape.word[HASHES];
        tamis__store32(m + 1, (uint32_t)f->shape.word[BLOCKS]);
    }
}

static void rocksdb_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    (void)size;
    const uint64_t whole = f->shape.word[WHOLE], data = data_bytes(f);
    if (is_opaque(f) && f->shape.word[HASHES] == 0) {
        memcpy(buffer, f->table, (size_t)whole);
    } else if (!is_opaque(f) || whole != 0) {
        memcpy(buffer, f->table, (size_t)data);
        write_meta(f, buffer + data);
    }
}

/* ---- making */

enum policy { POLICY_BLOOM, POLICY_RIBBON, POLICY_LEGACY };

static enum policy policy_of(const struct tamis__spec *spec) {
    return tamis__parameter(spec->parameters, "legacy")   ? POLICY_LEGACY
           : tamis__parameter(spec->parameters, "ribbon") ? POLICY_RIBBON
                                                          : POLICY_BLOOM;
}

static tamis_status rocksdb_make(const struct tamis__spec *spec, struct tamis__contents *contents) {
    double bits;
    const tamis_status status = tamis__rocksdb_bits(spec, &bits);
    block_contents(policy_of(spec) == POLICY_LEGACY ? &tamis__legacy_bloom : &tamis__fastlocal, 0,
                   1, BYTES_LG, contents);
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

/* A Bloom filter, or the ribbon of no keys, which has no bytes. */
static tamis_status build_bloom(enum policy policy, double bits, const uint64_t *hashes,
                                size_t count, const struct tamis__settings *settings,
                                tamis_filter **out) {
    const bool legacy = policy == POLICY_LEGACY;
    uint64_t k = tamis__rocksdb_hashes(bits), blocks = tamis__rocksdb_blocks(count, bits);
    struct tamis__contents contents;
    size_t done;
    if (legacy) blocks = tamis__rocksdb_legacy_blocks(count, bits, &k);
    if (policy == POLICY_RIBBON && count == 0) k = 1;
    if (blocks > UINT32_MAX) return TAMIS_E_TOO_BIG;
    block_contents(legacy ? &tamis__legacy_bloom : &tamis__fastlocal, blocks, k, BYTES_LG,
                   &contents);
    if (count == 0) contents.shape.word[WHOLE] = policy == POLICY_RIBBON ? 0 : META;
    tamis_status status = tamis__filter_make(&contents, settings, out);
    if (status != TAMIS_OK || count == 0) return status;
    status = (*out)->ops->add_batch(*out, hashes, NULL, count, NULL, &done);
    if (status != TAMIS_OK) {
        tamis__filter_free(*out);
        *out = NULL;
    }
    return status;
}

/* E_FULL: RocksDB writes a Bloom filter instead. */
static tamis_status build_ribbon(double bits, const uint64_t *hashes, size_t count,
                                 const struct tamis__settings *settings, tamis_filter **out) {
    struct tamis__contents contents;
    uint64_t blocks, segments;
    if (!tamis__rocksdb_ribbon(count, bits, hashes[0], &blocks, &segments)) return TAMIS_E_FULL;
    ribbon_contents(blocks, segments, hashes[0] & 0xff, &contents);
    const tamis_status status =
        tamis__ribbon128_solve(&settings->allocator, hashes, count, &contents);
    return status == TAMIS_OK ? tamis__filter_make(&contents, settings, out) : status;
}

static tamis_status build_policy(enum policy policy, double bits, const uint64_t *hashes,
                                 size_t count, const struct tamis__settings *settings,
                                 tamis_filter **out) {
    if (policy == POLICY_RIBBON && count != 0) {
        const tamis_status status = build_ribbon(bits, hashes, count, settings, out);
        if (status != TAMIS_E_FULL) return status;
    }
    return build_bloom(policy, bits, hashes, count, settings, out);
}

static tamis_status rocksdb_build(const struct tamis__spec *spec, const uint64_t *lo, size_t count,
                                  const struct tamis__settings *settings, tamis_filter **out) {
    double bits;
    size_t kept;
    tamis_status status = tamis__rocksdb_bits(spec, &bits);
    if (status != TAMIS_OK) return status;
    uint64_t *hashes = keep_hashes(&settings->allocator, lo, count, &kept);
    if (hashes == NULL) return TAMIS_E_NOMEM;
    status = build_policy(policy_of(spec), bits, hashes, kept, settings, out);
    tamis__release(&settings->allocator, hashes, count * sizeof *hashes);
    if (status != TAMIS_OK) return status;
    (*out)->adds = count;
    (*out)->capacity = kept;
    return TAMIS_OK;
}

/* Does RocksDB's reader accept the five bytes, and read bytes that are kept unchanged as a filter
 * that matches every key? */
static bool rocksdb_holds(const tamis_filter *f) {
    const uint64_t blocks = f->shape.word[BLOCKS], k = f->shape.word[HASHES];
    struct tamis__contents contents;
    if (is_ribbon(f)) return true;
    if (k == 0) {
        return rocksdb_contents(f->table, f->shape.word[WHOLE], &contents) == TAMIS_OK &&
               contents.family != &tamis__ribbon128 && contents.shape.word[HASHES] == 0;
    }
    const bool legacy = f->family == &tamis__legacy_bloom;
    return legacy && blocks != 0 ? blocks <= UINT32_MAX : k <= HASHES_MAX;
}

static const char *rocksdb_reason(const struct tamis__codec *codec, const tamis_filter *f) {
    const struct tamis__compat_hash *hash = f->hashing.compat;
    (void)codec;
    const bool fits = f->family == &tamis__legacy_bloom
                          ? hash == &legacy_hash
                          : hash == &xxph3 && (f->family == &tamis__fastlocal || is_ribbon(f));
    return fits ? NULL : "RocksDB's bits come from its own hash of each key: the keys are needed";
}

static const char *rocksdb_note(const tamis_filter *f) {
    if (is_ribbon(f)) return NULL;
    if (f->shape.word[HASHES] == 0) {
        return "RocksDB does not understand its last five bytes: it matches every key";
    }
    return f->shape.word[BLOCKS] == 0 ? "it was made of no keys: it matches none" : NULL;
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
    .holds = rocksdb_holds,
    .reason = rocksdb_reason,
    .note = rocksdb_note,
};

const struct tamis__system tamis__system_rocksdb = {
    .codecs = {&tamis__rocksdb},
    .families = {&tamis__fastlocal, &tamis__legacy_bloom, &tamis__ribbon128},
    .hashes = {&xxph3, &legacy_hash},
    .container = &tamis__rocksdb_table,
};
