/* check.c - check FILTER: which of the passwords on standard input are known to have leaked?
 *
 * Prints those that are in the filter, and a line about the time to standard error.
 *
 * What a server does when somebody chooses a password: the list is a file beside the program,
 * mapped, so that it costs no time to start and one copy in memory for all processes.  A "maybe"
 * needs no second look: who is told to choose another password once in a thousand times, though
 * theirs never leaked, has lost nothing. */
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
    job_check(tamis_verify(leaked), argv[1]); /* a damaged list would let passwords through */
    double verified = job_seconds();

    char *password = NULL;
    size_t room = 0, length;
    while (job_line(stdin, &password, &room, &length))
        if (tamis_contains(leaked, password, length)) puts(password);
    free(password);
    tamis_free(leaked);
    fprintf(stderr, "opened in %.0f us, verified in %.0f us\n", (opened - start) * 1e6,
            (verified - opened) * 1e6);
}
