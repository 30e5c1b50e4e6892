/* dom.js - elements from JavaScript
 *
 *     h("label", { class: "field", onclick: run }, "Keys ", h("input", { type: "number", value: 3 }))
 *
 * Properties that begin with "on" are listeners; null, undefined and false leave an attribute out.
 * Children are nodes, text, numbers, arrays of them, or nothing. */

const SVG = "http://www.w3.org/2000/svg";

const present = (children) =>
    children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

function fill(element, properties, children) {
    for (const [name, value] of Object.entries(properties ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "value" || name === "checked") element[name] = value;
        else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...present(children));
    return element;
}

/** An HTML element. */
export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

/** An SVG element. */
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

/** Replaces what an element contains. */
export function show(element, ...children) {
    element.replaceChildren(...present(children));
    return element;
}

/** Calls at most once in `milliseconds`, after the last request. */
export function debounce(call, milliseconds) {
    let timer = 0;
    return (...values) => {
        clearTimeout(timer);
        timer = setTimeout(() => call(...values), milliseconds);
    };
}

/** Lets the page draw before work goes on. */
export const nextFrame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

/** Copies text to the clipboard; a page from a file may have no `navigator.clipboard`. */
export async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const area = h("textarea", { class: "hidden", value: text });
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
}
