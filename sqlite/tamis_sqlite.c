/* tamis_sqlite.c - membership filters in SQLite: a loadable extension
 *
 *     .load tamis_sqlite
 *     CREATE TABLE seen AS SELECT tamis_build(url, 0.001) AS filter FROM visits;
 *     SELECT url FROM crawl, seen WHERE NOT tamis_contains(filter, url);
 *
 * doc/sqlite.md is the manual.  A filter is a BLOB: the bytes of a .tamis file, or of another
 * system's.  The checksums of a blob are compared before it is used; a damaged
 * blob is an SQL error, never an answer.
 *
 * SQLite derives the name of the entry point from the name of the file:
 * sqlite3_tamissqlite_init for tamis_sqlite.so.  sqlite3_tamis_init is the same, for callers that
 * name it and for a file named tamis.so. */
#include "sql.h"
SQLITE_EXTENSION_INIT1

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

EXPORTED int sqlite3_tamis_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);
EXPORTED int sqlite3_tamissqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);

int sqlite3_tamis_init(sqlite3 *db, char **error, const sqlite3_api_routines *api) {
    SQLITE_EXTENSION_INIT2(api);
    struct sql_state *state = sql_state_new();
    if (state == NULL) return SQLITE_NOMEM;
    int code = sql_functions_register(db, state);
    if (code == SQLITE_OK) code = sql_tables_register(db, state);
    /* For example: it is loaded already, and a statement is running. */
    if (code != SQLITE_OK && error != NULL) *error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    sql_state_release(state);
    return code;
}

int sqlite3_tamissqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api) {
    return sqlite3_tamis_init(db, error, api);
}
