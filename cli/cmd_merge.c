/* cmd_merge.c - tamis merge: the union or the intersection of filters of the same shape */
#include "numbers.h"
#include "request.h"

struct merge_request {
    struct request common; /* its inputs are the filters */
    bool both;
};

static void merge_parse(struct args *args, struct merge_request *r) {
    const struct binding list[] = {
        {ARG_OPERAND, .words = &r->common.inputs}, {OPT_AND, .flag = &r->both}, {0}};
    request_parse(&r->common, args, list);
    request_check_output(&r->common);
    if (r->common.inputs.count < 2) die("missing FILE: give two filters or more");
}

static _Noreturn void merge_failed(const struct merge_request *r, size_t i, tamis_status status,
                                   const tamis_facts *facts, const tamis_facts *other) {
    const char *const *files = r->common.inputs.at;
    switch (status) {
        case TAMIS_E_MISMATCH:
            if (!key_form_same(&facts->form, &other->form)) {
                die("'%s' and '%s' make keys from records differently: see 'tamis info'", files[0],
                    files[i]);
            }
            die("'%s' and '%s' differ in kind, size, hash or seed: only filters that were built "
                "with the same -k, -n, -p and --seed can be merged",
                files[0], files[i]);
        case TAMIS_E_NO_MERGE:
        case TAMIS_E_UNSUPPORTED:
            die("'%s' is a %s filter, which cannot be merged%s: build one filter from the keys",
                files[0], tamis_kind_name(facts->kind), r->both ? " with --and" : "");
        default:
            filter_die(files[i], status);
    }
}

static int merge_main(struct args *args) {
    struct merge_request r = {.common = REQUEST_INIT};
    merge_parse(args, &r);
    const struct words *files = &r.common.inputs;
    progress_start(&r.common.run, "merge", 0, false);
    progress_phase("reading the filters");
    tamis_filter *into = request_open(&r.common, files->at[0], OPEN_OWNED);
    tamis_facts facts = filter_facts_brief(into);
    for (size_t i = 1; i < files->count; i++) {
        tamis_filter *from = request_open(&r.common, files->at[i], OPEN_MAPPED);
        const tamis_facts other = filter_facts_brief(from);
        const tamis_status status =
            tamis_merge(into, from, r.both ? TAMIS_INTERSECTION : TAMIS_UNION);
        if (status != TAMIS_OK) merge_failed(&r, i, status, &facts, &other);
        tamis_free(from);
    }
    facts = filter_facts(into);
    return request_output(&r.common, into, &facts, facts.adds);
}

const struct command command_merge = {
    .name = "merge",
    .summary = "write the union or intersection of filters",
    .usage = "[--and] -o FILE FILE FILE...",
    .about =
        "Writes the union of the filters, or with --and their intersection, to the FILE of -o. "
        "They must have the same kind ({mergeable}), -n, -p and --seed. The union "
        "is the filter of all keys. The intersection has every key that is in all filters; "
        "its rate may be higher than that of a filter built from those keys.",
    .options = {OPT_OUTPUT, OPT_FORCE, OPT_AND, OPT_QUIET, OPT_PROGRESS, OPT_NO_PROGRESS},
    .groups = FILTER_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "the filter was written",
              [EXIT_ERROR] = "error; no file was written",
              [EXIT_OVER] = "the filter was written, and is over its capacity",
              [EXIT_CHANGED] = "the filter was written, but could not be synced"},
    .examples =
        "  tamis build -k block -n 10M -o mon.tamis mon.log\n"
        "  tamis build -k block -n 10M -o tue.tamis tue.log\n"
        "  tamis merge -o both.tamis mon.tamis tue.tamis\n",
    .see = "build",
    .run = merge_main};
