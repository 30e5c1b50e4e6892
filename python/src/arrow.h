/* arrow.h - the structures of the Arrow C data interface and the C stream interface
 *
 * Their layout is fixed by the specification of Apache Arrow. */
#ifndef TAMIS_PYTHON_ARROW_H
#define TAMIS_PYTHON_ARROW_H

#include "column.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_NULLABLE 2

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *schema);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *stream);
    void (*release)(struct ArrowArrayStream *stream);
    void *private_data;
};

#endif

/* ---- the columns of a type that can be keys (layout.c) */

enum layout_type {
    LAYOUT_NULL,
    LAYOUT_FIXED, /* `elements` of one size */
    LAYOUT_SHORT, /* strings with offsets of 32 bits, */
    LAYOUT_LONG,  /* of 64 bits, */
    LAYOUT_VIEW   /* or with views */
};

struct layout {
    enum layout_type type;
    struct elements elements;
};

/* The layout of a type, whose keys `rule` makes.  false: an exception is set. */
bool layout_of_schema(const struct ArrowSchema *schema, const struct key_rule *rule,
                      struct layout *layout);

/* The layout of integers; false, without an exception, for another format. */
bool layout_of_integers(const char *format, struct layout *layout);

/* The values of an array.  Only its description is valid for sure: the sizes of its buffers are
 * not known. */
struct values {
    struct layout layout; /* with `elements.first` */
    size_t offset, length;
    const uint8_t *valid;       /* a bitmap from bit `offset` on, or NULL: no nulls */
    const void *starts;         /* offsets or views */
    const uint8_t *bytes;       /* NULL: there are none */
    const void *const *buffers; /* of views, */
    const uint8_t *sizes;       /* their sizes, */
    int64_t buffer_count;       /* and their number */
};

/* Checks the description of an array.  `extra` children and a dictionary are the caller's to check.
 * false: an exception is set. */
bool values_of_array(const struct ArrowArray *array, const struct layout *layout,
                     struct values *values);
bool array_is_sound(const struct ArrowArray *array, int64_t buffers);

/* As elements_fill; `picks` and `from` do not count `values->offset`. */
bool values_fill(const struct values *values, const struct key_rule *rule, const size_t *picks,
                 size_t from, size_t count, struct group *group);

static inline bool bit_is_set(const uint8_t *bits, size_t i) {
    return bits == NULL || (bits[i / 8] >> (i % 8) & 1) != 0;
}

#endif
