/* strings.c - keys from NumPy arrays of StringDType
 *
 * Such arrays do not support the buffer protocol.  Their strings are read with three functions of
 * the table that NumPy 2 provides for C.  The allocator of the strings is locked meanwhile, which
 * keeps another thread from moving them.  A thread that has the lock may wait for the GIL, so the
 * lock is held only without it. */
#include "column.h"

#include <stdlib.h>
#include <string.h>

/* Indices in NumPy's table, part of its ABI. */
enum { INDEX_LOAD = 313, INDEX_ACQUIRE = 316, INDEX_RELEASE = 318 };

struct text {
    size_t size;
    const char *bytes;
};

typedef int load_function(void *allocator, const void *packed, struct text *text);
typedef void *acquire_function(PyObject *descriptor);
typedef void release_function(void *allocator);

struct strings {
    struct single single;
    PyObject *array, *descriptor;
    const uint8_t *first;
    Py_ssize_t stride;
    load_function *load;
    acquire_function *acquire;
    release_function *release;
    void *allocator; /* while it is locked */
};

static void hold_strings(const struct column *column) {
    struct strings *s = (struct strings *)(uintptr_t)column->detail;
    s->allocator = s->acquire(s->descriptor);
}

static void drop_strings(const struct column *column) {
    const struct strings *s = (const struct strings *)column->detail;
    s->release(s->allocator);
}

static size_t fill_strings(const struct column *column, size_t from, size_t count,
                           struct group *group) {
    const struct strings *s = (const struct strings *)column->detail;
    size_t keys = 0;
    group->hashed = group->sparse = false;
    for (size_t row = 0; row < count; row++) {
        struct text text = {0, NULL};
        const uint8_t *at = s->first + (Py_ssize_t)(from + row) * s->stride;
        const int loaded = s->load(s->allocator, at, &text);
        if (loaded < 0) return group_fail(group, row, "the string cannot be read");
        group->rows[keys] = row;
        group_set_text(group, keys, text.bytes, text.size);
        keys += loaded == 0;
    }
    group->sparse = keys < count;
    group->count = keys;
    group->keys = group->key_room;
    group->lengths = group->length_room;
    if (!group_texts(group, &column->target->rule)) return 0;
    return group_rows(group, count, keys);
}

/* ---- opening */

static void close_strings(struct source *source) {
    struct strings *s = (struct strings *)source->detail;
    Py_XDECREF(s->array);
    Py_XDECREF(s->descriptor);
    free(s);
}

/* ISO C has no conversion of a pointer to data to one to a function. */
static void copy_functions(void *const *table, struct strings *s) {
    memcpy(&s->load, &table[INDEX_LOAD], sizeof s->load);
    memcpy(&s->acquire, &table[INDEX_ACQUIRE], sizeof s->acquire);
    memcpy(&s->release, &table[INDEX_RELEASE], sizeof s->release);
}

static bool find_functions(struct strings *s) {
    PyObject *module = PyImport_ImportModule("numpy._core._multiarray_umath");
    PyObject *capsule = module == NULL ? NULL : PyObject_GetAttrString(module, "_ARRAY_API");
    void *const *table = capsule == NULL ? NULL : (void **)PyCapsule_GetPointer(capsule, NULL);
    if (table != NULL) copy_functions(table, s);
    Py_XDECREF(capsule);
    Py_XDECREF(module);
    return table != NULL;
}

static bool find_first(struct strings *s) {
    PyObject *interface = PyObject_GetAttrString(s->array, "__array_interface__");
    PyObject *data = interface == NULL ? NULL : PyMapping_GetItemString(interface, "data");
    PyObject *address = data == NULL ? NULL : PySequence_GetItem(data, 0);
    s->first = address == NULL ? NULL : (const uint8_t *)PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    Py_XDECREF(data);
    Py_XDECREF(interface);
    return PyErr_Occurred() == NULL;
}

static bool find_stride(struct strings *s) {
    PyObject *strides = PyObject_GetAttrString(s->array, "strides");
    PyObject *stride = strides == NULL ? NULL : PySequence_GetItem(strides, 0);
    s->stride = stride == NULL ? 0 : PyLong_AsSsize_t(stride);
    Py_XDECREF(stride);
    Py_XDECREF(strides);
    return PyErr_Occurred() == NULL;
}

static bool find_strings(struct strings *s, PyObject *array) {
    s->array = array;
    Py_INCREF(array);
    s->descriptor = PyObject_GetAttrString(array, "dtype");
    return s->descriptor != NULL && find_first(s) && find_stride(s);
}

bool strings_open(struct source *source, PyObject *array) {
    const Py_ssize_t length = PyObject_Size(array);
    struct strings *s = length < 0 ? NULL : (struct strings *)calloc(1, sizeof *s);
    if (s == NULL) return length >= 0 && PyErr_NoMemory() != NULL;
    source->detail = s;
    if (!find_functions(s)) {
        PyErr_Clear();
        close_strings(source);
        return false;
    }
    if (!find_strings(s, array)) {
        close_strings(source);
        return false;
    }
    s->single.column = (struct column){.length = (size_t)length,
                                       .nullable = true,
                                       .target = source->target,
                                       .detail = s,
                                       .fill = fill_strings,
                                       .hold = hold_strings,
                                       .drop = drop_strings};
    source->mirror = RESULT_NUMPY;
    source->total = length;
    source->next = single_next;
    source->close = close_strings;
    return true;
}
