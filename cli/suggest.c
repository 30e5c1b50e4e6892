/* suggest.c - edit distance (insert, delete, change, swap of neighbours) over short words
 *
 * A word is suggested if at most a third of its letters, rounded up, and never more than three
 * differ, or if what was typed is its beginning. */
#include "suggest.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 32

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t edit_distance(const char *a, const char *b) {
    const size_t rows = strlen(a), columns = strlen(b);
    size_t d[WORD_MAX + 1][WORD_MAX + 1];
    if (rows > WORD_MAX || columns > WORD_MAX) return WORD_MAX;
    for (size_t i = 0; i <= rows; i++) d[i][0] = i;
    for (size_t j = 0; j <= columns; j++) d[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            const size_t change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = least(change, 1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[rows][columns];
}

void suggest(struct suggestion *best, const char *typed, const char *candidate) {
    const size_t length = strlen(candidate), typed_length = strlen(typed);
    size_t distance = edit_distance(typed, candidate);
    if (typed_length >= 2 && strncmp(typed, candidate, typed_length) == 0) distance = 1;
    if (distance > least(3, (length + 2) / 3) || distance >= length) return;
    if (best->word == NULL || distance < best->distance) {
        best->word = candidate;
        best->distance = distance;
    }
}

void suggest_text(const struct suggestion *best, const char *before, char *text, size_t size) {
    text[0] = '\0';
    if (best->word != NULL) snprintf(text, size, "; did you mean '%s%s'?", before, best->word);
}
