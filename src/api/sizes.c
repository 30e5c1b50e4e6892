/* sizes.c - entry points: the size and false positive rate of a filter before it is made */
#include <stddef.h>
#include <string.h>

#include "api/api.h"
#include "family/sizing.h"
#include "file/native.h"
#include "plan/plan.h"

uint64_t tamis_classic_bits(uint64_t keys, double fpr) { return tamis__classic_bits(keys, fpr); }

uint32_t tamis_classic_hashes(uint64_t bits, uint64_t keys) {
    return tamis__classic_hashes(bits, keys);
}

double tamis_classic_fpr(uint64_t bits, uint32_t hashes, uint64_t keys) {
    return tamis__classic_fpr(bits, hashes, keys);
}

uint64_t tamis_classic_keys(uint64_t bits, uint32_t hashes, double fpr) {
    return tamis__classic_keys(bits, hashes, fpr);
}

tamis_status tamis__struct_copy(void *to, size_t to_size, size_t min, void *from,
                                size_t from_size) {
    if (to_size < min) return TAMIS_E_ARGUMENT;
    memcpy(from, &to_size, sizeof to_size); /* keep the caller's struct_size */
    memcpy(to, from, to_size < from_size ? to_size : from_size);
    return TAMIS_OK;
}

static double fpr_with(const struct tamis__family *family, const struct tamis__shape *shape,
                       double keys) {
    const double fpr = family->fpr(shape, keys);
    return fpr > 1 ? 1 : fpr;
}

/* UINT64_MAX if it overflows. */
static uint64_t build_bytes(uint64_t table_bytes, double scratch) {
    return (double)table_bytes + scratch < 0x1p64 ? table_bytes + (uint64_t)scratch : UINT64_MAX;
}

/* The family and shape of one of our kinds. */
static tamis_status shape_for(const tamis_options *o, const struct tamis__family **family,
                              struct tamis__shape *shape) {
    struct tamis__spec spec;
    const tamis_status status = tamis__plan_spec(o, tamis__native_room(o->bytes), &spec);
    if (status != TAMIS_OK) return status;
    *family = tamis__family_of(spec.kind);
    return (*family)->shape(&spec, shape);
}

/* A compatible format is sized by its codec, unless its size depends on the keys. */
static tamis_status size_compat(const tamis_options *o, tamis_sizing *sizing) {
    struct tamis__spec spec;
    struct tamis__settings settings;
    struct tamis__contents contents;
    struct tamis__traits traits = {0};
    tamis_status status = tamis__spec_read(o, &spec, &settings);
    if (status == TAMIS_OK) status = tamis__spec_size(&spec, settings.codec, &contents);
    if (status != TAMIS_OK) return status;
    if (settings.codec->build != NULL) return TAMIS_E_UNSUPPORTED;
    contents.family->traits(&contents.shape, &traits);
    tamis_sizing all = {.kind = contents.family->kind,
                        .bytes = contents.shape.table_bytes,
                        .hashes = traits.hashes,
                        .width = traits.width,
                        .fpr = contents.fpr,
                        .cache_lines = traits.cache_lines};
    return tamis__struct_copy(sizing, sizing->struct_size, offsetof(tamis_sizing, build_bytes),
                              &all, sizeof all);
}

tamis_status tamis_size(const tamis_options *options, tamis_sizing *sizing) {
    tamis_options o;
    const struct tamis__family *family;
    struct tamis__shape shape;
    if (sizing == NULL) return TAMIS_E_ARGUMENT;
    tamis_status status = tamis__options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if (tamis__is_compat(&o)) return size_compat(&o, sizing);
    status = shape_for(&o, &family, &shape);
    if (status != TAMIS_OK) return status;

    const double keys = (double)o.capacity;
    struct tamis__traits traits = {0};
    family->traits(&shape, &traits);
    tamis_sizing all = {.kind = family->kind,
                        .bytes = tamis__native_size(shape.table_bytes),
                        .hashes = traits.hashes,
                        .width = traits.width,
                        .fpr = fpr_with(family, &shape, keys),
                        .fpr_at_half = fpr_with(family, &shape, keys / 2),
                        .fpr_at_double = fpr_with(family, &shape, keys * 2),
                        .cache_lines = traits.cache_lines};
    if (o.capacity != 0) all.bits_per_key = (double)all.bytes * 8 / keys;
    all.build_bytes = build_bytes(shape.table_bytes, keys * traits.build_bytes_per_key);
    return tamis__struct_copy(sizing, sizing->struct_size, offsetof(tamis_sizing, build_bytes),
                              &all, sizeof all);
}

tamis_status tamis_size_fpr(const tamis_options *options, uint64_t keys, double *fpr) {
    tamis_options o;
    const struct tamis__family *family;
    struct tamis__shape shape;
    if (fpr == NULL) return TAMIS_E_ARGUMENT;
    tamis_status status = tamis__options_read(options, &o);
    if (status == TAMIS_OK && tamis__is_compat(&o)) status = TAMIS_E_UNSUPPORTED;
    if (status == TAMIS_OK) status = shape_for(&o, &family, &shape);
    if (status == TAMIS_OK) *fpr = fpr_with(family, &shape, (double)keys);
    return status;
}

tamis_status tamis_plan(const tamis_options *options, tamis_advice *advice) {
    tamis_options o;
    if (advice == NULL) return TAMIS_E_ARGUMENT;
    tamis_status status = tamis__options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if (o.fpr != 0 && !(o.fpr > 0 && o.fpr < 1)) return TAMIS_E_FPR;
    tamis_advice all = {0};
    all.choice = tamis__plan_kind(&o, tamis__native_room(o.bytes), all.why);
    status = tamis__struct_copy(advice, advice->struct_size, sizeof all, &all, sizeof all);
    return status == TAMIS_OK && all.choice == TAMIS_AUTO ? TAMIS_E_ARGUMENT : status;
}
