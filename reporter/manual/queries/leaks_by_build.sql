-- What each build never freed, without what caches of frameworks hold: call sites, the most bytes first.
SELECT build, program, kind, place,
  sum(leaked_bytes) AS leaked_bytes,
  sum(leaked_count) AS leaked_count,
  count(DISTINCT report) AS reports
FROM shares JOIN sites USING (report, site) JOIN processes USING (report)
WHERE leaked_bytes > 0
GROUP BY build, program, kind, place
ORDER BY leaked_bytes DESC, build, place;
