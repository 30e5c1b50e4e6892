/* blocklist.c - blocklist DOMAINS NAMES: which names are on a list of domains, or below one?
 *
 * DOMAINS has one domain per line.  A name is blocked if it or a parent domain is on the list, so
 * the name and all its parents are looked up:
 *
 *     ads.example.co.uk    ->  ads.example.co.uk, example.co.uk, co.uk
 *
 * Nearly all names are legitimate, and a false positive is not checked, so the rate is low: one in
 * a million, which takes twice the space of one in a thousand, not a thousand times.  Each name is
 * also looked up in an exact set, to count the names that are wrongly blocked. */
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "set.h"

static const double fpr = 1e-6;

typedef struct lists {
    tamis_filter *filter;
    set *exact;
    uint64_t lookups;
} lists;

/* The rest of a name after its first dot; NULL if no domain could be left. */
static const char *parent(const char *name) {
    const char *dot = strchr(name, '.');
    return dot && strchr(dot + 1, '.') ? dot + 1 : NULL;
}

static bool blocked_by_filter(lists *blocked, const char *name) {
    for (; name; name = parent(name)) {
        blocked->lookups++;
        if (tamis_contains(blocked->filter, name, strlen(name))) return true;
    }
    return false;
}

static bool blocked_exactly(const lists *blocked, const char *name) {
    for (; name; name = parent(name))
        if (set_contains(blocked->exact, name, strlen(name))) return true;
    return false;
}

static void read_domains(const char *path, lists *blocked) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.kind = TAMIS_FUSE;
    options.fpr = fpr;
    tamis_builder *builder;
    job_check(tamis_builder_create(&options, &builder), "creating a builder");
    blocked->exact = set_create();
    FILE *file = job_open(path);
    char *line = NULL;
    size_t room = 0, length;
    while (job_line(file, &line, &room, &length)) {
        job_check(tamis_builder_add(builder, line, length), "adding a domain");
        set_add(blocked->exact, line, length);
    }
    free(line);
    fclose(file);
    job_check(tamis_builder_finish(builder, &blocked->filter), "building");
    tamis_builder_free(builder);
}

int main(int argc, char **argv) {
    if (argc != 3) job_fail("usage: blocklist DOMAINS NAMES");
    lists blocked = {0};
    read_domains(argv[1], &blocked);

    FILE *names = job_open(argv[2]);
    char *name = NULL;
    size_t room = 0, length;
    uint64_t names_read = 0, rightly = 0, wrongly = 0;
    double by_filter = 0, by_set = 0;
    for (; job_line(names, &name, &room, &length); names_read++) {
        double start = job_seconds();
        bool matched = blocked_by_filter(&blocked, name);
        double middle = job_seconds();
        bool listed = blocked_exactly(&blocked, name);
        by_set += job_seconds() - middle;
        by_filter += middle - start;
        if (listed && !matched) job_fail("false negative: %s", name);
        rightly += listed;
        wrongly += matched && !listed;
    }
    free(name);
    fclose(names);

    tamis_facts facts = TAMIS_FACTS_INIT;
    job_check(tamis_info(blocked.filter, &facts), "reading the facts");
    job_row("", "filter", "exact set", NULL);
    job_row("domains on the list", job_count(facts.distinct),
            job_count((double)set_count(blocked.exact)), NULL);
    job_row("memory, bytes", job_count((double)facts.encoded_bytes),
            job_count((double)set_memory(blocked.exact)), NULL);
    job_row("names looked up", job_count((double)names_read), job_count((double)names_read), NULL);
    job_row("  blocked", job_count((double)(rightly + wrongly)), job_count((double)rightly), NULL);
    job_row("  wrongly", job_count((double)wrongly), "0", NULL);
    /* Includes two readings of the clock, about 25 ns each. */
    job_row("nanoseconds per name", job_text("%.0f", by_filter * 1e9 / (double)names_read),
            job_text("%.0f", by_set * 1e9 / (double)names_read), NULL);
    if (rightly < 1000) job_fail("fewer than 1,000 names are blocked: unexpected data");
    if ((double)wrongly > 2 * fpr * (double)blocked.lookups + 4)
        job_fail("more names are wrongly blocked than promised");
    if (facts.encoded_bytes * 10 > set_memory(blocked.exact))
        job_fail("more than a tenth of the memory of the exact set");
    tamis_free(blocked.filter);
    set_free(blocked.exact);
}
