/* stranger.c - what another user does to files while a victim runs the command
 *
 *   stranger flip PRISTINE PATH FROM-TO|AT:HEX...   changes bytes in these ranges of PATH, or to
 *                                    these values, through a shared mapping and restores them, as
 *                                    fast as it can; now and then it truncates or replaces the file
 *   stranger swap DIRECTORY TARGET KEEP...   replaces every file in the directory, except those
 *                                    named KEEP, by a symbolic link to TARGET
 *   stranger lock PATH posix|ofd|flock read|write   locks the file until standard input ends
 *   stranger journal BEFORE AFTER JOURNAL   writes the journal that turns BEFORE into AFTER
 *
 * A victim that checks a value and then reads it again finds another one.  The file is valid most
 * of the time, so that the check succeeds.  Ends when its parent does. */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/journals.h"

#define RANGES_MAX 4096
#define EVIL_MAX 64  /* bytes that are changed at once */
#define LIFETIME 900 /* seconds, in case the parent is lost */

static void fail(const char *what) {
    fprintf(stderr, "stranger: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct bytes read_file(const char *path) {
    struct stat st;
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) fail(path);
    const struct bytes b = bytes_new((size_t)st.st_size);
    if (pread(fd, b.data, b.size, 0) != (ssize_t)b.size) fail(path);
    close(fd);
    return b;
}

static bool write_file(const char *path, const struct bytes *b) {
    const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    if (fd < 0) return false;
    const bool done = write(fd, b->data, b->size) == (ssize_t)b->size;
    close(fd);
    return done;
}

/* ---- flip */

/* Any bytes of a range, or all of it: to the value. */
struct range {
    size_t from, length;
    const char *value; /* hexadecimal; NULL: any */
};

struct target {
    const char *path;
    struct bytes pristine;
    struct range range[RANGES_MAX];
    size_t ranges;
    struct rng r;
};

static void spin(uint64_t most, struct rng *r) {
    for (volatile uint64_t i = rng_below(r, most); i > 0; i--) continue;
}

/* Chooses bytes of the file and hostile values for them; returns their number. */
static size_t choose(struct target *t, size_t *at, uint8_t *evil) {
    static const uint64_t edges[] = {0,          1,       UINT64_MAX, UINT64_MAX / 2,
                                     UINT32_MAX, 1 << 16, 1 << 24};
    const struct range *range = &t->range[rng_below(&t->r, t->ranges)];
    *at = range->from;
    if (range->value != NULL) {
        for (size_t i = 0; i < range->length; i++) {
            unsigned byte = 0;
            sscanf(range->value + 2 * i, "%2x", &byte);
            evil[i] = (uint8_t)byte;
        }
        return range->length;
    }
    *at += (size_t)rng_below(&t->r, range->length);
    uint64_t number = rng_next(&t->r);
    if (rng_below(&t->r, 2) == 0) number = edges[rng_below(&t->r, sizeof edges / sizeof *edges)];
    memcpy(evil, &number, sizeof number);
    const size_t left = t->pristine.size - *at, bytes = rng_below(&t->r, 2) == 0 ? 1 : 8;
    return bytes < left ? bytes : left;
}

/* Sets a few bytes to hostile values and back, `times` times; each state lasts for up to `most`
 * steps. */
static void flip_field(struct target *t, uint8_t *map, int times, uint64_t most) {
    uint8_t evil[EVIL_MAX];
    size_t at;
    const size_t bytes = choose(t, &at, evil);
    for (int i = 0; i < times; i++) {
        memcpy(map + at, evil, bytes);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        spin(most, &t->r);
        memcpy(map + at, t->pristine.data + at, bytes);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        spin(most, &t->r);
    }
}

/* A field that changes all the time has another value at each read of it; one that changes after
 * a millisecond passes the check of a large file first. */
static void flip_some(struct target *t, uint8_t *map) {
    if (rng_below(&t->r, 2) == 0) {
        flip_field(t, map, 20000, 100);
    } else {
        for (int i = 0; i < 30; i++) flip_field(t, map, 1, (uint64_t)1 << 20);
    }
}

static void cut_once(struct target *t, int fd) {
    const size_t to = (size_t)rng_below(&t->r, t->pristine.size), rest = t->pristine.size - to;
    if (ftruncate(fd, (off_t)to) != 0) fail("ftruncate");
    spin(1 << 16, &t->r);
    if (pwrite(fd, t->pristine.data + to, rest, (off_t)to) != (ssize_t)rest) fail("pwrite");
}

static void replace_once(const struct target *t) {
    char other[4096];
    snprintf(other, sizeof other, "%s.new", t->path);
    if (write_file(other, &t->pristine)) (void)rename(other, t->path);
}

/* The file of that name, as long as it is the whole one; the victim may replace or remove it. */
static void visit(struct target *t) {
    struct stat st;
    const int fd = open(t->path, O_RDWR | O_NOFOLLOW);
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && (size_t)st.st_size == t->pristine.size) {
        uint8_t *map = mmap(NULL, t->pristine.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED) fail("mmap");
        flip_some(t, map);
        munmap(map, t->pristine.size);
        if (rng_below(&t->r, 3) == 0) cut_once(t, fd);
        if (rng_below(&t->r, 8) == 0) replace_once(t);
    }
    close(fd);
}

static int flip(int argc, char **argv) {
    static struct target t;
    t.path = argv[3];
    t.pristine = read_file(argv[2]);
    t.r.state = (uint64_t)getpid();
    for (int i = 4; i < argc && t.ranges < RANGES_MAX; i++) {
        unsigned long from, to;
        const char *value = strchr(argv[i], ':');
        if (value != NULL) {
            from = strtoul(argv[i], NULL, 10);
            to = from + strlen(++value) / 2;
            if (to - from > EVIL_MAX) continue;
        } else if (sscanf(argv[i], "%lu-%lu", &from, &to) != 2) {
            fail(argv[i]);
        }
        if (from >= to || to > t.pristine.size) continue;
        t.range[t.ranges++] = (struct range){from, to - from, value};
    }
    if (t.ranges == 0) return 2;
    puts("started");
    fflush(stdout);
    for (;;) visit(&t);
}

/* ---- swap */

static bool is_kept(const char *name, char **kept) {
    bool same = name[0] == '.' && (name[1] == '\0' || strcmp(name, "..") == 0);
    for (; *kept != NULL && !same; kept++) same = strcmp(name, *kept) == 0;
    return same;
}

static _Noreturn void swap(char **argv) {
    if (chdir(argv[2]) != 0) fail(argv[2]);
    puts("started");
    fflush(stdout);
    for (;;) {
        DIR *directory = opendir(".");
        const struct dirent *entry;
        if (directory == NULL) fail(argv[2]);
        while ((entry = readdir(directory)) != NULL) {
            if (is_kept(entry->d_name, argv + 4) || entry->d_type == DT_LNK) continue;
            if (unlink(entry->d_name) == 0) (void)!symlink(argv[3], entry->d_name);
        }
        closedir(directory);
    }
}

/* ---- lock */

static int lock(char **argv) {
    const bool alone = strcmp(argv[4], "write") == 0;
    const int fd = open(argv[2], alone ? O_RDWR : O_RDONLY);
    struct flock whole = {.l_type = alone ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET};
    if (fd < 0) fail(argv[2]);
    const bool held = strcmp(argv[3], "flock") == 0 ? flock(fd, alone ? LOCK_EX : LOCK_SH) == 0
                      : strcmp(argv[3], "ofd") == 0 ? fcntl(fd, F_OFD_SETLK, &whole) == 0
                                                    : fcntl(fd, F_SETLK, &whole) == 0;
    if (!held) fail(argv[2]);
    puts("started");
    fflush(stdout);
    while (getchar() != EOF) continue;
    return 0;
}

static int journal(char **argv) {
    struct bytes before = read_file(argv[2]), after = read_file(argv[3]);
    struct bytes made = journal_make(&before, &after);
    if (!write_file(argv[4], &made)) fail(argv[4]);
    bytes_free(&before);
    bytes_free(&after);
    bytes_free(&made);
    return 0;
}

int main(int argc, char **argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(LIFETIME);
    if (argc >= 5 && strcmp(argv[1], "flip") == 0) return flip(argc, argv);
    if (argc >= 4 && strcmp(argv[1], "swap") == 0) swap(argv);
    if (argc == 5 && strcmp(argv[1], "lock") == 0) return lock(argv);
    if (argc == 5 && strcmp(argv[1], "journal") == 0) return journal(argv);
    fprintf(stderr, "usage: stranger flip|swap|lock|journal ARGUMENT...\n");
    return 2;
}
