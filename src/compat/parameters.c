/* parameters.c - "NAME=VALUE,NAME,...": parameters of a compatible format */
#include <string.h>

#include "compat/parameters.h"

/* The entry at `*at`: its length, and that of its name; moves on to the next. */
static const char *next_entry(const char **at, size_t *length, size_t *name) {
    const char *entry = *at;
    *length = strcspn(entry, ",");
    *name = strcspn(entry, "=,");
    *at = entry + *length + (entry[*length] == ',');
    return entry;
}

/* The value of `name` in a list, NULL if it is not there; `*length` is 0 without one. */
static const char *find(const char *list, const char *name, size_t name_length, size_t *length) {
    while (*list != '\0') {
        size_t whole, named;
        const char *entry = next_entry(&list, &whole, &named);
        if (named != name_length || memcmp(entry, name, named) != 0) continue;
        *length = whole > named ? whole - named - 1 : 0;
        return entry + (whole > named ? named + 1 : named);
    }
    return NULL;
}

bool tamis__parameters_known(const char *parameters, const char *known) {
    while (*parameters != '\0') {
        size_t length, name, ignored;
        const char *entry = next_entry(&parameters, &length, &name);
        if (known == NULL || find(known, entry, name, &ignored) == NULL) return false;
    }
    return true;
}

bool tamis__parameter(const char *parameters, const char *name) {
    size_t length;
    return find(parameters, name, strlen(name), &length) != NULL;
}

/* Digits, and at most one point: the digits as a whole number, divided by a power of ten, both
 * exact, so the quotient is the nearest double.  strtod would depend on the locale. */
bool tamis__parameter_number(const char *parameters, const char *name, double *value) {
    size_t length, digits = 0;
    const char *text = find(parameters, name, strlen(name), &length);
    if (text == NULL) return true;
    double whole = 0, power = 1;
    bool fraction = false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (text[i] < '0' || text[i] > '9' || ++digits > 15) return false;
        whole = whole * 10 + (text[i] - '0');
        if (fraction) power *= 10;
    }
    if (digits == 0) return false;
    *value = whole / power;
    return true;
}
