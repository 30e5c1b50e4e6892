/* subfilters.c - the row of sub-filters of redisbloom.h */
#include "compat/redisbloom/redisbloom.h"

#include <string.h>

#include "core/bits.h"

enum { EXACT }; /* shape.word: bytes of header and tables */

uint64_t tamis__subs_max_bytes(const tamis_filter *f) {
    const uint64_t addressable = (uint64_t)1 << 60;
    return f->settings.pages == NULL || f->settings.pages->max_bytes > addressable
               ? addressable
               : f->settings.pages->max_bytes;
}

/* ---- tables */

static tamis_status sub_open(const tamis_filter *f, struct tamis__subfilter *t) {
    if (f->settings.pages != NULL) {
        t->pages = f->settings.pages->open(f->settings.pages->context, t->bytes);
        return t->pages == NULL ? TAMIS_E_NOMEM : TAMIS_OK;
    }
    t->data = tamis__table_alloc(&f->settings.allocator, t->bytes);
    t->own = t->data != NULL;
    return t->own ? TAMIS_OK : TAMIS_E_NOMEM;
}

void tamis__sub_close(const tamis_filter *f, struct tamis__subfilter *t) {
    if (t->own) tamis__table_free(&f->settings.allocator, t->data, t->bytes);
    if (t->pages != NULL) f->settings.pages->close(t->pages);
}

tamis_status tamis__subs_alloc(struct tamis__redisbloom *r, size_t count) {
    const size_t size = count * sizeof *r->sub;
    r->sub = tamis__alloc(&r->base.settings.allocator, size);
    if (r->sub == NULL) return TAMIS_E_NOMEM;
    memset(r->sub, 0, size);
    r->count = r->room = count;
    return TAMIS_OK;
}

static tamis_status reserve(struct tamis__redisbloom *r) {
    if (r->count < r->room) return TAMIS_OK;
    const tamis_allocator *a = &r->base.settings.allocator;
    const size_t room = r->room + r->room / 2 + 1;
    struct tamis__subfilter *larger = tamis__alloc(a, room * sizeof *larger);
    if (larger == NULL) return TAMIS_E_NOMEM;
    memcpy(larger, r->sub, r->count * sizeof *larger);
    tamis__release(a, r->sub, r->room * sizeof *larger);
    r->sub = larger;
    r->room = room;
    return TAMIS_OK;
}

tamis_status tamis__subs_append(struct tamis__redisbloom *r, struct tamis__subfilter *t,
                                uint64_t header) {
    tamis_status status = reserve(r);
    if (status == TAMIS_OK) status = sub_open(&r->base, t);
    if (status != TAMIS_OK) return status;
    r->sub[r->count++] = *t;
    r->base.shape.table_bytes = r->base.shape.word[EXACT] += header + t->bytes;
    return TAMIS_OK;
}

/* ---- creating and freeing */

static tamis_status open_all(tamis_filter *f, uint64_t header) {
    struct tamis__redisbloom *r = tamis__subs(f);
    uint64_t total = header;
    for (size_t i = 0; i < r->count; i++) {
        const tamis_status status = sub_open(f, &r->sub[i]);
        if (status != TAMIS_OK) return status;
        total += r->sub[i].bytes;
    }
    f->table = NULL; /* the caller's header */
    f->storage = TAMIS__OWNED;
    f->shape.table_bytes = f->shape.word[EXACT] = total;
    return TAMIS_OK;
}

tamis_status tamis__subs_attach(tamis_filter *f, uint64_t header) {
    const struct tamis__redisbloom *r = tamis__const_subs(f);
    uint64_t left =
        f->settings.pages != NULL ? tamis__subs_max_bytes(f) : f->shape.word[EXACT] - header;
    const tamis_status short_of = f->settings.pages != NULL ? TAMIS_E_TOO_BIG : TAMIS_E_TRUNCATED;
    uint8_t *data = f->table + header;
    for (size_t i = 0; i < r->count; i++) {
        struct tamis__subfilter *t = &r->sub[i];
        if (t->bytes > left) return short_of;
        left -= t->bytes;
        if (f->settings.pages != NULL) continue;
        t->data = data;
        data += t->bytes;
    }
    if (f->settings.pages != NULL)
        return f->shape.word[EXACT] == header ? open_all(f, header) : TAMIS_E_TRAILING;
    return left == 0 ? TAMIS_OK : TAMIS_E_TRAILING;
}

void tamis__subs_detach(tamis_filter *f) {
    struct tamis__redisbloom *r = tamis__subs(f);
    for (size_t i = 0; i < r->count; i++) tamis__sub_close(f, &r->sub[i]);
    tamis__release(&f->settings.allocator, r->sub, r->room * sizeof *r->sub);
}

/* `to` is a copy of the object: it gets sub-filters of its own. */
tamis_status tamis__subs_copy(const tamis_filter *from, tamis_filter *to) {
    const struct tamis__redisbloom *source = tamis__const_subs(from);
    struct tamis__redisbloom *r = tamis__subs(to);
    r->count = r->room = 0;
    const tamis_status status = tamis__subs_alloc(r, source->count);
    if (status != TAMIS_OK) return status;
    memcpy(r->sub, source->sub, source->count * sizeof *r->sub);
    for (r->count = 0; r->count < source->count; r->count++) {
        struct tamis__subfilter *t = &r->sub[r->count];
        t->pages = from->settings.pages->copy(t->pages);
        if (t->pages == NULL) return TAMIS_E_NOMEM;
    }
    return TAMIS_OK;
}

void *tamis__subs_table(const tamis_filter *f, size_t index) {
    const struct tamis__redisbloom *r = tamis__const_subs(f);
    return index < r->count ? r->sub[index].pages : NULL;
}

uint64_t tamis__subs_export_bytes(const tamis_filter *f) { return f->shape.word[EXACT]; }

void tamis__subs_export_data(const tamis_filter *f, struct tamis__writer *w) {
    const struct tamis__redisbloom *r = tamis__const_subs(f);
    for (size_t i = 0; i < r->count; i++) {
        tamis__write_bytes(w, r->sub[i].data, (size_t)r->sub[i].bytes);
    }
    assert(!w->bad && w->at == w->end);
}

uint64_t tamis__sub_count(const tamis_filter *f, const struct tamis__subfilter *t, bool bits) {
    uint64_t count = 0, run;
    bool failed = false;
    for (uint64_t at = 0; at < t->bytes; at += run) {
        const uint8_t *bytes =
            tamis__sub_run(t, f->settings.pages, at, t->bytes - at, &run, &failed);
        for (uint64_t i = 0; bytes != NULL && i < run; i++) {
            count += bits ? (uint64_t)tamis__popcount(bytes[i]) : bytes[i] != 0;
        }
    }
    return count;
}
