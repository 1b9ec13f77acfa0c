/* SPDX-License-Identifier: Apache-2.0 */
/* What the keeper prints for people and tells systemd. */
#include "cay/keeper/tell.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The front made it and is not trusted: only plain characters reach a terminal or a shell. */
static bool is_plain(const char *secret)
{
        return secret[0] &&
               strspn(secret, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
                       strlen(secret);
}

/* Quotes for a shell. */
static void put_word(const char *word)
{
        if (strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@+=") ==
            strlen(word)) {
                fputs(word, stdout);
                return;
        }
        putchar('\'');
        for (; *word; word++)
                if (*word == '\'')
                        fputs("'\\''", stdout);
                else
                        putchar(*word);
        putchar('\'');
}

/* How to type this program: by its name if a shell finds it, else by its path. */
static void put_program(void)
{
        static const char *const usual[] = { "/usr/bin/cay", "/usr/local/bin/cay" };
        char path[PATH_MAX];
        ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

        path[len > 0 ? len : 0] = '\0';
        for (unsigned i = 0; i < CAY_COUNT(usual); i++)
                if (strcmp(path, usual[i]) == 0)
                        path[0] = '\0';
        put_word(path[0] ? path : "cay");
}

/* A command line of this program, for this daemon. */
static void put_cay(const struct cay_config *c, const char *words)
{
        put_program();
        printf(" %s", words);
        if (c->source[CAY_CONFIG_KEY_data] == CAY_CONFIG_DEFAULT)
                return;
        fputs(" --data ", stdout);
        put_word(c->data);
}

static void tell_cli(const struct cay_config *c)
{
        fputs("\n# a sandbox, and a command in it, with this program\n", stdout);
        put_cay(c, "exec");
        fputs(" \"$(", stdout);
        put_cay(c, "create");
        fputs(")\" echo hello\n", stdout);
}

/* token: NULL if it must not be shown; the printed command then makes one. */
static void tell_curl(const struct cay_config *c, const char *url, const char *token)
{
        printf("\n# the same over HTTP (the token is good for %llu min",
               (unsigned long long)(c->token_lifetime / 60000));
        if (token) {
                fputs("; `", stdout);
                put_cay(c, "token");
                printf("` prints more)\nTOKEN=%s\n", token);
        } else {
                fputs(")\nTOKEN=$(", stdout);
                put_cay(c, "token");
                fputs(")\n", stdout);
        }
        printf("ID=$(curl -sS -H \"Authorization: Bearer $TOKEN\" -d '{}' %s/api/sandboxes |\n"
               "     sed -n 's/.*\"sandbox_id\":\"\\([a-z0-9]*\\)\".*/\\1/p')\n"
               "curl -sS -H \"Authorization: Bearer $TOKEN\" -d '{\"command\": \"echo hello from "
               "$(hostname)\"}' "
               "%s/api/sandboxes/$ID/execute\n",
               url, url);
}

void cay_tell_people(const struct cay_config *c, const struct cay_place *p,
                     const struct cay_hand_ready *ready)
{
        /* otherwise output is stored (a file, a journal, a container's log) and read by many: no secrets */
        bool is_seen = isatty(STDOUT_FILENO);
        char url[CAY_CONFIG_URL_MAX];

        cay_config_url(c, p->port, url);
        printf("cay %s serves %s/ (the page; /reference is the API's)\n", CAY_VERSION, url);
        if (!is_seen) {
                fputs("sign in: `", stdout);
                put_cay(c, "token --login");
                fputs("` prints a link\n", stdout);
        } else if (is_plain(ready->login)) {
                printf("sign in: %s/#login=%s (once, within 10 minutes; `", url, ready->login);
                put_cay(c, "token --login");
                fputs("` prints more)\n", stdout);
        }
        printf("unix socket: %s\n", p->unix_path);
        tell_cli(c);
        if (!is_seen || is_plain(ready->token))
                tell_curl(c, url, is_seen ? ready->token : NULL);
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
                at.sun_path[0] = '\0'; /* an abstract socket name */
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd >= 0)
                sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&at,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}
