/* journal.h - a change of a .tamis file, written down in full before it is made
 *
 *     offset size
 *       0     8   magic 93 74 61 6d 69 73 6a 0a
 *       8     4   version, 1
 *      12     4   0
 *      16     8   bytes of the file that is changed
 *      24     8   bytes 184..191 of that file, the sum of its header, before the change
 *      32     8   pieces that change, n
 *      40   192   the header after the change
 *     232  16*n   for each piece, ascending: its number, and its XXH3-64 after the change
 *  232+16n    8   XXH3-64 of all bytes before
 *  240+16n        the pieces after the change: 64 KiB each, but for the last of a table
 *
 * The journal of PATH is PATH.journal.  It is written and synced first, then the pieces, their
 * sums and the header are put into the file, then that is synced and the journal removed:
 *
 *     journal incomplete (a sum is wrong)     the file was not touched: the journal is void
 *     journal complete, file old, torn, new   doing it again gives the new file
 *     journal complete, file is another       (it was replaced as a whole): the journal is void
 *
 * Who opens a file for change does it again first.  Who only reads it does so in memory, and
 * writes nothing. */
#ifndef TAMIS_FORMAT_JOURNAL_H
#define TAMIS_FORMAT_JOURNAL_H

#include "format/format.h"

/* A change: the table after it, and which of its pieces are new. */
struct tamis__change_set {
    uint64_t file_bytes;
    uint64_t header_sum_before;
    const uint8_t *header; /* after */
    const uint8_t *table;
    uint64_t table_bytes;
    const uint8_t *sums; /* after; one for each piece of the table */
    const uint64_t *pieces;
    uint64_t count;
};

/* Writes it down beside `path`, synced.  On failure there is no journal; E_UNSUPPORTED if it could
 * not even be made (its name is too long, or a directory's), or some who may read the file could
 * not read or believe it: the file is another user's. */
tamis_status tamis__journal_write(const char *path, const struct tamis__change_set *set);

/* A journal that waits to be carried out; `bytes` is NULL if there is none. */
struct tamis__journal {
    const uint8_t *bytes;
    uint64_t length;
    int descriptor;
};

/* The one beside `path`, if the file behind `descriptor`, of so many bytes, still needs it.  An
 * error if there is one that cannot be looked at: without it the file may be torn. */
tamis_status tamis__journal_open(const char *path, int descriptor, uint64_t file_bytes,
                                 struct tamis__journal *journal);
void tamis__journal_close(struct tamis__journal *journal);

/* Carries it out on the bytes of the file in memory. */
void tamis__journal_replay(const struct tamis__journal *journal, uint8_t *file);

/* Carries out what waits, on the file itself, and removes the journal, void or not.  The caller
 * holds TAMIS__LOCK_WRITER.  `*written`, if not NULL, grows by the bytes written to the file.
 * OK if there is none. */
tamis_status tamis__journal_finish(const char *path, int descriptor, uint64_t *written);

/* Removes a journal that has become void because the file was replaced. */
void tamis__journal_remove(const char *path);

#endif
