/* io_faults.c - every system call on files fails: the status shows whether the file is old or new
 *
 * Each scenario is run again and again, with the N-th call of a class failing by each error that
 * the call may have (fault_at.c).  Errors come once, or permanently from a call on, as
 * those of a full or broken disk.
 *
 *     OK         readers find the new file
 *     E_CHANGED  the same; a journal may be left, which the next update completes
 *     any other  the file has its old bytes
 *
 * Interrupted calls and short counts change nothing.  No descriptor, mapping, block of memory or
 * temporary file is left.
 *
 * tests: full */
#define _XOPEN_SOURCE 700
#include "faults/fault_at.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/filters.h"
#include "../support/vectors.h"

#define N 2000
#define FEW 2      /* a counting filter touches 7 pieces for each key */
#define MANY 40000 /* hashes: more than a builder with little memory holds */
#define SPILL ((uint64_t)1 << 16)
#define PIECE 65536
#define SECONDS 120 /* of one run: it hangs */

static char path[512], journal_path[520];
static uint64_t hashes[MANY];
static struct meter meter;
static char current[160]; /* the scenario and the fault */

static void on_alarm(int number) {
    static const char hangs[] = " hangs\n";
    (void)number;
    (void)!write(STDERR_FILENO, current, strlen(current));
    (void)!write(STDERR_FILENO, hangs, sizeof hangs - 1);
    _exit(1);
}

/* ---- files */

/* The bytes of a file; size 0 if there is none. */
static struct bytes disk_bytes(const char *name) {
    struct stat st;
    struct bytes b = {NULL, 0};
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return b;
    if (CHECK(fstat(fd, &st) == 0, "%s", name)) b = bytes_new((size_t)st.st_size);
    for (size_t at = 0; at < b.size;) {
        const ssize_t n = read(fd, b.data + at, b.size - at);
        if (!CHECK(n > 0, "%s: read", name)) break;
        at += (size_t)n;
    }
    close(fd);
    return b;
}

static void write_at(int fd, const uint8_t *from, size_t length, size_t at) {
    CHECK(pwrite(fd, from, length, (off_t)at) == (ssize_t)length, "cannot restore a file");
}

/* The time of a file that was not written since it was restored, and what it was restored to. */
#define STAMP 1000000000
static const uint8_t *restored;
static ino_t restored_inode;

static bool is_untouched(void) {
    struct stat st;
    return restored != NULL && stat(path, &st) == 0 && st.st_ino == restored_inode &&
           st.st_mtim.tv_sec == STAMP;
}

static void stamp(int fd, const struct bytes *b) {
    const struct timespec times[2] = {{STAMP, 0}, {STAMP, 0}};
    struct stat st;
    CHECK(futimens(fd, times) == 0 && fstat(fd, &st) == 0, "cannot set the time of a file");
    restored = b->data;
    restored_inode = st.st_ino;
}

/* Gives a file these bytes, and writes only the pieces that differ; no bytes: removes it. */
static void disk_restore(const char *name, const struct bytes *wanted) {
    if (wanted == NULL || wanted->size == 0) {
        (void)unlink(name);
        return;
    }
    if (name == path && wanted->data == restored && is_untouched()) return;
    struct bytes now = disk_bytes(name);
    const int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (!bytes_equal(&now, wanted)) {
        CHECK(fd >= 0 && ftruncate(fd, (off_t)wanted->size) == 0, "cannot restore a file");
        for (size_t at = 0; at < wanted->size; at += PIECE) {
            const size_t length = wanted->size - at < PIECE ? wanted->size - at : PIECE;
            if (at + length > now.size || memcmp(now.data + at, wanted->data + at, length) != 0) {
                write_at(fd, wanted->data + at, length, at);
            }
        }
    }
    if (name == path) stamp(fd, wanted);
    close(fd);
    bytes_free(&now);
}

/* Mapped files whose name contains `text`. */
static size_t mappings(const char *text) {
    char line[1024];
    size_t found = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        found += strstr(line, text) != NULL;
    }
    if (file != NULL) fclose(file);
    return found;
}

/* ---- scenarios */

static tamis_status open_how(bool map, bool update, tamis_filter **f) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    how.map = map;
    how.update = update;
    how.wait_ms = -1;
    how.allocator = meter_allocator(&meter);
    return tamis_open(path, &how, f);
}

struct scenario;
typedef tamis_status scenario_run(const struct scenario *s);

struct scenario {
    const char *name;
    scenario_run *run;
    tamis_kind kind;
    struct bytes file, journal; /* on disk before; size 0: no such file */
    struct bytes old, wanted;   /* what readers find before and after; size 0: nothing */
    tamis_filter *subject;      /* to be saved */
    bool large;
};

/* The change that a scenario makes. */
static tamis_status change(tamis_filter *f) {
    tamis_status status = tamis_add_hash_batch(f, hashes + N, FEW, NULL, NULL);
    if (status == TAMIS_OK && (facts_of(f).caps & TAMIS_CAN_REMOVE) != 0) {
        status = tamis_remove_hash(f, hashes[0]);
    }
    return status;
}

static tamis_status run_save_new(const struct scenario *s) {
    return tamis_save(s->subject, path, false);
}
static tamis_status run_save_over(const struct scenario *s) {
    return tamis_save(s->subject, path, true);
}

/* Is this the beginning of the bytes that are left to compare? */
static bool compare_some(void *context, const void *bytes, size_t length) {
    struct bytes *left = (struct bytes *)context;
    const bool same = length <= left->size && memcmp(left->data, bytes, length) == 0;
    CHECK(same, "another filter was read");
    if (!same) return false;
    left->data += length;
    left->size -= length;
    return true;
}

static tamis_status read_by(const struct scenario *s, bool map) {
    tamis_filter *f = NULL;
    tamis_status status = open_how(map, false, &f);
    CHECK((status == TAMIS_OK) == (f != NULL), "%s: %s", s->name, tamis_status_name(status));
    if (status == TAMIS_OK) status = tamis_verify(f);
    struct bytes left = s->wanted;
    if (status == TAMIS_OK) status = tamis_encode_to(f, compare_some, &left);
    tamis_free(f);
    return status;
}
static tamis_status run_read(const struct scenario *s) { return read_by(s, false); }
static tamis_status run_map(const struct scenario *s) { return read_by(s, true); }

/* A failed change is not committed. */
static tamis_status run_update(const struct scenario *s) {
    tamis_filter *f = NULL;
    tamis_status status = open_how(false, true, &f);
    CHECK((status == TAMIS_OK) == (f != NULL), "%s: %s", s->name, tamis_status_name(status));
    if (status == TAMIS_OK) status = change(f);
    if (status == TAMIS_OK) status = tamis_commit(f, NULL);
    tamis_free(f);
    return status;
}

static tamis_status run_discard(const struct scenario *s) {
    tamis_filter *f = NULL;
    tamis_status status = open_how(false, true, &f);
    CHECK((status == TAMIS_OK) == (f != NULL), "%s: %s", s->name, tamis_status_name(status));
    if (status == TAMIS_OK) status = change(f);
    tamis_free(f);
    return status;
}

/* The first part with a filter. */
static size_t part_of(const tamis_container *c) {
    tamis_part part = TAMIS_PART_INIT;
    size_t i = 0;
    while (tamis_container_part(c, i, &part) == TAMIS_OK && part.bytes == 0) i++;
    return i;
}

static tamis_status run_container(const struct scenario *s) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_container *c = NULL;
    tamis_filter *f = NULL;
    how.allocator = meter_allocator(&meter);
    tamis_status status = tamis_container_open(path, &how, &c);
    CHECK((status == TAMIS_OK) == (c != NULL), "%s: %s", s->name, tamis_status_name(status));
    const size_t part = part_of(c);
    if (status == TAMIS_OK) status = tamis_container_filter(c, part, &f);
    if (status == TAMIS_OK) status = tamis_add(f, "a new key", 9, NULL);
    if (status == TAMIS_OK) status = tamis_container_replace(c, part, f, path, true);
    tamis_free(f);
    tamis_container_free(c);
    return status;
}

/* A failed add or finish loses no descriptor and no file. */
static tamis_status run_builder(const struct scenario *s) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_builder *b = NULL;
    tamis_filter *f = NULL;
    o.kind = s->kind;
    o.fpr = 0.01;
    o.memory = SPILL;
    o.temporary = run_directory();
    o.allocator = meter_allocator(&meter);
    tamis_status status = tamis_builder_create(&o, &b);
    for (size_t i = 0; i < MANY && status == TAMIS_OK; i += 1000) {
        status = tamis_builder_add_hash_batch(b, hashes + i, 1000);
    }
    if (status == TAMIS_OK) status = tamis_builder_finish(b, &f);
    if (status == TAMIS_OK) {
        CHECK(tamis_contains_hash_batch(f, hashes, MANY, NULL) == MANY, "%s: lost keys", s->name);
    }
    tamis_free(f);
    tamis_builder_free(b);
    return status;
}

/* ---- one run */

/* Do readers find these bytes? */
static bool finds(const struct bytes *wanted) {
    const bool journal = access(journal_path, F_OK) == 0;
    if (!journal && wanted->data == restored && is_untouched()) return true;
    struct bytes now = journal ? bytes_new(0) : disk_bytes(path);
    bool same = bytes_equal(&now, wanted);
    bytes_free(&now);
    if (wanted->size == 0 || !journal) return same;
    tamis_filter *f = NULL;
    same = tamis_open(path, NULL, &f) == TAMIS_OK && encodes_to(f, wanted);
    tamis_free(f);
    return same;
}

/* After E_CHANGED the next update completes a journal. */
static void complete(const struct scenario *s) {
    tamis_filter *f = NULL;
    if (access(journal_path, F_OK) != 0) return;
    CHECK(open_how(false, true, &f) == TAMIS_OK, "%s: cannot be completed", s->name);
    tamis_free(f);
    CHECK(access(journal_path, F_OK) != 0 && finds(&s->wanted), "%s: is not completed", s->name);
}

static void check_file(const struct scenario *s, tamis_status status, const char *fault,
                       bool broken) {
    const char *name = tamis_status_name(status);
    if (status == TAMIS_OK || status == TAMIS_E_CHANGED) {
        CHECK(finds(&s->wanted), "%s: %s: %s, but readers do not find the new file", s->name, fault,
              name);
        if (status == TAMIS_E_CHANGED) complete(s);
        return;
    }
    CHECK(finds(&s->old), "%s: %s: %s, but readers do not find the old file", s->name, fault, name);
    if (s->journal.size != 0) return; /* it may have been completed */
    struct bytes now = is_untouched() ? s->file : disk_bytes(path);
    CHECK(bytes_equal(&now, &s->file), "%s: %s: %s, but the file has other bytes", s->name, fault,
          name);
    if (now.data != s->file.data) bytes_free(&now);
    now = disk_bytes(journal_path); /* an empty one is void, and so is a beginning */
    CHECK(broken || now.size == 0, "%s: %s: %s, and a journal is left", s->name, fault, name);
    bytes_free(&now);
}

static void check_leaks(const struct scenario *s, size_t descriptors, const char *fault,
                        bool broken) {
    const size_t files = (access(path, F_OK) == 0 ? 1u : 0u) + (access(journal_path, F_OK) == 0);
    CHECK(directory_entries("/proc/self/fd") == descriptors, "%s: %s: a descriptor is left",
          s->name, fault);
    CHECK(mappings(run_directory()) == 0, "%s: %s: a mapping is left", s->name, fault);
    CHECK(atomic_load(&meter.live) == 0, "%s: %s: memory is left", s->name, fault);
    /* If nothing can be unlinked any more, a draft may be left. */
    CHECK(broken || directory_entries(run_directory()) == files, "%s: %s: a temporary file is left",
          s->name, fault);
}

static void clear_directory(void) {
    DIR *dir = opendir(run_directory());
    const struct dirent *entry;
    char name[1024];
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        snprintf(name, sizeof name, "%s/%s", run_directory(), entry->d_name);
        if (strcmp(name, path) != 0) (void)unlink(name); /* not "." and ".." */
    }
    if (dir != NULL) closedir(dir);
}

static bool is_harmless(const char *error) {
    return strcmp(error, "EINTR") == 0 || strcmp(error, "short") == 0;
}

/* The number of calls of the class. */
static uint64_t one_run(const struct scenario *s, const char *class, const char *error, uint64_t at,
                        bool later) {
    const int start = snprintf(current, sizeof current, "%s: ", s->name);
    char *fault = current + start;
    snprintf(fault, sizeof current - (size_t)start, "%s %llu%s %s", class, (unsigned long long)at,
             later ? "+" : "", error);
    alarm(SECONDS);
    disk_restore(path, &s->file);
    disk_restore(journal_path, &s->journal);
    meter_reset(&meter);
    const size_t descriptors = directory_entries("/proc/self/fd");
    fault_set(class, error, at, later);
    const tamis_status status = s->run(s);
    const int why = errno;
    const uint64_t calls = fault_end();
    const bool broken = later && (strstr(class, ",unlink") != NULL || strcmp(class, "all") == 0);
    CHECK(status == TAMIS_OK || (at != 0 && at <= calls && !is_harmless(error)), "%s: %s: %s (%s)",
          s->name, fault, tamis_status_name(status), strerror(why));
    check_file(s, status, fault, broken);
    check_leaks(s, descriptors, fault, broken);
    clear_directory();
    count_up("runs", 1);
    count_up("changed", status == TAMIS_E_CHANGED);
    return calls;
}

/* The errors of a class of calls; those in capitals may be permanent. */
static const struct {
    const char *class, *errors[6];
} table[] = {{"open", {"EMFILE", "EIO", "ENOSPC", "EDQUOT", "EINTR"}},
             {"read", {"EIO", "EINTR", "short"}},
             {"write", {"EIO", "ENOSPC", "EDQUOT", "EINTR", "short"}},
             {"sync", {"EIO", "ENOSPC", "EDQUOT", "EINTR"}},
             {"cut", {"EIO", "ENOSPC", "EINTR"}},
             {"rename", {"EIO", "ENOSPC", "EDQUOT"}},
             {"link", {"EIO", "ENOSPC", "EDQUOT", "EPERM"}},
             {"unlink", {"EIO", "EPERM"}},
             {"close", {"EIO", "EINTR"}},
             {"stat", {"EIO", "EACCES"}},
             {"lock", {"ENOLCK", "EAGAIN", "EINTR"}},
             {"owner", {"EPERM", "EIO"}},
             {"map", {"ENOMEM"}},
             {"memory", {"ENOMEM"}},
             {"random", {"EAGAIN", "ENOSYS"}},
             {"thread", {"EAGAIN"}},
             {"open,read,write,sync,cut,rename,link,unlink,close,stat,owner", {"EIO"}},
             {"all", {"EIO"}}};

/* Every `stride`-th call of the class fails, once and permanently. */
static void every_call(const struct scenario *s, const char *class, const char *error,
                       uint64_t calls, uint64_t stride) {
    const bool broken = strchr(class, ',') != NULL || strcmp(class, "all") == 0;
    const bool may_stay = !is_harmless(error) && strcmp(error, "EAGAIN") != 0;
    for (uint64_t at = 1; at <= calls; at += stride) {
        if (!broken) one_run(s, class, error, at, false);
        if (may_stay) one_run(s, class, error, at, true);
        count_up("failed calls", (broken ? 0u : 1u) + may_stay);
    }
}

/* A large file is changed in place. */
static void check_place(const struct scenario *s) {
    struct stat before, after;
    disk_restore(path, &s->file);
    CHECK(stat(path, &before) == 0 && run_update(s) == TAMIS_OK && stat(path, &after) == 0 &&
              (before.st_ino == after.st_ino) == s->large,
          "%s: not in the expected way", s->name);
}

static void all_faults(const struct scenario *s) {
    const bool many = s->large || s->run == run_builder;
    const uint64_t stride = many ? run_pick(53, 29, 1) : run_pick(2, 1, 1);
    if (s->run == run_update) check_place(s);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const uint64_t calls = one_run(s, table[i].class, "EIO", 0, false);
        for (const char *const *error = table[i].errors; *error != NULL; error++) {
            every_call(s, table[i].class, *error, calls, stride);
        }
    }
}

/* ---- what they work on */

static tamis_filter *make(tamis_kind kind, uint64_t capacity) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.kind = kind;
    o.capacity = capacity;
    o.fpr = 0.01;
    CHECK(tamis_create(&o, &f) == TAMIS_OK, "%s", tamis_kind_name(kind));
    CHECK(tamis_add_hash_batch(f, hashes, N, NULL, NULL) == TAMIS_OK, "%s", tamis_kind_name(kind));
    return f;
}

/* The file before and after its change. */
static void prepare(struct scenario *s) {
    const uint64_t large = s->kind == TAMIS_COUNTING ? 4000000 : 14000000;
    tamis_filter *f = make(s->kind, s->large ? large : N);
    s->file = bytes_of(f);
    CHECK(s->large == (s->file.size >= (size_t)16 << 20), "%s: %zu bytes", s->name, s->file.size);
    s->old = s->file;
    CHECK(change(f) == TAMIS_OK, "%s: change", s->name);
    s->wanted = bytes_of(f);
    s->subject = f;
}

static void scenario_free(struct scenario *s) {
    bytes_free(&s->file);
    bytes_free(&s->journal);
    bytes_free(&s->wanted);
    restored = NULL;
    tamis_free(s->subject);
}

static void read_scenario(const char *name, scenario_run *run, struct scenario *s) {
    struct scenario reads = *s;
    reads.name = name;
    reads.run = run;
    reads.wanted = reads.old;
    all_faults(&reads);
}

/* Cuts an update off while its journal is applied: from some call on all fail.  false if there is
 * no such call. */
static bool tear(struct scenario *s) {
    bool reached = true;
    for (uint64_t at = 1; reached; at++) {
        disk_restore(path, &s->file);
        disk_restore(journal_path, NULL);
        meter_reset(&meter);
        fault_set("write,sync,cut,unlink", "EIO", at, true);
        (void)run_update(s);
        reached = fault_end() >= at;
        struct bytes journal = disk_bytes(journal_path), file = disk_bytes(path);
        const bool torn = journal.size != 0 && !bytes_equal(&file, &s->file);
        bytes_free(torn ? &s->file : &file);
        if (!torn) {
            bytes_free(&journal);
            continue;
        }
        s->journal = journal;
        s->file = s->old = file;
        return true;
    }
    return false;
}

static void small_files(void) {
    struct scenario fresh = {"save a new file", run_save_new, .kind = TAMIS_BLOOM};
    prepare(&fresh);
    bytes_free(&fresh.file);
    fresh.file = fresh.old = (struct bytes){NULL, 0};
    all_faults(&fresh);
    scenario_free(&fresh);
    struct scenario over = {"save over a file", run_save_over, .kind = TAMIS_BLOCK};
    prepare(&over);
    all_faults(&over);
    read_scenario("read", run_read, &over);
    read_scenario("map", run_map, &over);
    scenario_free(&over);
    static const tamis_kind kinds[] = {TAMIS_CUCKOO, TAMIS_COUNTING, TAMIS_GROWING};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct scenario s = {"replace", run_update, .kind = kinds[i]};
        prepare(&s);
        all_faults(&s);
        read_scenario("discard", run_discard, &s);
        scenario_free(&s);
    }
}

static void large_files(void) {
    static const tamis_kind kinds[] = {TAMIS_BLOCK, TAMIS_COUNTING};
    for (size_t i = 0; i < run_pick(0, 1, 2); i++) {
        struct scenario s = {"update in place", run_update, .kind = kinds[i], .large = true};
        prepare(&s);
        all_faults(&s);
        if (i == 0 && CHECK(tear(&s), "no update can be cut off")) {
            struct scenario torn = s;
            torn.old = torn.wanted; /* the journal is complete */
            read_scenario("read with a journal", run_read, &torn);
            read_scenario("map with a journal", run_map, &torn);
            read_scenario("complete a journal", run_discard, &torn);
        }
        scenario_free(&s);
    }
}

static void container(void) {
    struct scenario s = {.name = "container", .run = run_container};
    struct vector_bytes file = vector_file("parquet/duckdb-multi.parquet");
    s.file = bytes_copy(file.at, file.length);
    s.old = s.file;
    vector_bytes_free(&file);
    disk_restore(path, &s.file);
    meter_reset(&meter);
    CHECK(run_container(&s) == TAMIS_OK, "the container cannot be changed");
    s.wanted = disk_bytes(path);
    CHECK(!bytes_equal(&s.wanted, &s.old), "the container did not change");
    all_faults(&s);
    scenario_free(&s);
}

static void builders(void) {
    static const tamis_kind kinds[] = {TAMIS_FUSE, TAMIS_RIBBON, TAMIS_BLOOM};
    for (size_t i = 0; i < run_pick(1, 3, 3); i++) {
        const struct scenario s = {"spill", run_builder, .kind = kinds[i]};
        all_faults(&s);
    }
}

int main(int argc, char **argv) {
    /* Files in memory: the disk is not the subject. */
    if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0);
    run_start(argc, argv, "io_faults");
    signal(SIGALRM, on_alarm);
    snprintf(path, sizeof path, "%s/f.tamis", run_directory());
    snprintf(journal_path, sizeof journal_path, "%s.journal", path);
    hashes_fill(hashes, MANY, 0, run_seed(), STREAM_MEMBERS);
    small_files();
    container();
    builders();
    large_files();
    return run_end();
}
