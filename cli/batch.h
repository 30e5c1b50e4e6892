/* batch.h - the records of a block, their keys and hashes, a few hundred at a time
 *
 * A record that needs no change is its own key and is not copied. */
#ifndef TAMIS_CLI_BATCH_H
#define TAMIS_CLI_BATCH_H

#include "keys.h"
#include "records.h"

/* Keys in a batch: enough to hide the latency of memory, few enough for the L1 cache. */
#define BATCH_KEYS 512

struct batch {
    size_t count;
    size_t start[BATCH_KEYS]; /* offset of the record in its block */
    const void *record[BATCH_KEYS];
    size_t record_length[BATCH_KEYS];

    const void *const *keys; /* the keys: the records themselves, or made[] */
    const size_t *lengths;
    uint64_t hash[BATCH_KEYS];
    bool answer[BATCH_KEYS];

    const void *made[BATCH_KEYS];
    size_t made_length[BATCH_KEYS];
    uint8_t *scratch;
    size_t scratch_capacity;
};

/* Before its first use; and at the end. */
void batch_start(struct batch *batch);
void batch_free(struct batch *batch);

/* The next records of the block from offset *at on; false when there are none left. */
bool batch_next(struct batch *batch, const struct block *block, uint8_t delimiter, size_t *at);

/* Makes the keys of the batch; forms with --prehashed fill hash[] instead.  key_bytes: the length
 * of all keys of the filter; 0: any.  False if a record has no such key: then `error` is set (its
 * record counted within the batch) and the batch is cut to the records before it. */
bool batch_keys(struct batch *batch, const tamis_key_form *form, uint32_t key_bytes,
                struct record_error *error);

#endif
