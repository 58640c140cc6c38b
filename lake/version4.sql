-- SPDX-License-Identifier: Apache-2.0
-- What a lake's file of version 4 or before lacks, as a view (schema.sql).  The bound keeps sums of absurd values from
-- an overflow, at which SQLite refuses the whole question.

CREATE TEMP VIEW rollup_run AS SELECT run, sum(processes) processes,
	sum(images) images,
	sum(calls) calls,
	sum(forks) forks,
	sum(failures) failures,
	sum(min(cpu_ns, 1 << 56)) cpu_ns,
	sum(min(wall_ns, 1 << 56)) wall_ns,
	sum(min(run_delay_ns, 1 << 56)) run_delay_ns,
	sum(min(rchar_bytes, 1 << 56)) rchar_bytes,
	sum(min(wchar_bytes, 1 << 56)) wchar_bytes,
	sum(min(read_bytes, 1 << 56)) read_bytes,
	sum(min(write_bytes, 1 << 56)) write_bytes,
	max(rss_max_bytes) rss_max_bytes
FROM main.rollup_run_tool GROUP BY run;
