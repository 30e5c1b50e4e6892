/* choose.js - step 13: the kinds side by side */
import { h } from "../../dom.js";
import { figure, scrollTable } from "./tools.js";

const KEYS = 1000000, FPR = 0.01;

export function choose(section, lab) {
    const { t, format } = lab;
    section.append(...lab.prose("intro"), figure(lab, { id: "choose", build }),
        h("p", {}, h("a", { class: "button", id: "learn-plan", href: `#plan?n=${KEYS}&p=${FPR}` }, t("plan"))));

    function build(body, say) {
        const { families, boundBitsPerKey } = lab.tamis.plan({ n: KEYS, fpr: FPR });
        const ability = (can) => h("td", {}, can ? `✓ ${t("yes")}` : h("span", { class: "muted" }, `– ${t("no")}`));
        const sizeOf = (name) => families.find(({ kind }) => kind === name).bitsPerKey;
        const swatch = (name) => h("span", {
            class: "swatch", style: `background: var(--kind-${name})`, "aria-hidden": "true",
        });
        const line = ({ name, add, remove, merge }) => h("tr", {},
            h("th", { scope: "row" }, swatch(name), name),
            h("td", { class: "number", id: `learn-choose-${name}` }, format.bits(sizeOf(name))),
            ability(add), ability(remove), ability(merge), h("td", {}, t(`use_${name}`)));
        const heads = ["kind", "size", "add", "remove", "merge", "use"].map((name) =>
            h("th", { scope: "col", class: name === "size" ? "number" : null }, t(name)));
        body.append(scrollTable("choose-table", t("table"), heads, lab.tamis.kinds.map(line)));
        say(t("report", format.count(KEYS), format.bits(boundBitsPerKey)));
    }
}
