/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon that verbs use: its address, our credentials, one call, and the error texts for users.
 *
 * A daemon that was just started may not listen yet, or may still be recovering. An address without a
 * listener is retried briefly, and a daemon whose refusal has the reason "retry" (nothing was done then) is
 * retried for longer.
 *
 * Where: --url, CAY_URL, SANDBOX_SERVICE_URL (service_url in the settings); else the unix socket of --data,
 * or of the settings. Credentials: over TCP a bearer token out of --token-file, CAY_TOKEN_FILE or CAY_TOKEN,
 * or one made of SANDBOX_TOKEN_SECRET for the daemon that SANDBOX_SERVICE_URL names; over the socket the
 * kernel identifies us, and only an explicitly named token file is sent.
 */
#pragma once

#include "foundation/base/json_view.h"
#include "cay/cli/args_flags.h"
#include "cay/cli/values.h"
#include "cay/client/conn.h"

#define CAY_REACH_ANSWER_MAX (64u * 1024 * 1024)
#define CAY_REACH_WAIT_MS 120000 /* for an answer that does not wait for a user's command */

struct cay_reach_args { /* as given */
        const char *url, *token_file, *data, *ca_file;
};

struct cay_reach {
        struct cay_client client;
        bool is_service; /* named by SANDBOX_SERVICE_URL or service_url */
        unsigned status; /* of the last answer; 0: none */
        /*
         * Of the last refusal; "": none. The wrong field, why exactly, the token with which to repeat the
         * request.
         */
        char field[64], reason[32], confirm[64];
        char tls_program[4096];
};

int cay_reach_open(struct cay_reach *r, const struct cay_reach_args *args, struct cay_error *err);

/* The rows of these options, for verbs' tables: offset of the struct cay_reach_args in their arguments. */
#define CAY_REACH_FLAGS(offset)                                                                              \
        { "url", "URL",                                                                                      \
          "use this daemon: http://HOST:PORT, https://HOST or unix:/PATH (CAY_URL; else its socket)",        \
          cay_flag_set_text, (offset) + offsetof(struct cay_reach_args, url) },                              \
                { "token-file", "FILE", "read the token from this file (CAY_TOKEN_FILE, CAY_TOKEN)",         \
                  cay_flag_set_text, (offset) + offsetof(struct cay_reach_args, token_file) },               \
                { "ca-file", "FILE", "trust these certificates instead of the system's (CAY_CA_FILE)",       \
                  cay_flag_set_text, (offset) + offsetof(struct cay_reach_args, ca_file) },                  \
        {                                                                                                    \
                "data", "DIR", "use the socket in this data folder of a daemon (CAY_DATA)",                  \
                        cay_flag_set_text, (offset) + offsetof(struct cay_reach_args, data)                  \
        }

struct cay_reach_answer {
        bool is_picture;     /* body is one, a PDF or an archive, and there is no json */
        struct cay_buf body; /* owned */
        struct cay_json_view json;
};

void cay_reach_answer_done(struct cay_reach_answer *a);
#define cay_auto_answer cay_auto(cay_reach_answer_done)

/*
 * Sends the request that the values make. Afterwards the answer's head is there and is no error (else err has
 * the daemon's text).
 */
int cay_reach_begin(struct cay_reach *r, struct cay_client_conn *c, const struct cay_values *v, int fd,
                    int wait_ms, struct cay_error *err);
/* Only the request: its answer comes later. A body of bytes follows in chunks. */
int cay_reach_send(struct cay_reach *r, struct cay_client_conn *c, const struct cay_values *v, int fd,
                   struct cay_error *err);
/* The head of the answer to it; the same rule. */
int cay_reach_await(struct cay_reach *r, struct cay_client_conn *c, int wait_ms, struct cay_error *err);
/* One call with a JSON answer. fd: passed along; -1: none. */
int cay_reach_call(struct cay_reach *r, const struct cay_values *v, int fd, int wait_ms,
                   struct cay_reach_answer *ret, struct cay_error *err);

/* Prints "cay VERB: message", and in a second line what to do; returns the exit status. */
int cay_reach_complain(const struct cay_reach *r, const char *verb, const struct cay_error *err);
