/* source.c - opens the source of keys that an object is: a sequence, an array, Arrow data */
#include "column.h"

#include <string.h>

static bool refuse_single(PyObject *keys) {
    refuse_type(keys, "keys must be many keys, not one %U: pass a list of keys");
    return false;
}

/* ---- buffers */

/* The letter of the format of a buffer's elements; 0, without an exception, if it has none. */
static char letter_of(PyObject *exporter) {
    Py_buffer view;
    if (PyObject_GetBuffer(exporter, &view, PyBUF_RECORDS_RO) < 0) {
        PyErr_Clear();
        return '\0';
    }
    const size_t length = view.format == NULL ? 0 : strlen(view.format);
    const char letter = length == 0 ? 'B' : view.format[length - 1];
    PyBuffer_Release(&view);
    return letter;
}

/* An array of the standard library may have elements of one byte; other objects with such elements
 * are one key. */
static bool open_exporter(struct source *source, PyObject *keys) {
    const char letter = letter_of(keys);
    const bool is_array = is_instance(keys, "array", "array");
    if (letter == '\0') return sequence_open(source, keys);
    if ((letter == 'B' || letter == 'c') && !is_array) return refuse_single(keys);
    if (!buffer_open(source, keys)) return false;
    source->mirror = RESULT_LIST;
    return true;
}

/* ---- pandas */

static bool is_of_pandas(PyObject *keys) {
    return is_instance(keys, "pandas", "Series") || is_instance(keys, "pandas", "Index") ||
           is_instance(keys, "pandas", "DataFrame") ||
           is_instance(keys, "pandas.api.extensions", "ExtensionArray");
}

static bool open_numpy_of(struct source *source, PyObject *series) {
    PyObject *array = PyObject_CallMethod(series, "to_numpy", NULL);
    const bool opened = array != NULL && numpy_open(source, array);
    Py_XDECREF(array);
    return opened;
}

static bool has_numpy_type(PyObject *keys) {
    PyObject *dtype = PyObject_GetAttrString(keys, "dtype");
    if (dtype == NULL) PyErr_Clear();
    const bool is_numpy = dtype != NULL && is_instance(dtype, "numpy", "dtype");
    Py_XDECREF(dtype);
    return is_numpy;
}

/* Without pyarrow, pandas has the method of the protocol, but cannot export. */
static bool open_arrow_of(struct source *source, PyObject *series) {
    if (arrow_is_source(series)) {
        if (arrow_open(source, series)) return true;
        if (!PyErr_ExceptionMatches(PyExc_ImportError)) return false;
        PyErr_Clear();
    }
    if (!is_instance(series, "pandas", "DataFrame")) return sequence_open(source, series);
    PyErr_SetString(PyExc_TypeError, "keys must be one column, not a DataFrame: select one column");
    return false;
}

static bool open_index(struct source *source, PyObject *index) {
    PyObject *series = PyObject_CallMethod(index, "to_series", NULL);
    const bool opened = series != NULL && open_arrow_of(source, series);
    Py_XDECREF(series);
    return opened;
}

static bool open_column(struct source *source, PyObject *keys) {
    if (has_numpy_type(keys)) return open_numpy_of(source, keys);
    if (is_instance(keys, "pandas", "Index")) return open_index(source, keys);
    return open_arrow_of(source, keys);
}

/* A NumPy array selects rows of a Series or a DataFrame: that is the result. */
static bool open_series(struct source *source, PyObject *keys) {
    if (!open_column(source, keys)) return false;
    source->mirror = RESULT_NUMPY;
    if (sequence_allow_nulls(source)) return true;
    source_close(source);
    return false;
}

/* The array of a Series cannot export itself: it becomes a Series again. */
static bool open_pandas(struct source *source, PyObject *keys) {
    if (!is_instance(keys, "pandas.api.extensions", "ExtensionArray")) {
        return open_series(source, keys);
    }
    return open_converted(source, open_series, "pandas", "Series", keys);
}

/* ---- Polars */

/* A column of Python objects is exported as their addresses. */
static bool holds_objects(PyObject *keys) {
    PyObject *types = NULL, *type = NULL;
    if (is_instance(keys, "polars", "Series")) {
        type = PyObject_GetAttrString(keys, "dtype");
    } else if (is_instance(keys, "polars", "DataFrame")) {
        types = PyObject_GetAttrString(keys, "dtypes");
        type = types == NULL || PySequence_Size(types) != 1 ? NULL : PySequence_GetItem(types, 0);
    }
    const bool found = type != NULL && is_instance(type, "polars", "Object");
    Py_XDECREF(type);
    Py_XDECREF(types);
    PyErr_Clear();
    return found;
}

static bool open_arrow(struct source *source, PyObject *keys) {
    if (!holds_objects(keys)) return arrow_open(source, keys);
    PyErr_SetString(PyExc_TypeError,
                    "elements of the type Object are not keys: convert them to integers or "
                    "strings");
    return false;
}

/* ---- all */

bool source_open(struct source *source, PyObject *keys) {
    if (PyList_Check(keys) || PyTuple_Check(keys)) return sequence_open(source, keys);
    if (PyUnicode_Check(keys) || PyBytes_Check(keys) || PyByteArray_Check(keys)) {
        return refuse_single(keys);
    }
    if (is_instance(keys, "numpy", "ndarray")) return numpy_open(source, keys);
    if (is_of_pandas(keys)) return open_pandas(source, keys);
    if (arrow_is_source(keys)) return open_arrow(source, keys);
    if (PyObject_CheckBuffer(keys) && !PyIndex_Check(keys)) return open_exporter(source, keys);
    return sequence_open(source, keys);
}

void source_close(struct source *source) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    source->close(source);
    PyErr_Restore(type, value, traceback);
}
