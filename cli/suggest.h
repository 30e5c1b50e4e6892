/* suggest.h - the word that was probably meant */
#ifndef TAMIS_CLI_SUGGEST_H
#define TAMIS_CLI_SUGGEST_H

#include <stddef.h>

/* The best of the candidates so far; start with {0}. */
struct suggestion {
    const char *word;
    size_t distance;
};

/* Considers `candidate` for what was `typed`. */
void suggest(struct suggestion *best, const char *typed, const char *candidate);

/* Writes "; did you mean 'word'?" or nothing. */
void suggest_text(const struct suggestion *best, const char *before, char *text, size_t size);

#endif
