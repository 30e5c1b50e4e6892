/* containers.c - public entry points: files that hold several filters */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "filter.h"
#include "format/container.h"
#include "format/thrift.h"
#include "tamis.h"

#define SLACK ((uint64_t)1 << 20)

static const struct tamis__holder *const holders[] = {&tamis__leveldb_table, &tamis__rocksdb_table,
                                                      &tamis__parquet_file};

/* By name, or by content. */
static const struct tamis__holder *holder_of(const char *format, const uint8_t *bytes,
                                             uint64_t length) {
    for (size_t i = 0; i < sizeof holders / sizeof *holders; i++) {
        if (format != NULL && strcmp(holders[i]->name, format) != 0) continue;
        if (holders[i]->detect(bytes, length)) return holders[i];
    }
    return NULL;
}

/* A Parquet file has the name of its filters' codec. */
const char *tamis__table_name(size_t index) { return index < 2 ? holders[index]->name : NULL; }

bool tamis__is_container(const char *format, const uint8_t *bytes, uint64_t length) {
    return holder_of(format, bytes, length) != NULL;
}

/* ------------------------------------------------------------------------ opening */

/* No more memory for the parts than the file has bytes, and a little. */
tamis_status tamis__part_add(tamis_container *c, const struct tamis__part *part) {
    if (c->count == c->room) {
        const size_t room = c->room + c->room / 2 + 8;
        if (room * sizeof *part > c->length / 2 + SLACK / 2) return TAMIS_E_UNSUPPORTED;
        struct tamis__part *larger = tamis__alloc(&c->allocator, room * sizeof *larger);
        if (larger == NULL) return TAMIS_E_NOMEM;
        if (c->count != 0) memcpy(larger, c->parts, c->count * sizeof *larger);
        tamis__release(&c->allocator, c->parts, c->room * sizeof *larger);
        c->parts = larger;
        c->room = room;
    }
    c->parts[c->count++] = *part;
    return TAMIS_OK;
}

void tamis_container_free(tamis_container *c) {
    if (c == NULL) return;
    const tamis_allocator a = c->allocator;
    if (c->index_own != NULL) tamis__table_free(&a, c->index_own, c->index_bytes);
    tamis__release(&a, c->parts, c->room * sizeof *c->parts);
    if (c->mapped) {
        struct tamis__mapping m = {(uint8_t *)(uintptr_t)c->bytes, c->length, -1};
        tamis__file_unmap(&m);
    }
    tamis__release(&a, c, sizeof *c);
}

static tamis_status open_bytes(const uint8_t *bytes, uint64_t length,
                               const tamis_open_options *options, bool mapped,
                               tamis_container **out) {
    const struct tamis__holder *holder = holder_of(options->format, bytes, length);
    if (holder == NULL) return TAMIS_E_FORMAT;
    tamis_container *c = tamis__alloc(&options->allocator, sizeof *c);
    if (c == NULL) return TAMIS_E_NOMEM;
    *c = (struct tamis_container){
        .holder = holder, .bytes = bytes, .length = length, .allocator = options->allocator};
    const tamis_status status = holder->open(c);
    if (status != TAMIS_OK) {
        tamis_container_free(c);
        return status;
    }
    c->mapped = mapped;
    *out = c;
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
    return open_bytes(bytes, length, &o, false, out);
}

tamis_status tamis_container_open(const char *path, const tamis_open_options *options,
                                  tamis_container **out) {
    tamis_open_options o;
    struct tamis__mapping m;
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_status status = tamis__open_options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if (path == NULL) return TAMIS_E_ARGUMENT;
    status = tamis__file_map(path, &m);
    if (status != TAMIS_OK) return status;
    status = open_bytes(m.bytes, m.length, &o, true, out);
    if (status != TAMIS_OK) tamis__file_unmap(&m);
    return status;
}

/* -------------------------------------------------------------------------- parts */

const char *tamis_container_format(const tamis_container *c) { return c->holder->name; }

size_t tamis_container_count(const tamis_container *c) { return c->count; }

/* Joins the names of a Parquet column's path by dots; cut if there is no room. */
static size_t write_column(const tamis_container *c, const uint8_t *list, char *to, size_t room) {
    struct tamis__reader r = {list, c->bytes + c->length, false};
    unsigned type;
    size_t used = 0;
    uint64_t names = tamis__thrift_list(&r, &type);
    for (bool first = true; names > 0 && !r.bad; names--, first = false) {
        const uint8_t *name;
        const uint64_t length = tamis__thrift_binary(&r, &name);
        if (!first && used + 1 < room) to[used++] = '.';
        for (uint64_t i = 0; i < length && used + 1 < room; i++) to[used++] = (char)name[i];
    }
    to[used] = '\0';
    return used;
}

static void write_name(const tamis_container *c, size_t index, char name[TAMIS_PART_NAME]) {
    const struct tamis__part *part = &c->parts[index];
    if (part->column == NULL) {
        snprintf(name, TAMIS_PART_NAME, "%zu", index);
        return;
    }
    const int used = snprintf(name, TAMIS_PART_NAME, "%lu/", (unsigned long)part->row_group);
    (void)write_column(c, part->column, name + used, TAMIS_PART_NAME - (size_t)used);
}

tamis_status tamis_container_part(const tamis_container *c, size_t index, tamis_part *part) {
    if (c == NULL || part == NULL || index >= c->count) return TAMIS_E_ARGUMENT;
    if (part->struct_size < offsetof(tamis_part, row_group)) return TAMIS_E_ARGUMENT;
    tamis_part all = {.struct_size = part->struct_size,
                      .format = c->holder->codec->name,
                      .offset = c->parts[index].offset,
                      .bytes = c->parts[index].bytes,
                      .row_group = c->parts[index].row_group};
    write_name(c, index, all.name);
    memcpy(part, &all, all.struct_size < sizeof all ? all.struct_size : sizeof all);
    return TAMIS_OK;
}

/* "2/zip" is a part, "zip" all parts of that column. */
static bool is_named(const tamis_container *c, size_t index, const char *name) {
    char own[TAMIS_PART_NAME];
    write_name(c, index, own);
    if (strcmp(own, name) == 0) return true;
    const char *slash = c->parts[index].column == NULL ? NULL : strchr(own, '/');
    return slash != NULL && strcmp(slash + 1, name) == 0;
}

/* The filter of a part over the bytes where they are. */
static tamis_status part_view(const tamis_container *c, size_t index, tamis_filter **out) {
    const struct tamis__part *part = &c->parts[index];
    const struct tamis__codec *codec = c->holder->codec;
    const tamis_filter like = {.codec = codec, .allocator = c->allocator};
    const tamis_open_options options = {.struct_size = sizeof options};
    return codec->decode(c->bytes + part->offset, part->bytes, &like, &options, out);
}

/* RocksDB's filter of no keys may have no bytes; elsewhere that means that there is none. */
static bool has_filter(const tamis_container *c, size_t index) {
    return c->parts[index].bytes != 0 || c->holder == &tamis__rocksdb_table;
}

tamis_status tamis_container_filter(const tamis_container *c, size_t index, tamis_filter **out) {
    tamis_filter *view;
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    if (c == NULL || index >= c->count) return TAMIS_E_ARGUMENT;
    if (!has_filter(c, index)) return TAMIS_E_PART;
    tamis_status status = part_view(c, index, &view);
    if (status != TAMIS_OK) return status;
    status = tamis_clone(view, out);
    tamis_free(view);
    return status;
}

tamis_status tamis__container_pick(const tamis_container *c, const char *part, tamis_filter **out) {
    size_t found = 0, index = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (!has_filter(c, i) || (part != NULL && !is_named(c, i, part))) continue;
        index = i;
        found++;
    }
    return found == 1 ? tamis_container_filter(c, index, out) : TAMIS_E_PART;
}

/* ------------------------------------------------------------------------- asking */

/* LevelDB: no bytes, no keys.  Parquet: no filter, anything. */
static bool part_contains(const tamis_container *c, size_t index, const void *key, size_t length) {
    tamis_filter *view;
    if (!has_filter(c, index)) return c->holder != &tamis__leveldb_table;
    if (part_view(c, index, &view) != TAMIS_OK) return true;
    const bool maybe = tamis_contains(view, key, length);
    tamis_free(view);
    return maybe;
}

bool tamis_container_contains(const tamis_container *c, const char *part, const void *key,
                              size_t length) {
    bool absent = false, asked = false;
    if (part == NULL && c->holder->cover != NULL && !c->other_order) {
        if (c->count == 0) return true;
        const size_t index = c->holder->cover(c, key, length, &absent);
        return index < c->count ? part_contains(c, index, key, length) : !absent;
    }
    for (size_t i = 0; i < c->count; i++) {
        if (part != NULL && !is_named(c, i, part)) continue;
        if (part_contains(c, i, key, length)) return true;
        asked = true;
    }
    return !asked;
}

/* ---------------------------------------------------------------------- replacing */

tamis_status tamis_container_replace(const tamis_container *c, size_t index,
                                     const tamis_filter *filter, const char *path, bool replace) {
    if (c == NULL || filter == NULL || path == NULL || index >= c->count) return TAMIS_E_ARGUMENT;
    const struct tamis__part *part = &c->parts[index];
    if (c->holder != &tamis__parquet_file) return TAMIS_E_UNSUPPORTED; /* others have checksums */
    if (part->bytes == 0) return TAMIS_E_PART;
    if (filter->codec != c->holder->codec || tamis_encoded_size(filter) != part->bytes) {
        return TAMIS_E_UNLIKE;
    }
    tamis_status status = tamis__filter_trust(filter);
    if (status != TAMIS_OK) return status;
    uint8_t *bytes = tamis__table_alloc(&c->allocator, part->bytes);
    if (bytes == NULL) return TAMIS_E_NOMEM;
    status = filter->codec->encode(filter, bytes);
    const uint64_t after = part->offset + part->bytes;
    const struct tamis__span spans[3] = {
        {c->bytes, part->offset}, {bytes, part->bytes}, {c->bytes + after, c->length - after}};
    if (status == TAMIS_OK) status = tamis__file_write(path, replace, -1, spans, 3);
    const int why = errno;
    tamis__table_free(&c->allocator, bytes, part->bytes);
    errno = why;
    return status;
}
