// The marks of the drawing of a rack, for legends.

import { s } from "./dom.js";

const mark = (...shapes) => s("svg", { class: "key", width: 30, height: 10, viewBox: "0 0 30 10", "aria-hidden": "true" }, shapes);

// rackMarks returns the marks of a rack's drawing: [drawing, name].
export const rackMarks = () => [
  [mark(...[0, 2, 4, 6, 8, 10].map((q, i) => s("path", { class: "lane", "data-q": q, d: `M${i * 5} 5h5`, "stroke-width": 8 }))), "load"],
  [mark(s("path", { class: "lane", "data-q": 5, d: "M1 5h12", "stroke-width": 2 }), s("path", { class: "lane", "data-q": 5, d: "M17 5h12", "stroke-width": 6 })), "rate"],
  [mark(s("rect", { class: "slot", x: 1, y: 1, width: 28, height: 8 }), s("rect", { class: "queue", x: 1, y: 1, width: 17, height: 8 })), "queue"],
  [mark(s("path", { class: "lane", "data-state": "paused", d: "M1 5h28", "stroke-width": 3 }),
    s("g", { class: "arrows shown" }, s("path", { d: "M12 1.500L8 5l4 3.500M21 1.500L17 5l4 3.500" }))), "PAUSE"],
  [mark(s("path", { class: "halo shown", d: "M5 5h20", "stroke-width": 10 })), "tree"],
  [mark(s("path", { class: "victim", d: "M1 5h28" })), "victim"],
  [mark(s("path", { class: "lane", "data-state": "down", d: "M1 5h28", "stroke-width": 3 }), s("g", { class: "cut" }, s("path", { d: "M11.500 1.500L18.500 8.500M11.500 8.500L18.500 1.500" }))), "cut link"],
];
