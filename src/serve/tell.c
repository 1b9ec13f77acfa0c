/* SPDX-License-Identifier: Apache-2.0 */
/* What the keeper tells. */
#include "serve/tell.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The front made it and is not trusted: what is not plain does not reach a terminal or a shell. */
static bool is_plain(const char *token)
{
        return token[0] &&
               strspn(token, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
                       strlen(token);
}

static void find_url(const struct cay_config *c, unsigned port, char *ret, size_t size)
{
        bool is_all =
                strcmp(c->host, "0.0.0.0") == 0 || strcmp(c->host, "::") == 0 || strcmp(c->host, "") == 0;
        const char *host = is_all ? "localhost" : c->host;
        bool is_v6 = strchr(host, ':') != NULL;

        snprintf(ret, size, "%s://%s%.255s%s:%u", c->tls_cert[0] ? "https" : "http", is_v6 ? "[" : "", host,
                 is_v6 ? "]" : "", port);
}

void cay_tell_people(const struct cay_config *c, const struct cay_place *p,
                     const struct cay_hand_ready *ready)
{
        char url[300];

        find_url(c, p->port, url, sizeof(url));
        printf("cay %s serves %s/ (the API reference is there)\n", CAY_VERSION, url);
        printf("unix socket: %s\n", p->unix_path);
        if (is_plain(ready->token))
                printf("\n# a sandbox, and a command in it (the token is good for %llu min; `cay token "
                       "--data %s` prints more)\n"
                       "TOKEN=%s\n"
                       "ID=$(curl -sS -H \"Authorization: Bearer $TOKEN\" -d '{}' %s/api/sandboxes |\n"
                       "     sed -n 's/.*\"sandbox_id\":\"\\([a-z0-9]*\\)\".*/\\1/p')\n"
                       "curl -sS -H \"Authorization: Bearer $TOKEN\" -d '{\"command\": \"echo hello from "
                       "$(hostname)\"}' "
                       "%s/api/sandboxes/$ID/execute\n",
                       (unsigned long long)(c->token_lifetime / 60000), c->data, ready->token, url, url);
        fflush(stdout);
}

void cay_tell_systemd(const char *state)
{
        const char *path = getenv("NOTIFY_SOCKET");
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        cay_auto_close int fd = -1;
        size_t len = path ? strlen(path) : 0;

        if (len < 2 || len >= sizeof(at.sun_path) || (path[0] != '/' && path[0] != '@'))
                return;
        memcpy(at.sun_path, path, len);
        if (path[0] == '@')
                at.sun_path[0] = '\0'; /* an abstract name */
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd >= 0)
                sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&at,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}
