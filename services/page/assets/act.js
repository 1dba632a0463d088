// Controls of a running rack. They make the same calls as the command line.

import { h, mark, toast } from "./dom.js";
import { call } from "./api.js";
import * as format from "./format.js";

// apply requests a change at the earliest instant and shows when it takes effect, or that it is
// refused. inputs are those of the change's fields.
export async function apply(change, what, inputs = {}) {
  refuse({}, inputs);
  try {
    const out = await call("Apply", { change });
    const at = Number(out.change?.atPs ?? 0), name = out.change?.change?.burst?.name;
    toast(`${name ?? what} at ${format.instant(at)}`);
  } catch (e) {
    const rest = refuse(e.fields ?? {}, inputs);
    if (rest.length || !Object.keys(e.fields ?? {}).length) toast(rest.join("; ") || e.message, true);
  }
}

const formOf = (input) => input.closest(".act, .setting");

// refuse marks the inputs of invalid fields {path: why}, says why below them, and returns the
// errors of fields without an input. inputs are by the path of a field in the change, "set".
function refuse(fields, inputs) {
  for (const input of new Set(Object.values(inputs))) {
    mark(input, "aria-invalid", null);
    formOf(input).querySelector(".refused")?.remove();
  }
  const rest = [], said = new Map(); // said: by the form
  for (const [field, why] of Object.entries(fields)) {
    const path = field.replace(/^change\./, ""), input = inputs[path] ?? inputs[path.split(".")[0]];
    if (!input) {
      rest.push(`${path.replaceAll("_", " ")}: ${why}`);
      continue;
    }
    mark(input, "aria-invalid", true);
    const form = formOf(input), text = `${input.getAttribute("aria-label") ?? input.closest(".field").querySelector("span").textContent}: ${why}`;
    said.set(form, [...(said.get(form) ?? []), text]);
  }
  for (const [form, texts] of said) form.append(h("p", { class: "refused", role: "alert", text: texts.join("; ") }));
  return rest;
}

const field = (label, input) => h("label", { class: "field" }, h("span", { text: label }), input);

export class Act {
  constructor(box) {
    this.box = box;
    this.box.append(h("p", { class: "hint", text: "Waiting for a rack." }));
  }

  // show builds the controls, or shows the obstacle to them.
  show(model, obstacle) {
    if (obstacle) {
      this.box.replaceChildren(h("p", { class: "hint", text: obstacle }));
      return;
    }
    this.box.replaceChildren(this.burst(model), this.links(model), this.threshold(model), this.scheme(model));
  }

  burst(model) {
    const guess = likely(model);
    const from = h("input", { id: "burst-from", value: guess.from, size: 12, autocomplete: "off" });
    const to = h("input", { id: "burst-to", value: guess.to, size: 5, autocomplete: "off", list: "nics" });
    const flows = h("input", { id: "burst-flows", value: 16, type: "number", min: 1, max: 65536 });
    const size = h("input", { id: "burst-size", value: "64KB", size: 6, autocomplete: "off" });
    const nics = h("datalist", { id: "nics" }, model.nodes.filter((n) => n.nic).map((n) => h("option", { value: n.name })));
    const inputs = { "burst.from": from, "burst.to": to, "burst.flows_per_sender": flows, "burst.size_bytes": size };
    const send = (e) => {
      e.preventDefault();
      let volume;
      try {
        volume = size.value.trim() === "endless" ? { endless: true } : { sizeBytes: String(format.readBytes(size.value)) };
      } catch (error) {
        refuse({ "burst.size_bytes": error.message }, inputs);
        return;
      }
      apply({ burst: { from: from.value, to: to.value, flowsPerSender: Number(flows.value), ...volume } }, "burst", inputs);
    };
    return h("form", { class: "act burst", onsubmit: send },
      h("div", { class: "fields" }, field("From", from), field("To", to), field("Flows", flows), field("Size", size)),
      nics, h("button", { class: "main", id: "burst", text: "Inject burst" }));
  }

  links(model) {
    const link = h("select", { id: "link" }, model.links.map((l) => h("option", { text: l.name })));
    const trunk = model.links.find((l) => !model.nodes[l.a].nic && !model.nodes[l.b].nic);
    if (trunk) link.value = trunk.name;
    const go = (verb, what) => () => apply({ [verb]: link.value }, `${link.value} ${what}`, { link_down: link, link_up: link });
    return h("div", { class: "act row" }, field("Link", link),
      h("button", { id: "link-down", onclick: go("linkDown", "down"), text: "Down" }), h("button", { id: "link-up", onclick: go("linkUp", "up"), text: "Up" }));
  }

  threshold(model) {
    const switches = model.nodes.filter((n) => !n.nic);
    const node = h("select", { id: "set-node" }, h("option", { text: "switches", value: "switch" }), switches.map((n) => h("option", { text: n.name, value: n.name })));
    const key = h("select", { id: "set-key" }, (switches[0]?.settings ?? []).map((v) => h("option", { text: v.key })));
    const value = h("input", { id: "set-value", size: 7, autocomplete: "off" });
    const present = () => {
      const n = switches.find((v) => v.name === node.value) ?? switches[0];
      value.value = n?.settings.find((v) => v.key === key.value)?.value ?? "";
    };
    node.addEventListener("change", present);
    key.addEventListener("change", present);
    present();
    const set = () => apply({ set: { key: `${node.value}.${key.value}`, value: value.value } }, `${node.value}.${key.value} = ${value.value}`, { set: value });
    return h("div", { class: "act row" }, field("Threshold", node), field("Key", key), field("Value", value), h("button", { id: "set", onclick: set, text: "Set" }));
  }

  scheme(model) {
    if (!model.choices.length) return h("p", { class: "hint", text: `The scheme ${model.scheme} cannot be switched while the rack runs.` });
    const other = model.choices.includes(model.scheme) ? [] : [h("option", { text: model.scheme, disabled: true })];
    const name = h("select", { id: "scheme" }, other, model.choices.map((v) => h("option", { text: v })));
    name.value = model.scheme;
    return h("div", { class: "act row" }, field("Scheme of all flows", name),
      h("button", { id: "switch-scheme", onclick: () => apply({ scheme: { name: name.value } }, `scheme ${name.value}`, { scheme: name }), text: "Switch" }));
  }
}

// likely suggests an incast: from the NICs without single flows to the receiver of the
// last single flow.
function likely(model) {
  const single = [...model.flows.values()].filter((f) => !f.burst);
  const used = new Set(single.flatMap((f) => [f.from, f.to]));
  const nics = model.nodes.filter((n) => n.nic);
  const to = single.length ? model.nodes[single.at(-1).to] : nics.at(-1);
  let from = nics.filter((n) => !used.has(n.index));
  if (!from.length) from = nics.filter((n) => !single.some((f) => f.to === n.index));
  if (!from.length) from = nics;
  from = from.filter((n) => n !== to);
  return { from: format.ranges(from.map((n) => n.name)), to: to?.name ?? "" };
}
