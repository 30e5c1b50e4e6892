/* thrift.c - see thrift.h */
#include "compat/parquet/thrift.h"

#define DEPTH_MAX 16 /* Parquet's structures nest up to eight */

static uint64_t read_varint(struct tamis__reader *r) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        const uint8_t byte = tamis__read8(r);
        if (r->bad || (shift == 63 && byte > 1)) break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    r->bad = true;
    return 0;
}

int64_t tamis__thrift_integer(struct tamis__reader *r) {
    const uint64_t zigzag = read_varint(r);
    return (int64_t)(zigzag >> 1 ^ (0 - (zigzag & 1)));
}

uint64_t tamis__thrift_binary(struct tamis__reader *r, const uint8_t **bytes) {
    const uint64_t length = read_varint(r);
    if (length > (uint64_t)(r->end - r->at)) r->bad = true;
    *bytes = r->bad ? NULL : tamis__read_bytes(r, (size_t)length);
    return r->bad ? 0 : length;
}

/* Every element takes at least one byte (a struct: its end). */
uint64_t tamis__thrift_list(struct tamis__reader *r, unsigned *type) {
    const uint8_t head = tamis__read8(r);
    uint64_t count = head >> 4;
    *type = head & 15;
    if (count == 15) count = read_varint(r);
    if (count > (uint64_t)(r->end - r->at)) r->bad = true;
    return r->bad ? 0 : count;
}

bool tamis__thrift_next(struct tamis__reader *r, struct tamis__thrift_field *field) {
    const uint8_t head = tamis__read8(r);
    field->type = head & 15;
    if (r->bad || head == TAMIS__THRIFT_STOP) return false;
    const int64_t id = head >> 4 != 0 ? field->id + (head >> 4) : tamis__thrift_integer(r);
    if (id <= field->id || id > INT16_MAX) r->bad = true; /* writers use ascending ids */
    field->id = (int32_t)id;
    return !r->bad;
}

static void skip(struct tamis__reader *r, unsigned type, unsigned depth, bool element);

static void skip_struct(struct tamis__reader *r, unsigned depth) {
    struct tamis__thrift_field field = {0, 0};
    while (tamis__thrift_next(r, &field)) skip(r, field.type, depth, false);
}

static void skip_list(struct tamis__reader *r, unsigned depth) {
    unsigned type;
    uint64_t count = tamis__thrift_list(r, &type);
    while (count-- > 0 && !r->bad) skip(r, type, depth, true);
}

static void skip_map(struct tamis__reader *r, unsigned depth) {
    const uint64_t count = read_varint(r);
    const uint8_t types = count == 0 ? 0 : tamis__read8(r);
    if (count > (uint64_t)(r->end - r->at)) r->bad = true;
    for (uint64_t i = 0; i < count && !r->bad; i++) {
        skip(r, types >> 4, depth, true);
        skip(r, types & 15, depth, true);
    }
}

/* A bool of a field is in its head; one of a list is a byte. */
static void skip(struct tamis__reader *r, unsigned type, unsigned depth, bool element) {
    const uint8_t *ignored;
    if (depth == 0) r->bad = true;
    if (r->bad) return;
    switch (type) {
        case TAMIS__THRIFT_TRUE:
        case TAMIS__THRIFT_FALSE:
            if (element) (void)tamis__read8(r);
            return;
        case TAMIS__THRIFT_BYTE:
            (void)tamis__read8(r);
            return;
        case TAMIS__THRIFT_I16:
        case TAMIS__THRIFT_I32:
        case TAMIS__THRIFT_I64:
            (void)read_varint(r);
            return;
        case TAMIS__THRIFT_DOUBLE:
            (void)tamis__read64(r);
            return;
        case TAMIS__THRIFT_BINARY:
            (void)tamis__thrift_binary(r, &ignored);
            return;
        case TAMIS__THRIFT_LIST:
        case TAMIS__THRIFT_SET:
            skip_list(r, depth - 1);
            return;
        case TAMIS__THRIFT_MAP:
            skip_map(r, depth - 1);
            return;
        case TAMIS__THRIFT_STRUCT:
            skip_struct(r, depth - 1);
            return;
        default:
            r->bad = true;
    }
}

void tamis__thrift_skip(struct tamis__reader *r, unsigned type) { skip(r, type, DEPTH_MAX, false); }
