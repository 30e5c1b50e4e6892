/* main.js - starts the page: the module, the language, the theme, the panels
 *
 * The address after "#" is the state: the panel, and what the panel keeps (#plan?n=1000000&p=0.01). */
import { bind } from "../npm/tamis.js";
import { hasSimd } from "../npm/load.js";
import portable from "tamis.wasm";
import withSimd from "tamis-simd.wasm";
import { h, show } from "./dom.js";
import * as format from "./format.js";
import * as shell from "./shell.text.js";
import * as learn from "./panels/learn.js";
import * as plan from "./panels/plan.js";
import * as watch from "./panels/watch.js";
import * as open from "./panels/open.js";
import * as race from "./panels/race.js";

const PANELS = { learn, plan, watch, open, race };
const LANGUAGES = { en: "English", zh: "中文" };

const stored = (name) => {
    try {
        return localStorage.getItem(name);
    } catch {
        return null; /* a page from a file may not have storage */
    }
};
const store = (name, value) => {
    try {
        localStorage.setItem(name, value);
    } catch {
        /* the choice lasts as long as the page */
    }
};

let language = stored("tamis-language");
if (!Object.hasOwn(LANGUAGES, language ?? "")) language = navigator.language.startsWith("zh") ? "zh" : "en";

/* ---- the state in the address */

function readName() {
    const [name] = location.hash.slice(1).split("?");
    return Object.hasOwn(PANELS, name) ? name : "learn";
}

function readAddress() {
    const parameters = new URLSearchParams(location.hash.split("?")[1] ?? "");
    if (Object.hasOwn(LANGUAGES, parameters.get("lang"))) language = parameters.get("lang");
    parameters.delete("lang"); /* chosen once: the button may choose another */
    return { panel: readName(), parameters };
}

/* What each panel last had in the address: its tab returns to it. */
const remembered = {};

const addressOf = (panel, parameters) => {
    const query = parameters.toString();
    return `#${panel}${query === "" ? "" : `?${query}`}`;
};

/* A panel that was left may still finish something: that does not change the address. */
function writeAddress(panel, parameters) {
    if (readName() !== panel) return;
    remembered[panel] = addressOf(panel, parameters);
    history.replaceState(null, "", remembered[panel]);
    document.getElementById(`tab-${panel}`)?.setAttribute("href", remembered[panel]);
}

/* What a panel remembers: text by name. */
function stateOf(panel, parameters) {
    return {
        get: (name, otherwise) => parameters.get(name) ?? otherwise,
        set(values) {
            for (const [name, value] of Object.entries(values)) {
                if (value === undefined || value === null || value === "") parameters.delete(name);
                else parameters.set(name, value);
            }
            writeAddress(panel, parameters);
        },
    };
}

/* ---- text */

/* The text of a panel in the language of the page; a function receives the values. */
const translator = (texts) => (name, ...values) => {
    const text = texts[language][name];
    if (text === undefined) throw new Error(`no text is named '${name}' (${language})`);
    return typeof text === "function" ? text(...values) : text;
};

/* ---- the page */

function announce(text) {
    document.getElementById("announcement").textContent = text;
}

function navigation(t, current) {
    return Object.keys(PANELS).map((name) =>
        h("a", {
            href: remembered[name] ?? `#${name}`, "aria-current": name === current ? "page" : null, id: `tab-${name}`,
        }, t(name)));
}

function draw(tamis) {
    const { panel, parameters } = readAddress();
    const t = translator(shell);
    remembered[panel] = addressOf(panel, parameters);
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    document.title = `${t(panel)} · tamis`;
    document.querySelector(".skip").textContent = t("skip");
    document.getElementById("navigation").setAttribute("aria-label", t("panels"));
    show(document.getElementById("navigation"), navigation(t, panel));
    show(document.getElementById("controls"), languageButton(tamis, t), themeButton());
    const root = h("section", { class: `panel ${panel}`, "aria-labelledby": `tab-${panel}` });
    show(document.getElementById("main"), root);
    show(document.getElementById("foot"), t("foot", tamis.version));
    PANELS[panel].mount(root, {
        tamis, format, announce, language,
        t: translator(PANELS[panel].text),
        state: stateOf(panel, parameters),
        go: (address) => {
            location.hash = address;
        },
    });
}

function languageButton(tamis, t) {
    const other = language === "en" ? "zh" : "en";
    return h("button", {
        type: "button", class: "plain", lang: other === "zh" ? "zh-CN" : "en", id: "language",
        onclick: () => {
            const { panel, parameters } = readAddress();
            language = other;
            store("tamis-language", language);
            writeAddress(panel, parameters);
            draw(tamis);
            document.getElementById("language").focus(); /* the new button, in place of this one */
        },
    }, LANGUAGES[other]);
}

/* ---- the theme: the reader's choice, or the system's */

const systemTheme = matchMedia("(prefers-color-scheme: dark)");
let theme = stored("tamis-theme");

/* The button names the other theme. */
const otherTheme = () => (document.documentElement.dataset.theme === "dark" ? "light" : "dark");
const themeLabel = () => translator(shell)(otherTheme());

function applyTheme() {
    const isDark = theme === null ? systemTheme.matches : theme === "dark";
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    const button = document.getElementById("theme");
    if (button !== null) button.textContent = themeLabel();
    /* What is painted on a canvas has the colours of the theme: a panel's root receives "theme". */
    document.querySelector(".panel")?.dispatchEvent(new Event("theme"));
}

function themeButton() {
    return h("button", {
        type: "button", class: "plain", id: "theme",
        onclick: () => {
            theme = otherTheme();
            store("tamis-theme", theme);
            applyTheme();
        },
    }, themeLabel());
}

async function start() {
    applyTheme();
    systemTheme.addEventListener("change", applyTheme);
    const tamis = bind(await WebAssembly.compile(hasSimd() ? withSimd : portable));
    addEventListener("hashchange", () => {
        draw(tamis);
        document.getElementById("main").focus({ preventScroll: true });
        scrollTo(0, 0);
    });
    draw(tamis);
    document.documentElement.dataset.ready = "true"; /* the tests wait for it */
}

start().catch((error) => {
    show(document.getElementById("main"), h("p", { class: "error", role: "alert" }, `tamis: ${error.message}`));
});
