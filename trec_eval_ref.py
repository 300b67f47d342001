#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the trec_eval_ref authors
"""The measures of trec_eval, exact to the last bit, in one readable file.

trec_eval (NIST) defines how search systems are scored.  This module reads the
same files, computes the same doubles and prints the same bytes as its releases
10.0 and 9.0.8, in pure Python without dependencies.

From Python:

>>> qrels = {"301": {"FT911-1": 1, "FT911-2": 0, "FT911-3": 1}}
>>> run = {"301": {"FT911-1": 3.0, "FT911-2": 2.0, "FT911-3": 1.0}}
>>> evaluate(qrels, run, ["map", "P.1,2"]).summary
{'map': 0.8333333333333333, 'P_1': 1.0, 'P_2': 0.5}

From a shell, with trec_eval's options:

    python3 trec_eval_ref.py -q -m all_trec qrels.txt run.txt

The measures come first, one function each: its docstring has the formula, the
edge cases, an example to check by hand, and the source.  The file is divided
into rooms by headings.  Each room uses only what stands above it, so the file can
be cut before any heading from Files on, and what is left is a working module.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import itertools
import math
import operator
import os
import re
import stat
import sys
import time
import warnings
import weakref
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from typing import IO, Any, BinaryIO, ContextManager, NamedTuple, Optional, Pattern, TypeVar, Union, cast

__version__ = "1.1"


# ---- What a measure sees ----
# A measure looks at one topic's ranking, joined with the topic's judgments: a
# JudgedRanking.  What else can change its value is in the Settings, and what
# the releases of trec_eval do differently is in their Release.

__all__ = ["JudgedRanking", "RELEASES", "Release", "Settings", "TrecEvalError", "TrecEvalWarning",
           "example_ranking"]


class TrecEvalError(ValueError):
    """Input that cannot be evaluated.  `status` is the exit status that the command line gives it."""

    def __init__(self, message: str, status: int = 2):
        super().__init__(message)
        self.status = status


class TrecEvalWarning(UserWarning):
    """Suspicious input that was nevertheless evaluated, as trec_eval does."""


def _nearest(x: float) -> int:
    """Round to the nearest integer, halves up: C's lround for x >= 0."""
    whole = math.floor(x)
    return whole + 1 if x - whole >= 0.5 else whole


def _mostly_up(x: float) -> int:
    """Round up, but drop a fraction below 0.1."""
    return math.trunc(x + 0.9)


def _double_precision(scores: Collection[float]) -> Collection[float]:
    """Leave scores as they are, since Python's floats have 64 bits."""
    return scores


def _single_precision(scores: Collection[float]) -> Collection[float]:
    """Round scores to 32-bit floats.  Scores that agree in about seven digits become ties."""
    return array("f", scores)


class Release(NamedTuple):
    """What one release of trec_eval does differently from another.

    keep_scores        gives scores in the precision they are kept in
    count_at_recall    rounds (recall level x R) to a count of documents
    evaluates_missing  whether -c evaluates topics that the run misses, or only counts them
    has_comments       whether lines that start with # are comments
    reads_any_gain     whether gains for what is no grade are read as C reads integers, or ignored
    lacks              measures that this release does not know
    """

    name: str
    keep_scores: Callable[[Collection[float]], Collection[float]]
    count_at_recall: Callable[[float], int]
    evaluates_missing: bool
    has_comments: bool
    reads_any_gain: bool
    lacks: frozenset[str]


RELEASES: dict[str, Release] = {release.name: release for release in (
    Release("10.0", keep_scores=_double_precision, count_at_recall=_nearest, evaluates_missing=True,
            has_comments=True, reads_any_gain=False, lacks=frozenset()),
    Release("9.0.8", keep_scores=_single_precision, count_at_recall=_mostly_up, evaluates_missing=False,
            has_comments=False, reads_any_gain=True,
            lacks=frozenset(["dcg", "ideal_dcg", "rbp", "rbp_resid", "unj"])),
)}


class Settings(NamedTuple):
    """Everything besides the files that changes a number.

    release            the rules of which trec_eval
    relevance_level    the least grade that counts as relevant, from 0 (-l)
    complete           average over all topics of the qrels (-c)
    judged_only        remove unjudged documents from the ranking (-J)
    depth              keep only the first so many documents of each topic; None is all (-M)
    collection_size    documents in the collection, for utility only (-N)
    rel_format         the format of the judgments (-R)
    grades_as          what takes the place of grades; see `_regraded`
    cutoff             keep only the first so many after depth and judged_only, as RR@10 does
    """

    release: Release = RELEASES["10.0"]
    relevance_level: int = 1
    complete: bool = False
    judged_only: bool = False
    depth: Optional[int] = None
    collection_size: int = 0
    rel_format: str = "qrels"
    grades_as: tuple[Any, ...] = ()
    cutoff: Optional[int] = None


Gains = Mapping[int, float]  # {grade: gain}; a grade without an entry is its own gain


class JudgedRanking:
    """The ranking of one topic as a measure sees it.

    num_ret          N: documents in the ranking
    num_rel          R: relevant documents in the judgments, retrieved or not
    num_nonrel       NR: judged nonrelevant documents in the judgments
    grades           {rank: grade} of the retrieved documents that are in the
                     judgments, by ascending rank; ranks count from 1.  A
                     negative grade means "in the pool, but not judged";
                     documents at all other ranks are unpooled
    grade_counts     {grade: documents of that grade in the judgments}, for
                     grades >= 0
    relevant_ranks   ranks of the relevant documents (grade >= relevance_level)
    hits             relevant documents retrieved
    relevance_level, collection_size, release: as in Settings

    Most documents of a real ranking are not in the judgments.  They are not
    stored, because a measure needs to know only how many they are.
    """

    def __init__(self, grades: Mapping[int, int], num_ret: int, grade_counts: Mapping[int, int],
                 settings: Settings = Settings()):
        level = settings.relevance_level
        self.grades = grades
        self.num_ret = num_ret
        self.grade_counts = {grade: count for grade, count in grade_counts.items() if grade >= 0}
        self.num_rel = sum([count for grade, count in self.grade_counts.items() if grade >= level])
        self.num_nonrel = sum(self.grade_counts.values()) - self.num_rel
        self.relevant_ranks = [rank for rank, grade in grades.items() if grade >= level]
        self.hits = len(self.relevant_ranks)
        self.relevance_level = settings.relevance_level
        self.collection_size = settings.collection_size
        self.release = settings.release

    @functools.cached_property
    def judged_ranks(self) -> list[int]:
        """The ranks of the judged documents, relevant or not."""
        return [rank for rank, grade in self.grades.items() if grade >= 0]

    @functools.cached_property
    def nonrelevant_ranks(self) -> list[int]:
        """The ranks of the judged nonrelevant documents."""
        level = self.relevance_level
        return [rank for rank, grade in self.grades.items() if 0 <= grade < level]

    def relevant_to(self, k: int) -> list[int]:
        """The ranks up to k that hold relevant documents; hits(k) is their number."""
        return self.relevant_ranks[:bisect_right(self.relevant_ranks, k)]

    def nonrelevant_above(self, rank: int) -> int:
        """The number of judged nonrelevant documents above a rank."""
        return bisect_left(self.nonrelevant_ranks, rank)

    def at_unjudged(self, items: Sequence[Any]) -> list[Any]:
        """The items, one for each rank from 1, without those at the ranks of judged documents.

        >>> example_ranking("1--0-").at_unjudged(range(1, 5))  # the ranks up to 4
        [2, 3]
        """
        kept = list(items)
        judged = self.judged_ranks[:bisect_right(self.judged_ranks, len(kept))]
        for rank in reversed(judged):  # from the end, because each deletion moves the items behind it
            del kept[rank - 1]
        return kept

    @functools.cached_property
    def precisions(self) -> list[float]:
        """P@k at the rank k of each relevant document.

        >>> example_ranking("1010").precisions  # 1 of 1, 2 of 3
        [1.0, 0.6666666666666666]
        """
        return [hits / rank for hits, rank in enumerate(self.relevant_ranks, start=1)]

    @functools.cached_property
    def peaks(self) -> list[int]:
        """For each relevant document, the first rank from its own on at which P@k is largest.

        >>> example_ranking("10011").peaks  # P@k is 1 at rank 1, 2/4 at rank 4, 3/5 at rank 5
        [1, 5, 5]
        """
        best, peak = 0.0, 0
        peaks = []
        for rank, precision in zip(reversed(self.relevant_ranks), reversed(self.precisions)):
            if precision >= best:
                best, peak = precision, rank
            peaks.append(peak)
        return peaks[::-1]

    def count_at_recall(self, level: float) -> int:
        """How many relevant documents make up a recall level, as the release rounds it."""
        return self.release.count_at_recall(level * self.num_rel)

    def gained(self, gains: Gains) -> tuple[list[int], list[float]]:
        """Ranks and gains of the retrieved documents whose gain is not 0.

        >>> example_ranking("102").gained({2: 5})  # grade 1 is its own gain, grade 2 gains 5
        ([1, 3], [1.0, 5.0])
        """
        gain_of = {grade: float(gains.get(grade, grade)) for grade in self.grade_counts}
        ranks = [rank for rank, grade in self.grades.items() if gain_of.get(grade)]
        return ranks, [gain_of[self.grades[rank]] for rank in ranks]

    def ideal_gains(self, gains: Gains) -> list[float]:
        """The positive gains of all judged documents, retrieved or not, largest first.

        >>> example_ranking("102", unretrieved="2").ideal_gains({})
        [2.0, 2.0, 1.0]
        """
        gained = [(float(gains.get(grade, grade)), count) for grade, count in self.grade_counts.items()]
        return [gain for gain, count in sorted(gained, reverse=True) if gain > 0 for _ in range(count)]

    def dcg_terms(self, gains: Gains) -> tuple[list[int], list[float]]:
        """What dcg adds up: the ranks k of documents with a gain, and the gain(k) / log2(k + 1) of each.

        >>> example_ranking("102").dcg_terms({})  # 1/log2(2) and 2/log2(4)
        ([1, 3], [1.0, 1.0])
        """
        if not gains:
            return self._dcg_terms
        ranks, gained = self.gained(gains)
        return ranks, _discounted(ranks, gained)

    def ideal_dcg_terms(self, gains: Gains) -> list[float]:
        """What ideal_dcg adds up: gain(k) / log2(k + 1) at each rank k of the ideal ranking.

        >>> example_ranking("102").ideal_dcg_terms({})  # 2/log2(2) and 1/log2(3)
        [2.0, 0.6309297535714575]
        """
        if not gains:
            return self._ideal_dcg_terms
        return _discounted(itertools.count(1), self.ideal_gains(gains))

    @functools.cached_property
    def _dcg_terms(self) -> tuple[list[int], list[float]]:
        """`dcg_terms` with grades as gains, which are kept because each cutoff of ndcg_cut needs them."""
        ranks, gained = self.gained({})
        return ranks, _discounted(ranks, gained)

    @functools.cached_property
    def _ideal_dcg_terms(self) -> list[float]:
        """`ideal_dcg_terms` with grades as gains, which are kept for the same reason."""
        return _discounted(itertools.count(1), self.ideal_gains({}))


def _discounted(ranks: Iterable[int], gained: Iterable[float]) -> list[float]:
    """Gains, each divided by log2(k + 1) at its rank k."""
    return [gain / math.log2(rank + 1) for rank, gain in zip(ranks, gained)]


def example_ranking(ranks: str, unretrieved: str = "", **settings: Any) -> JudgedRanking:
    """The JudgedRanking of a small example: a character for each rank, and the grades not retrieved.

    A digit is a grade, "-" an unpooled document, "." a pooled but unjudged one,
    as in relstring.  `settings` are fields of Settings.

    >>> topic = example_ranking("10-2", unretrieved="1")
    >>> topic.num_ret, topic.num_rel, topic.relevant_ranks
    (4, 3, [1, 4])
    """
    grades = {}
    for rank, character in enumerate(ranks, start=1):
        if character != "-":
            grades[rank] = -1 if character == "." else int(character)
    counts = Counter(grades.values()) + Counter(map(int, unretrieved))
    return JudgedRanking(grades, len(ranks), counts, Settings(**settings))


# ---- What a measure returns ----
# A Value: a float that remembers what was added up.  One rule holds for every
# measure: **a Value divided by 0 is 0.**  So a topic without relevant documents
# has recall 0, and an empty ranking has precision 0.

__all__ += ["Value", "add_up", "count", "share"]


class Value(float):
    """A measure's value for one topic, which remembers how it came about.

    ranks, terms  what was added up: `terms[i]` comes from `ranks[i]`.  An int there is
                  a rank (of the ideal ranking for ideal_dcg and Rndcg), a float is
                  a recall level, and a text says what else the term is for
    working       how the sum became the value: a Python expression with {} for its
                  numbers, and those numbers, which may be Values, too

    >>> value = add_up([1, 3], [1.0, 0.5]) / 5
    >>> value, value.ranks, value.terms, value.working
    (0.3, [1, 3], [1.0, 0.5], ('{} / {}', 1.5, 5))
    >>> Value(3.0) / 0
    0.0
    """

    ranks: Sequence[Union[float, str]]
    terms: Sequence[float]
    working: tuple[Any, ...]
    __slots__ = ("ranks", "terms", "working")  # to make a Value takes half the time without a dict of its own

    def __getattr__(self, name: str) -> tuple[float, ...]:
        """What a slot that was not set stands for: terms for a 1 at each rank, the others for nothing."""
        if name == "terms":
            return (1.0,) * len(self.ranks)
        if name in Value.__slots__:
            return ()
        raise AttributeError(f"'Value' object has no attribute {name!r}")

    def __truediv__(self, divisor: float) -> Value:
        """The quotient, or 0 if the divisor is 0."""
        return self.then(float(self) / divisor if divisor else 0.0, "{} / {}", self, divisor)

    def then(self, value: float, *working: Any) -> Value:
        """The same terms with another value; `working` is an expression, followed by its numbers."""
        result = Value(value)
        result.ranks = self.ranks
        result.terms = self.terms
        result.working = working
        return result


def add_up(ranks: Sequence[Union[float, str]], terms: Sequence[float]) -> Value:
    """The sum of the terms, from left to right.

    Python's sum() would differ from trec_eval in the last digits, because from
    3.12 on it compensates rounding errors.

    >>> add_up([1, 3], [1.0, 0.5])
    1.5
    """
    total = 0.0
    for term in terms:
        total += term
    value = Value(total)
    value.ranks = ranks
    value.terms = terms
    return value


def count(ranks: Sequence[int]) -> Value:
    """The number of ranks; each contributes one.

    >>> count([1, 3])
    2.0
    """
    value = Value(len(ranks))
    value.ranks = ranks
    value.terms = (1.0,) * len(ranks)
    return value


def share(ranks: Sequence[int], divisor: float) -> Value:
    """count(ranks) / divisor in one step, which is faster; 0 if the divisor is 0.

    >>> share([1, 3], 5), share([], 0)
    (0.4, 0.0)
    """
    value = Value(len(ranks) / divisor if divisor else 0.0)
    value.ranks = ranks
    value.working = "{} / {}", len(ranks), divisor
    return value


# ---- How a measure is declared ----
# `@measure(...)` above a function registers it in MEASURES: under which name,
# which parameters may follow the name, and how topics are summarised.  All of
# this is data, which later rooms read.

__all__ += ["MEASURES", "Measure", "Parameters", "cutoffs", "levels", "measure"]


class Parameters(NamedTuple):
    """What may follow a measure's name after a dot.

    kind      "none", "cutoffs" or "levels" (a value for each of them), "all levels"
              (one value over all), "length", "weight", "coefficients", "gains",
              "persistence" or "persistence and gains"
    defaults  if nothing follows, the cutoffs or levels, or else the arguments
    """

    kind: str = "none"
    defaults: tuple[Any, ...] = ()


def cutoffs(*defaults: int) -> Parameters:
    """One value for each cutoff, named `name_k`."""
    return Parameters("cutoffs", defaults)


def levels(*defaults: float) -> Parameters:
    """One value for each level, named `name_0.10`."""
    return Parameters("levels", defaults)


class Measure(NamedTuple):
    """A measure as it is registered.

    name          what is asked for and printed
    function      of what the measure sees, and of the arguments
    parameters    what may follow the name
    summary       how topics are summarised: "mean", "sum" and so on, as named in
                  SUMMARIES, or None for a text, which only topics have
    summary_only  whether no value is printed for a topic
    is_count      whether values are printed as integers
    is_of_set     whether only the documents retrieved, or those above the cutoff,
                  play a part, and not their order; then equal scores are not
                  warned of where they cannot matter
    rel_formats   the formats of judgments that it goes with; None is every one
    """

    name: str
    function: Callable[..., Union[float, str]]
    parameters: Parameters = Parameters()
    summary: Optional[str] = "mean"
    summary_only: bool = False
    is_count: bool = False
    is_of_set: bool = False
    rel_formats: Optional[tuple[str, ...]] = ("qrels",)


MEASURES: dict[str, Measure] = {}  # by name, in the order in which they are printed

Function = TypeVar("Function", bound=Callable[..., Any])


def measure(name: str, parameters: Parameters = Parameters(),
            **fields: Any) -> Callable[[Function], Function]:
    """Register the decorated function as a measure; `fields` are those of Measure."""
    def register(function: Function) -> Function:
        """Add the function to MEASURES."""
        if name in MEASURES or not re.fullmatch(r"\w+", name):
            raise ValueError(f"expected a new name of letters, digits and underscores, found {name!r}")
        MEASURES[name] = Measure(name, function, parameters, **fields)
        return function
    return register


# ---- The measures ----
# One function for each measure, in the order in which trec_eval prints them.  N is the number
# of documents retrieved, R that of the relevant ones, and hits(k) that of the relevant ones
# among the first k; P@k is hits(k) / k.  Unjudged documents are not in the judgments, or have
# a negative grade there.  The paragraph after a formula says what other symbols mean.  A
# measure without a source is trec_eval's own, or in any textbook (Manning, Raghavan &
# Schuetze, 2008, Introduction to Information Retrieval, chapter 8).


@measure("runid", summary="run tag", summary_only=True, is_of_set=True, rel_formats=None)
def run_identifier(topic: Any) -> float:
    """The tag on the run's last line, for the summary alone: topics contribute nothing."""
    return 0.0


@measure("num_q", summary="number of topics", summary_only=True, is_count=True, is_of_set=True,
         rel_formats=None)
def topic_evaluated(topic: Any) -> float:
    """The number of topics averaged over, for the summary alone: with -c, all topics of the qrels."""
    return 1.0


@measure("num_ret", summary="sum", is_count=True, is_of_set=True)
def retrieved(topic: JudgedRanking) -> float:
    """The documents retrieved, as far as -M and -J leave them in the ranking.

        num_ret = N

    >>> retrieved(example_ranking("10-1"))
    4
    """
    return topic.num_ret


@measure("num_rel", summary="sum of relevant", is_count=True, is_of_set=True)
def relevant(topic: JudgedRanking) -> float:
    """The relevant documents in the qrels, retrieved or not.

        num_rel = R

    >>> relevant(example_ranking("10-1", unretrieved="1"))
    3

    With -c the summary counts all documents of grade > 0 in the qrels, whatever
    -l says.
    """
    return topic.num_rel


@measure("num_rel_ret", summary="sum", is_count=True, is_of_set=True)
def relevant_retrieved(topic: JudgedRanking) -> float:
    """The relevant documents retrieved.

        num_rel_ret = hits

    >>> relevant_retrieved(example_ranking("10-1", unretrieved="1"))
    2.0
    """
    return count(topic.relevant_ranks)


@measure("map")
def average_precision(topic: JudgedRanking) -> Value:
    """Average precision: the mean of the precisions at the relevant documents.

        AP = map = (1 / R) * sum of P@k over the ranks k of relevant documents

    A relevant document that is not retrieved has precision 0, so that the divisor is R, the
    number of all relevant ones, and not that of the hits.  An unjudged document counts as
    nonrelevant.  The value is 0 if R = 0 or if nothing relevant is retrieved.

    >>> topic = example_ranking("1010010010", unretrieved="1")
    >>> round(average_precision(topic), 4)  # (1/1 + 2/3 + 3/6 + 4/9 + 0) / 5
    0.5222
    >>> average_precision(example_ranking("000", unretrieved="1"))
    0.0

    To divide by the hits is a common mistake, which would give 0.653 here.
    Source: Buckley & Voorhees (2005), Retrieval system evaluation, in TREC:
    Experiment and Evaluation in Information Retrieval; Robertson (2008), A new
    interpretation of average precision, SIGIR, 689-690.
    """
    return add_up(topic.relevant_ranks, topic.precisions) / topic.num_rel


@measure("gm_map", summary="geometric mean", summary_only=True)
def log_average_precision(topic: JudgedRanking) -> Value:
    """The logarithm of average precision, of which the summary is the geometric mean.

        gm_map = exp of the mean over the topics of ln max(AP, 0.00001)

    AP is the value of map.  Without the floor, a single topic without hits would
    make the mean 0.

    >>> log_average_precision(example_ranking("0", unretrieved="1"))  # ln 0.00001
    -11.512925464970229

    Others add 0.00001 to every AP, or leave out the zeros.  Source: Voorhees
    (2005), The TREC robust retrieval track, SIGIR Forum 39(1), 11-20;
    Robertson (2006), On GMAP: and other transformations, CIKM, 78-83.
    """
    return _floored_log(average_precision(topic))


GEOMETRIC_FLOOR = 0.00001  # a topic's value counts as at least this in a geometric mean


def _floored_log(value: Value) -> Value:
    """The logarithm of a value, or of the floor if that is larger."""
    return value.then(math.log(max(value, GEOMETRIC_FLOOR)), "log(max({}, {}))", value, GEOMETRIC_FLOOR)


@measure("Rprec")
def r_precision(topic: JudgedRanking) -> Value:
    """R-precision: the precision at rank R, where it equals recall.

        Rprec = hits(R) / R

    R divides even if fewer documents were retrieved.  The value is 0 if R = 0.

    >>> r_precision(example_ranking("10100", unretrieved="1"))  # R = 3: ranks 1 to 3 hold two
    0.6666666666666666

    Source: Buckley & Voorhees (2005).
    """
    return share(topic.relevant_to(topic.num_rel), topic.num_rel)


@measure("bpref")
def binary_preference(topic: JudgedRanking) -> Value:
    """bpref: how rarely judged nonrelevant documents precede relevant ones.

        bpref = (1 / R) * sum over retrieved relevant documents of b
        b = 1 - min(n, R) / min(R, NR)
        b = 1 if n = 0, also when NR = 0

    n is the number of judged nonrelevant documents above the relevant one, NR the number
    of all judged nonrelevant documents, retrieved or not.  Unjudged documents play no
    part.  The value is 0 if R = 0 or if nothing relevant is retrieved.

    >>> binary_preference(example_ranking("10-1", unretrieved="0"))  # b = 1 and 1 - 1/2
    0.75
    >>> binary_preference(example_ranking("01", unretrieved="1"))  # b = 1 - 1/1, and one not retrieved
    0.0

    Incomplete judgments do it little harm.  The paper has b = 1 - n/R.  Source:
    Buckley & Voorhees (2004), Retrieval evaluation with incomplete information,
    SIGIR, 25-32.
    """
    r = topic.num_rel
    bound = min(r, topic.num_nonrel)
    terms = []
    for rank in topic.relevant_ranks:
        n = topic.nonrelevant_above(rank)
        terms.append(1 - min(n, r) / bound if n else 1.0)
    return add_up(topic.relevant_ranks, terms) / r


@measure("recip_rank")
def reciprocal_rank(topic: JudgedRanking) -> Value:
    """Reciprocal rank of the first relevant document.

        recip_rank = 1 / (rank of the first relevant document)

    The value is 0 if none is retrieved.  The mean over the topics is known as MRR.

    >>> reciprocal_rank(example_ranking("0-11"))
    0.3333333333333333

    Source: Voorhees (1999), The TREC-8 question answering track report.
    """
    first = topic.relevant_ranks[:1]
    return add_up(first, [1 / rank for rank in first])


@measure("iprec_at_recall", levels(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
def interpolated_precision(topic: JudgedRanking, level: float) -> Value:
    """Interpolated precision at a recall level: the best precision at that recall or beyond.

        iprec_at_recall(level) = max of P@k over ranks k from the m-th relevant document on

    m is level * R rounded to the nearest integer, halves up, in release 10.0, and
    trunc(level * R + 0.9) in 9.0.8.  With m = 0 all ranks count.  P@k is largest at
    a relevant document, because it rises nowhere else.  The value is 0 if fewer than
    max(m, 1) relevant ones are retrieved.

    >>> topic = example_ranking("1010010010", unretrieved="1")
    >>> interpolated_precision(topic, 0.5)  # m = 3, since 2.5 is rounded up: 3/6 at rank 6
    0.5
    >>> interpolated_precision(topic, 1.0)  # m = 5, only 4 are retrieved
    0.0

    Textbooks take the largest precision at any recall >= level.  Rounding to the
    nearest count can take a recall below that: with R = 3, level 0.4 reads the
    precision at recall 1/3.
    """
    return _best_precision_from(topic, topic.count_at_recall(level))


def _best_precision_from(topic: JudgedRanking, m: int) -> Value:
    """The largest P@k over the ranks k from the m-th relevant document on; all ranks if m is 0.

    >>> _best_precision_from(example_ranking("10011"), 2)  # 3/5 at rank 5, after 2/4 at rank 4
    0.6
    """
    if m > topic.hits or not topic.hits:
        return Value(0.0)
    peak = topic.peaks[max(m, 1) - 1]
    return share(topic.relevant_to(peak), peak)


@measure("P", cutoffs(5, 10, 15, 20, 30, 100, 200, 500, 1000), is_of_set=True)
def precision(topic: JudgedRanking, k: int) -> Value:
    """Precision at k: the fraction of the first k documents that are relevant.

        P@k = hits(k) / k

    Ranks past the end of the ranking count as nonrelevant: k divides even if
    fewer documents were retrieved.  Others divide by N then.

    >>> precision(example_ranking("101"), 5)
    0.4
    """
    return share(topic.relevant_to(k), k)


@measure("relstring", Parameters("length", (10,)), summary=None)
def relevance_string(topic: JudgedRanking, length: int) -> str:
    """The grades of the first documents, one character for each rank.

    A digit is a grade from 0 to 9, ">" a greater one, "-" a document that is not in the
    judgments and "." one with a negative grade there, which is in the pool but unjudged.
    The value is empty if nothing is retrieved.  It is printed for topics only, in single
    quotes.

    >>> relevance_string(example_ranking("10.2-"), 4)
    '10.2'

    Others join grades by hyphens, 1-0-1.
    """
    text = ""
    for rank in range(1, min(length, topic.num_ret) + 1):
        grade = topic.grades.get(rank)
        if grade is None:
            text += "-"
        elif grade < 0:
            text += "."
        elif grade > 9:
            text += ">"
        else:
            text += str(grade)
    return text


@measure("recall", cutoffs(5, 10, 15, 20, 30, 100, 200, 500, 1000), is_of_set=True)
def recall(topic: JudgedRanking, k: int) -> Value:
    """Recall at k: the fraction of the relevant documents that is among the first k.

        recall@k = hits(k) / R

    The value is 0 if R = 0.

    >>> recall(example_ranking("1010", unretrieved="11"), 3)
    0.5
    """
    return share(topic.relevant_to(k), topic.num_rel)


@measure("infAP")
def inferred_average_precision(topic: JudgedRanking) -> Value:
    """Inferred average precision: AP estimated from a pool of which only a sample was judged.

        infAP = (1 / R) * sum over the ranks k of relevant documents of s
        s = 1/k + (k-1)/k * E, but s = 1 at k = 1
        E = (r + n + u)/(k-1) * (r + e)/(r + n + 2e)

    Above rank k are r relevant, n judged nonrelevant and u unjudged documents of the pool
    (grade < 0).  The others above k are not in the judgments, and so not in the pool.
    E estimates the precision above k: the share of the documents there that are in the
    pool, times the share of the judged ones that are relevant.  e = 0.00001 avoids 0/0 if
    none above k is judged.  The value is 0 if R = 0 or if nothing relevant is retrieved.

    >>> round(inferred_average_precision(example_ranking("1-1")), 4)  # (1 + (1/3 + 2/3 * 1/2 * 1)) / 2
    0.8333

    Source: Yilmaz & Aslam (2006), Estimating average precision with incomplete
    and imperfect judgments, CIKM, 102-111.
    """
    e = 0.00001
    pooled_ranks = list(topic.grades)
    terms = []
    for r, k in enumerate(topic.relevant_ranks):  # r relevant documents stand above rank k
        if k == 1:
            terms.append(1.0)
        else:
            n = topic.nonrelevant_above(k)
            pooled_above = bisect_left(pooled_ranks, k)  # r + n + u
            terms.append(1 / k + (k - 1) / k * (pooled_above / (k - 1)) * ((r + e) / (r + n + 2 * e)))
    return add_up(topic.relevant_ranks, terms) / topic.num_rel


@measure("gm_bpref", summary="geometric mean", summary_only=True)
def log_binary_preference(topic: JudgedRanking) -> Value:
    """The logarithm of bpref, of which the summary is the geometric mean.

        gm_bpref = exp of the mean over the topics of ln max(bpref, 0.00001)

    Without the floor, a single topic could make the mean 0.

    >>> log_binary_preference(example_ranking("1-1"))
    0.0
    """
    return _floored_log(binary_preference(topic))


@measure("Rprec_mult", levels(0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0))
def multiple_r_precision(topic: JudgedRanking, multiple: float) -> Value:
    """Precision at a multiple of R.

        Rprec_mult(multiple) = P@k with k = trunc(multiple * R + 0.9)

    k may lie beyond the end of the ranking, and divides all the same.  The value is 0
    if k = 0.

    >>> multiple_r_precision(example_ranking("10100", unretrieved="1"), 1.2)  # k = trunc(4.5)
    0.5

    The published measure is the hits at rank floor(multiple * R + 0.5), divided by R.
    """
    return precision(topic, _mostly_up(multiple * topic.num_rel))


@measure("utility", Parameters("coefficients", (1, -1, 0, 0)), is_of_set=True)
def utility(topic: JudgedRanking, a: float, b: float, c: float, d: float) -> Value:
    """A linear utility of the retrieved set.

        utility = a * hits + b * (N - hits) + c * (R - hits) + d * (D + hits - N - R)

    The terms count the relevant and the other documents retrieved, then the
    relevant and the other ones not retrieved.  D is the number of documents in
    the collection (-N), which only the last term uses.  An empty ranking leaves
    c * R + d * (D - R).

    >>> utility(example_ranking("10-1", unretrieved="1"), 1, -1, 0, 0)  # 2 relevant, 2 others
    0.0
    >>> utility(example_ranking("10-1", unretrieved="1"), 2, -0.5, -1, 0)
    2.0
    """
    hits = topic.hits
    terms = (a * hits, b * (topic.num_ret - hits), c * (topic.num_rel - hits),
             d * (topic.collection_size + hits - topic.num_ret - topic.num_rel))
    # add_up would begin with 0 + terms[0], and so lose the sign of -0.
    value = Value(terms[0] + terms[1] + terms[2] + terms[3])
    value.ranks = ("relevant, retrieved", "others, retrieved", "relevant, missed", "others, missed")
    value.terms = terms
    return value


@measure("11pt_avg", Parameters("all levels", ((0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),)))
def average_interpolated_precision(topic: JudgedRanking, recall_levels: Sequence[float]) -> Value:
    """The mean of the interpolated precisions at recall levels, by default eleven.

        11pt_avg = mean over the levels of iprec_at_recall(level)
        iprec_at_recall(level) = max of P@k over ranks k from the m-th relevant document on

    m is level * R rounded to the nearest integer, halves up, in release 10.0, and
    trunc(level * R + 0.9) in 9.0.8.  With m = 0 all ranks count.  P@k is largest at
    a relevant document, because it rises nowhere else.  A level adds 0 if fewer than
    max(m, 1) relevant ones are retrieved.

    >>> topic = example_ranking("1010010010", unretrieved="1")
    >>> average_interpolated_precision(topic, (0.0, 0.5, 1.0))  # (1 + 3/6 + 0) / 3
    0.5
    """
    downwards = [float(level) for level in reversed(recall_levels)]  # the order in which trec_eval adds
    precisions = [interpolated_precision(topic, level) for level in downwards]
    return add_up(downwards, precisions) / len(downwards)


@measure("binG")
def binary_g(topic: JudgedRanking) -> Value:
    """binG: a gain for each relevant document, discounted by the others above it.

        binG = (1 / R) * sum over relevant ranks of 1 / log2(2 + others above)

    Others are all documents that are not relevant, judged or not.  The value is 0 if
    R = 0 or if nothing relevant is retrieved.

    >>> binary_g(example_ranking("1001"))  # (1/log2(2) + 1/log2(4)) / 2
    0.75
    """
    terms = [1 / math.log2(2 + rank - hits) for hits, rank in enumerate(topic.relevant_ranks, start=1)]
    return add_up(topic.relevant_ranks, terms) / topic.num_rel


@measure("G", Parameters("gains", ({},)))
def normalised_g(topic: JudgedRanking, gains: Gains) -> Value:
    """G: gains discounted by how much more an ideal ranking would have gained by then.

        G = (sum over ranks k of gain(k) / log2(2 + cost(k) - s(k))) / (sum of all ideal gains)

    s(k) is the sum of the gains up to rank k.  cost(k) is that of the ideal
    ranking, where each rank, also beyond its end, counts as at least 1.  The ideal
    ranking has all judged documents of positive gain, by descending gain.  Grade g
    has gain g unless a parameter says otherwise, and unjudged documents have gain 0.
    With grades 0 and 1 it is binG.  The value is 0 if no judged document has a positive
    gain.

    >>> normalised_g(example_ranking("1001"), {})
    0.75
    >>> round(normalised_g(example_ranking("12"), {}), 4)  # (1/log2(2 + 2 - 1) + 2/log2(2 + 3 - 3)) / 3
    0.877
    """
    ranks, gained = topic.gained(gains)
    ideal = topic.ideal_gains(gains)
    costs = [0.0, *itertools.accumulate([max(gain, 1.0) for gain in ideal])]  # at ranks 0 to I, its length
    last_rank, last_cost = len(ideal), costs[-1]  # the last rank, from I on, whose cost was worked out
    s = 0.0
    terms = []
    for rank, gain in zip(ranks, gained):
        s += gain
        if rank > last_rank:
            last_rank, last_cost = rank, _plus_ones(last_cost, rank - last_rank)
        cost = costs[rank] if rank < len(costs) else last_cost
        # 2 + cost - s would be at least 2, if gains too large to be added exactly were not rounded.
        terms.append(gain / math.log2(max(2 + cost - s, 1.5)))
    return add_up(ranks, terms) / add_up((), ideal)


def _plus_ones(value: float, ones: int) -> float:
    """Add 1 so many times, as trec_eval does, and round each sum to a double."""
    if value.is_integer() and value + ones < 2 ** 53:
        return value + ones  # nothing is rounded
    for _ in range(ones):
        value += 1.0
    return value


@measure("dcg", Parameters("gains", ({},)))
def discounted_cumulative_gain(topic: JudgedRanking, gains: Gains) -> Value:
    """Discounted cumulative gain.

        dcg = sum over ranks k of gain(k) / log2(k + 1)

    Grade g has gain g unless a parameter g=gain says otherwise, and unjudged
    documents have gain 0.  The relevance level (-l) plays no part.  The value is 0
    if nothing with a gain is retrieved.

    >>> discounted_cumulative_gain(example_ranking("102"), {})  # 1/log2(2) + 2/log2(4)
    2.0

    Others use a gain of 2^g - 1, or do not discount rank 2.  Source: Jaervelin
    & Kekaelaeinen (2002), Cumulated gain-based evaluation of IR techniques, ACM
    TOIS 20(4), 422-446.
    """
    ranks, terms = topic.dcg_terms(gains)
    return add_up(ranks, terms)


@measure("ideal_dcg", Parameters("gains", ({},)))
def ideal_discounted_cumulative_gain(topic: JudgedRanking, gains: Gains) -> Value:
    """The discounted cumulative gain of the best possible ranking.

        ideal_dcg = sum over ranks k of the ideal ranking of gain(k) / log2(k + 1)

    The ideal ranking has all judged documents of positive gain, retrieved or not, by
    descending gain.  The value is 0 if there are none.

    >>> topic = example_ranking("1", unretrieved="20")
    >>> round(ideal_discounted_cumulative_gain(topic, {}), 4)  # 2/log2(2) + 1/log2(3)
    2.6309
    """
    terms = topic.ideal_dcg_terms(gains)
    return add_up(range(1, len(terms) + 1), terms)


@measure("ndcg", Parameters("gains", ({},)))
def normalised_dcg(topic: JudgedRanking, gains: Gains) -> Value:
    """Normalised discounted cumulative gain: dcg over that of the ideal ranking.

        ndcg = dcg / ideal_dcg
        dcg = sum over ranks k of gain(k) / log2(k + 1)

    ideal_dcg is the same sum for the ideal ranking, which has all judged documents of
    positive gain, retrieved or not, by descending gain.  Grade g has gain g unless a
    parameter says otherwise, and unjudged documents have gain 0.  The value is 0 if
    no judged document has a positive gain.

    >>> round(normalised_dcg(example_ranking("102"), {}), 4)  # 2 / (2 + 1/log2(3)) = 2 / 2.6309
    0.7602

    Published variants have gains 2^g - 1, cut the ideal ranking at N, or apply
    a relevance level; trec_eval does none of that.  Source: Jaervelin &
    Kekaelaeinen (2002).
    """
    return discounted_cumulative_gain(topic, gains) / ideal_discounted_cumulative_gain(topic, gains)


@measure("ndcg_rel", Parameters("gains", ({},)))
def ndcg_at_relevant(topic: JudgedRanking, gains: Gains) -> Value:
    """The mean of ndcg, cut at the rank of each document of positive gain.

        ndcg_rel = (1 / I) * (sum over those ranks k of D(k) / J(k) + (I - v) * D(N) / J(I))
        D(k) = sum over ranks j <= k of gain(j) / log2(j + 1)

    J(k) is the same sum for the ideal ranking, which has all I judged documents of
    positive gain by descending gain; past its end it is J(I).  v of the I documents
    are retrieved, and each of the others takes the value of the whole ranking.
    Grade g has gain g unless a parameter says otherwise, and unjudged documents have
    gain 0.  The value is 0 if the sum is not positive (gains can be negative).

    >>> round(ndcg_at_relevant(example_ranking("01", unretrieved="1"), {}), 4)  # 2 * (0.6309/1.6309) / 2
    0.3869
    """
    ranks, discounted = topic.dcg_terms(gains)
    dcg = list(itertools.accumulate(discounted))
    ideal_dcg = list(itertools.accumulate(topic.ideal_dcg_terms(gains)))
    if not ideal_dcg or not dcg:
        return Value(0.0)
    length = len(ideal_dcg)
    labels: list[Union[int, str]] = []
    terms = []
    for rank, gain, dcg_there in zip(ranks, discounted, dcg):
        if gain > 0:
            labels.append(rank)
            terms.append(dcg_there / ideal_dcg[min(rank, length) - 1])
    missed = length - len(terms)
    labels.append("not retrieved")
    terms.append(missed * dcg[-1] / ideal_dcg[-1])
    value = add_up(labels, terms)
    return value / length if value > 0 else Value(0.0)


@measure("Rndcg", Parameters("gains", ({},)))
def r_ndcg(topic: JudgedRanking, gains: Gains) -> Value:
    """The mean of ndcg, cut where the ideal ranking changes its gain.

        Rndcg = mean over the block ends b of D(b) / J(b)
        D(k) = sum over ranks j <= k of gain(j) / log2(j + 1)

    J(k) is the same sum for the ideal ranking, which has all I judged documents of
    positive gain by descending gain.  It consists of blocks of equal gain, and b is
    the last rank of one.  If N > I + 1, D(N) / J(I) is one more term.  Grade g has
    gain g unless a parameter says otherwise, and unjudged documents have gain 0.
    The value is 0 if R = 0 (here the relevance level matters) or if there is no
    positive gain.

    >>> round(r_ndcg(example_ranking("102"), {}), 4)  # blocks end at 1 and 2: (1/2 + 1/2.6309) / 2
    0.44
    """
    ideal = topic.ideal_gains(gains)
    if not topic.num_rel or not ideal:
        return Value(0.0)
    ranks, discounted = topic.dcg_terms(gains)
    dcg = [0.0, *itertools.accumulate(discounted)]
    ideal_dcg = [0.0, *itertools.accumulate(topic.ideal_dcg_terms(gains))]
    labels: list[Union[int, str]] = []
    terms = []
    for b in range(1, len(ideal) + 1):
        if b == len(ideal) or ideal[b] != ideal[b - 1]:
            labels.append(b)
            terms.append(dcg[bisect_right(ranks, b)] / ideal_dcg[b])
    if topic.num_ret > len(ideal) + 1:
        labels.append("whole ranking")
        terms.append(dcg[-1] / ideal_dcg[-1])
    return add_up(labels, terms) / len(terms)


@measure("ndcg_cut", cutoffs(5, 10, 15, 20, 30, 100, 200, 500, 1000))
def ndcg_at(topic: JudgedRanking, k: int) -> Value:
    """Normalised discounted cumulative gain at k.

        ndcg_cut(k) = D(k) / J(k)
        D(k) = sum over ranks j <= k of gain(j) / log2(j + 1)

    gain(j) is the grade of the document at rank j, and 0 if it is unjudged (not in the
    judgments, or there with a negative grade) or if the ranking has no rank j.  J(k) is
    the same sum for the ideal ranking, which has all judged documents, retrieved or not,
    by descending grade.  The value is 0 if no judged document has a positive grade.

    >>> round(ndcg_at(example_ranking("102"), 2), 4)  # 1 / (2 + 1/log2(3)) = 1 / 2.6309
    0.3801

    Published variants have gains 2^g - 1 or an ideal ranking of the retrieved
    documents alone.  Source: Jaervelin & Kekaelaeinen (2002).
    """
    ranks, terms = topic.dcg_terms({})
    found = bisect_right(ranks, k)  # the number of documents with a gain up to rank k
    ideal = topic.ideal_dcg_terms({})[:k]
    return add_up(ranks[:found], terms[:found]) / add_up(range(1, len(ideal) + 1), ideal)


@measure("map_cut", cutoffs(5, 10, 15, 20, 30, 100, 200, 500, 1000))
def average_precision_at(topic: JudgedRanking, k: int) -> Value:
    """Average precision at k: as if the ranking ended there.

        map_cut(k) = (1 / R) * sum of P@j over the ranks j <= k of relevant documents

    The value is 0 if R = 0 or if nothing relevant is among the first k.  Others divide
    by min(R, k).

    >>> average_precision_at(example_ranking("1011", unretrieved="1"), 3)  # (1 + 2/3) / 4
    0.41666666666666663
    """
    ranks = topic.relevant_to(k)
    return add_up(ranks, topic.precisions[:len(ranks)]) / topic.num_rel


@measure("relative_P", cutoffs(5, 10, 15, 20, 30, 100, 200, 500, 1000), is_of_set=True)
def relative_precision(topic: JudgedRanking, k: int) -> Value:
    """Precision at k relative to the best possible one.

        relative_P(k) = hits(k) / min(k, R)

    The value is 0 if R = 0.

    >>> relative_precision(example_ranking("1010"), 3)  # 2 / min(3, 2)
    1.0
    """
    return share(topic.relevant_to(k), min(k, topic.num_rel))


@measure("success", cutoffs(1, 5, 10), is_of_set=True)
def success(topic: JudgedRanking, k: int) -> Value:
    """Success at k: whether a relevant document is among the first k.

        success@k = 1 if hits(k) > 0, else 0

    Ranks past the end of the ranking count as nonrelevant.

    >>> success(example_ranking("001"), 1), success(example_ranking("001"), 5)
    (0.0, 1.0)

    Source: S. Tomlinson, for trec_eval.
    """
    return count(topic.relevant_to(k)[:1])


@measure("set_P", is_of_set=True)
def set_precision(topic: JudgedRanking) -> Value:
    """Precision of the retrieved set, whatever its order.

        set_P = hits / N

    The value is 0 if N = 0.

    >>> set_precision(example_ranking("10-1", unretrieved="1"))
    0.5
    """
    return share(topic.relevant_ranks, topic.num_ret)


@measure("set_relative_P", is_of_set=True)
def set_relative_precision(topic: JudgedRanking) -> Value:
    """Precision of the retrieved set relative to the best possible one.

        set_relative_P = hits / min(N, R)

    The value is 0 if N = 0 or R = 0.

    >>> set_relative_precision(example_ranking("10-1", unretrieved="1"))  # 2 of at most 3
    0.6666666666666666
    """
    return share(topic.relevant_ranks, min(topic.num_ret, topic.num_rel))


@measure("set_recall", is_of_set=True)
def set_recall(topic: JudgedRanking) -> Value:
    """Recall of the retrieved set.

        set_recall = hits / R

    The value is 0 if R = 0.

    >>> set_recall(example_ranking("10-1", unretrieved="11"))
    0.5
    """
    return share(topic.relevant_ranks, topic.num_rel)


@measure("set_map", is_of_set=True)
def set_average_precision(topic: JudgedRanking) -> Value:
    """Precision times recall of the retrieved set.

        set_map = hits^2 / (N * R)

    It is AP if the precision at each hit is that of the set.  The value is 0 if N = 0 or
    R = 0.

    >>> set_average_precision(example_ranking("10-1", unretrieved="11"))  # 2 * 2 / (4 * 4)
    0.25
    """
    hits = count(topic.relevant_ranks)
    return hits.then(hits * hits, "{} ** 2", hits) / (topic.num_ret * topic.num_rel)


@measure("set_F", Parameters("weight", (1.0,)), is_of_set=True)
def set_f(topic: JudgedRanking, x: float) -> Value:
    """F measure of the retrieved set: a weighted harmonic mean of precision and recall.

        set_F = (x + 1) * P * Rc / (Rc + x * P), with P = hits / N and Rc = hits / R

    P is precision, Rc is recall, and x plays the part of beta squared.  The value is 0 if
    hits = 0.

    >>> round(set_f(example_ranking("10-1", unretrieved="1"), 1.0), 4)  # P = 1/2, Rc = 2/3: 2 * (1/3) / (7/6)
    0.5714

    Source: van Rijsbergen (1979), Information Retrieval, 2nd edition.
    """
    hits = count(topic.relevant_ranks)
    if not hits:
        return hits
    p, rc = hits / topic.num_ret, hits / topic.num_rel
    return hits.then((x + 1) * p * rc / (rc + x * p), "({0} + 1) * {1} * {2} / ({2} + {0} * {1})", x, p, rc)


@measure("num_nonrel_judged_ret", summary="sum", is_count=True, is_of_set=True)
def nonrelevant_judged_retrieved(topic: JudgedRanking) -> Value:
    """The judged nonrelevant documents retrieved.

        num_nonrel_judged_ret = retrieved documents of 0 <= grade < level

    The level is the least grade of relevant documents.

    >>> nonrelevant_judged_retrieved(example_ranking("10-.0"))
    2.0
    """
    return count(topic.nonrelevant_ranks)


@measure("yaap")
def yet_another_average_precision(topic: JudgedRanking) -> Value:
    """Average precision, smoothed and on a logit scale.

        yaap = ln((1 + s) / (1 + R - s)), s = sum of P@k over relevant ranks k

    The value is 0 if R = 0, and -ln(1 + R) if nothing relevant is retrieved.

    >>> yet_another_average_precision(example_ranking("1", unretrieved="1"))  # s = 1: ln(2/2)
    0.0

    Source: Robertson (2012), On smoothing average precision, ECIR, 158-169.
    """
    s = add_up(topic.relevant_ranks, topic.precisions)
    r = topic.num_rel
    return s.then(math.log((1 + s) / (1 + r - s)), "log((1 + {0}) / (1 + {1} - {0}))", s, r)


def _gains_from_0_to_1(topic: JudgedRanking, gains: Gains) -> dict[int, float]:
    """{grade: gain} for the grades of a topic, scaled as `rank_biased_precision` says.

    >>> _gains_from_0_to_1(example_ranking("102"), {})
    {1: 0.5, 0: 0.0, 2: 1.0}
    """
    largest = max(topic.grade_counts, default=0)
    # Grades that no parameter names are their own gains, and only the largest of them matters.
    own = next((grade for grade in range(largest, 0, -1) if grade not in gains), 0)
    values = [0.0, float(own), *(gain for grade, gain in gains.items() if grade >= 0)]
    low, high = min(values), max(values)
    if low == 0 and high <= 1:
        low, high = 0.0, 1.0  # nothing is scaled
    return {grade: (gains.get(grade, grade) - low) / (high - low) for grade in topic.grade_counts}


@functools.lru_cache(maxsize=2)  # the topics of a run usually have the same number of documents
def _powers(p: float, n: int) -> tuple[float, ...]:
    """p^0 to p^n, multiplied step by step as trec_eval does.

    >>> _powers(0.5, 3)
    (1.0, 0.5, 0.25, 0.125)
    """
    return tuple(itertools.accumulate(itertools.repeat(p, n), operator.mul, initial=1.0))


@measure("rbp", Parameters("persistence and gains", (0.9, {})))
def rank_biased_precision(topic: JudgedRanking, p: float, gains: Gains) -> Value:
    """Rank-biased precision: what a user gains who goes on to the next rank with probability p.

        rbp = (1 - p) * sum over ranks k of gain(k) * p^(k-1)

    The gain of a grade is the grade, unless a parameter sets it.  lo is the smallest and hi
    the largest gain of all grades from 0 to the largest judged for the topic, and of all
    that parameters set; lo is at most 0.  If lo < 0 or hi > 1, each gain is scaled to
    (gain - lo) / (hi - lo).  Unjudged documents add 0, scaled or not.  The relevance level
    (-l) is not used.

    >>> rank_biased_precision(example_ranking("101"), 0.5, {})  # 0.5 * (1 + 0.25)
    0.625
    >>> rank_biased_precision(example_ranking("102"), 0.5, {})  # gains 1/2 and 1: 0.5 * (0.5 + 0.25)
    0.375

    trec_eval 10.0 itself has no defined value if a grade exceeds 1, because it
    reads uninitialised memory.  Source: Moffat & Zobel (2008), Rank-biased
    precision for measurement of retrieval effectiveness, ACM TOIS 27(1), 2.
    """
    gain_of = _gains_from_0_to_1(topic, gains)
    power = _powers(p, topic.num_ret)
    ranks = topic.judged_ranks
    weighted = add_up(ranks, [gain_of[topic.grades[k]] * power[k - 1] for k in ranks])
    return weighted.then((1 - p) * weighted, "(1 - {}) * {}", p, weighted)


@functools.lru_cache(maxsize=2)
def _ranks_to(n: int) -> tuple[int, ...]:
    """The ranks from 1 to n, cached like `_powers`."""
    return tuple(range(1, n + 1))


@measure("rbp_resid", Parameters("persistence", (0.9,)))
def rank_biased_precision_residual(topic: JudgedRanking, p: float) -> Value:
    """How much higher rbp could be, if every unjudged document had gain 1.

        rbp_resid = p^N + (1 - p) * sum over the ranks k of unjudged documents of p^(k-1)

    p^N stands for what lies beyond the ranking.  If all retrieved documents are judged,
    trec_eval gives 0, without p^N.  Unjudged are documents that are not in the judgments,
    and those with a negative grade there.

    >>> rank_biased_precision_residual(example_ranking("1-1"), 0.5)  # 0.125 + 0.5 * 0.5
    0.375
    >>> rank_biased_precision_residual(example_ranking("101"), 0.5)
    0.0

    Some descriptions define it as rbp + p^N.  Source: Moffat & Zobel (2008).
    """
    ranks = topic.at_unjudged(_ranks_to(topic.num_ret))
    if not ranks:
        return Value(0.0)
    powers = topic.at_unjudged(_powers(p, topic.num_ret))  # p^(k-1) at their ranks k, and p^N,
    beyond = powers.pop()  # which is at rank N + 1, where no document is judged
    weights = add_up(ranks, powers)
    return weights.then(beyond + (1 - p) * weights, "{} + (1 - {}) * {}", beyond, p, weights)


@measure("unj", cutoffs(5, 10, 20), is_of_set=True)
def unjudged(topic: JudgedRanking, k: int) -> Value:
    """The fraction of the first k documents that is not judged.

        unj(k) = (unjudged documents among the first k) / k

    Unjudged are documents that are not in the judgments, and those with a negative grade
    there.  Ranks past the end of the ranking count as judged: k divides all the same.

    >>> unjudged(example_ranking("1-0."), 5)
    0.4
    """
    return share(topic.at_unjudged(range(1, min(k, topic.num_ret) + 1)), k)


@measure("Judged", cutoffs(5, 10, 20), is_of_set=True)
def judged(topic: JudgedRanking, k: int) -> Value:
    """The fraction of the first k documents that is judged, of those that there are.

        Judged(k) = (judged documents among the first k) / min(k, N)

    trec_eval does not have it.  It is 1 - unj(k) if k documents were retrieved
    and no grade is negative: a document with a negative grade counts as judged
    here, unlike in the measures of trec_eval.  The value is 0 if nothing is retrieved.

    >>> judged(example_ranking("1-0"), 5)  # 2 of 3
    0.6666666666666666

    Source: the measure Judged of ir_measures.
    """
    ranks = list(topic.grades)
    return share(ranks[:bisect_right(ranks, k)], min(k, topic.num_ret))


__all__ += [entry.function.__name__ for entry in MEASURES.values()]


# ---- Requests ----
# A name after -m becomes Columns: a measure with its arguments, under its
# printed name.  On the way names of ir_measures are translated, parameters are
# read as C reads numbers, and what looks like a mistake is noted.

__all__ += ["Column", "NICKNAMES"]

Name = Union[str, bytes]  # a topic or docno: bytes from a file, str from a caller


def _encode(name: Name) -> bytes:
    """A name as bytes.  Files that are not valid UTF-8 have been decoded with surrogate escapes."""
    if isinstance(name, bytes):
        return name
    try:
        return name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return name.encode("utf-8", "surrogatepass")


def _decode(name: Name) -> str:
    """A name as text, with bytes that are not valid UTF-8 as surrogate escapes."""
    return name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")


def _quoted(name: Name) -> str:
    """A name or line as messages show it: printable, quoted and not too long."""
    text = _decode(name).strip()
    if len(text) > 80:
        text = text[:77] + "..."
    return repr(text) if text.isprintable() else ascii(text)


def _shown_name(name: Name) -> str:
    """A name or line as people may see it: with codes for what is not printable or no UTF-8.

    >>> print(_shown_name("caf\\u00e9\\x1b[31m"), _shown_name(b"caf\\xe9"))
    café\\x1b[31m caf\\xe9
    """
    text = _decode(name)
    if text.isprintable():
        return text
    shown = "".join([character if character.isprintable() else ascii(character)[1:-1] for character in text])
    return re.sub(r"\\udc(?=[89a-f])", r"\\x", shown)  # _decode makes \udcff of the byte ff


def _pasted(name: str) -> str:
    """A name as hints show it: with quotes if a shell needs them.  Python takes these, too.

    >>> print(_pasted("P@5"), _pasted("P(rel=2)@5"))
    P@5 'P(rel=2)@5'
    """
    import shlex  # here because few need it
    if "'" in name and not re.search(r'["$`\\!]', name):
        return f'"{name}"'
    return shlex.quote(name)


def _plural(count: int, noun: str) -> str:
    """A count and its noun: "1 topic", "2 topics"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class Notes:
    """Warnings collected on the way: of each kind the first, its place (run.txt:17), and a count."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[Any]] = {}

    def add(self, kind: str, place: str, text: str) -> None:
        """Note a warning of some kind, unless the line was noted as a header already."""
        file = place.rpartition(":")[0]
        if (file, "header") in self._found and self._found[file, "header"][0] == place:
            return
        note = self._found.setdefault((file, kind), [place, text, 0])
        note[2] += 1

    def restart(self, file: str) -> None:
        """Forget the warnings about the lines of a file, because it is read again."""
        self._found = {key: note for key, note in self._found.items() if key[0] != file}

    def lines(self) -> list[str]:
        """The warnings, one line for each kind."""
        return [f"{place}: {text} ({count} in all)" if count > 1 else f"{place}: {text}"
                for place, text, count in self._found.values()]

    def warn(self, stacklevel: int = 3) -> None:
        """Hand the warnings to Python's.  They name the line that called the function that called this."""
        for line in self.lines():
            warnings.warn(line, TrecEvalWarning, stacklevel=stacklevel)


_INTEGER = re.compile(rb"([+-]?)([0-9]+)")
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
                      rb"|[+-]?(?:infinity|inf)", re.IGNORECASE)
_HEXADECIMAL = re.compile(rb"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?", re.IGNORECASE)
_NOT_A_NUMBER = re.compile(rb"[+-]?nan", re.IGNORECASE)


def _integer(text: bytes) -> tuple[int, bool]:
    """Read an integer as C's atol does, and say whether the whole text is one.

    C takes the longest prefix that is an integer, or else 0, and bounds it to 64 bits.

    >>> _integer(b"17"), _integer(b"1.7"), _integer(b"x")
    ((17, True), (1, False), (0, False))
    """
    match = _INTEGER.match(text)
    if not match:
        return 0, False
    sign, digits = match.groups()
    # 20 digits are out of range already, and Python refuses to convert thousands.
    value = int(sign + (digits.lstrip(b"0")[:20] or b"0"))
    return max(-2 ** 63, min(2 ** 63 - 1, value)), match.end() == len(text)


def _decimal(text: bytes) -> tuple[float, bool]:
    """Read a decimal as C's atof does, and say whether the whole text is a plain number.

    >>> _decimal(b"2.5"), _decimal(b"1d3"), _decimal(b"0x10")
    ((2.5, True), (1.0, False), (16.0, False))
    """
    match = _HEXADECIMAL.match(text)
    if match:
        try:
            return float.fromhex(match.group().decode("ascii")), False
        except OverflowError:
            return -math.inf if text.startswith(b"-") else math.inf, False
    if _NOT_A_NUMBER.match(text):
        return math.nan, False
    match = _DECIMAL.match(text)
    if not match:
        return 0.0, False
    return float(match.group()), match.end() == len(text)


class Column(NamedTuple):
    """One value to compute for each topic, under the name by which it is printed.

    settings   what the measure sees; a name such as P(rel=2)@5 has its own level
    is_named   whether it was asked for by another tool's name, and not by trec_eval's
    """

    name: str
    measure: Measure
    arguments: tuple[Any, ...]
    settings: Settings = Settings()
    is_named: bool = False

    @property
    def is_zero_if_missing(self) -> bool:
        """Whether -c sets it to 0 for a topic that the run misses.  With parameters, only unj is."""
        if self.is_named:
            return self.measure.name in ("num_ret", "unj")
        return self.name in ("num_ret", "utility", "relstring", "rbp_resid") or self.name.startswith("unj")


_OFFICIAL = "runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P"
_SET = "set_P set_recall set_relative_P set_map set_F"

NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": tuple(_OFFICIAL.split()),
    "set": ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", *_SET.split()),
    "all_trec": tuple(f"{_OFFICIAL} relstring recall unj rbp rbp_resid infAP gm_bpref utility 11pt_avg ndcg"
                      " relative_P Rprec_mult success map_cut ndcg_cut ndcg_rel Rndcg binG G "
                      f"{_SET} num_nonrel_judged_ret".split()),
}

_SYNTAX = {  # by kind of parameters, how they are written, for help and messages
    "none": "none",
    "cutoffs": "cutoffs: distinct integers above 0, such as 5,10",
    "levels": "levels: distinct decimals from 0, such as 0.1,0.25",
    "all levels": "levels: distinct decimals from 0, such as 0.1,0.25",
    "length": "an integer above 0, such as 10",
    "weight": "a decimal from 0, such as 1",
    "coefficients": "four decimals, such as 1,-1,0,0",
    "gains": "gains: grade=gain for grades from 0, such as 1=0.5,2=3",
    "persistence": "persistence from 0 to 1, such as p=0.8",
    "persistence and gains": "persistence from 0 to 1 and gains for grades from 0, such as p=0.8,1=0.5,2=1",
}

Variants = list[tuple[str, tuple[Any, ...]]]  # what follows the measure's name in print, and the arguments


def _default_variants(parameters: Parameters) -> Variants:
    """The variants of a measure that is asked for without parameters."""
    if parameters.kind == "cutoffs":
        return [(f"_{k}", (k,)) for k in sorted(parameters.defaults)]
    if parameters.kind == "levels":
        return [(f"_{level:.2f}", (level,)) for level in sorted(parameters.defaults)]
    return [("", parameters.defaults)]


def _read_variants(parameters: Parameters, text: str, release: Release, remarks: list[str]) -> Variants:
    """The variants that a text after the dot asks for.

    Raises ValueError if the text is not as _SYNTAX says.  Appends to `remarks`
    what trec_eval ignores of it or reads in another way than it looks.

    >>> remarks = []
    >>> _read_variants(Parameters("cutoffs"), "10,5x", RELEASES["10.0"], remarks)
    [('_5', (5,)), ('_10', (10,))]
    >>> remarks
    ["'5x' is read as 5"]
    """
    kind = parameters.kind
    words = text.split(",")
    if kind == "none":
        remarks.append(f"ignored parameters: {_quoted(text)}")
        return [("", ())]
    if kind == "cutoffs":
        return [(f"_{k}", (k,)) for k in _sorted_distinct([_cutoff(word, remarks) for word in words])]
    if kind == "levels":
        levels = _sorted_distinct([_level(word, remarks) for word in words])
        return [(f"_{level:.2f}", (level,)) for level in levels]
    if kind == "all levels":
        return [("_" + text, (tuple(_sorted_distinct([_level(word, remarks) for word in words])),))]
    if kind in ("length", "weight"):
        if len(words) > 1:
            remarks.append(f"ignored parameters: {_quoted(','.join(words[1:]))}")
        read = _length if kind == "length" else _level
        return [("_" + text, (read(words[0], remarks),))]
    if kind == "coefficients":
        if len(words) != len(parameters.defaults):
            raise ValueError
        return [("_" + text, tuple([_number(word, remarks) for word in words]))]
    if kind == "gains":
        _, gains = _read_gains(words, {}, release, remarks)
        return [("_" + text, (gains,))]
    named, gains = _read_gains(words, {"p": parameters.defaults[0]}, release, remarks)
    if not 0 <= named["p"] <= 1:
        raise ValueError
    if kind == "persistence":
        if gains:
            ignored = ",".join(f"{grade}={gain:g}" for grade, gain in gains.items())
            remarks.append(f"ignored parameters: {_quoted(ignored)}")
        return [("_" + text, (named["p"],))]
    return [("_" + text, (named["p"], gains))]


def _cutoff(text: str, remarks: list[str]) -> int:
    """A cutoff, read as C reads integers."""
    cutoff, is_plain = _integer(_encode(text.strip()))
    if cutoff <= 0:
        raise ValueError
    if not is_plain:
        remarks.append(f"{_quoted(text)} is read as {cutoff}")
    return cutoff


def _length(text: str, remarks: list[str]) -> int:
    """A length, read as C reads decimals, without its fraction."""
    number = _number(text, remarks)
    length = int(number)
    if length <= 0:
        raise ValueError
    if length != number:
        remarks.append(f"{_quoted(text)} is read as {length}")
    return length


def _number(text: str, remarks: list[str]) -> float:
    """A decimal.  Its size is bounded so that no measure can overflow to infinity or NaN."""
    number, is_plain = _decimal(_encode(text.strip()))
    begins_with_digits = re.match(r"\s*[+-]?\.?[0-9]", text)
    if not (is_plain or begins_with_digits) or not abs(number) <= 1e100:
        raise ValueError
    if not is_plain:
        remarks.append(f"{_quoted(text)} is read as {number:g}")
    return number


def _level(text: str, remarks: list[str]) -> float:
    """A decimal from 0."""
    level = _number(text, remarks)
    if level < 0:
        raise ValueError
    return level


def _sorted_distinct(values: list[Any]) -> list[Any]:
    """The values in ascending order; ValueError if one is there twice."""
    if len(set(values)) != len(values):
        raise ValueError
    return sorted(values)


def _read_gains(words: Iterable[str], named: Mapping[str, float], release: Release,
                remarks: list[str]) -> tuple[dict[str, float], dict[int, float]]:
    """Read words `x=y` into the named parameters and the gains by grade."""
    values = dict(named)
    by_grade: dict[int, float] = {}
    seen = set()
    for word in words:
        x, y = word.split("=")  # ValueError if there is not exactly one =
        if x in seen:
            raise ValueError
        seen.add(x)
        gain = _number(y, remarks)
        grade, is_plain = _integer(_encode(x.strip()))
        if x in values:
            values[x] = gain
        elif not is_plain and not release.reads_any_gain:
            remarks.append(f"ignored parameters: {_quoted(word)}")
        elif grade < 0:
            raise ValueError
        else:
            by_grade[grade] = gain
            if not is_plain:
                remarks.append(f"{_quoted(x)} is read as {grade}")
    return values, by_grade


def _columns(requests: Iterable[str], settings: Settings, notes: Notes,
             first_only: bool = False) -> list[Column]:
    """The columns that requests ask for: trec_eval's in print order, then those of other tools' names.

    Several parameters for one measure are merged, unless `first_only`: then, as
    on trec_eval's command line, all but the first ones are ignored.
    """
    texts: dict[str, list[str]] = {}  # by measure, the parameters asked for
    named: dict[str, Column] = {}
    for request in [requests] if isinstance(requests, str) else requests:
        if not isinstance(request, str):
            raise TypeError(f"expected strings as measures, found {request!r}")
        request = request.strip()
        _check_is_one(request, settings)
        found = _trec_eval_request(request, settings.release)
        if found is not None:
            _add_parameters(texts, *found, settings.release, notes, first_only)
            continue
        columns = _named_columns(request, settings)
        if not columns:
            raise _unknown_measure(request, settings)
        named.update((column.name, column) for column in columns)
    columns = []
    for name, measure in MEASURES.items():
        if name in texts:
            columns += [Column(name + suffix, measure, arguments, settings)
                        for suffix, arguments in _variants(measure, texts[name], settings.release, notes)]
    columns += named.values()
    for column in columns:
        formats = column.measure.rel_formats
        if formats is not None and settings.rel_format not in formats:
            raise TrecEvalError(f"measure {column.measure.name}: expected judgments in format "
                                f"{' or '.join(formats)}, found {settings.rel_format}", status=4)
    return columns


def _add_parameters(texts: dict[str, list[str]], name: str, text: str, release: Release, notes: Notes,
                    first_only: bool) -> None:
    """Add what a request of trec_eval's asks for to the parameters by measure."""
    place = f"measure {name}"
    if name in NICKNAMES and name not in MEASURES:
        if text:
            notes.add("parameters", place, f"a nickname's parameters are ignored: {_quoted(text)}")
        for member in NICKNAMES[name]:
            if member not in release.lacks:
                texts.setdefault(member, [])
        return
    given = texts.setdefault(name, [])
    if not text or text in given:
        return
    if given and first_only:
        both = f"{name}.{given[0]},{text}"
        takes_several = MEASURES[name].parameters.kind in ("cutoffs", "levels")
        instead = "run it once for each"
        if takes_several and _works(both, Settings(release=release)):
            instead = f"write {_pasted(both)} for both"
        notes.add("second parameters", place, f"only its first parameters, {_quoted(given[0])}, count: "
                  f"{_quoted(text)} is ignored; {instead}")
    else:
        given.append(text)


def _variants(measure: Measure, texts: Iterable[str], release: Release, notes: Notes) -> Variants:
    """The variants of a measure that the texts of its parameters ask for, or else its defaults."""
    found: Variants = []
    for text in texts:
        remarks: list[str] = []
        try:
            variants = _read_variants(measure.parameters, text, release, remarks)
        except ValueError:
            raise TrecEvalError(f"measure {measure.name}: expected {_SYNTAX[measure.parameters.kind]}, "
                                f"found {_quoted(text)}{_cut_hint(measure.name, text)}") from None
        found += [variant for variant in variants if variant not in found]
        for remark in remarks:
            notes.add("parameters", f"measure {measure.name}", remark)
    if not found:
        return _default_variants(measure.parameters)
    if measure.parameters.kind in ("cutoffs", "levels"):
        found.sort(key=lambda variant: variant[1])
    return found


def _trec_eval_request(request: str, release: Release) -> Optional[tuple[str, str]]:
    """Measure or nickname and parameters of a name as trec_eval takes or prints it, P.5 or P_5; else None."""
    name, dot, text = request.partition(".")
    if name in NICKNAMES or name in MEASURES:
        if dot and not text:
            raise TrecEvalError(f"measure {name}: expected parameters after the dot, found none", status=1)
    else:
        name = max([each for each in MEASURES if request.startswith(f"{each}_")], key=len, default="")
        text = request[len(name) + 1:]
        if not name or not re.match(r"(p=)?[-+.]?[0-9]", text):
            return None
        kind = MEASURES[name].parameters.kind
        if kind == "none" or (kind == "gains" and "=" not in text):
            raise _no_cutoff(request, name, text)
    if name in release.lacks:
        raise TrecEvalError(f"unknown measure {_quoted(name)}, which trec_eval {release.name} does not have",
                            status=1)
    return name, text


def _no_cutoff(request: str, name: str, cutoff: str) -> TrecEvalError:
    """The error for a cutoff after a measure that takes none, with the measure that has one."""
    hint = _cut_hint(name, cutoff)
    return TrecEvalError(f"unknown measure {_quoted(request)}: {name} takes no cutoff{hint}", status=1)


def _cut_hint(name: str, cutoff: str) -> str:
    """The end of a message about a cutoff of a measure that takes none: what takes it."""
    with_cut = {"map": "map_cut.", "ndcg": "ndcg_cut.", "recip_rank": "RR@"}
    is_cutoff = re.fullmatch(r"[1-9][0-9]*(,[1-9][0-9]*)*", cutoff)
    return f"; did you mean {with_cut[name]}{cutoff}?" if name in with_cut and is_cutoff else ""


class OtherName(NamedTuple):
    """What a name of another tool means.

    measure   the measure without a cutoff; "" if the name needs one
    with_cut  the measure that takes the cutoff; "ranking" if that is cut; "" if the name takes none
    keywords  what may stand in parentheses, besides judged_only and cutoff
    """

    measure: str
    with_cut: str = ""
    keywords: tuple[str, ...] = ("rel",)


_OTHER_NAMES = {  # in lower case: the names of ir_measures, and those of BEIR, MTEB and ranx
    **dict.fromkeys(("ap", "map"), OtherName("map", "map_cut")),
    "ndcg": OtherName("ndcg", "ndcg_cut", ("dcg", "gains")),
    **dict.fromkeys(("p", "precision"), OtherName("", "P")),
    **dict.fromkeys(("r", "recall"), OtherName("", "recall")),
    **dict.fromkeys(("rr", "mrr"), OtherName("recip_rank", "ranking")),
    "rbp": OtherName("rbp", "ranking", ("rel", "p")),
    **dict.fromkeys(("success", "hit", "hit_rate"), OtherName("", "success")),
    "judged": OtherName("", "Judged", ()),
    "iprec": OtherName("", "iprec_at_recall"),
    "rprec": OtherName("Rprec"), "bpref": OtherName("bpref"), "infap": OtherName("infAP"),
    "setp": OtherName("set_P", "", ("rel", "relative")), "setrelp": OtherName("set_relative_P"),
    "setr": OtherName("set_recall"), "setf": OtherName("set_F"), "setap": OtherName("set_map"),
    "numq": OtherName("num_q", "", ()), "numret": OtherName("num_ret"), "numrel": OtherName("num_rel"),
    "numrelret": OtherName("num_rel_ret"),
}

_OTHER_NAME = re.compile(r"(?P<base>[A-Za-z0-9_]+?)(?P<arguments>\([^()]*\))?"
                         r"((?P<at>@|_at_(?=[0-9]))(?P<cuts>.*))?")

_NOT_COMPUTED = re.compile(  # names of ir_measures, ranx and others for measures that trec_eval does not have
    r"(n?err|nerr\d+|\w+_ia|alpha_\w*dcg|\w+_ndcg|n?nrbp|strecall|sdcg|bpm|inst|insq|compat|accuracy|rbo"
    r"|n?dcg_burges|kendall|spearman)\b.*", re.IGNORECASE)


def _named_columns(request: str, settings: Settings) -> list[Column]:
    """The columns that a name of another tool asks for, such as nDCG@10, P(rel=2)@5 or map_at_10.

    A name of trec_eval with an @, such as P@5,10, is one of these, too.  There
    are none if the name means nothing here.

    >>> [column.name for column in _named_columns("P(rel=2)@5,10", Settings())]
    ['P(rel=2)@5', 'P(rel=2)@10']
    """
    match = _OTHER_NAME.fullmatch(request)
    if not match or not request.isprintable():
        return []
    base, arguments, at, cuts = match.group("base", "arguments", "at", "cuts")
    known = _OTHER_NAMES.get(base.lower())
    if known is None or (base in MEASURES and base not in (known.measure, known.with_cut)):
        if at != "@" or base not in MEASURES or base in settings.release.lacks:
            return []
        if MEASURES[base].parameters.kind not in ("cutoffs", "levels"):
            raise _no_cutoff(request, base, cuts)
        known = OtherName("", base, ())
    keywords = _read_keywords(request, arguments[1:-1] if arguments else "",
                              (*known.keywords, "judged_only", "cutoff"))
    if cuts is not None and "cutoff" in keywords:
        raise _not_as_expected(request, "one cutoff, found two")
    if "cutoff" in keywords:
        return [_named_column(request, request, known, keywords, str(keywords["cutoff"]), settings)]
    if cuts is None:
        return [_named_column(request, request, known, keywords, None, settings)]
    stem = f"{base}{arguments or ''}{at}"
    return [_named_column(request, stem + cut, known, keywords, cut, settings) for cut in cuts.split(",")]


_KEYWORDS = {  # what may stand in the parentheses of a name, as messages say it
    "rel": "an integer from 0 as rel",
    "p": "a decimal from 0 to 1 as p",
    "dcg": "dcg='log2' or dcg='exp-log2'",
    "gains": "gains={grade: gain} with grades from 0, each once, and numbers as gains",
    "relative": "relative=True or relative=False",
    "judged_only": "judged_only=True or judged_only=False",
    "cutoff": "an integer above 0 as cutoff",
}


def _read_keywords(request: str, text: str, allowed: Collection[str]) -> dict[str, Any]:
    """The arguments in the parentheses of a name, rel=2 and the like."""
    if not text:
        return {}
    import ast  # here because that takes milliseconds, and few need it
    call: Any = None
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python would warn of text such as rel=1or 2
        call = ast.parse(f"f({text})", mode="eval").body
    if not isinstance(call, ast.Call) or call.args or any(keyword.arg is None for keyword in call.keywords):
        raise _not_as_expected(request,
                               f"arguments such as rel=2 in the parentheses, found {_quoted(text)}")
    found: dict[str, Any] = {}
    for keyword in call.keywords:
        name = str(keyword.arg)
        if name == "beta":
            raise _not_as_expected(request, "no beta=: the parameter of set_F is its square, so that F2 is "
                                            "set_F.4")
        if name not in allowed:
            raise _not_as_expected(request, f"no {name}=, which means nothing here")
        if name in found:
            raise _not_as_expected(request, f"{name}= once, found it again")
        try:
            found[name] = ast.literal_eval(keyword.value)
            repr(found[name])  # ValueError, if it holds an integer that is too long to be shown
            if isinstance(keyword.value, ast.Dict) and len(keyword.value.keys) > len(found[name]):
                raise ValueError  # a grade is there twice
        except (TypeError, ValueError, RecursionError, MemoryError):
            value = ast.get_source_segment(f"f({text})", keyword.value) or ""
            raise _wrong_keyword(request, name, value) from None
    return found


def _wrong_keyword(request: str, keyword: str, found: str) -> TrecEvalError:
    """The error for an argument in parentheses whose value means nothing."""
    return _not_as_expected(request, f"{_KEYWORDS[keyword]}, found {found}")


def _named_column(request: str, name: str, known: OtherName, keywords: Mapping[str, Any], cut: Optional[str],
                  settings: Settings) -> Column:
    """One column of another tool's name."""
    measure = known.measure
    arguments: tuple[Any, ...] = ()
    if cut is None:
        if not measure:
            what, example = ("level", "0.5") if known.with_cut == "iprec_at_recall" else ("cutoff", "10")
            raise _not_as_expected(request, f"a {what}, such as {_pasted(f'{request}@{example}')}")
        arguments = _default_variants(MEASURES[measure].parameters)[0][1]
    elif known.with_cut == "ranking":
        settings = settings._replace(cutoff=_own_cutoff(request, cut))
    elif known.with_cut:
        measure = known.with_cut
        is_level = MEASURES[measure].parameters.kind == "levels"
        arguments = (_own_level(request, cut, measure) if is_level else _own_cutoff(request, cut),)
    else:
        raise _not_as_expected(request, f"no cutoff, because {measure} takes none")
    if measure == "rbp":
        default = 0.9 if request.startswith("rbp") else 0.8  # trec_eval's, and that of ir_measures
        p = keywords.get("p", default)
        if type(p) not in (int, float) or not 0 <= p <= 1:
            raise _wrong_keyword(request, "p", repr(p))
        arguments = (float(p), {})
    for keyword in "relative", "judged_only":
        if type(keywords.get(keyword, False)) is not bool:
            raise _wrong_keyword(request, keyword, repr(keywords[keyword]))
    if keywords.get("relative"):
        measure = "set_relative_P"
    if "judged_only" in keywords:
        settings = settings._replace(judged_only=keywords["judged_only"])
    if "rel" in keywords:
        level = keywords["rel"]
        if type(level) is not int or level < 0:
            raise _wrong_keyword(request, "rel", repr(level))
        settings = settings._replace(relevance_level=level)
        if measure == "rbp":
            settings = settings._replace(grades_as=("from", level))
        elif measure == "num_ret":
            measure = "num_rel_ret"
    if "dcg" in keywords or "gains" in keywords:
        settings = settings._replace(grades_as=_gains_asked_for(request, keywords))
    entry = MEASURES[measure]
    if measure == "num_rel" and "rel" in keywords:
        entry = entry._replace(summary="sum")  # its own summary, under -c, knows no level
    return Column(name, entry, arguments, settings, is_named=True)


def _own_cutoff(request: str, text: str) -> int:
    """A cutoff after an @.  This is our own syntax: nothing of it is ignored."""
    if re.fullmatch(r"[1-9][0-9]{0,17}", text):
        return int(text)
    expected = "an integer above 0 as cutoff"
    if re.fullmatch(r"[0-9]{19,}", text):
        expected = "a cutoff of 18 digits at most"
    elif re.fullmatch(r"0+[1-9][0-9]*", text):
        expected = "a cutoff that does not begin with 0"
    raise _not_as_expected(request, f"{expected}, found {_quoted(text)}")


def _own_level(request: str, text: str, measure: str) -> float:
    """A level after an @: a recall, or a multiple of R."""
    is_recall = measure == "iprec_at_recall"
    if re.fullmatch(r"[0-9]+\.?[0-9]*|\.[0-9]+", text) and float(text) <= (1 if is_recall else 1e100):
        return float(text)
    expected = "a recall from 0 to 1" if is_recall else "a decimal from 0"
    raise _not_as_expected(request, f"{expected} as level, found {_quoted(text)}")


def _gains_asked_for(request: str, keywords: Mapping[str, Any]) -> tuple[Any, ...]:
    """What takes the place of the grades, for nDCG(dcg='exp-log2') or nDCG(gains={1:1,2:3}); see Settings."""
    if keywords.get("dcg", "log2") not in ("log2", "exp-log2"):
        raise _wrong_keyword(request, "dcg", repr(keywords["dcg"]))
    if "gains" not in keywords:
        return ("2^grade - 1",) if keywords["dcg"] == "exp-log2" else ()
    gains = keywords["gains"]
    if not isinstance(gains, dict) or not all(
            type(grade) is int and grade >= 0 and type(gain) in (int, float) and abs(gain) <= 1e100
            for grade, gain in gains.items()):
        raise _wrong_keyword(request, "gains", repr(gains))
    if keywords.get("dcg") == "exp-log2":
        raise _not_as_expected(request, "either gains or dcg='exp-log2'")
    return ("gains", *sorted(gains.items()))


def _not_as_expected(request: str, expected: str) -> TrecEvalError:
    """The error for a name of another tool whose arguments or cutoff mean nothing."""
    return TrecEvalError(f"measure {request}: expected {expected}")


def _check_is_one(request: str, settings: Settings) -> None:
    """Raise if a request consists of several that would work one by one."""
    words = re.split(r"[\s,;]+", request)
    if len(words) > 1 and all(_works(word, settings) for word in words):
        raise TrecEvalError(f"expected one measure, found {_quoted(request)}; ask for each of them by "
                            f"itself: {' and '.join(map(_pasted, words))}", status=1)


def _works(request: str, settings: Settings) -> bool:
    """Whether a request asks for something, and nothing of it is ignored."""
    try:
        found = _trec_eval_request(request, settings.release)
        if found is None:
            return bool(_named_columns(request, settings))
        name, text = found
        notes = Notes()
        if name in MEASURES and text:
            _variants(MEASURES[name], [text], settings.release, notes)
        return not notes.lines()
    except TrecEvalError:
        return False


_MEANT = {  # what names mean that are neither trec_eval's nor close to one that is
    "all": "all_trec", "all_qrels": "all_trec", "f1": "set_F", "f2": "set_F.4", "gmap": "gm_map",
    "recip_rank_cut": "RR", "recall_cap": "relative_P", "hits": "success",
}


def _unknown_measure(request: str, settings: Settings) -> TrecEvalError:
    """The error for a name that means nothing here, with one that was probably meant and works."""
    base = re.split(r"[.@(]", request)[0]
    in_case = [name + request[len(base):] for name in MEASURES if name.lower() == base.lower()]
    if _NOT_COMPUTED.fullmatch(request) and not in_case:
        return TrecEvalError(f"unknown measure {_quoted(request)}; trec_eval has nothing like it; "
                             "ir_measures knows programs that do", status=1)
    meant = next((each for each in in_case if _works(each, settings)), "")
    meant = meant or _probably_meant(request, settings)
    hint = f"; did you mean {_pasted(meant)}?" if meant else ""
    return TrecEvalError(f"unknown measure {_quoted(request)}{hint}", status=1)


def _probably_meant(request: str, settings: Settings) -> str:
    """A request close to one that means nothing; "" if none works."""
    import difflib  # here because that takes milliseconds, and few need it
    match = re.match(r"([A-Za-z_]*[A-Za-z]|)(.*)", request, re.DOTALL)
    base, rest = match.groups() if match else (request, "")
    known = {name.lower(): name for name in (*_OTHER_NAMES, *MEASURES, *NICKNAMES)}
    if request.lower() in _MEANT:
        return _MEANT[request.lower()]
    names = [_MEANT[base.lower()]] if base.lower() in _MEANT else []
    names += [known[name] for name in difflib.get_close_matches(base.lower(), known, 3, 0.75)]
    rest = "".join(rest.split())
    cut = rest.strip("._@[]")
    for name in names:
        for candidate in (name + rest, f"{name}@{cut}", f"{name}.{cut}", "" if cut else name):
            if _works(candidate, settings):
                return candidate
    return ""


# ---- Evaluating ----
# A topic's scores become a ranking, the ranking and the judgments a
# JudgedRanking, each measure makes a value of it, and the values of all topics
# become a summary.  This is the last room of the core: `evaluate` needs nothing
# of what follows.

__all__ += ["Evaluation", "evaluate", "judge"]


class RelFormat(NamedTuple):
    """One format of judgments, -R.

    check           converts a topic's judgments from a caller, given the topic's
                    name; raises if they are of the wrong kind
    judge           makes of a topic's judgments and scores what measures see,
                    for each of several Settings
    docnos          the documents that a topic's judgments name
    views           splits judgments and what `judge` made of them: for each
                    group of judgments its label, its part, and {docno: grade}
    ties_ascending  whether documents of equal score are ranked by ascending docno
    drops_unjudged  whether -J does anything
    """

    check: Callable[[Any, Any], Any]
    judge: Callable[[Any, Mapping[Any, float], Sequence[Settings]], list[Any]]
    docnos: Callable[[Any], AbstractSet[Any]]
    views: Callable[[Any, Any], list[tuple[str, Any, Mapping[Any, float]]]]
    ties_ascending: bool = False
    drops_unjudged: bool = True


REL_FORMATS: dict[str, RelFormat] = {}  # by name


def _rank(docnos: Iterable[Any], scores: Mapping[Any, float], release: Release,
          ties_ascending: bool = False) -> list[tuple[int, Any]]:
    """(rank, docno) of those of the docnos that are retrieved, by rank.

    Documents are ranked by descending score, and those of equal score by docno
    in descending byte order (ascending with `ties_ascending`).  A rank is 1 plus
    the number of greater scores plus the place among equal ones, from 0.  So only
    scores are sorted, and other docnos are looked at only if they are tied with
    the given ones, which is faster, because few documents are judged.

    >>> _rank(["a", "b"], {"a": 2.0, "b": 3.0, "c": 2.0}, RELEASES["10.0"])  # c precedes a
    [(1, 'b'), (3, 'a')]
    """
    ascending = sorted(release.keep_scores(scores.values()))
    size = len(ascending)
    retrieved = [docno for docno in docnos if docno in scores]
    values = release.keep_scores([scores[docno] for docno in retrieved])
    ranks = [size + 1 - bisect_right(ascending, value) for value in values]
    tied: dict[float, list[Any]] = {}
    for rank, value in zip(ranks, values):
        # ascending[size - rank] is this score, the last of its equals.  If one stands before it, it is a tie.
        if rank < size and ascending[size - rank - 1] == value:
            tied[value] = []
    if tied:
        for docno, value in zip(scores, release.keep_scores(scores.values())):
            if value in tied:
                tied[value].append(docno)
        places: dict[Any, int] = {}
        for group in tied.values():
            group.sort(key=_encode, reverse=not ties_ascending)
            places.update((docno, place) for place, docno in enumerate(group))
        ranks = [rank + places.get(docno, 0) for rank, docno in zip(ranks, retrieved)]
    return sorted(zip(ranks, retrieved))


def _place(docnos: Iterable[Any], judgments: Mapping[Any, int], scores: Mapping[Any, float],
           settings: Settings) -> tuple[list[tuple[int, Any]], int]:
    """As `_rank`, after -M, -J and a cutoff, and the length of the ranking."""
    ties_ascending = REL_FORMATS[settings.rel_format].ties_ascending
    return _cut(_rank(docnos, scores, settings.release, ties_ascending), len(scores), judgments, settings)


def _cut(ranked: list[tuple[int, Any]], num_ret: int, judgments: Mapping[Any, int],
         settings: Settings) -> tuple[list[tuple[int, Any]], int]:
    """What -M, -J and a cutoff leave of a ranking of some documents, and of its length."""
    if settings.depth is not None and settings.depth < num_ret:
        num_ret = settings.depth
        ranked = [(rank, docno) for rank, docno in ranked if rank <= num_ret]
    if settings.judged_only and REL_FORMATS[settings.rel_format].drops_unjudged:
        judged = [docno for _, docno in ranked if judgments.get(docno, -1) >= 0]
        ranked = list(enumerate(judged, start=1))
        num_ret = len(ranked)
    if settings.cutoff is not None and settings.cutoff < num_ret:
        num_ret = settings.cutoff
        ranked = [(rank, docno) for rank, docno in ranked if rank <= num_ret]
    return ranked, num_ret


def _judged_rankings(judgments: Mapping[Any, int], scores: Mapping[Any, float],
                     each: Sequence[Settings]) -> list[JudgedRanking]:
    """Rank a topic's scores once, and join its judgments under each of several Settings."""
    ranked = _rank(judgments, scores, each[0].release)
    rankings = []
    for settings in each:
        kept, num_ret = _cut(ranked, len(scores), judgments, settings)
        of_document = _regraded(judgments, settings.grades_as) if settings.grades_as else judgments
        grades = {rank: of_document[docno] for rank, docno in kept}
        rankings.append(JudgedRanking(grades, num_ret, Counter(of_document.values()), settings))
    return rankings


def _regraded(judgments: Mapping[Any, int], grades_as: tuple[Any, ...]) -> dict[Any, Any]:
    """Judgments with what `Settings.grades_as` puts in the place of grades; negative ones stay.

    ("from", 2) makes 1 of grades from 2 on and 0 of others, ("2^grade - 1",) does
    what it says, and ("gains", (1, 3.0)) makes 3.0 of grade 1.

    >>> _regraded({"a": 1, "b": 2, "c": -1}, ("from", 2))
    {'a': 0, 'b': 1, 'c': -1}
    """
    how, *rest = grades_as
    instead: dict[int, Any] = {}
    for grade in set(judgments.values()):
        if grade < 0:
            instead[grade] = grade
        elif how == "from":
            instead[grade] = int(grade >= rest[0])
        elif how == "2^grade - 1":
            instead[grade] = 2.0 ** min(grade, 300) - 1
        else:
            instead[grade] = dict(rest).get(grade, grade)
    return {docno: instead[grade] for docno, grade in judgments.items()}


def judge(judgments: Mapping[str, int], scores: Mapping[str, float], *, release: str = "10.0",
          relevance_level: int = 1, judged_only: bool = False, depth: Optional[int] = None,
          collection_size: int = 0) -> JudgedRanking:
    """Rank one topic's {docno: score} and join its judgments {docno: grade}.

    Documents are ranked by score, descending; equal scores by docno in
    descending byte order, whatever the order or ranks of the input.

    >>> topic = judge({"a": 1, "b": 0}, {"a": 2.0, "b": 3.0, "c": 2.0})
    >>> topic.grades  # b first; then c, which is tied with a and has the greater docno
    {1: 0, 3: 1}
    >>> reciprocal_rank(topic)
    0.3333333333333333
    """
    settings = _checked_settings(release, relevance_level, judged_only=judged_only, depth=depth,
                                 collection_size=collection_size)
    return _judged_rankings(_whole_grades("", judgments), _checked_scores("", scores), [settings])[0]


def _checked_settings(release: str = "10.0", relevance_level: int = 1, complete: bool = False,
                      judged_only: bool = False, depth: Optional[int] = None, collection_size: int = 0,
                      rel_format: str = "qrels", **unknown: Any) -> Settings:
    """The Settings that a caller's keywords give.  Raises TypeError for others."""
    for name in unknown:
        raise TypeError(f"got an unexpected keyword argument {name!r}")
    try:
        level, size = array("q", [operator.index(relevance_level), operator.index(collection_size)])
        depth = None if depth is None else array("q", [operator.index(depth)])[0]
    except TypeError:
        raise TypeError("expected integers as relevance_level, depth and collection_size, "
                        f"found {relevance_level!r}, {depth!r} and {collection_size!r}") from None
    except OverflowError:
        raise TrecEvalError("expected integers of 64 bits as relevance_level, depth and collection_size",
                            status=1) from None
    if level < 0:
        raise TrecEvalError(f"expected a relevance level from 0, found {level}, by which documents that are "
                            "not judged would be relevant", status=1)
    if depth is not None and depth < 0:
        raise TrecEvalError(f"expected a depth from 0, found {depth}", status=1)
    if rel_format not in REL_FORMATS:
        raise TrecEvalError(f"expected a format of judgments, one of {', '.join(REL_FORMATS)}, "
                            f"found {_quoted(str(rel_format))}")
    return Settings(_release(release), level, bool(complete), bool(judged_only), depth, size, rel_format)


def _release(name: str) -> Release:
    """The release of a name."""
    if name not in RELEASES:
        expected = f"expected a release, one of {', '.join(RELEASES)}"
        raise TrecEvalError(f"{expected}, found {_quoted(str(name))}", status=1)
    return RELEASES[name]


INSTEAD_OF_DICTS: list[tuple[tuple[type, ...], str]] = []  # types, and what takes them


def _items(mapping: Any, argument: str, keys: str = "topics") -> Iterable[tuple[str, Any]]:
    """The items of a mapping whose keys are strings.  Raises TypeError for anything else."""
    if not isinstance(mapping, Mapping):
        hint = ""
        if type(mapping).__name__ == "DataFrame":
            hint = "; make one by {t: dict(zip(g.docno, g.score)) for t, g in frame.groupby('topic')}"
        for kinds, instead in INSTEAD_OF_DICTS:
            if argument in ("qrels", "run") and isinstance(mapping, kinds):
                hint = f"; {instead}"
        raise TypeError(f"expected a dict of dicts as {argument}, found {type(mapping).__name__}{hint}")
    if not _are_strings(mapping):
        other = next(key for key in mapping if not isinstance(key, str))
        raise TypeError(f"expected strings as {keys}, found {other!r}")
    return mapping.items()


def _are_strings(names: Iterable[Any]) -> bool:
    """Whether all names are strings."""
    try:
        "".join(names)  # faster than a loop
    except TypeError:
        return False
    return True


def _checked_grades(topic: str, judgments: Any) -> Mapping[str, int]:
    """A topic's judgments {docno: grade} as integers; see `_checked`."""
    return cast(Mapping[str, int], _checked(topic, judgments, int, "grade", "an integer of 64 bits"))


def _whole_grades(topic: str, judgments: Any) -> Mapping[str, int]:
    """As `_checked_grades`, but floats that are whole numbers will do: pandas makes them of integers."""
    if isinstance(judgments, Mapping):
        are_whole = all(isinstance(grade, float) and grade.is_integer() for grade in judgments.values()
                        if type(grade) is not int)
        if are_whole and any(isinstance(grade, float) for grade in judgments.values()):
            judgments = {docno: int(grade) for docno, grade in judgments.items()}
    return _checked_grades(topic, judgments)


def _checked_scores(topic: str, ranking: Any) -> Mapping[str, float]:
    """A topic's ranking {docno: score} as floats; see `_checked`."""
    return cast(Mapping[str, float], _checked(topic, ranking, float, "score", "a number"))


def _checked(topic: str, documents: Any, kind: type, content: str, expected: str) -> Any:
    """A topic's {docno: value} with values of a kind, int or float.

    Raises TypeError for a value of a wrong type and TrecEvalError for a number
    that is of no use, a NaN or an integer of more than 64 bits.
    """
    try:
        if not (isinstance(documents, Mapping) and _are_strings(documents)):
            raise TypeError
        values = documents.values  # called anew each time, because it may give what can be read once
        if not {kind}.issuperset(map(type, values())):
            return dict(zip(documents, _as_array(kind, values())))
        if kind is int:
            array("q", values())  # OverflowError, if one has more than 64 bits
        elif math.isnan(sum(values())):  # mostly it is not, and then none of them is a NaN
            _as_array(kind, values())
        return documents
    except (TypeError, OverflowError, ValueError):
        pass  # what follows is slow, and says which one is wrong
    place = f"topic {_quoted(topic)}" if topic else "the topic"
    if not isinstance(documents, Mapping):
        raise TypeError(f"{place}: expected a dict {{docno: {content}}}, found {type(documents).__name__}")
    for docno, value in documents.items():
        if not isinstance(docno, str):
            raise TypeError(f"{place}: expected strings as docnos, found {docno!r}")
        message = f"{place}, document {_quoted(docno)}: expected {expected} as {content}, found {value!r}"
        try:
            _as_array(kind, [value])
        except TypeError:
            raise TypeError(message) from None
        except (OverflowError, ValueError):
            raise TrecEvalError(message) from None
    raise AssertionError(f"nothing wrong with topic {topic!r}")


def _as_array(kind: type, values: Iterable[Any]) -> array[Any]:
    """The values as 64-bit integers or floats.  Raises TypeError, OverflowError or, for NaN, ValueError."""
    # Both refuse texts, unlike int() and float(); index() also refuses to cut a fraction off.
    converted = array("d", values) if kind is float else array("q", map(operator.index, values))
    if kind is float and any(map(math.isnan, converted)):
        raise ValueError
    return converted


REL_FORMATS["qrels"] = RelFormat(
    _whole_grades, _judged_rankings, set,
    lambda judgments, judged: [("", judged, judgments)])


class Averaging(NamedTuple):
    """What a summary may need besides the values of the evaluated topics.

    topics   the number of topics to average over (num_q)
    missing  how many of them were not evaluated although they count
    run_tag  the run's tag
    num_rel  with -c, the lines of grade > 0 in the whole qrels
    """

    topics: int
    missing: int = 0
    run_tag: str = ""
    num_rel: Optional[int] = None


def total(values: Sequence[float], over: Averaging) -> Value:
    """The sum over the topics, in topic order."""
    return add_up((), values)


def mean(values: Sequence[float], over: Averaging) -> Value:
    """The arithmetic mean over the topics."""
    return add_up((), values) / over.topics


def geometric_mean(values: Sequence[float], over: Averaging) -> Value:
    """The geometric mean over the topics, given their logarithms; a missing topic counts as the floor."""
    logarithms = add_up((), values)
    logarithm = (logarithms + over.missing * math.log(GEOMETRIC_FLOOR)) / over.topics
    largest = 709.0  # exp of more is beyond the doubles; only Z-scores can get there
    return logarithms.then(math.exp(min(logarithm, largest)), "exp(({} + {} * log({})) / {})",
                           logarithms, over.missing, GEOMETRIC_FLOOR, over.topics)


def total_relevant(values: Sequence[float], over: Averaging) -> float:
    """The sum over the topics, or with -c the lines of grade > 0 in the whole qrels."""
    return total(values, over) if over.num_rel is None else over.num_rel


def number_of_topics(values: Sequence[float], over: Averaging) -> float:
    """The number of topics averaged over."""
    return over.topics


def run_tag(values: Sequence[float], over: Averaging) -> str:
    """The tag on the run's last line."""
    return over.run_tag


Summary = Callable[[Sequence[float], Averaging], Union[float, str]]
SUMMARIES: dict[str, Summary] = {  # by the name in a measure's declaration
    "sum": total, "mean": mean, "geometric mean": geometric_mean, "sum of relevant": total_relevant,
    "number of topics": number_of_topics, "run tag": run_tag,
}


class Judgments(NamedTuple):
    """Judgments by topic.

    duplicated   the topics that judge a document twice or contradictorily
    overwritten  the grades of documents that a later line judges once more
    """

    topics: Mapping[Any, Any]
    duplicated: AbstractSet[Any] = frozenset()
    overwritten: Sequence[int] = ()


class JudgedTopic(NamedTuple):
    """A topic ready for the measures.

    judged      what a measure sees, for each of the Settings that columns have
    is_missing  whether the run misses the topic; then `scores` has one unpooled document
    """

    topic: Any
    judgments: Any
    scores: Mapping[Any, float]
    judged: Sequence[Any]
    is_missing: bool


_UNPOOLED = b"\n"  # the docno of nothing: no file and no judgment can name it

Rankings = Iterable[tuple[Any, Mapping[Any, float], int]]  # topic, {docno: score}, number of lines
Failures = dict[Any, Optional[TrecEvalError]]  # by topic; None: a document is there twice


def _judged_topics(judgments: Judgments, rankings: Rankings, evaluated: Evaluated, failures: Failures,
                   only: Any = None) -> Iterator[JudgedTopic]:
    """Judge the rankings and, with -c, the topics that have none, as is needed for what is evaluated.

    A ranking of fewer documents than lines has a document twice.  Topics that
    cannot be evaluated are put into `failures`.  `only` is the one topic wanted,
    if not all are.
    """
    settings = evaluated.settings
    judge_topic = REL_FORMATS[settings.rel_format].judge
    seen = set()

    def missing() -> Rankings:
        """The wanted topics that have no ranking.  It is read last, when `seen` has all others."""
        if settings.complete and settings.release.evaluates_missing:
            wanted = judgments.topics if only is None else judgments.topics.keys() & {only}
            for topic in wanted:
                if topic not in seen:
                    yield topic, {_UNPOOLED: 0.0}, 1

    for is_missing, group in (False, rankings), (True, missing()):
        for topic, scores, lines in group:
            seen.add(topic)
            if topic in judgments.duplicated or lines != len(scores):
                failures[topic] = None
                continue
            try:
                judged = judge_topic(judgments.topics[topic], scores, evaluated.each_settings)
            except TrecEvalError as error:
                failures[topic] = error
                continue
            yield JudgedTopic(topic, judgments.topics[topic], scores, judged, is_missing)


_INTERPOLATED = ("iprec_at_recall", "11pt_avg")  # measures whose levels are recalls


def _seen_documents(column: Column) -> float:
    """How many documents of a ranking a column sees."""
    bounds = [column.settings.depth, column.settings.cutoff]
    if column.measure.parameters.kind == "cutoffs":
        bounds.append(column.arguments[0])
    return min([bound for bound in bounds if bound is not None], default=math.inf)


def _note_levels(columns: Sequence[Column], judgments: Judgments, settings: Settings, notes: Notes) -> None:
    """Warn of recall levels above 1, and of a relevance level above all grades."""
    for column in columns:
        if column.measure.name in _INTERPOLATED:
            recalls = column.arguments[0] if column.measure.name == "11pt_avg" else column.arguments
            if max(recalls) > 1:
                notes.add("recall levels", f"measure {column.measure.name}",
                          f"expected recall levels from 0 to 1, found {max(recalls):.15g}")
    levels = [column.settings.relevance_level for column in columns]
    levels += [column.settings.grades_as[1] for column in columns if "from" in column.settings.grades_as]
    highest = max(levels, default=0)
    if settings.rel_format == "qrels" and highest > 1:
        grades = [max(of_topic.values()) for of_topic in judgments.topics.values() if of_topic]
        if grades and max(grades) < highest:
            notes.add("level", f"relevance level {highest}",
                      f"no document is relevant: the largest grade in the judgments is {max(grades)}")


class Doubts:
    """What all topics of a run have in common, if that can hardly be meant.

    tied       {topic: number of documents}, as long as in each all scores are equal
    unmatched  {topic: scores, or () after ten topics}, as long as none has a
               document that its judgments name

    Both become None at the first topic of which it is not so.
    """

    def __init__(self) -> None:
        self.tied: Optional[dict[Any, int]] = {}
        self.unmatched: Optional[dict[Any, Collection[Any]]] = {}

    def look_at(self, topic: JudgedTopic, settings: Settings) -> None:
        """Look at one more topic."""
        if topic.is_missing or not topic.scores:
            return
        if self.tied is not None and len(topic.scores) > 1:
            scores = iter(topic.scores.values())
            first = next(scores)
            if all(score == first for score in scores):  # mostly, the second one ends it
                self.tied[topic.topic] = len(topic.scores)
            else:
                self.tied = None
        if self.unmatched is not None and topic.judgments:
            named = REL_FORMATS[settings.rel_format].docnos(topic.judgments)
            if named.isdisjoint(topic.scores):
                # Ten are enough to be sure.  Of the others only the number counts.
                self.unmatched[topic.topic] = topic.scores if len(self.unmatched) < 10 else ()
            else:
                self.unmatched = None

    def note(self, columns: Sequence[Column], judgments: Judgments, settings: Settings, run: str,
             notes: Notes) -> None:
        """Warn of what is doubtful."""
        longest = max(self.tied.values()) if self.tied else 0
        if self.tied and len(self.tied) >= 3 and any(
                not column.measure.is_of_set or _seen_documents(column) < longest for column in columns):
            notes.add("tied scores", run, "all documents have the same score, in each of "
                      f"{len(self.tied)} topics; the order of docnos decides")
        _note_levels(columns, judgments, settings, notes)
        if self.unmatched:
            docnos_of = REL_FORMATS[settings.rel_format].docnos
            topic, scores = next(iter(self.unmatched.items()))
            retrieved, judged = next(iter(scores)), min(docnos_of(judgments.topics[topic]), key=_encode)
            if len(self.unmatched) < 10:  # which may be chance, unless no topic judges any of them
                everywhere = set().union(*map(docnos_of, judgments.topics.values()))
                if not all(everywhere.isdisjoint(scores) for scores in self.unmatched.values()):
                    return
            topics = _plural(len(self.unmatched), "topic")
            notes.add("unmatched", run, f"none of its documents is judged, in {topics}; it has "
                      f"{_quoted(retrieved)}, and the judgments have {_quoted(judged)}: are docnos "
                      "spelt alike?")


Zscores = Mapping[str, Mapping[str, tuple[float, float]]]  # {topic: {printed name: (mean, deviation)}}


class Evaluated:
    """The values of all columns for the evaluated topics, and what they are averaged over.

    each_settings the different Settings of the columns, usually only one
    rows          by topic, one value for each column; 0 where the value is a text
    texts         by topic, the texts by the column's number
    over          see Averaging
    qrels_topics  the topics that have judgments
    is_zscored    whether the values have been converted to Z-scores
    judged        by topic, what was judged; only if it is to be kept
    """

    def __init__(self, columns: list[Column], settings: Settings, keeps_judged: bool = False):
        self.columns = columns
        self.settings = settings
        self.rows: dict[Any, array[float]] = {}
        self.texts: dict[Any, dict[int, str]] = {}
        self.over = Averaging(0)
        self.qrels_topics: AbstractSet[Any] = frozenset()
        self.is_zscored = False
        self.judged: Optional[dict[Any, JudgedTopic]] = {} if keeps_judged else None
        self.each_settings = list(dict.fromkeys([column.settings for column in columns] or [settings]))
        self._calls = [(column.measure.function, column.arguments, self.each_settings.index(column.settings))
                       for column in columns]
        self._known: dict[Any, tuple[array[float], dict[int, str]]] = {}  # what came of a pattern before
        self._text_columns = [i for i, column in enumerate(columns) if column.measure.summary is None]

    def add(self, topic: JudgedTopic) -> None:
        """Evaluate a topic.  If it was evaluated before, the new values replace those."""
        pattern = _sparse_pattern(topic)
        known = self._known.get(pattern)
        if known is None:
            known = self._computed(topic)
            if pattern is not None:
                if len(self._known) >= _MOST_PATTERNS:
                    self._known.clear()
                self._known[pattern] = known
        row, texts = known
        self.rows[topic.topic] = row[:]
        if texts:
            self.texts[topic.topic] = texts
        if self.judged is not None:
            self.judged[topic.topic] = topic

    def _computed(self, topic: JudgedTopic) -> tuple[array[float], dict[int, str]]:
        """A topic's row and texts."""
        judged = topic.judged
        values: list[Any] = [function(judged[i], *arguments) for function, arguments, i in self._calls]
        if topic.is_missing:
            for i, column in enumerate(self.columns):
                if column.is_zero_if_missing:
                    values[i] = "" if i in self._text_columns else 0.0
        texts = {i: values[i] for i in self._text_columns}
        for i in self._text_columns:
            values[i] = 0.0
        return array("d", values), texts

    def average_over(self, judgments: Judgments) -> None:
        """Say which topics there are, after all of them have been added."""
        settings = self.settings
        self.qrels_topics = judgments.topics.keys()
        topics = len(judgments.topics) if settings.complete else len(self.rows)
        missing = topics - len(self.rows)
        num_rel = None
        if settings.complete and any(column.measure.summary == "sum of relevant" for column in self.columns):
            num_rel = sum(grade > 0 for grades in judgments.topics.values() for grade in grades.values())
            num_rel += sum(grade > 0 for grade in judgments.overwritten)
        self.over = Averaging(topics, missing, num_rel=num_rel)

    def convert_to_zscores(self, norms: Zscores, notes: Notes) -> None:
        """Replace each value v by (v - mean) / deviation, with the norms of its topic and printed name."""
        self.is_zscored = True
        for topic in self.ordered():
            of_topic = norms.get(_decode(topic), {})
            for i, column in enumerate(self.columns):
                if column.measure.summary in (None, "run tag", "number of topics"):
                    continue
                if column.name not in of_topic:
                    notes.add("zscores", "zscores", "expected a line for each value, found none for topic "
                              f"{_quoted(topic)}, measure {column.name}, which becomes {_NO_ZSCORE:.0f}")
                self.rows[topic][i] = _zscore(self.rows[topic][i], of_topic.get(column.name))

    def ordered(self) -> list[Any]:
        """The evaluated topics in byte order, which is the order of output and of adding."""
        return sorted(self.rows, key=_encode)

    def topic_values(self, topic: Any) -> Iterator[tuple[str, Union[float, str]]]:
        """Printed name and value of each column that is shown for a topic."""
        texts = self.texts.get(topic, {})
        for i, (column, value) in enumerate(zip(self.columns, self.rows[topic])):
            if not column.measure.summary_only:
                yield self._shown(column, texts.get(i, value))

    def summaries(self) -> Iterator[tuple[Column, Union[float, str]]]:
        """Each column that has a summary, which texts have not, with its value."""
        by_column = zip(*[self.rows[topic] for topic in self.ordered()])
        for column, values in zip(self.columns, by_column):
            if column.measure.summary is not None:
                yield column, SUMMARIES[column.measure.summary](values, self.over)

    def summary_values(self) -> Iterator[tuple[str, Union[float, str]]]:
        """Printed name and value of each column that is shown in the summary."""
        return itertools.starmap(self._shown, self.summaries())

    def _shown(self, column: Column, value: Union[float, str]) -> tuple[str, Union[float, str]]:
        """A printed name, and the value as it is shown."""
        if isinstance(value, str):
            return column.name, value
        if self.is_zscored:
            return "Z" + column.name, float(value)
        return column.name, int(value) if column.measure.is_count else float(value)

    def evaluation(self) -> Evaluation:
        """All values as dicts."""
        return Evaluation({_decode(topic): dict(self.topic_values(topic)) for topic in self.ordered()},
                          dict(self.summary_values()))


_MOST_PATTERNS = 5000


def _sparse_pattern(topic: JudgedTopic) -> Optional[tuple[Any, ...]]:
    """All that measures can see of a topic, if few of its documents are judged; else None.

    With one or two relevant documents for each topic, as many collections have,
    most topics look like one before.  Measures give the same values for what
    looks the same, so these need not be computed anew.
    """
    first = topic.judged[0]
    if topic.is_missing or not isinstance(first, JudgedRanking) or len(first.grades) > 8:
        return None
    return tuple([(ranking.num_ret, tuple(ranking.grades.items()), tuple(ranking.grade_counts.items()))
                  for ranking in topic.judged])


_NO_ZSCORE = -1000000.0


def _zscore(value: float, norm: Optional[tuple[float, float]]) -> float:
    """By how many deviations the value is above the mean, or _NO_ZSCORE if that cannot be said."""
    if norm is None:
        return _NO_ZSCORE
    mean, deviation = norm
    if deviation == 0:
        return 0.0 if value == mean else _NO_ZSCORE
    return (value - mean) / deviation


_NORM = "0 or a number from 1e-100 to 1e100"  # with these, no Z-score can be infinite or NaN


def _is_norm(value: float) -> bool:
    """Whether a mean or deviation is as _NORM says."""
    return value == 0 or 1e-100 <= abs(value) <= 1e100


def _checked_norms(zscores: Any) -> Optional[Zscores]:
    """Norms as floats, if there are any.  Raises TypeError or TrecEvalError if they cannot be."""
    if zscores is None:
        return None
    norms: dict[str, dict[str, tuple[float, float]]] = {}
    for topic, of_topic in _items(zscores, "zscores"):
        norms[topic] = {}
        for name, pair in _items(of_topic, f"zscores of topic {topic!r}", "measures"):
            place = f"zscores, topic {topic!r}, measure {name!r}"
            try:
                if not isinstance(pair, (tuple, list)):
                    raise TypeError
                mean, deviation = array("d", pair)
            except OverflowError:
                mean = deviation = math.inf
            except (TypeError, ValueError):
                raise TypeError(f"{place}: expected a pair (mean, deviation), found {pair!r}") from None
            if not (_is_norm(mean) and _is_norm(deviation)):
                raise TrecEvalError(f"{place}: expected {_NORM} as mean and as deviation, found {pair!r}")
            norms[topic][name] = mean, deviation
    return norms


class Evaluation(NamedTuple):
    """What `evaluate` returns.

    topics   {topic: {printed name: value}}
    summary  {printed name: value over all topics}

    Counts are ints, relstring (topics only) and runid (summary only) are str,
    all other values float.
    """

    topics: dict[str, dict[str, Union[float, str]]]
    summary: dict[str, Union[float, str]]


def evaluate(qrels: Mapping[str, Any], run: Mapping[str, Mapping[str, float]],
             measures: Iterable[str] = ("official",), *, release: str = "10.0", relevance_level: int = 1,
             complete: bool = False, judged_only: bool = False, depth: Optional[int] = None,
             collection_size: int = 0, rel_format: str = "qrels",
             zscores: Optional[Zscores] = None) -> Evaluation:
    """Evaluate a run {topic: {docno: score}} on qrels {topic: {docno: grade}}.

    `measures` are measures and nicknames as after trec_eval's -m.  Several
    parameters for one measure are merged, and replace its defaults.  The
    keywords are trec_eval's options -l, -c, -J, -M, -N, -R and -Z.  With another
    `rel_format`, the judgments are as the reader of that format returns them.

    Topics of the run without judgments are ignored, and so are topics of the
    qrels without a ranking, unless `complete`.  No argument is changed.  Raises
    TrecEvalError (a ValueError), among others if no topic can be evaluated.

    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1}}
    >>> run = {"1": {"b": 0.9, "a": 0.1}}
    >>> evaluate(qrels, run, ["P.1", "P.2", "recip_rank"]).topics
    {'1': {'recip_rank': 0.5, 'P_1': 0.0, 'P_2': 0.5}}
    >>> evaluate(qrels, run, ["num_q", "recip_rank"], complete=True).summary
    {'num_q': 2, 'recip_rank': 0.25}
    """
    settings = _checked_settings(release, relevance_level, complete, judged_only, depth, collection_size,
                                 rel_format)
    notes = Notes()
    evaluated = _evaluate_dicts(qrels, run, measures, settings, notes, norms=_checked_norms(zscores))
    notes.warn()
    return evaluated.evaluation()


def _evaluate_dicts(qrels: Mapping[str, Any], run: Mapping[str, Mapping[str, float]], measures: Iterable[str],
                    settings: Settings, notes: Notes, *, norms: Optional[Zscores] = None,
                    keeps_judged: bool = False) -> Evaluated:
    """Evaluate a run on judgments, both in memory."""
    columns = [column for column in _columns(measures, settings, notes)
               if column.measure.summary != "run tag"]  # because dicts have no tag
    check = REL_FORMATS[settings.rel_format].check
    try:
        judgments = Judgments({topic: check(topic, of_topic) for topic, of_topic in _items(qrels, "qrels")})
    except TypeError as error:
        if _has_integers_alone(run):
            raise TypeError(f"{error}; are qrels and run the wrong way round?") from None
        raise
    rankings = ((topic, _checked_scores(topic, ranking), len(ranking))
                for topic, ranking in _items(run, "run") if topic in judgments.topics)
    failures: Failures = {}
    evaluated = Evaluated(columns, settings, keeps_judged)
    doubts = Doubts()
    for judged_topic in _judged_topics(judgments, rankings, evaluated, failures):
        evaluated.add(judged_topic)
        doubts.look_at(judged_topic, settings)
    for topic in sorted(failures, key=_encode):
        raise TrecEvalError(f"topic {_quoted(topic)}: {failures[topic]}", status=4)
    if not evaluated.rows:
        raise _nothing_in_common(("qrels", judgments.topics), ("run", run))
    doubts.note(columns, judgments, settings, "run", notes)
    evaluated.average_over(judgments)
    if norms is not None:
        evaluated.convert_to_zscores(norms, notes)
    return evaluated


def _has_integers_alone(run: Any) -> bool:
    """Whether a run looks like judgments: all of its scores are integers."""
    try:
        return bool(run) and all(type(score) is int for scores in run.values() for score in scores.values())
    except AttributeError:
        return False


def _nothing_in_common(*files: tuple[str, Collection[Any]]) -> TrecEvalError:
    """The error for files without a common topic.  It shows one of each, since spellings may differ."""
    found = []
    for name, topics in files:
        example = f" ({_quoted(min(topics, key=_encode))})" if topics else ""
        found.append(f"{name} has {_plural(len(topics), 'topic')}{example}")
    return TrecEvalError(f"expected topics in both files, found none: {', '.join(found)}", status=7)


# ---- Files ----
# A file is read in blocks of whole lines.  A block is split into columns, each
# column is converted at once, and a plain loop stores the rows.  Topics and
# docnos stay bytes on their way from a file to the output, because trec_eval
# compares and prints bytes.  What is returned to a caller is decoded first.

__all__ += ["evaluate_files", "read_qrels", "read_run", "read_zscores"]

_BLOCK_SIZE = 1 << 14  # larger blocks fall out of the processor's cache when they are split
_LONGEST_LINE = 1 << 20  # bytes, so that no file can fill the memory with one
_LARGEST_WHOLE = 1 << 28  # bytes of what is read whole, JSON and reports: ten million results
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


_JSON = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*["}]')  # how it begins; a topic hardly ever does


class Layout(NamedTuple):
    """How one kind of file is built.

    content       what it holds, for messages
    fields        the names of the fields of a line
    key           the numbers of the fields that differ between the documents of
                  a topic; the last of them is the docno
    numeric       the numbers of the fields that hold numbers
    has_more      whether fields may follow, to be ignored
    separator     what separates fields; None is white space
    has_header    whether the first line has the names of the fields
    is_json       whether it is JSON, {topic: {docno: number}}, and has no lines
    option        the command line option that asks for it
    other_fields  how many fields a line of the other file has: judgments for a
                  run, a run for judgments
    instead       patterns of lines that do not fit, and what to do about them
    comment       what a comment line begins with
    """

    content: str
    fields: tuple[str, ...]
    key: tuple[int, ...] = (2,)
    numeric: tuple[int, ...] = ()
    has_more: bool = False
    separator: Optional[bytes] = None
    has_header: bool = False
    is_json: bool = False
    option: str = ""
    other_fields: int = 0
    instead: tuple[tuple[Pattern[bytes], str], ...] = ()
    comment: Pattern[bytes] = re.compile(rb"^#", re.M)


class Source:
    """Bytes with a name, which can be read from the start as often as needed.

    `layout` is how they are built; None leaves that to the reader.
    """

    layout: Optional[Layout] = None

    def __init__(self, name: str, opener: Callable[[], ContextManager[BinaryIO]], size: int = 0):
        self.name = name
        self._open = opener
        self._size = size
        self._stored: Optional[BinaryIO] = None  # what is being read

    @classmethod
    def of(cls, source: Any, name: str = "input", layout: Optional[Layout] = None) -> Source:
        """The Source of a path, "-" (standard input), an open file, or an iterable of lines."""
        if isinstance(source, Source):
            return source
        made = cls._of(source, name)
        made.layout = layout
        return made

    @classmethod
    def _of(cls, source: Any, name: str) -> Source:
        """See `of`."""
        expected = f"{name}: expected a path, an open file or lines, found "
        if isinstance(source, Mapping):
            raise TypeError(f"{expected}a dict; evaluate takes dicts")
        if hasattr(source, "groupby"):
            raise TypeError(f"{expected}a data frame; evaluate takes dicts: {{topic: dict(zip(rows.docno, "
                            'rows.score)) for topic, rows in frame.groupby("topic")}')
        if not isinstance(source, (str, bytes, os.PathLike)):
            if hasattr(source, "read"):
                text = _encode(source.read())
            else:
                text = b"".join(map(_whole_line, source))
            return cls(str(getattr(source, "name", name)), lambda: io.BytesIO(text))
        path = os.fspath(source)
        if path in ("-", b"-"):
            if getattr(sys.stdin, "closed", False):
                raise TrecEvalError("standard input: cannot be read: it is closed")
            if not hasattr(sys.stdin, "buffer"):
                return cls._of(sys.stdin or (), "standard input")
            return cls._copied("standard input", lambda: contextlib.nullcontext(sys.stdin.buffer))
        name = _decode(path)
        try:
            status = os.stat(path)
        except (OSError, ValueError) as error:
            raise _cannot_read(name, error) from None
        if stat.S_ISREG(status.st_mode):
            return cls(name, lambda: open(path, "rb"), status.st_size)
        return cls._copied(name, lambda: open(path, "rb"))

    @classmethod
    def _copied(cls, name: str, opener: Callable[[], ContextManager[BinaryIO]]) -> Source:
        """A copy on disk of a pipe, which by itself can be read only once."""
        import shutil  # here because these take milliseconds, and few need them
        import tempfile
        try:
            copy = tempfile.TemporaryFile()
            with opener() as stream:
                shutil.copyfileobj(stream, copy)
        except OSError as error:
            raise _cannot_read(name, error) from None

        def reopen() -> ContextManager[BinaryIO]:
            """The copy, from its start."""
            copy.seek(0)
            return contextlib.nullcontext(copy)
        made = cls(name, reopen, copy.tell())
        weakref.finalize(made, copy.close)
        return made

    @property
    def fraction(self) -> float:
        """How much of the bytes as stored has been read, or 0 if their number is not known."""
        if not self._stored or not self._size:
            return 0.0
        return 1.0 if self._stored.closed else self._stored.tell() / self._size

    def blocks(self, may_be_json: bool = False) -> Iterator[bytes]:
        """The content, unpacked if it is compressed, in blocks of whole lines; JSON may be one long line."""
        blocks_read, longest = 0, _LONGEST_LINE
        try:
            with self._open() as self._stored:
                stream = _unpacked(self._stored)
                while True:
                    block = stream.read(_BLOCK_SIZE)
                    if not block:
                        return
                    if may_be_json and blocks_read == 0 and _JSON.match(block):
                        longest = _LARGEST_WHOLE
                    block += stream.readline(longest + 1)
                    if len(block) > longest:
                        self._check_last_line(block, blocks_read, longest)
                    yield block
                    blocks_read += 1
        except (OSError, EOFError, ImportError) as error:
            raise _cannot_read(self.name, error) from None
        except Exception as error:  # zlib.error and LZMAError, whose modules may be missing here
            if type(error).__module__ not in ("zlib", "_lzma", "lzma"):
                raise
            raise _cannot_read(self.name, error) from None

    def _check_last_line(self, block: bytes, blocks_before: int, longest: int) -> None:
        """Raise if the last line of a block is too long."""
        if block.endswith(b"\n"):
            block = block[:-1]
        line = block[block.rfind(b"\n") + 1:]
        if len(line) <= longest:
            return
        number = 1 + block.count(b"\n")
        for earlier in itertools.islice(self.blocks(), blocks_before):
            number += earlier.count(b"\n")
        hint = "; -R json and -T json read JSON" if _JSON.match(line) else ""
        raise TrecEvalError(f"{self.name}:{number}: expected at most {longest >> 20} MiB in a line, "
                            f"found more: {_quoted(line[:1000])}{hint}")

    def whole(self) -> bytes:
        """All of the content at once."""
        content = bytearray()
        for block in self.blocks(may_be_json=True):
            content += block
            if len(content) > _LARGEST_WHOLE:
                raise TrecEvalError(f"{self.name}: expected at most {_LARGEST_WHOLE >> 20} MiB, found more")
        return bytes(content)


def _whole_line(line: Any) -> bytes:
    """A line of an iterable, with a line end."""
    if not isinstance(line, (str, bytes)):
        raise TypeError(f"expected lines of str or bytes, found {line!r}")
    text = _encode(line)
    return text if text.endswith(b"\n") else text + b"\n"


def _unpacked(stored: BinaryIO) -> BinaryIO:
    """The stream itself, or what it holds if its first bytes say that it is compressed."""
    head = stored.read(10)
    stored.seek(0)
    # Imported here because a Python may have been built without one of them.
    if head.startswith(b"\x1f\x8b"):
        import gzip
        return cast(BinaryIO, gzip.open(stored))
    if re.match(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", head):
        import bz2
        return cast(BinaryIO, bz2.open(stored))
    if head.startswith(b"\xfd7zXZ\x00"):
        import lzma
        return cast(BinaryIO, lzma.open(stored))
    return stored


def _cannot_read(name: str, error: Exception) -> TrecEvalError:
    """The error for a file that the system does not give."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return TrecEvalError(f"{name}: cannot be read: {' '.join(reason.split())}")


_JSON_LINE = re.compile(_JSON.pattern + rb".*", re.S)
_TSV = "reads lines whose fields are separated by tabs alone, so that they may hold spaces"

_QRELS = Layout("judgments", ("topic", "iter", "docno", "grade"), numeric=(1, 3), other_fields=6, instead=(
    (_JSON_LINE, "-R json reads JSON, {topic: {docno: grade}}"),
    (re.compile(rb"query-id\tcorpus-id\tscore"), "-R beir reads such lines"),
    (re.compile(rb"[^\t]+(?:\t[^\t]*){3}"), f"-R tsv {_TSV}")))
_RUN = Layout("results", ("topic", "Q0", "docno", "rank", "score", "tag"), numeric=(3, 4), has_more=True,
              other_fields=4, comment=re.compile(rb"^[ \t\r\v\f]*#", re.M), instead=(
    (_JSON_LINE, "-T json reads JSON, {topic: {docno: score}}"),
    (re.compile(rb"\S+\s+\S+\s+[0-9]+"), "-T msmarco reads lines of topic docno rank"),
    (re.compile(rb"[^\t]+(?:\t[^\t]*){5,}"), f"-T tsv {_TSV}")))

RUN_FILES: dict[str, Layout] = {  # by the name of the format, -T
    "trec_results": _RUN,
    "tsv": _RUN._replace(separator=b"\t", option="-T tsv"),
    "msmarco": Layout("results", ("topic", "docno", "rank"), key=(1,), numeric=(2,), option="-T msmarco"),
    "json": Layout("results", ("topic", "docno", "score"), is_json=True, option="-T json"),
}
_ZSCORES = Layout("Z-score norms", ("topic", "measure", "mean", "deviation"))


class Fields:
    """The fields of some lines, by column.  A column is cut out when it is asked for, since few are needed.

    fields  the fields of all lines, line after line
    width   how many of them a line has
    """

    def __init__(self, fields: list[bytes], width: int):
        self.fields = fields
        self.width = width

    def __getitem__(self, i: int) -> list[bytes]:
        """Column i, or from the last one on, if i is negative."""
        return self.fields[range(self.width)[i]::self.width]

    def __iter__(self) -> Iterator[list[bytes]]:
        """All columns."""
        return map(self.__getitem__, range(self.width))


Table = tuple[Sequence[int], Fields]  # with the numbers of the lines


def _tables(source: Source, layout: Layout, release: Release, notes: Notes) -> Iterator[Table]:
    """The fields of a file, block by block, without its header, blank lines and comments.

    Raises TrecEvalError if a line does not fit, or if there is none.
    """
    number = 1
    is_first, found = True, False
    for block in _text_blocks(source, notes):
        if number == 1 and _JSON.match(block):
            raise TrecEvalError(f"{source.name}: expected lines of {layout.content}, found JSON"
                                f"{_hint(block, layout)}")
        has_comments = release.has_comments and b"#" in block and layout.comment.search(block)
        columns = None if has_comments or layout.separator else _split(block, len(layout.fields))
        numbers: Sequence[int]
        if columns is None:
            lines = block.count(b"\n")
            numbers, columns = _split_lines(block, number, source.name, layout, release, notes)
        else:
            lines = len(columns.fields) // columns.width
            numbers = range(number, number + lines)
        if numbers and is_first:
            numbers, columns = _without_header(numbers, columns, source.name, layout, notes)
            is_first = False
        if numbers:
            found = True
            yield numbers, columns
        number += lines
    if not found:
        expected = f"lines of {layout.content} ({' '.join(layout.fields)})"
        raise TrecEvalError(f"{source.name}: expected {expected}, found none")


def _text_blocks(source: Source, notes: Notes) -> Iterator[bytes]:
    """The blocks of a text file, each with a line end at its end."""
    is_first = True
    for block in source.blocks():
        if is_first and block.startswith(_BYTE_ORDER_MARK):
            block = block[len(_BYTE_ORDER_MARK):]
            notes.add("byte-order mark", f"{source.name}:1", "a byte-order mark is skipped")
        is_first = False
        if b"\0" in block:
            lines = (line for block in source.blocks() for line in block.split(b"\n")[:-1])
            before = len(list(itertools.takewhile(lambda line: b"\0" not in line, lines)))
            place = f"{source.name}:{before + 1}"
            raise TrecEvalError(f"{place}: expected text, found a NUL byte: this is a binary file")
        yield block if block.endswith(b"\n") else block + b"\n"


_NOT_WHITE = bytes(set(range(256)).difference(b" \t\n\r\v\f"))  # bytes.split separates fields at the others


def _split(block: bytes, width: int) -> Optional[Fields]:
    """The fields of a block of whole lines if each of them has so many, else None.

    Splitting a block at once is faster than splitting its lines, but does not
    show where a line ends.  So it is only done if all lines have the same white
    space, `width` characters with the line end.  Then no line has more fields
    than `width`, and none has fewer if all of them together have enough.  Other
    blocks are split line by line.

    >>> list(_split(b"1 0 a 1\\n1 0 b 0\\n", 4))
    [[b'1', b'1'], [b'0', b'0'], [b'a', b'b'], [b'1', b'0']]
    """
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    white = block.translate(None, _NOT_WHITE)
    of_line = white[:white.index(b"\n") + 1]
    if len(of_line) == width and white == of_line * (len(white) // width):
        fields = block.split()
        return Fields(fields, width) if len(fields) == len(white) else None
    rows = list(map(bytes.split, block.split(b"\n")[:-1]))
    if set(map(len, rows)) != {width}:
        return None
    return Fields(list(itertools.chain.from_iterable(rows)), width)


def _split_lines(block: bytes, first: int, file: str, layout: Layout, release: Release,
                 notes: Notes) -> Table:
    """The numbers and fields of those lines of a block that are neither blank nor comments.

    `first` is the number of the first line.  What follows the last field of the
    layout is dropped, with a warning if it looks like a mistake.  Raises
    TrecEvalError if a line has too few fields, or more than are allowed.
    """
    width = len(layout.fields)
    numbers: list[int] = []
    of_all: list[bytes] = []
    for number, line in enumerate(block.split(b"\n"), first):
        fields = line.split()
        is_comment = release.has_comments and layout.comment.match(line)
        if not fields or is_comment:
            continue
        if layout.separator:
            fields = [field.strip() for field in line.split(layout.separator)]
        has_too_many = len(fields) > width and not layout.has_more
        if len(fields) < width or has_too_many:
            raise _wrong_fields(f"{file}:{number}", line, fields, layout, number == 1)
        if len(fields) > width and _is_shifted(line, fields):
            notes.add("shifted", f"{file}:{number}", f"expected {' '.join(layout.fields)}, found "
                      f"{_quoted(line)}: does a field hold a space or a line end?{_hint(line, layout)}")
        if not (fields[0] and fields[layout.key[-1]]):
            raise TrecEvalError(f"{file}:{number}: expected a topic and a docno, found none: {_quoted(line)}")
        numbers.append(number)
        of_all += fields[:width]
    return numbers, Fields(of_all, width)


def _wrong_fields(place: str, line: bytes, fields: Sequence[bytes], layout: Layout,
                  is_first: bool) -> TrecEvalError:
    """The error for a line with another number of fields than its layout has."""
    expected = f"expected {len(layout.fields)} fields ({' '.join(layout.fields)})"
    if layout.separator:
        expected += " with tabs between them"
    taken = ""
    if len(fields) == 3:
        taken = ", ".join([f"{name} {_quoted(field)}" for name, field in zip(layout.fields, fields)])
        taken = f" ({taken}, no {' '.join(layout.fields[3:])})"
    hint = _hint(line, layout)
    if is_first and len(fields) == layout.other_fields:
        hint = "; are the files the wrong way round?"
    return TrecEvalError(f"{place}: {expected}, found {len(fields)}: {_quoted(line)}{taken}{hint}")


def _hint(line: bytes, layout: Layout) -> str:
    """What to do about a line that does not fit, if that is known."""
    for pattern, instead in layout.instead:
        if pattern.fullmatch(line.strip()):
            return f"; {instead}"
    return ""


def _is_shifted(line: bytes, fields: Sequence[bytes]) -> bool:
    """Whether a run's line of more than six fields seems to hold a docno with a space, or several lines.

    >>> _is_shifted(b"", b"1 Q0 my doc 1 2.5 bm25".split())
    True
    >>> _is_shifted(b"", b"1 Q0 doc 1 2.5 bm25 b=0.4".split())  # a tag with a space
    False
    """
    rank, _, tag = fields[3:6]
    if b"\r" in line.rstrip() or not _DECIMAL.fullmatch(rank):
        return True
    return bool(_DECIMAL.fullmatch(tag)) and not tag.isalpha()  # Inf may be a tag


def _without_header(numbers: Sequence[int], columns: Fields, file: str, layout: Layout,
                    notes: Notes) -> Table:
    """The first lines of a file without the header that its layout wants; another one is only noted."""
    place = f"{file}:{numbers[0]}"
    first = columns.fields[:columns.width]
    if layout.has_header:
        if b" ".join(first) != _encode(" ".join(layout.fields)):
            raise TrecEvalError(f"{place}: expected the header {' '.join(layout.fields)}, with tabs, "
                                f"found {_quoted(b' '.join(first))}")
        return numbers[1:], Fields(columns.fields[columns.width:], columns.width)
    has_number = any(_DECIMAL.match(first[field]) for field in layout.numeric)
    if layout.numeric and not has_number and len(numbers) > 1:
        fields = " or ".join([layout.fields[field] for field in layout.numeric])
        found = " and ".join([_quoted(first[field]) for field in layout.numeric])
        notes.add("header", place, f"expected a number as {fields}, found {found}: is line {numbers[0]} a "
                  f"header? It is read as {layout.content} for topic {_quoted(first[0])}")
    return numbers, columns


def _grades(texts: Sequence[bytes], numbers: Sequence[int], file: str, notes: Notes) -> list[int]:
    """Convert a column of grades, as C reads integers."""
    read = {text: _integer(text) for text in set(texts)}
    suspicious = {text for text, (_, is_plain) in read.items() if not is_plain}
    if suspicious:
        for number, text in zip(numbers, texts):
            if text in suspicious:
                message = f"expected an integer as grade, found {_quoted(text)}, read as {read[text][0]}"
                notes.add("grade", f"{file}:{number}", message)
    return [read[text][0] for text in texts]


def _scores(texts: Sequence[bytes], numbers: Sequence[int], file: str, notes: Notes,
            field: str = "score") -> list[float]:
    """Convert a column of scores, or of another `field`, as C reads decimals; raise if one is NaN."""
    plain = _plain_scores(texts)
    if plain is not None:
        return plain
    scores = []
    for number, text in zip(numbers, texts):
        score, is_plain = _decimal(text)
        if not is_plain:
            place, message = f"{file}:{number}", f"expected a number as {field}, found {_quoted(text)}"
            if math.isnan(score):
                raise TrecEvalError(f"{place}: {message}, by which nothing can be ranked")
            notes.add(field, place, f"{message}, read as {score:g}")
        scores.append(score)
    return scores


def _scores_of_ranks(texts: Sequence[bytes], numbers: Sequence[int], file: str) -> list[float]:
    """Convert a column of ranks to scores, of which the smallest rank has the greatest."""
    read = {text: _integer(text) for text in set(texts)}
    for number, text in zip(numbers, texts):
        if not read[text][1]:
            raise TrecEvalError(f"{file}:{number}: expected an integer as rank, found {_quoted(text)}")
    return [-float(read[text][0]) for text in texts]


def _plain_scores(texts: Sequence[bytes]) -> Optional[list[float]]:
    """Convert a column of scores if all of them are plain numbers, else None."""
    together = b"".join(texts)
    if b"_" in together or b"n" in together or b"N" in together:  # float() would take 1_0, nan and inf
        return None
    try:
        return list(map(float, texts))
    except ValueError:
        return None


class RunReader:
    """A run, topic after topic.

    Iterating gives (topic, {docno: score}, number of lines) for each topic that
    is wanted, as soon as the next topic begins, so that one topic at a time is
    in memory.  If a topic turns out to come back later in the file, the run is
    read again from the start and all topics are given once more, complete:
    what is given last for a topic counts.

    With `by_rank` the texts of the rank column take the place of the docnos.
    """

    def __init__(self, source: Source, wanted: Optional[AbstractSet[bytes]], release: Release, notes: Notes,
                 progress: Optional[Progress] = None, by_rank: bool = False):
        self.source = source
        self.layout = source.layout or _RUN
        self.wanted = wanted
        self.tag = b""
        self._by_rank = by_rank
        self._samples: list[bool] = []  # see _sample; a hundred are enough
        self._swapped: list[bytes] = []  # of each sample of three lines or more, see _sample
        self._blocks_read = 0
        self._release = release
        self._notes = notes
        self._progress = progress
        self._topics_done = 0
        self._lines_read = 0

    def __iter__(self) -> Iterator[tuple[bytes, dict[bytes, float], int]]:
        """See RunReader."""
        if self.layout.is_json:
            for topic, ranking in _json_topics(self.source, self.layout, _checked_scores).items():
                if self.wanted is None or topic in self.wanted:
                    yield topic, ranking, len(ranking)
            return
        yield from self._topics() if "score" in self.layout.fields else self._topics_by_rank()
        if self._swapped and all(self._swapped):
            self._notes.add("swapped columns", self.source.name, "the rank column falls, from "
                            f"{_quoted(self._swapped[0])} on, while the score column rises by 1: "
                            "are they swapped?")
        if self._scores_may_rise():
            self._note_rising_scores()

    def _topics_by_rank(self) -> Iterator[tuple[bytes, dict[bytes, float], int]]:
        """The topics of a run that has ranks but no scores, with a warning if these ranks look like scores.

        They do if none is 0 or 1, or if they fall from line to line.  They do not
        if those of any topic are consecutive integers and low, such as 2 to 11.
        """
        least, rises, falls, are_ranks = math.inf, False, False, False
        for topic, by_docno, lines in self._topics():
            yield topic, by_docno, lines
            if not are_ranks:
                ranks = [-score for score in by_docno.values()]
                least = min(least, *ranks)
                rises = rises or any(map(operator.lt, ranks, ranks[1:]))
                falls = falls or any(map(operator.gt, ranks, ranks[1:]))
                low, high, size = min(ranks), max(ranks), len(ranks)
                are_ranks = size == len(set(ranks)) == high - low + 1 > 1 and low <= 2 * size
        found = f"{least:.0f} as the least" if 1 < least < math.inf else ""
        if falls and not rises:
            found = "numbers that fall from line to line"
        if found and not are_ranks:
            self._notes.add("ranks", self.source.name, f"expected ranks from 1 up, found {found}; "
                            "the least is ranked first: are these scores?")

    def _topics(self) -> Iterator[tuple[bytes, dict[bytes, float], int]]:
        """The topics of a run of lines, each as soon as another one that is wanted begins."""
        finished: set[bytes] = set()
        current = None
        ranking: dict[bytes, float] = {}
        lines = 0
        for topics, docnos, scores in self._blocks():
            if topics and topics[-1] == current and topics.count(current) == len(topics):
                ranking.update(zip(docnos, scores))  # all of one topic, as most blocks of long rankings are
                lines += len(topics)
                continue
            for topic, docno, score in zip(topics, docnos, scores):
                if topic != current:
                    if self.wanted is not None and topic not in self.wanted:
                        continue
                    if current is not None:
                        yield current, ranking, lines
                        finished.add(current)
                        self._topics_done = len(finished)
                    if topic in finished:  # it was not complete, so the run is not grouped by topic
                        yield from self._collected()
                        return
                    current, ranking, lines = topic, {}, 0
                ranking[docno] = score
                lines += 1
        if current is not None:
            yield current, ranking, lines

    def _blocks(self) -> Iterator[tuple[Sequence[bytes], Sequence[bytes], Sequence[float]]]:
        """Topics, docnos and scores, block by block.  Lines of topics that are not wanted may be left out.

        Besides, remembers the tag of the last line, reports the progress, and takes samples.
        """
        fields = self.layout.fields
        place = fields.index("rank") if self._by_rank else self.layout.key[-1]
        for numbers, columns in _tables(self.source, self.layout, self._release, self._notes):
            topics: Sequence[bytes] = columns[0]
            docnos: Sequence[bytes] = columns[place]
            self._lines_read = numbers[-1]
            self._blocks_read += 1
            self._report()
            if "score" not in fields:
                from_ranks = _scores_of_ranks(columns[-1], numbers, self.source.name)
                yield topics, docnos, from_ranks
                continue
            texts: Sequence[bytes] = columns[fields.index("score")]
            self.tag = columns.fields[-1]  # the last field of the last line
            scores = _plain_scores(texts)
            if scores is None:  # at least one needs a check, but those of topics that are not wanted do not
                rows = [row for row in zip(topics, docnos, texts, numbers)
                        if self.wanted is None or row[0] in self.wanted]
                topics, docnos, texts, numbers = zip(*rows) if rows else ((), (), (), ())
                scores = _scores(texts, numbers, self.source.name, self._notes)
            elif len(self._samples) < 100:
                self._sample(topics, columns[fields.index("rank")], scores)
            yield topics, docnos, scores

    def _sample(self, topics: Sequence[bytes], ranks: Sequence[bytes], scores: Sequence[float]) -> None:
        """Look at a block's lines of its first topic, and note two things.

        One is whether the scores of two of these lines rise with the ranks.  The
        other is, if there are three lines or more before the next topic, their
        first rank if the columns seem to be swapped, or else b"".
        """
        try:
            other = topics.index(topics[0], 1)
        except ValueError:
            return
        self._samples.append(_rise_together([ranks[0], ranks[other]], [scores[0], scores[other]]))
        lines = len(list(itertools.takewhile(topics[0].__eq__, topics[:100])))
        if lines > 2:
            is_swapped = _seem_swapped(ranks[:lines], scores[:lines])
            self._swapped.append(ranks[0] if is_swapped else b"")

    def _scores_may_rise(self) -> bool:
        """Whether the scores are worth `_note_rising_scores`, which reads the run once more."""
        if self._by_rank or "score" not in self.layout.fields:
            return False
        is_small = self._blocks_read < 10  # to read it once more takes no time
        return is_small or sum(self._samples) > 0.75 * len(self._samples)

    def _note_rising_scores(self) -> None:
        """Warn if scores rise with the rank column throughout nearly all topics of three documents."""
        rises = {}
        reader = RunReader(self.source, self.wanted, self._release, Notes(), by_rank=True)
        for topic, by_rank, lines in reader:
            if lines > 2:
                rises[topic] = len(by_rank) == lines and _rise_together(by_rank, by_rank.values())
        count = sum(rises.values())
        if len(rises) > 1 and count >= 0.95 * len(rises):
            topics = _plural(len(rises), "topic")
            self._notes.add("rising scores", self.source.name, "scores rise with the rank column in "
                            f"{count} of {topics}, but the greatest is ranked first: are these distances?")

    def _collected(self) -> Iterator[tuple[bytes, dict[bytes, float], int]]:
        """All topics of a run whose lines are not grouped by topic."""
        self._notes.restart(self.source.name)
        self._topics_done = self._blocks_read = 0
        self._samples.clear()
        self._swapped.clear()
        # Docnos are kept as text, because as objects of their own they take three times the memory.
        collected: dict[bytes, tuple[bytearray, array[float]]] = {}
        for topics, docnos, scores in self._blocks():
            for topic, docno, score in zip(topics, docnos, scores):
                try:
                    names, values = collected[topic]
                except KeyError:
                    if self.wanted is not None and topic not in self.wanted:
                        continue
                    names, values = collected[topic] = bytearray(), array("d")
                names += docno
                names += b"\n"
                values.append(score)
        line_end = b"\n" if self.layout.separator else None  # None is faster, but would split at spaces, too
        for self._topics_done, topic in enumerate(list(collected)):
            self._report()
            names, values = collected.pop(topic)
            yield topic, dict(zip(bytes(names).split(line_end), values)), len(values)

    def whole(self) -> tuple[dict[bytes, dict[bytes, float]], set[bytes]]:
        """All of the run at once, and the topics that have a document twice."""
        rankings, duplicated = {}, set()
        for topic, ranking, lines in self:
            if len(ranking) != lines:
                duplicated.add(topic)
            rankings[topic] = ranking
        return rankings, duplicated

    def _report(self) -> None:
        """Show progress, if that is wanted."""
        if self._progress:
            self._progress.show(self._topics_done, self._lines_read, self.source.fraction)


def _rise_together(ranks: Iterable[bytes], scores: Iterable[float]) -> bool:
    """Whether each document of a greater rank has a greater score, and no two have the same."""
    pairs = sorted(zip([_integer(rank)[0] for rank in ranks], scores))
    return all(rank < next_rank and score < next_score
               for (rank, score), (next_rank, next_score) in zip(pairs, pairs[1:]))


def _seem_swapped(ranks: Sequence[bytes], scores: Sequence[float]) -> bool:
    """Whether a topic's lines seem to have ranks as scores, and scores as ranks.

    They do if the scores rise by 1 while the ranks fall.  In two such cases all is
    right: if the ranks are integers that fall by 1, as where a ranking is listed
    from last to first; and if the scores begin below 1 and the ranks are whole or
    half numbers, as the mean ranks of tied documents are.

    >>> _seem_swapped([b"9.5", b"7", b"7"], [1.0, 2.0, 3.0])
    True
    >>> _seem_swapped([b"3", b"2", b"1"], [1.0, 2.0, 3.0])
    False
    >>> _seem_swapped([b"3", b"1.5", b"1.5"], [0.0, 1.0, 2.0])
    False
    """
    numbers, first, size = _plain_scores(ranks), scores[0], len(scores)
    if numbers is None or not first.is_integer() or list(scores) != [first + i for i in range(size)]:
        return False
    if first < 1 and all((2 * number).is_integer() for number in numbers):
        return False
    falls = numbers[0] > numbers[-1] and numbers == sorted(numbers, reverse=True)
    falls_by_1 = numbers == [numbers[0] - i for i in range(size)]
    return falls and not (falls_by_1 and numbers[0].is_integer())


class Progress:
    """Shows on a terminal how far a run has been read, once that takes longer than two seconds."""

    def __init__(self, terminal: IO[str]):
        self.run = ""  # which of several runs is read
        self._terminal = terminal
        self._shown = ""
        self._next = time.monotonic() + 2

    def show(self, topics: int, lines: int, fraction: float) -> None:
        """Topics done, lines read, and the fraction of the file, 0 if its size is not known."""
        part = f", {int(100 * fraction)}%" if fraction else ""
        self.say(f"{self.run}{_plural(topics, 'topic')}, {_plural(lines, 'line')} read{part}")

    def say(self, text: str) -> None:
        """Show a text, five times a second at most."""
        if time.monotonic() >= self._next:
            self._print(text)
            self._next = time.monotonic() + 0.2

    def erase(self) -> None:
        """Leave the terminal as it was."""
        if self._shown:
            self._print("")
            self._print("")

    def _print(self, text: str) -> None:
        """Show a text in place of the one before."""
        self._terminal.write("\r" + text.ljust(len(self._shown)))
        self._terminal.flush()
        self._shown = text


def _json_topics(source: Source, layout: Layout, check: Callable[[str, Any], Any]) -> dict[bytes, Any]:
    """{topic: {docno: number}} of a JSON file; `check` converts the numbers of a topic, or raises."""
    import json  # here because that takes milliseconds, and few need it
    field = layout.fields[-1]
    expected = f"{source.name}: expected JSON, {{topic: {{docno: {field}}}}}"
    text = source.whole()
    if not _JSON.match(text):
        raise TrecEvalError(f"{expected}, found {_quoted(text[:1000])}")
    try:
        content = json.loads(text.decode("utf-8-sig", "surrogateescape"), object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise TrecEvalError(f"{expected}, found an error: {error}") from None
    topics = {}
    for topic, documents in _json_items(content, source.name, "topic").items():
        place = f"{source.name}: topic {_quoted(topic)}"
        items = _json_items(documents, place, "docno")
        for docno, value in documents.items():
            if isinstance(value, bool):
                raise TrecEvalError(f"{place}, document {_quoted(docno)}: expected a number as {field}, "
                                    f"found {value}")
        try:
            checked = check(_decode(topic), documents)
        except (TypeError, ValueError) as error:
            raise TrecEvalError(f"{source.name}: {error}") from None
        topics[topic] = dict(zip(items, checked.values()))
    if not topics:
        raise TrecEvalError(f"{expected}, found no topic")
    return topics


def _object(pairs: list[tuple[str, Any]]) -> Any:
    """A JSON object as a dict, or as it is if it has a name twice."""
    by_name = dict(pairs)
    return by_name if len(by_name) == len(pairs) else pairs


def _json_items(part: Any, place: str, kind: str) -> dict[bytes, Any]:
    """What a part of a JSON file holds, by name as bytes.  Raises if it is no object, or of odd names."""
    if not isinstance(part, dict):
        if isinstance(part, list) and part and isinstance(part[0], tuple):
            names = Counter([name for name, _ in part])
            again = next(name for name in names if names[name] > 1)
            raise TrecEvalError(f"{place}: expected each {kind} once, found {_quoted(again)} again")
        raise TrecEvalError(f"{place}: expected an object of {kind}s, found {type(part).__name__}")
    for name in part:
        if not name or "\n" in name:
            raise TrecEvalError(f"{place}: expected a {kind} in one line, found {name!r}")
    try:
        return {name.encode(): value for name, value in part.items()}
    except UnicodeEncodeError as error:
        raise TrecEvalError(f"{place}: expected each {kind} in UTF-8, "
                            f"found {_quoted(error.object)}") from None


class JudgmentFile(NamedTuple):
    """How judgments are read from a file.

    read        reads them
    error       says of a topic in Judgments.duplicated what is wrong with which lines
    rel_format  what judgments they are: a name in REL_FORMATS
    layout      how the file is built
    """

    read: Callable[[Source, Release, Notes], Judgments]
    error: Callable[[Source, Release, bytes], TrecEvalError]
    rel_format: str
    layout: Layout


JUDGMENT_FILES: dict[str, JudgmentFile] = {}  # by the name of the format, -R

Row = TypeVar("Row")


def _format(table: Mapping[str, Row], name: str, content: str) -> Row:
    """The format of a name."""
    if name not in table:
        raise TrecEvalError(f"expected a format of {content}, one of {', '.join(table)}, "
                            f"found {_quoted(str(name))}")
    return table[name]


def _read_qrels(source: Source, release: Release, notes: Notes) -> Judgments:
    """Read judgments of one grade a document, in any layout."""
    layout = source.layout or _QRELS
    if layout.is_json:
        return Judgments(_json_topics(source, layout, _checked_grades))
    qrels: dict[bytes, dict[bytes, int]] = {}
    duplicated = set()
    overwritten = []
    current = None
    judgments: dict[bytes, int] = {}
    for numbers, columns in _tables(source, layout, release, notes):
        grades = _grades(columns[-1], numbers, source.name, notes)
        for topic, docno, grade in zip(columns[0], columns[layout.key[-1]], grades):
            if topic != current:
                current = topic
                judgments = qrels.setdefault(topic, {})
            if docno in judgments:
                duplicated.add(topic)
                overwritten.append(judgments[docno])
            judgments[docno] = grade
    return Judgments(qrels, duplicated, overwritten)


def _duplicate(source: Source, layout: Layout, release: Release, topic: bytes) -> TrecEvalError:
    """The error for the first document that a topic has twice."""
    first: dict[tuple[bytes, ...], int] = {}
    for numbers, columns in _tables(source, layout, release, Notes()):
        for number, row in zip(numbers, zip(*columns)):
            if row[0] != topic:
                continue
            document = tuple(row[field] for field in layout.key)
            if document in first:
                is_grouped = len(layout.key) > 1
                whole, group = ("group", f", group {_quoted(row[1])}") if is_grouped else ("topic", "")
                found = f"{_quoted(document[-1])} of topic {_quoted(topic)}{group} again"
                return TrecEvalError(f"{source.name}:{number}: expected each document of a {whole} once, "
                                     f"found {found}, first on line {first[document]}", status=4)
            first[document] = number
    raise AssertionError(f"no duplicate of topic {topic!r} in {source.name}")


JUDGMENT_FILES["qrels"] = JudgmentFile(
    _read_qrels, lambda source, release, topic: _duplicate(source, source.layout or _QRELS, release, topic),
    "qrels", _QRELS)
for _name, _layout in {
    "tsv": _QRELS._replace(separator=b"\t", option="-R tsv"),
    "beir": Layout("judgments", ("query-id", "corpus-id", "score"), key=(1,), separator=b"\t",
                   has_header=True, option="-R beir"),
    "json": Layout("judgments", ("topic", "docno", "grade"), is_json=True, option="-R json"),
}.items():
    JUDGMENT_FILES[_name] = JUDGMENT_FILES["qrels"]._replace(layout=_layout)


def _read_judgments(source: Any, name: str, rel_format: str, release: str) -> Any:
    """Read judgments of any format for a caller of the library; `name` is for a source that has none."""
    form = _format(JUDGMENT_FILES, rel_format, "judgments")
    file, rules, notes = Source.of(source, name, form.layout), _release(release), Notes()
    judgments = form.read(file, rules, notes)
    for topic in sorted(judgments.duplicated):
        raise form.error(file, rules, topic)
    notes.warn(stacklevel=4)
    return _decoded(judgments.topics)


def _decoded(judgments: Any) -> Any:
    """The names in nested judgments as text; numbers as they are."""
    if isinstance(judgments, dict):
        return {_decode(name): _decoded(part) for name, part in judgments.items()}
    if isinstance(judgments, list):
        return [(_decode(docno), level) for docno, level in judgments]
    return judgments


def read_qrels(source: Any, *, release: str = "10.0",
               rel_format: str = "qrels") -> dict[str, dict[str, int]]:
    """Read judgments, lines of `topic iter docno grade`, into {topic: {docno: grade}}.

    `source` is a path ("-" is standard input), an open file, or an iterable of
    lines, and may be gzip, bzip2 or xz compressed.  Only release 10.0 has
    comment lines (#).  Raises TrecEvalError; warns with TrecEvalWarning.

    >>> read_qrels(["301 0 FT911-1 1", "301 0 FT911-2 0", "302 0 FT911-2 2"])
    {'301': {'FT911-1': 1, 'FT911-2': 0}, '302': {'FT911-2': 2}}

    Other formats are "tsv" (the same with tabs alone between the fields),
    "beir" (tab-separated `query-id corpus-id score` under that header) and
    "json", an object {topic: {docno: grade}}.

    >>> read_qrels(['{"301": {"FT911-1": 1}}'], rel_format="json")
    {'301': {'FT911-1': 1}}
    """
    of_grades = {name: form for name, form in JUDGMENT_FILES.items() if form.rel_format == "qrels"}
    _format(of_grades, rel_format, "judgments")
    return cast(dict[str, dict[str, int]], _read_judgments(source, "qrels", rel_format, release))


def read_run(source: Any, *, release: str = "10.0",
             results_format: str = "trec_results") -> dict[str, dict[str, float]]:
    """Read a run, lines of `topic Q0 docno rank score tag`, into {topic: {docno: score}}.

    `source` as for `read_qrels`.  What follows the tag is ignored, and so are Q0
    and rank: the scores alone decide the ranking.

    >>> read_run(["301 Q0 FT911-1 1 2.5 bm25", "301 Q0 FT911-2 2 1e-3 bm25"])
    {'301': {'FT911-1': 2.5, 'FT911-2': 0.001}}

    Other formats are "tsv" (the same with tabs alone between the fields),
    "msmarco" (`topic docno rank`) and "json", an object {topic: {docno: score}}.

    >>> read_run(["301 FT911-1 1", "301 FT911-2 2"], results_format="msmarco")
    {'301': {'FT911-1': -1.0, 'FT911-2': -2.0}}
    """
    layout = _format(RUN_FILES, results_format, "results")
    file, rules, notes = Source.of(source, "run", layout), _release(release), Notes()
    rankings, duplicated = RunReader(file, None, rules, notes).whole()
    for topic in sorted(duplicated):
        raise _duplicate(file, layout, rules, topic)
    notes.warn()
    return cast(dict[str, dict[str, float]], _decoded(rankings))


def read_zscores(source: Any) -> Zscores:
    """Read norms, lines of `topic measure mean deviation`, into {topic: {measure: (mean, deviation)}}.

    Measures are named as they are printed.  `source` as for `read_qrels`.

    >>> read_zscores(["1 map 0.25 0.1", "1 P_5 0.4 0.2"])
    {'1': {'map': (0.25, 0.1), 'P_5': (0.4, 0.2)}}
    """
    notes = Notes()
    norms = _read_zscores(Source.of(source, "zscores"), RELEASES["10.0"], notes)
    notes.warn()
    return norms


def _read_zscores(source: Source, release: Release, notes: Notes) -> Zscores:
    """Read norms."""
    norms: dict[str, dict[str, tuple[float, float]]] = {}
    for numbers, columns in _tables(source, _ZSCORES, release, notes):
        for number, (topic, name, *texts) in zip(numbers, zip(*columns)):
            pair = []
            for field, text in zip(_ZSCORES.fields[2:], texts):
                value, is_plain = _decimal(text)
                if not is_plain or not _is_norm(value):
                    expected = _NORM if is_plain else "a number"
                    raise TrecEvalError(f"{source.name}:{number}: expected {expected} as {field}, "
                                        f"found {_quoted(text)}")
                pair.append(value)
            of_topic = norms.setdefault(_decode(topic), {})
            if _decode(name) in of_topic:
                raise TrecEvalError(f"{source.name}:{number}: expected one line for each topic and measure, "
                                    f"found {_quoted(name)} of topic {_quoted(topic)} again")
            of_topic[_decode(name)] = pair[0], pair[1]
    return norms


def evaluate_files(qrels: Any, run: Any, measures: Iterable[str] = ("official",), *,
                   zscores: Optional[Zscores] = None, rel_format: str = "qrels",
                   results_format: str = "trec_results", **settings: Any) -> Evaluation:
    """Evaluate the run in one file on the judgments in another, one topic at a time.

    `qrels` and `run` as for `read_qrels` and `read_run`, in the formats that
    these read, everything else as for `evaluate`; the summary has the runid,
    too, if the run has a tag.  Memory does not grow with the
    length of a run that is given as a path.  Suspicious input is warned of
    (TrecEvalWarning).

    >>> run = ["1 Q0 b 1 0.9 bm25", "1 Q0 a 2 0.1 bm25"]
    >>> evaluate_files(["1 0 a 1"], run, ["runid", "recip_rank"]).summary
    {'runid': 'bm25', 'recip_rank': 0.5}
    """
    notes = Notes()
    form = _format(JUDGMENT_FILES, rel_format, "judgments")
    layout = _format(RUN_FILES, results_format, "results")
    checked, norms = _checked_settings(rel_format=form.rel_format, **settings), _checked_norms(zscores)
    judged, retrieved = Source.of(qrels, "qrels", form.layout), Source.of(run, "run", layout)
    evaluated = _evaluate_files(judged, retrieved, measures, checked, notes, norms=norms)
    notes.warn()
    return evaluated.evaluation()


INSTEAD_OF_DICTS.append(((str, bytes, os.PathLike, io.IOBase), "for files there is evaluate_files"))


def _evaluate_files(qrels: Source, run: Source, requests: Iterable[str], settings: Settings, notes: Notes, *,
                    norms: Optional[Zscores] = None) -> Evaluated:
    """Evaluate a run on judgments, both in files."""
    columns = _columns(requests, settings, notes)
    judgments = JUDGMENT_FILES[settings.rel_format].read(qrels, settings.release, notes)
    return _evaluate_run(qrels, judgments, run, columns, settings, notes, norms=norms)


def _evaluate_run(qrels: Source, judgments: Judgments, run: Source, columns: list[Column], settings: Settings,
                  notes: Notes, *, only: Optional[str] = None, norms: Optional[Zscores] = None,
                  progress: Optional[Progress] = None, keeps_judged: bool = False) -> Evaluated:
    """Evaluate a run on judgments that have been read; `only` is the one topic wanted, if not all are."""
    form = JUDGMENT_FILES[settings.rel_format]
    topic = None if only is None else _encode(only)
    wanted = judgments.topics.keys() if topic is None else {topic} & judgments.topics.keys()
    reader = RunReader(run, wanted, settings.release, notes, progress)
    if "tag" not in reader.layout.fields:
        columns = [column for column in columns if column.measure.summary != "run tag"]
    failures: Failures = {}
    evaluated = Evaluated(columns, settings, keeps_judged)
    doubts = Doubts()
    for judged_topic in _judged_topics(judgments, reader, evaluated, failures, topic):
        evaluated.add(judged_topic)
        doubts.look_at(judged_topic, settings)
    for failed in sorted(failures):
        error = failures[failed]
        if error is not None:
            raise TrecEvalError(f"topic {_quoted(failed)}: {error}", status=4)
        if failed in judgments.duplicated:
            raise form.error(qrels, settings.release, failed)
        raise _duplicate(run, reader.layout, settings.release, failed)
    if not evaluated.rows:
        in_run = _topics_of(run, settings.release)
        if topic is None:
            raise _nothing_in_common((qrels.name, judgments.topics), (run.name, in_run))
        found = run.name if topic in in_run else "neither"
        if topic in judgments.topics:
            found = qrels.name
        raise TrecEvalError(f"expected topic {_quoted(topic)} in both {qrels.name} and {run.name}, "
                            f"found it in {found}", status=7)
    missing = sorted(judgments.topics.keys() - evaluated.rows.keys())
    if missing and not settings.complete and only is None:
        topics = _plural(len(judgments.topics), "topic")
        notes.add("missing topics", run.name, f"{len(missing)} of {topics} in {qrels.name} have no results "
                  f"(first {_quoted(missing[0])}) and are ignored; with -c (complete=True) they would count")
    doubts.note(columns, judgments, settings, run.name, notes)
    evaluated.average_over(judgments)
    evaluated.over = evaluated.over._replace(run_tag=_decode(reader.tag))
    if norms is not None:
        evaluated.convert_to_zscores(norms, notes)
    return evaluated


def _topics_of(run: Source, release: Release) -> set[bytes]:
    """The topics that a run has results for."""
    layout = run.layout or _RUN
    if layout.is_json:
        return set(_json_topics(run, layout, _checked_scores))
    return {topic for _, columns in _tables(run, layout, release, Notes()) for topic in columns[0]}


# ---- The interface of pytrec_eval ----
# `import trec_eval_ref as pytrec_eval` runs programs written for pytrec_eval:
# the same names, the same arguments, the same values.

__all__ += ["RelevanceEvaluator", "compute_aggregated_measure", "parse_qrel", "parse_run",
            "supported_measures", "supported_nicknames"]

_PYTREC_EVAL_RELEASE = RELEASES["9.0.8"]  # whose rules pytrec_eval follows

supported_measures: set[str] = set(NICKNAMES["all_trec"]) - _PYTREC_EVAL_RELEASE.lacks
supported_nicknames: dict[str, set[str]] = {
    nickname: set(names) - _PYTREC_EVAL_RELEASE.lacks for nickname, names in NICKNAMES.items()}

_NUMBER_AFTER_UNDERSCORE = re.compile(r"(.+?)_((?:p=)?[-+]?\.?[0-9].*)")


class RelevanceEvaluator:
    """Evaluates any number of runs on the same judgments, as pytrec_eval's class of that name does.

    query_relevance        {topic: {docno: grade}}
    measures               measures and nicknames; parameters follow a dot or an
                           underscore: "ndcg_cut.5,10", "P_5"
    relevance_level        the least grade that counts as relevant
    judged_docs_only_flag  whether unjudged documents are removed from rankings
    release                the rules of which trec_eval; pytrec_eval has those of
                           9.0.8, in which scores are 32-bit floats

    The judgments are copied.  An evaluator never changes, so that threads can
    share it, and it can be pickled.

    >>> evaluator = RelevanceEvaluator({"1": {"a": 1, "b": 0}}, {"map", "P_1,2", "gm_map"})
    >>> evaluator.evaluate({"1": {"a": 0.5, "b": 1.5}})
    {'1': {'map': 0.5, 'gm_map': -0.6931471805599453, 'P_1': 0.0, 'P_2': 0.5}}
    """

    def __init__(self, query_relevance: Mapping[str, Mapping[str, int]], measures: Iterable[str],
                 relevance_level: int = 1, judged_docs_only_flag: bool = False, *, release: str = "9.0.8"):
        try:
            level = operator.index(relevance_level)
            judged_only = bool(operator.index(judged_docs_only_flag))
        except TypeError:
            raise TypeError("expected integers as relevance_level and judged_docs_only_flag, "
                            f"found {relevance_level!r} and {judged_docs_only_flag!r}") from None
        if level < 1:
            hint = "; evaluate() takes relevance_level=0" if level == 0 else ""
            raise TypeError(f"expected a relevance_level from 1, found {level}{hint}")
        self._settings = Settings(_release(release), level, judged_only=judged_only)
        notes = Notes()
        self._columns = _columns(_merged(measures, self._settings.release), self._settings, notes)
        notes.warn()
        self._names = [_name_of(column) for column in self._columns]
        print_alike = {column.name for column in self._columns if column.measure.parameters.kind == "levels"}
        for name, number in Counter(self._names).items():
            if number > 1 and name not in print_alike:
                raise TrecEvalError(f"measure {name}: expected its parameters once, "
                                    f"found {number} different ones", status=1)
        qrels: dict[str, dict[str, int]] = {}
        for topic, judgments in _items(query_relevance, "query_relevance"):
            checked = _checked_grades(topic, judgments)
            if checked:
                qrels[topic] = dict(checked)
        self._judgments = Judgments(qrels)

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Evaluate a run {topic: {docno: score}}; the result is {topic: {printed name: value}}.

        The topics are those that have judgments and are in the run.  A topic
        with an empty ranking is one of them.  gm_map and gm_bpref are logarithms,
        num_q is 1, runid and relstring are 0.

        Raises TypeError for a topic or docno that is no string and for a score
        that is no number, TrecEvalError (a ValueError) for NaN.
        """
        evaluated = Evaluated(self._columns, self._settings)
        for topic in _judged_topics(self._judgments, self._rankings(scores), evaluated, {}):
            evaluated.add(topic)
        return {topic: dict(zip(self._names, row)) for topic, row in evaluated.rows.items()}

    def _rankings(self, scores: Any) -> Rankings:
        """The rankings of the topics that have judgments; those of other topics are checked alike."""
        for topic, ranking in _items(scores or {}, "scores"):
            ranking = _checked_scores(topic, ranking)
            if topic in self._judgments.topics:
                yield topic, ranking, len(ranking)


def _merged(measures: Iterable[str], release: Release) -> Iterator[str]:
    """The requests for measures in trec_eval's spelling, merged for each measure where they can be.

    As in pytrec_eval, numbers for the same measure go together, each of them
    once, sorted as texts; and so of several values for set_F the first counts.
    """
    together: dict[str, set[str]] = {}
    for request in [measures] if isinstance(measures, str) else measures:
        underscored = isinstance(request, str) and _NUMBER_AFTER_UNDERSCORE.fullmatch(request)
        if underscored and underscored.group(1) in MEASURES:
            request = ".".join(underscored.groups())
        found = _trec_eval_request(request, release) if isinstance(request, str) else None
        if found is None:
            yield request
            continue
        name, text = found
        if text and name in NICKNAMES and name not in MEASURES:
            raise TrecEvalError(f"measure {name}: expected a nickname without parameters, "
                                f"found {_quoted(text)}", status=1)
        if text and "=" not in text and len(_default_variants(MEASURES[name].parameters)[0][1]) == 1:
            together.setdefault(name, set()).update(text.split(","))
        else:
            yield request
    for name, numbers in together.items():
        yield f"{name}.{','.join(sorted(numbers))}"


def _name_of(column: Column) -> str:
    """The printed name of a column, but as in pytrec_eval set_F and not set_F_0.5."""
    has_several_values = column.measure.parameters.kind in ("cutoffs", "levels")
    keeps_name = column.is_named or has_several_values or "=" in column.name
    return column.name if keeps_name else column.measure.name


def parse_qrel(f_qrel: Any) -> dict[str, dict[str, int]]:
    """Read judgments, lines of `topic iter docno grade`, into {topic: {docno: grade}}.

    `f_qrel` is an open file or an iterable of lines, or a path.  Stricter than
    `read_qrels`: raises TrecEvalError (a ValueError) for a grade that is not an
    integer, AssertionError if a topic judges a document twice.  A grade may have
    more than 64 bits.

    >>> dict(parse_qrel(["301 0 FT911-1 1", "301 0 FT911-2 0"]))
    {'301': {'FT911-1': 1, 'FT911-2': 0}}
    """
    def grade(text: bytes) -> Optional[int]:
        """An integer of any size."""
        is_integer = _INTEGER.fullmatch(text) and len(text) < 4000  # int() refuses more digits
        return int(text) if is_integer else None
    return _parsed(Source.of(f_qrel, "qrels"), _QRELS, "grade", "an integer", grade)


def parse_run(f_run: Any) -> dict[str, dict[str, float]]:
    """Read a run, lines of `topic Q0 docno rank score tag`, into {topic: {docno: score}}.

    `f_run` as for `parse_qrel`, and with the same errors, for scores that are
    not numbers and for lines of more than six fields, too.

    >>> dict(parse_run(["301 Q0 FT911-1 1 2.5 bm25", "301 Q0 FT911-2 2 1e-3 bm25"]))
    {'301': {'FT911-1': 2.5, 'FT911-2': 0.001}}
    """
    def score(text: bytes) -> Optional[float]:
        """A plain number."""
        number, is_plain = _decimal(text)
        return number if is_plain else None
    return _parsed(Source.of(f_run, "run"), _RUN._replace(has_more=False), "score", "a number", score)


def _parsed(source: Source, layout: Layout, field: str, expected: str,
            convert: Callable[[bytes], Any]) -> dict[str, dict[str, Any]]:
    """{topic: {docno: one field}}, as pytrec_eval gives it; `convert` returns None for what is no number."""
    parsed: dict[str, dict[str, Any]] = defaultdict(dict)  # in which, as there, any other topic is empty
    if not any(block.strip() for block in source.blocks()):
        return parsed
    place = layout.fields.index(field)
    for numbers, columns in _tables(source, layout, _PYTREC_EVAL_RELEASE, Notes()):
        for number, topic, docno, text in zip(numbers, columns[0], columns[2], columns[place]):
            documents = parsed[_decode(topic)]
            if _decode(docno) in documents:
                raise AssertionError(_duplicate(source, layout, _PYTREC_EVAL_RELEASE, topic))
            value = convert(text)
            if value is None:
                raise TrecEvalError(f"{source.name}:{number}: expected {expected} as {field}, "
                                    f"found {_quoted(text)}")
            documents[_decode(docno)] = value
    return parsed


def compute_aggregated_measure(measure: str, values: Iterable[float]) -> float:
    """The value of a measure over all topics, from its values for each of them.

    It is the sum of counts (num_...), the exponential of the mean of logarithms
    (gm_...), and the mean of all else.  NaN if there are no values.

    >>> compute_aggregated_measure("map", [0.25, 0.75])
    0.5
    >>> compute_aggregated_measure("num_ret", [10.0, 5.0])
    15.0
    >>> compute_aggregated_measure("gm_map", [math.log(0.25), math.log(1.0)])
    0.5

    pytrec_eval adds with numpy, in another order than trec_eval does, so the
    last digit can differ from that of `evaluate`'s summary.
    """
    numbers = array("d", values)
    sum_of_all = _add_as_numpy(numbers)
    if measure.startswith("num_"):
        return sum_of_all
    if not numbers:
        return math.nan
    mean_of_all = sum_of_all / len(numbers)
    try:
        return math.exp(mean_of_all) if measure.startswith("gm_") else mean_of_all
    except OverflowError:
        return math.inf


def _add_as_numpy(numbers: Sequence[float]) -> float:
    """The sum in numpy's order, which halves long lists, and adds every eighth number of shorter ones."""
    length = len(numbers)
    if length > 128:
        half = length // 16 * 8
        return _add_as_numpy(numbers[:half]) + _add_as_numpy(numbers[half:])
    if length < 8:
        return _plain_sum(numbers)
    even = length // 8 * 8
    a, b, c, d, e, f, g, h = [_plain_sum(numbers[i:even:8]) for i in range(8)]
    return _plain_sum([((a + b) + (c + d)) + ((e + f) + (g + h)), *numbers[even:]])


def _plain_sum(numbers: Iterable[float]) -> float:
    """The sum from left to right, as in `add_up`."""
    total = 0.0
    for number in numbers:
        total += number
    return total


# ---- Judgments by several people, and preferences ----
# Several people, the judgment groups, may judge a topic: each with grades of
# their own (-R qrels_jg), or with preferences between documents (-R prefs and
# qrels_prefs).  The formats, their files and their nicknames are registered in
# the tables of the rooms above.

__all__ += ["PreferenceCounts", "PreferenceGroup", "PreferenceRanking", "example_preferences", "judge_prefs",
            "read_prefs", "read_qrels_jg"]

GroupRankings = Mapping[str, JudgedRanking]  # one ranking as each judgment group sees it, by the group's name
Preferences = Mapping[Any, Mapping[Any, Sequence[tuple[Any, float]]]]  # {group: {subgroup: [(docno, level)]}}


def _group_rankings(groups: Mapping[Any, Mapping[Any, int]], scores: Mapping[Any, float],
                    each: Sequence[Settings]) -> list[GroupRankings]:
    """The ranking by each group's judgments, in byte order of their names, under each of several Settings."""
    judged = {_decode(group): _judged_rankings(groups[group], scores, each)
              for group in sorted(groups, key=_encode)}
    return [{group: rankings[i] for group, rankings in judged.items()} for i in range(len(each))]


def _group_views(groups: Mapping[Any, Mapping[Any, int]],
                 rankings: GroupRankings) -> list[tuple[str, JudgedRanking, Mapping[Any, float]]]:
    """See RelFormat.views."""
    return [(f"group {name}", ranking, groups[group])
            for group, (name, ranking) in zip(sorted(groups, key=_encode), rankings.items())]


# A set of documents is an integer from here on: bit p stands for the document at position p.


def _has(documents: int, position: int) -> bool:
    """Whether a set has the document at a position."""
    return bool(documents >> position & 1)


def _size(documents: int) -> int:
    """The number of documents in a set."""
    return bin(documents).count("1")  # int.bit_count came with Python 3.10


def _first(count: int, documents: int) -> int:
    """The first documents of a set, at most so many.

    >>> bin(_first(2, 0b1101))
    '0b101'
    """
    others = documents
    for _ in range(count):
        others &= others - 1  # clears the lowest bit
    return documents ^ others


def _among(documents: int, rows: Sequence[int]) -> list[int]:
    """Of preferences, those between documents of a set."""
    return [row & documents if _has(documents, position) else 0 for position, row in enumerate(rows)]


def _number_of(rows: Iterable[int]) -> int:
    """The number of preferences."""
    return sum(map(_size, rows))


class PreferenceCounts(NamedTuple):
    """Preferences, counted by how many of their two documents are retrieved.

    ful_ret, poss_ret  both are: the preferences fulfilled, and all of them
    ful_imp, poss_imp  one is (implied preferences): those fulfilled, and all
    absent             none is; such a preference is never fulfilled
    """

    ful_ret: int
    ful_imp: int
    poss_ret: int
    poss_imp: int
    absent: int

    @property
    def fulfilled(self) -> int:
        """All preferences fulfilled."""
        return self.ful_ret + self.ful_imp

    @property
    def possible(self) -> int:
        """All preferences, fulfilled or not."""
        return self.poss_ret + self.poss_imp + self.absent


class PreferenceGroup:
    """What one judgment group prefers, on one topic, and how a ranking follows it.

    A judgment group is one opinion, such as that of one judge.  It is stated as
    levels, within subgroups.  In a subgroup a document is preferred to every
    one of a lower level; levels of different subgroups are not compared.  So a
    judge who sees ten documents a page makes one subgroup a page.

    Preferences are transitive: if a is preferred to b in one subgroup, and b to
    c in another, then the group prefers a to c, although no line says so.
    (Within a single subgroup that goes without saying.)  It would be a
    contradiction if two documents came to be preferred to each other.
    Different groups, however, may contradict each other.

    A ranking fulfils the preference of a to b if it retrieves a, and b later or
    not at all.  A preference is implied if one of the two is retrieved, because
    a ranking that has only a is taken to prefer a.

    num_ret      the number of retrieved documents
    rows         rows[a] is the set of documents to which the group prefers the
                 document at position a.  The retrieved documents come first, by
                 rank, then all others that some group of the topic names, by
                 ascending docno; positions count from 0
    classes      with one subgroup: the sets of documents of equal level, that
                 of the highest level first; empty with several subgroups
    relevant     the set of the group's documents with a level above 0
    nonrelevant  the set of those with level 0, or a negative one

    >>> group = example_preferences("cab", "a2 b1 | b2 c1").groups["g1"]  # c is at position 0, a at 1, b at 2
    >>> [bin(row) for row in group.rows]  # c is preferred to none, a to b and by transitivity to c, b to c
    ['0b0', '0b101', '0b1']
    """

    def __init__(self, num_ret: int, rows: Sequence[int], classes: Sequence[int],
                 relevant: int, nonrelevant: int):
        self.num_ret = num_ret
        self.rows = rows
        self.classes = classes
        self.relevant = relevant
        self.nonrelevant = nonrelevant
        self.documents = (1 << len(rows)) - 1
        self.retrieved = (1 << num_ret) - 1

    def fulfilled(self, rows: Sequence[int]) -> int:
        """The number of preferences that the ranking fulfils."""
        return _number_of([row >> position + 1 for position, row in enumerate(rows[:self.num_ret])])

    @functools.cached_property
    def counts(self) -> PreferenceCounts:
        """The preferences of the group, counted.

        >>> example_preferences("ba", "a3 b2 c1 d0").groups["g1"].counts  # a > b; a, b > c, d; c > d
        PreferenceCounts(ful_ret=0, ful_imp=4, poss_ret=1, poss_imp=4, absent=1)
        """
        both = _among(self.retrieved, self.rows)
        none = _among(self.documents ^ self.retrieved, self.rows)
        ful_ret, poss_ret, absent = self.fulfilled(both), _number_of(both), _number_of(none)
        return PreferenceCounts(ful_ret, self.fulfilled(self.rows) - ful_ret,
                                poss_ret, _number_of(self.rows) - poss_ret - absent, absent)

    def balanced(self, documents: int) -> tuple[int, int]:
        """Fulfilled and all preferences among documents, with as many nonrelevant ones as relevant ones.

        `balanced_group_preference` says what that means, and what is odd about it.
        """
        rows = _among(documents, self.rows)
        relevant, nonrelevant = self.relevant & documents, self.nonrelevant & documents
        surplus = _size(relevant) - _size(nonrelevant)
        if surplus >= 0:
            return (self.fulfilled(rows) + surplus * _size(self.relevant & self.retrieved),
                    _number_of(rows) + surplus * _size(self.relevant))
        if self.classes:
            last = self.classes[-1] & documents
            kept = _first(_size(relevant), last)
            rows = [(row & ~last) | kept if _has(relevant | nonrelevant, position) else 0
                    for position, row in enumerate(rows)]
        else:
            rows = _among(relevant | _first(_size(self.relevant), nonrelevant), rows)
        return self.fulfilled(rows), _number_of(rows)


Pairs = list[tuple[str, float]]  # "a before b", and what fraction of the preferences on the two this fulfils


class PreferenceRanking:
    """The ranking of one topic as a measure on preferences sees it.

    docnos   all documents that the topic's judgment groups name, by position:
             the retrieved ones by rank, then the others by ascending docno
    num_ret  the number of those retrieved
    groups   {name: PreferenceGroup} in byte order of the names

    >>> topic = example_preferences("bxa", "a2 b1 c0", "b1 a0")  # no group names x
    >>> topic.docnos, topic.num_ret, list(topic.groups)
    (['b', 'a', 'c'], 2, ['g1', 'g2'])
    """

    def __init__(self, docnos: Sequence[str], num_ret: int, groups: Mapping[str, PreferenceGroup]):
        self.docnos = docnos
        self.num_ret = num_ret
        self.groups = groups

    @functools.cached_property
    def counts(self) -> PreferenceCounts:
        """The preferences of all groups, counted."""
        return PreferenceCounts(*map(sum, zip((0,) * 5, *[group.counts for group in self.groups.values()])))

    @functools.cached_property
    def pairs(self) -> tuple[Pairs, Pairs, Pairs]:
        """The pairs of documents on which groups have preferences: with both retrieved, with one, with none.

        Each comes with the fraction of these groups that prefers the document
        at the smaller position; with 0 if neither is retrieved.

        >>> example_preferences("ba", "a2 b1 c0", "b1 a0", "b1 a0").pairs
        ([('b before a', 0.6666666666666666)], [('b before c', 1.0), ('a before c', 1.0)], [])
        """
        both: Pairs = []
        one: Pairs = []
        none: Pairs = []
        size = len(self.docnos)
        preferring = []  # [i][j]: the number of groups that prefer document i to j
        for i in range(size):
            # The binary digits of row i, lowest first, say to which documents the group prefers i.
            digits = [f"{group.rows[i]:0{size}b}"[::-1] for group in self.groups.values()]
            preferring.append([votes.count("1") for votes in zip(*digits)])
        for i, (wins, losses) in enumerate(zip(preferring, zip(*preferring))):
            for j in range(i + 1, size):
                if wins[j] or losses[j]:
                    label = f"{self.docnos[i]} before {self.docnos[j]}"
                    if i < self.num_ret:
                        pairs = both if j < self.num_ret else one
                        pairs.append((label, wins[j] / (wins[j] + losses[j])))
                    else:
                        none.append((label, 0.0))
        return both, one, none


def _closed(rows: list[int]) -> list[int]:
    """The transitive closure of preferences: Warshall's algorithm, whole rows at a time."""
    for position in range(len(rows)):
        document, beyond = 1 << position, rows[position]
        if beyond:
            rows = [row | beyond if row & document else row for row in rows]
    return rows


def _preference_group(subgroups: Mapping[Any, Sequence[tuple[Any, float]]], positions: Mapping[Any, int],
                      num_ret: int, release: Release) -> PreferenceGroup:
    """What a group prefers, given its subgroups and each document's position."""
    rows = [0] * len(positions)
    relevant = nonrelevant = 0
    classes: list[int] = []
    for members in subgroups.values():
        levels = release.keep_scores([level for _, level in members])
        by_level = dict.fromkeys(sorted(levels), 0)
        for (docno, _), level in zip(members, levels):
            by_level[level] |= 1 << positions[docno]
        below = dict(zip(by_level, itertools.accumulate(by_level.values(), operator.or_, initial=0)))
        for (docno, _), level in zip(members, levels):
            document = 1 << positions[docno]
            rows[positions[docno]] |= below[level] & ~document  # it may have two levels here
            if level > 0:
                relevant |= document
            else:
                nonrelevant |= document
        classes = list(by_level.values())[::-1]
    if len(subgroups) > 1:
        rows, classes = _closed(rows), []
    return PreferenceGroup(num_ret, rows, classes, relevant, nonrelevant)


def _contradiction(rows: Sequence[int], docnos: Sequence[Any]) -> Optional[tuple[Any, Any]]:
    """The first two documents, by docno, that closed preferences prefer to each other, if there are any."""
    in_cycle = [position for position, row in enumerate(rows) if _has(row, position)]
    if not in_cycle:
        return None
    in_cycle.sort(key=lambda position: _encode(docnos[position]))
    a = in_cycle[0]
    b = next(b for b in in_cycle[1:] if _has(rows[a], b) and _has(rows[b], a))
    return docnos[a], docnos[b]


def _preference_rankings(groups: Preferences, scores: Mapping[Any, float],
                         each: Sequence[Settings]) -> list[PreferenceRanking]:
    """Rank a topic's scores, and join its preferences, under each of several Settings."""
    return [_preference_ranking(groups, scores, settings) for settings in each]


def _preference_ranking(groups: Preferences, scores: Mapping[Any, float],
                        settings: Settings) -> PreferenceRanking:
    """Rank a topic's scores, and join its preferences.  Raises if a group contradicts itself."""
    names = sorted(groups, key=_encode)
    named: set[Any] = set()
    for group in names:
        members = [member for subgroup in groups[group].values() for member in subgroup]
        several = len(groups[group]) > 1
        conflict = _conflict(members, several, settings.release)
        if conflict:
            raise TrecEvalError(f"group {_quoted(group)}: {_expected_levels(*conflict, several)}")
        named.update(docno for docno, _ in members)
    docnos = [docno for _, docno in _place(named, {}, scores, settings)[0]]
    num_ret = len(docnos)
    docnos += sorted(named.difference(docnos), key=_encode)
    positions = {docno: position for position, docno in enumerate(docnos)}
    by_name = {}
    for group in names:
        preferences = _preference_group(groups[group], positions, num_ret, settings.release)
        contradiction = _contradiction(preferences.rows, docnos)
        if contradiction:
            a, b = map(_quoted, contradiction)
            raise TrecEvalError(
                f"group {_quoted(group)}: expected preferences that do not contradict each other, "
                f"found {a} preferred to {b}, and {b} to {a}")
        by_name[_decode(group)] = preferences
    return PreferenceRanking([_decode(docno) for docno in docnos], num_ret, by_name)


def _graded_preference_rankings(groups: Mapping[Any, Mapping[Any, float]], scores: Mapping[Any, float],
                                each: Sequence[Settings]) -> list[PreferenceRanking]:
    """Take the grades of each judgment group for the levels of its one subgroup."""
    return _preference_rankings({group: {"": list(grades.items())} for group, grades in groups.items()},
                                scores, each)


def _conflict(members: Iterable[tuple[Any, ...]], several: bool,
              release: Release) -> Optional[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """The first (docno, level, ...) of a judgment group that an earlier one excludes, after that one.

    In a group of one subgroup a document has one level.  If there are `several`
    subgroups it may have several levels, which make it either relevant or not.
    """
    first: dict[Any, tuple[Any, ...]] = {}
    for member in members:
        before = first.setdefault(member[0], member)
        if before is member:
            continue
        was_relevant, is_relevant = [level > 0 for level in release.keep_scores((before[1], member[1]))]
        if not several or was_relevant != is_relevant:
            return before, member
    return None


def _expected_levels(before: tuple[Any, ...], again: tuple[Any, ...], several: bool) -> str:
    """What is wrong with the two that `_conflict` found."""
    if several:
        return ("expected either level 0 or levels above 0 for a document of a group, "
                f"found {before[1]:g} and {again[1]:g} for {_quoted(again[0])}")
    return f"expected each document of a group that has one subgroup once, found {_quoted(again[0])} again"


def judge_prefs(preferences: Preferences, scores: Mapping[str, float], *, release: str = "10.0",
                depth: Optional[int] = None) -> PreferenceRanking:
    """Rank one topic's {docno: score} and join its preferences {group: {subgroup: [(docno, level), ...]}}.

    Documents are ranked by score, descending; equal scores by docno in
    ascending byte order, the reverse of what `judge` does.

    >>> topic = judge_prefs({"ann": {"page 1": [("a", 2), ("b", 1)]}}, {"b": 3.0, "a": 3.0})
    >>> topic.docnos
    ['a', 'b']
    >>> fulfilled_preferences(topic)
    1.0
    """
    settings = _checked_settings(release, depth=depth, rel_format="prefs")
    return _preference_ranking(_checked_preferences("", preferences), _checked_scores("", scores), settings)


def example_preferences(ranking: str, *groups: str) -> PreferenceRanking:
    """The PreferenceRanking of a small example: a character for each retrieved document, and the groups.

    "a2 b1 | b1 c0" is a group of two subgroups, each with two documents and
    their levels.  The groups are named g1, g2 and so on.

    >>> topic = example_preferences("ca", "a2 b1 | b1 c0")
    >>> topic.docnos, topic.num_ret
    (['c', 'a', 'b'], 2)
    """
    preferences = {
        f"g{number}": {subgroup: [(member[0], float(member[1:])) for member in subgroup.split()]
                       for subgroup in group.split("|")}
        for number, group in enumerate(groups, start=1)}
    return judge_prefs(preferences, {docno: -float(rank) for rank, docno in enumerate(ranking)})


def _sum_over_groups(groups: Iterable[str], terms: Sequence[float]) -> Value:
    """The sum of one term for each group."""
    return add_up([f"group {name}" for name in groups], terms)


def _mean_over_groups(groups: Iterable[str], terms: Sequence[float]) -> Value:
    """The mean of one term for each group."""
    return _sum_over_groups(groups, terms) / len(terms)


@measure("map_avgjg", rel_formats=("qrels_jg",))
def group_average_precision(groups: GroupRankings) -> Value:
    """Average precision, averaged over the judgment groups of a topic.

        map_avgjg = mean over the groups of AP by the judgments of the group
        AP = (1 / R) * sum of P@k over the ranks k of relevant documents

    The one ranking has a value by the judgments of each group.  The topic's value
    is their mean, so that it counts once, however many people have judged it.

    >>> ann, bob = example_ranking("10"), example_ranking("01")  # two opinions on one ranking
    >>> group_average_precision({"ann": ann, "bob": bob})  # (1 + 1/2) / 2
    0.75

    With -J each group drops the documents that it did not judge itself.
    """
    return _mean_over_groups(groups, [average_precision(ranking) for ranking in groups.values()])


@measure("P_avgjg", cutoffs(5, 10, 15, 20, 30, 100, 200, 500, 1000), rel_formats=("qrels_jg",))
def group_precision(groups: GroupRankings, k: int) -> Value:
    """Precision at k, averaged over the judgment groups of a topic.

        P_avgjg(k) = mean over the groups of P@k by the judgments of the group

    >>> ann, bob = example_ranking("10"), example_ranking("01")
    >>> group_precision({"ann": ann, "bob": bob}, 1)  # (1 + 0) / 2
    0.5
    """
    return _mean_over_groups(groups, [precision(ranking, k) for ranking in groups.values()])


@measure("Rprec_mult_avgjg", levels(0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
         rel_formats=("qrels_jg",))
def group_multiple_r_precision(groups: GroupRankings, multiple: float) -> Value:
    """Precision at a multiple of R, averaged over the judgment groups of a topic.

        Rprec_mult_avgjg(multiple) = mean over the groups of P@k by the judgments of the group,
        with k = trunc(multiple * R + 0.9)

    R, and with it the rank, differs from group to group.

    >>> ann, bob = example_ranking("110"), example_ranking("010")
    >>> group_multiple_r_precision({"ann": ann, "bob": bob}, 1.0)  # P@2 by ann, P@1 by bob: (2/2 + 0/1) / 2
    0.5
    """
    return _mean_over_groups(groups, [multiple_r_precision(ranking, multiple) for ranking in groups.values()])


_PREFERENCES = ("prefs", "qrels_prefs")


@measure("prefs_num_prefs_poss", summary="sum", is_count=True, rel_formats=_PREFERENCES)
def possible_preferences(topic: PreferenceRanking) -> Value:
    """The preferences of all judgment groups, fulfilled or not.

        prefs_num_prefs_poss = sum over the groups of poss_ret + poss_imp + absent

    These have both documents retrieved, one, and none.

    A group prefers a document to every one of a lower level in the same subgroup.
    If it prefers a to b and b to c, it also prefers a to c.

    >>> possible_preferences(example_preferences("ab", "a2 b1 c0"))  # a > b, a > c, b > c
    3.0
    >>> possible_preferences(example_preferences("ab", "a2 b1 | c2 d1"))  # a > b, c > d: subgroups do not mix
    2.0
    >>> possible_preferences(example_preferences("ab", "a2 b1 | b2 c1"))  # a > b, b > c, and so a > c
    3.0

    Within a group a preference counts once, however often it is stated; of
    different groups each one counts.
    """
    return _sum_over_groups(topic.groups, [group.counts.possible for group in topic.groups.values()])


@measure("prefs_num_prefs_ful", summary="sum", is_count=True, rel_formats=_PREFERENCES)
def fulfilled_preferences(topic: PreferenceRanking) -> Value:
    """The preferences that the ranking fulfils.

        prefs_num_prefs_ful = sum over the groups of ful_ret + ful_imp

    A preference is fulfilled if the preferred document is retrieved, and the
    other one later (ful_ret) or not at all (ful_imp, an implied preference).

    >>> fulfilled_preferences(example_preferences("ba", "a2 b1 c0"))  # a > c and b > c are implied; not a > b
    2.0
    """
    return _sum_over_groups(topic.groups, [group.counts.fulfilled for group in topic.groups.values()])


@measure("prefs_num_prefs_ful_ret", summary="sum", is_count=True, rel_formats=_PREFERENCES)
def fulfilled_preferences_retrieved(topic: PreferenceRanking) -> Value:
    """The preferences between two retrieved documents that the ranking fulfils.

        prefs_num_prefs_ful_ret = sum over the groups of ful_ret

    >>> fulfilled_preferences_retrieved(example_preferences("ab", "a2 b1 c0"))  # a > b
    1.0
    """
    return _sum_over_groups(topic.groups, [group.counts.ful_ret for group in topic.groups.values()])


@measure("prefs_simp", rel_formats=_PREFERENCES)
def simple_preference(topic: PreferenceRanking) -> Value:
    """The fraction of the preferences that the ranking fulfils.

        prefs_simp = (ful_ret + ful_imp) / (poss_ret + poss_imp + absent), each summed over the groups

    So a group with many preferences outweighs one with few.  The value is 0 if no group
    has a preference.

    >>> simple_preference(example_preferences("ba", "a2 b1 c0", "b1 a0"))  # all four but a > b
    0.75
    """
    counts = topic.counts
    return add_up(("both retrieved", "implied"), (counts.ful_ret, counts.ful_imp)) / counts.possible


def _mean_over_pairs(pairs: Pairs) -> Value:
    """The mean of the pairs' fractions."""
    return add_up([label for label, _ in pairs], [fraction for _, fraction in pairs]) / len(pairs)


@measure("prefs_pair", rel_formats=_PREFERENCES)
def pair_preference(topic: PreferenceRanking) -> Value:
    """The fraction of preferences fulfilled, averaged over the pairs of documents.

        prefs_pair = mean over the pairs i, j of c(i, j) / (c(i, j) + c(j, i))

    The pairs are those on which at least one group has a preference.  Document
    i is ranked before j or retrieved without it; c(i, j) groups prefer i to j.
    A pair of which neither is retrieved adds 0.  So each pair weighs the same,
    however many groups have a preference on it.

    >>> pair_preference(example_preferences("ba", "a2 b1", "b1 a0", "b1 a0 c0"))
    0.8333333333333333
    >>> # b before a: 2 of 3 groups; b before c: the 1 that has a preference; so (2/3 + 1/1) / 2
    """
    both, one, none = topic.pairs
    return _mean_over_pairs(both + one + none)


@measure("prefs_avgjg", rel_formats=_PREFERENCES)
def group_preference(topic: PreferenceRanking) -> Value:
    """The fraction of preferences fulfilled, averaged over the judgment groups.

        prefs_avgjg = mean over the groups of (ful_ret + ful_imp) / (poss_ret + poss_imp + absent)

    So each group weighs the same, however many preferences it has.  One that
    has none, since all documents are equal to it, adds 0.

    >>> group_preference(example_preferences("ba", "a2 b1 c0", "b1 a0"))  # (2/3 + 1/1) / 2
    0.8333333333333333
    """
    return _mean_over_groups(topic.groups, [
        Value(group.counts.fulfilled) / group.counts.possible for group in topic.groups.values()])


def _mean_over_balanced(groups: Iterable[str], counted: Sequence[tuple[int, int]]) -> Value:
    """The mean of the groups' fulfilled / possible, but 0 if any of the groups has no possible ones."""
    if not all(possible for _, possible in counted):
        return Value(0.0)
    return _mean_over_groups(groups, [Value(fulfilled) / possible for fulfilled, possible in counted])


@measure("prefs_avgjg_Rnonrel", rel_formats=_PREFERENCES)
def balanced_group_preference(topic: PreferenceRanking) -> Value:
    """As prefs_avgjg, but as if each group had as many nonrelevant documents as relevant ones.

        prefs_avgjg_Rnonrel = mean over the groups of f / p

    f of p preferences are fulfilled, after nonrelevant documents (level 0) have been
    added or left out so that there are as many as relevant ones (level above 0).
    -h -m prefs_avgjg_Rnonrel says how, with examples.

    Mostly there are far more nonrelevant documents, and then the preferences of
    relevant to nonrelevant documents drown those among relevant ones.  With Y
    relevant and X nonrelevant documents in the group, retrieved or not:

    If Y >= X, imagine Y - X more nonrelevant documents which are not retrieved.
    Each relevant document is preferred to each of them:

        f = ful_ret + ful_imp + (relevant documents retrieved) * (Y - X)
        p = poss_ret + poss_imp + absent + Y * (Y - X)

    >>> balanced_group_preference(example_preferences("b", "a2 b1"))  # not a > b; b > 2 others: f = 2, p = 5
    0.4

    If Y < X, only the first Y nonrelevant documents are kept: the retrieved
    ones by rank, then the others by docno.  If the group has several subgroups,
    this leaves the preferences without the other nonrelevant documents:

    >>> balanced_group_preference(example_preferences("abc", "a1 b0 | a1 c0"))  # a > b; c is left out
    1.0

    Here is the first oddity.  If the group has one subgroup, every document of
    it counts as preferred to each kept one: relevant documents, as it should
    be, but also nonrelevant ones, kept or not, and even the kept one to itself,
    which no ranking can fulfil.  A perfect ranking does not reach 1:

    >>> balanced_group_preference(example_preferences("abc", "a1 b0 c0"))  # a > b; b > b and c > b fail
    0.3333333333333333

    If p = 0 for any of the groups, the topic's value is 0.  Documents with a
    negative level are nonrelevant, too; with one subgroup only those of the
    lowest level are cut to Y and counted like this.

    The second oddity is in prefs_avgjg_Rnonrel_ret.
    """
    return _mean_over_balanced(topic.groups, [
        group.balanced(group.documents) for group in topic.groups.values()])


@measure("prefs_simp_ret", rel_formats=_PREFERENCES)
def simple_preference_retrieved(topic: PreferenceRanking) -> Value:
    """As prefs_simp, of the preferences between two retrieved documents alone.

        prefs_simp_ret = ful_ret / poss_ret, each summed over the groups

    >>> simple_preference_retrieved(example_preferences("ba", "a2 b1 c0", "b1 a0"))  # b > a, but not a > b
    0.5
    """
    return add_up(("both retrieved",), (topic.counts.ful_ret,)) / topic.counts.poss_ret


@measure("prefs_pair_ret", rel_formats=_PREFERENCES)
def pair_preference_retrieved(topic: PreferenceRanking) -> Value:
    """As prefs_pair, of the pairs with both documents retrieved alone.

        prefs_pair_ret = mean over these pairs i, j of c(i, j) / (c(i, j) + c(j, i))

    Document i is ranked before j or retrieved without it; c(i, j) groups prefer i to j.

    >>> pair_preference_retrieved(example_preferences("ba", "a2 b1", "b1 a0", "b1 a0 c0"))  # b before a
    0.6666666666666666
    """
    both, _, _ = topic.pairs
    return _mean_over_pairs(both)


@measure("prefs_avgjg_ret", rel_formats=_PREFERENCES)
def group_preference_retrieved(topic: PreferenceRanking) -> Value:
    """As prefs_avgjg, of the preferences between two retrieved documents alone.

        prefs_avgjg_ret = mean over the groups of ful_ret / poss_ret

    A group without such preferences adds 0.

    >>> group_preference_retrieved(example_preferences("ba", "a2 b1", "b1 a0", "a1 c0"))  # (0/1 + 1/1 + 0)/3
    0.3333333333333333
    """
    return _mean_over_groups(topic.groups, [
        Value(group.counts.ful_ret) / group.counts.poss_ret for group in topic.groups.values()])


@measure("prefs_avgjg_Rnonrel_ret", rel_formats=_PREFERENCES)
def balanced_group_preference_retrieved(topic: PreferenceRanking) -> Value:
    """As prefs_avgjg_Rnonrel, of the retrieved documents alone.

        prefs_avgjg_Rnonrel_ret = mean over the groups of f / p

    f of p preferences are fulfilled, after retrieved nonrelevant documents have been
    added or left out.  -h -m prefs_avgjg_Rnonrel_ret says how, with examples.

    Y and X are the relevant and nonrelevant documents retrieved, here.  The
    second oddity: in two places, trec_eval has R, all relevant documents of the
    group, where one expects Y.  The first is p, if Y >= X:

        f = ful_ret + Y * (Y - X)
        p = poss_ret + R * (Y - X)

    So a ranking that retrieves a, b and nothing nonrelevant has not all of it:

    >>> balanced_group_preference_retrieved(example_preferences("ab", "a1 b1 c1"))  # f = 2 * 2, p = 3 * 2
    0.6666666666666666

    The other one is the case of Y < X with several subgroups, in which the
    first R retrieved nonrelevant documents are kept:

    >>> balanced_group_preference_retrieved(example_preferences("xaz", "a1 x0 z0 | b1"))  # a > z, not a > x
    0.5

    With one subgroup it is the first Y, and against each of these all retrieved
    documents of the group are counted, nonrelevant ones and itself, too:

    >>> balanced_group_preference_retrieved(example_preferences("axz", "a1 x0 z0 b1"))  # a > x; not x, z > x
    0.3333333333333333
    """
    return _mean_over_balanced(topic.groups, [
        group.balanced(group.retrieved) for group in topic.groups.values()])


@measure("prefs_simp_imp", rel_formats=_PREFERENCES)
def simple_preference_implied(topic: PreferenceRanking) -> Value:
    """As prefs_simp, of the preferences with at least one document retrieved.

        prefs_simp_imp = (ful_ret + ful_imp) / (poss_ret + poss_imp), each summed over the groups

    >>> simple_preference_implied(example_preferences("a", "b3 a2 c1 d0"))  # a > c, a > d; not b > a
    0.6666666666666666
    """
    counts = topic.counts
    fulfilled = add_up(("both retrieved", "implied"), (counts.ful_ret, counts.ful_imp))
    return fulfilled / (counts.poss_ret + counts.poss_imp)


@measure("prefs_pair_imp", rel_formats=_PREFERENCES)
def pair_preference_implied(topic: PreferenceRanking) -> Value:
    """As prefs_pair, of the pairs with at least one document retrieved.

        prefs_pair_imp = mean over these pairs i, j of c(i, j) / (c(i, j) + c(j, i))

    Document i is ranked before j or retrieved without it; c(i, j) groups prefer i to j.

    >>> pair_preference_implied(example_preferences("a", "b3 a2 c1 d0"))  # a before b: 0, before c and d: 1
    0.6666666666666666
    """
    both, one, _ = topic.pairs
    return _mean_over_pairs(both + one)


@measure("prefs_avgjg_imp", rel_formats=_PREFERENCES)
def group_preference_implied(topic: PreferenceRanking) -> Value:
    """As prefs_avgjg, of the preferences with at least one document retrieved.

        prefs_avgjg_imp = mean over the groups of (ful_ret + ful_imp) / (poss_ret + poss_imp)

    >>> group_preference_implied(example_preferences("a", "b3 a2 c1 d0", "a1 b0"))  # (2/3 + 1/1) / 2
    0.8333333333333333
    """
    return _mean_over_groups(topic.groups, [
        Value(group.counts.fulfilled) / (group.counts.poss_ret + group.counts.poss_imp)
        for group in topic.groups.values()])


_QRELS_JG = Layout("judgments", ("topic", "group", "docno", "grade"), key=(1, 2), numeric=(3,),
                   other_fields=6)
_PREFS = Layout("preferences", ("topic", "group", "subgroup", "docno", "level"), key=(1, 3), numeric=(4,),
                other_fields=6)


def _levels(texts: Sequence[bytes], numbers: Sequence[int], file: str, notes: Notes) -> list[float]:
    """Convert a column of levels, as C reads decimals."""
    return _scores(texts, numbers, file, notes, "level")


def _read_groups(source: Source, release: Release, notes: Notes,
                 convert: Callable[..., Sequence[float]] = _grades) -> Judgments:
    """Read a file of judgments by several people, whose grades are converted by `_grades` or `_levels`."""
    topics: dict[bytes, dict[bytes, dict[bytes, float]]] = {}
    duplicated = set()
    for numbers, (names, groups, docnos, texts) in _tables(source, _QRELS_JG, release, notes):
        grades = convert(texts, numbers, source.name, notes)
        for topic, group, docno, grade in zip(names, groups, docnos, grades):
            judgments = topics.setdefault(topic, {}).setdefault(group, {})
            if docno in judgments:
                duplicated.add(topic)
            judgments[docno] = grade
    return Judgments(topics, duplicated)


def _read_prefs(source: Source, release: Release, notes: Notes) -> Judgments:
    """Read a file of preferences."""
    topics: dict[bytes, dict[bytes, dict[bytes, list[tuple[bytes, float]]]]] = {}
    for numbers, (names, groups, subgroups, docnos, texts) in _tables(source, _PREFS, release, notes):
        levels = _levels(texts, numbers, source.name, notes)
        for topic, group, subgroup, docno, level in zip(names, groups, subgroups, docnos, levels):
            members = topics.setdefault(topic, {}).setdefault(group, {}).setdefault(subgroup, [])
            members.append((docno, level))
    contradictory = set()
    for topic, by_group in topics.items():
        for by_subgroup in by_group.values():
            if _conflict(itertools.chain.from_iterable(by_subgroup.values()), len(by_subgroup) > 1, release):
                contradictory.add(topic)
    return Judgments(topics, contradictory)


def _conflicting_levels(source: Source, release: Release, topic: bytes) -> TrecEvalError:
    """The error for the first line of a topic that an earlier one excludes."""
    members: dict[bytes, list[tuple[bytes, float, int]]] = {}
    subgroups: dict[bytes, set[bytes]] = {}
    for numbers, columns in _tables(source, _PREFS, release, Notes()):
        for number, (name, group, subgroup, docno, text) in zip(numbers, zip(*columns)):
            if name == topic:
                members.setdefault(group, []).append((docno, _decimal(text)[0], number))
                subgroups.setdefault(group, set()).add(subgroup)
    errors = []
    for group in members:
        several = len(subgroups[group]) > 1
        conflict = _conflict(members[group], several, release)
        if conflict:
            before, again = conflict
            what = _expected_levels(before, again, several)
            errors.append((again[2], f"{what}, topic {_quoted(topic)}, group {_quoted(group)}, "
                                     f"first on line {before[2]}"))
    number, text = min(errors)
    return TrecEvalError(f"{source.name}:{number}: {text}", status=4)


def read_qrels_jg(source: Any, *, release: str = "10.0") -> dict[str, dict[str, dict[str, int]]]:
    """Read judgments by several people, lines of `topic group docno grade`.

    The result is {topic: {group: {docno: grade}}}, which `evaluate` takes with
    rel_format qrels_jg and also, read as preferences, with qrels_prefs.
    `source` as for `read_qrels`.

    >>> read_qrels_jg(["301 ann FT911-1 1", "301 bob FT911-1 0", "301 bob FT911-2 1"])
    {'301': {'ann': {'FT911-1': 1}, 'bob': {'FT911-1': 0, 'FT911-2': 1}}}
    """
    return cast(dict[str, dict[str, dict[str, int]]], _read_judgments(source, "qrels", "qrels_jg", release))


def read_prefs(source: Any, *, release: str = "10.0") -> dict[str, Preferences]:
    """Read preferences, lines of `topic group subgroup docno level`.

    The result is {topic: {group: {subgroup: [(docno, level), ...]}}}.  Within a
    subgroup, a document is preferred to every one of a lower level;
    `PreferenceGroup` explains the rest.  `source` as for `read_qrels`.

    >>> read_prefs(["301 ann s1 FT911-1 2", "301 ann s1 FT911-2 0.5"])
    {'301': {'ann': {'s1': [('FT911-1', 2.0), ('FT911-2', 0.5)]}}}
    """
    return cast(dict[str, Preferences], _read_judgments(source, "prefs", "prefs", release))


def _checked_groups(topic: str, groups: Any) -> Any:
    """A topic's grades by group and docno.  Raises if they cannot be taken for that."""
    return {group: _checked_grades(topic, judgments)
            for group, judgments in _items(groups, f"groups of topic {topic!r}", "groups")}


def _checked_group_levels(topic: str, groups: Any) -> Any:
    """A topic's levels by group and docno.  Raises if they cannot be taken for that."""
    return {group: _checked(topic, judgments, float, "level", "a number")
            for group, judgments in _items(groups, f"groups of topic {topic!r}", "groups")}


def _checked_preferences(topic: str, groups: Any) -> Any:
    """A topic's (docno, level) by group and subgroup.  Raises if they cannot be taken for that."""
    whose = f"groups of topic {topic!r}" if topic else "preferences"
    checked: dict[str, dict[str, list[tuple[str, float]]]] = {}
    for group, subgroups in _items(groups, whose, "groups"):
        place = f"topic {_quoted(topic)}, group {_quoted(group)}" if topic else f"group {_quoted(group)}"
        checked[group] = {}
        for subgroup, pairs in _items(subgroups, f"subgroups of {place}", "subgroups"):
            where = f"{place}, subgroup {_quoted(subgroup)}"
            try:
                members = [(docno, level) for docno, level in pairs]
                docnos = [docno for docno, _ in members]
                levels = array("d", [level for _, level in members])
                if not _are_strings(docnos):
                    raise TypeError
            except (TypeError, ValueError, OverflowError):
                raise TypeError(f"{where}: expected pairs (docno, level), found {pairs!r:.80}") from None
            if any(map(math.isnan, levels)):
                raise TrecEvalError(f"{where}: expected numbers as levels, found NaN")
            checked[group][subgroup] = list(zip(docnos, levels))
    return checked


def _docnos_of_groups(groups: Mapping[Any, Mapping[Any, int]]) -> AbstractSet[Any]:
    """The documents that any group judges."""
    return set().union(*groups.values())


def _docnos_of_preferences(groups: Preferences) -> AbstractSet[Any]:
    """The documents that any group's preferences name."""
    return {docno for subgroups in groups.values() for members in subgroups.values() for docno, _ in members}


REL_FORMATS["qrels_jg"] = RelFormat(_checked_groups, _group_rankings, _docnos_of_groups, _group_views)
REL_FORMATS["prefs"] = RelFormat(
    _checked_preferences, _preference_rankings, _docnos_of_preferences,
    lambda preferences, ranking: [("", ranking, {})], ties_ascending=True, drops_unjudged=False)
REL_FORMATS["qrels_prefs"] = REL_FORMATS["prefs"]._replace(
    check=_checked_group_levels, judge=_graded_preference_rankings, docnos=_docnos_of_groups)

JUDGMENT_FILES["qrels_jg"] = JudgmentFile(
    _read_groups, lambda source, release, topic: _duplicate(source, _QRELS_JG, release, topic),
    "qrels_jg", _QRELS_JG)
JUDGMENT_FILES["prefs"] = JudgmentFile(_read_prefs, _conflicting_levels, "prefs", _PREFS)
JUDGMENT_FILES["qrels_prefs"] = JUDGMENT_FILES["qrels_jg"]._replace(
    read=functools.partial(_read_groups, convert=_levels), rel_format="qrels_prefs")

NICKNAMES.update({
    "qrels_jg": ("runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
    "prefs": ("runid", "num_q", "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret",
              "prefs_simp", "prefs_pair", "prefs_avgjg"),
    "all_prefs": ("runid", "num_q", *(name for name in MEASURES if name.startswith("prefs_"))),
})
for _nickname in ("qrels_jg", "prefs", "all_prefs"):
    supported_nicknames[_nickname] = set(NICKNAMES[_nickname])
__all__ += [entry.function.__name__ for entry in MEASURES.values() if entry.function.__name__ not in __all__]


# ---- Reporting ----
# The values of an evaluation become text: trec_eval's lines, or JSON with every
# digit.  The signature says in one line which settings the numbers depend on.

__all__ += ["signature"]


def _lines(values: Iterable[tuple[str, Union[float, str]]], topic: Name, digits: int,
           is_zscored: bool) -> bytes:
    """The lines of one topic as trec_eval prints them.  The Z of a Z-score makes its name's column wider."""
    lines = []
    for name, value in values:
        width = 22
        if isinstance(value, str):
            text = _encode(value if name == "runid" else f"'{value}'")
        else:
            text = b"%d" % value if isinstance(value, int) else b"%6.*f" % (digits, value)
            if is_zscored:
                width += 1
        lines.append(b"%b\t%b\t%b\n" % (_encode(name).ljust(width), _encode(topic), text))
    return b"".join(lines)


def _report_lines(evaluated: Evaluated, per_topic: bool, summary: bool, digits: int) -> Iterator[bytes]:
    """The lines for each topic, then those of the summary."""
    if per_topic:
        for topic in evaluated.ordered():
            yield _lines(evaluated.topic_values(topic), topic, digits, evaluated.is_zscored)
    if summary:
        yield _lines(evaluated.summary_values(), b"all", digits, evaluated.is_zscored)


def signature(settings: Settings = Settings()) -> str:
    """All settings that numbers depend on, in one line to quote beside them.

    >>> signature().split("|")  # doctest: +NORMALIZE_WHITESPACE
    ['trec_eval_ref 1.1', 'trec_eval 10.0', 'level 1', 'topics in both', 'depth all',
     'unjudged kept', 'ties docno descending', 'R qrels']
    """
    ties_ascending = REL_FORMATS[settings.rel_format].ties_ascending
    return "|".join((
        f"trec_eval_ref {__version__}",
        f"trec_eval {settings.release.name}",
        f"level {settings.relevance_level}",
        "topics in qrels" if settings.complete else "topics in both",
        "depth all" if settings.depth is None else f"depth {settings.depth}",
        "unjudged removed" if settings.judged_only else "unjudged kept",
        "ties docno ascending" if ties_ascending else "ties docno descending",
        f"R {settings.rel_format}"))


def _report_json(evaluated: Evaluated, per_topic: bool, summary: bool, measures: Sequence[str]) -> str:
    """One JSON object: the settings, and the values of the topics and of the summary if they are wanted."""
    import json  # here because that takes milliseconds, and few need it
    report = {"settings": _json_settings(evaluated.settings, measures),
              **_json_values_of(evaluated, per_topic, summary)}
    return json.dumps(report, indent=1)


def _json_settings(settings: Settings, measures: Sequence[str]) -> dict[str, Any]:
    """What JSON says of the settings."""
    shown = {"version": __version__, **settings._asdict(), "release": settings.release.name,
             "measures": list(measures), "signature": signature(settings)}
    del shown["grades_as"], shown["cutoff"]  # which only columns have
    return shown


def _json_values_of(evaluated: Evaluated, per_topic: bool, summary: bool) -> dict[str, Any]:
    """The values of a run for JSON, of the topics and of the summary if they are wanted."""
    topics, summaries = evaluated.evaluation()
    values: dict[str, Any] = {}
    if per_topic:
        values["topics"] = topics
    if summary:
        values["summary"] = summaries
    return values


# ---- Explaining ----
# A value's terms, the ranking and the names of its documents become a text that
# shows how the value comes about.  The terms are those of the Value that the
# measure's function returned; the columns beside them are worked out anew, for the
# reader.  The formula and the meaning of its symbols are what the docstring says.

__all__ += ["Explanation", "Ties", "View", "explain", "explanation_lines"]


class View(NamedTuple):
    """What one set of judgments makes of a topic: the judged ranking, with the documents' names.

    label     the judgment group, if there are several
    judged    what the measure's function looks at
    ranking   (docno, score, grade, whether other documents have the same score)
              by rank; the grade is None if the judgments do not have the document
    missed    (docno, grade) of the judged documents that are not in the ranking,
              by descending grade
    left_out  how many documents of the run -M, -J or a cutoff keep out of the ranking
    """

    label: str
    judged: Any
    ranking: Sequence[tuple[str, float, Optional[float], bool]]
    missed: Sequence[tuple[str, float]]
    left_out: int


class Ties(NamedTuple):
    """Documents of equal score whose order changes a value.

    ranks     (first, last) of each group of them in the run, before -J closes gaps,
              but only of the first fifty
    has_more  whether further groups change it
    lowest    the value if in each group the documents that help it came last
    highest   the value if they came first
    """

    ranks: Sequence[tuple[int, int]]
    lowest: float
    highest: float
    has_more: bool = False


class Explanation(NamedTuple):
    """How one value of one topic comes about.

    `value` is what the measure's function returned, the very double that
    `evaluate` gives; a `Value` has its terms.  `note` says why another value is
    printed, if one is.

    is_missing   whether the run misses the topic
    ties         how the order of documents of equal score changes the value; None if
                 it does not, or if the measure is not one of _BEST_FIRST
    by_release   {field of Release: the value if this field were as in the default
                 release}, for those fields that change the value
    """

    topic: str
    column: Column
    value: Union[float, str]
    views: Sequence[View]
    note: str
    is_missing: bool = False
    ties: Optional[Ties] = None
    by_release: Mapping[str, Union[float, str]] = {}


def explain(qrels: Mapping[str, Any], run: Mapping[str, Mapping[str, float]], measures: Iterable[str],
            **settings: Any) -> dict[str, list[Explanation]]:
    """What `evaluate` computes for each topic, with all that it is made of.

    Takes the arguments of `evaluate` (but zscores) and returns, by topic, one
    Explanation for each printed name; `explanation_lines` makes text of it.

    >>> explanation, = explain({"1": {"a": 1, "b": 1}}, {"1": {"c": 2.0, "a": 1.0}}, ["map"])["1"]
    >>> explanation.value, explanation.value.ranks, explanation.value.terms
    (0.25, [2], [0.5])
    >>> explanation_lines(explanation)[-1]
    '  map = 0.5000 / 2 = 0.2500'
    """
    checked = _checked_settings(**settings)
    notes = Notes()
    evaluated = _evaluate_dicts(qrels, run, measures, checked, notes, keeps_judged=True)
    notes.warn()
    return {topic: _explanations(evaluated, topic) for topic in evaluated.ordered()}


def _explanations(evaluated: Evaluated, topic: Any) -> list[Explanation]:
    """The explanation of each value of a topic, which has been kept."""
    kept = cast(dict[Any, JudgedTopic], evaluated.judged)[topic]
    rel_format = REL_FORMATS[evaluated.settings.rel_format]
    views = {}
    others = {}
    for settings, judged in zip(evaluated.each_settings, kept.judged):
        views[settings] = judged, [_view(label, part, grades, kept.scores, settings)
                                   for label, part, grades in rel_format.views(kept.judgments, judged)]
        others[settings] = _judged_otherwise(kept, settings)
    orders = functools.lru_cache(maxsize=None)(functools.partial(_orders, kept))
    explanations = []
    for column in evaluated.columns:
        judged, views_of_column = views[column.settings]
        value = _value_of(column, judged)
        is_set_to_0 = kept.is_missing and column.is_zero_if_missing
        instead = "left empty" if isinstance(value, str) else "set to 0"
        note = f"the run misses this topic, and this value is {instead}" if is_set_to_0 else ""
        ties = None
        if column.measure.name in _BEST_FIRST:
            ties = _ties(column, orders(column.settings, _worths(column, judged)))
        otherwise = {field: _value_of(column, other) for field, other in others[column.settings].items()}
        by_release = {field: other for field, other in otherwise.items() if other != value}
        explanations.append(Explanation(_decode(topic), column, value, views_of_column, note,
                                        kept.is_missing, ties, by_release))
    return explanations


def _value_of(column: Column, judged: Any) -> Union[float, str]:
    """What a column's measure makes of a topic."""
    return column.measure.function(judged, *column.arguments)


def _judged_otherwise(kept: JudgedTopic, settings: Settings) -> dict[str, Any]:
    """What measures would see if the release did one thing as the default release does it, by that thing."""
    judge_topic = REL_FORMATS[settings.rel_format].judge
    usual = Settings().release
    others = {}
    for field in _DONE_BY_RELEASE:
        if getattr(settings.release, field) != getattr(usual, field):
            release = settings.release._replace(**{field: getattr(usual, field)})
            with contextlib.suppress(TrecEvalError):  # preferences may contradict each other then
                other = settings._replace(release=release)
                others[field] = judge_topic(kept.judgments, kept.scores, [other])[0]
    return others


_DONE_BY_RELEASE = {  # by field of Release, what another release than the default one does
    "keep_scores": "rounds scores to 32 bits", "count_at_recall": "rounds level * R to another m"}


# Measures that are best if, of documents of equal score, the relevant ones (or those of greater gain) come
# first and the judged nonrelevant ones last, and worst the other way round.
_BEST_FIRST = (
    "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P", "recall",
    "gm_bpref", "Rprec_mult", "11pt_avg", "binG", "dcg", "ndcg", "ndcg_cut", "map_cut", "relative_P",
    "success", "set_P", "set_relative_P", "set_recall", "set_map", "set_F", "yaap", "rbp")
_MOST_STEPS = 50  # groups of documents of equal score that are reversed one by one

Worths = tuple[tuple[float, float], ...]  # (grade, what a document of it is worth); others are worth 0


def _worths(column: Column, topic: JudgedRanking) -> Worths:
    """What a document of each grade is worth early in the ranking."""
    if column.measure.name == "rbp":
        return tuple(_gains_from_0_to_1(topic, column.arguments[1]).items())
    if _is_of_gains(column):
        gains = _gains_of(column.arguments)
        return tuple([(grade, float(gains.get(grade, grade))) for grade in topic.grade_counts])
    return tuple([(grade, 1.0 if grade >= topic.relevance_level else -1.0) for grade in topic.grade_counts])


TieOrder = tuple[Optional[tuple[int, int]], JudgedRanking]  # see _orders


def _orders(kept: JudgedTopic, settings: Settings, worths: Worths) -> list[TieOrder]:
    """The ranking with all ties in the worst order, and then one after each tie was put in the best order.

    Each comes with the first and the last rank of the group that was reversed
    last, or None if these are several.  There is none if all documents of equal
    score are worth the same.
    """
    grades = _regraded(kept.judgments, settings.grades_as) if settings.grades_as else kept.judgments
    worth_of = dict(worths)
    scores = dict(zip(kept.scores, settings.release.keep_scores(kept.scores.values())))
    worth = {docno: worth_of.get(grades.get(docno, -1), 0.0) for docno in scores}
    order = sorted(scores, key=lambda docno: (-scores[docno], worth[docno]))
    groups = []
    end = 0
    for _, group in itertools.groupby(order, key=scores.__getitem__):
        start, end = end, end + len(list(group))
        if worth[order[start]] != worth[order[end - 1]]:
            groups.append((start, end))
    orders = []
    for step, (start, end) in enumerate([(0, 0), *groups] if groups else []):  # first none is reversed
        order[start:end] = order[start:end][::-1]
        if step <= _MOST_STEPS or step == len(groups):
            by_rank = {docno: -float(rank) for rank, docno in enumerate(order)}
            ranks = (start + 1, end) if step <= _MOST_STEPS else None
            orders.append((ranks, _judged_rankings(kept.judgments, by_rank, [settings])[0]))
    return orders


def _ties(column: Column, orders: Sequence[TieOrder]) -> Optional[Ties]:
    """See Ties; None if no order changes the value."""
    values = [cast(float, _value_of(column, ranking)) for _, ranking in orders]
    if len(set(values)) < 2:
        return None
    is_largest = column.measure.name in _INTERPOLATED  # the largest precision can be in any tied group
    steps = zip(orders[1:], values, values[1:])
    ranks = [group for (group, _), before, after in steps if before != after or is_largest]
    return Ties([group for group in ranks if group], float(values[0]), float(values[-1]), None in ranks)


def _view(label: str, judged: Any, grades: Mapping[Any, float], scores: Mapping[Any, float],
          settings: Settings) -> View:
    """See View."""
    places, num_ret = _place(scores, cast(Mapping[Any, int], grades), scores, settings)
    kept = dict(zip(scores, settings.release.keep_scores(scores.values())))
    times = Counter(kept.values())
    ranking = []
    for _, docno in places:
        name = "(none)" if docno == _UNPOOLED else _decode(docno)
        ranking.append((name, scores[docno], grades.get(docno), times[kept[docno]] > 1))
    unranked = grades.keys() - {docno for _, docno in places}
    missed = [(_decode(docno), grades[docno]) for docno in unranked if grades[docno] >= 0]
    missed.sort(key=lambda document: (-document[1], document[0]))
    return View(label, judged, ranking, missed, len(scores) - num_ret)


def _gains_of(arguments: tuple[Any, ...]) -> Gains:
    """The gains among a measure's arguments; none if it takes no gains."""
    for argument in arguments:
        if isinstance(argument, Mapping):
            return argument
    return {}


_DETAILS: dict[str, tuple[str, ...]] = {  # by measure, what is shown beside a rank that contributes
    **dict.fromkeys(("map", "gm_map", "map_cut", "yaap", "map_avgjg"), ("hits(rank)",)),
    **dict.fromkeys(("bpref", "gm_bpref"), ("n",)),
    "infAP": ("r", "n", "u"),
    "binG": ("others above",),
    "G": ("gain", "ideal gain", "cost(rank)", "s(rank)"),
    **dict.fromkeys(("dcg", "ndcg", "ndcg_cut"), ("gain", "log2(rank+1)")),
    "ideal_dcg": ("ideal gain", "log2(rank+1)"),
    "ndcg_rel": ("D(rank)", "J(rank)"),
    "Rndcg": ("D(rank)", "J(rank)"),
    "rbp": ("scaled gain", "p^(rank-1)"),
    "rbp_resid": ("p^(rank-1)",),
}


def _detail(head: str, topic: JudgedRanking, rank: int, arguments: tuple[Any, ...]) -> Any:
    """What stands below a head of _DETAILS, for a rank and the arguments of the measure."""
    if head == "hits(rank)":
        return len(topic.relevant_to(rank))
    if head == "r":
        return bisect_left(topic.relevant_ranks, rank)
    if head == "others above":
        return rank - 1 - bisect_left(topic.relevant_ranks, rank)
    if head == "n":
        return topic.nonrelevant_above(rank)
    if head == "u":
        return len([above for above, grade in topic.grades.items() if above < rank and grade < 0])
    if head == "scaled gain":
        return _gains_from_0_to_1(topic, _gains_of(arguments))[topic.grades[rank]]
    if head == "log2(rank+1)":
        return math.log2(rank + 1)
    if head == "p^(rank-1)":
        return _powers(arguments[0], topic.num_ret)[rank - 1]
    gains = _gains_of(arguments)
    ideal = topic.ideal_gains(gains)
    if head == "ideal gain":
        return ideal[rank - 1] if rank <= len(ideal) else ""
    if head == "cost(rank)":
        return add_up((), [max(gain, 1.0) for gain in ideal[:rank]]) + max(rank - len(ideal), 0)
    if head == "J(rank)":
        return add_up((), topic.ideal_dcg_terms(gains)[:rank])
    if head == "gain":
        return dict(zip(*topic.gained(gains))).get(rank, 0.0)
    ranks, terms = topic.dcg_terms(gains) if head == "D(rank)" else topic.gained(gains)
    return add_up((), terms[:bisect_right(ranks, rank)])  # D(rank) or s(rank)


_TERMS = {"bpref": "b", "infAP": "s"}  # by measure, what its formula calls the terms, if anything
# Measures to which documents contribute that are neither relevant nor have a gain, or that are not retrieved.
_NOT_OF_RELEVANT = ("num_ret", "num_nonrel_judged_ret", "ideal_dcg", "ndcg_rel", "Rndcg", "rbp_resid", "unj",
                    "Judged")
_OF_IDEAL = ("ideal_dcg", "Rndcg")  # measures whose ranks are those of the ideal ranking
_DOCUMENT = ("docno", "score", "grade", "")  # the heads above what `_document` returns
_LOGARITHMS = {"gm_map": "map", "gm_bpref": "bpref"}


def explanation_lines(explanation: Union[Explanation, Sequence[Explanation]], all_rows: bool = False,
                      digits: int = 4) -> list[str]:
    """An explanation, or several of one topic, as lines of text.

    What the values of a measure at several cutoffs or levels have in common is
    shown once.  Long tables and docnos are cut in the middle unless `all_rows`.
    """
    is_one = isinstance(explanation, Explanation)
    groups: dict[Any, list[Explanation]] = {}
    for each in cast(Sequence[Explanation], [explanation] if is_one else explanation):
        has_several = each.column.measure.parameters.kind in ("cutoffs", "levels")
        name = each.column.measure.name if has_several else each.column.name
        groups.setdefault((name, id(each.views)), []).append(each)  # of one ranking
    lines = []
    for alike in groups.values():
        lines += ["", *_lines_of_measure(alike, all_rows, digits)]
    return list(map(_shown_name, lines[1:]))


def _lines_of_measure(explanations: Sequence[Explanation], all_rows: bool, digits: int) -> list[str]:
    """What values have in common, with the tables of the largest cutoff or level, and then each value."""
    explanations = sorted(explanations, key=lambda each: each.column.arguments)
    last, column = explanations[-1], explanations[-1].column
    name, arguments = column.measure.name, list(zip(*[each.column.arguments for each in explanations]))
    missing = "the run misses this topic; with -c, one unjudged document takes its place"
    lines = [*([missing] if last.is_missing else []), *_meaning(column)]
    if arguments:
        *_, parameters = _documentation(column.measure.function)
        given = [f"{parameter} = {', '.join(map(_argument, of_each))}"
                 for parameter, of_each in zip(parameters, arguments)]
        lines.append(f"with {'; '.join(given)}")
    if column.settings.grades_as:
        lines.append(_grades_in_words(column.settings.grades_as))
    order = "ascending" if REL_FORMATS[column.settings.rel_format].ties_ascending else "descending"
    lines.append(f"documents are ranked by score, those of equal score by {order} docno, "
                 "not by the run's ranks")
    for i, view in enumerate(last.views):
        values = [each.value.terms[i] if view.label and isinstance(each.value, Value) else each.value
                  for each in explanations]
        lines += [f"{view.label}:"] if view.label else []
        lines += [*_quantities(column, view, all_rows, digits), *_not_counted(column, view, all_rows)]
        if name in _INTERPOLATED:
            lines += _interpolation(view, arguments[0], all_rows, digits)
        divisors = set(map(_divisor_of_sum, values))
        divisor = divisors.pop() if len(divisors) == 1 else 0.0
        for shown, total in _sums(column, values[-1], view):
            heading = _meaning(shown) if name in _LOGARITHMS else [f"{shown.name}:"]
            lines += heading if shown is not column else []
            lines += _table_of_ranks(shown, total, view, divisor, all_rows, digits)
            lines += _working(shown, total, digits) if shown is not column else []
            divisor = 0.0
    for each in explanations:
        lines += [*_table_of_labels(each.value, all_rows, digits), *_other_values(each, digits)]
        working = _working(each.column, each.value, digits)
        lines += working[-1:] if name in _LOGARITHMS else working  # the steps before have been shown
        printed = "''" if isinstance(each.value, str) else "0"
        lines += [f"printed as {printed}: {each.note}"] if each.note else []
    title = column.name if len(explanations) == 1 else name
    return [f"{title} of topic {last.topic}", *(f"  {line}" for line in lines)]


def _documentation(function: Any) -> tuple[str, list[str], list[str], list[str]]:
    """A function's first sentence, formula (in the second paragraph), paragraph after it, and parameters."""
    import inspect  # which takes too long to import for those who want no explanation
    summary, *paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    formula: list[str] = []
    if paragraphs and paragraphs[0].startswith("    "):
        formula = [line[4:] for line in paragraphs.pop(0).split("\n")]
    symbols: list[str] = []
    if paragraphs and not paragraphs[0].startswith(("    ", ">>>")):
        symbols = paragraphs[0].replace(".  ", ". ").split("\n")
    return summary.replace("\n", " "), formula, symbols, list(inspect.signature(function).parameters)[1:]


def _meaning(column: Column) -> list[str]:
    """What a measure is: its first sentence, the formula, and what the symbols mean."""
    summary, formula, symbols, _ = _documentation(column.measure.function)
    lines = [summary, *(f"  {line}" for line in formula)]
    of_hits = "the number of relevant documents among the first k"
    if "hits(" in "".join(formula):
        lines.append(f"hits(k) is {of_hits}.")
    elif "P@" in "".join(formula):
        lines.append(f"P@k is hits(k) / k, and hits(k) {of_hits}.")
    return [*lines, *symbols]


def _grades_in_words(grades_as: tuple[Any, ...]) -> str:
    """What takes the place of grades, see `Settings.grades_as`."""
    how, *rest = grades_as
    if how == "from":
        return f"grades from {rest[0]} on count as 1, others as 0"
    return f"in place of a grade stands {how if not rest else _argument(dict(rest))}"


def _argument(argument: Any) -> str:
    """A measure's argument as text."""
    if isinstance(argument, Mapping):
        return ", ".join(f"{grade}={gain:.15g}" for grade, gain in argument.items()) or "the grades"
    if isinstance(argument, tuple):
        return ", ".join(f"{part:.15g}" for part in argument)
    return f"{argument:.15g}"


def _quantities(column: Column, view: View, all_rows: bool, digits: int) -> list[str]:
    """The numbers that most measures depend on, such as R and N."""
    topic = view.judged
    if isinstance(topic, PreferenceRanking):
        return _preferences(column, view, all_rows)
    if not isinstance(topic, JudgedRanking):
        return []
    settings = column.settings
    cuts = {"-M": settings.depth is not None, "-J": settings.judged_only,
            "the cutoff": settings.cutoff is not None}
    cut = " or ".join([what for what, is_set in cuts.items() if is_set])
    left_out = f" (without {view.left_out} that {cut} leaves out)" if view.left_out else ""
    if settings.grades_as:  # R, hits and NR are of what stands in place of the grades, and play no part
        return [f"N = {_plural(topic.num_ret, 'document')} retrieved{left_out}"]
    unjudged, pooled = topic.num_ret - len(topic.judged_ranks), len(topic.grades) - len(topic.judged_ranks)
    apart = f" ({pooled} of grade < 0, {unjudged - pooled} not in the judgments)" if pooled else ""
    lines = [f"R = {_plural(topic.num_rel, 'relevant document')} in the judgments "
             f"(grade >= {topic.relevance_level}), and NR = {topic.num_nonrel} judged nonrelevant",
             f"N = {_plural(topic.num_ret, 'document')} retrieved{left_out}: "
             f"{topic.hits} relevant (hits), {len(topic.nonrelevant_ranks)} judged nonrelevant, "
             f"{unjudged} unjudged{apart}"]
    if column.measure.name == "utility":
        lines.append(f"D = {_plural(topic.collection_size, 'document')} in the collection (-N)")
    if column.measure.name in ("bpref", "gm_bpref"):
        lines.append(f"min(R, NR) = {min(topic.num_rel, topic.num_nonrel)}")
    if column.measure.name in ("ndcg_rel", "Rndcg"):
        gains = _gains_of(column.arguments)
        ideal, found = topic.ideal_gains(gains), [gain for gain in topic.gained(gains)[1] if gain > 0]
        lines.append(f"I = {_plural(len(ideal), 'document')} of positive gain in the judgments, "
                     f"v = {len(found)} of them retrieved")
    if column.measure.name == "rbp":
        gain_of = sorted(_gains_from_0_to_1(topic, _gains_of(column.arguments)).items())
        lines.append(f"scaled gains: {_argument({grade: round(gain, digits) for grade, gain in gain_of})}")
    return lines


def _preferences(column: Column, view: View, all_rows: bool) -> list[str]:
    """The preferences on a topic: counted, and for each document to which others it is preferred."""
    topic = view.judged
    heads: Sequence[str] = PreferenceCounts._fields
    counts = {f"group {name}": list(group.counts) for name, group in topic.groups.items()}
    if "Rnonrel" in column.measure.name:
        heads = [*heads, "relevant", "nonrelevant"]
        for row, group in zip(counts.values(), topic.groups.values()):
            row += [_size(group.relevant), _size(group.nonrelevant)]
    if len(counts) > 1:
        counts["all"] = list(map(sum, zip(*counts.values())))
    lines = ["In a line `1 u1 s1 a 3` (-R prefs) or `1 u1 a 3` (-R qrels_prefs) of the judgments, u1 is",
             "the group, s1 the subgroup (in qrels_prefs a group is one), a the document, and 3 its level.",
             "A group prefers a document to each one of a lower level in the same subgroup; equal levels",
             "give no preference. If it prefers x to y and y to z, it also prefers x to z, even across",
             "subgroups. A preference is fulfilled if the preferred document is retrieved, and the other",
             "one later or not at all. Of all preferences, poss_ret have both documents retrieved, poss_imp",
             "(implied by the ranking) one of them, and absent none; ful_ret and ful_imp are fulfilled.",
             *_table(["", *heads], [[label, *map(str, row)] for label, row in counts.items()], all_rows)]
    ranks = {docno: str(rank) for rank, (docno, *_) in enumerate(view.ranking, start=1)}
    names = [_shown_docno(docno, all_rows) for docno in topic.docnos]
    for label, group in topic.groups.items():
        rows = []
        for position, (docno, others) in enumerate(zip(topic.docnos, group.rows)):
            if others:
                behind = position if position < topic.num_ret else len(names)
                fulfilled = [name for at, name in enumerate(names) if _has(others, at) and at > behind]
                not_fulfilled = [name for at, name in enumerate(names) if _has(others, at) and at <= behind]
                rows.append([ranks.get(docno, "not retrieved"), names[position],
                             _some_names(fulfilled, all_rows), _some_names(not_fulfilled, all_rows)])
        if rows:
            heads = ["rank", "docno", "preferred, fulfilled, to", "preferred, not fulfilled, to"]
            lines += [f"group {label}:", *_table(heads, rows, all_rows)]
    return lines


def _some_names(names: Sequence[str], all_rows: bool) -> str:
    """Names in a row; of many only the first, unless `all_rows`."""
    if len(names) > 15 and not all_rows:
        names = [*names[:15], f"and {len(names) - 15} more"]
    return ", ".join(names)


def _shown_docno(docno: str, all_rows: bool) -> str:
    """A docno, without its middle if it is long, unless `all_rows`.

    >>> _shown_docno("https://example.org/2024/a-page-with-a-long-address.html", all_rows=False)
    'https://example.or...h-a-long-address.html'
    """
    return docno if all_rows or len(docno) <= 42 else f"{docno[:18]}...{docno[-21:]}"


def _interpolation(view: View, arguments: Sequence[Any], all_rows: bool, digits: int) -> list[str]:
    """The precision at each relevant document, and for each recall level the largest of those looked at."""
    topic = view.judged
    rows = [[str(rank), *_document(view, rank, all_rows), str(hits), f"{precision:.{digits}f}"]
            for hits, (rank, precision) in enumerate(zip(topic.relevant_ranks, topic.precisions), start=1)]
    lines = _table(["rank", *_DOCUMENT, "hits(rank)", "P@rank"], rows, all_rows)
    rows = []
    for level in arguments[0] if isinstance(arguments[0], tuple) else arguments:
        precision = interpolated_precision(topic, level)
        rows.append([f"{level:.2f}", f"{level * topic.num_rel:.{digits}f}", str(topic.count_at_recall(level)),
                     f"{precision:.{digits}f}", str(precision.ranks[-1]) if precision.ranks else ""])
    heads = ["level", "level * R", f"m (release {topic.release.name})", "largest P@k", "at rank"]
    return [*lines, *_table(heads, rows, all_rows=True)]


def _sums(column: Column, value: Any, view: View) -> list[tuple[Column, Any]]:
    """The sums over ranks of which a value is made, with their columns; often this is the value alone."""
    name, gains = column.measure.name, (_gains_of(column.arguments),)
    of_gains = MEASURES["dcg"], MEASURES["ideal_dcg"]
    if name in _LOGARITHMS:
        return [(Column(_LOGARITHMS[name], MEASURES[_LOGARITHMS[name]], ()), value.working[1])]
    if name in ("ndcg", "ndcg_cut"):
        symbols = ["dcg", "ideal_dcg"] if name == "ndcg" else [f"{d}({column.arguments[0]})" for d in "DJ"]
        return [(Column(symbol, measure, gains), part)
                for symbol, measure, part in zip(symbols, of_gains, value.working[1:])]
    if name in ("ndcg_rel", "Rndcg"):
        return [(column, value), *((Column(symbol, measure, gains), measure.function(view.judged, *gains))
                                   for symbol, measure in zip(("D(N)", "J(I)"), of_gains))]
    return [] if name in _INTERPOLATED else [(column, value)]


def _table_of_ranks(column: Column, value: Any, view: View, divisor: float, all_rows: bool,
                    digits: int) -> list[str]:
    """The table of what was added up rank by rank, or of what a text shows of each."""
    if not isinstance(value, str) and not _is_sum_over_ranks(value):
        return []
    name = column.measure.name
    ranks = range(1, len(value) + 1) if isinstance(value, str) else value.ranks
    columns = {"rank": list(map(str, ranks))}
    if name not in _OF_IDEAL:
        documents = [_document(view, rank, all_rows) if isinstance(rank, int) else [""] * len(_DOCUMENT)
                     for rank in ranks]
        columns.update(zip(_DOCUMENT, map(list, zip(*documents))))
    places = [rank if isinstance(rank, int) else sys.maxsize for rank in ranks]  # the whole ranking is last
    for head in _DETAILS.get(name, ()):
        columns[head] = len(places) * [""]
        for i in _kept_rows(len(places), all_rows):  # of a long table, because each takes its time
            columns[head][i] = _figure(_detail(head, view.judged, places[i], column.arguments), digits)
    if isinstance(value, str):
        columns["shown as"] = list(value)
    else:
        columns.update(_sum_columns(value, _TERMS.get(name, "adds"), divisor, digits))
    lines = _table(list(columns), list(zip(*columns.values())), all_rows)
    adds_nothing = not isinstance(value, str) and name not in _NOT_OF_RELEVANT
    return [*lines, "documents that are not in this table add 0"] if adds_nothing else lines


def _table_of_labels(value: Any, all_rows: bool, digits: int) -> list[str]:
    """The table of what was added up for recall levels or texts; empty if it was for ranks."""
    if not isinstance(value, Value) or not value.ranks or _is_sum_over_ranks(value):
        return []
    labels = []
    for label in value.ranks:
        docnos = str(label).split(" before ")  # as preferences have it
        shown = " before ".join(_shown_docno(docno, all_rows) for docno in docnos)
        labels.append(f"recall {label:.2f}" if isinstance(label, float) else shown)
    columns = {"": labels, **_sum_columns(value, "adds", _divisor_of_sum(value), digits)}
    return _table(list(columns), list(zip(*columns.values())), all_rows)


def _sum_columns(value: Value, head: str, divisor: float, digits: int) -> dict[str, list[str]]:
    """The terms of a value, their running total, and what they are divided by the divisor, if it is not 0."""
    columns = {}
    worked_out = [(_steps(term, digits) or [""])[-1] for term in value.terms]
    if any(worked_out):
        columns["is"] = worked_out
    decimals = 0 if all(float(term).is_integer() for term in value.terms) else digits
    totals = list(itertools.accumulate(value.terms, initial=0.0))[1:]
    columns[head] = [f"{term:.{decimals}f}" for term in value.terms]
    columns["total"] = [f"{total:.{decimals}f}" for total in totals]
    if divisor:
        columns[f"/ {_figure(divisor, digits)}"] = [f"{term / divisor:.{digits}f}" for term in value.terms]
    return columns


def _is_sum_over_ranks(value: Any) -> bool:
    """Whether its terms belong to ranks, and not to labels."""
    return isinstance(value, Value) and bool(value.ranks) and not isinstance(value.ranks[0], (str, float))


def _divisor_of_sum(value: Any) -> float:
    """What divides the sum of the terms, and so each term; 0 if the value came about in another way."""
    if not isinstance(value, Value) or not value.working or value.working[0] != "{} / {}":
        return 0.0
    _, dividend, divisor = value.working
    is_sum = not getattr(dividend, "working", ())
    return float(divisor) if is_sum else 0.0


def _document(view: View, rank: int, all_rows: bool) -> list[str]:
    """What a table shows of the document at a rank, if there is one."""
    if rank > len(view.ranking):  # a rank of the ideal ranking
        return 4 * [""]
    docno, score, grade, is_tied = view.ranking[rank - 1]
    marks = ["tied"] if is_tied else []
    if grade is None or grade < 0:
        marks.append("unjudged")
    shown = "-" if grade is None else f"{grade:.15g}"
    return [_shown_docno(docno, all_rows), f"{score:.15g}", shown, ", ".join(marks)]


def _is_of_gains(column: Column) -> bool:
    """Whether a measure looks at gains, and not at the relevance level."""
    takes_gains = any(isinstance(argument, Mapping) for argument in column.arguments)
    return takes_gains or column.measure.name == "ndcg_cut"


def _can_add(column: Column, topic: Any, grade: float) -> bool:
    """Whether a document of that grade is relevant or, to a measure of gains, has one."""
    if _is_of_gains(column):
        return _gain_of_grade(column, topic, grade) > 0
    return bool(grade >= topic.relevance_level)


def _gain_of_grade(column: Column, topic: Any, grade: float) -> float:
    """The gain of a grade to a measure of gains, scaled as rbp scales them."""
    if column.settings.grades_as:
        grade = cast(float, _regraded({"": int(grade)}, column.settings.grades_as)[""])
    gains = _gains_of(column.arguments)
    if column.measure.name == "rbp":
        gains = _gains_from_0_to_1(topic, gains)
    return float(gains.get(cast(int, grade), grade))


def _not_counted(column: Column, view: View, all_rows: bool) -> list[str]:
    """Which documents below the cutoff or not retrieved are relevant or, to a measure of gains, have one."""
    documents = {"not in the ranking" if view.left_out else "not retrieved": list(view.missed)}
    if column.measure.parameters.kind == "cutoffs" and column.measure.name not in _NOT_OF_RELEVANT:
        k = column.arguments[0]
        below = [(docno, grade) for docno, _, grade, _ in view.ranking[k:] if grade is not None]
        documents = {f"below rank {k}": below, **documents}
    lines = []
    for where, some in documents.items():
        names = [f"{_shown_docno(docno, all_rows)} (grade {grade:.15g})" for docno, grade in some
                 if _can_add(column, view.judged, grade)]
        if names:
            lines.append(f"{where}: {_some_names(names, all_rows)}")
    return lines


def _other_values(explanation: Explanation, digits: int) -> list[str]:
    """What the value would be with another order of documents of equal score, or with another release."""
    column, ties = explanation.column, explanation.ties
    lines = []
    if ties:
        lowest, highest = (_shown_value(column, value, digits) for value in (ties.lowest, ties.highest))
        before = " before -J" if column.settings.judged_only else ""
        listed = ties.ranks[:15] if ties.has_more else ties.ranks
        places = []
        if listed:
            ranks = _some_names([f"{first} to {last}" for first, last in listed], all_rows=False)
            places.append(f"at ranks {ranks}")
        if ties.has_more:
            places.append("further down")
        if lowest != highest:
            lines.append(f"documents {' and '.join(places)}{before} are tied; by their order "
                         f"{column.name} could be from {lowest} to {highest}")
    release = column.settings.release
    for field, other in explanation.by_release.items():
        shown = _shown_value(column, other, digits)
        if shown != _shown_value(column, explanation.value, digits):
            lines.append(f"release {release.name}, unlike {Settings().release.name}, "
                         f"{_DONE_BY_RELEASE[field]}; without that {column.name} would be {shown}")
    return lines


def _shown_value(column: Column, value: Union[float, str], digits: int) -> str:
    """A value as it is printed."""
    if isinstance(value, str):
        return f"'{value}'"
    return str(int(value)) if column.measure.is_count else f"{value:.{digits}f}"


def _working(column: Column, value: Union[float, str], digits: int) -> list[str]:
    """How the terms became the value, one line for each expression; the last line ends with the value."""
    steps = _steps(value, digits)
    shown = "0 by definition" if _is_by_definition(value) else _shown_value(column, value, digits)
    return [*steps[:-1], " = ".join([column.name, *steps[-1:], shown])]


def _is_by_definition(value: Any) -> bool:
    """Whether a value is 0 because its divisor is."""
    if not isinstance(value, Value) or not value.working:
        return False
    expression, *numbers = value.working
    return bool(expression == "{} / {}" and numbers[1] == 0)


def _steps(value: Any, digits: int) -> list[str]:
    """How a value was worked out: its numbers' expressions with their results, then its own expression."""
    if not isinstance(value, Value) or not value.working:
        return []
    expression, *numbers = value.working
    steps = []
    for number in numbers:
        of_number = _steps(number, digits)
        if of_number:
            result = "0 by definition" if _is_by_definition(number) else _figure(number, digits)
            steps += [*of_number[:-1], f"{of_number[-1]} = {result}"]
    shown = expression.replace("log(", "ln(").replace(" ** ", "^")
    return [*steps, shown.format(*(_figure(number, digits) for number in numbers))]


def _figure(value: Any, digits: int) -> str:
    """A number as explanations show it: counts whole, small numbers not as 0."""
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    if abs(value) >= 10 ** -digits:
        return f"{value:.{digits}f}"
    return f"{value:.10f}".rstrip("0") if abs(value) >= 1e-10 else f"{value:.{digits}g}"


_HEAD_ROWS, _TAIL_ROWS = 20, 5  # of a long table


def _kept_rows(count: int, all_rows: bool) -> list[int]:
    """Which of so many rows are shown: without the middle if there are many, unless `all_rows`."""
    if all_rows or count <= _HEAD_ROWS + _TAIL_ROWS + 1:
        return list(range(count))
    return [*range(_HEAD_ROWS), *range(count - _TAIL_ROWS, count)]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], all_rows: bool) -> list[str]:
    """Rows under their heads: words to the left, numbers to the right.  Long tables lose their middle."""
    shown = [[_shown_name(cell) for cell in rows[i]] for i in _kept_rows(len(rows), all_rows)]
    columns = list(zip(*shown)) if shown else [()] * len(heads)
    are_words = [not shown or any(re.match(r"[^-+0-9.]|-$", cell) for cell in column) for column in columns]
    widths = [max(map(len, (head, *column))) for head, column in zip(heads, columns)]
    lines = []
    for row in [heads, *shown]:
        cells = [cell.ljust(width) if is_words else cell.rjust(width)
                 for cell, width, is_words in zip(row, widths, are_words)]
        lines.append(f"  {'  '.join(cells).rstrip()}")
    if len(shown) < len(rows):
        lines.insert(1 + _HEAD_ROWS, f"  ... {len(rows) - len(shown)} rows left out, "
                                     "which --explain-all shows ...")
    return lines


def _explanation(evaluated: Evaluated, run: Source, summary: bool, all_rows: bool,
                 digits: int) -> list[bytes]:
    """All explanations as lines: topic after topic, then the summary and what became of other topics."""
    lines: list[str] = []
    for topic in evaluated.ordered():
        explanations = [explanation for explanation in _explanations(evaluated, topic)
                        if explanation.column.measure.summary not in ("run tag", "number of topics")]
        if explanations:
            lines += [*explanation_lines(explanations, all_rows, digits), ""]
    if not lines and not summary:
        names = ", ".join(column.name for column in evaluated.columns)
        raise TrecEvalError(f"expected --explain without -n and -D, because only the summary has {names}",
                            status=1)
    if summary:
        lines.append("all topics")
        for kind, summaries in itertools.groupby(evaluated.summaries(), lambda each: each[0].measure.summary):
            lines.append(f"  {_documentation(SUMMARIES[cast(str, kind)])[0]}")
            for column, value in summaries:
                lines += [f"    {line}" for line in _working(column, value, digits)]
        in_run = _topics_of(run, evaluated.settings.release)
        skipped = "are skipped (-c would count them)"
        counted = "count as if nothing relevant had been retrieved (-c)"
        fate = counted if evaluated.settings.complete else skipped
        for file, topics, fate in (("qrels", evaluated.qrels_topics - in_run, fate),
                                   ("run", in_run - evaluated.qrels_topics, "are ignored")):
            names = _some_names([_shown_name(topic) for topic in sorted(topics)], all_rows=False)
            lines += [f"  topics in the {file} alone {fate}: {names}"] if names else []
    return [_encode(line) + b"\n" for line in lines]


# ---- Comparing ----
# Several runs are evaluated on the same judgments.  For each measure that is a
# mean, the values of each run and of the baseline, topic by topic, become a
# Comparison: the difference, and how far chance alone can explain it.

__all__ += ["Comparison", "ComparisonTable", "PairedTTest", "RandomisationTest", "compare", "compare_files",
            "holm", "paired_t_test", "randomisation_test", "t_quantile", "t_tail"]

_NO_DIFFERENCE = 1e-12  # at most this is rounding: 0.7 - 0.6 and 0.8 - 0.7 are not the same double
_LARGEST_DIFFERENCE = 1e150  # up to this, no sum or variance is infinite
_EXACT_TOPICS = 16  # up to so many topics that differ, all assignments of signs are tried


class PairedTTest(NamedTuple):
    """What `paired_t_test` returns.  The interval and p are None if there is only one topic."""

    difference: float
    interval: Optional[tuple[float, float]]
    p: Optional[float]


class RandomisationTest(NamedTuple):
    """What `randomisation_test` returns.  The draws and the seed are None if p is exact."""

    p: float
    draws: Optional[int]
    seed: Optional[int]


def _differences(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """The differences a - b, topic by topic.  A difference of at most 1e-12 is rounding and becomes 0.

    >>> _differences([0.75, 0.5, 0.3], [0.5, 0.75, 0.1 + 0.2])
    [0.25, -0.25, 0.0]
    """
    if len(a) != len(b) or not a:
        raise TrecEvalError("cannot compare: expected two values for each of one topic or more, "
                            f"found {len(a)} and {len(b)} values")
    differences = []
    for x, y in zip(a, b):
        difference = float(x - y)
        if not abs(difference) <= _LARGEST_DIFFERENCE:  # it may be NaN
            raise TrecEvalError(f"cannot compare: expected differences of at most {_LARGEST_DIFFERENCE}, "
                                f"found {x} - {y}; leave out this measure")
        differences.append(0.0 if abs(difference) <= _NO_DIFFERENCE else difference)
    return differences


def paired_t_test(a: Sequence[float], b: Sequence[float]) -> PairedTTest:
    """Student's paired t-test, two-sided, and the 95 % confidence interval of the mean difference.

        t = mean(d) / e      e = s / sqrt(n)      interval = mean(d) - c e to mean(d) + c e

    for the n differences d = a - b and their standard deviation s (divisor n - 1).
    If only chance made the difference, t would follow Student's t distribution
    with n - 1 degrees of freedom.  p is the probability of a t at least as far
    from 0, and c is the t whose probability is 0.05.

    The differences here are 0.4, 0.3, 0.2, 0.1 and -0.1.  Their mean is 0.18 and
    their squared deviations add up to 0.148, so that e = sqrt(0.148 / 4 / 5) =
    0.0860 and t = 2.09.  For 4 degrees of freedom, tables give c = 2.776; the
    interval is 0.18 - 0.239 to 0.18 + 0.239:

    >>> difference, (low, high), p = paired_t_test([0.9, 0.8, 0.5, 0.6, 0.3], [0.5, 0.5, 0.3, 0.5, 0.4])
    >>> print(f"{difference:.3f} in {low:.3f} to {high:.3f}, p = {p:.4f}")
    0.180 in -0.059 to 0.419, p = 0.1045

    If the differences are the same in all topics, to within rounding, the
    interval is that one value, and p is 0 (or 1 if they are all 0).  One topic
    alone has no deviation, so that interval and p are None.

    Student, "The probable error of a mean", Biometrika 6 (1908).  Urbano, Lima &
    Hanjalic, "Statistical significance testing in information retrieval", SIGIR
    2019, recommend this test.
    """
    import statistics  # here because that takes milliseconds, and few need it
    differences = _differences(a, b)
    mean, n = statistics.fmean(differences), len(differences)
    mean = 0.0 if abs(mean) <= _NO_DIFFERENCE else mean
    if n == 1:
        return PairedTTest(mean, None, None)
    if max(differences) - min(differences) <= _NO_DIFFERENCE * max(1.0, abs(mean)):
        return PairedTTest(mean, (mean, mean), 0.0 if mean else 1.0)
    error = statistics.stdev(differences) / math.sqrt(n)
    margin = t_quantile(0.05, n - 1) * error
    return PairedTTest(mean, (mean - margin, mean + margin), t_tail(mean / error, n - 1))


def t_tail(t: float, degrees: float) -> float:
    """The probability that Student's t is at least as far from 0 as this one.

        p = (area from |t| on) / (area from 0 on)
        under the curve (1 + x^2 / df)^(-(df + 1) / 2), with df degrees of freedom

    An area is added up from slices whose distance from its start is a unit times
    exp(pi/2 sinh(u)), for 129 evenly spaced u.  They are thin near the start and
    reach far.  With the height of the curve over its slope as the unit, this
    gives twelve digits of all p above 1e-140.

    With 1 degree of freedom p is 1 - 2 atan(t) / pi, with 2 it is 1 - t / sqrt(2 + t^2):

    >>> print(f"{t_tail(1, 1):.10f}, {t_tail(5, 2):.10f}, {1 - 5 / math.sqrt(27):.10f}")
    0.5000000000, 0.0377495514, 0.0377495514

    Takahasi & Mori, "Double exponential formulas for numerical integration",
    Publications of RIMS 9 (1974).
    """
    t = abs(t)
    if t > 1e140:
        return 0.0

    def area(start: float) -> float:
        """The area under the curve from `start` on, up to a factor that is always the same."""
        unit = (degrees / start + start) / (degrees + 1) if start > 1 else 1.0
        slices = []
        for step in range(-64, 65):
            u = step / 16
            distance = unit * math.exp(math.pi / 2 * math.sinh(u))
            x = start + distance
            height = math.exp(-(degrees + 1) / 2 * math.log1p(x * x / degrees))
            slices.append(height * distance * math.cosh(u))
        return math.fsum(slices)
    return area(t) / area(0.0)


def t_quantile(p: float, degrees: float) -> float:
    """The t whose `t_tail` is p (0 < p <= 1), by halving the interval that it is in.

    >>> print(f"{t_quantile(0.05, 4):.3f}")
    2.776
    """
    low, high = 0.0, 1.0
    while t_tail(high, degrees) > p:
        high *= 2
    while True:
        middle = (low + high) / 2
        if middle in (low, high):  # no double lies between them
            return middle
        if t_tail(middle, degrees) > p:
            low = middle
        else:
            high = middle


def randomisation_test(a: Sequence[float], b: Sequence[float], *, draws: Optional[int] = None,
                       seed: int = 1) -> RandomisationTest:
    """Fisher's paired randomisation test, two-sided, on the mean difference.

    If a and b are equally good, each difference d = a - b could as well have the
    other sign.  There are 2^n ways to give signs to n differences, and p is the
    share of them in which |sum| is as large as observed, or larger.  All are
    tried if at most 16 topics differ.  Otherwise signs are drawn, 100,000 times
    or, for more than 1,000 topics, 10,000 times, and

        p = (1 + draws that are as extreme) / (1 + draws)

    because the observed signs are one more way.  Sums of doubles are rounded, so
    that a sum is as extreme from |observed sum| - 1e-12 sum(|d|) on.

    The differences here are 0.4, 0.3, 0.2, 0.1 and -0.1, and their sum is 0.9.
    Of the 32 ways, one (all signs plus) gives 1.1, two (minus at one of the 0.1)
    give 0.9, and the other sums above 0 are smaller.  As many are below 0, so
    that p is 6 / 32:

    >>> randomisation_test([0.9, 0.8, 0.5, 0.6, 0.3], [0.5, 0.5, 0.3, 0.5, 0.4])
    RandomisationTest(p=0.1875, draws=None, seed=None)

    Smucker, Allan & Carterette, "A comparison of statistical significance tests
    for information retrieval evaluation", CIKM 2007.
    """
    differences = [d for d in _differences(a, b) if d]  # 0 is the same with either sign
    extreme = abs(math.fsum(differences)) - 1e-12 * math.fsum(map(abs, differences))
    if len(differences) <= _EXACT_TOPICS:
        sums = _signed_sums(differences)
        return RandomisationTest(sum(abs(s) >= extreme for s in sums) / len(sums), None, None)
    import random
    if draws is None:
        draws = 100_000 if len(a) <= 1000 else 10_000
    generator = random.Random(seed)
    totals = [0.0] * draws
    # A random byte has eight signs.  A table of the 256 sums of eight differences says what a byte adds.
    differences += [0.0] * (-len(differences) % 8)
    for start in range(0, len(differences), 8):
        sums = _signed_sums(differences[start:start + 8])
        totals = [total + sums[byte] for total, byte in zip(totals, generator.randbytes(draws))]
    as_extreme = sum(abs(total) >= extreme for total in totals)
    return RandomisationTest((1 + as_extreme) / (1 + draws), draws, seed)


def _signed_sums(differences: Sequence[float]) -> list[float]:
    """The sums of n differences in all 2^n ways to give them signs.

    >>> _signed_sums([1, 2])
    [3.0, 1.0, -1.0, -3.0]
    """
    sums = [0.0]
    for d in differences:
        sums = [s + d for s in sums] + [s - d for s in sums]
    return sums


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction of the p-values of several tests, in the order given.

    Of 20 tests where nothing differs, one has p below 0.05 on average.  After the
    correction, the chance that even one of them has is at most 5 %.  The smallest
    of m values is multiplied by m, the next by m - 1, and so on to the largest by
    1; none becomes smaller than the one before it, or larger than 1.  Here 0.01
    becomes 3 x 0.01, 0.03 becomes 2 x 0.03, and 0.04 becomes 0.06 as well,
    because 1 x 0.04 is smaller than that:

    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]

    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6 (1979).
    """
    corrected = list(p_values)
    at_least = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        at_least = max(at_least, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = at_least
    return corrected


class Comparison(NamedTuple):
    """One run compared with the baseline by one measure, over the topics that both were evaluated on.

    measure                printed name
    difference             mean of the run less mean of the baseline; of the
                           logarithms for gm_map and gm_bpref
    interval               95 % confidence interval of the difference; None with one topic
    p_t                    p of the paired t-test; None with one topic
    p_randomisation        p of the paired randomisation test
    p_holm                 p_randomisation, corrected for the number of runs compared
    draws, seed            of the random signs; None if all assignments were tried
    better, equal, worse   number of topics on which the run has a greater, the
                           same and a smaller value
    """

    measure: str
    baseline: str
    run: str
    topics: int
    difference: float
    interval: Optional[tuple[float, float]]
    p_t: Optional[float]
    p_randomisation: float
    p_holm: float
    draws: Optional[int]
    seed: Optional[int]
    better: int
    equal: int
    worse: int


class ComparisonTable(NamedTuple):
    """What `compare` returns.

    runs         {name: Evaluation}, in the order given
    comparisons  by measure, one for each run but the baseline
    """

    runs: dict[str, Evaluation]
    comparisons: list[Comparison]


_COMPARED_BY = ("map", "P.10", "recall.1000", "ndcg_cut.10")  # unless measures are asked for


def compare(qrels: Mapping[str, Any], runs: Mapping[str, Mapping[str, Mapping[str, float]]],
            measures: Iterable[str] = _COMPARED_BY, *, baseline: Optional[str] = None,
            **settings: Any) -> ComparisonTable:
    """Evaluate several runs {name: run} and compare each with the baseline, which is the first if not named.

    Everything else is as for `evaluate`, but there are no zscores.  Warns
    (TrecEvalWarning) if the runs cover different topics and not `complete`.

    >>> qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}
    >>> first = {topic: {"a": 1.0, "b": 2.0} for topic in qrels}
    >>> second = {topic: {"a": 2.0, "b": 1.0} for topic in qrels}
    >>> table = compare(qrels, {"first": first, "second": second}, ["recip_rank"])
    >>> table.runs["second"].summary
    {'recip_rank': 1.0}
    >>> [comparison] = table.comparisons
    >>> comparison.run, comparison.difference, comparison.p_randomisation  # 2 of 8 signs are as extreme
    ('second', 0.5, 0.25)
    """
    checked = _checked_settings(**settings)
    requests = [measures] if isinstance(measures, str) else list(measures)
    _columns(requests, checked, Notes())  # so that an error in a measure names no run
    warned: list[str] = []
    evaluated = {}
    for name, run in _items(runs, "runs", "names of runs"):
        notes = Notes()
        try:
            evaluated[name] = _evaluate_dicts(qrels, run, requests, checked, notes)
        except TrecEvalError as error:
            raise TrecEvalError(f"run {_quoted(name)}: {error}", error.status) from None
        except TypeError as error:
            raise TypeError(f"run {_quoted(name)}: {error}") from None
        warned += notes.lines()
    return _comparison_table(evaluated, baseline, warned)


def compare_files(qrels: Any, runs: Any, measures: Iterable[str] = _COMPARED_BY, *,
                  baseline: Optional[str] = None, rel_format: str = "qrels",
                  results_format: str = "trec_results", **settings: Any) -> ComparisonTable:
    """As `compare`, for judgments and runs in files, as `evaluate_files` takes them, one after the other.

    `runs` is {name: file}, or a list of files.  A file in a list is named by its
    tag, or by its file name if several runs have that tag.

    >>> runs = ["1 Q0 b 1 0.9 bm25", "1 Q0 a 2 0.1 bm25"], ["1 Q0 a 1 0.9 dense"]
    >>> table = compare_files(["1 0 a 1"], runs, ["recip_rank"])
    >>> {name: run.summary for name, run in table.runs.items()}
    {'bm25': {'recip_rank': 0.5}, 'dense': {'recip_rank': 1.0}}
    """
    if isinstance(runs, (str, bytes, os.PathLike)):
        raise TypeError(f"expected a dict or a list of files as runs, found {runs!r}")
    if isinstance(runs, Mapping):
        _items(runs, "runs", "names of runs")
    form = _format(JUDGMENT_FILES, rel_format, "judgments")
    layout = _format(RUN_FILES, results_format, "results")
    checked = _checked_settings(rel_format=form.rel_format, **settings)
    files = runs.values() if isinstance(runs, Mapping) else runs
    sources = [Source.of(file, "run", layout) for file in files]
    warned: list[str] = []
    evaluated = _evaluate_runs(Source.of(qrels, "qrels", form.layout), sources, measures, checked, warned)
    names = runs if isinstance(runs, Mapping) else _run_names(evaluated, sources)
    return _comparison_table(dict(zip(names, evaluated)), baseline, warned)


def _evaluate_runs(qrels: Source, runs: Sequence[Source], requests: Iterable[str], settings: Settings,
                   warned: list[str], *, first_only: bool = False, progress: Optional[Progress] = None,
                   **options: Any) -> list[Evaluated]:
    """Evaluate runs one after the other.  The judgments are read once; warnings are added to `warned`."""
    notes = Notes()
    columns = _columns(requests, settings, notes, first_only)
    judgments = JUDGMENT_FILES[settings.rel_format].read(qrels, settings.release, notes)
    warned += notes.lines()
    evaluated = []
    for number, run in enumerate(runs, start=1):
        if progress and len(runs) > 1:
            progress.run = f"{run.name} ({number} of {len(runs)}): "
        notes = Notes()
        evaluated.append(_evaluate_run(qrels, judgments, run, columns, settings, notes, progress=progress,
                                       **options))
        warned += notes.lines()
    return evaluated


def _run_names(evaluated: Iterable[Evaluated], files: Iterable[Source]) -> list[str]:
    """Different names for runs: the tag, the file's name where tags repeat, its path where these repeat."""
    paths = [file.name for file in files]
    names = [run.over.run_tag or os.path.basename(path) for run, path in zip(evaluated, paths)]
    for instead in [os.path.basename(path) for path in paths], paths:
        times = Counter(names)
        names = [other if times[name] > 1 else name for name, other in zip(names, instead)]
    while len(set(names)) < len(names):  # the same file is there twice
        times = Counter(names)
        names = [f"{name} ({number})" if times[name] > 1 else name
                 for number, name in enumerate(names, start=1)]
    return names


def _comparison_table(evaluated: dict[str, Evaluated], baseline: Optional[str],
                      warned: Iterable[str]) -> ComparisonTable:
    """What `compare` and `compare_files` return.  Warnings name the line that called these."""
    comparisons = _comparisons(evaluated, _baseline(evaluated, baseline))
    for line in dict.fromkeys([*warned, *_different_topics(evaluated)]):
        warnings.warn(line, TrecEvalWarning, stacklevel=3)
    return ComparisonTable({name: run.evaluation() for name, run in evaluated.items()}, comparisons)


def _different_topics(evaluated: Mapping[str, Evaluated]) -> list[str]:
    """The warning, if means are over different topics."""
    topics = [run.rows.keys() for run in evaluated.values()]
    in_any, in_all = set().union(*topics), set(topics[0]).intersection(*topics)
    if in_any == in_all or any(run.settings.complete for run in evaluated.values()):
        return []
    return [f"runs: expected the same topics in all, found {_plural(len(in_all), 'topic')} in all and "
            f"{len(in_any)} in at least one; each mean is over the topics of its run; with -c "
            "(complete=True) all are over the topics of the judgments, and a topic that a run misses counts "
            "as if nothing were retrieved"]


def _baseline(evaluated: Mapping[str, Evaluated], name: Optional[str]) -> str:
    """The run of this name, or the first.  Each other run must have a topic in common with it."""
    if not evaluated:
        raise TrecEvalError("expected at least one run, found none", status=1)
    if name is not None and name not in evaluated:
        names = ", ".join(evaluated)
        raise TrecEvalError(f"unknown baseline {_quoted(name)}; the runs are {names}", status=1)
    baseline = next(iter(evaluated)) if name is None else name
    for other, run in evaluated.items():
        if not run.settings.complete and run.rows.keys().isdisjoint(evaluated[baseline].rows):
            raise TrecEvalError(
                f"cannot compare {_shown_name(other)} with {_shown_name(baseline)}: expected topics that "
                "both were evaluated on, found none; check that both runs are for these topics", status=7)
    return baseline


def _is_tested(column: Column) -> bool:
    """Whether runs are compared by a column: those that are means over the topics are."""
    return column.measure.summary in ("mean", "geometric mean")


def _comparisons(evaluated: Mapping[str, Evaluated], baseline: str) -> list[Comparison]:
    """Compare each run with the baseline by each measure that is a mean."""
    comparisons = []
    for i, column in enumerate(evaluated[baseline].columns):
        if _is_tested(column):
            of_base = _values(evaluated[baseline], i)
            found = [_comparison(column.name, (baseline, of_base), (name, _values(run, i)))
                     for name, run in evaluated.items() if name != baseline]
            corrected = holm([comparison.p_randomisation for comparison in found])
            comparisons += [comparison._replace(p_holm=p) for comparison, p in zip(found, corrected)]
    return comparisons


def _values(evaluated: Evaluated, number: int) -> dict[Any, float]:
    """The values of a column by topic; with -c, of all topics of the judgments.

    Release 9.0.8 does not evaluate topics that the run misses.  They count as in
    the summary: as 0, or as the least logarithm in a geometric mean.
    """
    topics: Iterable[Any] = evaluated.ordered()
    if evaluated.settings.complete:
        topics = sorted(evaluated.qrels_topics, key=_encode)
    is_logarithm = evaluated.columns[number].measure.summary == "geometric mean"
    if_missing = math.log(GEOMETRIC_FLOOR) if is_logarithm else 0.0
    rows = evaluated.rows
    return {topic: rows[topic][number] if topic in rows else if_missing for topic in topics}


def _comparison(measure: str, base: tuple[str, Mapping[Any, float]],
                run: tuple[str, Mapping[Any, float]]) -> Comparison:
    """Compare a run with the baseline, each given as (name, {topic: value}), without a correction."""
    (base_name, of_base), (run_name, of_run) = base, run
    topics = [topic for topic in of_base if topic in of_run]
    a, b = [of_run[topic] for topic in topics], [of_base[topic] for topic in topics]
    try:
        difference, interval, p_t = paired_t_test(a, b)
        p, draws, seed = randomisation_test(a, b)
    except TrecEvalError as error:
        raise TrecEvalError(f"measure {measure}, run {run_name}: {error}") from None
    differences = _differences(a, b)
    better, worse = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    return Comparison(measure, base_name, run_name, len(topics), difference, interval, p_t, p, p, draws, seed,
                      better, len(topics) - better - worse, worse)


# What follows makes text of runs {name: Evaluated} and of their comparisons.  One run is a table of one row.


class Style(NamedTuple):
    """How a format writes the cells of a table.

    escapes  what stands for a character that means something else there
    mark     what follows a value that differs significantly from the baseline's
    best     how the best value of a column is written
    hyphen   what stands for a hyphen before another one
    """

    escapes: Mapping[int, str]
    mark: str
    best: str
    hyphen: str = "-"

    def escaped(self, text: str) -> str:
        """A text, written so that the format shows each of its characters."""
        return re.sub("-(?=-)", self.hyphen, text.translate(self.escapes))


_STYLES = {
    "text": Style({}, "*", "{}"),
    "markdown": Style({ord(character): f"\\{character}" for character in "\\`*_[]<>|#~&$"}, "†", "**{}**"),
    "latex": Style({**{ord(character): f"\\{character}" for character in "&%$#_{}"},
                    **{ord(character): f"\\text{name}{{}}" for character, name in (
                        ("\\", "backslash"), ("~", "asciitilde"), ("^", "asciicircum"), ("|", "bar"),
                        ("<", "less"), (">", "greater"), ("`", "asciigrave"))},
                    **{ord(character): f"{{{character}}}" for character in "[]*"}},  # else arguments of \\
                   r"$^{\dagger}$", r"\textbf{{{}}}", hyphen="-{}"),  # -- would be a dash
}

_WITHOUT_BEST = ("rbp_resid", "unj")  # a large value of these is not good, and a small one need not be

_Rows = list[list[str]]  # of a table, the heads first


def _shown(value: Union[float, str], digits: int) -> str:
    """A value in a table."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) else f"{value:.{digits}f}"


def _summary_rows(evaluated: Mapping[str, Evaluated], comparisons: Iterable[Comparison], digits: int,
                  style: Style) -> _Rows:
    """A row for each run and a column for each measure."""
    values = {name: dict(run.summary_values()) for name, run in evaluated.items()}
    first = next(iter(evaluated.values()))
    heads = [head for head, value in first.summary_values() if not isinstance(value, str)]
    marked = {(comparison.run, comparison.measure) for comparison in comparisons if comparison.p_holm < 0.05}
    best = {}
    for column in first.columns:
        if len(values) > 1 and _is_tested(column) and column.measure.name not in _WITHOUT_BEST:
            of_runs = [cast(float, of_run[column.name]) for of_run in values.values()]
            if max(of_runs) - min(of_runs) > _NO_DIFFERENCE:
                best[column.name] = max(of_runs)
    rows = [[style.escaped(head) for head in ("run", *heads)]]
    for name, of_run in values.items():
        row = [style.escaped(_shown_name(name))]
        for head in heads:
            cell = _shown(of_run[head], digits)
            if head in best and cast(float, of_run[head]) >= best[head] - _NO_DIFFERENCE:
                cell = style.best.format(cell)
            row.append(cell + style.mark if (name, head) in marked else cell)
        rows.append(row)
    return rows


def _topic_rows(evaluated: Mapping[str, Evaluated], digits: int, style: Style) -> _Rows:
    """A row for each topic and measure, and a column for each run; - where the run misses the topic."""
    rows = [["topic", "measure", *map(_shown_name, evaluated)]]
    for topic in sorted(set().union(*[run.rows for run in evaluated.values()]), key=_encode):
        values = [dict(run.topic_values(topic)) if topic in run.rows else {} for run in evaluated.values()]
        for name in max(values, key=len):
            cells = [_shown(of_run.get(name, "-"), digits) for of_run in values]
            rows.append([_shown_name(topic), name, *cells])
    return [[style.escaped(cell) for cell in row] for row in rows]


def _comparison_rows(evaluated: Mapping[str, Evaluated], comparisons: Iterable[Comparison],
                     digits: int) -> _Rows:
    """A row for each comparison."""
    first = next(iter(evaluated.values()))
    logarithms = [column.name for column in first.columns if column.measure.summary == "geometric mean"]
    rows = [["measure", "run", "topics", "difference", "95 % interval", "p t-test", "p randomisation",
             "p Holm", "better", "equal", "worse"]]
    for each in comparisons:
        interval = "-"
        if each.interval is not None:
            interval = "{:+.{}f} to {:+.{}f}".format(each.interval[0], digits, each.interval[1], digits)
        name = f"log {each.measure}" if each.measure in logarithms else each.measure
        rows.append([name, _shown_name(each.run), str(each.topics), f"{each.difference:+.{digits}f}",
                     interval, *map(_shown_p, (each.p_t, each.p_randomisation, each.p_holm)),
                     str(each.better), str(each.equal), str(each.worse)])
    return rows


def _shown_p(p: Optional[float]) -> str:
    """A p-value with four decimals."""
    if p is None:
        return "-"
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def _explained_marks(comparisons: Sequence[Comparison], runs: int) -> str:
    """What a mark means: which test, which correction."""
    drawn = {comparison.draws: comparison.seed for comparison in comparisons if comparison.draws}
    how = " and ".join(f"{draws:,} draws with seed {seed}" for draws, seed in drawn.items())
    if any(comparison.draws is None for comparison in comparisons):
        how = f"exact where at most {_EXACT_TOPICS} topics differ, else {how}" if drawn else "exact"
    baseline = _shown_name(comparisons[0].baseline)
    return (f" differs from {baseline}: p < 0.05 in the paired randomisation test ({how}) "
            f"with Holm's correction for {_plural(runs - 1, 'run')}")


def _caption(evaluated: Mapping[str, Evaluated], comparisons: Sequence[Comparison], style: Style) -> str:
    """What a reader of a table must know: topics, tests and settings."""
    counts = {name: run.over.topics for name, run in evaluated.items()}
    first = next(iter(evaluated.values()))
    over = _plural(first.over.topics, "topic")
    if _different_topics(evaluated):
        of_each = ", ".join(f"{_shown_name(name)}: {n}" for name, n in counts.items())
        over = f"the topics of each run ({of_each}), tests over those that two runs share"
    sentences = [style.escaped(f"Values over {over}.")]
    if comparisons:
        marks = style.escaped(_explained_marks(comparisons, len(evaluated)))
        sentences += [f"{style.mark}{marks}.", "Bold: the best value of a measure."]
    return " ".join([*sentences, style.escaped(signature(first.settings))])


def _aligned(rows: _Rows, words: int) -> list[str]:
    """A table as text: as many columns as there are of `words` to the left, the others to the right."""
    marked = [any(row[i].endswith("*") for row in rows) for i in range(len(rows[0]))]
    padded = [[cell if not has_marks or cell.endswith("*") else cell + " "
               for cell, has_marks in zip(row, marked)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*padded)]
    lines = []
    for row in padded:
        cells = [cell.ljust(width) if i < words else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return lines


def _markdown_table(rows: _Rows, words: int, caption: str) -> list[str]:
    """A table in Markdown, and its caption."""
    rule = ["---" if i < words else "---:" for i in range(len(rows[0]))]
    lines = [f"| {' | '.join(row)} |" for row in [rows[0], rule, *rows[1:]]]
    return [*lines, "", caption]


def _latex_table(rows: _Rows, words: int, caption: str) -> list[str]:
    """A table in LaTeX, with the rules of the package booktabs, and its caption.

    That of the topics, with two columns of words, goes over several pages.
    """
    heads, *body = [f"{' & '.join(row)} \\\\" for row in rows]
    columns = "l" * words + "r" * (len(rows[0]) - words)
    if words == 2:
        return ["% needs \\usepackage{booktabs,longtable}", f"\\begin{{longtable}}{{{columns}}}",
                f"\\caption{{{caption}}} \\\\", "\\toprule", heads, "\\midrule", "\\endhead", *body,
                "\\bottomrule", "\\end{longtable}"]
    return ["% needs \\usepackage{booktabs}", "\\begin{table}", f"\\caption{{{caption}}}",
            f"\\begin{{tabular}}{{{columns}}}", "\\toprule", heads, "\\midrule", *body, "\\bottomrule",
            "\\end{tabular}", "\\end{table}"]


def _report_table(evaluated: Mapping[str, Evaluated], comparisons: Sequence[Comparison], per_topic: bool,
                  summary: bool, digits: int, form: str) -> list[str]:
    """The tables in Markdown or LaTeX: the topics' values and the summary, if they are wanted."""
    style, table = _STYLES[form], _markdown_table if form == "markdown" else _latex_table
    lines: list[str] = []
    if per_topic:
        settings = next(iter(evaluated.values())).settings
        caption = f"Values by topic. {style.escaped(signature(settings))}"
        lines += [*table(_topic_rows(evaluated, digits, style), 2, caption), ""]
    if summary:
        rows = _summary_rows(evaluated, comparisons, digits, style)
        lines += table(rows, 1, _caption(evaluated, comparisons, style))
    return lines


def _report_text(evaluated: Mapping[str, Evaluated], comparisons: Sequence[Comparison], per_topic: bool,
                 summary: bool, digits: int) -> list[str]:
    """Several runs as text: the topics' values, the summary, and the comparisons."""
    style = _STYLES["text"]
    lines: list[str] = []
    if per_topic:
        lines += _aligned(_topic_rows(evaluated, digits, style), 2)
    if per_topic and summary:
        lines.append("")
    if summary:
        lines += [*_aligned(_summary_rows(evaluated, comparisons, digits, style), 1), ""]
        if comparisons:
            lines.append(f"compared with {_shown_name(comparisons[0].baseline)}")
            lines += [*_aligned(_comparison_rows(evaluated, comparisons, digits), 2), ""]
            lines.append(style.mark + _explained_marks(comparisons, len(evaluated)))
        lines.append(signature(next(iter(evaluated.values())).settings))
    return lines


def _report_csv(evaluated: Mapping[str, Evaluated], per_topic: bool, summary: bool) -> str:
    """Lines of run, topic, measure and value, with all digits.  Control characters appear as their codes."""
    import csv
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("run", "topic", "measure", "value"))
    for name, run in evaluated.items():
        if per_topic:
            for topic in run.ordered():
                writer.writerows((name, _decode(topic), *value) for value in run.topic_values(topic))
        if summary:
            writer.writerows((name, "all", *value) for value in run.summary_values()
                             if not isinstance(value[1], str))  # the tag is no value
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", lambda control: ascii(control[0])[1:-1], text.getvalue())


def _report_comparison_json(evaluated: Mapping[str, Evaluated], comparisons: Iterable[Comparison],
                            per_topic: bool, summary: bool, measures: Sequence[str]) -> str:
    """One JSON object for several runs: the settings, the values of each run, and the comparisons."""
    import json
    settings = next(iter(evaluated.values())).settings
    runs = {name: _json_values_of(run, per_topic, summary) for name, run in evaluated.items()}
    report = {"settings": _json_settings(settings, measures), "runs": runs,
              "comparisons": [comparison._asdict() for comparison in comparisons]}
    return json.dumps(report, indent=1)


# ---- Pictures ----
# An explanation, or what runs gain and lose against a baseline, becomes an SVG that any browser shows.  A
# picture is a stack of blocks: texts, rows of labels, strips of squares, and charts of bars and step lines.
# What it shows are the terms of the Value that the measure's function returned, as in the text.

__all__ += ["ComparedRun", "comparison_svg", "explanation_svg"]

_LEFT, _RIGHT = 76, 472  # where strips and charts begin and end; a picture is 480 wide, its letters 11 high

# Colours of Okabe & Ito, which colour-blind people can tell apart, for a light page and for a dark one.
_STYLE = """
text { font: 11px Helvetica, Arial, sans-serif; fill: #222222 } text.title { font-size: 16px }
.title, .head { font-weight: bold } .paper, text.on { fill: #ffffff } .grey { fill: #d8d8d8 }
.blue { fill: #0072b2 } .orange { fill: #d55e00 } .area { fill: #b3d4e8; stroke: #0072b2 }
.mean, .interval { fill: #009e73; stroke: #009e73 } .interval { fill-opacity: 0.4 }
.open, .missed, .grid, .tie, .line, .dashed, .faint, .level { fill: none; stroke: #8a8a8a }
.grid { stroke: #dddddd } .tie, .missed { stroke: #222222 } .missed, .line { stroke-width: 2 }
.line { stroke: #0072b2 } .dashed, .level { stroke: #d55e00; stroke-width: 2 }
.dashed { stroke-dasharray: 5 3 } .faint { stroke-dasharray: 2 3 }
@media (prefers-color-scheme: dark) {
text { fill: #e8e8e8 } .paper, text.on { fill: #16191d } .grey { fill: #4a4f56 }
.blue { fill: #56b4e9 } .orange { fill: #e69f00 } .area { fill: #29485c; stroke: #56b4e9 }
.grid { stroke: #3a3f46 } .tie, .missed { stroke: #e8e8e8 } .line { stroke: #56b4e9 }
.dashed, .level { stroke: #e69f00 }
}
"""
_Block = tuple[float, list[str]]  # a part of a picture, as wide as the picture: its height, and SVG elements


def _svg(title: str, description: Iterable[str], blocks: Iterable[_Block]) -> str:
    """Blocks, one below the other, as a picture with title and description for those who cannot see it."""
    groups, y = [], 8.0
    for height, elements in blocks:
        groups.append("\n".join([f'<g transform="translate(0 {y:.1f})">', *elements, "</g>"]))
        y += height
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" viewBox="0 0 480 {math.ceil(y) + 8}">',
        f"<title>{_escaped(title)}</title>", "<desc>" + "\n".join(map(_escaped, description)) + "</desc>",
        f'<style type="text/css">{_STYLE}</style>', '<rect width="100%" height="100%" class="paper"/>',
        *groups, "</svg>\n"])


def _escaped(text: str) -> str:
    """Text as XML, in ASCII."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.encode("ascii", "xmlcharrefreplace").decode()


def _short_name(name: str) -> str:
    """A topic, run or document as labels show it: without its middle if it is long.

    >>> _short_name("clueweb12-0000tw-05-12114")
    'clueweb12...05-12114'
    """
    shown = _shown_name(name)
    most = 20 if shown.isascii() else 12  # other letters may be wide
    if len(shown) > most:
        shown = shown[:most // 2 - 1] + "..." + shown[2 - most // 2:]
    # Isolated, so that letters written from right to left do not turn what stands around them.
    return shown if shown.isascii() else f"\u2068{shown}\u2069"


def _short_number(value: float, digits: int) -> str:
    """A number as labels show it: as the text does, if that is short enough."""
    shown = _figure(value, digits)
    return shown if len(shown) < digits + 8 else f"{value:.{digits}g}"


def _width(text: str) -> float:
    """About how wide a label is: fonts differ, and what is not ASCII may be as wide as Chinese."""
    capitals = sum(character.isupper() for character in text)
    others = sum(not character.isascii() for character in text)
    return 6.2 * len(text) + 1.4 * capitals + 4.8 * others


def _label(x: float, y: float, text: str, anchor: str = "start", kind: str = "", turned: bool = False) -> str:
    """A text on the line y, at x or, turned, upwards from there."""
    place = f'transform="translate({x:.1f} {y:.1f}) rotate(-90)"' if turned else f'x="{x:.1f}" y="{y:.1f}"'
    style = f' class="{kind}"' if kind else ""
    return f'<text {place}{style} text-anchor="{anchor}">{_escaped(text)}</text>'


def _bar(x: float, y: float, width: float, height: float, kind: str, opacity: float = 1) -> str:
    """A rectangle with its upper left corner at x and y."""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    shade = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
    return f'<rect {place} class="{kind}"{shade}/>'


def _step_line(points: Sequence[tuple[float, float]], kind: str) -> str:
    """A line that goes horizontally to each point's x, and then vertically to its y."""
    (x, y), *others = points
    steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in others)
    return f'<path d="M{x:.1f} {y:.1f}{steps}" class="{kind}"/>'


def _paragraph(text: str, kind: str = "") -> _Block:
    """A text of as many lines as it needs, with some space above if it is the head of something."""
    import textwrap  # here because only pictures need it
    letters = {"title": 46, "head": 74, "": 84}  # as many fit into a line, in wide fonts, too
    step = 20 if kind == "title" else 14
    space = 6 if kind == "head" else 0
    lines = [_label(10, space + step * i - 4, line, kind=kind)
             for i, line in enumerate(textwrap.wrap(text, letters[kind]), start=1)]
    return (space + step * len(lines) + 2, lines)


def _legend(meanings: Mapping[str, str]) -> _Block:
    """What each kind of sign means, two in a line if there is room."""
    columns = 2 if max(map(_width, meanings.values()), default=0.0) < 235 else 1
    elements = []
    for i, (kind, meaning) in enumerate(meanings.items()):
        x, y = 10 + i % columns * 232, 2 + i // columns * 16
        if kind == "tie":
            elements.append(_step_line([(x, y + 4), (x, y + 9), (x + 12, y + 4)], kind))
        elif kind in ("line", "dashed", "faint", "mean"):
            elements.append(_step_line([(x, y + 6), (x + 13, y + 6)], kind))
        else:
            elements.append(_bar(x, y + 1, 11, 11, kind))
        elements.append(_label(x + 18, y + 10, meaning))
    return (math.ceil(len(meanings) / columns) * 16 + 2, elements)


class _Axis(NamedTuple):
    """The vertical axis of a chart: its values from the lower to the upper end, and its length."""

    low: float
    high: float
    length: float

    def y(self, value: float) -> float:
        """Where a value is."""
        return 8 + self.length * ((self.high - value) / (self.high - self.low))

    def chart(self, elements: Iterable[str], right: float = _RIGHT) -> _Block:
        """The elements before lines with values at both ends and half way up."""
        lines = []
        for value in (self.low, (self.low + self.high) / 2, self.high):
            lines.append(_step_line([(_LEFT, self.y(value)), (right, self.y(value))], "grid"))
            lines.append(_label(_LEFT - 6, self.y(value) + 4, f"{value:g}", "end"))
        return (self.length + 16, [*lines, *elements])


def _axis(values: Collection[float], least: float = 0.0) -> _Axis:
    """The axis from 0 to a round number that no value exceeds; as far downwards if there are negative values.

    >>> _axis([3.4, 4.6]).high, _axis([0.2], least=1.0).high, _axis([0.03, -0.5]).low
    (6.0, 1.0, -0.6)
    """
    largest = max([least, *map(abs, values)]) or 1.0
    power = math.floor(math.log10(largest))
    round_numbers = [float(f"{digit}e{power}") for digit in (1, 2, 4, 6, 10)]
    high = next((number for number in round_numbers if largest <= number < math.inf), largest)
    return _Axis(-high if min(values, default=0.0) < 0 else 0.0, high, 70)


class _Document(NamedTuple):
    """A document: its name, its grade, the kind of its square, and its gain as a part of the largest one."""

    name: str
    grade: Optional[float]
    kind: str
    part: float


class _Ranks(NamedTuple):
    """The horizontal axis: how many ranks are drawn, and how wide each is."""

    drawn: int
    width: float

    def middle(self, rank: int) -> float:
        """The middle of a rank's place."""
        return _LEFT + (rank - 0.5) * self.width

    @property
    def right(self) -> float:
        """Where the last place ends."""
        return _LEFT + self.drawn * self.width

    def row(self, head: str, ranks: Iterable[int], cells: Iterable[Union[str, float]],
            digits: int = 0) -> _Block:
        """Texts or numbers at ranks, and their head.  All are turned if one is wider than its place."""
        texts = [cell if isinstance(cell, str) else _short_number(cell, digits) for cell in cells]
        widest = max(map(_width, texts), default=0.0)
        turned = widest > self.width
        height = widest + 4 if turned else 16
        elements = [_label(_LEFT - 6, height - 5, head, "end")]
        shift, anchor = (4, "start") if turned else (0, "middle")
        elements += [_label(self.middle(rank) + shift, height - 5, text, anchor, turned=turned)
                     for rank, text in zip(ranks, texts)]
        return (height, elements)

    def numbers(self) -> _Block:
        """The row of the ranks themselves."""
        return self.row("rank k", range(1, self.drawn + 1), range(1, self.drawn + 1))

    def documents(self, documents: Sequence[_Document]) -> list[_Block]:
        """A row of names, and a strip of squares with grades."""
        side = min(self.width - 2, 24)
        squares = [_label(_LEFT - 6, side / 2 + 5, "grade", "end")]
        for rank, (_, grade, kind, part) in enumerate(documents, start=1):
            is_coloured = kind in ("blue", "orange")
            opacity = 0.3 + 0.7 * part if is_coloured else 1.0
            squares.append(_bar(self.middle(rank) - side / 2, 1, side, side, kind, opacity))
            text = "" if kind == "open" else f"{grade:.15g}"
            if text and _width(text) <= side:
                ink = "on" if is_coloured and opacity > 0.7 else ""
                squares.append(_label(self.middle(rank), side / 2 + 5, text, "middle", ink))
        names = [document.name for document in documents]
        return [self.row("document", itertools.count(1), names), (side + 3, squares)]

    def bar(self, axis: _Axis, rank: int, number: float, kind: str) -> str:
        """A bar from 0 to a number, with some space beside it unless it is narrow."""
        gap = 1.0 if self.width > 4 else 0.0
        left, top, bottom = self.middle(rank) - self.width / 2, max(number, 0.0), min(number, 0.0)
        return _bar(left + gap, axis.y(top), self.width - 2 * gap, axis.y(bottom) - axis.y(top), kind)


_OF_PRECISIONS = ("map", "gm_map", "map_cut", "yaap", "iprec_at_recall", "11pt_avg")
_ROWS = {  # other heads than in the text, for some rows of numbers
    "hits(rank)": "hits so far", "log2(rank+1)": "log2(k + 1)", "p^(rank-1)": "p^(k-1)",
    "cost(rank)": "cost(k)", "s(rank)": "s(k)"}


def explanation_svg(explanation: Union[Explanation, Sequence[Explanation]], digits: int = 4) -> str:
    """A picture in SVG of an explanation, or of those of iprec_at_recall at several levels.

    >>> explanation, = explain({"1": {"a": 1, "b": 1}}, {"1": {"c": 2.0, "a": 1.0}}, ["map"])["1"]
    >>> explanation_svg(explanation).splitlines()[1]
    '<title>map of topic 1: 0.2500</title>'

    All of it is ASCII.  Raises TrecEvalError if a picture of the measure would not help.
    """
    is_one = isinstance(explanation, Explanation)
    explanations = cast(Sequence[Explanation], [explanation] if is_one else explanation)
    if not explanations:
        raise TrecEvalError("expected an explanation for a picture, found none", status=1)
    first = explanations[0]
    column, measure = first.column, first.column.measure
    alike = {(each.topic, each.column.measure.name, each.column.settings) for each in explanations}
    if len(explanations) > 1 and alike != {(first.topic, "iprec_at_recall", column.settings)}:
        drawn = [each.column.name for each in explanations if not _why_no_picture(each)] or [column.name]
        raise TrecEvalError(f"expected one value for a picture, found {len(explanations)} ({column.name} to "
                            f"{explanations[-1].column.name}); ask for one, such as {_pasted(drawn[0])}",
                            status=1)
    reason = _why_no_picture(first)
    if reason:
        raise TrecEvalError(f"{column.name}: a picture would not help, because {reason}; use the text",
                            status=1)
    title = f"{_shown_name(column.name)} of topic {_short_name(first.topic)}: {first.value:.{digits}f}"
    working, description = _working(column, first.value, digits), explanation_lines(first, digits=digits)
    if len(explanations) > 1:
        title, working = f"{measure.name} of topic {_short_name(first.topic)}", []
        for each in explanations[1:]:
            description += _working(each.column, each.value, digits)
    if first.note:
        working.append(f"printed as 0: {first.note}")
    summary, *lines = _meaning(column)
    formula = [line.strip() for line in lines if line.startswith("  ")]
    symbols = " ".join([line for line in lines if not line.startswith("  ")])
    return _svg(title, description, [
        _paragraph(title, "title"), *map(_paragraph, [summary, *formula, symbols]),
        *_value_blocks(explanations, digits),
        *(_paragraph(_shown_name(line), "head") for line in working)])


def _why_no_picture(explanation: Explanation) -> str:
    """Why a picture of the value would not help; empty if it would."""
    name, value = explanation.column.measure.name, explanation.value
    if explanation.views[0].label or not isinstance(explanation.views[0].judged, JudgedRanking):
        return "it is made of preferences, or of judgments by several people"
    if explanation.column.measure.is_count:
        return "it is a count"
    if not isinstance(value, Value):
        return "it does not say what was added up"
    if name == "utility" or name.startswith("set_"):
        return "the order of the documents plays no part in it"
    has_labels = any(isinstance(rank, (str, float)) for rank in value.ranks) and name != "11pt_avg"
    return "it is no sum over the ranks" if has_labels or name in ("ndcg_rel", "Rndcg") else ""


def _value_blocks(explanations: Sequence[Explanation], digits: int) -> list[_Block]:
    """The ranking, what each document adds, and the running totals, or precision by recall."""
    column, view, value = explanations[0].column, explanations[0].views[0], cast(Value, explanations[0].value)
    name, topic = column.measure.name, view.judged
    sums = {"total": value}
    if name in ("ndcg", "ndcg_cut"):
        sums = dict(zip(("dcg", "ideal_dcg"), value.working[1:]))
    elif name in ("dcg", "ideal_dcg"):
        sums = {name: value}
    elif name in _LOGARITHMS:
        sums = {"total": value.working[1]}
    elif name in _INTERPOLATED:
        sums = {"": add_up(topic.relevant_ranks, topic.precisions)}
    lengths = [topic.num_ret, *(len(each.ranks) for label, each in sums.items() if label == "ideal_dcg")]
    drawn = min(max(lengths), 25)  # so many have room for their names
    ranks = _Ranks(drawn, (_RIGHT - _LEFT) / max(drawn, 10))
    axis = _axis([term for each in sums.values() for term in each.terms], least=1.0)
    blocks = _ranking(column, view, ranks)
    for label, each in sums.items():
        blocks += _added(column, view, ranks, axis, label, each, digits)
    if name in _INTERPOLATED:
        levels = {each.column.arguments[0]: cast(float, each.value) for each in explanations}
        if name == "11pt_avg":
            levels = dict(zip(column.arguments[0], reversed(value.terms)))
        return blocks + _by_recall(topic, levels, digits)
    blocks += _totals(column, ranks, sums, digits)
    return blocks + _by_recall(topic, {}, digits) if name == "map" else blocks


def _documents(column: Column, view: View) -> tuple[list[_Document], list[_Document]]:
    """The ranking, and the documents that would add something but are not in it."""
    gains = {grade: _gain(column, view.judged, grade) for *_, grade, _ in view.ranking}
    gains.update({grade: _gain(column, view.judged, grade) for _, grade in view.missed})
    largest = max(gains.values(), default=0.0) or 1.0
    documents = []
    for docno, _, grade, _ in view.ranking:
        kind = "blue" if gains[grade] > 0 else "grey"
        if grade is None or grade < 0:
            kind = "open"
        documents.append(_Document(_short_name(docno), grade, kind, gains[grade] / largest))
    return documents, [_Document(_short_name(docno), grade, "missed", gains[grade] / largest)
                       for docno, grade in view.missed if gains[grade] > 0]


def _gain(column: Column, topic: JudgedRanking, grade: Optional[float]) -> float:
    """The gain of a grade or, to measures that know none, 1 if it is relevant; 0 if it adds nothing."""
    if grade is None or not _can_add(column, topic, grade):
        return 0.0
    return _gain_of_grade(column, topic, grade) if _is_of_gains(column) else 1.0


def _ranking(column: Column, view: View, ranks: _Ranks) -> list[_Block]:
    """The documents by rank, with what the signs mean, and those that are missing from the ranking."""
    topic, meaning = view.judged, " ".join(_meaning(column))
    documents, missed = _documents(column, view)
    found = len([document for document in documents if document.kind == "blue"])
    shown = documents[:ranks.drawn]
    all_of_them = f"R = {_plural(topic.num_rel, 'relevant one')}"
    meanings = {"blue": f"relevant: grade {topic.relevance_level} or higher", "grey": "judged nonrelevant",
                "open": "not judged", "tie": "equal scores: the greater name first"}
    if _is_of_gains(column):
        all_of_them = f"{found + len(missed)} with a gain"
        meanings.update(blue="with a gain (stronger: larger gain)", grey="without a gain")
    head = f"The ranking: N = {_plural(topic.num_ret, 'document')}, with {found} of the {all_of_them}"
    if "NR" in meaning:
        head += f"; NR = {topic.num_nonrel}"
    if column.measure.parameters.kind == "cutoffs":
        head += f". Only ranks up to {column.arguments[0]} count"
    if ranks.drawn < topic.num_ret:
        head += f". The first {ranks.drawn} are drawn"
    brackets = []
    scores = topic.release.keep_scores([score for _, score, *_ in view.ranking[:ranks.drawn]])
    for _, tied in itertools.groupby(enumerate(scores, start=1), key=lambda place: place[1]):
        first, *others = [ranks.middle(rank) for rank, _ in tied]
        if others:
            brackets.append(_step_line([(first, 1), (first, 6), (others[-1], 1)], "tie"))
    kinds = {document.kind for document in shown}.union(["tie"] if brackets else [])
    blocks = [_paragraph(head, "head"), _legend({kind: meanings[kind] for kind in meanings if kind in kinds}),
              *ranks.documents(shown), (7 if brackets else 0, brackets), ranks.numbers()]
    if missed and column.measure.name not in _NOT_OF_RELEVANT:
        most, text = max(ranks.drawn, 10), "What is missing adds 0"
        if "ideal ranking" in meaning:
            text += ", but is part of the ideal ranking"
        elif re.search(r"\bR\b", meaning):
            text += ", but counts in R"
        if len(missed) > most:
            text += f". {most} of them are drawn"
        blocks += [_paragraph(f"Not in the ranking: {len(missed)} of the {all_of_them}", "head"),
                   _legend({"missed": text}), *ranks.documents(missed[:most])]
    return blocks


def _added(column: Column, view: View, ranks: _Ranks, axis: _Axis, label: str, value: Value,
           digits: int) -> list[_Block]:
    """What each document adds, in numbers and as bars, and what it takes to work that out."""
    name, kind, adds = column.measure.name, "blue", "adds"
    drawn = [rank for rank in cast(Sequence[int], value.ranks) if rank <= ranks.drawn]
    heads = [head for head in _DETAILS.get(name, ()) if head != "ideal gain" or name == "G"]
    blocks = [_paragraph("What each document adds", "head")]
    if name in _OF_PRECISIONS:
        heads, adds = ["hits(rank)"], "precision"
        blocks = [_paragraph("The precision at each relevant document: hits so far / k", "head")]
    elif label == "ideal_dcg":
        heads, kind = list(_DETAILS[label]), "orange"
        documents, missed = _documents(column, view)
        ideal = [each._replace(kind=kind) for each in documents if each.kind == "blue"] + missed
        ideal.sort(key=lambda document: -document.part)
        blocks = [_paragraph("The ideal ranking: all documents that have a gain, the largest first", "head"),
                  *ranks.documents(ideal[:len(drawn)])]
    for head in heads:
        details = [_detail(head, view.judged, rank, column.arguments) or 0 for rank in drawn]
        blocks.append(ranks.row(_ROWS.get(head, head), drawn, details, digits))
    bars = [ranks.bar(axis, rank, term, kind) for rank, term in zip(drawn, value.terms)]
    return [*blocks, ranks.row(adds, drawn, value.terms, digits), axis.chart(bars, ranks.right),
            ranks.numbers()]


def _totals(column: Column, ranks: _Ranks, sums: Mapping[str, Value], digits: int) -> list[_Block]:
    """The running totals as lines, and the sums that they end with written out."""
    head, suffix, factor = "The bars added up", "", 1.0
    divisor = _divisor_of_sum(next(iter(sums.values())))
    if divisor:
        head, suffix, factor = f"{head}, divided by {divisor:.15g}", f" / {divisor:.15g}", 1 / divisor
    elif column.measure.name == "rbp":
        factor = 1 - column.arguments[0]
        head, suffix = f"{head}, times 1 - p", f" * {factor:.4g}"
    totals = {label: [factor * total for total in itertools.accumulate(value.terms, initial=0.0)]
              for label, value in sums.items()}
    axis = _axis([total for line in totals.values() for total in line], least=1.0)
    meanings, lines, written_out = {}, [], []
    for label, value in sums.items():
        drawn = [rank for rank in cast(Sequence[int], value.ranks) if rank <= ranks.drawn]
        places = [_LEFT, *map(ranks.middle, drawn), ranks.right]
        heights = [axis.y(total) for total in (*totals[label][:len(drawn) + 1], totals[label][-1])]
        kind = "dashed" if label == "ideal_dcg" else "line"
        lines.append(_step_line(list(zip(places, heights)), kind))
        meanings[kind] = f"{label}{suffix} so far, at the end {_short_number(totals[label][-1], digits)}"
        terms = [_short_number(term, digits) for term in value.terms[:len(drawn)] if term]
        below = value.terms[len(drawn):]
        if below:
            terms.append(f"{_short_number(add_up((), below), digits)} (below rank {ranks.drawn})")
        if len(terms) > 1:
            total = _short_number(add_up((), value.terms), digits)
            written_out.append(_paragraph(f"{label} = {' + '.join(terms)} = {total}"))
    return [_paragraph(head, "head"), _legend(meanings),
            axis.chart(reversed(lines), ranks.right), ranks.numbers(), *written_out]


def _by_recall(topic: JudgedRanking, levels: Mapping[float, float], digits: int) -> list[_Block]:
    """Precision by recall: with values at recall levels or, if there are none, the area that is AP."""
    axis, width = _Axis(0.0, 1.0, 120), _RIGHT - _LEFT
    places = [_LEFT + width * hits / max(topic.num_rel, 1) for hits in range(topic.hits + 1)]
    best = list(itertools.accumulate(reversed(topic.precisions), max))[::-1]
    stairs, best_stairs = [list(zip([*places, _RIGHT], [axis.y(height) for height in (*heights, 0.0, 0.0)]))
                           for heights in (topic.precisions, best)]
    signs = [] if levels else [_step_line([(_LEFT, axis.y(0)), *stairs], "area")]
    signs.append(_step_line(best_stairs, "dashed" if levels else "faint"))
    signs += [_bar(_LEFT + width * level - 4, axis.y(value) - 4, 8, 8, "level")
              for level, value in levels.items() if level <= 1]
    signs += [_bar(x - 2, axis.y(precision) - 2, 4, 4, "blue")
              for x, precision in zip(places[1:], topic.precisions)]
    ticks = [_label(_LEFT + width * tenth / 10, 9, f"{tenth / 10:g}", "middle") for tenth in range(11)]
    head, below = "The value as an area: each relevant document is 1 / R wide", []
    meanings = {"blue": "a relevant document"}
    if not levels:
        meanings["faint"] = "interpolated precision, which AP does not use"
    else:
        head = "The same precisions by recall"
        meanings.update(dashed="the best at that recall or beyond", level="value at a recall level")
        values = [f"{_short_number(value, digits)} at {level:g}" for level, value in levels.items()]
        below = [_paragraph(f"Values at recall levels, rounded to whole documents: {', '.join(values)}")]
    return [_paragraph(head, "head"), _legend(meanings), (14, [_label(_LEFT - 6, 12, "precision", "end")]),
            axis.chart(signs), (14, [_label(_LEFT - 22, 9, "recall", "end"), *ticks]), *below,
            _paragraph("Recall is hits so far / R. What is not in the ranking has height 0.")]


class ComparedRun(NamedTuple):
    """What a run gains and loses against a baseline.

    run                   its name
    differences           {topic: its value less that of the baseline}
    mean                  of the differences
    interval              the mean's 95 % confidence interval; None with one topic
    better, equal, worse  the number of topics where the run is
    p                     of a test whether the mean differs from 0; None without one
    """

    run: str
    differences: Mapping[str, float]
    mean: float
    interval: Optional[tuple[float, float]]
    better: int
    equal: int
    worse: int
    p: Optional[float]


def comparison_svg(measure: str, baseline: str, runs: Sequence[ComparedRun], digits: int = 4) -> str:
    """A picture in SVG of what runs gain and lose against a baseline: a panel a run, a bar a topic.

    >>> run = ComparedRun("new", {"1": 0.25, "2": -0.5}, -0.125, None, better=1, equal=0, worse=1, p=None)
    >>> comparison_svg("map", "old", [run]).splitlines()[1]
    '<title>map of 1 run compared with old</title>'
    """
    title = f"{_shown_name(measure)} of {_plural(len(runs), 'run')} compared with {_short_name(baseline)}"
    key = f"Each bar is a topic: {_shown_name(measure)} of the run less that of {_short_name(baseline)}."
    meanings = {"blue": "the run is better", "orange": "the run is worse", "mean": "mean difference",
                "interval": "95 % confidence interval of the mean"}
    scale = [0.0]
    for run in runs:
        scale += [*run.differences.values(), *(run.interval or ())]
    axis = _axis(scale)
    blocks, description = [_paragraph(title, "title"), _paragraph(key), _legend(meanings)], [key]
    for run in runs:
        falling = sorted(run.differences.items(), key=lambda item: (-item[1], item[0]))
        head, *lines = _in_words(run, falling, digits)
        topics = _Ranks(len(falling), min((_RIGHT - 20 - _LEFT) / max(len(falling), 1), 24.0))
        signs = [topics.bar(axis, place, difference, "blue" if difference > 0 else "orange")
                 for place, (_, difference) in enumerate(falling, start=1)]
        if run.interval is not None:
            low, high = run.interval
            signs.append(_bar(_RIGHT - 10, axis.y(high), 8, axis.y(low) - axis.y(high), "interval"))
        signs.append(_step_line([(_LEFT, axis.y(run.mean)), (_RIGHT, axis.y(run.mean))], "mean"))
        blocks += [_paragraph(head, "head"), axis.chart(signs)]
        if len(falling) <= 25:  # else their names have no room
            names = [_short_name(topic) for topic, _ in falling]
            blocks.append(topics.row("topic", itertools.count(1), names))
        blocks += map(_paragraph, lines)
        description += [head, *lines]
    return _svg(title, description, blocks)


def _picture_of_runs(evaluated: Mapping[str, Evaluated], comparisons: Sequence[Comparison],
                     digits: int) -> str:
    """The picture of the first measure by which runs are compared."""
    if not comparisons:
        raise TrecEvalError("expected a measure by which runs can be compared, and runs to compare, "
                            "for --svg", status=1)
    measure, baseline = comparisons[0].measure, comparisons[0].baseline
    number = [column.name for column in evaluated[baseline].columns].index(measure)
    of_base = _values(evaluated[baseline], number)
    runs = []
    for each in comparisons:
        if each.measure == measure:
            of_run = _values(evaluated[each.run], number)
            differences = {_decode(topic): of_run[topic] - of_base[topic]
                           for topic in of_base if topic in of_run}
            runs.append(ComparedRun(each.run, differences, each.difference, each.interval, each.better,
                                    each.equal, each.worse, each.p_holm))
    return comparison_svg(measure, baseline, runs, digits)


def _in_words(run: ComparedRun, falling: Sequence[tuple[str, float]], digits: int) -> list[str]:
    """A comparison as lines: the counts, the mean, and the topics that gain and lose most."""
    mean = f"mean difference {run.mean:+.{digits}f}"
    if run.interval is not None:
        low, high = run.interval
        mean += f", 95 % interval {low:+.{digits}f} to {high:+.{digits}f}"
    if run.p is not None:
        mean += f", p = {_figure(run.p, digits)}"
    lines = [f"{_short_name(run.run)}: {run.better} better, {run.equal} equal, {run.worse} worse", mean]
    gaining = [(topic, difference) for topic, difference in falling[:3] if difference > 0]
    losing = [(topic, difference) for topic, difference in falling[:-4:-1] if difference < 0]
    for head, extremes in ("gain most", gaining), ("lose most", losing):
        if extremes:
            topics = [f"{_short_name(topic)} ({difference:+.{digits}f})" for topic, difference in extremes]
            lines.append(f"{head}: {', '.join(topics)}")
    return lines


# ---- Auditing ----
# Somebody else's report is compared with what comes out here.  For measures that
# depart, conventions that other tools follow are tried, and what is found is said
# with its strength: the chance that a wrong number would fit one of them by accident.


_SPELLINGS = {"recip_rank": "RR", "accuracy": "Success", "r-precision": "Rprec"}  # of reports


def _reported_column(name: str, settings: Settings) -> Optional[Column]:
    """The column that a report's name for a measure means, or None if nothing here computes it.

    Names are read as requests are.  Reports also have NAME_k for NAME@k, and
    ranx has NAME-l2 for NAME(rel=2) and rbp.95 for rbp.p=0.95.
    """
    name = re.sub("^rbp[.]([0-9]+)$", r"rbp.p=0.\1", name)
    level = re.search("-l([0-9]+)$", name)
    plain = name[:level.start()] if level else name
    stem, at, cut = re.sub("(_at)?_([0-9]+)$", r"@\2", plain).partition("@")
    for request in (plain, _SPELLINGS.get(stem.lower(), stem) + at + cut):
        notes = Notes()
        try:
            column, = _columns([request], settings, notes)
        except ValueError:  # no such measure, or not one value
            continue
        if notes.lines():  # part of the name would be ignored
            return None
        if level:
            return column._replace(settings=column.settings._replace(relevance_level=int(level.group(1))))
        return column
    return None


def _identity(column: Column) -> tuple[str, str, Settings]:
    """What all names of one thing have in common."""
    return column.measure.name, repr(column.arguments), column.settings


class Entry(NamedTuple):
    """A line of a report or a value in JSON: what stands before the figure (measure, topic) and where."""

    names: tuple[str, ...]
    figure: str
    place: str


_FIGURE = re.compile(r"\**([+-]?(?:[0-9]+(?:\.([0-9]*))?|\.([0-9]+))(?:e([+-]?[0-9]{1,4}))?) ?(%?)[*†‡]*",
                     re.IGNORECASE)
_NO_FIGURE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_OVER_ALL = ("all", "amean", "average", "avg", "mean", "overall")  # what tools print as topic of a summary
_MOST_DECIMALS = 12  # that sums of doubles can be relied on to have


def _read_figure(text: str) -> Optional[tuple[float, int]]:
    """A figure as a number, and how many decimals it has; None if it is no figure.

    >>> _read_figure("0.4730"), _read_figure("47.3%")
    ((0.473, 4), (0.473, 3))
    """
    match = _FIGURE.fullmatch(text)
    if not match:
        return (float(text), 0) if _NO_FIGURE.fullmatch(text) else None
    number, after_digits, alone, exponent, percent = match.groups()
    decimals = max(-300, len(after_digits or alone or "") - int(exponent or 0))
    return (float(number) / 100, decimals + 2) if percent else (float(number), decimals)


def _report_entries(source: Source) -> tuple[list[Entry], bool]:
    """What a report holds (JSON, CSV or lines), and whether its figures have no zeros at the end."""
    text = source.whole()
    if text.startswith(_BYTE_ORDER_MARK):
        text = text[len(_BYTE_ORDER_MARK):]
    if text.lstrip()[:1] in (b"{", b"["):
        return _json_entries(text, source.name), True
    lines = [(f"{source.name}:{i}", line.strip()) for i, line in enumerate(text.split(b"\n"), start=1)]
    lines = [(place, line) for place, line in lines if line and not line.startswith(b"#")]
    first = lines[0][1].replace(b", ", b",") if lines else b""
    if b"," in first and len(first.split()) == 1:
        return _csv_entries([(place, _decode(line)) for place, line in lines], source.name), True
    entries = []
    for place, line in lines:
        words = line.split(b"\t")  # as trec_eval prints them; a name may hold spaces
        if len(words) != 3 or not all(map(bytes.strip, words)):
            words = line.split()
        fields = [_decode(word) for word in [word.strip(b" :=|") for word in words] if word]
        if fields[-1:] == ["%"]:
            fields[-2:] = ["".join(fields[-2:])]
        if len(fields) in (2, 3):
            entries.append(Entry(tuple(fields[:-1]), fields[-1], place))
        else:
            entries.append(Entry((), _decode(line), place))
    decimals = {figure[1] for figure in map(_read_figure, {entry.figure for entry in entries}) if figure}
    return entries, max(decimals, default=0) > 6 and len(decimals) > 1


_HEADS = {"run": "run", "system": "run", "measure": "measure", "metric": "measure", "name": "measure",
          "value": "value", "score": "value", "topic": "topic", "query": "topic", "qid": "topic",
          "query_id": "topic"}


def _csv_entries(lines: Sequence[tuple[str, str]], file: str) -> list[Entry]:
    """The entries of CSV, whose columns a header names, or else their number."""
    import csv
    rows = [[field.strip() for field in row] for row in csv.reader([line for _, line in lines])]
    heads = [_HEADS.get(field.lower(), "") for field in rows[0]]
    has_header = "measure" in heads and "value" in heads
    if not has_header:
        heads = ["run", "topic", "measure", "value"][-len(rows[0]):]
    entries = []
    runs = set()
    for (place, line), row in list(zip(lines, rows))[has_header:]:
        fields = dict(zip(heads, row)) if len(row) == len(heads) else {"value": line}
        runs.add(fields.get("run"))
        names = tuple(fields[head] for head in ("measure", "topic") if head in fields)
        entries.append(Entry(names, fields["value"], place))
    _refuse_several(runs, file)
    return entries


def _refuse_several(runs: Collection[Optional[str]], file: str) -> None:
    """Raise if a report is about several runs."""
    if len(runs) > 1:
        names = ", ".join(sorted(_quoted(run or "") for run in runs)[:5])
        raise TrecEvalError(f"{file}: expected the values of one run, found those of {len(runs)}: {names}")


def _json_entries(text: bytes, file: str) -> list[Entry]:
    """The entries of JSON, whose numbers stay as they are written."""
    import json

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """An object; raises if a name has two values."""
        found: dict[str, Any] = {}
        for name, value in pairs:
            if found.setdefault(name, value) != value:
                raise TrecEvalError(f"{file}: expected one value of {_quoted(name)}, found "
                                    f"{_quoted(str(found[name]))} and {_quoted(str(value))}")
        return found
    try:
        report = json.loads(text.decode("utf-8", "surrogateescape"), parse_float=str, parse_int=str,
                            parse_constant=str, object_pairs_hook=distinct)
        if isinstance(report, dict) and isinstance(report.get("runs"), dict):  # this module's own
            _refuse_several(report["runs"], file)
            report = {"settings": {}, **next(iter(report["runs"].values()), {})}
        if isinstance(report, dict) and "settings" in report:
            report = [report.get("topics"), {"all": report.get("summary")}]
        return [Entry(path[:-3:-1], str(figure), ", ".join([file, *map(_shown_name, path)]))
                for path, figure in _scalars(report, ())]
    except TrecEvalError:
        raise
    except (ValueError, RecursionError) as error:
        raise TrecEvalError(f"{file}: expected JSON, found an error: {error}") from None


def _scalars(part: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each number or text in nested JSON, with the names on the way to it."""
    if isinstance(part, dict):
        for name, value in part.items():
            yield from _scalars(value, (*path, name))
    elif isinstance(part, list):
        for value in part:
            yield from _scalars(value, path)
    elif path:
        yield path, part


def _oriented(entries: Sequence[Entry], meaning: Callable[[str], Optional[Column]],
              topics: AbstractSet[bytes]) -> Iterator[tuple[str, Optional[str], Entry]]:
    """Measure, topic (None: over all topics) and entry, in whichever order the names are."""
    pairs = [entry.names for entry in entries if len(entry.names) == 2]

    def known(side: int) -> float:
        """The part of the names on a side that are measures."""
        names = list(dict.fromkeys(pair[side] for pair in pairs))[:50]  # which are enough to tell
        return sum(meaning(name) is not None for name in names) / max(len(names), 1)
    measure = 1 if known(1) > known(0) else 0
    labels = {pair[1 - measure] for pair in pairs}
    over_all = {label for label in labels if label.lower() in _OVER_ALL and _encode(label) not in topics}
    others = labels - over_all
    are_parts = not any(_encode(label) in topics or re.search("[0-9]", label) for label in others)
    if are_parts and len({pair[measure] for pair in pairs}) == len(pairs):  # such as MTEB's "test"
        over_all |= others
    for entry in entries:
        label = entry.names[1 - measure] if len(entry.names) == 2 else None
        name = entry.names[measure] if len(entry.names) == 2 else "".join(entry.names)
        yield name, None if label in over_all else label, entry


class Reported(NamedTuple):
    """A value that somebody else's tool reports.

    column    which of its group's columns it belongs to
    topic     None: over all topics
    text      the figure as it is reported
    value     what it says, as a fraction if it is a percentage
    decimals  how precisely it is known
    here      what comes out here; None if nothing does
    """

    name: str
    column: int
    topic: Optional[bytes]
    text: str
    value: float
    decimals: int
    place: str
    here: Optional[float] = None


class Group:
    """The reported values of one measure, and what is found out about them.

    columns    what they are values of
    departing  the values that do not agree
    figures    {value: distances from our figure, in units of its last decimal, of
               other figures near it that conventions give}, for some that depart
    tried      how many conventions, alone or together, were tried
    pairs      how many pairs were tried because nothing else explains it
    found      the candidates under which all values come out
    nearly     (how many values in `figures` come out, candidate), of the others
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.columns: list[Column] = []
        self.values: list[Reported] = []
        self.departing: list[Reported] = []
        self.figures: dict[Reported, set[int]] = {}
        self.tried = 0
        self.pairs = 0
        self.found: list[Candidate] = []
        self.nearly: list[tuple[int, Candidate]] = []
        self._numbers: dict[Any, int] = {}  # of columns
        self._places: dict[Any, int] = {}  # of values

    def number(self, column: Column) -> int:
        """The number of a column, which may be new."""
        number = self._numbers.setdefault(_identity(column), len(self.columns))
        if number == len(self.columns):
            self.columns.append(column)
        return number

    def add(self, value: Reported) -> None:
        """Take a value in.  Of two for the same thing, the more precise one is kept."""
        place = self._places.setdefault((value.column, value.topic), len(self.values))
        if place == len(self.values):
            self.values.append(value)
            return
        known = self.values[place]
        tolerance = 0.0 if self.is_count else 0.500001 * 10.0 ** -min(known.decimals, value.decimals)
        is_same = value.text == known.text or abs(known.value - value.value) <= tolerance  # one may be NaN
        if not is_same:
            expected = f"expected one value of {_quoted(value.name)} for {_scope(value.topic)}"
            raise TrecEvalError(f"{value.place}: {expected}, found {value.text} and, at {known.place}, "
                                f"{known.text}")
        self.values[place] = max(known, value, key=lambda each: each.decimals)

    @property
    def is_count(self) -> bool:
        """Whether its values are counts, which are exact."""
        return self.columns[0].measure.is_count

    def track(self, takes_averages: bool) -> None:
        """Choose the values for `figures`: values of some topics, evenly spaced.

        Averages join them if they are cheap, or if fewer than three topics have values.
        """
        known = [value for value in self.departing if value.here is not None]
        of_topics = [value for value in known if value.topic is not None]
        tracked = of_topics[::max(1, len(of_topics) // _MOST_TRACKED)][:_MOST_TRACKED]
        if takes_averages or len(tracked) < 3:
            tracked += [value for value in known if value.topic is None][:_MOST_TRACKED]
        self.figures = {value: set() for value in tracked}

    def others_near(self, value: Reported) -> int:
        """How many figures other than ours lie near ours: within 0.1, or for a count within a tenth of it."""
        near = max(1.0, abs(cast(float, value.here)) / 10) if self.is_count else 0.1
        return max(2, 2 * round(near * 10.0 ** value.decimals))

    def note(self, value: Reported, other: Optional[float]) -> None:
        """Keep the figure that a convention gives for a value, if it is another one near ours."""
        if other is None or math.isinf(other):
            return
        scale = 10.0 ** value.decimals
        distance = round(other * scale) - round(cast(float, value.here) * scale)
        if 0 < abs(distance) <= self.others_near(value) // 2:
            self.figures[value].add(distance)

    def chance(self, with_pairs: bool = False) -> float:
        """The chance that wrong numbers near ours fit some convention that was tried.

        It is the product, over the values in `figures`, of the share of the figures
        near ours that conventions give.  `with_pairs` estimates what it would be if
        each pair of conventions gave one more figure.
        """
        chance = 1.0
        for value, figures in self.figures.items():
            given = max(1, len(figures))
            if with_pairs:
                given = given * (given + 1) // 2
            chance *= min(1.0, given / self.others_near(value))
        return chance


_MOST_TRACKED = 24  # values of a measure, whose chances are multiplied; the product of so many is tiny
_NOT_COMPUTED_HERE = "not computed here"  # values left out for this reason do not change the exit status


class Report(NamedTuple):
    """A report, ready to be compared: its values by measure, and what else it holds.

    left_out  how many values are not compared, by name and reason
    strays    lines that are no values
    """

    file: str
    groups: dict[str, Group]
    left_out: Counter[tuple[str, str]]
    strays: list[Entry]


_MOST_NAMES = 500  # that are looked up; no report has more measures, but one of other topics has more names


def _read_report(source: Source, settings: Settings, qrels: AbstractSet[bytes], run: AbstractSet[bytes],
                 requests: Optional[Sequence[str]] = None, only: Optional[str] = None) -> Report:
    """Read a report; `requests` and `only` are the measures and the topic that are wanted, if not all are."""
    entries, are_short = _report_entries(source)
    names: dict[str, Optional[Column]] = {}

    def meaning(name: str) -> Optional[Column]:
        """What a name means, looked up once."""
        if name not in names and len(names) < _MOST_NAMES:
            names[name] = _reported_column(name, settings)
        return names.get(name)
    wanted = None
    if requests is not None:
        wanted = set(map(_identity, _columns(requests, settings, Notes(), first_only=True)))
    report = Report(source.name, {}, Counter(), [])
    unknown = set()
    for name, label, entry in _oriented(entries, meaning, qrels | run):
        column, figure = meaning(name), _read_figure(entry.figure)
        topic = None if label is None else _encode(label)
        if only not in (None, label) or not _is_wanted(column, wanted):
            continue
        if figure is None or not name:
            if column or not are_short:
                report.strays.append(Entry((), " ".join([*entry.names, entry.figure]), entry.place))
        elif column is None:
            report.left_out[name, _NOT_COMPUTED_HERE] += 1
        elif topic is not None and topic not in qrels:
            unknown.add(topic)
            report.left_out[name, "of topics that are not in the qrels"] += 1
        elif topic is not None and column.measure.summary_only:
            report.left_out[name, "of topics, which have none here"] += 1
        else:
            group = report.groups.setdefault(column.measure.name, Group(column.measure.name))
            group.add(Reported(name, group.number(column), topic, entry.figure, *figure, entry.place))
    if len(report.strays) > len(entries) / 2:
        raise _no_report(report.strays)
    if unknown and not report.groups:
        raise TrecEvalError(str(_nothing_in_common((source.name, unknown), ("the qrels", qrels))))
    _set_precision(report, are_short)
    return report


def _no_report(strays: Sequence[Entry]) -> TrecEvalError:
    """The error for a file that has more lines without a value than with one."""
    return TrecEvalError(f"{strays[0].place}: expected a measure, a topic if it is one's, and a value, found "
                         f"{_quoted(strays[0].figure)}, and {len(strays)} lines like it in all")


def _is_wanted(column: Optional[Column], wanted: Optional[AbstractSet[Any]]) -> bool:
    """Whether a column has numbers, and is asked for; None stands for a name that means nothing here."""
    if column is None:
        return True
    is_text = column.measure.summary in (None, "run tag")
    return not is_text and (wanted is None or _identity(column) in wanted)


def _scope(topic: Optional[bytes]) -> str:
    """What a value is about."""
    return "all topics" if topic is None else f"topic {_shown_name(topic)}"


def _set_precision(report: Report, are_short: bool) -> None:
    """Say how precise values are: if zeros at the end are dropped, only the whole report shows it."""
    whole = max((value.decimals for group in report.groups.values() for value in group.values), default=0)
    for group in report.groups.values():
        for i, value in enumerate(group.values):
            decimals = whole if are_short else value.decimals
            if group.is_count:
                decimals = max(decimals, 0)
            group.values[i] = value._replace(decimals=min(decimals, _MOST_DECIMALS))


_UNBOUNDED = ("dcg", "ideal_dcg", "utility", "yaap")  # measures that are no counts and not between 0 and 1


def _divide_percentages(report: Report) -> bool:
    """Divide by 100 the values that are percentages although no % follows; return whether there are any.

    It is decided over all values of measures between 0 and 1: some must be
    above 1, and most more than ten times what comes out here.
    """
    groups = [group for group in report.groups.values()
              if not group.is_count and group.name not in _UNBOUNDED]
    known = [value for group in groups for value in group.values
             if value.here and math.isfinite(value.value) and "%" not in value.text]
    larger = sum(value.value > 10 * value.here for value in known if value.here)
    largest = max((abs(value.value) for value in known), default=0.0)
    if not 1.01 < largest <= 101 or larger <= len(known) / 2:
        return False
    for group in groups:
        for i, value in enumerate(group.values):
            if "%" not in value.text:
                decimals = min(value.decimals + 2, _MOST_DECIMALS)
                group.values[i] = value._replace(value=value.value / 100, decimals=decimals)
    return True


def _leave_out_coarse(report: Report) -> None:
    """Leave out means that are known to 0.05 at best, and topics' values if the whole report is like that."""
    finest = max((value.decimals for group in report.groups.values() for value in group.values), default=0)
    for name, group in list(report.groups.items()):
        kept = []
        for value in group.values:
            least = 1 if value.topic is not None and finest > 1 else 2
            if group.is_count or value.decimals >= least or not math.isfinite(value.value):
                kept.append(value)
            else:
                report.left_out[value.name, "too coarse to compare"] += 1
        group.values = kept
        if not kept:
            del report.groups[name]


class Convention(NamedTuple):
    """Something that other tools do differently.

    id        its name, which stays the same
    sentence  what is done
    measures  those that it concerns; none: all
    option    how it can be had here, if it can
    value     what its aspect is set to; None is the part of the id after the =
    """

    id: str
    sentence: str
    measures: tuple[str, ...] = ()
    option: str = ""
    value: Any = None

    @property
    def aspect(self) -> str:
        """What it is about: of two conventions about the same aspect, a tool can follow one."""
        return _ASPECTS.get(self.id, self.id.partition("=")[0])

    @property
    def text(self) -> str:
        """The sentence, and how to have it here."""
        return f"{self.sentence} ({self.option})" if self.option else self.sentence


_ASPECTS = {  # by id, aspects that are not the part of the id before the =
    "ndcg=exponential-gains": "gains", "ndcg=binary-gains": "gains", "ndcg=levelled": "levelled",
    "ndcg=ideal-of-retrieved": "ideal", "ndcg=discount-from-rank-2": "discount", "rbp=binary": "rbp-gains",
    "rbp=raw": "rbp-gains", "rbp=largest-grade": "rbp-gains", "topics=with-relevant": "with-relevant",
    "rounding=topics-first": "topics-first"}
_OF_RANKING = ("release", "ties", "order", "topic-document", "level", "judged-only", "depth")
_AFTERWARDS = ("topics", "with-relevant", "rounding", "topics-first", "counts", "aggregate",
               "at-least-k-results", "topics-shifted")  # aspects that leave the values of topics as they are
_BY_LEVEL = ("ndcg=levelled", "ndcg=binary-gains", "rbp=binary")  # which a level may have to come with

_AP = ("map", "map_cut", "gm_map")
_NDCG = ("ndcg_cut", "ndcg", "dcg", "ideal_dcg")
_GAINED = (*_NDCG, "G", "ndcg_rel", "Rndcg")
_GM = ("gm_map", "gm_bpref")
_RBP = ("rbp", "rbp_resid")
_COUNTS = ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")

_CONVENTIONS = (  # those that need nothing of the collection or the report; `_conventions` adds the others
    Convention("ties=docno-ascending", "equal scores are ordered by ascending docno", value="reversed"),
    Convention("ties=docno-descending", "equal scores are ordered by descending docno", value="reversed"),
    Convention("ties=file", "equal scores are ordered as in the run file"),
    Convention("ties=rank-column", "equal scores are ordered by the rank column of the run"),
    Convention("ties=relevant-last", "equal scores are ordered with the relevant documents last"),
    Convention("ties=relevant-first", "equal scores are ordered with the relevant documents first"),
    Convention("ties=averaged", "values are averaged over all orders of equal scores"),
    Convention("order=rank-column", "documents are ranked by the rank column, although scores differ"),
    Convention("topic-document=removed", "a document with the name of its topic is removed"),
    Convention("judged-only", "unjudged documents are removed from the ranking", (), "-J"),
    Convention("topics=complete", "topics that are missing from the run are counted as 0", (), "-c"),
    Convention("topics=with-results", "topics that are missing from the run are ignored", (), "without -c"),
    Convention("topics=in-run", "averages are over all topics in the run, judged or not"),
    Convention("topics=with-relevant", "topics without a relevant document do not count in averages"),
    Convention("rounding=cut-off", "figures are cut off instead of rounded"),
    Convention("rounding=topics-first", "averages are taken over rounded values of topics"),
    Convention("ap=by-hits", "AP is divided by the relevant documents retrieved", _AP),
    Convention("ap=by-min-R-k", "AP is divided by min(R, k)", ("map_cut",)),
    Convention("ap=by-min-R-N", "AP is divided by min(R, N)", _AP),
    Convention("ndcg=exponential-gains", "ndcg has gains of 2^grade - 1", _GAINED, "-m ndcg.1=1,2=3,3=7"),
    Convention("ndcg=binary-gains", "ndcg has a gain of 1 for every relevant document", _GAINED),
    Convention("ndcg=levelled", "grades below the relevance level gain nothing in ndcg", _GAINED),
    Convention("ndcg=ideal-of-retrieved", "the ideal ranking of ndcg has the retrieved documents alone",
               ("ndcg_cut", "ndcg", "ideal_dcg")),
    Convention("ndcg=discount-from-rank-2", "ndcg divides gains by log2(k), and that from rank 2 on", _NDCG),
    Convention("logarithm=natural", "the discount is a natural logarithm", ("dcg", "ideal_dcg", "binG", "G")),
    Convention("p=by-min-k-N", "precision is divided by min(k, N)", ("P",)),
    Convention("recall=by-min-R-k", "recall is divided by min(R, k)", ("recall",), "-m relative_P"),
    Convention("rprec-mult=published", "Rprec_mult is hits(floor(c * R + 0.5)) / R", ("Rprec_mult",)),
    Convention("bpref=1-n/R", "bpref is 1 - n/R for each relevant document", ("bpref", "gm_bpref")),
    Convention("iprec=recall-at-least", "interpolated precision is the largest one at recall >= c exactly",
               ("iprec_at_recall", "11pt_avg")),
    Convention("gm=added", "0.00001 is added to each value in geometric means", _GM, value=GEOMETRIC_FLOOR),
    Convention("gm=added-0.01", "0.01 is added to each value in geometric means", _GM, value=0.01),
    Convention("gm=zeros-left-out", "topics with a value of 0 are left out of geometric means", _GM),
    *(Convention(f"rbp=p-{p}", f"rbp has p = {p}", _RBP, f"-m rbp.p={p}", p) for p in (0.5, 0.8, 0.95)),
    Convention("rbp=binary", "rbp has a gain of 1 for every relevant document", _RBP),
    Convention("rbp=raw", "rbp has the grades as gains, also above 1", _RBP, value=1),
    Convention("rbp-resid=published", "rbp_resid is rbp + p^N", ("rbp_resid",)),
    Convention("aggregate=micro", "the documents of all topics are counted together",
               ("P", "recall", "set_P", "set_recall")),
    Convention("at-least-k-results", "topics with fewer than k results do not count", ("P", "map_cut")),
    Convention("counts=averaged", "counts are averaged over the topics", _COUNTS),
)

Candidate = tuple[Convention, ...]  # to be tried together
Way = Mapping[str, Any]  # how values are computed: by aspect, what differs from trec_eval and the settings


def _combined(candidate: Candidate) -> Optional[dict[str, Any]]:
    """The way that conventions give together; None if they contradict each other."""
    way = {}
    for convention in candidate:
        way[convention.aspect] = convention.value
        if convention.value is None:
            way[convention.aspect] = convention.id.partition("=")[2]
    is_unknown = way.get("ties") == "averaged" and "judged-only" in way
    is_of_another = "measure" in way and sum(bool(convention.measures) for convention in candidate) > 1
    return None if len(way) < len(candidate) or is_unknown or is_of_another else way


def _concerning(candidate: Candidate, group: Group) -> Candidate:
    """The conventions of a candidate that can change the values of a measure."""
    return tuple([each for each in candidate if not each.measures or group.name in each.measures])


def _with(candidate: Candidate, other: Candidate) -> Candidate:
    """The conventions of two candidates."""
    return tuple({convention.sentence: convention for convention in (*candidate, *other)}.values())


def _key(candidate: Candidate) -> frozenset[str]:
    """The same for all candidates of the same conventions."""
    return frozenset([convention.sentence for convention in candidate])


class Seen(NamedTuple):
    """A judged topic.  If ties are averaged, `spans` has for each tied rank the first and last of its tie."""

    judged: Any
    spans: Mapping[int, tuple[int, int]] = {}


def _mean_weight(seen: Seen, rank: int, weight: Callable[[int], float]) -> float:
    """The weight of a rank, or its mean over the ranks of equal score; beyond the ranking it is 0."""
    if rank not in seen.spans:
        return weight(rank)
    first, last = seen.spans[rank]
    within = range(first, min(last, seen.judged.num_ret) + 1)
    return sum(map(weight, within)) / (last - first + 1)


def _hits_under(seen: Seen, k: int) -> Value:
    """The relevant documents to be expected among the first k."""
    if not seen.spans:
        return count(seen.judged.relevant_to(k))
    ranks = seen.judged.relevant_ranks
    return add_up(ranks, [_mean_weight(seen, rank, lambda at: float(at <= k)) for rank in ranks])


def _relevant_by_span(seen: Seen) -> list[tuple[int, int, int]]:
    """First rank, length and relevant documents of each group of equal score that holds any."""
    groups = Counter(seen.spans.get(rank, (rank, rank)) for rank in seen.judged.relevant_ranks)
    return [(first, last - first + 1, relevant) for (first, last), relevant in sorted(groups.items())]


def _ap_under(way: Way, seen: Seen, k: int = sys.maxsize) -> Value:
    """AP up to rank k, with another divisor, or as it is to be expected if ties are in random order."""
    topic: JudgedRanking = seen.judged
    ranks = topic.relevant_to(k)
    total = add_up(ranks, topic.precisions[:len(ranks)])
    if seen.spans:
        total = _expected_precisions(seen, min(k, topic.num_ret))
    divisors = {"by-hits": len(ranks), "by-min-R-k": min(topic.num_rel, k),
                "by-min-R-N": min(topic.num_rel, topic.num_ret)}
    return total / divisors.get(way.get("ap", ""), topic.num_rel)


def _expected_precisions(seen: Seen, k: int) -> Value:
    """The sum of precisions at relevant documents up to rank k, as expected if ties are in random order."""
    terms = []
    above = 0
    for first, size, relevant in _relevant_by_span(seen):
        for before in range(min(size, k + 1 - first)):  # documents of the same score that precede one
            of_them = before * (relevant - 1) / (size - 1) if before else 0.0  # relevant, if it is
            terms.append(relevant / size * (above + of_them + 1) / (first + before))
        above += relevant
    return add_up((), terms)


def _first_relevant(seen: Seen) -> list[tuple[int, float]]:
    """The ranks where the first relevant document can be if ties are in random order, and their chances."""
    found = []
    none_before = 1.0
    for first, size, relevant in _relevant_by_span(seen)[:1]:
        for before in range(min(size, seen.judged.num_ret + 1 - first)):
            is_relevant = min(1.0, relevant / (size - before))
            found.append((first + before, none_before * is_relevant))
            none_before *= 1 - is_relevant
    return found


def _log_under(way: Way, value: float) -> float:
    """The logarithm of a value, for a geometric mean."""
    added = way.get("gm")
    return math.log(value + added) if isinstance(added, float) else _floored_log(Value(value))


def _gains_under(way: Way, topic: JudgedRanking, given: Gains) -> Gains:
    """The gain of each grade."""
    gains = {}
    for grade in topic.grade_counts:
        is_relevant = grade >= topic.relevance_level
        gain = float(given.get(grade, grade))
        if way.get("gains") == "exponential-gains":
            gain = 2.0 ** min(grade, 300) - 1
        elif way.get("gains") == "binary-gains":
            gain = float(is_relevant)
        gains[grade] = gain if is_relevant or "levelled" not in way else 0.0
    return gains


def _discount_under(way: Way, rank: int) -> float:
    """What the gain at a rank is divided by."""
    return max(1.0, math.log2(rank)) if "discount" in way else math.log2(rank + 1)


def _dcg_under(way: Way, seen: Seen, given: Gains, k: int = sys.maxsize) -> Value:
    """The discounted cumulative gain up to rank k."""
    ranks, gained = seen.judged.gained(_gains_under(way, seen.judged, given))

    def weight(rank: int) -> float:
        """What a gain of 1 adds at a rank."""
        return 1 / _discount_under(way, rank) if rank <= k else 0.0
    return add_up(ranks, [gain * _mean_weight(seen, rank, weight) for rank, gain in zip(ranks, gained)])


def _ideal_dcg_under(way: Way, seen: Seen, given: Gains, k: int = sys.maxsize) -> Value:
    """The discounted cumulative gain of the ideal ranking up to rank k."""
    gains = _gains_under(way, seen.judged, given)
    ideal = seen.judged.ideal_gains(gains)
    if "ideal" in way:
        ideal = sorted([gain for gain in seen.judged.gained(gains)[1] if gain > 0], reverse=True)
    ranks = range(1, min(len(ideal), k) + 1)
    return add_up(ranks, [gain / _discount_under(way, rank) for rank, gain in zip(ranks, ideal)])


def _ndcg_under(way: Way, seen: Seen, given: Gains, k: int = sys.maxsize) -> Value:
    """Normalised discounted cumulative gain up to rank k."""
    return _dcg_under(way, seen, given, k) / _ideal_dcg_under(way, seen, given, k)


def _measure_of_gains_under(name: str, way: Way, seen: Seen, given: Gains) -> float:
    """Another measure that takes gains, with those of a way."""
    return float(MEASURES[name].function(seen.judged, _gains_under(way, seen.judged, given)))


def _rbp_under(way: Way, seen: Seen, p: float, given: Gains) -> float:
    """Rank-biased precision with another persistence or other gains."""
    topic, p = seen.judged, way.get("rbp", p)
    gains: Mapping[int, float] = _gains_from_0_to_1(topic, given)
    if way.get("rbp-gains") == "binary":
        gains = {grade: float(grade >= topic.relevance_level) for grade in topic.grade_counts}
    elif "rbp-gains" in way:
        gains = {grade: grade / way["rbp-gains"] for grade in topic.grade_counts}
    ranks = topic.judged_ranks
    terms = [gains[topic.grades[rank]] * _mean_weight(seen, rank, lambda at: float(p ** (at - 1)))
             for rank in ranks]
    return (1 - p) * add_up(ranks, terms)


def _rbp_resid_under(way: Way, seen: Seen, p: float) -> float:
    """What rbp could still gain: as published, or with p^depth for what is beyond the ranking."""
    topic, p = seen.judged, way.get("rbp", p)
    if way.get("rbp-resid") == "published":
        return _rbp_under(way, seen, p, {}) + float(p ** topic.num_ret)
    if "rbp-resid" in way:
        unjudged = topic.at_unjudged([p ** k for k in range(topic.num_ret)])
        return float(p ** way.get("depth", way["rbp-resid"])) + (1 - p) * add_up((), unjudged)
    return rank_biased_precision_residual(topic, p)


def _bpref_under(way: Way, seen: Seen) -> Value:
    """bpref, or 1 - n/R for each relevant document."""
    topic: JudgedRanking = seen.judged
    if "bpref" not in way:
        return binary_preference(topic)
    above = map(topic.nonrelevant_above, topic.relevant_ranks)
    return add_up((), [1 - min(n, topic.num_rel) / topic.num_rel for n in above]) / topic.num_rel


def _precision_under(way: Way, seen: Seen, k: int) -> Value:
    """P@k, or hits(k) / min(k, N)."""
    return _hits_under(seen, k) / (min(k, seen.judged.num_ret) if "p" in way else k)


def _recall_under(way: Way, seen: Seen, k: int) -> Value:
    """Recall@k, or hits(k) / min(R, k)."""
    num_rel: int = seen.judged.num_rel
    return _hits_under(seen, k) / (min(k, num_rel) if "recall" in way else num_rel)


def _precision_at_least(seen: Seen, level: float) -> Value:
    """The largest precision at a recall of at least the level."""
    return _best_precision_from(seen.judged, math.ceil(level * seen.judged.num_rel - 1e-9))


class Formula(NamedTuple):
    """What takes the place of a measure's formula: for which aspects, and whether it can average ties."""

    aspects: tuple[str, ...]
    knows_ties: bool
    function: Callable[..., float]


_GAINS = ("gains", "levelled")
_DCG = ("gains", "levelled", "discount")
_FORMULAS = {
    "map": Formula(("ap",), True, _ap_under),
    "map_cut": Formula(("ap",), True, _ap_under),
    "gm_map": Formula(("ap", "gm"), True, lambda way, seen: _log_under(way, _ap_under(way, seen))),
    "Rprec": Formula((), True, lambda way, seen: _recall_under({}, seen, seen.judged.num_rel)),
    "bpref": Formula(("bpref",), False, _bpref_under),
    "gm_bpref": Formula(("bpref", "gm"), False, lambda way, seen: _log_under(way, _bpref_under(way, seen))),
    "recip_rank": Formula((), True, lambda way, seen: add_up(
        (), [chance / rank for rank, chance in _first_relevant(seen)])),
    "iprec_at_recall": Formula(("iprec",), False, lambda way, seen, level: _precision_at_least(seen, level)),
    "11pt_avg": Formula(("iprec",), False, lambda way, seen, levels: add_up(
        (), [_precision_at_least(seen, level) for level in levels]) / len(levels)),
    "P": Formula(("p",), True, _precision_under),
    "recall": Formula(("recall",), True, _recall_under),
    "relative_P": Formula((), True, lambda way, seen, k: _recall_under({"recall": ""}, seen, k)),
    "success": Formula((), True, lambda way, seen, k: add_up(
        (), [chance for rank, chance in _first_relevant(seen) if rank <= k])),
    "Rprec_mult": Formula(("rprec-mult",), False, lambda way, seen, multiple: recall(
        seen.judged, math.floor(multiple * seen.judged.num_rel + 0.5))),
    "G": Formula(_GAINS, False, functools.partial(_measure_of_gains_under, "G")),
    "dcg": Formula(_DCG, True, _dcg_under),
    "ideal_dcg": Formula((*_DCG, "ideal"), True, _ideal_dcg_under),
    "ndcg": Formula((*_DCG, "ideal"), True, _ndcg_under),
    "ndcg_cut": Formula((*_DCG, "ideal"), True, lambda way, seen, k: _ndcg_under(way, seen, {}, k)),
    "ndcg_rel": Formula(_GAINS, False, functools.partial(_measure_of_gains_under, "ndcg_rel")),
    "Rndcg": Formula(_GAINS, False, functools.partial(_measure_of_gains_under, "Rndcg")),
    "rbp": Formula(("rbp", "rbp-gains"), True, _rbp_under),
    "rbp_resid": Formula(("rbp", "rbp-gains", "rbp-resid"), False, _rbp_resid_under),
}
_WITHOUT_ORDER = ("num_", "set_", "utility")  # how the names of measures begin that look at no order

_COUNTED: dict[str, Callable[..., tuple[int, int]]] = {  # what micro-averages add up before they divide
    "P": lambda topic, k: (len(topic.relevant_to(k)), min(k, topic.num_ret)),
    "recall": lambda topic, k: (len(topic.relevant_to(k)), topic.num_rel),
    "set_P": lambda topic: (topic.hits, topic.num_ret),
    "set_recall": lambda topic: (topic.hits, topic.num_rel),
}


def _function_under(way: Way, measure: Measure) -> Callable[..., float]:
    """What computes a measure, given a topic and arguments; it gives NaN where it cannot average ties."""
    formula = _FORMULAS.get(measure.name)
    is_averaged = way.get("ties") == "averaged" and not measure.name.startswith(_WITHOUT_ORDER)
    if is_averaged and not (formula and formula.knows_ties):
        return lambda seen, *arguments: math.nan
    if formula and (is_averaged or any(aspect in way for aspect in formula.aspects)):
        return functools.partial(formula.function, way)
    return lambda seen, *arguments: cast(float, measure.function(seen.judged, *arguments))


class Retrieved(NamedTuple):
    """What a run has for one topic, in the order of the file."""

    docnos: list[bytes]
    scores: array[float]
    ranks: array[int]


_NOT_RETRIEVED = Retrieved([_UNPOOLED], array("d", [0.0]), array("q", [1]))  # for topics the run misses


class Ranked(NamedTuple):
    """How topics are ranked and judged.

    ties            which order documents of equal score have; "" is trec_eval's
    by_rank_column  whether the rank column decides instead of the scores
    without_topic   whether a document named like its topic is removed
    """

    settings: Settings
    ties: str
    by_rank_column: bool
    without_topic: bool


class Order(NamedTuple):
    """The documents of a topic by score, before ties are broken.

    size    how many they are
    groups  of each score that a judged document has, the first rank, and the documents' numbers in the file
    """

    size: int
    groups: list[tuple[int, list[int]]]


class Audit:
    """A run and its judgments, to be evaluated in one way after another; the run has `in_run` topics."""

    def __init__(self, qrels: Mapping[bytes, Any], run: Mapping[bytes, Retrieved], in_run: int,
                 settings: Settings):
        self.settings = settings
        self.qrels = qrels
        self.run = run
        self.in_run = in_run
        self.all_topics = sorted(qrels)
        self.both = sorted(qrels.keys() & run.keys())
        self.are_grades = settings.rel_format == "qrels"
        self._orders: dict[Any, Order] = {}
        self._seen: dict[Ranked, dict[bytes, Seen]] = {}

    def ranked(self, way: Way, own: Settings) -> Ranked:
        """How topics are ranked and judged under a way, but for what a column's own settings fix."""
        usual = self.settings._asdict()
        changes = {"release": way.get("release", self.settings.release),
                   "depth": way.get("depth", self.settings.depth),
                   "relevance_level": way.get("level", self.settings.relevance_level),
                   "judged_only": self.settings.judged_only or "judged-only" in way, "complete": False}
        changes.update((field, value) for field, value in own._asdict().items() if value != usual[field])
        settings = self.settings._replace(**changes)
        return Ranked(settings, way.get("ties", ""), "order" in way, "topic-document" in way)

    def order(self, topic: bytes, ranked: Ranked) -> Order:
        """A topic's documents by score or by the rank column.  Without grades, all count as judged."""
        key = topic, ranked.settings.release.name, ranked.by_rank_column, ranked.without_topic
        if key in self._orders:
            return self._orders[key]
        docnos, scores, ranks = self.run.get(topic, _NOT_RETRIEVED)
        by = list(ranked.settings.release.keep_scores(scores))
        if ranked.by_rank_column:
            by = [-float(rank) for rank in ranks]
        numbers = [i for i, docno in enumerate(docnos) if not ranked.without_topic or docno != topic]
        numbers.sort(key=by.__getitem__, reverse=True)
        judged = self.qrels[topic].keys() if self.are_grades else set(docnos)
        groups = []
        rank = 1
        for _, group in itertools.groupby(numbers, by.__getitem__):
            same = list(group)
            if not judged.isdisjoint([docnos[i] for i in same]):
                groups.append((rank, same))
            rank += len(same)
        self._orders[key] = Order(len(numbers), groups)
        return self._orders[key]

    def _placed(self, topic: bytes, ranked: Ranked) -> list[tuple[int, bytes]]:
        """(rank, docno) of the documents that matter, after ties are broken."""
        docnos, _, ranks = self.run.get(topic, _NOT_RETRIEVED)
        judged: Mapping[bytes, Any] = self.qrels[topic] if self.are_grades else dict.fromkeys(docnos)
        descending = REL_FORMATS[ranked.settings.rel_format].ties_ascending == (ranked.ties == "reversed")
        placed = []
        for first, same in self.order(topic, ranked).groups:
            if len(same) == 1:
                placed.append((first, docnos[same[0]]))
                continue
            numbers = sorted(same)
            if ranked.ties != "file":
                numbers.sort(key=docnos.__getitem__, reverse=descending)
            if ranked.ties == "rank-column":
                numbers.sort(key=ranks.__getitem__)
            elif ranked.ties.startswith("relevant"):
                level, is_first = max(ranked.settings.relevance_level, 0), ranked.ties == "relevant-first"
                numbers.sort(key=lambda i: judged.get(docnos[i], -1) >= level, reverse=is_first)
            placed += [(rank, docnos[i]) for rank, i in enumerate(numbers, first) if docnos[i] in judged]
        return placed

    def seen(self, topic: bytes, ranked: Ranked) -> Seen:
        """A topic, ranked and judged; kept for other measures until enough other rankings were asked for."""
        if ranked not in self._seen and len(self._seen) == _MOST_RANKINGS:
            self._seen.clear()
        of_ranking = self._seen.setdefault(ranked, {})
        if topic not in of_ranking:
            of_ranking[topic] = self._judge(topic, ranked)
        return of_ranking[topic]

    def _judge(self, topic: bytes, ranked: Ranked) -> Seen:
        """Judge a topic."""
        settings, judgments = ranked.settings, self.qrels[topic]
        order, placed = self.order(topic, ranked), self._placed(topic, ranked)
        if not self.are_grades:
            scores = {docno: -float(rank) for rank, docno in placed}
            try:
                return Seen(REL_FORMATS[settings.rel_format].judge(judgments, scores, [settings])[0])
            except TrecEvalError as error:
                raise TrecEvalError(f"topic {_quoted(topic)}: {error}", status=4) from None
        kept, size = _cut(placed, order.size, judgments, settings)
        spans = {}
        if ranked.ties == "averaged":
            spans = {rank: (first, first + len(same) - 1) for first, same in order.groups
                     for rank in range(first, first + len(same)) if len(same) > 1}
            # Of documents of equal score around the cut, each may be above it.
            kept = [(rank, docno) for rank, docno in placed if spans.get(rank, (rank,))[0] <= size]
        if settings.grades_as:
            judgments = _regraded(judgments, settings.grades_as)
        grades = {rank: judgments[docno] for rank, docno in kept}
        return Seen(JudgedRanking(grades, size, Counter(judgments.values()), settings), spans)

    def judgments(self, topic: bytes) -> Iterable[Mapping[bytes, int]]:
        """The grades of a topic, by each of several people; none if judgments are preferences."""
        if self.settings.rel_format == "qrels_jg":
            return cast(Iterable[Mapping[bytes, int]], self.qrels[topic].values())
        return [self.qrels[topic]] if self.are_grades else []


_MOST_RANKINGS = 4  # that are kept at a time
Rows = dict[bytes, list[float]]  # by topic, the values of a measure's columns


class Computed:
    """What comes out for one measure's values under a way.

    `rows` are those already computed under a way that leaves the same values of topics.
    """

    def __init__(self, audit: Audit, way: Way, group: Group, rows: Optional[Rows] = None):
        replaced = dict(way.get("measure", ()))
        self._audit = audit
        self._way = way
        self._group = group
        self._columns = [replaced.get(number, column) for number, column in enumerate(group.columns)]
        self._ranked = [audit.ranked(way, column.settings) for column in self._columns]
        self._functions = [_function_under(way, column.measure) for column in self._columns]
        self._rows: Rows = {} if rows is None else rows
        self._is_complete = way["topics"] == "complete" if "topics" in way else audit.settings.complete
        release = way.get("release", audit.settings.release)
        self._evaluates_missing = self._is_complete and release.evaluates_missing

    def value(self, reported: Reported) -> Optional[float]:
        """What comes out; None if nothing does."""
        topic = reported.topic
        if topic is None:
            value = self._summary(reported.column)
        else:
            topic = self._way.get("topics-shifted", {}).get(topic, topic)
            is_evaluated = topic in self._audit.run or self._evaluates_missing
            value = self._row(topic)[reported.column] if is_evaluated else None
        return None if value is None or math.isnan(value) else value

    def agrees(self, reported: Reported) -> bool:
        """Whether what is reported comes out."""
        return _agrees(self.value(reported), reported, self._way)

    def _row(self, topic: bytes) -> list[float]:
        """The values for a topic."""
        if topic not in self._rows:
            is_missing = topic not in self._audit.run
            row = []
            for column, ranked, function in zip(self._columns, self._ranked, self._functions):
                is_zero = is_missing and column.is_zero_if_missing
                row.append(0.0 if is_zero else function(self._audit.seen(topic, ranked), *column.arguments))
            if "logarithm" in self._way:  # ln(x) is log2(x) * ln(2)
                row = [value / math.log(2) for value in row]
            self._rows[topic] = row
        return self._rows[topic]

    def _summary(self, number: int) -> Optional[float]:
        """What comes out over all topics for a column; None if no topic counts."""
        measure, arguments = self._columns[number].measure, self._columns[number].arguments
        way, audit = self._way, self._audit
        topics, size = self._averaged_topics(number)
        values = [self._row(topic)[number] for topic in topics]
        if way.get("gm") == "zeros-left-out":
            values = [value for value in values if value > math.log(GEOMETRIC_FLOOR)]
            size = len(values)
        if "topics-first" in way and not measure.summary_only:
            shown = [each.decimals for each in self._group.values if each.topic is not None]
            decimals = max(shown or [each.decimals for each in self._group.values])
            values = [round(value, decimals) for value in values]
        if not size:
            return None
        if "aggregate" in way:
            judged = [audit.seen(topic, self._ranked[number]).judged for topic in topics]
            shares = [_COUNTED[measure.name](topic, *arguments) for topic in judged]
            return Value(sum(part for part, _ in shares)) / sum(whole for _, whole in shares)
        if "counts" in way:
            return sum(values) / size
        num_rel = None
        if measure.summary == "sum of relevant" and self._is_complete:
            num_rel = sum(grade > 0 for judgments in audit.qrels.values() for grade in judgments.values())
        over = Averaging(size, size - len(values), num_rel=num_rel)
        return cast(float, SUMMARIES[cast(str, measure.summary)](values, over))

    def _averaged_topics(self, number: int) -> tuple[list[bytes], int]:
        """The topics that have a value in a column's average, and the number of those that count."""
        way, audit = self._way, self._audit
        counted = audit.all_topics if self._is_complete else audit.both
        if "with-relevant" in way:
            level = max(way.get("level", audit.settings.relevance_level), 0)
            counted = [topic for topic in counted
                       if any(grade >= level for each in audit.judgments(topic) for grade in each.values())]
        if "at-least-k-results" in way:
            ranked, k = self._ranked[number], self._columns[number].arguments[0]
            counted = [topic for topic in counted
                       if topic in audit.run and audit.seen(topic, ranked).judged.num_ret >= k]
        topics = counted
        if not self._evaluates_missing:
            topics = [topic for topic in counted if topic in audit.run]
        return topics, audit.in_run if way.get("topics") == "in-run" else len(counted)


def _agrees(value: Optional[float], reported: Reported, way: Way) -> bool:
    """Whether a value is what is reported, at the precision that is shown, and that sums of doubles have."""
    if value is None:
        return False
    if isinstance(way.get("rounding"), int):
        value = round(value, way["rounding"])
    unit = 10.0 ** -reported.decimals
    error = 1e-12 * abs(value)
    if way.get("rounding") == "cut-off" and abs(value) < 1e15 * unit:
        shown = math.trunc(value / unit * (1 + 1e-12)) * unit
        return abs(shown - reported.value) <= unit / 1000 + error
    return abs(value - reported.value) <= 0.500001 * unit + error


def _conventions(audit: Audit, report: Report) -> list[Convention]:
    """The conventions that could change a value that departs."""
    settings = audit.settings
    impossible = _impossible(audit)
    found = [each for each in _CONVENTIONS if each.id not in impossible and each.aspect not in impossible]
    other = next(release for release in RELEASES.values() if release != settings.release)
    found.append(Convention(f"release={other.name}", f"the rules of trec_eval {other.name} are followed", (),
                            f"--release {other.name}", other))
    judgments = [judged for topic in audit.qrels for judged in audit.judgments(topic)]
    grades = {grade for judged in judgments for grade in judged.values()}
    most = max(grades, default=0)  # a level above it would make zeros of everything, which is no evidence
    for level in range(1, min(10, most) + 1):
        if level != settings.relevance_level and (level <= 3 or level in grades):
            found.append(Convention(f"level={level}", f"documents are relevant from grade {level} on", (),
                                    f"-l {level}", level))
    longest = max(len(retrieved.docnos) for retrieved in audit.run.values())
    here = longest if settings.depth is None else min(longest, settings.depth)
    names = {value.name for group in report.groups.values() for value in group.values}
    names.update(name for name, _ in report.left_out)
    ends = [re.search(r"[@_.]([1-9][0-9]{0,6})$", name) for name in names]
    cuts = sorted({5, 10, 20, 50, 100, 1000} | {int(end.group(1)) for end in ends if end})
    for depth in cuts:
        if min(depth, longest) != here:
            found.append(Convention(f"depth={depth}", f"rankings are cut at {_plural(depth, 'document')}", (),
                                    f"-M {depth}", depth))
    found += [*_shifts(audit, report), *_roundings(report)]
    departing = [group for group in report.groups.values() if group.departing]
    if audit.are_grades:
        found.append(Convention("rbp=largest-grade", "rbp divides grades by the largest one of all topics",
                                _RBP, value=max(1, most)))
        found.append(Convention("rbp-resid=depth", "rbp_resid has p^depth (or p^1000) in place of p^N",
                                ("rbp_resid",), value=settings.depth or 1000))
        for group in departing:
            found += _other_measures(group, settings, cuts)
    return [each for each in found if any(_concerning((each,), group) for group in departing)]


def _impossible(audit: Audit) -> set[str]:
    """Ids and aspects of conventions that change nothing here."""
    settings = audit.settings
    rel_format = REL_FORMATS[settings.rel_format]
    found = {"ties=docno-ascending" if rel_format.ties_ascending else "ties=docno-descending",
             "topics=complete" if settings.complete else "topics=with-results"}
    if not any(len(set(array("f", each.scores))) < len(each.scores) for each in audit.run.values()):
        found.add("ties")
    if not audit.are_grades:
        found.update(("ties=relevant-last", "ties=relevant-first", "ties=averaged"))
    if settings.rel_format not in ("qrels", "qrels_jg"):
        found.update(("judged-only", "with-relevant"))
    if settings.judged_only:
        found.update(("judged-only", "ties=averaged"))
    here = audit.ranked({}, settings)
    by_rank = here._replace(by_rank_column=True)
    are_ranked = [topic for topic, each in audit.run.items() if len(set(each.ranks)) == len(each.ranks)]
    if all(audit.order(topic, here) == audit.order(topic, by_rank) for topic in are_ranked):
        found.add("order")
    if not any(topic in retrieved.docnos for topic, retrieved in audit.run.items()):
        found.add("topic-document")
    if len(audit.both) == len(audit.all_topics):
        found.update(("topics=complete", "topics=with-results"))
    if audit.in_run == len(audit.all_topics if settings.complete else audit.both):
        found.add("topics=in-run")
    return found


def _shifts(audit: Audit, report: Report) -> list[Convention]:
    """That each topic has the values of the next or the previous one, in some order of topics."""
    several = tuple(name for name, group in report.groups.items()
                    if len({value.topic for value in group.values} - {None}) > 2)
    orders = {"in byte order": audit.both, "in the run": list(audit.run),
              "in numeric order": sorted(audit.both, key=lambda topic: (len(topic), topic))}
    found = []
    for how, topics in orders.items():
        if several and (how == "in byte order" or topics != audit.both):
            for which, shifted in ("next", topics[1:] + topics[:1]), ("previous", topics[-1:] + topics[:-1]):
                sentence = f"each topic has the values of the {which} one {how}"
                neighbours = dict(zip(topics, shifted))
                found.append(Convention("topics-shifted", sentence, several, value=neighbours))
    return found


def _roundings(report: Report) -> list[Convention]:
    """To how many decimals figures can have been rounded although more are shown."""
    groups = [group for group in report.groups.values() if not group.is_count]
    found = []
    for decimals in range(1, 7):
        rounded = [group for group in groups
                   if all(round(value.value, decimals) == round(value.value, _MOST_DECIMALS)
                          for value in group.values if math.isfinite(value.value))]
        names = tuple(group.name for group in rounded
                      if max(value.decimals for value in group.values) > decimals)
        is_shown = any(value.value for group in rounded for value in group.values)  # zeros show nothing
        if not is_shown or (decimals == 1 and rounded != groups):  # figures such as 0.5 are common anyway
            continue
        if names:
            text = _plural(decimals, "decimal")
            identifier = f"rounding={text.replace(' ', '-')}"
            found.append(Convention(identifier, f"figures are rounded to {text}", names, value=decimals))
    return found


_UNCUT = ("map", "gm_map", "Rprec", "bpref", "recip_rank", "ndcg", "infAP", "11pt_avg", "set_P", "set_recall",
          "set_F")
_CUT = ("P", "recall", "success", "map_cut", "ndcg_cut", "relative_P")


def _other_measures(group: Group, settings: Settings, cuts: Sequence[int]) -> list[Convention]:
    """The measures whose values may be reported under the name of another one: of the columns that depart."""
    numbers = sorted({value.column for value in group.departing})
    columns = [group.columns[number] for number in numbers]
    is_cut = columns[0].measure.parameters.kind == "cutoffs"
    at_same = [[f"{name}.{column.arguments[0]}" for column in columns] for name in _CUT if is_cut]
    if group.is_count:
        requests = [[name] for name in _COUNTS]
    elif len(columns) > 1:
        requests = at_same
    else:
        name = f"{group.name}_cut" if group.name in ("map", "ndcg") else group.name
        others = [[f"{name}.{k}"] for k in cuts] if is_cut or name != group.name else []
        requests = [*([request] for request in _UNCUT), *others, *at_same]
    found = {}
    for request in requests:
        new = [_columns([one], settings, Notes())[0] for one in request]
        name = new[0].measure.name if len(new) > 1 else new[0].name
        if new[0].name != columns[0].name:
            found[name] = Convention(f"measure={name}", f"{group.name} is the value of {name}", (group.name,),
                                     f"-m {request[0]}", tuple(zip(numbers, new)))
    return list(found.values())


_WEAK = 0.05  # a chance above which what fits is no explanation
_MOST_COMPARED = 12  # candidates of which it is looked at how many measures they explain


def _chance(chances: Collection[float], measures: int) -> float:
    """The chance that wrong numbers of so many measures, out of several, fit by accident.

    It is a bound: the product of their chances, times the number of ways to
    choose so many of the measures.
    """
    return min(1.0, math.prod(chances) * math.comb(measures, len(chances)))


def _telling(groups: Collection[Group]) -> list[Group]:
    """The measures on which it pays to try pairs; a pair that explains others alone does so by accident.

    Let the measures be sorted by their chances.  Among the sets of measures that
    begin with the i-th, those that go on with the next ones have the least
    chances.  The last i for which one of these is small enough is the bound.
    """
    ordered = sorted(groups, key=lambda group: group.chance(with_pairs=True))
    chances = [group.chance(with_pairs=True) for group in ordered]
    for i in reversed(range(len(chances))):
        sets_from_i = [chances[i:end] for end in range(i + 1, len(chances) + 1)]
        if any(_chance(members, len(chances)) <= _WEAK for members in sets_from_i):
            return ordered[:i + 1]
    return []


class Joint(NamedTuple):
    """The conventions that explain most of the measures that depart.

    groups   these measures
    spoiled  measures that agree, but not under these conventions
    others   candidates that explain the same
    """

    candidate: Candidate
    groups: list[Group]
    spoiled: list[Group]
    others: list[Candidate]

    @property
    def rank(self) -> tuple[int, int]:
        """The more it explains and the less it spoils, the better; then, the fewer conventions it takes."""
        return len(self.groups) - len(self.spoiled), -len(self.candidate)


class Search:
    """The search for conventions that explain a report.

    most_pairs  how many pairs of conventions to try at most
    progress    shows how far it has come
    """

    def __init__(self, audit: Audit, report: Report, most_pairs: int, progress: Optional[Progress]):
        self.audit = audit
        self.departing = [group for group in report.groups.values() if group.departing]
        self.agreeing = [group for group in report.groups.values() if not group.departing]
        self._most_pairs = most_pairs
        self._progress = progress
        self._known: dict[tuple[str, frozenset[str]], bool] = {}  # whether a candidate explains a measure
        self._conventions = _conventions(audit, report) if self.departing else []

    def joint(self) -> Optional[Joint]:
        """Try each convention, then each with the best of them, then pairs; return what explains most."""
        singles = [(convention,) for convention in self._conventions]
        by_level = [(one, other) for one, other in itertools.permutations(self._conventions, 2)
                    if one.aspect == "level" and other.id in _BY_LEVEL]
        self._try([*singles, *by_level], self.departing)
        best = self._best()
        if best:
            rest = [group for group in self.departing if group not in best.groups]
            self._try([(*best.candidate, convention) for convention in self._conventions], rest)
        unexplained = [group for group in self.departing if not group.found]
        telling = _telling(unexplained)
        self._try(self._pairs(unexplained, telling), telling)
        best = self._best()
        return best and self._grown(best)

    def _pairs(self, unexplained: Sequence[Group], telling: Sequence[Group]) -> list[Candidate]:
        """The pairs of conventions to try, those first that concern most of the unexplained measures.

        A pair is not tried if it concerns none of the telling ones, or if it could
        explain all that it concerns by accident.
        """
        chances = {group: group.chance(with_pairs=True) for group in unexplained}
        conventions = [each for each in self._conventions if each.aspect not in ("measure", "topics-shifted")]
        counted = []
        for pair in itertools.combinations(conventions, 2):
            concerned = [group for group in unexplained if len(_concerning(pair, group)) == 2]
            is_telling = any(group in telling for group in concerned)
            chance = _chance([chances[group] for group in concerned], len(unexplained))
            if is_telling and chance <= _WEAK and _combined(pair) is not None:
                counted.append((len(concerned), pair))
        counted.sort(key=lambda item: item[0], reverse=True)
        pairs: list[Candidate] = [pair for _, pair in counted[:self._most_pairs]]
        for group in telling:
            group.pairs = len(pairs)
        return pairs

    def _try(self, candidates: Iterable[Candidate], groups: Sequence[Group]) -> None:
        """See which measures' values come out under which candidates.

        Candidates that rank alike are tried together, because ranking and
        judging take most of the time.
        """
        by_ranking: dict[Any, list[Candidate]] = {}
        for candidate in candidates:
            if _combined(candidate) is not None:
                of_ranking = tuple(convention for convention in candidate if convention.aspect in _OF_RANKING)
                by_ranking.setdefault(_key(of_ranking), []).append(candidate)
        for done, members in enumerate(by_ranking.values()):
            if self._progress:
                self._progress.say(f"{done} of {_plural(len(by_ranking), 'ranking')} tried")
            for group in groups:
                shared: dict[frozenset[str], Rows] = {}
                for candidate in members:
                    self._explains(candidate, group, shared)

    def _explains(self, candidate: Candidate, group: Group, shared: dict[frozenset[str], Rows]) -> bool:
        """Whether all values of a measure come out under a candidate; the group keeps what was found.

        `shared` has the values of topics under other candidates.
        """
        candidate = _concerning(candidate, group)
        key = group.name, _key(candidate)
        if not candidate:
            return not group.departing
        if key in self._known:
            return self._known[key]
        of_topics = _key(tuple(each for each in candidate if each.aspect not in _AFTERWARDS))
        way = _combined(candidate) or {}
        computed = Computed(self.audit, way, group, shared.setdefault(of_topics, {}))
        group.tried += 1
        hits = 0
        for value in group.figures:
            other = computed.value(value)
            group.note(value, other)
            hits += _agrees(other, value, way)
        self._known[key] = hits == len(group.figures) and all(map(computed.agrees, group.values))
        if self._known[key] and group.departing:
            group.found.append(candidate)
        elif hits:
            group.nearly.append((hits, candidate))
        return self._known[key]

    def _best(self) -> Optional[Joint]:
        """The conventions that explain most measures and spoil fewest; of these the fewest conventions."""
        found = [candidate for group in self.departing for candidate in group.found]
        by_key = {_key(candidate): candidate for candidate in found}
        times = Counter(map(_key, found))
        most = sorted(by_key, key=lambda key: (-times[key], len(key)))[:_MOST_COMPARED]
        joints = [self._joint(by_key[key]) for key in most]
        best = max(joints, key=lambda joint: joint.rank, default=None)
        return best and best._replace(others=[
            joint.candidate for joint in joints
            if joint is not best and joint.rank == best.rank and joint.groups == best.groups])

    def _joint(self, candidate: Candidate) -> Joint:
        """What a candidate explains, and what it spoils."""
        return Joint(candidate, [group for group in self.departing if self._explains(candidate, group, {})],
                     [group for group in self.agreeing if not self._explains(candidate, group, {})], [])

    def _grown(self, joint: Joint) -> Joint:
        """The joint explanation with further conventions, if these explain more and spoil no more.

        What they explain besides must not be an accident.
        """
        rest = [group for group in self.departing if group not in joint.groups]
        more = [_with(joint.candidate, other) for group in rest for other in group.found[:_MOST_COMPARED]]
        best = joint
        for candidate in {_key(candidate): candidate for candidate in more}.values():
            if _combined(candidate) is None:
                continue
            grown = self._joint(candidate)
            new = [group.chance() for group in grown.groups if group in rest]
            is_strong = _chance(new, len(rest)) <= _WEAK
            is_better = len(grown.groups) > len(best.groups) and is_strong
            if is_better and len(grown.spoiled) <= len(joint.spoiled):
                best = grown
        return joint if best is joint else self._grown(best)

    def nearest(self, group: Group, joint: Optional[Joint]) -> Optional[tuple[Candidate, list[Reported]]]:
        """The candidate that explains most values of a measure, if nearly all, and what remains."""
        nearly = sorted(group.nearly, key=lambda item: item[0], reverse=True)[:3]
        candidates = [candidate for _, candidate in nearly]
        if joint:
            candidates.append(_concerning(joint.candidate, group))
        found = []
        for candidate in filter(None, candidates):
            computed = Computed(self.audit, _combined(candidate) or {}, group)
            remaining = [value for value in group.values if not computed.agrees(value)]
            if len(remaining) <= min(len(group.departing) / 2, len(group.values) / 5):
                found.append((candidate, remaining))
        return min(found, key=lambda item: len(item[1]), default=None)


class Verdict(NamedTuple):
    """What an audit found."""

    report: Report
    search: Search
    joint: Optional[Joint]
    are_percentages: bool

    @property
    def compared(self) -> int:
        """How many values were compared."""
        return sum(len(group.values) for group in self.report.groups.values())

    @property
    def agreeing(self) -> int:
        """How many of them agree."""
        return self.compared - sum(len(group.departing) for group in self.search.departing)

    @property
    def joint_chance(self) -> float:
        """The chance that the joint explanation is an accident."""
        together = [group.chance() for group in self.joint.groups] if self.joint else []
        return _chance(together, len(self.search.departing))

    def chance(self, group: Group, candidate: Candidate) -> float:
        """The chance that an explanation of a measure is an accident.

        What explains other measures, too, has the chance of the joint verdict.
        Any other one is one of several chances, because it could have turned up for
        each measure that the verdict leaves.
        """
        together = self.joint.groups if self.joint else []
        if self.joint and group in together:
            if _key(candidate) == _key(_concerning(self.joint.candidate, group)):
                return self.joint_chance
        left = [each for each in self.search.departing if each is group or each not in together]
        return _chance([group.chance()], len(left))

    @property
    def status(self) -> int:
        """The exit status: 3 if a value does not agree, or if most that could be compared were not."""
        left_out = sum(values for (_, reason), values in self.report.left_out.items()
                       if reason != _NOT_COMPUTED_HERE)
        return 3 if self.agreeing < self.compared or left_out > self.compared else 0


_FEW_TOPICS = 64  # with so many, averages are as cheap to compute as values of topics


def _audit(report: Report, audit: Audit, most_pairs: int, progress: Optional[Progress]) -> Verdict:
    """Compare a report with what comes out here, and look for what explains it."""
    for group in report.groups.values():
        computed = Computed(audit, {}, group)
        group.values = [value._replace(here=computed.value(value)) for value in group.values]
    are_percentages = _divide_percentages(report)
    _leave_out_coarse(report)
    if all(math.isnan(value.value) for group in report.groups.values() for value in group.values):
        left_out = f": {_not_compared(report)}" if report.left_out else ""
        raise TrecEvalError(f"{report.file}: expected values that can be compared, found none{left_out}")
    for group in report.groups.values():
        group.departing = [value for value in group.values if not _agrees(value.here, value, {})]
        group.track(len(audit.all_topics) <= _FEW_TOPICS)
    search = Search(audit, report, most_pairs, progress)
    return Verdict(report, search, search.joint(), are_percentages)


def _not_compared(report: Report) -> str:
    """What is not compared, and why."""
    reasons: dict[str, list[str]] = {}
    values: Counter[str] = Counter()
    for (name, reason), number in report.left_out.items():
        reasons.setdefault(reason, []).append(_shown_name(name))
        values[reason] += number
    parts = [f"{_plural(values[reason], 'value')} of {_some(names)} ({reason})"
             for reason, names in reasons.items()]
    if report.strays:
        parts.append(f"{_plural(len(report.strays), 'line')} without a value ({report.strays[0].place}: "
                     f"{_quoted(report.strays[0].figure)})")
    return "; ".join(parts)


def _some(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


_MOST_ROWS = 5  # of values that do not agree
_MOST_EXPLANATIONS = 12


def _verdict_lines(verdict: Verdict, files: Sequence[str], digits: int) -> list[str]:
    """An audit for people: the counts, the joint verdict, then the other measures."""
    report, joint, search = verdict.report, verdict.joint, verdict.search
    total = verdict.compared + sum(report.left_out.values())
    left_out = _not_compared(report)
    left_out = f"; not compared: {left_out}" if left_out else ""
    lines = [f"{verdict.compared} of {_plural(total, 'value')} in {report.file} compared, "
             f"{verdict.agreeing} agree{left_out}", f"  {signature(search.audit.settings)}"]
    if verdict.are_percentages:
        lines.append("  figures are percentages: they are divided by 100 before they are compared")
    topics = {value.topic for group in report.groups.values() for value in group.values}
    missing = sorted(topic for topic in topics if topic is not None and topic not in search.audit.run)
    if missing and not search.audit.settings.complete:
        lines.append("  topics in the qrels that the run lacks, and which count with -c alone: "
                     f"{_some([_shown_name(topic) for topic in missing])}")
    jointly = joint.groups if joint and verdict.joint_chance <= _WEAK else []
    if joint:
        lines += ["", *_joint_lines(joint, verdict.joint_chance, len(search.departing))]
    if jointly:
        rows = _MOST_ROWS if len(jointly) == 1 else 1
        lines += _worst_table([(group, value) for group in jointly for value in _worst(group)[:rows]], digits)
    for group in search.departing:
        if group not in jointly:
            verb = "does" if len(group.departing) == 1 else "do"
            values = _plural(len(group.values), "value")
            lines += ["", f"{group.name}: {len(group.departing)} of {values} {verb} not agree",
                      *_worst_table([(group, value) for value in _worst(group)], digits),
                      *_group_lines(group, verdict, files)]
    return lines


def _joint_lines(joint: Joint, chance: float, departing: int) -> list[str]:
    """The joint verdict, for so many measures that depart."""
    is_weak, is_one = chance > _WEAK, len(joint.candidate) == 1
    verb = "explains" if is_one else "together explain"
    if is_weak:
        verb = "is consistent with" if is_one else "are consistent with"
    of = "all" if len(joint.groups) == departing else f"{len(joint.groups)} of"
    what = f"{of} {departing} measures that depart" if departing > 1 else "the measure that departs"
    count = "one convention" if is_one else f"{len(joint.candidate)} conventions"
    lines = [f"{count} {verb} {what}: {', '.join(group.name for group in joint.groups)}",
             *(f"  {convention.text}" for convention in joint.candidate),
             *(f"  or {_conventions_in_words(candidate)}" for candidate in joint.others[:_MOST_EXPLANATIONS]),
             _strength(chance, joint.groups)]
    if joint.spoiled:
        lines.append(f"  but then {_some([group.name for group in joint.spoiled])} would no longer agree")
    return lines


def _conventions_in_words(candidate: Candidate) -> str:
    """The conventions of a candidate, and how to have them here."""
    return "; and ".join(convention.text for convention in candidate)


def _strength(chance: float, groups: Sequence[Group]) -> str:
    """How likely wrong numbers would fit, too."""
    percent = f"{100 * chance:.0f}" if chance >= 0.01 else f"{100 * chance:.2g}"
    share = "less than 0.0001" if chance < 1e-6 else percent
    departing = _plural(sum(len(group.departing) for group in groups), "value")
    line = (f"  (chance that wrong numbers fit by accident: {share} %; {departing} to explain, "
            f"{max(group.tried for group in groups)} conventions tried")
    return line + ("; more digits or values of topics would decide)" if chance > _WEAK else ")")


def _worst(group: Group) -> list[Reported]:
    """The values of a measure that depart most."""
    def departure(value: Reported) -> float:
        """By how much a value departs; infinity if nothing is computed for it."""
        difference = math.inf if value.here is None else abs(value.value - value.here)
        return math.inf if math.isnan(difference) else difference
    return sorted(group.departing, key=departure, reverse=True)[:_MOST_ROWS]


def _worst_table(departing: Iterable[tuple[Group, Reported]], digits: int) -> list[str]:
    """The table of some values that depart."""
    rows = []
    for group, value in departing:
        here = value.here
        decimals = 0 if group.is_count else max(value.decimals, digits)
        shown = "none"
        if here is not None:
            shown = f"{here:.{decimals}f}" if abs(here) < 1e15 else f"{here:g}"
        topic = "all topics" if value.topic is None else _shown_name(value.topic)
        rows.append([topic, _shown_name(value.name), value.text, shown])
    return _table(["topic", "measure", "reported", "here"], rows, True)


def _of_group(group: Group, joint: Optional[Joint]) -> list[Candidate]:
    """What explains a measure, and first what explains others, too, or at least does not contradict it."""
    if not joint:
        return group.found
    jointly = _key(_concerning(joint.candidate, group))
    return sorted(group.found, key=lambda candidate: (
        _key(candidate) != jointly, _combined(_with(joint.candidate, candidate)) is None))


def _group_lines(group: Group, verdict: Verdict, files: Sequence[str]) -> list[str]:
    """What explains a measure that the joint verdict does not."""
    found = _of_group(group, verdict.joint)
    if not found:
        return _unexplained(group, verdict, files)
    chance = verdict.chance(group, found[0])
    verb = "come out" if chance <= _WEAK else "would come out, though that proves little,"
    lines = [f"  its values {verb} if", f"    {_conventions_in_words(found[0])}"]
    lines += [f"    or {_conventions_in_words(candidate)}" for candidate in found[1:_MOST_EXPLANATIONS]]
    if len(found) > _MOST_EXPLANATIONS:
        lines.append(f"    or {len(found) - _MOST_EXPLANATIONS} more")
    joint = verdict.joint
    if joint and all(_combined(_with(joint.candidate, candidate)) is None for candidate in found):
        lines.append("  which contradicts what explains other measures")
    return [*lines, _strength(chance, [group])]


def _unexplained(group: Group, verdict: Verdict, files: Sequence[str]) -> list[str]:
    """What to say of values that nothing explains: what comes nearest, and how to see where they depart."""
    search = verdict.search
    pairs = f", nor do two together ({_plural(group.pairs, 'pair')} tried)" if group.pairs else \
        "; pairs of them were not tried"
    lines = [f"  no convention that is known here explains that{pairs}"]
    remaining = group.departing
    nearest = search.nearest(group, verdict.joint)
    if nearest:
        candidate, remaining = nearest
        scopes = _some([_scope(value.topic) for value in remaining], 3)
        explained = len(group.values) - len(remaining)
        lines.append(f"  nearest: {_conventions_in_words(candidate)}, which explains {explained} of "
                     f"{_plural(len(group.values), 'value')}; not {scopes}")
    known = [value for value in remaining if value.here is not None]
    if not known:
        return [*lines, f"  nothing is computed here for {_scope(remaining[0].topic)}"]
    first = min(known, key=lambda value: (value.topic is None, value.topic or b""))
    return [*lines, f"  for the first to depart, {_scope(first.topic)}, see",
            f"    {_command_for(first, group, search.audit.settings, files)}"]


def _command_for(value: Reported, group: Group, settings: Settings, files: Sequence[str]) -> str:
    """The command that explains what is computed here for a value."""
    import shlex
    column = group.columns[value.column]
    if not column.is_named:  # else the name says it
        settings = column.settings
    script = sys.argv[0] if sys.argv else ""
    is_script = os.path.basename(script) == "trec_eval_ref.py"
    words = [*(["python3", script] if is_script else ["trec_eval_ref"]), "--explain", column.name]
    if value.topic is not None:
        words += ["-D", f"0.{_decode(value.topic)}"]
    flags = {"-c": settings.complete, "-J": settings.judged_only}
    words += [flag for flag, is_set in flags.items() if is_set]
    for option, field in (("--release", "release"), ("-l", "relevance_level"), ("-M", "depth"),
                          ("-N", "collection_size"), ("-R", "rel_format")):
        setting = getattr(settings, field)
        if setting != getattr(Settings(), field):
            words += [option, setting.name if field == "release" else str(setting)]
    return " ".join(_shown_name(shlex.quote(word)) for word in [*words, *files])


def _verdict_json(verdict: Verdict) -> str:
    """An audit for programs."""
    import json
    report, joint = verdict.report, verdict.joint

    def ids(candidate: Candidate) -> list[str]:
        """The names of a candidate's conventions."""
        return [convention.id for convention in candidate]
    left_out = [{"name": name, "values": values, "reason": reason}
                for (name, reason), values in report.left_out.items()]
    left_out += [{"name": stray.figure, "values": 0, "reason": f"no value, at {stray.place}"}
                 for stray in report.strays]
    measures = {}
    for group in report.groups.values():
        measures[group.name] = {
            "agree": len(group.values) - len(group.departing), "of": len(group.values),
            "explanations": [{"conventions": ids(candidate), "chance": verdict.chance(group, candidate)}
                             for candidate in _of_group(group, joint)],
            "worst": [{"topic": "all" if value.topic is None else _decode(value.topic), "measure": value.name,
                       "reported": value.text, "here": value.here} for value in _worst(group)]}
    explained = joint and {
        "conventions": ids(joint.candidate), "measures": [group.name for group in joint.groups],
        "chance": verdict.joint_chance, "others": [ids(candidate) for candidate in joint.others]}
    return json.dumps({"compared": verdict.compared, "agreeing": verdict.agreeing, "not_compared": left_out,
                       "joint": explained, "measures": measures}, indent=1)


def _retrieved(run: Source, settings: Settings, notes: Notes, wanted: AbstractSet[bytes],
               progress: Optional[Progress]) -> tuple[dict[bytes, Retrieved], set[bytes], set[bytes]]:
    """What a run has for the topics wanted, the topics that have a document twice, and all topics."""
    ranks: dict[bytes, array[int]] = {}
    in_run: set[bytes] = set()
    layout = run.layout or _RUN
    if not layout.is_json:
        place = layout.fields.index("rank")
        for _, columns in _tables(run, layout, settings.release, Notes()):
            in_run.update(columns[0])
            for topic, rank in zip(columns[0], columns[place]):
                if topic in wanted:
                    ranks.setdefault(topic, array("q")).append(_integer(rank)[0])
    found: dict[bytes, Retrieved] = {}
    duplicated = set()
    for topic, scores, lines in RunReader(run, wanted, settings.release, notes, progress):
        duplicated.discard(topic)
        if len(scores) != lines:
            duplicated.add(topic)
        in_run.add(topic)
        # JSON has no ranks but the order of its documents.
        of_topic = ranks[topic] if topic in ranks else array("q", range(1, len(scores) + 1))
        found[topic] = Retrieved(list(scores), array("d", scores.values()), of_topic)
    return found, duplicated, in_run


_MOST_EVALUATIONS = 400_000  # of a topic under a pair of conventions, unless the number of pairs is given


def _audit_files(qrels: Source, run: Source, report: Source, settings: Settings, notes: Notes, *, digits: int,
                 requests: Optional[Sequence[str]], only: Optional[str], most_pairs: Optional[int],
                 as_json: bool, progress: Optional[Progress]) -> tuple[int, list[bytes]]:
    """Compare the report in a file with what comes out here: the exit status and the lines."""
    form = JUDGMENT_FILES[settings.rel_format]
    judgments = form.read(qrels, settings.release, notes)
    retrieved, duplicated, in_run = _retrieved(run, settings, notes, judgments.topics.keys(), progress)
    if not retrieved:
        raise _nothing_in_common((qrels.name, judgments.topics), (run.name, in_run))
    for topic in sorted(duplicated):
        raise _duplicate(run, run.layout or _RUN, settings.release, topic)
    for topic in sorted(retrieved.keys() & judgments.duplicated):
        raise form.error(qrels, settings.release, topic)
    read = _read_report(report, settings, judgments.topics.keys(), in_run, requests, only)
    if most_pairs is None:
        most_pairs = _MOST_EVALUATIONS // len(retrieved)
    verdict = _audit(read, Audit(judgments.topics, retrieved, len(in_run), settings), most_pairs, progress)
    options = [word for source in (qrels, run) if source.layout for word in source.layout.option.split()]
    lines = [_verdict_json(verdict)] if as_json else _verdict_lines(
        verdict, (*options, qrels.name, run.name), digits)
    return verdict.status, [_encode(line) + b"\n" for line in lines]


# ---- Command line ----
# trec_eval's options, and some more.  Nothing is written to standard output
# before all of the result is there; warnings and errors go to standard error.

__all__ += ["main"]


class Option(NamedTuple):
    """A command line option; `value` names what follows it, if anything does."""

    short: str
    long: str
    value: str
    help: str


_OPTIONS = (
    Option("h", "help", "", "print this help, with the documentation of every measure named by -m"),
    Option("v", "version", "", "print the version"),
    Option("q", "query_eval_wanted", "", "print the values of each topic, too"),
    Option("m", "measure", "MEASURE", "a measure (P, P.5,10 with parameters, nDCG@10) or a"
           " nickname (official, set, all_trec); may be repeated; default: official"),
    Option("c", "complete_rel_info_wanted", "",
           "average over all topics of the qrels, not only those in the run"),
    Option("l", "level_for_rel", "N", "the least grade that counts as relevant (default 1)"),
    Option("n", "nosummary", "", "do not print the summary"),
    Option("D", "Debug_level", "N.TOPIC", "evaluate and print this topic alone"),
    Option("J", "Judged_docs_only", "", "remove unjudged documents from the ranking"),
    Option("N", "Number_docs_in_coll", "N", "the number of documents in the collection, for utility"),
    Option("M", "Max_retrieved_per_topic", "N", "keep only the first N documents of a topic"),
    Option("R", "Rel_info_format", "FORMAT", "format of the judgments: qrels (default), tsv, beir, json,"
           " qrels_jg (judgments by several people), prefs (preferences) or qrels_prefs (a qrels file read as"
           " preferences)"),
    Option("T", "Results_format", "FORMAT",
           "format of the run: trec_results (default), tsv, msmarco or json"),
    Option("Z", "Zscore", "FILE",
           "print Z-scores, by the norms in FILE: lines of `topic measure mean deviation`"),
    Option("o", "Output_old_results_format", "", "accepted and ignored"),
    Option("", "release", "RELEASE", "the trec_eval release to agree with: 10.0 (default) or 9.0.8"),
    Option("", "format", "FORMAT",
           "print text (default), json or csv with all digits, or a table in markdown or latex"),
    Option("", "json", "", "the same as --format json"),
    Option("", "baseline", "NAME", "the run to compare others with (default: the first)"),
    Option("", "digits", "N", "print N decimals instead of 4"),
    Option("", "explain", "MEASURE",
           "show for each topic how the value of a measure comes about; may be repeated"),
    Option("", "explain-all", "", "with --explain, show all rows of long tables, and long docnos whole"),
    Option("", "svg", "FILE", "with --explain, draw the value of one topic (that of -D, or the first) into an"
           " SVG file, with several runs how they differ; - is standard output, without the text"),
    Option("", "audit", "REPORT",
           "compare what another tool printed, and find out which conventions explain it"),
    Option("", "audit-pairs", "N",
           "try at most so many pairs of conventions (default: 400000 divided by the topics)"),
    Option("", "signature", "", "print the settings that numbers depend on, in one line"),
    Option("", "strict", "", "treat warnings as errors"),
    Option("", "quiet", "", "do not show progress"),
)


_USAGE = """\
usage: trec_eval_ref [options] QRELS RUN [RUN ...]

  trec_eval_ref qrels.txt run.txt                      the usual measures
  trec_eval_ref -m nDCG@10 -m AP qrels.txt run.txt     these two
  trec_eval_ref -q -m map qrels.txt run.txt            of each topic, too
  trec_eval_ref -m nDCG@10 qrels.txt old.txt new.txt   runs compared, with tests
  trec_eval_ref --explain map -D 0.301 qrels.txt run.txt
                                                       topic 301 explained
  trec_eval_ref -h -m bpref                            what a measure is

Score a run as trec_eval does.  QRELS has lines of `topic iter docno grade`, RUN
lines of `topic Q0 docno rank score tag`.  One may be - (standard input), and
each may be compressed.  Measures have trec_eval's names, or those of
ir_measures, BEIR, MTEB and ranx: P(rel=2)@5, RR@10, map_at_10, hit_rate@5.

Of several runs, a table is printed, and each is compared with the first.  Their
default measures are map, P_10, recall_1000 and ndcg_cut_10.

With -R qrels_jg and -R qrels_prefs, QRELS has lines of `topic group docno
grade`, with -R prefs of `topic group subgroup docno level`: judgments or
preferences of several people, the groups.
"""


def _help(requests: Iterable[str], settings: Settings) -> str:
    """The help page, and the documentation of each measure asked for."""
    import inspect
    import textwrap
    lines = [_USAGE]
    for option in _OPTIONS:
        short = f"-{option.short}, " if option.short else ""
        lines.append(f"  {short}--{option.long} {option.value}".rstrip())
        lines += textwrap.wrap(option.help, 80, initial_indent=8 * " ", subsequent_indent=8 * " ")
    for head, names in (("measures: ", MEASURES), ("nicknames: ", NICKNAMES)):
        lines += ["", *textwrap.wrap(head + " ".join(names), 80, subsequent_indent="  ")]
    for request in requests:
        for member in _measures_of(request, settings):
            measure = MEASURES[member]
            documentation = inspect.getdoc(measure.function) or ""
            lines += ["", f"{member} ({measure.function.__name__})"]
            lines.append(f"    parameters: {_SYNTAX[measure.parameters.kind]}")
            lines += [f"    {line}" if line else "" for line in documentation.split("\n")]
    return "\n".join(lines) + "\n"


def _measures_of(request: str, settings: Settings) -> Sequence[str]:
    """The names of the measures that a request is about."""
    request = request.strip()
    found = _trec_eval_request(request, settings.release)
    if found is not None:
        name = found[0]
        return (name,) if name in MEASURES else NICKNAMES[name]
    columns = _named_columns(request, settings)
    if not columns:
        raise _unknown_measure(request, settings)
    return [columns[0].measure.name]


def _integer_option(option: str, text: str, least: int = -2 ** 63, most: int = 2 ** 63 - 1) -> int:
    """The value of an option that takes an integer."""
    number, is_plain = _integer(_encode(text))
    if not is_plain or not least <= number <= most:
        bounds = f" from {least}" if least > -2 ** 63 else ""
        bounds += f" to {most}" if most < 2 ** 63 - 1 else ""
        raise TrecEvalError(f"option {option}: expected an integer{bounds}, found {_quoted(text)}", status=1)
    return number


def _parse(argv: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The values of each option by its long name, and the files, from arguments in GNU style."""
    import getopt
    with_short = [option for option in _OPTIONS if option.short]
    short = "".join([f"{option.short}:" if option.value else option.short for option in with_short])
    long = [f"{option.long}=" if option.value else option.long for option in _OPTIONS]
    try:
        pairs, files = getopt.gnu_getopt(list(argv), short, long)
    except getopt.GetoptError as error:
        raise TrecEvalError(f"{error.msg}; --help lists the options", status=1) from None
    long_names = {f"-{option.short}": option.long for option in _OPTIONS}
    of_files = [option.long for option in _OPTIONS if option.value in ("FILE", "REPORT")]
    options: dict[str, list[str]] = {}
    for option, value in pairs:
        name = long_names.get(option, option[2:])
        options.setdefault(name, []).append(value if name in of_files else value.strip())
    return options, files


def _settings(options: Mapping[str, str]) -> Settings:
    """The settings that the last value of each option gives."""
    rel_file = _format(JUDGMENT_FILES, options.get("Rel_info_format", "qrels"), "judgments")
    depth = options.get("Max_retrieved_per_topic")
    return _checked_settings(options.get("release", "10.0"),
                             relevance_level=_integer_option("-l", options.get("level_for_rel", "1")),
                             complete="complete_rel_info_wanted" in options,
                             judged_only="Judged_docs_only" in options,
                             depth=None if depth is None else _integer_option("-M", depth, 0),
                             collection_size=_integer_option("-N", options.get("Number_docs_in_coll", "0")),
                             rel_format=rel_file.rel_format)


_FORMATS = ("text", "json", "csv", "markdown", "latex")


def _check_options(options: Mapping[str, str], files: Sequence[str]) -> None:
    """Raise an error for options that do not go together, or not with so many files."""
    if len(files) < 2:
        raise TrecEvalError(f"expected two files or more, QRELS and RUN, found {len(files)}; "
                            "--help explains the usage", status=1)
    if [*files, options.get("Zscore"), options.get("audit")].count("-") > 1:
        raise TrecEvalError("expected standard input (-) for one file, found it for several", status=1)
    form = _output_format(options)
    if form not in _FORMATS:
        raise TrecEvalError(f"option --format: expected one of {', '.join(_FORMATS)}, found {_quoted(form)}",
                            status=1)
    if "json" in options and form != "json":
        raise TrecEvalError(f"expected --json without --format {form}, found both", status=1)
    for option, forms in (("explain", ("text",)), ("audit", ("text", "json"))):
        if option in options and form not in forms:
            other = "--json" if "json" in options else f"--format {form}"
            raise TrecEvalError(f"expected --{option} without {other}, found both", status=1)
    for one, option in ("audit", "explain"), ("audit", "Zscore"):
        if one in options and option in options:
            raise TrecEvalError(f"expected --{one} without --{option}, found both", status=1)
    if "explain" in options and "measure" in options:
        raise TrecEvalError("expected --explain MEASURE without --measure, found both: "
                            "name the measure after --explain", status=1)
    if "explain" in options and "Zscore" in options:
        raise TrecEvalError("expected --explain without -Z, which converts what is explained", status=1)
    if "explain-all" in options and "explain" not in options:
        raise TrecEvalError("expected --explain MEASURE with --explain-all, found none", status=1)
    runs = len(files) - 1
    for option in ("explain", "audit", "Zscore"):
        if option in options and runs > 1:
            raise TrecEvalError(f"option --{option}: expected one run, found {runs}", status=1)
    if "baseline" in options and runs == 1:
        raise TrecEvalError("option --baseline: expected several runs, found one", status=1)
    can_draw = "explain" in options or runs > 1
    if "svg" in options and ("audit" in options or not can_draw):
        raise TrecEvalError("expected --svg with --explain MEASURE or with several runs, and without --audit",
                            status=1)


def _output_format(options: Mapping[str, str]) -> str:
    """The format of the output."""
    return options.get("format", "json" if "json" in options else "text")


def _only_topic(values: Iterable[str]) -> Optional[str]:
    """The one topic that the values of -D ask for: of several, the last one after a dot."""
    only = None
    for value in values:
        level, dot, topic = value.partition(".")
        try:
            _integer_option("-D", level)
        except TrecEvalError as error:
            raise TrecEvalError(f"{error}; -D {_pasted('0.' + value)} evaluates topic {value} alone",
                                status=1) from None
        if dot:
            only = topic
    return only


def _command(argv: Sequence[str]) -> tuple[int, Iterable[bytes]]:
    """Do what the arguments say.  Returns the exit status and the lines for standard output."""
    given, files = _parse(argv)
    options = {name: values[-1] for name, values in given.items()}
    settings = _settings(options)
    qrels_layout = JUDGMENT_FILES[options.get("Rel_info_format", "qrels")].layout
    run_layout = _format(RUN_FILES, options.get("Results_format", "trec_results"), "results")
    if "help" in options:
        return 0, [_encode(_help(given.get("measure", []), settings))]
    if "version" in options:
        return 0, [f"trec_eval_ref {__version__} (trec_eval 10.0 and 9.0.8)\n".encode()]
    if "signature" in options:
        return 0, [_encode(signature(settings)) + b"\n"]
    _check_options(options, files)
    digits = _integer_option("--digits", options.get("digits", "4"), 0, 1000)
    only = _only_topic(given.get("Debug_level", []))
    qrels = Source.of(files[0], layout=qrels_layout)
    runs = [Source.of(file, layout=run_layout) for file in files[1:]]
    asked = Asked(options, given.get("explain", given.get("measure")), settings, qrels, runs, digits, only)
    return _audit_command(asked) if "audit" in options else (0, _evaluate_command(asked))


class Asked(NamedTuple):
    """What a command line asks for.

    options   the last value of each option, by its long name
    requests  the measures to explain or to evaluate; None if none is named
    settings, qrels, runs, digits: as their names say
    only      the one topic to evaluate, if not all are
    """

    options: Mapping[str, str]
    requests: Optional[Sequence[str]]
    settings: Settings
    qrels: Source
    runs: list[Source]
    digits: int
    only: Optional[str]


def _audit_command(asked: Asked) -> tuple[int, Iterable[bytes]]:
    """Audit a report.  Returns the exit status and the lines to print."""
    options, notes = asked.options, Notes()
    pairs = None
    if "audit-pairs" in options:
        pairs = _integer_option("--audit-pairs", options["audit-pairs"], 0)
    with _progress("quiet" in options) as progress:
        status, lines = _audit_files(
            asked.qrels, asked.runs[0], Source.of(options["audit"]), asked.settings, notes,
            digits=asked.digits, requests=asked.requests, only=asked.only, most_pairs=pairs,
            as_json=_output_format(options) == "json", progress=progress)
    _report_notes(notes.lines(), "strict" in options)
    return status, lines


def _evaluate_command(asked: Asked) -> Iterable[bytes]:
    """Evaluate a run, explain it, or compare several.  Returns the lines to print."""
    options, settings, notes = asked.options, asked.settings, Notes()
    norms = None
    if "Zscore" in options:
        norms = _read_zscores(Source.of(options["Zscore"]), settings.release, notes)
    warned = notes.lines()
    is_explained = "explain" in options
    requests = asked.requests or (["official"] if len(asked.runs) == 1 else _COMPARED_BY)
    with _progress("quiet" in options) as progress:
        evaluated = _evaluate_runs(asked.qrels, asked.runs, requests, settings, warned, only=asked.only,
                                   first_only=not is_explained, norms=norms, progress=progress,
                                   keeps_judged=is_explained)
    if is_explained and not evaluated[0].columns:
        raise TrecEvalError("expected a measure to explain, found runid alone, and a run without a tag",
                            status=1)
    warned += _doubtful_options(asked, evaluated[0])
    named = dict(zip(_run_names(evaluated, asked.runs), evaluated))
    baseline = _baseline(named, options.get("baseline"))
    summary = "nosummary" not in options
    is_compared = summary and _output_format(options) != "csv"
    comparisons = _comparisons(named, baseline) if is_compared else []
    _report_notes([*warned, *_different_topics(named)], "strict" in options)
    picture = b""
    if "svg" in options and is_explained:
        first = evaluated[0].ordered()[0]
        picture = explanation_svg(_explanations(evaluated[0], first), asked.digits).encode()
    elif "svg" in options:
        drawn = comparisons or _comparisons(named, baseline)
        picture = _picture_of_runs(named, drawn, asked.digits).encode()
    if options.get("svg") == "-":
        return [picture]
    if is_explained:
        all_rows = "explain-all" in options
        printed: Iterable[bytes] = _explanation(evaluated[0], asked.runs[0], summary and asked.only is None,
                                                all_rows, asked.digits)
    else:
        printed = _report(named, comparisons, options, requests, asked.digits)
    if picture:
        _write_file(options["svg"], picture)
    return printed


def _doubtful_options(asked: Asked, evaluated: Evaluated) -> list[str]:
    """Warnings about options that can hardly mean what they do."""
    warned = []
    debug_level = asked.options.get("Debug_level", "")
    if asked.only is None and _encode(debug_level) in evaluated.qrels_topics:
        warned.append(f"option -D: {debug_level} is a level, which is ignored: write "
                      f"-D 0.{debug_level} to evaluate topic {debug_level} alone")
    utilities = [column for column in evaluated.columns if column.measure.name == "utility"]
    needs_size = any(column.arguments[3] for column in utilities)
    if needs_size and "Number_docs_in_coll" not in asked.options:
        warned.append("measure utility: the last coefficient needs the size of the collection (-N)")
    return warned


def _report(evaluated: Mapping[str, Evaluated], comparisons: Sequence[Comparison], options: Mapping[str, str],
            requests: Sequence[str], digits: int) -> Iterable[bytes]:
    """The values of one run or of several, in the format asked for."""
    form = _output_format(options)
    per_topic, summary = "query_eval_wanted" in options, "nosummary" not in options
    first, *others = evaluated.values()
    if form == "text" and not others:
        return _report_lines(first, per_topic, summary, digits)
    if form == "csv":
        return [_encode(_report_csv(evaluated, per_topic, summary))]
    if form == "json" and not others:
        text = _report_json(first, per_topic, summary, requests)
    elif form == "json":
        text = _report_comparison_json(evaluated, comparisons, per_topic, summary, requests)
    elif form == "text":
        text = "\n".join(_report_text(evaluated, comparisons, per_topic, summary, digits))
    else:
        text = "\n".join(_report_table(evaluated, comparisons, per_topic, summary, digits, form))
    return [_encode(text) + b"\n"]


def _report_notes(lines: Sequence[str], is_strict: bool) -> None:
    """Print warnings, each once, or with --strict make an error of the first."""
    if is_strict and lines:
        raise TrecEvalError(lines[0])
    for line in dict.fromkeys(lines):
        _complain(f"warning: {line}")


@contextlib.contextmanager
def _progress(is_quiet: bool) -> Iterator[Optional[Progress]]:
    """Progress on standard error, if that is a terminal."""
    if is_quiet or sys.stderr is None or getattr(sys.stderr, "closed", False) or not sys.stderr.isatty():
        yield None
        return
    progress = Progress(sys.stderr)
    try:
        yield progress
    finally:
        progress.erase()


def _complain(message: str) -> None:
    """Write a line to standard error, if it can be written."""
    if sys.stderr is None:
        return
    try:
        print(f"trec_eval_ref: {_shown_name(message)}", file=sys.stderr, flush=True)
    except ValueError:  # it is closed, or a stand-in that cannot encode the message
        pass
    except OSError:  # what cannot be said must not cost the result
        _give_up(sys.stderr)


def _give_up(stream: IO[str]) -> None:
    """Let a stream that cannot be written lead nowhere, because Python flushes it again at the end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # a stand-in may have no descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _write(lines: Iterable[bytes]) -> None:
    """Write bytes to standard output, or text to a stand-in for it.  A reader that has gone is no error."""
    if sys.stdout is None or getattr(sys.stdout, "closed", False):
        raise TrecEvalError("standard output: cannot be written: it is closed")
    try:
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.flush()
            sys.stdout.buffer.writelines(lines)
        else:
            sys.stdout.writelines(map(_decode, lines))
        sys.stdout.flush()
    except OSError as error:
        _give_up(sys.stdout)
        is_gone = isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL)
        if not is_gone:
            raise TrecEvalError(f"standard output: cannot be written: {error.strerror}") from None
    except UnicodeEncodeError as error:  # by what stands in for it
        raise TrecEvalError(f"standard output: cannot be written: {error}") from None


def _write_file(name: str, content: bytes) -> None:
    """Write a file, which may be there already."""
    try:
        with open(name, "wb") as file:
            file.write(content)
    except OSError as error:
        raise TrecEvalError(f"{name}: cannot be written: {error.strerror}") from None


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the command line on arguments (by default the program's) and return the exit status."""
    try:
        status, lines = _command(sys.argv[1:] if argv is None else argv)
        _write(lines)
        return status
    except TrecEvalError as error:
        _complain(str(error))
        return error.status
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
