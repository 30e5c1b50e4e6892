/* compat.h - shared by the tests of compatible formats
 *
 * A row of a manifest is a filter with its keys, its probes and the system's own answers.  The
 * checks are the same for every system: tamis reads the filter, gives the same answers, finds all
 * members, writes the same bytes, stores it as .tamis and converts it back.
 * Uses the public header only. */
#ifndef TESTS_SUPPORT_COMPAT_H
#define TESTS_SUPPORT_COMPAT_H

#include "check.h"
#include "filters.h"
#include "tamis.h"
#include "vectors.h"

/* Decodes; a failure is a failed check and returns NULL. */
tamis_filter *compat_open(const char *format, const struct vector_bytes *bytes, const char *id);

/* The bytes are detected as `format`, or as nothing if `sure` is false; never as another format. */
void compat_detect(const char *format, const struct vector_bytes *bytes, bool sure, const char *id);

/* The answers for the probe file are those of the answer file ("-": nothing to compare). */
void compat_answers(const tamis_filter *f, const struct vector_keys *probes, const char *answers,
                    const char *id);

/* Every key is found. */
void compat_members(const tamis_filter *f, const struct vector_keys *keys, const char *id);

/* Encodes to `bytes`; so do a clone, a view, and the filter that went through .tamis. */
void compat_round_trip(const char *format, const struct vector_bytes *bytes, const char *id);

/* A filter that tamis made encodes to `bytes`; frees it. */
void compat_recreated(tamis_filter *f, const struct vector_bytes *bytes, const char *id);

/* Builds in the order of the keys; a failure is a failed check and returns NULL. */
tamis_filter *compat_build(const char *format, uint64_t capacity, double fpr,
                           const struct vector_keys *keys, const char *id);

/* All of it for a row whose filter is one file: read, answers, members, round trip. */
void compat_row(const char *format, bool sure, const char *file, const struct vector_keys *keys,
                const char *probes, const char *answers, const char *id);

/* A directory of malformed files: what the system rejects is rejected; what it accepts may be
 * rejected (stricter).  Columns id, file, result. */
void compat_malformed(const char *format, const char *table);

/* Every truncation and every change of a byte of the file, each opened, queried, changed and freed,
 * with an allocator that allows the bytes present and a mebibyte. Files longer than `max_bytes` are
 * skipped; returns false for them. */
bool compat_hostile(const char *format, const struct vector_bytes *bytes, size_t max_bytes,
                    const char *id);

/* Opens the bytes and calls every function on the result: nothing may crash. Returns the status of
 * decoding. */
tamis_status compat_exercise(const char *format, const uint8_t *bytes, size_t length,
                             const char *id);

/* A file that holds several filters: opens it; a failure is a failed check and returns NULL. */
tamis_container *container_open(const char *format, const struct vector_bytes *bytes,
                                const char *id);
/* Every key is possibly in it; the answers for the probes are those of the file ("-" for a probe:
 * the system queried no filter). */
void container_answers(const tamis_container *c, const char *part, const struct vector_keys *keys,
                       const struct vector_keys *probes, const char *answers, const char *id);
/* As compat_hostile, for every `step`-th byte and length. */
void container_hostile(const struct vector_bytes *bytes, size_t step, const char *id);
/* All three, for every table of keys and values that a manifest lists. */
void container_tables(const char *manifest, const char *format);

/* The keys in the form in which a system hashes them: as UTF-16, joined, or sorted. */
struct vector_keys compat_utf16(const struct vector_keys *keys);
struct vector_keys compat_without_tabs(const struct vector_keys *keys);
struct vector_keys compat_sorted(const struct vector_keys *keys);

#endif
