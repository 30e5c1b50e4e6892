/* filters.c - opening and saving filters; every error names the file and the cure */
#define _DEFAULT_SOURCE /* flock; and realpath */

#include "filters.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "descriptor.h"
#include "hints.h"
#include "holder.h"
#include "interrupt.h"
#include "numbers.h"
#include "output.h"
#include "records.h"
#include "term.h"

/* Reading a table of this size takes no noticeable time. */
#define PASS_BYTES ((uint64_t)1 << 20)

void needs_of_known_keys(tamis_options *options) {
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    options->needs = TAMIS_NEED_STATIC;
    if (tamis_size(options, &sizing) != TAMIS_OK) options->needs = TAMIS_NEED_ADD;
}

/* Does a filter of a usual size have this rate? */
static bool supports_fpr(tamis_kind kind, double fpr) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    options.kind = kind;
    options.capacity = 1000000;
    options.fpr = fpr;
    return tamis_size(&options, &sizing) == TAMIS_OK;
}

void fpr_too_low(tamis_kind kind, double fpr) {
    tamis_kind lowest = tamis_kind_next(TAMIS_AUTO), k = lowest;
    int exponent = 1; /* `lowest` supports 2^-exponent */
    for (; k != TAMIS_AUTO; k = tamis_kind_next(k)) {
        if (kind != TAMIS_AUTO && k != kind) continue;
        for (; supports_fpr(k, ldexp(1, -exponent - 1)); exponent++) lowest = k;
    }
    for (k = tamis_kind_next(TAMIS_AUTO); k != TAMIS_AUTO && !supports_fpr(k, fpr);) {
        k = tamis_kind_next(k);
    }
    const struct text given = text_exact(fpr);
    if (kind == TAMIS_AUTO) {
        die("-p %s: lower than any kind supports; the lowest is 2^-%d, of -k %s", given.at,
            exponent, tamis_kind_name(lowest));
    }
    if (k == TAMIS_AUTO) {
        die("-p %s: lower than %s supports (2^-%d)", given.at, tamis_kind_name(kind), exponent);
    }
    die("-p %s: lower than %s supports (2^-%d); use -k %s", given.at, tamis_kind_name(kind),
        exponent, tamis_kind_name(k));
}

const char *parameters_of(const char *format) {
    const char *names = tamis_format_parameters(format);
    return names[0] == '\0' ? "none" : names;
}

/* ---- opening */

/* A regular file; NULL for a pipe, whose bytes would be lost. */
static FILE *open_again(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) ? fopen(path, "rb") : NULL;
}

/* Lists the formats that cannot be excluded, for those without a signature. */
static _Noreturn void not_recognised(const struct source *source) {
    const char *path = source->path;
    char names[200] = "";
    size_t length = 0, used = 0;
    uint8_t *bytes = (uint8_t *)need(1);
    FILE *file = open_again(path);
    for (size_t got = 1; file != NULL && got != 0; length += got) {
        bytes = (uint8_t *)need_more(bytes, length + (1 << 20));
        got = fread(bytes + length, 1, 1 << 20, file);
    }
    const char *name;
    for (size_t i = 0; (name = tamis_format_detect(bytes, length, i)) != NULL; i++) {
        const int more =
            snprintf(names + used, sizeof names - used, "%s%s", i != 0 ? ", " : "", name);
        if (more < 0 || (size_t)more >= sizeof names - used) break;
        used += (size_t)more;
    }
    if (names[0] == '\0') die("'%s' is not a filter of a known format", path);
    die("the format of '%s' cannot be detected; it could be %s: %s", path, names,
        source->advice != NULL ? source->advice : "give it with --from");
}

static size_t file_begins(const char *path, void *bytes, size_t most) {
    FILE *file = open_again(path);
    const size_t length = file != NULL ? fread(bytes, 1, most, file) : 0;
    if (file != NULL) fclose(file);
    return length;
}

/* A lock that is still held when the time of --wait is over. */
static _Noreturn void still_locked(const struct source *source) {
    char holder[HOLDER_MAX];
    lock_holder(source->path, holder);
    die("'%s' is locked by %s: give --wait SECONDS to wait longer", source->path, holder);
}

static _Noreturn void cannot_open(const struct source *source, tamis_status status, int error) {
    const char *path = source->path;
    if (status == TAMIS_E_IO) die("cannot open '%s': %s", path, strerror(error));
    if (status == TAMIS_E_BUSY) still_locked(source);
    char bytes[8];
    const struct compression *packed =
        compression_of(bytes, file_begins(path, bytes, sizeof bytes));
    if (packed != NULL) die("'%s' is compressed with %s: decompress it first", path, packed->name);
    switch (status) {
        case TAMIS_E_SECRET:
            die("'%s' is keyed: give its secret with --key-file FILE", path);
        case TAMIS_E_WRONG_SECRET:
            die("'%s' was built with another secret than that in '%s'", path, source->key_file);
        case TAMIS_E_FORMAT:
            if (source->format == NULL) not_recognised(source);
            die("'%s' is not a filter of the format %s", path, source->format);
        case TAMIS_E_PART:
            if (source->part != NULL)
                die("'%s' has no filter, or more than one, named '%s': see 'tamis info'", path,
                    source->part);
            die("'%s' holds several filters, or none: %s", path,
                source->advice != NULL ? source->advice
                                       : "choose one with --part; 'tamis info' lists them");
        case TAMIS_E_NOMEM:
            die("cannot open '%s': out of memory", path);
        case TAMIS_E_ARGUMENT:
            if (source->format == NULL)
                die("cannot read '%s': %s", path, tamis_status_text(status));
            die("cannot read '%s' as %s: missing or wrong parameters; the format has: %s", path,
                source->format, parameters_of(source->format));
        default:
            if (source->format != NULL) {
                die("cannot read '%s' as %s: %s", path, source->format, tamis_status_text(status));
            }
            die("cannot read '%s': %s", path, tamis_status_text(status));
    }
}

#define LOCK_PAUSE_MS 20

/* As flock(2), with the limit of --wait.  Where locks are not supported there is none. */
static void lock_or_die(const struct source *source, int descriptor) {
    const int64_t limit = source->wait_ms == 0 ? TAMIS_WAIT_MS : source->wait_ms;
    const struct timespec pause = {0, LOCK_PAUSE_MS * 1000000};
    for (int64_t waited = 0; flock(descriptor, LOCK_EX | LOCK_NB) != 0; waited += LOCK_PAUSE_MS) {
        if (errno != EWOULDBLOCK && errno != EINTR) return;
        if (waited >= limit) still_locked(source);
        nanosleep(&pause, NULL);
    }
}

/* Locks a container until the process ends, because each writer replaces the whole file.
 * (tamis_open with `update` locks a file that is one filter.) */
static void container_lock(const struct source *source) {
    struct stat mine, named;
    for (;;) {
        const int descriptor = descriptor_open(source->path, O_RDONLY);
        if (descriptor < 0) die("cannot open '%s': %s", source->path, strerror(errno));
        lock_or_die(source, descriptor);
        if (fstat(descriptor, &mine) != 0 || stat(source->path, &named) != 0) {
            die("cannot open '%s': %s", source->path, strerror(errno));
        }
        if (mine.st_ino == named.st_ino && mine.st_dev == named.st_dev) return;
        close(descriptor); /* the last holder has replaced the file */
    }
}

/* Checks what can be checked before the file is opened, and prepares to change it. */
static tamis_open_options open_options(const struct source *source, enum open_mode mode) {
    tamis_open_options options = TAMIS_OPEN_INIT;
    struct stat status;
    if (strcmp(source->path, "-") == 0) {
        die("'-' is not a filter: to read one from standard input, give /dev/stdin");
    }
    if (stat(source->path, &status) != 0) {
        die("cannot open '%s': %s", source->path, strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) die("'%s' is a directory, not a filter", source->path);
    options.format = source->format;
    options.secret = source->secret;
    options.part = source->part;
    options.wait_ms = source->wait_ms;
    options.map = (mode == OPEN_MAPPED || mode == OPEN_QUERY) && S_ISREG(status.st_mode);
    options.threads = source->threads;
    if (mode != OPEN_CHANGE) return options;
    if (!S_ISREG(status.st_mode)) die("cannot change '%s': it is not a regular file", source->path);
    if (access(source->path, W_OK) != 0) {
        die("cannot write '%s': %s", source->path, strerror(errno));
    }
    tamis_container *container = container_open(source);
    options.update = container == NULL;
    tamis_container_free(container);
    if (!options.update) container_lock(source);
    return options;
}

tamis_filter *filter_or_container_open(const struct source *source, enum open_mode mode,
                                       tamis_container **container) {
    tamis_filter *filter = NULL;
    const tamis_open_options options = open_options(source, mode);
    errno = 0;
    tamis_status status = container != NULL
                              ? tamis_open_any(source->path, &options, &filter, container)
                              : tamis_open(source->path, &options, &filter);
    if (status == TAMIS_OK && filter != NULL && mode == OPEN_MAPPED) status = tamis_verify(filter);
    if (status != TAMIS_OK) cannot_open(source, status, errno);
    return filter;
}

void filter_check_queries(const tamis_filter *filter, const char *path) {
    const tamis_status status = tamis_query_status(filter);
    if (status != TAMIS_OK) die("cannot read '%s': %s", path, tamis_status_text(status));
}

tamis_filter *filter_open(const struct source *source, enum open_mode mode) {
    return filter_or_container_open(source, mode, NULL);
}

static tamis_facts facts_by(tamis_status (*info)(const tamis_filter *, tamis_facts *),
                            const tamis_filter *filter) {
    tamis_facts facts = TAMIS_FACTS_INIT;
    const tamis_status status = info(filter, &facts);
    if (status != TAMIS_OK) die("cannot read the filter: %s", tamis_status_text(status));
    return facts;
}

tamis_facts filter_facts(const tamis_filter *filter) { return facts_by(tamis_info, filter); }

tamis_facts filter_facts_brief(const tamis_filter *filter) {
    return facts_by(tamis_info_brief, filter);
}

tamis_facts filter_facts_changed(const tamis_filter *filter, uint64_t written, bool *brief) {
    const tamis_facts facts = filter_facts_brief(filter);
    const bool in_place = written < facts.encoded_bytes && facts.encoded_bytes > PASS_BYTES;
    *brief = in_place && facts.adds <= facts.capacity;
    return *brief ? facts : filter_facts(filter);
}

/* ---- saving */

/* Linux has this rule for links that it follows itself: in a directory where everybody may create
 * files, a link counts only if it is this user's or the directory's owner's. */
static void link_check(const char *link) {
    char directory[PATH_MAX];
    struct stat status, parent;
    const char *slash = strrchr(link, '/');
    const size_t length = slash == NULL ? 0 : (size_t)(slash - link) + 1;
    memcpy(directory, link, length);
    strcpy(directory + length, ".");
    if (lstat(link, &status) != 0 || !S_ISLNK(status.st_mode)) return;
    if (stat(directory, &parent) != 0) return;
    if (!(parent.st_mode & S_ISVTX) || !(parent.st_mode & S_IWOTH)) return;
    if (status.st_uid == geteuid() || status.st_uid == parent.st_uid) return;
    die("cannot write '%s': it is a link that another user has made", link);
}

/* Replaces `path`, which has room for PATH_MAX bytes, by the target of the link; false if it is not
 * a link. */
static bool follow_link(char *path) {
    char to[PATH_MAX];
    const ssize_t length = readlink(path, to, sizeof to - 1);
    if (length < 0) {
        /* Without knowing that it is no link it must not be replaced. */
        if (errno == EIO || errno == ENOMEM) die("cannot write '%s': %s", path, strerror(errno));
        return false;
    }
    to[length] = '\0';
    const char *slash = strrchr(path, '/');
    const size_t directory = to[0] == '/' || slash == NULL ? 0 : (size_t)(slash - path) + 1;
    if (directory + (size_t)length >= PATH_MAX) return false;
    memcpy(path + directory, to, (size_t)length + 1);
    return true;
}

#define LINKS_MAX 40 /* as the system */

/* Follows symbolic links, also to a file that does not exist yet. */
static const char *real_path(const char *path, char real[PATH_MAX]) {
    struct stat status;
    if (strlen(path) >= PATH_MAX - 1) return path;
    link_check(path);
    /* realpath follows links that stat may not. */
    if (stat(path, &status) == 0 && realpath(path, real) != NULL) return real;
    strcpy(real, path);
    for (int links = 0; links < LINKS_MAX && follow_link(real); links++) link_check(real);
    return real;
}

/* Dies unless a file can be created at `target`, the real path of `path`. */
static void directory_check(const char *path, const char *target) {
    char *copy = (char *)need(strlen(target) + 2);
    strcpy(copy, target);
    char *slash = strrchr(copy, '/');
    if (slash == NULL) {
        strcpy(copy, ".");
    } else {
        slash[slash == copy ? 1 : 0] = '\0';
    }
    struct stat status;
    const bool other = stat(copy, &status) == 0 && !S_ISDIR(status.st_mode);
    if (other || access(copy, W_OK | X_OK) != 0) {
        if (other) errno = ENOTDIR;
        die("cannot write '%s': %s: '%s'", path, strerror(errno), copy);
    }
    free(copy);
}

void target_apart(const char *path, const struct words *inputs, const struct key_options *keys) {
    static const char *const endings[] = {"", ".journal"};
    const struct words secret = {.at = (const char **)&keys->key_file, .count = 1};
    char real[PATH_MAX], name[PATH_MAX + 16];
    const char *target = real_path(path, real);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const char *what = "an input";
        snprintf(name, sizeof name, "%s%s", target, endings[i]);
        const char *same = input_same_file(inputs, name);
        if (same == NULL && keys->key_file != NULL) {
            what = "the key file";
            same = input_same_file(&secret, name);
        }
        if (same == NULL) continue;
        if (i == 0) die("'%s' is also %s: give another name", path, what);
        die("'%s' is %s and would be overwritten: writing '%s' needs a file of that name",
            strcmp(same, "-") == 0 ? name : same, what, path);
    }
}

void target_check(const char *path, bool force, const struct words *inputs,
                  const struct key_options *keys) {
    struct stat status;
    char real[PATH_MAX];
    if (strcmp(path, "-") == 0) {
        if (term_is(stdout)) {
            die("refusing to write a filter to a terminal: redirect standard output, or give -o "
                "FILE");
        }
        const char *same = input_same_file(inputs, "/dev/stdout");
        if (same != NULL) {
            die("'%s' is both input and output: write to another file",
                strcmp(same, "-") == 0 ? "standard input" : same);
        }
        return;
    }
    if (path[0] == '\0') die("the output file name is empty");
    const bool exists = stat(path, &status) == 0;
    if (!exists && errno == ELOOP) die("cannot write '%s': %s", path, strerror(errno));
    if (!exists && !force && lstat(path, &status) == 0) { /* a dangling link */
        die("'%s' exists already: give -f to replace it", path);
    }
    if (exists && S_ISDIR(status.st_mode)) die("cannot write '%s': it is a directory", path);
    target_apart(path, inputs, keys);
    if (exists && !S_ISREG(status.st_mode)) {
        die("cannot replace '%s': it is not a regular file", path);
    }
    if (exists && !force) die("'%s' exists already: give -f to replace it", path);
    /* A rename would succeed, but the file is write-protected on purpose. */
    if (exists && access(path, W_OK) != 0) die("cannot write '%s': %s", path, strerror(errno));
    const char *target = real_path(path, real);
    directory_check(path, exists ? path : target);
}

static bool to_output(void *context, const void *bytes, size_t length) {
    struct output *output = (struct output *)context;
    output_bytes(output, bytes, length);
    return output->error == 0;
}

static void save_to_stdout(const tamis_filter *filter) {
    struct output output;
    output_open(&output, STDOUT_FILENO);
    const tamis_status status = tamis_encode_to(filter, to_output, &output);
    output_close(&output, "standard output");
    if (output.error != 0) exit(EXIT_ERROR);
    if (status != TAMIS_OK) die("cannot write the filter: %s", tamis_status_text(status));
}

/* The end of a save, just after the call that set errno. */
static void saved_or_die(const char *path, tamis_status status) {
    const int error = errno;
    interrupt_saved();
    if (status == TAMIS_E_IO && error == ESTALE) {
        die("another process has replaced '%s' meanwhile; that file was not changed", path);
    }
    if (status == TAMIS_OK || status == TAMIS_E_CHANGED) errors_changed();
    if (status == TAMIS_E_CHANGED) {
        die("'%s' was changed, but the change could not be synced or completed: %s; do not repeat "
            "the command",
            path, strerror(error));
    }
    if (status == TAMIS_E_IO) die("cannot write '%s': %s", path, strerror(error));
    if (status != TAMIS_OK) die("cannot write '%s': %s", path, tamis_status_text(status));
}

bool filter_save_file(const tamis_filter *filter, const char *path, bool replace) {
    /* Keep a symbolic link: replace its target. */
    char real[PATH_MAX];
    const char *target = real_path(path, real);
    interrupt_saving(target);
    errno = 0;
    const tamis_status status = tamis_save(filter, target, replace);
    const bool exists = status == TAMIS_E_EXISTS;
    if (exists) {
        interrupt_saved();
        return false;
    }
    saved_or_die(path, status);
    return true;
}

void filter_save(const tamis_filter *filter, const char *path, bool force) {
    if (strcmp(path, "-") == 0) {
        save_to_stdout(filter);
    } else if (!filter_save_file(filter, path, force)) {
        die("'%s' exists already: give -f to replace it", path);
    }
}

bool part_is(const tamis_part *part, const char *name) {
    const char *slash = strchr(part->name, '/');
    return strcmp(part->name, name) == 0 || (slash != NULL && strcmp(slash + 1, name) == 0);
}

/* The index of the part that the source names, or of the only part. */
static size_t part_index(const tamis_container *container, const struct source *source) {
    tamis_part part = {.struct_size = sizeof part};
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < tamis_container_count(container); i++) {
        if (tamis_container_part(container, i, &part) != TAMIS_OK || part.bytes == 0) continue;
        if (source->part == NULL || part_is(&part, source->part)) found = i;
    }
    if (found == SIZE_MAX) die("'%s' has no filter '%s'", source->path, source->part);
    return found;
}

static void save_part(const struct source *source, const tamis_container *container,
                      const tamis_filter *filter) {
    char real[PATH_MAX];
    const char *target = real_path(source->path, real);
    const size_t index = part_index(container, source);
    interrupt_saving(target);
    errno = 0;
    const tamis_status status = tamis_container_replace(container, index, filter, target, true);
    if (status == TAMIS_E_UNSUPPORTED) {
        interrupt_saved();
        die("'%s' is a %s, whose filters cannot be changed", source->path,
            tamis_container_format(container));
    }
    saved_or_die(source->path, status);
}

uint64_t filter_save_back(const struct source *source, tamis_filter *filter) {
    char real[PATH_MAX];
    uint64_t written = tamis_encoded_size(filter);
    tamis_container *container = container_open(source);
    if (container != NULL) {
        save_part(source, container, filter);
        tamis_container_free(container);
        return written;
    }
    interrupt_committing(real_path(source->path, real));
    errno = 0;
    const tamis_status status = tamis_commit(filter, &written);
    saved_or_die(source->path, status);
    return written;
}

tamis_container *container_open(const struct source *source) {
    tamis_open_options options = TAMIS_OPEN_INIT;
    tamis_container *container;
    struct stat file;
    if (stat(source->path, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size == 0) return NULL;
    options.format = source->format;
    options.wait_ms = source->wait_ms;
    errno = 0;
    const tamis_status status = tamis_container_open(source->path, &options, &container);
    if (status == TAMIS_OK) return container;
    if (status != TAMIS_E_FORMAT) cannot_open(source, status, errno);
    return NULL;
}

/* ---- messages */

struct text filter_distinct(const tamis_facts *facts) {
    const double error = facts->distinct_error;
    if (facts->fpr_now < 1 || error <= 0) return text_estimate(facts->distinct, error);
    const struct text low = text_estimate(facts->distinct - 2 * error, error);
    return text_of("at least %s", strncmp(low.at, "about ", 6) == 0 ? low.at + 6 : low.at);
}

struct text filter_distinct_keys(const tamis_facts *facts) {
    const struct text count = filter_distinct(facts);
    const bool one = strcmp(count.at, "1") == 0 || strcmp(count.at, "about 1") == 0;
    return text_of("%s %s", count.at, one ? "key" : "keys");
}

void filter_summary(const char *path, const tamis_facts *facts, uint64_t keys) {
    const char *name = strcmp(path, "-") == 0 ? "standard output" : path;
    tamis_facts known = *facts;
    /* Other systems do not count keys, or only those that looked new. */
    const bool uncounted = facts->distinct > (double)keys + 3 * facts->distinct_error ||
                           (keys == 0 && facts->distinct > 0);
    if (!uncounted) known.distinct = fmin(facts->distinct, (double)keys);
    const struct text estimate = filter_distinct(&known);
    const struct text count = uncounted ? estimate : text_count(keys);
    const bool one = uncounted ? strcmp(estimate.at, "about 1") == 0 : keys == 1;
    char distinct[80] = "";
    if (!uncounted && (facts->distinct > 0 || keys == 0)) {
        snprintf(distinct, sizeof distinct, " (%s distinct)", estimate.at);
    }
    say("%s: %s, %s %s%s, %s, %s bits/key, expected rate %s", name, tamis_kind_name(facts->kind),
        count.at, one ? "key" : "keys", distinct, text_bytes(facts->encoded_bytes).at,
        text_bits(facts->bits_per_key).at, text_fpr(facts->fpr_now).at);
}

int filter_capacity(const char *path, const tamis_facts *facts) {
    if (!facts->over_capacity) return EXIT_DONE;
    warn("'%s' is over its capacity of %s: it holds %s, and its rate is now %s instead of %s",
         strcmp(path, "-") == 0 ? "standard output" : path, text_plural(facts->capacity, "key").at,
         filter_distinct(facts).at, text_fpr(facts->fpr_now).at, text_fpr(facts->fpr_target).at);
    return EXIT_OVER;
}

void filter_die(const char *path, tamis_status status) {
    die("'%s': %s", path, tamis_status_text(status));
}
