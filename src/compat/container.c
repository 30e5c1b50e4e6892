/* container.c - see container.h */
#include "compat/container.h"

#include <string.h>

#include "compat/registry.h"
#include "core/text.h"

#define SLACK ((uint64_t)1 << 20)

/* The parts take no more memory than the file has bytes, and a little. */
tamis_status tamis__part_add(tamis_container *c, const struct tamis__part *part) {
    if (c->count == c->room) {
        const size_t room = c->room + c->room / 2 + 8;
        if (room * sizeof *part > c->length / 2 + SLACK / 2) return TAMIS_E_UNSUPPORTED;
        struct tamis__part *larger = tamis__alloc(&c->allocator, room * sizeof *larger);
        if (larger == NULL) return TAMIS_E_NOMEM;
        if (c->count != 0) memcpy(larger, c->parts, c->count * sizeof *larger);
        tamis__release(&c->allocator, c->parts, c->room * sizeof *larger);
        c->parts = larger;
        c->room = room;
    }
    c->parts[c->count++] = *part;
    return TAMIS_OK;
}

void tamis__part_name(const tamis_container *c, size_t index, char name[TAMIS_PART_NAME]) {
    if (c->format->part_name != NULL) {
        c->format->part_name(c, index, name);
    } else {
        tamis__text_put_number(name, TAMIS_PART_NAME, index);
    }
}

bool tamis__part_is(const tamis_container *c, size_t index, const char *name) {
    char own[TAMIS_PART_NAME];
    tamis__part_name(c, index, own);
    const char *slash = strchr(own, '/');
    return strcmp(own, name) == 0 || (slash != NULL && strcmp(slash + 1, name) == 0);
}

bool tamis__part_has_filter(const tamis_container *c, size_t index) {
    return c->parts[index].bytes != 0 || c->format->empty == TAMIS__EMPTY_IS_A_FILTER;
}

tamis_status tamis__part_view(const tamis_container *c, size_t index, const tamis_allocator *a,
                              tamis_filter **out) {
    const struct tamis__part *part = &c->parts[index];
    const struct tamis__settings settings = {.codec = c->format->codec, .allocator = *a};
    return tamis__compat_decode(c->bytes + part->offset, part->bytes, &settings, NULL, out);
}
