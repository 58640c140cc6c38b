/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/ca_file.h - finds the certificates of the authorities that this host trusts, for libraries that were built for
 * another distribution, such as the libcurl of the tarball.  (libcurl reads one path, set when it is built.)
 * Link libskep-probe or libskep-sink (pkg-config skep-probe, skep-sink).
 */
#ifndef SKEP_CA_FILE_H
#define SKEP_CA_FILE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the path of a readable PEM file with all certificates, a static string.  NULL: none found.  Any thread. */
const char *skep_ca_file(void);

#ifdef __cplusplus
}
#endif

#endif
