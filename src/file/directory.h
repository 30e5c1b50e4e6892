/* directory.h - the directory of a file, opened before anything in it changes
 *
 * After a file has got its name, nothing may fail because memory or descriptors are short: the
 * directory is opened first, and all later calls use its descriptor. */
#ifndef TAMIS_FILE_DIRECTORY_H
#define TAMIS_FILE_DIRECTORY_H

#include <stdbool.h>
#include <sys/types.h>

/* Bytes of a path, with its end: at least PATH_MAX. */
#define TAMIS__PATH_MAX 4096

struct tamis__directory {
    int descriptor;
    bool can_sync;
    const char *name; /* of the file in it: the end of the path, which must outlive this */
};

/* The directory of `path`; false and errno on failure. */
bool tamis__directory_open(const char *path, struct tamis__directory *d);
void tamis__directory_close(struct tamis__directory *d);
/* Makes the names in it durable. */
bool tamis__directory_sync(const struct tamis__directory *d);

/* A new file in it that only this process has open: unnamed where that is supported and `named` is
 * false, otherwise with a name that cannot be guessed.  -1 and errno on failure. */
#define TAMIS__DRAFT_NAME 32
struct tamis__draft_file {
    int descriptor;
    char name[TAMIS__DRAFT_NAME]; /* "" if unnamed */
};
bool tamis__draft_create(const struct tamis__directory *d, mode_t mode, bool named,
                         struct tamis__draft_file *draft);
/* Closes it; removes its name if it has one. */
void tamis__draft_discard(const struct tamis__directory *d, struct tamis__draft_file *draft);
/* Gives it the name of the file: of any file, or (false, EEXIST) only if there is none.  `*left`
 * becomes true if the file has its name but the draft's own name could not be removed. */
bool tamis__draft_publish(const struct tamis__directory *d, struct tamis__draft_file *draft,
                          bool replace, bool *left);

#endif
