/* cmd_uniq.c - tamis uniq: each record the first time it is seen, without sorting
 *
 * Threads split and hash; lookups and adds are done in input order, in batches: a record is printed
 * if its key was definitely not in the filter.  A false positive drops a new record, so the default
 * rate is low, and the summary reports how many to expect.
 *
 * A growing filter is faster with fewer stages.  So the number of distinct records is estimated
 * from the beginning of a large input, and the filter is created again for it: see `resize`.
 *
 * --repeated prints a record when it is seen for the second time; a second filter holds those that
 * were printed. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interrupt.h"
#include "numbers.h"
#include "output.h"
#include "request.h"
#include "term.h"

#define UNIQ_FPR 1e-6

/* The number of distinct records is estimated from this many.  The first stage has at most 16
 * million keys, 85 MB at the default rate, so that a wrong estimate costs no more than that. */
#define SAMPLE_RECORDS 65536
#define FIRST_STAGE_MAX (UINT64_C(16) << 20)

/* The length of a pipe is unknown: assume this many times the sample, 3.4 million records.
 * That is 13 MB for a short input; for a long one, three stages (2.4, 4.8 and 9.7 million distinct
 * records) hold 24 million records of which 70 % are distinct. */
#define PIPE_SAMPLES 52

/* The cure if the file is not a filter of uniq. */
#define NEW_FILE "give the name of a new file"

struct uniq {
    struct hashing hashing; /* first: the pipeline's work reads it */
    tamis_filter *seen;
    tamis_filter *first;    /* `seen` before it was resized; else NULL */
    tamis_filter *repeated; /* --repeated: those printed; else NULL */
    bool reopened;          /* `seen` is from an earlier run, */
    bool counts;            /* and would count repeats */
    struct output output;
    bool open_end; /* the last record printed had no delimiter */
    tamis_status status;
    uint64_t records, fresh, printed;

    /* Until the filter is made for the number of records to expect. */
    bool sampling;
    const struct uniq_request *request;
    uint64_t total_bytes, bytes; /* of the inputs, 0 if not known; read so far */
    uint64_t *sample;            /* hashes seen so far */
    size_t sample_count;
};

struct uniq_request {
    struct request common; /* file: --save, or NULL */
    double fpr;            /* 0: not given */
    uint64_t seed;
    bool has_seed, repeated, counting;
};

/* Prints the records whose flag is set, neighbours in one piece. */
static void print_chosen(struct uniq *u, const struct block *block, size_t first,
                         const bool *chosen, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!chosen[i]) continue;
        const size_t from = block->starts[first + i];
        while (i + 1 < count && chosen[i + 1]) i++;
        const size_t to = block->starts[first + i + 1];
        if (u->open_end) output_bytes(&u->output, &u->hashing.delimiter, 1);
        u->open_end = block->unterminated && to == block->length;
        output_bytes(&u->output, block->data + from, to - from);
    }
}

/* Turns "new" into "seen for the second time". */
static void choose_repeated(struct uniq *u, const uint64_t *hashes, bool *chosen, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool first = false;
        if (!chosen[i] && u->status == TAMIS_OK) {
            u->status = tamis_add_hash(u->repeated, hashes[i], &first);
        }
        chosen[i] = first;
    }
}

/* NULL if out of memory; dies if the rate is too low. */
static tamis_filter *uniq_create(const struct uniq_request *r, uint64_t capacity) {
    const struct key_options *keys = &r->common.keys;
    tamis_options options = TAMIS_OPTIONS_INIT;
    tamis_filter *filter;
    options.kind = TAMIS_GROWING;
    options.capacity = capacity;
    options.fpr = r->fpr > 0 ? r->fpr : UNIQ_FPR;
    options.seed = r->seed;
    options.secret = key_options_secret(keys);
    options.form = keys->form;
    if (options.form.flags & TAMIS_KEY_PREHASHED) options.hasher = TAMIS_HASH_NONE;
    const tamis_status status = tamis_create(&options, &filter);
    if (status == TAMIS_E_FPR_TOO_LOW)
        die("-p %s: lower than a growing filter supports: give a higher rate",
            text_exact(r->fpr).at);
    return status == TAMIS_OK ? filter : NULL;
}

/* The capacity of the first stage, if the rest of the inputs resembles their beginning.  Stages
 * double, so that 1, 3, 7, ... times the first one holds all. */
static uint64_t first_stage(const struct uniq *u) {
    const double samples =
        u->total_bytes != 0 ? (double)u->total_bytes / (double)u->bytes : PIPE_SAMPLES;
    const double expected = 1.03 * samples * (double)u->fresh;
    double stages = 1;
    while (expected / stages > (double)FIRST_STAGE_MAX) stages = 2 * stages + 1;
    return (uint64_t)(expected / stages) + 1;
}

/* Replaces the filter by one of the expected size, with the keys of the sample.  If there is no
 * memory for it, the old one keeps growing. */
static void resize(struct uniq *u) {
    tamis_filter *larger = uniq_create(u->request, first_stage(u));
    u->sampling = false;
    if (larger != NULL &&
        tamis_add_hash_batch(larger, u->sample, u->sample_count, NULL, NULL) == TAMIS_OK) {
        tamis_filter *smaller = u->seen;
        u->seen = larger;
        larger = smaller;
    }
    /* The threads may be hashing with the old one: it stays until the end. */
    u->first = larger;
    free(u->sample);
    u->sample = NULL;
}

static void take_sample(struct uniq *u, const struct block *block) {
    u->sample =
        (uint64_t *)need_more(u->sample, (u->sample_count + block->records) * sizeof(uint64_t));
    if (block->records != 0) {
        memcpy(u->sample + u->sample_count, block->hashes, block->records * sizeof(uint64_t));
    }
    u->sample_count += block->records;
    u->bytes += block->length;
    if (u->records >= SAMPLE_RECORDS) resize(u);
}

/* Adds the new keys.  A kind that can remove would count each repeat as another key: a cuckoo
 * filter would soon be full, and a key seen often would have to be removed as often. */
static tamis_status add_new(const struct uniq *u, const uint64_t *hashes, size_t count,
                            bool *fresh) {
    tamis_status status = TAMIS_OK;
    if (!u->counts) return tamis_add_hash_batch(u->seen, hashes, count, fresh, NULL);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++) {
        fresh[i] = !tamis_contains_hash(u->seen, hashes[i]);
        if (fresh[i]) status = tamis_add_hash(u->seen, hashes[i], NULL);
    }
    return status;
}

static bool uniq_emit(void *context, struct block *block, struct batch *batch) {
    struct uniq *u = (struct uniq *)context;
    bool chosen[BATCH_KEYS];
    (void)batch;
    for (size_t at = 0; at < block->records && u->status == TAMIS_OK; at += BATCH_KEYS) {
        const size_t left = block->records - at, count = left < BATCH_KEYS ? left : BATCH_KEYS;
        u->status = add_new(u, block->hashes + at, count, chosen);
        if (u->status != TAMIS_OK) break;
        for (size_t i = 0; i < count; i++) u->fresh += chosen[i];
        if (u->repeated != NULL) choose_repeated(u, block->hashes + at, chosen, count);
        for (size_t i = 0; i < count; i++) u->printed += chosen[i];
        if (!u->request->counting) print_chosen(u, block, at, chosen, count);
    }
    u->records += block->records;
    if (u->sampling && u->status == TAMIS_OK) take_sample(u, block);
    if (block->pause) output_flush(&u->output);
    return u->status == TAMIS_OK && u->output.error == 0;
}

static void uniq_parse(struct args *args, struct uniq_request *r) {
    const struct binding list[] = {{ARG_OPERAND, .words = &r->common.inputs},
                                   {OPT_FPR, .fpr = &r->fpr},
                                   {OPT_REPEATED, .flag = &r->repeated},
                                   {OPT_COUNT, .flag = &r->counting},
                                   {OPT_SAVE, .text = &r->common.file},
                                   {OPT_SEED, .number = &r->seed, .flag = &r->has_seed},
                                   {0}};
    request_parse(&r->common, args, list);
    key_options_check(&r->common.keys);
    if (r->common.file != NULL && strcmp(r->common.file, "-") == 0) {
        die("--save needs a file: standard output is for the records");
    }
    if (r->common.file != NULL) {
        target_check(r->common.file, true, &r->common.inputs, &r->common.keys);
    }
}

/* The filter that an earlier run has saved. */
static tamis_filter *uniq_reopen(const struct uniq_request *r, tamis_facts *facts) {
    const char *file = r->common.file;
    tamis_filter *filter = request_open(&r->common, file, OPEN_CHANGE);
    *facts = filter_facts_brief(filter);
    if (!(facts->caps & TAMIS_CAN_ADD)) {
        die("'%s' is a %s filter, which accepts no more keys: " NEW_FILE, file,
            tamis_kind_name(facts->kind));
    }
    if (!facts->prehashed) {
        die("'%s' is another system's filter, which uniq cannot use: " NEW_FILE, file);
    }
    /* Spellings of one rate may differ in the last bit: 1/3e5, 0.00000333333333333333. */
    if (r->fpr > 0 && fabs(r->fpr - facts->fpr_target) > 1e-9 * r->fpr) {
        die("'%s' was made with -p %s, and -p %s contradicts that: leave it out", file,
            text_exact(facts->fpr_target).at, text_exact(r->fpr).at);
    }
    /* With a secret there is no seed. */
    if (r->has_seed && !facts->keyed && r->seed != facts->seed) {
        die("'%s' was made with --seed %llu, and --seed %llu contradicts that: leave it out", file,
            (unsigned long long)facts->seed, (unsigned long long)r->seed);
    }
    return filter;
}

/* The expected number of new records that were dropped.  A filter that uniq did not make may be
 * over its capacity or have no promised rate: then the current rate is an upper bound, and so is
 * the number of dropped records. */
static double wrongly_dropped(const struct uniq *u, double fpr, bool promised) {
    const double fresh = (double)u->fresh, dropped = (double)(u->records - u->fresh);
    if (promised) return fresh * fpr;
    return fpr < 1 ? fmin((fresh + 1) * fpr / (1 - fpr), dropped) : dropped;
}

static void uniq_summary(const struct uniq *u, const tamis_facts *facts) {
    const bool promised = facts->fpr_target > 0 && !facts->over_capacity;
    const double fpr = promised ? facts->fpr_target : facts->fpr_now;
    const double wrong = wrongly_dropped(u, fpr, promised);
    say("uniq: %s, %s new, %s seen before; expect %s%s wrongly dropped (rate %s); %s",
        text_plural(u->records, "record").at, text_count(u->fresh).at,
        text_count(u->records - u->fresh).at, wrong > 0 ? "at most " : "", text_few(wrong).at,
        text_fpr(fpr).at, text_bytes(facts->table_bytes).at);
}

/* Was there an earlier run?  If that cannot be known, nothing is printed. */
static bool was_saved(const char *file) {
    if (file == NULL) return false;
    if (access(file, F_OK) == 0) return true;
    if (errno != ENOENT) die("cannot open '%s': %s", file, strerror(errno));
    return false;
}

static void uniq_start(struct uniq *u, const struct uniq_request *r) {
    const struct key_options *keys = &r->common.keys;
    u->hashing =
        (struct hashing){.form = keys->form, .delimiter = keys->delimiter, .by_hash = true};
    if (was_saved(r->common.file)) {
        tamis_facts facts;
        progress_opening(&r->common.run, "uniq");
        u->seen = uniq_reopen(r, &facts);
        u->reopened = true;
        u->counts = (facts.caps & TAMIS_CAN_REMOVE) != 0;
        u->hashing.form = key_form_merge(&facts, keys, r->common.file);
    } else {
        u->seen = uniq_create(r, 0);
        u->sampling = true;
    }
    u->hashing.filter = u->seen;
    if (r->repeated) u->repeated = uniq_create(r, 0);
    if (u->seen == NULL || (r->repeated && u->repeated == NULL)) die("out of memory");
    output_open(&u->output, STDOUT_FILENO);
}

/* The reader may not have received what was printed, so it is not saved: the next run prints it
 * again. */
static void note_interruption(const char *file) {
    static char line[NAME_SHOWN + 120];
    char name[NAME_SHOWN];
    term_plain(file, name, sizeof name);
    snprintf(line, sizeof line,
             "tamis: uniq: interrupted: nothing was saved in '%s'; the next run prints this run's "
             "records again\n",
             name);
    interrupt_note(line);
}

static int uniq_main(struct args *args) {
    struct uniq_request r = {.common = REQUEST_INIT};
    r.common.advice = NEW_FILE;
    struct uniq u = {.request = &r};
    struct reader reader;
    uniq_parse(args, &r);
    reader_open_selecting(&reader, &r.common.inputs, r.common.keys.delimiter, false, !r.counting);
    u.total_bytes = reader.total_bytes;
    uniq_start(&u, &r);

    const struct job job = {.work = work_hashes_and_starts,
                            .emit = uniq_emit,
                            .context = &u,
                            .output = &u.output,
                            .hints = !r.common.run.quiet,
                            .form = r.common.file != NULL ? &u.hashing.form : NULL};
    if (r.common.file != NULL) note_interruption(r.common.file);
    progress_start(&r.common.run, "uniq", reader.total_bytes, !r.counting);
    pipeline_run(&reader, &job, run_options_threads(&r.common.run));
    if (u.status != TAMIS_OK) die("cannot go on: %s", tamis_status_text(u.status));
    if (r.counting) {
        output_number(&u.output, u.printed);
        output_text(&u.output, "\n");
    }
    output_close(&u.output, "standard output");

    /* If the output was not read to its end, the next run must print the rest: save nothing. */
    const char *save = u.output.error == 0 ? r.common.file : NULL;
    const tamis_facts facts = filter_facts(u.seen);
    if (save != NULL) progress_phase("writing");
    if (save != NULL && u.reopened) {
        request_save(&r.common, u.seen);
    } else if (save != NULL && !filter_save_file(u.seen, save, false)) {
        die("another run has created '%s' meanwhile: it was not changed, and the records of this "
            "run are not in it",
            save);
    }
    progress_end();
    if (!r.common.run.quiet && u.output.error == 0) uniq_summary(&u, &facts);
    tamis_free(u.seen);
    tamis_free(u.first);
    tamis_free(u.repeated);
    free(u.sample);
    words_free(&r.common.inputs);
    return filter_capacity(save != NULL ? save : "the filter", &facts);
}

const struct command command_uniq = {
    .name = "uniq",
    .summary = "print each record the first time it is seen",
    .usage = "[-p RATE] [--repeated] [-c] [--save FILE] [KEYOPTS] [INPUT...]",
    .about =
        "Prints each record (line) of the inputs, or of standard input, the first time it is "
        "seen, in input order. Needs no sorting, and a few bytes of memory per distinct "
        "record. A new record that is a false positive is dropped; the summary on stderr "
        "estimates how many.",
    .options = {OPT_DROP_RATE, OPT_REPEATED, OPT_COUNT, OPT_SAVE, OPT_SEED, OPT_QUIET, OPT_WAIT,
                OPT_KEY_FILE},
    .groups = KEY_OPTIONS | RUN_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "done",
              [EXIT_OVER] = "done, and the filter that --save names is over its capacity",
              [EXIT_CHANGED] =
                  "the file of --save was written, but could not be synced or completed"},
    .examples =
        "  cat *.log | tamis uniq > once.log\n"
        "  tamis uniq --save seen.tamis < today.txt     # new since earlier runs\n"
        "  tamis uniq --repeated names.txt              # occur more than once\n"
        "  tamis uniq -t , -F 1 users.csv               # first line of each user\n"
        "  tamis uniq -c words.txt                      # count distinct lines\n",
    .see = "query",
    .run = uniq_main};
