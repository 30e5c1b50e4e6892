/* cmd_build.c - tamis build: a filter from all keys of the inputs
 *
 * Threads split, hash, and give the hashes to a builder, which needs neither their number nor their
 * order.  With -n and a kind that takes adds, the builder adds as it goes: then in input order, so
 * that the same input makes the same file. */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "numbers.h"
#include "pipeline.h"

static const struct option_spec build_options[] = {
    {OPT_OUTPUT, 'o', "output", "FILE", "write the filter to FILE; - is standard output"},
    {OPT_FORCE, 'f', "force", NULL, "replace FILE if it exists"},
    {OPT_KIND, 'k', "kind", "KIND",
     "bloom, block, counting, cuckoo, xor, fuse, ribbon or\n"
     "growing (default: the smallest that can be asked fast)"},
    {OPT_TO, '\0', "to", "FORMAT", "write another system's format (default: tamis)"},
    {OPT_RATE, 'p', "rate", "RATE",
     "false positive rate: 0.01, 1%, 1e-6, 1/1000 (default 1%, or that of --to)"},
    {OPT_NUMBER, 'n', "capacity", "N", "make room for N distinct keys (default: as many as come)"},
    {OPT_MEMORY, '\0', "memory", "SIZE", "stay within SIZE by spilling to $TMPDIR"},
    {OPT_SEED, '\0', "seed", "N", "seed of the hash (default 0: the same keys, the same bytes)"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
    OPTIONS_END};

struct build {
    struct hashing hashing; /* first: the pipeline's work reads it */
    tamis_builder *builder;
    atomic_int *status; /* a failure of the builder, */
    atomic_int *error;  /* and its errno */
};

struct build_request {
    tamis_options want;
    struct key_options keys;
    struct run_options run;
    const char *output;
    bool force;
    struct words inputs;
};

/* Of a format that knows integers alone, and builds of which E_KEY tells so. */
#define INTEGER_BYTES 8

static void build_parse(struct args *args, struct build_request *r) {
    for (int id; (id = args_next(args)) != ARG_END;) {
        switch (id) {
            case ARG_OPERAND:
                words_push(&r->inputs, args->value);
                break;
            case OPT_OUTPUT:
                r->output = args->value;
                break;
            case OPT_FORCE:
                r->force = true;
                break;
            case OPT_KIND:
                r->want.kind = kind_of(args->value);
                break;
            case OPT_TO:
                r->want.format = format_of("--to", args->value);
                break;
            case OPT_RATE:
                r->want.rate = rate_of("-p", args->value);
                break;
            case OPT_NUMBER:
                r->want.capacity = number_of("-n", args->value);
                break;
            case OPT_MEMORY:
                r->want.memory = number_within("--memory", args->value, 1, UINT64_MAX);
                break;
            case OPT_SEED:
                r->want.seed = number_of("--seed", args->value);
                break;
            default:
                if (!key_options_take(&r->keys, id, args)) run_options_take(&r->run, id, args);
        }
    }
    if (r->output == NULL) die("-o FILE is missing: where is the filter to be written?");
    key_options_check(&r->keys);
    target_check(r->output, r->force, &r->inputs, &r->keys);
}

/* Another system's filter? */
static bool is_foreign(const tamis_options *want) {
    return want->format != NULL && strcmp(want->format, "tamis") != 0;
}

/* All keys are known, so a static kind, unless -n asks for room; but those do not reach every
 * rate. */
static void choose_kind(tamis_options *want) {
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    want->needs = want->capacity != 0 ? TAMIS_NEED_ADD : TAMIS_NEED_STATIC;
    if (!is_foreign(want) && tamis_size(want, &sizing) == TAMIS_E_TOO_FINE) {
        want->kind = TAMIS_BLOOM;
        want->needs = 0;
    }
}

/* What the library is to be told besides. */
static void build_options_complete(struct build_request *r) {
    tamis_options *want = &r->want;
    if (is_foreign(want) && want->kind != TAMIS_AUTO) {
        die("-k and --to contradict each other: a format has its own kind of filter");
    }
    if (is_foreign(want) && r->keys.key_file != NULL) {
        die("--to %s and --key-file contradict each other: such a filter has no secret",
            want->format);
    }
    if (is_foreign(want) && (r->keys.form.flags & TAMIS_KEY_PREHASHED)) {
        die("--to %s and --prehashed contradict each other: that system hashes keys itself",
            want->format);
    }
    if (want->kind == TAMIS_AUTO) choose_kind(want);
    want->threads = run_options_threads(&r->run);
    want->secret = key_options_secret(&r->keys);
    want->form = r->keys.form;
    if (want->form.flags & TAMIS_KEY_PREHASHED) want->hasher = TAMIS_HASH_NONE;
}

/* The builder hashes key by key; an empty filter with the same seed hashes in batches. */
static tamis_filter *build_hasher(const tamis_options *want) {
    tamis_options like = TAMIS_OPTIONS_INIT;
    tamis_filter *hasher;
    like.kind = TAMIS_BLOCK;
    like.seed = want->seed;
    like.secret = want->secret;
    const tamis_status status = tamis_create(&like, &hasher);
    if (status != TAMIS_OK) die("cannot begin: %s", tamis_status_text(status));
    return hasher;
}

static bool build_is_good(const struct build *b, tamis_status status) {
    if (status != TAMIS_OK) {
        atomic_store(b->error, errno);
        atomic_store(b->status, (int)status);
    }
    return atomic_load(b->status) == TAMIS_OK;
}

static bool build_add(const struct build *b, const struct block *block) {
    return build_is_good(b,
                         tamis_builder_add_hash_batch(b->builder, block->hashes, block->records));
}

static void build_work(const void *context, struct block *block, struct batch *batch) {
    work_hashes(context, block, batch);
    (void)build_add((const struct build *)context, block);
}

static bool build_emit(void *context, struct block *block, uint64_t before) {
    (void)block, (void)before;
    return build_is_good((const struct build *)context, TAMIS_OK);
}

static bool build_emit_hashes(void *context, struct block *block, uint64_t before) {
    (void)before;
    return build_add((const struct build *)context, block);
}

/* For other systems' formats, whose hashes may be longer than ours: everything in turn. */
static bool build_emit_bytes(void *context, struct block *block, uint64_t before) {
    struct build *b = (struct build *)context;
    struct record_error error = {false, 0, ""};
    struct batch batch;
    tamis_status status = TAMIS_OK;
    bool good = true;
    (void)before;
    batch_start(&batch);
    for (size_t at = 0; good && batch_next(&batch, block, b->hashing.delimiter, &at);) {
        good = batch_keys(&batch, &b->hashing.form, &error);
        if (!good) block_error(block, &error, block->records);
        status = tamis_builder_add_batch(b->builder, batch.keys, batch.lengths, batch.count);
        if (status == TAMIS_E_KEY && (b->hashing.form.flags & TAMIS_KEY_HEX)) {
            status = TAMIS_OK;
            good = batch_keys_of(&batch, &b->hashing.form, INTEGER_BYTES, &error);
            block_error(block, &error, block->records);
        }
        good = good && status == TAMIS_OK;
        block->records += batch.count;
    }
    batch_free(&batch);
    return build_is_good(b, status);
}

/* Why another system's filter is not made. */
static _Noreturn void foreign_failed(const struct build_request *r, tamis_status status) {
    if (status == TAMIS_E_UNSUPPORTED && r->want.memory != 0) {
        die("--to %s: all keys wait in memory there: leave --memory out, or try it with -n",
            r->want.format);
    }
    if (status == TAMIS_E_UNSUPPORTED) {
        die("--to %s: such a filter cannot be made with these options", r->want.format);
    }
    die("--to %s: it does not take these parameters, makes no filter of this size, or can only be "
        "read",
        r->want.format);
}

static _Noreturn void spill_failed(int error) {
    const char *directory = getenv("TMPDIR");
    if (directory == NULL || directory[0] == '\0') directory = "/tmp";
    die("cannot spill keys to '%s': %s; set TMPDIR to a directory with room", directory,
        strerror(error));
}

static _Noreturn void build_failed(const struct build_request *r, tamis_status status, int error) {
    const char *kind = tamis_kind_name(r->want.kind);
    switch (status) {
        case TAMIS_E_KEY:
            die("the keys of a %s filter are 64-bit integers: give --as u64 (or i64)",
                r->want.format);
        case TAMIS_E_ARGUMENT:
        case TAMIS_E_UNSUPPORTED:
            if (r->want.format == NULL) break;
            foreign_failed(r, status);
        case TAMIS_E_FULL:
            if (r->want.capacity == 0) {
                die("a key comes more often than the %s filter has places for it: drop the repeats "
                    "first, with 'tamis uniq'",
                    kind != NULL ? kind : r->want.format);
            }
            die("more keys than the %s filter has room for: give a larger -n than %s, or none",
                kind != NULL ? kind : r->want.format, text_count(r->want.capacity).at);
        case TAMIS_E_TOO_FINE:
            die("-p %s is lower than %s %s can reach; see 'tamis plan'",
                text_exact(r->want.rate).at, kind != NULL ? "-k" : "--to",
                kind != NULL ? kind : r->want.format);
        case TAMIS_E_IO:
            spill_failed(error);
        default:
            break;
    }
    die("cannot build the filter: %s", tamis_status_text(status));
}

/* How hashes come to the builder. */
static struct job build_job(const struct build_request *r, struct build *b) {
    const tamis_options *want = &r->want;
    struct job job = {.work = build_work,
                      .emit = build_emit,
                      .context = b,
                      .capacity = want->capacity,
                      .uneven = true};
    const bool is_static = want->kind == TAMIS_AUTO
                               ? want->needs == TAMIS_NEED_STATIC
                               : (tamis_kind_caps(want->kind) & TAMIS_IS_STATIC) != 0;
    if (is_foreign(want)) {
        job.work = work_nothing;
        job.emit = build_emit_bytes;
    } else if (want->capacity != 0 && !is_static) {
        job.work = work_hashes;
        job.emit = build_emit_hashes;
    }
    return job;
}

static tamis_filter *build_run(struct build_request *r, uint64_t *keys) {
    atomic_int failure = TAMIS_OK, error = 0;
    struct build b = {.hashing = {.form = r->keys.form, .delimiter = r->keys.delimiter},
                      .status = &failure,
                      .error = &error};
    struct reader reader;
    reader_open(&reader, &r->inputs, r->keys.delimiter);
    tamis_status status = tamis_builder_create(&r->want, &b.builder);
    if (status != TAMIS_OK) build_failed(r, status, errno);
    tamis_filter *hasher = build_hasher(&r->want);
    b.hashing.filter = hasher;

    const struct job job = build_job(r, &b);
    progress_start(&r->run, "build", reader.total_bytes, false);
    pipeline_run(&reader, &job, job.work == work_nothing ? 1 : r->want.threads);
    if (failure != TAMIS_OK) build_failed(r, (tamis_status)failure, error);

    *keys = tamis_builder_count(b.builder);
    progress_phase("making the filter");
    tamis_filter *filter;
    status = tamis_builder_finish(b.builder, &filter);
    if (status != TAMIS_OK) build_failed(r, status, errno);
    tamis_builder_free(b.builder);
    tamis_free(hasher);
    return filter;
}

static int build_main(struct args *args) {
    struct build_request r = {.want = TAMIS_OPTIONS_INIT, .keys = KEY_OPTIONS_INIT};
    uint64_t keys;
    build_parse(args, &r);
    build_options_complete(&r);
    tamis_filter *filter = build_run(&r, &keys);
    tamis_facts facts = filter_facts(filter);
    facts.distinct = fmin(facts.distinct, (double)keys); /* what was counted is surer */
    progress_phase("writing");
    filter_save(filter, r.output, r.force);
    progress_end();
    if (!r.run.quiet) filter_summary(r.output, &facts, keys);
    tamis_free(filter);
    words_free(&r.inputs);
    return filter_capacity(r.output, &facts);
}

const struct command command_build = {
    "build",
    "make a filter of keys",
    "-o FILE [-k KIND | --to FORMAT] [-p RATE] [-n N] [KEYS] [INPUT]...",
    "Makes a filter of all records (lines) of the inputs, or of standard input, and writes it\n"
    "to FILE.  Any number of keys, in any order, repeats welcome.  Without -k the kind is\n"
    "chosen for keys that are all known now, or with -n for keys that are added later;\n"
    "'tamis plan' explains the choice.",
    {build_options, options_keys, options_running, NULL},
    "  tamis build -o seen.tamis urls.txt\n"
    "  tamis build -p 1e-6 -o pw.tamis --hex -t : -F 1 pwned-passwords.txt\n"
    "  tamis build -k cuckoo -n 10M -o live.tamis < ids  room for 10 million\n"
    "  find / -print0 | tamis build -0 -o files.tamis\n"
    "  tamis build --to guava -n 1M -p 3% -o seen.guava urls.txt  for Java to read\n"
    "  seq 1000000000 | tamis build --memory 4Gi -o big.tamis",
    build_main};
