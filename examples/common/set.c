/* set.c - see set.h */
#include "set.h"

#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { block_min = 1 << 12, block_max = 1 << 20 };

struct block {
    struct block *next;
    unsigned char bytes[];
};

struct set {
    uint64_t *slots;
    size_t size; /* of the table, a power of two */
    size_t count;
    struct block *blocks; /* the newest first */
    size_t used, room;    /* of the newest */
    size_t memory;
};

set *set_create(void) {
    set *texts = job_allocate(sizeof *texts);
    *texts = (set){.size = 16};
    texts->slots = job_allocate(texts->size * sizeof *texts->slots);
    memset(texts->slots, 0, texts->size * sizeof *texts->slots);
    texts->memory = sizeof *texts + texts->size * sizeof *texts->slots;
    return texts;
}

void set_free(set *texts) {
    for (struct block *block = texts->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(texts->slots);
    free(texts);
}

size_t set_count(const set *texts) { return texts->count; }
size_t set_memory(const set *texts) { return texts->memory; }

static uint64_t hash(const void *text, size_t length) {
    const unsigned char *bytes = text;
    uint64_t sum = length, word;
    for (; length >= 8; bytes += 8, length -= 8) {
        memcpy(&word, bytes, 8);
        sum = job_mix(sum ^ word);
    }
    word = 0;
    memcpy(&word, bytes, length);
    return job_mix(sum ^ word);
}

/* Systems return no addresses above 2^48 unless a program requests them. */
static const uint64_t address_bits = (UINT64_C(1) << 48) - 1;

static unsigned char *slot_text(uint64_t slot) {
    return (unsigned char *)(uintptr_t)(slot & address_bits);
}

/* The slot of a text: where it is, or the empty one where it would be. */
static uint64_t *find(const set *texts, const void *text, size_t length, uint64_t sum) {
    size_t mask = texts->size - 1;
    for (size_t place = sum & mask;; place = (place + 1) & mask) {
        uint64_t slot = texts->slots[place];
        if (!slot) return &texts->slots[place];
        if (slot >> 48 != sum >> 48) continue;
        uint32_t stored;
        memcpy(&stored, slot_text(slot), sizeof stored);
        if (stored == length && memcmp(slot_text(slot) + sizeof stored, text, length) == 0)
            return &texts->slots[place];
    }
}

static unsigned char *store(set *texts, const void *text, size_t length) {
    uint32_t stored = (uint32_t)length;
    size_t needed = sizeof stored + length;
    if (needed > texts->room - texts->used) {
        size_t room = texts->room ? texts->room * 2 : block_min;
        if (room > block_max) room = block_max;
        if (room < needed) room = needed;
        struct block *block = job_allocate(sizeof *block + room);
        block->next = texts->blocks;
        texts->blocks = block;
        texts->used = 0;
        texts->room = room;
        texts->memory += sizeof *block + room;
    }
    unsigned char *place = texts->blocks->bytes + texts->used;
    memcpy(place, &stored, sizeof stored);
    memcpy(place + sizeof stored, text, length);
    texts->used += needed;
    return place;
}

static void grow(set *texts) {
    uint64_t *old = texts->slots;
    size_t old_size = texts->size;
    texts->size *= 2;
    texts->slots = job_allocate(texts->size * sizeof *texts->slots);
    memset(texts->slots, 0, texts->size * sizeof *texts->slots);
    texts->memory += (texts->size - old_size) * sizeof *texts->slots;
    for (size_t i = 0; i < old_size; i++) {
        if (!old[i]) continue;
        uint32_t length;
        memcpy(&length, slot_text(old[i]), sizeof length);
        const unsigned char *text = slot_text(old[i]) + sizeof length;
        *find(texts, text, length, hash(text, length)) = old[i];
    }
    free(old);
}

bool set_add(set *texts, const void *text, size_t length) {
    if (length > UINT32_MAX) job_fail("a text of more than 4 GiB");
    uint64_t sum = hash(text, length);
    uint64_t *slot = find(texts, text, length, sum);
    if (*slot) return false;
    *slot = (uint64_t)(uintptr_t)store(texts, text, length) | (sum & ~address_bits);
    if (++texts->count * 4 > texts->size * 3) grow(texts);
    return true;
}

bool set_contains(const set *texts, const void *text, size_t length) {
    return *find(texts, text, length, hash(text, length)) != 0;
}
