/* cow_table.c - copy-on-write tables, shared between filters
 *
 *     filter a   [ ][ ][ ]              COPY a b: b gets the same tables
 *                 |  |  |
 *                 T  T  T <- spare      a spare copy of each, made by the worker
 *                 |  |  |
 *     filter b   [ ][ ][ ]              the first write to a shared table takes the spare
 *
 *     filter d   [U][U][ ]              BF.MERGE d s: a union of two tables, not built yet; where d
 *                / \/ \                 has no table it shares that of s
 *               T  T   T
 *
 * Writes.  Only a sole owner changes a table.  A shared table never changes: an owner that writes
 * replaces it by a copy of its own.  The worker makes one copy ahead for each shared table, the
 * spare, and another when that is taken.
 *
 * Unions.  A union is built once, by the worker or by the first command that needs it; then its
 * parts are dropped.  If the first part (the destination's previous table) has no other owner, it
 * is not copied.  Parts always have a body: unions are not nested, but extended as long as they
 * have one owner.
 *
 * Threads.  The main thread adds owners and uses tables; the worker copies and
 * unites tables that it owns itself; any thread drops.  The mutex guards `ahead`, `making` and the
 * decrease of `owners`.  A body is published once and read without the lock.  A sole owner may
 * change the table without the lock, because only owners add owners.
 *
 * Accounting.  Each filter counts its tables as if they were not shared, as they soon will be: the
 * reported memory is never less than it will become. */
#include "tables/cow_table.h"

#include <pthread.h>
#include <stdint.h>

#include "server/memory.h"
#include "server/worker.h"

#define SMALL 65536 /* bytes; smaller tables are copied and freed at once */

struct cow_table_part {
    struct cow_table_part *next;
    struct cow_table *table;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;
static unsigned unions; /* being built; guarded by the lock */

/* ---- forks: see worker.c
 *
 * The child has no worker, so a half-built union would never be finished there: a fork waits for
 * it, a few milliseconds.  Half-done copies and frees have no owner in the child. */

static void before_fork(void) {
    pthread_mutex_lock(&lock);
    while (unions != 0) pthread_cond_wait(&made, &lock);
}
static void after_fork(void) { pthread_mutex_unlock(&lock); }

bool cow_table_open(void) {
    return pthread_atfork(before_fork, after_fork, after_fork) == 0 && worker_open();
}

/* ---- statistics */

static atomic_size_t commands, background;

static void note(size_t bytes) {
    atomic_fetch_add_explicit(worker_is_main_thread() ? &commands : &background, bytes,
                              memory_order_relaxed);
}

struct cow_table_work cow_table_work(void) {
    return (struct cow_table_work){
        .commands = atomic_load_explicit(&commands, memory_order_relaxed),
        .background = atomic_load_explicit(&background, memory_order_relaxed)};
}

/* ---- creating and freeing */

static void *body_of(const struct cow_table *s) {
    return atomic_load_explicit(&s->body, memory_order_acquire);
}

static bool is_small(const struct cow_table *s) { return s->kind->bytes(body_of(s)) < SMALL; }

struct cow_table *cow_table_new(const struct cow_table_kind *kind, void *body) {
    struct cow_table *s = body == NULL ? NULL : memory_zeroed(sizeof *s);
    if (s == NULL) {
        if (body != NULL) kind->free(body);
        return NULL;
    }
    s->kind = kind;
    atomic_init(&s->body, body);
    atomic_init(&s->owners, 1);
    return s;
}

struct cow_table *cow_table_copy(struct cow_table *s) {
    const void *body = cow_table_look(s);
    if (body == NULL) return NULL;
    note(s->kind->bytes(body));
    return cow_table_new(s->kind, s->kind->copy(body));
}

struct cow_table *cow_table_take(struct cow_table *s) {
    atomic_fetch_add_explicit(&s->owners, 1, memory_order_relaxed);
    return s;
}

/* Frees a table without owners that has a body. */
static void free_table(void *object) {
    struct cow_table *s = object;
    void *body = body_of(s);
    note(s->kind->bytes(body));
    s->kind->free(body);
    memory_free(s);
}

static void discard(struct cow_table *s) {
    if (is_small(s)) {
        free_table(s);
    } else {
        worker_free(free_table, s);
    }
}

static void drop_parts(struct cow_table_part *part) {
    while (part != NULL) {
        struct cow_table_part *next = part->next;
        cow_table_drop(part->table);
        memory_free(part);
        part = next;
    }
}

/* A sole owner needs no spare.  If the server evicts keys at maxmemory, dropping one of many owners
 * must free memory too, or the server evicts all of them. */
void cow_table_drop(struct cow_table *s) {
    if (s == NULL) return;
    struct cow_table *spare = NULL;
    const bool give_back = !cow_table_is_own(s) && worker_is_main_thread() && memory_is_short();
    pthread_mutex_lock(&lock);
    const unsigned left = atomic_fetch_sub_explicit(&s->owners, 1, memory_order_acq_rel) - 1;
    const bool whole = body_of(s) != NULL;
    if (whole && (left <= 1 || give_back)) {
        spare = s->ahead.spare;
        s->ahead.spare = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (spare != NULL) discard(spare);
    if (left != 0) return;
    if (whole) {
        discard(s);
    } else {
        drop_parts(s->ahead.parts);
        memory_free(s);
    }
}

/* ---- unions */

/* The body of the first part if it has no other owner, else a copy. */
static void *first_body(struct cow_table *first) {
    if (!cow_table_is_own(first)) {
        note(first->kind->bytes(body_of(first)));
        return first->kind->copy(body_of(first));
    }
    return body_of(first);
}

/* The union of two or more parts; NULL if memory runs out.  Sets `*taken` if it is the body of the
 * first part. */
static void *unite_parts(const struct cow_table_part *parts, bool *taken) {
    const struct cow_table_kind *kind = parts->table->kind;
    void *body = first_body(parts->table);
    *taken = body == body_of(parts->table);
    for (const struct cow_table_part *p = parts->next; p != NULL && body != NULL; p = p->next) {
        note(kind->bytes(body));
        if (kind->unite(body, body_of(p->table))) continue;
        if (!*taken) kind->free(body);
        body = NULL;
    }
    return body;
}

/* Frees the first part, whose body now belongs to the union. */
static struct cow_table_part *without_first(struct cow_table_part *parts) {
    struct cow_table_part *rest = parts->next;
    memory_free(parts->table);
    memory_free(parts);
    return rest;
}

static size_t failures; /* used by the main thread */

size_t cow_table_failures(void) { return failures; }

const void *cow_table_make(struct cow_table *s) {
    pthread_mutex_lock(&lock);
    while (s->making) pthread_cond_wait(&made, &lock);
    void *body = body_of(s);
    s->making = body == NULL;
    unions += s->making;
    struct cow_table_part *parts = body == NULL ? s->ahead.parts : NULL;
    pthread_mutex_unlock(&lock);
    if (body != NULL) return body;
    bool taken;
    body = unite_parts(parts, &taken);
    pthread_mutex_lock(&lock);
    if (body != NULL) {
        s->ahead.spare = NULL;
        atomic_store_explicit(&s->body, body, memory_order_release);
    }
    s->making = false;
    unions--;
    pthread_cond_broadcast(&made);
    pthread_mutex_unlock(&lock);
    if (body != NULL) {
        drop_parts(taken ? without_first(parts) : parts);
    } else if (worker_is_main_thread()) {
        failures++;
    }
    return body;
}

static struct cow_table_part *part_of(struct cow_table *table) {
    struct cow_table_part *part = memory_alloc(sizeof *part);
    if (part != NULL) *part = (struct cow_table_part){.table = table};
    return part;
}

/* A union of the table and another part.  It takes over the caller's share of the table. */
static struct cow_table *union_of(struct cow_table *table, struct cow_table_part *other) {
    struct cow_table_part *first = part_of(table);
    struct cow_table *s = first == NULL ? NULL : memory_zeroed(sizeof *s);
    if (s == NULL) {
        memory_free(first);
        return NULL;
    }
    first->next = other;
    s->kind = table->kind;
    atomic_init(&s->body, NULL);
    atomic_init(&s->owners, 1);
    s->ahead.parts = first;
    return s;
}

bool cow_table_unite(struct cow_table **place, struct cow_table *other) {
    struct cow_table *s = *place;
    if (s == other) return true;
    if (cow_table_look(other) == NULL) return false;
    const bool longer = body_of(s) == NULL && cow_table_is_own(s);
    if (!longer && cow_table_look(s) == NULL) return false;
    struct cow_table_part *part = part_of(other);
    if (part == NULL) return false;
    if (longer) { /* the worker is not an owner, so it does not use the parts yet */
        struct cow_table_part *end = s->ahead.parts;
        while (end->next != NULL) end = end->next;
        end->next = part;
    } else {
        struct cow_table *both = union_of(s, part);
        if (both == NULL) {
            memory_free(part);
            return false;
        }
        *place = both;
    }
    cow_table_take(other);
    return true;
}

/* Only a sole owner reads the parts: otherwise the worker may be dropping them. */
const void *cow_table_sample(struct cow_table *s) {
    const bool parts = body_of(s) == NULL && cow_table_is_own(s);
    return parts ? body_of(s->ahead.parts->table) : cow_table_look(s);
}

/* ---- copies */

bool cow_table_is_ready(const struct cow_table *s, bool change) {
    if (body_of(s) == NULL) return false;
    if (!change || is_small(s)) return true;
    pthread_mutex_lock(&lock);
    const bool ready = atomic_load(&s->owners) == 1 || s->ahead.spare != NULL;
    pthread_mutex_unlock(&lock);
    return ready;
}

/* Returns whether a table of which the worker is an owner needs a spare. */
static bool lacks_spare(struct cow_table *s) {
    pthread_mutex_lock(&lock);
    const bool lacks = atomic_load(&s->owners) > 2 && s->ahead.spare == NULL;
    pthread_mutex_unlock(&lock);
    return lacks;
}

/* Runs in the worker. */
static void make_ahead(void *object) {
    struct cow_table *s = object;
    struct cow_table *spare = NULL;
    if (cow_table_look(s) != NULL && lacks_spare(s)) spare = cow_table_copy(s);
    pthread_mutex_lock(&lock);
    if (spare != NULL && atomic_load(&s->owners) > 2 && s->ahead.spare == NULL) {
        s->ahead.spare = spare;
        spare = NULL;
    }
    pthread_mutex_unlock(&lock);
    cow_table_drop(spare);
    cow_table_drop(s);
}

void cow_table_prepare(struct cow_table *s) {
    const bool whole = body_of(s) != NULL;
    if (whole && (is_small(s) || cow_table_is_own(s))) return;
    worker_give(make_ahead, cow_table_take(s));
}

void *cow_table_part_from(struct cow_table **place) {
    struct cow_table *s = *place;
    if (cow_table_look(s) == NULL) return NULL;
    if (cow_table_is_own(s)) return body_of(s);
    pthread_mutex_lock(&lock);
    struct cow_table *own = s->ahead.spare;
    s->ahead.spare = NULL;
    pthread_mutex_unlock(&lock);
    if (own == NULL) own = cow_table_copy(s);
    if (own == NULL) return NULL;
    *place = own;
    if (atomic_load(&s->owners) > 2) cow_table_prepare(s);
    cow_table_drop(s);
    return body_of(own);
}
