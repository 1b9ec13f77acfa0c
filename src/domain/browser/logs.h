/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a browser's pages asked of the network, and what they printed: the newest of each, as events of CDP
 * tell. Texts come from pages and are cut; headers are kept as the JSON that came, if they are not too long.
 * All of it counts in a budget and has a maximum: of the oldest requests headers and bodies are forgotten
 * first, and what there is no room for is left out.
 */
#pragma once

#include "domain/browser/cdp_message.h"
#include "foundation/base/budget.h"

#define CAY_REQUESTS_MAX 1000u
#define CAY_REQUEST_HEADERS_MAX (16u * 1024) /* bytes of JSON, each of request and response */
#define CAY_REQUEST_POST_MAX (64u * 1024)
#define CAY_PRINTED_MAX 500u
#define CAY_BROWSER_LOGS_BYTES (16u << 20) /* of all texts */

enum cay_request_state { CAY_REQUEST_RUNNING, CAY_REQUEST_DONE, CAY_REQUEST_FAILED };

struct cay_request {
        uint64_t number;                       /* of this browser, from 1: never used again */
        char id[64];                           /* CDP's requestId */
        char loader[40];                       /* of a document: equal to the id of its navigation */
        char session[CAY_CDP_SESSION_LEN + 1]; /* that told of it: knows its body */
        char tab[40];
        char method[16], type[20], mime[80];
        char *url;      /* owned, cut */
        char *sent;     /* owned JSON of its headers; NULL: too long, or none */
        char *received; /* the same of the response */
        char *post;     /* owned JSON text; NULL: none, or too long */
        char error[96]; /* "net::ERR_…" */
        unsigned status;
        uint64_t bytes; /* received, as sent over the network */
        uint64_t wall_ms, duration_ms;
        double begin; /* Chromium's clock, seconds */
        bool from_cache;
        enum cay_request_state state;
};

struct cay_printed {
        uint64_t number;
        char tab[40];
        char level[12]; /* log, info, warning, error, debug… */
        char *text;     /* owned, cut */
        char url[256];
        uint64_t line;
        uint64_t wall_ms;
};

struct cay_browser_logs {
        struct cay_request *requests; /* owned; oldest first */
        unsigned request_count;
        struct cay_printed *printed; /* owned; oldest first */
        unsigned printed_count;
        uint64_t last_request, last_printed;
        struct cay_budget *budget; /* borrowed, outlives it; NULL: none */
        size_t bytes;              /* of texts */
        unsigned bare;             /* so many of the oldest requests have forgotten headers and bodies */
};

/*
 * An event of a session that belongs to this tab; others than those of Network, Runtime and Log are ignored.
 */
void cay_browser_logs_hear(struct cay_browser_logs *l, const struct cay_cdp_message *event, const char *tab,
                           uint64_t wall_ms);
/* The newest with this id of CDP; NULL: none. */
const struct cay_request *cay_browser_logs_find(const struct cay_browser_logs *l, const char *id);
const struct cay_request *cay_browser_logs_number(const struct cay_browser_logs *l, uint64_t number);
void cay_browser_logs_shrink(struct cay_browser_logs *l); /* headers and bodies are forgotten */
void cay_browser_logs_done(struct cay_browser_logs *l);
const char *cay_request_state_word(enum cay_request_state state);
