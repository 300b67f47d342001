#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the trec_eval_ref authors
"""Measure how fast trec_eval_ref is, and how much memory it takes, on runs made for the purpose.

    python3 benchmark.py files                  commands, compared with the floor
    python3 benchmark.py files --trec-eval /path/to/trec_eval
    python3 benchmark.py dicts                  the interface of pytrec_eval, compared with pytrec_eval
    python3 benchmark.py growth                 how time and memory grow

Each command runs as a process of its own, in turn with the others, several
times; medians are shown.  The floor is what `for line in open(run, "rb"):
line.split()` takes in the same Python.  Calls on dicts take turns in one
process with those of pytrec_eval, which must be installed.
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
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import trec_eval_ref

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ["map", "recip_rank", "recall.1000", "ndcg_cut.10"]
FOUR = ["-c"] + [argument for name in NAMES for argument in ("-m", name)]
FLOOR = 'import sys\nfor line in open(sys.argv[1], "rb"): line.split()'

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


class Shape(NamedTuple):
    """How large a collection is: topics, documents retrieved and judged for each, and the lowest grade."""

    topics: int
    documents: int
    judged: int
    lowest: int = 0

    def __str__(self) -> str:
        """As rows of tables name it."""
        return f"{self.topics:,} × {self.documents:,}, {self.judged:,} judged"


class Result(NamedTuple):
    """What a process took."""

    seconds: float
    megabytes: float


Collection = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]


def make_collection(shape: Shape) -> Collection:
    """Judgments and a run in which half of the judged documents are retrieved."""
    chance = random.Random(shape.topics * shape.documents)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for topic in map(str, range(1, shape.topics + 1)):
        numbers = chance.sample(range(10 ** 7), shape.documents + shape.judged)
        docnos = [f"D{number:07d}" for number in numbers]
        scores = sorted((round(chance.uniform(0, 30), 6) for _ in range(shape.documents)), reverse=True)
        run[topic] = dict(zip(docnos, scores))
        judged = chance.sample(docnos[:shape.documents], min(shape.judged // 2, shape.documents))
        judged += docnos[shape.documents:][:shape.judged - len(judged)]
        qrels[topic] = {docno: max(chance.choice((0, 0, 0, 1, 2)), shape.lowest) for docno in judged}
    return qrels, run


def write_collection(directory: str, shape: Shape, shuffled: bool = False) -> list[str]:
    """Write qrels and a run, grouped by topic or in random order; their paths."""
    qrels, run = make_collection(shape)
    lines = [f"{topic} Q0 {docno} {rank} {score:.6f} benchmark\n" for topic, scores in run.items()
             for rank, (docno, score) in enumerate(scores.items(), start=1)]
    if shuffled:
        random.Random(0).shuffle(lines)
    stem = "-".join(map(str, [*shape, shuffled]))
    paths = [os.path.join(directory, f"{stem}.{kind}") for kind in ("qrels", "run")]
    with open(paths[0], "w", encoding="ascii") as file:
        for topic, grades in qrels.items():
            file.writelines(f"{topic} 0 {docno} {grade}\n" for docno, grade in grades.items())
    with open(paths[1], "w", encoding="ascii") as file:
        file.writelines(lines)
    return paths


def measured(command: Sequence[str]) -> Result:
    """The seconds that a command takes, and its peak memory in MB (0 where the system does not tell)."""
    result = subprocess.run([sys.executable, "-c", LAUNCHER, *command], stdout=subprocess.PIPE, check=True)
    seconds, memory = map(float, result.stdout.split())
    return Result(seconds, memory / (1 << 20 if sys.platform == "darwin" else 1 << 10))


def medians(commands: dict[str, list[str]], repetitions: int) -> dict[str, Result]:
    """The median seconds and the largest peak memory of each command, by its name.

    The commands take turns, so that a busy machine slows all alike.
    """
    results: dict[str, list[Result]] = {name: [] for name in commands}
    for repetition in range(repetitions + 1):
        for name, command in commands.items():
            result = measured(command)
            if repetition:  # the first turn warms the file cache
                results[name].append(result)
    return {name: Result(statistics.median(result.seconds for result in of_name),
                         max(result.megabytes for result in of_name)) for name, of_name in results.items()}


def ours(*arguments: str) -> list[str]:
    """The command line of the module; Python keeps a module compiled, as it would not keep a script."""
    return [sys.executable, "-m", "trec_eval_ref", "--quiet", *arguments]


def compare_commands(directory: str, shape: Shape, programs: Sequence[str], repetitions: int) -> None:
    """Print what commands take, against the floor and each of the programs."""
    grouped = write_collection(directory, shape)
    few = Shape(5 * shape.topics, 10, 20)
    many = Shape(50 * shape.topics, 10, 20)
    tasks = {"four measures": [*FOUR, *grouped], "all_trec": ["-m", "all_trec", *grouped],
             "four measures, lines shuffled": [*FOUR, *write_collection(directory, shape, shuffled=True)]}
    tasks.update({f"four measures, {shape}": [*FOUR, *write_collection(directory, shape)]
                  for shape in (few, many)})
    commands = {"floor": [sys.executable, "-c", FLOOR, grouped[1]],
                "four measures, run as a script": [
                    sys.executable, os.path.join(HERE, "trec_eval_ref.py"), "--quiet", *FOUR, *grouped]}
    commands.update({name: ours(*arguments) for name, arguments in tasks.items()})
    for program in programs:
        commands.update({program + name: [program, *arguments] for name, arguments in tasks.items()})
    results = medians(commands, repetitions)
    print(f"{shape}, {os.path.getsize(grouped[1]) / 1e6:.0f} MB of lines\n")
    heads = [f" of {program} |" for program in programs]
    print("| command | seconds | of the floor | peak MB |", *heads, sep="")
    print("|---|---|---|---|", "---|" * len(programs), sep="")
    for name in commands:
        if not name.startswith(tuple(programs)):
            seconds, megabytes = results[name]
            ratios = [f" {seconds / results[program + name].seconds:.2f} |" if name in tasks else " |"
                      for program in programs]
            print(f"| {name} | {seconds:.2f} | {seconds / results['floor'].seconds:.2f} | {megabytes:.0f} |",
                  *ratios, sep="")


def seconds_of(function: Callable[[], Any]) -> float:
    """The seconds that a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compare_calls(repetitions: int) -> None:
    """Print what calls take, against those of pytrec_eval."""
    import pytrec_eval  # type: ignore[import-not-found]
    every = set(pytrec_eval.supported_measures) & trec_eval_ref.supported_measures
    four = set(NAMES)
    print("| call | pytrec_eval, s | trec_eval_ref, s | ratio |\n|---|---|---|---|")

    def compare(name: str, call: Callable[[Any], Any]) -> None:
        """Print the medians for what a call does with either module."""
        times: list[list[float]] = [[], []]
        for _ in range(repetitions):
            for module, taken in zip((pytrec_eval, trec_eval_ref), times):
                taken.append(seconds_of(lambda: call(module)))
        theirs, own = map(statistics.median, times)
        print(f"| {name} | {theirs:.3f} | {own:.3f} | {own / theirs:.2f} |", flush=True)

    long, short = Shape(1_000, 1_000, 50), Shape(10_000, 100, 20)
    for shape, measures in ((long, four), (long, every), (short, four), (short, every),
                            (Shape(100_000, 10, 2, lowest=1), four), (Shape(20_000, 10, 10), four)):
        qrels, run = make_collection(shape)
        evaluators = {module: module.RelevanceEvaluator(qrels, measures)
                      for module in (pytrec_eval, trec_eval_ref)}
        compare(f"evaluate, {shape}, {'four' if measures is four else 'all'} measures",
                lambda module: evaluators[module].evaluate(run))
    shape = Shape(100_000, 20, 20)
    qrels, _ = make_collection(shape)
    compare(f"construct, {shape}", lambda module: module.RelevanceEvaluator(qrels, four))
    values = [random.random() for _ in range(100_000)]
    compare(f"compute_aggregated_measure, {len(values):,} values",
            lambda module: module.compute_aggregated_measure("map", values))


def show_growth(directory: str, repetitions: int) -> None:
    """Print how time and memory grow with each dimension of a collection, and with the measures."""
    base = Shape(1_000, 100, 20)
    rows: dict[str, tuple[Shape, list[str]]] = {"one topic": (base._replace(topics=1), FOUR)}
    for topics in (100, 1_000, 10_000):
        rows[f"{topics:,} topics"] = base._replace(topics=topics), FOUR
    for documents in (10, 100, 1_000):
        rows[f"{documents:,} documents a topic"] = base._replace(documents=documents), FOUR
    for judged in (10, 100, 1_000):
        rows[f"{judged:,} judgments a topic"] = base._replace(judged=judged), FOUR
    for number in (1, 10, 100):
        cutoffs = ",".join(map(str, range(1, number + 1)))
        rows[f"P, number of cutoffs: {number}"] = base, ["-m", f"P.{cutoffs}"]
    rows["all_trec"] = base, ["-m", "all_trec"]
    commands = {name: ours(*arguments, *write_collection(directory, shape))
                for name, (shape, arguments) in rows.items()}
    results = medians(commands, repetitions)
    print(f"{base}, four measures, except for what is named\n")
    print("| what | seconds | peak MB |\n|---|---|---|")
    for name, (seconds, megabytes) in results.items():
        print(f"| {name} | {seconds:.2f} | {megabytes:.0f} |")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("files", "dicts", "growth"))
    parser.add_argument("--topics", type=int, default=1000, help="of the collection of `files`")
    parser.add_argument("--documents", type=int, default=1000, help="retrieved for each of these topics")
    parser.add_argument("--judged", type=int, default=50, help="judged for each of these topics")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--trec-eval", action="append", default=[], metavar="PROGRAM",
                        help="a trec_eval to compare with")
    arguments = parser.parse_args()
    for program in arguments.trec_eval:
        if not shutil.which(program):
            parser.error(f"expected a program, found none: {program}")
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
          f"medians of {arguments.repetitions}\n")
    if arguments.what == "dicts" and not importlib.util.find_spec("pytrec_eval"):
        parser.error("expected pytrec_eval to compare with, found none; pip install pytrec-eval-terrier")
    with tempfile.TemporaryDirectory() as directory:
        os.environ.update(PYTHONPATH=HERE, PYTHONPYCACHEPREFIX=directory, PYTHONDONTWRITEBYTECODE="")
        if arguments.what == "files":
            shape = Shape(arguments.topics, arguments.documents, arguments.judged)
            compare_commands(directory, shape, arguments.trec_eval, arguments.repetitions)
        elif arguments.what == "dicts":
            compare_calls(arguments.repetitions)
        else:
            show_growth(directory, arguments.repetitions)


if __name__ == "__main__":
    main()
