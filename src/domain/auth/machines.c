/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/auth/machines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/base64.h"
#include "foundation/base/str.h"

struct row {
        struct row *next;
        struct cay_machine machine;
};

struct cay_machines {
        struct row *rows; /* owned; in the order of names */
        unsigned count;
};

struct cay_machines *cay_machines_new(void)
{
        return calloc(1, sizeof(struct cay_machines));
}

void cay_machines_free(struct cay_machines *m)
{
        while (m && m->rows) {
                struct row *r = m->rows;

                m->rows = r->next;
                explicit_bzero(r, sizeof(*r)); /* its code */
                free(r);
        }
        free(m);
}

/* Finding */

static struct row **place(struct cay_machines *m, const char *owner, const char *name)
{
        struct row **at = &m->rows;

        while (*at && (strcmp((*at)->machine.name, name) < 0 ||
                       (strcmp((*at)->machine.name, name) == 0 && strcmp((*at)->machine.owner, owner) < 0)))
                at = &(*at)->next;
        return at;
}

struct cay_machine *cay_machines_find(struct cay_machines *m, const char *owner, const char *name)
{
        struct row *r = *place(m, owner, name);

        return r && strcmp(r->machine.name, name) == 0 && strcmp(r->machine.owner, owner) == 0 ? &r->machine
                                                                                               : NULL;
}

struct cay_machine *cay_machines_find_key(struct cay_machines *m, const uint8_t key[CAY_PROOF_KEY])
{
        for (struct row *r = m->rows; r; r = r->next)
                if (r->machine.paired_wall_ms > 0 && !r->machine.is_leaving &&
                    memcmp(r->machine.key, key, CAY_PROOF_KEY) == 0)
                        return &r->machine;
        return NULL;
}

struct cay_machine *cay_machines_find_code(struct cay_machines *m, const char *code_id, uint64_t now_wall_ms)
{
        for (struct row *r = m->rows; r; r = r->next)
                if (r->machine.code[0] && strncmp(r->machine.code, code_id, CAY_PROOF_CODE_ID) == 0 &&
                    code_id[CAY_PROOF_CODE_ID] == '\0' && now_wall_ms < r->machine.code_until_wall_ms &&
                    r->machine.tries < CAY_MACHINE_TRIES && !r->machine.is_leaving)
                        return &r->machine;
        return NULL;
}

void cay_machines_each(const struct cay_machines *m, const char *owner,
                       void (*each)(void *ctx, const struct cay_machine *machine), void *ctx)
{
        for (const struct row *r = m->rows; r; r = r->next)
                if (!owner || strcmp(r->machine.owner, owner) == 0)
                        each(ctx, &r->machine);
}

const struct cay_machine *cay_machines_only(const struct cay_machines *m, const char *owner)
{
        const struct cay_machine *found = NULL;

        for (const struct row *r = m->rows; r; r = r->next) {
                if (strcmp(r->machine.owner, owner) != 0)
                        continue;
                if (found)
                        return NULL;
                found = &r->machine;
        }
        return found;
}

/* Changing */

int cay_machines_put(struct cay_machines *m, const struct cay_machine *machine, struct cay_error *err)
{
        struct cay_machine *old = cay_machines_find(m, machine->owner, machine->name);
        struct row **at, *r;

        if (old) {
                *old = *machine;
                return 0;
        }
        r = m->count < CAY_MACHINES_MAX ? calloc(1, sizeof(*r)) : NULL;
        if (!r)
                return cay_fail(err, CAY_LIMIT, "there is no room for another machine");
        r->machine = *machine;
        at = place(m, machine->owner, machine->name);
        r->next = *at;
        *at = r;
        m->count++;
        return 0;
}

void cay_machines_drop(struct cay_machines *m, const char *owner, const char *name)
{
        struct row **at = place(m, owner, name), *r = *at;

        if (!r || strcmp(r->machine.name, name) != 0 || strcmp(r->machine.owner, owner) != 0)
                return;
        *at = r->next;
        m->count--;
        explicit_bzero(r, sizeof(*r));
        free(r);
}

int cay_machine_make(const struct cay_machines *m, const char *owner, const char *name, uint64_t now_wall_ms,
                     struct cay_machine *ret, struct cay_error *err)
{
        unsigned own = 0;

        *ret = (struct cay_machine){ .created_wall_ms = now_wall_ms,
                                     .code_until_wall_ms = now_wall_ms + CAY_MACHINE_CODE_MS };
        if (!cay_id_is_valid(name) || !cay_str_copy(ret->name, sizeof(ret->name), name))
                return cay_fail(err, CAY_INVALID,
                                "name: 1 to 63 characters a-z, 0-9 or '-'; must not begin or end with '-'");
        if (!cay_str_copy(ret->owner, sizeof(ret->owner), owner))
                return cay_fail(err, CAY_INVALID, "the owner's name is too long");
        for (const struct row *r = m->rows; r; r = r->next) {
                if (strcmp(r->machine.owner, owner) != 0)
                        continue;
                own++;
                if (strcmp(r->machine.name, name) == 0)
                        return cay_fail(
                                err, CAY_EXISTS,
                                "there is a machine '%s' already: choose another name, or remove it first",
                                name);
        }
        if (own >= CAY_MACHINES_OWNER_MAX || m->count >= CAY_MACHINES_MAX)
                return cay_fail(err, CAY_LIMIT, "there are %u machines already: remove some",
                                own >= CAY_MACHINES_OWNER_MAX ? own : m->count);
        return cay_proof_code_make(ret->code) == 0 ? 0 : cay_fail(err, CAY_INTERNAL, "make a pairing code");
}

/* Records: "[off ][URL public|any ]CREATED PAIRED KEY|- CODE|- UNTIL ABOUT" */

#define OFF "off "

void cay_machine_record_name(const struct cay_machine *machine, char ret[CAY_MACHINE_RECORD_NAME])
{
        snprintf(ret, CAY_MACHINE_RECORD_NAME, CAY_MACHINE_PREFIX "%s.%s", machine->name, machine->owner);
}

int cay_machine_record(const struct cay_machine *machine, struct cay_buf *out)
{
        char key[CAY_BASE64URL_LEN(CAY_PROOF_KEY) + 1] = "-";

        if (machine->paired_wall_ms > 0 &&
            cay_base64url_encode(machine->key, CAY_PROOF_KEY, key, sizeof(key)) < 0)
                return -ENOSPC;
        if (machine->is_off && cay_buf_printf(out, OFF) < 0)
                return -ENOSPC;
        if (machine->url[0] &&
            cay_buf_printf(out, "%s %s ", machine->url, machine->may_private ? "any" : "public") < 0)
                return -ENOSPC;
        return cay_buf_printf(out, "%" PRIu64 " %" PRIu64 " %s %s %" PRIu64 " %s", machine->created_wall_ms,
                              machine->paired_wall_ms, key, machine->code[0] ? machine->code : "-",
                              machine->code_until_wall_ms, machine->about);
}

/* Where the rest of the record begins, or NULL. */
static const char *read_url(const char *record, struct cay_machine *ret)
{
        const char *end = strchr(record, ' ');
        struct cay_machine_url url;
        struct cay_error err = { 0 };

        if (record[0] != 'w')
                return record;
        if (!end || (size_t)(end - record) >= sizeof(ret->url))
                return NULL;
        memcpy(ret->url, record, (size_t)(end - record));
        ret->may_private = cay_str_starts(end, " any ");
        if (!ret->may_private && !cay_str_starts(end, " public "))
                return NULL;
        return cay_machine_url_read(ret->url, &url, &err) == 0 ? strchr(end + 1, ' ') + 1 : NULL;
}

static bool read_text(const char *record, struct cay_machine *ret)
{
        char key[64] = "", code[64] = "";
        int at = 0;

        ret->is_off = cay_str_starts(record, OFF);
        record = read_url(record + (ret->is_off ? sizeof(OFF) - 1 : 0), ret);
        if (!record)
                return false;
        if (sscanf(record, "%" SCNu64 " %" SCNu64 " %63s %63s %" SCNu64 " %n", &ret->created_wall_ms,
                   &ret->paired_wall_ms, key, code, &ret->code_until_wall_ms, &at) != 5 ||
            at == 0)
                return false;
        if (ret->paired_wall_ms > 0 &&
            cay_base64url_decode(key, strlen(key), ret->key, CAY_PROOF_KEY) != CAY_PROOF_KEY)
                return false;
        if (strcmp(code, "-") != 0 && !cay_proof_code_read(code, ret->code))
                return false;
        return cay_str_copy(ret->about, sizeof(ret->about), record + at);
}

int cay_machine_read(const char *record_name, const char *record, struct cay_machine *ret,
                     struct cay_error *err)
{
        const char *name = record_name + sizeof(CAY_MACHINE_PREFIX) - 1, *dot;

        *ret = (struct cay_machine){ 0 };
        dot = cay_str_starts(record_name, CAY_MACHINE_PREFIX) ? strchr(name, '.') : NULL;
        if (!dot || dot - name > CAY_NAME_MAX || !cay_str_copy(ret->owner, sizeof(ret->owner), dot + 1))
                return cay_fail(err, CAY_DAMAGED, "the record of a machine has a bad name");
        memcpy(ret->name, name, (size_t)(dot - name));
        if (!cay_id_is_valid(ret->name) || !read_text(record, ret))
                return cay_fail(err, CAY_DAMAGED, "the record of machine '%.63s' cannot be read", ret->name);
        return 0;
}
