# SPDX-License-Identifier: Apache-2.0
"""
A receiver of profiles on the loopback interface, for the tests of `twinheap push`.

    receiver.py DIRECTORY ANSWERS [CERTIFICATE]

Writes its port to DIRECTORY/port and one JSON object for each request to DIRECTORY/requests.  The
answers are taken from ANSWERS, separated by commas, the last one for ever:

    200, 503, ...   a status; 429/2 also has "Retry-After: 2"
    partial         200, with a partial success that rejects a profile
    reset           reads the request and closes the connection without an answer
    silent          reads the request and never answers
    stalled         does not read the body

Requests are decoded by the field numbers of the formats' schemas, not by code that writes them.
What a request gets wrong is listed in "problems".
"""

import gzip
import http.server
import json
import os
import ssl
import sys
import time
import urllib.parse

TABLES = {
    1: "mapping", 2: "location", 3: "function", 4: "link", 5: "string", 6: "attribute", 7: "stack",
}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(data):
    """The fields of a message by number: lists of numbers and bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length, "truncated field"
        else:
            raise AssertionError("wire type %d" % (key & 7))
        found.setdefault(key >> 3, []).append(value)
    return found


def number(message, field):
    return message.get(field, [0])[-1]


def numbers(message, field):
    """A repeated number, packed or not."""
    values = []
    for value in message.get(field, []):
        if isinstance(value, int):
            values.append(value)
            continue
        at = 0
        while at < len(value):
            item, at = varint(value, at)
            values.append(item)
    return values


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def any_value(message):
    value = fields(message)
    return value[1][0].decode() if 1 in value else signed(number(value, 3))


class Otlp:
    """ProfilesData: see profiles.proto of OpenTelemetry."""

    def __init__(self, body):
        self.problems = []
        data = fields(body)
        self.tables = {name: [] for name in TABLES.values()}
        assert len(data[2]) == 1, "one dictionary"
        dictionary = fields(data[2][0])
        for field, name in TABLES.items():
            self.tables[name] = [
                item if name == "string" else fields(item) for item in dictionary.get(field, [])
            ]
        self.check_tables()
        self.resource, self.profiles = {}, []
        for process in data[1]:
            self.read_process(fields(process))

    def expect(self, condition, text):
        if not condition:
            self.problems.append(text)

    def check_tables(self):
        for name, table in self.tables.items():
            self.expect(table, "table %s is empty" % name)
        strings = self.tables["string"]
        self.expect(strings and strings[0] == b"", "string 0 is not empty")
        self.expect(len(set(strings)) == len(strings), "strings are repeated")
        for name in ("mapping", "location", "function", "attribute", "stack"):
            self.expect(not any(self.tables[name][0].values()), "%s 0 is not zero" % name)

    def look(self, name, index):
        self.expect(0 <= index < len(self.tables[name]), "%s %d is missing" % (name, index))
        return self.tables[name][index]

    def string(self, index):
        return self.look("string", index).decode()

    def attributes(self, indices):
        pairs = [self.look("attribute", index) for index in indices]
        self.expect(0 not in indices, "attribute 0 is used")
        return {self.string(number(pair, 1)): any_value(pair[2][0]) for pair in pairs}

    def frames(self, index):
        """Names of the functions of a stack, leaf first, each with the type of its frame."""
        names = []
        for place in numbers(self.look("stack", index), 1):
            location = self.look("location", place)
            self.look("mapping", number(location, 1))
            kind = self.attributes(numbers(location, 4)).get("profile.frame.type", "")
            for line in location.get(3, []):
                function = self.look("function", number(fields(line), 1))
                names.append((self.string(number(function, 1)), kind))
        return names

    def read_sample(self, profile, sample):
        values = numbers(sample, 4)
        attributes = self.attributes(numbers(sample, 2))
        self.expect(len(values) == 1, "a sample has %d values" % len(values))
        self.expect(number(sample, 1) != 0, "a sample has no stack")
        heap = attributes.get("twinheap.heap", "")
        value = signed(values[0])
        self.expect(value > 0, "value %d" % value)
        profile["heaps"][heap] = profile["heaps"].get(heap, 0) + value
        frames = self.frames(number(sample, 1))
        for name in {name for name, _ in frames}:
            key = heap + " " + name
            profile["functions"][key] = profile["functions"].get(key, 0) + value
        for _, kind in frames:
            profile["kinds"][kind] = profile["kinds"].get(kind, 0) + 1

    def read_profile(self, message):
        kind = fields(message[1][0])
        profile = {
            "type": self.string(number(kind, 1)),
            "unit": self.string(number(kind, 2)),
            "start": number(message, 3),
            "duration": number(message, 4),
            "id": b"".join(message.get(7, [])).hex(),
            "attributes": self.attributes(numbers(message, 11)),
            "heaps": {},
            "functions": {},
            "kinds": {},
        }
        for sample in message.get(2, []):
            self.read_sample(profile, fields(sample))
        self.profiles.append(profile)

    def read_process(self, process):
        for pair in fields(process[1][0]).get(1, []):
            pair = fields(pair)
            self.resource[pair[1][0].decode()] = any_value(pair[2][0])
        for scope in process[2]:
            scope = fields(scope)
            self.expect(fields(scope[1][0])[1][0] == b"twinheap", "scope")
            for profile in scope[2]:
                self.read_profile(fields(profile))

    def result(self):
        builds = [self.attributes(numbers(mapping, 5)) for mapping in self.tables["mapping"]]
        return {
            "resource": self.resource,
            "profiles": self.profiles,
            "build_ids": sum("process.executable.build_id.gnu" in build for build in builds),
            "problems": self.problems,
        }


def pprof(body):
    """Sums of a profile of pprof by type; see profile.proto of pprof."""
    message = fields(gzip.decompress(body))
    strings = [string.decode() for string in message[6]]
    types = [strings[number(fields(kind), 1)] for kind in message[1]]
    profiles = [
        {"type": kind, "duration": number(message, 10), "start": number(message, 9), "heaps": {}}
        for kind in types
    ]
    for sample in message.get(2, []):
        sample = fields(sample)
        labels = {strings[number(fields(label), 1)]: strings[number(fields(label), 2)]
                  for label in sample.get(3, [])}
        for profile, value in zip(profiles, numbers(sample, 2)):
            sums = profile["heaps"]
            sums[labels["heap"]] = sums.get(labels["heap"], 0) + signed(value)
    return {"profiles": profiles, "problems": [],
            "comments": [strings[index] for index in numbers(message, 13)]}


def logs(body):
    """ExportLogsServiceRequest of OpenTelemetry in JSON."""
    process = json.loads(body)["resourceLogs"][0]
    records = process["scopeLogs"][0]["logRecords"]

    def plain(pairs):
        return {pair["key"]: list(pair["value"].values())[0] for pair in pairs}

    for record in records:
        record["attributes"] = plain(record["attributes"])
        assert int(record["timeUnixNano"]) > 0 and record["body"]["stringValue"]
    return {"records": records, "resource": plain(process["resource"]["attributes"]),
            "profiles": [], "problems": []}


def decode(path, headers, body):
    if headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    if path.endswith("/v1/logs"):
        return logs(body)
    if path.endswith("/v1development/profiles"):
        return Otlp(body).result()
    return pprof(body)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    directory = "."
    answers = ["200"]
    count = 0

    def log_message(self, *arguments):
        pass

    def note(self, answer, body):
        url = urllib.parse.urlsplit(self.path)
        headers = {name.title(): value for name, value in self.headers.items()}
        try:
            result = decode(url.path, headers, body)
        except Exception as error:  # the test prints it
            result = {"problems": [repr(error)], "profiles": []}
        result.update(path=url.path, headers=headers, answer=answer, bytes=len(body),
                      query=dict(urllib.parse.parse_qsl(url.query)))
        with open(Handler.directory + "/requests", "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")

    def do_POST(self):
        answer = Handler.answers[min(Handler.count, len(Handler.answers) - 1)]
        Handler.count += 1
        if answer == "stalled":
            time.sleep(1000)
        self.note(answer, self.rfile.read(int(self.headers["Content-Length"])))
        if answer == "silent":
            time.sleep(1000)
        if answer == "reset":
            self.close_connection = True
            return
        # ExportProfilesServiceResponse.partial_success = {rejected_profiles: 1, error_message}
        body = b"\x0a\x08\x08\x01\x12\x04full" if answer == "partial" else b""
        status, _, wait = answer.partition("/")
        self.send_response(200 if answer == "partial" else int(status))
        if wait:
            self.send_header("Retry-After", wait)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


def main():
    Handler.directory = sys.argv[1]
    Handler.answers = sys.argv[2].split(",")
    server = Server(("127.0.0.1", 0), Handler)
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(sys.argv[1] + "/port.new", "w", encoding="utf-8") as file:
        file.write(str(server.server_port))
    os.rename(sys.argv[1] + "/port.new", sys.argv[1] + "/port")
    server.serve_forever()


if __name__ == "__main__":
    main()
