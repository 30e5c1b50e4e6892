/* layout.c - which Arrow columns can be keys, and how their values are read */
#include "arrow.h"

#include <string.h>

/* ---- types */

static void set_fixed(struct layout *layout, enum element_type type, bool is_unsigned,
                      size_t width) {
    *layout =
        (struct layout){.type = LAYOUT_FIXED,
                        .elements = {.type = type, .is_unsigned = is_unsigned, .width = width}};
}

bool layout_of_integers(const char *format, struct layout *layout) {
    static const char letters[] = "cCsSiIlL"; /* 8, 16, 32 and 64 bits, signed and unsigned */
    if (format[0] == '\0' || format[1] != '\0') return false;
    const char *found = strchr(letters, format[0]);
    if (found == NULL) return false;
    const size_t index = (size_t)(found - letters);
    set_fixed(layout, ELEMENT_INTEGER, index % 2 != 0, (size_t)1 << index / 2);
    return true;
}

/* "w:16": bytes of a fixed width */
static bool layout_of_fixed(const char *format, struct layout *layout) {
    if (strncmp(format, "w:", 2) != 0) return false;
    const char *at = format + 2;
    size_t width = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        width = width * 10 + (size_t)(*at - '0');
        if (width > INT32_MAX) return false;
    }
    if (at == format + 2 || *at != '\0') return false;
    set_fixed(layout, ELEMENT_BYTES, false, width);
    return true;
}

static bool layout_of_strings(const char *format, struct layout *layout) {
    static const struct {
        const char *format;
        enum layout_type type;
    } known[] = {{"u", LAYOUT_SHORT}, {"z", LAYOUT_SHORT}, {"U", LAYOUT_LONG}, {"Z", LAYOUT_LONG},
                 {"vu", LAYOUT_VIEW}, {"vz", LAYOUT_VIEW}, {"n", LAYOUT_NULL}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(format, known[i].format) != 0) continue;
        *layout = (struct layout){.type = known[i].type};
        return true;
    }
    return false;
}

static bool layout_of_floats(const char *format, struct layout *layout) {
    if (strcmp(format, "f") != 0 && strcmp(format, "g") != 0) return false;
    set_fixed(layout, ELEMENT_FLOAT, false, format[0] == 'f' ? 4 : 8);
    return true;
}

static bool refuse_format(const char *format) {
    const char *cure = "cast them to a string or integer type";
    if (format[0] == 't') cure = "cast them to int64, or int32 for date32 and time32";
    if (format[0] == 'b') cure = "cast them to int8";
    PyErr_Format(PyExc_TypeError, "values of the Arrow format '%s' are not keys: %s", format, cure);
    return false;
}

bool layout_of_schema(const struct ArrowSchema *schema, const struct key_rule *rule,
                      struct layout *layout) {
    const char *format = schema->format;
    if (format == NULL || schema->dictionary != NULL) {
        return refuse_format(format == NULL ? "" : "dictionary");
    }
    if (layout_of_floats(format, layout)) return elements_are_keys(ELEMENT_FLOAT, rule);
    return layout_of_integers(format, layout) || layout_of_strings(format, layout) ||
           layout_of_fixed(format, layout) || refuse_format(format);
}

/* ---- arrays */

static bool raise_unsound(const char *what) {
    PyErr_Format(PyExc_ValueError, "the Arrow array is invalid: %s", what);
    return false;
}

bool array_is_sound(const struct ArrowArray *array, int64_t buffers) {
    if (array->length < 0 || array->offset < 0 || array->length > INT64_MAX / 64 ||
        array->offset > INT64_MAX / 64) {
        return raise_unsound("its length or offset is out of range");
    }
    if (array->n_buffers < buffers || (buffers > 0 && array->buffers == NULL)) {
        return raise_unsound("buffers are missing");
    }
    return true;
}

static int64_t buffers_of(enum layout_type type) {
    static const int64_t buffers[] = {0, 2, 3, 3, 3};
    return buffers[type];
}

/* After the views come any number of buffers, and one with their sizes. */
static bool set_views(const struct ArrowArray *array, struct values *values) {
    values->starts = array->buffers[1];
    values->buffers = array->buffers + 2;
    values->buffer_count = array->n_buffers - 3;
    values->sizes = (const uint8_t *)array->buffers[array->n_buffers - 1];
    return values->buffer_count == 0 || values->sizes != NULL ||
           raise_unsound("the sizes of its buffers are missing");
}

static bool set_buffers(const struct ArrowArray *array, struct values *values) {
    struct elements *e = &values->layout.elements;
    if (values->layout.type == LAYOUT_NULL) return true;
    if (array->null_count != 0) values->valid = (const uint8_t *)array->buffers[0];
    const bool is_empty = values->layout.type == LAYOUT_FIXED && e->width == 0;
    if (array->length > 0 && array->buffers[1] == NULL && !is_empty) {
        return raise_unsound("its second buffer is missing");
    }
    if (values->layout.type == LAYOUT_VIEW) return set_views(array, values);
    values->starts = array->buffers[1];
    if (values->layout.type != LAYOUT_FIXED) values->bytes = (const uint8_t *)array->buffers[2];
    e->stride = (ptrdiff_t)e->width;
    e->first = array->buffers[1] == NULL
                   ? (const uint8_t *)""
                   : (const uint8_t *)array->buffers[1] + values->offset * e->width;
    return true;
}

bool values_of_array(const struct ArrowArray *array, const struct layout *layout,
                     struct values *values) {
    if (!array_is_sound(array, buffers_of(layout->type))) return false;
    *values = (struct values){
        .layout = *layout, .offset = (size_t)array->offset, .length = (size_t)array->length};
    return set_buffers(array, values);
}

/* ---- reading */

#define TEMPLATE static inline __attribute__((always_inline))

TEMPLATE int64_t load_offset(const void *offsets, size_t i, bool is_long) {
    int64_t wide;
    int32_t narrow;
    if (is_long) {
        memcpy(&wide, (const uint8_t *)offsets + 8 * i, 8);
        return wide;
    }
    memcpy(&narrow, (const uint8_t *)offsets + 4 * i, 4);
    return narrow;
}

static bool fail_offsets(struct group *group, size_t key, int64_t start, int64_t end) {
    return group_fail(group, key, "the Arrow array is invalid: offsets %lld and %lld",
                      (long long)start, (long long)end);
}

/* Keys between offsets, which must be positive and not decrease. */
TEMPLATE bool fill_between(const struct values *v, const size_t *picks, size_t from,
                           struct group *group, bool is_long) {
    const uint8_t *bytes = v->bytes == NULL ? (const uint8_t *)"" : v->bytes;
    const int64_t limit = v->bytes == NULL ? 0 : INT64_MAX;
    int64_t start = picks == NULL ? load_offset(v->starts, v->offset + from, is_long) : 0;
    for (size_t i = 0; i < group->count; i++) {
        const size_t at = v->offset + (picks == NULL ? from + i : picks[i]);
        if (picks != NULL) start = load_offset(v->starts, at, is_long);
        const int64_t end = load_offset(v->starts, at + 1, is_long);
        if (start < 0 || end < start || end > limit) return fail_offsets(group, i, start, end);
        group_set_text(group, i, bytes + start, (size_t)(end - start));
        if (picks == NULL) start = end;
    }
    return true;
}

static bool fill_short(const struct values *v, const size_t *picks, size_t from,
                       struct group *group) {
    return picks == NULL ? fill_between(v, NULL, from, group, false)
                         : fill_between(v, picks, from, group, false);
}

static bool fill_long(const struct values *v, const size_t *picks, size_t from,
                      struct group *group) {
    return picks == NULL ? fill_between(v, NULL, from, group, true)
                         : fill_between(v, picks, from, group, true);
}

/* A string of up to 12 bytes is in its view; that of a longer one has the number of a buffer and
 * the offset in it.  NULL: the view is invalid. */
static const uint8_t *find_viewed(const struct values *v, const uint8_t *view, size_t *length) {
    int32_t field[4]; /* length, first bytes, buffer, offset */
    memcpy(field, view, sizeof field);
    *length = (size_t)field[0];
    if (field[0] >= 0 && field[0] <= 12) return view + 4;
    if (field[0] < 0 || field[2] < 0 || field[2] >= v->buffer_count || field[3] < 0) return NULL;
    int64_t size;
    memcpy(&size, v->sizes + 8 * (size_t)field[2], sizeof size);
    const uint8_t *buffer = (const uint8_t *)v->buffers[field[2]];
    return buffer == NULL || (int64_t)field[3] + field[0] > size ? NULL : buffer + field[3];
}

static bool fill_views(const struct values *v, const size_t *picks, size_t from,
                       struct group *group) {
    for (size_t i = 0; i < group->count; i++) {
        const size_t at = v->offset + (picks == NULL ? from + i : picks[i]);
        const uint8_t *view = (const uint8_t *)v->starts + 16 * at;
        size_t length;
        const uint8_t *bytes = find_viewed(v, view, &length);
        if (bytes == NULL) {
            return group_fail(group, i, "the Arrow array is invalid: a view is out of range");
        }
        group_set_text(group, i, bytes, length);
    }
    return true;
}

bool values_fill(const struct values *values, const struct key_rule *rule, const size_t *picks,
                 size_t from, size_t count, struct group *group) {
    group->count = count;
    group->hashed = false;
    group->keys = group->key_room;
    group->lengths = group->length_room;
    bool filled = true;
    switch (values->layout.type) {
        case LAYOUT_FIXED:
            return elements_fill(&values->layout.elements, rule, picks, from, count, group);
        case LAYOUT_SHORT:
            filled = fill_short(values, picks, from, group);
            break;
        case LAYOUT_LONG:
            filled = fill_long(values, picks, from, group);
            break;
        case LAYOUT_VIEW:
            filled = fill_views(values, picks, from, group);
            break;
        case LAYOUT_NULL:
            group->count = 0;
    }
    return filled && group_texts(group, rule);
}
