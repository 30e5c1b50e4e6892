/* watch-why.js - why a lookup has its result: the cells it reads, their values, and which of them decides
 *
 *     explain(watched, word, t)   {isTrue, isMember, verdict, sentence, marks, body}
 *
 * Everything is read from the table; the filter's own answer is compared with it. */
import { h } from "../dom.js";
import { cellRow } from "../cells.js";
import { bitsRead } from "./watch-model.js";
import { bareName, cellName, hex } from "./watch-names.js";

const NAMES_SHOWN = 3;

/** dog, cat, fox and 2 more */
export function nameList(words, t) {
    const names = words.slice(0, NAMES_SHOWN).map((word) => t("quoted", word)).join(t("comma"));
    return words.length <= NAMES_SHOWN ? names : t("andMore", names, words.length - NAMES_SHOWN);
}

const ruleOf = (group) => group?.equations[0].rule ?? "none";
const nameOf = (watched, bit, t) => cellName(watched, watched.placeOf(bit), t);
const unitOf = (watched, cell) => watched.placeOf(cell.bit)?.section.unit;

/* ---- marks for the picture */

function marksOf(groups) {
    const marks = new Map();
    for (const { equations } of groups) {
        for (const { rule, cells, isTrue } of equations) {
            const mark = rule === "set" ? (isTrue ? "hit" : "miss") : rule === "equal" && isTrue ? "hit" : "read";
            cells.flatMap(bitsRead).forEach((bit) => marks.set(bit, mark));
        }
    }
    return marks;
}

/* ---- by rule: the sentence that states what decides, and the cells */

/* Bits and counters. */
const set = {
    decides(watched, word, group, t) {
        const failing = group.equations.find((equation) => !equation.isTrue);
        const k = group.equations.length, unit = unitOf(watched, group.equations[0].cells[0]);
        if (failing === undefined) return t(unit === "counter" ? "allCounters" : "allBits", k);
        return t("oneIsZero", nameOf(watched, failing.cells[0].bit, t));
    },
    body(watched, groups, t, owners) {
        return groups.map((group) => [
            groups.length > 1 && stageHeading(group, t),
            cellRow({
                cells: group.equations.map(({ cells: [cell], values, isTrue }) => ({
                    name: bareName(watched.placeOf(cell.bit), t), value: `${values[0]} ${isTrue ? "✓" : "✗"}`,
                    note: isTrue ? usersOf(watched, cell.bit, owners, t) : "", state: isTrue ? "yes" : "no",
                })),
            }),
        ]);
    },
};

const stageHeading = ({ stage, isTrue }, t) =>
    h("h4", {}, t("stage", stage), " ", verdictTag(isTrue, t(isTrue ? "hasIt" : "hasItNot")));

function usersOf(watched, bit, owners, t) {
    const users = owners?.get(bit) ?? watched.wordsAt(bit);
    return users.length > 0 ? nameList(users, t) : watched.extra > 0 ? t("generatedWord") : "";
}

/* Fingerprints that are compared. */
const equal = {
    decides(watched, word, _group, t) {
        const groups = watched.lookup(word), hit = groups.find((group) => group.isTrue)?.equations[0];
        if (hit === undefined) return t("noSlot", groups.length);
        const [cell] = hit.cells, sentence = unitOf(watched, cell) === "slot" ? "slotHolds" : "hashHolds";
        return t(sentence, nameOf(watched, cell.bit, t), hex(hit.expected));
    },
    body(watched, groups, t, owners) {
        const equations = groups.flatMap((group) => group.equations);
        return cellRow({
            cells: equations.map(({ cells: [cell], values: [value], expected, isTrue }) => ({
                name: nameOf(watched, cell.bit, t),
                value: `${value === 0n ? t("empty") : hex(value)} ${isTrue ? "=" : "≠"} ${hex(expected)}`,
                note: isTrue ? usersOf(watched, cell.bit, owners, t) : "", state: isTrue ? "yes" : "no",
            })),
        });
    },
};

/* Slots that xor to the fingerprint. */
const xor = {
    decides(_watched, _word, group, t) {
        const { values, expected, isTrue } = group.equations[0];
        return t(isTrue ? "xorIs" : "xorIsNot", hex(xorOf(values)), hex(expected));
    },
    body(watched, groups, t) {
        return groups.flatMap((group) => group.equations).map(({ cells, values, expected, isTrue }) => cellRow({
            cells: cells.map((cell, i) => ({
                name: nameOf(watched, cell.bit, t), value: hex(values[i]), state: "probe",
            })),
            between: "⊕",
            result: {
                name: t("xorName"), state: isTrue ? "yes" : "no",
                value: `${hex(xorOf(values))} ${isTrue ? "=" : "≠"} ${hex(expected)}`,
            },
        }));
    },
};
const xorOf = (values) => values.reduce((total, value) => total ^ value, 0n);

/* The parity of some bits of each column. */
const parities = {
    decides(_watched, _word, group, t) {
        const column = group.equations.findIndex((equation) => !equation.isTrue);
        if (column < 0) return t("allParities", group.equations.length);
        const wanted = Number(group.equations[column].expected);
        return t("oneParity", column, 1 - wanted, wanted);
    },
    body(watched, groups, t) {
        const [{ equations }] = groups, { kind } = watched.options;
        const heads = ["column", "bitsRead", "ones", "parity", "fingerprintBit", "result"];
        return [
            h("p", { class: "note" }, [t(`parity_${kind}`), t("parityHow")].join(t("space"))),
            h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("parityTable") },
                h("table", { class: "parities" },
                    h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col" }, t(`p_${name}`))))),
                    h("tbody", {}, equations.map((equation, column) => parityRow(equation, column, t))))),
        ];
    },
};

function parityRow({ cells, values, expected, isTrue }, column, t) {
    const ones = cells.reduce((total, cell, i) => total + onesOf(values[i] & cell.mask), 0);
    return h("tr", { class: isTrue ? "true" : "false" },
        h("th", { scope: "row" }, `c${column}`),
        h("td", { class: "mono bits" }, cells.map((cell, i) => bitsOfCell(cell, values[i]))),
        [ones, ones % 2, String(expected)].map((number) => h("td", { class: "number" }, number)),
        h("td", {}, verdictTag(isTrue, t(isTrue ? "holds" : "fails"))));
}
const onesOf = (value) => [...value.toString(2)].filter((digit) => digit === "1").length;
const bitsOfCell = ({ bits, mask }, value) => Array.from({ length: bits }, (_, i) => {
    const isRead = ((mask >> BigInt(i)) & 1n) === 1n;
    return h("span", { class: isRead ? "selected" : "skipped" }, String((value >> BigInt(i)) & 1n));
});

const verdictTag = (isTrue, word) => h("span", { class: isTrue ? "yes" : "no" }, `${isTrue ? "✓" : "✗"} ${word}`);

const always = { decides: (_watched, _word, _group, t) => t("always"), body: () => [] };
const none = { decides: (_watched, _word, _group, t) => t("nothing"), body: () => [] };

const RULES = { set, equal, xor, parity: parities, always, none };

/* ---- the explanation */

/* Which words set the bits, or stored the fingerprint, of a false positive. */
function culprits(watched, groups, t) {
    const group = groups.find(({ isTrue }) => isTrue), rule = ruleOf(group);
    if (rule === "set" || rule === "equal") {
        const bits = group.equations.flatMap((equation) => equation.cells.map((cell) => cell.bit));
        const owners = watched.allWordsAt(bits);
        const words = [...new Set(bits.flatMap((bit) => owners.get(bit)))];
        return { owners, sentence: t(rule === "set" ? "setByOthers" : "storedForOther", nameList(words, t)) };
    }
    const bits = rule === "xor" ? group.equations[0].cells[0].bits : group.equations.length;
    return { sentence: rule === "always" ? "" : t("byChance", 2 ** bits) };
}

function truthOf(isTrue, isMember, isExtra) {
    if (isTrue !== isMember) return isTrue ? "falsePositive" : "falseNegative";
    return !isTrue ? "trueNegative" : isExtra ? "wasGenerated" : "wasAdded";
}

export function explain(watched, word, t) {
    const groups = watched.lookup(word), deciding = groups.find((group) => group.isTrue) ?? groups[0];
    const rule = RULES[ruleOf(deciding)];
    const isTrue = watched.filter.has(word), isMember = watched.isMember(word);
    const isFalsePositive = isTrue && !isMember;
    const reason = rule.decides(watched, word, deciding, t);
    const because = isFalsePositive ? culprits(watched, groups, t) : {};
    const stages = groups.length > 1 && watched.options.kind === "growing"
        ? t(isTrue ? "inOneStage" : "inNoStage", groups.length, deciding.stage) : "";
    return {
        isTrue, isMember, isFalsePositive,
        answer: t(isTrue ? "possibly" : "definitelyNot", word),
        truth: t(truthOf(isTrue, isMember, watched.isExtra(word))),
        sentences: [stages, reason, because.sentence ?? ""].filter((sentence) => sentence !== ""),
        marks: marksOf(groups),
        body: rule.body(watched, groups.filter((group) => ruleOf(group) === ruleOf(deciding)), t, because.owners),
    };
}
