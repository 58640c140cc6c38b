/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/identity.c - the probe "identity": one record that says which machine this is, at the start and
 * whenever the hostname, the CPUs online, the memory or the cloud's answer changes.
 *
 * Requests to the cloud's metadata service run on a worker thread of the plugin host (work()), so a service that does
 * not answer never delays the loop.
 */
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <skep/clock.h>
#include <skep/values.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLOUD_WITHIN_NS UINT64_C(1000000000)  /* a request's deadline: this machine's own hypervisor answers */
#define CLOUD_AGAIN_NS  UINT64_C(10000000000) /* pauses: 20 s, 40 s, ... for a network that comes up late */
#define CLOUD_TRIES     5u

static void signal_state(struct skep_instance *inst, const struct identity_probe *st, const char *name,
			 enum skep_signal_state state, const char *how, const char *why)
{
	st->host->signal(inst, name, state, how, why);
}

/* ---- the record ------------------------------------------------------------------ */

static void emit(struct skep_instance *inst, const struct identity_probe *st, uint64_t now_ns)
{
	const struct identity_os *os = &st->os;
	const struct identity_machine *m = &st->machine;
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

	st->host->emit(inst, 0, NULL, now_ns, &rec);
}

/* ---- the cloud ------------------------------------------------------------------ */

static void cloud_signal(struct skep_instance *inst, const struct identity_probe *st, enum skep_signal_state state,
			 const char *why)
{
	signal_state(inst, st, "host.cloud", state, "metadata service", why);
}

static void cloud_done(struct skep_instance *inst, void *arg)
{
	struct identity_probe *st = arg;
	struct cloud *c = st->cloud;
	char why[160];

	st->cloud_busy = false;
	if (c->found != CLOUD_UNKNOWN) {
		st->cloud_next_ns = UINT64_MAX;
		st->reported = false;
		cloud_signal(inst, st, SKEP_SIGNAL_OK, NULL);
		return;
	}
	if (c->status && c->status != 200)
		skep_text_format(why, sizeof(why),
				 "%s answered with status %u: not the service of that cloud, or switched off",
				 st->opt_cloud_endpoint, c->status);
	else
		skep_text_format(why, sizeof(why), "%s: %s", st->opt_cloud_endpoint,
				 c->err == -EBADMSG ? "the answer is not one of that cloud's service" : strerror(-c->err));
	cloud_signal(inst, st, SKEP_SIGNAL_MISSING, why);
	st->cloud_next_ns =
		st->cloud_tries < CLOUD_TRIES ? skep_boot_ns() + (CLOUD_AGAIN_NS << st->cloud_tries) : UINT64_MAX;
	if (st->cloud_next_ns == UINT64_MAX)
		st->host->log(inst, SKEP_LOG_WARNING,
			      "option cloud: \"%s\": no metadata service answered in %u tries: %s; "
			      "host.id stays the machine's, remedy: \"cloud\": \"off\" where this is no cloud",
			      st->opt_cloud, CLOUD_TRIES, why);
}

static void cloud_work(void *arg)
{
	struct identity_probe *st = arg;

	cloud_ask(st->cloud);
}

static void cloud_sample(struct skep_instance *inst, struct identity_probe *st, uint64_t now_ns)
{
	if (!st->cloud || st->cloud_busy || now_ns < st->cloud_next_ns)
		return;
	st->cloud_busy = true; /* before work(): a plugin host may run both callbacks inside it */
	st->cloud_tries++;
	if (st->host->work(inst, cloud_work, cloud_done, st)) {
		st->cloud_busy = false;
		st->cloud_tries--;
	}
}

static int cloud_start(struct skep_instance *inst, struct identity_probe *st)
{
	enum cloud_provider wanted = cloud_provider_of(st->opt_cloud);
	struct cloud *c;

	if (wanted == CLOUD_OFF) {
		cloud_signal(inst, st, SKEP_SIGNAL_OFF, "option cloud is \"off\"");
		return 0;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return st->host->fail(inst, -ENOMEM, "no memory for the answers of the cloud's metadata service");
	c->wanted = wanted;
	c->found = CLOUD_UNKNOWN;
	c->guess = cloud_guess(st->machine.hw_vendor, st->machine.hw_product);
	c->host = st->opt_cloud_endpoint;
	c->within_ns = CLOUD_WITHIN_NS;
	http_endpoint(st->opt_cloud_endpoint, &c->to); /* open() has checked it */
	st->cloud = c;
	cloud_signal(inst, st, SKEP_SIGNAL_PARTIAL, "the first request has no answer yet");
	return 0;
}

/* ---- the probe -------------------------------------------------------------------- */

static int identity_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct identity_probe *st = state;
	struct sockaddr_in endpoint;
	int err;

	st->host = host;
	st->root = -1;
	if (!st->opt_root || st->opt_root[0] != '/')
		return host->fail(inst, -EINVAL, "option root: \"%s\" is not an absolute path",
				  st->opt_root ? st->opt_root : "");
	st->root = open(st->opt_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (st->root < 0) {
		err = -errno;
		return host->fail(inst, err, "option root: %s: %s", st->opt_root, strerror(-err));
	}
	if (cloud_provider_of(st->opt_cloud) == CLOUD_UNKNOWN)
		return host->fail(inst, -EINVAL, "option cloud: \"%s\" is none of off, auto, aws, gcp, azure",
				  st->opt_cloud ? st->opt_cloud : "");
	if (http_endpoint(st->opt_cloud_endpoint ? st->opt_cloud_endpoint : "", &endpoint))
		return host->fail(
			inst, -EINVAL,
			"option cloud_endpoint: \"%s\" is not an IPv4 address, or one with a port: 127.0.0.1:8080",
			st->opt_cloud_endpoint ? st->opt_cloud_endpoint : "");
	return 0;
}

static void read_all(struct identity_probe *st)
{
	identity_os_read(st->root, &st->os);
	identity_machine_read(st->root, strcmp(st->opt_root, "/") == 0, &st->machine);
	st->reported = false;
}

static int identity_start(struct skep_instance *inst, void *state)
{
	struct identity_probe *st = state;

	read_all(st);
	if (st->os.machine_id[0])
		signal_state(inst, st, "host.identity", SKEP_SIGNAL_OK, "/etc, /proc, /sys", NULL);
	else
		signal_state(inst, st, "host.identity", SKEP_SIGNAL_PARTIAL, "/etc, /proc, /sys",
			     "no host.id: /etc/machine-id is missing or not set; remedy: systemd-machine-id-setup");
	return cloud_start(inst, st);
}

/* Three small files show a change: reading all of them takes two files more for each CPU. */
static bool changed(const struct identity_probe *st)
{
	char name[IDENTITY_VALUE];

	if (skep_text_line_at(st->root, "proc/sys/kernel/hostname", name, sizeof(name)) == 0 &&
	    strcmp(name, st->os.name) != 0)
		return true;
	return identity_machine_changed(st->root, &st->machine);
}

static void identity_sample(struct skep_instance *inst, void *state)
{
	struct identity_probe *st = state;
	uint64_t now_ns = skep_boot_ns();

	cloud_sample(inst, st, now_ns);
	if (changed(st))
		read_all(st);
	if (st->reported)
		return;
	emit(inst, st, now_ns);
	st->reported = true;
}

/* Nothing to detach; the plugin host calls this only when no work() is under way. */
static void identity_stop(struct skep_instance *inst, void *state)
{
	(void)inst;
	(void)state;
}

static void identity_close(struct skep_instance *inst, void *state)
{
	struct identity_probe *st = state;

	(void)inst;
	free(st->cloud);
	st->cloud = NULL;
	if (st->host && st->root >= 0) /* without open() root is 0, and no file of ours */
		close(st->root);
}

static const struct skep_option options[] = {
	{ .name = "root",
	  .type = SKEP_O_STR,
	  .offset = offsetof(struct identity_probe, opt_root),
	  .default_value = "/",
	  .help = "the folder with the host's proc, sys and etc: \"/host\" in a container that mounts them there" },
	{ .name = "cloud",
	  .type = SKEP_O_STR,
	  .offset = offsetof(struct identity_probe, opt_cloud),
	  .default_value = "off",
	  .help = "ask the cloud's metadata service for this instance's id: off, auto, aws, gcp, azure" },
	{ .name = "cloud_endpoint",
	  .type = SKEP_O_STR,
	  .offset = offsetof(struct identity_probe, opt_cloud_endpoint),
	  .default_value = "169.254.169.254:80",
	  .help = "IPv4 address and port of that service, for tests and proxies" },
	{ 0 },
};

static const struct skep_stream *const streams[] = { &identity_stream };

static const struct skep_plugin identity_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "identity",
	.version = PACKAGE_VERSION,
	.summary = "this machine: names, system, processor, hypervisor, cloud instance",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(options[0]),
	.streams = streams,
	.n_streams = 1,
	.state_size = sizeof(struct identity_probe),
	.open = identity_open,
	.start = identity_start,
	.sample = identity_sample,
	.stop = identity_stop,
	.close = identity_close,
};
SKEP_PLUGIN(identity_plugin, SKEP_KIND_PROBE, "identity", PACKAGE_VERSION)
