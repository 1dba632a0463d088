// Frames, or other values with an instant (at), in its order.

export const calmly = 250e6; // ps over which rates of PAUSE and of flows are averaged

// indexAt returns the index of the last frame at or before an instant, or 0.
export function indexAt(frames, ps) {
  let low = 0, high = frames.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (frames[middle].at <= ps) low = middle;
    else high = middle - 1;
  }
  return low;
}

// since returns the index of the frame that the rates of a frame refer to: 250 us before
// it, or -1 if there is none. Without it a PAUSE would count the more, the closer the
// frames are.
export const since = (frames, index) => Math.min(indexAt(frames, frames[index].at - calmly), index - 1);

// perMs returns the growth of a counter per ms.
export const perMs = (now, before, ps) => (ps > 0 ? (Math.max(now - before, 0) * 1e9) / ps : 0);
