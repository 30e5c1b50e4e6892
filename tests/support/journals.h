/* journals.h - the journal of an update in place, as doc/format.md describes it */
#ifndef TESTS_SUPPORT_JOURNALS_H
#define TESTS_SUPPORT_JOURNALS_H

#include "filters.h"

/* The journal that turns the file `before` into `after`, which has the same table size. */
struct bytes journal_make(const struct bytes *before, const struct bytes *after);

#endif
