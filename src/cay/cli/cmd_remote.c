/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay remote`. `cay remote add USER@HOST` does by SSH, with the caller's own rights there, what a person
 * would do by hand: it copies the agent's programs, starts the agent with the daemon's address, gives it the
 * pairing code on its standard input, and waits until the machine is ready. Everything else is a verb of the
 * daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay/cli/cli.h"
#include "cay/cli/programs.h"
#include "cay/cli/verb.h"
#include "foundation/base/cleanup.h"
#include "foundation/base/id.h"
#include "foundation/base/str.h"

#define TARGET_MAX 255
#define URL_MAX 512
#define CODE_MAX 64
#define READY_TRIES 120u
#define READY_PAUSE_US 250000u

static char target[TARGET_MAX + 1]; /* USER@HOST */

/* What ssh and a shell there take as a plain word. */
static bool is_plain(const char *text, const char *also)
{
        if (!text[0] || text[0] == '-')
                return false;
        for (; *text; text++)
                if (!(*text >= 'a' && *text <= 'z') && !(*text >= 'A' && *text <= 'Z') &&
                    !(*text >= '0' && *text <= '9') && !strchr(also, *text))
                        return false;
        return true;
}

/* "me@Box.example" is the machine "box". */
static void name_of(const char *at, char ret[CAY_NAME_MAX + 1])
{
        size_t len = 0;

        for (at = strchr(at, '@') + 1; *at && *at != '.' && *at != ':' && len < CAY_NAME_MAX; at++)
                ret[len++] = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at == '_' ? '-' : *at;
        ret[len] = '\0';
}

/* Starts a program with this standard input; takes it. */
static pid_t start_take(int in, int out, char *const *argv)
{
        pid_t pid;

        fflush(NULL);
        pid = fork();
        if (pid == 0) {
                dup2(in, STDIN_FILENO);
                if (out >= 0)
                        dup2(out, STDOUT_FILENO);
                execvp(argv[0], argv);
                fprintf(stderr, "cay remote: start %s: %s\n", argv[0], strerror(errno));
                _exit(127);
        }
        close(in);
        return pid;
}

static int await(pid_t pid, const char *what, struct cay_error *err)
{
        int status = -1;

        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        return pid > 0 && status == 0
                       ? 0
                       : cay_fail(err, CAY_UNAVAILABLE, "%s failed; its messages are above", what);
}

/*
 * A machine of another kind is told before anything is copied, and a library that is missing before the
 * machine is added.
 */
static void write_copy_command(char *ret, size_t size)
{
        struct utsname here = { 0 };

        uname(&here);
        snprintf(ret, size,
                 "m=$(uname -sm); [ \"$m\" = '%.20s %.20s' ] || { cat >/dev/null; echo \"that machine is $m, "
                 "and "
                 "these programs are for %.20s %.20s\" >&2; exit 1; }; "
                 "umask 077 && mkdir -p .local/lib/cay && tar -C .local/lib/cay -xzf - || exit 1; "
                 "said=$(.local/lib/cay/cay-agent 2>&1); [ $? = 2 ] || { echo \"$said\" >&2; exit 1; }",
                 here.sysname, here.machine, here.sysname, here.machine);
}

static int copy_programs(struct cay_error *err)
{
        char into[1024], agent[] = "cay-agent-static";
        char dir[4096];
        char path[4096 + 32];
        char *const tar[] = { (char *)"tar",
                              (char *)"-C",
                              dir,
                              (char *)"--transform=s/^cay-agent-static$/cay-agent/",
                              (char *)"-czf",
                              (char *)"-",
                              agent,
                              (char *)"cay-warden",
                              (char *)"cay-init",
                              (char *)"cay-process",
                              NULL };
        char *const ssh[] = { (char *)"ssh", (char *)"--", target, into, NULL };
        pid_t packs, unpacks;
        int ends[2], null;
        int r;

        write_copy_command(into, sizeof(into));
        if (cay_cli_find_programs(dir, sizeof(dir), err) < 0)
                return -1;
        snprintf(path, sizeof(path), "%s/%s", dir, agent);
        if (access(path, R_OK) < 0) /* a build without static libraries: that machine needs the same ones */
                agent[sizeof("cay-agent") - 1] = '\0';
        null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (null < 0 || pipe2(ends, O_CLOEXEC) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a pipe");
        packs = start_take(null, ends[1], tar);
        close(ends[1]);
        unpacks = start_take(ends[0], -1, ssh);
        r = await(packs, "tar", err);
        return await(unpacks, "copying the programs by ssh", err) < 0 ? -1 : r;
}

/*
 * As a service, where that machine's systemd has a manager for its user: then it runs after a reboot, too.
 * The code goes through standard input: arguments can be read by everybody on that machine.
 */
static int start_agent(const char *url, const char *name, const char *code, struct cay_error *err)
{
        char there[2048];
        char *const ssh[] = { (char *)"ssh", (char *)"--", target, there, NULL };
        int ends[2];
        pid_t pid;

        snprintf(there, sizeof(there),
                 "umask 077 && mkdir -p .local/state/cay && read -r code || exit 1; "
                 "if systemctl --user show-environment >/dev/null 2>&1; then printf '%%s\\n' \"$code\" | "
                 ".local/lib/cay/cay-agent --connect '%s' --name '%s' --install; "
                 "else printf '%%s\\n' \"$code\" | "
                 "setsid .local/lib/cay/cay-agent --connect '%s' --name '%s' >.local/state/cay/agent.log "
                 "2>&1 & fi",
                 url, name, url, name);
        if (pipe2(ends, O_CLOEXEC) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a pipe");
        signal(SIGPIPE, SIG_IGN); /* an ssh that failed says why */
        pid = start_take(ends[0], -1, ssh);
        dprintf(ends[1], "%s\n", code);
        close(ends[1]);
        return await(pid, "starting the agent by ssh", err);
}

static int await_machine(struct cay_reach *reach, const char *name, struct cay_error *err)
{
        for (unsigned i = 0; i < READY_TRIES; i++) {
                cay_auto_answer struct cay_reach_answer answer = { 0 };
                cay_auto_values struct cay_values v = { 0 };
                char state[16], print[64];

                cay_values_init(&v, cay_cli_op_find("remote_get"));
                if (cay_values_set(&v, "name", name, err) < 0 ||
                    cay_reach_call(reach, &v, -1, CAY_REACH_WAIT_MS, &answer, err) < 0)
                        return -1;
                cay_json_view_copy(cay_json_view_find(answer.json, "state"), state, sizeof(state));
                if (strcmp(state, "ready") == 0) {
                        cay_json_view_copy(cay_json_view_find(answer.json, "fingerprint"), print,
                                           sizeof(print));
                        printf("machine '%s' is ready, its fingerprint is %s\n", name, print);
                        return 0;
                }
                usleep(READY_PAUSE_US);
        }
        return cay_fail(
                err, CAY_UNAVAILABLE,
                "the agent has not connected: .local/state/cay/agent.log on %.100s says why, and `cay "
                "remote rm %s` frees the name",
                target, name);
}

/* From "cay agent --connect URL --name NAME". */
static int find_url(const char *command, char ret[URL_MAX], struct cay_error *err)
{
        const char *at = strstr(command, "--connect ");
        size_t len = at ? strcspn(at + 10, " ") : 0;

        if (len > 0 && len < URL_MAX) {
                memcpy(ret, at + 10, len);
                ret[len] = '\0';
                if (is_plain(ret, ":/._-[]%"))
                        return 0;
        }
        return cay_fail(err, CAY_UNSUPPORTED,
                        "the daemon's address cannot be given to a shell: add the machine by name");
}

static int add_by_ssh(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        char command[1024], url[URL_MAX], code[CODE_MAX];
        const char *name = cay_values_get(&a->values, "name");
        int r;

        if (cay_values_get(&a->values, "url"))
                return cay_fail(err, CAY_INVALID,
                                "--url: an agent that is started by SSH dials the daemon itself");
        if (copy_programs(err) < 0 ||
            cay_reach_call(reach, &a->values, -1, CAY_REACH_WAIT_MS, &answer, err) < 0)
                return -1;
        cay_json_view_copy(cay_json_view_find(answer.json, "command"), command, sizeof(command));
        cay_json_view_copy(cay_json_view_find(answer.json, "code"), code, sizeof(code));
        r = find_url(command, url, err);
        if (r == 0)
                r = start_agent(url, name, code, err);
        explicit_bzero(code, sizeof(code));
        explicit_bzero(cay_buf_data(&answer.body), answer.body.len);
        return r < 0 ? -1 : await_machine(reach, name, err);
}

/* Its service is started again; an agent that somebody started by hand is that person's to end. */
static int upgrade_by_ssh(struct cay_error *err)
{
        static char there[] =
                "[ -x .local/lib/cay/cay-agent ] || { echo 'no agent was brought to that machine: use `cay "
                "remote add`' >&2; exit 1; }";
        static char restart[] =
                "if systemctl --user is-active --quiet 'cay-agent-*.service'; then systemctl --user restart "
                "'cay-agent-*.service' && echo 'the agent there was started again'; else echo 'the programs "
                "are there: end the agent and start it again'; fi";
        char *const look[] = { (char *)"ssh", (char *)"--", target, there, NULL };
        char *const again[] = { (char *)"ssh", (char *)"--", target, restart, NULL };
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        int other = fcntl(null, F_DUPFD_CLOEXEC, 0);

        if (null < 0 || other < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "open /dev/null");
        if (await(start_take(null, -1, look), "ssh", err) < 0 || copy_programs(err) < 0) {
                close(other);
                return -1;
        }
        return await(start_take(other, -1, again), "starting the agent again by ssh", err);
}

int cay_cmd_remote(int argc, char **argv)
{
        static char name[CAY_NAME_MAX + 1], add[] = "remote add";
        struct cay_error err = { 0 };
        bool upgrades = argc == 3 && strcmp(argv[1], "upgrade") == 0;

        if (argc < 3 || (strcmp(argv[1], "add") != 0 && !upgrades) || (!upgrades && !strchr(argv[2], '@')))
                return cay_verb_run(argc, argv);
        if (!strchr(argv[2], '@') || !is_plain(argv[2], "@._-:") ||
            !cay_str_copy(target, sizeof(target), argv[2])) {
                cay_fail(&err, CAY_INVALID, "'%.60s' is not USER@HOST", argv[2]);
                return cay_cli_complain(upgrades ? "remote upgrade" : "remote add", &err);
        }
        if (upgrades)
                return upgrade_by_ssh(&err) < 0 ? cay_cli_complain("remote upgrade", &err) : 0;
        name_of(target, name);
        argv[2] = name;
        argv[1] = add;
        return cay_verb_main(argc - 1, argv + 1, add_by_ssh);
}
