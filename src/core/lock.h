/* lock.h - one thread at a time, where there are threads */
#ifndef TAMIS_CORE_LOCK_H
#define TAMIS_CORE_LOCK_H

#if !defined(TAMIS_NO_THREADS)
#include <pthread.h>

struct tamis__lock {
    pthread_mutex_t mutex;
};

/* Without attributes and in memory of its own it cannot fail, nor can what follows. */
static inline void tamis__lock_open(struct tamis__lock *l) { pthread_mutex_init(&l->mutex, NULL); }
static inline void tamis__lock_close(struct tamis__lock *l) { pthread_mutex_destroy(&l->mutex); }

/* Looks for a few microseconds before it sleeps: what it guards is over by then, and to sleep and
 * be woken takes longer. */
static inline void tamis__lock(struct tamis__lock *l) {
    for (int looks = 0; looks < 500; looks++) {
        if (pthread_mutex_trylock(&l->mutex) == 0) return;
    }
    pthread_mutex_lock(&l->mutex);
}

static inline void tamis__unlock(struct tamis__lock *l) { pthread_mutex_unlock(&l->mutex); }

#else

struct tamis__lock {
    char unused;
};

static inline void tamis__lock_open(struct tamis__lock *l) { l->unused = 0; }
static inline void tamis__lock_close(struct tamis__lock *l) { (void)l; }
static inline void tamis__lock(struct tamis__lock *l) { (void)l; }
static inline void tamis__unlock(struct tamis__lock *l) { (void)l; }

#endif
#endif
