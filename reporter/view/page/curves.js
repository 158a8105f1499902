// Curves of different buckets as one table, as charts want them.
// SPDX-License-Identifier: Apache-2.0

// Curves whose buckets differ, over all instants at which one of them changes; behind the last
// bucket with a change is what that left.
export function joined(series, end) {
  const instants = new Set();
  for (const one of series) {
    for (let i = 0; i <= one.highest_bytes.length; i++) instants.add(Math.min(one.first_ns + i * one.bucket_ns, end));
  }
  instants.add(end);
  const times = [...instants].sort((a, b) => a - b);
  const columns = series.map((one) => times.map((time) => {
    const bucket = Math.floor((time - one.first_ns) / one.bucket_ns);
    if (bucket < 0) return 0;
    return bucket < one.highest_bytes.length ? one.highest_bytes[bucket] : one.last_bytes[one.last_bytes.length - 1];
  }));
  return [times.map((time) => time / 1e9), ...columns];
}
