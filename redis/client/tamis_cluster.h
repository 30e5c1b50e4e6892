/* tamis_cluster.h - one logical filter over many slots of a Redis Cluster
 *
 * A Redis key lives in one slot, so one BF or CF key is one node's memory and one node's CPU.
 * Here a filter NAME is spread over S ordinary filters, its shards, which the cluster places,
 * moves and replicates like any other keys:
 *
 *     NAME             a hash: format=tamis-shards-1 kind shards capacity rate owner
 *     NAME:{0}         a BF or CF filter           \
 *     NAME:{1}         another                      } each item is in exactly one of them:
 *     ...                                           }
 *     NAME:{S-1}                                   /
 *
 *     shard(item) = ((crc32(item) * 0x9E3779B1 mod 2^32) * S) >> 32
 *
 * crc32 is that of zlib and gzip: every language has it, so a client of this scheme is three
 * lines in any of them.  The multiplication (2^32 / golden ratio) spreads what a checksum of
 * similar keys leaves together.  Since an item is asked of one shard, the rate of false
 * positives is the shards' own.  S is fixed when the filter is made; shard i of two filters is
 * in the same slot, so BF.MERGE works shard by shard.  A NAME that is itself a BF or CF key, or
 * that a file was put to, is a filter of one shard: the calls below take it as well, and so does a
 * server that is not in a cluster.
 *
 *     tamis_cluster_options where = {.servers = "10.0.0.1:6379,10.0.0.2:6379"};
 *     tamis_cluster *cluster = tamis_cluster_new(&where);
 *     tamis_sharded seen;
 *     if (!tamis_cluster_connect(cluster) || !tamis_sharded_find(cluster, "seen", &seen) ||
 *         !tamis_sharded_contains(&seen, keys, lengths, count, maybe)) {
 *         fprintf(stderr, "%s\n", tamis_cluster_error(cluster));
 *     }
 *     tamis_cluster_free(cluster);
 *
 * What it promises
 *   - Commands of one call go to all nodes at once, pipelined; the call returns when all have
 *     been answered.  Tens of thousands of keys in a call are a good number.
 *   - MOVED and ASK are followed, so a slot may move during a call.  TRYAGAIN, CLUSTERDOWN,
 *     LOADING and lost connections are tried again, with a new map of the cluster, as long as
 *     `patience_ms` has not passed without progress.  All commands that change something may be
 *     repeated without harm.
 *   - With `replicas` a write counts when so many replicas have it (WAIT), and is sent again
 *     otherwise: then the death of a primary loses nothing that a call has returned for.
 *   - A shard that is not there (evicted, deleted) is an error, never "absent".
 *   - A call that returns false has set tamis_cluster_error; of an add that failed any part may
 *     have been done, and it may be repeated.
 *
 * One cluster object belongs to one thread at a time.  No function prints, or raises SIGPIPE.
 * Needs libhiredis, and OpenSSL for TLS.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TAMIS_CLUSTER_H
#define TAMIS_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tamis_cluster tamis_cluster;

typedef struct tamis_cluster_options {
    const char *servers;  /* "host:port,..."; any node will do.  NULL: 127.0.0.1:6379 */
    const char *user;     /* NULL: the default user; else there must be a password */
    const char *password; /* NULL: none */
    uint32_t timeout_ms;  /* for a connection or an answer; 0: 5 s */
    uint32_t patience_ms; /* how long to try without progress; 0: 60 s */
    uint32_t replicas;    /* writes count when so many replicas have them */
    bool tls;             /* speak TLS, with all nodes */
    const char *cacert;   /* PEM file: trust what it has signed.  NULL: what the system trusts, and
                             the certificate must then be for the host */
    const char *cert;     /* PEM file: the certificate to show.  NULL: none */
    const char *key;      /* PEM file: its key.  NULL: in `cert` as well */
} tamis_cluster_options;

/* Copies the options.  NULL if there is no memory. */
tamis_cluster *tamis_cluster_new(const tamis_cluster_options *options);
void tamis_cluster_free(tamis_cluster *cluster);

/* Finds a server that answers and learns which node has which slot. */
bool tamis_cluster_connect(tamis_cluster *cluster);

/* Why the last call failed, as a sentence. */
const char *tamis_cluster_error(const tamis_cluster *cluster);

/* Primaries that have slots; 1 for a server that is not in a cluster. */
size_t tamis_cluster_nodes(const tamis_cluster *cluster);
bool tamis_cluster_is_single(const tamis_cluster *cluster);

/* Redirections followed and commands sent again so far. */
uint64_t tamis_cluster_redirects(const tamis_cluster *cluster);
uint64_t tamis_cluster_resends(const tamis_cluster *cluster);

/* ------------------------------------------------------------------ filters */

typedef enum tamis_sharded_kind {
    TAMIS_SHARDED_BLOOM,
    TAMIS_SHARDED_CUCKOO,
    TAMIS_SHARDED_STATIC /* a file that was put: one key, whose keys do not change */
} tamis_sharded_kind;

#define TAMIS_SHARDS_MAX 16384

typedef struct tamis_sharded {
    tamis_cluster *cluster;
    char name[512];
    bool plain; /* NAME is the filter itself: one shard of that key */
    uint32_t shards;
    tamis_sharded_kind kind;
    uint64_t capacity; /* of all shards, as it was asked for; 0 if it is not known */
    double rate;       /* 0 if it is not known */
} tamis_sharded;

/* The shard of a key, from 0 to shards - 1. */
uint32_t tamis_shard_of(const void *key, size_t length, uint32_t shards);

/* Makes an empty filter of `want->shards` shards for `want->capacity` keys in all.  It grows
 * beyond that.  Fails if there is one of that name, or anything else where it should be; and if a
 * rate is asked of a cuckoo filter where only another module than that of tamis is. */
bool tamis_sharded_reserve(tamis_cluster *cluster, const char *name, const tamis_sharded *want);

/* Looks a filter up and makes sure that all of its shards are there. */
bool tamis_sharded_find(tamis_cluster *cluster, const char *name, tamis_sharded *out);

/* Adds keys.  `fresh[i]`, if not NULL: key i was certainly not there before.  (A key that had to
 * be sent twice may be told as known: the first time may have arrived.) */
bool tamis_sharded_add(tamis_sharded *filter, const void *const *keys, const size_t *lengths,
                       size_t count, bool *fresh);

/* maybe[i]: key i may be in it; false is certain. */
bool tamis_sharded_contains(tamis_sharded *filter, const void *const *keys, const size_t *lengths,
                            size_t count, bool *maybe);

typedef struct tamis_sharded_facts {
    uint64_t items;    /* that the shards count, in all */
    uint64_t capacity; /* as they are now */
    uint64_t bytes;
    uint64_t stages;       /* sub-filters in all: more than shards when some have grown */
    uint64_t fewest, most; /* items of the emptiest and of the fullest shard */
    /* Of a static filter alone: */
    char kind[16]; /* "fuse", ...; "none" as long as no file is whole */
    double rate;
    bool keyed;
    uint64_t coming, received; /* bytes of a file that is being put, and those that are there */
} tamis_sharded_facts;
bool tamis_sharded_info(tamis_sharded *filter, tamis_sharded_facts *facts);

/* Deletes the filter, or what is left of it.  `*existed`: there was something to delete. */
bool tamis_sharded_drop(tamis_cluster *cluster, const char *name, bool *existed);

/* ------------------------------------------------------------- whole files */

#define TAMIS_CLUSTER_FILE_MAX ((uint64_t)1 << 36) /* bytes that the module takes */

typedef struct tamis_cluster_file {
    const void *bytes; /* of a .tamis file; they must not change meanwhile */
    uint64_t length;
    const uint8_t *secret; /* 16 bytes, of a keyed filter; NULL: it is not keyed */
    /* Called now and then with the bytes that are there; false stops it.  NULL: nobody asks. */
    bool (*progress)(void *context, uint64_t bytes);
    void *context;
} tamis_cluster_file;

/* Puts a file at the key NAME, to be asked there by tamis_sharded_contains.  A static filter that
 * is there goes on answering until all of the new one has come and is found to be good; anything
 * else at that key is an error.  After a failure the error says which of the two answers.  Needs
 * the module of tamis on the servers; other modules have no such command. */
bool tamis_cluster_put(tamis_cluster *cluster, const char *name, const tamis_cluster_file *file);

#ifdef __cplusplus
}
#endif

#endif
