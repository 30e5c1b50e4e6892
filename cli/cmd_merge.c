/* cmd_merge.c - tamis merge: the union or the intersection of filters that are alike */
#include <string.h>

#include "numbers.h"
#include "request.h"

static const struct option_spec merge_options[] = {
    {OPT_OUTPUT, 'o', "output", "FILE", "write the filter to FILE; - is standard output"},
    {OPT_FORCE, 'f', "force", NULL, "replace FILE if it exists"},
    {OPT_AND, '\0', "and", NULL,
     "the keys that are in all of them, instead of in any\n"
     "(bloom and block)"},
    {OPT_FROM, '\0', "from", "FORMAT", "the filters' format, where their content does not tell"},
    {OPT_PART, '\0', "part", "NAME", "which filter of files that hold several: see 'tamis info'"},
    {OPT_KEY_FILE, '\0', "key-file", "FILE", "the secret of keyed filters: 32 hexadecimal digits"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
    {OPT_PROGRESS, '\0', "progress", NULL, "show progress even if stderr is no terminal"},
    {OPT_NO_PROGRESS, '\0', "no-progress", NULL, "never show progress"},
    OPTIONS_END};

struct merge_request {
    struct request common; /* its inputs are the filters */
    const char *output;
    bool force, both;
};

static void merge_parse(struct args *args, struct merge_request *r) {
    for (int id; (id = args_next(args)) != ARG_END;) {
        switch (id) {
            case ARG_OPERAND:
                words_push(&r->common.inputs, args->value);
                break;
            case OPT_OUTPUT:
                r->output = args->value;
                break;
            case OPT_FORCE:
                r->force = true;
                break;
            case OPT_AND:
                r->both = true;
                break;
            default:
                request_take(&r->common, id, args);
        }
    }
    if (r->output == NULL) die("-o FILE is missing: where is the filter to be written?");
    if (r->common.inputs.count < 2) die("give two filters or more to merge");
    key_options_check(&r->common.keys);
    target_check(r->output, r->force, &r->common.inputs, &r->common.keys);
}

static _Noreturn void merge_failed(const struct merge_request *r, size_t i, tamis_status status,
                                   const tamis_facts *facts) {
    const char *const *files = r->common.inputs.at;
    switch (status) {
        case TAMIS_E_UNLIKE:
            die("'%s' and '%s' differ in kind, size, hash or seed: only filters that were built "
                "with the same -k, -n, -p and --seed can be merged",
                files[0], files[i]);
        case TAMIS_E_NO_MERGE:
        case TAMIS_E_UNSUPPORTED:
            die("'%s' is a %s filter, and such cannot be merged%s", files[0],
                tamis_kind_name(facts->kind), r->both ? " with --and" : "");
        default:
            filter_die(files[i], status);
    }
}

static bool same_forms(const tamis_key_form *a, const tamis_key_form *b) {
    char first[256], second[256];
    key_form_text(a, first, sizeof first);
    key_form_text(b, second, sizeof second);
    return strcmp(first, second) == 0;
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
        if (status != TAMIS_OK) merge_failed(&r, i, status, &facts);
        if (!same_forms(&facts.form, &other.form)) {
            die("'%s' and '%s' make keys of records in different ways (see 'tamis info')",
                files->at[0], files->at[i]);
        }
        tamis_free(from);
    }
    facts = filter_facts(into);
    progress_phase("writing");
    filter_save(into, r.output, r.force);
    progress_end();
    if (!r.common.run.quiet) filter_summary(r.output, &facts, facts.adds);
    tamis_free(into);
    words_free(&r.common.inputs);
    return filter_capacity(r.output, &facts);
}

const struct command command_merge = {
    "merge",
    "join filters that are alike",
    "[--and] -o FILE FILE FILE...",
    "Writes the union of the filters, or with --and their intersection, to FILE.  They must be\n"
    "alike: same kind (bloom, block, counting), -n, -p and --seed.  The union holds just the\n"
    "keys of all.  The intersection holds every key that is in all of them, at a rate that may\n"
    "be higher than that of a filter made of those keys alone.",
    {merge_options, NULL, NULL, NULL},
    "  tamis build -k block -n 10M -o mon.tamis mon.log\n"
    "  tamis build -k block -n 10M -o tue.tamis tue.log\n"
    "  tamis merge -o both.tamis mon.tamis tue.tamis",
    merge_main};
