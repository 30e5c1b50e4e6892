/* sets.c - Filter: union and intersection, copies, conversion, comparison */
#include "module.h"

#include <string.h>

/* ---- copies */

static PyObject *wrap_status(FilterObject *self, tamis_status status, tamis_filter *filter) {
    if (status != TAMIS_OK) return raise_status(self->state, status, self->name);
    return filter_wrap(Py_TYPE((PyObject *)self), self->state, filter, NULL);
}

static FilterObject *copy(FilterObject *self) {
    tamis_filter *cloned;
    tamis_status status;
    const tamis_filter *filter = filter_freeze(self);
    if (filter == NULL) return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_clone(filter, &cloned);
    Py_END_ALLOW_THREADS
    filter_thaw(self);
    FilterObject *copied = (FilterObject *)wrap_status(self, status, cloned);
    if (copied != NULL) copied->shared = self->shared;
    return copied;
}

PyObject *filter_copy(PyObject *object, PyObject *none) {
    (void)none; /* the memo of __deepcopy__ */
    return (PyObject *)copy((FilterObject *)object);
}

/* ---- union and intersection */

/* Merges, with the GIL released; both are accessible. */
static bool merge(FilterObject *self, tamis_filter *into, const tamis_filter *from,
                  tamis_merge_mode mode) {
    tamis_status status;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_merge(into, from, mode);
    Py_END_ALLOW_THREADS
    if (status != TAMIS_OK) raise_status(self->state, status, NULL);
    return status == TAMIS_OK;
}

static bool merge_into(FilterObject *self, FilterObject *from, tamis_merge_mode mode) {
    tamis_filter *into = NULL;
    const tamis_filter *other = NULL;
    bool merged = false;
    /* in the order of access.c */
    if (self < from) into = filter_write(self);
    if (self > from || into != NULL) other = filter_freeze(from);
    if (self > from && other != NULL) into = filter_write(self);
    if (into != NULL && other != NULL) merged = merge(self, into, other, mode);
    if (other != NULL) filter_thaw(from);
    if (into != NULL) filter_write_end(self);
    return merged;
}

/* A filter merged with itself: the counters of a counting filter double, so it is not `self`. */
static bool merge_copy(FilterObject *self, FilterObject *from, tamis_merge_mode mode) {
    FilterObject *copied = copy(from);
    const bool merged = copied != NULL && merge_into(self, copied, mode);
    Py_XDECREF((PyObject *)copied);
    return merged;
}

static PyObject *merge_in_place(PyObject *object, PyObject *other, tamis_merge_mode mode) {
    FilterObject *self = (FilterObject *)object, *from = filter_of(other);
    if (from == NULL) Py_RETURN_NOTIMPLEMENTED;
    if (!(self == from ? merge_copy : merge_into)(self, from, mode)) return NULL;
    Py_INCREF(object);
    return object;
}

static PyObject *merge_new(PyObject *left, PyObject *right, tamis_merge_mode mode) {
    FilterObject *self = filter_of(left);
    if (self == NULL || filter_of(right) == NULL) Py_RETURN_NOTIMPLEMENTED;
    PyObject *merged = (PyObject *)copy(self);
    if (merged == NULL) return NULL;
    PyObject *result = merge_in_place(merged, right, mode);
    Py_DECREF(merged);
    return result;
}

PyObject *filter_or(PyObject *left, PyObject *right) { return merge_new(left, right, TAMIS_UNION); }
PyObject *filter_and(PyObject *left, PyObject *right) {
    return merge_new(left, right, TAMIS_INTERSECTION);
}
PyObject *filter_ior(PyObject *self, PyObject *other) {
    return merge_in_place(self, other, TAMIS_UNION);
}
PyObject *filter_iand(PyObject *self, PyObject *other) {
    return merge_in_place(self, other, TAMIS_INTERSECTION);
}

/* ---- conversion */

bool filter_reformat(FilterObject *self, const char *format) {
    const char *reason = tamis_reformat_reason(self->filter, format);
    if (reason != NULL) {
        PyObject *text = PyUnicode_FromString(reason);
        if (text != NULL) raise_sentence(self->state, TAMIS_E_CONVERT, text);
        Py_XDECREF(text);
        return false;
    }
    const tamis_status status = tamis_reformat(self->filter, format);
    if (status != TAMIS_OK) raise_status(self->state, status, NULL);
    return status == TAMIS_OK && filter_refresh(self);
}

static PyObject *convert(FilterObject *self, tamis_kind kind, const char *format) {
    tamis_filter *converted;
    tamis_status status;
    const tamis_filter *filter = filter_freeze(self);
    if (filter == NULL) return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_convert(filter, kind, &converted);
    Py_END_ALLOW_THREADS
    filter_thaw(self);
    PyObject *result = wrap_status(self, status, converted);
    if (result != NULL && format != NULL && !filter_reformat((FilterObject *)result, format)) {
        Py_CLEAR(result);
    }
    return result;
}

PyObject *filter_convert(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"kind", "format", NULL};
    FilterObject *self = (FilterObject *)object;
    const char *kind = NULL, *format = NULL;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|z$z:convert", names, &kind, &format)) {
        return NULL;
    }
    const tamis_kind wanted = kind == NULL ? self->kind : tamis_kind_find(kind);
    if (wanted == TAMIS_AUTO) return raise_status(self->state, TAMIS_E_KIND, NULL);
    return convert(self, wanted, format);
}

/* ---- comparison */

/* The bytes of a filter without its number of adds, which is not part of the set. */
static PyObject *content(FilterObject *self) {
    FilterObject *copied = copy(self);
    if (copied == NULL) return NULL;
    tamis_set_adds(copied->filter, 0); /* static kinds count none */
    PyObject *bytes = filter_to_bytes((PyObject *)copied, NULL);
    Py_DECREF((PyObject *)copied);
    return bytes;
}

static int same_facts(FilterObject *self, FilterObject *other) {
    FilterObject *const both[2] = {self, other};
    tamis_facts facts[2] = {TAMIS_FACTS_INIT, TAMIS_FACTS_INIT};
    for (int i = 0; i < 2; i++) {
        const tamis_filter *filter = filter_read(both[i]);
        if (filter == NULL) return -1;
        tamis_info_brief(filter, &facts[i]);
        filter_read_end(both[i]);
    }
    return facts[0].kind == facts[1].kind && facts[0].hasher == facts[1].hasher &&
           facts[0].seed == facts[1].seed && facts[0].key_id == facts[1].key_id &&
           facts[0].encoded_bytes == facts[1].encoded_bytes &&
           strcmp(facts[0].format, facts[1].format) == 0;
}

static int equal(FilterObject *self, FilterObject *other) {
    if (self == other) return 1;
    int same = same_facts(self, other);
    if (same <= 0) return same;
    PyObject *left = content(self), *right = left != NULL ? content(other) : NULL;
    same = right == NULL ? -1 : PyObject_RichCompareBool(left, right, Py_EQ);
    Py_XDECREF(left);
    Py_XDECREF(right);
    return same;
}

PyObject *filter_compare(PyObject *object, PyObject *right, int operation) {
    FilterObject *other = filter_of(right);
    if (other == NULL || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    const int same = equal((FilterObject *)object, other);
    if (same < 0) return NULL;
    return PyBool_FromLong((same != 0) == (operation == Py_EQ));
}
