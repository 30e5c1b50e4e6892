/* native.c - decodes .tamis bytes, then makes every call on the result
 *
 * The first byte selects the call: bit 0 leaves the checksums as they are instead of repairing
 * them, bit 1 views instead of copying, bit 2 does not compare checksums, bit 3
 * selects the portable code, bit 4 opens as shared, bit 5 passes a secret.  The rest is the input.
 *
 * Faults besides crashes: memory beyond a multiple of the input, a leak, a status that is not
 * about the input, and bytes that were accepted but do not encode to themselves. */
#include "../support/hostile.h"
#include "fuzz.h"

enum {
    HOW_DAMAGED = 1,
    HOW_VIEW = 2,
    HOW_LATER = 4,
    HOW_PORTABLE = 8,
    HOW_SHARED = 16,
    HOW_SECRET = 32,
    HOW_TOUCHED = 64
};

static const uint8_t secret[TAMIS_SECRET_BYTES] = {1, 2, 3, 4};
static const uint8_t magic[8] = {0x93, 't', 'a', 'm', 'i', 's', '\r', '\n'};

static uint64_t allowance(size_t size) { return 4 * (uint64_t)size + ((uint64_t)1 << 16); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const uint8_t how = data[0];
    struct meter meter;
    meter_reset(&meter);
    meter.limit = (uint64_t)256 << 20;
    const size_t length = size - 1;
    uint8_t *bytes = fuzz_copy(data + 1, length);
    const bool native = length >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
    if (native && (how & HOW_DAMAGED) == 0) repair_sums(bytes, length);

    tamis_open_options open = TAMIS_OPEN_INIT;
    open.allocator = meter_allocator(&meter);
    open.verify = (how & HOW_TOUCHED) != 0 ? TAMIS_VERIFY_TOUCHED
                  : (how & HOW_LATER) != 0 ? TAMIS_VERIFY_LATER
                                           : TAMIS_VERIFY_ALL;
    open.portable = (how & HOW_PORTABLE) != 0;
    open.shared = (how & HOW_SHARED) != 0;
    open.secret = (how & HOW_SECRET) != 0 ? secret : NULL;
    tamis_filter *f = NULL;
    const tamis_status status = (how & HOW_VIEW) != 0 ? tamis_view(bytes, length, &open, &f)
                                                      : tamis_decode(bytes, length, &open, &f);
    if ((status == TAMIS_OK) != (f != NULL)) fuzz_fault("status and result do not match");
    if (atomic_load(&meter.peak_bytes) > allowance(length)) fuzz_fault("too much memory");
    if (f != NULL) {
        const bool same = exercise(f, bytes, length) == length;
        if (native && !same && (how & (HOW_LATER | HOW_TOUCHED)) == 0) {
            fuzz_fault("accepted bytes that do not encode to themselves");
        }
    } else if (status < TAMIS_E_FORMAT && status != TAMIS_E_NOMEM &&
               status != TAMIS_E_UNSUPPORTED) {
        fuzz_fault(tamis_status_name(status));
    }
    if (atomic_load(&meter.live) != 0) fuzz_fault("a leak");
    if (atomic_load(&meter.wrong_size) != 0) fuzz_fault("freed with another size");
    free(bytes);
    return 0;
}

/* Small filters of every kind: empty, of a few keys, grown, keyed. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t room) {
    static const size_t sizes[] = {0, 1, 20, 200};
    static const double fprs[] = {0.01, 0.3, 1e-4};
    const size_t variant = index / 12;
    const struct variant *v = variant_at(variant);
    if (v == NULL || room == 0) return 0;
    uint64_t hashes[200];
    tamis_filter *f = NULL;
    tamis_options o = variant_options(v, 0, fprs[index % 3]);
    const size_t n = sizes[index / 3 % 4];
    hashes_fill(hashes, n, 0, 1, STREAM_MEMBERS);
    if (index % 5 == 4) o.secret = secret;
    size_t written = 0;
    if (tamis_build_hash(&o, hashes, n, &f) == TAMIS_OK) {
        if (tamis_encode(f, out + 1, room - 1, &written) != TAMIS_OK) written = 0;
    }
    out[0] = (uint8_t)((o.secret != NULL ? HOW_SECRET : 0) | (index % 2 == 0 ? HOW_VIEW : 0) |
                       (index % 7 == 0 ? HOW_PORTABLE : 0) | (index % 5 == 0 ? HOW_TOUCHED : 0));
    tamis_free(f);
    return written + 1;
}
