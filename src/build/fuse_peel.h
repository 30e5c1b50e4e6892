/* fuse_peel.h - peeling a large fuse array in two sweeps; see fuse_peel.c */
#ifndef TAMIS_BUILD_FUSE_PEEL_H
#define TAMIS_BUILD_FUSE_PEEL_H

#include "build/keys.h"
#include "build/peel.h"

/* Peels the keys of a group, on one or two threads.  Creates `order`; it has all keys or, if
 * the attempt failed, fewer.  OK or E_NOMEM. */
tamis_status tamis__fuse_peel(enum tamis__graph graph, const struct tamis__geometry *g,
                              const struct tamis__group *group, unsigned threads,
                              const tamis_allocator *a, struct tamis__order *order);

#endif
