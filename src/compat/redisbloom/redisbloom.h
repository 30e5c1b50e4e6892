/* redisbloom.h - what RedisBloom's two filters share: a row of sub-filters, the newest last
 *
 * The bytes of a sub-filter are contiguous: in the filter's block, or a block of their own.  Or
 * they are in pages of the caller's storage (tamis_storage).  The templates take the storage as
 * an argument: with a constant NULL the contiguous code alone is left. */
#ifndef TAMIS_COMPAT_REDISBLOOM_REDISBLOOM_H
#define TAMIS_COMPAT_REDISBLOOM_REDISBLOOM_H

#include "core/bytes.h"
#include "filter/codec.h"
#include "filter/family.h"

/* bloom_chain.c, cuckoo_tables.c */
extern const struct tamis__family tamis__growing_compat, tamis__cuckoo_compat;

/* Bytes of the headers that SCANDUMP gives. */
#define TAMIS__CHAIN_HEADER 20
#define TAMIS__CHAIN_SUB 53
#define TAMIS__CUCKOO_HEADER 38

struct tamis__subfilter {
    uint8_t *data; /* contiguous bytes */
    void *pages;   /* or the caller's table */
    uint64_t bytes;
    bool own; /* `data` is from tamis__table_alloc */

    uint64_t buckets; /* cuckoo */

    uint64_t bits, size, entries; /* Bloom: size: its keys, entries: its capacity */
    double error, per_entry;      /* bits per entry */
    uint32_t hashes;
    uint8_t n2; /* the modulus is 2^n2; 0: it is `bits` */
};

/* Both filters, with the numbers of their headers. */
struct tamis__redisbloom {
    tamis_filter base;
    struct tamis__subfilter *sub;
    size_t count, room;
    uint64_t items;

    uint32_t options, growth; /* Bloom */

    uint64_t buckets, deletes; /* cuckoo; buckets of the first sub-filter */
    uint16_t bucket_size, iterations, expansion;
};

static inline struct tamis__redisbloom *tamis__subs(tamis_filter *f) {
    return (struct tamis__redisbloom *)f;
}
static inline const struct tamis__redisbloom *tamis__const_subs(const tamis_filter *f) {
    return (const struct tamis__redisbloom *)f;
}

/* ---- bytes of one sub-filter */

/* One byte.  All of its bits are set if the page cannot be read. */
TAMIS_TEMPLATE uint8_t tamis__sub_get(const struct tamis__subfilter *t, const tamis_storage *s,
                                      uint64_t at, bool *failed) {
    if (s == NULL) return t->data[at];
    const uint8_t *page = s->read(t->pages, at >> s->page_shift, failed);
    if (page == NULL) return *failed ? UINT8_MAX : 0;
    return page[at & (((uint64_t)1 << s->page_shift) - 1)];
}

/* Where a byte can be written; NULL: out of memory. */
TAMIS_TEMPLATE uint8_t *tamis__sub_at(const struct tamis__subfilter *t, const tamis_storage *s,
                                      uint64_t at) {
    if (s == NULL) return t->data + at;
    uint8_t *page = s->write(t->pages, at >> s->page_shift);
    return page == NULL ? NULL : page + (at & (((uint64_t)1 << s->page_shift) - 1));
}

/* As many of `length` bytes as are contiguous; NULL: they are zeros, or `*failed`. */
TAMIS_TEMPLATE const uint8_t *tamis__sub_run(const struct tamis__subfilter *t,
                                             const tamis_storage *s, uint64_t at, uint64_t length,
                                             uint64_t *run, bool *failed) {
    *run = length;
    if (s == NULL) return t->data + at;
    const uint64_t size = (uint64_t)1 << s->page_shift, within = at & (size - 1);
    const uint8_t *page = s->read(t->pages, at >> s->page_shift, failed);
    if (*run > size - within) *run = size - within;
    return page == NULL ? NULL : page + within;
}

/* ---- the row: subfilters.c */

/* The bytes that all sub-filters of this filter may have. */
uint64_t tamis__subs_max_bytes(const tamis_filter *f);
/* Appends a sub-filter, whose `bytes` are set, with a table of zeros; `header` is what the header
 * grows by. */
tamis_status tamis__subs_append(struct tamis__redisbloom *r, struct tamis__subfilter *t,
                                uint64_t header);
/* `count` sub-filters without tables, all numbers 0. */
tamis_status tamis__subs_alloc(struct tamis__redisbloom *r, size_t count);
void tamis__sub_close(const tamis_filter *f, struct tamis__subfilter *t);
/* Gives the sub-filters of a header that has just been read their tables: those behind the header,
 * or with the caller's storage new ones.  `header` has that many bytes. */
tamis_status tamis__subs_attach(tamis_filter *f, uint64_t header);

/* Entries of the families. */
void tamis__subs_detach(tamis_filter *f);
uint64_t tamis__subs_export_bytes(const tamis_filter *f);
void tamis__subs_export_data(const tamis_filter *f, struct tamis__writer *w);
tamis_status tamis__subs_copy(const tamis_filter *from, tamis_filter *to);
void *tamis__subs_table(const tamis_filter *f, size_t index);

/* The number of bits that are set in a sub-filter, or of bytes other than 0. */
uint64_t tamis__sub_count(const tamis_filter *f, const struct tamis__subfilter *t, bool bits);

/* ---- headers */

/* The numbers of a Bloom sub-filter for `entries` keys at `error`, by the rule that `options`
 * choose; false if there is no such sub-filter. */
bool tamis__chain_sub_size(uint64_t entries, double error, uint32_t options,
                           struct tamis__subfilter *t);

/* The header of a Bloom filter, without its sub-filters; a sub-filter in it; that of a cuckoo
 * filter. */
void tamis__chain_write(struct tamis__writer *w, const struct tamis__redisbloom *c);
void tamis__chain_write_sub(struct tamis__writer *w, const struct tamis__subfilter *t);
void tamis__cuckoo_write(struct tamis__writer *w, const struct tamis__redisbloom *c);

/* ---- formats: redisbloom.c, redis_dump.c */

/* The contents of a filter with a table of `bytes`: a chain with these options, or a cuckoo filter.
 */
void tamis__redis_contents(bool chain, uint32_t options, uint64_t bytes,
                           struct tamis__contents *contents);
tamis_status tamis__redis_make(const struct tamis__spec *spec, struct tamis__contents *contents);
const char *tamis__redis_reason(const struct tamis__codec *codec, const tamis_filter *f);

extern const struct tamis__codec tamis__redisbloom_dump;

#endif
