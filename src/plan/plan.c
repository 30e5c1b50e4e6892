/* plan.c - see plan.h */
#include "plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "family/sizing.h"

#define WHY_BYTES 256

tamis_status tamis__options_read(const tamis_options *options, tamis_options *copy) {
    memset(copy, 0, sizeof *copy);
    if (options == NULL || options->struct_size < offsetof(tamis_options, seed)) {
        return TAMIS_E_ARGUMENT;
    }
    const size_t known = options->struct_size < sizeof *copy ? options->struct_size : sizeof *copy;
    memcpy(copy, options, known);
    copy->struct_size = sizeof *copy;
    const bool half_allocator = (copy->allocator.alloc == NULL) != (copy->allocator.free == NULL);
    const bool known_hasher = copy->hasher == TAMIS_HASH_NONE || copy->hasher == TAMIS_HASH_XXH3 ||
                              (copy->hasher == TAMIS_HASH_SIP24 && copy->secret != NULL);
    const bool known_form = (copy->form.flags & ~(uint32_t)TAMIS__KEY_FLAGS) == 0 &&
                            copy->form.type <= TAMIS_KEY_F64 &&
                            copy->form.separator_length <= TAMIS_SEPARATOR_MAX;
    return half_allocator || !known_hasher || !known_form ? TAMIS_E_ARGUMENT : TAMIS_OK;
}

/* ---- the choice of a kind */

static void say(char *why, const char *sentence) {
    if (why != NULL) snprintf(why, WHY_BYTES, "%s", sentence);
}

/* Can this kind reach the rate? */
static bool reaches(tamis_kind kind, const tamis_options *o) {
    struct tamis__shape shape;
    const struct tamis__want want = {.capacity = o->capacity,
                                     .rate = o->rate > 0 ? o->rate : TAMIS__RATE_DEFAULT};
    return tamis__family_of(kind)->shape(&want, &shape) != TAMIS_E_TOO_FINE;
}

/* Can it be made at any rate in the table that is given, if one is? */
static bool has_room(tamis_kind kind, const tamis_options *o, uint64_t table_room) {
    const struct tamis__want want = {.capacity = o->capacity};
    if (o->bytes == 0 || o->rate != 0) return true;
    return tamis__fits_table(tamis__family_of(kind), table_room, &want);
}

/* Of two kinds, is it only the second that has room? */
static bool only_second_fits(tamis_kind first, tamis_kind second, const tamis_options *o,
                             uint64_t table_room) {
    return !has_room(first, o, table_room) && has_room(second, o, table_room);
}

static tamis_kind plan_static(const tamis_options *o, char *why) {
    if (o->bytes != 0 && o->rate == 0) {
        say(why,
            "ribbon: all keys are known and space is what is given; no kind gets a lower "
            "rate out of it.");
        return TAMIS_RIBBON;
    }
    say(why,
        "fuse: all keys are known; look-ups read four slots at once, building is the fastest, "
        "and it is within a few percent of ribbon, the smallest.");
    return TAMIS_FUSE;
}

static tamis_kind plan_dynamic(const tamis_options *o, uint64_t table_room, bool merge, char *why) {
    if (only_second_fits(TAMIS_BLOCK, TAMIS_BLOOM, o, table_room)) {
        say(why,
            "bloom: keys come one by one, and no block filter fits in the space that is given.");
        return TAMIS_BLOOM;
    }
    if (reaches(TAMIS_BLOCK, o)) {
        say(why, merge ? "block: filters of one size merge by OR and AND, and it is the fastest."
                       : "block: keys come one by one and are never removed; each touches one "
                         "cache line, which nothing beats.");
        return TAMIS_BLOCK;
    }
    say(why,
        "bloom: keys come one by one, and the rate is below what one cache line a key can "
        "give.");
    return TAMIS_BLOOM;
}

static tamis_kind plan_removing(const tamis_options *o, uint64_t table_room, char *why) {
    if (!reaches(TAMIS_CUCKOO, o)) {
        say(why, "counting: removes at rates below what the fingerprints of cuckoo can give.");
        return TAMIS_COUNTING;
    }
    if (only_second_fits(TAMIS_CUCKOO, TAMIS_COUNTING, o, table_room)) {
        say(why, "counting: removes, and no cuckoo filter fits in the space that is given.");
        return TAMIS_COUNTING;
    }
    say(why, "cuckoo: removes in a quarter to a third of the space of counting.");
    return TAMIS_CUCKOO;
}

tamis_kind tamis__plan_kind(const tamis_options *o, uint64_t table_room, char *why) {
    const bool remove = (o->needs & TAMIS_NEED_REMOVE) != 0;
    const bool grow = (o->needs & TAMIS_NEED_GROW) != 0;
    const bool merge = (o->needs & TAMIS_NEED_MERGE) != 0;
    const bool fixed = (o->needs & TAMIS_NEED_STATIC) != 0;
    if (fixed && (remove || grow || merge || (o->needs & TAMIS_NEED_ADD) != 0)) {
        say(why, "no kind is static and can be changed: leave out one of the needs.");
        return TAMIS_AUTO;
    }
    if (grow && (remove || merge)) {
        say(why, "no kind that grows can remove or merge: leave out one of the needs.");
        return TAMIS_AUTO;
    }
    if (remove && merge) {
        say(why, "counting: the only kind that removes and merges.");
        return TAMIS_COUNTING;
    }
    if (remove) return plan_removing(o, table_room, why);
    if (grow) {
        say(why, "growing: needs no number of keys and keeps the rate however many come.");
        return TAMIS_GROWING;
    }
    return fixed ? plan_static(o, why) : plan_dynamic(o, table_room, merge, why);
}

/* ---- the want */

tamis_status tamis__plan_want(const tamis_options *o, uint64_t table_room,
                              const struct tamis__family **family, struct tamis__want *want) {
    const tamis_kind kind = o->kind == TAMIS_AUTO ? tamis__plan_kind(o, table_room, NULL) : o->kind;
    if (kind == TAMIS_AUTO) return TAMIS_E_ARGUMENT;
    *family = tamis__family_of(kind);
    if (*family == NULL) return TAMIS_E_KIND;
    const bool from_bytes = o->rate == 0 && o->bytes != 0;
    const double rate = o->rate == 0 ? TAMIS__RATE_DEFAULT : o->rate;
    if (!(rate > 0 && rate < 1)) return TAMIS_E_RATE;
    if (o->arity != 0 && o->arity != 3 && o->arity != 4) return TAMIS_E_ARGUMENT;
    *want = (struct tamis__want){.capacity = o->capacity,
                                 .rate = rate,
                                 .bits = o->bits,
                                 .hashes = o->hashes,
                                 .arity = o->arity,
                                 .stage = o->stage,
                                 .threads = o->threads};
    return from_bytes ? tamis__rate_for_table(*family, table_room, want) : TAMIS_OK;
}
