/* self_check.c - a bit that flips during a build never becomes a silent false negative
 *
 * Each injection is one build, by a child process, with tamis_options.check: of every kind and
 * compatible format, from a builder, with a memory limit, on two threads, or from arrays.  The
 * child's allocator knows all live blocks.  At one moment of the build it flips one bit of one of
 * them.  Moments are the calls of the allocator and the points between the calls of the API, up to
 * the encoding of the filter; or, for .tamis, any time, from a second thread.  Only data is hit:
 * tables and arrays, blocks of at least DATA_MIN bytes.
 *
 * The child then decodes the bytes and queries all keys.  There are four outcomes:
 *
 *     detected   a call failed, or the bytes were refused when they were opened
 *     crashed    the flip hit an index or a pointer: not silent either
 *     harmless   all keys are found
 *     silent     a key is missing: the failure that this law is about
 *
 * The control is the same without `check`: it must have silent false negatives, or the injections
 * prove nothing.
 *
 * tests: full */
#define _DEFAULT_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/filters.h"

#define DATA_MIN 1024
#define BLOCKS_MAX 4096
#define KEYS_MAX 12000
#define BATCH 250
#define SECONDS_MAX 20 /* a flipped index may cause an endless loop */

/* ------------------------------------------------------------------- injector */

static struct injector {
    pthread_mutex_t lock;
    struct block {
        uint8_t *at;
        size_t size;
    } blocks[BLOCKS_MAX];
    size_t count;
    uint64_t moment, flip_at; /* UINT64_MAX: never */
    uint64_t flip_ns;         /* from the second thread; 0: by moments */
    struct rng rng;
    bool flipped;
} injector = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Flips a bit of a live block of data, chosen by size.  The lock is held. */
static void flip(void) {
    size_t total = 0;
    for (size_t i = 0; i < injector.count; i++) {
        if (injector.blocks[i].size >= DATA_MIN) total += injector.blocks[i].size;
    }
    if (total == 0) return;
    size_t at = (size_t)rng_below(&injector.rng, total);
    const unsigned char bit = (unsigned char)(1u << rng_below(&injector.rng, 8));
    for (size_t i = 0; i < injector.count; i++) {
        const struct block *b = &injector.blocks[i];
        if (b->size < DATA_MIN) continue;
        if (at < b->size) {
            __atomic_fetch_xor(b->at + at, bit, __ATOMIC_RELAXED);
            injector.flipped = true;
            return;
        }
        at -= b->size;
    }
}

/* The lock is held. */
static void next_moment(void) {
    if (injector.moment++ == injector.flip_at) flip();
}

static void pass_moment(void) {
    pthread_mutex_lock(&injector.lock);
    next_moment();
    pthread_mutex_unlock(&injector.lock);
}

static void *injector_alloc(void *context, size_t size) {
    (void)context;
    uint8_t *at = malloc(size);
    pthread_mutex_lock(&injector.lock);
    if (injector.count == BLOCKS_MAX) abort();
    injector.blocks[injector.count++] = (struct block){at, size};
    next_moment();
    pthread_mutex_unlock(&injector.lock);
    return at;
}

static void injector_free(void *context, void *block, size_t size) {
    (void)context, (void)size;
    if (block == NULL) return;
    pthread_mutex_lock(&injector.lock);
    next_moment();
    for (size_t i = 0; i < injector.count; i++) {
        if (injector.blocks[i].at != block) continue;
        injector.blocks[i] = injector.blocks[--injector.count];
        break;
    }
    pthread_mutex_unlock(&injector.lock);
    free(block);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *flip_later(void *context) {
    const uint64_t end = now_ns() + injector.flip_ns;
    (void)context;
    while (now_ns() < end) continue;
    pthread_mutex_lock(&injector.lock);
    flip();
    pthread_mutex_unlock(&injector.lock);
    return NULL;
}

/* ------------------------------------------------------------------- subjects */

enum how { BY_BUILDER, BY_CAPACITY, BY_SPILLING, BY_THREADS, BY_KEYS, BY_HASHES, HOWS };
static const char *const how_names[HOWS] = {"builder",
                                            "builder with a capacity",
                                            "builder with a memory limit",
                                            "builder with two threads",
                                            "keys",
                                            "hashes"};

struct subject {
    const struct variant *v; /* or */
    char format[32];
    enum how how;
    bool stored; /* as .tamis: the format cannot be read by its name alone */
    size_t keys;
    bool check;
};

static uint64_t integers[KEYS_MAX];
static const void *keys[KEYS_MAX];
static size_t lengths[KEYS_MAX];

static const char *subject_name(const struct subject *s) {
    return s->v != NULL ? s->v->name : s->format;
}

static tamis_options subject_options(const struct subject *s) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    if (s->v != NULL) {
        o = variant_options(s->v, 0, 0.01);
    } else {
        o.format = s->format;
    }
    if (s->how == BY_CAPACITY) o.capacity = s->v != NULL ? s->keys : 2 * s->keys;
    if (s->how == BY_SPILLING) o.memory = 1;
    if (s->how == BY_THREADS) o.threads = 2;
    o.temporary = run_directory();
    o.check = s->check;
    o.allocator = (tamis_allocator){.alloc = injector_alloc, .free = injector_free};
    return o;
}

static tamis_status by_builder(const struct subject *s, const tamis_options *o, tamis_filter **f) {
    tamis_builder *b = NULL;
    tamis_status status = tamis_builder_create(o, &b);
    for (size_t i = 0, n; status == TAMIS_OK && i < s->keys; i += n) {
        n = s->keys - i < BATCH ? s->keys - i : BATCH;
        pass_moment();
        status = tamis_builder_add_batch(b, keys + i, lengths + i, n);
    }
    pass_moment();
    if (status == TAMIS_OK) status = tamis_builder_finish(b, f);
    tamis_builder_free(b);
    return status;
}

static tamis_status subject_build(const struct subject *s, tamis_filter **f) {
    const tamis_options o = subject_options(s);
    *f = NULL;
    if (s->how == BY_KEYS) return tamis_build(&o, keys, lengths, s->keys, f);
    if (s->how == BY_HASHES) return tamis_build_hash(&o, integers, s->keys, f);
    return by_builder(s, &o, f);
}

struct sink {
    uint8_t *bytes;
    size_t used, room;
};

static bool sink_write(void *context, const void *bytes, size_t length) {
    struct sink *sink = context;
    if (length > sink->room - sink->used) return false;
    memcpy(sink->bytes + sink->used, bytes, length);
    sink->used += length;
    return true;
}

enum outcome { HARMLESS, DETECTED, SILENT, REFUSED, OUTCOMES };

static enum outcome look_up(const struct subject *s, const tamis_filter *f) {
    for (size_t i = 0; i < s->keys; i++) {
        const bool found = s->how == BY_HASHES ? tamis_contains_hash(f, integers[i])
                                               : tamis_contains(f, keys[i], lengths[i]);
        if (!found) return SILENT;
    }
    return HARMLESS;
}

static enum outcome reopen(const struct subject *s, const struct sink *sink) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(s->format, ":"), s->format);
    if (s->v == NULL && !s->stored) open.format = name;
    if (tamis_decode(sink->bytes, sink->used, &open, &f) != TAMIS_OK) return REFUSED;
    const enum outcome outcome = look_up(s, f);
    tamis_free(f);
    return outcome;
}

/* Builds, encodes, decodes and queries. */
static enum outcome subject_run(const struct subject *s) {
    tamis_filter *f;
    tamis_status status = subject_build(s, &f);
    pass_moment();
    if (status == TAMIS_OK && s->stored) status = tamis_reformat(f, "tamis");
    if (status != TAMIS_OK) return DETECTED;
    struct sink sink = {.room = (size_t)tamis_encoded_size(f)};
    sink.bytes = need(sink.room + 1, 1);
    status = tamis_encode_to(f, sink_write, &sink);
    const enum outcome outcome = status == TAMIS_OK ? reopen(s, &sink) : DETECTED;
    tamis_free(f);
    free(sink.bytes);
    return outcome;
}

/* ------------------------------------------------------------------ injections */

static uint64_t outcomes[OUTCOMES], crashes;
#define EXIT_BASE 40 /* not an exit code of a sanitizer */

static _Noreturn void child(const struct subject *s) {
    const struct rlimit no_core = {0, 0};
    pthread_t thread;
    setrlimit(RLIMIT_CORE, &no_core);
    if (freopen("/dev/null", "w", stderr) == NULL) _exit(1);
    alarm(SECONDS_MAX);
    if (injector.flip_ns != 0 && pthread_create(&thread, NULL, flip_later, NULL) != 0) _exit(1);
    const enum outcome outcome = subject_run(s);
    _exit(EXIT_BASE + (int)outcome);
}

/* Returns whether the outcome was a silent false negative. */
static bool inject(const struct subject *s) {
    int status = 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) child(s);
    if (!CHECK(pid > 0 && waitpid(pid, &status, 0) == pid, "fork")) return false;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) - EXIT_BASE : -1;
    if (code < 0 || code >= OUTCOMES) {
        crashes++;
        return false;
    }
    outcomes[code]++;
    return code == SILENT;
}

/* Runs it without a flip: how many moments it has, and how long it takes. */
static bool rehearse(struct subject *s, uint64_t *moments, uint64_t *ns) {
    injector.moment = 0;
    injector.flip_at = UINT64_MAX;
    const uint64_t start = now_ns();
    enum outcome outcome = subject_run(s);
    if (outcome == REFUSED && s->v == NULL && !s->stored) {
        s->stored = true;
        return rehearse(s, moments, ns);
    }
    *ns = now_ns() - start;
    *moments = injector.moment;
    CHECK(injector.count == 0, "%s: %zu blocks are left", subject_name(s), injector.count);
    return CHECK(outcome == HARMLESS, "%s, %s, %zu keys: fails without a flip", subject_name(s),
                 how_names[s->how], s->keys);
}

/* Can it be built at all? */
static bool is_possible(const struct subject *s) {
    tamis_filter *f;
    if (s->v == NULL && (s->how == BY_SPILLING || s->how == BY_THREADS)) return false;
    injector.flip_at = UINT64_MAX;
    const tamis_status status = subject_build(s, &f);
    tamis_free(f);
    CHECK(status == TAMIS_OK || s->v == NULL, "%s, %s: %s", subject_name(s), how_names[s->how],
          tamis_status_name(status));
    return status == TAMIS_OK;
}

static uint64_t subject_injections(struct subject *s, uint64_t count, struct rng *rng) {
    uint64_t silent = 0, moments, ns;
    s->keys = s->how == BY_SPILLING ? KEYS_MAX : 100 + (size_t)rng_below(rng, 2900);
    if (!is_possible(s) || !rehearse(s, &moments, &ns)) return 0;
    for (uint64_t i = 0; i < count; i++) {
        const bool timed = s->v != NULL && i % 4 == 3;
        injector.moment = 0;
        injector.flip_at = timed ? UINT64_MAX : rng_below(rng, moments);
        injector.flip_ns = timed ? 1 + rng_below(rng, ns) : 0;
        injector.rng.state = rng_next(rng);
        const uint64_t state = injector.rng.state, at = injector.flip_at;
        const bool lost = inject(s);
        silent += lost;
        CHECK(!lost || !s->check, "%s, %s, %zu keys: moment %llu of %llu, %llu ns, state %llx",
              subject_name(s), how_names[s->how], s->keys, (unsigned long long)at,
              (unsigned long long)moments, (unsigned long long)injector.flip_ns,
              (unsigned long long)state);
    }
    injector.flip_ns = 0;
    count_up(s->check ? "injections" : "injections without check", count);
    return silent;
}

static uint64_t all_subjects(bool check, uint64_t count, struct rng *rng) {
    uint64_t silent = 0;
    for (int how = 0; how < HOWS; how++) {
        const struct variant *v;
        for (size_t i = 0; (v = variant_at(i)) != NULL; i++) {
            struct subject s = {.v = v, .how = (enum how)how, .check = check};
            silent += subject_injections(&s, count, rng);
        }
        const char *format;
        for (size_t i = 1; !run_filtered() && (format = tamis_format_at(i)) != NULL; i++) {
            struct subject s = {.how = (enum how)how, .check = check};
            snprintf(s.format, sizeof s.format, "%s", format);
            if (tamis_format_can_create(format)) silent += subject_injections(&s, count, rng);
        }
    }
    return silent;
}

int main(int argc, char **argv) {
    run_start(argc, argv, "self-check");
    struct rng rng = {run_seed()};
    integer_keys(integers, keys, lengths, KEYS_MAX);
    const uint64_t silent = all_subjects(true, run_pick(2, 12, 160), &rng);
    count_up("silent false negatives", silent);
    count_up("detected", outcomes[DETECTED]);
    count_up("refused when opened", outcomes[REFUSED]);
    count_up("crashed", crashes);
    count_up("harmless", outcomes[HARMLESS]);
    CHECK(outcomes[DETECTED] > 0, "nothing was detected");
    const uint64_t control = all_subjects(false, run_pick(2, 6, 40), &rng);
    count_up("silent false negatives without check", control);
    CHECK(control > 0, "the injections cause no false negative without the check");
    return run_end();
}
