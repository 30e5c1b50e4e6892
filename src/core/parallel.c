/* parallel.c - see parallel.h */
#include "core/parallel.h"

#include <stdatomic.h>

#if !defined(TAMIS_NO_THREADS)
#include <pthread.h>
#endif

/* More threads than this do not help a job that is bound by memory. */
#define THREADS_MAX 64

struct work {
    uint64_t count;
    tamis_status (*job)(void *, uint64_t);
    void *context;
    atomic_uint_fast64_t next;
    atomic_int status;
};

static void *run(void *argument) {
    struct work *w = argument;
    while (atomic_load(&w->status) == TAMIS_OK) {
        const uint64_t i = atomic_fetch_add(&w->next, 1);
        if (i >= w->count) break;
        const tamis_status status = w->job(w->context, i);
        if (status != TAMIS_OK) atomic_store(&w->status, (int)status);
    }
    return NULL;
}

tamis_status tamis__parallel(unsigned threads, uint64_t count,
                             tamis_status (*job)(void *, uint64_t), void *context) {
    struct work w = {.count = count, .job = job, .context = context};
    atomic_init(&w.next, 0);
    atomic_init(&w.status, TAMIS_OK);
#if !defined(TAMIS_NO_THREADS)
    pthread_t helpers[THREADS_MAX];
    unsigned started = 0;
    if (threads > count) threads = (unsigned)count;
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    while (started + 1 < threads && pthread_create(&helpers[started], NULL, run, &w) == 0) {
        started++;
    }
    run(&w);
    while (started > 0) pthread_join(helpers[--started], NULL);
#else
    (void)threads;
    run(&w);
#endif
    return (tamis_status)atomic_load(&w.status);
}
