/* json.c - see json.h */
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "utf8.h"

static void quoted(FILE *to, const char *text) {
    fputc('"', to);
    const uint8_t *at = (const uint8_t *)text, *const end = at + strlen(text);
    while (at < end) {
        uint32_t point;
        const size_t length = utf8_decode(at, (size_t)(end - at), &point);
        if (length == 0) {
            fputs("\\ufffd", to);
        } else if (*at == '"' || *at == '\\') {
            fprintf(to, "\\%c", *at);
        } else if (*at < 0x20) {
            fprintf(to, "\\u%04x", (unsigned)*at);
        } else {
            fwrite(at, 1, length, to);
        }
        at += length != 0 ? length : 1;
    }
    fputc('"', to);
}

static void begin(struct json *json, const char *name) {
    if (json->some) fputc(',', json->to);
    if (json->depth > 0) fprintf(json->to, "\n%*s", (int)(2 * json->depth), "");
    if (name != NULL) {
        quoted(json->to, name);
        fputs(": ", json->to);
    }
    json->some = true;
}

void json_open(struct json *json, const char *name, char bracket) {
    begin(json, name);
    fputc(bracket, json->to);
    json->depth++;
    json->some = false;
}

void json_close(struct json *json, char bracket) {
    json->depth--;
    if (json->some) fprintf(json->to, "\n%*s", (int)(2 * json->depth), "");
    fputc(bracket, json->to);
    json->some = true;
    if (json->depth == 0) fputc('\n', json->to);
}

void json_string(struct json *json, const char *name, const char *value) {
    begin(json, name);
    quoted(json->to, value);
}

void json_whole(struct json *json, const char *name, uint64_t value) {
    begin(json, name);
    fprintf(json->to, "%llu", (unsigned long long)value);
}

void json_real(struct json *json, const char *name, double value) {
    begin(json, name);
    fputs(isfinite(value) ? text_exact(value).at : "null", json->to);
}

void json_estimate(struct json *json, const char *name, double value) {
    char digits[40];
    snprintf(digits, sizeof digits, "%.9g", value);
    json_real(json, name, strtod(digits, NULL));
}

void json_bool(struct json *json, const char *name, bool value) {
    begin(json, name);
    fputs(value ? "true" : "false", json->to);
}
