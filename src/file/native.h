/* native.h - the .tamis format */
#ifndef TAMIS_FILE_NATIVE_H
#define TAMIS_FILE_NATIVE_H

#include "core/io.h"
#include "filter/codec.h"

extern const struct tamis__codec tamis__native;

#define TAMIS__HEADER_BYTES 192

/* The encoded size of a filter with a table of `table_bytes`; UINT64_MAX if it overflows. */
uint64_t tamis__native_size(uint64_t table_bytes);
/* The largest table whose encoded filter takes at most `bytes`; 0 if there is none. */
uint64_t tamis__native_room(uint64_t bytes);
/* The encoded filter as header, table and checksums, without a copy of the table.  Only for a table
 * that is contiguous.  `sums` has room for tamis__native_size less header and table. */
void tamis__native_spans(const tamis_filter *f, uint8_t header[TAMIS__HEADER_BYTES], uint8_t *sums,
                         struct tamis__span spans[3]);
/* Do the bytes begin with the magic number? */
bool tamis__native_begins(const uint8_t *bytes, uint64_t length);
/* Makes a filter whose table points into `bytes`.  Nothing in them may be trusted. */
tamis_status tamis__native_open(const uint8_t *bytes, uint64_t length,
                                const struct tamis__settings *settings,
                                const tamis_open_options *options, tamis_filter **out);
/* Checks magic, version, checksum of the header, and that a file of `length` bytes has the length
 * that the header implies; then sets `*table_bytes`. Reads only the header. */
tamis_status tamis__native_frame(const uint8_t *bytes, uint64_t length, uint64_t *table_bytes);
/* From a header: the bytes of the table, the checksum of the header, the checksum of the checksums.
 */
uint64_t tamis__native_table_bytes(const uint8_t *header);
uint64_t tamis__native_header_sum(const uint8_t *header);
uint64_t tamis__native_sums_sum(const uint8_t *header);
/* The header of a filter; `sums` is the checksum of its checksums. */
void tamis__native_header(const tamis_filter *f, uint64_t table_bytes, uint64_t sums,
                          uint8_t header[TAMIS__HEADER_BYTES]);
/* The pieces of a table, each with a checksum: their number, and the bytes of one of them. */
#define TAMIS__PIECE_LG 16
#define TAMIS__PIECE_BYTES ((uint64_t)1 << TAMIS__PIECE_LG)
uint64_t tamis__native_pieces(uint64_t table_bytes);
uint64_t tamis__native_piece_bytes(uint64_t table_bytes, uint64_t piece);
/* Compares a piece, or all pieces on at most `threads` threads, with the checksums behind the
 * table: OK or E_CHECKSUM. */
bool tamis__native_piece_matches(const uint8_t *table, uint64_t table_bytes, uint64_t piece);
tamis_status tamis__native_compare(const uint8_t *table, uint64_t table_bytes, unsigned threads);
/* Compares header, checksums and table of a .tamis file. */
tamis_status tamis__native_verify(const uint8_t *bytes, uint64_t length);

#endif
