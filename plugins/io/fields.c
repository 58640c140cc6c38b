/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/fields.c - the streams, field by field.
 */
#include "state.h"

const char *const io_op_names[IO_OPS] = {
	[IO_READ] = "read",
	[IO_WRITE] = "write",
	[IO_DISCARD] = "discard",
	[IO_FLUSH] = "flush",
	[IO_OTHER] = "other",
};

#define D(m_, type_, sem_, unit_, help_) SKEP_FIELD(struct disk_record, m_, #m_, type_, sem_, unit_, help_)
static const struct skep_field disk_fields[] = {
	D(device, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "name of the whole device, as in /sys/block"),
	D(operation, SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
	  "read, write, discard, flush, other (pass-through), or none: no request completed, but one waits"),
	D(class, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "nvme, scsi, virtio, xen, mmc, network, dm, md, loop, zram, ..."),
	D(model, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "as the device reports it; empty for most virtual ones"),
	D(rotational, SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "", "the kernel treats it as a spinning disk"),
	D(stacked, SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "", "devices below it repeat its requests"),
	D(operations, SKEP_T_U64, SKEP_S_DELTA, "{operation}", "completed requests"),
	D(bytes, SKEP_T_U64, SKEP_S_DELTA, "By", "bytes of these requests"),
	D(errors, SKEP_T_U64, SKEP_S_DELTA, "{error}", "requests, or parts of one, that failed"),
	D(latency, SKEP_T_HIST, SKEP_S_DELTA, "ns",
	  "times of requests from creation to completion, waits in queues included"),
	D(size, SKEP_T_HIST, SKEP_S_DELTA, "By", "sizes of requests"),
	D(service_operations, SKEP_T_U64, SKEP_S_DELTA, "{operation}",
	  "requests whose queue notes when the driver gets them"),
	D(service_ns, SKEP_T_U64, SKEP_S_DELTA, "ns", "sum of their times from the driver to completion"),
	D(in_flight, SKEP_T_U64, SKEP_S_GAUGE, "{request}", "requests in flight now on the device, all operations"),
	D(queue_depth, SKEP_T_F64, SKEP_S_GAUGE, "{request}", "mean number of requests under way on the device"),
	D(busy_ratio, SKEP_T_F64, SKEP_S_GAUGE, "1", "share of time with a request under way"),
};

static const struct skep_stream disk_stream =
	SKEP_STREAM(struct disk_record, disk_fields, "disk.io", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "requests of a block device, of one kind of operation, since its record before");

#define C(m_, type_, sem_, unit_, help_) SKEP_FIELD(struct cgroup_record, m_, #m_, type_, sem_, unit_, help_)
static const struct skep_field cgroup_fields[] = {
	C(cgroup_id, SKEP_T_U64, SKEP_S_ATTRIBUTE, "",
	  "id of the cgroup, as in process records; 0: the root, or unknown"),
	C(operation, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "read, write, discard, flush or other"),
	C(issuer, SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
	  "direct: a process in it made the request; writeback: the kernel made it for this cgroup; unknown: "
	  "the kernel made it for an unknown cgroup"),
	C(operations, SKEP_T_U64, SKEP_S_DELTA, "{operation}", "completed block requests"),
	C(bytes, SKEP_T_U64, SKEP_S_DELTA, "By", "bytes of these requests"),
	C(latency_ns, SKEP_T_U64, SKEP_S_DELTA, "ns", "sum of their times from creation to completion"),
};

static const struct skep_stream cgroup_stream =
	SKEP_STREAM(struct cgroup_record, cgroup_fields, "cgroup.io", SKEP_ROLE_CGROUP, SKEP_STREAM_SAMPLE,
		    "block requests of a cgroup, by issuer");

#define P(m_, sem_, unit_, help_) SKEP_FIELD(struct process_record, m_, #m_, SKEP_T_U64, sem_, unit_, help_)
#define DELAY(i_, name_, help_) \
	SKEP_FIELD(struct process_record, delay_ns[i_], name_, SKEP_T_U64, SKEP_S_DELTA, "ns", help_)
static const struct skep_field process_fields[] = {
	P(read_operations, SKEP_S_DELTA, "{operation}", "block reads that the process issued, read-ahead included"),
	P(write_operations, SKEP_S_DELTA, "{operation}",
	  "block writes that the process issued, without write-back by the kernel"),
	P(other_operations, SKEP_S_DELTA, "{operation}", "discards, flushes, pass-through"),
	P(read_bytes, SKEP_S_DELTA, "By", "bytes of its reads, on all devices"),
	P(write_bytes, SKEP_S_DELTA, "By", "bytes of its writes"),
	P(discard_bytes, SKEP_S_DELTA, "By", "bytes of its discards"),
	P(read_ns, SKEP_S_DELTA, "ns", "sum of its reads' times from creation to completion; they overlap"),
	P(write_ns, SKEP_S_DELTA, "ns", "sum of its writes' times"),
	P(latency_max_ns, SKEP_S_GAUGE, "ns", "time of its slowest request"),
	P(reclaims, SKEP_S_DELTA, "{reclaim}", "times that it had to free memory because the host had none left"),
	P(reclaim_ns, SKEP_S_DELTA, "ns", "time of these reclaims"),
	P(cgroup_reclaims, SKEP_S_DELTA, "{reclaim}",
	  "times that it had to free memory because its cgroup was at its limit"),
	P(cgroup_reclaim_ns, SKEP_S_DELTA, "ns", "time of these reclaims"),
	DELAY(IO_DELAY_BLOCK, "block_delay_ns",
	      "time that its threads waited for block I/O (where the kernel accounts delays)"),
	DELAY(IO_DELAY_SWAPIN, "swapin_delay_ns", "time that its threads waited for pages from swap (likewise)"),
	DELAY(IO_DELAY_RECLAIM, "reclaim_delay_ns", "time that its threads waited for memory (likewise)"),
	DELAY(IO_DELAY_THRASHING, "thrashing_delay_ns",
	      "time that its threads waited for pages that the page cache had just dropped (likewise)"),
};

static const struct skep_stream process_stream =
	SKEP_STREAM(struct process_record, process_fields, "io", SKEP_ROLE_FACET, SKEP_STREAM_SAMPLE,
		    "block requests that a process made, and its waits for storage and memory");

#define V(i_, name_, unit_, help_) \
	SKEP_FIELD(struct paging_record, v[i_], name_, SKEP_T_U64, SKEP_S_DELTA, unit_, help_)
static const struct skep_field paging_fields[] = {
	V(VM_IN, "in_bytes", "By", "read by block devices into memory, files and swap"),
	V(VM_OUT, "out_bytes", "By", "written from memory to block devices"),
	V(VM_SWAP_IN, "swap_in_bytes", "By", "part of in_bytes from swap"),
	V(VM_SWAP_OUT, "swap_out_bytes", "By", "part of out_bytes to swap"),
	V(VM_FAULTS, "faults", "{fault}", "page faults, major ones included"),
	V(VM_MAJOR_FAULTS, "major_faults", "{fault}", "page faults that had to wait for a device"),
	V(VM_STALLS, "direct_reclaims", "{reclaim}", "times a task had to free memory itself"),
	V(VM_DIRECT_SCANNED, "direct_scanned_bytes", "By", "memory that such tasks looked at"),
	V(VM_DIRECT_RECLAIMED, "direct_reclaimed_bytes", "By", "memory that such tasks freed"),
	V(VM_BACKGROUND_SCANNED, "background_scanned_bytes", "By", "memory that the kernel's own threads looked at"),
	V(VM_BACKGROUND_RECLAIMED, "background_reclaimed_bytes", "By", "memory that the kernel's own threads freed"),
	V(VM_FILE_REFAULTS, "file_refault_bytes", "By",
	  "file pages read again soon after the page cache dropped them: the cache is too small"),
	V(VM_ANON_REFAULTS, "anon_refault_bytes", "By", "pages swapped in again soon after they were swapped out"),
};

static const struct skep_stream paging_stream =
	SKEP_STREAM(struct paging_record, paging_fields, "host.paging", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "page cache, swap and reclaim of the host, since the record before");

#define F(m_, type_, sem_, unit_, help_) SKEP_FIELD(struct fs_record, m_, #m_, type_, sem_, unit_, help_)
static const struct skep_field fs_fields[] = {
	F(mountpoint, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "path of the mount; of several mounts the first"),
	F(type, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "nfs4, cifs, lustre, ceph, fuse.sshfs, ..."),
	F(class, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "network, parallel, fuse or shared (with a virtual machine's host)"),
	F(source, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "server and path"),
	F(read_operations, SKEP_T_U64, SKEP_S_DELTA, "{operation}",
	  "reads sent to the server; Lustre: programs' calls"),
	F(read_bytes, SKEP_T_U64, SKEP_S_DELTA, "By", "read from the server; Lustre: by programs, cached or not"),
	F(write_operations, SKEP_T_U64, SKEP_S_DELTA, "{operation}",
	  "writes sent to the server; Lustre: programs' calls"),
	F(write_bytes, SKEP_T_U64, SKEP_S_DELTA, "By", "written to the server; Lustre: by programs"),
	F(other_operations, SKEP_T_U64, SKEP_S_DELTA, "{operation}", "operations on names, attributes, locks"),
	F(retransmissions, SKEP_T_U64, SKEP_S_DELTA, "{operation}", "requests sent again (NFS)"),
	F(timeouts, SKEP_T_U64, SKEP_S_DELTA, "{operation}", "requests not answered in time (NFS)"),
	F(errors, SKEP_T_U64, SKEP_S_DELTA, "{error}", "operations that the server refused (NFS, CIFS)"),
	F(queue_ns, SKEP_T_U64, SKEP_S_DELTA, "ns",
	  "sum over all operations of the time before the client sent them (NFS)"),
	F(rtt_ns, SKEP_T_U64, SKEP_S_DELTA, "ns",
	  "sum over all operations of the time until the server answered (NFS)"),
	F(waiting, SKEP_T_U64, SKEP_S_GAUGE, "{request}", "requests without an answer now (FUSE)"),
};

static const struct skep_stream fs_stream =
	SKEP_STREAM(struct fs_record, fs_fields, "fs.io", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "I/O of a client of a network, parallel or user-space file system, since the record before");

#define L(m_, type_, sem_, unit_, help_) SKEP_FIELD(struct skep_ledger_post, m_, #m_, type_, sem_, unit_, help_)
static const struct skep_field ledger_fields[] = {
	L(account, SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "disk.read or disk.write"),
	L(item, SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
	  "device (the reference), processes, kernel, excluded; unseen_issuer beside them"),
	L(amount, SKEP_T_I64, SKEP_S_CUMULATIVE, "By", "sum since the probe began"),
	L(flags, SKEP_T_U64, SKEP_S_ATTRIBUTE, "", "1: the reference, 2: beside the account"),
};

static const struct skep_stream ledger_stream =
	SKEP_STREAM(struct skep_ledger_post, ledger_fields, "disk.ledger", SKEP_ROLE_LEDGER, SKEP_STREAM_SAMPLE,
		    "bytes of devices by cause, for the ledger of the host");

#define I(m_, name_, type_, sem_, unit_, help_) SKEP_FIELD(struct iolat_record, m_, name_, type_, sem_, unit_, help_)
static const struct skep_field iolat_fields[] = {
	I(id, "detail.id", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", "id of the attachment"),
	I(device, "device", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "name of the whole device, as in /sys/block"),
	I(operation, "operation", SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
	  "read, write, discard, flush, other (pass-through)"),
	I(count, "count", SKEP_T_U64, SKEP_S_DELTA, "{operation}", "completed requests, since the last record"),
	I(bytes, "bytes", SKEP_T_U64, SKEP_S_DELTA, "By", "bytes of these requests"),
	I(errors, "errors", SKEP_T_U64, SKEP_S_DELTA, "{error}", "part of count that failed"),
	I(sum_ns, "sum_ns", SKEP_T_U64, SKEP_S_DELTA, "ns", "sum of the requests' times"),
	I(duration, "duration", SKEP_T_HIST, SKEP_S_DELTA, "ns",
	  "times of requests from creation to completion; fewer than count where the kernel measures no times"),
	I(queue, "queue", SKEP_T_HIST, SKEP_S_DELTA, "ns",
	  "part of the time until the driver got the request; empty where the queue does not note that moment"),
	I(service, "service", SKEP_T_HIST, SKEP_S_DELTA, "ns",
	  "part of the time from the driver to completion; likewise"),
};

static const struct skep_stream iolat_stream =
	SKEP_STREAM(struct iolat_record, iolat_fields, "io.iolat", SKEP_ROLE_DETAIL, SKEP_STREAM_SAMPLE,
		    "detail iolat: how long block requests took, by device and operation");

const struct skep_detail io_details[N_DETAILS] = {
	[DETAIL_IOLAT] = {
		.name = "iolat",
		.help = "how long block requests take, by device and operation; one more program for each request of "
			"the host",
		.stream = STREAM_IOLAT,
		.scopes = SKEP_SCOPE_ANY,
	},
};

const struct skep_stream *const io_streams[N_STREAMS] = {
	[STREAM_DISK] = &disk_stream,
	[STREAM_CGROUP] = &cgroup_stream,
	[STREAM_PROCESS] = &process_stream,
	[STREAM_PAGING] = &paging_stream,
	[STREAM_FS] = &fs_stream,
	[STREAM_LEDGER] = &ledger_stream,
	[STREAM_IOLAT] = &iolat_stream,
};
