/* huge_sizes.c - sizes of filters that no machine can hold: up to 2^63 keys or bytes
 *
 * tests: full */
#include "../support/filters.h"

/* Sizes are computed for any capacity and any budget, without allocating: they grow with the
 * capacity until E_TOO_BIG, and a budget is kept. */
static void huge_sizes(const struct variant *v) {
    static const double fprs[] = {0.5, 0.01, 1e-6};
    struct meter meter;
    meter_reset(&meter);
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    const unsigned step = (unsigned)run_pick(21, 9, 1);
    for (size_t i = 0; i < sizeof fprs / sizeof *fprs; i++) {
        uint64_t before = 0;
        tamis_status status = TAMIS_OK;
        for (unsigned lg = 0; lg < 64 && status == TAMIS_OK; lg += step) {
            tamis_options o = variant_options(v, (uint64_t)1 << lg, fprs[i]);
            double fpr = -1;
            o.allocator = meter_allocator(&meter);
            status = tamis_size(&o, &sizing);
            const bool low = v->kind == TAMIS_CUCKOO && status == TAMIS_E_FPR_TOO_LOW;
            CHECK(status == TAMIS_OK || ((status == TAMIS_E_TOO_BIG || low) && lg > 40),
                  "%s: 2^%u keys at %g: %s", v->name, lg, fprs[i], tamis_status_name(status));
            CHECK(tamis_size_fpr(&o, o.capacity, &fpr) == status, "%s: 2^%u: rate", v->name, lg);
            if (status != TAMIS_OK) break;
            CHECK(sizing.bytes >= before && sizing.fpr <= fprs[i] * 1.0001 && sizing.fpr == fpr,
                  "%s: 2^%u keys at %g take %llu bytes, at %g", v->name, lg, fprs[i],
                  (unsigned long long)sizing.bytes, sizing.fpr);
            before = sizing.bytes;
        }
    }
    for (unsigned lg = 0; lg < 64; lg += step) {
        for (unsigned keys = 0; keys < 64; keys += 21) {
            tamis_options o = variant_options(v, (uint64_t)1 << keys, 0);
            o.bytes = (uint64_t)1 << lg;
            o.allocator = meter_allocator(&meter);
            const tamis_status status = tamis_size(&o, &sizing);
            CHECK(status == TAMIS_E_TOO_BIG || (status == TAMIS_OK && sizing.bytes <= o.bytes),
                  "%s: 2^%u keys in 2^%u bytes: %s, %llu bytes", v->name, keys, lg,
                  tamis_status_name(status), (unsigned long long)sizing.bytes);
            count_up("budgets", 1);
        }
    }
    CHECK(atomic_load(&meter.calls) == 0, "%s: sizes allocate", v->name);
}

/* The textbook formulas at their limits. */
static void huge_classic(void) {
    CHECK(tamis_classic_bits(UINT64_MAX, 1e-9) == 0, "more than 2^63 bits");
    CHECK(tamis_classic_hashes(1000, 0) == 1, "hashes for no keys");
    CHECK(tamis_classic_hashes(UINT64_MAX, 1) == 1000 && tamis_classic_hashes(1, 1000) == 1,
          "hashes at the limits");
    CHECK(tamis_classic_keys(UINT64_MAX, 1, 1 - 0x1p-53) == UINT64_MAX, "more than 2^63 keys");
}

int main(int argc, char **argv) {
    run_start(argc, argv, "huge_sizes");
    huge_classic();
    for (size_t i = 0; variant_at(i) != NULL; i++) huge_sizes(variant_at(i));
    return run_end();
}
