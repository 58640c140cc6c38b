/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/os.c - hostname, machine id, kernel, distribution.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "identity.h"
#include "hmac.h"

/* skep's own key: other programs hash the same machine id to other values. */
static const uint8_t application[16] = {
	0x8d, 0x39, 0x9b, 0xa1, 0xd1, 0x58, 0xfc, 0xf1, 0x32, 0xe6, 0x27, 0x57, 0x46, 0xc3, 0x6c, 0xb6,
};

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/*
 * machine-id(5) asks programs to publish only a hash of the id with a key of their own.  The hash is the one of
 * sd_id128_get_machine_app_specific(): HMAC-SHA256, truncated, marked as a UUID of version 4.
 */
int identity_machine_id(const char *text, char ret[33])
{
	uint8_t id[16], hash[SHA256_SIZE], any = 0;

	if (strlen(text) != 32)
		return -EBADMSG; /* "uninitialized" on an image's first boot */
	for (unsigned i = 0; i < 16; i++) {
		int high = hex(text[2 * i]), low = hex(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EBADMSG;
		id[i] = (uint8_t)(high << 4 | low);
		any |= id[i];
	}
	if (!any)
		return -EBADMSG;
	hmac_sha256(id, sizeof(id), application, sizeof(application), hash);
	hash[6] = (uint8_t)((hash[6] & 0x0f) | 0x40);
	hash[8] = (uint8_t)((hash[8] & 0x3f) | 0x80);
	for (unsigned i = 0; i < 16; i++)
		snprintf(ret + 2 * i, 3, "%02x", hash[i]);
	return 0;
}

const char *identity_arch(const char *machine)
{
	static const struct {
		const char *uname, *otel;
	} map[] = {
		{ "x86_64", "amd64" }, { "aarch64", "arm64" }, { "armv7l", "arm32" },
		{ "armv6l", "arm32" }, { "ppc64le", "ppc64" }, { "ppc64", "ppc64" },
		{ "s390x", "s390x" },  { "i686", "x86" },      { "i386", "x86" },
	};

	for (unsigned i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (strcmp(machine, map[i].uname) == 0)
			return map[i].otel;
	return machine;
}

/* Unquotes KEY=value, KEY="a value", KEY='a value', where \ escapes what a shell would interpret (os-release(5)). */
static void unquote(struct text t, char *to, size_t size)
{
	size_t n = 0;
	char quote = '\0';

	t = skep_text_trim(t);
	if (skep_text_len(t) >= 2 && (*t.at == '"' || *t.at == '\'') && t.end[-1] == *t.at) {
		quote = *t.at;
		t.at++;
		t.end--;
	}
	for (; t.at < t.end && n + 1 < size; t.at++) {
		if (*t.at == '\\' && quote != '\'' && t.at + 1 < t.end)
			t.at++;
		if ((unsigned char)*t.at >= ' ' && *t.at != 127)
			to[n++] = *t.at;
	}
	to[n] = '\0';
}

void identity_os_release(struct text t, struct identity_os *ret)
{
	struct text line;

	while (skep_text_line(&t, &line)) {
		if (skep_text_skip(&line, "ID="))
			unquote(line, ret->os, sizeof(ret->os));
		else if (skep_text_skip(&line, "VERSION_ID="))
			unquote(line, ret->version, sizeof(ret->version));
		else if (skep_text_skip(&line, "PRETTY_NAME="))
			unquote(line, ret->description, sizeof(ret->description));
	}
}

void identity_os_read(int root, struct identity_os *ret)
{
	char data[4096], id[64];
	struct text text;
	struct utsname name;

	*ret = (struct identity_os){ 0 };
	if (skep_text_line_at(root, "proc/sys/kernel/hostname", ret->name, sizeof(ret->name)))
		ret->name[0] = '\0';
	if (skep_text_line_at(root, "proc/sys/kernel/osrelease", ret->kernel, sizeof(ret->kernel)))
		ret->kernel[0] = '\0';
	if (uname(&name) == 0)
		skep_text_copy(skep_text_of(identity_arch(name.machine)), ret->arch, sizeof(ret->arch));
	if (skep_text_line_at(root, "etc/machine-id", id, sizeof(id)) || identity_machine_id(id, ret->machine_id))
		if (skep_text_line_at(root, "var/lib/dbus/machine-id", id, sizeof(id)) ||
		    identity_machine_id(id, ret->machine_id))
			ret->machine_id[0] = '\0';
	if (skep_text_head_at(root, "etc/os-release", data, sizeof(data), &text) == 0 ||
	    skep_text_head_at(root, "usr/lib/os-release", data, sizeof(data), &text) == 0)
		identity_os_release(text, ret);
}
