/* attacker.c - see attacker.h */
#include "attacker.h"

#include <stdio.h>
#include <stdlib.h>

const uint8_t attack_secret[TAMIS_SECRET_BYTES] = {0x5d, 0xe1, 0x07, 0xa4, 0x3b, 0x92, 0xc8, 0x6f,
                                                   0x10, 0xfd, 0x4e, 0xb7, 0x29, 0x85, 0xd3, 0x6a};
const uint8_t attack_other_secret[TAMIS_SECRET_BYTES] = {
    0xc2, 0x18, 0x7f, 0x95, 0x0d, 0x46, 0xea, 0x33, 0xb1, 0x5c, 0xf8, 0x24, 0x69, 0x9e, 0x03, 0xd7};

uint64_t attack_key(enum attack_stream stream, uint64_t index) {
    return (uint64_t)stream << 56 | index;
}

bool attack_contains(const tamis_filter *f, uint64_t key) {
    return tamis_contains(f, &key, sizeof key);
}

tamis_status attack_add(tamis_filter *f, uint64_t key, bool *fresh) {
    return tamis_add(f, &key, sizeof key, fresh);
}

tamis_filter *attack_build(const tamis_options *o, enum attack_stream stream, size_t count) {
    uint64_t *integers = NEED(uint64_t, count);
    const void **keys = NEED(const void *, count);
    size_t *lengths = NEED(size_t, count);
    tamis_filter *f = NULL;
    for (size_t i = 0; i < count; i++) {
        integers[i] = attack_key(stream, i);
        keys[i] = &integers[i];
        lengths[i] = sizeof integers[i];
    }
    const tamis_status status = tamis_build(o, keys, lengths, count, &f);
    CHECK(status == TAMIS_OK, "%s: build: %s",
          o->format != NULL ? o->format : tamis_kind_name(o->kind), tamis_status_name(status));
    free(integers);
    free(keys);
    free(lengths);
    return f;
}

tamis_filter *attack_copy(const tamis_filter *victim, const char *format) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    struct bytes bytes = bytes_of(victim);
    tamis_filter *copy = NULL;
    how.format = format;
    const tamis_status status = tamis_decode(bytes.data, bytes.size, &how, &copy);
    CHECK(status == TAMIS_OK, "the attacker's copy: %s", tamis_status_name(status));
    bytes_free(&bytes);
    return copy;
}

size_t attack_search(const tamis_filter *f, uint64_t *next, uint64_t limit, uint64_t *found,
                     size_t wanted) {
    size_t n = 0;
    for (; n < wanted && limit > 0; limit--) {
        const uint64_t key = attack_key(ATTACK_CANDIDATES, (*next)++);
        if (attack_contains(f, key)) found[n++] = key;
    }
    return n;
}

double attack_fpr(const tamis_filter *f, uint64_t count) {
    uint64_t hits = 0;
    for (uint64_t i = 0; i < count; i++) hits += attack_contains(f, attack_key(ATTACK_PROBES, i));
    return (double)hits / (double)count;
}

bool attack_holds(const char *attack, const char *name, uint64_t hits, uint64_t trials,
                  double fpr) {
    const uint64_t bound = binomial_max(trials, fpr, ATTACK_SIGMAS);
    return CHECK(hits <= bound, "%s: %s: %llu of %llu hit, at a promised rate of %g at most %llu",
                 attack, name, (unsigned long long)hits, (unsigned long long)trials, fpr,
                 (unsigned long long)bound);
}
