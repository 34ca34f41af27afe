# SPDX-License-Identifier: Apache-2.0
"""
The configurations in which a program is measured: plain, under twinheap, under its peers; and the
runs.
"""

import collections
import glob
import os
import subprocess
import sys
import tempfile
import time

import machine

# Rounds of slow configurations.
FEW = 3


class Config:
    """
    A configuration: a program with a library preloaded, with an agent, or plain.

    divisor: the number of pairs of malloc and free is divided by it.
    rounds: maximum number of rounds of a slow configuration.
    pauses: the recording is paused before the load begins.
    """

    def __init__(self, name, preload=(), environment=None, java=(), divisor=1, rounds=None,
                 pauses=False):
        self.name = name
        self.preload = list(preload)
        self.settings = environment or {}
        self.java = list(java)
        self.divisor = divisor
        self.rounds = rounds
        self.pauses = pauses

    def environment(self):
        variables = dict(os.environ, **self.settings)
        if self.preload:
            variables["LD_PRELOAD"] = ":".join(self.preload)
        return variables


def plain():
    return Config("plain")


def twinheap(build, name="twinheap", pauses=False, **settings):
    """Ours, with TWINHEAP_ variables; each recording goes to a file of its own."""
    variables = {"TWINHEAP_OUTPUT": "%p.thl"}
    variables.update({"TWINHEAP_" + key: value for key, value in settings.items()})
    return Config(name, [os.path.join(build, "libtwinheap.so")], variables, pauses=pauses)


def null_interposer(build):
    return Config("null interposer", [os.path.join(build, "bench/libnull.so")])


def async_profiler(agent, name, events):
    return Config(name, rounds=FEW, java=[
        "-agentpath:%s=start,%s,jfr,file=async.jfr" % (agent, events)])


def for_any(build):
    """Configurations for C and Java programs."""
    configs = [
        plain(),
        null_interposer(build),
        twinheap(build),
        twinheap(build, "twinheap, disabled", DISABLE="1"),
        twinheap(build, "twinheap, paused", pauses=True),
    ]
    jemalloc = machine.find_library(machine.JEMALLOC)
    if jemalloc:
        configs += [
            Config("jemalloc", [jemalloc]),
            Config("jemalloc, prof", [jemalloc], {
                "MALLOC_CONF": "prof:true,lg_prof_sample:19,prof_final:true,prof_prefix:jemalloc"}),
        ]
    tcmalloc = machine.find_library(machine.TCMALLOC)
    if tcmalloc:
        configs += [
            Config("tcmalloc", [tcmalloc]),
        ]
    heaptrack = machine.find_library(machine.HEAPTRACK)
    if heaptrack:
        configs.append(Config("heaptrack", [heaptrack], {
            "DUMP_HEAPTRACK_OUTPUT": "heaptrack.raw"}, divisor=20, rounds=FEW))
    return configs


def for_java(build, scratch):
    """The same, and the profilers for Java only."""
    configs = for_any(build)
    agent = machine.find_async_profiler(scratch)
    if agent:
        for name, events in (
            ("async-profiler, native", "event=nativemem,nativemem=512k"),
            ("async-profiler, native without frees", "event=nativemem,nativemem=512k,nofree"),
            ("async-profiler, both heaps", "event=nativemem,nativemem=512k,alloc=512k"),
        ):
            configs.append(async_profiler(agent, name, events))
    configs.append(Config("JFR, allocation samples", rounds=FEW, java=[
        "-XX:StartFlightRecording=filename=flight.jfr,settings=profile", "-Xlog:jfr*=off"]))
    return configs


# --- runs ----------------------------------------------------------------------------------------

# One run of a command: seconds of wall and CPU time, peak of the resident set in MiB, bytes of the
# files that it left, what it printed, and what `read` returned.
Run = collections.namedtuple("Run", "wall cpu memory recorded output found")


def run(config, command, meanwhile=None, read=None, output=True):
    """
    Runs a command once, in a directory of its own; exits if it fails.  `meanwhile` is called with
    the process and the directory when it has started, `read` with the directory afterwards.
    output: False if it is not wanted.
    """
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryFile() as errors:
        begin = time.monotonic()
        process = subprocess.Popen(
            command, env=config.environment(), cwd=directory, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if output else subprocess.DEVNULL, stderr=errors)
        if meanwhile:
            meanwhile(process, directory)
        text = process.stdout.read().decode() if output else ""
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdin.close()
        if output:
            process.stdout.close()
        if process.returncode != 0:
            errors.seek(0)
            sys.exit("bench: %s ended with %d: %s\n%s" % (
                config.name, process.returncode, " ".join(command), errors.read().decode()))
        recorded = sum(os.stat(path).st_blocks * 512
                       for path in glob.glob(os.path.join(directory, "*")))
        return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, recorded, text,
                   read(directory) if read else None)


def interleave(cases, rounds, run_once, limits=None):
    """
    {case: [result per round]}: in each round run_once(case) for each of them, in an order that
    changes from round to round.  limits: {case: its maximum of rounds}
    """
    cases = list(cases)
    results = {case: [] for case in cases}
    for number in range(rounds):
        shift = number % len(cases)
        for case in cases[shift:] + cases[:shift]:
            if number < (limits or {}).get(case, rounds):
                results[case].append(run_once(case))
    return results
