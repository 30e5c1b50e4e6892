/* builder.c - Builder and build(): a filter from keys that come one by one or in batches */
#include "module.h"

#include <errno.h>
#include <stddef.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    struct state *state;
    tamis_builder *builder; /* valid while `users` is not negative */
    struct users users;
    atomic_bool finished; /* closed by finish() */
    bool spills;          /* an add may write to disk */
    unsigned threads;
    struct key_rule rule;
    _Atomic(tamis_composer *) composer; /* for tuples; NULL: none yet, or in use */
    PyObject *progress;                 /* NULL: none */
    PyObject *weakrefs;
} BuilderObject;

/* ---- who uses it */

static void *raise_closed(const BuilderObject *self) {
    PyErr_SetString(PyExc_ValueError,
                    self->finished ? "the builder is finished" : "the builder is closed");
    return NULL;
}

/* false: an exception is set. */
static bool builder_enter(BuilderObject *self) {
    return users_enter(&self->users) || raise_closed(self) != NULL;
}

/* The builder, which nothing uses from now on.  NULL: it is closed already, or an exception is
 * set. */
static tamis_builder *builder_take(BuilderObject *self) {
    const int users = users_close(&self->users);
    if (users == 0) return self->builder;
    if (users > 0) {
        PyErr_SetString(PyExc_RuntimeError, "the builder is in use: keys are being added");
    }
    return NULL;
}

/* ---- making one */

static bool take_progress(BuilderObject *self, PyObject *arguments) {
    bool failed = false;
    PyObject *given = options_take_object(arguments, "progress", &failed);
    if (given == Py_None) Py_CLEAR(given);
    if (given == NULL) return !failed;
    if (!PyCallable_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "progress must be a function of the number of keys");
        Py_DECREF(given);
        return false;
    }
    Py_XDECREF(self->progress);
    self->progress = given;
    return true;
}

/* A path, kept alive by `keep`. */
static bool take_temporary(PyObject *arguments, PyObject *keep, const char **path) {
    bool failed = false;
    PyObject *given = options_take_object(arguments, "temporary", &failed), *bytes = NULL;
    if (given == NULL) return !failed;
    bool taken = given == Py_None;
    if (!taken && PyUnicode_FSConverter(given, &bytes)) {
        *path = PyBytes_AsString(bytes);
        taken = PyList_Append(keep, bytes) == 0;
        Py_DECREF(bytes);
    }
    Py_DECREF(given);
    return taken;
}

/* The options that only a builder has. */
static bool take_own(BuilderObject *self, const char *function, PyObject *arguments, PyObject *keep,
                     tamis_options *options) {
    uint64_t threads = 1, arity = 0;
    if (!options_take_unsigned(arguments, "threads", THREADS_LIMIT, &threads) ||
        !options_take_unsigned(arguments, "arity", UINT32_MAX, &arity) ||
        !options_take_unsigned(arguments, "memory", UINT64_MAX, &options->memory) ||
        !options_take_flag(arguments, "check", &options->check) ||
        !take_temporary(arguments, keep, &options->temporary) || !take_progress(self, arguments) ||
        !options_end(function, arguments)) {
        return false;
    }
    options->threads = self->threads = (unsigned)threads;
    options->arity = (uint32_t)arity;
    return options_check(self->state, options);
}

static bool builder_open(BuilderObject *self, const tamis_options *options) {
    tamis_status status;
    int error;
    self->rule = key_rule_of_options(options);
    self->spills = options->memory != 0;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_builder_create(options, &self->builder);
    error = errno;
    Py_END_ALLOW_THREADS
    errno = error;
    return status == TAMIS_OK || options_raise(self->state, status, options) != NULL;
}

/* A builder that is closed until it has options. */
static BuilderObject *allocate(PyTypeObject *type, struct state *state) {
    BuilderObject *self = (BuilderObject *)PyType_GenericAlloc(type, 0);
    if (self == NULL) return NULL;
    self->state = state;
    atomic_store(&self->users.count, -1);
    return self;
}

/* Opens it with the options in `arguments`, from which they are taken. */
static bool builder_begin(BuilderObject *self, const char *function, PyObject *arguments) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    PyObject *keep = NULL;
    if (self->builder != NULL) {
        PyErr_SetString(PyExc_TypeError, "the builder exists already");
        return false;
    }
    const bool begun = options_take(self->state, arguments, &options, &keep) &&
                       take_own(self, function, arguments, keep, &options) &&
                       builder_open(self, &options);
    if (begun) atomic_store(&self->users.count, 0);
    Py_XDECREF(keep);
    return begun;
}

static PyObject *builder_new(PyTypeObject *type, PyObject *positional, PyObject *keywords) {
    (void)positional;
    (void)keywords;
    struct state *state = state_of_type(type);
    return state != NULL ? (PyObject *)allocate(type, state) : NULL;
}

static int builder_init(PyObject *object, PyObject *positional, PyObject *keywords) {
    static const char *const names[] = {"capacity", "fpr", "kind", NULL};
    PyObject *arguments = options_gather("Builder", positional, keywords, names);
    const bool begun =
        arguments != NULL && builder_begin((BuilderObject *)object, "Builder", arguments);
    Py_XDECREF(arguments);
    return begun ? 0 : -1;
}

static int builder_traverse(PyObject *object, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((BuilderObject *)object)->progress);
    return 0;
}

static int builder_clear(PyObject *object) {
    Py_CLEAR(((BuilderObject *)object)->progress);
    return 0;
}

static void builder_dealloc(PyObject *object) {
    BuilderObject *self = (BuilderObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (self->weakrefs != NULL) PyObject_ClearWeakRefs(object);
    (void)builder_clear(object);
    tamis_composer_free(atomic_load(&self->composer));
    if (users_close(&self->users) == 0) tamis_builder_free(self->builder);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- adding */

/* The hash of a tuple.  Threads that add tuples at once use composers of their own, of which one is
 * kept. */
static bool compose(BuilderObject *self, PyObject *tuple, uint64_t *hash) {
    tamis_composer *composer = atomic_exchange(&self->composer, NULL);
    if (composer == NULL) {
        const tamis_status status = tamis_builder_composer(self->builder, &composer);
        if (status != TAMIS_OK) return raise_status(self->state, status, NULL) != NULL;
    }
    const bool composed = compose_key(composer, tuple, hash);
    tamis_composer_free(atomic_exchange(&self->composer, composer));
    return composed;
}

static tamis_status add_key(BuilderObject *self, const struct key *key) {
    return key->is_hash ? tamis_builder_add_hash(self->builder, key->hash)
                        : tamis_builder_add(self->builder, key->bytes, key->length);
}

/* Releasing the GIL would take longer than most adds. */
static tamis_status add_or_spill(BuilderObject *self, const struct key *key) {
    tamis_status status;
    int error;
    if (!self->spills) return add_key(self, key);
    Py_BEGIN_ALLOW_THREADS
    status = add_key(self, key);
    error = errno;
    Py_END_ALLOW_THREADS
    errno = error;
    return status;
}

static bool add_object(BuilderObject *self, PyObject *object) {
    struct key key;
    if (!key_of_object(&self->rule, object, &key)) return false;
    bool added = !key.is_tuple || compose(self, object, &key.hash);
    if (added) {
        const tamis_status status = add_or_spill(self, &key);
        added = status == TAMIS_OK || raise_status(self->state, status, NULL) != NULL;
    }
    key_release(&key);
    return added;
}

PyDoc_STRVAR(add_doc,
             "add($self, key, /)\n--\n\n"
             "Adds a key.\n\n"
             ">>> builder = tamis.Builder()\n"
             ">>> builder.add('apple')\n"
             ">>> builder.add(('GET', 404))\n"
             ">>> len(builder)\n"
             "2\n");

static PyObject *builder_add(PyObject *object, PyObject *key) {
    BuilderObject *self = (BuilderObject *)object;
    if (!builder_enter(self)) return NULL;
    const bool added = add_object(self, key);
    users_leave(&self->users);
    if (!added) return NULL;
    Py_RETURN_NONE;
}

/* Calls the progress function, if there is one.  false: it raised. */
static bool report(const BuilderObject *self, uint64_t keys) {
    if (self->progress == NULL) return true;
    PyObject *result = PyObject_CallFunction(self->progress, "K", (unsigned long long)keys);
    Py_XDECREF(result);
    return result != NULL;
}

static bool report_batch(void *context) {
    const BuilderObject *self = context;
    return report(self, tamis_builder_count(self->builder));
}

static bool add_many(BuilderObject *self, PyObject *keys, bool hashed) {
    return batch_build(self->state, self->builder, &self->rule, keys, hashed, self->threads,
                       report_batch, self);
}

PyDoc_STRVAR(update_doc,
             "update($self, /, *keys, hashed=False)\n--\n\n"
             "Adds all keys of lists, other iterables, NumPy arrays, Arrow arrays or streams.\n\n"
             "With `hashed` they are 64-bit hashes, as Filter.hash_many() returns them.  If this\n"
             "raises, keys before the one that is wrong may have been added.\n\n"
             ">>> builder = tamis.Builder()\n"
             ">>> builder.update(['apple', 'pear'], range(100))\n"
             ">>> len(builder)\n"
             "102\n");

static PyObject *builder_update(PyObject *object, PyObject *positional, PyObject *keywords) {
    BuilderObject *self = (BuilderObject *)object;
    const Py_ssize_t count = PyTuple_Size(positional);
    bool hashed = false;
    PyObject *arguments = keywords != NULL ? PyDict_Copy(keywords) : PyDict_New();
    bool added = arguments != NULL && options_take_flag(arguments, "hashed", &hashed) &&
                 options_end("update", arguments);
    Py_XDECREF(arguments);
    if (!added || !builder_enter(self)) return NULL;
    for (Py_ssize_t i = 0; added && i < count; i++) {
        added = add_many(self, PyTuple_GetItem(positional, i), hashed);
    }
    users_leave(&self->users);
    if (!added) return NULL;
    Py_RETURN_NONE;
}

/* ---- the filter */

static PyObject *finish(BuilderObject *self) {
    tamis_filter *filter;
    tamis_status status;
    uint64_t keys;
    int error;
    tamis_builder *builder = builder_take(self);
    if (builder == NULL) return PyErr_Occurred() != NULL ? NULL : raise_closed(self);
    self->finished = true;
    Py_BEGIN_ALLOW_THREADS
    keys = tamis_builder_count(builder);
    status = tamis_builder_finish(builder, &filter);
    error = errno;
    tamis_builder_free(builder);
    Py_END_ALLOW_THREADS
    errno = error;
    if (status != TAMIS_OK) return raise_status(self->state, status, NULL);
    if (!report(self, keys)) {
        tamis_free(filter);
        return NULL;
    }
    return filter_wrap(self->state->filter_type, self->state, filter, NULL);
}

PyDoc_STRVAR(finish_doc,
             "finish($self, /)\n--\n\n"
             "Builds the filter and returns it.  The builder cannot be used afterwards.\n\n"
             ">>> builder = tamis.Builder(kind='fuse')\n"
             ">>> builder.update(['apple', 'pear'])\n"
             ">>> fruit = builder.finish()\n"
             ">>> 'pear' in fruit\n"
             "True\n"
             ">>> builder.add('plum')\n"
             "Traceback (most recent call last):\n"
             "    ...\n"
             "ValueError: the builder is finished\n");

static PyObject *builder_finish(PyObject *object, PyObject *ignored) {
    (void)ignored;
    return finish((BuilderObject *)object);
}

PyDoc_STRVAR(close_doc,
             "close($self, /)\n--\n\n"
             "Frees the keys without building a filter.\n\n"
             "The end of a with block does this, too.\n");

static PyObject *builder_close(PyObject *object, PyObject *ignored) {
    (void)ignored;
    tamis_builder *builder = builder_take((BuilderObject *)object);
    if (builder == NULL && PyErr_Occurred() != NULL) return NULL;
    Py_BEGIN_ALLOW_THREADS
    tamis_builder_free(builder);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static Py_ssize_t builder_length(PyObject *object) {
    BuilderObject *self = (BuilderObject *)object;
    if (!builder_enter(self)) return -1;
    const uint64_t keys = tamis_builder_count(self->builder);
    users_leave(&self->users);
    return (Py_ssize_t)keys;
}

static PyObject *builder_repr(PyObject *object) {
    BuilderObject *self = (BuilderObject *)object;
    if (!users_enter(&self->users)) {
        return PyUnicode_FromString(self->finished ? "<tamis.Builder finished>"
                                                   : "<tamis.Builder closed>");
    }
    const unsigned long long keys = tamis_builder_count(self->builder);
    users_leave(&self->users);
    return PyUnicode_FromFormat("<tamis.Builder keys=%llu>", keys);
}

static PyObject *builder_with(PyObject *object, PyObject *ignored) {
    BuilderObject *self = (BuilderObject *)object;
    (void)ignored;
    if (!builder_enter(self)) return NULL;
    users_leave(&self->users);
    Py_INCREF(object);
    return object;
}

static PyObject *get_closed(PyObject *object, void *ignored) {
    (void)ignored;
    return PyBool_FromLong(atomic_load(&((BuilderObject *)object)->users.count) < 0);
}

PyDoc_STRVAR(enter_doc,
             "__enter__($self, /)\n--\n\n"
             "Returns the builder.\n");
PyDoc_STRVAR(exit_doc,
             "__exit__($self, kind, error, traceback, /)\n--\n\n"
             "Closes the builder.\n");

static PyGetSetDef properties[] = {
    {"closed", get_closed, NULL, "Has finish() or close() been called?", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(BuilderObject, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyMethodDef methods[] = {
    {"add", builder_add, METH_O, add_doc},
    {"update", METHOD(builder_update), METH_VARARGS | METH_KEYWORDS, update_doc},
    {"finish", builder_finish, METH_NOARGS, finish_doc},
    {"close", builder_close, METH_NOARGS, close_doc},
    {"__enter__", builder_with, METH_NOARGS, enter_doc},
    {"__exit__", builder_close, METH_VARARGS, exit_doc},
    {NULL, NULL, 0, NULL}};

PyDoc_STRVAR(
    builder_doc,
    "Builder(capacity=0, fpr=None, kind=None, *, needs=(), bytes=0, bits=0, hashes=0,\n"
    "        arity=0, stage=None, seed=0, secret=None, prehashed=False, key_type='bytes',\n"
    "        fold_case=False, format=None, check=False, threads=1, memory=0,\n"
    "        temporary=None, progress=None)\n--\n\n"
    "Collects keys and builds a filter of any kind from them.\n\n"
    "The number of keys need not be known, and duplicates are allowed.  Without a kind and\n"
    "needs, the filter is of a static kind, the smallest: it accepts no further keys.\n"
    "Several threads may add at once. Options that Filter does not have:\n\n"
    "arity      kind='fuse': 3 or 4 slots per key\n"
    "check      query every key before the filter is returned, which detects faulty\n"
    "           memory\n"
    "threads    maximum number of threads that hash and build; 0 and 1: only the caller's\n"
    "memory     limit in bytes; beyond it, keys are kept in a temporary file\n"
    "temporary  the directory of that file\n"
    "progress   a function that is called with the number of keys added so far, between\n"
    "           batches and at the end of finish(); an exception stops the build\n\n"
    ">>> with tamis.Builder(fpr=0.001, kind=\"fuse\") as builder:\n"
    "...     builder.update([\"ada\", \"grace\"])\n"
    "...     builder.add(\"alan\")\n"
    "...     names = builder.finish()\n"
    ">>> \"ada\" in names\n"
    "True\n"
    ">>> len(names)\n"
    "3\n");

static PyType_Slot slots[] = {
    DOC_SLOT(builder_doc),
    FUNCTION_SLOT(Py_tp_new, builder_new),
    FUNCTION_SLOT(Py_tp_init, builder_init),
    FUNCTION_SLOT(Py_tp_traverse, builder_traverse),
    FUNCTION_SLOT(Py_tp_clear, builder_clear),
    FUNCTION_SLOT(Py_tp_dealloc, builder_dealloc),
    TABLE_SLOT(Py_tp_methods, methods),
    TABLE_SLOT(Py_tp_members, members),
    TABLE_SLOT(Py_tp_getset, properties),
    FUNCTION_SLOT(Py_tp_repr, builder_repr),
    FUNCTION_SLOT(Py_sq_length, builder_length),
    {0, NULL},
};

static PyType_Spec spec = {.name = "tamis.Builder",
                           .basicsize = sizeof(BuilderObject),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                           .slots = slots};

int builder_add_type(PyObject *module, struct state *state) {
    state->builder_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->builder_type == NULL ? -1 : PyModule_AddType(module, state->builder_type);
}

/* ---- build() */

static PyObject *build_from(struct state *state, PyObject *keys, PyObject *arguments) {
    bool hashed = false;
    PyObject *filter = NULL;
    if (!options_take_flag(arguments, "hashed", &hashed)) return NULL;
    BuilderObject *self = allocate(state->builder_type, state);
    if (self != NULL && builder_begin(self, "build", arguments) && add_many(self, keys, hashed)) {
        filter = finish(self);
    }
    Py_XDECREF((PyObject *)self);
    return filter;
}

const char module_build_doc[] = PyDoc_STR(
    "build($module, /, keys, fpr=None, kind=None, *, capacity=0, needs=(), bytes=0, bits=0, "
    "hashes=0, "
    "arity=0,\n"
    "      stage=None, seed=0, secret=None, prehashed=False, key_type='bytes', fold_case=False,\n"
    "      format=None, check=False, threads=1, memory=0, temporary=None, progress=None,\n"
    "      hashed=False)\n--\n\n"
    "Builds a filter from keys: a list or other iterable, a NumPy or Arrow array.\n\n"
    "Without a kind and needs, the filter is of a static kind, the smallest: it accepts no "
    "further\n"
    "keys. It is sized for the number of distinct keys.  With `hashed` the keys are 64-bit "
    "hashes.\n"
    "The other options are those of Filter and Builder.\n\n"
    ">>> fruit = tamis.build(['apple', 'pear'], fpr=0.001)\n"
    ">>> 'apple' in fruit, 'plum' in fruit\n"
    "(True, False)\n"
    ">>> tamis.build(['apple'], format='guava').format\n"
    "'guava'\n");

PyObject *module_build(PyObject *module, PyObject *positional, PyObject *keywords) {
    static const char *const names[] = {"keys", "fpr", "kind", NULL};
    bool failed = false;
    PyObject *filter = NULL;
    PyObject *arguments = options_gather("build", positional, keywords, names);
    if (arguments == NULL) return NULL;
    PyObject *keys = options_take_object(arguments, "keys", &failed);
    if (keys != NULL) {
        filter = build_from(PyModule_GetState(module), keys, arguments);
        Py_DECREF(keys);
    } else if (!failed) {
        PyErr_SetString(PyExc_TypeError, "build() missing required argument: 'keys'");
    }
    Py_DECREF(arguments);
    return filter;
}
