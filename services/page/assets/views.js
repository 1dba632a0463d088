// The four views and their tabs.

import { byId, mark } from "./dom.js";
import * as address from "./address.js";

const views = {};
const modules = { compare: "./compare.js", traces: "./traces.js", table: "./table.js" };

// view shows one of the four views, and returns the module of a view other than the rack.
// It loads the module on first use.
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
    return;
  }
  views[name] ??= import(modules[name]).then((m) => {
    m.start(byId(`view-${name}`), app);
    return m;
  });
  const module = await views[name];
  module.shown();
  return module;
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
