-- What made the peaks of all ranks: call sites, the most bytes together first, and in how many ranks.
SELECT kind, place,
  sum(peak_bytes) AS all_bytes,
  max(peak_bytes) AS most_bytes,
  count(DISTINCT report) AS reports
FROM shares JOIN sites USING (report, site)
WHERE peak_bytes > 0
GROUP BY kind, place
ORDER BY all_bytes DESC, place;
