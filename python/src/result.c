/* result.c - what a batch returns: a list, a NumPy array, or a tamis.Array */
#include "array.h"

#include <stdlib.h>
#include <string.h>

/* ---- room for the results */

static size_t value_size(const struct results *results) {
    return results->action == BATCH_HASH ? sizeof(uint64_t) : sizeof(bool);
}

/* A bytearray of at least `size` bytes, with room for more if it has to move. */
static bool extend_bytes(PyObject **bytes, size_t size) {
    if (size > SIZE_MAX / 2) return PyErr_NoMemory() != NULL;
    if (*bytes == NULL) {
        *bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)size);
        return *bytes != NULL;
    }
    return PyByteArray_Resize(*bytes, (Py_ssize_t)size) == 0;
}

bool results_extend(struct results *results, size_t more, bool nullable) {
    const size_t before = results->length, length = before + more;
    if (length > SIZE_MAX / 16) return PyErr_NoMemory() != NULL;
    if (!extend_bytes(&results->values, length * value_size(results))) return false;
    results->length = length;
    if (results->valid == NULL && !nullable) return true;
    const size_t known = results->valid == NULL ? 0 : before;
    if (!extend_bytes(&results->valid, length)) return false;
    memset(PyByteArray_AsString(results->valid) + known, 1, length - known);
    return true;
}

void results_free(struct results *results) {
    Py_CLEAR(results->values);
    Py_CLEAR(results->valid);
}

/* ---- lists */

static PyObject *value_at(const struct results *results, const char *values, const char *valid,
                          size_t i) {
    uint64_t hash;
    if (valid != NULL && !valid[i]) Py_RETURN_NONE;
    if (results->action != BATCH_HASH) return PyBool_FromLong(values[i]);
    memcpy(&hash, values + sizeof hash * i, sizeof hash);
    return PyLong_FromUnsignedLongLong(hash);
}

static PyObject *make_list(const struct results *results) {
    const char *values = PyByteArray_AsString(results->values);
    const char *valid = results->valid == NULL ? NULL : PyByteArray_AsString(results->valid);
    PyObject *list = PyList_New((Py_ssize_t)results->length);
    for (size_t i = 0; list != NULL && i < results->length; i++) {
        PyObject *value = value_at(results, values, valid, i);
        if (value == NULL || PyList_SetItem(list, (Py_ssize_t)i, value) < 0) Py_CLEAR(list);
    }
    return list;
}

/* ---- NumPy */

static bool has_nulls(const struct results *results) {
    return results->valid != NULL &&
           memchr(PyByteArray_AsString(results->valid), 0, results->length) != NULL;
}

PyObject *numpy_of_bytes(PyObject *bytes, size_t length, bool is_hash) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy == NULL) return NULL;
    PyObject *array = PyObject_CallMethod(numpy, "ndarray", "(n)sO", (Py_ssize_t)length,
                                          is_hash ? "uint64" : "bool", bytes);
    Py_DECREF(numpy);
    return array;
}

/* The result for a null is False; it has no hash. */
static PyObject *make_numpy(const struct results *results) {
    const bool is_hash = results->action == BATCH_HASH;
    if (!is_hash || !has_nulls(results)) {
        return numpy_of_bytes(results->values, results->length, is_hash);
    }
    PyErr_SetString(PyExc_ValueError,
                    "a null has no hash, and a NumPy array has no nulls: "
                    "use result='arrow' or result='list'");
    return NULL;
}

/* ---- Arrow */

/* The bits of eight bytes, each 0 or 1: the product moves each to another bit of its highest byte.
 */
static uint8_t pack_byte(const char *bytes) {
    uint64_t eight;
    memcpy(&eight, bytes, sizeof eight);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    eight = __builtin_bswap64(eight);
#endif
    return (uint8_t)(eight * UINT64_C(0x0102040810204080) >> 56);
}

/* One bit for each of `count` bytes, which are 0 or 1. */
static uint8_t *pack_bits(const char *bytes, size_t count) {
    uint8_t *bits = (uint8_t *)malloc(count / 8 + 1);
    char rest[8] = {0};
    if (bits == NULL) return NULL;
    for (size_t i = 0; i < count / 8; i++) bits[i] = pack_byte(bytes + 8 * i);
    memcpy(rest, bytes + count / 8 * 8, count % 8);
    bits[count / 8] = pack_byte(rest);
    return bits;
}

static uint8_t *copy_words(const char *bytes, size_t count) {
    uint8_t *copy = (uint8_t *)malloc(8 * count + 1);
    if (copy != NULL) memcpy(copy, bytes, 8 * count);
    return copy;
}

static size_t count_nulls(const char *valid, size_t count) {
    size_t nulls = 0;
    for (size_t i = 0; i < count; i++) nulls += valid[i] == 0;
    return nulls;
}

static bool fill_payload(struct payload *payload, const struct results *results) {
    const char *values = PyByteArray_AsString(results->values);
    payload->length = results->length;
    payload->is_hash = results->action == BATCH_HASH;
    payload->values =
        payload->is_hash ? copy_words(values, results->length) : pack_bits(values, results->length);
    if (payload->values == NULL) return false;
    if (!has_nulls(results)) return true;
    const char *valid = PyByteArray_AsString(results->valid);
    payload->null_count = count_nulls(valid, results->length);
    payload->valid = pack_bits(valid, results->length);
    return payload->valid != NULL;
}

static PyObject *make_arrow(const struct results *results, struct state *state) {
    struct payload *payload = payload_new();
    if (payload == NULL) return PyErr_NoMemory();
    if (fill_payload(payload, results)) return array_new(state, payload);
    payload_release(payload);
    return PyErr_NoMemory();
}

PyObject *results_finish(struct results *results, struct state *state, enum result_form form) {
    if (results->values == NULL && !extend_bytes(&results->values, 0)) return NULL;
    if (form == RESULT_NUMPY) return make_numpy(results);
    return form == RESULT_ARROW ? make_arrow(results, state) : make_list(results);
}
