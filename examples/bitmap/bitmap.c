/* bitmap.c - bitmap STREAM MISSING: the numbers of 0..1,000,000 that do not occur in a stream
 *
 * Writes them into MISSING, ascending, and ends in a table.
 *
 * The bitmap has one bit for each possible number: 1,000,001 bits, 125,001 bytes, whatever the
 * length of the stream.  A Bloom filter extends this array to keys that are not small numbers: keys
 * are hashed to positions, several keys share a position, and there are false positives.  With a
 * bit for every possible key there is no hash and no false positive, and the absent numbers can be
 * listed, which no filter can do.
 *
 * A filter does the same beside it, for comparison:
 *
 *     bytes    possible keys / 8           against   keys in the stream * 9.6 / 8, at 1 %
 *
 * So the filter is smaller only if fewer than one possible key in ten occurs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { last = 1000000, bytes = last / 8 + 1 };

static bool is_set(const unsigned char *bitmap, uint32_t number) {
    return bitmap[number / 8] >> number % 8 & 1;
}

static uint64_t read_stream(const char *path, unsigned char *bitmap, tamis_filter *filter) {
    FILE *stream = job_open(path);
    char *line = NULL;
    size_t room = 0, length;
    uint64_t count = 0;
    while (job_line(stream, &line, &room, &length)) {
        char *end;
        unsigned long number = strtoul(line, &end, 10);
        if (end == line || *end || number > last) job_fail("%s: not a number of 0..%d", line, last);
        bitmap[number / 8] |= (unsigned char)(1u << number % 8);
        job_check(tamis_add_hash(filter, tamis_hash_integer(number), NULL), "adding a number");
        count++;
    }
    free(line);
    fclose(stream);
    return count;
}

/* Bytes of a filter for this number of keys at 1 %. */
static double filter_bytes(uint64_t keys) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.kind = TAMIS_BLOOM;
    options.capacity = keys;
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    job_check(tamis_size(&options, &sizing), "sizing a filter");
    return (double)sizing.bytes;
}

int main(int argc, char **argv) {
    if (argc != 3) job_fail("usage: bitmap STREAM MISSING");
    static unsigned char bitmap[bytes];
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.kind = TAMIS_BLOOM;
    options.capacity = last + 1;
    tamis_filter *filter;
    job_check(tamis_create(&options, &filter), "creating a filter");
    uint64_t count = read_stream(argv[1], bitmap, filter);

    FILE *missing = fopen(argv[2], "w");
    if (!missing) job_fail("%s cannot be written", argv[2]);
    uint32_t by_bitmap = 0, by_filter = 0;
    for (uint32_t number = 0; number <= last; number++) {
        bool absent_by_filter = !tamis_contains_hash(filter, tamis_hash_integer(number));
        if (is_set(bitmap, number)) {
            if (absent_by_filter) job_fail("false negative: %" PRIu32, number);
            continue;
        }
        fprintf(missing, "%" PRIu32 "\n", number);
        by_bitmap++;
        by_filter += absent_by_filter;
    }
    if (fclose(missing)) job_fail("%s cannot be written", argv[2]);

    tamis_facts facts = TAMIS_FACTS_INIT;
    job_check(tamis_info(filter, &facts), "reading the facts");
    job_row("", "bitmap", "filter, 1 %", NULL);
    job_row("numbers in the stream", job_count((double)count), job_count((double)count), NULL);
    job_row("memory, bytes", job_count(bytes), job_count((double)facts.table_bytes), NULL);
    job_row("missing numbers found", job_count(by_bitmap), job_count(by_filter), NULL);
    job_row("missing numbers not found", "0", job_count(by_bitmap - by_filter), NULL);
    job_row("bytes for 10,000 numbers", job_count(bytes), job_count(filter_bytes(10000)), NULL);
    tamis_free(filter);
    if (by_filter == by_bitmap) job_fail("the filter has no false positives, which is unlikely");
}
