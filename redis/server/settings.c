/* settings.c - the module's configuration
 *
 * Settings come from name-value pairs in the arguments of MODULE LOAD and from CONFIG SET.  CONFIG
 * names are bf.NAME on servers before 8.0, which prefix the module's name, and NAME from 8.0 on.
 * Arguments of MODULE LOAD are the defaults: values that CONFIG REWRITE has stored override them
 * after a restart.
 *
 * All settings are registered as strings, so that one table holds the limits and one function the
 * error texts. */
#include "server/settings.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVER_8 0x080000
#define FPR_MAX 0.25   /* higher rates are lowered to this */
#define VALUE_BYTES 32 /* length of a value as text */

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
    const char *old_name; /* load-time argument of RedisBloom 2.x, or NULL */
    size_t offset;        /* in struct settings */
    long long min, max;
    bool is_fpr;
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

struct problem {
    char text[128];
};

static bool report_range(const struct setting *s, long long min, long long max,
                         struct problem *why) {
    if (s->is_fpr) {
        snprintf(why->text, sizeof why->text, "Value for `%s` must be in the range (%f, %f)",
                 s->name, 0.0, 1.0);
    } else {
        snprintf(why->text, sizeof why->text, "Value for `%s` must be in the range [%lld, %lld]",
                 s->name, min, max);
    }
    return false;
}

static bool set_value(const struct setting *s, RedisModuleString *text, struct problem *why) {
    double fpr = 0.5;
    long long value = s->min;
    const int parsed = s->is_fpr ? RedisModule_StringToDouble(text, &fpr)
                                 : RedisModule_StringToLongLong(text, &value);
    if (parsed != REDISMODULE_OK || isnan(fpr)) {
        snprintf(why->text, sizeof why->text, "Invalid value for `%s`", s->name);
        return false;
    }
    if (!(fpr > 0 && fpr < 1) || value < s->min || value > s->max) {
        return report_range(s, s->min, s->max, why);
    }
    if (s->is_fpr) {
        current.bf_error_rate = fpr > FPR_MAX ? FPR_MAX : fpr;
    } else {
        *integer_of(s) = value;
    }
    return true;
}

/* Checks a setting against the others, after all values of one CONFIG SET are stored: the smallest
 * filter must hold two buckets. */
static bool fits(const struct setting *s, struct problem *why) {
    const long long bucket = current.cf_bucket_size, room = current.cf_initial_size / 2;
    if (bucket <= room) return true;
    if (integer_of(s) == &current.cf_bucket_size) return report_range(s, s->min, room, why);
    if (integer_of(s) == &current.cf_initial_size) {
        return report_range(s, 2 * bucket, s->max, why);
    }
    return true;
}

/* ---- CONFIG */

/* The string returned last: the server does not free it. */
static RedisModuleString *shown[SETTINGS];

/* The shortest text that parses to the same number. */
static void write_value(const struct setting *s, char text[VALUE_BYTES]) {
    if (!s->is_fpr) {
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

static int config_refuse(const struct problem *why, RedisModuleString **err) {
    *err = RedisModule_CreateString(NULL, why->text, strlen(why->text));
    return REDISMODULE_ERR;
}

static int config_set(const char *name, RedisModuleString *value, void *privdata,
                      RedisModuleString **err) {
    struct problem why;
    (void)name;
    return set_value(privdata, value, &why) ? REDISMODULE_OK : config_refuse(&why, err);
}

static int config_apply(RedisModuleCtx *ctx, void *privdata, RedisModuleString **err) {
    struct problem why;
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

/* A server may report version 8 or later and still not support names without a prefix: forks of
 * Redis, and builds made before 8.0. */
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

static bool log_refusal(RedisModuleCtx *ctx, const struct problem *why) {
    RedisModule_Log(ctx, "warning", "%s", why->text);
    return false;
}

static bool load_argument(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleString *value) {
    const char *word = RedisModule_StringPtrLen(name, NULL);
    struct problem why;
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
        RedisModule_Log(ctx, "warning", "Options must be pairs of a name and a value");
        return false;
    }
    for (int i = 0; i < argc; i += 2) {
        if (!load_argument(ctx, argv[i], argv[i + 1])) return false;
    }
    if (!register_configs(ctx)) return false;
    struct problem why;
    for (size_t i = 0; i < SETTINGS; i++) {
        if (!fits(&table[i], &why)) return log_refusal(ctx, &why);
    }
    return true;
}
