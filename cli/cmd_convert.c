/* cmd_convert.c - tamis convert: the same filter in another format, or as another kind */
#include "request.h"

static const struct option_spec convert_options[] = {
    {OPT_TO, '\0', "to", "FORMAT", "the format to write: 'tamis', or another system's"},
    {OPT_FROM, '\0', "from", "FORMAT", "the format to read, where its content does not tell"},
    {OPT_PART, '\0', "part", "NAME", "which filter of a file that holds several: see 'tamis info'"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write the filter to FILE; - is standard output"},
    {OPT_FORCE, 'f', "force", NULL, "replace FILE if it exists"},
    {OPT_KIND, 'k', "kind", "KIND",
     "make it this kind, where that needs no keys: counting to bloom"},
    {OPT_KEY_FILE, '\0', "key-file", "FILE", "the secret of a keyed filter: 32 hexadecimal digits"},
    {OPT_QUIET, 'q', "quiet", NULL, "no summary"},
    {OPT_PROGRESS, '\0', "progress", NULL, "show progress even if stderr is no terminal"},
    {OPT_NO_PROGRESS, '\0', "no-progress", NULL, "never show progress"},
    OPTIONS_END};

struct convert_request {
    struct request common; /* its only input is the filter */
    const char *to, *output;
    tamis_kind kind;
    bool force;
};

static void convert_parse(struct args *args, struct convert_request *r) {
    for (int id; (id = args_next(args)) != ARG_END;) {
        switch (id) {
            case ARG_OPERAND:
                words_push(&r->common.inputs, args->value);
                break;
            case OPT_TO:
                r->to = format_of("--to", args->value);
                break;
            case OPT_OUTPUT:
                r->output = args->value;
                break;
            case OPT_FORCE:
                r->force = true;
                break;
            case OPT_KIND:
                r->kind = kind_of(args->value);
                break;
            default:
                request_take(&r->common, id, args);
        }
    }
    if (r->to == NULL) die("--to FORMAT is missing: into which format?");
    if (r->output == NULL) die("-o FILE is missing: where is the filter to be written?");
    if (r->common.inputs.count != 1) die("give one filter to convert");
    key_options_check(&r->common.keys);
    target_check(r->output, r->force, &r->common.inputs, &r->common.keys);
}

static int convert_main(struct args *args) {
    struct convert_request r = {.common = REQUEST_INIT};
    convert_parse(args, &r);
    const char *file = r.common.inputs.at[0];
    progress_opening(&r.common.run, "convert");
    tamis_filter *filter = request_open(&r.common, file, OPEN_MAPPED);
    tamis_facts facts = filter_facts(filter);
    if (r.kind != TAMIS_AUTO && r.kind != facts.kind) {
        tamis_filter *other;
        const tamis_status status = tamis_convert(filter, r.kind, &other);
        if (status == TAMIS_E_CONVERT) {
            die("'%s' is a %s filter and cannot become %s without its keys: build it anew", file,
                tamis_kind_name(facts.kind), tamis_kind_name(r.kind));
        }
        if (status != TAMIS_OK) filter_die(file, status);
        tamis_free(filter);
        filter = other;
        facts = filter_facts(filter);
    }
    if (tamis_reformat(filter, r.to) != TAMIS_OK) {
        die("'%s' cannot become %s: %s", file, r.to, tamis_cannot(filter, r.to));
    }
    facts = filter_facts(filter);
    progress_phase("writing");
    filter_save(filter, r.output, r.force);
    progress_end();
    if (!r.common.run.quiet) filter_summary(r.output, &facts, facts.adds);
    tamis_free(filter);
    words_free(&r.common.inputs);
    return filter_capacity(r.output, &facts);
}

const struct command command_convert = {
    "convert",
    "write a filter in another format",
    "--to FORMAT -o FILE [--from FORMAT] FILE",
    "Writes the filter in another format, or with -k as another kind where its bits allow it:\n"
    "the keys are not needed.  Another system's filter can be kept as 'tamis', with checksums,\n"
    "and turned back; it cannot become a third system's, which hashes keys otherwise.",
    {convert_options, NULL, NULL, NULL},
    "  tamis convert --to tamis -k bloom -o small.tamis counting.tamis\n"
    "  tamis convert --to tamis --part 0/user -o users.tamis events.parquet",
    convert_main};
