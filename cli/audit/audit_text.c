/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/audit_text.c - an audit for people: a line for each entry, however long.  Text of processes is escaped, so
 * no argument can look like an entry.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/audit_print.h"
#include "cli/base/human.h"
#include "cli/base/text.h"

/* Prints a text of processes, and frees it; NULL: memory ran out. */
static void print_taken(const struct paint *p, const char *before, char *text)
{
	fprintf(p->out, "%s%s", before, text ? text : "?");
	free(text);
}

static void print_safe(const struct paint *p, const char *before, const char *text)
{
	if (text && *text)
		print_taken(p, before, text_safe(text, p->unicode));
}

static void print_command(const struct paint *p, const char *const *argv, bool cut)
{
	print_taken(p, "", text_argv(argv, cut, p->unicode, 0));
}

static void print_image(const struct paint *p, const struct lake_process *image)
{
	if (*image->argv)
		print_command(p, image->argv, image->argv_cut);
	else
		print_safe(p, "", image->kind->comm);
	fprintf(p->out, "  (pid %" PRIu64 ", parent %" PRIu64 ", uid %" PRIu64, image->pid, image->ppid,
		image->kind->uid);
	print_safe(p, ", ", image->kind->exe);
	print_safe(p, ", in ", image->kind->cwd);
	print_safe(p, ", task ", image->task);
	print_safe(p, ", container ", image->kind->container);
	fputc(')', p->out);
}

static void print_end(const struct paint *p, const struct lake_process *image)
{
	print_safe(p, "", *image->kind->tool ? image->kind->tool : image->kind->comm);
	fprintf(p->out, " pid %" PRIu64, image->pid);
	if (image->kind->signal)
		fprintf(p->out, " signal %" PRIu64, image->kind->signal);
	else if (image->kind->exit_code >= 0)
		fprintf(p->out, " exit %" PRId64, image->kind->exit_code);
	else
		print_safe(p, " ", image->kind->state);
	fputs(image->kind->oom_killed ? ", out of memory" : "", p->out);
	fputs(image->kind->core_dumped ? ", core dumped" : "", p->out);
}

static void print_actor(const struct paint *p, const struct lake_process *image, const char *upid)
{
	if (!image) {
		print_safe(p, "  (process ", upid);
		fputc(')', p->out);
		return;
	}
	print_safe(p, "  (", *image->kind->tool ? image->kind->tool : image->kind->comm);
	fprintf(p->out, ", pid %" PRIu64 ")", image->pid);
}

static void print_connection(const struct paint *p, const struct lake_connection *c)
{
	print_safe(p, "", c->peer);
	fprintf(p->out, " port %" PRIu64, c->peer_port);
	print_safe(p, " from ", c->local);
	fprintf(p->out, " port %" PRIu64, c->local_port);
	print_safe(p, ", ", c->state);
	print_safe(p, ", ", c->error);
	fprintf(p->out, ", %" PRIu64 " bytes in, %" PRIu64 " out", c->rx_bytes, c->tx_bytes);
}

void audit_text_entry(const struct entries *e, const struct entry *entry, const struct paint *p)
{
	const struct lake_report *r = entry_run(e, entry);
	const struct lake_process *image = entry_process(e, entry);

	paint(p, entry->kind == ENTRY_LOSS ? INK_RED : INK_BOLD, "%-14s", entry_kind_name(entry->kind));
	fputc(' ', p->out);
	switch (entry->kind) {
	case ENTRY_RUN:
		print_safe(p, "", r->run.id);
		print_safe(p, " ", r->run.name);
		break;
	case ENTRY_EXEC:
	case ENTRY_FORK:
		print_image(p, image);
		break;
	case ENTRY_OPEN:
		print_safe(p, "", r->opens[entry->at].path);
		print_actor(p, image, r->opens[entry->at].upid);
		break;
	case ENTRY_CONNECT:
	case ENTRY_ACCEPT:
		print_connection(p, &r->connections[entry->at]);
		print_actor(p, image, r->connections[entry->at].upid);
		break;
	case ENTRY_EXIT:
		print_end(p, image);
		break;
	case ENTRY_LOSS:
		fprintf(p->out, "%" PRIu64 " records of ", r->losses[entry->at].count);
		print_safe(p, "", r->losses[entry->at].stream);
		print_safe(p, ", by ", r->losses[entry->at].instance);
		print_safe(p, ", in the ", r->losses[entry->at].where);
		break;
	}
	fputc('\n', p->out);
}

static void print_head(const struct entries *e, const struct paint *p)
{
	const struct lake_run *run = &e->audit->runs[0]->run;
	char begin[HUMAN_SIZE], end[HUMAN_SIZE];

	fputs("run ", p->out);
	print_safe(p, "", run->id);
	print_safe(p, " ", run->name);
	print_safe(p, " on ", run->host);
	print_safe(p, ", boot ", run->boot_id);
	print_safe(p, ", recorded by skep ", run->version);
	fprintf(p->out, "\n%s to %s, uid %" PRIu64 ": ",
		human_date(run->start_ns, HUMAN_DATE | HUMAN_CLOCK | HUMAN_ZONE, begin),
		run->end_ns ? human_date(run->end_ns, HUMAN_DATE | HUMAN_CLOCK | HUMAN_ZONE, end) : "now", run->uid);
	print_command(p, run->argv, false);
	fputs("\n\n", p->out);
}

static int drop_line(void *arg, const char *line, size_t n)
{
	(void)arg;
	(void)line;
	(void)n;
	return 0;
}

static int flush(FILE *out)
{
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

int audit_text(const struct entries *e, FILE *out, const struct paint_style *style, char ret_head[CANON_HASH + 1])
{
	struct chain chain = { .put = drop_line };
	struct paint p;
	char date[HUMAN_SIZE], last[HUMAN_SIZE] = "";
	int rc = entries_chain(e, &chain);

	if (rc)
		return rc;
	errno = 0;
	paint_init(&p, out, style);
	print_head(e, &p);
	for (size_t i = 0; i < e->n && !ferror(out); i++) {
		const uint64_t ns = e->list[i].time_ns;

		human_date(ns, HUMAN_DATE, date);
		if (ns && strcmp(date, last) != 0)
			paint(&p, INK_DIM, "%s\n", strcpy(last, date)); /* NOLINT: both have HUMAN_SIZE */
		fprintf(out, "%6zu ", i + 1);
		if (ns)
			fprintf(out, "%s.%06u ", human_date(ns, HUMAN_CLOCK, date), (unsigned)(ns / 1000 % 1000000));
		else
			fprintf(out, "%-15s ", "-");
		audit_text_entry(e, &e->list[i], &p);
	}
	fprintf(out, "\n%zu entries; head of the chain %zu:%s\n", e->n, e->n, chain.head);
	memcpy(ret_head, chain.head, sizeof(chain.head));
	return flush(out);
}

static int put_line(void *arg, const char *line, size_t n)
{
	errno = 0;
	return fwrite(line, 1, n, arg) == n ? 0 : errno ? -errno : -EIO;
}

int audit_json(const struct entries *e, FILE *out, char ret_head[CANON_HASH + 1])
{
	struct chain chain = { .put = out ? put_line : drop_line, .arg = out };
	int rc = entries_chain(e, &chain);

	if (!rc && out)
		rc = flush(out);
	if (!rc)
		memcpy(ret_head, chain.head, sizeof(chain.head));
	return rc;
}
