/* parquet.c - one split-block Bloom filter of a Parquet file, with its header
 *
 *     15 VARINT             field 1: bytes of the bits, zigzag
 *     1c 1c 00 00           field 2: algorithm, a union: 1 is BLOCK
 *     1c 1c 00 00           field 3: hash, a union: 1 is XXHASH (XXH64 with seed 0)
 *     1c 1c 00 00           field 4: compression, a union: 1 is UNCOMPRESSED
 *     00                    end
 *     the bits              blocks of eight little-endian 32-bit words
 *
 * BloomFilterHeader in Thrift's compact protocol; follows version 2 of the Parquet format.
 * A file has one for a column chunk or none: see parquet_file.c.
 *
 * Quirks
 *   - The number of blocks need not be a power of two.
 *   - A key is the value in PLAIN encoding, a string without its length: --as i32, i64, f32, f64
 *     for numbers.  -0.0 and 0.0 are different keys.
 *   - Sizes are each writer's choice: DuckDB's here, or hyparquet-writer's (`hyparquet`).
 *   - The header may be written in longer ways than the above; it is rewritten as above. */
#include <math.h>

#include "compat/common/compat_block.h"
#include "compat/common/hashes.h"
#include "compat/parameters.h"
#include "compat/parquet/parquet.h"
#include "compat/parquet/thrift.h"
#include "compat/registry.h"
#include "core/bits.h"
#include "family/bloom_table.h"

#define BLOCK 32
#define BYTES_LG 5
#define WORDS 8
#define FPR_DEFAULT 0.01
#define BYTES_MAX ((uint64_t)1 << 30)
#define HEADER_MAX 32 /* as written here */
#define HEADER_READ_MAX \
    512 /* writers need 15 to 20 bytes; a longer one is not searched to its end */

/* ---- the hash and the probe rule: the upper half of the hash chooses the block, the lower half
 * times eight odd numbers one bit of each of its words */

static struct tamis__hash hash_xxh64(const void *key, size_t length, uint64_t seed) {
    return (struct tamis__hash){tamis__xxh64(key, length, seed), 0};
}

static const struct tamis__compat_hash xxh64 = {.id = 10, .name = "xxh64", .hash = hash_xxh64};

TAMIS_TEMPLATE struct tamis__block_probe split_first(const tamis_filter *f, uint64_t h) {
    const uint64_t block = (h >> 32) * f->shape.word[BLOCKS] >> 32;
    return (struct tamis__block_probe){block << BYTES_LG, (uint32_t)h, 0};
}

TAMIS_TEMPLATE uint32_t split_next(struct tamis__block_probe *p, uint64_t i, uint64_t block_lg) {
    static const uint32_t salt[WORDS] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                         0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
    (void)block_lg;
    return (uint32_t)i * 32 + (p->x * salt[i] >> 27);
}

static const struct tamis__block_rule split_rule = {split_first, split_next, WORDS};
COMPAT_BLOCK(split, &split_rule)

static bool split_check(const struct tamis__shape *shape) {
    return shape->word[BLOCKS] != 0 && shape->word[HASHES] == WORDS &&
           shape->word[BLOCK_LG] == BYTES_LG && shape->word[WHOLE] == 0 &&
           tamis__compat_blocks_check(shape);
}

static double split_fpr(const tamis_filter *f, const uint8_t *block, uint64_t bytes) {
    double fpr = 1;
    (void)f;
    for (uint64_t i = 0; i < bytes; i += 4) {
        fpr *= (double)tamis__popcount(tamis__load32(block + i)) / 32;
    }
    return fpr;
}

static void split_state(const tamis_filter *f, struct tamis__state *state) {
    tamis__compat_blocks_state(f, state, split_fpr);
}

static const struct tamis__family split_family =
    COMPAT_BLOCK_FAMILY(split, 16, split_state, tamis__merge_bits);

/* ---- reading */

/* A union whose only field, 1, is an empty struct: E_UNSUPPORTED if it is another. */
static tamis_status read_union(struct tamis__reader *r) {
    struct tamis__thrift_field field = {0, 0}, inner = {0, 0};
    if (!tamis__thrift_next(r, &field)) return TAMIS_E_CORRUPT;
    if (field.id != 1 || field.type != TAMIS__THRIFT_STRUCT) return TAMIS_E_UNSUPPORTED;
    while (tamis__thrift_next(r, &inner)) tamis__thrift_skip(r, inner.type);
    return tamis__thrift_next(r, &field) || r->bad ? TAMIS_E_CORRUPT : TAMIS_OK;
}

/* The header; r->at is then the first byte of the bits. */
static tamis_status read_header(struct tamis__reader *r, uint64_t *bytes) {
    struct tamis__thrift_field field = {0, 0};
    tamis_status status = TAMIS_OK;
    unsigned seen = 0;
    int64_t number = 0;
    while (status == TAMIS_OK && tamis__thrift_next(r, &field)) {
        if (field.id == 1 && field.type == TAMIS__THRIFT_I32) {
            number = tamis__thrift_integer(r);
        } else if (field.id >= 2 && field.id <= 4 && field.type == TAMIS__THRIFT_STRUCT) {
            status = read_union(r);
        } else {
            return TAMIS_E_CORRUPT;
        }
        seen |= 1u << field.id;
    }
    if (r->bad) return TAMIS_E_TRUNCATED;
    if (status != TAMIS_OK) return status;
    if (seen != 0x1e || number < BLOCK || number % BLOCK != 0) return TAMIS_E_CORRUPT;
    *bytes = (uint64_t)number;
    return *bytes > BYTES_MAX ? TAMIS_E_CORRUPT : TAMIS_OK;
}

static tamis_status parquet_parse(const uint8_t *bytes, uint64_t length, uint64_t *header,
                                  uint64_t *size) {
    const uint64_t searched = length < HEADER_READ_MAX ? length : HEADER_READ_MAX;
    struct tamis__reader r = {bytes, bytes + searched, false};
    const tamis_status status = read_header(&r, size);
    if (status == TAMIS_E_TRUNCATED && searched < length) return TAMIS_E_CORRUPT;
    if (status != TAMIS_OK) return status;
    *header = (uint64_t)(r.at - bytes);
    return tamis__length_status(length - *header, *size);
}

tamis_status tamis__parquet_measure(const uint8_t *bytes, uint64_t length, uint64_t *size) {
    uint64_t header = 0, table = 0;
    const tamis_status status = parquet_parse(bytes, length, &header, &table);
    if (status != TAMIS_OK && status != TAMIS_E_TRAILING) return status;
    *size = header + table;
    return TAMIS_OK;
}

static void parquet_contents(uint64_t bytes, struct tamis__contents *contents) {
    contents->shape =
        (struct tamis__shape){.word = {bytes / BLOCK, WORDS, BYTES_LG}, .table_bytes = bytes};
}

static tamis_status parquet_decode(const uint8_t *bytes, uint64_t length,
                                   struct tamis__decoding *d) {
    uint64_t header, size;
    const tamis_status status = parquet_parse(bytes, length, &header, &size);
    if (status != TAMIS_OK) return status;
    parquet_contents(size, &d->contents);
    d->contents.table = bytes + header;
    return TAMIS_OK;
}

/* ---- writing */

static size_t write_header(uint64_t bytes, uint8_t header[HEADER_MAX]) {
    static const uint8_t first_of_union[] = {0x1c, 0x1c, 0, 0};
    struct tamis__writer w = {header, header + HEADER_MAX, false};
    tamis__write8(&w, 0x10 | TAMIS__THRIFT_I32);
    uint64_t zigzag = bytes << 1;
    for (; zigzag >= 0x80; zigzag >>= 7) tamis__write8(&w, (uint8_t)(zigzag | 0x80));
    tamis__write8(&w, (uint8_t)zigzag);
    for (int i = 0; i < 3; i++) tamis__write_bytes(&w, first_of_union, sizeof first_of_union);
    tamis__write8(&w, TAMIS__THRIFT_STOP);
    return (size_t)(w.at - header);
}

static uint64_t parquet_encoded_size(const tamis_filter *f) {
    uint8_t header[HEADER_MAX];
    const uint64_t bytes = f->shape.word[BLOCKS] * BLOCK;
    return write_header(bytes, header) + bytes;
}

/* `buffer` has room for HEADER_MAX bytes, since a block is that long. */
static void parquet_encode(const tamis_filter *f, uint8_t *buffer, uint64_t size) {
    (void)size;
    const uint64_t bytes = f->shape.word[BLOCKS] * BLOCK;
    memcpy(buffer + write_header(bytes, buffer), f->table, (size_t)bytes);
}

/* ---- making */

static double next_power_of_two(double x) {
    double power = 1;
    while (power < x) power *= 2;
    return power;
}

static double duckdb_bytes(double bits) { return next_power_of_two(trunc(bits / 8)); }

static double hyparquet_bytes(double bits) {
    const double bytes = ceil(ceil(bits) / 256) * BLOCK;
    return bytes < 1024 ? next_power_of_two(bytes) : bytes;
}

static tamis_status parquet_make(const struct tamis__spec *spec, struct tamis__contents *contents) {
    const double fpr = spec->fpr == 0 ? FPR_DEFAULT : spec->fpr;
    const double keys = (double)spec->capacity;
    const double bits = -8 * keys / log(1 - pow(fpr, 1.0 / 8));
    /* 1 - p^(1/8) is 1 below about 2e-128. */
    if (!isfinite(bits)) return TAMIS_E_FPR_TOO_LOW;
    double bytes = tamis__parameter(spec->parameters, "hyparquet") ? hyparquet_bytes(bits)
                                                                   : duckdb_bytes(bits);
    if (!(bytes <= (double)BYTES_MAX)) return TAMIS_E_TOO_BIG;
    if (bytes < BLOCK) bytes = BLOCK;
    parquet_contents((uint64_t)bytes, contents);
    contents->capacity = spec->capacity;
    contents->fpr = fpr;
    return TAMIS_OK;
}

static bool parquet_holds(const tamis_filter *f) {
    return f->shape.word[BLOCKS] <= BYTES_MAX / BLOCK && f->hashing.seed == 0;
}

const struct tamis__codec tamis__parquet = {
    .name = "parquet",
    .about = "Parquet split-block Bloom filter; a .parquet file holds several",
    .parameters = "hyparquet",
    .flags = TAMIS__SIZED_BY_DISTINCT,
    .family = &split_family,
    .hash = &xxh64,
    .refusal = "Parquet's bits come from its own hash of each key: the keys are needed",
    .decode = parquet_decode,
    .encoded_size = parquet_encoded_size,
    .encode = parquet_encode,
    .make = parquet_make,
    .holds = parquet_holds,
};

const struct tamis__system tamis__system_parquet = {
    .codecs = {&tamis__parquet},
    .families = {&split_family},
    .hashes = {&xxh64},
    .container = &tamis__parquet_file,
};
