// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer target: read any text as a workload and replay it.
 */
#include <stdlib.h>

#include "sim.h"

int FUZZ_ENTRY(const uint8_t *data, size_t size);

int FUZZ_ENTRY(const uint8_t *data, size_t size)
{
	struct sim_options opt = { .state = SIM_ON };
	struct sim_result result;
	struct workload load;
	FILE *in, *null;

	if (!size)
		return 0;
	in = fmemopen((void *)data, size, "r");
	null = fopen("/dev/null", "w");
	if (!in || !null)
		abort();
	opt.set = IRQ_BALANCE_DEFAULTS;
	/* The first byte chooses a few settings. */
	opt.set.min_gain = data[0] >> 2;
	if (!workload_read(&load, "fuzz", in, null) && load.end <= 20000)
		sim_run(&load, &opt, null, &result);
	workload_free(&load);
	fclose(in);
	fclose(null);
	return 0;
}
