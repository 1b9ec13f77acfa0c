/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A box without init: the program itself speaks the box link, with a front that may have been taken over, and
 * a Docker that is a child of this test. What that Docker prints for a command, and how it ends, the
 * command's only word says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/error.h"
#include "links/box/message.h"
#include "unit/cay-docker/fake_docker.h"
#include "unit/cay-docker/fake_front.h"

static struct fake_docker docker;
static struct fake_front front;
static int box; /* our end of the box link */

/* The Docker */

static const struct fake_docker_row answers[] = {
        FAKE_DOCKER_VERSION,
        { "GET /v1.41/info", FAKE_DOCKER_OK
          "{\"NCPU\":2,\"MemTotal\":1000000000,\"MemoryLimit\":true,\"SwapLimit\":true,"
          "\"PidsLimit\":true,\"OSType\":\"linux\",\"SecurityOptions\":[\"name=seccomp,profile=default\"],"
          "\"SystemTime\":\"2026-11-16T05:00:00.5Z\"}" },
        { "GET /v1.41/networks", FAKE_DOCKER_OK "[]" },
        FAKE_DOCKER_IMAGE,
        { "POST /v1.41/containers/cccc/kill", "204 No Content\r\n\r\n" },
        { "POST /v1.41/containers/cccc/pause", "204 No Content\r\n\r\n" },
        { "DELETE /v1.41/containers/", "204 No Content\r\n\r\n" },
        { "DELETE /v1.41/networks/dddd", "204 No Content\r\n\r\n" },
        { 0 },
};

static struct { /* of the one container */
        int streams, waiter;
        char words[4096];
        bool exists;
        unsigned kills, thaws, deletes, starts;
} c = { .streams = -1, .waiter = -1 };
static bool has_network; /* one of the box's is left */

static void put_frame(int kind, const char *text)
{
        uint8_t header[8] = { (uint8_t)kind, 0, 0, 0, 0, 0, 0, (uint8_t)strlen(text) };

        assert_int_equal(write(c.streams, header, 8), 8);
        assert_int_equal(write(c.streams, text, strlen(text)), strlen(text));
}

#define FLOOD (CAY_BOX_WINDOW_MIN + (320 + 96) * 1024)

/*
 * More than a front that does not read and a program that waits for it take: the rest lies in the socket when
 * Docker hangs up. By a child, as what does not fit is waited for.
 */
static void flood(int log)
{
        static char bytes[8 + FLOOD] = { 1, 0, 0, 0, FLOOD >> 24 & 255, FLOOD >> 16 & 255, FLOOD >> 8 & 255 };

        bytes[7] = (char)(FLOOD & 255);
        if (fork() == 0) {
                size_t at = 0;

                for (unsigned i = 0; i < TURNS * 10 && at < sizeof(bytes); i++) {
                        ssize_t n = send(c.streams, bytes + at, sizeof(bytes) - at, MSG_DONTWAIT);

                        if (n < 0 &&
                            errno == EAGAIN) /* a sleeper is woken late: only when most of it is read */
                                usleep(2000);
                        else if (n < 0)
                                _exit(1);
                        at += n > 0 ? (size_t)n : 0;
                }
                close(c.streams);
                dprintf(log, "flooded\n");
                _exit(0);
        }
        close(c.streams);
        c.streams = -1;
}

static bool says(const char *word)
{
        char quoted[32];

        snprintf(quoted, sizeof(quoted), "\"%s\"", word);
        return strstr(c.words, quoted);
}

static bool is_endless(void)
{
        return says("endless") || says("broken") || says("stubborn") || says("clingy") || says("restart");
}

static void end_container(void)
{
        if (c.waiter >= 0) {
                dprintf(c.waiter, "{\"StatusCode\":0}");
                close(c.waiter);
        }
        if (c.streams >= 0)
                close(c.streams);
        c.streams = c.waiter = -1;
}

/* One that an earlier program left, to which nobody can speak; and ours, while it is there. */
static void answer_list(int fd)
{
        dprintf(fd,
                "HTTP/1.1 " FAKE_DOCKER_OK "[{\"Id\":\"eeee\",\"State\":\"running\",\"Labels\":{\"cay.id\":"
                "\"left\",\"cay.instance\":\"unit\",\"cay.keep\":\"no\",\"cay.init\":\"none\"}}");
        if (c.exists)
                dprintf(fd, ",{\"Id\":\"cccc\",\"State\":\"created\",\"Labels\":{\"cay.id\":\"one\","
                            "\"cay.instance\":\"unit\",\"cay.keep\":\"no\",\"cay.init\":\"none\"}}");
        dprintf(fd, "]");
        close(fd);
}

/* Made, removed and killed, as far as the word lets it be. */
static bool answer_life(const char *bytes, int fd)
{
        if (strstr(bytes, "/containers/create?")) {
                bool existed = c.exists;

                c.exists = true;
                if (says("silent") && !existed) {
                        close(fd);
                        return true;
                }
                fake_docker_say_take(fd, existed ? "409 Conflict\r\nContent-Length: 0\r\n\r\n"
                                                 : "201 Created\r\nA: b\r\n\r\n{\"Id\":\"cccc\"}");
                return true;
        }
        if (strncmp(bytes, "DELETE /v1.41/containers/cccc", 29) == 0) {
                if ((says("stuck") || says("clingy")) && c.deletes++ == 0) {
                        fake_docker_say_take(fd, "500 Trouble\r\nContent-Length: 0\r\n\r\n");
                        return true;
                }
                c.exists = false;
                end_container();
                return false;
        }
        if (says("stubborn") && strstr(bytes, "/cccc/unpause ")) {
                fake_docker_say_take(fd, c.thaws++ == 0 ? "500 Trouble\r\nContent-Length: 0\r\n\r\n"
                                                        : "204 No Content\r\n\r\n");
                return true;
        }
        if (says("stubborn") && strstr(bytes, "/cccc/kill?") && c.kills++ < 3) {
                fake_docker_say_take(fd, c.kills == 1
                                                 ? "500 Trouble\r\nContent-Length: 0\r\n\r\n"
                                                 : "409 Conflict\r\nA: b\r\n\r\n{\"message\":\"is paused\"}");
                return true;
        }
        if (strstr(bytes, "kill?signal=9 "))
                end_container();
        return false;
}

/* True: fd is kept, or closed. */
static bool answer_container(const char *bytes, int fd, int log)
{
        if (strstr(bytes, "/cccc/attach?")) {
                c.streams = fd;
                dprintf(fd, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
                return true;
        }
        if (strstr(bytes, "/cccc/start ")) {
                if (says("restart")) { /* it runs, and Docker does not tell before it has been away */
                        if (c.starts++ == 0) {
                                close(c.streams);
                                c.streams = -1;
                                close(fd);
                        } else {
                                fake_docker_say_take(fd, "304 Not Modified\r\n\r\n");
                        }
                        return true;
                }
                if (says("absent") || says("stuck")) {
                        fake_docker_say_take(
                                fd, says("stuck")
                                            ? "500 Trouble\r\nContent-Length: 0\r\n\r\n"
                                            : "400 Bad\r\nA: b\r\n\r\n{\"message\":\"exec: \\\"absent\\\": "
                                              "executable file not found in $PATH\"}");
                        return true;
                }
                fake_docker_say_take(fd, "204 No Content\r\n\r\n");
                if (says("broken"))
                        assert_int_equal(write(c.streams, "no frame at all", 15), 15);
                else if (says("torn"))
                        assert_int_equal(write(c.streams, "\1\0\0\0\0\0\0\144half of it", 18), 18);
                else if (says("flood"))
                        flood(log);
                else if (!is_endless()) {
                        put_frame(1, "to out\n");
                        put_frame(2, "to err\n");
                        put_frame(1, "more\n");
                }
                return true;
        }
        if (strstr(bytes, "/cccc/wait ")) {
                c.waiter = fd;
                dprintf(fd, "HTTP/1.1 " FAKE_DOCKER_OK);
                if (says("flood"))
                        wait(NULL); /* there is one child, for which nobody waits: until it is gone */
                if (!is_endless())
                        end_container();
                return true;
        }
        if (strncmp(bytes, "GET ", 4) == 0 && strstr(bytes, "/cccc/json ")) {
                dprintf(fd,
                        "HTTP/1.1 " FAKE_DOCKER_OK
                        "{\"State\":{\"Status\":\"%s\",\"ExitCode\":%d,\"OOMKilled\":%s}}",
                        says("taken") ? "removing" : "exited", says("oom") || is_endless() ? 137 : 3,
                        says("oom") ? "true" : "false");
                close(fd);
                return true;
        }
        return false;
}

static void answer(int fd, const char *bytes, size_t len, int log)
{
        const char *words = strstr(bytes, "\"Entrypoint\":");

        if (has_network && !strncmp(bytes, "GET /v1.41/networks", 19)) {
                dprintf(log, "looked\n");
                fake_docker_say_take(fd, FAKE_DOCKER_OK "[{\"Id\":\"dddd\",\"Labels\":{\"cay.id\":\"one\","
                                                        "\"cay.instance\":\"unit\"}}]");
                return;
        }
        if (!strncmp(bytes, "NETWORK", 7)) {
                has_network = true;
                close(fd);
                return;
        }
        if (!strncmp(bytes, "GET /v1.41/containers/json", 26)) {
                answer_list(fd);
                return;
        }
        if (words)
                snprintf(c.words, sizeof(c.words), "%.*s", (int)(strchr(words, ']') - words), words);
        if (strncmp(bytes, "GET ", 4) != 0) /* all but the filter, which is long */
                dprintf(log, "%.3000s\n", bytes);
        if (!answer_life(bytes, fd) && !answer_container(bytes, fd, log))
                fake_docker_look_up_take(fd, bytes, answers);
}

/* The program */

static const char *log_text(void)
{
        return fake_docker_log(&docker);
}

static uint32_t ask(struct docker_request *req, int fd)
{
        return fake_front_ask(&front, req, &fd, fd >= 0 ? 1 : 0);
}

/* A fresh stream to the box. */
static uint32_t join(uint32_t type)
{
        struct docker_request req = { .type = type };
        int ends[2];
        uint32_t code;

        if (box >= 0)
                close(box);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        if (type == DOCKER_box_make) {
                snprintf(req.plan.id, sizeof(req.plan.id), "one");
                req.plan.flags = DOCKER_PLAN_NO_INIT;
                req.plan.memory_bytes = 64 << 20;
                memset(req.plan.secret, 7, sizeof(req.plan.secret));
        } else {
                snprintf(req.box.id, sizeof(req.box.id), "one");
        }
        code = ask(&req, ends[1]);
        close(ends[1]);
        box = ends[0];
        return code;
}

static int set_up(void **state)
{
        const char *const more[] = { NULL };

        box = -1;
        fake_docker_open(&docker, "once");
        fake_docker_start(&docker, answer);
        fake_front_start(&front, &docker, more);
        assert_int_equal(fake_front_greet(&front), CAY_OK);
        return (int)join(DOCKER_box_make);
}

static int tear_down(void **state)
{
        close(box);
        fake_front_stop(&front);
        return fake_docker_close(&docker);
}

/* Frames */

static void say(unsigned type, uint32_t channel, unsigned stream, uint64_t seq, const void *payload,
                size_t len)
{
        const struct cay_frame f = { .len = (uint32_t)len,
                                     .channel = channel,
                                     .seq = seq,
                                     .type = (uint16_t)type,
                                     .stream = (uint16_t)stream };
        uint8_t bytes[CAY_FRAME_HEADER + 4096];

        cay_frame_encode(&f, bytes);
        if (len > 0)
                memcpy(bytes + CAY_FRAME_HEADER, payload, len);
        assert_int_equal(send(box, bytes, CAY_FRAME_HEADER + len, MSG_NOSIGNAL), CAY_FRAME_HEADER + len);
}

static void say_hello(int byte)
{
        struct cay_box_hello hello = { .version = CAY_BOX_VERSION };
        uint8_t payload[64];

        memset(hello.secret, byte, sizeof(hello.secret));
        say(CAY_FRAME_HELLO, 0, 0, 0, payload,
            (size_t)cay_box_hello_encode(&hello, payload, sizeof(payload)));
}

static void say_open(uint32_t channel, const char *word, unsigned flags)
{
        const char *const argv[] = { word, NULL }, *const env[] = { NULL };
        struct cay_box_open open = {
                .kind = CAY_BOX_EXEC,
                .window = CAY_BOX_WINDOW_MIN,
                .exec = { .flags = flags, .uid = CAY_BOX_ID_DEFAULT, .gid = CAY_BOX_ID_DEFAULT }
        };
        uint8_t payload[1024];

        say(CAY_FRAME_OPEN, channel, 0, 0, payload,
            (size_t)cay_box_open_encode(&open, argv, env, payload, sizeof(payload)));
}

static bool read_all(void *to, size_t len)
{
        struct pollfd p = { .fd = box, .events = POLLIN };
        ssize_t n;

        for (size_t at = 0; at < len; at += (size_t)n) {
                assert_int_equal(poll(&p, 1, WAIT_MS), 1);
                n = read(box, (char *)to + at, len - at);
                if (n <= 0)
                        return false;
        }
        return true;
}

/* The next frame; false: the stream has ended. */
static bool hear(struct cay_frame *f, uint8_t payload[CAY_FRAME_DATA_MAX])
{
        uint8_t header[CAY_FRAME_HEADER];

        if (!read_all(header, sizeof(header)))
                return false;
        assert_int_equal(cay_frame_decode(header, CAY_SIDE_INIT, f), 0);
        assert_true(f->len <= CAY_FRAME_DATA_MAX);
        return read_all(payload, f->len);
}

static uint8_t payload[CAY_FRAME_DATA_MAX];

static struct cay_box_end hear_end(uint32_t channel, char *out, char *err)
{
        struct cay_box_end end;
        struct cay_frame f;

        for (;;) {
                assert_true(hear(&f, payload));
                if (f.type == CAY_FRAME_DATA && f.channel == channel && out)
                        strncat(f.stream == CAY_STREAM_OUT ? out : err, (const char *)payload, f.len);
                if (f.type == CAY_FRAME_END && f.channel == channel)
                        break;
        }
        assert_int_equal(cay_box_end_decode(payload, f.len, &end), 0);
        return end;
}

static void assert_ended(void)
{
        struct cay_frame f;

        while (hear(&f, payload))
                ;
}

static void greet(void)
{
        struct cay_frame f;

        say_hello(7);
        assert_true(hear(&f, payload));
        assert_int_equal(f.type, CAY_FRAME_WELCOME);
}

static void assert_refused(uint32_t channel, enum cay_code code, const char *word)
{
        struct cay_box_end end = hear_end(channel, NULL, NULL);

        assert_int_equal(end.code, code);
        assert_non_null(memmem(end.msg.ptr, end.msg.len, word, strlen(word)));
}

/* Tests */

static void a_command(void **state)
{
        char out[64] = "", err[64] = "";
        struct cay_box_end end;
        struct docker_request drop = { .type = DOCKER_box_drop };

        greet();
        say_open(1, "/program", 0);
        end = hear_end(1, out, err);
        assert_string_equal(out, "to out\nmore\n");
        assert_string_equal(err, "to err\n");
        assert_int_equal(end.code, CAY_OK);
        assert_int_equal(end.exec.exit_code, 3);
        assert_int_equal(end.exec.out_bytes, 12);
        assert_non_null(strstr(log_text(), "\"Entrypoint\":[\"/program\"]"));
        assert_null(strstr(log_text(), "PUT "));
        say_open(2, "/program", 0);
        assert_refused(2, CAY_CONFLICT, "one command");
        snprintf(drop.box.id, sizeof(drop.box.id), "one");
        assert_int_equal(ask(&drop, -1), CAY_OK);
        assert_non_null(strstr(log_text(), "DELETE /v1.41/containers/cccc?force=1&v=1 "));
        assert_non_null(
                strstr(log_text(), "DELETE /v1.41/containers/eeee?force=1&v=1 ")); /* the one that was left */
}

static void memory_is_the_cause(void **state)
{
        struct cay_box_end end;

        greet();
        say_open(1, "oom", 0);
        end = hear_end(1, NULL, NULL);
        assert_int_equal(end.exec.killed, CAY_KILLED_MEMORY);
        assert_int_equal(end.exec.signal, SIGKILL);
        assert_int_equal(end.exec.exit_code, -1);
}

static void killed_when_asked(void **state)
{
        uint8_t why[4];
        struct cay_box_end end;
        struct cay_frame f;

        greet();
        say_open(1, "endless", 0);
        assert_true(hear(&f, payload));
        assert_int_equal(f.type, CAY_FRAME_OPENED);
        say_open(2, "/program", 0);
        assert_refused(2, CAY_CONFLICT, "runs now");
        say(CAY_FRAME_KILL, 1, 0, 0, why,
            (size_t)cay_box_kill_encode(CAY_KILLED_WALL_TIME, why, sizeof(why)));
        end = hear_end(1, NULL, NULL);
        assert_int_equal(end.exec.killed, CAY_KILLED_WALL_TIME);
        assert_non_null(strstr(log_text(), "POST /v1.41/containers/cccc/kill?signal=9 "));
}

/* The front is another one: it finds the command, and its end with all that was said before. */
static void a_new_stream_goes_on(void **state)
{
        char out[64] = "", err[64] = "";
        struct cay_box_resume have = { 0 };
        struct cay_box_welcome welcome;
        uint8_t bytes[32];
        struct cay_frame f;

        greet();
        say_open(1, "/program", 0);
        hear_end(1, NULL, NULL);
        assert_int_equal(join(DOCKER_box_link), CAY_OK);
        say_hello(7);
        assert_true(hear(&f, payload));
        assert_int_equal(cay_box_welcome_decode(payload, f.len, &welcome), 0);
        assert_true(welcome.count == 1 && welcome.channels[0] == 1);
        have.out_got = 7;
        say(CAY_FRAME_RESUME, 1, 0, 0, bytes, (size_t)cay_box_resume_encode(&have, bytes, sizeof(bytes)));
        assert_int_equal(hear_end(1, out, err).exec.exit_code, 3);
        assert_string_equal(out, "more\n");
        assert_string_equal(err, "to err\n");
        say(CAY_FRAME_CLOSE, 1, 0, 0, NULL, 0);
        assert_int_equal(join(DOCKER_box_link), CAY_OK);
        say_hello(7);
        assert_true(hear(&f, payload));
        assert_int_equal(cay_box_welcome_decode(payload, f.len, &welcome), 0);
        assert_int_equal(welcome.count, 0);
}

static void what_was_not_started_may_be_another(void **state)
{
        greet();
        say_open(1, "absent", 0);
        assert_refused(1, CAY_NOT_FOUND, "'absent' was not found");
        assert_non_null(strstr(log_text(), "DELETE /v1.41/containers/cccc"));
        say(CAY_FRAME_CLOSE, 1, 0, 0, NULL, 0);
        say_open(2, "/program", 0);
        assert_int_equal(hear_end(2, NULL, NULL).exec.exit_code, 3);
}

static void everything_else_is_refused(void **state)
{
        struct cay_box_open open = {
                .kind = CAY_BOX_WRITE,
                .window = CAY_BOX_WINDOW_MIN,
                .file = { .uid = CAY_BOX_ID_DEFAULT, .gid = CAY_BOX_ID_DEFAULT, .path = { "/f", 2 } }
        };
        uint8_t bytes[256];
        struct cay_frame f;

        greet();
        say(CAY_FRAME_OPEN, 1, 0, 0, bytes,
            (size_t)cay_box_open_encode(&open, NULL, NULL, bytes, sizeof(bytes)));
        say(CAY_FRAME_DATA, 1, CAY_STREAM_IN, 0, "bytes", 5); /* on its way when the refusal came */
        say(CAY_FRAME_EOF, 1, CAY_STREAM_IN, 5, NULL, 0);
        assert_refused(1, CAY_UNSUPPORTED, "files cannot be");
        say(CAY_FRAME_CLOSE, 1, 0, 0, NULL, 0);
        open = (struct cay_box_open){ .kind = CAY_BOX_CONNECT,
                                      .window = CAY_BOX_WINDOW_MIN,
                                      .connect.port = 80 };
        say(CAY_FRAME_OPEN, 2, 0, 0, bytes,
            (size_t)cay_box_open_encode(&open, NULL, NULL, bytes, sizeof(bytes)));
        assert_refused(2, CAY_UNSUPPORTED, "ports");
        say_open(3, "/program", CAY_BOX_TTY);
        assert_refused(3, CAY_UNSUPPORTED, "terminal");
        say_open(4, "\xff\xfe", 0);
        assert_refused(4, CAY_INVALID, "UTF-8");
        say(CAY_FRAME_PING, 0, 0, 0, "12345678", 8);
        assert_true(hear(&f, payload));
        assert_int_equal(f.type, CAY_FRAME_PONG);
        assert_null(strstr(log_text(), "create"));
}

/* Breaches end the stream, never the box. */
static void breaches(void **state)
{
        static const uint8_t noise[64] = { 255, 255, 255, 255, 1 };
        struct cay_frame f;

        say_open(1, "/program", 0); /* before HELLO */
        assert_ended();
        assert_int_equal(join(DOCKER_box_link), CAY_OK);
        say_hello(8); /* another's secret */
        assert_ended();
        assert_int_equal(join(DOCKER_box_link), CAY_OK);
        assert_int_equal(send(box, noise, sizeof(noise), MSG_NOSIGNAL), sizeof(noise));
        assert_ended();
        for (unsigned i = 0; i < 6; i++) {
                assert_int_equal(join(DOCKER_box_link), CAY_OK);
                greet();
                switch (i) {
                case 0:
                        say_hello(7); /* twice */
                        break;
                case 1:
                        say(CAY_FRAME_OPEN, 1, 0, 0, "nothing of this is a request", 28);
                        break;
                case 2:
                        say(CAY_FRAME_DATA, 9, CAY_STREAM_IN, 0, "x", 1); /* of nobody */
                        break;
                case 3:
                        say_open(1, "endless", CAY_BOX_STDIN);
                        say(CAY_FRAME_DATA, 1, CAY_STREAM_IN, CAY_BOX_WINDOW_MIN - 1, "xx",
                            2); /* a hole, beyond the window */
                        break;
                case 4: /* of the command that runs by now: nothing was sent that could be acknowledged */
                        say_open(1, "endless", CAY_BOX_STDIN);
                        say(CAY_FRAME_ACK, 1, CAY_STREAM_OUT, 1000, NULL, 0);
                        break;
                default:
                        memset(payload, 0xff, 16);
                        say(CAY_FRAME_RESUME, 1, 0, 0, payload, 16);
                        break;
                }
                assert_ended();
        }
        assert_int_equal(join(DOCKER_box_link), CAY_OK);
        say_hello(7);
        assert_true(hear(&f, payload));
        assert_int_equal(f.type, CAY_FRAME_WELCOME);
        assert_null(strstr(log_text(), "\"Entrypoint\":[\"/program\"]"));
}

static uint32_t ask_about(uint32_t type)
{
        struct docker_request req = { .type = type };

        snprintf(req.box.id, sizeof(req.box.id), "one");
        return ask(&req, -1);
}

/* Docker's own stream makes no sense: the box is gone, and its container. */
static void a_docker_that_lies(void **state)
{
        greet();
        say_open(1, "broken", 0);
        assert_ended();
        assert_int_equal(ask_about(DOCKER_box_thaw), CAY_NOT_FOUND); /* behind the removal */
        assert_non_null(strstr(log_text(), "DELETE /v1.41/containers/cccc"));
}

/* The same of one that breaks off within a piece: what is missing is not passed over. */
static void a_stream_that_breaks_off(void **state)
{
        greet();
        say_open(1, "torn", 0);
        assert_ended();
        assert_int_equal(ask_about(DOCKER_box_thaw), CAY_NOT_FOUND);
        assert_int_equal(front.gone, 1);
}

/* Docker goes between the command's beginning and the word of it: what it says from then on nobody hears. */
static void a_docker_that_goes_at_the_start(void **state)
{
        greet();
        say_open(1, "restart", 0);
        assert_ended();
        assert_int_equal(ask_about(DOCKER_box_thaw), CAY_NOT_FOUND);
        assert_int_equal(front.gone, 1);
        assert_int_equal(fake_docker_times(&docker, "/cccc/start "), 2);
        assert_non_null(strstr(log_text(), "DELETE /v1.41/containers/cccc"));
}

/* Somebody else removes it, and Docker is at it when it tells of the end: that was not the command's own. */
static void a_container_that_is_taken_away(void **state)
{
        greet();
        say_open(1, "taken", 0);
        assert_ended();
        assert_int_equal(ask_about(DOCKER_box_thaw), CAY_NOT_FOUND);
        assert_int_equal(front.gone, 1);
}

/* Docker has written all and hung up long before the front reads: no byte is lost. */
static void a_tail_that_waits(void **state)
{
        struct cay_box_end end = { 0 };
        struct cay_frame f = { 0 };
        uint64_t got = 0;

        greet();
        say_open(1, "flood", CAY_BOX_STDIN);
        say(CAY_FRAME_EOF, 1, CAY_STREAM_IN, 0, NULL, 0);
        fake_docker_wait_for(&docker, "flooded\n", 1);
        for (unsigned i = 0; i < 4; i++) /* its loop has turned since */
                ask_about(DOCKER_box_stat);
        while (f.type != CAY_FRAME_END) {
                assert_true(hear(&f, payload));
                if (f.type != CAY_FRAME_DATA)
                        continue;
                assert_int_equal(f.stream, CAY_STREAM_OUT);
                got += f.len;
                say(CAY_FRAME_ACK, 1, CAY_STREAM_OUT, got, NULL, 0);
        }
        assert_int_equal(cay_box_end_decode(payload, f.len, &end), 0);
        assert_int_equal(end.exec.exit_code, 3);
        assert_int_equal(end.exec.out_bytes, FLOOD);
        assert_int_equal(got, FLOOD);
}

/*
 * Docker fails, then says that it is frozen, does not thaw it, and does at last: the limit holds all the
 * same.
 */
static void a_kill_is_tried_until_it_is_done(void **state)
{
        uint8_t why[4];
        struct cay_box_end end;

        greet();
        say_open(1, "stubborn", 0);
        say(CAY_FRAME_KILL, 1, 0, 0, why, (size_t)cay_box_kill_encode(CAY_KILLED_CPU_TIME, why, sizeof(why)));
        say(CAY_FRAME_KILL, 1, 0, 0, why,
            (size_t)cay_box_kill_encode(CAY_KILLED_WALL_TIME, why, sizeof(why)));
        end = hear_end(1, NULL, NULL);
        assert_int_equal(end.exec.killed, CAY_KILLED_CPU_TIME);
        fake_docker_wait_for(&docker, "/cccc/kill?signal=9 ", 4);
        fake_docker_wait_for(&docker, "/cccc/unpause ", 2);
}

static void nudge_until_it_is_gone(void)
{
        for (unsigned i = 0; i < TURNS; i++) {
                fake_docker_tell(&docker, "NUDGE");
                if (ask_about(DOCKER_box_freeze) == CAY_NOT_FOUND)
                        return;
                usleep(20000);
        }
        fail_msg("the box is still there");
}

static void a_container_that_stays_is_removed_later(void **state)
{
        greet();
        say_open(1, "stuck", 0);
        assert_int_equal(hear_end(1, NULL, NULL).code, CAY_INTERNAL); /* not started, and not removed */
        nudge_until_it_is_gone();
        fake_docker_wait_for(&docker, "DELETE /v1.41/containers/cccc", 2);
        assert_int_equal(front.gone, 1);
}

static void a_drop_that_failed_is_done_later(void **state)
{
        struct cay_frame f;

        greet();
        say_open(1, "clingy", 0);
        assert_true(hear(&f, payload));
        assert_int_equal(f.type, CAY_FRAME_OPENED);
        assert_int_equal(ask_about(DOCKER_box_drop), CAY_INTERNAL);
        nudge_until_it_is_gone();
        fake_docker_wait_for(&docker, "DELETE /v1.41/containers/cccc", 2);
}

/* Docker made it and its answer was lost: it is in nobody's way. */
static void a_create_without_an_answer(void **state)
{
        struct cay_box_end end;

        greet();
        say_open(1, "silent", 0);
        assert_int_equal(hear_end(1, NULL, NULL).code, CAY_UNAVAILABLE);
        say(CAY_FRAME_CLOSE, 1, 0, 0, NULL, 0);
        for (uint32_t i = 2; i < TURNS; i++) {
                say_open(i, "/program", 0);
                end = hear_end(i, NULL, NULL);
                if (end.code == CAY_OK)
                        break;
                assert_int_equal(end.code, CAY_EXISTS); /* until Docker was looked at */
                say(CAY_FRAME_CLOSE, i, 0, 0, NULL, 0);
                fake_docker_tell(&docker, "NUDGE");
                usleep(20000);
        }
        assert_int_equal(end.code, CAY_OK);
        assert_int_equal(end.exec.exit_code, 3);
        assert_int_equal(front.gone, 0);
}

/* A network that could not be removed is no reason to take the box away; it goes with it. */
static void a_network_that_is_left(void **state)
{
        greet();
        fake_docker_tell(&docker, "NETWORK");
        fake_docker_nudge_until(&docker, "looked\n", 3);
        assert_int_equal(ask_about(DOCKER_box_freeze), CAY_CONFLICT); /* there, and without a command */
        say_open(1, "/program", 0);
        assert_int_equal(hear_end(1, NULL, NULL).exec.exit_code, 3);
        assert_int_equal(ask_about(DOCKER_box_drop), CAY_OK);
        assert_non_null(strstr(log_text(), "DELETE /v1.41/networks/dddd "));
        assert_int_equal(front.gone, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
                TEST(a_command),
                TEST(memory_is_the_cause),
                TEST(killed_when_asked),
                TEST(a_new_stream_goes_on),
                TEST(what_was_not_started_may_be_another),
                TEST(everything_else_is_refused),
                TEST(breaches),
                TEST(a_docker_that_lies),
                TEST(a_stream_that_breaks_off),
                TEST(a_docker_that_goes_at_the_start),
                TEST(a_container_that_is_taken_away),
                TEST(a_tail_that_waits),
                TEST(a_kill_is_tried_until_it_is_done),
                TEST(a_container_that_stays_is_removed_later),
                TEST(a_drop_that_failed_is_done_later),
                TEST(a_create_without_an_answer),
                TEST(a_network_that_is_left),
        };

        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
