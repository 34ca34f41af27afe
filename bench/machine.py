# SPDX-License-Identifier: Apache-2.0
"""The environment of measurements: the machine, JDKs, peers and their versions."""

import argparse
import collections
import glob
import os
import platform
import re
import shlex
import subprocess
import sys
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARY_DIRECTORIES = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"]

# The peers that are libraries: the file, and the Debian package whose version it has.
JEMALLOC = ("libjemalloc.so.2", "libjemalloc2")
TCMALLOC = ("libtcmalloc.so.4", "libgoogle-perftools4")
HEAPTRACK = ("heaptrack/libheaptrack_preload.so", "heaptrack")

UNLOCK = "-XX:+UnlockExperimentalVMOptions"  # Z of 11
COLLECTORS = {
    "Serial": ["-XX:+UseSerialGC"],
    "Parallel": ["-XX:+UseParallelGC"],
    "G1": ["-XX:+UseG1GC"],
    "Shenandoah": ["-XX:+UseShenandoahGC"],
    "Shenandoah-generational": ["-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"],
    "Z": [UNLOCK, "-XX:+UseZGC"],
    "Z-generational": [UNLOCK, "-XX:+UseZGC", "-XX:+ZGenerational"],
}
# From this release on Z is always generational, and the option does not exist.
Z_GENERATIONAL_ONLY = 24

Jdk = collections.namedtuple("Jdk", "feature home version")


def output_of(*command):
    """Output of a command; empty if it cannot be run or fails."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def find_library(peer):
    """The path of a peer's library, or None."""
    for directory in LIBRARY_DIRECTORIES:
        found = sorted(glob.glob(os.path.join(directory, peer[0])))
        if found:
            return found[0]
    return None


def find_fetched():
    """Where bench/realworld/fetch has put the libraries, or None."""
    return output_of(os.path.join(ROOT, "bench/realworld/fetch"), "--where") or None


def find_async_profiler(scratch):
    """Its agent, unpacked into `scratch`, or None."""
    jars = glob.glob(os.path.join(find_fetched() or "", "async-profiler-*.jar"))
    if not jars:
        return None
    directory = "linux-x64" if platform.machine() == "x86_64" else "linux-arm64"
    with zipfile.ZipFile(jars[0]) as archive:
        for name in archive.namelist():
            if name.endswith(directory + "/libasyncProfiler.so"):
                return archive.extract(name, scratch)
    return None


def convert(recording, path, *options):
    """Writes a recording of async-profiler to `path` as collapsed stacks with bytes."""
    jar = glob.glob(os.path.join(find_fetched(), "jfr-converter-*.jar"))[0]
    subprocess.run([java_of(find_jdks()[-1]), "-jar", jar, *options, "--total", "-o", "collapsed",
                    recording, path], stdout=subprocess.DEVNULL, check=True)


def find_jdks(wanted=()):
    """JDKs and runtimes of this machine, oldest first; those of the feature releases wanted."""
    lines = output_of(os.path.join(ROOT, "scripts/find-jdks")).splitlines()
    jdks = [Jdk(*line.split(" ", 2)) for line in lines]
    return [jdk for jdk in jdks if not wanted or jdk.feature in wanted]


def find_compiling_jdk(feature):
    """The newest JDK with a compiler, or that of a feature release; exits if there is none."""
    jdks = [jdk for jdk in find_jdks([feature] if feature else ())
            if os.path.exists(os.path.join(jdk.home, "bin/javac"))]
    if not jdks:
        sys.exit("bench: no such JDK with a compiler")
    return jdks[-1]


def java_of(jdk):
    return os.path.join(jdk.home, "bin/java")


def collector_options(jdk, collector):
    """The options that select a collector, or None if this JDK does not have it."""
    options = COLLECTORS[collector]
    if int(jdk.feature) >= Z_GENERATIONAL_ONLY:
        if collector == "Z":
            return None
        options = [option for option in options if option != "-XX:+ZGenerational"]
    tried = subprocess.run([java_of(jdk)] + options + ["-version"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)
    return options if tried.returncode == 0 else None


def with_collectors(jdks, collectors):
    """(JDK, collector, its options) of all that these JDKs have; "all" stands for every collector."""
    for jdk in jdks:
        for collector in list(COLLECTORS) if collectors == ["all"] else collectors:
            options = collector_options(jdk, collector)
            if options is not None:
                yield jdk, collector, options


def counters(tool, log):
    """{name: value}: what the library has counted in a recording until its end."""
    return {name: int(value) for name, value in
            re.findall(r'counter "(\w+)" = (\d+)', output_of(tool, "dump", log))}


# --- description in a page -------------------------------------------------------------------

def version_of_package(name):
    return output_of("dpkg-query", "-W", "-f", "${Version}", name)


def peers():
    """[(name, version or None where it is not installed)]"""
    found = []
    for name, peer in (("jemalloc", JEMALLOC), ("tcmalloc (gperftools)", TCMALLOC),
                       ("heaptrack", HEAPTRACK)):
        has = find_library(peer)
        found.append((name, version_of_package(peer[1]) or "of unknown version" if has else None))
    jars = glob.glob(os.path.join(find_fetched() or "", "async-profiler-*.jar"))
    version = re.search(r"async-profiler-(.*)\.jar", jars[0]).group(1) if jars else None
    return found + [("async-profiler", version)]


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def our_version(build):
    """As printed by the tool; in a clone also the commit."""
    version = output_of(os.path.join(build, "twinheap"), "--version").split(" ")[-1]
    commit = output_of("git", "-C", ROOT, "describe", "--always", "--dirty", "--exclude", "*")
    return "%s (%s)" % (version, commit) if commit else version


def describe(build, jdks):
    """[(name, value)]: the machine and all versions."""
    names = {"JDK": ", ".join("%s (%s)" % (jdk.version, vendor(jdk)) for jdk in jdks)}
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    names["machine"] = "%s, %d processors (%s), %.0f GiB%s" % (
        platform.machine(), os.cpu_count(), processor(), memory,
        ", virtual (%s)" % hypervisor if (hypervisor := output_of("systemd-detect-virt", "--vm"))
        not in ("", "none") else "")
    names["system"] = "%s, Linux %s, glibc %s" % (
        distribution(), platform.release(), platform.libc_ver()[1])
    names["twinheap"] = our_version(build)
    names.update((name, version or "not installed: left out") for name, version in peers())
    order = ("machine", "system", "twinheap", "JDK")
    return [(name, names.pop(name)) for name in order] + list(names.items())


def distribution():
    with open("/etc/os-release", encoding="utf-8") as file:
        words = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    return words.get("PRETTY_NAME", "Linux").strip('"')


def vendor(jdk):
    with open(os.path.join(jdk.home, "release"), encoding="utf-8") as file:
        found = re.search(r'^IMPLEMENTOR="(.*)"', file.read(), re.MULTILINE)
    return found.group(1) if found else "unknown builder"


# --- the command line ----------------------------------------------------------------------------

def read_arguments(usage, *words, **defaults):
    """
    Those of a measurement: --build DIR, --markdown FILE, and an option for each of `defaults`,
    whose default has its type; False is a switch, None one without a default that is a text.
    words: names of further arguments, lists.
    """
    parser = argparse.ArgumentParser(usage=usage.replace("%", "%%"))
    for name, default in {"build": os.path.join(ROOT, "build"), "markdown": None,
                          **defaults}.items():
        option = "--" + name.replace("_", "-")
        if default is False:
            parser.add_argument(option, action="store_true")
        else:
            parser.add_argument(option, default=default,
                                type=str if default is None else type(default))
    for word in words:
        parser.add_argument(word, nargs="*")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    return arguments


def command_line(words):
    """This command with these arguments, without options that only name files."""
    kept = []
    skip = False
    for word in words:
        if word in ("--markdown", "--json", "--build"):
            skip = True
        elif skip:
            skip = False
        elif not word.startswith(("--markdown=", "--json=", "--build=")):
            kept.append(word)
    return shlex.join([os.path.relpath(os.path.abspath(sys.argv[0]), ROOT)] + kept)


def how(seconds, words=None):
    """One line below a block: date, command, duration."""
    return "Measured on %s by `%s`, %.0f s; load of the machine at the end: %.1f." % (
        time.strftime("%Y-%m-%d", time.gmtime()),
        command_line(sys.argv[1:] if words is None else words), seconds, os.getloadavg()[0])
