/* upload.c - tamis redis put: uploads the file of a filter to a key
 *
 *     check the file here -> map it -> tamis_cluster_put: chunks, in windows -> summary
 *
 * A file that the server would refuse at the end of the upload is refused before it starts.  A
 * signal waits for the current window, drops the upload on the server, and then ends the process;
 * the previous filter stays in use. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "numbers.h"
#include "redis.h"

#define CONVERT_IT "'tamis convert' makes a .tamis file of it"

/* Refuses filters that a server cannot query. */
static void check_queryable(const char *path, const tamis_facts *facts) {
    if (strcmp(facts->format, "tamis") != 0) {
        die("'%s' has the format %s: " CONVERT_IT, path, facts->format);
    }
    /* As in the module: a server hashes the bytes of an item unchanged. */
    const uint32_t changing = facts->form.flags & ~(uint32_t)TAMIS_KEY_STRIP_CR;
    if (facts->hasher == TAMIS_HASH_NONE || facts->key_bytes != 0 || changing != 0 ||
        facts->form.type != TAMIS_KEY_BYTES) {
        die("'%s': its keys are not plain bytes, so a server cannot hash them", path);
    }
}

/* Opens the file as every command does, with the same errors; the facts are for the summary. */
static tamis_facts check_file(const struct redis_request *r, const char *path) {
    struct stat status;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
        (uint64_t)status.st_size > TAMIS_CLUSTER_FILE_MAX) {
        die("'%s' is larger than the %s that a server accepts", path,
            text_bytes(TAMIS_CLUSTER_FILE_MAX).at);
    }
    tamis_filter *filter = request_open(&r->common, path, OPEN_MAPPED);
    const tamis_facts facts = filter_facts(filter);
    check_queryable(path, &facts);
    tamis_free(filter);
    return facts;
}

static const void *map_file(const char *path, uint64_t *length) {
    struct stat status;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
        die("cannot open '%s': %s", path, strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) die("cannot put '%s': it is not a regular file", path);
    *length = (uint64_t)status.st_size;
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED) die("cannot map '%s': %s", path, strerror(errno));
    close(descriptor);
    return bytes;
}

static bool show_progress(void *context, uint64_t bytes) {
    (void)context;
    progress_show_bytes(bytes);
    return !interrupt_waits();
}

static void upload(const struct redis_request *r, tamis_cluster *cluster, const char *path,
                   bool keyed) {
    tamis_cluster_file file = {.secret = keyed ? key_options_secret(&r->common.keys) : NULL,
                               .progress = show_progress};
    file.bytes = map_file(path, &file.length);
    progress_start(&r->common.run, "put", file.length, false);
    interrupt_hold();
    const bool good = tamis_cluster_put(cluster, r->common.file, &file);
    if (!good && interrupt_waits()) warn("%s", tamis_cluster_error(cluster));
    interrupt_saved();
    if (!good) die("%s", tamis_cluster_error(cluster));
    progress_end();
    munmap((void *)file.bytes, (size_t)file.length);
}

int redis_put_main(struct args *args) {
    struct redis_request r;
    redis_parse(args, &r);
    if (r.common.inputs.count == 0) die("missing FILE (the filter)");
    if (r.common.inputs.count != 1) die("too many operands: give one FILE");
    const char *path = r.common.inputs.at[0];
    r.common.advice = CONVERT_IT;
    const tamis_facts facts = check_file(&r, path);
    tamis_cluster *cluster = redis_connect(&r);
    upload(&r, cluster, path, facts.keyed);
    if (!r.common.run.quiet) {
        const uint64_t keys = (uint64_t)(facts.distinct + 0.5);
        say("%s: put %s, %s, %s, %s bits/key, expected rate %s", r.common.file,
            tamis_kind_name(facts.kind), text_plural(keys, "key").at,
            text_bytes(facts.encoded_bytes).at, text_bits(facts.bits_per_key).at,
            text_fpr(facts.fpr_now).at);
    }
    tamis_cluster_free(cluster);
    words_free(&r.common.inputs);
    return EXIT_DONE;
}
