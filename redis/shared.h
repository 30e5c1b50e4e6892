/* shared.h - tables that several filters may have
 *
 * COPY and BF.MERGE would have to copy and unite tables of a hundred megabytes.  Instead the
 * tables are shared, and unions are noted; whoever changes a table that others have takes a copy
 * first, and whoever needs a union makes it.  What will be needed is made ahead by the worker
 * (worker.h), so that hardly anybody has to.
 *
 * shared.c says how.  All functions are for the thread that serves commands, but for shared_drop,
 * which any thread may call: the server frees values in a thread of its own as well. */
#ifndef TAMIS_REDIS_SHARED_H
#define TAMIS_REDIS_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* What can be done to a table. */
struct shared_kind {
    void *(*copy)(const void *body);             /* NULL: no memory */
    bool (*unite)(void *into, const void *from); /* both alike; false: no memory */
    void (*free)(void *body);
    size_t (*bytes)(const void *body);
};

struct shared_part;

struct shared {
    const struct shared_kind *kind;
    _Atomic(void *) body; /* NULL: the union of its parts, which is still to be made */
    atomic_uint owners;
    bool making; /* somebody makes the union */
    union {
        struct shared *spare;      /* a copy for the next who needs one, or NULL */
        struct shared_part *parts; /* if there is no body */
    } ahead;
};

/* To be called once, by the thread that serves commands; opens the worker as well.  False if the
 * system refuses. */
bool shared_open(void);

/* The table becomes the new object's, or is freed if there is no memory for that (then NULL). */
struct shared *shared_new(const struct shared_kind *kind, void *body);
/* A copy, with one owner; NULL if there is no memory. */
struct shared *shared_copy(struct shared *s);
/* One owner more. */
struct shared *shared_take(struct shared *s);
/* One less; NULL is allowed.  The last one frees the table. */
void shared_drop(struct shared *s);

/* Makes the table in `*place` the union of itself and another, which keeps its owner.  False, and
 * nothing changes, if there is no memory. */
bool shared_unite(struct shared **place, struct shared *other);

/* A table like this one, without any work: itself, or a part of the union that it is. */
const void *shared_like(struct shared *s);

/* Will this take no time: to look at the table, or to change it? */
bool shared_is_ready(const struct shared *s, bool change);
/* Has the worker make ready what is not. */
void shared_prepare(struct shared *s);

/* The rest of shared_look and shared_own. */
const void *shared_make(struct shared *s);
void *shared_part_from(struct shared **place);

static inline bool shared_is_own(struct shared *s) {
    return atomic_load_explicit(&s->owners, memory_order_acquire) == 1;
}

/* The table, to be looked at; NULL if there is no memory to make it. */
static inline const void *shared_look(struct shared *s) {
    const void *body = atomic_load_explicit(&s->body, memory_order_acquire);
    return body != NULL ? body : shared_make(s);
}

/* The table, to be changed: nobody else has it then.  NULL if there is no memory. */
static inline void *shared_own(struct shared **place) {
    if (shared_is_own(*place)) {
        void *body = atomic_load_explicit(&(*place)->body, memory_order_acquire);
        if (body != NULL) return body;
    }
    return shared_part_from(place);
}

/* How often there was no memory for a union that the thread that serves commands had to look at.
 * Who sees it grow was told "maybe" for that, and must not take it for "there". */
size_t shared_failures(void);

/* Bytes of tables that were copied, united or freed: while a command waited for it, and by the
 * worker or another thread. */
struct shared_work {
    size_t waited, behind;
};
struct shared_work shared_work(void);

#endif
