/* served.c - a filter that was built elsewhere, to be asked
 *
 * A .tamis file comes in chunks, in order, into memory of its full length.  When the last is
 * there the file is checked, its checksums included, and takes the place of the one before,
 * which has answered until then.  The filter is a view of these bytes: nothing is copied.
 *
 * To check a hundred megabytes takes tens of milliseconds.  So the worker does it, while the
 * client who sent the last chunk waits (served_commands.c): the last bytes are in place then but
 * do not count as received, and whatever is done to the key meanwhile finds an upload that
 * lacks its last chunk.
 *
 * Only files whose keys are plain bytes can be served: a filter of hashes has no way from an
 * item to its hash, and one of numbers or of folded text would need what the `tamis` command does
 * to a record before it is a key. */
#include "served.h"

#include <string.h>

#include "census.h"
#include "memory.h"
#include "worker.h"

/* What only says where in a record the key is does not change the key. */
#define HARMLESS_FORM TAMIS_KEY_STRIP_CR

/* A file in memory; `filter` and all below are there when it has been checked. */
struct file {
    uint8_t *bytes;
    uint64_t length;
    bool keyed; /* the secret that it was, or is being, checked with */
    uint8_t secret[TAMIS_SECRET_BYTES];
    bool given;          /* to the worker */
    atomic_bool checked; /* what follows is true */
    const char *wrong;   /* NULL: nothing */
    tamis_filter *filter;
    tamis_facts facts;
};

static void file_free(void *body) {
    struct file *f = body;
    tamis_free(f->filter);
    memory_free(f->bytes);
    memory_free(f);
}

static size_t file_bytes(const void *body) { return (size_t)((const struct file *)body)->length; }

/* Files are never changed once they are shared, so nobody needs a copy. */
static const struct shared_kind file_kind = {.free = file_free, .bytes = file_bytes};

static struct file *file_of(struct shared *s) { return (struct file *)shared_look(s); }

static struct shared *file_open(uint64_t length) {
    struct file *f = memory_zeroed(sizeof *f);
    if (f == NULL) return NULL;
    f->bytes = memory_alloc((size_t)length);
    f->length = length;
    if (f->bytes != NULL) return shared_new(&file_kind, f);
    memory_free(f);
    return NULL;
}

/* ---- life */

struct served *served_create(void) {
    struct served *s = memory_zeroed(sizeof *s);
    if (s != NULL) census_born(CENSUS_SERVED);
    return s;
}

/* Asks this file from now on, which becomes the key's. */
static void serve(struct served *s, struct shared *file) {
    const struct file *f = file_of(file);
    shared_drop(s->file);
    s->file = file;
    s->filter = f->filter;
    s->facts = &f->facts;
    s->bytes = f->bytes;
    s->length = f->length;
    s->keyed = f->keyed;
    memcpy(s->secret, f->secret, sizeof s->secret);
}

static void forget_coming(struct served *s) {
    s->coming = NULL;
    s->staged = NULL;
    s->total = s->received = 0;
}

void served_abort(struct served *s) {
    shared_drop(s->coming);
    forget_coming(s);
}

void served_free(struct served *s) {
    if (s == NULL) return;
    census_died(CENSUS_SERVED);
    shared_drop(s->file);
    served_abort(s);
    memory_free(s);
}

size_t served_bytes(const struct served *s) {
    return sizeof *s + (size_t)s->length + (s->staged == NULL ? 0 : (size_t)s->total);
}

/* ---- a file comes */

bool served_begin(struct served *s, uint64_t total) {
    served_abort(s);
    if (total == 0 || total > SERVED_MOST || total > SIZE_MAX / 2) return false;
    s->coming = file_open(total);
    if (s->coming == NULL) return false;
    s->staged = file_of(s->coming)->bytes;
    s->total = total;
    return true;
}

/* Forgets what a check ahead has found, since the last bytes come otherwise. */
static void uncheck(struct file *f) {
    tamis_free(f->filter);
    f->filter = NULL;
    f->given = false;
    atomic_store_explicit(&f->checked, false, memory_order_relaxed);
}

void served_give_back(struct served *s) {
    struct file *f = s->coming == NULL ? NULL : file_of(s->coming);
    if (f != NULL && shared_is_own(s->coming)) {
        uncheck(f);
        memory_free(f->bytes);
        f->bytes = NULL;
        f->length = 0;
    }
    served_abort(s);
}

void served_append(struct served *s, const void *bytes, size_t length) {
    struct file *f = file_of(s->coming);
    const bool there = f->given && s->received + length == s->total &&
                       memcmp(s->staged + s->received, bytes, length) == 0;
    if (!there && f->given) uncheck(f);
    if (!there) memcpy(s->staged + s->received, bytes, length);
    s->received += length;
}

/* NULL, or why this filter cannot be asked for items. */
static const char *why_not(const tamis_filter *f, tamis_facts *facts) {
    if (tamis_info(f, facts) != TAMIS_OK) return "ERR the filter cannot be read";
    if (facts->hasher == TAMIS_HASH_NONE || facts->key_bytes != 0 ||
        (facts->form.flags & ~(uint32_t)HARMLESS_FORM) != 0 ||
        facts->form.type != TAMIS_KEY_BYTES) {
        return "ERR the keys of this filter are not plain bytes";
    }
    return NULL;
}

static const char *status_error(tamis_status status) {
    switch (status) {
        case TAMIS_E_SECRET:
            return "ERR the filter is keyed and needs its SECRET";
        case TAMIS_E_WRONG_SECRET:
            return "ERR the SECRET is not the one that the filter was made with";
        case TAMIS_E_NOMEM:
            return "ERR Insufficient memory";
        case TAMIS_E_CHECKSUM:
            return "ERR a checksum does not match: the file is damaged";
        default:
            return "ERR this is not a .tamis file";
    }
}

static void keep_secret(struct file *f, const uint8_t *secret) {
    f->keyed = secret != NULL;
    if (secret != NULL) memcpy(f->secret, secret, sizeof f->secret);
}

/* Any thread: nobody else touches the file meanwhile. */
static void check(struct file *f) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    open.format = "tamis";
    open.secret = f->keyed ? f->secret : NULL;
    open.allocator = memory_allocator();
    const tamis_status status = tamis_view(f->bytes, (size_t)f->length, &open, &f->filter);
    f->facts = (tamis_facts)TAMIS_FACTS_INIT;
    f->wrong = status == TAMIS_OK ? why_not(f->filter, &f->facts) : status_error(status);
    atomic_store_explicit(&f->checked, true, memory_order_release);
}

static bool same_secret(const struct file *f, const uint8_t *secret) {
    return f->keyed == (secret != NULL) &&
           (secret == NULL || memcmp(f->secret, secret, sizeof f->secret) == 0);
}

const char *served_finish(struct served *s, const uint8_t *secret) {
    struct file *f = file_of(s->coming);
    if (f->given && !same_secret(f, secret)) uncheck(f);
    if (!f->given) {
        keep_secret(f, secret);
        check(f);
    }
    if (f->wrong != NULL) {
        const char *wrong = f->wrong;
        served_abort(s);
        return wrong;
    }
    serve(s, s->coming);
    forget_coming(s);
    return NULL;
}

/* ---- the check ahead */

static void check_behind(void *object) {
    struct shared *coming = object;
    check(file_of(coming));
    shared_drop(coming);
}

void served_check(struct served *s, const void *bytes, size_t length, const uint8_t *secret) {
    struct file *f = file_of(s->coming);
    if (f->given) uncheck(f);
    memcpy(s->staged + s->received, bytes, length);
    keep_secret(f, secret);
    f->given = true;
    worker_give(check_behind, shared_take(s->coming));
}

static bool is_checked(const struct file *f) {
    return atomic_load_explicit(&f->checked, memory_order_acquire);
}

bool served_is_checking(const struct served *s) {
    const struct file *f = s->coming == NULL ? NULL : file_of(s->coming);
    return f != NULL && f->given && !is_checked(f);
}

bool served_is_checked(const struct served *s, const void *bytes, size_t length,
                       const uint8_t *secret) {
    const struct file *f = s->coming == NULL ? NULL : file_of(s->coming);
    return f != NULL && f->given && is_checked(f) && same_secret(f, secret) &&
           s->received + length == s->total && memcmp(s->staged + s->received, bytes, length) == 0;
}

/* ---- copying */

struct served *served_copy(const struct served *from) {
    struct served *s = served_create();
    if (s == NULL) return NULL;
    if (from->file != NULL) serve(s, shared_take(from->file));
    if (from->coming == NULL) return s;
    if (served_begin(s, from->total)) {
        served_append(s, from->staged, (size_t)from->received);
        return s;
    }
    served_free(s);
    return NULL;
}
