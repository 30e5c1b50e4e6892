/* files.c - Filter: opening, saving, bytes, pickles, changes of a file in place */
#include "module.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* ---- opening */

struct opening {
    tamis_open_options options;
    PyObject *path; /* bytes */
    PyObject *name; /* as str */
    PyObject *keep;
    double wait; /* seconds */
};

static void opening_end(struct opening *opening) {
    Py_CLEAR(opening->path);
    Py_CLEAR(opening->name);
    Py_CLEAR(opening->keep);
}

static bool take_verify(const char *word, tamis_verification *verify) {
    static const struct {
        const char *word;
        tamis_verification verify;
    } words[] = {{"touched", TAMIS_VERIFY_TOUCHED},
                 {"all", TAMIS_VERIFY_ALL},
                 {"later", TAMIS_VERIFY_LATER}};
    if (word == NULL) return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i].word) == 0) {
            *verify = words[i].verify;
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError, "verify is 'touched', 'all' or 'later', not '%s'", word);
    return false;
}

static bool take_wait(PyObject *given, double *wait) {
    *wait = TAMIS_WAIT_MS / 1000.0;
    if (given == Py_None) return true;
    *wait = PyFloat_AsDouble(given);
    if (*wait == -1.0 && PyErr_Occurred() != NULL) return false;
    if (*wait >= 0 && *wait <= 1e9) return true;
    PyErr_SetString(PyExc_ValueError, "wait is a number of seconds, from 0 to 1e9");
    return false;
}

static bool opening_begin(const struct state *state, struct opening *opening, PyObject *arguments,
                          PyObject *keywords) {
    static char *names[] = {"path", "format", "part", "secret",  "update", "shared",
                            "map",  "verify", "wait", "threads", NULL};
    PyObject *path, *secret = Py_None, *wait = Py_None, *threads = NULL;
    uint64_t count = 1;
    const char *verify = NULL;
    int update = 0, shared = 0, map = 1;
    tamis_open_options *how = &opening->options;
    *opening = (struct opening){.options = TAMIS_OPEN_INIT};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$zzOpppzOO:open", names, &path,
                                     &how->format, &how->part, &secret, &update, &shared, &map,
                                     &verify, &wait, &threads)) {
        return false;
    }
    how->update = update != 0;
    how->shared = shared != 0;
    how->map = map && !shared && !update; /* a mapped filter is read-only */
    if (!options_format(state, how->format) ||
        (threads != NULL && !options_unsigned(threads, "threads", THREADS_LIMIT, &count))) {
        return false;
    }
    how->threads = (uint32_t)count;
    opening->keep = PyList_New(0);
    if (opening->keep != NULL && take_verify(verify, &how->verify) &&
        options_secret(secret, opening->keep, &how->secret) && take_wait(wait, &opening->wait) &&
        PyUnicode_FSConverter(path, &opening->path) && PyUnicode_FSDecoder(path, &opening->name)) {
        return true;
    }
    opening_end(opening);
    return false;
}

/* Calls the library once. */
static tamis_status open_once(struct opening *opening, tamis_filter **filter,
                              tamis_container **container, int *error) {
    const char *path = PyBytes_AsString(opening->path);
    tamis_open_options *how = &opening->options;
    tamis_status status;
    Py_BEGIN_ALLOW_THREADS
    status = container != NULL ? tamis_open_any(path, how, filter, container)
                               : tamis_open(path, how, filter);
    *error = errno;
    Py_END_ALLOW_THREADS
    return status;
}

/* Waits for a lock in steps, so that a signal can interrupt it. */
static tamis_status open_waiting(struct opening *opening, tamis_filter **filter,
                                 tamis_container **container) {
    const double step = 0.1;
    tamis_status status;
    int error;
    do {
        const double now = opening->wait < step ? opening->wait : step;
        opening->wait -= now;
        opening->options.wait_ms = now > 0 ? (int64_t)ceil(now * 1000) : -1;
        status = open_once(opening, filter, container, &error);
    } while (status == TAMIS_E_BUSY && opening->wait > 0 && PyErr_CheckSignals() == 0);
    errno = error;
    return status;
}

bool path_is_regular(const struct state *state, PyObject *path, PyObject *name, const char *cure) {
    struct stat file;
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = stat(PyBytes_AsString(path), &file);
    Py_END_ALLOW_THREADS
    if (failed != 0 || S_ISREG(file.st_mode)) return true;
    if (S_ISDIR(file.st_mode)) {
        errno = EISDIR;
        return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, name) != NULL;
    }
    return raise_text(state, TAMIS_E_ARGUMENT,
                      PyUnicode_FromFormat("%S: not a regular file; %s", name, cure)) != NULL;
}

static bool open_path(struct state *state, struct opening *opening, tamis_filter **filter,
                      tamis_container **container) {
    if (!path_is_regular(state, opening->path, opening->name, READ_CURE)) return false;
    const tamis_status status = open_waiting(opening, filter, container);
    if (status != TAMIS_OK && PyErr_Occurred() == NULL) {
        raise_status(state, status, opening->name);
    }
    return status == TAMIS_OK;
}

/* Takes the filter that was opened. */
static PyObject *wrap_opened(PyTypeObject *type, struct state *state, struct opening *opening,
                             tamis_filter *filter) {
    const tamis_open_options *how = &opening->options;
    FilterObject *self = (FilterObject *)filter_wrap(type, state, filter, opening->name);
    if (self == NULL) return NULL;
    self->updating = how->update;
    self->shared = how->shared;
    self->lazy = how->update || (how->map && how->verify != TAMIS_VERIFY_ALL);
    return (PyObject *)self;
}

PyObject *filter_open(PyObject *type, PyObject *arguments, PyObject *keywords) {
    struct state *state = state_of_type((PyTypeObject *)type);
    struct opening opening;
    tamis_filter *filter;
    PyObject *opened = NULL;
    if (state == NULL || !opening_begin(state, &opening, arguments, keywords)) return NULL;
    if (open_path(state, &opening, &filter, NULL)) {
        opened = wrap_opened((PyTypeObject *)type, state, &opening, filter);
    }
    opening_end(&opening);
    return opened;
}

PyObject *module_open(PyObject *module, PyObject *arguments, PyObject *keywords) {
    struct state *state = PyModule_GetState(module);
    struct opening opening;
    tamis_filter *filter;
    tamis_container *container;
    PyObject *opened = NULL;
    if (!opening_begin(state, &opening, arguments, keywords)) return NULL;
    if (open_path(state, &opening, &filter, &container)) {
        opened = filter != NULL
                     ? wrap_opened(state->filter_type, state, &opening, filter)
                     : container_wrap(state->container_type, state, container, opening.name);
    }
    opening_end(&opening);
    return opened;
}

/* ---- from bytes */

/* Is it bytes, or a contiguous memoryview of bytes?  A view of anything else may be read-only and
 * still change.  -1: an exception is set. */
static int is_constant(PyObject *data) {
    if (PyBytes_CheckExact(data)) return 1;
    if (!PyMemoryView_Check(data)) return 0;
    PyObject *base = PyObject_GetAttrString(data, "obj");
    PyObject *contiguous = base == NULL ? NULL : PyObject_GetAttrString(data, "c_contiguous");
    const int constant =
        contiguous == NULL ? -1 : PyBytes_CheckExact(base) && contiguous == Py_True;
    Py_XDECREF(contiguous);
    Py_XDECREF(base);
    return constant;
}

PyObject *stable_bytes(PyObject *data) {
    if (PyUnicode_Check(data) || !PyObject_CheckBuffer(data)) {
        PyErr_SetString(PyExc_TypeError,
                        "a filter is read from bytes or another bytes-like object");
        return NULL;
    }
    const int constant = is_constant(data);
    if (constant < 0) return NULL;
    if (!constant) return PyBytes_FromObject(data);
    Py_INCREF(data);
    return data;
}

static PyObject *decode(PyTypeObject *type, struct state *state, PyObject *data,
                        const tamis_open_options *how) {
    tamis_filter *filter;
    tamis_status status;
    int error;
    Py_buffer view;
    PyObject *bytes = stable_bytes(data);
    if (bytes == NULL) return NULL;
    if (PyObject_GetBuffer(bytes, &view, PyBUF_SIMPLE) < 0) {
        Py_DECREF(bytes);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = tamis_decode(view.buf, (size_t)view.len, how, &filter);
    error = errno;
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    Py_DECREF(bytes);
    errno = error;
    if (status != TAMIS_OK) return raise_status(state, status, NULL);
    FilterObject *self = (FilterObject *)filter_wrap(type, state, filter, NULL);
    if (self != NULL) self->shared = how->shared;
    return (PyObject *)self;
}

PyObject *filter_from_bytes(PyObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"data", "format", "part", "secret", "shared", NULL};
    struct state *state = state_of_type((PyTypeObject *)type);
    tamis_open_options how = TAMIS_OPEN_INIT;
    PyObject *data, *secret = Py_None, *decoded = NULL;
    int shared = 0;
    if (state == NULL ||
        !PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$zzOp:from_bytes", names, &data,
                                     &how.format, &how.part, &secret, &shared) ||
        !options_format(state, how.format)) {
        return NULL;
    }
    how.shared = shared != 0;
    PyObject *keep = PyList_New(0);
    if (keep != NULL && options_secret(secret, keep, &how.secret)) {
        decoded = decode((PyTypeObject *)type, state, data, &how);
    }
    Py_XDECREF(keep);
    return decoded;
}

/* Filter._restore(data, format): of a pickle, which has the .tamis format, since not every other
 * format can be read without parameters. */
PyObject *filter_restore(PyObject *type, PyObject *arguments) {
    struct state *state = state_of_type((PyTypeObject *)type);
    const tamis_open_options how = TAMIS_OPEN_INIT;
    const char *format;
    PyObject *data;
    if (state == NULL || !PyArg_ParseTuple(arguments, "Os:_restore", &data, &format)) return NULL;
    PyObject *restored = decode((PyTypeObject *)type, state, data, &how);
    if (restored != NULL && !filter_reformat((FilterObject *)restored, format)) {
        Py_CLEAR(restored);
    }
    return restored;
}

/* ---- to bytes and files */

/* Encodes into new bytes, which the garbage collector does not track; with errno. */
static tamis_status encode(const tamis_filter *filter, PyObject **bytes) {
    const uint64_t size = tamis_encoded_size(filter);
    if (size > (uint64_t)PY_SSIZE_T_MAX) return TAMIS_E_TOO_BIG;
    *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (*bytes == NULL) return TAMIS_E_NOMEM;
    char *const buffer = PyBytes_AsString(*bytes);
    tamis_status status;
    int error;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_encode(filter, buffer, (size_t)size, NULL);
    error = errno;
    Py_END_ALLOW_THREADS
    errno = error;
    return status;
}

/* Shared filters accept adds under read access, and must not while they are encoded. */
const tamis_filter *filter_freeze(FilterObject *self) {
    return self->shared ? filter_write(self) : filter_read(self);
}

const tamis_filter *filter_try_freeze(FilterObject *self) {
    if (!(self->shared ? access_try_write : access_try_read)(&self->access)) return NULL;
    if (self->filter != NULL && atomic_load(&self->damage) == 0) return self->filter;
    filter_thaw(self);
    return NULL;
}

void filter_thaw(FilterObject *self) {
    if (self->shared) {
        filter_write_end(self);
    } else {
        filter_read_end(self);
    }
}

PyObject *filter_to_bytes(PyObject *object, PyObject *none) {
    (void)none;
    FilterObject *self = (FilterObject *)object;
    PyObject *bytes = NULL;
    const tamis_filter *filter = filter_freeze(self);
    if (filter == NULL) return NULL;
    const tamis_status status = encode(filter, &bytes);
    const int error = errno;
    filter_thaw(self);
    if (status == TAMIS_OK) return bytes;
    Py_XDECREF(bytes);
    errno = error;
    return raise_status(self->state, status, self->name);
}

static bool save(FilterObject *self, const char *path, bool replace, PyObject *name) {
    tamis_status status;
    int error;
    const tamis_filter *filter = filter_freeze(self);
    if (filter == NULL) return false;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_save(filter, path, replace);
    error = errno;
    Py_END_ALLOW_THREADS
    filter_thaw(self);
    errno = error;
    if (status != TAMIS_OK) raise_status(self->state, status, name);
    return status == TAMIS_OK;
}

PyObject *filter_save(PyObject *object, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"path", "replace", NULL};
    PyObject *path, *bytes = NULL, *name = NULL;
    int replace = 1;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$p:save", names, &path, &replace)) {
        return NULL;
    }
    FilterObject *self = (FilterObject *)object;
    const bool saved =
        PyUnicode_FSConverter(path, &bytes) && PyUnicode_FSDecoder(path, &name) &&
        (!replace || path_is_regular(self->state, bytes, name, "write to_bytes() to it")) &&
        save(self, PyBytes_AsString(bytes), replace != 0, name);
    Py_XDECREF(bytes);
    Py_XDECREF(name);
    if (!saved) return NULL;
    Py_RETURN_NONE;
}

static PyObject *encode_as_tamis(PyObject *self, PyObject *format) {
    if (PyUnicode_CompareWithASCIIString(format, "tamis") == 0) return filter_to_bytes(self, NULL);
    FilterObject *copied = (FilterObject *)filter_copy(self, NULL);
    PyObject *bytes = NULL;
    if (copied != NULL && filter_reformat(copied, "tamis")) {
        bytes = filter_to_bytes((PyObject *)copied, NULL);
    }
    Py_XDECREF((PyObject *)copied);
    return bytes;
}

PyObject *filter_reduce(PyObject *object, PyObject *none) {
    (void)none;
    FilterObject *self = (FilterObject *)object;
    if (self->keyed) {
        PyErr_SetString(PyExc_TypeError,
                        "a keyed filter is not pickled, because its secret key would be: send "
                        "to_bytes(), and open it with Filter.from_bytes(data, secret=...)");
        return NULL;
    }
    PyObject *restore = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "_restore");
    PyObject *format = PyObject_GetAttrString(object, "format");
    PyObject *bytes = format != NULL ? encode_as_tamis(object, format) : NULL;
    PyObject *state = bytes != NULL ? filter_state(object) : NULL;
    PyObject *reduced = NULL;
    if (state != NULL && restore != NULL) {
        reduced = state == Py_None ? Py_BuildValue("O(OO)", restore, bytes, format)
                                   : Py_BuildValue("O(OO)O", restore, bytes, format, state);
    }
    Py_XDECREF(state);
    Py_XDECREF(bytes);
    Py_XDECREF(restore);
    Py_XDECREF(format);
    return reduced;
}

/* ---- the buffer protocol: the encoded filter */

/* Where it already is, or a copy, which `view->internal` holds. */
int filter_get_buffer(PyObject *object, Py_buffer *view, int flags) {
    FilterObject *self = (FilterObject *)object;
    size_t length = 0;
    PyObject *copy = NULL;
    view->obj = NULL;
    const tamis_filter *filter = filter_read(self);
    if (filter == NULL) return -1;
    const void *bytes = tamis_encoded(filter, &length);
    if (bytes != NULL) atomic_fetch_add(&self->exports, 1);
    filter_read_end(self);
    if (bytes == NULL) {
        copy = filter_to_bytes(object, NULL);
        if (copy == NULL) return -1;
        bytes = PyBytes_AsString(copy);
        length = (size_t)PyBytes_Size(copy);
    }
    const int filled =
        PyBuffer_FillInfo(view, object, (void *)(uintptr_t)bytes, (Py_ssize_t)length, 1, flags);
    view->internal = copy;
    if (filled < 0) filter_release_buffer(object, view);
    return filled;
}

void filter_release_buffer(PyObject *object, Py_buffer *view) {
    if (view->internal == NULL) {
        atomic_fetch_sub(&((FilterObject *)object)->exports, 1);
    } else {
        Py_DECREF((PyObject *)view->internal);
        view->internal = NULL;
    }
}

/* ---- verifying, committing, closing */

PyObject *filter_verify(PyObject *object, PyObject *none) {
    (void)none;
    FilterObject *self = (FilterObject *)object;
    const tamis_filter *filter = filter_read(self);
    if (filter == NULL) return NULL;
    const tamis_status status = filter_check(self, filter);
    const int error = errno;
    filter_read_end(self);
    errno = error;
    if (status != TAMIS_OK) return raise_status(self->state, status, self->name);
    Py_RETURN_NONE;
}

PyObject *filter_commit(PyObject *object, PyObject *none) {
    (void)none;
    FilterObject *self = (FilterObject *)object;
    uint64_t written = 0;
    tamis_status status;
    int error;
    if (!self->updating) {
        PyErr_SetString(PyExc_ValueError, "the filter was not opened with update=True");
        return NULL;
    }
    tamis_filter *filter = filter_write(self);
    if (filter == NULL) return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_commit(filter, &written);
    error = errno;
    /* After any other status the file is the old one, and the changes are still in the filter. */
    if (status == TAMIS_OK || status == TAMIS_E_CHANGED) filter_drop(self);
    Py_END_ALLOW_THREADS
    filter_write_end(self);
    errno = error;
    if (status != TAMIS_OK) return raise_status(self->state, status, self->name);
    return PyLong_FromUnsignedLongLong(written);
}

PyObject *filter_close(PyObject *object, PyObject *none) {
    (void)none;
    FilterObject *self = (FilterObject *)object;
    if (!access_write(&self->access)) return NULL;
    const bool closed = atomic_load(&self->exports) == 0;
    if (closed) filter_drop(self);
    access_write_end(&self->access);
    if (closed) Py_RETURN_NONE;
    PyErr_SetString(PyExc_BufferError, "a memoryview of the filter exists: release it first");
    return NULL;
}

PyObject *filter_exit(PyObject *object, PyObject *arguments) {
    FilterObject *self = (FilterObject *)object;
    PyObject *error, *value, *traceback;
    if (!PyArg_ParseTuple(arguments, "OOO:__exit__", &error, &value, &traceback)) return NULL;
    if (self->updating && self->filter != NULL && error == Py_None) {
        PyObject *written = filter_commit(object, NULL);
        if (written == NULL) return NULL;
        Py_DECREF(written);
    }
    return filter_close(object, NULL);
}
