/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_text_clickhouse.c - any bytes as rows of ClickHouse: read again column by column, each text is UTF-8.
 */
#include <stdbool.h>
#include <stdint.h>

#include "sinks/clickhouse/rows.h"
#include "tests/fuzz/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t length(const char **at, const char *end)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		must(*at < end && shift < 64, "a row ends within a length");
		v |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return v;
	}
}

static void skip(const char **at, const char *end, uint64_t n)
{
	must(n <= (uint64_t)(end - *at), "a row ends within a column");
	*at += n;
}

static void text(const char **at, const char *end)
{
	uint64_t n = length(at, end);
	const char *begin = *at;

	skip(at, end, n);
	must_be_utf8(begin, n, "a text of a row is not UTF-8");
}

static void read_table(const struct table *t, const struct jsonw *bytes, uint32_t rows)
{
	static const uint8_t sizes[] = {
		[CH_UUID] = 16, [CH_U8] = 1, [CH_U32] = 4, [CH_U64] = 8, [CH_I32] = 4, [CH_F64] = 8,
	};
	const char *at = bytes->buf, *end = bytes->buf + bytes->len;

	for (uint32_t r = 0; r < rows; r++)
		for (size_t c = 0; c < t->n; c++) {
			uint64_t n = 1;

			if (t->columns[c].type < CH_TEXT) {
				skip(&at, end, sizes[t->columns[c].type]);
				continue;
			}
			if (t->columns[c].type == CH_LIST)
				n = length(&at, end);
			for (; n > 0; n--)
				text(&at, end);
		}
	must(at == end, "bytes behind the last row");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rows rows = { .host = "h\xff", .boot_id = BOOT };
	struct skep_context context;
	struct any_record any;
	struct texts t;

	texts_read(&t, data, size);
	rows_begin(&rows);
	for (size_t i = 0; i < 2 * N_STREAMS; i++) {
		const struct skep_record r = { .size = sizeof(r),
					       .stream = &any_streams[i % N_STREAMS],
					       .upid = { .pid = 5, .start_ns = 6 },
					       .time_ns = 8 + i,
					       .data = &any,
					       .context = &context };

		any_fill(&any, &context, &t);
		must(rows_add(&rows, &r, 0) == 0, "a record is refused");
	}
	for (unsigned i = 0; i < TABLES; i++)
		if (rows.table[i].n)
			read_table(&tables[i], &rows.table[i].bytes, rows.table[i].n);
	rows_free(&rows);
	return 0;
}
