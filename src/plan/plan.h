/* plan.h - chooses the kind of a filter and its parameters from options: pure functions */
#ifndef TAMIS_PLAN_PLAN_H
#define TAMIS_PLAN_PLAN_H

#include "filter/family.h"

/* The false positive rate if none is given. */
#define TAMIS__FPR_DEFAULT 0.01

/* The kind that fits the needs; `why` (at least 256 bytes, or NULL) receives the reason.
 * TAMIS_AUTO if there is none.  `table_room` is the largest table that options->bytes leave. */
tamis_kind tamis__plan_kind(const tamis_options *options, uint64_t table_room, char *why);

/* The spec of one of our kinds (planned if TAMIS_AUTO), checked, without hashing; the false
 * positive rate comes from options->bytes if none is given.  `table_room` as above. */
tamis_status tamis__plan_spec(const tamis_options *options, uint64_t table_room,
                              struct tamis__spec *spec);

#endif
