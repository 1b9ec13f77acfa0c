/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fields pass the reverse proxy. Pure.
 *
 * To a sandbox. What HTTP and browsers say of a request passes by name. Other fields are between a page and its server, so they pass,
 * unless a word of their name speaks of who somebody is, of a secret, or of what a proxy in front of us has seen (X-Auth-Token,
 * X-API-Key, Remote-User, X-Real-IP, CF-Access-Jwt-Assertion …); tokens against forgery (CSRF) are the page's own. And whatever the name,
 * a value with one of our own tokens or keys in it does not pass (cay_gate_put_field).
 *
 * Back. An allow-list, for what comes back is obeyed by strangers: by proxies in front of us (X-Accel-Redirect and X-Sendfile make them
 * send files of their own), by shared caches (Surrogate-Control), and by browsers for the whole host (Alt-Svc, Clear-Site-Data). What
 * describes the content passes, what common frameworks say to their own pages, and anything below X-App-.
 */
#pragma once

#include <stdbool.h>

bool cay_proxy_passes(const char *field, bool is_answer);
