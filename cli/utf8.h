/* utf8.h - one code point at a time */
#ifndef TAMIS_CLI_UTF8_H
#define TAMIS_CLI_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The code point at `at` and its length in bytes; 0 if it is malformed: overlong forms,
 * surrogates, values past U+10FFFF and what is cut off included.  left > 0. */
size_t utf8_decode(const uint8_t *at, size_t left, uint32_t *point);

#endif
