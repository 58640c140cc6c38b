/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_serve.c - parses a request and calls the function that answers it.
 */
#include <stdio.h>

#include "core/control/control_plugins.h"
#include "core/control/control_priv.h"

/* The connection stays: the next request may be one for every user. */
static void refuse_stranger(struct control_client *client, const char *request)
{
	char why[CONTROL_WHY_SIZE];

	snprintf(why, sizeof(why), "uid %u may not ask `%s`: " CONTROL_FOR_MEMBERS, client->peer.uid, request);
	control_send(client, control_error("permission", why));
}

/*
 * In a client's own namespace a pid or a cgroup's path means something else than in skepd's. Returns what to say; NULL:
 * the request has none. The requests of a run have their own way (control_child.c).
 */
static const char *names_elsewhere(const struct control_client *client, const struct control_request *r)
{
	if (r->what != CONTROL_ATTACH && r->what != CONTROL_RECOGNIZE)
		return NULL;
	if (r->pid && !control_peer_shares(&client->peer, "pid"))
		return "your pid namespace is not skepd's, so the pid means another process there: ask in skepd's, "
		       "or name a run instead";
	if (r->cgroup && *r->cgroup == '/' && !control_peer_shares(&client->peer, "cgroup"))
		return "your cgroup namespace is not skepd's, so the path means another cgroup there: give the "
		       "cgroup's id, which stat -c %i prints of its folder";
	return NULL;
}

void control_serve(struct control_client *client, const char *line, size_t len)
{
	struct control *control = client->control;
	struct control_request request;
	const char *foreign;
	char why[CONTROL_WHY_SIZE];
	int err = control_request_parse(line, len, &request, why);

	if (err < 0) {
		control_send(client, control_error("bad_request", why));
		return;
	}
	if (!request.any && !client->peer.member) {
		refuse_stranger(client, request.name);
		control_request_clear(&request);
		return;
	}
	foreign = names_elsewhere(client, &request);
	if (foreign) {
		control_send(client, control_error("bad_request", foreign));
		control_request_clear(&request);
		return;
	}
	switch (request.what) {
	case CONTROL_STATUS:
		control_send(client, control_answer_status(control));
		break;
	case CONTROL_PLUGINS:
		control_send(client, control_plugins(control->collector));
		break;
	case CONTROL_DETAILS:
		control_send(client, control_answer_details(control));
		break;
	case CONTROL_RUNS:
		control_send(client, control_answer_runs(control));
		break;
	case CONTROL_ATTACH:
		control_attach(client, &request);
		break;
	case CONTROL_DETACH:
		control_detach(client, &request);
		break;
	case CONTROL_RELOAD:
		control_reload(client, &request);
		break;
	case CONTROL_RULES:
		control_send(client, control_answer_rules(control));
		break;
	case CONTROL_RECOGNIZE:
		control_send(client, control_answer_recognize(client, &request));
		break;
	case CONTROL_STATS:
		control_send(client, control_answer_stats(control));
		break;
	case CONTROL_RUN_BEGIN:
		control_run_begin(client, &request);
		break;
	case CONTROL_RUN_RESUME:
		control_run_resume(client, &request);
		break;
	case CONTROL_RUN_END:
		control_run_end(client, &request);
		break;
	case CONTROL_TASK_BEGIN:
		control_task_begin(client, &request);
		break;
	case CONTROL_VERSION:
		control_send(client, control_answer_version(client));
		break;
	case CONTROL_LAKE_COPY:
		control_lake_copy(client, &request);
		break;
	case CONTROL_AUDIT_PUBLISH:
		control_send(client, control_answer_audit_publish(client, &request));
		break;
	case CONTROL_WATCH:
		control_watch(client);
		break;
	case CONTROL_LOGLEVEL:
		control_send(client, control_answer_loglevel(&request));
		break;
	}
	control_request_clear(&request);
}
