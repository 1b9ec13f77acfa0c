/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A keep-alive HTTP/1.1 client for measuring: blocking, one connection over TCP loopback, one request at a
 * time. Answers are read by the CLI's reader. Every wait ends after a minute. Functions say what went wrong
 * on stderr and return -1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cay_answer;

enum { CLIENT_BUFFER = 262144, CLIENT_TEXT_MAX = 65536 };

struct client {
        int fd;
        unsigned port;
        const char *token; /* borrowed */
        size_t begin, end; /* of what was read and not taken yet */
        char *buffer;      /* owned: CLIENT_BUFFER bytes */

        int status;                /* of the answer under way */
        struct cay_answer *answer; /* owned */
};

int client_open(struct client *c, unsigned port, const char *token);
/* Connects again, because the daemon may have closed a connection that was idle. Before it is timed. */
int client_renew(struct client *c);
void client_close(struct client *c); /* also of one that was not opened wholly (zeroed, fd -1) */

/* A request with a body of JSON ("" for none). The answer is taken by client_take_text or client_begin. */
int client_send(struct client *c, const char *method, const char *path, const char *body);
/* The head alone; length bytes of body are then written to fd by the caller. */
int client_send_head(struct client *c, const char *method, const char *path, unsigned long long length);

/* Reads the answer's head; then client_read until 0. */
int client_begin(struct client *c);
/*
 * Some bytes of the body, or 0 at its end. Without copying: *ret points into the client until its next call.
 */
ssize_t client_read(struct client *c, const char **ret);
/* The whole answer (of at most size - 1 bytes) as text, and its status. */
int client_take_text(struct client *c, char *text, size_t size);

/* One request and its whole answer, which must have a status from 200 to 299; 0 or -1. */
int client_ask(struct client *c, const char *method, const char *path, const char *body, char *text,
               size_t size);

/* The value of "key":"value" in JSON text; false when it is not there or too long. */
bool client_find(const char *text, const char *key, char *ret, size_t size);
