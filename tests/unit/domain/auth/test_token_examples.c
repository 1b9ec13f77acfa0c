/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The examples of docs/tokens.md, run as they stand there: what they print is a token that passes. Needs
 * python3 and openssl, which the machine that runs the tests has.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "domain/auth/token.h"

#define SECRET "a secret with ' quotes \" and $dollars"

static char page[64 * 1024];

static int read_page(void **state)
{
        const char *root = getenv("CAY_SOURCE_DIR");
        char path[4096];
        size_t len;
        FILE *f;

        assert_non_null(root);
        snprintf(path, sizeof(path), "%s/docs/tokens.md", root);
        f = fopen(path, "re");
        assert_non_null(f);
        len = fread(page, 1, sizeof(page) - 1, f);
        assert_true(len > 0 && len < sizeof(page) - 1);
        fclose(f);
        return 0;
}

/* The code block behind "<!-- example: NAME -->". */
static void example(const char *name, char *ret, size_t size)
{
        char mark[64];
        const char *at, *end;

        snprintf(mark, sizeof(mark), "<!-- example: %s -->", name);
        at = strstr(page, mark);
        assert_non_null(at);
        at = strstr(at, "```");
        assert_non_null(at);
        at = strchr(at, '\n') + 1;
        end = strstr(at, "```");
        assert_non_null(end);
        assert_true((size_t)(end - at) < size);
        memcpy(ret, at, (size_t)(end - at));
        ret[end - at] = '\0';
}

/* Runs it with the secret in its environment; returns the line it prints. */
static void output_of(const char *program, char *code, char *ret, size_t size)
{
        int pipefd[2], status;
        size_t len = 0;
        ssize_t n;
        pid_t pid;

        assert_int_equal(pipe(pipefd), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                dup2(pipefd[1], 1);
                close(pipefd[0]);
                close(pipefd[1]);
                setenv("SANDBOX_TOKEN_SECRET", SECRET, 1);
                execlp(program, program, "-c", code, (char *)NULL);
                _exit(127);
        }
        close(pipefd[1]);
        while ((n = read(pipefd[0], ret + len, size - 1 - len)) > 0)
                len += (size_t)n;
        close(pipefd[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_true(len > 0 && ret[len - 1] == '\n');
        ret[len - 1] = '\0';
}

static void passes(const char *program, const char *name, const char *id)
{
        char code[4096], text[1024];
        struct cay_secret secret = { 0 };
        struct cay_error err;
        struct cay_token t;
        uint64_t now = (uint64_t)time(NULL);
        enum cay_token_verdict v;

        example(name, code, sizeof(code));
        output_of(program, code, text, sizeof(text));
        assert_int_equal(cay_secret_set(&secret, SECRET, &err), 0);
        v = cay_token_check(&secret, CAY_TOKEN_BEARER, text, strlen(text), now, &t);
        if (v != CAY_TOKEN_OK)
                fail_msg("'%s' is %s", text, cay_token_verdict_word(v));
        assert_string_equal(t.caller.owner, "alice");
        assert_string_equal(t.caller.id, id);
        assert_int_equal(t.caller.scopes, CAY_SCOPE_READ | CAY_SCOPE_EXEC);
        /* The form is what we make ourselves, too. */
        assert_true(t.expires_s > now);
}

static void python_makes_one(void **state)
{
        passes("python3", "python", "from-python");
}

static void a_shell_makes_one(void **state)
{
        passes("sh", "sh", "from-sh");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(python_makes_one),
                cmocka_unit_test(a_shell_makes_one),
        };

        return cmocka_run_group_tests(tests, read_page, NULL);
}
