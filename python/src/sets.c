/* sets.c - Filter: union and intersection, copies, conversion, comparison */
#include "module.h"

#include <errno.h>
#include <string.h>

/* ---- copies */

static PyObject *wrap_status(FilterObject *self, tamis_status status, tamis_filter *filter) {
    if (status != TAMIS_OK) return raise_status(self->state, status, self->name);
    return filter_wrap(Py_TYPE((PyObject *)self), self->state, filter, NULL);
}

static FilterObject *copy(FilterObject *self) {
    tamis_filter *cloned;
    tamis_status status;
    int error;
    const tamis_filter *filter = filter_freeze(self);
    if (filter == NULL) return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_clone(filter, &cloned);
    error = errno;
    Py_END_ALLOW_THREADS
    filter_thaw(self);
    errno = error;
    FilterObject *copied = (FilterObject *)wrap_status(self, status, cloned);
    if (copied != NULL) copied->shared = self->shared;
    return copied;
}

/* Before Python 3.11 object has no __getstate__. */
PyObject *filter_state(PyObject *self) {
    if (PyObject_HasAttrString(self, "__getstate__")) {
        return PyObject_CallMethod(self, "__getstate__", NULL);
    }
    if (PyObject_HasAttrString(self, "__dict__")) return PyObject_GetAttrString(self, "__dict__");
    Py_RETURN_NONE;
}

static bool set_dict(PyObject *to, PyObject *attributes) {
    if (attributes == Py_None) return true;
    PyObject *own = PyObject_GetAttrString(to, "__dict__");
    PyObject *none = own == NULL ? NULL : PyObject_CallMethod(own, "update", "O", attributes);
    Py_XDECREF(none);
    Py_XDECREF(own);
    return none != NULL;
}

static bool set_slots(PyObject *to, PyObject *slots) {
    PyObject *items = PyMapping_Items(slots); /* a list of pairs, which nothing else has */
    const Py_ssize_t count = items == NULL ? 0 : PyList_Size(items);
    bool set = items != NULL;
    for (Py_ssize_t i = 0; set && i < count; i++) {
        PyObject *item = PyList_GetItem(items, i);
        set = PyObject_SetAttr(to, PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1)) == 0;
    }
    Py_XDECREF(items);
    return set;
}

/* As pickle does: the state is a dict, or a pair of one and of the values of __slots__. */
static bool set_state(PyObject *to, PyObject *state) {
    if (state == Py_None) return true;
    if (PyObject_HasAttrString(to, "__setstate__")) {
        PyObject *none = PyObject_CallMethod(to, "__setstate__", "(O)", state);
        Py_XDECREF(none);
        return none != NULL;
    }
    if (!PyTuple_Check(state) || PyTuple_Size(state) != 2) return set_dict(to, state);
    return set_dict(to, PyTuple_GetItem(state, 0)) && set_slots(to, PyTuple_GetItem(state, 1));
}

/* Gives `made`, which it takes, the attributes of `from`. */
static PyObject *with_state(PyObject *made, PyObject *from) {
    PyObject *state = made == NULL ? NULL : filter_state(from);
    if (state == NULL || !set_state(made, state)) Py_CLEAR(made);
    Py_XDECREF(state);
    return made;
}

PyObject *filter_copy(PyObject *object, PyObject *none) {
    (void)none;
    return with_state((PyObject *)copy((FilterObject *)object), object);
}

/* Copies the state with copy.deepcopy(); the memo has this copy first, since the state may refer to
 * it. */
static bool copy_state(PyObject *copied, PyObject *object, PyObject *memo) {
    PyObject *identity = PyLong_FromVoidPtr(object), *state = NULL, *module = NULL, *own = NULL;
    if (identity != NULL && PyObject_SetItem(memo, identity, copied) == 0) {
        state = filter_state(object);
    }
    if (state != NULL) module = PyImport_ImportModule("copy");
    if (module != NULL) own = PyObject_CallMethod(module, "deepcopy", "OO", state, memo);
    const bool done = own != NULL && set_state(copied, own);
    Py_XDECREF(own);
    Py_XDECREF(module);
    Py_XDECREF(state);
    Py_XDECREF(identity);
    return done;
}

PyObject *filter_deepcopy(PyObject *object, PyObject *memo) {
    PyObject *copied = (PyObject *)copy((FilterObject *)object);
    if (copied != NULL && !copy_state(copied, object, memo)) Py_CLEAR(copied);
    return copied;
}

/* ---- union and intersection */

/* Write access to `self` and a freeze of `from`.  Waits for the one only while it does not hold the
 * other.  false: an exception is set. */
static bool access_both(FilterObject *self, FilterObject *from) {
    while (filter_write(self) != NULL) {
        if (filter_try_freeze(from) != NULL) return true;
        filter_write_end(self);
        if (filter_freeze(from) == NULL) return false;
        filter_thaw(from);
    }
    return false;
}

static bool merge_into(FilterObject *self, FilterObject *from, tamis_merge_mode mode) {
    tamis_status status;
    int error;
    if (!access_both(self, from)) return false;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_merge(self->filter, from->filter, mode);
    error = errno;
    Py_END_ALLOW_THREADS
    filter_thaw(from);
    filter_write_end(self);
    errno = error;
    if (status != TAMIS_OK) raise_status(self->state, status, NULL);
    return status == TAMIS_OK;
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
    PyObject *merged = filter_copy(left, NULL);
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
        return raise_text(self->state, TAMIS_E_CONVERT, PyUnicode_FromString(reason)) != NULL;
    }
    const tamis_status status = tamis_reformat(self->filter, format);
    if (status != TAMIS_OK) raise_status(self->state, status, NULL);
    return status == TAMIS_OK && filter_refresh(self);
}

static PyObject *convert(FilterObject *self, tamis_kind kind, const char *format) {
    tamis_filter *converted;
    tamis_status status;
    int error;
    const tamis_filter *filter = filter_freeze(self);
    if (filter == NULL) return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_convert(filter, kind, &converted);
    error = errno;
    Py_END_ALLOW_THREADS
    filter_thaw(self);
    errno = error;
    PyObject *result = with_state(wrap_status(self, status, converted), (PyObject *)self);
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
    tamis_kind wanted = self->kind;
    if (!options_kind(self->state, kind, &wanted) || !options_format(self->state, format)) {
        return NULL;
    }
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
