/* request.h - what the commands that use one filter have in common:
 *
 *     tamis COMMAND [OPTIONS] FILE [KEYOPTS] [INPUT...] */
#ifndef TAMIS_CLI_REQUEST_H
#define TAMIS_CLI_REQUEST_H

#include "filters.h"
#include "pipeline.h"

struct request {
    const char *file, *format, *part;
    const char *advice; /* as in struct source */
    struct key_options keys;
    struct run_options run;
    struct words inputs;
};
#define REQUEST_INIT \
    { .keys = KEY_OPTIONS_INIT }

/* Takes FILE and the inputs, --from, KEYOPTS, -j, --progress and -q. */
void request_take(struct request *request, int id, const struct args *args);

/* After the last one: dies if FILE is missing or the options contradict each other. */
void request_check(struct request *request);

/* One of the filters of the request: FILE, or one that is asked with it. */
tamis_filter *request_open(const struct request *request, const char *path, enum open_mode mode);

/* The same, if it is a file of several filters; else NULL. */
tamis_container *request_container(const struct request *request, const char *path);

/* Writes a filter that was opened with OPEN_CHANGE back to FILE: see filter_save_back. */
uint64_t request_save(const struct request *request, tamis_filter *filter);

#endif
