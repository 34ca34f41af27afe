# SPDX-License-Identifier: Apache-2.0
"""
What measurements become: figures with their spread, tables on the terminal as they come, and the
same tables between the markers of a page.

A page says where a command writes:

    <!-- measured: NAME -->
    ...
    <!-- end of NAME -->

What stands between is replaced when the block is done; the rest of the page, and the blocks that
were not measured this time, stay as they are.

usage: tables.py PAGE NAME COMMAND [ARGUMENT...]     for scripts in other languages: takes what
the command prints on stdin, shows it, and writes it as it is into that block
"""

import os
import re
import statistics
import sys
import tempfile

import machine

START = "<!-- measured: %s -->"
END = "<!-- end of %s -->"


# --- figures -------------------------------------------------------------------------------------

def spread(values, form="%.2f"):
    """Median (minimum .. maximum); one value stands alone."""
    middle = form % statistics.median(values)
    if len(values) == 1:
        return middle
    return "%s (%s .. %s)" % (middle, form % min(values), form % max(values))


def lower_quartile(values):
    """
    The value below which a quarter lies.  What disturbs a run only makes it longer, and a virtual
    machine may have a quick and a slow mood: of seven rounds the second best is steadier than the
    median, and less of an accident than the best.
    """
    return sorted(values)[(len(values) - 1) // 4]


def ratios(values, plain):
    """Each round's run to the plain one of the same round; there may be fewer than of those."""
    return [value / base for value, base in zip(values, plain)]


def compare(values, plain, form="%.3f"):
    """The ratio of the lower quartiles; then the ratios of the rounds."""
    plain = plain[:len(values)]
    return (form % (lower_quartile(values) / lower_quartile(plain)),
            spread(ratios(values, plain), form))


# --- tables --------------------------------------------------------------------------------------

def joined(cell, between):
    """A cell is a text, or several, one below the other."""
    return cell if isinstance(cell, str) else between.join(cell)


def find_block(text, name):
    """Where the block's inside begins and ends."""
    start, end = START % name, END % name
    if text.count(start) != 1 or text.count(end) != 1 or text.find(end) < text.find(start):
        return None
    return text.index(start) + len(start), text.index(end)


def replace_block(text, name, inside):
    begin, end = find_block(text, name)
    return text[:begin] + "\n" + inside.strip("\n") + "\n" + text[end:]


def write_whole(path, text):
    """The file has the old text or the new one, never half of it."""
    directory = os.path.dirname(os.path.abspath(path))
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=directory, delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


class Tables:
    """
    Prints blocks of tables.  `page`: the file that also gets them; one that is not there yet is
    made of the blocks named.
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
            sys.exit("%s: there is no place for %s: %s ... %s" % (
                page, ", ".join(missing), START % missing[0], END % missing[0]))

    def begin(self, name):
        self.name, self.lines = name, []

    def end(self):
        """Writes the block to the page: what a long run has measured is safe if it is ended."""
        if self.page:
            with open(self.page, encoding="utf-8") as file:
                text = file.read()
            inside = re.sub(r"\n{3,}", "\n\n", "\n".join(self.lines))
            write_whole(self.page, replace_block(text, self.name, inside))
        self.name, self.lines = None, []

    def describe(self, name, pairs):
        """A block of its own: what there is, and which."""
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


def main():
    page, name, command = sys.argv[1:4]
    tables = Tables(page, [name])
    tables.begin(name)
    tables.lines.append("```")
    for line in sys.stdin:
        print(line, end="", flush=True)
        tables.lines.append(line.rstrip("\n"))
    tables.lines.append("```")
    tables.say(machine.how(machine.command_line(command, sys.argv[4:])))
    tables.end()


if __name__ == "__main__":
    main()
