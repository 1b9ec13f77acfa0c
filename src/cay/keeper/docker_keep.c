/* SPDX-License-Identifier: Apache-2.0 */
/* Starts cay-docker. Its arguments hold all that it needs; none of them is secret. */
#include <stdio.h>
#include <stdlib.h>

#include "cay/keeper/serve_priv.h"

#define WORDS_MAX 256u

struct words {
        char *argv[WORDS_MAX + 1];
        unsigned count;
};

static void add(struct words *w, const char *name, const char *value)
{
        if (w->count + 2 > WORDS_MAX)
                return; /* lists have a smaller maximum */
        w->argv[w->count++] = (char *)(uintptr_t)name;
        if (value)
                w->argv[w->count++] = (char *)(uintptr_t)value;
        w->argv[w->count] = NULL;
}

static void add_list(struct words *w, const char *name, const struct cay_config_list *list)
{
        for (unsigned i = 0; i < list->count; i++)
                add(w, name, list->items[i]);
}

/* As in Docker's own programs, the folder counts only if TLS is requested. */
static const char *certificates(const struct cay_config *config)
{
        const char *verify = getenv("DOCKER_TLS_VERIFY"), *folder = getenv("DOCKER_CERT_PATH");

        if (config->docker_certs[0])
                return config->docker_certs;
        return verify && verify[0] && folder ? folder : "";
}

int cay_docker_keep_start(struct keeper *k, struct cay_helper *h, struct cay_error *err)
{
        const struct cay_config *config = k->options->config;
        struct words w = { .count = 0 };
        char init[4096];

        snprintf(init, sizeof(init), "%s/cay-init", k->options->program_dir);
        add(&w, "cay-docker", "--keep");
        add(&w, "--host", config->docker_host);
        add(&w, "--instance", config->data);
        add(&w, "--init", init);
        if (certificates(config)[0])
                add(&w, "--certs", certificates(config));
        add_list(&w, "--image", &config->docker_images);
        add_list(&w, "--root", &config->workspace_roots);
        if (config->registry[0])
                add(&w, "--registry", config->registry);
        return cay_helper_start(h, &(struct cay_spawn){ .argv = w.argv }, err);
}
