/* image.c - from what a codec read to a filter: the one place that allocates for them */
#include <string.h>

#include "family/scheme.h"
#include "format/format.h"

#define NO_RATE(rate) (!((rate) > 0 && (rate) < 1))

static tamis_status image_table(const struct tamis__image *image, tamis_filter *f) {
    if (image->made != NULL) {
        tamis__filter_own(f, image->made);
        return TAMIS_OK;
    }
    if (image->table != NULL) {
        f->table = (uint8_t *)(uintptr_t)image->table;
        f->storage = TAMIS__BORROWED;
        f->extra = image->extra;
        f->extra_bytes = image->extra_bytes;
        return TAMIS_OK;
    }
    if (image->shape.table_bytes > SIZE_MAX / 4) return TAMIS_E_TOO_BIG;
    uint8_t *table = tamis__table_alloc(&f->allocator, image->shape.table_bytes);
    if (table == NULL) return TAMIS_E_NOMEM;
    tamis__filter_own(f, table);
    if (f->family->init != NULL) f->family->init(&f->shape, table);
    return TAMIS_OK;
}

static tamis_status image_fill(const struct tamis__image *image, tamis_filter *f) {
    f->hashing = image->hashing;
    f->shape = image->shape;
    f->capacity = image->capacity;
    f->rate = NO_RATE(image->rate) ? 0 : image->rate;
    f->adds = image->adds;
    const tamis_status status = image_table(image, f);
    return status == TAMIS_OK ? tamis__filter_attach(f) : status;
}

tamis_status tamis__image_open(const struct tamis__image *image, const tamis_filter *like,
                               tamis_filter **out) {
    const struct tamis__family *family = tamis__dialect_of(image->kind, image->shape.scheme);
    tamis_filter *f = NULL;
    tamis_status status = like->shared ? TAMIS_E_UNSUPPORTED : TAMIS_OK;
    if (status == TAMIS_OK && (family == NULL || !family->check(&image->shape))) {
        status = TAMIS_E_CORRUPT;
    }
    if (status == TAMIS_OK) {
        f = tamis__filter_new(family, like);
        if (f == NULL) status = TAMIS_E_NOMEM;
    }
    if (f == NULL) {
        if (image->made != NULL) {
            tamis__table_free(&like->allocator, image->made, image->shape.table_bytes);
        }
        return status;
    }
    status = image_fill(image, f);
    if (status != TAMIS_OK) {
        tamis__filter_free(f);
        return status;
    }
    *out = f;
    return TAMIS_OK;
}

const char tamis__image_beyond[] = "its numbers are beyond those that this format can hold";

bool tamis__image_fits(const tamis_filter *f, uint32_t scheme, enum tamis__foreign_id hash) {
    return f->shape.scheme == scheme && f->hashing.foreign != NULL &&
           f->hashing.foreign->id == hash;
}
