/* cmd_uniq.c - tamis uniq: each record the first time it is seen, without sorting
 *
 * Threads split and hash; the filter is asked and filled in input order, in batches: a key is
 * printed if it was certainly not there before.  A false positive drops a line that was new, so
 * the rate is low unless -p says otherwise, and the summary tells what to expect.
 *
 * A growing filter is the faster the fewer stages it has.  So the beginning of a large input
 * tells how many different records to expect, and the filter is made anew for that many: see
 * `resize`.
 *
 * --repeated prints a record when it is seen for the second time: a second filter knows which
 * ones were printed already. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numbers.h"
#include "output.h"
#include "request.h"

#define UNIQ_RATE 1e-6

/* Records by which the number of different ones is foretold, and the largest first stage: about
 * 85 MB at the default rate.  A wrong guess must not cost more than that. */
#define SAMPLE_RECORDS 65536
#define FIRST_STAGE_MOST (UINT64_C(16) << 20)

/* Of a pipe nobody knows the length: take it for this many times the sample, 3.4 million records.
 * That is 13 MB if it proves short; if long, three stages (2.4, 4.8 and 9.7 million different
 * records) hold 24 million records of which 70 % differ. */
#define PIPE_SAMPLES 52

static const struct option_spec uniq_options[] = {
    {OPT_RATE, 'p', "rate", "RATE", "chance that a new record is dropped (default 1e-6)"},
    {OPT_REPEATED, '\0', "repeated", NULL, "print instead each record that is seen again, once"},
    {OPT_COUNT, 'c', "count", NULL, "print how many records there are, not the records"},
    {OPT_SAVE, '\0', "save", "FILE", "keep what was seen in FILE, for the next run"},
    {OPT_SEED, '\0', "seed", "N", "seed of the hash (default 0)"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
    OPTIONS_END};

/* What is to be done about a file that is no filter of uniq. */
#define NEW_FILE "give the name of a new file"

struct uniq {
    struct hashing hashing; /* first: the pipeline's work reads it */
    tamis_filter *seen;
    tamis_filter *first; /* that `seen` was before it was made anew; else NULL */
    tamis_filter *told;  /* --repeated: those printed; else NULL */
    bool reopened;       /* `seen` is from an earlier run, */
    bool counts;         /* and would count what comes again */
    bool counting;
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
    double rate;           /* 0: not given */
    uint64_t seed;
    bool has_seed, repeated, counting;
};

/* ---- emit */

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

/* Turns "certainly new" into "seen again, for the first time". */
static void choose_repeated(struct uniq *u, const uint64_t *hashes, bool *chosen, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool first = false;
        if (!chosen[i] && u->status == TAMIS_OK) {
            u->status = tamis_add_hash(u->told, hashes[i], &first);
        }
        chosen[i] = first;
    }
}

/* ---- the size of the filter */

/* NULL if there is no memory; dies if no filter has such a rate. */
static tamis_filter *uniq_create(const struct uniq_request *r, uint64_t capacity) {
    const struct key_options *keys = &r->common.keys;
    tamis_options want = TAMIS_OPTIONS_INIT;
    tamis_filter *filter;
    want.kind = TAMIS_GROWING;
    want.capacity = capacity;
    want.rate = r->rate > 0 ? r->rate : UNIQ_RATE;
    want.seed = r->seed;
    want.secret = key_options_secret(keys);
    want.form = keys->form;
    if (want.form.flags & TAMIS_KEY_PREHASHED) want.hasher = TAMIS_HASH_NONE;
    const tamis_status status = tamis_create(&want, &filter);
    if (status == TAMIS_E_TOO_FINE)
        die("-p %s is lower than can be reached", text_exact(r->rate).at);
    return status == TAMIS_OK ? filter : NULL;
}

/* The capacity of the first stage, if the rest of the inputs is like their beginning.  Stages
 * double, so that 1, 3, 7, ... times the first one holds all. */
static uint64_t first_stage(const struct uniq *u) {
    const double samples =
        u->total_bytes != 0 ? (double)u->total_bytes / (double)u->bytes : PIPE_SAMPLES;
    const double expected = 1.03 * samples * (double)u->fresh;
    double stages = 1;
    while (expected / stages > (double)FIRST_STAGE_MOST) stages = 2 * stages + 1;
    return (uint64_t)(expected / stages) + 1;
}

/* Makes the filter anew with the right size and puts the sample in.  If there is no memory the
 * old one goes on growing. */
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

/* Puts in what is not there yet.  A kind that can remove would take each repeat as one key more: a
 * cuckoo filter is full of them soon, and what was seen often would have to be removed as often. */
static tamis_status see(const struct uniq *u, const uint64_t *hashes, size_t count, bool *fresh) {
    tamis_status status = TAMIS_OK;
    if (!u->counts) return tamis_add_hash_batch(u->seen, hashes, count, fresh, NULL);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++) {
        fresh[i] = !tamis_contains_hash(u->seen, hashes[i]);
        if (fresh[i]) status = tamis_add_hash(u->seen, hashes[i], NULL);
    }
    return status;
}

static bool uniq_emit(void *context, struct block *block, uint64_t before) {
    struct uniq *u = (struct uniq *)context;
    bool chosen[BATCH_KEYS];
    (void)before;
    for (size_t at = 0; at < block->records && u->status == TAMIS_OK; at += BATCH_KEYS) {
        const size_t left = block->records - at, count = left < BATCH_KEYS ? left : BATCH_KEYS;
        u->status = see(u, block->hashes + at, count, chosen);
        if (u->status != TAMIS_OK) break;
        for (size_t i = 0; i < count; i++) u->fresh += chosen[i];
        if (u->told != NULL) choose_repeated(u, block->hashes + at, chosen, count);
        for (size_t i = 0; i < count; i++) u->printed += chosen[i];
        if (!u->counting) print_chosen(u, block, at, chosen, count);
    }
    u->records += block->records;
    if (u->sampling && u->status == TAMIS_OK) take_sample(u, block);
    if (block->pause) output_flush(&u->output);
    return u->status == TAMIS_OK && u->output.error == 0;
}

/* ---- the filter of what was seen */

static void uniq_parse(struct args *args, struct uniq_request *r) {
    for (int id; (id = args_next(args)) != ARG_END;) {
        switch (id) {
            case ARG_OPERAND:
                words_push(&r->common.inputs, args->value);
                break;
            case OPT_RATE:
                r->rate = rate_of("-p", args->value);
                break;
            case OPT_REPEATED:
                r->repeated = true;
                break;
            case OPT_COUNT:
                r->counting = true;
                break;
            case OPT_SAVE:
                r->common.file = args->value;
                break;
            case OPT_SEED:
                r->seed = number_of("--seed", args->value);
                r->has_seed = true;
                break;
            default:
                request_take(&r->common, id, args);
        }
    }
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
        die("'%s' is a %s filter, which takes no more keys: " NEW_FILE, file,
            tamis_kind_name(facts->kind));
    }
    if (!facts->prehashed) {
        die("'%s' is a filter of another system, in which uniq cannot keep what it sees: " NEW_FILE,
            file);
    }
    /* Written in another way it may differ in the last bit: 1/3e5, 0.00000333333333333333. */
    if (r->rate > 0 && fabs(r->rate - facts->rate_target) > 1e-9 * r->rate) {
        die("'%s' was made with -p %s, and -p %s contradicts that: leave it out", file,
            text_exact(facts->rate_target).at, text_exact(r->rate).at);
    }
    /* With a secret there is no seed. */
    if (r->has_seed && !facts->keyed && r->seed != facts->seed) {
        die("'%s' was made with --seed %llu, and --seed %llu contradicts that: leave it out", file,
            (unsigned long long)facts->seed, (unsigned long long)r->seed);
    }
    return filter;
}

/* A filter that was not made by uniq may be over its capacity, or promise nothing: then its rate is
 * what it is now.  New ones are let through at 1 less that rate, or at more before: so many were
 * not, at most, while these were, and until the next one will be; and not more than were dropped.
 */
static double wrongly_dropped(const struct uniq *u, double rate, bool promised) {
    const double fresh = (double)u->fresh, dropped = (double)(u->records - u->fresh);
    if (promised) return fresh * rate;
    return rate < 1 ? fmin((fresh + 1) * rate / (1 - rate), dropped) : dropped;
}

static void uniq_summary(const struct uniq *u, const tamis_facts *facts) {
    const bool promised = facts->rate_target > 0 && !facts->over_capacity;
    const double rate = promised ? facts->rate_target : facts->rate_now;
    const double wrong = wrongly_dropped(u, rate, promised);
    say("uniq: %s, %s new, %s seen before; expect %s%s wrongly dropped (rate %s); %s",
        text_things(u->records, "record").at, text_count(u->fresh).at,
        text_count(u->records - u->fresh).at, wrong > 0 ? "at most " : "", text_few(wrong).at,
        text_rate(rate).at, text_bytes(facts->table_bytes).at);
}

static void uniq_start(struct uniq *u, const struct uniq_request *r) {
    const struct key_options *keys = &r->common.keys;
    u->hashing.form = keys->form;
    u->hashing.delimiter = keys->delimiter;
    if (r->common.file != NULL && access(r->common.file, F_OK) == 0) {
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
    if (r->repeated) u->told = uniq_create(r, 0);
    if (u->seen == NULL || (r->repeated && u->told == NULL)) die("out of memory");
    u->counting = r->counting;
    output_open(&u->output, STDOUT_FILENO);
}

static int uniq_main(struct args *args) {
    struct uniq_request r = {.common = REQUEST_INIT};
    r.common.advice = NEW_FILE;
    struct uniq u = {.request = &r};
    struct reader reader;
    uniq_parse(args, &r);
    reader_open(&reader, &r.common.inputs, r.common.keys.delimiter);
    if (!r.counting) reader_check_output(&reader);
    u.total_bytes = reader.total_bytes;
    uniq_start(&u, &r);

    const struct job job = {
        .work = work_hashes_and_starts, .emit = uniq_emit, .context = &u, .output = &u.output};
    progress_start(&r.common.run, "uniq", reader.total_bytes, !u.counting);
    pipeline_run(&reader, &job, run_options_threads(&r.common.run));
    if (u.status != TAMIS_OK) die("cannot go on: %s", tamis_status_text(u.status));
    if (u.counting) {
        output_number(&u.output, u.printed);
        output_text(&u.output, "\n");
    }
    output_close(&u.output, "standard output");

    /* What the reader of our output has not taken must be shown again by the next run. */
    const char *save = u.output.error == 0 ? r.common.file : NULL;
    const tamis_facts facts = filter_facts(u.seen);
    if (save != NULL) progress_phase("writing");
    if (save != NULL && u.reopened) {
        request_save(&r.common, u.seen);
    } else if (save != NULL && !filter_save_new(u.seen, save)) {
        die("'%s' was made by another run meanwhile and is left as it is: what this one has seen "
            "is not in it",
            save);
    }
    progress_end();
    if (!r.common.run.quiet && u.output.error == 0) uniq_summary(&u, &facts);
    tamis_free(u.seen);
    tamis_free(u.first);
    tamis_free(u.told);
    free(u.sample);
    words_free(&r.common.inputs);
    return filter_capacity(save != NULL ? save : "the filter", &facts);
}

const struct command command_uniq = {
    "uniq",
    "print each record the first time it is seen",
    "[-p RATE] [--repeated] [-c] [--save FILE] [KEYS] [INPUT]...",
    "Prints each record (line) of the inputs, or of standard input, the first time it is seen,\n"
    "in input order.  Needs no sorting and a few bytes per record.  At the rate RATE a new\n"
    "record is taken for one seen before and dropped.",
    {uniq_options, options_keys, options_running, NULL},
    "  cat *.log | tamis uniq > once.log\n"
    "  tamis uniq --save seen.tamis < today.txt      what no earlier run has seen\n"
    "  tamis uniq --repeated names.txt               what occurs more than once\n"
    "  tamis uniq -t , -F 1 users.csv                the first line of each user\n"
    "  tamis uniq -c words.txt                       how many different ones",
    uniq_main};
