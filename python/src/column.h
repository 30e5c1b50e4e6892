/* column.h - many keys: the sources they come from, and how they are read without the GIL
 *
 * A source delivers its keys as columns, one after the other: a chunk of an Arrow stream, some
 * thousand objects of a list, a whole NumPy array.  A column gives random access to its rows
 * without Python, in groups of at most GROUP_KEYS keys, so that several threads can work on one. */
#ifndef TAMIS_PYTHON_COLUMN_H
#define TAMIS_PYTHON_COLUMN_H

#include "module.h"

/* ---- what the keys are for */

struct target {
    struct state *state;
    enum batch_action action;
    struct key_rule rule;
    FilterObject *object;       /* a filter, */
    const tamis_filter *filter; /* while it may be used, */
    tamis_filter *changed;      /* the same, if it may be changed; */
    tamis_builder *builder;     /* or a builder, */
    const tamis_container *container;
    const char *part;         /* or a container and its part or NULL */
    tamis_composer *composer; /* created when the first tuple comes */
};

/* The hash of a composite key.  false: an exception is set. */
bool target_compose(struct target *target, PyObject *tuple, uint64_t *hash);

/* The hash of a key, without the GIL, while the target is in use. */
uint64_t target_hash(const struct target *target, const void *key, size_t length);

/* ---- a group of keys (column.c) */

#define GROUP_KEYS 512

/* Converted keys of a group take no more memory than this, unless it has only one. */
#define GROUP_BYTES ((size_t)1 << 20)

#define ERROR_SIZE 160

struct memory {
    void *at;
    size_t size;
};

struct group {
    size_t count; /* keys: the rows that are not null */
    bool hashed;  /* the keys are `hashes`; otherwise `keys` and `lengths` */
    bool sparse;  /* key i is row rows[i] of the group; otherwise row i */
    const void *const *keys;
    const size_t *lengths;
    const uint64_t *hashes;
    const void *key_room[GROUP_KEYS];
    size_t length_room[GROUP_KEYS];
    uint64_t words[GROUP_KEYS]; /* numbers as keys, or hashes */
    size_t rows[GROUP_KEYS];
    size_t picks[GROUP_KEYS]; /* Arrow: which elements of a column the keys are */
    struct memory texts, made;
    size_t error_row;       /* of a group that could not be filled: its row, */
    char error[ERROR_SIZE]; /* and why; "": out of memory */
};

/* Enlarges the memory, without its content.  false: out of memory. */
bool memory_reserve(struct memory *memory, size_t size);

struct group *group_new(void); /* NULL: out of memory */
void group_free(struct group *group);

/* Sets a key whose bytes have not been read, and prefetches them: the keys are hashed after the
 * group is full.  A column of a million strings of 35 bytes takes 4.3 instead of 5.4 ns per key
 * (Zen 4). */
static inline void group_set_text(struct group *group, size_t i, const void *bytes, size_t length) {
    group->key_room[i] = bytes;
    group->length_room[i] = length;
    __builtin_prefetch(bytes);
}

/* For key `key` of the group: sets the error, returns false. */
bool group_fail(struct group *group, size_t key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* How many of `rows` rows a filled group has taken; it had `keys` keys before its texts were
 * converted. */
size_t group_rows(const struct group *group, size_t rows, size_t keys);

/* Converts the texts in key_room and length_room to keys under `rule`.  May reduce group->count, to
 * limit memory.  false: see group->error. */
bool group_texts(struct group *group, const struct key_rule *rule);

/* ---- elements of one size, of NumPy arrays and Arrow columns (elements.c) */

enum element_type {
    ELEMENT_INTEGER,
    ELEMENT_FLOAT,
    ELEMENT_BYTES,  /* all bytes count */
    ELEMENT_PADDED, /* NULs at the end do not */
    ELEMENT_UCS4    /* code points of 4 bytes, padded in the same way */
};

struct elements {
    enum element_type type;
    bool is_unsigned;
    bool swapped; /* of the other byte order */
    size_t width;
    ptrdiff_t stride;
    const uint8_t *first;
};

/* Fills a group with `count` elements: those with the numbers in `picks`, or if that is NULL from
 * `from` on.  group->count, at least 1 if `count` is, is how many fitted.  false: group->error. */
bool elements_fill(const struct elements *elements, const struct key_rule *rule,
                   const size_t *picks, size_t from, size_t count, struct group *group);

/* Can a filter have keys of this type?  false: an exception is set. */
bool elements_are_keys(enum element_type type, const struct key_rule *rule);

/* ---- columns */

struct column {
    size_t length;
    bool nullable; /* some rows may be null */
    const struct target *target;
    const void *detail; /* of the source */

    /* Fills a group with rows from `from` on, at most `count` <= GROUP_KEYS.  Returns the number of
     * rows that it took; 0: see group->error.  Called without the GIL, by several threads. */
    size_t (*fill)(const struct column *column, size_t from, size_t count, struct group *group);

    /* Called before and after the calls of fill, without the GIL; may be NULL. */
    void (*hold)(const struct column *column);
    void (*drop)(const struct column *column);
};

/* ---- sources */

enum result_form { RESULT_LIST, RESULT_NUMPY, RESULT_ARROW };

struct source {
    struct target *target;
    enum result_form mirror; /* the form of a result that matches the keys */
    Py_ssize_t total;        /* keys; -1: unknown */
    void *detail;

    /* The next column, valid until the next call.  1, 0 at the end, or -1 with an exception. */
    int (*next)(struct source *source, struct column *column);
    void (*close)(struct source *source);
};

/* Opens the source of `keys` (source.c).  The other functions open those of one sort.  The caller
 * sets `target`; the source keeps the references it needs.  false: an exception is set, and there
 * is nothing to close. */
bool source_open(struct source *source, PyObject *keys);

/* Closes a source.  That may run Python code, so an exception that is set is put aside. */
void source_close(struct source *source);

bool sequence_open(struct source *source, PyObject *iterable);
/* In the objects of an opened source, None, NaN and the missing values of pandas are nulls. */
bool sequence_allow_nulls(struct source *source);
bool numpy_open(struct source *source, PyObject *array);
bool strings_open(struct source *source, PyObject *array);
bool buffer_open(struct source *source, PyObject *exporter);
bool arrow_open(struct source *source, PyObject *keys);

/* Does `keys` have the methods of the Arrow PyCapsule protocol? */
bool arrow_is_source(PyObject *keys);

/* A source whose one column is `column`; `source->detail` has been set. */
struct single {
    struct column column;
    bool done;
};
int single_next(struct source *source, struct column *column); /* detail begins with a `single` */

/* Opens what a function of a module makes of the keys. */
typedef bool source_opener(struct source *source, PyObject *keys);
bool open_converted(struct source *source, source_opener *open, const char *module,
                    const char *function, PyObject *keys);

/* Is `object` an instance of a class of a module that has been imported? */
bool is_instance(PyObject *object, const char *module, const char *name);

/* ---- results (result.c) */

struct results {
    enum batch_action action;
    PyObject *values; /* bytearray: a bool or a hash of 8 bytes for each row */
    PyObject *valid;  /* bytearray: 0 for each row that is null; NULL: none is */
    size_t length;
};

/* Makes room for `more` rows.  false: an exception is set. */
bool results_extend(struct results *results, size_t more, bool nullable);
/* A NumPy array of `length` bools or hashes that refers to the bytes of a bytearray. */
PyObject *numpy_of_bytes(PyObject *bytes, size_t length, bool is_hash);

PyObject *results_finish(struct results *results, struct state *state, enum result_form form);
void results_free(struct results *results);

#endif
