/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay token`: bearer tokens, API keys and logins. The running daemon makes them, asked over its unix socket,
 * because only it knows its secret. In three cases a token is made here, from the shared secret:
 * SANDBOX_TOKEN_SECRET is in our environment (a client far from its daemon); no daemon answers; the daemon
 * refuses us, but we can read the secret's file. No secret is in argv or in others' environment. Keys and
 * tokens go to standard output.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "domain/auth/secret.h"
#include "domain/auth/token.h"
#include "foundation/base/json_out.h"
#include "foundation/base/parse.h"
#include "domain/settings/config.h"
#include "cay-front/front.h"
#include "foundation/http/head.h"
#include "foundation/json/json_in.h"
#include "foundation/sys/fd.h"

#define WORDS_MAX 64
#define ANSWER_MAX (1024u * 1024)
#define WAIT_S 10
#define STARTING_TRIES 100 /* a tenth of a second each, while the daemon reports that it is not ready */

struct args {
        const char *owner, *scope, *lifetime, *label, *revoke;
        bool make_key, list_keys, make_login, from_env;
};

static const struct word {
        const char *flag;
        size_t offset;
        bool has_value;
        const char *doc;
} words[] = {
        { "--owner", offsetof(struct args, owner), true, "whom it speaks for (default: default)" },
        { "--scope", offsetof(struct args, scope), true, "read, exec (default) or admin" },
        { "--lifetime", offsetof(struct args, lifetime), true,
          "how long it is good for, at most a day (default: 30m)" },
        { "--from-env", offsetof(struct args, from_env), false,
          "make it of SANDBOX_TOKEN_SECRET; read no settings, ask nobody" },
        { "--key", offsetof(struct args, make_key), false,
          "make a long-lived API key instead; it is shown once" },
        { "--login", offsetof(struct args, make_login), false,
          "make a link that signs a browser in, once and within ten minutes" },
        { "--label", offsetof(struct args, label), true, "what the key is for" },
        { "--list-keys", offsetof(struct args, list_keys), false,
          "show the keys there are (never the keys themselves)" },
        { "--revoke", offsetof(struct args, revoke), true, "revoke the key with this key_id" },
};

static void print_help(void)
{
        printf("usage: cay token [--data DIR] [OPTION…]\n\n"
               "Prints a bearer token for the daemon of a data folder. The running daemon makes it, for root "
               "and the\n"
               "daemon's own user. With SANDBOX_TOKEN_SECRET set, or while no daemon runs, it is made here "
               "from the\n"
               "shared secret.\n\n");
        for (unsigned i = 0; i < CAY_COUNT(words); i++)
                printf("  %-12s %-6s %s\n", words[i].flag, words[i].has_value ? "VALUE" : "", words[i].doc);
        printf("\nSettings of the daemon (--data, --config, --socket…) are read as `cay serve` reads "
               "them.\n");
}

/* Takes our own words; the others are left for the settings. */
static int split(int argc, char **argv, struct args *a, char **rest, int *ret_count, struct cay_error *err)
{
        int count = 0;

        rest[count++] = argv[0];
        for (int i = 1; i < argc; i++) {
                const struct word *w = NULL;

                for (unsigned k = 0; k < CAY_COUNT(words) && !w; k++)
                        w = strcmp(argv[i], words[k].flag) == 0 ? &words[k] : NULL;
                if (!w) {
                        if (count == WORDS_MAX)
                                return cay_fail(err, CAY_INVALID, "too many words");
                        rest[count++] = argv[i];
                } else if (!w->has_value) {
                        *(bool *)((char *)a + w->offset) = true;
                } else if (++i == argc) {
                        return cay_fail(err, CAY_INVALID, "%s: a value is missing", w->flag);
                } else {
                        *(const char **)((char *)a + w->offset) = argv[i];
                }
        }
        rest[count] = NULL;
        *ret_count = count;
        return 0;
}

static int find_secret(const struct cay_config *c, struct cay_secret *ret, struct cay_error *err)
{
        cay_auto_close int fd = -1;
        bool made;

        if (c->token_secret[0])
                return cay_secret_set(ret, c->token_secret, err);
        fd = sys_open_at(AT_FDCWD, c->data, O_RDONLY | O_DIRECTORY, 0);
        if (fd < 0)
                return cay_fail_sys(err, CAY_NOT_FOUND, fd,
                                    "open the data folder '%.100s' (--data names another)", c->data);
        if (faccessat(fd, CAY_SECRET_FILE, F_OK, 0) < 0)
                return cay_fail(err, CAY_NOT_FOUND,
                                "'%.100s' has no secret: `cay serve --data %.100s` makes one", c->data,
                                c->data);
        return cay_secret_load(fd, CAY_SECRET_FILE, ret, &made, err);
}

struct wish { /* a token's options, validated */
        struct cay_token token;
        uint64_t lifetime_ms; /* 0: the daemon's default */
};

static int read_wish(const struct args *a, struct wish *ret, struct cay_error *err)
{
        *ret = (struct wish){ .token.caller.scopes = CAY_SCOPE_READ | CAY_SCOPE_EXEC };
        if (a->label)
                return cay_fail(err, CAY_INVALID, "--label: needs --key");
        if (a->lifetime && (cay_parse_duration(a->lifetime, &ret->lifetime_ms) < 0 ||
                            ret->lifetime_ms < 1000 || ret->lifetime_ms > 86400000))
                return cay_fail(err, CAY_INVALID, "--lifetime: '%.40s' is not between 1s and 24h",
                                a->lifetime);
        if (a->scope && cay_scope_parse(a->scope, &ret->token.caller.scopes, err) < 0)
                return cay_wrap(err, "--scope");
        if (a->owner && strlen(a->owner) > CAY_OWNER_MAX)
                return cay_fail(err, CAY_INVALID, "--owner: at most %d characters", CAY_OWNER_MAX);
        snprintf(ret->token.caller.owner, sizeof(ret->token.caller.owner), "%s",
                 a->owner ? a->owner : "default");
        return 0;
}

static int make_here(struct wish *w, const struct cay_config *c, struct cay_error *err)
{
        cay_auto_secret struct cay_secret secret = { 0 };
        uint64_t lifetime_ms = w->lifetime_ms > 0 ? w->lifetime_ms : c->token_lifetime;
        char text[CAY_TOKEN_MAX + 1];

        w->token.expires_s = (uint64_t)time(NULL) + lifetime_ms / 1000;
        if (find_secret(c, &secret, err) < 0 ||
            cay_token_make(&secret, CAY_TOKEN_BEARER, &w->token, text, err) < 0)
                return -1;
        printf("%s\n", text);
        return 0;
}

/* What the daemon makes: one small request, one small answer. */

static int dial(const struct cay_config *c, int *ret_fd, struct cay_error *err)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        struct timeval wait = { .tv_sec = WAIT_S };
        cay_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int n = c->socket[0] ? snprintf(at.sun_path, sizeof(at.sun_path), "%s", c->socket)
                             : snprintf(at.sun_path, sizeof(at.sun_path), "%s/cay.sock", c->data);

        if (fd < 0 || n >= (int)sizeof(at.sun_path))
                return cay_fail(err, CAY_INVALID, "the socket's path is too long");
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
        if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
                return cay_fail_sys(err, CAY_UNAVAILABLE, -errno, "reach the daemon at %s", at.sun_path);
        *ret_fd = cay_take_fd(fd);
        return 0;
}

static int receive(int fd, struct cay_buf *answer, struct cay_error *err)
{
        for (;;) {
                char *room = cay_buf_room(answer, 4096);
                ssize_t n = room ? read(fd, room, 4096) : -1;

                if (n == 0)
                        return 0;
                if (n < 0 && room && errno == EINTR) /* stopped and continued while it waited */
                        continue;
                if (n < 0)
                        return cay_fail(err, CAY_UNAVAILABLE, "the daemon did not answer");
                cay_buf_added(answer, (size_t)n);
        }
}

/* The daemon's own error text, if the answer has one. */
static int fail_refused(const char *answer, enum cay_code code, struct cay_error *err)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_error none = { 0 };
        const char *message = NULL;

        if (cay_json_in_parse(answer, strlen(answer), NULL, &doc, &none) == 0)
                message = cay_json_value_text(
                        cay_json_value_find(cay_json_value_find(cay_json_in_root(doc), "error"), "message"));
        return cay_fail(err, code, message ? "%.200s" : "the daemon refused: %.200s",
                        message ? message : answer);
}

static enum cay_code code_of(unsigned status)
{
        return status == 403 ? CAY_DENIED : status == 503 ? CAY_LIMIT : CAY_INVALID; /* LIMIT: retry later */
}

/* The length of the answer's head, or -1. */
static ssize_t read_head(const struct cay_buf *text, unsigned *ret_status)
{
        static const struct cay_http_head_limits limits = { 8 * 1024, CAY_HTTP_HEAD_MAX, CAY_HTTP_LINES_MAX };
        struct cay_http_head_search search = { 0 };
        struct cay_http_fault fault;
        struct cay_http_head head;
        ssize_t n = cay_http_head_find(&search, cay_buf_data(text), text->len, &limits, &fault);

        if (n <= 0 ||
            cay_http_head_parse_response(&head, CAY_HTTP_GET, cay_buf_data(text), (size_t)n, &fault) < 0)
                return -1;
        *ret_status = head.status;
        return n;
}

/* text: empty; receives the answer. *ret_answer: its body, inside text. */
static int ask_for(const struct cay_config *c, const char *method, const char *path, const char *body,
                   struct cay_buf *text, const char **ret_answer, struct cay_error *err)
{
        cay_auto_close int fd = -1;
        unsigned status;
        ssize_t head;

        if (dial(c, &fd, err) < 0)
                return -1;
        if (cay_buf_printf(text,
                           "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                           "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                           method, path, strlen(body), body) < 0 ||
            sys_write_all(fd, cay_buf_data(text), text->len) < 0)
                return cay_fail(err, CAY_UNAVAILABLE, "the daemon closed the connection during the request");
        cay_buf_clear(text);
        if (receive(fd, text, err) < 0)
                return -1;
        head = read_head(text, &status);
        if (head < 0)
                return cay_fail(err, CAY_UNAVAILABLE, "the daemon's answer is incomplete");
        *ret_answer = cay_buf_data(text) + head;
        if (status / 100 != 2)
                return fail_refused(*ret_answer, code_of(status), err);
        return 0;
}

static int ask(const struct cay_config *c, const char *method, const char *path, const char *body,
               struct cay_error *err)
{
        cay_auto_buf struct cay_buf text = { 0 };
        const char *answer;

        cay_buf_init(&text, ANSWER_MAX);
        if (ask_for(c, method, path, body, &text, &answer, err) < 0)
                return -1;
        printf("%s\n", answer);
        return 0;
}

/* label NULL: none; lifetime_ms 0: none. */
static int make_body(struct cay_buf *body, const struct args *a, const char *label, uint64_t lifetime_ms,
                     struct cay_error *err)
{
        struct cay_json j;

        cay_json_init(&j, body);
        cay_json_begin_object(&j);
        cay_json_key(&j, "owner");
        cay_json_text(&j, a->owner ? a->owner : "default");
        cay_json_key(&j, "scope");
        cay_json_text(&j, a->scope ? a->scope : "exec");
        if (label) {
                cay_json_key(&j, "label");
                cay_json_text(&j, label);
        }
        if (lifetime_ms > 0) {
                char text[32];

                snprintf(text, sizeof(text), "%" PRIu64 "ms", lifetime_ms);
                cay_json_key(&j, "lifetime");
                cay_json_text(&j, text);
        }
        cay_json_end_object(&j);
        if (cay_json_end(&j) < 0)
                return cay_fail(err, CAY_INVALID, "--owner, --scope or --label is too long");
        return 0;
}

static int ask_for_key(const struct args *a, const struct cay_config *c, struct cay_error *err)
{
        cay_auto_buf struct cay_buf body = { 0 };

        cay_buf_init(&body, 4096);
        if (make_body(&body, a, a->label ? a->label : "", 0, err) < 0)
                return -1;
        return ask(c, "POST", "/api/keys", cay_buf_data(&body), err);
}

/* Prints only one member of the answer, so that a script can use it. */
static int ask_for_one(const struct args *a, const struct cay_config *c, const char *path, const char *member,
                       uint64_t lifetime_ms, struct cay_error *err)
{
        cay_auto_buf struct cay_buf body = { 0 }, text = { 0 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const char *answer, *value;

        cay_buf_init(&body, 4096);
        cay_buf_init(&text, ANSWER_MAX);
        if (make_body(&body, a, NULL, lifetime_ms, err) < 0 ||
            ask_for(c, "POST", path, cay_buf_data(&body), &text, &answer, err) < 0 ||
            cay_json_in_parse(answer, strlen(answer), NULL, &doc, err) < 0)
                return -1;
        value = cay_json_value_text(cay_json_value_find(cay_json_in_root(doc), member));
        if (!value)
                return cay_fail(err, CAY_UNAVAILABLE, "the daemon's answer has no %s", member);
        printf("%s\n", value);
        return 0;
}

/* Only the daemon knows whether our secret is its own, so it is asked first. */
static int print_token(const struct args *a, const struct cay_config *c, struct cay_error *err)
{
        struct cay_error here = { 0 };
        struct wish w;

        if (read_wish(a, &w, err) < 0)
                return -1;
        if (c->source[CAY_CONFIG_KEY_token_secret] == CAY_CONFIG_ENV)
                return make_here(&w, c, err);
        for (unsigned i = 0; i < STARTING_TRIES; i++) {
                *err = (struct cay_error){ 0 };
                if (ask_for_one(a, c, "/api/tokens", "token", w.lifetime_ms, err) == 0)
                        return 0;
                if (err->code != CAY_LIMIT)
                        break;
                nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
        }
        if (err->code != CAY_UNAVAILABLE && err->code != CAY_DENIED)
                return -1;
        if (make_here(&w, c, &here) == 0) {
                *err = (struct cay_error){ 0 };
                return 0;
        }
        if (err->code == CAY_DENIED) /* a daemon answered: its error is the useful one */
                return cay_wrap(err, "the daemon makes tokens for root and its own user");
        *err = here;
        return -1;
}

static int revoke_key(const char *id, const struct cay_config *c, struct cay_error *err)
{
        char path[64];

        if (strspn(id, "k0123456789abcdef") != strlen(id) || strlen(id) > 17)
                return cay_fail(err, CAY_INVALID, "--revoke: '%.40s' is not a key id; --list-keys shows them",
                                id);
        snprintf(path, sizeof(path), "/api/keys/%s", id);
        return ask(c, "DELETE", path, "", err);
}

/* Without any file: a client far from its daemon has no settings of that daemon. */
static int load_env(struct cay_config *c, int argc, char **argv, char **env, int *ret_last,
                    struct cay_error *err)
{
        int r;

        if (cay_config_init(c, err) < 0 || cay_config_read_env(c, env, err) < 0)
                return -1;
        r = cay_config_read_args(c, argc, argv, ret_last, err);
        if (r == 0 && c->source[CAY_CONFIG_KEY_token_secret] != CAY_CONFIG_ENV)
                return cay_fail(err, CAY_INVALID, "--from-env: SANDBOX_TOKEN_SECRET is not set");
        return r;
}

static int act(int argc, char **argv, struct cay_error *err)
{
        cay_auto_config struct cay_config config = { 0 };
        extern char **environ;
        char *rest[WORDS_MAX + 1];
        struct args a = { 0 };
        int count = 0, last = 0, r;

        if (split(argc, argv, &a, rest, &count, err) < 0)
                return -1;
        r = a.from_env ? load_env(&config, count, rest, environ, &last, err)
                       : cay_config_load_here(&config, count, rest, environ, &last, err);
        if (r > 0) {
                print_help();
                return 0;
        }
        if (r < 0)
                return -1;
        if (last < count)
                return cay_fail(err, CAY_INVALID, "unexpected argument '%.40s'", rest[last]);
        if (a.make_key + a.list_keys + a.make_login + (a.revoke != NULL) > 1)
                return cay_fail(err, CAY_INVALID,
                                "--key, --list-keys, --revoke and --login exclude each other");
        if (a.make_login)
                return ask_for_one(&a, &config, "/api/logins", "link", 0, err);
        if (a.make_key)
                return ask_for_key(&a, &config, err);
        if (a.list_keys)
                return ask(&config, "GET", "/api/keys", "", err);
        return a.revoke ? revoke_key(a.revoke, &config, err) : print_token(&a, &config, err);
}

int cay_front_token_main(int argc, char **argv)
{
        struct cay_error err = { 0 };

        if (act(argc, argv, &err) == 0)
                return 0;
        fprintf(stderr, "cay token: %s\n", err.msg);
        return err.code == CAY_INVALID ? 2 : 1;
}
