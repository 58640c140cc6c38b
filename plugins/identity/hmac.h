/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/hmac.h - HMAC (RFC 2104) with SHA-256, for one short message.
 */
#ifndef SKEP_IDENTITY_HMAC_H
#define SKEP_IDENTITY_HMAC_H

#include "sdk/base/sha256.h"

#define SHA256_SIZE SKEP_SHA256_SIZE

/* key and message of at most 64 bytes each. */
void hmac_sha256(const void *key, size_t key_len, const void *message, size_t n, uint8_t ret[SHA256_SIZE]);

#endif
