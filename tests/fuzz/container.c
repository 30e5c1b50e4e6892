/* container.c - opens any bytes as a file of several filters: LevelDB and RocksDB tables, Parquet
 *
 * The first byte selects the call: bit 0 leaves the checksums of blocks as they are instead of
 * repairing them, bit 1 names the format, bit 2 opens one part as a filter.  The rest is the input.
 *
 * Faults besides crashes: memory beyond the input and a mebibyte, a leak, a filter that a part has
 * and the container denies, a part whose filter contains a key that the container denies. */
#include "../support/filters.h"
#include "../support/vectors.h"
#include "compat/common/crc.h"
#include "compat/common/hashes.h"
#include "compat/common/table_blocks.h"
#include "fuzz.h"
#include "hash/hash.h"

enum { HOW_DAMAGED = 1, HOW_NAMED = 2, HOW_PART = 4 };

/* ---- checksums of the tables */

struct table {
    uint8_t *bytes;
    uint64_t end; /* of the blocks: where the footer begins */
    unsigned checksum;
};

static uint32_t sum_of(unsigned checksum, const uint8_t *block, size_t size) {
    switch (checksum) {
        case 1:
            return tamis__crc32c_mask(tamis__crc32c(0, block, size + 1));
        case 3:
            return (uint32_t)tamis__xxh64(block, size + 1, 0);
        case 4:
            return (uint32_t)tamis__xxh3(block, size, 0) ^ block[size] * UINT32_C(0x6b9083d9);
        default:
            return 0;
    }
}

static bool repair_block(const struct table *t, const struct tamis__handle *handle) {
    if (!tamis__handle_fits(handle, t->end)) return false;
    uint8_t *block = t->bytes + handle->offset;
    tamis__store32(block + handle->size + 1, sum_of(t->checksum, block, (size_t)handle->size));
    return true;
}

/* The blocks that a block of entries refers to: the filter, the properties, the data. */
static void repair_entries(const struct table *t, const struct tamis__handle *handle) {
    struct tamis__entries e;
    struct tamis__handle next;
    if (!tamis__handle_fits(handle, t->end) || t->bytes[handle->offset + handle->size] != 0) return;
    if (!tamis__entries_start(&e, t->bytes + handle->offset, handle->size)) return;
    for (unsigned i = 0; i < 8 && tamis__entries_next(&e); i++) {
        if (tamis__entry_handle(&e, &next)) repair_block(t, &next);
    }
}

static void repair_table(uint8_t *bytes, size_t length, size_t footer, size_t handles,
                         unsigned checksum) {
    if (length < footer) return;
    const struct table t = {bytes, length - footer, checksum};
    struct tamis__reader r = {bytes + handles, bytes + length - 8, false};
    struct tamis__handle meta, index;
    if (!tamis__handle_read(&r, &meta) || !tamis__handle_read(&r, &index)) return;
    repair_entries(&t, &meta);
    repair_entries(&t, &index);
    repair_block(&t, &index);
    repair_block(&t, &meta);
}

static void repair(uint8_t *bytes, size_t length) {
    const char *format = tamis_format_detect(bytes, length, 0);
    if (format == NULL) return;
    if (strcmp(format, "leveldb-table") == 0) {
        repair_table(bytes, length, 48, length - 48, 1);
    } else if (strcmp(format, "rocksdb-table") == 0) {
        repair_table(bytes, length, 53, length - 52, bytes[length - 53]);
    }
}

/* ---- the calls */

static const char *const probes[] = {"", "key", "key0000001",
                                     "\xff\xff\xff\xff\xff\xff\xff\xff\xff"};
#define PROBES (sizeof probes / sizeof *probes)

static void use_part(const tamis_container *c, size_t index) {
    tamis_part part = TAMIS_PART_INIT;
    tamis_filter *f = NULL;
    tamis_facts facts = TAMIS_FACTS_INIT;
    fuzz_must(tamis_container_part(c, index, &part) == TAMIS_OK, "a part that is counted");
    fuzz_must(memchr(part.name, 0, sizeof part.name) != NULL, "the name of a part has no end");
    const tamis_status status = tamis_container_filter(c, index, &f);
    fuzz_must((status == TAMIS_OK) == (f != NULL), "status and result do not match");
    for (size_t i = 0; i < PROBES; i++) {
        const size_t length = strlen(probes[i]);
        const bool found = tamis_container_contains(c, part.name, probes[i], length);
        if (f != NULL && tamis_contains(f, probes[i], length) && !found) {
            fuzz_fault("the container denies a key of its part");
        }
    }
    if (f == NULL) return;
    fuzz_must(tamis_info(f, &facts) == TAMIS_OK, "info");
    (void)tamis_add(f, "key", 3, NULL);
    const size_t size = (size_t)tamis_encoded_size(f);
    uint8_t *out = (uint8_t *)malloc(size + 1);
    if (out != NULL) (void)tamis_encode(f, out, size, NULL);
    free(out);
    tamis_free(f);
}

static void use(const tamis_container *c) {
    const size_t count = tamis_container_count(c);
    tamis_part part = TAMIS_PART_INIT;
    fuzz_must(tamis_container_format(c) != NULL, "a container without a format");
    for (size_t i = 0; i < count && i < 4; i++) use_part(c, i);
    if (count > 4) use_part(c, count - 1);
    fuzz_must(tamis_container_part(c, count, &part) == TAMIS_E_ARGUMENT, "a part too many");
    for (size_t i = 0; i < PROBES; i++) {
        (void)tamis_container_contains(c, NULL, probes[i], strlen(probes[i]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"leveldb-table", "rocksdb-table", "parquet"};
    if (size == 0) return 0;
    static struct meter meter;
    tamis_container *c = NULL;
    tamis_open_options open = TAMIS_OPEN_INIT;
    const size_t length = size - 1;
    uint8_t *bytes = fuzz_copy(data + 1, length);
    if ((data[0] & HOW_DAMAGED) == 0) repair(bytes, length);
    meter_reset(&meter);
    meter.limit = (uint64_t)64 << 20;
    open.allocator = meter_allocator(&meter);
    if ((data[0] & HOW_NAMED) != 0) open.format = names[data[0] / 16 % 3];
    const tamis_status status = tamis_container_view(bytes, length, &open, &c);
    fuzz_must((status == TAMIS_OK) == (c != NULL), "status and result do not match");
    if (c != NULL) use(c);
    tamis_container_free(c);
    if ((data[0] & HOW_PART) != 0) {
        tamis_filter *f = NULL;
        if (data[0] / 16 % 4 != 0) open.part = data[0] / 16 % 4 == 1 ? "0" : "0/column0";
        if (tamis_decode(bytes, length, &open, &f) == TAMIS_OK) (void)tamis_contains(f, "key", 3);
        tamis_free(f);
    }
    fuzz_must(meter.peak_bytes <= 4 * length + (1u << 20), "too much memory");
    fuzz_must(meter.live == 0, "a leak");
    fuzz_must(meter.wrong_size == 0, "freed with another size");
    free(bytes);
    return 0;
}

/* The short ones of the files that other systems wrote; RocksDB's with every checksum. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t room) {
    static const struct {
        const char *path;
        uint8_t checksum; /* RocksDB; 0: as it is */
    } files[] = {{"leveldb/tb-empty.ldb", 0},
                 {"leveldb/tb-one.ldb", 0},
                 {"leveldb/db-small.ldb", 0},
                 {"rocksdb/sst-bloom10-small.sst", 0},
                 {"rocksdb/sst-bloom10-small.sst", 1},
                 {"rocksdb/sst-bloom10-small.sst", 3},
                 {"rocksdb/sst-legacybloom10-small-fv4.sst", 4},
                 {"parquet/duckdb-empty-varchar-p0.01.parquet", 0},
                 {"parquet/duckdb-emptystr-varchar-p0.01.parquet", 0},
                 {"parquet/duckdb-small-varchar-p0.01.parquet", 0},
                 {"parquet/duckdb-small-varchar-p0.5.parquet", 0},
                 {"parquet/duckdb-tail-blob-p0.1.parquet", 0}};
    if (index >= sizeof files / sizeof *files) return 0;
    struct vector_bytes file = vector_file(files[index].path);
    const size_t length = file.length < room ? file.length : room - 1;
    out[0] = (uint8_t)(index % 2 == 0 ? HOW_PART | 16 : 0);
    memcpy(out + 1, file.at, length);
    if (files[index].checksum != 0) out[1 + length - 53] = files[index].checksum;
    vector_bytes_free(&file);
    return 1 + length;
}
