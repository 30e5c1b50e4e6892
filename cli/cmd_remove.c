/* cmd_remove.c - tamis remove: keys out of a filter file (counting, cuckoo)
 *
 * Each record takes out one occurrence.  A key that is not there is told, and the others are
 * removed all the same. */
#include "numbers.h"
#include "request.h"

static const struct option_spec remove_options[] = {
    {OPT_FROM, '\0', "from", "FORMAT", "the filter's format, where its content does not tell"},
    {OPT_PART, '\0', "part", "NAME", "which filter of a file that holds several: see 'tamis info'"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
    OPTIONS_END};

struct removal {
    const struct reader *reader;
    tamis_filter *filter;
    tamis_key_form form;
    uint8_t delimiter;
    bool by_hash;
    tamis_status status;
    uint64_t removed, absent;
    char first_absent[NAME_SHOWN + 100]; /* where it was */
};

static void note_absent(struct removal *r, const struct block *block, uint64_t record) {
    if (r->absent++ != 0) return;
    snprintf(r->first_absent, sizeof r->first_absent, "'%.*s', %s %llu", NAME_SHOWN,
             input_name(r->reader, block->input), r->delimiter == '\n' ? "line" : "record",
             (unsigned long long)record + 1);
}

/* Removing is rare and its order matters: everything in turn. */
static bool remove_emit(void *context, struct block *block, uint64_t before) {
    struct removal *r = (struct removal *)context;
    struct record_error error = {false, 0, ""};
    struct batch batch;
    bool good = true;
    batch_start(&batch);
    for (size_t at = 0; good && batch_next(&batch, block, r->delimiter, &at);) {
        tamis_status status;
        if (r->by_hash) {
            good = batch_hashes(&batch, &r->form, r->filter, &error);
            status = tamis_remove_hash_batch(r->filter, batch.hash, batch.count, batch.answer);
        } else {
            good = batch_keys(&batch, &r->form, &error);
            status =
                tamis_remove_batch(r->filter, batch.keys, batch.lengths, batch.count, batch.answer);
        }
        if (!good) block_error(block, &error, block->records);
        if (status != TAMIS_OK && status != TAMIS_E_ABSENT) r->status = status;
        for (size_t i = 0; r->status == TAMIS_OK && i < batch.count; i++) {
            r->removed += batch.answer[i];
            if (!batch.answer[i]) note_absent(r, block, before + block->records + i);
        }
        good = good && r->status == TAMIS_OK;
        block->records += batch.count;
    }
    batch_free(&batch);
    return r->status == TAMIS_OK;
}

static void remove_summary(const struct request *request, const struct removal *r,
                           const tamis_facts *facts, bool brief, uint64_t written) {
    const struct text removed = text_count(r->removed);
    const char *keys = r->removed == 1 ? "key" : "keys";
    if (!brief) {
        say("%s: removed %s %s; now %s, expected rate %s", request->file, removed.at, keys,
            filter_distinct_keys(facts).at, text_rate(facts->rate_now).at);
    } else {
        say("%s: removed %s %s, in place: %s written of %s", request->file, removed.at, keys,
            text_bytes(written).at, text_bytes(facts->encoded_bytes).at);
    }
}

static int remove_main(struct args *args) {
    struct request request = REQUEST_INIT;
    for (int id; (id = args_next(args)) != ARG_END;) request_take(&request, id, args);
    request_check(&request);

    struct reader reader;
    struct removal r = {.reader = &reader, .delimiter = request.keys.delimiter};
    target_apart(request.file, &request.inputs, &request.keys); /* as in `add` */
    progress_opening(&request.run, "remove");
    r.filter = request_open(&request, request.file, OPEN_CHANGE);
    target_check(request.file, true, &request.inputs, &request.keys);
    tamis_facts facts = filter_facts_brief(r.filter);
    if (!(facts.caps & TAMIS_CAN_REMOVE)) {
        die("'%s' is a %s filter, and %s; counting and cuckoo can", request.file,
            tamis_kind_name(facts.kind), "keys cannot be removed from it");
    }
    r.form = key_form_merge(&facts, &request.keys, request.file);
    r.by_hash = facts.prehashed;
    reader_open(&reader, &request.inputs, r.delimiter);
    const struct job job = {.work = work_nothing, .emit = remove_emit, .context = &r};
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
    "remove",
    "remove keys from a filter",
    "FILE [KEYS] [INPUT]...",
    "Removes the records (lines) of the inputs, or of standard input, from the filter FILE, one\n"
    "occurrence each.  Remove only what was added: a key that was not, but looks as if, takes\n"
    "another's place.  Exits with 1 if a key was not there; the others are removed all the\n"
    "same.  Kinds that remove: counting, cuckoo.",
    {remove_options, options_keys, options_running, NULL},
    "  tamis remove live.tamis gone.txt\n"
    "  echo \"$id\" | tamis remove -q live.tamis",
    remove_main};
