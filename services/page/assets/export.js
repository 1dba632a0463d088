// Downloads: CSV, JSON, and pictures as SVG and PNG with title, facts and legend.

import { h, s, toast } from "./dom.js";

function download(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const cell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

// csv encodes rows, the first of which is the header.
const csv = (rows) => rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";

export const saveCSV = (name, rows) => download(`${name}.csv`, "text/csv", csv(rows));

export const saveJSON = (name, value) => download(`${name}.json`, "application/json", JSON.stringify(value, null, 1));

const inherited = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline"];
const own = { opacity: "1", display: "inline" };

// frozen returns a copy of a drawing in the document, with its computed styles as
// attributes where they differ from those of the parent. Other programs do not know
// transparent colours: they become none.
function frozen(svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element), above = i ? getComputedStyle(element.parentElement) : null;
    const set = (key, value) => to[i].setAttribute(key, value === "rgba(0, 0, 0, 0)" ? "none" : value);
    for (const key of inherited) if (style.getPropertyValue(key) !== above?.getPropertyValue(key)) set(key, style.getPropertyValue(key));
    for (const [key, plain] of Object.entries(own)) if (style.getPropertyValue(key) !== plain) set(key, style.getPropertyValue(key));
    for (const key of ["class", "tabindex", "role", "style"]) to[i].removeAttribute(key);
  });
  copy.removeAttribute("display"); // block, in the document
  from.forEach((element, i) => element.matches(".hit, .under") && to[i].remove()); // for the pointer only
  return copy;
}

const pad = 20, gap = 22, line = 18;

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// sizeOf returns the size of a drawing, in pixels.
function sizeOf(svg) {
  const { width, height } = svg.viewBox.baseVal ?? {};
  return width ? { width, height } : svg.getBoundingClientRect();
}

// compose returns a picture: {title, facts: [text], rows: [{title, cells: [{title, svg}],
// keys: [[mark, name]]}]}. The cells of a row are side by side; keys are its legend.
function compose(p) {
  const font = getComputedStyle(document.body).fontFamily, pen = document.createElement("canvas").getContext("2d");
  const wide = (text, size) => ((pen.font = `${size}px ${font}`), pen.measureText(text).width);
  const widths = p.rows.map((r) => r.cells.reduce((n, c) => n + sizeOf(c.svg).width + gap, -gap));
  const width = Math.ceil(Math.max(...widths, 320, Math.min(wide(p.title, 17), 900)) + 2 * pad);
  const parts = [];
  let y = pad + 14;
  const text = (x, at, content, size, bold, fill) => parts.push(s("text", { x, y: at, "font-family": font, "font-size": `${size}px`, "font-weight": bold ? 600 : 400, fill: color(fill), text: content }));
  text(pad, y, p.title, 17, true, "--ink");
  for (const fact of p.facts) text(pad, (y += line), fact, 12, false, "--soft");
  for (const r of p.rows) {
    if (r.title) text(pad, (y += line + 10), r.title, 13, true, "--ink");
    let x = pad, tall = 0;
    y += 12;
    for (const c of r.cells) {
      const size = sizeOf(c.svg), drawn = frozen(c.svg), below = c.title ? line : 0;
      if (c.title) text(x, y + 10, c.title, 12, true, "--soft");
      for (const [key, value] of Object.entries({ x, y: y + below, width: size.width, height: size.height, overflow: "visible" })) drawn.setAttribute(key, value);
      parts.push(drawn);
      tall = Math.max(tall, size.height + below);
      x += size.width + gap;
    }
    y += tall;
    x = pad;
    if (r.keys?.length) y += 18;
    for (const [mark, name] of r.keys ?? []) {
      const w = sizeOf(mark).width + 6 + wide(name, 12) + 16;
      if (x + w > width - pad && x > pad) [x, y] = [pad, y + line];
      const drawn = frozen(mark);
      for (const [key, value] of Object.entries({ x, y: y - 9 })) drawn.setAttribute(key, value);
      parts.push(drawn);
      text(x + sizeOf(mark).width + 6, y, name, 12, false, "--ink");
      x += w;
    }
  }
  const height = Math.ceil(y + pad);
  return { width, height, svg: s("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height },
    s("title", { text: p.title }), s("desc", { text: p.facts.join("\n") }), s("rect", { width, height, fill: color("--card") }), parts) };
}

// placed runs f while the marks of legends are in the document, where they have styles.
function placed(p, f) {
  const host = h("div", { class: "offscreen", "aria-hidden": "true" }, p.rows.flatMap((r) => (r.keys ?? []).map((k) => k[0]).filter((mark) => !mark.isConnected)));
  document.body.append(host);
  try {
    return f();
  } finally {
    host.remove();
  }
}

function saveSVG(name, p) {
  download(`${name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(placed(p, () => compose(p)).svg));
}

const largest = 8192; // pixels of a PNG

async function savePNG(name, p) {
  const { svg, width, height } = placed(p, () => compose(p));
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const by = Math.min(2, largest / Math.max(width, height)), canvas = h("canvas", { width: Math.round(width * by), height: Math.round(height * by) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const data = await new Promise((done) => canvas.toBlob(done, "image/png"));
    if (!data) throw new Error("the browser cannot draw this picture as PNG: save it as SVG");
    download(`${name}.png`, "image/png", data);
  } finally {
    URL.revokeObjectURL(url);
  }
}

// pictureButtons returns the buttons that save the picture which read() returns.
export const pictureButtons = (name, read) => [["PNG", savePNG], ["SVG", saveSVG]].map(([text, save]) =>
  h("button", { class: "quiet", type: "button", text, title: `Save as ${text} with legend, time and scenario`, onclick: () => Promise.resolve().then(() => save(name(), read())).catch((e) => toast(e.message, true)) }));
