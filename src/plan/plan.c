/* plan.c - see plan.h */
#include "plan/plan.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "family/sizing.h"

#define WHY_BYTES 256

/* ---- the choice of a kind */

static void say(char *why, const char *sentence) {
    if (why != NULL) tamis__text_put(why, WHY_BYTES, sentence);
}

/* Does this kind support the false positive rate? */
static bool reaches(tamis_kind kind, const tamis_options *o) {
    struct tamis__shape shape;
    const struct tamis__spec spec = {.capacity = o->capacity,
                                     .fpr = o->fpr > 0 ? o->fpr : TAMIS__FPR_DEFAULT};
    return tamis__family_of(kind)->shape(&spec, &shape) != TAMIS_E_FPR_TOO_LOW;
}

/* Does this kind fit, at any rate, in the table size given, if one is? */
static bool has_room(tamis_kind kind, const tamis_options *o, uint64_t table_room) {
    const struct tamis__spec spec = {.capacity = o->capacity};
    if (o->bytes == 0 || o->fpr != 0) return true;
    return tamis__fits_table(tamis__family_of(kind), table_room, &spec);
}

/* Does only the second of two kinds fit? */
static bool only_second_fits(tamis_kind first, tamis_kind second, const tamis_options *o,
                             uint64_t table_room) {
    return !has_room(first, o, table_room) && has_room(second, o, table_room);
}

static tamis_kind plan_static(const tamis_options *o, char *why) {
    if (o->bytes != 0 && o->fpr == 0) {
        say(why,
            "ribbon: all keys are known and the size is given; no kind has a lower rate in that "
            "size.");
        return TAMIS_RIBBON;
    }
    say(why,
        "fuse: all keys are known; it builds fastest, a lookup reads four slots at once, and only "
        "ribbon, which is slower, is smaller.");
    return TAMIS_FUSE;
}

static tamis_kind plan_dynamic(const tamis_options *o, uint64_t table_room, bool merge, char *why) {
    if (only_second_fits(TAMIS_BLOCK, TAMIS_BLOOM, o, table_room)) {
        say(why, "bloom: takes adds at any time, and no block filter fits in the size given.");
        return TAMIS_BLOOM;
    }
    if (reaches(TAMIS_BLOCK, o)) {
        say(why, merge ? "block: filters of one size merge by OR and AND, and it is the fastest."
                       : "block: takes adds at any time, and each add or lookup touches one cache "
                         "line, which makes it the fastest.");
        return TAMIS_BLOCK;
    }
    say(why, "bloom: the rate is lower than any other kind supports without removes.");
    return TAMIS_BLOOM;
}

static tamis_kind plan_removing(const tamis_options *o, uint64_t table_room, char *why) {
    if (!reaches(TAMIS_CUCKOO, o)) {
        say(why, "counting: removes at rates lower than the fingerprints of cuckoo support.");
        return TAMIS_COUNTING;
    }
    if (only_second_fits(TAMIS_CUCKOO, TAMIS_COUNTING, o, table_room)) {
        say(why, "counting: removes, and no cuckoo filter fits in the size given.");
        return TAMIS_COUNTING;
    }
    say(why, "cuckoo: removes, in a quarter to a third of the space of counting.");
    return TAMIS_CUCKOO;
}

tamis_kind tamis__plan_kind(const tamis_options *o, uint64_t table_room, char *why) {
    const bool remove = (o->needs & TAMIS_NEED_REMOVE) != 0;
    const bool grow = (o->needs & TAMIS_NEED_GROW) != 0;
    const bool merge = (o->needs & TAMIS_NEED_MERGE) != 0;
    const bool fixed = (o->needs & TAMIS_NEED_STATIC) != 0;
    if (fixed && (remove || grow || merge || (o->needs & TAMIS_NEED_ADD) != 0)) {
        say(why, "no kind is both static and changeable: drop one of the needs.");
        return TAMIS_AUTO;
    }
    if (grow && (remove || merge)) {
        say(why, "no kind that grows can remove or merge: drop one of the needs.");
        return TAMIS_AUTO;
    }
    if (remove && merge) {
        say(why, "counting: the only kind that removes and merges.");
        return TAMIS_COUNTING;
    }
    if (remove) return plan_removing(o, table_room, why);
    if (grow) {
        say(why, "growing: needs no number of keys and keeps the rate for any number of them.");
        return TAMIS_GROWING;
    }
    return fixed ? plan_static(o, why) : plan_dynamic(o, table_room, merge, why);
}

/* ---- the spec */

tamis_status tamis__plan_spec(const tamis_options *o, uint64_t table_room,
                              struct tamis__spec *spec) {
    const tamis_kind kind = o->kind == TAMIS_AUTO ? tamis__plan_kind(o, table_room, NULL) : o->kind;
    if (kind == TAMIS_AUTO) return TAMIS_E_ARGUMENT;
    const struct tamis__family *family = tamis__family_of(kind);
    if (family == NULL) return TAMIS_E_KIND;
    const bool from_bytes = o->fpr == 0 && o->bytes != 0;
    const double fpr = o->fpr == 0 ? TAMIS__FPR_DEFAULT : o->fpr;
    if (!(fpr > 0 && fpr < 1)) return TAMIS_E_FPR;
    if (o->arity != 0 && o->arity != 3 && o->arity != 4) return TAMIS_E_ARGUMENT;
    const bool fixed = o->bits != 0 || o->hashes != 0;
    if (fixed && !family->takes_bits) return TAMIS_E_ARGUMENT;
    *spec = (struct tamis__spec){.kind = kind,
                                 .capacity = o->capacity,
                                 .fpr = fpr,
                                 .bits = o->bits,
                                 .hashes = o->hashes,
                                 .arity = o->arity,
                                 .stage = o->stage,
                                 .threads = o->threads};
    return from_bytes ? tamis__fpr_for_table(family, table_room, spec) : TAMIS_OK;
}
