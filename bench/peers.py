# SPDX-License-Identifier: Apache-2.0
"""The configurations in which bench/run runs a program: plain, under twinheap, under its peers."""

import os

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
