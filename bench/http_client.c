/* SPDX-License-Identifier: Apache-2.0 */
/* A keep-alive HTTP/1.1 client for measuring. See http_client.h. */

#include "http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAIT_S = 60, HEAD_MAX = 16384, REQUEST_MAX = 8192 };

static int complain(const char *what)
{
        fprintf(stderr, "bench: http: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
        return -1;
}

int client_open(struct client *c, unsigned port, const char *token)
{
        struct sockaddr_in at = { .sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        struct timeval wait = { .tv_sec = WAIT_S };
        int one = 1;

        memset(c, 0, sizeof(*c));
        c->token = token;
        c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        c->buffer = malloc(CLIENT_BUFFER);
        if (c->fd < 0 || !c->buffer || connect(c->fd, (struct sockaddr *)&at, sizeof(at)) < 0)
                return complain("connect");
        setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
        setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        return 0;
}

void client_close(struct client *c)
{
        if (c->fd >= 0)
                close(c->fd);
        free(c->buffer);
        c->buffer = NULL;
        c->fd = -1;
}

/* Asking */

static int send_all(struct client *c, const char *bytes, size_t len)
{
        while (len > 0) {
                ssize_t n = send(c->fd, bytes, len, MSG_NOSIGNAL);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return complain("send");
                bytes += n;
                len -= (size_t)n;
        }
        return 0;
}

static int make_head(const struct client *c, const char *method, const char *path, const char *type,
                     unsigned long long length, char *ret, size_t size)
{
        int n = snprintf(ret, size,
                         "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                         "Content-Type: %s\r\nContent-Length: %llu\r\n\r\n",
                         method, path, c->token, type, length);

        errno = 0;
        return n < 0 || (size_t)n >= size ? complain("the request is too long") : n;
}

int client_send(struct client *c, const char *method, const char *path, const char *body)
{
        char text[REQUEST_MAX];
        size_t len = strlen(body);
        int n = make_head(c, method, path, "application/json", len, text, sizeof(text));

        if (n < 0)
                return -1;
        if ((size_t)n + len > sizeof(text)) {
                errno = 0;
                return complain("the request is too long");
        }
        memcpy(text + n, body, len); /* one segment: as clients do */
        return send_all(c, text, (size_t)n + len);
}

int client_send_head(struct client *c, const char *method, const char *path, unsigned long long length)
{
        char text[REQUEST_MAX];
        int n = make_head(c, method, path, "application/octet-stream", length, text, sizeof(text));

        return n < 0 ? -1 : send_all(c, text, (size_t)n);
}

/* Being answered */

static int fill(struct client *c)
{
        ssize_t n;

        if (c->begin == c->end)
                c->begin = c->end = 0;
        if (c->end == CLIENT_BUFFER) {
                memmove(c->buffer, c->buffer + c->begin, c->end - c->begin);
                c->end -= c->begin;
                c->begin = 0;
        }
        do
                n = recv(c->fd, c->buffer + c->end, CLIENT_BUFFER - c->end, 0);
        while (n < 0 && errno == EINTR);
        if (n == 0)
                errno = 0;
        if (n <= 0)
                return complain(n == 0 ? "the server closed the connection" : "receive");
        c->end += (size_t)n;
        return 0;
}

/* One line without its end; it stays valid until the next fill. */
static int take_line(struct client *c, char **ret)
{
        for (;;) {
                char *from = c->buffer + c->begin;
                char *end = memmem(from, c->end - c->begin, "\r\n", 2);

                if (end) {
                        *end = '\0';
                        c->begin = (size_t)(end - c->buffer) + 2;
                        *ret = from;
                        return 0;
                }
                errno = 0;
                if (c->end - c->begin > HEAD_MAX)
                        return complain("a line of the answer is too long");
                if (fill(c) < 0)
                        return -1;
        }
}

int client_begin(struct client *c)
{
        char *line;

        if (take_line(c, &line) < 0)
                return -1;
        c->status = strncmp(line, "HTTP/1.1 ", 9) == 0 ? atoi(line + 9) : 0;
        c->is_chunked = false;
        c->body_left = 0;
        for (;;) {
                if (take_line(c, &line) < 0)
                        return -1;
                if (line[0] == '\0')
                        break;
                if (strncasecmp(line, "content-length:", 15) == 0)
                        c->body_left = strtoull(line + 15, NULL, 10);
                else if (strcasecmp(line, "transfer-encoding: chunked") == 0)
                        c->is_chunked = true;
        }
        c->is_over = !c->is_chunked && c->body_left == 0;
        errno = 0;
        return c->status < 100 ? complain("the answer is not HTTP") : 0;
}

/* The next chunk's size; the last one ends the body. */
static int next_chunk(struct client *c)
{
        char *line;

        if (take_line(c, &line) < 0)
                return -1;
        c->body_left = strtoull(line, NULL, 16);
        if (c->body_left > 0)
                return 0;
        c->is_over = true;
        return take_line(c, &line);
}

ssize_t client_read(struct client *c, const char **ret)
{
        size_t have;
        char *line;

        if (!c->is_over && c->is_chunked && c->body_left == 0 && next_chunk(c) < 0)
                return -1;
        if (c->is_over)
                return 0;
        if (c->begin == c->end && fill(c) < 0)
                return -1;
        have = c->end - c->begin;
        if (have > c->body_left)
                have = (size_t)c->body_left;
        *ret = c->buffer + c->begin;
        c->begin += have;
        c->body_left -= have;
        if (c->body_left > 0)
                return (ssize_t)have;
        if (!c->is_chunked) {
                c->is_over = true;
                return (ssize_t)have;
        }
        /* The chunk's end is in the way of the next size; when it is not here yet, reading it would move what *ret points to. */
        if (c->end - c->begin >= 2)
                return take_line(c, &line) < 0 ? -1 : (ssize_t)have;
        if (have > 1) { /* leave a byte for the next call, which takes the end with it */
                c->begin--;
                c->body_left = 1;
                return (ssize_t)have - 1;
        }
        {
                static char last;

                last = **ret;
                *ret = &last;
                return take_line(c, &line) < 0 ? -1 : 1;
        }
}

int client_take_text(struct client *c, char *text, size_t size)
{
        const char *bytes;
        size_t len = 0;
        ssize_t n;

        if (client_begin(c) < 0)
                return -1;
        while ((n = client_read(c, &bytes)) > 0) {
                errno = 0;
                if (len + (size_t)n >= size)
                        return complain("the answer is too long");
                memcpy(text + len, bytes, (size_t)n);
                len += (size_t)n;
        }
        text[len] = '\0';
        return n < 0 ? -1 : 0;
}

int client_ask(struct client *c, const char *method, const char *path, const char *body, char *text,
               size_t size)
{
        if (client_send(c, method, path, body) < 0 || client_take_text(c, text, size) < 0)
                return -1;
        if (c->status / 100 == 2)
                return 0;
        fprintf(stderr, "bench: %s %s: %d %.300s\n", method, path, c->status, text);
        return -1;
}

bool client_find(const char *text, const char *key, char *ret, size_t size)
{
        char wanted[64];
        const char *at, *end;

        snprintf(wanted, sizeof(wanted), "\"%s\":\"", key);
        at = strstr(text, wanted);
        end = at ? strchr(at + strlen(wanted), '"') : NULL;
        if (!end || (size_t)(end - at) - strlen(wanted) >= size)
                return false;
        at += strlen(wanted);
        memcpy(ret, at, (size_t)(end - at));
        ret[end - at] = '\0';
        return true;
}
