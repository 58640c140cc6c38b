/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the sink "example" under the mock host, with records of a stream that the test defines.
 */
#include <skep/mock.h>
#include <string.h>
#include <unistd.h>

struct thing {
	uint64_t n;
	double temperature;
	struct skep_str name;
};

static const struct skep_field fields[] = {
	SKEP_FIELD(struct thing, n, "thing.n", SKEP_T_U64, SKEP_S_DELTA, "1", "a number"),
	SKEP_FIELD(struct thing, temperature, "thing.temperature", SKEP_T_F64, SKEP_S_GAUGE, "Cel", "a temperature"),
	SKEP_FIELD(struct thing, name, "thing.name", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "a text"),
};

static const struct skep_stream things = SKEP_STREAM(struct thing, fields, "thing", SKEP_ROLE_NONE, 0, "things");

static const struct skep_stream others = SKEP_STREAM(struct thing, fields, "other", SKEP_ROLE_NONE, 0, "others");

static char path[] = "/tmp/example-XXXXXX";

static struct skep_mock_batch *batch(uint64_t id)
{
	const struct thing thing = { .n = id, .temperature = 36.5, .name = skep_mock_text("two words\n") };
	struct skep_mock_batch *b = skep_mock_batch_new(id, 1000000000);

	skep_mock_batch_add(b, &things, &(struct skep_upid){ .start_ns = 5, .pid = 100 }, 2500000000, &thing, NULL);
	skep_mock_batch_add(b, &others, NULL, 2500000000, &thing, NULL);
	return b;
}

static void submit(struct skep_mock *m, uint64_t id)
{
	struct skep_mock_batch *b = batch(id);

	SKEP_MOCK_CHECK(skep_mock_submit(m, &b->batch) == 0);
	skep_mock_settle(m); /* waits for the thread that writes the batch, and for the answer */
	skep_mock_batch_free(b);
}

static void holds(const char *want)
{
	char text[4096];
	FILE *f = fopen(path, "re");
	size_t n;

	SKEP_MOCK_CHECK(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	if (strcmp(text, want) != 0) {
		fprintf(stderr, "the file is\n%sbut should be\n%s", text, want);
		exit(1);
	}
}

#define FIELDS(n_) "thing.n=" #n_ " thing.temperature=36.5 thing.name=\"two words\\n\"\n"
#define FIRST "3.500000000 thing 100 " FIELDS(1) "3.500000000 other 0 " FIELDS(1)
#define SECOND "3.500000000 other 0 " FIELDS(2)

int main(void)
{
	struct skep_mock m;
	struct skep_mock_batch *b;
	int fd = mkstemp(path);

	SKEP_MOCK_CHECK(fd >= 0);
	close(fd);

	skep_mock_init(&m, skep_plugin_entry(NULL));
	SKEP_MOCK_CHECK(skep_mock_option(&m, "path", path) == 0);
	SKEP_MOCK_CHECK(skep_mock_start(&m) == 0);
	submit(&m, 1);
	SKEP_MOCK_CHECK(m.acks == 1);
	SKEP_MOCK_CHECK(skep_mock_counter(&m, "lines") == 2);
	holds(FIRST);

	/* a reload selects another stream */
	SKEP_MOCK_CHECK(skep_mock_option_list(&m, "streams", (const char *[]){ "other", NULL }) == 0);
	SKEP_MOCK_CHECK(skep_mock_reload(&m) == 0);
	submit(&m, 2);
	SKEP_MOCK_CHECK(m.acks == 2);
	holds(FIRST SECOND);

	/* no thread starts: the plugin host keeps the batch */
	b = batch(3);
	m.fail_work = -EAGAIN;
	SKEP_MOCK_CHECK(skep_mock_submit(&m, &b->batch) == -EAGAIN);
	m.fail_work = 0;
	skep_mock_batch_free(b);
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);

	/* a receiver that accepts nothing now: the sink asks for a retry, and loses nothing */
	if (access("/dev/full", W_OK) == 0) {
		skep_mock_init(&m, skep_plugin_entry(NULL));
		SKEP_MOCK_CHECK(skep_mock_option(&m, "path", "/dev/full") == 0);
		SKEP_MOCK_CHECK(skep_mock_start(&m) == 0);
		submit(&m, 4);
		SKEP_MOCK_CHECK(m.acks == 0 && m.retries == 1 && m.why[0]);
		SKEP_MOCK_CHECK(skep_mock_counter(&m, "lines") == 0);
		SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);
	}

	/* the sink reports the error */
	skep_mock_init(&m, skep_plugin_entry(NULL));
	SKEP_MOCK_CHECK(skep_mock_start(&m) == -EINVAL); /* path is required */
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);
	skep_mock_init(&m, skep_plugin_entry(NULL));
	SKEP_MOCK_CHECK(skep_mock_option(&m, "path", "/nonexistent/lines") == 0);
	SKEP_MOCK_CHECK(skep_mock_start(&m) == -ENOENT);
	SKEP_MOCK_CHECK(strstr(m.why, "its folder must exist"));
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);

	unlink(path);
	puts("test_example: passed");
	return 0;
}
