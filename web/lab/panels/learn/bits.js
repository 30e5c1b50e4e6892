/* bits.js - step 2: the positions of a word before anything is stored */
import { h, show } from "../../dom.js";
import { figure, row, sentences, wordField } from "./tools.js";
import { bitsIn, drawBits, emptyFilter, placesOf } from "./small.js";

export function bits(section, lab) {
    section.append(...lab.prose("intro"), figure(lab, { id: "bits", build }), ...lab.prose("outro"));

    function build(body, say) {
        const filter = emptyFilter(lab), array = bitsIn(filter);
        const place = h("div", {});
        const draw = (word) => {
            if (word === "") {
                show(place, drawBits({ bits: array, label: lab.t("typeWord") }));
                return say(lab.t("typeWord"));
            }
            const places = placesOf(filter, word), list = lab.t("and", places);
            show(place, drawBits({
                bits: array, marks: new Map(places.map((one) => [one, "probe"])), probe: { name: word, places },
                label: lab.t("label", word, list),
            }));
            const isTwice = new Set(places).size < places.length;
            return say(sentences(lab, lab.t("report", word, list), isTwice && lab.t("collide")));
        };
        body.append(row(wordField("bits-word", lab.t("word"), lab.words[0], draw)), place);
        draw(lab.words[0]);
    }
}
