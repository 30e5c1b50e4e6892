/* seiflotfy.c - the cuckoo filter of seiflotfy/cuckoofilter (Go): what Encode gives
 *
 *     four bytes a bucket, a power of two of buckets; nothing else
 *
 * Follows Debian's 0.0~git20201222.  The scalable variant (a Go gob) is not read.
 *
 * Quirks
 *   - There is no header: any file whose length is four times a power of two could be one.
 *   - Decode takes any number of buckets, but the library finds keys only among a power of two:
 *     other lengths are refused here.
 *   - The original evicts at random: bytes are the same as its own while nothing was evicted. */
#include "core/bits.h"
#include "core/bytes.h"
#include "family/scheme.h"
#include "format/format.h"

#define SLOTS 4
#define BUCKETS_MOST ((uint64_t)1 << 32)
#define KEYS_DEFAULT 1000

enum { BUCKETS };

static tamis_status check_length(uint64_t length) {
    const uint64_t buckets = length / SLOTS;
    if (length % SLOTS != 0 || (buckets & (buckets - 1)) != 0) return TAMIS_E_CORRUPT;
    return buckets == 0 || buckets > BUCKETS_MOST ? TAMIS_E_CORRUPT : TAMIS_OK;
}

static void cuckoo_image(uint64_t buckets, struct tamis__image *image) {
    *image = (struct tamis__image){
        .kind = TAMIS_CUCKOO,
        .shape = {
            .word = {buckets}, .table_bytes = buckets * SLOTS, .scheme = TAMIS__SCHEME_QUARTET}};
    tamis__hashing_foreign(&image->hashing, TAMIS__FOREIGN_METRO, 0);
}

static tamis_status cuckoo_decode(const uint8_t *bytes, uint64_t length, const tamis_filter *like,
                                  const tamis_open_options *options, tamis_filter **out) {
    struct tamis__image image;
    const tamis_status status = length == 0 ? TAMIS_E_TRUNCATED : check_length(length);
    (void)options;
    if (status != TAMIS_OK) return status;
    cuckoo_image(length / SLOTS, &image);
    for (uint64_t i = 0; i < length; i++) image.adds += bytes[i] != 0;
    image.table = bytes;
    return tamis__image_open(&image, like, out);
}

static enum tamis__likeness cuckoo_detect(const uint8_t *bytes, uint64_t length) {
    (void)bytes;
    return length >= 16 && check_length(length) == TAMIS_OK ? TAMIS__COULD : TAMIS__NOT;
}

static uint64_t cuckoo_encoded_size(const tamis_filter *f) {
    return f->shape.word[BUCKETS] * SLOTS;
}

static tamis_status cuckoo_encode(const tamis_filter *f, uint8_t *buffer) {
    memcpy(buffer, f->table, (size_t)(f->shape.word[BUCKETS] * SLOTS));
    return TAMIS_OK;
}

/* NewFilter rounds the capacity up to a power of two, whatever that makes of the load: a set
 * that just fits fills it to the last slot, so leave room. */
static tamis_status cuckoo_make(const struct tamis__recipe *recipe, struct tamis__image *image) {
    const uint64_t keys = recipe->keys == 0 ? KEYS_DEFAULT : recipe->keys;
    if (keys > BUCKETS_MOST * SLOTS) return TAMIS_E_TOO_BIG;
    const uint64_t slots = keys <= 1 ? 1 : (uint64_t)1 << (tamis__log2(keys - 1) + 1);
    cuckoo_image(slots < SLOTS ? 1 : slots / SLOTS, image);
    image->capacity = keys;
    return TAMIS_OK;
}

static const char *cuckoo_refuse(const tamis_filter *f) {
    return tamis__image_fits(f, TAMIS__SCHEME_QUARTET, TAMIS__FOREIGN_METRO)
               ? NULL
               : "the fingerprints come from that filter's own hash of each key: the keys are "
                 "needed";
}

const struct tamis__codec tamis__seiflotfy = {
    .name = "seiflotfy",
    .about = "seiflotfy/cuckoofilter (Go), Encode",
    .detect = cuckoo_detect,
    .decode = cuckoo_decode,
    .encoded_size = cuckoo_encoded_size,
    .encode = cuckoo_encode,
    .make = cuckoo_make,
    .refuse = cuckoo_refuse,
};
