/* cmd_convert.c - tamis convert: the same filter in another format, or as another kind */
#include "request.h"

struct convert_request {
    struct request common; /* its only input is the filter */
    const char *to;
    tamis_kind kind;
};

static void convert_parse(struct args *args, struct convert_request *r) {
    const struct binding list[] = {{ARG_OPERAND, .words = &r->common.inputs},
                                   {OPT_TO, .format = &r->to},
                                   {OPT_KIND, .kind = &r->kind},
                                   {0}};
    request_parse(&r->common, args, list);
    if (r->to == NULL) die("missing --to FORMAT");
    request_check_output(&r->common);
    if (r->common.inputs.count == 0) die("missing FILE (the filter)");
    if (r->common.inputs.count != 1) die("too many operands: give one FILE");
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
            die("'%s' is a %s filter and cannot become %s without its keys: build it from the keys",
                file, tamis_kind_name(facts.kind), tamis_kind_name(r.kind));
        }
        if (status != TAMIS_OK) filter_die(file, status);
        tamis_free(filter);
        filter = other;
        facts = filter_facts(filter);
    }
    if (tamis_reformat(filter, r.to) != TAMIS_OK) {
        die("'%s' cannot become %s: %s", file, r.to, tamis_reformat_reason(filter, r.to));
    }
    facts = filter_facts(filter);
    return request_output(&r.common, filter, &facts, facts.adds);
}

const struct command command_convert = {
    .name = "convert",
    .summary = "write a filter in another format",
    .usage = "--to FORMAT -o FILE [--from FORMAT] FILE",
    .about =
        "Writes the filter in another format, or with -k as another kind, without the keys. A "
        "filter of another system can be stored as `tamis`, with checksums, and converted "
        "back; it cannot be converted to a third system's format, which hashes keys "
        "differently.",
    .options = {OPT_TO, OPT_OUTPUT, OPT_FORCE, OPT_TARGET_KIND, OPT_QUIET, OPT_PROGRESS,
                OPT_NO_PROGRESS},
    .groups = FILTER_OPTIONS,
    .operands = COMPLETE_FILE,
    .exits = {[EXIT_DONE] = "the filter was written",
              [EXIT_ERROR] = "error; no file was written",
              [EXIT_OVER] = "the filter was written, and is over its capacity",
              [EXIT_CHANGED] = "the filter was written, but could not be synced"},
    .examples =
        "  tamis convert --to tamis -k bloom -o small.tamis counting.tamis\n"
        "  tamis convert --to tamis --part 0/user -o users.tamis events.parquet\n",
    .see = "build info",
    .run = convert_main};
