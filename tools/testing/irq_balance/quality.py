#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare the planner's placements with an exact solver.

Both have the same constraints: masks, isolation, managed and pinned interrupts, light interrupts
where they are. There are no nodes, which have rules of their own. The measure is the worst
relative load of a CPU. Fails when the geometric mean of the ratios is over 1.03, more than 8 % of
them, and more than one, are over 1.07, or one is over 1.25. Large machines have no exact solution in time: there the
solver improves the planner's placement within a time limit.

Needs Python's ortools; $REPLAY is the replay tool.
"""
import argparse
import math

try:
    from ortools.sat.python import cp_model
except ImportError:
    cp_model = None

import cases

UNIT = 20_000               # ns/s: unit of the solver


def optimum(case, seconds, hint):
    """The least worst load that the solver finds, from the placement @hint on."""
    model = cp_model.CpModel()
    fixed = list(case.base)
    top = model.new_int_var(0, int(case.worst(case.start()) * 8 / UNIT) + 8000000, "top")
    terms = [[] for _ in case.cpus]
    for irq in case.irqs:
        if not case.movable(irq):
            fixed[irq["at"]] += case.cost(irq["load"], irq["at"])
            continue
        choice = []
        for cpu in sorted(case.allowed(irq)):
            var = model.new_bool_var("")
            choice.append(var)
            model.add_hint(var, hint[irq["id"]] == cpu)
            terms[cpu].append(var * round(case.cost(irq["load"], cpu) / UNIT))
        model.add_exactly_one(choice)
    for cpu, term in enumerate(terms):
        model.add(sum(term) + round(fixed[cpu] / UNIT) <= top)
    model.minimize(top)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return case.worst(hint)
    return min(solver.objective_value * UNIT, case.worst(hint))


def judge(name, ratios, moves):
    ratios.sort()
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    above = sum(ratio > 1.07 for ratio in ratios)
    print(f"{name}: {len(ratios)} cases, geometric mean {mean:.4f}, {above} over 1.07, "
          f"worst {ratios[-1]:.4f}, {moves / len(ratios):.1f} moves each", flush=True)
    return mean > 1.03 or above > max(0.08 * len(ratios), 1) or ratios[-1] > 1.25


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--cases", type=cases.whole(0), default=200, help="cases of up to 16 CPUs (200)")
    parser.add_argument("--large", type=cases.whole(0), default=10, help="cases of up to 128 CPUs (10)")
    parser.add_argument("--first", type=cases.whole(0), default=1, help="seed of the first case (1)")
    parser.add_argument("--seconds", type=cases.whole(1, 3600), default=5, help="time of the solver for a case (5)")
    args = parser.parse_args()
    if not args.cases + args.large:
        parser.error("expected at least one case")
    if not cp_model:
        cases.fail("this python has no ortools: pip install ortools")

    failed = False
    for name, generate, nr in (("up to 16 CPUs", cases.generate, args.cases),
                               ("up to 128 CPUs", cases.generate_large, args.large)):
        ratios, moved, seed = [], 0, args.first
        while len(ratios) < nr:
            case = generate(seed)
            seed += 1
            for each in case.cpus + case.irqs:
                each["node"] = -1
            place, moves, last = cases.outcome(cases.replay(case.text(20000)))
            best = optimum(case, args.seconds * (3 if generate is cases.generate_large else 1), place)
            before = case.worst(case.start())
            if before - best < cases.MIN_GAIN * before and case.worst(place) <= before:
                continue        # not badly placed: the gain is not worth a plan
            ratios.append(case.worst(place) / best)
            moved += moves
            if ratios[-1] > 1.07:
                print(f"case {seed - 1}: {len(case.cpus)} CPUs {len(case.irqs)} interrupts, "
                      f"{ratios[-1]:.4f} of the optimum, {moves} moves, last at {last} ms",
                      flush=True)
        if nr:
            failed |= judge(name, ratios, moved)
    return failed


if __name__ == "__main__":
    cases.guard(main)
