/* main.c - the command `tamis`: finds the subcommand and runs it
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "options.h"
#include "output.h"
#include "suggest.h"

const struct command *const commands[] = {&command_plan,    &command_build,
                                          &command_add,     &command_remove,
                                          &command_query,   &command_uniq,
                                          &command_info,    &command_verify,
                                          &command_measure, &command_merge,
                                          &command_convert, &command_redis,
                                          &command_bench,   NULL};

static const struct command *find_command(const char *name) {
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(name, commands[i]->name) == 0) return commands[i];
    }
    return NULL;
}

static _Noreturn void unknown_command(const char *name) {
    struct suggestion best = {NULL, 0};
    char hint[80];
    for (size_t i = 0; commands[i] != NULL; i++) suggest(&best, name, commands[i]->name);
    suggest(&best, name, "--help");
    suggest(&best, name, "--version");
    suggest_text(&best, "", hint, sizeof hint);
    die("unknown %s '%s'%s", name[0] == '-' ? "option" : "command", name, hint);
}

static bool is_help(const char *word) {
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* help, --help, -h, --version: what is no subcommand.  False if `word` is none of them. */
static bool run_special(const char *word, const char *next) {
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("tamis %s\n", tamis_version());
    } else if (strcmp(word, "help") == 0 && next != NULL && !is_help(next)) {
        const struct command *command = find_command(next);
        if (command == NULL) unknown_command(next);
        help_print(command, stdout);
    } else if (is_help(word)) {
        help_list(stdout);
    } else {
        return false;
    }
    stdout_close();
    return true;
}

int main(int count, char **words) {
    struct args args;
    interrupt_start();
    if (count < 2) {
        help_list(stderr);
        return EXIT_ERROR;
    }
    if (run_special(words[1], count > 2 ? words[2] : NULL)) return EXIT_DONE;
    const struct command *command = find_command(words[1]);
    if (command == NULL) unknown_command(words[1]);
    errors_name(command->name);
    args_start(&args, command, count - 2, words + 2);
    return command->run(&args);
}
