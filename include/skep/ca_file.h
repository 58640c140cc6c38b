/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/ca_file.h - finds the certificates of the authorities that this host trusts, for libraries that were built for
 * another distribution, such as those of the tarball.  (libcurl looks at one place, set when it is built.)
 * Link libskep-probe or libskep-sink (pkg-config skep-probe, skep-sink).
 */
#ifndef SKEP_CA_FILE_H
#define SKEP_CA_FILE_H

#ifdef __cplusplus
extern "C" {
#endif

/* A readable PEM file with all of them; a static string.  NULL: no known place has one.  Any thread. */
const char *skep_ca_file(void);

#ifdef __cplusplus
}
#endif

#endif
