/* small.c - entry points: filters of a few keys as bare bytes */
#include "api/api.h"
#include "family/small_filter.h"
#include "plan/plan.h"

/* With so few keys bloom and block are the same, and every static kind is a linear system. */
static tamis_status small_kind(tamis_kind *kind) {
    switch (*kind) {
        case TAMIS_BLOOM:
        case TAMIS_BLOCK:
            *kind = TAMIS_BLOOM;
            return TAMIS_OK;
        case TAMIS_XOR:
        case TAMIS_FUSE:
        case TAMIS_RIBBON:
            *kind = TAMIS_RIBBON;
            return TAMIS_OK;
        default:
            return tamis__family_of(*kind) == NULL ? TAMIS_E_KIND : TAMIS_E_UNSUPPORTED;
    }
}

/* `automatic` is the kind that TAMIS_AUTO stands for. */
static tamis_status read_spec(const tamis_options *options, tamis_kind automatic, tamis_options *o,
                              struct tamis__spec *spec) {
    tamis_status status = tamis__options_read(options, o);
    if (status == TAMIS_OK && tamis__is_compat(o)) status = TAMIS_E_UNSUPPORTED;
    if (status == TAMIS_OK && o->kind == TAMIS_AUTO) o->kind = automatic;
    if (status == TAMIS_OK) status = small_kind(&o->kind);
    if (status != TAMIS_OK) return status;
    *spec = (struct tamis__spec){.kind = o->kind, .capacity = o->capacity, .fpr = o->fpr};
    if (o->bytes == 0 && o->fpr == 0) spec->fpr = TAMIS__FPR_DEFAULT;
    if (spec->fpr == 0)
        spec->bits = o->bytes - 1 > UINT64_MAX / 8 ? UINT64_MAX : 8 * (o->bytes - 1);
    return tamis__small_check(spec);
}

size_t tamis_small_bound(const tamis_options *options, size_t count) {
    tamis_options o;
    struct tamis__spec spec;
    const tamis_status status = read_spec(options, TAMIS_RIBBON, &o, &spec);
    return status == TAMIS_OK ? tamis__small_bound(&spec, count) : 0;
}

tamis_status tamis_small_build(const tamis_options *options, const uint64_t *hashes, size_t count,
                               void *buffer, size_t capacity, size_t *length) {
    struct tamis__small_buffer to = {.bytes = buffer, .capacity = buffer == NULL ? 0 : capacity};
    tamis_options o;
    struct tamis__spec spec;
    if (length == NULL || (hashes == NULL && count != 0)) return TAMIS_E_ARGUMENT;
    tamis_status status = read_spec(options, TAMIS_RIBBON, &o, &spec);
    if (status == TAMIS_OK) status = tamis__small_build(&spec, &o.allocator, hashes, count, &to);
    *length = to.length;
    return status;
}

tamis_status tamis_small_create(const tamis_options *options, void *buffer, size_t capacity,
                                size_t *length) {
    struct tamis__small_buffer to = {.bytes = buffer, .capacity = buffer == NULL ? 0 : capacity};
    tamis_options o;
    struct tamis__spec spec;
    if (length == NULL) return TAMIS_E_ARGUMENT;
    tamis_status status = read_spec(options, TAMIS_BLOOM, &o, &spec);
    if (status == TAMIS_OK && spec.kind != TAMIS_BLOOM) status = TAMIS_E_UNSUPPORTED;
    if (status == TAMIS_OK) status = tamis__small_create(&spec, &to);
    *length = to.length;
    return status;
}

bool tamis_small_contains(const void *bytes, size_t length, uint64_t hash) {
    return bytes == NULL || length == 0 || tamis__small_contains(bytes, length, hash);
}

tamis_status tamis_small_add(void *bytes, size_t length, uint64_t hash, bool *fresh) {
    if (bytes == NULL || length == 0) return TAMIS_E_ARGUMENT;
    return tamis__small_add(bytes, length, hash, fresh);
}
