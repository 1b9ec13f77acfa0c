/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files of other programs: what was added is found again, and a second time changes nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cay/cli/config_edit.h"
#include "must.h"

typedef int edit(const char *text, size_t len, const char *group, const char *name, const char *value,
                 struct cay_buf *out, struct cay_error *err);

static void twice(edit *call, const char *text, size_t len, const char *value)
{
        cay_auto_buf struct cay_buf once = { 0 }, again = { 0 };
        struct cay_error err = { 0 };

        cay_buf_init(&once, 1u << 20);
        cay_buf_init(&again, 1u << 20);
        if (call(text, len, "servers", "cay", value, &once, &err) < 0) {
                must(err.msg[0] != '\0');
                return;
        }
        must(call(cay_buf_data(&once), once.len, "servers", "cay", value, &again, &err) == CAY_CONFIG_SAME);
        must(once.len == again.len && memcmp(cay_buf_data(&once), cay_buf_data(&again), once.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = malloc(size + 1);

        if (!text || size > 65536) {
                free(text);
                return 0;
        }
        memcpy(text, data, size);
        text[size] = '\0';
        twice(cay_config_edit_json, text, size, "{\"command\":\"cay\",\"args\":[\"mcp\"]}");
        twice(cay_config_edit_toml, text, size, "command = \"cay\"\nargs = [\"mcp\"]\n");
        free(text);
        return 0;
}
