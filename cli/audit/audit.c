/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/audit/audit.c - `skep audit`: lists what a run executed as a chain of hashes; checks, exports and publishes it.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/audit_print.h"
#include "cli/audit/verify.h"
#include "cli/base/ctl.h"
#include "cli/base/json_out.h"
#include "cli/base/question.h"
#include "cli/base/skep.h"

#define DIFFERENCES_MOST 20u

struct audit_options {
	const char *lake, *verify, *head, *crate, *socket;
	bool json, print_head, publish;
};

static const struct command_option options[] = {
	{ "json", .help = "print the chain: a line of JSON for each entry; with --verify the result",
	  COMMAND_AT(struct audit_options, json) },
	{ "print-head", .help = "print only the chain's head, COUNT:HASH, to keep it elsewhere",
	  COMMAND_AT(struct audit_options, print_head) },
	{ "publish", .help = "send the head to all sinks of skepd, as a record of the stream `audit`",
	  COMMAND_AT(struct audit_options, publish) },
	{ "crate", .value = "DIR", .help = "make the folder DIR: a Workflow Run RO-Crate with the chain",
	  COMMAND_AT(struct audit_options, crate) },
	{ "verify", .value = "FILE", .help = "check the chain in FILE (-: the input); with RUN also whether the lake still "
	  "gives it", COMMAND_AT(struct audit_options, verify) },
	{ "head", .value = "[COUNT:]HASH", .help = "with --verify: the head that you kept; finds a chain that was cut or "
	  "written anew", COMMAND_AT(struct audit_options, head) },
	{ "socket", .value = "PATH", .help = "the control socket of --publish (default: $SKEP_SOCKET, else the service's)",
	  COMMAND_AT(struct audit_options, socket) },
	QUESTION_LAKE(struct audit_options, lake),
	{ 0 },
};

static int run_audit(int argc, char **argv);

const struct command cmd_audit = {
	.name = "audit",
	.operands = "[RUN|last]",
	.summary = "list what a run or a session executed, as a chain of hashes",
	.about = "RUN is a run's id, the beginning of an id, a name, or `last`, the default; `skep runs --all` lists sessions "
		 "too. The list has the runs that began in it.\n",
	.options = options,
	.notes =
		"Entries in the order of time: programs executed and their ends; files opened for writing, while the detail "
		"`opens` was attached; TCP connections, with the probe net; runs that began within the run; losses of "
		"records. Each line of --json has the hash of the line before it (RFC 8785, SHA-256).\n"
		"A chain proves that its entries are unchanged and complete since skep wrote them. A user who can write the "
		"lake can make another chain, so keep the head elsewhere: --print-head, --publish.\n"
		"Exit codes of --verify: 0 the chain holds; 6 it is broken, or --head names another chain; 7 it holds, "
		"and the lake has other entries.\n",
	.most = 1,
	.run = run_audit,
};

/* ---- publish --------------------------------------------------------------------------- */

static int publish(const struct audit_options *o, const struct entries *e, const char *head)
{
	const struct lake_run *run = &e->audit->runs[0]->run;
	struct ctl *ctl = NULL;
	json_t *answer = NULL;
	int status;

	if (!run->end_ns)
		skep_say("audit", "run %s has not ended: its next audit will have another head", run->id);
	status = ctl_open("audit", o->socket, &ctl);
	if (status == SKEP_EXIT_OK)
		status = ctl_ask("audit", ctl,
				 json_pack("{s:s, s:s, s:s, s:I}", "request", "audit_publish", "run", run->id, "head", head,
					   "entries", (json_int_t)e->n),
				 &answer);
	if (status == SKEP_EXIT_OK)
		printf("published: run %s %zu:%s\n", run->id, e->n, head);
	json_decref(answer);
	ctl_close(ctl);
	return status;
}

/* ---- verify ---------------------------------------------------------------------------- */

struct check {
	const struct audit_options *o;
	struct verify v;
	const struct entries *entries; /* NULL: the file alone */
	struct verify_difference *differences;
	size_t n_differences;
};

static void print_difference(const struct check *c, const struct verify_difference *d)
{
	struct paint p;

	if (!d->in_lake) {
		printf("  line %" PRIu64 ": entry %" PRIu64 " is not in the lake: it was changed or removed there\n",
		       d->seq + 1, d->seq);
		return;
	}
	paint_init(&p, stdout, NULL);
	printf("  the lake has instead, as entry %" PRIu64 ": ", d->seq);
	if (d->seq >= 1 && d->seq <= c->entries->n)
		audit_text_entry(c->entries, &c->entries->list[d->seq - 1], &p);
	else
		puts(d->seq ? "another end" : "another header");
}

static void print_check(const struct check *c)
{
	const struct verify *v = &c->v;

	if (v->broken) {
		printf("%s: the chain is broken in line %" PRIu64 ": %s: %s\n", c->o->verify, v->line,
		       verify_break_name(v->broken), v->why);
		return;
	}
	printf("%s: the chain of run %s holds: %" PRIu64 " entries, head %" PRIu64 ":%s%s\n", c->o->verify, v->run,
	       v->entries, v->entries, v->head, c->o->head ? ", as you gave it" : "");
	if (!c->entries)
		return;
	puts(c->n_differences ? "the lake gives another chain:" : "the lake gives the same chain");
	for (size_t i = 0; i < c->n_differences && i < DIFFERENCES_MOST; i++)
		print_difference(c, &c->differences[i]);
	if (c->n_differences > DIFFERENCES_MOST)
		printf("  and %zu more\n", c->n_differences - DIFFERENCES_MOST);
}

static int print_check_json(const struct check *c)
{
	const struct verify *v = &c->v;
	json_t *lake = c->entries ? json_array() : json_null(), *broken = json_null();

	for (size_t i = 0; c->entries && i < c->n_differences; i++)
		json_array_append_new(lake, json_pack("{s:s, s:I}", "only_in", c->differences[i].in_lake ? "lake" : "file",
						      "seq", (json_int_t)c->differences[i].seq));
	if (v->broken)
		broken = json_pack("{s:s, s:I, s:o}", "kind", verify_break_name(v->broken), "line", (json_int_t)v->line, "why",
				   json_out_string(v->why));
	return json_out_write(json_pack("{s:o, s:o, s:s, s:I, s:b, s:o, s:o}", "file", json_out_string(c->o->verify), "run",
					json_out_string(v->run), "head", v->head, "entries", (json_int_t)v->entries, "holds",
					!v->broken, "broken", broken, "lake_differences", lake),
			      stdout);
}

static int say_check(const struct check *c)
{
	int rc = 0;

	if (c->o->json)
		rc = print_check_json(c);
	else
		print_check(c);
	if (rc || fflush(stdout) != 0)
		return skep_fail("audit", SKEP_EXIT_RUNTIME, "cannot write the result: %s", strerror(rc ? -rc : errno));
	if (c->v.broken)
		return SKEP_EXIT_BROKEN;
	return c->n_differences ? SKEP_EXIT_DIFFERS : SKEP_EXIT_OK;
}

/* Reads the file into c->v. */
static int read_chain(struct check *c)
{
	const char *path = c->o->verify;
	struct verify_head head = { 0 };
	FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	int rc;

	if (!in)
		return skep_fail("audit", SKEP_EXIT_RUNTIME, "%s: %s", path, strerror(errno));
	if (c->o->head)
		verify_head_read(c->o->head, &head); /* run_audit has checked it */
	rc = verify_chain(in, &head, &c->v);
	if (in != stdin)
		fclose(in);
	if (rc == -EFBIG)
		return skep_fail("audit", SKEP_EXIT_BROKEN, "%s: a line of more than 64 MiB: no audit", path);
	return rc ? skep_fail("audit", SKEP_EXIT_RUNTIME, "%s: %s", path, strerror(-rc)) : SKEP_EXIT_OK;
}

/* entries: of the lake's run; NULL: checks the file alone. */
static int verify(const struct audit_options *o, const struct entries *entries)
{
	struct check c = { .o = o, .entries = entries };
	int status = read_chain(&c), rc = 0;

	if (status == SKEP_EXIT_OK && !c.v.broken && entries) {
		const char *run = entries->audit->runs[0]->run.id;

		if (strcmp(run, c.v.run) != 0)
			status = skep_usage("audit", "%s is the audit of run %s, not of %s: name that run", o->verify, c.v.run,
					    run);
		else
			rc = verify_lake(&c.v, entries, &c.differences, &c.n_differences);
	}
	if (rc)
		status = skep_fail("audit", SKEP_EXIT_RUNTIME, "cannot compare with the lake: %s", strerror(-rc));
	if (status == SKEP_EXIT_OK)
		status = say_check(&c);
	free(c.differences);
	free(c.v.bodies);
	return status;
}

/* ---- the command ------------------------------------------------------------------------- */

static int print(const struct audit_options *o, const struct entries *e)
{
	char head[CANON_HASH + 1] = "", why[512] = "";
	int rc;

	if (o->crate) {
		rc = audit_crate(e, o->crate, why, sizeof(why));
		return rc ? skep_fail("audit", SKEP_EXIT_RUNTIME, "cannot make the crate: %s", why) : SKEP_EXIT_OK;
	}
	if (o->json)
		rc = audit_json(e, stdout, head);
	else if (o->print_head || o->publish)
		rc = audit_json(e, NULL, head);
	else
		rc = audit_text(e, stdout, NULL, head);
	if (rc)
		return skep_fail("audit", SKEP_EXIT_RUNTIME, "cannot write the audit: %s", strerror(-rc));
	if (o->publish)
		return publish(o, e, head);
	if (o->print_head)
		printf("%zu:%s\n", e->n, head);
	return SKEP_EXIT_OK;
}

static int answer(const char *which, const struct audit_options *o)
{
	struct lake *lake = NULL;
	struct lake_audit *audit = NULL;
	struct entries entries = { 0 };
	char why[1024] = "";
	int rc, partial, status = question_open("audit", o->lake, which, 0, &lake);

	if (status)
		return status;
	rc = lake_audit(lake, which, &audit, why, sizeof(why));
	if (rc) {
		status = skep_fail("audit", SKEP_EXIT_RUNTIME, "%s", why);
		goto out;
	}
	if (entries_new(audit, &entries) != 0) {
		status = skep_fail("audit", SKEP_EXIT_RUNTIME, "out of memory");
		goto out;
	}
	status = o->verify ? verify(o, &entries) : print(o, &entries);
	partial = question_partial("audit", lake, audit->runs[0]);
	status = status ? status : partial;
out:
	entries_free(&entries);
	lake_audit_free(audit);
	lake_close(lake);
	return status;
}

static int run_audit(int argc, char **argv)
{
	struct audit_options o = { 0 };
	struct verify_head head;
	int status = command_parse(&cmd_audit, argc, argv, &o);
	const int forms = o.print_head + o.publish + (o.crate != NULL) + (o.verify != NULL);

	if (status >= 0)
		return status;
	if (forms > 1 || (o.json && forms && !o.verify))
		return skep_usage("audit", "--json, --print-head, --publish, --crate, --verify: one of them (--verify also with "
				  "--json)");
	if (o.head && !o.verify)
		return skep_usage("audit", "--head %s: only with --verify FILE; --print-head prints the head", o.head);
	if (o.head && verify_head_read(o.head, &head) != 0)
		return skep_usage("audit", "--head %s: not [COUNT:]HASH with 64 hexadecimal digits, as --print-head prints it",
				  o.head);
	if (o.socket && !o.publish)
		return skep_usage("audit", "--socket: only with --publish");
	if (o.verify && optind == argc)
		return verify(&o, NULL);
	return answer(optind < argc ? argv[optind] : "last", &o);
}
