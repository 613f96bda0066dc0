// SPDX-License-Identifier: GPL-2.0
/*
 * Run the balancer's own passes over a workload, in simulated time.
 *
 * Time advances in whole milliseconds. The order within a millisecond is: the
 * events of an epoch, its place line, a pass.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL
#define NOWHERE		(~0U)

/* The clock starts above 0, which the balancer takes for "never". */
#define CLOCK_START	NSEC_PER_SEC

/**
 * struct sim_irq - an interrupt in the simulation
 * @load:	ns/s on a CPU of capacity 1024
 * @follows:	ns/s of base load on its CPU
 * @cpu:	index of the CPU that it is delivered to, or NOWHERE
 * @mask:	the user's mask
 * @time:	cumulative ns that were charged
 * @rest:	remainder below one ns, in ns/1000
 * @charged:	ns in the present quantum
 * @since:	clock (ns) when the present quantum began
 * @state:	the balancer's
 */
struct sim_irq {
	u64				load;
	u64				follows;
	unsigned int			cpu;
	const unsigned long		*mask;
	u64				time;
	u64				rest;
	u64				charged;
	u64				since;
	struct irq_balance_state	state;
};

/**
 * struct sim_cpu - a CPU in the simulation
 * @base:	ns/s of its own
 * @tasks:	ns/s that tasks take of it
 * @time:	cumulative ns of its own
 * @rest:	remainder below one ns, in ns/1000
 * @online:	whether it is online
 */
struct sim_cpu {
	u64	base;
	u64	tasks;
	u64	time;
	u64	rest;
	bool	online;
};

struct sim {
	const struct workload		*load;
	const struct sim_options	*opt;
	FILE				*out;
	struct sim_result		*result;
	struct sim_irq			*irqs;
	struct sim_cpu			*cpus;
	struct irq_balance_irq		*in;
	struct irq_balance_cpu		*in_cpus;
	struct irq_balance		bal;
	bool				*moved;
	u64				now;
	u64				next;
	bool				woken;
	bool				recorded;
	bool				pass;
};

static void *array(size_t nr, size_t size)
{
	void *mem = calloc(nr ? nr : 1, size);

	if (!mem)
		abort();
	return mem;
}

static u64 clock_ns(u64 ms)
{
	return CLOCK_START + ms * NSEC_PER_MSEC;
}

/* Time that the interrupt takes of its CPU, ns/s. */
static u64 rate_of(const struct sim *s, unsigned int i)
{
	const struct sim_irq *irq = &s->irqs[i];

	if (irq->cpu == NOWHERE)
		return 0;
	return irq->load * 1024 / s->load->cpus[irq->cpu].capacity;
}

static void accrue(u64 *time, u64 *rest, u64 rate, u64 ms)
{
	*time += rate * (ms / 1000);
	*rest += rate * (ms % 1000);
	*time += *rest / 1000;
	*rest %= 1000;
}

/* Clock (ns) when the present quantum is full at this rate. */
static u64 quantum_full(const struct sim *s, const struct sim_irq *irq, u64 rate)
{
	u64 left = irq->charged < IRQ_LOAD_QUANTUM ? IRQ_LOAD_QUANTUM - irq->charged : 0;

	return clock_ns(s->now) + left * NSEC_PER_SEC / rate;
}

/* Let time pass without a change. */
static void advance(struct sim *s, u64 ms)
{
	u64 span = ms - s->now;
	unsigned int i;

	for (i = 0; i < s->load->nr_irqs; i++) {
		struct sim_irq *irq = &s->irqs[i];
		u64 rate = rate_of(s, i), full, each;

		accrue(&irq->time, &irq->rest, rate, span);
		if (irq->cpu != NOWHERE)
			accrue(&s->cpus[irq->cpu].time, &s->cpus[irq->cpu].rest, irq->follows,
			       span);
		if (!rate)
			continue;
		full = quantum_full(s, irq, rate);
		each = IRQ_LOAD_QUANTUM * NSEC_PER_SEC / rate;
		if (full > clock_ns(ms)) {
			irq->charged += rate * (span / 1000) +
					rate * (span % 1000) / 1000;
			continue;
		}
		irq->since = full + (each ? (clock_ns(ms) - full) / each * each : 0);
		irq->charged = (clock_ns(ms) - irq->since) / 1000 * (rate / 1000) / 1000;
	}
	for (i = 0; i < s->load->nr_cpus; i++) {
		if (s->cpus[i].online)
			accrue(&s->cpus[i].time, &s->cpus[i].rest,
			       s->cpus[i].base, span);
	}
	s->now = ms;
}

/*
 * The first whole ms at which an interrupt kicks, if nothing changes. The present
 * quantum and the next one suffice: later quanta take the same time.
 */
static u64 next_kick(const struct sim *s)
{
	u64 first = ~0ULL;
	unsigned int i;

	for (i = 0; i < s->load->nr_irqs; i++) {
		const struct sim_irq *irq = &s->irqs[i];
		u64 rate = rate_of(s, i), full, each;

		if (!rate)
			continue;
		full = quantum_full(s, irq, rate);
		each = IRQ_LOAD_QUANTUM * NSEC_PER_SEC / rate;
		if (irq_load_rises(IRQ_LOAD_QUANTUM, full - irq->since, s->bal.limit))
			first = min(first, full);
		else if (irq_load_rises(IRQ_LOAD_QUANTUM, each, s->bal.limit))
			first = min(first, full + each);
	}
	if (first == ~0ULL)
		return first;
	first = (first - CLOCK_START + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
	return first > s->now ? first : s->now + 1;
}

static void print_move(const struct sim *s, unsigned int i, unsigned int from,
		       unsigned int to, enum irq_balance_why reason, u64 gain)
{
	fprintf(s->out, "move %llu %u %u %u %s %llu\n",
		(unsigned long long)s->now, s->load->irqs[i].id,
		s->load->cpus[from].id, s->load->cpus[to].id,
		irq_balance_why_name(reason), (unsigned long long)gain);
}

static void print_place(const struct sim *s)
{
	unsigned int i;

	fprintf(s->out, "place %llu", (unsigned long long)s->now);
	for (i = 0; i < s->load->nr_irqs; i++) {
		if (s->irqs[i].cpu == NOWHERE)
			fprintf(s->out, " %u=-", s->load->irqs[i].id);
		else
			fprintf(s->out, " %u=%u", s->load->irqs[i].id,
				s->load->cpus[s->irqs[i].cpu].id);
	}
	fputc('\n', s->out);
}

/* Why each interrupt stays where it is, by the last pass */
static void print_why(const struct sim *s)
{
	unsigned int i;

	fprintf(s->out, "why %llu", (unsigned long long)s->now);
	for (i = 0; i < s->load->nr_irqs; i++)
		fprintf(s->out, " %u=%s", s->load->irqs[i].id,
			irq_balance_why_name(s->irqs[i].state.why));
	fputc('\n', s->out);
}

/* The CPU that the core chooses for an interrupt whose CPU is forbidden. */
static unsigned int core_choice(const struct sim *s, unsigned int i)
{
	unsigned int cpu, lowest = NOWHERE;

	for (cpu = 0; cpu < s->load->nr_cpus; cpu++) {
		if (!s->cpus[cpu].online)
			continue;
		if (test_bit(cpu, s->irqs[i].mask))
			return cpu;
		if (lowest == NOWHERE)
			lowest = cpu;
	}
	return s->load->irqs[i].managed ? NOWHERE : lowest;
}

static void core_move(struct sim *s, unsigned int i, enum irq_balance_why why)
{
	struct sim_irq *irq = &s->irqs[i];
	unsigned int from = irq->cpu, to = core_choice(s, i);

	irq->cpu = to;
	if (to != from && to != NOWHERE && from != NOWHERE)
		print_move(s, i, from, to, why, 0);
}

static void event(struct sim *s, const struct workload_event *ev)
{
	unsigned int i;

	switch (ev->what) {
	case WORKLOAD_EPOCH:
		break;
	case WORKLOAD_PASS:
		s->pass = s->recorded;
		break;
	case WORKLOAD_LOAD:
		s->irqs[ev->index].load = ev->value;
		break;
	case WORKLOAD_BASE:
		s->cpus[ev->index].base = ev->value;
		break;
	case WORKLOAD_TASKS:
		s->cpus[ev->index].tasks = ev->value;
		break;
	case WORKLOAD_FOLLOWS:
		s->irqs[ev->index].follows = ev->value;
		break;
	case WORKLOAD_TOLL:
		s->in[ev->index].toll = ev->value;
		break;
	case WORKLOAD_MASK:
		s->irqs[ev->index].mask = ev->mask;
		if (s->irqs[ev->index].cpu == NOWHERE ||
		    !test_bit(s->irqs[ev->index].cpu, ev->mask))
			core_move(s, ev->index, IRQ_BALANCE_WHY_AFFINITY);
		s->woken = true;
		s->in[ev->index].changed = true;
		break;
	case WORKLOAD_OFFLINE:
		s->cpus[ev->index].online = false;
		for (i = 0; i < s->load->nr_irqs; i++) {
			if (s->irqs[i].cpu == ev->index)
				core_move(s, i, IRQ_BALANCE_WHY_HOTPLUG);
		}
		s->woken = true;
		s->bal.changed = true;
		break;
	case WORKLOAD_ONLINE:
		s->cpus[ev->index].online = true;
		for (i = 0; i < s->load->nr_irqs; i++) {
			if (s->irqs[i].cpu == NOWHERE)
				core_move(s, i, IRQ_BALANCE_WHY_HOTPLUG);
		}
		s->woken = true;
		s->bal.changed = true;
		break;
	}
}

static u64 load_of(const struct sim *s, unsigned int cpu)
{
	u64 load = s->cpus[cpu].base;
	unsigned int i;

	for (i = 0; i < s->load->nr_irqs; i++) {
		if (s->irqs[i].cpu == cpu)
			load += rate_of(s, i) + s->irqs[i].follows;
	}
	return load;
}

/*
 * The moves of a pass happen at once. Print them in an order in which each CPU
 * loses interrupts before it gets others, as far as there is such an order.
 */
static void make_moves(struct sim *s, unsigned int nr)
{
	const struct workload *load = s->load;
	u64 *loads = array(load->nr_cpus, sizeof(*loads)), worst = 0;
	unsigned int i, cpu;

	for (cpu = 0; cpu < load->nr_cpus; cpu++) {
		loads[cpu] = load_of(s, cpu);
		worst = max(worst, loads[cpu]);
	}
	for (i = 0; i < load->nr_irqs; i++)
		s->moved[i] = s->in[i].target == s->in[i].cpu;
	while (nr) {
		unsigned int pick = NOWHERE, from, to;

		for (i = 0; i < load->nr_irqs; i++) {
			if (s->moved[i])
				continue;
			if (pick == NOWHERE)
				pick = i;
			to = s->in[i].target;
			if (loads[to] + s->irqs[i].load * 1024 /
			    load->cpus[to].capacity <= worst) {
				pick = i;
				break;
			}
		}
		if (pick == NOWHERE)
			abort();
		from = s->in[pick].cpu;
		to = s->in[pick].target;
		loads[from] -= rate_of(s, pick);
		s->irqs[pick].cpu = to;
		loads[to] += rate_of(s, pick);
		s->moved[pick] = true;
		if (s->out)
			print_move(s, pick, from, to, s->in[pick].reason,
				   s->in[pick].gain);
		nr--;
	}
	free(loads);
}

static void one_pass(struct sim *s, bool kicked)
{
	const struct workload *load = s->load;
	unsigned int i, moves;

	for (i = 0; i < load->nr_cpus; i++) {
		struct irq_balance_cpu *cpu = &s->in_cpus[i];

		cpu->time = s->cpus[i].time;
		cpu->tasks = s->cpus[i].tasks;
		cpu->usable = s->cpus[i].online && !load->cpus[i].isolated &&
			      (!s->opt->cpus || test_bit(i, s->opt->cpus));
	}
	for (i = 0; i < load->nr_irqs; i++) {
		struct irq_balance_irq *in = &s->in[i];

		in->cpu = s->irqs[i].cpu;
		in->time = s->irqs[i].time;
		in->allowed = s->irqs[i].mask;
		in->status = load->irqs[i].managed || load->irqs[i].pinned;
		if (in->status)
			in->allowed = NULL;
	}
	s->bal.kicked = kicked;
	s->bal.observe = s->opt->state == SIM_OBSERVE;
	moves = irq_balance_pass(&s->bal, clock_ns(s->now), &(struct irq_balance_input) {
		.set = &s->opt->set, .cpus = s->in_cpus, .irqs = s->in, .nr_irqs = load->nr_irqs,
	});
	for (i = 0; i < load->nr_irqs; i++)
		s->in[i].changed = false;
	if (s->opt->state == SIM_OBSERVE)
		moves = 0;
	else if (moves)
		make_moves(s, moves);
	s->next = s->bal.next == IRQ_BALANCE_NO_TIMER ? ~0ULL :
		  (s->bal.next - CLOCK_START) / NSEC_PER_MSEC;
	s->result->passes++;
	s->result->moves += moves;
	if (moves)
		s->result->last_move = s->now;
	if (!s->out)
		return;
	fprintf(s->out, "pass %llu %u ", (unsigned long long)s->now, moves);
	if (s->next == ~0ULL)
		fputs("-\n", s->out);
	else
		fprintf(s->out, "%llu\n", (unsigned long long)s->next);
}

/* A package, cache or core has the number of its first CPU for the planner */
static unsigned int first_with(const struct workload *load, size_t member, unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < cpu; i++) {
		if (!memcmp((const char *)&load->cpus[i] + member,
			    (const char *)&load->cpus[cpu] + member, sizeof(unsigned int)))
			break;
	}
	return i;
}

static void start(struct sim *s)
{
	const struct workload *load = s->load;
	unsigned int i;

	s->irqs = array(load->nr_irqs, sizeof(*s->irqs));
	s->cpus = array(load->nr_cpus, sizeof(*s->cpus));
	s->in = array(load->nr_irqs, sizeof(*s->in));
	s->in_cpus = array(load->nr_cpus, sizeof(*s->in_cpus));
	s->moved = array(load->nr_irqs, sizeof(*s->moved));
	for (i = 0; i < load->nr_cpus; i++) {
		const struct workload_cpu *cpu = &load->cpus[i];

		s->cpus[i].online = true;
		s->in_cpus[i].capacity = cpu->capacity;
		s->in_cpus[i].node = cpu->node;
		s->in_cpus[i].package = first_with(load, offsetof(struct workload_cpu, package), i);
		s->in_cpus[i].llc = first_with(load, offsetof(struct workload_cpu, llc), i);
		s->in_cpus[i].core = first_with(load, offsetof(struct workload_cpu, core), i);
	}
	for (i = 0; i < load->nr_irqs; i++) {
		s->irqs[i].cpu = load->irqs[i].at;
		s->irqs[i].mask = load->irqs[i].mask;
		s->irqs[i].since = clock_ns(0);
		s->in[i].irq = load->irqs[i].id;
		s->in[i].node = load->irqs[i].node;
		s->in[i].state = &s->irqs[i].state;
	}
	irq_balance_init(&s->bal, array(1, irq_balance_set_work(&s->bal, NULL, load->nr_irqs,
								load->nr_cpus)),
			 load->nr_irqs, load->nr_cpus);
	s->bal.program = s->opt->program;
}

/**
 * sim_run - simulate a workload
 * @load:	the workload
 * @opt:	options
 * @out:	file for the output, or NULL
 * @result:	figures
 */
void sim_run(const struct workload *load, const struct sim_options *opt,
	     FILE *out, struct sim_result *result)
{
	struct sim s = {
		.load = load, .opt = opt, .out = out, .result = result,
		.recorded = load->recorded && !opt->own_pace,
	};
	unsigned int i;
	size_t ev = 0;

	memset(result, 0, sizeof(*result));
	start(&s);
	/* The thread makes a pass when it starts. */
	s.woken = true;
	for (;;) {
		u64 kick = ~0ULL, when = load->end;
		bool kicked;

		if (ev < load->nr_events)
			when = min(when, load->events[ev].ms);
		if (opt->state != SIM_OFF && !s.recorded) {
			kick = s.woken ? s.now : next_kick(&s);
			when = min(when, min(kick, s.next));
		}
		advance(&s, when);
		if (ev < load->nr_events && load->events[ev].ms == s.now) {
			do {
				event(&s, &load->events[ev++]);
			} while (ev < load->nr_events &&
				 load->events[ev].ms == s.now);
			if (out)
				print_place(&s);
		}
		if (s.now >= load->end && ev == load->nr_events)
			break;
		kicked = !s.recorded && !s.woken && s.now == kick;
		if (opt->state != SIM_OFF &&
		    (s.recorded ? s.pass : s.woken || kicked || s.now == s.next)) {
			s.woken = false;
			s.pass = false;
			one_pass(&s, kicked);
		}
	}
	if (out)
		print_place(&s);
	if (out && opt->why)
		print_why(&s);
	for (i = 0; i < load->nr_cpus; i++) {
		if (s.cpus[i].online)
			result->worst = max(result->worst, load_of(&s, i));
	}
	free(s.bal.work);
	free(s.irqs);
	free(s.cpus);
	free(s.in);
	free(s.in_cpus);
	free(s.moved);
}
