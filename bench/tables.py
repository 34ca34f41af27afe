# SPDX-License-Identifier: Apache-2.0
"""
Output of measurements: figures with their spread, tables printed as they are completed, and the
same tables between the markers of a page.

Markers in a page, by which a command finds its block:

    <!-- measured: NAME -->
    ...
    <!-- end of NAME -->

The lines in between are replaced when the block is done; the rest of the page, and blocks that
were not measured, stay unchanged.
"""

import contextlib
import math
import os
import re
import statistics
import sys
import tempfile
import time

import machine

START = "<!-- measured: %s -->"
END = "<!-- end of %s -->"


# --- figures -------------------------------------------------------------------------------------

def spread(values, form="%.2f"):
    """Median (minimum .. maximum); a single value without the rest."""
    middle = form % statistics.median(values)
    if len(values) == 1:
        return middle
    return "%s (%s .. %s)" % (middle, form % min(values), form % max(values))


def lower_quartile(values):
    """
    The first quartile.  Disturbances only make a run longer, and a virtual
    machine may have fast and slow phases: of seven rounds the second best varies less than the
    median, and depends less on chance than the best.
    """
    return sorted(values)[(len(values) - 1) // 4]


def ratios(values, plain):
    """Ratio of each run to the plain run of the same round; there may be fewer than plain runs."""
    return [value / base for value, base in zip(values, plain)]


def compare(values, plain, form="%.3f"):
    """The ratio of the lower quartiles, and the smallest and largest ratio of the rounds."""
    plain = plain[:len(values)]
    rounds = ratios(values, plain)
    ratio = form % (lower_quartile(values) / lower_quartile(plain))
    return "**%s** (%s .. %s)" % (ratio, form % min(rounds), form % max(rounds))


def chance(few, many):
    """The probability that, of few + many fair coins, at most `few` or at least `many` are heads."""
    count = few + many
    return min(1, 2 * sum(math.comb(count, heads) for heads in range(few + 1)) / 2 ** count)


def interval_of_median(values, confidence):
    """
    The narrowest interval between two of the values, equally far from both ends, that contains the
    median of their distribution, whichever it is, with this probability: the number of values below
    the median is that of heads of fair coins.  None if there are too few values.
    """
    ordered = sorted(values)
    found = None
    for outside in range((len(ordered) + 1) // 2):
        if chance(outside, len(ordered) - outside) > 1 - confidence:
            break
        found = ordered[outside], ordered[-1 - outside]
    return found


# --- tables --------------------------------------------------------------------------------------

def joined(cell, between):
    """A cell is a text, or a list of texts."""
    return cell if isinstance(cell, str) else between.join(cell)


def find_block(text, name):
    """Start and end of the contents of a block."""
    start, end = START % name, END % name
    if text.count(start) != 1 or text.count(end) != 1 or text.find(end) < text.find(start):
        return None
    return text.index(start) + len(start), text.index(end)


def replace_block(text, name, inside):
    begin, end = find_block(text, name)
    return text[:begin] + "\n" + inside.strip("\n") + "\n" + text[end:]


def write_whole(path, text):
    """Replaces the file atomically."""
    directory = os.path.dirname(os.path.abspath(path))
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=directory, delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


class Tables:
    """
    Prints blocks of tables.  `page`: the file that also gets them; if it does not exist, it is
    created with the blocks named.
    """

    def __init__(self, page=None, names=()):
        self.page = page
        self.name = None
        self.lines = []
        if not page:
            return
        if not os.path.exists(page):
            write_whole(page, "\n\n".join(
                START % name + "\n" + END % name for name in names) + "\n")
        with open(page, encoding="utf-8") as file:
            text = file.read()
        missing = [name for name in names if not find_block(text, name)]
        if missing:
            sys.exit("%s: no markers for %s: %s ... %s" % (
                page, ", ".join(missing), START % missing[0], END % missing[0]))

    def begin(self, name):
        self.name, self.lines = name, []

    def end(self):
        """Writes the block to the page, so that the results of a long run are kept if it is ended."""
        if self.page:
            with open(self.page, encoding="utf-8") as file:
                text = file.read()
            inside = re.sub(r"\n{3,}", "\n\n", "\n".join(self.lines))
            write_whole(self.page, replace_block(text, self.name, inside))
        self.name, self.lines = None, []

    @contextlib.contextmanager
    def block(self, name, words=None):
        """A block of what is measured meanwhile, with a last line about how (machine.how)."""
        begin = time.monotonic()
        self.begin(name)
        yield self
        self.say(machine.how(time.monotonic() - begin, words))
        self.end()

    def describe(self, name, pairs):
        """A separate block of names and versions."""
        self.begin(name)
        self.heading("", "what", "which")
        for pair in pairs:
            self.row(*pair)
        self.end()

    def say(self, text):
        """A paragraph."""
        self._both("\n" + text + "\n")

    def heading(self, text, *columns):
        if text:
            self._both("\n### %s\n" % text)
        self.row(*columns)
        self._both("|%s|" % "|".join("---" for _ in columns))

    def row(self, *cells):
        form = "| " + " | ".join(["%s"] * len(cells)) + " |"
        print(form % tuple(joined(cell, "; ") for cell in cells), flush=True)
        self.lines.append(form % tuple(joined(cell, "<br>") for cell in cells))

    def _both(self, text):
        print(text, flush=True)
        self.lines.append(text)

