/* nickname.c - nickname TAKEN WANTED: is this name taken?  A filter first, a database second
 *
 *     wanted name --> filter --> "no": definitely free
 *                        `-----> "possibly" --> SQLite --> taken, or a false positive
 *
 * The result is always exact: a name that is possibly taken is looked up in the table.  The filter
 * saves the queries for free names, most of what people try.  A new name is added to the filter
 * first and inserted into the table second: a name that is only in the filter costs one query, but
 * one that is only in the table would be reported as free.
 *
 * TAKEN and WANTED have one name per line.  Each wanted name is looked up, and the first hundred
 * free names are taken. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { new_names = 100 };

typedef struct names {
    sqlite3 *database;
    sqlite3_stmt *find, *insert;
    tamis_filter *filter; /* NULL: the database alone */
    uint64_t queries, found;
    int added;
} names;

static void sql(names *taken, int code, int expected) {
    if (code != expected) job_fail("sqlite: %s", sqlite3_errmsg(taken->database));
}

static bool in_database(names *taken, const char *name, size_t length) {
    taken->queries++;
    sql(taken, sqlite3_bind_text(taken->find, 1, name, (int)length, SQLITE_STATIC), SQLITE_OK);
    int code = sqlite3_step(taken->find);
    if (code != SQLITE_ROW) sql(taken, code, SQLITE_DONE);
    sqlite3_reset(taken->find);
    return code == SQLITE_ROW;
}

static bool is_taken(names *taken, const char *name, size_t length) {
    if (taken->filter && !tamis_contains(taken->filter, name, length)) return false;
    return in_database(taken, name, length);
}

static void take(names *taken, const char *name, size_t length) {
    if (taken->filter) job_check(tamis_add(taken->filter, name, length, NULL), "adding a name");
    sql(taken, sqlite3_bind_text(taken->insert, 1, name, (int)length, SQLITE_STATIC), SQLITE_OK);
    sql(taken, sqlite3_step(taken->insert), SQLITE_DONE);
    sqlite3_reset(taken->insert);
}

static void open_database(names *taken) {
    sql(taken, sqlite3_open("names.db", &taken->database), SQLITE_OK);
    const char *table =
        "PRAGMA synchronous = off;"
        "CREATE TABLE names (name TEXT PRIMARY KEY) WITHOUT ROWID;";
    sql(taken, sqlite3_exec(taken->database, table, NULL, NULL, NULL), SQLITE_OK);
    sql(taken,
        sqlite3_prepare_v2(taken->database, "SELECT 1 FROM names WHERE name = ?", -1, &taken->find,
                           NULL),
        SQLITE_OK);
    sql(taken,
        sqlite3_prepare_v2(taken->database, "INSERT OR IGNORE INTO names VALUES (?)", -1,
                           &taken->insert, NULL),
        SQLITE_OK);
}

/* Calls `handle` for each line; returns the number of lines. */
static uint64_t each_line(const char *path, void (*handle)(names *, const char *, size_t),
                          names *taken) {
    FILE *file = job_open(path);
    char *line = NULL;
    size_t room = 0, length;
    uint64_t count = 0;
    for (; job_line(file, &line, &room, &length); count++) handle(taken, line, length);
    free(line);
    fclose(file);
    return count;
}

/* The table of names, and the filter: a growing one, because there will be more names. */
static uint64_t fill(names *taken, const char *path) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.kind = TAMIS_GROWING;
    job_check(tamis_create(&options, &taken->filter), "creating a filter");
    sql(taken, sqlite3_exec(taken->database, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
    uint64_t count = each_line(path, take, taken);
    sql(taken, sqlite3_exec(taken->database, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    return count;
}

static void look_up(names *taken, const char *name, size_t length) {
    taken->found += is_taken(taken, name, length);
}

/* Takes the first free names; they must be taken from then on. */
static void take_if_free(names *taken, const char *name, size_t length) {
    if (taken->added == new_names || is_taken(taken, name, length)) return;
    take(taken, name, length);
    taken->added++;
    if (!is_taken(taken, name, length)) job_fail("false negative: %s", name);
}

int main(int argc, char **argv) {
    if (argc != 3) job_fail("usage: nickname TAKEN WANTED");
    names taken = {0};
    open_database(&taken);
    uint64_t count = fill(&taken, argv[1]);
    each_line(argv[2], take_if_free, &taken);

    /* The same lookups, with and without the filter. */
    uint64_t queries[2], answers[2], wanted = 0;
    double seconds[2];
    tamis_filter *filter = taken.filter;
    for (int with_filter = 0; with_filter < 2; with_filter++) {
        taken.filter = with_filter ? filter : NULL;
        taken.queries = taken.found = 0;
        double start = job_seconds();
        wanted = each_line(argv[2], look_up, &taken);
        seconds[with_filter] = job_seconds() - start;
        queries[with_filter] = taken.queries;
        answers[with_filter] = taken.found;
    }
    uint64_t vacant = wanted - answers[0];
    uint64_t looked_up = queries[1] - answers[1];
    tamis_facts facts = TAMIS_FACTS_INIT;
    job_check(tamis_info(filter, &facts), "reading the facts");

    job_row("", "SQLite alone", "filter first", NULL);
    job_row("names taken", job_count((double)count), job_count((double)count), NULL);
    job_row("names looked up", job_count((double)wanted), job_count((double)wanted), NULL);
    job_row("  found to be taken", job_count((double)answers[0]), job_count((double)answers[1]),
            NULL);
    job_row("  found to be free", job_count((double)vacant),
            job_count((double)(wanted - answers[1])), NULL);
    job_row("queries to SQLite", job_count((double)queries[0]), job_count((double)queries[1]),
            NULL);
    job_row("  for names that are free", job_count((double)vacant), job_count((double)looked_up),
            NULL);
    job_row("microseconds per lookup", job_text("%.2f", seconds[0] / (double)wanted * 1e6),
            job_text("%.2f", seconds[1] / (double)wanted * 1e6), NULL);
    job_row("memory of the filter, MB", "-", job_text("%.2f", (double)facts.table_bytes / 1e6),
            NULL);
    if (answers[0] != answers[1]) job_fail("the filter changed a result");
    if (taken.added != new_names || vacant < wanted / 4) job_fail("too few names are free");
    if (looked_up * 50 > vacant)
        job_fail("less than 98 %% of the queries for free names were saved");

    tamis_free(filter);
    sqlite3_finalize(taken.find);
    sqlite3_finalize(taken.insert);
    sqlite3_close(taken.database);
}
