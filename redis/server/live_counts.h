/* live_counts.h - the number of filters, for INFO: including those being created or freed
 *
 * The server also frees filters in a background thread, so the counters are atomic. */
#ifndef TAMIS_REDIS_SERVER_LIVE_COUNTS_H
#define TAMIS_REDIS_SERVER_LIVE_COUNTS_H

#include <stddef.h>

enum live_kind { LIVE_BF, LIVE_CF, LIVE_STATIC, LIVE_KINDS };
void live_count_change(enum live_kind kind, int by);
size_t live_count(enum live_kind kind);

#endif
