/* containers.c - entry points: files that hold several filters */
#include <stddef.h>
#include <string.h>

#include "api/api.h"
#include "compat/registry.h"
#include "file/file.h"
#include "file/native.h"
#include "file/save.h"
#include "tamis.h"

const struct tamis__container_format *tamis__container_detect(const char *format,
                                                              const uint8_t *bytes,
                                                              uint64_t length) {
    const struct tamis__container_format *f;
    if (tamis__native_begins(bytes, length)) return NULL;
    for (size_t i = 0; (f = tamis__container_format_at(i)) != NULL; i++) {
        if (format != NULL && strcmp(f->name, format) != 0) continue;
        if (f->detect(bytes, length)) return f;
    }
    return NULL;
}

/* ------------------------------------------------------------------------ opening */

void tamis_container_free(tamis_container *c) {
    if (c == NULL) return;
    const tamis_allocator a = c->allocator;
    if (c->format->close != NULL) c->format->close(c);
    tamis__release(&a, c->parts, c->room * sizeof *c->parts);
    const struct tamis__file file = {(uint8_t *)(uintptr_t)c->bytes, c->length, c->storage,
                                     c->block_bytes, -1};
    if (c->storage != TAMIS__BORROWED) tamis__file_close(&file, &a);
    tamis__release(&a, c, sizeof *c);
}

static tamis_status open_bytes(const uint8_t *bytes, uint64_t length,
                               const tamis_open_options *options, tamis_container **out) {
    const struct tamis__container_format *format =
        tamis__container_detect(options->format, bytes, length);
    if (format == NULL) return TAMIS_E_FORMAT;
    tamis_container *c = tamis__alloc(&options->allocator, sizeof *c);
    if (c == NULL) return TAMIS_E_NOMEM;
    *c = (struct tamis_container){.format = format,
                                  .bytes = bytes,
                                  .length = length,
                                  .storage = TAMIS__BORROWED,
                                  .allocator = options->allocator};
    const tamis_status status = format->open(c);
    if (status != TAMIS_OK) {
        tamis_container_free(c);
        return status;
    }
    *out = c;
    return TAMIS_OK;
}

tamis_status tamis__container_take(const struct tamis__file *bytes,
                                   const tamis_open_options *options, tamis_container **out) {
    const tamis_status status = open_bytes(bytes->bytes, bytes->length, options, out);
    if (status != TAMIS_OK) {
        tamis__file_close(bytes, &options->allocator);
        return status;
    }
    (*out)->storage = bytes->storage;
    (*out)->block_bytes = bytes->room;
    return TAMIS_OK;
}

tamis_status tamis_container_view(const void *bytes, size_t length,
                                  const tamis_open_options *options, tamis_container **out) {
    tamis_open_options o;
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    const tamis_status status = tamis__open_options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if (bytes == NULL && length != 0) return TAMIS_E_ARGUMENT;
    return open_bytes(bytes, length, &o, out);
}

tamis_status tamis_container_open(const char *path, const tamis_open_options *options,
                                  tamis_container **out) {
    tamis_open_options o;
    struct tamis__file bytes;
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_status status = tamis__open_options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if (path == NULL) return TAMIS_E_ARGUMENT;
    const struct tamis__file_how how = {true, o.wait_ms, &o.allocator};
    status = tamis__file_open(path, &how, &bytes);
    return status == TAMIS_OK ? tamis__container_take(&bytes, &o, out) : status;
}

/* -------------------------------------------------------------------------- parts */

const char *tamis_container_format(const tamis_container *c) { return c->format->name; }

size_t tamis_container_count(const tamis_container *c) { return c->count; }

tamis_status tamis_container_part(const tamis_container *c, size_t index, tamis_part *part) {
    if (c == NULL || part == NULL || index >= c->count) return TAMIS_E_ARGUMENT;
    tamis_part all = {.format = c->format->codec->name,
                      .offset = c->parts[index].offset,
                      .bytes = c->parts[index].bytes,
                      .row_group = c->parts[index].row_group};
    tamis__part_name(c, index, all.name);
    return tamis__struct_copy(part, part->struct_size, offsetof(tamis_part, row_group), &all,
                              sizeof all);
}

tamis_status tamis_container_filter(const tamis_container *c, size_t index, tamis_filter **out) {
    tamis_filter *view;
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    if (c == NULL || index >= c->count) return TAMIS_E_ARGUMENT;
    if (!tamis__part_has_filter(c, index)) return TAMIS_E_PART;
    tamis_status status = tamis__part_view(c, index, &c->allocator, &view);
    if (status != TAMIS_OK) return status;
    status = tamis_clone(view, out);
    tamis_free(view);
    return status;
}

tamis_status tamis__container_pick(const tamis_container *c, const char *part, tamis_filter **out) {
    size_t found = 0, index = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (!tamis__part_has_filter(c, i) || (part != NULL && !tamis__part_is(c, i, part)))
            continue;
        index = i;
        found++;
    }
    return found == 1 ? tamis_container_filter(c, index, out) : TAMIS_E_PART;
}

/* ------------------------------------------------------------------------ queries */

/* A lookup has no status, so it should not run out of memory: the object of its filter, which is
 * all that is allocated, is on the stack. */
struct scratch {
    _Alignas(max_align_t) uint8_t bytes[1024];
    const tamis_allocator *more; /* for what does not fit */
    bool used;
};

static void *scratch_alloc(void *context, size_t size) {
    struct scratch *s = context;
    if (s->used || size > sizeof s->bytes) return tamis__alloc(s->more, size);
    s->used = true;
    return s->bytes;
}

static void scratch_free(void *context, void *block, size_t size) {
    struct scratch *s = context;
    if (block != s->bytes) tamis__release(s->more, block, size);
}

static bool part_contains(const tamis_container *c, size_t index, const void *key, size_t length) {
    struct scratch scratch;
    scratch.more = &c->allocator;
    scratch.used = false;
    const tamis_allocator a = {.alloc = scratch_alloc, .free = scratch_free, .context = &scratch};
    tamis_filter *view;
    if (!tamis__part_has_filter(c, index)) return c->format->empty == TAMIS__EMPTY_MATCHES_ALL;
    if (tamis__part_view(c, index, &a, &view) != TAMIS_OK) return true;
    const bool maybe = tamis_contains(view, key, length);
    tamis_free(view);
    return maybe;
}

/* Any part, or any part of that name; true if there is none. */
static bool any_contains(const tamis_container *c, const char *part, const void *key,
                         size_t length) {
    bool queried = false;
    for (size_t i = 0; i < c->count; i++) {
        if (part != NULL && !tamis__part_is(c, i, part)) continue;
        if (part_contains(c, i, key, length)) return true;
        queried = true;
    }
    return !queried;
}

bool tamis_container_contains(const tamis_container *c, const char *part, const void *key,
                              size_t length) {
    size_t index;
    if (part != NULL || c->format->cover == NULL) return any_contains(c, part, key, length);
    switch (c->format->cover(c, key, length, &index)) {
        case TAMIS__COVERED_BY_ALL:
            return any_contains(c, NULL, key, length);
        case TAMIS__COVERED_BY_ONE:
            return part_contains(c, index, key, length);
        case TAMIS__COVERED_BY_NONE:
            return false;
        default:
            return true;
    }
}

/* ---------------------------------------------------------------------- replacing */

tamis_status tamis_container_replace(const tamis_container *c, size_t index,
                                     const tamis_filter *filter, const char *path, bool replace) {
    if (c == NULL || filter == NULL || path == NULL || index >= c->count) return TAMIS_E_ARGUMENT;
    const struct tamis__part *part = &c->parts[index];
    if (!c->format->replaceable) return TAMIS_E_UNSUPPORTED;
    if (part->bytes == 0) return TAMIS_E_PART;
    if (filter->settings.codec != c->format->codec || tamis_encoded_size(filter) != part->bytes) {
        return TAMIS_E_MISMATCH;
    }
    tamis_status status = tamis__filter_trust(filter);
    if (status != TAMIS_OK) return status;
    uint8_t *bytes = tamis__table_alloc(&c->allocator, part->bytes);
    if (bytes == NULL) return TAMIS_E_NOMEM;
    filter->settings.codec->encode(filter, bytes, part->bytes);
    const uint64_t after = part->offset + part->bytes;
    const struct tamis__span spans[3] = {
        {c->bytes, part->offset}, {bytes, part->bytes}, {c->bytes + after, c->length - after}};
    status = tamis__file_save(path, replace, -1, spans, 3);
    tamis__table_free(&c->allocator, bytes, part->bytes);
    return status;
}
