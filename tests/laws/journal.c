/* journal.c - after a crash during an update in place, the filter is the old or the new version
 *
 * The journal is made from the bytes before and after a change (support/journals.h); the effects of
 * disks on it and on the file are then simulated: sectors of 512 bytes written or not, in any
 * order, zeros in place of data, a garbled header.  (Bytes that were not to be written do not
 * change, even next to some that were.)
 *
 *     journal torn, file untouched     every reader finds the old filter
 *     journal whole, file torn         every reader finds the new one, and an update completes it
 *
 * The library must not lose a journal that is needed: neither when it cannot be opened or mapped,
 * nor by giving it an owner that the other readers do not trust. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/filters.h"
#include "../support/journals.h"

#define LARGE ((uint64_t)17 << 20) /* bytes: above what is changed in place */
#define HEADER 192
#define SECTOR 512
#define KEYS 25

static char path[512], journal_path[520];
static struct bytes before, after, journal;

static void write_file(const char *name, const uint8_t *data, size_t size) {
    FILE *file = fopen(name, "wb");
    const bool done = file != NULL && fwrite(data, 1, size, file) == size;
    CHECK(file != NULL && fclose(file) == 0 && done, "%s cannot be written", name);
}

/* ---- what every reader must find */

static tamis_status look(bool map, const struct bytes *wanted, bool *same) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *f;
    how.map = map;
    tamis_status status = tamis_open(path, &how, &f);
    if (status == TAMIS_OK) status = tamis_verify(f);
    *same = status == TAMIS_OK && encodes_to(f, wanted);
    tamis_free(f);
    return status;
}

static bool is_there(const char *name) {
    struct stat st;
    return lstat(name, &st) == 0;
}

static void expect(const struct bytes *wanted, const char *what, uint64_t which) {
    bool same;
    for (int map = 0; map < 2; map++) {
        const tamis_status status = look(map != 0, wanted, &same);
        CHECK(same, "%s %llu, %s: %s", what, (unsigned long long)which,
              map != 0 ? "mapped" : "read", tamis_status_name(status));
    }
    count_up("crashes", 1);
}

/* Opening for update completes the journal or discards it. */
static void expect_finished(const struct bytes *wanted, const char *what, uint64_t which) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *f;
    how.update = true;
    const tamis_status status = tamis_open(path, &how, &f);
    CHECK(status == TAMIS_OK, "%s %llu, for update: %s", what, (unsigned long long)which,
          tamis_status_name(status));
    tamis_free(f);
    CHECK(!is_there(journal_path), "%s %llu: the journal is still there", what,
          (unsigned long long)which);
    expect(wanted, what, which);
}

/* ---- incomplete journals */

static void torn_journals(void) {
    struct rng r = {run_seed()};
    struct bytes torn = bytes_new(journal.size);
    const uint64_t rounds = run_pick(6, 40, 400);
    write_file(path, before.data, before.size);
    for (uint64_t round = 0; round < rounds; round++) {
        const size_t sectors = (journal.size + SECTOR - 1) / SECTOR;
        const size_t whole =
            (size_t)rng_below(&r, sectors); /* from here on sectors may be missing */
        size_t length = journal.size, missing = 0;
        memcpy(torn.data, journal.data, journal.size);
        for (size_t s = whole; s < sectors; s++) {
            if (missing != 0 && rng_below(&r, 4) != 0) continue;
            const size_t at = s * SECTOR, n = length - at < SECTOR ? length - at : SECTOR;
            memset(torn.data + at, round % 3 == 1 ? 0xff : 0, n);
            missing++;
        }
        if (round % 3 == 2) length = whole * SECTOR; /* or the file has not grown yet */
        /* In a nearly empty table most sectors are zeros anyway. */
        if (length == journal.size && memcmp(torn.data, journal.data, length) == 0) continue;
        write_file(journal_path, torn.data, length);
        expect(&before, "torn journal", round);
        if (round % 8 == 0) expect_finished(&before, "torn journal", round);
    }
    bytes_free(&torn);
}

/* ---- incomplete files */

static void torn_files(void) {
    struct rng r = {run_seed() + 1};
    struct bytes torn = bytes_copy(before.data, before.size);
    const uint64_t rounds = run_pick(6, 40, 400);
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t at = 0; at < torn.size; at += SECTOR) {
            const size_t n = torn.size - at < SECTOR ? torn.size - at : SECTOR;
            const struct bytes *from = rng_below(&r, 8) < round % 9 ? &after : &before;
            memcpy(torn.data + at, from->data + at, n);
        }
        if (round % 5 == 4)
            memset(torn.data, (int)rng_below(&r, 256), (size_t)rng_below(&r, HEADER));
        write_file(path, torn.data, torn.size);
        write_file(journal_path, journal.data, journal.size);
        expect(&after, "torn file", round);
        if (round % 4 == 0) expect_finished(&after, "torn file", round);
    }
    bytes_free(&torn);
}

/* ---- journals that cannot be read now but are needed later */

static void write_half_done(void) {
    struct bytes torn = bytes_copy(after.data, after.size);
    memcpy(torn.data, before.data, torn.size / 2);
    write_file(path, torn.data, torn.size);
    write_file(journal_path, journal.data, journal.size);
    bytes_free(&torn);
}

/* Reading it, mapping it and, with 3 `ways`, opening it for update fail with `expected`. */
static void expect_refused(tamis_status expected, int ways, const char *what) {
    for (int way = 0; way < ways; way++) {
        tamis_open_options how = TAMIS_OPEN_INIT;
        tamis_filter *f;
        how.map = way == 1;
        how.update = way == 2;
        const tamis_status status = tamis_open(path, &how, &f);
        CHECK(status == expected && f == NULL, "%s, way %d: %s", what, way,
              tamis_status_name(status));
        tamis_free(f);
        CHECK(is_there(journal_path), "%s, way %d: the journal is gone", what, way);
    }
}

/* The file takes the last descriptor. */
static void without_descriptors(void) {
    struct rlimit old, few;
    const int next = open("/dev/null", O_RDONLY);
    if (!CHECK(next >= 0 && getrlimit(RLIMIT_NOFILE, &old) == 0, "limits")) return;
    close(next);
    few = old;
    few.rlim_cur = (rlim_t)next + 1;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
    expect_refused(TAMIS_E_IO, 3, "no descriptor for the journal");
    CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0, "setrlimit");
    expect(&after, "descriptors again", 0);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MEMORY false /* a sanitizer needs memory of its own */
#else
#define OWN_MEMORY true
#endif

/* There is no room for the file in memory. */
static void without_memory(void) {
    struct rlimit old, few;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL && fscanf(file, "%lu", &pages) != 1) pages = 0;
    if (file != NULL) fclose(file);
    if (pages == 0 || !OWN_MEMORY || getrlimit(RLIMIT_AS, &old) != 0) {
        printf("journal: not tested: a journal that does not fit in memory\n");
        return;
    }
    few = old;
    few.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + journal.size / 2;
    CHECK(setrlimit(RLIMIT_AS, &few) == 0, "setrlimit");
    /* An emulated machine does not enforce the limit. */
    const int fd = open(journal_path, O_RDONLY);
    void *mapped = mmap(NULL, journal.size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped != MAP_FAILED) munmap(mapped, journal.size);
    close(fd);
    /* An update completes it: that takes little memory. */
    if (mapped == MAP_FAILED) expect_refused(TAMIS_E_NOMEM, 2, "no memory for the file");
    CHECK(setrlimit(RLIMIT_AS, &old) == 0, "setrlimit");
    expect(&after, "memory again", 0);
}

/* ---- journals of other users */

#define OWNER 60001
#define MEMBER 60002
#define GROUP 60003

/* As another user, in a separate process, since the change is permanent. */
static void commit_as_member(const uint64_t *hashes) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        tamis_open_options how = TAMIS_OPEN_INIT;
        tamis_filter *f;
        how.update = true;
        const bool done = setgid(GROUP) == 0 && setuid(MEMBER) == 0 &&
                          tamis_open(path, &how, &f) == TAMIS_OK &&
                          tamis_add_hash_batch(f, hashes, KEYS, NULL, NULL) == TAMIS_OK &&
                          tamis_commit(f, NULL) == TAMIS_OK;
        _exit(done ? 0 : 1);
    }
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child's commit");
}

/* A file is not updated in place by a user that its readers do not trust, nor if others could
 * change it while it is mapped. */
static void change_of_others(const uint64_t *hashes, mode_t mode) {
    struct stat old, now;
    unlink(journal_path);
    unlink(path);
    write_file(path, before.data, before.size);
    CHECK(chown(path, OWNER, GROUP) == 0 && chmod(path, mode) == 0 && stat(path, &old) == 0,
          "another user's file");
    commit_as_member(hashes);
    CHECK(stat(path, &now) == 0 && now.st_ino != old.st_ino,
          "another user's file of mode %o is updated in place", (unsigned)mode);
    expect(&after, "another user's file", mode);
}

static void journals_of_others(const uint64_t *hashes) {
    if (geteuid() != 0 || chmod(run_directory(), 0777) != 0) {
        printf("journal: not tested: journals of other users, which only root can create\n");
        return;
    }
    change_of_others(hashes, 0664);
    change_of_others(hashes, 0666);
    unlink(path);
    write_file(path, before.data, before.size);
    write_file(journal_path, journal.data, journal.size);
    CHECK(chown(path, OWNER, GROUP) == 0 && chown(journal_path, MEMBER, GROUP) == 0, "chown");
    expect(&before, "another user's journal", 0);
    CHECK(chmod(path, 0666) == 0, "chmod");
    expect(&before, "another user's journal, of a file that everyone may write", 0);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "journal");
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f;
    o.kind = TAMIS_BLOCK;
    o.capacity = LARGE * 8 / 10;
    o.fpr = 0.01;
    if (!CHECK(tamis_create(&o, &f) == TAMIS_OK, "create")) return run_end();
    snprintf(path, sizeof path, "%s/f.tamis", run_directory());
    snprintf(journal_path, sizeof journal_path, "%s.journal", path);
    uint64_t *hashes = hashes_make(1000 + KEYS, run_seed(), STREAM_MEMBERS);
    CHECK(tamis_add_hash_batch(f, hashes + KEYS, 1000, NULL, NULL) == TAMIS_OK, "add");
    before = bytes_of(f);
    CHECK(tamis_add_hash_batch(f, hashes, KEYS, NULL, NULL) == TAMIS_OK, "add");
    after = bytes_of(f);
    journal = journal_make(&before, &after);
    torn_journals();
    torn_files();
    write_half_done();
    without_descriptors();
    without_memory();
    journals_of_others(hashes);
    unlink(journal_path);
    unlink(path);
    tamis_free(f);
    free(hashes);
    bytes_free(&before);
    bytes_free(&after);
    bytes_free(&journal);
    return run_end();
}
