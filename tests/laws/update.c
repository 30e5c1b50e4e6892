/* update.c - a file opened for update: a commit writes what the same operations give in memory,
 * byte for byte, whether in place or as a new file; without a commit the file does not change
 *
 * Large files of the kinds that support it are updated in place; all others are written as a
 * whole.  The crashes are in tests/cli/cases/inplace.bash. */
#define _XOPEN_SOURCE 700 /* unlink, stat, symlink */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/filters.h"

#define LARGE ((uint64_t)24 << 20) /* bytes: well above what is changed in place */
#define FEW 3

static char path[512];

static tamis_filter *open_update(const char *name) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *f;
    how.update = true;
    const tamis_status status = tamis_open(name, &how, &f);
    CHECK(status == TAMIS_OK, "%s for update: %s", name, tamis_status_name(status));
    return f;
}

/* The file, opened for reading. */
static struct bytes file_bytes(void) {
    tamis_filter *f;
    struct bytes b = {NULL, 0};
    if (CHECK(tamis_open(path, NULL, &f) == TAMIS_OK, "the file cannot be opened")) b = bytes_of(f);
    tamis_free(f);
    return b;
}

static ino_t inode(void) {
    struct stat st;
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* A capacity for which the table is about LARGE. */
static uint64_t large_capacity(const struct variant *v) {
    tamis_options o = variant_options(v, 1000000, 0.01);
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    CHECK(tamis_size(&o, &sizing) == TAMIS_OK, "%s: size", v->name);
    return (uint64_t)((double)LARGE / ((double)sizing.bytes / 1e6)) + 1;
}

static bool changes_in_place(tamis_kind kind) {
    return kind == TAMIS_BLOOM || kind == TAMIS_BLOCK || kind == TAMIS_COUNTING;
}

/* A few keys more; for a kind that removes, a few less. */
static void change(const struct variant *v, tamis_filter *f, const uint64_t *hashes) {
    CHECK(tamis_add_hash_batch(f, hashes, FEW, NULL, NULL) == TAMIS_OK, "%s: add", v->name);
    CHECK(tamis_add_hash(f, hashes[FEW], NULL) == TAMIS_OK, "%s: add one", v->name);
    if ((v->caps & TAMIS_CAN_REMOVE) == 0) return;
    CHECK(tamis_remove_hash(f, hashes[1]) == TAMIS_OK, "%s: remove", v->name);
}

static void committed(const struct variant *v, uint64_t capacity, bool large) {
    uint64_t *hashes = hashes_make(1000, run_seed() + capacity, STREAM_MEMBERS);
    tamis_filter *f = variant_create(v, capacity, 0.01);
    if (f == NULL) return;
    CHECK(tamis_add_hash_batch(f, hashes + 100, 900, NULL, NULL) == TAMIS_OK, "%s", v->name);
    CHECK(tamis_save(f, path, true) == TAMIS_OK, "%s: save", v->name);
    struct bytes before = bytes_of(f);
    change(v, f, hashes);
    struct bytes wanted = bytes_of(f);
    tamis_free(f);

    f = open_update(path); /* not committed */
    change(v, f, hashes);
    tamis_free(f);
    struct bytes got = file_bytes();
    CHECK(bytes_equal(&got, &before), "%s: without a commit the file changed", v->name);
    bytes_free(&got);

    const ino_t old = inode();
    uint64_t written = 0;
    f = open_update(path);
    CHECK(!facts_of(f).readonly && facts_of(f).caps == v->caps, "%s: cannot be changed", v->name);
    change(v, f, hashes);
    CHECK(tamis_verify(f) == TAMIS_OK, "%s: verify after a change", v->name);
    CHECK(encodes_to(f, &wanted), "%s: other bytes than in memory", v->name);
    CHECK(tamis_commit(f, &written) == TAMIS_OK, "%s: commit", v->name);
    CHECK(tamis_commit(f, NULL) == TAMIS_E_ARGUMENT, "%s: one commit for each open", v->name);
    const bool in_place = inode() == old;
    CHECK(in_place == (large && changes_in_place(v->kind)), "%s: in place is %d", v->name,
          in_place);
    CHECK(in_place ? written < wanted.size / 4 : written == wanted.size, "%s: %llu bytes written",
          v->name, (unsigned long long)written);
    got = file_bytes();
    CHECK(bytes_equal(&got, &wanted), "%s: differs at byte %zu", v->name,
          bytes_difference(&got, &wanted));
    CHECK(encodes_to(f, &wanted), "%s: the filter after a commit", v->name);
    tamis_free(f);
    bytes_free(&got);
    bytes_free(&before);
    bytes_free(&wanted);
    free(hashes);
    count_up("commits", 1);
}

#define EDGE 4096 /* bytes at both ends, which the system may keep in pages with other parts */

/* Hashes whose bits all lie near the beginning or the end of a `block` table: those that match if
 * all bits there are set. */
static size_t at_the_edges(const struct bytes *empty, uint64_t *hashes, size_t max) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *f;
    size_t found = 0;
    struct bytes ones = bytes_copy(empty->data, empty->size);
    memset(ones.data + 192, 0xff, EDGE - 192);
    memset(ones.data + ones.size - EDGE, 0xff, EDGE);
    how.verify = TAMIS_VERIFY_LATER;
    if (!CHECK(tamis_view(ones.data, ones.size, &how, &f) == TAMIS_OK, "a view of ones")) return 0;
    for (uint64_t i = 0; i < 1000000 && found < max; i++) {
        const uint64_t hash = tamis_hash_integer(i);
        if (tamis_contains_hash(f, hash)) hashes[found++] = hash;
    }
    tamis_free(f);
    bytes_free(&ones);
    return found;
}

/* A filter that was committed can still be verified, copied and saved, also if what shares a page
 * with the header or the checksums has changed. */
static void committed_edges(const struct variant *v, uint64_t capacity) {
    uint64_t hashes[16];
    char copy[520];
    tamis_filter *f = variant_create(v, capacity, 0.01), *g;
    if (f == NULL) return;
    struct bytes empty = bytes_of(f);
    const size_t count = at_the_edges(&empty, hashes, 16);
    CHECK(count == 16, "%s: %zu hashes are at the edges", v->name, count);
    CHECK(tamis_save(f, path, true) == TAMIS_OK, "%s: save", v->name);
    CHECK(tamis_add_hash_batch(f, hashes, count, NULL, NULL) == TAMIS_OK, "%s: add", v->name);
    struct bytes wanted = bytes_of(f);
    tamis_free(f);
    const ino_t old = inode();
    f = open_update(path);
    CHECK(tamis_add_hash_batch(f, hashes, count, NULL, NULL) == TAMIS_OK, "%s: add", v->name);
    CHECK(tamis_verify(f) == TAMIS_OK && tamis_commit(f, NULL) == TAMIS_OK && inode() == old,
          "%s: commit in place", v->name);
    CHECK(tamis_verify(f) == TAMIS_OK, "%s: verify after a commit", v->name);
    CHECK(encodes_to(f, &wanted), "%s: encode after a commit", v->name);
    CHECK(tamis_clone(f, &g) == TAMIS_OK, "%s: clone after a commit", v->name);
    tamis_free(g);
    snprintf(copy, sizeof copy, "%s.copy", path);
    CHECK(tamis_save(f, copy, true) == TAMIS_OK, "%s: save after a commit", v->name);
    unlink(copy);
    tamis_free(f);
    struct bytes got = file_bytes();
    CHECK(bytes_equal(&got, &wanted), "%s: the file", v->name);
    bytes_free(&got);
    bytes_free(&empty);
    bytes_free(&wanted);
}

/* A merge changes everything, and so does writing another format. */
static void everything(const struct variant *v, uint64_t capacity) {
    uint64_t *hashes = hashes_make(200, run_seed(), STREAM_OTHERS);
    tamis_filter *f = variant_create(v, capacity, 0.01), *g = variant_create(v, capacity, 0.01);
    if (f == NULL || g == NULL) return;
    CHECK(tamis_add_hash_batch(g, hashes, 200, NULL, NULL) == TAMIS_OK, "%s", v->name);
    CHECK(tamis_save(f, path, true) == TAMIS_OK, "%s: save", v->name);
    tamis_free(f);
    f = open_update(path);
    CHECK(tamis_merge(f, g, TAMIS_UNION) == TAMIS_OK, "%s: merge", v->name);
    CHECK(tamis_commit(f, NULL) == TAMIS_OK, "%s: commit", v->name);
    tamis_free(f);
    struct bytes got = file_bytes();
    CHECK(encodes_to(g, &got), "%s: merged", v->name);
    bytes_free(&got);
    tamis_free(g);
    free(hashes);
}

/* Nothing changed: nothing is written, and that is not an error. */
static void nothing(const struct variant *v) {
    tamis_filter *f = open_update(path), *copy;
    struct bytes before = file_bytes();
    CHECK(tamis_clone(f, &copy) == TAMIS_OK, "%s: clone", v->name);
    CHECK(tamis_commit(copy, NULL) == TAMIS_E_ARGUMENT, "%s: a copy has no file", v->name);
    CHECK(tamis_commit(f, NULL) == TAMIS_OK, "%s: nothing to commit", v->name);
    struct bytes after = file_bytes();
    CHECK(bytes_equal(&before, &after), "%s: the file changed", v->name);
    tamis_free(copy);
    tamis_free(f);
    bytes_free(&before);
    bytes_free(&after);
}

/* tamis_info_brief agrees with tamis_info. */
static void brief(const struct variant *v) {
    tamis_filter *f;
    tamis_facts less = TAMIS_FACTS_INIT;
    if (!CHECK(tamis_open(path, NULL, &f) == TAMIS_OK, "%s: open", v->name)) return;
    const tamis_facts all = facts_of(f);
    CHECK(tamis_info_brief(f, &less) == TAMIS_OK, "%s: brief", v->name);
    CHECK(less.kind == all.kind && less.caps == all.caps && less.adds == all.adds &&
              less.encoded_bytes == all.encoded_bytes && less.fpr_target == all.fpr_target &&
              less.seed == all.seed && less.prehashed == all.prehashed,
          "%s: brief facts differ", v->name);
    CHECK(less.distinct == 0 && less.fill == 0 && less.fpr_now == 0 && !less.over_capacity,
          "%s: brief facts contain counts", v->name);
    tamis_free(f);
}

/* Collects what tamis_encode_to writes, and stops it after `max` bytes. */
struct sink {
    uint8_t *data;
    size_t used, max;
};

static bool sink_write(void *context, const void *bytes, size_t length) {
    struct sink *sink = context;
    if (length > sink->max - sink->used) return false;
    memcpy(sink->data + sink->used, bytes, length);
    sink->used += length;
    return true;
}

static void streamed(const struct variant *v) {
    struct bytes whole = file_bytes();
    tamis_filter *f;
    if (whole.size == 0 || tamis_open(path, NULL, &f) != TAMIS_OK) return;
    struct sink sink = {malloc(whole.size), 0, whole.size};
    CHECK(tamis_encode_to(f, sink_write, &sink) == TAMIS_OK, "%s: encode_to", v->name);
    CHECK(sink.used == whole.size && memcmp(sink.data, whole.data, whole.size) == 0,
          "%s: encode_to gives other bytes than encode", v->name);
    sink.used = 0;
    sink.max = whole.size - 1;
    CHECK(tamis_encode_to(f, sink_write, &sink) == TAMIS_E_IO, "%s: a writer may stop it", v->name);
    CHECK(tamis_encode_to(f, NULL, NULL) == TAMIS_E_ARGUMENT, "%s: no writer", v->name);
    free(sink.data);
    tamis_free(f);
    bytes_free(&whole);
}

/* ---- damage */

static void write_at(uint64_t offset, const uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "r+b");
    if (!CHECK(file != NULL, "the file cannot be opened")) return;
    CHECK(fseek(file, (long)offset, SEEK_SET) == 0 && fwrite(bytes, 1, size, file) == size,
          "the file cannot be damaged");
    fclose(file);
}

/* Zeros in the middle of the table, from this byte to that one. */
static void damage(uint64_t from, uint64_t to) {
    static const uint8_t zeros[1 << 16];
    for (uint64_t at = from; at < to; at += sizeof zeros) {
        write_at(at, zeros, to - at < sizeof zeros ? (size_t)(to - at) : sizeof zeros);
    }
}

/* Queries of a damaged file that is open for update are never a wrong "no", a key is not added to a
 * damaged part, and the rest can be updated. */
static void damaged(const struct variant *v, uint64_t capacity) {
    enum { KEYS = 2000 };
    uint64_t *hashes = hashes_make(2 * KEYS, run_seed() + 5, STREAM_MEMBERS);
    tamis_filter *f = variant_create(v, capacity, 0.01);
    if (f == NULL) return;
    CHECK(tamis_add_hash_batch(f, hashes, KEYS, NULL, NULL) == TAMIS_OK, "%s: add", v->name);
    CHECK(tamis_save(f, path, true) == TAMIS_OK, "%s: save", v->name);
    const uint64_t size = tamis_encoded_size(f);
    tamis_free(f);
    damage(size / 4, size / 4 * 3);

    f = open_update(path);
    if (f == NULL) return;
    CHECK(tamis_query_status(f) == TAMIS_OK, "%s: nothing was touched", v->name);
    CHECK(tamis_contains_hash_batch(f, hashes, KEYS, NULL) == KEYS, "%s: a batch denies keys",
          v->name);
    CHECK(tamis_query_status(f) == TAMIS_E_CHECKSUM, "%s: damage was not noted", v->name);
    size_t added = 0, refusals = 0;
    for (size_t i = 0; i < 2 * KEYS; i++) {
        CHECK(i >= KEYS || tamis_contains_hash(f, hashes[i]), "%s: a key is denied", v->name);
        const tamis_status status = tamis_add_hash(f, hashes[i], NULL);
        CHECK(status == TAMIS_OK || status == TAMIS_E_CHECKSUM, "%s: %s", v->name,
              tamis_status_name(status));
        added += status == TAMIS_OK;
        refusals += status == TAMIS_E_CHECKSUM;
    }
    CHECK(added > 0 && refusals > KEYS / 2, "%s: %zu added, %zu refused", v->name, added, refusals);
    size_t done = 1;
    CHECK(tamis_add_hash_batch(f, hashes, KEYS, NULL, &done) == TAMIS_E_CHECKSUM && done == 0,
          "%s: a batch was added to a damaged part", v->name);
    CHECK(tamis_verify(f) == TAMIS_E_CHECKSUM, "%s: verify", v->name);
    tamis_free(f);

    tamis_open_options how = TAMIS_OPEN_INIT;
    how.update = true;
    how.verify = TAMIS_VERIFY_ALL;
    CHECK(tamis_open(path, &how, &f) == TAMIS_E_CHECKSUM && f == NULL, "%s: verify all", v->name);
    f = open_update(path);
    CHECK(truncate(path, 4096) == 0 && tamis_verify(f) == TAMIS_E_IO, "%s: truncated", v->name);
    tamis_free(f);
    CHECK(truncate(path, (off_t)size) == 0, "the file cannot be enlarged"); /* without checksums */
    how.verify = TAMIS_VERIFY_DEFAULT;
    CHECK(tamis_open(path, &how, &f) == TAMIS_E_CHECKSUM && f == NULL, "%s: checksums", v->name);
    free(hashes);
    count_up("damaged files", 1);
}

/* ---- names */

/* A saved filter replaces the file behind a symbolic link, and nothing but regular files. */
static void names(void) {
    char link[520];
    struct stat st;
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f;
    o.capacity = 100;
    snprintf(link, sizeof link, "%s.link", path);
    if (!CHECK(tamis_create(&o, &f) == TAMIS_OK, "create")) return;
    unlink(path);
    CHECK(symlink(path, link) == 0 && tamis_save(f, link, true) == TAMIS_OK, "a dangling link");
    CHECK(lstat(link, &st) == 0 && S_ISREG(st.st_mode), "a dangling link gives way to the file");
    unlink(link);
    CHECK(tamis_save(f, path, true) == TAMIS_OK && symlink(path, link) == 0, "a link");
    const ino_t old = inode();
    CHECK(tamis_save(f, link, false) == TAMIS_E_EXISTS, "there is a file behind the link");
    CHECK(tamis_save(f, link, true) == TAMIS_OK, "save over a link");
    CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode) && inode() != old, "the link was replaced");
    unlink(link);
    if (CHECK(mkfifo(link, 0600) == 0, "no FIFO")) {
        errno = 0;
        CHECK(tamis_save(f, link, true) == TAMIS_E_IO && errno == ENOTSUP, "save over a FIFO");
        CHECK(tamis_save(f, link, false) == TAMIS_E_EXISTS, "a FIFO exists");
        CHECK(lstat(link, &st) == 0 && S_ISFIFO(st.st_mode), "the FIFO was replaced");
    }
    unlink(link);
    tamis_free(f);
}

static void misuse(void) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *f;
    how.update = true;
    CHECK(tamis_open("/nonexistent/file", &how, &f) == TAMIS_E_IO && f == NULL, "no file");
    CHECK(tamis_open("/dev/null", &how, &f) == TAMIS_E_UNSUPPORTED && f == NULL, "no plain file");
    CHECK(tamis_commit(NULL, NULL) == TAMIS_E_ARGUMENT, "no filter");
    if (!CHECK(tamis_open(path, NULL, &f) == TAMIS_OK, "open")) return;
    CHECK(tamis_commit(f, NULL) == TAMIS_E_ARGUMENT, "not opened for update");
    tamis_free(f);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "update");
    snprintf(path, sizeof path, "%s/f.tamis", run_directory());
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        if ((v->caps & TAMIS_CAN_ADD) == 0) continue;
        committed(v, 5000, false);
        nothing(v);
        brief(v);
        streamed(v);
        const uint64_t large = large_capacity(v);
        committed(v, large, true);
        nothing(v);
        if (v->kind == TAMIS_BLOCK) committed_edges(v, large);
        if ((v->caps & TAMIS_CAN_UNION) != 0) everything(v, large);
        if (changes_in_place(v->kind)) damaged(v, large);
    }
    names();
    misuse();
    unlink(path);
    CHECK(directory_entries(run_directory()) == 0, "a file is left beside the filter");
    return run_end();
}
