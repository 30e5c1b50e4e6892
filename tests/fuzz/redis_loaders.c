/* redis_loaders.c - what the Redis module reads: values of RDB files, chunks of LOADCHUNK
 *
 * The module is linked without its commands and without a server: the functions of the module API
 * that its types call are here.  The first byte selects the type (BF, CF, TAMIS) and how it comes:
 *
 *   RDB       the next byte is the version of the encoding; then numbers (a byte with their length,
 *             little-endian), doubles and strings (u16 length)
 *   chunks    a header, then chunks, each a string after a byte with its number; TAMIS: the parts
 *             of an upload
 *
 * Checksums in headers and chunks are repaired unless bit 7 of the first byte is set.
 *
 * Faults besides crashes: a leak, a value that is queried or changed wrongly, a value that is not
 * read back from what was saved, or is saved as something else then. */
#include "../support/check.h"
#include "../support/hostile.h"
#include "filters/bf.h"
#include "filters/cf.h"
#include "filters/static_filter.h"
#include "fuzz.h"
#include "persist/serialize.h"
#include "persist/types.h"
#include "server/memory.h"
#include "server/worker.h"

enum { HOW_CHUNKS = 4, HOW_DAMAGED = 128 };
enum { TYPE_BF, TYPE_CF, TYPE_STATIC, TYPES };

/* ---- memory: counted, and little of it */

#define LIMIT ((size_t)1 << 20)

static size_t live;
static bool saving; /* a value is saved whole or not at all: no limit */

static void *counted(void *block) {
    live += block != NULL;
    return block;
}
void *memory_alloc(size_t size) {
    return size > LIMIT && !saving ? NULL : counted(malloc(size == 0 ? 1 : size));
}
void *memory_zeroed(size_t size) {
    return size > LIMIT && !saving ? NULL : counted(calloc(1, size == 0 ? 1 : size));
}
void memory_free(void *block) {
    live -= block != NULL;
    free(block);
}
_Noreturn void memory_exhausted(size_t size) {
    fprintf(stderr, "no memory for %zu bytes\n", size);
    abort();
}
static void *library_alloc(void *context, size_t size) {
    (void)context;
    return memory_alloc(size);
}
static void *library_zeroed(void *context, size_t size) {
    (void)context;
    return memory_zeroed(size);
}
static void library_free(void *context, void *block, size_t size) {
    (void)context, (void)size;
    memory_free(block);
}
tamis_allocator memory_allocator(void) {
    return (tamis_allocator){
        .alloc = library_alloc, .free = library_free, .zeroed = library_zeroed};
}
bool memory_admits(RedisModuleCtx *ctx, uint64_t bytes) { return (void)ctx, bytes <= LIMIT; }
bool memory_is_short(void) { return false; }
size_t memory_effort(size_t effort) { return effort; }

/* ---- the worker: there is none */

bool worker_open(void) { return true; }
void worker_give(worker_job *job, void *argument) { job(argument); }
void worker_free(worker_job *job, void *block) { job(block); }
bool worker_is_main_thread(void) { return true; }
bool worker_builds_inline(size_t tables) { return tables <= 1; }
size_t worker_jobs(void) { return 0; }

/* ---- the module API: values are read from the input and written to a buffer */

#define SAVED_MAX ((size_t)1 << 20)

struct RedisModuleIO {
    struct fuzz_input in;
    bool repair, bad;
    struct fuzz_output out;
};

static uint64_t load_unsigned(RedisModuleIO *io) {
    const unsigned width = fuzz_left(&io->in) == 0 ? 0 : fuzz_take(&io->in) & 15;
    io->bad |= width > fuzz_left(&io->in) || fuzz_left(&io->in) == 0;
    return fuzz_take_number(&io->in, width > 8 ? 8 : width);
}

static double load_double(RedisModuleIO *io) {
    double number;
    io->bad |= fuzz_left(&io->in) < 8;
    const uint64_t bits = fuzz_take_number(&io->in, 8);
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* A header or a bare table ends with SipHash-2-4 of all before. */
static void repair_string(uint8_t *bytes, size_t length) {
    static const uint8_t zeros[TAMIS_SECRET_BYTES], magic[] = {0x93, 't', 'a', 'm', 'i', 's'};
    if (length >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0) {
        repair_sums(bytes, length);
    } else if (length >= 16) {
        byte_store(bytes + length - 8, tamis_hash_secret(zeros, bytes, length - 8), 8);
    }
}

static uint8_t *take_string(struct fuzz_input *in, bool repair, size_t *length) {
    *length = (size_t)fuzz_take_number(in, 2);
    const uint8_t *at = fuzz_take_bytes(in, length);
    uint8_t *bytes = counted(fuzz_copy(at, *length));
    if (repair) repair_string(bytes, *length);
    return bytes;
}

static char *load_string(RedisModuleIO *io, size_t *length) {
    if (fuzz_left(&io->in) < 2) {
        io->bad = true;
        return NULL;
    }
    return (char *)take_string(&io->in, io->repair, length);
}

static int is_io_error(RedisModuleIO *io) { return io->bad; }
static RedisModuleCtx *context_of(RedisModuleIO *io) { return (void)io, NULL; }
static int context_flags(RedisModuleCtx *ctx) { return (void)ctx, 0; }

static void save_unsigned(RedisModuleIO *io, uint64_t number) {
    fuzz_put_number(&io->out, 8, 1);
    fuzz_put_number(&io->out, number, 8);
}
static void save_double(RedisModuleIO *io, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    fuzz_put_number(&io->out, bits, 8);
}
static void save_string(RedisModuleIO *io, const char *bytes, size_t length) {
    if (length > UINT16_MAX) io->bad = true;
    fuzz_put_number(&io->out, length, 2);
    fuzz_put_bytes(&io->out, bytes, length);
}
static void emit_aof(RedisModuleIO *io, const char *command, const char *format, ...) {
    (void)io, (void)command, (void)format;
}
static void digest_add(RedisModuleDigest *sum, const char *bytes, size_t length) {
    (void)sum, (void)bytes, (void)length;
}
static void digest_end(RedisModuleDigest *sum) { (void)sum; }
static void random_bytes(unsigned char *bytes, size_t length) { memset(bytes, 7, length); }

static RedisModuleTypeMethods methods[TYPES];
static size_t registered;

static RedisModuleType *create_type(RedisModuleCtx *ctx, const char *name, int version,
                                    RedisModuleTypeMethods *given) {
    (void)ctx, (void)name, (void)version;
    methods[registered] = *given;
    return (RedisModuleType *)(void *)&methods[registered++];
}

static void start(void) {
    if (registered != 0) return;
    RedisModule_LoadUnsigned = load_unsigned;
    RedisModule_LoadDouble = load_double;
    RedisModule_LoadStringBuffer = load_string;
    RedisModule_IsIOError = is_io_error;
    RedisModule_GetContextFromIO = context_of;
    RedisModule_GetContextFlags = context_flags;
    RedisModule_SaveUnsigned = save_unsigned;
    RedisModule_SaveDouble = save_double;
    RedisModule_SaveStringBuffer = save_string;
    RedisModule_EmitAOF = emit_aof;
    RedisModule_DigestAddStringBuffer = digest_add;
    RedisModule_DigestEndSequence = digest_end;
    RedisModule_GetRandomBytes = random_bytes;
    RedisModule_Free = memory_free;
    RedisModule_CreateDataType = create_type;
    fuzz_must(types_register(NULL) && registered == TYPES, "the types cannot be registered");
}

/* ---- using a value */

static struct items items_of(size_t count) {
    static char text[20][8];
    struct items items = {.count = count};
    for (size_t i = 0; i < count; i++) {
        items.length[i] = (size_t)snprintf(text[i], sizeof text[i], "item%zu", i);
        items.bytes[i] = text[i];
    }
    return items;
}

static void use_bf(struct bf *f) {
    const struct items items = items_of(10);
    struct bf_batch batch = {0};
    bool results[SCALABLE_BATCH], failed = false;
    const uint64_t epoch = bf_epoch(f, 1000);
    bf_contains(f, &items, epoch, results);
    (void)bf_numbers(f), (void)bf_numbers_at(f, epoch);
    if (bf_is_loading(f)) return;
    (void)bf_turn(f, epoch, &failed);
    bf_add(f, &items, &batch);
    fuzz_must(batch.done <= items.count, "more items than given");
    bf_contains(f, &items, epoch, results);
    for (size_t i = 0; i < batch.done; i++) fuzz_must(results[i], "an item that was added is lost");
    struct bf *other = bf_copy(f);
    if (other != NULL && bf_unmergeable(f) == NULL) {
        bool changed = false;
        (void)bf_merge(other, f, false, &changed);
        bf_contains(other, &items, epoch, results);
        for (size_t i = 0; i < batch.done; i++) fuzz_must(results[i], "an item is lost by a merge");
    }
    bf_free(other);
}

static void use_cf(struct cf *f) {
    const struct items items = items_of(10);
    bool results[SCALABLE_BATCH], removed = false;
    uint8_t added[SCALABLE_BATCH] = {0};
    cf_contains(f, &items, results);
    (void)cf_numbers(f), (void)cf_count(f, "item1", 5);
    if (cf_is_loading(f)) return;
    /* An exact count of the input may be negative: one more is then none. */
    const bool forged = f->redisbloom == NULL && f->exact_counts.entries != 0;
    (void)cf_add(f, &items, false, 32, added);
    for (size_t i = 0; i < items.count; i++) {
        const bool found = cf_contains_one(f, items.bytes[i], items.length[i]);
        fuzz_must(forged || added[i] != CF_ADDED || found, "an item that was added is lost");
    }
    (void)cf_remove(f, items.bytes[3], items.length[3], &removed);
    if (cf_numbers(f).bytes < (1u << 16)) (void)cf_compact(f); /* a pass over all tables */
    (void)cf_contains_one(f, items.bytes[5], items.length[5]);
}

static void use(unsigned type, void *value) {
    if (type == TYPE_BF) use_bf((struct bf *)value);
    if (type == TYPE_CF) use_cf((struct cf *)value);
    if (type == TYPE_STATIC) {
        const struct static_filter *s = (const struct static_filter *)value;
        if (s->filter != NULL) (void)tamis_contains(s->filter, "item1", 5);
    }
    (void)methods[type].mem_usage2(NULL, value, 0);
    (void)methods[type].free_effort2(NULL, value);
    methods[type].digest(NULL, value);
    methods[type].aof_rewrite(NULL, NULL, value);
}

/* ---- saving and loading */

static bool save(unsigned type, void *value, RedisModuleIO *io, uint8_t *room) {
    *io = (RedisModuleIO){.out = {.bytes = room, .room = SAVED_MAX}};
    methods[type].rdb_save(io, value);
    return !io->bad && io->out.length < SAVED_MAX;
}

static void save_and_load(unsigned type, void *value) {
    static uint8_t first[SAVED_MAX], second[SAVED_MAX];
    RedisModuleIO io, again;
    if (methods[type].mem_usage2(NULL, value, 0) > SAVED_MAX / 2) return;
    saving = true;
    if (save(type, value, &io, first)) {
        RedisModuleIO from = {.in = {first, first + io.out.length}};
        void *loaded = methods[type].rdb_load(&from, type == TYPE_STATIC ? 0 : 4);
        fuzz_must(loaded != NULL, "a value cannot be read back");
        fuzz_must(save(type, loaded, &again, second), "a value cannot be saved again");
        fuzz_must(again.out.length == io.out.length && memcmp(first, second, io.out.length) == 0,
                  "a value is saved as something else");
        methods[type].free(loaded);
    }
    saving = false;
}

static void *load_rdb(unsigned type, struct fuzz_input *in, bool repair) {
    const int version = fuzz_take(in) % 6;
    RedisModuleIO io = {.in = *in, .repair = repair};
    return methods[type].rdb_load(&io, version);
}

/* A header of this module, or of RedisBloom. */
static void *open_header(unsigned type, const uint8_t *bytes, size_t length) {
    const struct chunk_ops *ops = type == TYPE_BF ? &bf_ops : &cf_ops;
    if (serialize_is_header(ops, bytes, length)) return serialize_open(ops, bytes, length);
    tamis_filter *f =
        redisbloom_open(type == TYPE_BF ? TAMIS_GROWING : TAMIS_CUCKOO, bytes, length, LIMIT);
    if (f == NULL) return NULL;
    return type == TYPE_BF ? (void *)bf_of_redisbloom(f) : (void *)cf_of_redisbloom(f);
}

static void *load_chunks(unsigned type, struct fuzz_input *in, bool repair) {
    const struct chunk_ops *ops = type == TYPE_BF ? &bf_ops : &cf_ops;
    size_t length;
    uint8_t *bytes = take_string(in, repair, &length);
    void *value = open_header(type, bytes, length);
    memory_free(bytes);
    while (value != NULL && fuzz_left(in) > 3) {
        const uint64_t number = fuzz_take(in);
        tamis_filter *const redisbloom = *(tamis_filter **)value; /* the first field of both */
        bytes = take_string(in, repair, &length);
        if (redisbloom != NULL) {
            (void)redisbloom_write(redisbloom, number * 16, bytes, length);
        } else {
            (void)ops->load_chunk(value, number, bytes, length);
        }
        memory_free(bytes);
    }
    return value;
}

static void *load_parts(struct fuzz_input *in, bool repair) {
    struct static_filter *s = static_filter_create();
    while (s != NULL && fuzz_left(in) > 3) {
        size_t length;
        const uint8_t cut = fuzz_take(in);
        uint8_t *bytes = take_string(in, repair, &length);
        const size_t first = length < cut ? length : cut;
        if (static_filter_begin(s, length)) {
            static_filter_append(s, bytes, first);
            if (cut % 8 == 7) static_filter_check(s, bytes + first, length - first, NULL);
            static_filter_append(s, bytes + first, length - first);
            (void)static_filter_finish(s,
                                       cut % 2 == 0 ? NULL : (const uint8_t *)"0123456789abcdef");
        }
        memory_free(bytes);
    }
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_input in = {data, data + size};
    const uint8_t how = fuzz_take(&in);
    const unsigned type = how % 4 % TYPES;
    const bool repair = (how & HOW_DAMAGED) == 0;
    void *value;
    start();
    live = 0;
    if ((how & HOW_CHUNKS) == 0) {
        value = load_rdb(type, &in, repair);
    } else if (type == TYPE_STATIC) {
        value = load_parts(&in, repair);
    } else {
        value = load_chunks(type, &in, repair);
    }
    if (value != NULL) {
        save_and_load(type, value);
        void *copy = methods[type].copy2(NULL, value);
        use(type, value);
        if (copy != NULL) use(type, copy);
        methods[type].free(copy);
        methods[type].free(value);
    }
    fuzz_must(live == 0, "a leak");
    return 0;
}

/* ---- seeds: values of all types and sizes, as RDB and as chunks */

static void *make_bf(size_t index) {
    const struct items items = items_of(index % 2 == 0 ? 20 : 1);
    const struct bf want = {.error = 0.01,
                            .capacity = index < 4 ? 8 : 100,
                            .expansion = index % 3 == 0 ? 0 : 2,
                            .window = index == 5 ? 1000 : 0,
                            .per_window = index == 5 ? 2 : 0};
    struct bf *f = bf_create(&want, 0);
    struct bf_batch batch;
    if (f != NULL) bf_add(f, &items, &batch);
    return f;
}

static void *make_cf(size_t index) {
    const struct items items = items_of(index % 2 == 0 ? 20 : 1);
    const struct cf want = {.error = 0.01,
                            .capacity = index < 4 ? 8 : 100,
                            .bucket_size = 2,
                            .iterations = 20,
                            .expansion = index % 3 == 0 ? 0 : 2};
    struct cf *f = cf_create(&want);
    uint8_t results[SCALABLE_BATCH];
    if (f != NULL) (void)cf_add(f, &items, false, 32, results);
    return f;
}

static void *make_redisbloom(unsigned type, size_t index) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *made = NULL, *f;
    uint8_t bytes[4096];
    size_t length = 0;
    o.format = type == TYPE_BF ? "redisbloom" : "redisbloom:cuckoo";
    o.capacity = index % 2 == 0 ? 10 : 64;
    if (tamis_create(&o, &made) == TAMIS_OK) {
        if (tamis_encode(made, bytes, sizeof bytes, &length) != TAMIS_OK) length = 0;
    }
    tamis_free(made);
    const size_t header =
        type == TYPE_BF ? REDISBLOOM_BLOOM_HEADER + REDISBLOOM_SUB : REDISBLOOM_CUCKOO_HEADER;
    if (length < header) return NULL;
    f = redisbloom_open(type == TYPE_BF ? TAMIS_GROWING : TAMIS_CUCKOO, bytes, header, LIMIT);
    if (f == NULL) return NULL;
    return type == TYPE_BF ? (void *)bf_of_redisbloom(f) : (void *)cf_of_redisbloom(f);
}

static void *make_static(size_t index) {
    const struct variant *v = variant_at(index % 8);
    uint64_t hashes[20];
    uint8_t bytes[4096];
    size_t length = 0;
    tamis_filter *f = NULL;
    tamis_options o = variant_options(v, 0, 0.01);
    hashes_fill(hashes, 20, 0, 1, STREAM_MEMBERS);
    if (tamis_build_hash(&o, hashes, 20, &f) != TAMIS_OK) return NULL;
    (void)tamis_encode(f, bytes, sizeof bytes, &length);
    tamis_free(f);
    struct static_filter *s = static_filter_create();
    if (s != NULL && static_filter_begin(s, length)) {
        static_filter_append(s, bytes, length);
        if (index < 4) (void)static_filter_finish(s, NULL);
    }
    return s;
}

static void put_chunks(unsigned type, const void *value, struct fuzz_output *out) {
    const struct chunk_ops *ops = type == TYPE_BF ? &bf_ops : &cf_ops;
    long long next = 0;
    size_t length;
    for (uint8_t *chunk; (chunk = serialize_chunk(ops, value, next, &length, &next)) != NULL;) {
        if (next != 1) fuzz_put_number(out, (uint64_t)next - 2, 1);
        fuzz_put_number(out, length, 2);
        fuzz_put_bytes(out, chunk, length);
        memory_free(chunk);
    }
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t room) {
    const unsigned type = (unsigned)(index % TYPES);
    const size_t number = index / TYPES % 8;
    const bool chunks = index / TYPES / 8 != 0;
    RedisModuleIO io = {.out = {.bytes = out, .room = room}};
    if (index / TYPES / 8 > 1) return 0;
    start();
    void *value = type == TYPE_STATIC ? make_static(number)
                  : number >= 6       ? make_redisbloom(type, number)
                  : type == TYPE_BF   ? make_bf(number)
                                      : make_cf(number);
    fuzz_put_number(&io.out, type | (chunks ? HOW_CHUNKS : 0), 1);
    if (value != NULL && !chunks) {
        fuzz_put_number(&io.out, type == TYPE_STATIC ? 0 : 4, 1);
        methods[type].rdb_save(&io, value);
    } else if (value != NULL && type == TYPE_STATIC) {
        const struct static_filter *s = (const struct static_filter *)value;
        fuzz_put_number(&io.out, s->length, 3);
        fuzz_put_bytes(&io.out, s->bytes, (size_t)s->length);
    } else if (value != NULL) {
        put_chunks(type, value, &io.out);
    }
    methods[type].free(value);
    return io.out.length;
}
