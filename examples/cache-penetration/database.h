/* database.h - a table of users in a database: what the cache and the filter protect
 *
 *     CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT)
 *
 * One file for each kind of database.  All functions end the program if the database fails. */
#ifndef DATABASE_H
#define DATABASE_H

#include <stdbool.h>
#include <stdint.h>

enum { name_room = 32 };

typedef struct database database;
struct database {
    const char *kind;
    void *state;
    /* Begins (true) or ends loading; inserts come between. */
    void (*load)(database *users, bool begin);
    void (*insert)(database *users, uint64_t id, const char *name);
    bool (*find)(database *users, uint64_t id, char name[name_room]);
    void (*close)(database *users);
};

/* Opens a new database in a file. */
database *sqlite_open(const char *path);

#ifdef WITH_POSTGRES
/* Connects to a server; `where` is what libpq takes: "host=/run/postgresql dbname=...". */
database *postgres_open(const char *where);
#endif

#endif
