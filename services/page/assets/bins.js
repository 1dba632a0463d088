// Points stored by a collector. Each lies at the end of a bin; bins have equal width. A
// bin without a point counts as 0, or as the previous value if the series is a level.

// binOf returns the width of the bins of series: the smallest distance of their points,
// or 0 if it is unknown. The last point of a series may end a partial bin.
export function binOf(series) {
  let bin = Infinity;
  for (const { timesPs = [] } of series) {
    for (let i = 1; i < timesPs.length - 1; i++) bin = Math.min(bin, Number(timesPs[i]) - Number(timesPs[i - 1]));
  }
  return Number.isFinite(bin) ? bin : 0;
}

// filled adds points of 0 for missing bins, up to a span before and after each point, so
// that no line crosses a gap.
export function filled(points, bin, span) {
  const out = [], slack = bin / 2;
  for (const p of points) {
    const last = out.at(-1)?.[0] ?? p[0];
    for (let t = last + bin; t < p[0] - slack && t <= last + span + slack; t += bin) out.push([t, 0]);
    const from = (out.at(-1)?.[0] ?? p[0]) + slack;
    for (let k = Math.round(span / bin); k > 0; k--) if (p[0] - k * bin > from) out.push([p[0] - k * bin, 0]);
    out.push(p);
  }
  return out;
}

// means returns the mean over the span that ends at each point. Missing bins count as 0.
export function means(points, bin, span) {
  let first = 0, sum = 0;
  return filled(points, bin, span).map(([t, v], i, all) => {
    sum += v;
    while (all[first][0] <= t - span) sum -= all[first++][1];
    return [t, sum / (i - first + 1)];
  });
}

// sumOf returns the sum of series, [[ps, value]], at each instant with a point, and one
// bin before and after it.
export function sumOf(series, bin, level) {
  const ends = series.flatMap((s) => s.timesPs ?? []).map(Number).sort((a, b) => a - b);
  const first = ends[0], last = ends.at(-1), times = new Set(ends);
  for (const t of ends) for (const near of [t - bin, t + bin]) if (near > first && near < last) times.add(near);
  const points = [...times].sort((a, b) => a - b).map((t) => [t, 0]);
  for (const { timesPs = [], values } of series) {
    let value = 0, k = 0;
    for (const p of points) {
      if (k < timesPs.length && Number(timesPs[k]) === p[0]) value = values[k++];
      else if (!level) value = 0;
      p[1] += value;
    }
  }
  return points;
}
