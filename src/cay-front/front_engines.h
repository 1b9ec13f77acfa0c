/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's engines: those whose helpers the keeper runs, opened over the links that it handed over, in the order of preference; and
 * for each other one the reason why it is not there. Where the setting is `auto`, one that cannot be opened is only missing as long as
 * another that isolates can be; else the front does not start. process is the last: what names no engine gets it only where it is all
 * that the operator has switched on.
 */
#pragma once

#include "domain/model/port_engine.h"
#include "domain/sandboxes/service.h"
#include "engines/engine_list.h"

struct cay_front_engines {
        struct cay_front_engine { /* by enum cay_engine_nr */
                const char *name;
                bool runs;                 /* its helper does, says the keeper */
                struct cay_engine *engine; /* owned; NULL: it is not there */
                char note[256];            /* why it is, or why not */
        } rows[CAY_ENGINE_COUNT];
        struct cay_network_broker *network; /* owned; NULL: no helper for it was handed over */
        int links[CAY_HELPER_COUNT]; /* sockets to helpers, as handed over, until they are taken; -1: none */
        bool is_auto;
        char names[128]; /* of those that are there, with blanks between */
        /* A helper ended and there is another: its engine can be used again; err: it cannot. Set before anything is heard. */
        void (*on_back)(struct cay_front_engines *e, const char *name, const struct cay_error *err);
};

/* words: what the front was started with (cay/keeper/hand_over.h), NULL-ended; borrowed. Nothing is opened. */
int cay_front_engines_read(struct cay_front_engines *e, const char *setting, char *const *words,
                           struct cay_error *err);
int cay_front_engines_open(struct cay_front_engines *e, struct cay_loop *loop, struct cay_error *err);
/* From the keeper's socket: 1: it was for engines, and is seen to; 0: it is another's, or nothing is there; -1: it cannot be used. */
int cay_front_engines_hear(struct cay_front_engines *e, int sock);
void cay_front_engines_close(struct cay_front_engines *e); /* safe on a zeroed struct */
void cay_front_engines_fill(const struct cay_front_engines *e, struct cay_service_env *env);
const char *cay_front_engines_default(const struct cay_front_engines *e); /* "" when there is none */
/* The first that is there with a capability (CAY_ENGINE_CAN_…); NULL: none. */
const char *cay_front_engines_with(const struct cay_front_engines *e, unsigned cap);
/* All of them, with blanks between; "": none. */
void cay_front_engines_names_with(const struct cay_front_engines *e, unsigned cap, char *ret, size_t size);
const char *cay_front_engines_why_not(void *engines, const char *name); /* NULL: nobody knows it */
