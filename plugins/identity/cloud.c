/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/cloud.c - the metadata services of AWS (IMDSv2), Google Cloud and Azure.
 *
 * All three are plain HTTP at a link-local address, so requests never leave the machine's hypervisor.  Each request
 * asks for one value as text, and only for values that name the instance. No request asks for a secret: credentials
 * of roles, user data, keys.
 */
#include "cloud.h"

#include <errno.h>
#include <string.h>

#define AZURE(what_) "/metadata/instance/compute/" what_ "?api-version=2021-02-01&format=text"
#define GCP(what_) "/computeMetadata/v1/" what_

static const char *const names[] = {
	[CLOUD_OFF] = "off", [CLOUD_AUTO] = "auto", [CLOUD_AWS] = "aws", [CLOUD_GCP] = "gcp", [CLOUD_AZURE] = "azure",
};

enum cloud_provider cloud_provider_of(const char *name)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (name && strcmp(names[i], name) == 0)
			return (enum cloud_provider)i;
	return CLOUD_UNKNOWN;
}

const char *cloud_provider_name(enum cloud_provider p)
{
	return p == CLOUD_AWS || p == CLOUD_GCP || p == CLOUD_AZURE ? names[p] : "";
}

const char *cloud_platform_name(enum cloud_provider p)
{
	switch (p) {
	case CLOUD_AWS:
		return "aws_ec2";
	case CLOUD_GCP:
		return "gcp_compute_engine";
	case CLOUD_AZURE:
		return "azure.vm";
	default:
		return "";
	}
}

enum cloud_provider cloud_guess(const char *vendor, const char *product)
{
	if (strcmp(vendor, "Amazon EC2") == 0)
		return CLOUD_AWS;
	if (strcmp(vendor, "Google") == 0 && strcmp(product, "Google Compute Engine") == 0)
		return CLOUD_GCP;
	/* Hyper-V outside Azure has the same names; there no service answers */
	if (strcmp(vendor, "Microsoft Corporation") == 0 && strcmp(product, "Virtual Machine") == 0)
		return CLOUD_AZURE;
	return CLOUD_UNKNOWN;
}

/* One word of printable ASCII that fits into a value. */
static bool printable(struct text t)
{
	for (const char *at = t.at; at < t.end; at++)
		if (*at <= ' ' || *at > '~')
			return false;
	return skep_text_len(t) > 0 && skep_text_len(t) < CLOUD_VALUE;
}

bool cloud_value(struct text t, char to[CLOUD_VALUE])
{
	const char *slash;

	t = skep_text_trim(t);
	if (!printable(t))
		return false;
	slash = memrchr(t.at, '/', skep_text_len(t));
	if (slash)
		t.at = slash + 1;
	if (skep_text_len(t) == 0)
		return false;
	skep_text_copy(t, to, CLOUD_VALUE);
	return true;
}

/* Returns 0 for an answer with status 200; sets status and err. */
static int ask(struct cloud *c, const char *method, const char *path, const char *header, struct http_reply *r)
{
	struct http_request q = {
		.to = c->to,
		.host = c->host,
		.method = method,
		.path = path,
		.header = header,
		.within_ns = c->within_ns,
	};

	c->status = 0;
	c->err = http_ask(&q, c->data, r);
	if (c->err)
		return c->err;
	c->status = r->status;
	if (r->status != 200)
		c->err = -EPROTO;
	return c->err;
}

/* Asks for a value that the service may not have. false: the service no longer answers. */
static bool value(struct cloud *c, const char *path, const char *header, char to[CLOUD_VALUE])
{
	struct http_reply r;

	if (ask(c, "GET", path, header, &r) == 0)
		cloud_value(r.body, to);
	return c->err == 0 || c->err == -EPROTO;
}

/* Asks for the instance's id, which also shows whether this is the cloud. */
static bool first(struct cloud *c, const char *path, const char *header, bool google)
{
	struct http_reply r;

	if (ask(c, "GET", path, header, &r))
		return false;
	if (r.google != google || !cloud_value(r.body, c->id)) {
		c->err = -EBADMSG;
		return false;
	}
	return true;
}

static bool aws(struct cloud *c)
{
	char header[CLOUD_VALUE + 64], token[CLOUD_VALUE];
	struct http_reply r;

	/* IMDSv2 only: it needs a PUT, which a forged request cannot send; version 1 does not */
	if (ask(c, "PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60", &r))
		return false;
	r.body = skep_text_trim(r.body);
	if (!printable(r.body)) {
		c->err = -EBADMSG;
		return false;
	}
	skep_text_copy(r.body, token, sizeof(token)); /* the next answer overwrites c->data */
	skep_text_format(header, sizeof(header), "X-aws-ec2-metadata-token: %s", token);
	if (!first(c, "/latest/meta-data/instance-id", header, false))
		return false;
	c->found = CLOUD_AWS;
	(void)(value(c, "/latest/meta-data/instance-type", header, c->type) &&
	       value(c, "/latest/meta-data/placement/region", header, c->region) &&
	       value(c, "/latest/meta-data/placement/availability-zone", header, c->zone) &&
	       value(c, "/latest/meta-data/instance-life-cycle", header, c->lifecycle));
	return true;
}

static bool gcp(struct cloud *c)
{
	static const char header[] = "Metadata-Flavor: Google";
	char preemptible[CLOUD_VALUE] = "";
	const char *dash;

	if (!first(c, GCP("instance/id"), header, true))
		return false;
	c->found = CLOUD_GCP;
	(void)(value(c, GCP("instance/machine-type"), header, c->type) &&
	       value(c, GCP("instance/zone"), header, c->zone) &&
	       value(c, GCP("instance/scheduling/preemptible"), header, preemptible) &&
	       value(c, GCP("project/project-id"), header, c->account));
	/* the zone "europe-west1-b" is in the region "europe-west1" */
	dash = strrchr(c->zone, '-');
	if (dash)
		skep_text_copy((struct text){ c->zone, dash }, c->region, sizeof(c->region));
	if (preemptible[0])
		skep_text_copy(skep_text_of(strcmp(preemptible, "TRUE") == 0 ? "spot" : "on-demand"), c->lifecycle,
			       sizeof(c->lifecycle));
	return true;
}

static bool azure(struct cloud *c)
{
	static const char header[] = "Metadata: true";
	char priority[CLOUD_VALUE] = "";

	if (!first(c, AZURE("vmId"), header, false))
		return false;
	c->found = CLOUD_AZURE;
	(void)(value(c, AZURE("vmSize"), header, c->type) && value(c, AZURE("location"), header, c->region) &&
	       value(c, AZURE("zone"), header, c->zone) && value(c, AZURE("subscriptionId"), header, c->account) &&
	       value(c, AZURE("priority"), header, priority));
	/* empty and "Regular" mean on demand; "Low" is the older name of "Spot" */
	skep_text_copy(skep_text_of(strcmp(priority, "Spot") == 0 || strcmp(priority, "Low") == 0 ? "spot" : "on-demand"),
		       c->lifecycle, sizeof(c->lifecycle));
	return true;
}

static bool one(struct cloud *c, enum cloud_provider p)
{
	c->id[0] = '\0';
	return p == CLOUD_AWS ? aws(c) : p == CLOUD_GCP ? gcp(c) : azure(c);
}

void cloud_ask(struct cloud *c)
{
	c->found = CLOUD_UNKNOWN;
	c->err = 0;
	c->id[0] = c->type[0] = c->region[0] = c->zone[0] = c->account[0] = c->lifecycle[0] = '\0';
	if (c->wanted != CLOUD_AUTO || c->guess != CLOUD_UNKNOWN) {
		one(c, c->wanted == CLOUD_AUTO ? c->guess : c->wanted);
		return;
	}
	/* a service that answers may be another cloud's; if nothing listens at the address, no other request helps */
	for (int p = CLOUD_AWS; p <= CLOUD_AZURE; p++)
		if (one(c, (enum cloud_provider)p) || (c->err != -EPROTO && c->err != -EBADMSG))
			return;
}
