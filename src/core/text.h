/* text.h - short texts into arrays of fixed size, without stdio: a WebAssembly module that links
 * printf is a sixth larger */
#ifndef TAMIS_CORE_TEXT_H
#define TAMIS_CORE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copies a text, or as much of it as fits in `room` > 0 bytes with its NUL; returns its length. */
static inline size_t tamis__text_put(char *to, size_t room, const char *text) {
    size_t length = strlen(text);
    if (length >= room) length = room - 1;
    memcpy(to, text, length);
    to[length] = '\0';
    return length;
}

/* The same with a number in decimal. */
static inline size_t tamis__text_put_number(char *to, size_t room, uint64_t number) {
    char digits[21];
    char *at = digits + sizeof digits;
    *--at = '\0';
    do *--at = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    return tamis__text_put(to, room, at);
}

#endif
