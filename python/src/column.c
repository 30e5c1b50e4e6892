/* column.c - groups of keys, and sources of a single column */
#include "column.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct group *group_new(void) {
    return (struct group *)calloc(1, sizeof(struct group));
}

void group_free(struct group *group) {
    if (group == NULL) return;
    free(group->texts.at);
    free(group->made.at);
    free(group);
}

bool group_fail(struct group *group, size_t key, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(group->error, sizeof group->error, format, arguments);
    va_end(arguments);
    group->error_row = group->sparse ? group->rows[key] : key;
    return false;
}

size_t group_rows(const struct group *group, size_t rows, size_t keys) {
    if (group->count == keys) return rows;
    return group->sparse ? group->rows[group->count] : group->count;
}

/* ---- texts */

bool memory_reserve(struct memory *memory, size_t size) {
    if (size <= memory->size) return true;
    free(memory->at);
    memory->at = malloc(size);
    memory->size = memory->at == NULL ? 0 : size;
    return memory->at != NULL;
}

/* How many of the texts fit into the memory of a group, and the memory that they need. */
static size_t count_that_fit(const struct group *group, size_t *bytes) {
    size_t count = 0;
    for (*bytes = 0; count < group->count; count++) {
        const size_t more = key_made_bytes(group->length_room[count]);
        if (count > 0 && (more > GROUP_BYTES || *bytes + more > GROUP_BYTES)) break;
        *bytes += more;
    }
    return count;
}

bool group_texts(struct group *group, const struct key_rule *rule) {
    if (rule->plain) return true;
    size_t bytes;
    group->count = count_that_fit(group, &bytes);
    if (!memory_reserve(&group->made, bytes)) return group_fail(group, 0, "%s", "");
    uint8_t *made = (uint8_t *)group->made.at;
    for (size_t i = 0; i < group->count; i++) {
        const size_t length = group->length_room[i];
        char error[ERROR_SIZE];
        if (!key_of_text(rule, group->key_room[i], length, made, &group->key_room[i],
                         &group->length_room[i], &group->words[i], error)) {
            return group_fail(group, i, "%s", error);
        }
        made += key_made_bytes(length);
    }
    group->hashed = rule->prehashed;
    group->hashes = group->words;
    return true;
}

/* ---- a source of one column */

int single_next(struct source *source, struct column *column) {
    struct single *single = (struct single *)source->detail;
    if (single->done) return 0;
    *column = single->column;
    single->done = true;
    return 1;
}

bool open_converted(struct source *source, source_opener *open, const char *module,
                    const char *function, PyObject *keys) {
    PyObject *imported = PyImport_ImportModule(module);
    PyObject *converted =
        imported == NULL ? NULL : PyObject_CallMethod(imported, function, "O", keys);
    const bool opened = converted != NULL && open(source, converted);
    Py_XDECREF(converted);
    Py_XDECREF(imported);
    return opened;
}

bool is_instance(PyObject *object, const char *module, const char *name) {
    PyObject *key = PyUnicode_FromString(module);
    PyObject *imported = key == NULL ? NULL : PyImport_GetModule(key);
    PyObject *class = imported == NULL ? NULL : PyObject_GetAttrString(imported, name);
    const int found = class == NULL ? 0 : PyObject_IsInstance(object, class);
    Py_XDECREF(class);
    Py_XDECREF(imported);
    Py_XDECREF(key);
    if (found != 1) PyErr_Clear();
    return found == 1;
}
