/* merge.c - the union of two filters is the filter of the union; the intersection keeps every
 * key that is in both; filters that do not match are refused and stay unchanged */
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"

#define SECRET_A ((const uint8_t *)"0123456789abcdef")
#define SECRET_B ((const uint8_t *)"fedcba9876543210")

static tamis_filter *filled(const tamis_options *o, const uint64_t *hashes, size_t n) {
    tamis_filter *f = NULL;
    const tamis_status status = tamis_create(o, &f);
    CHECK(status == TAMIS_OK, "%s: create gave %s", tamis_kind_name(o->kind),
          tamis_status_name(status));
    if (f != NULL) {
        CHECK(tamis_add_hash_batch(f, hashes, n, NULL, NULL) == TAMIS_OK, "%s: add %zu",
              tamis_kind_name(o->kind), n);
    }
    return f;
}

/* Keys 0..2n/3 in the one and n/3..n in the other. */
static void union_law(const struct variant *v, double fpr, size_t n) {
    uint64_t *hashes = hashes_make(n, run_seed() + n, STREAM_MEMBERS);
    const tamis_options o = variant_options(v, n, fpr);
    const size_t low = n / 3, high = n - n / 3;
    tamis_filter *a = filled(&o, hashes, high), *b = filled(&o, hashes + low, n - low);
    tamis_filter *all = filled(&o, hashes, high);
    if (a != NULL && b != NULL && all != NULL) {
        /* Merging b into a must equal adding b's keys to a, counters included. */
        tamis_add_hash_batch(all, hashes + low, n - low, NULL, NULL);
        struct bytes expected = bytes_of(all), other = bytes_of(b);
        const tamis_status status = tamis_merge(a, b, TAMIS_UNION);
        CHECK(status == TAMIS_OK, "%s: union gave %s", v->name, tamis_status_name(status));
        CHECK(encodes_to(a, &expected),
              "%s: union of %zu keys at %g is not the filter of the union", v->name, n, fpr);
        CHECK(encodes_to(b, &other), "%s: the union changed its source", v->name);
        const size_t found = tamis_contains_hash_batch(a, hashes, n, NULL);
        CHECK(found == n, "%s: %zu of %zu keys in the union", v->name, found, n);
        if ((v->caps & TAMIS_CAN_REMOVE) != 0) {
            /* Keys of both were added twice: they remain after one removal. */
            for (size_t i = 0; i < n; i++) {
                CHECK(tamis_remove_hash(a, hashes[i]) == TAMIS_OK, "%s: remove from the union",
                      v->name);
            }
            CHECK(tamis_contains_hash_batch(a, hashes + low, high - low, NULL) == high - low,
                  "%s: keys of both filters, removed once, are gone", v->name);
        }
        bytes_free(&expected);
        bytes_free(&other);
    }
    tamis_free(a);
    tamis_free(b);
    tamis_free(all);
    free(hashes);
    count_up("unions", 1);
    count_up("keys", n);
}

static void intersection_law(const struct variant *v, double fpr, size_t n) {
    uint64_t *hashes = hashes_make(n, run_seed() + n, STREAM_MEMBERS);
    const tamis_options o = variant_options(v, n, fpr);
    const size_t low = n / 3, high = n - n / 3;
    tamis_filter *a = filled(&o, hashes, high), *b = filled(&o, hashes + low, n - low);
    if (a != NULL && b != NULL) {
        struct bytes other = bytes_of(b);
        bool was_a[512], was_b[512], is[512];
        uint64_t probes[512];
        hashes_fill(probes, 512, 0, run_seed(), STREAM_PROBES);
        tamis_contains_hash_batch(a, probes, 512, was_a);
        tamis_contains_hash_batch(b, probes, 512, was_b);
        const tamis_status status = tamis_merge(a, b, TAMIS_INTERSECTION);
        CHECK(status == TAMIS_OK, "%s: intersection gave %s", v->name, tamis_status_name(status));
        const size_t found = tamis_contains_hash_batch(a, hashes + low, high - low, NULL);
        CHECK(found == high - low, "%s: %zu of %zu common keys in the intersection", v->name, found,
              high - low);
        tamis_contains_hash_batch(a, probes, 512, is);
        for (size_t i = 0; i < 512; i++) {
            CHECK(!is[i] || (was_a[i] && was_b[i]), "%s: a positive that neither had", v->name);
        }
        CHECK(n < 100 || tamis_contains_hash_batch(a, hashes, low, NULL) < low,
              "%s: the intersection dropped nothing", v->name);
        CHECK(encodes_to(b, &other), "%s: the intersection changed its source", v->name);
        const tamis_facts facts = facts_of(a);
        CHECK(facts.adds <= high && facts.adds <= n - low, "%s: more adds than a filter had",
              v->name);
        CHECK((double)facts.adds <= facts.distinct + 7 * facts.distinct_error + 1,
              "%s: %llu adds, but %.1f keys", v->name, (unsigned long long)facts.adds,
              facts.distinct);
        bytes_free(&other);
    }
    tamis_free(a);
    tamis_free(b);
    free(hashes);
    count_up("intersections", 1);
    count_up("keys", n);
}

/* `into` and `from` must be refused with `expected`, and nothing may change. */
static void refused(const char *what, tamis_filter *into, const tamis_filter *from,
                    tamis_status expected) {
    if (into == NULL || from == NULL) return;
    struct bytes a = bytes_of(into), b = bytes_of(from);
    for (int mode = TAMIS_UNION; mode <= TAMIS_INTERSECTION; mode++) {
        const uint32_t cap = mode == TAMIS_UNION ? TAMIS_CAN_UNION : TAMIS_CAN_INTERSECT;
        const bool can = (facts_of(into).caps & cap) != 0;
        const tamis_status status = tamis_merge(into, from, (tamis_merge_mode)mode);
        CHECK(status == expected || (!can && status == TAMIS_E_NO_MERGE), "%s: %s, expected %s",
              what, tamis_status_name(status), tamis_status_name(expected));
    }
    CHECK(encodes_to(into, &a) && encodes_to(from, &b), "%s: a refused merge changed a filter",
          what);
    bytes_free(&a);
    bytes_free(&b);
    count_up("refusals", 2);
}

static void mismatched(const struct variant *v) {
    uint64_t hashes[50];
    hashes_fill(hashes, 50, 0, run_seed(), STREAM_MEMBERS);
    tamis_options o = variant_options(v, 100, 0.01);
    o.secret = SECRET_A;
    tamis_filter *keyed = filled(&o, hashes, 50);
    o.secret = NULL;
    tamis_filter *f = filled(&o, hashes, 50);
    tamis_options x = o;
    x.capacity = 2000;
    tamis_filter *g = filled(&x, hashes, 50);
    refused("another capacity", f, g, TAMIS_E_MISMATCH);
    tamis_free(g);
    x = o;
    x.fpr = 1e-4;
    g = filled(&x, hashes, 50);
    refused("another rate", f, g, TAMIS_E_MISMATCH);
    tamis_free(g);
    x = o;
    x.seed = 1;
    g = filled(&x, hashes, 50);
    refused("another seed", f, g, TAMIS_E_MISMATCH);
    tamis_free(g);
    x = o;
    x.secret = SECRET_B;
    g = filled(&x, hashes, 50);
    refused("keyed into unkeyed", f, g, TAMIS_E_MISMATCH);
    refused("unkeyed into keyed", keyed, f, TAMIS_E_MISMATCH);
    refused("another secret", keyed, g, TAMIS_E_MISMATCH);
    tamis_free(g);
    x = o;
    x.form.type = TAMIS_KEY_I32;
    g = filled(&x, hashes, 50);
    refused("another key type", f, g, TAMIS_E_MISMATCH);
    tamis_free(g);
    x = o;
    x.form.flags = TAMIS_KEY_FOLD_CASE;
    g = filled(&x, hashes, 50);
    refused("keys in lower case", f, g, TAMIS_E_MISMATCH);
    tamis_free(g);
    for (tamis_kind k = tamis_kind_next(TAMIS_AUTO); k != TAMIS_AUTO; k = tamis_kind_next(k)) {
        tamis_options other = TAMIS_OPTIONS_INIT;
        other.kind = k;
        other.fpr = 0.01;
        g = NULL;
        if (k == v->kind || tamis_build_hash(&other, hashes, 50, &g) != TAMIS_OK) continue;
        refused("another kind", f, g, TAMIS_E_MISMATCH);
        tamis_free(g);
    }
    tamis_free(f);
    tamis_free(keyed);
}

static void unsupported(const struct variant *v) {
    uint64_t hashes[50];
    hashes_fill(hashes, 50, 0, run_seed(), STREAM_MEMBERS);
    tamis_filter *a = variant_build(v, 0.01, hashes, 50), *b = variant_build(v, 0.01, hashes, 50);
    refused(v->name, a, b, TAMIS_E_NO_MERGE);
    tamis_free(a);
    tamis_free(b);
}

/* With itself, with an empty one, from a view, with bad arguments. */
static void corners(const struct variant *v) {
    uint64_t hashes[50];
    hashes_fill(hashes, 50, 0, run_seed(), STREAM_MEMBERS);
    const tamis_options o = variant_options(v, 100, 0.01);
    tamis_filter *f = filled(&o, hashes, 50), *none = filled(&o, hashes, 0), *view = NULL;
    if (f == NULL || none == NULL) return;
    struct bytes bytes = bytes_of(f);
    CHECK(tamis_merge(f, none, TAMIS_UNION) == TAMIS_OK && encodes_to(f, &bytes),
          "%s: union with an empty filter", v->name);
    CHECK(tamis_view(bytes.data, bytes.size, NULL, &view) == TAMIS_OK, "%s: view", v->name);
    if (view != NULL) {
        CHECK(tamis_merge(none, view, TAMIS_UNION) == TAMIS_OK && encodes_to(none, &bytes),
              "%s: union from a view", v->name);
    }
    CHECK(tamis_merge(f, f, TAMIS_UNION) == TAMIS_OK &&
              tamis_contains_hash_batch(f, hashes, 50, NULL) == 50,
          "%s: union with itself", v->name);
    CHECK(tamis_merge(NULL, f, TAMIS_UNION) == TAMIS_E_ARGUMENT, "%s: into nothing", v->name);
    CHECK(tamis_merge(f, NULL, TAMIS_UNION) == TAMIS_E_ARGUMENT, "%s: from nothing", v->name);
    CHECK(tamis_merge(f, none, (tamis_merge_mode)7) == TAMIS_E_ARGUMENT, "%s: mode 7", v->name);
    tamis_free(view);
    tamis_free(none);
    tamis_free(f);
    bytes_free(&bytes);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "merge");
    static const double fprs[] = {0.3, 0.01, 1e-4};
    static const size_t sizes[] = {0, 1, 3, 100, 3000, 100000};
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        if ((v->caps & (TAMIS_CAN_UNION | TAMIS_CAN_INTERSECT)) == 0) {
            unsupported(v);
            continue;
        }
        for (size_t r = 0; r < sizeof fprs / sizeof *fprs; r++) {
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                if ((v->caps & TAMIS_CAN_UNION) != 0) union_law(v, fprs[r], sizes[s]);
                if ((v->caps & TAMIS_CAN_INTERSECT) != 0) intersection_law(v, fprs[r], sizes[s]);
            }
        }
        if ((v->caps & TAMIS_CAN_UNION) != 0) {
            mismatched(v);
            corners(v);
        }
    }
    return run_end();
}
