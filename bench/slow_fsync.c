/* A slower disk: every fsync and fdatasync takes SLOW_FSYNC_US microseconds more.
 *
 *   cc -shared -fPIC -O2 -o slow_fsync.so slow_fsync.c -ldl
 *   LD_PRELOAD=./slow_fsync.so SLOW_FSYNC_US=2000 program
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

typedef int (*sync_call)(int);

static void wait_more(void) {
    const char *text = getenv("SLOW_FSYNC_US");
    long us = text ? strtol(text, NULL, 10) : 0;
    struct timespec left = {us / 1000000, (us % 1000000) * 1000};
    int kept = errno;
    while (us > 0 && nanosleep(&left, &left) == -1 && errno == EINTR) {
    }
    errno = kept;
}

static int slowly(const char *name, int file) {
    sync_call real = (sync_call)dlsym(RTLD_NEXT, name);
    int reply = real(file);
    wait_more();
    return reply;
}

int fsync(int file) { return slowly("fsync", file); }

int fdatasync(int file) { return slowly("fdatasync", file); }
