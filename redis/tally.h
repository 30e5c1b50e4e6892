/* tally.h - exact numbers for a few hashes: what a cuckoo filter cannot count */
#ifndef TAMIS_REDIS_TALLY_H
#define TAMIS_REDIS_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_SHARDS 256 /* of a large tally; a small one has one */
#define TALLY_ENTRY 16   /* bytes of an entry in a piece */

struct tally_shard;

struct tally {
    uint32_t shards;  /* 0 (nothing is counted), 1 or TALLY_SHARDS */
    uint64_t entries; /* hashes with a number other than 0 */
    struct tally_shard *shard;
};

void tally_close(struct tally *t);
/* Shares all tables with `from`.  `to` is empty; false, with nothing in it, if there is no
 * memory. */
bool tally_copy(struct tally *to, const struct tally *from);
/* How many tables a command would have to wait for that changes so many numbers; and has them made
 * ready (shared.h). */
size_t tally_unready(const struct tally *t, size_t hashes);
void tally_prepare(const struct tally *t);

/* 0 for a hash that has no number. */
int64_t tally_get(const struct tally *t, uint64_t hash);
/* Adds `by` to the number of a hash.  False, and nothing changes, if there is no memory or the
 * number is at its end. */
bool tally_move(struct tally *t, uint64_t hash, int64_t by);

size_t tally_bytes(const struct tally *t);

/* ---- as bytes: a piece for each shard, u64 hash and u64 number for each entry, by hash */

size_t tally_piece_size(const struct tally *t, uint32_t shard);
void tally_piece(const struct tally *t, uint32_t shard, uint8_t *bytes);
/* A tally of so many shards (0, 1 or TALLY_SHARDS). */
bool tally_open(struct tally *t, uint32_t shards);
/* False, with the shard empty, if these bytes are not a piece of it. */
bool tally_load(struct tally *t, uint32_t shard, const uint8_t *bytes, size_t length);

#endif
