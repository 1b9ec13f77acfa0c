/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/install.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay-agent/agent.h"
#include "domain/auth/digest.h"
#include "foundation/base/cleanup.h"
#include "foundation/base/str.h"

#define UNIT_MAX 16384u
#define NAME_MAX_UNIT 48u

/* Where and how */

static bool is_system(void)
{
        return geteuid() == 0;
}

/* One for each daemon: the same machine may serve several. */
static void name_unit(const struct agent_options *o, char ret[NAME_MAX_UNIT])
{
        uint8_t digest[CAY_DIGEST_SIZE] = { 0 };

        cay_digest_sha256(o->text, strlen(o->text), digest);
        snprintf(ret, NAME_MAX_UNIT, "cay-agent-%02x%02x%02x%02x.service", digest[0], digest[1], digest[2],
                 digest[3]);
}

static int find_folder(char ret[PATH_MAX], struct cay_error *err)
{
        const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
        int n;

        if (is_system())
                n = snprintf(ret, PATH_MAX, "/etc/systemd/system");
        else if (xdg && xdg[0] == '/')
                n = snprintf(ret, PATH_MAX, "%s/systemd/user", xdg);
        else if (home && home[0] == '/')
                n = snprintf(ret, PATH_MAX, "%s/.config/systemd/user", home);
        else
                return cay_fail(err, CAY_INVALID, "HOME is not set: it says where the unit belongs");
        return n < PATH_MAX ? 0 : cay_fail(err, CAY_INVALID, "the path of the home folder is too long");
}

static int make_folders(char *path, struct cay_error *err)
{
        for (char *at = path + 1;; at++) {
                char was = *at;

                if (was != '/' && was != '\0')
                        continue;
                *at = '\0';
                if (mkdir(path, 0755) < 0 && errno != EEXIST)
                        return cay_fail_sys(err, CAY_DENIED, -errno, "make the folder %.150s", path);
                *at = was;
                if (was == '\0')
                        return 0;
        }
}

/* systemctl or loginctl, whose own words go to this terminal unless it is quiet: its exit status, or 127. */
static int call(bool is_quiet, char *const *argv)
{
        int status = -1;
        pid_t pid;

        fflush(NULL);
        pid = fork();
        if (pid == 0) {
                int null = open("/dev/null", O_RDWR | O_CLOEXEC);

                dup2(null, STDIN_FILENO);
                if (is_quiet) {
                        dup2(null, STDOUT_FILENO);
                        dup2(null, STDERR_FILENO);
                }
                execvp(argv[0], argv);
                _exit(127);
        }
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

static int systemctl(bool is_quiet, const char *verb, const char *option, const char *unit)
{
        char *argv[6] = { (char *)"systemctl", (char *)(is_system() ? "--system" : "--user"),
                          (char *)(uintptr_t)verb };
        unsigned n = 3;

        if (option)
                argv[n++] = (char *)(uintptr_t)option;
        if (unit)
                argv[n++] = (char *)(uintptr_t)unit;
        argv[n] = NULL;
        return call(is_quiet, argv);
}

/* The unit */

int agent_install_quote(const char *word, char *ret, size_t size)
{
        size_t to = 0;

        for (bool first = true;; word++) {
                const char *more = first           ? "\""
                                   : *word == '%'  ? "%%"
                                   : *word == '$'  ? "$$"
                                   : *word == '"'  ? "\\\""
                                   : *word == '\\' ? "\\\\"
                                   : *word == '\0' ? "\""
                                                   : NULL;
                size_t len = more ? strlen(more) : 1;

                if (to + len >= size || (!first && *word && ((unsigned char)*word < ' ' || *word == 127)))
                        return -1;
                memcpy(ret + to, more ? more : word, len);
                to += len;
                if (!first && !*word)
                        break;
                if (first)
                        word--;
                first = false;
        }
        ret[to] = '\0';
        return 0;
}

static int add_word(FILE *f, const char *word)
{
        char quoted[2 * PATH_MAX];

        if (agent_install_quote(word, quoted, sizeof(quoted)) < 0)
                return -1;
        fprintf(f, " %s", quoted);
        return 0;
}

static int add_path(FILE *f, const char *option, const char *path, struct cay_error *err)
{
        char whole[PATH_MAX];

        if (!path)
                return 0;
        if (!realpath(path, whole))
                return cay_fail_sys(err, CAY_NOT_FOUND, -errno, "%s: find %.150s", option, path);
        return add_word(f, option) < 0 || add_word(f, whole) < 0
                       ? cay_fail(err, CAY_INVALID, "%s: the path has characters that no unit can hold",
                                  option)
                       : 0;
}

static int add_command(FILE *f, const struct agent_options *o, struct cay_error *err)
{
        char program[sizeof(o->programs) + 16];

        snprintf(program, sizeof(program), "%s/cay-agent", o->programs);
        fprintf(f, "ExecStart=");
        if (add_word(f, program) < 0 || add_word(f, o->is_listening ? "--listen" : "--connect") < 0 ||
            add_word(f, o->text) < 0 ||
            (o->name[0] && (add_word(f, "--name") < 0 || add_word(f, o->name) < 0)))
                return cay_fail(err, CAY_INVALID, "the command has characters that no unit can hold");
        if (add_path(f, "--ca", o->ca, err) < 0 || add_path(f, "--rules", o->rules, err) < 0 ||
            add_path(f, "--state", o->folder, err) < 0)
                return -1;
        fprintf(f, "\n");
        return 0;
}

/* Status 1 is a daemon's refusal, or a machine that cannot run boxes: another start helps neither. */
static int write_unit(FILE *f, const struct agent_options *o, struct cay_error *err)
{
        fprintf(f, "# Written by `cay agent --install`; `cay agent --uninstall` removes it.\n"
                   "[Unit]\nDescription=Cay agent\nAfter=network.target\n\n[Service]\n");
        if (add_command(f, o, err) < 0)
                return -1;
        fprintf(f,
                "Restart=always\nRestartSec=5\nRestartPreventExitStatus=1 2\nKillMode=mixed\n"
                "TimeoutStopSec=30\nDelegate=yes\n\n[Install]\nWantedBy=%s\n",
                is_system() ? "multi-user.target" : "default.target");
        return 0;
}

static int store_unit(const char *path, const struct agent_options *o, struct cay_error *err)
{
        char text[UNIT_MAX] = "";
        FILE *f = fmemopen(text, sizeof(text), "w");
        cay_auto_close int fd = -1;
        size_t len;
        int r;

        if (!f)
                return cay_fail(err, CAY_INTERNAL, "no memory for the unit");
        r = write_unit(f, o, err);
        if (fclose(f) != 0 || r < 0)
                return r < 0 ? -1 : cay_fail(err, CAY_LIMIT, "the unit is longer than %u bytes", UNIT_MAX);
        len = strlen(text);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0 || write(fd, text, len) != (ssize_t)len)
                return cay_fail_sys(err, CAY_DENIED, -errno, "write %.200s", path);
        return 0;
}

/* The two */

int agent_install_can(struct cay_error *err)
{
        return systemctl(true, "show-environment", NULL, NULL) == 0
                       ? 0
                       : cay_fail(err, CAY_UNSUPPORTED,
                                  "no systemd manager of %s answers here: start the agent by whatever starts "
                                  "programs on this machine",
                                  is_system() ? "this machine" : "this user");
}

static int find_unit(const struct agent_options *o, char name[NAME_MAX_UNIT], char path[PATH_MAX + 64],
                     bool makes, struct cay_error *err)
{
        char folder[PATH_MAX];

        if (agent_install_can(err) < 0 || find_folder(folder, err) < 0)
                return -1;
        if (makes && make_folders(folder, err) < 0)
                return -1;
        name_unit(o, name);
        snprintf(path, PATH_MAX + 64, "%s/%s", folder, name);
        return 0;
}

/* So that it runs when its user is not logged in, and after a reboot. */
static void linger(void)
{
        char *const argv[] = { (char *)"loginctl", (char *)"enable-linger", NULL };

        if (!is_system() && call(true, argv) != 0)
                agent_tell("",
                           "it runs while you are logged in; `loginctl enable-linger` as an administrator "
                           "lets it run always");
}

int agent_install(const struct agent_options *o, struct cay_error *err)
{
        char name[NAME_MAX_UNIT], path[PATH_MAX + 64], text[PATH_MAX + 256];

        if (find_unit(o, name, path, true, err) < 0)
                return -1;
        if (store_unit(path, o, err) < 0) {
                unlink(path);
                return -1;
        }
        if (systemctl(false, "daemon-reload", NULL, NULL) != 0 ||
            systemctl(false, "enable", "--now", name) != 0) {
                systemctl(true, "disable", "--now", name);
                unlink(path);
                systemctl(true, "daemon-reload", NULL, NULL);
                return cay_fail(err, CAY_UNAVAILABLE, "systemctl could not start %s; its own words are above",
                                name);
        }
        linger();
        snprintf(text, sizeof(text), "%s: `systemctl%s status %s` shows it", path,
                 is_system() ? "" : " --user", name);
        agent_tell("runs from now on, by ", text);
        return 0;
}

int agent_uninstall(const struct agent_options *o, struct cay_error *err)
{
        char name[NAME_MAX_UNIT], path[PATH_MAX + 64];

        if (find_unit(o, name, path, false, err) < 0)
                return -1;
        if (access(path, F_OK) < 0)
                return cay_fail(err, CAY_NOT_FOUND, "no agent for %.200s is installed (%.200s)", o->text,
                                path);
        if (systemctl(false, "disable", "--now", name) != 0)
                return cay_fail(err, CAY_UNAVAILABLE, "systemctl could not end %s; its own words are above",
                                name);
        if (unlink(path) < 0)
                return cay_fail_sys(err, CAY_DENIED, -errno, "remove %.200s", path);
        systemctl(true, "daemon-reload", NULL, NULL);
        agent_tell("removed ", path);
        return 0;
}
