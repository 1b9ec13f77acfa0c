/* SPDX-License-Identifier: Apache-2.0 */
/* What a new sandbox is asked to be: E2B's fields to those of sandbox_create and network_update. */
#pragma once

#include "dialects/e2b/e2b_priv.h"

/* Variables of every sandbox, unless the client sets them: rows of name and value. */
#define E2B_OWN_VARIABLES                                                                                    \
        { "HOME", "/home/user" }, { "USER", "user" }, { "LOGNAME", "user" },                                 \
        {                                                                                                    \
                "E2B_SANDBOX", "true"                                                                        \
        }

/* The body's fields, as members of an open object. -1: err says which field cannot be had. */
int e2b_create_put(struct e2b_request *q, struct cay_json *j, struct cay_error *err);
/* The members network, allow and deny, of an object with E2B's network fields (NULL: none). */
int e2b_network_put(struct e2b_request *q, struct cay_json *j, const struct cay_json_value *network,
                    bool has_internet, struct cay_error *err);
