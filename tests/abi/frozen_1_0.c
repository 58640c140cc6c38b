/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/frozen_1_0.c - what crosses the plugin ABI in 1.0.  Compiling it is the test.  Plugins built with this
 * header have these numbers in their code, and run in every later 1.x: nothing in this file ever changes.  A later
 * minor has a file of its own.  Enumerators are numbers on the wire as well.
 */
#include <skep/plugin.h>

#define AT(struct_, member_, offset_)                                  \
	_Static_assert(offsetof(struct struct_, member_) == (offset_), \
		       "struct " #struct_ ": " #member_ " moved: the ABI is broken")
/* Structs that a later minor may append to: they begin with their size, or their table has a stride. */
#define SIZE(struct_, size_)                                                                        \
	_Static_assert(SKEP_ABI_MINOR == 0 ? sizeof(struct struct_) == (size_) : sizeof(struct struct_) >= (size_), \
		       "struct " #struct_ ": its size changed")
/* Structs that may not grow: they lie within others' structs, or within the plugin's own. */
#define FIXED(struct_, size_) _Static_assert(sizeof(struct struct_) == (size_), "struct " #struct_ ": its size changed")
#define IS(name_, value_)    _Static_assert((name_) == (value_), #name_ " changed: the ABI is broken")

/* Numbers below are those of every 64-bit Linux; there is no 32-bit skep. */
_Static_assert(sizeof(void *) == 8 && sizeof(long) == 8 && _Alignof(uint64_t) == 8, "a 64-bit ABI");

AT(skep_upid, start_ns, 0);
AT(skep_upid, pid, 8);
AT(skep_upid, reserved, 12);
FIXED(skep_upid, 16);

AT(skep_str, ptr, 0);
AT(skep_str, len, 8);
AT(skep_str, total, 12);
FIXED(skep_str, 16);

AT(skep_field, name, 0);
AT(skep_field, unit, 8);
AT(skep_field, type, 16);
AT(skep_field, semantics, 20);
AT(skep_field, offset, 24);
AT(skep_field, reserved, 28);
AT(skep_field, help, 32);
SIZE(skep_field, 40);

AT(skep_stream, size, 0);
AT(skep_stream, field_size, 4);
AT(skep_stream, name, 8);
AT(skep_stream, help, 16);
AT(skep_stream, role, 24);
AT(skep_stream, record_size, 28);
AT(skep_stream, n_fields, 32);
AT(skep_stream, flags, 36);
AT(skep_stream, fields, 40);
SIZE(skep_stream, 48);

AT(skep_counters, cpu_ns, 0);
AT(skep_counters, utime_ns, 8);
AT(skep_counters, stime_ns, 16);
AT(skep_counters, run_delay_ns, 24);
AT(skep_counters, run_count, 32);
AT(skep_counters, voluntary_switches, 40);
AT(skep_counters, involuntary_switches, 48);
AT(skep_counters, minor_faults, 56);
AT(skep_counters, major_faults, 64);
AT(skep_counters, rchar_bytes, 72);
AT(skep_counters, wchar_bytes, 80);
AT(skep_counters, read_calls, 88);
AT(skep_counters, write_calls, 96);
AT(skep_counters, read_bytes, 104);
AT(skep_counters, write_bytes, 112);
AT(skep_counters, cancelled_write_bytes, 120);
FIXED(skep_counters, 128);

AT(skep_process_fork, parent, 0);
AT(skep_process_fork, cgroup_id, 16);
AT(skep_process_fork, uid, 24);
AT(skep_process_fork, gid, 28);
AT(skep_process_fork, session, 32);
AT(skep_process_fork, ns_pid, 36);
AT(skep_process_fork, comm, 40);
AT(skep_process_fork, payer, 56);
AT(skep_process_fork, reserved, 60);
SIZE(skep_process_fork, 64);

AT(skep_process_exec, parent, 0);
AT(skep_process_exec, counters, 16);
AT(skep_process_exec, rss_peak_bytes, 144);
AT(skep_process_exec, maxrss_bytes, 152);
AT(skep_process_exec, cgroup_id, 160);
AT(skep_process_exec, mount_ns, 168);
AT(skep_process_exec, pid_ns, 176);
AT(skep_process_exec, uid, 184);
AT(skep_process_exec, gid, 188);
AT(skep_process_exec, session, 192);
AT(skep_process_exec, tid, 196);
AT(skep_process_exec, ns_pid, 200);
AT(skep_process_exec, flags, 204);
AT(skep_process_exec, comm, 208);
AT(skep_process_exec, filename, 224);
AT(skep_process_exec, exe, 240);
AT(skep_process_exec, cwd, 256);
AT(skep_process_exec, cgroup, 272);
AT(skep_process_exec, argv, 288);
AT(skep_process_exec, environ, 304);
AT(skep_process_exec, parent_comm, 320);
AT(skep_process_exec, group_leader, 336);
AT(skep_process_exec, payer, 340);
AT(skep_process_exec, exe_size_bytes, 344);
AT(skep_process_exec, exe_modified_ns, 352);
SIZE(skep_process_exec, 360);

AT(skep_process_exit, status, 0);
AT(skep_process_exit, threads_peak, 4);
AT(skep_process_exit, rss_peak_bytes, 8);
AT(skep_process_exit, maxrss_bytes, 16);
AT(skep_process_exit, cgroup_id, 24);
AT(skep_process_exit, counters, 32);
SIZE(skep_process_exit, 160);

AT(skep_process_final, counters, 0);
AT(skep_process_final, maxrss_bytes, 128);
AT(skep_process_final, status, 136);
AT(skep_process_final, flags, 140);
AT(skep_process_final, cgroup_id, 144);
AT(skep_process_final, threads, 152);
SIZE(skep_process_final, 160);

AT(skep_process_live, parent, 0);
AT(skep_process_live, counters, 16);
AT(skep_process_live, rss_bytes, 144);
AT(skep_process_live, rss_peak_bytes, 152);
AT(skep_process_live, maxrss_bytes, 160);
AT(skep_process_live, cgroup_id, 168);
AT(skep_process_live, uid, 176);
AT(skep_process_live, gid, 180);
AT(skep_process_live, session, 184);
AT(skep_process_live, ns_pid, 188);
AT(skep_process_live, threads, 192);
AT(skep_process_live, flags, 196);
AT(skep_process_live, comm, 200);
AT(skep_process_live, exe, 216);
AT(skep_process_live, cwd, 232);
AT(skep_process_live, cgroup, 248);
AT(skep_process_live, argv, 264);
AT(skep_process_live, environ, 280);
AT(skep_process_live, group_leader, 296);
AT(skep_process_live, payer, 300);
SIZE(skep_process_live, 304);

AT(skep_process_oom, cgroup_id, 0);
AT(skep_process_oom, limit_bytes, 8);
AT(skep_process_oom, usage_bytes, 16);
AT(skep_process_oom, peak_bytes, 24);
AT(skep_process_oom, cgroup, 32);
SIZE(skep_process_oom, 48);

AT(skep_hist, slots, 0);
AT(skep_hist, n, 8);
AT(skep_hist, reserved, 12);
AT(skep_hist, sum, 16);
FIXED(skep_hist, 24);
AT(skep_ledger_post, account, 0);
AT(skep_ledger_post, item, 16);
AT(skep_ledger_post, amount, 32);
AT(skep_ledger_post, flags, 40);
SIZE(skep_ledger_post, 48);

AT(skep_process_excluded, counters, 0);
AT(skep_process_excluded, maxrss_bytes, 128);
AT(skep_process_excluded, byte, 136);
AT(skep_process_excluded, generation, 140);
SIZE(skep_process_excluded, 144);

AT(skep_context, size, 0);
AT(skep_context, payer, 4);
AT(skep_context, run, 8);
AT(skep_context, pipeline, 24);
AT(skep_context, task, 40);
AT(skep_context, tool, 56);
AT(skep_context, container, 72);
AT(skep_context, realtime_offset_ns, 88);
SIZE(skep_context, 96);

AT(skep_record, size, 0);
AT(skep_record, reserved, 4);
AT(skep_record, stream, 8);
AT(skep_record, upid, 16);
AT(skep_record, time_ns, 32);
AT(skep_record, data, 40);
AT(skep_record, context, 48);
SIZE(skep_record, 56);

AT(skep_batch, size, 0);
AT(skep_batch, n, 4);
AT(skep_batch, id, 8);
AT(skep_batch, key, 16);
AT(skep_batch, realtime_offset_ns, 24);
AT(skep_batch, records, 32);
AT(skep_batch, boot_id, 40);
AT(skep_batch, host_name, 48);
AT(skep_batch, kernel, 56);
SIZE(skep_batch, 64);

AT(skep_plugin_note, magic, 0);
AT(skep_plugin_note, abi_major, 4);
AT(skep_plugin_note, abi_minor, 6);
AT(skep_plugin_note, kind, 8);
AT(skep_plugin_note, name, 12);
AT(skep_plugin_note, version, 44);
FIXED(skep_plugin_note, 76);

AT(skep_option, name, 0);
AT(skep_option, type, 8);
AT(skep_option, flags, 12);
AT(skep_option, offset, 16);
AT(skep_option, reserved, 20);
AT(skep_option, default_value, 24);
AT(skep_option, min, 32);
AT(skep_option, max, 40);
AT(skep_option, help, 48);
SIZE(skep_option, 56);

AT(skep_host, size, 0);
AT(skep_host, abi_minor, 4);
AT(skep_host, boot_id, 8);
AT(skep_host, interval_ns, 16);
AT(skep_host, verdict_fd, 24);
AT(skep_host, verdict_pids, 28);
AT(skep_host, live_wants_details, 32);
AT(skep_host, reserved, 36);
AT(skep_host, log, 40);
AT(skep_host, fail, 48);
AT(skep_host, watch_fd, 56);
AT(skep_host, watch_close, 64);
AT(skep_host, timer, 72);
AT(skep_host, timer_close, 80);
AT(skep_host, work, 88);
AT(skep_host, emit, 96);
AT(skep_host, drained, 104);
AT(skep_host, sweep_begin, 112);
AT(skep_host, sweep_end, 120);
AT(skep_host, lost, 128);
AT(skep_host, counter, 136);
AT(skep_host, counter_add, 144);
AT(skep_host, counter_set, 152);
AT(skep_host, redact, 160);
AT(skep_host, cgroup_known, 168);
AT(skep_host, batch_done, 176);
AT(skep_host, process_known, 184);
AT(skep_host, signal, 192);
AT(skep_host, cgroup_path, 200);
AT(skep_host, cgroups_live, 208);
AT(skep_host, process_by_pid, 216);
AT(skep_host, detail_over, 224);
AT(skep_host, rules_fd, 232);
AT(skep_host, rules_programs_fd, 236);
AT(skep_host, rules_values_fd, 240);
AT(skep_host, pin_dir, 248);
AT(skep_host, stays, 256);
AT(skep_host, pin_adopts, 264);
AT(skep_host, reserved_3, 268);
AT(skep_host, settles, 272);
AT(skep_host, pin_for_s, 276);
AT(skep_host, batch_answer, 280);
AT(skep_host, settle_soon, 288);
AT(skep_host, mark, 296);
AT(skep_host, process_read, 336);
AT(skep_host, boundaries, 344);
AT(skep_host, kernel_types, 352);
SIZE(skep_host, 360);

AT(skep_kernel_types, size, 0);
AT(skep_kernel_types, count, 4);
AT(skep_kernel_types, btf, 8);
AT(skep_kernel_types, offsets, 16);
AT(skep_kernel_types, next, 24);
SIZE(skep_kernel_types, 32);

AT(skep_boundaries, size, 0);
AT(skep_boundaries, generation, 4);
AT(skep_boundaries, names, 8);
AT(skep_boundaries, programs, 16);
SIZE(skep_boundaries, 24);

AT(skep_process_text, size, 0);
AT(skep_process_text, error, 4);
AT(skep_process_text, cmdline, 8);
AT(skep_process_text, environ, 24);
SIZE(skep_process_text, 40);

AT(skep_batch_answer, size, 0);
AT(skep_batch_answer, result, 4);
AT(skep_batch_answer, retry_after_ns, 8);
AT(skep_batch_answer, sent_bytes, 16);
AT(skep_batch_answer, rejected, 24);
AT(skep_batch_answer, status, 28);
AT(skep_batch_answer, why, 32);
SIZE(skep_batch_answer, 40);

AT(skep_mark, source, 0);
AT(skep_mark, position, 8);
AT(skep_mark, extra, 16);
AT(skep_mark, extra_size, 24);
AT(skep_mark, reserved, 28);
AT(skep_mark, cookie, 32);
FIXED(skep_mark, 40);


AT(skep_detail, name, 0);
AT(skep_detail, help, 8);
AT(skep_detail, stream, 16);
AT(skep_detail, scopes, 20);
SIZE(skep_detail, 24);

AT(skep_detail_scope, size, 0);
AT(skep_detail_scope, kind, 4);
AT(skep_detail_scope, value, 8);
AT(skep_detail_scope, id, 16);
SIZE(skep_detail_scope, 24);

AT(skep_sink_ops, size, 0);
AT(skep_sink_ops, max_in_flight, 4);
AT(skep_sink_ops, submit, 8);
AT(skep_sink_ops, flags, 16);
AT(skep_sink_ops, reserved, 20);
SIZE(skep_sink_ops, 24);

AT(skep_plugin, magic, 0);
AT(skep_plugin, abi_major, 4);
AT(skep_plugin, abi_minor, 6);
AT(skep_plugin, size, 8);
AT(skep_plugin, kind, 12);
AT(skep_plugin, name, 16);
AT(skep_plugin, version, 24);
AT(skep_plugin, summary, 32);
AT(skep_plugin, license, 40);
AT(skep_plugin, options, 48);
AT(skep_plugin, option_size, 56);
AT(skep_plugin, n_streams, 60);
AT(skep_plugin, streams, 64);
AT(skep_plugin, state_size, 72);
AT(skep_plugin, open, 80);
AT(skep_plugin, start, 88);
AT(skep_plugin, sample, 96);
AT(skep_plugin, reload, 104);
AT(skep_plugin, stop, 112);
AT(skep_plugin, close, 120);
AT(skep_plugin, sink, 128);
AT(skep_plugin, flush, 136);
AT(skep_plugin, details, 144);
AT(skep_plugin, detail_size, 152);
AT(skep_plugin, n_details, 156);
AT(skep_plugin, attach, 160);
AT(skep_plugin, detach, 168);
AT(skep_plugin, mark, 176);
AT(skep_plugin, settled, 184);
AT(skep_plugin, drain, 192);
SIZE(skep_plugin, 200);

IS(SKEP_T_U64, 1);
IS(SKEP_T_I64, 2);
IS(SKEP_T_F64, 3);
IS(SKEP_T_BOOL, 4);
IS(SKEP_T_TIME, 5);
IS(SKEP_T_STR, 6);
IS(SKEP_T_STRV, 7);
IS(SKEP_T_UPID, 8);
IS(SKEP_T_HASH, 9);
IS(SKEP_T_IP, 10);
IS(SKEP_T_HIST, 11);
IS(SKEP_HIST_SLOTS, 192u);
IS(SKEP_HIST_SCALE, 2);

IS(SKEP_S_ATTRIBUTE, 1);
IS(SKEP_S_GAUGE, 2);
IS(SKEP_S_DELTA, 3);
IS(SKEP_S_CUMULATIVE, 4);

IS(SKEP_ROLE_NONE, 0);
IS(SKEP_ROLE_FACET, 1);
IS(SKEP_ROLE_PROC_FORK, 2);
IS(SKEP_ROLE_PROC_EXEC, 3);
IS(SKEP_ROLE_PROC_EXIT, 4);
IS(SKEP_ROLE_PROC_FINAL, 5);
IS(SKEP_ROLE_PROC_LIVE, 6);
IS(SKEP_ROLE_PROC_OOM, 7);
IS(SKEP_ROLE_CGROUP, 8);
IS(SKEP_ROLE_LEDGER, 9);
IS(SKEP_ROLE_DETAIL, 10);
IS(SKEP_ROLE_PROC_EXCLUDED, 11);
IS(SKEP_EXEC_JUDGED, 2);
IS(SKEP_EXEC_WAS_EXCLUDED, 4);
IS(SKEP_EXEC_BOUNDARY, 8);
IS(SKEP_EXEC_TTY, 16);
IS(SKEP_EXEC_UNKNOWN_SHIFT, 8);
IS(SKEP_LEDGER_REFERENCE, 1u);
IS(SKEP_LEDGER_MEMO, 2u);
IS(SKEP_SIGNAL_OK, 1);
IS(SKEP_SIGNAL_PARTIAL, 2);
IS(SKEP_SIGNAL_MISSING, 3);
IS(SKEP_SIGNAL_OFF, 4);
IS(SKEP_SCOPE_HOST, 0);
IS(SKEP_SCOPE_GROUP, 1);
IS(SKEP_SCOPE_CGROUP, 2);
IS(SKEP_SCOPE_PID, 3);

IS(SKEP_STREAM_SAMPLE, 1u);
IS(SKEP_EXEC_ARGV_UNREADABLE, 1u);
IS(SKEP_FINAL_THREADS_PARTIAL, 4u);
IS(SKEP_LIVE_ZOMBIE, 1u);
IS(SKEP_LIVE_STATE_RUNNING, 2u);
IS(SKEP_LIVE_STATE_BLOCKED, 4u);
IS(SKEP_LIVE_BOUNDARY, 8u);
IS(SKEP_LIVE_TTY, 16u);
IS(SKEP_ENVIRON_CUT, 159u);
IS(SKEP_KIND_PROBE, 1);
IS(SKEP_KIND_SINK, 2);

IS(SKEP_O_BOOL, 1);
IS(SKEP_O_INT, 2);
IS(SKEP_O_SIZE, 3);
IS(SKEP_O_TIME, 4);
IS(SKEP_O_STR, 5);
IS(SKEP_O_STRV, 6);

IS(SKEP_LOG_ERROR, 3);
IS(SKEP_LOG_WARNING, 4);
IS(SKEP_LOG_NOTICE, 5);
IS(SKEP_LOG_INFO, 6);
IS(SKEP_LOG_DEBUG, 7);

IS(SKEP_LOSS_KERNEL, 1);
IS(SKEP_LOSS_QUEUE, 2);
IS(SKEP_LOSS_SPOOL, 3);
IS(SKEP_LOSS_SINK, 4);

IS(SKEP_BATCH_ACK, 1);
IS(SKEP_BATCH_RETRY, 2);
IS(SKEP_BATCH_REJECT, 3);
IS(SKEP_BATCH_HOLD, 4);
IS(SKEP_BATCH_SPLIT, 5);
IS(SKEP_BATCH_SUSPECT, 6);

IS(SKEP_ABI_MAJOR, 1);
IS(SKEP_READ_CMDLINE, 1u);
IS(SKEP_READ_ENVIRON, 2u);
IS(SKEP_NOTE_MAGIC, 0x70656b73u);
IS(SKEP_NOTE_TYPE, 1u);
IS(SKEP_OPT_RELOADABLE, 1u);
IS(SKEP_OPT_SECRET, 2u);
IS(SKEP_OPT_REQUIRED, 4u);
IS(SKEP_READABLE, 1u);
IS(SKEP_WRITABLE, 2u);

/* Old plugins find the host by these strings. */
_Static_assert(sizeof(SKEP_NOTE_OWNER) == 5 && sizeof(SKEP_NOTE_SECTION) == 18 && sizeof(SKEP_ENTRY_SYMBOL) == 18,
	       "names changed");

int main(void)
{
	return 0;
}
