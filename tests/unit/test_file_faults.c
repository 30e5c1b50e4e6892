/* test_file_faults.c - whatever system call fails, a file is old or new, and the status tells which
 *
 * Every scenario is run once without a fault, then once for each call that it makes and each error
 * that the call may have, on systems that lack unnamed files, links, locks and so on.  After it:
 *
 *     OK, E_CHANGED     readers find the new filter
 *     any other         readers find the old one, and no draft is left
 *
 * and every descriptor is closed again.
 *
 * wraps: open64 openat64 read write pread64 pwrite64 fsync sync ftruncate64 unlink unlinkat
 * wraps: renameat renameat2 linkat getrandom mmap64 fstat64 lstat64 stat64 fcntl64 fchown
 * wraps: fchmod nanosleep clock_gettime malloc */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../support/filters.h"
#include "../support/hostile.h"
#include "core/bytes.h"
#include "core/io.h"
#include "file/directory.h"
#include "file/file.h"
#include "file/journal.h"
#include "file/lock.h"
#include "file/native.h"
#include "file/save.h"
#include "hash/xxh3.h"
#include "system_calls.h"

static const tamis_allocator standard = {NULL, NULL, NULL, NULL};
static const char path[] = "filter.tamis", journal_path[] = "filter.tamis.journal";

/* ---- the filters */

#define PIECES 3
static struct bytes before, after, journal;
static uint64_t changed[PIECES], changed_count;
static struct tamis__update_set set;

/* A bloom filter of three pieces with the first `keys` hashes. */
static struct bytes filter_of(size_t keys) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.kind = TAMIS_BLOOM;
    o.capacity = 1000;
    o.bits = (PIECES * UINT64_C(65536) - 64) * 8;
    assert_int_equal(tamis_create(&o, &f), TAMIS_OK);
    for (size_t i = 0; i < keys; i++) tamis_add_hash(f, i * UINT64_C(0x9e3779b97f4a7c15), NULL);
    const struct bytes bytes = bytes_of(f);
    tamis_free(f);
    return bytes;
}

static void write_file(const char *name, const struct bytes *bytes) {
    const int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes->data, bytes->size), (ssize_t)bytes->size);
    close(fd);
}

static struct bytes read_file(const char *name) {
    struct stat st;
    const int fd = open(name, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    struct bytes bytes = bytes_new((size_t)st.st_size);
    assert_int_equal(read(fd, bytes.data, bytes.size), (ssize_t)bytes.size);
    close(fd);
    return bytes;
}

/* The update from `before` to `after`, and the journal of it: that of a commit whose first write to
 * the file fails. */
static void make_set(void) {
    const uint64_t table_bytes = tamis__native_table_bytes(before.data);
    for (uint64_t p = 0; p < tamis__native_pieces(table_bytes); p++) {
        const size_t at = (size_t)(TAMIS__HEADER_BYTES + (p << TAMIS__PIECE_LG));
        const size_t bytes = (size_t)tamis__native_piece_bytes(table_bytes, p);
        if (memcmp(before.data + at, after.data + at, bytes) != 0) changed[changed_count++] = p;
    }
    assert_true(changed_count > 1);
    set = (struct tamis__update_set){.file_bytes = before.size,
                                     .header_sum_before = tamis__native_header_sum(before.data),
                                     .header = after.data,
                                     .table = after.data + TAMIS__HEADER_BYTES,
                                     .table_bytes = table_bytes,
                                     .sums = after.data + TAMIS__HEADER_BYTES + table_bytes,
                                     .pieces = changed,
                                     .count = changed_count};
    uint64_t written = 0;
    write_file(path, &before);
    const int fd = open(path, O_RDWR);
    fault.which = CALL_PWRITE;
    fault.at = (unsigned)changed_count + 2;
    fault.error = EIO;
    arm();
    assert_int_equal(tamis__journal_commit(path, fd, &set, &written), TAMIS_E_CHANGED);
    disarm();
    fault.at = 0;
    close(fd);
    journal = read_file(journal_path);
    unlink(journal_path);
}

static int prepare_all(void **state) {
    (void)state;
    run_start(1, (char *[]){(char *)(uintptr_t) "test_file_faults", NULL}, "test_file_faults");
    assert_int_equal(chdir(run_directory()), 0);
    before = filter_of(5);
    after = filter_of(12);
    make_set();
    return 0;
}

static int clean_all(void **state) {
    (void)state;
    bytes_free(&before);
    bytes_free(&after);
    bytes_free(&journal);
    print_message("%u faults\n", faults_made);
    return run_end();
}

/* ---- what is left */

static unsigned open_descriptors(void) {
    unsigned count = 0;
    for (int fd = 0; fd < 100; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* What a reader finds: 'o' the old filter, 'n' the new one, '-' no file, '?' anything else. */
static char readable(const char *name) {
    const struct tamis__file_how how = {.allocator = &standard};
    struct tamis__file f;
    const tamis_status status = tamis__file_open(name, &how, &f);
    if (status != TAMIS_OK) return errno == ENOENT ? '-' : '?';
    const struct bytes now = {f.bytes, (size_t)f.length};
    const char found = bytes_equal(&now, &before) ? 'o' : bytes_equal(&now, &after) ? 'n' : '?';
    tamis__file_close(&f, &standard);
    return found;
}

static bool is_there(const char *name) { return access(name, F_OK) == 0; }

static void remove_all(void) {
    unlink(path);
    unlink(journal_path);
    if (directory_entries(".") != 0) assert_int_equal(system("rm -rf .tamis-*.part other"), 0);
    assert_int_equal(directory_entries("."), 0);
}

/* ---- the scenarios: each returns a status; `fd` is the file, open for update */

static tamis_status save(bool replace, int over) {
    const struct tamis__span spans[] = {{after.data, 1000}, {after.data + 1000, after.size - 1000}};
    return tamis__file_save(path, replace, over, spans, 2);
}
static tamis_status save_new(int fd) {
    (void)fd;
    return save(false, -1);
}
static tamis_status save_over(int fd) {
    (void)fd;
    return save(true, -1);
}
static tamis_status save_update(int fd) { return save(true, fd); }
static tamis_status commit(int fd) {
    uint64_t written = 0;
    return tamis__journal_commit(path, fd, &set, &written);
}
static tamis_status finish(int fd) { return tamis__journal_finish(path, fd); }

/* A filter that is opened for update, changed and committed; too small to be changed in place. */
static tamis_status update(int fd) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    close(fd); /* with its locks */
    how.update = true;
    how.wait_ms = -1;
    tamis_status status = tamis_open(path, &how, &f);
    for (size_t i = 5; i < 12 && status == TAMIS_OK; i++) {
        status = tamis_add_hash(f, i * UINT64_C(0x9e3779b97f4a7c15), NULL);
    }
    if (status == TAMIS_OK) status = tamis_commit(f, NULL);
    tamis_free(f);
    return status;
}

static tamis_status read_how(bool map) {
    const struct tamis__file_how how = {.map = map, .wait_ms = -1, .allocator = &standard};
    struct tamis__file f;
    const tamis_status status = tamis__file_open(path, &how, &f);
    if (status != TAMIS_OK) return status;
    const struct bytes now = {f.bytes, (size_t)f.length};
    const bool whole = now.size == after.size;
    const bool right = !whole || bytes_equal(&now, &after);
    tamis__file_close(&f, &standard);
    assert_true(right); /* never the torn bytes of the file itself */
    return whole ? TAMIS_OK : TAMIS_E_TRUNCATED;
}
static tamis_status read_copy(int fd) {
    (void)fd;
    return read_how(false);
}
static tamis_status read_map(int fd) {
    (void)fd;
    return read_how(true);
}

struct scenario {
    const char *name;
    tamis_status (*run)(int fd);
    bool exists, pending; /* a file; its journal, and the first changed piece written */
    char fails_to;        /* what readers find if it fails */
    bool saves;           /* on systems of all kinds */
};
static const struct scenario scenarios[] = {
    {"save a new file", save_new, false, false, '-', true},
    {"save over a file", save_over, true, false, 'o', true},
    {"save after an update", save_update, true, false, 'o', true},
    {"commit", commit, true, false, 'o', false},
    {"finish a commit", finish, true, true, 'n', false},
    {"update", update, true, false, 'o', false},
    {"read with a journal", read_copy, true, true, 'n', false},
    {"map with a journal", read_map, true, true, 'n', false},
};

static void prepare(const struct scenario *s) {
    remove_all();
    if (!s->exists) return;
    write_file(path, &before);
    if (!s->pending) return;
    write_file(journal_path, &journal);
    const int fd = open(path, O_WRONLY);
    const off_t at = (off_t)(TAMIS__HEADER_BYTES + (changed[0] << TAMIS__PIECE_LG));
    assert_int_equal(pwrite(fd, after.data + at, 65536, at), 65536);
    close(fd);
}

/* One run; the status.  A fault may make a draft's or journal's removal fail: then it is left. */
static tamis_status run_one(const struct scenario *s) {
    prepare(s);
    const unsigned descriptors = open_descriptors();
    const int fd = s->exists ? open(path, O_RDWR) : -1;
    arm();
    const tamis_status status = s->run(fd);
    disarm();
    if (fd >= 0 && s->run != update) close(fd);
    assert_int_equal(open_descriptors(), descriptors);
    const bool is_new = status == TAMIS_OK || status == TAMIS_E_CHANGED;
    const char found = readable(path);
    if (found != (is_new ? 'n' : s->fails_to)) {
        fail_msg("%s, call %u of %s fails with %d%s, lacking %u: %s, but readers find '%c'",
                 s->name, fault.at, call_names[fault.which], fault.error,
                 fault.lasting ? " for good" : "", lacking, tamis_status_name(status), found);
    }
    const bool stays =
        fault.at != 0 && (fault.which == CALL_UNLINK || fault.which == CALL_UNLINKAT);
    const size_t names = (size_t)is_there(path) + (size_t)is_there(journal_path);
    if (!stays) assert_int_equal(directory_entries("."), names);
    if (!stays && is_new && !s->pending) assert_false(is_there(journal_path) && status == TAMIS_OK);
    return status;
}

/* The errors of each call that do not lie about what exists. */
static const int *errors_of(enum call which) {
    static const int open_errors[] = {EACCES, EINTR, EMFILE, 0};
    static const int create_errors[] = {ENOSPC, EEXIST, EACCES, 0};
    static const int transfer_errors[] = {EIO, EINTR, SHORT, NOTHING, 0};
    static const int sync_errors[] = {EIO, EINTR, 0};
    static const int link_errors[] = {EEXIST, EIO, EPERM, 0};
    static const int rename_errors[] = {EIO, ENOSPC, ENOSYS, 0};
    static const int lock_errors[] = {EAGAIN, EACCES, EINTR, ENOLCK, 0};
    static const int map_errors[] = {ENOMEM, ENODEV, 0};
    static const int other_errors[] = {EIO, 0};
    switch (which) {
        case CALL_OPEN:
            return open_errors;
        case CALL_OPENAT:
            return create_errors;
        case CALL_READ:
        case CALL_WRITE:
        case CALL_PREAD:
        case CALL_PWRITE:
            return transfer_errors;
        case CALL_FSYNC:
            return sync_errors;
        case CALL_LINKAT:
            return link_errors;
        case CALL_RENAMEAT:
        case CALL_RENAMEAT2:
            return rename_errors;
        case CALL_FCNTL:
            return lock_errors;
        case CALL_MMAP:
            return map_errors;
        default:
            return other_errors;
    }
}

/* Every call of the scenario fails in every way, once and for good. */
static void run_faults(const struct scenario *s) {
    unsigned calls[CALLS];
    fault.at = 0;
    assert_int_equal(run_one(s), TAMIS_OK);
    memcpy(calls, seen, sizeof calls);
    for (int which = 0; which < CALLS; which++) {
        for (const int *error = errors_of((enum call)which); *error != 0; error++) {
            for (unsigned at = 1; at <= calls[which]; at++) {
                fault.which = (enum call)which;
                fault.at = at;
                fault.error = *error;
                fault.lasting = false;
                run_one(s);
                fault.lasting = true;
                if (*error != EINTR && *error != SHORT) run_one(s);
            }
        }
    }
    fault.at = 0;
    fault.lasting = false;
}

static void test_scenarios(void **state) {
    static const unsigned systems[] = {0,
                                       NO_UNNAMED,
                                       NO_PROC,
                                       NO_PROC | NO_LOCKS,
                                       NO_UNNAMED | NO_RANDOM,
                                       NO_UNNAMED | NO_RENAMEAT2,
                                       NO_UNNAMED | NO_RENAMEAT2 | NO_LINKS,
                                       NO_DIRECTORY_READ,
                                       NO_DIRECTORY_SYNC};
    (void)state;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        const size_t count = scenarios[i].saves ? sizeof systems / sizeof *systems : 1;
        for (size_t j = 0; j < count; j++) {
            lacking = systems[j];
            run_faults(&scenarios[i]);
        }
        lacking = 0;
    }
    assert_true(faults_made > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenarios),
    };
    return cmocka_run_group_tests(tests, prepare_all, clean_all);
}
