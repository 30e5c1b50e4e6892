/* native.c - see native.h */
#include "native.h"

#include <stdlib.h>
#include <string.h>

#include "filters.h"

const uint8_t native_secret[TAMIS_SECRET_BYTES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                   8, 9, 10, 11, 12, 13, 14, 15};

static tamis_options native_options(const struct native_case *c, bool portable) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.kind = tamis_kind_find(c->kind);
    o.arity = c->arity;
    o.stage = tamis_kind_find(c->stage);
    o.capacity = c->capacity;
    o.fpr = c->fpr;
    o.seed = c->seed;
    o.portable = portable;
    if (c->keyed) o.secret = native_secret;
    if (c->form) {
        o.form.flags = TAMIS_KEY_STRIP_CR | TAMIS_KEY_FOLD_CASE;
        o.form.field = 2;
        o.form.separator_length = 1;
        o.form.separator[0] = ';';
    }
    return o;
}

tamis_status native_make(const struct native_case *c, const void *const *keys,
                         const size_t *lengths, bool portable, tamis_filter **out) {
    const tamis_options o = native_options(c, portable);
    *out = NULL;
    if (o.kind == TAMIS_AUTO) return TAMIS_E_KIND;
    if (strcmp(c->how, "build") == 0) return tamis_build(&o, keys, lengths, c->keys, out);
    tamis_status status = tamis_create(&o, out);
    for (size_t i = 0; status == TAMIS_OK && i < c->keys; i++) {
        status = tamis_add(*out, keys[i], lengths[i], NULL);
    }
    if (status != TAMIS_OK) {
        tamis_free(*out);
        *out = NULL;
    }
    return status;
}

tamis_status native_make_large(const struct native_case *c, bool portable, tamis_filter **out) {
    const tamis_options o = native_options(c, portable);
    *out = NULL;
    if (o.kind == TAMIS_AUTO) return TAMIS_E_KIND;
    uint64_t *hashes = NEED(uint64_t, c->keys);
    for (size_t i = 0; i < c->keys; i++) hashes[i] = tamis_hash_integer(i);
    tamis_status status;
    if (strcmp(c->how, "build") == 0) {
        status = tamis_build_hash(&o, hashes, c->keys, out);
    } else {
        status = tamis_create(&o, out);
        if (status == TAMIS_OK) {
            status = tamis_add_hash_batch(*out, hashes, c->keys, NULL, NULL);
        }
    }
    free(hashes);
    return status;
}

uint64_t native_checksum(const tamis_filter *f, size_t *size) {
    tamis_options plain = TAMIS_OPTIONS_INIT; /* hashes by XXH3 with seed 0 */
    tamis_filter *hasher = NULL;
    struct bytes bytes = bytes_of(f);
    if (tamis_create(&plain, &hasher) != TAMIS_OK) abort();
    const uint64_t checksum = tamis_hash(hasher, bytes.data, bytes.size);
    *size = bytes.size;
    tamis_free(hasher);
    bytes_free(&bytes);
    return checksum;
}
