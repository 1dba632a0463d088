// Formatting and parsing of quantities. Times are in picoseconds, rates in bit/s.

const digits = (v) => (Math.abs(v) >= 100 ? v.toFixed(0) : Math.abs(v) >= 10 ? v.toFixed(1) : v.toFixed(2));

const scaled = (v, steps) => {
  const [size, unit] = steps.find(([size]) => Math.abs(v) >= size) ?? steps.at(-1);
  return `${trim(digits(v / size))} ${unit}`;
};

const trim = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

export const time = (ps) => scaled(ps, [[1e12, "s"], [1e9, "ms"], [1e6, "us"], [1e3, "ns"], [1, "ps"]]);

// instant formats with a fixed number of decimals, so that its width stays.
export const instant = (ps) => `${(ps / 1e9).toFixed(3)} ms`;

// tick formats an instant with the digits that a step needs, in the unit of the axis that
// ends at an instant.
export function tick(ps, step, end = ps) {
  const [size, unit] = end >= 1e12 ? [1e12, "s"] : end >= 1e9 ? [1e9, "ms"] : [1e6, "us"];
  const digits = Math.ceil(Math.log10(size / step) - 1e-9);
  return `${trim((ps / size).toFixed(Math.max(0, Math.min(digits, 6))))} ${unit}`;
}

// ticks returns round instants of an axis, [[ps, text]], so that each has room on w pixels.
export function ticks(from, to, w) {
  const least = (to - from) / Math.max(2, Math.min(Math.floor(w / 75), 6)), base = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((m) => m * base >= least * 0.999) * base, list = [];
  for (let k = Math.ceil(from / step); k * step <= to; k++) list.push([k * step, tick(k * step, step, to)]);
  return list;
}

export const rate = (bps) => (bps ? scaled(bps, [[1e12, "Tbit/s"], [1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]]) : "0");

export const bytes = (n) => (n ? scaled(n, [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]]) : "0");

export const count = (n) => (Math.abs(n) >= 1e4 ? scaled(n, [[1e9, "G"], [1e6, "M"], [1e3, "k"]]).replace(" ", "") : trim(digits(n)));

export const perMs = (n) => (n ? `${count(n)}/ms` : "0");

export const share = (v) => `${Math.round(v * 100)} %`;

export const pace = (ps) => (ps ? `${time(ps)}/s` : "free");

const spans = { ps: 1, ns: 1e3, us: 1e6, "µs": 1e6, ms: 1e9, s: 1e12 };
const sizes = { B: 1, KB: 1e3, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1 << 20, GiB: 2 ** 30 };

const read = (text, units, what) => {
  const m = /^\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ]+)\s*$/.exec(text);
  if (!m || !(m[2] in units)) throw new Error(`invalid value ${JSON.stringify(text)}: must be ${what}`);
  return Math.round(Number(m[1]) * units[m[2]]);
};

// readTime parses a time such as "100us" to picoseconds.
export const readTime = (text) => read(text, spans, "a time such as 100us");

// readBytes parses a size such as "64KB" to bytes.
export const readBytes = (text) => read(text, sizes, "a size such as 64KB");

// ranges shortens a list of names: h2..h15, h17.
export function ranges(names) {
  const parts = [];
  for (const name of names) {
    const m = /^(.*?)(\d+)$/.exec(name);
    const last = parts.at(-1);
    if (m && last && last.stem === m[1] && Number(m[2]) === last.to + 1) last.to++;
    else parts.push(m ? { stem: m[1], from: Number(m[2]), to: Number(m[2]) } : { name });
  }
  return parts.map((p) => p.name ?? (p.from === p.to ? `${p.stem}${p.from}` : `${p.stem}${p.from}..${p.stem}${p.to}`)).join(", ");
}
