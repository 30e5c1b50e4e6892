/* settings.c - the module's configuration
 *
 * The same settings by two ways: pairs of words when the module is loaded, and CONFIG GET and SET.
 * There a name is bf.NAME on servers before 8.0, which put the module's name before every setting,
 * and NAME from then on.  The words are what a setting is unless the configuration says otherwise:
 * so what CONFIG SET and REWRITE have kept there is there after a restart.
 *
 * All are strings to the server, so that one table has the limits and one function the texts
 * of what is out of them. */
#include "settings.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVER_8 0x080000
#define RATE_MOST 0.25 /* what is asked above is taken as this */
#define VALUE_BYTES 32 /* of a value as text */

static struct settings current = {.bf_error_rate = 0.01,
                                  .bf_initial_size = 100,
                                  .bf_expansion_factor = 2,
                                  .cf_bucket_size = 2,
                                  .cf_initial_size = 1024,
                                  .cf_max_iterations = 20,
                                  .cf_expansion_factor = 1,
                                  .cf_max_expansions = 32};

const struct settings *settings(void) { return &current; }

struct setting {
    const char *name;
    const char *old_name; /* of the load-time argument in RedisBloom 2.x; or NULL */
    size_t offset;        /* in struct settings */
    long long least, most;
    bool is_rate;
};

#define AT(field) offsetof(struct settings, field)
static const struct setting table[] = {
    {"bf-error-rate", "ERROR_RATE", AT(bf_error_rate), 0, 1, true},
    {"bf-initial-size", "INITIAL_SIZE", AT(bf_initial_size), 1, 1 << 30, false},
    {"bf-expansion-factor", NULL, AT(bf_expansion_factor), 0, 32768, false},
    {"cf-bucket-size", NULL, AT(cf_bucket_size), 1, 255, false},
    {"cf-initial-size", NULL, AT(cf_initial_size), 2, 1 << 30, false},
    {"cf-max-iterations", NULL, AT(cf_max_iterations), 1, 65535, false},
    {"cf-expansion-factor", NULL, AT(cf_expansion_factor), 0, 32768, false},
    {"cf-max-expansions", "CF_MAX_EXPANSIONS", AT(cf_max_expansions), 1, 65536, false},
};
#undef AT
#define SETTINGS (sizeof table / sizeof *table)

static long long *integer_of(const struct setting *s) {
    return (long long *)(void *)((char *)&current + s->offset);
}

/* ---- one value */

struct complaint {
    char text[128];
};

static bool complain_range(const struct setting *s, long long least, long long most,
                           struct complaint *why) {
    if (s->is_rate) {
        snprintf(why->text, sizeof why->text, "Value for `%s` must be in the range (%f, %f)",
                 s->name, 0.0, 1.0);
    } else {
        snprintf(why->text, sizeof why->text, "Value for `%s` must be in the range [%lld, %lld]",
                 s->name, least, most);
    }
    return false;
}

static bool set_rate(const struct setting *s, RedisModuleString *text, struct complaint *why) {
    double value;
    if (RedisModule_StringToDouble(text, &value) != REDISMODULE_OK || isnan(value)) {
        snprintf(why->text, sizeof why->text, "Invalid value for `%s`", s->name);
        return false;
    }
    if (!(value > 0 && value < 1)) return complain_range(s, 0, 0, why);
    current.bf_error_rate = value > RATE_MOST ? RATE_MOST : value;
    return true;
}

static bool set_value(const struct setting *s, RedisModuleString *text, struct complaint *why) {
    if (s->is_rate) return set_rate(s, text, why);
    long long value;
    if (RedisModule_StringToLongLong(text, &value) != REDISMODULE_OK) {
        snprintf(why->text, sizeof why->text, "Invalid value for `%s`", s->name);
        return false;
    }
    if (value < s->least || value > s->most) return complain_range(s, s->least, s->most, why);
    *integer_of(s) = value;
    return true;
}

/* Does a setting fit to the others, now that all are there which were set together?  A bucket must
 * fit twice into the smallest filter. */
static bool fits(const struct setting *s, struct complaint *why) {
    const long long bucket = current.cf_bucket_size, room = current.cf_initial_size / 2;
    if (bucket <= room) return true;
    if (integer_of(s) == &current.cf_bucket_size) return complain_range(s, s->least, room, why);
    if (integer_of(s) == &current.cf_initial_size) {
        return complain_range(s, 2 * bucket, s->most, why);
    }
    return true;
}

/* ---- CONFIG */

/* The server keeps the string that it was given last. */
static RedisModuleString *shown[SETTINGS];

/* The shortest text that reads as the same number. */
static void write_value(const struct setting *s, char text[VALUE_BYTES]) {
    if (!s->is_rate) {
        snprintf(text, VALUE_BYTES, "%lld", *integer_of(s));
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, VALUE_BYTES, "%.*g", digits, current.bf_error_rate);
        if (strtod(text, NULL) == current.bf_error_rate) break;
    }
}

static RedisModuleString *config_get(const char *name, void *privdata) {
    const struct setting *s = privdata;
    char text[VALUE_BYTES];
    write_value(s, text);
    RedisModuleString **mine = &shown[s - table];
    if (*mine != NULL) RedisModule_FreeString(NULL, *mine);
    *mine = RedisModule_CreateString(NULL, text, strlen(text));
    (void)name;
    return *mine;
}

static int config_refuse(const struct complaint *why, RedisModuleString **err) {
    *err = RedisModule_CreateString(NULL, why->text, strlen(why->text));
    return REDISMODULE_ERR;
}

static int config_set(const char *name, RedisModuleString *value, void *privdata,
                      RedisModuleString **err) {
    struct complaint why;
    (void)name;
    return set_value(privdata, value, &why) ? REDISMODULE_OK : config_refuse(&why, err);
}

static int config_apply(RedisModuleCtx *ctx, void *privdata, RedisModuleString **err) {
    struct complaint why;
    (void)ctx;
    return fits(privdata, &why) ? REDISMODULE_OK : config_refuse(&why, err);
}

static bool register_config(RedisModuleCtx *ctx, size_t i, unsigned flags) {
    char text[VALUE_BYTES];
    write_value(&table[i], text);
    return RedisModule_RegisterStringConfig(ctx, table[i].name, text, flags, config_get, config_set,
                                            config_apply,
                                            (void *)(uintptr_t)&table[i]) == REDISMODULE_OK;
}

/* A server may call itself 8, or later, and not know of names without a prefix: those that are
 * Redis by another name, or were built on the way to 8.0. */
static bool register_configs(RedisModuleCtx *ctx) {
    size_t i = 0;
    unsigned flags = REDISMODULE_CONFIG_DEFAULT;
    if (RedisModule_GetServerVersion() >= SERVER_8 &&
        register_config(ctx, 0, REDISMODULE_CONFIG_UNPREFIXED)) {
        flags = REDISMODULE_CONFIG_UNPREFIXED;
        i = 1;
    }
    for (; i < SETTINGS; i++) {
        if (!register_config(ctx, i, flags)) return false;
    }
    return RedisModule_LoadConfigs(ctx) == REDISMODULE_OK;
}

/* ---- MODULE LOAD */

static bool same_word(const char *a, const char *b) {
    if (b == NULL) return false;
    while (*a != '\0' && tolower((unsigned char)*a) == tolower((unsigned char)*b)) a++, b++;
    return *a == '\0' && *b == '\0';
}

static bool log_refusal(RedisModuleCtx *ctx, const struct complaint *why) {
    RedisModule_Log(ctx, "warning", "%s", why->text);
    return false;
}

static bool load_argument(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString *value) {
    const char *word = RedisModule_StringPtrLen(name, NULL);
    struct complaint why;
    for (size_t i = 0; i < SETTINGS; i++) {
        const struct setting *s = &table[i];
        if (!same_word(word, s->name) && !same_word(word, s->old_name)) continue;
        return set_value(s, value, &why) || log_refusal(ctx, &why);
    }
    RedisModule_Log(ctx, "warning", "Unrecognized option `%s`", word);
    return false;
}

bool settings_load(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    size_t length;
    if (argc == 1 && (RedisModule_StringPtrLen(argv[0], &length), length == 0)) argc = 0;
    if (argc % 2 != 0) {
        RedisModule_Log(ctx, "warning", "Options come in pairs of a name and a value");
        return false;
    }
    for (int i = 0; i < argc; i += 2) {
        if (!load_argument(ctx, argv[i], argv[i + 1])) return false;
    }
    if (!register_configs(ctx)) return false;
    struct complaint why;
    for (size_t i = 0; i < SETTINGS; i++) {
        if (!fits(&table[i], &why)) return log_refusal(ctx, &why);
    }
    return true;
}
