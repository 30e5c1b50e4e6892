/* test_file_faults.c - whatever system call fails, a file is old or new, and the status shows which
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

static bool quick; /* one system, and no large files */
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
    {"save over a file with a journal", save_over, true, true, 'n', false},
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
    static const int sync_errors[] = {EIO, EINTR, ENOTSUP, 0};
    static const int link_errors[] = {EEXIST, EIO, EPERM, ENOTSUP, 0};
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
        const size_t count = scenarios[i].saves && !quick ? sizeof systems / sizeof *systems : 1;
        for (size_t j = 0; j < count; j++) {
            lacking = systems[j];
            run_faults(&scenarios[i]);
        }
        lacking = 0;
    }
    assert_true(faults_made > 1000);
}

/* ---- other processes */

static void create_file(void) { write_file(path, &before); }
static void replace_file(void) {
    write_file("other", &before);
    assert_int_equal(rename("other", path), 0);
}
static void journal_to_pipe(void) {
    unlink(journal_path);
    assert_int_equal(mkfifo(journal_path, 0600), 0);
}
static void finish_commit(void) {
    write_file(path, &after);
    unlink(journal_path);
}
static void file_to_device(void) {
    unlink(path);
    assert_int_equal(symlink("/dev/null", path), 0);
}
static void no_file(void) { unlink(path); }

/* Runs a scenario while `interfere` runs before the `at`-th call; returns its status. */
static tamis_status interrupted(const struct scenario *s, void (*interfere)(void),
                                enum call call_before, unsigned at) {
    prepare(s);
    const int fd = s->exists ? open(path, O_RDWR) : -1;
    meanwhile.run = interfere;
    meanwhile.before = call_before;
    meanwhile.at = at;
    arm();
    const tamis_status status = s->run(fd);
    disarm();
    meanwhile.run = NULL;
    if (fd >= 0 && s->run != update) close(fd);
    return status;
}

static const struct scenario *scenario_of(tamis_status (*run)(int)) {
    size_t i = 0;
    while (scenarios[i].run != run) i++;
    return &scenarios[i];
}

static void test_other_processes(void **state) {
    static const unsigned systems[] = {0, NO_PROC, NO_UNNAMED, NO_UNNAMED | NO_RENAMEAT2,
                                       NO_UNNAMED | NO_RENAMEAT2 | NO_LINKS};
    (void)state;
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        lacking = systems[i];
        /* A file that was created meanwhile stays. */
        assert_int_equal(interrupted(scenario_of(save_new), create_file, CALL_FSYNC, 1),
                         TAMIS_E_EXISTS);
        assert_int_equal(readable(path), 'o');
        assert_int_equal(directory_entries("."), 1);
    }
    lacking = 0;
    /* A save replaces any file, an update only the one that it has read. */
    assert_int_equal(interrupted(scenario_of(save_over), replace_file, CALL_FCNTL, 1), TAMIS_OK);
    assert_int_equal(readable(path), 'n');
    assert_int_equal(interrupted(scenario_of(save_update), replace_file, CALL_FCNTL, 1),
                     TAMIS_E_IO);
    assert_int_equal(errno, ESTALE);
    assert_int_equal(readable(path), 'o');
    assert_int_equal(interrupted(scenario_of(save_update), no_file, CALL_FCNTL, 1), TAMIS_OK);
    assert_int_equal(readable(path), 'n');
    assert_int_equal(interrupted(scenario_of(update), replace_file, CALL_FCNTL, 1), TAMIS_OK);
    assert_int_equal(readable(path), 'n');
    /* Another process completes the journal, or it never was one. */
    assert_int_equal(interrupted(scenario_of(read_copy), finish_commit, CALL_OPEN, 2), TAMIS_OK);
    unlink(path);
    prepare(scenario_of(read_copy));
    write_file(path, &after);
    meanwhile.run = journal_to_pipe;
    meanwhile.before = CALL_OPEN;
    meanwhile.at = 2;
    arm();
    assert_int_equal(read_copy(-1), TAMIS_OK);
    disarm();
    meanwhile.run = NULL;
    assert_int_equal(interrupted(scenario_of(read_map), file_to_device, CALL_OPEN, 1),
                     TAMIS_E_UNSUPPORTED);
    remove_all();
}

/* A journal that cannot be removed: E_CHANGED. */
static void test_no_removal(void **state) {
    const struct scenario *s = scenario_of(commit);
    (void)state;
    lacking = NO_REMOVAL;
    assert_int_equal(run_one(s), TAMIS_E_CHANGED);
    fault.which = CALL_FSYNC;
    fault.at = 1;
    fault.error = EIO;
    assert_int_equal(run_one(s), TAMIS_E_CHANGED); /* the journal is complete, if not synced */
    fault.at = 0;
    lacking = 0;
    prepare(s);
    write_file(journal_path, &journal);
    const int fd = open(path, O_RDWR);
    lacking = NO_REMOVAL; /* an old journal stays: no new one can be written */
    arm();
    assert_int_equal(commit(fd), TAMIS_E_UNSUPPORTED);
    disarm();
    lacking = 0;
    close(fd);
    remove_all();
}

/* ---- journals that are not what they should be */

static void repair_journal(struct bytes *j) {
    const uint64_t count = tamis__load64(j->data + 32);
    if (count > 10) return;
    const size_t summed = (size_t)(232 + 16 * count);
    tamis__store64(j->data + summed, tamis__xxh3(j->data, summed, 0));
}

/* With one number of the journal changed, and its checksum repaired, it is void. */
static void test_void_journals(void **state) {
    static const struct {
        size_t at;
        uint64_t value;
    } changes[] = {
        {0, 1},                     /* the magic number */
        {8, 2},                     /* the version */
        {8, UINT64_C(1) << 32 | 1}, /* what must be 0 */
        {16, 1},                    /* the bytes of the file */
        {24, 1},                    /* the checksum of the header before: another file */
        {32, UINT64_MAX},           /* pieces */
        {32, 1},                    /* too few pieces for the length */
        {40, 1},                    /* the header after */
        {232, 100},                 /* a piece behind the table */
        {248, 0},                   /* pieces that do not ascend */
        {240, 1},                   /* the checksum of a piece */
    };
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        remove_all();
        struct bytes bad = bytes_copy(journal.data, journal.size);
        tamis__store64(bad.data + changes[i].at, changes[i].value);
        repair_journal(&bad);
        write_file(path, &before);
        write_file(journal_path, &bad);
        if (readable(path) != 'o') fail_msg("journal with a changed number at %zu", changes[i].at);
        bytes_free(&bad);
    }
    const size_t sizes[] = {0, 100, 239, 240, 300, journal.size - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct bytes cut = {journal.data, sizes[i]};
        write_file(journal_path, &cut);
        assert_int_equal(readable(path), 'o');
    }
    struct bytes longer = bytes_new(2 * journal.size);
    memset(longer.data, 0, longer.size);
    memcpy(longer.data, journal.data, journal.size);
    write_file(journal_path, &longer);
    assert_int_equal(readable(path), 'o');
    bytes_free(&longer);
    /* The file is as after the update already. */
    write_file(journal_path, &journal);
    write_file(path, &after);
    assert_int_equal(readable(path), 'n');
    remove_all();
}

static void test_names(void **state) {
    char name[TAMIS__JOURNAL_NAME], real[TAMIS__PATH_MAX], *longest = NEED(char, 6000);
    struct tamis__directory d;
    (void)state;
    remove_all();
    write_file(path, &before);
    assert_int_equal(symlink(path, "other"), 0);
    tamis__journal_name("other", name); /* beside the file, not beside the link */
    assert_non_null(realpath(path, real));
    assert_true(strncmp(name, real, strlen(real)) == 0);
    assert_string_equal(name + strlen(real), ".journal");
    unlink(path);
    tamis__journal_name("other", name); /* of a link to nothing */
    assert_string_equal(name, "other.journal");
    memset(longest, 'x', 5999);
    longest[5999] = '\0';
    tamis__journal_name(longest, name);
    assert_string_equal(name, "");
    uint64_t written;
    write_file("file", &before);
    const int fd = open("file", O_RDWR);
    assert_int_equal(tamis__journal_commit(longest, fd, &set, &written), TAMIS_E_UNSUPPORTED);
    struct tamis__journal j;
    assert_int_equal(tamis__journal_open(longest, fd, before.size, &j), TAMIS_OK);
    assert_null(j.head);
    close(fd);
    unlink("file");
    longest[5000] = '/';
    assert_false(tamis__directory_open(longest, &d));
    assert_int_equal(errno, ENAMETOOLONG);
    assert_true(tamis__directory_open("/file", &d));
    assert_string_equal(d.name, "file");
    tamis__directory_close(&d);
    free(longest);
    remove_all();
}

/* ---- owners, pipes, directories, locks */

static void test_owners(void **state) {
    struct stat st = {.st_mode = S_IFREG | 0644, .st_uid = geteuid(), .st_gid = getegid()};
    (void)state;
    assert_true(tamis__file_is_private(&st));
    st.st_mode = S_IFREG | 0664;
    assert_true(tamis__file_is_private(&st)); /* a group of its own */
    st.st_gid = getegid() + 1;
    assert_false(tamis__file_is_private(&st));
    st.st_mode = S_IFREG | 0646;
    assert_false(tamis__file_is_private(&st));
    st.st_mode = S_IFREG | 0644;
    st.st_uid = geteuid() + 1;
    assert_false(tamis__file_is_private(&st));
    st.st_uid = 0;
    assert_true(tamis__file_is_private(&st));
    /* Permissions of a group are not given to another group. */
    remove_all();
    write_file(path, &before);
    struct stat now, old = {.st_mode = 0764, .st_uid = geteuid() + 1, .st_gid = getegid() + 1};
    const int fd = open(path, O_RDWR);
    fault.which = CALL_FCHOWN;
    fault.at = 1;
    fault.error = EPERM;
    fault.lasting = true;
    arm();
    tamis__file_copy_owner(fd, &old);
    disarm();
    fault.at = 0;
    fault.lasting = false;
    assert_int_equal(fstat(fd, &now), 0);
    assert_int_equal(now.st_mode & 0777, 0744);
    old.st_uid = geteuid();
    old.st_gid = getegid();
    tamis__file_copy_owner(fd, &old);
    assert_int_equal(fstat(fd, &now), 0);
    assert_int_equal(now.st_mode & 0777, 0764);
    close(fd);
    remove_all();
}

static void test_pipe(void **state) {
    int ends[2];
    struct tamis__file f;
    (void)state;
    for (unsigned fails_at = 0; fails_at < 3; fails_at++) {
        struct meter meter;
        meter_reset(&meter);
        meter.fail_at = fails_at;
        const tamis_allocator own = meter_allocator(&meter);
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], before.data, 20000), 20000);
        close(ends[1]);
        const tamis_status status = tamis__file_read(ends[0], &own, &f);
        assert_int_equal(status, fails_at == 0 ? TAMIS_OK : TAMIS_E_NOMEM);
        if (status == TAMIS_OK) {
            assert_int_equal(f.length, 20000);
            assert_memory_equal(f.bytes, before.data, 20000);
            tamis__file_close(&f, &own);
        }
        close(ends[0]);
        assert_int_equal(atomic_load(&meter.live), 0);
    }
}

static void test_directories(void **state) {
    const struct tamis__file_how how = {.allocator = &standard};
    const struct tamis__span none = {before.data, 10};
    struct tamis__file f;
    (void)state;
    remove_all();
    assert_int_equal(tamis__file_open(".", &how, &f), TAMIS_E_IO);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(tamis__file_save("./", true, -1, &none, 1), TAMIS_E_IO);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(mkdir("other", 0700), 0);
    assert_int_equal(tamis__file_save("other", true, -1, &none, 1), TAMIS_E_IO);
    assert_int_equal(errno, EISDIR);
    remove_all();
    assert_int_equal(tamis__file_open("/dev/null", &how, &f), TAMIS_OK); /* not a regular file */
    assert_int_equal(f.length, 0);
    tamis__file_close(&f, &standard);
}

/* Files that are not mapped, not updated in place, or have no journal. */
static void test_special_files(void **state) {
    (void)state;
    prepare(scenario_of(update));
    assert_int_equal(link(path, "other"), 0); /* its other name would not find a journal */
    assert_int_equal(update(open(path, O_RDWR)), TAMIS_OK);
    assert_int_equal(readable(path), 'n');
    assert_int_equal(readable("other"), 'o');
    prepare(scenario_of(read_map));
    assert_int_equal(chmod(path, 0666), 0); /* others may change it: it is copied */
    assert_int_equal(read_map(-1), TAMIS_OK);
    /* What is beside a file of another format is not its journal. */
    const struct tamis__file_how how = {.allocator = &standard};
    const struct bytes text = {before.data + 192, 1000};
    struct tamis__file f;
    write_file(path, &text);
    fault.which = CALL_OPEN;
    fault.at = 2;
    fault.error = EACCES;
    arm();
    assert_int_equal(tamis__file_open(path, &how, &f), TAMIS_OK);
    disarm();
    fault.at = 0;
    assert_int_equal(f.length, 1000);
    tamis__file_close(&f, &standard);
    remove_all();
}

static void test_locks(void **state) {
    const struct tamis__file_how how = {.wait_ms = 20000, .allocator = &standard};
    struct tamis__file f;
    (void)state;
    remove_all();
    write_file(path, &before);
    const int one = open(path, O_RDWR), two = open(path, O_RDWR);
    assert_true(tamis__lock(one, TAMIS__LOCK_READERS, true, 0));
    arm(); /* the clock moves by a second each time */
    assert_false(tamis__lock(two, TAMIS__LOCK_READERS, false, 20000));
    assert_int_equal(errno, EAGAIN);
    assert_true(seen[CALL_FCNTL] > 10);
    assert_int_equal(tamis__file_open(path, &how, &f), TAMIS_E_BUSY);
    disarm();
    tamis__unlock(one, TAMIS__LOCK_READERS);
    assert_true(tamis__lock(two, TAMIS__LOCK_READERS, false, 0));
    close(one);
    close(two);
    remove_all();
}

/* ---- headers */

/* Numbers that no writer writes, with the right checksum. */
static void test_headers(void **state) {
    static const struct {
        size_t at, bytes;
        uint64_t value;
    } changes[] = {{8, 4, 2},  /* a version for other shapes */
                   {18, 1, 3}, /* a compatible hash, with our layout */
                   {19, 1, 5},
                   {72, 8, 0}, /* rates: 0, 1, not a number */
                   {72, 8, UINT64_C(0x3ff0000000000000)},
                   {72, 8, UINT64_C(0x7ff8000000000000)}};
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct bytes bad = bytes_copy(before.data, before.size);
        tamis_filter *f = NULL;
        uint8_t value[8];
        tamis__store64(value, changes[i].value);
        memcpy(bad.data + changes[i].at, value, changes[i].bytes);
        tamis__store64(bad.data + 184, tamis__xxh3(bad.data, 184, 0));
        assert_int_equal(tamis_decode(bad.data, bad.size, NULL, &f), TAMIS_E_CORRUPT);
        assert_null(f);
        bytes_free(&bad);
    }
}

/* ---- a large file, which is changed in place */

#define LARGE (UINT64_C(17) << 20) /* bytes: above what is changed in place */
static struct bytes large_before, large_after;

static tamis_status update_large(uint64_t *written, const tamis_allocator *a) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    how.update = true;
    how.wait_ms = -1;
    how.allocator = *a;
    tamis_status status = tamis_open(path, &how, &f);
    for (uint64_t i = 1; i < 4 && status == TAMIS_OK; i++) {
        status = tamis_add_hash(f, i * UINT64_C(0x9e3779b97f4a7c15), NULL);
    }
    if (status == TAMIS_OK) status = tamis_commit(f, written);
    tamis_free(f);
    return status;
}

static void make_large(void) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    uint64_t written = 0;
    o.kind = TAMIS_BLOOM;
    o.capacity = 1000000;
    o.bits = LARGE * 8;
    o.hashes = 4;
    assert_int_equal(tamis_create(&o, &f), TAMIS_OK);
    large_before = bytes_of(f);
    tamis_free(f);
    remove_all();
    write_file(path, &large_before);
    assert_int_equal(update_large(&written, &standard), TAMIS_OK);
    assert_true(written > 0 && written < LARGE / 8); /* in place */
    large_after = read_file(path);
}

/* Gives the file its old bytes again. */
static void restore_large(void) {
    unlink(journal_path);
    const int fd = open(path, O_RDWR);
    struct stat st;
    const bool kept = fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size == large_before.size;
    if (!kept) {
        if (fd >= 0) close(fd);
        write_file(path, &large_before);
        return;
    }
    for (size_t at = 0; at < large_before.size; at += 65536) {
        const size_t left = large_before.size - at, n = left < 65536 ? left : 65536;
        if (memcmp(large_before.data + at, large_after.data + at, n) == 0) continue;
        assert_int_equal(pwrite(fd, large_before.data + at, n, (off_t)at), (ssize_t)n);
    }
    close(fd);
}

static bool large_is(const struct bytes *wanted) {
    const struct tamis__file_how how = {.map = true, .allocator = &standard};
    struct tamis__file f;
    assert_int_equal(tamis__file_open(path, &how, &f), TAMIS_OK);
    const struct bytes now = {f.bytes, (size_t)f.length};
    const bool same = bytes_equal(&now, wanted);
    tamis__file_close(&f, &standard);
    return same;
}

/* With the n-th allocation failing, or none. */
static void one_large(uint64_t fails_at) {
    struct meter meter;
    uint64_t written = 0;
    meter_reset(&meter);
    meter.fail_at = fails_at;
    meter.fail_once = true;
    const tamis_allocator own = meter_allocator(&meter);
    const unsigned descriptors = open_descriptors();
    restore_large();
    arm();
    const tamis_status status = update_large(&written, &own);
    disarm();
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(atomic_load(&meter.live), 0);
    const bool is_new = status == TAMIS_OK || status == TAMIS_E_CHANGED;
    if (!large_is(is_new ? &large_after : &large_before)) {
        fail_msg("update in place, call %u of %s fails with %d: %s, but readers find another file",
                 fault.at, call_names[fault.which], fault.error, tamis_status_name(status));
    }
}

static void test_large(void **state) {
    static const enum call which[] = {CALL_OPEN, CALL_PREAD, CALL_PWRITE, CALL_FSYNC, CALL_FSTAT,
                                      CALL_STAT, CALL_FCNTL, CALL_MMAP,   CALL_LSTAT, CALL_UNLINK};
    unsigned calls[CALLS];
    (void)state;
    make_large();
    one_large(0);
    memcpy(calls, seen, sizeof calls);
    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        for (unsigned at = 1; at <= calls[which[i]]; at++) {
            fault.which = which[i];
            fault.at = at;
            fault.error = which[i] == CALL_FCNTL ? EAGAIN : EIO;
            one_large(0);
        }
    }
    fault.at = 0;
    for (uint64_t step = 1; step < 10; step++) one_large(step);
}

/* Damaged bytes do not get a new checksum. */
static void test_large_damaged(void **state) {
    size_t first = 192;
    (void)state;
    while (large_before.data[first] == large_after.data[first]) first++;
    const size_t damaged[] = {first, large_before.size - 1};
    for (size_t i = 0; i < 2; i++) {
        uint64_t written;
        restore_large();
        const int fd = open(path, O_RDWR);
        const uint8_t wrong = (uint8_t)(large_before.data[damaged[i]] ^ 0x40);
        assert_int_equal(pwrite(fd, &wrong, 1, (off_t)damaged[i]), 1);
        assert_int_equal(update_large(&written, &standard), TAMIS_E_CHECKSUM);
        assert_int_equal(pwrite(fd, &large_before.data[damaged[i]], 1, (off_t)damaged[i]), 1);
        close(fd);
        assert_true(large_is(&large_before));
    }
    bytes_free(&large_before);
    bytes_free(&large_after);
    remove_all();
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenarios),     cmocka_unit_test(test_other_processes),
        cmocka_unit_test(test_no_removal),    cmocka_unit_test(test_void_journals),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_owners),
        cmocka_unit_test(test_pipe),          cmocka_unit_test(test_directories),
        cmocka_unit_test(test_special_files), cmocka_unit_test(test_locks),
        cmocka_unit_test(test_headers),
    };
    const struct CMUnitTest large[] = {
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_large_damaged),
    };
    quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    const int failed = cmocka_run_group_tests(tests, prepare_all, quick ? clean_all : NULL);
    return quick ? failed : failed + cmocka_run_group_tests(large, NULL, clean_all);
}
