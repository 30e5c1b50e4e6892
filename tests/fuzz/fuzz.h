/* fuzz.h - the functions of a fuzz target
 *
 * With clang's libFuzzer a target is a program by itself:
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude \
 *         tests/fuzz/decode_any.c tests/support/{check,filters,hostile}.c <the library>
 *     ./a.out tests/fuzz/corpus/decode_any
 *
 * With driver.c it is a plain program that runs the corpus, the target's own seeds and a fixed
 * number of mutations of both: this is the regression test.  A target that finds a fault calls
 * fuzz_fault, which ends the program as a crash does. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

#endif
