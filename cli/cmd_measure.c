/* cmd_measure.c - tamis measure: the rate of false positives as it is, beside the promise
 *
 * Keys that were certainly not added are asked for: made up here, or given as inputs. */
#include <string.h>

#include "interval.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "request.h"
#include "term.h"

#define CONFIDENCE 0.99
#define SAMPLES_LEAST 1000000
#define SAMPLES_MOST 50000000
/* So many false positives make the interval about a tenth of the rate wide. */
#define HITS_WANTED 2500

static const struct option_spec measure_options[] = {
    {OPT_SAMPLES, '\0', "samples", "N",
     "ask for N made-up keys (default: as many as the rate needs)"},
    {OPT_JSON, '\0', "json", NULL, "as JSON"},
    {OPT_FROM, '\0', "from", "FORMAT", "the filter's format, where its content does not tell"},
    {OPT_PART, '\0', "part", "NAME", "which filter of a file that holds several: see 'tamis info'"},
    OPTIONS_END};

struct measure {
    const tamis_filter *filter;
    tamis_key_form form;
    uint8_t delimiter;
    bool by_hash;
    uint32_t key_bytes; /* as in tamis_facts */
    uint64_t hits;
};

/* ---- given keys */

static void measure_work(const void *context, struct block *block, struct batch *batch) {
    const struct measure *m = (const struct measure *)context;
    struct record_error error = {false, 0, ""};
    bool good = true;
    for (size_t at = 0; good && batch_next(batch, block, m->delimiter, &at);) {
        if (m->by_hash) {
            good = batch_hashes(batch, &m->form, m->filter, &error);
            block->selected +=
                tamis_contains_hash_batch(m->filter, batch->hash, batch->count, NULL);
        } else {
            good = batch_keys_of(batch, &m->form, m->key_bytes, &error);
            block->selected +=
                tamis_contains_batch(m->filter, batch->keys, batch->lengths, batch->count, NULL);
        }
        if (!good) block_error(block, &error, block->records);
        block->records += batch->count;
    }
}

static bool measure_emit(void *context, struct block *block, uint64_t before) {
    (void)before;
    ((struct measure *)context)->hits += block->selected;
    return true;
}

/* ---- made-up keys */

/* 24 bytes: a mark that no text has, the number, and a mix of it (splitmix64), so that nobody
 * has added them by chance.  Where keys are integers, the mix alone. */
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
    const bool hashes_only = (m->form.flags & TAMIS_KEY_PREHASHED) != 0;
    uint8_t made[BATCH_KEYS][MADE_BYTES];
    const void *keys[BATCH_KEYS];
    size_t lengths[BATCH_KEYS];
    uint64_t hashes[BATCH_KEYS];
    const size_t from = m->key_bytes == 8 ? MADE_INTEGER : 0;
    for (size_t i = 0; i < BATCH_KEYS; i++) {
        keys[i] = made[i] + from;
        lengths[i] = MADE_BYTES - from;
    }
    for (uint64_t at = 0; at < samples; at += BATCH_KEYS) {
        const size_t count = samples - at < BATCH_KEYS ? (size_t)(samples - at) : BATCH_KEYS;
        make_keys(at, count, made);
        progress_show(at, 0, NO_FILL);
        if (!m->by_hash) {
            m->hits += tamis_contains_batch(m->filter, keys, lengths, count, NULL);
            continue;
        }
        if (hashes_only) {
            for (size_t i = 0; i < count; i++) hashes[i] = mixed(~(at + i));
        } else {
            tamis_hash_batch(m->filter, keys, lengths, count, hashes);
        }
        m->hits += tamis_contains_hash_batch(m->filter, hashes, count, NULL);
    }
}

/* ---- the verdict */

struct verdict {
    const char *file;
    uint64_t samples, hits;
    double rate, low, high;
    const tamis_facts *facts;
    bool broken; /* the promise is certainly not kept */
};

static void verdict_json(const struct verdict *v) {
    struct json json = {stdout, 0, false};
    json_open(&json, NULL, '{');
    json_string(&json, "file", v->file);
    json_whole(&json, "samples", v->samples);
    json_whole(&json, "positives", v->hits);
    json_real(&json, "fpr", v->rate);
    json_real(&json, "fpr_low", v->low);
    json_real(&json, "fpr_high", v->high);
    json_real(&json, "confidence", CONFIDENCE);
    json_real(&json, "fpr_target", v->facts->rate_target);
    json_real(&json, "fpr_now", v->facts->rate_now);
    json_bool(&json, "holds", !v->broken);
    json_close(&json, '}');
}

static void verdict_text(const struct verdict *v) {
    char name[4096];
    term_plain(v->file, name, sizeof name);
    printf("%s: %s of %s %s taken for present\n", name, text_count(v->hits).at,
           text_things(v->samples, "absent key").at,
           v->hits == 1 || v->samples == 1 ? "was" : "were");
    printf("measured  %s, with 99 %% confidence from %s to %s\n", text_rate(v->rate).at,
           text_rate(v->low).at, text_rate(v->high).at);
    printf("expected  %s\n", text_rate(v->facts->rate_now).at);
    if (v->facts->rate_target > 0) {
        printf("promised  %s: %s\n", text_rate(v->facts->rate_target).at,
               v->broken ? "NOT kept" : "kept");
    }
}

/* Enough that a rate as promised shows, within reason. */
static uint64_t samples_for(double rate) {
    const double wanted = rate > 0 ? HITS_WANTED / rate : SAMPLES_MOST;
    if (wanted < SAMPLES_LEAST) return SAMPLES_LEAST;
    return wanted > SAMPLES_MOST ? SAMPLES_MOST : (uint64_t)wanted;
}

static uint64_t measure_run(struct measure *m, const struct request *r, uint64_t samples) {
    if (r->inputs.count == 0) {
        progress_start(&r->run, "measure", samples, false);
        measure_made(m, samples);
        progress_end();
        return samples;
    }
    struct reader reader;
    reader_open(&reader, &r->inputs, m->delimiter);
    const struct job job = {.work = measure_work, .emit = measure_emit, .context = m};
    progress_start(&r->run, "measure", reader.total_bytes, false);
    const struct totals totals = pipeline_run(&reader, &job, run_options_threads(&r->run));
    progress_end();
    return totals.records;
}

static int measure_main(struct args *args) {
    struct request r = REQUEST_INIT;
    uint64_t samples = 0;
    bool as_json = false;
    for (int id; (id = args_next(args)) != ARG_END;) {
        switch (id) {
            case OPT_SAMPLES:
                samples = number_within("--samples", args->value, 1, UINT64_C(1) << 40);
                break;
            case OPT_JSON:
                as_json = true;
                break;
            default:
                request_take(&r, id, args);
        }
    }
    request_check(&r);
    if (samples != 0 && r.inputs.count != 0) {
        die("--samples and inputs contradict each other: keys are made up or given");
    }
    progress_opening(&r.run, "measure");
    tamis_filter *filter = request_open(&r, r.file, OPEN_MAPPED);
    const tamis_facts facts = filter_facts(filter);
    struct measure m = {.filter = filter, .delimiter = r.keys.delimiter};
    /* How records become keys is of no account to keys that are made up. */
    m.form = r.inputs.count != 0 ? key_form_merge(&facts, &r.keys, r.file) : facts.form;
    m.by_hash = facts.prehashed;
    m.key_bytes = facts.key_bytes;

    struct verdict v = {.file = r.file, .facts = &facts};
    v.samples = measure_run(&m, &r, samples != 0 ? samples : samples_for(facts.rate_now));
    if (v.samples == 0) die("there are no keys to measure with: the inputs are empty");
    v.hits = m.hits;
    v.rate = (double)v.hits / (double)v.samples;
    share_interval(v.hits, v.samples, CONFIDENCE, &v.low, &v.high);
    v.broken = facts.rate_target > 0 && v.low > facts.rate_target;
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
    "measure",
    "measure the rate of false positives",
    "FILE [--samples N] [KEYS] [INPUT]...",
    "Asks the filter FILE for keys that are certainly not in it and counts how many it takes\n"
    "for its own.  The keys are made up, or are the records (lines) of the inputs, none of\n"
    "which may have been added.  Exits with 3 if the promised rate is certainly exceeded.",
    {measure_options, options_keys, options_running, NULL},
    "  tamis measure seen.tamis\n"
    "  tamis measure --samples 100M seen.tamis\n"
    "  tamis measure seen.tamis other-urls.txt",
    measure_main};
