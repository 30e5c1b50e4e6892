/* shared.c - tables that several filters may have
 *
 *     filter a   [ ][ ][ ]              COPY a b: b gets the same tables
 *                 |  |  |
 *                 T  T  T <- spare      a spare copy of each, made by the worker
 *                 |  |  |
 *     filter b   [ ][ ][ ]              who changes a table takes the spare, and is alone again
 *
 *     filter d   [U][U][ ]              BF.MERGE d s: a union of two tables that is still to be
 *                / \/ \                 made; where d has no table it shares that of s
 *               T  T   T
 *
 * Changing.  A table is changed by its only owner alone.  With others it stays as it is for ever:
 * an owner who has to change it puts a copy of his own in its place.  The worker makes one such
 * copy ahead for every table that is shared, the spare, and another when that was taken.
 *
 * Unions.  A union is made once, by the worker or by the first who needs it; then its parts are
 * dropped.  If nobody else has the first part (the destination's own table of before) it is not
 * copied.  Parts always have a body: unions are not nested, but lengthened as long as they
 * are nobody else's.
 *
 * Threads.  Owners are added and tables are asked for by the thread that serves commands; the
 * worker copies and unites what it is an owner of itself, or a union of such; any thread drops. The
 * mutex guards `ahead`, `making` and the decrease of `owners`.  A body is published once, and read
 * without the lock.  An owner who sees that he is the only one may change the table without
 * the lock too, since only an owner makes more.
 *
 * What it counts as.  Each filter reckons with its tables as if they were its own, as they soon
 * are: memory is never told to be less than it will be. */
#include "shared.h"

#include <pthread.h>
#include <stdint.h>

#include "memory.h"
#include "worker.h"

#define SMALL 65536 /* bytes: what is less is copied and freed in no time */

struct shared_part {
    struct shared_part *next;
    struct shared *table;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;
static unsigned unions; /* guarded: that are being made */

/* ---- forks: see worker.c
 *
 * A union that is half made would never be made in the child, which has no worker: a fork waits for
 * it, some milliseconds.  A copy or a free that is half done is nobody's there. */

static void before_fork(void) {
    pthread_mutex_lock(&lock);
    while (unions != 0) pthread_cond_wait(&made, &lock);
}
static void after_fork(void) { pthread_mutex_unlock(&lock); }

bool shared_open(void) {
    return pthread_atfork(before_fork, after_fork, after_fork) == 0 && worker_open();
}

/* ---- what was done */

static atomic_size_t waited, behind;

static void note(size_t bytes) {
    atomic_fetch_add_explicit(worker_serves() ? &waited : &behind, bytes, memory_order_relaxed);
}

struct shared_work shared_work(void) {
    return (struct shared_work){.waited = atomic_load_explicit(&waited, memory_order_relaxed),
                                .behind = atomic_load_explicit(&behind, memory_order_relaxed)};
}

/* ---- life */

static void *body_of(const struct shared *s) {
    return atomic_load_explicit(&s->body, memory_order_acquire);
}

static bool is_small(const struct shared *s) { return s->kind->bytes(body_of(s)) < SMALL; }

struct shared *shared_new(const struct shared_kind *kind, void *body) {
    struct shared *s = body == NULL ? NULL : memory_zeroed(sizeof *s);
    if (s == NULL) {
        if (body != NULL) kind->free(body);
        return NULL;
    }
    s->kind = kind;
    atomic_init(&s->body, body);
    atomic_init(&s->owners, 1);
    return s;
}

struct shared *shared_copy(struct shared *s) {
    const void *body = shared_look(s);
    if (body == NULL) return NULL;
    note(s->kind->bytes(body));
    return shared_new(s->kind, s->kind->copy(body));
}

struct shared *shared_take(struct shared *s) {
    atomic_fetch_add_explicit(&s->owners, 1, memory_order_relaxed);
    return s;
}

/* Frees what nobody has any more, and has a body. */
static void free_table(void *object) {
    struct shared *s = object;
    void *body = body_of(s);
    note(s->kind->bytes(body));
    s->kind->free(body);
    memory_free(s);
}

static void discard(struct shared *s) {
    if (is_small(s)) {
        free_table(s);
    } else {
        worker_free(free_table, s);
    }
}

static void drop_parts(struct shared_part *part) {
    while (part != NULL) {
        struct shared_part *next = part->next;
        shared_drop(part->table);
        memory_free(part);
        part = next;
    }
}

/* A spare is of no use to an only owner.  And where the server evicts keys because it is at its
 * limit of memory, one of many owners must give something back as well, or all of them go. */
void shared_drop(struct shared *s) {
    if (s == NULL) return;
    struct shared *spare = NULL;
    const bool give_back = !shared_is_own(s) && worker_serves() && memory_is_short();
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

/* The body of a first part that nobody else has is taken; else it is copied. */
static void *first_body(struct shared *first) {
    if (!shared_is_own(first)) {
        note(first->kind->bytes(body_of(first)));
        return first->kind->copy(body_of(first));
    }
    return body_of(first);
}

/* The union of the parts, of which there are two at least; NULL if there is no memory.  Sets
 * `*taken` if it is the body of the first one. */
static void *unite_parts(const struct shared_part *parts, bool *taken) {
    const struct shared_kind *kind = parts->table->kind;
    void *body = first_body(parts->table);
    *taken = body == body_of(parts->table);
    for (const struct shared_part *p = parts->next; p != NULL && body != NULL; p = p->next) {
        note(kind->bytes(body));
        if (kind->unite(body, body_of(p->table))) continue;
        if (!*taken) kind->free(body);
        body = NULL;
    }
    return body;
}

/* The object of a part whose body has become that of the union. */
static struct shared_part *without_first(struct shared_part *parts) {
    struct shared_part *rest = parts->next;
    memory_free(parts->table);
    memory_free(parts);
    return rest;
}

static size_t failures; /* for the thread that serves commands */

size_t shared_failures(void) { return failures; }

const void *shared_make(struct shared *s) {
    pthread_mutex_lock(&lock);
    while (s->making) pthread_cond_wait(&made, &lock);
    void *body = body_of(s);
    s->making = body == NULL;
    unions += s->making;
    struct shared_part *parts = body == NULL ? s->ahead.parts : NULL;
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
    } else if (worker_serves()) {
        failures++;
    }
    return body;
}

static struct shared_part *part_of(struct shared *table) {
    struct shared_part *part = memory_alloc(sizeof *part);
    if (part != NULL) *part = (struct shared_part){.table = table};
    return part;
}

/* A union of the table, whose owner becomes the union, and another part. */
static struct shared *union_of(struct shared *table, struct shared_part *other) {
    struct shared_part *first = part_of(table);
    struct shared *s = first == NULL ? NULL : memory_zeroed(sizeof *s);
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

bool shared_unite(struct shared **place, struct shared *other) {
    struct shared *s = *place;
    if (s == other) return true;
    if (shared_look(other) == NULL) return false;
    const bool longer = body_of(s) == NULL && shared_is_own(s);
    if (!longer && shared_look(s) == NULL) return false;
    struct shared_part *part = part_of(other);
    if (part == NULL) return false;
    if (longer) { /* the worker is no owner, so it does not know of it yet */
        struct shared_part *end = s->ahead.parts;
        while (end->next != NULL) end = end->next;
        end->next = part;
    } else {
        struct shared *both = union_of(s, part);
        if (both == NULL) {
            memory_free(part);
            return false;
        }
        *place = both;
    }
    shared_take(other);
    return true;
}

/* The parts are looked at by the only owner, or not at all: the worker may just be dropping them.
 */
const void *shared_like(struct shared *s) {
    const bool parts = body_of(s) == NULL && shared_is_own(s);
    return parts ? body_of(s->ahead.parts->table) : shared_look(s);
}

/* ---- copies */

bool shared_is_ready(const struct shared *s, bool change) {
    if (body_of(s) == NULL) return false;
    if (!change || is_small(s)) return true;
    pthread_mutex_lock(&lock);
    const bool ready = atomic_load(&s->owners) == 1 || s->ahead.spare != NULL;
    pthread_mutex_unlock(&lock);
    return ready;
}

/* Does it lack a spare, the worker being one of its owners? */
static bool lacks_spare(struct shared *s) {
    pthread_mutex_lock(&lock);
    const bool lacks = atomic_load(&s->owners) > 2 && s->ahead.spare == NULL;
    pthread_mutex_unlock(&lock);
    return lacks;
}

/* The worker's part. */
static void make_ahead(void *object) {
    struct shared *s = object;
    struct shared *spare = NULL;
    if (shared_look(s) != NULL && lacks_spare(s)) spare = shared_copy(s);
    pthread_mutex_lock(&lock);
    if (spare != NULL && atomic_load(&s->owners) > 2 && s->ahead.spare == NULL) {
        s->ahead.spare = spare;
        spare = NULL;
    }
    pthread_mutex_unlock(&lock);
    shared_drop(spare);
    shared_drop(s);
}

void shared_prepare(struct shared *s) {
    const bool whole = body_of(s) != NULL;
    if (whole && (is_small(s) || shared_is_own(s))) return;
    worker_give(make_ahead, shared_take(s));
}

void *shared_part_from(struct shared **place) {
    struct shared *s = *place;
    if (shared_look(s) == NULL) return NULL;
    if (shared_is_own(s)) return body_of(s);
    pthread_mutex_lock(&lock);
    struct shared *own = s->ahead.spare;
    s->ahead.spare = NULL;
    pthread_mutex_unlock(&lock);
    if (own == NULL) own = shared_copy(s);
    if (own == NULL) return NULL;
    *place = own;
    if (atomic_load(&s->owners) > 2) shared_prepare(s);
    shared_drop(s);
    return body_of(own);
}
