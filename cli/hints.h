/* hints.h - one sentence about an input that is probably not what the user meant
 *
 * A hint changes neither results nor exit codes, and each is printed once. */
#ifndef TAMIS_CLI_HINTS_H
#define TAMIS_CLI_HINTS_H

#include "batch.h"

/* The compression of a file by its first bytes, and the command that decompresses it; NULL: none
 * that is known. */
struct compression {
    const char *name, *cat;
};
const struct compression *compression_of(const void *bytes, size_t length);

/* Looks at the first block of the input `name`: is it compressed; does it begin with a byte order
 * mark, or do its keys end in a carriage return?  form: how keys are made; NULL: only the first. */
void hint_input(const char *name, const struct block *block, uint8_t delimiter,
                const tamis_key_form *form);

#endif
