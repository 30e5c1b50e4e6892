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

#include "core/alloc.h"
#include "file/directory.h"
#include "tamis.h"

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

/* The name of the journal of `path`: beside the file itself, since a symbolic link is another name
 * of the file and of its journal.  "" if it would be too long for a path. */
#define TAMIS__JOURNAL_NAME (TAMIS__PATH_MAX + 16)
void tamis__journal_name(const char *path, char name[TAMIS__JOURNAL_NAME]);

/* Writes the journal, synced, then the file itself, and removes the journal.  `*written` receives
 * the bytes written to the file.  E_CHANGED, with errno, if anything fails once the journal is
 * complete: readers find the new filter from then on.  Otherwise on failure there is no journal;
 * E_UNSUPPORTED if it cannot be created (its name is too long, or a directory's), or if some users
 * who may read the file could not read or trust it: the file is another user's. */
tamis_status tamis__journal_commit(const char *path, int descriptor,
                                   const struct tamis__update_set *set, uint64_t *written);

/* A journal that is not applied yet.  `head` is a copy of its bytes up to the pieces, NULL if there
 * is none.  Everything that decides an address or a length is in that copy: another process may
 * change the file at any time. */
struct tamis__journal {
    int descriptor;
    uint8_t *head;
    uint64_t head_bytes;
    uint64_t count, table_bytes;
    uint8_t *piece; /* room for one */
};

/* The one beside `path`, if the file of `descriptor`, which has `file_bytes`, still needs it. An
 * error if there is one that cannot be read: without it the file may be torn. */
tamis_status tamis__journal_open(const char *path, int descriptor, uint64_t file_bytes,
                                 struct tamis__journal *journal);
void tamis__journal_close(struct tamis__journal *journal);

/* Applies it to the bytes of the file in memory, of which there are `file_bytes`.  E_IO, E_CHECKSUM
 * if the journal has changed since it was opened. */
tamis_status tamis__journal_replay(const struct tamis__journal *journal, uint8_t *file);

/* Applies it to the file itself and removes it, void or not. The caller holds TAMIS__LOCK_WRITER.
 * OK if there is none. */
tamis_status tamis__journal_finish(const char *path, int descriptor);

#endif
