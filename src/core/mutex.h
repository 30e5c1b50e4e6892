/* mutex.h - a mutex, or nothing on systems without threads */
#ifndef TAMIS_CORE_MUTEX_H
#define TAMIS_CORE_MUTEX_H

#if !defined(TAMIS_NO_THREADS)
#include <pthread.h>

struct tamis__mutex {
    pthread_mutex_t mutex;
};

/* Neither this nor the functions below can fail: there are no attributes. */
static inline void tamis__mutex_open(struct tamis__mutex *m) {
    pthread_mutex_init(&m->mutex, NULL);
}
static inline void tamis__mutex_close(struct tamis__mutex *m) { pthread_mutex_destroy(&m->mutex); }

/* Spins for a few microseconds before it sleeps: by then the lock is free, and sleeping and waking
 * take longer. */
static inline void tamis__mutex_lock(struct tamis__mutex *m) {
    for (int looks = 0; looks < 500; looks++) {
        if (pthread_mutex_trylock(&m->mutex) == 0) return;
    }
    pthread_mutex_lock(&m->mutex);
}

static inline void tamis__mutex_unlock(struct tamis__mutex *m) { pthread_mutex_unlock(&m->mutex); }

#else

struct tamis__mutex {
    char unused;
};

static inline void tamis__mutex_open(struct tamis__mutex *m) { m->unused = 0; }
static inline void tamis__mutex_close(struct tamis__mutex *m) { (void)m; }
static inline void tamis__mutex_lock(struct tamis__mutex *m) { (void)m; }
static inline void tamis__mutex_unlock(struct tamis__mutex *m) { (void)m; }

#endif
#endif
