/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/ops/secret_use.h"

#include <string.h>

#include "domain/auth/digest.h"
#include "domain/auth/vault.h"
#include "domain/model/spec.h"
#include "domain/network/policy_text.h"

#define TEXT_MAX (CAY_SECRET_USE_MAX * (CAY_VAULT_NAME_MAX + CAY_SECRET_USE_MARK + 2))
#define HTTPS 443

/* Where programs look for the certificates to trust. */
static const char *const bundle_variables[] = {
        "SSL_CERT_FILE",      /* OpenSSL, Python, Go */
        "REQUESTS_CA_BUNDLE", /* Python's requests, and pip */
        "PIP_CERT",           "CURL_CA_BUNDLE",    "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS",
        "npm_config_cafile",  "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE",
};

static bool has_name(const struct cay_field_map *env, const char *name)
{
        for (unsigned i = 0; i < env->count; i++)
                if (strcmp(env->pairs[i].name, name) == 0)
                        return true;
        return false;
}

static int make_mark(char ret[CAY_SECRET_USE_MARK])
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
        uint8_t random[24];
        size_t at = (size_t)snprintf(ret, CAY_SECRET_USE_MARK, "cay-secret-");

        if (cay_digest_random(random, sizeof(random)) < 0)
                return -1;
        for (unsigned i = 0; i < sizeof(random); i++)
                ret[at++] = letters[random[i] & 31];
        ret[at] = '\0';
        return 0;
}

static int check_host(const struct cay_vault_item *item, const char *policy, struct cay_error *err)
{
        const struct cay_policy_target t = { .name = item->host, .port = HTTPS };
        struct cay_policy_pair pair = { 0 };
        bool knows = false;

        if (policy && cay_policy_text_read(policy, strlen(policy), &pair, err) == 0) {
                knows = cay_policy_pair_knows(&pair, t.name);
                cay_policy_pair_done(&pair);
        }
        if (knows)
                return 0;
        return cay_fail(err, CAY_INVALID,
                        "secrets: '%s' is for %s, which this sandbox may not reach: allow it", item->name,
                        item->host);
}

static void add(struct cay_field_pair *pairs, struct cay_field_map *env, const char *name, const char *value)
{
        if (env->count >= CAY_SERVICE_PAIRS_MAX || has_name(env, name))
                return;
        if (env->pairs != pairs && env->count > 0)
                memcpy(pairs, env->pairs, env->count * sizeof(*pairs));
        pairs[env->count] = (struct cay_field_pair){ name, value };
        *env = (struct cay_field_map){ pairs, env->count + 1 };
}

int cay_op_use_secrets(struct cay_op_call *c, const struct cay_field_texts *names, const char *policy,
                       struct cay_field_pair *pairs, struct cay_field_map *env, struct cay_secret_use *ret,
                       struct cay_error *err)
{
        cay_buf_init(&ret->text, TEXT_MAX);
        for (unsigned i = 0; i < names->count; i++) {
                const char *name = names->items[i];
                struct cay_vault_item item;

                if (!c->world->vault || !cay_vault_find(c->world->vault, c->caller.owner, name, &item, NULL))
                        return cay_fail(err, CAY_INVALID, "secrets: you have no secret '%.63s'; set it first",
                                        name);
                if (check_host(&item, policy, err) < 0)
                        return -1;
                if (i >= CAY_SECRET_USE_MAX || has_name(env, name) ||
                    env->count + CAY_COUNT(bundle_variables) >= CAY_SERVICE_PAIRS_MAX)
                        return cay_fail(
                                err, CAY_INVALID,
                                "secrets: '%s' is named twice or is a variable of env already, or there "
                                "are too many",
                                name);
                if (make_mark(ret->marks[i]) < 0 ||
                    cay_buf_printf(&ret->text, "%s %s\n", item.name, ret->marks[i]) < 0)
                        return cay_fail(err, CAY_INTERNAL, "secrets: no random bytes");
                add(pairs, env, name, ret->marks[i]);
        }
        for (unsigned i = 0; names->count > 0 && i < CAY_COUNT(bundle_variables); i++)
                add(pairs, env, bundle_variables[i], CAY_SPEC_CA_FILE);
        return 0;
}

void cay_secret_use_done(struct cay_secret_use *u)
{
        cay_buf_done(&u->text);
}
