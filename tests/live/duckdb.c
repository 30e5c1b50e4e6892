/* duckdb.c - writes a copy of a Parquet file in which the filter of a part has no bits set */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tamis.h"

/* The header of a filter is 15 to 17 bytes, the rest its bits, a multiple of 32. */
static tamis_filter *emptied(const tamis_filter *filter) {
    const size_t size = tamis_encoded_size(filter);
    uint8_t *bytes = malloc(size);
    tamis_filter *empty = NULL;
    if (bytes == NULL || tamis_encode(filter, bytes, size, NULL) != TAMIS_OK) return NULL;
    const size_t header = size % 32;
    memset(bytes + header, 0, size - header);
    if (tamis_decode(bytes, size, NULL, &empty) != TAMIS_OK) empty = NULL;
    free(bytes);
    return empty;
}

int main(int argc, char **argv) {
    tamis_container *c;
    tamis_part part = {.struct_size = sizeof part};
    if (argc != 4 || tamis_container_open(argv[1], NULL, &c) != TAMIS_OK) return 2;
    for (size_t i = 0; i < tamis_container_count(c); i++) {
        tamis_filter *filter;
        if (tamis_container_part(c, i, &part) != TAMIS_OK || strcmp(part.name, argv[3]) != 0)
            continue;
        if (tamis_container_filter(c, i, &filter) != TAMIS_OK) return 2;
        tamis_filter *empty = emptied(filter);
        if (empty == NULL) return 2;
        const tamis_status status = tamis_container_replace(c, i, empty, argv[2], true);
        fprintf(stderr, "%s: %s\n", argv[3], tamis_status_text(status));
        tamis_free(empty);
        tamis_free(filter);
        tamis_container_free(c);
        return status == TAMIS_OK ? 0 : 1;
    }
    return 2;
}
