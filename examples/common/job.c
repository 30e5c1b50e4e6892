/* job.c - see job.h */
#define _POSIX_C_SOURCE 200809L
#include "job.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

void job_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void job_check(tamis_status status, const char *what) {
    if (status != TAMIS_OK) job_fail("%s: %s", what, tamis_status_text(status));
}

void *job_resize(void *block, size_t size) {
    void *resized = realloc(block, size ? size : 1);
    if (!resized) job_fail("out of memory");
    return resized;
}

void *job_allocate(size_t size) { return job_resize(NULL, size); }

FILE *job_open(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) job_fail("%s cannot be read", path);
    return file;
}

bool job_line(FILE *file, char **line, size_t *room, size_t *length) {
    ssize_t got = getline(line, room, file);
    if (got < 0) return false;
    *length = (size_t)got;
    if (*length > 0 && (*line)[*length - 1] == '\n') (*line)[--*length] = '\0';
    return true;
}

double job_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double job_peak_memory(void) {
    /* Not getrusage: its maximum includes the memory of the program that started this one. */
    FILE *status = job_open("/proc/self/status");
    char line[128];
    double kilobytes = 0;
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %lf", &kilobytes) == 1) break;
    fclose(status);
    return kilobytes * 1024;
}

uint64_t job_mix(uint64_t number) {
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

void job_row(const char *first, ...) {
    va_list columns;
    va_start(columns, first);
    printf("%-36s", first);
    for (const char *text; (text = va_arg(columns, const char *));) printf(" %16s", text);
    putchar('\n');
    va_end(columns);
}

/* Sixteen buffers in turn: enough for any row, and callers need not free them. */
static char *next_text(void) {
    static char texts[16][64];
    static unsigned next;
    return texts[next++ % 16];
}

const char *job_text(const char *format, ...) {
    char *text = next_text();
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(char[64]), format, arguments);
    va_end(arguments);
    return text;
}

const char *job_count(double number) {
    char digits[32];
    int count = snprintf(digits, sizeof digits, "%.0f", number);
    char *text = next_text(), *to = text;
    for (int i = 0; i < count; i++) {
        *to++ = digits[i];
        int left = count - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-') *to++ = ',';
    }
    *to = '\0';
    return text;
}
