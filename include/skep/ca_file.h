/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/ca_file.h - where this host keeps the certificates of the authorities that it trusts: for libraries that were
 * built for another distribution, as those of the tarball are.  (libcurl knows one place, which is set when it is
 * built.) Link libskep-probe or libskep-sink (pkg-config skep-probe, skep-sink).
 */
#ifndef SKEP_CA_FILE_H
#define SKEP_CA_FILE_H

#ifdef __cplusplus
extern "C" {
#endif

/* One PEM file with all of them, that can be read; static.  NULL: at none of the known places.  Any thread. */
const char *skep_ca_file(void);

#ifdef __cplusplus
}
#endif

#endif
