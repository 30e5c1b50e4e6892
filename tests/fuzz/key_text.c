/* key_text.c - what the command reads as text: numbers, rates, options, records and their keys
 *
 * The first byte selects one of them.  Files of cli/ are linked without cli/errors.c: `die` returns
 * to the target instead of ending the process.
 *
 *   numbers   a count or a size, a rate.  What is accepted is in range and reads back from its text
 *   options   words separated by NUL, for a command that has every option
 *   records   a form of keys, a delimiter, then records.  The records are the input; a key without
 *             a form is its record; a hexadecimal key reads back
 *   forms     the form that a filter stores and the form that was given */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "../../cli/batch.h"
#include "../../cli/numbers.h"
#include "../../cli/output.h"
#include "fuzz.h"

/* ---- cli/errors.c and the parts of the command that are not linked */

static jmp_buf caught;

_Noreturn void die(const char *format, ...) {
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    longjmp(caught, 1);
}

void *need_more(void *block, size_t size) {
    void *more = realloc(block, size != 0 ? size : 1);
    if (more == NULL) abort();
    return more;
}

void *need_room(void *block, size_t *capacity, size_t count, size_t each) {
    if (count <= *capacity) return block;
    *capacity = 2 * count;
    return need_more(block, *capacity * each);
}

void help_print(const struct command *command, FILE *to) {
    (void)command, (void)to;
    longjmp(caught, 1);
}

void stdout_close(void) {}

/* ---- numbers */

static void read_numbers(const char *text) {
    uint64_t number = 0, again = 0;
    double fpr = 0;
    if (number_parse(text, &number)) {
        const struct text shown = text_count(number);
        fuzz_must(number_parse(shown.at, &again) && again == number, "a count does not read back");
        (void)text_bytes(number), (void)text_plural(number, "key"), (void)text_few((double)number);
        (void)text_brief((double)number), (void)text_time((double)number);
    }
    if (fpr_parse(text, &fpr)) {
        fuzz_must(fpr > 0 && fpr < 1, "a rate out of range");
        const struct text shown = text_exact(fpr);
        double back = 0;
        fuzz_must(fpr_parse(shown.at, &back) && back == fpr, "a rate does not read back");
        (void)text_fpr(fpr), (void)text_odds(fpr), (void)text_estimate(1 / fpr, fpr);
    }
    if (setjmp(caught) == 0) (void)fpr_of("-p", text);
    if (setjmp(caught) == 0) (void)number_within("-n", text, 1, 1000);
}

/* ---- options */

#define WORDS_MAX 32

static const struct command every = {.name = "fuzz", .groups = UINT32_MAX};

struct values {
    bool flag;
    const char *text, *format;
    uint64_t number;
    uint32_t small, choice, bits;
    double fpr;
    tamis_kind kind;
};

/* By the form of its argument, as the commands do. */
static void take_option(const struct args *args, int id, struct values *v) {
    const struct option_spec *spec = args->spec;
    struct binding list[2] = {{.id = id, .flag = &v->flag}};
    if (spec->value == NULL) {
        list[0].bits = &v->bits, list[0].mask = 1;
    } else if (id == OPT_FPR) {
        list[0].fpr = &v->fpr;
    } else if (strcmp(spec->value, "N") == 0 || strcmp(spec->value, "SIZE") == 0) {
        list[0].number = &v->number;
    } else if (spec->complete == COMPLETE_CHOICE) {
        list[0].choice = &v->choice;
    } else if (spec->complete == COMPLETE_FORMAT || spec->complete == COMPLETE_WRITABLE) {
        list[0].format = &v->format;
    } else if (spec->complete == COMPLETE_KIND) {
        list[0].kind = &v->kind;
    } else {
        list[0].text = &v->text;
    }
    fuzz_must(args_store(args, id, list), "an option is not stored");
}

static void read_words(char *text, size_t length) {
    char *words[WORDS_MAX];
    int count = 0;
    struct args args;
    struct values values = {0};
    struct key_options keys = KEY_OPTIONS_INIT;
    for (size_t at = 0; at < length && count < WORDS_MAX; at += strlen(text + at) + 1) {
        words[count++] = text + at;
    }
    args_start(&args, &every, count, words);
    if (setjmp(caught) != 0) return;
    for (int id; (id = args_next(&args)) != ARG_END;) {
        if (id == ARG_OPERAND || id == OPT_KEY_FILE) continue; /* no files here */
        if (!key_options_take(&keys, id, &args)) take_option(&args, id, &values);
    }
    key_options_check(&keys);
    char shown[256];
    key_form_text(&keys.form, shown, sizeof shown);
}

/* ---- records */

static tamis_key_form take_form(struct fuzz_input *in) {
    tamis_key_form form = {.flags = fuzz_take(in) & 15u, .type = fuzz_take(in) % 7u};
    const uint8_t separator = fuzz_take(in);
    form.field = separator / 16;
    form.separator_length = (uint8_t)(form.field == 0 ? 0 : 1 + separator % 3);
    for (unsigned i = 0; i < form.separator_length; i++) form.separator[i] = fuzz_take(in);
    return form;
}

static void check_keys(const struct batch *batch, const tamis_key_form *form) {
    const bool plain = form->flags == 0 && form->type == 0 && form->field == 0;
    for (size_t i = 0; i < batch->count; i++) {
        const size_t length = batch->lengths[i];
        if (plain) fuzz_must(batch->keys[i] == batch->record[i], "a plain key is not its record");
        if (form->flags == TAMIS_KEY_HEX && form->field == 0 && form->type == 0) {
            fuzz_must(2 * length == batch->record_length[i], "the length of a hexadecimal key");
        }
        if (form->type == TAMIS_KEY_I64 || form->type == TAMIS_KEY_F64) {
            fuzz_must(length == 8, "the length of a number");
        }
    }
}

static void read_records(struct fuzz_input *in) {
    static struct batch batch;
    const tamis_key_form form = take_form(in);
    const uint8_t delimiter = fuzz_take(in), key_bytes = fuzz_take(in);
    struct block block = {.length = fuzz_left(in)};
    struct record_error error = {0};
    size_t at = 0, seen = 0;
    if ((form.flags & TAMIS_KEY_HEX) && form.type != 0) return; /* key_options_check refuses it */
    block.data = fuzz_copy(in->at, block.length);
    batch_start(&batch);
    while (!error.is && batch_next(&batch, &block, delimiter, &at)) {
        for (size_t i = 0; i < batch.count; i++) {
            fuzz_must(batch.start[i] == seen, "records do not follow each other");
            seen += batch.record_length[i] + 1;
        }
        const bool made = batch_keys(&batch, &form, key_bytes < 240 ? 0 : 8, &error);
        fuzz_must(made != error.is, "an error without an error");
        if ((form.flags & TAMIS_KEY_PREHASHED) == 0) check_keys(&batch, &form);
    }
    fuzz_must(error.is || seen == block.length || seen == block.length + 1, "records are missing");
    batch_free(&batch);
    free(block.data);
}

/* ---- forms */

static void merge_forms(struct fuzz_input *in) {
    tamis_facts facts = TAMIS_FACTS_INIT;
    struct key_options given = KEY_OPTIONS_INIT;
    char text[256];
    const uint8_t how = fuzz_take(in);
    facts.format = (how & 1) != 0 ? "guava" : "tamis";
    facts.prehashed = (how & 2) != 0;
    facts.key_bytes = (how & 4) != 0 ? 8 : 0;
    given.has_type = (how & 8) != 0;
    given.has_separator = (how & 16) != 0;
    facts.form = take_form(in);
    given.form = take_form(in);
    if (setjmp(caught) != 0) return;
    const tamis_key_form merged = key_form_merge(&facts, &given, "file");
    key_form_text(&merged, text, sizeof text);
    if (key_form_same(&facts.form, &given.form)) {
        fuzz_must(merged.field == facts.form.field, "a field is lost");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_input in = {data, data + size};
    const uint8_t what = fuzz_take(&in);
    if (what % 4 == 2) {
        read_records(&in);
    } else if (what % 4 == 3) {
        merge_forms(&in);
    } else {
        static char text[4096];
        const size_t length = fuzz_left(&in) < sizeof text - 1 ? fuzz_left(&in) : sizeof text - 1;
        if (length != 0) memcpy(text, in.at, length);
        text[length] = '\0';
        if (what % 4 == 0) read_numbers(text);
        if (what % 4 == 1) read_words(text, length);
    }
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t room) {
    static const struct {
        uint8_t what;
        const char *bytes;
        size_t length;
    } seeds[] = {
#define SEED(what, bytes) {what, bytes, sizeof bytes - 1}
        SEED(0, "1,000,000"),
        SEED(0, "18446744073709551615"),
        SEED(0, "1.5Mi"),
        SEED(0, "64Ki"),
        SEED(0, "1e6"),
        SEED(0, "0.1%"),
        SEED(0, "1/1000"),
        SEED(0, "2^-10"),
        SEED(0, "1e-300"),
        SEED(0, ".5"),
        SEED(1, "-n\0001M\0-p\0001%\0-k\0bloom\0--\0file"),
        SEED(1, "--to\0guava\0--seed=7\0-F2\0-t\0\\x2c"),
        SEED(1, "--as\0u64\0-0\0--fold-case\0--strip-cr\0--hex"),
        SEED(1, "-d\0\\t\0--prehashed\0--need\0add\0--need=remove"),
        SEED(1, "--capacity\0001,000\0--bytes=64Ki\0-j4\0--hel\0-x"),
        SEED(2, "\0\0\0\n\0one\ntwo\nthree"),
        SEED(2, "\1\0\0\n\0000aff\nzz\n"),
        SEED(2, "\2\0\0\n\0000123456789abcdef\n"),
        SEED(2, "\4\1\0\n\0caf\303\251\r\n\360\237\230\200\r\n"),
        SEED(2, "\0\2\0\n\000-5\n2147483647\n2147483648\n"),
        SEED(2, "\0\4\0\n\37718446744073709551615\n0\n"),
        SEED(2, "\0\6\0\n\0001.5\n-inf\nnan\n1e999\n"),
        SEED(2, "\10\0\x20,;\n\0a,;B,;c\nd,;E\n"),
        SEED(3, "\0\0\0\x21,;\1\0\x21,;"),
        SEED(3, "\11\1\2\0\0\3\0"),
#undef SEED
    };
    if (index >= sizeof seeds / sizeof *seeds || seeds[index].length >= room) return 0;
    out[0] = seeds[index].what;
    memcpy(out + 1, seeds[index].bytes, seeds[index].length);
    return 1 + seeds[index].length;
}
