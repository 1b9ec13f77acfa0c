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
#include <sys/socket.h>
#include <unistd.h>

#include "cay/client/answer.h"

enum { WAIT_S = 60, REQUEST_MAX = 8192 };

static int complain(const char *what)
{
        fprintf(stderr, "bench: http: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
        return -1;
}

static int connect_to_daemon(struct client *c)
{
        struct sockaddr_in at = { .sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)c->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        struct timeval wait = { .tv_sec = WAIT_S };
        int one = 1;

        c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&at, sizeof(at)) < 0)
                return complain("connect");
        setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
        setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        return 0;
}

int client_open(struct client *c, unsigned port, const char *token)
{
        memset(c, 0, sizeof(*c));
        c->fd = -1;
        c->port = port;
        c->token = token;
        c->buffer = malloc(CLIENT_BUFFER);
        c->answer = calloc(1, sizeof(*c->answer));
        if (!c->buffer || !c->answer)
                return complain("no memory");
        return connect_to_daemon(c);
}

int client_renew(struct client *c)
{
        if (c->fd >= 0)
                close(c->fd);
        c->begin = c->end = 0;
        return connect_to_daemon(c);
}

void client_close(struct client *c)
{
        if (c->fd >= 0)
                close(c->fd);
        free(c->buffer);
        if (c->answer)
                cay_answer_done(c->answer);
        free(c->answer);
        c->answer = NULL;
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

        do
                n = recv(c->fd, c->buffer, CLIENT_BUFFER, 0);
        while (n < 0 && errno == EINTR);
        if (n == 0)
                errno = 0;
        if (n <= 0)
                return complain(n == 0 ? "the server closed the connection" : "receive");
        c->begin = 0;
        c->end = (size_t)n;
        return 0;
}

/* One step of the answer; bytes of its body, if there are any. */
static int step(struct client *c, const char **ret, size_t *ret_len)
{
        ssize_t n;

        if (c->begin == c->end && fill(c) < 0)
                return -1;
        n = cay_answer_feed(c->answer, c->buffer + c->begin, c->end - c->begin, ret, ret_len);
        errno = 0;
        if (n < 0)
                return complain("the answer is not HTTP");
        c->begin += (size_t)n;
        return 0;
}

int client_begin(struct client *c)
{
        const char *bytes;
        size_t len;

        cay_answer_done(c->answer);
        cay_answer_init(c->answer);
        while (!cay_answer_has_head(c->answer))
                if (step(c, &bytes, &len) < 0)
                        return -1;
        c->status = (int)c->answer->status;
        return 0;
}

ssize_t client_read(struct client *c, const char **ret)
{
        size_t len = 0;

        while (len == 0 && c->answer->state != CAY_ANSWER_DONE)
                if (step(c, ret, &len) < 0)
                        return -1;
        return (ssize_t)len;
}

int client_take_text(struct client *c, char *text, size_t size)
{
        const char *bytes;
        size_t len = 0;
        ssize_t n;

        text[0] = '\0';
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
