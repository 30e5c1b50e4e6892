/* cmd_add.c - tamis add: more keys into a filter file
 *
 * A crash at any moment leaves the old file or the new one: tamis_commit replaces the file by a
 * rename, or changes a few pages of a large one in place, with a journal. */
#include "numbers.h"
#include "request.h"

struct add {
    struct hashing hashing; /* first: the pipeline's work reads it */
    tamis_filter *filter;
    tamis_status status;
    uint64_t added, fresh;
    uint64_t keys; /* in the filter, for the progress line */
};

static void add_batch(struct add *a, const uint64_t *hashes, const struct batch *batch,
                      size_t count) {
    bool fresh[BATCH_KEYS];
    size_t done = 0;
    if (a->hashing.by_hash) {
        a->status = tamis_add_hash_batch(a->filter, hashes, count, fresh, &done);
    } else {
        a->status = tamis_add_batch(a->filter, batch->keys, batch->lengths, count, fresh, &done);
    }
    a->added += done;
    for (size_t i = 0; i < done; i++) a->fresh += fresh[i], a->keys += fresh[i];
}

static bool add_hashes(void *context, struct block *block, struct batch *batch) {
    struct add *a = (struct add *)context;
    (void)batch;
    for (size_t i = 0; a->status == TAMIS_OK && i < block->records; i += BATCH_KEYS) {
        const size_t left = block->records - i;
        add_batch(a, block->hashes + i, NULL, left < BATCH_KEYS ? left : BATCH_KEYS);
    }
    return a->status == TAMIS_OK;
}

/* For filters that need the bytes: serially. */
static bool add_bytes(void *context, struct block *block, struct batch *batch) {
    struct add *a = (struct add *)context;
    bool good = true;
    for (size_t at = 0; good && batch_next(batch, block, a->hashing.delimiter, &at);) {
        good = hash_batch(&a->hashing, block, batch);
        add_batch(a, NULL, batch, batch->count);
        good = good && a->status == TAMIS_OK;
        block->records += batch->count;
    }
    return a->status == TAMIS_OK;
}

static _Noreturn void add_failed(const struct request *r, const struct add *a,
                                 const tamis_facts *facts) {
    /* A key that is repeated fills its few slots long before the table is full. */
    if (a->status == TAMIS_E_FULL && facts->adds + a->added < facts->capacity / 10 * 9) {
        die("'%s' has no slot for another copy of a key that is repeated too often (after %s keys "
            "of the input), and was not changed; remove the repeats first, with 'tamis uniq'",
            r->file, text_count(a->added).at);
    }
    if (a->status == TAMIS_E_FULL) {
        die("'%s' is full (after %s keys of the input), and was not changed; build one for more "
            "than %s keys",
            r->file, text_count(a->added).at, text_count(facts->capacity).at);
    }
    filter_die(r->file, a->status);
}

static void add_summary(const struct request *r, const struct add *a, const tamis_facts *facts,
                        bool brief, uint64_t written) {
    const struct text added = text_plural(a->added, "key"), fresh = text_count(a->fresh);
    if (!brief) {
        say("%s: added %s, %s of them new; now %s, %s, expected rate %s", r->file, added.at,
            fresh.at, filter_distinct_keys(facts).at, text_bytes(facts->encoded_bytes).at,
            text_fpr(facts->fpr_now).at);
    } else {
        say("%s: added %s, %s of them new, in place: %s written of %s", r->file, added.at, fresh.at,
            text_bytes(written).at, text_bytes(facts->encoded_bytes).at);
    }
}

static int add_main(struct args *args) {
    struct request r = REQUEST_INIT;
    request_parse(&r, args, NO_BINDINGS);
    request_check(&r);

    tamis_facts facts;
    struct add a = {.filter = request_open_change(&r, "add", &facts)};
    if (!(facts.caps & TAMIS_CAN_ADD)) {
        die("'%s' is a %s filter: %s", r.file, tamis_kind_name(facts.kind),
            tamis_status_text(TAMIS_E_STATIC));
    }
    a.hashing = request_hashing(&r, r.file, a.filter, &facts);
    struct reader reader;
    reader_open(&reader, &r.inputs, r.keys.delimiter);
    a.keys = facts.adds;
    const struct job job = {.work = a.hashing.by_hash ? work_hashes : NULL,
                            .emit = a.hashing.by_hash ? add_hashes : add_bytes,
                            .context = &a,
                            .capacity = facts.capacity,
                            .hints = !r.run.quiet,
                            .form = &a.hashing.form,
                            .keys = &a.keys};
    progress_start(&r.run, "add", reader.total_bytes, false);
    pipeline_run(&reader, &job, a.hashing.by_hash ? run_options_threads(&r.run) : 1);
    if (a.status != TAMIS_OK) add_failed(&r, &a, &facts);

    progress_phase("writing");
    const uint64_t written = a.added != 0 ? request_save(&r, a.filter) : 0;
    progress_end();
    bool brief;
    facts = filter_facts_changed(a.filter, written, &brief);
    if (!r.run.quiet) add_summary(&r, &a, &facts, brief, written);
    tamis_free(a.filter);
    words_free(&r.inputs);
    return filter_capacity(r.file, &facts);
}

const struct command command_add = {
    .name = "add",
    .summary = "add keys to a filter",
    .usage = "FILE [KEYOPTS] [INPUT...]",
    .about =
        "Adds the records (lines) of the inputs, or of standard input, to the filter FILE. The "
        "file is replaced atomically; a few keys are added to a large bloom, block or "
        "counting filter in place. Kinds that support add: {addable}.",
    .options = {OPT_QUIET},
    .groups = FILTER_OPTIONS | KEY_OPTIONS | RUN_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "the keys were added",
              [EXIT_ERROR] = "error, such as a full cuckoo filter; the file is unchanged",
              [EXIT_OVER] = "the keys were added, and the filter is over its capacity",
              [EXIT_CHANGED] =
                  "the keys were added, but a step after that failed: do not repeat the command"},
    .examples =
        "  tamis build -n 10M -o live.tamis urls.txt    # a filter with room\n"
        "  tamis add live.tamis today.txt\n"
        "  echo \"$url\" | tamis add -q live.tamis\n",
    .see = "build remove",
    .run = add_main};
