/* object.c - filters as objects: made from contents, copied, merged and freed */
#define _DEFAULT_SOURCE 1
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "core/cpu.h"
#include "filter/family.h"

static void own_table(tamis_filter *f, uint8_t *table, uint64_t bytes) {
    f->table = table;
    f->storage = TAMIS__OWNED;
    f->block = table;
    f->block_bytes = bytes;
}

/* The filter's own table, empty. */
static tamis_status make_table(tamis_filter *f) {
    const uint64_t bytes = f->shape.table_bytes;
    if (bytes > SIZE_MAX / 4) return TAMIS_E_TOO_BIG;
    uint8_t *table = tamis__table_alloc(&f->settings.allocator, bytes);
    if (table == NULL) return TAMIS_E_NOMEM;
    own_table(f, table, bytes);
    if (f->family->init != NULL) f->family->init(&f->shape, table);
    return TAMIS_OK;
}

static tamis_status fill(tamis_filter *f, const struct tamis__contents *c) {
    tamis_status status = TAMIS_OK;
    f->shape = c->shape;
    f->shape.layout = f->family->layout;
    f->hashing = c->hashing;
    f->capacity = c->capacity;
    f->fpr = c->fpr > 0 && c->fpr < 1 ? c->fpr : 0;
    f->adds = c->adds;
    f->extra = c->extra;
    f->extra_bytes = c->extra_bytes;
    if (c->made != NULL) {
        own_table(f, c->made, c->shape.table_bytes + c->extra_bytes);
    } else if (c->table != NULL) {
        f->table = (uint8_t *)(uintptr_t)c->table;
        f->storage = TAMIS__BORROWED;
    } else {
        status = make_table(f);
    }
    if (status != TAMIS_OK) return status;
    const uint32_t cpu = f->settings.portable ? 0 : tamis__cpu();
    f->ops = f->family->ops == NULL ? f->family->only_ops
                                    : f->family->ops(&f->shape, cpu, f->settings.shared);
    status = f->family->attach == NULL ? TAMIS_OK : f->family->attach(f);
    tamis__calls_attach(f);
    return status;
}

static tamis_status check(const struct tamis__contents *c, const struct tamis__settings *settings) {
    if (settings->shared && (c->family->caps & TAMIS_CAN_SHARE) == 0) return TAMIS_E_UNSUPPORTED;
    return c->family->check(&c->shape) ? TAMIS_OK : TAMIS_E_CORRUPT;
}

tamis_status tamis__filter_make(const struct tamis__contents *c,
                                const struct tamis__settings *settings, tamis_filter **out) {
    const struct tamis__family *family = c->family;
    tamis_status status = check(c, settings);
    tamis_filter *f = NULL;
    if (status == TAMIS_OK) f = tamis__alloc(&settings->allocator, family->object_size);
    if (f == NULL) {
        const uint64_t bytes = c->shape.table_bytes + c->extra_bytes;
        tamis__table_free(&settings->allocator, c->made, bytes);
        return status == TAMIS_OK ? TAMIS_E_NOMEM : status;
    }
    memset(f, 0, family->object_size);
    f->family = family;
    f->settings = *settings;
    status = fill(f, c);
    if (status != TAMIS_OK) {
        tamis__filter_free(f);
        return status;
    }
    *out = f;
    return TAMIS_OK;
}

tamis_status tamis__filter_copy(const tamis_filter *f, tamis_filter **out) {
    const size_t size = f->family->object_size;
    tamis_filter *copy = tamis__alloc(&f->settings.allocator, size);
    if (copy == NULL) return TAMIS_E_NOMEM;
    memcpy(copy, f, size);
    const tamis_status status = f->family->paged->copy(f, copy);
    if (status != TAMIS_OK) {
        tamis__filter_free(copy);
        return status;
    }
    *out = copy;
    return TAMIS_OK;
}

uint32_t tamis__filter_version(const tamis_filter *f) {
    return f->family->version == NULL ? 1 : f->family->version(f);
}

void tamis__filter_free(tamis_filter *f) {
    if (f == NULL) return;
    if (f->family->detach != NULL) f->family->detach(f);
    switch (f->storage) {
        case TAMIS__OWNED:
            tamis__table_free(&f->settings.allocator, f->block, f->block_bytes);
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
    const tamis_allocator a = f->settings.allocator;
    tamis__release(&a, f, f->family->object_size);
}

/* Eight bytes in native order.  Threads may be adding to a shared filter. */
static uint64_t raw_word(const tamis_filter *f, uint64_t at) {
    const void *p = f->table + at;
    if (f->settings.shared) return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

static uint64_t merged(uint64_t a, uint64_t b, tamis_merge_mode mode) {
    return mode == TAMIS_UNION ? a | b : a & b;
}

tamis_status tamis__merge_bits(tamis_filter *into, const tamis_filter *from,
                               tamis_merge_mode mode) {
    const uint64_t a_bytes = into->shape.table_bytes, b_bytes = from->shape.table_bytes;
    const uint64_t bytes = a_bytes < b_bytes ? a_bytes : b_bytes, words = bytes / 8 * 8;
    for (uint64_t i = 0; i < words; i += 8) {
        const uint64_t word = merged(raw_word(into, i), raw_word(from, i), mode);
        memcpy(into->table + i, &word, 8);
    }
    for (uint64_t i = words; i < bytes; i++) {
        into->table[i] = (uint8_t)merged(into->table[i], from->table[i], mode);
    }
    return TAMIS_OK;
}
