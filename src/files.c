/* files.c - the entry points for bytes and files: encoding, decoding, saving, opening
 *
 * What is read becomes a filter in one step, decode_in_place: a codec (format/) makes a filter
 * whose table lies in a block of bytes, and the block is then given to it.  tamis_decode, _view
 * and _open differ only in where the block comes from and who frees it. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "filter.h"
#include "format/format.h"
#include "tamis.h"

/* What tamis_encode_to hands over at once. */
#define STREAM_BYTES ((uint64_t)1 << 20)

uint64_t tamis_encoded_size(const tamis_filter *filter) {
    return tamis__codec_of(filter)->encoded_size(filter);
}

tamis_status tamis_encode(const tamis_filter *filter, void *buffer, size_t capacity,
                          size_t *length) {
    if (length != NULL) *length = 0;
    if (filter == NULL || buffer == NULL) return TAMIS_E_ARGUMENT;
    const uint64_t size = tamis_encoded_size(filter);
    if (capacity < size) return TAMIS_E_SMALL;
    tamis_status status = tamis__filter_trust(filter);
    if (status == TAMIS_OK) status = tamis__codec_of(filter)->encode(filter, buffer);
    if (status == TAMIS_OK && length != NULL) *length = (size_t)size;
    return status;
}

tamis_status tamis__open_options_read(const tamis_open_options *options, tamis_open_options *copy) {
    memset(copy, 0, sizeof *copy);
    if (options == NULL) return TAMIS_OK;
    if (options->struct_size < offsetof(tamis_open_options, map)) return TAMIS_E_ARGUMENT;
    memcpy(copy, options,
           options->struct_size < sizeof *copy ? options->struct_size : sizeof *copy);
    if ((copy->allocator.alloc == NULL) != (copy->allocator.free == NULL)) {
        return TAMIS_E_ARGUMENT;
    }
    return TAMIS_OK;
}

/* One filter of a file that holds several, with its own copy of the bytes. */
static tamis_status decode_part(const uint8_t *bytes, uint64_t length, const tamis_open_options *o,
                                tamis_filter **out) {
    tamis_container *container;
    if (o->shared) return TAMIS_E_UNSUPPORTED; /* as any filter of another system */
    tamis_status status = tamis_container_view(bytes, length, o, &container);
    if (status != TAMIS_OK) return status;
    status = tamis__container_pick(container, o->part, out);
    tamis_container_free(container);
    return status;
}

/* A filter over bytes that stay where they are. */
static tamis_status decode_in_place(const uint8_t *bytes, uint64_t length,
                                    const tamis_open_options *o, tamis_filter **out) {
    if (tamis__is_container(o->format, bytes, length)) return decode_part(bytes, length, o, out);
    if (o->part != NULL) return TAMIS_E_PART;
    const struct tamis__codec *codec =
        o->format != NULL ? tamis__codec_find(o->format) : tamis__codec_detect(bytes, length);
    if (codec == NULL) {
        const bool known = o->format == NULL || tamis_format_about(o->format) != NULL;
        return known ? TAMIS_E_FORMAT : TAMIS_E_ARGUMENT;
    }
    const tamis_filter like = {.codec = codec == &tamis__native ? NULL : codec,
                               .shared = o->shared,
                               .portable = o->portable,
                               .allocator = o->allocator};
    return codec->decode(bytes, length, &like, o, out);
}

/* The block of bytes becomes the filter's own: freed or unmapped with it.  Of a filter that
 * had to make a table of its own it is not needed any more. */
static void give_block(tamis_filter *f, enum tamis__storage storage, uint8_t *block,
                       uint64_t block_bytes) {
    if (f->storage == TAMIS__OWNED) {
        if (storage == TAMIS__OWNED) tamis__table_free(&f->allocator, block, block_bytes);
        return;
    }
    f->storage = storage;
    f->block = block;
    f->block_bytes = block_bytes;
}

/* The same of a mapping, with what holds the file. */
static void give_mapping(tamis_filter *f, enum tamis__storage storage, struct tamis__mapping *m) {
    if (f->storage == TAMIS__OWNED) {
        tamis__file_unmap(m);
        return;
    }
    give_block(f, storage, m->bytes, m->length);
    f->held = m->descriptor + 1;
}

tamis_status tamis_decode(const void *bytes, size_t length, const tamis_open_options *options,
                          tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_open_options o;
    tamis_status status = tamis__open_options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if (bytes == NULL && length != 0) return TAMIS_E_ARGUMENT;
    o.unverified = false;
    uint8_t *block = tamis__table_alloc(&o.allocator, length);
    if (block == NULL) return TAMIS_E_NOMEM;
    if (length != 0) memcpy(block, bytes, length);
    status = decode_in_place(block, length, &o, out);
    if (status == TAMIS_OK) {
        give_block(*out, TAMIS__OWNED, block, length);
    } else {
        tamis__table_free(&o.allocator, block, length);
    }
    return status;
}

tamis_status tamis_view(const void *bytes, size_t length, const tamis_open_options *options,
                        tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_open_options o;
    const tamis_status status = tamis__open_options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if ((bytes == NULL && length != 0) || (uintptr_t)bytes % 8 != 0) return TAMIS_E_ARGUMENT;
    const tamis_status decoded = decode_in_place(bytes, length, &o, out);
    if (decoded == TAMIS_OK) {
        give_block(*out, TAMIS__BORROWED, (uint8_t *)(uintptr_t)bytes, length);
    }
    return decoded;
}

tamis_status tamis_verify(const tamis_filter *filter) {
    if (filter == NULL) return TAMIS_E_ARGUMENT;
    if (!filter->unverified) return TAMIS_OK;
    if (filter->change != NULL) return tamis__change_verify(filter);
    const tamis_status status = tamis__native_verify(filter->block, filter->block_bytes);
    /* The filter is only read, perhaps by many threads: this is a note on it. */
    bool *compared = &((tamis_filter *)(uintptr_t)filter)->compared;
    if (status == TAMIS_OK) __atomic_store_n(compared, true, __ATOMIC_RELAXED);
    return status;
}

tamis_status tamis__filter_trust(const tamis_filter *f) {
    return __atomic_load_n(&f->compared, __ATOMIC_RELAXED) ? TAMIS_OK : tamis_verify(f);
}

/* Takes the encoded filter, in pieces that follow each other. */
typedef tamis_status span_taker(void *context, const struct tamis__span *spans, size_t count);

static tamis_status encode_bytes(const tamis_filter *f, span_taker *take, void *context) {
    const uint64_t size = tamis_encoded_size(f);
    uint8_t *bytes = tamis__table_alloc(&f->allocator, size);
    if (bytes == NULL) return TAMIS_E_NOMEM;
    tamis_status status = tamis__codec_of(f)->encode(f, bytes);
    const struct tamis__span whole = {bytes, size};
    if (status == TAMIS_OK) status = take(context, &whole, 1);
    const int why = errno;
    tamis__table_free(&f->allocator, bytes, size);
    errno = why;
    return status;
}

/* Without a copy of a table that may be large. */
static tamis_status encode_spans(const tamis_filter *f, span_taker *take, void *context) {
    uint8_t header[TAMIS__HEADER_BYTES];
    struct tamis__span spans[3];
    const uint64_t size = tamis_encoded_size(f) - TAMIS__HEADER_BYTES - f->shape.table_bytes;
    uint8_t *sums = tamis__table_alloc(&f->allocator, size);
    if (sums == NULL) return TAMIS_E_NOMEM;
    tamis__native_spans(f, header, sums, spans);
    const tamis_status status = take(context, spans, 3);
    const int why = errno;
    tamis__table_free(&f->allocator, sums, size);
    errno = why;
    return status;
}

static tamis_status encode_to(const tamis_filter *f, span_taker *take, void *context) {
    const tamis_status status = tamis__filter_trust(f);
    if (status != TAMIS_OK) return status;
    const bool one_piece =
        f->codec == NULL && f->family->export_table == NULL && f->shape.table_bytes % 8 == 0;
    return one_piece ? encode_spans(f, take, context) : encode_bytes(f, take, context);
}

struct target {
    const char *path;
    bool replace;
    int old; /* the file that it may replace; -1: any */
};

static tamis_status take_to_file(void *context, const struct tamis__span *spans, size_t count) {
    const struct target *target = context;
    return tamis__file_write(target->path, target->replace, target->old, spans, count);
}

tamis_status tamis_save(const tamis_filter *filter, const char *path, bool replace) {
    struct target target = {path, replace, -1};
    if (filter == NULL || path == NULL) return TAMIS_E_ARGUMENT;
    return encode_to(filter, take_to_file, &target);
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

static tamis_status open_mapped(const char *path, tamis_open_options *o, tamis_filter **out) {
    struct tamis__mapping m;
    tamis_status status = tamis__file_map(path, &m);
    if (status != TAMIS_OK) return status;
    o->unverified = true;
    status = decode_in_place(m.bytes, m.length, o, out);
    if (status == TAMIS_OK) {
        give_mapping(*out, TAMIS__MAPPED, &m);
    } else {
        tamis__file_unmap(&m);
    }
    return status;
}

static tamis_status open_read(const char *path, tamis_open_options *o, tamis_filter **out) {
    uint8_t *block;
    uint64_t block_bytes, length;
    o->unverified = false;
    tamis_status status = tamis__file_read(path, &o->allocator, &block, &block_bytes, &length);
    if (status != TAMIS_OK) return status;
    status = decode_in_place(block, length, o, out);
    if (status == TAMIS_OK) {
        give_block(*out, TAMIS__OWNED, block, block_bytes);
    } else {
        tamis__table_free(&o->allocator, block, block_bytes);
    }
    return status;
}

/* A filter of which only the pieces that change are read and written; E_UNSUPPORTED, and nothing
 * is done, if it has to be read as a whole. */
static tamis_status open_draft(const struct tamis__change *c, tamis_open_options *o,
                               tamis_filter **out) {
    struct tamis__mapping m;
    tamis_status status = tamis__change_map(c, &m);
    if (status != TAMIS_OK) return status;
    o->unverified = true;
    status = decode_in_place(m.bytes, m.length, o, out);
    o->unverified = false;
    if (status == TAMIS_OK && (*out)->family->touched == NULL) {
        tamis__filter_free(*out);
        *out = NULL;
        status = TAMIS_E_UNSUPPORTED;
    }
    if (status == TAMIS_OK) {
        give_mapping(*out, TAMIS__DRAFT, &m);
    } else {
        tamis__file_unmap(&m);
    }
    return status;
}

static tamis_status open_copy(const struct tamis__change *c, const tamis_open_options *o,
                              tamis_filter **out) {
    uint8_t *block;
    uint64_t block_bytes, length;
    tamis_status status = tamis__change_read(c, &block, &block_bytes, &length);
    if (status != TAMIS_OK) return status;
    /* A part of a container is not what its file is to be replaced by. */
    status = tamis__is_container(o->format, block, length) ? TAMIS_E_UNSUPPORTED
                                                           : decode_in_place(block, length, o, out);
    if (status == TAMIS_OK) {
        give_block(*out, TAMIS__OWNED, block, block_bytes);
    } else {
        tamis__table_free(&o->allocator, block, block_bytes);
    }
    return status;
}

static tamis_status open_to_change(const char *path, tamis_open_options *o, tamis_filter **out) {
    struct tamis__change *c;
    tamis_status status = tamis__change_begin(path, &o->allocator, &c);
    if (status != TAMIS_OK) return status;
    o->unverified = false;
    status = open_draft(c, o, out);
    if (status == TAMIS_E_UNSUPPORTED) status = open_copy(c, o, out);
    if (status == TAMIS_OK) status = tamis__change_attach(c, *out);
    if (status != TAMIS_OK) {
        const int why = errno;
        tamis__filter_free(*out);
        *out = NULL;
        tamis__change_free(c);
        errno = why;
    }
    return status;
}

tamis_status tamis_open(const char *path, const tamis_open_options *options, tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_open_options o;
    const tamis_status status = tamis__open_options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if (path == NULL) return TAMIS_E_ARGUMENT;
    if (o.change) return open_to_change(path, &o, out);
    return o.map ? open_mapped(path, &o, out) : open_read(path, &o, out);
}

tamis_status tamis_commit(tamis_filter *filter, uint64_t *written) {
    uint64_t bytes = 0;
    bool whole;
    if (written != NULL) *written = 0;
    if (filter == NULL || filter->change == NULL) return TAMIS_E_ARGUMENT;
    tamis_status status = tamis__change_commit(filter, &bytes, &whole);
    if (status == TAMIS_OK && whole) {
        struct target target = {tamis__change_path(filter), true, tamis__change_descriptor(filter)};
        bytes = tamis_encoded_size(filter);
        status = encode_to(filter, take_to_file, &target);
    }
    if (status != TAMIS_OK) return status;
    tamis__change_end(filter);
    if (written != NULL) *written = bytes;
    return TAMIS_OK;
}
