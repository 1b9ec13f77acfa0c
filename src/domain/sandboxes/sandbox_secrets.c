/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets that a sandbox's requests get. The sandbox has names and placeholders, which are stored with it;
 * the values are known to whoever answers secrets_text, and pass through here on their way to the broker.
 */
#include <string.h>

#include "domain/sandboxes/service_priv.h"

#define TEXT_MAX (96u * 1024)

void cay_sandbox_send_secrets(struct cay_sandbox *sb)
{
        const struct cay_service_env *env = &sb->service->env;
        struct cay_buf text = { 0 };

        if (sb->secrets == NULL || env->network == NULL || env->secrets_text == NULL)
                return;
        cay_buf_init(&text, TEXT_MAX);
        if (cay_buf_room(&text, TEXT_MAX - 1) == NULL || /* so that it never moves and leaves a copy */
            env->secrets_text(env->ctx, sb->owner, sb->secrets, &text) < 0)
                cay_log_warn("a sandbox has no secrets", "id=%s", sb->id);
        else
                env->network->ops->set_secrets(env->network, sb->id, cay_buf_data(&text), text.len);
        if (text.mem != NULL)
                explicit_bzero(text.mem, text.cap);
        cay_buf_done(&text);
}

/* Lines of NAME PLACEHOLDER. */
static bool uses(const struct cay_sandbox *sb, const char *name)
{
        size_t len = strlen(name);

        for (const char *line = sb->secrets; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1)
                if (strncmp(line, name, len) == 0 && line[len] == ' ')
                        return true;
                else if (strchr(line, '\n') == NULL)
                        return false;
        return false;
}

void cay_service_secrets_changed(struct cay_service *s, const char *owner, const char *name)
{
        for (unsigned i = 0; i < s->count; i++) {
                struct cay_sandbox *sb = s->sorted[i];

                if (sb->secrets != NULL && sb->has_box && strcmp(sb->owner, owner) == 0 && uses(sb, name))
                        cay_sandbox_send_secrets(sb);
        }
}
