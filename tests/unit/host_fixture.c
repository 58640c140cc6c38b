/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe "host" on a tree that a test writes.
 */
#include "tests/unit/host_fixture.h"
#include "tests/unit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct skep_plugin *skep_plugin_entry(const struct skep_host *host);

static struct host_fixture *fixture; /* one at a time: callbacks have no argument of the test's */

static void need(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "host fixture: %s: %s\n", what, strerror(errno));
		abort();
	}
}

const struct skep_plugin *host_descriptor(void)
{
	return skep_plugin_entry(NULL);
}

static void value(FILE *out, const struct skep_field *f, const void *at)
{
	const struct skep_str *s = at;

	switch (f->type) {
	case SKEP_T_U64:
		fprintf(out, "%" PRIu64, *(const uint64_t *)at);
		break;
	case SKEP_T_I64:
		fprintf(out, "%" PRId64, *(const int64_t *)at);
		break;
	case SKEP_T_F64:
		fprintf(out, "%g", *(const double *)at);
		break;
	case SKEP_T_STR:
		fprintf(out, "%.*s", (int)s->len, s->ptr ? s->ptr : "");
		break;
	default:
		need(false, "a field of a type that the probe does not have");
	}
}

static void emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		 const void *rec)
{
	const struct skep_stream *s = host_streams[stream];
	struct host_line line = { .stream = stream };
	size_t len;
	FILE *out = open_memstream(&line.text, &len);

	(void)inst;
	need(out && !who && time_ns, "a record about a process, or without a time");
	fputc('|', out);
	for (uint32_t i = 0; i < s->n_fields; i++) {
		fprintf(out, "%s=", s->fields[i].name);
		value(out, &s->fields[i], (const char *)rec + s->fields[i].offset);
		fputc('|', out);
	}
	fclose(out);
	if (fixture->n == fixture->room) {
		fixture->room = fixture->room ? 2 * fixture->room : 64;
		fixture->line = realloc(fixture->line, fixture->room * sizeof(*fixture->line));
		need(fixture->line, "memory");
	}
	fixture->line[fixture->n++] = line;
}

static void lost(struct skep_instance *inst, unsigned stream, enum skep_loss where, uint64_t n)
{
	(void)inst;
	(void)stream;
	(void)where;
	fixture->lost += n;
}

static void say(struct skep_instance *inst, const char *name, enum skep_signal_state state, const char *how,
		const char *why)
{
	static const char *const states[] = { "?", "ok", "partial", "missing", "off" };
	size_t used = strlen(fixture->signals);

	(void)inst;
	snprintf(fixture->signals + used, sizeof(fixture->signals) - used, "%s=%s %s: %s\n", name, states[state], how,
		 why ? why : "");
}

void host_write(struct host_fixture *f, const char *path, const char *text)
{
	char full[512];
	FILE *out;

	snprintf(full, sizeof(full), "%s/%s", f->root, path);
	for (char *at = full + strlen(f->root) + 1; *at; at++)
		if (*at == '/') {
			*at = '\0';
			need(mkdir(full, 0755) == 0 || errno == EEXIST, full);
			*at = '/';
		}
	if (path[strlen(path) - 1] == '/')
		return;
	out = fopen(full, "we"); /* written over, not replaced: the probe has it open */
	need(out && fputs(text, out) >= 0 && fclose(out) == 0, full);
}

void host_link(struct host_fixture *f, const char *path, const char *to)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", f->root, path);
	need(symlink(to, full) == 0, full);
}

void host_remove(struct host_fixture *f, const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", f->root, path);
	need(folder_remove(full) == 0, full);
}

void host_write_stat(struct host_fixture *f, const char *cpus, const char *total)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "%s\n%s"
		 "intr 5000 1 2 3\nctxt 7000\nbtime 1700000000\nprocesses 300\nprocs_running 3\nprocs_blocked 1\n"
		 "softirq 10 1 2 3 4 0 0 0 0 0 0\n",
		 total, cpus);
	host_write(f, "proc/stat", text);
}

void host_fixture_init(struct host_fixture *f)
{
	const char *tmp = getenv("TMPDIR");

	*f = (struct host_fixture){ 0 };
	fixture = f;
	skep_mock_init(&f->m, host_descriptor());
	f->m.inline_work = true;
	f->m.quiet = true;
	f->m.host.emit = emit;
	f->m.host.lost = lost;
	f->m.host.signal = say;
	f->st = f->m.state;
	snprintf(f->root, sizeof(f->root), "%s/skep-host.XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	need(mkdtemp(f->root), f->root);
	skep_mock_option(&f->m, "root", f->root);

	host_write_stat(f, "cpu0 10 0 10 1000 10 0 0 0 0 0\ncpu1 10 0 10 1000 10 0 0 0 0 0\n",
			"cpu  20 0 20 2000 20 0 0 0 0 0");
	host_write(f, "proc/loadavg", "0.52 1.25 2.00 3/610 4711\n");
	host_write(
		f, "proc/meminfo",
		"MemTotal:       1000 kB\nMemFree:         200 kB\nMemAvailable:    600 kB\nBuffers:          50 kB\n"
		"Cached:          300 kB\nSwapTotal:       500 kB\nSwapFree:        400 kB\nDirty:             8 kB\n"
		"HugePages_Total:       4\nHugePages_Free:        1\nHugepagesize:       2048 kB\n");
	host_write(f, "proc/vmstat", "nr_free_pages 1\npswpin 1\npswpout 2\npgfault 1000\npgmajfault 10\noom_kill 0\n");
	host_write(
		f, "proc/diskstats",
		"   8       0 sda 10 1 80 5 20 2 160 6 0 7 11 1 0 8 1 2 3\n   8       1 sda1 1 0 8 1 1 0 8 1 0 1 2\n");
	host_write(f, "sys/block/sda/slaves/", "");
	host_write(f, "proc/1/net/dev",
		   HOST_NET_HEAD
		   "    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n  eth0:1000 10 0 0 0 0 0 0 500 5 0 0 0 0 0 0\n");
	host_write(f, "sys/class/net/eth0/device/", "");
	host_write(f, "sys/class/net/eth0/speed", "1000\n");
	host_write(f, "sys/class/net/eth0/operstate", "up\n");
	host_write(f, "sys/class/net/eth0/ifindex", "2\n");
	host_write(f, "sys/class/net/eth0/iflink", "2\n");
	host_write(f, "sys/class/net/lo/operstate", "unknown\n");
	host_write(f, "sys/class/net/lo/ifindex", "1\n");
	host_write(f, "sys/class/net/lo/iflink", "1\n");
	host_write(f, "proc/1/mountinfo",
		   "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n22 27 0:21 / /proc rw - proc proc rw\n");
}

void host_fixture_free(struct host_fixture *f)
{
	skep_mock_end(&f->m);
	host_forget(f);
	free(f->line);
	host_remove(f, "");
	fixture = NULL;
}

int host_begin(struct host_fixture *f)
{
	return skep_mock_start(&f->m);
}

void host_forget(struct host_fixture *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->line[i].text);
	f->n = 0;
}

void host_step(struct host_fixture *f)
{
	host_forget(f);
	f->m.plugin->sample(f->m.instance, f->m.state);
}

static const char *find(struct host_fixture *f, unsigned stream, const char *match, size_t *at)
{
	char wanted[128];

	snprintf(wanted, sizeof(wanted), "|%s|", match ? match : "");
	for (size_t i = *at; i < f->n; i++)
		if (f->line[i].stream == stream && (!match || strstr(f->line[i].text, wanted))) {
			*at = i + 1;
			return f->line[i].text;
		}
	return NULL;
}

const char *host_get(struct host_fixture *f, unsigned stream, const char *match, const char *field)
{
	static char got[512];
	char wanted[128];
	size_t at = 0, n;
	const char *text = find(f, stream, match, &at), *from;

	if (!text)
		return NULL;
	n = (size_t)snprintf(wanted, sizeof(wanted), "|%s=", field);
	from = strstr(text, wanted);
	if (!from)
		return NULL;
	from += n;
	snprintf(got, sizeof(got), "%.*s", (int)strcspn(from, "|"), from);
	return got;
}

unsigned host_count(struct host_fixture *f, unsigned stream, const char *match)
{
	size_t at = 0;
	unsigned n = 0;

	while (find(f, stream, match, &at))
		n++;
	return n;
}

bool host_posted(struct host_fixture *f, const char *account, const char *item, int64_t *ret_amount,
		 uint64_t *ret_flags)
{
	char wanted[128];
	bool any = false;

	snprintf(wanted, sizeof(wanted), "|account=%s|item=%s|", account, item);
	for (size_t i = 0; i < f->n; i++)
		if (f->line[i].stream == STREAM_LEDGER && strstr(f->line[i].text, wanted) == f->line[i].text) {
			any = sscanf(f->line[i].text + strlen(wanted) - 1, "|amount=%" SCNd64 "|flags=%" SCNu64,
				     ret_amount, ret_flags) == 2;
		}
	return any;
}
