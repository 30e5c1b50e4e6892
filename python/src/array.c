/* array.c - see array.h */
#include "array.h"

#include <stdlib.h>
#include <string.h>

#include "arrow.h"

typedef struct {
    PyObject_HEAD
    struct state *state;
    struct payload *payload;
} ArrayObject;

/* ---- the values */

struct payload *payload_new(void) {
    struct payload *payload = (struct payload *)calloc(1, sizeof *payload);
    if (payload != NULL) atomic_init(&payload->users, 1);
    return payload;
}

/* Any thread may release an exported array, without the GIL. */
void payload_release(struct payload *payload) {
    if (atomic_fetch_sub(&payload->users, 1) != 1) return;
    free(payload->values);
    free(payload->valid);
    free(payload);
}

static const struct payload *payload_of(PyObject *self) { return ((ArrayObject *)self)->payload; }

static PyObject *value_at(const struct payload *p, size_t i) {
    uint64_t hash;
    if (!bit_is_set(p->valid, i)) Py_RETURN_NONE;
    if (!p->is_hash) return PyBool_FromLong(bit_is_set(p->values, i));
    memcpy(&hash, p->values + sizeof hash * i, sizeof hash);
    return PyLong_FromUnsignedLongLong(hash);
}

/* ---- the sequence */

static Py_ssize_t array_length(PyObject *self) { return (Py_ssize_t)payload_of(self)->length; }

static PyObject *array_item(PyObject *self, Py_ssize_t i) {
    const struct payload *p = payload_of(self);
    if (i >= 0 && (size_t)i < p->length) return value_at(p, (size_t)i);
    PyErr_SetString(PyExc_IndexError, "the index is out of range");
    return NULL;
}

static PyObject *list_of(const struct payload *p, Py_ssize_t start, Py_ssize_t step,
                         Py_ssize_t count) {
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        PyObject *value = value_at(p, (size_t)(start + i * step));
        if (value == NULL || PyList_SetItem(list, i, value) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *array_tolist(PyObject *self, PyObject *unused) {
    (void)unused;
    return list_of(payload_of(self), 0, 1, array_length(self));
}

static PyObject *array_subscript(PyObject *self, PyObject *index) {
    if (PySlice_Check(index)) {
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(index, &start, &stop, &step) < 0) return NULL;
        const Py_ssize_t count = PySlice_AdjustIndices(array_length(self), &start, &stop, step);
        return list_of(payload_of(self), start, step, count);
    }
    const Py_ssize_t i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred() != NULL) return NULL;
    return array_item(self, i < 0 ? i + array_length(self) : i);
}

static PyObject *array_index(PyObject *self, PyObject *arguments) {
    PyObject *value;
    Py_ssize_t start = 0, stop = PY_SSIZE_T_MAX;
    if (!PyArg_ParseTuple(arguments, "O|nn:index", &value, &start, &stop)) return NULL;
    const Py_ssize_t count = PySlice_AdjustIndices(array_length(self), &start, &stop, 1);
    PyObject *list = list_of(payload_of(self), start, 1, count);
    const Py_ssize_t i = list == NULL ? -1 : PySequence_Index(list, value);
    Py_XDECREF(list);
    return i < 0 ? NULL : PyLong_FromSsize_t(start + i);
}

static PyObject *array_count(PyObject *self, PyObject *value) {
    const Py_ssize_t count = PySequence_Count(self, value);
    return count < 0 ? NULL : PyLong_FromSsize_t(count);
}

/* The Booleans, each the other one; a null stays null. */
static PyObject *array_invert(PyObject *self) {
    const struct payload *p = payload_of(self);
    const size_t size = p->length / 8 + 1;
    if (p->is_hash) {
        PyErr_SetString(PyExc_TypeError, "an Array of hashes cannot be inverted");
        return NULL;
    }
    struct payload *inverted = payload_new();
    if (inverted == NULL) return PyErr_NoMemory();
    inverted->length = p->length;
    inverted->null_count = p->null_count;
    inverted->values = (uint8_t *)malloc(size);
    inverted->valid = p->valid == NULL ? NULL : (uint8_t *)malloc(size);
    if (inverted->values == NULL || (p->valid != NULL && inverted->valid == NULL)) {
        payload_release(inverted);
        return PyErr_NoMemory();
    }
    for (size_t i = 0; i < size; i++) inverted->values[i] = (uint8_t)~p->values[i];
    if (p->valid != NULL) memcpy(inverted->valid, p->valid, size);
    return array_new(((ArrayObject *)self)->state, inverted);
}

static PyObject *array_null_count(PyObject *self, void *closure) {
    (void)closure;
    return PyLong_FromSize_t(payload_of(self)->null_count);
}

static PyObject *array_repr(PyObject *self) {
    const struct payload *p = payload_of(self);
    PyObject *list = list_of(p, 0, 1, p->length < 10 ? (Py_ssize_t)p->length : 10);
    if (list == NULL) return NULL;
    PyObject *repr = PyUnicode_FromFormat("<tamis.Array of %zu %s, %zu null: %R%s>", p->length,
                                          p->is_hash ? "hashes" : "bools", p->null_count, list,
                                          p->length > 10 ? "..." : "");
    Py_DECREF(list);
    return repr;
}

/* ---- NumPy */

static PyObject *bytes_of(const struct payload *p) {
    const size_t size = p->is_hash ? 8 * p->length : p->length;
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes == NULL) return NULL;
    char *at = PyByteArray_AsString(bytes);
    if (p->is_hash) {
        memcpy(at, p->values, size);
    } else {
        for (size_t i = 0; i < p->length; i++) at[i] = (char)bit_is_set(p->values, i);
    }
    return bytes;
}

/* Nulls become None in an array of objects, as in pyarrow. */
static PyObject *objects_of(const struct payload *p) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *list = numpy == NULL ? NULL : list_of(p, 0, 1, (Py_ssize_t)p->length);
    PyObject *array =
        list == NULL ? NULL : PyObject_CallMethod(numpy, "array", "Os", list, "object");
    Py_XDECREF(list);
    Py_XDECREF(numpy);
    return array;
}

static PyObject *numpy_of(const struct payload *p) {
    if (p->null_count != 0) return objects_of(p);
    PyObject *bytes = bytes_of(p);
    PyObject *array = bytes == NULL ? NULL : numpy_of_bytes(bytes, p->length, p->is_hash);
    Py_XDECREF(bytes);
    return array;
}

static PyObject *array_as_numpy(PyObject *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO:__array__", names, &dtype, &copy)) {
        return NULL;
    }
    if (copy == Py_False) {
        PyErr_SetString(PyExc_ValueError, "an Array cannot be converted without a copy");
        return NULL;
    }
    PyObject *array = numpy_of(payload_of(self));
    if (array == NULL || dtype == Py_None) return array;
    PyObject *converted = PyObject_CallMethod(array, "astype", "O", dtype);
    Py_DECREF(array);
    return converted;
}

/* ---- Arrow */

struct exported {
    struct payload *payload;
    const void *buffers[2];
};

static void release_array(struct ArrowArray *array) {
    struct exported *exported = (struct exported *)array->private_data;
    payload_release(exported->payload);
    free(exported);
    array->release = NULL;
}

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }

static void destroy_array(PyObject *capsule) {
    struct ArrowArray *array = (struct ArrowArray *)PyCapsule_GetPointer(capsule, "arrow_array");
    if (array->release != NULL) array->release(array);
    free(array);
}

static void destroy_schema(PyObject *capsule) {
    struct ArrowSchema *schema =
        (struct ArrowSchema *)PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release != NULL) schema->release(schema);
    free(schema);
}

static PyObject *export_schema(const struct payload *payload) {
    struct ArrowSchema *schema = (struct ArrowSchema *)malloc(sizeof *schema);
    if (schema == NULL) return PyErr_NoMemory();
    *schema = (struct ArrowSchema){.format = payload->is_hash ? "L" : "b",
                                   .name = "",
                                   .flags = ARROW_FLAG_NULLABLE,
                                   .release = release_schema};
    PyObject *capsule = PyCapsule_New(schema, "arrow_schema", destroy_schema);
    if (capsule == NULL) free(schema);
    return capsule;
}

static PyObject *wrap_array(struct payload *payload, struct ArrowArray *array,
                            struct exported *exported) {
    *exported = (struct exported){payload, {payload->valid, payload->values}};
    *array = (struct ArrowArray){.length = (int64_t)payload->length,
                                 .null_count = (int64_t)payload->null_count,
                                 .n_buffers = 2,
                                 .buffers = exported->buffers,
                                 .release = release_array,
                                 .private_data = exported};
    PyObject *capsule = PyCapsule_New(array, "arrow_array", destroy_array);
    if (capsule != NULL) atomic_fetch_add(&payload->users, 1);
    return capsule;
}

static PyObject *export_array(struct payload *payload) {
    struct ArrowArray *array = (struct ArrowArray *)malloc(sizeof *array);
    struct exported *exported = (struct exported *)malloc(sizeof *exported);
    PyObject *capsule = NULL;
    if (array == NULL || exported == NULL) {
        PyErr_NoMemory();
    } else {
        capsule = wrap_array(payload, array, exported);
    }
    if (capsule == NULL) {
        free(array);
        free(exported);
    }
    return capsule;
}

/* The schema that is requested is a wish; these values have one type. */
static PyObject *array_export(PyObject *self, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"requested_schema", NULL};
    struct payload *payload = ((ArrayObject *)self)->payload;
    PyObject *requested = Py_None;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:__arrow_c_array__", names,
                                     &requested)) {
        return NULL;
    }
    PyObject *schema = export_schema(payload);
    PyObject *array = schema == NULL ? NULL : export_array(payload);
    PyObject *pair = array == NULL ? NULL : PyTuple_Pack(2, schema, array);
    Py_XDECREF(schema);
    Py_XDECREF(array);
    return pair;
}

/* ---- the type */

static void array_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    payload_release(((ArrayObject *)self)->payload);
    release(self);
    Py_DECREF(type);
}

PyObject *array_new(struct state *state, struct payload *payload) {
    allocfunc allocate = (allocfunc)(uintptr_t)PyType_GetSlot(state->array_type, Py_tp_alloc);
    PyObject *self = allocate(state->array_type, 0);
    if (self == NULL) {
        payload_release(payload);
    } else {
        ((ArrayObject *)self)->state = state;
        ((ArrayObject *)self)->payload = payload;
    }
    return self;
}

static PyObject *refuse_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)type, (void)arguments, (void)keywords;
    PyErr_SetString(PyExc_TypeError, "an Array is the result of a batch and cannot be created");
    return NULL;
}

PyDoc_STRVAR(array_doc,
             "What a batch of Arrow keys returns: Booleans or 64-bit hashes, with nulls.\n\n"
             "It supports the Arrow PyCapsule protocol, so that ``pyarrow.array(result)`` and\n"
             "``polars.Series(result)`` convert it without Python objects.");

static PyMethodDef array_methods[] = {
    {"tolist", array_tolist, METH_NOARGS,
     PyDoc_STR("tolist($self, /)\n--\n\nReturns the values as a list; a null is None.")},
    {"index", array_index, METH_VARARGS,
     PyDoc_STR("index($self, value, start=0, stop=sys.maxsize, /)\n--\n\n"
               "Returns the index of the first such value.")},
    {"count", array_count, METH_O,
     PyDoc_STR("count($self, value, /)\n--\n\nReturns the number of such values.")},
    {"__arrow_c_array__", METHOD(array_export), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("The values as an Arrow array, in two capsules.")},
    {"__array__", METHOD(array_as_numpy), METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("The values as a NumPy array; with nulls, of objects.")},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef array_attributes[] = {
    {"null_count", array_null_count, NULL, PyDoc_STR("The number of nulls."), NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot array_slots[] = {
    DOC_SLOT(array_doc),
    FUNCTION_SLOT(Py_tp_new, refuse_new),
    FUNCTION_SLOT(Py_tp_dealloc, array_dealloc),
    FUNCTION_SLOT(Py_tp_repr, array_repr),
    TABLE_SLOT(Py_tp_methods, array_methods),
    TABLE_SLOT(Py_tp_getset, array_attributes),
    FUNCTION_SLOT(Py_tp_iter, PySeqIter_New),
    FUNCTION_SLOT(Py_nb_invert, array_invert),
    FUNCTION_SLOT(Py_sq_length, array_length),
    FUNCTION_SLOT(Py_sq_item, array_item),
    FUNCTION_SLOT(Py_mp_length, array_length),
    FUNCTION_SLOT(Py_mp_subscript, array_subscript),
    {0, NULL},
};

static PyType_Spec array_spec = {.name = "tamis.Array",
                                 .basicsize = sizeof(ArrayObject),
                                 .flags = Py_TPFLAGS_DEFAULT,
                                 .slots = array_slots};

/* Every Python has loaded this module at its start; collections.abc takes a millisecond. */
static int register_sequence(PyObject *type) {
    PyObject *abc = PyImport_ImportModule("_collections_abc");
    PyObject *sequence = abc == NULL ? NULL : PyObject_GetAttrString(abc, "Sequence");
    PyObject *registered =
        sequence == NULL ? NULL : PyObject_CallMethod(sequence, "register", "O", type);
    Py_XDECREF(abc);
    Py_XDECREF(sequence);
    Py_XDECREF(registered);
    return registered == NULL ? -1 : 0;
}

int array_add_type(PyObject *module, struct state *state) {
    PyObject *type = PyType_FromModuleAndSpec(module, &array_spec, NULL);
    if (type == NULL) return -1;
    state->array_type = (PyTypeObject *)type;
    if (register_sequence(type) < 0) return -1;
    return PyModule_AddType(module, state->array_type);
}
