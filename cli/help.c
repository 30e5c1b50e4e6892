/* help.c - --help: usage, description, options, exit codes, examples */
#include <string.h>

#include "options.h"
#include "term.h"

/* Fits in a terminal of 80 columns. */
#define HELP_WIDTH 79
#define OPTION_WIDTH 28

/* Prints text that begins at `column` and continues at `indent`. */
static void print_text(const char *text, const struct option_spec *spec, size_t column,
                       size_t indent, FILE *to) {
    char expanded[TEXT_MAX];
    expand_text(text, spec, expanded, sizeof expanded);
    for (char *at = expanded; (at = strchr(at, '`')) != NULL;) *at = '\'';
    term_wrap(to, expanded, column, indent, HELP_WIDTH);
}

static void print_option(const struct option_spec *spec, FILE *to) {
    char left[64] = "    ", help[TEXT_MAX];
    if (spec->letter != '\0') snprintf(left, sizeof left, "-%c, ", spec->letter);
    snprintf(left + 4, sizeof left - 4, "--%s%s%s", spec->name, spec->value != NULL ? " " : "",
             spec->value != NULL ? spec->value : "");
    snprintf(help, sizeof help, "%s%s", spec->help, spec->repeats ? "; may be repeated" : "");
    fprintf(to, "  %-*s", OPTION_WIDTH - 2, left);
    print_text(help, spec, OPTION_WIDTH, OPTION_WIDTH, to);
}

static void heading(const char *text, FILE *to) {
    fprintf(to, "\n%s%s%s\n", term_style(to, STYLE_BOLD), text, term_style(to, STYLE_PLAIN));
}

static void print_group(const struct command *command, enum option_group group, FILE *to) {
    const struct option_spec *spec;
    bool begun = false;
    for (size_t i = 0; (spec = command_option(command, i)) != NULL; i++) {
        if (spec->group != group) continue;
        if (!begun) heading(group_titles[group], to);
        begun = true;
        print_option(spec, to);
    }
}

static void print_commands(const struct command *const *list, FILE *to) {
    const char *bold = term_style(to, STYLE_BOLD), *plain = term_style(to, STYLE_PLAIN);
    heading("Commands", to);
    for (; *list != NULL; list++) {
        fprintf(to, "  %s%-9s%s %s\n", bold, command_word(*list), plain, (*list)->summary);
    }
}

static void print_exits(const struct command *command, FILE *to) {
    heading("Exit codes", to);
    for (int code = EXIT_DONE; code <= EXIT_CHANGED; code++) {
        if (exit_text(command, code) == NULL) continue;
        fprintf(to, "  %d  ", code);
        print_text(exit_text(command, code), NULL, 5, 5, to);
    }
}

void help_print(const struct command *command, FILE *to) {
    const size_t begun = strlen("Usage: tamis ") + strlen(command->name) + 1;
    fprintf(to, "%sUsage:%s tamis %s ", term_style(to, STYLE_BOLD), term_style(to, STYLE_PLAIN),
            command->name);
    term_wrap(to, command->usage, begun, begun, HELP_WIDTH);
    fputc('\n', to);
    print_text(command->about, NULL, 0, 0, to);
    if (command->verbs != NULL) print_commands(command->verbs, to);
    for (int g = 0; g < GROUP_COUNT; g++) print_group(command, (enum option_group)g, to);
    print_exits(command, to);
    heading("Examples", to);
    fprintf(to, "%s", command->examples);
}

void help_list(FILE *to) {
    const char *bold = term_style(to, STYLE_BOLD), *plain = term_style(to, STYLE_PLAIN);
    fprintf(to, "%stamis%s: ", bold, plain);
    print_text(tamis_about, NULL, strlen("tamis: "), 0, to);
    fprintf(to, "\n%sUsage:%s tamis COMMAND [OPTION]... [FILE]...\n", bold, plain);
    print_commands(commands, to);
    heading("Examples", to);
    fprintf(to, "%s", tamis_examples);
    print_exits(NULL, to);
    fprintf(to, "\n'tamis COMMAND --help' explains a command; 'man tamis' has the details.\n");
}
