/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users' own machines: which ones there are, whose they are, and the key by which each is known. A machine
 * begins with a pairing code that its owner carries to it. When its agent has proven that it has the code,
 * its key takes the code's place, for good.
 *
 * A machine with a URL is dialled by the daemon (`cay agent --listen` behind a tunnel); the others dial in.
 * Only an administrator's may be elsewhere than at a public address.
 *
 * A record is a value of the store: its name is "machine.NAME.OWNER", its text has the rest. The code is in
 * it until it was used; it is worth nothing after CAY_MACHINE_CODE_MS, or after CAY_MACHINE_TRIES failures.
 */
#pragma once

#include "domain/auth/machine_url.h"
#include "domain/auth/proof.h"
#include "foundation/base/buf.h"
#include "foundation/base/error.h"
#include "foundation/base/id.h"

#define CAY_MACHINE_PREFIX "machine."
#define CAY_MACHINE_RECORD_NAME (sizeof(CAY_MACHINE_PREFIX) + CAY_NAME_MAX + 1 + CAY_NAME_MAX)
#define CAY_MACHINE_RECORD_MAX 1024u
#define CAY_MACHINE_PROBLEM_MAX 199
#define CAY_MACHINES_MAX 10000u
#define CAY_MACHINES_OWNER_MAX 100u
#define CAY_MACHINE_ABOUT_MAX 127
#define CAY_MACHINE_CODE_MS (15ull * 60 * 1000)
#define CAY_MACHINE_TRIES 5u

struct cay_machine {
        char owner[CAY_NAME_MAX + 1], name[CAY_NAME_MAX + 1];
        uint64_t created_wall_ms, paired_wall_ms; /* paired: 0: not yet */
        uint8_t key[CAY_PROOF_KEY];               /* of its agent, once paired */
        char code[CAY_PROOF_CODE];                /* "": none */
        uint64_t code_until_wall_ms;
        char about[CAY_MACHINE_ABOUT_MAX + 1]; /* what its agent says about it */
        char url[CAY_MACHINE_URL_MAX + 1];     /* "": its agent dials the daemon */
        bool may_private;                      /* the URL may lead to any address */
        bool is_off;                           /* its owner disconnected it: its agent has to wait */
        /* not stored: */
        bool is_leaving; /* its removal is being stored: nobody finds it by key or code any more */
        unsigned tries;
        char problem[CAY_MACHINE_PROBLEM_MAX +
                     1];           /* why it is not connected, for people; "": nothing is known */
        uint64_t next_try_wall_ms; /* when it is dialled again; 0: it is not waited for */
        uint64_t seen_wall_ms;     /* when its agent was last connected; 0: not since the daemon started */
        uint64_t news_ms;          /* of the journal: bounds how often it tells of the machine */
};

struct cay_machine_facts { /* of one that is connected */
        uint64_t since_wall_ms, heard_wall_ms, latency_us;
        unsigned boxes;
        bool is_open;   /* commands run without isolation */
        unsigned holds; /* limits (mask) that it can enforce */
};

struct cay_machines;

struct cay_machines *cay_machines_new(void);
void cay_machines_free(struct cay_machines *m); /* accepts NULL */

/* A new one with a code. CAY_EXISTS, CAY_LIMIT; the list is not changed. */
int cay_machine_make(const struct cay_machines *m, const char *owner, const char *name, uint64_t now_wall_ms,
                     struct cay_machine *ret, struct cay_error *err);
void cay_machine_record_name(const struct cay_machine *machine, char ret[CAY_MACHINE_RECORD_NAME]);
int cay_machine_record(const struct cay_machine *machine, struct cay_buf *out); /* 0 or -errno */
int cay_machine_read(const char *record_name, const char *record, struct cay_machine *ret,
                     struct cay_error *err);

/* Added, or in the place of the one of the same name and owner; copied. */
int cay_machines_put(struct cay_machines *m, const struct cay_machine *machine, struct cay_error *err);
void cay_machines_drop(struct cay_machines *m, const char *owner, const char *name);
struct cay_machine *cay_machines_find(struct cay_machines *m, const char *owner,
                                      const char *name); /* NULL: none */
struct cay_machine *cay_machines_find_key(struct cay_machines *m, const uint8_t key[CAY_PROOF_KEY]);
/* One with an unused code that begins so, and is still good. */
struct cay_machine *cay_machines_find_code(struct cay_machines *m, const char *code_id, uint64_t now_wall_ms);
/* The owner's, in the order of names; owner NULL: everybody's. */
void cay_machines_each(const struct cay_machines *m, const char *owner,
                       void (*each)(void *ctx, const struct cay_machine *machine), void *ctx);
/* The owner's only one; NULL: there are none, or several. */
const struct cay_machine *cay_machines_only(const struct cay_machines *m, const char *owner);
