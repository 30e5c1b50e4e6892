/* svg_file.c - see svg_file.h */
#define _POSIX_C_SOURCE 200809L

#include "svg_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "interrupt.h"

void svg_file_check(const char *name) {
    if (name == NULL) return;
    if (name[0] == '\0') die("--svg: the file name is empty");
    if (strcmp(name, "-") == 0) die("--svg needs a file: the numbers go to standard output");
}

/* A temporary file beside `path` that no other user can provide; NULL and errno on failure. */
static FILE *open_temporary(const char *path, char **name) {
    const char *slash = strrchr(path, '/');
    const size_t directory = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    *name = (char *)need(directory + sizeof TEMPORARY_PREFIX "XXXXXX");
    memcpy(*name, path, directory);
    int descriptor;
    do {
        strcpy(*name + directory, TEMPORARY_PREFIX "XXXXXX");
        descriptor = mkstemp(*name);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) return NULL;
    const mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(descriptor, 0666 & ~mask);
    FILE *file = fdopen(descriptor, "w");
    if (file == NULL) {
        unlink(*name);
        close(descriptor);
        errno = ENOMEM;
    }
    return file;
}

static bool sync_file(FILE *file) {
    int failed;
    do {
        failed = fsync(fileno(file));
    } while (failed != 0 && errno == EINTR);
    return failed == 0;
}

/* A regular file is replaced atomically; a device or a link is written to directly. */
void svg_file_write(struct plot *plots, size_t count, const char *path) {
    struct stat status;
    const bool file = lstat(path, &status) != 0 || S_ISREG(status.st_mode);
    char *part = NULL;
    if (file) interrupt_saving(path);
    FILE *to = file ? open_temporary(path, &part) : fopen(path, "w");
    bool good = to != NULL;
    if (good) {
        plot_svg(plots, count, to);
        good = fflush(to) == 0 && ferror(to) == 0;
        if (good && file) good = sync_file(to) && rename(part, path) == 0;
    }
    const int why = errno;
    if (!good && file && to != NULL) unlink(part);
    if (to != NULL) fclose(to); /* last: a signal removes the temporary only while it is open */
    interrupt_saved();
    free(part);
    if (!good) die("cannot write '%s': %s", path, strerror(why));
}
