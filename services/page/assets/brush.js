// A drag along a time axis that selects a span; a click that selects an instant; and the
// wheel, with Ctrl to zoom and across to move.

const still = 4; // pixels that a click may move
export const least = 2e6; // ps of the shortest span

// scaled returns [from, to] of a span whose length changes by a factor, around an instant that
// keeps its place.
export function scaled({ from, to }, by, around) {
  const share = (around - from) / (to - from || 1), wide = Math.max((to - from) * by, least);
  return [around - share * wide, around + (1 - share) * wide];
}

// within returns a span {from, to} moved into a range, or null if it would be all of it.
export function within(range, from, to) {
  const wide = Math.max(to - from, least);
  if (wide >= range.to - range.from) return null;
  const start = Math.max(range.from, Math.min(from, range.to - wide));
  return { from: start, to: start + wide };
}

// brush makes an element react. o.scale() returns {from, to, left, w}: the span of the axis
// in ps, and its place in pixels of the element; o.band(x0, x1) draws the selection, or
// removes it without arguments. o.span has set, zoom, move and clear; o.pick gets the
// instant of a click, and o.grab says whether a drag from a pixel scrubs instead.
export function brush(element, o) {
  let start = null, mode = "";
  const pixel = (e) => {
    const box = element.getBoundingClientRect(), { left, w } = o.scale(), unit = (element.viewBox?.baseVal.width || box.width) / box.width;
    return Math.max(left, Math.min((e.clientX - box.left) * unit, left + w));
  };
  const instant = (x) => {
    const { from, to, left, w } = o.scale();
    return from + ((x - left) / w) * (to - from);
  };
  element.addEventListener("pointerdown", (e) => {
    if (e.button > 0 || !o.scale()) return;
    start = pixel(e);
    mode = o.grab?.(start) ? "scrub" : "";
    element.setPointerCapture(e.pointerId);
  });
  element.addEventListener("pointermove", (e) => {
    if (start === null) return;
    const x = pixel(e);
    if (!mode && Math.abs(x - start) > still) mode = "select";
    if (mode === "scrub") o.pick(instant(x), e);
    else if (mode === "select") o.band(Math.min(start, x), Math.max(start, x));
  });
  const end = (e) => {
    if (start === null) return;
    const x = pixel(e), [a, b] = [instant(Math.min(start, x)), instant(Math.max(start, x))], from = start;
    start = null;
    o.band();
    if (e.type === "pointercancel") return;
    if (mode === "select") o.span.set(a, b);
    else if (!mode) o.pick(instant(from), e);
  };
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
  element.addEventListener("dblclick", () => o.span.clear());
  element.addEventListener("wheel", (e) => {
    const { from, to, w } = o.scale();
    const across = e.shiftKey ? e.deltaY || e.deltaX : e.deltaX;
    if (!e.ctrlKey && !e.metaKey && Math.abs(across) <= Math.abs(e.shiftKey ? 0 : e.deltaY)) return;
    e.preventDefault();
    if (e.ctrlKey || e.metaKey) o.span.zoom(Math.exp(e.deltaY * 0.004), instant(pixel(e)));
    else o.span.move((across / w) * (to - from));
  }, { passive: false });
}
