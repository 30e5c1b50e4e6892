/* blocklist.c - blocklist DOMAINS NAMES: which of the names are on a list of domains, or below one?
 *
 * DOMAINS has a domain a line.  A name is blocked if it is one of them or ends in one, so it is
 * asked for as it is and from each dot on:
 *
 *     ads.example.co.uk    ->  ads.example.co.uk, example.co.uk, co.uk
 *
 * Nearly all names are innocent, and nobody looks a second time: so the rate is low, one in a
 * million, which costs twice as much as one in a thousand and not a thousand times as much.
 * Each name is looked up in an exact set, too, to count the innocent that are blocked. */
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "set.h"

static const double rate = 1e-6;

typedef struct lists {
    tamis_filter *filter;
    set *exact;
    uint64_t questions;
} lists;

/* The rest of a name after its first dot; NULL if no domain could be left. */
static const char *parent(const char *name) {
    const char *dot = strchr(name, '.');
    return dot && strchr(dot + 1, '.') ? dot + 1 : NULL;
}

static bool blocked_by_filter(lists *blocked, const char *name) {
    for (; name; name = parent(name)) {
        blocked->questions++;
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
    tamis_options want = TAMIS_OPTIONS_INIT;
    want.kind = TAMIS_FUSE;
    want.rate = rate;
    tamis_builder *builder;
    job_check(tamis_builder_create(&want, &builder), "making a builder");
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
    uint64_t asked = 0, guilty = 0, innocent = 0;
    double by_filter = 0, by_set = 0;
    for (; job_line(names, &name, &room, &length); asked++) {
        double start = job_seconds();
        bool maybe = blocked_by_filter(&blocked, name);
        double middle = job_seconds();
        bool surely = blocked_exactly(&blocked, name);
        by_set += job_seconds() - middle;
        by_filter += middle - start;
        if (surely && !maybe) job_fail("%s was let through", name);
        guilty += surely;
        innocent += maybe && !surely;
    }
    free(name);
    fclose(names);

    tamis_facts facts = TAMIS_FACTS_INIT;
    job_check(tamis_info(blocked.filter, &facts), "looking at the filter");
    job_row("", "filter", "exact set", NULL);
    job_row("domains on the list", job_count(facts.distinct),
            job_count((double)set_count(blocked.exact)), NULL);
    job_row("memory, bytes", job_count((double)facts.encoded_bytes),
            job_count((double)set_memory(blocked.exact)), NULL);
    job_row("names asked for", job_count((double)asked), job_count((double)asked), NULL);
    job_row("  blocked", job_count((double)(guilty + innocent)), job_count((double)guilty), NULL);
    job_row("  wrongly", job_count((double)innocent), "0", NULL);
    /* Two looks at the clock are in it, of about 25 ns each. */
    job_row("nanoseconds a name", job_text("%.0f", by_filter * 1e9 / (double)asked),
            job_text("%.0f", by_set * 1e9 / (double)asked), NULL);
    if (guilty < 1000) job_fail("hardly a name is blocked: not the data that it was made for");
    if ((double)innocent > 2 * rate * (double)blocked.questions + 4)
        job_fail("more of the innocent are blocked than promised");
    if (facts.encoded_bytes * 10 > set_memory(blocked.exact)) job_fail("not a tenth of the memory");
    tamis_free(blocked.filter);
    set_free(blocked.exact);
}
