/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_audit.c - the request `audit_publish`: sends the head of a run's audit to all sinks, so that it
 * is kept where the users of this host cannot change it.
 *
 * skepd keeps no chain, so it cannot check the head, nor whose a run of the past was: the record has the user id of the
 * client, and a reader compares it with the run's.
 */
#include "core/control/control_priv.h"
#include "core/control/control_record.h"

json_t *control_answer_audit_publish(const struct control_client *client, const struct control_request *request)
{
	collector_audit(client->control->collector, request->run, request->head, request->entries, client->peer.uid);
	return json_pack("{s:b, s:s, s:o}", "ok", 1, "request", "audit_publish", "uid",
			 control_json_number(client->peer.uid));
}
