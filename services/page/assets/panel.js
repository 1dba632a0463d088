// The panel of the selection with its series, the list of flows, and the tiles.

import { h, s, byId, mark, put } from "./dom.js";
import * as format from "./format.js";
import { chart, key } from "./chart.js";
import { apply } from "./act.js";
import { pictureButtons, saveCSV } from "./export.js";
import { rackMarks } from "./marks.js";
import { Series } from "./series.js";
import { schemeOf } from "./share.js";
import { explain, ratesOf } from "./explain.js";

const title = (model, what) => {
  if (what.kind === "lane") return `Link ${model.lanes[what.lane].id.replace("->", " → ")}`;
  if (what.kind === "flow") return `Flow ${what.name}`;
  const n = model.nodes[what.node];
  return `${n.nic ? "NIC" : "Switch"} ${n.name}`;
};

export class Panel {
  constructor(box, app) {
    this.box = box;
    this.app = app;
    this.charts = [];
  }

  // show builds the panel of a selection; draw fills in its charts.
  show(what) {
    this.what = what;
    const { model } = this.app;
    this.series = what && model ? new Series(model, what) : null;
    if (!this.series) {
      this.charts = [];
      this.box.replaceChildren(h("p", { class: "hint", text: "Select a link, a node or a flow to see its series." }));
      return;
    }
    this.facts = h("p", { class: "facts" });
    this.words = h("div", { class: "words" });
    this.body = h("div", { class: "charts" });
    this.charts = [];
    this.box.replaceChildren(
      h("div", { class: "row-title" }, h("h3", { text: title(model, what) }),
        h("button", { class: "quiet", onclick: () => this.saveCSV(), text: "CSV" }), pictureButtons(() => this.fileName(), () => this.picture())),
      this.facts, this.words, this.actions(model, what), this.body, h("div", { id: "slow" }));
    this.draw();
  }

  actions(model, what) {
    const box = h("div", { class: "act row" });
    if (this.app.messages()) {
      const q = what.kind === "flow" ? { flow: what.name } : what.kind === "node" ? { node: model.nodes[what.node].name } : { node: model.nodes[model.lanes[what.lane].from].name };
      const part = () => (this.app.span.part ? { fromPs: Math.round(this.app.span.from), toPs: Math.round(this.app.span.to) } : {});
      box.append(h("button", { id: "open-traces", onclick: () => this.app.traces({ ...q, ...part() }), text: "Slowest messages" }));
    }
    if (!this.app.able()) return box;
    if (what.kind === "lane") {
      const name = model.links[model.lanes[what.lane].link].name;
      box.append(h("button", { onclick: () => apply({ linkDown: name }, `${name} down`), text: "Link down" }), h("button", { onclick: () => apply({ linkUp: name }, `${name} up`), text: "Link up" }));
    } else if (what.kind === "node") {
      const n = model.nodes[what.node];
      if (n.nic) box.append(h("button", { onclick: () => apply({ freeze: n.name }, `${n.name} frozen`), text: "Freeze" }), h("button", { onclick: () => apply({ thaw: n.name }, `${n.name} thawed`), text: "Thaw" }));
      box.append(settings(n));
    } else box.append(h("button", { onclick: () => apply({ stopFlow: model.flows.get(what.name)?.burst || what.name }, `${what.name} stopped`), text: "Stop" }));
    return box;
  }

  draw() {
    const { what, app } = this, { model, history, snap } = app;
    if (!this.series || !snap) return;
    this.facts.textContent = facts(model, snap, what, app.victims);
    put(this.words, explain(app, what.kind === "lane" ? { kind: "link", lanes: [[what.lane]] } : what).join(".\n"));
    const list = this.series.over(history).concat(app.far());
    const width = Math.max(this.body.clientWidth, 200);
    while (this.charts.length > list.length) this.charts.pop().svg.parentElement.remove();
    while (this.charts.length < list.length) {
      const one = { head: h("figcaption"), svg: s("svg", { class: "chart" }) };
      this.body.append(h("figure", {}, one.head, one.svg));
      this.charts.push(one);
    }
    list.forEach((c, i) => {
      const one = this.charts[i], head = JSON.stringify([c.name, c.lines.map((l) => l.name)]);
      if (one.said !== head) {
        one.head.replaceChildren(c.name, c.lines.length > 1 ? h("span", { class: "keys" }, key(c.lines).map(([line, name]) => h("span", {}, line, name))) : "");
        one.said = head;
      }
      chart(one.svg, c.lines, {
        width, height: 96, from: app.span.from, to: app.span.to, show: c.show, bins: c.bins, cursor: snap.at, label: c.name,
        onpick: (t, e) => app.pick(t, what, e), span: app.span,
      });
    });
    this.list = list;
  }

  saveCSV() {
    const rows = [["series", "line", "at_ps", "value"]];
    for (const c of this.list ?? []) for (const l of c.lines) for (const [t, v] of l.points) rows.push([c.name, l.name, t, v]);
    saveCSV(this.fileName(), rows);
  }

  fileName() { return `rackfab-${title(this.app.model, this.what).replaceAll(/[^\w]+/g, "-")}`; }

  // picture returns the charts with their legends, the span, the instant, scenario and scheme.
  picture() {
    const { model, snap, span } = this.app;
    return {
      title: `${model.scenario} · ${schemeOf(this.app)} · ${title(model, this.what)}`, facts: [`${format.instant(span.from)} to ${format.instant(span.to)}; the line marks ${format.instant(snap.at)}`, this.facts.textContent],
      rows: this.charts.map((c, i) => ({ title: this.list[i].name, cells: [{ svg: c.svg }], keys: this.list[i].lines.length > 1 ? key(this.list[i].lines) : [] })),
    };
  }
}

export function facts(model, snap, what, victims) {
  if (what.kind === "lane") {
    const l = snap.lanes[what.lane], m = model.lanes[what.lane];
    return `${format.rate(m.rate)}, ${format.time(m.delay)}${l.calmLoad === null ? "" : ` · load ${format.share(l.calmLoad)}`}${l.queue === null ? "" : ` · queue ${format.bytes(l.queue)}`}${l.down ? " · down" : l.paused ? " · paused" : ""}${l.dropped ? ` · ${l.dropped} lost` : ""}`;
  }
  if (what.kind === "node") {
    const n = model.nodes[what.node];
    const queue = n.lanes.reduce((sum, l) => sum + snap.lanes[l].queue, 0);
    return `${n.lanes.length} ${n.lanes.length === 1 ? "port" : "ports"} · ${format.bytes(queue)} queued${entropies(snap.frame.nodes[what.node].e)}${snap.frozen[what.node] ? " · frozen" : ""}`;
  }
  const f = model.flows.get(what.name), now = snap.flows.find((v) => v.name === what.name);
  const way = f ? `${model.nodes[f.from].name} → ${model.nodes[f.to].name}` : "";
  return `${way}${now ? ` · ${ratesOf(now)}` : " · ended"}${victims.has(what.name) ? " · victim" : ""}`;
}

// entropies describes what a NIC did about the paths of its packets.
const entropies = (e) => (e ? ` · entropies: ${format.count(e[0])} skipped, ${format.count(e[1])} recycled, ${format.count(e[2])} ${e[2] === 1 ? "freeze" : "freezes"}` : "");

function settings(n) {
  const rows = n.settings.map((set) => {
    const value = h("input", { value: set.value, size: 8, "aria-label": `${n.name}.${set.key}`, autocomplete: "off" });
    return h("form", { class: "setting", onsubmit: (e) => {
      e.preventDefault();
      apply({ set: { key: `${n.name}.${set.key}`, value: value.value } }, `${n.name}.${set.key} = ${value.value}`, { set: value });
    } }, h("span", { text: set.key }), value, h("button", { text: "Set" }));
  });
  return rows.length ? h("details", { class: "settings" }, h("summary", { text: "Settings" }), rows) : "";
}

const shown = 40; // flows

// flows lists the active flows: single flows first, then those of bursts.
export function flows(box, app) {
  const { snap, model, victims, selected } = app;
  const list = [...snap.flows].sort((a, b) => a.name.split("/").length - b.name.split("/").length);
  const key = list.slice(0, shown).map((f) => f.name).join();
  if (box.dataset.key !== key) {
    box.dataset.key = key;
    box.replaceChildren(list.length ? h("ul", { class: "flows" }, list.slice(0, shown).map((f) => h("li", {}, h("button", { class: "flow", "data-flow": f.name, onclick: () => app.choose({ kind: "flow", name: f.name }) },
      h("span", { class: "flow-name" }), h("span", { class: "flow-bar" }, s("svg", { width: "100%", height: 6, preserveAspectRatio: "none", viewBox: "0 0 100 6" },
        s("rect", { class: "allowed", height: 6 }), s("rect", { class: "got", height: 6 }))), h("span", { class: "flow-rate" }))))) : h("p", { class: "hint", text: "No active flow." }),
      list.length > shown ? h("p", { class: "hint", text: `and ${list.length - shown} more` }) : "");
  }
  const buttons = box.querySelectorAll(".flow");
  list.slice(0, shown).forEach((f, i) => {
    const b = buttons[i], victim = victims.has(f.name), path = model.flows.get(f.name);
    const way = path && !path.burst ? ` ${model.nodes[path.from].name}→${model.nodes[path.to].name}` : "";
    put(b.children[0], `${f.name}${f.count > 1 ? ` ×${f.count}` : ""}`);
    mark(b.children[0], "data-way", way);
    put(b.children[2], format.rate(f.count > 1 ? f.sent : f.goodput));
    b.classList.toggle("is-victim", victim);
    b.classList.toggle("chosen", selected?.kind === "flow" && selected.name === f.name);
    const line = path ? model.lanes[model.nodes[path.from].lanes[0]].rate : 1;
    const [allowed, got] = b.querySelectorAll("rect");
    mark(allowed, "width", Math.min(100, (100 * f.rate) / line).toFixed(1));
    mark(got, "width", Math.min(100, (100 * (f.count > 1 ? f.sent : f.goodput)) / line).toFixed(1));
  });
}

// tiles summarises the rack in four figures.
export function tiles(box, app) {
  const { model, snap, trees, victims } = app;
  let pauses = 0, queue = 0, where = "", paused = 0;
  snap.lanes.forEach((l, i) => {
    pauses += l.calmPauseRate;
    paused += l.paused ? 1 : 0;
    if (l.queue > queue) [queue, where] = [l.queue, model.lanes[i].id.replace("->", " → ")];
  });
  const names = [...victims.keys()];
  const deepest = Math.max(0, ...trees.map((t) => t.depth));
  const list = [
    ["PAUSE", `${format.count(pauses)}/ms`, paused ? `${paused} ${paused === 1 ? "link" : "links"} paused now` : "no link paused now", paused > 0],
    ["Congestion tree", deepest ? `${deepest} ${deepest === 1 ? "hop" : "hops"}` : "none", trees.length && trees[0].port >= 0 ? `from ${model.lanes[trees[0].port].id.replace("->", " → ")}` : trees.some((t) => t.cycle) ? "PFC deadlock (cyclic pause)" : "", deepest > 1],
    ["Longest queue", format.bytes(queue), queue ? where : "", false],
    ["Victims", names.length ? names.slice(0, 2).join(", ") + (names.length > 2 ? ` +${names.length - 2}` : "") : "none", names.length ? "paused by congestion elsewhere" : "", names.length > 0],
  ];
  if (box.children.length !== list.length) box.replaceChildren(...list.map(([name]) => h("div", { class: "tile" }, h("dt", { text: name }), h("dd", {}), h("dd", { class: "sub" }))));
  list.forEach(([, value, sub, loud], i) => {
    const t = box.children[i];
    if (t.children[1].textContent !== value) t.children[1].textContent = value;
    if (t.children[2].textContent !== sub) t.children[2].textContent = sub;
    t.classList.toggle("loud", Boolean(loud));
  });
  slowest(box.lastElementChild, app, names);
}

// slowest adds a button to the tile of victims that opens the slowest message of the last
// victim. It stays when the flow is a victim no longer, because its messages complete later.
function slowest(tile, app, names) {
  const flow = app.victim = names.find((n) => !app.model.flows.get(n)?.burst) ?? app.victim;
  let button = tile.querySelector("button");
  if (!flow || !app.messages() || !app.model.flows.has(flow)) {
    button?.remove();
    return;
  }
  if (!button) tile.append(button = h("button", { class: "quiet", id: "victim-slowest", onclick: () => app.slowest(app.victim) }));
  put(button, "Slowest message");
  mark(button, "title", `Slowest message of ${flow}`);
}

export const legend = () => byId("legend").replaceChildren(...rackMarks().map(([mark, name]) => h("li", {}, mark, name)));
