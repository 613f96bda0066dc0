# SPDX-License-Identifier: GPL-2.0
"""Generated machines and workloads, and the result of their replay.

A case is described once and written as a workload for the replay tool; the
exact solver and the models of other balancers read the same description.
"""
import argparse
import os
import random
import re
import subprocess
import sys

HEAVY = 20_000_000          # ns/s: the default of the knob "heavy"
MIN_GAIN = 0.14             # gain of a start that is bad


class Case:
    """One machine, its interrupts, and a placement to begin with."""

    def __init__(self, cpus, irqs, base):
        self.cpus = cpus    # dicts: node package llc core capacity isolated
        self.irqs = irqs    # dicts: id node mask(set) at load managed pinned
        self.base = base    # ns/s of each CPU

    def cost(self, load, cpu):
        """Time of a CPU that a load takes, ns/s."""
        return load * 1024 / self.cpus[cpu]["capacity"]

    def movable(self, irq):
        return (not irq["managed"] and not irq["pinned"] and
                irq["load"] >= HEAVY and len(self.allowed(irq)) > 0)

    def allowed(self, irq):
        return {c for c in irq["mask"] if not self.cpus[c]["isolated"]}

    def loads(self, place):
        total = list(self.base)
        for irq in self.irqs:
            cpu = place[irq["id"]]
            total[cpu] += self.cost(irq["load"], cpu)
        return total

    def worst(self, place):
        return max(self.loads(place))

    def start(self):
        return {irq["id"]: irq["at"] for irq in self.irqs}

    def text(self, end=3000):
        out = []
        for i, c in enumerate(self.cpus):
            out.append(f"cpu {i} node {c['node']} package {c['package']} "
                       f"llc {c['llc']} core {c['core']} "
                       f"capacity {c['capacity']}" +
                       (" isolated" if c["isolated"] else ""))
        for irq in self.irqs:
            mask = ",".join(str(c) for c in sorted(irq["mask"]))
            out.append(f"irq {irq['id']} node {irq['node']} mask {mask} "
                       f"at {irq['at']}" +
                       (" managed" if irq["managed"] else "") +
                       (" pinned" if irq["pinned"] else ""))
        out.append("epoch 0")
        out += [f"load {irq['id']} {irq['load']}" for irq in self.irqs]
        out += [f"base {i} {b}" for i, b in enumerate(self.base) if b]
        out.append(f"end {end}")
        return "\n".join(out) + "\n"


def replay(text, *sets):
    """Run the replay tool; its path is in $REPLAY, or it is beside this."""
    here = os.path.dirname(os.path.abspath(__file__))
    args = [os.environ.get("REPLAY") or os.path.join(here, "replay")]
    for knob in sets:
        args += ["--set", knob]
    try:
        return subprocess.run(args + ["-"], input=text, capture_output=True,
                              text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        fail(f"{error}\n{getattr(error, 'stderr', '')}".strip())


def fail(what):
    """Messages and status 2 for wrong input, and for files that cannot be read or written."""
    print(f"{os.path.basename(sys.argv[0])}: {what}", file=sys.stderr)
    sys.exit(2)


def whole(low, high=10**6):
    """The type of an argument that is a whole number in a range."""
    def convert(text):
        if not re.fullmatch("[0-9]{1,9}", text) or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text} is not from {low} to {high}")
        return int(text)
    return convert


def guard(main):
    """Exit with what MAIN returns; an interruption and an error of a file are no tracebacks."""
    try:
        status = main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = 130
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        fail(f"{error.filename or 'standard output'}: {error.strerror}")
    sys.exit(status)


def placement(line):
    place = {}
    for pair in line.split()[2:]:
        irq, cpu = pair.split("=")
        place[int(irq)] = None if cpu == "-" else int(cpu)
    return place


def outcome(out):
    """The last placement, the moves, and the time of the last one."""
    place, moves, last = {}, 0, 0
    for line in out.splitlines():
        if line.startswith("place"):
            place = placement(line)
        elif line.startswith("move"):
            moves += 1
            last = int(line.split()[1])
    return place, moves, last


def topology(rng, nr):
    """Packages, caches, cores and SMT siblings for nr CPUs."""
    packages = rng.choice([p for p in (1, 2, 4) if p <= nr])
    llcs = rng.choice((1, 2))
    smt = rng.choice((1, 2))
    cpus = []
    for i in range(nr):
        package = i * packages // nr
        core = i // smt if smt > 1 else i
        llc = package * 2 + (i % 2 if llcs == 2 and smt == 1 else 0)
        cpus.append({"node": -1, "package": package, "llc": llc, "core": core,
                     "capacity": 1024, "isolated": False})
    return cpus, packages


def generate(seed, max_cpus=16, max_irqs=48):
    """A random case, badly placed."""
    rng = random.Random(seed)
    nr_cpus = rng.randint(2, max_cpus)
    nr_irqs = rng.randint(2, max_irqs)
    cpus, packages = topology(rng, nr_cpus)
    kind = rng.choice(("plain", "capacity", "nodes", "masks", "base", "all"))

    if kind in ("capacity", "all"):
        kinds = rng.choice(((1024, 446), (1024, 640, 250), (1024, 768)))
        for c in cpus:
            c["capacity"] = rng.choice(kinds)
    if kind in ("nodes", "all"):
        for c in cpus:
            c["node"] = c["package"]
    if kind == "all":
        for c in cpus:
            c["isolated"] = rng.random() < 0.1
        if all(c["isolated"] for c in cpus):
            cpus[0]["isolated"] = False

    dist = rng.choice(("uniform", "log", "equal", "few"))
    total = rng.uniform(0.2, 0.9) * nr_cpus * 1e9
    shape = []
    for _ in range(nr_irqs):
        if dist == "uniform":
            shape.append(rng.uniform(0.2, 1))
        elif dist == "log":
            shape.append(10 ** rng.uniform(-1.5, 0))
        elif dist == "few":
            shape.append(1 if rng.random() < 0.2 else 0.1)
        else:
            shape.append(1)
    scale = total / sum(shape)
    loads = [min(int(s * scale), 900_000_000) for s in shape]

    base = [0] * nr_cpus
    if kind in ("base", "all"):
        base = [int(rng.uniform(0, 0.4) * 1e9) if rng.random() < 0.5 else 0
                for _ in cpus]

    start = rng.choice(("one", "two", "random"))
    irqs = []
    for i in range(nr_irqs):
        mask = set(range(nr_cpus))
        if kind in ("masks", "all") and rng.random() < 0.5:
            mask = set(rng.sample(range(nr_cpus), rng.randint(1, nr_cpus)))
        order = sorted(mask)
        at = order[0]
        if start == "two":
            at = order[i % min(2, len(order))]
        elif start == "random" and rng.random() < 0.4:
            at = rng.choice(order)
        irqs.append({"id": 10 + i, "mask": mask, "at": at, "load": loads[i],
                     "node": rng.randrange(packages)
                     if kind in ("nodes", "all") else -1,
                     "managed": kind == "all" and rng.random() < 0.05,
                     "pinned": kind == "all" and rng.random() < 0.05})
    return Case(cpus, irqs, base)

def generate_large(seed):
    """Up to 128 CPUs and 400 interrupts; CPU numbers permuted against the topology."""
    case = generate(seed + 1000000, 128, 400)
    rng = random.Random(seed)
    nr = len(case.cpus)
    perm = list(range(nr))
    if rng.random() < 0.5:
        perm = [i // 2 + (i % 2) * ((nr + 1) // 2) for i in range(nr)]
    else:
        rng.shuffle(perm)
    cpus, base = [None] * nr, [0] * nr
    for i, p in enumerate(perm):
        cpus[p], base[p] = case.cpus[i], case.base[i]
    for irq in case.irqs:
        irq["mask"] = {perm[c] for c in irq["mask"]}
        irq["at"] = perm[irq["at"]]
    return Case(cpus, case.irqs, base)
