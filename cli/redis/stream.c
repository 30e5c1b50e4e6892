/* stream.c - tamis redis load and query: records in, windows of keys to all nodes at once
 *
 *     reader -> blocks -> batches of keys -> window of some ten thousand -> one call of the
 *     client: a pipelined exchange with every node -> count, or print in input order
 *
 * A window is kept until all of its replies have arrived, so its keys can be sent again.  It is
 * sent early when the input pauses (a terminal, a pipe). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numbers.h"
#include "output.h"
#include "redis.h"

#define WINDOW_KEYS 32768
#define WINDOW_BYTES ((size_t)4 << 20)

/* Byte strings, one after the other. */
struct strings {
    uint8_t *at;
    size_t used, capacity;
    size_t start[WINDOW_KEYS + 1];
};

struct window {
    size_t count;
    struct strings keys;
    struct strings records; /* with their delimiters; query only */
    uint64_t number[WINDOW_KEYS];
    bool open_end; /* the last record of the window has no delimiter */
    const void *pointers[WINDOW_KEYS];
    size_t lengths[WINDOW_KEYS];
    bool results[WINDOW_KEYS];
};

struct stream {
    tamis_sharded filter;
    struct hashing hashing;
    struct window *window;
    bool adds, keep_records;

    uint64_t sent, selected; /* selected: for load, keys that were new */
    bool invert, quiet, numbers;
    struct output output;
    bool open_end; /* the last record printed had no delimiter */
};

static void strings_add(struct strings *strings, size_t index, const void *bytes, size_t length) {
    strings->at = (uint8_t *)need_room(strings->at, &strings->capacity, strings->used + length, 1);
    if (length != 0) memcpy(strings->at + strings->used, bytes, length);
    strings->start[index] = strings->used;
    strings->used += length;
    strings->start[index + 1] = strings->used;
}

static _Noreturn void stream_failed(const struct stream *s) {
    const char *why = tamis_cluster_error(s->filter.cluster);
    if (!s->adds) die("%s", why);
    die("%s; %s keys were loaded: run the same command again", why, text_count(s->sent).at);
}

static void print_record(struct stream *s, size_t i) {
    const struct window *w = s->window;
    struct output *out = &s->output;
    if (s->open_end) output_bytes(out, &s->hashing.delimiter, 1);
    s->open_end = w->open_end && i + 1 == w->count;
    if (s->numbers) {
        output_number(out, w->number[i]);
        output_text(out, ":");
    }
    output_bytes(out, w->records.at + w->records.start[i],
                 w->records.start[i + 1] - w->records.start[i]);
}

/* Counts the selected records, or new keys, and prints them.  False: no more are needed. */
static bool use_results(struct stream *s) {
    for (size_t i = 0; i < s->window->count; i++) {
        if (s->window->results[i] == s->invert) continue;
        s->selected++;
        if (s->keep_records) print_record(s, i);
    }
    return s->output.error == 0 && !(s->quiet && s->selected != 0);
}

static bool flush(struct stream *s) {
    struct window *w = s->window;
    if (w->count == 0) return true;
    for (size_t i = 0; i < w->count; i++) {
        w->pointers[i] = w->keys.at + w->keys.start[i];
        w->lengths[i] = w->keys.start[i + 1] - w->keys.start[i];
    }
    const bool good =
        s->adds ? tamis_sharded_add(&s->filter, w->pointers, w->lengths, w->count, w->results)
                : tamis_sharded_contains(&s->filter, w->pointers, w->lengths, w->count, w->results);
    if (!good) {
        output_flush(&s->output);
        stream_failed(s);
    }
    s->sent += w->count;
    const bool more = use_results(s);
    w->count = w->keys.used = w->records.used = 0;
    return more;
}

/* Appends the records of a batch to the window; `end`: the end of the last one in its block. */
static bool take_batch(struct stream *s, const struct block *block, const struct batch *batch,
                       size_t end) {
    struct window *w = s->window;
    for (size_t i = 0; i < batch->count; i++) {
        const size_t next = i + 1 < batch->count ? batch->start[i + 1] : end;
        strings_add(&w->keys, w->count, batch->keys[i], batch->lengths[i]);
        if (s->keep_records) {
            strings_add(&w->records, w->count, block->data + batch->start[i],
                        next - batch->start[i]);
        }
        w->number[w->count++] = block->before + block->records + i + 1;
        w->open_end = block->unterminated && next == block->length;
        const bool full = w->count == WINDOW_KEYS || w->keys.used + w->records.used >= WINDOW_BYTES;
        if ((full || w->open_end) && !flush(s)) return false;
    }
    return true;
}

static bool stream_emit(void *context, struct block *block, struct batch *batch) {
    struct stream *s = (struct stream *)context;
    bool good = true, more = true;
    for (size_t at = 0; good && more && batch_next(batch, block, s->hashing.delimiter, &at);) {
        good = hash_batch(&s->hashing, block, batch);
        more = take_batch(s, block, batch, good ? at : batch->start[batch->count]);
        block->records += batch->count;
    }
    /* Records before one without a key are sent and printed before the error; and -q stops at the
     * first match. */
    const bool now = block->pause || !good || s->quiet;
    if (more && now) more = flush(s);
    if (now) output_flush(&s->output);
    return more && s->output.error == 0;
}

static void stream_run(struct stream *s, struct redis_request *r, const char *verb) {
    struct reader reader;
    s->hashing.form = r->common.keys.form;
    s->hashing.delimiter = r->common.keys.delimiter;
    s->window = (struct window *)need(sizeof *s->window);
    memset(s->window, 0, sizeof *s->window);
    reader_open_selecting(&reader, &r->common.inputs, s->hashing.delimiter, s->quiet,
                          s->keep_records);
    tamis_cluster *cluster = redis_connect(r);
    s->filter = redis_find(cluster, r);
    if (s->adds && s->filter.kind == TAMIS_SHARDED_STATIC) {
        die("'%s' is static: build a new file with all keys, and put that", s->filter.name);
    }
    output_open(&s->output, STDOUT_FILENO);
    const struct job job = {.emit = stream_emit, .context = s, .output = &s->output};
    progress_start(&r->common.run, verb, reader.total_bytes, s->keep_records);
    pipeline_run(&reader, &job, 1);
    flush(s);
    progress_end();
    free(s->window->keys.at);
    free(s->window->records.at);
    free(s->window);
    words_free(&r->common.inputs);
}

int redis_load_main(struct args *args) {
    struct redis_request r;
    tamis_sharded_facts facts;
    struct stream s = {.adds = true};
    redis_parse(args, &r);
    stream_run(&s, &r, "load");
    output_close(&s.output, "standard output");
    tamis_cluster *cluster = s.filter.cluster;
    if (!r.common.run.quiet) {
        redis_need(cluster, tamis_sharded_info(&s.filter, &facts));
        say("%s: loaded %s, %s of them new; now %s in %u shard%s, %s, %.2f bits/key", r.common.file,
            text_plural(s.sent, "key").at, text_count(s.selected).at,
            text_plural(facts.items, "key").at, (unsigned)s.filter.shards,
            s.filter.shards == 1 ? "" : "s", text_bytes(facts.bytes).at,
            facts.items != 0 ? 8.0 * (double)facts.bytes / (double)facts.items : 0.0);
    }
    tamis_cluster_free(cluster);
    return EXIT_DONE;
}

int redis_query_main(struct args *args) {
    struct redis_request r;
    redis_parse(args, &r);
    const bool quiet = r.common.run.quiet;
    struct stream s = {.invert = r.invert,
                       .quiet = quiet,
                       .numbers = r.numbers,
                       .keep_records = !r.counting && !quiet};
    stream_run(&s, &r, "query");
    if (r.counting && !quiet) {
        output_number(&s.output, s.selected);
        output_text(&s.output, "\n");
    }
    output_close(&s.output, "standard output");
    tamis_cluster_free(s.filter.cluster);
    return s.selected != 0 ? EXIT_DONE : EXIT_NONE;
}
