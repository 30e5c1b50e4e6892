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

#include "numbers.h"
#include "request.h"

struct build {
    struct hashing hashing; /* first: the pipeline's work reads it */
    tamis_builder *builder;
    atomic_int *status; /* a failure of the builder, */
    atomic_int *error;  /* and its errno */
};

struct build_request {
    tamis_options options;
    struct request common;
};

static void build_parse(struct args *args, struct build_request *r) {
    tamis_options *options = &r->options;
    const struct binding list[] = {{ARG_OPERAND, .words = &r->common.inputs},
                                   {OPT_KIND, .kind = &options->kind},
                                   {OPT_TO, .format = &options->format},
                                   {OPT_FPR, .fpr = &options->fpr},
                                   {OPT_NUMBER, .number = &options->capacity},
                                   {OPT_MEMORY, .number = &options->memory, .low = 1},
                                   {OPT_SEED, .number = &options->seed},
                                   {OPT_CHECK, .flag = &options->check},
                                   {0}};
    request_parse(&r->common, args, list);
    request_check_output(&r->common);
}

/* Another system's filter? */
static bool is_compat(const tamis_options *options) {
    return options->format != NULL && strcmp(options->format, "tamis") != 0;
}

/* Fills in the rest of the options. */
static void build_options_complete(struct build_request *r) {
    tamis_options *options = &r->options;
    if (is_compat(options) && options->kind != TAMIS_AUTO) {
        die("-k and --to contradict each other: a format has its own kind of filter");
    }
    if (is_compat(options) && r->common.keys.key_file != NULL) {
        die("--to %s and --key-file contradict each other: such a filter has no secret",
            options->format);
    }
    if (is_compat(options) && (r->common.keys.form.flags & TAMIS_KEY_PREHASHED)) {
        die("--to %s and --prehashed contradict each other: that system hashes keys itself",
            options->format);
    }
    if (options->kind == TAMIS_AUTO && (options->capacity != 0 || is_compat(options))) {
        options->needs = options->capacity != 0 ? TAMIS_NEED_ADD : TAMIS_NEED_STATIC;
    } else if (options->kind == TAMIS_AUTO) {
        needs_of_known_keys(options);
    }
    options->threads = run_options_threads(&r->common.run);
    options->secret = key_options_secret(&r->common.keys);
    options->form = r->common.keys.form;
    if (options->form.flags & TAMIS_KEY_PREHASHED) options->hasher = TAMIS_HASH_NONE;
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

static bool build_emit(void *context, struct block *block, struct batch *batch) {
    (void)block, (void)batch;
    return build_is_good((const struct build *)context, TAMIS_OK);
}

static bool build_emit_hashes(void *context, struct block *block, struct batch *batch) {
    (void)batch;
    return build_add((const struct build *)context, block);
}

/* For other systems' formats, whose hashes may be longer than ours: serially. */
static bool build_emit_bytes(void *context, struct block *block, struct batch *batch) {
    struct build *b = (struct build *)context;
    tamis_status status = TAMIS_OK;
    bool good = true;
    for (size_t at = 0; good && batch_next(batch, block, b->hashing.delimiter, &at);) {
        good = hash_batch(&b->hashing, block, batch);
        status = tamis_builder_add_batch(b->builder, batch->keys, batch->lengths, batch->count);
        if (status == TAMIS_E_KEY && (b->hashing.form.flags & TAMIS_KEY_HEX)) {
            status = TAMIS_OK;
            b->hashing.key_bytes = 8; /* the format accepts integers only */
            good = hash_batch(&b->hashing, block, batch);
        }
        good = good && status == TAMIS_OK;
        block->records += batch->count;
    }
    return build_is_good(b, status);
}

/* Why another system's filter is not made. */
static _Noreturn void compat_failed(const struct build_request *r, tamis_status status) {
    if (status == TAMIS_E_UNSUPPORTED && r->options.memory != 0) {
        die("--to %s: all keys are held in memory: leave --memory out, or give -n",
            r->options.format);
    }
    if (status == TAMIS_E_UNSUPPORTED) {
        die("--to %s: the format does not support these options", r->options.format);
    }
    if (strchr(r->options.format, ':') != NULL) {
        die("--to %s: wrong parameters; the format has: %s", r->options.format,
            parameters_of(r->options.format));
    }
    die("--to %s: the format does not support this -n or -p", r->options.format);
}

static _Noreturn void spill_failed(int error) {
    const char *directory = getenv("TMPDIR");
    if (directory == NULL || directory[0] == '\0') directory = "/tmp";
    die("cannot spill keys to '%s': %s; set TMPDIR to a directory with room", directory,
        strerror(error));
}

static _Noreturn void no_memory(const struct build_request *r) {
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    if (r->options.capacity == 0) {
        die("out of memory: --memory SIZE spills keys to disk, and 'tamis plan' prints sizes");
    }
    if (is_compat(&r->options) || tamis_size(&r->options, &sizing) != TAMIS_OK)
        die("out of memory");
    die("out of memory: a %s filter of %s keys needs %s; see 'tamis plan'",
        tamis_kind_name(sizing.kind), text_count(r->options.capacity).at,
        text_bytes(sizing.build_bytes).at);
}

static _Noreturn void build_failed(const struct build_request *r, tamis_status status, int error) {
    const char *kind = tamis_kind_name(r->options.kind);
    switch (status) {
        case TAMIS_E_KEY:
            die("the keys of a %s filter are 64-bit integers: give --as u64 (or i64)",
                r->options.format);
        case TAMIS_E_ARGUMENT:
        case TAMIS_E_UNSUPPORTED:
            if (r->options.format == NULL) break;
            compat_failed(r, status);
        case TAMIS_E_FULL:
            if (r->options.capacity == 0) {
                die("a key is repeated more often than the %s filter has slots for it: remove the "
                    "repeats first, with 'tamis uniq'",
                    kind != NULL ? kind : r->options.format);
            }
            die("the %s filter is full: give a larger -n than %s, or none",
                kind != NULL ? kind : r->options.format, text_count(r->options.capacity).at);
        case TAMIS_E_FPR_TOO_LOW:
            if (!is_compat(&r->options)) fpr_too_low(r->options.kind, r->options.fpr);
            die("-p %s: lower than %s supports: give a higher rate, or leave -p out",
                text_exact(r->options.fpr).at, r->options.format);
        case TAMIS_E_TOO_BIG:
            if (r->options.capacity == 0) break;
            die("-n %s: the filter would exceed the limit of %s, or the address space",
                text_count(r->options.capacity).at,
                is_compat(&r->options) ? r->options.format : "tamis");
        case TAMIS_E_IO:
            spill_failed(error);
        case TAMIS_E_NOMEM:
            no_memory(r);
        case TAMIS_E_LOST:
            die("the filter lost a key while it was built: the memory or the processor of this "
                "machine is faulty; nothing was written");
        default:
            break;
    }
    die("cannot build the filter: %s", tamis_status_text(status));
}

/* How hashes reach the builder. */
static struct job build_job(const struct build_request *r, struct build *b) {
    const tamis_options *options = &r->options;
    struct job job = {.work = build_work,
                      .emit = build_emit,
                      .context = b,
                      .capacity = options->capacity,
                      .hints = !r->common.run.quiet,
                      .form = &b->hashing.form,
                      .uneven = true};
    const bool is_static = options->kind == TAMIS_AUTO
                               ? options->needs == TAMIS_NEED_STATIC
                               : (tamis_kind_caps(options->kind) & TAMIS_IS_STATIC) != 0;
    if (is_compat(options)) {
        job.work = NULL;
        job.emit = build_emit_bytes;
    } else if (options->capacity != 0 && !is_static) {
        job.work = work_hashes;
        job.emit = build_emit_hashes;
    }
    return job;
}

static tamis_filter *build_run(struct build_request *r, uint64_t *keys) {
    atomic_int failure = TAMIS_OK, error = 0;
    struct build b = {.hashing = {.form = r->common.keys.form,
                                  .delimiter = r->common.keys.delimiter,
                                  .by_hash = !is_compat(&r->options)},
                      .status = &failure,
                      .error = &error};
    struct reader reader;
    reader_open(&reader, &r->common.inputs, r->common.keys.delimiter);
    tamis_status status = tamis_builder_create(&r->options, &b.builder);
    if (status != TAMIS_OK) build_failed(r, status, errno);
    b.hashing.builder = b.builder;

    const struct job job = build_job(r, &b);
    progress_start(&r->common.run, "build", reader.total_bytes, false);
    pipeline_run(&reader, &job, job.work == NULL ? 1 : r->options.threads);
    if (failure != TAMIS_OK) build_failed(r, (tamis_status)failure, error);

    *keys = tamis_builder_count(b.builder);
    progress_phase("making the filter");
    tamis_filter *filter;
    status = tamis_builder_finish(b.builder, &filter);
    if (status != TAMIS_OK) build_failed(r, status, errno);
    tamis_builder_free(b.builder);
    return filter;
}

static int build_main(struct args *args) {
    struct build_request r = {.options = TAMIS_OPTIONS_INIT, .common = REQUEST_INIT};
    uint64_t keys;
    build_parse(args, &r);
    build_options_complete(&r);
    tamis_filter *filter = build_run(&r, &keys);
    tamis_facts facts = filter_facts(filter);
    facts.distinct = fmin(facts.distinct, (double)keys); /* the count is exact */
    return request_output(&r.common, filter, &facts, keys);
}

const struct command command_build = {
    .name = "build",
    .summary = "build a filter from keys",
    .usage =
        "-o FILE [-k KIND | --to FORMAT] [-p RATE] [-n N] [--memory SIZE] [--check] [-j N] [-f] "
        "[KEYOPTS] [INPUT...]",
    .about =
        "Builds a filter from all records (lines) of the inputs, or of standard input, and "
        "writes it to FILE. Any number of keys, in any order, with duplicates. Ends with a "
        "summary on stderr: kind, keys, distinct keys, size, bits per key, expected rate.",
    .details =
        "The keys form a set: a key that occurs several times is in the filter once, also in "
        "a kind that supports remove; only `tamis add` adds it again. The same keys, "
        "options and seed give the same bytes, whatever the order, the threads or the "
        "memory; only `growing` with -n, and some formats of other systems, depend on the "
        "order.\n\n"
        "With -n the filter has room for N distinct keys, to be added later. Without -n it "
        "is sized for the keys of the inputs. A static kind holds exactly those, whatever N "
        "is.\n\n"
        "With --to the filter is sized as the other system does it, -p has that system's "
        "default, and all keys are held in memory unless -n is given.",
    .options = {OPT_OUTPUT, OPT_FORCE, OPT_KIND, OPT_TO, OPT_FPR, OPT_NUMBER, OPT_MEMORY, OPT_SEED,
                OPT_CHECK, OPT_QUIET, OPT_KEY_FILE},
    .groups = KEY_OPTIONS | RUN_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "the filter was written",
              [EXIT_ERROR] = "error; no file was written",
              [EXIT_OVER] = "the filter was written, but has more keys than -n made room for",
              [EXIT_CHANGED] = "the filter was written, but could not be synced"},
    .examples =
        "  tamis build -o seen.tamis urls.txt\n"
        "  tamis build -p 1e-6 -o pw.tamis --hex -t : -F 1 pwned-passwords.txt\n"
        "  tamis build -k cuckoo -n 10M -o live.tamis < ids     # room for 10 million\n"
        "  find / -print0 | tamis build -0 -o files.tamis\n"
        "  tamis build --to guava -n 1M -p 3% -o seen.guava urls.txt     # for Java\n"
        "  seq 1000000000 | tamis build --memory 4Gi -o big.tamis\n",
    .see = "add plan query",
    .run = build_main};
