# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the trec_eval_ref authors
"""The tests of trec_eval_ref.

    python3 -m pytest -q

fixtures/<collection>/<name>.golden holds a command line of trec_eval in its
first line and, after it, the bytes that trec_eval printed; random_cases.jsonl
holds more of the same with small random files.  To check the golden files
against trec_eval itself, name its programs in the environment:

    TREC_EVAL_10_0=/path/to/trec_eval TREC_EVAL_9_0_8=/path/to/trec_eval python3 -m pytest -q -k official
"""

import __future__
import ast
import bisect
import builtins
import bz2
import concurrent.futures
import configparser
import contextlib
import copy
import dis
import doctest
import errno
import functools
import gzip
import importlib.util
import inspect
import io
import itertools
import json
import lzma
import math
import operator
import os
import pickle
import random
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple
from unittest import mock
from xml.etree import ElementTree

import pytest

import trec_eval_ref
from trec_eval_ref import (MEASURES, NICKNAMES, Comparison, TrecEvalError, TrecEvalWarning, compare,
                           compare_files, evaluate, evaluate_files, example_preferences, holm, judge,
                           judge_prefs, main, multiple_r_precision, paired_t_test, precision,
                           randomisation_test, read_prefs, read_qrels, read_qrels_jg, read_run, t_quantile,
                           t_tail)

ROOT = Path(__file__).resolve().parent
FIXTURES = ROOT / "fixtures"
SCRIPT = str(ROOT / "trec_eval_ref.py")
PROGRAM = [sys.executable, "-m", "trec_eval_ref"]  # the script would be compiled anew each time
RELEASES = ("10.0", "9.0.8")
IS_CPYTHON = sys.implementation.name == "cpython"
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


# ---- Shared helpers ----


class Result(NamedTuple):
    status: int
    out: bytes
    err: str


@contextlib.contextmanager
def working_in(directory):
    before = os.getcwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


def run_main(argv, cwd=ROOT, stdin=b"", module=trec_eval_ref):
    """Call main(argv) in this process and collect what it writes, as bytes."""
    out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    with working_in(cwd), mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))), \
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = module.main([str(word) for word in argv])
    out.flush()
    err.flush()
    return Result(status, out.buffer.getvalue(), err.buffer.getvalue().decode("utf-8"))


ENVIRONMENT = dict(os.environ, PYTHONPATH=str(ROOT), PYTHONUNBUFFERED="")  # buffered, as users have it
TIME_LIMIT = 60  # in seconds, for what takes less than one, so that no test waits for ever


def run_process(command, cwd=ROOT, **options):
    """Run a command in a process of its own, with this directory's module."""
    done = subprocess.run([str(word) for word in command], cwd=cwd,
                          stdout=options.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE,
                          env=ENVIRONMENT, timeout=TIME_LIMIT, **options)
    return Result(done.returncode, done.stdout or b"", done.stderr.decode())


@contextlib.contextmanager
def started(command, cwd=ROOT, **options):
    """A process to talk to while it runs, which is killed at the end or when the time limit is over."""
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=ENVIRONMENT, **options) as process:
        timer = threading.Timer(TIME_LIMIT, process.kill)
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            process.kill()


def qrels_text(qrels):
    return "".join("%s 0 %s %s\n" % (topic, docno, grade)
                   for topic, grades in qrels.items() for docno, grade in grades.items()).encode()


def run_text(run, tag="tag"):
    return "".join("%s Q0 %s 0 %r %s\n" % (topic, docno, score, tag)
                   for topic, scores in run.items() for docno, score in scores.items()).encode()


def write(directory, qrels, run):
    """Write qrels.txt and run.txt, each given as bytes, as text or as a dict."""
    for name, content, text_of in (("qrels.txt", qrels, qrels_text), ("run.txt", run, run_text)):
        content = text_of(content) if isinstance(content, dict) else content
        (directory / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return directory


def printed(out):
    """{topic: {name: value}} of text output, the values as printed."""
    values = {}
    for line in out.decode().splitlines():
        name, topic, value = line.split("\t")
        values.setdefault(topic, {})[name.rstrip()] = value
    return values


def score(cwd, *options, **keywords):
    """The text output of a command line on qrels.txt and run.txt that must succeed."""
    result = run_main([*options, "qrels.txt", "run.txt"], cwd, **keywords)
    assert result.status == 0, result.err
    return result.out


def agree(found, expected):
    """Whether numbers, or dicts of them, are those recorded.

    CPython's math.log2 is that of C, so that the last bit counts; with other
    Pythons 12 digits do.
    """
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(agree(found[key], expected[key]) for key in expected)
    return found == expected if IS_CPYTHON else math.isclose(found, expected, rel_tol=1e-12)


def named(table):
    """The rows of a table as parameters, named by their first fields."""
    return [pytest.param(*row[1:], id=row[0]) for row in table]


def ranked(ranks, depth, unretrieved=0):
    """Judgments and scores of a ranking with relevant documents at these ranks, and some not retrieved."""
    judgments = {"d%d" % rank: int(rank in ranks) for rank in range(1, depth + 1)}
    judgments.update({"missed%d" % i: 1 for i in range(unretrieved)})
    return judgments, {"d%d" % rank: float(-rank) for rank in range(1, depth + 1)}


class Golden(NamedTuple):
    name: str
    release: str
    arguments: list
    directory: Path
    expected: bytes


def golden_files():
    for path in sorted(FIXTURES.glob("*/*.golden")):
        command, _, expected = path.read_bytes().partition(b"\n")
        program, *arguments = command.decode().split()[1:]
        yield Golden("%s/%s" % (path.parent.name, path.stem), program.partition("-")[2], arguments,
                     path.parent, expected)


GOLDENS = list(golden_files())
OFFICIAL = next(golden for golden in GOLDENS if golden.name == "worked/official")
ALL_TREC = next(golden for golden in GOLDENS if golden.name == "adhoc/all_trec-q")


def release_option(release):
    return [] if release == "10.0" else ["--release", release]


QRELS = b"1 0 a 1\n1 0 b 0\n2 0 a 1\n"
RUN = b"1 Q0 a 1 2.0 tag\n1 Q0 b 2 1.0 tag\n2 Q0 a 1 1.0 tag\n"
FILES = ["qrels.txt", "run.txt"]


def assert_error(result, status, message):
    assert (result.status, result.out) == (status, b""), result.err
    assert re.fullmatch(r"trec_eval_ref: [^\n]+\n", result.err), result.err
    assert "Traceback" not in result.err
    assert re.search(message, result.err), result.err


def evaluated(measures, qrels=None, run=None, **keywords):
    qrels = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1}} if qrels is None else qrels
    run = {"1": {"a": 1.0, "b": 2.0, "d": 0.5}, "2": {"a": 1.0}} if run is None else run
    return trec_eval_ref.RelevanceEvaluator(qrels, measures, **keywords).evaluate(run)


# ---- The rooms of the file ----


SOURCE = Path(SCRIPT).read_text(encoding="utf-8")
CORE = ["What a measure sees", "What a measure returns", "How a measure is declared", "The measures",
        "Requests", "Evaluating"]
FURTHER_ROOMS = ["Files", "The interface of pytrec_eval", "Judgments by several people, and preferences",
                 "Reporting", "Explaining", "Comparing", "Pictures", "Auditing", "Command line"]
ROOMS = CORE + FURTHER_ROOMS


def source_above(room):
    """The module's source above the heading of a room."""
    above, heading, _ = SOURCE.partition(f"\n# ---- {room} ----\n")
    assert heading, f"there is no room {room}"
    return above + "\n"


def imported(path):
    """The module in a file, under the name of the file's directory."""
    spec = importlib.util.spec_from_file_location(path.parent.name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where doctest and pickle look for it
    spec.loader.exec_module(module)
    return module


@functools.cache
def module_above(room):
    """The module cut before a room."""
    with tempfile.TemporaryDirectory(prefix="cut") as directory:
        path = Path(directory) / "trec_eval_ref.py"
        path.write_text(source_above(room), encoding="utf-8")
        return imported(path)


def names_in(annotation):
    """The names that an annotation uses, in the strings within it too."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from names_in(ast.parse(node.value))


def global_names(source):
    """The global names that a part of a module defines, and the others that it uses, in annotations too."""
    part = compile(source, "trec_eval_ref.py", "exec", __future__.annotations.compiler_flag)
    defined = {step.argval for step in dis.get_instructions(part) if step.opname == "STORE_NAME"}
    used, blocks = set(), [part]  # blocks of code: the part, its classes, its functions
    for block in blocks:
        blocks += filter(inspect.iscode, block.co_consts)
        steps = list(dis.get_instructions(block))
        own = {step.argval for step in steps if step.opname == "STORE_NAME"}  # of a class
        used.update(step.argval for step in steps if step.opname == "LOAD_GLOBAL")
        used.update(step.argval for step in steps if step.opname == "LOAD_NAME" and step.argval not in own)
    for node in ast.walk(ast.parse(source)):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if annotation is not None:
                used.update(names_in(annotation))
    return defined, used - defined - {"__annotations__"}


def test_global_names_are_found():
    assert global_names(inspect.cleandoc("""
        import os
        x: A = len(os.name)
        class C(I):
            y: list[B] = __name__
            z = y
            def m(self, v: "D | None", *w: E) -> "list['F']":
                return [G for u in v if u in w] + [x, self, __name__]
        print(lambda q: q + H)
    """)) == ({"os", "x", "C"}, {*"ABDEFGHI", "len", "list", "print", "__name__"})


@functools.cache
def parts():
    """The texts of the rooms, after what comes before the first."""
    return re.split("^# ----.*$", SOURCE, flags=re.MULTILINE)


@functools.cache
def names_of_parts():
    """The global names that each part defines, and the others that it uses."""
    return [global_names(part) for part in parts()]


def test_headings_of_the_rooms():
    assert re.findall("^# ----.*$", SOURCE, re.MULTILINE) == [f"# ---- {room} ----" for room in ROOMS]


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_use_what_stands_above(room):
    place = 1 + ROOMS.index(room)
    assert len(parts()) == 1 + len(ROOMS)
    defined = set(dir(builtins)).union(*(names for names, _ in names_of_parts()[:place + 1]))
    assert names_of_parts()[place][1] - defined == set()


@pytest.mark.parametrize("room", ROOMS)
def test_each_room_lists_its_public_names(room):
    place = 1 + ROOMS.index(room)
    statements = re.findall(r"^(__all__ .*?\[)([^]]*)", parts()[place], re.MULTILINE)
    assert {start for start, _ in statements} <= {"__all__ = [" if place == 1 else "__all__ += ["}
    defined, _ = names_of_parts()[place]
    for _, names in statements:
        assert defined.issuperset(re.findall(r'"(\w+)"', names))


def test_public_names():
    names = ("Column Evaluation Explanation JudgedRanking MEASURES Measure NICKNAMES PreferenceCounts "
             "PreferenceGroup PreferenceRanking RELEASES Release RelevanceEvaluator Settings TrecEvalError "
             "TrecEvalWarning Value View compute_aggregated_measure evaluate evaluate_files "
             "example_preferences example_ranking explain explanation_lines judge judge_prefs main "
             "parse_qrel parse_run read_prefs read_qrels read_qrels_jg read_run read_zscores signature "
             "supported_measures supported_nicknames").split()
    names += [measure.function.__name__ for measure in MEASURES.values()]
    assert set(names) - set(trec_eval_ref.__all__) == set()


@pytest.mark.parametrize("room", FURTHER_ROOMS)
def test_module_cut_before_a_room(room):
    module = module_above(room)
    assert set(module.__all__) == {name for name in trec_eval_ref.__all__ if hasattr(module, name)}
    results = doctest.testmod(module)
    assert results.failed == 0 and results.attempted > 50


def test_a_cut_module_has_less():
    sizes = [len(vars(module_above(room))) for room in FURTHER_ROOMS] + [len(vars(trec_eval_ref))]
    assert sizes == sorted(set(sizes))


@pytest.mark.filterwarnings("ignore:relevance level 2")
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("collection", ["graded", "sampled"])
def test_core_evaluates_dicts(collection, release):
    core = module_above("Files")
    on_qrels = {name for name, measure in MEASURES.items() if "qrels" in (measure.rel_formats or ["qrels"])}
    assert set(core.MEASURES) == on_qrels
    qrels, run = collection_of(collection, "qrels")
    requests = [[*sorted(on_qrels - trec_eval_ref.RELEASES[release].lacks)], ["all_trec", "P@7"], []]
    requests += [[name] for name, _, _ in OTHER_NAMES]
    for measures in requests:
        found = core.evaluate(qrels, run, measures, release=release)
        expected = evaluate(qrels, run, measures, release=release)
        assert (found.topics, found.summary) == (expected.topics, expected.summary), measures


def test_everything_has_a_docstring():
    def without(body, prefix=""):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                if not ast.get_docstring(node) and not re.fullmatch("__.*__", node.name):
                    yield prefix + node.name
                if isinstance(node, ast.ClassDef):
                    yield from without(node.body, node.name + ".")
    assert list(without(ast.parse(SOURCE).body)) == []


@pytest.mark.parametrize("path", [SCRIPT, __file__], ids=["module", "tests"])
def test_lines_are_not_long(path):
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    assert [f"line {number}" for number, line in enumerate(lines, 1) if len(line) > 110] == []


def test_formulas_are_found_soon():
    assert SOURCE.splitlines().index('@measure("map")') + 1 < 550


EXPECTED_RECIPROCAL_RANK = '''
@measure("nERR9", cutoffs(5, 10))
def expected_reciprocal_rank(topic: JudgedRanking, k: int) -> Value:
    """Expected reciprocal rank at k: of the rank where a user stops, satisfied with probability s.

        nERR9@k = sum over the ranks r to k of s(r) / r, times 1 - s(i) for each rank i above r
        s(r) = (2^grade - 1) / 2^(the largest grade of the topic)

    >>> expected_reciprocal_rank(example_ranking("201"), 3) == 3/4 + (1 - 3/4) * 1/4 / 3
    True
    """
    largest = max(topic.grade_counts, default=0)
    ranks, terms = [], []
    unsatisfied = 1.0
    for rank, grade in topic.grades.items():
        if grade > 0 and rank <= k:
            satisfied = (2 ** grade - 1) / 2 ** largest
            ranks.append(rank)
            terms.append(unsatisfied * satisfied / rank)
            unsatisfied *= 1 - satisfied
    return add_up(ranks, terms)


'''
ERR_QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 0, "b": 1}}
ERR_RUN = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"a": 2.0, "b": 1.0}}
ERR_VALUES = {"1": 3 / 4 + (1 - 3 / 4) * (1 / 4) / 3, "2": 1 / 2 / 2}


@pytest.fixture(scope="module")
def with_err(tmp_path_factory):
    """A copy of the module with one more measure, in a directory with qrels and a run."""
    above, heading, below = SOURCE.partition("# ---- Requests ----\n")
    assert heading
    path = write(tmp_path_factory.mktemp("with_err"), ERR_QRELS, ERR_RUN) / "trec_eval_ref.py"
    path.write_text(above + EXPECTED_RECIPROCAL_RANK + heading + below, encoding="utf-8")
    return imported(path)


@pytest.mark.parametrize("requested, names", [
    ("nERR9.10", ["nERR9_10"]), ("nERR9@10", ["nERR9@10"]), ("nERR9", ["nERR9_5", "nERR9_10"]),
    ("nERR9@1", ["nERR9@1"])])
def test_new_measure_on_the_command_line(with_err, requested, names):
    command = [sys.executable, with_err.__file__, "-q", "-m", requested, *FILES]
    one, two = (0.75, 0.0) if requested == "nERR9@1" else ERR_VALUES.values()
    expected = "".join(f"{name:<22}\t{topic}\t{value:.4f}\n" for topic, value in (
        ("1", one), ("2", two), ("all", (one + two) / 2)) for name in names)
    assert run_process(command, Path(with_err.__file__).parent) == Result(0, expected.encode(), "")


@pytest.mark.parametrize("requested, meant", [
    ("nerr9@5", "nERR9@5"), ("nerr9.5", "nERR9.5"), ("NERR9", "nERR9")])
def test_new_measure_in_the_wrong_case(with_err, requested, meant):
    result = run_main(["-m", requested, *FILES], Path(with_err.__file__).parent, module=with_err)
    assert_error(result, 1, f"unknown measure '{requested}'; did you mean {meant}")


def test_new_measure_in_the_library(with_err):
    assert with_err.MEASURES["nERR9"].function is with_err.expected_reciprocal_rank
    assert "expected_reciprocal_rank" in with_err.__all__
    assert doctest.testmod(with_err).failed == 0
    for requested, name in (("nERR9.10", "nERR9_10"), ("nERR9_10", "nERR9_10"), ("nERR9@10", "nERR9@10")):
        values = with_err.evaluate(ERR_QRELS, ERR_RUN, [requested, "map"])
        assert {topic: of_topic[name] for topic, of_topic in values.topics.items()} == ERR_VALUES
        assert values.summary[name] == (ERR_VALUES["1"] + ERR_VALUES["2"]) / 2
        assert with_err.RelevanceEvaluator(ERR_QRELS, {requested}).evaluate(ERR_RUN) == {
            topic: {name: value} for topic, value in ERR_VALUES.items()}


@pytest.mark.parametrize("name, request_", [
    ("RR", "RR@1"), ("RR", "RR.1"), ("Precision", "Precision@1"), ("set", "set.1"), ("set", "set@1")])
def test_new_measure_with_a_name_of_another_tool(name, request_):
    with mock.patch.dict(MEASURES):
        @trec_eval_ref.measure(name, trec_eval_ref.cutoffs(10))
        def three_times_k(topic, k):
            """Three times the cutoff."""
            return 3.0 * k
        assert list(evaluate(ERR_QRELS, ERR_RUN, [request_]).summary.values()) == [3.0]
        if "." in request_:
            values = trec_eval_ref.RelevanceEvaluator(ERR_QRELS, {request_}).evaluate(ERR_RUN)
            assert [set(of_topic.values()) for of_topic in values.values()] == [{3.0}, {3.0}]
        help_text = run_main(["-h", "-m", name], FIXTURES / "worked").out
        assert help_text.count(b"Three times the cutoff.") == 1


def test_new_measure_is_documented_and_explained(with_err):
    directory = Path(with_err.__file__).parent
    shown = run_main(["-h", "-m", "nERR9"], directory, module=with_err)
    assert shown.status == 0 and b"nERR9 (expected_reciprocal_rank)\n    parameters: cutoffs" in shown.out
    assert b"s(r) = (2^grade - 1)" in shown.out
    result = run_main(["--explain", "nERR9.10", "-D", "0.1", *FILES], directory, module=with_err)
    lines = result.out.decode().splitlines()
    assert (result.status, result.err) == (0, "") and lines[0] == "nERR9_10 of topic 1"
    assert any(line.startswith("    nERR9@k = sum over the ranks r to k") for line in lines)
    rows = table_of(lines, "rank docno score grade")
    assert [row[:6] for row in rows] == [["1", "a", "3", "2", "0.7500", "0.7500"],
                                         ["3", "c", "1", "1", "0.0208", "0.7708"]]
    assert "  nERR9_10 = 0.7708" in lines


def pickled(thing):
    """What comes out of a pickle of a thing."""
    return pickle.loads(pickle.dumps(thing))


def test_evaluator_is_pickled():
    qrels, run = collection_of("graded", "qrels")
    evaluator = trec_eval_ref.RelevanceEvaluator(qrels, ["map", "ndcg_cut.3,5", "set_F_0.5", "ndcg.1=3"],
                                                 relevance_level=2, judged_docs_only_flag=True)
    expected = evaluator.evaluate(run)
    assert pickled(evaluator).evaluate(run) == expected
    code = ("import pickle, sys; evaluator, run = pickle.load(sys.stdin.buffer); "
            "sys.stdout.buffer.write(pickle.dumps(evaluator.evaluate(run)))")
    elsewhere = run_process([sys.executable, "-c", code], input=pickle.dumps((evaluator, run)))
    assert (elsewhere.status, elsewhere.err) == (0, "") and pickle.loads(elsewhere.out) == expected


@pytest.mark.parametrize("name, rel_format", [("worked", "qrels"), ("groups", "qrels_jg"),
                                              ("groups", "qrels_prefs"), ("preferences", "prefs")])
def test_values_and_explanations_are_pickled(name, rel_format):
    qrels, run = collection_of(name, rel_format)
    for requests in requests_for(rel_format, "10.0"):
        evaluation = evaluate(qrels, run, requests, rel_format=rel_format)
        assert type(pickled(evaluation)) is trec_eval_ref.Evaluation and pickled(evaluation) == evaluation
        explained = trec_eval_ref.explain(qrels, run, requests, rel_format=rel_format)
        for explanation in next(iter(explained.values())):
            again = pickled(explanation)
            assert pickled(explanation.column) == explanation.column == again.column
            assert trec_eval_ref.explanation_lines(again) == trec_eval_ref.explanation_lines(explanation)


def test_what_a_value_was_not_told_is_empty():
    value = trec_eval_ref.Value(0.5)
    assert (value.ranks, value.terms, value.working) == ((), (), ())
    with pytest.raises(AttributeError, match="'Value' object has no attribute 'rank'"):
        value.rank


class ReadOnce(dict):
    """A dict whose keys or values can be read once for each call of `keys` or `values`."""

    def keys(self):
        return iter(list(super().keys()))

    def values(self):
        return iter(list(super().values()))


def test_dicts_whose_values_can_be_read_once():
    grades = {"a": True, "b": False, "c": True, "d": False, "e": True}
    scores = dict(zip("abcde", (1, 5, 4, 3, 2)))
    expected = evaluate({"1": grades}, {"1": scores}, ["all_trec"])
    assert expected.summary["num_rel"] == 3
    assert evaluate({"1": ReadOnce(grades)}, {"1": ReadOnce(scores)}, ["all_trec"]) == expected
    for run in ReadOnce(scores, e=float("nan")), ReadOnce(dict.fromkeys("ab", 1.0), c=float("nan")):
        with pytest.raises(TrecEvalError, match="expected a number as score, found nan"):
            evaluate({"1": grades}, {"1": run}, ["map"])
    with pytest.raises(TrecEvalError, match="expected an integer of 64 bits as grade"):
        evaluate({"1": ReadOnce(a=1, b=2 ** 64)}, {"1": scores}, ["map"])


# ---- Golden files: what trec_eval printed ----


def random_cases():
    """Those of random_cases.jsonl, and corner cases of options from edge_cases.jsonl."""
    lines = [line for name in ("random_cases.jsonl", "edge_cases.jsonl")
             for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.name)
def test_golden_file(golden):
    result = run_main(release_option(golden.release) + golden.arguments, golden.directory)
    assert (result.status, result.out) == (0, golden.expected), result.err


@pytest.fixture(scope="module")
def one_directory(tmp_path_factory):
    """A directory for all random cases, one after the other."""
    return tmp_path_factory.mktemp("random")


@pytest.mark.parametrize("case", random_cases(), ids=lambda case: f"{case['id']}-{case['release']}")
def test_random_case(case, one_directory):
    for name in ("qrels", "run"):
        (one_directory / name).write_bytes(case[name].encode())
    result = run_main([*release_option(case["release"]), *case["args"], "qrels", "run"], one_directory)
    assert (result.status, result.out) == (0, case["stdout"].encode()), result.err
    assert not re.search("a header|are these distances|expected topic Q0|same score", result.err)
    if "is judged" in result.err:  # which is right in a few of the smallest
        evaluated = set(case["qrels"].split()[::4 if case["format"] != "prefs" else 5])
        in_run = {line.split()[2] for line in case["run"].splitlines() if line.split()[:1] and
                  line.split()[0] in evaluated}
        assert in_run.isdisjoint(case["qrels"].split())


def test_there_are_golden_files_and_random_cases_of_both_releases():
    for cases in ({golden.release for golden in GOLDENS}, {case["release"] for case in random_cases()}):
        assert cases == set(RELEASES)


@pytest.mark.parametrize("release", RELEASES)
def test_official_program_prints_the_golden_files(release):
    variable = "TREC_EVAL_" + release.replace(".", "_")
    if variable not in os.environ:
        pytest.skip("set %s to the path of trec_eval %s" % (variable, release))
    program = os.path.abspath(os.environ[variable])
    goldens = [golden for golden in GOLDENS if golden.release == release]
    differing = [golden.name for golden in goldens
                 if run_process([program, *golden.arguments], golden.directory).out != golden.expected]
    assert goldens and not differing


# ---- Worked examples with published numbers ----


def average_precision(ranks, depth=10, unretrieved=0):
    return MEASURES["map"].function(judge(*ranked(ranks, depth, unretrieved)))


WORKED = [1, 3, 6, 9]  # ranks of the relevant documents; the fifth is not retrieved


def worked_values(*measures):
    judgments, scores = ranked(WORKED, 10, unretrieved=1)
    return evaluate({"1": judgments}, {"1": scores}, measures).topics["1"]


@pytest.mark.parametrize("rank, precision, contribution",
                         [(1, 1.000, 0.200), (3, 0.667, 0.133), (6, 0.500, 0.100), (9, 0.444, 0.089)])
def test_contributions_to_average_precision(rank, precision, contribution):
    above = [f"map_cut.{rank - 1}"] if rank > 1 else []
    values = worked_values(f"P.{rank}", f"map_cut.{rank},{rank + 1}", *above)
    assert round(values["P_%d" % rank], 3) == precision
    above = values.get("map_cut_%d" % (rank - 1), 0.0)
    assert round(values["map_cut_%d" % rank] - above, 3) == contribution
    assert values["map_cut_%d" % rank] == values["map_cut_%d" % (rank + 1)]


def test_average_precision_of_the_worked_ranking():
    values = worked_values("map", "11pt_avg", "num_rel", "num_rel_ret")
    assert round(values["map"], 3) == 0.522
    assert math.isclose(values["map"], 2.611 / 5, abs_tol=1e-4)
    assert round(values["map"] * values["num_rel"] / values["num_rel_ret"], 3) == 0.653  # the common mistake
    assert round(values["11pt_avg"], 3) == 0.566
    expectation = sum(worked_values("P.%d" % rank)["P_%d" % rank] for rank in WORKED) / 5
    assert math.isclose(values["map"], expectation)


@pytest.mark.parametrize("ranks, unretrieved, expected", [
    ([1, 3, 6, 9], 1, 0.522),           # as it is
    ([1, 2, 6, 9], 1, 0.589),           # ranks 2 and 3 swapped
    ([1, 3, 6, 10], 1, 0.513),          # ranks 9 and 10 swapped
    ([1, 3, 5, 9], 1, 0.542),           # third relevant document from 6 to 5
    ([1, 3, 6, 8], 1, 0.533),           # fourth from 9 to 8
    ([1, 3, 6, 9, 11], 0, 0.613),       # the fifth document found
    ([1, 3, 6, 9, 20], 0, 0.572),
    ([1, 3, 6, 9, 100], 0, 0.532),
    ([1, 3, 6, 9, 1000], 0, 0.523),
    ([1, 2, 3, 6, 9], 1, 0.704),        # the document at rank 2 relevant too
])
def test_top_heaviness_of_average_precision(ranks, unretrieved, expected):
    assert round(average_precision(ranks, 1000, unretrieved), 3) == expected


@pytest.mark.parametrize("seed", range(20))
def test_moving_a_relevant_document_up_by_one_rank(seed):
    chance = random.Random(seed)
    ranks = sorted(chance.sample(range(1, 60), chance.randint(2, 30)))
    unretrieved = chance.randint(0, 5)
    j, k = chance.choice([(j, k) for j, k in enumerate(ranks, 1) if k > 1 and k - 1 not in ranks])
    moved = sorted(set(ranks) - {k} | {k - 1})
    gained = average_precision(moved, 60, unretrieved) - average_precision(ranks, 60, unretrieved)
    assert math.isclose(gained, j / ((len(ranks) + unretrieved) * k * (k - 1)), abs_tol=1e-12)


def test_mean_average_precision_of_two_queries():
    first, second = ranked(WORKED, 10, 1), ranked([2, 5, 8], 10)
    values = evaluate({"1": first[0], "2": second[0]}, {"1": first[1], "2": second[1]}, ["map"])
    assert round(values.topics["2"]["map"], 3) == 0.425
    assert round(values.summary["map"], 3) == 0.474


@pytest.mark.parametrize("rankings, expected, arithmetic, geometric", [
    ([((1, 2), 3)] * 3 + [((50,), 0)], [0.40, 0.40, 0.40, 0.02], 0.305, 0.189),
    ([(range(1, 20), 31)] * 3 + [((5,), 0)], [0.38, 0.38, 0.38, 0.20], 0.335, 0.324),
], ids=["system A", "system B"])
def test_geometric_mean(rankings, expected, arithmetic, geometric):
    topics = {"q%d" % i: ranked(ranks, 50, missed) for i, (ranks, missed) in enumerate(rankings, 1)}
    values = evaluate({topic: judgments for topic, (judgments, _) in topics.items()},
                      {topic: scores for topic, (_, scores) in topics.items()}, ["map", "gm_map"])
    assert [round(values.topics[topic]["map"], 10) for topic in topics] == expected
    assert round(values.summary["map"], 3) == arithmetic
    assert round(values.summary["gm_map"], 3) == geometric


def test_geometric_mean_raises_small_values():
    qrels, run = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 0}}, {"1": {"a": 1.0}, "2": {"b": 1.0}}
    values = evaluate(qrels, run, ["gm_map", "gm_bpref"]).summary
    assert math.isclose(values["gm_map"], math.sqrt(0.00001)) and values["gm_map"] == values["gm_bpref"]


# ---- An independent check: every measure once more, slow and straight from its definition ----


def add(numbers):
    """The sum from left to right; Python's own compensates from 3.12 on."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def ratio(a, b):
    return a / b if b else 0.0


CUTOFFS = (1, 3, 10, 40)
LEVELS = (0.0, 0.1, 0.3, 0.5, 0.75, 1.0)
COEFFICIENTS = (2.0, -0.5, -1.0, 0.25)


def by_definition(judgments, scores, release, level, depth, judged_only, collection_size, gains, p):
    """{printed name: value} of one topic."""
    kept = {docno: struct.unpack("f", struct.pack("f", value))[0] if release == "9.0.8" else value
            for docno, value in scores.items()}
    ranking = sorted(kept, key=lambda docno: (kept[docno], docno.encode()), reverse=True)[:depth]
    if judged_only:
        ranking = [docno for docno in ranking if judgments.get(docno, -1) >= 0]
    at = dict(enumerate((judgments.get(docno) for docno in ranking), start=1))  # rank: grade or None
    judged = [grade for grade in judgments.values() if grade >= 0]
    N, R, NR = len(at), sum(grade >= level for grade in judged), sum(grade < level for grade in judged)
    nonrelevant = [k for k in at if at[k] is not None and 0 <= at[k] < level]
    unjudged = [k for k in at if at[k] is None or at[k] < 0]
    relevant = [k for k in at if k not in nonrelevant and k not in unjudged]
    hits = len(relevant)

    def hits_to(k):
        return bisect.bisect_right(relevant, k)

    def P(k):
        return ratio(hits_to(k), k)

    precision_at = {k: P(k) for k in at}

    def b(k):
        n = sum(rank < k for rank in nonrelevant)
        return 1 - min(n, R) / min(NR, R) if n else 1.0

    def iprec(c):
        m = math.floor(c * R + 0.5) if release == "10.0" else math.trunc(c * R + 0.9)
        reached = [precision_at[k] for k in at if hits_to(k) >= m]
        return max(reached) if m <= hits and reached else 0.0

    def infap(k):
        r, n = sum(rank < k for rank in relevant), sum(rank < k for rank in nonrelevant)
        u = sum(at[rank] is not None and at[rank] < 0 for rank in range(1, k))
        e = 0.00001
        return 1.0 if k == 1 else 1 / k + (k - 1) / k * ((r + n + u) / (k - 1)) * ((r + e) / (r + n + 2 * e))

    def gain(grade):
        return 0.0 if grade is None or grade < 0 else float(gains.get(grade, grade))

    gained = [gain(at[k]) for k in at]
    ideal = sorted((gain(grade) for grade in judged if gain(grade) > 0), reverse=True)
    plain = [float(max(at[k] or 0, 0)) for k in at]
    plain_ideal = sorted((float(grade) for grade in judged if grade > 0), reverse=True)

    def dcg(values, k=None):
        return add(value / math.log2(rank + 1) for rank, value in enumerate(values[:k], 1) if value)

    def g_terms():
        for k in at:
            cost = add([max(value, 1.0) for value in ideal[:k]] + [1.0] * (k - len(ideal[:k])))
            if gained[k - 1]:
                yield gained[k - 1] / math.log2(2 + cost - add(gained[:k]))

    def ndcg_rel():
        positive = [k for k in at if gained[k - 1] > 0]
        total = add([*(dcg(gained, k) / dcg(ideal, k) for k in positive),
                     ratio((len(ideal) - len(positive)) * dcg(gained), dcg(ideal))])
        return ratio(total, len(ideal)) if total > 0 else 0.0

    def rndcg():
        ends = [k for k in range(1, len(ideal) + 1) if ideal[k:k + 1] != ideal[k - 1:k]]
        terms = [dcg(gained, min(k, N)) / dcg(ideal, k) for k in ends]
        if ideal and N > len(ideal) + 1:
            terms.append(dcg(gained) / dcg(ideal))
        return ratio(add(terms), len(terms)) if R else 0.0

    scale = [*map(gain, range(max(judged, default=-1) + 1)), *gains.values()]
    low, high = (0, 1) if all(0 <= x <= 1 for x in scale) else (min(0, *scale), max(0, *scale))
    power = [1.0]
    for _ in at:
        power.append(power[-1] * p)
    rbp = (1 - p) * add((gain(at[k]) - low) / (high - low) * power[k - 1] for k in at if k not in unjudged)
    residual = power[N] + (1 - p) * add(power[k - 1] for k in unjudged) if unjudged else 0.0

    s = add(map(P, relevant))
    precision, recall = ratio(hits, N), ratio(hits, R)
    a_, b_, c_, d_ = COEFFICIENTS
    assignments = ",".join("%d=%g" % pair for pair in gains.items())
    suffix = "_" + assignments if gains else ""
    values = {
        "num_ret": N, "num_rel": R, "num_rel_ret": hits, "num_nonrel_judged_ret": len(nonrelevant),
        "map": ratio(s, R), "Rprec": P(R), "bpref": ratio(add(map(b, relevant)), R),
        "recip_rank": 1 / relevant[0] if relevant else 0.0,
        "relstring": "".join("-" if at[k] is None else "." if at[k] < 0 else ">" if at[k] > 9 else str(at[k])
                             for k in list(at)[:10]),
        "infAP": ratio(add(map(infap, relevant)), R),
        "utility_2,-0.5,-1,0.25":
            a_ * hits + b_ * (N - hits) + c_ * (R - hits) + d_ * (collection_size + hits - N - R),
        "11pt_avg": add(iprec(i / 10) for i in range(10, -1, -1)) / 11,
        "binG": ratio(add(1 / math.log2(2 + k - hits_to(k)) for k in relevant), R),
        "G" + suffix: ratio(add(g_terms()), add(ideal)),
        "ndcg" + suffix: ratio(dcg(gained), dcg(ideal)),
        "ndcg_rel" + suffix: ndcg_rel(), "Rndcg" + suffix: rndcg(),
        "set_P": precision, "set_recall": recall, "set_relative_P": ratio(hits, min(N, R)),
        "set_map": ratio(hits * hits, N * R), "set_F_1": ratio(2 * precision * recall, recall + precision),
        "set_F_0.5": ratio(1.5 * precision * recall, recall + 0.5 * precision),
        "yaap": math.log((1 + s) / (1 + R - s)),
    }
    for k in CUTOFFS:
        values.update({"P_%d" % k: P(k), "recall_%d" % k: ratio(hits_to(k), R),
                       "success_%d" % k: float(hits_to(k) > 0),
                       "ndcg_cut_%d" % k: ratio(dcg(plain, k), dcg(plain_ideal, k)),
                       "map_cut_%d" % k: ratio(add(P(rank) for rank in relevant if rank <= k), R),
                       "relative_P_%d" % k: ratio(hits_to(k), min(k, R))})
    for c in LEVELS:
        values.update({"iprec_at_recall_%.2f" % c: iprec(c),
                       "Rprec_mult_%.2f" % c: P(math.trunc(c * R + 0.9))})
    if release == "10.0":
        values.update({"dcg" + suffix: dcg(gained), "ideal_dcg" + suffix: dcg(ideal),
                       "rbp_p=%g%s" % (p, "," + assignments if gains else ""): rbp,
                       "rbp_resid_p=%g" % p: residual})
        values.update({"unj_%d" % k: sum(rank <= k for rank in unjudged) / k for k in CUTOFFS})
    return values


@functools.cache
def request(name):
    """What -m needs to print this name."""
    if name in MEASURES:
        return name
    measure = max((measure for measure in MEASURES if name.startswith(measure + "_")), key=len)
    return measure + "." + name[len(measure) + 1:]


def random_topic(chance):
    """Judgments and scores of one topic with ties, near-ties, negative grades and unpooled documents."""
    names = ["d%d" % i for i in range(25)] + ["a", "B", "b", "10", "9", "é", "~", "D1"]
    most = chance.choice([1, 2, 3, 12])
    judgments = {docno: chance.choice([-2, -1, 0, 0, 0, *range(1, most + 1)])
                 for docno in chance.sample(names, chance.randint(1, len(names)))}
    some_score = chance.choice([lambda: chance.randint(0, 4), lambda: chance.random(),
                                lambda: 1000 + chance.randint(0, 9) / 1e6,
                                lambda: chance.choice([-1.5, 2e9, 1e-9])])
    return judgments, {docno: float(some_score())
                       for docno in chance.sample(names, chance.randint(1, len(names)))}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("seed", range(20))
def test_measures_agree_with_their_definitions(seed, release):
    chance = random.Random("%s %s" % (seed, release))
    for _ in range(12):
        judgments, scores = random_topic(chance)
        gains = {grade: chance.choice([-1.0, 0.0, 0.25, 0.5, 1.0, 3.0, 7.0])
                 for grade in chance.sample(range(4), chance.choice([0, 0, 2, 3]))}
        level, depth = chance.choice([0, 1, 1, 2, 3]), chance.choice([None, None, 0, 1, 5, 20])
        judged_only, size, p = chance.random() < 0.3, chance.randint(0, 1000), chance.choice([0.5, 0.8, 0.95])
        expected = by_definition(judgments, scores, release, level, depth, judged_only, size, gains, p)
        found = evaluate({"t": judgments}, {"t": scores}, map(request, expected), release=release,
                         depth=depth, relevance_level=level, judged_only=judged_only, collection_size=size)
        assert found.topics["t"] == expected
        assert found.summary == {name: value for name, value in expected.items() if name != "relstring"}


def test_definitions_cover_the_measures_of_trec_eval():
    """Another measure need not be there; to have it compared, add a definition to `by_definition`."""
    names = by_definition({"a": 1}, {"a": 1.0}, "10.0", 1, None, False, 0, {}, 0.9)
    measures = {request(name).partition(".")[0] for name in names}
    of_trec_eval = {*NICKNAMES["all_trec"], "yaap", "dcg", "ideal_dcg"}
    assert of_trec_eval - measures == {"runid", "num_q", "gm_map", "gm_bpref"}


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("release", RELEASES)
def test_summaries_agree_with_their_definitions(release, complete):
    chance = random.Random(release)
    topics = {str(number): random_topic(chance) for number in (9, 10, 100, 2, 35, 77)}
    qrels = {topic: judgments for topic, (judgments, _) in topics.items()}
    qrels["missing"] = {"a": 2, "b": 1, "c": -1}
    run = {topic: scores for topic, (_, scores) in topics.items()}
    values = evaluate(qrels, run, ["all_trec"], release=release, complete=complete, relevance_level=2)
    evaluated = sorted(qrels if complete and release == "10.0" else run)
    assert list(values.topics) == evaluated
    count = len(qrels) if complete else len(run)
    for name, value in values.summary.items():
        per_topic = [values.topics[topic].get(name) for topic in evaluated]
        if name == "num_q":
            assert value == count
        elif name == "num_rel" and complete:
            assert value == sum(grade > 0 for judgments in qrels.values() for grade in judgments.values())
        elif name.startswith("num_"):
            assert value == sum(per_topic)
        elif name.startswith("gm_"):
            of = [values.topics[topic][name[3:]] for topic in evaluated] + [0.0] * (count - len(evaluated))
            assert math.isclose(value, math.exp(sum(math.log(max(x, 0.00001)) for x in of) / count))
        else:
            assert value == add(per_topic) / count


# ---- Requests: names, parameters, nicknames ----


@pytest.mark.parametrize("name", ["P", "recall", "success", "ndcg_cut", "map_cut", "relative_P", "unj"])
def test_cutoffs_after_an_at_sign(name):
    """They are columns of their own, as typed and in the order typed, after those of trec_eval."""
    directory = FIXTURES / "graded"
    dots = printed(score(directory, "-qm", f"{name}.7,3"))
    ats = printed(score(directory, "-qm", f"{name}@7,3", "-m", "map", "-m", f"{name}@3"))
    for topic, values in ats.items():
        assert list(values) == ["map", f"{name}@7", f"{name}@3"]
        assert [values[f"{name}@{k}"] for k in (3, 7)] == [dots[topic][f"{name}_{k}"] for k in (3, 7)]


@pytest.mark.parametrize("requests, names", [
    (["P.5", "P.10"], ["P_5"]),                                     # the first parameters count
    (["ndcg.1=3", "map", "ndcg.1=5"], ["map", "ndcg_1=3"]),
    (["P.23.4,7.9"], ["P_7", "P_23"]),
    (["iprec_at_recall..10,.20"], ["iprec_at_recall_0.10", "iprec_at_recall_0.20"]),
    (["Rprec_mult.1.5,.25"], ["Rprec_mult_0.25", "Rprec_mult_1.50"]),
    (["11pt_avg..25,.5,.75"], ["11pt_avg_.25,.5,.75"]),
    (["utility.2,-1,0,0"], ["utility_2,-1,0,0"]),
    (["iprec_at_recall.0.5x"], ["iprec_at_recall_0.50"]), (["set_F.2x"], ["set_F_2x"]),  # read as C does
    (["set_F.0.5"], ["set_F_0.5"]), (["set_F.1,2"], ["set_F_1,2"]),
    (["ndcg.1=3,2=9"], ["ndcg_1=3,2=9"]), (["ndcg.x=3,2=9"], ["ndcg_x=3,2=9"]),
    (["rbp.p=0.8,1=0.5,2=1"], ["rbp_p=0.8,1=0.5,2=1"]), (["rbp_resid.p=0.5"], ["rbp_resid_p=0.5"]),
    (["map.3"], ["map"]), (["recip_rank", "map", "num_q", "map"], ["num_q", "map", "recip_rank"]),
])
def test_printed_names(requests, names):
    directory = FIXTURES / "graded"
    options = [word for request in requests for word in ("-m", request)]
    assert list(printed(score(directory, *options))["all"]) == names


def test_ignored_parameters_do_not_change_values():
    directory = FIXTURES / "graded"

    def values(*options):
        return [line.split("\t")[1:] for line in score(directory, "-q", *options).decode().splitlines()]
    assert score(directory, "-m", "official.5,10") == score(directory, "-m", "official")
    assert values("-m", "map.3") == values("-m", "map")
    assert values("-m", "set_F.2,5") == values("-m", "set_F.2") != values("-m", "set_F")
    assert values("-m", "ndcg.x=3,2=9") == values("-m", "ndcg.2=9") != values("-m", "ndcg")
    assert values("-m", "rbp_resid.p=0.5,1=7") == values("-m", "rbp_resid.p=0.5") != values("-m", "rbp_resid")


def test_given_parameters_replace_those_of_a_nickname():
    names = printed(score(FIXTURES / "worked", "-m", "P.5", "-m", "official"))["all"]
    assert [name for name in names if name.startswith("P_")] == ["P_5"] and "map" in names


def test_evaluate_merges_parameters():
    judgments, scores = ranked([2, 7], 12, 1)
    values = evaluate({"1": judgments}, {"1": scores},
                      ["P.10", "map", "P.5", "P.5,7", "ndcg.1=3", "ndcg.1=5"]).summary
    assert values == {"map": (1 / 2 + 2 / 7) / 3, "P_5": 0.2, "P_7": 2 / 7, "P_10": 0.2,
                      "ndcg_1=3": values["ndcg_1=3"], "ndcg_1=5": values["ndcg_1=5"]}
    assert [name for name in values if name.startswith("P_")] == ["P_5", "P_7", "P_10"]
    assert math.isclose(values["ndcg_1=3"], values["ndcg_1=5"])


def test_evaluate_warns_of_ignored_parameters():
    with pytest.warns(TrecEvalWarning, match="^measure map: ignored parameters: '3'$") as caught:
        evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["map.3"])
    assert caught[0].filename == __file__


@pytest.mark.parametrize("measures", [[1], [None], [b"map"]])
def test_measures_that_are_no_strings(measures):
    for evaluate_them in (lambda: evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, measures),
                          lambda: evaluate_files(["1 0 a 1"], ["1 Q0 a 1 1 tag"], measures)):
        with pytest.raises(TypeError, match="^expected strings as measures, found %r$" % measures[0]):
            evaluate_them()


def test_nicknames_name_measures():
    assert {"official", "set", "all_trec"} <= set(NICKNAMES)
    for members in NICKNAMES.values():
        assert set(members) <= set(MEASURES) and len(set(members)) == len(members)


def test_levels_in_any_order():
    judgments, scores = ranked([1, 4, 9], 10, 2)
    values = evaluate({"1": judgments}, {"1": scores},
                      ["11pt_avg..75,.25,.5", "iprec_at_recall..75,.25,.5"]).summary
    assert list(values)[:3] == ["iprec_at_recall_0.25", "iprec_at_recall_0.50", "iprec_at_recall_0.75"]
    assert values.pop("11pt_avg_.75,.25,.5") == add(list(values.values())[::-1]) / 3


# ---- Names of other tools ----


OTHER_NAMES = [  # a name, the request of trec_eval's that means the same, and settings
    ("AP", "map", {}), ("AP@5", "map_cut.5", {}), ("MAP@3", "map_cut.3", {}), ("map@3", "map_cut.3", {}),
    ("map_at_10", "map_cut.10", {}), ("nDCG", "ndcg", {}), ("nDCG@10", "ndcg_cut.10", {}),
    ("NDCG@1", "ndcg_cut.1", {}), ("ndcg@10", "ndcg_cut.10", {}), ("ndcg_at_10", "ndcg_cut.10", {}),
    ("P@5", "P.5", {}), ("p@5", "P.5", {}), ("Precision@5", "P.5", {}), ("precision@5", "P.5", {}),
    ("R@10", "recall.10", {}), ("recall@10", "recall.10", {}), ("recall_at_1000", "recall.1000", {}),
    ("RR", "recip_rank", {}), ("MRR", "recip_rank", {}), ("mrr", "recip_rank", {}),
    ("RR@2", "recip_rank", {"depth": 2}), ("MRR@2", "recip_rank", {"depth": 2}),
    ("mrr@2", "recip_rank", {"depth": 2}),
    ("RR(rel=2)@2", "recip_rank", {"depth": 2, "relevance_level": 2}),
    ("RPrec", "Rprec", {}), ("Bpref", "bpref", {}), ("BPref", "bpref", {}), ("infap", "infAP", {}),
    ("IPrec@0.1", "iprec_at_recall.0.1", {}), ("iprec_at_recall@0.1", "iprec_at_recall.0.1", {}),
    ("Success@5", "success.5", {}), ("hit_rate@5", "success.5", {}),
    ("hit@10", "success.10", {}), ("RBP", "rbp.p=0.8", {}), ("RBP(p=0.5)", "rbp.p=0.5", {}),
    ("RBP@2", "rbp.p=0.8", {"depth": 2}), ("rbp@2", "rbp", {"depth": 2}),
    ("RBP(p=0.5,cutoff=2)", "rbp.p=0.5", {"depth": 2}),
    ("SetP", "set_P", {}), ("SetRelP", "set_relative_P", {}), ("SetP(relative=True)", "set_relative_P", {}),
    ("SetR", "set_recall", {}), ("SetF", "set_F", {}), ("SetAP", "set_map", {}),
    ("NumQ", "num_q", {}), ("NumRet", "num_ret", {}), ("NumRel", "num_rel", {}),
    ("NumRelRet", "num_rel_ret", {}),
    ("NumRet(rel=2)", "num_rel_ret", {"relevance_level": 2}
     ), ("NumRel(rel=2)", "num_rel", {"relevance_level": 2}),
    ("P(rel=2)@5", "P.5", {"relevance_level": 2}), ("R(rel=2)@1000", "recall.1000", {"relevance_level": 2}),
    ("AP(rel=2)", "map", {"relevance_level": 2}), ("AP(rel=2)@100", "map_cut.100", {"relevance_level": 2}),
    ("Bpref(rel=2)", "bpref", {"relevance_level": 2}), ("infAP(rel=2)", "infAP", {"relevance_level": 2}),
    ("AP(judged_only=True)", "map", {"judged_only": True}), ("nDCG(judged_only=True)@2", "ndcg_cut.2",
                                                             {"judged_only": True}),
    ("nDCG(dcg='exp-log2')", "ndcg.1=1,2=3", {}), ("nDCG(gains={1:1,2:3})", "ndcg.1=1,2=3", {}),
    ("nDCG(gains={1: 0.5, 2: 3}, judged_only=True)", "ndcg.1=0.5,2=3", {"judged_only": True}),
]


@pytest.mark.parametrize("name, request_of_trec_eval, settings",
                         OTHER_NAMES, ids=[row[0] for row in OTHER_NAMES])
def test_name_of_another_tool(name, request_of_trec_eval, settings, tmp_path):
    """It is reported as typed, and has the value of the measure that it means."""
    qrels = {"1": {"a": 1, "b": 0, "c": 2, "e": 2}, "2": {"a": 1, "f": -1}}
    run = {"1": {"b": 2.0, "d": 1.5, "a": 1.0, "c": 0.5}, "2": {"x": 2.0, "a": 1.0, "f": 0.5}}
    expected = evaluate(qrels, run, [request_of_trec_eval], **settings)
    found = evaluate(qrels, run, ["num_rel_ret", name])
    assert [list(values.values())[1:] for values in found.topics.values()] \
        == [list(values.values()) for values in expected.topics.values()]
    assert list(found.summary.items())[1:] == [(name, *expected.summary.values())]
    evaluator = trec_eval_ref.RelevanceEvaluator(qrels, [name], release="10.0")
    assert [list(values) for values in evaluator.evaluate(run).values()] == [[name], [name]]
    write(tmp_path, qrels, run)
    assert list(printed(score(tmp_path, "-m", "bpref", "-m", name, "-m", "map"))
                ["all"]) == ["map", "bpref", name]
    assert list(json.loads(score(tmp_path, "--json", "-m", name))["summary"]) == [name]


def test_names_of_other_tools_are_explained():
    judgments, scores = {"a": 1, "b": 2, "c": 1}, {"a": 3.0, "b": 2.0, "c": 1.0}
    explanation, = trec_eval_ref.explain({"1": judgments}, {"1": scores}, ["AP(rel=2)"])["1"]
    assert (explanation.value, explanation.value.ranks) == (0.5, [2])
    assert trec_eval_ref.explanation_lines(explanation)[-1] == "  AP(rel=2) = 0.5000 / 1 = 0.5000"


def test_a_topic_is_ranked_once_whatever_the_settings_of_columns():
    with mock.patch.object(trec_eval_ref, "_rank", wraps=trec_eval_ref._rank) as rank:
        evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, [
                 "RR@1", "AP(rel=2)", "P(judged_only=True)@5", "map", "RBP(rel=1)"])
    assert rank.call_count == 1


def test_levels_of_columns_do_not_disturb_each_other():
    qrels, run = {"1": {"a": 1, "b": 2}}, {"1": {"a": 2.0, "b": 1.0}}
    names = ["P@1", "P(rel=2)@1", "RR@1", "RR(rel=2)@1", "RR(rel=2)", "AP(rel=1)"]
    assert evaluate(qrels, run, names, relevance_level=2).summary == {
        "P@1": 0.0, "P(rel=2)@1": 0.0, "RR@1": 0.0, "RR(rel=2)@1": 0.0, "RR(rel=2)": 0.5, "AP(rel=1)": 1.0}


def test_depth_of_a_name_is_within_that_of_the_run():
    qrels, run = {"1": {"c": 1}}, {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}
    assert evaluate(qrels, run, ["RR@3", "RR@2"], depth=2).summary == {"RR@3": 0.0, "RR@2": 0.0}
    assert evaluate(qrels, run, ["RR@3", "RR@2"]).summary == {"RR@3": 1 / 3, "RR@2": 0.0}


def test_names_of_our_own_exist_under_both_releases():
    for release in RELEASES:
        values = evaluate({"1": {"a": 1}}, {"1": {"a": 2.0, "b": 1.0}}, [
                          "Judged@5", "RBP(rel=1)", "Judged.5"], release=release).summary
        assert list(values) == ["Judged_5", "Judged@5", "RBP(rel=1)"] and values["Judged@5"] == 0.5


def test_rbp_with_a_level_has_binary_gains():
    qrels, run = {"1": {"a": 1, "b": 3}}, {"1": {"a": 2.0, "b": 1.0}}
    values = evaluate(qrels, run, ["RBP(p=0.5,rel=1)", "RBP(p=0.5,rel=2)", "RBP(p=0.5)"]).summary
    assert values == {"RBP(p=0.5,rel=1)": 0.75, "RBP(p=0.5,rel=2)": 0.25, "RBP(p=0.5)": 0.5 * (1 / 3 + 0.5)}


@pytest.mark.parametrize("name, value", [("RR", 1 / 2), ("RBP", 0.2 * 0.8), ("AP", 1 / 2), ("P", 1 / 2)])
def test_unjudged_documents_are_removed_before_a_cutoff_counts(name, value):
    qrels, run = {"1": {"a": 0, "b": 1}}, {"1": {"x": 5.0, "y": 4.0, "a": 3.0, "b": 2.0}}
    named = f"{name}(judged_only=True)@2"
    assert evaluate(qrels, run, [named]).summary == pytest.approx({named: value}, rel=1e-15)
    found = evaluate(qrels, run, [f"{name}@2"], judged_only=True).summary
    assert found == pytest.approx({f"{name}@2": value}, rel=1e-15)
    assert evaluate(qrels, run, [named], depth=3).summary == {named: 0.0}  # -M counts before
    explanation, = trec_eval_ref.explain(qrels, run, [named])["1"]
    assert explanation.value == pytest.approx(value)


def test_values_of_ir_measures():
    """Recorded from ir_measures, which follows trec_eval 9.0.8; its exp-log2 has five digits."""
    compared = 0
    for line in (FIXTURES / "ir_measures.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        values = evaluate(case["qrels"], case["run"], case["values"], release="9.0.8").topics
        for name, by_topic in case["values"].items():
            for topic, value in by_topic.items():
                assert values[topic][name] == pytest.approx(
                    value, abs=1e-5 if "exp-log2" in name else 1e-9, rel=0), name
                compared += 1
    assert compared == 1512


@pytest.mark.parametrize("name", ["RBP(p={})", "P(rel=-{})@5", "nDCG(gains={{1:{}}})", "AP(judged_only={})"])
def test_integers_that_python_does_not_print(name):
    with pytest.raises(TrecEvalError, match="expected .*, found "):
        evaluate({"1": {"a": 1}}, {"1": {"a": 1}}, [name.format("0x" + 4000 * "f")])


GAINS = "expected gains={grade: gain} with grades from 0, each once, and numbers as gains"
NO_NAMES = [  # a name that means nothing, and the message
    ("alpha_nDCG@20", "unknown measure 'alpha_nDCG@20'; trec_eval has nothing like it; "
     "ir_measures knows programs that do"),
    ("nERR@20", "unknown measure 'nERR@20'; trec_eval has nothing like it; "
                "ir_measures knows programs that do"),
    ("RBO", "unknown measure 'RBO'; trec_eval has nothing like it; ir_measures knows programs that do"),
    ("nDCG(dcg='burges')@10", "measure nDCG(dcg='burges')@10: expected dcg='log2' or dcg='exp-log2', "
     "found 'burges'"),
    ("nDCG(dcg='exp-log2',gains={1:2})",
     "measure nDCG(dcg='exp-log2',gains={1:2}): expected either gains or dcg='exp-log2'"),
    ("nDCG(rel=2)@10", "measure nDCG(rel=2)@10: expected no rel=, which means nothing here"),
    ("nDCG(gains={-1:1})", f"measure nDCG(gains={{-1:1}}): {GAINS}, found {{-1: 1}}"),
    ("nDCG(gains={1:1,1:3})", f"measure nDCG(gains={{1:1,1:3}}): {GAINS}, found {{1:1,1:3}}"),
    ("nDCG(gains={1:nan})", f"measure nDCG(gains={{1:nan}}): {GAINS}, found {{1:nan}}"),
    ("SetF(beta=2)", "measure SetF(beta=2): expected no beta=: the parameter of set_F is its square, "
     "so that F2 is set_F.4"),
    ("P(rel=x)@5", "measure P(rel=x)@5: expected an integer from 0 as rel, found x"),
    ("P(2)@5", "measure P(2)@5: expected arguments such as rel=2 in the parentheses, found '2'"),
    ("AP(judged_only=true)", "measure AP(judged_only=true): expected judged_only=True or judged_only=False, "
                             "found true"),
    ("RBP(p=nan)", "measure RBP(p=nan): expected a decimal from 0 to 1 as p, found nan"),
    ("P(rel=1or 2)@5", "measure P(rel=1or 2)@5: expected an integer from 0 as rel, found 1or 2"),
    ("P(rel=1.5)@5", "measure P(rel=1.5)@5: expected an integer from 0 as rel, found 1.5"),
    ("RBP(p=2)", "measure RBP(p=2): expected a decimal from 0 to 1 as p, found 2"),
    ("R", "measure R: expected a cutoff, such as R@10"),
    ("Rprec@10", "measure Rprec@10: expected no cutoff, because Rprec takes none"),
    ("P@", "measure P@: expected an integer above 0 as cutoff, found ''"),
    ("P@0", "measure P@0: expected an integer above 0 as cutoff, found '0'"),
    ("P@5 10", "measure P@5 10: expected an integer above 0 as cutoff, found '5 10'"),
    ("P@5;10", "measure P@5;10: expected an integer above 0 as cutoff, found '5;10'"),
    ("P@10x", "measure P@10x: expected an integer above 0 as cutoff, found '10x'"),
    ("P@05", "measure P@05: expected a cutoff that does not begin with 0, found '05'"),
    ("P@1000000000000000000", "measure P@1000000000000000000: expected a cutoff of 18 digits at most, "
                              "found '1000000000000000000'"),
    ("IPrec@x", "measure IPrec@x: expected a recall from 0 to 1 as level, found 'x'"),
    ("IPrec@50", "measure IPrec@50: expected a recall from 0 to 1 as level, found '50'"),
    ("iprec_at_recall@1.5", "measure iprec_at_recall@1.5: expected a recall from 0 to 1 as level, "
                            "found '1.5'"),
    ("Rprec_mult@-1", "measure Rprec_mult@-1: expected a decimal from 0 as level, found '-1'"),
    ("Rprec_mult@1" + 101 * "0", "measure Rprec_mult@1" + 101 * "0" + ": expected a decimal from 0 as level, "
                                 "found '1" + 76 * "0" + "...'"),
    ("IPrec", "measure IPrec: expected a level, such as IPrec@0.5"),
    ("nDCG(gains={[]:1})", f"measure nDCG(gains={{[]:1}}): {GAINS}, found {{[]:1}}"),
    ("P(rel=2,rel=3)@5", "measure P(rel=2,rel=3)@5: expected rel= once, found it again"),
    ("P(**{'rel':2})@5", "measure P(**{'rel':2})@5: expected arguments such as rel=2 in the parentheses, "
                         "found \"**{'rel':2}\""),
    ("P(rel=2)(rel=3)@5", "unknown measure 'P(rel=2)(rel=3)@5'"),
    ("P(rel=2)#)@5", "unknown measure 'P(rel=2)#)@5'"),
    ("P(rel=2\n)@5", "unknown measure 'P(rel=2\\n)@5'; did you mean 'P(rel=2)@5'?"),
    ("P(cutoff=5)@10", "measure P(cutoff=5)@10: expected one cutoff, found two"),
    ("AP(judged_only=1)", "measure AP(judged_only=1): expected judged_only=True or judged_only=False, "
                          "found 1"),
    ("SetP(relative='no')", "measure SetP(relative='no'): expected relative=True or relative=False, "
                            "found 'no'"),
    ("RBP(p=True)", "measure RBP(p=True): expected a decimal from 0 to 1 as p, found True"),
    ("nDCG(gains={1:True})", f"measure nDCG(gains={{1:True}}): {GAINS}, found {{1: True}}"),
    ("P (rel=2)@5", "unknown measure 'P (rel=2)@5'; did you mean 'P(rel=2)@5'?"),
    ("DCG@10", "unknown measure 'DCG@10'; did you mean ndcg@10?"),
    ("P[5]", "unknown measure 'P[5]'; did you mean P@5?"),
    ("f1@10", "unknown measure 'f1@10'"),
    ("recip_rank@10", "unknown measure 'recip_rank@10': recip_rank takes no cutoff; did you mean RR@10?"),
    ("recip_rank_10", "unknown measure 'recip_rank_10': recip_rank takes no cutoff; did you mean RR@10?"),
    ("map_10", "unknown measure 'map_10': map takes no cutoff; did you mean map_cut.10?"),
    ("ndcg_10", "unknown measure 'ndcg_10': ndcg takes no cutoff; did you mean ndcg_cut.10?"),
    ("ndcg.10", "measure ndcg: expected gains: grade=gain for grades from 0, such as 1=0.5,2=3, found '10'; "
     "did you mean ndcg_cut.10?"),
    ("bpref_5", "unknown measure 'bpref_5': bpref takes no cutoff"),
    ("nDCG@10 MAP", "expected one measure, found 'nDCG@10 MAP'; ask for each of them by itself: "
                    "nDCG@10 and MAP"),
    ("nDCG (dcg='exp-log2')@5", "unknown measure \"nDCG (dcg='exp-log2')@5\"; "
                                "did you mean \"ndcg(dcg='exp-log2')@5\"?"),
    ("map,P(rel=2)@5", "expected one measure, found 'map,P(rel=2)@5'; ask for each of them by itself: "
                       "map and 'P(rel=2)@5'"),
    ("P(rel=2)", "measure P(rel=2): expected a cutoff, such as 'P(rel=2)@10'"),
    ("recip_rank_cut.10", "unknown measure 'recip_rank_cut.10'; did you mean RR@10?"),
    ("F1", "unknown measure 'F1'; did you mean set_F?"),
    ("F2", "unknown measure 'F2'; did you mean set_F.4?"),
    ("all", "unknown measure 'all'; did you mean all_trec?"),
    ("all_qrels", "unknown measure 'all_qrels'; did you mean all_trec?"),
    ("recall_cap@10", "unknown measure 'recall_cap@10'; did you mean relative_P@10?"),
    ("nDGC@10", "unknown measure 'nDGC@10'; did you mean ndcg@10?"),
    ("nDCG10", "unknown measure 'nDCG10'; did you mean ndcg@10?"),
    ("mapp", "unknown measure 'mapp'; did you mean map?"),
    ("xyz", "unknown measure 'xyz'"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name, message", NO_NAMES, ids=[row[0] for row in NO_NAMES])
def test_name_that_means_nothing(name, message, tmp_path):
    qrels, run = {"1": {"a": 1}}, {"1": {"a": 1.0}}
    with pytest.raises(TrecEvalError) as caught:
        evaluate(qrels, run, [name])
    assert str(caught.value) == message
    result = run_main(["-m", name, "qrels.txt", "run.txt"], write(tmp_path, qrels, run))
    status = 2 if message.startswith("measure ") else 1
    assert (result.status, result.out, result.err) == (status, b"", f"trec_eval_ref: {message}\n")


HINTS = [row for row in NO_NAMES if re.search("did you mean|by itself|(cutoff|level), such as", row[1])]


@pytest.mark.parametrize("name, message", HINTS, ids=[row[0] for row in HINTS])
def test_what_a_message_suggests_works(name, message):
    suggested = re.search(r"(?:did you mean|by itself:|(?:cutoff|level), such as) (.*?)\??$", message)[1]
    options = [f"-m{word}" for word in shlex.split(suggested.replace(" and ", " "))]  # as a shell does
    result = run_main([*options, "qrels.txt", "run.txt"], FIXTURES / "graded")
    assert (result.status, result.err) == (0, "") and result.out


@pytest.mark.parametrize("request_, name, warning", [
    ("P.1e3", "P_1", "'1e3' is read as 1"), ("P.5.10", "P_5", "'5.10' is read as 5"),
    ("P.5;10", "P_5", "'5;10' is read as 5"), ("ndcg_cut.1=3", "ndcg_cut_1", "'1=3' is read as 1"),
    ("iprec_at_recall.0.1x", "iprec_at_recall_0.10", "'0.1x' is read as 0.1"),
    ("relstring.12.9", None, "'12.9' is read as 12"),
    ("utility.1x,0,0,0", "utility_1x,0,0,0", "'1x' is read as 1"),
    ("ndcg.1=2x", "ndcg_1=2x", "'2x' is read as 2"), ("set_F.1,2", "set_F_1,2", "ignored parameters: '2'"),
    ("rbp_resid.p=0.5,1=7", "rbp_resid_p=0.5,1=7", "ignored parameters: '1=7'"),
    ("iprec_at_recall.50", "iprec_at_recall_50.00", "expected recall levels from 0 to 1, found 50"),
    ("11pt_avg.1.5,0.5", "11pt_avg_1.5,0.5", "expected recall levels from 0 to 1, found 1.5"),
    ("iprec_at_recall.1.0000001", "iprec_at_recall_1.00",
     "expected recall levels from 0 to 1, found 1.0000001"),
])
def test_parameters_that_are_read_in_another_way_than_they_look(request_, name, warning):
    measure = request_.partition(".")[0]
    result = run_main(["-m", request_, "qrels.txt", "run.txt"], FIXTURES / "graded")
    assert result.err == f"trec_eval_ref: warning: measure {measure}: {warning}\n"
    assert list(printed(result.out).get("all", {})) == ([name] if name else [])
    assert run_main(["--strict", "-m", request_, "qrels.txt", "run.txt"], FIXTURES / "graded").status == 2


@pytest.mark.parametrize("request_", [
    "P.5,10", "P. 5, 10", " recall.100", "relstring.1e1", "relstring.7.", "P_10", "iprec_at_recall_0.10",
    "iprec_at_recall.0,1.0", "Rprec_mult.1.5",
    "utility_1,-1,0,0", "rbp_p=0.8", "ndcg.1=2,3=4", "11pt_avg_.25,.5,1", "P@5", "nDCG(gains={1: 1, 2: 3})@5",
])
def test_parameters_that_are_read_as_they_look(request_):
    result = run_main(["-m", request_, "qrels.txt", "run.txt"], FIXTURES / "worked")
    assert (result.status, result.err) == (0, "")


def test_gains_of_any_name_in_the_older_release():
    qrels, run = {"1": {"a": 1, "b": 2}}, {"1": {"a": 2.0, "b": 1.0}}
    for request_, read_as in (("ndcg.1x=4", "ndcg.1=4"), ("ndcg.p=5", "ndcg.0=5")):
        with pytest.warns(TrecEvalWarning, match="is read as [01]$"):
            value, = evaluate(qrels, run, [request_], release="9.0.8").summary.values()
        assert [value] == list(evaluate(qrels, run, [read_as], release="9.0.8").summary.values())
        with pytest.warns(TrecEvalWarning, match="ignored parameters"):
            evaluate(qrels, run, [request_])


@pytest.mark.parametrize("parameters", ["-1=5", "1=2=3", "1", "1=2,1=3"])
def test_gains_that_are_refused(parameters):
    with pytest.raises(TrecEvalError, match="^measure G: expected gains: grade=gain for grades") as caught:
        evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["G." + parameters])
    assert caught.value.status == 2


def test_levels_that_print_alike_are_columns_of_their_own():
    request_ = "iprec_at_recall.0.124,0.123"
    lines = score(FIXTURES / "worked", "-m", request_).decode().splitlines()
    assert [line.split()[0] for line in lines] == ["iprec_at_recall_0.12"] * 2
    assert len(json.loads(score(FIXTURES / "worked", "--json", "-m", request_))["summary"]) == 1
    evaluator = trec_eval_ref.RelevanceEvaluator({"1": {"a": 1}}, [request_])
    assert list(evaluator.evaluate({"1": {"a": 1.0}})["1"]) == ["iprec_at_recall_0.12"]


# ---- Ranking and judging ----


def test_topics_are_evaluated_in_byte_order(tmp_path):
    topics = ["9", "10", "a", "B", "é", "~", "100"]
    write(tmp_path, {topic: {"a": 1} for topic in topics}, {topic: {"a": 1.0} for topic in reversed(topics)})
    lines = score(tmp_path, "-q", "-n", "-m", "map").decode().splitlines()
    assert [line.split("\t")[1] for line in lines] == ["10", "100", "9", "B", "a", "~", "é"]


def test_equal_scores_are_ranked_by_descending_docno():
    names = ["B", "a", "b", "é", "~", "10", "9"]
    for wanted, rank in [("é", 1), ("~", 2), ("b", 3), ("a", 4), ("B", 5), ("9", 6), ("10", 7)]:
        assert list(judge({wanted: 1}, {name: 1.5 for name in names}).grades) == [rank]


def test_ranks_in_the_run_are_ignored(tmp_path):
    write(tmp_path, "1 0 a 1\n", "1 Q0 b 1 1.0 t\n1 Q0 a 2 2.0 t\n")
    assert printed(score(tmp_path, "-m", "recip_rank"))["all"]["recip_rank"] == "1.0000"


@pytest.mark.parametrize("scores", [{"a": 2 ** 53 + 1, "b": 2 ** 53}, {"a": 2.0, "b": 2},
                                    {"a": True, "b": 1.0}])
def test_judge_compares_scores_as_doubles(scores):
    assert judge({"a": 1}, scores).grades == {2: 1}  # tied, and b is the greater docno
    assert judge_prefs({"ann": {"page 1": [("a", 2), ("b", 1)]}}, scores).docnos == ["a", "b"]


def test_tied_docnos_of_the_same_bytes():
    docnos = ["\ud800", "\udced\udca0\udc80"]
    assert len(judge(dict.fromkeys(docnos, 1), dict.fromkeys(docnos, 1.0)).grades) == 2


def test_a_measure_of_one_topic():
    topic = judge({"a": 1, "b": 0, "c": 2, "d": -1}, {"a": 1.0, "b": 2.0, "d": 3.0, "x": 4.0},
                  relevance_level=1)
    assert topic.num_ret == 4 and topic.num_rel == 2 and topic.relevant_ranks == [4]
    assert MEASURES["map"].function(topic) == trec_eval_ref.average_precision(topic) == 1 / 4 / 2
    assert trec_eval_ref.precision(topic, 5) == 1 / 5
    assert trec_eval_ref.relevance_string(topic, 10) == "-.01"
    assert judge({"a": 1}, {"a": 1.0, "b": 2.0}, judged_only=True).relevant_ranks == [1]
    assert judge({"a": 1}, {"a": 1.0, "b": 2.0}, depth=1).relevant_ranks == []
    assert judge({"a": 1}, {"a": 1.0, "b": 1.0 + 1e-9}, release="9.0.8").relevant_ranks == [2]


@pytest.mark.parametrize("ranks, unretrieved, gains", [
    ("10000010-1.0000001", "1", {1: 0.3}), ("2-0-1-1-1", "", {1: 0.1, 2: 7.7}),
    ("0001001", "", {1: 2.0 ** 53}), ("10020001", "", {1: 2.0 ** 54, 2: 3.7}),
    ("0001", "", {1: 2.0 ** 53}), ("0001", "", {1: 2.0 ** 53 - 2}), ("0001", "", {1: 2.0 ** 53 - 3}),
])
def test_g_adds_the_costs_one_by_one(ranks, unretrieved, gains):
    topic = trec_eval_ref.example_ranking(ranks, unretrieved)
    grades = sorted((int(grade) for grade in ranks + unretrieved if grade.isdigit()), reverse=True)
    ideal = [gain for gain in sorted((gains.get(grade, grade) for grade in grades), reverse=True) if gain > 0]
    cost = gained = value = 0.0
    for i, character in enumerate(ranks):
        cost += max(ideal[i], 1.0) if i < len(ideal) else 1.0
        gain = gains.get(int(character), int(character)) if character.isdigit() else 0
        if gain:
            gained += gain
            value += gain / math.log2(max(2 + cost - gained, 1.5))
    assert trec_eval_ref.normalised_g(topic, gains) == value / functools.reduce(operator.add, ideal)


@pytest.mark.parametrize("ranks, gains, value", [("101", {2: 2.0}, 0.3125), ("3", {3: 1.0}, 0.25)])
def test_rbp_scales_by_grades_that_do_not_occur(ranks, gains, value):
    topic = trec_eval_ref.example_ranking(ranks)
    assert trec_eval_ref.rank_biased_precision(topic, 0.5, gains) == value


@pytest.mark.parametrize("judgments, scores, error, message", [
    ({"a": 1}, {"a": "x"}, TypeError, "the topic, document 'a': expected a number as score, found 'x'"),
    ({"a": 1}, {"a": math.nan}, TrecEvalError,
     "the topic, document 'a': expected a number as score, found nan"),
    ({"a": 0.5}, {"a": 1}, TypeError,
     "the topic, document 'a': expected an integer of 64 bits as grade, found 0.5"),
    ({"a": 1}, ["a"], TypeError, "the topic: expected a dict {docno: score}, found list"),
])
def test_what_judge_refuses(judgments, scores, error, message):
    with pytest.raises(error, match="^%s$" % re.escape(message)):
        judge(judgments, scores)


def test_judge_refuses_a_negative_depth():
    with pytest.raises(TrecEvalError, match="^expected a depth from 0, found -1$"):
        judge({"a": 1}, {"a": 1.0}, depth=-1)


# ---- The two releases ----


@pytest.mark.parametrize("a, b", [(1000.00002, 1000.00001), (0.1 + 1e-10, 0.1), (2e39, 1e39),
                                  (16777217, 16777216)])
def test_scores_that_agree_in_32_bits_are_ties_in_the_older_release(a, b):
    def recip_rank(release, **scores):
        return evaluate({"1": {"a": 1}}, {"1": scores}, ["recip_rank"], release=release).summary["recip_rank"]
    assert recip_rank("10.0", a=a, b=b) == 1.0
    assert recip_rank("9.0.8", a=a, b=b) == 0.5
    assert recip_rank("9.0.8", a=a, b=-b) == 1.0


@pytest.mark.parametrize("level, newer, older", [
    (0.4, 1.0, 2 / 3),   # of R = 3: 1.2 is 1 to the nearest, 2 upwards
    (0.5, 2 / 3, 2 / 3),  # 1.5 is 2 in both
    (0.02, 1.0, 1.0),
    (0.75, 2 / 3, 0.6),
])
def test_recall_levels_become_counts(level, newer, older):
    judgments, scores = ranked([1, 3, 5], 6)
    for release, expected in (("10.0", newer), ("9.0.8", older)):
        for measure in ("iprec_at_recall.%g" % level, "11pt_avg.%g" % level):
            values = evaluate({"1": judgments}, {"1": scores}, [measure], release=release).summary
            assert list(values.values()) == [expected]


@pytest.mark.parametrize("name", ["rbp", "rbp_resid", "unj", "dcg", "ideal_dcg"])
def test_measures_that_the_older_release_lacks(name):
    directory = FIXTURES / "worked"
    score(directory, "-m", name)
    result = run_main(["--release", "9.0.8", "-m", name, "qrels.txt", "run.txt"], directory)
    assert (result.status, result.out) == (1, b"") and "unknown measure '%s'" % name in result.err
    assert name in NICKNAMES["all_trec"] or name.endswith("dcg")
    lines = score(directory, "--release", "9.0.8", "-m", "all_trec").decode().splitlines()
    names = {line.split()[0] for line in lines}
    assert not any(printed_name.startswith(name + "_") or printed_name == name for printed_name in names)


@pytest.mark.parametrize("which", ["qrels", "run"])
def test_comments_are_lines_in_the_older_release(tmp_path, which):
    files = {"qrels": "1 0 a 1\n", "run": "1 Q0 a 1 1 t\n"}
    write(tmp_path, **dict(files, **{which: "# some comment\n#\n" + files[which]}))
    assert printed(score(tmp_path, "-m", "map"))["all"] == {"map": "1.0000"}
    result = run_main(["--release", "9.0.8", "qrels.txt", "run.txt"], tmp_path)
    assert result.status == 2 and "%s.txt:1: expected" % which in result.err


def test_a_topic_may_begin_with_a_number_sign_in_the_older_release(tmp_path):
    write(tmp_path, "#1 0 a 1\n2 0 a 1\n", "#1 Q0 a 1 1 t\n2 Q0 b 1 1 t\n")
    assert printed(score(tmp_path, "-m", "map"))["all"] == {"map": "0.0000"}
    assert printed(score(tmp_path, "-m", "map", "--release", "9.0.8"))["all"] == {"map": "0.5000"}


def test_comments_in_the_qrels_begin_with_the_first_byte(tmp_path):
    write(tmp_path, " #1 0 a 1\n2 0 a 1\n", "2 Q0 a 1 1 t\n  #1 Q0 a 1 1 t\n")
    assert printed(score(tmp_path, "-c", "-m", "num_q"))["all"] == {"num_q": "2"}


# ---- Where trec_eval fails: deliberate differences ----


def test_topics_missing_from_the_run_are_ignored(tmp_path):
    write(tmp_path, {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}, {"1": {"a": 1.0}})
    result = run_main(["-m", "num_q", "-m", "map", "qrels.txt", "run.txt"], tmp_path)
    assert printed(result.out)["all"] == {"num_q": "1", "map": "1.0000"}
    assert re.search(r"^trec_eval_ref: warning: .*\b2 of 3 topics.*'2'", result.err)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("option", [["-J"], ["-M", "0"]], ids=" ".join)
def test_an_empty_ranking_has_the_value_0(tmp_path, release, option):
    write(tmp_path, {"1": {"a": 1, "b": 0}}, {"1": {"c": 1.0}})
    values = printed(score(tmp_path, "-m", "all_trec", "-m", "yaap", "--release", release, *option))["all"]
    assert (values.pop("runid"), values.pop("num_q"), values.pop("num_rel")) == ("tag", "1", "1")
    assert values.pop("yaap") == "%.4f" % math.log(1 / 2)
    assert len(values) > 80 and set(values.values()) == {"0", "0.0000"}  # the geometric means are 0.00001


def test_relevant_documents_without_a_positive_gain():
    values = evaluate({"1": {"a": 0, "b": 0}}, {"1": {"a": 1.0}}, ["num_rel", "Rndcg", "ndcg"],
                      relevance_level=0)
    assert values.summary == {"num_rel": 2, "Rndcg": 0.0, "ndcg": 0.0}


@pytest.mark.parametrize("grades, parameters, expected", [
    ([1, 0, 1], "p=0.5", 0.5 * (1 + 0.25)),
    ([1, 0, 2], "p=0.5", 0.5 * (0.5 + 0.25)),                # gains of 0 to 2 become 0, 1/2 and 1
    ([4, -1, 2], "p=0.5", 0.5 * (1 + 0.5 * 0.25)),
    ([1, 2, 0], "p=0.5,1=0.5,2=1", 0.5 * (0.5 + 0.5)),
    ([1, 2, 0], "p=0.5,1=0.5,2=1,9=2", 0.5 * (0.25 + 0.25)),  # grade 9 does not occur, but counts
    ([1, 0, 0], "p=0.5,0=-1", 0.5 * (1 + 0 + 0)),            # from -1 to 1: grade 0 becomes 0
    ([1, 0, 0], "0=-1,1=0,p=0.5", 0.5 * 1),
])
def test_rank_biased_precision_of_grades_above_1(grades, parameters, expected):
    docnos = "abcdefgh"
    run = {docno: -float(rank) for rank, docno in enumerate(docnos[:len(grades)])}
    values = evaluate({"1": dict(zip(docnos, grades))}, {"1": run}, ["rbp." + parameters]).summary
    assert values == {"rbp_" + parameters: expected}


def test_gains_that_differ_by_less_than_1_are_sorted():
    qrels, run = {"1": {"a": 1, "b": 2}}, {"1": {"b": 2.0, "a": 1.0}}
    values = evaluate(qrels, run, ["ndcg.1=0.5,2=0.9", "ideal_dcg.1=0.5,2=0.9"]).summary
    assert values == {"ndcg_1=0.5,2=0.9": 1.0, "ideal_dcg_1=0.5,2=0.9": 0.9 + 0.5 / math.log2(3)}


def test_each_measure_has_its_own_gains():
    qrels, run = {"1": {"a": 1, "b": 2}}, {"1": {"a": 2.0}}
    values = evaluate(qrels, run, ["dcg.1=3", "ideal_dcg.1=1,2=8", "ndcg"]).summary
    ideal = 2 + 1 / math.log2(3)
    assert values == {"dcg_1=3": 3.0, "ideal_dcg_1=1,2=8": 8 + 1 / math.log2(3), "ndcg": 1 / ideal}
    values = evaluate(qrels, run, ["dcg", "ndcg.1=3"]).summary
    assert values == {"dcg": 1.0, "ndcg_1=3": 3 / (3 + 2 / math.log2(3))}


def test_a_topic_without_judged_documents():
    qrels = {"1": {"a": 1, "b": 0}, "2": {"a": -1, "b": -2}}
    run = {"1": {"a": 1.0}, "2": {"a": 1.0, "b": 0.5}}
    values = evaluate(qrels, run, ["num_rel", "map", "bpref", "unj.5", "ndcg", "rbp"]).topics["2"]
    assert values == {"num_rel": 0, "map": 0.0, "bpref": 0.0, "ndcg": 0.0, "rbp": 0.0, "unj_5": 0.4}


# ---- Evaluating ----


def test_evaluate_takes_the_official_measures_by_default():
    qrels, run = {"1": {"a": 1}}, {"1": {"a": 1}}
    assert evaluate(qrels, run) == evaluate(qrels, run, ("official",)) == evaluate(qrels, run, "official")
    assert evaluate(qrels, run).summary["map"] == 1.0
    assert type(evaluate(qrels, run).topics) is type(evaluate(qrels, run).summary) is dict


SETTINGS = [dict(release=release, relevance_level=level, complete=complete, judged_only=judged_only,
                 depth=depth)
            for release, level, complete, judged_only, depth in itertools.product(
                RELEASES, (1, 2), (False, True), (False, True), (None, 5))]


def test_evaluate_changes_nothing_and_keeps_nothing():
    qrels, run = read_qrels(FIXTURES / "sampled" / "qrels.txt"), read_run(FIXTURES / "sampled" / "run.txt")
    qrels["missing"] = {"a": 1}
    measures = ["all_trec", "P.7"]
    before = copy.deepcopy((qrels, run, measures, NICKNAMES, list(MEASURES)))
    first = [evaluate(qrels, run, measures, **settings) for settings in SETTINGS]
    assert (qrels, run, measures, NICKNAMES, list(MEASURES)) == before
    assert [evaluate(qrels, run, measures, **settings) for settings in reversed(SETTINGS)] == first[::-1]
    assert len({repr(values) for values in first}) == len(SETTINGS)


def test_evaluate_in_threads():
    qrels, run = read_qrels(FIXTURES / "sampled" / "qrels.txt"), read_run(FIXTURES / "sampled" / "run.txt")
    expected = [evaluate(qrels, run, ["all_trec"], **settings) for settings in SETTINGS]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda settings: evaluate(qrels, run, ["all_trec"], **settings), SETTINGS * 2)
        assert list(found) == expected * 2


def test_evaluate_takes_integers_of_other_types():
    class Grade:
        def __index__(self):
            return 2
    assert evaluate({"1": {"a": Grade(), "b": True}}, {"1": {"a": 1, "b": 2}}, ["relstring"]).topics == {
        "1": {"relstring": "12"}}


@pytest.mark.parametrize("keywords, measures, message", [
    ({}, ["mapp"], "did you mean map"), ({}, ["P.0"], "expected cutoffs"),
    ({"release": "8"}, ["map"], "release"), ({"release": "9.0.8"}, ["rbp"], "unknown measure"),
])
def test_evaluate_raises_value_errors(keywords, measures, message):
    with pytest.raises(TrecEvalError, match=message):
        evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, measures, **keywords)


def test_evaluate_refuses_what_cannot_be_ranked():
    for qrels, run in (({"1": {"a": 1}}, {"2": {"a": 1.0}}), ({}, {}),
                       ({"1": {"a": 1}}, {"1": {"a": math.nan}})):
        with pytest.raises(TrecEvalError):
            evaluate(qrels, run)


@pytest.mark.parametrize("keywords, message", [
    (dict(depth=-1), "expected a depth from 0, found -1"),
    (dict(rel_format="trec"),
     "expected a format of judgments, one of qrels, qrels_jg, prefs, qrels_prefs, found 'trec'"),
    (dict(release="8"), "expected a release, one of 10.0, 9.0.8, found '8'"),
    (dict(run={"1": {"a": math.nan}}), "topic '1', document 'a': expected a number as score, found nan"),
])
def test_settings_and_numbers_that_evaluate_refuses(keywords, message):
    arguments = {"qrels": {"1": {"a": 1}}, "run": {"1": {"a": 1.0}}, "measures": ["map"], **keywords}
    with pytest.raises(TrecEvalError, match="^%s$" % re.escape(message)):
        evaluate(**arguments)


@pytest.mark.parametrize("qrels, run, message", [
    ([("1", "a", 1)], {"1": {"a": 1.0}}, "expected a dict of dicts as qrels, found list"),
    ({"1": {"a": 1}}, ["1"], "expected a dict of dicts as run, found list"),
    ({1: {"a": 1}}, {"1": {"a": 1.0}}, "expected strings as topics, found 1"),
    ({"1": {"a": 0.5}}, {"1": {"a": 1.0}},
     "topic '1', document 'a': expected an integer of 64 bits as grade, found 0.5"),
    ({"1": {"a": "1"}}, {"1": {"a": 1.0}},
     "topic '1', document 'a': expected an integer of 64 bits as grade, found '1'"),
    ({"1": {"a": 1}}, {"1": {"a": "3.0"}},
     "topic '1', document 'a': expected a number as score, found '3.0'"),
    ({"1": {"a": 1}}, {"1": {2: 3.0}}, "topic '1': expected strings as docnos, found 2"),
    ({"1": {"a": 1}}, {"1": ["a"]}, "topic '1': expected a dict {docno: score}, found list"),
])
def test_types_that_evaluate_refuses(qrels, run, message):
    with pytest.raises(TypeError, match="^%s$" % re.escape(message)):
        evaluate(qrels, run, ["map"])


@pytest.mark.parametrize("topic", [1, None, b"1"])
def test_topics_of_a_run_that_are_no_strings(topic):
    with pytest.raises(TypeError, match="^expected strings as topics, found %r$" % topic):
        evaluate({"1": {"a": 1}}, {topic: {"a": 1.0}}, ["map"])


def test_settings_that_are_unknown():
    qrels, run = {"1": {"a": 1}}, {"1": {"a": 1.0}}
    with pytest.raises(TypeError, match="^got an unexpected keyword argument 'zscores'$"):
        compare(qrels, {"one": run}, ["map"], zscores={})
    for function in trec_eval_ref.explain, evaluate_files:
        with pytest.raises(TypeError, match="^got an unexpected keyword argument 'level'$"):
            function(qrels, run, ["map"], level=2)


@pytest.mark.parametrize("keywords", [dict(relevance_level=1.5), dict(depth="1"), dict(collection_size=None)])
def test_settings_that_are_no_integers(keywords):
    message = "^expected integers as relevance_level, depth and collection_size, found "
    with pytest.raises(TypeError, match=message):
        evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["map"], **keywords)
    with pytest.raises(TypeError, match=message):
        judge({"a": 1}, {"a": 1.0}, **keywords)


@pytest.mark.parametrize("keyword", ["relevance_level", "depth", "collection_size"])
def test_settings_of_more_than_64_bits(keyword):
    with pytest.raises(TrecEvalError, match="^expected integers of 64 bits as relevance_level, depth and"):
        evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["utility.1,0,0,1"], **{keyword: 10 ** 400})


@pytest.mark.parametrize("grade", [-2 ** 63 - 1, 2 ** 63, 10 ** 400])
@pytest.mark.parametrize("rel_format", ["qrels", "qrels_jg"])
def test_grades_beyond_64_bits(grade, rel_format):
    judgments = {"a": 1, "b": grade}
    qrels = {"1": judgments if rel_format == "qrels" else {"ann": judgments}}
    message = "topic '1', document 'b': expected an integer of 64 bits as grade, found %d" % grade
    with pytest.raises(TrecEvalError, match="^%s$" % message):
        evaluate(qrels, {"1": {"a": 1.0}}, ["num_q"], rel_format=rel_format)


def test_grades_of_64_bits():
    scores = {"a": 3.0, "b": 2.0, "c": 1.0}
    values = evaluate({"1": {"a": -2 ** 63, "b": 1, "c": 2 ** 63 - 1}}, {"1": scores}, ["all_trec"])
    assert values.summary["ndcg"] == (1 / math.log2(3) + 2.0 ** 63 / 2) / (2.0 ** 63 + 1 / math.log2(3))


@pytest.mark.parametrize("rel_format", ["qrels_jg", "prefs", "qrels_prefs"])
def test_judgments_of_another_format(rel_format):
    with pytest.raises(TypeError, match="topic '1'"):
        evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["num_q"], rel_format=rel_format)


class Truncated:
    """A number that int() takes, but that is no integer."""

    def __int__(self):
        return 1


def test_grades_are_never_truncated():
    with pytest.raises(TypeError, match="expected an integer of 64 bits as grade"):
        evaluate({"1": {"a": Truncated()}}, {"1": {"a": 1.0}}, ["num_rel"])


def test_cutoffs_are_printed_in_ascending_order_whatever_the_defaults():
    parameters = trec_eval_ref.cutoffs(10, 5)
    with mock.patch.dict(MEASURES, P=MEASURES["P"]._replace(parameters=parameters)):
        assert list(evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["P"]).summary) == ["P_5", "P_10"]


@pytest.mark.parametrize("name", ["map", "P.5", ""])
def test_names_that_a_new_measure_cannot_have(name):
    with pytest.raises(ValueError, match="expected a new name"):
        trec_eval_ref.measure(name)(len)


DOUBTFUL = [  # what, qrels, run, measures, message or None
    ("all scores equal", {str(t): {"a": 1, "b": 0} for t in range(3)},
     {str(t): {"a": 1.0, "b": 1.0} for t in range(3)},
     ["map"], "run: all documents have the same score, in each of 3 topics; the order of docnos decides"),
    ("all scores equal, but order plays no part", {str(t): {"a": 1} for t in range(3)},
     {str(t): {"a": 1.0, "b": 1.0} for t in range(3)}, ["set_P", "num_ret"], None),
    ("all scores equal, and no cut", {str(t): {"a": 1} for t in range(3)},
     {str(t): {"a": 1.0, "b": 1.0} for t in range(3)}, ["P.2", "recall.5", "success.2"], None),
    ("all scores equal, and a cut", {str(t): {"a": 1} for t in range(3)},
     {str(t): {"a": 1.0, "b": 1.0} for t in range(3)}, ["P.2", "recall.1"],
     "run: all documents have the same score, in each of 3 topics; the order of docnos decides"),
    ("two topics of equal scores", {str(t): {"a": 1} for t in range(2)},
     {str(t): {"a": 1.0, "b": 1.0} for t in range(2)}, ["map"], None),
    ("topics of one document", {str(t): {"a": 1} for t in range(5)}, {str(t): {"a": 1.0} for t in range(5)},
     ["map"], None),
    ("one topic of other scores", {str(t): {"a": 1} for t in range(4)},
     {str(t): {"a": 1.0, "b": float(t == 3)} for t in range(4)}, ["map"], None),
    ("docnos that match nowhere", {"1": {"D1-40": 1}, "2": {"D2": 1}}, {"1": {"d1-40": 1.0}},
     ["map"],
     "run: none of its documents is judged, in 1 topic; it has 'd1-40', and the judgments have 'D1-40': "
     "are docnos spelt alike?"),
    ("docnos that match in another topic", {"1": {"a": 1}, "2": {"b": 1}}, {"1": {"b": 1.0}}, ["map"], None),
    ("ten topics without a match", {str(t): {f"a{t}": 1, "b": 0} for t in range(11)},
     {str(t): {f"a{t + 1}": 1.0} for t in range(11) if t != 3},
     ["map"], "run: none of its documents is judged, in 10 topics; it has 'a1', and the judgments have 'a0': "
     "are docnos spelt alike?"),
    ("nine topics without a match", {str(t): {f"a{t}": 1, "b": 0} for t in range(11)},
     {str(t): {f"a{t + 1}": 1.0} for t in range(9)}, ["map"], None),
    ("a weak run", {str(t): {f"a{t}": 1} for t in range(20)},
     {str(t): {"x": 1.0, **({"a7": 0.5} if t == 7 else {})} for t in range(20)}, ["map"], None),
    ("pooled but not judged", {"1": {"a": -1, "b": 1}}, {"1": {"a": 1.0}}, ["map"], None),
    ("an empty ranking", {"1": {"a": 1}}, {"1": {}}, ["map"], None),
]


@pytest.mark.parametrize("qrels, run, measures, message", named(DOUBTFUL))
def test_runs_that_can_hardly_be_meant(qrels, run, measures, message, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate(qrels, run, measures)
    assert [str(warning.message) for warning in caught] == ([message] if message else [])
    assert all(warning.category is TrecEvalWarning and warning.filename == __file__ for warning in caught)
    if not all(run.values()):
        return
    options = [word for measure in measures for word in ("-m", measure)]
    result = run_main([*options, "qrels.txt", "run.txt"], write(tmp_path, qrels, run))
    lines = [line for line in result.err.splitlines() if "have no results" not in line]
    assert lines == ([f"trec_eval_ref: warning: run.txt{message[3:]}"] if message else [])
    strict = run_main(["--strict", "-c", *options, "qrels.txt", "run.txt"], tmp_path)
    assert (result.status, strict.status) == (0, 2 if message else 0)


def test_equal_scores_matter_where_the_ranking_is_cut():
    qrels, run = {str(t): {"a": 1} for t in range(3)}, {str(t): {"a": 1.0, "b": 1.0} for t in range(3)}
    with pytest.warns(TrecEvalWarning, match="the order of docnos decides"):
        evaluate(qrels, run, ["set_P"], depth=1)


@pytest.mark.filterwarnings("error")
def test_the_drop_in_never_warns_of_runs():
    qrels, run = {str(t): {"a": 1} for t in range(3)}, {str(t): {"x": 1.0, "y": 1.0} for t in range(3)}
    assert trec_eval_ref.RelevanceEvaluator(qrels, ["map"]).evaluate(run)["1"] == {"map": 0.0}


@pytest.mark.parametrize("rel_format, qrels", [
    ("qrels_jg", {"1": {"ann": {"A": 1}}}), ("prefs", {"1": {"ann": {"s": [("A", 1), ("B", 0)]}}}),
    ("qrels_prefs", {"1": {"ann": {"A": 1, "B": 0}}})])
def test_docnos_of_other_formats_are_compared(rel_format, qrels):
    measure = "map_avgjg" if rel_format == "qrels_jg" else "prefs_simp"
    with pytest.warns(TrecEvalWarning, match="it has 'a', and the judgments have 'A'"):
        evaluate(qrels, {"1": {"a": 1.0}}, [measure], rel_format=rel_format)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(qrels, {"1": {"A": 1.0, "x": 0.5}}, [measure], rel_format=rel_format)


class DataFrame:
    """Stands for that of pandas."""


@pytest.mark.parametrize("qrels, run, message", [
    ("qrels.txt", "run.txt",
     "expected a dict of dicts as qrels, found str; for files there is evaluate_files"),
    ({"1": {"a": 1}}, Path("run.txt"),
     "expected a dict of dicts as run, found PosixPath; for files there is evaluate_files"),
    (DataFrame(), {}, "expected a dict of dicts as qrels, found DataFrame; make one by "
     "{t: dict(zip(g.docno, g.score)) for t, g in frame.groupby('topic')}"),
    ({"1": {"a": 2.5}}, {"1": {"a": 1}},
     "topic '1', document 'a': expected an integer of 64 bits as grade, found 2.5; "
     "are qrels and run the wrong way round?"),
    ({"1": {"a": 2.5}}, {"1": {"a": 1.5}},
     "topic '1', document 'a': expected an integer of 64 bits as grade, found 2.5"),
])
def test_what_to_do_instead(qrels, run, message):
    with pytest.raises(TypeError) as caught:
        evaluate(qrels, run, ["map"])
    assert str(caught.value).replace("WindowsPath", "PosixPath") == message


def test_grades_that_are_whole_floats():
    """As pandas makes them; pytrec_eval refuses them, and so does its interface here."""
    assert evaluate({"1": {"a": 1.0, "b": 2}}, {"1": {"a": 1.0}}, ["num_rel", "relstring"]).topics == {
        "1": {"num_rel": 2, "relstring": "1"}}
    with pytest.raises(TypeError, match="expected an integer of 64 bits as grade, found 1.0$"):
        trec_eval_ref.RelevanceEvaluator({"1": {"a": 1.0}}, ["map"])


def test_values_of_topics_that_look_alike_are_computed_once():
    """The same grades at the same ranks, the same counts and the same length give the same values."""
    calls = []
    counting = MEASURES["map"]._replace(function=lambda topic: calls.append(topic) or 0.5)
    qrels = {str(t): {f"a{t}": 1, f"b{t}": 0} for t in range(20)}
    run = {str(t): {f"a{t}": 2.0, f"x{t}": 1.0} for t in range(20)}
    run["3"]["y3"] = 0.5                                     # longer
    run["4"] = {"a4": 1.0, "x4": 2.0}                        # another rank
    qrels["5"]["a5"] = 2                                     # another grade
    qrels["6"]["c6"] = 1                                     # another relevant document, not retrieved
    with mock.patch.dict(MEASURES, map=counting):
        result = evaluate(qrels, run, ["map", "num_ret"])
    assert len(calls) == 5 and result.topics["3"] == {"num_ret": 3, "map": 0.5}
    values = evaluate(qrels, run, ["all_trec"]).topics
    for topic in qrels:
        assert evaluate({topic: qrels[topic]}, {topic: run[topic]},
                        ["all_trec"]).topics[topic] == values[topic]


def test_patterns_that_are_known_are_bounded():
    with mock.patch.object(trec_eval_ref, "_MOST_PATTERNS", 2):
        qrels = {str(t): {"a": 1} for t in range(9)}
        run = {str(t): {"a": 1.0, **{f"x{i}": 2.0 for i in range(t % 4)}} for t in range(9)}
        values = evaluate(qrels, run, ["recip_rank"]).topics
    assert [values[topic]["recip_rank"] for topic in qrels] == [1 / (t % 4 + 1) for t in range(9)]


# ---- Z-scores ----


def zscores(directory, norms, *options):
    """The output with Z-scores by these norms; topic 1 has an AP of 1/2, and topic 2 of 1."""
    write(directory, {"1": {"a": 1, "b": 0}, "2": {"a": 1}, "3": {"a": 3}},
          {"1": {"b": 2, "a": 1, "c": 0}, "2": {"a": 1}})
    (directory / "norms").write_bytes(norms.encode())
    return run_main(["-q", *options, "-Z", "norms", "qrels.txt", "run.txt"], directory)


def test_zscores_by_hand(tmp_path):
    result = zscores(tmp_path, "1 map 0.25 0.1\n2 map 0.5 2\n1 num_ret 1 4\n\n# comment\n2 num_ret 2 0.5\n",
                     "-m", "map", "-m", "num_ret", "-m", "num_q")
    assert result.out.decode() == "".join("Z%-22s\t%s\t%s\n" % line for line in (
        ("num_ret", "1", "0.5000"), ("map", "1", "2.5000"), ("num_ret", "2", "-2.0000"),
        ("map", "2", "0.2500"),
        ("num_q", "all", "2.0000"), ("num_ret", "all", "-1.5000"), ("map", "all", "1.3750")))
    assert result.status == 0 and "missing" not in result.err


@pytest.mark.parametrize("form, rows", [
    ("markdown", b"| run | Zmap |\n| --- | ---: |\n| worked | 0.3406 |\n"),
    ("latex", b"run & Zmap \\\\\n\\midrule\nworked & 0.3406 \\\\\n")])
def test_zscores_in_a_table(form, rows):
    result = run_main(["-Z", "zscores.txt", "-m", "map", "--format", form, *FILES], FIXTURES / "worked")
    assert (result.status, result.err) == (0, "") and rows in result.out


def test_zscores_without_deviation(tmp_path):
    assert printed(zscores(tmp_path, "1 map 0.5 0\n2 map 0.5 0\n", "-m", "map").out) == {
        "1": {"Zmap": "0.0000"}, "2": {"Zmap": "-1000000.0000"}, "all": {"Zmap": "-500000.0000"}}


def test_zscores_without_a_line(tmp_path):
    result = zscores(tmp_path, "1 map 0.5 1\n2 P_5 0.2 0.1\n", "-m", "map", "-m", "P.5", "-M", "5")
    assert printed(result.out) == {"1": {"Zmap": "0.0000", "ZP_5": "-1000000.0000"},
                                   "2": {"Zmap": "-1000000.0000", "ZP_5": "0.0000"},
                                   "all": {"Zmap": "-500000.0000", "ZP_5": "-500000.0000"}}
    warnings = [line for line in result.err.splitlines() if "-1000000" in line]
    assert warnings == [
        "trec_eval_ref: warning: zscores: expected a line for each value, found none for topic '1', "
        "measure P_5, which becomes -1000000 (2 in all)"]
    assert zscores(tmp_path, "1 map 0.5 1\n", "--strict", "-m", "map").status == 2


@pytest.mark.parametrize("norms, message", named([
    ("three fields", "1 map 0 1\n1 P_5 1\n",
     "norms:2: expected 4 fields (topic measure mean deviation), found 3: '1 P_5 1' "
     "(topic '1', measure 'P_5', mean '1', no deviation)"),
    ("five fields", "1 map 0 1 2\n", "norms:1: expected 4 fields (topic measure mean deviation), found 5: "
     "'1 map 0 1 2'"),
    ("twice", "1 map 0 1\n2 map 0 1\n1 map 0 1\n",
     "norms:3: expected one line for each topic and measure, found 'map' of topic '1' again"),
    ("mean", "1 map x 1\n", "norms:1: expected a number as mean, found 'x'"),
    ("half a mean", "1 map 0.5x 1\n", "norms:1: expected a number as mean, found '0.5x'"),
    ("deviation", "1 map 0 nan\n", "norms:1: expected a number as deviation, found 'nan'"),
    ("infinite", "1 map inf 1\n",
     "norms:1: expected 0 or a number from 1e-100 to 1e100 as mean, found 'inf'"),
    ("underscores", "1 map 1_0 1\n", "norms:1: expected a number as mean, found '1_0'"),
    ("too small", "1 map 0 1e-320\n",
     "norms:1: expected 0 or a number from 1e-100 to 1e100 as deviation, found '1e-320'"),
    ("empty", "", "norms: expected lines of Z-score norms (topic measure mean deviation), found none"),
    ("comments", "# none\n\n",
     "norms: expected lines of Z-score norms (topic measure mean deviation), found none"),
]))
def test_zscores_that_cannot_be_read(tmp_path, norms, message):
    assert zscores(tmp_path, norms, "-m", "map") == Result(2, b"", "trec_eval_ref: %s\n" % message)


def test_zscores_that_are_not_there(tmp_path):
    write(tmp_path, {"1": {"a": 1}}, {"1": {"a": 1}})
    result = run_main(["-Z", "none", "qrels.txt", "run.txt"], tmp_path)
    assert (result.status, result.out) == (2, b"")
    assert result.err.startswith("trec_eval_ref: none: cannot be read")


def test_zscores_of_geometric_means(tmp_path):
    values = printed(zscores(tmp_path, "1 gm_map -0.5 2\n2 gm_map 0.25 0.5\n", "-m", "gm_map",
                             "--digits", "9").out)
    logarithms = (math.log(0.5) + 0.5) / 2, (0 - 0.25) / 0.5
    assert values == {"all": {"Zgm_map": "%.9f" % math.exp(sum(logarithms) / 2)}}


@pytest.mark.parametrize("mean, expected",
                         [("-1000", math.exp(709)), ("-1e100", math.exp(709)), ("1e100", 0.0)])
def test_zscores_beyond_the_end_of_the_doubles(mean, expected):
    norms = {topic: {"gm_map": (float(mean), 1.0), "map": (float(mean), 1e-100)} for topic in "12"}
    values = evaluate({"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1}, "2": {"a": 1}}, ["gm_map", "map"],
                      zscores=norms)
    assert values.summary["Zgm_map"] == expected
    assert math.isfinite(values.summary["Zmap"])


@pytest.mark.parametrize("norms, error, message", [
    ([], TypeError, "expected a dict of dicts as zscores, found list"),
    ({"1": 0.5}, TypeError, "expected a dict of dicts as zscores of topic '1', found float"),
    ({"1": {"map": 0.5}}, TypeError,
     "topic '1', measure 'map': expected a pair (mean, deviation), found 0.5"),
    ({"1": {"map": (1, 2, 3)}}, TypeError, "expected a pair (mean, deviation), found (1, 2, 3)"),
    ({"1": {"map": (0, 10 ** 400)}}, TrecEvalError, "as mean and as deviation, found (0, 1%s)" % ("0" * 400)),
    ({"1": {"map": b"\0" * 16}}, TypeError, "expected a pair (mean, deviation), found %r" % (b"\0" * 16)),
    ({1: {"map": (0, 1)}}, TypeError, "expected strings as topics, found 1"),
    ({"1": {"map": ("1", "2")}}, TypeError, "expected a pair (mean, deviation), found ('1', '2')"),
    ({"1": {"map": (math.nan, 1)}}, TrecEvalError,
     "from 1e-100 to 1e100 as mean and as deviation, found (nan, 1)"),
    ({"1": {"map": (0, math.inf)}}, TrecEvalError,
     "from 1e-100 to 1e100 as mean and as deviation, found (0, inf)"),
    ({"1": {"map": (0, 1e-300)}}, TrecEvalError,
     "from 1e-100 to 1e100 as mean and as deviation, found (0, 1e-300)"),
])
def test_zscores_that_evaluate_refuses(norms, error, message):
    for evaluate_with in (lambda: evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["map"], zscores=norms),
                          lambda: evaluate_files(["1 0 a 1"], ["1 Q0 a 1 1 tag"], ["map"], zscores=norms)):
        with pytest.raises(error, match="%s$" % re.escape(message)):
            evaluate_with()


@pytest.mark.parametrize("release", RELEASES)
def test_zscores_with_missing_topics(tmp_path, release):
    norms = "".join("%d %s 0.5 1\n" % (topic, name) for topic in (1, 2, 3)
                    for name in ("map", "num_rel", "gm_map"))
    values = printed(zscores(tmp_path, norms, *release_option(release), "-c", "-m", "num_q", "-m", "num_rel",
                             "-m", "map", "-m", "gm_map").out)
    assert list(values) == (["1", "2", "3", "all"] if release == "10.0" else ["1", "2", "all"])
    floor = math.log(0.00001)
    third, logarithm = (-0.5, floor - 0.5) if release == "10.0" else (0, floor)
    assert values["all"] == {"Znum_q": "3.0000", "Znum_rel": "3.0000",
                             "Zmap": "%.4f" % ((0 + 0.5 + third) / 3),
                             "Zgm_map": "%.4f" % math.exp((math.log(0.5) - 0.5 - 0.5 + logarithm) / 3)}


def test_zscores_leave_texts_alone(tmp_path):
    out = zscores(tmp_path, "1 relstring 1 1\n", "-m", "runid", "-m", "relstring").out
    assert out.decode() == "".join("%-22s\t%s\t%s\n" % line for line in (
        ("relstring", "1", "'01-'"), ("relstring", "2", "'1'"), ("runid", "all", "tag")))


def test_zscores_in_the_library(tmp_path):
    norms = trec_eval_ref.read_zscores(FIXTURES / "worked" / "zscores.txt")
    assert norms["2"]["recip_rank"] == (0.617, 0.25) and norms["1"]["num_ret"] == (10.0, 0.0)
    assert norms == trec_eval_ref.read_zscores((FIXTURES / "worked" / "zscores.txt").read_text().splitlines())
    with pytest.raises(TrecEvalError, match="zscores:1: expected a number"):
        trec_eval_ref.read_zscores(["1 map x 1"])
    qrels, run = read_qrels(FIXTURES / "worked" / "qrels.txt"), read_run(FIXTURES / "worked" / "run.txt")
    measures = ["map", "P.5", "num_ret", "num_q"]
    values = evaluate(qrels, run, measures, zscores=norms)
    plain = evaluate(qrels, run, measures)
    assert values.topics == {topic: {
        "Znum_ret": 0.0, "Zmap": (of_topic["map"] - norms[topic]["map"][0]) / 0.1,
        "ZP_5": (of_topic["P_5"] - norms[topic]["P_5"][0]) / 0.12}
        for topic, of_topic in plain.topics.items()}
    assert values.summary["Zmap"] == (values.topics["1"]["Zmap"] + values.topics["2"]["Zmap"]) / 2
    from_files = evaluate_files(FIXTURES / "worked" / "qrels.txt", FIXTURES / "worked" / "run.txt", measures,
                                zscores=norms)
    assert from_files == values
    out = run_main(["--json", "-q", *itertools.chain.from_iterable(("-m", measure) for measure in measures),
                    "-Z", "zscores.txt", "qrels.txt", "run.txt"], FIXTURES / "worked").out
    report = json.loads(out)
    assert (report["topics"], report["summary"]) == values


def test_missing_zscores_are_warned_of_in_the_library():
    with pytest.warns(TrecEvalWarning, match="-1000000"):
        values = evaluate_files(["1 0 a 1"], ["1 Q0 a 1 1 t"], ["map"], zscores={})
    assert values.summary == {"Zmap": -1000000.0}


# ---- Files ----


def test_fields_are_separated_by_ascii_white_space_alone(tmp_path):
    write(tmp_path, "\xa01\t0 \x0b\x0ca\u2003 1\r\n\n \t\r\n\xa01 0 b 0",
          "\xa01 Q0 a\u2003 1 1 t\r\n\r\n \xa01 Q0 b 2 2 t\x0c")
    assert printed(score(tmp_path, "-q", "-m", "recip_rank")) == {
        "\xa01": {"recip_rank": "0.5000"}, "all": {"recip_rank": "0.5000"}}


def test_names_need_not_be_valid_utf8(tmp_path):
    write(tmp_path, b"t\xff 0 a\xfe 1\n", b"t\xff Q0 a\xfe 1 1 tag\xc3\n")
    assert score(tmp_path, "-q", "-m", "runid", "-m", "map") == (
        b"map                   \tt\xff\t1.0000\nrunid                 \tall\ttag\xc3\n"
        b"map                   \tall\t1.0000\n")
    report = json.loads(score(tmp_path, "-q", "--json", "-m", "runid", "-m", "map"))
    assert report["topics"] == {"t\udcff": {"map": 1.0}} and report["summary"]["runid"] == "tag\udcc3"


@pytest.mark.parametrize("text, grade", [
    ("1", 1), ("+2", 2), ("-3", -3), ("1.7", 1), ("abc", 0), ("3x", 3), ("-", 0), ("00012", 12), ("1_0", 1),
    ("1e3", 1), ("9223372036854775807", 2 ** 63 - 1), ("9223372036854775808", 2 ** 63 - 1),
    ("-9223372036854775808", -2 ** 63), ("-9223372036854775809", -2 ** 63), ("-9" + 30 * "9", -2 ** 63),
])
def test_grades_are_read_as_atol_does(text, grade):
    with contextlib.nullcontext() if re.fullmatch("[+-]?[0-9]+", text) else pytest.warns(TrecEvalWarning):
        assert read_qrels(["1 0 a " + text]) == {"1": {"a": grade}}


@pytest.mark.parametrize("text, value, plain", [
    ("1e-3", 1e-3, True), ("-.5", -0.5, True), ("+2.5E-1", 0.25, True), ("07.0", 7.0, True),
    ("5.", 5.0, True),
    ("inf", math.inf, True), ("-inf", -math.inf, True), ("INFINITY", math.inf, True),
    ("1e400", math.inf, True),
    ("abc", 0.0, False), ("1d3", 1.0, False), ("1_0", 1.0, False), ("1.5e", 1.5, False), (".", 0.0, False),
    ("0x10", 16.0, False), ("0x1p9999", math.inf, False), ("-0x1p9999", -math.inf, False),
    ("infx", math.inf, False), ("\u0661", 0.0, False), ("--1", 0.0, False),
])
def test_scores_are_read_as_atof_does(text, value, plain):
    with contextlib.nullcontext() if plain else pytest.warns(TrecEvalWarning):
        assert read_run(["1 Q0 a 1 %s tag" % text]) == {"1": {"a": value}}


@pytest.mark.parametrize("last_lines, tag", [
    (b"2 Q0 a 1 1 last\n\n  \n", b"last"), (b"2 Q0 a 1 1 last extra", b"last"),
    (b"2 Q0 a 1 1 last\n # comment\n", b"last"),
])
def test_runid_is_the_last_tag(tmp_path, last_lines, tag):
    write(tmp_path, "1 0 a 1\n", b"1 Q0 a 1 1 first\n" + last_lines)
    assert score(tmp_path, "-m", "runid") == b"runid                 \tall\t%s\n" % tag


@pytest.mark.parametrize("qrels", [
    b"\n1 0 a 1\n\n \t\n1 0 b 0\n\n", b"# one\n# two\n1 0 a 1\n#\n#three\n1 0 b 0",
    b"\xef\xbb\xbf1 0 a 1\n1 0 b 0\n",
    b"\xef\xbb\xbf# comment\n1 0 a 1\n1 0 b 0\n",
], ids=["blank lines", "comments", "byte-order mark", "byte-order mark and comment"])
def test_lines_without_judgments_are_skipped(tmp_path, qrels):
    write(tmp_path, qrels, "1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n")
    assert printed(score(tmp_path, "-q", "-m", "map", "-m", "num_nonrel_judged_ret"))["1"] == {
        "map": "0.5000", "num_nonrel_judged_ret": "1"}


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress,
                                  lambda text: gzip.compress(text[:100]) + gzip.compress(text[100:])],
                         ids=["gzip", "bzip2", "xz", "gzip in two parts"])
@pytest.mark.parametrize("which", ["qrels.txt", "run.txt"])
def test_compressed_files_are_recognised_by_their_content(tmp_path, pack, which):
    for name in ("qrels.txt", "run.txt"):
        content = (ALL_TREC.directory / name).read_bytes()
        (tmp_path / name).write_bytes(pack(content) if name == which else content)
    assert run_main(ALL_TREC.arguments, tmp_path) == Result(0, ALL_TREC.expected, "")
    for read in (read_qrels,) if which == "qrels.txt" else (read_run,):
        with open(tmp_path / which, "rb") as file:
            assert read(file) == read(tmp_path / which) == read(ALL_TREC.directory / which)


def test_readers_take_paths_files_and_lines(tmp_path):
    expected_qrels = {"1": {"a": 1, "é": 0}, "2": {"a": -1}}
    expected_run = {"1": {"é": 2.5, "a": -1.0}, "2": {"a": 1e-3}}
    write(tmp_path, expected_qrels, expected_run)
    for name, read, expected in (("qrels.txt", read_qrels, expected_qrels),
                                 ("run.txt", read_run, expected_run)):
        path = tmp_path / name
        assert read(path) == read(str(path)) == read(os.fsencode(str(path))) == expected
        with open(path, encoding="utf-8") as text, open(path, "rb") as binary:
            assert read(text) == read(binary) == expected
        lines = path.read_text(encoding="utf-8").splitlines()
        assert read(lines) == read(iter(lines)) == read([line + "\n" for line in lines]) == expected
        assert read([line.encode() for line in lines]) == read(io.BytesIO(path.read_bytes())) == expected
        assert read(io.StringIO("\n".join(lines))) == expected
        assert all(type(key) is str for topic, documents in read(path).items() for key in (topic, *documents))


def test_open_files_that_are_no_io_classes(tmp_path):
    with tempfile.NamedTemporaryFile(dir=tmp_path) as file:
        file.write(gzip.compress(QRELS))
        file.seek(0)
        assert read_qrels(file) == {"1": {"a": 1, "b": 0}, "2": {"a": 1}}


@pytest.mark.parametrize("read", [read_run, read_qrels, read_prefs])
@pytest.mark.parametrize("line", [1, None, ["1", "Q0"]])
def test_lines_that_are_no_text(read, line):
    message = re.escape(f"expected lines of str or bytes, found {line!r}")
    with pytest.raises(TypeError, match=f"^{message}$"):
        read([line])


def test_readers_raise_value_errors():
    for read, line in ((read_qrels, "1 0 a"), (read_run, "1 Q0 a 1 1")):
        with pytest.raises(TrecEvalError, match=":1: expected [46] fields") as caught:
            read([line])
        assert isinstance(caught.value, ValueError) and caught.value.status == 2
    with pytest.raises(TrecEvalError, match="qrels:3: .*'a' of topic '1'.* line 1") as caught:
        read_qrels(["1 0 a 1", "2 0 a 1", "1 0 a 0"])
    assert caught.value.status == 4
    with pytest.raises(TrecEvalError, match="run:3: .*'a' of topic '1'.* line 1"):
        read_run(["1 Q0 a 1 1 t", "2 Q0 a 1 1 t", "1 Q0 a 1 1 t"])
    with pytest.raises(TrecEvalError, match="release"):
        read_qrels(["1 0 a 1"], release="8")
    with pytest.raises(TrecEvalError, match="expected 4 fields"):
        read_qrels(["# comment", "1 0 a 1"], release="9.0.8")


@pytest.mark.parametrize("read, line", [(read_qrels, "1 0 a x"), (read_qrels_jg,
                         "1 g a x"), (read_prefs, "1 g s a x"), (read_run, "1 Q0 a 1 x tag")])
def test_warnings_of_readers_name_the_line_that_called_them(read, line):
    with pytest.warns(TrecEvalWarning) as caught:
        read([line])
    assert [warning.filename for warning in caught] == [__file__]


SAME_QRELS = {  # by format, the judgments of QRELS
    "tsv": b"1\t0\ta\t1\n1\t0\tb\t0\r\n\n2\t0\t a \t1\n",
    "beir": b"query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t0\n2\ta\t1\n",
    "json": b'\xef\xbb\xbf {"1": {"a": 1, "b": 0},\n "2": {"a": 1}}',
}
SAME_RUNS = {  # by format, rankings like those of RUN
    "tsv": b"1\tQ0\ta\t1\t2.0\ttag\n1\tQ0\tb\t2\t1.0\ttag\tmore\n2\t\ta\t\t1.0\t\n",
    "msmarco": b"1\ta\t1\n1 b 2\n2\ta\t1\n",
    "json": b'{"1": {"a": 2, "b": 1.0}, "2": {"a": 1.0}, "9": {"a": 1}}',
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("qrels_format", ["qrels", *SAME_QRELS])
@pytest.mark.parametrize("run_format", ["trec_results", *SAME_RUNS])
def test_formats_of_other_tools(tmp_path, qrels_format, run_format, pack):
    qrels, run = pack(SAME_QRELS.get(qrels_format, QRELS)), pack(SAME_RUNS.get(run_format, RUN))
    measures = ["-m", "map", "-m", "num_rel_ret", "-m", "ndcg"]
    expected = score(write(tmp_path, QRELS, RUN), "-q", *measures)
    write(tmp_path, qrels, run)
    options = ["-q", "-R", qrels_format, "-T", run_format, *measures]
    assert score(tmp_path, *options) == expected
    assert run_main([*options, "qrels.txt", "-"], tmp_path, stdin=run) == Result(0, expected, "")
    assert read_qrels(tmp_path / "qrels.txt", rel_format=qrels_format) == read_qrels(QRELS.splitlines())
    scores = read_run(tmp_path / "run.txt", results_format=run_format)
    assert sorted(scores["1"], key=scores["1"].get) == ["b", "a"] and all(
        type(value) is float for value in scores["1"].values())
    settings = {"rel_format": qrels_format, "results_format": run_format}
    with working_in(tmp_path):
        summary = evaluate_files(*FILES, ["runid", "map"], **settings).summary
    assert summary.pop("map") == 1.0
    assert list(summary) == (["runid"] if run_format in ("trec_results", "tsv") else [])
    (tmp_path / "report.txt").write_bytes(b"map all 0.1234\n")
    audited = run_main(["--audit", "report.txt", *options[1:5], *FILES], tmp_path)
    program, *arguments = shlex.split(audited.out.decode().splitlines()[-1])  # what to see for this value
    assert (audited.status, audited.err, program) == (3, "", "trec_eval_ref")
    assert "map of topic 1" in run_main(arguments, tmp_path).out.decode()


def test_tabs_as_separators_keep_spaces_in_names(tmp_path):
    lines = [b"query one\tQ0\tdoc %d\t%d\t%d.5\tmy tag\n" % (i, i, -i) for i in range(9)]
    write(tmp_path, b"query one\t0\tdoc 3\t1\n", b"".join(lines))
    options = ["-R", "tsv", "-T", "tsv", "-q", "-m", "recip_rank", "-m", "runid"]
    assert printed(score(tmp_path, *options)) == {
        "query one": {"recip_rank": "0.2500"}, "all": {"recip_rank": "0.2500", "runid": "my tag"}}
    lines.insert(4, b"2\tQ0\tdoc 3\t1\t1\tt\n")  # so that the other topic comes back
    write(tmp_path, b"query one\t0\tdoc 3\t1\n2\t0\tdoc 3\t1\n", b"".join(lines))
    assert printed(score(tmp_path, *options))["query one"]["recip_rank"] == "0.2500"


def test_small_ranks_come_first_in_runs_of_ranks():
    run = read_run(["1 a 2", "1 b 10", "1 c 1"], results_format="msmarco")
    assert run == {"1": {"a": -2.0, "b": -10.0, "c": -1.0}}


def test_an_empty_ranking_in_json_is_evaluated_as_from_python(tmp_path):
    run = {"1": {}, "2": {"a": 1.0}}
    write(tmp_path, QRELS, json.dumps(run))
    assert printed(score(tmp_path, "-T", "json", "-m", "map"))["all"] == {"map": "0.5000"}
    assert evaluate(read_qrels(QRELS.splitlines()), run, ["map"]).summary == {"map": 0.5}


FORMAT_ERRORS = [  # what, reader, its format, content, message
    ("no JSON", read_run, "json", RUN, r"^run: expected JSON, \{topic: \{docno: score\}\}, found '1 Q0 a"),
    ("a list", read_run, "json", b'[{"1": {}}]', r"^run: expected JSON, .* found '\["),
    ("broken JSON", read_run, "json", b'{"1": {"a": 1}\n', r"^run: expected JSON, .* error: .* line 2"),
    ("deep JSON", read_run, "json", b'{"1": ' + b"[" * 100000, r"^run: expected JSON, .* error: "),
    ("no topic", read_run, "json", b"{}", r"^run: expected JSON, .* found no topic"),
    ("a topic twice", read_run, "json", b'{"1": {"a": 1}, "1": {"b": 1}}',
     r"^run: .* each topic once, found '1' again"),
    ("a docno twice", read_qrels, "json", b'{"1": {"b": 1, "a": 1, "a": 1}}',
     r"^qrels: topic '1': .* each docno once, found 'a' again"),
    ("NaN", read_run, "json", b'{"1": {"a": NaN}}',
     r"^run: topic '1', document 'a': expected a number as score, found nan"),
    ("lone surrogate", read_run, "json", b'{"1": {"\\ud800": 1}}',
     r"^run: topic '1': .* docno in UTF-8, found '\\ud800'"),
    ("no UTF-8", read_qrels, "json", b'{"\xe9": {"a": 1}}',
     r"^qrels: expected each topic in UTF-8, found '\\udce9'"),
    ("a line end in a name", read_qrels, "json", b'{"1": {"a\\n": 1}}',
     r"^qrels: topic '1': expected a docno in one line"),
    ("a text as score", read_run, "json", b'{"1": {"a": "1.0"}}',
     r"^run: topic '1', document 'a': .* found '1\.0'"),
    ("true as grade", read_qrels, "json", b'{"1": {"a": true}}',
     r"^qrels: topic '1', document 'a': .* found True"),
    ("null as grade", read_qrels, "json", b'{"1": {"a": null}}',
     r"^qrels: topic '1', document 'a': .* found None"),
    ("half a grade", read_qrels, "json", b'{"1": {"a": 1.5}}',
     r"^qrels: topic '1', document 'a': .* found 1\.5"),
    ("no documents", read_qrels, "json", b'{"1": 1}', r"^qrels: topic '1': expected an object .* found int"),
    ("no header", read_qrels, "beir", b"1\ta\t1\n",
     r"^qrels:1: expected the header query-id corpus-id score, .* '1 a 1'"),
    ("blanks", read_qrels, "beir", b"query-id corpus-id score\n",
     r"^qrels:1: expected 3 fields .* tabs .* found 1"),
    ("header alone", read_qrels, "beir", b"query-id\tcorpus-id\tscore\n",
     r"^qrels: expected lines .* found none"),
    ("twice", read_qrels, "beir", SAME_QRELS["beir"] + b"1\tb\t1\n",
     r"^qrels:5: .* 'b' of topic '1' again, first on line 3"),
    ("no docno", read_qrels, "tsv", b"1\t0\t\t1\n", r"^qrels:1: expected a topic and a docno, found none"),
    ("a rank that is a score", read_run, "msmarco", b"1 a 2.5\n",
     r"^run:1: expected an integer as rank, found '2\.5'"),
    ("twice in ranks", read_run, "msmarco", b"1 a 1\n1 a 2\n",
     r"^run:2: .* 'a' of topic '1' again, first on line 1"),
    ("six fields", read_run, "msmarco", RUN, r"^run:1: expected 3 fields \(topic docno rank\), found 6"),
    ("a name of a format", read_run, "qrels", RUN, r"^expected a format of results, .* found 'qrels'"),
    ("preferences", read_qrels, "prefs", QRELS,
     r"^expected a format of judgments, one of qrels, .* found 'prefs'"),
    # without the option
    ("JSON as run", read_run, None, b'{"1": {"a": 1, "b": 2, "c": 3}}',
     r"^run: .* found JSON; -T json reads JSON"),
    ("JSON as qrels", read_qrels, None, b'{\n"1": {"a": 1}}', r"^qrels: .* found JSON; -R json reads JSON"),
    ("BEIR", read_qrels, None, SAME_QRELS["beir"],
     r"^qrels:1: expected 4 fields .*; -R beir reads such lines"),
    ("MS MARCO", read_run, None, SAME_RUNS["msmarco"],
     r"^run:1: expected 6 fields .* found 3: .* "
     r"\(topic '1', Q0 'a', docno '1', no rank score tag\); -T msmarco"),
    ("three columns", read_qrels, None, b"1 a 1\n",
     r"^qrels:1: expected 4 fields .* found 3: '1 a 1' \(topic '1', iter 'a', docno '1', no grade\)$"),
    ("a docno with a space", read_qrels, None, b"1\t0\tmy doc\t1\n",
     r"^qrels:1: .* found 5: .*; -R tsv reads lines"),
]


@pytest.mark.parametrize("read, name, content, message", named(FORMAT_ERRORS))
def test_error_in_a_format(read, name, content, message):
    keyword = "rel_format" if read is read_qrels else "results_format"
    with pytest.raises(TrecEvalError, match=message):
        read(io.BytesIO(content), **({keyword: name} if name else {}))


class Frame(list):
    """As much of a data frame as is looked at."""

    def groupby(self, name):
        raise NotImplementedError(name)


def test_dicts_and_data_frames_are_no_files():
    with pytest.raises(TypeError, match="^qrels: expected a path, .* found a dict; evaluate takes dicts"):
        evaluate_files({"1": {"a": 1}}, ["1 Q0 a 1 1 t"])
    with pytest.raises(TypeError, match="^run: .* found a data frame; .*zip.*groupby"):
        evaluate_files(["1 0 a 1"], Frame(["topic"]))


def test_a_header_alone_in_its_block():
    content = b"query-id\tcorpus-id\tscore\n" + b"\n" * 20000 + b"1\ta\t1\n"
    assert read_qrels(io.BytesIO(content), rel_format="beir") == {"1": {"a": 1}}


LONG = trec_eval_ref._LONGEST_LINE


@pytest.mark.parametrize("before", [b"", b"1 Q0 b 1 1 t\n" * 3000])
def test_longest_line(before):
    line = b"1 Q0 a 1 1 t".ljust(LONG, b"x")
    before = before.replace(b" b ", b" %d ") % tuple(range(3000)) if before else b""
    assert "a" in read_run(io.BytesIO(before + line + b"\n1 Q0 c 1 1 t"))["1"]
    place = 1 + before.count(b"\n")
    for ending in (b"", b"\n", b"\n1 Q0 c 1 1 t\n"):
        message = rf"^run:{place}: expected at most 1 MiB .* found more: '1 Q0 a"
        with pytest.raises(TrecEvalError, match=message):
            read_run(io.BytesIO(before + line + b"x" + ending))


def test_a_file_that_unpacks_to_one_line(tmp_path):
    with gzip.open(tmp_path / "bomb", "wb", 1) as bomb:
        bomb.write(b'{"1": {"a')
        for _ in range(100):
            bomb.write(b"x" * (1 << 20))
    write(tmp_path, QRELS, RUN)
    message = "bomb:1: expected at most 1 MiB in a line, found more: .*; -R json and -T json read JSON"
    for arguments in (["bomb", "run.txt"], ["qrels.txt", "bomb"], ["-Z", "bomb", *FILES]):
        assert_error(run_main(arguments, tmp_path), 2, message)
    assert_error(run_main(["-T", "json", "qrels.txt", "bomb"], tmp_path), 2,
                 "bomb: expected JSON, .* Unterminated")
    with gzip.open(tmp_path / "report", "wb", 1) as report:
        report.write(b"x" * (2 << 20))
    assert_error(run_main(["--audit", "report", *FILES], tmp_path), 2, "report:1: expected at most 1 MiB")


def test_most_that_is_read_whole(tmp_path):
    write(tmp_path, QRELS, RUN)
    (tmp_path / "lines.txt").write_text("map 0.5\nmap 0.5\n")
    (tmp_path / "qrels.json").write_bytes(SAME_QRELS["json"])
    with mock.patch.object(trec_eval_ref, "_LARGEST_WHOLE", 10):
        for arguments in (["--audit", "lines.txt", *FILES], ["-R", "json", "qrels.json", "run.txt"]):
            message = r"(lines\.txt|qrels\.json).*: expected at most .*found more"
            assert_error(run_main(arguments, tmp_path), 2, message)


# ---- Runs and qrels that are not grouped by topic ----


def scattered(lines, fixed, seed):
    """The lines in another order, but for those whose places are fixed."""
    moving = [i for i in range(len(lines)) if i not in fixed]
    result = list(lines)
    for i, j in zip(moving, random.Random(seed).sample(moving, len(moving))):
        result[i] = lines[j]
    return result


def one_line_comes_back_late(lines, fixed, seed):
    """The first line moved almost to the end: a single topic that comes back there."""
    moving = [i for i in range(len(lines)) if i not in fixed]
    result = list(lines)
    for i, j in zip(moving, moving[1:] + moving[:1]):
        result[i] = lines[j]
    return result


DAMAGES = {  # changes to some lines of a run, by line number
    "nothing": {},
    "warnings": {3: b"t01 Q0 d2 3 abc tag", 704: b"t17 Q0 d703 704 1d3 tag", 705: b"t17 Q0 d704 705 x tag"},
    "duplicate": {411: b"t10 Q0 same 1 1 tag", 431: b"t10 Q0 same 1 1 tag"},
    "two duplicates": {431: b"t10 Q0 d 1 1 tag", 435: b"t10 Q0 d 1 1 tag",
                       1000: b"t24 Q0 d 1 1 tag", 1001: b"t24 Q0 d 1 1 tag"},
    "too few fields": {1000: b"t24 Q0 d 1"},
    "NaN": {900: b"t22 Q0 d 1 nan tag"},
    "NUL": {901: b"t22 Q0 \0 1 1 tag"},
    "blank lines and comments": {5: b"", 6: b"# comment", 890: b"  # comment", 1199: b""},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_run_that_is_not_grouped_by_topic(tmp_path, damage):
    lines = [b"t%02d Q0 d%d %d %d.5 tag" % (i // 40, i, i, i * 7919 % 100) for i in range(1200)]
    for number, line in DAMAGES[damage].items():
        lines[number - 1] = line
    lines[-1] = b"t29 Q0 d1199 1 1 last"
    fixed = {number - 1 for number in DAMAGES[damage]} | {len(lines) - 1}
    judged = range(0, 1160, 3)  # none of the last topic
    qrels = "".join(f"t{i // 40:02} 0 d{i} {i % 3}\n" for i in judged)
    write(tmp_path, qrels, b"\n".join(lines))
    command = ["-q", "-m", "official", *FILES]
    expected = run_main(command, tmp_path)
    assert expected.status == {"duplicate": 4, "two duplicates": 4, "too few fields": 2, "NaN": 2,
                               "NUL": 2}.get(damage, 0)
    places = {"warnings": ["3"], "duplicate": ["431"], "two duplicates": ["435"], "too few fields": ["1000"],
              "NaN": ["900"], "NUL": ["901"]}
    assert re.findall(r"run\.txt:([0-9]+):", expected.err) == places.get(damage, [])
    assert ("3 in all" in expected.err) == (damage == "warnings")
    assert (b"\nrunid                 \tall\tlast\n" in expected.out) == (expected.status == 0)
    for order in (scattered, one_line_comes_back_late):
        content = b"\n".join(order(lines, fixed, damage))
        assert sorted(content.split(b"\n")) == sorted(lines) and content != b"\n".join(lines)
        write(tmp_path, qrels, content)
        assert run_main(command, tmp_path) == expected
        (tmp_path / "run.txt").write_bytes(gzip.compress(content))
        assert run_main(command, tmp_path) == expected
        result = run_main(command[:-1] + ["-"], tmp_path, stdin=content)
        assert result == expected._replace(err=expected.err.replace("run.txt", "standard input"))


LINE_SHAPES = [  # of a run; %d is a number to tell docnos apart
    *["1 Q0 d%d 1 2.5 tag"] * 30, *["2 Q0 d%d 1 2.5 tag"] * 10, "3 Q0 d%d 1 2.5 other",
    " 1 Q0 d%d 1 2.5 tag", "\t1 Q0 d%d 1 2.5 tag ", "1  Q0 d%d 1 2.5 tag", "1\tQ0\td%d\t1\t2.5\ttag",
    "1 Q0 d%d 1 2.5 tag\r", "1 Q0 d%d\r9 1 2.5 tag", "1 Q0 d%d 1 2.5 tag 1", "1 Q0 d%d 1 2.5 tag x Q0 y 1",
    "1 Q0 d%d 1 2.5 tag x Q0 y 1 2",
    "1 Q0 d%d 1 2.5 tag x Q0 y 1 2.5 tag", "", " \t", "# 1 Q0 d%d 1", "\v1\fQ0 d%d 1 2.5 tag",
]
SHORT_LINES = ["1 Q0 d%d 1 2.5", " 1 Q0 d%d 1 2.5", "1 Q0 d%d 1 2.5 ", "1 Q0  d%d 2.5", "1 Q0 d%d", "1",
               "Q0 d%d 1 2.5 tag", " Q0 d%d 1 2.5 tag"]


@pytest.mark.parametrize("seed", range(40))
def test_lines_are_read_alike_in_any_company(seed):
    chance = random.Random(seed)
    for _ in range(50):
        shapes = chance.sample(LINE_SHAPES, 4) + chance.sample(SHORT_LINES, chance.choice((0, 0, 1, 2)))
        lines = [chance.choice(shapes).replace("%d", str(i)) for i in range(chance.randint(1, 12))]
        rows = [[] if line.startswith("#") else line.split() for line in lines]
        short = [number for number, row in enumerate(rows, start=1) if 0 < len(row) < 6]
        if short or not any(rows):
            place = "run:%d: expected 6 fields" % short[0] if short else "run: expected lines of results"
            with pytest.raises(TrecEvalError, match="^" + place):
                read_run(lines)
            continue
        expected = {}
        for row in filter(None, rows):
            expected.setdefault(row[0], {})[row[2]] = float(row[4])
        assert read_run(lines) == expected
        last = [row for row in rows if row][-1]
        qrels = ["%s 0 d 1" % topic for topic in expected]
        assert evaluate_files(qrels, lines, ["runid"]).summary == {"runid": last[5]}


@pytest.mark.parametrize("seed", range(10))
def test_topics_are_told_apart_in_blocks_of_any_size(seed):
    chance = random.Random(seed)
    for _ in range(10):
        topics = [topic for topic in chance.choices("AB", k=chance.randint(1, 4))
                  for _ in range(chance.randint(1, 8))]
        lines = [f"{topic} Q0 d{i} 1 {i}.5 t\n" for i, topic in enumerate(topics)]
        expected = {}
        for i, topic in enumerate(topics):
            expected.setdefault(topic, {})[f"d{i}"] = i + 0.5
        for size in (1, 40, 70, 1000):
            with mock.patch.object(trec_eval_ref, "_BLOCK_SIZE", size):
                assert read_run(io.BytesIO("".join(lines).encode())) == expected


def test_qrels_that_are_not_grouped_by_topic(tmp_path):
    for name in ("qrels.txt", "run.txt"):
        lines = (ALL_TREC.directory / name).read_bytes().splitlines()
        (tmp_path / name).write_bytes(b"\n".join(scattered(lines[:-1], set(), name) + lines[-1:]))
    assert run_main(ALL_TREC.arguments, tmp_path) == Result(0, ALL_TREC.expected, "")


# ---- Errors: one line, an exit status, and nothing on standard output ----


FILE_ERRORS = [  # what, qrels, run, exit status, message
    ("empty qrels", b"", RUN, 2, r"qrels\.txt: expected lines of .*topic iter docno grade.*, found none"),
    ("empty run", QRELS, b"", 2,
     r"run\.txt: expected lines of .*topic Q0 docno rank score tag.*, found none"),
    ("comments alone", b"# nothing\n\n", RUN, 2, r"qrels\.txt: expected lines .* found none"),
    ("binary qrels", b"1 0 a 1\n1 0 \0 1\n", RUN, 2, r"qrels\.txt:2: .*NUL byte"),
    ("binary run", QRELS, RUN + b"\0", 2, r"run\.txt:4: .*NUL byte"),
    ("few fields in qrels", b"1 0 a 1\n1 0 b\n", RUN, 2,
     r"qrels\.txt:2: expected 4 fields \(topic iter docno grade\), found 3: '1 0 b'"),
    ("many fields in qrels", b"\n1 0 a b 1\n", RUN, 2,
     r"qrels\.txt:2: expected 4 fields .* found 5: '1 0 a b 1'"),
    ("few fields in run", QRELS, RUN + b"\n301 Q0 FT911-1 1", 2,
     r"run\.txt:5: expected 6 fields \(topic Q0 docno rank score tag\), found 4: '301 Q0 FT911-1 1'"),
    ("NaN score", QRELS, RUN + b"2 Q0 b 2 nan tag\n", 2,
     r"run\.txt:4: expected a number as score, found 'nan'"),
    ("NaN score in capitals", QRELS, b"1 Q0 c 1 -NaN tag\n" + RUN, 2, r"run\.txt:1: .*'-NaN'"),
    ("duplicate in qrels", QRELS + b"1 0 b 1\n", RUN, 4, r"qrels\.txt:4: .*'b' of topic '1'.* line 2\b"),
    ("duplicate in run", QRELS, RUN + b"2 Q0 a 1 1.0 tag\n", 4, r"run\.txt:4: .*'a' of topic '2'.* line 3\b"),
    ("duplicate in topics that come back", b"2 0 b 1\n" + QRELS + b"2 0 b 1\n",
     RUN + b"1 Q0 c 1 1 t\n2 Q0 b 1 1 t\n", 4, r"qrels\.txt:5: .*'b' of topic '2'.* line 1\b"),
    ("no topic in common", QRELS, b"x1 Q0 a 1 1 t\nx2 Q0 a 1 1 t\nx3 Q0 a 1 1 t\n", 7,
     r"qrels\.txt has 2 topics \('1'\), run\.txt has 3 topics \('x1'\)"),
] + [("truncated %s in %s" % (name, which), content if which == "qrels" else QRELS,
      content if which == "run" else RUN, 2, which + r"\.txt: cannot be read: .*")
     for name, content in [("gzip", gzip.compress(RUN * 99)[:-20]), ("bzip2", bz2.compress(RUN * 99)[:-20]),
                           ("xz", lzma.compress(RUN * 99)[:-20]), ("gzip header", b"\x1f\x8b"),
                           ("damaged gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\xff" * 50),
                           ("damaged xz", lzma.compress(RUN)[:20] + b"\xff" * 50)]
     for which in ("qrels", "run")]


@pytest.mark.parametrize("qrels, run, status, message", named(FILE_ERRORS))
def test_error_in_a_file(tmp_path, qrels, run, status, message):
    write(tmp_path, qrels, run)
    assert_error(run_main(["-q", *FILES], tmp_path), status, message)


@pytest.mark.parametrize("qrels, run, where", [
    (b"3 0 a 1\n", b"", r"qrels\.txt"), (b"", b"3 Q0 a 1 1 t\n", r"run\.txt"), (b"", b"", "neither")])
def test_topic_that_one_file_lacks(tmp_path, qrels, run, where):
    write(tmp_path, QRELS + qrels, RUN + run)
    message = rf"expected topic '3' in both qrels\.txt and run\.txt, found it in {where}"
    assert_error(run_main(["-D", "0.3", *FILES], tmp_path), 7, message)


ARGUMENT_ERRORS = [  # arguments, exit status, message
    (["none.txt", "run.txt"], 2, r"none\.txt: cannot be read: No such file"),
    (["qrels.txt", "none.txt"], 2, r"none\.txt: cannot be read: No such file"),
    (["qrels.txt", "."], 2, r"\.: cannot be read: "),
    (["qrels.txt", ""], 2, r"cannot be read: "),
    (["qrels.txt", "a\0b"], 2, r"cannot be read: "),
    ([], 1, r"expected two files or more, QRELS and RUN, found 0; --help"),
    (["qrels.txt"], 1, r"found 1; --help"),
    ([*FILES, "third"], 2, r"third: cannot be read: No such file"),
    (["-", "-"], 1, r"standard input \(-\) for one file"),
    ([*FILES, "-m"], 1, r"option -m requires argument"),
    ([*FILES, "--measure"], 1, r"option --measure requires argument"),
] + [(options + FILES, status, message) for options, status, message in [
    (["-x"], 1, r"option -x .*--help"),
    (["--nonsense"], 1, r"option --nonsense .*--help"),
    (["--Re", "qrels"], 1, r"option --Re .*--help"),  # Rel_info_format or Results_format
    (["--query=yes"], 1, r"option --query.* must not have an argument"),
    (["-m", "mapp"], 1, r"unknown measure 'mapp'; did you mean map\?"),
    (["-m", "MAPP"], 1, r"unknown measure 'MAPP'; did you mean map\?"),
    (["-m", "ndgc_cut.5"], 1, r"unknown measure 'ndgc_cut.5'; did you mean ndcg_cut.5\?"),
    (["-m", "zzzzzz"], 1, r"unknown measure 'zzzzzz'"),
    (["-m", ""], 1, r"unknown measure ''"),
    (["-m", "foo@5"], 1, r"unknown measure 'foo@5'$"),
    (["-m", "bpref@3"], 2, r"measure bpref@3: expected no cutoff, because bpref takes none"),
    (["-m", "map\n\x1b[31m"], 1, r"unknown measure "),
    (["-m", "P."], 1, r"measure P: expected parameters"),
    (["-m", "P@"], 2, r"measure P@: expected an integer above 0 as cutoff, found ''"),
    (["-m", "P.0"], 2, r"measure P: expected cutoffs: distinct integers above 0.*found '0'"),
    (["-m", "P.-5"], 2, r"measure P: expected cutoffs.*'-5'"),
    (["-m", "P.5,x"], 2, r"measure P: expected cutoffs.*'5,x'"),
    (["-m", "P.5,,10"], 2, r"measure P: expected cutoffs.*'5,,10'"),
    (["-m", "P.5,5"], 2, r"measure P: expected cutoffs: distinct.*'5,5'"),
    (["-m", "P.5,5.5"], 2, r"measure P: expected cutoffs: distinct"),
    (["-m", "P@0"], 2, r"measure P@0: expected an integer above 0"),
    (["-m", "iprec_at_recall..1,.10"], 2, r"measure iprec_at_recall: expected levels: distinct"),
    (["-m", "11pt_avg.x"], 2, r"measure 11pt_avg: expected levels"),
    (["-m", "utility.1,2,3"], 2, r"measure utility: expected .*decimal.*1,-1,0,0, found '1,2,3'"),
    (["-m", "utility.1,2,3,4,5"], 2, r"measure utility: expected .*decimal.*'1,2,3,4,5'"),
    (["-m", "ndcg.1"], 2, r"measure ndcg: expected gains: grade=gain.*'1'"),
    (["-m", "ndcg.1=2,3"], 2, r"measure ndcg: expected gains"),
    (["-m", "set_F.x2"], 2, r"measure set_F: expected .*'x2'"),
    (["-m", "rbp.0.8"], 2, r"measure rbp: expected persistence.*'0\.8'"),
    (["-m", "rbp_resid.x"], 2, r"measure rbp_resid: expected persistence"),
    (["-m", "relstring.0"], 2, r"measure relstring: expected .*integer above 0.*'0'"),
    (["-R", "nonsense"], 2, r"expected a format of judgments, one of qrels.*'nonsense'"),
    (["-T", "nonsense"], 2, r"expected a format of results, one of trec_results.*, found 'nonsense'"),
    (["-l", "x"], 1, r"option -l: expected an integer, found 'x'"),
    (["-l", "1.5"], 1, r"option -l: expected an integer, found '1\.5'"),
    (["-M", "ten"], 1, r"option -M: expected an integer.*'ten'"),
    (["-M", "-1"], 1, r"option -M: expected an integer from 0, found '-1'"),
    (["-N", ""], 1, r"option -N: expected an integer.*''"),
    (["-l", "-1"], 1, r"expected a relevance level from 0, found -1, by which .* would be relevant"),
    (["-D", "x.1"], 1, r"option -D: expected an integer, found 'x'; -D 0\.x\.1 evaluates topic x\.1 alone"),
    (["-D", "my topic"], 1, r"found 'my topic'; -D '0\.my topic' evaluates topic my topic alone"),
    (["--digits", "few"], 1, r"option --digits: expected an integer.*'few'"),
    (["--digits", "-1"], 1, r"option --digits: expected an integer from 0"),
    (["--digits", "99999999999"], 1, r"option --digits: expected "),
    (["--release", "8.1"], 1, r"expected a release, one of 10\.0, 9\.0\.8, found '8\.1'"),
    (["-R", "qrels_jg", "-m", "map"], 4, r"measure map: expected judgments in format qrels, found qrels_jg"),
    (["-R", "prefs", "-m", "map"], 4, r"measure map: expected judgments in format qrels, found prefs"),
    (["-R", "qrels_prefs", "-m", "map_avgjg"], 4,
     r"measure map_avgjg: expected .*qrels_jg, found qrels_prefs"),
    (["-m", "map_avgjg"], 4, r"measure map_avgjg: expected judgments in format qrels_jg, found qrels"),
    (["-m", "all_prefs"], 4, r"measure prefs_\w+: expected judgments in format .*prefs, found qrels"),]]


@pytest.mark.parametrize("arguments, status, message",
                         named([(ascii(" ".join(case[0])), *case) for case in ARGUMENT_ERRORS]))
def test_error_in_the_arguments(tmp_path, arguments, status, message):
    write(tmp_path, QRELS, RUN)
    assert_error(run_main(arguments, tmp_path), status, message)


@pytest.mark.parametrize("level", [-1, -2 ** 63])
def test_levels_below_0_are_refused(level):
    for function in (evaluate, judge):
        with pytest.raises(TrecEvalError, match="relevance level from 0") as caught:
            function({}, {}, relevance_level=level)
        assert caught.value.status == 1


@pytest.mark.parametrize("qrels, run, message", [
    (RUN, QRELS, "qrels.txt:1: expected 4 fields .*; are the files the wrong way round"),
    (QRELS, QRELS, "run.txt:1: expected 6 fields .*; are the files the wrong way round"),
])
def test_swapped_files_are_recognised(tmp_path, qrels, run, message):
    assert_error(run_main(FILES, write(tmp_path, qrels, run)), 2, message)


@pytest.mark.parametrize("release", RELEASES)
def test_no_topic_in_common_is_no_error_where_missing_topics_are_evaluated(tmp_path, release):
    write(tmp_path, QRELS, b"x Q0 a 1 1 t\n")
    result = run_main(["-c", "-m", "num_q", "--release", release, *FILES], tmp_path)
    if release == "10.0":
        assert (result.status, printed(result.out)) == (0, {"all": {"num_q": "2"}})
    else:
        assert_error(result, 7, r"qrels\.txt has 2 topics")


def test_duplicates_matter_only_in_topics_that_are_evaluated(tmp_path):
    write(tmp_path, QRELS + b"3 0 a 1\n3 0 a 1\n", RUN + b"9 Q0 a 1 1 t\n9 Q0 a 1 1 t\n")
    assert printed(score(tmp_path, "-m", "num_q"))["all"] == {"num_q": "2"}
    assert_error(run_main(["-c", *FILES], tmp_path), 4, r"qrels\.txt:5: .*'a' of topic '3'.* line 4\b")
    assert printed(score(tmp_path, "-c", "-m", "num_q", "--release", "9.0.8"))["all"] == {"num_q": "3"}


def test_names_in_messages_are_printable_and_short(tmp_path):
    write(tmp_path, QRELS, b"1 Q0 a\x1b[2J\r\xff " + b"x" * 10000)
    result = run_main(FILES, tmp_path)
    assert_error(result, 2, r"run\.txt:1: expected 6 fields .* found 5: ")
    assert len(result.err) < 400 and result.err.rstrip("\n").isprintable()


RED = "\x1b[31m"


@pytest.mark.parametrize("arguments", [
    ["--explain", "map", *FILES], ["--explain", "relstring", *FILES], ["--audit", "report.txt", *FILES],
    ["--explain", "prefs_pair", "-R", "qrels_prefs", *FILES],
    ["--explain", "map_avgjg", "-R", "qrels_jg", *FILES],
])
def test_no_escape_sequence_of_a_name_reaches_a_terminal(tmp_path, arguments):
    qrels = "".join(f"{topic} {RED} {docno} {grade}\n" for topic in (RED, "1" + RED)
                    for docno, grade in ((RED + "a", 1), (RED + "b", 0), (RED + "c", 1)))
    run = f"{RED} {RED} {RED}b 1 x{RED} {RED}\n{RED} {RED} {RED}a 2 1 {RED}\n3{RED} Q0 a 1 1 t\n"
    write(tmp_path, qrels, run)
    (tmp_path / "report.txt").write_text(f"map {RED} 0.7\n{RED} {RED} 0.5\n")
    result = run_main(arguments, tmp_path)
    assert result.status in (0, 2, 3), result.err
    for shown in (result.out.decode(), result.err):
        assert "\x1b" not in shown
    assert r"\x1b" in result.out.decode() + result.err


def test_tables_are_aligned_by_names_as_they_are_shown():
    lines = trec_eval_ref._table(["docno", "n"], [["\x1b[31m", "1"], ["doc", "2"]], True)
    assert lines == ["  docno     n", r"  \x1b[31m  1", "  doc       2"]


@pytest.mark.parametrize("arguments", [["-D", "0." + RED, *FILES], ["-D", RED, *FILES], [RED, "run.txt"]],
                         ids=ascii)
def test_no_escape_sequence_of_an_argument_reaches_a_terminal(tmp_path, arguments):
    result = run_main(arguments, write(tmp_path, QRELS, RUN))
    assert result.status and "\x1b" not in result.err and r"\x1b" in result.err


# ---- Warnings: one line a kind, with the first place and a count ----


WARNINGS = [  # what, qrels, run, options, message
    ("grade", b"1 0 a 1\n1 0 b 0.5\n2 0 a x\n", RUN, [],
     r"qrels\.txt:2: expected an integer as grade, found '0\.5', read as 0 \(2 in all\)"),
    ("one grade", b"1 0 a 1\n1 0 b 0\n2 0 a 1.7\n", RUN, [], r"qrels\.txt:3: .*'1\.7', read as 1$"),
    ("score", QRELS, RUN.replace(b"2.0", b"abc") + b"2 Q0 b 2 1d3 tag\n", [],
     r"run\.txt:1: expected a number as score, found 'abc', read as 0 \(2 in all\)"),
    ("one score", QRELS, RUN + b"2 Q0 b 2 1_0 tag\n", [], r"run\.txt:4: .*'1_0', read as 1$"),
    ("parameters", QRELS, RUN, ["-m", "map.3"], r"measure map: .*ignored.*'3'"),
    ("parameters of a nickname", QRELS, RUN, ["-m", "set.3"], r"measure set: .*ignored.*'3'"),
    ("surplus coefficient", QRELS, RUN, ["-m", "set_F.1,2"], r"measure set_F: ignored .*'2'"),
    ("gain without a grade", QRELS, RUN, ["-m", "ndcg.x=2,1=3"], r"measure ndcg: ignored .*'x=2'"),
    ("second parameters", QRELS, RUN, ["-m", "P.5", "-m", "P.10"],
     r"measure P: .*\b5\b.*'10' is ignored.*P\.5,10"),
    ("second parameters after some with a blank", QRELS, RUN, ["-m", "P.5, 10", "-m", "P.20"],
     r"'20' is ignored; write 'P\.5, 10,20' for both"),
    ("second parameters that hold the first", QRELS, RUN, ["-m", "P.5", "-m", "P.5,10"],
     r"measure P: .* '5,10' is ignored; run it once for each"),
    ("missing topics", QRELS + b"3 0 a 1\n4 0 a 1\n", RUN, [],
     r"run\.txt: 2 of 4 topics in qrels\.txt .*'3'.*-c"),
    ("utility", QRELS, RUN, ["-m", "utility.1,-1,0,2"], r"utility: .*-N"),
    ("level above all grades", QRELS, RUN, ["-l", "2"],
     r"relevance level 2: no document is relevant: the largest grade in the judgments is 1$"),
    ("level of a name", QRELS, RUN, ["-m", "P(rel=3)@5", "-m", "P(rel=1)@5"], r"relevance level 3: no doc"),
    ("topic as level of -D", QRELS, RUN, ["-D", "2"], r"option -D: 2 is a level, .* -D 0\.2 "),
    ("byte-order mark in the qrels", b"\xef\xbb\xbf" + QRELS, RUN, [], r"qrels\.txt:1: .*byte-order mark"),
    ("byte-order mark in the run", QRELS, b"\xef\xbb\xbf" + RUN, [], r"run\.txt:1: .*byte-order mark"),
]


@pytest.mark.parametrize("qrels, run, options, message", named(WARNINGS))
def test_warning(tmp_path, qrels, run, options, message):
    write(tmp_path, qrels, run)
    result = run_main([*options, *FILES], tmp_path)
    assert result.status == 0 and b"all\t" in result.out
    assert re.fullmatch(r"trec_eval_ref: warning: [^\n]+\n", result.err), result.err
    assert re.search(message, result.err, re.MULTILINE), result.err
    strict = run_main(["--strict", *options, *FILES], tmp_path)
    assert_error(strict, 2, message)
    assert "warning" not in strict.err


@pytest.mark.parametrize("options", [
    ["-m", "P.5", "-m", "P.5"], ["-m", "P.5", "-m", "official"], ["-m", "utility"],
    ["-m", "utility.1,-1,0,2", "-N", "9"],
    ["-m", "rbp.p=0.8,1=0.5"], ["-m", "all_trec"], ["-c"], ["-D", "0.1"],
    ["-D", "2.1"], ["-D", "0"], ["-D", "2", "-D", "0.1"], ["--strict"],
], ids=" ".join)
def test_no_warning(tmp_path, options):
    write(tmp_path, QRELS, RUN)
    assert run_main([*options, *FILES], tmp_path).err == ""


@pytest.mark.parametrize("measures, keywords", [
    (["map", "P(rel=2)@5"], {"relevance_level": 2}), (["ndcg"], {"relevance_level": 0}),
    (["nDCG(gains={1: 9})@5"], {}), ([], {"relevance_level": 3}),
    (["map_avgjg"], {"rel_format": "qrels_jg", "relevance_level": 3}),
])
def test_no_warning_of_a_level_that_some_grade_has(measures, keywords):
    judgments = {"a": 2, "b": 0}
    qrels = {"1": {"b": 0}, "2": {"x": judgments} if "rel_format" in keywords else judgments}
    if "rel_format" in keywords:
        del qrels["1"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(qrels, {"2": {"a": 1.0, "b": 0.5}}, measures, **keywords)
        evaluate({"2": {}}, {"2": {"a": 1.0, "b": 0.5}}, measures, **keywords)


DISTANCES = [f"{topic} Q0 d{i} {i + 1} {i}.5 t\n" for topic in range(20) for i in range(5)]
MANY = [f"{topic} Q0 d{i} {i + 1} {i}.5 t\n" for topic in range(1000) for i in range(20)]
ODD_RUNS = [  # what, lines, message; each with a twin that is right
    ("docno with a space", ["1 Q0 my doc 1 2.5 t"],
     r":1: .* found '1 Q0 my doc 1 2\.5 t': does a field hold a space"),
    ("docno with a number", ["1 Q0 a 1 9 t", "1 Q0 doc 7 1 2.5 t"], r":2: .* found '1 Q0 doc 7 1 2\.5 t'"),
    ("docno with a space, no rank", ["1 Q0 my doc 2.5 bm25 v2"], r":1: .*: does a field hold a space"),
    ("docno with a space and tabs", ["1\tQ0\tmy doc\t1\t2.5\tt"],
     r"hold a space or a line end\?; -T tsv reads"),
    ("line ends of CR", ["1 Q0 a 1 2.5 t\r1 Q0 b 2 1.5 t"], r":1: .* found '1 Q0 a 1 2.5 t\\r1 Q0"),
    ("header", ["query-id Q0 corpus-id rank score tag", *DISTANCES[:2]],
     r":1: .*: is line 1 a header\? .* 'query-id'"),
    ("distances", DISTANCES, r"run: scores rise with the rank column in 20 of 20 topics, .* distances\?"),
    ("distances but for one topic", [DISTANCES[0].replace("0.5", "9"), *DISTANCES[1:]],
     r"in 19 of 20 topics"),
    ("distances, shuffled", random.Random(0).sample(DISTANCES, 100), r"in 20 of 20 topics"),
    ("distances from last to first", DISTANCES[::-1], r"in 20 of 20 topics"),
    ("many distances", MANY, r"in 1000 of 1000 topics"),
    ("columns swapped", [f"{topic} Q0 d{i} {9.5 - i} {i} t" for topic in (1, 2) for i in (1, 2, 3)],
     r"run: the rank column falls, from '8\.5' on, while .*: are they swapped\?"),
    ("columns swapped, whole and tied scores",
     [f"{topic} Q0 d{i} {score} {i} t" for topic in (1, 2) for i, score in enumerate((9.0, 9.0, 7.5), 1)],
     r"from '9\.0' on"),
    ("columns swapped, scores that are integers",
     [f"{topic} Q0 d{i} {score} {i} t" for topic in (1, 2) for i, score in enumerate((57, 42, 42, 3), 1)],
     r"from '57' on"),
    ("columns swapped, ranks from 0", [f"1 Q0 d{i} {9.25 - i} {i} t" for i in range(4)], r"from '9\.25' on"),
    ("ranks as scores", [f"{topic} Q0 d{i} {i} {i} t" for topic in (1, 2) for i in (1, 2, 3)],
     r"in 2 of 2 topics"),
]
RIGHT_RUNS = [
    ("tag with spaces", ["1 Q0 d 1 2.5 bm25 k1=0.9", "1 Q0 e 1.0 2.0 Inf model 7 \r"]),
    ("one topic of nineteen that falls", [DISTANCES[0].replace("0.5", "9"), *DISTANCES[1:95]]),
    ("one topic", DISTANCES[:5]),
    ("mean ranks of tied documents, the worst first",
     [f"1 Q0 d{i} {rank} {i} t" for i, rank in enumerate((5, 3.5, 3.5, 1.5, 1.5))]),
    ("topics of two documents", [line for i, line in enumerate(DISTANCES) if i % 5 < 2]),
    ("ranks of 0", [f"{topic} Q0 d{i} 0 {i} t" for topic in range(9) for i in range(9)]),
    ("no ranks", [f"{topic} Q0 d{i} x{i} {i} t" for topic in range(9) for i in range(9)]),
    ("ranks twice", [f"{topic} Q0 d{i} {i // 2} {i} t" for topic in range(9) for i in range(9)]),
    ("one score", [f"{topic} Q0 d{i} {i} 1 t" for topic in range(9) for i in range(9)]),
    ("decimal ranks from last to first",
     [f"{topic} Q0 d{i} {9 - i}.0 {i} t" for topic in (1, 2) for i in (1, 2)]),
    ("grades as scores, and scores as ranks",
     [f"{topic} Q0 d{i} {9.5 - i} {(1, 3, 0)[i]} t" for topic in (1, 2) for i in range(3)]),
    ("average ranks from last to first",
     [f"{topic} Q0 d{i} {rank} {i} t" for topic in (1, 2) for i, rank in enumerate((3.5, 2.5, 1))]),
    ("decimals that rise by 1",
     [f"{topic} Q0 d{i} {9 - 2 * i} {i}.5 t" for topic in (1, 2) for i in range(1, 4)]),
    ("ranks from last to first", [f"{topic} Q0 d{i} {9 - i} {i} t" for topic in (1, 2) for i in range(1, 9)]),
    ("decimal ranks that rise", [f"{topic} Q0 d{i} {i}.5 {9 - i} t" for topic in (1, 2) for i in (1, 2)]),
    ("negative scores", [f"{topic} Q0 d{i} {i} {-i} t" for topic in range(9) for i in range(9)]),
    ("ranks of before", [f"{topic} Q0 d{i} {i * 7 % 9} {-i} t" for topic in range(9) for i in range(9)]),
    ("many ranks of before",
     [f"{topic} Q0 d{i} {i * 7 % 9} {-i} t" for topic in range(2000) for i in range(9)]),
    ("a number as docno and rank", ["1 0 1 1 1 1", "1 0 2 2 0 1"]),
]


@pytest.mark.parametrize("ranks, found", [
    ("1 30", "30 as the least"),
    ("1 12, 1 7, 2 8", "numbers that fall from line to line"),
    ("1 7, 1 12, 1 9, 2 8", "7 as the least"),
    ("1 30, 1 12, 1 1, 2 8, 2 0", "numbers that fall from line to line"),
    ("1 30, 2 8, 1 12, 2 8, 2 0", "numbers that fall from line to line"),
    ("1 1000, 1 999, 1 998, 2 1000, 2 999", "numbers that fall from line to line"),
    ("1 3, 1 3, 1 2, 1 2, 2 3, 2 2, 2 2", "numbers that fall from line to line"),
    ("1 4, 1 3, 1 3, 1 2", "numbers that fall from line to line"),
])
def test_ranks_that_may_be_scores(ranks, found):
    lines = [line.replace(" ", f"\td{i}\t") for i, line in enumerate(ranks.split(", "))]
    message = f"run: expected ranks from 1 up, found {found}; the least is ranked first: are these scores\\?"
    with pytest.warns(TrecEvalWarning, match=message):
        read_run(lines, results_format="msmarco")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ranks", [
    "1 0, 1 9, 2 8", "1 1, 1 9, 2 8", "1 9, 1 1, 1 4",
    "1 2, 1 3, 1 4, 2 4, 2 9",  # a document at rank 1 was removed
    "1 3, 1 2, 1 1, 2 9, 2 8", "1 3, 2 9, 1 2, 2 8, 1 1",  # the worst first
])
def test_ranks_that_are_hardly_scores(ranks):
    lines = [line.replace(" ", f"\td{i}\t") for i, line in enumerate(ranks.split(", "))]
    read_run(lines, results_format="msmarco")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("lines, message", named(ODD_RUNS))
def test_warning_about_a_run(lines, message):
    with pytest.warns(TrecEvalWarning, match=message):
        read_run(lines)
    topics = dict.fromkeys(line.split()[0] for line in lines)
    with pytest.warns(TrecEvalWarning, match=message):
        evaluate_files([f"{topic} 0 x 1" for topic in topics], lines, ["num_ret"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("lines", named(RIGHT_RUNS))
def test_no_warning_about_a_run(lines):
    first = {topic: next(iter(scores)) for topic, scores in read_run(lines).items()}
    assert evaluate_files([f"{topic} 0 {docno} 1" for topic, docno in first.items()], lines, ["num_ret"])


def test_a_run_is_read_once_more_only_if_its_scores_seem_to_rise():
    with mock.patch.object(trec_eval_ref.RunReader, "_note_rising_scores") as check:
        read_run(MANY)
        assert check.call_count == 1
        read_run(re.sub(r" (\d+)\.5 ", r" -\1 ", line) for line in MANY)
        assert check.call_count == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rel_format, header, lines", [
    ("qrels", "query-id iter corpus-id score", ["1 0 a 1", "1 Q0 b 0"]),
    ("qrels_jg", "query-id judge corpus-id score", ["1 u1 a 1", "1 u2 b 0"]),
    ("prefs", "query judge page doc level", ["1 u1 s a 1", "1 u1 s b 0"]),
])
def test_header_of_judgments(rel_format, header, lines):
    run, measures = ["1 Q0 a 1 1 t"], ["num_q"]
    with pytest.warns(TrecEvalWarning, match=rf"qrels:1: .*: is line 1 a header\?.*{header.split()[0]}"):
        evaluate_files([header, *lines], run, measures, rel_format=rel_format)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate_files(lines, run, measures, rel_format=rel_format)


def test_a_header_is_warned_of_once(tmp_path):
    write(tmp_path, b"qid iter docno rel\n1 0 a 1\n1 0 b x\n",
          b"qid Q0 docno rank score tag\n1 Q0 a 1 2 t\n1 Q0 b 2 x t\n")
    lines = run_main(["-m", "map", *FILES], tmp_path).err.splitlines()
    header = "1: expected a number as {} or {}, found '{}' and '{}': is line 1 a header?"
    for line, expected in itertools.zip_longest(lines, (
            "qrels.txt:" + header.format("iter", "grade", "iter", "rel"),
            "qrels.txt:3: expected an integer as grade, found 'x'",
            "run.txt:" + header.format("rank", "score", "rank", "score"),
            "run.txt:3: expected a number as score, found 'x'")):
        assert line.startswith(f"trec_eval_ref: warning: {expected}") and "in all" not in line


def test_each_kind_of_warning_has_a_line(tmp_path):
    write(tmp_path, b"\xef\xbb\xbf1 0 a 1.0\n1 0 b 0\n9 0 a 1\n",
          b"1 Q0 a 1 x t\n1 Q0 b 2 x t\n1 Q0 c 3 x t\n")
    result = run_main(["-m", "map.1", "-m", "P.5", "-m", "P.7", *FILES], tmp_path)
    lines = result.err.splitlines()
    assert result.status == 0 and len(lines) == 6
    for expected in ("byte-order mark", "grade", "score.*3 in all", "1 of 2 topics", "map", "'7' is ignored"):
        assert sum(bool(re.search(expected, line)) for line in lines) == 1, expected
    assert_error(run_main(["--strict", "-m", "map.1", *FILES], tmp_path), 2, "")


def test_library_warns_with_the_same_words():
    with pytest.warns(TrecEvalWarning, match=r"^qrels:2: .* found 'x', read as 0 \(2 in all\)$"):
        read_qrels(["1 0 a 1", "1 0 b x", "1 0 c y"])
    with pytest.warns(TrecEvalWarning, match=r"run:1: expected a number as score, found 'x'"):
        read_run(["1 Q0 a 1 x t"])


# ---- The interface of pytrec_eval ----


PYTREC_EVAL_SPELLINGS = (
    "official", "set", "all_trec", "map", "ndcg", "gm_map", "gm_bpref", "bpref", "recip_rank", "num_q",
    "num_ret", "num_rel", "num_rel_ret", "infAP", "binG", "G", "Rndcg", "ndcg_rel", "Rprec",
    "relstring", "utility", "num_nonrel_judged_ret", "P", "P.5", "P_5", "P.10,3", "P_1,20,5", "recall",
    "recall.5", "recall_7", "recall_1000", "ndcg_cut", "ndcg_cut.1,4", "ndcg_cut_20,4", "ndcg_cut_3",
    "map_cut", "map_cut.3", "map_cut_1,3,5,10,100,1000", "relative_P", "relative_P_4", "success",
    "success_1,3", "success.2", "iprec_at_recall", "iprec_at_recall_0.10", "iprec_at_recall.0.25,0.5",
    "11pt_avg", "11pt_avg.0.1,0.5", "11pt_avg_0.25,0.75,1.0", "Rprec_mult", "Rprec_mult_1.00",
    "Rprec_mult.0.5,1.5", "set_F", "set_F.0.5", "set_F_2", "set_F_10", "set_P", "set_recall", "set_map",
    "set_relative_P", "relstring.5")


def pytrec_eval_case(rng):
    """Random arguments for pytrec_eval: ties, scores that differ beyond 32 bits, missing and empty topics.

    It does not survive a run whose first topic is empty, and takes leftover
    numbers for a topic whose judgments are all negative, so there are none.
    """
    initials = ["a", "b", "A", "Z", "_", "~", "\u00e9", "\U0001f600", "d"]
    docnos = sorted({rng.choice(initials) + str(rng.randint(0, 60)) for _ in range(70)})
    topics = rng.sample(["1", "2", "9", "10", "t", "T", "\u00fc"], rng.randint(1, 3))
    qrels, run = {}, {}
    for topic in topics:
        highest = rng.choice([1, 2, 4, 12])
        judged = rng.sample(docnos, rng.randint(1, 30))
        qrels[topic] = {docno: rng.choice([0, 0, rng.randint(-1, highest), rng.randint(0, highest)])
                        for docno in judged}
        qrels[topic][judged[0]] = rng.randint(0, highest)
        scores = rng.choice([
            lambda: rng.random(), lambda: round(rng.random(), 1), lambda: 0.5 + 1e-9 * rng.randint(0, 9),
            lambda: rng.randint(-3, 3), lambda: 10.0 ** rng.randint(-50, 50), lambda: True,
            lambda: rng.choice([16777216, 16777217, 16777218, 1e39, math.inf])])
        run[topic] = {docno: scores() for docno in rng.sample(docnos, rng.randint(1, 45))}
    if rng.random() < 0.3:
        qrels["not in the run"] = {"a1": 1}
        qrels["not judged"] = {}
        run["not judged"] = run["not in the qrels"] = {"a1": 1.0}
    if rng.random() < 0.3:
        qrels["empty"] = {"a1": 1, "b1": 0}
        run["empty"] = {}
    measures = rng.sample(PYTREC_EVAL_SPELLINGS, rng.choice([0, 1, 2, 3, 6]))
    return {"qrels": qrels, "run": run, "measures": measures, "relevance_level": rng.choice([1, 1, 2]),
            "judged_only": rng.random() < 0.3}


def evaluated_by(module, case):
    """What a module with pytrec_eval's interface makes of a case."""
    evaluator = module.RelevanceEvaluator(
        case["qrels"], case["measures"], relevance_level=case["relevance_level"],
        judged_docs_only_flag=case["judged_only"])
    return evaluator.evaluate(case["run"])


def without_nonsense(values):
    """The values of pytrec_eval, 0 for its NaN (empty rankings) and what it never sets (runid, relstring)."""
    return {topic: {name: 0.0 if name in ("runid", "relstring") or math.isnan(value) else value
                    for name, value in of_topic.items()} for topic, of_topic in values.items()}


def recorded_pytrec_eval_cases():
    """What pytrec_eval returned, in a line each, after a first line with its version."""
    with gzip.open(FIXTURES / "pytrec_eval.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in itertools.islice(file, 1, None)]


@pytest.mark.filterwarnings("ignore::trec_eval_ref.TrecEvalWarning")
def test_recorded_results_of_pytrec_eval():
    cases = recorded_pytrec_eval_cases()
    assert len(cases) >= 300
    assert set(PYTREC_EVAL_SPELLINGS) == {measure for case in cases for measure in case["measures"]}
    for case in cases:
        assert agree(evaluated_by(trec_eval_ref, case), without_nonsense(case["values"])), case


@pytest.mark.filterwarnings("ignore::trec_eval_ref.TrecEvalWarning")
def test_side_by_side_with_pytrec_eval():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    seed = random.randrange(10 ** 9)
    rng = random.Random(seed)
    for number in range(300):
        case = pytrec_eval_case(rng)
        expected = without_nonsense(evaluated_by(pytrec_eval, case))
        assert evaluated_by(trec_eval_ref, case) == expected, (seed, number)
    assert trec_eval_ref.supported_measures == pytrec_eval.supported_measures
    for nickname in ("official", "set", "all_trec"):
        assert trec_eval_ref.supported_nicknames[nickname] == pytrec_eval.supported_nicknames[nickname]
    for length in [*range(1, 40), 100, 127, 128, 129, 137, 1000, 3001]:
        values = [rng.random() * 10 ** rng.randint(-3, 3) for _ in range(length)]
        for name in ("map", "num_ret", "P_5", "ndcg_cut_10"):
            assert (trec_eval_ref.compute_aggregated_measure(name, values)
                    == pytrec_eval.compute_aggregated_measure(name, values)), (seed, name, length)
        logarithms = [-value / 1000 for value in values]  # numpy's exp is not that of C on every processor
        assert math.isclose(trec_eval_ref.compute_aggregated_measure("gm_map", logarithms),
                            pytrec_eval.compute_aggregated_measure("gm_map", logarithms), rel_tol=1e-15)


def test_program_written_for_pytrec_eval():
    lines = ["q1 0 d1 0", "q1 0 d2 1", "q1 0 d3 0", "q2 0 d2 1", "q2 0 d3 1"]
    results = ["q1 Q0 d1 0 1.0 t", "q1 Q0 d2 1 0.0 t", "q1 Q0 d3 2 1.5 t",
               "q2 Q0 d1 0 1.5 t", "q2 Q0 d2 1 0.2 t", "q2 Q0 d3 2 0.5 t"]
    qrel = trec_eval_ref.parse_qrel(io.StringIO("\n".join(lines) + "\n"))
    run = trec_eval_ref.parse_run(io.StringIO("\n".join(results) + "\n"))
    assert "map" in trec_eval_ref.supported_measures and "__version__" in vars(trec_eval_ref)
    values = trec_eval_ref.RelevanceEvaluator(qrel, {"map", "ndcg"}).evaluate(run)
    assert agree(values, {"q1": {"map": 0.3333333333333333, "ndcg": 0.5},
                          "q2": {"map": 0.5833333333333333, "ndcg": 0.6934264036172708}})
    means = {name: trec_eval_ref.compute_aggregated_measure(
        name, [of_topic[name] for of_topic in values.values()]) for name in ("map", "ndcg")}
    assert agree(means, {"map": 0.45833333333333326, "ndcg": 0.5967132018086354})


@pytest.mark.parametrize("measures, names", [
    ({"map"}, ["map"]),
    (["map", "map"], ["map"]),
    (("P.5",), ["P_5"]),
    (frozenset({"P_5"}), ["P_5"]),
    (iter(["P_5"]), ["P_5"]),
    ({"P_5": None}, ["P_5"]),
    ("P_5", ["P_5"]),
    (["ndcg_cut.1,4"], ["ndcg_cut_1", "ndcg_cut_4"]),
    (["ndcg_cut_20,4"], ["ndcg_cut_4", "ndcg_cut_20"]),
    (["P_5", "P.10", "P"], ["P_5", "P_10"]),
    (["P", "official", "P_1"], ["P_1"]),
    (["P.5,5", "P_5"], ["P_5"]),
    (["set_F_0.5"], ["set_F"]),
    (["11pt_avg.0.1,0.5"], ["11pt_avg"]),
    (["relstring_5"], ["relstring"]),
    (["utility.2,-1,0,0"], ["utility"]),
    (["ndcg.1=3", "ndcg_1=5"], ["ndcg_1=3", "ndcg_1=5"]),
    (["Success@1", "nDCG@3", "MRR", "map"], ["map", "Success@1", "nDCG@3", "MRR"]),
    ([], []),
])
def test_spelling_of_measures(measures, names):
    values = evaluated(measures)
    assert set(values) == {"1", "2"}
    for of_topic in values.values():
        wanted = [name for name in of_topic if not ("official" in measures and not name.startswith("P_"))]
        assert wanted == names
        assert all(type(value) is float for value in of_topic.values())


def test_several_numbers_for_one_value():
    with pytest.warns(TrecEvalWarning, match=r"^measure set_F: ignored parameters: '2'$"):
        assert evaluated(["set_F.2", "set_F.0.5"])["1"] == {"set_F": 0.375}
    with pytest.warns(TrecEvalWarning, match=r"^measure map: ignored parameters: '5'$"):
        assert evaluated(["map_5"])["1"] == {"map": 0.25}


def test_values_per_topic():
    values = evaluated(["official", "relstring", "gm_bpref", "num_nonrel_judged_ret"])["1"]
    assert values["runid"] == values["relstring"] == 0.0
    assert values["num_q"] == 1.0 and values["num_ret"] == 3.0
    assert values["gm_map"] == math.log(0.25) and values["gm_bpref"] == math.log(0.00001)
    assert {type(value) for value in values.values()} == {float}


def test_topics_of_both_dicts():
    qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {}, "5": {"b": 1}}
    run = {"9": {"a": 1.0}, "5": {}, "3": {"a": 1.0}, "1": {"b": 2.0, "a": 1.0}}
    assert evaluated(["map"], qrels, run) == {"5": {"map": 0.0}, "1": {"map": 0.5}}
    assert evaluated(["map"], qrels, {}) == evaluated(["map"], {}, run) == {}
    assert evaluated([], qrels, run) == {"5": {}, "1": {}}


@pytest.mark.parametrize("judged_only, ranking", [(False, {}), (True, {"not judged": 1.0})])
def test_empty_ranking_is_scored_zero(judged_only, ranking):
    values = evaluated(trec_eval_ref.supported_measures, {"1": {"a": 1, "b": 0}}, {"1": ranking},
                       judged_docs_only_flag=judged_only)["1"]
    assert {name for name, value in values.items() if value} == {"num_q", "num_rel", "gm_map", "gm_bpref"}


def test_release_of_the_evaluator():
    qrels, run = {"1": {"a": 1, "b": 0}}, {"1": {"a": 0.5 + 1e-9, "b": 0.5}}
    assert evaluated(["recip_rank"], qrels, run) == {"1": {"recip_rank": 0.5}}
    assert evaluated(["recip_rank"], qrels, run, release="10.0") == {"1": {"recip_rank": 1.0}}
    assert evaluated(["RBP(p=0.5)", "rbp_p=0.25"], qrels, run, release="10.0") == {
        "1": {"RBP(p=0.5)": 0.5, "rbp_p=0.25": 0.75}}
    with pytest.raises(ValueError, match=r"^unknown measure 'rbp', which trec_eval 9\.0\.8 does not have"):
        evaluated(["rbp"])
    with pytest.raises(ValueError, match="expected a release"):
        evaluated(["map"], release="9.0.7")


@pytest.mark.parametrize("measures, message", [
    ({"nosuch"}, "unknown measure 'nosuch'"),
    ({""}, "unknown measure ''"),
    ({"P."}, "measure P: expected parameters after the dot, found none"),
    ({"P_"}, "unknown measure 'P_'"),
    ({"P.x"}, "measure P: expected cutoffs: distinct integers above 0, such as 5,10, found 'x'"),
    ({"P_0"}, "measure P: expected cutoffs"),
    ({"P.-1"}, "measure P: expected cutoffs"),
    ({"P.5", "P.05"}, "measure P: expected cutoffs"),
    ({"iprec_at_recall_-0.1"}, "measure iprec_at_recall: expected levels"),
    ({"utility.1"}, "measure utility: expected"),
    (["utility.1,1,1,1", "utility.2,1,1,1"],
     "measure utility: expected its parameters once, found 2 different ones"),
    ({"ndcg_foo"}, "unknown measure 'ndcg_foo'"),
    ({"official.5"}, "measure official: expected a nickname without parameters, found '5'"),
    ({"dcg"}, "unknown measure 'dcg', which trec_eval 9.0.8 does not have"),
    ({"recip_rank@10"}, "unknown measure 'recip_rank@10': recip_rank takes no cutoff; did you mean RR@10?"),
])
def test_measures_that_pytrec_eval_refuses(measures, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        evaluated(measures)


class Index:
    """A number like numpy's integers."""

    def __index__(self):
        return 2


class Float:
    """A number like numpy's floats of single precision."""

    def __float__(self):
        return 2.5


class Double(float):
    """A number like numpy's floats of double precision."""


@pytest.mark.parametrize("release", RELEASES)
def test_numbers_of_other_kinds(release):
    qrels = {"1": {"a": Index(), "b": True, "c": False}}
    run = {"1": {"a": Float(), "b": Index() if IS_CPYTHON else 2, "c": 2 ** 70, "d": True, "e": -math.inf,
                 "f": Double(2.25)}}
    assert evaluated(["num_rel", "recip_rank", "map"], qrels, run, relevance_level=True, release=release) == {
        "1": {"num_rel": 2.0, "map": (1 / 2 + 2 / 4) / 2, "recip_rank": 0.5}}
    assert evaluated(["num_rel"], qrels, run, relevance_level=Index()) == {"1": {"num_rel": 1.0}}
    assert evaluated(["num_ret"], qrels, run, judged_docs_only_flag=1) == {"1": {"num_ret": 3.0}}


def test_numbers_of_numpy():
    numpy = pytest.importorskip("numpy")
    qrels = {"1": {"a": numpy.int64(2), "b": numpy.uint8(1)}}
    run = {"1": {"a": numpy.float32(1.5), "b": numpy.float64(2.5), "c": numpy.int64(2)}}
    assert evaluated(["map"], qrels, run, relevance_level=numpy.int64(1)) == {"1": {"map": (1 + 2 / 3) / 2}}
    assert trec_eval_ref.compute_aggregated_measure("map", numpy.array([0.25, 0.75])) == 0.5


@pytest.mark.parametrize("qrels, message", [
    (None, "expected a dict of dicts as query_relevance, found NoneType"),
    ([("1", {"a": 1})], "expected a dict of dicts as query_relevance, found list"),
    ({1: {"a": 1}}, "expected strings as topics, found 1"),
    ({b"1": {"a": 1}}, "expected strings as topics, found b'1'"),
    ({"1": None}, "topic '1': expected a dict {docno: grade}, found NoneType"),
    ({"1": ["a"]}, "topic '1': expected a dict {docno: grade}, found list"),
    ({"1": {"a": 1, 2: 1}}, "topic '1': expected strings as docnos, found 2"),
    ({"1": {"a": 1, "b": 1.0}},
     "topic '1', document 'b': expected an integer of 64 bits as grade, found 1.0"),
    ({"1": {"a": 1, "b": "1"}},
     "topic '1', document 'b': expected an integer of 64 bits as grade, found '1'"),
    ({"1": {"a": None}}, "topic '1', document 'a': expected an integer of 64 bits as grade, found None"),
])
def test_type_errors_of_judgments(qrels, message):
    with pytest.raises(TypeError, match="^%s$" % re.escape(message)):
        trec_eval_ref.RelevanceEvaluator(qrels, {"map"})


@pytest.mark.parametrize("run, message", [
    ([1], "expected a dict of dicts as scores, found list"),
    ({1: {"a": 1.0}}, "expected strings as topics, found 1"),
    ({"1": None}, "topic '1': expected a dict {docno: score}, found NoneType"),
    ({"1": "ab"}, "topic '1': expected a dict {docno: score}, found str"),
    ({"1": {b"a": 1.0}}, "topic '1': expected strings as docnos, found b'a'"),
    ({"1": {"a": 1.0, "b": "1.0"}}, "topic '1', document 'b': expected a number as score, found '1.0'"),
    ({"1": {"b": None}}, "topic '1', document 'b': expected a number as score, found None"),
    ({"1": {"b": [1.0]}}, "topic '1', document 'b': expected a number as score, found [1.0]"),
    ({"1": {"a": 1.0}, "not judged": {"b": "1"}},
     "topic 'not judged', document 'b': expected a number as score, found '1'"),
])
@pytest.mark.parametrize("release", RELEASES)
def test_type_errors_of_scores(run, message, release):
    with pytest.raises(TypeError, match="^%s$" % re.escape(message)):
        evaluated(["map"], run=run, release=release)


@pytest.mark.parametrize("keywords, message", [
    ({"relevance_level": 0},
     "expected a relevance_level from 1, found 0; evaluate() takes relevance_level=0"),
    ({"relevance_level": -1}, "expected a relevance_level from 1, found -1"),
    ({"relevance_level": 1.0},
     "expected integers as relevance_level and judged_docs_only_flag, found 1.0 and False"),
    ({"relevance_level": "1"},
     "expected integers as relevance_level and judged_docs_only_flag, found '1' and False"),
    ({"judged_docs_only_flag": "no"},
     "expected integers as relevance_level and judged_docs_only_flag, found 1 and 'no'"),
])
def test_type_errors_of_settings(keywords, message):
    with pytest.raises(TypeError, match="^%s$" % re.escape(message)):
        evaluated(["map"], **keywords)


@pytest.mark.parametrize("measures, message", [
    ([1], "^expected strings as measures, found 1$"),
    ([b"map"], "^expected strings as measures, found b'map'$"),
    (None, "not iterable"),
])
def test_type_errors_of_measures(measures, message):
    with pytest.raises(TypeError, match=message):
        evaluated(measures)


@pytest.mark.parametrize("score, text", [(math.nan, "nan"), (10 ** 400, "1" + 400 * "0")])
@pytest.mark.parametrize("release", RELEASES)
def test_value_errors_of_scores(score, text, release):
    message = "topic '2', document 'b': expected a number as score, found " + text
    with pytest.raises(ValueError, match="^%s$" % message):
        evaluated(["map"], run={"1": {"a": 1.0}, "2": {"a": 1.0, "b": score}}, release=release)


def test_evaluator_is_used_again():
    qrels, run = {"1": {"a": 1, "b": 0}}, {"1": {"b": 2.0, "a": 1.0}}
    evaluator = trec_eval_ref.RelevanceEvaluator(qrels, {"map"})
    assert evaluator.evaluate(run) == evaluator.evaluate(run) == {"1": {"map": 0.5}}
    qrels["1"]["a"] = 0
    assert evaluator.evaluate({"1": {"a": 1.0}}) == {"1": {"map": 1.0}}
    with pytest.raises(TypeError):
        evaluator.evaluate({"1": {"a": "x"}})
    evaluator.evaluate(run)["1"]["map"] = 2.0
    assert evaluator.evaluate(run) == {"1": {"map": 0.5}}


def test_evaluator_in_threads():
    rng = random.Random(4)
    docnos = ["d%d" % i for i in range(300)]
    qrels = {str(i): {docno: rng.randint(0, 2) for docno in rng.sample(docnos, 50)} for i in range(12)}
    runs = [{topic: {docno: round(rng.random(), 1) for docno in rng.sample(docnos, 200)} for topic in qrels}
            for _ in range(8)]
    evaluator = trec_eval_ref.RelevanceEvaluator(qrels, trec_eval_ref.supported_measures)
    expected = [evaluator.evaluate(run) for run in runs]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(evaluator.evaluate, runs * 2)) == expected * 2


@pytest.mark.parametrize("parse, lines, parsed", [
    ("qrel", ["1 0 a 1\n", "2\t0  b -1\r\n", "1 0 c 0"], {"1": {"a": 1, "c": 0}, "2": {"b": -1}}),
    ("qrel", [b"1 0 a 1\n"], {"1": {"a": 1}}),
    ("qrel", ["1 0 a 9223372036854775808", "1 0 b -1000000000000000000000000000000"],
     {"1": {"a": 2 ** 63, "b": -10 ** 30}}),
    ("qrel", io.StringIO("\ufeff1 0 a 1\n\n"), {"1": {"a": 1}}),
    ("qrel", [], {}),
    ("qrel", ["\n"], {}),
    ("run", ["1 Q0 a 1 1.5 t\n", "2 Q0 a 1 1e400 t", "1 Q0 b x 2 t"],
     {"1": {"a": 1.5, "b": 2.0}, "2": {"a": math.inf}}),
    ("run", io.StringIO("1 Q0 \u00e9 1 1 t\n"), {"1": {"\u00e9": 1.0}}),
    ("run", io.BytesIO(b"1 Q0 a 1 1 t\n"), {"1": {"a": 1.0}}),
    ("run", io.StringIO(""), {}),
])
def test_parse(parse, lines, parsed):
    found = getattr(trec_eval_ref, "parse_" + parse)(lines)
    assert found == parsed
    assert found["of a topic that is not there"] == {}


def test_parse_file(tmp_path):
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n")
    with open(tmp_path / "qrels.txt") as file:
        assert trec_eval_ref.parse_qrel(file) == {"1": {"a": 1}}


@pytest.mark.parametrize("parse, lines, error, message", [
    ("qrel", ["1 0 a 1", "2 0 a 1", "1 0 a 1"], AssertionError,
     "qrels:3: expected each document of a topic once, found 'a' of topic '1' again, first on line 1"),
    ("run", ["1 Q0 a 1 2 t", "1 Q0 a 2 1 t"], AssertionError,
     "run:2: expected each document of a topic once, found 'a' of topic '1' again, first on line 1"),
    ("qrel", ["1 0 a 1.0"], ValueError, "qrels:1: expected an integer as grade, found '1.0'"),
    ("qrel", ["1 0 a"], ValueError, "qrels:1: expected 4 fields (topic iter docno grade), found 3: '1 0 a' "
     "(topic '1', iter '0', docno 'a', no grade)"),
    ("qrel", ["# c"], ValueError, "qrels:1: expected 4 fields (topic iter docno grade), found 2: '# c'"),
    ("run", ["1 Q0 a 1 2 t", "1 Q0 b 2 x t"], ValueError, "run:2: expected a number as score, found 'x'"),
    ("run", ["1 Q0 a 1 1_0 t"], ValueError, "run:1: expected a number as score, found '1_0'"),
    ("run", ["1 Q0 a 1 2"], ValueError,
     "run:1: expected 6 fields (topic Q0 docno rank score tag), found 5: '1 Q0 a 1 2'"),
    ("run", ["1 Q0 a 1 2 t", "1 Q0 b 2 1 t x"], ValueError,
     "run:2: expected 6 fields (topic Q0 docno rank score tag), found 7: '1 Q0 b 2 1 t x'"),
    ("run", ["1 Q0 a 1 nan t"], ValueError,
     "run:1: expected a number as score, found 'nan'"),
])
def test_parse_errors(parse, lines, error, message):
    with pytest.raises(error, match="^%s$" % re.escape(message)):
        getattr(trec_eval_ref, "parse_" + parse)(lines)


def test_aggregated_measures():
    aggregate = trec_eval_ref.compute_aggregated_measure
    assert aggregate("num_rel_ret", [1, 2]) == 3.0 and type(aggregate("num_q", [1, 2])) is float
    assert aggregate("gm_map", [1.0, 2.0]) == math.exp(1.5)
    assert aggregate("P_5", (value for value in (0.5, 1.0))) == 0.75
    assert aggregate("num_ret", []) == 0.0
    assert math.isnan(aggregate("map", [])) and math.isnan(aggregate("gm_map", []))
    assert aggregate("gm_map", [1e3]) == math.inf
    with pytest.raises(TypeError):
        aggregate("map", ["0.5"])


NUMPY_SUMS = {  # by how many numbers, and the seed of the random ones: what numpy's sum is
    (7, 0): 58.06376388114559, (8, 3): 79.83168904953465, (9, 3): 86.83424743639085,
    (128, 4): 1401.4526499725316, (129, 0): 1773.1764123487283, (1000, 2): 12257.921305189546,
}


@pytest.mark.parametrize("length, seed", NUMPY_SUMS)
def test_numbers_are_added_up_in_the_order_of_numpy(length, seed):
    chance = random.Random(seed)
    numbers = [chance.random() * 3.0 ** (i % 5) for i in range(length)]
    expected = NUMPY_SUMS[length, seed]
    assert length < 8 or expected not in (add(numbers), math.fsum(numbers))
    assert trec_eval_ref.compute_aggregated_measure("num_ret", numbers) == expected
    assert trec_eval_ref.compute_aggregated_measure("map", numbers) == expected / length


def test_names_that_pytrec_eval_knows():
    names = ("11pt_avg G P Rndcg Rprec Rprec_mult binG bpref gm_bpref gm_map infAP iprec_at_recall map "
             "map_cut ndcg ndcg_cut ndcg_rel num_nonrel_judged_ret num_q num_rel num_rel_ret num_ret recall "
             "recip_rank relative_P relstring runid set_F set_P set_map set_recall set_relative_P success "
             "utility")
    assert trec_eval_ref.supported_measures == set(names.split())
    nicknames = {
        "official": ("P Rprec bpref gm_map iprec_at_recall map num_q num_rel num_rel_ret num_ret recip_rank "
                     "runid"),
        "set": ("num_q num_rel num_rel_ret num_ret runid set_F set_P set_map set_recall set_relative_P "
                "utility"),
        "all_trec": names}
    for nickname, members in nicknames.items():
        assert trec_eval_ref.supported_nicknames[nickname] == set(members.split())
    assert trec_eval_ref.supported_nicknames.keys() == {*nicknames, "qrels_jg", "prefs", "all_prefs"}


def test_calls_of_beir():
    k_values = [1, 3, 5, 10, 100, 1000]
    names = ("map_cut", "ndcg_cut", "recall", "P")
    for of_topic in evaluated({name + "." + ",".join(map(str, k_values)) for name in names}).values():
        assert set(of_topic) == {"%s_%d" % (name, k) for name in names for k in k_values}


def ir_measures_case():
    """Judgments and a run, for the tests with ir_measures."""
    rng = random.Random(6)
    qrels = {str(i): {f"d{j}": rng.randint(0, 3) for j in range(30)} for i in range(10)}
    run = {topic: {f"d{j}": round(rng.random(), 1) for j in rng.sample(range(50), 40)} for topic in qrels}
    return qrels, run


IR_MEASURES_CALLS = [  # measures, relevance level, judged documents only?, what pytrec_eval says of topic 3
    (["map", "map_cut_10", "ndcg", "ndcg_cut_5", "recip_rank", "recall_10", "Rprec", "bpref", "infAP",
      "iprec_at_recall_0.10", "success_3", "set_F", "num_ret", "num_rel_ret", "num_rel", "num_q"], 1, 0,
     {"num_q": 1.0, "num_ret": 40.0, "num_rel": 29.0, "num_rel_ret": 23.0, "map": 0.5385976243201535,
      "Rprec": 0.6206896551724138, "bpref": 0.3103448275862069, "recip_rank": 0.5,
      "iprec_at_recall_0.10": 0.9,
      "recall_10": 0.3103448275862069, "infAP": 0.5385969657609325, "ndcg": 0.6721842927431515,
      "ndcg_cut_5": 0.4921321399197369, "map_cut_10": 0.24382868089764642, "success_3": 1.0,
      "set_F": 0.6666666666666666}),
    (["map"], 2, 0, {"map": 0.5095894883247825}), (["ndcg_cut_5"], 1, 1, {"ndcg_cut_5": 0.7301581706468085}),
    (["P_5"], 2, 1, {"P_5": 0.8}), (["set_F_2.0"], 1, 0, {"set_F": 0.7040816326530612}),
    (["set_F_0.5"], 1, 0, {"set_F": 0.6330275229357797}),
]


@pytest.mark.parametrize("measures, level, judged_only, values", IR_MEASURES_CALLS)
def test_calls_of_ir_measures(measures, level, judged_only, values):
    qrels, run = ir_measures_case()
    evaluator = trec_eval_ref.RelevanceEvaluator(qrels, measures, relevance_level=level,
                                                 judged_docs_only_flag=judged_only)
    found = evaluator.evaluate(run)
    assert found.keys() == qrels.keys() and agree(found["3"], values)


def test_ir_measures_with_this_module():
    ir_measures = pytest.importorskip("ir_measures")
    from ir_measures import AP, Bpref, IPrec, P, RR, Rprec, SetF, Success, nDCG
    measures = [
        AP, AP @ 10, AP(rel=2), nDCG, nDCG @ 5, nDCG(judged_only=True) @ 5, P(rel=2, judged_only=True) @ 5,
        RR, ir_measures.R @ 10, Rprec, Bpref, ir_measures.infAP, IPrec @ 0.1, Success @ 3,
        SetF, SetF(beta=2.0), SetF(beta=0.5),
        ir_measures.NumRet, ir_measures.NumRet(rel=1), ir_measures.NumRel, ir_measures.NumQ]
    qrels, run = ir_measures_case()

    def calculated():
        provider = type(ir_measures.providers.registry["pytrec_eval"])()
        provider.initialize()
        return sorted((value.query_id, str(value.measure), value.value)
                      for value in provider.iter_calc(measures, qrels, run))
    with mock.patch.dict(sys.modules, pytrec_eval=trec_eval_ref):
        found = calculated()
    assert len(found) == len(qrels) * len(measures)
    pytest.importorskip("pytrec_eval")
    assert found == calculated()


# ---- Judgments by several people, and preferences ----


PREFS = trec_eval_ref.NICKNAMES["all_prefs"][2:]


class SlowPreferences:
    """The prefs measures from their definitions, with preferences as sets of pairs of positions."""

    def __init__(self, preferences, scores, depth=None):
        ranking = sorted(scores, key=lambda docno: (-scores[docno], docno.encode()))[:depth]
        named = {docno for group in preferences.values() for subgroup in group.values()
                 for docno, _ in subgroup}
        docnos = [docno for docno in ranking if docno in named]
        self.n = len(docnos)
        docnos += sorted(named - set(docnos), key=str.encode)
        position = {docno: i for i, docno in enumerate(docnos)}
        self.groups = []
        for name in sorted(preferences, key=str.encode):
            subgroups = [[(position[docno], level) for docno, level in subgroup]
                         for subgroup in preferences[name].values()]
            stated = {(a, b) for subgroup in subgroups for a, high in subgroup for b, low in subgroup
                      if high > low and a != b}
            self.groups.append((subgroups, self.closure(stated)))

    @staticmethod
    def closure(pairs):
        while True:
            longer = pairs | {(a, d) for a, b in pairs for c, d in pairs if b == c}
            if longer == pairs:
                return pairs
            pairs = longer

    def retrieved(self, pair):
        return sum(document < self.n for document in pair)

    def is_fulfilled(self, pair):
        return pair[0] < pair[1] and pair[0] < self.n

    def is_contradictory(self):
        return any(a == b for _, pairs in self.groups for a, b in pairs)

    def scope(self, pairs, scope):
        return [pair for pair in pairs if self.retrieved(pair) >= {"": 0, "_imp": 1, "_ret": 2}[scope]]

    def num_prefs_poss(self):
        return sum(len(pairs) for _, pairs in self.groups)

    def num_prefs_ful(self, scope=""):
        return sum(self.is_fulfilled(pair) for _, pairs in self.groups for pair in self.scope(pairs, scope))

    def num_prefs_ful_ret(self):
        return self.num_prefs_ful("_ret")

    def simp(self, scope=""):
        possible = sum(len(self.scope(pairs, scope)) for _, pairs in self.groups)
        return self.num_prefs_ful(scope) / possible if possible else 0.0

    def avgjg(self, scope=""):
        mean = 0.0
        for _, pairs in self.groups:
            pairs = self.scope(pairs, scope)
            mean += sum(map(self.is_fulfilled, pairs)) / len(pairs) if pairs else 0.0
        return mean / len(self.groups)

    def pair(self, scope=""):
        pairs = {tuple(sorted(pair)) for _, pairs in self.groups for pair in self.scope(pairs, scope)}
        mean = 0.0
        for i, j in sorted(pairs, key=lambda pair: (-self.retrieved(pair), pair)):
            forward, backward = (sum(pair in pairs for _, pairs in self.groups) for pair in ((i, j), (j, i)))
            mean += forward / (forward + backward) if i < self.n else 0.0
        return mean / len(pairs) if pairs else 0.0

    def avgjg_Rnonrel(self, scope=""):
        fractions = [self.balanced(*group, scope) for group in self.groups]
        if not all(p for _, p in fractions):
            return 0.0
        mean = 0.0
        for f, p in fractions:
            mean += f / p
        return mean / len(fractions)

    def balanced(self, subgroups, pairs, scope):
        everything = [member for subgroup in subgroups for member in subgroup]
        rel = {document for document, level in everything if level > 0}
        rel_ret = {document for document in rel if document < self.n}
        members = [(document, level) for document, level in everything if document < self.n or not scope]
        relevant = {document for document, level in members if level > 0}
        nonrelevant = sorted({document for document, level in members if level <= 0})
        y, x = len(relevant), len(nonrelevant)
        if y >= x:
            pairs = self.scope(pairs, scope)
            return (sum(map(self.is_fulfilled, pairs)) + len(rel_ret) * (y - x),
                    len(pairs) + len(rel) * (y - x))
        if len(subgroups) == 1:
            lowest = min(level for _, level in everything)
            kept = sorted(document for document, level in members if level == lowest)[:y]
            counted = [(a, b) for a, high in members for b, low in members if high > low > lowest]
            counted += [(document, k) for document, _ in members for k in kept]
        else:
            count = len(rel) if scope else y
            left_out = [document for document in nonrelevant
                        if count < x and document >= nonrelevant[count]]
            counted = [pair for pair in self.scope(pairs, scope) if not set(pair) & set(left_out)]
        return sum(map(self.is_fulfilled, counted)), len(counted)

    def value(self, measure):
        name = measure[len("prefs_"):]
        if name.startswith("num"):
            return getattr(self, name)()
        for scope in ("_ret", "_imp"):
            if name.endswith(scope):
                return getattr(self, name[:-4])(scope)
        return getattr(self, name)()


def random_preferences(rng):
    """Preferences of 1 to 4 groups and scores; some of several subgroups contradict themselves."""
    docnos = list("abcdefgh")[:rng.randint(1, 8)]
    top = rng.choice([1, 1, 2, 4])
    preferences = {}
    for group in range(rng.randint(1, 4)):
        pool = rng.sample(docnos, rng.randint(1, len(docnos)))
        zeros = set(rng.sample(pool, rng.randint(0, len(pool)))) if rng.random() < 0.8 else set()
        lowest = rng.choice([0, 0, 0, -1, -2])
        levels = {docno: rng.randint(lowest, 0) if docno in zeros else rng.randint(1, top) for docno in pool}
        subgroups = {}
        several = rng.choice([1, 1, 2, 3])
        for subgroup in range(several):
            members = pool if several == 1 else rng.sample(pool, rng.randint(1, len(pool)))
            subgroups["s%d" % subgroup] = [
                (docno, float(rng.randint(1, top) if levels[docno] > 0 and several > 1 and rng.random() < 0.1
                              else levels[docno])) for docno in members]
        if several > 1 and rng.random() < 0.1:
            subgroups["s0"].append(rng.choice(subgroups["s0"]))  # no error here
        preferences["g%d" % group] = subgroups
    retrieved = rng.sample(docnos + list("uvwxyz"), rng.randint(1, len(docnos) + 6))
    scores = {docno: float(rng.randint(0, 6)) for docno in retrieved}
    return preferences, scores, rng.choice([None, None, None, 0, 1, 3, 5])


@pytest.mark.parametrize("seed", range(20))
def test_prefs_agree_with_their_definitions(seed):
    rng = random.Random(seed)
    for _ in range(100):
        preferences, scores, depth = random_preferences(rng)
        slow = SlowPreferences(preferences, scores, depth)
        if slow.is_contradictory():
            with pytest.raises(TrecEvalError, match="contradict"):
                judge_prefs(preferences, scores, depth=depth)
            continue
        topic = judge_prefs(preferences, scores, depth=depth)
        values = {name: MEASURES[name].function(topic) for name in PREFS}
        assert values == {name: slow.value(name) for name in PREFS}, (preferences, scores, depth)


def test_prefs_terms_add_up():
    rng = random.Random(0)
    for _ in range(50):
        preferences, scores, depth = random_preferences(rng)
        try:
            topic = judge_prefs(preferences, scores, depth=depth)
        except TrecEvalError:
            continue
        for name in PREFS:
            value = MEASURES[name].function(topic)
            assert len(value.ranks) == len(value.terms)
            total = 0.0
            for term in value.terms:
                total += term
            assert value == (float(total) / value.working[2] if value.working and value.working[2] else total)


@pytest.mark.parametrize("ranking, groups, expected", [
    # a > b, a > c, b > c; the ranking c a: a > b and b > c are implied, the first of them is fulfilled
    ("ca", ["a2 b1 c0"], {"prefs_num_prefs_poss": 3, "prefs_num_prefs_ful": 1, "prefs_num_prefs_ful_ret": 0,
                          "prefs_simp": 1 / 3, "prefs_simp_ret": 0, "prefs_simp_imp": 1 / 3}),
    # the same by transitivity
    ("ca", ["a2 b1 | b2 c1"], {"prefs_num_prefs_poss": 3, "prefs_num_prefs_ful": 1,
                               "prefs_num_prefs_ful_ret": 0}),
    # two preferences of which neither document is retrieved
    ("x", ["a1 b0", "c1 d0"], {"prefs_num_prefs_poss": 2, "prefs_simp": 0, "prefs_pair": 0,
                               "prefs_simp_imp": 0}),
    # groups that contradict each other: a before b is 2 of 3
    ("ab", ["a1 b0", "a1 b0", "b1 a0"], {"prefs_pair": 2 / 3, "prefs_simp": 2 / 3, "prefs_avgjg": 2 / 3}),
    # a group without preferences counts in the mean of avgjg
    ("ab", ["a1 b0", "c1 d1"], {"prefs_avgjg": 0.5, "prefs_pair": 1, "prefs_simp": 1}),
    # Rnonrel, one subgroup: a, b and c against the kept b, of which a > b is fulfilled
    ("abc", ["a1 b0 c0"], {"prefs_avgjg_Rnonrel": 1 / 3}),
    # Rnonrel, several: c is left out
    ("abc", ["a1 b0 | a1 c0"], {"prefs_avgjg_Rnonrel": 1, "prefs_avgjg": 1}),
    # Rnonrel_ret: 2 * 2 of 3 * 2, R where one expects Y
    ("ab", ["a1 b1 c1"], {"prefs_avgjg_Rnonrel": 6 / 9, "prefs_avgjg_Rnonrel_ret": 4 / 6}),
    # nothing to count in one of the groups
    ("ab", ["a1 b0", "c0"], {"prefs_avgjg_Rnonrel": 0, "prefs_avgjg_Rnonrel_ret": 0, "prefs_avgjg": 0.5}),
    # negative levels are nonrelevant, below level 0, and the last class of one subgroup: d is kept, and
    # a, b, c, d against it besides a > b, c
    ("abcd", ["a1 b0 c0 d-1"], {"prefs_num_prefs_poss": 5, "prefs_num_prefs_ful": 5,
                                "prefs_avgjg_Rnonrel": 5 / 6}),
])
def test_prefs_by_hand(ranking, groups, expected):
    topic = example_preferences(ranking, *groups)
    assert {name: MEASURES[name].function(topic) for name in expected} == expected


def test_prefs_break_ties_by_ascending_docno():
    preferences = {"1": {"g": {"s": [("a", 1), ("b", 0)]}}}
    assert evaluate(preferences, {"1": {"b": 1.0, "a": 1.0}}, ["prefs_simp"], rel_format="prefs").summary == {
        "prefs_simp": 1.0}


def test_prefs_levels_have_the_precision_of_the_release():
    preferences = {"1": {"g": {"s": [("a", 1.00000001), ("b", 1.0)]}}}
    run = {"1": {"a": 2.0, "b": 1.0}}
    for release, expected in (("10.0", 1), ("9.0.8", 0)):
        assert evaluate(preferences, run, "prefs_num_prefs_poss", rel_format="prefs",
                        release=release).summary == {
            "prefs_num_prefs_poss": expected}


def test_prefs_ignore_judged_only_and_count_missing_topics():
    preferences = {topic: {"g": {"s": [("a", 1), ("b", 0)]}} for topic in "12"}
    run = {"1": {"x": 2.0, "a": 1.0}}
    evaluation = evaluate(preferences, run, "all_prefs", rel_format="prefs", judged_only=True, complete=True)
    assert evaluation.topics["1"]["prefs_simp"] == 1.0
    assert evaluation.topics["2"]["prefs_num_prefs_poss"] == 1
    assert evaluation.summary["prefs_simp"] == 0.5


def test_several_hundred_documents_need_no_recursion_or_narrow_integers():
    docnos = ["d%03d" % i for i in range(300)]
    chain = {"s%03d" % i: [(docnos[i], 2.0), (docnos[i + 1], 1.0)] for i in range(299)}
    topic = judge_prefs({"g": chain, "h": {"s": [(docno, 1.0) for docno in docnos]}},
                        {docno: -float(i) for i, docno in enumerate(docnos)})
    assert topic.counts.possible == topic.counts.ful_ret == 300 * 299 // 2
    assert MEASURES["prefs_avgjg"].function(topic) == 0.5


QRELS_JG = ["1 ann a 1", "1 ann b 0", "1 bob a 0", "1 bob b 2", "1 bob c -1"]


def test_qrels_jg_is_the_mean_over_the_groups():
    groups = read_qrels_jg(QRELS_JG)
    assert groups == {"1": {"ann": {"a": 1, "b": 0}, "bob": {"a": 0, "b": 2, "c": -1}}}
    scores = {"a": 3.0, "c": 2.0, "b": 1.0}
    for options in ({}, {"relevance_level": 2}, {"depth": 2}, {"judged_only": True}):
        rankings = [judge(groups["1"][name], scores, **options) for name in ("ann", "bob")]
        values = evaluate(groups, {"1": scores}, ["map_avgjg", "P_avgjg.1,3", "Rprec_mult_avgjg.1.0"],
                          rel_format="qrels_jg", **options).summary
        assert values == {
            "map_avgjg": sum(map(trec_eval_ref.average_precision, rankings)) / 2,
            "P_avgjg_1": sum(precision(ranking, 1) for ranking in rankings) / 2,
            "P_avgjg_3": sum(precision(ranking, 3) for ranking in rankings) / 2,
            "Rprec_mult_avgjg_1.00": sum(multiple_r_precision(ranking, 1.0) for ranking in rankings) / 2}


def test_qrels_prefs_takes_grades_for_levels():
    as_prefs = {"1": {"ann": {"": [("a", 1), ("b", 0)]}, "bob": {"": [("a", 0), ("b", 2), ("c", -1)]}}}
    run = {"1": {"a": 3.0, "c": 2.0, "b": 1.0}}
    assert (evaluate(read_qrels_jg(QRELS_JG), run, "all_prefs", rel_format="qrels_prefs")
            == evaluate(as_prefs, run, "all_prefs", rel_format="prefs"))


def test_formats_from_files():
    run = ["1 Q0 a 1 2.0 t", "1 Q0 b 2 1.0 t"]
    assert evaluate_files(QRELS_JG, run, "P_avgjg.1", rel_format="qrels_jg").summary == {"P_avgjg_1": 0.5}
    assert evaluate_files(QRELS_JG, run, "prefs_num_prefs_ful", rel_format="qrels_prefs").summary == {
        "prefs_num_prefs_ful": 3}  # ann: a > b; bob, implied: b > c and a > c
    assert evaluate_files(["1 g s a 2.5", "1 g s b 2"], run, "prefs_simp", rel_format="prefs").summary == {
        "prefs_simp": 1.0}


FORMAT_ERRORS = {
    "duplicate in a group": (
        "qrels_jg", ["2 u a 1", "1 u a 1", "1 v a 0", "1 u a 0"], 4,
        "qrels:4: expected each document of a group once, found 'a' of topic '1', group 'u' again, "
        "first on line 2"),
    "duplicate grade": (
        "qrels_prefs", ["1 u a 1", "1 u a 0"], 4,
        "qrels:2: expected each document of a group once, found 'a' of topic '1', group 'u' again, "
        "first on line 1"),
    "two levels": (
        "prefs", ["1 g s a 2", "1 g s b 1", "1 g s a 1"], 4,
        "qrels:3: expected each document of a group that has one subgroup once, found 'a' again, topic '1', "
        "group 'g', first on line 1"),
    "same level twice": (
        "prefs", ["1 g s a 2", "1 g s a 2"], 4,
        "qrels:2: expected each document of a group that has one subgroup once, found 'a' again, topic '1', "
        "group 'g', first on line 1"),
    "relevant and not": (
        "prefs", ["1 g s a 0", "2 g s a 1", "1 g s b 1", "1 g t a 2"], 4,
        "qrels:4: expected either level 0 or levels above 0 for a document of a group, found 0 and 2 for "
        "'a', topic '1', group 'g', first on line 1"),
    "contradiction": (
        "prefs", ["1 g s a 2", "1 g s b 1", "1 g t b 2", "1 g t c 1", "1 g u c 2", "1 g u a 1"], 4,
        "topic '1': group 'g': expected preferences that do not contradict each other, found 'a' preferred "
        "to 'b', and 'b' to 'a'"),
    "two levels in one of several subgroups": (
        "prefs", ["1 g s a 3", "1 g s a 1", "1 g s b 2", "1 g t c 1"], 4,
        "topic '1': group 'g': expected preferences that do not contradict each other, found 'a' preferred "
        "to 'b', and 'b' to 'a'"),
    "four fields": (
        "prefs", ["1 g s a 2", "1 g s 2"], 2,
        "qrels:2: expected 5 fields (topic group subgroup docno level), found 4: '1 g s 2'"),
    "six fields": (
        "prefs", ["1 g s a 2 x"], 2,
        "qrels:1: expected 5 fields (topic group subgroup docno level), found 6: '1 g s a 2 x'; "
        "are the files the wrong way round?"),
    "five fields": (
        "qrels_jg", ["1 g s a 2"], 2,
        "qrels:1: expected 4 fields (topic group docno grade), found 5: '1 g s a 2'"),
    "no lines": (
        "prefs", [""], 2,
        "qrels: expected lines of preferences (topic group subgroup docno level), found none"),
    "NaN": (
        "prefs", ["1 g s a nan"], 2,
        "qrels:1: expected a number as level, found 'nan', by which nothing can be ranked"),
}


@pytest.mark.parametrize("name", FORMAT_ERRORS)
def test_format_errors(name, tmp_path, monkeypatch, capsysbinary):
    rel_format, lines, status, message = FORMAT_ERRORS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text("\n".join(lines) + "\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1.0 t\n")
    assert main(["-R", rel_format, "-m", "num_q", "qrels", "run"]) == status
    assert capsysbinary.readouterr() == (b"", ("trec_eval_ref: %s\n" % message).encode())


@pytest.mark.parametrize("rel_format, lines", [
    ("prefs", ["1 g s a 1", "2 g s a 1", "2 g s a 1"]),                 # in a topic that is not evaluated
    ("qrels_jg", ["1 g a 1", "2 g a 1", "2 g a 1"]),
    ("prefs", ["1 g s a 2", "1 g s b 1", "1 h s b 2", "1 h s a 1"]),    # groups may contradict each other
    ("prefs", ["1 g s a 3", "1 g s a 2", "1 g s b 1", "1 g t c 1"]),    # two levels, several subgroups
    ("prefs", ["1 g s a 0", "1 g s b 1", "1 h s a 1"]),                 # 0 in one group, above 0 in another
    ("prefs", ["1 g s a 0", "1 g s b -1", "1 g t a -1"]),               # nonrelevant either way
])
def test_what_is_no_error(rel_format, lines):
    run = ["1 Q0 a 1 1.0 t"]
    with pytest.warns(TrecEvalWarning) if any(line[0] == "2" for line in lines) else contextlib.nullcontext():
        assert evaluate_files(lines, run, ["num_q"], rel_format=rel_format).summary == {"num_q": 1}


def test_errors_of_dicts_name_documents():
    run = {"1": {"a": 1.0}}
    for preferences, message in (
            ({"g": {"s": [("a", 1), ("a", 1)]}}, "that has one subgroup once, found 'a' again"),
            ({"g": {"s": [("a", 0)], "t": [("a", 1.5)]}}, "found 0 and 1.5 for 'a'"),
            ({"g": {"s": [("a", 2), ("b", 1)], "t": [("b", 2), ("a", 1)]}}, "found 'a' preferred to 'b'")):
        with pytest.raises(TrecEvalError, match="topic '1': group 'g': .*" + message) as error:
            evaluate({"1": preferences}, run, "prefs", rel_format="prefs")
        assert error.value.status == 4


@pytest.mark.parametrize("members, message", [
    ([("a", "high")],
     "topic '1', group 'g', subgroup 's': expected pairs (docno, level), found [('a', 'high')]"),
    ([("a", None)], "found [('a', None)]"), ([("a",)], "found [('a',)]"), ([5], "found [5]"),
    (None, "found None"),
    ([("a", 10 ** 400)], "found [('a', 1000"), ({"a": 1}, "found {'a': 1}"),
    ([(1, 1), ("b", 2)], "found [(1, 1), ("),
    ([(b"a", 1)], "found [(b'a', 1)]"), (["ab", 5], "found ['ab', 5]"),
])
def test_members_of_subgroups_that_are_refused(members, message):
    preferences = {"g": {"s": members}}
    with pytest.raises(TypeError, match=re.escape(message)):
        evaluate({"1": preferences}, {"1": {"a": 1.0}}, "prefs", rel_format="prefs")
    with pytest.raises(TypeError, match="^group 'g', subgroup 's': expected pairs"):
        judge_prefs(preferences, {"a": 1.0})


@pytest.mark.parametrize("preferences, message", [
    ([1], "expected a dict of dicts as preferences, found list"),
    ({"g": None}, "expected a dict of dicts as subgroups of group 'g', found NoneType"),
    ({1: {}}, "expected strings as groups, found 1"),
    ({"g": {2: []}}, "expected strings as subgroups, found 2"),
])
def test_preferences_that_judge_prefs_refuses(preferences, message):
    with pytest.raises(TypeError, match="^%s$" % message):
        judge_prefs(preferences, {"a": 1.0})


def test_levels_that_are_not_numbers():
    message = "^topic '1', group 'g', subgroup 's': expected numbers as levels, found"
    with pytest.raises(TrecEvalError, match=message):
        evaluate({"1": {"g": {"s": [("a", math.nan)]}}}, {"1": {"a": 1.0}}, "prefs", rel_format="prefs")


def test_levels_are_doubles_and_come_from_any_iterable():
    run = {"1": {"x": 1.0}}
    for members, possible in ([("x", 2 ** 53 + 1), ("b", 2 ** 53)], 0), ([("x", 1), ("b", 0)], 1):
        for kind in (list, tuple, iter):
            qrels = {"1": {"g": {"s": kind(members)}}}
            assert evaluate(qrels, run, ["prefs_num_prefs_poss"], rel_format="prefs").summary == {
                "prefs_num_prefs_poss": possible}


def test_readers_raise_with_lines():
    with pytest.raises(TrecEvalError, match="qrels:2: .*first on line 1"):
        read_qrels_jg(["1 g a 1", "1 g a 1"])
    with pytest.raises(TrecEvalError, match="prefs:2: .*first on line 1"):
        read_prefs(["1 g s a 1", "1 g s a 1"])
    with pytest.warns(TrecEvalWarning, match="prefs:1: expected a number as level, found '2x', read as 2"):
        assert read_prefs(["1 g s a 2x"]) == {"1": {"g": {"s": [("a", 2.0)]}}}


def test_comments_are_those_of_the_release():
    assert read_prefs(["# levels by ann", "1 g s a 1"]) == {"1": {"g": {"s": [("a", 1.0)]}}}
    with pytest.raises(TrecEvalError, match="prefs:1"):
        read_prefs(["# levels by ann", "1 g s a 1"], release="9.0.8")


@pytest.mark.parametrize("rel_format, name, expected", [
    ("prefs", "map", "qrels"), ("qrels_prefs", "map_avgjg", "qrels_jg"),
    ("qrels", "prefs_simp", "prefs or qrels_prefs"), ("qrels_jg", "all_prefs", "prefs or qrels_prefs")])
def test_measures_go_with_formats(rel_format, name, expected):
    message = "expected judgments in format %s, found %s" % (expected, rel_format)
    with pytest.raises(TrecEvalError, match=message) as error:
        evaluate({"1": {}}, {"1": {"a": 1.0}}, [name], rel_format=rel_format)
    assert error.value.status == 4


def test_grades_read_as_preferences_are_decimals(tmp_path):
    write(tmp_path, "1 g a 1.5\n1 g b 1.2\n1 g c .5\n", "1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n1 Q0 c 3 0 t\n")
    options = ["-R", "qrels_prefs", "-m", "prefs_num_prefs_poss", "-m", "prefs_num_prefs_ful"]
    result = run_main([*options, *FILES], tmp_path)
    assert (printed(result.out)["all"], result.err) == (
        {"prefs_num_prefs_poss": "3", "prefs_num_prefs_ful": "2"}, "")
    judgments, run = {"1": {"g": {"a": 1.5, "b": 1.2, "c": 0.5}}}, {"1": {"b": 2.0, "a": 1.0, "c": 0.0}}
    assert evaluate(judgments, run, ["prefs_simp"], rel_format="qrels_prefs").summary == {"prefs_simp": 2 / 3}
    with pytest.raises(TypeError, match="document 'a': expected a number as level, found 'x'"):
        evaluate({"1": {"g": {"a": "x"}}}, run, ["prefs_simp"], rel_format="qrels_prefs")
    write(tmp_path, "1 g b 1\n1 g a x\n", "1 Q0 b 1 2 t\n")
    warning = "qrels.txt:2: expected a number as level, found 'x', read as 0"
    assert warning in run_main([*options, *FILES], tmp_path).err


# ---- Reporting ----


@pytest.mark.parametrize("collection", ["adhoc", "graded", "missing"])
@pytest.mark.parametrize("release", RELEASES)
def test_json_has_every_digit(collection, release):
    directory = FIXTURES / collection
    options = ["-qc", "-mall_trec", "-myaap", "-l2", "-M50", "--release", release]
    report = json.loads(score(directory, *options, "--json"))
    expected = evaluate(read_qrels(directory / "qrels.txt"), read_run(directory / "run.txt"),
                        ["all_trec", "yaap"], release=release, complete=True, relevance_level=2, depth=50)
    text = printed(score(directory, *options))
    assert report["summary"].pop("runid") == text["all"].pop("runid")
    assert report["topics"] == expected.topics and report["summary"] == expected.summary
    assert set(report) == {"settings", "topics", "summary"}
    for topic, values in text.items():
        exact = report["summary"] if topic == "all" else report["topics"][topic]
        assert list(values) == list(exact)
        for name, value in exact.items():
            kind = int if name.startswith("num_") else str if name.startswith("relstring") else float
            assert type(value) is kind
            assert values[name] == {int: "%d", str: "'%s'", float: "%.4f"}[kind] % value


def test_json_settings_and_parts():
    directory = FIXTURES / "worked"
    report = json.loads(score(directory, "--json", "-m", "P@5,10", "-m", "map"))
    assert set(report) == {"settings", "summary"}
    settings = {"release": "10.0", "relevance_level": 1, "complete": False, "judged_only": False,
                "depth": None, "measures": ["P@5,10", "map"], "version": trec_eval_ref.__version__}
    assert {name: report["settings"][name] for name in settings} == settings
    report = json.loads(score(directory, "--json", "-qncJ", "-M7", "-l0", "--release=9.0.8"))
    assert set(report) == {"settings", "topics"}
    settings.update(release="9.0.8", relevance_level=0, complete=True, judged_only=True, depth=7,
                    measures=["official"])
    assert {name: report["settings"][name] for name in settings} == settings


@pytest.mark.parametrize("digits", [0, 1, 12])
def test_digits(digits):
    directory = FIXTURES / "worked"
    exact = json.loads(score(directory, "--json"))["summary"]
    for name, value in printed(score(directory, "--digits", str(digits)))["all"].items():
        if isinstance(exact[name], float):
            assert value.strip() == "%.*f" % (digits, exact[name])


@pytest.mark.parametrize("options, expected", named([
    ("default", [],
     "trec_eval 10.0|level 1|topics in both|depth all|unjudged kept|ties docno descending|R qrels"),
    ("all", ["-l2", "-c", "-M", "100", "-J", "--release", "9.0.8"],
     "trec_eval 9.0.8|level 2|topics in qrels|depth 100|unjudged removed|ties docno descending|R qrels"),
    ("groups", ["-R", "qrels_jg", "-l", "3"],
     "trec_eval 10.0|level 3|topics in both|depth all|unjudged kept|ties docno descending|R qrels_jg"),
    ("preferences", ["-R", "prefs"],
     "trec_eval 10.0|level 1|topics in both|depth all|unjudged kept|ties docno ascending|R prefs"),
    ("qrels as preferences", ["-R", "qrels_prefs", "-M0"],
     "trec_eval 10.0|level 1|topics in both|depth 0|unjudged kept|ties docno ascending|R qrels_prefs"),
]))
def test_signature(options, expected):
    expected = "trec_eval_ref %s|%s" % (trec_eval_ref.__version__, expected)
    assert run_main(["--signature", *options]) == Result(0, expected.encode() + b"\n", "")
    assert run_main(["--signature", *options, "-m", "map", "no", "files"]).out == expected.encode() + b"\n"
    if options[-1:] != ["prefs"] and "qrels_prefs" not in options and "qrels_jg" not in options:
        report = run_main(["--json", "-m", "map", *options, "qrels.txt", "run.txt"], FIXTURES / "worked").out
        assert json.loads(report)["settings"]["signature"] == expected


def test_signature_of_what_cannot_be():
    assert run_main(["--signature", "-l", "x"]).status == 1
    assert run_main(["--signature", "-R", "x"]).status == 2


# ---- Explaining ----


READERS = {"qrels": read_qrels, "qrels_jg": read_qrels_jg, "qrels_prefs": read_qrels_jg, "prefs": read_prefs}
COLLECTIONS = [("adhoc", "qrels"), ("graded", "qrels"), ("missing", "qrels"), ("sampled", "qrels"),
               ("ties", "qrels"),
               ("untidy", "qrels"), ("worked", "qrels"), ("groups", "qrels_jg"), ("groups", "qrels_prefs"),
               ("graded", "qrels_prefs"), ("preferences", "prefs")]
OTHER_PARAMETERS = (
    "utility.2,-0.5,-1,0.25 relstring.3 iprec_at_recall.0.33,7 P.1,3,4000 Rprec_mult.0,0.5,9 "
    "11pt_avg..25,.75,.5 G.1=2,2=0.5 dcg.0=1,1=-1 ideal_dcg.1=3 ndcg.1=3,2=9,3=27 ndcg.1=-1,2=-3 "
    "ndcg_rel.1=-1,2=4 Rndcg.0=1,1=-1 ndcg_cut.1,3 set_F.0 set_F.4 rbp.p=0.5,1=3,2=-1 rbp.p=1 "
    "rbp_resid.p=0.5 unj.1,3 P_avgjg.1,3 Rprec_mult_avgjg.0.5 map_cut.2 success.3 recall.2 "
    "relative_P.2").split()


@functools.cache
def collection_of(name, rel_format):
    """The judgments and the run, of a large collection some topics."""
    file = "prefs.txt" if rel_format == "prefs" else "qrels.txt"
    qrels, run = READERS[rel_format](FIXTURES / name / file), read_run(FIXTURES / name / "run.txt")
    step = 4 if len(qrels) > 8 else 1
    return tuple({topic: topics[topic] for topic in list(topics)[::step]} for topics in (qrels, run))


def requests_for(rel_format, release):
    """All measures that go with the format: by their names, and with other parameters."""
    known = {name for name, measure in MEASURES.items()
             if rel_format in (measure.rel_formats or [rel_format])}
    known -= trec_eval_ref.RELEASES[release].lacks
    return sorted(known), [request for request in OTHER_PARAMETERS if request.partition(".")[0] in known]


def worked_out(value, chain):
    """A Value computed once more from what it says of itself; the chain gets all numbers on the way."""
    chain.append(value)
    if not value.working:
        if value.terms or not chain[1:]:
            assert value == add(value.terms)
        return float(value)
    expression, *numbers = value.working
    for number in numbers:
        if isinstance(number, trec_eval_ref.Value):
            assert worked_out(number, chain) == number
        chain.append(number)
    if expression == "{} / {}" and not numbers[1]:
        return 0.0
    return eval(expression.format(*map(repr, numbers)), {"log": math.log, "exp": math.exp, "max": max})


def topics_to_show(topics, release, changes):
    """Some topics whose explanations are formatted, too, which takes more time than all else."""
    if release != "10.0" and changes:
        return []
    if not changes or "complete" in changes:  # the last may be missing from the run
        return {topics[0], topics[-1]}
    return topics[:1]


@pytest.mark.parametrize("changes", [{}, {"relevance_level": 2}, {"depth": 3}, {"judged_only": True},
                                     {"complete": True}, {"relevance_level": 0, "depth": 0}],
                         ids=["default", "l2", "M3", "J", "c", "l0-M0"])
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name, rel_format", COLLECTIONS)
def test_explained_values_are_those_of_evaluate_and_made_of_their_terms(name, rel_format, release, changes):
    qrels, run = collection_of(name, rel_format)
    settings = dict(changes, release=release, rel_format=rel_format)
    for requests in requests_for(rel_format, release):
        values = evaluate(qrels, run, requests, **settings)
        explained = trec_eval_ref.explain(qrels, run, requests, **settings)
        assert list(explained) == list(values.topics)
        for topic, explanations in explained.items():
            names = [explanation.column.name for explanation in explanations]
            assert [name for name in names if name in values.topics[topic]] == list(values.topics[topic])
            for explanation in explanations:
                measure = explanation.column.measure
                value = explanation.value
                if not measure.summary_only:
                    shown = values.topics[topic][explanation.column.name]
                    assert shown == ("" if explanation.note and measure.name == "relstring" else
                                     0 if explanation.note else value)
                if isinstance(value, trec_eval_ref.Value):
                    chain = []
                    assert worked_out(value, chain) == value
                    assert add(value.terms) in chain or not value.terms
                    assert len(value.ranks) == len(value.terms)
                else:
                    assert measure.is_count or measure.name == "relstring"
        for topic in topics_to_show(list(explained), release, changes):
            for explanation in explained[topic]:
                last = trec_eval_ref.explanation_lines(explanation)[-1]
                name = explanation.column.name
                assert last.startswith("  printed as " if explanation.note else f"  {name} = ")


def test_explained_numbers_beyond_the_topics():
    qrels, run = collection_of("missing", "qrels")
    for settings in ({"complete": True}, {"complete": True, "release": "9.0.8"}):
        values = evaluate(qrels, run, ["gm_map", "gm_bpref", "map"], **settings)
        explained = trec_eval_ref.explain(qrels, run, ["gm_map", "gm_bpref", "map"], **settings)
        for i, name in enumerate(["map", "gm_map", "gm_bpref"]):
            assert {topic[i].column.name for topic in explained.values()} == {name}
        logarithms = [topic[1].value for topic in explained.values()]
        assert logarithms == [math.log(max(topic["map"], 0.00001)) for topic in values.topics.values()]


def explained(name, *options):
    """The explanation that the command line prints, as lines."""
    result = run_main([*options, "qrels.txt", "run.txt"], FIXTURES / name)
    assert result.status == 0, result.err
    return result.out.decode().splitlines()


def table_of(lines, head):
    """The rows of the table whose heads begin like this, as lists of cells."""
    first = next(i for i, line in enumerate(lines) if re.sub(r"\s+", " ", line.strip()).startswith(head))
    rows = itertools.takewhile(lambda line: line.startswith("    "), lines[first + 1:])
    return [re.split(r"\s{2,}", row.strip()) for row in rows]


def test_the_table_of_the_article():
    lines = explained("worked", "--explain", "map", "-D", "0.1")
    assert "\n".join(lines) == """\
map of topic 1
  Average precision: the mean of the precisions at the relevant documents.
    AP = map = (1 / R) * sum of P@k over the ranks k of relevant documents
  P@k is hits(k) / k, and hits(k) the number of relevant documents among the first k.
  A relevant document that is not retrieved has precision 0, so that the divisor is R, the
  number of all relevant ones, and not that of the hits. An unjudged document counts as
  nonrelevant. The value is 0 if R = 0 or if nothing relevant is retrieved.
  documents are ranked by score, those of equal score by descending docno, not by the run's ranks
  R = 5 relevant documents in the judgments (grade >= 1), and NR = 6 judged nonrelevant
  N = 10 documents retrieved: 4 relevant (hits), 6 judged nonrelevant, 0 unjudged
  not retrieved: d1-missed (grade 1)
    rank  docno  score  grade    hits(rank)    adds   total     / 5
       1  d1-01     10      1             1  1.0000  1.0000  0.2000
       3  d1-03      8      1             2  0.6667  1.6667  0.1333
       6  d1-06      5      1             3  0.5000  2.1667  0.1000
       9  d1-09      2      1             4  0.4444  2.6111  0.0889
  documents that are not in this table add 0
  map = 2.6111 / 5 = 0.5222
"""


@pytest.mark.parametrize("request_", ["RBP(p=.8,rel=2)@10", "nDCG(gains={1:-1,2:3})",
                                      "nDCG(dcg='exp-log2')@4"])
def test_explained_grades_that_others_stand_for(tmp_path, request_):
    """R and hits are of what stands for them, and play no part."""
    write(tmp_path, {"1": {"a": 2, "b": 1, "c": 0}}, {"1": {"a": 3, "b": 2, "x": 1}})
    lines = run_main(["--explain", request_, *FILES], tmp_path).out.decode().splitlines()
    assert "  N = 3 documents retrieved" in lines and not any("relevant document" in line for line in lines)


@pytest.mark.parametrize("options", [[], ["-n"], ["--svg", "-"]])
def test_explain_without_anything_to_explain(tmp_path, options):
    write(tmp_path, QRELS, b"1\ta\t1\n")
    result = run_main([*options, "-T", "msmarco", "--explain", "runid", *FILES], tmp_path)
    assert_error(result, 1, "expected a measure to explain, found runid alone, and a run without a tag")


def test_what_leaves_documents_out_is_named(tmp_path):
    write(tmp_path, {"1": {"a": 1, "b": 0}}, {"1": dict(zip("abxyz", (5, 4, 3, 2, 1)))})
    for options, expected in ((["RR@2"], "3 that the cutoff"), (["RR", "-M", "4"], "1 that -M"),
                              (["RR@2", "-J", "-M4"], "3 that -M or -J or the cutoff")):
        out = run_main(["--explain", *options, *FILES], tmp_path).out.decode()
        assert f" retrieved (without {expected} leaves out)" in out


def test_rbp_counts_documents_by_their_scaled_gains(tmp_path):
    """Of a negative gain for grade 1, grade 0 is worth something."""
    write(tmp_path, {"1": {"a": 0, "b": 1, "c": 0}}, {"1": {"a": 2, "b": 1}})
    out = run_main(["--explain", "rbp.1=-1", *FILES], tmp_path).out.decode()
    assert "  not retrieved: c (grade 0)\n" in out
    picture = Drawn(run_main(["--explain", "rbp.1=-1", "--svg", "-", *FILES], tmp_path).out)
    assert any(word.startswith("The ranking: N = 2 documents, with 1 of the 2 with a gain")
               for word in picture.words())


def test_long_explanations_take_time_for_what_they_show():
    topic = {f"d{i:05d}": 1 + i % 2 for i in range(5000)}
    scores = {docno: -float(i) for i, docno in enumerate(topic)}
    explanation, = trec_eval_ref.explain({"1": topic}, {"1": scores}, ["G"])["1"]
    with mock.patch.object(trec_eval_ref, "_detail", wraps=trec_eval_ref._detail) as detail:
        assert "  ... 4975 rows left out" in "\n".join(trec_eval_ref.explanation_lines(explanation))
    assert detail.call_count == 25 * 4


@pytest.mark.parametrize("ranks, head, firsts", [
    (["a text", 1, 0.25], "adds total", ["a text", "1", "recall 0.25"]),
    ([0.25, 0.5, "a text"], "adds total", ["recall 0.25", "recall 0.50", "a text"]),
    ([Fraction(1), 2, 3], "rank docno", ["1", "2", "3"]),  # as numpy's integers, neither int nor float
])
def test_terms_of_texts_and_ranks(ranks, head, firsts):
    with mock.patch.dict(MEASURES):
        @trec_eval_ref.measure("mixed")
        def mixed(topic):
            """Terms of several kinds."""
            return trec_eval_ref.add_up(ranks, [1.0, 2.0, 3.0])
        explanation, = trec_eval_ref.explain({"1": {"a": 1}}, {"1": {"a": 1}}, ["mixed"])["1"]
        rows = table_of(trec_eval_ref.explanation_lines(explanation), head)
        assert [row[0] for row in rows] == firsts
        if head == "adds total":
            with pytest.raises(TrecEvalError, match="it is no sum over the ranks"):
                trec_eval_ref.explanation_svg(explanation)


def test_recall_levels_that_are_integers():
    topic = trec_eval_ref.example_ranking("1010")
    value = trec_eval_ref.average_interpolated_precision(topic, [0, 1])
    assert list(map(repr, value.ranks)) == ["1.0", "0.0"]
    assert value == trec_eval_ref.average_interpolated_precision(topic, (0.0, 1.0))


def test_explain_warns_as_evaluate_does():
    with pytest.warns(TrecEvalWarning, match="none of its documents is judged"):
        trec_eval_ref.explain({"1": {"a": 1}}, {"1": {"b": 1}}, ["map"])


def test_explained_ranks_beyond_the_ranking():
    """A measure of one's own may have terms at the ranks of an ideal ranking."""
    with mock.patch.dict(MEASURES):
        @trec_eval_ref.measure("ideal_hits")
        def ideal_hits(topic):
            """Hits of the ideal ranking."""
            return trec_eval_ref.count(range(1, topic.num_rel + 1))
        explanation, = trec_eval_ref.explain({"1": {"a": 1, "b": 1}}, {"1": {"a": 1}}, ["ideal_hits"])["1"]
        rows = table_of(trec_eval_ref.explanation_lines(explanation), "rank docno")
        assert rows == [["1", "a", "1", "1", "1", "1"], ["2", "1", "2"]]


def test_explained_interpolation():
    lines = explained("worked", "--explain", "11pt_avg", "-D", "0.1")
    assert table_of(lines, "rank docno")[:4] == [
        ["1", "d1-01", "10", "1", "1", "1.0000"], ["3", "d1-03", "8", "1", "2", "0.6667"],
        ["6", "d1-06", "5", "1", "3", "0.5000"], ["9", "d1-09", "2", "1", "4", "0.4444"]]
    assert table_of(lines, "level level * R m (release 10.0) largest P@k at rank")[:11] == [
        ["%.2f" % (i / 10), times, str(m), precision, *where]
        for i, (times, m, precision, *where) in enumerate([
            ("0.0000", 0, "1.0000", "1"), ("0.5000", 1, "1.0000", "1"), ("1.0000", 1, "1.0000", "1"),
            ("1.5000", 2, "0.6667", "3"), ("2.0000", 2, "0.6667", "3"), ("2.5000", 3, "0.5000", "6"),
            ("3.0000", 3, "0.5000", "6"), ("3.5000", 4, "0.4444", "9"), ("4.0000", 4, "0.4444", "9"),
            ("4.5000", 5, "0.0000"), ("5.0000", 5, "0.0000")])]
    assert [row[0] for row in table_of(lines, "is adds total / 11")] == [
        f"recall {i / 10:.2f}" for i in range(10, -1, -1)]
    assert "  11pt_avg = 6.2222 / 11 = 0.5657" in lines
    for release, row in (("10.0", ["0.25", "1.2500", "1", "1.0000", "1"]),
                         ("9.0.8", ["0.25", "1.2500", "2", "0.6667", "3"])):
        lines = explained("worked", "--explain", "iprec_at_recall.0.25", "-D", "0.1", "--release", release)
        assert table_of(lines, f"level level * R m (release {release}) largest P@k at rank")[0] == row
        assert not any("add" in line for line in lines)  # because the largest precision is no sum


def test_values_at_several_levels_share_what_explains_them():
    lines = explained("worked", "--explain", "iprec_at_recall", "-D", "0.1")
    assert lines[0] == "iprec_at_recall of topic 1"
    assert "  with level = 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1" in lines
    heads = [line.split()[0] for line in lines if re.match("    (rank|level) ", line)]
    assert heads == ["rank", "level"]
    rows = table_of(lines, "level level * R m")
    assert [row[0] for row in rows] == [f"{i / 10:.2f}" for i in range(11)]
    workings = [*["1 / 1 = 1.0000"] * 3, *["2 / 3 = 0.6667"] * 2, *["3 / 6 = 0.5000"] * 2,
                *["4 / 9 = 0.4444"] * 2, *["0.0000"] * 2]
    assert lines[-12:-1] == [f"  iprec_at_recall_{level} = {working}"
                             for (level, *_), working in zip(rows, workings)]
    explanations = trec_eval_ref.explain(*collection_of("worked", "qrels"), ["iprec_at_recall"])["1"]
    assert trec_eval_ref.explanation_lines(explanations) == lines[:-1]


def test_values_at_several_cutoffs_share_what_explains_them():
    lines = explained("worked", "--explain", "P", "--explain", "map", "--explain", "recall.2,5", "-D", "0.1")
    assert [line for line in lines if " of topic " in line] == [
        "map of topic 1", "P of topic 1", "recall of topic 1"]
    of_p = lines[lines.index("P of topic 1"):lines.index("recall of topic 1")]
    assert sum(line.startswith("  R = ") for line in of_p) == 1
    assert [row[0] for row in table_of(of_p, "rank docno score grade adds total")] == ["1", "3", "6", "9"]
    assert of_p[-10:-1] == [f"  P_{k} = {hits} / {k} = {hits / k:.4f}" for k, hits in zip(
        (5, 10, 15, 20, 30, 100, 200, 500, 1000), (2, *[4] * 8))]
    of_recall = lines[lines.index("recall of topic 1"):]  # all of its values are divided by R
    assert table_of(of_recall, "rank docno score grade adds total / 5") == [
        ["1", "d1-01", "10", "1", "1", "1", "0.2000"], ["3", "d1-03", "8", "1", "1", "2", "0.2000"]]
    assert of_recall[-3:] == ["  recall_2 = 1 / 5 = 0.2000", "  recall_5 = 2 / 5 = 0.4000", ""]
    cut = explained("graded", "--explain", "ndcg_cut.2,3", "-n")
    end = cut.index("")
    d, j = ({int(row[0]): row[-1] for row in table_of(cut[:end], head)}
            for head in ("rank docno", "rank ideal"))
    assert f"  D(3) = {d[max(d)]}" in cut[:end] and f"  J(3) = {j[3]}" in cut[:end]
    assert [line.rpartition(" = ")[0] for line in cut[end - 2:end]] == [
        f"  ndcg_cut_2 = {d[2]} / {j[2]}", f"  ndcg_cut_3 = {d[3]} / {j[3]}"]


def test_explanations_of_different_rankings_share_nothing():
    judgments = {"1": {"a": 1, "b": 1}}
    first, = trec_eval_ref.explain(judgments, {"1": {"a": 1}}, ["P.1"])["1"]
    second, = trec_eval_ref.explain(judgments, {"1": {"x": 2, "a": 1}}, ["P.2"])["1"]
    lines = trec_eval_ref.explanation_lines([first, second])
    assert lines == [*trec_eval_ref.explanation_lines(first), "", *trec_eval_ref.explanation_lines(second)]
    requests = ["P@2", "map", "P@1", "P(rel=2)@2"]
    both = trec_eval_ref.explain(judgments, {"1": {"x": 2, "a": 1}}, requests)["1"]
    lines = trec_eval_ref.explanation_lines(both)
    assert [line for line in lines if " of topic " in line] == [
        "map of topic 1", "P of topic 1", "P(rel=2)@2 of topic 1"]
    assert [line for line in lines if line.startswith("  P@")][1:] == [
        "  P@1 = 0 / 1 = 0.0000", "  P@2 = 1 / 2 = 0.5000"]


def test_explained_ndcg_has_the_ideal_ranking_beside_the_actual_one():
    lines = explained("worked", "--explain", "ndcg", "-D", "0.1")
    assert "    rank  docno  score  grade    gain  log2(rank+1)    adds   total  / 2.9485" in lines
    assert [row[4:-2] for row in table_of(lines, "rank docno")] == [
        ["1", "1", "1.0000"], ["1", "2", "0.5000"], ["1", "2.8074", "0.3562"], ["1", "3.3219", "0.3010"]]
    assert table_of(lines, "rank ideal gain")[1] == ["2", "1", "1.5850", "0.6309", "1.6309"]
    assert lines[lines.index("  ndcg = 2.1572 / 2.9485 = 0.7316") - 1] == "  ideal_dcg = 2.9485"
    cut = explained("worked", "--explain", "ndcg_cut.3", "-D", "0.1")
    assert [row[0] for row in table_of(cut, "rank ideal gain")] == ["1", "2", "3"]
    assert "  J(3) = 2.1309" in cut and "  ndcg_cut_3 = 1.5000 / 2.1309 = 0.7039" in cut
    assert [line for line in cut if re.match(r"  [DJ]\(3\)", line)] == [
        "  D(3):", "  D(3) = 1.5000", "  J(3):", "  J(3) = 2.1309"]
    assert "  below rank 3: d1-06 (grade 1), d1-09 (grade 1)" in cut
    assert "best possible" not in "".join(lines + cut)  # the formula of ndcg says what ideal_dcg is


def test_explained_documents_above(tmp_path):
    bpref = explained("worked", "--explain", "bpref", "-D", "0.1")
    rows = table_of(bpref, "rank docno score grade n b total / 5")
    assert [(row[0], row[-4], row[-3]) for row in rows] == [
        ("1", "0", "1.0000"), ("3", "1", "0.8000"), ("6", "3", "0.4000"), ("9", "5", "0.0000")]
    assert "  bpref = 2.2000 / 5 = 0.4400" in bpref and "  min(R, NR) = 5" in bpref
    inf_ap = explained("worked", "--explain", "infAP", "-D", "0.1")
    assert [row[-6:-3] for row in table_of(inf_ap, "rank docno")] == [
        ["0", "0", "0"], ["1", "1", "0"], ["2", "3", "0"], ["3", "5", "0"]]
    judgments = {"a": 1, "b": -1, "c": 0, "d": -2, "e": 1, "f": 1, "g": -1}
    write(tmp_path, {"1": judgments}, {"1": {docno: -rank for rank, docno in enumerate("ahbcdefg")}})
    result = run_main(["--explain", "infAP", *FILES], tmp_path)
    lines = result.out.decode().splitlines()
    assert [row[-6:-3] for row in table_of(lines, "rank docno score grade r n u s total / 3")] == [
        ["0", "0", "0"], ["1", "1", "2"], ["2", "1", "2"]]
    assert ("  N = 8 documents retrieved: 3 relevant (hits), 1 judged nonrelevant, "
            "4 unjudged (3 of grade < 0, 1 not in the judgments)") in lines


def test_explained_rbp(tmp_path):
    write(tmp_path, {"1": {"a": 2, "c": 1, "d": -1}}, {"1": {"a": 4, "b": 3, "c": 2, "d": 1}})
    lines = run_main(["--explain", "rbp.p=0.5", "qrels.txt", "run.txt"], tmp_path).out.decode().splitlines()
    assert table_of(lines, "rank docno score grade scaled gain p^(rank-1)") == [
        ["1", "a", "4", "2", "1", "1", "1.0000", "1.0000"],
        ["3", "c", "2", "1", "0.5000", "0.2500", "0.1250", "1.1250"]]
    assert "  scaled gains: 1=0.5, 2=1" in lines and "rbp_resid" not in "".join(lines)
    others = "  documents that are not in this table add 0"
    assert lines[lines.index("  rbp_p=0.5 = (1 - 0.5000) * 1.1250 = 0.5625") - 1] == others
    lines = run_main(["--explain", "rbp_resid.p=0.5", *FILES], tmp_path).out.decode().splitlines()
    assert table_of(lines, "rank docno") == [["2", "b", "3", "-", "unjudged", "0.5000", "0.5000", "0.5000"],
                                             ["4", "d", "1", "-1", "unjudged", "0.1250", "0.1250", "0.6250"]]
    assert "  rbp_resid_p=0.5 = 0.0625 + (1 - 0.5000) * 0.6250 = 0.3750" in lines
    assert others not in lines
    write(tmp_path, {"1": {"a": 3, "c": 1}}, {"1": {"a": 4}})
    assert b"  scaled gains: 1=0.3333, 3=1\n" in run_main(["--explain", "rbp", *FILES], tmp_path).out


def test_explained_sets():
    for name, working in (("set_P", "4 / 10 = 0.4000"), ("set_recall", "4 / 5 = 0.8000"),
                          ("set_F", "(1 + 1) * 0.4000 * 0.8000 / (0.8000 + 1 * 0.4000) = 0.5333")):
        lines = explained("worked", "--explain", name, "-D", "0.1")
        assert f"  {name} = {working}" in lines and not any("others" in line for line in lines)
    lines = explained("worked", "--explain", "set_map", "-D", "0.1")
    assert lines[lines.index("  set_map = 16 / 50 = 0.3200") - 1] == "  4^2 = 16"
    assert table_of(lines, "rank docno score grade adds total")[-1] == ["9", "d1-09", "2", "1", "1", "4"]
    lines = explained("worked", "--explain", "utility.1,0,0,1", "-D", "0.1", "-N", "1000")
    assert "  D = 1000 documents in the collection (-N)" in lines
    assert table_of(lines, "adds total")[-1] == ["others, missed", "989", "993"]


def test_explained_preferences():
    result = run_main(["--explain", "prefs_simp", "-D", "0.a", "-R", "prefs", "prefs.txt", "run.txt"],
                      FIXTURES / "preferences")
    lines = result.out.decode().splitlines()
    counts = ["group u1", "3", "5", "6", "6", "1"]
    assert table_of(lines, "ful_ret ful_imp poss_ret poss_imp absent") == [counts]
    assert table_of(lines, "adds total / 13") == [["both retrieved", "3", "3", "0.2308"],
                                                  ["implied", "5", "8", "0.3846"]]
    assert "  prefs_simp = 8 / 13 = 0.6154" in lines
    lines = run_main(["--explain", "prefs_avgjg_Rnonrel", "-D", "0.a", "-R", "prefs", "prefs.txt", "run.txt"],
                     FIXTURES / "preferences").out.decode().splitlines()
    assert table_of(lines, "ful_ret ful_imp poss_ret poss_imp absent relevant nonrelevant") == [
        [*counts, "4", "2"]]


def test_explained_groups():
    lines = run_main(["--explain", "map_avgjg", "-R", "qrels_jg", "-n", "qrels.txt", "run.txt"],
                     FIXTURES / "groups").out.decode().splitlines()
    assert lines[0] == "map_avgjg of topic 201"
    groups = [lines[i + 1:] for i, line in enumerate(lines) if re.fullmatch("  group .*:", line)]
    assert len(groups) > 2 and all(of_group[0].startswith("  R = ") for of_group in groups)
    first = lines[:lines.index("")]
    adds = [row[-1] for row in table_of(first, "is adds total / ")]
    assert len(adds) == sum(bool(re.fullmatch("  group .*:", line)) for line in first)
    lines = run_main(["--explain", "P_avgjg.2,5", "-R", "qrels_jg", "-D", "0.202", *FILES],
                     FIXTURES / "groups").out.decode().splitlines()
    assert [line for line in lines if re.match("  group|  P_avgjg|    group", line)] == [
        "  group ann:", "  group bob:", "    group ann  1 / 2  0.5000  0.5000  0.2500",
        "    group bob  2 / 2  1.0000  1.5000  0.5000", "  P_avgjg_2 = 1.5000 / 2 = 0.7500",
        "    group ann  2 / 5  0.4000  0.4000  0.2000", "    group bob  3 / 5  0.6000  1.0000  0.3000",
        "  P_avgjg_5 = 1 / 2 = 0.5000"]


def test_explained_marks(tmp_path):
    write(tmp_path, {"1": {"a": 1, "b": -1, "d": 1, "e": 1, "f": 0}},
          {"1": {"a": 2, "b": 1, "c": 1, "d": 1, "f": 0}})
    for options, expected in (([], [["1", "d", "1", "1", "tied"], ["2", "c", "1", "-", "tied, unjudged"],
                                    ["3", "b", "1", "-1", "tied, unjudged"], ["4", "f", "0", "0", "0"]]),
                              (["-J"], [["1", "d", "1", "1", "tied"], ["2", "f", "0", "0", "0"]])):
        lines = run_main(["--explain", "relstring", "-l0", *options, "qrels.txt", "run.txt"],
                         tmp_path).out.decode()
        rows = table_of(lines.splitlines(), "rank docno")
        assert rows[0][:4] == ["1", "a", "2", "1"]
        assert [[str(int(row[0]) - 1), *row[1:5]] for row in rows[1:]] == expected
    single = "1 0 a 1\n1 0 b 1\n", "1 Q0 a 0 1.00000001 t\n1 Q0 b 0 1.00000002 t\n"
    for release, tied in (("10.0", 0), ("9.0.8", 2)):
        write(tmp_path, *single)
        lines = run_main([*release_option(release), "--explain", "map", "qrels.txt", "run.txt"],
                         tmp_path).out.decode()
        assert lines.count("tied") == tied
    rule = ("  documents are ranked by score, those of equal score by descending docno, "
            "not by the run's ranks\n")
    assert rule in lines
    result = run_main([*release_option("9.0.8"), "--explain", "prefs_simp", "-R", "qrels_prefs", *FILES],
                      tmp_path)
    assert rule.replace("descending", "ascending").encode() in result.out


def test_explained_documents_that_are_not_retrieved(tmp_path):
    write(tmp_path, {"1": {"a": 1, "b": 2, "c": 1, "d": 0, "e": -1, "f": 3}}, {"1": {"x": 2, "f": 1}})

    def missed(*options):
        lines = run_main([*options, "qrels.txt", "run.txt"], tmp_path).out.decode().splitlines()
        return [line for line in lines if line.startswith(("  not retrieved", "  not in "))]
    assert missed("--explain", "map") == ["  not retrieved: b (grade 2), a (grade 1), c (grade 1)"]
    assert missed("--explain", "map", "-l2") == ["  not retrieved: b (grade 2)"]
    assert missed("--explain", "map", "-l0")[0].endswith("a (grade 1), c (grade 1), d (grade 0)")
    assert missed("--explain", "ndcg", "-l2")[0].endswith(": b (grade 2), a (grade 1), c (grade 1)")
    assert missed("--explain", "ndcg.0=1,1=0") == ["  not retrieved: b (grade 2), d (grade 0)"]
    assert missed("--explain", "recip_rank", "-M1")[0].startswith("  not in the ranking: f (grade 3), b")
    assert missed("--explain", "ideal_dcg") == ["  not retrieved: b (grade 2), a (grade 1), c (grade 1)"]
    out = run_main(["--explain", "map", "-M1", "qrels.txt", "run.txt"], tmp_path).out.decode()
    n = "N = 1 document retrieved (without 1 that -M leaves out)"
    assert f"  {n}: 0 relevant (hits), " in out


def test_explained_documents_below_the_cutoff(tmp_path):
    write(tmp_path, {"1": {"a": 1, "b": 2, "c": 0, "d": 3, "e": -1}},
          {"1": {"x": 7, "a": 6, "b": 5, "c": 4, "d": 3, "e": 2, "y": 1}})
    for request, names in (("P.2", "b (grade 2), d (grade 3)"), ("ndcg_cut.4", "d (grade 3)"),
                           ("success.9", ""), ("map", ""), ("unj.1", ""), ("Judged.2", ""),
                           ("P.1,3", "d (grade 3)")):
        lines = run_main(["--explain", request, *FILES], tmp_path).out.decode().splitlines()
        k = request.rpartition(".")[2].rpartition(",")[2]
        below = [f"  below rank {k}: {names}"] if names else []
        assert [line for line in lines if "below rank" in line] == below, request


def test_long_explanations_are_cut_in_the_middle():
    short = explained("adhoc", "--explain", "relstring.99999", "-D", "0.401")
    whole = explained("adhoc", "--explain", "relstring.99999", "-D", "0.401", "--explain-all")
    assert len(table_of(whole, "rank docno")) == 40
    rows = table_of(short, "rank docno")
    assert rows[:20] + rows[21:] == table_of(whole, "rank docno")[:20] + table_of(whole, "rank docno")[-5:]
    assert rows[20] == ["... 15 rows left out, which --explain-all shows ..."]
    for unretrieved in (15, 16, 17):
        judgments, scores = ranked([1], 1, unretrieved)
        explanation, = trec_eval_ref.explain({"1": judgments}, {"1": scores}, ["map"])["1"]
        for all_rows in (False, True):
            lines = "\n".join(trec_eval_ref.explanation_lines(explanation, all_rows))
            assert lines.count("missed") == (unretrieved if all_rows else 15)
            assert (f"and {unretrieved - 15} more" in lines) == (unretrieved > 15 and not all_rows)


@pytest.mark.parametrize("gain, shown", [
    ("3", "3"), ("0.25", "0.2500"), ("0.0001", "0.0001"), ("0.00015678", "0.0002"), ("0.00002", "0.00002"),
    ("0.000012345678912", "0.0000123457"), ("1e-10", "0.0000000001"), ("1.23456e-11", "1.235e-11"),
    ("-0.00002", "-0.00002"), ("123456789.25", "123456789.2500"), ("1e14", "100000000000000"),
    ("1e15", "1000000000000000.0000"),
])
def test_explained_numbers(tmp_path, gain, shown):
    write(tmp_path, {"1": {"a": 1}}, {"1": {"a": 1}})
    result = run_main(["--explain", f"dcg.1={gain}", "-n", *FILES], tmp_path)
    assert table_of(result.out.decode().splitlines(), "rank docno score grade gain")[0][4] == shown


def test_explained_summaries():
    lines = explained("missing", "--explain", "map", "--explain", "num_rel", "--explain", "num_q",
                      "--explain", "runid")
    assert lines[lines.index("all topics"):] == [
        "all topics", "  The tag on the run's last line.", "    runid = 'partial'",
        "  The number of topics averaged over.", "    num_q = 2",
        "  The sum over the topics, or with -c the lines of grade > 0 in the whole qrels.",
        "    num_rel = 6", "  The arithmetic mean over the topics.", "    map = 0.6667 / 2 = 0.3333",
        "  topics in the qrels alone are skipped (-c would count them): 51, 53",
        "  topics in the run alone are ignored: 99"]
    assert [line for line in lines if " of topic " in line] == [
        "%s of topic %s" % (name, topic) for topic in ("52", "54") for name in ("num_rel", "map")]
    complete = explained("missing", "-c", "--explain", "utility", "--explain", "gm_map")
    assert complete.count("  printed as 0: the run misses this topic, and this value is set to 0") == 2
    counted = "  topics in the qrels alone count as if nothing relevant had been retrieved (-c): 51, 53"
    assert counted in complete
    older = explained("missing", "-c", "--explain", "gm_map", "--release", "9.0.8")
    assert "    gm_map = exp((-2.1972 + 2 * ln(0.00001)) / 4) = 0.0018" in older
    assert "all topics" not in explained("missing", "--explain", "map", "-n")
    one = explained("missing", "--explain", "map", "-D", "0.54")
    assert [line for line in one if " of topic " in line] == ["map of topic 54"]
    assert "all topics" not in one  # because there is no mean of several to explain
    means = explained("missing", "--explain", "P.1,2")
    assert [line.partition(" =")[0] for line in means[means.index("all topics") + 1:][:3]] == [
        "  The arithmetic mean over the topics.", "    P_1", "    P_2"]


@pytest.mark.parametrize("count", [15, 16])
def test_explanations_name_some_of_the_other_topics(tmp_path, count):
    others = [f"other{i}" for i in range(10, 10 + count)]
    write(tmp_path, {"1": {"a": 1}, **{topic: {"a": 1} for topic in others}}, {"1": {"a": 1}})
    result = run_main(["--explain", "map", *FILES], tmp_path)
    names = others if count == 15 else [*others[:15], "and 1 more"]
    assert result.out.decode().splitlines()[-1] == (
        "  topics in the qrels alone are skipped (-c would count them): " + ", ".join(names))


def test_explaining_is_for_measures_that_exist_and_no_zscores():
    for arguments, status, message in (
            (["--explain", "map", "-Z", "zscores.txt"], 1, "without -Z"),
            (["--explain", "mapp"], 1, "did you mean map"),
            (["--explain", "P.0"], 2, "expected cutoffs"),
            (["--explain", "map", "-D", "0.7"], 7, "topic '7'"), (["--explain", "prefs_simp"], 4, "format")):
        result = run_main([*arguments, "qrels.txt", "run.txt"], FIXTURES / "worked")
        assert (result.status, result.out) == (status, b"") and message in result.err
        assert result.err.count("\n") == 1


def test_explanations_of_odd_input(tmp_path):
    qrels = b"\xff\xe9 0 a 1000000000000000000\n\xff\xe9 0 \xfe 1\n1 0 a -1\n1 0 b -7\n"
    run = b"\xff\xe9 Q0 \xfe 1 1e308 t\n\xff\xe9 Q0 b 1 -inf t\n1 Q0 a 1 inf t\n"
    write(tmp_path, qrels, run)
    for options in ([], ["-J"], ["-M", "0"], ["-c"], ["-l", "0"], ["-l", "9" * 18]):
        result = run_main(["--explain", "all_trec", "--explain", "yaap", "--explain", "dcg", *options,
                           "qrels.txt", "run.txt"], tmp_path)
        assert result.status == 0 and b"map of topic \\xff\\xe9\n" in result.out
        assert "Traceback" not in result.err


def test_explanation_of_a_topic_without_judgment_groups():
    explanation, = trec_eval_ref.explain({"1": {}}, {"1": {"a": 1.0}}, [
                                         "map_avgjg"], rel_format="qrels_jg")["1"]
    assert trec_eval_ref.explanation_lines(explanation)[-1] == "  map_avgjg = 0 / 0 = 0 by definition"


SYMBOLS = r"\b(?:[A-Za-z]|NR|Rc|AP|dcg|ideal_dcg|hits|cost|gain|level|multiple|(?:ful|poss)_\w+|absent)\b"


BOUND = r"(?:rank|end|pair|level|multiple)s? (?:of \w+ documents )?(\w)(?:, (\w))?\b"  # "ranks k"
DEFINED = r"(?:^| )(\w+)(?:\(\w+\)|@k)? = "


def test_symbols_of_a_formula_are_said():
    """Each is bound or defined by the formula, or it is said below what it means or how much it is."""
    for rel_format, name in ("qrels", "graded"), ("qrels_jg", "groups"), ("prefs", "preferences"):
        qrels, run = collection_of(name, rel_format)
        for requests in requests_for(rel_format, "10.0"):
            explained = trec_eval_ref.explain(qrels, run, requests, rel_format=rel_format)
            for explanation in next(iter(explained.values())):
                lines = trec_eval_ref.explanation_lines(explanation)[2:]
                formula = list(itertools.takewhile(lambda line: line.startswith("    "), lines))
                below, formula = " ".join(lines[len(formula):]), " ".join(formula)
                known = {symbol for bound in re.findall(BOUND, formula) for symbol in bound}
                known.update(re.findall(DEFINED, formula), ["a"])  # the article "a", too, looks like a symbol
                for symbol in sorted(set(re.findall(SYMBOLS, formula)) - known):
                    assert re.search(rf"\b{symbol}\b", below), (
                        f"{explanation.column.name}: say below the formula what {symbol} means")


def numbers_of(table):
    """The cells of a table's rows, numbers as such."""
    return [[float(cell) if re.fullmatch(r"-?[0-9.]+", cell) else cell for cell in row] for row in table]


def test_terms_can_be_worked_out_by_hand():
    def rows(name, request):
        """The rows that documents have, without rank, docno, score, grade and what follows the term."""
        lines = explained(name, "--explain", request, "-n")
        heads = next(line.split() for line in lines if line.startswith("    rank"))
        after = len(heads) - heads.index("total") + 1 - ("/" in heads)
        has_documents = "docno" in heads
        return [(row[0], *row[4 if has_documents and isinstance(row[0], float) else 1:-after], row[-after])
                for row in numbers_of(table_of(lines, "rank"))]
    lines = explained("sampled", "--explain", "bpref", "-n")
    judged = re.search(r"R = (\d+) relevant.*NR = (\d+) judged", "\n".join(lines))
    r, nr = map(int, judged.groups())
    for _, n, adds in rows("sampled", "bpref"):
        assert adds == pytest.approx(1 - min(n, r) / min(r, nr) if n else 1, abs=0.0001)
    for k, r, n, u, adds in rows("sampled", "infAP"):
        e = 0.00001
        expected = 1 / k + (k - 1) / k * (r + n + u) / (k - 1) * (r + e) / (r + n + 2 * e) if k > 1 else 1
        assert adds == pytest.approx(expected, abs=0.0001)
    for _, gain, *_, cost, s, adds in rows("graded", "G.1=0.5"):
        assert adds == pytest.approx(gain / math.log2(2 + cost - s), abs=0.0001)
    for request in "ndcg_rel", "Rndcg":
        *terms, last = rows("graded", request)
        assert len(terms) > 2 and isinstance(last[0], str)
        for _, d, j, adds in terms:
            assert adds == pytest.approx(d / j, abs=0.0001)
    lines = explained("graded", "--explain", "ndcg_rel", "-n")
    found = re.search(r"I = (\d+) documents of positive gain.* v = (\d+) of", "\n".join(lines))
    i, v = map(int, found.groups())
    label, d, j, adds = rows("graded", "ndcg_rel")[-1]
    assert label == "not retrieved" and adds == pytest.approx((i - v) * d / j, abs=0.001)
    assert sum(row[0] != label for row in rows("graded", "ndcg_rel")) == v
    assert rows("graded", "Rndcg")[-1][0] == "whole ranking"
    for k, hits, adds in rows("worked", "map_cut.5"):
        assert adds == pytest.approx(hits / k, abs=0.0001)


def test_explained_preferences_of_each_document():
    for topic in "ac":
        result = run_main(["--explain", "prefs_avgjg", "-n", "-D", f"0.{topic}", "-R", "prefs", "prefs.txt",
                           "run.txt"], FIXTURES / "preferences")
        text = result.out.decode()
        counts = {row[0]: list(map(int, row[1:])) for row in table_of(text.splitlines(), "ful_ret ful_imp")}
        scores = collection_of("preferences", "prefs")[1][topic]
        run = {docno: rank for rank, docno in enumerate(sorted(scores, key=scores.get, reverse=True), 1)}
        heads = "rank  .*  preferred, fulfilled, to  preferred, not fulfilled, to"
        rows = r"((?:    +(?:\d+|not retrieved) .*\n)+)"
        for group, table in re.findall(rf"  (group \w+):\n    {heads}\n{rows}", text):
            fulfilled, not_fulfilled = 0, 0
            for row in table.splitlines():
                rank, docno, *others = re.split(r"\s{2,}", row.strip())
                assert others and rank == str(run.get(docno, "not retrieved"))
                for other in re.findall(r"\w+", " ".join(others)):
                    is_fulfilled = docno in run and (other not in run or run[docno] < run[other])
                    fulfilled += is_fulfilled
                    not_fulfilled += not is_fulfilled
            ful_ret, ful_imp, poss_ret, poss_imp, absent = counts.pop(group)
            assert fulfilled == ful_ret + ful_imp
            assert fulfilled + not_fulfilled == poss_ret + poss_imp + absent
            of_group = next(row for row in table_of(text.splitlines(), "is adds total") if row[0] == group)
            assert of_group[1] == f"{fulfilled} / {fulfilled + not_fulfilled}"
        assert list(counts) == (["all"] if topic == "c" else [])
    line = [line for line in text.splitlines() if line.startswith("    all")]
    assert line == ["    all             2        1         3         2       0"]
    assert re.findall("  group (u.):\n(?:    .*\n)+", text) == ["u1", "u2"]


def test_explained_preferences_between_many_documents():
    """A document is preferred to many others, of which only the first are named."""
    levels = [(f"d{i:02}", 2.0 if i == 0 else 1.0) for i in range(20)]
    explanation, = trec_eval_ref.explain({"1": {"g": {"s": levels}}}, {"1": {"d00": 1.0}}, ["prefs_simp"],
                                         rel_format="prefs")["1"]
    for all_rows, end in (False, "d15, and 4 more"), (True, "d19"):
        rows = table_of(trec_eval_ref.explanation_lines(explanation, all_rows), "rank docno preferred, ful")
        assert rows[0] == ["1", "d00", ", ".join(f"d{i:02}" for i in range(1, 16 if end[3:] else 20))
                           + end[3:]]
        assert rows[1][0] == "adds"  # no other document is preferred to any


def test_explained_topic_that_the_run_misses():
    for options in [], ["-J"]:
        lines = explained("missing", "-c", "-n", "-D", "0.51", "--explain", "map", *options)
        assert lines[:2] == ["map of topic 51", "  the run misses this topic; with -c, one unjudged "
                                                "document takes its place"]
        n = "1 document retrieved"
        if options:
            n = "0 documents retrieved (without 1 that -J leaves out)"
        assert any(line.startswith(f"  N = {n}: 0 relevant (hits), ") for line in lines)
    assert "misses" not in "".join(explained("missing", "-c", "-n", "-D", "0.52", "--explain", "map"))


def test_explained_counts_are_whole_and_agree_with_their_nouns(tmp_path):
    write(tmp_path, {"1": {"a": 1, "b": 0}}, {"1": {"a": 2, "b": 1}})
    for request, rows in (("num_rel_ret", [["1", "a", "2", "1", "1", "1"]]),
                          ("P.2", [["1", "a", "2", "1", "1", "1", "0.5000"]]),
                          ("utility", [["relevant, retrieved", "1", "1"], ["others, retrieved", "-1", "0"],
                                       ["relevant, missed", "0", "0"], ["others, missed", "0", "0"]])):
        lines = run_main(["--explain", request, "-n", *FILES], tmp_path).out.decode().splitlines()
        assert table_of(lines, "rank docno" if request != "utility" else "adds total") == rows
        r = "R = 1 relevant document in the judgments (grade >= 1), and NR = 1 judged nonrelevant"
        assert f"  {r}" in lines
    for request in "P.2", "map", "ndcg", "set_F":
        lines = run_main(["--explain", request, "-n", "-l2", *FILES], tmp_path).out.decode()
        assert ("0 / 0 = 0 by definition" in lines) == (request == "map")
    nested = run_main(["--explain", "gm_map", "-n", "-l2", *FILES], tmp_path).out.decode().splitlines()
    assert nested[-3:-1] == ["  map = 0 / 0 = 0 by definition", "  gm_map = ln(max(0, 0.00001)) = -11.5129"]


def test_explained_grades_that_others_replace(tmp_path):
    write(tmp_path, {"1": {"a": 1, "b": 2, "c": 1}}, {"1": {"a": 2, "b": 1}})
    for request, words in (("nDCG(dcg='exp-log2')@10", "in place of a grade stands 2^grade - 1"),
                           ("nDCG(gains={1: 3})@10", "in place of a grade stands 1=3"),
                           ("RBP(rel=2)", "grades from 2 on count as 1, others as 0")):
        lines = run_main(["--explain", request, "-n", *FILES], tmp_path).out.decode().splitlines()
        assert f"  {words}" in lines
        assert ("  not retrieved: c (grade 1)" in lines) == (request != "RBP(rel=2)")


def test_long_docnos_are_cut_in_the_middle(tmp_path):
    long, other = "https://example.org/" + "a" * 40 + "/end", "clueweb09-en0003-55-31884"
    qrels = {"1": {long: 1, other: 1, long + "2": 1}}
    write(tmp_path, qrels, {"1": {long: 2, other: 1}})
    cut_name = "https://example.or..." + "a" * 17 + "/end"
    for all_rows, name in ([], cut_name), (["--explain-all"], long):
        lines = run_main(["--explain", "map", "-n", *all_rows, *FILES], tmp_path).out.decode().splitlines()
        assert [row[1] for row in table_of(lines, "rank docno")] == [name, other]
        missed = next(line for line in lines if line.startswith("  not retrieved"))
        expected = long + "2" if all_rows else "https://example.or..." + "a" * 16 + "/end2"
        assert missed == f"  not retrieved: {expected} (grade 1)"
        lines = run_main(["--explain", "prefs_pair", "-R", "qrels_prefs", "-n", *all_rows, *FILES],
                         tmp_path).out.decode().splitlines()
        assert lines[-2].startswith("  prefs_pair = ") and not any("rank" in line[:9] for line in lines)
    explanation, = trec_eval_ref.explain({"1": {"g": {long: 2, other: 1}}}, {"1": {long: 1.0, other: 2.0}},
                                         ["prefs_pair"], rel_format="qrels_prefs")["1"]
    for all_rows, name in (False, cut_name), (True, long):
        lines = trec_eval_ref.explanation_lines(explanation, all_rows)
        assert table_of(lines, "adds total")[0][0] == f"{other} before {name}"


def orders_of_ties(scores):
    """All ways to rank documents that differ in the order of those of equal score, as scores."""
    by_score = {}
    for docno, score in scores.items():
        by_score.setdefault(score, []).append(docno)
    groups = [list(itertools.permutations(by_score[score])) for score in sorted(by_score, reverse=True)]
    for order in itertools.product(*groups):
        yield {docno: -float(rank) for rank, docno in enumerate(itertools.chain.from_iterable(order))}


TIE_REQUESTS = (
    "num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall.0,0.3,0.7,1 P.1,2,5 recall.2,4 gm_bpref "
    "Rprec_mult.0.4,1.4 11pt_avg binG dcg dcg.0=-1,1=0.5 ndcg ndcg.1=-1,2=3 ndcg_cut.1,2,4 map_cut.2 "
    "relative_P.2,3 success.1,3 set_P set_relative_P set_recall set_map set_F yaap rbp rbp.p=0.5,1=3,2=-1 "
    "nDCG(dcg='exp-log2')@3 AP(rel=2)@3 RBP(rel=2) P(judged_only=True)@3").split()


@pytest.mark.parametrize("seed", range(6))
def test_range_of_ties_is_that_of_all_orders(seed):
    chance = random.Random(seed)
    found = 0
    for _ in range(15):
        docnos = [f"d{i}" for i in range(chance.randint(2, 6))]
        judgments = {docno: chance.choice([-1, 0, 0, 1, 1, 2]) for docno in docnos if chance.random() < 0.75}
        judgments.update((f"m{i}", i) for i in range(chance.randint(1, 3)))
        scores = {docno: chance.choice([1.0, 1.5, 2.0]) for docno in docnos}
        settings = {"relevance_level": chance.choice([0, 1, 1, 2]), "judged_only": chance.random() < 0.4,
                    "depth": chance.choice([None, None, 2, 3, 4])}
        values = {}
        for order in orders_of_ties(scores):
            evaluation = trec_eval_ref.explain({"1": judgments}, {"1": order}, TIE_REQUESTS, **settings)["1"]
            for one in evaluation:
                values.setdefault(one.column.name, []).append(float(one.value))
        for one in trec_eval_ref.explain({"1": judgments}, {"1": scores}, TIE_REQUESTS, **settings)["1"]:
            of_all = values[one.column.name]
            ends = [one.ties.lowest, one.ties.highest] if one.ties else [one.value] * 2
            assert ends == pytest.approx([min(of_all), max(of_all)], abs=1e-12), (one.column.name, settings)
            found += one.ties is not None
            ranks = one.ties.ranks if one.ties else []
            in_order = sorted(scores.values(), reverse=True)
            assert all(first < last and in_order[first - 1] == in_order[last - 1] for first, last in ranks)
    assert found > 50


def test_ties_that_matter_are_pointed_out(tmp_path):
    def tie_lines(*options, module=trec_eval_ref):
        out = run_main([*options, "-n", "qrels.txt", "run.txt"], tmp_path, module=module).out.decode()
        return [line[2:] for line in out.splitlines() if "are tied; by" in line]
    end = "are tied; by their order map could be from"
    assert [line for line in explained("ties", "--explain", "map", "-D", "0.3") if end in line] == [
        f"  documents at ranks 3 to 4 {end} 0.5000 to 0.5833"]
    write(tmp_path, {"1": {"a": 1, "b": 0, "d": 0, "e": 0, "f": 1, "g": -1}},
          {"1": {"a": 5, "b": 4, "c": 4, "d": 3, "e": 3, "f": 2, "g": 2, "h": 2}})
    assert tie_lines("--explain", "map") == [f"documents at ranks 6 to 8 {end} 0.6250 to 0.6667"]
    assert tie_lines("--explain", "map", "-J") == []  # the others are not judged
    assert tie_lines("--explain", "map", "-l0") == [
        f"documents at ranks 2 to 3, 6 to 8 {end} 0.7683 to 0.8767"]
    assert tie_lines("--explain", "map", "-M7") == [f"documents at ranks 6 to 8 {end} 0.5000 to 0.6667"]
    assert tie_lines("--explain", "num_rel_ret", "-M7") == [
        f"documents at ranks 6 to 8 {end.replace('map', 'num_rel_ret')} 1 to 2"]
    assert tie_lines("--explain", "P.5,6,7,8") == [
        f"documents at ranks 6 to 8 {end.replace('map', f'P_{k}')} {1 / k:.4f} to {2 / k:.4f}"
        for k in (6, 7)]
    for quiet in (["map_cut.5"], ["recip_rank"], ["success.5"], ["set_P"], ["num_rel_ret"], ["infAP"], ["G"],
                  ["relstring"], ["map", "-l2"]):
        assert tie_lines("--explain", *quiet) == []
    write(tmp_path, {"1": {"a": 1, "b": 0}}, "1 Q0 a 0 1.00000001 t\n1 Q0 b 0 1.00000002 t\n")
    assert tie_lines("--explain", "map") == []
    assert tie_lines(*release_option("9.0.8"), "--explain", "map") == [
        f"documents at ranks 1 to 2 {end} 0.5000 to 1.0000"]
    write(tmp_path, {"1": {"a": 1, "b": 0, "c": 1}}, {"1": {"a": 2, "b": 2, "x": 1, "c": 1}})
    assert tie_lines("--explain", "map", "-J") == [
        f"documents at ranks 1 to 2 before -J {end} 0.5833 to 0.8333"]


def test_many_ties_take_a_bounded_number_of_orders():
    """The range is that of all ties, although not each of them is looked at alone."""
    judgments = {f"a{i}": 1 for i in range(200)}
    scores = {f"{letter}{i}": -float(i) for i in range(200) for letter in "ab"}
    explanation, = trec_eval_ref.explain({"1": judgments}, {"1": scores}, ["map"])["1"]
    best = evaluate({"1": judgments}, {"1": {docno: score + 0.1 * (docno[0] == "a")
                                             for docno, score in scores.items()}}, ["map"]).summary["map"]
    assert len(explanation.ties.ranks) == trec_eval_ref._MOST_STEPS and explanation.ties.has_more
    assert explanation.ties.highest == best
    line = trec_eval_ref.explanation_lines(explanation)[-2]
    assert ", 27 to 28, 29 to 30 and further down are tied; by their order map could be from" in line
    judgments = {f"b{i}": 1 for i in range(60)}
    explanation, = trec_eval_ref.explain({"1": judgments}, {"1": scores}, ["P.109"])["1"]
    text = "\n".join(trec_eval_ref.explanation_lines(explanation))
    assert "  documents further down are tied; by their order P_109" in text and explanation.ties.ranks == []


def test_each_tie_that_may_change_interpolated_precision_is_named():
    scores = {"a": 9, "b": 9, "d": 8, "c": 8, "g": 7}
    judgments = dict.fromkeys("aceg", 1)
    explanation, = trec_eval_ref.explain({"1": judgments}, {"1": scores}, ["iprec_at_recall.0"])["1"]
    assert explanation.ties == ([(1, 2), (3, 4)], 0.6, 1.0, False)


def test_what_the_release_changes_is_said(tmp_path):
    def lines(*options):
        out = run_main([*options, "-n", *FILES], tmp_path).out.decode()
        return [line[2:] for line in out.splitlines() if "unlike" in line]
    old = release_option("9.0.8")
    write(tmp_path, {"1": {"a": 1, "b": 0, "c": 1, "d": 0}},
          "1 Q0 a 0 1.00000002 t\n1 Q0 b 0 1.00000001 t\n1 Q0 c 0 0.5 t\n1 Q0 d 0 0.1 t\n")
    rounds = "release 9.0.8, unlike 10.0, rounds scores to 32 bits"
    assert lines(*old, "--explain", "map") == [f"{rounds}; without that map would be 0.8333"]
    assert lines(*old, "--explain", "relstring") == [f"{rounds}; without that relstring would be '1010'"]
    assert lines(*old, "--explain", "map", "-M1") == [f"{rounds}; without that map would be 0.5000"]
    assert lines(*old, "--explain", "P.2,4") == lines("--explain", "map") == []
    preferences = "1 g s a 1.00000002\n1 g s b 1.00000001\n"
    (tmp_path / "prefs.txt").write_text(preferences)
    out = run_main([*old, "-n", "-R", "prefs", "--explain", "prefs_simp", "prefs.txt", FILES[1]], tmp_path)
    assert f"  {rounds}; without that prefs_simp would be 1.0000" in out.out.decode().splitlines()
    write(tmp_path, {"1": {"a": 1, "c": 1}}, {"1": {"a": 3, "b": 2, "c": 1}})
    assert lines(*old, "--explain", "iprec_at_recall.0.5,0.6") == [
        "release 9.0.8, unlike 10.0, rounds level * R to another m; "
        "without that iprec_at_recall_0.60 would be 1.0000"]


def test_release_whose_rounding_hides_a_contradiction(tmp_path):
    """With the levels of the file document a would be preferred to b, and b to a."""
    (tmp_path / "prefs.txt").write_text("1 g s1 a 1.00000002\n1 g s1 b 1.00000001\n1 g s2 b 2\n1 g s2 a 1\n")
    (tmp_path / "run.txt").write_text("1 Q0 a 0 2 t\n1 Q0 b 0 1 t\n")
    command = ["-R", "prefs", "--explain", "prefs_simp", "prefs.txt", "run.txt"]
    assert run_main(command, tmp_path).status == 4
    result = run_main([*release_option("9.0.8"), *command], tmp_path)
    assert result.status == 0 and b"prefs_simp = 0 / 1 = 0.0000" in result.out and b"unlike" not in result.out


def test_measures_of_the_summary_alone_need_it():
    for request in "num_q", "runid":
        for option in ["-n"], ["-D", "0.1"]:
            result = run_main(["--explain", request, *option, *FILES], FIXTURES / "worked")
            assert (result.status, result.out, result.err) == (
                1, b"", "trec_eval_ref: expected --explain without -n and -D, because only the summary has "
                        f"{request}\n")
        assert explained("worked", "--explain", request)[0] == "all topics"


# ---- Comparing ----


TAIL_AT = (0.01, 0.9, 1, 2, 8, 37)
TAILS = {  # degrees of freedom: 2 * scipy.stats.t.sf(t, df) for each t of TAIL_AT
    1: (0.99363401447, 0.53347541671, 0.5, 0.2951672353, 0.079166848321, 0.017201752211),
    2: (0.99292910896, 0.46310501236, 0.42264973081, 0.18350341907, 0.015268072165, 0.00072966080492),
    4: (0.99250015625, 0.41900551921, 0.3739009663, 0.11611652352, 0.0013238969092, 3.1859019855e-06),
    49: (0.99206189131, 0.37252224956, 0.32222340595, 0.051059148257, 1.9105439553e-10, 1.8017511089e-37),
    302: (0.99202788996, 0.36883733775, 0.31811107179, 0.046395543244, 2.6861653666e-14, 3.2821123731e-114),
    1000: (0.99202328193, 0.36833692698, 0.31755241808, 0.045770346493, 3.4266614824e-15, 1.730078881e-189),
    6979: (0.9920215732, 0.36815130375, 0.31734517788, 0.045538947547, 1.4460762704e-15, 8.4477419561e-274),
    10**6: (0.99202128937, 0.36812046742, 0.31731074983, 0.045500533851, 1.2455063433e-15, 1.8299730862e-299),
}
QUANTILE_AT = (0.9, 0.3, 0.05, 1e-4, 1e-30)
QUANTILES = {  # degrees of freedom: scipy.stats.t.isf(p / 2, df) for each p of QUANTILE_AT
    1: (0.15838444032, 1.9626105055, 12.706204736, 6366.1976713, 6.3661977237e+29),
    2: (0.1421338109, 1.3862065602, 4.3026527298, 99.992499844, 1e+15),
    4: (0.13383036711, 1.1895668524, 2.7764451052, 15.544100582, 49492320.0384),
    49: (0.12631433289, 1.0475189511, 2.0095752371, 4.235725937, 26.528968317),
    302: (0.1257670603, 1.0382160709, 1.9678502274, 3.9431867475, 12.927581516),
    6979: (0.12566591943, 1.0365104036, 1.9603039581, 3.8928419814, 11.579340153),
    10**6: (0.12566137877, 1.0364339269, 1.9599663568, 3.8906075818, 11.524269062),
}
FIVE = ([0.9, 0.8, 0.5, 0.6, 0.3], [0.5, 0.5, 0.3, 0.5, 0.4])  # the example of the docstrings
FIFTY = ([i * 7 % 11 / 10 for i in range(50)], [i * 5 % 13 / 12 for i in range(50)])


def ten_digits(expected):
    return pytest.approx(expected, rel=1e-10, abs=0)


def precision_values(topics, seed):
    """Two lists of values such as P@10 has, whose differences are tenths, and these differences in tenths."""
    generator = random.Random(seed)
    a = [int(generator.random() * 11) for _ in range(topics)]
    b = [int(generator.random() * 10.4) for _ in range(topics)]
    return [x / 10 for x in a], [x / 10 for x in b], [x - y for x, y in zip(a, b)]


def share_as_extreme(tenths):
    """The exact p of the randomisation test on whole numbers, from the number of ways to each sum."""
    ways = Counter({0: 1})
    for d in tenths:
        signed = Counter()
        for s, count in ways.items():
            signed[s + d] += count
            signed[s - d] += count
        ways = signed
    extreme = sum(count for s, count in ways.items() if abs(s) >= abs(sum(tenths)))
    return Fraction(extreme, 2 ** len(tenths))


@pytest.mark.parametrize("df", TAILS)
def test_the_tail_of_t_is_scipys(df):
    assert [t_tail(t, df) for t in TAIL_AT] == [ten_digits(p) for p in TAILS[df]]
    assert t_tail(-1, df) == t_tail(1, df)


@pytest.mark.parametrize("df", QUANTILES)
def test_the_quantile_of_t_is_scipys(df):
    assert [t_quantile(p, df) for p in QUANTILE_AT] == [ten_digits(t) for t in QUANTILES[df]]


@pytest.mark.parametrize("t", [0.001, 0.3, 0.999999, 1.0, 1.5, 40.0, 1e8])
def test_the_tail_of_t_in_closed_form(t):
    assert t_tail(t, 1) == pytest.approx(2 * math.atan2(1, t) / math.pi, rel=1e-12, abs=0)
    root = math.sqrt(2 + t * t)
    assert t_tail(t, 2) == pytest.approx(2 / (root * (root + t)), rel=1e-12, abs=0)


@pytest.mark.parametrize("degrees", [1, 7, 10**6])
def test_the_ends_of_the_tail_of_t(degrees):
    assert t_tail(0, degrees) == 1
    assert t_quantile(1, degrees) < 1e-9
    for t in (1e139, 1e141, 1e308, math.inf):
        assert 0 <= t_tail(t, degrees) < 1e-138


def test_t_and_its_tests_are_live_scipys():
    stats = pytest.importorskip("scipy.stats")
    generator = random.Random(3)
    for _ in range(100):
        df = int(10 ** generator.uniform(0, 6))
        t = 10 ** generator.uniform(-3, 1.5)
        assert t_tail(t, df) == ten_digits(2 * stats.t.sf(t, df))
    for df in (1, 3, 50, 999, 10**5):
        for p in (0.5, 0.05, 1e-10):
            assert t_quantile(p, df) == ten_digits(stats.t.isf(p / 2, df))
    for topics in (2, 3, 9, 50, 700):
        a = [generator.random() for _ in range(topics)]
        b = [generator.random() for _ in range(topics)]
        theirs = stats.ttest_rel(a, b)
        assert paired_t_test(a, b).p == ten_digits(theirs.pvalue)
        if hasattr(theirs, "confidence_interval"):  # from scipy 1.10 on
            assert paired_t_test(a, b).interval == ten_digits(tuple(theirs.confidence_interval()))
    a, b = [generator.random() for _ in range(9)], [generator.random() for _ in range(9)]
    theirs = stats.permutation_test((a, b), lambda x, y: sum(x) - sum(y), permutation_type="samples")
    assert randomisation_test(a, b).p == ten_digits(theirs.pvalue)


@pytest.mark.parametrize("values, p, interval", [  # recorded from scipy.stats.ttest_rel
    (FIVE, 0.104539999778, (-0.05883883881, 0.41883883881)),
    (FIFTY, 0.93146206184, (-0.137393318845, 0.126059985511)),
    (([0.9, 0.9, 0.9, 0.1], [0.7, 0.6, 0.4, 0.2]), 0.169679928901, (-0.17280578816, 0.62280578816)),
])
def test_the_paired_t_test_is_scipys(values, p, interval):
    test = paired_t_test(*values)
    assert test.p == ten_digits(p)
    assert test.interval == ten_digits(interval)
    assert test.difference == pytest.approx(sum(interval) / 2)


@pytest.mark.parametrize("topics", [2, 5, 8, 10])
def test_the_exact_randomisation_test_is_full_enumeration(topics):
    """With fractions, so that nothing is rounded; sums of doubles are wrong for most of these values."""
    for seed in range(10):
        a, b, tenths = precision_values(topics, seed)
        sums = [sum(sign * d for sign, d in zip(signs, tenths))
                for signs in itertools.product((1, -1), repeat=topics)]
        expected = Fraction(sum(abs(s) >= abs(sum(tenths)) for s in sums), 2 ** topics)
        assert randomisation_test(a, b) == (float(expected), None, None)


def test_up_to_sixteen_topics_that_differ_all_signs_are_tried():
    a, b, tenths = precision_values(60, seed=2)
    differ = [i for i, d in enumerate(tenths) if d]
    equal = [i for i, d in enumerate(tenths) if not d]
    chosen = differ[:16] + equal
    assert equal
    test = randomisation_test([a[i] for i in chosen], [b[i] for i in chosen])
    assert test == (float(share_as_extreme([tenths[i] for i in chosen])), None, None)
    test = randomisation_test([a[i] for i in differ[:17]], [b[i] for i in differ[:17]])
    assert test[1:] == (100_000, 1)


@pytest.mark.parametrize("topics, seed, draws, as_extreme", [
    (20, 1, 100_000, 12117), (50, 11, 100_000, 9968), (1000, 2, 100_000, 1365), (1001, 2, 10_000, 101),
])
def test_the_random_randomisation_test_is_close_to_the_exact_one(topics, seed, draws, as_extreme):
    """The recorded number of extreme draws is the same with every version of Python."""
    a, b, tenths = precision_values(topics, seed)
    test = randomisation_test(a, b)
    assert test == ((1 + as_extreme) / (1 + draws), draws, 1)
    p = float(share_as_extreme(tenths))
    assert abs(test.p - p) < 3 * math.sqrt(p * (1 - p) / draws)


def test_draws_and_seed_can_be_chosen():
    p, draws, seed = randomisation_test(*FIFTY, draws=99, seed=5)
    assert (draws, seed) == (99, 5)
    assert p in [(1 + as_extreme) / 100 for as_extreme in range(100)]
    assert len({randomisation_test(*FIFTY, draws=999, seed=seed).p for seed in range(5)}) > 1


def test_holm_by_hand():
    assert holm([0.04, 0.01, 0.03, 0.005]) == [0.06, 0.03, 0.06, 0.02]
    assert holm([0.25, 0.5, 0.3]) == [0.75, 0.75, 0.75]  # 3 x 0.25; 2 x 0.3 and 1 x 0.5 are smaller
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.02, 0.02]) == [0.04, 0.04]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


@pytest.mark.parametrize("topics", [2, 20, 1001])
def test_values_compared_with_themselves(topics):
    a = [i / topics for i in range(topics)]
    rounded = [3 * (x / 3) for x in a]
    for b in (a, rounded):
        assert paired_t_test(a, b) == (0, (0, 0), 1)
        assert randomisation_test(a, b) == (1, None, None)


@pytest.mark.parametrize("b, difference", [(0.25, 0.25), (0.5, 0)])
def test_one_topic_has_no_t_test(b, difference):
    assert paired_t_test([0.5], [b]) == (difference, None, None)
    assert randomisation_test([0.5], [b]) == (1, None, None)


@pytest.mark.parametrize("a, b", [
    ([0.5, 0.75, 1.0], [0.25, 0.5, 0.75]),
    ([0.7, 0.8, 0.9, 0.3], [0.6, 0.7, 0.8, 0.2]),  # 0.1 with four roundings
    ([2e9 / 3, 2e9 / 3 + 0.1, 2e9 / 3 + 0.7], [1e9 / 3, 1e9 / 3 + 0.1, 1e9 / 3 + 0.7]),
])
def test_equal_differences_in_every_topic(a, b):
    mean, interval, p = paired_t_test(a, b)
    assert mean == pytest.approx(a[0] - b[0])
    assert interval == (mean, mean)
    assert p == 0
    assert paired_t_test(b, a) == (-mean, (-mean, -mean), 0)
    assert randomisation_test(a, b).p == 2 / 2 ** len(a)


@pytest.mark.parametrize("values", [FIVE, FIFTY])
def test_huge_values_have_the_same_p(values):
    a, b = ([x * 1e149 for x in side] for side in values)
    huge, plain = paired_t_test(a, b), paired_t_test(*values)
    assert huge.p == pytest.approx(plain.p)
    assert [x / 1e149 for x in huge.interval] == pytest.approx(plain.interval)
    assert randomisation_test(a, b) == randomisation_test(*values)


@pytest.mark.parametrize("test", [paired_t_test, randomisation_test])
@pytest.mark.parametrize("a, b, message", [
    ([], [], "expected two values for each of one topic or more, found 0 and 0 values"),
    ([1, 2], [1], "found 2 and 1 values"),
    ([0, math.inf], [0, 1], "expected differences of at most 1e+150, found inf - 1; leave out this measure"),
    ([math.inf], [math.inf], "found inf - inf"),
    ([1e151], [0], "found 1e+151 - 0"),
])
def test_what_cannot_be_compared_is_an_error(test, a, b, message):
    with pytest.raises(TrecEvalError, match=f"^cannot compare: .*{re.escape(message)}"):
        test(a, b)


def ranks_of(values):
    """Judgments and a run whose reciprocal ranks are these, by topic; 0 if the document is not retrieved."""
    qrels = {topic: {"a": 1} for topic in values}
    run = {}
    for topic, value in values.items():
        others = round(1 / value) - 1 if value else 1
        run[topic] = {f"x{i}": float(i + 2) for i in range(others)}
        if value:
            run[topic]["a"] = 1.0
    return qrels, run


def compared(values, **settings):
    """The comparisons of runs with these reciprocal ranks, {run: {topic: value}}."""
    qrels, runs = {}, {}
    for name, of_run in values.items():
        judgments, runs[name] = ranks_of(of_run)
        qrels.update(judgments)
    return compare(qrels, runs, ["recip_rank"], **settings).comparisons


def assert_no_nan(text):
    """JSON that no NaN and no infinite number is in."""
    def refuse(constant):
        raise AssertionError(constant)
    return json.loads(text, parse_constant=refuse)


def test_runs_are_compared_with_the_baseline_over_the_topics_of_both():
    topics = "12345678"
    base = {topic: 0.5 for topic in topics}
    better = {topic: 1.0 for topic in reversed(topics)}
    other = {"9": 1.0, "2": 0.25, "1": 0.5, "3": 1.0, "4": 1.0}
    of_both = [0.5, 0.25, 1.0, 1.0], [0.5, 0.5, 0.5, 0.5]  # topics 1 to 4
    with pytest.warns(TrecEvalWarning, match="^runs: expected the same topics in all, found 4 topics in all "
                                             "and 9 in at least one; .* -c ") as warned:
        found = compared({"better": better, "base": base, "other": other}, baseline="base")
    assert len(warned) == 1
    assert found == [
        Comparison("recip_rank", "base", "better", topics=8, difference=0.5, interval=(0.5, 0.5), p_t=0,
                   p_randomisation=2 / 2**8, p_holm=4 / 2**8, draws=None, seed=None,
                   better=8, equal=0, worse=0),
        Comparison("recip_rank", "base", "other", topics=4, difference=0.1875, p_t=paired_t_test(*of_both).p,
                   interval=paired_t_test(*of_both).interval, p_randomisation=0.5, p_holm=0.5, draws=None,
                   seed=None, better=2, equal=1, worse=1),
    ]


def test_a_random_test_takes_the_topics_in_byte_order():
    """So that the order of the lines of a run changes nothing."""
    chance = random.Random(5)
    a, b = ({str(topic): 1 / chance.randint(1, 5) for topic in range(100, 140)} for _ in range(2))
    [forwards] = compared({"b": b, "a": a})
    [backwards] = compared({"b": dict(reversed(b.items())), "a": dict(reversed(a.items()))})
    assert forwards == backwards
    assert forwards.draws == 100_000
    assert forwards.p_randomisation == randomisation_test(list(a.values()), list(b.values())).p
    turned = randomisation_test(list(a.values())[::-1], list(b.values())[::-1])
    assert forwards.p_randomisation != turned.p


def test_a_run_compared_with_itself():
    values = {"1": 0.5, "2": 1.0, "3": 0.2}
    [found] = compared({"run": values, "again": values})
    assert found == ("recip_rank", "run", "again", 3, 0, (0, 0), 1, 1, 1, None, None, 0, 3, 0)


def test_one_topic_has_no_interval():
    [found] = compared({"a": {"1": 0.5}, "b": {"1": 1.0}})
    assert (found.topics, found.difference, found.interval, found.p_t) == (1, 0.5, None, None)
    assert (found.p_randomisation, found.p_holm) == (1, 1)


def test_runs_without_a_common_topic():
    with pytest.raises(TrecEvalError, match="^cannot compare b with a: expected topics that both were "
                                            "evaluated on, found none") as error:
        compared({"a": {"1": 0.5}, "b": {"2": 1.0}})
    assert error.value.status == 7


@pytest.mark.parametrize("release", RELEASES)
def test_a_topic_that_a_run_misses_counts_if_complete(release):
    """In 9.0.8 it is not evaluated, and counts as 0; in 10.0 nothing is retrieved for it, which gives 0."""
    values = {"a": {"1": 0.5, "2": 1.0, "3": 0.5}, "b": {"1": 0.5, "2": 0.5}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # since all means are over the same topics
        [found] = compared(values, complete=True, release=release)
    assert (found.topics, found.difference) == (3, pytest.approx(-1 / 3))
    assert (found.better, found.equal, found.worse) == (0, 1, 2)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("measure", ["map", "gm_map"])
def test_the_difference_is_that_of_the_summaries(measure, release):
    """Geometric means are compared by the mean of the logarithms, where a missing topic is the least one."""
    qrels, a = ranks_of({"1": 0.5, "2": 1.0, "3": 0.25})
    _, b = ranks_of({"1": 1.0, "2": 0.5})
    table = compare(qrels, {"a": a, "b": b}, [measure], complete=True, release=release)
    of_a, of_b = (table.runs[name].summary[measure] for name in "ab")
    if measure == "gm_map":
        of_a, of_b = math.log(of_a), math.log(of_b)
    assert table.comparisons[0].difference == pytest.approx(of_b - of_a)
    assert table.comparisons[0].worse == 2


def test_only_means_are_compared():
    qrels, run = ranks_of({"1": 0.5, "2": 1.0})
    requests = ["num_q", "num_ret", "num_rel", "num_rel_ret", "relstring", "map", "gm_map"]
    table = compare(qrels, {"a": run, "b": run}, requests)
    assert [comparison.measure for comparison in table.comparisons] == ["map", "gm_map"]
    assert table.runs["b"] == evaluate(qrels, run, requests)


def test_p_is_corrected_for_the_runs_and_not_for_the_measures():
    chance = random.Random(2)
    runs = {name: {str(topic): 1 / chance.randint(1, 4) for topic in range(9)} for name in "abcd"}
    qrels, _ = ranks_of(runs["a"])
    runs = {name: ranks_of(values)[1] for name, values in runs.items()}
    comparisons = compare(qrels, runs, ["map", "P.1"]).comparisons
    for name in ("map", "P_1"):
        of_measure = [comparison for comparison in comparisons if comparison.measure == name]
        assert [comparison.run for comparison in of_measure] == ["b", "c", "d"]
        uncorrected = [comparison.p_randomisation for comparison in of_measure]
        assert [comparison.p_holm for comparison in of_measure] == holm(uncorrected) != uncorrected


def test_compare_has_the_settings_of_evaluate():
    qrels, run = {"1": {"a": 1, "b": 2, "c": 0}}, {"1": {"x": 3.0, "a": 2.0, "b": 1.0}}
    settings = {"relevance_level": 2, "judged_only": True, "depth": 2, "release": "9.0.8"}
    table = compare(qrels, {"a": run}, ["map"], **settings)
    assert table.runs["a"] == evaluate(qrels, run, ["map"], **settings)
    assert list(compare(qrels, {"a": run}).runs["a"].summary) == ["map", "P_10", "recall_1000", "ndcg_cut_10"]
    assert compare(qrels, {"a": run, "b": run}, iter(["map"])).comparisons[0].measure == "map"
    assert compare(qrels, {"a": run, "b": run}, "map").comparisons[0].measure == "map"


@pytest.mark.parametrize("arguments, error, message", [
    (({"1": {"a": 1}}, {"x": {"2": {"a": 1.0}}}), TrecEvalError, "^run 'x': expected topics in both files"),
    (({"1": {"a": 1}}, {"x": {"1": {"a": math.nan}}}), TrecEvalError, "^run 'x': topic '1', document 'a'"),
    (({"1": {"a": 1}}, {"x": {"1": {"a": "b"}}}), TypeError, "^run 'x': topic '1', document 'a'"),
    (({"1": {"a": 1}}, {1: {}}), TypeError, "expected strings as names of runs, found 1"),
    (({"1": {"a": 1}}, []), TypeError, "expected a dict of dicts as runs, found list"),
    (({"1": {"a": 1}}, {}), TrecEvalError, "^expected at least one run, found none"),
    (({"1": {"a": 1}}, {"x": {}}, ["mapp"]), TrecEvalError, "^unknown measure 'mapp'"),
])
def test_errors_of_compare(arguments, error, message):
    with pytest.raises(error, match=message):
        compare(*arguments)


def test_unknown_baseline_in_python():
    with pytest.raises(TrecEvalError, match="^unknown baseline 'c'; the runs are a, b$"):
        compared({"a": {"1": 0.5}, "b": {"1": 0.5}}, baseline="c")


COMPARED = FIXTURES / "compare"
COMPARED_FILES = ["../adhoc/qrels.txt", "bm25.txt", "bm25_rm3.txt", "dense.txt"]


def compare_fixtures(*options):
    """What is printed for the three runs."""
    result = run_main([*options, *COMPARED_FILES], COMPARED)
    assert (result.status, result.err) == (0, "")
    return result.out.decode()


def test_files_are_compared_as_dicts_are():
    with working_in(COMPARED):
        qrels, *files = COMPARED_FILES
        runs = {Path(file).stem: read_run(file) for file in files}
        expected = compare(read_qrels(qrels), runs, ["map", "P.10"], baseline="dense")
        assert compare_files(qrels, files, ["map", "P.10"], baseline="dense") == expected
        named = compare_files(qrels, dict(zip("xyz", files)), ["map", "P.10"], baseline="z")
    assert list(named.runs) == ["x", "y", "z"]
    assert [comparison[3:] for comparison in named.comparisons] == [
        comparison[3:] for comparison in expected.comparisons]


def test_judgments_are_read_once_for_all_runs():
    reads = []
    form = trec_eval_ref.JUDGMENT_FILES["qrels"]

    def read(source, *arguments):
        reads.append(source.name)
        return form.read(source, *arguments)
    with working_in(COMPARED), \
            mock.patch.dict(trec_eval_ref.JUDGMENT_FILES, {"qrels": form._replace(read=read)}):
        compare_files(COMPARED_FILES[0], COMPARED_FILES[1:])
    assert reads == [COMPARED_FILES[0]]


@pytest.mark.parametrize("runs", ["run.txt", b"run.txt", Path("run.txt")])
def test_one_file_is_no_list_of_files(runs):
    with pytest.raises(TypeError, match="expected a dict or a list of files as runs, found"):
        compare_files(["1 0 a 1"], runs)


def test_warnings_of_several_files_name_the_line_of_the_caller():
    lines = ["1 Q0 a 1 0.5x tag"]
    with pytest.warns(TrecEvalWarning) as warned:
        compare_files(["1 0 a 1", "2 0 a 1"], {"a": lines, "b": lines}, ["map.3"])
    assert [str(each.message).partition(":")[0] for each in warned] == ["measure map", "run", "run"]
    assert {each.filename for each in warned} == {__file__}


@pytest.mark.parametrize("files, tags, names", [
    (["a.txt", "b.txt"], "xy", ["x", "y"]),
    (["a.txt", "b.txt", "c.txt"], "xyx", ["a.txt", "y", "c.txt"]),
    (["1/a.txt", "2/a.txt", "b.txt"], "xxx", ["1/a.txt", "2/a.txt", "b.txt"]),
    (["1/a.txt", "b.txt"], ["x", "a.txt"], ["x", "a.txt"]),
    (["1/a.txt", "1/a.txt"], "xx", ["1/a.txt (1)", "1/a.txt (2)"]),
    (["x", "b", "c"], "xbb", ["x", "b", "c"]),
    (["a.txt", "c.txt", "1/a.txt"], ["x", "x", "a.txt"], ["a.txt", "c.txt", "1/a.txt"]),
    (["a", "a", "a (1)"], "xxx", ["a (1) (1)", "a (2)", "a (1) (3)"]),
])
def test_names_of_runs(tmp_path, files, tags, names):
    for directory in "12":
        (tmp_path / directory).mkdir()
    write(tmp_path, QRELS, RUN)
    for file, tag in zip(files, tags):
        (tmp_path / file).write_bytes(RUN.replace(b"tag", tag.encode()))
    result = run_main(["--json", "-m", "map", "qrels.txt", *files], tmp_path)
    assert result.status == 0, result.err
    assert list(json.loads(result.out)["runs"]) == names


def test_text_of_several_runs():
    text = compare_fixtures("-m", "map", "-m", "num_rel_ret", "--digits", "3")
    table, comparisons, *notes = text.split("\n\n")
    assert [line.split() for line in table.splitlines()] == [
        ["run", "num_rel_ret", "map"], ["bm25", "76", "0.268"], ["bm25_rm3", "85", "0.333*"],
        ["dense", "92", "0.500*"]]
    assert comparisons.startswith("compared with bm25\nmeasure  run  ")
    assert comparisons.splitlines()[-1].split() == [
        "map", "dense", "12", "+0.232", "+0.072", "to", "+0.391", "0.0085", "0.0010", "0.0020",
        "11", "1", "0"]
    assert notes == [
        "* differs from bm25: p < 0.05 in the paired randomisation test (exact) with Holm's correction for "
        f"2 runs\n{trec_eval_ref.signature()}\n"]


def test_text_without_a_test():
    table, note = compare_fixtures("-m", "num_q").split("\n\n")
    assert table.split() == ["run", "num_q", "bm25", "12", "bm25_rm3", "12", "dense", "12"]
    assert note == trec_eval_ref.signature() + "\n"


def test_text_with_topics_has_all_of_the_text_after_an_empty_line():
    topics, _, rest = compare_fixtures("-q", "-m", "map").partition("\n\n")
    assert topics + "\n" == compare_fixtures("-q", "-n", "-m", "map")
    assert rest == compare_fixtures("-m", "map")


def test_text_says_what_is_small_unknown_or_a_logarithm(tmp_path):
    topics = [str(topic) for topic in range(15)]
    qrels, run = ranks_of(dict.fromkeys(topics, 0.5))
    write(tmp_path, qrels, run)
    (tmp_path / "best.txt").write_bytes(run_text(ranks_of(dict.fromkeys(topics, 1.0))[1], "best"))
    command = ["-m", "gm_map", "qrels.txt", "run.txt", "best.txt"]
    [row] = run_main(command, tmp_path).out.decode().split("\n\n")[1].splitlines()[2:]
    assert row.split() == ["log", "gm_map", "best", "15", "+0.6931", "+0.6931", "to", "+0.6931", "<0.0001",
                           "<0.0001", "<0.0001", "15", "0", "0"]
    [row] = run_main(["-D", "0.3", *command], tmp_path).out.decode().split("\n\n")[1].splitlines()[2:]
    assert row.split()[3:] == ["1", "+0.6931", "-", "-", "1.0000", "1.0000", "1", "0", "0"]


def test_columns_of_text_are_aligned():
    """Numbers end in the same place, whether they are marked or not."""
    table = compare_fixtures().split("\n\n")[0].splitlines()
    assert len({line.index("0.", 10) for line in table[1:]}) == 1
    assert {line.rstrip("*")[-7] for line in table[1:]} == {" "}


def test_default_measures_of_several_runs():
    assert compare_fixtures().split()[:5] == ["run", "map", "P_10", "recall_1000", "ndcg_cut_10"]


def test_only_the_first_parameters_count_as_with_one_run():
    result = run_main(["-m", "P.5", "-m", "P.7", *COMPARED_FILES], COMPARED)
    assert result.out.split()[:3] == [b"run", b"P_5", b"bm25"]
    assert result.err.count("only its first parameters, '5', count") == 1


def test_marks_follow_the_corrected_p():
    """P_10 of dense has p = 0.0312, and 0.0625 after the correction."""
    report = json.loads(compare_fixtures("--json"))
    [found] = [each for each in report["comparisons"] if (each["measure"], each["run"]) == ("P_10", "dense")]
    assert found["p_randomisation"] == 0.03125 and found["p_holm"] == 0.0625
    assert compare_fixtures().splitlines()[3].split()[:3] == ["dense", "0.4999*", "0.4250"]


def test_baseline_of_the_command_line():
    report = json.loads(compare_fixtures("--json", "--baseline", "dense", "-m", "map"))
    assert [(each["baseline"], each["run"]) for each in report["comparisons"]] == [
        ("dense", "bm25"), ("dense", "bm25_rm3")]
    assert report["comparisons"][0]["difference"] < 0


def test_json_of_several_runs():
    report = assert_no_nan(compare_fixtures("--json", "-q", "-m", "map", "-l", "1"))
    assert list(report) == ["settings", "runs", "comparisons"]
    with working_in(COMPARED):
        table = compare_files(COMPARED_FILES[0], COMPARED_FILES[1:], ["map"])
        alone = json.loads(run_main(["--json", "-q", "-m", "map", *COMPARED_FILES[:2]], COMPARED).out)
    assert report["settings"] == alone["settings"]
    assert report["runs"]["bm25"] == {"topics": alone["topics"], "summary": alone["summary"]}
    assert list(report["runs"]) == list(table.runs)
    found = report["comparisons"][0]
    assert list(found) == ["measure", "baseline", "run", "topics", "difference", "interval", "p_t",
                           "p_randomisation", "p_holm", "draws", "seed", "better", "equal", "worse"]
    assert found.pop("interval") == list(table.comparisons[0].interval)
    assert found.items() <= table.comparisons[0]._asdict().items()
    report = json.loads(compare_fixtures("--json", "-n", "-q", "-m", "map"))
    assert list(report["runs"]["bm25"]) == ["topics"] and report["comparisons"] == []


def test_topics_of_several_runs():
    text = compare_fixtures("-q", "-n", "-m", "map", "-m", "relstring.2", "-D", "0.402")
    assert [line.split() for line in text.splitlines()] == [
        ["topic", "measure", "bm25", "bm25_rm3", "dense"],
        ["402", "map", "0.1000", "0.1667", "1.0000"],
        ["402", "relstring_2", "00", "00", "11"]]


def test_a_topic_that_a_run_misses_is_a_dash(tmp_path):
    write(tmp_path, QRELS, RUN)
    (tmp_path / "short.txt").write_bytes(b"1 Q0 a 1 2.0 short\n")
    result = run_main(["-q", "-m", "recip_rank", "qrels.txt", "short.txt", "run.txt"], tmp_path)
    lines = [line.split() for line in result.out.decode().splitlines()]
    assert lines[1:3] == [["1", "recip_rank", "1.0000", "1.0000"], ["2", "recip_rank", "-", "1.0000"]]
    assert result.err.splitlines() == [
        "trec_eval_ref: warning: short.txt: 1 of 2 topics in qrels.txt have no results (first '2') and are "
        "ignored; with -c (complete=True) they would count",
        "trec_eval_ref: warning: runs: expected the same topics in all, found 1 topic in all and 2 in at "
        "least one; each mean is over the topics of its run; with -c (complete=True) all are over the topics "
        "of the judgments, and a topic that a run misses counts as if nothing were retrieved"]
    assert run_main(["-c", "-m", "map", "qrels.txt", "short.txt", "run.txt"], tmp_path).err == ""
    strict = run_main(["--strict", "-m", "map", "qrels.txt", "run.txt", "short.txt", "run.txt"], tmp_path)
    assert_error(strict, 2, "short.txt: 1 of 2 topics")


def test_a_warning_about_a_run_given_twice_is_printed_once(tmp_path):
    write(tmp_path, QRELS, b"1 Q0 a 1 2.0x tag\n")
    result = run_main(["-m", "map", "qrels.txt", "run.txt", "run.txt"], tmp_path)
    assert [line.split()[2] for line in result.err.splitlines()] == ["run.txt:1:", "run.txt:"]
    assert "in all)" not in result.err


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_counts_and_one_run_have_no_test(form):
    for options, files in (["-m", "num_q"], COMPARED_FILES), (["-m", "map"], COMPARED_FILES[:2]):
        text = run_main(["--format", form, *options, *files], COMPARED).out.decode()
        assert "differs" not in text and "**" not in text and "textbf" not in text and "dagger" not in text
        assert "Values over 12 topics" in text


def test_markdown():
    *table, empty, caption = compare_fixtures("--format", "markdown", "-m", "map", "-m", "P.10").splitlines()
    assert table == [
        r"| run | map | P\_10 |",
        "| --- | ---: | ---: |",
        "| bm25 | 0.2683 | 0.3333 |",
        r"| bm25\_rm3 | 0.3329† | 0.3667 |",
        "| dense | **0.4999**† | **0.4250** |"]
    assert empty == ""
    assert caption == (
        r"Values over 12 topics. † differs from bm25: p \< 0.05 in the paired randomisation test (exact) "
        r"with Holm's correction for 2 runs. Bold: the best value of a measure. "
        + trec_eval_ref.signature().replace("_", r"\_").replace("|", r"\|"))


def test_latex():
    lines = compare_fixtures("--format", "latex", "-m", "map", "-m", "P.10").splitlines()
    assert [line for line in lines if not line.startswith(r"\caption")] == [
        r"% needs \usepackage{booktabs}", r"\begin{table}", r"\begin{tabular}{lrr}", r"\toprule",
        r"run & map & P\_10 \\", r"\midrule",
        r"bm25 & 0.2683 & 0.3333 \\",
        r"bm25\_rm3 & 0.3329$^{\dagger}$ & 0.3667 \\",
        r"dense & \textbf{0.4999}$^{\dagger}$ & \textbf{0.4250} \\",
        r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    assert lines[2].startswith(
        r"\caption{Values over 12 topics. $^{\dagger}$ differs from bm25: p \textless{} 0.05 in the ")
    assert r"trec\_eval\_ref " in lines[2] and r"\textbar{}trec\_eval 10.0\textbar{}level 1" in lines[2]


@pytest.mark.parametrize("form, escaped", [
    ("markdown", r"\|\*a\_\[b\]\<c\>\`\\\#\~\&\$%{}^---"),
    ("latex", r"\textbar{}{*}a\_{[}b{]}\textless{}c\textgreater{}\textasciigrave{}\textbackslash{}\#"
              r"\textasciitilde{}\&\$\%\{\}\textasciicircum{}-{}-{}-"),
])
def test_names_are_escaped(tmp_path, form, escaped):
    write(tmp_path, QRELS, RUN)
    (tmp_path / "other.txt").write_bytes(RUN.replace(b"tag", rb"|*a_[b]<c>`\#~&$%{}^---"))
    result = run_main(["-q", "--format", form, "-m", "map", "qrels.txt", "other.txt", "run.txt"], tmp_path)
    assert result.out.decode().count(escaped) == 3  # of the topics, the summary, and in the caption


def test_all_of_the_best_are_bold_and_large_is_not_always_best(tmp_path):
    write(tmp_path, QRELS, RUN)
    (tmp_path / "other.txt").write_bytes(RUN.replace(b"tag", b"other"))
    (tmp_path / "worse.txt").write_bytes(re.sub(rb"Q0 ", rb"Q0 un", RUN).replace(b"tag", b"worse"))
    options = ["--format", "markdown", "-m", "map", "-m", "unj.5", "-m", "rbp_resid", "qrels.txt", "run.txt"]
    plain = r"\| [\d.]+ \| [\d.]+ \|"
    lines = run_main([*options, "other.txt", "worse.txt"], tmp_path).out.decode().splitlines()
    for line in lines[2:4]:
        assert re.fullmatch(r"\| \w+ \| \*\*1\.0000\*\* " + plain, line)
    assert re.fullmatch(r"\| worse \| 0\.0000 " + plain, lines[4])
    lines = run_main([*options, "other.txt"], tmp_path).out.decode().splitlines()
    for line in lines[2:4]:  # where all are equal, none is the best
        assert re.fullmatch(r"\| \w+ \| 1\.0000 " + plain, line)


def test_judged_counts_negative_grades_as_ir_measures_does():
    qrels, run = {"1": {"a": -1, "b": 0}}, {"1": {"a": 2.0, "b": 1.0, "c": 0.5}}
    assert trec_eval_ref.evaluate(qrels, run, ["Judged@5"]).summary == {"Judged@5": 2 / 3}


def test_differences_that_cancel_leave_no_sign():
    a, b = [0.3, 0.1, 0.2, 0.6], [0.1, 0.3, 0.6, 0.2]
    assert str(trec_eval_ref.paired_t_test(a, b).difference) == "0.0"
    assert trec_eval_ref.paired_t_test(a, b).p == 1.0


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "csv"])
def test_no_control_character_gets_into_a_table(tmp_path, form):
    write(tmp_path, QRELS, RUN)
    (tmp_path / "red.txt").write_bytes(RUN.replace(b"tag", b"a\x1b[31mred\xc2\x9b"))
    out = run_main(["-q", "--format", form, "-m", "map", "qrels.txt", "red.txt", "run.txt"], tmp_path).out
    assert all(byte >= 32 or byte == 10 for byte in out) and b"\xc2\x9b" not in out
    assert b"x1b" in out and b"x9b" in out


def test_latex_by_topic_goes_over_pages():
    lines = compare_fixtures("--format", "latex", "-q", "-m", "map").splitlines()
    assert lines[:2] == ["% needs \\usepackage{booktabs,longtable}", "\\begin{longtable}{llrrr}"]
    assert lines[3:7] == ["\\toprule", "topic & measure & bm25 & bm25\\_rm3 & dense \\\\", "\\midrule",
                          "\\endhead"]
    end = lines.index("\\end{longtable}")
    assert lines[end - 1] == "\\bottomrule"
    assert lines[end + 2:end + 4] == ["% needs \\usepackage{booktabs}", "\\begin{table}"]


@pytest.mark.parametrize("options", [
    ["--format", "csv"], ["-q", "-n"], ["-m", "num_ret"], ["--json"], ["--format", "latex"]])
def test_runs_without_a_common_topic_are_refused_in_every_format(tmp_path, options):
    write(tmp_path, b"1 0 a 1\n2 0 a 1\n", b"1 Q0 a 1 1 one\n")
    (tmp_path / "two.txt").write_bytes(b"2 Q0 a 1 1 two\n")
    result = run_main([*options, "qrels.txt", "run.txt", "two.txt"], tmp_path)
    assert (result.status, result.out) == (7, b"") and "cannot compare two with one" in result.err


def test_values_that_differ_by_rounding_are_all_bold(tmp_path):
    qrels, one = ranks_of({"1": 1 / 2, "2": 1 / 3, "3": 1 / 10})
    _, two = ranks_of({"1": 1 / 10, "2": 1 / 3, "3": 1 / 2})
    write(tmp_path, qrels, one)
    (tmp_path / "two.txt").write_bytes(run_text(two, "two"))
    (tmp_path / "worse.txt").write_bytes(b"1 Q0 unjudged 1 1 worse\n2 Q0 x 1 1 worse\n3 Q0 x 1 1 worse\n")
    command = ["-m", "recip_rank", "qrels.txt", "run.txt", "two.txt", "worse.txt"]
    found = json.loads(run_main(["--json", *command], tmp_path).out)["runs"]
    assert found["tag"] != found["two"]
    assert run_main(["--format", "markdown", *command], tmp_path).out.count(b"| **0.3111** |") == 2


def test_caption_with_draws_and_different_topics(tmp_path):
    chance = random.Random(4)
    values = {"one": {}, "two": {}}
    for topic in range(100, 140):
        for of_run in values.values():
            of_run[str(topic)] = 1 / chance.randint(1, 9)
    qrels, one = ranks_of(values["one"])
    write(tmp_path, qrels, one)
    two = ranks_of(values["two"])[1]
    del two["139"]
    (tmp_path / "two.txt").write_bytes(run_text(two, "two"))
    options = ["--format", "markdown", "-m", "recip_rank", "-m", "success.10"]
    result = run_main([*options, "qrels.txt", "run.txt", "two.txt"], tmp_path)
    caption = result.out.decode().splitlines()[-1]
    assert caption.startswith("Values over the topics of each run (tag: 40, two: 39), tests over those "
                              "that two runs share. † differs from tag: ")
    assert "(exact where at most 16 topics differ, else 100,000 draws with seed 1)" in caption
    result = run_main(["--json", *options[2:], "qrels.txt", "run.txt", "two.txt"], tmp_path)
    report = assert_no_nan(result.out)
    assert [(each["draws"], each["seed"]) for each in report["comparisons"]] == [(100_000, 1), (None, None)]


def test_csv_of_several_runs():
    import csv
    text = compare_fixtures("--format", "csv", "-q", "-m", "map", "-m", "num_rel", "-m", "runid")
    rows = list(csv.reader(io.StringIO(text)))
    report = json.loads(compare_fixtures("--json", "-q", "-m", "map", "-m", "num_rel"))
    expected = [["run", "topic", "measure", "value"]]
    for name, of_run in report["runs"].items():
        for topic, values in [*of_run["topics"].items(), ("all", of_run["summary"])]:
            expected += [[name, topic, measure, repr(value)] for measure, value in values.items()]
    assert rows == expected
    assert "\r" not in text


def test_csv_quotes_what_must_be(tmp_path):
    write(tmp_path, QRELS, RUN.replace(b"tag", b'a,"b"'))
    result = run_main(["--format", "csv", "-q", "-m", "P.1", "-m", "relstring.2", *FILES], tmp_path)
    assert result.out.splitlines()[:4] == [b"run,topic,measure,value", b'"a,""b""",1,P_1,1.0',
                                           b'"a,""b""",1,relstring_2,10', b'"a,""b""",2,P_1,1.0']
    assert result.out.splitlines()[-1] == b'"a,""b""",all,P_1,1.0'


@pytest.mark.parametrize("form, shown", [("csv", b"\xff"), ("markdown", b"\\\\xff"), ("latex", b"xff")])
def test_names_that_are_no_utf_8(tmp_path, form, shown):
    write(tmp_path, QRELS, RUN.replace(b"tag", b"\xff"))
    assert shown in run_main(["--format", form, "-m", "map", *FILES], tmp_path).out


@pytest.mark.parametrize("files", [COMPARED_FILES, COMPARED_FILES[:2]])
def test_json_and_text_are_formats(files):
    for one, other in (["--json"], ["--format", "json"]), ([], ["--format", "text"]):
        found = [run_main([*options, "-q", "-m", "map", *files], COMPARED) for options in (one, other)]
        assert found[0] == found[1] and found[0].status == 0


@pytest.mark.parametrize("options, runs, status, message", [
    (["--format", "html"], 1, 1, "expected one of text, json, csv, markdown, latex, found 'html'"),
    (["--format", "csv", "--json"], 1, 1, "expected --json without --format csv, found both"),
    (["--json", "--format", "text"], 1, 1, "expected --json without --format text, found both"),
    (["--digits", "x", "missing"], 1, 1, "option --digits: expected an integer"),
    (["--format", "csv", "--explain", "map"], 1, 1, "expected --explain without --format csv, found both"),
    (["--format", "latex", "--audit", "report"], 1, 1, "expected --audit without --format latex, found both"),
    (["--explain", "map", "-m", "P"], 1, 1, "expected --explain MEASURE without --measure, found both: name"),
    (["--explain-all"], 1, 1, "expected --explain MEASURE with --explain-all, found none"),
    (["--explain", "map"], 2, 1, "option --explain: expected one run, found 2"),
    (["--audit", "report"], 3, 1, "option --audit: expected one run, found 3"),
    (["-Z", "norms"], 2, 1, "option --Zscore: expected one run, found 2"),
    (["--baseline", "bm25"], 1, 1, "option --baseline: expected several runs, found one"),
    (["--baseline", "bm26"], 3, 1, "unknown baseline 'bm26'; the runs are bm25, bm25_rm3, dense"),
    (["--baseline", "bm26", "--format", "csv"], 3, 1, "unknown baseline 'bm26'"),
])
def test_errors_about_several_runs(options, runs, status, message):
    assert_error(run_main([*options, *COMPARED_FILES[:runs + 1]], COMPARED), status, re.escape(message))


@pytest.mark.parametrize("content, status, message", [
    (None, 2, r"second\.txt: cannot be read: "),
    (b"1 Q0 a\n", 2, r"second\.txt:1: "),
    (b"1 Q0 a 1 1 t\n1 Q0 a 2 1 t\n", 4, r"second\.txt:2: "),
    (b"7 Q0 a 1 1 t\n", 7, r"second\.txt has 1 topic"),
    (b"2 Q0 a 1 1 t\n", 7, r"cannot compare t with tag: expected topics that both were evaluated on"),
])
def test_a_run_that_cannot_be_compared_is_named_and_nothing_is_printed(tmp_path, content, status, message):
    write(tmp_path, QRELS, b"1 Q0 a 1 2.0 tag\n")
    if content is not None:
        (tmp_path / "second.txt").write_bytes(content)
    result = run_main(["-m", "map", "qrels.txt", "run.txt", "second.txt"], tmp_path)
    assert (result.status, result.out) == (status, b"")
    assert re.search(message, result.err.splitlines()[-1])


def test_a_measure_with_differences_that_are_too_large_is_named():
    with mock.patch.dict(MEASURES):
        @trec_eval_ref.measure("endless")
        def endless(topic):
            return math.inf if topic.hits else 0.0
        runs = {"a": {"1": {"a": 1.0}}, "b": {"1": {"b": 1.0}}}
        message = "^measure endless, run b: cannot compare: .* found 0.0 - inf"
        with pytest.raises(TrecEvalError, match=message):
            compare({"1": {"a": 1}}, runs, ["endless"])


def test_progress_names_the_run(tmp_path):
    lines = b"".join(b"1 Q0 d%d 1 %d tag\n" % (document, -document) for document in range(4000))
    write(tmp_path, b"1 0 d1 1\n", lines)
    (tmp_path / "second.txt").write_bytes(lines)
    terminal = run_on_terminal(["-m", "map", "qrels.txt", "run.txt", "second.txt"], tmp_path, 1.5)
    shown = terminal.getvalue()
    assert re.search(r"\rrun\.txt \(1 of 2\): 0 topics, \d+ lines read", shown)
    assert re.search(r"\rsecond\.txt \(2 of 2\): 0 topics, \d+ lines read", shown)
    assert terminal.screen == ""


# ---- Pictures ----


SVG = "{http://www.w3.org/2000/svg}"
SVG_ATTRIBUTES = {  # all that pictures are made of; SVG 1.1 has each of them
    "svg": {"version", "viewBox"}, "title": set(), "desc": set(), "style": {"type"}, "g": {"transform"},
    "rect": {"x", "y", "width", "height", "class", "fill-opacity"},
    "path": {"d", "class"}, "text": {"x", "y", "transform", "class", "text-anchor"}}


def elements(group, tag, *kinds):
    """The elements of that tag and of these classes."""
    return [element for element in group.iter(SVG + tag) if not kinds or element.get("class") in kinds]


def kinds_of(group):
    """The classes of the bars or squares."""
    return [bar.get("class") for bar in elements(group, "rect")]


def bars(group, *kinds):
    """(x, y, width, height) of the bars or squares of these classes."""
    return [tuple(float(bar.get(name)) for name in ("x", "y", "width", "height"))
            for bar in elements(group, "rect", *kinds)]


def texts(group, *anchors):
    """The labels, or those that begin ("start"), end or have their middle at their place."""
    labels = elements(group, "text")
    return [label.text for label in labels if not anchors or label.get("text-anchor") in anchors]


def place_of(label):
    """Where a label is."""
    place = label.get("transform") or f"{label.get('x')} {label.get('y')}"
    return tuple(map(float, re.search(r"([-.0-9]+) ([-.0-9]+)", place).groups()))


def steps(path):
    """The points of a step line."""
    points = re.findall(r"[MH]([-.0-9]+)[ V]([-.0-9]+)", path.get("d"))
    return [(float(x), float(y)) for x, y in points]


class Drawn:
    """A picture that has passed what must hold for each: well-formed, self-contained, nothing cut off."""

    def __init__(self, svg):
        assert svg.isascii()
        root = ElementTree.fromstring(svg)
        self.title, self.description, style, paper, *self.groups = root
        _, _, width, self.height = map(int, root.get("viewBox").split())
        tags = [part.tag for part in (root, self.title, self.description, style, paper)]
        assert tags == [SVG + tag for tag in ("svg", "title", "desc", "style", "rect")]
        assert (root.get("version"), width, style.get("type")) == ("1.1", 480, "text/css")
        assert not re.search("url|import|font-face|http", style.text)
        kinds = set(re.findall(r"\.([a-z]+)", style.text))
        for element in root.iter():
            assert set(element.attrib) <= SVG_ATTRIBUTES[element.tag[len(SVG):]]
            assert element.get("class", "paper") in kinds
        moves = [group.get("transform") for group in self.groups]
        tops = [float(re.fullmatch(r"translate\(0 ([.0-9]+)\)", move)[1]) for move in moves]
        for group, top, bottom in zip(self.groups, tops, [*tops[1:], self.height]):
            self.check_edges(group, bottom - top)

    def check_edges(self, group, height_of_group):
        """That nothing of a group is outside of it; letters are taken for narrower than they are."""
        def is_inside(x, y):
            return 0 <= x <= 480 and 0 <= y <= height_of_group + 0.2  # they are rounded

        for x, y, width, height in bars(group):
            assert width >= 0 and height >= 0 and is_inside(x, y) and is_inside(x + width, y + height)
        for path in elements(group, "path"):
            assert all(is_inside(x, y) for x, y in steps(path))
        for label in elements(group, "text"):
            x, y = place_of(label)
            length = len(label.text) * (7 if label.get("class") == "title" else 4.5)
            assert is_inside(x, y) and y >= 7
            if "transform" in label.attrib:  # it is turned
                assert y - length >= -2
            elif label.get("text-anchor") == "end":
                assert x - length >= 0
            elif label.get("text-anchor") == "start":
                assert x + length <= 480

    def after(self, head, count):
        """The group so many after the one that begins with this head."""
        heads = [i for i, group in enumerate(self.groups) if "".join(texts(group)[:1]).startswith(head)]
        return self.groups[heads[0] + count]

    def charts(self):
        """The groups with grid lines."""
        return [group for group in self.groups if elements(group, "path", "grid")]

    def row(self, head):
        """The first row with this head."""
        return next(group for group in self.groups if " ".join(reversed(texts(group, "end"))).endswith(head))

    def strips(self):
        """The rows of squares."""
        return [group for group in self.groups if texts(group)[:1] == ["grade"]]

    def lines(self, kind):
        """The step lines of that class."""
        return [line for group in self.groups for line in elements(group, "path", kind)]

    def words(self):
        """All labels."""
        return [text for group in self.groups for text in texts(group)]


def drawn(qrels, run, request, **settings):
    """The first explanation of a topic and the picture of all; the first topic, if there are several."""
    explanations = next(iter(trec_eval_ref.explain(qrels, run, [request], **settings).values()))
    return explanations[0], Drawn(trec_eval_ref.explanation_svg(explanations))


def figure(value):
    """A number as labels show it: whole, with four digits after the point, or with four that are not 0."""
    if value == int(value):
        return f"{value:.0f}"
    return f"{value:.4f}" if value >= 1e-4 else f"{value:.4g}"


TEN = collection_of("pictures", "qrels")  # a ranking of ten with grades 0 to 2, a tie and a missed document


def mixed(length):
    """A ranking with something for each measure near its top: all grades, unjudged documents, misses."""
    grades = {f"d{rank:02d}": (1, 0, 2, 3, -1, 0, 1)[rank % 7] for rank in range(length) if rank % 5 != 1}
    qrels = {"1": {**grades, "m1": 1, "m2": 2, "m3": 0, "m4": -1}}
    return qrels, {"1": {f"d{rank:02d}": float(-rank) for rank in range(length)}}


NOT_DRAWN = {
    "it is a count": {"num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"},
    "it does not say what was added up": {"relstring"},
    "the order of the documents plays no part in it": {
        "set_P", "set_relative_P", "set_recall", "set_map", "set_F", "utility"},
    "it is no sum over the ranks": {"ndcg_rel", "Rndcg"}}


@pytest.mark.parametrize("name, settings", [
    ("adhoc", {}), ("graded", {}), ("graded", {"relevance_level": 2}), ("ties", {"depth": 0}),
    ("missing", {"complete": True}), ("sampled", {"release": "9.0.8", "judged_only": True})])
def test_each_measure_is_drawn_or_a_picture_would_not_help(name, settings):
    refused = {}
    for requests in requests_for("qrels", settings.get("release", "10.0")):
        explained = trec_eval_ref.explain(*collection_of(name, "qrels"), requests, **settings)
        topic = max(explained)
        for explanation in explained[topic]:
            value, column = explanation.value, explanation.column
            try:
                picture = Drawn(trec_eval_ref.explanation_svg(explanation))
            except TrecEvalError as error:
                begin = f"{column.name}: a picture would not help, because "
                assert str(error).startswith(begin) and str(error).endswith("; use the text")
                reason = str(error)[len(begin):-len("; use the text")]
                refused.setdefault(reason, set()).add(column.measure.name)
            else:
                assert picture.title.text == f"{column.name} of topic {topic}: {value:.4f}"
                assert picture.description.text == "\n".join(trec_eval_ref.explanation_lines(explanation))
    assert refused == NOT_DRAWN


@pytest.mark.parametrize("rel_format, name, request_", [
    ("qrels_jg", "groups", "map_avgjg"), ("qrels_prefs", "groups", "prefs_simp"),
    ("prefs", "preferences", "prefs_pair")])
def test_no_picture_of_preferences_or_of_several_people(rel_format, name, request_):
    with pytest.raises(TrecEvalError, match="it is made of preferences, or of judgments by several people"):
        drawn(*collection_of(name, rel_format), request_, rel_format=rel_format)


@pytest.mark.parametrize("length", [12, 40])
@pytest.mark.parametrize("how, request_", [
    *((" /", request) for request in
      "map gm_map map_cut.7 bpref infAP binG G P.7 recall.5 Rprec relative_P.3 unj.5".split()),
    *(("", request) for request in "dcg ideal_dcg recip_rank rbp_resid yaap".split()),
    (" *", "rbp.p=0.5")])
def test_bars_are_the_terms_and_the_line_is_their_running_total(length, how, request_):
    explanation, picture = drawn(*mixed(length), request_)
    value = explanation.value.working[1] if request_ == "gm_map" else explanation.value
    terms = [term for rank, term in zip(value.ranks, value.terms) if rank <= 25]
    head, legend, totals = (picture.after("The bars added up", i) for i in range(3))
    place = picture.groups.index(head)
    numbers, panel, _ = picture.groups[place - 3:place]
    lengths = [height for _, _, _, height in bars(panel)]
    unit = max(lengths) / max(value.terms)
    assert max(lengths) > 20 and lengths == pytest.approx([term * unit for term in terms], abs=0.1)
    assert texts(numbers, "start", "middle") == list(map(figure, terms))
    is_of_precisions = request_ in ("map", "gm_map", "map_cut.7", "yaap")
    assert texts(numbers, "end") == ["precision" if is_of_precisions else "adds"]
    (_, bottom), *points = steps(elements(totals, "path", "line", "dashed")[0])
    expected = [*itertools.accumulate(terms), add(value.terms)]
    unit = (bottom - points[-1][1]) / expected[-1]
    assert [bottom - y for _, y in points] == pytest.approx([total * unit for total in expected], abs=0.1)
    label = request_ if request_ in ("dcg", "ideal_dcg") else "total"
    end = float(value) if how else add(value.terms)
    words, = texts(legend)
    assert re.fullmatch(rf"{label}{re.escape(how)}[ 0-9.]* so far, at the end {figure(end)}", words)


@pytest.mark.parametrize("request_, length, lines", [
    ("map", 10, "total = 1 + 0.6667 + 0.7500 + 0.5000 + 0.5000 = 3.4167"),
    ("recip_rank", 10, None),  # one term is no sum
    ("P.30", 40, f"total = {' + '.join('1' * 12)} + 2 (below rank 25) = 14"),
    ("ndcg", 10, "dcg = 1 + 1 + 1.2920 + 0.3155 + 0.5781 = 4.1856"),
    ("ideal_dcg", 10, "ideal_dcg = 3 + 1.2619 + 1 + 0.8614 + 0.3869 + 0.3562 + 0.3333 = 7.1996")])
def test_sums_are_written_out(request_, length, lines):
    _, picture = drawn(*mixed(length), request_)
    words = " ".join(picture.words())
    assert lines in words if lines else " = 1 + " not in words and "total = " not in words


def test_axes_end_at_round_numbers():
    _, picture = drawn({"1": {"b": 1}}, {"1": {"a": 2.0, "b": 1.0}}, "map")
    chart, total, _ = picture.charts()
    assert [texts(group, "end") for group in (chart, total)] == [["0", "0.5", "1"]] * 2
    assert [(y, height) for _, y, _, height in bars(chart)] == [(43, 35)]  # half of 70 high
    *_, last = drawn({"1": dict.fromkeys("ab", 3)}, {"1": {"a": 1.0}}, "ndcg")[1].charts()
    assert texts(last, "end") == ["0", "3", "6"]  # ideal_dcg is 4.89
    assert trec_eval_ref._axis([1.7e308]).high == 1.7e308 and trec_eval_ref._axis([5e-324]).high == 5e-324
    ends = [steps(line)[-1] for line in picture.lines("grid")]
    assert {x for x, _ in ends[:6]} == {76 + 2 * 39.6} and ends[-1][0] == 472  # after rank 2; at recall 1


def test_ranking_drawn():
    _, picture = drawn(*TEN, "map")
    ranking, missed = picture.strips()
    assert kinds_of(ranking) == "blue grey open blue blue grey grey blue open grey".split()
    assert texts(ranking, "middle") == list("20110020")
    assert not any("fill-opacity" in square.attrib for square in elements(ranking, "rect"))
    assert (kinds_of(missed), texts(missed, "middle")) == (["missed"], ["1"])
    for head, row in (("document", "D1 D2 D3 D4 D6 D5 D7 D8 D9 D10"), ("rank k", "1 2 3 4 5 6 7 8 9 10"),
                      ("hits so far", "1 2 3 4"), ("precision", "1 0.5000 0.6000 0.5000")):
        assert texts(picture.row(head), "middle") == row.split()
    _, bracket = picture.lines("tie")  # the first one is in the legend
    (left, _), *_, (right, _) = steps(bracket)
    places = [x for x, _, _, _ in bars(ranking)]
    assert (left, right) == (places[4] + 12, places[5] + 12)  # the middles of the tied ones
    words = picture.words()
    assert {"relevant: grade 1 or higher", "judged nonrelevant", "not judged",
            "equal scores: the greater name first",
            "The ranking: N = 10 documents, with 4 of the R = 5 relevant ones",
            "Not in the ranking: 1 of the R = 5 relevant ones", "What is missing adds 0, but counts in R",
            "total / 5 so far, at the end 0.5200", "total = 1 + 0.5000 + 0.6000 + 0.5000 = 2.6000",
            "map = 2.6000 / 5 = 0.5200"} <= set(words)
    assert picture.groups.index(missed) < picture.groups.index(picture.charts()[0])
    assert "P@k is hits(k) / k, and hits(k) the number of relevant documents among" in " ".join(words)
    words = drawn(*TEN, "bpref")[1].words()
    assert "The ranking: N = 10 documents, with 4 of the R = 5 relevant ones; NR = 4" in words
    assert "n is the number of judged nonrelevant documents above the relevant one, NR" in " ".join(words)


def test_missing_documents():
    for request, role in (("P.5", ""), ("dcg", ""), ("bpref", ", but counts in R"),
                          ("11pt_avg", ", but counts in R"), ("ndcg", ", but is part of the ideal ranking")):
        assert f"What is missing adds 0{role}" in drawn(*TEN, request)[1].words()
    _, picture = drawn({"1": dict.fromkeys(map(str, range(99)), 1)}, {"1": {"a": 1.0}}, "recall.1000")
    assert "Not in the ranking: 99 of the R = 99 relevant ones" in picture.words()
    assert "What is missing adds 0, but counts in R. 10 of them are drawn" in picture.words()
    assert kinds_of(picture.strips()[1]) == ["missed"] * 10


def test_ndcg_drawn():
    _, picture = drawn(*TEN, "ndcg")
    ranking, missed, ideal = picture.strips()
    for strip, kind, strengths in (ranking, "blue", "1 0.65 0.65 1"), (ideal, "orange", "1 1 0.65 0.65"):
        squares = elements(strip, "rect", kind)
        assert [square.get("fill-opacity", "1") for square in squares] == strengths.split()
        assert [label.text for label in elements(strip, "text", "on")] == ["2", "2"]  # white letters
    names, _, gains, logs, adds, panel, _, head = (picture.after("The ideal rank", i) for i in range(1, 9))
    assert (kinds_of(missed), kinds_of(ideal)) == (["missed"], ["orange"] * 4 + ["missed"])
    for row, expected in (names, "document D1 D8 D4 D6 D11"), (gains, "ideal gain 2 2 1 1 1"), (
            logs, "log2(k + 1) 1 1.5850 2 2.3219 2.5850"), (adds, "adds 2 1.2619 0.5000 0.4307 0.3869"):
        assert " ".join(texts(row)) == expected
    assert kinds_of(panel) == ["orange"] * 5 and texts(head) == ["The bars added up"]
    assert {"The ranking: N = 10 documents, with 4 of the 5 with a gain",
            "with a gain (stronger: larger gain)", "without a gain", "What each document adds",
            "Not in the ranking: 1 of the 5 with a gain",
            "What is missing adds 0, but is part of the ideal ranking",
            "dcg so far, at the end 3.4485", "dcg = 2 + 0.4307 + 0.3869 + 0.6309 = 3.4485",
            "ideal_dcg so far, at the end 4.5794", "ndcg = 3.4485 / 4.5794 = 0.7530"} <= set(picture.words())
    totals = picture.after("The bars added up", 2)
    kinds = [line.get("class") for line in elements(totals, "path", "line", "dashed")]
    assert kinds == ["dashed", "line"]  # so that the own line is seen where they coincide


def test_marks_of_documents():
    qrels = {"1": {"a": 1, "b": -1, "d": 12, "e": 2, "f": 1}}
    run = {"1": {"a": 5, "b": 4, "c": 3, "d": 2.00000001, "e": 2}}
    for request, settings, kinds in (
            ("map", {}, "blue open open blue blue"),
            ("map", {"relevance_level": 2}, "grey open open blue blue"),
            ("ndcg.1=0,12=1", {"relevance_level": 5}, "grey open open blue blue")):
        _, picture = drawn(qrels, run, request, **settings)
        assert kinds_of(picture.strips()[0]) == kinds.split()
        assert texts(picture.strips()[0], "middle") == ["1", "12", "2"]
        assert ("judged nonrelevant" in picture.words()) == ("ndcg" not in request and "grey" in kinds)
        assert ("without a gain" in picture.words()) == ("ndcg" in request)
    for release, ties in (("10.0", 0), ("9.0.8", 1)):
        _, picture = drawn(qrels, run, "bpref", release=release)
        assert len(picture.lines("tie")) == 2 * ties  # one in the legend
    for request, misses in (("map", 1), ("unj.5", 0), ("rbp_resid", 0), ("ndcg.1=0", 0)):
        _, picture = drawn(qrels, run, request)
        assert kinds_of(picture.strips()[-1]).count("missed") == misses


@pytest.mark.parametrize("collection", [TEN, mixed(12), mixed(40)], ids=["ten", "12", "40"])
class TestCharts:

    def test_area_is_average_precision(self, collection):
        explanation, picture = drawn(*collection, "map")
        chart, recall, below = (picture.after("The value as an area", i) for i in (3, 4, 5))
        topic = explanation.views[0].judged
        points = steps(elements(chart, "path", "area")[0])
        widths = [x - before for (before, _), (x, _) in zip(points, points[1:])]
        area = sum(width * (128 - y) for width, (_, y) in zip(widths, points))
        assert area / (396 * 120) == pytest.approx(explanation.value, rel=0.001)
        assert (points[0], points[-1]) == ((76, 128), (472, 128))
        dots = [(x + 2 - 76) / 396 * topic.num_rel for x, _, _, _ in bars(chart, "blue")]
        assert dots == pytest.approx(range(1, topic.hits + 1), abs=0.01)
        assert len(dots) == topic.hits < topic.num_rel and not elements(chart, "path", "dashed")
        interpolated = steps(elements(chart, "path", "faint")[0])
        assert {round(y, 1) for _, y in interpolated} == {128.0} | {
            round(128 - 120 * max(topic.precisions[i:]), 1) for i in range(topic.hits)}
        assert " ".join(texts(recall)) == "recall 0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1"
        assert texts(below) == ["Recall is hits so far / R. What is not in the ranking has height 0."]

    @pytest.mark.parametrize("parameters", ["", ".0.3,0.8", ".0.4,0.9,2"])
    @pytest.mark.parametrize("name", ["iprec_at_recall", "11pt_avg"])
    def test_interpolated_precision(self, collection, name, parameters):
        explained, = trec_eval_ref.explain(*collection, ["iprec_at_recall" + parameters]).values()
        values = {one.column.arguments[0]: one.value for one in explained}
        explanation, picture = drawn(*collection, name + parameters)
        chart, below = (picture.after("The same precisions by recall", i) for i in (3, 5))
        marks = [(x + 4, y + 4) for x, y, _, _ in bars(chart, "level")]
        expected = [(76 + 396 * level, 128 - 120 * value) for level, value in values.items() if level <= 1]
        assert marks == [pytest.approx(place, abs=0.1) for place in expected]
        shown = ", ".join(f"{figure(value)} at {level:g}" for level, value in values.items())
        assert " ".join(texts(below)) == f"Values at recall levels, rounded to whole documents: {shown}"
        line, = elements(chart, "path", "dashed")
        topic = explanation.views[0].judged
        for i in range(topic.hits):  # above the document's recall is the best precision from there on
            middle = 76 + 396 * (i + 0.5) / topic.num_rel
            level = [y for x, y in steps(line) if x <= middle][-1]
            assert level == pytest.approx(128 - 120 * max(topic.precisions[i:]), abs=0.1)
        assert steps(line)[-1] == (472, 128)

    @pytest.mark.parametrize("request_", [
        "ndcg", "ndcg.1=5,2=4", "nDCG(gains={1:5,2:4})", "ndcg_cut.3", "ndcg_cut.30"])
    def test_ndcg(self, collection, request_):
        explanation, picture = drawn(*collection, request_)
        _, dcg, ideal = explanation.value.working
        gains = {1: 5, 2: 4} if "=" in request_ else {}
        grades = sorted(collection[0]["1"].values(), key=lambda grade: -gains.get(grade, grade))
        squares = texts(picture.after("The ideal ranking", 2), "middle")
        assert squares == list(map(str, grades[:min(25, len(ideal.terms))]))
        own, best = [bars(group, "blue", "orange") for group in picture.charts()][:2]
        unit = best[0][3] / ideal.terms[0]
        for panel, value in (own, dcg), (best, ideal):
            lengths = [term * unit for rank, term in zip(value.ranks, value.terms) if rank <= 25]
            assert [height for *_, height in panel] == pytest.approx(lengths, abs=0.1)
        totals = picture.after("The bars added up", 2)
        ends = {line.get("class"): steps(line)[-1][1] for line in elements(totals, "path", "line", "dashed")}
        assert (78 - ends["line"]) / (78 - ends["dashed"]) == pytest.approx(explanation.value, rel=0.01)
        assert texts(picture.after("The bars added up", 1)) == [
            f"dcg so far, at the end {figure(dcg)}", f"ideal_dcg so far, at the end {figure(ideal)}"]


@pytest.mark.parametrize("request_, count, sentence", [
    ("P.3", 1, "Only ranks up to 3 count"), ("ndcg_cut.10", 4, "Only ranks up to 10 count"),
    ("P.12", 4, "Only ranks up to 12 count"), ("Rprec", 3, ""), ("Rprec_mult.0", 0, "")])
def test_only_ranks_that_count_have_bars(request_, count, sentence):
    _, picture = drawn(*TEN, request_)
    assert len(bars(picture.strips()[0])) == len(texts(picture.row("rank k"), "middle")) == 10
    assert len(bars(picture.charts()[0])) == count
    words = " ".join(picture.words())
    assert sentence in words and ("Only ranks up to" in words) == bool(sentence)


@pytest.mark.parametrize("request_, counted", [
    ("map", ""), ("ndcg", ""), ("rbp", ""), ("P.1000", "Only ranks up to 1000 count. "), ("11pt_avg", "")])
def test_long_rankings_stay_readable_at_the_top(request_, counted):
    chance = random.Random(1)
    scores = {f"GX{chance.randrange(1000):03d}-{chance.random() * 1e7:.0f}": -rank for rank in range(3000)}
    grades = {docno: chance.choice([0, 0, 1, 2]) for docno in scores if chance.random() < 0.5}
    _, picture = drawn({"1": grades}, {"1": scores}, request_)
    squares = bars(picture.strips()[0])
    places = [pytest.approx(76 + 15.84 * place, abs=0.1) for place in range(25)]
    assert [x - 1 for x, _, _, _ in squares] == places
    assert {(width, height) for _, _, width, height in squares} == {(13.8, 13.8)}
    assert texts(picture.row("rank k"), "middle") == [str(rank) for rank in range(1, 26)]
    assert len(texts(picture.row("document"), "start")) == 25
    words = " ".join(picture.words())
    assert f". {counted}The first 25 are drawn" in words
    assert ("(below rank 25)" in words) == (request_ != "11pt_avg")


def test_brackets_join_documents_that_are_drawn():
    for length, ends in (30, [25]), (25, [25]), (24, [24]):
        run = {"1": {f"d{rank}": 1.0 for rank in range(10, 10 + length)}}
        _, *brackets = drawn({"1": {"d10": 1}}, run, "map")[1].lines("tie")
        lasts = [round((steps(bracket)[-1][0] - 76) * ends[0] / 396 + 0.5, 1) for bracket in brackets]
        assert lasts == ends


ODD = {  # a name, and how pictures show it
    "<b>&amp;\"'": "<b>&amp;\"'", "\x07\x00\x7f": r"\x07\x00\x7f", "caf\udce9\udcff": r"caf\xe9\xff",
    "\ud800\uffff": r"\ud800\uffff", "\u202eabc\u2069": r"\u202eabc\u2069", "a\nb\tc": r"a\nb\tc",
    "\u05d0\u05d1": "\u2068\u05d0\u05d1\u2069", "\u4e2d\u6587": "\u2068\u4e2d\u6587\u2069",
    "\u200bx\u061c": r"\u200bx\u061c", "a" * 99 + "b": "aaaaaaaaa...aaaaaaab",
    "\u4e2d" * 30: "\u2068\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d...\u4e2d\u4e2d\u4e2d\u4e2d\u2069"}


@pytest.mark.parametrize("name, shown", ODD.items(), ids=map(ascii, ODD))
def test_names_are_shown_whatever_they_hold(name, shown):
    _, picture = drawn({name: {name: 1, name + "!": 1}}, {name: {name: 1.0}}, "map")
    assert shown in texts(picture.row("document"))
    if len(name) < 20:  # the title has more room
        assert picture.title.text == picture.words()[0] == f"map of topic {shown}: 0.5000"


def test_names_from_files_are_bytes(tmp_path):
    write(tmp_path, b"t\xff 0 \xe4\xb8\xad\xe9 1\n", b"t\xff Q0 \xe4\xb8\xad\xe9 1 1 tag\n")
    result = run_main(["--explain", "map", "--svg", "-", "qrels.txt", "run.txt"], tmp_path)
    picture = Drawn(result.out.decode())
    assert picture.title.text == r"map of topic t\xff: 1.0000"
    assert "\u2068\u4e2d\\xe9\u2069" in picture.words()


@pytest.mark.parametrize("request_, numbers", [
    ("dcg.1=-1,2=3", ["-1", "1.8928", "-0.4307"]),
    ("dcg.1=1e90,2=1e99", ["1e+90", "6.309e+98", "4.307e+89"]),
    ("dcg.1=1e-90,2=0", ["1e-90", "4.307e-91"]),
    ("dcg.1=1000,2=1023", ["1000", "645.4411", "430.6766"])])
def test_numbers_that_are_negative_large_or_small(request_, numbers):
    qrels, run = {"1": {"a": 1, "b": 2, "d": 1}}, {"1": {"a": 4, "b": 3, "c": 2, "d": 1}}
    _, picture = drawn(qrels, run, request_)
    numbers_of_it, panel = (picture.after("What each document adds", i) for i in (3, 4))
    assert texts(numbers_of_it, "start", "middle") == numbers
    (_, y, _, height), (_, other_y, _, other_height), *_ = bars(panel)
    is_negative = numbers[0].startswith("-")
    assert other_y + other_height == pytest.approx(y if is_negative else y + height)  # there is 0


@pytest.mark.parametrize("gain", ["5e-324", "0", "1e99"])
def test_totals_of_any_size_are_drawn(gain):
    _, picture = drawn({"1": {"a": 1, "b": 1}}, {"1": {"a": 2.0, "b": 1.0}}, f"ndcg.1={gain}")
    assert len(picture.lines("line")) == len(picture.lines("dashed")) == 2  # one in the legend


def test_numbers_have_as_many_decimals_as_asked_for():
    explanation, = trec_eval_ref.explain(*TEN, ["ndcg"])["1"]
    for digits, end, places in (1, "3.4", [28, 260]), (12, "3.448459118879", [28, 28]):
        picture = Drawn(trec_eval_ref.explanation_svg(explanation, digits=digits))
        legend = picture.after("The bars added up", 1)
        assert texts(legend)[0] == f"dcg so far, at the end {end}"
        assert [place_of(label)[0] for label in elements(legend, "text")] == places  # one in a line if long
        assert f"{1 / math.log2(5):.{digits}f}" in texts(picture.row("adds"))


def test_several_values_are_no_picture():
    for requests, found in (
            (["P"], "9 (P_5 to P_1000); ask for one, such as P_5"),
            (["official"], "29 (num_q to P_1000); ask for one, such as map"),
            (["iprec_at_recall.0.1", "P.5"],
             "2 (iprec_at_recall_0.10 to P_5); ask for one, such as iprec_at_recall_0.10")):
        explanations, = trec_eval_ref.explain(*TEN, requests).values()
        with pytest.raises(TrecEvalError) as caught:
            trec_eval_ref.explanation_svg(explanations)
        assert str(caught.value) == f"expected one value for a picture, found {found}"


def test_pictures_of_what_cannot_be_drawn_together():
    of_level_2, of_level_1 = trec_eval_ref.explain(*TEN, ["IPrec(rel=2)@0.3", "IPrec@0.5"])["1"]
    of_other_topic = of_level_1._replace(topic="2")
    for explanations, message in (([], "found none"), ([of_level_1, of_other_topic], "found 2"),
                                  ([of_level_2, of_level_1], "one value for a picture, found 2")):
        with pytest.raises(TrecEvalError, match=message):
            trec_eval_ref.explanation_svg(explanations)


@pytest.mark.parametrize("name, shown", [
    ("ndcg.1=2\x07", r"ndcg_1=2\x07"), ("ndcg.1=2\udcff", r"ndcg_1=2\xff")])
def test_names_of_measures_that_xml_cannot_hold(tmp_path, name, shown):
    result = run_main(["--explain", name, "--svg", "-", *FILES], write(tmp_path, QRELS, RUN))
    assert Drawn(result.out.decode("ascii")).title.text.startswith(shown + " of topic 1: ")


def test_pictures_do_not_depend_on_hashes():
    pictures = set()
    for seed in ("1", "2"):
        with mock.patch.dict(ENVIRONMENT, PYTHONHASHSEED=seed):
            command = [*PROGRAM, "--explain", "ndcg", "--svg", "-", "qrels.txt", "run.txt"]
            pictures.add(run_process(command, FIXTURES / "pictures").out)
    assert len(pictures) == 1 and pictures != {b""}


def test_svg_on_the_command_line(tmp_path):
    command = ["--explain", "bpref", "qrels.txt", "run.txt"]
    directory, file = FIXTURES / "worked", tmp_path / "out.svg"
    assert run_main(["--svg", file, *command], directory) == run_main(command, directory)
    picture = file.read_bytes()
    assert Drawn(picture.decode()).title.text == "bpref of topic 1: 0.4400"
    assert run_main(["--svg", "-", *command], directory) == Result(0, picture, "")
    second = run_main(["--svg", "-", "-D", "0.2", "--digits", "6", *command], directory).out
    assert Drawn(second.decode()).title.text == "bpref of topic 2: 0.222222"
    missing = run_main(["--svg", "-", "-c", "-D", "0.53", "--explain", "unj.5", "qrels.txt", "run.txt"],
                       FIXTURES / "missing").out
    note = "printed as 0: the run misses this topic, and this value is set to 0"
    assert note in Drawn(missing.decode()).words()


@pytest.mark.parametrize("options", [["-n"], ["--format", "csv"]])
def test_svg_of_runs_beside_output_without_comparisons(options):
    result = run_main([*options, "--svg", "-", "-m", "map", *COMPARED_FILES], COMPARED)
    assert result == run_main(["--svg", "-", "-m", "map", *COMPARED_FILES], COMPARED) and result.status == 0


@pytest.mark.parametrize("arguments, status, message", [
    (["--svg", "x"], 1,
     "expected --svg with --explain MEASURE or with several runs, and without --audit\n"),
    (["--svg", "x", "--audit", "run.txt"], 1, "expected --svg with --explain MEASURE or with several runs, "),
    (["--svg", "x", "--explain", "P"], 1, "expected one value for a picture, found 9 (P_5 to P_1000)"),
    (["--svg", "x", "--explain", "set_F"], 1, "set_F: a picture would not help, because the order"),
    (["--svg", "no/x", "--explain", "map"], 2, "no/x: cannot be written: No such file or directory")])
def test_svg_refused(tmp_path, arguments, status, message):
    for name in ("qrels.txt", "run.txt"):
        shutil.copy(FIXTURES / "worked" / name, tmp_path)
    result = run_main([*arguments, "qrels.txt", "run.txt"], tmp_path)
    assert (result.status, result.out) == (status, b"") and result.err.startswith("trec_eval_ref: " + message)
    assert result.err.count("\n") == 1 and not (tmp_path / "x").exists()


def compared_run(name, differences, interval=(-0.1, 0.2), p=0.0312):
    """A run compared with a baseline, by its differences."""
    values = list(differences.values())
    better, worse = sum(value > 0 for value in values), sum(value < 0 for value in values)
    mean = add(values) / len(values)
    return trec_eval_ref.ComparedRun(name, differences, mean, interval, better, values.count(0), worse, p)


def test_comparison_drawn():
    one = compared_run("one", {"t1": 0.1, "t2": -0.25, "t3": 0.0, "t4": 0.5, "t5": 0.05, "t6": 0.2})
    two = compared_run("\u05d0<\udcff", {"t1": -0.125, "t2": 0.0, "t3": 0.0625}, None, None)
    picture = Drawn(trec_eval_ref.comparison_svg("map", "base&", [one, two]))
    assert picture.title.text == "map of 2 runs compared with base&"
    legend, first, second = [group for group in picture.groups if elements(group, "path", "mean")]
    assert texts(legend) == ["the run is better", "the run is worse", "mean difference",
                             "95 % confidence interval of the mean"]
    assert kinds_of(first) == ["blue"] * 4 + ["orange"] * 2 + ["interval"]
    falling = [0.5, 0.2, 0.1, 0.05, 0.0, -0.25]
    *topics, (_, interval_y, _, interval_height) = bars(first)
    unit, zero = topics[0][3] / 0.5, topics[0][1] + topics[0][3]
    ends = [zero - y if difference >= 0 else zero - y - height
            for difference, (_, y, _, height) in zip(falling, topics)]
    assert ends == pytest.approx([difference * unit for difference in falling], abs=0.1)
    assert (interval_y, interval_height) == pytest.approx((zero - 0.2 * unit, 0.3 * unit), abs=0.1)
    mean, = elements(first, "path", "mean")
    assert steps(mean)[0][1] == pytest.approx(zero - 0.1 * unit, abs=0.1)
    assert texts(picture.row("topic"), "middle") == ["t4", "t6", "t1", "t5", "t3", "t2"]
    assert kinds_of(second) == ["blue", "orange", "orange"]
    assert bars(second)[2][3] == pytest.approx(0.125 * unit, abs=0.1)  # on the same scale
    lines = ["one: 4 better, 1 equal, 1 worse",
             "mean difference +0.1000, 95 % interval -0.1000 to +0.2000, p = 0.0312",
             "gain most: t4 (+0.5000), t6 (+0.2000), t1 (+0.1000)", "lose most: t2 (-0.2500)",
             "\u2068\u05d0<\\xff\u2069: 1 better, 1 equal, 1 worse", "mean difference -0.0208",
             "gain most: t3 (+0.0625)", "lose most: t1 (-0.1250)"]
    assert [text for group in picture.groups for text in texts(group, "start")
            if ":" in text or text.startswith("mean ")][-8:] == lines
    assert picture.description.text.splitlines()[1:] == lines


def test_comparison_of_many_topics():
    chance = random.Random(2)
    run = compared_run("run", {str(topic): chance.gauss(0, 0.1) for topic in range(2000)})
    picture = Drawn(trec_eval_ref.comparison_svg("map", "baseline", [run]))
    _, panel = [group for group in picture.groups if elements(group, "path", "mean")]
    assert "topic" not in picture.words()  # their names have no room
    heights = [height for _, _, _, height in bars(panel, "blue")]
    assert heights == sorted(heights, reverse=True)
    assert max(x + width for x, _, width, _ in bars(panel, "blue", "orange")) < 452.1


def test_picture_of_several_runs(tmp_path):
    runs = [FIXTURES / "compare" / name for name in ("bm25.txt", "dense.txt", "bm25_rm3.txt")]
    arguments = ["-m", "num_ret", "-m", "P.5", "-m", "map", FIXTURES / "adhoc" / "qrels.txt", *runs]
    alone = run_main(["--svg", "-", *arguments])
    assert alone.status == 0 and b"<title>map of 2 runs compared with bm25</title>" in alone.out
    with_text = run_main(["--svg", tmp_path / "runs.svg", *arguments])
    assert with_text.out == run_main(arguments).out and (tmp_path / "runs.svg").read_bytes() == alone.out
    nothing = run_main(["--svg", "-", "-m", "num_ret", *arguments[6:]])
    assert (nothing.status, nothing.out) == (1, b"")
    assert "expected a measure by which runs can be" in nothing.err


# ---- Auditing ----


class Collection(NamedTuple):
    qrels: dict
    run: dict  # the documents in the order of the file
    ranks: dict  # the rank column


def audited_collection(size):
    """So many topics in both files, and more in one of them, that tell all conventions apart.

    There are ties of two and three documents, and pairs that are tied in single precision only; runs shorter
    and longer than the cutoffs; documents named like their topic; topics without a relevant document, without
    a hit, missing from the run, missing from the qrels; a rank column and an order of lines that have nothing
    to do with the scores.
    """
    chance = random.Random(size)
    qrels, run, ranks = {}, {}, {}
    for i in range(size + 3):
        topic = str(95 + i)
        depth = chance.choice([3, 8, 12, 25, 40])
        docnos = chance.sample([topic, *("d%d" % i for i in range(3 * depth + 60))], 2 * depth + 20)
        if topic not in docnos[:depth] and i % 2:
            docnos[0] = topic
        grades = [[-1, 0, 0, 0, 1, 2], [0, 0, 1, 1, 2, 3, 4], [1, 2, 3], [0, 0, 0, 0, 1, 2]][i % 4]
        if i < size + 2:
            qrels[topic] = {docno: chance.choice([0] if i % 10 == 1 else grades)
                            for docno in chance.sample(docnos, len(docnos) * 2 // 3)}
            qrels[topic].update({docnos[1]: 4} if i == 0 else {})
        if i in (size, size + 1):
            continue  # missing from the run
        scores = []
        while len(scores) < depth:
            some = round(chance.uniform(0, 30), 3)
            scores += [some] * chance.choice([1, 1, 2, 3]) if i % 3 else [1000 + some, 1000 + some + 1e-6]
        run[topic] = dict(zip(docnos[:depth], scores))
        run[topic] = dict(chance.sample(sorted(run[topic].items()), depth))
        ranks[topic] = dict(zip(run[topic], chance.sample(range(1, depth + 1), depth)))
    return Collection(qrels, run, ranks)


AUDITED = {size: audited_collection(size) for size in (3, 50)}


class Tool:
    """Another tool, by definitions of its own, which follows the conventions of some ids."""

    def __init__(self, size, *ids):
        self.qrels, self.run, self.ranks = AUDITED[size]
        self.ids = set(ids)
        self.level = self.number("level", 1)
        self.depth = self.number("depth", None)

    def number(self, family, usual):
        found = [id for id in self.ids if id.startswith(family + "=")]
        return int(re.search("[0-9]+", found[0]).group()) if found else usual

    def orders(self, topic):
        """The ranking of a topic, and those in which one group of tied documents has another order."""
        scores, grades = dict(self.run[topic]), self.qrels[topic]
        if "topic-document=removed" in self.ids:
            scores.pop(topic, None)
        if "release=9.0.8" in self.ids:
            kept = struct.unpack("%df" % len(scores), struct.pack("%df" % len(scores), *scores.values()))
            scores = dict(zip(scores, kept))
        if "order=rank-column" in self.ids:
            scores = {docno: -self.ranks[topic][docno] for docno in scores}
        places = {docno: place for place, docno in enumerate(self.run[topic])}
        ordering = {"ties=docno-ascending": lambda docno: docno, "ties=file": places.get,
                    "ties=rank-column": self.ranks[topic].get,
                    "ties=relevant-last": lambda docno: grades.get(docno, -1) >= self.level,
                    "ties=relevant-first": lambda docno: grades.get(docno, -1) < self.level}
        key = next((ordering[id] for id in self.ids if id in ordering), lambda docno: 0)
        ranking = sorted(sorted(sorted(scores, reverse=True), key=key), key=scores.get, reverse=True)
        yield ranking, None
        if "ties=averaged" in self.ids:
            for score in set(scores.values()):
                group = [docno for docno in ranking if scores[docno] == score]
                start = ranking.index(group[0])
                for order in itertools.permutations(group) if len(group) > 1 else ():
                    yield ranking[:start] + list(order) + ranking[start + len(group):], score

    def topic(self, topic):
        """The values of a topic; each group of ties that are averaged adds its mean change."""
        if topic not in self.run:
            values = self.ranked(topic, [None][:self.depth])
            return {**values, "num_ret": 0, "rbp_resid": 0.0}
        changes = {}
        for ranking, group in self.orders(topic):
            changes.setdefault(group, []).append(self.ranked(topic, ranking[:self.depth]))
        values, = changes.pop(None)
        return {name: value + sum(add(one[name] - value for one in group) / len(group)
                                  for group in changes.values())
                for name, value in values.items()}

    def ranked(self, topic, ranking):
        ids, level, grades = self.ids, self.level, self.qrels[topic]
        if "judged-only" in ids:
            ranking = [docno for docno in ranking if grades.get(docno, -1) >= 0]
        at = [grades.get(docno, -1) for docno in ranking]
        judged = [grade for grade in grades.values() if grade >= 0]
        N, R = len(at), sum(grade >= level for grade in judged)
        relevant = [k for k, grade in enumerate(at, 1) if grade >= level]
        nonrelevant = [k for k, grade in enumerate(at, 1) if 0 <= grade < level]
        unjudged = [k for k, grade in enumerate(at, 1) if grade < 0]

        def hits(k):
            return sum(rank <= k for rank in relevant)

        def ap(k=10 ** 9):
            by = hits(k) if "ap=by-hits" in ids else min(R, N) if "ap=by-min-R-N" in ids else \
                min(R, k) if "ap=by-min-R-k" in ids else R
            return ratio(add(hits(rank) / rank for rank in relevant if rank <= k), by)

        def bpref():
            def b(k):
                n = sum(rank < k for rank in nonrelevant)
                if "bpref=1-n/R" in ids:
                    return 1 - min(n, R) / R
                return 1 - min(n, R) / min(R, len(judged) - R) if n else 1
            return ratio(add(map(b, relevant)), R)

        def iprec(c):
            if "iprec=recall-at-least" in ids:
                return max((hits(k) / k for k in range(1, N + 1) if hits(k) >= c * R - 1e-9), default=0.0)
            m = math.trunc(c * R + 0.9) if "release=9.0.8" in ids else math.floor(c * R + 0.5)
            return max((hits(k) / k for k in range(1, N + 1) if hits(k) >= m),
                       default=0.0) if relevant else 0.0

        def gain(grade):
            if grade < 0 or ("ndcg=levelled" in ids and grade < level):
                return 0
            if "ndcg=exponential-gains" in ids:
                return 2 ** grade - 1
            return int(grade >= level) if "ndcg=binary-gains" in ids else grade
        gained, ideal = [gain(grade) for grade in at], sorted(map(gain, judged), reverse=True)
        retrieved_ideal = sorted(gained, reverse=True) if "ndcg=ideal-of-retrieved" in ids else ideal
        log = math.log if "logarithm=natural" in ids else math.log2

        def dcg(gains, k=None):
            def discount(rank):
                return max(1, math.log2(rank)) if "ndcg=discount-from-rank-2" in ids else log(rank + 1)
            return add(value / discount(rank) for rank, value in enumerate(gains[:k], 1))

        def costs(k):
            return sum(max(value, 1) for value in (ideal + [0] * k)[:k])
        p = next((float(id[6:]) for id in ids if id.startswith("rbp=p-")), 0.9)
        most = max(1, *(grade for grades in self.qrels.values() for grade in grades.values()))
        own = [grade for grade in range(max(judged, default=0) + 1)]
        scale = most if "rbp=largest-grade" in ids else 1 if "rbp=raw" in ids else max(own[-1], 1)
        rbp = (1 - p) * add((grade >= level if "rbp=binary" in ids else grade / scale) * p ** (k - 1)
                            for k, grade in enumerate(at, 1) if grade >= 0)
        residual = (1 - p) * add(p ** (k - 1) for k in unjudged)
        if "rbp-resid=published" in ids:
            residual = rbp + p ** N
        elif "rbp-resid=depth" in ids:
            residual += p ** (self.depth or 1000)
        elif unjudged:
            residual += p ** N
        c = math.floor(0.6 * R + 0.5)
        m = math.trunc(0.6 * R + 0.9)
        shallow = min(5, N) if "p=by-min-k-N" in ids else 5
        return {
            "num_ret": N, "num_rel": R, "num_rel_ret": len(relevant),
            "num_nonrel_judged_ret": len(nonrelevant),
            "map": ap(), "Rprec": ratio(hits(R), R), "bpref": bpref(),
            "recip_rank": 1 / relevant[0] if relevant else 0.0,
            "iprec_at_recall_0.40": iprec(0.4), "P_5": ratio(hits(5), shallow),
            "P_10": ratio(hits(10), min(10, N) if "p=by-min-k-N" in ids else 10),
            "recall_5": ratio(hits(5), min(5, R) if "recall=by-min-R-k" in ids else R),
            "Rprec_mult_0.60": ratio(hits(c), R) if "rprec-mult=published" in ids else ratio(hits(m), m),
            "11pt_avg": add(iprec(i / 10) for i in range(11)) / 11,
            "binG": ratio(add(1 / log(2 + k - hits(k)) for k in relevant), R),
            "G": ratio(add(value / log(2 + costs(k) - sum(gained[:k])) for k, value in enumerate(gained, 1)),
                       sum(ideal)),
            "dcg": dcg(gained), "ndcg": ratio(dcg(gained), dcg(retrieved_ideal)),
            "ndcg_cut_5": ratio(dcg(gained, 5), dcg(retrieved_ideal, 5)), "map_cut_5": ap(5),
            "success_5": float(hits(5) > 0), "set_P": ratio(len(relevant), N),
            "set_recall": ratio(len(relevant), R),
            "rbp": rbp, "rbp_resid": residual,
        }

    def values(self):
        """{(topic, or None: over all, name): value}"""
        ids, both = self.ids, sorted(self.qrels.keys() & self.run.keys())
        topics = sorted(self.qrels) if "topics=complete" in ids else both
        by_topic = {topic: self.topic(topic) for topic in topics}
        values = {(topic, name): value for topic in topics for name, value in by_topic[topic].items()}
        if "topics-shifted" in ids:
            for topic, other in zip(both, both[1:] + both[:1]):
                values.update({(topic, name): value for name, value in by_topic[other].items()})
        if "topics=with-relevant" in ids:
            topics = [topic for topic in topics if max(self.qrels[topic].values()) >= self.level]
        size = len(self.run) if "topics=in-run" in ids else len(topics)
        for name in by_topic[topics[0]]:
            counted = topics
            if "at-least-k-results" in ids and name in ("P_5", "P_10", "map_cut_5"):
                counted = [topic for topic in topics
                           if by_topic[topic]["num_ret"] >= int(name.split("_")[-1])]
            column = [by_topic[topic][name] for topic in counted]
            if "rounding=topics-first" in ids:
                column = [round(value, self.digits) for value in column]
            values[None, name] = sum(column) / (len(counted) if counted is not topics else size)
            if name.startswith("num_") and "counts=averaged" not in ids:
                values[None, name] = sum(column)
        if "topics=complete" in ids:
            values[None, "num_rel"] = sum(grade > 0 for grades in self.qrels.values()
                                          for grade in grades.values())
        if "aggregate=micro" in ids:
            n = [by_topic[topic]["num_ret"] for topic in topics]
            for k in (5, 10):
                parts = [by_topic[topic]["P_%d" % k] * k for topic in topics]
                values[None, "P_%d" % k] = sum(parts) / sum(min(k, x) for x in n)
            relevant = sum(by_topic[topic]["num_rel"] for topic in topics)
            values[None, "recall_5"] = sum(by_topic[topic]["P_5"] * 5 for topic in topics) / relevant
            hits = sum(by_topic[topic]["num_rel_ret"] for topic in topics)
            values[None, "set_P"], values[None, "set_recall"] = hits / sum(n), hits / relevant
        aps = [by_topic[topic]["map"] for topic in topics]
        added = 0.01 if "gm=added-0.01" in ids else 0.00001 if "gm=added" in ids else None
        logarithms = [math.log(x + added if added else max(x, 0.00001)) for x in aps
                      if x > 0.00001 or "gm=zeros-left-out" not in ids]
        missing = size - len(topics) if "topics=in-run" in ids else 0
        counted = len(logarithms) + missing
        values[None, "gm_map"] = math.exp((sum(logarithms) + missing * math.log(0.00001)) / counted)
        return values

    digits = 4

    def figure(self, value, name, digits):
        """The value as this tool prints it."""
        if name.startswith("num_") and value == int(value):
            return "%d" % value
        if "rounding=cut-off" in self.ids:
            value = math.floor(value * 10 ** digits + 1e-7) / 10 ** digits
        decimals = [int(id[9]) for id in self.ids if id.startswith("rounding=") and id[9].isdigit()]
        return "%.*f" % (digits, round(value, *decimals) if decimals else value)

    def report(self, digits, names, topics=True):
        """{(topic, name): figure}, of values of topics and over all."""
        self.digits = digits
        values = remembered(self, digits)
        return {(topic, name): self.figure(value, name, digits) for (topic, name), value in values.items()
                if name in names and (topics or topic is None)}


@functools.lru_cache(maxsize=None)
def values_of(size, ids, digits):
    tool = Tool(size, *ids)
    tool.digits = digits
    return tool.values()


def remembered(tool, digits):
    size = 3 if tool.qrels is AUDITED[3].qrels else 50
    return values_of(size, tuple(sorted(tool.ids)), digits if "rounding=topics-first" in tool.ids else 0)


def measure_of(name):
    return request(name).partition(".")[0]


def lines_of(figures):
    return "".join("%-22s\t%s\t%s\n" % (name, topic or "all", figure)
                   for (topic, name), figure in figures.items())


def percentages_of(figures):
    return "".join("%s %s %s\n" % (name, topic or "mean", figure if name.startswith("num_") else
                                   "%.*f" % (len(figure) - 4, 100 * float(figure)))
                   for (topic, name), figure in figures.items())


def json_of(figures, kind=float):
    report = {}
    for (topic, name), figure in figures.items():
        report.setdefault(topic or "all", {})[name] = kind(figure)
    return json.dumps(report)


def csv_of(figures):
    return "run,topic,measure,value\n" + "".join(
        "bm25,%s,%s,%s\n" % (topic or "all", name, figure) for (topic, name), figure in figures.items())


def by_measure_of(figures):
    """The JSON that ranx makes: {measure: {topic: value}}."""
    report = {}
    for (topic, name), figure in figures.items():
        report.setdefault(name, {})[topic or "all"] = float(figure)
    return json.dumps(report)


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Directories with the collections: {number of topics: directory}."""
    directories = {}
    for size, (qrels, run, ranks) in AUDITED.items():
        lines = ["%s Q0 %s %d %r tag\n" % (topic, docno, ranks[topic][docno], score)
                 for topic, scores in run.items() for docno, score in scores.items()]
        directories[size] = write(tmp_path_factory.mktemp("audited"), qrels, "".join(lines))
    return directories


def audit(directory, report, *options, stdin=b""):
    (directory / "report").write_bytes(report if isinstance(report, bytes) else report.encode())
    return run_main([*options, "--audit", "report", "qrels.txt", "run.txt"], directory, stdin)


def audit_json(directory, report, *options):
    """Exit status and what is found."""
    result = audit(directory, report, "--json", *options)
    assert result.err == "", result.err
    return result.status, json.loads(result.out)


MAIN = ("num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank", "P_5", "P_10", "recall_5",
        "ndcg_cut_5", "ndcg", "rbp")
AP, NDCG, RBP = ("map", "gm_map", "map_cut_5"), ("ndcg", "ndcg_cut_5", "dcg"), ("rbp", "rbp_resid")
PLANTED = {  # by id, the measures to report
    **dict.fromkeys([
        "ties=docno-ascending", "ties=file", "ties=rank-column", "ties=relevant-last", "ties=relevant-first",
        "order=rank-column", "topic-document=removed", "judged-only", "level=2", "level=3", "level=4",
        "depth=5",
        "depth=10", "depth=20", "topics=complete", "topics=in-run", "topics=with-relevant", "topics-shifted",
        "rounding=cut-off", "rounding=1-decimal", "rounding=2-decimals"], MAIN),
    "release=9.0.8": (*MAIN, "iprec_at_recall_0.40", "11pt_avg"),
    "ties=averaged": ("success_5", "map_cut_5", "dcg", *(name for name in MAIN if name != "bpref")),
    "ap=by-hits": AP, "ap=by-min-R-k": ("map_cut_5",), "ap=by-min-R-N": AP,
    "ndcg=exponential-gains": NDCG, "ndcg=binary-gains": NDCG,
    "ndcg=ideal-of-retrieved": ("ndcg", "ndcg_cut_5"),
    "ndcg=discount-from-rank-2": NDCG, "logarithm=natural": ("dcg", "binG", "G"),
    "p=by-min-k-N": ("P_5", "P_10"), "recall=by-min-R-k": ("recall_5",),
    "rprec-mult=published": ("Rprec_mult_0.60",),
    "bpref=1-n/R": ("bpref",), "iprec=recall-at-least": ("iprec_at_recall_0.40", "11pt_avg"),
    "gm=added": ("gm_map",), "gm=added-0.01": ("gm_map",), "gm=zeros-left-out": ("gm_map",),
    **dict.fromkeys(["rbp=p-0.5", "rbp=p-0.8", "rbp=p-0.95", "rbp=largest-grade", "rbp=binary", "rbp=raw"],
                    RBP),
    "rbp-resid=published": ("rbp_resid",), "rbp-resid=depth": ("rbp_resid",),
    "counts=averaged": ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"),
    "at-least-k-results": ("P_5", "P_10", "map_cut_5"),
    "aggregate=micro": ("P_5", "P_10", "recall_5", "set_P", "set_recall"),
}


def reproduces(size, ids, digits, figures):
    """Whether the tool that follows these conventions prints these figures; a half may go up or down."""
    tool = Tool(size, *ids)
    tool.digits = digits
    values = remembered(tool, digits)
    for (topic, name), figure in figures.items():
        value = values.get((topic, name), math.nan)
        is_near = abs(float(figure) - float(tool.figure(value, name, 9))) < 0.50001 / 10 ** digits
        if not is_near and figure != tool.figure(value, name, digits):
            return False
    return True


def departing(found):
    return {name: of_measure for name, of_measure in found["measures"].items()
            if of_measure["agree"] < of_measure["of"]}


def all_ids(found):
    """{measure that departs: the sets of conventions that explain it}"""
    return {name: [frozenset(explanation["conventions"]) for explanation in of_measure["explanations"]]
            for name, of_measure in departing(found).items()}


def test_every_convention_is_planted(audited):
    """All that are tried where everything departs; those that need other reports are planted below."""
    tried = set()

    def remember(search, candidates, groups):
        tried.update(convention.id for candidate in candidates for convention in candidate)
    figures = Tool(50).report(4, [*Tool(50).topic("95"), "gm_map"])
    report = lines_of({key: "%g" % (float(figure) + 1) for key, figure in figures.items()})
    with mock.patch.object(trec_eval_ref.Search, "_try", remember):
        audit(audited[50], report)
    several = re.compile("measure=|depth=|rounding=.-decimal|rounding=topics-first|ndcg=levelled")
    assert {id for id in tried if not several.match(id)} == {id for id in PLANTED if not several.match(id)}


@pytest.mark.parametrize("size", AUDITED)
def test_without_conventions_all_agree(audited, size):
    tool = Tool(size)
    report = tool.report(10, [*tool.topic("95"), "gm_map"])
    status, found = audit_json(audited[size], lines_of(report))
    assert (status, found["compared"], found["agreeing"]) == (0, len(report), len(report))
    assert found["joint"] is None and found["not_compared"] == [] and all_ids(found) == {}


WRITERS = [lines_of, json_of, csv_of, percentages_of, by_measure_of]


def planted_cases():
    """Each convention twice, with both collections and both precisions where it shows, in some format."""
    found = []
    for number, planted in enumerate(PLANTED):
        needs_lines = planted.startswith(("rounding", "rbp", "ndcg")) or len(PLANTED[planted]) < 5
        cases = [(3, 4), (50, 2)] if number % 2 else [(50, 4), (3, 2)]
        cases = {"ties=averaged": [(3, 4), (3, 2)], "gm=added": [(3, 8), (50, 8)]}.get(planted, cases)
        for size, digits in cases:
            writer = lines_of if needs_lines else WRITERS[(number + digits) % 5]
            found.append(pytest.param(planted, size, digits, writer, id="%s-%d-%d" % (planted, size, digits)))
    return found


def shows(size, planted, digits):
    names = PLANTED[planted]
    return Tool(size, planted).report(digits, names) != Tool(size).report(digits, names)


def test_each_convention_shows_in_a_collection():
    assert [planted for planted in PLANTED if not shows(3, planted, 8) and not shows(50, planted, 8)] == []


@pytest.mark.parametrize("planted, size, digits, writer", planted_cases())
def test_planted_convention_is_found(audited, planted, size, digits, writer):
    if not shows(size, planted, digits):
        size, digits = 50, 4
    figures = Tool(size, planted).report(digits, PLANTED[planted])
    status, found = audit_json(audited[size], writer(figures))
    explained = all_ids(found)
    assert status == 3 and found["not_compared"] == [] and explained
    for name, candidates in explained.items():
        assert frozenset([planted]) in candidates, name
        of_measure = {key: figure for key, figure in figures.items() if measure_of(key[1]) == name}
        for ids in candidates[:3]:
            if "topics-shifted" not in ids and not any(id.startswith("measure=") for id in ids):
                assert reproduces(size, ids, digits, of_measure), (name, ids)
    joint = found["joint"]
    assert sorted(joint["measures"]) == sorted(explained)
    assert [planted] in [joint["conventions"], *joint["others"]]
    assert all(of["explanations"] == [] for name, of in found["measures"].items() if name not in explained)


def aspect(id):
    """What two conventions that go together do not share."""
    if id in ("ndcg=exponential-gains", "ndcg=binary-gains"):
        return "gains"
    if id.startswith(("ndcg=", "rounding=topics", "topics=with")):
        return id
    return "p" if id.startswith("rbp=p-") else id.split("=")[0]


def planted_pairs(count):
    """Random pairs of conventions that can go together, with a collection."""
    chance = random.Random(7)
    usual = [id for id in PLANTED if id != "release=9.0.8" and not re.match("rounding=.-d", id)]
    pairs = [pair for pair in itertools.combinations(usual, 2) if aspect(pair[0]) != aspect(pair[1])
             and not ("ties=averaged" in pair and {"judged-only", "rounding=topics-first"} & set(pair))]
    return [pytest.param(pair, (3, 50)[number % 2], id=" ".join(pair))
            for number, pair in enumerate(chance.sample(pairs, count))]


@pytest.mark.parametrize("pair, size", planted_pairs(18))
def test_planted_pair_is_found(audited, pair, size):
    names = {*PLANTED[pair[0]], *PLANTED[pair[1]]}
    if "ties=averaged" in pair:
        names &= set(PLANTED["ties=averaged"])
    figures = Tool(size, *pair).report(4, sorted(names))
    status, found = audit_json(audited[size], lines_of(figures))
    explained = all_ids(found)
    assert status == 3 and all(explained.values())
    joint = found["joint"]
    assert sorted(joint["measures"]) == sorted(explained) and joint["chance"] < 0.0001
    for ids in [joint["conventions"], *joint["others"]]:
        assert len(ids) <= 2
        for name in explained:
            of_measure = {key: figure for key, figure in figures.items() if measure_of(key[1]) == name}
            are_known = not any(id.startswith(("measure=", "topics-shifted")) for id in ids)
            assert not are_known or reproduces(size, ids, 4, of_measure), (name, ids)


@pytest.mark.parametrize("ids, names", [
    (["level=2", "ndcg=levelled"], ("ndcg", "ndcg_cut_5", "map")),
    (["level=2", "ndcg=levelled"], ("ndcg", "P_5")),
    (["level=2", "ndcg=levelled"], ("ndcg",)), (["level=2", "rbp=binary"], ("rbp",)),
    (["level=2", "ndcg=binary-gains", "rbp=p-0.8"], (*MAIN, "dcg")),
    (["ties=file", "ap=by-hits", "ndcg=exponential-gains", "rbp=raw", "p=by-min-k-N"], MAIN)])
def test_planted_tool_is_found(audited, ids, names):
    """A level where a measure has none, and several conventions of different measures."""
    figures = Tool(50, *ids).report(4, names, topics=False)
    _, found = audit_json(audited[50], lines_of(figures))
    assert set(found["joint"]["conventions"]) == set(ids) and found["joint"]["chance"] < 0.05
    assert sorted(found["joint"]["measures"]) == sorted(all_ids(found))


def test_averages_over_rounded_values(audited):
    """Topics are shown with two digits, and averages with four."""
    figures = Tool(50, "rounding=topics-first").report(2, MAIN)
    averages = Tool(50, "rounding=topics-first")
    averages.digits = 2
    values = averages.values()
    figures = {(topic, name): figure if topic else averages.figure(values[topic, name], name, 4)
               for (topic, name), figure in figures.items()}
    status, found = audit_json(audited[50], lines_of(figures))
    assert found["joint"]["conventions"] == ["rounding=topics-first"] and found["joint"]["others"] == []
    assert found["compared"] == len(figures) and len(all_ids(found)) > 5


def test_planted_pair_is_found_at_two_digits_of_50_topics(audited):
    figures = Tool(50, "ties=docno-ascending", "ap=by-hits").report(2, (*MAIN, "map_cut_5"))
    _, found = audit_json(audited[50], json_of(figures))
    assert set(found["joint"]["conventions"]) == {"ties=docno-ascending", "ap=by-hits"}
    assert sorted(found["joint"]["measures"]) == sorted(all_ids(found))


def test_wrong_numbers_are_hardly_ever_explained(audited):
    """Of random wrong averages, alone or among right values, at most 5 % are called explained."""
    chance = random.Random(11)
    names = ("map", "gm_map", "Rprec", "bpref", "recip_rank", "P_5", "recall_5", "ndcg_cut_5", "ndcg", "rbp",
             "11pt_avg")
    wrong, explained, fitting = 0, 0, 0
    for trial in range(36):
        size, digits, many = (3, 50)[trial % 2], (2, 4)[trial // 2 % 2], trial % 3
        values = values_of(size, (), 0)
        figures = Tool(size).report(digits, names, topics=many == 1)
        for name in names if many == 2 else [chance.choice(names)]:
            unit = 10 ** digits
            wrong_by = chance.choice([-1, 1]) * chance.uniform(1.01 / unit, 0.1)
            figures[None, name] = "%.*f" % (digits, values[None, name] + wrong_by)
            wrong += 1
        status, found = audit_json(audited[size], lines_of(figures), "--audit-pairs", "100")
        assert status == 3 and found["compared"] - found["agreeing"] == (len(names) if many == 2 else 1)
        for name, of_measure in departing(found).items():
            joint = found["joint"]
            is_joint = bool(joint) and joint["chance"] <= 0.05 and name in joint["measures"]
            fitting += bool(of_measure["explanations"])
            explained += is_joint or any(each["chance"] <= 0.05 for each in of_measure["explanations"])
    assert wrong == 156 and fitting > 30 and explained <= 0.05 * wrong


def test_strength_is_the_share_of_figures_that_conventions_give(tmp_path):
    docnos = ["z%d" % i for i in range(8)]
    write(tmp_path, {"1": {"a": 1}}, {"1": {**dict.fromkeys(docnos, 2.0), "a": 1.0, "b": 1.0}})
    # AP is 1/10 here.  Near it are 0 (Rprec), 0.1056 (averaged), 1/9 (the tie) and 0.1818 (set_F).
    for figure, chance in ("0.1111", 4 / 2000), ("0.111", 4 / 200), ("0.11", 3 / 20):
        _, found = audit_json(tmp_path, "map 1 %s\n" % figure)
        of_map = found["measures"]["map"]["explanations"]
        assert {"conventions": ["ties=docno-ascending"], "chance": chance} in of_map
        assert found["joint"]["chance"] == of_map[0]["chance"]
        verb = "explains" if chance < 0.05 else "is consistent with"
        lines = audit(tmp_path, "map 1 %s\n" % figure).out.decode().splitlines()
        assert lines[3] == "one convention %s the measure that departs: map" % verb
        assert ("more digits or values of topics would decide" in "".join(lines)) == (chance > 0.05)
    _, found = audit_json(tmp_path, "map 1 0.1111\nrecip_rank 1 0.1111\n")
    assert found["joint"]["chance"] == (4 / 2000) ** 2


def test_an_explanation_has_one_strength(tmp_path, audited):
    """That of the measures explained, times the choices of so many; whatever the other measures are like."""
    docnos = ["z%d" % i for i in range(8)]
    write(tmp_path, {"1": {"a": 1}}, {"1": {**dict.fromkeys(docnos, 2.0), "a": 1.0, "b": 1.0}})
    _, found = audit_json(tmp_path, "map 1 0.1111\nP_5 1 0.21\n")
    assert found["joint"]["measures"] == ["map"] and found["joint"]["chance"] == 2 * 4 / 2000
    assert found["measures"]["map"]["explanations"][0]["chance"] == 2 * 4 / 2000
    figures = Tool(50, "ap=by-hits").report(4, ("map",))
    figures.update({(None, "P_5"): "0.38", (None, "bpref"): "0.99", (None, "rbp"): "0.21"})
    _, found = audit_json(audited[50], lines_of(figures))
    assert found["joint"]["conventions"] == ["ap=by-hits"] and len(departing(found)) == 4
    assert found["measures"]["map"]["explanations"][0]["chance"] == found["joint"]["chance"] < 1e-20
    out = audit(audited[50], lines_of(figures)).out.decode()
    assert "one convention explains 1 of 4 measures that depart: map\n" in out
    for digits in (2, 3):
        figures = Tool(50, "level=2").report(digits, ("map", "Rprec", "P_5", "recall_5"), topics=False)
        figures[None, "recall_5"] = figures[None, "Rprec"] = "0.%s" % ("1" * digits)
        out = audit(audited[50], lines_of(figures)).out.decode()
        is_strong = "convention explains" in out or "  its values come out if" in out
        assert is_strong != ("consistent with" in out)


@pytest.mark.parametrize("topics", [True, False])
def test_zeros_are_not_explained_by_a_level_that_no_grade_reaches(audited, tmp_path, topics):
    """Which would explain all of them."""
    figures = {key: "0.0000" for key in Tool(50).report(4, ("map", "P_5"), topics)}
    assert not any(id.startswith("level") for ids in all_ids(audit_json(
        audited[50], lines_of(figures))[1]).values() for each in ids for id in each)
    write(tmp_path, QRELS, RUN)
    _, found = audit_json(tmp_path, "map 0.0000\nP_5 0.0000\n")
    assert found["joint"] is None and not any(all_ids(found).values())


@pytest.mark.parametrize("reported, other, ids", [
    ("P_5", "P_10", ["measure=P_10"]), ("map", "Rprec", ["measure=Rprec"]),
    ("map", "gm_map", ["measure=gm_map"]),
    ("ndcg", "ndcg_cut_5", ["measure=ndcg_cut_5"]), ("recall_5", "success_5", ["measure=success_5"]),
    ("num_rel", "num_rel_ret", ["measure=num_rel_ret"])])
def test_value_of_another_measure(audited, reported, other, ids):
    figures = Tool(50).report(4, MAIN, topics=False)
    right = Tool(50).report(4, (other,))
    figures.update({(topic, reported): figure for (topic, _), figure in right.items() if topic is None})
    _, found = audit_json(audited[50], lines_of(figures))
    assert found["joint"]["conventions"] == ids and list(all_ids(found)) == [measure_of(reported)]
    assert found["agreeing"] == len(figures) - 1


def test_values_of_another_measure_at_all_cutoffs(audited):
    success = run_main(["-q", "-m", "success.5,10,20", "qrels.txt", "run.txt"], audited[50]).out
    _, found = audit_json(audited[50], success.replace(b"success", b"recall"))
    assert found["joint"]["conventions"] == ["measure=success"]


@pytest.mark.parametrize("shift", [1, -1])
def test_values_of_the_topics_before_and_after(audited, shift):
    topics = sorted(AUDITED[50].qrels.keys() & AUDITED[50].run.keys(), key=int)
    figures = Tool(50).report(4, ("map", "P_5"))
    shifted = {(topics[(topics.index(topic) + shift) % 50], name): figure
               for (topic, name), figure in figures.items() if topic}
    _, found = audit_json(audited[50], lines_of(shifted))
    assert found["joint"]["conventions"] == ["topics-shifted"]
    which = {1: "previous", -1: "next"}[shift]
    assert "each topic has the values of the %s one in numeric order" % which in audit(
        audited[50], lines_of(shifted)).out.decode()


EXAMPLE = FIXTURES / "worked"  # whose AP is 0.5222 and 0.4250, MAP 0.4736, P_5 0.4


def audit_example(directory, report, *options):
    (directory / "report").write_text(report)
    return run_main([*options, "--audit", "report", EXAMPLE / "qrels.txt", EXAMPLE / "run.txt"], directory)


@pytest.mark.parametrize("report, compared, agreeing", named([
    ("JSON drops zeros", '{"map": 0.5, "ndcg": 0.12345678901}', 2, 0),
    ("and shows four digits", '{"map": 0.4736, "P_5": 0.4}', 2, 2),
    ("and five", '{"map": 0.47361, "P_5": 0.4}', 2, 2),
    ("a wrong one", '{"map": 0.4737, "P_5": 0.4}', 2, 1),
    ("one digit too few", '{"map": 0.474, "P_5": 0.40001}', 2, 0),
    ("CSV too", "measure,value\nmap,0.5\nP_5,0.39999\n", 2, 0), ("right CSV", "map,0.47361\nP_5,0.4\n", 2, 2),
    ("and lines of many digits", "map 0.4736111\nP_5 0.4\nP_10 0.3\n", 3, 2),
    ("of which none has zeros", "map 0.4736111111\nP_5 0.4000000001\n", 2, 1),
    ("lines show what they know", "map 1 0.52\nmap 2 0.43\nmap all 0.4736\n", 3, 3),
    ("whatever the others know", "map all 0.4736\nmap 2 0.42\nmap 1 0.53\n", 3, 2),
    ("topics may be coarse", "map 1 0.5\nrecip_rank 1 1.0\nmap all 0.4736\n", 3, 3),
    ("but not wrong", "map 1 0.6\nmap all 0.4736\n", 2, 1),
    ("averages not", "map all 0.5\nP_5 all 0.4\nrecip_rank all 0.7500\n", 1, 1),
    ("nor topics without decimals", "map 1 1\nmap 2 0\nP_5 all 0.40\n", 1, 1),
    ("counts are exact", "num_rel 1 5\nnum_rel all 9\nnum_ret all 20\n", 3, 2),
    ("in JSON as well", '{"num_rel": 9, "num_ret": 21, "map": 0.47361}', 3, 1),
    ("also as 1e1", "num_rel all 1e1\nnum_ret all 2e1\n", 2, 1),
    ("and with zeros", "num_ret all 20.0000\n", 1, 1),
    ("percentages", "map 47.36 %\nP_5: 40.00%\n", 2, 2), ("without a sign", "map 47.36\nP_5 40.00\n", 2, 2),
    ("in JSON", '{"map": 47.36, "P_5": 40.0, "recip_rank": 100.0}', 3, 2),
    ("coarse ones", "map 47 %\nP_5 40\n", 2, 2),
    ("marks", "map 0.4736*\nP_5 **0.4000**\n", 2, 2), ("a table", "| map | 0.4736 |\n| P_5 | 0.40 |\n", 2, 2),
    ("signs between", "map = 0.4736\nP_5 : 0.4000\nP_10: 0.3000\n", 3, 2)]))
def test_precision_of_reports(tmp_path, report, compared, agreeing):
    result = audit_example(tmp_path, report, "--json")
    found = json.loads(result.out)
    assert (found["compared"], found["agreeing"]) == (compared, agreeing)
    left_out = sum(each["values"] for each in found["not_compared"])
    assert result.status == (3 if agreeing < compared or left_out > compared else 0)


def test_nothing_that_can_be_compared(tmp_path):
    for report in ('{"map":0}', "map all 0.5\nP_5 all 0.4\n", "map 1 0.5\nmap 2 0.4\n"):
        result = audit_example(tmp_path, report)
        assert (result.status, result.out) == (2, b"") and "too coarse to compare" in result.err
    for report in ("P_5 nan\n", "P_5 1 nan\nmap 1 NaN\n", '{"map": NaN}'):
        result = audit_example(tmp_path, report)
        assert (result.status, result.out) == (2, b"")
        assert "report: expected values that can be compared, found none\n" in result.err
    assert audit_example(tmp_path, "P_5 nan\nmap 0.4736\n").status == 3


@pytest.mark.parametrize("name, column, value", named([
    (name, name, *rest) for name, *rest in [
        ("map_at_10", "map_cut", 0.4736), ("map_10", "map_cut", 0.4736),
        ("MAP@3", "map_cut", (5 / 3 / 5 + 0.5 / 3) / 2),
        ("recip_rank_10", "recip_rank", 0.75), ("RR@1", "recip_rank", 0.5), ("mrr_at_1", "recip_rank", 0.5),
        ("MRR@10", "recip_rank", 0.75), ("NDCG@10", "ndcg_cut", None), ("ndcg_at_10", "ndcg_cut", None),
        ("recall_at_3", "recall", (2 / 5 + 1 / 3) / 2), ("R_3", "recall", (2 / 5 + 1 / 3) / 2),
        ("p@3", "P", 0.5),
        ("precision_at_3", "P", 0.5), ("hit_rate@1", "success", 0.5), ("accuracy@1", "success", 0.5),
        ("P(rel=2)@5", "P", 0.0), ("AP(rel=2)", "map", 0.0), ("precision@5-l2", "P", 0.0),
        ("map:", "map", 0.4736),
        ("map_cut_10:", "map_cut", 0.4736), ("r-precision", "Rprec", None), ("P.5", "P", 0.4),
        ("P@5", "P", 0.4)]]))
def test_names_of_other_tools(tmp_path, name, column, value):
    reported = run_main(["--json", "-m", "ndcg_cut.10", "-m", "Rprec", EXAMPLE / "qrels.txt",
                         EXAMPLE / "run.txt"])
    known = {measure_of(name): value for name, value in json.loads(reported.out)["summary"].items()}
    value = known[column] if value is None else value
    for figure, agreeing in (value, 1), (value + 0.001, 0):
        found = json.loads(audit_example(tmp_path, "%s all %.4f\n" % (name, figure), "--json").out)
        assert list(found["measures"]) == [column] and found["agreeing"] == agreeing


@pytest.mark.parametrize("name", ["set_P_5", "Rprec_10", "recall@10x", "P@5;10", "P", "official", "nERR@20",
                                  "f1@10",
                                  "num_ret_10", "hits@10", "alpha_nDCG@10"])
def test_names_that_mean_nothing_here(tmp_path, name):
    found = json.loads(audit_example(tmp_path, "map 0.4736\n%s 0.4736\n" % name, "--json").out)
    assert found["not_compared"] == [{"name": name, "values": 1, "reason": "not computed here"}]


def test_names_fix_settings_of_their_own(audited):
    """A level in a name is not changed by a convention, and a cutoff stays where it is."""
    figures = {}
    for level in (2, 3):
        for name, figure in Tool(50, "level=%d" % level).report(4, ("map", "P_5"), topics=False).items():
            figures[None, {"map": "AP(rel=%d)", "P_5": "P(rel=%d)@5"}[name[1]] % level] = figure
    status, found = audit_json(audited[50], lines_of(figures))
    assert (status, found["compared"], found["agreeing"]) == (0, 4, 4)
    figures = {}
    for id, name, long_name in (("judged-only", "map", "AP(judged_only=True)"),
                                ("ndcg=exponential-gains", "ndcg", "nDCG(dcg='exp-log2')")):
        figures[None, long_name] = Tool(50, id).report(4, (name,))[None, name]
    status, found = audit_json(audited[50], lines_of(figures))
    assert (status, found["compared"], found["agreeing"]) == (0, 2, 2)
    figures = Tool(50, "judged-only").report(4, MAIN, topics=False)
    figures[None, "RR@2"] = "%.4f" % float(printed(score(audited[50], "-J", "-m", "RR@2"))["all"]["RR@2"])
    _, found = audit_json(audited[50], lines_of(figures))
    assert found["joint"]["conventions"] == ["judged-only"] and "recip_rank" in found["joint"]["measures"]
    figures = Tool(50, "depth=5").report(4, MAIN, topics=False)
    figures[None, "RR@20"] = figures.pop((None, "recip_rank"))
    _, found = audit_json(audited[50], lines_of(figures))
    assert found["joint"]["conventions"] == ["depth=5"] and "recip_rank" in found["joint"]["measures"]


MTEB = {"mteb_version": "2.26.24", "scores": {"test": [{
    "map_at_3": 0.25, "recall_at_3": 0.36667, "mrr_at_3": 0.75, "main_score": 0.5,
    "nauc_map_at_3_max": 0.1234567,
    "hf_subset": "default", "languages": ["eng"]}]}, "evaluation_time": 12.34567891}


def test_other_shapes_of_json(tmp_path):
    for report, compared, agreeing in (
            (MTEB, 3, 3), ([{"NDCG@3": 0.5, "MAP@3": 0.25}, {"P@3": 0.5, "recall@3": 0.36667}], 4, 4),
            ({"ndcg": {"NDCG@3": 0.4}, "map": {"MAP@3": 0.24999}}, 2, 0),
            ({"map": {"1": 0.5222, "2": 0.425}, "P@5": {"1": 0.4, "2": 0.4, "mean": 0.4}}, 5, 5),
            ({"settings": {}, "runs": {"bm25": {"topics": {"1": {"map": 0.5222}},
                                                "summary": {"map": 0.4736}}}}, 2, 2)):
        found = json.loads(audit_example(tmp_path, json.dumps(report), "--json").out)
        assert (found["compared"], found["agreeing"]) == (compared, agreeing), report
    found = json.loads(audit_example(tmp_path, json.dumps(MTEB), "--json").out)
    assert [each["name"] for each in found["not_compared"]] == [
        "main_score", "nauc_map_at_3_max", "evaluation_time"]
    result = audit_example(tmp_path, json.dumps({"runs": {"a": {"summary": {"map": 1}},
                                                          "b": {"summary": {"map": 1}}}}))
    assert result.status == 2 and "expected the values of one run, found those of 2: 'a', 'b'" in result.err
    result = audit_example(tmp_path, "run,topic,measure,value\na,all,map,0.4\nb,all,map,0.4\n")
    assert result.status == 2 and "expected the values of one run, found those of 2: 'a', 'b'" in result.err


def test_labels_of_averages(tmp_path):
    for label in ("all", "ALL", "amean", "mean", "Average", "avg", "overall"):
        for report in ("map %s 0.4736\n", "%s map 0.4736\nfoo map 0.1\n", '{"%s": {"map": 0.4736}}',
                       "qid,metric,score\n%s,map,0.4736\n1,map,0.5222\n"):
            found = json.loads(audit_example(tmp_path, report % label, "--json").out)
            assert found["agreeing"] == found["compared"] > 0, report


@pytest.mark.parametrize("report, places", named([
    ("lines", "map 1 0.52\nP_5 1 0.4000\nmap 1 0.5333\n",
     "report:3: expected one value of 'map' for topic 1, found "
     "0.5333 and, at report:1, 0.52"),
    ("two names", "AP 0.4736\nmap 0.4836\n",
     "report:2: expected one value of 'map' for all topics, found 0.4836 and, "
     "at report:1, 0.4736"),
    ("JSON", '{"map": 0.4, "map": 0.5}', "report: expected one value of 'map', found '0.4' and '0.5'")]))
def test_two_values_for_one_thing(tmp_path, report, places):
    result = audit_example(tmp_path, report)
    assert (result.status, result.out) == (2, b"") and places in result.err
    assert audit_example(tmp_path, "map 1 0.52\nAP 1 0.5222\nmap 1 0.52\nP_5 0.40\n").status == 0


def test_lines_without_a_value(tmp_path):
    noise = "trec_eval: warning: something is odd\nmeasure topic value\n"
    report = "%smap all 0.4736\nmap 1 0.5222\nrunid all bm25\nP_5 all high\nP_10 all 0.3500\n" % noise
    result = audit_example(tmp_path, report)
    assert result.status == 0 and result.out.decode().splitlines()[0] == (
        "3 of 3 values in report compared, 3 agree; not compared: 3 lines without a value "
        "(report:1: 'trec_eval: warning: something is odd')")
    result = audit_example(tmp_path, noise + noise + "map all 0.4736\n")
    assert (result.status, result.out) == (2, b"")
    assert result.err == (
        "trec_eval_ref: report:1: expected a measure, a topic if it is one's, and a value, found "
        "'trec_eval: warning: something is odd', and 4 lines like it in all\n")


def test_what_is_not_compared(tmp_path):
    report = ("map all 0.4736\nnERR@20 all 0.1\nnERR@20 1 0.1\nfoo all 0.3\nP_5 all 0.4\nmap 77 0.5\n"
              "gm_map 1 -0.6498\n")
    result = audit_example(tmp_path, report)
    assert result.out.decode().splitlines()[0] == (
        "1 of 7 values in report compared, 1 agree; "
        "not compared: 3 values of nERR@20, foo (not computed here)"
        "; 1 value of map (of topics that are not in the qrels); 1 value of gm_map (of topics, which have "
        "none here); 1 value of P_5 (too coarse to compare)")
    assert result.status == 3  # most values of known measures are not compared
    assert audit_example(tmp_path, "map all 0.4736\nmap 77 0.5\n").status == 0
    many = "".join("foo%d all 0.1\n" % i for i in range(9))
    result = audit_example(tmp_path, "map all 0.4736\n" + many)
    assert result.status == 0
    assert b"9 values of foo0, foo1, foo2, foo3, foo4 and 4 more (not computed here)" in result.out


def test_own_report_with_spaces_in_names(tmp_path):
    qrels, run = [b"my topic\t0\ta\t1\n"], [b"my topic\tQ0\ta\t1\t9\tt\n"]
    write(tmp_path, *map(b"".join, (qrels, run)))
    tsv = ["-R", "tsv", "-T", "tsv", "-q", "-m", "AP( rel = 1 )", "-m", "num_rel"]
    (tmp_path / "report").write_bytes(run_main([*tsv, *FILES], tmp_path).out)
    result = run_main([*tsv, "--audit", "report", *FILES], tmp_path)
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith(b"4 of 4 values in report compared, 4 agree"), result.out


@pytest.mark.parametrize("line", ["map =\t\t0.4736", "map all\t\t0.4736", "map =\tall\t0.4736",
                                  "map |\tall |\t0.4736", "map\tall\t= 0.4736", "map:\t all \t 0.4736 |"])
def test_report_with_two_tabs_in_a_line(tmp_path, line):
    result = audit_example(tmp_path, f"{line}\n")
    assert result.status == 0 and result.out.startswith(b"1 of 1 value in report compared, 1 agree")


@pytest.mark.parametrize("report", [
    "map 0.47\nmap 0.4699\n", "map 0.4699\nmap 0.47\n", "map all 47 %\nMAP mean 0.4699\n",
    '{"all": {"map": 0.47}, "mean": {"map": 0.4699}}', "map,0.47\nmap,0.4699\n"])
def test_of_two_values_the_more_precise_one_is_compared(tmp_path, report):
    result = audit_example(tmp_path, report)
    assert result.status == 3 and result.out.startswith(b"1 of 1 value in report compared, 0 agree")
    result = audit_example(tmp_path, report.replace("0.4699", "0.4736"))
    assert result.status == 0 and result.out.startswith(b"1 of 1 value in report compared, 1 agree")


def test_two_counts_must_be_equal(tmp_path):
    assert audit_example(tmp_path, "num_ret 20\nnum_ret 20.0\n").status == 0
    assert audit_example(tmp_path, "map nan\nmap 0.4736\n").status == 2
    assert audit_example(tmp_path, "map 1e999\nmap 1e9999\n").status == 2
    result = audit_example(tmp_path, "num_ret 20\nnum_ret 20.4\n")
    assert result.status == 2 and "found 20.4 and, at report:1, 20" in result.err


def test_what_other_tools_print(tmp_path):
    """The recorded output of ranx 0.3.21, which leaves ties as in the file, and of trectools 0.0.50."""
    files = [FIXTURES / "ties" / "qrels.txt", FIXTURES / "ties" / "run.txt"]
    result = run_main(["--json", "--audit", FIXTURES / "ties" / "ranx.json", *files])
    found = json.loads(result.out)
    assert (result.status, found["compared"], found["agreeing"]) == (3, 12, 5)
    assert found["joint"]["conventions"] == ["ties=file"] and found["joint"]["chance"] < 1e-9
    assert len(found["joint"]["measures"]) == len(departing(found)) == 7
    found = json.loads(run_main(["--json", "--audit", FIXTURES / "ties" / "trectools.txt", *files]).out)
    assert set(map(frozenset, [["rbp=p-0.8", "ties=averaged"]])) <= set(all_ids(found)["rbp"])
    assert frozenset(["ties=docno-ascending"]) in all_ids(found)["ndcg_cut"]


def test_verdict_in_words(tmp_path):
    report = "map\t1\t0.6528\nmap\t2\t0.4250\nmap\tall\t0.5389\nP_5\tall\t0.4000\n"
    result = audit_example(tmp_path, report)
    assert result.status == 3 and result.out.decode().splitlines() == [
        "4 of 4 values in report compared, 2 agree", "  " + trec_eval_ref.signature(), "",
        "one convention explains the measure that departs: map",
        "  AP is divided by the relevant documents retrieved",
        "  (chance that wrong numbers fit by accident: 0.0003 %; 2 values to explain, 24 conventions tried)",
        "  topic       measure  reported    here", "  1           map        0.6528  0.5222",
        "  all topics  map        0.5389  0.4736"]


def test_joint_verdict_shows_the_worst_value_of_each_measure(audited):
    lines = audit(audited[50], lines_of(Tool(50, "level=2").report(4, MAIN))).out.decode().splitlines()
    assert lines[3].startswith("one convention explains all 8 measures that depart: num_rel_ret, map, ")
    assert lines[4] == "  documents are relevant from grade 2 on (-l 2)"
    assert [line.split()[-3] for line in lines[7:]].count("map") == 1 and len(lines) == 7 + 8


def test_exceptions_follow_the_joint_verdict(audited):
    figures = Tool(50, "level=2").report(4, ("map", "Rprec", "P_5", "bpref"), topics=False)
    figures[None, "bpref"] = "0.1234"
    result = audit(audited[50], lines_of(figures))
    out = result.out.decode()
    assert "one convention explains 3 of 4 measures that depart: " in out
    *_, heading, _, row, sentence, see, command = out.splitlines()
    assert heading == "bpref: 1 of 1 value does not agree"
    assert row.split()[:4] == ["all", "topics", "bpref", "0.1234"]
    assert sentence.startswith("  no convention that is known here explains that")
    assert (see, command) == ("  for the first to depart, all topics, see",
                              "    trec_eval_ref --explain bpref qrels.txt run.txt")


def test_what_would_agree_no_more_is_said(audited):
    figures = Tool(50).report(4, ("Rprec", "P_5", "bpref", "rbp"), topics=False)
    figures.update(Tool(50, "level=2").report(4, ("map",), topics=False))
    out = audit(audited[50], lines_of(figures)).out.decode()
    assert "(-l 2)" in out and "  but then Rprec, bpref, P would no longer agree\n" in out
    figures = Tool(50, "level=2").report(4, ("Rprec", "map"), topics=False)
    assert b"no longer agree" not in audit(audited[50], lines_of(figures)).out


def test_rounded_to_one_decimal_if_all_figures_are(tmp_path):
    figures = "map all 0.5000\nP_5 all 0.4000\nrecip_rank all %s\n"
    for last, is_found in (("0.8000", True), ("0.7500", False)):
        found = json.loads(audit_example(tmp_path, figures % last, "--json").out)
        assert (frozenset(["rounding=1-decimal"]) in all_ids(found)["map"]) == is_found
    for one, other in (("ties=averaged", "judged-only"), ("ties=averaged", "ties=file")):
        both = [each for each in trec_eval_ref._CONVENTIONS if each.id in (one, other)]
        assert trec_eval_ref._combined(both) is None and trec_eval_ref._combined(both[:1]) is not None


def test_contradictory_explanations_are_flagged(audited):
    figures = Tool(50, "ties=file").report(4, ("map", "Rprec", "bpref"))
    figures.update(Tool(50, "ties=rank-column").report(4, ("recip_rank",)))
    lines = audit(audited[50], lines_of(figures)).out.decode().splitlines()
    assert lines[3].startswith("one convention explains 3 of 4 measures")
    at = lines.index("  its values come out if")
    assert lines[at + 1] == "    equal scores are ordered by the rank column of the run"
    assert "  which contradicts what explains other measures" in lines[at:]


def test_weak_explanations_are_called_so(audited):
    figures = Tool(50, "depth=20").report(2, ("map", "P_5", "Rprec"), topics=False)
    figures[None, "Rprec"] = "%.2f" % (float(figures[None, "Rprec"]) + 0.03)
    result = audit(audited[50], lines_of(figures))
    assert not re.search(b"explains |together explain|come out if", result.out)
    assert b"more digits or values of topics would decide" in result.out


def test_nearest_convention(audited):
    figures = Tool(50, "ap=by-hits").report(4, ("map",))
    topic = next(topic for topic, _ in figures if topic and AUDITED[50].run[topic])
    figures[topic, "map"] = "0.0123"
    out = audit(audited[50], lines_of(figures)).out.decode()
    assert ("  nearest: AP is divided by the relevant documents retrieved, which explains 50 of 51 values; "
            "not topic %s\n" % topic) in out
    assert "for the first to depart, topic %s, see\n    trec_eval_ref --explain map -D 0.%s q" % (
        topic, topic) in out
    figures[None, "map"] = "0.9123"
    out = audit(audited[50], lines_of(figures)).out.decode()
    assert "explains 49 of 51 values; not topic %s, all topics\n" % topic in out
    plain = Tool(50).report(4, ("map",))
    plain[topic, "map"] = "0.0123"
    assert b"nearest" not in audit(audited[50], lines_of(plain)).out


def test_worst_values_come_first(audited):
    figures = {key: "%.4f" % (float(figure) - int(key[0]) / 1000)
               for key, figure in Tool(50).report(4, ("P_10",)).items() if key[0]}
    lines = audit(audited[50], lines_of(figures)).out.decode().splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:2] == ["topic", "measure"])
    assert [line.split()[0] for line in lines[start + 1:start + 6]] == ["144", "143", "142", "141", "140"]
    assert not lines[start + 6].startswith("  139")


def test_pairs_are_tried_where_they_can_be_strong(audited):
    right = Tool(50).report(4, ("map", "bpref"))
    wrong = {key: "%.4f" % (float(figure) + 0.0371) for key, figure in right.items()}
    tried = re.compile("nor do two together \\(([0-9]+) pairs? tried\\)")
    assert int(tried.search(audit(audited[50], lines_of(wrong)).out.decode()).group(1)) > 100
    some = audit(audited[50], lines_of(wrong), "--audit-pairs", "7").out.decode()
    assert tried.findall(some) == ["7", "7"]
    assert not tried.search(audit(audited[50], lines_of(wrong), "--audit-pairs", "0").out.decode())
    # two digits prove little
    assert not tried.search(audit(audited[50], "map all 0.98\n").out.decode())
    assert tried.search(audit(audited[50], "map all 0.981234\n").out.decode())
    result = audit(audited[50], lines_of(wrong), "--audit-pairs", "-1")
    assert (result.status, result.out) == (1, b"")
    assert "option --audit-pairs: expected an integer from 0" in result.err


def test_pairs_are_tried_on_the_measures_that_can_tell(audited):
    """Those of many wrong averages that a pair must explain, or it explains too few to be no accident."""
    right = Tool(50).report(4, MAIN[1:], topics=False)
    wrong = lines_of({key: "%.4f" % (float(figure) + 0.0371) for key, figure in right.items()})
    out = audit(audited[50], wrong).out.decode()
    assert len(re.findall("nor do two together", out)) in range(1, 9)
    assert len(re.findall("; pairs of them were not tried", out)) in range(1, 9)


def test_a_pair_is_judged_by_all_measures_that_it_concerns():
    groups = [trec_eval_ref.Group(name) for name in "abc"]
    search = trec_eval_ref.Search.__new__(trec_eval_ref.Search)
    search._most_pairs = 9
    search._conventions = [trec_eval_ref.Convention(id, "", tuple("bc")) for id in ("x=1", "y=1")]
    with mock.patch.object(trec_eval_ref.Group, "chance", lambda group, with_pairs=False: 0.1):
        telling = trec_eval_ref._telling(groups)
        assert [group.name for group in telling] == ["a", "b"]
        assert len(search._pairs(groups, telling)) == 1  # by accident it explains b and c once in 100 times
        search._conventions = [trec_eval_ref.Convention(id, "", ("c",)) for id in ("x=1", "y=1")]
        assert search._pairs(groups, telling) == []


def test_topics_that_only_one_file_has(audited):
    tool = Tool(50, "topics=complete")
    missing = sorted(tool.qrels.keys() - tool.run.keys())
    figures = tool.report(4, ("map", "P_5"))
    result = audit(audited[50], lines_of(figures))
    assert "  topics in the qrels that the run lacks, and which count with -c alone: %s\n" % ", ".join(
        missing) in result.out.decode()
    assert "  topics that are missing from the run are counted as 0 (-c)\n" in result.out.decode()
    assert audit(audited[50], lines_of(figures), "-c").status == 0
    figures = {key: figure for key, figure in figures.items() if key[0] not in missing}
    assert b"that the run lacks" not in audit(audited[50], lines_of(figures)).out
    _, found = audit_json(audited[50], lines_of(Tool(50).report(4, MAIN)), "-c")
    assert found["joint"]["conventions"] == ["topics=with-results"]
    out = audit(audited[50], "map %s 0.5\nmap 95 0.1234\n" % missing[0]).out.decode()
    assert "    %s  map           0.5  none\n" % missing[0] in out


def test_options_restrict_what_is_compared(audited):
    figures = lines_of(Tool(50, "level=2").report(4, ("map", "P_5", "P_10", "bpref")))
    _, found = audit_json(audited[50], figures, "-m", "map", "-m", "P.5")
    assert {name: of["of"] for name, of in found["measures"].items()} == {"map": 51, "P": 51}
    _, found = audit_json(audited[50], figures, "-D", "0.100")
    assert {name: of["of"] for name, of in found["measures"].items()} == {"map": 1, "P": 2, "bpref": 1}
    for options, message in ((["--explain", "map"], "expected --audit without --explain, found both"),
                             (["-Z", "norms"], "expected --audit without --Zscore, found both"),
                             (["-m", "nonsense"], "unknown measure 'nonsense'"),
                             (["-m", "ndcg"], "expected values that can be compared, found none")):
        result = audit(audited[50], figures, *options)
        assert result.status in (1, 2) and message in result.err and result.out == b""


@pytest.mark.parametrize("options, planted, id", [
    (["--release", "9.0.8"], ("release=10.0",), "release=10.0"), (["-l", "2"], (), "level=1"),
    (["-M", "20"], ("depth=40",), "depth=50"), (["-J"], ("judged-only", "level=2"), "level=2"),
    (["-c"], ("topics=complete", "ap=by-hits"), "ap=by-hits")])
def test_conventions_differ_from_the_settings(audited, options, planted, id):
    figures = Tool(50, *planted).report(4, ("map", "gm_map", "recip_rank"))
    _, found = audit_json(audited[50], lines_of(figures), *options)
    assert [id] in [found["joint"]["conventions"], *found["joint"]["others"]]


def test_command_that_explains_has_the_settings(audited):
    figures = dict(Tool(50).report(4, ("map",)))
    figures["100", "map"] = "0.0123"
    report = lines_of(figures).replace("map", "AP")
    out = audit(audited[50], report, "-N", "7", "-M", "999", "-l", "1", "--audit-pairs", "0").out.decode()
    assert out.endswith("    trec_eval_ref --explain AP -D 0.100 -M 999 -N 7 qrels.txt run.txt\n")
    command = out.splitlines()[-1].split()[1:]
    assert run_main(command, audited[50]).status == 0


def test_names_are_shown_name(tmp_path):
    topic = b"it's\x1b[31m\xff\xe2\x80\x83"
    write(tmp_path, topic + b" 0 a 1\n", topic + b" Q0 b 1 2 t\n" + topic + b" Q0 a 1 1 t\n")
    result = audit(tmp_path,
                   b"map " + topic + b" 0.3333\nfoo\x1b[31m all 0.1\nnDCG@10 " + topic + b" 0.6309\n")
    assert result.status == 3 and b"2 of 3 values in report compared, 1 agree" in result.out
    assert all(32 <= byte < 127 or byte == 10 for byte in result.out) and b"\\x1b[31m" in result.out
    report = json.dumps({topic.decode("utf-8", "surrogateescape"): {"map": 0.5, "ndcg": 0.6309}})
    assert audit_json(tmp_path, report)[1]["agreeing"] == 2


def test_names_are_looked_up_once(audited):
    """A report about other topics has as many names as topics, and is refused soon."""
    report = "".join("map x%d 0.5\nP_5 x%d 0.5\n" % (i, i) for i in range(5000))
    with mock.patch.object(trec_eval_ref, "_reported_column",
                           wraps=trec_eval_ref._reported_column) as looked_up:
        result = audit(audited[3], report)
    assert (result.status, result.out) == (2, b"")
    assert "expected topics in both files, found none: report has 5000" in result.err
    assert looked_up.call_count < 100


def test_judging_is_done_once_for_each_ranking(audited):
    """However many conventions, measures and columns there are."""
    figures = Tool(50).report(4, MAIN, topics=False)
    wrong = lines_of({key: "%.4f" % (float(figure) + 0.05) for key, figure in figures.items()})
    with mock.patch.object(trec_eval_ref.Audit, "_judge", autospec=True,
                           side_effect=trec_eval_ref.Audit._judge) as judged:
        audit(audited[50], wrong, "--audit-pairs", "0")
    rankings = {call.args[2] for call in judged.call_args_list}
    assert len(judged.call_args_list) <= 50 * (len(rankings) + 2)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_audit_of_packed_files_and_of_standard_input(audited, tmp_path, pack):
    report = lines_of(Tool(3, "level=2").report(4, MAIN)).encode()
    expected = audit(audited[3], report)
    write(tmp_path, *(pack((audited[3] / name).read_bytes()) for name in ("qrels.txt", "run.txt")))
    assert audit(tmp_path, pack(report)) == expected
    result = run_main(["--audit", "report", "qrels.txt", "-"], tmp_path,
                      pack((audited[3] / "run.txt").read_bytes()))
    assert result.out == expected.out.replace(b"run.txt", b"'standard input'")
    result = run_main(["--audit", "-", "qrels.txt", "run.txt"], tmp_path, pack(report))
    assert result.out == expected.out.replace(b"report", b"standard input", 1)


@pytest.mark.parametrize("text_of", [
    lambda report: b"\xef\xbb\xbf" + report.replace(b"\n", b"\r\n"),
    lambda report: b"# made elsewhere\n\n" + report,
    lambda report: re.sub(rb"(\S+)\s+(\S+)\t(\S+)", rb"\2 \1 \3", report)])
def test_forms_of_lines(audited, text_of):
    report = lines_of(Tool(50).report(4, MAIN)).encode()
    assert audit(audited[50], text_of(report)).status == 0
    assert audit(audited[50], text_of(report)).out == audit(audited[50], report).out


def test_json_of_this_module_agrees(audited):
    for options in ([], ["-q"], ["-q", "-n"], ["-q", "-c", "-l2", "-M", "10"],
                    ["-q", "-J", "--release", "9.0.8"]):
        report = run_main(["--json", "-m", "all_trec", "-m", "utility.1,2,3,4", "-m", "ndcg.1=3,2=9",
                           "-m", "iprec_at_recall.0.5,50", *options, "qrels.txt", "run.txt"], audited[50]).out
        assert b'"iprec_at_recall_50.00": 0.0' in report
        result = audit(audited[50], report, *[option for option in options if option not in ("-q", "-n")])
        assert result.status == 0 and b"not compared" not in result.out, result.out.decode()


@pytest.mark.parametrize("golden", [golden for golden in GOLDENS if "zscores" not in golden.name
                                    and golden.arguments[-2:] == ["qrels.txt", "run.txt"]
                                    or golden.name == "preferences/all_prefs"], ids=lambda each: each.name)
def test_golden_file_is_a_report_that_agrees(golden, tmp_path):
    report = tmp_path / "report"
    report.write_bytes(golden.expected)
    arguments = [*release_option(golden.release), *golden.arguments, "--audit", report]
    result = run_main(arguments, golden.directory)
    assert result.status == 0, result.err or result.out


def test_figures_of_any_kind(audited):
    value = Tool(50).values()[None, "map"]
    for figure, status in (("%.2f" % value, 0), (repr(value), 0), ("%.25f" % value, 0),
                           ("%.2f" % (value + 0.01), 3),
                           (repr(value + 1e-9), 3), ("%.1f%%" % (100 * value), 0),
                           ("%.1f%%" % (100 * value + 0.1), 3),
                           ("+%.4f" % value, 0), ("-%.4f" % value, 3), ("%.11e" % value, 0), ("nan", 2),
                           ("-inf", 3),
                           ("1e999", 3), ("1e300", 2), ("9" * 400, 3), ("0." + "4" * 5000, 3),
                           ("1.%s" % ("0" * 300), 3)):
        assert audit(audited[50], "map all %s\n" % figure).status == status, figure


@pytest.mark.parametrize("figures, are_percentages", [  # reported and what comes out here
    ([(1.02, 0.0102)], True), ([(1.01, 0.0101)], False), ([(101.0, 1.0)], True), ([(101.1, 1.0)], False),
    ([(5.0, 0.49)], True), ([(5.0, 0.5)], False), ([], False),
    ([(50.0, 0.5), (0.5, 0.5)], False), ([(50.0, 0.5), (40.0, 0.4), (0.5, 0.5)], True),
    ([(50.0, 0.5), (0.5, None), (0.5, 0.0)], True),
])
def test_which_figures_are_percentages(figures, are_percentages):
    group = trec_eval_ref.Group("map")
    group.columns = trec_eval_ref._columns(["map"], trec_eval_ref.Settings(), trec_eval_ref.Notes())
    group.values = [trec_eval_ref.Reported("map", 0, None, f"{value}", value, 1, "report:1", here)
                    for value, here in figures]
    report = trec_eval_ref.Report("report", {"map": group}, Counter(), [])
    assert trec_eval_ref._divide_percentages(report) == are_percentages
    by = 100 if are_percentages else 1
    assert [(value.value, value.decimals) for value in group.values] == [
        (value / by, 3 if are_percentages else 1) for value, _ in figures]


def test_one_value_above_1_does_not_make_percentages_of_the_others(audited):
    figures = Tool(50).report(4, ("map", "P_5"))
    figures["100", "map"] = "1.5000"
    out = audit(audited[50], lines_of(figures)).out.decode()
    assert "map: 1 of 51 values does not agree" in out and "percentages" not in out
    right = percentages_of(Tool(50).report(4, ("map", "P_5")))
    result = audit(audited[50], right)
    assert result.status == 0
    assert b"  figures are percentages: they are divided by 100 before they are compared\n" in result.out
    result = audit(audited[50], re.sub("map 100 .*", "map 100 nan", right))
    assert b"map: 1 of 51 values does not agree" in result.out
    raw = Tool(50, "rbp=raw").report(2, ("rbp",))
    assert max(float(figure) for figure in raw.values()) > 1.01  # by which nothing is a percentage, either
    result = audit(audited[50], lines_of(raw))
    assert b"percentages" not in result.out and b"rbp has the grades as gains" in result.out
    values = run_main(["-m", "map", "-m", "dcg", "qrels.txt", "run.txt"], audited[50]).out
    assert audit(audited[50], re.sub(rb"dcg(\s+all\s+).*", rb"dcg\g<1>7.0000", values)).status == 3


def test_sums_in_another_order_agree(audited):
    name = "utility_123456789,0.1,0,0"
    report = run_main(["--json", "-m", name.replace("_", "."), "qrels.txt", "run.txt"], audited[3]).out
    values = json.loads(report)["summary"]
    for factor, status in ((1, 0), (1 + 2e-15, 0), (1 + 2e-11, 3)):
        assert audit(audited[3], json.dumps({name: values[name] * factor,
                                             "map": 0.123456789012345})).status == 3
        found = audit_json(audited[3], json.dumps({name: values[name] * factor}))
        assert found[0] == status


@pytest.mark.parametrize("report, message", named([
    ("empty", "", "found none"), ("empty object", "{}", "found none"), ("array", "[1,2]", "found none"),
    ("broken JSON", '{"map": 1', "expected JSON"), ("deep JSON", '{"a":' * 100000, "expected JSON"),
    ("one field", "map\n", "report:1: expected a measure"),
    ("text", "map all high\n", "report:1: expected a measure"),
    ("null", '{"map": null}', "report, map: expected a measure"),
    ("comma", "map all 0,47\n", "report:1: expected a measure"),
    ("point", "map all .\n", "report:1: expected a measure"),
    ("letters", "P.5 all e5\n", "report:1: expected a measure"),
    ("other measures", "nERR@20 0.33\nfoo all 0.44\n", "2 values of nERR@20, foo (not computed here)"),
    ("several values", "P all 0.33\nofficial all 3\n", "P, official (not computed here)"),
    ("texts", "runid all 7\n", "found none"), ("binary", b"\0\xff\xfe", "report:1: expected a measure"),
    ("other topics", "map 77 0.5\nmap 78 0.5\n", "report has 2 topics ('77')"),
    ("packed", b"\x1f\x8b\x08", "report: cannot"),
]))
def test_reports_that_cannot_be_read(audited, report, message):
    result = audit(audited[3], report)
    assert (result.status, result.out) == (2, b"") and message in result.err
    assert result.err.count("\n") == 1 and result.err.startswith("trec_eval_ref: ")


def test_reports_that_are_not_there(audited):
    result = run_main(["--audit", "none", "qrels.txt", "run.txt"], audited[3])
    assert (result.status, result.out) == (2, b"") and "none: cannot be read" in result.err


@pytest.mark.parametrize("rel_format, name, options", [
    ("qrels_jg", "groups", []), ("qrels_jg", "groups", ["-J", "-l2", "-M", "10"]),
    ("qrels_prefs", "groups", []),
    ("prefs", "preferences", []), ("prefs", "preferences", ["-M", "2", "-c"])])
def test_audit_of_other_judgment_formats(tmp_path, rel_format, name, options):
    files = [FIXTURES / name / ("prefs.txt" if rel_format == "prefs" else "qrels.txt"),
             FIXTURES / name / "run.txt"]
    nickname = "qrels_jg" if rel_format == "qrels_jg" else "all_prefs"
    report = run_main(["-q", "-R", rel_format, "-m", nickname, *files]).out
    (tmp_path / "report").write_bytes(report)
    command = ["--audit", tmp_path / "report", "-R", rel_format, *files]
    assert run_main(command).status == 0
    result = run_main([*options, *command])
    assert result.status == (3 if options else 0) and "Traceback" not in result.err
    (tmp_path / "report").write_bytes(b"\n".join(
        line[:-1] + (b"1" if line[-1:] != b"1" else b"2") for line in report.split(b"\n")
        if b"all\t" in line))
    assert run_main([*options, *command]).status in (2, 3)


def test_level_of_judgment_groups_is_found(tmp_path):
    files = [FIXTURES / "groups" / "qrels.txt", FIXTURES / "groups" / "run.txt"]
    (tmp_path / "report").write_bytes(run_main(["-q", "-R", "qrels_jg", "-l2", "-m", "qrels_jg", *files]).out)
    found = json.loads(run_main(["--json", "--audit", tmp_path / "report", "-R", "qrels_jg", *files]).out)
    assert ["level=2"] in [found["joint"]["conventions"], *found["joint"]["others"]]


def test_audit_of_preferences_by_another_order_of_ties(tmp_path):
    (tmp_path / "prefs").write_text("1 g s b 2\n1 g s a 1\n1 g s c 0\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1 t\n1 Q0 b 2 1 t\n1 Q0 c 3 0 t\n")
    (tmp_path / "report").write_text("prefs_simp 1 1.0000\n")
    found = json.loads(run_main(["--json", "--audit", "report", "-R", "prefs", "prefs", "run"], tmp_path).out)
    assert found["joint"]["conventions"] == ["ties=docno-descending"] and found["joint"]["others"] == []


@pytest.mark.parametrize("qrels, run, status", [
    ("1 0 a 1\n1 0 a 1\n", "1 Q0 a 1 1 t\n", 4), ("1 0 a 1\n", "1 Q0 a 1 1 t\n1 Q0 a 2 1 t\n", 4),
    ("1 0 a 1\n", "2 Q0 a 1 1 t\n", 7), ("1 0 a 1\n", "1 Q0 a 1 nan t\n", 2),
    ("1 0 a\n", "1 Q0 a 1 1 t\n", 2)])
def test_audit_of_files_that_cannot_be_evaluated(tmp_path, qrels, run, status):
    write(tmp_path, qrels, run)
    result = audit(tmp_path, "map 1 0.5\n")
    assert (result.status, result.out) == (status, b"") and result.err.count("\n") == 1


def test_audit_of_contradictory_preferences(tmp_path):
    write(tmp_path, "1 g s a 2\n1 g s b 1\n1 g t b 2\n1 g t a 1\n", "1 Q0 a 1 1 t\n")
    result = audit(tmp_path, "prefs_simp 1 0.5\n", "-R", "prefs")
    assert (result.status, result.out) == (4, b"") and "contradict" in result.err


def test_audit_of_a_run_that_is_not_grouped_by_topic(audited, tmp_path):
    run = (audited[50] / "run.txt").read_text().splitlines(keepends=True)
    write(tmp_path, (audited[50] / "qrels.txt").read_bytes(), "".join(sorted(run, key=len)))
    _, found = audit_json(tmp_path, lines_of(Tool(50, "ties=docno-ascending").report(4, MAIN)))
    assert found["joint"]["conventions"] == ["ties=docno-ascending"]


def test_audit_warns_of_the_files_once(tmp_path):
    write(tmp_path, QRELS, RUN.replace(b"1.0 tag\n", b"x tag\n", 1))
    (tmp_path / "report").write_bytes(b"map 1.00\n")
    warning = "run.txt:2: expected a number as score, found 'x', read as 0\n"
    result = run_main(["--audit", "report", *FILES], tmp_path)
    assert (result.status, result.err) == (0, "trec_eval_ref: warning: " + warning)
    assert run_main(["--strict", "--audit", "report", *FILES],
                    tmp_path) == Result(2, b"", "trec_eval_ref: " + warning)


def test_progress_of_the_search(audited):
    right = Tool(3).report(4, MAIN)
    figures = lines_of({key: "%.4f" % (float(figure) + 0.0371) for key, figure in right.items()})
    (audited[3] / "report").write_text(figures)
    clock = itertools.count()
    output = io.TextIOWrapper(io.BytesIO())
    with mock.patch.object(sys, "stderr", Terminal()) as terminal, working_in(audited[3]), \
            mock.patch("time.monotonic", lambda: next(clock)), mock.patch.object(sys, "stdout", output):
        assert trec_eval_ref.main(["--audit", "report", "qrels.txt", "run.txt"]) == 3
    assert re.search("\r[0-9]+ of [0-9]+ rankings tried", terminal.getvalue())
    assert terminal.getvalue().endswith("\r")


def test_each_convention_is_documented(audited):
    page = page_text("docs/audit.md")
    for id in [*PLANTED, "rounding=topics-first", "ndcg=levelled", "topics=with-results", "measure=NAME"]:
        documented = re.sub("[0-9]+-decimals?", "N-decimals", re.sub("(level|depth)=[0-9]+", r"\1=N", id))
        assert "`%s`" % documented in page, id


# ---- Command line ----


def test_the_last_debug_option_with_a_topic_counts(tmp_path):
    write(tmp_path, QRELS, RUN)
    for options in (["-D", "0.2"], ["-D", "0.1", "-D", "1.2"], ["-D", "0.2", "-D", "0"]):
        assert set(printed(score(tmp_path, "-q", "-m", "map", *options))) == {"2", "all"}, options


def test_blanks_around_the_values_of_options_are_stripped(tmp_path):
    write(tmp_path, QRELS, RUN)
    (tmp_path / " norms ").write_text("1 map 0 1\n2 map 0 1\n")
    padded = ["-l", " 2", "-M", "1 ", "-D", " 0.1 ", "-R", " qrels", "-T", "trec_results ", "--release",
              " 9.0.8", "--digits", " 3", "-m", " map "]
    assert score(tmp_path, *padded) == score(tmp_path, *map(str.strip, padded))
    assert b"Zmap" in score(tmp_path, "-m", "map", "-Z", " norms ")
    assert_error(run_main(["-Z", "norms", *FILES], tmp_path), 2, "norms: cannot be read")


def test_lines_of_topics_that_are_not_evaluated_count_in_the_total_of_relevant_documents(tmp_path):
    write(tmp_path, QRELS + b"3 0 a 1\n3 0 a 0\n3 0 a 2\n3 0 b 0\n3 0 b 0\n", RUN)
    for release in RELEASES:
        options = ["-c", "-D", "0.1", "-m", "num_rel", *release_option(release)]
        assert printed(score(tmp_path, *options))["all"] == {"num_rel": "4"}


OPTIONS = [  # collection, options in their plainest form, and other ways to write the same
    ("worked", ["-q"], [["--query_eval_wanted"], ["--query"]]),
    ("worked", ["-m", "P.5"], [["-mP.5"], ["--measure", "P.5"],
     ["--measure=P.5"], ["--mea=P.5"], ["-m", "P_5"]]),
    ("worked", ["-m", "P.5,10"], [["-m", "P_5,10"], ["-mP.10,5"], ["-m", "P.10.9,5.2"], ["-m", "P.+5,010"]]),
    ("worked", ["-q", "-n"], [["-qn"], ["--nosummary", "-q"], ["-q", "--nos"]]),
    ("worked", ["-q", "-m", "P.5", "-m", "map"], [["-qmP.5", "-mmap"], ["-qm", "P.5", "-m", "map"]]),
    ("missing", ["-c"], [["--complete_rel_info_wanted"], ["--complete"]]),
    ("missing", ["-D", "0.52"], [["-D0.52"], ["--Debug_level", "0.52"], ["--Debug=3.52"], ["-D", "-1.52"]]),
    ("graded", ["-l", "2"], [["-l2"], ["--level_for_rel", "2"], ["--level=2"], ["-l", "1", "-l", "2"],
                             ["-l+2"]]),
    ("sampled", ["-J"], [["--Judged_docs_only"], ["--Judged"]]),
    ("sampled", ["-M", "3"], [["-M3"], ["--Max_retrieved_per_topic", "3"], ["--Max=3"], ["-M", "03"]]),
    ("sampled", ["-J", "-M", "3", "-l", "2", "-q"],
     [["-JqM3", "-l2"], ["-qJl2", "-M", "3"], ["-qJM", "3", "-l", "2"]]),
    ("worked", ["-m", "utility.1,-1,0,1", "-N", "500"],
     [["-mutility.1,-1,0,1", "-N500"], ["--Number_docs_in_coll=500", "-m", "utility.1,-1,0,1"]]),
    ("ties", ["--release", "9.0.8"], [["--release=9.0.8"], ["--rele=9.0.8"]]),
    ("worked", ["--digits", "7"], [["--digits=7"], ["--dig", "7"]]),
    ("worked", ["--json"], [["--jso"]]),
    ("worked", ["--help"], [["-h"], ["--hel"], ["-hq"]]),
    ("worked", ["--version"], [["-v"], ["--vers"], ["-vq"]]),
    ("ties", ["-m", "set"], [["-mset"], ["-m", "set", "-m", "num_q"]]),
]
NO_EFFECT = [["-o"], ["--Output_old_results_format"], ["--Out"], ["-oo"], ["-R", "qrels"], ["-Rqrels"],
             ["--Rel_info_format=qrels"], ["--Rel", "qrels"], ["-T", "trec_results"], ["-Ttrec_results"],
             ["--Results_format=trec_results"], ["--Res=trec_results"], ["-D", "3"], ["-m", "official"],
             ["--release", "10.0"], ["--digits=4"], ["-N", "7"], ["-l1"], ["-M", "1000000"],
             ["-M", "9223372036854775807"], ["-M", "9" * 25], ["-N", "9" * 25], ["-N", "-" + "9" * 25]]


@pytest.mark.parametrize("collection, plain, others", named([(" ".join(case[1]), *case) for case in OPTIONS]))
def test_options(collection, plain, others):
    directory = FIXTURES / collection
    expected = score(directory, *plain)
    assert expected != score(directory)
    for other in others:
        assert score(directory, *other) == expected, other
        assert run_main(["qrels.txt", *other, "run.txt"], directory).out == expected, other
        assert run_main(["qrels.txt", "run.txt", *other], directory).out == expected, other
        assert run_main([*other, "--", "qrels.txt", "run.txt"], directory).out == expected, other


@pytest.mark.parametrize("options", NO_EFFECT, ids=" ".join)
def test_options_without_effect(options):
    assert score(FIXTURES / "worked", *options) == score(FIXTURES / "worked")


def test_files_that_look_like_options(tmp_path):
    (tmp_path / "-q").write_bytes(b"1 0 a 1\n")
    (tmp_path / "--").write_bytes(b"1 Q0 a 1 1 t\n")
    expected = Result(0, b"map                   \tall\t1.0000\n", "")
    assert run_main(["-m", "map", "--", "-q", "--"], tmp_path) == expected


def test_debug_level_with_a_topic():
    directory = FIXTURES / "missing"
    whole = printed(score(directory, "-q", "-m", "all_trec"))
    alone = printed(score(directory, "-q", "-m", "all_trec", "-D", "0.54"))
    assert set(alone) == {"54", "all"} and alone["54"] == whole["54"]
    assert alone["all"]["num_q"] == "1" and alone["all"]["map"] == alone["54"]["map"]
    complete = printed(score(directory, "-c", "-m", "num_q", "-m", "num_rel", "-m", "map",
                             "-D", "0.54"))["all"]
    assert complete == {"num_q": "4", "num_rel": "12", "map": "%.4f" % (float(whole["54"]["map"]) / 4)}


def test_help_shows_the_options_and_the_documentation_of_measures():
    result = run_main(["-h"])
    assert (result.status, result.err) == (0, "")
    for option in ("-q, --query_eval_wanted", "--release", "--json", "--strict", "--digits"):
        assert option in result.out.decode()
    text = result.out.decode()
    assert "min(n, R)" not in text
    assert text.index("  trec_eval_ref -m nDCG@10") < text.index("-q, --query_eval")
    assert max(map(len, text.splitlines())) <= 80 and not re.search(" $", text, re.MULTILINE)
    assert set(re.search(r"^measures: ((?:.|\n  )*)", text, re.MULTILINE).group(1).split()) == set(MEASURES)
    result = run_main(["-h", "-m", "bpref", "-m", "set"])
    assert result.status == 0 and b"min(n, R)" in result.out and b"set_recall = hits / R" in result.out
    assert run_main(["-h", "-m", "mapp"])[:2] == (1, b"")


def test_version():
    result = run_main(["--version"])
    assert result.status == 0 and result.out.count(b"\n") == 1
    assert trec_eval_ref.__version__.encode() in result.out


# ---- As a program of its own ----


@pytest.mark.parametrize("command", [[sys.executable, SCRIPT], PROGRAM], ids=["script", "module"])
@pytest.mark.parametrize("golden", [OFFICIAL, ALL_TREC], ids=lambda golden: golden.name)
def test_golden_file_in_a_process_of_its_own(command, golden):
    assert run_process(command + golden.arguments, golden.directory) == Result(0, golden.expected, "")


def test_exit_status_of_the_process():
    result = run_process([*PROGRAM, "-m", "mapp", "qrels.txt", "run.txt"], FIXTURES / "worked")
    assert (result.status, result.out) == (1, b"") and "did you mean map?" in result.err


def test_console_script():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    name, _, target = config["options.entry_points"]["console_scripts"].strip().partition(" = ")
    module, _, function = target.partition(":")
    installed = shutil.which(name, path=os.path.dirname(sys.executable))
    command = [installed] if installed else [
        sys.executable, "-c", "import sys, %s; sys.exit(%s.%s())" % (module, module, function)]
    assert name == "trec_eval_ref"
    assert run_process(command + ALL_TREC.arguments, ALL_TREC.directory) == Result(0, ALL_TREC.expected, "")


@pytest.mark.parametrize("files", [["-", "run.txt"], ["qrels.txt", "-"]], ids=["qrels", "run"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_standard_input(files, pack):
    content = pack((OFFICIAL.directory / ("qrels.txt" if files[0] == "-" else "run.txt")).read_bytes())
    arguments = ["-m", "official", *files]
    result = run_process([*PROGRAM, *arguments], OFFICIAL.directory, input=content)
    assert result == Result(0, OFFICIAL.expected, "")
    assert run_main(arguments, OFFICIAL.directory, stdin=content) == Result(0, OFFICIAL.expected, "")


def test_no_place_for_a_copy_of_standard_input():
    with mock.patch("tempfile.TemporaryFile",
                    side_effect=FileNotFoundError(2, "No usable temporary directory found")):
        result = run_main(["qrels.txt", "-"], OFFICIAL.directory)
    assert_error(result, 2, "standard input: cannot be read: No usable temporary directory found")


@POSIX
def test_process_substitution(tmp_path):
    def feed(name):
        (tmp_path / name).write_bytes((OFFICIAL.directory / name).read_bytes())
    writers = []
    for name in ("qrels.txt", "run.txt"):
        os.mkfifo(tmp_path / name)
        writers.append(threading.Thread(target=feed, args=(name,), daemon=True))
        writers[-1].start()
    assert run_main(OFFICIAL.arguments, tmp_path) == Result(0, OFFICIAL.expected, "")
    for writer in writers:
        writer.join(10)
        assert not writer.is_alive()


@POSIX
def test_closed_pipe_ends_quietly():
    command = [*PROGRAM, "-q", "-m", "all_trec", "--digits", "300", "qrels.txt", "run.txt"]
    with started(command, ALL_TREC.directory) as process:
        assert process.stdout.readline().startswith(b"num_ret")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@POSIX
@pytest.mark.parametrize("golden", [OFFICIAL, ALL_TREC], ids=lambda golden: golden.name)
def test_pipe_that_nobody_reads(golden):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as stdout:
        result = run_process([*PROGRAM, *golden.arguments], golden.directory, stdout=stdout)
    assert result == Result(0, b"", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("golden", [OFFICIAL, ALL_TREC], ids=lambda golden: golden.name)
def test_full_disk(golden):
    with open("/dev/full", "wb") as full:
        result = run_process([*PROGRAM, *golden.arguments], golden.directory, stdout=full)
    assert result.status == 2
    assert re.fullmatch(r"trec_eval_ref: standard output: cannot be written: .*\n", result.err)


def test_a_stand_in_for_standard_output_that_cannot_be_written():
    class Broken(io.StringIO):
        def writelines(self, lines):
            raise OSError(28, "No space left on device")
    errors = io.StringIO()
    with working_in(OFFICIAL.directory), contextlib.redirect_stdout(Broken()), \
            contextlib.redirect_stderr(errors):
        assert trec_eval_ref.main(FILES) == 2
    assert errors.getvalue() == "trec_eval_ref: standard output: cannot be written: No space left on device\n"


def test_standard_output_that_has_been_closed():
    closed, errors = io.StringIO(), io.StringIO()
    closed.close()
    with working_in(OFFICIAL.directory), contextlib.redirect_stdout(closed), \
            contextlib.redirect_stderr(errors):
        assert trec_eval_ref.main(FILES) == 2
    assert errors.getvalue() == "trec_eval_ref: standard output: cannot be written: it is closed\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_standard_error_that_cannot_be_written():
    command = ["sh", "-c", 'exec "$@" 2>/dev/full', "sh", *PROGRAM]
    arguments = ["-m", "map.3", "qrels.txt", "run.txt"]
    heard = run_process([*PROGRAM, *arguments], OFFICIAL.directory)
    assert "warning" in heard.err and heard.out
    assert run_process([*command, *arguments], OFFICIAL.directory) == heard._replace(err="")
    assert run_process([*command, "qrels.txt", "missing"], OFFICIAL.directory) == Result(2, b"", "")


class AsciiOnly:
    """A stand-in for standard output without bytes, such as a console."""

    def writelines(self, lines):
        "".join(lines).encode("ascii")

    def flush(self):
        pass


@pytest.mark.parametrize("stream, stand_in, arguments, status", [
    ("stderr", io.StringIO(), ["-m", "map.3", "qrels.txt", "run.txt"], 0),
    ("stderr", io.StringIO(), ["-m", "mapp"], 1),
    ("stdin", io.StringIO(), ["-m", "map", "qrels.txt", "-"], 2),
    ("stdin", io.TextIOWrapper(io.BytesIO()), ["-m", "map", "qrels.txt", "-"], 2),
])
def test_streams_that_are_closed(monkeypatch, capsysbinary, stream, stand_in, arguments, status):
    stand_in.close()
    monkeypatch.chdir(OFFICIAL.directory)
    monkeypatch.setattr(sys, stream, stand_in)
    assert main(arguments) == status
    assert (capsysbinary.readouterr().out != b"") == (status == 0)


def test_standard_output_that_cannot_encode_the_result(monkeypatch, capsys, tmp_path):
    write(tmp_path, "caf\u00e9 0 a 1\n", b"caf\xc3\xa9 Q0 a 1 1 tag\n")
    monkeypatch.setattr(sys, "stdout", AsciiOnly())
    assert main(["-q", "-m", "map", str(tmp_path / "qrels.txt"), str(tmp_path / "run.txt")]) == 2
    message = "trec_eval_ref: standard output: cannot be written: 'ascii' codec"
    assert capsys.readouterr().err.startswith(message)


@POSIX
def test_stand_in_for_standard_error_that_cannot_encode_a_message():
    code = ("import io, os, sys, trec_eval_ref\n"
            "sys.stderr = io.TextIOWrapper(open(2, 'wb', closefd=False), encoding='ascii')\n"
            "status = trec_eval_ref.main(['caf\\u00e9', 'run.txt'])\n"
            "os.write(2, b'standard error is still there')\n"
            "sys.exit(status)\n")
    result = run_process([sys.executable, "-c", code], ROOT)
    assert result == Result(2, b"", "standard error is still there")


@POSIX
def test_closed_standard_output_is_an_error():
    result = run_process(["sh", "-c", 'exec "$@" >&-', "sh", *PROGRAM, *OFFICIAL.arguments],
                         OFFICIAL.directory)
    assert (result.status, result.out) == (2, b"")
    assert re.fullmatch(r"trec_eval_ref: standard output: cannot be written.*\n", result.err)


@POSIX
def test_warnings_never_reach_standard_output():
    command = [*PROGRAM, "-m", "map.3", "qrels.txt", "run.txt"]
    result = run_process(["sh", "-c", 'exec "$@" 2>&-', "sh", *command], OFFICIAL.directory)
    assert (result.status, result.out) == (0, b"map                   \tall\t0.4736\n")


def test_import_prints_nothing_and_changes_nothing(tmp_path):
    result = run_process([sys.executable, "-c", """if True:
        import copy, os, signal, sys, threading, warnings
        def state():
            return copy.copy((dict(os.environ), list(sys.path), list(warnings.filters),
                              signal.getsignal(signal.SIGINT), os.getcwd(), os.listdir("."),
                              threading.active_count(), sys.stdout, sys.excepthook))
        before = state()
        import trec_eval_ref
        assert state() == before
    """], tmp_path)
    assert result == Result(0, b"", "")


# ---- Progress and interruption ----


class Terminal(io.StringIO):
    """A standard error that is a terminal; `screen` is what its last line shows in the end."""

    def isatty(self):
        return True

    @property
    def screen(self):
        line = []
        for text in self.getvalue().split("\r"):
            line[:len(text)] = text
        return "".join(line).rstrip()


def run_on_terminal(arguments, directory, seconds_a_look):
    """Run main with a terminal as standard error and a clock that goes on at each look."""
    terminal, clock = Terminal(), itertools.count(0, seconds_a_look)
    with mock.patch.object(sys, "stderr", terminal), mock.patch("time.monotonic", lambda: next(clock)):
        with working_in(directory), contextlib.redirect_stdout(io.StringIO()):
            assert trec_eval_ref.main(arguments) == 0
    return terminal


@pytest.mark.parametrize("order", ["grouped", "shuffled"])
def test_long_work_shows_progress_and_erases_it(tmp_path, order):
    lines = [b"%d Q0 d%d 1 %d tag\n" % (topic, document, -document) for topic in range(3)
             for document in range(4000)]
    if order == "shuffled":
        random.Random(1).shuffle(lines)
    write(tmp_path, b"0 0 d1 1\n1 0 d2 1\n2 0 d3 1\n", b"".join(lines))
    terminal = run_on_terminal(["-m", "map", *FILES], tmp_path, 1.5)
    shown = re.findall(r"(\d+) topics?, (\d+) lines? read, (\d+)%", terminal.getvalue())
    assert shown and all(int(topics) <= 3 and int(read) <= 12000 and int(part) <= 100
                         for topics, read, part in shown)
    assert {int(topics) for topics, _, _ in shown} >= {0, 1, 2}
    assert sorted(int(read) for _, read, _ in shown)[-1] == 12000
    assert terminal.screen == ""


def test_short_work_shows_no_progress():
    assert run_on_terminal(["-m", "map", *FILES], OFFICIAL.directory, 0.01).getvalue() == ""


def test_quiet_turns_progress_off():
    assert run_on_terminal(["--quiet", "-m", "map", *FILES], OFFICIAL.directory, 10).getvalue() == ""
    assert "read" in run_on_terminal(["-m", "map", *FILES], OFFICIAL.directory, 10).getvalue()


def test_no_progress_where_standard_error_is_no_terminal():
    clock = itertools.count(0, 10)
    with mock.patch("time.monotonic", lambda: next(clock)):
        result = run_main(["-m", "map", *FILES], OFFICIAL.directory)
    assert (result.status, result.err) == (0, "")


def test_interruption_ends_with_one_line():
    with mock.patch.object(trec_eval_ref.Source, "blocks", side_effect=KeyboardInterrupt):
        result = run_main(["-m", "map", *FILES], OFFICIAL.directory)
    assert (result.status, result.out, result.err) == (130, b"", "trec_eval_ref: interrupted\n")


def open_for_a_reader(fifo):
    """Open a named pipe for writing as soon as somebody reads it."""
    deadline = time.monotonic() + TIME_LIMIT
    while True:
        try:
            return open(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK), "wb")
        except OSError as error:
            assert error.errno == errno.ENXIO and time.monotonic() < deadline, "nobody reads the pipe"
        time.sleep(0.01)


def interruptible():
    """Let the process to be started end at an interruption, even if this one is told to ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@POSIX
def test_an_interrupted_process_ends_at_once(tmp_path):
    write(tmp_path, QRELS, RUN)
    os.mkfifo(tmp_path / "endless")
    with started([*PROGRAM, "qrels.txt", "endless"], tmp_path, preexec_fn=interruptible) as process:
        with open_for_a_reader(tmp_path / "endless") as run:
            run.write(RUN)
            run.flush()
            while process.poll() is None:  # Python can miss a signal just before it waits for more to read
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=2)
            out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"trec_eval_ref: interrupted\n")


# ---- Damaged input ----


TOKENS = [b"nan", b"inf", b"-inf", b"1e400", b"-1", b"0", b"1", b"9" * 25, b"-9223372036854775809", b"\0",
          b"\xff",
          b"\xe9", b"\xef\xbb\xbf", b"#", b"", b" ", b"\n", b"\r", b"\t", b"\x0b", b"1_0", b"0x1p9999",
          b"\x1f\x8b", b"BZh9", b"'"]
OPTION_VALUES = {  # what may follow an option: sense and nonsense
    "-q": [], "-c": [], "-n": [], "-J": [], "-o": [], "--json": [], "--strict": [], "-x": [], "stray": [],
    "-l": ["0", "1", "2", "-1", "99", "-9223372036854775808", "x", "1.5"],
    "-M": ["0", "1", "3", "9" * 25, "-5", "x", ""], "-N": ["0", "1", "-7", "9" * 25, "1e3"],
    "-D": ["0", "0.1", "0.52", "1.", ".7", "x"], "-R": ["qrels", "qrels_jg", "prefs", "qrels_prefs", "x"],
    "-T": ["trec_results", "x"], "--digits": ["0", "1", "17", "400", "9" * 25, "-1"],
    "--release": ["10.0", "9.0.8", "9"], "--level": ["1", "x"],
    "-m": ["official", "all_trec", "set", "P.5,7", "P@", "P." + "9" * 25, "rbp.p=0.5,1=9", "rbp.p=2",
           "rbp.p=0", "rbp_resid.p=1", "rbp.1=1e100,2=-1e100,p=1", "G.0=-1e9,2=1e99", "G.1=1e-99",
           "ndcg.1=-1", "ndcg.1=1e-300", "dcg.1=-1e100", "Rndcg.1=1e-99", "Rndcg.0=1,1=-1",
           "ndcg_rel.1=-1,2=1e100", "utility.1e99,1,1,1e99",
           "utility.nan,0,0,0", "set_F.-1", "set_F.1e99", "set_F.0", "11pt_avg.7", "11pt_avg.1,0", "unj.1",
           "iprec_at_recall.1e18", "Rprec_mult.1e99", "relstring.1", "relstring.99999", "yaap", "ideal_dcg.=",
           "map.x", "\udcff", "é", "", "."],
}


def damaged(content, chance):
    """The bytes after a few random changes."""
    for _ in range(chance.choice([0, 0, 0, 1, 1, 2, 5])):
        lines = content.split(b"\n")
        line = chance.randrange(len(lines))
        fields = lines[line].split(b" ")
        field = chance.randrange(len(fields))
        change = chance.randrange(7)
        if change == 0:
            fields[field] = chance.choice(TOKENS)
        elif change == 1:
            del fields[field]
        elif change == 2:
            fields.insert(field, chance.choice(TOKENS))
        lines[line] = b" ".join(fields)
        if change == 3:
            lines.insert(chance.randrange(len(lines)), lines[line])
        elif change == 4:
            del lines[line]
        content = b"\n".join(lines)
        place = chance.randrange(len(content) + 1)
        if change == 5:
            content = content[:place] + bytes([chance.randrange(256)]) + content[place + 1:]
        elif change == 6:
            content = chance.choice([gzip.compress, bz2.compress, lzma.compress])(content)[:place + 20]
    return content


def random_arguments(chance):
    """Some options, of which many make sense."""
    for option in chance.choices(list(OPTION_VALUES), [len(values) + 2 for values in OPTION_VALUES.values()],
                                 k=chance.choice([0, 1, 2, 3, 4])):
        yield option
        if OPTION_VALUES[option]:
            yield chance.choice(OPTION_VALUES[option])


@pytest.mark.parametrize("seed", range(20))
def test_damaged_input(tmp_path, seed):
    chance = random.Random(seed)
    results = []
    for _ in range(25):
        collection = FIXTURES / chance.choice(["ties", "untidy", "worked", "missing"])
        write(tmp_path, *(damaged((collection / name).read_bytes(), chance) for name in FILES))
        arguments = ["-q", "-m", chance.choice(["all_trec", "official", "dcg"]), *random_arguments(chance),
                     *FILES]
        results.append(run_main(arguments, tmp_path))
        assert_sound(results[-1], arguments)
    assert {result.status for result in results} >= {0, 2}


def assert_sound(result, arguments):
    assert result.status in (0, 1, 2, 4, 7), arguments
    assert "Traceback" not in result.err
    assert all(line.startswith("trec_eval_ref: ") for line in result.err.splitlines())
    if result.status:
        assert result.out == b"" and result.err.count("\n") == 1, arguments
    elif result.out[:1] == b"{":
        assert json.loads(result.out, parse_constant=pytest.fail)
    else:
        for line in result.out.decode("utf-8", "replace").split("\n")[:-1]:
            name, topic, value = line.split("\t")
            is_value = re.fullmatch(r"-?[0-9]+(\.[0-9]*)?|'[-.>0-9]*'", value.strip())
            assert is_value or name.strip() == "runid", arguments


# ---- Documentation ----


def test_doctests_of_the_module():
    results = doctest.testmod(trec_eval_ref)
    assert results.failed == 0 and results.attempted > 50


@pytest.mark.parametrize("name", [name for name in MEASURES if name not in ("runid", "num_q")])
def test_each_measure_has_a_docstring_with_an_example(name):
    function = MEASURES[name].function
    example = r"^ *>>> .*\b%s\(" % function.__name__
    assert re.search(example, inspect.getdoc(function), re.MULTILINE), f"{name}: give an example, >>> ..."


def test_what_the_module_offers_is_documented():
    assert len(set(trec_eval_ref.__all__)) == len(trec_eval_ref.__all__)
    for name in trec_eval_ref.__all__:
        assert not callable(getattr(trec_eval_ref, name)) or inspect.getdoc(
            getattr(trec_eval_ref, name)), name
    assert re.fullmatch(r"[0-9]+(\.[0-9]+)+", trec_eval_ref.__version__)
    source = Path(SCRIPT).read_text(encoding="utf-8")
    assert "SPDX-License-Identifier: MIT" in source


PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    line: int  # of its first line, without the fence
    language: str
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"


def page_text(name):
    """The text of a page, named as seen from the root."""
    return (ROOT / name).read_text(encoding="utf-8")


def fenced_blocks():
    """All fenced blocks of all pages."""
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        text = page_text(name)
        for block in FENCED.finditer(text):
            yield Block(name, text.count("\n", 0, block.start(2)) + 1, *block.groups())


def each_block(*languages):
    """Run a test for each fenced block in one of the languages (or for all), named by its file and line."""
    blocks = [block for block in fenced_blocks() if block.language in languages or not languages]
    return pytest.mark.parametrize("block", blocks, ids=str)


each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def printed_by_commands(console, directory):
    """A console block as it looks when its commands are run: each after `$ `, then what it prints.

    The commands run in one shell, in a directory of their own that has the module and the fixtures.
    `python3` is the Python that runs the tests.
    """
    here, programs = directory / "here", directory / "programs"
    here.mkdir()
    programs.mkdir()
    shutil.copy(SCRIPT, here)
    (here / "fixtures").symlink_to(FIXTURES)
    python = programs / "python3"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    environment = {**ENVIRONMENT, "PATH": path, "PYTHONPATH": ""}

    commands = [line[2:] for line in console.splitlines() if line.startswith("$ ")]
    end = "\x1e"  # printed after each command
    script = "".join(f"{command}\nprintf '{end}'\n" for command in commands)
    with subprocess.Popen(["sh", "-c", script], cwd=here, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as shell:
        try:
            output, _ = shell.communicate(timeout=60)
        except BaseException:
            os.killpg(shell.pid, signal.SIGKILL)  # the shell and what it started
            raise
    return "".join(f"$ {command}\n{text}" for command, text in zip(commands, output.decode().split(end)))


@each_block("console")
@POSIX
def test_console_example(block, tmp_path):
    assert printed_by_commands(block.text, tmp_path) == block.text
    for picture in (tmp_path / "here").glob("*.svg"):
        assert picture.read_bytes() == (ROOT / "docs" / "pictures" / picture.name).read_bytes()


def test_each_picture_is_drawn_and_shown_by_a_page():
    there = {picture.name for picture in (ROOT / "docs" / "pictures").iterdir()}
    made = set(re.findall(r"\w+\.svg", "".join(block.text for block in fenced_blocks())))
    shown = set()
    for page in PAGES:
        images = re.findall(r'<img src="(.*?)" width="[0-9]+%?" alt="(.*?)">', page_text(page))
        for source, alternative in images:
            assert (page.parent / source).exists() and len(alternative) > 20
            shown.add(Path(source).name)
    assert there == made == shown


@each_block("python")
def test_python_example(block):
    examples = doctest.DocTestParser().get_doctest(block.text, {}, block.page, block.page, block.line - 1)
    failures = []
    with working_in(ROOT), mock.patch.dict(MEASURES):
        for name in re.findall(r'@measure\("(\w+)"', block.text):
            MEASURES.pop(name, None)  # an example may add a measure that somebody has put in the file
        results = doctest.DocTestRunner().run(examples, out=failures.append)
    assert results.failed == 0, "".join(failures)
    assert results.attempted > 0


@each_page
def test_every_block_is_known(page):
    """So that no example is left out because its fence is misspelt or indented."""
    text = page.read_text(encoding="utf-8")
    languages = [language for language, _ in FENCED.findall(text)]
    assert set(languages) <= {"console", "python", "sh", "text"}
    assert len(re.findall(r"^ *(?:```|~~~)", text, re.MULTILINE)) == 2 * len(languages)


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


@each_page
def test_links_between_pages(page):
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\((?!https?:)(.*?)\)", text):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_readme_links_to_each_page():
    for page in PAGES[1:]:
        assert f"]({page.relative_to(ROOT).as_posix()})" in page_text("README.md")


def test_readme_is_short():
    assert len(page_text("README.md").splitlines()) <= 320


MEASURE_ROWS = re.findall(r"^\| `(\w+)` \| `(\w+)` \| ", page_text("docs/measures.md"), re.MULTILINE)


@pytest.mark.parametrize("name", MEASURES)
def test_each_measure_has_its_row(name):
    row = name, MEASURES[name].function.__name__
    assert row in MEASURE_ROWS, "docs/measures.md needs the row | `%s` | `%s` | parameters | value |" % row


def test_rows_of_measures_are_in_print_order():
    in_print_order = [name for name in MEASURES if name in dict(MEASURE_ROWS)]
    assert [name for name, _ in MEASURE_ROWS] == in_print_order, "docs/measures.md has another order"


def test_each_option_is_documented():
    options = re.findall(r"^ +(?:-\w, )?(--[\w-]+)", run_main(["--help"]).out.decode(), re.MULTILINE)
    assert "--measure" in options and "--signature" in options
    documented = re.findall(r"`(--[\w-]+)", page_text("docs/command_line.md"))
    assert set(options) <= set(documented)


def test_each_fixture_is_documented():
    documented = re.findall(r"^\| `([\w.]+)/?` \|", page_text("docs/conformance.md"), re.MULTILINE)
    there = [path.name for path in FIXTURES.iterdir() if not path.name.startswith(".")]
    assert sorted(there) == sorted(name for name in documented if name in there)


CUTS = re.findall(r"^\| (?:`(.*?)`|–) \| .* \| ([\w,]+) \|$", page_text("docs/vendor.md"), re.MULTILINE)


def lines_above(title):
    """How many lines the module has above the heading of a room, or in all."""
    source = Path(SCRIPT).read_text(encoding="utf-8")
    above = source.partition(f"\n# ---- {title} ----\n")[0] + "\n" if title else source
    return above.count("\n")


@pytest.mark.parametrize("title, lines", CUTS, ids=[title or "whole" for title, _ in CUTS])
def test_lines_of_a_cut_file(title, lines):
    assert int(lines.replace(",", "")) == pytest.approx(lines_above(title), rel=0.05)


def test_each_room_that_can_be_cut_off_is_documented():
    rooms = re.findall(r"^# ---- (.*) ----$", Path(SCRIPT).read_text(encoding="utf-8"), re.MULTILINE)
    assert [title for title, _ in CUTS] == [*rooms[rooms.index("Files"):], ""]
