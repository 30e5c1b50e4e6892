/* cmd_verify.c - tamis verify: proof that a file is whole and misses none of its keys */
#include <unistd.h>

#include <string.h>

#include "numbers.h"
#include "request.h"
#include "term.h"

static const struct option_spec verify_options[] = {
    {OPT_FROM, '\0', "from", "FORMAT", "the filter's format, where its content does not tell"},
    {OPT_PART, '\0', "part", "NAME", "which filter of a file that holds several: see 'tamis info'"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
    OPTIONS_END};

struct verification {
    const struct reader *reader;
    const tamis_filter *filter;
    tamis_key_form form;
    uint8_t delimiter;
    bool by_hash;
    uint32_t key_bytes; /* as in tamis_facts */
    uint64_t missing;
    char first[NAME_SHOWN + 300];
};

/* Keeps the records that are missing as spans. */
static void verify_work(const void *context, struct block *block, struct batch *batch) {
    const struct verification *v = (const struct verification *)context;
    struct record_error error = {false, 0, ""};
    bool good = true;
    for (size_t at = 0; good && batch_next(batch, block, v->delimiter, &at);) {
        size_t found;
        if (v->by_hash) {
            good = batch_hashes(batch, &v->form, v->filter, &error);
            found = tamis_contains_hash_batch(v->filter, batch->hash, batch->count, batch->answer);
        } else {
            good = batch_keys_of(batch, &v->form, v->key_bytes, &error);
            found = tamis_contains_batch(v->filter, batch->keys, batch->lengths, batch->count,
                                         batch->answer);
        }
        if (!good) block_error(block, &error, block->records);
        for (size_t i = 0; found < batch->count && i < batch->count; i++) {
            const struct span span = {batch->start[i], batch->record_length[i], block->records + i,
                                      0};
            if (!batch->answer[i]) block_add_span(block, span);
        }
        block->records += batch->count;
    }
}

static bool verify_emit(void *context, struct block *block, uint64_t before) {
    struct verification *v = (struct verification *)context;
    if (v->missing == 0 && block->span_count > 0) {
        const struct span *span = &block->spans[0];
        char record[120];
        record_text(block->data + span->start, span->length, record, sizeof record);
        snprintf(v->first, sizeof v->first, "'%s' ('%.*s', %s %llu)", record, NAME_SHOWN,
                 input_name(v->reader, block->input), v->delimiter == '\n' ? "line" : "record",
                 (unsigned long long)(before + span->record + 1));
    }
    v->missing += block->span_count;
    return true;
}

static int verify_main(struct args *args) {
    struct request r = REQUEST_INIT;
    for (int id; (id = args_next(args)) != ARG_END;) request_take(&r, id, args);
    request_check(&r);

    struct reader reader;
    progress_opening(&r.run, "verify");
    tamis_filter *filter = request_open(&r, r.file, OPEN_MAPPED);
    const tamis_facts facts = filter_facts_brief(filter);
    struct verification v = {.reader = &reader, .filter = filter, .delimiter = r.keys.delimiter};
    v.form = key_form_merge(&facts, &r.keys, r.file);
    v.by_hash = facts.prehashed;
    v.key_bytes = facts.key_bytes;
    const char *sums =
        strcmp(facts.format, "tamis") == 0 ? "checksums match" : "it has no checksums";
    if (r.inputs.count == 0 && term_is(stdin)) {
        if (!r.run.quiet) say("%s: %s; no keys were given to look for", r.file, sums);
        tamis_free(filter);
        return EXIT_DONE;
    }
    reader_open(&reader, &r.inputs, v.delimiter);
    const struct job job = {.work = verify_work, .emit = verify_emit, .context = &v};
    progress_start(&r.run, "verify", reader.total_bytes, false);
    const struct totals totals = pipeline_run(&reader, &job, run_options_threads(&r.run));
    progress_end();
    tamis_free(filter);
    words_free(&r.inputs);
    if (v.missing != 0) {
        warn("'%s' misses %s of %s; the first is %s", r.file, text_count(v.missing).at,
             text_things(totals.records, "key").at, v.first);
        return EXIT_NONE;
    }
    if (!r.run.quiet) {
        say("%s: %s, and %s%s %s in it", r.file, sums, totals.records == 1 ? "" : "all ",
            text_things(totals.records, "key").at, totals.records == 1 ? "is" : "are");
    }
    return EXIT_DONE;
}

const struct command command_verify = {
    "verify",
    "prove that a filter misses none of its keys",
    "FILE [KEYS] [INPUT]...",
    "Compares the filter FILE with its checksums and looks for every record (line) of the\n"
    "inputs, or of standard input.  Exits with 1, and names the first, if one is missing.",
    {verify_options, options_keys, options_running, NULL},
    "  tamis verify seen.tamis urls.txt\n"
    "  tamis verify seen.tamis < /dev/null       the checksums alone",
    verify_main};
