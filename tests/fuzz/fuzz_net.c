/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_net.c - bytes as if from the kernel side of the probe "net": a row of
 * records, each with two bytes of length before it.  Nothing may be read beyond the input, and every
 * string handed on must lie in memory that is ours.
 */
#include <stdlib.h>
#include <string.h>

#include "plugins/net/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned touched;

static void emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		 const void *rec)
{
	const struct skep_stream *s = net_streams[stream];

	(void)inst;
	touched += (who ? who->pid : 0) + (unsigned)time_ns;
	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct skep_str *str = (const void *)((const char *)rec + s->fields[i].offset);

		if (s->fields[i].type != SKEP_T_STR)
			continue;
		for (uint32_t k = 0; k < str->len; k++)
			touched += (unsigned char)str->ptr[k];
		if (str->total < str->len)
			abort();
	}
}

static const struct skep_host host = { .size = sizeof(host), .emit = emit };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct net_state st;
	struct net_conn_record held[NET_HELD_MAX];
	struct skep_upid dead[NET_DEAD_MAX];

	memset(&st, 0, sizeof(st));
	st.host = &host;
	st.held = held;
	st.dead = dead;
	if (net_peers_new(&st.peers, 16))
		return 0;
	while (size >= 2) {
		size_t n = (size_t)data[0] | (size_t)data[1] << 8;
		void *copy;

		data += 2;
		size -= 2;
		if (n > size)
			n = size;
		/* exactly as long as the record: the sanitizer finds every read beyond it */
		copy = malloc(n ? n : 1);
		if (!copy)
			break;
		memcpy(copy, data, n);
		net_decode(NULL, &st, copy, n);
		free(copy);
		data += n;
		size -= n;
	}
	net_emit_held(NULL, &st);
	net_dead_now(NULL, &st, 0);
	net_peers_emit_all(NULL, &st, 0);
	net_peers_free(&st.peers);
	return 0;
}
