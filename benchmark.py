#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the trec_eval_ref authors
"""Measure how fast trec_eval_ref is, and how much memory it takes, on runs made for the purpose.

    python3 benchmark.py --topics 1000 --documents 1000 --trec-eval /path/to/trec_eval

Each command runs as a process of its own, in turn with the others, several
times; medians are shown.  The floor that times are compared with is what
`for line in open(run, "rb"): line.split()` takes in the same Python.  If
pytrec_eval is installed, `evaluate` is compared with its namesake on the same
dicts in one process.
"""

import argparse
import importlib.util
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from typing import Dict, List, NamedTuple, Sequence, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
FOUR = "-c -m map -m recip_rank -m recall.1000 -m ndcg_cut.10".split()
FLOOR = 'import sys\nfor line in open(sys.argv[1], "rb"): line.split()'
NOTHING = "pass"

# A process's peak memory counts what its parent had when it was made, so that the parent must be a small one.
LAUNCHER = """
import subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
seconds = time.perf_counter() - start
try:
    import resource
    print(seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
except ImportError:
    print(seconds, 0)
"""

BOTH_EVALUATORS = """
import statistics, sys, time
import pytrec_eval
import trec_eval_ref
qrels, run = trec_eval_ref.read_qrels(sys.argv[1]), trec_eval_ref.read_run(sys.argv[2])
names = ["map", "recip_rank", "recall.1000", "ndcg_cut.10"]
measures = set(names)

def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start

for _ in range(int(sys.argv[3])):
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, measures)
    drop_in = trec_eval_ref.RelevanceEvaluator(qrels, measures)
    theirs = seconds(lambda: evaluator.evaluate(run))
    print(theirs, seconds(lambda: trec_eval_ref.evaluate(qrels, run, names, release="9.0.8")),
          seconds(lambda: drop_in.evaluate(run)))
"""


class Task(NamedTuple):
    """A command to measure, and its name in the table."""

    name: str
    command: Sequence[str]


def make_collection(directory: str, name: str, topics: int, documents: int, judged: int) -> Tuple[str, str]:
    """Write a run grouped by topic, with half of the judged documents retrieved, and its qrels."""
    chance = random.Random(topics * documents)
    qrels_path, run_path = os.path.join(directory, name + ".qrels"), os.path.join(directory, name + ".run")
    with open(qrels_path, "w", encoding="ascii") as qrels, open(run_path, "w", encoding="ascii") as run:
        for topic in range(1, topics + 1):
            docnos = chance.sample(range(10 ** 7), documents + judged)
            scores = sorted((chance.uniform(0, 30) for _ in range(documents)), reverse=True)
            for rank, (docno, score) in enumerate(zip(docnos, scores), start=1):
                run.write("%d Q0 D%07d %d %.6f benchmark\n" % (topic, docno, rank, score))
            retrieved = chance.sample(docnos[:documents], min(judged // 2, documents))
            for docno in retrieved + docnos[documents:documents + judged - len(retrieved)]:
                qrels.write("%d 0 D%07d %d\n" % (topic, docno, chance.choice((0, 0, 0, 1, 2))))
    return qrels_path, run_path


def shuffled(run_path: str) -> str:
    """Write a copy of a run with its lines in random order."""
    with open(run_path, "rb") as run:
        lines = run.readlines()
    random.Random(0).shuffle(lines)
    with open(run_path + ".shuffled", "wb") as run:
        run.writelines(lines)
    return run_path + ".shuffled"


def measure(command: Sequence[str]) -> Tuple[float, float]:
    """Seconds that a command takes, and its peak memory in MB (0 where the system does not tell)."""
    result = subprocess.run([sys.executable, "-c", LAUNCHER, *command], stdout=subprocess.PIPE, check=True)
    seconds, memory = map(float, result.stdout.split())
    return seconds, memory / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def median_of(tasks: Sequence[Task], repetitions: int) -> Dict[str, Tuple[float, float]]:
    """The median seconds and the largest peak memory in MB of each task.

    The tasks take turns, so that a busy machine slows all alike.
    """
    measured: Dict[str, List[Tuple[float, float]]] = {task.name: [] for task in tasks}
    for repetition in range(repetitions + 1):
        for task in tasks:
            result = measure(task.command)
            if repetition:  # the first turn warms the file cache
                measured[task.name].append(result)
    return {name: (statistics.median(seconds for seconds, _ in results), max(memory for _, memory in results))
            for name, results in measured.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=1000, help="retrieved for each topic")
    parser.add_argument("--judged", type=int, default=50, help="judged for each topic")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--trec-eval", action="append", default=[], metavar="PROGRAM",
                        help="a trec_eval to compare with")
    arguments = parser.parse_args()
    for program in arguments.trec_eval:
        if not shutil.which(program):
            parser.error("expected a program, found none: %s" % program)

    with tempfile.TemporaryDirectory() as directory:
        sizes = (arguments.documents, arguments.judged)
        qrels, run = make_collection(directory, "grouped", arguments.topics, *sizes)
        small = make_collection(directory, "small", 5 * arguments.topics, 10, 10)
        large = make_collection(directory, "large", 50 * arguments.topics, 10, 10)
        # As when it is installed, Python compiles the module once; it would compile a script each time.
        os.environ.update(PYTHONPATH=HERE, PYTHONPYCACHEPREFIX=directory, PYTHONDONTWRITEBYTECODE="")
        ours = [sys.executable, "-m", "trec_eval_ref", "--quiet"]
        tasks = [
            Task("python", [sys.executable, "-c", NOTHING]),
            Task("floor", [sys.executable, "-c", FLOOR, run]),
            Task("four measures", [*ours, *FOUR, qrels, run]),
            Task("four measures, run as a script", [
                sys.executable, os.path.join(HERE, "trec_eval_ref.py"), "--quiet", *FOUR, qrels, run]),
            Task("all_trec", [*ours, "-m", "all_trec", qrels, run]),
            Task("four measures, lines shuffled", [*ours, *FOUR, qrels, shuffled(run)]),
        ]
        few = Task("%d topics of 10 documents" % (5 * arguments.topics), [*ours, *FOUR, *small])
        many = Task("%d topics of 10 documents" % (50 * arguments.topics), [*ours, *FOUR, *large])
        tasks += [few, many]
        for program in arguments.trec_eval:
            tasks += [Task("four measures, " + program, [program, *FOUR, qrels, run]),
                      Task("all_trec, " + program, [program, "-m", "all_trec", qrels, run])]
        results = median_of(tasks, arguments.repetitions)
        floor = results["floor"][0]
        lines = arguments.topics * arguments.documents
        print("Python %s, %s %s, %d topics x %d documents, %.0f MB, medians of %d" % (
            platform.python_version(), platform.system(), platform.machine(), arguments.topics,
            arguments.documents, os.path.getsize(run) / 1e6, arguments.repetitions))
        print("\n| command | seconds | of the floor | peak MB |\n|---|---|---|---|")
        for task in tasks:
            seconds, memory = results[task.name]
            print("| %s | %.2f | %.2f | %.0f |" % (task.name, seconds, seconds / floor, memory))
        grouped, mixed = results["four measures"], results["four measures, lines shuffled"]
        print("\nshuffled / grouped: %.2f times the time, %.0f bytes a line" % (
            mixed[0] / grouped[0], (mixed[1] - results["python"][1]) * (1 << 20) / lines))
        print("ten times as many topics: %.1f times the time"
              % (results[many.name][0] / results[few.name][0]))
        if importlib.util.find_spec("pytrec_eval"):
            compare_evaluators(qrels, run, arguments.repetitions)


def compare_evaluators(qrels: str, run: str, repetitions: int) -> None:
    """Time `evaluate` on dicts against pytrec_eval, in a process of their own."""
    output = subprocess.run([sys.executable, "-c", BOTH_EVALUATORS, qrels, run, str(repetitions)], check=True,
                            stdout=subprocess.PIPE).stdout.decode()
    rows = [tuple(map(float, line.split())) for line in output.splitlines()]
    theirs, ours, drop_in = (statistics.median(column) for column in zip(*rows))
    print("evaluate on dicts: pytrec_eval %.2f s; evaluate %.2f s (%.2f times that); "
          "RelevanceEvaluator %.2f s (%.2f)" % (theirs, ours, ours / theirs, drop_in, drop_in / theirs))


if __name__ == "__main__":
    main()
