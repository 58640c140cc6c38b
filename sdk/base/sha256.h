/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/sha256.h - SHA-256 (FIPS 180-4) of one message in memory, for ids that two programs compute independently
 * (skep/trace.h).  Private: not installed.  Its time depends on the message, which is no secret.
 */
#ifndef SKEP_SDK_SHA256_H
#define SKEP_SDK_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SKEP_SHA256_SIZE 32
#define SKEP_SHA256_BLOCK 64u

void skep_sha256(const void *data, size_t n, uint8_t ret[SKEP_SHA256_SIZE]);

#endif
