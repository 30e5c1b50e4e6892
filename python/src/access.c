/* access.c - many readers of a filter or one writer */
#include "module.h"

#include <time.h>

/* Waits for a moment, longer after many attempts.  false: a signal handler raised. */
static bool pause_before(unsigned attempt) {
    const struct timespec moment = {0, attempt < 100 ? 20 * 1000 : 1000 * 1000};
    Py_BEGIN_ALLOW_THREADS
    nanosleep(&moment, NULL);
    Py_END_ALLOW_THREADS
    return PyErr_CheckSignals() == 0;
}

bool access_try_read(struct access *access) {
    int users = atomic_load(&access->users);
    while (users >= 0 && atomic_load(&access->writers) == 0) {
        if (atomic_compare_exchange_weak(&access->users, &users, users + 1)) return true;
    }
    return false;
}

bool access_read(struct access *access) {
    for (unsigned attempt = 0; !access_try_read(access); attempt++) {
        if (!pause_before(attempt)) return false;
    }
    return true;
}

void access_read_end(struct access *access) { atomic_fetch_sub(&access->users, 1); }

bool access_try_write(struct access *access) {
    int none = 0;
    return atomic_compare_exchange_strong(&access->users, &none, -1);
}

bool access_write(struct access *access) {
    if (access_try_write(access)) return true;
    bool taken = false;
    atomic_fetch_add(&access->writers, 1);
    for (unsigned attempt = 0; !taken; attempt++) {
        if (!pause_before(attempt)) break;
        taken = access_try_write(access);
    }
    atomic_fetch_sub(&access->writers, 1);
    return taken;
}

void access_write_end(struct access *access) { atomic_store(&access->users, 0); }
