/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/daemons.h - programs that run on a host whether or not anybody uses it: skepd, the operating system's services
 * and agents of clouds and clusters.  The lake subtracts their CPU time from a host's when a question is whether the
 * host does anything.  Both back ends of the lake use this list.
 */
#ifndef SKEP_DAEMONS_H
#define SKEP_DAEMONS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Names of tools, for SQL and for C: X(name). */
#define SKEP_DAEMONS(X)                                                                                              \
	X("skepd") X("skep-reader") X("systemd") X("init") X("systemd-journald") X("systemd-logind")                \
	X("systemd-udevd") X("systemd-resolved") X("systemd-networkd") X("systemd-timesyncd") X("systemd-oomd")     \
	X("systemd-machined") X("systemd-userdbd") X("dbus-daemon") X("dbus-broker") X("sshd") X("cron") X("crond")  \
	X("atd") X("rsyslogd") X("syslog-ng") X("chronyd") X("ntpd") X("agetty") X("polkitd") X("irqbalance")        \
	X("auditd") X("acpid") X("accounts-daemon") X("packagekitd") X("snapd") X("multipathd") X("udisksd")        \
	X("ModemManager") X("NetworkManager") X("wpa_supplicant") X("dhclient") X("dhcpcd") X("smartd") X("mdadm")  \
	X("lvmetad") X("rpcbind") X("rpc.statd") X("sssd") X("sssd_be") X("nscd") X("nslcd") X("munged")            \
	X("slurmd") X("dockerd") X("containerd") X("containerd-shim") X("containerd-shim-runc-v2") X("conmon")       \
	X("kubelet") X("kube-proxy") X("node_exporter") X("process-exporter") X("telegraf") X("collectd")           \
	X("gmond") X("zabbix_agentd") X("fluent-bit") X("google_guest_agent") X("google_osconfig_agent")            \
	X("amazon-ssm-agent") X("ssm-agent-worker") X("waagent") X("cloud-init") X("qemu-ga")                        \
	X("nvidia-persistenced") X("nv-hostengine")

static inline bool skep_is_daemon(const char *tool, size_t n)
{
#define SKEP_DAEMON_NAME(name_) name_,
	static const char *const names[] = { SKEP_DAEMONS(SKEP_DAEMON_NAME) };
#undef SKEP_DAEMON_NAME

	for (size_t i = 0; n && i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(names[i], tool, n) == 0 && !names[i][n])
			return true;
	return false;
}

#endif
