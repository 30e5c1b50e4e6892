/* journal.h - an update of a .tamis file, written in full before it is applied
 *
 *     offset size
 *       0     8   magic 93 74 61 6d 69 73 6a 0a
 *       8     4   version, 1
 *      12     4   0
 *      16     8   bytes of the file that is updated
 *      24     8   bytes 184..191 of that file, the checksum of its header, before the update
 *      32     8   pieces that change, n
 *      40   192   the header after the update
 *     232  16*n   for each piece, ascending: its number, and its XXH3-64 after the update
 *  232+16n    8   XXH3-64 of all bytes before
 *  240+16n        the pieces after the update: 64 KiB each; the last of a table may be shorter
 *
 * The journal of PATH is PATH.journal.  It is written and synced first; then the pieces, their
 * checksums and the header are written to the file; then that is synced and the journal removed:
 *
 *     journal incomplete (wrong checksum)     the file was not modified: the journal is void
 *     journal complete, file old, torn, new   applying it again gives the new file
 *     journal complete, file is another       (it was replaced as a whole): the journal is void
 *
 * A process that opens a file for update applies the journal first.  A reader applies it in memory
 * and writes nothing. */
#ifndef TAMIS_FILE_JOURNAL_H
#define TAMIS_FILE_JOURNAL_H

#include "file/update.h"

/* An update: the table after it, and which of its pieces are new. */
struct tamis__update_set {
    uint64_t file_bytes;
    uint64_t header_sum_before;
    const uint8_t *header; /* after */
    const uint8_t *table;
    uint64_t table_bytes;
    const uint8_t *sums; /* after; one for each piece of the table */
    const uint64_t *pieces;
    uint64_t count;
};

/* Writes it beside `path`, synced. On failure there is no journal; E_UNSUPPORTED if it cannot be
 * created (its name is too long, or a directory's), or if some users who may read the file could
 * not read or trust it: the file is another user's. */
tamis_status tamis__journal_write(const char *path, const struct tamis__update_set *set);

/* A journal that is not applied yet; `bytes` is NULL if there is none. */
struct tamis__journal {
    const uint8_t *bytes;
    uint64_t length;
    int descriptor;
};

/* The one beside `path`, if the file of `descriptor`, which has `file_bytes`, still needs it. An
 * error if there is one that cannot be read: without it the file may be torn. */
tamis_status tamis__journal_open(const char *path, int descriptor, uint64_t file_bytes,
                                 struct tamis__journal *journal);
void tamis__journal_close(struct tamis__journal *journal);

/* Applies it to the bytes of the file in memory. */
void tamis__journal_replay(const struct tamis__journal *journal, uint8_t *file);

/* Applies it to the file itself and removes it, void or not. The caller holds TAMIS__LOCK_WRITER.
 * `*written`, if not NULL, grows by the bytes written to the file. OK if there is none. */
tamis_status tamis__journal_finish(const char *path, int descriptor, uint64_t *written);

/* Removes a journal that has become void because the file was replaced. */
void tamis__journal_remove(const char *path);

#endif
