/* module.c - the module, its functions and exceptions */
#include "module.h"

#include <errno.h>

static PyModuleDef definition;

/* A subclass belongs to another module, or to none: its base does not. */
struct state *state_of_type(PyTypeObject *type) {
    while (type != NULL) {
        PyObject *module = PyType_GetModule(type);
        if (module != NULL && PyModule_GetDef(module) == &definition) {
            return PyModule_GetState(module);
        }
        PyErr_Clear();
#if defined(Py_LIMITED_API)
        type = PyType_GetSlot(type, Py_tp_base);
#else
        type = type->tp_base;
#endif
    }
    PyErr_SetString(PyExc_TypeError, "not a type of tamis");
    return NULL;
}

/* ---- exceptions */

static const struct {
    const char *name, *doc;
    const char *base; /* besides Error */
} errors[] = {
    {"tamis.ArgumentError", "An argument is missing, out of range or contradicts another.",
     "ValueError"},
    {"tamis.FormatError", "The input is not a filter, or damaged.", "ValueError"},
    {"tamis.SecretError", "The filter is keyed: the secret key is missing or wrong.", "ValueError"},
    {"tamis.MismatchError", "The filters differ in kind, size, hash or seed.", "ValueError"},
    {"tamis.UnsupportedError", "The kind, format or mode of the filter cannot do this.",
     "TypeError"},
    {"tamis.FullError", "The filter is full.", "OverflowError"},
    {"tamis.PartError", "The file has no such part, or a part must be named.", "LookupError"},
    {"tamis.ChangedError", "The file was changed, but a later step failed.", "OSError"},
    {"tamis.BusyError", "Another process holds a lock on the file.", "TimeoutError"},
    {"tamis.LostError", "Faulty memory or processor: a key was lost.", "RuntimeError"},
};
enum error { ARGUMENT, FORMAT, SECRET, MISMATCH, UNSUPPORTED, FULL, PART, CHANGED, BUSY, LOST };
#define ERRORS (sizeof errors / sizeof *errors)

static const uint8_t error_of_status[STATUS_LIMIT] = {
    [TAMIS_E_ARGUMENT] = ARGUMENT,
    [TAMIS_E_FPR] = ARGUMENT,
    [TAMIS_E_KIND] = ARGUMENT,
    [TAMIS_E_TOO_BIG] = ARGUMENT,
    [TAMIS_E_FPR_TOO_LOW] = ARGUMENT,
    [TAMIS_E_STATIC] = UNSUPPORTED,
    [TAMIS_E_NO_REMOVE] = UNSUPPORTED,
    [TAMIS_E_NO_MERGE] = UNSUPPORTED,
    [TAMIS_E_MISMATCH] = MISMATCH,
    [TAMIS_E_FULL] = FULL,
    [TAMIS_E_READONLY] = UNSUPPORTED,
    [TAMIS_E_BUFFER] = ARGUMENT,
    [TAMIS_E_CONVERT] = UNSUPPORTED,
    [TAMIS_E_UNSUPPORTED] = UNSUPPORTED,
    [TAMIS_E_KEY] = UNSUPPORTED,
    [TAMIS_E_FORMAT] = FORMAT,
    [TAMIS_E_VERSION] = FORMAT,
    [TAMIS_E_TRUNCATED] = FORMAT,
    [TAMIS_E_TRAILING] = FORMAT,
    [TAMIS_E_CHECKSUM] = FORMAT,
    [TAMIS_E_CORRUPT] = FORMAT,
    [TAMIS_E_SECRET] = SECRET,
    [TAMIS_E_WRONG_SECRET] = SECRET,
    [TAMIS_E_PART] = PART,
    [TAMIS_E_CHANGED] = CHANGED,
    [TAMIS_E_BUSY] = BUSY,
    [TAMIS_E_LOST] = LOST,
};

/* The exception object, with its attribute `status`. */
static void raise_instance(const struct state *state, tamis_status status, PyObject *instance) {
    PyObject *type = state->errors[error_of_status[status]];
    PyObject *name = PyUnicode_FromString(tamis_status_name(status));
    if (instance != NULL && name != NULL && PyObject_SetAttrString(instance, "status", name) == 0) {
        PyErr_SetObject(type, instance);
    }
    Py_XDECREF(name);
    Py_XDECREF(instance);
}

PyObject *raise_sentence(const struct state *state, tamis_status status, PyObject *sentence) {
    PyObject *type = state->errors[error_of_status[status]];
    raise_instance(state, status, PyObject_CallFunctionObjArgs(type, sentence, NULL));
    return NULL;
}

void *raise_text(const struct state *state, tamis_status status, PyObject *sentence) {
    if (sentence != NULL) raise_sentence(state, status, sentence);
    Py_XDECREF(sentence);
    return NULL;
}

PyObject *type_name(PyObject *object) {
    return PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
}

void refuse_type(PyObject *object, const char *format) {
    PyErr_Clear();
    PyObject *type = type_name(object);
    if (type != NULL) PyErr_Format(PyExc_TypeError, format, type);
    Py_XDECREF(type);
}

/* An exception that is an OSError, too. */
static void raise_file(const struct state *state, tamis_status status, int error, PyObject *name) {
    PyObject *type = state->errors[error_of_status[status]];
    raise_instance(state, status,
                   PyObject_CallFunction(type, "isO", error, tamis_status_text(status),
                                         name != NULL ? name : Py_None));
}

static void raise_system(PyObject *type, int error, PyObject *name) {
    errno = error != 0 ? error : EIO;
    if (name != NULL) {
        PyErr_SetFromErrnoWithFilenameObject(type, name);
    } else {
        PyErr_SetFromErrno(type);
    }
}

PyObject *raise_status(const struct state *state, tamis_status status, PyObject *name) {
    const int error = errno;
    if (status == TAMIS_E_NOMEM) return PyErr_NoMemory();
    if (status == TAMIS_E_IO || status == TAMIS_E_EXISTS) {
        raise_system(PyExc_OSError, status == TAMIS_E_EXISTS ? EEXIST : error, name);
    } else if (status == TAMIS_E_CHANGED) {
        raise_file(state, status, error, name);
    } else if (status == TAMIS_E_BUSY) {
        raise_file(state, status, ETIMEDOUT, name);
    } else if (status == TAMIS_E_ABSENT) {
        PyErr_SetString(PyExc_KeyError, tamis_status_text(status));
    } else {
        const char *text = tamis_status_text(status);
        PyObject *sentence =
            name != NULL ? PyUnicode_FromFormat("%S: %s", name, text) : PyUnicode_FromString(text);
        if (sentence != NULL) raise_sentence(state, status, sentence);
        Py_XDECREF(sentence);
    }
    return NULL;
}

static PyObject *create_error(const struct state *state, size_t i) {
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *base = builtins != NULL ? PyObject_GetAttrString(builtins, errors[i].base) : NULL;
    PyObject *bases = base != NULL ? PyTuple_Pack(2, state->error, base) : NULL;
    PyObject *error = NULL;
    if (bases != NULL) {
        error = PyErr_NewExceptionWithDoc(errors[i].name, errors[i].doc, bases, NULL);
    }
    Py_XDECREF(bases);
    Py_XDECREF(base);
    Py_XDECREF(builtins);
    return error;
}

static bool add_object(PyObject *module, const char *name, PyObject *object) {
    Py_XINCREF(object);
    if (object != NULL && PyModule_AddObject(module, name, object) == 0) return true;
    Py_XDECREF(object);
    return false;
}

static bool add_errors(PyObject *module, struct state *state) {
    const size_t prefix = sizeof "tamis." - 1;
    PyObject *attributes = Py_BuildValue("{ss}", "status", ""); /* of one raised in Python */
    if (attributes == NULL) return false;
    state->error = PyErr_NewExceptionWithDoc(
        "tamis.Error",
        "An error of the library.  `status` is its name, such as 'E_FULL'.  Errors of the system\n"
        "are OSError, and lack of memory is MemoryError.",
        NULL, attributes);
    Py_DECREF(attributes);
    bool added = add_object(module, "Error", state->error);
    for (size_t i = 0; added && i < ERRORS; i++) {
        state->errors[i] = create_error(state, i);
        added = add_object(module, errors[i].name + prefix, state->errors[i]);
    }
    return added;
}

/* ---- functions */

static PyObject *module_detect(PyObject *module, PyObject *data) {
    (void)module;
    Py_buffer view;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return NULL;
    PyObject *formats = PyList_New(0);
    for (size_t i = 0; formats != NULL; i++) {
        const char *name = tamis_format_detect(view.buf, (size_t)view.len, i);
        if (name == NULL) break;
        PyObject *text = PyUnicode_FromString(name);
        if (text == NULL || PyList_Append(formats, text) < 0) Py_CLEAR(formats);
        Py_XDECREF(text);
    }
    PyBuffer_Release(&view);
    return formats;
}

static PyObject *module_hash_integer(PyObject *module, PyObject *value) {
    (void)module;
    PyObject *number = PyNumber_Index(value);
    if (number == NULL) return NULL;
    const uint64_t bits = PyLong_AsUnsignedLongLongMask(number);
    Py_DECREF(number);
    if (PyErr_Occurred() != NULL) return NULL;
    return PyLong_FromUnsignedLongLong(tamis_hash_integer(bits));
}

PyDoc_STRVAR(
    module_doc,
    "Membership filters: is this key in the set?  The compiled part of the package tamis.");
PyDoc_STRVAR(
    open_doc,
    "open($module, /, path, *, format=None, part=None, secret=None, update=False,\n"
    "     shared=False, map=True, verify=None, wait=None, threads=1)\n--\n\n"
    "Opens a file of any known format: returns a Filter, or a Container if the file holds "
    "several.\n"
    "\n"
    "The file is mapped: processes share it, and only the parts that queries touch are read and\n"
    "verified.  The arguments are those of Filter.open().\n"
    "\n"
    ">>> tamis.build(['apple', 'pear']).save('fruit.tamis')\n"
    ">>> with tamis.open('fruit.tamis') as fruit:\n"
    "...     'apple' in fruit\n"
    "True\n");
PyDoc_STRVAR(detect_doc,
             "detect($module, data, /)\n--\n\n"
             "Returns the formats that these bytes could have, most certain first.\n"
             "\n"
             ">>> tamis.detect(tamis.build(['apple']).to_bytes())\n"
             "['tamis']\n");
PyDoc_STRVAR(hash_integer_doc,
             "hash_integer($module, value, /)\n--\n\n"
             "Returns a 64-bit hash of a 64-bit integer, for filters created with prehashed=True.\n"
             "\n"
             ">>> seen = tamis.Filter(1000, prehashed=True)\n"
             ">>> seen.add(tamis.hash_integer(42))\n"
             "True\n");
PyDoc_STRVAR(plan_doc,
             "plan($module, /, capacity, fpr=None, *, bytes=0, needs=())\n--\n\n"
             "Returns a Plan: the size of every kind for `capacity` keys, and which one to use.\n"
             "\n"
             "`needs` names what the filter must support: 'add', 'remove', 'grow', 'merge' or\n"
             "'static', one of these or several.\n"
             "\n"
             ">>> plan = tamis.plan(1_000_000, 0.01)\n"
             ">>> plan.choice\n"
             "'fuse'\n"
             ">>> tamis.plan(1_000_000, 0.01, needs='remove').choice\n"
             "'cuckoo'\n");

#define KEYWORDS (METH_VARARGS | METH_KEYWORDS)
static PyMethodDef module_methods[] = {
    {"open", METHOD(module_open), KEYWORDS, open_doc},
    {"build", METHOD(module_build), KEYWORDS, module_build_doc},
    {"plan", METHOD(module_plan), KEYWORDS, plan_doc},
    {"detect", module_detect, METH_O, detect_doc},
    {"hash_integer", module_hash_integer, METH_O, hash_integer_doc},
    {NULL, NULL, 0, NULL},
};

/* ---- the module */

static const char *kind_name_at(size_t index) {
    tamis_kind kind = tamis_kind_next(TAMIS_AUTO);
    while (kind != TAMIS_AUTO && index-- > 0) kind = tamis_kind_next(kind);
    return tamis_kind_name(kind);
}

/* Adds a tuple of the names that name_at gives, up to NULL. */
static bool add_names(PyObject *module, const char *name, const char *(*name_at)(size_t)) {
    PyObject *list = PyList_New(0);
    const char *word;
    for (size_t i = 0; list != NULL && (word = name_at(i)) != NULL; i++) {
        PyObject *text = PyUnicode_FromString(word);
        if (text == NULL || PyList_Append(list, text) < 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    PyObject *names = list != NULL ? PyList_AsTuple(list) : NULL;
    const bool added = add_object(module, name, names);
    Py_XDECREF(names);
    Py_XDECREF(list);
    return added;
}

static int module_exec(PyObject *module) {
    struct state *state = PyModule_GetState(module);
    if (!add_errors(module, state) || filter_add_type(module, state) < 0 ||
        builder_add_type(module, state) < 0 || container_add_type(module, state) < 0 ||
        array_add_type(module, state) < 0 || !add_names(module, "KINDS", kind_name_at) ||
        !add_names(module, "FORMATS", tamis_format_at) ||
        PyModule_AddStringConstant(module, "__version__", tamis_version()) < 0) {
        return -1;
    }
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    struct state *state = PyModule_GetState(module);
    Py_VISIT(state->filter_type);
    Py_VISIT(state->builder_type);
    Py_VISIT(state->container_type);
    Py_VISIT(state->array_type);
    Py_VISIT(state->error);
    for (size_t i = 0; i < ERRORS; i++) Py_VISIT(state->errors[i]);
    return 0;
}

static int module_clear(PyObject *module) {
    struct state *state = PyModule_GetState(module);
    Py_CLEAR(state->filter_type);
    Py_CLEAR(state->builder_type);
    Py_CLEAR(state->container_type);
    Py_CLEAR(state->array_type);
    Py_CLEAR(state->error);
    for (size_t i = 0; i < ERRORS; i++) Py_CLEAR(state->errors[i]);
    return 0;
}

static void module_free(void *module) { module_clear(module); }

/* Slots since Python 3.12 that the headers of the limited API of 3.11 lack.  The module has no
 * state that interpreters share: each may have a GIL of its own. */
#if !defined(Py_mod_multiple_interpreters)
#define Py_mod_multiple_interpreters 3
#define Py_MOD_PER_INTERPRETER_GIL_SUPPORTED ((void *)2)
#endif
#if defined(Py_LIMITED_API)
#define RUNNING_VERSION Py_Version
#else
#define RUNNING_VERSION PY_VERSION_HEX
#endif

static PyModuleDef_Slot slots_before_3_12[] = {
    FUNCTION_SLOT(Py_mod_exec, module_exec),
    {0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    FUNCTION_SLOT(Py_mod_exec, module_exec),
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#if defined(Py_GIL_DISABLED)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,          .m_name = "tamis._tamis",    .m_doc = module_doc,
    .m_size = sizeof(struct state), .m_methods = module_methods, .m_slots = module_slots,
    .m_traverse = module_traverse,  .m_clear = module_clear,     .m_free = module_free,
};

PyMODINIT_FUNC PyInit__tamis(void);
PyMODINIT_FUNC PyInit__tamis(void) {
    if (RUNNING_VERSION < 0x030c0000) definition.m_slots = slots_before_3_12;
    return PyModuleDef_Init(&definition);
}
