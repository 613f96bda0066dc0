#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare the planner's placements with an exact solver.

Both have the same constraints: masks, isolation, managed and pinned
interrupts, light interrupts where they are, nodes that hold their devices up to the
limit. The measure is the worst relative load of a CPU. Fails when the
geometric mean of the ratios is over 1.04, more than 1 % of them are over 1.07, or
one is over 1.10. Large machines have no exact solution in time: there the solver
improves the planner's placement within a time limit.

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


def optimum(case, allowed, seconds, held=None, limit=None, hint=None):
    """Least worst load, and a bound below it; the assignment that has it.

    With @held the worst of these CPUs is what counts, of those in use, while
    no CPU may be above @limit; @hint is a placement that fits.
    """
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
            if hint:
                model.add_hint(var, hint[irq["id"]] == cpu)
            terms[cpu].append((var, round(case.cost(irq["load"], cpu) / UNIT)))
        model.add_exactly_one(vars_)
    for cpu, term in enumerate(terms):
        load = sum(v * w for v, w in term) + round(fixed[cpu] / UNIT)
        if held is None:
            model.add(load <= top)
            continue
        if term:
            # Rounded up, so that the placement that gave the limit is kept.
            model.add(load <= int(limit / UNIT) + len(term) + 1)
        for var, _ in term if cpu in held else ():
            model.add(load <= top).only_enforce_if(var)
    model.minimize(top)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    status = solver.solve(model)
    if status == cp_model.UNKNOWN and held is None and hint:
        return case.worst(hint), 0, hint
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
    movable = [i for i in case.irqs if case.movable(i)]

    def too_full(place, held):
        loads = case.loads(place)
        full = [(loads[c], case.cpus[c]["node"])
                for c in {place[i["id"]] for i in movable}
                if case.cpus[c]["node"] in held and
                loads[c] > cases.NODE_LIMIT * 1e9]
        return max(full)[1] if full else None

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
        held = {i["node"] for i in movable} & nodes - spilled - {-1}
        if too_full(place, held) is None:
            return worst, bound
        # Or did the solver ignore it, because another CPU is worse anyway?
        cpus = {c for c, cpu in enumerate(case.cpus) if cpu["node"] in held}
        _, _, place = optimum(case, allowed, seconds, cpus, worst, place)
        full = too_full(place, held)
        if full is None:
            return worst, bound
        spilled.add(full)


def large_reference(case, place, seconds):
    """The solver's improvement of a placement."""
    allowed = {irq["id"]: case.allowed(irq) for irq in case.irqs}
    worst, bound, _ = optimum(case, allowed, seconds, hint=place)
    return min(worst, case.worst(place)), bound


def judge(name, ratios, moves):
    ratios.sort()
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    above = sum(ratio > 1.07 for ratio in ratios)
    print(f"{name}: {len(ratios)} cases, geometric mean {mean:.4f}, {above} over 1.07, "
          f"worst {ratios[-1]:.4f}, {moves / len(ratios):.1f} moves each", flush=True)
    return mean > 1.04 or above > len(ratios) / 100 + 1 or ratios[-1] > 1.10


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
            # Only the small reference has the rule for nodes
            large = generate is cases.generate_large
            if large and len({cpu["node"] for cpu in case.cpus}) > 1:
                continue
            place, moves, last = cases.outcome(cases.replay(case.text(20000)))
            if large:
                best, _ = large_reference(case, place, 3 * args.seconds)
            else:
                best, _ = reference(case, args.seconds)
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
