/* SPDX-License-Identifier: Apache-2.0 */
/* Connects to the daemon, and prints its errors. */
#include "cay/cli/reach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "cay/cli/cli.h"
#include "cay/cli/programs.h"
#include "cay/cli/safe.h"
#include "domain/settings/config.h"
#include "foundation/sys/fd.h"

#define REQUEST_MAX (2u * 1024 * 1024)
#define TARGET_MAX (48u * 1024)
#define ERROR_MAX (64u * 1024)
#define KNOCK_MS 300u      /* for a daemon that does not listen yet */
#define STARTING_MS 10000u /* for a daemon that listens but reports that it is not ready */
#define BROKEN_TRIES                                                                                         \
        20u /* retries when a daemon closes the connection before it answers, as a dying one does */
#define STARTING_STEP_MS 100u
#define SAY_AFTER_MS 1000u

static const char *variable(const char *name)
{
        const char *value = getenv(name);

        return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The settings' socket. A file that we may not read (it can hold a secret) leaves variables and defaults. */
static int find_socket(struct cay_reach *r, struct cay_error *err)
{
        extern char **environ;
        char *none[] = { (char *)"cay", NULL };
        cay_auto_config struct cay_config config = { 0 };
        struct cay_error ignored = { 0 };
        char path[4096];
        int rest;

        if (cay_config_load(&config, 1, none, environ, &rest, &ignored) < 0) {
                const char *data = variable("CAY_DATA"), *socket = variable("CAY_SOCKET");

                snprintf(path, sizeof(path), "%s%s",
                         socket ? socket
                         : data ? data
                                : "/var/lib/cay",
                         socket ? "" : "/cay.sock");
                return cay_url_unix(path, &r->client.url, err);
        }
        r->is_service = config.service_url[0] != '\0';
        if (r->is_service)
                return cay_url_parse(config.service_url, &r->client.url, err);
        if (config.socket[0] != '\0')
                return cay_url_unix(config.socket, &r->client.url, err);
        snprintf(path, sizeof(path), "%s/cay.sock", config.data);
        return cay_url_unix(path, &r->client.url, err);
}

static int find_place(struct cay_reach *r, const struct cay_reach_args *args, struct cay_error *err)
{
        const char *url = args->url != NULL ? args->url : args->data != NULL ? NULL : variable("CAY_URL");
        char path[4096];

        if (args->url != NULL && args->data != NULL)
                return cay_fail(err, CAY_INVALID, "--url and --data exclude each other");
        if (url == NULL && args->data == NULL) {
                url = variable("SANDBOX_SERVICE_URL");
                r->is_service = url != NULL;
        }
        if (url != NULL)
                return cay_url_parse(url, &r->client.url, err);
        if (args->data == NULL)
                return find_socket(r, err);
        snprintf(path, sizeof(path), "%s/cay.sock", args->data);
        return cay_url_unix(path, &r->client.url, err);
}

static int use_token(struct cay_reach *r, const char *text, const char *where, struct cay_error *err)
{
        size_t len = strcspn(text, "\r\n");

        for (size_t i = 0; i < len; i++)
                if (text[i] <= ' ' || text[i] >= 0x7f)
                        return cay_fail(err, CAY_INVALID, "%s: contains no token", where);
        if (len == 0 || len > CAY_CLIENT_TOKEN_MAX)
                return cay_fail(err, CAY_INVALID, "%s: contains no token", where);
        memcpy(r->client.token, text, len);
        r->client.token[len] = '\0';
        return 0;
}

/* The operator named a service together with its secret: a token is made from it, and sent only there. */
static int use_secret(struct cay_reach *r, const char *secret, struct cay_error *err)
{
        char text[CAY_CLIENT_TOKEN_MAX + 16] = "";

        if (cay_cli_make_token(secret, text, sizeof(text), err) < 0)
                return -1;
        return use_token(r, text, "SANDBOX_TOKEN_SECRET", err);
}

static int find_token(struct cay_reach *r, const struct cay_reach_args *args, const char *secret,
                      struct cay_error *err)
{
        bool is_local = r->client.url.kind == CAY_URL_UNIX;
        const char *file = args->token_file != NULL ? args->token_file
                           : is_local               ? NULL
                                                    : variable("CAY_TOKEN_FILE");
        const char *token = is_local ? NULL : variable("CAY_TOKEN");
        char text[CAY_CLIENT_TOKEN_MAX + 16];
        ssize_t n;

        if (file == NULL && token == NULL && !is_local && r->is_service && secret[0] != '\0')
                return use_secret(r, secret, err);
        if (file == NULL)
                return token != NULL ? use_token(r, token, "CAY_TOKEN", err) : 0;
        n = sys_read_file(AT_FDCWD, file, text, sizeof(text));
        if (n < 0)
                return cay_fail_sys(err, n == -ENOENT ? CAY_NOT_FOUND : CAY_DENIED, (int)n,
                                    "read the token file '%.120s'", file);
        return use_token(r, text, file, err);
}

static void find_tls(struct cay_reach *r, const struct cay_reach_args *args)
{
        struct cay_error ignored = { 0 };
        char dir[4000];

        r->client.tls_ca = args->ca_file != NULL ? args->ca_file : variable("CAY_CA_FILE");
        if (cay_cli_find_programs(dir, sizeof(dir), &ignored) < 0)
                return;
        snprintf(r->tls_program, sizeof(r->tls_program), "%s/cay-tls", dir);
        if (access(r->tls_program, X_OK) == 0)
                r->client.tls_program = r->tls_program;
}

int cay_reach_open(struct cay_reach *r, const struct cay_reach_args *args, struct cay_error *err)
{
        char secret[256] = "";
        int result;

        *r = (struct cay_reach){ 0 };
        if (variable("SANDBOX_TOKEN_SECRET") != NULL) /* reading the settings overwrites it */
                cay_str_copy(secret, sizeof(secret), variable("SANDBOX_TOKEN_SECRET"));
        result = find_place(r, args, err) < 0 || find_token(r, args, secret, err) < 0 ? -1 : 0;
        explicit_bzero(secret, sizeof(secret));
        if (result < 0)
                return -1;
        if (r->client.url.kind == CAY_URL_HTTPS)
                find_tls(r, args);
        return 0;
}

/* Error answers of the daemon */

static enum cay_code code_of(const char *word, unsigned status)
{
        for (unsigned code = 1; code < CAY_CODE_COUNT; code++)
                if (strcmp(cay_code_word(code), word) == 0)
                        return code;
        return status == 401 || status == 403 ? CAY_DENIED
               : status == 404                ? CAY_NOT_FOUND
               : status >= 500                ? CAY_UNAVAILABLE
               : status == 408                ? CAY_TIMEOUT
                                              : CAY_INVALID;
}

static int refused(struct cay_reach *r, struct cay_client_conn *c, struct cay_error *err)
{
        cay_auto_buf struct cay_buf body = { 0 };
        struct cay_error ignored = { 0 };
        struct cay_json_view json = { 0 };
        char word[40], message[256], safe[400], request[64];

        r->status = c->answer.status;
        cay_buf_init(&body, ERROR_MAX);
        cay_client_conn_collect(c, &body, CAY_REACH_WAIT_MS, &ignored);
        cay_json_view_open(cay_buf_data(&body), body.len, &json);
        cay_json_view_copy(cay_json_view_find(json, "error.field"), r->field, sizeof(r->field));
        cay_json_view_copy(cay_json_view_find(json, "error.reason"), r->reason, sizeof(r->reason));
        cay_json_view_copy(cay_json_view_find(json, "error.confirm"), r->confirm, sizeof(r->confirm));
        cay_json_view_copy(cay_json_view_find(json, "error.code"), word, sizeof(word));
        cay_json_view_copy(cay_json_view_find(json, "error.message"), message, sizeof(message));
        cay_json_view_copy(cay_json_view_find(json, "error.request_id"), request, sizeof(request));
        cay_safe_copy(message, safe, sizeof(safe));
        if (message[0] == '\0')
                return cay_fail(err, code_of("", r->status),
                                "the daemon answered with status %u and no reason", r->status);
        if (r->status >= 500 && request[0] != '\0') {
                char id[128];

                return cay_fail(err, code_of(word, r->status), "%s (request %s)", safe,
                                cay_safe_copy(request, id, sizeof(id)));
        }
        return cay_fail(err, code_of(word, r->status), "%s", safe);
}

/* Calls */

void cay_reach_answer_done(struct cay_reach_answer *a)
{
        cay_buf_done(&a->body);
}

static void pause_ms(uint64_t ms)
{
        const struct timespec pause = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000l };

        nanosleep(&pause, NULL);
}

static bool is_nobody_there(const struct cay_error *err)
{
        return err->code == CAY_UNAVAILABLE && (err->sys == ECONNREFUSED || err->sys == ENOENT);
}

static int open_conn(struct cay_reach *r, struct cay_client_conn *c, struct cay_error *err)
{
        uint64_t step_ms = 10, waited_ms = 0;
        struct cay_error first = { 0 };
        int result = cay_client_conn_open(c, &r->client, &first);

        for (; result < 0 && is_nobody_there(&first) && waited_ms < KNOCK_MS; step_ms *= 2) {
                pause_ms(step_ms);
                waited_ms += step_ms;
                first = (struct cay_error){ 0 };
                result = cay_client_conn_open(c, &r->client, &first);
        }
        if (result < 0)
                *err = first;
        return result;
}

int cay_reach_send(struct cay_reach *r, struct cay_client_conn *c, const struct cay_values *v, int fd,
                   struct cay_error *err)
{
        cay_auto_buf struct cay_buf target = { 0 }, body = { 0 };
        struct cay_request req = { .method = v->op->method, .fd = fd };
        bool has_body;

        r->status = 0;
        r->field[0] = r->reason[0] = r->confirm[0] = '\0';
        cay_buf_init(&target, TARGET_MAX);
        cay_buf_init(&body, REQUEST_MAX);
        if (cay_values_format(v, &target, &body, &has_body, err) < 0)
                return -1;
        req.target = cay_buf_data(&target);
        if (has_body) {
                req.type = "application/json";
                req.body = cay_buf_data(&body);
                req.length = body.len;
        } else if (v->op->takes_bytes) {
                req.type = "application/octet-stream";
                req.length = CAY_REQUEST_CHUNKED;
        }
        if (c->fd < 0 && open_conn(r, c, err) < 0)
                return -1;
        return cay_client_conn_send(c, &r->client, &req, err);
}

int cay_reach_await(struct cay_reach *r, struct cay_client_conn *c, int wait_ms, struct cay_error *err)
{
        if (cay_client_conn_await_head(c, wait_ms, err) < 0)
                return -1;
        r->status = c->answer.status;
        return r->status / 100 == 2 ? 0 : refused(r, c, err);
}

/* The daemon is not ready and did nothing, so the request may be repeated. */
static bool is_starting(const struct cay_reach *r)
{
        return r->status == 503 && strcmp(r->reason, cay_reason_word(CAY_REASON_RETRY)) == 0;
}

/*
 * The connection broke, and a read-only request may be repeated. With cay-tls, its error is already printed
 * and would repeat.
 */
static bool is_broken_off(const struct cay_reach *r, const struct cay_values *v, const struct cay_error *err)
{
        return r->status == 0 && (err->sys == ECONNRESET || err->sys == EPIPE) &&
               r->client.url.kind != CAY_URL_HTTPS && strcmp(v->op->method, "GET") == 0;
}

int cay_reach_begin(struct cay_reach *r, struct cay_client_conn *c, const struct cay_values *v, int fd,
                    int wait_ms, struct cay_error *err)
{
        uint64_t begun_ms = cay_clock_ms(), took_ms = 0;
        unsigned broken = 0;
        bool said = false;

        for (;;) {
                struct cay_error failed = { 0 };

                if (cay_reach_send(r, c, v, fd, &failed) == 0 && cay_reach_await(r, c, wait_ms, &failed) == 0)
                        return 0;
                took_ms = cay_clock_ms() - begun_ms;
                if (!(is_starting(r) && took_ms < STARTING_MS) &&
                    !(is_broken_off(r, v, &failed) && ++broken < BROKEN_TRIES)) {
                        *err = failed;
                        return -1;
                }
                if (!said && took_ms >= SAY_AFTER_MS)
                        fprintf(stderr, "cay: waiting for the daemon to become ready\n");
                said = said || took_ms >= SAY_AFTER_MS;
                cay_client_conn_close(c);
                cay_client_conn_init(c);
                pause_ms(STARTING_STEP_MS);
        }
}

int cay_reach_call(struct cay_reach *r, const struct cay_values *v, int fd, int wait_ms,
                   struct cay_reach_answer *ret, struct cay_error *err)
{
        cay_auto_conn struct cay_client_conn c;

        cay_client_conn_init(&c);
        cay_buf_init(&ret->body, CAY_REACH_ANSWER_MAX);
        ret->json = (struct cay_json_view){ 0 };
        ret->is_picture = false;
        if (cay_reach_begin(r, &c, v, fd, wait_ms, err) < 0 ||
            cay_client_conn_collect(&c, &ret->body, wait_ms, err) < 0)
                return -1;
        ret->is_picture = strncmp(c.answer.type, "image/", 6) == 0 ||
                          strcmp(c.answer.type, "application/pdf") == 0 ||
                          strcmp(c.answer.type, "application/x-tar") == 0;
        if (!ret->is_picture && cay_json_view_open(cay_buf_data(&ret->body), ret->body.len, &ret->json) < 0)
                return cay_fail(err, CAY_UNAVAILABLE,
                                "the server there is not a Cay daemon: its answer is not JSON");
        return 0;
}

/* Error texts for users */

static void print_hint(const struct cay_reach *r, const struct cay_error *err)
{
        bool is_local = r->client.url.kind == CAY_URL_UNIX;

        if (r->status == 401)
                fprintf(stderr,
                        "cay: show it a token: on its machine `cay token > FILE`, then --token-file FILE "
                        "or CAY_TOKEN_FILE=FILE\n");
        else if (strcmp(r->reason, cay_reason_word(CAY_REASON_NO_SANDBOX)) == 0)
                fprintf(stderr, "cay: `cay ls` lists the sandboxes\n");
        else if (r->status == 0 && err->code == CAY_UNAVAILABLE && is_local &&
                 (err->sys == ENOENT || err->sys == ECONNREFUSED))
                fprintf(stderr, "cay: start a daemon with `cay serve`, or name another one with --data DIR "
                                "or --url URL\n");
        else if (r->status == 0 && err->code == CAY_DENIED && is_local)
                fprintf(stderr, "cay: only the owner may use its data folder: run as that user, or use --url "
                                "with a token\n");
}

int cay_reach_complain(const struct cay_reach *r, const char *verb, const struct cay_error *err)
{
        int status = cay_cli_complain(verb, err);

        print_hint(r, err);
        return status;
}
