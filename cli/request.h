/* request.h - what commands that use one filter share:
 *
 *     tamis COMMAND [OPTIONS] FILE [KEYOPTS] [INPUT...] */
#ifndef TAMIS_CLI_REQUEST_H
#define TAMIS_CLI_REQUEST_H

#include "filters.h"
#include "pipeline.h"

struct request {
    const char *file, *format, *part;
    const char *advice; /* as in struct source */
    const char *output; /* -o */
    bool force;
    uint64_t wait; /* --wait, in seconds, */
    bool waits;    /* if it was given */
    struct key_options keys;
    struct run_options run;
    struct words inputs;
};
#define REQUEST_INIT \
    { .keys = KEY_OPTIONS_INIT }

/* Reads the command line: the options of the list, FILE and the inputs, --from, --part, --wait,
 * -o, -f, KEYOPTS, -j, --progress and -q. */
#define NO_BINDINGS (&(const struct binding){0})
void request_parse(struct request *request, struct args *args, const struct binding *list);

/* Then: dies if FILE is missing or KEYOPTS contradict each other. */
void request_check(struct request *request);

/* Or: dies if -o is missing, KEYOPTS contradict each other or the filter cannot be written there.
 */
void request_check_output(struct request *request);

/* How the keys of the inputs are made for a filter of the request. */
struct hashing request_hashing(const struct request *request, const char *path,
                               const tamis_filter *filter, const tamis_facts *facts);

/* Opens a filter of the request: FILE or one of --also. */
tamis_filter *request_open(const struct request *request, const char *path, enum open_mode mode);

/* The same for a file that may hold several filters, --part aside: see
 * filter_or_container_open. */
tamis_filter *request_open_any(const struct request *request, const char *path, enum open_mode mode,
                               tamis_container **container);

/* Writes a filter that was opened with OPEN_CHANGE back to FILE: see filter_save_back. */
uint64_t request_save(const struct request *request, tamis_filter *filter);

/* Opens FILE to change it.  The facts are brief. */
tamis_filter *request_open_change(const struct request *request, const char *verb,
                                  tamis_facts *facts);

/* Writes a filter to the file of -o, prints the summary and frees both; returns the exit code. */
int request_output(struct request *request, tamis_filter *filter, const tamis_facts *facts,
                   uint64_t keys);

#endif
