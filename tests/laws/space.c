/* space.c - bits per key, header and checksums included, for a million keys
 *
 * Prints the table and compares it with the goals.  The kinds are made for a million keys and
 * hold a million; the planner's figure (tamis_size) must agree with the real one.  Then the memory
 * of builds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../support/filters.h"

#define N 1000000

struct goal {
    tamis_kind kind;
    uint32_t arity;
    double at_1_percent, at_0_1_percent;
};
static const struct goal goals[] = {
    {TAMIS_BLOOM, 0, 9.65, 14.45}, {TAMIS_BLOCK, 0, 10.2, 16.0},   {TAMIS_COUNTING, 0, 38.6, 57.8},
    {TAMIS_CUCKOO, 0, 9.9, 13.1},  {TAMIS_XOR, 0, 8.8, 12.5},      {TAMIS_FUSE, 3, 8.0, 11.4},
    {TAMIS_FUSE, 4, 7.65, 10.9},   {TAMIS_RIBBON, 0, 6.85, 10.25},
};

static double goal_of(const struct variant *v, double fpr) {
    for (size_t i = 0; i < sizeof goals / sizeof *goals; i++) {
        if (goals[i].kind == v->kind && goals[i].arity == v->arity) {
            return fpr > 0.005 ? goals[i].at_1_percent : goals[i].at_0_1_percent;
        }
    }
    return 0;
}

/* The false positive rate rises with the number of keys and equals the planned rate at capacity. */
static void fprs_of(const struct variant *v, const tamis_options *o, const tamis_sizing *planned) {
    const double expected[] = {planned->fpr_at_half, planned->fpr, planned->fpr_at_double};
    double fpr = 0, before = 0;
    for (uint64_t i = 1; i <= 16; i++) {
        CHECK(tamis_size_fpr(o, o->capacity * i / 8, &fpr) == TAMIS_OK, "%s: rate", v->name);
        CHECK(fpr >= before && fpr <= 1, "%s: %g with %d eighths of the keys, %g before", v->name,
              fpr, (int)i, before);
        if (i == 4 || i == 8 || i == 16) {
            CHECK(fabs(fpr - expected[i / 8]) <= 1e-3 * fpr, "%s: %g, planned %g", v->name, fpr,
                  expected[i / 8]);
        }
        before = fpr;
    }
    CHECK(tamis_size_fpr(o, 1, NULL) == TAMIS_E_ARGUMENT, "%s: rate into nothing", v->name);
}

static double bits_of(const struct variant *v, double fpr, const uint64_t *hashes, size_t n) {
    tamis_filter *f = variant_build(v, fpr, hashes, n);
    if (f == NULL) return 0;
    const tamis_facts facts = facts_of(f);
    const double bits = (double)tamis_encoded_size(f) * 8 / (double)n;
    CHECK(fabs(facts.bits_per_key - bits) < 0.02 * bits,
          "%s: reports %.3f bits per key, takes %.3f", v->name, facts.bits_per_key, bits);
    tamis_options o = variant_options(v, n, fpr);
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    const tamis_status status = tamis_size(&o, &sizing);
    CHECK(status == TAMIS_OK, "%s: tamis_size gave %s", v->name, tamis_status_name(status));
    /* The sum of a growing filter's stages is not the size of a plan for one stage. */
    CHECK((v->caps & TAMIS_CAN_GROW) != 0 || fabs(sizing.bits_per_key - bits) < 0.02 * bits + 0.01,
          "%s at %g: planned %.3f bits per key, takes %.3f", v->name, fpr, sizing.bits_per_key,
          bits);
    CHECK(sizing.fpr <= fpr * 1.000001, "%s: planned rate %g of %g", v->name, sizing.fpr, fpr);
    fprs_of(v, &o, &sizing);
    tamis_free(f);
    count_up("filters", 1);
    return bits;
}

/* The memory of a build is what tamis_size reports, and a builder keeps to its limit while it
 * collects. */
static void memory_of(const struct variant *v, const uint64_t *hashes, size_t n) {
    static struct meter meter;
    const uint64_t limit = (uint64_t)4 << 20;
    tamis_options o = variant_options(v, n, 0.01);
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    CHECK(tamis_size(&o, &sizing) == TAMIS_OK, "%s: size", v->name);
    meter_reset(&meter);
    o.allocator = meter_allocator(&meter);
    o.capacity = 0;
    tamis_filter *f = NULL;
    tamis_builder *b = NULL;
    CHECK(tamis_build_hash(&o, hashes, n, &f) == TAMIS_OK, "%s: build", v->name);
    tamis_free(f);
    const double peak = (double)atomic_load(&meter.peak_bytes);
    /* Dynamic kinds drop repeats first, which takes a copy of the hashes. */
    const double copy = (v->caps & TAMIS_IS_STATIC) != 0 ? 0 : 9 * (double)n;
    CHECK(peak <= 1.2 * (double)sizing.build_bytes + copy + 1e6,
          "%s: build of %zu takes %.1f MB, planned %.1f", v->name, n, peak / 1e6,
          (double)sizing.build_bytes / 1e6);
    meter_reset(&meter);
    o.memory = limit;
    o.temporary = run_directory();
    CHECK(tamis_builder_create(&o, &b) == TAMIS_OK, "%s: builder", v->name);
    if (b != NULL) {
        CHECK(tamis_builder_add_hash_batch(b, hashes, n) == TAMIS_OK, "%s: add", v->name);
        const double collecting = (double)atomic_load(&meter.peak_bytes);
        const bool direct = (v->caps & TAMIS_CAN_GROW) != 0; /* adds keys to the filter at once */
        CHECK(direct || collecting <= 1.1 * (double)limit,
              "%s: a builder with a limit of %.1f MB took %.1f MB", v->name, (double)limit / 1e6,
              collecting / 1e6);
        printf(
            "space: %-14s building %zu: %.1f MB (planned %.1f), collecting within %.1f MB: %.1f "
            "MB\n",
            v->name, n, peak / 1e6, (double)sizing.build_bytes / 1e6, (double)limit / 1e6,
            collecting / 1e6);
    }
    tamis_builder_free(b);
    CHECK(atomic_load(&meter.live) == 0, "%s: a leak", v->name);
}

#define MANY 5000000 /* keys: more than one shard of every static kind */
#define STEP 1000

/* A static build takes at most 2.2 times its hashes and the filter, on two threads as well. */
static void memory_of_shards(const struct variant *v) {
    static struct meter meter;
    tamis_options o = variant_options(v, 0, 1.0 / 256);
    tamis_builder *b = NULL;
    tamis_filter *f = NULL;
    meter_reset(&meter);
    o.allocator = meter_allocator(&meter);
    o.threads = 2;
    CHECK(tamis_builder_create(&o, &b) == TAMIS_OK, "%s: builder", v->name);
    for (uint64_t i = 0; b != NULL && i < MANY; i += STEP) {
        uint64_t hashes[STEP];
        for (uint64_t j = 0; j < STEP; j++) hashes[j] = i + j;
        CHECK(tamis_builder_add_hash_batch(b, hashes, STEP) == TAMIS_OK, "%s: add", v->name);
    }
    CHECK(tamis_builder_finish(b, &f) == TAMIS_OK, "%s: build", v->name);
    const double bound = 2.2 * 8 * MANY + (double)tamis_encoded_size(f);
    const double peak = (double)atomic_load(&meter.peak_bytes);
    CHECK(peak <= bound, "%s: a build of %d keys takes %.1f MB, more than %.1f", v->name, MANY,
          peak / 1e6, bound / 1e6);
    tamis_builder_free(b);
    tamis_free(f);
    count_up("filters", 1);
}

/* Small sets must not waste space: a fixed header and a few cache lines, then the cost of the kind.
 */
static void small_sets(const struct variant *v, const uint64_t *hashes) {
    static const size_t sizes[] = {0, 1, 10, 100, 300, 1000, 10000};
    printf("space: %-14s bytes for", v->name);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        tamis_filter *f = variant_build(v, 0.01, hashes, sizes[s]);
        if (f == NULL) continue;
        const double bytes = (double)tamis_encoded_size(f);
        const double per_key = v->kind == TAMIS_COUNTING ? 60 : 20;
        printf(" %zu: %.0f", sizes[s], bytes);
        /* An empty growing filter has a first stage for the first keys. */
        const bool reserved = (v->caps & TAMIS_CAN_GROW) != 0 && sizes[s] == 0;
        CHECK(reserved || bytes <= 400 + (double)sizes[s] * per_key / 8,
              "%s: %zu keys take %.0f bytes", v->name, sizes[s], bytes);
        tamis_free(f);
    }
    printf("\n");
}

/* A budget is spent on the distinct keys: repeats, which are dropped, change no byte. */
static void budget_of(const struct variant *v, const uint64_t *hashes) {
    enum { DISTINCT = 1000, TIMES = 50 };
    static uint64_t repeated[DISTINCT * TIMES];
    for (size_t i = 0; i < DISTINCT * TIMES; i++) repeated[i] = hashes[i % DISTINCT];
    tamis_options o = variant_options(v, 0, 0);
    o.bytes = 6000;
    tamis_filter *once = NULL, *often = NULL;
    const tamis_status status = tamis_build_hash(&o, hashes, DISTINCT, &once);
    const tamis_status with_repeats = tamis_build_hash(&o, repeated, DISTINCT * TIMES, &often);
    CHECK(status == TAMIS_OK && with_repeats == TAMIS_OK, "%s: a budget: %s, with repeats: %s",
          v->name, tamis_status_name(status), tamis_status_name(with_repeats));
    if (once != NULL && often != NULL) {
        CHECK(tamis_set_adds(often, DISTINCT) == TAMIS_OK, "%s: set_adds", v->name);
        struct bytes bytes = bytes_of(once);
        CHECK(encodes_to(often, &bytes), "%s: repeats change what a budget gives: %g, not %g",
              v->name, facts_of(often).fpr_target, facts_of(once).fpr_target);
        CHECK(bytes.size <= o.bytes, "%s: %zu bytes", v->name, bytes.size);
        bytes_free(&bytes);
    }
    tamis_free(once);
    tamis_free(often);
}

/* A build takes the kind that the planner names for the same options. */
static void budget_chooses(const uint64_t *hashes) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_advice advice = TAMIS_ADVICE_INIT;
    tamis_filter *f = NULL;
    o.bytes = 6000;
    o.needs = TAMIS_NEED_STATIC;
    CHECK(tamis_plan(&o, &advice) == TAMIS_OK, "plan");
    CHECK(tamis_build_hash(&o, hashes, 1000, &f) == TAMIS_OK, "a budget");
    if (f != NULL) {
        CHECK(facts_of(f).kind == advice.choice, "planned %s, built %s",
              tamis_kind_name(advice.choice), tamis_kind_name(facts_of(f).kind));
    }
    tamis_free(f);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "space");
    uint64_t *hashes = hashes_make(N, run_seed(), STREAM_MEMBERS);
    printf("space: bits per key of %d keys     at 1 %%   (goal)    at 0.1 %%   (goal)\n", N);
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        const double one = bits_of(v, 0.01, hashes, N), tenth = bits_of(v, 0.001, hashes, N);
        const double goal_one = goal_of(v, 0.01), goal_tenth = goal_of(v, 0.001);
        printf("space: %-32s %8.3f %8.2f   %8.3f   %8.2f\n", v->name, one, goal_one, tenth,
               goal_tenth);
        if (goal_one != 0) {
            CHECK(one <= goal_one, "%s takes %.3f bits per key at 1 %%", v->name, one);
            CHECK(tenth <= goal_tenth, "%s takes %.3f bits per key at 0.1 %%", v->name, tenth);
        }
    }
    for (size_t i = 0; variant_at(i) != NULL; i++) small_sets(variant_at(i), hashes);
    for (size_t i = 0; variant_at(i) != NULL; i++) budget_of(variant_at(i), hashes);
    budget_chooses(hashes);
    for (size_t i = 0; variant_at(i) != NULL; i++) memory_of(variant_at(i), hashes, N);
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        if ((v->caps & TAMIS_IS_STATIC) != 0) memory_of_shards(v);
    }
    free(hashes);
    return run_end();
}
