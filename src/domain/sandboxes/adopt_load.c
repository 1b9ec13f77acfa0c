/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the store at start-up: records become sandboxes and commands; finds spools that belong to neither. */
#include <dirent.h>
#include <fcntl.h>

#include "domain/sandboxes/service_priv.h"

struct loading {
        struct cay_service *service;
        struct cay_error err;
};

static bool load_sandbox(void *ctx, const void *record)
{
        struct loading *l = ctx;
        struct cay_error err = { 0 };
        struct cay_sandbox *sb;

        if (cay_record_read_sandbox(l->service, record, &sb, &err) < 0) {
                cay_log_error("record not understood, left in the store", "error=%s", err.msg);
                l->service->report.unreadable++;
                return true;
        }
        if (cay_table_add(l->service, sb) < 0) {
                cay_sandbox_free(sb);
                cay_fail(&l->err, CAY_LIMIT, "the store holds more than %u sandboxes", CAY_SERVICE_KNOWN_MAX);
                return false;
        }
        return true;
}

static bool load_exec(void *ctx, const void *record)
{
        const struct cay_store_exec *r = record;
        struct loading *l = ctx;
        struct cay_sandbox *sb = cay_table_find(l->service, r->sandbox);
        struct cay_error err = { 0 };
        struct cay_exec *x;
        uint64_t changed_wall_ms;

        if (sb == NULL)
                return true;
        changed_wall_ms = sb->changed_wall_ms;
        if (cay_record_read_exec(l->service, sb, r, &x, &err) < 0) {
                cay_log_error("record not understood, left in the store", "error=%s", err.msg);
                l->service->report.unreadable++;
                return true;
        }
        cay_exec_list_add(sb, x);
        sb->changed_wall_ms = changed_wall_ms; /* it is as busy as it was */
        return true;
}

int cay_adopt_load(struct cay_service *s, struct cay_error *err)
{
        struct loading l = { .service = s };

        if (s->store->ops->load(s->store, CAY_STORE_SANDBOX, load_sandbox, &l, err) < 0 ||
            s->store->ops->load(s->store, CAY_STORE_EXEC, load_exec, &l, err) < 0 ||
            cay_snapshots_load(s, err) < 0)
                return cay_wrap(err, "read the store");
        if (l.err.code != CAY_OK) {
                *err = l.err;
                return -1;
        }
        return 0;
}

static bool is_known_spool(struct cay_service *s, const char *name)
{
        const char *dot = strchr(name, '.');
        const struct cay_sandbox *sb;
        char id[CAY_NAME_MAX + 1];

        if (dot == NULL || (size_t)(dot - name) > CAY_NAME_MAX)
                return false;
        memcpy(id, name, (size_t)(dot - name));
        id[dot - name] = '\0';
        sb = cay_table_find(s, id);
        if (sb != NULL && sb->options.record && strcmp(dot, CAY_RECORDING_SUFFIX) == 0)
                return true;
        for (const struct cay_exec *x = sb != NULL ? sb->execs : NULL; x != NULL; x = x->next)
                if (strcmp(x->id, dot + 1) == 0)
                        return true;
        return false;
}

/* Spools without a record: of commands that were never stored, or whose sandbox was dropped. */
void cay_adopt_sweep_spools(struct cay_service *s)
{
        int fd = openat(s->env.spool_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
        struct dirent *d;

        if (dir == NULL) {
                if (fd >= 0)
                        close(fd);
                cay_log_warn("spools not swept, ignoring");
                return;
        }
        while ((d = readdir(dir)) != NULL)
                if (d->d_name[0] != '.' && !is_known_spool(s, d->d_name))
                        unlinkat(s->env.spool_dir, d->d_name, 0);
        closedir(dir);
}
