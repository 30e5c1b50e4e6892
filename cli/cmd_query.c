/* cmd_query.c - tamis query: the records that may be in a filter, as grep prints lines
 *
 * Threads split, hash and look up; selected records are kept as spans of the block, neighbours as
 * one, and printed in input order.  With several filters, keys and hashes are recomputed only if
 * the next filter makes them differently. */
#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "output.h"
#include "request.h"

#define NO_FILTER SIZE_MAX

struct member {
    const char *path;
    struct hashing hashing;     /* of one filter, */
    tamis_filter *filter;       /* this; */
    tamis_container *container; /* or of a file of several filters, */
    const char *part;           /* only these parts; NULL: those that cover the key */
    tamis_facts facts;
    uint64_t selected; /* -l -c */
};

struct query {
    struct member *members;
    size_t count;
    uint8_t delimiter;
    bool invert, counting, quiet, numbers, which;

    /* emit */
    struct output output;
    uint64_t selected;
    bool open_end; /* the last record printed had no delimiter */
};

/* ---- lookups */

static bool same_hash(const tamis_facts *a, const tamis_facts *b) {
    return a->prehashed && b->prehashed && strcmp(a->hash, b->hash) == 0 && a->seed == b->seed &&
           a->keyed == b->keyed && a->key_id == b->key_id;
}

/* Makes the keys and hashes of the batch for `m`, unless `last` has made the same. */
static bool prepare(struct block *block, struct batch *batch, const struct member *m,
                    const struct member *last) {
    const bool same = last != NULL && key_form_same(&m->hashing.form, &last->hashing.form) &&
                      m->facts.key_bytes == last->facts.key_bytes &&
                      (!m->facts.prehashed || same_hash(&m->facts, &last->facts));
    return same || hash_batch(&m->hashing, block, batch);
}

static size_t query_container(struct batch *batch, const struct member *m) {
    size_t found = 0;
    for (size_t i = 0; i < batch->count; i++) {
        batch->answer[i] =
            tamis_container_contains(m->container, m->part, batch->keys[i], batch->lengths[i]);
        found += batch->answer[i];
    }
    return found;
}

static size_t query_member(struct batch *batch, const struct member *m) {
    return m->container != NULL ? query_container(batch, m) : query_batch(&m->hashing, batch);
}

/* Finds the first filter that contains each record of the batch, or NO_FILTER; returns how many
 * records have one.  *good is false if a record has no key: the batch then ends before it. */
static size_t query_all(const struct query *q, struct block *block, struct batch *batch,
                        size_t *chosen, bool *good) {
    size_t found = 0;
    for (size_t i = 0; i < batch->count; i++) chosen[i] = NO_FILTER;
    for (size_t f = 0; f < q->count; f++) {
        if (!prepare(block, batch, &q->members[f], f > 0 ? &q->members[f - 1] : NULL)) {
            *good = false;
        }
        query_member(batch, &q->members[f]);
        /* NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult): the count only falls */
        for (size_t i = 0; i < batch->count; i++) {
            if (batch->answer[i] && chosen[i] == NO_FILTER) chosen[i] = f;
        }
    }
    for (size_t i = 0; i < batch->count; i++) found += chosen[i] != NO_FILTER;
    /* NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    return found;
}

/* ---- selecting */

static void select_record(const struct query *q, struct block *block, struct span span) {
    struct span *last = block->span_count > 0 ? &block->spans[block->span_count - 1] : NULL;
    if (last != NULL && !q->numbers && !q->which && last->start + last->length == span.start) {
        last->length += span.length;
    } else {
        block_add_span(block, span);
    }
}

static void select_batch(const struct query *q, struct block *block, const struct batch *batch,
                         const size_t *chosen, size_t end) {
    for (size_t i = 0; i < batch->count; i++) {
        const size_t filter = chosen != NULL ? chosen[i] : batch->answer[i] ? 0 : NO_FILTER;
        if ((filter != NO_FILTER) == q->invert) continue;
        const size_t next = i + 1 < batch->count ? batch->start[i + 1] : end;
        const struct span span = {batch->start[i], next - batch->start[i], block->records + i,
                                  filter};
        select_record(q, block, span);
    }
}

static void count_batch(const struct query *q, struct block *block, const struct batch *batch,
                        const size_t *chosen) {
    if (block->filter_counts == NULL) {
        block->filter_counts = (uint64_t *)need(q->count * sizeof(uint64_t));
        memset(block->filter_counts, 0, q->count * sizeof(uint64_t));
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (chosen[i] != NO_FILTER) block->filter_counts[chosen[i]]++;
    }
}

static void query_work(const void *context, struct block *block, struct batch *batch) {
    const struct query *q = (const struct query *)context;
    const bool one = q->count == 1;
    size_t chosen[BATCH_KEYS];
    bool good = true;
    for (size_t at = 0; good && batch_next(batch, block, q->delimiter, &at);) {
        size_t found;
        if (one) {
            good = prepare(block, batch, &q->members[0], NULL);
            found = query_member(batch, &q->members[0]);
        } else {
            found = query_all(q, block, batch, chosen, &good);
        }
        block->selected += q->invert ? batch->count - found : found;
        if (!q->counting && !q->quiet) {
            const size_t end = good ? at : batch->start[batch->count];
            select_batch(q, block, batch, one ? NULL : chosen, end);
        } else if (q->which && !one) {
            count_batch(q, block, batch, chosen);
        }
        block->records += batch->count;
    }
}

/* ---- printing */

static void print_span(struct query *q, const struct block *block, const struct span *span) {
    struct output *out = &q->output;
    if (q->open_end) output_bytes(out, &q->delimiter, 1);
    q->open_end = block->unterminated && span->start + span->length == block->length;
    if (q->which) {
        output_text(out, q->members[span->filter].path);
        output_text(out, ":");
    }
    if (q->numbers) {
        output_number(out, block->before + span->record + 1);
        output_text(out, ":");
    }
    output_bytes(out, block->data + span->start, span->length);
}

static bool query_emit(void *context, struct block *block, struct batch *batch) {
    struct query *q = (struct query *)context;
    (void)batch;
    for (size_t f = 0; f < q->count; f++) {
        const struct member *m = &q->members[f];
        if (m->filter != NULL) filter_check_queries(m->filter, m->path);
    }
    q->selected += block->selected;
    if (q->quiet) return q->selected == 0;
    for (size_t f = 0; block->filter_counts != NULL && f < q->count; f++) {
        q->members[f].selected += block->filter_counts[f];
        block->filter_counts[f] = 0;
    }
    for (size_t i = 0; i < block->span_count; i++) {
        print_span(q, block, &block->spans[i]);
    }
    if (block->pause) output_flush(&q->output);
    return q->output.error == 0;
}

static void print_counts(struct query *q) {
    struct output *out = &q->output;
    if (q->count == 1 || !q->which) q->members[0].selected = q->selected;
    for (size_t f = 0; f < (q->which ? q->count : 1); f++) {
        if (q->which) {
            output_text(out, q->members[f].path);
            output_text(out, ":");
        }
        output_number(out, q->members[f].selected);
        output_text(out, "\n");
    }
}

static void query_parse(struct args *args, struct request *r, struct words *also, struct query *q) {
    const struct binding list[] = {{OPT_INVERT, .flag = &q->invert},
                                   {OPT_COUNT, .flag = &q->counting},
                                   {OPT_LINE_NUMBER, .flag = &q->numbers},
                                   {OPT_WHICH, .flag = &q->which},
                                   {OPT_ALSO, .words = also},
                                   {0}};
    request_parse(r, args, list);
    request_check(r);
    if (q->invert && q->which)
        die("-l and -v contradict each other: no filter contains the records of -v");
    q->quiet = r->run.quiet;
    q->delimiter = r->keys.delimiter;
}

/* Dies if the file has no such part, and no such column in any row group: without a filter, every
 * record would be selected. */
static void check_part(const struct member *m) {
    tamis_part part = {.struct_size = sizeof part};
    for (size_t i = 0; i < tamis_container_count(m->container); i++) {
        if (tamis_container_part(m->container, i, &part) != TAMIS_OK) continue;
        if (part_is(&part, m->part)) return;
    }
    die("'%s' has no filter '%s': see 'tamis info'", m->path, m->part);
}

/* Descriptors for everything but the filters. */
#define DESCRIPTORS_SPARE 64

/* How many of the filters can be mapped.  Each keeps a descriptor, whose lock keeps other processes
 * from changing the file in place.  Raises the limit as far as allowed; further filters are read.
 */
static size_t mapped_max(size_t filters) {
    struct rlimit limit;
    const rlim_t wanted = (rlim_t)filters + DESCRIPTORS_SPARE;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return filters;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
    if (limit.rlim_cur >= wanted) return filters;
    return limit.rlim_cur > DESCRIPTORS_SPARE ? (size_t)(limit.rlim_cur - DESCRIPTORS_SPARE) : 0;
}

static void member_open(struct member *m, const struct request *r, enum open_mode mode) {
    m->filter = request_open_any(r, m->path, mode, &m->container);
    if (m->filter != NULL) {
        m->facts = filter_facts_brief(m->filter);
    } else {
        m->facts.format = tamis_container_format(m->container);
        m->part = r->part;
        if (m->part != NULL) check_part(m);
    }
    m->hashing = request_hashing(r, m->path, m->filter, &m->facts);
}

static void query_open(struct query *q, const struct request *r, const struct words *also) {
    size_t containers = 0;
    q->count = 1 + also->count;
    q->members = (struct member *)need(q->count * sizeof *q->members);
    memset(q->members, 0, q->count * sizeof *q->members);
    const size_t mapped = mapped_max(q->count);
    for (size_t f = 0; f < q->count; f++) {
        struct member *m = &q->members[f];
        m->path = f == 0 ? r->file : also->at[f - 1];
        member_open(m, r, f < mapped ? OPEN_QUERY : OPEN_OWNED);
        containers += m->container != NULL;
    }
    /* With several files, --part is for those that hold several filters. */
    if (r->part != NULL && containers == 0) {
        die("--part: '%s' holds one filter, without a name: leave --part out", r->file);
    }
}

static int query_main(struct args *args) {
    struct request r = REQUEST_INIT;
    struct words also = {NULL, 0, 0};
    struct query q = {.delimiter = '\n'};
    struct reader reader;
    query_parse(args, &r, &also, &q);
    progress_opening(&r.run, "query");
    query_open(&q, &r, &also);
    reader_open_selecting(&reader, &r.inputs, q.delimiter, q.quiet, !q.counting);
    output_open(&q.output, STDOUT_FILENO);

    const struct job job = {.work = query_work,
                            .emit = query_emit,
                            .context = &q,
                            .output = &q.output,
                            .hints = !q.quiet,
                            .form = &q.members[0].hashing.form};
    progress_start(&r.run, "query", reader.total_bytes, !q.counting && !q.quiet);
    pipeline_run(&reader, &job, run_options_threads(&r.run));
    progress_end();
    if (q.counting && !q.quiet) print_counts(&q);
    output_close(&q.output, "standard output");

    for (size_t f = 0; f < q.count; f++) {
        tamis_free(q.members[f].filter);
        tamis_container_free(q.members[f].container);
    }
    free(q.members);
    words_free(&also);
    words_free(&r.inputs);
    return q.selected != 0 ? EXIT_DONE : EXIT_NONE;
}

const struct command command_query = {
    .name = "query",
    .summary = "print the records that may be in a filter",
    .usage = "[-v] [-c] [-q] [-n] [-l] [--also FILE]... FILE [KEYOPTS] [INPUT...]",
    .about =
        "Prints the records (lines) of the inputs, or of standard input, that are possibly in "
        "the filter FILE, unchanged and in input order. A record that is not printed is "
        "definitely not in the filter.",
    .details =
        "Only the parts of FILE that the records touch are read and verified, so the first "
        "answer takes the same time for a file of any size. A damaged part that was touched is an "
        "error. "
        "A table or a Parquet file holds several filters: the one that covers the key is "
        "queried, or the one that --part names. A last record without a delimiter is "
        "printed without one, unless another follows.",
    .options = {OPT_INVERT, OPT_COUNT, OPT_SILENT, OPT_LINE_NUMBER, OPT_WHICH, OPT_ALSO},
    .groups = FILTER_OPTIONS | KEY_OPTIONS | RUN_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "a record was selected",
              [EXIT_NONE] = "no record was selected",
              [EXIT_ERROR] = "error, such as an input that cannot be opened"},
    .examples =
        "  tamis query seen.tamis new.txt               # lines that may have been seen\n"
        "  tamis query -v seen.tamis new.txt            # lines that are new\n"
        "  tamis query -c seen.tamis *.txt              # count them\n"
        "  tamis query -t , -F 2 users.tamis log.csv    # by the second field\n"
        "  tamis query -l --also b.tamis a.tamis in     # and which filter has it\n"
        "  if echo \"$url\" | tamis query -q seen.tamis; then ...\n",
    .see = "build uniq",
    .run = query_main};
