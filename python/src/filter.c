/* filter.c - the type Filter: its life, its facts, and one key at a time */
#include "module.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

#include "filter_doc.h"

/* ---- access */

/* The filter, if it may be used. */
static tamis_filter *usable(FilterObject *self) {
    const bool intact = atomic_load_explicit(&self->damage, memory_order_relaxed) == 0;
    return intact ? self->filter : NULL;
}

/* Raises why the filter may not be used. */
static void *refuse_use(FilterObject *self) {
    const tamis_status damage = (tamis_status)atomic_load(&self->damage);
    if (self->filter != NULL && damage != TAMIS_OK) {
        return raise_status(self->state, damage, self->name);
    }
    PyErr_SetString(PyExc_ValueError, "the filter is closed");
    return NULL;
}

const tamis_filter *filter_read(FilterObject *self) {
    if (!access_read(&self->access)) return NULL;
    const tamis_filter *filter = usable(self);
    if (filter != NULL) return filter;
    access_read_end(&self->access);
    return refuse_use(self);
}

void filter_read_end(FilterObject *self) { access_read_end(&self->access); }

tamis_filter *filter_write(FilterObject *self) {
    if (!access_write(&self->access)) return NULL;
    tamis_filter *filter = usable(self);
    if (filter != NULL) return filter;
    access_write_end(&self->access);
    return refuse_use(self);
}

void filter_write_end(FilterObject *self) { access_write_end(&self->access); }

/* Access for one key.  With a GIL, which is held all the time, it is enough that no other thread
 * is in the middle of a call: nothing is counted. */
static const tamis_filter *begin_query(FilterObject *self) {
#ifdef Py_GIL_DISABLED
    return filter_read(self);
#else
    if (atomic_load_explicit(&self->access.users, memory_order_relaxed) < 0) {
        if (!access_read(&self->access)) return NULL;
        access_read_end(&self->access);
    }
    const tamis_filter *filter = usable(self);
    return filter != NULL ? filter : refuse_use(self);
#endif
}

static void end_query(FilterObject *self) {
#ifdef Py_GIL_DISABLED
    filter_read_end(self);
#else
    (void)self;
#endif
}

static tamis_filter *begin_change(FilterObject *self) {
#ifdef Py_GIL_DISABLED
    return filter_write(self);
#else
    if (atomic_load_explicit(&self->access.users, memory_order_relaxed) != 0) {
        if (!access_write(&self->access)) return NULL;
        access_write_end(&self->access);
    }
    tamis_filter *filter = usable(self);
    return filter != NULL ? filter : refuse_use(self);
#endif
}

static void end_change(FilterObject *self) {
#ifdef Py_GIL_DISABLED
    filter_write_end(self);
#else
    (void)self;
#endif
}

/* Adds to a shared filter are lock-free: they need no more than queries do. */
static tamis_filter *begin_add(FilterObject *self) {
    if (!self->shared) return begin_change(self);
    return begin_query(self) != NULL ? self->filter : NULL;
}

static void end_add(FilterObject *self) {
    if (self->shared) {
        end_query(self);
    } else {
        end_change(self);
    }
}

tamis_status filter_touched(const FilterObject *self, const tamis_filter *filter) {
    return self->lazy ? tamis_query_status(filter) : TAMIS_OK;
}

tamis_status filter_check(FilterObject *self, const tamis_filter *filter) {
    tamis_status status;
    int error;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_verify(filter);
    error = errno;
    Py_END_ALLOW_THREADS
    const bool damaged = status == TAMIS_E_CHECKSUM || status == TAMIS_E_CORRUPT;
    if (damaged) atomic_store(&self->damage, (int)status);
    errno = error;
    return status;
}

/* ---- its life */

bool filter_refresh(FilterObject *self) {
    tamis_facts facts = TAMIS_FACTS_INIT;
    const tamis_status status = tamis_info_brief(self->filter, &facts);
    if (status != TAMIS_OK) {
        raise_status(self->state, status, self->name);
        return false;
    }
    self->rule = key_rule_of_facts(&facts);
    self->kind = facts.kind;
    self->caps = facts.caps;
    self->keyed = facts.keyed;
    return true;
}

void filter_drop(FilterObject *self) {
    tamis_composer_free(atomic_exchange(&self->composer, NULL));
    tamis_free(self->filter);
    self->filter = NULL;
}

static void filter_dealloc(PyObject *object) {
    FilterObject *self = (FilterObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->weakrefs != NULL) PyObject_ClearWeakRefs(object);
    filter_drop(self);
    Py_CLEAR(self->name);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* Py_TYPE(object) may be a subclass from another module, so the type is found by its function. */
FilterObject *filter_of(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    while (type != NULL) {
#if defined(Py_LIMITED_API)
        const uintptr_t dealloc = (uintptr_t)PyType_GetSlot(type, Py_tp_dealloc);
        PyTypeObject *base = PyType_GetSlot(type, Py_tp_base);
#else
        const uintptr_t dealloc = (uintptr_t)type->tp_dealloc;
        PyTypeObject *base = type->tp_base;
#endif
        if (dealloc == (uintptr_t)filter_dealloc) return (FilterObject *)object;
        type = base;
    }
    return NULL;
}

static FilterObject *allocate(PyTypeObject *type, struct state *state) {
    FilterObject *self = (FilterObject *)PyType_GenericAlloc(type, 0); /* all zero */
    if (self != NULL) self->state = state;
    return self;
}

PyObject *filter_wrap(PyTypeObject *type, struct state *state, tamis_filter *filter,
                      PyObject *name) {
    FilterObject *self = allocate(type, state);
    if (self == NULL) {
        tamis_free(filter);
        return NULL;
    }
    self->filter = filter;
    Py_XINCREF(name);
    self->name = name;
    if (!filter_refresh(self)) Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *filter_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)arguments;
    (void)keywords;
    struct state *state = state_of_type(type);
    return state != NULL ? (PyObject *)allocate(type, state) : NULL;
}

static bool create(FilterObject *self, const tamis_options *options) {
    tamis_status status;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_create(options, &self->filter);
    Py_END_ALLOW_THREADS
    if (status == TAMIS_OK) return filter_refresh(self);
    return options_raise(self->state, status, options) != NULL;
}

static int filter_init(PyObject *object, PyObject *positional, PyObject *keywords) {
    static const char *const names[] = {"capacity", "fpr", "kind", NULL};
    FilterObject *self = (FilterObject *)object;
    tamis_options options = TAMIS_OPTIONS_INIT;
    PyObject *keep = NULL;
    PyObject *arguments = options_gather("Filter", positional, keywords, names);
    const bool has_capacity =
        arguments != NULL && PyDict_GetItemString(arguments, "capacity") != NULL;
    bool ready = arguments != NULL && options_take(self->state, arguments, &options, &keep) &&
                 options_take_flag(arguments, "shared", &options.shared) &&
                 options_end("Filter", arguments) &&
                 options_complete(self->state, &options, has_capacity) &&
                 options_check(self->state, &options);
    if (ready && self->filter != NULL) {
        PyErr_SetString(PyExc_TypeError, "the filter exists already");
        ready = false;
    }
    ready = ready && create(self, &options);
    self->shared = ready && options.shared;
    Py_XDECREF(keep);
    Py_XDECREF(arguments);
    return ready ? 0 : -1;
}

/* ---- one key */

static bool make_composer(FilterObject *self, tamis_composer **composer) {
    const tamis_filter *filter = begin_query(self);
    if (filter == NULL) return false;
    const tamis_status status = tamis_composer_create(filter, composer);
    end_query(self);
    if (status != TAMIS_OK) raise_status(self->state, status, NULL);
    return status == TAMIS_OK;
}

/* The hash of a tuple.  Its fields may run Python code, so the composer is taken meanwhile. */
static bool compose(FilterObject *self, PyObject *tuple, uint64_t *hash) {
    tamis_composer *composer = atomic_exchange(&self->composer, NULL);
    if (composer == NULL && !make_composer(self, &composer)) return false;
    const bool composed = compose_key(composer, tuple, hash);
    tamis_composer_free(atomic_exchange(&self->composer, composer));
    return composed;
}

static bool make_key(FilterObject *self, PyObject *object, struct key *key) {
    if (!key_of_object(&self->rule, object, key)) return false;
    return !key->is_tuple || compose(self, object, &key->hash);
}

static int filter_contains(PyObject *object, PyObject *argument) {
    FilterObject *self = (FilterObject *)object;
    struct key key;
    if (!make_key(self, argument, &key)) return -1;
    int found = -1;
    const tamis_filter *filter = begin_query(self);
    if (filter != NULL) {
        found = key.is_hash ? tamis_contains_hash(filter, key.hash)
                            : tamis_contains(filter, key.bytes, key.length);
        const tamis_status status = found ? filter_touched(self, filter) : TAMIS_OK;
        end_query(self);
        if (status != TAMIS_OK) {
            raise_status(self->state, status, self->name);
            found = -1;
        }
    }
    key_release(&key);
    return found;
}

static PyObject *filter_add(PyObject *object, PyObject *argument) {
    FilterObject *self = (FilterObject *)object;
    struct key key;
    if (!make_key(self, argument, &key)) return NULL;
    bool fresh = false, done = false;
    tamis_filter *filter = begin_add(self);
    if (filter != NULL) {
        const tamis_status status = key.is_hash ? tamis_add_hash(filter, key.hash, &fresh)
                                                : tamis_add(filter, key.bytes, key.length, &fresh);
        end_add(self);
        done = status == TAMIS_OK;
        if (!done) raise_status(self->state, status, NULL);
    }
    key_release(&key);
    return done ? PyBool_FromLong(fresh) : NULL;
}

/* Removes a key.  E_ABSENT raises nothing; any other failure does. */
static tamis_status remove_key(FilterObject *self, PyObject *argument) {
    struct key key;
    if (!make_key(self, argument, &key)) return TAMIS_E_ARGUMENT;
    tamis_status status = TAMIS_E_ARGUMENT;
    tamis_filter *filter = begin_change(self);
    if (filter != NULL) {
        status = key.is_hash ? tamis_remove_hash(filter, key.hash)
                             : tamis_remove(filter, key.bytes, key.length);
        end_change(self);
        if (status != TAMIS_OK && status != TAMIS_E_ABSENT) {
            raise_status(self->state, status, NULL);
        }
    }
    key_release(&key);
    return status;
}

static PyObject *filter_remove(PyObject *object, PyObject *argument) {
    const tamis_status status = remove_key((FilterObject *)object, argument);
    if (status == TAMIS_OK) Py_RETURN_NONE;
    if (status != TAMIS_E_ABSENT) return NULL;
    PyObject *arguments = PyTuple_Pack(1, argument); /* a tuple would be several arguments */
    if (arguments != NULL) PyErr_SetObject(PyExc_KeyError, arguments);
    Py_XDECREF(arguments);
    return NULL;
}

static PyObject *filter_discard(PyObject *object, PyObject *argument) {
    const tamis_status status = remove_key((FilterObject *)object, argument);
    if (PyErr_Occurred() != NULL) return NULL;
    return PyBool_FromLong(status == TAMIS_OK);
}

static PyObject *filter_count(PyObject *object, PyObject *argument) {
    FilterObject *self = (FilterObject *)object;
    struct key key;
    if (!make_key(self, argument, &key)) return NULL;
    PyObject *count = NULL;
    const tamis_filter *filter = begin_query(self);
    if (filter != NULL) {
        const unsigned times = key.is_hash ? tamis_count_hash(filter, key.hash)
                                           : tamis_count(filter, key.bytes, key.length);
        const tamis_status status = times != 0 ? filter_touched(self, filter) : TAMIS_OK;
        end_query(self);
        count = status == TAMIS_OK ? PyLong_FromUnsignedLong(times)
                                   : raise_status(self->state, status, self->name);
    }
    key_release(&key);
    return count;
}

static PyObject *filter_hash(PyObject *object, PyObject *argument) {
    FilterObject *self = (FilterObject *)object;
    struct key key;
    if (!make_key(self, argument, &key)) return NULL;
    PyObject *hash = NULL;
    const tamis_filter *filter = begin_query(self);
    if (filter != NULL) {
        const uint64_t value = key.is_hash ? key.hash : tamis_hash(filter, key.bytes, key.length);
        end_query(self);
        hash = PyLong_FromUnsignedLongLong(value);
    }
    key_release(&key);
    return hash;
}

/* ---- many keys */

static PyObject *filter_contains_many(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                                      PyObject *names) {
    return batch_many((FilterObject *)self, BATCH_CONTAINS, arguments, count, names);
}

static PyObject *filter_add_many(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                                 PyObject *names) {
    return batch_many((FilterObject *)self, BATCH_ADD, arguments, count, names);
}

static PyObject *filter_discard_many(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                                     PyObject *names) {
    return batch_many((FilterObject *)self, BATCH_DISCARD, arguments, count, names);
}

static PyObject *filter_hash_many(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                                  PyObject *names) {
    return batch_many((FilterObject *)self, BATCH_HASH, arguments, count, names);
}

static PyObject *filter_update(PyObject *object, PyObject *positional, PyObject *keywords) {
    uint64_t threads = 1;
    PyObject *arguments = keywords != NULL ? PyDict_Copy(keywords) : PyDict_New();
    bool added = arguments != NULL &&
                 options_take_unsigned(arguments, "threads", THREADS_LIMIT, &threads) &&
                 options_end("update", arguments);
    Py_XDECREF(arguments);
    const Py_ssize_t count = PyTuple_Size(positional);
    for (Py_ssize_t i = 0; added && i < count; i++) {
        added =
            batch_update((FilterObject *)object, PyTuple_GetItem(positional, i), (unsigned)threads);
    }
    if (!added) return NULL;
    Py_RETURN_NONE;
}

/* ---- facts */

/* Also those that take a pass over the table, which is verified first.  The caller has access. */
static tamis_status count_facts(FilterObject *self, const tamis_filter *filter,
                                tamis_facts *facts) {
    tamis_status status = filter_check(self, filter);
    if (status != TAMIS_OK) return status;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_info(filter, facts);
    Py_END_ALLOW_THREADS
    return status;
}

/* `brief`: without what takes a pass over the table. */
static bool read_facts(FilterObject *self, bool brief, tamis_facts *facts) {
    *facts = (tamis_facts)TAMIS_FACTS_INIT;
    const tamis_filter *filter = filter_read(self);
    if (filter == NULL) return false;
    const tamis_status status =
        brief ? tamis_info_brief(filter, facts) : count_facts(self, filter, facts);
    const int error = errno;
    filter_read_end(self);
    errno = error;
    if (status != TAMIS_OK) raise_status(self->state, status, self->name);
    return status == TAMIS_OK;
}

static Py_ssize_t keys_of(const tamis_facts *facts) {
    if (!(facts->distinct < (double)PY_SSIZE_T_MAX)) return PY_SSIZE_T_MAX;
    const Py_ssize_t keys = (Py_ssize_t)llround(facts->distinct);
    return keys == 0 && facts->fill > 0 ? 1 : keys; /* never empty if a key was added */
}

static Py_ssize_t filter_length(PyObject *object) {
    tamis_facts facts;
    return read_facts((FilterObject *)object, false, &facts) ? keys_of(&facts) : -1;
}

static PyObject *filter_info(PyObject *object, PyObject *none) {
    (void)none;
    FilterObject *self = (FilterObject *)object;
    tamis_facts facts;
    return read_facts(self, false, &facts) ? info_of_facts(&facts, self->name) : NULL;
}

static PyObject *repr_of_facts(const tamis_facts *facts, bool counted) {
    char fpr[32], keys[32];
    const bool native = strcmp(facts->format, "tamis") == 0;
    PyOS_snprintf(fpr, sizeof fpr, facts->fpr_target > 0 ? "%.3g" : "unknown", facts->fpr_target);
    PyOS_snprintf(keys, sizeof keys, "keys=%zd", keys_of(facts));
    return PyUnicode_FromFormat("<tamis.Filter kind='%s' %s fpr=%s%s%s%s>",
                                tamis_kind_name(facts->kind), counted ? keys : "damaged", fpr,
                                facts->keyed ? " keyed" : "",
                                native ? "" : " format=", native ? "" : facts->format);
}

/* Also of a filter that is damaged: it is for messages and debuggers. */
static PyObject *filter_repr(PyObject *object) {
    FilterObject *self = (FilterObject *)object;
    tamis_facts facts = TAMIS_FACTS_INIT;
    bool counted = false;
    if (!access_read(&self->access)) return NULL;
    const bool closed = self->filter == NULL;
    if (!closed) {
        (void)tamis_info_brief(self->filter, &facts);
        counted = usable(self) != NULL && count_facts(self, self->filter, &facts) == TAMIS_OK;
    }
    access_read_end(&self->access);
    return closed ? PyUnicode_FromString("<tamis.Filter closed>") : repr_of_facts(&facts, counted);
}

static PyObject *get_fact(PyObject *object, void *which) {
    tamis_facts facts;
    if (!read_facts((FilterObject *)object, true, &facts)) return NULL;
    switch ((char)(uintptr_t)which) {
        case 'k':
            return PyUnicode_FromString(tamis_kind_name(facts.kind));
        case 'f':
            return PyUnicode_FromString(facts.format);
        case 'c':
            return PyLong_FromUnsignedLongLong(facts.capacity);
        case 'p':
            return PyFloat_FromDouble(facts.fpr_target);
        case 's':
            return PyLong_FromUnsignedLongLong(facts.seed);
        case 'y':
            return PyBool_FromLong(facts.keyed);
        default:
            return PyLong_FromUnsignedLongLong(facts.encoded_bytes);
    }
}

static PyObject *get_name(PyObject *object, void *none) {
    (void)none;
    PyObject *name = ((FilterObject *)object)->name;
    if (name == NULL) Py_RETURN_NONE;
    Py_INCREF(name);
    return name;
}

static PyObject *get_closed(PyObject *object, void *none) {
    (void)none;
    return PyBool_FromLong(((FilterObject *)object)->filter == NULL);
}

/* With the table, if it is memory of the process: files are mapped read-only. */
static PyObject *filter_sizeof(PyObject *object, PyObject *none) {
    (void)none;
    FilterObject *self = (FilterObject *)object;
    tamis_facts facts = TAMIS_FACTS_INIT;
    PyObject *size = PyObject_CallMethod((PyObject *)&PyBaseObject_Type, "__sizeof__", "O", object);
    if (size == NULL || !access_read(&self->access)) return size;
    if (self->filter != NULL) (void)tamis_info_brief(self->filter, &facts);
    access_read_end(&self->access);
    PyObject *table = PyLong_FromUnsignedLongLong(facts.readonly ? 0 : facts.table_bytes);
    PyObject *sum = table != NULL ? PyNumber_Add(size, table) : NULL;
    Py_XDECREF(table);
    Py_DECREF(size);
    return sum;
}

static PyObject *filter_enter(PyObject *object, PyObject *none) {
    (void)none;
    if (usable((FilterObject *)object) == NULL) return refuse_use((FilterObject *)object);
    Py_INCREF(object);
    return object;
}

/* ---- the type */

#define FACT(letter) (void *)(uintptr_t)(letter)
static PyGetSetDef filter_facts[] = {
    {"kind", get_fact, NULL, "The kind of filter, one of tamis.KINDS.", FACT('k')},
    {"format", get_fact, NULL, "The format in which it is saved, one of tamis.FORMATS.", FACT('f')},
    {"capacity", get_fact, NULL, "The number of keys it was sized for; 0 if unknown.", FACT('c')},
    {"fpr", get_fact, NULL, "The promised false positive rate; 0.0 if unknown.", FACT('p')},
    {"seed", get_fact, NULL, "The seed of the hash.", FACT('s')},
    {"keyed", get_fact, NULL, "Does it hash with a secret key?", FACT('y')},
    {"nbytes", get_fact, NULL, "The number of bytes that to_bytes() returns.", FACT('n')},
    {"name", get_name, NULL, "The path it was opened from, or None.", NULL},
    {"closed", get_closed, NULL, "Was it closed?", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef filter_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FilterObject, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

#define KEYWORDS (METH_VARARGS | METH_KEYWORDS)
#define FAST (METH_FASTCALL | METH_KEYWORDS)
static PyMethodDef filter_methods[] = {
    {"add", filter_add, METH_O, add_doc},
    {"update", METHOD(filter_update), KEYWORDS, update_doc},
    {"remove", filter_remove, METH_O, remove_doc},
    {"discard", filter_discard, METH_O, discard_doc},
    {"count", filter_count, METH_O, count_doc},
    {"hash", filter_hash, METH_O, hash_doc},
    {"contains_many", METHOD(filter_contains_many), FAST, contains_many_doc},
    {"add_many", METHOD(filter_add_many), FAST, add_many_doc},
    {"discard_many", METHOD(filter_discard_many), FAST, discard_many_doc},
    {"hash_many", METHOD(filter_hash_many), FAST, hash_many_doc},
    {"copy", filter_copy, METH_NOARGS, copy_doc},
    {"__copy__", filter_copy, METH_NOARGS, copy_doc},
    {"__deepcopy__", filter_deepcopy, METH_O, copy_doc},
    {"convert", METHOD(filter_convert), KEYWORDS, convert_doc},
    {"open", METHOD(filter_open), KEYWORDS | METH_CLASS, open_doc},
    {"from_bytes", METHOD(filter_from_bytes), KEYWORDS | METH_CLASS, from_bytes_doc},
    {"_restore", filter_restore, METH_VARARGS | METH_CLASS, restore_doc},
    {"save", METHOD(filter_save), KEYWORDS, save_doc},
    {"to_bytes", filter_to_bytes, METH_NOARGS, to_bytes_doc},
    {"__reduce__", filter_reduce, METH_NOARGS, reduce_doc},
    {"verify", filter_verify, METH_NOARGS, verify_doc},
    {"commit", filter_commit, METH_NOARGS, commit_doc},
    {"close", filter_close, METH_NOARGS, close_doc},
    {"__enter__", filter_enter, METH_NOARGS, enter_doc},
    {"__exit__", filter_exit, METH_VARARGS, exit_doc},
    {"__sizeof__", filter_sizeof, METH_NOARGS, sizeof_doc},
    {"info", filter_info, METH_NOARGS, info_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot filter_slots[] = {
    DOC_SLOT(filter_doc),
    FUNCTION_SLOT(Py_tp_new, filter_new),
    FUNCTION_SLOT(Py_tp_init, filter_init),
    FUNCTION_SLOT(Py_tp_dealloc, filter_dealloc),
    FUNCTION_SLOT(Py_tp_repr, filter_repr),
    FUNCTION_SLOT(Py_tp_richcompare, filter_compare),
    FUNCTION_SLOT(Py_tp_hash, PyObject_HashNotImplemented),
    FUNCTION_SLOT(Py_sq_contains, filter_contains),
    FUNCTION_SLOT(Py_sq_length, filter_length),
    FUNCTION_SLOT(Py_nb_or, filter_or),
    FUNCTION_SLOT(Py_nb_and, filter_and),
    FUNCTION_SLOT(Py_nb_inplace_or, filter_ior),
    FUNCTION_SLOT(Py_nb_inplace_and, filter_iand),
    FUNCTION_SLOT(Py_bf_getbuffer, filter_get_buffer),
    FUNCTION_SLOT(Py_bf_releasebuffer, filter_release_buffer),
    TABLE_SLOT(Py_tp_methods, filter_methods),
    TABLE_SLOT(Py_tp_members, filter_members),
    TABLE_SLOT(Py_tp_getset, filter_facts),
    {0, NULL},
};

static PyType_Spec filter_spec = {
    .name = "tamis.Filter",
    .basicsize = sizeof(FilterObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = filter_slots,
};

int filter_add_type(PyObject *module, struct state *state) {
    state->filter_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &filter_spec, NULL);
    return state->filter_type == NULL ? -1 : PyModule_AddType(module, state->filter_type);
}
