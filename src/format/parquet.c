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

#include "core/bits.h"
#include "family/scheme.h"
#include "format/container.h"
#include "format/thrift.h"

#define BLOCK 32
#define BLOCK_LG 5
#define HASHES 8
#define RATE_DEFAULT 0.01
#define BYTES_MOST ((uint64_t)1 << 30)
#define HEADER_MOST 32

enum { LINES };

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
    return *bytes > BYTES_MOST ? TAMIS_E_CORRUPT : TAMIS_OK;
}

static tamis_status parquet_parse(const uint8_t *bytes, uint64_t length, uint64_t *header,
                                  uint64_t *size) {
    struct tamis__reader r = {bytes, bytes + length, false};
    const tamis_status status = read_header(&r, size);
    if (status != TAMIS_OK) return status;
    *header = (uint64_t)(r.at - bytes);
    const uint64_t left = length - *header;
    return left < *size ? TAMIS_E_TRUNCATED : left > *size ? TAMIS_E_TRAILING : TAMIS_OK;
}

tamis_status tamis__parquet_measure(const uint8_t *bytes, uint64_t length, uint64_t *size) {
    uint64_t header = 0, table = 0;
    const tamis_status status = parquet_parse(bytes, length, &header, &table);
    if (status != TAMIS_OK && status != TAMIS_E_TRAILING) return status;
    *size = header + table;
    return TAMIS_OK;
}

static void parquet_image(uint64_t bytes, struct tamis__image *image) {
    *image = (struct tamis__image){.kind = TAMIS_BLOCK,
                                   .shape = {.word = {bytes / BLOCK, HASHES, BLOCK_LG},
                                             .table_bytes = bytes,
                                             .scheme = TAMIS__SCHEME_SPLIT}};
    tamis__hashing_foreign(&image->hashing, TAMIS__FOREIGN_XXH64, 0);
}

static tamis_status parquet_decode(const uint8_t *bytes, uint64_t length, const tamis_filter *like,
                                   const tamis_open_options *options, tamis_filter **out) {
    struct tamis__image image;
    uint64_t header, size;
    const tamis_status status = parquet_parse(bytes, length, &header, &size);
    (void)options;
    if (status != TAMIS_OK) return status;
    parquet_image(size, &image);
    image.table = bytes + header;
    return tamis__image_open(&image, like, out);
}

static enum tamis__likeness parquet_detect(const uint8_t *bytes, uint64_t length) {
    uint64_t header, size;
    return parquet_parse(bytes, length, &header, &size) == TAMIS_OK ? TAMIS__SURE : TAMIS__NOT;
}

/* ---- writing */

static size_t write_header(uint64_t bytes, uint8_t header[HEADER_MOST]) {
    static const uint8_t first_of_union[] = {0x1c, 0x1c, 0, 0};
    struct tamis__writer w = {header, header + HEADER_MOST, false};
    tamis__write8(&w, 0x10 | TAMIS__THRIFT_I32);
    uint64_t zigzag = bytes << 1;
    for (; zigzag >= 0x80; zigzag >>= 7) tamis__write8(&w, (uint8_t)(zigzag | 0x80));
    tamis__write8(&w, (uint8_t)zigzag);
    for (int i = 0; i < 3; i++) tamis__write_bytes(&w, first_of_union, sizeof first_of_union);
    tamis__write8(&w, TAMIS__THRIFT_STOP);
    return (size_t)(w.at - header);
}

static uint64_t parquet_encoded_size(const tamis_filter *f) {
    uint8_t header[HEADER_MOST];
    const uint64_t bytes = f->shape.word[LINES] * BLOCK;
    return write_header(bytes, header) + bytes;
}

static tamis_status parquet_encode(const tamis_filter *f, uint8_t *buffer) {
    uint8_t header[HEADER_MOST];
    const uint64_t bytes = f->shape.word[LINES] * BLOCK;
    const size_t length = write_header(bytes, header);
    memcpy(buffer, header, length);
    memcpy(buffer + length, f->table, (size_t)bytes);
    return TAMIS_OK;
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

static tamis_status parquet_make(const struct tamis__recipe *recipe, struct tamis__image *image) {
    const double rate = recipe->rate == 0 ? RATE_DEFAULT : recipe->rate;
    const double keys = (double)recipe->keys;
    const double bits = -8 * keys / log(1 - pow(rate, 1.0 / 8));
    double bytes = tamis__parameter(recipe->parameters, "hyparquet") ? hyparquet_bytes(bits)
                                                                     : duckdb_bytes(bits);
    if (!(bytes <= (double)BYTES_MOST)) return TAMIS_E_TOO_BIG;
    if (bytes < BLOCK) bytes = BLOCK;
    parquet_image((uint64_t)bytes, image);
    image->capacity = recipe->keys;
    image->rate = rate;
    return TAMIS_OK;
}

static const char *parquet_refuse(const tamis_filter *f) {
    if (!tamis__image_fits(f, TAMIS__SCHEME_SPLIT, TAMIS__FOREIGN_XXH64)) {
        return "Parquet's bits come from its own hash of each key: the keys are needed";
    }
    const bool holds = f->shape.word[LINES] <= BYTES_MOST / BLOCK && f->hashing.seed == 0;
    return holds ? NULL : tamis__image_beyond;
}

const struct tamis__codec tamis__parquet = {
    .name = "parquet",
    .about = "Parquet split-block Bloom filter; a .parquet file holds several",
    .parameters = "hyparquet",
    .flags = TAMIS__SIZED_BY_DISTINCT,
    .detect = parquet_detect,
    .decode = parquet_decode,
    .encoded_size = parquet_encoded_size,
    .encode = parquet_encode,
    .make = parquet_make,
    .refuse = parquet_refuse,
};
