/* files.c - entry points: bytes and files
 *
 * Bytes become a filter in one step, decode_in_place: a codec makes a filter whose table lies in a
 * block of bytes, and the filter then takes the block over.  tamis_decode, _view and _open differ
 * only in where the block comes from and in who frees it. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "api/api.h"
#include "compat/registry.h"
#include "file/codecs.h"
#include "file/file.h"
#include "file/native.h"
#include "file/save.h"
#include "file/touched.h"
#include "file/update.h"
#include "filter/codec.h"
#include "tamis.h"

/* Maximum bytes that tamis_encode_to writes at once. */
#define STREAM_BYTES ((uint64_t)1 << 20)

uint64_t tamis_encoded_size(const tamis_filter *filter) {
    return tamis__codec_of(filter)->encoded_size(filter);
}

tamis_status tamis_encode(const tamis_filter *filter, void *buffer, size_t capacity,
                          size_t *length) {
    if (length != NULL) *length = 0;
    if (filter == NULL || buffer == NULL) return TAMIS_E_ARGUMENT;
    const uint64_t size = tamis_encoded_size(filter);
    if (capacity < size) return TAMIS_E_BUFFER;
    tamis_status status = tamis__filter_trust(filter);
    if (status != TAMIS_OK) return status;
    tamis__codec_of(filter)->encode(filter, buffer, size);
    status = tamis__seal_verify_bytes(filter, buffer);
    if (status == TAMIS_OK && length != NULL) *length = (size_t)size;
    return status;
}

const void *tamis_encoded(const tamis_filter *filter, size_t *length) {
    assert(filter != NULL && length != NULL);
    const bool there = filter->storage == TAMIS__MAPPED || filter->storage == TAMIS__BORROWED;
    const bool native = filter->settings.codec == NULL && filter->block != NULL;
    *length = there && native ? (size_t)filter->block_bytes : 0;
    return there && native ? filter->block : NULL;
}

tamis_status tamis__open_options_read(const tamis_open_options *options, tamis_open_options *copy) {
    memset(copy, 0, sizeof *copy);
    if (options != NULL && options->struct_size < offsetof(tamis_open_options, map)) {
        return TAMIS_E_ARGUMENT;
    }
    if (options != NULL) {
        memcpy(copy, options,
               options->struct_size < sizeof *copy ? options->struct_size : sizeof *copy);
    }
    if (copy->wait_ms == 0) copy->wait_ms = TAMIS_WAIT_MS;
    if ((copy->allocator.alloc == NULL) != (copy->allocator.free == NULL)) {
        return TAMIS_E_ARGUMENT;
    }
    const bool known = copy->verify >= TAMIS_VERIFY_DEFAULT && copy->verify <= TAMIS_VERIFY_LATER;
    return known ? TAMIS_OK : TAMIS_E_ARGUMENT;
}

/* One filter of a container, with its own copy of the bytes. */
static tamis_status decode_part(const uint8_t *bytes, uint64_t length, const tamis_open_options *o,
                                tamis_filter **out) {
    tamis_container *container;
    if (o->shared) return TAMIS_E_UNSUPPORTED; /* as for all compatible formats */
    tamis_status status = tamis_container_view(bytes, length, o, &container);
    if (status != TAMIS_OK) return status;
    status = tamis__container_pick(container, o->part, out);
    tamis_container_free(container);
    return status;
}

/* A filter whose table stays in `bytes`. */
static tamis_status decode_in_place(const uint8_t *bytes, uint64_t length,
                                    const tamis_open_options *o, tamis_filter **out) {
    if (tamis__container_detect(o->format, bytes, length) != NULL)
        return decode_part(bytes, length, o, out);
    if (o->part != NULL) return TAMIS_E_PART;
    /* Some formats would accept the bytes of a .tamis file, and then miss its keys. */
    const bool native = tamis__native_begins(bytes, length);
    const struct tamis__codec *codec = native              ? &tamis__native
                                       : o->format != NULL ? tamis__codec_find(o->format)
                                                           : tamis__codec_detect(bytes, length);
    if (codec == NULL) {
        const bool known = o->format == NULL || tamis_format_description(o->format) != NULL;
        return known ? TAMIS_E_FORMAT : TAMIS_E_ARGUMENT;
    }
    const struct tamis__settings settings = {.codec = codec == &tamis__native ? NULL : codec,
                                             .shared = o->shared,
                                             .portable = o->portable,
                                             .allocator = o->allocator};
    return codec == &tamis__native ? tamis__native_open(bytes, length, &settings, o, out)
                                   : tamis__compat_decode(bytes, length, &settings, o->format, out);
}

static void drop_bytes(const struct tamis__file *b, const tamis_allocator *a) {
    if (b->storage != TAMIS__BORROWED) tamis__file_close(b, a);
}

/* The filter takes the bytes over.  On failure, and if the filter has made a table of its own, they
 * are dropped now. */
static tamis_status decode_bytes(const struct tamis__file *b, const tamis_open_options *o,
                                 tamis_filter **out) {
    const tamis_status status = decode_in_place(b->bytes, b->length, o, out);
    if (status != TAMIS_OK || (*out)->storage == TAMIS__OWNED) {
        drop_bytes(b, &o->allocator);
        return status;
    }
    (*out)->storage = b->storage;
    (*out)->block = b->bytes;
    (*out)->block_bytes = b->room;
    (*out)->held = b->descriptor + 1;
    tamis__calls_attach(*out); /* by its storage it may be writable now */
    return TAMIS_OK;
}

tamis_status tamis_decode(const void *bytes, size_t length, const tamis_open_options *options,
                          tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_open_options o;
    tamis_status status = tamis__open_options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if (bytes == NULL && length != 0) return TAMIS_E_ARGUMENT;
    o.verify = TAMIS_VERIFY_ALL;
    const struct tamis__file b = {tamis__table_alloc(&o.allocator, length), length, TAMIS__OWNED,
                                  length, -1};
    if (b.bytes == NULL) return TAMIS_E_NOMEM;
    if (length != 0) memcpy(b.bytes, bytes, length);
    return decode_bytes(&b, &o, out);
}

tamis_status tamis_view(const void *bytes, size_t length, const tamis_open_options *options,
                        tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_open_options o;
    const tamis_status status = tamis__open_options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if ((bytes == NULL && length != 0) || (uintptr_t)bytes % 8 != 0) return TAMIS_E_ARGUMENT;
    const struct tamis__file b = {(uint8_t *)(uintptr_t)bytes, length, TAMIS__BORROWED, length, -1};
    return decode_bytes(&b, &o, out);
}

tamis_status tamis_verify(const tamis_filter *filter) {
    if (filter == NULL) return TAMIS_E_ARGUMENT;
    if (!filter->unverified) return TAMIS_OK;
    if (filter->update != NULL) return tamis__update_verify(filter);
    if (filter->touched != NULL) return tamis__touched_verify(filter);
    const bool mapped = filter->storage == TAMIS__MAPPED;
    if (mapped) tamis__file_scan(filter->block, filter->block_bytes, true);
    const tamis_status status = tamis__native_verify(filter->block, filter->block_bytes);
    if (mapped) tamis__file_scan(filter->block, filter->block_bytes, false);
    /* The filter is const, and many threads may read it: this flag is set atomically. */
    bool *compared = &((tamis_filter *)(uintptr_t)filter)->compared;
    if (status == TAMIS_OK) __atomic_store_n(compared, true, __ATOMIC_RELAXED);
    return status;
}

tamis_status tamis_query_status(const tamis_filter *filter) {
    return filter == NULL ? TAMIS_E_ARGUMENT : tamis__touched_status(filter);
}

tamis_status tamis__filter_trust(const tamis_filter *f) {
    if (f->settings.pages != NULL) return TAMIS_E_UNSUPPORTED; /* its tables are not contiguous */
    if (f->seal.set) return tamis__seal_verify(f);
    return __atomic_load_n(&f->compared, __ATOMIC_RELAXED) ? TAMIS_OK : tamis_verify(f);
}

/* Receives the encoded filter as consecutive spans. */
typedef tamis_status span_taker(void *context, const struct tamis__span *spans, size_t count);

static tamis_status encode_bytes(const tamis_filter *f, span_taker *take, void *context) {
    const uint64_t size = tamis_encoded_size(f);
    uint8_t *bytes = tamis__table_alloc(&f->settings.allocator, size);
    if (bytes == NULL) return TAMIS_E_NOMEM;
    tamis__codec_of(f)->encode(f, bytes, size);
    const struct tamis__span whole = {bytes, size};
    tamis_status status = tamis__seal_verify_bytes(f, bytes);
    if (status == TAMIS_OK) status = take(context, &whole, 1);
    tamis__table_free(&f->settings.allocator, bytes, size);
    return status;
}

/* Without a copy of the table, which may be large. */
static tamis_status encode_spans(const tamis_filter *f, span_taker *take, void *context) {
    uint8_t header[TAMIS__HEADER_BYTES];
    struct tamis__span spans[3];
    const uint64_t size = tamis_encoded_size(f) - TAMIS__HEADER_BYTES - f->shape.table_bytes;
    uint8_t *sums = tamis__table_alloc(&f->settings.allocator, size);
    if (sums == NULL) return TAMIS_E_NOMEM;
    tamis__native_spans(f, header, sums, spans);
    tamis_status status = tamis__seal_verify(f); /* of the table that `sums` was made from */
    if (status == TAMIS_OK) status = take(context, spans, 3);
    tamis__table_free(&f->settings.allocator, sums, size);
    return status;
}

static tamis_status encode_to(const tamis_filter *f, span_taker *take, void *context) {
    const tamis_status status = tamis__filter_trust(f);
    if (status != TAMIS_OK) return status;
    const bool one_piece = f->settings.codec == NULL && f->family->export_table == NULL &&
                           f->shape.table_bytes % 8 == 0;
    return one_piece ? encode_spans(f, take, context) : encode_bytes(f, take, context);
}

struct destination {
    const char *path;
    bool replace;
    int old; /* descriptor of the file that it may replace; -1: any */
};

static tamis_status take_to_file(void *context, const struct tamis__span *spans, size_t count) {
    const struct destination *destination = context;
    return tamis__file_save(destination->path, destination->replace, destination->old, spans,
                            count);
}

tamis_status tamis_save(const tamis_filter *filter, const char *path, bool replace) {
    struct destination destination = {path, replace, -1};
    if (filter == NULL || path == NULL) return TAMIS_E_ARGUMENT;
    return encode_to(filter, take_to_file, &destination);
}

struct stream {
    tamis_writer *write;
    void *context;
};

static tamis_status take_to_stream(void *context, const struct tamis__span *spans, size_t count) {
    const struct stream *stream = context;
    for (size_t i = 0; i < count; i++) {
        for (uint64_t at = 0, some; at < spans[i].length; at += some) {
            const uint64_t left = spans[i].length - at;
            some = left < STREAM_BYTES ? left : STREAM_BYTES;
            if (!stream->write(stream->context, spans[i].bytes + at, (size_t)some)) {
                return TAMIS_E_IO;
            }
        }
    }
    return TAMIS_OK;
}

tamis_status tamis_encode_to(const tamis_filter *filter, tamis_writer *write, void *context) {
    struct stream stream = {write, context};
    if (filter == NULL || write == NULL) return TAMIS_E_ARGUMENT;
    return encode_to(filter, take_to_stream, &stream);
}

/* `container` may be NULL: then a file that holds several filters is opened for one of them. */
static tamis_status open_bytes(const char *path, tamis_open_options *o, tamis_filter **out,
                               tamis_container **container) {
    struct tamis__file b;
    const struct tamis__file_how how = {o->map, o->wait_ms, &o->allocator};
    tamis_status status = tamis__file_open(path, &how, &b);
    if (status != TAMIS_OK) return status;
    if (b.storage != TAMIS__MAPPED) {
        o->verify = TAMIS_VERIFY_ALL;
    } else if (o->verify == TAMIS_VERIFY_DEFAULT) {
        o->verify = TAMIS_VERIFY_TOUCHED;
    }
    if (container == NULL || o->part != NULL ||
        tamis__container_detect(o->format, b.bytes, b.length) == NULL) {
        return decode_bytes(&b, o, out);
    }
    return tamis__container_take(&b, o, container);
}

/* Frees a filter that has no update yet, or whose update is freed by the caller. */
static void drop_filter(tamis_filter **f) {
    struct tamis__touched *touched = *f == NULL ? NULL : (*f)->touched;
    tamis__filter_free(*f);
    tamis__touched_free(touched);
    *f = NULL;
}

/* A filter of which only the pages that change are read and written.  E_UNSUPPORTED, with no
 * effect, if the file must be read as a whole. */
static tamis_status open_draft(const struct tamis__update *u, tamis_open_options *o,
                               tamis_filter **out) {
    struct tamis__file b;
    tamis_status status = tamis__update_map(u, &b);
    if (status != TAMIS_OK) return status;
    const tamis_verification verify = o->verify;
    o->verify = TAMIS_VERIFY_TOUCHED;
    status = decode_bytes(&b, o, out);
    o->verify = TAMIS_VERIFY_ALL;
    if (status == TAMIS_OK && verify == TAMIS_VERIFY_ALL) status = tamis__touched_verify(*out);
    if (status != TAMIS_OK || (*out)->family->in_place) return status;
    drop_filter(out);
    return TAMIS_E_UNSUPPORTED;
}

static tamis_status open_copy(const struct tamis__update *u, const tamis_open_options *o,
                              tamis_filter **out) {
    struct tamis__file b;
    const tamis_status status = tamis__update_read(u, &b);
    if (status != TAMIS_OK) return status;
    /* The container must not be replaced by one of its parts. */
    if (tamis__container_detect(o->format, b.bytes, b.length) != NULL) {
        drop_bytes(&b, &o->allocator);
        return TAMIS_E_UNSUPPORTED;
    }
    return decode_bytes(&b, o, out);
}

static tamis_status open_for_update(const char *path, tamis_open_options *o, tamis_filter **out) {
    struct tamis__update *u;
    tamis_status status = tamis__update_begin(path, o->wait_ms, &o->allocator, &u);
    if (status != TAMIS_OK) return status;
    status = open_draft(u, o, out);
    if (status == TAMIS_E_UNSUPPORTED) status = open_copy(u, o, out);
    if (status == TAMIS_OK) status = tamis__update_attach(u, *out);
    if (status != TAMIS_OK) {
        const int why = errno;
        drop_filter(out);
        tamis__update_free(u);
        errno = why;
    }
    return status;
}

static tamis_status open_file(const char *path, const tamis_open_options *options,
                              tamis_filter **out, tamis_container **container) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_open_options o;
    const tamis_status status = tamis__open_options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if (path == NULL) return TAMIS_E_ARGUMENT;
    return o.update ? open_for_update(path, &o, out) : open_bytes(path, &o, out, container);
}

tamis_status tamis_open(const char *path, const tamis_open_options *options, tamis_filter **out) {
    return open_file(path, options, out, NULL);
}

tamis_status tamis_open_any(const char *path, const tamis_open_options *options,
                            tamis_filter **filter, tamis_container **container) {
    if (filter != NULL) *filter = NULL;
    if (container == NULL) return TAMIS_E_ARGUMENT;
    *container = NULL;
    return open_file(path, options, filter, container);
}

tamis_status tamis_commit(tamis_filter *filter, uint64_t *written) {
    uint64_t bytes = 0;
    bool whole;
    if (written != NULL) *written = 0;
    if (filter == NULL || filter->update == NULL) return TAMIS_E_ARGUMENT;
    tamis_status status = tamis__update_commit(filter, &bytes, &whole);
    if (status == TAMIS_OK && whole) {
        struct destination destination = {tamis__update_path(filter), true,
                                          tamis__update_descriptor(filter)};
        bytes = tamis_encoded_size(filter);
        status = encode_to(filter, take_to_file, &destination);
    }
    if (status != TAMIS_OK && status != TAMIS_E_CHANGED) return status;
    const int why = errno;
    tamis__update_end(filter);
    if (written != NULL) *written = bytes;
    errno = why;
    return status;
}
