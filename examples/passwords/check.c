/* check.c - check FILTER: prints the passwords on standard input that are possibly in the filter
 *
 * Prints the time to standard error.
 *
 * This is how a server refuses leaked passwords: the filter is a file beside the program, mapped,
 * so that opening takes no time and all processes share one copy.  Each part of it is verified when
 * a password first touches it; passwords that touch a damaged part are refused, and the server
 * learns of it.  A match needs no second check: one user in a thousand has to choose another
 * password without need. */
#include <stdlib.h>

#include "job.h"

int main(int argc, char **argv) {
    if (argc != 2) job_fail("usage: check FILTER <PASSWORDS");
    tamis_open_options how = TAMIS_OPEN_INIT;
    how.map = true;
    tamis_filter *leaked;
    double start = job_seconds();
    job_check(tamis_open(argv[1], &how, &leaked), argv[1]);
    double opened = job_seconds();

    char *password = NULL;
    size_t room = 0, length;
    while (job_line(stdin, &password, &room, &length))
        if (tamis_contains(leaked, password, length)) puts(password);
    job_check(tamis_query_status(leaked), argv[1]);
    free(password);
    tamis_free(leaked);
    fprintf(stderr, "%s: opened in %.0f us\n", argv[1], (opened - start) * 1e6);
}
