/* cmd_add.c - tamis add: more keys into a filter file
 *
 * The library does it so that a crash at any moment leaves the old file or the new one, whole: it
 * writes a new one and renames it, or changes a few pieces of a large one in place, with a journal
 * (tamis_commit). */
#include "numbers.h"
#include "request.h"

static const struct option_spec add_options[] = {
    {OPT_FROM, '\0', "from", "FORMAT", "the filter's format, where its content does not tell"},
    {OPT_PART, '\0', "part", "NAME", "which filter of a file that holds several: see 'tamis info'"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
    OPTIONS_END};

struct add {
    struct hashing hashing; /* first: the pipeline's work reads it */
    tamis_filter *filter;
    bool by_hash;
    tamis_status status;
    uint64_t added, fresh;
    uint64_t keys; /* in the filter by now, for the progress line */
};

static void add_batch(struct add *a, const uint64_t *hashes, const struct batch *batch,
                      size_t count) {
    bool fresh[BATCH_KEYS];
    size_t done = 0;
    if (a->by_hash) {
        a->status = tamis_add_hash_batch(a->filter, hashes, count, fresh, &done);
    } else {
        a->status = tamis_add_batch(a->filter, batch->keys, batch->lengths, count, fresh, &done);
    }
    a->added += done;
    for (size_t i = 0; i < done; i++) a->fresh += fresh[i], a->keys += fresh[i];
}

static bool add_hashes(void *context, struct block *block, uint64_t before) {
    struct add *a = (struct add *)context;
    (void)before;
    for (size_t i = 0; a->status == TAMIS_OK && i < block->records; i += BATCH_KEYS) {
        const size_t left = block->records - i;
        add_batch(a, block->hashes + i, NULL, left < BATCH_KEYS ? left : BATCH_KEYS);
    }
    return a->status == TAMIS_OK;
}

/* For filters that need the bytes: everything in turn. */
static bool add_bytes(void *context, struct block *block, uint64_t before) {
    struct add *a = (struct add *)context;
    struct record_error error = {false, 0, ""};
    struct batch batch;
    bool good = true;
    (void)before;
    batch_start(&batch);
    for (size_t at = 0; good && batch_next(&batch, block, a->hashing.delimiter, &at);) {
        good = batch_keys(&batch, &a->hashing.form, &error);
        if (!good) block_error(block, &error, block->records);
        add_batch(a, NULL, &batch, batch.count);
        good = good && a->status == TAMIS_OK;
        block->records += batch.count;
    }
    batch_free(&batch);
    return a->status == TAMIS_OK;
}

static _Noreturn void add_failed(const struct request *r, const struct add *a,
                                 const tamis_facts *facts) {
    /* A key that comes again and again fills its few places long before the table is full. */
    if (a->status == TAMIS_E_FULL && facts->adds + a->added < facts->capacity / 10 * 9) {
        die("'%s' has no place for yet another copy of a key that comes too often: of the keys "
            "given "
            "%s would fit, and it was left as it was; drop the repeats first, with 'tamis uniq'",
            r->file, text_count(a->added).at);
    }
    if (a->status == TAMIS_E_FULL) {
        die("'%s' is full: of the keys given %s would still fit, and it was left as it was; build "
            "one for more than %s keys",
            r->file, text_count(a->added).at, text_count(facts->capacity).at);
    }
    filter_die(r->file, a->status);
}

static void add_summary(const struct request *r, const struct add *a, const tamis_facts *facts,
                        bool brief, uint64_t written) {
    const struct text added = text_count(a->added), fresh = text_count(a->fresh);
    const char *keys = a->added == 1 ? "key" : "keys";
    if (!brief) {
        say("%s: added %s %s, %s of them new; now %s, %s, expected rate %s", r->file, added.at,
            keys, fresh.at, filter_distinct_keys(facts).at, text_bytes(facts->encoded_bytes).at,
            text_rate(facts->rate_now).at);
    } else {
        say("%s: added %s %s, %s of them new, in place: %s written of %s", r->file, added.at, keys,
            fresh.at, text_bytes(written).at, text_bytes(facts->encoded_bytes).at);
    }
}

static int add_main(struct args *args) {
    struct request r = REQUEST_INIT;
    for (int id; (id = args_next(args)) != ARG_END;) request_take(&r, id, args);
    request_check(&r);

    target_apart(r.file, &r.inputs, &r.keys); /* opening it may remove an old journal */
    progress_opening(&r.run, "add");
    struct add a = {.filter = request_open(&r, r.file, OPEN_CHANGE)};
    target_check(r.file, true, &r.inputs, &r.keys);
    tamis_facts facts = filter_facts_brief(a.filter);
    if (!(facts.caps & TAMIS_CAN_ADD)) {
        die("'%s' is a %s filter: %s", r.file, tamis_kind_name(facts.kind),
            tamis_status_text(TAMIS_E_STATIC));
    }
    a.hashing.filter = a.filter;
    a.hashing.form = key_form_merge(&facts, &r.keys, r.file);
    a.hashing.delimiter = r.keys.delimiter;
    a.by_hash = facts.prehashed;

    struct reader reader;
    reader_open(&reader, &r.inputs, r.keys.delimiter);
    a.keys = facts.adds;
    const struct job job = {.work = a.by_hash ? work_hashes : work_nothing,
                            .emit = a.by_hash ? add_hashes : add_bytes,
                            .context = &a,
                            .capacity = facts.capacity,
                            .keys = &a.keys};
    progress_start(&r.run, "add", reader.total_bytes, false);
    pipeline_run(&reader, &job, a.by_hash ? run_options_threads(&r.run) : 1);
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
    "add",
    "add keys to a filter",
    "FILE [KEYS] [INPUT]...",
    "Adds the records (lines) of the inputs, or of standard input, to the filter FILE, in one\n"
    "step when all are in; a few keys to a large bloom or block filter in place.  Exits with 3\n"
    "if the filter is then over its capacity.  Kinds that take adds: bloom, block, counting,\n"
    "cuckoo, growing.",
    {add_options, options_keys, options_running, NULL},
    "  tamis build -n 10M -o live.tamis urls.txt       one that has room\n"
    "  tamis add live.tamis today.txt\n"
    "  echo \"$url\" | tamis add -q live.tamis",
    add_main};
