/* arrow.c - keys from Arrow arrays and streams, through the Arrow PyCapsule protocol
 *
 * An array of a dictionary type has indices of its values; a table or data frame of one column is
 * an array of structures with one field. */
#include "arrow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct arrow {
    struct ArrowArrayStream stream; /* release: NULL if the keys are one array */
    struct ArrowSchema schema;
    struct ArrowArray array; /* the current chunk; release: NULL if there is none */
    bool is_struct, is_coded;
    bool done;                   /* one array: it has been the column */
    struct layout layout, codes; /* codes: of the indices */

    /* the current chunk */
    struct values values, indices;
    const uint8_t *valid[2]; /* bitmaps of the structures and of their field, or NULL */
    size_t valid_from[2];
    size_t from; /* of the field: the row where the structures begin */
};

/* ---- reading rows */

static bool is_valid(const struct arrow *a, size_t row) {
    return bit_is_set(a->valid[0], a->valid_from[0] + row) &&
           bit_is_set(a->valid[1], a->valid_from[1] + row);
}

/* Eight bits at a time, since nulls are rare. */
static bool bits_are_set(const uint8_t *bits, size_t from, size_t count) {
    const size_t end = from + count;
    while (bits != NULL && from < end) {
        if (from % 8 == 0 && end - from >= 8) {
            if (bits[from / 8] != 0xff) return false;
            from += 8;
        } else if (!bit_is_set(bits, from++)) {
            return false;
        }
    }
    return true;
}

/* The rows of a group that are not null.  Returns how many there are. */
static size_t choose_rows(const struct arrow *a, size_t from, size_t count, struct group *group) {
    group->sparse = false;
    if (a->values.layout.type == LAYOUT_NULL && !a->is_coded) {
        group->sparse = true;
        return 0;
    }
    if (bits_are_set(a->valid[0], a->valid_from[0] + from, count) &&
        bits_are_set(a->valid[1], a->valid_from[1] + from, count)) {
        return count;
    }
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        group->rows[chosen] = i;
        group->picks[chosen] = a->from + from + i;
        chosen += is_valid(a, from + i);
    }
    group->sparse = true;
    return chosen;
}

/* Replaces the rows by the values that their indices select, without those that are null. */
static bool choose_values(const struct arrow *a, const struct key_rule *plain, size_t from,
                          size_t *count, struct group *group) {
    const struct values *v = &a->values;
    const size_t *picks = group->sparse ? group->picks : NULL;
    if (!values_fill(&a->indices, plain, picks, a->from + from, *count, group)) return false;
    size_t chosen = 0;
    for (size_t i = 0; i < *count; i++) {
        const uint64_t index = group->hashes[i];
        const size_t row = group->sparse ? group->rows[i] : i;
        if (index >= v->length) {
            return group_fail(group, i, "the Arrow array is invalid: no value has its index");
        }
        group->rows[chosen] = row;
        group->picks[chosen] = (size_t)index;
        chosen += v->layout.type != LAYOUT_NULL && bit_is_set(v->valid, v->offset + (size_t)index);
    }
    group->sparse |= chosen < *count;
    *count = chosen;
    return true;
}

static size_t fill_rows(const struct column *column, size_t from, size_t count,
                        struct group *group) {
    static const struct key_rule as_numbers = {.prehashed = true};
    const struct arrow *a = (const struct arrow *)column->detail;
    size_t keys = choose_rows(a, from, count, group);
    if (a->is_coded && !choose_values(a, &as_numbers, from, &keys, group)) return 0;
    const size_t *picks = a->is_coded || group->sparse ? group->picks : NULL;
    if (!values_fill(&a->values, &column->target->rule, picks, a->from + from, keys, group)) {
        return 0;
    }
    return group_rows(group, count, keys);
}

/* ---- chunks */

static bool raise_invalid(const char *what) {
    PyErr_Format(PyExc_ValueError, "the Arrow array is invalid: %s", what);
    return false;
}

/* The only field of the structures, where `a->array` consists of structures. */
static const struct ArrowArray *open_struct(struct arrow *a) {
    const struct ArrowArray *array = &a->array;
    if (!array_is_sound(array, 1)) return NULL;
    if (array->n_children != 1 || array->children == NULL || array->children[0] == NULL ||
        array->children[0]->length < array->offset + array->length) {
        raise_invalid("its field is missing or too short");
        return NULL;
    }
    a->from = (size_t)array->offset;
    a->valid[0] = array->null_count == 0 ? NULL : (const uint8_t *)array->buffers[0];
    a->valid_from[0] = a->from;
    return array->children[0];
}

static bool open_coded(struct arrow *a, const struct ArrowArray *array) {
    if (array->dictionary == NULL) return raise_invalid("its dictionary is missing");
    return values_of_array(array, &a->codes, &a->indices) &&
           values_of_array(array->dictionary, &a->layout, &a->values);
}

static bool open_chunk(struct arrow *a) {
    a->from = 0;
    a->valid[0] = NULL;
    const struct ArrowArray *array = a->is_struct ? open_struct(a) : &a->array;
    if (array == NULL) return false;
    const bool opened =
        a->is_coded ? open_coded(a, array) : values_of_array(array, &a->layout, &a->values);
    if (!opened) return false;
    const struct values *rows = a->is_coded ? &a->indices : &a->values;
    a->valid[1] = rows->valid;
    a->valid_from[1] = rows->offset + a->from;
    return true;
}

static bool is_nullable(const struct arrow *a) {
    return a->valid[0] != NULL || a->valid[1] != NULL || a->values.layout.type == LAYOUT_NULL ||
           (a->is_coded && a->values.valid != NULL);
}

static void release_array(struct arrow *a) {
    if (a->array.release != NULL) a->array.release(&a->array);
    a->array.release = NULL;
}

static int raise_stream(struct arrow *a, int error) {
    const char *text = a->stream.get_last_error(&a->stream);
    if (error == ENOMEM) {
        PyErr_NoMemory();
    } else {
        PyErr_Format(error == EINVAL ? PyExc_ValueError : PyExc_OSError,
                     "the Arrow stream failed: %s", text == NULL ? strerror(error) : text);
    }
    return -1;
}

/* Producing a chunk may take long and need other threads: the GIL is released. */
static int fetch_chunk(struct arrow *a) {
    int error;
    Py_BEGIN_ALLOW_THREADS
    error = a->stream.get_next(&a->stream, &a->array);
    Py_END_ALLOW_THREADS
    if (error == 0) return a->array.release != NULL;
    a->array.release = NULL;
    return raise_stream(a, error);
}

static int open_next(struct source *source, struct column *column) {
    struct arrow *a = (struct arrow *)source->detail;
    if (!open_chunk(a)) return -1;
    *column = (struct column){.length = (size_t)a->array.length,
                              .nullable = is_nullable(a),
                              .target = source->target,
                              .detail = a,
                              .fill = fill_rows};
    return 1;
}

static int next_chunk(struct source *source, struct column *column) {
    struct arrow *a = (struct arrow *)source->detail;
    release_array(a);
    const int found = fetch_chunk(a);
    return found == 1 ? open_next(source, column) : found;
}

static int next_array(struct source *source, struct column *column) {
    struct arrow *a = (struct arrow *)source->detail;
    if (a->done) return 0;
    a->done = true;
    return open_next(source, column);
}

/* ---- the type */

static const struct ArrowSchema *enter_struct(struct arrow *a) {
    const struct ArrowSchema *schema = &a->schema;
    a->is_struct = schema->format != NULL && strcmp(schema->format, "+s") == 0;
    if (!a->is_struct) return schema;
    if (schema->n_children == 1 && schema->children != NULL) return schema->children[0];
    PyErr_Format(PyExc_TypeError, "keys must be one column, not %lld: select one column",
                 (long long)schema->n_children);
    return NULL;
}

static bool read_schema(struct arrow *a, const struct key_rule *rule) {
    const struct ArrowSchema *schema = enter_struct(a);
    if (schema == NULL) return false;
    a->is_coded = schema->dictionary != NULL;
    if (!a->is_coded) return layout_of_schema(schema, rule, &a->layout);
    if (schema->format == NULL || !layout_of_integers(schema->format, &a->codes)) {
        return raise_invalid("the indices of its dictionary are not integers");
    }
    return layout_of_schema(schema->dictionary, rule, &a->layout);
}

/* ---- capsules */

/* Moves a structure out of its capsule, which then has nothing to release. */
static bool take_schema(PyObject *capsule, struct ArrowSchema *to) {
    struct ArrowSchema *from = (struct ArrowSchema *)PyCapsule_GetPointer(capsule, "arrow_schema");
    if (from == NULL) return false;
    if (from->release == NULL) return raise_invalid("its schema has been released");
    *to = *from;
    from->release = NULL;
    return true;
}

static bool take_array(PyObject *capsule, struct ArrowArray *to) {
    struct ArrowArray *from = (struct ArrowArray *)PyCapsule_GetPointer(capsule, "arrow_array");
    if (from == NULL) return false;
    if (from->release == NULL) return raise_invalid("it has been released");
    *to = *from;
    from->release = NULL;
    return true;
}

static bool take_stream(PyObject *capsule, struct ArrowArrayStream *to) {
    struct ArrowArrayStream *from =
        (struct ArrowArrayStream *)PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (from == NULL) return false;
    if (from->release == NULL) return raise_invalid("the stream has been released");
    *to = *from;
    from->release = NULL;
    return true;
}

static bool import_array(struct arrow *a, PyObject *keys) {
    PyObject *pair = PyObject_CallMethod(keys, "__arrow_c_array__", NULL);
    if (pair == NULL) return false;
    bool taken = false;
    if (PyTuple_Check(pair) && PyTuple_Size(pair) == 2) {
        taken = take_schema(PyTuple_GetItem(pair, 0), &a->schema) &&
                take_array(PyTuple_GetItem(pair, 1), &a->array);
    } else {
        PyErr_SetString(PyExc_TypeError, "__arrow_c_array__ must return two capsules");
    }
    Py_DECREF(pair);
    return taken;
}

static bool import_stream(struct arrow *a, PyObject *keys) {
    PyObject *capsule = PyObject_CallMethod(keys, "__arrow_c_stream__", NULL);
    const bool taken = capsule != NULL && take_stream(capsule, &a->stream);
    Py_XDECREF(capsule);
    if (!taken) return false;
    const int error = a->stream.get_schema(&a->stream, &a->schema);
    if (error == 0) return true;
    a->schema.release = NULL;
    raise_stream(a, error);
    return false;
}

/* ---- opening */

static void close_arrow(struct source *source) {
    struct arrow *a = (struct arrow *)source->detail;
    release_array(a);
    if (a->schema.release != NULL) a->schema.release(&a->schema);
    if (a->stream.release != NULL) a->stream.release(&a->stream);
    free(a);
}

bool arrow_is_source(PyObject *keys) {
    PyObject *type = (PyObject *)Py_TYPE(keys);
    return PyObject_HasAttrString(type, "__arrow_c_array__") ||
           PyObject_HasAttrString(type, "__arrow_c_stream__");
}

bool arrow_open(struct source *source, PyObject *keys) {
    struct arrow *a = (struct arrow *)calloc(1, sizeof *a);
    if (a == NULL) return PyErr_NoMemory() != NULL;
    const bool is_array = PyObject_HasAttrString((PyObject *)Py_TYPE(keys), "__arrow_c_array__");
    source->detail = a;
    source->close = close_arrow;
    if (!(is_array ? import_array(a, keys) : import_stream(a, keys)) ||
        !read_schema(a, &source->target->rule)) {
        source_close(source);
        return false;
    }
    source->mirror = RESULT_ARROW;
    source->total = is_array ? (Py_ssize_t)a->array.length : -1;
    source->next = is_array ? next_array : next_chunk;
    return true;
}
