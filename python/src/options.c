/* options.c - the arguments of Filter(), Builder() and build() become options */
#include "module.h"

#include <string.h>

#include "form.h"

PyObject *options_gather(const char *function, PyObject *positional, PyObject *keywords,
                         const char *const *names) {
    const Py_ssize_t count = PyTuple_Size(positional);
    PyObject *arguments = keywords != NULL ? PyDict_Copy(keywords) : PyDict_New();
    for (Py_ssize_t i = 0; arguments != NULL && i < count; i++) {
        if (names[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() takes at most %zd positional arguments (%zd given)",
                         function, i, count);
            Py_CLEAR(arguments);
            break;
        }
        PyObject *name = PyUnicode_FromString(names[i]);
        const int present = name == NULL ? -1 : PyDict_Contains(arguments, name);
        if (present > 0) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", function,
                         name);
        }
        if (present != 0 || PyDict_SetItem(arguments, name, PyTuple_GetItem(positional, i)) < 0) {
            Py_CLEAR(arguments);
        }
        Py_XDECREF(name);
    }
    return arguments;
}

PyObject *options_take_object(PyObject *arguments, const char *name, bool *failed) {
    PyObject *value = PyDict_GetItemString(arguments, name);
    if (value == NULL) return NULL;
    Py_INCREF(value);
    if (PyDict_DelItemString(arguments, name) < 0) {
        Py_CLEAR(value);
        *failed = true;
    }
    return value;
}

bool options_unsigned(PyObject *given, const char *name, uint64_t limit, uint64_t *value) {
    PyObject *number = PyNumber_Index(given);
    if (number == NULL) return false;
    *value = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    if (PyErr_Occurred() != NULL) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
        PyErr_Clear();
    } else if (*value <= limit) {
        return true;
    }
    PyErr_Format(PyExc_ValueError, "%s must be from 0 to 2**%d - 1", name,
                 limit == UINT32_MAX ? 32 : 64);
    return false;
}

bool options_take_unsigned(PyObject *arguments, const char *name, uint64_t limit, uint64_t *value) {
    bool failed = false;
    PyObject *given = options_take_object(arguments, name, &failed);
    if (given == NULL) return !failed;
    const bool taken = options_unsigned(given, name, limit, value);
    Py_DECREF(given);
    return taken;
}

bool options_take_flag(PyObject *arguments, const char *name, bool *value) {
    bool failed = false;
    PyObject *given = options_take_object(arguments, name, &failed);
    if (given == NULL) return !failed;
    const int truth = PyObject_IsTrue(given);
    Py_DECREF(given);
    *value = truth > 0;
    return truth >= 0;
}

bool options_end(const char *function, PyObject *arguments) {
    Py_ssize_t at = 0;
    PyObject *name, *value;
    if (!PyDict_Next(arguments, &at, &name, &value)) return true;
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%S'", function, name);
    return false;
}

/* ---- values with names */

/* The UTF-8 of a str argument that may be None or missing, kept alive by `keep`; NULL then. */
static bool take_text(PyObject *arguments, const char *name, PyObject *keep, const char **text) {
    bool failed = false;
    PyObject *given = options_take_object(arguments, name, &failed);
    if (given == NULL) return !failed;
    bool taken = true;
    if (given != Py_None) {
        Py_ssize_t length;
        *text = NULL;
        if (!PyUnicode_Check(given)) {
            PyErr_Format(PyExc_TypeError, "%s must be a str", name);
        } else {
            *text = PyUnicode_AsUTF8AndSize(given, &length);
            if (*text != NULL && strlen(*text) != (size_t)length) {
                PyErr_Format(PyExc_ValueError, "%s must not contain NUL", name);
                *text = NULL;
            }
        }
        taken = *text != NULL && PyList_Append(keep, given) == 0;
    }
    Py_DECREF(given);
    return taken;
}

/* The name of a format may be followed by parameters. */
static bool take_format(struct state *state, PyObject *arguments, PyObject *keep,
                        const char **format) {
    if (!take_text(arguments, "format", keep, format)) return false;
    if (*format == NULL) return true;
    char name[64];
    const int length =
        PyOS_snprintf(name, sizeof name, "%.*s", (int)strcspn(*format, ":"), *format);
    const bool known = length < (int)sizeof name && tamis_format_description(name) != NULL;
    if (known && tamis_format_can_create(name)) return true;
    PyObject *sentence =
        PyUnicode_FromFormat(known ? "filters of the format '%s' can only be read"
                                   : "unknown format '%s': tamis.FORMATS has the names",
                             name);
    if (sentence != NULL) {
        raise_sentence(state, known ? TAMIS_E_UNSUPPORTED : TAMIS_E_ARGUMENT, sentence);
    }
    Py_XDECREF(sentence);
    return false;
}

static bool take_kind(struct state *state, PyObject *arguments, const char *name, PyObject *keep,
                      tamis_kind *kind) {
    const char *text = NULL;
    if (!take_text(arguments, name, keep, &text)) return false;
    if (text == NULL) return true;
    *kind = tamis_kind_find(text);
    if (*kind != TAMIS_AUTO) return true;
    PyObject *given = PyUnicode_FromString(text);
    raise_status(state, TAMIS_E_KIND, given);
    Py_XDECREF(given);
    return false;
}

static const struct {
    const char *name;
    uint32_t need;
} needs[] = {{"add", TAMIS_NEED_ADD},
             {"remove", TAMIS_NEED_REMOVE},
             {"grow", TAMIS_NEED_GROW},
             {"merge", TAMIS_NEED_MERGE},
             {"static", TAMIS_NEED_STATIC}};

static bool add_need(PyObject *word, uint32_t *all) {
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (PyUnicode_Check(word) && PyUnicode_CompareWithASCIIString(word, needs[i].name) == 0) {
            *all |= needs[i].need;
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError, "needs are 'add', 'remove', 'grow', 'merge', 'static'; not %R",
                 word);
    return false;
}

bool options_needs(PyObject *given, uint32_t *all) {
    if (PyUnicode_Check(given)) return add_need(given, all);
    PyObject *words = PyObject_GetIter(given), *word;
    bool known = words != NULL;
    while (known && (word = PyIter_Next(words)) != NULL) {
        known = add_need(word, all);
        Py_DECREF(word);
    }
    Py_XDECREF(words);
    return known && PyErr_Occurred() == NULL;
}

static bool take_needs(PyObject *arguments, uint32_t *all) {
    bool failed = false;
    PyObject *given = options_take_object(arguments, "needs", &failed);
    if (given == NULL) return !failed;
    const bool known = given == Py_None || options_needs(given, all);
    Py_DECREF(given);
    return known;
}

static bool take_key_type(PyObject *arguments, PyObject *keep, tamis_key_form *form) {
    const char *text = NULL;
    if (!take_text(arguments, "key_type", keep, &text)) return false;
    if (text == NULL) return true;
    for (uint32_t type = TAMIS_KEY_BYTES; type <= TAMIS_KEY_F64; type++) {
        if (strcmp(text, key_type_name(type)) == 0) {
            form->type = type;
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "key_type is 'bytes', 'utf16', 'i32', 'i64', 'u64', 'f32' or 'f64', not '%s'",
                 text);
    return false;
}

/* ---- the options */

bool options_fpr(struct state *state, PyObject *given, double *fpr) {
    if (given == Py_None) return true;
    *fpr = PyFloat_AsDouble(given);
    if (*fpr == -1.0 && PyErr_Occurred() != NULL) return false;
    if (*fpr > 0 && *fpr < 1) return true;
    raise_status(state, TAMIS_E_FPR, NULL); /* 0 would select the default */
    return false;
}

static bool take_fpr(struct state *state, PyObject *arguments, double *fpr) {
    bool failed = false;
    PyObject *given = options_take_object(arguments, "fpr", &failed);
    if (given == NULL) return !failed;
    const bool taken = options_fpr(state, given, fpr);
    Py_DECREF(given);
    return taken;
}

/* bytes, which cannot change, so that the pointer stays valid for as long as `keep`. */
bool options_secret(PyObject *given, PyObject *keep, const uint8_t **secret) {
    if (given == Py_None) return true;
    if (PyUnicode_Check(given) || !PyObject_CheckBuffer(given)) {
        PyErr_SetString(PyExc_TypeError, "secret must be bytes, 16 of them");
        return false;
    }
    PyObject *bytes = PyBytes_FromObject(given);
    if (bytes == NULL) return false;
    const Py_ssize_t length = PyBytes_Size(bytes);
    bool taken = length == TAMIS_SECRET_BYTES;
    if (!taken) {
        PyErr_Format(PyExc_ValueError, "the secret key has %zd bytes instead of 16", length);
    } else {
        *secret = (const uint8_t *)PyBytes_AsString(bytes);
        taken = PyList_Append(keep, bytes) == 0;
    }
    Py_DECREF(bytes);
    return taken;
}

static bool take_secret(PyObject *arguments, PyObject *keep, const uint8_t **secret) {
    bool failed = false;
    PyObject *given = options_take_object(arguments, "secret", &failed);
    if (given == NULL) return !failed;
    const bool taken = options_secret(given, keep, secret);
    Py_DECREF(given);
    return taken;
}

static bool take_all(struct state *state, PyObject *arguments, tamis_options *options,
                     PyObject *keep) {
    bool prehashed = false, fold_case = false;
    uint64_t hashes = 0;
    if (!options_take_unsigned(arguments, "capacity", UINT64_MAX, &options->capacity) ||
        !take_fpr(state, arguments, &options->fpr) ||
        !take_kind(state, arguments, "kind", keep, &options->kind) ||
        !take_needs(arguments, &options->needs) ||
        !options_take_unsigned(arguments, "bytes", UINT64_MAX, &options->bytes) ||
        !options_take_unsigned(arguments, "bits", UINT64_MAX, &options->bits) ||
        !options_take_unsigned(arguments, "hashes", UINT32_MAX, &hashes) ||
        !take_kind(state, arguments, "stage", keep, &options->stage) ||
        !options_take_unsigned(arguments, "seed", UINT64_MAX, &options->seed) ||
        !take_secret(arguments, keep, &options->secret) ||
        !options_take_flag(arguments, "prehashed", &prehashed) ||
        !take_key_type(arguments, keep, &options->form) ||
        !options_take_flag(arguments, "fold_case", &fold_case) ||
        !take_format(state, arguments, keep, &options->format)) {
        return false;
    }
    options->hashes = (uint32_t)hashes;
    if (prehashed) {
        options->hasher = TAMIS_HASH_NONE;
        options->form.flags |= TAMIS_KEY_PREHASHED; /* as the command does */
    }
    if (fold_case) options->form.flags |= TAMIS_KEY_FOLD_CASE;
    return true;
}

bool options_take(struct state *state, PyObject *arguments, tamis_options *options,
                  PyObject **keep) {
    *keep = PyList_New(0);
    if (*keep != NULL && take_all(state, arguments, options, *keep)) return true;
    Py_CLEAR(*keep);
    return false;
}
