// The four views and their tabs.

import { h, byId, mark, notice, toast } from "./dom.js";
import * as api from "./api.js";
import * as address from "./address.js";

const views = {};
const modules = { compare: "./compare.js", traces: "./traces.js", table: "./table.js" };

// view shows one of the four views, and returns the module of a view other than the rack,
// which it loads on first use, or null if the module cannot be loaded.
export async function view(name, app) {
  address.write({ tab: name === "rack" ? null : name });
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const on = tab.id === `tab-${name}`;
    mark(tab, "aria-selected", on);
    mark(tab, "tabindex", on ? null : -1);
    byId(tab.getAttribute("aria-controls")).hidden = !on;
  }
  if (!modules[name]) {
    app.refresh();
    return null;
  }
  const module = await load(name, app);
  module?.shown();
  return module;
}

// load returns the module of a view. If it cannot be loaded, load shows a notice instead of
// the view and returns null; the next call tries again.
async function load(name, app) {
  const box = byId(`view-${name}`);
  views[name] ??= import(modules[name]).then((m) => {
    box.replaceChildren();
    m.start(box, app);
    return m;
  });
  try {
    return await views[name];
  } catch (e) {
    delete views[name];
    box.replaceChildren(notice({ title: "This view cannot be loaded", text: `${e.message}. If the server of this page has ended, start it again, and press Try again:`, commands: ["rackfab up", "rackfab page"], actions: [h("button", { text: "Try again", onclick: reload })] }));
    return null;
  }
}

// reload loads the page again, which restores the view, once the server answers. Some browsers
// do not fetch a module again whose first fetch has failed.
async function reload() {
  try {
    await api.open();
  } catch (e) {
    toast(`The server does not answer: ${e.message}`, true);
    return;
  }
  address.settle();
  location.reload();
}

// known reports whether a view other than the rack has a name.
export const known = (name) => name in modules;

// tabs makes the tabs choose views, also by arrow keys.
export function tabs(app) {
  const list = [...document.querySelectorAll("[role=tab]")];
  for (const [i, tab] of list.entries()) {
    tab.addEventListener("click", () => view(tab.id.slice(4), app));
    tab.addEventListener("keydown", (e) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!by) return;
      const next = list[(i + by + list.length) % list.length];
      next.focus();
      next.click();
    });
  }
}
