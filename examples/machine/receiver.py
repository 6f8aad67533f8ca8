"""A receiver after docs/protocol.md: executes one job into a file. python3 receiver.py PORT OUTPUT"""
import functools
import itertools
import os
import socket
import struct
import sys
import time

HEADER = struct.Struct("<4sB3xQIII")  # then the CRC-32C of these 28 bytes
JOB_FIELDS = struct.Struct("<32s16xQQQ8xI24xBB")  # what a receiver needs of the 240 bytes
HELLO, WELCOME, JOB, ACCEPT, LINES, PAUSE, CONTINUE, ABORT, STATUS, ERROR = 1, 2, 4, 5, 6, 8, 9, 10, 12, 13
WAITING, RUNNING, PAUSED, DONE, ABORTED = range(5)
BUFFER = 1 << 20
Refused = type("Refused", (Exception,), {})
TABLE = list(range(256))
for _ in range(8):
    TABLE = [byte >> 1 ^ (0x82F63B78 if byte & 1 else 0) for byte in TABLE]


def crc32c(data):
    return functools.reduce(lambda crc, byte: crc >> 8 ^ TABLE[(crc ^ byte) & 255], data, 0xFFFFFFFF) ^ 0xFFFFFFFF


def read_exactly(stream, count):
    data = stream.read(count)
    if len(data) < count:
        raise ConnectionError("the sender has gone")
    return data


def read_frame(stream):
    head = read_exactly(stream, 32)
    magic, kind, sequence, length, count, checksum = HEADER.unpack(head[:28])
    if magic != b"RLF\x01":
        raise Refused(2, "this is not a frame")
    if struct.pack("<I", crc32c(head[:28])) != head[28:]:
        raise Refused(3, "the header is damaged")
    if length > (1 << 24 if kind == LINES else 4096):
        raise Refused(2, "the payload is too long")
    payload = read_exactly(stream, length)
    if crc32c(payload) != checksum:
        raise Refused(3, "the payload is damaged")
    return kind, sequence, count, payload


def write_frame(stream, kind, payload):
    head = HEADER.pack(b"RLF\x01", kind, 0, len(payload), 0, crc32c(payload))
    stream.write(head + struct.pack("<I", crc32c(head)) + payload)
    stream.flush()


def hang_up(connection):
    """A socket closed while bytes wait in it resets the connection, and an ERROR still on its way is lost: read them first."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(1)
    end = time.monotonic() + 1
    while time.monotonic() < end and connection.recv(4096):
        pass


class Machine:
    """What was executed: the output, and beside it the job's name with the number of lines and bytes."""
    def __init__(self, path):
        self.output, self.record_path = open(path, "ab"), path + ".executed"
        self.job, self.executed, self.bytes, self.done = None, 0, 0, False
        if os.path.exists(self.record_path):
            self.job, self.executed, self.bytes = struct.unpack("<32sQQ", open(self.record_path, "rb").read())

    def begin(self, job, first):
        if self.job is None:
            self.record(job, first, 0)
        self.output.truncate(self.bytes)  # a line that was cut short was not executed

    def execute(self, line):
        self.output.write(line)
        self.output.flush()
        self.record(self.job, self.executed + 1, self.bytes + len(line))

    def record(self, job, executed, count):
        self.job, self.executed, self.bytes = job, executed, count
        with open(self.record_path + ".new", "wb") as file:
            file.write(struct.pack("<32sQQ", self.job, self.executed, self.bytes))
        os.replace(self.record_path + ".new", self.record_path)


def cut(payload, count, line_bytes, run, samples):
    """The lines of a payload; run is the bytes of a run, 0 where lines have a fixed length."""
    fits = 0 < count * (4 + run if run else line_bytes) <= len(payload)
    lengths = [] if not fits else struct.unpack_from(f"<{count}I", payload) if run else [line_bytes] * count
    ends = list(itertools.accumulate(lengths, initial=4 * count if run else 0))
    lines = [payload[start:end] for start, end in zip(ends, ends[1:])]
    for line in lines if run else []:
        counts = [int.from_bytes(line[at:at + 2], "little") for at in range(0, len(line), run)]
        fits = fits and len(line) % run == 0 and min(counts, default=0) > 0 and sum(counts) == samples
    if not fits or ends[-1] != len(payload):
        raise Refused(2, "the lines do not fit the frame or the job")
    return lines


def serve(stream, machine):
    kind, _, _, hello = read_frame(stream)
    if kind != HELLO or hello[:2] != b"\x01\x00":
        raise Refused(1, "this machine speaks version 1")
    write_frame(stream, WELCOME, struct.pack("<HH64x", 1, 0))
    kind, _, _, job = read_frame(stream)
    if kind != JOB or len(job) < 240:
        raise Refused(2, "a JOB of at least 240 bytes is expected")
    name, first, lines, samples, line_bytes, bits, flags = JOB_FIELDS.unpack_from(job)
    run = (4 if bits == 16 else 3) * (flags >> 3 & 1)
    if machine.job not in (None, name):
        raise Refused(6, "the machine has begun another job")
    if machine.job and machine.executed < first:
        raise Refused(10, f"{machine.executed} lines are recorded, fewer than the {first} of the sender")
    if line_bytes + 4 > BUFFER:
        raise Refused(8, "a line does not fit in the buffer")
    machine.begin(name, first)
    write_frame(stream, ACCEPT, struct.pack("<QQQII", machine.executed, machine.executed, BUFFER, BUFFER, 10000))
    waiting, received, activity = [], 0, WAITING
    while True:
        if activity == RUNNING:  # every line is executed before the next frame is read
            for line in waiting:
                machine.execute(line)
            waiting = []
        activity, buffered = DONE if machine.executed == lines else activity, sum(map(len, waiting))
        values = machine.executed, machine.executed + len(waiting), received + BUFFER - buffered, buffered, 0, activity
        write_frame(stream, STATUS, struct.pack("<QQQQIB3x", *values))
        machine.done = activity == DONE
        kind, sequence, count, payload = read_frame(stream)
        if kind == LINES and activity != ABORTED:
            if sequence != machine.executed + len(waiting):
                raise Refused(4, "another line comes next")
            waiting += cut(payload, count, line_bytes, run, samples)
            received += len(payload)
            activity = PAUSED if activity == PAUSED else RUNNING
        elif kind in (PAUSE, CONTINUE):
            activity = PAUSED if kind == PAUSE else RUNNING
        elif kind == ABORT:
            waiting, activity = [], ABORTED


def main():
    machine = Machine(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    print(f"listening on tcp://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    while not machine.done:
        try:
            with listener.accept()[0] as connection, connection.makefile("rwb") as stream:
                connection.settimeout(10)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a STATUS waits for nothing
                try:
                    serve(stream, machine)
                except Refused as refused:
                    write_frame(stream, ERROR, struct.pack("<H", refused.args[0]) + refused.args[1].encode())
                    hang_up(connection)
        except OSError as error:
            print(error, file=sys.stderr)
    print(f"executed {machine.executed} lines", flush=True)


main()
