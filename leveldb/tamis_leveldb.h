/* tamis_leveldb.h - a filter policy for LevelDB
 *
 * LevelDB queries a filter before it reads a data block from disk.  At 10 bits per key, its own
 * Bloom filter lets one absent key in a hundred through to the disk.  This policy lets one in a
 * thousand through in the same bytes, or one in a hundred in three quarters of the bytes.
 *
 *     tamis_leveldb_options filtering = TAMIS_LEVELDB_INIT;
 *     filtering.bits_per_key = 10;
 *     leveldb_filterpolicy_t *policy;
 *     if (tamis_leveldb_policy(&filtering, &policy) != TAMIS_OK) ...
 *     leveldb_options_set_filter_policy(options, policy);
 *     leveldb_t *db = leveldb_open(options, "/var/lib/data", &error);
 *     ...
 *     leveldb_close(db);
 *     leveldb_filterpolicy_destroy(policy);          // after the database is closed
 *
 * A table stores the name of the policy that made its filters, and LevelDB uses only filters of the
 * policy that it is opened with.  A database can change its policy at any time: its old tables are
 * then read without a filter until a compaction rewrites them.  Kind, bits and false positive rate
 * can change without that, because each filter describes itself.
 *
 * Link with libtamis-leveldb (pkg-config tamis-leveldb, CMake tamis::leveldb).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_LEVELDB_H
#define TAMIS_LEVELDB_H

#include <leveldb/c.h>
#include <tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tamis_leveldb_options {
    size_t struct_size;  /* sizeof(tamis_leveldb_options), set by TAMIS_LEVELDB_INIT */
    tamis_kind kind;     /* TAMIS_AUTO: the smallest; TAMIS_BLOOM: half as large again, but
                            faster to build: see tamis_small_build */
    double bits_per_key; /* at most this (1 to 100) per distinct key of a block, at the lowest false
                            positive rate possible; 0: by `fpr`, or 10 if that is 0 too */
    double fpr;          /* false positive rate, in (0,1), at the fewest bits; 0: by bits_per_key */
    const uint8_t *secret; /* TAMIS_SECRET_BYTES bytes, copied: an attacker without them cannot
                              choose keys that pass the filters.  Needed each time the database is
                              opened: with another secret, or none, its filters are not used */
    bool builtin;          /* LevelDB's own format, byte for byte: see below */
} tamis_leveldb_options;

#ifdef __cplusplus
#define TAMIS_LEVELDB_INIT tamis_leveldb_options_default()
#else
#define TAMIS_LEVELDB_INIT \
    { .struct_size = sizeof(tamis_leveldb_options) }
#endif

/* Creates a policy; leveldb_filterpolicy_destroy frees it.  Any number of threads may use it at
 * once.
 *
 * With `builtin` it is LevelDB's own policy (leveldb_filterpolicy_create_bloom), with the fewest
 * whole bits per key that reach the rate: for a database that other programs read too.  Then kind
 * must be AUTO or BLOOM, and there is no secret.
 *
 * E_ARGUMENT, E_FPR, E_KIND, E_UNSUPPORTED (a kind without a small form), E_FPR_TOO_LOW,
 * E_NOMEM; then `*out` is NULL. */
TAMIS_API tamis_status tamis_leveldb_policy(const tamis_leveldb_options *options,
                                            leveldb_filterpolicy_t **out);

/* ------------------------------------------------------------------ for other bindings */

/* The parts of the policy, for bindings that do not use leveldb/c.h: a C++ class derived from
 * leveldb::FilterPolicy calls these (see examples/sstable).  `builtin` is
 * E_UNSUPPORTED here. */
typedef struct tamis_leveldb tamis_leveldb;
TAMIS_API tamis_status tamis_leveldb_create(const tamis_leveldb_options *options,
                                            tamis_leveldb **out);

/* NULL is allowed. */
TAMIS_API void tamis_leveldb_free(tamis_leveldb *policy);

/* The name under which tables store the filters; valid as long as the policy. */
TAMIS_API const char *tamis_leveldb_name(const tamis_leveldb *policy);

/* Returns a filter of `count` keys (duplicates are fine), from malloc; `*length` is at least 1.  It
 * cannot fail: out of memory, it returns a filter that matches everything, and if even that cannot
 * be allocated it aborts, because LevelDB takes a missing filter for an empty one. */
TAMIS_API char *tamis_leveldb_filter(const tamis_leveldb *policy, const char *const *keys,
                                     const size_t *lengths, int count, size_t *length);

/* Is the key possibly in the filter?  true for bytes that no version of this library wrote. */
TAMIS_API bool tamis_leveldb_match(const tamis_leveldb *policy, const char *key, size_t length,
                                   const char *filter, size_t filter_length);

#ifdef __cplusplus
}
static inline tamis_leveldb_options tamis_leveldb_options_default() {
    tamis_leveldb_options o = tamis_leveldb_options();
    o.struct_size = sizeof o;
    return o;
}
#endif
#endif
