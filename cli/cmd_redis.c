/* cmd_redis.c - tamis redis VERB: filters in a Redis server or cluster
 *
 * Each verb is a command of its own, with its own options and help; this file has their tables
 * and finds the one that is meant.  What they do is in redis/, which is built where libhiredis
 * was found. */
#include "options.h"
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

static const struct command redis_reserve = {
    .name = "redis reserve",
    .summary = "create an empty filter, spread over a cluster",
    .usage = "NAME -n N [-p RATE] [-k KIND] [--shards S]",
    .about =
        "Creates the empty filter NAME: the keys `NAME:{0}` to `NAME:{S-1}`, which the cluster "
        "spreads over its nodes, and a hash `NAME` with their number. It grows beyond N and "
        "keeps its false positive rate.",
    .options = {OPT_NUMBER, OPT_FPR, OPT_SHARD_KIND, OPT_SHARDS, OPT_REPLICAS, OPT_QUIET},
    .groups = SERVER_OPTIONS,
    .exits = {[EXIT_DONE] = "the filter was created"},
    .examples =
        "  tamis redis reserve seen -n 100M -p 0.1%\n"
        "  tamis redis reserve seen -n 1G --shards 256 -s 10.0.0.1:6379,10.0.0.2:6379\n",
    .run = redis_reserve_main};

static const struct command redis_load = {
    .name = "redis load",
    .summary = "add keys to a filter in Redis",
    .usage = "NAME [KEYOPTS] [INPUT...]",
    .about =
        "Adds the records (lines) of the inputs, or of standard input, to the filter NAME: one "
        "made by `tamis redis reserve`, or any BF or CF key. Slots may move and nodes may fail "
        "meanwhile. A load that ended in an error may be run again.",
    .options = {OPT_REPLICAS, OPT_QUIET, OPT_NUL, OPT_DELIMITER, OPT_SEPARATOR, OPT_FIELD, OPT_HEX,
                OPT_STRIP_CR, OPT_FOLD_CASE, OPT_AS},
    .groups = SERVER_OPTIONS | RUN_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "the keys were added", [EXIT_ERROR] = "error; it may be run again"},
    .examples =
        "  tamis redis load seen urls.txt\n"
        "  tamis redis load --replicas 1 seen urls.txt\n",
    .run = redis_load_main};

static const struct command redis_put = {
    .name = "redis put",
    .summary = "store the file of a filter in Redis",
    .usage = "NAME FILE [--key-file FILE]",
    .about =
        "Stores FILE, a filter of any kind made by `tamis build`, at the key NAME, for `tamis "
        "redis query` and TAMIS.EXISTS. The file is verified first. A filter that was stored "
        "there before is queried until the new one is complete. Needs tamis.so on the server.",
    .details =
        "The filter is one key, on one node, and no keys can be added to it. The old filter "
        "stays in use until the server has verified the checksums of the new one, also if "
        "the upload is interrupted or fails. The file may have up to 64 GiB; its keys must "
        "be plain bytes: built without --prehashed, --fold-case, --hex and --as. The server "
        "stores the key of --key-file, and every user who may `DUMP` the filter can read "
        "it.",
    .options = {OPT_REPLICAS, OPT_QUIET, OPT_KEY_FILE, OPT_PROGRESS, OPT_NO_PROGRESS},
    .groups = SERVER_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "the filter was stored"},
    .examples =
        "  tamis build -k fuse -p 0.1% -o blocked.tamis urls.txt\n"
        "  tamis redis put blocked blocked.tamis\n",
    .run = redis_put_main};

static const struct command redis_query = {
    .name = "redis query",
    .summary = "print the records that may be in a filter in Redis",
    .usage = "[-v] [-c] [-q] [-n] NAME [KEYOPTS] [INPUT...]",
    .about =
        "Prints the records (lines) of the inputs, or of standard input, that are possibly in "
        "the filter NAME, unchanged and in input order. A record that is not printed is "
        "definitely not in the filter.",
    .options = {OPT_INVERT, OPT_COUNT, OPT_SILENT, OPT_LINE_NUMBER, OPT_NUL, OPT_DELIMITER,
                OPT_SEPARATOR, OPT_FIELD, OPT_HEX, OPT_STRIP_CR, OPT_FOLD_CASE, OPT_AS},
    .groups = SERVER_OPTIONS | RUN_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "a record was selected", [EXIT_NONE] = "no record was selected"},
    .examples =
        "  tamis redis query seen new.txt\n"
        "  tamis redis query -v -c seen new.txt\n",
    .run = redis_query_main};

static const struct command redis_info = {
    .name = "redis info",
    .summary = "print what a filter in Redis is and how full it is",
    .usage = "[--json] NAME",
    .about = "Prints the number of shards of the filter NAME, their keys and their size.",
    .options = {OPT_JSON},
    .groups = SERVER_OPTIONS,
    .exits = {[EXIT_DONE] = "done"},
    .examples = "  tamis redis info seen\n",
    .run = redis_info_main};

static const struct command redis_drop = {
    .name = "redis drop",
    .summary = "remove a filter from Redis",
    .usage = "NAME",
    .about = "Removes the filter NAME with all of its shards.",
    .groups = SERVER_OPTIONS,
    .exits = {[EXIT_DONE] = "the filter was removed", [EXIT_NONE] = "there is no such filter"},
    .examples = "  tamis redis drop seen\n",
    .run = redis_drop_main};

static const struct command *const verbs[] = {&redis_reserve, &redis_load, &redis_put, &redis_query,
                                              &redis_info,    &redis_drop, NULL};

static int redis_main(struct args *args) {
    struct args rest;
    if (args_next(args) != ARG_OPERAND) die("missing COMMAND; --help lists the commands");
    const struct command *verb = command_find(verbs, args->value);
    errors_name(verb->name);
    args_start(&rest, verb, args->count - args->at, args->words + args->at);
    return verb->run(&rest);
}

const struct command command_redis = {
    .name = "redis",
    .summary = "load and query filters in a Redis server or cluster",
    .usage = "COMMAND NAME [OPTION]... [INPUT...]",
    .about =
        "Spreads one filter over the nodes of a cluster: each record goes by its hash to one of "
        "S shards, which are BF or CF filters and move with the slots of the cluster. `tamis "
        "redis COMMAND --help` explains a command.",
    .details =
        "A key of Redis is on one node. The shards are the keys `NAME:{0}` to `NAME:{S-1}`; "
        "the cluster places, moves and replicates them as any other keys. The hash `NAME` "
        "has their number. A NAME that is itself a BF or CF filter, and a server that is "
        "not in a cluster, work as well.\n\n"
        "Keys are sent in pipelined batches to all nodes at once. While slots move (MOVED, "
        "ASK) and while a cluster recovers from the loss of a node (TRYAGAIN, CLUSTERDOWN, "
        "lost connections), commands are sent again, to the node that serves them now. A "
        "missing shard is an error, never taken for an empty one.\n\n"
        "KEYOPTS are not stored in Redis: query a filter with those that it was loaded "
        "with.",
    .exits = {[EXIT_DONE] = "a record was selected, or the work is done",
              [EXIT_NONE] = "no record was selected, or there is no filter to drop",
              [EXIT_ERROR] = "error"},
    .examples =
        "  export TAMIS_REDIS=10.0.0.1:6379,10.0.0.2:6379\n"
        "  tamis redis reserve seen -n 100M -p 0.1% --shards 64\n"
        "  tamis redis load --replicas 1 seen urls.txt\n"
        "  tamis redis query -v seen new.txt\n"
        "  tamis redis put blocked blocked.tamis\n"
        "  tamis redis info blocked -s 10.0.0.1:6380 --tls --cacert ca.crt\n",
    .see = "build query",
    .verbs = verbs,
    .run = redis_main};
