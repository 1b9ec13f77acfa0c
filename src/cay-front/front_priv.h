/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a front, in the order in which they are made. */
#pragma once

#include "domain/auth/vault.h"
#include "foundation/http/tls_ca.h"
#include "domain/auth/api_key.h"
#include "domain/auth/login.h"
#include "domain/auth/secret.h"
#include "domain/settings/config.h"
#include "daemon/gate/gate.h"
#include "daemon/store/remover.h"
#include "dialects/browserbase/browserbase.h"
#include "dialects/e2b/e2b.h"
#include "dialects/mcp/mcp.h"
#include "dialects/rest/rest.h"
#include "cay-front/front_agents.h"
#include "cay-front/front_dial.h"
#include "cay-front/front_crashers.h"
#include "cay-front/front_engines.h"
#include "cay-front/front_ports.h"
#include "cay-front/front_registry.h"
#include "foundation/http/server.h"
#include "foundation/loop/signal.h"
#include "domain/ops/op.h"
#include "domain/sandboxes/service.h"

struct front {
        /* before the drop */
        struct cay_config config;
        struct cay_secret secret;
        struct cay_secret vault_key; /* until the vault is opened */
        struct cay_vault *vault;     /* owned; NULL: no secrets for sandboxes */
        char vault_ca[CAY_TLS_CA_PEM];
        uint8_t recordings_seed[CAY_VAULT_SEED]; /* with a vault */
        struct cay_machines *machines;           /* owned; NULL: no agents, like the vault */
        struct cay_proof_pair agent_pair;
        struct cay_front_agents *agents;
        struct cay_front_dial *dial;
        int trusted_fd;              /* certificates to trust when machines are dialled; -1: none */
        struct cay_tls_context *tls; /* NULL: no TLS */
        int state_fd, spool_fd, screencasts_fd;
        int newest_fd; /* beside the sandboxes' files: the newest position of the database; -1: none */
        int id_lock;   /* locked while our id is in use; -1: none */
        unsigned own_uid;
        bool keeps_unowned; /* records may be lost: files without a record are left on disk */
        bool state_is_root;

        /* after the drop */
        struct cay_loop *loop;
        struct cay_signal signals;
        struct cay_watch keeper;
        struct cay_front_crashers crashers;
        struct cay_front_ports *ports;
        struct cay_front_engines engines;
        struct cay_store *store;
        struct cay_remover *remover;             /* owned: of output that is let go; keeps files for reuse */
        struct cay_remover *screencasts_remover; /* owned: of recordings of browsers */
        struct cay_api_keys *keys;
        struct cay_logins logins;
        struct cay_seats *seats; /* owned */
        char url[CAY_CONFIG_URL_MAX];
        struct cay_service *service;
        struct cay_browsers *browsers;
        struct cay_gate *gate;
        struct cay_rest *rest;
        struct cay_mcp *mcp;
        struct cay_e2b *e2b;
        struct cay_bb *bb;
        struct cay_http_server *http;
        struct cay_budgets budgets; /* budget of memory for clients */
        struct cay_op_world world;
        struct cay_op_use use;
        struct cay_front_templates templates;
        struct cay_timer stop_timer, settle_timer, key_timer;
        struct cay_store_commit key_commit;
        bool key_busy, stopping;
};

/* front_start.c: everything that needs the keeper's rights. */
int cay_front_read_config(struct front *f, struct cay_error *err);
int cay_front_prepare(struct front *f,
                      struct cay_error *err); /* reads secret, TLS files and folders; then drops */

/* front_world.c: what ops get. */
void cay_front_fill_world(struct front *f);
int cay_front_load_keys(struct front *f, struct cay_error *err);
int cay_front_load_vault(struct front *f, struct cay_error *err);
int cay_front_load_machines(struct front *f, struct cay_error *err); /* after the vault */
int cay_front_open_agents(struct front *f, struct cay_error *err);
void cay_front_open_trusted(struct front *f); /* before the drop */
/* For struct cay_op_world; ctx is the front. */
bool cay_front_machine_facts(void *ctx, const char *owner, const char *name, struct cay_machine_facts *ret);
void cay_front_machine_forget(void *ctx, const char *owner, const char *name);
void cay_front_machine_changed(void *ctx, const char *owner, const char *name);
/* For struct cay_service_env; ctx is the front. */
int cay_front_secrets_text(void *ctx, const char *owner, const char *secrets, struct cay_buf *out);
const char *cay_front_secrets_ca(void *ctx);
void cay_front_watch_keys(struct front *f); /* stores, now and then, when keys were used */
