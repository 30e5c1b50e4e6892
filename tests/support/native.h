/* native.h - how the vectors of our own format were made
 *
 * A row of vectors/native/manifest.tsv has everything needed to create a file again: the generator
 * writes it, the law reads it, and both create the filter with the function here. */
#ifndef TESTS_SUPPORT_NATIVE_H
#define TESTS_SUPPORT_NATIVE_H

#include "tamis.h"

struct native_case {
    const char *kind;
    uint32_t arity;
    const char *stage; /* "-": none */
    const char *how;   /* "build": all keys at once; "add": one by one into `capacity` */
    uint64_t capacity;
    size_t keys; /* number of keys, from the start of the file of keys */
    double fpr;
    uint64_t seed;
    bool keyed; /* with the secret 00 01 .. 0f */
    bool form;  /* with a key form */
};

extern const uint8_t native_secret[TAMIS_SECRET_BYTES];

tamis_status native_make(const struct native_case *c, const void *const *keys,
                         const size_t *lengths, bool portable, tamis_filter **out);

/* The same from the hashes tamis_hash_integer(0), (1), ...: vectors/native/large.tsv has no files
 * but their sizes and checksums. */
tamis_status native_make_large(const struct native_case *c, bool portable, tamis_filter **out);

/* XXH3-64 of the encoded filter; `*size` receives its bytes. */
uint64_t native_checksum(const tamis_filter *f, size_t *size);

#endif
