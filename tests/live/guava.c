/* guava.c - tamis's half of the live test with Guava; Guava.java is the other
 *
 *     guava write COUNT FILE   writes COUNT random filters
 *     guava read COUNT FILE    reads Guava's filters of the same keys
 *
 * Both halves generate the same numbers (SplitMix64), so the keys of a filter need not be
 * exchanged.  A file is a sequence of: u32be length, a stream, u64be answers to 64 probes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tamis.h"

enum { PROBES = 64, KEY_MAX = 64 };

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void die(const char *what, size_t filter) {
    fprintf(stderr, "guava: filter %zu: %s\n", filter, what);
    exit(1);
}

/* The parameters of filter number i. */
struct parameters {
    uint64_t state;
    uint64_t capacity, keys;
    unsigned funnel, strategy;
    double fpr;
};

static struct parameters parameters_of(size_t i) {
    static const double fprs[] = {0.5, 0.3, 0.1, 0.03, 0.01, 0.001, 1e-6};
    struct parameters r = {.state = i};
    /* C does not define the order of two calls in one expression. */
    const uint64_t range = next(&r.state);
    r.capacity = 1 + range % (UINT64_C(1) << (next(&r.state) % 11));
    r.keys = next(&r.state) % (r.capacity + 1);
    r.funnel = (unsigned)(next(&r.state) % 5);
    r.strategy = (unsigned)(next(&r.state) % 2);
    r.fpr = fprs[next(&r.state) % 7];
    return r;
}

static void store(uint8_t *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

/* The bytes that a funnel makes of the next key: bytes, long, int, UTF-8, UTF-16. */
static size_t key_of(struct parameters *r, uint8_t key[KEY_MAX]) {
    const uint64_t x = next(&r->state);
    size_t length = 0;
    char text[24];
    switch (r->funnel) {
        case 0:
            length = x % 33;
            for (size_t i = 0; i < length; i++) key[i] = (uint8_t)(x >> (i % 8 * 8)) ^ (uint8_t)i;
            return length;
        case 1:
            store(key, x, 8);
            return 8;
        case 2:
            store(key, x, 4);
            return 4;
        default: /* e with an acute accent, then the number */
            snprintf(text, sizeof text, "%llx", (unsigned long long)x);
            if (r->funnel == 3) {
                memcpy(key, "\xc3\xa9", 2);
                memcpy(key + 2, text, strlen(text));
                return 2 + strlen(text);
            }
            store(key, 0xe9, 2);
            for (size_t i = 0; i < strlen(text); i++) store(key + 2 + 2 * i, (uint8_t)text[i], 2);
            return 2 + 2 * strlen(text);
    }
}

static tamis_filter *make(struct parameters *r, size_t i) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f;
    uint8_t key[KEY_MAX];
    o.format = r->strategy == 0 ? "guava32" : "guava";
    o.capacity = r->capacity;
    o.fpr = r->fpr;
    if (tamis_create(&o, &f) != TAMIS_OK) die("cannot be created", i);
    for (uint64_t k = 0; k < r->keys; k++) {
        const size_t length = key_of(r, key);
        if (tamis_add(f, key, length, NULL) != TAMIS_OK) die("rejects a key", i);
    }
    return f;
}

static uint64_t answers_of(const tamis_filter *f, struct parameters *r) {
    uint64_t answers = 0;
    uint8_t key[KEY_MAX];
    for (int i = 0; i < PROBES; i++) {
        const size_t length = key_of(r, key);
        answers |= (uint64_t)tamis_contains(f, key, length) << i;
    }
    return answers;
}

static void put(FILE *file, uint64_t value, int bytes) {
    while (bytes-- > 0) putc((int)(value >> (8 * bytes) & 0xff), file);
}

static uint64_t get(FILE *file, int bytes) {
    uint64_t value = 0;
    while (bytes-- > 0) value = value << 8 | (uint64_t)getc(file);
    return value;
}

/* Both reject rates that leave a small filter without bits. */
static bool is_refused(const struct parameters *r) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.format = "guava";
    o.capacity = r->capacity;
    o.fpr = r->fpr;
    const bool refused = tamis_create(&o, &f) != TAMIS_OK;
    tamis_free(f);
    return refused;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const bool writing = strcmp(argv[1], "write") == 0;
    const size_t count = strtoul(argv[2], NULL, 10);
    FILE *file = fopen(argv[3], writing ? "wb" : "rb");
    if (file == NULL) return 2;
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        struct parameters r = parameters_of(i);
        if (is_refused(&r)) continue;
        tamis_filter *f = make(&r, i);
        const size_t size = tamis_encoded_size(f);
        uint8_t *mine = malloc(size), *theirs = malloc(size);
        if (mine == NULL || theirs == NULL) return 2;
        if (tamis_encode(f, mine, size, NULL) != TAMIS_OK) die("cannot be encoded", i);
        tamis_filter *read = NULL;
        if (writing) {
            put(file, size, 4);
            fwrite(mine, 1, size, file);
            put(file, answers_of(f, &r), 8);
        } else {
            if (get(file, 4) != size) die("has another size", i);
            if (fread(theirs, 1, size, file) != size) die("is truncated", i);
            if (memcmp(mine, theirs, size) != 0) die("has other bytes", i);
            if (tamis_decode(theirs, size, NULL, &read) != TAMIS_OK) die("cannot be read", i);
            if (answers_of(read, &r) != get(file, 8)) die("gives other answers", i);
        }
        tamis_free(read);
        tamis_free(f);
        free(mine);
        free(theirs);
        done++;
    }
    if (fclose(file) != 0) return 2;
    printf("%zu filters %s\n", done,
           writing ? "written" : "of Guava read: same bytes, same answers");
    return 0;
}
