/* io_none.c - io.h without a file system: what is called by code that can do without files */
#include "core/io.h"

#if defined(TAMIS_NO_FILES)
#include <errno.h>

static bool refuse(void) {
    errno = ENOTSUP;
    return false;
}

bool tamis__pread_all(int descriptor, void *bytes, uint64_t length, uint64_t at) {
    (void)descriptor, (void)bytes, (void)length, (void)at;
    return refuse();
}

bool tamis__pwrite_all(int descriptor, const void *bytes, uint64_t length, uint64_t at) {
    (void)descriptor, (void)bytes, (void)length, (void)at;
    return refuse();
}

bool tamis__write_spans(int descriptor, const struct tamis__span *spans, size_t count,
                        uint64_t *at) {
    (void)descriptor, (void)spans, (void)count, (void)at;
    return refuse();
}

void tamis__close(int descriptor) { (void)descriptor; }

const char *tamis__temporary_directory(const char *directory) {
    return directory == NULL ? "" : directory;
}

int tamis__nameless_file(const char *directory) {
    (void)directory;
    (void)refuse();
    return -1;
}
#endif
