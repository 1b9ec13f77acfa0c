/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One address from an untrusted answer, parsed as a browser does on an http or https page.
 *
 * Theory of operation. Browsers are lenient: they drop blanks and control characters at both ends and every
 * TAB, CR and LF within, take a backslash for a slash, skip any number of slashes before a host, and read
 * "http:x" as "x" on a page that came by http and as the host x on one that came by https. A check of such an
 * address must check the browser's result. So it is first cleaned in the same way (the cleaned text is also
 * passed on, so that it cannot be read differently) and then split into its parts. Which of the two schemes
 * the page has is not known here (there may be a proxy before us): a scheme without two slashes behind it is
 * taken for a path, which becomes true once it is rewritten.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum cay_address_kind {
        CAY_ADDRESS_SAME,     /* "", "?q", "#f": where one is */
        CAY_ADDRESS_RELATIVE, /* "a/b" */
        CAY_ADDRESS_PATH,     /* "/a/b" */
        CAY_ADDRESS_HOST,     /* "//host/a", "http://host/a" */
        CAY_ADDRESS_FOREIGN,  /* "mailto:…": of another scheme */
        CAY_ADDRESS_NONE,     /* no address, or nobody can say which host it means */
};

struct cay_address {
        enum cay_address_kind kind;
        bool is_plain;    /* nothing was left out before the path: it may be handed on as it is */
        const char *host; /* HOST: without user and password, with its port */
        size_t host_len;
        const char *path,
                *end; /* up to query and fragment; begins with a slash or is empty, but for RELATIVE */
};

/* Cleans the text in place and points into it. */
void cay_address_read(char *text, struct cay_address *ret);
