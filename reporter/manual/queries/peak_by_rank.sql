-- The peak of each rank, by kind of memory and GPU, the largest first.
SELECT job, rank, report, kind, device, peak_bytes, current_bytes
FROM kinds
WHERE peak_bytes > 0
ORDER BY peak_bytes DESC, job, rank, report;
