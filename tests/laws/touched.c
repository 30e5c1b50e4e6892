/* touched.c - files that are verified as queries touch them (TAMIS_VERIFY_TOUCHED)
 *
 * For a filter of every kind with many pieces of 64 KiB, each with a checksum:
 *
 *   - an intact file gives the answers of the filter, one by one and in batches;
 *   - one damaged piece: a query that touches it answers "possibly" and sets tamis_query_status;
 *     no other query changes its answer;
 *   - all pieces damaged but those that a key touches: the key's answer is right, and no error.
 *
 * And for a file of 1 GB whose other pieces are all damaged: a query of one key is answered, and
 * less than 1 MB of the file is in memory afterwards.
 *
 * tests: threads */
#define _DEFAULT_SOURCE 1
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../support/filters.h"

#define HEADER ((size_t)192)
#define PIECE ((size_t)65536)

struct subject {
    const struct variant *v;
    struct bytes good;
    size_t table, pieces;
    char path[512];
    uint64_t hashes[400]; /* half of them members */
    bool answers[400];
};
#define HASHES (sizeof((struct subject *)0)->hashes / sizeof(uint64_t))

static void file_write(const struct subject *s, const struct bytes *bytes) {
    FILE *file = fopen(s->path, "wb");
    const bool written = file != NULL && fwrite(bytes->data, 1, bytes->size, file) == bytes->size;
    CHECK(file != NULL && fclose(file) == 0 && written, "%s cannot be written", s->path);
}

static tamis_filter *open_mapped(const struct subject *s, uint32_t threads) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    open.map = true;
    open.threads = threads;
    const tamis_status status = tamis_open(s->path, &open, &f);
    CHECK(status == TAMIS_OK || status == TAMIS_E_CHECKSUM, "%s: open: %s", s->v->name,
          tamis_status_name(status));
    return f;
}

static void intact(const struct subject *s) {
    bool answers[HASHES];
    file_write(s, &s->good);
    tamis_filter *f = open_mapped(s, 1);
    for (size_t i = 0; i < HASHES; i++) {
        CHECK(tamis_contains_hash(f, s->hashes[i]) == s->answers[i], "%s: key %zu", s->v->name, i);
    }
    CHECK(tamis_query_status(f) == TAMIS_OK, "%s: an intact file", s->v->name);
    tamis_free(f);
    f = open_mapped(s, 2);
    for (size_t n = 1; n <= HASHES; n = n * 3 + 1) {
        tamis_contains_hash_batch(f, s->hashes, n, answers);
        CHECK(memcmp(answers, s->answers, n) == 0, "%s: a batch of %zu", s->v->name, n);
    }
    CHECK(tamis_query_status(f) == TAMIS_OK && tamis_verify(f) == TAMIS_OK,
          "%s: an intact file, by batches", s->v->name);
    tamis_free(f);
    count_up("intact files", 2);
}

static void damage(struct bytes *bad, size_t piece, size_t table, uint64_t salt) {
    const size_t from = piece * PIECE, bytes = table - from < PIECE ? table - from : PIECE;
    struct rng r = {run_seed() + salt + piece};
    bad->data[HEADER + from + (size_t)rng_below(&r, bytes)] ^= (uint8_t)(1 + rng_below(&r, 255));
}

/* Which keys touch the damaged piece?  A file that cannot be opened touches it with every key. */
static void one_damaged(const struct subject *s, size_t piece, bool *touches) {
    struct bytes bad = bytes_copy(s->good.data, s->good.size);
    damage(&bad, piece, s->table, 0);
    file_write(s, &bad);
    bytes_free(&bad);
    size_t touching = 0;
    for (size_t i = 0; i < HASHES; i++) {
        tamis_filter *f = open_mapped(s, 1);
        const bool answer = f == NULL || tamis_contains_hash(f, s->hashes[i]);
        touches[i] = f == NULL || tamis_query_status(f) == TAMIS_E_CHECKSUM;
        touching += touches[i];
        CHECK(touches[i] ? answer : answer == s->answers[i], "%s: piece %zu damaged, key %zu",
              s->v->name, piece, i);
        CHECK(f == NULL || tamis_verify(f) == TAMIS_E_CHECKSUM, "%s: verify", s->v->name);
        tamis_free(f);
    }
    tamis_filter *f = open_mapped(s, 2);
    bool answers[HASHES];
    if (f != NULL) {
        tamis_contains_hash_batch(f, s->hashes, HASHES, answers);
        const bool noted = tamis_query_status(f) == TAMIS_E_CHECKSUM;
        CHECK(noted == (touching != 0), "%s: piece %zu damaged, a batch", s->v->name, piece);
    }
    for (size_t i = 0; f != NULL && i < HASHES; i++) {
        CHECK(answers[i] == (touches[i] || s->answers[i]),
              "%s: piece %zu damaged, key %zu of a batch", s->v->name, piece, i);
    }
    tamis_free(f);
    count_up("damaged pieces", 1);
    count_up("keys that touched them", touching);
}

static void others_damaged(const struct subject *s, size_t key, bool (*touches)[HASHES]) {
    struct bytes bad = bytes_copy(s->good.data, s->good.size);
    size_t damaged = 0;
    for (size_t p = 0; p < s->pieces; p++) {
        if (touches[p][key]) continue;
        damage(&bad, p, s->table, key);
        damaged++;
    }
    file_write(s, &bad);
    bytes_free(&bad);
    tamis_filter *f = open_mapped(s, 1);
    CHECK(f != NULL && tamis_contains_hash(f, s->hashes[key]) == s->answers[key] &&
              tamis_query_status(f) == TAMIS_OK,
          "%s: %zu of %zu pieces damaged, none of key %zu", s->v->name, damaged, s->pieces, key);
    tamis_free(f);
    count_up("pieces damaged around a key", damaged);
}

static void one_variant(const struct variant *v, size_t n) {
    struct subject s = {.v = v};
    uint64_t *members = hashes_make(n, run_seed(), STREAM_MEMBERS);
    tamis_filter *f = variant_build(v, 0.01, members, n);
    if (f == NULL) return;
    memcpy(s.hashes, members, HASHES / 2 * sizeof *members);
    hashes_fill(s.hashes + HASHES / 2, HASHES / 2, 0, run_seed(), STREAM_OTHERS);
    tamis_contains_hash_batch(f, s.hashes, HASHES, s.answers);
    s.good = bytes_of(f);
    s.table = (size_t)facts_of(f).table_bytes;
    s.pieces = (s.table + PIECE - 1) / PIECE;
    snprintf(s.path, sizeof s.path, "%s/touched.tamis", run_directory());
    tamis_free(f);
    free(members);
    intact(&s);
    bool(*touches)[HASHES] = need(s.pieces, sizeof *touches);
    for (size_t p = 0; p < s.pieces; p++) one_damaged(&s, p, touches[p]);
    for (size_t key = 0; key < HASHES; key += HASHES / 8) others_damaged(&s, key, touches);
    free(touches);
    bytes_free(&s.good);
    remove(s.path);
}

/* ---- a large file */

/* Writes a file in which pages of zeros are holes. */
struct sparse {
    int descriptor;
    off_t at;
};

static bool write_sparse(void *context, const void *bytes, size_t length) {
    struct sparse *s = context;
    const uint8_t *from = bytes;
    bool done = true;
    for (size_t at = 0; at < length && done; at += 4096) {
        const size_t n = length - at < 4096 ? length - at : 4096;
        bool zero = true;
        for (size_t i = 0; i < n && zero; i++) zero = from[at + i] == 0;
        if (!zero) done = pwrite(s->descriptor, from + at, n, s->at + (off_t)at) == (ssize_t)n;
    }
    s->at += (off_t)length;
    return done;
}

static bool save_sparse(const tamis_filter *f, const char *path) {
    struct sparse s = {.descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600)};
    if (s.descriptor < 0) return false;
    const bool saved =
        tamis_encode_to(f, write_sparse, &s) == TAMIS_OK && ftruncate(s.descriptor, s.at) == 0;
    return (close(s.descriptor) == 0) && saved;
}

/* Damages a byte of every piece but one. */
static bool damage_others(const char *path, uint64_t table, uint64_t kept) {
    const int descriptor = open(path, O_RDWR);
    bool done = descriptor >= 0;
    for (uint64_t at = 0; at < table && done; at += PIECE) {
        if (at / PIECE == kept) continue;
        done = pwrite(descriptor, "\x55", 1, (off_t)(HEADER + at + at / PIECE % PIECE)) == 1;
    }
    done = done && fsync(descriptor) == 0;
    if (done) (void)posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    if (descriptor >= 0) close(descriptor);
    return done;
}

/* Bytes of the file that are in memory. */
static uint64_t cached_bytes(const char *path) {
    const int descriptor = open(path, O_RDONLY);
    const off_t size = lseek(descriptor, 0, SEEK_END);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = ((size_t)size + page - 1) / page;
    unsigned char *there = NEED(unsigned char, pages);
    void *at = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, descriptor, 0);
    uint64_t cached = 0;
    close(descriptor);
    if (at == MAP_FAILED || mincore(at, (size_t)size, (void *)there) != 0) {
        cached = UINT64_MAX;
    } else {
        for (size_t i = 0; i < pages; i++) cached += page * (there[i] & 1);
    }
    if (at != MAP_FAILED) munmap(at, (size_t)size);
    free(there);
    return cached;
}

/* The piece that a key touches: that with its bits, the others being all 0. */
static uint64_t piece_of(const char *path, uint64_t table) {
    const int descriptor = open(path, O_RDONLY);
    static uint8_t piece[PIECE];
    uint64_t found = UINT64_MAX;
    for (uint64_t at = 0; at < table && found == UINT64_MAX; at += PIECE) {
        const ssize_t n = pread(descriptor, piece, PIECE, (off_t)(HEADER + at));
        for (ssize_t i = 0; i < n && at + (uint64_t)i < table; i++) {
            if (piece[i] != 0) found = at / PIECE;
        }
    }
    close(descriptor);
    return found;
}

static void large_file(uint64_t bytes) {
    char path[512];
    const uint64_t key = run_seed();
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    snprintf(path, sizeof path, "%s/large.tamis", run_directory());
    o.kind = TAMIS_BLOCK;
    o.capacity = bytes * 8 / 10;
    const tamis_status status = tamis_create(&o, &f);
    if (status == TAMIS_E_NOMEM || status == TAMIS_E_TOO_BIG) return; /* a small machine */
    CHECK(status == TAMIS_OK && tamis_add_hash(f, key, NULL) == TAMIS_OK, "a large filter");
    const uint64_t table = facts_of(f).table_bytes;
    CHECK(save_sparse(f, path), "%s cannot be written", path);
    tamis_free(f);
    CHECK(damage_others(path, table, piece_of(path, table)), "%s cannot be damaged", path);
    const uint64_t before = cached_bytes(path);
    open.map = true;
    CHECK(tamis_open(path, &open, &f) == TAMIS_OK, "open a large file");
    CHECK(tamis_contains_hash(f, key) && tamis_query_status(f) == TAMIS_OK,
          "the only key, in the only piece that is intact");
    const uint64_t after = cached_bytes(path);
    if (before < PIECE) {
        CHECK(after < 1000000, "%llu bytes of the file were read", (unsigned long long)after);
        count_up("bytes of a large file", table);
        count_up("bytes of it that one query read", after);
    } else {
        printf("touched: the file system keeps files in memory, so pages are not counted\n");
    }
    CHECK(tamis_contains_hash(f, key + 1) && tamis_query_status(f) == TAMIS_E_CHECKSUM,
          "a key of another piece");
    tamis_free(f);
    remove(path);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "touched");
    const struct variant *v;
    const size_t n = (size_t)run_pick(150000, 300000, 1000000);
    for (size_t i = 0; (v = variant_at(i)) != NULL; i++) one_variant(v, n);
    if (!run_filtered()) large_file(run_pick((uint64_t)64 << 20, 1000000000, 1000000000));
    return run_end();
}
