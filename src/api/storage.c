/* storage.c - entry points: filters in the caller's storage */
#include <string.h>

#include "api/api.h"
#include "file/codecs.h"

static bool is_whole(const tamis_storage *s) {
    return s != NULL && s->struct_size >= sizeof *s && s->page_shift < 64 && s->open != NULL &&
           s->close != NULL && s->copy != NULL && s->unite != NULL && s->read != NULL &&
           s->write != NULL;
}

tamis_status tamis_header_open(const void *header, size_t length, const tamis_open_options *options,
                               tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_open_options o;
    const tamis_status status = tamis__open_options_read(options, &o);
    if (status != TAMIS_OK) return status;
    if (header == NULL || !is_whole(o.storage)) return TAMIS_E_ARGUMENT;
    const struct tamis__codec *codec =
        tamis__codec_find(o.format == NULL ? "redisbloom" : o.format);
    if (codec == NULL) return TAMIS_E_ARGUMENT;
    if (codec->open_header == NULL) return TAMIS_E_UNSUPPORTED;
    const struct tamis__settings settings = {
        .codec = codec, .allocator = o.allocator, .pages = o.storage};
    return codec->open_header(header, length, &settings, out);
}

size_t tamis_header_read(const tamis_filter *filter, size_t offset, void *buffer, size_t length) {
    if (filter == NULL || filter->settings.pages == NULL || buffer == NULL) return 0;
    uint8_t *to = buffer, part[TAMIS__HEADER_PART];
    size_t copied = 0, begins;
    while (copied < length) {
        const size_t at = offset + copied;
        const size_t size = filter->family->paged->header_part(filter, at, part, &begins);
        if (size == 0) break;
        const size_t there = size - (at - begins), left = length - copied;
        const size_t n = there < left ? there : left;
        memcpy(to + copied, part + (at - begins), n);
        copied += n;
    }
    return copied;
}

void *tamis_storage_table(const tamis_filter *filter, size_t index) {
    if (filter == NULL || filter->settings.pages == NULL) return NULL;
    return filter->family->paged->table(filter, index);
}

tamis_status tamis_compact(tamis_filter *filter, bool *changed) {
    bool work = false;
    if (changed != NULL) *changed = false;
    if (filter == NULL) return TAMIS_E_ARGUMENT;
    if (filter->family->compact == NULL) return TAMIS_E_UNSUPPORTED;
    if (tamis__filter_is_readonly(filter)) return TAMIS_E_READONLY;
    filter->seal.set = false;
    const tamis_status status = filter->family->compact(filter, &work);
    if (changed != NULL) *changed = work;
    return status;
}

tamis_status tamis__storage_merge(tamis_filter *into, const tamis_filter *from,
                                  tamis_merge_mode mode) {
    if (into->family->paged->unite == NULL || mode != TAMIS_UNION) return TAMIS_E_NO_MERGE;
    if (into->family != from->family || into->settings.pages != from->settings.pages)
        return TAMIS_E_MISMATCH;
    return into->family->paged->unite(into, from);
}
