/* exact.c - exact N...: the memory of an exact set of N keys in C (examples/common/set.c)
 *
 * Prints lines "NAME N BYTES".  The bytes are those that malloc took, its own overhead included. */
#include <malloc.h>
#include <stdlib.h>

#include "job.h"
#include "set.h"

static size_t in_use(void) {
    struct mallinfo2 memory = mallinfo2();
    return memory.uordblks + memory.hblkhd;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        unsigned keys = (unsigned)strtoul(argv[i], NULL, 10);
        size_t before = in_use();
        set *users = set_create();
        for (unsigned k = 0; k < keys; k++) {
            char key[16];
            set_add(users, key, (size_t)snprintf(key, sizeof key, "user:%010u", k));
        }
        if (set_count(users) != keys) job_fail("%zu keys in a set of %u", set_count(users), keys);
        size_t after = in_use();
        set_free(users);
        printf("C-set %u %zu\n", keys, after - before);
    }
}
