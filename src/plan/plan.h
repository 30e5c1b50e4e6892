/* plan.h - from what a user wants to what a filter will be: pure functions over the sizing */
#ifndef TAMIS_PLAN_PLAN_H
#define TAMIS_PLAN_PLAN_H

#include "family/family.h"

/* Rate if the user gives none. */
#define TAMIS__RATE_DEFAULT 0.01

/* A copy of the options that has all fields, whatever size the caller's struct had.
 * E_ARGUMENT if it is NULL or its size makes no sense. */
tamis_status tamis__options_read(const tamis_options *options, tamis_options *copy);

/* The kind that fits the needs; `why` (at least 256 bytes, or NULL) becomes a sentence.
 * TAMIS_AUTO if there is none.  `table_room` is the largest table that options->bytes leave. */
tamis_kind tamis__plan_kind(const tamis_options *options, uint64_t table_room, char *why);

/* The family of the options (planned if TAMIS_AUTO) and the checked want: rate from bytes if
 * so asked.  `table_room` as above. */
tamis_status tamis__plan_want(const tamis_options *options, uint64_t table_room,
                              const struct tamis__family **family, struct tamis__want *want);

#endif
