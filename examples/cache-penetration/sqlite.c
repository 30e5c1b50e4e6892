/* sqlite.c - the table of users in SQLite: see database.h */
#include <sqlite3.h>
#include <stdlib.h>

#include "database.h"
#include "job.h"

typedef struct sqlite {
    database users;
    sqlite3 *connection;
    sqlite3_stmt *insert, *find;
} sqlite;

static void check(const sqlite *self, int code, int expected) {
    if (code != expected) job_fail("sqlite: %s", sqlite3_errmsg(self->connection));
}

static void execute(sqlite *self, const char *text) {
    check(self, sqlite3_exec(self->connection, text, NULL, NULL, NULL), SQLITE_OK);
}

static sqlite3_stmt *prepare(sqlite *self, const char *text) {
    sqlite3_stmt *statement;
    check(self, sqlite3_prepare_v2(self->connection, text, -1, &statement, NULL), SQLITE_OK);
    return statement;
}

static void sqlite_load(database *users, bool begin) {
    execute(users->state, begin ? "BEGIN" : "COMMIT");
}

static void sqlite_insert(database *users, uint64_t id, const char *name) {
    sqlite *self = users->state;
    check(self, sqlite3_bind_int64(self->insert, 1, (sqlite3_int64)id), SQLITE_OK);
    check(self, sqlite3_bind_text(self->insert, 2, name, -1, SQLITE_TRANSIENT), SQLITE_OK);
    check(self, sqlite3_step(self->insert), SQLITE_DONE);
    sqlite3_reset(self->insert);
}

static bool sqlite_find(database *users, uint64_t id, char name[name_room]) {
    sqlite *self = users->state;
    check(self, sqlite3_bind_int64(self->find, 1, (sqlite3_int64)id), SQLITE_OK);
    int code = sqlite3_step(self->find);
    if (code == SQLITE_ROW)
        snprintf(name, name_room, "%s", (const char *)sqlite3_column_text(self->find, 0));
    else
        check(self, code, SQLITE_DONE);
    sqlite3_reset(self->find);
    return code == SQLITE_ROW;
}

static void sqlite_close(database *users) {
    sqlite *self = users->state;
    sqlite3_finalize(self->insert);
    sqlite3_finalize(self->find);
    sqlite3_close(self->connection);
    free(self);
}

database *sqlite_open(const char *path) {
    sqlite *self = job_allocate(sizeof *self);
    self->users = (database){"SQLite", self, sqlite_load, sqlite_insert, sqlite_find, sqlite_close};
    check(self, sqlite3_open(path, &self->connection), SQLITE_OK);
    execute(self, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL)");
    self->insert = prepare(self, "INSERT INTO users VALUES (?, ?)");
    self->find = prepare(self, "SELECT name FROM users WHERE id = ?");
    return &self->users;
}
