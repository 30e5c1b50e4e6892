/* parquet_file.c - the Bloom filters of a Parquet file
 *
 *     "PAR1" | column chunks, filters, ... | footer | u32le bytes of the footer | "PAR1"
 *
 * The footer is a FileMetaData in Thrift's compact protocol.  A row group (its field 4) has
 * column chunks (field 1), a chunk has metadata (field 3), and in it
 *     3   path of the column's name        14  offset of its filter
 *     15  length of its filter, header included; older writers leave it out
 * Chunks may have no filter: then any key may be in them.  Follows version 2 of the format.
 * Files whose footer is encrypted ("PARE") are not read, nor are encrypted columns' filters. */

#include "compat/parquet/parquet.h"
#include "compat/parquet/thrift.h"
#include "core/text.h"

#define EDGE 4
#define TAIL 8

enum { FILE_ROW_GROUPS = 4 };
enum { GROUP_COLUMNS = 1 };
enum { CHUNK_METADATA = 3, CHUNK_CRYPTO = 8 };
enum { META_PATH = 3, META_FILTER_OFFSET = 14, META_FILTER_LENGTH = 15 };

static bool file_detect(const uint8_t *bytes, uint64_t length) {
    return length >= EDGE + TAIL && memcmp(bytes, "PAR1", EDGE) == 0 &&
           memcmp(bytes + length - EDGE, "PAR1", EDGE) == 0;
}

/* ---- the footer */

struct chunk {
    const uint8_t *path; /* the list of names; NULL: none */
    int64_t offset, length;
    bool encrypted;
};

static void read_metadata(struct tamis__reader *r, struct chunk *chunk) {
    struct tamis__thrift_field field = {0, 0};
    while (tamis__thrift_next(r, &field)) {
        if (field.id == META_FILTER_OFFSET && field.type == TAMIS__THRIFT_I64) {
            chunk->offset = tamis__thrift_integer(r);
        } else if (field.id == META_FILTER_LENGTH && field.type == TAMIS__THRIFT_I32) {
            chunk->length = tamis__thrift_integer(r);
        } else {
            if (field.id == META_PATH && field.type == TAMIS__THRIFT_LIST) chunk->path = r->at;
            tamis__thrift_skip(r, field.type);
        }
    }
}

static void read_chunk(struct tamis__reader *r, struct chunk *chunk) {
    struct tamis__thrift_field field = {0, 0};
    while (tamis__thrift_next(r, &field)) {
        if (field.id == CHUNK_METADATA && field.type == TAMIS__THRIFT_STRUCT) {
            read_metadata(r, chunk);
        } else {
            if (field.id == CHUNK_CRYPTO) chunk->encrypted = true;
            tamis__thrift_skip(r, field.type);
        }
    }
}

/* The filter must lie before the footer.  A chunk without one is a part of no bytes. */
static tamis_status add_chunk(tamis_container *c, const struct chunk *chunk, uint32_t row_group,
                              uint64_t end) {
    struct tamis__part part = {.label = chunk->path, .row_group = row_group};
    if (chunk->path == NULL) return TAMIS_E_CORRUPT;
    if (chunk->offset != 0 && !chunk->encrypted) {
        if (chunk->offset < EDGE || (uint64_t)chunk->offset >= end || chunk->length < 0) {
            return TAMIS_E_CORRUPT;
        }
        part.offset = (uint64_t)chunk->offset;
        const uint64_t room = end - part.offset;
        if ((uint64_t)chunk->length > room) return TAMIS_E_CORRUPT;
        const tamis_status status = tamis__parquet_measure(
            c->bytes + part.offset, chunk->length == 0 ? room : (uint64_t)chunk->length,
            &part.bytes);
        if (status != TAMIS_OK) return status;
    }
    return tamis__part_add(c, &part);
}

static tamis_status read_row_group(tamis_container *c, struct tamis__reader *r, uint32_t row_group,
                                   uint64_t end) {
    struct tamis__thrift_field field = {0, 0};
    tamis_status status = TAMIS_OK;
    while (tamis__thrift_next(r, &field)) {
        unsigned type;
        if (field.id != GROUP_COLUMNS || field.type != TAMIS__THRIFT_LIST) {
            tamis__thrift_skip(r, field.type);
            continue;
        }
        const uint64_t columns = tamis__thrift_list(r, &type);
        if (type != TAMIS__THRIFT_STRUCT) return TAMIS_E_CORRUPT;
        for (uint64_t i = 0; i < columns && status == TAMIS_OK; i++) {
            struct chunk chunk = {NULL, 0, 0, false};
            read_chunk(r, &chunk);
            status = r->bad ? TAMIS_E_CORRUPT : add_chunk(c, &chunk, row_group, end);
        }
        if (status != TAMIS_OK) return status;
    }
    return r->bad ? TAMIS_E_CORRUPT : TAMIS_OK;
}

static tamis_status file_open(tamis_container *c) {
    const uint8_t *tail = c->bytes + c->length - TAIL;
    const uint64_t footer = tamis__load32_once(tail);
    if (footer > c->length - EDGE - TAIL) return TAMIS_E_TRUNCATED;
    struct tamis__reader r = {tail - footer, tail, false};
    struct tamis__thrift_field field = {0, 0};
    while (tamis__thrift_next(&r, &field)) {
        unsigned type;
        if (field.id != FILE_ROW_GROUPS || field.type != TAMIS__THRIFT_LIST) {
            tamis__thrift_skip(&r, field.type);
            continue;
        }
        const uint64_t groups = tamis__thrift_list(&r, &type);
        if ((groups != 0 && type != TAMIS__THRIFT_STRUCT) || groups > UINT32_MAX) {
            return TAMIS_E_CORRUPT;
        }
        for (uint64_t i = 0; i < groups; i++) {
            const tamis_status status =
                read_row_group(c, &r, (uint32_t)i, c->length - TAIL - footer);
            if (status != TAMIS_OK) return status;
        }
    }
    return r.bad ? TAMIS_E_CORRUPT : TAMIS_OK;
}

/* ---- names: the row group, and the path of the column joined by dots; cut if it is too long */

static void write_path(const tamis_container *c, const uint8_t *list, char *to, size_t room) {
    struct tamis__reader r = {list, c->bytes + c->length, false};
    unsigned type;
    size_t used = 0;
    uint64_t names = tamis__thrift_list(&r, &type);
    for (bool first = true; names > 0 && !r.bad && used + 1 < room; names--, first = false) {
        const uint8_t *name;
        const uint64_t length = tamis__thrift_binary(&r, &name);
        if (!first) to[used++] = '.';
        for (uint64_t i = 0; i < length && used + 1 < room; i++) to[used++] = (char)name[i];
    }
    to[used] = '\0';
}

static void part_name(const tamis_container *c, size_t index, char name[TAMIS_PART_NAME]) {
    const struct tamis__part *part = &c->parts[index];
    size_t used = tamis__text_put_number(name, TAMIS_PART_NAME, part->row_group);
    used += tamis__text_put(name + used, TAMIS_PART_NAME - used, "/");
    write_path(c, part->label, name + used, TAMIS_PART_NAME - used);
}

const struct tamis__container_format tamis__parquet_file = {
    .name = "parquet",
    .about = "Parquet file: a filter for a column chunk or none",
    .codec = &tamis__parquet,
    .empty = TAMIS__EMPTY_MATCHES_ALL,
    .replaceable = true,
    .detect = file_detect,
    .open = file_open,
    .part_name = part_name,
};
