/* plan.snippets.js - the filter of a plan in the command line, C, Python and Redis
 *
 * `filter` is { kind, n, fpr | bytes, rate, static, remove, merge, grow }; `rate` is the false positive rate as text
 * that fits in the size, or `fpr` itself. */

const inPython = (n) => n.toString().replace(/\B(?=(\d{3})+$)/g, "_");
const inC = (n) => (n > 0xffffffff ? `UINT64_C(${n})` : String(n));

/** 0.01, 1e-6: a rate in the notation that the command, C, Python and Redis share. */
export function rateText(fpr) {
    return fpr < 1e-4 ? fpr.toExponential() : String(fpr);
}

/* ---- command line */

const buildCommand = ({ kind, n, rate, static: isStatic, grow }) =>
    `tamis build -k ${kind} -p ${rate}${isStatic || grow ? "" : ` -n ${n}`} -o FILE.tamis KEYS.txt`;

function commandLine(filter, note) {
    const lines = [
        filter.command ?? buildCommand(filter),
        `tamis query FILE.tamis INPUT.txt     # ${note("possibly")}`,
        `tamis query -v FILE.tamis INPUT.txt  # ${note("definitely")}`,
    ];
    if (!filter.static) lines.push("tamis add FILE.tamis MORE.txt");
    if (filter.remove) lines.push("tamis remove FILE.tamis GONE.txt");
    if (filter.merge) lines.push("tamis merge -o BOTH.tamis FILE.tamis OTHER.tamis");
    return lines.join("\n");
}

/* ---- C */

const cOptions = ({ kind, n, fpr, bytes, static: isStatic }, note) => [
    "    tamis_options options = TAMIS_OPTIONS_INIT;",
    `    options.kind = TAMIS_${kind.toUpperCase()};`,
    ...(isStatic && bytes === undefined ? [] : [
        `    options.capacity = ${inC(n)}; /* ${note(kind === "growing" ? "first" : "keys")} */`,
    ]),
    bytes === undefined
        ? `    options.fpr = ${rateText(fpr)}; /* ${note("rate")} */`
        : `    options.bytes = ${inC(bytes)}; /* ${note("size")} */`,
    "    tamis_filter *filter;",
];

const cCheck = (call) => [
    `    tamis_status status = ${call};`,
    "    if (status != TAMIS_OK) {",
    `        fprintf(stderr, "%s\\n", tamis_status_text(status));`,
    "        return 1;",
    "    }",
];

function cProgram(filter, note) {
    const body = filter.static ? [
        `    const void *const keys[] = {"apple", "pear"};`,
        "    const size_t lengths[] = {5, 4};",
        ...cCheck("tamis_build(&options, keys, lengths, 2, &filter)"),
    ] : [
        ...cCheck("tamis_create(&options, &filter)"),
        `    tamis_add(filter, "apple", 5, NULL);`,
        `    tamis_add(filter, "pear", 4, NULL);`,
        ...(filter.remove ? [`    tamis_remove(filter, "pear", 4);`] : []),
    ];
    return [
        "#include <stdio.h>", "#include <tamis.h>", "", "int main(void) {",
        ...cOptions(filter, note), ...body,
        `    bool found = tamis_contains(filter, "plum", 4);`,
        `    printf("plum: %s\\n", found ? "possibly" : "definitely not");`,
        `    tamis_save(filter, "FILE.tamis", true);`,
        "    tamis_free(filter);", "}",
    ].join("\n");
}

/* ---- Python */

function pythonProgram({ kind, n, fpr, bytes, static: isStatic, remove, merge }, note) {
    const size = bytes === undefined ? `fpr=${rateText(fpr)}` : `bytes=${inPython(bytes)}`;
    const capacity = isStatic && bytes === undefined ? "" : `capacity=${inPython(n)}, `;
    const lines = ["import tamis", ""];
    if (isStatic) {
        lines.push(`keys = ["apple", "pear"]  # ${note("all")}`);
        lines.push(`seen = tamis.build(keys, ${capacity}${size}, kind="${kind}")`);
    } else {
        lines.push(`seen = tamis.Filter(${capacity}${size}, kind="${kind}")`, `seen.update(["apple", "pear"])`);
    }
    if (remove) lines.push(`seen.discard("pear")`);
    if (merge) lines.push("both = seen | seen.copy()");
    lines.push(`"plum" in seen  # ${note("false")}`, `seen.save("FILE.tamis")`);
    return lines.join("\n");
}

/* ---- Redis: the module's BF grows in blocks, its CF removes; static filters are loaded as files */

function redisCommands(filter, note) {
    if (filter.static) {
        return [
            buildCommand(filter), "tamis redis put seen FILE.tamis", "redis-cli TAMIS.MEXISTS seen apple plum",
        ].join("\n");
    }
    if (filter.remove) {
        return [
            `redis-cli CF.RESERVE seen ${filter.n} ERROR ${filter.rate}`,
            "redis-cli CF.ADD seen apple", "redis-cli CF.EXISTS seen plum", "redis-cli CF.DEL seen apple",
            ...(filter.merge ? [`# ${note("noMerge")}`] : []),
        ].join("\n");
    }
    return [
        `redis-cli BF.RESERVE seen ${filter.rate} ${filter.n}${filter.grow ? "" : " NONSCALING"}`,
        "redis-cli BF.MADD seen apple pear", "redis-cli BF.MEXISTS seen apple plum",
        ...(filter.merge ? ["redis-cli BF.MERGE both seen other"] : []),
    ].join("\n");
}

/** The snippets, by name; `note(name)` is a remark in the reader's language. */
export const snippets = (filter, note) => ({
    command: commandLine(filter, note),
    c: cProgram(filter, note),
    python: pythonProgram(filter, note),
    redis: redisCommands(filter, note),
});
