/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program asks a proxy for: HTTP CONNECT, plain HTTP with a whole URL, or SOCKS 5 without a password.
 * Reads the first bytes of a connection, as often as more of them have come; nothing is kept between two
 * readings.
 *
 * A plain request is passed on as a server expects it (cay_proxy_rewrite): with a path, with the Host that
 * the URL names, and as the only one on its connection, since the next one could be for another host.
 */
#pragma once

#include "domain/network/policy.h"

#define CAY_PROXY_HEAD_MAX 16384u

enum cay_proxy {
        CAY_PROXY_MORE, /* not all of it is there */
        CAY_PROXY_BAD,  /* `why` says what is wrong */
        /* SOCKS: its first message, to be answered before the next; is_good: with a method that we have */
        CAY_PROXY_GREETED,
        CAY_PROXY_CONNECT,
        CAY_PROXY_HTTP,
        CAY_PROXY_SOCKS,
};

struct cay_proxy_request {
        char name[CAY_POLICY_NAME_MAX + 1]; /* as cay_policy_name_fold leaves it; "": an address was given */
        struct cay_address address;
        uint16_t port;
        size_t len; /* of all that was read: what comes after it is for the server */
        bool is_good;
        bool is_socks;        /* BAD: how it is to be told */
        uint8_t socks_answer; /* BAD: the code for it */
        const char *why;
};

/* is_greeted: the greeting of SOCKS was read before. */
enum cay_proxy cay_proxy_read(const uint8_t *bytes, size_t len, bool is_greeted,
                              struct cay_proxy_request *ret);
/* The head of a plain request (CAY_PROXY_HTTP, its `len` bytes) as the server gets it. 0: it does not fit. */
size_t cay_proxy_rewrite(const uint8_t *head, size_t len, char *out, size_t size);
