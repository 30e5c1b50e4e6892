/* compat_faults.c - memory runs out at every possible moment, with compatible formats
 *
 * As faults.c, over the formats instead of the kinds: the first allocation fails, then the second,
 * and so on until a scenario succeeds.  A filter is encoded into a buffer of exactly
 * tamis_encoded_size bytes, followed by a guard: a codec that needs memory to know its size must
 * not write more than it reported. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"

#define N 300
#define STEPS_MAX 2000
#define GUARD 64

static uint64_t integers[N];
static const void *keys[N];
static size_t lengths[N];

struct fixture {
    const char *format; /* with parameters */
    char name[32];      /* without */
    struct meter meter;
    tamis_filter *subject, *made;
    struct bytes bytes;
};

static void fixture_name(struct fixture *s) {
    snprintf(s->name, sizeof s->name, "%.*s", (int)strcspn(s->format, ":"), s->format);
}

static tamis_status do_build(struct fixture *s) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.format = s->format;
    o.allocator = meter_allocator(&s->meter);
    return tamis_build(&o, keys, lengths, N, &s->made);
}

static tamis_status do_clone(struct fixture *s) { return tamis_clone(s->subject, &s->made); }

static tamis_status do_decode(struct fixture *s) {
    tamis_open_options open = TAMIS_OPEN_INIT;
    open.format = s->name;
    open.allocator = meter_allocator(&s->meter);
    return tamis_decode(s->bytes.data, s->bytes.size, &open, &s->made);
}

static tamis_status do_encode(struct fixture *s) {
    struct bytes out = bytes_new(s->bytes.size + GUARD);
    memset(out.data, 0x5a, out.size);
    const tamis_status status = tamis_encode(s->subject, out.data, s->bytes.size, NULL);
    CHECK(status != TAMIS_OK || memcmp(out.data, s->bytes.data, s->bytes.size) == 0, "%s: encode",
          s->format);
    for (size_t i = s->bytes.size; i < out.size; i++) {
        if (!CHECK(out.data[i] == 0x5a, "%s: written past the end", s->format)) break;
    }
    bytes_free(&out);
    return status;
}

/* A buffer that is too small is refused, whichever allocation fails. */
static tamis_status do_encode_small(struct fixture *s) {
    uint8_t out[GUARD];
    memset(out, 0x5a, sizeof out);
    const tamis_status status = tamis_encode(s->subject, out, 1, NULL);
    CHECK(status == TAMIS_E_BUFFER || status == TAMIS_E_NOMEM, "%s: one byte of %zu: %s", s->format,
          s->bytes.size, tamis_status_name(status));
    for (size_t i = 1; i < sizeof out; i++) {
        if (!CHECK(out[i] == 0x5a, "%s: written past one byte", s->format)) break;
    }
    return status == TAMIS_E_BUFFER ? TAMIS_OK : status;
}

/* A saved file has the encoded bytes. */
static tamis_status do_save(struct fixture *s) {
    char path[512];
    snprintf(path, sizeof path, "%s/fault.filter", run_directory());
    tamis_status status = tamis_save(s->subject, path, true);
    if (status == TAMIS_OK) {
        tamis_open_options open = TAMIS_OPEN_INIT;
        open.format = s->name;
        open.allocator = meter_allocator(&s->meter);
        status = tamis_open(path, &open, &s->made);
    }
    remove(path);
    CHECK(directory_entries(run_directory()) == 0, "%s: a failed save left a file", s->format);
    return status;
}

/* tamis_info works without memory. */
static tamis_status do_info(struct fixture *s) {
    CHECK(tamis_encoded_size(s->subject) == s->bytes.size &&
              facts_of(s->subject).encoded_bytes == s->bytes.size,
          "%s: another size without memory", s->format);
    return TAMIS_OK;
}

struct scenario {
    const char *name;
    tamis_status (*run)(struct fixture *s);
};
static const struct scenario scenarios[] = {
    {"build", do_build},
    {"clone", do_clone},
    {"decode", do_decode},
    {"encode", do_encode},
    {"encode into too little", do_encode_small},
    {"save and open", do_save},
    {"info", do_info},
};

/* One run with the `step`-th allocation failing; true if that was never reached. */
static bool one_step(const char *format, const struct scenario *scenario, uint64_t step,
                     bool once) {
    struct fixture s = {.format = format};
    fixture_name(&s);
    meter_reset(&s.meter);
    if (!CHECK(do_build(&s) == TAMIS_OK, "%s: build", format)) return true;
    s.subject = s.made;
    s.made = NULL;
    s.bytes = bytes_of(s.subject);
    s.meter.fail_at = atomic_load(&s.meter.calls) + step;
    s.meter.fail_once = once;
    const tamis_status status = scenario->run(&s);
    const bool reached = atomic_load(&s.meter.calls) >= s.meter.fail_at;
    s.meter.fail_at = 0;
    CHECK(status == TAMIS_OK || (status == TAMIS_E_NOMEM && reached), "%s: %s, allocation %llu: %s",
          format, scenario->name, (unsigned long long)step, tamis_status_name(status));
    CHECK(status == TAMIS_OK || s.made == NULL, "%s: %s failed and made something", format,
          scenario->name);
    CHECK(encodes_to(s.subject, &s.bytes), "%s: %s, allocation %llu: the subject changed", format,
          scenario->name, (unsigned long long)step);
    if (s.made != NULL) {
        CHECK(tamis_contains_batch(s.made, keys, lengths, N, NULL) == N, "%s: %s: keys are missing",
              format, scenario->name);
    }
    tamis_free(s.made);
    tamis_free(s.subject);
    bytes_free(&s.bytes);
    CHECK(atomic_load(&s.meter.live) == 0 && atomic_load(&s.meter.wrong_size) == 0,
          "%s: %s, allocation %llu: %llu blocks are left", format, scenario->name,
          (unsigned long long)step, (unsigned long long)atomic_load(&s.meter.live));
    count_up("runs", 1);
    return !reached;
}

/* The compatible formats, and their second layouts; NULL at the end. */
static const char *format_at(size_t index) {
    static const char *const more[] = {"redisbloom:cuckoo", "redisbloom-dump:cuckoo",
                                       "rocksdb:ribbon", "rocksdb:legacy"};
    const size_t count = sizeof more / sizeof *more;
    return index < count ? more[index] : tamis_format_at(index - count + 1); /* 0 is "tamis" */
}

/* Can filters of this format be built, and read again by its name alone?  Those of a container
 * cannot, nor those without a header. */
static bool is_whole(const char *format) {
    struct fixture s = {.format = format};
    fixture_name(&s);
    meter_reset(&s.meter);
    if (do_build(&s) != TAMIS_OK) return false;
    s.bytes = bytes_of(s.made);
    tamis_free(s.made);
    const bool read = do_decode(&s) == TAMIS_OK;
    if (read) tamis_free(s.made);
    bytes_free(&s.bytes);
    return read;
}

int main(int argc, char **argv) {
    size_t formats = 0;
    run_start(argc, argv, "compat_faults");
    integer_keys(integers, keys, lengths, N);
    for (size_t i = 0; format_at(i) != NULL; i++) {
        const char *format = format_at(i);
        if (!is_whole(format)) continue;
        formats++;
        for (size_t j = 0; j < sizeof scenarios / sizeof *scenarios; j++) {
            for (unsigned once = 0; once < 2; once++) {
                uint64_t step = 1;
                while (step < STEPS_MAX && !one_step(format, &scenarios[j], step, once != 0)) {
                    step++;
                }
                CHECK(step < STEPS_MAX, "%s: %s never succeeds", format, scenarios[j].name);
                count_up("failed allocations", step - 1);
            }
        }
    }
    CHECK(formats > 15, "only %zu formats can be built", formats);
    return run_end();
}
