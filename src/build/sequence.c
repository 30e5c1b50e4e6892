/* sequence.c - see sequence.h */
#include "build/sequence.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 1024

static void release(const struct tamis__sequence *s, uint64_t *words, size_t room) {
    if (words != NULL) tamis__release(&s->allocator, words, room * sizeof *words);
}

void tamis__sequence_free(struct tamis__sequence *s) {
    release(s, s->lo, s->room);
    release(s, s->hi, s->room);
    *s = (struct tamis__sequence){.allocator = s->allocator, .wide = s->wide};
}

/* Moves the hashes to larger arrays: a caller's allocator cannot resize. */
static tamis_status reserve(struct tamis__sequence *s, size_t count) {
    if (count <= s->room - s->count) return TAMIS_OK;
    size_t room = s->room < ROOM_FIRST ? ROOM_FIRST : s->room + s->room / 2;
    if (room - s->count < count) room = s->count + count;
    size_t size;
    if (!tamis__array_size(room, sizeof(uint64_t), &size)) return TAMIS_E_NOMEM;
    uint64_t *lo = tamis__alloc(&s->allocator, size);
    uint64_t *hi = s->wide ? tamis__alloc(&s->allocator, size) : NULL;
    if (lo == NULL || (s->wide && hi == NULL)) {
        release(s, lo, room);
        release(s, hi, room);
        return TAMIS_E_NOMEM;
    }
    if (s->count != 0) memcpy(lo, s->lo, s->count * sizeof *lo);
    if (s->count != 0 && s->wide) memcpy(hi, s->hi, s->count * sizeof *hi);
    release(s, s->lo, s->room);
    release(s, s->hi, s->room);
    s->lo = lo;
    s->hi = hi;
    s->room = room;
    return TAMIS_OK;
}

tamis_status tamis__sequence_append(struct tamis__sequence *s, const uint64_t *lo,
                                    const uint64_t *hi, size_t count) {
    if (count == 0) return TAMIS_OK;
    const tamis_status status = reserve(s, count);
    if (status != TAMIS_OK) return status;
    /* NOLINTBEGIN(clang-analyzer-core.NonNullParamChecker) */
    memcpy(s->lo + s->count, lo, count * sizeof *lo);
    if (s->wide) memcpy(s->hi + s->count, hi, count * sizeof *hi);
    /* NOLINTEND(clang-analyzer-core.NonNullParamChecker) */
    s->count += count;
    return TAMIS_OK;
}

int tamis__compare_words(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

size_t tamis__distinct_words(uint64_t *words, size_t count) {
    qsort(words, count, sizeof *words, tamis__compare_words);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || words[kept - 1] != words[i]) words[kept++] = words[i];
    }
    return kept;
}

tamis_status tamis__sequence_distinct(const struct tamis__sequence *s, uint64_t *distinct) {
    *distinct = s->count;
    if (s->count == 0) return TAMIS_OK;
    uint64_t *sorted = tamis__alloc(&s->allocator, s->count * sizeof *sorted);
    if (sorted == NULL) return TAMIS_E_NOMEM;
    memcpy(sorted, s->lo, s->count * sizeof *sorted);
    *distinct = tamis__distinct_words(sorted, s->count);
    release(s, sorted, s->count);
    return TAMIS_OK;
}
