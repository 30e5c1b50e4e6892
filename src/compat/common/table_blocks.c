/* table_blocks.c - see table_blocks.h
 *
 *     entries     varint of the bytes shared with the previous key, varint of the key's other
 *                 bytes, varint of the value's bytes, key, value
 *     restarts    u32le offsets of entries that share nothing, then u32le their number */
#include "compat/common/table_blocks.h"

static uint64_t read_varint(struct tamis__reader *r) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t byte = tamis__read8(r);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (r->bad || byte < 0x80) return value;
    }
    r->bad = true;
    return 0;
}

bool tamis__handle_read(struct tamis__reader *r, struct tamis__handle *handle) {
    handle->offset = read_varint(r);
    handle->size = read_varint(r);
    return !r->bad;
}

bool tamis__handle_fits(const struct tamis__handle *handle, uint64_t end) {
    return end >= TAMIS__BLOCK_TRAILER && handle->size <= end - TAMIS__BLOCK_TRAILER &&
           handle->offset <= end - TAMIS__BLOCK_TRAILER - handle->size;
}

bool tamis__entries_start(struct tamis__entries *e, const uint8_t *block, uint64_t length) {
    if (length < 4) return false;
    const uint64_t restarts = tamis__load32_once(block + length - 4);
    if (restarts > (length - 4) / 4) return false;
    e->block = block;
    e->at = 0;
    e->end = length - 4 - 4 * restarts;
    e->value = e->whole = NULL;
    e->value_bytes = e->key_bytes = 0;
    e->bad = false;
    return true;
}

/* Assembles the key from the previous one and the new bytes, as far as there is room. */
static void take_key(struct tamis__entries *e, uint64_t shared, const uint8_t *bytes,
                     uint64_t length) {
    if (shared < sizeof e->key) {
        const uint64_t room = sizeof e->key - shared;
        if (length != 0) memcpy(e->key + shared, bytes, (size_t)(length < room ? length : room));
    }
    e->key_bytes = shared + length;
    e->whole = shared == 0 ? bytes : e->key_bytes <= sizeof e->key ? e->key : NULL;
}

bool tamis__entries_next(struct tamis__entries *e) {
    if (e->bad || e->at >= e->end) return false;
    struct tamis__reader r = {e->block + e->at, e->block + e->end, false};
    const uint64_t shared = read_varint(&r), other = read_varint(&r), value = read_varint(&r);
    const uint64_t left = (uint64_t)(r.end - r.at);
    e->bad = r.bad || shared > e->key_bytes || other > left || value > left - other;
    if (e->bad) return false;
    take_key(e, shared, r.at, other);
    e->value = r.at + other;
    e->value_bytes = value;
    e->at = (uint64_t)(e->value - e->block) + value;
    return true;
}

bool tamis__entry_named(const struct tamis__entries *e, const char *name) {
    const size_t length = strlen(name);
    return e->key_bytes == length && memcmp(e->key, name, length) == 0;
}

tamis_status tamis__entries_find(struct tamis__entries *e, const uint8_t *block, uint64_t length,
                                 const char *name, bool *found) {
    *found = false;
    if (!tamis__entries_start(e, block, length)) return TAMIS_E_CORRUPT;
    while (!*found && tamis__entries_next(e)) *found = tamis__entry_named(e, name);
    return e->bad ? TAMIS_E_CORRUPT : TAMIS_OK;
}

bool tamis__entry_handle(const struct tamis__entries *e, struct tamis__handle *handle) {
    struct tamis__reader r = {e->value, e->value + e->value_bytes, false};
    return tamis__handle_read(&r, handle);
}
