/* tamis_cluster.h - one filter spread over a Redis Cluster, for C programs and `tamis redis`
 *
 * A Redis key lives in one slot, so a BF or CF key uses the memory and CPU of one node. Here a
 * filter NAME is spread over S ordinary filters, its shards, which the cluster places, moves and
 * replicates like other keys:
 *
 *     NAME             a hash: format=tamis-shards-1 kind shards capacity rate owner
 *     NAME:{0}         a BF or CF filter           \
 *     NAME:{1}         another                      } each item is in exactly one of them:
 *     ...                                           }
 *     NAME:{S-1}                                   /
 *
 *     shard(item) = ((crc32(item) * 0x9E3779B1 mod 2^32) * S) >> 32
 *
 * crc32 is that of zlib and gzip, available in every language, so a client of this scheme takes
 * three lines. The multiplication (2^32 / golden ratio) spreads the checksums of similar keys.  An
 * item is queried in one shard, so the false positive rate is that of one shard.  S is fixed when
 * the filter is created.  Shard i of all filters is in the same slot, so BF.MERGE works shard by
 * shard.  A NAME that is a BF, CF or static filter itself is a filter of one shard: the functions
 * below accept it too, and also a server that is not in a cluster.
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
 * Guarantees
 *   - A call sends its commands to all nodes at once, pipelined, and returns when all have replied.
 *     Pass tens of thousands of keys per call.
 *   - MOVED and ASK are followed, so slots may move during a call.  After TRYAGAIN, CLUSTERDOWN,
 *     LOADING or a lost connection a command is sent again with a new slot map, until there was no
 *     progress for `patience_ms`.  All commands that write may be repeated.
 *   - With `replicas` a call returns when that number of replicas have its writes (WAIT), and sends
 *     writes again that too few have.  So the failure of a primary loses no write of a finished
 * call.
 *   - A missing shard (evicted, deleted) is an error, never "definitely not in the set".
 *   - A call that returns false has set tamis_cluster_error.  An add that failed may have added
 * some keys, and may be repeated.
 *
 * A cluster object is used by one thread at a time.  No function prints or raises SIGPIPE. Needs
 * libhiredis, and OpenSSL for TLS.
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
    const char *servers;  /* "host:port,..."; any nodes.  NULL: 127.0.0.1:6379 */
    const char *user;     /* NULL: the default user; otherwise needs a password */
    const char *password; /* NULL: none */
    uint32_t timeout_ms;  /* for a connection or a reply; 0: 5 s */
    uint32_t patience_ms; /* maximum time without progress; 0: 60 s */
    uint32_t replicas;    /* number of replicas that must have a write */
    bool tls;             /* use TLS with all nodes */
    const char *cacert; /* PEM file of the authority to trust.  NULL: the system's authorities; the
                           certificate must then match the host */
    const char *cert;   /* PEM file: client certificate.  NULL: none */
    const char *key;    /* PEM file: its key.  NULL: `cert` contains it */
} tamis_cluster_options;

/* Copies the options.  NULL if memory runs out. */
tamis_cluster *tamis_cluster_new(const tamis_cluster_options *options);
void tamis_cluster_free(tamis_cluster *cluster);

/* Connects to a server and reads the slot map. */
bool tamis_cluster_connect(tamis_cluster *cluster);

/* Why the last call failed. */
const char *tamis_cluster_error(const tamis_cluster *cluster);

/* The number of primaries with slots; 1 for a server that is not in a cluster. */
size_t tamis_cluster_nodes(const tamis_cluster *cluster);
bool tamis_cluster_is_single(const tamis_cluster *cluster);

/* Redirections followed and commands sent again so far. */
uint64_t tamis_cluster_redirects(const tamis_cluster *cluster);
uint64_t tamis_cluster_resends(const tamis_cluster *cluster);

/* ------------------------------------------------------------------ filters */

typedef enum tamis_sharded_kind {
    TAMIS_SHARDED_BLOOM,
    TAMIS_SHARDED_CUCKOO,
    TAMIS_SHARDED_STATIC /* a loaded file: one key, no adds */
} tamis_sharded_kind;

#define TAMIS_SHARDS_MAX 16384

typedef struct tamis_sharded {
    tamis_cluster *cluster;
    char name[512];
    bool plain; /* NAME is the filter itself: one shard */
    uint32_t shards;
    tamis_sharded_kind kind;
    uint64_t capacity; /* requested, of all shards; 0: unknown */
    double fpr;        /* false positive rate; 0: unknown */
} tamis_sharded;

/* The shard of a key, from 0 to shards - 1. */
uint32_t tamis_shard_of(const void *key, size_t length, uint32_t shards);

/* Creates an empty filter of `want->shards` shards for `want->capacity` keys in all; it grows
 * beyond that.  Fails if the name or the key of a shard is in use, or if `want` has a rate for a
 * cuckoo filter and the servers' module is not tamis, which alone keeps it. */
bool tamis_sharded_reserve(tamis_cluster *cluster, const char *name, const tamis_sharded *want);

/* Looks up a filter and checks that all of its shards exist. */
bool tamis_sharded_find(tamis_cluster *cluster, const char *name, tamis_sharded *out);

/* Adds keys.  Sets fresh[i], if not NULL, if key i was definitely not in the filter before.  (A key
 * that was sent twice may be reported as known, because its first command may have arrived.) */
bool tamis_sharded_add(tamis_sharded *filter, const void *const *keys, const size_t *lengths,
                       size_t count, bool *fresh);

/* Sets maybe[i] if key i is possibly in the filter; false: definitely not. */
bool tamis_sharded_contains(tamis_sharded *filter, const void *const *keys, const size_t *lengths,
                            size_t count, bool *maybe);

typedef struct tamis_sharded_facts {
    uint64_t items;    /* sum of the shards' counts */
    uint64_t capacity; /* of the shards as they are now */
    uint64_t bytes;
    uint64_t stages;               /* sub-filters in all; more than shards if some have grown */
    uint64_t items_min, items_max; /* items in the emptiest and in the fullest shard */
    /* For static filters only: */
    char kind[16]; /* "fuse", ...; "none" until a file is complete */
    double fpr;
    bool keyed;
    uint64_t upload_bytes,
        upload_received; /* bytes of a file that is being loaded, and those received */
} tamis_sharded_facts;
bool tamis_sharded_info(tamis_sharded *filter, tamis_sharded_facts *facts);

/* Deletes the filter or its remains.  Sets `*existed` if there was anything to delete. */
bool tamis_sharded_drop(tamis_cluster *cluster, const char *name, bool *existed);

/* ------------------------------------------------------------- whole files */

#define TAMIS_CLUSTER_FILE_MAX ((uint64_t)1 << 36) /* maximum size that the module accepts */

typedef struct tamis_cluster_file {
    const void *bytes; /* of a .tamis file; must not change during the call */
    uint64_t length;
    const uint8_t *secret; /* 16 bytes for a keyed filter; NULL: not keyed */
    /* Called with the bytes received so far; false stops the upload.  NULL: not called. */
    bool (*progress)(void *context, uint64_t bytes);
    void *context;
} tamis_cluster_file;

/* Loads a file into the key NAME, for tamis_sharded_contains.  An existing static filter is queried
 * until the new one is complete and verified; any other key is an error.  After a failure the error
 * names the one in use.  Needs the tamis module on the servers. */
bool tamis_cluster_put(tamis_cluster *cluster, const char *name, const tamis_cluster_file *file);

#ifdef __cplusplus
}
#endif

#endif
