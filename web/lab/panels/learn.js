/* learn.js - the guided tour: an essay in steps whose figures are real filters */
import { h } from "../dom.js";
import { text } from "./learn.text.js";
import { prose, startFigures } from "./learn/tools.js";
import { wordsIn } from "./learn/words.js";
import { answers } from "./learn/answers.js";
import { bits } from "./learn/bits.js";
import { add } from "./learn/add.js";
import { positive } from "./learn/positive.js";
import { remove } from "./learn/remove.js";
import { numbers } from "./learn/numbers.js";
import { counting } from "./learn/counting.js";
import { cuckoo } from "./learn/cuckoo.js";
import { peeling } from "./learn/peeling.js";
import { ribbon } from "./learn/ribbon.js";
import { block } from "./learn/block.js";
import { growing } from "./learn/growing.js";
import { choose } from "./learn/choose.js";

export { text };

/* A step appends its paragraphs and figures to its section. */
const STEPS = {
    answers, bits, add, positive, remove, numbers, counting, cuckoo, peeling, ribbon, block, growing, choose,
};
const NAMES = Object.keys(STEPS);

/* What a step is given: the lab, its own texts before the common ones, and its paragraphs. */
function forStep(lab, name) {
    const t = (key, ...values) => lab.t(`${name}.${key}` in text.en ? `${name}.${key}` : key, ...values);
    return { ...lab, t, prose: (key, ...values) => prose(t(key, ...values)), words: wordsIn(lab.language) };
}

function section(lab, name, index) {
    const step = forStep(lab, name);
    const element = h("section", { id: `learn-${name}`, class: "step", "aria-labelledby": `learn-${name}-title` },
        h("h2", { id: `learn-${name}-title`, tabindex: "-1" },
            h("span", { class: "number", "aria-hidden": "true" }, index + 1), step.t("title")));
    STEPS[name](element, step);
    return element;
}

/* ---- the list of steps */

function navigator(lab, go) {
    const page = location.href.split("#")[0];
    const links = NAMES.map((name, i) => h("a", {
        href: `${page}#learn?step=${name}`, id: `learn-go-${name}`,
        onclick: (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault(); /* a new address would draw the panel anew */
            go(name);
        },
    }, h("span", { class: "number" }, i + 1), h("span", { class: "name" }, lab.t(`${name}.short`))));
    const element = h("nav", { class: "steps", id: "learn-steps", "aria-label": lab.t("steps") },
        h("ol", {}, links.map((link) => h("li", {}, link))));
    const mark = (name) => NAMES.forEach((one, i) => {
        if (one !== name) return links[i].removeAttribute("aria-current");
        links[i].setAttribute("aria-current", "step");
        revealIn(element, links[i]);
    });
    return { element, mark };
}

/* Scrolls the list, not the page. */
function revealIn(list, link) {
    const outer = list.getBoundingClientRect(), inner = link.getBoundingClientRect();
    list.scrollBy(
        inner.left - outer.left - outer.width / 2 + inner.width / 2,
        inner.top - outer.top - outer.height / 2 + inner.height / 2);
}

/* Calls with the step at the reading position whenever that changes. */
function followReading(sections, call) {
    const inView = new Set();
    const observer = new IntersectionObserver((entries) => {
        for (const { target, isIntersecting } of entries) {
            if (isIntersecting) inView.add(target);
            else inView.delete(target);
        }
        const current = sections.findIndex((one) => inView.has(one));
        if (current >= 0 && sections[current].isConnected) call(NAMES[current]);
    }, { rootMargin: "-30% 0px -69% 0px" });
    sections.forEach((one) => observer.observe(one));
}

export function mount(root, lab) {
    const sections = NAMES.map((name, i) => section(lab, name, i));
    const wanted = lab.state.get("step", "");
    let current = "", hasMoved = NAMES.includes(wanted); /* otherwise the address names no step at first */
    const goTo = (name) => {
        hasMoved = true;
        const index = NAMES.indexOf(name), target = sections[index];
        sections.slice(0, index + 1).forEach(startFigures); /* so that the text does not move afterwards */
        target.scrollIntoView({ block: "start" });
        target.querySelector("h2").focus({ preventScroll: true });
    };
    const { element: list, mark } = navigator(lab, goTo);
    root.append(
        h("header", { class: "opening" }, h("h1", {}, lab.t("heading")), h("p", { class: "lead" }, lab.t("lead"))),
        h("div", { class: "essay" }, list, h("div", { class: "text" }, sections)));

    /* The page scrolls to its top when it has drawn a panel. */
    if (NAMES.includes(wanted)) requestAnimationFrame(() => goTo(wanted));
    followReading(sections, (name) => {
        if (name === current) return;
        current = name;
        mark(name);
        if (hasMoved) lab.state.set({ step: name });
        hasMoved = true;
    });
}
