/* chinese.c - chinese WORDS TEXT: finds the words of a Chinese text by a filter of a word list
 *
 * Chinese is written without spaces, so a text must be segmented into words first.  The oldest
 * method is the longest match: at each position look up the next eight characters, then seven, and
 * so on down to two.  The first match is a word; without a match the word is one character.
 *
 *     中文分词很有意思    ->  中文 / 分词 / 很 / 有意思
 *
 * Almost all of these lookups are for strings that are not words, up to seven for each position, so
 * the rate must be lower than for separate words: 1 in 10,000 here.
 *
 * WORDS has a word at the beginning of each line, ended by a space.  An exact set does the
 * same, to count the differences. */
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "set.h"

enum { longest = 8, han_bytes = 3 };
static const double fpr = 1e-4;

typedef struct word_list {
    tamis_filter *filter;
    set *exact;
    uint64_t lookups;
} word_list;

static bool by_filter(word_list *words, const char *text, size_t length) {
    words->lookups++;
    return tamis_contains(words->filter, text, length);
}

static bool by_set(word_list *words, const char *text, size_t length) {
    return set_contains(words->exact, text, length);
}

/* One of the 20,992 characters from U+4E00 to U+9FFF, the common ones: three bytes in UTF-8. */
static bool is_han(const char *text, const char *end) {
    if (end - text < han_bytes) return false;
    unsigned char first = (unsigned char)text[0];
    return first >= 0xe4 && first <= 0xe9 && (first > 0xe4 || (unsigned char)text[1] >= 0xb8);
}

/* Bytes of the word at `text`, within a run of Chinese characters that ends at `end`. */
static size_t match(word_list *words, bool (*is_word)(word_list *, const char *, size_t),
                    const char *text, const char *end) {
    size_t length = (size_t)(end - text);
    if (length > longest * han_bytes) length = longest * han_bytes;
    while (length > han_bytes && !is_word(words, text, length)) length -= han_bytes;
    return length;
}

/* Marks the positions where words begin; returns their number. */
static size_t segment(word_list *words, bool (*is_word)(word_list *, const char *, size_t),
                      const char *text, const char *end, bool *begins) {
    size_t found = 0;
    for (const char *at = text; at < end;) {
        if (!is_han(at, end)) {
            at++;
            continue;
        }
        const char *run = at;
        while (is_han(run, end)) run += han_bytes;
        for (; at < run; at += match(words, is_word, at, run)) {
            begins[at - text] = true;
            found++;
        }
    }
    return found;
}

static void read_words(const char *path, word_list *words) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.kind = TAMIS_FUSE;
    options.fpr = fpr;
    tamis_builder *builder;
    job_check(tamis_builder_create(&options, &builder), "creating a builder");
    words->exact = set_create();
    FILE *file = job_open(path);
    char *line = NULL;
    size_t room = 0, length;
    while (job_line(file, &line, &room, &length)) {
        length = strcspn(line, " ");
        job_check(tamis_builder_add(builder, line, length), "adding a word");
        set_add(words->exact, line, length);
    }
    free(line);
    fclose(file);
    job_check(tamis_builder_finish(builder, &words->filter), "building");
    tamis_builder_free(builder);
}

static char *read_text(const char *path, size_t *length) {
    FILE *file = job_open(path);
    char *text = NULL;
    size_t room = 0, got;
    *length = 0;
    do {
        text = job_resize(text, room += 1 << 20);
        *length += got = fread(text + *length, 1, room - *length, file);
    } while (got > 0);
    fclose(file);
    return text;
}

int main(int argc, char **argv) {
    if (argc != 3) job_fail("usage: chinese WORDS TEXT");
    word_list words = {0};
    read_words(argv[1], &words);
    size_t length;
    char *text = read_text(argv[2], &length);
    bool *filtered = calloc(length + 1, 1), *exact = calloc(length + 1, 1);
    if (!filtered || !exact) job_fail("out of memory");
    size_t found = segment(&words, by_filter, text, text + length, filtered);
    size_t exactly = segment(&words, by_set, text, text + length, exact);
    size_t differ = 0;
    for (size_t i = 0; i < length; i++) differ += filtered[i] != exact[i];

    tamis_facts facts = TAMIS_FACTS_INIT;
    job_check(tamis_info(words.filter, &facts), "reading the facts");
    job_row("Chinese, word by word", "filter", "exact set", NULL);
    job_row("words in the list", job_count((double)facts.distinct),
            job_count((double)set_count(words.exact)), NULL);
    job_row("memory, bytes", job_count((double)facts.encoded_bytes),
            job_count((double)set_memory(words.exact)), NULL);
    job_row("words found in the text", job_count((double)found), job_count((double)exactly), NULL);
    job_row("lookups", job_count((double)words.lookups), job_count((double)words.lookups), NULL);
    job_row("word boundaries that differ", job_count((double)differ), "0", NULL);
    if (found < 100000) job_fail("the text has too few Chinese words");
    if ((double)differ > 2 * fpr * (double)words.lookups)
        job_fail("too many word boundaries differ");
    if (facts.encoded_bytes * 10 > set_memory(words.exact))
        job_fail("more than a tenth of the memory of the exact set");
    free(filtered);
    free(exact);
    free(text);
    tamis_free(words.filter);
    set_free(words.exact);
}
