/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `cay doctor` reads, under any bytes: Docker's answers and addresses, mountinfo with /proc/self/cgroup,
 * id ranges, os-release, file capabilities. The first byte chooses. Beyond "does not crash": what comes out
 * is printable and fits.
 */

#include <stdint.h>

#include "foundation/base/cleanup.h"
#include "cay/doctor/cgroup_text.h"
#include "cay/doctor/docker_text.h"
#include "cay/doctor/host_text.h"
#include "foundation/sys/mountinfo.h"
#include "foundation/sys/userns_why.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

static void is_plain(const char *text, size_t size)
{
        HOLDS(strlen(text) < size);
        for (; *text != '\0'; text++)
                HOLDS(*text >= ' ' && *text <= '~');
}

static void fuzz_docker(const char *bytes, size_t len)
{
        const char *body = NULL;
        char value[16];
        size_t body_len = 0;
        int status = cay_docker_answer_parse(bytes, len, &body, &body_len);

        HOLDS(status == 0 || (status >= 100 && status <= 599));
        if (status == 0) {
                body = bytes;
                body_len = len;
        }
        HOLDS(body >= bytes && body_len == len - (size_t)(body - bytes));
        if (cay_docker_member(body, body_len, "Version", value, sizeof(value)))
                is_plain(value, sizeof(value));
}

static void fuzz_address(const char *text)
{
        struct cay_docker_address a;

        if (cay_docker_address_parse(text, &a) < 0)
                return;
        HOLDS(strlen(a.path) < sizeof(a.path) && strlen(a.host) < sizeof(a.host) &&
              strlen(a.port) < sizeof(a.port));
        HOLDS(a.is_unix ? a.path[0] != '\0' : a.host[0] != '\0' && a.port[0] != '\0');
}

/* Up to the first empty line /proc/self/cgroup, then mountinfo. */
static void fuzz_mounts(char *text)
{
        struct sys_userns_facts facts = { .has_userns = true, .ids_mapped = true };
        struct cay_doctor_cgroup_dirs dirs;
        enum cay_doctor_cgroup_version version;
        char why[SYS_WHY_SIZE], *mounts = strstr(text, "\n\n");
        struct sys_mountinfo m;
        const char *at;

        if (mounts == NULL)
                return;
        *mounts = '\0';
        mounts += 2;
        for (at = mounts; sys_mountinfo_next(&at, &m);)
                HOLDS(m.root_len > 0 && m.point_len > 0 && m.type + m.type_len <= mounts + strlen(mounts));
        HOLDS(*at == '\0');
        cay_doctor_cgroup_parse(text, mounts, &version, &dirs);
        for (unsigned i = 0; i < CAY_DOCTOR_CONTROLLERS; i++)
                HOLDS(strlen(dirs.v1[i]) < sizeof(dirs.v1[i]));
        HOLDS(strlen(dirs.v2) < sizeof(dirs.v2));
        sys_proc_why_from(&facts, mounts, -1, why, sizeof(why));
        HOLDS(why[0] != '\0' && strlen(why) < sizeof(why));
}

static void fuzz_host(const char *text, size_t len)
{
        char name[24];
        uint64_t first, ids = cay_doctor_id_ranges(text, "ada", 1000, &first);

        HOLDS(ids <= UINT32_MAX && first <= UINT32_MAX && (ids > 0 || first == 0));
        HOLDS(cay_doctor_os_release(text, name, sizeof(name)) == (name[0] != '\0'));
        is_plain(name, sizeof(name));
        cay_doctor_file_has_cap(text, len, len % 70);
        sys_userns_map_has(text, 1000);
        sys_userns_map_is_first(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        cay_auto_free char *text = NULL;

        if (size == 0 || size > 1u << 16)
                return 0;
        text = malloc(size); /* the first byte's place is the NUL's */
        if (text == NULL)
                return 0;
        memcpy(text, data + 1, size - 1);
        text[size - 1] = '\0';
        switch (data[0] % 4) {
        case 0:
                fuzz_docker(text, size - 1);
                break;
        case 1:
                fuzz_address(text);
                break;
        case 2:
                fuzz_mounts(text);
                break;
        default:
                fuzz_host(text, size - 1);
                break;
        }
        return 0;
}
