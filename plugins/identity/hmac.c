/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/hmac.c - HMAC (RFC 2104) with SHA-256.
 */
#include "hmac.h"

#include <string.h>

void hmac_sha256(const void *key, size_t key_len, const void *message, size_t n, uint8_t ret[SHA256_SIZE])
{
	uint8_t inner[2 * SKEP_SHA256_BLOCK] = { 0 }, outer[SKEP_SHA256_BLOCK + SHA256_SIZE] = { 0 };

	/* a caller's bug; the result must not be a hash of a part */
	if (key_len > SKEP_SHA256_BLOCK || n > SKEP_SHA256_BLOCK) {
		memset(ret, 0, SHA256_SIZE);
		return;
	}
	memcpy(inner, key, key_len);
	memcpy(outer, key, key_len);
	for (unsigned i = 0; i < SKEP_SHA256_BLOCK; i++) {
		inner[i] ^= 0x36;
		outer[i] ^= 0x5c;
	}
	memcpy(inner + SKEP_SHA256_BLOCK, message, n);
	skep_sha256(inner, SKEP_SHA256_BLOCK + n, outer + SKEP_SHA256_BLOCK);
	skep_sha256(outer, sizeof(outer), ret);
}
