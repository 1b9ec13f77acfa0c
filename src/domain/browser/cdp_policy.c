/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/cdp_policy.h"

#include <string.h>

#include "foundation/base/json_out.h"

static const struct row {
        const char *method;
        enum cay_cdp_rule rule;
        const char *text;
} rows[] = {
#define CAY_CDP_METHOD(name, rule, text) { name, CAY_CDP_##rule, text },
#include "domain/browser/cdp_methods.def"
#undef CAY_CDP_METHOD
};

enum cay_cdp_rule cay_cdp_rule_of(const char *method, const char **ret_text)
{
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                if (strcmp(rows[i].method, method) == 0) {
                        *ret_text = rows[i].text;
                        return rows[i].rule;
                }
        }
        return CAY_CDP_AS_IT_IS;
}

int cay_cdp_put_downloads(struct cay_buf *out, struct cay_json_view params, const char *folder,
                          bool is_of_page)
{
        char behavior[16], context[64];
        struct cay_json j;

        cay_cdp_find_text(params, "behavior", behavior, sizeof(behavior));
        cay_cdp_find_text(params, "browserContextId", context, sizeof(context));
        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "behavior");
        if (strcmp(behavior, "deny") == 0 || strcmp(behavior, "default") == 0)
                cay_json_text(&j, behavior);
        else
                cay_json_text(&j, is_of_page ? "allow" : "allowAndName");
        cay_json_key(&j, "downloadPath");
        cay_json_text(&j, folder);
        if (!is_of_page) {
                cay_json_key(&j, "eventsEnabled");
                cay_json_bool(&j, true);
        }
        if (context[0] != '\0') {
                cay_json_key(&j, "browserContextId");
                cay_json_text(&j, context);
        }
        cay_json_end_object(&j);
        return cay_json_end(&j);
}
