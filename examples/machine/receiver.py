"""A receiver after docs/protocol.md: executes one job into a file. python3 receiver.py PORT OUTPUT"""
import itertools
import os
import socket
import struct
import sys

HEADER = struct.Struct("<4sB3xQIII")  # then the CRC-32C of these 28 bytes
HELLO, WELCOME, ACCEPT, LINES, PAUSE, CONTINUE, ABORT, STATUS, ERROR = 1, 2, 5, 6, 8, 9, 10, 12, 13
WAITING, RUNNING, PAUSED, DONE, ABORTED = range(5)
BUFFER = 1 << 20
TABLE = list(range(256))
for _ in range(8):
    TABLE = [byte >> 1 ^ (0x82F63B78 if byte & 1 else 0) for byte in TABLE]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


class Refused(Exception): ...


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise ConnectionError("the sender has gone")
        data += part
    return data


def read_frame(connection):
    head = read_exactly(connection, 32)
    magic, kind, sequence, length, count, checksum = HEADER.unpack(head[:28])
    if magic != b"RLF\x01":
        raise Refused(2, "this is no frame")
    if struct.pack("<I", crc32c(head[:28])) != head[28:]:
        raise Refused(3, "the header is damaged")
    if length > (1 << 24 if kind == LINES else 4096):
        raise Refused(2, "the payload is too long")
    payload = read_exactly(connection, length)
    if crc32c(payload) != checksum:
        raise Refused(3, "the payload is damaged")
    return kind, sequence, count, payload


def write_frame(connection, kind, payload):
    head = HEADER.pack(b"RLF\x01", kind, 0, len(payload), 0, crc32c(payload))
    connection.sendall(head + struct.pack("<I", crc32c(head)) + payload)


class Machine:
    """What was executed: the output, and beside it the job's name with the number of lines and bytes."""

    def __init__(self, path):
        self.output, self.record_path = open(path, "r+b" if os.path.exists(path) else "w+b"), path + ".executed"
        self.job, self.executed, self.bytes = None, 0, 0
        if os.path.exists(self.record_path):
            self.job, self.executed, self.bytes = struct.unpack("<32sQQ", open(self.record_path, "rb").read())
        self.output.truncate(self.bytes)  # a line that was cut short was not executed
        self.output.seek(self.bytes)

    def execute(self, line):
        self.output.write(line)
        self.output.flush()
        self.record(self.executed + 1, self.bytes + len(line))

    def record(self, executed, count):
        self.executed, self.bytes = executed, count
        with open(self.record_path + ".new", "wb") as file:
            file.write(struct.pack("<32sQQ", self.job, self.executed, self.bytes))
        os.replace(self.record_path + ".new", self.record_path)


def cut(payload, count, line_bytes, runs):
    lengths = struct.unpack_from(f"<{count}I", payload) if runs else [line_bytes] * count
    ends = list(itertools.accumulate(lengths, initial=4 * count if runs else 0))
    return [payload[start:end] for start, end in zip(ends, ends[1:])]


def status(connection, machine, waiting, received, activity):
    buffered = sum(map(len, waiting))
    values = (machine.executed, machine.executed + len(waiting), received + BUFFER - buffered, buffered, 0, activity)
    write_frame(connection, STATUS, struct.pack("<QQQQIB3x", *values))


def serve(connection, machine):
    kind, _, _, hello = read_frame(connection)
    if kind != HELLO or hello[:2] != b"\x01\x00":
        raise Refused(1, "this machine speaks version 1")
    write_frame(connection, WELCOME, struct.pack("<HH64x", 1, 0))
    kind, _, _, job = read_frame(connection)
    name, (first, lines), runs = job[:32], struct.unpack_from("<QQ", job, 48), job[109] >> 3 & 1
    (line_bytes,) = struct.unpack_from("<I", job, 80)
    if machine.job not in (None, name):
        raise Refused(6, "the machine has begun another job")
    if line_bytes + 4 > BUFFER:
        raise Refused(8, "a line does not fit in the buffer")
    if machine.job is None:
        machine.job = name
        machine.record(first, 0)
    write_frame(connection, ACCEPT, struct.pack("<QQQII", machine.executed, machine.executed, BUFFER, BUFFER, 10000))
    waiting, received, activity = [], 0, WAITING
    while True:
        if activity == RUNNING:  # every line is executed before the next frame is read
            for line in waiting:
                machine.execute(line)
            waiting = []
        activity = DONE if machine.executed == lines else activity
        status(connection, machine, waiting, received, activity)
        try:
            kind, sequence, count, payload = read_frame(connection)
        except ConnectionError:
            return activity == DONE
        if kind == LINES and activity != ABORTED:
            if sequence != machine.executed + len(waiting):
                raise Refused(4, "another line comes next")
            waiting += cut(payload, count, line_bytes, runs)
            received += len(payload)
            activity = PAUSED if activity == PAUSED else RUNNING
        elif kind in (PAUSE, CONTINUE):
            activity = PAUSED if kind == PAUSE else RUNNING
        elif kind == ABORT:
            waiting, activity = [], ABORTED


def main():
    machine = Machine(sys.argv[2])
    listener, done = socket.create_server(("127.0.0.1", int(sys.argv[1]))), False
    print(f"listening on tcp://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    while not done:
        connection = listener.accept()[0]
        connection.settimeout(10)
        try:
            done = serve(connection, machine)
        except Refused as refused:
            write_frame(connection, ERROR, struct.pack("<H", refused.args[0]) + refused.args[1].encode())
        except OSError as error:
            print(error, file=sys.stderr)
        connection.close()
    print(f"executed {machine.executed} lines", flush=True)


main()
