/* cmd_query.c - tamis query: the records that may be in a filter, as grep prints lines
 *
 * Threads split, hash and ask; what was selected is kept as spans of the block, neighbours as
 * one, and printed in input order.  With several filters a record's keys and hashes are made
 * anew only where the next filter wants them otherwise. */
#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "output.h"
#include "request.h"

static const struct option_spec query_options[] = {
    {OPT_INVERT, 'v', "invert", NULL, "print the records that certainly are not in it"},
    {OPT_COUNT, 'c', "count", NULL, "print how many records there are, not the records"},
    {OPT_QUIET, 'q', "quiet", NULL, "print nothing, stop at the first: only the exit code"},
    {OPT_LINE_NUMBER, 'n', "line-number", NULL, "print 'N:' before each, its number in its input"},
    {OPT_WHICH, 'l', "which", NULL, "print 'FILE:' before each, the filter that has it"},
    {OPT_ALSO, '\0', "also", "FILE", "ask this filter too; may be given several times"},
    {OPT_FROM, '\0', "from", "FORMAT", "the filters' format, where their content does not tell"},
    {OPT_PART, '\0', "part", "NAME", "which filter of a file that holds several: see 'tamis info'"},
    OPTIONS_END};

#define NO_FILTER SIZE_MAX

struct member {
    const char *path;
    tamis_filter *filter;       /* either this, */
    tamis_container *container; /* or a file of several filters, */
    const char *part;           /* of which only these are asked; NULL: those that cover the key */
    tamis_facts facts;
    tamis_key_form form;
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

/* ---- asking */

static bool same_form(const tamis_key_form *a, const tamis_key_form *b) {
    return a->flags == b->flags && a->type == b->type && a->field == b->field &&
           a->separator_length == b->separator_length &&
           memcmp(a->separator, b->separator, a->separator_length) == 0;
}

static bool same_hash(const tamis_facts *a, const tamis_facts *b) {
    return a->prehashed && b->prehashed && strcmp(a->hash, b->hash) == 0 && a->seed == b->seed &&
           a->keyed == b->keyed && a->key_id == b->key_id;
}

/* Keys and hashes of the batch as `m` wants them, if `last` wanted them otherwise. */
static bool prepare(struct batch *batch, const struct member *m, const struct member *last,
                    struct record_error *error) {
    const bool keys = last == NULL || !same_form(&m->form, &last->form) ||
                      m->facts.key_bytes != last->facts.key_bytes;
    if (!m->facts.prehashed) {
        return !keys || batch_keys_of(batch, &m->form, m->facts.key_bytes, error);
    }
    if (!keys && same_hash(&m->facts, &last->facts)) return true;
    return batch_hashes(batch, &m->form, m->filter, error);
}

static size_t ask_container(struct batch *batch, const struct member *m) {
    size_t found = 0;
    for (size_t i = 0; i < batch->count; i++) {
        batch->answer[i] =
            tamis_container_contains(m->container, m->part, batch->keys[i], batch->lengths[i]);
        found += batch->answer[i];
    }
    return found;
}

static size_t ask(struct batch *batch, const struct member *m) {
    if (m->container != NULL) return ask_container(batch, m);
    if (m->facts.prehashed) {
        return tamis_contains_hash_batch(m->filter, batch->hash, batch->count, batch->answer);
    }
    return tamis_contains_batch(m->filter, batch->keys, batch->lengths, batch->count,
                                batch->answer);
}

/* For each record of the batch the first filter that has it, or NO_FILTER; returns how many
 * records have one.  False in `*good` if a record has no key: the batch then ends before it. */
static size_t ask_all(const struct query *q, struct batch *batch, size_t *chosen, bool *good,
                      struct record_error *error) {
    size_t found = 0;
    for (size_t i = 0; i < batch->count; i++) chosen[i] = NO_FILTER;
    for (size_t f = 0; f < q->count; f++) {
        if (!prepare(batch, &q->members[f], f > 0 ? &q->members[f - 1] : NULL, error)) {
            *good = false;
        }
        ask(batch, &q->members[f]);
        for (size_t i = 0; i < batch->count; i++) {
            if (batch->answer[i] && chosen[i] == NO_FILTER) chosen[i] = f;
        }
    }
    for (size_t i = 0; i < batch->count; i++) found += chosen[i] != NO_FILTER;
    return found;
}

/* ---- what was selected */

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

static void tally_batch(const struct query *q, struct block *block, const struct batch *batch,
                        const size_t *chosen) {
    if (block->tally == NULL) {
        block->tally = (uint64_t *)need(q->count * sizeof(uint64_t));
        memset(block->tally, 0, q->count * sizeof(uint64_t));
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (chosen[i] != NO_FILTER) block->tally[chosen[i]]++;
    }
}

static void query_work(const void *context, struct block *block, struct batch *batch) {
    const struct query *q = (const struct query *)context;
    const bool one = q->count == 1;
    struct record_error error = {false, 0, ""};
    size_t chosen[BATCH_KEYS];
    bool good = true;
    for (size_t at = 0; good && batch_next(batch, block, q->delimiter, &at);) {
        size_t found;
        if (one) {
            good = prepare(batch, &q->members[0], NULL, &error);
            found = ask(batch, &q->members[0]);
        } else {
            found = ask_all(q, batch, chosen, &good, &error);
        }
        if (!good) block_error(block, &error, block->records);
        block->selected += q->invert ? batch->count - found : found;
        if (!q->counting && !q->quiet) {
            const size_t end = good ? at : batch->start[batch->count];
            select_batch(q, block, batch, one ? NULL : chosen, end);
        } else if (q->which && !one) {
            tally_batch(q, block, batch, chosen);
        }
        block->records += batch->count;
    }
}

/* ---- printing */

static void print_span(struct query *q, const struct block *block, const struct span *span,
                       uint64_t before) {
    struct output *out = &q->output;
    if (q->open_end) output_bytes(out, &q->delimiter, 1);
    q->open_end = block->unterminated && span->start + span->length == block->length;
    if (q->which) {
        output_text(out, q->members[span->filter].path);
        output_text(out, ":");
    }
    if (q->numbers) {
        output_number(out, before + span->record + 1);
        output_text(out, ":");
    }
    output_bytes(out, block->data + span->start, span->length);
}

static bool query_emit(void *context, struct block *block, uint64_t before) {
    struct query *q = (struct query *)context;
    q->selected += block->selected;
    if (q->quiet) return q->selected == 0;
    for (size_t f = 0; block->tally != NULL && f < q->count; f++) {
        q->members[f].selected += block->tally[f];
        block->tally[f] = 0;
    }
    for (size_t i = 0; i < block->span_count; i++) {
        print_span(q, block, &block->spans[i], before);
    }
    if (block->pause) output_flush(&q->output);
    return q->output.error == 0;
}

static void print_counts(struct query *q) {
    if (q->which) {
        if (q->count == 1) q->members[0].selected = q->selected;
        for (size_t f = 0; f < q->count; f++) {
            output_text(&q->output, q->members[f].path);
            output_text(&q->output, ":");
            output_number(&q->output, q->members[f].selected);
            output_text(&q->output, "\n");
        }
    } else {
        output_number(&q->output, q->selected);
        output_text(&q->output, "\n");
    }
}

/* ---- the command */

static void query_parse(struct args *args, struct request *r, struct words *also, struct query *q) {
    for (int id; (id = args_next(args)) != ARG_END;) {
        switch (id) {
            case OPT_INVERT:
                q->invert = true;
                break;
            case OPT_COUNT:
                q->counting = true;
                break;
            case OPT_QUIET:
                q->quiet = r->run.quiet = true;
                break;
            case OPT_LINE_NUMBER:
                q->numbers = true;
                break;
            case OPT_WHICH:
                q->which = true;
                break;
            case OPT_ALSO:
                words_push(also, args->value);
                break;
            default:
                request_take(r, id, args);
        }
    }
    request_check(r);
    if (q->invert && q->which) die("-l and -v contradict each other: no filter has those");
    q->delimiter = r->keys.delimiter;
}

/* Dies if the file has no such part, nor such a column in any of its row groups: as there is no
 * filter that could say no, every record would be selected. */
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

/* How many of the filters can be mapped: each keeps a descriptor, whose lock keeps others from
 * changing the file in place.  The limit is raised as far as may be; filters beyond it are read. */
static size_t mapped_most(size_t filters) {
    struct rlimit limit;
    const rlim_t wanted = (rlim_t)filters + DESCRIPTORS_SPARE;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return filters;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
    if (limit.rlim_cur >= wanted) return filters;
    return limit.rlim_cur > DESCRIPTORS_SPARE ? (size_t)(limit.rlim_cur - DESCRIPTORS_SPARE) : 0;
}

/* The files of several filters among them; returns how many there are. */
static size_t open_containers(struct query *q, const struct request *r) {
    size_t containers = 0;
    for (size_t f = 0; f < q->count; f++) {
        struct member *m = &q->members[f];
        m->container = request_container(r, m->path);
        if (m->container == NULL) continue;
        containers++;
        m->part = r->part;
        m->facts.format = tamis_container_format(m->container);
        if (m->part != NULL) check_part(m);
    }
    return containers;
}

static void query_open(struct query *q, const struct request *r, const struct words *also) {
    q->count = 1 + also->count;
    q->members = (struct member *)need(q->count * sizeof *q->members);
    memset(q->members, 0, q->count * sizeof *q->members);
    for (size_t f = 0; f < q->count; f++) {
        q->members[f].path = f == 0 ? r->file : also->at[f - 1];
    }
    /* --part is for the files of several, if there is one: the others are asked as they are. */
    struct request plain = *r;
    if (open_containers(q, r) != 0) plain.part = NULL;
    const size_t mapped = mapped_most(q->count);
    for (size_t f = 0; f < q->count; f++) {
        struct member *m = &q->members[f];
        if (m->container == NULL) {
            m->filter = request_open(&plain, m->path, f < mapped ? OPEN_MAPPED : OPEN_OWNED);
            m->facts = filter_facts_brief(m->filter);
        }
        m->form = key_form_merge(&m->facts, &r->keys, m->path);
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
    if (q.quiet) {
        reader_open_unseen(&reader, &r.inputs, q.delimiter);
    } else {
        reader_open(&reader, &r.inputs, q.delimiter);
        if (!q.counting) reader_check_output(&reader);
    }
    output_open(&q.output, STDOUT_FILENO);

    const struct job job = {
        .work = query_work, .emit = query_emit, .context = &q, .output = &q.output};
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
    "query",
    "print the records that may be in a filter",
    "[-v] [-c] [-q] [-n] [-l] [--also FILE]... FILE [KEYS] [INPUT]...",
    "Prints the records (lines) of the inputs, or of standard input, that may be in the filter\n"
    "FILE, byte for byte and in input order.  A record that is not printed is certainly not in\n"
    "it.  Exits with 0 if one was selected, 1 if none was.",
    {query_options, options_keys, options_running, NULL},
    "  tamis query seen.tamis new.txt            lines that may have been seen\n"
    "  tamis query -v seen.tamis new.txt         lines that certainly are new\n"
    "  tamis query -c seen.tamis *.txt           how many\n"
    "  tamis query -t , -F 2 users.tamis log.csv by the second field of each line\n"
    "  tamis query -l --also b.tamis a.tamis in  and which of the two has it\n"
    "  if echo \"$url\" | tamis query -q seen.tamis; then ...",
    query_main};
