-- Who ran out of memory: how often, and the first request that failed. Times count from the start of the process.
SELECT processes.job, processes.rank, processes.hostname, processes.report, processes.refusals,
  first.at_ns, first.function, first.kind, first.device, first.bytes,
  first.free_bytes, first.reserved_bytes, first.allocated_bytes, sites.place
FROM processes
LEFT JOIN refusals AS first ON first.report = processes.report AND first.number = 1
LEFT JOIN sites ON sites.report = first.report AND sites.site = first.site
WHERE processes.refusals > 0
ORDER BY processes.refusals DESC, processes.report;
