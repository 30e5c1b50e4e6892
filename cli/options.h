/* options.h - the definitions of commands and options, and the parser
 *
 * options.def defines the options, struct command the commands; --help (help.c), the man pages
 * (manual.c) and the completions (complete.c) are made of the same definitions.  The parser
 * returns the options one by one, wherever they stand among the operands:
 *
 *     for (int id; (id = args_next(args)) != ARG_END;) {
 *         switch (id) {
 *             case ARG_OPERAND: ... args->value ...
 *             case OPT_SEED:    ... args->value ...
 *
 * It accepts -x, -xy (flags together), -xVALUE, -x VALUE, --long, --long=VALUE, --long VALUE,
 * -- (only operands follow), - (an operand).  -h and --help print the command's help and exit.
 * Anything else is an error that suggests the nearest option. */
#ifndef TAMIS_CLI_OPTIONS_H
#define TAMIS_CLI_OPTIONS_H

#include <stdio.h>

#include "cli.h"

enum { ARG_END = -1, ARG_OPERAND = -2 };

enum option_id {
    OPT_NONE,
#define OPTION(id, group, ...) OPT_##id,
#include "options.def"
#undef OPTION
    OPTION_COUNT
};

/* The sections of --help and of the man pages. */
enum option_group { GROUP_COMMAND, GROUP_FILTER, GROUP_KEYS, GROUP_SERVER, GROUP_RUN, GROUP_COUNT };
extern const char *const group_titles[GROUP_COUNT];

/* All options of a group, for struct command. */
#define FILTER_OPTIONS (1u << GROUP_FILTER)
#define KEY_OPTIONS (1u << GROUP_KEYS)
#define SERVER_OPTIONS (1u << GROUP_SERVER)
#define RUN_OPTIONS (1u << GROUP_RUN)

/* What a shell offers for a value or an operand. */
enum completion {
    COMPLETE_NOTHING,
    COMPLETE_FILE,
    COMPLETE_KIND,
    COMPLETE_FORMAT,
    COMPLETE_WRITABLE, /* a format that can be written */
    COMPLETE_CHOICE
};

#define CHOICES_MAX 8

struct option_spec {
    enum option_id id, means;
    enum option_group group;
    char letter;       /* '\0': none */
    const char *name;  /* without the dashes */
    const char *value; /* metavariable; NULL: it takes no value */
    enum completion complete;
    const char *choices[CHOICES_MAX]; /* what to offer; NULL at the end */
    bool repeats;                     /* may be given several times */
    const char *help, *more;
};

#define COMMAND_OPTIONS 20

struct command {
    const char *name;
    const char *summary; /* one line, for the list of commands */
    const char *usage;   /* what follows the name */
    const char *about;   /* a paragraph */
    const char *details; /* more paragraphs, for the man page */
    enum option_id options[COMMAND_OPTIONS];
    unsigned groups; /* whole groups besides: KEY_OPTIONS | ... */
    enum completion operands;
    const char *exits[EXIT_CHANGED + 1]; /* NULL: never; EXIT_ERROR: as for any command */
    const char *examples;                /* lines */
    const char *see;                     /* other commands, separated by blanks */
    const struct command *const *verbs;  /* of `tamis redis`; NULL at the end */
    int (*run)(struct args *args);
};

extern const struct command command_add, command_bench, command_build, command_convert,
    command_info, command_measure, command_merge, command_plan, command_query, command_redis,
    command_remove, command_uniq, command_verify;

/* All of them, in the order in which they are listed; NULL at the end. */
extern const struct command *const commands[];

/* "load" of "redis load". */
const char *command_word(const struct command *command);

/* The command of that name in a list; dies if there is none. */
const struct command *command_find(const struct command *const *list, const char *name);

/* What an exit code means for a command (NULL: for any); NULL if it never exits with it. */
const char *exit_text(const struct command *command, int code);

/* The first paragraph and the examples of `tamis --help` and tamis(1). */
extern const char tamis_about[], tamis_examples[];

const struct option_spec *option_of(enum option_id id);

/* The options of a command: NULL past the last. */
const struct option_spec *command_option(const struct command *command, size_t index);

/* The one of that letter or, for '\0', of that name; NULL if there is none. */
const struct option_spec *option_find(const struct command *command, char letter, const char *name,
                                      size_t length);

/* Copies text with {kinds}, {addable}, {removable}, {mergeable}, {intersectable} (kinds that can do
 * that), {formats}, {writable} (formats) and {choices} (of `spec`) replaced by "a, b or c"; text
 * that does not fit is cut off. */
#define TEXT_MAX 2000
void expand_text(const char *text, const struct option_spec *spec, char *to, size_t size);

/* A name of such a list, by its first letter; NULL past the last. */
const char *list_name(char list, const struct option_spec *spec, size_t index);

/* The description of a kind ('k') or format ('f', 'w'); "" for another list. */
const char *list_description(char list, const char *name);

/* Dies: the list has no such name. */
_Noreturn void unknown_name(const char *option, char list, const struct option_spec *spec,
                            const char *name);

/* Operands in the order in which they came. */
struct words {
    const char **at;
    size_t count, capacity;
};
void words_push(struct words *list, const char *word);
void words_free(struct words *list);

struct args {
    const struct command *command;
    int count;
    char **words;
    int at;
    const char *cluster; /* the rest of "-xy" after x */
    bool only_operands;
    const char *value;              /* of the option or operand that args_next returned */
    const struct option_spec *spec; /* of the option */
    char shown[64];                 /* the option as it was written, for messages */
};

void args_start(struct args *args, const struct command *command, int count, char **words);

/* The id of the next option, ARG_OPERAND or ARG_END.  Does not return on a wrong one. */
int args_next(struct args *args);

/* Where the value of an option goes: into each target that is not NULL.  Dies if it does not fit.
 */
struct binding {
    int id;     /* OPT_..., or ARG_OPERAND; 0 at the end of a list */
    bool *flag; /* becomes true */
    const char **text;
    struct words *words;  /* it is appended */
    uint64_t *number;     /* from low to high, */
    uint32_t *small;      /* the same, below 2^32 */
    uint64_t low, high;   /* 0: no limit */
    double *fpr;          /* above 0, below 1 */
    tamis_kind *kind;     /* by its name */
    const char **format;  /* the name, checked */
    uint32_t *choice;     /* its index among the choices */
    uint32_t *bits, mask; /* the mask is set in the bits */
};

/* Stores the option or operand that args_next returned; false if the list has none of that id. */
bool args_store(const struct args *args, int id, const struct binding *list);

void help_print(const struct command *command, FILE *to);
void help_list(FILE *to);

/* tamis --generate: a man page ("tamis", "tamis-build", ...) or the completion of a shell on
 * standard output.  False if there is no such page or shell. */
bool generate_page(const char *page);
bool generate_completion(const char *shell);

/* tamis --complete: candidates for the last of the words, which NULL follows. */
void complete_words(char **words);

#endif
