/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_text_prometheus.c - any bytes as a page in both text formats: UTF-8, one sample or comment a line,
 * each label's value within its quotes, and no series twice.
 */
#include <stdbool.h>
#include <stdint.h>

#include "sinks/prometheus/ingest.h"
#include "sinks/prometheus/text.h"
#include "tests/fuzz/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* name{label="value",...} number: returns how long the series' name is. */
static size_t sample(const char *line, const char *end)
{
	const char *p = line;
	bool quoted = false;

	must(p < end && (*p == '_' || (*p >= 'a' && *p <= 'z')), "a line begins with something else than a name");
	for (; p < end && (quoted || *p != ' '); p++) {
		must((unsigned char)*p >= ' ' && *p != 0x7f, "a control character on the page");
		if (quoted && *p == '\\') {
			p++;
			must(p < end && (*p == '\\' || *p == '"' || *p == 'n'), "an escape that there is not");
		} else if (*p == '"') {
			quoted = !quoted;
		}
	}
	must(!quoted && p < end, "a line without a value");
	for (const char *v = p + 1; v < end; v++)
		must(memchr("0123456789.+-eEinfNa ", *v, 21), "a value that is no number");
	return (size_t)(p - line);
}

static void read_page(const char *page, size_t n)
{
	struct {
		const char *at;
		size_t n;
	} seen[4096];
	size_t used = 0;

	must_be_utf8(page, n, "the page is not UTF-8");
	for (const char *line = page, *end; line < page + n; line = end + 1) {
		size_t name;

		end = memchr(line, '\n', (size_t)(page + n - line));
		must(end, "the last line has no end");
		if (*line == '#')
			continue;
		name = sample(line, end);
		for (size_t i = 0; i < used; i++)
			must(seen[i].n != name || memcmp(seen[i].at, line, name) != 0, "a series that is there twice");
		if (used < sizeof(seen) / sizeof(seen[0])) {
			seen[used].at = line;
			seen[used++].n = name;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store store;
	struct ingest ingest = { .store = &store, .with_run = true };
	struct skep_context context;
	struct any_record any;
	struct texts t;
	int err = 0;

	texts_read(&t, data, size);
	must(store_init(&store, 100000) == 0, "no memory");
	for (size_t i = 0; i < 2 * N_STREAMS; i++) {
		const struct skep_record r = { .size = sizeof(r),
					       .stream = &any_streams[i % N_STREAMS],
					       .upid = { .pid = 5, .start_ns = 6 },
					       .time_ns = 8 + i,
					       .data = &any,
					       .context = &context };

		any_fill(&any, &context, &t);
		ingest_record(&ingest, &r, 8, 8, &err);
		must(err == 0, "a record is refused");
	}
	for (int i = 0; i < 2; i++) {
		const struct text_format format = { .openmetrics = i, .created = i, .host = "h\xff\"\n" };
		struct jsonw page = { 0 };

		text_store(&page, &store, &format);
		text_end(&page, &format);
		must(page.err == 0, "no memory");
		read_page(page.buf, page.len);
		skep_jsonw_free(&page);
	}
	ingest_free(&ingest);
	store_free(&store);
	return 0;
}
