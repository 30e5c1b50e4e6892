/* docs.c - what COMMAND DOCS and COMMAND INFO tell of the commands
 *
 * A line for each: summary, complexity, since, arguments.  For the commands that RedisBloom has
 * these are what its COMMAND DOCS says, since tools and tests compare them; what is new is in
 * the history, as for any command that has got another option. */
#include <string.h>

#include "types.h"

static const RedisModuleCommandInfoVersion info_version = {
    .version = 1,
    .sizeof_historyentry = sizeof(RedisModuleCommandHistoryEntry),
    .sizeof_keyspec = sizeof(RedisModuleCommandKeySpec),
    .sizeof_arg = sizeof(RedisModuleCommandArg)};

/* ---- arguments */

#define KEY \
    { .name = "key", .type = REDISMODULE_ARG_TYPE_KEY, .key_spec_index = 0 }
#define ARG(text, kind) \
    { .name = text, .type = REDISMODULE_ARG_TYPE_##kind, .key_spec_index = -1 }
#define MANY(text, kind)                                                         \
    {                                                                            \
        .name = text, .type = REDISMODULE_ARG_TYPE_##kind, .key_spec_index = -1, \
        .flags = REDISMODULE_CMD_ARG_MULTIPLE                                    \
    }
#define WORD(text, word) \
    { .name = text, .type = REDISMODULE_ARG_TYPE_PURE_TOKEN, .key_spec_index = -1, .token = word }
#define FLAG(text, word)                                                             \
    {                                                                                \
        .name = text, .type = REDISMODULE_ARG_TYPE_PURE_TOKEN, .key_spec_index = -1, \
        .token = word, .flags = REDISMODULE_CMD_ARG_OPTIONAL                         \
    }
#define OPTION(text, parts)                                                     \
    {                                                                           \
        .name = text, .type = REDISMODULE_ARG_TYPE_BLOCK, .key_spec_index = -1, \
        .flags = REDISMODULE_CMD_ARG_OPTIONAL, .subargs = parts                 \
    }
#define END \
    { .name = NULL }

typedef RedisModuleCommandArg Arg;

static Arg expansion[] = {WORD("expansion", "EXPANSION"), ARG("expansion", INTEGER), END};
static Arg capacity[] = {WORD("capacity", "CAPACITY"), ARG("capacity", INTEGER), END};
static Arg error_rate[] = {WORD("error", "ERROR"), ARG("error", DOUBLE), END};
static Arg bucketsize[] = {WORD("bucketsize", "BUCKETSIZE"), ARG("bucketsize", INTEGER), END};
static Arg maxiterations[] = {WORD("maxiterations", "MAXITERATIONS"), ARG("maxiterations", INTEGER),
                              END};
static Arg one_field[] = {WORD("capacity", "CAPACITY"),   WORD("size", "SIZE"),
                          WORD("filters", "FILTERS"),     WORD("items", "ITEMS"),
                          WORD("expansion", "EXPANSION"), END};
static Arg secret[] = {WORD("secret", "SECRET"), ARG("hex", STRING), END};

static Arg no_arguments[] = {END};
static Arg key_only[] = {KEY, END};
static Arg key_item[] = {KEY, ARG("item", STRING), END};
static Arg key_items[] = {KEY, MANY("item", STRING), END};
static Arg key_iterator[] = {KEY, ARG("iterator", INTEGER), END};
static Arg key_chunk[] = {KEY, ARG("iterator", INTEGER), ARG("data", STRING), END};
static Arg bf_reserve[] = {KEY,
                           ARG("error_rate", DOUBLE),
                           ARG("capacity", INTEGER),
                           OPTION("expansion", expansion),
                           FLAG("nonscaling", "NONSCALING"),
                           END};
static Arg bf_insert[] = {KEY,
                          OPTION("capacity", capacity),
                          OPTION("error", error_rate),
                          OPTION("expansion", expansion),
                          FLAG("nocreate", "NOCREATE"),
                          FLAG("nonscaling", "NONSCALING"),
                          WORD("items", "ITEMS"),
                          MANY("item", STRING),
                          END};
static Arg bf_info[] = {KEY,
                        {.name = "single_value",
                         .type = REDISMODULE_ARG_TYPE_ONEOF,
                         .key_spec_index = -1,
                         .flags = REDISMODULE_CMD_ARG_OPTIONAL,
                         .subargs = one_field},
                        END};
static Arg bf_merge[] = {{.name = "destination", .type = REDISMODULE_ARG_TYPE_KEY},
                         {.name = "source",
                          .type = REDISMODULE_ARG_TYPE_KEY,
                          .key_spec_index = 1,
                          .flags = REDISMODULE_CMD_ARG_MULTIPLE},
                         END};
static Arg cf_reserve[] = {KEY,
                           ARG("capacity", INTEGER),
                           OPTION("bucketsize", bucketsize),
                           OPTION("maxiterations", maxiterations),
                           OPTION("expansion", expansion),
                           END};
static Arg cf_insert[] = {KEY,
                          OPTION("capacity", capacity),
                          FLAG("nocreate", "NOCREATE"),
                          WORD("items", "ITEMS"),
                          MANY("item", STRING),
                          END};
static Arg tamis_load[] = {KEY,
                           ARG("offset", INTEGER),
                           ARG("total", INTEGER),
                           ARG("data", STRING),
                           OPTION("secret", secret),
                           END};
static Arg tamis_turn[] = {KEY, ARG("epoch", INTEGER), END};

/* ---- what has been added to RedisBloom's commands */

typedef RedisModuleCommandHistoryEntry History;

static History bf_options[] = {{"0.1.0", "Added the WINDOW, GENERATIONS and MAXMEMORY options."},
                               {NULL, NULL}};
static History bf_fields[] = {{"0.1.0", "Added the ERROR field."}, {NULL, NULL}};
static History cf_options[] = {{"0.1.0", "Added the ERROR and MAXMEMORY options."}, {NULL, NULL}};

/* ---- the commands */

#define O_K "O(k), where k is the number of hash functions used by the last sub-filter"
#define O_KN "O(k * n), where k is the number of hash functions and n is the number of items"
#define O_CAPACITY "O(n), where n is the capacity"
#define O_SUB "O(k), where k is the number of sub-filters"
#define O_SUB_N "O(k * n), where k is the number of sub-filters and n is the number of items"
#define O_KICKS "O(k + i), where k is the number of sub-filters and i is maxIterations"
#define O_KICKS_N                                                                              \
    "O(n * (k + i)), where n is the number of items, k is the number of sub-filters and i is " \
    "maxIterations"
#define CREATED " A filter will be created if it does not exist"

struct doc {
    const char *name, *summary, *complexity, *since;
    int arity;
    Arg *args;
    History *history;
};

static const struct doc docs[] = {
    {"bf.reserve", "Creates a new Bloom Filter", "O(1)", "1.0.0", -4, bf_reserve, bf_options},
    {"bf.add", "Adds an item to a Bloom Filter", O_K, "1.0.0", 3, key_item, NULL},
    {"bf.madd", "Adds one or more items to a Bloom Filter." CREATED, O_KN, "1.0.0", -3, key_items,
     NULL},
    {"bf.insert", "Adds one or more items to a Bloom Filter." CREATED, O_KN, "1.0.0", -4, bf_insert,
     bf_options},
    {"bf.exists", "Checks whether an item exists in a Bloom Filter", O_K, "1.0.0", 3, key_item,
     NULL},
    {"bf.mexists", "Checks whether one or more items exist in a Bloom Filter", O_KN, "1.0.0", -3,
     key_items, NULL},
    {"bf.info", "Returns information about a Bloom Filter", "O(1)", "1.0.0", -2, bf_info,
     bf_fields},
    {"bf.card", "Returns the cardinality of a Bloom filter", "O(1)", "2.4.4", 2, key_only, NULL},
    {"bf.debug", "Tells how a filter is reckoned, link by link",
     "O(n), where n is the number of links", "1.0.0", 2, key_only, NULL},
    {"bf.scandump", "Begins an incremental save of the bloom filter", O_CAPACITY, "1.0.0", 3,
     key_iterator, NULL},
    {"bf.loadchunk", "Restores a filter previously saved using SCANDUMP", O_CAPACITY, "1.0.0", 4,
     key_chunk, NULL},
    {"bf.merge", "Makes a filter the union of itself and others", O_CAPACITY " of all", "0.1.0", -3,
     bf_merge, NULL},
    {"tamis.turn", "Turns the window of a filter: what a primary tells its replicas", "O(1)",
     "0.1.0", 3, tamis_turn, NULL},
    {"tamis.answers", "Replies with rows of answers: what the module asks itself", "O(1)", "0.1.0",
     1, no_arguments, NULL},
    {"cf.reserve", "Creates a new Cuckoo Filter", "O(1)", "1.0.0", -3, cf_reserve, cf_options},
    {"cf.add", "Adds an item to a Cuckoo Filter", O_KICKS, "1.0.0", 3, key_item, NULL},
    {"cf.addnx", "Adds an item to a Cuckoo Filter if the item did not exist previously.", O_KICKS,
     "1.0.0", 3, key_item, NULL},
    {"cf.insert", "Adds one or more items to a Cuckoo Filter." CREATED, O_KICKS_N, "1.0.0", -4,
     cf_insert, NULL},
    {"cf.insertnx",
     "Adds one or more items to a Cuckoo Filter if the items did not exist previously." CREATED,
     O_KICKS_N, "1.0.0", -4, cf_insert, NULL},
    {"cf.exists", "Checks whether one or more items exist in a Cuckoo Filter", O_SUB, "1.0.0", 3,
     key_item, NULL},
    {"cf.mexists", "Checks whether one or more items exist in a Cuckoo Filter", O_SUB_N, "1.0.0",
     -3, key_items, NULL},
    {"cf.count", "Return the number of times an item might be in a Cuckoo Filter", O_SUB, "1.0.0",
     3, key_item, NULL},
    {"cf.del", "Deletes an item from a Cuckoo Filter", O_SUB, "1.0.0", 3, key_item, NULL},
    {"cf.compact", "Gives up sub-filters that are empty", O_SUB, "1.0.0", 2, key_only, NULL},
    {"cf.scandump", "Begins an incremental save of the bloom filter", O_CAPACITY, "1.0.0", 3,
     key_iterator, NULL},
    {"cf.loadchunk", "Restores a filter previously saved using SCANDUMP", O_CAPACITY, "1.0.0", 4,
     key_chunk, NULL},
    {"cf.info", "Returns information about a Cuckoo Filter", "O(1)", "1.0.0", 2, key_only, NULL},
    {"cf.debug", "Tells how a filter is reckoned", "O(1)", "1.0.0", 2, key_only, NULL},
    {"tamis.load", "Takes a chunk of a .tamis file, to serve the filter in it",
     "O(n), where n is"
     " the length of the chunk; of the file for the last one",
     "0.1.0", -3, tamis_load, NULL},
    {"tamis.exists", "Asks a served filter for an item", "O(1)", "0.1.0", 3, key_item, NULL},
    {"tamis.mexists", "Asks a served filter for items", "O(n), where n is the number of items",
     "0.1.0", -3, key_items, NULL},
    {"tamis.info", "Tells about a served filter", "O(1)", "0.1.0", 2, key_only, NULL},
};

/* ---- keys */

/* Who may only write to a key (%W~) may add to it and is told what was new, as by SADD. */
static RedisModuleCommandKeySpec one_key(const struct command *c) {
    const bool writes = strncmp(c->flags, "write", 5) == 0;
    RedisModuleCommandKeySpec spec = {
        .flags = writes ? REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_UPDATE
                        : REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS,
        .begin_search_type = REDISMODULE_KSPEC_BS_INDEX,
        .find_keys_type = REDISMODULE_KSPEC_FK_RANGE};
    spec.bs.index.pos = 1;
    spec.fk.range.keystep = 1;
    return spec;
}

/* All arguments from the second on, which are only read. */
static RedisModuleCommandKeySpec more_keys(void) {
    RedisModuleCommandKeySpec spec = {.flags = REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS,
                                      .begin_search_type = REDISMODULE_KSPEC_BS_INDEX,
                                      .find_keys_type = REDISMODULE_KSPEC_FK_RANGE};
    spec.bs.index.pos = 2;
    spec.fk.range.lastkey = -1;
    spec.fk.range.keystep = 1;
    return spec;
}

/* What tells of the filter rather than of items is not worth caching. */
static const char *tips_of(const struct command *c) {
    const char *verb = strchr(c->name, '.') + 1;
    const bool tells =
        strcmp(verb, "info") == 0 || strcmp(verb, "debug") == 0 || strcmp(verb, "scandump") == 0;
    return tells ? "dont_cache" : NULL;
}

void docs_set(RedisModuleCtx *ctx, const struct command *command) {
    RedisModuleCommandKeySpec keys[3] = {one_key(command)};
    if (command->last_key < 0) keys[1] = more_keys();
    for (size_t i = 0; i < sizeof docs / sizeof *docs; i++) {
        const struct doc *d = &docs[i];
        if (strcmp(d->name, command->name) != 0) continue;
        const RedisModuleCommandInfo info = {.version = &info_version,
                                             .summary = d->summary,
                                             .complexity = d->complexity,
                                             .since = d->since,
                                             .tips = tips_of(command),
                                             .history = d->history,
                                             .arity = d->arity,
                                             .key_specs = command->last_key == 0 ? NULL : keys,
                                             .args = d->args};
        RedisModuleCommand *known = RedisModule_GetCommand(ctx, command->name);
        if (known != NULL) RedisModule_SetCommandInfo(known, &info);
    }
}
