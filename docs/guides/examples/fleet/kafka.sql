-- SPDX-License-Identifier: Apache-2.0
-- Kafka to ClickHouse: process.exit and run records of a fleet, from topics "skep.{stream}".  docs/guides/fleet.md
-- Run on ClickHouse 18.16 as it stands; later ones may have LowCardinality(String) and DateTime64(9) where this has String and DateTime.

CREATE DATABASE IF NOT EXISTS fleet;

-- What comes. Fields that are not named here are left out.
CREATE TABLE IF NOT EXISTS fleet.exit_queue (
	host String, time String, upid String, image UInt32, run String, pipeline String, task String, tool String,
	argv Array(String), exit_code Int32, signal UInt8, last UInt8, cpu_ns UInt64,
	rss_peak_bytes UInt64, read_bytes UInt64, write_bytes UInt64, minor_faults UInt64, major_faults UInt64
) ENGINE = Kafka SETTINGS kafka_broker_list = 'kafka1.example:9092', kafka_topic_list = 'skep.process.exit',
	kafka_group_name = 'clickhouse', kafka_format = 'JSONEachRow';

-- What stays. A record that comes twice has the same order key, and merges into one; FINAL never shows two.
CREATE TABLE IF NOT EXISTS fleet.process_exit (
	host String, time DateTime, upid String, image UInt32, run String, pipeline String, task String, tool String,
	argv Array(String), exit_code Int32, signal UInt8, last UInt8, cpu_ns UInt64,
	rss_peak_bytes UInt64, read_bytes UInt64, write_bytes UInt64, minor_faults UInt64, major_faults UInt64
) ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(time) ORDER BY (pipeline, run, tool, upid, image);

CREATE MATERIALIZED VIEW IF NOT EXISTS fleet.exit_view TO fleet.process_exit AS
SELECT host, parseDateTimeBestEffort(time) AS time, upid, image, run, pipeline, task, tool,
	argv, exit_code, signal, last, cpu_ns,
	rss_peak_bytes, read_bytes, write_bytes, minor_faults, major_faults
FROM fleet.exit_queue;
