/* set.h - an exact set of texts, to compare filters with
 *
 * Open addressing: a table of 8-byte slots that is at most three quarters full, and the texts
 * one after the other in blocks of up to 1 MiB.  A slot is the address of a text and 16 bits of
 * its hash, so that few different texts are compared.  Growing doubles the table.
 *
 *     slots    [ 16 bits of hash | 48 bits: address of a text ]  x 2^k;  0 is empty
 *     a text   [ 4 bytes: length | its bytes ]
 *
 * It takes length + 4 + 8 / fill bytes per text, about the minimum of an exact set of texts, so the
 * comparison is fair. */
#ifndef SET_H
#define SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct set set;

set *set_create(void);
void set_free(set *texts);

/* Adds a text; returns true if it is new. */
bool set_add(set *texts, const void *text, size_t length);
bool set_contains(const set *texts, const void *text, size_t length);
size_t set_count(const set *texts);

/* Bytes that it has allocated: its table, and its blocks. */
size_t set_memory(const set *texts);

#endif
