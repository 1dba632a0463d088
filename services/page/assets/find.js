// The search for a node, a link or a flow by name.

import { h } from "./dom.js";

const most = 8; // results that are listed

// matches returns the nodes, links and flows whose names fit a text, the best first: the
// name itself, then names that begin with it, then names that contain it.
export function matches(model, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const all = [
    ...model.nodes.map((n) => ({ name: n.name, kind: n.nic ? "NIC" : "switch", what: { kind: "node", node: n.index } })),
    ...[...model.flows.keys()].map((name) => ({ name, kind: "flow", what: { kind: "flow", name } })),
    ...model.lanes.map((l) => ({ name: l.id, kind: "link", what: { kind: "lane", lane: l.index } })),
  ];
  const rank = (name) => (name === wanted ? 0 : name.startsWith(wanted) ? 1 : 2);
  return all.filter((v) => v.name.toLowerCase().includes(wanted)).map((v) => ({ ...v, rank: rank(v.name.toLowerCase()) })).sort((a, b) => a.rank - b.rank || a.name.length - b.name.length);
}

export class Find {
  // choose is called with the selection that was found.
  constructor(model, choose) {
    Object.assign(this, { model, choose, at: 0 });
    this.input = h("input", { id: "find", type: "search", placeholder: "Find a node, link or flow", "aria-label": "Find a node, link or flow", autocomplete: "off", role: "combobox", "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list" });
    this.list = h("ul", { id: "found", class: "found", role: "listbox", "aria-label": "Found", hidden: true });
    this.box = h("div", { class: "find" }, this.input, this.list);
    this.input.addEventListener("input", () => this.show(0));
    this.input.addEventListener("focus", () => this.show(0));
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("keydown", (e) => this.key(e));
  }

  show(at) {
    const model = this.model(), all = model ? matches(model, this.input.value) : [];
    this.found = all.slice(0, most);
    this.at = Math.max(0, Math.min(at, this.found.length - 1));
    const empty = this.input.value.trim() && !all.length;
    this.list.replaceChildren(...this.found.map((v, i) => h("li", { role: "option", id: `found-${i}`, "aria-selected": String(i === this.at), onpointerdown: (e) => {
      e.preventDefault();
      this.take(v);
    } }, v.name, h("span", { text: v.kind }))), all.length > most ? h("li", { class: "rest", text: `and ${all.length - most} more` }) : "", empty ? h("li", { class: "rest", text: "Nothing has this name" }) : "");
    this.list.hidden = !this.found.length && !empty;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    if (this.found.length) this.input.setAttribute("aria-activedescendant", `found-${this.at}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  key(e) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by) {
      e.preventDefault();
      this.show(this.at + by);
    } else if (e.key === "Enter" && this.found?.length) this.take(this.found[this.at]);
    else if (e.key === "Escape") this.input.blur();
  }

  take(found) {
    this.close();
    this.choose(found.what);
    this.input.select();
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }
}
