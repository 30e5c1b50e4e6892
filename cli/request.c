/* request.c - see request.h */
#include "request.h"

#define WAIT_MAX 1000000000 /* seconds */

static void request_take(struct request *r, int id, const struct args *args) {
    const struct binding list[] = {
        {OPT_FROM, .format = &r->format},
        {OPT_PART, .text = &r->part},
        {OPT_WAIT, .number = &r->wait, .flag = &r->waits, .high = WAIT_MAX},
        {OPT_OUTPUT, .text = &r->output},
        {OPT_FORCE, .flag = &r->force},
        {0}};
    if (id == ARG_OPERAND && r->file == NULL) {
        r->file = args->value;
    } else if (id == ARG_OPERAND) {
        words_push(&r->inputs, args->value);
    } else if (!args_store(args, id, list) && !key_options_take(&r->keys, id, args)) {
        run_options_take(&r->run, id, args);
    }
}

void request_parse(struct request *r, struct args *args, const struct binding *list) {
    for (int id; (id = args_next(args)) != ARG_END;) {
        if (!args_store(args, id, list)) request_take(r, id, args);
    }
}

void request_check(struct request *r) {
    if (r->file == NULL) die("missing FILE (the filter)");
    key_options_check(&r->keys);
}

void request_check_output(struct request *r) {
    if (r->output == NULL) die("missing -o FILE");
    key_options_check(&r->keys);
    target_check(r->output, r->force, &r->inputs, &r->keys);
}

struct hashing request_hashing(const struct request *r, const char *path,
                               const tamis_filter *filter, const tamis_facts *facts) {
    return (struct hashing){.filter = filter,
                            .form = key_form_merge(facts, &r->keys, path),
                            .delimiter = r->keys.delimiter,
                            .by_hash = facts->prehashed,
                            .key_bytes = facts->prehashed ? 0 : facts->key_bytes};
}

static struct source request_source(const struct request *r, const char *path) {
    return (struct source){.path = path,
                           .format = r->format,
                           .secret = key_options_secret(&r->keys),
                           .key_file = r->keys.key_file,
                           .part = r->part,
                           .advice = r->advice,
                           .threads = run_options_threads(&r->run),
                           .wait_ms = !r->waits      ? 0
                                      : r->wait == 0 ? -1
                                                     : (int64_t)r->wait * 1000};
}

tamis_filter *request_open(const struct request *r, const char *path, enum open_mode mode) {
    const struct source source = request_source(r, path);
    return filter_open(&source, mode);
}

tamis_filter *request_open_any(const struct request *r, const char *path, enum open_mode mode,
                               tamis_container **container) {
    struct source source = request_source(r, path);
    source.part = NULL;
    return filter_or_container_open(&source, mode, container);
}

uint64_t request_save(const struct request *r, tamis_filter *filter) {
    const struct source source = request_source(r, r->file);
    return filter_save_back(&source, filter);
}

tamis_filter *request_open_change(const struct request *r, const char *verb, tamis_facts *facts) {
    target_apart(r->file, &r->inputs, &r->keys); /* opening it may remove an old journal */
    progress_opening(&r->run, verb);
    tamis_filter *filter = request_open(r, r->file, OPEN_CHANGE);
    target_check(r->file, true, &r->inputs, &r->keys);
    *facts = filter_facts_brief(filter);
    return filter;
}

int request_output(struct request *r, tamis_filter *filter, const tamis_facts *facts,
                   uint64_t keys) {
    progress_phase("writing");
    filter_save(filter, r->output, r->force);
    progress_end();
    if (!r->run.quiet) filter_summary(r->output, facts, keys);
    tamis_free(filter);
    words_free(&r->inputs);
    return filter_capacity(r->output, facts);
}
