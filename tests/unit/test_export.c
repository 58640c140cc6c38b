/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake/export*.c: hostile texts in each format, and numbers at their bounds; cli/lake/parquet_bytes.c.
 *
 * With SKEP_EXPORT_FOLDER, writes rows as NDJSON and as Parquet there, for tests/e2e/export.sh, which reads them with
 * other programs.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/lake/export_write.h"
#include "cli/lake/parquet_bytes.h"
#include "tests/unit/reports.h"

#define PROCESSES 6000u
#define SAMPLES   130000u /* more than a page of values, and more than a row group */

static const char *const empty[] = { NULL };
static const char *const hostile[] = { "sh", "-c", "a,\"b\"\nc\r\t\x1b[31m\x01", "", "\xff\xfe", "\xc3\xa9\xc3", "=1+1", NULL };
static const struct lake_facet facets[] = { { "net.rx_bytes", 9007199254740996.0 }, { "a,\"b\"", -0.125 } };

/* Row i of a file: unique texts, repeated texts, nulls, hostile bytes. */
static struct lake_process process(unsigned i)
{
	static char ring[4][64];
	char *upid = ring[i % 4];
	static struct lake_kind kinds[4];
	struct lake_kind *kind = &kinds[i % 4];
	struct lake_process p = {
		.kind = kind, .in = &reports_no_container, .parent_upid = "01234567-1-1", .image = i, .pid = i % 1000, .ppid = 1,
		.task = i / 1000 % 2 ? "align" : "", .argv = i % 5 ? hostile : empty,
		.start_ns = UINT64_C(1794268800000000001) + i, .n_facets = i % 3, .facets = facets,
	};

	*kind = (struct lake_kind){
		.task_id = "", .step = "", .scopes = "", .unit = "", .tool = i % 3 ? "sort" : "bwa mem", .container = "", .state = "exited",
		.comm = "sort", .exe = i % 7 ? "/usr/bin/sort" : "/tmp/\xff,\"\n", .filename = "sort", .cwd = "/", .cgroup = "",
		.last = true, .uid = UINT64_MAX, .exit_code = i % 11 ? 0 : -1, .signal = i % 11 ? 0 : 9, .oom_cgroup = "",
	};
	snprintf(upid, sizeof(ring[0]), "01234567-%u-%x", i, i);
	p.upid = upid;
	p.end_ns = i % 13 ? p.start_ns + 5 : 0;
	p.totals.cpu_ns = UINT64_C(1) << (i % 63);
	p.totals.net_known = i % 2;
	return p;
}

static void write_file(FILE *out, enum export_format format, enum export_row kind, unsigned n)
{
	struct export_writer e = { .out = out, .format = format, .kind = &export_kinds[kind] };

	assert_non_null(out);
	assert_int_equal(export_begin(&e), 0);
	for (unsigned i = 0; i < n; i++) {
		const struct lake_process p = process(i);
		const struct lake_sample s = { .tool = i / 50000 % 2 ? "sort" : p.upid, .start_ns = p.start_ns, .cpu_ns = i };

		assert_int_equal(export_rows(&e, e.kind, "20261110T00-aaa",
					     kind == EXPORT_PROCESSES ? (const void *)&p : &s, 1, 0), 0);
	}
	assert_int_equal(export_end(&e), 0);
	export_free(&e);
}

static char *written(enum export_format format, unsigned n, size_t *ret_size)
{
	static char *text; /* gcc 12 does not see that the stream sets it */
	FILE *out = open_memstream(&text, ret_size);

	write_file(out, format, EXPORT_PROCESSES, n);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect(const char *text, const char *want)
{
	if (!strstr(text, want))
		fail_msg("no '%s' in %.3000s", want, text);
}

static void test_ndjson(void **state)
{
	size_t size;
	char *text = written(EXPORT_NDJSON, 8, &size), *line = strchr(text, '\n');

	(void)state;
	assert_non_null(line);
	assert_ptr_equal(text, strstr(text, "{\"run\":\"20261110T00-aaa\",\"upid\":\"01234567-0-0\","));
	expect(text, "\"argv\":[],");
	expect(text, "\"signal\":9,");
	expect(text, "\"exit_code\":null,");
	expect(text, "\"task\":null,");
	expect(text, "\"end\":null,");
	expect(text, "\"start\":\"2026-11-10T00:00:00.000000001Z\",");
	expect(text, "\"uid\":9223372036854775807,"); /* clamped */
	expect(text, "\"exe\":\"/tmp/\xef\xbf\xbd,\\\"\\n\",");
	expect(line, "\"argv\":[\"sh\",\"-c\",\"a,\\\"b\\\"\\nc\\r\\t\\u001b[31m\\u0001\",\"\",\"\xef\xbf\xbd\xef\xbf\xbd\","
		     "\"\xc3\xa9\xef\xbf\xbd\",\"=1+1\"],");
	expect(line, "\"facets\":{\"net.rx_bytes\":9007199254740996,\"a,\\\"b\\\"\":-0.125}}\n");
	expect(line, "\"net_rx_bytes\":0,");
	assert_null(strchr(text, '\x1b'));
	free(text);
}

static void test_csv(void **state)
{
	size_t size;
	char *text = written(EXPORT_CSV, 2, &size), *row = strchr(text, '\n');

	(void)state;
	assert_ptr_equal(text, strstr(text, "run,upid,parent_upid,image,last,pid,"));
	assert_non_null(row);
	expect(row, "\n20261110T00-aaa,01234567-0-0,01234567-1-1,0,true,0,1,,,,,bwa mem,");
	expect(row, ",\"/tmp/\xef\xbf\xbd,\"\"\n\",");
	expect(row, ",[],");
	expect(row, ",2026-11-10T00:00:00.000000001Z,,,9,"); /* no end, no exit code */
	expect(row, "\"[\"\"sh\"\",\"\"-c\"\",\"\"a,\\\"\"b\\\"\"\\nc\\r\\t\\u001b[31m\\u0001\"\",");
	free(text);
}

/* A hybrid of runs and packed bits, read as the format's documentation says. */
static void unpack(const struct bytes *b, unsigned width, uint32_t *ret, size_t n)
{
	const uint8_t *at = (const uint8_t *)b->at, *end = at + b->n;
	size_t i = 0;

	while (at < end) {
		uint64_t head = 0, value = 0;

		for (unsigned shift = 0;; shift += 7) {
			head |= (uint64_t)(*at & 0x7f) << shift;
			if (!(*at++ & 0x80))
				break;
		}
		if (head & 1) {
			size_t bit = 0, bits = (head >> 1) * 8 * width;

			for (; bit < bits; bit += width, i++) {
				for (unsigned k = 0; k < width; k++)
					value |= (uint64_t)(at[(bit + k) / 8] >> (bit + k) % 8 & 1) << k;
				if (i < n)
					ret[i] = (uint32_t)value;
				value = 0;
			}
			at += bits / 8;
		} else {
			for (unsigned k = 0; k < (width + 7) / 8; k++)
				value |= (uint64_t)*at++ << 8 * k;
			for (uint64_t k = 0; k < head >> 1; k++, i++)
				if (i < n)
					ret[i] = (uint32_t)value;
		}
	}
	assert_ptr_equal(at, end);
	assert_true(i >= n && i < n + 8);
}

static void test_indices(void **state)
{
	enum { MOST = 3000 };
	static uint32_t in[MOST], out[MOST];
	uint32_t random = 1;

	(void)state;
	for (unsigned trial = 0; trial < 400; trial++) {
		const unsigned width = 1 + trial % 32;
		size_t n = trial < 40 ? trial + 1 : 1 + random % MOST;
		struct bytes b = { 0 };

		for (size_t i = 0; i < n; i++) { /* runs of all lengths */
			random = random * 1103515245 + 12345;
			in[i] = i && random >> 16 & (trial % 7) ? in[i - 1]
								: random >> 5 & (UINT32_MAX >> (32 - width));
		}
		bytes_indices(&b, in, n, width);
		assert_int_equal(b.err, 0);
		unpack(&b, width, out, n);
		assert_memory_equal(in, out, n * sizeof(in[0]));
		bytes_free(&b);
	}
}

/* A full disk, when the rows are written and when the footer is. */
static void test_no_space(void **state)
{
	(void)state;
	for (int format = EXPORT_NDJSON; format <= EXPORT_PARQUET; format++) {
		FILE *full = fopen("/dev/full", "we");
		struct export_writer e = { .out = full, .format = (enum export_format)format,
					   .kind = &export_kinds[EXPORT_PROCESSES] };
		int err;

		assert_non_null(full);
		err = export_begin(&e);
		for (unsigned i = 0; i < 100 && !err; i++) {
			const struct lake_process p = process(i);

			err = export_rows(&e, e.kind, "r", &p, 1, 0);
		}
		err = err ? err : export_end(&e);
		assert_int_equal(err, -ENOSPC);
		export_free(&e);
		fclose(full);
	}
}

static void write_to(const char *folder, const char *name, enum export_format format, enum export_row kind, unsigned n)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = fopen(path, "we");
	write_file(out, format, kind, n);
	assert_int_equal(fclose(out), 0);
}

static void test_parquet(void **state)
{
	const char *folder = getenv("SKEP_EXPORT_FOLDER");
	uint32_t footer;
	size_t size;
	char *text = written(EXPORT_PARQUET, PROCESSES, &size);

	(void)state;
	assert_memory_equal(text, "PAR1", 4);
	assert_memory_equal(text + size - 4, "PAR1", 4);
	memcpy(&footer, text + size - 8, 4);
	assert_true(footer > 1000 && footer < 20000);
	free(text);
	if (!folder)
		return;
	write_to(folder, "processes.ndjson", EXPORT_NDJSON, EXPORT_PROCESSES, PROCESSES);
	write_to(folder, "processes.parquet", EXPORT_PARQUET, EXPORT_PROCESSES, PROCESSES);
	write_to(folder, "samples.ndjson", EXPORT_NDJSON, EXPORT_SAMPLES, SAMPLES);
	write_to(folder, "samples.parquet", EXPORT_PARQUET, EXPORT_SAMPLES, SAMPLES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ndjson),   cmocka_unit_test(test_csv),     cmocka_unit_test(test_indices),
		cmocka_unit_test(test_no_space), cmocka_unit_test(test_parquet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
