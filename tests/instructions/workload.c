/* workload.c - a fixed workload whose instructions callgrind counts
 *
 * Every operation of every kind runs once on a filter that was prepared for it; the counts are
 * dumped after each, under the name KIND/OPERATION.  Nothing in it depends on time, addresses
 * or threads.  With the argument "path" it prints which instructions the library uses here. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <valgrind/callgrind.h>

#include "tamis.h"

#define KEYS 10000
#define TEXT 32

static uint64_t hashes[2 * KEYS]; /* the first half are members */
static char bytes[KEYS][TEXT];
static const void *texts[KEYS];
static size_t lengths[KEYS];
static bool answers[2 * KEYS];

static void make_keys(void) {
    for (uint64_t i = 0; i < 2 * KEYS; i++) hashes[i] = tamis_hash_integer(i + 1);
    for (size_t i = 0; i < KEYS; i++) {
        memset(bytes[i], 'k', TEXT);
        memcpy(bytes[i], &hashes[i], sizeof hashes[i]);
        texts[i] = bytes[i];
        lengths[i] = TEXT;
    }
}

static void build(const tamis_options *options, tamis_filter **filter) {
    tamis_build_hash(options, hashes, KEYS, filter);
}
static void add(const tamis_options *options, tamis_filter **filter) {
    (void)options;
    for (size_t i = 0; i < KEYS; i++) tamis_add_hash(*filter, hashes[i], NULL);
}
static void add_batch(const tamis_options *options, tamis_filter **filter) {
    (void)options;
    tamis_add_hash_batch(*filter, hashes, KEYS, NULL, NULL);
}
static void query(const tamis_options *options, tamis_filter **filter) {
    (void)options;
    for (size_t i = 0; i < 2 * KEYS; i++) answers[i] = tamis_contains_hash(*filter, hashes[i]);
}
static void query_batch(const tamis_options *options, tamis_filter **filter) {
    (void)options;
    tamis_contains_hash_batch(*filter, hashes, 2 * KEYS, answers);
}
static void query_texts(const tamis_options *options, tamis_filter **filter) {
    (void)options;
    tamis_contains_batch(*filter, texts, lengths, KEYS, answers);
}
static void remove_all(const tamis_options *options, tamis_filter **filter) {
    (void)options;
    for (size_t i = 0; i < KEYS; i++) tamis_remove_hash(*filter, hashes[i]);
}

enum stage { NOTHING, EMPTY, FULL };

static const struct {
    const char *name;
    void (*run)(const tamis_options *options, tamis_filter **filter);
    enum stage before;
    uint32_t needs; /* TAMIS_CAN_... */
} operations[] = {
    {"build", build, NOTHING, TAMIS_IS_STATIC},     {"add", add, EMPTY, TAMIS_CAN_ADD},
    {"add_batch", add_batch, EMPTY, TAMIS_CAN_ADD}, {"query", query, FULL, 0},
    {"query_batch", query_batch, FULL, 0},          {"query_texts", query_texts, FULL, 0},
    {"remove", remove_all, FULL, TAMIS_CAN_REMOVE}};

static tamis_filter *prepared(const tamis_options *options, enum stage stage) {
    tamis_filter *filter = NULL;
    if (stage == NOTHING) return NULL;
    if (tamis_kind_caps(options->kind) & TAMIS_IS_STATIC) {
        build(options, &filter);
        return filter;
    }
    if (tamis_create(options, &filter) != TAMIS_OK) return NULL;
    if (stage == FULL) add_batch(options, &filter);
    return filter;
}

static void measure(const tamis_options *options, size_t i) {
    char name[64];
    const uint32_t needs = operations[i].needs;
    if ((tamis_kind_caps(options->kind) & needs) != needs) return;
    tamis_filter *filter = prepared(options, operations[i].before);
    snprintf(name, sizeof name, "%s/%s", tamis_kind_name(options->kind), operations[i].name);
    CALLGRIND_ZERO_STATS;
    operations[i].run(options, &filter);
    CALLGRIND_DUMP_STATS_AT(name);
    tamis_free(filter);
}

static int print_path(void) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    tamis_facts facts = TAMIS_FACTS_INIT;
    tamis_filter *filter;
    options.kind = TAMIS_BLOCK;
    if (tamis_create(&options, &filter) != TAMIS_OK) return 1;
    tamis_info(filter, &facts);
    puts(facts.path);
    tamis_free(filter);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "path") == 0) return print_path();
    make_keys();
    for (tamis_kind kind = TAMIS_AUTO; (kind = tamis_kind_next(kind)) != TAMIS_AUTO;) {
        tamis_options options = TAMIS_OPTIONS_INIT;
        options.kind = kind;
        options.capacity = KEYS;
        for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) measure(&options, i);
    }
    return 0;
}
