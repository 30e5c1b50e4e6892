/* filters.h - opening, saving and describing filters, and their errors */
#ifndef TAMIS_CLI_FILTERS_H
#define TAMIS_CLI_FILTERS_H

#include "keys.h"
#include "numbers.h"
#include "progress.h"

/* Which filter to open: its file and what is needed to read it. */
struct source {
    const char *path;
    const char *format; /* --from; NULL: detected */
    const uint8_t *secret;
    const char *key_file; /* where the secret came from, for messages */
    const char *part;     /* --part; NULL: the file holds one filter */
    const char *advice;   /* for commands without --from and --part; NULL: name these */
    int64_t wait_ms;      /* --wait, as in tamis_open_options */
    unsigned threads;     /* that verify a whole table */
};

/* Sets options->needs for a filter whose keys are all at hand: static, which is smallest; or, if no
 * static kind reaches the rate or fits in the size, one that takes adds.  `plan` and `build`
 * choose by this. */
void needs_of_known_keys(tamis_options *options);

/* Dies: -p is lower than the kind supports (TAMIS_AUTO: than any kind supports).  Names the lowest
 * power of two that is supported. */
_Noreturn void fpr_too_low(tamis_kind kind, double fpr);

/* The names of a format's parameters, for a message. */
const char *parameters_of(const char *format);

enum open_mode {
    OPEN_MAPPED, /* read-only, its table compared with its checksums */
    OPEN_QUERY,  /* the same, but compared piece by piece as queries touch it */
    OPEN_OWNED,  /* a copy in memory */
    OPEN_CHANGE  /* to be changed and given to filter_save_back */
};

/* Opens it or dies.  A filter that cannot be verified is never used. */
tamis_filter *filter_open(const struct source *source, enum open_mode mode);

/* The same for a file that may hold several filters: then returns NULL and sets *container. */
tamis_filter *filter_or_container_open(const struct source *source, enum open_mode mode,
                                       tamis_container **container);

/* Dies if a query has touched a damaged part of a filter opened with OPEN_QUERY.  Call it before
 * anything is done with answers. */
void filter_check_queries(const tamis_filter *filter, const char *path);

tamis_facts filter_facts(const tamis_filter *filter);

/* The same without a pass over the table: see tamis_info_brief. */
tamis_facts filter_facts_brief(const tamis_filter *filter);

/* Dies if an input or the key file is the file at `path`, or its journal: it would be
 * overwritten. */
void target_apart(const char *path, const struct words *inputs, const struct key_options *keys);

/* Dies unless a filter may be written to `path` ("-": standard output): it must not exist
 * (except with `force`), must not be an input, and its directory must be writable.  Called before
 * the work. */
void target_check(const char *path, bool force, const struct words *inputs,
                  const struct key_options *keys);

/* Writes it there, atomically, through symbolic links; dies if that fails. */
void filter_save(const tamis_filter *filter, const char *path, bool force);

/* The same, never to standard output; false, and nothing is done, if it exists and `replace` is
 * false. */
bool filter_save_file(const tamis_filter *filter, const char *path, bool replace);

/* Writes a filter that was opened with OPEN_CHANGE back to its file, or its part of a file. Returns
 * the bytes written: fewer than it has if it was changed in place. */
uint64_t filter_save_back(const struct source *source, tamis_filter *filter);

/* Opens a file that holds several filters; NULL if it is not such a file.  Dies if it is one
 * that cannot be read. */
tamis_container *container_open(const struct source *source);

/* Does --part name this part, or its column of a Parquet file? */
bool part_is(const tamis_part *part, const char *name);

/* How many distinct keys it holds: "1,000", "about 1,000", or "at least 1,000" if it is
 * saturated. */
struct text filter_distinct(const tamis_facts *facts);

/* The same with "key" or "keys" behind it. */
struct text filter_distinct_keys(const tamis_facts *facts);

/* One line on stderr: kind, keys, distinct keys, bytes, bits per key, expected rate. */
void filter_summary(const char *path, const tamis_facts *facts, uint64_t keys);

/* The facts of a filter after a change that wrote `written` bytes.  They are brief after a change
 * in place that left it within its capacity: a pass over the table would take longer than the
 * change. */
tamis_facts filter_facts_changed(const tamis_filter *filter, uint64_t written, bool *brief);

/* EXIT_OVER and a sentence if the filter is over its capacity, else EXIT_DONE. */
int filter_capacity(const char *path, const tamis_facts *facts);

/* Dies with the sentence for a status that came from an operation on `path`. */
_Noreturn void filter_die(const char *path, tamis_status status);

#endif
