/* native.c - see native.h */
#include "native.h"

#include <string.h>

const uint8_t native_secret[TAMIS_SECRET_BYTES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                   8, 9, 10, 11, 12, 13, 14, 15};

static tamis_options native_options(const struct native_case *c, bool portable) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.kind = tamis_kind_find(c->kind);
    o.arity = c->arity;
    o.stage = tamis_kind_find(c->stage);
    o.capacity = c->capacity;
    o.rate = c->rate;
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
