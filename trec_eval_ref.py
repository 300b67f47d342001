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

The file reads in the order in which the data passes: releases, reading,
ranking, measures, requests, summaries, reporting.  Then come the rooms built on
these, explaining, auditing and the interface of pytrec_eval, and last the
command line.  Each measure is one function of what a topic's ranking looks like
to it: a `JudgedRanking`, the `JudgedRanking`s of several judges, or a
`PreferenceRanking`.  Its docstring gives the formula, the edge cases, an example
to check by hand, and the source.

Topics and docnos stay bytes on their way from a file to the output, since
trec_eval compares and prints bytes; whatever returns them to a caller of the
library decodes them first (UTF-8, undecodable bytes as surrogate escapes).
"""

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
from collections import Counter, defaultdict, deque
from typing import (AbstractSet, Any, BinaryIO, Callable, cast, Collection, ContextManager, Dict,
                    FrozenSet, IO, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Pattern,
                    Sequence, Set, Tuple, TypeVar, Union)

__version__ = "1.0"

__all__ = [  # and the functions that MEASURES lists; what else there is, is private
    "Column", "Evaluation", "Explanation", "JudgedRanking", "MEASURES", "Measure", "NICKNAMES",
    "PreferenceCounts", "PreferenceGroup", "PreferenceRanking", "RELEASES", "Release",
    "RelevanceEvaluator", "Settings", "TrecEvalError", "TrecEvalWarning", "Value", "View",
    "compute_aggregated_measure", "evaluate", "evaluate_files", "example_preferences",
    "example_ranking", "explain", "explanation_lines", "judge", "judge_prefs", "main", "parse_qrel",
    "parse_run", "read_prefs", "read_qrels", "read_qrels_jg", "read_run", "read_zscores",
    "signature", "supported_measures", "supported_nicknames",
]

Name = Union[str, bytes]  # a topic or docno: bytes from a file, str from a caller


class TrecEvalError(ValueError):
    """Input that cannot be evaluated.

    The message is one line that says where, what was expected and what was
    found; `status` is the exit status that the command line gives it.
    """

    def __init__(self, message: str, status: int = 2):
        super().__init__(message)
        self.status = status


class TrecEvalWarning(UserWarning):
    """Suspicious input that was nevertheless evaluated, as trec_eval does."""


# ---- Releases: what differs between trec_eval 10.0 and 9.0.8, as data ----


def _nearest(x: float) -> int:
    """Round to the nearest integer, halves up: C's lround for x >= 0."""
    whole = math.floor(x)
    return whole + (x - whole >= 0.5)


def _mostly_up(x: float) -> int:
    """Round up, but drop a fraction below 0.1: trec_eval's rough ceiling."""
    return math.trunc(x + 0.9)


def _as_they_are(scores: Iterable[float]) -> Iterable[float]:
    return scores


def _single_precision(scores: Iterable[float]) -> Iterable[float]:
    """Round scores to 32-bit floats, in which scores that agree in seven digits are ties."""
    return array("f", scores)


class Release(NamedTuple):
    """What one release of trec_eval does differently from another.

    keep_scores        gives scores the precision they are kept in
    count_at_recall    rounds (recall level x R) to a count of documents
    evaluates_missing  with -c, whether a topic that is missing from the run is
                       evaluated (as one unpooled document) or only counted
    has_comments       whether lines that start with # are comments
    lacks              measures that this release does not know
    """

    name: str
    keep_scores: Callable[[Iterable[float]], Iterable[float]]
    count_at_recall: Callable[[float], int]
    evaluates_missing: bool
    has_comments: bool
    lacks: FrozenSet[str]


RELEASES: Dict[str, Release] = {release.name: release for release in (
    Release("10.0", keep_scores=_as_they_are, count_at_recall=_nearest, evaluates_missing=True,
            has_comments=True, lacks=frozenset()),
    Release("9.0.8", keep_scores=_single_precision, count_at_recall=_mostly_up, evaluates_missing=False,
            has_comments=False, lacks=frozenset(("dcg", "ideal_dcg", "rbp", "rbp_resid", "unj"))),
)}


class Settings(NamedTuple):
    """Everything besides the files that changes a number.

    release            the rules of which trec_eval
    relevance_level    the least grade that counts as relevant (-l)
    complete           average over all topics of the qrels, also those that
                       the run misses (-c)
    judged_only        remove unjudged documents from the ranking (-J)
    depth              keep only so many documents a topic (-M); None is all
    collection_size    documents in the collection, for utility only (-N)
    rel_format         the format of the judgments (-R)
    """

    release: Release = RELEASES["10.0"]
    relevance_level: int = 1
    complete: bool = False
    judged_only: bool = False
    depth: Optional[int] = None
    collection_size: int = 0
    rel_format: str = "qrels"


def _release(name: str) -> Release:
    try:
        return RELEASES[name]
    except KeyError:
        raise TrecEvalError("expected a release, one of %s, found %s"
                            % (", ".join(RELEASES), _quoted(str(name))), status=1) from None


EVERY_FORMAT = ("qrels", "qrels_jg", "prefs", "qrels_prefs")  # of judgments, -R


def _checked_settings(release: str, relevance_level: int = 1, complete: bool = False, judged_only: bool = False,
                      depth: Optional[int] = None, collection_size: int = 0, rel_format: str = "qrels") -> Settings:
    """The settings that a caller's keywords give, if they can be."""
    try:
        level, size = array("q", [operator.index(relevance_level), operator.index(collection_size)])
        depth = None if depth is None else array("q", [operator.index(depth)])[0]
    except TypeError:
        raise TypeError("expected integers as relevance_level, depth and collection_size, found %r, %r and %r"
                        % (relevance_level, depth, collection_size)) from None
    except OverflowError:
        raise TrecEvalError("expected integers of 64 bits as relevance_level, depth and collection_size",
                            status=1) from None
    if depth is not None and depth < 0:
        raise TrecEvalError("expected a depth from 0, found %d" % depth, status=1)
    if rel_format not in EVERY_FORMAT:
        raise TrecEvalError("expected a format of judgments, one of %s, found %s"
                            % (", ".join(EVERY_FORMAT), _quoted(str(rel_format))))
    return Settings(_release(release), level, bool(complete), bool(judged_only), depth, size, rel_format)


# ---- Reading: lines to plain dicts ----

_BLOCK_SIZE = 1 << 14  # larger ones fall out of the processor's cache when they are split
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_INTEGER = re.compile(rb"([+-]?)([0-9]+)")
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
                      rb"|[+-]?(?:infinity|inf)", re.IGNORECASE)
_HEXADECIMAL = re.compile(rb"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?",
                          re.IGNORECASE)
_NOT_A_NUMBER = re.compile(rb"[+-]?nan", re.IGNORECASE)


def _encode(name: Name) -> bytes:
    if isinstance(name, bytes):
        return name
    try:
        return name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return name.encode("utf-8", "surrogatepass")


def _decode(name: Name) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")


def _quoted(name: Name) -> str:
    """A name or line as error messages show it: printable, quoted and not too long."""
    text = _decode(name).strip()
    text = text if len(text) <= 80 else text[:77] + "..."
    return ascii(text) if not text.isprintable() else repr(text)


def _plural(count: int, noun: str) -> str:
    return "%d %s%s" % (count, noun, "" if count == 1 else "s")


class Notes:
    """Warnings collected on the way: for each kind the first place, such as run.txt:17, and a count.

    A run that is read twice is noted anew each time: `restart` forgets what
    its lines told so far.
    """

    def __init__(self) -> None:
        self._found: Dict[Tuple[str, str], List[Any]] = {}

    def add(self, kind: str, place: str, text: str, read_as: str = "") -> None:
        """Note a warning; `read_as` is what trec_eval makes of a text that is no number."""
        if read_as:
            text += ", read as " + read_as
        note = self._found.setdefault((place.rpartition(":")[0], kind), [place, text, 0])
        note[2] += 1

    def restart(self, file: str) -> None:
        self._found = {key: note for key, note in self._found.items() if key[0] != file}

    def lines(self) -> List[str]:
        return ["%s: %s%s" % (place, text, " (%d in all)" % count if count > 1 else "")
                for place, text, count in self._found.values()]

    def warn(self) -> None:
        """Hand the notes to Python's warnings, for callers of the library."""
        for line in self.lines():
            warnings.warn(line, TrecEvalWarning, stacklevel=3)


def _integer(text: bytes) -> Tuple[int, bool]:
    """Read an integer as C's atol does: the longest prefix that is one, else 0, in 64 bits.

    Returns it and whether the whole text was a number.
    """
    match = _INTEGER.match(text)
    if not match:
        return 0, False
    sign, digits = match.group(1), match.group(2).lstrip(b"0")
    # Beyond 20 digits the value is out of range anyway, and Python refuses to convert thousands.
    value = int(sign + (digits[:20] or b"0"))
    return max(-2 ** 63, min(2 ** 63 - 1, value)), match.end() == len(text)


def _decimal(text: bytes) -> Tuple[float, bool]:
    """Read a decimal as C's atof does: the longest prefix that is one, else 0.

    Returns it and whether the whole text was a plain number.
    """
    match = _HEXADECIMAL.match(text)
    if match:
        return _hexadecimal(match.group()), False
    if _NOT_A_NUMBER.match(text):
        return math.nan, False
    match = _DECIMAL.match(text)
    if not match:
        return 0.0, False
    return float(match.group()), match.end() == len(text)


def _hexadecimal(text: bytes) -> float:
    try:
        return float.fromhex(text.decode("ascii"))
    except OverflowError:
        return -math.inf if text[:1] == b"-" else math.inf


class Source:
    """Bytes with a name, which can be read from the start as often as needed."""

    def __init__(self, name: str, opener: Callable[[], ContextManager[BinaryIO]], size: int = 0):
        self.name = name
        self._open = opener
        self._size = size
        self._stored: Optional[BinaryIO] = None  # what is being read

    @classmethod
    def of(cls, source: Any, name: str = "input") -> "Source":
        """The Source of a path, of "-" (standard input), or of an open file or iterable of lines, read whole now."""
        if isinstance(source, Source):
            return source
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
                return cls.of(sys.stdin or (), "standard input")
            return cls._copied("standard input", lambda: contextlib.nullcontext(sys.stdin.buffer))
        name = _decode(path)
        try:
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode):
                return cls(name, lambda: open(path, "rb"), status.st_size)
        except (OSError, ValueError) as error:
            raise _cannot_read(name, error) from None
        return cls._copied(name, lambda: open(path, "rb"))

    @classmethod
    def _copied(cls, name: str, opener: Callable[[], ContextManager[BinaryIO]]) -> "Source":
        """A copy on disk of a pipe, which by itself can be read only once."""
        import shutil  # here since importing these takes milliseconds, and few need them
        import tempfile
        try:
            copy = tempfile.TemporaryFile()
            with opener() as stream:
                shutil.copyfileobj(stream, copy)
        except OSError as error:
            raise _cannot_read(name, error) from None

        def reopen() -> ContextManager[BinaryIO]:
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

    def blocks(self) -> Iterator[bytes]:
        """The content, unpacked if it is compressed, in blocks of whole lines."""
        try:
            with self._open() as self._stored:
                stream = _unpacked(self._stored)
                while True:
                    block = stream.read(_BLOCK_SIZE)
                    if not block:
                        return
                    block += stream.readline()
                    yield block
        except (OSError, EOFError, ImportError) as error:
            raise _cannot_read(self.name, error) from None
        except Exception as error:  # zlib.error and LZMAError, whose modules may be missing here
            if type(error).__module__ not in ("zlib", "_lzma", "lzma"):
                raise
            raise _cannot_read(self.name, error) from None


def _whole_line(line: Any) -> bytes:
    if not isinstance(line, (str, bytes)):
        raise TypeError("expected lines of str or bytes, found %r" % (line,))
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
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return TrecEvalError("%s: cannot be read: %s" % (name, " ".join(reason.split())))


class Layout(NamedTuple):
    """How the lines of one kind of file are built."""

    content: str                # what the lines hold, for messages
    fields: Tuple[str, ...]
    more_fields: bool           # whether fields may follow, to be ignored
    comment: Pattern[bytes]


_QRELS = Layout("judgments", ("topic", "iter", "docno", "grade"), False, re.compile(rb"^#", re.M))
_QRELS_JG = Layout("judgments", ("topic", "group", "docno", "grade"), False, _QRELS.comment)
_PREFS = Layout("preferences", ("topic", "group", "subgroup", "docno", "level"), False, _QRELS.comment)
_RUN = Layout("results", ("topic", "Q0", "docno", "rank", "score", "tag"), True,
              re.compile(rb"^[ \t\r\v\f]*#", re.M))

Columns = Sequence[Sequence[bytes]]  # of a block, the texts of each field
Table = Tuple[Sequence[int], Columns]  # with the line numbers


def _text_blocks(source: Source, notes: Notes) -> Iterator[bytes]:
    """The blocks of a text file, each with a line end at its end."""
    is_first = True
    for block in source.blocks():
        if is_first and block.startswith(_BYTE_ORDER_MARK):
            block = block[len(_BYTE_ORDER_MARK):]
            notes.add("byte-order mark", source.name + ":1", "a byte-order mark is skipped")
        is_first = False
        if b"\0" in block:
            before = itertools.takewhile(lambda line: b"\0" not in line, (
                line for block in source.blocks() for line in block.split(b"\n")[:-1]))
            raise TrecEvalError("%s:%d: expected text, found a NUL byte: this is a binary file"
                                % (source.name, len(list(before)) + 1))
        yield block if block.endswith(b"\n") else block + b"\n"


def _split(block: bytes, width: int) -> Optional[Columns]:
    """The columns of a block if each of its lines has so many fields.

    Splitting a whole block at once costs no more than splitting its lines and
    gives the columns by slicing.  A NUL byte put at each line end proves that
    the lines have their fields: no field can hold one, since a file that does
    is refused.
    """
    marked = block.replace(b"\n", b" \0 ")
    lines = (len(marked) - len(block)) // 2
    fields = marked.split()
    if len(fields) != lines * (width + 1) or fields[width::width + 1].count(b"\0") != lines:
        return None
    return [fields[i::width + 1] for i in range(width)]


_LINE_END = b"\0\0"


def _split_run(block: bytes, width: int) -> Optional[Columns]:
    """Like `_split`, but faster and only for lines of one tag, which those of a run mostly are.

    The line end is made a part of the fields, so that the tag of a line and the
    topic of the next come as one, their joint.  Every fifth field must be one.
    If there are as many as line ends and a line end is inside each, then there
    is none elsewhere, and each line has its fields.

    As the tag is the same, equal joints stand for equal topics.  So they are
    given as they are, each as the topic of the line after it; the last one, made
    of the last tag and the first topic, comes first.  `_topic` finds the topic in
    it.  Q0 and rank, which no number depends on, are left out.

    >>> topics, _, docnos, _, scores, tags = _split_run(b"1 Q0 x 1 9 bm25\\n1 Q0 y 2 8 bm25\\n2 Q0 x 1 7 bm25\\n", 6)
    >>> topics, tags
    ([b'bm25\\x00\\x001', b'bm25\\x00\\x001', b'bm25\\x00\\x002'], [b'bm25'])
    >>> docnos, scores
    ([b'x', b'y', b'x'], [b'9', b'8', b'7'])
    """
    step = width - 1
    marked = block.replace(b"\n", _LINE_END)
    lines = len(marked) - len(block)
    fields = marked.split()
    if len(fields) != step * lines + 1:
        return None
    fields[-1] += fields[0]
    joints = fields[step::step]
    distinct = set(joints[:1] if joints.count(joints[0]) == lines else joints)
    tag, _, _ = joints[0].partition(_LINE_END)
    before_topic = tag + _LINE_END
    if not tag or not all(joint.startswith(before_topic) and joint != before_topic for joint in distinct):
        return None
    if len(distinct) == 1:
        joints = joints[:1] * lines  # the same object each time, so that they are soon compared
    return joints[-1:] + joints[:-1], (), fields[2::step], (), fields[4::step], [tag]


def _topic(text: bytes) -> bytes:
    """The topic in what stands for it in a column of topics."""
    return text.rpartition(_LINE_END)[2]


def _tables(source: Source, layout: Layout, release: Release, notes: Notes,
            split: Callable[[bytes, int], Optional[Columns]] = _split) -> Iterator[Table]:
    """The fields of a file, block by block, column by column."""
    number, found = 1, False
    for block in _text_blocks(source, notes):
        has_comments = release.has_comments and b"#" in block and layout.comment.search(block)
        columns = None
        if not has_comments:
            columns = split(block, len(layout.fields))
            if columns is None and split != _split:
                split = _split  # from now on: where one block needs it, others do
                columns = split(block, len(layout.fields))
        if columns:
            found = True
            lines = len(columns[0])
            yield range(number, number + lines), columns
        else:
            numbers, rows = _rows(block, number, source.name, layout, release)
            lines = block.count(b"\n")
            if rows:
                found = True
                yield numbers, [list(column) for column in zip(*rows)]
        number += lines
    if not found:
        raise _nothing_found(source, layout)


def _nothing_found(source: Source, layout: Layout) -> TrecEvalError:
    return TrecEvalError("%s: expected lines of %s (%s), found none"
                         % (source.name, layout.content, " ".join(layout.fields)))


def _rows(block: bytes, number: int, file: str, layout: Layout,
          release: Release) -> Tuple[List[int], List[List[bytes]]]:
    """The lines of a block one by one: those that hold fields, with their numbers."""
    width = len(layout.fields)
    numbers, rows = [], []
    for number, line in enumerate(block.split(b"\n"), number):
        fields = line.split()
        if not fields or release.has_comments and layout.comment.match(line):
            continue
        if len(fields) < width or len(fields) > width and not layout.more_fields:
            other = {_QRELS: 6, _RUN: 4}.get(layout)
            raise TrecEvalError("%s:%d: expected %d fields (%s), found %d: %s%s" % (
                file, number, width, " ".join(layout.fields), len(fields), _quoted(line),
                "; are the files the wrong way round?" if number == 1 and len(fields) == other else ""))
        numbers.append(number)
        rows.append(fields[:width])
    return numbers, rows


def _stretches(topics: Sequence[bytes]) -> Iterable[Tuple[int, int]]:
    """Start and end of each stretch of equal topics."""
    length = len(topics)
    if topics.count(topics[0]) == length:  # mostly; faster than comparing one by one
        return [(0, length)]
    changes = map(operator.ne, topics, itertools.islice(topics, 1, None))
    starts = [0, *itertools.compress(range(1, length), changes)]
    return zip(starts, starts[1:] + [length])


def _grades(texts: Sequence[bytes], numbers: Sequence[int], file: str, notes: Notes) -> List[int]:
    read = {text: _integer(text) for text in set(texts)}
    if not all(plain for _, plain in read.values()):
        for number, text in zip(numbers, texts):
            grade, plain = read[text]
            if not plain:
                notes.add("grade", "%s:%d" % (file, number), "expected an integer as grade, found %s"
                          % _quoted(text), "%d" % grade)
    grades = {text: grade for text, (grade, _) in read.items()}
    return list(map(grades.__getitem__, texts))


def _plain_scores(texts: Sequence[bytes]) -> Iterable[float]:
    """The scores as they are read if nothing about them needs a word; else, or on the way, ValueError."""
    together = b"".join(texts)
    if b"_" in together or b"n" in together or b"N" in together:  # 1_0, nan and inf, which float() would take
        raise ValueError
    return map(float, texts)


def _scores(texts: Sequence[bytes], numbers: Sequence[int], file: str, notes: Notes,
            field: str = "score") -> List[float]:
    with contextlib.suppress(ValueError):
        return list(_plain_scores(texts))
    scores = []
    for number, text in zip(numbers, texts):
        score, plain = _decimal(text)
        place = "%s:%d" % (file, number)
        if math.isnan(score):
            raise TrecEvalError("%s: expected a number as %s, found %s, by which nothing can be ranked"
                                % (place, field, _quoted(text)))
        if not plain:
            notes.add(field, place, "expected a number as %s, found %s" % (field, _quoted(text)), "%g" % score)
        scores.append(score)
    return scores


class Judgments(NamedTuple):
    """The judgments of a file, by topic, and the topics that judge a document twice or contradictorily."""

    topics: Mapping[Any, Any]
    duplicated: Set[bytes]


def _read_qrels(source: Source, release: Release, notes: Notes) -> Judgments:
    qrels: Dict[bytes, Dict[bytes, int]] = {}
    duplicated = set()
    for numbers, (topics, _, docnos, texts) in _tables(source, _QRELS, release, notes):
        grades = _grades(texts, numbers, source.name, notes)
        for start, end in _stretches(topics):
            judgments = qrels.setdefault(topics[start], {})
            expected = len(judgments) + end - start
            judgments.update(zip(docnos[start:end], grades[start:end]))
            if len(judgments) != expected:
                duplicated.add(topics[start])
    return Judgments(qrels, duplicated)


Zscores = Mapping[str, Mapping[str, Tuple[float, float]]]  # {topic: {printed name: (mean, deviation)}}

_ZSCORES = Layout("Z-score norms", ("topic", "measure", "mean", "deviation"), False, re.compile(rb"^#", re.M))


_NORM = "0 or a number from 1e-100 to 1e100"


def _is_norm(value: float) -> bool:
    """Whether quotients of differences to it can be computed."""
    return abs(value) <= 1e100 and (value == 0 or abs(value) >= 1e-100)


def _read_zscores(source: Source, release: Release, notes: Notes) -> Zscores:
    norms: Dict[str, Dict[str, Tuple[float, float]]] = {}
    for numbers, columns in _tables(source, _ZSCORES, release, notes):
        for number, (topic, name, *texts) in zip(numbers, zip(*columns)):
            place = "%s:%d" % (source.name, number)
            for field, text in zip(_ZSCORES.fields[2:], texts):
                value, plain = _decimal(text)
                if not plain or not _is_norm(value):
                    raise TrecEvalError("%s: expected %s as %s, found %s" % (
                        place, _NORM if plain else "a number", field, _quoted(text)))
            of_topic = norms.setdefault(_decode(topic), {})
            if _decode(name) in of_topic:
                raise TrecEvalError("%s: expected one line a topic and measure, found %s of topic %s again"
                                    % (place, _quoted(name), _quoted(topic)))
            of_topic[_decode(name)] = float(texts[0]), float(texts[1])
    return norms


class RunReader:
    """A run, topic after topic.

    Iterating gives (topic, {docno: score}, number of lines) for each topic that
    is wanted, as soon as the next topic begins, so that one topic at a time is
    in memory.  If a topic turns out to come back later in the file, the run is
    read again from the start and all topics are given once more, complete:
    what is given last for a topic counts.
    """

    def __init__(self, source: Source, wanted: Optional[AbstractSet[bytes]], release: Release, notes: Notes,
                 progress: Optional["Progress"] = None):
        self.source = source
        self.wanted = wanted
        self.tag = b""
        self._release = release
        self._notes = notes
        self._progress = progress

    def __iter__(self) -> Iterator[Tuple[bytes, Dict[bytes, float], int]]:
        finished: Set[bytes] = set()
        topic = None
        ranking: Dict[bytes, float] = {}
        lines = 0
        for numbers, (topics, _, docnos, _, texts, tags) in self._tables(_split_run):
            self.tag = tags[-1]
            for start, end in _stretches(topics):
                name = _topic(topics[start])
                if name != topic:
                    if self.wanted is not None and name not in self.wanted:
                        continue
                    if topic is not None:
                        yield topic, ranking, lines
                        finished.add(topic)
                    topic, ranking, lines = name, {}, 0
                    if topic in finished:
                        yield from self._collected()
                        return
                try:
                    ranking.update(zip(docnos[start:end], _plain_scores(texts[start:end])))
                except ValueError:  # again from the first one, with what there is to say about each
                    ranking.update(zip(docnos[start:end], self._scores(texts[start:end], numbers[start:end])))
                lines += end - start
            self._report(len(finished), numbers)
        if topic is not None:
            yield topic, ranking, lines

    def _tables(self, split: Callable[[bytes, int], Optional[Columns]] = _split) -> Iterator[Table]:
        return _tables(self.source, _RUN, self._release, self._notes, split)

    def _scores(self, texts: Sequence[bytes], numbers: Sequence[int]) -> List[float]:
        return _scores(texts, numbers, self.source.name, self._notes)

    def _collected(self) -> Iterator[Tuple[bytes, Dict[bytes, float], int]]:
        """All topics of a run whose lines are not grouped by topic."""
        self._notes.restart(self.source.name)
        # Docnos are kept as text: as objects of their own they would take three times the memory, scattered over it.
        collected: Dict[bytes, Tuple[bytearray, "array[float]"]] = {}
        for numbers, (topics, _, docnos, _, texts, tags) in self._tables():
            self.tag = tags[-1]
            self._report(0, numbers)
            if self.wanted is not None and not self.wanted >= set(topics):
                kept = [topic in self.wanted for topic in topics]
                numbers = list(itertools.compress(numbers, kept))
                topics, docnos, texts = (list(itertools.compress(column, kept)) for column in (topics, docnos, texts))
            for topic, docno, score in zip(topics, docnos, self._scores(texts, numbers)):
                try:
                    of_topic = collected[topic]
                except KeyError:
                    of_topic = collected[topic] = bytearray(), array("d")
                names, scores = of_topic
                names += docno
                names += b" "
                scores.append(score)
        for done, topic in enumerate(list(collected)):
            self._report(done, numbers)
            names, scores = collected.pop(topic)
            yield topic, dict(zip(bytes(names).split(), scores)), len(scores)

    def whole(self) -> Tuple[Dict[bytes, Dict[bytes, float]], Set[bytes]]:
        """All of the run at once, and the topics that have a document twice."""
        rankings, duplicated = {}, set()
        for topic, ranking, lines in self:
            if len(ranking) != lines:
                duplicated.add(topic)
            rankings[topic] = ranking
        return rankings, duplicated

    def _report(self, topics: int, numbers: Sequence[int]) -> None:
        if self._progress and numbers:
            self._progress.show(topics, numbers[-1], self.source.fraction)


def _duplicate(source: Source, layout: Layout, release: Release, topic: bytes,
               key: Sequence[int] = (2,)) -> TrecEvalError:
    """The error for the first document that a topic has twice; `key` are the fields that must differ."""
    first: Dict[Tuple[bytes, ...], int] = {}
    for numbers, columns in _tables(source, layout, release, Notes()):
        for number, row in zip(numbers, zip(*columns)):
            if row[0] != topic:
                continue
            document = tuple(row[field] for field in key)
            if document in first:
                group = ", group %s" % _quoted(row[1]) if 1 in key else ""
                return TrecEvalError(
                    "%s:%d: expected each document of a %s once, found %s of topic %s%s again, first on line %d"
                    % (source.name, number, "group" if group else "topic", _quoted(row[2]), _quoted(topic), group,
                       first[document]), status=4)
            first[document] = number
    raise AssertionError("no duplicate of topic %r in %s" % (topic, source.name))


class Progress:
    """How far the reading of a run has come, for a terminal, once it takes longer than two seconds."""

    def __init__(self, terminal: IO[str]):
        self._terminal = terminal
        self._shown = ""
        self._next = time.monotonic() + 2

    def show(self, topics: int, lines: int, fraction: float) -> None:
        """Topics done, lines read, and the fraction of the file, 0 if its size is not known."""
        if time.monotonic() >= self._next:
            part = ", %d%%" % (100 * fraction) if fraction else ""
            self._print("%s, %s read%s" % (_plural(topics, "topic"), _plural(lines, "line"), part))
            self._next = time.monotonic() + 0.2

    def erase(self) -> None:
        if self._shown:
            self._print("")
            self._print("")

    def _print(self, text: str) -> None:
        self._terminal.write("\r" + text.ljust(len(self._shown)))
        self._terminal.flush()
        self._shown = text


def read_qrels(source: Any, *, release: str = "10.0") -> Dict[str, Dict[str, int]]:
    """Read judgments, lines of `topic iter docno grade`, into {topic: {docno: grade}}.

    `source` is a path ("-" is standard input), an open file, or an iterable of
    lines, and may be gzip, bzip2 or xz compressed.  Only release 10.0 has
    comment lines (#).  Raises TrecEvalError; warns with TrecEvalWarning.

    >>> read_qrels(["301 0 FT911-1 1", "301 0 FT911-2 0", "302 0 FT911-2 2"])
    {'301': {'FT911-1': 1, 'FT911-2': 0}, '302': {'FT911-2': 2}}
    """
    source, rules, notes = Source.of(source, "qrels"), _release(release), Notes()
    qrels = _read_qrels(source, rules, notes)
    for topic in qrels.duplicated:
        raise _duplicate(source, _QRELS, rules, topic)
    notes.warn()
    return {_decode(topic): {_decode(docno): grade for docno, grade in judgments.items()}
            for topic, judgments in qrels.topics.items()}


def read_run(source: Any, *, release: str = "10.0") -> Dict[str, Dict[str, float]]:
    """Read a run, lines of `topic Q0 docno rank score tag`, into {topic: {docno: score}}.

    `source` as for `read_qrels`; what follows the tag is ignored, and so are Q0
    and rank: the scores alone decide the ranking.

    >>> read_run(["301 Q0 FT911-1 1 2.5 bm25", "301 Q0 FT911-2 2 1e-3 bm25"])
    {'301': {'FT911-1': 2.5, 'FT911-2': 0.001}}
    """
    source, rules, notes = Source.of(source, "run"), _release(release), Notes()
    rankings, duplicated = RunReader(source, None, rules, notes).whole()
    for topic in duplicated:
        raise _duplicate(source, _RUN, rules, topic)
    notes.warn()
    return {_decode(topic): {_decode(docno): score for docno, score in ranking.items()}
            for topic, ranking in rankings.items()}


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


Preferences = Mapping[Any, Mapping[Any, Sequence[Tuple[Any, float]]]]  # {group: {subgroup: [(docno, level)]}}


def _read_qrels_jg(source: Source, release: Release, notes: Notes) -> Judgments:
    topics: Dict[bytes, Dict[bytes, Dict[bytes, int]]] = {}
    duplicated = set()
    for numbers, (names, groups, docnos, texts) in _tables(source, _QRELS_JG, release, notes):
        grades = _grades(texts, numbers, source.name, notes)
        for topic, group, docno, grade in zip(names, groups, docnos, grades):
            judgments = topics.setdefault(topic, {}).setdefault(group, {})
            if docno in judgments:
                duplicated.add(topic)
            judgments[docno] = grade
    return Judgments(topics, duplicated)


def _duplicate_in_group(source: Source, release: Release, topic: bytes) -> TrecEvalError:
    return _duplicate(source, _QRELS_JG, release, topic, (1, 2))


def _read_prefs(source: Source, release: Release, notes: Notes) -> Judgments:
    topics: Dict[bytes, Dict[bytes, Dict[bytes, List[Tuple[bytes, float]]]]] = {}
    for numbers, (names, groups, subgroups, docnos, texts) in _tables(source, _PREFS, release, notes):
        levels = _scores(texts, numbers, source.name, notes, "level")
        for topic, group, subgroup, docno, level in zip(names, groups, subgroups, docnos, levels):
            members = topics.setdefault(topic, {}).setdefault(group, {}).setdefault(subgroup, [])
            members.append((docno, level))
    return Judgments(topics, {
        topic for topic, by_group in topics.items() for by_subgroup in by_group.values()
        if _conflict(itertools.chain.from_iterable(by_subgroup.values()), len(by_subgroup) > 1, release)})


def _conflict(members: Iterable[Tuple[Any, ...]], several: bool,
              release: Release) -> Optional[Tuple[Tuple[Any, ...], Tuple[Any, ...]]]:
    """The first (docno, level, ...) of a judgment group that an earlier one excludes, after that one.

    In a group of one subgroup a document has one level.  If there are several
    subgroups it may have several levels, which make it either relevant or not.
    """
    first: Dict[Any, Tuple[Any, ...]] = {}
    for member in members:
        if member[0] not in first:
            first[member[0]] = member
            continue
        before = first[member[0]]
        relevant = [level > 0 for level in release.keep_scores((before[1], member[1]))]
        if not several or relevant[0] != relevant[1]:
            return before, member
    return None


def _expected_levels(before: Tuple[Any, ...], again: Tuple[Any, ...], several: bool) -> str:
    """What is wrong with the two that `_conflict` found."""
    if several:
        return ("expected either level 0 or levels above 0 for a document of a group, found %g and %g for %s"
                % (before[1], again[1], _quoted(again[0])))
    return "expected each document of a group that has one subgroup once, found %s again" % _quoted(again[0])


def _conflicting_levels(source: Source, release: Release, topic: bytes) -> TrecEvalError:
    """The error for the first line of a topic that an earlier one excludes."""
    members: Dict[bytes, List[Tuple[bytes, float, int]]] = {}
    subgroups: Dict[bytes, Set[bytes]] = {}
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
            errors.append((again[2], "%s, topic %s, group %s, first on line %d" % (
                _expected_levels(before, again, several), _quoted(topic), _quoted(group), before[2])))
    return TrecEvalError("%s:%d: %s" % (source.name, *min(errors)), status=4)


def read_qrels_jg(source: Any, *, release: str = "10.0") -> Dict[str, Dict[str, Dict[str, int]]]:
    """Read judgments by several people, lines of `topic group docno grade`.

    The result is {topic: {group: {docno: grade}}}, which `evaluate` takes with
    rel_format qrels_jg and also, read as preferences, with qrels_prefs.
    `source` as for `read_qrels`.

    >>> read_qrels_jg(["301 ann FT911-1 1", "301 bob FT911-1 0", "301 bob FT911-2 1"])
    {'301': {'ann': {'FT911-1': 1}, 'bob': {'FT911-1': 0, 'FT911-2': 1}}}
    """
    source, rules, notes = Source.of(source, "qrels"), _release(release), Notes()
    qrels = _read_qrels_jg(source, rules, notes)
    for topic in qrels.duplicated:
        raise _duplicate_in_group(source, rules, topic)
    notes.warn()
    return {_decode(topic): {_decode(group): {_decode(docno): grade for docno, grade in judgments.items()}
                             for group, judgments in groups.items()}
            for topic, groups in qrels.topics.items()}


def read_prefs(source: Any, *, release: str = "10.0") -> Dict[str, Preferences]:
    """Read preferences, lines of `topic group subgroup docno level`.

    The result is {topic: {group: {subgroup: [(docno, level), ...]}}}.  Within a
    subgroup, a document is preferred to every one of a lower level;
    `PreferenceGroup` explains the rest.  `source` as for `read_qrels`.

    >>> read_prefs(["301 ann s1 FT911-1 2", "301 ann s1 FT911-2 0.5"])
    {'301': {'ann': {'s1': [('FT911-1', 2.0), ('FT911-2', 0.5)]}}}
    """
    source, rules, notes = Source.of(source, "prefs"), _release(release), Notes()
    prefs = _read_prefs(source, rules, notes)
    for topic in prefs.duplicated:
        raise _conflicting_levels(source, rules, topic)
    notes.warn()
    return {_decode(topic): {
        _decode(group): {_decode(subgroup): [(_decode(docno), level) for docno, level in members]
                         for subgroup, members in subgroups.items()}
        for group, subgroups in groups.items()} for topic, groups in prefs.topics.items()}


def _items(topics: Any, argument: str, keys: str = "topics") -> Iterable[Tuple[str, Any]]:
    if not isinstance(topics, Mapping):
        raise TypeError("expected a dict of dicts as %s, found %s" % (argument, type(topics).__name__))
    if not _are_strings(topics):
        raise TypeError("expected strings as %s, found %r" % (keys, next(
            topic for topic in topics if not isinstance(topic, str))))
    return topics.items()


def _are_strings(names: Iterable[Any]) -> bool:
    try:
        "".join(names)  # looks at each of them faster than a loop could
    except TypeError:
        return False
    return True


def _check_grade(value: Any) -> None:
    """Raise TypeError or OverflowError for a grade that is not an integer of 64 bits."""
    array("q", [operator.index(value)])


def _check_score(value: Any) -> None:
    """Raise TypeError or ValueError for a score by which nothing can be ranked."""
    if math.isnan(array("d", [value])[0]):  # array wants a number, where float() would read a text
        raise ValueError


def _problem(topic: Any, documents: Any, content: str, expected: str,
             check: Callable[[Any], Any]) -> Exception:
    """The error for the first of a topic's documents that cannot be used.

    A value of a wrong type is a TypeError, a number that is of no use a TrecEvalError.
    """
    if not isinstance(topic, str):
        return TypeError("expected strings as topics, found %r" % (topic,))
    place = "topic %s" % _quoted(topic) if topic else "the topic"
    if not isinstance(documents, Mapping):
        return TypeError("%s: expected a dict {docno: %s}, found %s"
                         % (place, content, type(documents).__name__))
    for docno, value in documents.items():
        if not isinstance(docno, str):
            return TypeError("%s: expected strings as docnos, found %r" % (place, docno))
        message = ("%s, document %s: expected %s as %s, found %r"
                   % (place, _quoted(docno), expected, content, value))
        try:
            check(value)
        except TypeError:
            return TypeError(message)
        except (OverflowError, ValueError):
            return TrecEvalError(message)
    raise AssertionError("nothing wrong with topic %r" % topic)


def _checked_grades(topic: Any, judgments: Any) -> Mapping[str, int]:
    """A topic's judgments as integers by docno, if they can be taken for that."""
    try:
        if not (_are_strings([topic]) and isinstance(judgments, Mapping) and _are_strings(judgments)):
            raise TypeError
        if not {int}.issuperset(map(type, judgments.values())):
            judgments = {docno: int(operator.index(grade)) for docno, grade in judgments.items()}
        array("q", judgments.values())  # refuses what has more bits
    except (TypeError, OverflowError):
        raise _problem(topic, judgments, "grade", "an integer of 64 bits", _check_grade) from None
    return cast(Mapping[str, int], judgments)


def _checked_members(topic: str, group: str, judgments: Any, rel_format: str) -> Any:
    """What one judgment group says of a topic: grades by docno, or the subgroups of preferences."""
    if rel_format != "prefs":
        return _checked_grades(topic, judgments)
    place = "group %s" % _quoted(group) if not topic else "topic %s, group %s" % (_quoted(topic), _quoted(group))
    checked = {}
    for subgroup, pairs in _items(judgments, "subgroups of " + place, "subgroups"):
        try:
            members = [(docno, level) for docno, level in pairs]
            if not _are_strings([docno for docno, _ in members]):
                raise TypeError
            levels = array("d", [level for _, level in members])
        except (TypeError, ValueError, OverflowError):
            raise TypeError("%s, subgroup %s: expected pairs (docno, level), found %.80r"
                            % (place, _quoted(subgroup), pairs)) from None
        if any(map(math.isnan, levels)):
            raise TrecEvalError("%s, subgroup %s: expected numbers as levels, found NaN" % (place, _quoted(subgroup)))
        checked[subgroup] = [(docno, level) for (docno, _), level in zip(members, levels)]
    return checked


def _checked_scores(topic: Any, ranking: Any) -> Mapping[str, float]:
    """A topic's ranking as floats by docno, if it can be taken for that."""
    try:
        if not (_are_strings([topic]) and isinstance(ranking, Mapping) and _are_strings(ranking)):
            raise TypeError
        if not {float}.issuperset(map(type, ranking.values())):
            ranking = dict(zip(ranking, array("d", ranking.values())))
        # The sum, faster than a look at each score, mostly rules NaN out.
        if math.isnan(sum(ranking.values())) and any(map(math.isnan, ranking.values())):
            raise ValueError
    except (TypeError, OverflowError, ValueError):
        raise _problem(topic, ranking, "score", "a number", _check_score) from None
    return cast(Mapping[str, float], ranking)


def _checked_norms(zscores: Any) -> Optional[Zscores]:
    """Norms as floats, if there are any and they can be taken for that."""
    if zscores is None:
        return None
    norms: Dict[str, Dict[str, Tuple[float, float]]] = {}
    for topic, of_topic in _items(zscores, "zscores"):
        norms[topic] = {}
        for name, pair in _items(of_topic, "zscores of topic %r" % topic, "measures"):
            try:
                if not isinstance(pair, (tuple, list)):
                    raise TypeError
                mean, deviation = array("d", pair)
            except OverflowError:
                mean = deviation = math.inf
            except (TypeError, ValueError):
                raise TypeError("zscores, topic %r, measure %r: expected a pair (mean, deviation), found %r"
                                % (topic, name, pair)) from None
            if not (_is_norm(mean) and _is_norm(deviation)):
                raise TrecEvalError("zscores, topic %r, measure %r: expected %s as mean and as deviation, "
                                    "found %r" % (topic, name, _NORM, pair))
            norms[topic][name] = mean, deviation
    return norms


# ---- Ranking: scores and judgments to what a measure may look at ----


Function = TypeVar("Function", bound=Callable[..., Any])


def _remembered(function: Function) -> Function:
    """Compute a function of a topic and gains only once for each topic: nine cutoffs need the same sums."""
    @functools.wraps(function)
    def remembering(topic: Any, gains: Mapping[int, float]) -> Any:
        key = function, tuple(gains.items())
        if key not in topic.remembered:
            topic.remembered[key] = function(topic, gains)
        return topic.remembered[key]
    return cast(Function, remembering)


class JudgedRanking:
    """The ranking of one topic as a measure sees it.

    num_ret            N: documents in the ranking
    num_rel            R: relevant documents in the judgments, retrieved or not
    num_nonrel         judged nonrelevant documents in the judgments
    grades             {rank: grade} of the retrieved documents that are in the
                       judgments, by ascending rank; ranks count from 1.  A
                       negative grade means "in the pool, but not judged";
                       documents at all other ranks are unpooled
    grade_counts       {grade: documents of that grade in the judgments}, for
                       grades >= 0
    relevant_ranks     ranks of the relevant documents (grade >= relevance_level)
    nonrelevant_ranks  ranks of the judged nonrelevant ones
    judged_ranks       ranks of both
    relevance_level, collection_size, release: as in Settings
    remembered         what functions that are `_remembered` have computed of it

    Most documents of a real ranking are not judged.  What a measure needs to
    know of them is how many they are, so nothing here grows with them.
    """

    def __init__(self, grades: Mapping[int, int], num_ret: int, grade_counts: Mapping[int, int],
                 settings: Settings = Settings()):
        level = max(settings.relevance_level, 0)  # a negative grade is no judgment
        self.grades = grades
        self.num_ret = num_ret
        self.grade_counts = {grade: count for grade, count in grade_counts.items() if grade >= 0}
        self.num_rel = sum([count for grade, count in self.grade_counts.items() if grade >= level])
        self.num_nonrel = sum(self.grade_counts.values()) - self.num_rel
        self.relevant_ranks = [rank for rank, grade in grades.items() if grade >= level]
        self.nonrelevant_ranks = [rank for rank, grade in grades.items() if 0 <= grade < level]
        self.judged_ranks = [rank for rank, grade in grades.items() if grade >= 0]
        self.relevance_level = settings.relevance_level
        self.collection_size = settings.collection_size
        self.release = settings.release
        self.remembered: Dict[Any, Any] = {}

    @property
    def hits(self) -> int:
        """The relevant documents retrieved (num_rel_ret)."""
        return len(self.relevant_ranks)

    def relevant_to(self, k: int) -> List[int]:
        """The ranks up to k that hold relevant documents."""
        return self.relevant_ranks[:bisect_right(self.relevant_ranks, k)]

    def nonrelevant_above(self, rank: int) -> int:
        """The judged nonrelevant documents above a rank."""
        return bisect_left(self.nonrelevant_ranks, rank)

    def unjudged_to(self, k: int) -> List[int]:
        """The ranks up to k that hold unjudged documents."""
        k = min(k, self.num_ret)
        return _without(_ranks_to(k), self.judged_ranks[:bisect_right(self.judged_ranks, k)])

    @functools.cached_property
    def precisions(self) -> List[float]:
        """P@k at the rank k of each relevant document."""
        return [hits / rank for hits, rank in enumerate(self.relevant_ranks, start=1)]

    @functools.cached_property
    def peaks(self) -> List[int]:
        """For each relevant document the rank, its own or a later one, at which P@k is largest."""
        best, peaks = 0.0, []
        for rank, precision in zip(reversed(self.relevant_ranks), reversed(self.precisions)):
            if precision >= best:
                best, peak = precision, rank
            peaks.append(peak)
        return peaks[::-1]

    def count_at_recall(self, level: float) -> int:
        """The number of relevant documents that makes up a recall level, as the release rounds it."""
        return self.release.count_at_recall(level * self.num_rel)

    @_remembered
    def gained(self, gains: "Gains") -> Tuple[List[int], List[float]]:
        """Ranks and gains of the retrieved documents whose gain is not zero."""
        gain_of = {grade: float(gains.get(grade, grade)) for grade in self.grade_counts}
        ranks = [rank for rank, grade in self.grades.items() if gain_of.get(grade)]
        return ranks, [gain_of[self.grades[rank]] for rank in ranks]

    @_remembered
    def ideal_gains(self, gains: "Gains") -> List[float]:
        """The positive gains of all judged documents, retrieved or not, largest first."""
        ideal: List[float] = []
        for gain, count in sorted([(gains.get(grade, grade), count) for grade, count in self.grade_counts.items()],
                                  reverse=True):
            if gain > 0:
                ideal += [float(gain)] * count
        return ideal


@functools.lru_cache(maxsize=8)  # as for the persistences: the topics of a run ask for the same few lists
def _ranks_to(k: int) -> Sequence[int]:
    return tuple(range(1, k + 1))


def _without(of_ranks: Iterable[Any], ranks: Sequence[int]) -> List[Any]:
    """What there is for each rank from 1 on, without some ranks (ascending)."""
    rest = list(of_ranks)
    for rank in reversed(ranks):
        del rest[rank - 1]
    return rest


Gains = Mapping[int, float]  # {grade: gain}; a grade without an entry is its own gain

_UNPOOLED = b"\n"  # the docno of nothing: no file and no judgment can name it


def _rank(docnos: Iterable[Any], scores: Mapping[Any, float], release: Release,
          ties_ascending: bool = False) -> List[Tuple[int, Any]]:
    """(rank, docno) of those of the docnos that are retrieved, by rank.

    A document's rank is one more than the number of documents that precede it:
    those of a higher score and, among equal scores, those of a greater docno
    in byte order (of a smaller one with `ties_ascending`).  So only the scores
    are sorted, and other docnos are looked at only if they are tied with these.
    """
    ordered = sorted(release.keep_scores(scores.values()))
    retrieved = [docno for docno in docnos if docno in scores]
    values = list(release.keep_scores([scores[docno] for docno in retrieved]))
    size = len(ordered)
    ranks = [size + 1 - bisect_right(ordered, value) for value in values]
    # In ascending order the last score that is not above a document's own is at size - rank; it is tied if the
    # one before is the same.
    tied: Dict[float, List[Any]] = {
        value: [] for rank, value in zip(ranks, values) if rank < size and ordered[size - rank - 1] == value}
    if tied:
        for docno, value in zip(scores, release.keep_scores(scores.values())):
            if value in tied:
                tied[value].append(docno)
        for group in tied.values():
            group.sort(key=_encode, reverse=not ties_ascending)
        places = {docno: place for group in tied.values() for place, docno in enumerate(group)}
        ranks = [rank + places.get(docno, 0) for rank, docno in zip(ranks, retrieved)]
    return sorted(zip(ranks, retrieved))


def _place(docnos: Iterable[Any], judgments: Mapping[Any, int], scores: Mapping[Any, float],
           settings: Settings) -> Tuple[List[Tuple[int, Any]], int]:
    """(rank, docno) of those of the docnos that are in the ranking, and its length, after -M and -J."""
    ranked, num_ret = _rank(docnos, scores, settings.release), len(scores)
    if settings.depth is not None and settings.depth < num_ret:
        num_ret = settings.depth
        ranked = [(rank, docno) for rank, docno in ranked if rank <= num_ret]
    if settings.judged_only:
        judged = [docno for _, docno in ranked if judgments.get(docno, -1) >= 0]
        ranked = list(enumerate(judged, start=1))
        num_ret = len(ranked)
    return ranked, num_ret


def _judged_ranking(judgments: Mapping[Any, int], scores: Mapping[Any, float], settings: Settings) -> JudgedRanking:
    ranked, num_ret = _place(judgments, judgments, scores, settings)
    grades = {rank: judgments[docno] for rank, docno in ranked}
    return JudgedRanking(grades, num_ret, Counter(judgments.values()), settings)


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
    return _judged_ranking(_checked_grades("", judgments), _checked_scores("", scores), _checked_settings(
        release, relevance_level, judged_only=judged_only, depth=depth, collection_size=collection_size))


def example_ranking(ranks: str, unretrieved: str = "", **settings: Any) -> JudgedRanking:
    """The JudgedRanking of a small example: a character a rank, and the grades not retrieved.

    A digit is a grade, "-" an unpooled document, "." a pooled but unjudged one,
    as `relstring` prints them.  `settings` are those of Settings.

    >>> topic = example_ranking("10-2", unretrieved="1")
    >>> topic.num_ret, topic.num_rel, topic.relevant_ranks
    (4, 3, [1, 4])
    """
    grades = {rank: -1 if character == "." else int(character)
              for rank, character in enumerate(ranks, start=1) if character != "-"}
    counts = Counter(grades.values()) + Counter(map(int, unretrieved))
    return JudgedRanking(grades, len(ranks), counts, Settings(**settings))


# ---- Ranking, by the judgments of several people and by preferences ----


GroupRankings = Mapping[str, JudgedRanking]  # one ranking as each judgment group sees it, by the group's name


def _group_rankings(groups: Mapping[Any, Mapping[Any, int]], scores: Mapping[Any, float],
                    settings: Settings) -> GroupRankings:
    return {_decode(group): _judged_ranking(groups[group], scores, settings)
            for group in sorted(groups, key=_encode)}


def _group_views(groups: Mapping[Any, Mapping[Any, int]],
                 rankings: GroupRankings) -> List[Tuple[str, JudgedRanking, Mapping[Any, float]]]:
    return [("group " + name, ranking, groups[group])
            for group, (name, ranking) in zip(sorted(groups, key=_encode), rankings.items())]


# A set of documents is an integer from here on: bit p stands for the document at position p.


def _size(documents: int) -> int:
    """The number of documents in a set."""
    return bin(documents).count("1")  # int.bit_count came with Python 3.10


def _first(count: int, documents: int) -> int:
    """The first documents of a set, as many as there are up to a count."""
    others = documents
    for _ in range(count):
        others &= others - 1  # clears the lowest bit
    return documents ^ others


def _among(documents: int, rows: Sequence[int]) -> List[int]:
    """Of preferences, those between documents of a set."""
    return [row & documents if documents >> position & 1 else 0 for position, row in enumerate(rows)]


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
        return self.ful_ret + self.ful_imp

    @property
    def possible(self) -> int:
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
    not at all.  In the latter case the preference is called implied: nobody
    ranked b, but who finds a and not b is taken to prefer a.

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

    def balanced(self, documents: int) -> Tuple[int, int]:
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
            rows = [row & ~last | kept if (relevant | nonrelevant) >> position & 1 else 0
                    for position, row in enumerate(rows)]
        else:
            rows = _among(relevant | _first(_size(self.relevant), nonrelevant), rows)
        return self.fulfilled(rows), _number_of(rows)


Pairs = List[Tuple[str, float]]  # "a before b", and what fraction of the preferences on the two this fulfils


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
    def pairs(self) -> Tuple[Pairs, Pairs, Pairs]:
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
        # In binary digits, lowest first, a row is how its group votes on each of the documents.
        votes = [zip(*[format(group.rows[i], "0%db" % size)[::-1] for group in self.groups.values()])
                 for i in range(size)]
        preferring = [[vote.count("1") for vote in row] for row in votes]  # [i][j]: groups that prefer i to j
        for i, (wins, losses) in enumerate(zip(preferring, zip(*preferring))):
            for j in range(i + 1, size):
                if wins[j] or losses[j]:
                    label = self.docnos[i] + " before " + self.docnos[j]
                    if i < self.num_ret:
                        pairs = both if j < self.num_ret else one
                        pairs.append((label, wins[j] / (wins[j] + losses[j])))
                    else:
                        none.append((label, 0.0))
        return both, one, none


def _closed(rows: List[int]) -> List[int]:
    """The transitive closure of preferences: Warshall's algorithm, whole rows at a time."""
    for position in range(len(rows)):
        document, beyond = 1 << position, rows[position]
        if beyond:
            rows = [row | beyond if row & document else row for row in rows]
    return rows


def _preference_group(subgroups: Mapping[Any, Sequence[Tuple[Any, float]]], positions: Mapping[Any, int],
                      num_ret: int, release: Release) -> PreferenceGroup:
    rows = [0] * len(positions)
    relevant = nonrelevant = 0
    classes: List[int] = []
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


def _contradiction(rows: Sequence[int], docnos: Sequence[Any]) -> Optional[Tuple[Any, Any]]:
    """The first two documents, by docno, that closed preferences prefer to each other, if there are any."""
    in_cycle = [position for position, row in enumerate(rows) if row >> position & 1]
    if not in_cycle:
        return None
    a = min(in_cycle, key=lambda position: _encode(docnos[position]))
    b = min([b for b in in_cycle if b != a and rows[a] >> b & rows[b] >> a & 1],
            key=lambda position: _encode(docnos[position]))
    return docnos[a], docnos[b]


def _place_for_preferences(docnos: Iterable[Any], preferences: Any, scores: Mapping[Any, float],
                           settings: Settings) -> Tuple[List[Tuple[int, Any]], int]:
    """As `_place`: with preferences, ties are the other way round and -J does nothing."""
    num_ret = len(scores) if settings.depth is None else min(settings.depth, len(scores))
    ranked = _rank(docnos, scores, settings.release, ties_ascending=True)
    return [(rank, docno) for rank, docno in ranked if rank <= num_ret], num_ret


def _preference_views(preferences: Any,
                      ranking: PreferenceRanking) -> List[Tuple[str, PreferenceRanking, Mapping[Any, float]]]:
    return [("", ranking, {})]


def _preference_ranking(groups: Preferences, scores: Mapping[Any, float],
                        settings: Settings) -> PreferenceRanking:
    named: Set[Any] = set()
    for group in sorted(groups, key=_encode):
        members = [member for subgroup in groups[group].values() for member in subgroup]
        several = len(groups[group]) > 1
        conflict = _conflict(members, several, settings.release)
        if conflict:
            raise TrecEvalError("group %s: %s" % (_quoted(group), _expected_levels(*conflict, several)))
        named.update(docno for docno, _ in members)
    docnos = [docno for _, docno in _place_for_preferences(named, groups, scores, settings)[0]]
    num_ret = len(docnos)
    docnos += sorted(named.difference(docnos), key=_encode)
    positions = {docno: position for position, docno in enumerate(docnos)}
    by_name = {}
    for group in sorted(groups, key=_encode):
        preferences = _preference_group(groups[group], positions, num_ret, settings.release)
        contradiction = _contradiction(preferences.rows, docnos)
        if contradiction:
            a, b = map(_quoted, contradiction)
            raise TrecEvalError("group %s: expected preferences that do not contradict each other, found "
                                "%s preferred to %s, and %s to %s" % (_quoted(group), a, b, b, a))
        by_name[_decode(group)] = preferences
    return PreferenceRanking([_decode(docno) for docno in docnos], num_ret, by_name)


def _graded_preference_ranking(groups: Mapping[Any, Mapping[Any, int]], scores: Mapping[Any, float],
                               settings: Settings) -> PreferenceRanking:
    """Take the grades of each judgment group for the levels of its one subgroup."""
    return _preference_ranking({group: {"": list(grades.items())} for group, grades in groups.items()},
                               scores, settings)


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
    groups = {group: _checked_members("", group, members, "prefs")
              for group, members in _items(preferences, "preferences", "groups")}
    return _preference_ranking(groups, _checked_scores("", scores), _checked_settings(release, depth=depth))


def example_preferences(ranking: str, *groups: str) -> PreferenceRanking:
    """The PreferenceRanking of a small example: a character for each retrieved document, and the groups.

    "a2 b1 | b1 c0" is a group of two subgroups, each with two documents and
    their levels.  The groups are named g1, g2 and so on.

    >>> topic = example_preferences("ca", "a2 b1 | b1 c0")
    >>> topic.docnos, topic.num_ret
    (['c', 'a', 'b'], 2)
    """
    preferences = {"g%d" % number: {subgroup: [(member[0], float(member[1:])) for member in subgroup.split()]
                                    for subgroup in group.split("|")}
                   for number, group in enumerate(groups, start=1)}
    return judge_prefs(preferences, {docno: -float(rank) for rank, docno in enumerate(ranking)})


# ---- Measures: how one is declared, and how its values combine ----


_NEW_FLOAT: Callable[..., "Value"] = float.__new__  # behind Value(...), which itself takes twice as long


class Value(float):
    """A measure's value for one topic, which remembers how it came about.

    ranks, terms  what was added up: `terms[i]` is what the document at
                  `ranks[i]` contributes (or what a label, such as a recall
                  level, does, where a measure is no sum over ranks)
    working       how the sum of the terms became the value: an arithmetic
                  expression with {} for its numbers, and those numbers, which
                  may themselves be Values

    Dividing a Value by 0 gives 0, as in trec_eval; float(value) divides as floats do.

    >>> value = average_precision(example_ranking("1010010010", unretrieved="1"))
    >>> value
    0.5222222222222221
    >>> list(zip(value.ranks, value.terms))
    [(1, 1.0), (3, 0.6666666666666666), (6, 0.5), (9, 0.4444444444444444)]
    >>> value.working
    ('{} / {}', 2.6111111111111107, 5)
    """

    __slots__ = ("ranks", "terms", "working")
    ranks: Sequence[Union[int, str]]
    terms: Sequence[float]
    working: Tuple[Any, ...]

    def __new__(cls, value: float, ranks: Sequence[Union[int, str]] = (), terms: Sequence[float] = (),
                working: Tuple[Any, ...] = ()) -> "Value":
        self = _NEW_FLOAT(cls, value)
        self.ranks = ranks
        self.terms = terms
        self.working = working
        return self

    def __truediv__(self, divisor: float) -> "Value":
        """Divide, with trec_eval's rule that a measure without anything to divide by is 0."""
        value = _NEW_FLOAT(Value, float(self) / divisor if divisor else 0.0)
        value.ranks = self.ranks
        value.terms = self.terms
        value.working = "{} / {}", self, divisor
        return value

    def then(self, value: float, expression: str, *numbers: float) -> "Value":
        """The same terms with another value, worked out by an expression of the numbers."""
        return Value(value, self.ranks, self.terms, (expression, *numbers))


def add_up(ranks: Sequence[Union[int, str]], terms: Sequence[float]) -> Value:
    """The sum of the terms, from left to right as trec_eval adds.

    Python's sum() compensates rounding errors from 3.12 on and would differ in
    the last digits.
    """
    value = _NEW_FLOAT(Value, deque(itertools.accumulate(terms, initial=0.0), 1)[0])
    value.ranks = ranks
    value.terms = terms
    value.working = ()
    return value


def count(ranks: Sequence[int]) -> Value:
    """The number of the ranks, each of which contributes one."""
    return Value(len(ranks), ranks, (1.0,) * len(ranks))


def share(ranks: Sequence[int], divisor: float) -> Value:
    """The number of the ranks, each of which contributes one, divided: count(ranks) / divisor, 0 if that is 0.

    Most values that trec_eval prints are of this kind, and this is faster.
    """
    value = _NEW_FLOAT(Value, len(ranks) / divisor if divisor else 0.0)
    value.ranks = ranks
    value.terms = (1.0,) * len(ranks)
    value.working = "{} / {}", len(ranks), divisor
    return value


Arguments = Tuple[Any, ...]
Variants = List[Tuple[str, Arguments]]  # suffix of the printed name, arguments of the function


class Parameters(NamedTuple):
    """What may follow a measure's name after a dot, and what it means.

    syntax    for help and error messages
    defaults  the variants if no parameters are given
    read      gives the variants that a text asks for, and appends to a list
              what it ignores of it; raises ValueError
    sort      whether the variants are printed by ascending argument
    """

    syntax: str
    defaults: Variants
    read: Callable[[str, List[str]], Variants]
    sort: bool = False


def no_parameters() -> Parameters:
    """One value, whatever is given."""
    def variants(text: str, ignored: List[str]) -> Variants:
        ignored.append(text)
        return [("", ())]
    return Parameters("none", [("", ())], variants)


def _cutoff(text: str) -> int:
    cutoff, _ = _integer(_encode(text))
    if cutoff <= 0:
        raise ValueError
    return cutoff


def _number(text: str) -> float:
    """A decimal parameter.  Its size is bounded so that no measure can overflow to infinity or NaN."""
    number, plain = _decimal(_encode(text))
    if not (plain or re.match(r"[+-]?\.?[0-9]", text)) or not abs(number) <= 1e100:
        raise ValueError
    return number


def _level(text: str) -> float:
    level = _number(text)
    if level < 0:
        raise ValueError
    return level


def _distinct(read: Callable[[str], Any], text: str) -> List[Any]:
    """A comma-separated list of distinct values, sorted."""
    values = sorted(map(read, text.split(",")))
    if len(set(values)) != len(values):
        raise ValueError
    return values


def cutoffs(*defaults: int) -> Parameters:
    """One value a cutoff, named `name_k`."""
    def variants(values: Iterable[int]) -> Variants:
        return [("_%d" % k, (k,)) for k in values]
    return Parameters("cutoffs: distinct integers above 0, such as 5,10", variants(defaults),
                      lambda text, ignored: variants(_distinct(_cutoff, text)), sort=True)


def levels(*defaults: float) -> Parameters:
    """One value a level, named `name_0.10`."""
    def variants(values: Iterable[float]) -> Variants:
        return [("_%.2f" % level, (level,)) for level in values]
    return Parameters("levels: distinct decimals from 0, such as 0.1,0.25", variants(defaults),
                      lambda text, ignored: variants(_distinct(_level, text)), sort=True)


def all_levels(*defaults: float) -> Parameters:
    """One value over all levels, named by the text of the levels."""
    return Parameters("levels: distinct decimals from 0, such as 0.1,0.25", [("", (defaults,))],
                      lambda text, ignored: [("_" + text, (tuple(_distinct(_level, text)),))])


def coefficients(*defaults: float, exactly: bool = False, read: Callable[[str], float] = _number) -> Parameters:
    """As many coefficients as there are defaults; unless `exactly` so many, surplus ones are ignored."""
    def variants(text: str, ignored: List[str]) -> Variants:
        values = text.split(",")
        if len(values) < len(defaults) or exactly and len(values) > len(defaults):
            raise ValueError
        ignored += values[len(defaults):]
        return [("_" + text, tuple(map(read, values[:len(defaults)])))]
    kinds: Dict[Callable[[str], float], str] = {
        _number: "a decimal", _level: "a decimal from 0", _cutoff: "an integer above 0"}
    syntax = "%s, such as %s" % (", ".join([kinds[read]] * len(defaults)), ",".join("%g" % x for x in defaults))
    return Parameters(syntax, [("", defaults)], variants)


def _gains(text: str, named: Mapping[str, float], ignored: List[str]) -> Tuple[Dict[str, float], Gains]:
    """Read `x=y,...` into the named parameters and the gains by grade; any other x is ignored."""
    values = dict(named)
    by_grade: Dict[int, float] = {}
    seen = set()
    for assignment in text.split(","):
        x, equals, y = assignment.partition("=")
        if not equals or x in seen:
            raise ValueError
        seen.add(x)
        number = _number(y)
        if x in values:
            values[x] = number
        elif _INTEGER.fullmatch(_encode(x)):
            by_grade[_integer(_encode(x))[0]] = number
        else:
            ignored.append(assignment)
    return values, by_grade


def gains() -> Parameters:
    """Gains by grade, `grade=gain,…`."""
    return Parameters("gains: grade=gain, such as 1=0.5,2=3", [("", ({},))],
                      lambda text, ignored: [("_" + text, (_gains(text, {}, ignored)[1],))])


def persistence(p: float, with_gains: bool) -> Parameters:
    """The persistence of rank-biased precision, `p=0.8`, and gains by grade where the measure has them."""
    def variants(text: str, ignored: List[str]) -> Variants:
        named, by_grade = _gains(text, {"p": p}, ignored)
        if not 0 <= named["p"] <= 1:
            raise ValueError
        if not with_gains:
            ignored += ["%d=%g" % gain for gain in by_grade.items()]
        return [("_" + text, (named["p"], by_grade) if with_gains else (named["p"],))]
    return Parameters("persistence from 0 to 1%s, such as p=0.8%s" % (
        (" and gains", ",1=0.5,2=1") if with_gains else ("", "")), [("", (p, {}) if with_gains else (p,))], variants)


class Averaging(NamedTuple):
    """What a summary may need besides the values of the evaluated topics.

    topics       the number of topics to average over (num_q)
    missing      how many of them were not evaluated although they count
    run_tag      the run's tag
    num_rel      with -c, the documents of grade > 0 in the whole qrels
    """

    topics: int
    missing: int = 0
    run_tag: str = ""
    num_rel: Optional[int] = None


Summary = Callable[[Sequence[float], Averaging], Union[float, str]]

GEOMETRIC_FLOOR = 0.00001  # a topic's value counts as at least this in a geometric mean


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
    return logarithms.then(math.exp(min(logarithm, 709.0)),  # only Z-scores can reach the end of the doubles
                           "exp(({} + {} * log({})) / {})", logarithms, over.missing, GEOMETRIC_FLOOR, over.topics)


def total_relevant(values: Sequence[float], over: Averaging) -> float:
    """The sum over the topics, or with -c the documents of grade > 0 in the whole qrels."""
    return total(values, over) if over.num_rel is None else over.num_rel


def number_of_topics(values: Sequence[float], over: Averaging) -> float:
    """The number of topics averaged over."""
    return over.topics


def run_tag(values: Sequence[float], over: Averaging) -> str:
    """The tag on the run's last line."""
    return over.run_tag


class Measure(NamedTuple):
    """A measure as registered: its function, its parameters, and how it is summarised and printed."""

    name: str
    function: Callable[..., Union[float, str]]
    parameters: Parameters
    summary: Optional[Summary]   # None: per topic only
    summary_only: bool
    is_count: bool               # printed as an integer
    rel_formats: Tuple[str, ...]

    @property
    def is_zscored(self) -> bool:
        """Whether -Z converts the topics' values: not those of runid, num_q and relstring."""
        return self.summary not in (None, run_tag, number_of_topics)


class Column(NamedTuple):
    """One value to compute for each topic: a measure with its arguments, under its printed name."""

    name: str
    measure: Measure
    arguments: Arguments

    @property
    def is_zero_if_missing(self) -> bool:
        """Whether -c sets it to 0 for a topic that the run misses; with parameters the name is another one."""
        return self.name in ("num_ret", "utility", "relstring", "rbp_resid") or self.name.startswith("unj")


MEASURES: Dict[str, Measure] = {}  # by name, in the order in which trec_eval prints them


def measure(name: str, parameters: Parameters = no_parameters(), *, summary: Optional[Summary] = mean,
            summary_only: bool = False, is_count: bool = False,
            rel_formats: Tuple[str, ...] = ("qrels",)) -> Callable[[Function], Function]:
    """Register the decorated function as the measure of that name, to be printed after those registered before.

    summary is None for a text, which only topics have; the rest is as in Measure.
    """
    def register(function: Function) -> Function:
        MEASURES[name] = Measure(name, function, parameters, summary, summary_only, is_count, rel_formats)
        return function
    return register


# ---- Measures on qrels ----


@measure("runid", summary=run_tag, summary_only=True, rel_formats=EVERY_FORMAT)
def run_identifier(topic: Any) -> float:
    """The tag of the run, printed in the summary; a topic contributes nothing.

        runid = the tag on the last line of the run, whatever the others say

    >>> run_identifier(example_ranking("1"))
    0.0
    """
    return 0.0


@measure("num_q", summary=number_of_topics, summary_only=True, is_count=True, rel_formats=EVERY_FORMAT)
def topic_evaluated(topic: Any) -> float:
    """The number of topics averaged over, printed in the summary; each topic is one.

        num_q = topics averaged over

    >>> topic_evaluated(example_ranking("1"))
    1.0

    With -c these are all topics of the qrels, also those that the run misses.
    """
    return 1.0


@measure("num_ret", summary=total, is_count=True)
def retrieved(topic: JudgedRanking) -> float:
    """The documents retrieved.

        num_ret = N

    >>> retrieved(example_ranking("10-1"))
    4

    With -M and -J only the documents that they leave count.
    """
    return topic.num_ret


@measure("num_rel", summary=total_relevant, is_count=True)
def relevant(topic: JudgedRanking) -> float:
    """The relevant documents in the qrels, retrieved or not.

        num_rel = R

    >>> relevant(example_ranking("10-1", unretrieved="1"))
    3

    With -c the summary is counted anew over the whole qrels, and there every
    grade above 0 counts, whatever -l says.
    """
    return topic.num_rel


@measure("num_rel_ret", summary=total, is_count=True)
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

        AP = (1 / R) * sum of P@k over the ranks k of relevant documents

    A relevant document that is not retrieved has precision 0, so the divisor
    is R and not the number of hits (a common mistake, which would give
    0.653 in the example).
    R relevant documents of which none is retrieved, and R = 0, give 0.  AP is
    the expected precision at a relevant document drawn at random.

    >>> topic = example_ranking("1010010010", unretrieved="1")
    >>> round(average_precision(topic), 4)  # (1/1 + 2/3 + 3/6 + 4/9 + 0) / 5
    0.5222
    >>> average_precision(example_ranking("000", unretrieved="1"))
    0.0

    Source: Buckley & Voorhees (2005), Retrieval system evaluation, in TREC:
    Experiment and Evaluation in Information Retrieval; Robertson (2008), A new
    interpretation of average precision, SIGIR, 689-690.
    """
    return add_up(topic.relevant_ranks, topic.precisions) / topic.num_rel


@measure("gm_map", summary=geometric_mean, summary_only=True)
def log_average_precision(topic: JudgedRanking) -> Value:
    """The logarithm of average precision, of which the summary is the geometric mean.

        gm_map = exp of the mean over the topics of ln max(AP, 0.00001)

    The floor keeps a single topic without hits from making the mean 0.

    >>> log_average_precision(example_ranking("1"))
    0.0
    >>> log_average_precision(example_ranking("0", unretrieved="1"))  # ln 0.00001
    -11.512925464970229

    Others add 0.00001 to every AP, or leave out the zeros.  Source: Voorhees
    (2005), The TREC robust retrieval track, SIGIR Forum 39(1), 11-20;
    Robertson (2006), On GMAP: and other transformations, CIKM, 78-83.
    """
    return _floored_log(average_precision(topic))


def _floored_log(value: Value) -> Value:
    return value.then(math.log(max(value, GEOMETRIC_FLOOR)), "log(max({}, {}))", value, GEOMETRIC_FLOOR)


@measure("Rprec")
def r_precision(topic: JudgedRanking) -> Value:
    """R-precision: the precision at rank R, where it equals recall.

        Rprec = hits(R) / R

    0 if R = 0.  The divisor is R even if fewer documents were retrieved.

    >>> r_precision(example_ranking("10100", unretrieved="1"))  # R = 3: ranks 1 to 3 hold two
    0.6666666666666666

    Source: Buckley & Voorhees (2005).
    """
    return share(topic.relevant_to(topic.num_rel), topic.num_rel)


@measure("bpref")
def binary_preference(topic: JudgedRanking) -> Value:
    """bpref: how rarely judged nonrelevant documents precede relevant ones.

        bpref = (1 / R) * sum over retrieved relevant documents of b
        b = 1 - min(n, R) / min(R, NR), and b = 1 if n = 0

    n counts the judged nonrelevant documents above the relevant one, NR all of
    the topic's, retrieved or not.  Unjudged documents play no part, which makes
    the measure sturdy when judgments are incomplete.  0 if R = 0 or if nothing
    relevant is retrieved.

    >>> binary_preference(example_ranking("10-1", unretrieved="0"))  # b = 1 and 1 - 1/2
    0.75
    >>> binary_preference(example_ranking("01", unretrieved="1"))  # b = 1 - 1/1, and one not retrieved
    0.0

    The paper has 1 - n/R; what is printed is the formula above.  Source:
    Buckley & Voorhees (2004), Retrieval evaluation with incomplete information,
    SIGIR, 25-32.
    """
    bound = min(topic.num_rel, topic.num_nonrel)
    preferred = [1 - min(above, topic.num_rel) / bound if above else 1.0
                 for above in map(topic.nonrelevant_above, topic.relevant_ranks)]
    return add_up(topic.relevant_ranks, preferred) / topic.num_rel


@measure("recip_rank")
def reciprocal_rank(topic: JudgedRanking) -> Value:
    """Reciprocal rank of the first relevant document.

        recip_rank = 1 / (rank of the first relevant document)

    0 if none is retrieved.  The mean over the topics is known as MRR.

    >>> reciprocal_rank(example_ranking("0-11"))
    0.3333333333333333

    Source: Voorhees (1999), The TREC-8 question answering track report.
    """
    first = topic.relevant_ranks[:1]
    return add_up(first, [1 / rank for rank in first])


@measure("iprec_at_recall", levels(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
def interpolated_precision(topic: JudgedRanking, level: float) -> Value:
    """Interpolated precision at a recall level: the best precision at that recall or beyond.

        iprec_at_recall(c) = max of P@k over ranks k from the m-th relevant document on

    m is c * R rounded to the nearest integer, halves up, in release 10.0, and
    trunc(c * R + 0.9) in 9.0.8.  0 if fewer than m relevant documents are
    retrieved, or none at all.

    >>> topic = example_ranking("1010010010", unretrieved="1")
    >>> interpolated_precision(topic, 0.3)  # m = round(1.5) = 2, at rank 3
    0.6666666666666666
    >>> interpolated_precision(topic, 1.0)  # m = 5, only 4 are retrieved
    0.0

    Textbooks take the largest precision at any recall >= c.  Rounding to the
    nearest count can take a recall below c: with R = 3, c = 0.4 reads the
    precision at recall 1/3.  Source: Manning, Raghavan & Schuetze (2008),
    Introduction to Information Retrieval, chapter 8.
    """
    return _best_precision_from(topic, topic.count_at_recall(level))


def _best_precision_from(topic: JudgedRanking, m: int) -> Value:
    """The largest P@k over the ranks k from the m-th relevant document on."""
    if m > topic.hits or not topic.hits:
        return Value(0.0)
    peak = topic.peaks[max(m, 1) - 1]
    return share(topic.relevant_to(peak), peak)


@measure("P", cutoffs(5, 10, 15, 20, 30, 100, 200, 500, 1000))
def precision(topic: JudgedRanking, k: int) -> Value:
    """Precision at k: the fraction of the first k documents that are relevant.

        P@k = hits(k) / k

    Ranks past the end of the ranking count as nonrelevant: the divisor is k
    even when fewer documents were retrieved.  Others divide by N then.

    >>> precision(example_ranking("101"), 5)
    0.4

    Source: Manning, Raghavan & Schuetze (2008), chapter 8.
    """
    return share(topic.relevant_to(k), k)


@measure("relstring", coefficients(10, read=_cutoff), summary=None)
def relevance_string(topic: JudgedRanking, length: int) -> str:
    """The grades of the first documents, one character a rank.

    A digit is a grade from 0 to 9, ">" a greater one, "-" an unpooled document
    and "." one in the pool that was not judged.  Printed for topics only, in
    single quotes.

    >>> relevance_string(example_ranking("10.2-"), 4)
    '10.2'

    It is described elsewhere as grades joined by hyphens, 1-0-1; here a
    hyphen is itself a document, an unpooled one.

    Empty if nothing is retrieved.  Source: NIST's trec_eval.
    """
    characters = []
    for rank in range(1, min(length, topic.num_ret) + 1):
        grade = topic.grades.get(rank)
        characters.append("-" if grade is None else "." if grade < 0 else ">" if grade > 9 else str(grade))
    return "".join(characters)


@measure("recall", cutoffs(5, 10, 15, 20, 30, 100, 200, 500, 1000))
def recall(topic: JudgedRanking, k: int) -> Value:
    """Recall at k: the fraction of the relevant documents that is among the first k.

        recall@k = hits(k) / R

    0 if R = 0.

    >>> recall(example_ranking("1010", unretrieved="11"), 3)
    0.5

    Source: Manning, Raghavan & Schuetze (2008), chapter 8.
    """
    return share(topic.relevant_to(k), topic.num_rel)


_INFAP_EPSILON = 0.00001


@measure("infAP")
def inferred_average_precision(topic: JudgedRanking) -> Value:
    """Inferred average precision: AP estimated from a pool of which only a sample was judged.

        infAP = (1 / R) * sum over relevant ranks k of
                1/k + (k-1)/k * (r + n + u)/(k-1) * (r + e)/(r + n + 2e)

    Above rank k are r relevant, n judged nonrelevant and u pooled but unjudged
    documents (grade < 0), and any number of unpooled ones; e = 0.00001.  The
    second summand estimates the precision above k: the part of the documents
    there that is in the pool, times the part of the judged ones that is
    relevant.  At k = 1 only the 1 is left.  0 if R = 0 or if nothing relevant
    is retrieved.

    >>> round(inferred_average_precision(example_ranking("1-1")), 4)  # (1 + (1/3 + 2/3 * 1/2 * 1)) / 2
    0.8333

    Source: Yilmaz & Aslam (2006), Estimating average precision with incomplete
    and imperfect judgments, CIKM, 102-111.
    """
    pooled_ranks = list(topic.grades)
    terms = []
    for r, k in enumerate(topic.relevant_ranks):
        if k == 1:
            terms.append(1.0)
            continue
        n = topic.nonrelevant_above(k)
        pooled_above = bisect_left(pooled_ranks, k)
        terms.append(1 / k + (k - 1) / k * (pooled_above / (k - 1))
                     * ((r + _INFAP_EPSILON) / (r + n + 2 * _INFAP_EPSILON)))
    return add_up(topic.relevant_ranks, terms) / topic.num_rel


@measure("gm_bpref", summary=geometric_mean, summary_only=True)
def log_binary_preference(topic: JudgedRanking) -> Value:
    """The logarithm of bpref, of which the summary is the geometric mean.

        gm_bpref = exp of the mean over the topics of ln max(bpref, 0.00001)

    >>> log_binary_preference(example_ranking("1-1"))
    0.0

    Source: as for gm_map and bpref.
    """
    return _floored_log(binary_preference(topic))


@measure("Rprec_mult", levels(0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0))
def multiple_r_precision(topic: JudgedRanking, multiple: float) -> Value:
    """Precision at a multiple of R.

        Rprec_mult(c) = P@k with k = trunc(c * R + 0.9)

    0 if k = 0.  k may lie beyond the end of the ranking, and divides all the same.

    >>> multiple_r_precision(example_ranking("10100", unretrieved="1"), 1.2)  # k = trunc(4.5)
    0.5

    It is described elsewhere as hits at rank floor(c * R + 0.5), divided by R.
    Source: NIST's trec_eval.
    """
    return precision(topic, _mostly_up(multiple * topic.num_rel))


@measure("utility", coefficients(1, -1, 0, 0, exactly=True))
def utility(topic: JudgedRanking, a: float, b: float, c: float, d: float) -> Value:
    """A linear utility of the retrieved set.

        utility = a * hits + b * (N - hits) + c * (R - hits) + d * (D + hits - N - R)

    The four sets are the relevant and the other documents retrieved, and the
    relevant and the other ones not retrieved.  D is the number of documents in
    the collection (-N), which only d's term uses; it is described elsewhere as
    needed for c, too.  An empty ranking leaves c * R + d * (D - R).

    >>> utility(example_ranking("10-1", unretrieved="1"), 1, -1, 0, 0)  # 2 relevant, 2 others
    0.0
    >>> utility(example_ranking("10-1", unretrieved="1"), 2, -0.5, -1, 0)
    2.0

    Source: NIST's trec_eval, after the TREC filtering track.
    """
    hits = topic.hits
    terms = (a * hits, b * (topic.num_ret - hits), c * (topic.num_rel - hits),
             d * (topic.collection_size + hits - topic.num_ret - topic.num_rel))
    return Value(terms[0] + terms[1] + terms[2] + terms[3],
                 ("relevant, retrieved", "others, retrieved", "relevant, missed", "others, missed"), terms)


@measure("11pt_avg", all_levels(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
def average_interpolated_precision(topic: JudgedRanking, recall_levels: Sequence[float]) -> Value:
    """The mean of the interpolated precisions at eleven recall levels (or at others).

        11pt_avg = mean over the levels c of iprec_at_recall(c)

    >>> average_interpolated_precision(example_ranking("1010010010", unretrieved="1"), (0.0, 0.5, 1.0))
    0.5
    >>> # 1 at recall 0, 3/6 at recall 0.5 (the third of five), 0 at recall 1

    Levels round to counts as in `interpolated_precision`.  Source: Manning,
    Raghavan & Schuetze (2008), chapter 8.
    """
    downwards = recall_levels[::-1]  # the order in which trec_eval adds
    return add_up(["recall %.2f" % level for level in downwards],
                  [interpolated_precision(topic, level) for level in downwards]) / len(recall_levels)


@measure("binG")
def binary_g(topic: JudgedRanking) -> Value:
    """binG: a gain for each relevant document, discounted by the others above it.

        binG = (1 / R) * sum over relevant ranks of 1 / log2(2 + others above)

    Others are all documents that are not relevant, judged or not.  0 if R = 0 or
    if nothing relevant is retrieved.

    >>> binary_g(example_ranking("1001"))  # 1/log2(2) and 1/log2(4)
    0.75

    Source: an experimental measure of C. Buckley in NIST's trec_eval.
    """
    terms = [1 / math.log2(2 + rank - hits) for hits, rank in enumerate(topic.relevant_ranks, start=1)]
    return add_up(topic.relevant_ranks, terms) / topic.num_rel


@measure("G", gains())
def normalised_g(topic: JudgedRanking, gains: Gains) -> Value:
    """G: gains discounted by how much more an ideal ranking would have gained by then.

        G = (sum over ranks k of gain(k) / log2(2 + cost(k) - s(k))) / (sum of all ideal gains)

    s(k) is the sum of the gains up to rank k, and cost(k) that of the ideal
    ranking, which pays at least 1 a rank, also after its end.  With grades 0
    and 1 it is binG.  Grade g has gain g unless a parameter says otherwise.  0
    if no judged document has a positive gain.

    >>> normalised_g(example_ranking("1001"), {})
    0.75
    >>> round(normalised_g(example_ranking("12"), {}), 4)  # (1/log2(2 + 2 - 1) + 2/log2(2 + 3 - 3)) / 3
    0.877

    Source: an experimental measure of C. Buckley in NIST's trec_eval.
    """
    ranks, gained = topic.gained(gains)
    ideal = topic.ideal_gains(gains)
    costs = list(itertools.accumulate([max(gain, 1.0) for gain in ideal], initial=0.0))

    known, cost_there = len(ideal), costs[-1]  # the last rank whose cost is known, and that cost
    terms = []
    for rank, gain, sum_of_gains in zip(ranks, gained, itertools.accumulate(gained)):
        if rank > known:
            known, cost_there = rank, _plus_ones(cost_there, rank - known)
        cost = costs[rank] if rank < len(costs) else cost_there
        # Never below 2 but for rounding, when gains are too large for a double to add them exactly.
        terms.append(gain / math.log2(max(2 + cost - sum_of_gains, 1.5)))
    return add_up(ranks, terms) / add_up((), ideal)


def _plus_ones(value: float, ones: int) -> float:
    """Add 1 so many times."""
    if value.is_integer() and value + ones < 2 ** 53:
        return value + ones
    return functools.reduce(operator.add, itertools.repeat(1.0, ones), value)  # each sum is rounded


def _discounted(ranks: Iterable[int], gained: Iterable[float]) -> List[float]:
    return [gain / math.log2(rank + 1) for rank, gain in zip(ranks, gained)]


@measure("dcg", gains())
@_remembered
def discounted_cumulative_gain(topic: JudgedRanking, gains: Gains) -> Value:
    """Discounted cumulative gain.

        dcg = sum over ranks k of gain(k) / log2(k + 1)

    Grade g has gain g unless a parameter g=gain says otherwise; unjudged
    documents have gain 0.  The relevance level (-l) plays no part.  0 if
    nothing with a gain is retrieved.

    >>> discounted_cumulative_gain(example_ranking("102"), {})  # 1/log2(2) + 2/log2(4)
    2.0

    Others use a gain of 2^g - 1, or do not discount rank 2.  Source: Jaervelin
    & Kekaelaeinen (2002), Cumulated gain-based evaluation of IR techniques, ACM
    TOIS 20(4), 422-446.
    """
    ranks, gained = topic.gained(gains)
    return add_up(ranks, _discounted(ranks, gained))


@measure("ideal_dcg", gains())
@_remembered
def ideal_discounted_cumulative_gain(topic: JudgedRanking, gains: Gains) -> Value:
    """The discounted cumulative gain of the best possible ranking.

        ideal_dcg = dcg of all judged documents of positive gain, by descending gain

    It depends on the judgments alone, not on how many documents were retrieved.  0
    if no judged document has a positive gain.

    >>> round(ideal_discounted_cumulative_gain(example_ranking("1", unretrieved="20"), {}), 4)  # 2 + 1/log2(3)
    2.6309

    Source: Jaervelin & Kekaelaeinen (2002).
    """
    ideal = topic.ideal_gains(gains)
    ranks = range(1, len(ideal) + 1)
    return add_up(ranks, _discounted(ranks, ideal))


@measure("ndcg", gains())
def normalised_dcg(topic: JudgedRanking, gains: Gains) -> Value:
    """Normalised discounted cumulative gain: dcg over that of the ideal ranking.

        ndcg = dcg / ideal_dcg

    0 if no judged document has a positive gain.

    >>> round(normalised_dcg(example_ranking("102"), {}), 4)  # 2 / (2 + 1/log2(3)) = 2 / 2.6309
    0.7602

    Published variants have gains 2^g - 1, cut the ideal ranking at N, or apply
    a relevance level; trec_eval does none of that.  Source: Jaervelin &
    Kekaelaeinen (2002).
    """
    return discounted_cumulative_gain(topic, gains) / ideal_discounted_cumulative_gain(topic, gains)


@measure("ndcg_rel", gains())
def ndcg_at_relevant(topic: JudgedRanking, gains: Gains) -> Value:
    """The mean of ndcg, cut at the rank of each document of positive gain.

        ndcg_rel = (1 / I) * (sum over those ranks k of D(k) / J(k) + (I - v) * D(N) / J(I))

    D(k) and J(k) are dcg and ideal dcg up to rank k, I is the length of the
    ideal ranking, which has nothing beyond it.  Of its I documents v were
    retrieved; the others take the value of the whole ranking.  0 if the sum is
    not positive (gains can be negative).

    >>> round(ndcg_at_relevant(example_ranking("01", unretrieved="1"), {}), 4)
    0.3869
    >>> # J(2) = 1 + 0.6309; rank 2 gives 0.6309 / 1.6309, and so does the missed document

    Source: an experimental measure of C. Buckley in NIST's trec_eval.
    """
    ranks, gained = topic.gained(gains)
    dcg = list(itertools.accumulate(discounted_cumulative_gain(topic, gains).terms))
    ideal_dcg = list(itertools.accumulate(ideal_discounted_cumulative_gain(topic, gains).terms))
    if not ideal_dcg or not dcg:
        return Value(0.0)
    length = len(ideal_dcg)
    positive = [(rank, so_far / ideal_dcg[min(rank, length) - 1])
                for rank, gain, so_far in zip(ranks, gained, dcg) if gain > 0]
    missed = length - len(positive)
    value = add_up(["rank %d" % rank for rank, _ in positive] + ["not retrieved"],
                   [term for _, term in positive] + [missed * dcg[-1] / ideal_dcg[-1]])
    return value / length if value > 0 else Value(0.0)


@measure("Rndcg", gains())
def r_ndcg(topic: JudgedRanking, gains: Gains) -> Value:
    """The mean of ndcg, cut where the ideal ranking changes its gain.

        Rndcg = mean over the block ends b of D(min(b, N)) / J(b)

    The ideal ranking consists of blocks of equal gain; b is the last rank of
    one.  D and J are dcg and ideal dcg up to a rank.  If the ranking goes on
    beyond rank I + 1, I being the length of the ideal ranking, D(N) / J(I) is
    one more term.  0 if R = 0 (here the relevance level matters) or if there is
    no positive gain.

    >>> round(r_ndcg(example_ranking("102"), {}), 4)  # blocks end at 1 and 2: (1/2 + 1/2.6309) / 2
    0.44

    Source: an experimental measure of C. Buckley in NIST's trec_eval.
    """
    ideal = topic.ideal_gains(gains)
    if not topic.num_rel or not ideal:
        return Value(0.0)
    ranks, _ = topic.gained(gains)
    dcg = [0.0, *itertools.accumulate(discounted_cumulative_gain(topic, gains).terms)]
    ideal_dcg = list(itertools.accumulate(ideal_discounted_cumulative_gain(topic, gains).terms))
    ends = [rank for rank in range(1, len(ideal) + 1) if rank == len(ideal) or ideal[rank] != ideal[rank - 1]]
    labels: List[Union[int, str]] = ["ideal rank %d" % end for end in ends]
    terms = [dcg[bisect_right(ranks, end)] / ideal_dcg[end - 1] for end in ends]
    if topic.num_ret > len(ideal) + 1:
        labels.append("whole ranking")
        terms.append(dcg[-1] / ideal_dcg[-1])
    return add_up(labels, terms) / len(terms)


@measure("ndcg_cut", cutoffs(5, 10, 15, 20, 30, 100, 200, 500, 1000))
def ndcg_at(topic: JudgedRanking, k: int) -> Value:
    """Normalised discounted cumulative gain at k.

        ndcg_cut(k) = D(k) / J(k)

    D and J are dcg and ideal dcg up to rank k; the gain of a grade is the grade.
    Ranks past the end of the ranking gain nothing.  0 if no judged document has a
    positive gain.

    >>> round(ndcg_at(example_ranking("102"), 2), 4)  # 1 / (2 + 1/log2(3)) = 1 / 2.6309
    0.3801

    Published variants have gains 2^g - 1 or an ideal ranking of the retrieved
    documents alone.  Source: Jaervelin & Kekaelaeinen (2002).
    """
    dcg, ideal_dcg = discounted_cumulative_gain(topic, {}), ideal_discounted_cumulative_gain(topic, {})
    cut = bisect_right(cast(Sequence[int], dcg.ranks), k)
    return add_up(dcg.ranks[:cut], dcg.terms[:cut]) / add_up(ideal_dcg.ranks[:k], ideal_dcg.terms[:k])


@measure("map_cut", cutoffs(5, 10, 15, 20, 30, 100, 200, 500, 1000))
def average_precision_at(topic: JudgedRanking, k: int) -> Value:
    """Average precision at k: as if the ranking ended there.

        map_cut(k) = (1 / R) * sum of P@j over the ranks j <= k of relevant documents

    0 if R = 0 or if nothing relevant is among the first k.  Others divide by
    min(R, k).

    >>> average_precision_at(example_ranking("1011", unretrieved="1"), 3)  # (1 + 2/3) / 4
    0.41666666666666663

    Source: NIST's trec_eval.
    """
    ranks = topic.relevant_to(k)
    return add_up(ranks, topic.precisions[:len(ranks)]) / topic.num_rel


@measure("relative_P", cutoffs(5, 10, 15, 20, 30, 100, 200, 500, 1000))
def relative_precision(topic: JudgedRanking, k: int) -> Value:
    """Precision at k relative to the best possible one.

        relative_P(k) = hits(k) / min(k, R)

    0 if R = 0.

    >>> relative_precision(example_ranking("1010"), 3)
    1.0

    Source: NIST's trec_eval.
    """
    return share(topic.relevant_to(k), min(k, topic.num_rel))


@measure("success", cutoffs(1, 5, 10))
def success(topic: JudgedRanking, k: int) -> Value:
    """Success at k: whether a relevant document is among the first k.

        success@k = 1 if hits(k) > 0, else 0

    Ranks past the end of the ranking count as nonrelevant.

    >>> success(example_ranking("001"), 1), success(example_ranking("001"), 5)
    (0.0, 1.0)

    Source: S. Tomlinson, in NIST's trec_eval.
    """
    return count(topic.relevant_to(k)[:1])


@measure("set_P")
def set_precision(topic: JudgedRanking) -> Value:
    """Precision of the retrieved set, whatever its order.

        set_P = hits / N

    0 if nothing is retrieved.

    >>> set_precision(example_ranking("10-1", unretrieved="1"))
    0.5

    Source: Manning, Raghavan & Schuetze (2008), chapter 8.
    """
    return share(topic.relevant_ranks, topic.num_ret)


@measure("set_relative_P")
def set_relative_precision(topic: JudgedRanking) -> Value:
    """Precision of the retrieved set relative to the best possible one.

        set_relative_P = hits / min(N, R)

    0 if N = 0 or R = 0.

    >>> set_relative_precision(example_ranking("10-1", unretrieved="1"))  # 2 of at most 3
    0.6666666666666666

    Source: NIST's trec_eval.
    """
    return share(topic.relevant_ranks, min(topic.num_ret, topic.num_rel))


@measure("set_recall")
def set_recall(topic: JudgedRanking) -> Value:
    """Recall of the retrieved set.

        set_recall = hits / R

    0 if R = 0.

    >>> set_recall(example_ranking("10-1", unretrieved="11"))
    0.5

    Source: Manning, Raghavan & Schuetze (2008), chapter 8.
    """
    return share(topic.relevant_ranks, topic.num_rel)


@measure("set_map")
def set_average_precision(topic: JudgedRanking) -> Value:
    """Precision times recall of the retrieved set.

        set_map = hits^2 / (N * R)

    It is the AP of a ranking whose relevant documents retrieved all have the set's
    precision.  0 if N = 0 or R = 0.

    >>> set_average_precision(example_ranking("10-1", unretrieved="11"))  # 2 * 2 / (4 * 4)
    0.25

    Source: NIST's trec_eval.
    """
    hits = count(topic.relevant_ranks)
    return hits.then(hits * hits, "{} ** 2", hits) / (topic.num_ret * topic.num_rel)


@measure("set_F", coefficients(1.0, read=_level))
def set_f(topic: JudgedRanking, x: float) -> Value:
    """F measure of the retrieved set: a weighted harmonic mean of precision and recall.

        set_F = (x + 1) * P * Rc / (Rc + x * P), with P = hits / N and Rc = hits / R

    x plays the part of beta squared.  0 if hits = 0.

    >>> round(set_f(example_ranking("10-1", unretrieved="1"), 1.0), 4)  # P = 1/2, Rc = 2/3: 2 * (1/3) / (7/6)
    0.5714

    Source: van Rijsbergen (1979), Information Retrieval, 2nd edition.
    """
    hits = count(topic.relevant_ranks)
    if not hits:
        return hits
    p, rc = hits / topic.num_ret, hits / topic.num_rel
    return hits.then((x + 1) * p * rc / (rc + x * p), "({0} + 1) * {1} * {2} / ({2} + {0} * {1})", x, p, rc)


@measure("num_nonrel_judged_ret", summary=total, is_count=True)
def nonrelevant_judged_retrieved(topic: JudgedRanking) -> Value:
    """The judged nonrelevant documents retrieved.

        num_nonrel_judged_ret = retrieved documents of 0 <= grade < level

    >>> nonrelevant_judged_retrieved(example_ranking("10-.0"))
    2.0
    """
    return count(topic.nonrelevant_ranks)


@measure("yaap")
def yet_another_average_precision(topic: JudgedRanking) -> Value:
    """Average precision, smoothed and on a logit scale.

        yaap = ln((1 + s) / (1 + R - s)), s = sum of P@k over relevant ranks k

    0 if R = 0; if nothing relevant is retrieved it is -ln(1 + R).

    >>> yet_another_average_precision(example_ranking("1", unretrieved="1"))  # s = 1: ln(2/2)
    0.0

    Source: Robertson (2012), On smoothing average precision, ECIR, 158-169.
    """
    s = add_up(topic.relevant_ranks, topic.precisions)
    return s.then(math.log((1 + s) / (1 + topic.num_rel - s)), "log((1 + {0}) / (1 + {1} - {0}))", s, topic.num_rel)


@functools.lru_cache(maxsize=2)  # the topics of a run usually have the same number of documents
def _persistences(p: float, length: int) -> Sequence[float]:
    """1, p, p * p and so on, each the product of the one before and p, as trec_eval multiplies."""
    return tuple(itertools.accumulate(itertools.repeat(p, length - 1), operator.mul, initial=1.0))


def _gains_between_0_and_1(topic: JudgedRanking, gains: Gains) -> Callable[[int], float]:
    """The gain of a grade, on the scale from 0 to 1 that rank-biased precision needs.

    The scale is that of the gains of all grades from 0 to the largest in the
    judgments and of those given as parameters; it is left alone if none of
    them is below 0 or above 1.
    """
    largest = max(topic.grade_counts, default=-1)
    while largest in gains:  # of the grades that are their own gain only the largest can matter
        largest -= 1
    values = [0.0, float(max(largest, 0)), *(gain for grade, gain in gains.items() if grade >= 0)]
    low, high = min(values), max(values)
    if low == 0 and high <= 1:
        low, high = 0.0, 1.0
    return lambda grade: (gains.get(grade, grade) - low) / (high - low)


@measure("rbp", persistence(0.9, with_gains=True))
def rank_biased_precision(topic: JudgedRanking, p: float, gains: Gains) -> Value:
    """Rank-biased precision: what a user gains who goes on to the next rank with probability p.

        rbp = (1 - p) * sum over ranks k of gain(k) * p^(k-1)

    Grade g has gain g unless a parameter says otherwise.  The gains of all
    grades from 0 to the largest in the topic's judgments, and of those that
    parameters name, occurring or not, must lie between 0 and 1.  If one does
    not, all are mapped to (gain - lo) / (hi - lo), where hi and lo are the
    largest and the smallest of them and of 0.  Unjudged documents have gain 0;
    -l plays no part.

    >>> rank_biased_precision(example_ranking("101"), 0.5, {})  # 0.5 * (1 + 0.25)
    0.625
    >>> rank_biased_precision(example_ranking("102"), 0.5, {})  # gains 1/2 and 1: 0.5 * (0.5 + 0.25)
    0.375

    trec_eval 10.0 itself has no defined value when some grade exceeds 1: it
    reads uninitialised memory.  Source: Moffat & Zobel (2008), Rank-biased
    precision for measurement of retrieval effectiveness, ACM TOIS 27(1), 2.
    """
    gain_of = _gains_between_0_and_1(topic, gains)
    weights = _persistences(p, topic.num_ret + 1)
    ranks = topic.judged_ranks
    weighted = add_up(ranks, [gain_of(topic.grades[rank]) * weights[rank - 1] for rank in ranks])
    return weighted.then((1 - p) * weighted, "(1 - {}) * {}", p, weighted)


@measure("rbp_resid", persistence(0.9, with_gains=False))
def rank_biased_precision_residual(topic: JudgedRanking, p: float) -> Value:
    """What rbp could still gain if every unjudged document had gain 1.

        rbp_resid = p^N + (1 - p) * sum over the ranks k of unjudged documents of p^(k-1)

    0 if all retrieved documents are judged: then trec_eval leaves out the p^N
    for what lies beyond the ranking, too.

    >>> rank_biased_precision_residual(example_ranking("1-1"), 0.5)  # 0.125 + 0.5 * 0.5
    0.375
    >>> rank_biased_precision_residual(example_ranking("101"), 0.5)
    0.0

    It is described elsewhere as rbp + p^N.  Source: Moffat & Zobel (2008).
    """
    ranks = topic.unjudged_to(topic.num_ret)
    if not ranks:
        return Value(0.0)
    weights = _persistences(p, topic.num_ret + 1)
    beyond = weights[-1]
    residual = add_up(ranks, _without(weights[:-1], topic.judged_ranks))
    return residual.then(beyond + (1 - p) * residual, "{} + (1 - {}) * {}", beyond, p, residual)


@measure("unj", cutoffs(5, 10, 20))
def unjudged(topic: JudgedRanking, k: int) -> Value:
    """The fraction of the first k documents that is not judged.

        unj(k) = (unpooled or pooled but unjudged documents among the first k) / k

    Ranks past the end of the ranking do not count, but k divides.

    >>> unjudged(example_ranking("1-0."), 5)
    0.4

    Source: NIST's trec_eval.
    """
    return share(topic.unjudged_to(k), k)


# ---- Measures on the judgments of several people ----


def _sum_over_groups(groups: Iterable[str], terms: Sequence[float]) -> Value:
    return add_up(["group " + name for name in groups], terms)


def _mean_over_groups(groups: Iterable[str], terms: Sequence[float]) -> Value:
    return _sum_over_groups(groups, terms) / len(terms)


@measure("map_avgjg", rel_formats=("qrels_jg",))
def group_average_precision(groups: GroupRankings) -> Value:
    """Average precision, averaged over the judgment groups of a topic.

        map_avgjg = mean over the groups of AP by the judgments of the group

    People who judge the same topic disagree, and none of them is wrong.  So
    each of them, a judgment group, gives a set of judgments of its own, under
    which the one ranking has one value.  The topic's value is the mean of
    these, so that a topic counts once, however many have judged it.

    >>> ann, bob = example_ranking("10"), example_ranking("01")  # two opinions on one ranking
    >>> group_average_precision({"ann": ann, "bob": bob})  # (1 + 1/2) / 2
    0.75

    With -J each group drops the documents that it did not judge itself.

    Source: NIST's trec_eval.
    """
    return _mean_over_groups(groups, [average_precision(ranking) for ranking in groups.values()])


@measure("P_avgjg", cutoffs(5, 10, 15, 20, 30, 100, 200, 500, 1000), rel_formats=("qrels_jg",))
def group_precision(groups: GroupRankings, k: int) -> Value:
    """Precision at k, averaged over the judgment groups of a topic.

        P_avgjg(k) = mean over the groups of P@k by the judgments of the group

    >>> ann, bob = example_ranking("10"), example_ranking("01")
    >>> group_precision({"ann": ann, "bob": bob}, 1)  # (1 + 0) / 2
    0.5

    Source: NIST's trec_eval.
    """
    return _mean_over_groups(groups, [precision(ranking, k) for ranking in groups.values()])


@measure("Rprec_mult_avgjg", levels(0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
         rel_formats=("qrels_jg",))
def group_multiple_r_precision(groups: GroupRankings, multiple: float) -> Value:
    """Precision at a multiple of R, averaged over the judgment groups of a topic.

        Rprec_mult_avgjg(c) = mean over the groups of Rprec_mult(c) by the judgments of the group

    R, and with it the rank, differs from group to group.

    >>> ann, bob = example_ranking("110"), example_ranking("010")
    >>> group_multiple_r_precision({"ann": ann, "bob": bob}, 1.0)  # P@2 by ann, P@1 by bob: (2/2 + 0/1) / 2
    0.5

    Source: NIST's trec_eval.
    """
    return _mean_over_groups(groups, [multiple_r_precision(ranking, multiple) for ranking in groups.values()])


# ---- Measures on preferences ----

_PREFERENCES = ("prefs", "qrels_prefs")


@measure("prefs_num_prefs_poss", summary=total, is_count=True, rel_formats=_PREFERENCES)
def possible_preferences(topic: PreferenceRanking) -> Value:
    """The preferences of all judgment groups, fulfilled or not.

        prefs_num_prefs_poss = sum over the groups of poss_ret + poss_imp + absent

    That is, of the preferences with both documents retrieved, with one, and
    with none.  A group prefers a document to every one of a lower level in the
    same subgroup, and further by transitivity:

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


@measure("prefs_num_prefs_ful", summary=total, is_count=True, rel_formats=_PREFERENCES)
def fulfilled_preferences(topic: PreferenceRanking) -> Value:
    """The preferences that the ranking fulfils.

        prefs_num_prefs_ful = sum over the groups of ful_ret + ful_imp

    A preference is fulfilled if the preferred document is retrieved, and the
    other one later (ful_ret) or not at all (ful_imp).  The latter is an implied
    preference: nothing was ranked, but to find the one document and not the
    other is taken to prefer it.

    >>> fulfilled_preferences(example_preferences("ba", "a2 b1 c0"))  # a > c and b > c are implied; not a > b
    2.0
    """
    return _sum_over_groups(topic.groups, [group.counts.fulfilled for group in topic.groups.values()])


@measure("prefs_num_prefs_ful_ret", summary=total, is_count=True, rel_formats=_PREFERENCES)
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

    So each preference weighs the same, and a group with many preferences
    outweighs one with few.  0 if there are no preferences.

    >>> simple_preference(example_preferences("ba", "a2 b1 c0", "b1 a0"))  # all four but a > b
    0.75

    Source of this and all other prefs measures: experimental measures of C.
    Buckley in NIST's trec_eval.
    """
    counts = topic.counts
    return add_up(("both retrieved", "implied"), (counts.ful_ret, counts.ful_imp)) / counts.possible


def _mean_over_pairs(pairs: Pairs) -> Value:
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


def _mean_over_balanced(groups: Iterable[str], counted: Sequence[Tuple[int, int]]) -> Value:
    if not all(possible for _, possible in counted):
        return Value(0.0)
    return _mean_over_groups(groups, [Value(fulfilled) / possible for fulfilled, possible in counted])


@measure("prefs_avgjg_Rnonrel", rel_formats=_PREFERENCES)
def balanced_group_preference(topic: PreferenceRanking) -> Value:
    """As prefs_avgjg, but as if each group had as many nonrelevant documents as relevant ones.

        prefs_avgjg_Rnonrel = mean over the groups of f / p

    f of p preferences are fulfilled.  Documents with level 0 are nonrelevant,
    those with a level above 0 relevant.  Mostly there are far more nonrelevant
    ones, and then the preferences of relevant to nonrelevant documents drown
    those among relevant ones.  With Y relevant and X nonrelevant documents in
    the group, retrieved or not:

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

    If exactly one is retrieved, the ranking implies that it is preferred.  Of
    two documents that are not retrieved the ranking says nothing.

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


# ---- Requests: what a name after -m asks for ----

_OFFICIAL = "runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P"
_SET = "set_P set_recall set_relative_P set_map set_F"

_ALL_TREC = (_OFFICIAL + " relstring recall unj rbp rbp_resid infAP gm_bpref utility 11pt_avg ndcg relative_P"
             " Rprec_mult success map_cut ndcg_cut ndcg_rel Rndcg binG G " + _SET + " num_nonrel_judged_ret")

NICKNAMES: Dict[str, Tuple[str, ...]] = {
    "official": tuple(_OFFICIAL.split()),
    "set": ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", *_SET.split()),
    "all_trec": tuple(_ALL_TREC.split()),
    "qrels_jg": ("runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
    "prefs": ("runid", "num_q", "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret",
              "prefs_simp", "prefs_pair", "prefs_avgjg"),
    "all_prefs": ("runid", "num_q", *(name for name in MEASURES if name.startswith("prefs_"))),
}


def _columns(requests: Iterable[str], settings: Settings, notes: Notes, first_only: bool = False) -> List[Column]:
    """The columns that a list of measures and nicknames asks for, in print order.

    Several parameters for one measure are merged, unless `first_only`: then, as
    on trec_eval's command line, all but the first ones are ignored.
    """
    texts: Dict[str, List[str]] = {}
    for request in requests:
        name, text = _split_request(request, settings.release)
        if name in NICKNAMES:
            if text:
                notes.add("parameters", "measure " + name, "a nickname's parameters are ignored: %s" % _quoted(text))
            for member in NICKNAMES[name]:
                if member not in settings.release.lacks:
                    texts.setdefault(member, [])
            continue
        given = texts.setdefault(name, [])
        if text and text not in given:
            if given and first_only:
                both = "; write %s.%s,%s for both" % (name, given[0], text)
                instead = both if MEASURES[name].parameters.sort else "; run it once for each"
                notes.add("second parameters", "measure " + name, "only its first parameters, %s, count: %s is "
                          "ignored%s" % (_quoted(given[0]), _quoted(text), instead))
            else:
                given.append(text)
    columns = []
    for name, measure in MEASURES.items():
        if name in texts:
            if settings.rel_format not in measure.rel_formats:
                raise TrecEvalError("measure %s: expected judgments in format %s, found %s" % (
                    name, " or ".join(measure.rel_formats), settings.rel_format), status=4)
            for suffix, arguments in _variants(measure, texts[name], notes):
                columns.append(Column(name + suffix, measure, arguments))
    return columns


_IR_MEASURES = {  # names of ir_measures, up to the parameter if they have one, and what they are here
    "AP": "map", "AP@": "map_cut.", "MAP": "map", "MAP@": "map_cut.",
    "nDCG": "ndcg", "nDCG@": "ndcg_cut.", "NDCG": "ndcg", "NDCG@": "ndcg_cut.",
    "Precision@": "P.", "R@": "recall.", "Recall@": "recall.", "Success@": "success.",
    "RR": "recip_rank", "MRR": "recip_rank", "RPrec": "Rprec", "IPrec@": "iprec_at_recall.",
    "Bpref": "bpref", "BPref": "bpref", "infap": "infAP",
    "RBP": "rbp.p=0.8", "RBP(p=": "rbp.p=",
    "SetP": "set_P", "SetRelP": "set_relative_P", "SetR": "set_recall", "SetF": "set_F", "SetAP": "set_map",
    "NumQ": "num_q", "NumRet": "num_ret", "NumRel": "num_rel", "NumRelRet": "num_rel_ret",
}

_INSTEAD = tuple((re.compile(pattern), instead) for pattern, instead in (  # what to use instead of other names
    (r"(?:M?RR|recip_rank)\b.*@(\d+)", r"ask for recip_rank in rankings cut at \1: -M \1 -m recip_rank"),
    (r"(?:n?ERR|NERR\d+|\w+_IA|\w+_n?DCG|n?NRBP|StRecall|SDCG|BPM|INST|INSQ|Compat|Accuracy)\b.*",
     "trec_eval has nothing like it; ir_measures knows programs that do"),
    (r"(?:nDCG|NDCG)\b.*(?:exp-log2|gains=)[^@]*",
     "ndcg takes gains: ndcg.1=1,2=3,3=7 has those of 2^grade - 1"),
    (r"(?:nDCG|NDCG)\b.*(?:exp-log2|gains=).*@(\d+)",
     r"ndcg_cut takes no gains, so write them into the qrels as grades and ask for ndcg_cut.\1"),
    (r"SetF\(.*beta=.*", "the parameter of set_F is the square of beta: F2 is set_F.4"
     " (though ir_measures takes its SetF(beta=2) from set_F.2)"),
    (r"SetP\(.*relative=.*", "ask for set_relative_P"),
    (r"R|Recall|Precision|Success|IPrec", r"it needs a cutoff, such as \g<0>@1"),
    (r"Judged@(\d+)", r"ask for unj.\1, the part of the first \1 that is not judged"),
    (r"NumRet\(.*", "ask for num_rel_ret"),
    (r"(map|ndcg)@(.+)", r"ask for \1_cut.\2"),
    (r".*[(\s,]rel=(\d+).*", r"the relevance level is one for all measures: -l \1"),
    (r".*[(\s,]judged_only=.*", "unjudged documents are left out of all rankings or of none: -J"),
    (r"RBP\(.*cutoff.*|RBP\b.*@(.+)", r"ask for rbp in rankings cut short: -M \1 -m rbp.p=0.8"),
))


def _trec_eval_name(request: str) -> str:
    """A name of ir_measures as the measure of trec_eval that it means; other names as they are."""
    for opening, closing in ("@", ""), ("(p=", ")"):
        name, found, text = request.partition(opening)
        if name + found in _IR_MEASURES and text.endswith(closing) and not (closing and "," in text):
            return _IR_MEASURES[name + found] + text[:len(text) - len(closing)]
    advice = [match.expand(instead) for match, instead in (
        (pattern.fullmatch(request), instead) for pattern, instead in _INSTEAD) if match]
    if advice:
        raise TrecEvalError("unknown measure %s; %s" % (_quoted(request), ", and ".join(advice)), status=1)
    return request


def _request_of(printed: str) -> str:
    """The request that gives a printed name: P.5 for P_5."""
    measures = [name for name in MEASURES if printed.startswith(name + "_")]
    name = max(measures, key=len, default=printed)
    return name + "." + printed[len(name) + 1:] if measures else printed


def _split_request(request: str, release: Release) -> Tuple[str, str]:
    """A measure or nickname and its parameters: P.5,10 or, for cutoffs, P@5,10."""
    if not isinstance(request, str):
        raise TypeError("expected strings as measures, found %r" % (request,))
    request = _trec_eval_name(request)
    name, separator, text = request.partition(".")
    if name not in MEASURES and "@" in name:
        at, _, cutoff = request.partition("@")
        if at in MEASURES and MEASURES[at].parameters.syntax.startswith("cutoffs"):
            name, separator, text = at, "@", cutoff
    known = [*NICKNAMES, *(each for each in MEASURES if each not in release.lacks)]
    if name not in known:
        import difflib
        respelt = _request_of(name)
        if respelt == name:
            by_lower_case = {each.lower(): each for each in known}
            close = difflib.get_close_matches(name.lower(), by_lower_case, 1)
            respelt = by_lower_case[close[0]] if close else ""
        hint = "; did you mean %s?" % respelt if respelt else ""
        if name in release.lacks:
            hint = ", which trec_eval %s does not have" % release.name
        raise TrecEvalError("unknown measure %s%s" % (_quoted(name), hint), status=1)
    if separator and not text:
        raise TrecEvalError("measure %s: expected parameters after the %s, found none" % (name, separator), status=1)
    return name, text


def _variants(measure: Measure, texts: Iterable[str], notes: Notes) -> Variants:
    """The variants of a measure that the texts of its parameters ask for, or else its defaults."""
    parameters = measure.parameters
    variants: Dict[str, Arguments] = {}
    for text in texts:
        ignored: List[str] = []
        try:
            variants.update(parameters.read(text, ignored))
        except ValueError:
            raise TrecEvalError("measure %s: expected %s, found %s"
                                % (measure.name, parameters.syntax, _quoted(text))) from None
        if ignored:
            notes.add("parameters", "measure " + measure.name, "ignored parameters: %s" % _quoted(",".join(ignored)))
    found = list(variants.items()) or parameters.defaults
    return sorted(found, key=lambda variant: variant[1]) if parameters.sort else found


# ---- Summaries: from judged rankings to values, topic by topic and over all ----


class RelFormat(NamedTuple):
    """One format of judgments, -R.

    read    reads a file
    judge   makes of a topic's judgments and scores what a measure looks at
    place   gives the ranks of documents, and how many there are
    views   takes judgments and what `judge` made of them apart: for each set of
            judgments a label, its part, and {docno: grade}
    error   says of a topic in Judgments.duplicated what is wrong with which lines
    """

    read: Callable[[Source, Release, Notes], Judgments]
    judge: Callable[[Any, Mapping[Any, float], Settings], Any]
    place: Callable[[Iterable[Any], Any, Mapping[Any, float], Settings], Tuple[List[Tuple[int, Any]], int]]
    views: Callable[[Any, Any], List[Tuple[str, Any, Mapping[Any, float]]]]
    error: Callable[[Source, Release, bytes], TrecEvalError]


REL_FORMATS: Dict[str, RelFormat] = {
    "qrels": RelFormat(
        _read_qrels, _judged_ranking, _place, lambda judgments, judged: [("", judged, judgments)],
        lambda source, release, topic: _duplicate(source, _QRELS, release, topic)),
    "qrels_jg": RelFormat(
        _read_qrels_jg, _group_rankings, _place, _group_views, _duplicate_in_group),
    "prefs": RelFormat(
        _read_prefs, _preference_ranking, _place_for_preferences, _preference_views, _conflicting_levels),
    "qrels_prefs": RelFormat(
        _read_qrels_jg, _graded_preference_ranking, _place_for_preferences, _preference_views, _duplicate_in_group),
}


class _Evaluated:
    """The values of all columns for the evaluated topics, and what they were averaged over."""

    def __init__(self, columns: List[Column], settings: Settings):
        self.columns = columns
        self.settings = settings
        self.rows: Dict[Any, "array[float]"] = {}      # a value a column; 0 where it is a text
        self.texts: Dict[Any, Dict[int, str]] = {}     # the texts, by column
        self.failures: Dict[Any, Optional[TrecEvalError]] = {}  # topics that cannot be evaluated
        self.over = Averaging(0)
        self.qrels_topics: AbstractSet[Any] = frozenset()
        self.is_zscored = False
        self._calls = [(column.measure.function, column.arguments) for column in columns]
        self._text_columns = [i for i, column in enumerate(columns) if column.measure.summary is None]

    def judge(self, topic: Any, judgments: Any, scores: Mapping[Any, float]) -> Any:
        """What measures look at."""
        return REL_FORMATS[self.settings.rel_format].judge(judgments, scores, self.settings)

    def add(self, topic: Any, judgments: Any, scores: Mapping[Any, float]) -> None:
        """Evaluate a topic."""
        try:
            judged = self.judge(topic, judgments, scores)
        except TrecEvalError as error:
            self.failures[topic] = error
            return
        values: List[Any] = [function(judged, *arguments) for function, arguments in self._calls]
        self.keep(topic, judgments, scores, judged, list(values))
        if self._text_columns:
            self.texts[topic] = {i: values[i] for i in self._text_columns}
            for i in self._text_columns:
                values[i] = 0.0
        self.rows[topic] = array("d", values)

    def keep(self, topic: Any, judgments: Any, scores: Mapping[Any, float], judged: Any, values: List[Any]) -> None:
        """For a subclass that needs more of a topic than its numbers."""

    def add_missing(self, topic: Any, judgments: Any) -> None:
        """Evaluate a topic that the run misses: as one unpooled document, a few measures as 0."""
        self.add(topic, judgments, {_UNPOOLED: 0.0})
        for i, column in enumerate(self.columns):
            if topic in self.rows and column.is_zero_if_missing:
                self.rows[topic][i] = 0.0
                if column.name == "relstring":
                    self.texts[topic][i] = ""

    def convert_to_zscores(self, norms: Zscores, notes: Notes) -> None:
        """Replace each value v by (v - mean) / deviation, with the norms of its topic and printed name."""
        self.is_zscored = True
        for topic in self.ordered():
            of_topic = norms.get(_decode(topic), {})
            for i, column in enumerate(self.columns):
                if column.measure.is_zscored:
                    if column.name not in of_topic:
                        notes.add("zscores", "zscores", "expected a line for each value, found none for topic %s, "
                                  "measure %s, which becomes %d" % (_quoted(topic), column.name, _NO_ZSCORE))
                    self.rows[topic][i] = _zscore(self.rows[topic][i], *of_topic.get(column.name, (math.inf, 0.0)))

    def ordered(self) -> List[Any]:
        return sorted(self.rows, key=_encode)

    def topic_values(self, topic: Any) -> Iterator[Tuple[str, Union[float, str]]]:
        """Printed name and value of each column that is shown for a topic."""
        texts = self.texts.get(topic, {})
        for i, (column, value) in enumerate(zip(self.columns, self.rows[topic])):
            if not column.measure.summary_only:
                yield self._shown(column, texts.get(i, value))

    def summaries(self) -> Iterator[Tuple[Column, Union[float, str]]]:
        """Each column that is summarised, with its value over all topics."""
        rows = [self.rows[topic] for topic in self.ordered()]
        for i, column in enumerate(self.columns):
            if column.measure.summary is not None:
                yield column, column.measure.summary([row[i] for row in rows], self.over)

    def summary_values(self) -> Iterator[Tuple[str, Union[float, str]]]:
        """Printed name and value of each column that is shown in the summary."""
        return itertools.starmap(self._shown, self.summaries())

    def _shown(self, column: Column, value: Union[float, str]) -> Tuple[str, Union[float, str]]:
        if isinstance(value, str):
            return column.name, value
        if self.is_zscored:
            return "Z" + column.name, float(value)
        return column.name, int(value) if column.measure.is_count else float(value)


_NO_ZSCORE = -1000000.0  # for a value that no norm can convert


def _zscore(value: float, mean: float, deviation: float) -> float:
    if deviation == 0:
        return 0.0 if value == mean else _NO_ZSCORE
    return (value - mean) / deviation


Evaluated = TypeVar("Evaluated", bound=_Evaluated)


def _evaluate(evaluated: Evaluated, judgments: Judgments, rankings: Iterable[Tuple[Any, Mapping[Any, float], int]],
              only: Any = None) -> Evaluated:
    """Evaluate the rankings, and with -c the topics that have none.

    A ranking comes with the number of its lines; fewer documents than lines
    means that a document is there twice.  Topics that cannot be evaluated are
    left in `failures`, with None for those that have a document twice.
    """
    settings = evaluated.settings
    for topic, scores, lines in rankings:
        if topic in judgments.duplicated or lines != len(scores):
            evaluated.failures[topic] = None
        else:
            evaluated.add(topic, judgments.topics[topic], scores)
    if settings.complete and settings.release.evaluates_missing:
        for topic in judgments.topics if only is None else {only} & judgments.topics.keys():
            if topic in judgments.duplicated:
                evaluated.failures[topic] = None
            elif topic not in evaluated.rows and topic not in evaluated.failures:
                evaluated.add_missing(topic, judgments.topics[topic])
    evaluated.qrels_topics = judgments.topics.keys()
    topics = len(judgments.topics) if settings.complete else len(evaluated.rows)
    recount = settings.complete and settings.rel_format == "qrels" and any(
        column.measure.summary is total_relevant for column in evaluated.columns)
    evaluated.over = Averaging(
        topics, 0 if settings.release.evaluates_missing else topics - len(evaluated.rows),
        num_rel=sum(grade > 0 for topic in judgments.topics.values() for grade in topic.values()) if recount else None)
    return evaluated


class Evaluation(NamedTuple):
    """What `evaluate` returns.

    topics   {topic: {printed name: value}}
    summary  {printed name: value over all topics}

    Counts are ints, relstring (topics only) and runid (summary only) are str,
    all other values float.
    """

    topics: Dict[str, Dict[str, Union[float, str]]]
    summary: Dict[str, Union[float, str]]


def evaluate(qrels: Mapping[str, Any], run: Mapping[str, Mapping[str, float]],
             measures: Iterable[str] = ("official",), *, release: str = "10.0", relevance_level: int = 1,
             complete: bool = False, judged_only: bool = False, depth: Optional[int] = None,
             collection_size: int = 0, rel_format: str = "qrels", zscores: Optional[Zscores] = None) -> Evaluation:
    """Evaluate a run {topic: {docno: score}} on qrels {topic: {docno: grade}}.

    `measures` are measures and nicknames as after trec_eval's -m; several
    parameters for one measure are merged.  The keywords are trec_eval's options
    -l, -c, -J, -M, -N, -R and -Z.  Topics of the run without judgments are ignored,
    and so are topics of the qrels without a ranking unless `complete`.

    With another `rel_format` the judgments are as its reader returns them:
    `read_qrels_jg` for qrels_jg and qrels_prefs, `read_prefs` for prefs.

    Nothing is kept between calls and no argument is changed.  Raises
    TrecEvalError (a ValueError), among others if no topic can be evaluated.

    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1}}
    >>> run = {"1": {"b": 0.9, "a": 0.1}}
    >>> evaluate(qrels, run, ["P.1", "P.2", "recip_rank"]).topics
    {'1': {'recip_rank': 0.5, 'P_1': 0.0, 'P_2': 0.5}}
    >>> evaluate(qrels, run, ["num_q", "recip_rank"], complete=True).summary
    {'num_q': 2, 'recip_rank': 0.25}
    """
    settings = _checked_settings(release, relevance_level, complete, judged_only, depth, collection_size, rel_format)
    notes = Notes()
    evaluated = _evaluate_dicts(_Evaluated, qrels, run, measures, settings, notes, _checked_norms(zscores))
    notes.warn()
    return _evaluation(evaluated)


def _evaluate_dicts(kind: Callable[[List[Column], Settings], Evaluated], qrels: Mapping[str, Any],
                    run: Mapping[str, Mapping[str, float]], measures: Iterable[str], settings: Settings,
                    notes: Notes, norms: Optional[Zscores] = None) -> Evaluated:
    """Evaluate a run on judgments, both in memory."""
    columns = _columns([measures] if isinstance(measures, str) else measures, settings, notes)
    columns = [column for column in columns if column.name != "runid"]  # which dicts do not have
    if settings.rel_format == "qrels":
        qrels = {topic: _checked_grades(topic, judgments) for topic, judgments in _items(qrels, "qrels")}
    else:
        qrels = {topic: {group: _checked_members(topic, group, members, settings.rel_format)
                         for group, members in _items(groups, "groups of topic %r" % topic, "groups")}
                 for topic, groups in _items(qrels, "qrels")}
    rankings = ((topic, _checked_scores(topic, ranking), len(ranking))
                for topic, ranking in _items(run, "run") if topic in qrels)
    evaluated = _evaluate(kind(columns, settings), Judgments(qrels, set()), rankings)
    for topic in sorted(evaluated.failures, key=_encode):
        raise TrecEvalError("topic %s: %s" % (_quoted(topic), evaluated.failures[topic]), status=4)
    if not evaluated.rows:
        raise _nothing_in_common(("qrels", qrels), ("run", run))
    if norms is not None:
        evaluated.convert_to_zscores(norms, notes)
    return evaluated


def _evaluation(evaluated: _Evaluated) -> Evaluation:
    return Evaluation({_decode(topic): dict(evaluated.topic_values(topic)) for topic in evaluated.ordered()},
                      dict(evaluated.summary_values()))


def _nothing_in_common(*files: Tuple[str, Collection[Any]]) -> TrecEvalError:
    """The error for files without a common topic; it shows one of each, since often they are spelt differently."""
    found = ["%s has %s%s" % (name, _plural(len(topics), "topic"),
                              " (%s)" % _quoted(min(topics, key=_encode)) if topics else "")
             for name, topics in files]
    return TrecEvalError("expected topics in both files, found none: %s" % ", ".join(found), status=7)


def _evaluate_files(kind: Callable[[List[Column], Settings], Evaluated], qrels: Source, run: Source,
                    requests: Sequence[str], settings: Settings, notes: Notes, only: Optional[str] = None,
                    first_only: bool = False, norms: Optional[Zscores] = None,
                    progress: Optional[Progress] = None) -> Evaluated:
    """Evaluate the run of one file on the judgments of another."""
    columns = _columns(requests, settings, notes, first_only)
    rel_format = REL_FORMATS[settings.rel_format]
    judgments = rel_format.read(qrels, settings.release, notes)
    topic = None if only is None else _encode(only)
    wanted = judgments.topics.keys() if topic is None else {topic} & judgments.topics.keys()
    reader = RunReader(run, wanted, settings.release, notes, progress)
    evaluated = _evaluate(kind(columns, settings), judgments, reader, topic)
    for failed in sorted(evaluated.failures):
        error = evaluated.failures[failed]
        if error is None and failed in judgments.duplicated:
            error = rel_format.error(qrels, settings.release, failed)
        elif error is None:
            error = _duplicate(run, _RUN, settings.release, failed)
        else:
            error = TrecEvalError("topic %s: %s" % (_quoted(failed), error), status=4)
        raise error
    if not evaluated.rows:
        in_run = {topic for _, columns in _tables(run, _RUN, settings.release, Notes()) for topic in columns[0]}
        if topic is None:
            raise _nothing_in_common((qrels.name, judgments.topics), (run.name, in_run))
        found = qrels.name if topic in judgments.topics else run.name if topic in in_run else "neither"
        raise TrecEvalError("expected topic %s in both %s and %s, found it in %s"
                            % (_quoted(topic), qrels.name, run.name, found), status=7)
    missing = sorted(judgments.topics.keys() - evaluated.rows.keys())
    if missing and not settings.complete and only is None:
        notes.add("missing topics", run.name, "%d of %s in %s have no results (first %s) and are ignored; "
                  "with -c they would count" % (len(missing), _plural(len(judgments.topics), "topic"), qrels.name,
                                                _quoted(missing[0])))
    evaluated.over = evaluated.over._replace(run_tag=_decode(reader.tag))
    if norms is not None:
        evaluated.convert_to_zscores(norms, notes)
    return evaluated


def evaluate_files(qrels: Any, run: Any, measures: Iterable[str] = ("official",), *, release: str = "10.0",
                   relevance_level: int = 1, complete: bool = False, judged_only: bool = False,
                   depth: Optional[int] = None, collection_size: int = 0, rel_format: str = "qrels",
                   zscores: Optional[Zscores] = None) -> Evaluation:
    """Evaluate the run in one file on the judgments in another, one topic at a time.

    `qrels` and `run` as for `read_qrels` and `read_run`, everything else as for
    `evaluate`; the summary has the runid, too.  Memory does not grow with the
    length of a run that is given as a path.  Suspicious input is warned of
    (TrecEvalWarning).

    >>> evaluate_files(["1 0 a 1"], ["1 Q0 b 1 0.9 bm25", "1 Q0 a 2 0.1 bm25"], ["runid", "recip_rank"]).summary
    {'runid': 'bm25', 'recip_rank': 0.5}
    """
    settings = _checked_settings(release, relevance_level, complete, judged_only, depth, collection_size, rel_format)
    notes = Notes()
    evaluated = _evaluate_files(_Evaluated, Source.of(qrels, "qrels"), Source.of(run, "run"),
                                [measures] if isinstance(measures, str) else list(measures), settings, notes,
                                norms=_checked_norms(zscores))
    notes.warn()
    return _evaluation(evaluated)


# ---- Reporting: values to text ----


def _lines(values: Iterable[Tuple[str, Union[float, str]]], topic: Name, digits: int, is_zscored: bool) -> bytes:
    """The lines of one topic as trec_eval prints them; the Z before a Z-score widens its name's column."""
    lines = []
    for name, value in values:
        width = 22
        if isinstance(value, str):
            text = _encode(value if name == "runid" else "'%s'" % value)
        else:
            text = b"%d" % value if isinstance(value, int) else b"%6.*f" % (digits, value)
            width += is_zscored
        lines.append(b"%b\t%b\t%b\n" % (_encode(name).ljust(width), _encode(topic), text))
    return b"".join(lines)


def _report_lines(evaluated: _Evaluated, per_topic: bool, summary: bool, digits: int) -> Iterator[bytes]:
    """The lines for each topic, then those of the summary."""
    if per_topic:
        for topic in evaluated.ordered():
            yield _lines(evaluated.topic_values(topic), topic, digits, evaluated.is_zscored)
    if summary:
        yield _lines(evaluated.summary_values(), b"all", digits, evaluated.is_zscored)


def signature(settings: Settings = Settings()) -> str:
    """All settings that numbers depend on, in one line to quote beside them.

    >>> signature()
    'trec_eval_ref 1.0|trec_eval 10.0|level 1|topics in both|depth all|unjudged kept|ties docno descending|R qrels'
    """
    return "|".join((
        "trec_eval_ref " + __version__, "trec_eval " + settings.release.name, "level %d" % settings.relevance_level,
        "topics in " + ("qrels" if settings.complete else "both"),
        "depth " + ("all" if settings.depth is None else str(settings.depth)),
        "unjudged " + ("removed" if settings.judged_only else "kept"),
        "ties docno " + ("ascending" if "prefs" in settings.rel_format else "descending"), "R " + settings.rel_format))


def _report_json(evaluated: _Evaluated, per_topic: bool, summary: bool, measures: Sequence[str]) -> str:
    settings = evaluated.settings
    report: Dict[str, Any] = {"settings": {
        "version": __version__, "release": settings.release.name, "relevance_level": settings.relevance_level,
        "complete": settings.complete, "judged_only": settings.judged_only, "depth": settings.depth,
        "collection_size": settings.collection_size, "rel_format": settings.rel_format, "measures": list(measures),
        "signature": signature(settings)}}
    topics, summaries = _evaluation(evaluated)
    if per_topic:
        report["topics"] = topics
    if summary:
        report["summary"] = summaries
    import json  # here since that takes milliseconds, and few need it
    return json.dumps(report, indent=1)


def _figure(value: Any, digits: int) -> str:
    """A number as explanations show it: counts whole, small numbers not as 0."""
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 1e15:
        return "%d" % value
    if abs(value) >= 10 ** -digits:
        return "%.*f" % (digits, value)
    return ("%.10f" % value).rstrip("0") if abs(value) >= 1e-10 else "%.*g" % (digits, value)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], all_rows: bool, head_rows: int = 20,
           tail_rows: int = 5) -> List[str]:
    """Rows under their heads, words to the left and numbers to the right; long tables without their middle."""
    left_out = len(rows) - head_rows - tail_rows
    shown = list(rows) if all_rows or left_out <= 1 else [*rows[:head_rows], *rows[-tail_rows:]]
    widths = [max(map(len, column)) for column in zip(heads, *shown)]
    is_text = [any(re.match(r"[^-+0-9.]|-$", cell) for cell in column) for column in zip(*shown)] or [True] * len(heads)
    lines = ["  ".join(cell.ljust(width) if text else cell.rjust(width) for cell, width, text in zip(
        row, widths, is_text)).rstrip() for row in [list(heads), *shown]]
    if len(shown) < len(rows):
        lines.insert(1 + head_rows, "... %d rows left out, which --explain-all shows ..." % left_out)
    return ["  " + line for line in lines]


# ---- Explaining: how a value comes about ----


class View(NamedTuple):
    """What one set of judgments makes of a topic: the judged ranking, with the documents' names.

    label     the judgment group, if there are several
    judged    what the measure's function looks at
    ranking   (docno, score, grade, whether other documents have the same score)
              by rank; the grade is None if the judgments do not have the document
    missed    (docno, grade) of the judged documents that are not in the ranking,
              by descending grade
    left_out  how many documents of the run -M and -J keep out of the ranking
    """

    label: str
    judged: Any
    ranking: Sequence[Tuple[str, float, Optional[float], bool]]
    missed: Sequence[Tuple[str, float]]
    left_out: int


class Explanation(NamedTuple):
    """How one value of one topic comes about.

    `value` is what the measure's function returned, the very double that
    `evaluate` gives; a `Value` has its terms.  `note` says why another value is
    printed, if one is.
    """

    topic: str
    column: Column
    value: Union[float, str]
    views: Sequence[View]
    note: str


def explain(qrels: Mapping[str, Any], run: Mapping[str, Mapping[str, float]], measures: Iterable[str], *,
            release: str = "10.0", relevance_level: int = 1, complete: bool = False, judged_only: bool = False,
            depth: Optional[int] = None, collection_size: int = 0,
            rel_format: str = "qrels") -> Dict[str, List[Explanation]]:
    """What `evaluate` computes for each topic, with all that it is made of.

    Takes the arguments of `evaluate` and returns, by topic, one Explanation for
    each printed name; `explanation_lines` makes text of it.

    >>> explanation, = explain({"1": {"a": 1, "b": 1}}, {"1": {"c": 2.0, "a": 1.0}}, ["map"])["1"]
    >>> explanation.value, explanation.value.ranks, explanation.value.terms
    (0.25, [2], [0.5])
    >>> explanation_lines(explanation)[-1]
    '  map = 0.5000 / 2 = 0.2500'
    """
    settings = _checked_settings(release, relevance_level, complete, judged_only, depth, collection_size, rel_format)
    evaluated = _evaluate_dicts(_Explained, qrels, run, measures, settings, Notes())
    return {topic: evaluated.explanations(topic) for topic in evaluated.ordered()}


class _Explained(_Evaluated):
    """Values that are kept together with what they were computed from."""

    def __init__(self, columns: List[Column], settings: Settings):
        super().__init__(columns, settings)
        self._kept: Dict[Any, Any] = {}

    def keep(self, topic: Any, judgments: Any, scores: Mapping[Any, float], judged: Any, values: List[Any]) -> None:
        self._kept[topic] = judgments, scores, judged, values

    def explanations(self, topic: Any) -> List[Explanation]:
        judgments, scores, judged, values = self._kept[topic]
        views = [_view(label, part, grades, scores, self.settings)
                 for label, part, grades in REL_FORMATS[self.settings.rel_format].views(judgments, judged)]
        return [Explanation(_decode(topic), column, value, views, (
            "the run misses this topic, and this value is set to 0" if _UNPOOLED in scores and column.is_zero_if_missing
            else "")) for column, value in zip(self.columns, values)]


def _view(label: str, judged: Any, grades: Mapping[Any, float], scores: Mapping[Any, float],
          settings: Settings) -> View:
    places, num_ret = REL_FORMATS[settings.rel_format].place(scores, grades, scores, settings)
    kept = dict(zip(scores, settings.release.keep_scores(scores.values())))
    times = Counter(kept.values())
    ranking = [("(none)" if docno == _UNPOOLED else _decode(docno), scores[docno], grades.get(docno),
                times[kept[docno]] > 1) for _, docno in places]
    ranked = {docno for _, docno in places}
    missed = [(_decode(docno), grade) for docno, grade in grades.items() if grade >= 0 and docno not in ranked]
    return View(label, judged, ranking, sorted(missed, key=lambda document: (-document[1], document[0])),
                len(scores) - num_ret)


Detail = Tuple[str, Callable[[Any, int, Arguments], Any]]  # a column of a table: its head, and what it shows at a rank


def _gains_of(arguments: Arguments) -> Gains:
    return next((argument for argument in arguments if isinstance(argument, Mapping)), {})


def _gain_at(topic: JudgedRanking, rank: int, arguments: Arguments) -> Any:
    ranks, gained = topic.gained(_gains_of(arguments))
    return gained[ranks.index(rank)] if rank in ranks else 0.0


def _scaled_gain_at(topic: JudgedRanking, rank: int, arguments: Arguments) -> Any:
    return _gains_between_0_and_1(topic, _gains_of(arguments))(topic.grades[rank])


def _ideal_gain_at(topic: JudgedRanking, rank: int, arguments: Arguments) -> Any:
    return dict(enumerate(topic.ideal_gains(_gains_of(arguments)), start=1)).get(rank, "")


def _pool_unjudged_above(topic: JudgedRanking, rank: int, arguments: Arguments) -> Any:
    return len([above for above, grade in topic.grades.items() if above < rank and grade < 0])


_IDEAL_GAIN: Detail = ("ideal gain", _ideal_gain_at)
_DISCOUNT: Detail = ("log2(k+1)", lambda topic, rank, arguments: math.log2(rank + 1))
_GAIN_AND_DISCOUNT: Sequence[Detail] = (("gain", _gain_at), _IDEAL_GAIN, _DISCOUNT)
_RELEVANT_ABOVE: Detail = ("relevant above", lambda topic, rank, arguments: bisect_left(topic.relevant_ranks, rank))
_NONRELEVANT_ABOVE: Detail = (
    "judged nonrelevant above", lambda topic, rank, arguments: topic.nonrelevant_above(rank))
_WEIGHT: Detail = (
    "p^(k-1)", lambda topic, rank, arguments: _persistences(arguments[0], topic.num_ret + 1)[rank - 1])

_DETAILS: Dict[str, Sequence[Detail]] = {  # by measure, what stands beside a rank that contributes
    "map": (_RELEVANT_ABOVE,), "gm_map": (_RELEVANT_ABOVE,), "map_cut": (_RELEVANT_ABOVE,), "yaap": (_RELEVANT_ABOVE,),
    "bpref": (_NONRELEVANT_ABOVE,), "gm_bpref": (_NONRELEVANT_ABOVE,),
    "infAP": (_RELEVANT_ABOVE, _NONRELEVANT_ABOVE, ("pool-unjudged above", _pool_unjudged_above)),
    "binG": (("others above", lambda topic, rank, arguments: rank - 1 - bisect_left(topic.relevant_ranks, rank)),),
    "G": _GAIN_AND_DISCOUNT[:2],
    "dcg": _GAIN_AND_DISCOUNT, "ideal_dcg": (_IDEAL_GAIN, _DISCOUNT),
    "ndcg": _GAIN_AND_DISCOUNT, "ndcg_cut": _GAIN_AND_DISCOUNT,
    "rbp": (("gain from 0 to 1", _scaled_gain_at), _WEIGHT), "rbp_resid": (_WEIGHT,),
}

_RELATED: Dict[str, Sequence[str]] = {  # by measure, the others whose terms it is made of or completed by
    "ndcg_rel": ("dcg", "ideal_dcg"), "Rndcg": ("dcg", "ideal_dcg"), "rbp": ("rbp_resid",),
}

_NOT_OF_RELEVANT = ("num_ret", "num_nonrel_judged_ret", "ideal_dcg", "rbp_resid", "unj")  # what others contribute to


def explanation_lines(explanation: Explanation, all_rows: bool = False, digits: int = 4) -> List[str]:
    """An explanation as lines of text; long tables are cut in the middle unless `all_rows`."""
    column, value = explanation.column, explanation.value
    name = column.measure.name
    summary, formula, parameters = _documentation(column.measure.function)
    lines = ["%s of topic %s" % (column.name, explanation.topic), summary, *("  " + line for line in formula)]
    if column.arguments:
        lines.append("with " + "; ".join(map("%s = %s".__mod__, zip(parameters, map(_argument, column.arguments)))))
    for view in explanation.views:
        lines += _quantities(view)
        if name in ("iprec_at_recall", "11pt_avg"):
            lines += _interpolation(view.judged, column.arguments[0], digits)
        if name == "utility" or name.startswith("set_"):
            lines += _contingency(view.judged)
    lines += _terms(column, value, explanation.views, all_rows, digits)
    for view in explanation.views:
        for related, other in _related(column, value, view):
            lines.append("%s: %s" % (related.name, _documentation(related.measure.function)[0]))
            lines += _terms(related, other, [view], all_rows, digits)
            lines += _working(related, other, digits)
        missed = ["%s (grade %g)" % document for document in _contributors(column, view)]
        if missed:
            shown = missed if all_rows or len(missed) <= 15 else missed[:15] + ["and %d more" % (len(missed) - 15)]
            adds_nothing = _is_sum_over_ranks(value) and name not in _NOT_OF_RELEVANT
            lines.append("%snot %s%s: %s" % (
                view.label and view.label + ": ", "in the ranking" if view.left_out else "retrieved",
                ", adding 0" * adds_nothing, ", ".join(shown)))
    lines += _working(column, value, digits)
    if explanation.note:
        lines.append("printed as 0: " + explanation.note)
    return [lines[0], *("  " + line for line in lines[1:])]


def _related(column: Column, value: Union[float, str], view: View) -> Iterator[Tuple[Column, Any]]:
    """Other measures that help to understand a value, with theirs."""
    arguments = (_gains_of(column.arguments),)
    if column.measure.name in ("ndcg", "ndcg_cut") and isinstance(value, Value):
        cut = "" if column.measure.name == "ndcg" else " up to rank %d" % column.arguments[0]
        yield Column("ideal_dcg" + cut, MEASURES["ideal_dcg"], arguments), value.working[2]
    for name in _RELATED.get(column.measure.name, ()):
        if not name.endswith("dcg"):
            arguments = column.arguments[:1]
        yield Column(name, MEASURES[name], arguments), MEASURES[name].function(view.judged, *arguments)


def _contributors(column: Column, view: View) -> List[Tuple[str, float]]:
    """Those of the documents missed that are relevant or, to a measure of gains, have one."""
    if column.measure.name == "ndcg_cut" or any(isinstance(argument, Mapping) for argument in column.arguments):
        gains = _gains_of(column.arguments)
        return [(docno, grade) for docno, grade in view.missed if gains.get(int(grade), grade) > 0]
    return [(docno, grade) for docno, grade in view.missed if grade >= view.judged.relevance_level]


def _documentation(function: Any) -> Tuple[str, List[str], List[str]]:
    """What a function's source says of it: first sentence, formula (the first indented lines), parameters."""
    import inspect  # which takes too long to import for those who want no explanation
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    formula = [paragraph for paragraph in paragraphs if paragraph.startswith("    ")][:1]
    return (paragraphs[0].replace("\n", " "), [line.strip() for text in formula for line in text.split("\n")],
            list(inspect.signature(function).parameters)[1:])


def _is_sum_over_ranks(value: Any) -> bool:
    return isinstance(value, Value) and bool(value.ranks) and not isinstance(value.ranks[0], str)


def _argument(argument: Any) -> str:
    if isinstance(argument, Mapping):
        return ", ".join("%s=%g" % item for item in argument.items()) or "the grades"
    return ", ".join("%g" % part for part in argument) if isinstance(argument, tuple) else "%g" % argument


def _quantities(view: View) -> List[str]:
    """What a measure could look at, in numbers."""
    topic = view.judged
    label = view.label + ": " if view.label else ""
    if isinstance(topic, JudgedRanking):
        return ["%sR = %d relevant documents in the judgments (grade >= %d), and %d judged nonrelevant"
                % (label, topic.num_rel, topic.relevance_level, topic.num_nonrel),
                "%sN = %d documents retrieved%s: %d relevant, %d judged nonrelevant, %d not judged"
                % (label, topic.num_ret, " (without %d that -M or -J leaves out)" % view.left_out * bool(view.left_out),
                   topic.hits, len(topic.nonrelevant_ranks), topic.num_ret - len(topic.judged_ranks))]
    if isinstance(topic, PreferenceRanking):
        lines = ["%d of the %d documents that preferences name are retrieved" % (topic.num_ret, len(topic.docnos))]
        for name, group in topic.groups.items():
            lines.append("group %s: %d of %d preferences between retrieved documents are fulfilled, and %d of %d "
                         "implied ones; %d are absent; %d documents are relevant (level > 0), %d nonrelevant" % (
                             name, group.counts.ful_ret, group.counts.poss_ret, group.counts.ful_imp,
                             group.counts.poss_imp, group.counts.absent, _size(group.relevant),
                             _size(group.nonrelevant)))
        return lines
    return []


def _interpolation(topic: JudgedRanking, levels: Any, digits: int) -> List[str]:
    """For each recall level the count it rounds to, and where the largest precision lies."""
    rows = []
    for level in levels if isinstance(levels, tuple) else (levels,):
        precision = interpolated_precision(topic, level)
        where = "at rank %s" % precision.ranks[-1] if precision.ranks else "too few are retrieved"
        rows.append(["%.2f" % level, _figure(level * topic.num_rel, digits), str(topic.count_at_recall(level)),
                     "%.*f" % (digits, precision), where])
    return _table(["recall", "times R", "relevant documents", "largest precision from there on", ""], rows, True)


def _contingency(topic: JudgedRanking) -> List[str]:
    """The documents by relevance and retrieval."""
    hits = topic.hits
    others = topic.collection_size + hits - topic.num_ret - topic.num_rel
    return _table(["", "relevant", "others"], [
        ["retrieved", str(hits), str(topic.num_ret - hits)],
        ["not retrieved", str(topic.num_rel - hits), str(others) if topic.collection_size else "? (-N)"]], True)


def _terms(column: Column, value: Union[float, str], views: Sequence[View], all_rows: bool, digits: int) -> List[str]:
    """The table of what was added up, for values that are sums."""
    if isinstance(value, str):
        rows = [[str(rank), *_document(views[0], rank), character] for rank, character in enumerate(value, start=1)]
        return _table(["rank", "docno", "score", "grade", "", "shown as"], rows, all_rows)
    if not isinstance(value, Value) or not value.ranks:
        return []
    divisor = 0.0
    if value.working[:1] == ("{} / {}",) and not getattr(value.working[1], "working", ()):
        divisor = float(value.working[2])  # of nothing but the sum, so that it divides each term as well
    details = _DETAILS.get(column.measure.name, ())
    heads = ["", "adds", "total"]
    if _is_sum_over_ranks(value):
        documents = [] if column.measure.name == "ideal_dcg" else ["docno", "score", "grade", ""]
        heads = ["rank", *documents, *(head for head, _ in details), "adds", "total"]
    rows, so_far = [], 0.0
    for rank, term in zip(value.ranks, value.terms):
        so_far += term
        row = [str(rank)]
        if not isinstance(rank, str):
            row += _document(views[0], rank) if "docno" in heads else []
            row += [_figure(detail(views[0].judged, rank, column.arguments), digits) for _, detail in details]
        row += ["%.*f" % (digits, term), "%.*f" % (digits, so_far)]
        rows.append(row + (["%.*f" % (digits, term / divisor)] if divisor else []))
    lines = _table(heads + ["of the value"] * bool(divisor), rows, all_rows)
    if views[0].label:
        for view, term in zip(views, value.terms):
            lines += [view.label + ":", *_terms(column, term, [view._replace(label="")], all_rows, digits)]
    return lines


def _document(view: View, rank: int) -> List[str]:
    """What a table shows of the document at a rank."""
    docno, score, grade, is_tied = view.ranking[rank - 1]
    marks = ["tied"] * is_tied + ["unpooled" if grade is None else "not judged"] * (grade is None or grade < 0)
    return [docno, "%.10g" % score, "-" if grade is None else "%g" % grade, ", ".join(marks)]


def _working(column: Column, value: Union[float, str], digits: int) -> List[str]:
    """How the terms became the value, the value last; what needed an expression of its own comes before."""
    if isinstance(value, str):
        return ["%s = '%s'" % (column.name, value)]
    shown = "%d" % value if column.measure.is_count else "%.*f" % (digits, value)
    return [*_steps(value, digits)[:-1], " = ".join([column.name, *_steps(value, digits)[-1:], shown])]


def _steps(value: Any, digits: int) -> List[str]:
    """The expressions that a value was worked out by: those of its numbers with their results, and its own."""
    if not isinstance(value, Value) or not value.working:
        return []
    expression, *numbers = value.working
    steps = []
    for number in numbers:
        of_number = _steps(number, digits)
        steps += of_number[:-1] + ["%s = %s" % (step, _figure(number, digits)) for step in of_number[-1:]]
    return steps + [expression.format(*(_figure(number, digits) for number in numbers))]


def _explanation(evaluated: _Explained, run: Source, summary: bool, all_rows: bool, digits: int) -> List[bytes]:
    """All explanations as lines: topic after topic, then how their values combine and what became of other topics."""
    lines: List[str] = []
    for topic in evaluated.ordered():
        for explanation in evaluated.explanations(topic):
            if explanation.column.measure.summary not in (run_tag, number_of_topics):
                lines += [*explanation_lines(explanation, all_rows, digits), ""]
    if summary:
        lines.append("all topics")
        for column, value in evaluated.summaries():
            lines.append("  %s: %s" % (column.name, _documentation(column.measure.summary)[0]))
            lines += ["    " + line for line in _working(column, value, digits)]
        in_run = {topic for _, columns in _tables(run, _RUN, evaluated.settings.release, Notes())
                  for topic in columns[0]}
        lines += _other_topics("in the qrels alone", evaluated.qrels_topics - in_run,
                               "count as if nothing relevant had been retrieved (-c)"
                               if evaluated.settings.complete else "are skipped (-c would count them)")
        lines += _other_topics("in the run alone", in_run - evaluated.qrels_topics, "are ignored")
    return [_encode(line) + b"\n" for line in lines]


def _other_topics(where: str, topics: Collection[bytes], fate: str) -> List[str]:
    names = [_decode(topic) for topic in sorted(topics)]
    more = ["..."] * (len(names) > 20)
    return ["  topics %s %s: %s" % (where, fate, ", ".join(names[:20] + more))] * bool(names)


# ---- Auditing: which convention makes somebody else's numbers ----


class Reported(NamedTuple):
    """A value that somebody else's tool reports."""

    column: Column
    request: str            # what to ask for to get the column
    topic: Optional[bytes]  # None: over all topics
    value: float
    decimals: int           # how many are shown


_FIGURE = re.compile(r"([+-]?(?:[0-9]+(?:\.([0-9]*))?|\.([0-9]+))(?:e([+-]?[0-9]{1,4}))?)(%?)", re.IGNORECASE)
_NO_FIGURE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_OVER_ALL = ("all", "amean")  # what other tools print as the topic of a summary


def _read_report(source: Source, settings: Settings) -> Tuple[List[Reported], List[str]]:
    """The values of a report that can be compared, and the names of measures that cannot.

    A report is JSON (this module's, or pytrec_eval's {topic: {measure: value}},
    or {measure: value}) or lines of `measure topic value`, `topic measure
    value` or `measure value`.
    """
    text = b"".join(source.blocks())
    if text.startswith(_BYTE_ORDER_MARK):
        text = text[len(_BYTE_ORDER_MARK):]
    is_json = text.lstrip().startswith(b"{")
    triples = _json_values(text, source.name) if is_json else _line_values(text, source.name, settings)
    values: List[Reported] = []
    unknown: Dict[str, None] = {}
    for topic, name, figure in triples:
        found = _reported_column(name, settings)
        if found is None:
            unknown[name] = None
            continue
        column, request = found
        measure = column.measure
        if measure.summary in (None, run_tag) or topic is not None and measure.summary_only:
            continue  # a text, or what has no value for a topic
        number = _reported_figure(figure)
        if number is None:
            raise TrecEvalError("%s: expected a number as value of %s, found %s" % (
                source.name, _quoted(name), _quoted(figure)))
        values.append(Reported(column, request, None if topic is None else _encode(topic), *number))
    if not values:
        raise TrecEvalError("%s: expected values of measures that can be computed here, found none%s" % (
            source.name, ", only " + ", ".join(map(_quoted, list(unknown)[:5])) if unknown else ""))
    return _with_common_precision(values), list(unknown)


def _reported_figure(text: str) -> Optional[Tuple[float, int]]:
    """A figure as a number and the decimals that it shows, or None if it is no figure."""
    match = _FIGURE.fullmatch(text)
    if match:
        number, fraction, fraction_alone, exponent, percent = match.groups()
        decimals = len(fraction or fraction_alone or "") - int(exponent or 0) + 2 * len(percent)
        return float(number) / (100 if percent else 1), max(decimals, -300)
    return (float(text), 0) if _NO_FIGURE.fullmatch(text) else None


def _json_values(text: bytes, file: str) -> Iterator[Tuple[Optional[str], str, str]]:
    """(topic, measure, figure) of each value of a JSON report; figures stay as they are written."""
    import json
    try:
        report = json.loads(text.decode("utf-8", "surrogateescape"), parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise TrecEvalError("%s: expected JSON, found an error: %s" % (file, error)) from None
    if "settings" in report and ("summary" in report or "topics" in report):
        topics, summary = (report.get(part, {}) for part in ("topics", "summary"))
        if not isinstance(topics, dict):
            raise TrecEvalError("%s: expected topics as a JSON object, found %s" % (file, _quoted(str(topics))))
        report = {**topics, "all": summary}
    for topic, values in report.items():
        if not isinstance(values, dict):
            topic, values = "all", {topic: values}
        for name, figure in values.items():
            yield None if topic in _OVER_ALL else topic, name, str(figure)


def _line_values(text: bytes, file: str, settings: Settings) -> Iterator[Tuple[Optional[str], str, str]]:
    """(topic, measure, figure) of each line of a report."""
    rows = []
    for number, line in enumerate(text.split(b"\n"), start=1):
        row = [_decode(field) for field in line.split()]
        if row and not line.startswith(b"#"):
            if len(row) not in (2, 3):
                raise TrecEvalError("%s:%d: expected 2 or 3 fields (measure [topic] value), found %d: %s"
                                    % (file, number, len(row), _quoted(line)))
            rows.append(row)

    def known(field: int) -> float:
        names = list(dict.fromkeys(row[field] for row in rows if len(row) == 3))[:50]  # which are enough to tell
        return sum(_reported_column(name, settings) is not None for name in names) / max(len(names), 1)
    topic_first = known(1) > known(0)
    for row in rows:
        name, topic, figure = row if len(row) == 3 else (row[0], "all", row[1])
        if topic_first and len(row) == 3:
            name, topic = topic, name
        yield None if topic in _OVER_ALL else topic, name, figure


@functools.lru_cache(maxsize=1000)
def _reported_column(name: str, settings: Settings) -> Optional[Tuple[Column, str]]:
    """The column that a report's name for a measure means, and the request for it; None if there is none."""
    for request in (name, _request_of(name)):
        try:
            column, = _columns([request], settings, Notes())
            return column, request
        except ValueError:  # no such measure, or not one value
            continue
    return None


def _by_measure(values: Iterable[Reported]) -> Dict[str, List[Reported]]:
    groups: Dict[str, List[Reported]] = {}
    for value in values:
        groups.setdefault(value.column.measure.name, []).append(value)
    return groups


def _with_common_precision(values: List[Reported]) -> List[Reported]:
    """Give all values of a measure the same decimals, since JSON drops zeros, and none more than doubles have."""
    decimals = max(value.decimals for value in values)
    return [value._replace(decimals=min(shown, 12)) for group in _by_measure(values).values()
            for shown in [max(value.decimals for value in group) or decimals] for value in group]


def _as_fractions(group: List[Reported], here: "Values") -> List[Reported]:
    """The values of a measure, divided by 100 if that takes most closer to what comes out here: percentages."""
    known = [(value.value, here[value.topic, value.column.name]) for value in group
             if (value.topic, value.column.name) in here and math.isfinite(value.value)]
    closer = [abs(value / 100 - own) < abs(value - own) for value, own in known if value]
    is_percent = 1.01 < max([abs(value) for value, _ in known], default=0) <= 101 and sum(closer) > len(closer) / 2
    if not is_percent or group[0].column.measure.is_count:
        return group
    return [value._replace(value=value.value / 100, decimals=min(value.decimals + 2, 12)) for value in group]


class Conventions(NamedTuple):
    """How values are computed: trec_eval's way, or with some of it changed.

    settings         release, level and so on
    tie_key          orders documents of equal score, given topic, docno and
                     settings; those of equal key are ordered as trec_eval does
    counts           whether a topic counts in summaries, given its judgments
                     and the settings
    is_cut_off       whether reported figures are cut off instead of rounded
    rounded_to       to how many decimals values are rounded, if more are shown
    rounds_topics    whether summaries are made of values as they are shown
    functions        by measure, what takes the place of its function
    summaries        by measure, what takes the place of its summary
    ap_divisor       divides the sum of precisions, given the topic and k
    logarithm        of an average precision, for gm_map
    ndcg_gains       the gains by grade, given the topic
    ndcg_discount    divides a gain, given its rank
    ideal_retrieved  whether the ideal ranking has the retrieved documents alone
    persistence      p of rbp
    largest_grade    divides the grades to make the gains of rbp
    plain_residual   whether rbp_resid is rbp + p^N
    """

    settings: Settings
    tie_key: Optional[Callable[[bytes, bytes, Settings], Any]] = None
    counts: Optional[Callable[[Mapping[bytes, int], Settings], bool]] = None
    is_cut_off: bool = False
    rounded_to: Optional[int] = None
    rounds_topics: bool = False
    functions: Mapping[str, Callable[..., Any]] = {}
    summaries: Mapping[str, Summary] = {}
    ap_divisor: Optional[Callable[[JudgedRanking, int], float]] = None
    logarithm: Optional[Callable[[float], float]] = None
    ndcg_gains: Optional[Callable[[JudgedRanking], Gains]] = None
    ndcg_discount: Optional[Callable[[int], float]] = None
    ideal_retrieved: bool = False
    persistence: Optional[float] = None
    largest_grade: Optional[int] = None
    plain_residual: bool = False


Changes = Mapping[str, Any]  # fields of Conventions, or of their Settings, and what they become


class Convention(NamedTuple):
    """Something that others do differently; for some measures alone, if any are named."""

    sentence: str
    changes: Changes
    measures: Tuple[str, ...] = ()


Values = Dict[Tuple[Optional[bytes], str], float]  # by topic (None: over all) and printed name


class _Departure(Exception):
    """A value is not what is reported, so that the others need not be computed."""


class _Audited(_Evaluated):
    """Values of rankings that are judged once, and kept in `judged` by topic, for all that is computed of them."""

    def __init__(self, columns: List[Column], settings: Settings, judged: Dict[bytes, Any]):
        super().__init__(columns, settings)
        self._judged = judged

    def judge(self, topic: Any, judgments: Any, scores: Mapping[Any, float]) -> Any:
        if topic not in self._judged:
            self._judged[topic] = super().judge(topic, judgments, scores)
        return self._judged[topic]

    def restrict(self, topics: AbstractSet[Any]) -> None:
        """Leave only some topics in the summary."""
        self.rows = {topic: row for topic, row in self.rows.items() if topic in topics}
        counted = len(topics) if self.settings.complete else len(self.rows)
        missing = 0 if self.settings.release.evaluates_missing else counted - len(self.rows)
        self.over = self.over._replace(topics=counted, missing=missing)

    def round(self, decimals: int) -> None:
        """Make summaries of rounded values, where topics have values that are shown."""
        shown = [not column.measure.summary_only for column in self.columns]
        self.rows = {topic: array("d", [round(value, decimals) if is_shown else value
                                        for value, is_shown in zip(row, shown)])
                     for topic, row in self.rows.items()}


class Audit:
    """A run and its judgments, to be evaluated under one convention after another.

    `ranks` is {topic: {docno: rank column}}; topics and docnos are bytes.
    """

    def __init__(self, qrels: Judgments, run: Mapping[bytes, Mapping[bytes, float]],
                 ranks: Mapping[bytes, Mapping[bytes, int]], settings: Settings):
        self.settings = settings
        self._qrels = qrels
        self._run = run
        self._conventions = _conventions(qrels.topics, ranks, settings)

    def explanations(self, by_measure: Mapping[str, Sequence[Reported]]) -> Dict[str, List[str]]:
        """For each measure the conventions under which all its reported values come out, or else the pairs of them."""
        found = self._fitting(by_measure, [(convention,) for convention in self._conventions])
        others = {name: reported for name, reported in by_measure.items() if not found[name]}
        found.update(self._fitting(others, [
            (one, other) for one, other in itertools.combinations(self._conventions, 2)
            if not one.changes.keys() & other.changes.keys()]))
        return found

    def _fitting(self, by_measure: Mapping[str, Sequence[Reported]],
                 candidates: Iterable[Tuple[Convention, ...]]) -> Dict[str, List[str]]:
        """For each measure the candidates, each some conventions at once, under which its values come out.

        Those that rank alike are tried together, since judging takes most of
        the time.
        """
        by_ranking: Dict[Any, List[Tuple[int, Tuple[Convention, ...], Conventions]]] = {}
        for number, candidate in enumerate(candidates):
            changes = {field: value for convention in candidate for field, value in convention.changes.items()}
            settings = self.settings._replace(**{
                field: changes.pop(field) for field in Settings._fields if field in changes})
            conventions = Conventions(settings, **changes)
            ranking = settings._replace(complete=False), conventions.tie_key
            by_ranking.setdefault(ranking, []).append((number, candidate, conventions))
        fitting: Dict[str, List[Tuple[int, str]]] = {name: [] for name in by_measure}
        for members in by_ranking.values():
            judged: Dict[bytes, Any] = {}
            for number, candidate, conventions in members:
                for name, reported in by_measure.items():
                    is_about_it = all(name in convention.measures or not convention.measures
                                      for convention in candidate)
                    if is_about_it and self._come_out(reported, conventions, judged):
                        sentence = "; and ".join(convention.sentence for convention in candidate)
                        fitting[name].append((number, sentence))
        return {name: [sentence for _, sentence in sorted(sentences)] for name, sentences in fitting.items()}

    def _come_out(self, reported: Sequence[Reported], conventions: Conventions, judged: Dict[bytes, Any]) -> bool:
        values = self.evaluate(reported, conventions, judged, stop=True)
        return bool(values) and all(_agrees(values, value, conventions) for value in reported)

    def evaluate(self, reported: Sequence[Reported], conventions: Conventions, judged: Dict[bytes, Any],
                 stop: bool = False) -> Values:
        """The values of the reported columns under conventions, with the judged rankings that there are or will be.

        With `stop` none, as soon as one topic departs from what is reported of it.
        """
        functions = _functions(conventions)
        columns = [column._replace(measure=column.measure._replace(
            function=functions.get(column.measure.name, column.measure.function),
            summary=conventions.summaries.get(column.measure.name, column.measure.summary)))
            for column in {value.column.name: value.column for value in reported}.values()]
        evaluated = _Audited(columns, conventions.settings, judged)
        by_topic: Dict[Optional[bytes], List[Reported]] = {}
        for value in reported if stop else ():
            by_topic.setdefault(value.topic, []).append(value)

        def rankings() -> Iterator[Tuple[bytes, Mapping[bytes, float], int]]:
            both = self._run.keys() & self._qrels.topics.keys()
            for topic in sorted(both, key=lambda topic: (topic not in by_topic, topic)):
                scores = {} if topic in judged else self._reordered(topic, conventions)
                yield topic, scores, len(scores)
                if topic in by_topic and topic in evaluated.rows:
                    values = dict(_topic_values(evaluated, topic))
                    if not all(_agrees(values, value, conventions) for value in by_topic[topic]):
                        raise _Departure
        try:
            _evaluate(evaluated, self._qrels, rankings())
        except _Departure:
            return {}
        for topic, error in evaluated.failures.items():
            raise TrecEvalError("topic %s: %s" % (_quoted(topic), error), status=4)
        values: Values = dict(itertools.chain.from_iterable(
            _topic_values(evaluated, topic) for topic in evaluated.rows))
        if conventions.counts:
            evaluated.restrict({topic for topic, judgments in self._qrels.topics.items()
                                if conventions.counts(judgments, conventions.settings)})
        if conventions.rounds_topics:
            evaluated.round(reported[0].decimals)
        if evaluated.over.topics:
            values.update(((None, column.name), cast(float, value)) for column, value in evaluated.summaries())
        return values

    def _reordered(self, topic: bytes, conventions: Conventions) -> Mapping[bytes, float]:
        """A topic's scores, or others which put its tied documents into another order."""
        scores = self._run[topic]
        if conventions.tie_key is None:
            return scores
        kept = dict(zip(scores, conventions.settings.release.keep_scores(scores.values())))
        docnos = sorted(scores, reverse=True)
        key = conventions.tie_key
        docnos.sort(key=lambda docno: key(topic, docno, conventions.settings))
        docnos.sort(key=kept.__getitem__, reverse=True)  # stable, so that the keys decide between equal scores
        return {docno: float(len(docnos) - i) for i, docno in enumerate(docnos)}


def _topic_values(evaluated: _Audited, topic: bytes) -> Iterator[Tuple[Tuple[bytes, str], float]]:
    for column, value in zip(evaluated.columns, evaluated.rows[topic]):
        if not column.measure.summary_only:
            yield (topic, column.name), value


def _agrees(values: Mapping[Any, float], reported: Reported, conventions: Conventions) -> bool:
    """Whether a value is what is reported, at the precision that is shown, and that sums of doubles have."""
    value = values.get((reported.topic, reported.column.name))
    if value is None:
        return False
    if conventions.rounded_to is not None:
        value = round(value, conventions.rounded_to)
    unit = 10.0 ** -reported.decimals
    error = 1e-12 * abs(value)
    if conventions.is_cut_off and abs(value) < 1e15 * unit:
        shown = math.trunc(value / unit * (1 + 1e-12)) * unit
        return abs(shown - reported.value) <= unit / 1000 + error
    return abs(value - reported.value) <= 0.500001 * unit + error


def _functions(by: Conventions) -> Dict[str, Callable[..., Any]]:
    """By measure, what takes the place of its function under conventions."""
    functions = dict(by.functions)
    if by.ap_divisor or by.logarithm:
        functions.update(_average_precision_functions(by))
    if by.ndcg_gains or by.ndcg_discount or by.ideal_retrieved:
        functions.update(_ndcg_functions(by))
    if by.persistence is not None or by.largest_grade is not None or by.plain_residual:
        functions.update(_rbp_functions(by))
    return functions


def _average_precision_functions(by: Conventions) -> Dict[str, Callable[..., Any]]:
    divisor = by.ap_divisor or (lambda topic, k: topic.num_rel)
    logarithm = by.logarithm or (lambda value: math.log(max(value, GEOMETRIC_FLOOR)))

    def at(topic: JudgedRanking, k: int) -> Value:
        ranks = topic.relevant_to(k)
        return add_up(ranks, topic.precisions[:len(ranks)]) / divisor(topic, k)
    return {"map": lambda topic: at(topic, topic.num_ret), "map_cut": at,
            "gm_map": lambda topic: logarithm(at(topic, topic.num_ret))}


def _ndcg_functions(by: Conventions) -> Dict[str, Callable[..., Any]]:
    discount = by.ndcg_discount or (lambda rank: math.log2(rank + 1))

    def dcg(topic: JudgedRanking, gains: Gains, k: int) -> Value:
        ranks, gained = topic.gained(gains)
        return total_of(ranks[:bisect_right(ranks, k)], gained)

    def ideal_dcg(topic: JudgedRanking, gains: Gains, k: int) -> Value:
        ideal = topic.ideal_gains(gains)
        if by.ideal_retrieved:
            ideal = sorted([gain for gain in topic.gained(gains)[1] if gain > 0], reverse=True)
        return total_of(range(1, min(len(ideal), k) + 1), ideal)

    def total_of(ranks: Sequence[int], gained: Sequence[float]) -> Value:
        return add_up(ranks, [gain / discount(rank) for rank, gain in zip(ranks, gained)])

    def with_gains(function: Callable[..., Any]) -> Callable[..., Any]:
        if by.ndcg_gains is None:
            return function
        gains_of = by.ndcg_gains
        return lambda topic, given, *rest: function(topic, gains_of(topic), *rest)

    at = with_gains(lambda topic, gains, k: dcg(topic, gains, k) / ideal_dcg(topic, gains, k))
    functions: Dict[str, Callable[..., Any]] = {
        "ndcg_cut": lambda topic, k: at(topic, {}, k),
        "ndcg": lambda topic, gains: at(topic, gains, sys.maxsize),
        "dcg": with_gains(lambda topic, gains: dcg(topic, gains, sys.maxsize)),
        "ideal_dcg": with_gains(lambda topic, gains: ideal_dcg(topic, gains, sys.maxsize))}
    if not (by.ndcg_discount or by.ideal_retrieved):
        functions.update((name, with_gains(MEASURES[name].function)) for name in ("G", "ndcg_rel", "Rndcg"))
    return functions


def _rbp_functions(by: Conventions) -> Dict[str, Callable[..., Any]]:
    def p_of(p: float) -> float:
        return p if by.persistence is None else by.persistence

    def rbp(topic: JudgedRanking, p: float, gains: Gains) -> float:
        """Grades scaled by the largest one of the whole qrels, whatever gains are given, or as trec_eval does."""
        if by.largest_grade is None:
            return rank_biased_precision(topic, p_of(p), gains)
        weights = _persistences(p_of(p), topic.num_ret + 1)
        largest = max(by.largest_grade, 1)  # without a relevant document all grades are 0
        return (1 - p_of(p)) * add_up((), [topic.grades[rank] / largest * weights[rank - 1]
                                           for rank in topic.judged_ranks])

    def residual(topic: JudgedRanking, p: float) -> float:
        """Rbp and what everything beyond the ranking could add, p^N, or trec_eval's residual."""
        if by.plain_residual:
            return rbp(topic, p, {}) + _persistences(p_of(p), topic.num_ret + 1)[-1]
        return rank_biased_precision_residual(topic, p_of(p))
    return {"rbp": rbp, "rbp_resid": residual}


def _conventions(qrels: Mapping[bytes, Any], ranks: Mapping[bytes, Mapping[bytes, int]],
                 settings: Settings) -> List[Convention]:
    """All conventions to try that differ from the settings.  To try another one, add it here."""
    are_grades = settings.rel_format == "qrels"
    are_groups = settings.rel_format == "qrels_jg"
    other = next(release for release in RELEASES.values() if release != settings.release)
    table = [Convention("the rules of trec_eval %s are followed" % other.name, {"release": other})]
    table += _tie_conventions(qrels, ranks, settings)

    def has_relevant(judgments: Mapping[bytes, Any], settings: Settings) -> bool:
        grades = itertools.chain.from_iterable(group.values() for group in (
            judgments.values() if are_groups else [judgments]))
        return any(grade >= max(settings.relevance_level, 0) for grade in grades)

    table.append(Convention("topics that are missing from the run are %s" % (
        "ignored" if settings.complete else "counted as 0"), {"complete": not settings.complete}))
    if are_grades or are_groups:
        table.append(Convention("topics without a relevant document do not count in averages",
                                {"counts": has_relevant}))
        if not settings.judged_only:
            table.append(Convention("unjudged documents are removed from the ranking (-J)", {"judged_only": True}))
        table += [Convention("documents count as relevant from grade %d on (-l %d)" % (level, level),
                             {"relevance_level": level}) for level in (1, 2, 3) if level != settings.relevance_level]
    longest = max(map(len, ranks.values()), default=0)
    table += [Convention("the ranking is cut at %d documents (-M %d)" % (depth, depth), {"depth": depth})
              for depth in (5, 10, 20, 50, 100, 1000) if depth != settings.depth
              and depth < longest or settings.depth is not None and depth > settings.depth]
    table += [
        Convention("figures are cut off instead of rounded", {"is_cut_off": True}),
        *(Convention("figures are rounded to %s, although more are shown" % _plural(decimals, "decimal"),
                     {"rounded_to": decimals}) for decimals in (1, 2, 3)),
        Convention("averages are taken over rounded values, as they are shown for topics", {"rounds_topics": True})]
    return table + (_measure_conventions(qrels) if are_grades else [])


def _tie_conventions(qrels: Mapping[bytes, Any], ranks: Mapping[bytes, Mapping[bytes, int]],
                     settings: Settings) -> List[Convention]:
    """What orders documents of equal score."""
    places = {topic: {docno: i for i, docno in enumerate(of_topic)} for topic, of_topic in ranks.items()}
    keys: List[Tuple[str, Callable[[bytes, bytes, Settings], Any]]] = [
        ("as in the run file", lambda topic, docno, settings: places[topic][docno]),
        ("by the rank column of the run", lambda topic, docno, settings: ranks[topic][docno])]
    if "prefs" in settings.rel_format:
        # By descending docno, which is the order that `_reordered` starts from.
        keys.insert(0, ("by descending docno", lambda topic, docno, settings: 0))
    else:
        keys.insert(0, ("by ascending docno", lambda topic, docno, settings: docno))
    if settings.rel_format == "qrels":
        def is_relevant(topic: bytes, docno: bytes, settings: Settings) -> bool:
            return bool(qrels[topic].get(docno, -1) >= max(settings.relevance_level, 0))
        keys += [("with the relevant ones last", is_relevant),
                 ("with the relevant ones first", lambda *document: not is_relevant(*document))]
    return [Convention("documents of equal score are ordered " + how, {"tie_key": key}) for how, key in keys]


_AP = ("map", "map_cut", "gm_map")
_NDCG = ("ndcg_cut", "ndcg", "dcg", "ideal_dcg")
_WITH_GAINS = (*_NDCG, "G", "ndcg_rel", "Rndcg")


def _measure_conventions(qrels: Mapping[bytes, Mapping[bytes, int]]) -> List[Convention]:
    """The conventions that change the formula of a measure."""
    def instead(sentence: str, functions: Mapping[str, Callable[..., Any]]) -> Convention:
        return Convention(sentence, {"functions": functions}, tuple(functions))

    def interpolated(topic: JudgedRanking, level: float) -> Value:
        return _best_precision_from(topic, math.ceil(level * topic.num_rel - 1e-9))

    def original_bpref(topic: JudgedRanking) -> Value:
        above = map(topic.nonrelevant_above, topic.relevant_ranks)
        return add_up(topic.relevant_ranks, [1 - min(n, topic.num_rel) / topic.num_rel for n in above]) / topic.num_rel

    def nonzero_mean(values: Sequence[float], over: Averaging) -> float:
        kept = [value for value in values if value > math.log(GEOMETRIC_FLOOR)]
        return geometric_mean(kept, Averaging(len(kept))) if kept else 0.0

    largest = max((grade for judgments in qrels.values() for grade in judgments.values()), default=1)
    return [
        Convention("AP is divided by the relevant documents retrieved",
                   {"ap_divisor": lambda topic, k: len(topic.relevant_to(k))}, _AP),
        Convention("AP is divided by min(R, k)",
                   {"ap_divisor": lambda topic, k: min(topic.num_rel, k)}, ("map_cut",)),
        Convention("AP is divided by min(R, N)",
                   {"ap_divisor": lambda topic, k: min(topic.num_rel, topic.num_ret)}, _AP),
        Convention("ndcg has gains of 2^grade - 1", {"ndcg_gains": lambda topic: {
            grade: 2.0 ** min(grade, 300) - 1 for grade in topic.grade_counts}}, _WITH_GAINS),
        Convention("ndcg has a gain of 1 for every relevant document", {"ndcg_gains": lambda topic: {
            grade: float(grade >= topic.relevance_level) for grade in topic.grade_counts}}, _WITH_GAINS),
        Convention("the ideal ranking of ndcg has the retrieved documents alone", {"ideal_retrieved": True},
                   ("ndcg_cut", "ndcg", "ideal_dcg")),
        Convention("ndcg does not discount its first ranks: the gain is divided by log2(k), from rank 2 on",
                   {"ndcg_discount": lambda rank: max(1.0, math.log2(rank))}, _NDCG),
        instead("precision is divided by min(k, N)", {
            "P": lambda topic, k: share(topic.relevant_to(k), min(k, topic.num_ret))}),
        instead("recall is divided by min(R, k)", {"recall": relative_precision}),
        instead("Rprec_mult is as published: hits at rank floor(c * R + 0.5), divided by R", {
            "Rprec_mult": lambda topic, multiple: recall(topic, math.floor(multiple * topic.num_rel + 0.5))}),
        instead("bpref is 1 - n/R for each relevant document", {
            "bpref": original_bpref, "gm_bpref": lambda topic: _floored_log(original_bpref(topic))}),
        instead("interpolated precision is the largest one at recall >= c exactly", {
            "iprec_at_recall": interpolated, "11pt_avg": lambda topic, levels: add_up(
                (), [interpolated(topic, level) for level in levels[::-1]]) / len(levels)}),
        Convention("0.00001 is added to each AP in gm_map, instead of being its least value",
                   {"logarithm": lambda value: math.log(value + GEOMETRIC_FLOOR)}, ("gm_map",)),
        Convention("topics with an AP of 0 are left out of gm_map", {"summaries": {"gm_map": nonzero_mean}},
                   ("gm_map",)),
        *(Convention("rbp has p = %s" % p, {"persistence": p}, ("rbp", "rbp_resid")) for p in (0.5, 0.8, 0.95)),
        Convention("grades are divided by the largest one of all topics in rbp", {"largest_grade": largest}, ("rbp",)),
        Convention("rbp_resid is as published: rbp + p^N", {"plain_residual": True}, ("rbp_resid",))]


_MOST_ROWS = 5  # of a measure's values that do not agree
_MOST_EXPLANATIONS = 12


def _audit(audit: Audit, reported: Sequence[Reported], files: Sequence[str], digits: int) -> Tuple[int, List[str]]:
    """The number of values that do not agree, and the lines that say which and why."""
    own = Conventions(audit.settings)
    here = audit.evaluate(reported, own, {})
    groups = {name: _as_fractions(group, here) for name, group in _by_measure(reported).items()}
    departing = {name: [value for value in group if not _agrees(here, value, own)] for name, group in groups.items()}
    explanations = audit.explanations({name: groups[name] for name, wrong in departing.items() if wrong})
    lines = []
    for name, sentences in explanations.items():
        wrong = departing[name]
        lines += ["", "%s: %d of %s %s not agree" % (name, len(wrong), _plural(len(groups[name]), "value"),
                                                     "does" if len(wrong) == 1 else "do"),
                  *_worst(wrong, here, digits)]
        if sentences:
            lines.append("  all reported values of %s come out if" % name)
            lines += ["    " + ("or " if i else "") + sentence
                      for i, sentence in enumerate(sentences[:_MOST_EXPLANATIONS])]
            if len(sentences) > _MOST_EXPLANATIONS:
                lines.append("    or %d more" % (len(sentences) - _MOST_EXPLANATIONS))
        else:
            lines += _unexplained(wrong, here, audit.settings, files)
    return sum(map(len, departing.values())), lines


def _worst(wrong: Sequence[Reported], here: Values, digits: int) -> List[str]:
    """The table of the values that depart most."""
    def departure(value: Reported) -> float:
        own = here.get((value.topic, value.column.name))
        difference = math.inf if own is None else abs(value.value - own)
        return math.inf if math.isnan(difference) else difference

    def figure(value: float, decimals: int) -> str:
        return "%.*f" % (max(decimals, 0), value) if abs(value) < 1e15 else "%g" % value
    rows = []
    for value in sorted(wrong, key=departure, reverse=True)[:_MOST_ROWS]:
        own = here.get((value.topic, value.column.name))
        rows.append(["all topics" if value.topic is None else _decode(value.topic), value.column.name,
                     figure(value.value, value.decimals),
                     "none" if own is None else figure(own, max(value.decimals, digits))])
    return _table(["topic", "measure", "reported", "here"], rows, True)


def _unexplained(wrong: Sequence[Reported], here: Values, settings: Settings, files: Sequence[str]) -> List[str]:
    """What to say of values that no convention explains: where they depart first, and how to see why."""
    import shlex
    lines = ["  no convention that is known here explains that, nor do two together"]
    known = [value for value in wrong if (value.topic, value.column.name) in here]
    if not known:
        return lines + ["  nothing is computed here for %s" % (
            "all topics" if wrong[0].topic is None else "topic " + _decode(wrong[0].topic))]
    first = min(known, key=lambda value: (value.topic is None, value.topic or b""))
    name = "the summary" if first.topic is None else "topic " + _decode(first.topic)
    command = ["trec_eval_ref", "--explain", first.request,
               *([] if first.topic is None else ["-D", "0." + _decode(first.topic)]), *_options(settings), *files]
    return lines + ["  for the first to depart, %s, see" % name, "    " + " ".join(map(shlex.quote, command))]


def _options(settings: Settings) -> List[str]:
    """The command line options that give the settings."""
    default = Settings()
    valued = (("--release", settings.release.name, default.release.name),
              ("-l", settings.relevance_level, default.relevance_level), ("-M", settings.depth, default.depth),
              ("-N", settings.collection_size, default.collection_size),
              ("-R", settings.rel_format, default.rel_format))
    return [*["-c"] * settings.complete, *["-J"] * settings.judged_only,
            *(word for option, value, usual in valued if value != usual for word in (option, str(value)))]


def _audit_files(qrels: Source, run: Source, report: Source, settings: Settings,
                 digits: int, notes: Notes) -> Tuple[int, List[bytes]]:
    """Compare a report with what comes out here: the exit status, 3 if something does not agree, and the lines."""
    rel_format = REL_FORMATS[settings.rel_format]
    judgments = rel_format.read(qrels, settings.release, notes)
    ranks: Dict[bytes, Dict[bytes, int]] = {}
    for _, (topics, _, docnos, texts, *_) in _tables(run, _RUN, settings.release, notes):
        for topic, docno, text in zip(topics, docnos, texts):
            ranks.setdefault(topic, {})[docno] = _integer(text)[0]
    notes.restart(run.name)  # which is read twice
    scores, duplicated = RunReader(run, None, settings.release, notes).whole()
    reported, unknown = _read_report(report, settings)
    reported_topics = {value.topic for value in reported} - {None}
    both = judgments.topics.keys() & scores.keys()
    if not both:
        raise _nothing_in_common((qrels.name, judgments.topics), (run.name, scores))
    for topic in sorted(both & duplicated):
        raise _duplicate(run, _RUN, settings.release, topic)
    for topic in sorted(both & judgments.duplicated):
        raise rel_format.error(qrels, settings.release, topic)
    if reported_topics and not reported_topics & judgments.topics.keys():
        raise TrecEvalError(str(_nothing_in_common(
            (report.name, reported_topics), (qrels.name, judgments.topics))))
    audit = Audit(judgments, scores, ranks, settings)
    departures, lines = _audit(audit, reported, (qrels.name, run.name), digits)
    head = ["%d of %s in %s agree with what comes out here" % (
        len(reported) - departures, _plural(len(reported), "value"), report.name), "  " + signature(settings)]
    if unknown:
        head.append("  not compared, since not computed here: " + ", ".join(unknown))
    return 3 if departures else 0, [_encode(line) + b"\n" for line in head + lines]


# ---- The interface of pytrec_eval ----

supported_measures: Set[str] = set(NICKNAMES["all_trec"]) - RELEASES["9.0.8"].lacks
supported_nicknames: Dict[str, Set[str]] = {
    nickname: set(names) - RELEASES["9.0.8"].lacks for nickname, names in NICKNAMES.items()}

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

    The judgments are copied.  An evaluator never changes, so threads can share it.

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
            raise TypeError("expected integers as relevance_level and judged_docs_only_flag, found %r and %r"
                            % (relevance_level, judged_docs_only_flag)) from None
        if level < 1:
            raise TypeError("expected a relevance_level from 1, found %d" % level)
        self._settings = Settings(_release(release), level, judged_only=judged_only)
        notes = Notes()
        self._columns = _columns(_merged(measures, self._settings.release), self._settings, notes)
        notes.warn()
        self._names = [_name_of(column) for column in self._columns]
        for name, number in Counter(self._names).items():
            if number > 1:
                raise TrecEvalError("measure %s: expected its parameters once, found %d different ones"
                                    % (name, number), status=1)
        self._qrels: Dict[str, Dict[str, int]] = {}
        for topic, judgments in _items(query_relevance, "query_relevance"):
            checked = _checked_grades(topic, judgments)
            if checked:
                self._qrels[topic] = dict(checked)

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> Dict[str, Dict[str, float]]:
        """Evaluate a run {topic: {docno: score}}; the result is {topic: {printed name: value}}.

        The topics are those that have judgments and are in the run.  A topic
        with an empty ranking is one of them.  gm_map and gm_bpref are logarithms,
        num_q is 1, runid and relstring are 0.

        Raises TypeError for a topic or docno that is no string and for a score
        that is no number, TrecEvalError (a ValueError) for NaN.
        """
        evaluated = _Evaluated(self._columns, self._settings)
        for topic, ranking in _items(scores or {}, "scores"):
            ranking = _checked_scores(topic, ranking)
            if topic in self._qrels:
                evaluated.add(topic, self._qrels[topic], ranking)
        return {topic: dict(zip(self._names, row)) for topic, row in evaluated.rows.items()}


def _merged(measures: Iterable[str], release: Release) -> Iterator[str]:
    """The requests for measures in trec_eval's spelling, one a measure where they can be merged.

    As in pytrec_eval, numbers for the same measure go together, each of them
    once, sorted as texts; and so of several values for set_F the first counts.
    """
    together: Dict[str, Set[str]] = {}
    for request in [measures] if isinstance(measures, str) else measures:
        underscored = isinstance(request, str) and _NUMBER_AFTER_UNDERSCORE.fullmatch(request)
        if underscored and underscored.group(1) in MEASURES:
            request = "%s.%s" % underscored.groups()
        name, text = _split_request(request, release)
        if text and name in NICKNAMES:
            raise TrecEvalError("measure %s: expected a nickname without parameters, found %s"
                                % (name, _quoted(text)), status=1)
        if text and "=" not in text and len(MEASURES[name].parameters.defaults[0][1]) == 1:
            together.setdefault(name, set()).update(text.split(","))
        else:
            yield request
    for name, numbers in together.items():
        yield "%s.%s" % (name, ",".join(sorted(numbers)))


def _name_of(column: Column) -> str:
    """The printed name of a column, but as in pytrec_eval set_F and not set_F_0.5."""
    one_value = not column.measure.parameters.sort and "=" not in column.name
    return column.measure.name if one_value else column.name


def parse_qrel(f_qrel: Any) -> Dict[str, Dict[str, int]]:
    """Read judgments, lines of `topic iter docno grade`, into {topic: {docno: grade}}.

    `f_qrel` is an open file or an iterable of lines, or a path.  Stricter than
    `read_qrels`: raises TrecEvalError (a ValueError) for a grade that is not an
    integer, AssertionError if a topic judges a document twice.

    >>> dict(parse_qrel(["301 0 FT911-1 1", "301 0 FT911-2 0"]))
    {'301': {'FT911-1': 1, 'FT911-2': 0}}
    """
    source, rules = Source.of(f_qrel, "qrels"), RELEASES["9.0.8"]
    judgments = _read_qrels(source, rules, _Strictly()) if _has_lines(source) else Judgments({}, set())
    for topic in judgments.duplicated:
        raise AssertionError(_duplicate(source, _QRELS, rules, topic))
    return _parsed(judgments.topics)


def parse_run(f_run: Any) -> Dict[str, Dict[str, float]]:
    """Read a run, lines of `topic Q0 docno rank score tag`, into {topic: {docno: score}}.

    `f_run` as for `parse_qrel`, and with the same errors, for scores that are
    not numbers.

    >>> dict(parse_run(["301 Q0 FT911-1 1 2.5 bm25", "301 Q0 FT911-2 2 1e-3 bm25"]))
    {'301': {'FT911-1': 2.5, 'FT911-2': 0.001}}
    """
    source, rules = Source.of(f_run, "run"), RELEASES["9.0.8"]
    rankings, duplicated = RunReader(source, None, rules, _Strictly()).whole() if _has_lines(source) else ({}, set())
    for topic in duplicated:
        raise AssertionError(_duplicate(source, _RUN, rules, topic))
    return _parsed(rankings)


def _has_lines(source: Source) -> bool:
    return any(block.strip() for block in source.blocks())


class _Strictly(Notes):
    """Notes that make an error of what trec_eval would read as another number than the file says."""

    def add(self, kind: str, place: str, text: str, read_as: str = "") -> None:
        if kind != "byte-order mark":
            raise TrecEvalError("%s: %s" % (place, text))


def _parsed(topics: Mapping[Any, Mapping[Any, Any]]) -> Dict[str, Dict[str, Any]]:
    parsed: Dict[str, Dict[str, Any]] = defaultdict(dict)  # in which, as there, any other topic is empty
    for topic, documents in topics.items():
        parsed[_decode(topic)] = {_decode(docno): value for docno, value in documents.items()}
    return parsed


def compute_aggregated_measure(measure: str, values: Iterable[float]) -> float:
    """The value of a measure over all topics, from its values for each of them.

    Counts (num_...) are added up, of logarithms (gm_...) it is the exponential
    of the mean, of everything else the mean; of no values, NaN.

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
    """The sum in numpy's order: halves of a long list by themselves, in a short one every eighth number."""
    length = len(numbers)
    if length > 128:
        half = length // 16 * 8
        return _add_as_numpy(numbers[:half]) + _add_as_numpy(numbers[half:])
    if length < 8:
        return float(add_up((), numbers))
    even = length // 8 * 8
    a, b, c, d, e, f, g, h = [float(add_up((), numbers[i:even:8])) for i in range(8)]
    return float(add_up((), [((a + b) + (c + d)) + ((e + f) + (g + h)), *numbers[even:]]))


# ---- Command line ----


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
    Option("m", "measure", "MEASURE", "a measure (P, P.5,10 with parameters, P@5,10 for cutoffs) or a nickname"
           " (official, set, all_trec); may be repeated; default: official"),
    Option("c", "complete_rel_info_wanted", "", "average over all topics of the qrels, not only those in the run"),
    Option("l", "level_for_rel", "N", "the least grade that counts as relevant (default 1)"),
    Option("n", "nosummary", "", "do not print the summary"),
    Option("D", "Debug_level", "N.TOPIC", "evaluate and print this topic alone"),
    Option("J", "Judged_docs_only", "", "remove unjudged documents from the ranking"),
    Option("N", "Number_docs_in_coll", "N", "the number of documents in the collection, for utility"),
    Option("M", "Max_retrieved_per_topic", "N", "keep only the first N documents of a topic"),
    Option("R", "Rel_info_format", "FORMAT", "format of the judgments: qrels (default), qrels_jg (judgments by several"
           " people), prefs (preferences) or qrels_prefs (a qrels file read as preferences)"),
    Option("T", "Results_format", "FORMAT", "format of the run: trec_results"),
    Option("Z", "Zscore", "FILE", "print Z-scores, by the norms in FILE: lines of `topic measure mean deviation`"),
    Option("o", "Output_old_results_format", "", "accepted and ignored"),
    Option("", "release", "RELEASE", "the trec_eval release to agree with: 10.0 (default) or 9.0.8"),
    Option("", "json", "", "print one JSON object, with all digits of each value"),
    Option("", "digits", "N", "print N decimals instead of 4"),
    Option("", "explain", "MEASURE", "show for each topic how the value of a measure comes about; may be repeated"),
    Option("", "explain-all", "", "show all rows of long tables"),
    Option("", "audit", "REPORT", "compare what another tool printed, and find out which conventions explain it"),
    Option("", "signature", "", "print the settings that numbers depend on, in one line"),
    Option("", "strict", "", "treat warnings as errors"),
    Option("", "quiet", "", "do not show progress"),
)


def _help(requests: Iterable[str], settings: Settings) -> str:
    """The help page, and the documentation of each measure asked for."""
    import inspect
    lines = ["usage: trec_eval_ref [options] QRELS RUN", "",
             "Score a run as trec_eval does.  QRELS has lines of `topic iter docno grade`, RUN lines of",
             "`topic Q0 docno rank score tag`.  Either may be - (standard input) or compressed.", "",
             "With -R qrels_jg and -R qrels_prefs, QRELS has lines of `topic group docno grade`, with -R prefs of",
             "`topic group subgroup docno level`: judgments or preferences of several people, the groups.", ""]
    for option in _OPTIONS:
        names = ["-" + option.short] * bool(option.short) + ["--" + option.long]
        lines.append("  %s %s" % (", ".join(names), option.value))
        lines.append("        " + option.help)
    lines += ["", "measures: " + " ".join(MEASURES), "nicknames: " + " ".join(NICKNAMES)]
    for request in requests:
        name, _ = _split_request(request, settings.release)
        for member in NICKNAMES.get(name, (name,)):
            measure = MEASURES[member]
            lines += ["", "%s (%s)" % (member, measure.function.__name__),
                      "    parameters: " + measure.parameters.syntax]
            lines += ["    " + line if line else "" for line in (inspect.getdoc(measure.function) or "").split("\n")]
    return "\n".join(lines) + "\n"


def _integer_option(option: str, text: str, least: int = -2 ** 63, most: int = 2 ** 63 - 1) -> int:
    number, plain = _integer(_encode(text))
    if not plain or not least <= number <= most:
        bounds = (" from %d" % least if least > -2 ** 63 else "") + (" to %d" % most if most < 2 ** 63 - 1 else "")
        raise TrecEvalError("option %s: expected an integer%s, found %s" % (option, bounds, _quoted(text)), status=1)
    return number


def _parse(argv: Sequence[str]) -> Tuple[Dict[str, List[str]], List[str]]:
    """The values of each option by its long name, and the files, from arguments in GNU style."""
    import getopt
    short = "".join(option.short + ":" * bool(option.value) for option in _OPTIONS if option.short)
    long = [option.long + "=" * bool(option.value) for option in _OPTIONS]
    try:
        pairs, files = getopt.gnu_getopt(list(argv), short, long)
    except getopt.GetoptError as error:
        raise TrecEvalError("%s; --help lists the options" % error.msg, status=1) from None
    long_name = {"-" + option.short: option.long for option in _OPTIONS}
    options: Dict[str, List[str]] = {}
    for option, value in pairs:
        options.setdefault(long_name.get(option, option[2:]), []).append(value)
    return options, files


def _settings(options: Mapping[str, str]) -> Settings:
    """The settings that the last value of each option gives."""
    rel_format = options.get("Rel_info_format", "qrels")
    if rel_format not in REL_FORMATS:
        raise TrecEvalError("option -R: expected a format, one of %s, found %s"
                            % (", ".join(REL_FORMATS), _quoted(rel_format)))
    if options.get("Results_format", "trec_results") != "trec_results":
        raise TrecEvalError("option -T: expected trec_results, found %s" % _quoted(options["Results_format"]))
    depth = options.get("Max_retrieved_per_topic")
    return Settings(_release(options.get("release", "10.0")),
                    _integer_option("-l", options.get("level_for_rel", "1")),
                    "complete_rel_info_wanted" in options, "Judged_docs_only" in options,
                    None if depth is None else _integer_option("-M", depth, 0),
                    _integer_option("-N", options.get("Number_docs_in_coll", "0")), rel_format)


def _command(argv: Sequence[str]) -> Tuple[int, Iterable[bytes]]:
    """Do what the arguments say; exit status and lines for standard output, once nothing can fail any more."""
    given, files = _parse(argv)
    options = {name: values[-1] for name, values in given.items()}
    requests = given.get("explain", given.get("measure", ["official"]))
    settings = _settings(options)
    if "help" in options:
        return 0, [_encode(_help(given.get("measure", []), settings))]
    if "version" in options:
        return 0, [b"trec_eval_ref %s (trec_eval 10.0 and 9.0.8)\n" % __version__.encode()]
    if "signature" in options:
        return 0, [_encode(signature(settings)) + b"\n"]
    if len(files) != 2:
        raise TrecEvalError("expected two files, QRELS and RUN, found %d; --help explains the usage"
                            % len(files), status=1)
    if [*files, options.get("Zscore"), options.get("audit")].count("-") > 1:
        raise TrecEvalError("expected standard input (-) for one file, found it for several", status=1)
    for option in ("explain", "audit"):
        if option in options and "json" in options:
            raise TrecEvalError("expected --%s without --json, found both" % option, status=1)
    digits = _integer_option("--digits", options.get("digits", "4"), 0, 1000)
    level, dot, only = options.get("Debug_level", "0").partition(".")
    _integer_option("-D", level)
    is_explained = "explain" in options
    if is_explained and "Zscore" in options:
        raise TrecEvalError("expected --explain without -Z, which converts what is explained", status=1)
    notes = Notes()
    qrels, run = map(Source.of, files)
    if "audit" in options:
        status, lines = _audit_files(qrels, run, Source.of(options["audit"]), settings, digits, notes)
        _report_notes(notes, "strict" in options)
        return status, lines
    norms = _read_zscores(Source.of(options["Zscore"]), settings.release, notes) if "Zscore" in options else None
    with _progress("quiet" in options) as progress:
        evaluated = _evaluate_files(_Explained if is_explained else _Evaluated, qrels, run, requests, settings, notes,
                                    only if dot else None, not is_explained, norms, progress)
    if "Number_docs_in_coll" not in options and any(
            column.measure.name == "utility" and column.arguments[3] for column in evaluated.columns):
        notes.add("utility", "measure utility", "the last coefficient needs the size of the collection (-N)")
    _report_notes(notes, "strict" in options)
    per_topic, summary = "query_eval_wanted" in options, "nosummary" not in options
    if isinstance(evaluated, _Explained):
        return 0, _explanation(evaluated, run, summary, "explain-all" in options, digits)
    if "json" in options:
        return 0, [_encode(_report_json(evaluated, per_topic, summary, requests)) + b"\n"]
    return 0, _report_lines(evaluated, per_topic, summary, digits)


def _report_notes(notes: Notes, is_strict: bool) -> None:
    """Print warnings, or with --strict make an error of the first."""
    if is_strict and notes.lines():
        raise TrecEvalError(notes.lines()[0])
    for line in notes.lines():
        _complain("warning: " + line)


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
    if sys.stderr is not None:
        one_line = message.replace("\r", "\\r").replace("\n", "\\n")
        try:
            print("trec_eval_ref: " + one_line, file=sys.stderr, flush=True)
        except ValueError:  # it is closed, or a stand-in that cannot encode the message
            pass
        except OSError:  # what cannot be said must not cost the result
            _give_up(sys.stderr)


def _give_up(stream: IO[str]) -> None:
    """Let a stream that cannot be written lead nowhere: Python flushes it once more at the end, which must not fail."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # what stands in for it may have no descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _write(lines: Iterable[bytes]) -> None:
    """Write bytes to standard output, whatever it is; a reader that has gone away is no error."""
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
        is_gone = isinstance(error, BrokenPipeError) or os.name == "nt" and error.errno == errno.EINVAL
        if not is_gone:
            raise TrecEvalError("standard output: cannot be written: %s" % error.strerror) from None
    except UnicodeEncodeError as error:  # by what stands in for it
        raise TrecEvalError("standard output: cannot be written: %s" % error) from None


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
