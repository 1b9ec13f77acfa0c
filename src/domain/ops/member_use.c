/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/ops/member_use.h"

#include <string.h>

#include "domain/model/template.h"
#include "domain/sandboxes/service.h"

bool cay_op_member_read(const char *policy, struct cay_policy_member *ret)
{
        struct cay_policy_pair pair = { 0 };
        struct cay_error err = { 0 };

        *ret = (struct cay_policy_member){ 0 };
        if (!policy || !strstr(policy, "\nmember ") ||
            cay_policy_text_read(policy, strlen(policy), &pair, &err) < 0)
                return false;
        *ret = pair.member;
        cay_policy_pair_done(&pair);
        return ret->network[0] != '\0';
}

int cay_op_member_allow(const struct cay_template *t, struct cay_error *err)
{
        if (!t || t->private_networks)
                return 0;
        return cay_fail(err, CAY_DENIED,
                        "private_network: template '%s' does not allow private networks; name one with "
                        "security.network.private: true",
                        t->name);
}

static int check_name(const char *field, const char *name, struct cay_error *err)
{
        if (cay_id_is_valid(name))
                return 0;
        return cay_fail(err, CAY_INVALID,
                        "%s: 1 to %u characters a-z, 0-9 or '-'; must not begin or end with '-'", field,
                        CAY_NAME_MAX);
}

int cay_op_member_put(const struct cay_service *s, const struct cay_member_place *place,
                      const struct cay_member_wish *wish, struct cay_buf *policy, struct cay_error *err)
{
        const char *host = wish->host && wish->host[0] ? wish->host : place->name ? place->name : "";
        const char *other;

        if (!wish->network || !wish->network[0])
                return wish->host && wish->host[0]
                               ? cay_fail(err, CAY_INVALID, "private_name: needs a private_network")
                               : 0;
        if (check_name("private_network", wish->network, err) < 0 ||
            (host[0] && check_name("private_name", host, err) < 0))
                return -1;
        other = host[0] ? cay_service_member_find(s, place->owner, wish->network, host, place->id) : NULL;
        if (other)
                return cay_fail(err, CAY_EXISTS,
                                "private_name: '%s' is the name of sandbox %s in the private network '%s'; "
                                "choose another",
                                host, other, wish->network);
        return cay_buf_printf(policy, "member %s %s%s%s\n", place->owner, wish->network, host[0] ? " " : "",
                              host) < 0
                       ? cay_fail(err, CAY_LIMIT, "allow: the rules are too long together")
                       : 0;
}
