/* keys.c - KEYOPTS: what was given, what the filter stores, and the two together */
#define _POSIX_C_SOURCE 200809L /* fdopen */

#include "keys.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "numbers.h"

/* One byte of a delimiter or separator as it is written: itself, or \t \n \r \0 \\ \xHH. */
static uint8_t take_byte(const char **text) {
    static const char letters[] = "tnr0\\", bytes[] = "\t\n\r\0\\";
    const char *at = *text;
    *text = at + 1;
    if (at[0] != '\\' || at[1] == '\0') return (uint8_t)at[0];
    const char *letter = strchr(letters, at[1]);
    if (letter != NULL) {
        *text = at + 2;
        return (uint8_t)bytes[letter - letters];
    }
    if (at[1] == 'x' && hex_digit(at[2]) < 16 && hex_digit(at[3]) < 16) {
        *text = at + 4;
        return (uint8_t)(hex_digit(at[2]) << 4 | hex_digit(at[3]));
    }
    return (uint8_t)at[0];
}

static void take_delimiter(struct key_options *keys, const char *text) {
    const char *rest = text;
    if (text[0] == '\0') die("-d: the delimiter is empty; for NUL give -0");
    keys->delimiter = take_byte(&rest);
    if (*rest != '\0') die("-d: the delimiter must be one byte, not '%s'", text);
}

static void take_separator(struct key_options *keys, const char *text) {
    size_t length = 0;
    if (text[0] == '\0') die("-t: the separator is empty");
    for (const char *rest = text; *rest != '\0';) {
        if (length == TAMIS_SEPARATOR_MAX) {
            die("-t: the separator has more than %d bytes", TAMIS_SEPARATOR_MAX);
        }
        keys->form.separator[length++] = take_byte(&rest);
    }
    keys->form.separator_length = (uint8_t)length;
    keys->has_separator = true;
}

bool key_options_take(struct key_options *keys, int id, const struct args *args) {
    uint32_t *flags = &keys->form.flags;
    const struct binding list[] = {
        {OPT_FIELD, .small = &keys->form.field, .low = 1, .high = 1000000000},
        {OPT_HEX, .bits = flags, .mask = TAMIS_KEY_HEX},
        {OPT_PREHASHED, .bits = flags, .mask = TAMIS_KEY_PREHASHED},
        {OPT_STRIP_CR, .bits = flags, .mask = TAMIS_KEY_STRIP_CR},
        {OPT_FOLD_CASE, .bits = flags, .mask = TAMIS_KEY_FOLD_CASE},
        {OPT_AS, .choice = &keys->form.type, .flag = &keys->has_type},
        {OPT_KEY_FILE, .text = &keys->key_file},
        {0}};
    switch (id) {
        case OPT_NUL:
            keys->delimiter = '\0';
            return true;
        case OPT_DELIMITER:
            take_delimiter(keys, args->value);
            return true;
        case OPT_SEPARATOR:
            take_separator(keys, args->value);
            return true;
        default:
            return args_store(args, id, list);
    }
}

/* 32 hexadecimal digits, and white space around them. */
static void read_secret(struct key_options *keys) {
    char text[256];
    const int descriptor = descriptor_open(keys->key_file, O_RDONLY);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "rb");
    if (file == NULL) die("cannot open key file '%s': %s", keys->key_file, strerror(errno));
    const size_t length = fread(text, 1, sizeof text, file);
    const bool bad = ferror(file) != 0;
    fclose(file);
    if (bad) die("cannot read key file '%s': %s", keys->key_file, strerror(errno));
    size_t from = 0, to = length;
    while (from < to && isspace((unsigned char)text[from])) from++;
    while (to > from && isspace((unsigned char)text[to - 1])) to--;
    const bool right = to - from == 2 * TAMIS_SECRET_BYTES;
    if (!right || !hex_decode((const uint8_t *)text + from, TAMIS_SECRET_BYTES, keys->secret)) {
        die("key file '%s' must hold 32 hexadecimal digits (16 bytes) and nothing else",
            keys->key_file);
    }
}

void key_options_check(struct key_options *keys) {
    const uint32_t flags = keys->form.flags;
    if (keys->has_separator && keys->form.field == 0) {
        die("-t SEP needs -F N, the number of the field");
    }
    if (keys->form.field != 0 && !keys->has_separator) {
        keys->form.separator[0] = '\t';
        keys->form.separator_length = 1;
    }
    if ((flags & TAMIS_KEY_HEX) && (flags & TAMIS_KEY_PREHASHED)) {
        die("--hex and --prehashed contradict each other: a key is one or the other");
    }
    if ((flags & (TAMIS_KEY_HEX | TAMIS_KEY_PREHASHED)) && keys->form.type != TAMIS_KEY_BYTES) {
        die("%s and --as %s contradict each other", flags & TAMIS_KEY_HEX ? "--hex" : "--prehashed",
            key_type_name(keys->form.type));
    }
    if (keys->key_file != NULL) read_secret(keys);
}

const uint8_t *key_options_secret(const struct key_options *keys) {
    return keys->key_file != NULL ? keys->secret : NULL;
}

/* ---- what the filter stores */

static _Noreturn void contradiction(const char *path, const tamis_key_form *stored,
                                    const tamis_key_form *given) {
    char was[256], is[256];
    key_form_text(stored, was, sizeof was);
    key_form_text(given, is, sizeof is);
    die("'%s' was built with %s, and '%s' contradicts that: leave it out", path,
        was[0] != '\0' ? was : "whole records as keys", is[0] != '\0' ? is : "--as bytes");
}

static bool same_field(const tamis_key_form *a, const tamis_key_form *b) {
    return a->field == b->field && a->separator_length == b->separator_length &&
           memcmp(a->separator, b->separator, a->separator_length) == 0;
}

bool key_form_same(const tamis_key_form *a, const tamis_key_form *b) {
    return a->flags == b->flags && a->type == b->type && same_field(a, b);
}

/* Other systems' filters do not store how keys are made, so nothing can contradict them; but some
 * accept only integers, and some hash keys to more than 64 bits. */
static void compat_form_check(const tamis_facts *facts, const tamis_key_form *form,
                              const char *path) {
    const bool integers = form->type == TAMIS_KEY_I64 || form->type == TAMIS_KEY_U64 ||
                          form->type == TAMIS_KEY_F64 || (form->flags & TAMIS_KEY_HEX) != 0;
    if (facts->key_bytes == 8 && !integers) {
        die("the keys of '%s' are 64-bit integers: give --as u64 (or i64)", path);
    }
    if ((form->flags & TAMIS_KEY_PREHASHED) && !facts->prehashed) {
        die("'%s' cannot be queried by hash: give the keys themselves", path);
    }
}

/* Do keys differ from their text? */
static bool is_decoded(const tamis_key_form *form) {
    return (form->flags & TAMIS_KEY_HEX) || form->type != TAMIS_KEY_BYTES;
}

tamis_key_form key_form_merge(const tamis_facts *facts, const struct key_options *given,
                              const char *path) {
    const tamis_key_form *form = &given->form, *stored = &facts->form;
    const bool compat = strcmp(facts->format, "tamis") != 0 || facts->hasher == TAMIS_HASH_COMPAT;
    const uint32_t decoding = TAMIS_KEY_HEX | TAMIS_KEY_PREHASHED;
    tamis_key_form merged = *stored;
    merged.flags |= form->flags;

    if (form->field != 0) {
        /* -F without -t takes the separator from the filter. */
        tamis_key_form wanted = *form;
        if (!given->has_separator && stored->field != 0) {
            wanted.separator_length = stored->separator_length;
            memcpy(wanted.separator, stored->separator, sizeof wanted.separator);
        }
        if (stored->field != 0 && !same_field(stored, &wanted)) contradiction(path, stored, form);
        merged.field = wanted.field;
        merged.separator_length = wanted.separator_length;
        memcpy(merged.separator, wanted.separator, sizeof merged.separator);
    }
    if (given->has_type) {
        if (stored->type != TAMIS_KEY_BYTES && form->type != stored->type) {
            contradiction(path, stored, form);
        }
        merged.type = form->type;
    }
    if ((stored->flags & TAMIS_KEY_FOLD_CASE) && !is_decoded(stored) && is_decoded(form)) {
        merged.flags |= KEY_FOLD_DECODED;
    }
    const bool both_ways = (merged.flags & decoding) == decoding ||
                           ((merged.flags & decoding) && merged.type != TAMIS_KEY_BYTES);
    if (both_ways) contradiction(path, stored, form);
    compat_form_check(facts, &merged, path);
    if (!compat && (form->flags & TAMIS_KEY_FOLD_CASE) && !(stored->flags & TAMIS_KEY_FOLD_CASE)) {
        die("'%s' was built without --fold-case: with it, keys that have capitals would be missed",
            path);
    }
    return merged;
}
