/* crawler.c - a crawler that remembers fetched pages in a filter, or in an exact set
 *
 *     crawler filter PAGES DIRECTORY   crawls, or resumes after a kill
 *     crawler exact PAGES              crawls with an exact set of URLs, from start to end
 *     crawler report PAGES DIRECTORY   prints what the crawl fetched, lost and fetched again
 *
 * The web is simulated and repeatable: a stream of links, two of three to a new page and one to an
 * earlier page.  Fetching a page appends its number to the file `fetched`.
 *
 * The number of pages is not known in advance, so the filter is a growing one.  It has no false
 * negatives, so no page is fetched twice.  A false positive is a new page that is taken for a
 * fetched one, and is lost: 1 in 10,000 here.
 *
 * To survive a kill at any moment, the crawler saves the filter regularly.  The name of the file
 * has the number of the next link, and tamis_save renames a complete file into place, so filter
 * and position always match, without a transaction.
 *
 *     ... links ... | flush `fetched` | save DIRECTORY/seen.N.tamis | remove the older | links ...
 *
 * After a kill the crawl resumes at link N, and pages fetched since then are fetched again: each
 * page at least once. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"
#include "set.h"

enum { url_room = 160, saves = 20 };
static const double fpr = 1e-4;

/* -------------------------------------------------------------- the simulated web */

#define PICK(words, random) (words)[(random) % (sizeof(words) / sizeof(words)[0])]

static size_t url_of(uint64_t page, char url[url_room]) {
    static const char *const host[] = {"www", "shop", "blog", "news", "forum", "docs", "cdn"};
    static const char *const word[] = {"river",  "stone",  "market",  "garden",  "window",
                                       "silver", "paper",  "north",   "coffee",  "harbour",
                                       "winter", "letter", "journey", "lantern", "orchard"};
    static const char *const tld[] = {"com", "org", "net", "de", "fr", "io", "info"};
    uint64_t r = job_mix(page);
    return (size_t)snprintf(url, url_room, "https://%s.%s%s.%s/%d/%s/%s-%08" PRIx64, PICK(host, r),
                            PICK(word, r >> 8), PICK(word, r >> 16), PICK(tld, r >> 24),
                            2000 + (int)(r >> 32 & 15), PICK(word, r >> 40), PICK(word, r >> 48),
                            page * 2654435761 % 4294967296);
}

/* The position in the stream, and the number of pages linked so far. */
typedef struct links {
    uint64_t next, met;
} links;

/* The page of the next link. */
static uint64_t follow(links *stream) {
    uint64_t random = job_mix(~stream->next++);
    bool repeat = stream->met > 0 && random % 3 == 0;
    return repeat ? job_mix(random) % stream->met : stream->met++;
}

/* ------------------------------------------------------------------- the crawl */

/* Removes the saved filters of other positions; returns the latest position. */
static uint64_t saved_position(const char *directory, uint64_t keep) {
    DIR *entries = opendir(directory);
    if (!entries) job_fail("%s cannot be read", directory);
    uint64_t latest = 0, position;
    int end;
    for (struct dirent *entry; (entry = readdir(entries));) {
        end = 0;
        if (sscanf(entry->d_name, "seen.%" SCNu64 ".tamis%n", &position, &end) != 1 || !end ||
            entry->d_name[end])
            continue;
        if (position > latest) latest = position;
        if (keep && position < keep) unlinkat(dirfd(entries), entry->d_name, 0);
    }
    closedir(entries);
    return latest;
}

static void filter_path(char path[512], const char *directory, uint64_t position) {
    snprintf(path, 512, "%s/seen.%" PRIu64 ".tamis", directory, position);
}

static tamis_filter *start_or_resume(const char *directory, links *stream) {
    tamis_filter *seen;
    uint64_t position = saved_position(directory, 0);
    if (position == 0) {
        tamis_options options = TAMIS_OPTIONS_INIT;
        options.kind = TAMIS_GROWING;
        options.stage = TAMIS_BLOOM; /* a quarter smaller than the default, and slower */
        options.fpr = fpr;
        job_check(tamis_create(&options, &seen), "creating a filter");
        return seen;
    }
    char path[512];
    filter_path(path, directory, position);
    job_check(tamis_open(path, NULL, &seen), path);
    while (stream->next < position) follow(stream);
    printf("resumes at link %s\n", job_count((double)position));
    fflush(stdout); /* the process may be killed again */
    return seen;
}

static void save(const tamis_filter *seen, const char *directory, const links *stream,
                 FILE *fetched) {
    if (fflush(fetched)) job_fail("the disk is full");
    char path[512];
    filter_path(path, directory, stream->next);
    job_check(tamis_save(seen, path, true), path);
    saved_position(directory, stream->next);
}

static void crawl_by_filter(uint64_t pages, const char *directory) {
    char path[512], url[url_room];
    snprintf(path, sizeof path, "%s/fetched", directory);
    FILE *fetched = fopen(path, "ab");
    if (!fetched) job_fail("%s cannot be written", path);
    links stream = {0};
    tamis_filter *seen = start_or_resume(directory, &stream);

    uint64_t interval = pages * 3 / 2 / saves, page;
    while (stream.met < pages) {
        page = follow(&stream);
        bool fresh;
        job_check(tamis_add(seen, url, url_of(page, url), &fresh), "adding a URL");
        if (fresh) fwrite(&page, sizeof page, 1, fetched);
        if (stream.next % interval == 0) save(seen, directory, &stream, fetched);
    }
    save(seen, directory, &stream, fetched);
    fclose(fetched);
    tamis_facts facts = TAMIS_FACTS_INIT;
    job_check(tamis_info(seen, &facts), "reading the facts");
    printf("filter %" PRIu64 " %.0f\n", facts.table_bytes, job_peak_memory());
    tamis_free(seen);
}

static void crawl_exactly(uint64_t pages) {
    set *seen = set_create();
    links stream = {0};
    char url[url_room];
    while (stream.met < pages) set_add(seen, url, url_of(follow(&stream), url));
    printf("exact %zu %.0f\n", set_memory(seen), job_peak_memory());
    set_free(seen);
}

/* Counts fetched pages with a bitmap of all pages. */
static void report(uint64_t pages, const char *directory) {
    char path[512];
    snprintf(path, sizeof path, "%s/fetched", directory);
    FILE *fetched = job_open(path);
    unsigned char *bitmap = calloc(1, pages / 8 + 1);
    if (!bitmap) job_fail("out of memory");
    uint64_t once = 0, again = 0, page;
    while (fread(&page, sizeof page, 1, fetched) == 1) {
        if (page >= pages) job_fail("page %" PRIu64 " was never linked to", page);
        bool known = bitmap[page / 8] >> page % 8 & 1;
        bitmap[page / 8] |= (unsigned char)(1u << page % 8);
        once += !known;
        again += known;
    }
    fclose(fetched);
    free(bitmap);
    printf("fetched %" PRIu64 " lost %" PRIu64 " again %" PRIu64 "\n", once, pages - once, again);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    uint64_t pages = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (pages < 1000 || argc != (strcmp(mode, "exact") ? 4 : 3))
        job_fail("usage: crawler filter|report PAGES DIRECTORY, or crawler exact PAGES");
    if (!strcmp(mode, "filter"))
        crawl_by_filter(pages, argv[3]);
    else if (!strcmp(mode, "exact"))
        crawl_exactly(pages);
    else
        report(pages, argv[3]);
}
