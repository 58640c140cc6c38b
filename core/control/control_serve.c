/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_serve.c - parses a request and calls the function that answers it.
 */
#include "core/control/control_plugins.h"
#include "core/control/control_priv.h"

void control_serve(struct control_client *client, const char *line, size_t len)
{
	struct control *control = client->control;
	struct control_request request;
	char why[CONTROL_WHY_SIZE];
	int err = control_request_parse(line, len, &request, why);

	if (err < 0) {
		control_send(client, control_error("bad_request", why));
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
	case CONTROL_LOGLEVEL:
		control_send(client, control_answer_loglevel(&request));
		break;
	}
	control_request_clear(&request);
}
