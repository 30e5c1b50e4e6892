/* numpy.c - keys from NumPy arrays and other buffers of integers, without NumPy's headers */
#include "column.h"

#include <stdlib.h>
#include <string.h>

/* ---- arrays that the buffer protocol describes */

struct buffer {
    struct single single;
    struct elements elements;
    Py_buffer view;
};

static size_t fill_buffer(const struct column *column, size_t from, size_t count,
                          struct group *group) {
    const struct buffer *b = (const struct buffer *)column->detail;
    group->sparse = false;
    if (!elements_fill(&b->elements, &column->target->rule, NULL, from, count, group)) return 0;
    return group->count;
}

static void close_buffer(struct source *source) {
    struct buffer *b = (struct buffer *)source->detail;
    PyBuffer_Release(&b->view);
    free(b);
}

static bool is_swapped(char order) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return order == '>' || order == '!';
#else
    return order == '<';
#endif
}

/* Does an element of this letter have `size` bytes?  The size of 'l' and 'n' depends on the machine
 * and on the byte order.  `count` is the number before the letter, "" if there is none. */
static bool is_size(char letter, const char *count, size_t size) {
    static const char letters[] = "bB?hHiIfqQd";
    static const uint8_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8};
    if (letter == 's' || letter == 'w') {
        const size_t width = letter == 's' ? 1 : 4;
        const size_t length = *count == '\0' ? 1 : strtoul(count, NULL, 10);
        return size % width == 0 && size / width == length;
    }
    if (*count != '\0') return false; /* several numbers in an element */
    const char *found = strchr(letters, letter);
    return found != NULL ? size == sizes[found - letters] : size == 4 || size == 8;
}

/* The format of an element of `size` bytes: a byte order, a count, and a letter. */
static bool parse_format(const char *format, size_t size, struct elements *e) {
    char count[16] = "";
    if (*format != '\0' && strchr("@=<>!", *format) != NULL) e->swapped = is_swapped(*format++);
    const size_t digits = strspn(format, "0123456789");
    if (digits >= sizeof count) return false;
    memcpy(count, format, digits);
    format += digits;
    if (format[0] == '\0' || format[1] != '\0' || !is_size(*format, count, size)) return false;
    e->is_unsigned = strchr("BHILQN?", *format) != NULL;
    if (e->is_unsigned || strchr("bhilqn", *format) != NULL) {
        e->type = ELEMENT_INTEGER;
    } else if (*format == 'f' || *format == 'd') {
        e->type = ELEMENT_FLOAT;
    } else if (*format == 's') {
        e->type = ELEMENT_PADDED;
    } else if (*format == 'w') {
        e->type = ELEMENT_UCS4;
    } else {
        return false;
    }
    return true;
}

static bool describe_elements(const Py_buffer *view, const struct key_rule *rule,
                              struct elements *e) {
    if (view->ndim != 1) {
        PyErr_Format(PyExc_ValueError,
                     "keys must be an array of one dimension, not %d: use ravel()", view->ndim);
        return false;
    }
    if (view->format == NULL || !parse_format(view->format, (size_t)view->itemsize, e)) {
        PyErr_Format(PyExc_TypeError,
                     "elements of the format '%s' are not keys: convert them to integers or "
                     "strings",
                     view->format == NULL ? "B" : view->format);
        return false;
    }
    e->width = (size_t)view->itemsize;
    e->stride = view->strides == NULL ? view->itemsize : view->strides[0];
    e->first = (const uint8_t *)view->buf;
    return elements_are_keys(e->type, rule);
}

bool buffer_open(struct source *source, PyObject *exporter) {
    struct buffer *b = (struct buffer *)calloc(1, sizeof *b);
    if (b == NULL) return PyErr_NoMemory() != NULL;
    if (PyObject_GetBuffer(exporter, &b->view, PyBUF_RECORDS_RO) < 0) {
        free(b);
        return false;
    }
    source->detail = b;
    if (!describe_elements(&b->view, &source->target->rule, &b->elements)) {
        close_buffer(source);
        return false;
    }
    b->single.column = (struct column){.length = (size_t)b->view.shape[0],
                                       .target = source->target,
                                       .detail = b,
                                       .fill = fill_buffer};
    source->mirror = RESULT_NUMPY;
    source->total = b->view.shape[0];
    source->next = single_next;
    source->close = close_buffer;
    return true;
}

/* ---- NumPy */

/* The letter that NumPy has for the kind of an array's elements; 0: an exception is set. */
static char kind_of(PyObject *array) {
    PyObject *dtype = PyObject_GetAttrString(array, "dtype");
    PyObject *kind = dtype == NULL ? NULL : PyObject_GetAttrString(dtype, "kind");
    const char *text = kind == NULL ? NULL : PyUnicode_AsUTF8AndSize(kind, NULL);
    const char letter = text == NULL ? '\0' : text[0];
    Py_XDECREF(kind);
    Py_XDECREF(dtype);
    return letter;
}

static bool check_dimensions(PyObject *array) {
    PyObject *number = PyObject_GetAttrString(array, "ndim");
    const long dimensions = number == NULL ? -1 : PyLong_AsLong(number);
    Py_XDECREF(number);
    if (dimensions == 1) return true;
    if (PyErr_Occurred() == NULL) {
        PyErr_Format(PyExc_ValueError,
                     "keys must be an array of one dimension, not %ld: use ravel()", dimensions);
    }
    return false;
}

static bool open_objects(struct source *source, PyObject *array) {
    PyObject *list = PyObject_CallMethod(array, "tolist", NULL);
    if (list == NULL) return false;
    const bool opened = sequence_open(source, list);
    Py_DECREF(list);
    source->mirror = RESULT_NUMPY;
    return opened;
}

static bool refuse_kind(PyObject *array, char kind) {
    PyObject *dtype = PyObject_GetAttrString(array, "dtype");
    if (dtype == NULL) return false;
    if (kind == 'M' || kind == 'm') {
        PyErr_Format(PyExc_TypeError,
                     "elements of the type %S are not keys: view them as integers, with "
                     "a.view('int64')",
                     dtype);
    } else {
        PyErr_Format(PyExc_TypeError,
                     "elements of the type %S are not keys: convert them to integers or strings",
                     dtype);
    }
    Py_DECREF(dtype);
    return false;
}

static bool open_kind(struct source *source, PyObject *array) {
    if (!check_dimensions(array)) return false;
    const char kind = kind_of(array);
    switch (kind) {
        case '\0':
            return false;
        case 'b':
        case 'i':
        case 'u':
        case 'f':
        case 'S':
        case 'U':
            return buffer_open(source, array);
        case 'T':
            return strings_open(source, array) ||
                   (!PyErr_Occurred() && open_objects(source, array));
        case 'O':
            return open_objects(source, array);
        default:
            return refuse_kind(array, kind);
    }
}

/* Attributes of a subclass could be anything: its array is taken as NumPy's own class. */
bool numpy_open(struct source *source, PyObject *array) {
    if (is_instance(array, "numpy.ma", "MaskedArray")) {
        PyErr_SetString(PyExc_TypeError, "keys must not be a masked array: use compressed()");
        return false;
    }
    return open_converted(source, open_kind, "numpy", "asarray", array);
}
