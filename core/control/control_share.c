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
	unsigned all = 0, own = 0, others = 0, strangers = 0;
	unsigned most = client->peer.member ? CONTROL_CLIENTS_USER : CONTROL_STRANGERS_USER;

	for (const struct control_client *c = client->control->clients; c; c = c->next) {
		if (c->run || c->refused)
			continue;
		all++;
		own += c->peer.uid == client->peer.uid;
		others += !control_privileged(c->peer.uid);
		strangers += !c->peer.member;
	}
	*ret_most = CONTROL_CLIENTS_MAX;
	if (all > CONTROL_CLIENTS_MAX)
		return false;
	if (control_privileged(client->peer.uid))
		return true;
	*ret_most = own > most ? most : CONTROL_CLIENTS_OTHERS;
	if (own > most || others > CONTROL_CLIENTS_OTHERS)
		return false;
	*ret_most = CONTROL_STRANGERS;
	return client->peer.member || strangers <= CONTROL_STRANGERS;
}

static unsigned share_of(const struct control *control, uint32_t uid)
{
	unsigned i = 0;

	while (i < control->n_shares && control->shares[i].uid != uid)
		i++;
	return i < CONTROL_CLIENTS_MAX ? i : CONTROL_CLIENTS_MAX - 1;
}

void control_share_spend(struct control_client *client, uint64_t ns)
{
	struct control *control = client->control;
	unsigned i = share_of(control, client->peer.uid);

	if (i == control->n_shares)
		control->shares[control->n_shares++] = (struct control_share){ .uid = client->peer.uid };
	control->shares[i].ns += ns;
	if (!client->peer.member)
		control->strangers_ns += ns;
}

bool control_share_spent(const struct control_client *client)
{
	const struct control *control = client->control;
	unsigned i = share_of(control, client->peer.uid);

	if (!client->peer.member && control->strangers_ns >= CONTROL_STRANGERS_NS)
		return true;
	return i < control->n_shares && control->shares[i].ns >= CONTROL_SHARE_NS &&
	       !control_privileged(client->peer.uid);
}

void control_share_renew(struct control *control)
{
	control->n_shares = 0;
	control->strangers_ns = 0;
	for (unsigned i = 0; i < CONTROL_DOORS; i++)
		control->doors[i].accepts = 0;
}
