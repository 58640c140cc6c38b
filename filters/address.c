/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filters/address.c - parses addresses and networks for rules. An IPv4 address becomes ::ffff:a.b.c.d, so that
 * one comparison serves both families.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "filters/expr_priv.h"

static bool bad(const struct lexer *l, const struct token *t, bool network)
{
	return lex_error(l, t->at, t->length, "'%.*s' is no %s", (int)(t->len > 60 ? 60 : t->len), t->ptr,
			 network ? "network; write it as '10.0.0.0/8' or 'fd00::/8'"
				 : "address; write it as '10.0.0.1' or 'fd00::1'");
}

bool address_of(const struct lexer *l, const struct token *t, bool network, struct operand *ret)
{
	char text[INET6_ADDRSTRLEN + 4], *slash;
	unsigned bits = 128, most = 128;
	struct in_addr v4;

	memset(ret->value.ip, 0, sizeof(ret->value.ip));
	if (t->len >= sizeof(text) || memchr(t->ptr, '\0', t->len))
		return bad(l, t, network);
	memcpy(text, t->ptr, t->len);
	text[t->len] = '\0';
	slash = strchr(text, '/');
	if (!network != !slash)
		return bad(l, t, network);
	if (slash)
		*slash++ = '\0';
	if (inet_pton(AF_INET, text, &v4) == 1) {
		ret->value.ip[10] = ret->value.ip[11] = 0xff;
		memcpy(ret->value.ip + 12, &v4, 4);
		most = 32;
	} else if (inet_pton(AF_INET6, text, ret->value.ip) != 1) {
		return bad(l, t, network);
	}
	if (slash) {
		size_t len = strlen(slash);

		if (len == 0 || len > 3 || strspn(slash, "0123456789") != len)
			return bad(l, t, network);
		bits = 0;
		for (size_t i = 0; i < len; i++)
			bits = bits * 10 + (unsigned)(slash[i] - '0');
		if (bits > most)
			return lex_error(l, t->at, t->length, "'%.*s': a prefix has at most %u bits here", (int)t->len,
					 t->ptr, most);
		bits += 128 - most;
	}
	ret->bits = (uint8_t)bits;
	for (unsigned i = bits; i < 128; i++)
		if (ret->value.ip[i / 8] & 0x80u >> i % 8)
			return lex_error(l, t->at, t->length,
					 "'%.*s' has bits set beyond its prefix: is the address or the prefix meant?",
					 (int)t->len, t->ptr);
	return true;
}
