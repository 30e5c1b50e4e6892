/* container.c - Container: a file that holds several filters */
#include "module.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    struct state *state;
    tamis_container *container; /* valid while `users` is not negative */
    struct users users;
    bool has_view;
    Py_buffer view; /* of the bytes that the container reads */
    PyObject *name; /* the path it was opened from, or NULL */
    PyObject *weakrefs;
} ContainerObject;

/* ---- its life */

/* false: an exception is set. */
static bool container_enter(ContainerObject *self) {
    if (users_enter(&self->users)) return true;
    PyErr_SetString(PyExc_ValueError, "the container is closed");
    return false;
}

static ContainerObject *container_make(PyTypeObject *type, struct state *state, PyObject *name) {
    ContainerObject *self = (ContainerObject *)PyType_GenericAlloc(type, 0); /* all zero */
    if (self == NULL) return NULL;
    self->state = state;
    self->name = name;
    Py_XINCREF(name);
    return self;
}

PyObject *container_wrap(PyTypeObject *type, struct state *state, tamis_container *container,
                         PyObject *name) {
    ContainerObject *self = container_make(type, state, name);
    if (self == NULL) {
        tamis_container_free(container);
        return NULL;
    }
    self->container = container;
    return (PyObject *)self;
}

static void container_drop(ContainerObject *self) {
    tamis_container_free(self->container);
    self->container = NULL;
    if (self->has_view) PyBuffer_Release(&self->view);
    self->has_view = false;
}

static void container_dealloc(PyObject *object) {
    ContainerObject *self = (ContainerObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->weakrefs != NULL) PyObject_ClearWeakRefs(object);
    container_drop(self);
    Py_CLEAR(self->name);
    ((freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *container_new(PyTypeObject *type, PyObject *positional, PyObject *keywords) {
    (void)type;
    (void)positional;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "use Container.open(path) or Container.from_bytes(data)");
    return NULL;
}

PyDoc_STRVAR(close_doc,
             "close($self, /)\n--\n\n"
             "Closes the file.  The end of a with block does this, too.\n");

static PyObject *container_close(PyObject *object, PyObject *ignored) {
    ContainerObject *self = (ContainerObject *)object;
    (void)ignored;
    const int users = users_close(&self->users);
    if (users > 0) {
        PyErr_SetString(PyExc_RuntimeError, "the container is in use: keys are being looked up");
        return NULL;
    }
    if (users == 0) container_drop(self);
    Py_RETURN_NONE;
}

/* ---- opening */

static void *raise_open(const struct state *state, tamis_status status, PyObject *name) {
    static const char sentence[] =
        "not a file that holds several filters (LevelDB or RocksDB table, Parquet): use "
        "Filter.open() or Filter.from_bytes()";
    if (status != TAMIS_E_FORMAT) return raise_status(state, status, name);
    return raise_text(state, status,
                      name != NULL ? PyUnicode_FromFormat("%S: %s", name, sentence)
                                   : PyUnicode_FromString(sentence));
}

static tamis_status open_file(ContainerObject *self, const char *path, const char *format) {
    tamis_open_options options = TAMIS_OPEN_INIT;
    tamis_status status;
    int error;
    options.format = format;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_container_open(path, &options, &self->container);
    error = errno;
    Py_END_ALLOW_THREADS
    errno = error;
    return status;
}

PyDoc_STRVAR(open_doc,
             "open($type, /, path, *, format=None)\n--\n\n"
             "Opens a file: a table of LevelDB or RocksDB, or a Parquet file.\n\n"
             "tamis.open() does the same for a file that may also hold a single filter.\n");

static PyObject *container_open(PyObject *type, PyObject *positional, PyObject *keywords) {
    static char *names[] = {"path", "format", NULL};
    struct state *state = state_of_type((PyTypeObject *)type);
    PyObject *path, *bytes = NULL;
    const char *format = NULL;
    if (!PyArg_ParseTupleAndKeywords(positional, keywords, "O|$z:open", names, &path, &format)) {
        return NULL;
    }
    PyObject *name = NULL;
    ContainerObject *self = NULL;
    if (PyUnicode_FSConverter(path, &bytes) && PyUnicode_FSDecoder(path, &name) &&
        options_format(state, format) && path_is_regular(state, bytes, name, READ_CURE)) {
        self = container_make((PyTypeObject *)type, state, name);
    }
    if (self != NULL) {
        const tamis_status status = open_file(self, PyBytes_AsString(bytes), format);
        if (status != TAMIS_OK) {
            raise_open(state, status, name);
            Py_CLEAR(self);
        }
    }
    Py_XDECREF(bytes);
    Py_XDECREF(name);
    return (PyObject *)self;
}

/* Holds the bytes of `data`, or a copy if they could change.  They refer to no other object, so
 * that the garbage collector need not know of them. */
static bool hold_bytes(ContainerObject *self, PyObject *data) {
    PyObject *bytes = stable_bytes(data);
    self->has_view = bytes != NULL && PyObject_GetBuffer(bytes, &self->view, PyBUF_SIMPLE) == 0;
    Py_XDECREF(bytes);
    return self->has_view;
}

PyDoc_STRVAR(from_bytes_doc,
             "from_bytes($type, /, data, *, format=None)\n--\n\n"
             "Opens the bytes of such a file, without a copy if they cannot change.\n\n"
             ">>> tamis.Container.from_bytes(b'')\n"
             "Traceback (most recent call last):\n"
             "    ...\n"
             "tamis.FormatError: not a file that holds several filters (LevelDB or RocksDB table, "
             "Parquet): use Filter.open() or Filter.from_bytes()\n");

static PyObject *container_from_bytes(PyObject *type, PyObject *positional, PyObject *keywords) {
    static char *names[] = {"data", "format", NULL};
    struct state *state = state_of_type((PyTypeObject *)type);
    tamis_open_options options = TAMIS_OPEN_INIT;
    PyObject *data;
    if (!PyArg_ParseTupleAndKeywords(positional, keywords, "O|$z:from_bytes", names, &data,
                                     &options.format) ||
        !options_format(state, options.format)) {
        return NULL;
    }
    ContainerObject *self = container_make((PyTypeObject *)type, state, NULL);
    if (self == NULL) return NULL;
    if (!hold_bytes(self, data)) {
        Py_DECREF(self);
        return NULL;
    }
    const tamis_status status =
        tamis_container_view(self->view.buf, (size_t)self->view.len, &options, &self->container);
    if (status == TAMIS_OK) return (PyObject *)self;
    raise_open(state, status, NULL);
    Py_DECREF(self);
    return NULL;
}

/* ---- parts */

static tamis_part part_at(const tamis_container *container, size_t index) {
    tamis_part part = TAMIS_PART_INIT;
    (void)tamis_container_part(container, index, &part); /* the index is right */
    return part;
}

/* A name comes from the file, and may not be UTF-8. */
static PyObject *text_of_name(const char *name) {
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "surrogateescape");
}

/* The bytes of a name, a new reference; NULL: an exception is set. */
static PyObject *name_of_text(PyObject *text) {
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "part must be the name of a part, a str");
        return NULL;
    }
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    if (bytes == NULL || strlen(PyBytes_AsString(bytes)) == (size_t)PyBytes_Size(bytes)) {
        return bytes;
    }
    PyErr_SetString(PyExc_ValueError, "the name of a part has no NUL");
    Py_DECREF(bytes);
    return NULL;
}

/* Does the name select the part?  "NAME" selects "GROUP/NAME", as in the library. */
static bool part_is(const tamis_part *part, const char *name) {
    const char *slash = strchr(part->name, '/');
    return strcmp(part->name, name) == 0 || (slash != NULL && strcmp(slash + 1, name) == 0);
}

#define SHOWN_NAMES 5

/* Appends "'0/id'" to "", or ", '0/id'" to more.  Takes `text`; NULL: an exception is set. */
static PyObject *append_name(PyObject *text, const char *part_name) {
    PyObject *longer = NULL, *name = text_of_name(part_name);
    if (name != NULL) {
        const char *comma = PyUnicode_GetLength(text) == 0 ? "" : ", ";
        longer = PyUnicode_FromFormat("%U%s%R", text, comma, name);
    }
    Py_XDECREF(name);
    Py_DECREF(text);
    return longer;
}

/* The first names of parts that have a filter. */
static PyObject *some_names(const tamis_container *container) {
    const size_t count = tamis_container_count(container);
    size_t shown = 0;
    PyObject *text = PyUnicode_FromString("");
    for (size_t i = 0; i < count && shown < SHOWN_NAMES && text != NULL; i++) {
        const tamis_part part = part_at(container, i);
        if (part.bytes == 0) continue;
        text = append_name(text, part.name);
        shown++;
    }
    return text;
}

/* `part` is the name that was given. */
static void *raise_part(const ContainerObject *self, PyObject *part) {
    const char *sentence = tamis_status_text(TAMIS_E_PART);
    PyObject *text = NULL, *names = some_names(self->container);
    if (names != NULL) {
        const bool none = PyUnicode_GetLength(names) == 0;
        text =
            PyUnicode_FromFormat("%s%s%U; not %R", sentence, none ? "" : ", such as ", names, part);
    }
    if (text != NULL && self->name != NULL) {
        PyObject *unnamed = text;
        text = PyUnicode_FromFormat("%S: %U", self->name, unnamed);
        Py_DECREF(unnamed);
    }
    Py_XDECREF(names);
    return raise_text(self->state, TAMIS_E_PART, text);
}

/* Calls the dataclass tamis.Part. */
static PyObject *make_part(PyObject *type, const tamis_part *part, bool has_groups) {
    PyObject *name = text_of_name(part->name);
    if (name == NULL) return NULL;
    PyObject *arguments =
        has_groups
            ? Py_BuildValue("(NsKKK)", name, part->format, (unsigned long long)part->offset,
                            (unsigned long long)part->bytes, (unsigned long long)part->row_group)
            : Py_BuildValue("(NsKK)", name, part->format, (unsigned long long)part->offset,
                            (unsigned long long)part->bytes);
    PyObject *made = arguments != NULL ? PyObject_CallObject(type, arguments) : NULL;
    Py_XDECREF(arguments);
    return made;
}

static PyObject *list_parts(const tamis_container *container, PyObject *type) {
    const size_t count = tamis_container_count(container);
    const bool has_groups = strcmp(tamis_container_format(container), "parquet") == 0;
    PyObject *list = PyList_New(0); /* of complete items: making one runs Python code */
    for (size_t i = 0; i < count && list != NULL; i++) {
        const tamis_part part = part_at(container, i);
        PyObject *made = make_part(type, &part, has_groups);
        if (made == NULL || PyList_Append(list, made) < 0) Py_CLEAR(list);
        Py_XDECREF(made);
    }
    return list;
}

PyDoc_STRVAR(parts_doc,
             "parts($self, /)\n--\n\n"
             "Returns the filters of the file, and the places where there could be one, as a list\n"
             "of tamis.Part.\n");

static PyObject *container_parts(PyObject *object, PyObject *ignored) {
    ContainerObject *self = (ContainerObject *)object;
    PyObject *list = NULL;
    (void)ignored;
    PyObject *module = PyImport_ImportModule("tamis._info");
    PyObject *type = module != NULL ? PyObject_GetAttrString(module, "Part") : NULL;
    if (type != NULL && container_enter(self)) {
        list = list_parts(self->container, type);
        users_leave(&self->users);
    }
    Py_XDECREF(type);
    Py_XDECREF(module);
    return list;
}

static PyObject *container_iterate(PyObject *object) {
    PyObject *list = container_parts(object, NULL);
    PyObject *iterator = list != NULL ? PyObject_GetIter(list) : NULL;
    Py_XDECREF(list);
    return iterator;
}

static Py_ssize_t container_length(PyObject *object) {
    ContainerObject *self = (ContainerObject *)object;
    if (!container_enter(self)) return -1;
    const size_t count = tamis_container_count(self->container);
    users_leave(&self->users);
    return (Py_ssize_t)count;
}

/* ---- the filter of a part */

/* The index of the part that has the name, and a filter if another has it as well. */
static bool index_of_name(const ContainerObject *self, PyObject *text, size_t *index) {
    const size_t count = tamis_container_count(self->container);
    size_t filters = 0, empty = 0;
    PyObject *name = name_of_text(text);
    if (name == NULL) return false;
    for (size_t i = 0; i < count; i++) {
        const tamis_part part = part_at(self->container, i);
        if (!part_is(&part, PyBytes_AsString(name))) continue;
        filters += part.bytes != 0;
        empty += part.bytes == 0;
        if (part.bytes != 0 || filters == 0) *index = i;
    }
    Py_DECREF(name);
    if (filters == 1 || (filters == 0 && empty == 1)) return true;
    return raise_part(self, text) != NULL;
}

static bool index_of_number(const ContainerObject *self, PyObject *number, size_t *index) {
    const Py_ssize_t count = (Py_ssize_t)tamis_container_count(self->container);
    Py_ssize_t at = PyNumber_AsSsize_t(number, PyExc_IndexError);
    if (at == -1 && PyErr_Occurred() != NULL) return false;
    if (at < 0) at += count;
    *index = (size_t)at;
    if (at >= 0 && at < count) return true;
    PyErr_Format(PyExc_IndexError, "the container has %zd parts", count);
    return false;
}

static PyObject *filter_at(ContainerObject *self, size_t index) {
    tamis_filter *filter;
    tamis_status status;
    int error;
    Py_BEGIN_ALLOW_THREADS
    status = tamis_container_filter(self->container, index, &filter);
    error = errno;
    Py_END_ALLOW_THREADS
    errno = error;
    if (status == TAMIS_OK) {
        return filter_wrap(self->state->filter_type, self->state, filter, self->name);
    }
    if (status != TAMIS_E_PART) return raise_status(self->state, status, self->name);
    const tamis_part part = part_at(self->container, index);
    PyObject *name = text_of_name(part.name), *text = NULL;
    if (name != NULL) text = PyUnicode_FromFormat("the part %R has no filter", name);
    Py_XDECREF(name);
    return raise_text(self->state, status, text);
}

PyDoc_STRVAR(
    filter_doc,
    "filter($self, part, /)\n--\n\n"
    "Returns the filter of a part, given by its name or its index, as a copy in memory.\n\n"
    "In a Parquet file the name of a column is enough if the file has one row group.\n");

static PyObject *container_filter(PyObject *object, PyObject *part) {
    ContainerObject *self = (ContainerObject *)object;
    size_t index = 0;
    PyObject *filter = NULL;
    if (!container_enter(self)) return NULL;
    const bool found = PyIndex_Check(part) ? index_of_number(self, part, &index)
                                           : index_of_name(self, part, &index);
    if (found) filter = filter_at(self, index);
    users_leave(&self->users);
    return filter;
}

/* ---- lookups */

/* The bytes of the name in `part`, of which there must be a part; NULL with `*failed` false: None,
 * all parts. */
static PyObject *known_name(const ContainerObject *self, PyObject *part, bool *failed) {
    const size_t count = tamis_container_count(self->container);
    *failed = false;
    if (part == Py_None) return NULL;
    PyObject *name = name_of_text(part);
    for (size_t i = 0; i < count && name != NULL; i++) {
        const tamis_part one = part_at(self->container, i);
        if (part_is(&one, PyBytes_AsString(name))) return name;
    }
    if (name != NULL) raise_part(self, part);
    Py_XDECREF(name);
    *failed = true;
    return NULL;
}

/* 1, 0, or -1 with an exception. */
static int look_up(ContainerObject *self, PyObject *object, const char *part) {
    static const struct key_rule plain = {.plain = true};
    struct key key;
    if (!key_of_object(&plain, object, &key)) return -1;
    const bool found = tamis_container_contains(self->container, part, key.bytes, key.length);
    key_release(&key);
    return found;
}

static int container_has(PyObject *object, PyObject *key) {
    ContainerObject *self = (ContainerObject *)object;
    if (!container_enter(self)) return -1;
    const int found = look_up(self, key, NULL);
    users_leave(&self->users);
    return found;
}

PyDoc_STRVAR(contains_doc,
             "contains($self, key, /, part=None)\n--\n\n"
             "Returns whether the key is possibly in the file.  False: definitely not.\n\n"
             "`part` restricts the lookup to one part, or to one column of a Parquet file.  Where\n"
             "there is no filter the result is True.\n");

static PyObject *container_contains(PyObject *object, PyObject *positional, PyObject *keywords) {
    static char *names[] = {"", "part", NULL};
    ContainerObject *self = (ContainerObject *)object;
    PyObject *key, *part = Py_None;
    bool failed;
    int found = -1;
    if (!PyArg_ParseTupleAndKeywords(positional, keywords, "O|O:contains", names, &key, &part) ||
        !container_enter(self)) {
        return NULL;
    }
    PyObject *name = known_name(self, part, &failed);
    if (!failed) found = look_up(self, key, name != NULL ? PyBytes_AsString(name) : NULL);
    Py_XDECREF(name);
    users_leave(&self->users);
    return found < 0 ? NULL : PyBool_FromLong(found);
}

PyDoc_STRVAR(contains_many_doc,
             "contains_many($self, /, keys, *, part=None, result=None)\n--\n\n"
             "Looks up many keys: a list or other iterable, a NumPy or Arrow array.\n\n"
             "The results have the form of the keys, or that of `result`: 'list', 'numpy' or\n"
             "'arrow'.\n");

static PyObject *container_contains_many(PyObject *object, PyObject *positional,
                                         PyObject *keywords) {
    static char *names[] = {"keys", "part", "result", NULL};
    ContainerObject *self = (ContainerObject *)object;
    PyObject *keys, *part = Py_None, *form = NULL, *results = NULL;
    bool failed;
    if (!PyArg_ParseTupleAndKeywords(positional, keywords, "O|$OO:contains_many", names, &keys,
                                     &part, &form) ||
        !container_enter(self)) {
        return NULL;
    }
    PyObject *name = known_name(self, part, &failed);
    if (!failed) {
        results = batch_container(self->state, self->container,
                                  name != NULL ? PyBytes_AsString(name) : NULL, keys, form);
    }
    Py_XDECREF(name);
    users_leave(&self->users);
    return results;
}

/* ---- the type */

static PyObject *container_repr(PyObject *object) {
    ContainerObject *self = (ContainerObject *)object;
    if (!users_enter(&self->users)) return PyUnicode_FromString("<tamis.Container closed>");
    PyObject *text = PyUnicode_FromFormat("<tamis.Container format='%s' parts=%zd>",
                                          tamis_container_format(self->container),
                                          (Py_ssize_t)tamis_container_count(self->container));
    users_leave(&self->users);
    return text;
}

static PyObject *container_with(PyObject *object, PyObject *ignored) {
    ContainerObject *self = (ContainerObject *)object;
    (void)ignored;
    if (!container_enter(self)) return NULL;
    users_leave(&self->users);
    Py_INCREF(object);
    return object;
}

static PyObject *get_format(PyObject *object, void *ignored) {
    ContainerObject *self = (ContainerObject *)object;
    (void)ignored;
    if (!container_enter(self)) return NULL;
    PyObject *format = PyUnicode_FromString(tamis_container_format(self->container));
    users_leave(&self->users);
    return format;
}

static PyObject *get_name(PyObject *object, void *ignored) {
    PyObject *name = ((ContainerObject *)object)->name;
    (void)ignored;
    if (name == NULL) Py_RETURN_NONE;
    Py_INCREF(name);
    return name;
}

static PyObject *get_closed(PyObject *object, void *ignored) {
    (void)ignored;
    return PyBool_FromLong(atomic_load(&((ContainerObject *)object)->users.count) < 0);
}

PyDoc_STRVAR(enter_doc,
             "__enter__($self, /)\n--\n\n"
             "Returns the container.\n");
PyDoc_STRVAR(exit_doc,
             "__exit__($self, kind, error, traceback, /)\n--\n\n"
             "Closes the file.\n");

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ContainerObject, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyMethodDef methods[] = {
    {"open", METHOD(container_open), METH_CLASS | METH_VARARGS | METH_KEYWORDS, open_doc},
    {"from_bytes", METHOD(container_from_bytes), METH_CLASS | METH_VARARGS | METH_KEYWORDS,
     from_bytes_doc},
    {"contains", METHOD(container_contains), METH_VARARGS | METH_KEYWORDS, contains_doc},
    {"contains_many", METHOD(container_contains_many), METH_VARARGS | METH_KEYWORDS,
     contains_many_doc},
    {"parts", container_parts, METH_NOARGS, parts_doc},
    {"filter", container_filter, METH_O, filter_doc},
    {"close", container_close, METH_NOARGS, close_doc},
    {"__enter__", container_with, METH_NOARGS, enter_doc},
    {"__exit__", container_close, METH_VARARGS, exit_doc},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"format", get_format, NULL, "\"leveldb-table\", \"rocksdb-table\" or \"parquet\".", NULL},
    {"name", get_name, NULL, "The path that it was opened from, or None.", NULL},
    {"closed", get_closed, NULL, "Has close() been called?", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyDoc_STRVAR(
    container_doc,
    "A file that holds several filters: a table of LevelDB or RocksDB, or a Parquet file.\n"
    "\n"
    "Container.open(path) opens a file, Container.from_bytes(data) its bytes.  Looking up a\n"
    "key queries the filters that cover it.  A container is read-only, and any number of\n"
    "threads may use it.\n\n"
    "    with tamis.Container.open('orders.parquet') as file:\n"
    "        if file.contains('Ada', part='name'):\n"
    "            ...\n");

static PyType_Slot slots[] = {
    DOC_SLOT(container_doc),
    FUNCTION_SLOT(Py_tp_new, container_new),
    FUNCTION_SLOT(Py_tp_dealloc, container_dealloc),
    TABLE_SLOT(Py_tp_methods, methods),
    TABLE_SLOT(Py_tp_members, members),
    TABLE_SLOT(Py_tp_getset, properties),
    FUNCTION_SLOT(Py_tp_repr, container_repr),
    FUNCTION_SLOT(Py_tp_iter, container_iterate),
    FUNCTION_SLOT(Py_sq_length, container_length),
    FUNCTION_SLOT(Py_sq_contains, container_has),
    {0, NULL},
};

static PyType_Spec spec = {.name = "tamis.Container",
                           .basicsize = sizeof(ContainerObject),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                           .slots = slots};

int container_add_type(PyObject *module, struct state *state) {
    state->container_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->container_type == NULL ? -1 : PyModule_AddType(module, state->container_type);
}
