/* foreign.h - what the tests of other systems' filters share
 *
 * A row of a manifest is a filter with its keys, its probes and the system's own answers.  It
 * is checked in the same way whatever the system: it is read, every answer is the same, all
 * members are there, it is written back with the same bytes, kept as .tamis and turned back.
 * Uses the public header only. */
#ifndef TESTS_SUPPORT_FOREIGN_H
#define TESTS_SUPPORT_FOREIGN_H

#include "check.h"
#include "filters.h"
#include "tamis.h"
#include "vectors.h"

/* Decodes; a failure is a failed check and gives NULL. */
tamis_filter *foreign_open(const char *format, const struct vector_bytes *bytes, const char *id);

/* The bytes are recognised as `format`, or as nothing if `sure` is false; never as another. */
void foreign_detect(const char *format, const struct vector_bytes *bytes, bool sure,
                    const char *id);

/* The answers for the probe file are those of the answer file ("-": nothing to compare). */
void foreign_answers(const tamis_filter *f, const struct vector_keys *probes, const char *answers,
                     const char *id);

/* Every key is there. */
void foreign_members(const tamis_filter *f, const struct vector_keys *keys, const char *id);

/* Encodes to `bytes`; so do a clone, a view, and the filter that went through .tamis. */
void foreign_round_trip(const char *format, const struct vector_bytes *bytes, const char *id);

/* A filter that tamis made encodes to `bytes`; frees it. */
void foreign_recreated(tamis_filter *f, const struct vector_bytes *bytes, const char *id);

/* Builds in the order of the keys; a failure is a failed check and gives NULL. */
tamis_filter *foreign_build(const char *format, uint64_t capacity, double rate,
                            const struct vector_keys *keys, const char *id);

/* All of it for a row whose filter is one file: read, answers, members, round trip. */
void foreign_row(const char *format, bool sure, const char *file, const struct vector_keys *keys,
                 const char *probes, const char *answers, const char *id);

/* A directory of malformed files: what the system rejects is rejected; what it accepts may be
 * rejected (stricter).  Columns id, file, result. */
void foreign_malformed(const char *format, const char *table);

/* Every truncation and every change of a byte of the file, each opened, asked, changed and
 * freed, with an allocator that allows the bytes present and a mebibyte.  Files longer than
 * `most` are passed over; returns false for them. */
bool foreign_hostile(const char *format, const struct vector_bytes *bytes, size_t most,
                     const char *id);

/* Opens whatever this is and calls everything on it: nothing may crash.  Returns what decoding
 * said. */
tamis_status foreign_exercise(const char *format, const uint8_t *bytes, size_t length,
                              const char *id);

/* A file that holds several filters: opens it; a failure is a failed check and gives NULL. */
tamis_container *container_open(const char *format, const struct vector_bytes *bytes,
                                const char *id);
/* Every key may be in it; the answers for the probes are those of the file ("-" for a probe: the
 * system asked no filter). */
void container_answers(const tamis_container *c, const char *part, const struct vector_keys *keys,
                       const struct vector_keys *probes, const char *answers, const char *id);
/* As foreign_hostile, for every `step`-th byte and length. */
void container_hostile(const struct vector_bytes *bytes, size_t step, const char *id);
/* All three, for every table of keys and values that a manifest lists. */
void container_tables(const char *manifest, const char *format);

/* The keys of a file and, for typed columns, as the system hashes them. */
struct vector_keys foreign_utf16(const struct vector_keys *keys);
struct vector_keys foreign_without_tabs(const struct vector_keys *keys);
struct vector_keys foreign_sorted(const struct vector_keys *keys);

#endif
