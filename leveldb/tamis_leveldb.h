/* tamis_leveldb.h - a filter policy for LevelDB
 *
 * LevelDB asks a filter before it reads a block of data from the disk.  Its own filter, at 10
 * bits per key, lets one absent key in a hundred through to the disk; this one, in the same
 * bytes, one in a thousand; or as few as LevelDB's in three quarters of the bytes.
 *
 *     tamis_leveldb_options want = TAMIS_LEVELDB_INIT;
 *     want.bits_per_key = 10;
 *     leveldb_filterpolicy_t *policy;
 *     if (tamis_leveldb_policy(&want, &policy) != TAMIS_OK) ...
 *     leveldb_options_set_filter_policy(options, policy);
 *     leveldb_t *db = leveldb_open(options, "/var/lib/data", &error);
 *     ...
 *     leveldb_close(db);
 *     leveldb_filterpolicy_destroy(policy);          // after the database is closed
 *
 * A table remembers the name of the policy that made its filters, and LevelDB asks only filters
 * of the name that it is opened with: a database can change its policy at any time, and its old
 * tables are then read as if they had no filter, until a compaction writes them anew.  How keys
 * go in (kind, bits, rate) is free to change, and old filters stay in use: each says of itself
 * how to read it.
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
    size_t struct_size;    /* sizeof(tamis_leveldb_options), set by TAMIS_LEVELDB_INIT */
    tamis_kind kind;       /* TAMIS_AUTO: the smallest; TAMIS_BLOOM: built faster and larger by
                              half: see tamis_small_build */
    double bits_per_key;   /* no more than this (1 to 100) for each distinct key of a block, and the
                              lowest rate that they allow; 0: as `rate` says, and 10 without one */
    double rate;           /* in (0,1): as few bits as keep to it, if there are no bits_per_key */
    const uint8_t *secret; /* TAMIS_SECRET_BYTES bytes: nobody without them can choose keys that
                              pass the filters.  Copied.  Needed whenever the database is opened:
                              with another one, or none, its filters are not asked */
    bool builtin;          /* LevelDB's own filters, byte for byte: see below */
} tamis_leveldb_options;

#ifdef __cplusplus
#define TAMIS_LEVELDB_INIT tamis_leveldb_options_default()
#else
#define TAMIS_LEVELDB_INIT \
    { .struct_size = sizeof(tamis_leveldb_options) }
#endif

/* Makes a policy; leveldb_filterpolicy_destroy drops it.  Its calls may come from any number of
 * threads at once.
 *
 * With `builtin` it is LevelDB's own (leveldb_filterpolicy_create_bloom), with the fewest whole
 * bits per key that reach the rate: for a database that other programs read as well, whose
 * filters have to stay as they are.  There kind is AUTO or BLOOM and there is no secret.
 *
 * E_ARGUMENT, E_RATE, E_KIND, E_UNSUPPORTED (a kind that cannot be a tiny filter), E_TOO_FINE,
 * E_NOMEM; then `*out` is NULL. */
TAMIS_API tamis_status tamis_leveldb_policy(const tamis_leveldb_options *options,
                                            leveldb_filterpolicy_t **out);

/* ------------------------------------------------------------------ for other bindings */

/* What the policy is made of, for those who do not come through leveldb/c.h: in C++ a class
 * derived from leveldb::FilterPolicy calls these (examples/sstable has one).  `builtin` is
 * E_UNSUPPORTED here. */
typedef struct tamis_leveldb tamis_leveldb;
TAMIS_API tamis_status tamis_leveldb_create(const tamis_leveldb_options *options,
                                            tamis_leveldb **out);

/* NULL is allowed. */
TAMIS_API void tamis_leveldb_free(tamis_leveldb *policy);

/* The name under which tables keep the filters; lives as long as the policy. */
TAMIS_API const char *tamis_leveldb_name(const tamis_leveldb *policy);

/* A filter of `count` keys, repeats welcome, from malloc; `*length` is at least 1.  It cannot
 * fail: without memory for a filter it is one that matches everything, and without memory for
 * that the program is aborted, since an absent filter is taken for one of no keys by LevelDB. */
TAMIS_API char *tamis_leveldb_filter(const tamis_leveldb *policy, const char *const *keys,
                                     const size_t *lengths, int count, size_t *length);

/* Might the key be among those that the filter was made of?  true for bytes that no version of
 * this library wrote. */
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
