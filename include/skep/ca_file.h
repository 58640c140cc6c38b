/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/ca_file.h - where this host keeps the certificates of the authorities that it trusts: for libraries that were built for
 * another distribution, as those of the tarball are.  (libcurl knows one place, which is set when it is built.)
 */
#ifndef SKEP_CA_FILE_H
#define SKEP_CA_FILE_H

#include <stddef.h>
#include <unistd.h>

/* One PEM file with all of them, that can be read; static.  NULL: at none of the known places.  Any thread. */
static inline const char *skep_ca_file(void)
{
	/* The places that Go's crypto/x509 looks at on Linux (root_linux.go), too. */
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt",                /* Debian, Ubuntu, Arch, Gentoo, Alpine */
		"/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, EL */
		"/etc/ssl/ca-bundle.pem",                            /* SUSE */
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora, EL: what the one above links to */
		"/etc/ssl/cert.pem",                                 /* Alpine */
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
	return NULL;
}

#endif
