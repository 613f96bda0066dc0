#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The planner's placements against an exact solver.

Both have the same constraints: masks, isolation, managed and pinned
interrupts, light ones where they are, nodes that hold their devices up to the
limit. The measure is the worst relative load of a CPU. Fails when the
geometric mean of the ratios is over 1.01, or one of them over 1.05.

Needs Python's ortools; $REPLAY is the replay tool.
"""
import argparse
import math
import sys
import time

from ortools.sat.python import cp_model

import cases

UNIT = 20_000               # ns/s: what the solver counts in


def optimum(case, allowed, seconds):
    """Least worst load, and a bound below it; the assignment that has it."""
    model = cp_model.CpModel()
    fixed = list(case.base)
    start = case.start()
    movable = [i for i in case.irqs if case.movable(i)]
    for irq in case.irqs:
        if not case.movable(irq):
            fixed[irq["at"]] += case.cost(irq["load"], irq["at"])
    top = model.new_int_var(0, int(case.worst(start) * 8 / UNIT) + 8000000, "top")
    terms = [[] for _ in case.cpus]
    chosen = {}
    for irq in movable:
        vars_ = []
        for cpu in sorted(allowed[irq["id"]]):
            var = model.new_bool_var("")
            vars_.append(var)
            chosen[irq["id"], cpu] = var
            terms[cpu].append((var, round(case.cost(irq["load"], cpu) / UNIT)))
        model.add_exactly_one(vars_)
    for cpu, term in enumerate(terms):
        model.add(sum(v * w for v, w in term) + round(fixed[cpu] / UNIT) <= top)
    model.minimize(top)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    status = solver.solve(model)
    if status == cp_model.UNKNOWN:
        solver.parameters.max_time_in_seconds = 60
        status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE), status
    place = dict(start)
    for (irq, cpu), var in chosen.items():
        if solver.value(var):
            place[irq] = cpu
    return case.worst(place), solver.best_objective_bound * UNIT, place


def reference(case, seconds):
    """The optimum with the rule for nodes: held until too full, then free."""
    spilled = set()
    nodes = {c["node"] for c in case.cpus}
    while True:
        allowed = {}
        for irq in case.irqs:
            cpus = case.allowed(irq)
            if irq["node"] in nodes and irq["node"] >= 0 and \
               irq["node"] not in spilled:
                near = {c for c in cpus
                        if case.cpus[c]["node"] == irq["node"]}
                cpus = near or cpus
            allowed[irq["id"]] = cpus
        worst, bound, place = optimum(case, allowed, seconds)
        loads = case.loads(place)
        held = {i["node"] for i in case.irqs if case.movable(i)} - spilled
        used = set(place[i["id"]] for i in case.irqs if case.movable(i))
        full = [(loads[c], case.cpus[c]["node"]) for c in used
                if loads[c] > cases.NODE_LIMIT * 1e9 and
                case.cpus[c]["node"] in held]
        if not full:
            return worst, bound
        spilled.add(max(full)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()

    logs, worst, moved, begun = [], 0, 0, time.time()
    still = unproven = 0
    for seed in range(args.first, args.first + args.cases):
        case = cases.generate(seed)
        place, moves, last = cases.outcome(cases.replay(case.text()))
        ours = case.worst(place)
        best, bound = reference(case, args.seconds)
        unproven += bound < best * 0.999
        ratio = ours / best
        before = case.worst(case.start())
        loss = before / ours
        if before - best < cases.MIN_GAIN * before and not moves:
            still += 1      # not badly placed: the gain is not worth a plan
            continue
        logs.append(math.log(max(ratio, 1e-9)))
        worst = max(worst, ratio)
        moved += moves
        if not 0.98 < ratio < 1.02 or args.verbose:
            print(f"case {seed}: {len(case.cpus)} CPUs {len(case.irqs)} "
                  f"interrupts, start {loss:.2f} times ours, ours/optimum "
                  f"{ratio:.4f}, {moves} moves, last at {last} ms", flush=True)
    mean = math.exp(sum(logs) / len(logs))
    print(f"{len(logs)} cases in {time.time() - begun:.0f} s: geometric mean "
          f"{mean:.4f}, worst {worst:.4f}, {moved / len(logs):.1f} moves each; "
          f"{still} more were placed well enough, {unproven} optima are the "
          f"solver's best in {args.seconds:g} s")
    return mean > 1.01 or worst > 1.05


if __name__ == "__main__":
    sys.exit(main())
