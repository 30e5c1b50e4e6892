/* lines.c - tamis-lines COUNT [SEED]: lines that look like URLs, about 70 bytes each
 *
 * Three of ten lines repeat an earlier one.  The same arguments give the same lines; another
 * seed gives others. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static const char *pick(const char *const *words, size_t count, uint64_t *random) {
    const char *word = words[*random % count];
    *random = mix(*random + 1);
    return word;
}

#define PICK(words, random) pick(words, sizeof(words) / sizeof(words)[0], random)

static void print_line(uint64_t id) {
    static const char *const host[] = {"www", "shop", "blog", "news", "forum", "docs", "cdn"};
    static const char *const word[] = {"river",  "stone",  "market",  "garden",  "window",
                                       "silver", "paper",  "north",   "coffee",  "harbour",
                                       "winter", "letter", "journey", "lantern", "orchard"};
    static const char *const tld[] = {"com", "org", "net", "de", "fr", "io", "info"};
    uint64_t random = mix(id);
    const char *a = PICK(host, &random), *b = PICK(word, &random), *c = PICK(word, &random);
    const char *d = PICK(tld, &random), *e = PICK(word, &random), *f = PICK(word, &random);
    printf("https://%s.%s%s.%s/%s/%s/%u/item-%016" PRIx64 "\n", a, b, c, d, e, f,
           2005 + (unsigned)(random % 20), mix(id));
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    const uint64_t count = strtoull(argv[1], NULL, 10);
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    const uint64_t base = seed << 40;
    uint64_t fresh = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t random = mix(i + 1);
        const uint64_t id = fresh > 0 && random % 10 < 3 ? (random >> 8) % fresh : fresh++;
        print_line(base + id);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
