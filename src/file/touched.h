/* touched.h - a table that is verified piece by piece, as queries touch it
 *
 * A .tamis file has a checksum for each 64 KiB of its table (native.h).  Each is compared the first
 * time that a query touches its piece, so a query of one key reads and verifies a few pieces,
 * whatever the size of the file is. */
#ifndef TAMIS_FILE_TOUCHED_H
#define TAMIS_FILE_TOUCHED_H

#include "filter/family.h"

/* From now on every query of `f` verifies the pieces that it touches.  Behind the table are its
 * checksums, which have been compared with the header; the family has `touches`.  `threads` may
 * verify the whole table.  E_NOMEM. */
tamis_status tamis__touched_attach(tamis_filter *f, unsigned threads);
void tamis__touched_free(struct tamis__touched *t);

/* Verifies the whole table: OK or E_CHECKSUM. */
tamis_status tamis__touched_verify(const tamis_filter *f);
/* Verifies what a query or an add of the hash touches; false if some of it is damaged. */
bool tamis__touched_ready(const tamis_filter *f, uint64_t hash);
bool tamis__touched_all_ready(const tamis_filter *f, const uint64_t *hashes, size_t count);
/* E_CHECKSUM if a query has touched a damaged piece. */
tamis_status tamis__touched_status(const tamis_filter *f);

#endif
