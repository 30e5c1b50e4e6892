/* generate.c - writes the vectors of our own format: NAME.tamis, keys.txt, probes.txt and
 * manifest.tsv, and large.tsv, into the directory named on the command line
 *
 * Run once for each version of the format.  The files of a version stay as they are for ever:
 * a library that makes other bytes from the same keys is wrong, or has a new version. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/filters.h"
#include "../../support/native.h"

#define KEYS 1000

static char key_text[KEYS][40], probe_text[KEYS][40];
static const void *keys[KEYS], *probes[KEYS];
static size_t lengths[KEYS], probe_lengths[KEYS];
static const char *directory;
static FILE *manifest;
static size_t files;

static FILE *create(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(1);
    }
    return file;
}

static void make_keys(void) {
    FILE *key_file = create("keys.txt"), *probe_file = create("probes.txt");
    for (unsigned i = 0; i < KEYS; i++) {
        lengths[i] =
            (size_t)snprintf(key_text[i], sizeof key_text[i], "key-%u", i * 7919u % 100003u);
        probe_lengths[i] = (size_t)snprintf(probe_text[i], sizeof probe_text[i], "other-%u", i);
        keys[i] = key_text[i];
        probes[i] = probe_text[i];
        fprintf(key_file, "%s\n", key_text[i]);
        fprintf(probe_file, "%s\n", probe_text[i]);
    }
    fclose(key_file);
    fclose(probe_file);
}

static void make_file(const char *name, const struct native_case *c) {
    char file_name[128];
    tamis_filter *f = NULL;
    const tamis_status status = native_make(c, keys, lengths, true, &f);
    if (status != TAMIS_OK) {
        fprintf(stderr, "%s: %s\n", name, tamis_status_text(status));
        exit(1);
    }
    struct bytes bytes = bytes_of(f);
    snprintf(file_name, sizeof file_name, "%s.tamis", name);
    FILE *file = create(file_name);
    if (fwrite(bytes.data, 1, bytes.size, file) != bytes.size || fclose(file) != 0) exit(1);
    fprintf(manifest, "%s\t%s\t%u\t%s\t%s\t%llu\t%zu\t%g\t%llu\t%d\t%d\t%zu\t%zu\n", file_name,
            c->kind, (unsigned)c->arity, c->stage, c->how, (unsigned long long)c->capacity, c->keys,
            c->rate, (unsigned long long)c->seed, c->keyed, c->form, bytes.size,
            tamis_contains_batch(f, probes, probe_lengths, KEYS, NULL));
    bytes_free(&bytes);
    tamis_free(f);
    files++;
}

/* Sizes from nothing, three rates, a seed, a secret, a key form, and adds one by one. */
static void make_variant(const struct variant *v) {
    static const size_t sizes[] = {0, 1, 10, 1000};
    const struct native_case plain = {
        .kind = tamis_kind_name(v->kind),
        .arity = v->arity,
        .stage = v->stage == TAMIS_AUTO ? "-" : tamis_kind_name(v->stage),
        .how = "build",
        .keys = 100,
        .rate = 0.01};
    char base[64], name[100];
    snprintf(base, sizeof base, "%s", v->name);
    if (strchr(base, '/') != NULL) *strchr(base, '/') = '-';
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct native_case c = plain;
        c.keys = sizes[i];
        snprintf(name, sizeof name, "%s-%zu", base, sizes[i]);
        make_file(name, &c);
    }
    struct native_case c = plain;
    c.rate = 0.3;
    snprintf(name, sizeof name, "%s-coarse", base);
    make_file(name, &c);
    c.rate = 1e-5;
    snprintf(name, sizeof name, "%s-fine", base);
    make_file(name, &c);
    c = plain;
    c.seed = UINT64_C(12345678901234567890);
    c.form = true;
    snprintf(name, sizeof name, "%s-seed", base);
    make_file(name, &c);
    c = plain;
    c.keyed = true;
    snprintf(name, sizeof name, "%s-keyed", base);
    make_file(name, &c);
    if ((v->caps & TAMIS_CAN_ADD) == 0) return;
    c = plain;
    c.how = "add";
    c.capacity = (v->caps & TAMIS_CAN_GROW) != 0 ? 10 : 200;
    snprintf(name, sizeof name, "%s-add", base);
    make_file(name, &c);
}

/* Version 2: bloom tables from 8 KiB on have their bits in pairs.  An even and an odd number of
 * them, and such stages. */
static void make_pairs(void) {
    struct native_case c = {.kind = "bloom", .stage = "-", .how = "add", .keys = 1000};
    c.capacity = 10000, c.rate = 0.001;
    make_file("bloom-pairs-even", &c);
    c.capacity = 20000, c.rate = 0.11;
    make_file("bloom-pairs-odd", &c);
    c.kind = "growing", c.stage = "bloom", c.capacity = 8000, c.rate = 0.02;
    make_file("growing-bloom-pairs", &c);
}

/* What small sets do not have: tables that are peeled, layers, shards, many stages. */
static void make_large(void) {
    static const struct native_case cases[] = {
        {.kind = "bloom", .keys = 100000, .rate = 0.01},
        {.kind = "bloom", .keys = 100000, .rate = 1e-4},
        {.kind = "block", .keys = 100000, .rate = 0.3},
        {.kind = "block", .keys = 100000, .rate = 0.01},
        {.kind = "block", .keys = 100000, .rate = 1e-5},
        {.kind = "counting", .keys = 100000, .rate = 0.01},
        {.kind = "cuckoo", .keys = 100000, .rate = 0.1},
        {.kind = "cuckoo", .keys = 100000, .rate = 0.001},
        {.kind = "xor", .keys = 20000, .rate = 0.1},
        {.kind = "xor", .keys = 100000, .rate = 1e-4},
        {.kind = "xor", .keys = 1100000, .rate = 0.01},
        {.kind = "fuse", .arity = 3, .keys = 20000, .rate = 0.1},
        {.kind = "fuse", .arity = 3, .keys = 100000, .rate = 1e-4},
        {.kind = "fuse", .arity = 3, .keys = 4300000, .rate = 0.01},
        {.kind = "fuse", .arity = 4, .keys = 20000, .rate = 0.1},
        {.kind = "fuse", .arity = 4, .keys = 100000, .rate = 1e-4},
        {.kind = "fuse", .arity = 4, .keys = 4300000, .rate = 0.01},
        {.kind = "ribbon", .keys = 20000, .rate = 0.7},
        {.kind = "ribbon", .keys = 100000, .rate = 0.01},
        {.kind = "ribbon", .keys = 100000, .rate = 1e-6},
        {.kind = "ribbon", .keys = 4300000, .rate = 0.01},
        {.kind = "growing", .how = "add", .capacity = 100, .keys = 100000, .rate = 0.01},
        {.kind = "growing",
         .stage = "bloom",
         .how = "add",
         .capacity = 100,
         .keys = 100000,
         .rate = 0.01},
    };
    FILE *table = create("large.tsv");
    fprintf(table, "kind\tarity\tstage\thow\tcapacity\tkeys\trate\tbytes\txxh3\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct native_case c = cases[i];
        tamis_filter *f = NULL;
        size_t size = 0;
        if (c.stage == NULL) c.stage = "-";
        if (c.how == NULL) c.how = "build";
        if (native_make_large(&c, true, &f) != TAMIS_OK) exit(1);
        const uint64_t checksum = native_checksum(f, &size);
        fprintf(table, "%s\t%u\t%s\t%s\t%llu\t%zu\t%g\t%zu\t%llu\n", c.kind, (unsigned)c.arity,
                c.stage, c.how, (unsigned long long)c.capacity, c.keys, c.rate, size,
                (unsigned long long)checksum);
        tamis_free(f);
    }
    if (fclose(table) != 0) exit(1);
}

int main(int argc, char **argv) {
    char *no_arguments[] = {argv[0], NULL};
    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    directory = argv[1];
    run_start(1, no_arguments, "generate");
    manifest = create("manifest.tsv");
    fprintf(manifest, "# tamis %s; keys.txt has the keys, probes.txt keys that are in none\n",
            tamis_version());
    fprintf(manifest,
            "file\tkind\tarity\tstage\thow\tcapacity\tkeys\trate\tseed\tkeyed\tform\tbytes\t"
            "probe_hits\n");
    make_keys();
    for (size_t i = 0; variant_at(i) != NULL; i++) make_variant(variant_at(i));
    make_pairs();
    fclose(manifest);
    make_large();
    count_up("files", files);
    return run_end();
}
