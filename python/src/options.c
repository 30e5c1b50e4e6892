/* options.c - the arguments of Filter(), Builder() and build() become options */
#include "module.h"

#include <errno.h>
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
    if (!PyIndex_Check(given)) {
        PyObject *type = type_name(given);
        if (type != NULL) PyErr_Format(PyExc_TypeError, "%s must be an int, not %U", name, type);
        Py_XDECREF(type);
        return false;
    }
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
    PyErr_Format(PyExc_ValueError, "%s must be from 0 to %s", name,
                 limit == THREADS_LIMIT ? "65535"
                 : limit == UINT32_MAX  ? "2**32 - 1"
                                        : "2**64 - 1");
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

#define FORMAT_NAME_ROOM 64

/* The name of a format, without the parameters that may follow it.  "": it is too long. */
static void name_of_format(const char *format, char name[FORMAT_NAME_ROOM]) {
    const size_t length = strcspn(format, ":");
    PyOS_snprintf(name, FORMAT_NAME_ROOM, "%.*s", length < FORMAT_NAME_ROOM ? (int)length : 0,
                  format);
}

bool options_format(const struct state *state, const char *format) {
    char name[FORMAT_NAME_ROOM];
    if (format == NULL) return true;
    name_of_format(format, name);
    if (tamis_format_description(name) != NULL) return true;
    return raise_text(state, TAMIS_E_ARGUMENT,
                      PyUnicode_FromFormat("unknown format '%.60s': tamis.FORMATS has the names",
                                           format)) != NULL;
}

static bool take_format(struct state *state, PyObject *arguments, PyObject *keep,
                        const char **format) {
    char name[FORMAT_NAME_ROOM];
    if (!take_text(arguments, "format", keep, format)) return false;
    if (*format != NULL && strcmp(*format, "tamis") == 0) *format = NULL;
    if (*format == NULL) return true;
    if (!options_format(state, *format)) return false;
    name_of_format(*format, name);
    if (tamis_format_can_create(name)) return true;
    return raise_text(state, TAMIS_E_UNSUPPORTED,
                      PyUnicode_FromFormat("filters of the format '%s' can only be read", name)) !=
           NULL;
}

/* The names of the kinds that have all of `caps`, with commas. */
static PyObject *names_of_kinds(uint32_t caps) {
    PyObject *names = PyUnicode_FromString("");
    tamis_kind kind = tamis_kind_next(TAMIS_AUTO);
    for (; kind != TAMIS_AUTO && names != NULL; kind = tamis_kind_next(kind)) {
        if ((tamis_kind_caps(kind) & caps) != caps) continue;
        const char *comma = PyUnicode_GetLength(names) == 0 ? "" : ", ";
        PyObject *longer = PyUnicode_FromFormat("%U%s'%s'", names, comma, tamis_kind_name(kind));
        Py_DECREF(names);
        names = longer;
    }
    return names;
}

bool options_kind(const struct state *state, const char *text, tamis_kind *kind) {
    if (text == NULL) return true;
    *kind = tamis_kind_find(text);
    if (*kind != TAMIS_AUTO) return true;
    PyObject *names = names_of_kinds(0);
    if (names == NULL) return false;
    PyObject *sentence =
        PyUnicode_FromFormat("unknown kind of filter '%.60s': one of %U", text, names);
    Py_DECREF(names);
    return raise_text(state, TAMIS_E_KIND, sentence) != NULL;
}

static bool take_kind(struct state *state, PyObject *arguments, const char *name, PyObject *keep,
                      tamis_kind *kind) {
    const char *text = NULL;
    return take_text(arguments, name, keep, &text) && options_kind(state, text, kind);
}

static const struct {
    const char *name;
    uint32_t need, cap;
} needs[] = {{"add", TAMIS_NEED_ADD, TAMIS_CAN_ADD},
             {"remove", TAMIS_NEED_REMOVE, TAMIS_CAN_REMOVE},
             {"grow", TAMIS_NEED_GROW, TAMIS_CAN_GROW},
             {"merge", TAMIS_NEED_MERGE, TAMIS_CAN_UNION},
             {"static", TAMIS_NEED_STATIC, TAMIS_IS_STATIC}};
#define NEEDS (sizeof needs / sizeof *needs)

static bool add_need(PyObject *word, uint32_t *all) {
    for (size_t i = 0; i < NEEDS; i++) {
        if (PyUnicode_Check(word) && PyUnicode_CompareWithASCIIString(word, needs[i].name) == 0) {
            *all |= needs[i].need;
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError, "needs are 'add', 'remove', 'grow', 'merge', 'static'; not %R",
                 word);
    return false;
}

static bool add_needs(PyObject *given, uint32_t *all) {
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

bool options_take_needs(PyObject *arguments, uint32_t *all) {
    bool failed = false;
    PyObject *given = options_take_object(arguments, "needs", &failed);
    if (given == NULL) return !failed;
    const bool known = given == Py_None || add_needs(given, all);
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

static bool read_fpr(const struct state *state, PyObject *given, double *fpr) {
    if (given == Py_None) return true;
    *fpr = PyFloat_AsDouble(given);
    if (*fpr == -1.0 && PyErr_Occurred() != NULL) return false;
    if (*fpr > 0 && *fpr < 1) return true;
    raise_status(state, TAMIS_E_FPR, NULL); /* 0 would select the default */
    return false;
}

bool options_take_fpr(const struct state *state, PyObject *arguments, double *fpr) {
    bool failed = false;
    PyObject *given = options_take_object(arguments, "fpr", &failed);
    if (given == NULL) return !failed;
    const bool taken = read_fpr(state, given, fpr);
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
        !options_take_fpr(state, arguments, &options->fpr) ||
        !take_kind(state, arguments, "kind", keep, &options->kind) ||
        !options_take_needs(arguments, &options->needs) ||
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

/* ---- arguments that contradict each other */

bool options_check_size(const struct state *state, const tamis_options *options) {
    if (options->fpr == 0 || options->bytes == 0) return true;
    return raise_text(state, TAMIS_E_ARGUMENT,
                      PyUnicode_FromString(
                          "fpr and bytes contradict each other: give one of them")) != NULL;
}

/* What filters of a compatible format support: that depends on its parameters. */
static uint32_t caps_of_format(const char *format) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    tamis_facts facts = TAMIS_FACTS_INIT;
    tamis_filter *filter;
    options.capacity = 1;
    options.format = format;
    const tamis_status status = tamis_create(&options, &filter);
    if (status == TAMIS_E_STATIC) return TAMIS_IS_STATIC;
    if (status != TAMIS_OK) return UINT32_MAX; /* creating the filter gives the reason */
    (void)tamis_info_brief(filter, &facts);
    tamis_free(filter);
    return facts.caps;
}

/* Raises that a kind or format, or a filter without a capacity, lacks a need. */
static bool refuse_need(const struct state *state, const tamis_options *options, size_t i) {
    PyObject *names = names_of_kinds(needs[i].cap), *sentence = NULL;
    if (names == NULL) return false;
    if (options->format != NULL) {
        sentence =
            PyUnicode_FromFormat("format='%s' does not support needs='%s'; kinds that do: %U",
                                 options->format, needs[i].name, names);
    } else {
        sentence = PyUnicode_FromFormat("kind='%s' does not support needs='%s'; kinds that do: %U",
                                        tamis_kind_name(options->kind), needs[i].name, names);
    }
    Py_DECREF(names);
    return raise_text(state, TAMIS_E_ARGUMENT, sentence) != NULL;
}

/* Raises the reason if no kind supports all needs. */
static bool check_plan(const struct state *state, const tamis_options *options) {
    tamis_advice advice = TAMIS_ADVICE_INIT;
    if (tamis_plan(options, &advice) != TAMIS_E_ARGUMENT || advice.why[0] == '\0') return true;
    return raise_text(state, TAMIS_E_ARGUMENT, PyUnicode_FromString(advice.why)) != NULL;
}

static bool check_needs(const struct state *state, const tamis_options *options) {
    if (options->needs == 0) return true;
    if (options->format == NULL && options->kind == TAMIS_AUTO) return check_plan(state, options);
    const uint32_t caps =
        options->format != NULL ? caps_of_format(options->format) : tamis_kind_caps(options->kind);
    for (size_t i = 0; i < NEEDS; i++) {
        if ((options->needs & needs[i].need) != 0 && (caps & needs[i].cap) == 0) {
            return refuse_need(state, options, i);
        }
    }
    return true;
}

bool options_check(const struct state *state, const tamis_options *options) {
    const char *sentence = NULL;
    if (options->secret != NULL && options->hasher == TAMIS_HASH_NONE) {
        sentence = "secret and prehashed contradict each other: nothing is hashed with the secret";
    } else if (options->stage != TAMIS_AUTO && options->kind != TAMIS_GROWING) {
        sentence = "stage needs kind='growing'";
    } else if (options->arity != 0 && options->kind != TAMIS_FUSE) {
        sentence = "arity needs kind='fuse'";
    }
    if (sentence == NULL) {
        return options_check_size(state, options) && check_needs(state, options);
    }
    return raise_text(state, TAMIS_E_ARGUMENT, PyUnicode_FromString(sentence)) != NULL;
}

bool options_complete(const struct state *state, tamis_options *options, bool has_capacity) {
    const uint32_t fixed = TAMIS_NEED_REMOVE | TAMIS_NEED_MERGE;
    PyObject *sentence;
    if (tamis_kind_caps(options->kind) & TAMIS_IS_STATIC) {
        return options_raise(state, TAMIS_E_STATIC, options) != NULL;
    }
    if (options->capacity != 0 || options->bits != 0) return true;
    if (options->format != NULL && has_capacity) return true; /* 0 keys are some systems' minimum */
    if (options->format == NULL && options->kind == TAMIS_AUTO) {
        if (!check_needs(state, options)) return false;
        if ((options->needs & TAMIS_NEED_STATIC) != 0) return true; /* E_STATIC */
        if ((options->needs & fixed) == 0) options->kind = TAMIS_GROWING;
    }
    if (options->bytes != 0) {
        sentence = PyUnicode_FromString("bytes needs a capacity, the number of keys to expect");
    } else if ((tamis_kind_caps(options->kind) & TAMIS_CAN_GROW) != 0) {
        return true;
    } else if (options->format != NULL) {
        sentence = PyUnicode_FromFormat("format='%s' needs a capacity", options->format);
    } else if (options->kind == TAMIS_AUTO) {
        const bool removes = (options->needs & TAMIS_NEED_REMOVE) != 0;
        sentence =
            PyUnicode_FromFormat("needs='%s' needs a capacity", removes ? "remove" : "merge");
    } else {
        sentence = PyUnicode_FromFormat("a %s filter has a fixed size: give capacity=",
                                        tamis_kind_name(options->kind));
    }
    return raise_text(state, TAMIS_E_ARGUMENT, sentence) != NULL;
}

/* ---- why a filter could not be created */

/* The sentence for a compatible format; NULL, without an exception: that of the status. */
static PyObject *explain_format(const tamis_options *options) {
    const char *format = options->format;
    char name[FORMAT_NAME_ROOM];
    if (options->kind != TAMIS_AUTO) {
        return PyUnicode_FromFormat(
            "format='%s' and kind='%s' contradict each other: the format "
            "has a kind of its own",
            format, tamis_kind_name(options->kind));
    }
    const char *other = options->secret != NULL              ? "secret"
                        : options->bytes != 0                ? "bytes"
                        : options->shared                    ? "shared"
                        : options->hasher == TAMIS_HASH_NONE ? "prehashed"
                        : options->memory != 0               ? "memory"
                                                             : NULL;
    if (other != NULL) {
        return PyUnicode_FromFormat("format='%s' does not support %s", format, other);
    }
    if (strchr(format, ':') == NULL) return NULL;
    name_of_format(format, name);
    const char *parameters = tamis_format_parameters(name);
    if (parameters == NULL || parameters[0] == '\0') {
        return PyUnicode_FromFormat("format='%s': the format '%s' has no parameters", format, name);
    }
    return PyUnicode_FromFormat("format='%s': a parameter is wrong; those of '%s' are %s", format,
                                name, parameters);
}

static PyObject *explain_argument(const tamis_options *options) {
    const tamis_kind kind = options->kind;
    if (options->arity != 0) {
        return PyUnicode_FromFormat("arity must be 3 or 4, not %u", (unsigned)options->arity);
    }
    if (options->bits == 0 && options->hashes == 0) return NULL;
    if (kind != TAMIS_BLOOM && kind != TAMIS_COUNTING) {
        return PyUnicode_FromFormat("%s needs kind='bloom' or kind='counting'",
                                    options->bits != 0 ? "bits" : "hashes");
    }
    if (options->bits == 0) {
        return PyUnicode_FromFormat("hashes=%u is out of range", (unsigned)options->hashes);
    }
    return PyUnicode_FromFormat("bits=%llu or hashes=%u is out of range",
                                (unsigned long long)options->bits, (unsigned)options->hashes);
}

/* The sentence for a status; NULL, without an exception: its own. */
static PyObject *explain_status(tamis_status status, const tamis_options *options) {
    if (status == TAMIS_E_STATIC) {
        return PyUnicode_FromFormat("%s: use tamis.build() or tamis.Builder",
                                    tamis_status_text(status));
    }
    if (status == TAMIS_E_KIND && options->stage != TAMIS_AUTO) {
        return PyUnicode_FromFormat("stage='%s' is not possible", tamis_kind_name(options->stage));
    }
    const bool refused = status == TAMIS_E_ARGUMENT || status == TAMIS_E_UNSUPPORTED;
    if (refused && options->format != NULL) return explain_format(options);
    if (status == TAMIS_E_ARGUMENT) return explain_argument(options);
    if (status != TAMIS_E_UNSUPPORTED || !options->shared) return NULL;
    return PyUnicode_FromFormat("kind='%s' does not support shared",
                                tamis_kind_name(options->kind));
}

static void *raise_memory(const tamis_options *options) {
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    if (tamis_size(options, &sizing) != TAMIS_OK) return PyErr_NoMemory();
    return PyErr_Format(PyExc_MemoryError, "the filter takes %llu bytes, more than there are",
                        (unsigned long long)sizing.bytes);
}

void *options_raise(const struct state *state, tamis_status status, const tamis_options *options) {
    const int error = errno;
    if (status == TAMIS_E_NOMEM) return raise_memory(options);
    PyObject *sentence = explain_status(status, options);
    if (sentence != NULL) return raise_text(state, status, sentence);
    errno = error;
    return PyErr_Occurred() != NULL ? NULL : raise_status(state, status, NULL);
}
