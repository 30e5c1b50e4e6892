/* remove.js - step 5: clearing the bits of one word loses another */
import { isInTable, tableOf, bitsOf } from "../../cells.js";
import { h, show } from "../../dom.js";
import { button, failure, figure, row, verdict } from "./tools.js";
import { badgesOf, drawBits, emptyFilter, filterOf, placesOf, usersOf } from "./small.js";

/* The first two words, and the next one that shares a bit with the first. */
export function wordsThatShare(lab) {
    const empty = emptyFilter(lab), [first, second, ...others] = lab.words;
    const places = new Set(placesOf(empty, first));
    const partner = [second, ...others].find((word) => placesOf(empty, word).some((at) => places.has(at)));
    empty.free();
    return { gone: first, partner, stored: [...new Set([first, second, partner, others[0]])] };
}

/** A table of lookups: {word, isIn, isLost}. */
export const lookupTable = (lab, id, rows) => h("div", { class: "lookups", id: `learn-${id}` },
    h("p", { class: "note" }, lab.t("lookups")),
    h("ul", {}, rows.map(({ word, isIn, isLost, note }) => h("li", { class: isLost ? "lost" : null },
        h("b", {}, word), " ", verdict(lab, isIn), isLost && ` ← ${lab.t("vanished")}`,
        note !== undefined && ` ${note}`))));

export function remove(section, lab) {
    const { gone, partner, stored } = wordsThatShare(lab);
    const filter = filterOf(lab, stored), table = tableOf(filter), users = usersOf(filter, stored);
    const places = new Set(placesOf(filter, gone));
    section.append(...lab.prose("intro", gone, partner), figure(lab, { id: "remove", build }), ...lab.prose("outro"));

    function build(body, say) {
        const place = h("div", {}), results = h("div", {}), error = h("div", {});
        const shared = placesOf(filter, partner).filter((at) => places.has(at));
        const draw = (isCleared) => {
            const bytes = table.slice();
            if (isCleared) places.forEach((at) => (bytes[at >> 3] &= ~(1 << (at & 7))));
            const rows = stored.map((word) => ({ word, isIn: isInTable(bytes, filter.cells(word)) }));
            rows.forEach((one) => (one.isLost = !one.isIn && one.word !== gone));
            show(place, drawBits({
                bits: bitsOf(bytes), badges: badgesOf(users), probe: { name: gone, places: [...places] },
                marks: new Map([...places].map((at) => [at, isCleared ? "lost" : "hit"])),
                label: lab.t("label", stored.join(", "), isCleared ? [...places].join(", ") : ""),
            }));
            show(results, lookupTable(lab, "remove-lookups", rows));
            const lost = rows.filter(({ isLost }) => isLost).map(({ word }) => word);
            say(isCleared ? lab.t("after", gone, lab.t("quote", lost))
                : lab.t("before", gone, partner, shared.join(", ")));
        };
        const refuse = () => {
            try {
                filter.remove(gone);
            } catch (problem) {
                show(error, failure("remove-error", lab.t("refused", problem.status, problem.message)));
            }
        };
        body.append(row(
            button("remove-refused", lab.t("remove", gone), refuse),
            button("remove-clear", lab.t("clear"), () => draw(true), "primary"),
            button("remove-restore", lab.t("restore"), () => draw(false), "plain")), error, place, results);
        draw(false);
    }
}
