/* keys.c - a Python object becomes a key */
#include "column.h"

#include <string.h>

static struct key_rule rule_of(tamis_key_form form, tamis_hasher hasher, uint32_t key_bytes) {
    struct key_rule rule = {.form = form, .key_bytes = key_bytes};
    rule.form.field = 0; /* an object is the field already */
    rule.prehashed = hasher == TAMIS_HASH_NONE || (form.flags & TAMIS_KEY_PREHASHED) != 0;
    rule.composite = hasher != TAMIS_HASH_COMPAT;
    rule.plain =
        form.flags == 0 && form.type == TAMIS_KEY_BYTES && key_bytes == 0 && !rule.prehashed;
    return rule;
}

struct key_rule key_rule_of_facts(const tamis_facts *facts) {
    return rule_of(facts->form, facts->hasher, facts->key_bytes);
}

struct key_rule key_rule_of_options(const tamis_options *options) {
    const bool compatible = options->format != NULL && strcmp(options->format, "tamis") != 0;
    return rule_of(options->form, compatible ? TAMIS_HASH_COMPAT : options->hasher, 0);
}

/* ---- what the objects hold */

static bool raise_value(const char *error) {
    PyErr_SetString(PyExc_ValueError, error);
    return false;
}

/* The value of an int in 64 bits; of an unsigned one if it is greater than an int64_t. */
static bool value_of_int(PyObject *object, bool *is_unsigned, uint64_t *value) {
    int overflow;
    const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    *is_unsigned = false;
    *value = (uint64_t)number;
    if (overflow == 0) return number != -1 || PyErr_Occurred() == NULL;
    if (overflow > 0) {
        *is_unsigned = true;
        *value = PyLong_AsUnsignedLongLong(object);
        if (PyErr_Occurred() == NULL) return true;
    }
    PyErr_SetString(PyExc_OverflowError,
                    "an int key has 8 bytes, from -2**63 to 2**64 - 1: pass a larger number as "
                    "str or bytes");
    return false;
}

static void store_little(uint8_t bytes[8], uint64_t value) {
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(value >> (8 * i));
}

static bool take_integer(const struct key_rule *rule, PyObject *object, struct key *key) {
    bool is_unsigned;
    uint64_t value;
    char error[160];
    if (!value_of_int(object, &is_unsigned, &value)) return false;
    key->bytes = key->number;
    key->length = 8;
    if (rule->plain) {
        store_little(key->number, value);
        return true;
    }
    key->is_hash = rule->prehashed;
    return key_of_integer(rule, is_unsigned, value, key->number, &key->length, &key->hash, error) ||
           raise_value(error);
}

static bool refuse(PyObject *object);

/* Every NumPy array has __index__, and few can use it. */
static bool take_index(const struct key_rule *rule, PyObject *object, struct key *key) {
    PyObject *number = PyNumber_Index(object);
    if (number == NULL && PyErr_ExceptionMatches(PyExc_TypeError) &&
        is_instance(object, "numpy", "ndarray")) {
        return refuse(object);
    }
    if (number == NULL) return false;
    const bool taken = take_integer(rule, number, key);
    Py_DECREF(number);
    return taken;
}

static bool has_floats(const struct key_rule *rule) {
    return rule->form.type == TAMIS_KEY_F32 || rule->form.type == TAMIS_KEY_F64;
}

static bool take_float(const struct key_rule *rule, PyObject *object, struct key *key) {
    char error[160];
    const double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred() != NULL) return false;
    if (!has_floats(rule)) {
        PyErr_SetString(PyExc_TypeError,
                        "a float is a key only in a filter created with "
                        "key_type='f64' or 'f32': pass str(x) or int(x)");
        return false;
    }
    key->bytes = key->number;
    return key_of_float(rule, value, key->number, &key->length, error) || raise_value(error);
}

/* Text in key->bytes under a rule that is not plain. */
static bool convert_text(const struct key_rule *rule, struct key *key) {
    char error[160];
    const size_t length = key->length;
    key->is_hash = rule->prehashed;
    key->made = PyMem_Malloc(key_made_bytes(length));
    if (key->made == NULL) return PyErr_NoMemory() != NULL;
    if (key_of_text(rule, key->bytes, length, key->made, &key->bytes, &key->length, &key->hash,
                    error)) {
        return true;
    }
    key_release(key);
    return raise_value(error);
}

static bool take_text(const struct key_rule *rule, PyObject *text, struct key *key) {
    Py_ssize_t length;
    key->bytes = PyUnicode_AsUTF8AndSize(text, &length);
    if (key->bytes == NULL) return false;
    key->length = (size_t)length;
    return rule->plain || convert_text(rule, key);
}

static bool take_bytes(const struct key_rule *rule, PyObject *bytes, struct key *key) {
    key->bytes = PyBytes_AsString(bytes);
    key->length = (size_t)PyBytes_Size(bytes);
    return rule->plain || convert_text(rule, key);
}

static bool take_view(const struct key_rule *rule, PyObject *object, struct key *key) {
    if (PyObject_GetBuffer(object, &key->view, PyBUF_SIMPLE) < 0) {
        if (PyErr_ExceptionMatches(PyExc_BufferError)) {
            PyErr_SetString(PyExc_BufferError,
                            "a memoryview that is not contiguous is not a key: pass bytes(view)");
        }
        return false;
    }
    key->has_view = true;
    key->bytes = key->view.buf;
    key->length = (size_t)key->view.len;
    return rule->plain || convert_text(rule, key);
}

static bool refuse(PyObject *object) {
    refuse_type(object,
                "a key is str, bytes, bytearray, memoryview, int or a tuple of these, not %U: "
                "convert it, for example with str(); many keys go to update() or contains_many()");
    return false;
}

bool key_of_object(const struct key_rule *rule, PyObject *object, struct key *key) {
    key->is_hash = key->is_tuple = key->has_view = false;
    key->made = NULL;
    if (PyUnicode_Check(object)) return take_text(rule, object, key);
    if (PyBytes_Check(object)) return take_bytes(rule, object, key);
    if (PyLong_Check(object)) return take_integer(rule, object, key);
    if (PyTuple_Check(object)) {
        key->is_tuple = key->is_hash = true;
        if (rule->composite) return true;
        PyErr_SetString(PyExc_TypeError,
                        "a filter of a compatible format has no composite keys: "
                        "join the fields of the tuple to one str");
        return false;
    }
    if (PyByteArray_Check(object) || PyMemoryView_Check(object))
        return take_view(rule, object, key);
    if (PyFloat_Check(object)) return take_float(rule, object, key);
    if (PyIndex_Check(object)) return take_index(rule, object, key);
    /* with __float__, such as numpy.float32 */
    return has_floats(rule) && PyNumber_Check(object) ? take_float(rule, object, key)
                                                      : refuse(object);
}

void key_release(struct key *key) {
    if (key->made != NULL) PyMem_Free(key->made);
    if (key->has_view) PyBuffer_Release(&key->view);
    key->made = NULL;
    key->has_view = false;
}

/* ---- composite keys */

static bool compose_number(tamis_composer *composer, PyObject *field) {
    bool is_unsigned;
    uint64_t value;
    if (!value_of_int(field, &is_unsigned, &value)) return false;
    if (is_unsigned) {
        tamis_compose_unsigned(composer, value);
    } else {
        tamis_compose_integer(composer, (int64_t)value);
    }
    return true;
}

/* A string with a NUL, which C's strings cannot hold, is hashed as its bytes. */
static void compose_text(tamis_composer *composer, const struct key *text) {
    if (memchr(text->bytes, '\0', text->length) == NULL) {
        tamis_compose_string(composer, text->bytes);
    } else {
        tamis_compose_bytes(composer, text->bytes, text->length);
    }
}

static bool compose_float(tamis_composer *composer, PyObject *field) {
    const double value = PyFloat_AsDouble(field);
    if (value == -1.0 && PyErr_Occurred() != NULL) return false;
    tamis_compose_double(composer, value);
    return true;
}

static bool refuse_field(PyObject *field) {
    refuse_type(field,
                "a field of a composite key is str, bytes, bytearray, memoryview, int or "
                "float, not %U: convert it, for example with str()");
    return false;
}

static bool compose_bytes(tamis_composer *composer, PyObject *field) {
    static const struct key_rule plain = {.plain = true};
    struct key key;
    if (!key_of_object(&plain, field, &key)) return false;
    if (PyUnicode_Check(field)) {
        compose_text(composer, &key);
    } else {
        tamis_compose_bytes(composer, key.bytes, key.length);
    }
    key_release(&key);
    return true;
}

static bool compose_field(tamis_composer *composer, PyObject *field) {
    if (PyLong_Check(field)) return compose_number(composer, field);
    if (PyFloat_Check(field)) return compose_float(composer, field);
    if (PyUnicode_Check(field) || PyBytes_Check(field) || PyByteArray_Check(field) ||
        PyMemoryView_Check(field)) {
        return compose_bytes(composer, field);
    }
    if (PyIndex_Check(field)) {
        PyObject *number = PyNumber_Index(field);
        const bool composed = number != NULL && compose_number(composer, number);
        Py_XDECREF(number);
        return composed;
    }
    return is_instance(field, "numpy", "floating") ? compose_float(composer, field)
                                                   : refuse_field(field);
}

bool compose_key(tamis_composer *composer, PyObject *tuple, uint64_t *hash) {
    const Py_ssize_t fields = PyTuple_Size(tuple);
    bool composed = true;
    for (Py_ssize_t i = 0; composed && i < fields; i++) {
        composed = compose_field(composer, PyTuple_GetItem(tuple, i));
    }
    *hash = tamis_composer_finish(composer); /* also resets it */
    return composed;
}
