/* request.c - see request.h */
#include "request.h"

void request_take(struct request *r, int id, const struct args *args) {
    if (id == ARG_OPERAND && r->file == NULL) {
        r->file = args->value;
    } else if (id == ARG_OPERAND) {
        words_push(&r->inputs, args->value);
    } else if (id == OPT_FROM) {
        r->format = format_of("--from", args->value);
    } else if (id == OPT_PART) {
        r->part = args->value;
    } else if (!key_options_take(&r->keys, id, args)) {
        run_options_take(&r->run, id, args);
    }
}

void request_check(struct request *r) {
    if (r->file == NULL) die("which filter? Give its file");
    key_options_check(&r->keys);
}

static struct source request_source(const struct request *r, const char *path) {
    return (struct source){path,    r->format, key_options_secret(&r->keys), r->keys.key_file,
                           r->part, r->advice};
}

tamis_filter *request_open(const struct request *r, const char *path, enum open_mode mode) {
    const struct source source = request_source(r, path);
    return filter_open(&source, mode);
}

tamis_container *request_container(const struct request *r, const char *path) {
    const struct source source = request_source(r, path);
    return container_open(&source);
}

uint64_t request_save(const struct request *r, tamis_filter *filter) {
    const struct source source = request_source(r, r->file);
    return filter_save_back(&source, filter);
}
