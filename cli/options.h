/* options.h - the words of the command line
 *
 * A command names its options in tables; the parser hands them out one by one, wherever they
 * stand among the operands:
 *
 *     for (int id; (id = args_next(args)) != ARG_END;) {
 *         switch (id) {
 *             case ARG_OPERAND: ... args->value ...
 *             case OPT_SEED:    ... args->value ...
 *
 * Understood: -x, -xy (flags together), -xVALUE, -x VALUE, --long, --long=VALUE, --long VALUE,
 * -- (only operands follow), - (an operand).  -h and --help print the command's help and end.
 * Anything else ends with a sentence, and with the option that was probably meant. */
#ifndef TAMIS_CLI_OPTIONS_H
#define TAMIS_CLI_OPTIONS_H

#include <stdio.h>

#include "cli.h"

enum { ARG_END = -1, ARG_OPERAND = -2 };

/* Every option of every command has one id, so that a shared group can be taken by one
 * function whatever the command. */
enum option_id {
    OPT_NONE = 0,
    /* keys */
    OPT_NUL,
    OPT_DELIMITER,
    OPT_SEPARATOR,
    OPT_FIELD,
    OPT_HEX,
    OPT_PREHASHED,
    OPT_STRIP_CR,
    OPT_FOLD_CASE,
    OPT_AS,
    /* opening */
    OPT_FROM,
    OPT_PART,
    OPT_KEY_FILE,
    /* running */
    OPT_THREADS,
    OPT_PROGRESS,
    OPT_NO_PROGRESS,
    OPT_QUIET,
    /* the commands' own */
    OPT_OUTPUT,
    OPT_FORCE,
    OPT_KIND,
    OPT_TO,
    OPT_RATE,
    OPT_NUMBER,
    OPT_MEMORY,
    OPT_BUDGET,
    OPT_SEED,
    OPT_NEED,
    OPT_JSON,
    OPT_SVG,
    OPT_INVERT,
    OPT_COUNT,
    OPT_LINE_NUMBER,
    OPT_WHICH,
    OPT_ALSO,
    OPT_REPEATED,
    OPT_SAVE,
    OPT_SAMPLES,
    OPT_AND,
    OPT_SERVER,
    OPT_USER,
    OPT_PATIENCE,
    OPT_REPLICAS,
    OPT_SHARDS,
    OPT_TLS,
    OPT_CACERT,
    OPT_CERT,
    OPT_TLS_KEY
};

struct option_spec {
    enum option_id id;
    char letter;       /* '\0': none */
    const char *name;  /* without the dashes; NULL: none */
    const char *value; /* what its value is called; NULL: it takes none */
    const char *help;  /* may have several lines */
};

/* The end of a table. */
#define OPTIONS_END \
    { OPT_NONE, '\0', NULL, NULL, NULL }

/* Groups that several commands have. */
extern const struct option_spec options_keys[];    /* KEYOPTS */
extern const struct option_spec options_running[]; /* -j, --progress, --no-progress, -q */
extern const struct option_spec options_server[];  /* of tamis redis: -s and what goes with it */

struct args {
    const struct command *command;
    int count;
    char **words;
    int at;
    const char *cluster; /* the rest of "-xy" after x */
    bool only_operands;
    const char *value; /* of the option or operand that args_next returned */
    char shown[64];    /* the option as it was written, for messages */
};

void args_start(struct args *args, const struct command *command, int count, char **words);

/* The id of the next option, ARG_OPERAND or ARG_END.  Does not return on a wrong one. */
int args_next(struct args *args);

void help_print(const struct command *command, FILE *to);
void help_list(FILE *to);

/* Operands in the order in which they came. */
struct words {
    const char **at;
    size_t count, capacity;
};
void words_push(struct words *list, const char *word);
void words_free(struct words *list);

#endif
