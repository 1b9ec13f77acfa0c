/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's engines, in order of preference: those whose helpers the keeper runs, opened over the links
 * that it handed over. Every other engine has a reason why it is missing. With `auto`, an engine that cannot
 * be opened is only missing as long as another isolating engine opens; otherwise the front does not start.
 * `process` is last: a request that names no engine gets it only if it is the only enabled engine.
 */
#pragma once

#include "domain/model/port_engine.h"
#include "domain/sandboxes/service.h"
#include "engines/engine_list.h"

struct cay_front_engines {
        struct cay_front_engine { /* by enum cay_engine_nr */
                const char *name;
                bool runs;                 /* the keeper says that its helper runs */
                struct cay_engine *engine; /* owned; NULL: missing */
                char note[256];            /* why it is there or missing */
        } rows[CAY_ENGINE_COUNT];
        struct cay_network_broker *network; /* owned; NULL: its helper was not handed over */
        int links[CAY_HELPER_COUNT];        /* sockets to helpers until they are used; -1: none */
        bool is_auto;
        char names[128]; /* names of those that are there, separated by spaces */
        /*
         * A helper was replaced: its engine can be used again, or err says why not. Set it before messages
         * are read.
         */
        void (*on_back)(struct cay_front_engines *e, const char *name, const struct cay_error *err);
};

/*
 * words: what the front was started with (cay/keeper/hand_over.h), NULL-terminated; borrowed. Opens nothing.
 */
int cay_front_engines_read(struct cay_front_engines *e, const char *setting, char *const *words,
                           struct cay_error *err);
int cay_front_engines_open(struct cay_front_engines *e, struct cay_loop *loop, struct cay_error *err);
/*
 * Reads from the keeper's socket. 1: a message for engines, handled; 0: not for engines, or none; -1: it
 * cannot be used.
 */
int cay_front_engines_hear(struct cay_front_engines *e, int sock);
void cay_front_engines_close(struct cay_front_engines *e); /* safe on a zeroed struct */
void cay_front_engines_fill(const struct cay_front_engines *e, struct cay_service_env *env);
const char *cay_front_engines_default(const struct cay_front_engines *e); /* "" when there is none */
/* The first engine with a capability (CAY_ENGINE_CAN_…); NULL: none. */
const char *cay_front_engines_with(const struct cay_front_engines *e, unsigned cap);
/* All of them, separated by spaces; "": none. */
void cay_front_engines_names_with(const struct cay_front_engines *e, unsigned cap, char *ret, size_t size);
const char *cay_front_engines_why_not(void *engines, const char *name); /* NULL: unknown */
