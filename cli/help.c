/* help.c - --help: usage, what it does, options, examples */
#include <string.h>

#include "options.h"
#include "term.h"

/* So wide is a terminal, or a page in another program, at least. */
#define HELP_WIDTH 79
#define OPTION_WIDTH 28

static void print_option(const struct option_spec *spec, FILE *to) {
    char left[64];
    size_t used = 0;
    if (spec->letter != '\0') {
        used = (size_t)snprintf(left, sizeof left, "-%c%s", spec->letter,
                                spec->name != NULL ? ", " : "");
    } else {
        used = (size_t)snprintf(left, sizeof left, "    ");
    }
    if (spec->name != NULL) {
        used += (size_t)snprintf(left + used, sizeof left - used, "--%s", spec->name);
    }
    if (spec->value != NULL) snprintf(left + used, sizeof left - used, " %s", spec->value);

    fprintf(to, "  %-*s", OPTION_WIDTH - 2, left);
    term_wrap(to, spec->help, OPTION_WIDTH, OPTION_WIDTH, HELP_WIDTH);
}

static void heading(const char *text, FILE *to) {
    fprintf(to, "\n%s%s%s\n", term_style(to, STYLE_BOLD), text, term_style(to, STYLE_PLAIN));
}

void help_print(const struct command *command, FILE *to) {
    static const char *const titles[] = {"Options", "Keys", "Running", "Server"};
    const size_t begun = strlen("Usage: tamis ") + strlen(command->name) + 1;
    fprintf(to, "%sUsage:%s tamis %s ", term_style(to, STYLE_BOLD), term_style(to, STYLE_PLAIN),
            command->name);
    term_wrap(to, command->usage, begun, begun, HELP_WIDTH);
    fputc('\n', to);
    term_wrap(to, command->about, 0, 0, HELP_WIDTH);
    for (size_t g = 0; g < COMMAND_GROUPS && command->groups[g] != NULL; g++) {
        const char *title = titles[0];
        if (command->groups[g] == options_keys) title = titles[1];
        if (command->groups[g] == options_running) title = titles[2];
        if (command->groups[g] == options_server) title = titles[3];
        heading(title, to);
        for (const struct option_spec *s = command->groups[g]; s->id != OPT_NONE; s++) {
            print_option(s, to);
        }
    }
    heading("Examples", to);
    fprintf(to, "%s\n", command->examples);
}

void help_list(FILE *to) {
    const char *bold = term_style(to, STYLE_BOLD), *plain = term_style(to, STYLE_PLAIN);
    fprintf(to,
            "%stamis%s answers \"have I seen this key?\" from a few bits per key.\n"
            "\"No\" is certain; \"maybe\" is wrong at a rate that you choose.\n",
            bold, plain);
    fprintf(to, "\n%sUsage:%s tamis COMMAND [OPTION]... [FILE]...\n", bold, plain);
    heading("Commands", to);
    for (size_t i = 0; commands[i] != NULL; i++) {
        fprintf(to, "  %s%-9s%s %s\n", bold, commands[i]->name, plain, commands[i]->summary);
    }
    heading("Examples", to);
    fprintf(to,
            "  tamis build -o seen.tamis urls.txt     make a filter of the lines of a file\n"
            "  tamis query seen.tamis new.txt         print the lines that may be in it\n"
            "  tamis query -v seen.tamis new.txt      print those that certainly are not\n"
            "  cat *.log | tamis uniq > once.log      drop repeated lines without sorting\n");
    fprintf(to,
            "\n'tamis COMMAND --help' explains a command; 'tamis --version' tells the version.\n"
            "Exit: 0 found or done, 1 none found, 2 an error, 3 a filter over its capacity.\n");
}
