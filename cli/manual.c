/* manual.c - the man pages, made of the definitions of commands and options
 *
 * tamis --generate man PAGE prints one in man(7): `tamis` has the sections below, `tamis-build` is
 * the page of a command.  Text is marked up as it is printed: `code` and options are bold,
 * metavariables italic. */
#include <ctype.h>
#include <string.h>

#include "options.h"

#define PAGE_DATE "2026-11-18"
#define LINE_WIDTH 78

const char tamis_about[] =
    "Bloom, blocked Bloom, counting, cuckoo, xor, binary fuse, ribbon and growing filters on the "
    "command line. A filter answers \"is this key in the set?\" from a few bits per key: \"no\" is "
    "always right, \"yes\" is wrong at a false positive rate that you choose.";

const char tamis_examples[] =
    "  tamis build -o seen.tamis urls.txt   # make a filter of the lines of a file\n"
    "  tamis query seen.tamis new.txt       # print the lines that may be in it\n"
    "  tamis query -v seen.tamis new.txt    # print those that are definitely not\n"
    "  cat *.log | tamis uniq > once.log    # drop repeated lines without sorting\n";

static const struct {
    char list; /* of list_name, after the text; '\0': none */
    const char *title, *text;
} sections[] = {
    {'\0', "Options",
     "Options may stand before, between and after the operands; -- ends them. Flags may be written "
     "together (-cv). The value of a long option is the next argument or follows =. Every command "
     "prints its options with --help."},
    {'\0', "Inputs",
     "Keys are read from the inputs, in order. No INPUT, or -, is standard input. Results go to "
     "standard output, everything else to standard error."},
    {'\0', "Records and keys",
     "An input is a sequence of records, usually lines. Records are bytes of any "
     "length, in no particular encoding. The last record needs no newline. An empty record is a "
     "key. KEYOPTS "
     "define how a record becomes a key.\n\n"
     "The filter stores how its keys were made (field, carriage return, case, hexadecimal, type) "
     "and applies it again when it is used. An option that contradicts the stored form is an "
     "error. Options that locate the key in this input may be added for a filter that was built "
     "from whole records: -F looks for a list of names in a column of a table."},
    {'\0', "Keyed filters",
     "With --key-file, keys are hashed with a secret key that is not in the filter, so that an "
     "attacker without it cannot choose keys that collide. Every command that opens such a filter "
     "needs the "
     "same key."},
    {'\0', "Numbers",
     "Counts and sizes are written as `1000`, `1,000,000`, `10K`, `5M`, `2G` (decimal) or `64Ki`, "
     "`1Mi`, `1Gi` (binary). Rates are written as `0.01`, `1%`, `1e-6` or `1/1000`."},
    {'\0', "Files",
     "A filter is written to a temporary file in the directory of the target, synced and renamed: "
     "at any moment the file is either the old or the new version. An interrupt "
     "leaves the old version, unless the new one is in place already. A symbolic link stays one: "
     "its target is written, except that a link of another user in a directory such as `/tmp` is "
     "an error. A file without write permission is not replaced. The new file has "
     "the permissions of the old one, and its owner and group where that is allowed. The "
     "temporary file has no name until it is complete. On a file system that does not support "
     "this, and if the process is killed just before the rename, a file `.tamis-*.part` may be "
     "left; it can be removed.\n\n"
     "`add` and `remove` change a `.tamis` file of 16 MiB or more, of kind `bloom`, `block` or "
     "`counting`, in place if the keys touch no more than an eighth of it. The changes are first "
     "written to a journal, whose name ends in `.journal`. An interrupt waits until the change is "
     "finished. After a crash, every command that opens the file applies the journal, and the "
     "next `add` or `remove` finishes the change. If another process has the file open, it is "
     "written anew and renamed instead, so that the other process keeps what it opened. If two "
     "commands change a file at once, one waits for the other, up to the time of --wait; if "
     "`build` "
     "has replaced the file meanwhile, the new file stays, and the change is an error.\n\n"
     "-o - writes a filter to standard output while it is encoded, without a second copy in "
     "memory."},
    {'k', "Kinds", "A kind is given by -k, or chosen by the planner."},
    {'f', "Formats",
     "Filters of other systems are read, queried, changed and written as those systems do it. Such "
     "a file does not store how its keys were made: give the same KEYOPTS each time. Formats "
     "without a magic number cannot be detected and need --from. Parameters follow the name of a "
     "format, as in `leveldb:bits=10`."},
};

static const struct {
    const char *name, *text;
} environment[] = {
    {"NO_COLOR", "If it is set and not empty, no colours are used."},
    {"TMPDIR", "The directory to which `build --memory` spills; the default is `/tmp`."},
    {"TAMIS_REDIS", "The server of `tamis redis`, if -s is not given."},
    {"REDISCLI_AUTH", "The password of `tamis redis`."},
};

/* ---- roff */

/* A word is rendered before it is known whether it fits in the line. */
static char word_text[400];
static size_t word_used, column;

static void put(const char *text, size_t length) {
    if (length > sizeof word_text - word_used) length = sizeof word_text - word_used;
    memcpy(word_text + word_used, text, length);
    word_used += length;
}

static void end_line(void) {
    if (column != 0) putchar('\n');
    column = 0;
}

/* The word, after a blank or in a line of its own. */
static void flush_word(void) {
    if (column != 0 && column + 1 + word_used > LINE_WIDTH) end_line();
    if (column != 0) putchar(' ');
    if (column == 0 && strchr(".'", word_text[0]) != NULL) fputs("\\&", stdout);
    fwrite(word_text, 1, word_used, stdout);
    column += 1 + word_used;
    word_used = 0;
}

static void put_escaped(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '-') {
            put("\\-", 2);
        } else if (text[i] == '\\') {
            put("\\e", 2);
        } else {
            put(text + i, 1);
        }
    }
}

static void put_font(char font, const char *text, size_t length) {
    const char escape[] = {'\\', 'f', font};
    if (font != 'R') put(escape, 3);
    put_escaped(text, length);
    if (font != 'R') put("\\fR", 3);
}

/* One line in bold, or as it is. */
static void put_line(char font, const char *text, size_t length) {
    put_font(font, text, length);
    fwrite(word_text, 1, word_used, stdout);
    word_used = 0;
    putchar('\n');
}

static bool is_word(const char *name, const char *word, size_t length) {
    return name != NULL && strlen(name) == length && memcmp(name, word, length) == 0;
}

/* FILE, N, HOST:PORT: the values of options, and the operands that have other names. */
static bool is_metavariable(const char *word, size_t length) {
    static const char *const operands[] = {"COMMAND", "INPUT", "KEYOPTS"};
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
        if (is_word(operands[i], word, length)) return true;
    }
    for (enum option_id id = OPT_NONE + 1; id < OPTION_COUNT; id++) {
        if (is_word(option_of(id)->value, word, length)) return true;
    }
    return false;
}

static bool is_option(const char *word, size_t length) {
    return word[0] == '-' && (length == 1 || word[1] == '-' || isalnum((unsigned char)word[1]));
}

/* One word, with the punctuation around it in roman. */
static void put_word(const char *word, size_t length, bool *code) {
    static const char punctuation[] = "()[]|,.;:'\"";
    size_t start = 0, end = length;
    while (!*code && start < end && strchr("([\"", word[start]) != NULL) start++;
    put_escaped(word, start);
    if (start < end && word[start] == '`') {
        *code = true;
        start++;
    }
    if (*code) {
        const char *close = memchr(word + start, '`', end - start);
        const size_t stop = close != NULL ? (size_t)(close - word) : end;
        put_font('B', word + start, stop - start);
        if (close == NULL) return;
        *code = false;
        put_escaped(close + 1, end - stop - 1);
        return;
    }
    while (end > start && strchr(punctuation, word[end - 1]) != NULL) end--;
    const char *at = word + start;
    const size_t inner = end - start;
    put_font(is_metavariable(at, inner) ? 'I' : is_option(at, inner) ? 'B' : 'R', at, inner);
    put_escaped(word + end, length - end);
}

/* Fills lines; a sentence ends its line, an empty line begins a paragraph. */
static void put_text(const char *text, const struct option_spec *spec) {
    char expanded[2 * TEXT_MAX];
    bool code = false;
    expand_text(text, spec, expanded, sizeof expanded);
    for (const char *at = expanded; *at != '\0';) {
        const size_t length = strcspn(at, " \n");
        put_word(at, length, &code);
        flush_word();
        const char last = length > 0 ? at[length - 1] : ' ';
        at += length;
        if (strncmp(at, "\n\n", 2) == 0) {
            end_line();
            puts(".PP");
            at += 2;
        } else if (*at != '\0') {
            at++;
        }
        if (last == '.' && (isupper((unsigned char)*at) || *at == '`')) end_line();
    }
    end_line();
}

/* A help line as a sentence. */
static void put_sentence(const char *help, const struct option_spec *spec) {
    char sentence[TEXT_MAX];
    snprintf(sentence, sizeof sentence, "%s%s.", help,
             spec != NULL && spec->repeats ? "; may be repeated" : "");
    sentence[0] = (char)toupper((unsigned char)sentence[0]);
    put_text(sentence, spec);
}

static void put_term(const char *term) {
    puts(".TP");
    put_line('B', term, strlen(term));
}

static void put_upper(const char *text) {
    for (; *text != '\0'; text++) putchar(toupper((unsigned char)*text));
}

static void put_section(const char *title) {
    fputs(".SH ", stdout);
    put_upper(title);
    putchar('\n');
}

static void put_examples(const char *examples) {
    puts(".EX");
    for (const char *line = examples; *line != '\0'; line += strcspn(line, "\n") + 1) {
        put_line('R', line, strcspn(line, "\n"));
    }
    puts(".EE");
}

/* ---- pages */

static void put_title(const char *page, const char *summary) {
    fputs(".\\\" Generated by tamis --generate man; do not edit.\n.TH ", stdout);
    put_upper(page);
    puts(" 1 " PAGE_DATE " tamis \"User Commands\"\n.SH NAME");
    put_escaped(page, strlen(page));
    put(" \\- ", 4);
    put_line('R', summary, strlen(summary));
}

static void put_synopsis(const struct command *command) {
    printf(".HP\n\\fBtamis %s\\fR\n", command->name);
    put_text(command->usage, NULL);
}

static void put_option(const struct option_spec *spec) {
    char name[40];
    puts(".TP");
    snprintf(name, sizeof name, "-%c", spec->letter);
    if (spec->letter != '\0') {
        put_font('B', name, 2);
        put(", ", 2);
    }
    snprintf(name, sizeof name, "--%s", spec->name);
    put_font('B', name, strlen(name));
    if (spec->value != NULL) {
        put(" ", 1);
        put_font('I', spec->value, strlen(spec->value));
    }
    put_line('R', "", 0);
    put_sentence(spec->help, spec);
    if (spec->more != NULL) put_text(spec->more, spec);
}

/* The options of a group that a command, or one of its verbs, has. */
static void put_group(const struct command *command, enum option_group group, bool titled) {
    const struct command *single[] = {command, NULL};
    const struct command *const *list = command->verbs != NULL ? command->verbs : single;
    bool seen[OPTION_COUNT] = {false};
    const struct option_spec *spec;
    for (; *list != NULL; list++) {
        for (size_t i = 0; (spec = command_option(*list, i)) != NULL; i++) {
            if (spec->group != group || seen[spec->id]) continue;
            if (titled) printf(".SS %s\n", group_titles[group]);
            titled = false;
            seen[spec->id] = true;
            put_option(spec);
        }
    }
}

static void put_exits(const struct command *command) {
    put_section("Exit status");
    for (int code = EXIT_DONE; code <= EXIT_CHANGED; code++) {
        const char digit[] = {(char)('0' + code), '\0'};
        if (exit_text(command, code) == NULL) continue;
        put_term(digit);
        put_sentence(exit_text(command, code), NULL);
    }
}

static void put_description(const struct command *command) {
    put_text(command->about, NULL);
    if (command->details == NULL) return;
    puts(".PP");
    put_text(command->details, NULL);
}

static void put_verbs(const struct command *command) {
    for (const struct command *const *verb = command->verbs; *verb != NULL; verb++) {
        printf(".SS %s\n", (*verb)->name);
        put_description(*verb);
        put_group(*verb, GROUP_COMMAND, false);
    }
}

static void put_see(const char *names) {
    put_section("See also");
    fputs("\\fBtamis\\fR(1)", stdout);
    for (const char *at = names; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, " ");
        printf(",\n\\fBtamis\\-%.*s\\fR(1)", (int)length, at);
        at += length + (at[length] == ' ');
    }
    putchar('\n');
}

static void put_command(const char *page, const struct command *command) {
    put_title(page, command->summary);
    put_section("Synopsis");
    if (command->verbs == NULL) put_synopsis(command);
    for (size_t i = 0; command->verbs != NULL && command->verbs[i] != NULL; i++) {
        put_synopsis(command->verbs[i]);
    }
    put_section("Description");
    put_description(command);
    if (command->verbs != NULL) put_verbs(command);
    put_section("Options");
    if (command->verbs == NULL) put_group(command, GROUP_COMMAND, false);
    for (int g = GROUP_FILTER; g < GROUP_COUNT; g++) put_group(command, (enum option_group)g, true);
    put_exits(command);
    put_section("Examples");
    put_examples(command->examples);
    put_see(command->see);
}

/* {kinds} or {formats}, with their descriptions. */
static void put_registry(char list) {
    const char *name;
    for (size_t i = 0; (name = list_name(list, NULL, i)) != NULL; i++) {
        put_term(name);
        put_text(list_description(list, name), NULL);
    }
}

static void put_overview(void) {
    put_title("tamis", "Bloom, cuckoo, xor, binary fuse and ribbon filters");
    put_section("Synopsis");
    put_synopsis(&(const struct command){.name = "COMMAND", .usage = "[OPTION]... [FILE]..."});
    put_section("Description");
    put_text(tamis_about, NULL);
    printf(".SS %s\n", "Commands");
    for (size_t i = 0; commands[i] != NULL; i++) {
        put_term(commands[i]->name);
        put_sentence(commands[i]->summary, NULL);
    }
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        printf(".SS %s\n", sections[i].title);
        put_text(sections[i].text, NULL);
        if (sections[i].list != '\0') put_registry(sections[i].list);
    }
    put_section("Environment");
    for (size_t i = 0; i < sizeof environment / sizeof environment[0]; i++) {
        put_term(environment[i].name);
        put_text(environment[i].text, NULL);
    }
    put_exits(NULL);
    put_section("Examples");
    put_examples(tamis_examples);
    put_section("See also");
    fputs("\\fBgrep\\fR(1),\n\\fBsort\\fR(1),\n\\fBuniq\\fR(1)", stdout);
    for (size_t i = 0; commands[i] != NULL; i++)
        printf(",\n\\fBtamis\\-%s\\fR(1)", commands[i]->name);
    putchar('\n');
}

bool generate_page(const char *page) {
    if (strcmp(page, "tamis") == 0) {
        put_overview();
        return true;
    }
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strncmp(page, "tamis-", 6) != 0 || strcmp(page + 6, commands[i]->name) != 0) continue;
        put_command(page, commands[i]);
        return true;
    }
    return false;
}
