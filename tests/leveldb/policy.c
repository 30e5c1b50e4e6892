/* policy.c - the policy for LevelDB: no key is lost, in filters and in databases
 *
 * Filters: all options, duplicate keys, many threads at once, and random bytes.  Databases:
 * written, overwritten, deleted from, compacted, closed, opened with another policy; each key must
 * be found each time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/check.h"
#include "tamis_leveldb.h"

static const uint8_t secret[TAMIS_SECRET_BYTES] = "sixteen letters";

/* The policies under test. */
static tamis_leveldb_options options_at(size_t index) {
    tamis_leveldb_options o = TAMIS_LEVELDB_INIT;
    switch (index) {
        case 0:
            break;
        case 1:
            o.fpr = 0.01;
            break;
        case 2:
            o.bits_per_key = 1;
            break;
        case 3:
            o.kind = TAMIS_BLOOM;
            o.bits_per_key = 12.5;
            break;
        case 4:
            o.kind = TAMIS_RIBBON;
            o.fpr = 1e-5;
            break;
        default:
            o.secret = secret;
            o.bits_per_key = 8;
    }
    return o;
}
#define POLICIES 6

/* Keys of 1 to 20 bytes. */
static size_t key_make(uint64_t number, char key[32]) {
    struct rng r = {number};
    const uint64_t random = rng_next(&r);
    return (size_t)snprintf(key, 32, "%.*llx-%llu", (int)(random % 8), (unsigned long long)random,
                            (unsigned long long)number);
}

/* -------------------------------------------------------------------------- filters */

#define KEYS_MAX 700

struct keys {
    char text[KEYS_MAX][32];
    const char *at[KEYS_MAX];
    size_t lengths[KEYS_MAX];
};

/* `count` keys from `first` on, each `versions` times. */
static void keys_make(struct keys *k, uint64_t first, size_t count, size_t versions) {
    for (size_t i = 0; i < count; i++) {
        k->lengths[i] = key_make(first + i / versions, k->text[i]);
        k->at[i] = k->text[i];
    }
}

static void one_filter(const tamis_leveldb *policy, size_t index, uint64_t round) {
    struct keys k;
    const size_t versions = 1 + round % 3, count = versions * (1 + round * 7 % (KEYS_MAX / 3));
    size_t length = 0;
    keys_make(&k, round * 1000, count, versions);
    char *filter = tamis_leveldb_filter(policy, k.at, k.lengths, (int)count, &length);
    CHECK(length >= 1, "an empty filter means \"no key\" to LevelDB");
    const tamis_leveldb_options o = options_at(index);
    const double bits = o.fpr > 0 ? 0 : o.bits_per_key > 0 ? o.bits_per_key : 10;
    CHECK(bits == 0 || (double)length <= bits * (double)(count / versions) / 8 + 2,
          "policy %zu: %zu bytes for %zu keys", index, length, count / versions);
    for (size_t i = 0; i < count; i++) {
        CHECK(tamis_leveldb_match(policy, k.at[i], k.lengths[i], filter, length),
              "policy %zu lost key %zu of %zu", index, i, count);
    }
    free(filter);
}

static void filters(void) {
    for (size_t p = 0; p < POLICIES; p++) {
        const tamis_leveldb_options o = options_at(p);
        tamis_leveldb *policy;
        if (!CHECK(tamis_leveldb_create(&o, &policy) == TAMIS_OK, "policy %zu", p)) continue;
        for (uint64_t round = 0; round < run_pick(200, 1000, 5000); round++) {
            one_filter(policy, p, round);
        }
        tamis_leveldb_free(policy);
    }
}

static void random_bytes(void) {
    struct rng r = {run_seed()};
    const tamis_leveldb_options o = TAMIS_LEVELDB_INIT;
    tamis_leveldb *policy;
    if (!CHECK(tamis_leveldb_create(&o, &policy) == TAMIS_OK, "create")) return;
    CHECK(tamis_leveldb_match(policy, "key", 3, "", 0), "no bytes at all");
    for (uint64_t round = 0; round < run_pick(20000, 100000, 1000000); round++) {
        const size_t length = 1 + (size_t)rng_below(&r, 60);
        char *bytes =
            NEED(char, length); /* exact size, so that a sanitizer detects reads beyond it */
        for (size_t i = 0; i < length; i++) bytes[i] = (char)rng_next(&r);
        const bool unknown = (uint8_t)bytes[length - 1] >= 0xe0;
        const bool match = tamis_leveldb_match(policy, "key", 3, bytes, length);
        CHECK(match || !unknown, "a filter of a later version must match");
        free(bytes);
    }
    tamis_leveldb_free(policy);
}

/* CHECK is not thread-safe: lost keys are counted instead. */
static void *thread_main(void *context) {
    const tamis_leveldb *policy = context;
    struct keys k;
    uintptr_t wrong = 0;
    for (uint64_t round = 0; round < 100; round++) {
        size_t length;
        keys_make(&k, round, 100, 1);
        char *filter = tamis_leveldb_filter(policy, k.at, k.lengths, 100, &length);
        for (size_t i = 0; i < 100; i++) {
            wrong += !tamis_leveldb_match(policy, k.at[i], k.lengths[i], filter, length);
        }
        free(filter);
    }
    return (void *)wrong;
}

static void threads(void) {
    const tamis_leveldb_options o = TAMIS_LEVELDB_INIT;
    tamis_leveldb *policy;
    pthread_t thread[4];
    if (!CHECK(tamis_leveldb_create(&o, &policy) == TAMIS_OK, "create")) return;
    for (size_t i = 0; i < 4; i++) pthread_create(&thread[i], NULL, thread_main, policy);
    for (size_t i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        CHECK(wrong == NULL, "thread %zu lost keys", i);
    }
    tamis_leveldb_free(policy);
}

static void refusals(void) {
    tamis_leveldb *policy;
    leveldb_filterpolicy_t *out;
    tamis_leveldb_options o = TAMIS_LEVELDB_INIT;
    CHECK(tamis_leveldb_create(NULL, &policy) == TAMIS_E_ARGUMENT && !policy, "no options");
    o.bits_per_key = 1000;
    CHECK(tamis_leveldb_policy(&o, &out) == TAMIS_E_ARGUMENT && !out, "1000 bits");
    o.bits_per_key = 10;
    o.fpr = 0.01;
    CHECK(tamis_leveldb_policy(&o, &out) == TAMIS_E_ARGUMENT, "bits and a rate");
    o.bits_per_key = 0;
    o.fpr = 1;
    CHECK(tamis_leveldb_policy(&o, &out) == TAMIS_E_FPR, "rate 1");
    o.fpr = 1e-12;
    CHECK(tamis_leveldb_policy(&o, &out) == TAMIS_E_FPR_TOO_LOW, "rate 1e-12");
    o.fpr = 0.01;
    o.kind = TAMIS_GROWING;
    CHECK(tamis_leveldb_policy(&o, &out) == TAMIS_E_UNSUPPORTED, "growing");
    o.kind = TAMIS_AUTO;
    o.builtin = true;
    CHECK(tamis_leveldb_create(&o, &policy) == TAMIS_E_UNSUPPORTED,
          "builtin with tamis_leveldb_create");
    o.secret = secret;
    CHECK(tamis_leveldb_policy(&o, &out) == TAMIS_E_UNSUPPORTED, "builtin with a secret");
}

/* ------------------------------------------------------------------------- databases */

struct database {
    leveldb_t *db;
    leveldb_options_t *options;
    leveldb_filterpolicy_t *policy;
    leveldb_writeoptions_t *writing;
    leveldb_readoptions_t *reading;
    char path[512];
};

static bool no_error(char *error, const char *what) {
    const bool well = CHECK(error == NULL, "%s: %s", what, error);
    leveldb_free(error);
    return well;
}

static bool database_open(struct database *d, const tamis_leveldb_options *o) {
    char *error = NULL;
    if (!CHECK(tamis_leveldb_policy(o, &d->policy) == TAMIS_OK, "a policy")) return false;
    d->options = leveldb_options_create();
    d->writing = leveldb_writeoptions_create();
    d->reading = leveldb_readoptions_create();
    leveldb_options_set_create_if_missing(d->options, 1);
    leveldb_options_set_write_buffer_size(d->options,
                                          128 << 10); /* small, so that tables are written */
    leveldb_options_set_filter_policy(d->options, d->policy);
    d->db = leveldb_open(d->options, d->path, &error);
    return no_error(error, "open");
}

static void database_close(struct database *d) {
    leveldb_close(d->db);
    leveldb_options_destroy(d->options);
    leveldb_writeoptions_destroy(d->writing);
    leveldb_readoptions_destroy(d->reading);
    leveldb_filterpolicy_destroy(d->policy);
}

/* Key i has the value that was written last, or was deleted (every seventh). */
static bool is_deleted(uint64_t i) { return i % 7 == 3; }

static void fill(struct database *d, uint64_t keys, int writing) {
    char key[32], value[100], *error = NULL;
    for (uint64_t i = 0; i < keys; i++) {
        const size_t length = key_make(i, key);
        memset(value, 'v', sizeof value);
        snprintf(value, sizeof value, "%llu %d", (unsigned long long)i, writing);
        leveldb_put(d->db, d->writing, key, length, value, sizeof value, &error);
        if (is_deleted(i)) leveldb_delete(d->db, d->writing, key, length, &error);
        if (error != NULL) break;
    }
    no_error(error, "put");
}

/* Checks that key i is present, or deleted. */
static void read_key(const struct database *d, uint64_t i, bool there, int writing) {
    char key[32], wanted[100], *error = NULL;
    size_t size;
    char *value = leveldb_get(d->db, d->reading, key, key_make(i, key), &size, &error);
    no_error(error, "get");
    if (!there) {
        CHECK(value == NULL, "key %llu is present", (unsigned long long)i);
    } else if (CHECK(value != NULL, "key %llu is lost", (unsigned long long)i)) {
        snprintf(wanted, sizeof wanted, "%llu %d", (unsigned long long)i, writing);
        CHECK(strcmp(value, wanted) == 0, "key %llu is '%s'", (unsigned long long)i, value);
    }
    leveldb_free(value);
}

static void read_first(const struct database *d, uint64_t keys, int writing) {
    for (uint64_t i = 0; i < keys; i++) read_key(d, i, !is_deleted(i), writing);
    count_up("gets", keys);
}

/* All keys, and as many absent ones. */
static void read_back(const struct database *d, uint64_t keys, int writing) {
    read_first(d, keys, writing);
    for (uint64_t i = keys; i < 2 * keys; i++) read_key(d, i, false, 0);
    count_up("gets", keys);
}

static void database_drop(struct database *d) {
    char *error = NULL;
    leveldb_options_t *options = leveldb_options_create();
    leveldb_destroy_db(options, d->path, &error);
    no_error(error, "destroy");
    leveldb_options_destroy(options);
}

/* Written twice with one policy, then read with the next one, which may not support its filters. */
static void one_database(size_t index) {
    const uint64_t keys = run_pick(3000, 20000, 100000);
    tamis_leveldb_options o = options_at(index), other = options_at((index + 1) % POLICIES);
    struct database d;
    snprintf(d.path, sizeof d.path, "%s/db%zu", run_directory(), index);
    if (!database_open(&d, &o)) return;
    fill(&d, keys, 1);
    fill(&d, keys, 2);
    read_back(&d, keys, 2);
    leveldb_compact_range(d.db, NULL, 0, NULL, 0);
    read_back(&d, keys, 2);
    database_close(&d);
    if (!database_open(&d, &other)) return;
    read_back(&d, keys, 2);
    fill(&d, keys / 2, 3);
    database_close(&d);
    other.builtin = true;
    other.secret = NULL;
    other.kind = TAMIS_AUTO;
    if (!database_open(&d, &other)) return;
    read_first(&d, keys / 2, 3);
    database_close(&d);
    database_drop(&d);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "policy");
    filters();
    random_bytes();
    threads();
    refusals();
    for (size_t i = 0; i < POLICIES; i++) one_database(i);
    return run_end();
}
