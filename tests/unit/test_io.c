/* test_io.c - descriptors above the standard streams; reads and writes of all bytes; files without
 * a name
 *
 * wraps: pread64 pwrite64 pwritev64 open64 unlink */
#define _GNU_SOURCE 1 /* O_TMPFILE, pwritev */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/io.h"

/* The outcome of the next calls: -1 and EINTR or EIO, or at most this many bytes. */
enum { INTERRUPTED = -1, BROKEN = -2 };
static const int *script;
static size_t script_left, calls;

/* The bytes that the call may transfer; negative: it fails. */
static ssize_t next(size_t length) {
    calls++;
    if (script_left == 0) return (ssize_t)length;
    script_left--;
    const int outcome = *script++;
    if (outcome < 0) {
        errno = outcome == INTERRUPTED ? EINTR : EIO;
        return -1;
    }
    return (size_t)outcome < length ? outcome : (ssize_t)length;
}

ssize_t __real_pread64(int descriptor, void *bytes, size_t length, off_t at);
ssize_t __wrap_pread64(int descriptor, void *bytes, size_t length, off_t at);
ssize_t __wrap_pread64(int descriptor, void *bytes, size_t length, off_t at) {
    const ssize_t n = next(length);
    return n <= 0 ? n : __real_pread64(descriptor, bytes, (size_t)n, at);
}
ssize_t __real_pwrite64(int descriptor, const void *bytes, size_t length, off_t at);
ssize_t __wrap_pwrite64(int descriptor, const void *bytes, size_t length, off_t at);
ssize_t __wrap_pwrite64(int descriptor, const void *bytes, size_t length, off_t at) {
    const ssize_t n = next(length);
    return n <= 0 ? n : __real_pwrite64(descriptor, bytes, (size_t)n, at);
}

/* Of the first vector at most: a part ends within it. */
ssize_t __real_pwritev64(int descriptor, const struct iovec *vector, int count, off_t at);
ssize_t __wrap_pwritev64(int descriptor, const struct iovec *vector, int count, off_t at);
ssize_t __wrap_pwritev64(int descriptor, const struct iovec *vector, int count, off_t at) {
    const size_t left = script_left;
    const ssize_t n = next(vector->iov_len);
    if (n <= 0) return n;
    if (left == 0) return __real_pwritev64(descriptor, vector, count, at);
    const struct iovec part = {vector->iov_base, (size_t)n};
    return __real_pwritev64(descriptor, &part, 1, at);
}

/* A file system without O_TMPFILE, and one on which nothing can be removed. */
static bool lacks_nameless, keeps_names;

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    if (lacks_nameless && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_open64(path, flags, mode);
}
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path) {
    const int result = __real_unlink(path);
    if (!keeps_names) return result;
    errno = EPERM;
    return -1;
}

static void play(const int *outcomes, size_t count) {
    script = outcomes;
    script_left = count;
    calls = 0;
}
#define PLAY(...) play((const int[]){__VA_ARGS__}, sizeof(int[]){__VA_ARGS__} / sizeof(int))

static int temporary(void) {
    FILE *file = tmpfile();
    assert_non_null(file);
    const int descriptor = dup(fileno(file));
    assert_true(descriptor > STDERR_FILENO);
    fclose(file);
    return descriptor;
}

/* A transfer goes on after a signal and after a part. */
static void test_parts(void **state) {
    uint8_t bytes[100], back[100] = {0};
    const int descriptor = temporary();
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7 + 1);
    PLAY(INTERRUPTED, 1, 30, INTERRUPTED, INTERRUPTED, 60);
    assert_true(tamis__pwrite_all(descriptor, bytes, sizeof bytes, 1000));
    assert_int_equal(calls, 7);
    PLAY(99, INTERRUPTED);
    assert_true(tamis__pread_all(descriptor, back, sizeof back, 1000));
    assert_int_equal(calls, 3);
    assert_memory_equal(bytes, back, sizeof bytes);
    assert_true(tamis__pread_all(descriptor, back, 0, UINT64_C(1) << 60)); /* no call */
    assert_int_equal(calls, 3);
    close(descriptor);
}

static void test_failures(void **state) {
    uint8_t bytes[100] = {0};
    const int descriptor = temporary();
    (void)state;
    PLAY(50, BROKEN);
    assert_false(tamis__pwrite_all(descriptor, bytes, sizeof bytes, 0));
    assert_int_equal(errno, EIO);
    PLAY(INTERRUPTED, 10, BROKEN);
    assert_false(tamis__pread_all(descriptor, bytes, 50, 0));
    assert_int_equal(errno, EIO);
    PLAY(20, 0); /* nothing was written, and no reason given */
    errno = 0;
    assert_false(tamis__pwrite_all(descriptor, bytes, sizeof bytes, 0));
    assert_int_equal(errno, EIO);
    play(NULL, 0);
    errno = 0;
    assert_false(tamis__pread_all(descriptor, bytes, sizeof bytes, 1)); /* past the end */
    assert_int_equal(errno, EIO);
    close(descriptor);
    assert_false(tamis__pread_all(descriptor, bytes, 1, 0));
    assert_int_equal(errno, EBADF);
}

static void test_spans(void **state) {
    const struct tamis__span spans[3] = {{(const uint8_t *)"one", 3},
                                         {(const uint8_t *)"three", 5},
                                         {(const uint8_t *)"seven!!", 7}};
    const int descriptor = temporary();
    char back[16] = "";
    uint64_t at = 2;
    (void)state;
    PLAY(INTERRUPTED, 1, 2, INTERRUPTED, 4);
    assert_true(tamis__write_spans(descriptor, spans, 3, &at));
    assert_int_equal(at, 2 + 3 + 5 + 7);
    play(NULL, 0);
    assert_true(tamis__pread_all(descriptor, back, 15, 2));
    assert_string_equal(back, "onethreeseven!!");
    assert_true(tamis__write_spans(descriptor, spans, 0, &at));
    PLAY(3, BROKEN);
    assert_false(tamis__write_spans(descriptor, spans, 3, &at));
    PLAY(0);
    assert_false(tamis__write_spans(descriptor, spans, 3, &at));
    play(NULL, 0);
    tamis__close(descriptor);
    tamis__close(-1);
}

static void test_nameless(void **state) {
    char directory[5000];
    (void)state;
    memset(directory, 'x', sizeof directory - 1);
    directory[sizeof directory - 1] = '\0';
    assert_int_equal(tamis__nameless_file(directory), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    for (lacks_nameless = false;; lacks_nameless = true) {
        const int descriptor = tamis__nameless_file("/tmp");
        assert_true(descriptor > STDERR_FILENO);
        tamis__close(descriptor);
        if (lacks_nameless) break;
    }
    assert_int_equal(tamis__nameless_file("/no such directory"), -1);
    assert_int_equal(errno, ENOENT);
    keeps_names = true;
    assert_int_equal(tamis__nameless_file("/tmp"), -1);
    assert_int_equal(errno, EPERM);
    lacks_nameless = keeps_names = false;
}

static void test_temporary_directory(void **state) {
    const char *before = getenv("TMPDIR");
    char *kept = before == NULL ? NULL : strdup(before);
    (void)state;
    assert_string_equal(tamis__temporary_directory("/here"), "/here");
    assert_string_equal(tamis__temporary_directory(""), "/tmp");
    setenv("TMPDIR", "/there", 1);
    assert_string_equal(tamis__temporary_directory(NULL), "/there");
    setenv("TMPDIR", "", 1);
    assert_string_equal(tamis__temporary_directory(NULL), "/tmp");
    unsetenv("TMPDIR");
    assert_string_equal(tamis__temporary_directory(NULL), "/tmp");
    if (kept != NULL) setenv("TMPDIR", kept, 1);
    free(kept);
}

/* With a standard stream closed, a file does not get its descriptor. */
static void test_streams(void **state) {
    (void)state;
    if (fcntl(STDIN_FILENO, F_GETFD) < 0) assert_int_equal(open("/dev/null", O_RDONLY), 0);
    const int kept = dup(STDIN_FILENO);
    assert_true(kept > STDERR_FILENO);
    close(STDIN_FILENO);
    const int descriptor = tamis__open("/dev/null", O_RDONLY, 0);
    assert_true(descriptor > STDERR_FILENO);
    assert_true((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1); /* still closed */
    close(descriptor);
    /* No descriptor is left above the streams: the file is closed again. */
    struct rlimit limit, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = limit;
    low.rlim_cur = STDERR_FILENO + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    const int none = tamis__open("/dev/null", O_RDONLY, 0);
    const int why = errno;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(none, -1);
    assert_true(why == EINVAL || why == EMFILE);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    assert_int_equal(tamis__open("/no such file", O_RDONLY, 0), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
    close(kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_nameless),
        cmocka_unit_test(test_temporary_directory),
        cmocka_unit_test(test_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
