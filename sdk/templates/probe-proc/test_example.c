/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the probe "example" under the mock host, on a tree of files that the test writes.
 */
#include <skep/mock.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/example-XXXXXX";
static char file[sizeof(root) + 32];

static void write_file(const char *text)
{
	FILE *f = fopen(file, "we");

	SKEP_MOCK_CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void make_tree(void)
{
	char folder[sizeof(root) + 32];

	SKEP_MOCK_CHECK(mkdtemp(root));
	snprintf(folder, sizeof(folder), "%s/sys", root);
	SKEP_MOCK_CHECK(mkdir(folder, 0755) == 0);
	snprintf(folder, sizeof(folder), "%s/sys/fs", root);
	SKEP_MOCK_CHECK(mkdir(folder, 0755) == 0);
	snprintf(file, sizeof(file), "%s/sys/fs/file-nr", root);
	write_file("1184\t0\t9223372036854775807\n");
}

static void remove_tree(void)
{
	unlink(file);
	*strrchr(file, '/') = '\0';
	rmdir(file);
	*strrchr(file, '/') = '\0';
	rmdir(file);
	rmdir(root);
}

static void records(void)
{
	struct skep_mock m;
	const struct skep_mock_record *r;

	skep_mock_init(&m, skep_plugin_entry(NULL));
	SKEP_MOCK_CHECK(skep_mock_option(&m, "proc", root) == 0);
	SKEP_MOCK_CHECK(skep_mock_start(&m) == 0);
	SKEP_MOCK_CHECK(skep_mock_signal(&m, "example.files", NULL, NULL) == SKEP_SIGNAL_OK);
	skep_mock_sample(&m);
	SKEP_MOCK_CHECK(skep_mock_count(&m, "example.files") == 1);
	r = skep_mock_record(&m, "example.files", 0);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "system.files.open") == 1184);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "system.files.limit") == INT64_MAX);
	SKEP_MOCK_CHECK(skep_mock_time(r) > 0);

	/* the probe counts an unreadable file, and emits no record */
	write_file("nonsense\n");
	skep_mock_sample(&m);
	SKEP_MOCK_CHECK(skep_mock_count(&m, "example.files") == 1);
	SKEP_MOCK_CHECK(skep_mock_counter(&m, "unreadable") == 1);
	write_file("1\t0\t2\n");
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);
}

static void options(void)
{
	struct skep_mock m;

	/* samples at every third interval; after a reload at every interval */
	skep_mock_init(&m, skep_plugin_entry(NULL));
	SKEP_MOCK_CHECK(skep_mock_option(&m, "proc", root) == 0);
	SKEP_MOCK_CHECK(skep_mock_option(&m, "every", "3") == 0);
	SKEP_MOCK_CHECK(skep_mock_option(&m, "every", "0") == -EINVAL);
	SKEP_MOCK_CHECK(skep_mock_start(&m) == 0);
	skep_mock_advance(&m, 6 * m.host.interval_ns);
	SKEP_MOCK_CHECK(skep_mock_count(&m, "example.files") == 2);
	SKEP_MOCK_CHECK(skep_mock_option(&m, "every", "1") == 0);
	SKEP_MOCK_CHECK(skep_mock_reload(&m) == 0);
	skep_mock_advance(&m, 6 * m.host.interval_ns);
	SKEP_MOCK_CHECK(skep_mock_count(&m, "example.files") == 8);
	/* the option proc is not reloadable */
	SKEP_MOCK_CHECK(skep_mock_option(&m, "proc", "/proc") == 0);
	SKEP_MOCK_CHECK(skep_mock_reload(&m) == -ENOTSUP);
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);

	skep_mock_init(&m, skep_plugin_entry(NULL));
	SKEP_MOCK_CHECK(skep_mock_option(&m, "proc", "proc") == 0);
	SKEP_MOCK_CHECK(skep_mock_start(&m) == -EINVAL);
	SKEP_MOCK_CHECK(strstr(m.why, "absolute path"));
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);

	skep_mock_init(&m, skep_plugin_entry(NULL));
	SKEP_MOCK_CHECK(skep_mock_option(&m, "proc", "/nonexistent") == 0);
	SKEP_MOCK_CHECK(skep_mock_start(&m) == -ENOENT);
	SKEP_MOCK_CHECK(strstr(m.why, "/nonexistent/sys/fs/file-nr"));
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);
}

/* Reads this machine's own /proc. */
static void live(void)
{
	struct skep_mock m;

	skep_mock_init(&m, skep_plugin_entry(NULL));
	SKEP_MOCK_CHECK(skep_mock_start(&m) == 0);
	skep_mock_sample(&m);
	SKEP_MOCK_CHECK(skep_mock_u64(skep_mock_record(&m, "example.files", -1), "system.files.open") > 0);
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);
}

int main(void)
{
	make_tree();
	records();
	options();
	live();
	remove_tree();
	puts("test_example: passed");
	return 0;
}
