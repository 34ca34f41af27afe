# SPDX-License-Identifier: Apache-2.0
"""The services of bench/services and their leaks: the table that results are scored against."""

import collections
import glob
import os
import re

DIRECTORY = os.path.dirname(os.path.abspath(__file__))

# heap: where the memory is; "vm" is memory of the Java VM that the application causes.
# lines: file:line of every line of the application that allocates it.
Leak = collections.namedtuple("Leak", "service name heap cause lines")
# seconds: of its load, if that is always the same.
Service = collections.namedtuple("Service", "name what libraries leaks seconds", defaults=[None])

# service: (what it is, libraries by the prefix of their jars, {leak: (heap, cause)})
TABLE = {
    "gateway": ("TLS gateway", "netty-handler netty-tcnative-classes zstd-jni", {
        "engines": ("native", "engines of refused handshakes are not released"),
        "sessions": ("java", "a static map keeps the sessions of closed connections")}),
    "broker": ("Kafka broker, producer and consumer", "kafka-clients zstd-jni", {
        "streams": ("native", "the zstd stream of a short record is not closed"),
        "receipts": ("java", "a map remembers the keys of all records")}),
    "state": ("state of a stream processor", "rocksdbjni", {
        "batches": ("native", "write batches of repeated events are not closed"),
        "writers": ("native", "writers of exported files are not closed"),
        "windows": ("java", "a list remembers late windows")}),
    "search": ("search server", "lucene-core", {
        "subscriptions": ("java", "queries stay subscribed to: small objects from many lines"),
        "readers": ("mapped", "readers, which map the files of an archive, are not closed")}),
    "accounts": ("bank in an SQL database", "sqlite-jdbc", {
        "statements": ("native", "a prepared statement is not closed"),
        "listeners": ("java", "views do not unregister: the slowest leak")}),
    "inference": ("inference of a model", "onnxruntime", {
        "results": ("native", "results of rejected requests are not closed"),
        "labels": ("native", "tensors of strings are not closed"),
        "features": ("java", "a cache without a limit")}),
    "web": ("web application", "tomcat-embed-core", {
        "sessions": ("java", "visitors without a cookie get a session for half an hour"),
        "uploads": ("native", "a map keeps the direct buffers of broken uploads")}),
    "pipeline": ("compression", "zstd-jni snappy-java lz4-java", {
        "contexts": ("native", "contexts of cancelled blocks are not closed: few, large"),
        "samples": ("java", "samples for a dictionary are collected without end")}),
    "tenants": ("reports in pools of threads", "snappy-java", {
        "threads": ("vm", "the pools are not shut down")}),
    "plugins": ("plug-ins with class loaders of their own", "", {
        "loaders": ("vm", "old versions are still referenced")}),
    "stores": ("archives of tenants", "", {
        "deflaters": ("native", "compressors that a shutdown hook ends")}),
    "catalog": ("catalogue with a cache that fills up, and bursts", "h2 caffeine", {}),
    "relay": ("message relay whose pools grow, then stay", "netty-buffer zstd-jni", {}),
}

# Programs without a leak that allocate at a known rate (services/Rate.java): bench/gate runs them.
RATES = [
    Service("flood", "5 GB/s", [], []),
    Service("drip", "20 MB/s", [], []),
    Service("brief", "200 MB/s for 6 s", [], [], 6),
]


def marked_lines():
    """{(file, leak): [line, ...]}: the lines that a comment marks."""
    found = collections.defaultdict(list)
    for path in sorted(glob.glob(os.path.join(DIRECTORY, "services/*.java"))):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                mark = re.search(r"// leak: (\w+)$", line)
                if mark:
                    found[os.path.basename(path), mark.group(1)].append(number)
    return found


def services():
    """All services, in the order of the table; fails if marks and table differ."""
    marks = marked_lines()
    found = []
    for name, (what, libraries, leaks) in TABLE.items():
        file = name.capitalize() + ".java"
        found.append(Service(name, what, libraries.split(), [
            Leak(name, leak, heap, cause,
                 frozenset("%s:%d" % (file, line) for line in marks.pop((file, leak))))
            for leak, (heap, cause) in leaks.items()]))
    assert not marks, marks
    return found
