/* fuzz.h - the functions of a fuzz target
 *
 * A target is one file here.  CMakeLists.txt makes two programs of it:
 *
 *     replay_NAME   with driver.c, in every build: runs the files of corpus/NAME, the target's own
 *                   seeds and a fixed number of mutations of both.  This is the regression test
 *                   fuzz/NAME
 *     fuzz_NAME     with libFuzzer, in a build with clang and -DTAMIS_FUZZ=ON.  scripts/fuzz
 *                   builds and runs them all
 *
 * NAME.options has the maximum length of an input.  Structures with checksums are repaired by the
 * target, so that the code behind the checksum runs.  A target that finds a fault calls fuzz_fault,
 * which ends the program as a crash does. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The `index`-th input to start from, into `room` bytes at `out`; 0 after the last. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t room);

#define FUZZ_SEED_ROOM 65536

/* Prints what was wrong and aborts. */
static inline void fuzz_fault(const char *what) {
    fprintf(stderr, "FAULT: %s\n", what);
    abort();
}

static inline void fuzz_must(bool holds, const char *what) {
    if (!holds) fuzz_fault(what);
}

/* Reads an input from front to back; past its end there are zeros. */
struct fuzz_input {
    const uint8_t *at, *end;
};

static inline size_t fuzz_left(const struct fuzz_input *in) { return (size_t)(in->end - in->at); }

static inline uint8_t fuzz_take(struct fuzz_input *in) { return in->at == in->end ? 0 : *in->at++; }

static inline uint64_t fuzz_take_number(struct fuzz_input *in, unsigned bytes) {
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++) number |= (uint64_t)fuzz_take(in) << (8 * i);
    return number;
}

/* At most `length` bytes. */
static inline const uint8_t *fuzz_take_bytes(struct fuzz_input *in, size_t *length) {
    const uint8_t *at = in->at;
    if (*length > fuzz_left(in)) *length = fuzz_left(in);
    in->at += *length;
    return at;
}

/* A copy of its own size, so that a sanitizer detects a read beyond it; aligned as a view must be.
 * free() it. */
static inline uint8_t *fuzz_copy(const uint8_t *bytes, size_t length) {
    uint8_t *copy = (uint8_t *)malloc(length == 0 ? 1 : length);
    if (copy == NULL) abort();
    if (length != 0) memcpy(copy, bytes, length);
    return copy;
}

/* Appends to a seed; nothing beyond `room`. */
struct fuzz_output {
    uint8_t *bytes;
    size_t length, room;
};

static inline void fuzz_put_bytes(struct fuzz_output *out, const void *bytes, size_t length) {
    if (length > out->room - out->length) length = out->room - out->length;
    if (length != 0) memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
}

static inline void fuzz_put_number(struct fuzz_output *out, uint64_t number, unsigned bytes) {
    uint8_t little[8];
    for (unsigned i = 0; i < bytes; i++) little[i] = (uint8_t)(number >> (8 * i));
    fuzz_put_bytes(out, little, bytes);
}

#endif
