# SPDX-License-Identifier: Apache-2.0
"""One run of a service, plain, under twinheap or under async-profiler, and what was reported."""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import machine  # noqa: E402: its place is known only here

HEAP = "-Xmx512m"
# Exit status of a service whose classes the runtime cannot load.
STATUS_CLASS_MISSING = 3
# A run is ended after so many times its seconds, and the seconds for start and end.
PATIENCE = 3
START_SECONDS = 120
ERROR_BYTES = 3000
INTERVAL_OF_PEER = "512k"
# A frame without a function: module+0x1234, or an address.
BARE = re.compile(r"(^|\+)0x[0-9a-f]+$")
# Published without symbol tables: their inner functions have no names.
STRIPPED = re.compile(r"^(libonnxruntime|sqlite-|snappy-|libz\.so|libstdc\+\+)")
APPLICATION = "services."

# [0.123s][info][gc] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 10M->5M(20M) 1.2ms
# [0.123s][info][gc,phases] GC(3) y: Pause Mark Start 0.012ms
PAUSE = re.compile(r" GC\(\d+\) (?:\w: )?Pause (.*) ([0-9.]+)ms$", re.MULTILINE)
FORCED = "JvmtiEnv ForceGarbageCollection"
STALL = re.compile(r" Allocation Stall \(.*ms$", re.MULTILINE)

# What `twinheap leaks` counts as leaks.
LEAKS = ("leak", "unclosed")
FIRST_FINDINGS = 3
# A service keeps up with its load if it does this share of the steps.
KEEPS_UP = 0.98

Case = collections.namedtuple("Case", "jdk collector options")


class Outcome:
    """What a run has printed and used: its truth, CPU seconds and the reports about it."""

    def __init__(self, service, variant, case, config, number):
        self.service, self.variant, self.case = service, variant, case
        self.config, self.number = config, number
        self.truth, self.cpu, self.log_bytes, self.failure = [], None, None, None
        self.findings, self.status, self.totals, self.counters = [], None, None, {}
        self.named, self.peer_rows = None, None
        self.pauses, self.unwanted = [], 0  # ms; full collections and stalls

    def of_kind(self, kind):
        return [entry for entry in self.truth if entry["kind"] == kind]

    def leaked(self, name):
        """Bytes of a leak of that name; None if they are not known."""
        return next((entry["bytes"] for entry in self.of_kind("leak")
                     if entry["name"] == name), None)

    def work(self):
        """The steps: how many were done and due, and their times (services/Load.java)."""
        return self.of_kind("work")[0]

    def own_cpu(self):
        """The library's share of the CPU time of the process, by its own counters."""
        return (self.counters["self_capture_ns"] + self.counters["self_agent_ns"]) / (
            self.counters["process_cpu_ns"])

    def read_pauses(self, text):
        """The log of the collector, without a collection that the library requested at the end."""
        found = [pause for pause in PAUSE.findall(text) if FORCED not in pause[0]]
        self.pauses = [float(ms) for _, ms in found]
        self.unwanted = (sum(what.startswith("Full") for what, _ in found)
                         + len(STALL.findall(text)))

    def growth(self, what):
        """Of "rss" or "malloc" in bytes, from the first fifth of the time to the end."""
        points = self.of_kind("memory")
        return points[-1][what] - points[0][what]

    def alarms(self):
        return [finding for finding in self.findings if finding["verdict"] in LEAKS]

    def is_at(self, finding, leak):
        return bool(lines_of(finding) & leak.lines)

    def rank(self, leak):
        """The number of the first finding, from 1, of verdict leak at its line; or None."""
        return next((number for number, finding in enumerate(self.findings, 1)
                     if finding["verdict"] in LEAKS and self.is_at(finding, leak)), None)

    def is_found(self, leak):
        """Whether one of the first findings is the leak."""
        rank = self.rank(leak)
        return rank is not None and rank <= FIRST_FINDINGS

    def missed(self):
        return [leak for leak in self.service.leaks if not self.is_found(leak)]

    def other_verdict(self, leak):
        """The verdict of the first finding at the line of a leak that was not found."""
        return next((finding["verdict"] for finding in self.findings
                     if self.is_at(finding, leak)), None)

    def false_alarms(self):
        """Findings of verdict leak at no line of a leak of this run."""
        leaks = self.service.leaks if self.variant == "leak" else []
        return [finding for finding in self.alarms()
                if not any(self.is_at(finding, leak) for leak in leaks)]

    def peer_rank(self, leak):
        """The row of async-profiler's profile of its heap that has the line; or None."""
        rows = self.peer_rows["live" if leak.heap == "java" else "leak"]
        return next((number for number, row in enumerate(rows, 1) if row[1] in leak.lines), None)

    def churn(self):
        """Bytes allocated in a second, in the Java heap and in the C heap."""
        return [self.totals[heap]["alloc_bytes"]["estimate"] / self.totals["duration_s"]
                for heap in ("java", "native")]


def lines_of(finding):
    """file:line of what a finding is attributed to, and of the application nearest to it."""
    frames = [finding.get("creator"), finding.get("user")]
    for stack in [finding] + finding.get("heaps", []):
        frames += [frame for frame in stack["frames"] if frame["name"].startswith(APPLICATION)][-1:]
    if isinstance(finding.get("node"), dict):
        frames.append(finding["node"])
    return {"%s:%s" % (frame["file"], frame["line"]) for frame in frames if frame}


def describe(finding):
    lines = sorted(lines_of(finding) - {"None:None"})
    return "%s, %s %s, %.1f MB at %s: %s" % (
        finding["verdict"], finding["heap"], finding["class"] or "",
        finding["live_bytes"]["estimate"] / 1e6,
        ", ".join(lines) or finding["frames"][-1]["name"], finding["why"])


def share_with_names(collapsed):
    """
    The share of bytes with a stack in which every frame has a name; then the same where frames of
    libraries that are published without names do not count.
    """
    total = every = possible = 0
    for line in collapsed.splitlines():
        stack, number = line.rsplit(" ", 1)
        bare = [frame for frame in stack.split(";") if BARE.search(frame)]
        total += int(number)
        every += int(number) * (not bare)
        possible += int(number) * all(STRIPPED.match(frame) for frame in bare)
    return (every / total, possible / total) if total else (1.0, 1.0)


def rows_of(collapsed):
    """[(bytes, file:line of the application's innermost frame)], most bytes first."""
    rows = []
    for line in collapsed.splitlines():
        stack, number = line.rsplit(" ", 1)
        place = None
        for frame in stack.split(";"):
            found = re.match(r"services\.(\w+?)(?:\$.*)?\.[^.]+:(\d+)", frame)
            if found:
                place = "%s.java:%s" % found.groups()
        rows.append((int(number), place))
    return sorted(rows, key=lambda row: -row[0])


def run_limited(command, base, seconds):
    """
    Runs a command, in a session of its own, until it ends or its time is over.  Its output and then
    its CPU time are in base.truth, its errors in base.err.  Returns its exit status.
    """
    with open(base + ".truth", "w", encoding="utf-8") as out, \
            open(base + ".err", "w", encoding="utf-8") as errors:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=errors, start_new_session=True)
        # The session: `twinheap run` and the service.
        timer = threading.Timer(PATIENCE * seconds + START_SECONDS, os.killpg,
                                [process.pid, signal.SIGKILL])
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.write(json.dumps({
            "kind": "cpu", "seconds": usage.ru_utime + usage.ru_stime,
            "wall": time.monotonic() - begin}) + "\n")
    return process.returncode


class Bench:
    """
    The programs of a build, and where recordings go.

    recorders: {config: the command that records, to which -o LOG -- COMMAND are added}
    """

    def __init__(self, directory, build, seconds, recorders, keeps=False, again=False):
        self.directory = directory
        self.seconds = seconds
        self.recorders = recorders
        self.again = again
        self.keeps = keeps
        self.failures = 0
        fetched = machine.find_fetched()
        if not fetched:
            sys.exit("services: run bench/realworld/fetch first")
        self.jar = os.path.join(build, "bench/services/services.jar")
        if not os.path.exists(self.jar):
            sys.exit("services: %s is missing: run scons" % self.jar)
        self.class_path = "%s:%s/*" % (self.jar, fetched)
        self.agent = machine.find_async_profiler(directory)

    def run(self, outcome):
        """Fills an outcome; returns it, or None if the JDK cannot run the service."""
        base = os.path.join(self.directory, "-".join((
            outcome.service.name, outcome.variant, outcome.case.jdk.feature,
            outcome.case.collector, outcome.config, str(outcome.number))))
        if not (self.again and os.path.exists(base + ".truth")):
            if not self.record(outcome, base):
                return None
        with open(base + ".truth", encoding="utf-8") as file:
            outcome.truth = [json.loads(line) for line in file if line.startswith("{")]
        outcome.cpu = outcome.of_kind("cpu")[0]["seconds"]
        with open(base + ".gc", encoding="utf-8") as file:
            outcome.read_pauses(file.read())
        if outcome.config in self.recorders:
            self.read_log(outcome, base)
        elif outcome.config == "async-profiler":
            self.read_peer(outcome, base)
        if not self.keeps:
            for name in os.listdir(self.directory):
                if name.startswith(os.path.basename(base) + "."):
                    os.unlink(os.path.join(self.directory, name))
        return outcome

    def record(self, outcome, base):
        agent = ["-agentpath:%s=start,nativemem=%s,alloc=%s,live,file=%s.jfr" % (
            self.agent, INTERVAL_OF_PEER, INTERVAL_OF_PEER, base)]
        if os.path.exists(base + ".thl"):
            os.unlink(base + ".thl")
        recorder = self.recorders.get(outcome.config)
        seconds = outcome.service.seconds or self.seconds
        command = (recorder + ["-o", base + ".thl", "--"] if recorder else []) + [
            machine.java_of(outcome.case.jdk), HEAP, *outcome.case.options,
            *(agent if outcome.config == "async-profiler" else []),
            "-Xlog:gc,gc+phases:file=%s.gc" % base,
            # Temporary files of libraries do not stay behind after a run.
            "-Djava.io.tmpdir=" + self.directory, "-cp", self.class_path,
            "services.Main", "--seconds", str(seconds), outcome.service.name, outcome.variant]
        status = run_limited(command, base, seconds)
        if status == 0:
            return True
        os.unlink(base + ".truth")
        if status != STATUS_CLASS_MISSING:
            with open(base + ".err", encoding="utf-8") as errors:
                outcome.failure = "%s ended with %d:\n%s" % (
                    " ".join(command), status, errors.read()[-ERROR_BYTES:])
            print("services: " + outcome.failure, file=sys.stderr)
            self.failures += 1
        return False

    def read_log(self, outcome, base):
        log = base + ".thl"
        tool = self.recorders[outcome.config][0]
        outcome.log_bytes = os.stat(log).st_size
        outcome.counters = machine.counters(tool, log)
        done = subprocess.run([tool, "leaks", "--format", "json", "--fail-on", "leak", log],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        outcome.status = done.returncode
        outcome.findings = json.loads(done.stdout)["findings"]
        with open(base + ".json", "wb") as file:
            file.write(done.stdout)
        outcome.named = share_with_names(machine.output_of(
            tool, "export", "--format", "collapsed", "--heaps", "native", log))
        exported = json.loads(machine.output_of(tool, "export", "--format", "json", log))
        outcome.totals = dict(exported["totals"], duration_s=exported["process"]["duration_s"])

    def read_peer(self, outcome, base):
        outcome.peer_rows = {}
        for name, options in (("leak", ["--nativemem", "--leak"]), ("live", ["--live"])):
            path = "%s.%s.collapsed" % (base, name)
            if not os.path.exists(path) or not self.again:
                machine.convert(base + ".jfr", path, *options, "--lines", "--dot", "--norm")
            with open(path, encoding="utf-8") as file:
                outcome.peer_rows[name] = rows_of(file.read())
