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

/* A regular file is replaced atomically through a temporary FILE.part; a device or a link is
 * written to directly. */
void svg_file_write(struct plot *plots, size_t count, const char *path) {
    struct stat status;
    const bool file = lstat(path, &status) != 0 || S_ISREG(status.st_mode);
    char *part = (char *)need(strlen(path) + 6);
    sprintf(part, "%s%s", path, file ? ".part" : "");
    if (file) interrupt_saving(path);
    if (file) unlink(part); /* left by a crash */
    FILE *to = fopen(part, file ? "wx" : "w");
    bool good = to != NULL;
    if (good) {
        plot_svg(plots, count, to);
        good = fflush(to) == 0 && ferror(to) == 0;
        if (good && file) good = fsync(fileno(to)) == 0 && rename(part, path) == 0;
    }
    const int why = errno;
    if (!good && file && to != NULL) unlink(part);
    if (to != NULL) fclose(to); /* last: a signal removes the temporary only while it is open */
    interrupt_saved();
    free(part);
    if (!good) die("cannot write '%s': %s", path, strerror(why));
}
