/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes the reverse proxy: fields, cookies, and targets without our links. Pure.
 *
 * To a sandbox. Standard request fields pass by name. Other fields are between a page and its server, so they
 * pass, unless a word of their name indicates an identity, a secret, or information from a proxy in front of
 * us (X-Auth-Token, X-API-Key, Remote-User, X-Real-IP, CF-Access-Jwt-Assertion …); tokens against forgery
 * (CSRF) are the page's own. And whatever the name, a value with one of our own tokens or keys in it does not
 * pass (cay_gate_put_field).
 *
 * Back. An allow-list, because third parties act on response fields: proxies in front of us (X-Accel-Redirect
 * and X-Sendfile make them send files of their own), shared caches (Surrogate-Control), and browsers for the
 * whole host (Alt-Svc, Clear-Site-Data). Fields that describe the content pass, and those of common
 * frameworks for their own pages, and anything below X-App-.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/buf.h"

bool cay_proxy_passes(const char *field, bool is_answer);
/* Appends a Cookie field's value without our own; 0, 1: nothing is left, or -errno. */
int cay_proxy_put_cookies(struct cay_buf *out, const char *value);
bool cay_proxy_cookie_stays(
        const char *set_cookie);            /* one that is for that host alone, and not one of ours */
bool cay_proxy_has_link(const char *query); /* NULL: none */
/* Appends a target without the link: "/path?rest". 0 or -errno. */
int cay_proxy_put_unlinked(struct cay_buf *out, const char *path, const char *query);
