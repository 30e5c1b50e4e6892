/* array.h - the type Array: the results of a batch of Arrow keys */
#ifndef TAMIS_PYTHON_ARRAY_H
#define TAMIS_PYTHON_ARRAY_H

#include "column.h"

/* The values of an Array, shared with the Arrow arrays that are exported from it. */
struct payload {
    atomic_size_t users;
    size_t length, null_count;
    bool is_hash; /* words of 64 bits; otherwise bits */
    uint8_t *values;
    uint8_t *valid; /* bits; NULL: no nulls */
};

struct payload *payload_new(void); /* with one user; NULL: out of memory */
void payload_release(struct payload *payload);

/* An Array of a payload, which it takes, also on failure. */
PyObject *array_new(struct state *state, struct payload *payload);

#endif
