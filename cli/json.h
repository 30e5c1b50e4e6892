/* json.h - JSON to a stream: members and elements, indented, commas where they belong
 *
 * Strings are escaped; bytes that are not UTF-8 (a file's name may have any) become U+FFFD.
 * Numbers that JSON lacks (NaN, infinity) become null. */
#ifndef TAMIS_CLI_JSON_H
#define TAMIS_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *to;
    unsigned depth;
    bool some; /* the object or array at hand has a member already */
};

/* `name` is NULL in an array and at the top. */
void json_open(struct json *json, const char *name, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                  /* '}' or ']' */
void json_string(struct json *json, const char *name, const char *value);
void json_whole(struct json *json, const char *name, uint64_t value);
void json_real(struct json *json, const char *name, double value);
/* A number that was computed, with 9 digits: further ones depend on the machine's libm. */
void json_estimate(struct json *json, const char *name, double value);
void json_bool(struct json *json, const char *name, bool value);

#endif
