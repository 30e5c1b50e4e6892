/* batch.c - contains_many(), add_many() and the other calls with many keys */
#include "engine.h"

#include <errno.h>
#include <string.h>

/* Rows that are processed before signals are handled and other threads get access. */
#define SPAN_ROWS ((size_t)4 << 20)

struct batch {
    struct target target;
    struct source source;
    unsigned threads;
    bool wants_results;
    struct results results;
    size_t rows, added; /* so far */
    bool (*progress)(void *context);
    void *context;
};

/* ---- the target */

static bool target_begin(struct target *t) {
    if (t->object == NULL) return true;
    const bool changes = t->action == BATCH_ADD || t->action == BATCH_DISCARD;
    if (changes && !(t->action == BATCH_ADD && t->object->shared)) {
        t->filter = t->changed = filter_write(t->object);
    } else {
        t->filter = filter_read(t->object);
        t->changed = t->filter != NULL && changes ? t->object->filter : NULL;
    }
    return t->filter != NULL;
}

static void target_end(struct target *t) {
    if (t->object == NULL) return;
    const bool changes = t->action == BATCH_ADD || t->action == BATCH_DISCARD;
    if (changes && !(t->action == BATCH_ADD && t->object->shared)) {
        filter_write_end(t->object);
    } else {
        filter_read_end(t->object);
    }
    t->filter = t->changed = NULL;
}

static bool create_composer(struct target *t) {
    tamis_status status = TAMIS_E_UNSUPPORTED;
    if (t->builder != NULL) {
        status = tamis_builder_composer(t->builder, &t->composer);
    } else if (t->object != NULL) {
        const tamis_filter *filter = filter_read(t->object);
        if (filter == NULL) return false;
        status = tamis_composer_create(filter, &t->composer);
        filter_read_end(t->object);
    }
    if (status != TAMIS_OK) raise_status(t->state, status, NULL);
    return status == TAMIS_OK;
}

bool target_compose(struct target *target, PyObject *tuple, uint64_t *hash) {
    if (target->composer == NULL && !create_composer(target)) return false;
    return compose_key(target->composer, tuple, hash);
}

uint64_t target_hash(const struct target *target, const void *key, size_t length) {
    return target->builder != NULL ? tamis_builder_hash(target->builder, key, length)
                                   : tamis_hash(target->filter, key, length);
}

/* ---- errors */

/* Adds how far the batch came to the message of an exception. */
static void name_progress(const struct batch *b) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *text = b->source.total < 0
                         ? PyUnicode_FromFormat("%S: %zu keys were added", value, b->added)
                         : PyUnicode_FromFormat("%S: %zu of %zd keys were added", value, b->added,
                                                b->source.total);
    PyObject *arguments = text == NULL ? NULL : PyTuple_Pack(1, text);
    if (arguments == NULL || PyObject_SetAttrString(value, "args", arguments) < 0) PyErr_Clear();
    Py_XDECREF(arguments);
    Py_XDECREF(text);
    PyErr_Restore(type, value, traceback);
}

/* Raises what went wrong; true if nothing did. */
static bool check_outcome(struct batch *b, const struct outcome *outcome) {
    b->added += outcome->added;
    if (outcome->invalid && outcome->text[0] == '\0') return PyErr_NoMemory() != NULL;
    if (outcome->invalid) {
        PyErr_Format(PyExc_ValueError, "keys[%zu]: %s", b->rows + outcome->row, outcome->text);
        return false;
    }
    if (outcome->status == TAMIS_OK) return true;
    errno = outcome->error;
    raise_status(b->target.state, outcome->status,
                 b->target.object == NULL ? NULL : b->target.object->name);
    if (outcome->status == TAMIS_E_FULL && b->target.object != NULL) name_progress(b);
    return false;
}

/* ---- columns */

static bool run_span(struct batch *b, const struct column *column, size_t from, size_t end,
                     const struct output *output) {
    struct target *t = &b->target;
    struct outcome outcome = {.status = TAMIS_OK};
    tamis_status touched = TAMIS_OK;
    if (!target_begin(t)) return false;
    Py_BEGIN_ALLOW_THREADS
    if (column->hold != NULL) column->hold(column);
    engine_run(column, from, end, b->threads, output, &outcome);
    if (column->drop != NULL) column->drop(column);
    Py_END_ALLOW_THREADS
    if (t->action == BATCH_CONTAINS && t->object != NULL) {
        touched = filter_touched(t->object, t->filter);
    }
    target_end(t);
    if (!check_outcome(b, &outcome)) return false;
    if (touched != TAMIS_OK) raise_status(t->state, touched, t->object->name);
    return touched == TAMIS_OK;
}

/* Makes room for the results of a column. */
static bool make_output(struct batch *b, const struct column *column, struct output *output) {
    struct results *r = &b->results;
    if (!b->wants_results) return true;
    const size_t before = r->length;
    if (!results_extend(r, column->length, column->nullable)) return false;
    char *values = PyByteArray_AsString(r->values);
    if (r->action == BATCH_HASH) {
        output->hashes = (uint64_t *)(void *)values + before;
    } else {
        output->found = (bool *)values + before;
    }
    if (r->valid != NULL) output->valid = (uint8_t *)PyByteArray_AsString(r->valid) + before;
    return true;
}

static bool run_column(struct batch *b, const struct column *column) {
    struct output output = {NULL, NULL, NULL};
    if (!make_output(b, column, &output)) return false;
    for (size_t from = 0; from < column->length; from += SPAN_ROWS) {
        const size_t end = column->length - from < SPAN_ROWS ? column->length : from + SPAN_ROWS;
        if (!run_span(b, column, from, end, &output)) return false;
        if (b->progress != NULL && !b->progress(b->context)) return false;
        if (PyErr_CheckSignals() < 0) return false;
    }
    b->rows += column->length;
    return true;
}

/* ---- a batch */

static bool run_source(struct batch *b) {
    struct column column;
    int found;
    while ((found = b->source.next(&b->source, &column)) == 1) {
        if (!run_column(b, &column)) return false;
    }
    return found == 0;
}

static bool run_batch(struct batch *b, PyObject *keys) {
    b->source.target = &b->target;
    b->results.action = b->target.action;
    if (!source_open(&b->source, keys)) return false;
    const bool done = run_source(b);
    source_close(&b->source);
    tamis_composer_free(b->target.composer);
    return done;
}

/* Keys that are hashes already. */
static void take_hashes(struct key_rule *rule) {
    rule->form = (tamis_key_form){.flags = 0};
    rule->plain = false;
    rule->prehashed = true;
    rule->key_bytes = 0;
}

/* ---- arguments */

struct arguments {
    PyObject *keys;
    unsigned threads;
    bool hashed;
    bool has_form;
    enum result_form form;
};

static bool take_form(PyObject *value, struct arguments *a) {
    static const char *const names[] = {"list", "numpy", "arrow"};
    if (value == NULL || value == Py_None) return true;
    for (unsigned i = 0; PyUnicode_Check(value) && i < 3; i++) {
        if (PyUnicode_CompareWithASCIIString(value, names[i]) != 0) continue;
        a->has_form = true;
        a->form = (enum result_form)i;
        return true;
    }
    PyErr_Format(PyExc_ValueError, "result must be 'list', 'numpy' or 'arrow', not %R", value);
    return false;
}

static bool take_threads(PyObject *value, struct arguments *a) {
    uint64_t threads;
    if (!options_unsigned(value, "threads", THREADS_LIMIT, &threads)) return false;
    a->threads = (unsigned)threads;
    return true;
}

static bool take_hashed(PyObject *value, struct arguments *a) {
    const int is_true = PyObject_IsTrue(value);
    a->hashed = is_true == 1;
    return is_true >= 0;
}

static const char *const action_names[] = {"contains_many", "add_many", "discard_many",
                                           "hash_many"};

static bool take_keyword(enum batch_action action, PyObject *name, PyObject *value,
                         struct arguments *a) {
    if (PyUnicode_CompareWithASCIIString(name, "threads") == 0) return take_threads(value, a);
    if (PyUnicode_CompareWithASCIIString(name, "result") == 0) return take_form(value, a);
    if (PyUnicode_CompareWithASCIIString(name, "hashed") == 0 && action != BATCH_HASH) {
        return take_hashed(value, a);
    }
    if (PyUnicode_CompareWithASCIIString(name, "keys") == 0 && a->keys == NULL) {
        a->keys = value;
        return true;
    }
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'",
                 action_names[action], name);
    return false;
}

static bool take_arguments(enum batch_action action, PyObject *const *arguments, Py_ssize_t count,
                           PyObject *keyword_names, struct arguments *a) {
    const Py_ssize_t named = keyword_names == NULL ? 0 : PyTuple_Size(keyword_names);
    if (count == 1) a->keys = arguments[0];
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(keyword_names, i);
        if (!take_keyword(action, name, arguments[count + i], a)) return false;
    }
    if (count <= 1 && a->keys != NULL) return true;
    PyErr_Format(PyExc_TypeError, "%s() takes one positional argument, the keys, not %zd",
                 action_names[action], count);
    return false;
}

/* Lookups by hash would return true for every key of a filter that needs other hashes. */
static bool check_hashed(FilterObject *self) {
    tamis_facts facts = TAMIS_FACTS_INIT;
    const tamis_filter *filter = filter_read(self);
    if (filter == NULL) return false;
    tamis_status status = tamis_info_brief(filter, &facts);
    filter_read_end(self);
    if (status == TAMIS_OK && !facts.prehashed) status = TAMIS_E_UNSUPPORTED;
    if (status != TAMIS_OK) raise_status(self->state, status, self->name);
    return status == TAMIS_OK;
}

/* ---- entry points */

static PyObject *finish_batch(struct batch *b, PyObject *keys, const struct arguments *a) {
    PyObject *result = NULL;
    if (run_batch(b, keys)) {
        const enum result_form form = a->has_form ? a->form : b->source.mirror;
        result = results_finish(&b->results, b->target.state, form);
    }
    results_free(&b->results);
    return result;
}

PyObject *batch_many(FilterObject *self, enum batch_action action, PyObject *const *arguments,
                     Py_ssize_t count, PyObject *keyword_names) {
    struct arguments a = {.threads = 1};
    if (!take_arguments(action, arguments, count, keyword_names, &a)) return NULL;
    if (a.hashed && !check_hashed(self)) return NULL;
    struct batch b = {.threads = a.threads, .wants_results = true};
    b.target =
        (struct target){.state = self->state, .action = action, .rule = self->rule, .object = self};
    if (a.hashed) take_hashes(&b.target.rule);
    return finish_batch(&b, a.keys, &a);
}

bool batch_update(FilterObject *self, PyObject *keys, unsigned threads) {
    struct batch b = {.threads = threads};
    b.target = (struct target){
        .state = self->state, .action = BATCH_ADD, .rule = self->rule, .object = self};
    return run_batch(&b, keys);
}

bool batch_build(struct state *state, tamis_builder *builder, const struct key_rule *rule,
                 PyObject *keys, bool hashed, unsigned threads, bool (*progress)(void *context),
                 void *context) {
    struct batch b = {.threads = threads, .progress = progress, .context = context};
    b.target =
        (struct target){.state = state, .action = BATCH_ADD, .rule = *rule, .builder = builder};
    if (hashed) take_hashes(&b.target.rule);
    return run_batch(&b, keys);
}

PyObject *batch_container(struct state *state, const tamis_container *container, const char *part,
                          PyObject *keys, PyObject *result) {
    struct arguments a = {.threads = 1};
    if (!take_form(result, &a)) return NULL;
    struct batch b = {.threads = 1, .wants_results = true};
    b.target = (struct target){.state = state,
                               .action = BATCH_CONTAINS,
                               .rule = {.plain = true},
                               .container = container,
                               .part = part};
    return finish_batch(&b, keys, &a);
}
