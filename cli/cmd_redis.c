/* cmd_redis.c - tamis redis VERB: filters in a Redis server or cluster
 *
 * Each verb is a command of its own, with its own options and help; this file has their tables
 * and finds the one that is meant.  What they do is in redis/, which is built where libhiredis
 * was found. */
#include <string.h>

#include "options.h"
#include "suggest.h"
#if TAMIS_WITH_HIREDIS
#include "redis/redis.h"
#else
static _Noreturn int without_hiredis(struct args *args) {
    while (args_next(args) != ARG_END) continue; /* --help, and what is wrong with the words */
    die("this command was built without hiredis: install it (Debian: libhiredis-dev) and build "
        "again");
}
#define redis_reserve_main without_hiredis
#define redis_load_main without_hiredis
#define redis_put_main without_hiredis
#define redis_query_main without_hiredis
#define redis_info_main without_hiredis
#define redis_drop_main without_hiredis
#endif

#define REPLICAS_OPTION                                            \
    {                                                              \
        OPT_REPLICAS, '\0', "replicas", "N",                       \
            "a key is written when N replicas have it: then the\n" \
            "loss of a primary loses none (default 0)"             \
    }

static const struct option_spec reserve_options[] = {
    {OPT_NUMBER, 'n', "capacity", "N", "make room for N keys in all"},
    {OPT_RATE, 'p', "rate", "RATE", "false positive rate: 0.01, 1%, 1e-6, 1/1000 (default 1%)"},
    {OPT_KIND, 'k', "kind", "KIND", "bloom (BF, the default) or cuckoo (CF)"},
    {OPT_SHARDS, '\0', "shards", "S", "spread it over S keys (default 16)"},
    REPLICAS_OPTION,
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
    OPTIONS_END};

static const struct option_spec load_options[] = {
    REPLICAS_OPTION, {OPT_QUIET, 'q', "quiet", NULL, "no summary"}, OPTIONS_END};

static const struct option_spec put_options[] = {
    {OPT_KEY_FILE, '\0', "key-file", "FILE", "the secret of a keyed filter: 32 hexadecimal digits"},
    {OPT_REPLICAS, '\0', "replicas", "N",
     "it is there when N replicas have it: then the loss of\n"
     "a primary does not bring the old one back (default 0)"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
    {OPT_PROGRESS, '\0', "progress", NULL, "show progress even if stderr is no terminal"},
    {OPT_NO_PROGRESS, '\0', "no-progress", NULL, "never show progress"},
    OPTIONS_END};

static const struct option_spec query_options[] = {
    {OPT_INVERT, 'v', "invert", NULL, "print the records that certainly are not in it"},
    {OPT_COUNT, 'c', "count", NULL, "print how many records there are, not the records"},
    {OPT_QUIET, 'q', "quiet", NULL, "print nothing, stop at the first: only the exit code"},
    {OPT_LINE_NUMBER, 'n', "line-number", NULL, "print 'N:' before each, its number in its input"},
    OPTIONS_END};

static const struct option_spec info_options[] = {
    {OPT_JSON, '\0', "json", NULL, "as a JSON object"}, OPTIONS_END};

static const struct command redis_reserve = {
    "redis reserve",
    "make an empty filter, spread over a cluster",
    "NAME -n N [-p RATE] [-k KIND] [--shards S]",
    "Makes the empty filter NAME: the keys 'NAME:{0}' to 'NAME:{S-1}', which the cluster spreads\n"
    "over its nodes, and a hash 'NAME' that tells how many they are.  It grows beyond N, and "
    "keeps\n"
    "its rate.",
    {reserve_options, options_server, NULL, NULL},
    "  tamis redis reserve seen -n 100M -p 0.1%\n"
    "  tamis redis reserve seen -n 1G --shards 256 -s 10.0.0.1:6379,10.0.0.2:6379",
    redis_reserve_main};

static const struct command redis_load = {
    "redis load",
    "add keys to a filter in Redis",
    "NAME [KEYS] [INPUT]...",
    "Adds the records (lines) of the inputs, or of standard input, to the filter NAME: one made "
    "by\n"
    "'tamis redis reserve', or any BF or CF key.  Slots may move and nodes may fail meanwhile; a\n"
    "load that ended in an error may be run again.",
    {load_options, options_keys, options_server, options_running},
    "  tamis redis load seen urls.txt\n"
    "  tamis redis load --replicas 1 seen urls.txt",
    redis_load_main};

static const struct command redis_put = {
    "redis put",
    "put the file of a filter into Redis",
    "NAME FILE [--key-file FILE]",
    "Puts FILE, a filter of any kind that 'tamis build' has made, to the key NAME, to be asked by\n"
    "'tamis redis query' and TAMIS.EXISTS.  The file is checked first.  A filter that was put "
    "there\n"
    "before goes on answering until the last byte of the new one is there.  Needs tamis.so on the\n"
    "server.",
    {put_options, options_server, NULL, NULL},
    "  tamis build -k fuse -p 0.1% -o blocked.tamis urls.txt\n"
    "  tamis redis put blocked blocked.tamis",
    redis_put_main};

static const struct command redis_query = {
    "redis query",
    "print the records that may be in a filter in Redis",
    "[-v] [-c] [-q] [-n] NAME [KEYS] [INPUT]...",
    "Prints the records (lines) of the inputs, or of standard input, that may be in the filter\n"
    "NAME, byte for byte and in input order.  A record that is not printed is certainly not in\n"
    "it.  Exits with 0 if one was selected, 1 if none was.",
    {query_options, options_keys, options_server, options_running},
    "  tamis redis query seen new.txt\n"
    "  tamis redis query -v -c seen new.txt",
    redis_query_main};

static const struct command redis_info = {
    "redis info",
    "tell what a filter in Redis is and how full",
    "[--json] NAME",
    "Tells how many shards the filter NAME has, how many keys they count and what they take.",
    {info_options, options_server, NULL, NULL},
    "  tamis redis info seen",
    redis_info_main};

static const struct command redis_drop = {
    "redis drop",
    "delete a filter in Redis",
    "NAME",
    "Deletes the filter NAME with all of its shards.  Exits with 1 if there is none.",
    {options_server, NULL, NULL, NULL},
    "  tamis redis drop seen",
    redis_drop_main};

static const struct command *const verbs[] = {&redis_reserve, &redis_load, &redis_put, &redis_query,
                                              &redis_info,    &redis_drop, NULL};

/* "load" of "redis load". */
static const char *verb_word(const struct command *verb) { return strchr(verb->name, ' ') + 1; }

static _Noreturn void unknown_verb(const char *word) {
    struct suggestion best = {NULL, 0};
    char hint[80];
    for (size_t i = 0; verbs[i] != NULL; i++) suggest(&best, word, verb_word(verbs[i]));
    suggest_text(&best, "", hint, sizeof hint);
    die("unknown verb '%s': it must be reserve, load, put, query, info or drop%s", word, hint);
}

static int redis_main(struct args *args) {
    if (args_next(args) != ARG_OPERAND) die("what? reserve, load, put, query, info or drop");
    for (size_t i = 0; verbs[i] != NULL; i++) {
        struct args rest;
        if (strcmp(args->value, verb_word(verbs[i])) != 0) continue;
        errors_name(verbs[i]->name);
        args_start(&rest, verbs[i], args->count - args->at, args->words + args->at);
        return verbs[i]->run(&rest);
    }
    unknown_verb(args->value);
}

const struct command command_redis = {
    "redis",
    "load and query filters in a Redis server or cluster",
    "VERB NAME [OPTION]... [INPUT]...",
    "One filter over many nodes: its keys are spread by hash over shards, which are BF or CF\n"
    "filters of their own and move with the cluster's slots.\n"
    "\n"
    "  reserve   make an empty filter\n"
    "  load      add the records of the inputs\n"
    "  put       put the file of a filter, as one key\n"
    "  query     print the records that may be in it\n"
    "  info      what it is and how full\n"
    "  drop      delete it\n"
    "\n"
    "'tamis redis VERB --help' explains a verb.",
    {NULL, NULL, NULL, NULL},
    "  tamis redis reserve seen -n 100M\n"
    "  tamis redis load seen urls.txt\n"
    "  tamis redis query -v seen new.txt",
    redis_main};
