/* learn.text.js - the texts of the tour, collected from its steps: "STEP.NAME" */
import * as common from "./learn/common.text.js";
import * as answers from "./learn/answers.text.js";
import * as bits from "./learn/bits.text.js";
import * as add from "./learn/add.text.js";
import * as positive from "./learn/positive.text.js";
import * as remove from "./learn/remove.text.js";
import * as numbers from "./learn/numbers.text.js";
import * as counting from "./learn/counting.text.js";
import * as cuckoo from "./learn/cuckoo.text.js";
import * as peeling from "./learn/peeling.text.js";
import * as ribbon from "./learn/ribbon.text.js";
import * as block from "./learn/block.text.js";
import * as growing from "./learn/growing.text.js";
import * as choose from "./learn/choose.text.js";

const STEPS = {
    answers, bits, add, positive, remove, numbers, counting, cuckoo, peeling, ribbon, block, growing, choose,
};

const collect = (language) => Object.assign({}, common[language],
    ...Object.entries(STEPS).map(([step, texts]) =>
        Object.fromEntries(Object.entries(texts[language]).map(([name, value]) => [`${step}.${name}`, value]))));

export const text = { en: collect("en"), zh: collect("zh") };
