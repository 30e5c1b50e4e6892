/* served.c - a filter that was built elsewhere, to be asked
 *
 * A .tamis file comes in chunks, in order, into memory of its full length.  When the last is
 * there the file is checked, its checksums included, and takes the place of the one before,
 * which has answered until then.  The filter is a view of these bytes: nothing is copied.
 *
 * Only files whose keys are plain bytes can be served: a filter of hashes has no way from an
 * item to its hash, and one of numbers or of folded text would need what the `tamis` command does
 * to a record before it is a key. */
#include "served.h"

#include <string.h>

#include "census.h"
#include "memory.h"

/* What only says where in a record the key is does not change the key. */
#define HARMLESS_FORM TAMIS_KEY_STRIP_CR

struct served *served_create(void) {
    struct served *s = memory_zeroed(sizeof *s);
    if (s != NULL) census_born(CENSUS_SERVED);
    return s;
}

static void drop_filter(struct served *s) {
    tamis_free(s->filter);
    memory_free(s->bytes);
    s->filter = NULL;
    s->bytes = NULL;
    s->length = 0;
}

void served_abort(struct served *s) {
    memory_free(s->staged);
    s->staged = NULL;
    s->total = s->received = 0;
}

void served_free(struct served *s) {
    if (s == NULL) return;
    census_died(CENSUS_SERVED);
    drop_filter(s);
    served_abort(s);
    memory_free(s);
}

size_t served_bytes(const struct served *s) {
    return sizeof *s + (size_t)s->length + (s->staged == NULL ? 0 : (size_t)s->total);
}

/* ---- a file comes */

bool served_begin(struct served *s, uint64_t total) {
    served_abort(s);
    if (total == 0 || total > SERVED_MOST) return false;
    s->staged = memory_alloc((size_t)total);
    if (s->staged != NULL) s->total = total;
    return s->staged != NULL;
}

void served_append(struct served *s, const void *bytes, size_t length) {
    memcpy(s->staged + s->received, bytes, length);
    s->received += length;
}

/* NULL, or why this filter cannot be asked for items. */
static const char *why_not(const tamis_filter *f) {
    tamis_facts facts = TAMIS_FACTS_INIT;
    if (tamis_info(f, &facts) != TAMIS_OK) return "ERR the filter cannot be read";
    if (facts.hasher == TAMIS_HASH_NONE || facts.key_bytes != 0 ||
        (facts.form.flags & ~(uint32_t)HARMLESS_FORM) != 0 || facts.form.type != TAMIS_KEY_BYTES) {
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

const char *served_finish(struct served *s, const uint8_t *secret) {
    struct served next = {.bytes = s->staged, .length = s->total, .keyed = secret != NULL};
    tamis_open_options open = TAMIS_OPEN_INIT;
    open.format = "tamis";
    open.secret = secret;
    open.allocator = memory_allocator();
    const tamis_status status = tamis_view(next.bytes, (size_t)next.length, &open, &next.filter);
    const char *wrong = status == TAMIS_OK ? why_not(next.filter) : status_error(status);
    if (wrong != NULL) {
        tamis_free(next.filter);
        served_abort(s);
        return wrong;
    }
    if (secret != NULL) memcpy(s->secret, secret, sizeof s->secret);
    s->keyed = next.keyed;
    drop_filter(s);
    s->filter = next.filter;
    s->bytes = next.bytes;
    s->length = next.length;
    s->staged = NULL;
    s->total = s->received = 0;
    return NULL;
}

struct served *served_copy(const struct served *from) {
    struct served *s = served_create();
    if (s == NULL) return NULL;
    bool good = true;
    if (from->filter != NULL) {
        good = served_begin(s, from->length);
        if (good) served_append(s, from->bytes, (size_t)from->length);
        good = good && served_finish(s, from->keyed ? from->secret : NULL) == NULL;
    }
    if (good && from->staged != NULL) {
        good = served_begin(s, from->total);
        if (good) served_append(s, from->staged, (size_t)from->received);
    }
    if (good) return s;
    served_free(s);
    return NULL;
}
