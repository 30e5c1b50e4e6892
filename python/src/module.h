/* module.h - the extension module tamis._tamis: what its files share
 *
 *   module.c     the module, its functions and exceptions
 *   filter.c     Filter: one key at a time   access.c   who may use a filter at the moment
 *   files.c      open, save, bytes, pickle   sets.c     union, copy, conversion, comparison
 *   options.c    arguments become options    facts.c    info() and plan()
 *   builder.c    Builder and build()         container.c   Container
 *   keys.c       an object becomes a key     text.c     a text or a number does, without Python
 *
 * Many keys at once:
 *
 *   batch.c      contains_many() and so on   engine.c     the work, without the GIL, in threads
 *   source.c     which of these keys are:    sequence.c   lists and other iterables
 *   numpy.c      NumPy arrays, buffers       strings.c    NumPy's StringDType
 *   arrow.c      Arrow arrays, streams       layout.c     where Arrow's layouts have the keys
 *   column.c     keys at random access       elements.c   elements of a column become keys
 *   result.c     what a batch returns        array.c      tamis.Array
 *
 * The module is written for the limited API of Python 3.11; Python 3.9, 3.10 and builds without the
 * GIL get builds of their own.  It has no global state that changes: every module object has its
 * own `struct state`, and every object points to that of the module that created it. */
#ifndef TAMIS_PYTHON_MODULE_H
#define TAMIS_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tamis.h"

/* More than any status, and than the number of exceptions: for tables. */
#define STATUS_LIMIT 32

struct state {
    PyTypeObject *filter_type, *builder_type, *container_type, *array_type;
    PyObject *error;                /* tamis.Error */
    PyObject *errors[STATUS_LIMIT]; /* its subclasses */
};

/* An entry of a PyType_Slot table: ISO C has no conversion from a function to `void *`. */
#define FUNCTION_SLOT(id, function) \
    { id, (void *)(uintptr_t)(function) }
#define DOC_SLOT(text) \
    { Py_tp_doc, (void *)(uintptr_t)(text) }
#define TABLE_SLOT(id, table) \
    { id, table }

/* A PyMethodDef for a function that takes more than two arguments. */
#define METHOD(function) (PyCFunction)(void (*)(void))(function)

/* The state of the module that a type belongs to. */
struct state *state_of_type(PyTypeObject *type);

/* ---- errors (module.c) */

/* Raises the exception of `status` with its sentence; `name`, which may be NULL, is the file or
 * other object that it is about.  After E_IO, E_CHANGED and E_EXISTS errno has the reason: call it
 * at once, or save errno.  Returns NULL. */
PyObject *raise_status(const struct state *state, tamis_status status, PyObject *name);

/* The same with another sentence, not for errors of the system. */
PyObject *raise_sentence(const struct state *state, tamis_status status, PyObject *sentence);
/* Takes the sentence; NULL: an exception is set. */
void *raise_text(const struct state *state, tamis_status status, PyObject *sentence);

/* The name of the type of an object, for a message. */
PyObject *type_name(PyObject *object);

/* Raises a TypeError; `format` has %U for the name of the object's type. */
void refuse_type(PyObject *object, const char *format);

/* ---- access (access.c)
 *
 * A filter is read by any number of threads or changed by one.  Threads that must wait release the
 * GIL.  The functions are called with the GIL held (or, without a GIL, an attached thread state),
 * and fail only if a signal handler raises while they wait. */
struct access {
    atomic_int users;   /* > 0: readers; -1: one writer */
    atomic_int writers; /* that wait: new readers wait behind them */
};                      /* all zero at first */

/* A thread that has access must not wait for access, to the same filter or another, and must not
 * run Python code, which could: it makes no object that the garbage collector tracks, and raises
 * nothing.  It may try. */
bool access_read(struct access *access); /* false: an exception is set */
bool access_try_read(struct access *access);
void access_read_end(struct access *access);
bool access_write(struct access *access); /* false: an exception is set */
bool access_try_write(struct access *access);
void access_write_end(struct access *access);

/* ---- keys (keys.c) */

/* How objects become keys: from the options or the facts of a filter. */
struct key_rule {
    tamis_key_form form;
    bool plain;         /* bytes as they are: no form, no fixed length, and the library hashes */
    bool prehashed;     /* an int is the hash itself */
    uint32_t key_bytes; /* required length; 0: any */
    bool composite;     /* tuples are supported: not for compatible formats */
};
struct key_rule key_rule_of_facts(const tamis_facts *facts);
struct key_rule key_rule_of_options(const tamis_options *options);

/* A key, valid until key_release, which releases what it holds (and may run Python code). */
struct key {
    const void *bytes;
    size_t length;
    uint64_t hash; /* if is_hash */
    bool is_hash;
    bool is_tuple; /* no key yet: a composer must hash `object` */
    bool has_view; /* of `view` */
    uint8_t number[8];
    uint8_t *made; /* memory for a key that was converted, or NULL */
    Py_buffer view;
};

/* Makes the key of `object`, borrowed.  A tuple gives `is_tuple` (compose_key makes its hash).
 * false: an exception is set, and there is nothing to release. */
bool key_of_object(const struct key_rule *rule, PyObject *object, struct key *key);
void key_release(struct key *key);

/* The hash of a tuple of str, bytes, int and float.  false: an exception is set. */
bool compose_key(tamis_composer *composer, PyObject *tuple, uint64_t *hash);

/* Makes the key of a record's text under a rule that is not plain, without Python and without the
 * GIL.  `made` has room for key_made_bytes(length); the key may lie in it or be the text itself.
 * false: `error` has the reason. */
size_t key_made_bytes(size_t length);
bool key_of_text(const struct key_rule *rule, const void *text, size_t length, uint8_t *made,
                 const void **key, size_t *key_length, uint64_t *hash, char error[160]);
/* The same for a number, into 8 bytes; also under a plain rule. */
bool key_of_integer(const struct key_rule *rule, bool is_unsigned, uint64_t value,
                    uint8_t number[8], size_t *key_length, uint64_t *hash, char error[160]);
bool key_of_float(const struct key_rule *rule, double value, uint8_t number[8], size_t *key_length,
                  char error[160]);

/* ---- objects */

typedef struct {
    PyObject_HEAD
    struct state *state;
    tamis_filter *filter; /* NULL: closed */
    struct access access;
    struct key_rule rule;
    tamis_kind kind;
    uint32_t caps;     /* TAMIS_CAN_* */
    bool shared;       /* lock-free adds */
    bool lazy;         /* queries may find damage: tamis_query_status */
    atomic_int damage; /* the status of the verification that failed, or 0: all calls raise it */
    bool updating;     /* opened for update, and not yet committed */
    bool keyed;
    atomic_int exports;                 /* buffers that point into the filter */
    _Atomic(tamis_composer *) composer; /* for tuples; NULL: none yet, or in use */
    PyObject *name;                     /* the path it was opened from, or NULL */
    PyObject *weakrefs;
} FilterObject;

/* The filter of an object, if it is one; otherwise NULL, without an exception. */
FilterObject *filter_of(PyObject *object);

/* Wraps a filter, which it takes; on failure frees it and returns NULL.  `name` is borrowed and may
 * be NULL. */
PyObject *filter_wrap(PyTypeObject *type, struct state *state, tamis_filter *filter,
                      PyObject *name);

/* The filter, for reading or changing it; NULL with an exception if it is closed or damaged or a
 * signal handler raised.  A read of a filter whose adds are lock-free allows adds at the same time.
 * Until the access ends, the rules of access.c apply. */
const tamis_filter *filter_read(FilterObject *self);
void filter_read_end(FilterObject *self);
tamis_filter *filter_write(FilterObject *self);
void filter_write_end(FilterObject *self);

/* The filter, unchanged until filter_thaw: also without adds to a shared one. */
const tamis_filter *filter_freeze(FilterObject *self);
const tamis_filter *filter_try_freeze(FilterObject *self); /* NULL, without an exception: it is
                                                              in use, closed or damaged */
void filter_thaw(FilterObject *self);

/* Verifies the whole filter, if that has not been done, without the GIL.  The caller has access. A
 * filter that is damaged raises from then on. */
tamis_status filter_check(FilterObject *self, const tamis_filter *filter);

/* Refills the facts of the object from its filter, which was created or opened. */
bool filter_refresh(FilterObject *self);

/* Frees the filter, for good.  The caller has write access, or the only reference. */
void filter_drop(FilterObject *self);

/* Is the file a regular one, or absent?  Opening another could wait without end, and replacing it
 * would be a loss.  `path` is bytes, `name` the same for a message, `cure` the end of a sentence.
 * false: an exception is set. */
bool path_is_regular(const struct state *state, PyObject *path, PyObject *name, const char *cure);
#define READ_CURE "read it and pass the bytes to from_bytes()"

/* `data` if it is bytes or a memoryview of bytes, which cannot change; otherwise a copy.  A new
 * reference; NULL: an exception is set. */
PyObject *stable_bytes(PyObject *data);

/* The methods of files.c and sets.c; their docstrings are in filter.c. */
PyObject *filter_open(PyObject *type, PyObject *arguments, PyObject *keywords);
PyObject *filter_from_bytes(PyObject *type, PyObject *arguments, PyObject *keywords);
PyObject *filter_restore(PyObject *type, PyObject *arguments);
PyObject *filter_save(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *filter_to_bytes(PyObject *self, PyObject *none);
PyObject *filter_verify(PyObject *self, PyObject *none);
PyObject *filter_commit(PyObject *self, PyObject *none);
PyObject *filter_close(PyObject *self, PyObject *none);
PyObject *filter_exit(PyObject *self, PyObject *arguments);
PyObject *filter_reduce(PyObject *self, PyObject *none);
int filter_get_buffer(PyObject *self, Py_buffer *view, int flags);
void filter_release_buffer(PyObject *self, Py_buffer *view);
PyObject *filter_copy(PyObject *self, PyObject *none);
PyObject *filter_deepcopy(PyObject *self, PyObject *memo);

/* What an instance of a subclass has besides the filter, as pickle keeps it; None: nothing. */
PyObject *filter_state(PyObject *self);
bool filter_reformat(FilterObject *self, const char *format);
PyObject *filter_convert(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *filter_or(PyObject *left, PyObject *right);
PyObject *filter_and(PyObject *left, PyObject *right);
PyObject *filter_ior(PyObject *self, PyObject *other);
PyObject *filter_iand(PyObject *self, PyObject *other);
PyObject *filter_compare(PyObject *self, PyObject *other, int operation);

/* tamis.open(): a filter, or a container. */
PyObject *module_open(PyObject *module, PyObject *arguments, PyObject *keywords);

/* What tamis_query_status reports for a lazily verified filter. */
tamis_status filter_touched(const FilterObject *self, const tamis_filter *filter);

/* ---- options (options.c) */

/* The positional and keyword arguments of Filter(), Builder() or build() as one new dict; the
 * positional ones have the names in `names`, which NULL ends. */
PyObject *options_gather(const char *function, PyObject *positional, PyObject *keywords,
                         const char *const *names);

/* Takes the options that these have in common out of the dict: capacity, fpr, kind, needs, bytes,
 * bits, hashes, stage, seed, secret, prehashed, key_type, fold_case, format.  `keep` receives a
 * list of the objects that the options point into.  false: an exception is set. */
bool options_take(struct state *state, PyObject *arguments, tamis_options *options,
                  PyObject **keep);

/* Take one further argument out of the dict, if it is there; `limit` is THREADS_LIMIT, UINT32_MAX
 * or UINT64_MAX. */
bool options_take_unsigned(PyObject *arguments, const char *name, uint64_t limit, uint64_t *value);
bool options_take_flag(PyObject *arguments, const char *name, bool *value);
PyObject *options_take_object(PyObject *arguments, const char *name,
                              bool *failed); /* new; or NULL */

bool options_take_needs(PyObject *arguments, uint32_t *needs);
bool options_take_fpr(const struct state *state, PyObject *arguments, double *fpr);

/* Check the options that were taken.  `complete` chooses what a filter without a size is.  false:
 * an exception is set. */
bool options_check(const struct state *state, const tamis_options *options);
bool options_check_size(const struct state *state, const tamis_options *options);
bool options_complete(const struct state *state, tamis_options *options, bool has_capacity);

/* Raises why a filter with these options could not be created.  Returns NULL. */
void *options_raise(const struct state *state, tamis_status status, const tamis_options *options);

/* The limit of every argument `threads`. */
#define THREADS_LIMIT 65535

/* One argument each.  `keep` is a list; a secret of None, and a text of NULL, leave the default. */
bool options_format(const struct state *state, const char *format);
bool options_kind(const struct state *state, const char *text, tamis_kind *kind);
bool options_unsigned(PyObject *given, const char *name, uint64_t limit, uint64_t *value);
bool options_secret(PyObject *given, PyObject *keep, const uint8_t **secret);

/* Raises a TypeError if an argument is left. */
bool options_end(const char *function, PyObject *arguments);

/* Wraps a container, which it takes, as filter_wrap does. */
PyObject *container_wrap(PyTypeObject *type, struct state *state, tamis_container *container,
                         PyObject *name);

/* types: creates the heap type and adds it to the module; 0 or -1 */
int filter_add_type(PyObject *module, struct state *state);
int builder_add_type(PyObject *module, struct state *state);
int container_add_type(PyObject *module, struct state *state);
int array_add_type(PyObject *module, struct state *state);

/* ---- facts.c */

/* tamis.Info of the facts of a filter, a dataclass (imported on first use).  `name` is the file, or
 * NULL. */
PyObject *info_of_facts(const tamis_facts *facts, PyObject *name);

/* tamis.plan(), which returns a tamis.Plan. */
PyObject *module_plan(PyObject *module, PyObject *arguments, PyObject *keywords);

/* ---- builder.c */

/* How many calls use an object at the moment; -1: it is closed, for good.  Unlike access it never
 * waits, so calls may nest: the keys of Builder.update() may come from a generator that adds. */
struct users {
    atomic_int count;
};

/* false: closed. */
static inline bool users_enter(struct users *users) {
    int count = atomic_load(&users->count);
    while (count >= 0) {
        if (atomic_compare_exchange_weak(&users->count, &count, count + 1)) return true;
    }
    return false;
}

static inline void users_leave(struct users *users) { atomic_fetch_sub(&users->count, 1); }

/* Closes the object if no call uses it.  Returns how many do, or -1 if it is closed already. */
static inline int users_close(struct users *users) {
    int count = 0;
    atomic_compare_exchange_strong(&users->count, &count, -1);
    return count;
}

/* tamis.build(), and its text for help(). */
PyObject *module_build(PyObject *module, PyObject *arguments, PyObject *keywords);
extern const char module_build_doc[];

/* ---- container.c */

/* Wraps a container, which it takes; on failure frees it and returns NULL.  `name` is borrowed and
 * may be NULL. */
PyObject *container_wrap(PyTypeObject *type, struct state *state, tamis_container *container,
                         PyObject *name);

/* ---- batch.c: what is done with each of many keys */

enum batch_action { BATCH_CONTAINS, BATCH_ADD, BATCH_DISCARD, BATCH_HASH };

/* contains_many and so on: `keys` is a list, an iterable, a NumPy or Arrow array, an Arrow stream.
 * The keyword arguments are threads, hashed and result. */
PyObject *batch_many(FilterObject *self, enum batch_action action, PyObject *const *arguments,
                     Py_ssize_t count, PyObject *keyword_names);

/* Adds all keys of `keys`, without a result: update(). */
bool batch_update(FilterObject *self, PyObject *keys, unsigned threads);

/* Adds all keys to a builder; `progress` is called between batches, with the GIL: false stops. */
bool batch_build(struct state *state, tamis_builder *builder, const struct key_rule *rule,
                 PyObject *keys, bool hashed, unsigned threads, bool (*progress)(void *context),
                 void *context);

/* The same for a container; `part` NULL: all parts. */
PyObject *batch_container(struct state *state, const tamis_container *container, const char *part,
                          PyObject *keys, PyObject *result);

#endif
