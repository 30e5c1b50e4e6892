/* file_none.c - file.h, save.h and update.h without a file system: nothing can be opened or saved
 */
#include "file/file.h"
#include "file/save.h"
#include "file/update.h"

#if defined(TAMIS_NO_FILES)

tamis_status tamis__file_open(const char *path, const struct tamis__file_how *how,
                              struct tamis__file *file) {
    (void)path, (void)how, (void)file;
    return TAMIS_E_UNSUPPORTED;
}

void tamis__file_close(const struct tamis__file *file, const tamis_allocator *a) {
    tamis__table_free(a, file->bytes, file->room);
}

void tamis__file_prefetch(const uint8_t *bytes, uint64_t length) { (void)bytes, (void)length; }

void tamis__file_scan(const uint8_t *bytes, uint64_t length, bool begins) {
    (void)bytes, (void)length, (void)begins;
}

tamis_status tamis__file_save(const char *path, bool replace, int old,
                              const struct tamis__span *spans, size_t count) {
    (void)path, (void)replace, (void)old, (void)spans, (void)count;
    return TAMIS_E_UNSUPPORTED;
}

/* ---- updates: none can begin, so no filter ever has one */

tamis_status tamis__update_begin(const char *path, int64_t wait_ms, const tamis_allocator *a,
                                 struct tamis__update **out) {
    (void)path, (void)wait_ms, (void)a, (void)out;
    return TAMIS_E_UNSUPPORTED;
}

tamis_status tamis__update_map(const struct tamis__update *u, struct tamis__file *file) {
    (void)u, (void)file;
    return TAMIS_E_UNSUPPORTED;
}

tamis_status tamis__update_read(const struct tamis__update *u, struct tamis__file *file) {
    (void)u, (void)file;
    return TAMIS_E_UNSUPPORTED;
}

tamis_status tamis__update_attach(struct tamis__update *u, tamis_filter *f) {
    (void)u, (void)f;
    return TAMIS_E_UNSUPPORTED;
}

void tamis__update_all(tamis_filter *f) { (void)f; }

tamis_status tamis__update_verify(const tamis_filter *f) {
    (void)f;
    return TAMIS_E_UNSUPPORTED;
}

tamis_status tamis__update_commit(tamis_filter *f, uint64_t *written, bool *whole) {
    (void)f, (void)written, (void)whole;
    return TAMIS_E_UNSUPPORTED;
}

void tamis__update_end(tamis_filter *f) { (void)f; }

const char *tamis__update_path(const tamis_filter *f) {
    (void)f;
    return NULL;
}

int tamis__update_descriptor(const tamis_filter *f) {
    (void)f;
    return -1;
}

void tamis__update_free(struct tamis__update *u) { (void)u; }
#endif
