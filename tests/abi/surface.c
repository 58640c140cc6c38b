/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/surface.c - a function for each struct that crosses the plugin ABI, so that libabigail,
 * which follows what functions take, sees all of them.  For "make checkabi" and "make storeabi".
 */
#include <skep/plugin.h>

#define SURFACE(struct_)                                               \
	SKEP_EXPORT void surface_##struct_(const struct struct_ *);    \
	SKEP_EXPORT void surface_##struct_(const struct struct_ *what) \
	{                                                              \
		(void)what;                                            \
	}

SURFACE(skep_batch)
SURFACE(skep_context)
SURFACE(skep_detail)
SURFACE(skep_detail_scope)
SURFACE(skep_hist)
SURFACE(skep_host)
SURFACE(skep_ledger_post)
SURFACE(skep_plugin)
SURFACE(skep_plugin_note)
SURFACE(skep_process_excluded)
SURFACE(skep_process_exec)
SURFACE(skep_process_exit)
SURFACE(skep_process_final)
SURFACE(skep_process_fork)
SURFACE(skep_process_live)
SURFACE(skep_process_oom)
SURFACE(skep_process_text)
SURFACE(skep_record)
SURFACE(skep_sink_ops)
SURFACE(skep_stream)
