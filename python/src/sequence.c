/* sequence.c - keys from lists, tuples and iterables
 *
 * The objects are converted with the GIL, some thousand at a time.  References to them are held
 * until the keys have been used without it, so that another thread may change the list. */
#include "column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLAB_OBJECTS 16384
#define SLAB_BYTES ((size_t)8 << 20) /* of keys: objects of an iterable may be large */

/* In place of a length: the key is a hash, in `words`; or there is none. */
#define IS_HASH SIZE_MAX
#define IS_NULL (SIZE_MAX - 1)

struct sequence {
    PyObject *list;     /* a list or tuple, */
    PyObject *iterator; /* or an iterator */
    Py_ssize_t at;      /* objects taken before this slab */
    PyObject *held;     /* the objects of the slab, a list or tuple */
    Py_ssize_t held_at; /* of the first one */
    size_t capacity, count, bytes;
    bool some_hashes, some_nulls;
    PyObject *missing[2]; /* pandas.NA and pandas.NaT; NULL: nothing is a null */
    const void **keys;
    size_t *lengths;
    uint64_t *words;  /* small integers and hashes */
    struct key *slow; /* all others that are not plain str and bytes; NULL until there is one */
    size_t slow_count;
};

/* ---- one object */

/* An int of at most 63 bits and a sign.  false: it is a larger one. */
static bool take_small_int(struct sequence *s, PyObject *object, size_t i, bool is_hash) {
    int overflow;
    const uint64_t value = (uint64_t)PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) return false;
    s->some_hashes |= is_hash;
    s->lengths[i] = is_hash ? IS_HASH : 8;
    s->keys[i] = &s->words[i];
    s->words[i] = value;
    uint8_t *bytes = (uint8_t *)&s->words[i];
    for (unsigned b = 0; !is_hash && b < 8; b++) bytes[b] = (uint8_t)(value >> (8 * b));
    return true;
}

static struct key *next_slow(struct sequence *s) {
    if (s->slow == NULL) s->slow = (struct key *)malloc(s->capacity * sizeof *s->slow);
    if (s->slow == NULL) PyErr_NoMemory();
    return s->slow == NULL ? NULL : &s->slow[s->slow_count];
}

/* Any object.  Its key is not moved, since it may point into itself. */
static bool take_slow(struct sequence *s, struct target *target, PyObject *object, size_t i) {
    struct key *key = next_slow(s);
    if (key == NULL || !key_of_object(&target->rule, object, key)) return false;
    s->slow_count++;
    if (key->is_tuple && !target_compose(target, object, &key->hash)) return false;
    s->some_hashes |= key->is_hash;
    s->keys[i] = key->bytes;
    s->lengths[i] = key->is_hash ? IS_HASH : key->length;
    if (key->is_hash) s->words[i] = key->hash;
    return true;
}

/* What pandas has for a missing value. */
static bool is_null(const struct sequence *s, PyObject *object) {
    if (s->missing[0] == NULL) return false;
    return object == Py_None || object == s->missing[0] || object == s->missing[1] ||
           (PyFloat_Check(object) && isnan(PyFloat_AsDouble(object)));
}

static bool take_object(struct sequence *s, struct target *target, PyObject *object, size_t i) {
    const struct key_rule *rule = &target->rule;
    if (is_null(s, object)) {
        s->some_nulls = true;
        s->keys[i] = NULL;
        s->lengths[i] = IS_NULL;
        return true;
    }
    if (rule->plain && PyUnicode_Check(object)) {
        s->keys[i] = PyUnicode_AsUTF8AndSize(object, (Py_ssize_t *)&s->lengths[i]);
        return s->keys[i] != NULL;
    }
    if (rule->plain && PyBytes_Check(object)) {
        s->keys[i] = PyBytes_AsString(object);
        s->lengths[i] = (size_t)PyBytes_Size(object);
        return true;
    }
    if ((rule->plain || rule->prehashed) && PyLong_Check(object) &&
        take_small_int(s, object, i, rule->prehashed)) {
        return true;
    }
    return take_slow(s, target, object, i);
}

/* Names the index of the key in the message of an exception of this module.  That of an object's
 * own code may have attributes and a class that a caller expects. */
static void name_index(Py_ssize_t index) {
    static PyObject **const classes[] = {&PyExc_TypeError, &PyExc_OverflowError, &PyExc_ValueError};
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (type != *classes[i]) continue;
        PyErr_Format(*classes[i], "keys[%zd]: %S", index, value);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return;
    }
    PyErr_Restore(type, value, traceback);
}

/* ---- a slab of objects */

static void release_slab(struct sequence *s) {
    for (size_t i = 0; i < s->slow_count; i++) key_release(&s->slow[i]);
    s->slow_count = 0;
    Py_CLEAR(s->held);
}

/* Holds the objects that come next.  For an iterator they are yet to be fetched. */
static bool hold_objects(struct sequence *s) {
    release_slab(s);
    s->at += (Py_ssize_t)s->count;
    s->count = s->bytes = 0;
    s->some_hashes = s->some_nulls = false;
    s->held_at = 0;
    if (s->iterator != NULL) {
        s->held = PyList_New(0);
    } else if (PyTuple_Check(s->list)) {
        s->held_at = s->at;
        s->held = s->list;
        Py_INCREF(s->held);
    } else {
        s->held = PyList_GetSlice(s->list, s->at, s->at + (Py_ssize_t)s->capacity);
    }
    return s->held != NULL;
}

static PyObject *fetch_object(struct sequence *s) {
    PyObject *object = PyIter_Next(s->iterator);
    if (object == NULL) return NULL;
    const int failed = PyList_Append(s->held, object);
    Py_DECREF(object);
    return failed < 0 ? NULL : object;
}

/* The object that comes next, borrowed; NULL at the end, or with an exception. */
static PyObject *next_object(struct sequence *s) {
    if (s->iterator != NULL) return fetch_object(s);
    const Py_ssize_t i = s->held_at + (Py_ssize_t)s->count;
    if (PyTuple_Check(s->held)) {
        return i < PyTuple_Size(s->held) ? PyTuple_GetItem(s->held, i) : NULL;
    }
    return i < PyList_Size(s->held) ? PyList_GetItem(s->held, i) : NULL;
}

static bool convert_objects(struct sequence *s, struct target *target) {
    PyObject *object = NULL;
    while (s->count < s->capacity && s->bytes < SLAB_BYTES && (object = next_object(s)) != NULL) {
        if (!take_object(s, target, object, s->count)) {
            name_index(s->at + (Py_ssize_t)s->count);
            return false;
        }
        const size_t length = s->lengths[s->count++];
        if (length < IS_NULL) s->bytes += length;
    }
    return object != NULL || PyErr_Occurred() == NULL;
}

/* ---- the column */

/* Keys beside hashes are hashed, so that the group has one sort. */
static void fill_hashes(const struct column *column, size_t from, struct group *group) {
    const struct sequence *s = (const struct sequence *)column->detail;
    group->hashed = true;
    group->hashes = group->words;
    for (size_t i = 0; i < group->count; i++) {
        const size_t at = from + (group->sparse ? group->rows[i] : i);
        const size_t length = s->lengths[at];
        group->words[i] =
            length == IS_HASH ? s->words[at] : target_hash(column->target, s->keys[at], length);
    }
}

/* The keys between the nulls. */
static void skip_nulls(const struct sequence *s, size_t from, struct group *group) {
    size_t keys = 0;
    for (size_t i = 0; i < group->count; i++) {
        group->rows[keys] = i;
        group->key_room[keys] = s->keys[from + i];
        group->length_room[keys] = s->lengths[from + i];
        keys += s->lengths[from + i] != IS_NULL;
    }
    group->sparse = true;
    group->count = keys;
    group->keys = group->key_room;
    group->lengths = group->length_room;
}

static size_t fill_slab(const struct column *column, size_t from, size_t count,
                        struct group *group) {
    const struct sequence *s = (const struct sequence *)column->detail;
    group->count = count;
    group->sparse = group->hashed = false;
    group->keys = s->keys + from;
    group->lengths = s->lengths + from;
    if (s->some_nulls) skip_nulls(s, from, group);
    if (s->some_hashes) fill_hashes(column, from, group);
    return count;
}

static int next_slab(struct source *source, struct column *column) {
    struct sequence *s = (struct sequence *)source->detail;
    if (!hold_objects(s) || !convert_objects(s, source->target)) return -1;
    *column = (struct column){.length = s->count,
                              .nullable = s->some_nulls,
                              .target = source->target,
                              .detail = s,
                              .fill = fill_slab};
    return s->count != 0;
}

/* ---- opening */

static void close_sequence(struct source *source) {
    struct sequence *s = (struct sequence *)source->detail;
    release_slab(s);
    Py_XDECREF(s->list);
    Py_XDECREF(s->iterator);
    Py_XDECREF(s->missing[0]);
    Py_XDECREF(s->missing[1]);
    free(s->keys);
    free(s->lengths);
    free(s->words);
    free(s->slow);
    free(s);
}

static struct sequence *allocate(size_t capacity) {
    struct sequence *s = (struct sequence *)calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    s->capacity = capacity;
    s->keys = (const void **)malloc(capacity * sizeof *s->keys);
    s->lengths = (size_t *)malloc(capacity * sizeof *s->lengths);
    s->words = (uint64_t *)malloc(capacity * sizeof *s->words);
    return s;
}

static Py_ssize_t size_of(PyObject *keys) {
    if (PyList_Check(keys)) return PyList_Size(keys);
    return PyTuple_Check(keys) ? PyTuple_Size(keys) : -1;
}

static bool refuse(PyObject *object) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
    refuse_type(object,
                "keys must be a list or another iterable of keys, a NumPy array, an Arrow "
                "array or an Arrow stream, not %U");
    return false;
}

static bool set_objects(struct sequence *s, PyObject *iterable) {
    if (size_of(iterable) < 0) {
        s->iterator = PyObject_GetIter(iterable);
        return s->iterator != NULL || refuse(iterable);
    }
    s->list = iterable;
    Py_INCREF(s->list);
    return true;
}

bool sequence_open(struct source *source, PyObject *iterable) {
    const Py_ssize_t size = size_of(iterable);
    const size_t capacity = size >= 0 && size < SLAB_OBJECTS ? (size_t)size + 1 : SLAB_OBJECTS;
    struct sequence *s = allocate(capacity);
    if (s == NULL) return PyErr_NoMemory() != NULL;
    source->detail = s;
    if (s->keys == NULL || s->lengths == NULL || s->words == NULL) {
        PyErr_NoMemory();
    } else if (set_objects(s, iterable)) {
        source->mirror = RESULT_LIST;
        source->total = size;
        source->next = next_slab;
        source->close = close_sequence;
        return true;
    }
    close_sequence(source);
    return false;
}

bool sequence_allow_nulls(struct source *source) {
    if (source->next != next_slab) return true; /* nulls are known in other ways */
    struct sequence *s = (struct sequence *)source->detail;
    PyObject *pandas = PyImport_ImportModule("pandas");
    s->missing[0] = pandas == NULL ? NULL : PyObject_GetAttrString(pandas, "NA");
    s->missing[1] = s->missing[0] == NULL ? NULL : PyObject_GetAttrString(pandas, "NaT");
    Py_XDECREF(pandas);
    return s->missing[1] != NULL;
}
