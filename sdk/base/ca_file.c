/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/ca_file.c - finds the host's file of certificates.
 */
#include <skep/ca_file.h>
#include <stddef.h>
#include <unistd.h>

const char *skep_ca_file(void)
{
	/* Go's crypto/x509 tries the same files on Linux (root_linux.go). */
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt",                /* Debian, Ubuntu, Arch, Gentoo, Alpine */
		"/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, EL */
		"/etc/ssl/ca-bundle.pem",                            /* SUSE */
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora, EL: the target of the link above */
		"/etc/ssl/cert.pem",                                 /* Alpine */
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
	return NULL;
}
