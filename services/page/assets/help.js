// Keys, and the overlay that lists them.

import { h } from "./dom.js";

const typing = "input:not([type=range]), select, textarea, [contenteditable]";

export class Help {
  constructor({ app, rack, time, find }) {
    const { view } = rack, { span } = app;
    // The keys: the key, what it does, and the words for both.
    this.keys = [
      ["Rack", [
        ["+", "zoom in", () => view.zoom(1.5)], ["-", "zoom out", () => view.zoom(1 / 1.5)], ["0", "show the whole rack", () => view.fit()],
        ["o", "open or collapse all leaves", () => rack.foldable && rack.toggleAll()], ["/", "find a node, link or flow", () => find.input.focus()],
      ]],
      ["Time", [
        [" ", "pause and resume", () => time.turn(), "Space"], [",", "previous frame", () => app.go(app.index - 1)], [".", "next frame, or one step", () => time.forward()],
        ["f", "fit the latest burst, then the ones before", () => span.fit()], ["w", "show the whole run", () => span.clear()], ["l", "live", () => app.stored || app.follow()],
      ]],
    ];
    this.dialog = h("dialog", { class: "help", "aria-labelledby": "help-title" }, h("div", { class: "row-title" }, h("h2", { id: "help-title", text: "Keys and pointer" }), h("button", { class: "quiet", onclick: () => this.dialog.close(), text: "Close" })),
      h("div", { class: "help-columns" }, this.keys.map(([name, list]) => h("section", {}, h("h3", { text: name }), this.list(list.map(([key, what, , shown]) => [shown ?? key, what])))),
        h("section", {}, h("h3", { text: "Drawing in focus" }), this.list([["Tab", "enter the drawing"], ["← ↑ → ↓", "move between nodes and links"], ["Enter", "select, or open a group"]])),
        h("section", {}, h("h3", { text: "Pointer" }), this.list([["Rack", "drag moves, wheel or pinch zooms, click selects"], ["Charts, strip", "drag selects a span, double click shows the whole run, Ctrl + wheel zooms, Shift + wheel moves, click goes to an instant"], ["Slider", "drag goes back and forth"], ["Shift + click", "in a chart: the slowest messages around that instant"]]))));
    this.dialog.addEventListener("click", (e) => {
      if (e.target === this.dialog) this.dialog.close();
    });
    document.body.append(this.dialog);
    document.getElementById("legend").after(h("button", { id: "help", class: "quiet", title: "Keys and pointer (?)", "aria-label": "Keys and pointer", onclick: () => this.dialog.showModal(), text: "?" }));
    document.addEventListener("keydown", (e) => this.press(e));
  }

  list(rows) { return h("dl", {}, rows.map(([key, what]) => [h("dt", {}, h("kbd", { text: key })), h("dd", { text: what })]).flat()); }

  press(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.(typing) || this.dialog.open) return;
    if (e.key === " " && e.target.closest("button, summary, [data-key], input")) return; // presses it
    if (document.getElementById("view-rack").hidden && e.key !== "?") return;
    const run = e.key === "?" ? () => this.dialog.showModal() : this.keys.flatMap(([, list]) => list).find(([key]) => key === e.key || (key === "+" && e.key === "="))?.[2];
    if (!run) return;
    e.preventDefault();
    run();
  }
}
