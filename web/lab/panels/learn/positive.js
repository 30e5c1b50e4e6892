/* positive.js - step 4: absent words that a filter reports */
import { h, show } from "../../dom.js";
import { chips, figure, range, showKeepingFocus, slider } from "./tools.js";
import { bitsIn, drawBits, filterOf, lookupMarks, placesOf, usersOf } from "./small.js";

const MAX_ADDED = 24, START = 10;

export function positive(section, lab) {
    section.append(...lab.prose("intro"), figure(lab, { id: "positive", build }), ...lab.prose("outro"));

    function build(body, say) {
        const place = h("div", {}), list = h("div", {}), blame = h("div", { id: "learn-positive-blame" });
        const draw = (count) => {
            const stored = lab.words.slice(0, count), absent = lab.words.slice(count);
            const filter = filterOf(lab, stored), bits = bitsIn(filter);
            const wrong = absent.filter((word) => filter.has(word));
            const fill = bits.filter((bit) => bit !== 0).length;
            const expected = (filter.info().fprNow * absent.length).toFixed(1);
            const users = usersOf(filter, stored);
            const select = (word) => {
                explain(word, bits, users, filter);
                showKeepingFocus(list, h("p", { class: "note" }, lab.t("found")), chips("positive-found", wrong, select, word));
            };
            if (wrong.length > 0) {
                select(wrong[0]);
            } else {
                show(place, drawBits({ bits, label: lab.t("labelNone", fill) }));
                show(list, h("p", { class: "note" }, lab.t("none")));
                show(blame);
            }
            say(lab.t("report", stored.length, absent.length, wrong.length, expected, fill));
        };
        const explain = (word, bits, users, filter) => {
            const places = placesOf(filter, word);
            show(place, drawBits({
                bits, marks: lookupMarks(bits, places), probe: { name: word, places },
                label: lab.t("label", word, places.join(", ")),
            }));
            show(blame, h("p", {}, lab.t("blame", word)), h("ul", {}, [...new Set(places)].map((at) =>
                h("li", {}, lab.t("setBy", at, users.get(at).join(", "))))));
        };
        const count = slider("positive-count", lab.t("count"), range(0, MAX_ADDED), START, String, draw);
        body.append(count, place, list, blame);
        draw(START);
    }
}
