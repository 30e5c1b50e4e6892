/* cells.c - entry point: what a lookup reads */
#include "api/api.h"
#include "file/touched.h"

struct collection {
    tamis_cell *cells;
    size_t capacity, count;
};

static void collect(void *context, const tamis_cell *cell) {
    struct collection *to = context;
    if (to->count < to->capacity) to->cells[to->count] = *cell;
    to->count++;
}

tamis_status tamis_cells(const tamis_filter *filter, uint64_t hash, tamis_cell *cells,
                         size_t capacity, size_t *count) {
    if (filter == NULL || count == NULL) return TAMIS_E_ARGUMENT;
    if (cells == NULL && capacity != 0) return TAMIS_E_ARGUMENT;
    if (filter->family->cells == NULL) return TAMIS_E_UNSUPPORTED;
    if (filter->touched != NULL && !tamis__touched_ready(filter, hash)) return TAMIS_E_CHECKSUM;
    struct collection to = {cells, capacity, 0};
    filter->family->cells(filter, hash, collect, &to);
    *count = to.count;
    return TAMIS_OK;
}
