/* SPDX-License-Identifier: Apache-2.0 */
/* Login: a one-time login becomes a session, which its holder can end. Also: who the caller is. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "domain/auth/login.h"
#include "foundation/base/clock.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"

struct args {
        const char *owner, *scope, *login;
};

/* Make a login */

static const struct cay_field make_fields[] = {
        { "owner", CAY_FIELD_TEXT, offsetof(struct args, owner), 0, "whom it speaks for (default: default)",
          .min = 1, .max = CAY_OWNER_MAX },
        { "scope", CAY_FIELD_TEXT, offsetof(struct args, scope), 0, "read, exec (default) or admin",
          .max = 63 },
        {},
};

static void answer_login(struct cay_op_call *c, const char *login, const char *owner, unsigned scopes)
{
        char link[512];
        struct cay_op_result o;

        snprintf(link, sizeof(link), "%.300s/#login=%s", c->world->url, login);
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "login", login);
        cay_op_key_text(&o.j, "link", link);
        cay_op_key_text(&o.j, "owner", owner);
        cay_op_key_text(&o.j, "scope", cay_scope_text(scopes));
        cay_op_key_u64(&o.j, "expires_in_ms", CAY_LOGIN_MS);
        cay_op_result_answer(&o, c, CAY_OP_CREATED);
        explicit_bzero(link, sizeof(link));
}

static void run_make(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const char *owner = a->owner ? a->owner : "default";
        unsigned scopes = CAY_SCOPE_READ | CAY_SCOPE_EXEC;
        char login[CAY_LOGIN_LEN + 1];
        struct cay_error err = { 0 };

        if (cay_op_check_owner(owner, &err) < 0)
                cay_op_fail(c, &err, "owner");
        else if (a->scope && cay_scope_parse(a->scope, &scopes, &err) < 0)
                cay_op_fail(c, &err, "scope");
        else if (cay_login_make(c->world->logins, owner, scopes, cay_clock_ms(), login, &err) < 0)
                cay_op_fail(c, &err, NULL);
        else
                answer_login(c, login, owner, scopes);
        explicit_bzero(login, sizeof(login));
}

RESULT(result_login, NULL, TEXT("login"), TEXT("link"), TEXT("owner"), TEXT("scope"),
       NUMBER("expires_in_ms"));

const struct cay_op cay_op_login_make = {
        .name = "login_make",
        .route = "POST /api/logins",
        .doc = "Makes a link that signs a browser in, once and within ten minutes",
        .scope = CAY_SCOPE_ADMIN,
        .fields = make_fields,
        .args_size = sizeof(struct args),
        .result = &result_login,
        .status = CAY_OP_CREATED,
        .run = run_make,
};

/* Use a login */

static const struct cay_field use_fields[] = {
        { "login", CAY_FIELD_TEXT, offsetof(struct args, login), CAY_FIELD_REQUIRED,
          "what stands behind #login= in the link", .min = 1, .max = 255 },
        {},
};

static void run_use(struct cay_op_call *c)
{
        const struct args *a = c->args;
        char session[CAY_OP_TOKEN_MAX];
        struct cay_error err = { 0 };
        struct cay_caller caller = { 0 };
        uint64_t expires_s = 0;
        struct cay_op_result o;

        if (!cay_login_take(c->world->logins, a->login, strlen(a->login), cay_clock_ms(), &caller)) {
                cay_fail(&err, CAY_DENIED,
                         "this login is invalid or expired; it works once, within ten minutes (`cay token "
                         "--login` makes another)");
                cay_op_fail(c, &err, "login");
                return;
        }
        if (c->world->make_session(c->world, &caller, session, &expires_s, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        c->session = session;
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "owner", caller.owner);
        cay_op_key_text(&o.j, "scope", cay_scope_text(caller.scopes));
        cay_op_key_time(&o.j, "expires_at", expires_s * 1000);
        cay_op_result_answer(&o, c, CAY_OP_OK);
        explicit_bzero(session, sizeof(session));
}

RESULT(result_session, NULL, TEXT("owner"), TEXT("scope"), TIME("expires_at"));

const struct cay_op cay_op_login_use = {
        .name = "login_use",
        .route = "POST /api/login",
        .doc = "Spends a one-time login: the answer sets the page's cookie",
        .flags = CAY_OP_OPEN,
        .fields = use_fields,
        .args_size = sizeof(struct args),
        .result = &result_session,
        .run = run_use,
};

static void run_logout(struct cay_op_call *c)
{
        struct cay_clock_reading now;
        struct cay_error err = { 0 };
        struct cay_op_result o;

        if (c->caller.credential != CAY_CREDENTIAL_SESSION) {
                cay_fail(&err, CAY_CONFLICT, "this caller has no session to end, but a %s",
                         cay_credential_word(c->caller.credential));
                cay_op_fail(c, &err, NULL);
                return;
        }
        c->world->clock->read(c->world->clock, &now);
        cay_session_end(c->world->logins, c->caller.id, now.wall_ms / 1000);
        c->session = "";
        cay_op_result_begin(&o, c);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_nothing, NULL);

const struct cay_op cay_op_logout = {
        .name = "logout",
        .route = "POST /api/logout",
        .doc = "Ends the page's session at once; its cookie is good for nothing any more",
        .scope = CAY_SCOPE_READ,
        .result = &result_nothing,
        .run = run_logout,
};

/* Who is calling */

static void run_whoami(struct cay_op_call *c)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "owner", c->caller.owner);
        cay_op_key_text(&o.j, "scope", cay_scope_text(c->caller.scopes));
        cay_op_key_text(&o.j, "credential", cay_credential_word(c->caller.credential));
        cay_op_key_text(&o.j, "id", c->caller.id[0] ? c->caller.id : NULL);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_whoami, NULL, TEXT("owner"), TEXT("scope"), TEXT("credential"), MAYBE("id", TEXT));

const struct cay_op cay_op_whoami = {
        .name = "whoami",
        .route = "GET /api/whoami",
        .doc = "Who is calling, as this daemon sees it: owner, scope, and by which credential",
        .scope = CAY_SCOPE_READ,
        .result = &result_whoami,
        .run = run_whoami,
};
