/* timed.c - tamis-timed [--cold FILE] REPORT COMMAND...: runs a command and appends to the file
 * REPORT
 *
 *     wall-clock seconds, CPU seconds, peak memory in bytes, bytes read from disks
 *
 * With --cold the pages of FILE are dropped from the system's cache first.  Its exit code is the
 * command's. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Pages that are not yet written cannot be dropped. */
static int drop(const char *path) {
    const int file = open(path, O_RDONLY);
    if (file < 0) return -1;
    const int result = fdatasync(file) != 0 ? -1 : posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
    return result;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "--cold") == 0) {
        if (drop(argv[2]) != 0) return 2;
        argv += 2;
        argc -= 2;
    }
    if (argc < 3) return 2;
    const double start = now();
    const pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child) return 2;
    const double wall = now() - start;
    FILE *report = fopen(argv[1], "a");
    if (report == NULL) return 2;
    fprintf(report, "%.6f %.6f %.0f %.0f\n", wall,
            seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), 1024 * (double)usage.ru_maxrss,
            512 * (double)usage.ru_inblock);
    if (fclose(report) != 0) return 2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
