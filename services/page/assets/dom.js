// Elements of HTML and SVG by name, attributes and children.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "text") element.textContent = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((c) => c !== undefined && c !== null && c !== false));
  return element;
}

export const h = (name, attributes, ...children) => build(document.createElement(name), attributes, children);

export const s = (name, attributes, ...children) => build(document.createElementNS(SVG, name), attributes, children);

export const byId = (id) => document.getElementById(id);

// put sets the text of an element if it differs.
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// mark sets an attribute if it differs; null removes it.
export function mark(element, key, value) {
  if (value === null || value === false) {
    if (element.hasAttribute(key)) element.removeAttribute(key);
  } else if (element.getAttribute(key) !== String(value)) element.setAttribute(key, value);
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// notice builds a message in the place of missing content: {title, text, commands (to type
// in a terminal), more (text below them), actions (elements)}.
export const notice = ({ title, text, commands = [], more, actions = [] }) => h("div", { class: "notice" },
  h("p", { class: "notice-title", text: title }), text && h("p", { text }), commands.map((c) => h("p", {}, h("code", { text: c }))), more && h("p", { text: more }),
  actions.length > 0 && h("p", { class: "notice-actions" }, actions));

// toast shows a message for some seconds.
let hide;
export function toast(text, bad = false) {
  const box = byId("toast");
  box.textContent = text;
  box.classList.toggle("bad", bad);
  box.classList.add("shown");
  clearTimeout(hide);
  hide = setTimeout(() => box.classList.remove("shown"), bad ? 8000 : 3500);
}
