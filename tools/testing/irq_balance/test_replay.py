#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the replay tool: its format, its errors, and its decisions.

$REPLAY is the tool. TAP on stdout.
"""
import os
import subprocess
import sys
import tempfile

REPLAY = os.environ.get("REPLAY", "./replay")
HERE = os.path.dirname(os.path.abspath(__file__))

MACHINE = "".join(
    f"cpu {i} node -1 package {i // 2} llc {i // 2} core {i} capacity 1024\n"
    for i in range(4))
IRQS = "irq 10 node -1 mask 0-3 at 0\nirq 11 node -1 mask 0-3 at 0\n"
LOADS = "epoch 0\nload 10 300000000\nload 11 300000000\n"

tests = failed = 0


def run(text, *args, name="-"):
    return subprocess.run([REPLAY, *args, name], input=text,
                          capture_output=True, text=True)


def check(what, good, detail=""):
    global tests, failed
    tests += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {tests} {what}")
    if not good and detail:
        print("".join(f"# {line}\n" for line in str(detail).splitlines()), end="")


def lines(text, word, *args):
    res = run(text, *args)
    check_ok = res.returncode == 0 and not res.stderr
    if not check_ok:
        check("replay runs", False, res.stderr)
    return [l.split() for l in res.stdout.splitlines() if l.split()[0] == word]


BAD = [
    # name, line of the error, text
    ("unknown statement", 1, "cpus 0\nend 1\n"),
    ("empty file", 1, ""),
    ("comments only", 2, "# nothing\n"),
    ("missing end", 8, MACHINE + IRQS + "epoch 0\n"),
    ("after end", 6, MACHINE + "end 1\nepoch 2\n"),
    ("two ends", 6, MACHINE + "end 1\nend 2\n"),
    ("end without CPUs", 1, "end 1\n"),
    ("irq without CPUs", 1, "irq 1 node -1 mask 0 at 0\nend 1\n"),
    ("cpu after irq", 7, MACHINE + IRQS + "cpu 4 node -1 package 0 llc 0 core 4 capacity 1\nend 1\n"),
    ("irq after epoch", 6, MACHINE + "epoch 0\nirq 1 node -1 mask 0 at 0\nend 1\n"),
    ("load before epoch", 7, MACHINE + IRQS + "load 10 1\nend 1\n"),
    ("base before epoch", 5, MACHINE + "base 0 1\nend 1\n"),
    ("epochs not rising", 6, MACHINE + "epoch 5\nepoch 5\nend 9\n"),
    ("epochs falling", 6, MACHINE + "epoch 5\nepoch 4\nend 9\n"),
    ("end before the last epoch", 6, MACHINE + "epoch 5\nend 4\n"),
    ("duplicate CPU", 5, MACHINE + "cpu 0 node -1 package 0 llc 0 core 0 capacity 1\nend 1\n"),
    ("duplicate irq", 7, MACHINE + IRQS + "irq 10 node -1 mask 0 at 0\nend 1\n"),
    ("unknown irq in load", 8, MACHINE + IRQS + "epoch 0\nload 12 5\nend 1\n"),
    ("unknown CPU in base", 8, MACHINE + IRQS + "epoch 0\nbase 4 5\nend 1\n"),
    ("unknown irq in mask", 8, MACHINE + IRQS + "epoch 0\nmask 9 0\nend 1\n"),
    ("unknown CPU in mask", 8, MACHINE + IRQS + "epoch 0\nmask 10 0-4\nend 1\n"),
    ("unknown CPU in offline", 8, MACHINE + IRQS + "epoch 0\noffline 4\nend 1\n"),
    ("unknown CPU in online", 8, MACHINE + IRQS + "epoch 0\nonline 17\nend 1\n"),
    ("unknown CPU in an irq's mask", 5, MACHINE + "irq 1 node -1 mask 0,9 at 0\nend 1\n"),
    ("at outside the mask", 5, MACHINE + "irq 1 node -1 mask 0-2 at 3\nend 1\n"),
    ("at outside the machine", 5, MACHINE + "irq 1 node -1 mask 0-3 at 4\nend 1\n"),
    ("capacity 0", 1, "cpu 0 node -1 package 0 llc 0 core 0 capacity 0\nend 1\n"),
    ("capacity 1025", 1, "cpu 0 node -1 package 0 llc 0 core 0 capacity 1025\nend 1\n"),
    ("node -2", 1, "cpu 0 node -2 package 0 llc 0 core 0 capacity 1\nend 1\n"),
    ("negative package", 1, "cpu 0 node 0 package -1 llc 0 core 0 capacity 1\nend 1\n"),
    ("swapped fields", 1, "cpu 0 package 0 node 0 llc 0 core 0 capacity 1\nend 1\n"),
    ("missing field", 1, "cpu 0 node 0 package 0 llc 0 core 0\nend 1\n"),
    ("a word too many", 1, "cpu 0 node 0 package 0 llc 0 core 0 capacity 1 isolated x\nend 1\n"),
    ("unknown flag", 5, MACHINE + "irq 1 node -1 mask 0 at 0 fixed\nend 1\n"),
    ("overflowing load", 8, MACHINE + IRQS + "epoch 0\nload 10 18446744073709551616\nend 1\n"),
    ("load out of range", 8, MACHINE + IRQS + "epoch 0\nload 10 8589934592\nend 1\n"),
    ("negative load", 8, MACHINE + IRQS + "epoch 0\nload 10 -5\nend 1\n"),
    ("signed load", 8, MACHINE + IRQS + "epoch 0\nload 10 +5\nend 1\n"),
    ("hexadecimal load", 8, MACHINE + IRQS + "epoch 0\nload 10 0x5\nend 1\n"),
    ("fractional load", 8, MACHINE + IRQS + "epoch 0\nload 10 5.0\nend 1\n"),
    ("load without a number", 8, MACHINE + IRQS + "epoch 0\nload 10\nend 1\n"),
    ("rate without a number", 8, MACHINE + IRQS + "epoch 0\nload 10 5 rate\nend 1\n"),
    ("a word for rate", 8, MACHINE + IRQS + "epoch 0\nload 10 5 pace 7\nend 1\n"),
    ("base over a CPU", 8, MACHINE + IRQS + "epoch 0\nbase 0 1000000001\nend 1\n"),
    ("toll over a CPU", 8, MACHINE + IRQS + "epoch 0\ntoll 10 1000000001\nend 1\n"),
    ("toll of a CPU", 8, MACHINE + IRQS + "epoch 0\ntoll 0 5\nend 1\n"),
    ("epoch too late", 5, MACHINE + "epoch 4294967296\nend 4294967297\n"),
    ("overflowing irq", 5, MACHINE + "irq 4294967296 node -1 mask 0 at 0\nend 1\n"),
    ("list with a gap", 5, MACHINE + "irq 1 node -1 mask 0,,1 at 0\nend 1\n"),
    ("list with a tail", 5, MACHINE + "irq 1 node -1 mask 0, at 0\nend 1\n"),
    ("range backwards", 5, MACHINE + "irq 1 node -1 mask 2-1 at 1\nend 1\n"),
    ("half a range", 5, MACHINE + "irq 1 node -1 mask 0- at 0\nend 1\n"),
    ("last CPU offline", 9, MACHINE + "epoch 0\noffline 0\noffline 1\noffline 2\noffline 3\nend 1\n"),
    ("a NUL", 1, "cpu 0\0\nend 1\n"),
    ("a line without end", 2, "\n#" + 70000 * "x" + "\n"),
    ("20000 irqs that descend", 20005, MACHINE + "".join(f"irq {i} node -1 mask 0 at 0\n" for i in range(20000, 0, -1))),
]

for what, line, text in BAD:
    begin, res = os.times().children_user, run(text)
    check(f"error: {what}", os.times().children_user < begin + 5 and res.returncode == 2 and not res.stdout and
          res.stderr.startswith(f"-:{line}: expected ") and
          res.stderr.count("\n") == 1, f"{res.returncode} {res.stdout}{res.stderr}")

with tempfile.NamedTemporaryFile("w", suffix=".w") as f:
    f.write("cpu zero\n")
    f.flush()
    res = run("", name=f.name)
    check("error: the file's own name", res.returncode == 2 and not res.stdout
          and res.stderr.startswith(f"{f.name}:1: expected "), res.stderr)
res = run("", name="/nonexistent/file")
check("error: no such file", res.returncode == 2 and not res.stdout and res.stderr)

GOOD = MACHINE + IRQS + LOADS + "end 2000\n"
for knob in ("nonsense=1", "heavy", "heavy=", "heavy=0", "heavy=x",
             "heavy=4294967297", "policy=balance", "state=maybe", "cpus=9",
             "interval_ms=9", "confirm=3", "=1"):
    res = run(GOOD, "--set", knob)
    check(f"error: --set {knob}", res.returncode == 2 and not res.stdout and
          res.stderr, res.stderr)
for words in "--help >/dev/full", "- >/dev/full", "- >&-":
    res = subprocess.run(["sh", "-c", '"$0" ' + words, REPLAY], input=GOOD, capture_output=True, text=True)
    check(f"error: {words}", res.returncode == 2 and res.stderr, res.stderr)
for knobs in (("interval_ms=300", "min_gain=0"),
              ("cpus=0-1",), ("state=off",)):
    args = [a for k in knobs for a in ("--set", k)]
    res = run(GOOD, *args)
    check(f"--set {' '.join(knobs)}", res.returncode == 0 and res.stdout, res.stderr)

# Decisions
check("deterministic", run(GOOD).stdout == run(GOOD).stdout)
check("blanks and comments", run(GOOD).stdout == run(
    "# a comment\n\n" + GOOD.replace(" ", " \t ").replace(
        "epoch 0", "  epoch 0 # here")).stdout)
check("no newline at the end", run(GOOD).stdout == run(GOOD.rstrip() + "\r").stdout)
shuffled = "".join(reversed(MACHINE.splitlines(True))) + \
    "".join(reversed(IRQS.splitlines(True)))
check("order of CPUs and irqs does not matter",
      run(GOOD).stdout == run(GOOD.replace(MACHINE + IRQS, shuffled)).stdout)

moves = lines(GOOD, "move")
check("two equal interrupts on a CPU: one move", len(moves) == 1 and
      moves[0][5:] == ["imbalance", "300000000"] and moves[0][4] in "23", moves)
places = lines(GOOD, "place")
check("place at the epoch and at the end", [p[1] for p in places] == ["0", "2000"] and
      places[0][2:] == ["10=0", "11=0"], places)
passes = lines(GOOD, "pass")
check("pass lines add up", sum(int(p[2]) for p in passes) == 1 and
      all(p[3] == "-" or int(p[3]) > int(p[1]) for p in passes), passes)
check("settled within 500 ms", int(moves[0][1]) <= 500, moves)
check("state=off passes nothing", not lines(GOOD, "pass", "--set", "state=off"))
check("state=observe moves nothing",
      not lines(GOOD, "move", "--set", "state=observe") and
      lines(GOOD, "pass", "--set", "state=observe"))
check("cpus= bounds the balancer",
      lines(GOOD, "move", "--set", "cpus=0-1")[0][4] == "1")
recorded = GOOD.replace("end ", "pass\nepoch 100\npass%s\nepoch 101\nend ")
check("recorded passes are made", [m[1] for m in lines(recorded % "", "move")] == ["100"],
      run(recorded % "").stdout)

light = GOOD.replace("300000000", "3000000")
check("no timer when nothing is heavy, once it has looked",
      [p[3] for p in lines(light, "pass")] == ["50", "-"], lines(light, "pass"))

EVENTS = """epoch 1000
offline 0
epoch 1500
online 0
mask 10 1
end 4000
"""
EV = MACHINE + "irq 10 node -1 mask 0-1 at 0 pinned\n" \
    "irq 11 node -1 mask 0 at 0 managed\nirq 12 node -1 mask 0 at 0\n" \
    "epoch 0\nload 10 1000000\n" + EVENTS
out = run(EV).stdout
check("offline: lowest allowed, else lowest online; managed interrupts stop",
      "move 1000 10 0 1 hotplug 0\nmove 1000 12 0 1 hotplug 0\n"
      "place 1000 10=1 11=- 12=1\n" in out, out)
check("online: managed interrupts start again", "place 1500 10=1 11=0 12=1\n" in out, out)
ev = MACHINE + "irq 10 node -1 mask 0-3 at 0\nepoch 5\nmask 10 2-3\nend 9\n"
check("mask: lowest allowed, before place", run(ev).stdout ==
      "pass 0 0 50\nmove 5 10 0 2 affinity 0\nplace 5 10=2\npass 5 0 -\nplace 9 10=2\n",
      run(ev).stdout)
pinned = GOOD.replace("at 0\n", "at 0 pinned\n")
check("pinned interrupts stay", not lines(pinned, "move"))
check("managed interrupts stay", not lines(pinned.replace("pinned", "managed"), "move"))
iso = GOOD.replace("core 2 capacity 1024", "core 2 capacity 1024 isolated").replace(
    "core 3 capacity 1024", "core 3 capacity 1024 isolated")
check("isolated CPUs are not given any", lines(iso, "move")[0][4] == "1")
big = GOOD.replace("core 0 capacity 1024", "core 0 capacity 446").replace(
    "core 1 capacity 1024", "core 1 capacity 446")
check("capacity", {m[4] for m in lines(big, "move")} == {"2", "3"} and
      {m[5] for m in lines(big, "move")} == {"capacity"}, lines(big, "move"))

tasks = GOOD.replace("epoch 0\n", "epoch 0\ntasks 2 1000000000\n")
check("tasks: another CPU is taken", lines(tasks, "move")[0][4] == "3", lines(tasks, "move"))
for toll, moved in ("", 1), ("toll 10 50000000\ntoll 11 50000000\n", 1), ("toll 10 290000000\ntoll 11 290000000\n", 0), ("toll 10 290000000\n", 1):
    found = lines(GOOD.replace("end ", toll + "end "), "move")
    check(f"{toll.split() or 'no toll'}: {moved} moves", len(found) == moved and (len(toll) != 18 or found[0][2] == "11"), found)
why = lines(GOOD.replace("end ", "toll 10 290000000\ntoll 11 290000000\nend "), "why", "--why")
check("--why: a word for each interrupt", why == [["why", "2000", "10=gain", "11=gain"]] and not lines(GOOD, "why"), why)
named = subprocess.run(["irqload replay", "--set", "x", "-"], executable=REPLAY, input=GOOD, capture_output=True, text=True)
check("messages have the name that it is called by", named.stderr.startswith("irqload replay: --set x: "), named.stderr)
for share in 20, 60, 100, 300, 600, 900:
    for others in "", "load 11 100000000\n", "load 11 250000000\nfollows 11 50000000\n":
        text = f"{MACHINE}{IRQS}epoch 0\nload 10 300000000\nfollows 10 {share}000000\n{others}end 3600000\n"
        found = lines(text, "move")
        check(f"follows {share} {others[:12]}: at most 4 moves of each in an hour",
              all(sum(m[2] == irq for m in found) <= 4 for irq in ("10", "11")), found)

with open(os.path.join(HERE, "corpus", "everything"), encoding="ascii") as f:
    res = run(f.read())
check("all statements", res.returncode == 0 and not res.stderr, res.stderr)

print(f"1..{tests}")
sys.exit(failed != 0)
