/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_share.c - limits for one user of the control socket: connections and the loop's time.
 *
 * Root and the user that skepd runs as have no limit: they can stop skepd anyway.
 */
#include <unistd.h>

#include "core/control/control_priv.h"

bool control_privileged(uint32_t uid)
{
	return uid == 0 || uid == geteuid();
}

bool control_share_room(const struct control_client *client, unsigned *ret_most)
{
	unsigned own = 0, others = 0;

	*ret_most = CONTROL_CLIENTS_MAX;
	if (client->control->n_clients - client->control->n_runs > CONTROL_CLIENTS_MAX)
		return false;
	if (control_privileged(client->peer.uid))
		return true;
	for (const struct control_client *c = client->control->clients; c; c = c->next) {
		if (c->run)
			continue;
		own += c->peer.uid == client->peer.uid;
		others += !control_privileged(c->peer.uid);
	}
	*ret_most = own > CONTROL_CLIENTS_USER ? CONTROL_CLIENTS_USER : CONTROL_CLIENTS_OTHERS;
	return own <= CONTROL_CLIENTS_USER && others <= CONTROL_CLIENTS_OTHERS;
}

static unsigned share_of(const struct control *control, uint32_t uid)
{
	unsigned i = 0;

	while (i < control->n_shares && control->shares[i].uid != uid)
		i++;
	return i < CONTROL_CLIENTS_MAX ? i : CONTROL_CLIENTS_MAX - 1;
}

void control_share_spend(struct control *control, uint32_t uid, uint64_t ns)
{
	unsigned i = share_of(control, uid);

	if (i == control->n_shares)
		control->shares[control->n_shares++] = (struct control_share){ .uid = uid };
	control->shares[i].ns += ns;
}

bool control_share_spent(const struct control *control, uint32_t uid)
{
	unsigned i = share_of(control, uid);

	return i < control->n_shares && control->shares[i].ns >= CONTROL_SHARE_NS && !control_privileged(uid);
}

void control_share_renew(struct control *control)
{
	control->n_shares = 0;
	control->accepts = 0;
}
