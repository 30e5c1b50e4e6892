/* cuts.c - the power fails at any moment of a write: the file is the old one or the new one
 *
 * Each scenario runs the real command with record.c preloaded, which logs every call that changes a
 * file.  The log is then replayed up to any operation, as a disk may have it after a power cut:
 *
 *   data    what a sync of the file covered is there.  Of every later page each is there, lost, or
 *           torn at sectors of 512 bytes; a lost page that extended the file may be zeros
 *   names   what a sync of the directory covered is there.  Of the later changes a prefix is there
 *           or, as some file systems have it, any subset in order
 *
 * Every prefix of the operations is cut with all its data kept, lost or zeros, each with every
 * subset of the names, and then at random.  In each state the library reads, maps and verifies the
 * file, and completes an update of it.  All must find the same filter, the old or the new one, byte
 * for byte, and after the last operation the new one.  A file that did not exist may be missing.
 *
 * A file of 16 MiB that is updated in place stays where it is: only the pages of the log are
 * written and restored for each cut.
 *
 *     TAMIS=build/tamis POWER_RECORDER=librecord.so tests/power_cuts [--quick | --full]
 *
 * tests: full */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/filters.h"
#include "record.h"

#define PAGE 4096
#define SECTOR 512
#define OPS_MAX 100000
#define SUBSETS_LG 4 /* up to this number of changed names, all subsets are tried */
#define FILES_MAX 64
#define NAMES_MAX 64
#define LARGE ((uint64_t)4 << 20) /* files that stay where they are */
#define TARGET "f.tamis"

/* ------------------------------------------------------------------- the log */

struct op {
    enum record_kind kind;
    int file; /* -1: none */
    const char *name, *other;
    uint64_t at, length;
    const uint8_t *data;
};

struct file {
    uint64_t inode;
    struct bytes base; /* before the command */
    bool large;
};

struct names {
    struct name {
        const char *name;
        int file;
    } at[NAMES_MAX];
    size_t count;
};

static struct {
    const char *scenario;
    struct op ops[OPS_MAX];
    size_t count;
    struct file files[FILES_MAX];
    int file_count;
    struct names before;
    struct bytes log;
    struct bytes old_bytes, new_bytes; /* size 0: there is no old file */
    int large;                         /* the file that stays, or -1 */
    bool updatable;                    /* may be opened for update */
} run;

/* Pages of the large file that any log writes: to be restored after each cut. */
static struct {
    uint64_t at[OPS_MAX];
    size_t count;
} touched;

/* The control: cuts as if no sync of a file had happened, which must find damage. */
static bool control;
static uint64_t damaged;

static char base_directory[400];

static const char *path_in(const char *directory, const char *name) {
    static char paths[4][900];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s/%s", base_directory, directory, name);
    return path;
}

static struct bytes read_path(const char *path) {
    struct bytes none = {0};
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return none;
    if (fstat(fd, &st) != 0) exit(2);
    struct bytes b = bytes_new((size_t)st.st_size);
    if (read(fd, b.data, b.size) != (ssize_t)b.size) exit(2);
    close(fd);
    return b;
}

static void write_at(int fd, const void *bytes, uint64_t length, uint64_t at) {
    if (length != 0 && pwrite(fd, bytes, (size_t)length, (off_t)at) != (ssize_t)length) exit(2);
}

static void write_path(const char *path, const struct bytes *b) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) exit(2);
    write_at(fd, b->data, b->size, 0);
    close(fd);
}

/* Calls it for each name in a directory of the run. */
static void each_name(const char *directory,
                      void (*call)(const char *directory, const char *name)) {
    DIR *dir = opendir(path_in(directory, "."));
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) call(directory, name);
    }
    if (dir != NULL) closedir(dir);
}

static int file_of(uint64_t inode) {
    for (int i = run.file_count; i-- > 0;) {
        if (run.files[i].inode == inode) return i;
    }
    return -1;
}

static int new_file(uint64_t inode) {
    if (run.file_count == FILES_MAX) exit(2);
    run.files[run.file_count] = (struct file){.inode = inode};
    return run.file_count++;
}

static void names_set(struct names *n, const char *name, int file) {
    for (size_t i = 0; i < n->count; i++) {
        if (strcmp(n->at[i].name, name) != 0) continue;
        n->at[i] = file < 0 ? n->at[--n->count] : (struct name){name, file};
        return;
    }
    if (file < 0) return;
    if (n->count == NAMES_MAX) exit(2);
    n->at[n->count++] = (struct name){name, file};
}

static int names_get(const struct names *n, const char *name) {
    for (size_t i = 0; i < n->count; i++) {
        if (strcmp(n->at[i].name, name) == 0) return n->at[i].file;
    }
    return -1;
}

/* Takes a file as it is before the command. */
static void note_file(const char *directory, const char *name) {
    struct stat st;
    const char *path = path_in(directory, name);
    if (stat(path, &st) != 0) exit(2);
    const int file = new_file((uint64_t)st.st_ino);
    run.files[file].base = read_path(path);
    run.files[file].large = run.files[file].base.size >= LARGE;
    if (run.files[file].large) run.large = file;
    names_set(&run.before, strdup(name), file);
}

static void add_op(const struct op *op) {
    if (run.count == OPS_MAX) exit(2);
    run.ops[run.count++] = *op;
    const bool kept = op->kind == RECORD_WRITE && op->file >= 0 && op->file == run.large;
    if (kept) touched.at[touched.count++] = op->at / PAGE * PAGE;
}

/* A write is one operation for each page. */
static void add_write(struct op op) {
    while (op.length != 0) {
        struct op page = op;
        if (page.length > PAGE - page.at % PAGE) page.length = PAGE - page.at % PAGE;
        add_op(&page);
        op.at += page.length;
        op.data += page.length;
        op.length -= page.length;
    }
}

/* Reads the log of the command.  Files that have no name in the directory and got none are not its
 * business: standard output. */
static void read_log(const char *path) {
    run.log = read_path(path);
    for (size_t at = 0; at < run.log.size;) {
        struct record r;
        memcpy(&r, run.log.data + at, sizeof r);
        const char *name = (const char *)run.log.data + at + sizeof r;
        const char *other = name + r.name_bytes;
        struct op op = {.kind = (enum record_kind)r.kind, .name = name, .other = other};
        op.data = (const uint8_t *)other + r.other_bytes;
        op.at = r.at;
        op.length = r.length;
        op.file = op.kind == RECORD_CREATE ? new_file(r.inode) : file_of(r.inode);
        at += sizeof r + r.name_bytes + r.other_bytes + (size_t)r.length;
        if (op.kind == RECORD_WRITE && op.file >= 0) add_write(op);
        if (op.kind != RECORD_WRITE) add_op(&op);
    }
}

/* ------------------------------------------------------------ state after a cut */

enum data_mode { DATA_KEPT, DATA_LOST, DATA_ZEROS, DATA_RANDOM };
enum names_mode { NAMES_KEPT, NAMES_LOST, NAMES_PREFIX, NAMES_SUBSET };

struct cut {
    size_t at; /* operations that were done */
    enum data_mode data;
    enum names_mode names;
    struct rng rng;
    unsigned keep; /* of 16 pages, at random */
    uint64_t mask; /* NAMES_SUBSET: bit i keeps the i-th change that no sync covers */
};

/* Operations that a sync of the file (-1: of the directory) covers. */
static size_t synced(const struct cut *c, int file) {
    if (control && file >= 0) return 0;
    for (size_t i = c->at; i-- > 0;) {
        const struct op *op = &run.ops[i];
        if (op->kind == RECORD_SYNC_ALL) return i;
        if (file < 0 ? op->kind == RECORD_SYNC_DIR : op->kind == RECORD_SYNC && op->file == file) {
            return i;
        }
    }
    return 0;
}

static void apply_name(struct names *n, const struct op *op) {
    switch (op->kind) {
        case RECORD_CREATE:
            if (op->name[0] != '\0') names_set(n, op->name, op->file);
            break;
        case RECORD_RENAME:
            names_set(n, op->name, -1);
            names_set(n, op->other, op->file);
            break;
        case RECORD_LINK:
            names_set(n, op->other, op->file);
            break;
        case RECORD_UNLINK:
            names_set(n, op->name, -1);
            break;
        default:
            break;
    }
}

static bool changes_names(const struct op *op) {
    return op->kind == RECORD_CREATE || op->kind == RECORD_RENAME || op->kind == RECORD_LINK ||
           op->kind == RECORD_UNLINK;
}

/* Changes of names that no sync covers. */
static unsigned names_pending(const struct cut *c) {
    unsigned pending = 0;
    for (size_t i = synced(c, -1); i < c->at; i++) pending += changes_names(&run.ops[i]);
    return pending;
}

static void names_after(struct cut *c, struct names *n) {
    const size_t safe = synced(c, -1);
    const uint64_t pending = names_pending(c);
    uint64_t kept = c->names == NAMES_LOST ? 0 : pending, mask = c->mask;
    if (c->names == NAMES_PREFIX) kept = rng_below(&c->rng, pending + 1);
    *n = run.before;
    for (size_t i = 0; i < c->at; i++) {
        if (!changes_names(&run.ops[i])) continue;
        if (i >= safe && kept-- == 0) break;
        const bool lost = i >= safe && c->names == NAMES_SUBSET && (mask & 1) == 0;
        if (i >= safe) mask >>= 1;
        if (!lost) apply_name(n, &run.ops[i]);
    }
}

/* Where the bytes of a file go: to memory, or to the large file itself. */
struct place {
    uint8_t *bytes;
    uint64_t size;
    int fd; /* -1: memory */
};

static void place_put(struct place *p, const void *bytes, uint64_t length, uint64_t at) {
    if (p->fd >= 0) {
        write_at(p->fd, bytes, length, at);
    } else {
        memcpy(p->bytes + at, bytes, (size_t)length);
    }
    if (at + length > p->size) p->size = at + length;
}

/* A page that was not synced. */
static void apply_page(struct cut *c, struct place *p, const struct op *op) {
    static const uint8_t zeros[PAGE];
    uint64_t fate = c->data == DATA_RANDOM ? rng_below(&c->rng, 16) : 0;
    if (c->data == DATA_KEPT || (c->data == DATA_RANDOM && fate < c->keep)) {
        place_put(p, op->data, op->length, op->at);
        return;
    }
    const bool zero = c->data == DATA_ZEROS || (c->data == DATA_RANDOM && rng_below(&c->rng, 2));
    const uint64_t from = op->at > p->size ? op->at : p->size, end = op->at + op->length;
    if (zero && end > from) place_put(p, zeros, end - from, from);
    if (c->data != DATA_RANDOM || fate % 3 != 0) return;
    for (uint64_t at = 0; at < op->length; at += SECTOR) { /* torn */
        const uint64_t n = op->length - at < SECTOR ? op->length - at : SECTOR;
        if (rng_below(&c->rng, 2)) place_put(p, op->data + at, n, op->at + at);
    }
}

static void apply_data(struct cut *c, int file, struct place *p) {
    const size_t safe = synced(c, file);
    for (size_t i = 0; i < c->at; i++) {
        const struct op *op = &run.ops[i];
        if (op->file != file) continue;
        if (op->kind == RECORD_WRITE && i < safe) place_put(p, op->data, op->length, op->at);
        if (op->kind == RECORD_WRITE && i >= safe) apply_page(c, p, op);
        if (op->kind != RECORD_TRUNCATE) continue;
        const bool lost = i >= safe && (c->data == DATA_LOST ||
                                        (c->data == DATA_RANDOM && rng_below(&c->rng, 2) == 0));
        if (!lost && op->at < p->size) {
            memset(p->bytes + op->at, 0, (size_t)(p->size - op->at));
            p->size = op->at;
        }
    }
}

/* The largest size that a file ever has. */
static size_t room_of(int file) {
    size_t room = run.files[file].base.size;
    for (size_t i = 0; i < run.count; i++) {
        const struct op *op = &run.ops[i];
        if (op->file == file && op->kind == RECORD_WRITE && op->at + op->length > room) {
            room = (size_t)(op->at + op->length);
        }
    }
    return room;
}

static void make_file(struct cut *c, int file, const char *path) {
    const struct bytes *base = &run.files[file].base;
    struct bytes b = bytes_new(room_of(file) + 1);
    memset(b.data, 0, b.size);
    if (base->size != 0) memcpy(b.data, base->data, base->size);
    struct place p = {b.data, base->size, -1};
    apply_data(c, file, &p);
    const struct bytes whole = {b.data, (size_t)p.size};
    write_path(path, &whole);
    bytes_free(&b);
}

/* The large file is TARGET in "cut", or aside. */
static void make_large(struct cut *c, const struct names *n) {
    if (run.large < 0) return;
    const int fd = open(path_in("cut", TARGET), O_WRONLY | O_CLOEXEC);
    if (fd < 0) exit(2);
    struct place p = {NULL, run.files[run.large].base.size, fd};
    apply_data(c, run.large, &p);
    close(fd);
    if (names_get(n, TARGET) != run.large) {
        if (rename(path_in("cut", TARGET), path_in(".", "aside")) != 0) exit(2);
    }
}

static void make_state(struct cut *c) {
    struct names n;
    names_after(c, &n);
    make_large(c, &n);
    for (size_t i = 0; i < n.count; i++) {
        size_t first = 0;
        while (n.at[first].file != n.at[i].file) first++;
        const char *path = path_in("cut", n.at[i].name);
        if (first < i) {
            if (link(path_in("cut", n.at[first].name), path) != 0) exit(2);
        } else if (!run.files[n.at[i].file].large) {
            make_file(c, n.at[i].file, path);
        }
    }
}

static void remove_name(const char *directory, const char *name) {
    if (run.large >= 0 && strcmp(directory, "cut") == 0 && strcmp(name, TARGET) == 0) return;
    unlink(path_in(directory, name));
}

static void clear_state(void) {
    each_name("cut", remove_name);
    if (run.large < 0) return;
    (void)rename(path_in(".", "aside"), path_in("cut", TARGET));
    const int fd = open(path_in("cut", TARGET), O_WRONLY | O_CLOEXEC);
    const struct bytes *base = &run.files[run.large].base;
    for (size_t i = 0; i < touched.count; i++) {
        const uint64_t at = touched.at[i], left = base->size - at;
        write_at(fd, base->data + at, left < PAGE ? left : PAGE, at);
    }
    close(fd);
}

/* --------------------------------------------------------------------- checks */

enum version { VERSION_NONE, VERSION_OLD, VERSION_NEW, VERSION_BAD };
static const char *const version_names[] = {"none", "old", "new", "bad"};

static bool has_bytes(const struct bytes *expected, const struct bytes *b) {
    return expected->size != 0 && bytes_equal(expected, b);
}

/* Which filter is it?  The new one if both are the same. */
static enum version version_of(const struct bytes *b) {
    if (has_bytes(&run.new_bytes, b)) return VERSION_NEW;
    return has_bytes(&run.old_bytes, b) ? VERSION_OLD : VERSION_BAD;
}

static uint64_t adds_in(const struct bytes *b) {
    uint64_t adds;
    memcpy(&adds, b->data + 80, 8); /* of a .tamis header */
    return adds;
}

/* Of a verified large filter: its checksums were compared, so the count of keys identifies it. */
static enum version version_of_large(const tamis_filter *f) {
    tamis_facts facts = TAMIS_FACTS_INIT;
    if (tamis_info_brief(f, &facts) != TAMIS_OK) return VERSION_BAD;
    if (facts.adds == adds_in(&run.new_bytes)) return VERSION_NEW;
    return facts.adds == adds_in(&run.old_bytes) ? VERSION_OLD : VERSION_BAD;
}

static enum version version_of_filter(const tamis_filter *f) {
    struct bytes b = bytes_of(f);
    const enum version version = version_of(&b);
    bytes_free(&b);
    return version;
}

/* Opens it, by reading or by mapping, and verifies it. */
static enum version open_version(bool map, bool brief) {
    const char *path = path_in("cut", TARGET);
    tamis_open_options o = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    o.map = map;
    o.wait_ms = -1;
    if (access(path, F_OK) != 0) return VERSION_NONE;
    tamis_status status = tamis_open(path, &o, &f);
    if (status == TAMIS_OK) status = tamis_verify(f);
    enum version version = VERSION_BAD;
    if (control) {
        if (status == TAMIS_OK) version = VERSION_OLD; /* or the new one */
    } else if (CHECK(status == TAMIS_OK, "%s: %s: %s", run.scenario, map ? "map" : "read",
                     tamis_status_name(status))) {
        version = brief ? version_of_large(f) : version_of_filter(f);
    }
    tamis_free(f);
    return version;
}

/* The pages of the large file that ever change. */
static enum version raw_large(void) {
    uint8_t page[PAGE];
    bool is_old = true, is_new = true;
    const int fd = open(path_in("cut", TARGET), O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < touched.count; i++) {
        const uint64_t at = touched.at[i];
        const ssize_t n = pread(fd, page, PAGE, (off_t)at);
        if (n <= 0) return VERSION_BAD;
        is_old = is_old && memcmp(page, run.old_bytes.data + at, (size_t)n) == 0;
        is_new = is_new && memcmp(page, run.new_bytes.data + at, (size_t)n) == 0;
    }
    close(fd);
    return is_new ? VERSION_NEW : is_old ? VERSION_OLD : VERSION_BAD;
}

/* Opening for update completes it; then the bytes of the file are those of the filter. */
static enum version complete_version(bool brief) {
    const char *path = path_in("cut", TARGET);
    tamis_open_options o = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    o.update = true;
    const tamis_status status = tamis_open(path, &o, &f);
    CHECK(status == TAMIS_OK, "%s: update: %s", run.scenario, tamis_status_name(status));
    tamis_free(f);
    CHECK(access(path_in("cut", TARGET ".journal"), F_OK) != 0, "%s: a journal is left",
          run.scenario);
    if (brief) return raw_large();
    struct bytes b = read_path(path);
    const enum version version = version_of(&b);
    bytes_free(&b);
    return version;
}

static const char *cut_text(const struct cut *c, uint64_t state) {
    static char text[160];
    static const char *const data[] = {"kept", "lost", "zeros", "random"};
    static const char *const names[] = {"kept", "lost", "prefix", "subset"};
    snprintf(text, sizeof text, "%s: after %zu of %zu operations, data %s, names %s, state %llx",
             run.scenario, c->at, run.count, data[c->data], names[c->names],
             (unsigned long long)state);
    return text;
}

static void check_cut(struct cut c) {
    static uint64_t turn;
    const uint64_t state = c.rng.state;
    make_state(&c);
    const bool large = run.large >= 0, stays = large && access(path_in(".", "aside"), F_OK) != 0;
    const enum version mapped = open_version(true, stays);
    if (control) {
        damaged += mapped == VERSION_BAD;
        clear_state();
        return;
    }
    const char *text = cut_text(&c, state);
    const bool good = mapped == VERSION_NEW || (c.at < run.count && mapped == VERSION_OLD) ||
                      (c.at < run.count && mapped == VERSION_NONE && run.old_bytes.size == 0);
    CHECK(good, "%s: the filter is %s", text, version_names[mapped]);
    if (!large || turn++ % 16 == 0) {
        const enum version read = open_version(false, false);
        CHECK(read == mapped, "%s: read %s, mapped %s", text, version_names[read],
              version_names[mapped]);
    }
    if (run.updatable && mapped != VERSION_NONE) {
        const enum version completed = complete_version(stays);
        CHECK(completed == mapped, "%s: completed %s, mapped %s", text, version_names[completed],
              version_names[mapped]);
    }
    clear_state();
}

/* The log must explain what the command left. */
static void compare_name(const char *directory, const char *name) {
    struct bytes left = read_path(path_in(directory, name));
    struct bytes made = read_path(path_in("cut", name));
    CHECK(bytes_equal(&left, &made), "%s: the log does not explain '%s'", run.scenario, name);
    bytes_free(&left);
    bytes_free(&made);
}

static void check_log(void) {
    struct cut all = {.at = run.count, .data = DATA_KEPT, .names = NAMES_KEPT};
    make_state(&all);
    each_name("work", compare_name);
    CHECK(directory_entries(path_in("work", ".")) == directory_entries(path_in("cut", ".")),
          "%s: the log explains other names", run.scenario);
    clear_state();
}

/* ------------------------------------------------------------------- scenarios */

static void run_command(const char *command, const char *log) {
    int status = 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        if (chdir(path_in("work", ".")) != 0) _exit(127);
        if (log != NULL) {
            setenv("POWER_LOG", log, 1);
            setenv("LD_PRELOAD", getenv("POWER_RECORDER"), 1);
        }
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "%s: '%s' ended with %d",
          run.scenario, command, status);
}

static void cut_randomly(uint64_t count) {
    struct rng rng = {run_seed()};
    for (uint64_t i = 0; i < count; i++) {
        static const unsigned keep[] = {1, 8, 15};
        struct cut c = {.at = (size_t)rng_below(&rng, run.count + 1), .data = DATA_RANDOM};
        if (i % 4 == 0) c.at = run.count - (size_t)rng_below(&rng, 4); /* names change here */
        c.names = i % 2 == 0 ? NAMES_PREFIX : NAMES_SUBSET;
        c.keep = keep[rng_below(&rng, 3)];
        c.mask = rng_next(&rng);
        c.rng.state = rng_next(&rng);
        check_cut(c);
    }
}

static void cut_everywhere(uint64_t random, uint64_t step) {
    for (size_t at = 0; at <= run.count; at++) {
        if (at % step != 0 && at + 10 < run.count) continue; /* the last ones change names */
        struct cut c = {.at = at, .names = NAMES_SUBSET};
        const unsigned pending = names_pending(&c);
        for (c.mask = 0; c.mask >> (pending < SUBSETS_LG ? pending : SUBSETS_LG) == 0; c.mask++) {
            for (c.data = DATA_KEPT; c.data < DATA_RANDOM; c.data++) check_cut(c);
        }
        count_up("prefixes", 1);
    }
    cut_randomly(random);
    count_up("random cuts", random);
}

static void cut_without_syncs(void) {
    control = true;
    damaged = 0;
    for (size_t at = run.count < 8 ? 0 : run.count - 8; at <= run.count; at++) {
        check_cut((struct cut){.at = at, .data = DATA_LOST, .names = NAMES_KEPT});
    }
    cut_randomly(20);
    control = false;
    CHECK(damaged > 0, "%s: without syncs nothing is damaged: the cuts prove nothing",
          run.scenario);
    count_up("damaged files without syncs", damaged);
}

struct scenario {
    const char *name;
    const char *setup;   /* of the directory "work"; NULL: as the one before left it, cut */
    const char *command; /* is recorded */
    bool updatable;
};

static void start_state(const struct scenario *s) {
    memset(&run.before, 0, sizeof run.before);
    run.scenario = s->name;
    run.count = 0;
    run.file_count = 0;
    run.large = -1;
    run.updatable = s->updatable;
    if (s->setup != NULL) run_command(s->setup, NULL);
    each_name("work", note_file);
    if (run.large >= 0) write_path(path_in("cut", TARGET), &run.files[run.large].base);
}

/* Leaves in "work" what a cut in the middle of the update in place leaves: a journal that is
 * complete, and a file of which the first half of the changes was written. */
static void keep_torn(void) {
    size_t writes = 0, at = 0;
    for (size_t i = 0; i < run.count; i++) {
        writes += run.ops[i].kind == RECORD_WRITE && run.ops[i].file == run.large;
    }
    for (size_t done = 0; done < writes / 2; at++) {
        done += run.ops[at].kind == RECORD_WRITE && run.ops[at].file == run.large;
    }
    struct cut half = {.at = at, .data = DATA_KEPT, .names = NAMES_KEPT};
    make_state(&half);
    for (const char *const *name = (const char *const[]){TARGET, TARGET ".journal", NULL};
         *name != NULL; name++) {
        struct bytes b = read_path(path_in("cut", *name));
        CHECK(b.size != 0, "no %s in the middle of the update", *name);
        write_path(path_in("work", *name), &b);
        bytes_free(&b);
    }
    clear_state();
}

static void end_state(void) {
    bytes_free(&run.log);
    for (int i = 0; i < run.file_count; i++) bytes_free(&run.files[i].base);
    for (size_t i = 0; i < run.before.count; i++) free((void *)(uintptr_t)run.before.at[i].name);
    run.large = -1;
    each_name("cut", remove_name);
}

/* `old`: the filter before the command if the file itself is torn; NULL: the file. */
static void run_scenario(const struct scenario *s, const struct bytes *old) {
    char log[500];
    snprintf(log, sizeof log, "%s/log", base_directory);
    unlink(log);
    start_state(s);
    struct bytes before = read_path(path_in("work", TARGET));
    run.old_bytes = old != NULL ? *old : before;
    run_command(s->command, log);
    run.new_bytes = read_path(path_in("work", TARGET));
    read_log(log);
    CHECK(run.count >= 4, "%s: only %zu operations were recorded", s->name, run.count);
    const bool large = run.large >= 0;
    check_log();
    cut_everywhere(large ? run_pick(5, 40, 10000) : run_pick(20, 150, 10000),
                   run.count / run_pick(10, large ? 30 : 60, OPS_MAX) + 1);
    cut_without_syncs();
    count_up("scenarios", 1);
    count_up("operations", run.count);
    bytes_free(&before);
}

static void finish_scenario(void) {
    bytes_free(&run.new_bytes);
    end_state();
    touched.count = 0;
}

static const struct scenario scenarios[] = {
    {"save a new file", "rm -f *; seq 20000 >k", "exec \"$TAMIS\" build -q -k bloom -o f.tamis k",
     true},
    {"build -f", "seq 30000 40000 >k", "exec \"$TAMIS\" build -q -f -k fuse -o f.tamis k", false},
    {"build -f, with a named temporary file", "seq 50000 60000 >k",
     "POWER_NAMED=1 exec \"$TAMIS\" build -q -f -k fuse -o f.tamis k", false},
    {"save a new file, with a named temporary file", "rm -f f.tamis",
     "POWER_NAMED=1 exec \"$TAMIS\" build -q -k bloom -o f.tamis k", true},
    {"replace by another system's filter",
     "rm -f f.tamis; \"$TAMIS\" build -q --to guava -p 1% -o f.tamis k; seq 5000 >k",
     "exec \"$TAMIS\" build -q -f --to guava -p 1% -o f.tamis k", false},
    {"commit by replacement",
     "rm -f f.tamis; \"$TAMIS\" build -q -k cuckoo -n 100k -o f.tamis k; seq 6000 6100 >k",
     "exec \"$TAMIS\" add -q f.tamis k", true},
    {"uniq --save, a new file", "rm -f f.tamis",
     "exec \"$TAMIS\" uniq -q --save f.tamis k >/dev/null", true},
    {"uniq --save", "seq 9000 >k", "exec \"$TAMIS\" uniq -q --save f.tamis k >/dev/null", true},
};

static const struct scenario in_place = {
    "commit in place",
    "rm -f *; seq 5 >k; \"$TAMIS\" build -q -k block -n 14M -o f.tamis k; seq 6 8 >k",
    "exec \"$TAMIS\" add -q f.tamis k", true};
static const struct scenario recovery = {"complete the update of another process", NULL,
                                         "exec \"$TAMIS\" add -q f.tamis /dev/null", true};
static const struct scenario over_journal = {"build -f over an incomplete update", NULL,
                                             "exec \"$TAMIS\" build -q -f -k block -o f.tamis k",
                                             true};

/* The scenarios with a large file: one is left torn for the next two. */
static void large_scenarios(void) {
    run_scenario(&in_place, NULL);
    struct bytes completed = run.new_bytes;
    for (int i = 0; i < 2; i++) {
        const struct scenario *s = i == 0 ? &recovery : &over_journal;
        if (i == 0) {
            keep_torn();
            run_command("mkdir ../torn && cp f.tamis f.tamis.journal ../torn", NULL);
        } else {
            run_command("rm -f f.tamis*; cp ../torn/* .", NULL);
            bytes_free(&run.new_bytes);
        }
        end_state();
        run_scenario(s, &completed);
    }
    bytes_free(&completed);
    finish_scenario();
}

static void clean_up(void) {
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", base_directory);
    if (system(command) != 0) exit(2);
}

int main(int argc, char **argv) {
    if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
    run_start(argc, argv, "power cuts");
    if (getenv("TAMIS") == NULL || getenv("POWER_RECORDER") == NULL) {
        printf("skipped: TAMIS and POWER_RECORDER name the command and the library\n");
        return 77;
    }
    snprintf(base_directory, sizeof base_directory, "%s/power", run_directory());
    if (mkdir(base_directory, 0755) != 0 || mkdir(path_in("work", ""), 0755) != 0 ||
        mkdir(path_in("cut", ""), 0755) != 0) {
        return 2;
    }
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        run_scenario(&scenarios[i], NULL);
        finish_scenario();
    }
    large_scenarios();
    clean_up();
    return run_end();
}
