/* SPDX-License-Identifier: Apache-2.0 */
/* What `cay agent` was asked for. */
#pragma once

#include "cay/client/url.h"
#include "foundation/base/id.h"

struct agent_options {
        char text[512];     /* the daemon's address, as given */
        struct cay_url url; /* http: ws, https: wss; base: its path */
        bool is_listening;  /* instead: at this address */
        char listen_host[CAY_URL_HOST_MAX + 1];
        uint16_t listen_port; /* 0: the kernel chooses */
        bool is_loopback;
        char name[CAY_NAME_MAX + 1];
        const char *state, *ca;    /* NULL: the usual folder; the system's certificates */
        const char *rules;         /* NULL: `rules` in that folder, if it is there */
        bool installs, uninstalls; /* a service of it (install.h) */
        char folder[4096];         /* the state's, once it is open */
        char programs[3968];       /* the folder of cay-warden and cay-init: this program's own */
};

/* 0, or -1: err says what is wrong. */
int agent_options_read(int argc, char **argv, struct agent_options *ret, struct cay_error *err);
