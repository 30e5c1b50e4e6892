/* facts.c - Filter.info() and plan(): the values that the command prints with --json */
#include "module.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "form.h"

/* The keyword arguments of a dataclass.  After a failure nothing is added. */
struct fields {
    PyObject *values; /* a dict, or NULL with an exception set */
};

/* Takes `value`, which may be NULL with an exception set. */
static void field_add(struct fields *fields, const char *name, PyObject *value) {
    if (fields->values != NULL &&
        (value == NULL || PyDict_SetItemString(fields->values, name, value) < 0)) {
        Py_CLEAR(fields->values);
    }
    Py_XDECREF(value);
}

static void field_none(struct fields *fields, const char *name) {
    Py_INCREF(Py_None);
    field_add(fields, name, Py_None);
}

/* NULL: None. */
static void field_text(struct fields *fields, const char *name, const char *text) {
    if (text != NULL) {
        field_add(fields, name, PyUnicode_FromString(text));
    } else {
        field_none(fields, name);
    }
}

static void field_whole(struct fields *fields, const char *name, uint64_t value) {
    field_add(fields, name, PyLong_FromUnsignedLongLong(value));
}

static void field_real(struct fields *fields, const char *name, double value) {
    field_add(fields, name, PyFloat_FromDouble(value));
}

static void field_flag(struct fields *fields, const char *name, bool value) {
    field_add(fields, name, PyBool_FromLong(value));
}

/* Calls a dataclass of tamis._info with the fields, which are released. */
static PyObject *fields_make(struct fields *fields, const char *class_name) {
    PyObject *made = NULL;
    if (fields->values == NULL) return NULL;
    PyObject *module = PyImport_ImportModule("tamis._info");
    PyObject *type = module != NULL ? PyObject_GetAttrString(module, class_name) : NULL;
    PyObject *nothing = type != NULL ? PyTuple_New(0) : NULL;
    if (nothing != NULL) made = PyObject_Call(type, nothing, fields->values);
    Py_XDECREF(nothing);
    Py_XDECREF(type);
    Py_XDECREF(module);
    Py_CLEAR(fields->values);
    return made;
}

/* ---- info */

/* The number of keys: counted, or estimated from the fill. */
static uint64_t keys_of(const tamis_facts *facts) {
    if (facts->distinct_error > 0 && facts->adds != 0) return facts->adds;
    return facts->distinct > 0 && facts->distinct < 1.8e19 ? (uint64_t)(facts->distinct + 0.5) : 0;
}

PyObject *info_of_facts(const tamis_facts *f, PyObject *name) {
    char form[256];
    struct fields fields = {PyDict_New()};
    PyObject *file = name != NULL ? name : Py_None;
    key_form_text(&f->form, form, sizeof form);
    Py_INCREF(file);
    field_add(&fields, "file", file);
    field_text(&fields, "format", f->format);
    field_text(&fields, "kind", tamis_kind_name(f->kind));
    field_whole(&fields, "keys", keys_of(f));
    field_real(&fields, "distinct", f->distinct);
    field_real(&fields, "distinct_error", f->distinct_error);
    field_whole(&fields, "adds", f->adds);
    field_whole(&fields, "capacity", f->capacity);
    field_whole(&fields, "bytes", f->encoded_bytes);
    field_whole(&fields, "table_bytes", f->table_bytes);
    field_real(&fields, "bits_per_key", f->bits_per_key);
    field_whole(&fields, "hashes", f->hashes);
    field_whole(&fields, "width", f->width);
    field_whole(&fields, "stages", f->stages);
    field_real(&fields, "fill", f->fill);
    field_real(&fields, "fpr_target", f->fpr_target);
    field_real(&fields, "fpr_now", f->fpr_now);
    field_flag(&fields, "over_capacity", f->over_capacity);
    field_text(&fields, "hasher", f->hash);
    field_whole(&fields, "seed", f->seed);
    field_flag(&fields, "keyed", f->keyed);
    field_text(&fields, "key_options", form);
    field_text(&fields, "checksum", strcmp(f->format, "tamis") == 0 ? "ok" : "none");
    field_text(&fields, "note", f->note);
    return fields_make(&fields, "Info");
}

/* ---- plan */

#define KINDS_MAX 16
#define FPR_DEFAULT 0.01

struct plan {
    tamis_options options;
    tamis_advice advice;
    bool advised;
    size_t count;
    tamis_sizing sizing[KINDS_MAX]; /* of the kinds that support the rate or fit in the size */
    const tamis_sizing *choice;     /* one of them, or NULL */
    tamis_status refusal;           /* why the advised kind is not one of them */
};

/* All keys are at hand, as for `tamis build`: a static kind is smallest.  If none reaches the rate
 * or fits in the size, one that takes adds. */
static void needs_of_known_keys(tamis_options *options) {
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    options->needs = TAMIS_NEED_STATIC;
    if (tamis_size(options, &sizing) != TAMIS_OK) options->needs = TAMIS_NEED_ADD;
}

static void compare_kinds(struct plan *plan) {
    tamis_options options = plan->options;
    tamis_kind kind = tamis_kind_next(TAMIS_AUTO);
    for (; kind != TAMIS_AUTO && plan->count < KINDS_MAX; kind = tamis_kind_next(kind)) {
        const tamis_sizing empty = TAMIS_SIZING_INIT;
        tamis_sizing *sizing = &plan->sizing[plan->count];
        *sizing = empty;
        options.kind = kind;
        const tamis_status status = tamis_size(&options, sizing);
        const bool advised = plan->advised && kind == plan->advice.choice;
        sizing->kind = kind;
        if (advised) plan->refusal = status;
        if (status != TAMIS_OK) continue;
        if (advised) plan->choice = sizing;
        plan->count++;
    }
}

/* E_ARGUMENT, with a sentence in `why`, is a result: no kind supports all needs. */
static tamis_status make_plan(struct plan *plan) {
    if (plan->options.needs == 0) needs_of_known_keys(&plan->options);
    const tamis_status status = tamis_plan(&plan->options, &plan->advice);
    const bool none = status == TAMIS_E_ARGUMENT && plan->advice.why[0] != '\0';
    if (status != TAMIS_OK && !none) return status;
    plan->advised = status == TAMIS_OK;
    compare_kinds(plan);
    return TAMIS_OK;
}

static PyObject *make_why(const struct plan *plan) {
    const unsigned long long keys = plan->options.capacity, bytes = plan->options.bytes;
    if (!plan->advised || plan->choice != NULL) return PyUnicode_FromString(plan->advice.why);
    if (bytes != 0) {
        return PyUnicode_FromFormat(
            "no filter of %llu keys that meets the needs fits in %llu bytes", keys, bytes);
    }
    return PyUnicode_FromFormat("a %s filter of %llu keys is not possible: %s",
                                tamis_kind_name(plan->advice.choice), keys,
                                tamis_status_text(plan->refusal));
}

static PyObject *make_sizing(const tamis_sizing *s) {
    const uint32_t caps = tamis_kind_caps(s->kind);
    struct fields fields = {PyDict_New()};
    field_text(&fields, "kind", tamis_kind_name(s->kind));
    field_real(&fields, "bits_per_key", s->bits_per_key);
    field_whole(&fields, "bytes", s->bytes);
    field_whole(&fields, "hashes", s->hashes);
    field_real(&fields, "fpr", s->fpr);
    field_real(&fields, "fpr_at_half", s->fpr_at_half);
    field_real(&fields, "fpr_at_double", s->fpr_at_double);
    field_real(&fields, "cache_lines", s->cache_lines);
    field_whole(&fields, "build_bytes", s->build_bytes);
    field_flag(&fields, "static", (caps & TAMIS_IS_STATIC) != 0);
    field_flag(&fields, "remove", (caps & TAMIS_CAN_REMOVE) != 0);
    field_flag(&fields, "grow", (caps & TAMIS_CAN_GROW) != 0);
    field_flag(&fields, "merge", (caps & TAMIS_CAN_UNION) != 0);
    return fields_make(&fields, "Sizing");
}

/* A tuple from a list: making a Sizing runs Python code, which could find an incomplete tuple. */
static PyObject *make_families(const struct plan *plan) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; i < plan->count && list != NULL; i++) {
        PyObject *sizing = make_sizing(&plan->sizing[i]);
        if (sizing == NULL || PyList_Append(list, sizing) < 0) Py_CLEAR(list);
        Py_XDECREF(sizing);
    }
    PyObject *families = list != NULL ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return families;
}

/* The formulas of the textbook, for a rate. */
static void add_classic(struct fields *fields, uint64_t keys, double fpr) {
    if (fpr > 0) {
        const uint64_t bits = tamis_classic_bits(keys, fpr);
        field_whole(fields, "classic_bits", bits);
        field_whole(fields, "classic_hashes", tamis_classic_hashes(bits, keys));
        field_real(fields, "bound_bits_per_key", -log2(fpr));
    } else {
        field_none(fields, "classic_bits");
        field_none(fields, "classic_hashes");
        field_none(fields, "bound_bits_per_key");
    }
}

static PyObject *plan_object(const struct plan *plan) {
    const tamis_options *options = &plan->options;
    const tamis_sizing *choice = plan->choice;
    struct fields fields = {PyDict_New()};
    field_whole(&fields, "n", options->capacity);
    field_real(&fields, "fpr", options->fpr > 0 ? options->fpr : choice != NULL ? choice->fpr : 0);
    if (options->bytes != 0) {
        field_whole(&fields, "size", options->bytes);
    } else {
        field_none(&fields, "size");
    }
    field_text(&fields, "choice", choice != NULL ? tamis_kind_name(choice->kind) : NULL);
    field_add(&fields, "why", make_why(plan));
    add_classic(&fields, options->capacity, options->fpr);
    field_add(&fields, "families", make_families(plan));
    return fields_make(&fields, "Plan");
}

static bool take_capacity(PyObject *arguments, uint64_t *capacity) {
    if (PyDict_GetItemString(arguments, "capacity") == NULL) {
        PyErr_SetString(PyExc_TypeError, "plan() missing required argument: 'capacity'");
        return false;
    }
    return options_take_unsigned(arguments, "capacity", UINT64_MAX, capacity);
}

static bool take_options(struct state *state, PyObject *arguments, tamis_options *options) {
    if (!take_capacity(arguments, &options->capacity) ||
        !options_take_fpr(state, arguments, &options->fpr) ||
        !options_take_unsigned(arguments, "bytes", UINT64_MAX, &options->bytes) ||
        !options_take_needs(arguments, &options->needs) || !options_end("plan", arguments) ||
        !options_check_size(state, options)) {
        return false;
    }
    if (options->fpr == 0 && options->bytes == 0) options->fpr = FPR_DEFAULT;
    return true;
}

PyObject *module_plan(PyObject *module, PyObject *positional, PyObject *keywords) {
    static const char *const names[] = {"capacity", "fpr", NULL};
    struct state *state = PyModule_GetState(module);
    struct plan plan = {.options = TAMIS_OPTIONS_INIT, .advice = TAMIS_ADVICE_INIT};
    PyObject *arguments = options_gather("plan", positional, keywords, names);
    if (arguments == NULL) return NULL;
    const bool taken = take_options(state, arguments, &plan.options);
    Py_DECREF(arguments);
    if (!taken) return NULL;
    const tamis_status status = make_plan(&plan);
    return status == TAMIS_OK ? plan_object(&plan) : raise_status(state, status, NULL);
}
