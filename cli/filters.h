/* filters.h - filters from files and to files, and what can go wrong with them in words */
#ifndef TAMIS_CLI_FILTERS_H
#define TAMIS_CLI_FILTERS_H

#include "keys.h"
#include "numbers.h"
#include "progress.h"

/* Which filter to open: its file and what is needed to read it. */
struct source {
    const char *path;
    const char *format; /* --from, if the content does not tell; NULL: it does */
    const uint8_t *secret;
    const char *key_file; /* where the secret came from, for messages */
    const char *part;     /* --part; NULL: the file holds one filter */
    const char *advice;   /* of a command without --from and --part; NULL: give those */
};

/* For the option --from or --to: the format of that name, with its parameters if it has some
 * ("leveldb:bits=10").  Dies if there is none. */
const char *format_of(const char *option, const char *name);

/* For -k: the kind of that name.  Dies if there is none. */
tamis_kind kind_of(const char *name);

enum open_mode {
    OPEN_MAPPED, /* read-only, its table compared with its checksums */
    OPEN_OWNED,  /* a copy in memory */
    OPEN_CHANGE  /* to be changed and given to filter_save_back */
};

/* Opens it or dies.  A filter that cannot be verified is never asked. */
tamis_filter *filter_open(const struct source *source, enum open_mode mode);

tamis_facts filter_facts(const tamis_filter *filter);

/* The same without a pass over the table: see tamis_info_brief. */
tamis_facts filter_facts_brief(const tamis_filter *filter);

/* Dies if an input, or the key file, is the file at `path`, or has the name of one that writing it
 * takes for a while (PATH.part, PATH.journal): it would be lost. */
void target_apart(const char *path, const struct words *inputs, const struct key_options *keys);

/* Dies unless a filter may be written to `path` ("-": standard output): it must not be there
 * already (but with `force`), be apart from the inputs, and its directory must take files.
 * Called before the work, so that nothing is done in vain. */
void target_check(const char *path, bool force, const struct words *inputs,
                  const struct key_options *keys);

/* Writes it there, atomically, through symbolic links; dies if that fails. */
void filter_save(const tamis_filter *filter, const char *path, bool force);

/* The same where there must be no such file; false, and nothing is done, if there is. */
bool filter_save_new(const tamis_filter *filter, const char *path);

/* Writes a filter that was opened with OPEN_CHANGE back to where it came from, which may be a part
 * of a file.  Returns the bytes that were written: fewer than it has if it was changed in place. */
uint64_t filter_save_back(const struct source *source, tamis_filter *filter);

/* Opens a file that holds several filters; NULL if it is not such a file.  Dies if it is one
 * that cannot be read. */
tamis_container *container_open(const struct source *source);

/* Does --part mean this one?  It may name a column of a Parquet file, too. */
bool part_is(const tamis_part *part, const char *name);

/* How many distinct keys it holds: "1,000", "about 1,000", or "at least 1,000" if it is so full
 * that nobody can tell. */
struct text filter_distinct(const tamis_facts *facts);

/* The same with "key" or "keys" behind it. */
struct text filter_distinct_keys(const tamis_facts *facts);

/* One line on stderr: kind, keys, distinct keys, bytes, bits per key, expected rate. */
void filter_summary(const char *path, const tamis_facts *facts, uint64_t keys);

/* The facts of a filter that was changed, of which `written` bytes were written.  After a change in
 * place a pass over the table would take longer than the change; and while there have been no more
 * adds than it has room for, nothing depends on it: then they are brief. */
tamis_facts filter_facts_changed(const tamis_filter *filter, uint64_t written, bool *brief);

/* EXIT_OVER and a sentence if the filter is over its capacity, else EXIT_DONE. */
int filter_capacity(const char *path, const tamis_facts *facts);

/* Dies with the sentence for a status that came from an operation on `path`. */
_Noreturn void filter_die(const char *path, tamis_status status);

#endif
