/* A wall clock that can be stepped, for one Redis: preloaded, it adds the seconds that the file
 * named by HOLDFAST_CLOCK holds. (libfaketime does the same, but not beside jemalloc.) */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t step(void) {
	char text[32] = "";
	int file = open(getenv("HOLDFAST_CLOCK"), O_RDONLY);
	if (file < 0) return 0;
	if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
	close(file);
	return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
	int failed = syscall(SYS_clock_gettime, clock, now);
	if (!failed && clock == CLOCK_REALTIME) now->tv_sec += step();
	return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
	struct timespec t;
	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &t)) return -1;
	now->tv_sec = t.tv_sec;
	now->tv_usec = t.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *where) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	if (where) *where = t.tv_sec;
	return t.tv_sec;
}
