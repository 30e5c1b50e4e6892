/* kept.c - see kept.h */
#include "build/kept.h"

#include <string.h>

#include "build/keys.h"
#include "build/keys_runs.h"
#include "core/io.h"

#define BLOCK_FIRST ((size_t)32 << 10) /* bytes; each block doubles the one before, */
#define BLOCK_MAX ((size_t)4 << 20)    /* up to a size that is mapped separately */
#define BLOCK_SHARE 16                 /* of a memory limit */

struct tamis__kept_block {
    struct tamis__kept_block *next;
    size_t bytes, room, used; /* room and used in words */
    uint64_t word[];
};

tamis_status tamis__kept_open(struct tamis__kept *k, const tamis_allocator *a,
                              const struct tamis__hashing *hashing, uint64_t memory,
                              const char *temporary) {
    *k = (struct tamis__kept){.allocator = *a,
                              .hashing = *hashing,
                              .wide = hashing->compat != NULL && hashing->compat->wide,
                              .block_bytes = BLOCK_FIRST,
                              .file = -1};
    if (memory == 0) return TAMIS_OK;
    const uint64_t share = memory / BLOCK_SHARE;
    k->block_bytes = share < BLOCK_FIRST ? BLOCK_FIRST
                     : share > BLOCK_MAX ? BLOCK_MAX
                                         : (size_t)share;
    k->file = tamis__nameless_file(tamis__temporary_directory(temporary));
    return k->file < 0 ? TAMIS_E_IO : TAMIS_OK;
}

static void free_blocks(struct tamis__kept *k) {
    for (struct tamis__kept_block *b = k->first, *next; b != NULL; b = next) {
        next = b->next;
        tamis__table_free(&k->allocator, b, b->bytes);
    }
    k->first = k->last = NULL;
    k->blocks = 0;
}

void tamis__kept_close(struct tamis__kept *k) {
    free_blocks(k);
    if (k->block_bytes != 0) tamis__close(k->file);
    k->block_bytes = 0;
}

/* A block with room for `words`, as the last. */
static tamis_status next_block(struct tamis__kept *k, size_t words) {
    size_t least, bytes = k->block_bytes;
    if (!tamis__array_size((uint64_t)words + sizeof *k->last / 8, 8, &least)) return TAMIS_E_NOMEM;
    if (bytes < least) bytes = least;
    struct tamis__kept_block *b = tamis__table_alloc(&k->allocator, bytes);
    if (b == NULL) return TAMIS_E_NOMEM;
    *b = (struct tamis__kept_block){.bytes = bytes, .room = (bytes - sizeof *b) / 8};
    if (k->last == NULL) {
        k->first = b;
    } else {
        k->last->next = b;
    }
    k->last = b;
    k->blocks++;
    if (k->file < 0 && k->block_bytes < BLOCK_MAX) k->block_bytes *= 2;
    return TAMIS_OK;
}

/* Empties the last block, which is the only one. */
static tamis_status spill(struct tamis__kept *k) {
    struct tamis__kept_block *b = k->last;
    if (!tamis__pwrite_all(k->file, b->word, 8 * (uint64_t)b->used, 8 * k->file_words)) {
        return TAMIS_E_IO;
    }
    k->file_words += b->used;
    b->used = 0;
    return TAMIS_OK;
}

static size_t words_of(const struct tamis__kept *k, size_t count) { return count << k->wide; }

tamis_status tamis__kept_reserve(struct tamis__kept *k, size_t count) {
    if (k->sums_only) return TAMIS_OK;
    if (count > SIZE_MAX / 32) return TAMIS_E_NOMEM;
    const size_t words = k->reserved + words_of(k, count);
    tamis_status status = TAMIS_OK;
    if (k->last != NULL && k->last->room - k->last->used < words && k->file >= 0) {
        status = spill(k);
        if (status == TAMIS_OK && k->last->room < words) free_blocks(k);
    }
    if (status == TAMIS_OK && (k->last == NULL || k->last->room - k->last->used < words)) {
        status = next_block(k, words);
    }
    if (status == TAMIS_OK) k->reserved = words;
    return status;
}

uint64_t tamis__kept_sum(const uint64_t *lo, const uint64_t *hi, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += tamis__kept_term(lo[i], hi == NULL ? 0 : hi[i]);
    return sum;
}

void tamis__kept_add(struct tamis__kept *k, const uint64_t *lo, const uint64_t *hi, size_t count,
                     size_t reserved) {
    if (!k->wide) hi = NULL;
    k->sum += tamis__kept_sum(lo, hi, count);
    k->count += count;
    if (k->sums_only) return;
    k->reserved -= words_of(k, reserved);
    if (count == 0) return;
    uint64_t *to = k->last->word + k->last->used;
    if (hi == NULL) memcpy(to, lo, count * sizeof *lo);
    for (size_t i = 0; hi != NULL && i < count; i++) {
        to[2 * i] = lo[i];
        to[2 * i + 1] = hi[i];
    }
    k->last->used += words_of(k, count);
}

static uint64_t file_units(const struct tamis__kept *k) {
    return tamis__div_up(k->file_words, TAMIS__KEPT_UNIT);
}

uint64_t tamis__kept_units(const struct tamis__kept *k) { return file_units(k) + k->blocks; }

bool tamis__kept_unit(const struct tamis__kept *k, uint64_t unit, uint64_t *buffer,
                      const uint64_t **words, size_t *count) {
    const uint64_t from = unit * TAMIS__KEPT_UNIT;
    if (from < k->file_words) {
        const uint64_t left = k->file_words - from;
        *count = left < TAMIS__KEPT_UNIT ? (size_t)left : TAMIS__KEPT_UNIT;
        *words = buffer;
        return tamis__pread_all(k->file, buffer, 8 * (uint64_t)*count, 8 * from);
    }
    const struct tamis__kept_block *b = k->first;
    for (uint64_t i = file_units(k); i < unit; i++) b = b->next;
    *words = b->word;
    *count = b->used;
    return true;
}
