-- SPDX-License-Identifier: Apache-2.0
-- A lake's file of version 1, seen as the newest version (schema.sql).  Readers open such a file read-only, and these views hide
-- its tables of the same names.  Version 1 kept in `record`, as JSON, what is an expression here: a time as text, 2026-11-10T00:16:40.000000001Z.

CREATE TEMP VIEW run AS SELECT r.*,
	coalesce(json_extract(j.fields, '$.engine'), '') engine,
	coalesce(json_extract(j.fields, '$.parent_run'), '') parent_run,
	coalesce(json_extract(j.fields, '$.origin'), '') origin,
	coalesce(json_extract(j.fields, '$.job'), '') job,
	'' container, '' container_name, '' container_image, '' pod, '' namespace, '' unit
FROM main.run r LEFT JOIN main.record j ON j.id = (SELECT id FROM main.record WHERE run = r.id AND stream =
	(SELECT id FROM main.dict WHERE s = 'run') ORDER BY time_ns DESC LIMIT 1);

CREATE TEMP VIEW proc AS SELECT *, 0 task_id, 0 step, 0 unit FROM main.proc;

CREATE TEMP VIEW task AS SELECT run,
	coalesce(json_extract(fields, '$.task_id'), '') task_id,
	coalesce(json_extract(fields, '$.task'), '') task,
	coalesce(json_extract(fields, '$.state'), '') state,
	coalesce(json_extract(fields, '$.engine'), '') engine,
	coalesce(json_extract(fields, '$.sample'), '') sample,
	coalesce(json_extract(fields, '$.job'), '') job,
	json_extract(fields, '$.attempt') attempt,
	coalesce(json_extract(fields, '$.name_source'), '') name_source,
	coalesce(json_extract(fields, '$.traceparent'), '') traceparent,
	NULL root_pid,
	NULL root_start_boot_ns,
	coalesce(CAST(strftime('%s', substr(json_extract(fields, '$.start_ns'), 1, 19)) AS INTEGER) * 1000000000 +
		CAST(substr(json_extract(fields, '$.start_ns'), 21, 9) AS INTEGER), 0) start_ns,
	coalesce(CAST(strftime('%s', substr(json_extract(fields, '$.end_ns'), 1, 19)) AS INTEGER) * 1000000000 +
		CAST(substr(json_extract(fields, '$.end_ns'), 21, 9) AS INTEGER), 0) end_ns,
	json_extract(fields, '$.exit_code') exit_code,
	json_extract(fields, '$.signal') signal,
	json_extract(fields, '$.processes') processes,
	json_extract(fields, '$.cpu_ns') cpu_ns,
	json_extract(fields, '$.run_delay_ns') run_delay_ns,
	json_extract(fields, '$.rss_peak_bytes') rss_peak_bytes,
	json_extract(fields, '$.read_bytes') read_bytes,
	json_extract(fields, '$.write_bytes') write_bytes,
	json_extract(fields, '$.requested_cpus') requested_cpus,
	json_extract(fields, '$.requested_memory_bytes') requested_memory_bytes,
	json_extract(fields, '$.requested_walltime_ns') requested_walltime_ns,
	json_extract(fields, '$.requested_gpus') requested_gpus,
	coalesce(json_extract(fields, '$.requested_source'), '') requested_source,
	'' container, '' container_name, '' container_image, '' pod, '' namespace, '' unit
FROM main.record WHERE stream = (SELECT id FROM main.dict WHERE s = 'task');
