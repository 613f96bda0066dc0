#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Count the planner's moves against the least number that an exact solver needs.

The solver finds the least load of the worst CPU, and then the fewest moves to any
placement whose worst CPU has at most min_gain (5 %) more. There are four kinds of cases, on
machines of up to 16 CPUs: all interrupts start on random CPUs; or, once the planner has
come to rest, one load changes, one CPU goes offline, or one mask changes. Masks,
capacities and base loads are among the constraints.

Fails if the planner needs more than 1.3 times as many moves on average; if the geometric mean of
its worst CPU is over 1.03 of the optimum, more than 8 % of the cases are over 1.07, or one is over
1.25; or if it moves an interrupt later than two minutes after the loads became constant: for so
long it remembers what they were, see average.c.

Needs Python's ortools; $REPLAY is the replay tool.
"""
import argparse
import math
import random

try:
    from ortools.sat.python import cp_model
except ImportError:
    cp_model = None

import cases

UNIT = 20_000               # ns/s: unit of the solver
MIN_GAIN = 1.05             # the default of the knob "min_gain"
CHANGE, LAST = 60_000, 120_000   # ms: when something changes, and how long moves may come
KINDS = ("start", "load", "cpu", "mask")


def machine(rng, seed):
    """A case of cases.generate() without nodes, which have rules of their own."""
    case = cases.generate(seed)
    for cpu in case.cpus:
        cpu.update(node=-1, isolated=False)
    for irq in case.irqs:
        irq.update(node=-1, managed=False, pinned=False, at=rng.choice(sorted(irq["mask"])))
    return case


def change(case, kind, rng):
    """Change one thing: the text of the epoch, and the case as it is then."""
    irq = rng.choice(case.irqs)
    if kind == "load":
        irq["load"] = min(int(irq["load"] * rng.choice((0.3, 0.5, 2, 3))), 900_000_000)
        return f"load {irq['id']} {irq['load']}"
    if kind == "cpu":
        gone = rng.randrange(len(case.cpus))
        case.cpus[gone]["isolated"] = True
        return f"offline {gone}"
    irq["mask"] = set(rng.sample(range(len(case.cpus)), rng.randint(1, len(case.cpus))))
    return f"mask {irq['id']} {','.join(map(str, sorted(irq['mask'])))}"


def run(case, kind, rng):
    """The planner: where all is when its moves begin, where they lead, how many, the last."""
    if kind == "start":
        out = cases.replay(case.text(2 * LAST))
        begin, since = case.start(), 0
    else:
        text = case.text(CHANGE).replace(f"end {CHANGE}", f"epoch {CHANGE}\n" + change(case, kind, rng))
        out = cases.replay(text + f"end {CHANGE + 2 * LAST}\n")
        head, _, out = out.partition(f"\nplace {CHANGE} ")
        begin, since = cases.placement(f"place {CHANGE} " + out.partition("\n")[0]), CHANGE
        out = out.partition("\n")[2]
    place, moves, last = cases.outcome(out)
    return begin, place, moves, max(last - since, 0)


def solve(case, begin, limit=None, seconds=10):
    """Without @limit the least worst load (ns/s); with it the fewest moves that keep to it."""
    model, terms, moved = cp_model.CpModel(), [[] for _ in case.cpus], []
    fixed = list(case.base)
    top = model.new_int_var(0, 2**40, "top")
    for irq in case.irqs:
        home, allowed = begin[irq["id"]], case.allowed(irq)
        # Light interrupts stay, and so do those that the user allows no CPU that is there
        if not case.movable(irq):
            fixed[home] += case.cost(irq["load"], home)
            continue
        choice = []
        for cpu in sorted(allowed):
            var = model.new_bool_var("")
            choice.append(var)
            terms[cpu].append(var * round(case.cost(irq["load"], cpu) / UNIT))
            model.add_hint(var, cpu == home)
            if cpu != home:
                moved.append(var)
        model.add_exactly_one(choice)
    for cpu, term in enumerate(terms):
        if term:
            model.add(sum(term) + round(fixed[cpu] / UNIT) <= (top if limit is None else math.ceil(limit / UNIT) + len(term)))
    model.minimize(top if limit is None else sum(moved))
    solver = cp_model.CpSolver()
    # Not wall time, so that a busy machine has the same result
    solver.parameters.max_deterministic_time = seconds
    solver.parameters.num_workers = 2
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    # Where time is up, the best that it found is what the planner is compared with
    return solver.objective_value * (UNIT if limit is None else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--cases", type=cases.whole(1), default=300, help="cases of up to 16 CPUs (300)")
    parser.add_argument("--first", type=cases.whole(0), default=1, help="seed of the first case (1)")
    parser.add_argument("--seconds", type=cases.whole(1, 3600), default=5, help="time of the solver for a case (5)")
    parser.add_argument("--verbose", action="store_true", help="print every case")
    args = parser.parse_args()
    if not cp_model:
        cases.fail("this python has no ortools: pip install ortools")

    ratios, total, ends, above = [], {kind: [0, 0, 0] for kind in KINDS}, [], []
    for seed in range(args.first, args.first + args.cases):
        rng, kind = random.Random(seed), KINDS[seed % len(KINDS)]
        case = machine(rng, seed)
        begin, place, moves, last = run(case, kind, rng)
        best = solve(case, begin, None, args.seconds)
        if best is None or not best:
            continue
        used = {begin[i["id"]] for i in case.irqs} | {c for i in case.irqs for c in case.allowed(i)}
        loads = case.loads(place)
        worst = max(loads[c] for c in used if any(case.movable(i) and c in case.allowed(i) for i in case.irqs))
        least = solve(case, begin, MIN_GAIN * best, args.seconds)
        least = 0 if least is None else round(least)
        ratio = worst / best
        ratios.append(ratio)
        total[kind][0] += 1
        total[kind][1] += moves
        total[kind][2] += least
        above.append(moves - least)
        ends.append(last)
        if args.verbose or moves - least > 3 or ratio > 1.07 or last > LAST:
            print(f"case {seed}: {kind}, {len(case.cpus)} CPUs, {len(case.irqs)} interrupts, {moves} moves of {least}, "
                  f"worst CPU {ratio:.4f} of the optimum, last move after {last} ms", flush=True)
    for kind, (nr, moves, least) in total.items():
        print(f"{kind}: {nr} cases, {moves} moves, at least {least}")
    moves, least = (sum(t[i] for t in total.values()) for i in (1, 2))
    ratios.sort()
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    over, many = sum(r > 1.07 for r in ratios), sum(a > 3 for a in above)
    print(f"all: {len(ratios)} cases, {moves / max(least, 1):.3f} of the fewest moves, {many} more than 3 above, at most {max(above)}; worst CPU: "
          f"geometric mean {mean:.4f}, {over} over 1.07, worst {ratios[-1]:.4f}; the last move after {max(ends) / 1000:.1f} s, "
          f"{sum(e > 20_000 for e in ends)} with moves after 20 s")
    return moves > 1.3 * least or mean > 1.03 or over > 0.08 * len(ratios) or ratios[-1] > 1.25 or max(ends) > LAST


if __name__ == "__main__":
    cases.guard(main)
