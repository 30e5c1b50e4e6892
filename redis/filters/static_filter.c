/* static_filter.c - a filter built elsewhere and loaded for queries
 *
 * A .tamis file is loaded in chunks, in order, into memory of its full length.  After the last
 * chunk the file is verified, checksums included, and replaces the previous one, which is queried
 * until then. The filter is a view of these bytes: nothing is copied.
 *
 * Verifying a hundred megabytes takes tens of milliseconds.  The worker does it while the client
 * that sent the last chunk waits (tamis_commands.c): the last bytes are in place, but do not count
 * as received, so any other command finds an upload without its last chunk.
 *
 * Only filters with plain bytes as keys are accepted: a filter of hashes cannot hash an item, and
 * numbers or folded text would need the normalisation that the `tamis` command applies to records.
 */
#include "filters/static_filter.h"

#include <string.h>

#include "server/live_counts.h"
#include "server/memory.h"
#include "server/worker.h"

/* Key options that select the key within a record do not change the key. */
#define HARMLESS_FORM TAMIS_KEY_STRIP_CR

/* A file in memory.  `filter` and `facts` are set when it has been verified. */
struct file {
    uint8_t *bytes;
    uint64_t length;
    bool keyed; /* the secret for verification */
    uint8_t secret[TAMIS_SECRET_BYTES];
    bool given;          /* queued for the worker */
    atomic_bool checked; /* `wrong`, `filter` and `facts` are set */
    const char *wrong;   /* NULL: valid */
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

/* Files are never changed once they are shared, so no copy is needed. */
static const struct cow_table_kind file_kind = {.free = file_free, .bytes = file_bytes};

static struct file *file_of(struct cow_table *s) { return (struct file *)cow_table_look(s); }

static struct cow_table *file_open(uint64_t length) {
    struct file *f = memory_zeroed(sizeof *f);
    if (f == NULL) return NULL;
    f->bytes = memory_alloc((size_t)length);
    f->length = length;
    if (f->bytes != NULL) return cow_table_new(&file_kind, f);
    memory_free(f);
    return NULL;
}

/* ---- creating and freeing */

struct static_filter *static_filter_create(void) {
    struct static_filter *s = memory_zeroed(sizeof *s);
    if (s != NULL) live_count_change(LIVE_STATIC, 1);
    return s;
}

/* Queries use this file from now on; the filter takes over its owner. */
static void use_file(struct static_filter *s, struct cow_table *file) {
    const struct file *f = file_of(file);
    cow_table_drop(s->file);
    s->file = file;
    s->filter = f->filter;
    s->facts = &f->facts;
    s->bytes = f->bytes;
    s->length = f->length;
    s->keyed = f->keyed;
    memcpy(s->secret, f->secret, sizeof s->secret);
}

static void forget_upload(struct static_filter *s) {
    s->upload = NULL;
    s->staged = NULL;
    s->total = s->received = 0;
}

void static_filter_abort(struct static_filter *s) {
    cow_table_drop(s->upload);
    forget_upload(s);
}

void static_filter_free(void *filter) {
    struct static_filter *s = filter;
    if (s == NULL) return;
    live_count_change(LIVE_STATIC, -1);
    cow_table_drop(s->file);
    static_filter_abort(s);
    memory_free(s);
}

size_t static_filter_bytes(const struct static_filter *s) {
    return sizeof *s + (size_t)s->length + (s->staged == NULL ? 0 : (size_t)s->total);
}

/* ---- a file comes */

bool static_filter_begin(struct static_filter *s, uint64_t total) {
    static_filter_abort(s);
    if (total == 0 || total > STATIC_MAX || total > SIZE_MAX / 2) return false;
    s->upload = file_open(total);
    if (s->upload == NULL) return false;
    s->staged = file_of(s->upload)->bytes;
    s->total = total;
    return true;
}

/* Discards the result of an early check, because other last bytes have arrived. */
static void uncheck(struct file *f) {
    tamis_free(f->filter);
    f->filter = NULL;
    f->given = false;
    atomic_store_explicit(&f->checked, false, memory_order_relaxed);
}

void static_filter_give_back(struct static_filter *s) {
    struct file *f = s->upload == NULL ? NULL : file_of(s->upload);
    if (f != NULL && cow_table_is_own(s->upload)) {
        uncheck(f);
        memory_free(f->bytes);
        f->bytes = NULL;
        f->length = 0;
    }
    static_filter_abort(s);
}

void static_filter_append(struct static_filter *s, const void *bytes, size_t length) {
    struct file *f = file_of(s->upload);
    const bool there = f->given && s->received + length == s->total &&
                       memcmp(s->staged + s->received, bytes, length) == 0;
    if (!there && f->given) uncheck(f);
    if (!there) memcpy(s->staged + s->received, bytes, length);
    s->received += length;
}

/* NULL, or why this filter cannot be queried for items. */
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
            return "ERR the SECRET does not match the filter";
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

/* Runs in any thread; no other uses the file meanwhile. */
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

const char *static_filter_finish(struct static_filter *s, const uint8_t *secret) {
    struct file *f = file_of(s->upload);
    if (f->given && !same_secret(f, secret)) uncheck(f);
    if (!f->given) {
        keep_secret(f, secret);
        check(f);
    }
    if (f->wrong != NULL) {
        const char *wrong = f->wrong;
        static_filter_abort(s);
        return wrong;
    }
    use_file(s, s->upload);
    forget_upload(s);
    return NULL;
}

/* ---- the check ahead */

static void check_in_worker(void *object) {
    struct cow_table *upload = object;
    check(file_of(upload));
    cow_table_drop(upload);
}

void static_filter_check(struct static_filter *s, const void *bytes, size_t length,
                         const uint8_t *secret) {
    struct file *f = file_of(s->upload);
    if (f->given) uncheck(f);
    memcpy(s->staged + s->received, bytes, length);
    keep_secret(f, secret);
    f->given = true;
    worker_give(check_in_worker, cow_table_take(s->upload));
}

static bool is_checked(const struct file *f) {
    return atomic_load_explicit(&f->checked, memory_order_acquire);
}

bool static_filter_is_checking(const struct static_filter *s) {
    const struct file *f = s->upload == NULL ? NULL : file_of(s->upload);
    return f != NULL && f->given && !is_checked(f);
}

bool static_filter_is_checked(const struct static_filter *s, const void *bytes, size_t length,
                              const uint8_t *secret) {
    const struct file *f = s->upload == NULL ? NULL : file_of(s->upload);
    return f != NULL && f->given && is_checked(f) && same_secret(f, secret) &&
           s->received + length == s->total && memcmp(s->staged + s->received, bytes, length) == 0;
}

/* ---- copying */

struct static_filter *static_filter_copy(const struct static_filter *from) {
    struct static_filter *s = static_filter_create();
    if (s == NULL) return NULL;
    if (from->file != NULL) use_file(s, cow_table_take(from->file));
    if (from->upload == NULL) return s;
    if (static_filter_begin(s, from->total)) {
        static_filter_append(s, from->staged, (size_t)from->received);
        return s;
    }
    static_filter_free(s);
    return NULL;
}
