/* postgres.c - the table of users in PostgreSQL: see database.h */
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdlib.h>

#include "database.h"
#include "job.h"

typedef struct postgres {
    database users;
    PGconn *connection;
} postgres;

/* Returns the result if it has the expected status; otherwise ends the program. */
static PGresult *check(const postgres *self, PGresult *result, ExecStatusType expected) {
    if (PQresultStatus(result) != expected)
        job_fail("postgres: %s", PQerrorMessage(self->connection));
    return result;
}

static void execute(postgres *self, const char *text) {
    PQclear(check(self, PQexec(self->connection, text), PGRES_COMMAND_OK));
}

/* Inserts rows with COPY, far faster than one statement per row. */
static void postgres_load(database *users, bool begin) {
    postgres *self = users->state;
    if (begin) {
        PQclear(check(self, PQexec(self->connection, "COPY users FROM STDIN"), PGRES_COPY_IN));
        return;
    }
    if (PQputCopyEnd(self->connection, NULL) != 1)
        job_fail("postgres: %s", PQerrorMessage(self->connection));
    for (PGresult *result; (result = PQgetResult(self->connection));)
        PQclear(check(self, result, PGRES_COMMAND_OK));
}

static void postgres_insert(database *users, uint64_t id, const char *name) {
    postgres *self = users->state;
    char line[name_room + 24];
    int length = snprintf(line, sizeof line, "%" PRIu64 "\t%s\n", id, name);
    if (PQputCopyData(self->connection, line, length) != 1)
        job_fail("postgres: %s", PQerrorMessage(self->connection));
}

static bool postgres_find(database *users, uint64_t id, char name[name_room]) {
    postgres *self = users->state;
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, id);
    const char *values[] = {number};
    PGresult *result = PQexecPrepared(self->connection, "find_user", 1, values, NULL, NULL, 0);
    check(self, result, PGRES_TUPLES_OK);
    bool found = PQntuples(result) > 0;
    if (found) snprintf(name, name_room, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return found;
}

static void postgres_close(database *users) {
    postgres *self = users->state;
    PQfinish(self->connection);
    free(self);
}

database *postgres_open(const char *where) {
    postgres *self = job_allocate(sizeof *self);
    self->users = (database){"PostgreSQL",    self,          postgres_load,
                             postgres_insert, postgres_find, postgres_close};
    self->connection = PQconnectdb(where);
    if (PQstatus(self->connection) != CONNECTION_OK)
        job_fail("postgres: %s", PQerrorMessage(self->connection));
    execute(self, "CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT NOT NULL)");
    const char *find = "SELECT name FROM users WHERE id = $1";
    PQclear(check(self, PQprepare(self->connection, "find_user", find, 0, NULL), PGRES_COMMAND_OK));
    return &self->users;
}
