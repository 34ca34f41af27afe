# SPDX-License-Identifier: Apache-2.0
"""Finds the JDK whose headers and compiler the build uses."""

import glob
import os
import re

JVM_DIRECTORY = "/usr/lib/jvm"

MISSING = """no JDK with headers found: JAVA_HOME is not one and %s holds none.
Install one (scripts/install-deps does; on Debian: apt-get install openjdk-17-jdk-headless)
or name one: scons JAVA_HOME=/path/to/jdk""" % JVM_DIRECTORY


def has_headers(home):
    """Whether `home` is a JDK against which native code can be compiled."""
    return os.path.exists(os.path.join(home, "include", "jni.h"))


def feature_release(home):
    """The feature release (11, 17, ...) from the JDK's own release file; 0 when unknown."""
    try:
        with open(os.path.join(home, "release"), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return 0
    match = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    return int(match.group(1)) if match else 0


def find(preferred):
    """`preferred` if it has headers, else the newest JDK of the system; None if there is none."""
    if preferred and has_headers(preferred):
        return preferred
    homes = {os.path.realpath(path) for path in glob.glob(JVM_DIRECTORY + "/*")}
    candidates = sorted(
        (feature_release(home), home) for home in homes if has_headers(home)
    )
    return candidates[-1][1] if candidates else None


def include_directories(home):
    """Where jni.h and jni_md.h lie."""
    include = os.path.join(home, "include")
    return [include, os.path.join(include, "linux")]


def tool(home, name):
    """Path of a JDK tool (javac, jar), or None when this JDK has only headers."""
    path = os.path.join(home, "bin", name)
    return path if os.access(path, os.X_OK) else None
