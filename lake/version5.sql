-- SPDX-License-Identifier: Apache-2.0
-- What a lake's file of version 5 or before lacks, as a view (schema.sql): it has no rows.  The records have the same
-- figures, but adding up a month of them takes minutes.

CREATE TEMP VIEW usage_hour AS SELECT 0 host, 0 item, 0 hour, 0 boot, 0 first_ns, 0 last_ns, 0 known_ns, 0 capacity_ns,
	0 busy_ns, 0 idle_ns, 0 runs_ns, 0 daemons_ns, 0 memory_bytes, 0 memory_limit_bytes, 0 rx_bytes, 0 tx_bytes,
	0 read_bytes, 0 write_bytes, 0 idle_minutes, 0 other_minutes WHERE 0;
