/* disk.c - the disk fills up while a builder spills: a failed add loses no key of another add
 *
 * A limit on the size of files stands in for a full disk.  Adds that fail are not repeated.
 * Once there is room again, the filter is finished and holds every key of every add that
 * succeeded.  If there is no room until the end, finishing fails. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "../support/filters.h"

#define N 600000
#define SOME 1000
#define ROOM ((rlim_t)1 << 20)

static uint64_t *hashes;

static void set_room(rlim_t bytes) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0, "getrlimit");
    limit.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
}

static void fill_up(const struct variant *v, rlim_t room_at_the_end) {
    static bool accepted[N / SOME];
    tamis_options o = variant_options(v, 0, 0.01);
    tamis_builder *b;
    tamis_filter *f;
    size_t refused = 0;
    o.memory = (uint64_t)1 << 20;
    o.temporary = run_directory();
    if (!CHECK(tamis_builder_create(&o, &b) == TAMIS_OK, "%s: create", v->name)) return;
    set_room(ROOM);
    for (size_t i = 0; i < N / SOME; i++) {
        const tamis_status status = tamis_builder_add_hash_batch(b, hashes + i * SOME, SOME);
        CHECK(status == TAMIS_OK || (status == TAMIS_E_IO && errno == EFBIG), "%s: add: %s",
              v->name, tamis_status_name(status));
        accepted[i] = status == TAMIS_OK;
        refused += !accepted[i];
    }
    CHECK(refused > 0 && refused < N / SOME, "%s: %zu adds were refused", v->name, refused);
    set_room(room_at_the_end);
    const tamis_status status = tamis_builder_finish(b, &f);
    set_room(RLIM_INFINITY);
    CHECK(status == TAMIS_OK || (status == TAMIS_E_IO && room_at_the_end == ROOM && f == NULL),
          "%s: finish: %s", v->name, tamis_status_name(status));
    for (size_t i = 0; status == TAMIS_OK && i < N / SOME; i++) {
        if (!accepted[i]) continue;
        const size_t found = tamis_contains_hash_batch(f, hashes + i * SOME, SOME, NULL);
        if (!CHECK(found == SOME, "%s: of an accepted batch %zu keys are found", v->name, found))
            break;
    }
    count_up("keys", N);
    tamis_free(f);
    tamis_builder_free(b);
    CHECK(directory_entries(run_directory()) == 0, "%s: a file is left", v->name);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "disk");
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_max != RLIM_INFINITY) {
        printf("skipped: the size of files is limited (ulimit -f)\n");
        return 77;
    }
    signal(SIGXFSZ, SIG_IGN);
    hashes = hashes_make(N, run_seed(), STREAM_MEMBERS);
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        fill_up(variant_at(i), RLIM_INFINITY);
        fill_up(variant_at(i), ROOM);
    }
    free(hashes);
    return run_end();
}
