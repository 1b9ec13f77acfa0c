/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/cay-docker/fake_docker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES_MAX (1 << 20) /* of a request, and of the log */

void fake_docker_open(struct fake_docker *d, const char *name)
{
        *d = (struct fake_docker){ 0 };
        snprintf(d->folder, sizeof(d->folder), "/tmp/docker-%s-XXXXXX", name);
        assert_non_null(mkdtemp(d->folder));
        snprintf(d->socket, sizeof(d->socket), "%s/sock", d->folder);
        snprintf(d->log, sizeof(d->log), "%s/log", d->folder);
}

static struct sockaddr_un address(const struct fake_docker *d)
{
        struct sockaddr_un name = { .sun_family = AF_UNIX };

        memcpy(name.sun_path, d->socket, sizeof(d->socket));
        return name;
}

/*
 * Head and body; 0: it broke off. All of the body is read, also what there is no room for (an init with
 * sanitizers is megabytes): who closes a socket in which bytes are left has its answer lost at times.
 */
static size_t read_request(int fd, char bytes[BYTES_MAX])
{
        static char rest[65536];
        const char *end = NULL, *length;
        size_t len = 0, want, got;
        ssize_t n;

        while (!end && (n = read(fd, bytes + len, BYTES_MAX - 1 - len)) > 0) {
                bytes[len += (size_t)n] = '\0';
                end = strstr(bytes, "\r\n\r\n");
        }
        if (!end)
                return 0;
        length = strcasestr(bytes, "content-length: ");
        want = (size_t)(end + 4 - bytes) + (length && length < end ? strtoul(length + 16, NULL, 10) : 0);
        while (len < want && len < BYTES_MAX - 1 && (n = read(fd, bytes + len, BYTES_MAX - 1 - len)) > 0)
                bytes[len += (size_t)n] = '\0';
        for (got = len; got < want && (n = read(fd, rest, sizeof(rest))) > 0;)
                got += (size_t)n;
        return len;
}

/* fd in place of the stream that was there; -1: none. */
static void keep_events(int *events, int fd)
{
        if (*events >= 0)
                close(*events);
        *events = fd;
}

_Noreturn static void serve(int listener, int log, fake_docker_answer_fn *answer)
{
        static char bytes[BYTES_MAX];
        int events = -1;

        signal(SIGPIPE, SIG_IGN); /* whoever asked may be gone */
        signal(SIGCHLD, SIG_IGN); /* what takes long may be said by a child, for which nobody waits */
        for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;) {
                size_t len = read_request(fd, bytes);

                if (len == 0) {
                        close(fd);
                } else if (strncmp(bytes, "GET /v1.41/events", 17) == 0) {
                        dprintf(fd, "HTTP/1.1 " FAKE_DOCKER_OK);
                        keep_events(&events, fd);
                } else if (strncmp(bytes, "NUDGE", 5) == 0) {
                        keep_events(&events, -1);
                        close(fd);
                } else {
                        answer(fd, bytes, len, log);
                }
        }
        _exit(0);
}

void fake_docker_start(struct fake_docker *d, fake_docker_answer_fn *answer)
{
        struct sockaddr_un name = address(d);
        int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
        assert_int_equal(listen(listener, 64), 0);
        d->pid = fork();
        assert_true(d->pid >= 0);
        if (d->pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the test */
                serve(listener, open(d->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600), answer);
        }
        close(listener);
}

void fake_docker_stop(struct fake_docker *d)
{
        if (d->pid > 0) {
                kill(d->pid, SIGKILL);
                waitpid(d->pid, NULL, 0);
        }
        d->pid = 0;
}

int fake_docker_close(struct fake_docker *d)
{
        fake_docker_stop(d);
        unlink(d->socket);
        unlink(d->log);
        return rmdir(d->folder);
}

void fake_docker_say_take(int fd, const char *answer)
{
        dprintf(fd, "HTTP/1.1 %s", answer);
        close(fd);
}

void fake_docker_look_up_take(int fd, const char *bytes, const struct fake_docker_row *rows)
{
        while (rows->request && strncmp(bytes, rows->request, strlen(rows->request)) != 0)
                rows++;
        fake_docker_say_take(fd, rows->request ? rows->answer : "404 Not Found\r\nContent-Length: 0\r\n\r\n");
}

void fake_docker_tell(const struct fake_docker *d, const char *word)
{
        struct sockaddr_un name = address(d);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        char byte;

        assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
        assert_true(dprintf(fd, "%s\r\n\r\n", word) > 0);
        assert_int_equal(read(fd, &byte, 1), 0);
        close(fd);
}

static const char *read_log(const struct fake_docker *d, size_t *ret_len)
{
        static char text[BYTES_MAX];
        int fd = open(d->log, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

        if (fd >= 0)
                close(fd);
        *ret_len = n > 0 ? (size_t)n : 0;
        text[*ret_len] = '\0';
        return text;
}

const char *fake_docker_log(const struct fake_docker *d)
{
        size_t len;

        return read_log(d, &len);
}

unsigned fake_docker_times(const struct fake_docker *d, const char *word)
{
        size_t left, word_len = strlen(word);
        const char *text = read_log(d, &left), *end = text + left;
        unsigned n = 0;

        while ((text = memmem(text, (size_t)(end - text), word, word_len))) {
                text++;
                n++;
        }
        return n;
}

void fake_docker_wait_for(const struct fake_docker *d, const char *word, unsigned times)
{
        for (unsigned i = 0; i < TURNS && fake_docker_times(d, word) < times; i++)
                usleep(20000);
        assert_true(fake_docker_times(d, word) >= times);
}

void fake_docker_nudge_until(const struct fake_docker *d, const char *word, unsigned times)
{
        for (unsigned i = 0; i < TURNS && fake_docker_times(d, word) < times; i++) {
                fake_docker_tell(d, "NUDGE");
                usleep(20000);
        }
        assert_true(fake_docker_times(d, word) >= times);
}
