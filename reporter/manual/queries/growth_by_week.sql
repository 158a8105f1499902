-- How the peak of each program grows from week to week, by kind of memory.
WITH weeks AS (
  SELECT program, kind,
    date_trunc('week', make_timestamp_ns(start_ns)) AS week,
    count(DISTINCT report) AS runs,
    max(peak_bytes) AS peak_bytes
  FROM kinds JOIN processes USING (report)
  WHERE peak_bytes > 0
  GROUP BY program, kind, date_trunc('week', make_timestamp_ns(start_ns))
)
SELECT program, kind, week, runs, peak_bytes,
  peak_bytes - lag(peak_bytes) OVER (PARTITION BY program, kind ORDER BY week) AS growth_bytes
FROM weeks
ORDER BY program, kind, week;
