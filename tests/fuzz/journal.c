/* journal.c - a .tamis file and its journal, both from the input
 *
 * The first byte selects what is repaired: bit 0 leaves the checksums of the file as they are, bit
 * 1 those of the journal; bit 2 lets the journal name another file.  Bits 3 to 5 select what
 * happens: the file is torn (bytes of its table are zeros), a reader opens it last, the update is
 * committed.  Two bytes give the length of the file; the journal is the rest.  Both are written to
 * a directory of its own, in $TMPDIR or in memory (/dev/shm), and opened by tamis_open in every
 * mode.
 *
 * Faults besides crashes: a leak, a filter that does not verify, a reader that finds another filter
 * than the process that applies the journal to the file, a journal that stays after that. */
#define _DEFAULT_SOURCE 1
#include <fcntl.h>
#include <unistd.h>

#include "../support/hostile.h"
#include "fuzz.h"
#include "hash/hash.h"

enum { HOW_DAMAGED = 1, HOW_DAMAGED_JOURNAL = 2, HOW_OTHER = 4, HOW_TORN = 8, HOW_COMMIT = 32 };

/* Offsets in a journal (src/file/journal.h). */
enum { AT_FILE_BYTES = 16, AT_SUM_BEFORE = 24, AT_COUNT = 32, AT_HEADER = 40, AT_ENTRIES = 232 };
#define ENTRY 16

static char directory[4096], path[4104], journal_path[4112];

static void remove_directory(void) {
    unlink(path);
    unlink(journal_path);
    rmdir(directory);
}

static void start(void) {
    if (directory[0] != '\0') return;
    const char *base = getenv("TMPDIR");
    if (base == NULL) base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(directory, sizeof directory, "%s/tamis-fuzz-XXXXXX", base);
    if (mkdtemp(directory) == NULL) abort();
    snprintf(path, sizeof path, "%s/f", directory);
    snprintf(journal_path, sizeof journal_path, "%s/f.journal", directory);
    atexit(remove_directory);
}

static void write_file(const char *name, const uint8_t *bytes, size_t length) {
    const int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (fd < 0 || write(fd, bytes, length) != (ssize_t)length) abort();
    close(fd);
}

static void store64(uint8_t *at, uint64_t x) {
    for (unsigned i = 0; i < 8; i++) at[i] = (uint8_t)(x >> (8 * i));
}

static uint64_t load64(const uint8_t *at) {
    uint64_t x = 0;
    for (unsigned i = 0; i < 8; i++) x |= (uint64_t)at[i] << (8 * i);
    return x;
}

/* The checksums of the pieces and of the head; the header's own. */
static void repair_journal(uint8_t *journal, size_t length, const uint8_t *file, size_t file_bytes,
                           bool other) {
    if (length < AT_ENTRIES + 8) return;
    const uint64_t count = load64(journal + AT_COUNT);
    if (!other && file_bytes >= HEADER_BYTES) {
        store64(journal + AT_FILE_BYTES, file_bytes);
        store64(journal + AT_SUM_BEFORE, load64(file + AT_HEADER_SUM));
    }
    uint8_t *header = journal + AT_HEADER;
    store64(header + AT_HEADER_SUM, tamis__xxh3(header, AT_HEADER_SUM, 0));
    if (count > (length - AT_ENTRIES - 8) / ENTRY) return;
    const uint64_t table_bytes = load64(header + AT_TABLE_BYTES);
    uint64_t at = AT_ENTRIES + ENTRY * count + 8;
    for (uint64_t i = 0; i < count && at < length; i++) {
        uint8_t *entry = journal + AT_ENTRIES + ENTRY * i;
        const uint64_t from = load64(entry) * PIECE_BYTES;
        if (from >= table_bytes) break;
        uint64_t size = table_bytes - from < PIECE_BYTES ? table_bytes - from : PIECE_BYTES;
        if (size > length - at) size = length - at;
        store64(entry + 8, tamis__xxh3(journal + at, (size_t)size, 0));
        at += size;
    }
    const uint64_t head = AT_ENTRIES + ENTRY * count;
    store64(journal + head, tamis__xxh3(journal, (size_t)head, 0));
}

/* Opens the file; its encoding, or nothing. */
static struct bytes read_as(struct meter *meter, bool map, tamis_status *status) {
    tamis_filter *f = NULL;
    tamis_open_options how = TAMIS_OPEN_INIT;
    struct bytes bytes = {0};
    how.map = map;
    how.wait_ms = -1;
    how.allocator = meter_allocator(meter);
    *status = tamis_open(path, &how, &f);
    fuzz_must((*status == TAMIS_OK) == (f != NULL), "status and result do not match");
    if (f == NULL) return bytes;
    const tamis_status verified = tamis_verify(f);
    fuzz_must(verified == TAMIS_OK || (map && verified == TAMIS_E_CHECKSUM), "it does not verify");
    (void)tamis_contains_hash(f, 42);
    if (verified == TAMIS_OK) bytes = bytes_of(f);
    *status = verified;
    tamis_free(f);
    return bytes;
}

/* Opens the file for update, which applies the journal to it; adds a key. */
static tamis_status update(struct meter *meter, bool commit) {
    tamis_filter *f = NULL;
    tamis_open_options how = TAMIS_OPEN_INIT;
    how.update = true;
    how.wait_ms = -1;
    how.allocator = meter_allocator(meter);
    const tamis_status status = tamis_open(path, &how, &f);
    fuzz_must((status == TAMIS_OK) == (f != NULL), "status and result do not match");
    if (f == NULL) return status;
    fuzz_must(access(journal_path, F_OK) != 0, "a journal that was applied stays");
    if (commit && tamis_add_hash(f, 42, NULL) == TAMIS_OK) {
        fuzz_must(tamis_commit(f, NULL) == TAMIS_OK, "commit");
        tamis_free(f);
        f = NULL;
        tamis_status after;
        struct bytes bytes = read_as(meter, false, &after);
        fuzz_must(after == TAMIS_OK, "a file that was committed cannot be read");
        bytes_free(&bytes);
    }
    tamis_free(f);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct meter meter;
    struct fuzz_input in = {data, data + size};
    const uint8_t how = fuzz_take(&in);
    size_t length = (size_t)fuzz_take_number(&in, 2);
    const uint8_t *at = fuzz_take_bytes(&in, &length);
    uint8_t *file = fuzz_copy(at, length);
    const size_t journal_length = fuzz_left(&in);
    uint8_t *journal = fuzz_copy(in.at, journal_length);
    start();
    if ((how & HOW_DAMAGED) == 0) repair_sums(file, length);
    if ((how & HOW_DAMAGED_JOURNAL) == 0) {
        repair_journal(journal, journal_length, file, length, (how & HOW_OTHER) != 0);
    }
    if ((how & HOW_TORN) != 0 && length > HEADER_BYTES + 8) memset(file + HEADER_BYTES, 0, 8);
    write_file(path, file, length);
    unlink(journal_path);
    if (journal_length != 0) write_file(journal_path, journal, journal_length);
    meter_reset(&meter);
    meter.limit = (uint64_t)64 << 20;
    tamis_status read, mapped, after;
    struct bytes first = read_as(&meter, false, &read);
    struct bytes second = read_as(&meter, true, &mapped);
    fuzz_must(bytes_equal(&first, &second) || mapped != TAMIS_OK, "a mapped file differs");
    const tamis_status updated = update(&meter, false);
    fuzz_must((updated == TAMIS_OK) == (read == TAMIS_OK), "an update finds another file");
    struct bytes third = read_as(&meter, false, &after);
    fuzz_must(read == after && bytes_equal(&first, &third), "the journal was applied differently");
    if ((how & HOW_COMMIT) != 0) (void)update(&meter, true);
    bytes_free(&first);
    bytes_free(&second);
    bytes_free(&third);
    fuzz_must(meter.live == 0, "a leak");
    fuzz_must(meter.wrong_size == 0, "freed with another size");
    free(file);
    free(journal);
    return 0;
}

/* A filter without keys and the journal that adds some. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t room) {
    static const uint8_t magic[8] = {0x93, 't', 'a', 'm', 'i', 's', 'j', '\n'};
    struct fuzz_output o = {out, 0, room};
    uint64_t hashes[20];
    tamis_filter *f = NULL;
    const struct variant *v = variant_at(index % 8);
    if (index >= 24) return 0;
    tamis_options options = variant_options(v, 20, 0.1);
    hashes_fill(hashes, 20, 0, 1, STREAM_MEMBERS);
    if (tamis_build_hash(&options, hashes, 10, &f) != TAMIS_OK) return 1;
    struct bytes before = bytes_of(f);
    tamis_free(f);
    f = NULL;
    if (tamis_build_hash(&options, hashes, 20, &f) != TAMIS_OK) return 1;
    struct bytes after = bytes_of(f);
    tamis_free(f);
    const size_t table_bytes = (size_t)load64(after.data + AT_TABLE_BYTES);
    const bool same = before.size == after.size;
    fuzz_put_number(&o, (index / 8 == 1 ? HOW_TORN : index / 8 == 2 ? HOW_COMMIT : 0), 1);
    fuzz_put_number(&o, before.size, 2);
    fuzz_put_bytes(&o, before.data, before.size);
    fuzz_put_bytes(&o, magic, sizeof magic);
    fuzz_put_number(&o, 1, 8);
    fuzz_put_number(&o, before.size, 8);
    fuzz_put_number(&o, 0, 8);
    fuzz_put_number(&o, same ? 1 : 0, 8);
    fuzz_put_bytes(&o, after.data, HEADER_BYTES);
    if (same) fuzz_put_number(&o, 0, 8), fuzz_put_number(&o, 0, 8);
    fuzz_put_number(&o, 0, 8);
    if (same) fuzz_put_bytes(&o, after.data + HEADER_BYTES, table_bytes);
    bytes_free(&before);
    bytes_free(&after);
    return o.length;
}
