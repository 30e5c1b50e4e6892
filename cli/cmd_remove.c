/* cmd_remove.c - tamis remove: keys out of a filter file (counting, cuckoo)
 *
 * Each record removes one occurrence.  An absent key is reported; the others are removed. */
#include "numbers.h"
#include "request.h"

struct removal {
    struct hashing hashing;
    const struct reader *reader;
    tamis_filter *filter;
    tamis_status status;
    uint64_t removed, absent;
    char first_absent[PLACE_MAX];
};

static tamis_status remove_batch(const struct removal *r, struct batch *batch) {
    if (r->hashing.by_hash) {
        return tamis_remove_hash_batch(r->filter, batch->hash, batch->count, batch->answer);
    }
    return tamis_remove_batch(r->filter, batch->keys, batch->lengths, batch->count, batch->answer);
}

/* Removes are rare and their order matters: serially. */
static bool remove_emit(void *context, struct block *block, struct batch *batch) {
    struct removal *r = (struct removal *)context;
    bool good = true;
    for (size_t at = 0; good && batch_next(batch, block, r->hashing.delimiter, &at);) {
        good = hash_batch(&r->hashing, block, batch);
        const tamis_status status = remove_batch(r, batch);
        if (status != TAMIS_OK && status != TAMIS_E_ABSENT) r->status = status;
        for (size_t i = 0; r->status == TAMIS_OK && i < batch->count; i++) {
            r->removed += batch->answer[i];
            if (batch->answer[i] || r->absent++ != 0) continue;
            record_place(r->reader, block, block->records + i, r->first_absent);
        }
        good = good && r->status == TAMIS_OK;
        block->records += batch->count;
    }
    return r->status == TAMIS_OK;
}

static void remove_summary(const struct request *request, const struct removal *r,
                           const tamis_facts *facts, bool brief, uint64_t written) {
    const struct text removed = text_plural(r->removed, "key");
    if (!brief) {
        say("%s: removed %s; now %s, expected rate %s", request->file, removed.at,
            filter_distinct_keys(facts).at, text_fpr(facts->fpr_now).at);
    } else {
        say("%s: removed %s, in place: %s written of %s", request->file, removed.at,
            text_bytes(written).at, text_bytes(facts->encoded_bytes).at);
    }
}

static int remove_main(struct args *args) {
    struct request request = REQUEST_INIT;
    request_parse(&request, args, NO_BINDINGS);
    request_check(&request);

    struct reader reader;
    tamis_facts facts;
    struct removal r = {.reader = &reader};
    r.filter = request_open_change(&request, "remove", &facts);
    if (!(facts.caps & TAMIS_CAN_REMOVE)) {
        char kinds[TEXT_MAX];
        expand_text("{removable}", NULL, kinds, sizeof kinds);
        die("'%s' is a %s filter, which does not support remove: build one with -k %s",
            request.file, tamis_kind_name(facts.kind), kinds);
    }
    r.hashing = request_hashing(&request, request.file, r.filter, &facts);
    reader_open(&reader, &request.inputs, request.keys.delimiter);
    const struct job job = {
        .emit = remove_emit, .context = &r, .hints = !request.run.quiet, .form = &r.hashing.form};
    progress_start(&request.run, "remove", reader.total_bytes, false);
    pipeline_run(&reader, &job, 1);
    if (r.status != TAMIS_OK) filter_die(request.file, r.status);

    progress_phase("writing");
    const uint64_t written = r.removed != 0 ? request_save(&request, r.filter) : 0;
    progress_end();
    bool brief;
    facts = filter_facts_changed(r.filter, written, &brief);
    if (!request.run.quiet) remove_summary(&request, &r, &facts, brief, written);
    if (r.absent != 0) {
        warn("%s %s not in '%s'; the first is %s", text_count(r.absent).at,
             r.absent == 1 ? "key was" : "keys were", request.file, r.first_absent);
    }
    tamis_free(r.filter);
    words_free(&request.inputs);
    return r.absent != 0 ? EXIT_NONE : EXIT_DONE;
}

const struct command command_remove = {
    .name = "remove",
    .summary = "remove keys from a filter",
    .usage = "FILE [KEYOPTS] [INPUT...]",
    .about =
        "Removes the records (lines) of the inputs, or of standard input, from the filter "
        "FILE, one occurrence each. Remove only keys that were added: removing a false "
        "positive removes another key. Kinds that support remove: {removable}.",
    .details =
        "`tamis build` adds a key once; each `tamis add` adds another occurrence. A key that "
        "is not there is reported, and the others are removed. The file is replaced "
        "atomically; a few keys are removed from a large `counting` filter in place.",
    .options = {OPT_QUIET},
    .groups = FILTER_OPTIONS | KEY_OPTIONS | RUN_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "all keys were removed",
              [EXIT_NONE] = "a key was not there; the others were removed",
              [EXIT_ERROR] = "error; the file is unchanged",
              [EXIT_CHANGED] =
                  "keys were removed, but a step after that failed: do not repeat the command"},
    .examples =
        "  tamis remove live.tamis gone.txt\n"
        "  echo \"$id\" | tamis remove -q live.tamis\n",
    .see = "add build",
    .run = remove_main};
