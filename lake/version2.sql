-- SPDX-License-Identifier: Apache-2.0
-- A lake's file of version 2, seen as the newest version (schema.sql), as version1.sql does.  Version 2 kept the job of
-- a run in `record`.

CREATE TEMP VIEW run AS SELECT r.*, coalesce((SELECT json_extract(fields, '$.job') FROM main.record WHERE run = r.id AND
	stream = (SELECT id FROM main.dict WHERE s = 'run') ORDER BY time_ns DESC LIMIT 1), '') job,
	'' container, '' container_name, '' container_image, '' pod, '' namespace, '' unit
FROM main.run r;

CREATE TEMP VIEW proc AS SELECT *, 0 unit FROM main.proc;

CREATE TEMP VIEW task AS SELECT *, '' container, '' container_name, '' container_image, '' pod, '' namespace, '' unit FROM main.task;
