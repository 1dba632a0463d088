// Points that a collector keeps. They stand at the ends of bins of equal width, and
// what has none in a bin was 0 there, or of a level: as it was.

// binOf gives the width of the bins of series: the least span between their points, 0
// if that cannot be told. The last point of a series may stand at the end of a part of a bin.
export function binOf(series) {
  let bin = Infinity;
  for (const { timesPs = [] } of series) {
    for (let i = 1; i < timesPs.length - 1; i++) bin = Math.min(bin, Number(timesPs[i]) - Number(timesPs[i - 1]));
  }
  return Number.isFinite(bin) ? bin : 0;
}

// sumOf adds series up, and gives the sum at each instant at which one has a point, and
// a bin before and after where there is none: [[ps, value]].
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
