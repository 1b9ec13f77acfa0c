/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ROOM 256u /* what the head gains: a slash, Host and Connection */

static uint8_t bytes[CAY_PROXY_HEAD_MAX];

/* A few bytes to a socket that was silent so far: it takes them at once, or not at all. */
static int say(int fd, const void *text, size_t len)
{
        return send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len ? 0 : -1;
}

/* Out of the socket: what comes next is for somebody else. */
static bool take(int fd, size_t len)
{
        const int one = 1;

        setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
        return recv(fd, bytes, len, MSG_DONTWAIT) == (ssize_t)len;
}

static bool keep_head(struct net_proxy *p, size_t len)
{
        p->head = malloc(len + ROOM);
        p->head_len = p->head ? cay_proxy_rewrite(bytes, len, p->head, len + ROOM) : 0;
        return p->head_len > 0;
}

static enum net_proxy_heard await_more(int fd, ssize_t have, bool has_ended, const char **ret_why)
{
        int enough = (int)have + 1;

        if (has_ended) {
                *ret_why = "closed before its request";
                return NET_PROXY_BAD;
        }
        setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &enough, sizeof(enough));
        return NET_PROXY_WAITS;
}

enum net_proxy_heard net_proxy_hear(struct net_proxy *p, int fd, bool has_ended,
                                    struct cay_proxy_request *ret, const char **ret_why)
{
        for (;;) {
                ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
                enum cay_proxy got;

                if (n < 0 && (errno == EAGAIN || errno == EINTR) && !has_ended)
                        return NET_PROXY_WAITS;
                got = cay_proxy_read(bytes, n > 0 ? (size_t)n : 0, p->is_greeted, ret);
                *ret_why = ret->why;
                if (got == CAY_PROXY_MORE)
                        return await_more(fd, n > 0 ? n : 0, has_ended || n <= 0, ret_why);
                p->kind = got == CAY_PROXY_GREETED || (got == CAY_PROXY_BAD && ret->is_socks)
                                  ? CAY_PROXY_SOCKS
                                  : got;
                if (got == CAY_PROXY_BAD) {
                        take(fd, (size_t)n); /* a close with unread bytes would throw the answer away */
                        return NET_PROXY_BAD;
                }
                *ret_why = "the request could not be read";
                if (!take(fd, ret->len))
                        return NET_PROXY_BAD;
                if (got == CAY_PROXY_GREETED) {
                        p->is_greeted = true;
                        *ret_why = "SOCKS 5 is there without a password alone";
                        if (say(fd, ret->is_good ? "\5\0" : "\5\xff", 2) < 0 || !ret->is_good) {
                                p->is_told = p->is_over = true;
                                return NET_PROXY_BAD;
                        }
                        continue; /* the request may be there already */
                }
                *ret_why = "the request could not be kept";
                return got != CAY_PROXY_HTTP || keep_head(p, ret->len) ? NET_PROXY_ASKED : NET_PROXY_BAD;
        }
}

int net_proxy_agree(struct net_proxy *p, int fd)
{
        static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
        static const uint8_t granted[] = { 5, 0, 0, 1, 0, 0, 0, 0, 0, 0 };

        if (p->is_told)
                return 0;
        p->is_told = true;
        if (p->kind == CAY_PROXY_CONNECT)
                return say(fd, established, sizeof(established) - 1);
        return p->kind == CAY_PROXY_SOCKS ? say(fd, granted, sizeof(granted)) : 0;
}

ssize_t net_proxy_pass_on(struct net_proxy *p, int server)
{
        if (p->head_len == 0)
                return 0;
        if (say(server, p->head, p->head_len) < 0)
                return -1;
        free(p->head);
        p->head = NULL;
        return (ssize_t)p->head_len;
}

void net_proxy_refuse(struct net_proxy *p, int fd, bool is_refused, const char *why)
{
        const uint8_t socks[] = { 5, is_refused ? 2 : 4, 0, 1, 0, 0, 0, 0, 0, 0 };
        char text[512];
        int len;

        if (p->is_told)
                return;
        p->is_told = true;
        if (p->kind == CAY_PROXY_SOCKS) {
                say(fd, socks, sizeof(socks));
                return;
        }
        len = snprintf(text, sizeof(text),
                       "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                       "Connection: close\r\n\r\nnetwork: %s\n",
                       p->kind == CAY_PROXY_BAD || p->kind == CAY_PROXY_MORE ? "400 Bad Request"
                       : is_refused                                          ? "403 Forbidden"
                                                                             : "502 Bad Gateway",
                       strlen("network: ") + strlen(why) + 1, why);
        say(fd, text, (size_t)len);
}

void net_proxy_free(struct net_proxy *p)
{
        if (!p)
                return;
        free(p->head);
        free(p);
}
