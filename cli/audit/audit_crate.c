/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/audit_crate.c - an audit as a Process Run Crate 0.5, the profile of Workflow Run RO-Crate for executions
 * whose workflow is not part of the crate: an action for each program, with its tool, user, times and files.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/audit/audit_print.h"
#include "cli/base/json_stream.h"
#include "cli/base/text.h"

#define AUDIT_FILE "audit.jsonl"
#define PROFILE	   "https://w3id.org/ro/wfrun/process/0.5"

struct crate {
	const struct entries *entries;
	struct json_stream json;
	char head[CANON_HASH + 1];
	/* sorted, each once */
	size_t n_tools, n_users, n_files;
	const char **tools, **files;
	uint64_t *users;
	/* the entries of written files by process and run */
	size_t n_written;
	const struct entry **written;
};

/* ---- ids ------------------------------------------------------------------------------ */

/* Appends a text to an id, with all that a URI's path may not have as %xx. */
static void add_escaped(struct jsonw *j, const char *s)
{
	static const char hex[] = "0123456789ABCDEF";

	for (; *s; s++) {
		const unsigned char c = (unsigned char)*s;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~/", c))
			skep_jsonw_raw(j, s, 1);
		else
			skep_jsonw_raw(j, (const char[]){ '%', hex[c >> 4], hex[c & 15] }, 3);
	}
}

/* An id: up to three parts, of which all but the first are escaped. */
static void put_id(struct crate *c, const char *key, const char *begin, const char *more, const char *last)
{
	struct jsonw j = { 0 };

	skep_jsonw_raw(&j, begin, strlen(begin));
	add_escaped(&j, more);
	add_escaped(&j, last);
	if (!skep_jsonw_room(&j, 1)) {
		c->json.err = c->json.err ? c->json.err : -ENOMEM;
	} else {
		j.buf[j.len] = '\0';
		json_stream_string(&c->json, key, j.buf);
	}
	skep_jsonw_free(&j);
}

static void put_reference(struct crate *c, const char *key, const char *begin, const char *more, const char *last)
{
	json_stream_open(&c->json, key, '{');
	put_id(c, "@id", begin, more, last);
	json_stream_close(&c->json, '}');
}

static const struct lake_run *root(const struct crate *c)
{
	return &c->entries->audit->runs[0]->run;
}

/* The files stay where they are: their ids name the host. */
static void put_file(struct crate *c, const char *key, const char *path, bool reference)
{
	struct jsonw j = { 0 };

	jsonw_lit(&j, "file://");
	add_escaped(&j, root(c)->host);
	if (*path != '/')
		jsonw_lit(&j, "/");
	if (!skep_jsonw_room(&j, 1)) {
		c->json.err = c->json.err ? c->json.err : -ENOMEM;
	} else {
		j.buf[j.len] = '\0';
		if (reference)
			put_reference(c, key, j.buf, path, "");
		else
			put_id(c, key, j.buf, path, "");
	}
	skep_jsonw_free(&j);
}

static void put_number_id(struct crate *c, const char *key, const char *begin, uint64_t n, bool reference)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	if (reference)
		put_reference(c, key, begin, text, "");
	else
		put_id(c, key, begin, text, "");
}

/* An action's id is its process and image, in one run. */
static void put_action_id(struct crate *c, const char *key, const struct lake_process *p, bool reference)
{
	char image[24];

	snprintf(image, sizeof(image), "-%" PRIu64, p->image);
	if (reference)
		put_reference(c, key, "#", p->upid, image);
	else
		put_id(c, key, "#", p->upid, image);
}

static const char *tool_of(const struct lake_process *p)
{
	return *p->kind->tool ? p->kind->tool : *p->kind->comm ? p->kind->comm : "unknown";
}

/* ---- sets ------------------------------------------------------------------------------ */

static int text_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int number_order(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static size_t sort_texts(const char **list, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(list, n, sizeof(*list), text_order);
	for (size_t i = 0; i < n; i++)
		if (!kept || strcmp(list[kept - 1], list[i]) != 0)
			list[kept++] = list[i];
	return kept;
}

static size_t sort_numbers(uint64_t *list, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(list, n, sizeof(*list), number_order);
	for (size_t i = 0; i < n; i++)
		if (!kept || list[kept - 1] != list[i])
			list[kept++] = list[i];
	return kept;
}

/* Files by run, process (the last image), then entry. */
static int written_order(const void *a, const void *b, void *arg)
{
	const struct entry *x = *(const struct entry *const *)a, *y = *(const struct entry *const *)b;
	const struct entries *e = arg;
	size_t of_x, of_y;

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	of_x = entry_run(e, x)->opens[x->at].process;
	of_y = entry_run(e, y)->opens[y->at].process;
	if (of_x != of_y)
		return of_x < of_y ? -1 : 1;
	return (x > y) - (x < y);
}

static int collect(struct crate *c)
{
	const struct entries *e = c->entries;

	c->tools = calloc(e->n + 1, sizeof(char *));
	c->files = calloc(e->n + 1, sizeof(char *));
	c->users = calloc(e->n + 1, sizeof(*c->users));
	c->written = calloc(e->n + 1, sizeof(const struct entry *));
	if (!c->tools || !c->files || !c->users || !c->written)
		return -ENOMEM;
	c->users[c->n_users++] = root(c)->uid;
	for (size_t i = 0; i < e->n; i++) {
		const struct entry *entry = &e->list[i];
		const struct lake_process *p = entry_process(e, entry);

		if (entry->kind == ENTRY_EXEC) {
			c->tools[c->n_tools++] = tool_of(p);
			c->users[c->n_users++] = p->kind->uid;
		} else if (entry->kind == ENTRY_OPEN) {
			c->files[c->n_files++] = entry_run(e, entry)->opens[entry->at].path;
			c->written[c->n_written++] = entry;
		}
	}
	c->n_tools = sort_texts(c->tools, c->n_tools);
	c->n_files = sort_texts(c->files, c->n_files);
	c->n_users = sort_numbers(c->users, c->n_users);
	if (c->n_written)
		qsort_r(c->written, c->n_written, sizeof(*c->written), written_order, (void *)(uintptr_t)e);
	return 0;
}

/* ---- entities -------------------------------------------------------------------------- */

static void begin(struct crate *c)
{
	json_stream_open(&c->json, NULL, '{');
}

static void end(struct crate *c)
{
	json_stream_close(&c->json, '}');
}

static void put_type(struct crate *c, const char *type)
{
	json_stream_string(&c->json, "@type", type);
}

static void put_descriptor(struct crate *c)
{
	begin(c);
	json_stream_string(&c->json, "@id", "ro-crate-metadata.json");
	put_type(c, "CreativeWork");
	put_reference(c, "conformsTo", "https://w3id.org/ro/crate/1.1", "", "");
	put_reference(c, "about", "./", "", "");
	end(c);
	begin(c);
	json_stream_string(&c->json, "@id", PROFILE);
	put_type(c, "CreativeWork");
	json_stream_string(&c->json, "name", "Process Run Crate");
	json_stream_string(&c->json, "version", "0.5");
	end(c);
}

static void put_root(struct crate *c)
{
	const struct lake_run *run = root(c);
	const char *name = *run->name ? run->name : run->id;
	char *text = text_format("What run %s (%s) executed on host %s, as skep recorded it", run->id, name, run->host);

	begin(c);
	json_stream_string(&c->json, "@id", "./");
	put_type(c, "Dataset");
	put_reference(c, "conformsTo", PROFILE, "", "");
	json_stream_string(&c->json, "name", name);
	json_stream_string(&c->json, "description", text);
	json_stream_string(&c->json, "identifier", run->id);
	json_stream_time(&c->json, "datePublished", run->end_ns ? run->end_ns : run->start_ns);
	json_stream_string(&c->json, "license", "Not stated: a record of executions, for those who may read the run");
	json_stream_open(&c->json, "hasPart", '[');
	put_reference(c, NULL, AUDIT_FILE, "", "");
	for (size_t i = 0; i < c->n_files; i++)
		put_file(c, NULL, c->files[i], true);
	json_stream_close(&c->json, ']');
	json_stream_open(&c->json, "mentions", '[');
	for (size_t i = 0; i < c->entries->n; i++)
		if (c->entries->list[i].kind == ENTRY_EXEC)
			put_action_id(c, NULL, entry_process(c->entries, &c->entries->list[i]), true);
	json_stream_close(&c->json, ']');
	end(c);
	if (!text)
		c->json.err = c->json.err ? c->json.err : -ENOMEM;
	free(text);
}

static void put_things(struct crate *c)
{
	char name[48];

	begin(c);
	json_stream_string(&c->json, "@id", AUDIT_FILE);
	put_type(c, "File");
	json_stream_string(&c->json, "name", "Hash-chained audit of the run");
	json_stream_string(&c->json, "encodingFormat", "application/x-ndjson");
	json_stream_string(&c->json, "identifier", c->head);
	end(c);
	for (size_t i = 0; i < c->n_tools; i++) {
		begin(c);
		put_id(c, "@id", "#tool-", c->tools[i], "");
		put_type(c, "SoftwareApplication");
		json_stream_string(&c->json, "name", c->tools[i]);
		end(c);
	}
	for (size_t i = 0; i < c->n_users; i++) {
		begin(c);
		put_number_id(c, "@id", "#uid-", c->users[i], false);
		put_type(c, "Person");
		snprintf(name, sizeof(name), "user id %" PRIu64, c->users[i]);
		json_stream_string(&c->json, "name", name);
		end(c);
	}
	for (size_t i = 0; i < c->n_files; i++) {
		const char *slash = strrchr(c->files[i], '/');

		begin(c);
		put_file(c, "@id", c->files[i], false);
		put_type(c, "File");
		json_stream_string(&c->json, "name", slash && slash[1] ? slash + 1 : c->files[i]);
		json_stream_string(&c->json, "alternateName", c->files[i]);
		end(c);
	}
}

/* What the process opened for writing: opens are counted by process, so they belong to its last image. */
static void put_results(struct crate *c, const struct entry *action)
{
	size_t low = 0, high = c->n_written;
	bool any = false;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct entry *w = c->written[middle];
		const size_t at = entry_run(c->entries, w)->opens[w->at].process;

		if (w->run < action->run || (w->run == action->run && at < action->at))
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < c->n_written; low++) {
		const struct entry *w = c->written[low];
		const struct lake_open *o = &entry_run(c->entries, w)->opens[w->at];

		if (w->run != action->run || o->process != action->at)
			break;
		if (!any)
			json_stream_open(&c->json, "result", '[');
		any = true;
		put_file(c, NULL, o->path, true);
	}
	if (any)
		json_stream_close(&c->json, ']');
}

static void put_action(struct crate *c, const struct entry *entry)
{
	const struct lake_process *p = entry_process(c->entries, entry);
	char *command = text_argv(p->argv, p->argv_cut, true, 0), error[64];
	const bool failed = p->kind->signal || p->kind->exit_code > 0;

	begin(c);
	put_action_id(c, "@id", p, false);
	put_type(c, "CreateAction");
	json_stream_string(&c->json, "name", *p->task ? p->task : tool_of(p));
	json_stream_string(&c->json, "description", command);
	put_reference(c, "instrument", "#tool-", tool_of(p), "");
	put_number_id(c, "agent", "#uid-", p->kind->uid, true);
	if (p->start_ns)
		json_stream_time(&c->json, "startTime", p->start_ns);
	if (p->end_ns)
		json_stream_time(&c->json, "endTime", p->end_ns);
	put_results(c, entry);
	if (failed) {
		put_reference(c, "actionStatus", "http://schema.org/FailedActionStatus", "", "");
		snprintf(error, sizeof(error), p->kind->signal ? "signal %" PRIu64 : "exit code %" PRIu64,
			 p->kind->signal ? p->kind->signal : (uint64_t)p->kind->exit_code);
		json_stream_string(&c->json, "error", error);
	} else if (p->kind->exit_code == 0) {
		put_reference(c, "actionStatus", "http://schema.org/CompletedActionStatus", "", "");
	}
	end(c);
	if (!command)
		c->json.err = c->json.err ? c->json.err : -ENOMEM;
	free(command);
}

static int write_metadata(struct crate *c, FILE *out)
{
	c->json = (struct json_stream){ .out = out };
	json_stream_open(&c->json, NULL, '{');
	json_stream_open(&c->json, "@context", '[');
	json_stream_string(&c->json, NULL, "https://w3id.org/ro/crate/1.1/context");
	json_stream_string(&c->json, NULL, "https://w3id.org/ro/terms/workflow-run/context");
	json_stream_close(&c->json, ']');
	json_stream_open(&c->json, "@graph", '[');
	put_descriptor(c);
	put_root(c);
	put_things(c);
	for (size_t i = 0; i < c->entries->n; i++)
		if (c->entries->list[i].kind == ENTRY_EXEC)
			put_action(c, &c->entries->list[i]);
	json_stream_close(&c->json, ']');
	json_stream_close(&c->json, '}');
	return json_stream_end(&c->json);
}

static int write_audit(struct crate *c, FILE *out)
{
	return audit_json(c->entries, out, c->head);
}

static int write_file(struct crate *c, int folder, const char *name, int (*write)(struct crate *, FILE *))
{
	const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	int rc;

	if (!out) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	rc = write(c, out);
	if (fclose(out) != 0 && !rc)
		rc = errno ? -errno : -EIO;
	return rc;
}

int audit_crate(const struct entries *e, const char *folder, char *why, size_t why_size)
{
	struct crate c = { .entries = e };
	const char *file = NULL;
	int fd = -1, rc = collect(&c);

	if (!rc && mkdir(folder, 0777) != 0)
		rc = -errno;
	if (!rc) {
		fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = fd < 0 ? -errno : 0;
	}
	if (!rc) {
		file = AUDIT_FILE;
		rc = write_file(&c, fd, file, write_audit);
	}
	if (!rc) {
		file = "ro-crate-metadata.json";
		rc = write_file(&c, fd, file, write_metadata);
	}
	if (rc)
		snprintf(why, why_size, "%s%s%s: %s", folder, file ? "/" : "", file ? file : "", strerror(-rc));
	if (fd >= 0)
		close(fd);
	free(c.tools);
	free(c.files);
	free(c.users);
	free(c.written);
	return rc;
}
