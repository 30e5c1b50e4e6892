/* cells.c - the cells of a lookup, evaluated on the encoded table, give the result of the lookup
 *
 * For every kind, and for many sizes, rates and options, a filter is encoded.  The cells of present
 * and absent hashes are evaluated on these bytes, by the rules in tamis.h: the result must be that
 * of tamis_contains_hash.  So must it be for mutated tables that the decoder accepts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/hostile.h"

#define CELLS_MAX 4096
#define RULES (TAMIS_CELL_ALWAYS + 1)

/* Cells seen, by rule, and those of 64 bits that must be equal: the stash of cuckoo, and lists. */
static uint64_t seen[RULES], seen_stash, seen_list;

/* ---- the rules */

/* Bit by bit, as tamis.h defines it. */
static uint64_t value_of(const uint8_t *table, const tamis_cell *cell) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < cell->bits; i++) {
        const uint64_t bit = cell->bit + i;
        value |= (uint64_t)(table[bit / 8] >> bit % 8 & 1) << i;
    }
    return value;
}

static bool same_equation(const tamis_cell *a, const tamis_cell *b) {
    return a->group == b->group && a->equation == b->equation;
}

/* `count` cells of one equation. */
static bool equation_holds(const uint8_t *table, const tamis_cell *cells, size_t count) {
    const tamis_cell_rule rule = cells->rule;
    uint64_t combined = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t value = value_of(table, cells + i);
        combined ^= rule == TAMIS_CELL_PARITY ? value & cells[i].mask : value;
    }
    if (rule == TAMIS_CELL_ALWAYS) return true;
    if (rule == TAMIS_CELL_SET) return combined != 0;
    if (rule != TAMIS_CELL_PARITY) return combined == cells->expected;
    return (uint64_t)__builtin_parityll(combined) == cells->expected;
}

static bool evaluate(const uint8_t *table, const tamis_cell *cells, size_t count) {
    bool any = false, all = true;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && same_equation(cells + i, cells + next);) next++;
        all &= equation_holds(table, cells + i, next - i);
        if (next < count && cells[next].group == cells[i].group) continue;
        any |= all;
        all = true;
    }
    return any;
}

/* Is the cell in the table, and after the one before it? */
static bool cell_is_valid(const tamis_cell *c, const tamis_cell *before, uint64_t table_bits) {
    const bool parity = c->rule == TAMIS_CELL_PARITY, always = c->rule == TAMIS_CELL_ALWAYS;
    if (c->rule > TAMIS_CELL_ALWAYS || c->bits > 64 || (c->bits == 0) != always) return false;
    if (c->bit > table_bits || c->bits > table_bits - c->bit) return false;
    const uint64_t ones = always ? 0 : UINT64_MAX >> (64 - c->bits);
    if (c->mask & ~(parity ? ones : 0)) return false;
    if (c->expected & ~(parity ? 1 : always || c->rule == TAMIS_CELL_SET ? 0 : ones)) return false;
    if (before == NULL) return true;
    if (!same_equation(before, c)) {
        return c->group > before->group ||
               (c->group == before->group && c->equation > before->equation);
    }
    return (parity || c->rule == TAMIS_CELL_XOR) && c->rule == before->rule &&
           c->expected == before->expected;
}

/* ---- one filter */

struct subject {
    const char *name;
    const tamis_filter *filter;
    struct bytes bytes; /* encoded */
    uint64_t table_bits;
};

static void look_up(const struct subject *s, uint64_t hash) {
    static tamis_cell cells[CELLS_MAX];
    size_t count = SIZE_MAX;
    const tamis_status status = tamis_cells(s->filter, hash, cells, CELLS_MAX, &count);
    if (!CHECK(status == TAMIS_OK && count <= CELLS_MAX, "%s: %s, %zu cells", s->name,
               tamis_status_name(status), count)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const tamis_cell *c = &cells[i];
        if (!CHECK(cell_is_valid(c, i == 0 ? NULL : c - 1, s->table_bits),
                   "%s: cell %zu of %zu: bit %llu, %u bits, rule %d", s->name, i, count,
                   (unsigned long long)c->bit, c->bits, (int)c->rule)) {
            return;
        }
        seen[c->rule]++;
        if (c->rule == TAMIS_CELL_EQUAL && c->bits == 64) {
            *(c->bit < 512 ? &seen_stash : &seen_list) += 1; /* a list comes after a directory */
        }
    }
    const bool expected = tamis_contains_hash(s->filter, hash);
    const bool result = evaluate(s->bytes.data + HEADER_BYTES, cells, count);
    CHECK(result == expected, "%s: hash %016llx, %zu cells: %d instead of %d", s->name,
          (unsigned long long)hash, count, result, expected);
    count_up("lookups", 1);
}

/* A short array receives the first cells, and nothing behind it is written. */
static void short_array(const struct subject *s, uint64_t hash) {
    tamis_cell all[CELLS_MAX], some[CELLS_MAX + 1], untouched;
    size_t count = 0, again = 0;
    memset(&untouched, 0x5a, sizeof untouched);
    CHECK(tamis_cells(s->filter, hash, all, CELLS_MAX, &count) == TAMIS_OK, "%s", s->name);
    CHECK(tamis_cells(s->filter, hash, NULL, 0, &again) == TAMIS_OK && again == count,
          "%s: %zu and %zu cells", s->name, count, again);
    for (size_t room = 0; room <= count; room += 1 + room / 2) {
        memset(some, 0x5a, sizeof some);
        again = 0;
        CHECK(tamis_cells(s->filter, hash, some, room, &again) == TAMIS_OK && again == count,
              "%s: %zu of %zu cells", s->name, again, count);
        CHECK(memcmp(some, all, room * sizeof *all) == 0 &&
                  memcmp(&some[room], &untouched, sizeof untouched) == 0,
              "%s: %zu cells in room for %zu", s->name, count, room);
    }
}

static uint64_t load64(const uint8_t *at) {
    uint64_t value = 0;
    for (unsigned i = 8; i-- > 0;) value = value << 8 | at[i];
    return value;
}

/* Looks up members and absent hashes in the filter and in what its bytes decode to. */
static void check_filter(const char *name, const tamis_filter *f, const uint64_t *members,
                         size_t count) {
    struct subject s = {.name = name, .filter = f, .bytes = bytes_of(f)};
    const size_t most = (size_t)run_pick(300, 3000, 60000);
    const size_t step = count / most + 1;
    tamis_filter *decoded = NULL;
    if (s.bytes.size == 0) return;
    s.table_bits = 8 * load64(s.bytes.data + AT_TABLE_BYTES);
    uint64_t *absent = hashes_make(most, run_seed() + count, STREAM_PROBES);
    CHECK(tamis_decode(s.bytes.data, s.bytes.size, NULL, &decoded) == TAMIS_OK, "%s", name);
    for (unsigned copy = 0; copy < 2; copy++) {
        s.filter = copy == 0 ? f : decoded;
        if (s.filter == NULL) continue;
        for (size_t i = 0; i < count; i += step) look_up(&s, members[i]);
        for (size_t i = 0; i < most; i++) look_up(&s, absent[i]);
        for (uint64_t i = 0; i < 64; i++) look_up(&s, UINT64_C(1) << i);
        look_up(&s, 0);
        look_up(&s, UINT64_MAX);
    }
    short_array(&s, count == 0 ? 1 : members[0]);
    tamis_free(decoded);
    free(absent);
    bytes_free(&s.bytes);
    count_up("filters", 1);
}

/* Builds and checks; rates that a kind does not support are left out. */
static void check_options(const char *name, const tamis_options *o, const uint64_t *hashes,
                          size_t count) {
    char title[96];
    tamis_filter *f = NULL;
    snprintf(title, sizeof title, "%s, %zu keys at %g", name, count, o->fpr);
    const tamis_status status = tamis_build_hash(o, hashes, count, &f);
    if (status == TAMIS_E_FPR_TOO_LOW) return;
    if (CHECK(status == TAMIS_OK, "%s: %s", title, tamis_status_name(status))) {
        check_filter(title, f, hashes, count);
    }
    tamis_free(f);
}

/* ---- the filters */

static void every_kind(const uint64_t *hashes, size_t count) {
    static const double fprs[] = {0.3, 0.01, 1e-4, 1e-9, 0.6};
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        for (size_t j = 0; j < sizeof fprs / sizeof *fprs; j++) {
            const tamis_options o = variant_options(variant_at(i), 0, fprs[j]);
            check_options(variant_at(i)->name, &o, hashes, count);
        }
    }
}

/* Odd and even numbers of positions, in tables of few bits and of many. */
static void fixed_sizes(const uint64_t *hashes) {
    static const struct {
        uint64_t bits;
        uint32_t hashes;
    } sizes[] = {{1, 1}, {1, 64}, {63, 2}, {1000, 7}, {4097, 3}, {100003, 64}};
    for (unsigned i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        o.kind = i % 2 == 0 ? TAMIS_BLOOM : TAMIS_COUNTING;
        if (!run_wants(tamis_kind_name(o.kind))) continue;
        o.bits = sizes[i / 2].bits;
        o.hashes = sizes[i / 2].hashes;
        check_options("fixed", &o, hashes, 300);
    }
}

/* Every block size: 1..16 bits of a key. */
static void block_sizes(const uint64_t *hashes) {
    if (!run_wants("block")) return;
    for (double fpr = 0.9; fpr > 1e-8; fpr *= 0.7) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        o.kind = TAMIS_BLOCK;
        o.fpr = fpr;
        check_options("block", &o, hashes, 1000);
    }
}

static void growing_stages(const uint64_t *hashes, size_t count) {
    static const tamis_kind kinds[] = {TAMIS_BLOOM, TAMIS_BLOCK, TAMIS_COUNTING};
    for (size_t i = 0; run_wants("growing") && i < sizeof kinds / sizeof *kinds; i++) {
        const struct variant v = {.kind = TAMIS_GROWING, .stage = kinds[i], .name = "growing"};
        tamis_filter *f = variant_create(&v, 7, 0.01);
        if (f == NULL) continue;
        CHECK(tamis_add_hash_batch(f, hashes, count, NULL, NULL) == TAMIS_OK, "add");
        CHECK(facts_of(f).stages > 4, "%u stages", facts_of(f).stages);
        check_filter(tamis_kind_name(kinds[i]), f, hashes, count);
        tamis_free(f);
    }
}

/* A filter that is filled until an add fails uses its whole stash. */
static void cuckoo_stash(const uint64_t *hashes, size_t count) {
    static const double fprs[] = {0.1, 0.01, 1e-6}; /* windows of two and three slots */
    const struct variant v = {.kind = TAMIS_CUCKOO, .name = "cuckoo, full"};
    for (size_t i = 0; run_wants("cuckoo") && i < sizeof fprs / sizeof *fprs; i++) {
        tamis_filter *f = variant_create(&v, 50, fprs[i]);
        if (f == NULL) continue;
        size_t n = 0;
        while (n < count && tamis_add_hash(f, hashes[n], NULL) == TAMIS_OK) n++;
        CHECK(n < count, "it is never full");
        check_filter(v.name, f, hashes, n);
        CHECK(tamis_remove_hash(f, hashes[0]) == TAMIS_OK, "remove");
        check_filter(v.name, f, hashes, n);
        tamis_free(f);
    }
}

/* The inverse of mix(x) in doc/format.md. */
static uint64_t unmix(uint64_t x) {
    x ^= x >> 31 ^ x >> 62;
    x *= UINT64_C(0x319642b2d24d8ec3);
    x ^= x >> 27 ^ x >> 54;
    x *= UINT64_C(0x96de1b173f119089);
    x ^= x >> 30 ^ x >> 60;
    return x;
}

/* Hashes that share their upper bits cannot be peeled: all are listed, or some of them. */
static void listed_hashes(void) {
    uint64_t hashes[3000];
    for (unsigned arity = 3; arity <= 4 && run_wants("fuse"); arity++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        o.kind = TAMIS_FUSE;
        o.arity = arity;
        for (size_t shared = 100; shared <= 3000; shared += 2900) {
            hashes_fill(hashes, 3000, 0, run_seed(), STREAM_OTHERS);
            for (size_t i = 0; i < shared; i++) {
                hashes[i] = unmix(UINT64_C(0x2000000000000000) + i);
            }
            o.fpr = 0.004;
            check_options("listed", &o, hashes, 3000);
        }
    }
}

/* More keys than a shard takes: xor from 2^20 on, the other static kinds from 2^22. */
static void several_shards(void) {
    const size_t count = (size_t)run_pick(1 << 20, 1 << 22, 1 << 22) + 1000;
    uint64_t *hashes = hashes_make(count, run_seed(), STREAM_MEMBERS);
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        if ((v->caps & TAMIS_IS_STATIC) == 0) continue;
        if (run_effort() == EFFORT_QUICK && v->kind != TAMIS_XOR) continue;
        const tamis_options o = variant_options(v, 0, 0.01);
        check_options(v->name, &o, hashes, count);
    }
    free(hashes);
}

/* Tables that no build makes: what the decoder accepts is evaluated as it is. */
static void mutated_tables(const uint64_t *hashes, size_t count) {
    struct rng r = {run_seed() + count};
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        tamis_filter *f = variant_build(variant_at(i), 0.01, hashes, count);
        struct bytes good = bytes_of(f);
        tamis_free(f);
        for (uint64_t turn = run_pick(100, 1000, 10000); turn > 0; turn--) {
            struct bytes bad = bytes_new(good.size + 64);
            memcpy(bad.data, good.data, good.size);
            bad.size = mutate(bad.data, good.size, good.size + 64, &r);
            repair_sums(bad.data, bad.size);
            f = NULL;
            if (tamis_decode(bad.data, bad.size, NULL, &f) == TAMIS_OK &&
                facts_of(f).hasher != TAMIS_HASH_COMPAT) {
                struct subject s = {"mutated", f, bytes_of(f), 0};
                s.table_bits = 8 * load64(s.bytes.data + AT_TABLE_BYTES);
                for (size_t j = 0; j < 30; j++) look_up(&s, hashes[j] + j % 2);
                bytes_free(&s.bytes);
            }
            tamis_free(f);
            bytes_free(&bad);
        }
        bytes_free(&good);
    }
}

/* ---- what is refused */

static void refused_arguments(void) {
    const struct variant v = {.kind = TAMIS_BLOOM, .name = "bloom"};
    tamis_filter *f = variant_create(&v, 10, 0.01);
    tamis_cell cell;
    size_t count = 77;
    CHECK(tamis_cells(NULL, 1, &cell, 1, &count) == TAMIS_E_ARGUMENT, "no filter");
    CHECK(tamis_cells(f, 1, &cell, 1, NULL) == TAMIS_E_ARGUMENT, "no count");
    CHECK(tamis_cells(f, 1, NULL, 1, &count) == TAMIS_E_ARGUMENT && count == 77, "no cells");
    tamis_free(f);
}

static void compatible_formats(void) {
    uint64_t integers[100];
    const void *keys[100];
    size_t lengths[100], created = 0;
    integer_keys(integers, keys, lengths, 100);
    for (size_t i = 1; tamis_format_at(i) != NULL; i++) {
        tamis_options o = TAMIS_OPTIONS_INIT;
        tamis_filter *f = NULL;
        size_t count = 77;
        o.format = tamis_format_at(i);
        o.capacity = 100;
        if (!tamis_format_can_create(o.format)) continue;
        CHECK(tamis_build(&o, keys, lengths, 100, &f) == TAMIS_OK, "%s", o.format);
        for (unsigned stored = 0; f != NULL && stored < 2; stored++) {
            CHECK(tamis_cells(f, 1, NULL, 0, &count) == TAMIS_E_UNSUPPORTED && count == 77,
                  "%s, stored as .tamis: %u", o.format, stored);
            CHECK(tamis_reformat(f, "tamis") == TAMIS_OK, "%s", o.format);
        }
        tamis_free(f);
        created++;
    }
    CHECK(created > 3, "%zu formats", created);
}

/* A piece that is damaged, of a table that is verified as it is touched. */
static void damaged_table(const uint64_t *hashes, size_t count) {
    const struct variant v = {.kind = TAMIS_BLOOM, .name = "bloom"};
    tamis_filter *f = variant_build(&v, 1e-9, hashes, count), *opened = NULL;
    struct bytes bytes = bytes_of(f);
    tamis_open_options how = TAMIS_OPEN_INIT;
    size_t refused = 0, cells;
    tamis_free(f);
    if (!CHECK(bytes.size > 3 * PIECE_BYTES, "%zu bytes", bytes.size)) return;
    bytes.data[HEADER_BYTES + PIECE_BYTES] ^= 1;
    how.verify = TAMIS_VERIFY_TOUCHED;
    CHECK(tamis_view(bytes.data, bytes.size, &how, &opened) == TAMIS_OK, "view");
    for (size_t i = 0; opened != NULL && i < 100; i++) {
        const tamis_status status = tamis_cells(opened, hashes[i], NULL, 0, &cells);
        refused += status == TAMIS_E_CHECKSUM;
        CHECK(status == TAMIS_OK || status == TAMIS_E_CHECKSUM, "%s", tamis_status_name(status));
    }
    CHECK(refused > 10, "%zu of 100 lookups touched a damaged piece", refused);
    CHECK(tamis_query_status(opened) == TAMIS_E_CHECKSUM, "query status");
    tamis_free(opened);
    bytes_free(&bytes);
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {0, 1, 10, 300, 3000, 6000, 60000};
    run_start(argc, argv, "cells");
    uint64_t *hashes = hashes_make(60000, run_seed(), STREAM_MEMBERS);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) every_kind(hashes, sizes[i]);
    fixed_sizes(hashes);
    block_sizes(hashes);
    growing_stages(hashes, 3000);
    cuckoo_stash(hashes, 6000);
    listed_hashes();
    several_shards();
    mutated_tables(hashes, 300);
    mutated_tables(hashes, 6000);
    uint64_t extremes[] = {0, UINT64_MAX, 1, 0};
    every_kind(extremes, 3);
    refused_arguments();
    compatible_formats();
    damaged_table(hashes, 60000);
    for (unsigned rule = 0; !run_filtered() && rule < RULES; rule++) {
        CHECK(seen[rule] > 0, "no cell has rule %u", rule);
    }
    if (!run_filtered()) CHECK(seen_stash > 0, "the stash was never used");
    if (!run_filtered()) CHECK(seen_list > 0, "no hash was listed");
    free(hashes);
    return run_end();
}
