/* cmd_measure.c - tamis measure: the measured false positive rate beside the promised one
 *
 * Looks up keys that were not added: random ones, or the records of the inputs. */
#include <string.h>

#include "interval.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "request.h"
#include "term.h"

#define CONFIDENCE 0.99
#define SAMPLES_MIN 1000000
#define SAMPLES_MAX 50000000
/* With this many false positives the interval is about a tenth of the rate wide. */
#define HITS_WANTED 2500

struct measure {
    struct hashing hashing;
    bool integers; /* keys have 8 bytes */
    uint64_t hits;
};

static void measure_work(const void *context, struct block *block, struct batch *batch) {
    const struct measure *m = (const struct measure *)context;
    bool good = true;
    for (size_t at = 0; good && batch_next(batch, block, m->hashing.delimiter, &at);) {
        good = hash_batch(&m->hashing, block, batch);
        block->selected += query_batch(&m->hashing, batch);
        block->records += batch->count;
    }
}

static bool measure_emit(void *context, struct block *block, struct batch *batch) {
    (void)batch;
    ((struct measure *)context)->hits += block->selected;
    return true;
}

/* 24 bytes: a prefix that no text has, the number, and its splitmix64 hash, so that no such key was
 * added by chance.  For integer keys, the hash alone. */
#define MADE_BYTES 24
#define MADE_INTEGER 16

static uint64_t mixed(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void make_keys(uint64_t first, size_t count, uint8_t (*made)[MADE_BYTES]) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = first + i, mix = mixed(number);
        memcpy(made[i],
               "\xff"
               "absent\xff",
               8);
        memcpy(made[i] + 8, &number, 8);
        memcpy(made[i] + 16, &mix, 8);
    }
}

static void measure_made(struct measure *m, uint64_t samples) {
    const tamis_filter *filter = m->hashing.filter;
    const bool hashes_only = (m->hashing.form.flags & TAMIS_KEY_PREHASHED) != 0;
    uint8_t made[BATCH_KEYS][MADE_BYTES];
    const void *keys[BATCH_KEYS];
    size_t lengths[BATCH_KEYS];
    uint64_t hashes[BATCH_KEYS];
    const size_t from = m->integers ? MADE_INTEGER : 0;
    for (size_t i = 0; i < BATCH_KEYS; i++) {
        keys[i] = made[i] + from;
        lengths[i] = MADE_BYTES - from;
    }
    for (uint64_t at = 0; at < samples; at += BATCH_KEYS) {
        const size_t count = samples - at < BATCH_KEYS ? (size_t)(samples - at) : BATCH_KEYS;
        make_keys(at, count, made);
        progress_show(at, 0, NO_FILL);
        if (!m->hashing.by_hash) {
            m->hits += tamis_contains_batch(filter, keys, lengths, count, NULL);
            continue;
        }
        if (hashes_only) {
            for (size_t i = 0; i < count; i++) hashes[i] = mixed(~(at + i));
        } else {
            tamis_hash_batch(filter, keys, lengths, count, hashes);
        }
        m->hits += tamis_contains_hash_batch(filter, hashes, count, NULL);
    }
}

struct verdict {
    const char *file;
    uint64_t samples, hits;
    double fpr, low, high;
    const tamis_facts *facts;
    bool broken; /* the promised rate is exceeded */
};

static void verdict_json(const struct verdict *v) {
    struct json json = {stdout, 0, false};
    json_open(&json, NULL, '{');
    json_string(&json, "file", v->file);
    json_whole(&json, "samples", v->samples);
    json_whole(&json, "positives", v->hits);
    json_real(&json, "fpr", v->fpr);
    json_real(&json, "fpr_low", v->low);
    json_real(&json, "fpr_high", v->high);
    json_real(&json, "confidence", CONFIDENCE);
    json_real(&json, "fpr_target", v->facts->fpr_target);
    json_real(&json, "fpr_now", v->facts->fpr_now);
    json_bool(&json, "holds", !v->broken);
    json_close(&json, '}');
}

static void verdict_text(const struct verdict *v) {
    char name[4096];
    term_plain(v->file, name, sizeof name);
    printf("%s: %s of %s %s reported as present\n", name, text_count(v->hits).at,
           text_plural(v->samples, "absent key").at,
           v->hits == 1 || v->samples == 1 ? "was" : "were");
    printf("measured  %s, with 99 %% confidence from %s to %s\n", text_fpr(v->fpr).at,
           text_fpr(v->low).at, text_fpr(v->high).at);
    printf("expected  %s\n", text_fpr(v->facts->fpr_now).at);
    if (v->facts->fpr_target > 0) {
        printf("promised  %s: %s\n", text_fpr(v->facts->fpr_target).at,
               v->broken ? "NOT kept" : "kept");
    }
}

/* Enough to confirm the promised rate, within limits. */
static uint64_t samples_for(double fpr) {
    const double wanted = fpr > 0 ? HITS_WANTED / fpr : SAMPLES_MAX;
    if (wanted < SAMPLES_MIN) return SAMPLES_MIN;
    return wanted > SAMPLES_MAX ? SAMPLES_MAX : (uint64_t)wanted;
}

static uint64_t measure_run(struct measure *m, const struct request *r, uint64_t samples) {
    if (r->inputs.count == 0) {
        progress_start(&r->run, "measure", samples, false);
        measure_made(m, samples);
        progress_end();
        return samples;
    }
    struct reader reader;
    reader_open(&reader, &r->inputs, m->hashing.delimiter);
    const struct job job = {.work = measure_work,
                            .emit = measure_emit,
                            .context = m,
                            .hints = true,
                            .form = &m->hashing.form};
    progress_start(&r->run, "measure", reader.total_bytes, false);
    const struct totals totals = pipeline_run(&reader, &job, run_options_threads(&r->run));
    progress_end();
    return totals.records;
}

static int measure_main(struct args *args) {
    struct request r = REQUEST_INIT;
    uint64_t samples = 0;
    bool as_json = false;
    const struct binding list[] = {
        {OPT_SAMPLES, .number = &samples, .low = 1, .high = UINT64_C(1) << 40},
        {OPT_JSON, .flag = &as_json},
        {0}};
    request_parse(&r, args, list);
    request_check(&r);
    if (samples != 0 && r.inputs.count != 0) {
        die("--samples and inputs contradict each other: keys are random, or read from the inputs");
    }
    progress_opening(&r.run, "measure");
    tamis_filter *filter = request_open(&r, r.file, OPEN_MAPPED);
    const tamis_facts facts = filter_facts(filter);
    /* Random keys are not made from records. */
    struct measure m = {
        .hashing = {.filter = filter, .form = facts.form, .by_hash = facts.prehashed},
        .integers = facts.key_bytes == 8};
    if (r.inputs.count != 0) m.hashing = request_hashing(&r, r.file, filter, &facts);

    struct verdict v = {.file = r.file, .facts = &facts};
    v.samples = measure_run(&m, &r, samples != 0 ? samples : samples_for(facts.fpr_now));
    if (v.samples == 0) die("the inputs are empty: no keys to measure with");
    v.hits = m.hits;
    v.fpr = (double)v.hits / (double)v.samples;
    share_interval(v.hits, v.samples, CONFIDENCE, &v.low, &v.high);
    v.broken = facts.fpr_target > 0 && v.low > facts.fpr_target;
    if (as_json) {
        verdict_json(&v);
    } else {
        verdict_text(&v);
    }
    stdout_close();
    tamis_free(filter);
    words_free(&r.inputs);
    return v.broken ? EXIT_OVER : EXIT_DONE;
}

const struct command command_measure = {
    .name = "measure",
    .summary = "measure the false positive rate of a filter",
    .usage = "FILE [--samples N] [KEYOPTS] [INPUT...]",
    .about =
        "Queries the filter FILE with keys that are not in it and counts the false positives. "
        "The keys are random, or the records (lines) of the inputs, none of which may have "
        "been added. Prints the measured rate with its 99 % confidence interval, beside the "
        "expected and the promised rate.",
    .options = {OPT_SAMPLES, OPT_JSON},
    .groups = FILTER_OPTIONS | KEY_OPTIONS | RUN_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "the promised rate may hold",
              [EXIT_ERROR] = "error",
              [EXIT_OVER] = "the promised rate is exceeded: it is below the interval"},
    .examples =
        "  tamis measure seen.tamis\n"
        "  tamis measure --samples 100M seen.tamis\n"
        "  tamis measure seen.tamis other-urls.txt\n",
    .see = "info verify",
    .run = measure_main};
