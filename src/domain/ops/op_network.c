/* SPDX-License-Identifier: Apache-2.0 */
/* What names there are for lists of hosts, as rules of a network take them. */
#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"

static void put_preset(struct cay_json *j, const char *name, const char *const *rules)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "name", name);
        cay_json_key(j, "rules");
        cay_json_begin_array(j);
        for (; *rules; rules++)
                cay_json_text(j, *rules);
        cay_json_end_array(j);
        cay_json_end_object(j);
}

static void run_presets(struct cay_op_call *c)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "presets");
        cay_json_begin_array(&o.j);
#define CAY_PRESET(name, ...) put_preset(&o.j, #name, (const char *const[]){ __VA_ARGS__, NULL });
#include "domain/network/presets.def"
#undef CAY_PRESET
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_preset, "NetworkPreset", TEXT("name"), TEXTS("rules"));
RESULT(result_presets, NULL, LIST("presets", result_preset));

const struct cay_op cay_op_network_presets = {
        .name = "network_presets",
        .route = "GET /api/network/presets",
        .doc = "Lists the presets that network rules may name (preset:python), and the hosts and ports of "
               "each",
        .scope = CAY_SCOPE_READ,
        .result = &result_presets,
        .run = run_presets,
};
