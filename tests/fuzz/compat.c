/* compat.c - decodes bytes of compatible formats, then makes every call on the result
 *
 * The first byte selects a format of tamis_format_at, the second the call: bit 0 lets the library
 * detect the format, bit 1 leaves the checksum as it is instead of repairing it, bit 2 views
 * instead of copying, bit 3 selects the portable code; the upper four bits append a parameter to
 * the name.  The rest is the input.
 *
 * Faults besides crashes: memory beyond a multiple of the input, a leak, a status that is not
 * about the input, a filter that rejects its own bytes or gives other answers after them, a key
 * that is missing after it was added. */
#include "../support/filters.h"
#include "../support/vectors.h"
#include "compat/common/crc.h"
#include "fuzz.h"

enum { HOW_DETECT = 1, HOW_DAMAGED = 2, HOW_VIEW = 4, HOW_PORTABLE = 8 };

#define KEYS 16

static uint64_t integers[KEYS];
static const void *keys[KEYS];
static size_t lengths[KEYS];

static size_t format_count(void) {
    static size_t count;
    while (tamis_format_at(count) != NULL) count++;
    return count;
}

/* "rocksdb", or with one of its parameters "rocksdb:bits=10". */
static const char *format_name(uint8_t which, uint8_t how, char *text, size_t size) {
    const char *name = tamis_format_at(which % format_count());
    const char *parameter = tamis_format_parameters(name);
    unsigned skip = how >> 4;
    if (skip == 0 || parameter == NULL || parameter[0] == '\0') return name;
    for (const char *comma; --skip > 0 && (comma = strchr(parameter, ',')) != NULL;) {
        parameter = comma + 1;
    }
    snprintf(text, size, "%s:%.*s=%u", name, (int)strcspn(parameter, ","), parameter,
             1u << (how >> 4));
    return text;
}

/* The end of a DUMP payload: version, CRC-64. */
static void repair(const char *format, uint8_t *bytes, size_t length) {
    if (strncmp(format, "redis", 5) != 0 || length < 10) return;
    const uint64_t crc = tamis__crc64(0, bytes, length - 8);
    for (unsigned i = 0; i < 8; i++) bytes[length - 8 + i] = (uint8_t)(crc >> (8 * i));
}

static void change(tamis_filter *f, const tamis_filter *other) {
    bool answers[KEYS];
    size_t done = 0;
    tamis_facts facts = TAMIS_FACTS_INIT;
    const tamis_status status = tamis_add_batch(f, keys, lengths, KEYS, answers, &done);
    fuzz_must((status == TAMIS_OK) == (done == KEYS), "add batch");
    (void)tamis_contains_batch(f, keys, lengths, KEYS, answers);
    for (size_t i = 0; i < done; i++) fuzz_must(answers[i], "a key that was added is missing");
    (void)tamis_remove(f, keys[0], lengths[0]);
    (void)tamis_remove_batch(f, keys, lengths, 4, answers);
    (void)tamis_merge(f, other, TAMIS_UNION);
    (void)tamis_merge(f, other, TAMIS_INTERSECTION);
    (void)tamis_compact(f, NULL);
    fuzz_must(tamis_info(f, &facts) == TAMIS_OK, "info");
    (void)tamis_count(f, keys[1], lengths[1]);
}

static void query(const tamis_filter *f, bool *answers) {
    const size_t hits = tamis_contains_batch(f, keys, lengths, KEYS, answers);
    size_t counted = 0;
    for (size_t i = 0; i < KEYS; i++) counted += answers[i];
    fuzz_must(counted == hits, "the count of a batch");
    fuzz_must(tamis_contains(f, keys[3], lengths[3]) == answers[3], "batch and single differ");
    (void)tamis_contains(f, "key", 3);
    (void)tamis_contains_hash(f, 42);
}

/* The encoding of `f` decodes to a filter with the same answers. */
static void round_trip(const tamis_filter *f, const bool *answers, struct meter *meter) {
    tamis_facts facts = TAMIS_FACTS_INIT;
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *again = NULL;
    bool same[KEYS];
    fuzz_must(tamis_info(f, &facts) == TAMIS_OK, "info");
    open.format = facts.format;
    open.allocator = meter_allocator(meter);
    const size_t size = (size_t)tamis_encoded_size(f);
    size_t written = 0;
    if (size > (16u << 20)) return;
    uint8_t *bytes = (uint8_t *)malloc(size + 1);
    if (bytes == NULL) abort();
    const tamis_status status = tamis_encode(f, bytes, size, &written);
    if (status == TAMIS_OK) {
        const tamis_status back = tamis_decode(bytes, written, &open, &again);
        if (back != TAMIS_OK && back != TAMIS_E_NOMEM) fuzz_fault("a filter rejects its own bytes");
    } else if (status != TAMIS_E_NOMEM && status != TAMIS_E_UNSUPPORTED) {
        fuzz_fault("a decoded filter cannot be encoded");
    }
    if (again != NULL) query(again, same);
    fuzz_must(again == NULL || memcmp(same, answers, sizeof same) == 0, "other answers");
    tamis_free(again);
    free(bytes);
}

static void use(tamis_filter *f, uint8_t which, struct meter *meter) {
    tamis_filter *copy = NULL;
    bool answers[KEYS], same[KEYS];
    query(f, answers);
    round_trip(f, answers, meter);
    if (tamis_clone(f, &copy) == TAMIS_OK) {
        (void)tamis_reformat_reason(copy, tamis_format_at(which % format_count()));
        if (tamis_reformat(copy, "tamis") == TAMIS_OK) round_trip(copy, answers, meter);
        query(copy, same);
        fuzz_must(memcmp(same, answers, sizeof same) == 0, "a copy has other answers");
        change(copy, f);
    }
    tamis_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    static struct meter meter;
    char text[64];
    tamis_filter *f = NULL;
    tamis_open_options open = TAMIS_OPEN_INIT;
    const uint8_t how = data[1];
    const char *name = format_name(data[0], how, text, sizeof text);
    const size_t length = size - 2;
    uint8_t *bytes = fuzz_copy(data + 2, length);
    if (keys[0] == NULL) integer_keys(integers, keys, lengths, KEYS);
    if ((how & HOW_DAMAGED) == 0) repair(name, bytes, length);
    meter_reset(&meter);
    meter.limit = (uint64_t)64 << 20;
    open.allocator = meter_allocator(&meter);
    open.portable = (how & HOW_PORTABLE) != 0;
    if ((how & HOW_DETECT) == 0) open.format = name;
    for (size_t i = 0; tamis_format_detect(bytes, length, i) != NULL; i++) {
    }
    const tamis_status status = (how & HOW_VIEW) != 0 ? tamis_view(bytes, length, &open, &f)
                                                      : tamis_decode(bytes, length, &open, &f);
    fuzz_must((status == TAMIS_OK) == (f != NULL), "status and result do not match");
    /* An LZF string in a dump expands up to 88 times. */
    fuzz_must(meter.peak_bytes <= 256 * (uint64_t)length + (1u << 20), "too much memory");
    if (f != NULL) use(f, data[0], &meter);
    tamis_free(f);
    fuzz_must(meter.live == 0, "a leak");
    fuzz_must(meter.wrong_size == 0, "freed with another size");
    free(bytes);
    return 0;
}

/* A DUMP of Redis, which compresses its strings; tamis does not. */
static size_t dump_seed(size_t index, uint8_t *out, size_t room) {
    static const char *const files[] = {
        "redisbloom/cf-64-BUCKETSIZE2MAXITERATIONS10EXPANSION2-add-empty.dump",
        "redisbloom/cf-16-BUCKETSIZE1MAXITERATIONS5EXPANSION1-add-one.dump",
        "redisbloom/bf-0.01-100-add-one.dump", "redisbloom/bf-0.1-50-EXPANSION4-add-dups.dump"};
    if (index >= sizeof files / sizeof *files) return 0;
    struct vector_bytes file = vector_file(files[index]);
    const size_t length = file.length < room - 2 ? file.length : room - 2;
    out[0] = 0;
    while (strcmp(tamis_format_at(out[0]), "redisbloom-dump") != 0) out[0]++;
    out[1] = (uint8_t)(index % 2 == 0 ? HOW_DETECT : 0);
    memcpy(out + 2, file.at, length);
    vector_bytes_free(&file);
    return 2 + length;
}

/* Filters of every format that can be created, of 0, 1, 20 and 100 keys. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t room) {
    static const size_t counts[] = {0, 1, 20, 100};
    uint64_t numbers[100];
    const void *members[100];
    size_t sizes[100], written = 0;
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    const size_t which = index / 4;
    if (which >= format_count()) return dump_seed(index - 4 * format_count(), out, room);
    o.format = tamis_format_at(which);
    o.capacity = counts[index % 4];
    integer_keys(numbers, members, sizes, 100);
    out[0] = (uint8_t)which;
    out[1] = (uint8_t)(index % 4 == 2 ? HOW_VIEW : 0);
    if (which != 0 && tamis_build(&o, members, sizes, counts[index % 4], &f) == TAMIS_OK) {
        if (tamis_encode(f, out + 2, room - 2, &written) != TAMIS_OK) written = 0;
    }
    tamis_free(f);
    return 2 + written;
}
