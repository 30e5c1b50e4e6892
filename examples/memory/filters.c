/* filters.c - filters N...: the memory of filters of N keys at a rate of 1 %
 *
 * Prints lines "NAME N BYTES".  The bytes are those that the library allocated, the object
 * itself included: measured by an allocator that counts.  Memory that building takes
 * and frees again does not count. */
#include <stdlib.h>

#include "job.h"

static void *counted_alloc(void *context, size_t size) {
    void *block = malloc(size);
    if (block) *(size_t *)context += size;
    return block;
}

static void counted_free(void *context, void *block, size_t size) {
    *(size_t *)context -= size;
    free(block);
}

static size_t key_of(uint64_t user, char key[16]) {
    return (size_t)snprintf(key, 16, "user:%010u", (unsigned)user);
}

/* Built from all keys, so it has the right size. */
static tamis_filter *build(const tamis_options *options, uint64_t keys) {
    tamis_builder *builder;
    job_check(tamis_builder_create(options, &builder), "creating a builder");
    char key[16];
    for (uint64_t user = 0; user < keys; user++)
        job_check(tamis_builder_add(builder, key, key_of(user, key)), "adding a key");
    tamis_filter *filter;
    job_check(tamis_builder_finish(builder, &filter), "building");
    tamis_builder_free(builder);
    return filter;
}

/* Filled key by key, without a known number of keys. */
static tamis_filter *fill(const tamis_options *options, uint64_t keys) {
    tamis_filter *filter;
    job_check(tamis_create(options, &filter), "creating a filter");
    char key[16];
    for (uint64_t user = 0; user < keys; user++)
        job_check(tamis_add(filter, key, key_of(user, key), NULL), "adding a key");
    return filter;
}

static void measure(tamis_kind kind, uint64_t keys) {
    size_t held = 0;
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.kind = kind;
    options.allocator =
        (tamis_allocator){.alloc = counted_alloc, .free = counted_free, .context = &held};
    tamis_filter *filter = kind == TAMIS_GROWING ? fill(&options, keys) : build(&options, keys);
    char key[16];
    for (uint64_t user = 0; user < keys; user++)
        if (!tamis_contains(filter, key, key_of(user, key))) job_fail("false negative: %s", key);
    printf("%s %.0f %zu\n", tamis_kind_name(kind), (double)keys, held);
    tamis_free(filter);
}

int main(int argc, char **argv) {
    static const tamis_kind kinds[] = {TAMIS_GROWING, TAMIS_BLOOM, TAMIS_FUSE, TAMIS_RIBBON};
    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            measure(kinds[k], strtoull(argv[i], NULL, 10));
}
