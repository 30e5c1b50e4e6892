/* tamis_leveldb.c - the filter policy
 *
 * LevelDB passes the keys of the data blocks that begin within 2 KiB of a table: tens of user keys
 * (without its own eight bytes), sorted, with one duplicate per stored version.  It appends the
 * result to the filter block and passes it back, with a key, for every read.  So the filters are
 * small ones (tamis_small_build), without a header.
 *
 *     keys --tamis_hash--> hashes --drop neighbours that are equal--> tamis_small_build --> bytes
 *
 * Bits are counted per distinct key; LevelDB's own filter counts duplicates too.
 *
 * A policy never changes, so threads share it without a lock.
 *
 * The name is the contract between a table and its reader.  It identifies how bytes are read, not
 * how they were chosen: kinds and rates may differ between filters, but another secret hashes keys
 * differently, so the id of the secret is part of the name. */
#include "tamis_leveldb.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "tamis.SmallFilter1"
#define BITS_DEFAULT 10
#define BITS_MAX 100

struct tamis_leveldb {
    tamis_options want;
    double bits_per_key;  /* 0: by rate */
    tamis_filter *hasher; /* an empty filter, used for its hash function */
    char name[sizeof NAME + 17];
};

static tamis_status options_read(const tamis_leveldb_options *options,
                                 tamis_leveldb_options *copy) {
    memset(copy, 0, sizeof *copy);
    if (options == NULL || options->struct_size < sizeof options->struct_size) {
        return TAMIS_E_ARGUMENT;
    }
    const size_t known = options->struct_size < sizeof *copy ? options->struct_size : sizeof *copy;
    memcpy(copy, options, known);
    const bool by_bits = copy->bits_per_key != 0;
    if (by_bits && copy->fpr != 0) return TAMIS_E_ARGUMENT;
    if (by_bits && !(copy->bits_per_key >= 1 && copy->bits_per_key <= BITS_MAX)) {
        return TAMIS_E_ARGUMENT;
    }
    if (copy->fpr != 0 && !(copy->fpr > 0 && copy->fpr < 1)) return TAMIS_E_FPR;
    if (!by_bits && copy->fpr == 0) copy->bits_per_key = BITS_DEFAULT;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------ making */

/* An empty filter of one cache line, whose tamis_hash the policy uses. */
static tamis_status make_hasher(const uint8_t *secret, tamis_leveldb *policy) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_facts facts = TAMIS_FACTS_INIT;
    o.kind = TAMIS_BLOOM;
    o.secret = secret;
    tamis_status status = tamis_create(&o, &policy->hasher);
    if (status == TAMIS_OK) status = tamis_info(policy->hasher, &facts);
    if (status != TAMIS_OK) return status;
    if (facts.keyed) {
        snprintf(policy->name, sizeof policy->name, NAME ".%016llx",
                 (unsigned long long)facts.key_id);
    } else {
        strcpy(policy->name, NAME);
    }
    return TAMIS_OK;
}

/* The status of tamis_small_build for these options. */
static tamis_status try_options(const tamis_leveldb *policy) {
    uint8_t bytes[1];
    size_t length;
    return tamis_small_build(&policy->want, NULL, 0, bytes, sizeof bytes, &length);
}

tamis_status tamis_leveldb_create(const tamis_leveldb_options *options, tamis_leveldb **out) {
    tamis_leveldb_options o;
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_status status = options_read(options, &o);
    if (status == TAMIS_OK && o.builtin) status = TAMIS_E_UNSUPPORTED;
    if (status != TAMIS_OK) return status;
    tamis_leveldb *policy = calloc(1, sizeof *policy);
    if (policy == NULL) return TAMIS_E_NOMEM;
    policy->want = (tamis_options)TAMIS_OPTIONS_INIT;
    policy->want.kind = o.kind;
    policy->want.fpr = o.fpr;
    policy->bits_per_key = o.bits_per_key;
    status = try_options(policy);
    if (status == TAMIS_OK) status = make_hasher(o.secret, policy);
    if (status != TAMIS_OK) {
        tamis_leveldb_free(policy);
        return status;
    }
    *out = policy;
    return TAMIS_OK;
}

void tamis_leveldb_free(tamis_leveldb *policy) {
    if (policy == NULL) return;
    tamis_free(policy->hasher);
    free(policy);
}

const char *tamis_leveldb_name(const tamis_leveldb *policy) { return policy->name; }

/* ----------------------------------------------------------------------- filters */

/* Hashes of the keys, without those that equal the one before: keys are sorted, so versions of
 * one key are neighbours. */
static size_t hash_keys(const tamis_leveldb *policy, const char *const *keys, const size_t *lengths,
                        size_t count, uint64_t *hashes) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t hash = tamis_hash(policy->hasher, keys[i], lengths[i]);
        if (kept == 0 || hashes[kept - 1] != hash) hashes[kept++] = hash;
    }
    return kept;
}

/* NULL if out of memory. */
static char *build(const tamis_leveldb *policy, const uint64_t *hashes, size_t count,
                   size_t *length) {
    tamis_options want = policy->want;
    if (policy->bits_per_key > 0) {
        want.bytes = 1 + (uint64_t)ceil(policy->bits_per_key * (double)count / 8);
    }
    const size_t bound = tamis_small_bound(&want, count);
    char *bytes = malloc(bound);
    if (bytes == NULL) return NULL;
    if (tamis_small_build(&want, hashes, count, bytes, bound, length) == TAMIS_OK) return bytes;
    free(bytes);
    return NULL;
}

static char *match_all(size_t *length) {
    char *byte = malloc(1);
    if (byte == NULL) abort();
    *byte = (char)TAMIS_SMALL_ANY;
    *length = 1;
    return byte;
}

char *tamis_leveldb_filter(const tamis_leveldb *policy, const char *const *keys,
                           const size_t *lengths, int count, size_t *length) {
    const size_t keys_count = count < 0 ? 0 : (size_t)count;
    uint64_t *hashes = malloc((keys_count + 1) * sizeof *hashes);
    char *bytes = NULL;
    if (hashes != NULL) {
        bytes = build(policy, hashes, hash_keys(policy, keys, lengths, keys_count, hashes), length);
    }
    free(hashes);
    return bytes != NULL ? bytes : match_all(length);
}

bool tamis_leveldb_match(const tamis_leveldb *policy, const char *key, size_t length,
                         const char *filter, size_t filter_length) {
    return tamis_small_contains(filter, filter_length, tamis_hash(policy->hasher, key, length));
}

/* ---------------------------------------------------------------- LevelDB's C API */

static void policy_destroy(void *policy) { tamis_leveldb_free(policy); }

static const char *policy_name(void *policy) { return tamis_leveldb_name(policy); }

static char *policy_filter(void *policy, const char *const *keys, const size_t *lengths, int count,
                           size_t *length) {
    return tamis_leveldb_filter(policy, keys, lengths, count, length);
}

static uint8_t policy_match(void *policy, const char *key, size_t length, const char *filter,
                            size_t filter_length) {
    return tamis_leveldb_match(policy, key, length, filter, filter_length);
}

/* LevelDB takes 0.69 hashes for a bit, rounded down, and at most 30. */
static double builtin_fpr(uint64_t bits) {
    const uint32_t hashes = (uint32_t)((double)bits * 0.69);
    return tamis_classic_fpr(bits, hashes < 1 ? 1 : hashes > 30 ? 30 : hashes, 1);
}

static tamis_status builtin_policy(const tamis_leveldb_options *o, leveldb_filterpolicy_t **out) {
    if (o->kind != TAMIS_AUTO && o->kind != TAMIS_BLOOM) return TAMIS_E_UNSUPPORTED;
    if (o->secret != NULL) return TAMIS_E_UNSUPPORTED;
    uint64_t bits = o->fpr > 0 ? 1 : (uint64_t)o->bits_per_key;
    while (o->fpr > 0 && builtin_fpr(bits) > o->fpr) {
        if (bits++ == BITS_MAX) return TAMIS_E_FPR_TOO_LOW;
    }
    *out = leveldb_filterpolicy_create_bloom((int)bits);
    return TAMIS_OK;
}

tamis_status tamis_leveldb_policy(const tamis_leveldb_options *options,
                                  leveldb_filterpolicy_t **out) {
    tamis_leveldb_options o;
    tamis_leveldb *policy;
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_status status = options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if (o.builtin) return builtin_policy(&o, out);
    status = tamis_leveldb_create(options, &policy);
    if (status != TAMIS_OK) return status;
    *out = leveldb_filterpolicy_create(policy, policy_destroy, policy_filter, policy_match,
                                       policy_name);
    return TAMIS_OK;
}
