/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz harness over its saved inputs, as an ordinary test: every file of the folders named on the
 * command line, in the order of their names, after the empty input.
 */

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX_BYTES = 16 << 20 };

static int replay_file(const char *dir, const char *name)
{
        char path[4096];
        uint8_t *data;
        struct stat st;
        size_t got;
        FILE *f;

        if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
                return -1;
        f = fopen(path, "rbe");
        if (!f || fstat(fileno(f), &st) < 0 || st.st_size > INPUT_MAX_BYTES) {
                perror(path);
                if (f)
                        fclose(f);
                return -1;
        }
        /* An exact-size heap block, so that the sanitizer sees one byte too far. */
        data = malloc(st.st_size > 0 ? (size_t)st.st_size : 1);
        if (!data) {
                fclose(f);
                return -1;
        }
        got = fread(data, 1, (size_t)st.st_size, f);
        fclose(f);
        if (got == (size_t)st.st_size)
                LLVMFuzzerTestOneInput(data, got);
        free(data);
        return got == (size_t)st.st_size ? 0 : -1;
}

static int is_input(const struct dirent *e)
{
        return e->d_name[0] != '.';
}

int main(int argc, char **argv)
{
        unsigned passed = 0, failed = 0;
        struct dirent **names;

        LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
        for (int i = 1; i < argc; i++) {
                int n = scandir(argv[i], &names, is_input, alphasort);

                if (n < 0) {
                        perror(argv[i]);
                        return 1;
                }
                for (int k = 0; k < n; k++) {
                        if (replay_file(argv[i], names[k]->d_name) < 0)
                                failed++;
                        else
                                passed++;
                        free(names[k]);
                }
                free(names);
        }
        printf("%u saved inputs replayed, %u could not be read\n", passed, failed);
        if (passed == 0)
                fprintf(stderr, "no saved inputs: an empty corpus tests nothing\n");
        return failed > 0 || passed == 0;
}
