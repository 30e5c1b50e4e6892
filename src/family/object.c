/* object.c - filters as objects: made from a shape and a table, and freed */
#define _DEFAULT_SOURCE 1
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "core/cpu.h"
#include "family/family.h"

tamis_filter *tamis__filter_new(const struct tamis__family *family, const tamis_filter *like) {
    tamis_filter *f = tamis__alloc(&like->allocator, family->object_size);
    if (f == NULL) return NULL;
    memset(f, 0, family->object_size);
    f->family = family;
    f->hashing = like->hashing;
    f->codec = like->codec;
    f->capacity = like->capacity;
    f->rate = like->rate;
    f->form = like->form;
    f->shared = like->shared;
    f->portable = like->portable;
    f->allocator = like->allocator;
    return f;
}

void tamis__filter_own(tamis_filter *f, uint8_t *table) {
    f->table = table;
    f->storage = TAMIS__OWNED;
    f->block = table;
    f->block_bytes = f->shape.table_bytes;
}

tamis_status tamis__filter_attach(tamis_filter *f) {
    f->ops = f->family->ops(&f->shape, f->portable ? 0 : tamis__cpu(), f->shared);
    tamis__question_attach(f);
    return f->family->attach == NULL ? TAMIS_OK : f->family->attach(f);
}

uint32_t tamis__filter_version(const tamis_filter *f) {
    return f->family->version == NULL ? 1 : f->family->version(f);
}

void tamis__filter_free(tamis_filter *f) {
    if (f == NULL) return;
    if (f->family->detach != NULL) f->family->detach(f);
    switch (f->storage) {
        case TAMIS__OWNED:
            tamis__table_free(&f->allocator, f->block, f->block_bytes);
            break;
        case TAMIS__MAPPED:
        case TAMIS__DRAFT:
#if defined(__unix__) || defined(__APPLE__)
            munmap(f->block, (size_t)f->block_bytes);
            if (f->held != 0) close(f->held - 1);
#endif
            break;
        case TAMIS__BORROWED:
            break;
    }
    const tamis_allocator a = f->allocator;
    tamis__release(&a, f, f->family->object_size);
}
