/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/identity.c - the stream host.identity: at the start and on a change; and the
 * questions to the cloud, which are asked on the host's pool.
 */
#include "identity.h"

#include <errno.h>
#include <skep/values.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define CLOUD_WITHIN_NS UINT64_C(1000000000) /* each request: the service is on this machine's own host */
#define CLOUD_AGAIN_NS  UINT64_C(10000000000) /* a network that comes up late: twice that, and so on */
#define CLOUD_TRIES     5u

struct identity *identity_free(struct identity *id)
{
	free(id);
	return NULL;
}

struct cloud *cloud_free(struct cloud *c)
{
	free(c);
	return NULL;
}

static void emit(struct skep_instance *inst, const struct host_probe *st, uint64_t now_ns)
{
	const struct identity_os *os = &st->identity->os;
	const struct identity_machine *m = &st->identity->machine;
	const struct cloud *c = st->cloud && !st->cloud_busy && st->cloud->found != CLOUD_UNKNOWN ? st->cloud : NULL;
	struct identity_record rec = {
		.name = skep_text(os->name),
		.id = skep_text(c ? c->id : os->machine_id),
		.machine_id = skep_text(os->machine_id),
		.arch = skep_text(os->arch),
		.os_type = skep_text("linux"),
		.os_name = skep_text(os->os),
		.os_version = skep_text(os->version),
		.os_description = skep_text(os->description),
		.kernel = skep_text(os->kernel),
		.cpu_model = skep_text(m->model),
		.cpu_vendor = skep_text(m->vendor),
		.cpu_family = skep_text(m->family),
		.cpu_model_id = skep_text(m->model_id),
		.cpu_stepping = skep_text(m->stepping),
		.cpus = m->cpus,
		.cores = m->cores,
		.sockets = m->sockets,
		.nodes = m->nodes,
		.memory_bytes = m->memory_bytes,
		.hypervisor = skep_text(m->hypervisor),
		.hw_vendor = skep_text(m->hw_vendor),
		.hw_product = skep_text(m->hw_product),
		.container = skep_text(m->container),
		.cloud_provider = skep_text(c ? cloud_provider_name(c->found) : ""),
		.cloud_platform = skep_text(c ? cloud_platform_name(c->found) : ""),
		.cloud_region = skep_text(c ? c->region : ""),
		.cloud_zone = skep_text(c ? c->zone : ""),
		.cloud_account = skep_text(c ? c->account : ""),
		.type = skep_text(c ? c->type : ""),
		.lifecycle = skep_text(c ? c->lifecycle : ""),
	};

	st->host->emit(inst, STREAM_IDENTITY, NULL, now_ns, &rec);
}

/* ---- the cloud ------------------------------------------------------------------ */

static void cloud_done(struct skep_instance *inst, void *arg)
{
	struct host_probe *st = arg;
	struct cloud *c = st->cloud;
	char why[160];

	st->cloud_busy = false;
	if (c->found != CLOUD_UNKNOWN) {
		st->cloud_next_ns = UINT64_MAX;
		st->identity->told = false;
		host_signal(inst, st, "host.cloud", SKEP_SIGNAL_OK, "metadata service", NULL);
		return;
	}
	if (c->status && c->status != 200)
		text_format(why, sizeof(why),
			    "%s answers with status %u: not the service of that cloud, or switched off",
			    st->opt_cloud_endpoint, c->status);
	else
		text_format(why, sizeof(why), "%s: %s", st->opt_cloud_endpoint,
			    c->err == -EBADMSG ? "its answer is not what that cloud's service gives"
					       : strerror(-c->err));
	host_signal(inst, st, "host.cloud", SKEP_SIGNAL_MISSING, "metadata service", why);
	st->cloud_next_ns =
		st->cloud_tries < CLOUD_TRIES ? skep_boot_ns() + (CLOUD_AGAIN_NS << st->cloud_tries) : UINT64_MAX;
	if (st->cloud_next_ns == UINT64_MAX)
		st->host->log(inst, SKEP_LOG_WARNING, "option cloud: \"%s\": no metadata service after %u tries: %s",
			      st->opt_cloud, CLOUD_TRIES, why);
}

static void cloud_work(void *arg)
{
	struct host_probe *st = arg;

	cloud_ask(st->cloud);
}

static void cloud_sample(struct skep_instance *inst, struct host_probe *st, uint64_t now_ns)
{
	if (!st->cloud || st->cloud_busy || now_ns < st->cloud_next_ns)
		return;
	st->cloud_busy = true; /* before: a host may do it at once */
	st->cloud_tries++;
	if (st->host->work(inst, cloud_work, cloud_done, st)) {
		st->cloud_busy = false;
		st->cloud_tries--;
	}
}

static int cloud_start(struct skep_instance *inst, struct host_probe *st)
{
	const struct identity_machine *m = &st->identity->machine;
	enum cloud_provider wanted = cloud_provider_of(st->opt_cloud);
	struct cloud *c;

	if (wanted == CLOUD_OFF) {
		host_signal(inst, st, "host.cloud", SKEP_SIGNAL_OFF, "metadata service", "option cloud is \"off\"");
		return 0;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return st->host->fail(inst, -ENOMEM, "no memory for the answers of the cloud's metadata service");
	c->wanted = wanted;
	c->found = CLOUD_UNKNOWN;
	c->guess = cloud_guess(m->hw_vendor, m->hw_product);
	c->host = st->opt_cloud_endpoint;
	c->within_ns = CLOUD_WITHIN_NS;
	http_endpoint(st->opt_cloud_endpoint, &c->to); /* checked in open() */
	st->cloud = c;
	host_signal(inst, st, "host.cloud", SKEP_SIGNAL_PARTIAL, "metadata service", "being asked");
	return 0;
}

/* ---- start, change ---------------------------------------------------------------- */

static void look(struct host_probe *st)
{
	identity_os_read(st->root, &st->identity->os);
	identity_machine_read(st->root, strcmp(st->opt_root, "/") == 0, &st->identity->machine);
	st->identity->cpus_told = st->cpu[st->cpu_now].online;
	st->identity->told = false;
}

int identity_start(struct skep_instance *inst, struct host_probe *st)
{
	st->identity = calloc(1, sizeof(*st->identity));
	if (!st->identity)
		return st->host->fail(inst, -ENOMEM, "no memory for the machine's identity");
	look(st);
	if (st->identity->os.machine_id[0])
		host_signal(inst, st, "host.identity", SKEP_SIGNAL_OK, "/etc, /proc, /sys", NULL);
	else
		host_signal(inst, st, "host.identity", SKEP_SIGNAL_PARTIAL, "/etc, /proc, /sys",
			    "no host.id: /etc/machine-id is not there or not set; remedy: systemd-machine-id-setup");
	return cloud_start(inst, st);
}

void identity_sample(struct skep_instance *inst, struct host_probe *st, uint64_t now_ns)
{
	char name[IDENTITY_VALUE];

	cloud_sample(inst, st, now_ns);
	if (st->cpu[st->cpu_now].online != st->identity->cpus_told ||
	    (text_line_at(st->root, "proc/sys/kernel/hostname", name, sizeof(name)) == 0 &&
	     strcmp(name, st->identity->os.name) != 0))
		look(st);
	if (st->identity->told)
		return;
	emit(inst, st, now_ns);
	st->identity->told = true;
}
