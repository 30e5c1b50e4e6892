/* thrift.h - a reader of Thrift's compact protocol, as far as Parquet needs it
 *
 * A struct is a list of fields, each with a byte of type and distance to the field before it,
 * and ends with a zero byte.  Integers are variable-length and zigzag.  The reader has a sticky
 * error; it skips unknown fields, to a bounded depth, because the bytes are untrusted. */
#ifndef TAMIS_COMPAT_PARQUET_THRIFT_H
#define TAMIS_COMPAT_PARQUET_THRIFT_H

#include "core/bytes.h"

enum tamis__thrift_type {
    TAMIS__THRIFT_STOP = 0,
    TAMIS__THRIFT_TRUE = 1,
    TAMIS__THRIFT_FALSE = 2,
    TAMIS__THRIFT_BYTE = 3,
    TAMIS__THRIFT_I16 = 4,
    TAMIS__THRIFT_I32 = 5,
    TAMIS__THRIFT_I64 = 6,
    TAMIS__THRIFT_DOUBLE = 7,
    TAMIS__THRIFT_BINARY = 8,
    TAMIS__THRIFT_LIST = 9,
    TAMIS__THRIFT_SET = 10,
    TAMIS__THRIFT_MAP = 11,
    TAMIS__THRIFT_STRUCT = 12
};

struct tamis__thrift_field {
    int32_t id; /* 0 before the first */
    unsigned type;
};

/* Moves on to the next field; false at the end of the struct, or if the bytes are bad. */
bool tamis__thrift_next(struct tamis__reader *r, struct tamis__thrift_field *field);

int64_t tamis__thrift_integer(struct tamis__reader *r);
/* Its length; sets *bytes. */
uint64_t tamis__thrift_binary(struct tamis__reader *r, const uint8_t **bytes);
/* The number of elements, of one type. */
uint64_t tamis__thrift_list(struct tamis__reader *r, unsigned *type);
/* Skips the value of a field. */
void tamis__thrift_skip(struct tamis__reader *r, unsigned type);

#endif
