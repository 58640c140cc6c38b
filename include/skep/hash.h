/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/hash.h - keyed hashes for tables whose keys users choose: names of programs, labels, addresses, cgroups.
 * A user who does not know the key cannot choose names that fall into one chain, which would slow down each look-up.
 *
 * Bytes go through SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), one round for each
 * word and three at the end, as in the hash tables of Rust and Python.  Numbers go through one multiplication to 128
 * bits, with the key in both factors, which costs about as much as a multiplication by a constant.
 *
 * Inline: tables of processes and of series hash a key for each event and record.
 */
#ifndef SKEP_HASH_H
#define SKEP_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

struct skep_hash_key {
	uint64_t k0, k1;
};

static inline struct skep_hash_key skep_hash_key_new(void)
{
	struct skep_hash_key key = { 0 };

	/* Early at boot getrandom() has no random bytes yet; the kernel gives each new process 16 in AT_RANDOM. */
	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) != (ssize_t)sizeof(key))
		/* NOLINT(performance-no-int-to-ptr): an address */
		memcpy(&key, (const void *)getauxval(AT_RANDOM), sizeof(key));
	return key;
}

static inline uint64_t skep_hash_rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline void skep_hash_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = skep_hash_rotate(v[1], 13) ^ v[0];
	v[3] = skep_hash_rotate(v[3], 16) ^ v[2];
	v[0] = skep_hash_rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = skep_hash_rotate(v[1], 17) ^ v[2];
	v[3] = skep_hash_rotate(v[3], 21) ^ v[0];
	v[2] = skep_hash_rotate(v[2], 32);
}

static inline uint64_t skep_hash(const struct skep_hash_key *key, const void *data, size_t len)
{
	const unsigned char *at = (const unsigned char *)data;
	uint64_t v[4] = { key->k0 ^ 0x736f6d6570736575u, key->k1 ^ 0x646f72616e646f6du, key->k0 ^ 0x6c7967656e657261u,
			  key->k1 ^ 0x7465646279746573u };
	uint64_t word, last = (uint64_t)len << 56;

	/*
	 * The paper reads words as little-endian.  This function reads them in memory order: the hash is as good, but
	 * differs between machines.
	 */
	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		v[3] ^= word;
		skep_hash_round(v);
		v[0] ^= word;
	}
	for (size_t i = 0; i < len; i++)
		last |= (uint64_t)at[i] << 8 * i;
	v[3] ^= last;
	skep_hash_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		skep_hash_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

__extension__ typedef unsigned __int128 skep_hash_product;

static inline uint32_t skep_hash_number(const struct skep_hash_key *key, uint64_t number)
{
	skep_hash_product product = (skep_hash_product)(number ^ key->k0) * (key->k1 | 1);

	return (uint32_t)(product >> 64) ^ (uint32_t)(product >> 32);
}

#endif
