/* cow_table.h - copy-on-write tables, shared between filters
 *
 * COPY and BF.MERGE would have to copy and unite tables of a hundred megabytes.  Instead filters
 * share tables, and unions are recorded.  A write to a shared table copies it first, and a union is
 * built when it is needed.  The worker (worker.h) makes copies and unions ahead, so commands rarely
 * have to.
 *
 * All functions are for the main thread, except cow_table_drop, which any thread
 * may call: the server also frees values in a background thread.  See cow_table.c. */
#ifndef TAMIS_REDIS_TABLES_COW_TABLE_H
#define TAMIS_REDIS_TABLES_COW_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Operations on the body of a table. */
struct cow_table_kind {
    void *(*copy)(const void *body);             /* NULL: out of memory */
    bool (*unite)(void *into, const void *from); /* same shape; false: out of memory */
    void (*free)(void *body);
    size_t (*bytes)(const void *body);
};

struct cow_table_part;

struct cow_table {
    const struct cow_table_kind *kind;
    _Atomic(void *) body; /* NULL: a union of `parts` that is not built yet */
    atomic_uint owners;
    bool making; /* the union is being built */
    union {
        struct cow_table *spare;      /* a copy for the next write, or NULL */
        struct cow_table_part *parts; /* if body is NULL */
    } ahead;
};

/* Call once, from the main thread; opens the worker as well.  False if the system
 * refuses. */
bool cow_table_open(void);

/* Takes over the body.  If memory runs out, frees it and returns NULL. */
struct cow_table *cow_table_new(const struct cow_table_kind *kind, void *body);
/* A copy with one owner; NULL if memory runs out. */
struct cow_table *cow_table_copy(struct cow_table *s);
/* Adds an owner. */
struct cow_table *cow_table_take(struct cow_table *s);
/* Removes an owner; the last one frees the table.  `s` may be NULL. */
void cow_table_drop(struct cow_table *s);

/* Replaces the table in `*place` by its union with `other`, which keeps its owners.  False, and
 * nothing changes, if memory runs out. */
bool cow_table_unite(struct cow_table **place, struct cow_table *other);

/* A body of the same shape, without building anything: the table's own, or that of a part. */
const void *cow_table_sample(struct cow_table *s);

/* Returns whether the table can be read, or with `change` written, without copying or uniting. */
bool cow_table_is_ready(const struct cow_table *s, bool change);
/* Queues the copy or union that the next command may need. */
void cow_table_prepare(struct cow_table *s);

/* The slow paths of cow_table_look and cow_table_own. */
const void *cow_table_make(struct cow_table *s);
void *cow_table_part_from(struct cow_table **place);

static inline bool cow_table_is_own(struct cow_table *s) {
    return atomic_load_explicit(&s->owners, memory_order_acquire) == 1;
}

/* The body for reading; NULL if memory runs out while building it. */
static inline const void *cow_table_look(struct cow_table *s) {
    const void *body = atomic_load_explicit(&s->body, memory_order_acquire);
    return body != NULL ? body : cow_table_make(s);
}

/* The body for writing, with this filter as its sole owner; NULL if memory runs out. */
static inline void *cow_table_own(struct cow_table **place) {
    if (cow_table_is_own(*place)) {
        void *body = atomic_load_explicit(&(*place)->body, memory_order_acquire);
        if (body != NULL) return body;
    }
    return cow_table_part_from(place);
}

/* The number of unions that the main thread could not build because memory ran out.
 * Queries of such a table return "possibly in the set"; if this number has grown, do not treat that
 * as "present". */
size_t cow_table_failures(void);

/* Bytes of tables copied, united or freed: by commands, and by the worker or another thread. */
struct cow_table_work {
    size_t commands, background;
};
struct cow_table_work cow_table_work(void);

#endif
