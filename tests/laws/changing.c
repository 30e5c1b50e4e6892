/* changing.c - bytes that another process changes while they are read
 *
 * The bytes of tamis_view, tamis_container_view and tamis_open with `map` may change between any
 * two reads.  Answers may then be wrong, but there is no memory error, no endless loop and no
 * allocation that the bytes do not justify.
 *
 * The encoded bytes lie in pages that cannot be accessed.  A read causes SIGSEGV; its handler makes
 * the pages accessible and sets the trap flag, so that the processor executes one instruction and
 * causes SIGTRAP; its handler counts the read, may change the bytes, and protects the pages again.
 * So a change falls between two reads of one run, whichever the run chooses:
 *
 *     swap    after read k all bytes become those of another filter of the format
 *     poke    after read k the bytes just read, up to 32, have other values
 *     storm   after every read one of both, or a random byte changes
 *
 * The end of the bytes and of every block that the library allocates touches a page that cannot be
 * accessed: an access past it ends the program with the name of the run.  Run it with the
 * sanitizers, too.
 *
 * tests: full */
#define _GNU_SOURCE 1
#include "../support/filters.h"
#include "../support/vectors.h"

#if defined(__linux__) && defined(__x86_64__)
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096
#define TRAP_FLAG 0x100
#define REGION_MAX (4 * PAGE)
#define ALLOWED ((uint64_t)16 << 20) /* bytes in use: all filters here are much smaller */
#define KEYS 24
#define LOGGED 8192

/* AddressSanitizer leaves both signals to this program. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "handle_segv=0:allow_user_segv_handler=1"; }

/* ------------------------------------------------------------- fenced memory */

struct fenced {
    uint64_t live, live_bytes, refused;
};

static size_t in_pages(size_t size) { return (size + PAGE - 1) / PAGE * PAGE; }

/* A block that ends, up to its alignment, where an inaccessible page begins. */
static void *fence(size_t size) {
    const size_t pages = in_pages(size);
    uint8_t *at =
        mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + pages, PAGE, PROT_NONE) != 0) abort();
    return at + pages - (size + 15) / 16 * 16;
}

static void unfence(void *block, size_t size) {
    uint8_t *at = (uint8_t *)block + (size + 15) / 16 * 16 - in_pages(size);
    munmap(at, in_pages(size) + PAGE);
}

static void *fenced_alloc(void *context, size_t size) {
    struct fenced *m = context;
    if (size == 0) size = 1;
    if (size > ALLOWED - m->live_bytes) {
        m->refused++;
        return NULL;
    }
    m->live++;
    m->live_bytes += size;
    return fence(size);
}

static void fenced_free(void *context, void *block, size_t size) {
    struct fenced *m = context;
    if (block == NULL) return;
    if (size == 0) size = 1;
    m->live--;
    m->live_bytes -= size;
    unfence(block, size);
}

/* ------------------------------------------------------------------- changes */

enum change { UNCHANGED, SWAP, POKE_ONES, POKE_ZEROS, POKE_MORE, STORM, CHANGES };
static const char *const change_names[CHANGES] = {"unchanged",     "swap", "poke of ones",
                                                  "poke of zeros", "poke", "storm"};

static struct {
    uint8_t *pages; /* REGION_MAX bytes, and an inaccessible page */
    uint8_t *bytes; /* `length` bytes that end with the pages */
    size_t length;
    const uint8_t *first, *other; /* versions of the bytes */
    enum change change;
    uint64_t after;            /* the read after which the bytes change */
    uint64_t until;            /* later reads are not observed, which makes the run fast */
    volatile uint64_t reads;   /* so far */
    uint32_t offsets[LOGGED];  /* of the first reads of an unchanged run */
    volatile size_t last_read; /* offset */
    struct rng rng;
    const char *name; /* of the run */
} region;

static void protect(bool on) {
    if (mprotect(region.pages, REGION_MAX, on ? PROT_NONE : PROT_READ | PROT_WRITE) != 0) abort();
}

static void poke(enum change change) {
    const size_t left = region.length - region.last_read;
    uint8_t *at = region.bytes + region.last_read;
    for (size_t i = 0; i < (left < 32 ? left : 32); i++) {
        at[i] = change == POKE_ONES ? 0xff : change == POKE_ZEROS ? 0 : (uint8_t)(at[i] + 1);
    }
}

static void storm(void) {
    const uint64_t choice = rng_below(&region.rng, 8);
    if (choice < 4) {
        poke(POKE_ONES + (enum change)(choice % 3));
    } else if (choice < 6) {
        const size_t head = region.length < 256 ? region.length : 256;
        region.bytes[rng_below(&region.rng, head)] ^= (uint8_t)(1u << rng_below(&region.rng, 8));
    } else {
        memcpy(region.bytes, choice == 6 ? region.first : region.other, region.length);
    }
}

static void on_trap(int number, siginfo_t *info, void *context) {
    ucontext_t *u = context;
    (void)number, (void)info;
    u->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    if (region.change == UNCHANGED && region.reads < LOGGED) {
        region.offsets[region.reads] = (uint32_t)region.last_read;
    }
    region.reads++;
    const bool now = region.change != UNCHANGED && region.reads >= region.after;
    if (now && region.change == SWAP) {
        memcpy(region.bytes, region.other, region.length);
    } else if (now && region.change == STORM) {
        storm();
    } else if (now) {
        poke(region.change);
    }
    if (region.reads < region.until) protect(true);
}

static void report(const char *text) {
    const ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

static void on_fault(int number, siginfo_t *info, void *context) {
    ucontext_t *u = context;
    const uint8_t *at = info->si_addr;
    if (at >= region.pages && at < region.pages + REGION_MAX) {
        region.last_read = at < region.bytes ? 0 : (size_t)(at - region.bytes);
        if (region.last_read >= region.length) region.last_read = region.length - 1;
        protect(false);
        u->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
        return;
    }
    char line[200];
    snprintf(line, sizeof line, "changing: %s, %s after read %llu: access outside of all blocks\n",
             region.name, change_names[region.change], (unsigned long long)region.after);
    report(line);
    signal(number, SIG_DFL); /* the access is repeated and ends the program */
}

static void catch (int number, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, &action, NULL) != 0) abort();
}

static void region_make(void) {
    uint8_t *all = mmap(NULL, REGION_MAX + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) abort();
    /* Shared, so that the kernel does not join them with the page after them: that is slow. */
    region.pages = mmap(all, REGION_MAX, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (region.pages == MAP_FAILED) abort();
    catch (SIGSEGV, on_fault);
    catch (SIGTRAP, on_trap);
}

static void region_fill(const uint8_t *bytes, const uint8_t *other, size_t length) {
    region.bytes = region.pages + REGION_MAX - (length + 7) / 8 * 8;
    region.length = length;
    region.first = bytes;
    region.other = other;
    memcpy(region.bytes, bytes, length);
}

/* Emulators and valgrind do not execute single instructions. */
static bool can_observe(void) {
    static const uint8_t some[16] = {7};
    region_fill(some, some, sizeof some);
    region.reads = 0;
    region.until = UINT64_MAX;
    protect(true);
    const unsigned a = *(volatile uint8_t *)region.bytes;
    const unsigned b = *(volatile uint8_t *)(region.bytes + 8);
    protect(false);
    return region.reads == 2 && a == 7 && b == 0;
}

/* ------------------------------------------------------------------ one run */

static uint64_t integers[400];
static const void *keys[400];
static size_t lengths[400];
static struct fenced memory;

static tamis_open_options open_options(const char *format, bool unverified) {
    tamis_open_options o = TAMIS_OPEN_INIT;
    o.format = format;
    o.verify = unverified ? TAMIS_VERIFY_LATER : TAMIS_VERIFY_ALL;
    o.portable = unverified; /* so that both kinds of instructions are observed */
    o.allocator = (tamis_allocator){fenced_alloc, fenced_free, &memory, NULL};
    return o;
}

static void encode(const tamis_filter *f) {
    const uint64_t size = tamis_encoded_size(f);
    if (size > ALLOWED) return;
    uint8_t *out = fence((size_t)size + 1);
    (void)tamis_encode(f, out, (size_t)size, NULL);
    unfence(out, (size_t)size + 1);
}

static void query(const tamis_filter *f) {
    bool answers[KEYS];
    tamis_facts facts = TAMIS_FACTS_INIT;
    for (size_t i = 0; i < 3; i++) (void)tamis_contains(f, keys[i], lengths[i]);
    (void)tamis_contains_batch(f, keys, lengths, KEYS, answers);
    (void)tamis_contains_hash_batch(f, integers, KEYS, answers);
    (void)tamis_prefetch_hash(f, integers[0]);
    (void)tamis_count(f, keys[0], lengths[0]);
    (void)tamis_info(f, &facts);
}

/* In every format that takes it: sizes are computed before bytes are written. */
static void rewrite(tamis_filter *f) {
    for (size_t i = 0; tamis_format_at(i) != NULL; i++) {
        if (tamis_reformat(f, tamis_format_at(i)) == TAMIS_OK) encode(f);
    }
}

static void use(tamis_filter *f) {
    tamis_filter *copy = NULL;
    query(f);
    encode(f);
    (void)tamis_verify(f);
    if (tamis_clone(f, &copy) == TAMIS_OK) {
        (void)tamis_add_batch(copy, keys, lengths, KEYS, NULL, NULL);
        (void)tamis_merge(copy, f, TAMIS_UNION);
        query(copy);
        tamis_free(copy);
    }
    rewrite(f);
    tamis_free(f);
}

static void use_container(tamis_container *c) {
    for (size_t i = 0; i < 3; i++) (void)tamis_container_contains(c, NULL, keys[i], lengths[i]);
    (void)tamis_container_contains(c, NULL, "k001", 4);
    (void)tamis_container_contains(c, "k", "k001", 4);
    for (size_t i = 0; i < tamis_container_count(c) && i < 4; i++) {
        tamis_part part = {.struct_size = sizeof part};
        tamis_filter *f = NULL;
        (void)tamis_container_part(c, i, &part);
        if (tamis_container_filter(c, i, &f) == TAMIS_OK) query(f);
        tamis_free(f);
    }
    tamis_container_free(c);
}

struct subject {
    const char *name, *format; /* NULL: detected */
    bool container, unverified;
    struct vector_bytes bytes;
};

/* Opens the bytes and uses the result; returns the number of reads of opening. */
static uint64_t run(const struct subject *s) {
    const tamis_open_options o = open_options(s->format, s->unverified);
    tamis_filter *f = NULL;
    tamis_container *c = NULL;
    memory = (struct fenced){0};
    region.reads = 0;
    region.name = s->name;
    protect(true);
    const tamis_status status = s->container
                                    ? tamis_container_view(region.bytes, region.length, &o, &c)
                                    : tamis_view(region.bytes, region.length, &o, &f);
    const uint64_t opening = region.reads;
    if (region.change == UNCHANGED) region.until = opening + run_pick(100, 1000, 10000);
    if (f != NULL) use(f);
    if (c != NULL) use_container(c);
    protect(false);
    CHECK(region.change != UNCHANGED || status == TAMIS_OK, "%s: unchanged: %s", s->name,
          tamis_status_name(status));
    CHECK(
        memory.live == 0 && memory.live_bytes == 0 && memory.refused == 0,
        "%s, %s after read %llu: %llu blocks of %llu bytes are left, %llu requests were too large",
        s->name, change_names[region.change], (unsigned long long)region.after,
        (unsigned long long)memory.live, (unsigned long long)memory.live_bytes,
        (unsigned long long)memory.refused);
    count_up("runs", 1);
    count_up("reads", region.reads);
    return opening;
}

/* --------------------------------------------------------- all runs of a pair */

/* One run in which the bytes change after read `after`. */
static void run_changed(const struct subject *s, const uint8_t *other, enum change change,
                        uint64_t after) {
    region_fill(s->bytes.at, other, s->bytes.length);
    region.change = change;
    region.after = after;
    region.until = change == STORM ? after + run_pick(50, 500, 2000) : after;
    (void)run(s);
    count_up("changes", 1);
}

/* The reads k of opening after which a change is most dangerous: the same number is read once more
 * later, so one of both may be checked and the other used.  Those before the last of such reads
 * come first.  Returns how many there are, at most `max`. */
static size_t find_repeated(uint64_t opening, uint64_t *k, size_t max) {
    static bool seen[REGION_MAX], taken[REGION_MAX];
    size_t count = 0;
    memset(seen, 0, sizeof seen);
    memset(taken, 0, sizeof taken);
    for (uint64_t i = opening < LOGGED ? opening : LOGGED; i-- > 0 && count < max;) {
        const uint32_t at = region.offsets[i];
        if (seen[at] && !taken[at]) {
            k[count++] = i + 1;
            taken[at] = true;
        }
        seen[at] = true;
    }
    return count;
}

/* Changes after such reads, and after some others. */
static void run_changes(const struct subject *s, const uint8_t *other, uint64_t opening,
                        uint64_t all, bool pokes) {
    uint64_t k[LOGGED];
    const uint64_t wanted = run_pick(6, 16, 200), others = run_pick(1, 3, 60);
    const size_t found = find_repeated(opening, k, LOGGED - 400);
    size_t count = 0;
    for (size_t i = 0; i < found; i++) {
        if (i < wanted / 2 || i % (found / wanted + 1) == 0) k[count++] = k[i];
    }
    for (uint64_t i = 0; i < others && all > 0; i++) k[count++] = 1 + rng_below(&region.rng, all);
    for (size_t i = 0; i < count; i++) {
        run_changed(s, other, SWAP, k[i]);
        if (pokes) run_changed(s, other, POKE_ONES + (enum change)(i % 3), k[i]);
    }
}

static void run_pair(const struct subject *s, const struct subject *b, bool pokes) {
    const size_t length = s->bytes.length;
    uint8_t *other = NEED(uint8_t, length);
    for (size_t i = 0; i < length; i++) other[i] = i < b->bytes.length ? b->bytes.at[i] : 0;
    region_fill(s->bytes.at, other, length);
    region.change = UNCHANGED;
    region.until = UINT64_MAX;
    region.rng = (struct rng){run_seed() + length};
    const uint64_t opening = run(s), all = region.reads;
    run_changes(s, other, opening, all, pokes);
    for (uint64_t i = 0; i < run_pick(1, 2, 10); i++) run_changed(s, other, STORM, 1 + i);
    free(other);
}

/* Every version with every other of its group; in short runs with the next one. */
static void run_group(const struct subject *versions, size_t count) {
    const size_t partners = run_effort() == EFFORT_FULL ? count - 1 : 1;
    for (size_t i = 0; i < count; i++) {
        if (versions[i].bytes.length > run_pick(600, REGION_MAX, REGION_MAX)) continue;
        for (size_t j = 1; j <= partners; j++) {
            run_pair(&versions[i], &versions[(i + j) % count], j == 1);
        }
    }
    count_up("versions", count);
}

/* ------------------------------------------------------------------- subjects */

static void free_versions(struct subject *versions, size_t count) {
    for (size_t i = 0; i < count; i++) vector_bytes_free(&versions[i].bytes);
}

static struct vector_bytes encoded(tamis_filter *f) {
    struct vector_bytes bytes = {NULL, 0};
    if (f == NULL) return bytes;
    bytes.length = (size_t)tamis_encoded_size(f);
    bytes.at = NEED(uint8_t, bytes.length);
    CHECK(tamis_encode(f, bytes.at, bytes.length, NULL) == TAMIS_OK, "encode");
    tamis_free(f);
    return bytes;
}

/* Our kinds: small and large, verified at once or not, and a growing filter of several stages. */
static void run_kind(const struct variant *v) {
    struct subject versions[4];
    for (size_t i = 0; i < 4; i++) {
        static const size_t counts[] = {12, 60, 400, 300};
        const tamis_options o = variant_options(v, 4, 0.01);
        tamis_filter *f = NULL;
        versions[i] = (struct subject){.name = v->name, .unverified = i % 2 == 1};
        if (i == 3 && (v->caps & TAMIS_CAN_GROW) != 0 && tamis_create(&o, &f) == TAMIS_OK) {
            CHECK(tamis_add_hash_batch(f, integers, counts[i], NULL, NULL) == TAMIS_OK, "add");
        } else {
            f = variant_build(v, i < 2 ? 0.01 : 0.001, integers, counts[i]);
        }
        versions[i].bytes = encoded(f);
    }
    run_group(versions, run_effort() == EFFORT_QUICK ? 2 : 4);
    free_versions(versions, 4);
}

/* A compatible format; in its own bytes and stored in a .tamis file. */
static void run_format(const char *format) {
    struct subject versions[4];
    size_t count = 0;
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(format, ":"), format);
    if (!run_wants(name)) return;
    for (size_t i = 0; i < 4; i++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_filter *f = NULL;
        o.format = format;
        if (tamis_build(&o, keys, lengths, i % 2 == 0 ? 30 : 200, &f) != TAMIS_OK) continue;
        const bool stored = i >= 2;
        if (stored) CHECK(tamis_reformat(f, "tamis") == TAMIS_OK, "%s: stored", format);
        versions[count++] =
            (struct subject){.name = format, .format = stored ? NULL : name, .bytes = encoded(f)};
    }
    if (count == 4 && strcmp(format, "libbloom1") != 0) {
        run_group(versions, 2);
        run_group(versions + 2, 2);
    }
    free_versions(versions, count);
}

static void run_files(const char *format, bool container, const char *const *paths) {
    struct subject versions[4];
    size_t count = 0;
    if (!run_wants(format)) return;
    for (; paths[count] != NULL; count++) {
        versions[count] = (struct subject){.name = paths[count],
                                           .format = format,
                                           .container = container,
                                           .bytes = vector_file(paths[count])};
    }
    run_group(versions, count);
    free_versions(versions, count);
}

/* LevelDB tables of one data block, packed by Snappy: 4 keys, values of 40 and of 700 bytes. */
static void run_snappy(void) {
    static const char *const tables[] = {
        "bb011c0004286b303030769a01000c030128319a2b00012c0032aa2c0000339e2c001c000000000100000001"
        "3a3a74ee08400010800420000600000000090000000b00770708db00220266696c7465722e6c6576656c6462"
        "2e4275696c74696e426c6f6f6d46696c7465723230120000000001000000004ac829dc0001026c002b000000"
        "0001000000002472e7a6472f7b0e000000000000000000000000000000000000000000000000000000000000"
        "00000000000057fb808b247547db",
        "8f16200004bc056b30303076fe0100fe0100fe0100fe0100fe0100fe0100fe0100fe0100fe0100fe0100ea01"
        "00100301bc0531fec002fec002fec002fec002fec002fec002fec002fec002fec002fec002eac00245c10032"
        "fec102fec102fec102fec102fec102fec102fec102fec102fec102fec102fec1020033fec102fec102fec102"
        "fec102fec102fec102fec102fec102fec102fec102eec1021c00000000010000000187597d4a084000108004"
        "20000600000000090000000b00770708db00220366696c7465722e6c6576656c64622e4275696c74696e426c"
        "6f6f6d46696c74657232aa0112000000000100000000607dbed20001036c00a501000000000100000000a2e6"
        "e4ffc10130f6010f0000000000000000000000000000000000000000000000000000000000000000000057fb"
        "808b247547db"};
    struct subject versions[2];
    for (size_t i = 0; i < 2; i++) {
        versions[i] = (struct subject){
            .name = "Snappy blocks", .container = true, .bytes = vector_hex(tables[i])};
    }
    run_group(versions, 2);
    free_versions(versions, 2);
}

static void run_vectors(void) {
    static const char *const dumps[] = {
        "redisbloom/bf-0.01-100-add-one.dump", "redisbloom/bf-0.5-20-EXPANSION1-add-dups.dump",
        "redisbloom/bf-0.01-10000-add-one.dump", "redisbloom/cf-1000-add-one.dump", NULL};
    static const char *const leveldb[] = {"leveldb/tb-one.ldb", "leveldb/db-small.ldb", NULL};
    static const char *const rocksdb[] = {"rocksdb/sst-bloom10-small.sst",
                                          "rocksdb/sst-legacybloom10-small-fv4.sst", NULL};
    static const char *const parquet[] = {"parquet/duckdb-one-varchar-p0.01.parquet",
                                          "parquet/hyparquet-small-varchar-p0.5.parquet", NULL};
    run_files("redisbloom-dump", false, dumps);
    run_files("leveldb-table", true, leveldb);
    run_files("rocksdb-table", true, rocksdb);
    run_files("parquet", true, parquet);
    if (run_wants("leveldb-table")) run_snappy();
}

int main(int argc, char **argv) {
    static const char *const layouts[] = {"redisbloom:cuckoo", "redisbloom-dump:cuckoo",
                                          "rocksdb:ribbon", "rocksdb:legacy", NULL};
    run_start(argc, argv, "changing");
    integer_keys(integers, keys, lengths, 400);
    region_make();
    if (!can_observe()) {
        printf("skipped: single instructions cannot be traced here\n");
        return 77;
    }
    for (size_t i = 0; variant_at(i) != NULL; i++) run_kind(variant_at(i));
    for (size_t i = 0; layouts[i] != NULL; i++) run_format(layouts[i]);
    for (size_t i = 1; tamis_format_at(i) != NULL; i++) run_format(tamis_format_at(i));
    run_vectors();
    return run_end();
}

#else
#include <stdio.h>

int main(void) {
    printf("skipped: reads are traced on x86-64 Linux only\n");
    return 77;
}
#endif
