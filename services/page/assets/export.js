// Downloads: CSV, JSON, SVG.

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
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

const styled = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "display"];

// saveSVG saves a drawing with its computed styles.
export function saveSVG(name, svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const key of styled) to[i].setAttribute(key, style.getPropertyValue(key));
    to[i].removeAttribute("class");
  });
  const box = svg.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", Math.round(box.width));
  copy.setAttribute("height", Math.round(box.height));
  download(`${name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(copy));
}
