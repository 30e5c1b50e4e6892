/* cmd_verify.c - tamis verify: checks the file and looks up all keys */
#include <unistd.h>

#include <string.h>

#include "form.h"
#include "numbers.h"
#include "request.h"
#include "term.h"

struct verification {
    struct hashing hashing;
    const struct reader *reader;
    uint64_t missing;
    char first[PLACE_MAX + 200];
};

/* Keeps the records that are missing as spans. */
static void verify_work(const void *context, struct block *block, struct batch *batch) {
    const struct verification *v = (const struct verification *)context;
    bool good = true;
    for (size_t at = 0; good && batch_next(batch, block, v->hashing.delimiter, &at);) {
        good = hash_batch(&v->hashing, block, batch);
        const size_t found = query_batch(&v->hashing, batch);
        for (size_t i = 0; found < batch->count && i < batch->count; i++) {
            const struct span span = {batch->start[i], batch->record_length[i], block->records + i,
                                      0};
            if (!batch->answer[i]) block_add_span(block, span);
        }
        block->records += batch->count;
    }
}

static bool verify_emit(void *context, struct block *block, struct batch *batch) {
    struct verification *v = (struct verification *)context;
    (void)batch;
    if (v->missing == 0 && block->span_count > 0) {
        const struct span *span = &block->spans[0];
        char record[120], place[PLACE_MAX];
        record_text(block->data + span->start, span->length, record, sizeof record);
        record_place(v->reader, block, span->record, place);
        snprintf(v->first, sizeof v->first, "'%s' (%s)", record, place);
    }
    v->missing += block->span_count;
    return true;
}

static int verify_main(struct args *args) {
    struct request r = REQUEST_INIT;
    request_parse(&r, args, NO_BINDINGS);
    request_check(&r);

    struct reader reader;
    progress_opening(&r.run, "verify");
    tamis_filter *filter = request_open(&r, r.file, OPEN_MAPPED);
    const tamis_facts facts = filter_facts_brief(filter);
    struct verification v = {.hashing = request_hashing(&r, r.file, filter, &facts),
                             .reader = &reader};
    const char *sums =
        strcmp(facts.format, "tamis") == 0 ? "checksums match" : "it has no checksums";
    if (r.inputs.count == 0 && term_is(stdin)) {
        if (!r.run.quiet) say("%s: %s; no keys were given to look for", r.file, sums);
        tamis_free(filter);
        return EXIT_DONE;
    }
    reader_open(&reader, &r.inputs, r.keys.delimiter);
    const struct job job = {.work = verify_work,
                            .emit = verify_emit,
                            .context = &v,
                            .hints = !r.run.quiet,
                            .form = &v.hashing.form};
    progress_start(&r.run, "verify", reader.total_bytes, false);
    const struct totals totals = pipeline_run(&reader, &job, run_options_threads(&r.run));
    progress_end();
    tamis_free(filter);
    words_free(&r.inputs);
    if (v.missing != 0) {
        warn("'%s' misses %s of %s; the first is %s", r.file, text_count(v.missing).at,
             text_plural(totals.records, "key").at, v.first);
        return EXIT_NONE;
    }
    if (!r.run.quiet) {
        say("%s: %s, and %s%s %s in it", r.file, sums, totals.records == 1 ? "" : "all ",
            text_plural(totals.records, "key").at, totals.records == 1 ? "is" : "are");
    }
    return EXIT_DONE;
}

const struct command command_verify = {
    .name = "verify",
    .summary = "verify that a filter has all of its keys",
    .usage = "FILE [KEYOPTS] [INPUT...]",
    .about =
        "Verifies the checksums of the filter FILE and that every record (line) of the inputs, "
        "or of standard input, is in it. Names the first missing key and counts them.",
    .details =
        "Without an input, and with a terminal as standard input, only the checksums are "
        "verified.",
    .options = {OPT_QUIET},
    .groups = FILTER_OPTIONS | KEY_OPTIONS | RUN_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "the file is intact and no key is missing",
              [EXIT_NONE] = "a key is missing",
              [EXIT_ERROR] = "error, such as a damaged file"},
    .examples =
        "  tamis verify seen.tamis urls.txt\n"
        "  tamis verify seen.tamis < /dev/null     # only the checksums\n",
    .see = "info measure",
    .run = verify_main};
