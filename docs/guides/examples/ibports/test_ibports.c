/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe "ibports" on a sysfs that the test makes by fake-sysfs, under the mock host.
 */
#include <skep/mock.h>
#include <string.h>
#include <unistd.h>

static char root[] = "/tmp/ibports-XXXXXX";

/* Runs a command line with ROOT in its environment. */
static void sh(const char *command)
{
	if (system(command) != 0) {
		fprintf(stderr, "failed: %s\n", command);
		exit(1);
	}
}

#define PORT "ibports.port"

static void begin(struct skep_mock *m)
{
	skep_mock_init(m, skep_plugin_entry(NULL));
	SKEP_MOCK_CHECK(skep_mock_option(m, "root", root) == 0);
}

static void traffic(void)
{
	const struct skep_mock_record *r;
	struct skep_mock m;

	sh("./fake-sysfs $ROOT mlx5_0 1 port_rcv_data=1000 port_xmit_data=2000 link_downed=3");
	begin(&m);
	SKEP_MOCK_CHECK(skep_mock_start(&m) == 0);
	SKEP_MOCK_CHECK(skep_mock_signal(&m, "infiniband.ports", NULL, NULL) == SKEP_SIGNAL_OK);
	/* bytes from before the probe are in no record */
	SKEP_MOCK_CHECK(skep_mock_count(&m, PORT) == 0);
	sh("./fake-sysfs $ROOT mlx5_0 1 port_rcv_data=1250 port_xmit_data=2001 port_rcv_packets=7 symbol_error=2 link_downed=4");
	skep_mock_sample(&m);
	SKEP_MOCK_CHECK(skep_mock_count(&m, PORT) == 1);
	r = skep_mock_record(&m, PORT, 0);
	SKEP_MOCK_CHECK(strcmp(skep_mock_str(r, "infiniband.device"), "mlx5_0") == 0);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.port") == 1);
	SKEP_MOCK_CHECK(strcmp(skep_mock_str(r, "infiniband.state"), "ACTIVE") == 0);
	SKEP_MOCK_CHECK(strcmp(skep_mock_str(r, "infiniband.link_layer"), "InfiniBand") == 0);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.rate") == 100000000000);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.interval") > 0);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.receive.io") == 1000); /* in units of four bytes */
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.transmit.io") == 4);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.receive.packets") == 7);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.symbol_errors") == 2);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.link_downed") == 1);

	/* no traffic: a record of zeros */
	skep_mock_sample(&m);
	r = skep_mock_record(&m, PORT, -1);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.receive.io") == 0);

	/* the counters were reset */
	sh("./fake-sysfs $ROOT mlx5_0 1 port_rcv_data=10 port_xmit_data=2001");
	skep_mock_sample(&m);
	r = skep_mock_record(&m, PORT, -1);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.receive.io") == 40);
	SKEP_MOCK_CHECK(skep_mock_counter(&m, "resets") == 1);
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);
}

static void adapters_come_and_go(void)
{
	struct skep_mock m;
	const struct skep_mock_record *r;

	sh("rm -rf $ROOT/class");
	begin(&m);
	SKEP_MOCK_CHECK(skep_mock_start(&m) == 0); /* an error would be wrong */
	SKEP_MOCK_CHECK(skep_mock_signal(&m, "infiniband.ports", NULL, NULL) == SKEP_SIGNAL_MISSING);
	skep_mock_sample(&m);
	SKEP_MOCK_CHECK(skep_mock_count(&m, PORT) == 0);
	sh("./fake-sysfs $ROOT mlx5_1 2 port_rcv_data=100 && ./fake-sysfs $ROOT rxe0 1");
	skep_mock_sample(&m);
	SKEP_MOCK_CHECK(skep_mock_signal(&m, "infiniband.ports", NULL, NULL) == SKEP_SIGNAL_OK);
	skep_mock_sample(&m);
	SKEP_MOCK_CHECK(skep_mock_count(&m, PORT) == 2);
	/* a reload limits the probe to one adapter */
	SKEP_MOCK_CHECK(skep_mock_option_list(&m, "devices", (const char *[]){ "mlx5_1", NULL }) == 0);
	SKEP_MOCK_CHECK(skep_mock_reload(&m) == 0);
	skep_mock_forget(&m);
	skep_mock_sample(&m);
	SKEP_MOCK_CHECK(skep_mock_count(&m, PORT) == 1);
	r = skep_mock_record(&m, PORT, 0);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.port") == 2);
	/* unplugged and plugged in again: the probe begins with a new base */
	sh("rm -r $ROOT/class/infiniband/mlx5_1");
	skep_mock_sample(&m);
	sh("./fake-sysfs $ROOT mlx5_1 2 port_rcv_data=5000");
	skep_mock_forget(&m);
	skep_mock_sample(&m);
	SKEP_MOCK_CHECK(skep_mock_count(&m, PORT) == 0);
	sh("./fake-sysfs $ROOT mlx5_1 2 port_rcv_data=5001");
	skep_mock_sample(&m);
	SKEP_MOCK_CHECK(skep_mock_u64(skep_mock_record(&m, PORT, 0), "infiniband.receive.io") == 4);
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);
}

static void odd_files(void)
{
	struct skep_mock m;
	const struct skep_mock_record *r;

	/* unreadable counters, an unknown state and rate, a folder that is no port */
	sh("rm -rf $ROOT/class && ./fake-sysfs $ROOT odd 1 && cd $ROOT/class/infiniband/odd/ports && rm 1/counters/* &&"
	   " echo N/A >1/counters/port_rcv_data && echo -5 >1/counters/port_xmit_data && echo BROKEN >1/state && echo fast >1/rate &&"
	   " mkdir x 999 && touch 2");
	begin(&m);
	SKEP_MOCK_CHECK(skep_mock_start(&m) == 0);
	skep_mock_sample(&m);
	SKEP_MOCK_CHECK(skep_mock_count(&m, PORT) == 1);
	r = skep_mock_record(&m, PORT, 0);
	SKEP_MOCK_CHECK(strcmp(skep_mock_str(r, "infiniband.state"), "BROKEN") == 0);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.rate") == 0);
	SKEP_MOCK_CHECK(skep_mock_u64(r, "infiniband.receive.io") == 0);
	SKEP_MOCK_CHECK(skep_mock_counter(&m, "unreadable") == 2);
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);

	skep_mock_init(&m, skep_plugin_entry(NULL));
	SKEP_MOCK_CHECK(skep_mock_option(&m, "root", "sys") == 0);
	SKEP_MOCK_CHECK(skep_mock_start(&m) == -EINVAL);
	SKEP_MOCK_CHECK(strstr(m.why, "absolute path"));
	SKEP_MOCK_CHECK(skep_mock_end(&m) == 0);
}

int main(void)
{
	SKEP_MOCK_CHECK(mkdtemp(root));
	SKEP_MOCK_CHECK(setenv("ROOT", root, 1) == 0);
	traffic();
	adapters_come_and_go();
	odd_files();
	sh("rm -rf $ROOT");
	puts("test_ibports: passed");
	return 0;
}
