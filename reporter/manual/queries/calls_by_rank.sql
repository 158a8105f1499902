-- Driver calls of traces: how many each rank made, how long they took, and how many failed.
SELECT job, rank, report, function,
  count(*) AS calls,
  sum(CASE WHEN failed THEN 1 ELSE 0 END) AS failures,
  sum(duration_ns) AS total_ns,
  max(duration_ns) AS longest_ns
FROM events
WHERE event IN ('call', 'allocation', 'free')
GROUP BY job, rank, report, function
ORDER BY total_ns DESC, report, function;
