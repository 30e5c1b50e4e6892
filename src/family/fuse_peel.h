/* fuse_peel.h - peeling a large fuse array in two sweeps; see fuse_peel.c */
#ifndef TAMIS_FAMILY_FUSE_PEEL_H
#define TAMIS_FAMILY_FUSE_PEEL_H

#include "family/keys.h"
#include "family/peel.h"

/* Peels the keys of a group, on one or two threads.  Creates `order`; it has all keys or, if
 * the attempt failed, fewer.  OK or E_NOMEM. */
tamis_status tamis__fuse_peel(enum tamis__layout layout, const struct tamis__geometry *g,
                              const struct tamis__group *group, unsigned threads,
                              const tamis_allocator *a, struct tamis__order *order);

#endif
