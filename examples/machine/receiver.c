/* A receiver after docs/protocol.md in C99 over POSIX sockets: executes one job into a file.
 *
 *     cc -std=c99 -O2 -Wall -Wextra -o receiver receiver.c
 *     ./receiver PORT OUTPUT
 *
 * It takes no memory but what stands here. `execute` is where a machine of your own begins. Secrets and TLS are left out. With TRACE=1 it prints
 * every frame. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { HELLO = 1, WELCOME, PROOF, JOB, ACCEPT, LINES, END, PAUSE, CONTINUE, ABORT, PING, STATUS, ERROR };
enum { WAITING, RUNNING, PAUSED, DONE, ABORTED };
enum { HEAD = 32, NAME = 32, RECORD = 48, BUFFER = 1 << 20, SILENCE = 10000 };

/* ---- Numbers, least significant byte first ---- */

static uint64_t number(const uint8_t *from, int bytes) {
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | from[bytes];
    return value;
}

static void put(uint8_t *into, int bytes, uint64_t value) {
    for (int i = 0; i < bytes; i++, value >>= 8)
        into[i] = (uint8_t)value;
}

static uint32_t crc32c(const uint8_t *data, size_t length) {
    static uint32_t table[256];
    if (table[1] == 0)
        for (uint32_t byte = 0; byte < 256; byte++) {
            table[byte] = byte;
            for (int bit = 0; bit < 8; bit++)
                table[byte] = table[byte] >> 1 ^ (table[byte] & 1 ? 0x82F63B78u : 0);
        }
    uint32_t crc = 0xFFFFFFFFu;
    while (length-- > 0)
        crc = crc >> 8 ^ table[(crc ^ *data++) & 255];
    return crc ^ 0xFFFFFFFFu;
}

/* ---- Frames ---- */

/* What a function returns: OK, GONE where the connection is lost, or the code of an ERROR, with `why`. */
enum { OK = 0, GONE = -1 };
static const char *why;

static int refuse(int code, const char *text) {
    why = text;
    return code;
}

struct frame {
    int kind;
    uint64_t sequence;
    uint32_t length, count;
};

static uint8_t payload[BUFFER]; /* of the frame that was read last */

/* Prints a frame where TRACE is set. */
static void trace(const char *who, const uint8_t *head, const uint8_t *data) {
    static const char *const names[] = {"?",     "HELLO", "WELCOME",  "PROOF", "JOB",  "ACCEPT", "LINES",
                                        "END",   "PAUSE", "CONTINUE", "ABORT", "PING", "STATUS", "ERROR"};
    uint64_t length = HEAD + number(head + 16, 4);
    if (getenv("TRACE") == NULL)
        return;
    printf("%s: %s", who, names[head[4] <= ERROR ? head[4] : 0]);
    for (uint64_t at = 0; at < length; at++) {
        if (at % 16 == 0)
            printf("\n%04x ", (unsigned)at);
        printf(" %02x", at < HEAD ? head[at] : data[at - HEAD]);
    }
    printf("\n");
    fflush(stdout);
}

static int receive(int socket, uint8_t *into, size_t length) {
    while (length > 0) {
        ssize_t count = recv(socket, into, length, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) /* closed, broken, or silent for too long */
            return GONE;
        into += count;
        length -= (size_t)count;
    }
    return OK;
}

static int read_frame(int socket, struct frame *frame) {
    uint8_t head[HEAD];
    if (receive(socket, head, HEAD) != OK)
        return GONE;
    if (memcmp(head, "RLF\1", 4) != 0)
        return refuse(2, "this is no frame");
    if (crc32c(head, 28) != number(head + 28, 4)) /* before its length is believed */
        return refuse(3, "the header is damaged");
    frame->kind = head[4];
    frame->sequence = number(head + 8, 8);
    frame->length = (uint32_t)number(head + 16, 4);
    frame->count = (uint32_t)number(head + 20, 4);
    if (frame->length > (frame->kind == LINES ? BUFFER : 4096))
        return refuse(frame->kind == LINES ? 13 : 2, "the payload is too long");
    if (receive(socket, payload, frame->length) != OK)
        return GONE;
    trace("sender", head, payload);
    if (crc32c(payload, frame->length) != number(head + 24, 4))
        return refuse(3, "the payload is damaged");
    return OK;
}

static int write_frame(int socket, int kind, const uint8_t *data, uint32_t length) {
    uint8_t bytes[HEAD + 256] = "RLF\1"; /* nothing that a receiver says is longer */
    bytes[4] = (uint8_t)kind;
    put(bytes + 16, 4, length);
    put(bytes + 24, 4, crc32c(data, length));
    put(bytes + 28, 4, crc32c(bytes, 28));
    memcpy(bytes + HEAD, data, length);
    trace("receiver", bytes, data);
    for (size_t sent = 0, all = HEAD + length; sent < all;) {
        ssize_t count = send(socket, bytes + sent, all - sent, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return GONE;
        sent += (size_t)count;
    }
    return OK;
}

/* ---- The machine: a file, and beside it the name of the job, how many lines are executed and how many bytes they take ---- */

static struct {
    int output;
    char record_path[4096], new_path[4100];
    bool has_job;
    uint8_t job[NAME];
    uint64_t executed, bytes;
} machine;

/* Writes down what was executed: the old record has its name until the new one is whole. So a crash of the process loses nothing; against a loss of
 * power a machine stores both files by fsync. */
static bool record(void) {
    uint8_t text[RECORD];
    memcpy(text, machine.job, NAME);
    put(text + 32, 8, machine.executed);
    put(text + 40, 8, machine.bytes);
    int file = open(machine.new_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0)
        return false;
    bool whole = write(file, text, RECORD) == RECORD;
    return close(file) == 0 && whole && rename(machine.new_path, machine.record_path) == 0;
}

/* Executes a line, and writes it down after it: a crash between the two executes it again. */
static bool execute(const uint8_t *line, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t count = write(machine.output, line + done, length - done);
        if (count <= 0)
            return false;
        done += (size_t)count;
    }
    machine.executed++;
    machine.bytes += length;
    return record();
}

static bool power_up(const char *path) {
    int length = snprintf(machine.record_path, sizeof machine.record_path, "%s.executed", path);
    if (length < 0 || (size_t)length >= sizeof machine.record_path)
        return false;
    snprintf(machine.new_path, sizeof machine.new_path, "%s.new", machine.record_path);
    machine.output = open(path, O_WRONLY | O_CREAT, 0666);
    int file = open(machine.record_path, O_RDONLY);
    if (file >= 0) {
        uint8_t text[RECORD];
        if (read(file, text, RECORD) != RECORD)
            return false;
        close(file);
        machine.has_job = true;
        memcpy(machine.job, text, NAME);
        machine.executed = number(text + 32, 8);
        machine.bytes = number(text + 40, 8);
    }
    return machine.output >= 0;
}

/* ---- A connection ---- */

static struct {
    uint64_t lines, samples;
    uint32_t line_bytes; /* of a line; where lines are runs, the most of one */
    uint32_t run;        /* bytes of a run, 0 where lines have a fixed length */
} job;
static bool done; /* all lines are executed */

/* Lines that are not executed yet, one after the other; where lines are runs, each after its length. */
static uint8_t queue[BUFFER];
static uint32_t used;
static uint64_t waiting;

static int take_job(const uint8_t *text, uint32_t length) {
    if (length < 240)
        return refuse(2, "a JOB of at least 240 bytes is expected");
    uint64_t from = number(text + 48, 8), channels = number(text + 72, 4), passes = number(text + 76, 4);
    int bits = text[108];
    job.lines = number(text + 56, 8);
    job.samples = number(text + 64, 8);
    job.line_bytes = (uint32_t)number(text + 80, 4);
    job.run = text[109] & 8 ? (bits == 16 ? 4 : 3) : 0;
    if (job.lines == 0 || job.samples == 0 || channels == 0 || passes == 0 || job.samples % channels != 0 ||
        job.lines % passes != 0 || from > job.lines || (bits != 1 && bits != 8 && bits != 16))
        return refuse(2, "the job makes no sense");
    if (machine.has_job && memcmp(machine.job, text, NAME) != 0)
        return refuse(6, "the machine has begun another job");
    if (machine.has_job && machine.executed < from)
        return refuse(10, "fewer lines are recorded than the sender knows to be executed");
    if (machine.has_job && machine.executed > job.lines)
        return refuse(10, "more lines are recorded than the job has");
    if (job.line_bytes > BUFFER - 4)
        return refuse(8, "a line does not fit in the buffer");
    uint64_t bytes = job.run ? job.run * job.samples : bits == 1 ? (job.samples + 7) / 8 : job.samples * (bits / 8);
    if (job.samples > BUFFER * 8u || job.line_bytes != bytes)
        return refuse(2, "the bytes of a line are not what its samples take");
    if (!machine.has_job) {
        machine.has_job = true;
        memcpy(machine.job, text, NAME);
        machine.executed = from;
        if (!record())
            return refuse(10, "what is executed cannot be recorded");
    }
    /* A line that was cut short was not executed. */
    if (ftruncate(machine.output, (off_t)machine.bytes) != 0 || lseek(machine.output, (off_t)machine.bytes, SEEK_SET) < 0)
        return refuse(10, "the output cannot be written");
    used = 0;
    waiting = 0;
    return OK;
}

/* Whether the runs of a line sum up to its samples. */
static bool fits(const uint8_t *line, uint32_t length) {
    uint64_t sum = 0;
    for (uint32_t at = 0; at + job.run <= length; at += job.run) {
        if (number(line + at, 2) == 0)
            return false;
        sum += number(line + at, 2);
    }
    return length % job.run == 0 && sum == job.samples;
}

static int take_lines(const struct frame *frame) {
    if (frame->sequence != machine.executed + waiting)
        return refuse(4, "another line comes next");
    if (frame->length > BUFFER - used)
        return refuse(13, "more was sent than the credit allows");
    uint64_t at = job.run ? 4 * (uint64_t)frame->count : 0;
    if (frame->count == 0 || frame->count > job.lines - frame->sequence || at > frame->length)
        return refuse(2, "the lines do not fit the frame or the job");
    for (uint32_t line = 0; line < frame->count; line++) {
        uint32_t length = job.run ? (uint32_t)number(payload + 4 * line, 4) : job.line_bytes;
        if (length > frame->length - at || (job.run && !fits(payload + at, length)))
            return refuse(2, "the lines do not fit the frame or the job");
        if (job.run) {
            put(queue + used, 4, length);
            used += 4;
        }
        memcpy(queue + used, payload + at, length);
        used += length;
        at += length;
    }
    waiting += frame->count;
    return at == frame->length ? OK : refuse(2, "the lines do not fit the frame or the job");
}

static int execute_all(void) {
    for (uint32_t at = 0; waiting > 0; waiting--) {
        uint32_t length = job.line_bytes;
        if (job.run) {
            length = (uint32_t)number(queue + at, 4);
            at += 4;
        }
        if (!execute(queue + at, length))
            return refuse(10, "a line or the record of it cannot be written");
        at += length;
    }
    used = 0;
    return OK;
}

static int serve(int socket) {
    struct frame frame;
    uint8_t text[256] = {1}; /* the version, no secret, and zeros */
    int wrong = read_frame(socket, &frame);
    if (wrong == OK && (frame.kind != HELLO || frame.length < 36 || number(payload, 2) != 1))
        wrong = refuse(1, "this machine speaks version 1");
    if (wrong == OK)
        wrong = write_frame(socket, WELCOME, text, 68);
    if (wrong == OK)
        wrong = read_frame(socket, &frame);
    if (wrong == OK)
        wrong = frame.kind == JOB ? take_job(payload, frame.length) : refuse(2, "a JOB is expected");
    if (wrong != OK)
        return wrong;
    put(text, 8, machine.executed); /* executed */
    put(text + 8, 8, machine.executed); /* next: nothing is kept in a buffer between connections */
    put(text + 16, 8, BUFFER);      /* credit */
    put(text + 24, 4, BUFFER);      /* the largest payload of lines */
    put(text + 28, 4, SILENCE);
    if (write_frame(socket, ACCEPT, text, 32) != OK)
        return GONE;
    uint64_t received = 0;
    int activity = WAITING;
    for (;;) {
        if (activity == RUNNING && (wrong = execute_all()) != OK) /* before the next frame is read */
            return wrong;
        if (machine.executed == job.lines) {
            activity = DONE;
            done = true;
        }
        put(text, 8, machine.executed);
        put(text + 8, 8, machine.executed + waiting);
        put(text + 16, 8, received + BUFFER - used);
        put(text + 24, 8, used);
        put(text + 32, 4, 0); /* underruns */
        put(text + 36, 4, (uint64_t)activity);
        if (write_frame(socket, STATUS, text, 40) != OK)
            return GONE;
        if ((wrong = read_frame(socket, &frame)) != OK)
            return wrong;
        if (frame.kind == LINES && activity != ABORTED) {
            if ((wrong = take_lines(&frame)) != OK)
                return wrong;
            received += frame.length;
            activity = activity == PAUSED ? PAUSED : RUNNING;
        } else if (frame.kind == PAUSE && activity != ABORTED) {
            activity = PAUSED;
        } else if (frame.kind == CONTINUE && activity != ABORTED) {
            activity = RUNNING;
        } else if (frame.kind == ABORT) {
            used = 0;
            waiting = 0;
            activity = ABORTED;
        } /* END and PING ask for a STATUS, as every frame does. */
    }
}

/* Closes a connection after its last frame. A socket that is closed while bytes wait in it resets the connection, and an ERROR that has not arrived
 * by then is lost; so what the sender still says is read, for a second at most. */
static void hang_up(int socket) {
    static uint8_t rest[4096];
    struct timeval second = {.tv_sec = 1};
    time_t end = time(NULL) + 1;
    shutdown(socket, SHUT_WR);
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    while (recv(socket, rest, sizeof rest, 0) > 0 && time(NULL) <= end)
        continue;
    close(socket);
}

int main(int count, char **arguments) {
    char *end = NULL;
    long port = count == 3 ? strtol(arguments[1], &end, 10) : -1;
    if (port < 0 || port > 65535 || *arguments[1] == 0 || *end != 0) {
        fprintf(stderr, "receiver PORT OUTPUT, and port 0 for any that is free\n");
        return 1;
    }
    if (!power_up(arguments[2])) {
        fprintf(stderr, "%s or its record cannot be used\n", arguments[2]);
        return 1;
    }
    signal(SIGPIPE, SIG_IGN); /* a sender that has gone is an error of `send` */
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        perror(arguments[1]);
        return 1;
    }
    printf("listening on tcp://127.0.0.1:%u\n", (unsigned)ntohs(address.sin_port));
    fflush(stdout);
    do {
        int connection = accept(listener, NULL, NULL);
        if (connection < 0)
            continue;
        struct timeval silence = {.tv_sec = SILENCE / 1000};
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
        setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof silence);
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* a STATUS waits for nothing */
        int wrong = serve(connection);
        if (wrong > OK) {
            uint8_t text[256];
            put(text, 2, (uint64_t)wrong);
            memcpy(text + 2, why, strlen(why));
            write_frame(connection, ERROR, text, 2 + (uint32_t)strlen(why));
            fprintf(stderr, "%s\n", why);
        }
        hang_up(connection);
    } while (!done);
    printf("executed %llu lines\n", (unsigned long long)machine.executed);
    return 0;
}
