/* faults.c - memory runs out at every possible moment
 *
 * Each scenario is run again and again: the first allocation fails, then the second, and so on
 * until it succeeds.  A failure must be E_NOMEM, leave every object as it was and leak nothing;
 * and once memory is back the same call succeeds.  Both for a single failure (the next allocation
 * works) and for permanent failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"
#include "../support/vectors.h"

#define N 3000
#define STEPS_MAX 20000
#define SMALL 200       /* keys of a small filter */
#define LARGE 14000000u /* capacity of a file that is updated in place */

static uint64_t hashes[N];
static const void *keys[N]; /* the bytes of the hashes, as keys */
static size_t lengths[N];

/* What a scenario works on.  `subject` and `other` exist before it, and a failure must not change
 * them; `made` is its result. */
struct fixture {
    const struct variant *v;
    struct meter meter;
    tamis_filter *subject, *other, *made;
    struct bytes bytes;
};

static tamis_options metered(struct fixture *s, uint64_t capacity) {
    tamis_options o = variant_options(s->v, capacity, 0.01);
    o.allocator = meter_allocator(&s->meter);
    o.temporary = run_directory();
    return o;
}

static tamis_status do_create(struct fixture *s) {
    const tamis_options o = metered(s, N);
    return tamis_create(&o, &s->made);
}

static tamis_status do_build(struct fixture *s) {
    const tamis_options o = metered(s, 0);
    return tamis_build_hash(&o, hashes, N, &s->made);
}

static tamis_status do_build_threads(struct fixture *s) {
    tamis_options o = metered(s, 0);
    o.threads = 3;
    return tamis_build_hash(&o, hashes, N, &s->made);
}

static tamis_status do_build_budget(struct fixture *s) {
    tamis_options o = metered(s, 0);
    o.fpr = 0;
    o.bytes = 20000;
    return tamis_build_hash(&o, hashes, N, &s->made);
}

static tamis_status do_build_bytes(struct fixture *s) {
    const tamis_options o = metered(s, 0);
    return tamis_build(&o, keys, lengths, N, &s->made);
}

/* A failed add changes nothing; after finish, failed or not, the builder accepts no keys. */
static tamis_status builder_scenario(struct fixture *s, uint64_t memory) {
    tamis_options o = metered(s, 0);
    o.memory = memory;
    tamis_builder *b = NULL;
    tamis_status status = tamis_builder_create(&o, &b);
    CHECK((status == TAMIS_OK) == (b != NULL), "%s: builder_create: %s", s->v->name,
          tamis_status_name(status));
    for (size_t i = 0; status == TAMIS_OK && i < N; i += 500) {
        const uint64_t before = tamis_builder_count(b);
        status = tamis_builder_add_hash_batch(b, hashes + i, 500);
        CHECK(status == TAMIS_OK || tamis_builder_count(b) == before,
              "%s: a failed add counts in the builder", s->v->name);
    }
    if (status == TAMIS_OK) {
        status = tamis_builder_finish(b, &s->made);
        CHECK(tamis_builder_add_hash(b, 1) != TAMIS_OK, "%s: add after finish", s->v->name);
    }
    tamis_builder_free(b);
    return status;
}
static tamis_status do_builder(struct fixture *s) { return builder_scenario(s, 0); }
static tamis_status do_builder_spill(struct fixture *s) { return builder_scenario(s, 4096); }

/* A builder that adds keys directly: its count matches its filter, also for the batch in which
 * memory ran out. */
static tamis_status do_builder_direct(struct fixture *s) {
    const tamis_options o = metered(s, 1);
    tamis_builder *b = NULL;
    tamis_status status = tamis_builder_create(&o, &b);
    if (status != TAMIS_OK) return status;
    for (size_t i = 0; status == TAMIS_OK && i < N; i += 500) {
        status = tamis_builder_add_hash_batch(b, hashes + i, 500);
    }
    const uint64_t count = tamis_builder_count(b);
    CHECK(tamis_builder_finish(b, &s->made) == TAMIS_OK, "%s: finish", s->v->name);
    if (s->made != NULL) {
        CHECK(facts_of(s->made).adds == count, "%s: %llu keys added, %llu counted", s->v->name,
              (unsigned long long)facts_of(s->made).adds, (unsigned long long)count);
        CHECK(tamis_contains_hash_batch(s->made, hashes, (size_t)count, NULL) == count,
              "%s: keys that were counted are missing", s->v->name);
    }
    if (status != TAMIS_OK) {
        tamis_free(s->made);
        s->made = NULL;
    }
    tamis_builder_free(b);
    return status;
}

static tamis_status do_decode(struct fixture *s) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    open.allocator = meter_allocator(&s->meter);
    return tamis_decode(s->bytes.data, s->bytes.size, &open, &s->made);
}

static tamis_status do_view(struct fixture *s) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    open.allocator = meter_allocator(&s->meter);
    return tamis_view(s->bytes.data, s->bytes.size, &open, &s->made);
}

static tamis_status do_clone(struct fixture *s) { return tamis_clone(s->subject, &s->made); }

static tamis_status do_convert(struct fixture *s) {
    return tamis_convert(s->subject, TAMIS_BLOOM, &s->made);
}

/* A growing filter allocates as it grows; the others must not fail here. */
static tamis_status do_adds(struct fixture *s) {
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < N && status == TAMIS_OK; i++) {
        const uint64_t hash = hashes[i] + 1;
        struct bytes before = bytes_of(s->subject);
        status = tamis_add_hash(s->subject, hash, NULL);
        if (status != TAMIS_OK) {
            CHECK(encodes_to(s->subject, &before), "%s: a failed add changed the filter",
                  s->v->name);
        } else {
            CHECK(tamis_contains_hash(s->subject, hash), "%s: an added key", s->v->name);
        }
        bytes_free(&before);
        if (i >= 700) i += 9;
    }
    return status;
}

static tamis_status do_merge(struct fixture *s) {
    return tamis_merge(s->subject, s->other, TAMIS_UNION);
}

static tamis_status do_encode(struct fixture *s) {
    struct bytes out = bytes_new(s->bytes.size);
    const tamis_status status = tamis_encode(s->subject, out.data, out.size, NULL);
    CHECK(status != TAMIS_OK || bytes_equal(&out, &s->bytes), "%s: encode", s->v->name);
    bytes_free(&out);
    return status;
}

/* ---- files: read, mapped and opened for update */

static const char *fault_path(void) {
    static char path[512];
    snprintf(path, sizeof path, "%s/fault.tamis", run_directory());
    return path;
}

/* The file `fault_path` gets these bytes, without the library. */
static void write_plainly(const struct bytes *b) {
    FILE *file = fopen(fault_path(), "wb");
    CHECK(file != NULL && fwrite(b->data, 1, b->size, file) == b->size && fclose(file) == 0,
          "cannot write %s", fault_path());
}

static bool file_is(const struct bytes *b) {
    struct bytes now = bytes_new(b->size + 1);
    FILE *file = fopen(fault_path(), "rb");
    const size_t length = file != NULL ? fread(now.data, 1, now.size, file) : 0;
    if (file != NULL) fclose(file);
    const bool same = length == b->size && memcmp(now.data, b->data, length) == 0;
    bytes_free(&now);
    return same;
}

static void file_end(const struct fixture *s) {
    remove(fault_path());
    CHECK(directory_entries(run_directory()) == 0, "%s: a file is left", s->v->name);
}

static tamis_status do_save(struct fixture *s) {
    tamis_status status = tamis_save(s->subject, fault_path(), true);
    if (status == TAMIS_OK) {
        tamis_open_options open = TAMIS_OPEN_INIT;
        open.allocator = meter_allocator(&s->meter);
        status = tamis_open(fault_path(), &open, &s->made);
    }
    file_end(s);
    return status;
}

static tamis_status do_map(struct fixture *s) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    open.map = true;
    open.allocator = meter_allocator(&s->meter);
    write_plainly(&s->bytes);
    tamis_status status = tamis_open(fault_path(), &open, &s->made);
    if (status == TAMIS_OK) status = tamis_verify(s->made);
    if (status != TAMIS_OK) {
        tamis_free(s->made);
        s->made = NULL;
    }
    file_end(s);
    return status;
}

/* The file changes if the commit succeeds, and the filter for update is freed in any case. */
static tamis_status do_commit(struct fixture *s) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    open.update = true;
    open.allocator = meter_allocator(&s->meter);
    write_plainly(&s->bytes);
    tamis_status status = tamis_open(fault_path(), &open, &f);
    CHECK((status == TAMIS_OK) == (f != NULL), "%s: open for update", s->v->name);
    if (status == TAMIS_OK) status = tamis_add_hash(f, hashes[N - 1] + 1, NULL);
    if (status == TAMIS_OK) status = tamis_commit(f, NULL);
    tamis_free(f);
    CHECK(file_is(&s->bytes) == (status != TAMIS_OK), "%s: commit is %s, and the file is %s",
          s->v->name, tamis_status_name(status), status == TAMIS_OK ? "old" : "new");
    file_end(s);
    return status;
}

/* ---- containers and small filters: of no kind */

static tamis_status do_container(struct fixture *s) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_container *c = NULL;
    tamis_filter *f = NULL;
    tamis_part part = TAMIS_PART_INIT;
    size_t i = 0;
    struct vector_bytes file = vector_file("parquet/duckdb-multi.parquet");
    open.allocator = meter_allocator(&s->meter);
    tamis_status status = tamis_container_view(file.at, file.length, &open, &c);
    CHECK((status == TAMIS_OK) == (c != NULL), "container: %s", tamis_status_name(status));
    while (c != NULL && tamis_container_part(c, i, &part) == TAMIS_OK && part.bytes == 0) i++;
    if (status == TAMIS_OK) status = tamis_container_filter(c, i, &f);
    if (status == TAMIS_OK) {
        CHECK(tamis_reformat(f, "tamis") == TAMIS_OK && tamis_reformat(f, "parquet") == TAMIS_OK,
              "reformat needs memory");
    }
    tamis_free(f);
    tamis_container_free(c);
    vector_bytes_free(&file);
    return status;
}

static tamis_status do_open_part(struct fixture *s) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    struct vector_bytes file = vector_file("parquet/duckdb-multi.parquet");
    open.part = "0/b";
    open.allocator = meter_allocator(&s->meter);
    const tamis_status status = tamis_decode(file.at, file.length, &open, &f);
    CHECK((status == TAMIS_OK) == (f != NULL), "a part: %s", tamis_status_name(status));
    tamis_free(f);
    vector_bytes_free(&file);
    return status;
}

/* Of the static kind, and of a Bloom filter. */
static tamis_status small_scenario(struct fixture *s, tamis_kind kind) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    size_t length = 0, found = 0;
    o.kind = kind;
    o.fpr = 0.001;
    o.allocator = meter_allocator(&s->meter);
    struct bytes to = bytes_new(tamis_small_bound(&o, SMALL));
    const tamis_status status = tamis_small_build(&o, hashes, SMALL, to.data, to.size, &length);
    for (size_t i = 0; status == TAMIS_OK && i < SMALL; i++) {
        found += tamis_small_contains(to.data, length, hashes[i]);
    }
    CHECK(status != TAMIS_OK || found == SMALL, "a small filter: %zu keys found", found);
    bytes_free(&to);
    return status;
}
static tamis_status do_small(struct fixture *s) { return small_scenario(s, TAMIS_AUTO); }
static tamis_status do_small_bloom(struct fixture *s) { return small_scenario(s, TAMIS_BLOOM); }

static tamis_status do_compose(struct fixture *s) {
    tamis_composer *c = NULL;
    const tamis_status status = tamis_composer_create(s->subject, &c);
    CHECK((status == TAMIS_OK) == (c != NULL), "%s: composer", s->v->name);
    tamis_composer_free(c);
    return status;
}

struct scenario {
    const char *name;
    tamis_status (*run)(struct fixture *s);
    uint32_t needs;    /* caps */
    tamis_kind kind;   /* only this one; TAMIS_AUTO: all */
    uint64_t capacity; /* of the subject; 0: it is built */
    bool changes;      /* it may change its subject when it succeeds */
};
static const struct scenario scenarios[] = {
    {"create", do_create, TAMIS_CAN_ADD, TAMIS_AUTO, 0, false},
    {"build", do_build, 0, TAMIS_AUTO, 0, false},
    {"build with threads", do_build_threads, 0, TAMIS_AUTO, 0, false},
    {"build within a budget", do_build_budget, 0, TAMIS_AUTO, 0, false},
    {"build from bytes", do_build_bytes, 0, TAMIS_AUTO, 0, false},
    {"builder", do_builder, 0, TAMIS_AUTO, 0, false},
    {"builder that spills", do_builder_spill, 0, TAMIS_AUTO, 0, false},
    {"builder that fills and grows", do_builder_direct, TAMIS_CAN_GROW, TAMIS_AUTO, 0, false},
    {"decode", do_decode, 0, TAMIS_AUTO, 0, false},
    {"view", do_view, 0, TAMIS_AUTO, 0, false},
    {"clone", do_clone, 0, TAMIS_AUTO, 0, false},
    {"convert", do_convert, 0, TAMIS_COUNTING, 0, false},
    {"add", do_adds, TAMIS_CAN_ADD, TAMIS_AUTO, 2 * N, true},
    {"add and grow", do_adds, TAMIS_CAN_GROW, TAMIS_AUTO, 1, true},
    {"merge", do_merge, TAMIS_CAN_UNION, TAMIS_AUTO, N, true},
    {"encode", do_encode, 0, TAMIS_AUTO, 0, false},
    {"save and open", do_save, 0, TAMIS_AUTO, 0, false},
    {"map", do_map, 0, TAMIS_AUTO, 0, false},
    {"commit", do_commit, TAMIS_CAN_ADD, TAMIS_AUTO, 2 * N, false},
    {"commit in place", do_commit, TAMIS_CAN_ADD, TAMIS_BLOCK, LARGE, false},
    {"compose", do_compose, 0, TAMIS_AUTO, 0, false},
    /* Once, not for each kind: */
    {"container", do_container, 0, TAMIS_BLOOM, 0, false},
    {"open a part", do_open_part, 0, TAMIS_BLOOM, 0, false},
    {"small", do_small, 0, TAMIS_BLOOM, 0, false},
    {"small Bloom", do_small_bloom, 0, TAMIS_BLOOM, 0, false},
};

/* Half of the keys in a filter for `capacity`, or all of them, built. */
static tamis_filter *subject_of(struct fixture *s, uint64_t capacity) {
    tamis_filter *f = NULL;
    const tamis_options o = metered(s, capacity);
    if (capacity == 0) {
        CHECK(tamis_build_hash(&o, hashes, N, &f) == TAMIS_OK, "%s: build", s->v->name);
        return f;
    }
    CHECK(tamis_create(&o, &f) == TAMIS_OK, "%s: create", s->v->name);
    if (f != NULL && capacity > 1) tamis_add_hash_batch(f, hashes, N / 2, NULL, NULL);
    return f;
}

/* One run with the `step`-th allocation failing; true if the scenario succeeded. */
static bool one_step(const struct variant *v, const struct scenario *scenario, uint64_t step,
                     bool once) {
    struct fixture s = {.v = v};
    meter_reset(&s.meter);
    s.subject = subject_of(&s, scenario->capacity);
    s.other = subject_of(&s, scenario->capacity);
    if (s.subject == NULL || s.other == NULL) return true;
    s.bytes = bytes_of(s.subject);
    const uint64_t calls = atomic_load(&s.meter.calls), live = atomic_load(&s.meter.live);
    s.meter.fail_at = calls + step;
    s.meter.fail_once = once;
    const tamis_status status = scenario->run(&s);
    /* An optional allocation may fail and the call still succeed. */
    const bool reached = atomic_load(&s.meter.calls) >= s.meter.fail_at;
    s.meter.fail_at = 0;
    CHECK(status == TAMIS_OK || (status == TAMIS_E_NOMEM && reached), "%s: %s, allocation %llu: %s",
          v->name, scenario->name, (unsigned long long)step, tamis_status_name(status));
    if (status != TAMIS_OK) {
        CHECK(s.made == NULL, "%s: %s failed and made something", v->name, scenario->name);
        CHECK(scenario->changes || atomic_load(&s.meter.live) == live,
              "%s: %s, allocation %llu: %lld blocks leaked", v->name, scenario->name,
              (unsigned long long)step, (long long)atomic_load(&s.meter.live) - (long long)live);
    }
    const bool add = scenario->run == do_adds; /* it checks each add separately */
    if (!(scenario->changes && status == TAMIS_OK) && !add) {
        CHECK(encodes_to(s.subject, &s.bytes), "%s: %s, allocation %llu: the subject changed",
              v->name, scenario->name, (unsigned long long)step);
    }
    if (s.made != NULL && scenario->run != do_create) {
        const size_t found = scenario->run == do_build_bytes
                                 ? tamis_contains_batch(s.made, keys, lengths, N / 2, NULL)
                                 : tamis_contains_hash_batch(s.made, hashes, N / 2, NULL);
        CHECK(found == N / 2, "%s: %s: keys are missing", v->name, scenario->name);
    }
    tamis_free(s.made);
    tamis_free(s.subject);
    tamis_free(s.other);
    bytes_free(&s.bytes);
    CHECK(atomic_load(&s.meter.live) == 0 && atomic_load(&s.meter.live_bytes) == 0,
          "%s: %s, allocation %llu: %llu blocks are left", v->name, scenario->name,
          (unsigned long long)step, (unsigned long long)atomic_load(&s.meter.live));
    CHECK(atomic_load(&s.meter.wrong_size) == 0, "%s: %s: freed with another size", v->name,
          scenario->name);
    count_up("runs", 1);
    return !reached;
}

int main(int argc, char **argv) {
    run_start(argc, argv, "faults");
    hashes_fill(hashes, N, 0, run_seed(), STREAM_MEMBERS);
    for (size_t i = 0; i < N; i++) {
        keys[i] = &hashes[i];
        lengths[i] = sizeof hashes[i];
    }
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        for (size_t j = 0; j < sizeof scenarios / sizeof *scenarios; j++) {
            const struct scenario *scenario = &scenarios[j];
            if ((v->caps & scenario->needs) != scenario->needs) continue;
            if (scenario->kind != TAMIS_AUTO && scenario->kind != v->kind) continue;
            if (scenario->capacity == LARGE && run_effort() == EFFORT_QUICK) continue;
            for (unsigned once = 0; once < 2; once++) {
                uint64_t step = 1;
                while (step < STEPS_MAX && !one_step(v, scenario, step, once != 0)) step++;
                CHECK(step < STEPS_MAX, "%s: %s never succeeds", v->name, scenario->name);
                count_up("failed allocations", step - 1);
            }
        }
    }
    return run_end();
}
