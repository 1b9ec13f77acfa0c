/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay doctor` where people are: as root, as an ordinary user, in user namespaces, inside a sandbox, with a
 * Docker that answers and one that does not. Whatever it says, its exit status must agree with what `cay run`
 * then does; afterwards nothing is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"
#include "foundation/base/str.h"
#include "integration/run/harness.h"

#define OUTPUT_MAX (256u << 10)
#define DEADLINE_MS 120000
#define WORDS_MAX 32

static char folder[] = "/tmp/cay-doctor-XXXXXX"; /* our programs, where an ordinary user finds them */

struct said {
        int status;
        char out[OUTPUT_MAX];
        size_t len;
};

static struct said said; /* by the last program */

static void put_words(const char **argv, unsigned *count, const char *const *words)
{
        for (; words != NULL && *words != NULL && *count < WORDS_MAX - 1; words++)
                argv[(*count)++] = *words;
        argv[*count] = NULL;
}

static void read_all(int fd, pid_t pid)
{
        uint64_t end = run_now_ms() + DEADLINE_MS;

        said.len = 0;
        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                uint64_t now = run_now_ms();
                ssize_t n;

                if (now >= end || poll(&p, 1, (int)(end - now)) == 0) {
                        kill(pid, SIGKILL);
                        waitpid(pid, NULL, 0);
                        fail_msg("did not end in time; it said '%.*s'", (int)said.len, said.out);
                }
                n = read(fd, said.out + said.len, sizeof(said.out) - 1 - said.len);
                if (n <= 0) /* EIO: the last end of a terminal is closed */
                        break;
                said.len += (size_t)n;
        }
        said.out[said.len] = '\0';
        close(fd);
}

/*
 * Starts `prefix` words, then our cay with `words`; both streams are collected. env: one NAME=VALUE more, or
 * NULL.
 */
static void run_it(const char *const *prefix, const char *const *words, const char *env)
{
        const char *argv[WORDS_MAX];
        char cay[64];
        unsigned count = 0;
        int ends[2], status;
        pid_t pid;

        snprintf(cay, sizeof(cay), "%s/cay", folder);
        put_words(argv, &count, prefix);
        put_words(argv, &count, WORDS(cay));
        put_words(argv, &count, words);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                int null = open("/dev/null", O_RDONLY);

                dup2(null, STDIN_FILENO);
                dup2(ends[1], STDOUT_FILENO);
                dup2(ends[1], STDERR_FILENO);
                unsetenv("DOCKER_HOST");
                if (env != NULL)
                        putenv((char *)env);
                execvp(argv[0], (char **)argv);
                _exit(99);
        }
        close(ends[1]);
        read_all(ends[0], pid);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        said.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void assert_said(const char *part)
{
        if (strstr(said.out, part) == NULL)
                fail_msg("no '%s' in (status %d): %.4000s", part, said.status, said.out);
}

static void assert_ended(int status)
{
        if (said.status != status)
                fail_msg("status %d, expected %d: %.4000s", said.status, status, said.out);
}

static void assert_json(void)
{
        struct run r = { .out = said.out, .out_len = said.len };

        if (!run_json_is_valid(&r))
                fail_msg("no JSON: %.4000s", said.out);
}

/* One screen, and plain: this is no terminal. */
static void assert_screen(void)
{
        unsigned lines = 0;

        for (const char *line = said.out; *line != '\0'; lines++) {
                size_t len = strcspn(line, "\n");

                if (len > 100)
                        fail_msg("%zu columns: %.*s", len, (int)len, line);
                line += len + (line[len] == '\n');
        }
        for (size_t i = 0; i < said.len; i++)
                if ((said.out[i] < ' ' || said.out[i] > '~') && said.out[i] != '\n')
                        fail_msg("byte 0x%02x at %zu", (unsigned char)said.out[i], i);
        if (lines > 40)
                fail_msg("%u lines: %s", lines, said.out);
}

enum expected { WORKS, WORKS_NOT, WHO_KNOWS };

static const struct place {
        const char *name, *prefix[8];
        enum expected expected;
        const char *says; /* in JSON and on the screen */
} places[] = {
        { "root", { NULL }, WORKS, "root" },
        { "an ordinary user",
          { "setpriv", "--reuid", "45678", "--regid", "45678", "--clear-groups", NULL },
          WHO_KNOWS,
          "ordinary user 45678" },
        { "a user namespace without a map", { "unshare", "-U", NULL }, WORKS_NOT, "unshare -Ur" },
        { "root of a user namespace", { "unshare", "-Ur", NULL }, WHO_KNOWS, "root of a user namespace" },
};

/* Three programs, one opinion. */
static void agree(const struct place *p)
{
        int json, text;

        run_it(p->prefix, WORDS("doctor", "--json"), NULL);
        json = said.status;
        assert_json();
        assert_said(json == 0 ? "{\"works\":true," : "{\"works\":false,");
        assert_said(p->says);
        run_it(p->prefix, WORDS("doctor"), NULL);
        text = said.status;
        assert_said(p->says);
        assert_screen();
        run_it(p->prefix, WORDS("run", "--", "/bin/true"), NULL);
        if (json != text || (json == 0) != (said.status == 0) || json > 1)
                fail_msg("%s: cay doctor --json %d, cay doctor %d, cay run %d: %s", p->name, json, text,
                         said.status, said.out);
        if (p->expected != WHO_KNOWS)
                assert_int_equal(json, p->expected == WORKS ? 0 : 1);
        print_message("%s: %s\n", p->name, json == 0 ? "works" : said.out);
}

static void agrees_with_run(void **state)
{
        for (unsigned i = 0; i < CAY_COUNT(places); i++)
                agree(&places[i]);
}

/* Our programs as a sandbox's workspace, and the doctor in there. */
static void inside_a_sandbox(void **state)
{
        char workspace[64];

        snprintf(workspace, sizeof(workspace), "%s:ro", folder);
        run_it(NULL,
               WORDS("run", "--quiet", "--memory", "1g", "--pids", "200", "--workspace", workspace, "--",
                     "/workspace/cay", "doctor"),
               NULL);
        assert_ended(1);
        assert_said("inside a Cay"); /* the line may end here */
        assert_said("sandboxes do not nest");
        assert_screen();
        run_it(NULL,
               WORDS("run", "--quiet", "--memory", "1g", "--pids", "200", "--workspace", workspace, "--",
                     "/workspace/cay", "run", "--", "/bin/true"),
               NULL);
        assert_ended(125);
        assert_said("sandboxes do not nest");
}

/* cay by itself: it has nothing to make a sandbox with, and says which programs it looked for. */
static void without_its_programs(void **state)
{
        run_it(WORDS("sh", "-c",
                     "mkdir $0/alone; ln $1 $0/alone/cay; $0/alone/cay $2 $3; r=$?; rm -r $0/alone; exit $r",
                     folder),
               WORDS("doctor", "--json"), NULL);
        assert_ended(1);
        assert_json();
        assert_said("{\"works\":false,");
        assert_said("{\"id\":\"programs\",\"group\":\"here\",\"status\":\"missing\",\"found\":\"cay-init is "
                    "neither in");
}

static int serve(const char *path)
{
        static const char ping[] = "HTTP/1.0 200 OK\r\n\r\nOK";
        static const char version[] =
                "HTTP/1.0 200 OK\r\n\r\n{\"Version\":\"77.6.5\",\"ApiVersion\":\"1.99\"}";
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), pid;

        cay_str_copy(a.sun_path, sizeof(a.sun_path), path);
        assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
        assert_int_equal(listen(fd, 4), 0);
        pid = fork();
        if (pid == 0) {
                int peers[2] = { accept(fd, NULL, NULL), accept(fd, NULL, NULL) };

                for (unsigned i = 0; i < 2; i++) {
                        char request[256] = "";
                        const char *answer;

                        if (read(peers[i], request, sizeof(request) - 1) <= 0)
                                continue;
                        answer = strncmp(request, "GET /_ping ", 11) == 0 ? ping : version;
                        if (write(peers[i], answer, strlen(answer)) < 0)
                                break;
                        close(peers[i]);
                }
                _exit(0);
        }
        close(fd);
        return pid;
}

static void docker_answers(void **state)
{
        char path[64], env[96];
        int pid;

        snprintf(path, sizeof(path), "%s/docker.sock", folder);
        snprintf(env, sizeof(env), "DOCKER_HOST=unix://%s", path);
        pid = serve(path);
        run_it(NULL, WORDS("doctor", "--json"), env);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        assert_ended(0);
        assert_said("{\"id\":\"docker\",\"group\":\"docker\",\"status\":\"ok\",\"found\":\"77.6.5 (API 1.99) "
                    "at unix://");
        assert_said("\"docker\":\"77.6.5\"");
        run_it(NULL, WORDS("doctor", "--json"), env); /* the socket is there, nobody listens */
        unlink(path);
        assert_ended(0);
        assert_said("\"id\":\"docker\",\"group\":\"docker\",\"status\":\"broken\"");
}

/* A Docker that is not there is no reason for the default run not to work. */
static void docker_is_dead(void **state)
{
        run_it(NULL, WORDS("doctor"), "DOCKER_HOST=tcp://127.0.0.1:1");
        assert_ended(0);
        assert_said("x Docker            no answer at tcp://127.0.0.1:1");
        assert_said("unset DOCKER_HOST");
        run_it(NULL, WORDS("doctor"), "DOCKER_HOST=ssh://somewhere");
        assert_ended(0);
        assert_said("neither unix:// nor tcp://");
}

static void on_terminal(const char *lang, const char *no_color)
{
        char cay[64];
        int fd, status;
        pid_t pid;

        snprintf(cay, sizeof(cay), "%s/cay", folder);
        pid = forkpty(&fd, NULL, NULL, NULL);
        assert_true(pid >= 0);
        if (pid == 0) {
                setenv("LC_ALL", lang, 1);
                setenv("TERM", "xterm", 1);
                setenv("NO_COLOR", no_color, 1);
                execl(cay, "cay", "doctor", (char *)NULL);
                _exit(99);
        }
        read_all(fd, pid);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        said.status = WEXITSTATUS(status);
        assert_ended(0);
}

static void on_terminals(void **state)
{
        on_terminal("C.UTF-8", "");
        assert_said("\033[32m✓\033[0m");
        on_terminal("C.UTF-8", "1");
        assert_said("here        ✓ versions");
        assert_null(strchr(said.out, '\033'));
        on_terminal("C", "");
        assert_said("\033[32m+\033[0m");
        assert_null(strstr(said.out, "✓"));
}

static void usage(void **state)
{
        run_it(NULL, WORDS("doctor", "--jsn"), NULL);
        assert_ended(2);
        assert_said("did you mean --json?");
        run_it(NULL, WORDS("doctor", "now"), NULL);
        assert_ended(2);
        assert_said("takes no arguments");
        run_it(NULL, WORDS("doctor", "--help"), NULL);
        assert_ended(0);
        assert_said("  user_ns              ");
        assert_said("Exit status: 0 the default run works (and the daemon is ready), 1 it does not, 2 wrong "
                    "usage.");
        run_it(NULL, WORDS("help"), NULL);
        assert_said("  doctor     ");
}

static void copy_program(const char *name)
{
        char from[PATH_MAX], to[128], *bytes;
        struct stat st;
        int in, out;

        snprintf(from, sizeof(from), "%s/%s", run_build_dir(), name);
        snprintf(to, sizeof(to), "%s/%s", folder, name);
        in = open(from, O_RDONLY | O_CLOEXEC);
        out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
        assert_true(in >= 0 && out >= 0 && fstat(in, &st) == 0);
        bytes = malloc((size_t)st.st_size);
        for (off_t at = 0; at < st.st_size;) {
                ssize_t n = read(in, bytes, (size_t)st.st_size);

                assert_true(n > 0 && write(out, bytes, (size_t)n) == n);
                at += n;
        }
        free(bytes);
        close(in);
        close(out);
}

static const char *const programs[] = { "cay", "cay-init", "cay-warden" };

static int set_up(void **state)
{
        if (geteuid() != 0) {
                print_message("skipped: needs root\n");
                exit(77);
        }
        assert_non_null(mkdtemp(folder));
        chmod(folder, 0755);
        for (unsigned i = 0; i < CAY_COUNT(programs); i++)
                copy_program(programs[i]);
        return 0;
}

static int tear_down(void **state)
{
        char path[128];

        for (unsigned i = 0; i < CAY_COUNT(programs); i++) {
                snprintf(path, sizeof(path), "%s/%s", folder, programs[i]);
                unlink(path);
        }
        return rmdir(folder);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, run_setup_test, run_teardown_test)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(agrees_with_run), TEST(inside_a_sandbox), TEST(without_its_programs),
                TEST(docker_answers),  TEST(docker_is_dead),   TEST(on_terminals),
                TEST(usage),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
