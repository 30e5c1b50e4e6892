/* open.card.js - what the page shows of an opened file: facts, table, queries; or what is missing to open it */
import { debounce, h, show } from "../dom.js";
import { READ_AS, asTamis, choosePart, isFormOpen, problemOf, queryLine, secretOf } from "./open.entry.js";
import { heatMap } from "./open.heat.js";

/* Answers that are shown; all are counted. */
const ANSWERS_MAX = 200;

/* ---- problems */

function errorText({ t }, entry) {
    const { status, message } = entry.problem;
    const isAmbiguous = status === "E_FORMAT" && entry.formats?.length > 0;
    const shown = isAmbiguous ? "E_AMBIGUOUS" : status === "E_ARGUMENT" ? "E_PARAMETERS" : status;
    return t("errorIn", entry.name, t("status", shown, message).replace(/\.$/, ""));
}

function formatForm(lab, entry, id, reopen) {
    const { t, tamis } = lab, possible = entry.formats ?? [];
    const option = ({ name, description }) => h("option", { value: name }, `${name}: ${description}`);
    const others = tamis.formats.filter(({ name }) => !possible.includes(name));
    const select = h("select", { id: `${id}-format`, onchange: () => update() },
        possible.length > 0 && h("optgroup", { label: t("possible") },
            possible.map((name) => option(tamis.formats.find((one) => one.name === name)))),
        h("optgroup", { label: t("allFormats") }, others.map(option)));
    const input = h("input", { type: "text", id: `${id}-parameters`, autocomplete: "off", spellcheck: "false" });
    const hint = h("small"), label = h("label", { class: "field" }, h("span", {}, t("parameters")), input, hint);
    const update = () => {
        const names = tamis.formats.find(({ name }) => name === select.value).parameters;
        label.hidden = names.length === 0;
        hint.textContent = t("parametersHint", names);
    };
    const [chosen, parameters = ""] = (entry.format ?? possible[0] ?? others[0].name).split(/:(.*)/s);
    select.value = chosen;
    input.value = parameters;
    update();
    return h("form", {
        class: "row",
        onsubmit: (event) => {
            event.preventDefault();
            const given = label.hidden ? "" : input.value.trim();
            reopen({ format: given === "" ? select.value : `${select.value}:${given}` });
        },
    }, h("p", { class: "wide" }, t("chooseFormat")),
    h("label", { class: "field" }, h("span", {}, t("formatLabel")), select), label,
    h("button", { type: "submit", id: `${id}-open-as` }, t("openAs")));
}

function secretForm({ t }, entry, id, reopen) {
    const input = h("input", {
        type: "text", id: `${id}-secret`, size: "34", class: "mono", autocomplete: "off", spellcheck: "false",
    });
    const complaint = h("div");
    return h("form", {
        class: "row",
        onsubmit: (event) => {
            event.preventDefault();
            const secret = secretOf(input.value);
            if (secret === undefined) show(complaint, h("p", { class: "error", role: "alert" }, t("badSecret")));
            else reopen({ secret });
        },
    }, h("label", { class: "field" }, h("span", {}, t("secret")), input),
    h("button", { type: "submit", id: `${id}-open-secret` }, t("openSecret")), complaint);
}

/* Where a form may cure the problem, it follows the sentence. */
function problem(lab, entry, id, reopen) {
    const { status } = entry.problem;
    const isKeyed = status === "E_SECRET" || status === "E_WRONG_SECRET";
    const isFormat = status === "E_FORMAT" || entry.format !== undefined;
    return [
        h("p", { class: "error", role: "alert", id: `${id}-error`, "data-status": status }, errorText(lab, entry)),
        isKeyed ? secretForm(lab, entry, id, reopen) : isFormat && formatForm(lab, entry, id, reopen),
    ];
}

/* ---- facts */

function keysText({ t, format }, { keys, distinct, distinctError }) {
    if (distinctError === 0) return format.count(keys);
    return t("about", format.count(distinct), distinctError < 0.5 ? "" : format.count(distinctError));
}

function capacityText({ t, format }, { capacity, headroom, static: isStatic }) {
    if (headroom === Infinity) return t("unlimited");
    if (capacity === 0) return t("unknown");
    const room = isStatic || headroom === 0 ? "" : ` (${t("room", format.count(headroom))})`;
    return format.count(capacity) + room;
}

function hashText({ t }, { hasher, seed, keyed, keyId }) {
    if (keyed) return t("keyedHash", hasher, keyId.toString(16).padStart(16, "0"));
    return seed === 0n ? hasher : t("seededHash", hasher, seed);
}

function keyText({ t }, { keyBytes, keyOptions }) {
    if (keyBytes === 8) return t("integers");
    return keyOptions === "" ? t("asAre") : h("code", {}, keyOptions);
}

function factList(lab, info) {
    const { t, format, tamis } = lab;
    const { description = "" } = info.format === "tamis" ? {} : tamis.formats.find(({ name }) => name === info.format);
    const abilities = Object.entries(t("abilities")).filter(([name]) => info[name]);
    return {
        format: [h("strong", {}, info.format), h("span", { class: "note" }, ` ${description}`)],
        keys: keysText(lab, info),
        capacity: capacityText(lab, info),
        size: format.bytes(info.bytes),
        bitsPerKey: info.keys > 0 ? format.bits(info.bitsPerKey) : t("unknown"),
        fill: format.share(info.fill),
        fprTarget: info.fprTarget > 0 ? format.rate(info.fprTarget) : t("unknown"),
        fprNow: format.rate(info.fprNow),
        hash: hashText(lab, info),
        hashes: String(info.hashes),
        width: info.width > 0 && String(info.width),
        stages: info.stages > 1 && String(info.stages),
        keyOptions: keyText(lab, info),
        can: abilities.map(([, label]) => label).join(t("comma")),
        note: info.note,
    };
}

function facts(lab, info, id) {
    const shown = Object.entries(factList(lab, info)).filter(([, value]) => value);
    return [
        info.overCapacity && h("p", { class: "warning", id: `${id}-over` }, lab.t("over")),
        h("dl", { class: "facts", id: `${id}-facts` }, shown.map(([name, value]) =>
            h("div", { "data-fact": name, class: ["format", "note"].includes(name) ? "wide" : null },
                h("dt", {}, lab.t("facts")[name]), h("dd", {}, value)))),
    ];
}

/* ---- queries */

function answerCell({ t }, found) {
    return h("td", { class: found ? "yes" : "no" }, found ? t("yes") : t("no"));
}

function answerRow(lab, entry, line, answer) {
    const { t } = lab, { problem: wrong } = answer;
    return h("tr", {},
        h("th", { scope: "row", class: "mono" }, line === "" ? t("empty") : line),
        wrong !== undefined
            ? h("td", { colspan: entry.container ? 2 : 1, class: "wrong" }, t("status", wrong.status, wrong.message))
            : [answerCell(lab, answer.found), entry.container && answerCell(lab, answer.inFile)]);
}

function answers(lab, entry, info, output) {
    const { t, tamis, format } = lab;
    const lines = entry.keys.split("\n");
    if (lines.at(-1) === "") lines.pop();
    if (lines.length === 0) return show(output);
    const results = lines.map((line) => queryLine(tamis, entry, info, line));
    const known = results.filter((one) => one.problem === undefined), yes = known.filter((one) => one.found).length;
    const counted = t("counted", format.count(yes), format.count(known.length - yes));
    lab.announce(counted);
    return show(output,
        h("p", { class: "note" }, counted),
        h("div", { class: "scroll" }, h("table", {},
            h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("key")), h("th", { scope: "col" }, t("answer")),
                entry.container && h("th", { scope: "col" }, t("anywhere")))),
            h("tbody", {}, results.slice(0, ANSWERS_MAX).map((answer, i) => answerRow(lab, entry, lines[i], answer))))),
        results.length > ANSWERS_MAX && h("p", { class: "note" },
            t("more", format.count(results.length - ANSWERS_MAX))));
}

function readAsField({ t }, entry, info, id, run) {
    if (!isFormOpen(info) || info.keyBytes === 8) return null;
    const names = t("readAsNames");
    const select = h("select", {
        id: `${id}-read-as`,
        onchange: (event) => {
            entry.readAs = event.target.value;
            run();
        },
    }, READ_AS.map((value) => h("option", { value }, names[value])));
    select.value = entry.readAs || "bytes";
    return h("label", { class: "field" }, h("span", {}, t("readAs")), select);
}

function queries(lab, entry, info, id) {
    const { t } = lab, output = h("div", { id: `${id}-answers`, class: "answers" });
    const run = () => answers(lab, entry, info, output);
    const later = debounce(run, 250);
    const area = h("textarea", {
        id: `${id}-keys`, class: "mono", value: entry.keys, spellcheck: "false", "aria-describedby": `${id}-keys-hint`,
        oninput: (event) => {
            entry.keys = event.target.value;
            later();
        },
    });
    run();
    return h("div", { class: "queries" },
        h("label", { class: "field" }, h("span", {}, t("query")), area),
        h("p", { class: "note", id: `${id}-keys-hint` }, info.keyBytes === 8 ? t("queryInteger") : t("queryHint")),
        readAsField(lab, entry, info, id, run), output);
}

/* ---- the whole */

function download(lab, entry, info, id, complain) {
    const base = entry.name.replace(/\.[^.]*$/, "");
    const part = entry.container ? `-${entry.parts[entry.part].name.replace(/[^\w.-]+/g, "-")}` : "";
    return h("button", {
        type: "button", id: `${id}-download`,
        onclick: () => {
            try {
                const file = new Blob([asTamis(entry, info)], { type: "application/octet-stream" });
                const address = URL.createObjectURL(file);
                h("a", { href: address, download: `${base}${part}.tamis` }).click();
                setTimeout(() => URL.revokeObjectURL(address), 60000);
            } catch (error) {
                complain(error);
            }
        },
    }, lab.t("download"));
}

function partField(lab, entry, id, redraw) {
    const { t, format } = lab;
    const select = h("select", {
        id: `${id}-part`,
        onchange: (event) => {
            choosePart(entry, Number(event.target.value));
            redraw();
        },
    }, entry.parts.map((part, i) => h("option", { value: String(i), disabled: part.bytes === 0 },
        part.bytes === 0 ? t("noFilter", part) : t("partName", part, format.bytes(part.bytes)))));
    select.value = String(entry.part);
    return h("div", { class: "row" },
        h("label", { class: "field" }, h("span", {}, t("part")), select),
        h("p", { class: "note" }, t("parts", format.count(entry.parts.length), entry.container.format)));
}

/* The picture needs a copy of the table, for which memory may not suffice. */
function picture(lab, entry, info, complain) {
    try {
        return heatMap(asTamis(entry, info), lab);
    } catch (error) {
        complain(error);
        return { element: null, redraw: () => {} };
    }
}

function filterView(lab, entry, id, redraw) {
    const info = entry.filter.info(), complaint = h("div");
    const complain = (error) => {
        const { status, message } = problemOf(lab.tamis, error);
        show(complaint, h("p", { class: "error", role: "alert" },
            lab.t("errorIn", entry.name, lab.t("status", status, message))));
    };
    const { element, redraw: repaint } = picture(lab, entry, info, complain);
    entry.repaint = repaint;
    return [
        h("p", { class: "kind", "data-kind": info.kind },
            h("span", { class: "swatch", style: `background: var(--kind-${info.kind})` }),
            lab.t("kindName", info.kind), " ", h("code", {}, info.kind)),
        entry.container && partField(lab, entry, id, redraw),
        facts(lab, info, id), complaint,
        h("div", { class: "columns" }, element, queries(lab, entry, info, id)),
        download(lab, entry, info, id, complain),
    ];
}

/** Fills the card of an entry; `reopen(changes)` opens it again, `close()` removes it. */
export function drawCard(lab, entry, id, card, { reopen, close }) {
    const { t } = lab;
    const redraw = () => drawCard(lab, entry, id, card, { reopen, close });
    entry.repaint = () => {};
    show(card,
        h("div", { class: "head" },
            h("h2", { id: `${id}-name` }, entry.name,
                entry.size !== undefined && h("span", { class: "size" }, lab.format.bytes(entry.size))),
            h("button", {
                type: "button", class: "small", id: `${id}-close`, onclick: close,
                "aria-label": t("closeOf", entry.name),
            }, t("close"))),
        entry.filter !== undefined ? filterView(lab, entry, id, redraw)
            : entry.problem !== undefined ? problem(lab, entry, id, reopen)
                : h("p", { class: "note" }, t("opening", entry.name)));
}
