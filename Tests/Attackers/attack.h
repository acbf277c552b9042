/*
 * What the attackers in C share: bounds, sockets from many loopback addresses, a schedule, and the report.
 *
 * An attacker knows no other target than 127.0.0.1: it takes a port and no address. Options are NAME=VALUE; every one has a range.
 * One thread, one epoll instance, no allocation after the start.
 */
#ifndef PORTCULLIS_ATTACK_H
#define PORTCULLIS_ATTACK_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	EX_USAGE = 64,
	MAX_CONNECTIONS = 8192,
	MAX_EVENTS = 512,
	MAX_READ = 16384,
};

/* A connection that gets nowhere is given up after this many seconds. */
static const double stuck_after = 10;

static struct {
	double port, seconds, rate, sources, connections;
} options = { 0, 10, 5, 1, 64 };

static struct {
	unsigned long opened, answered, refused, sent, received;
	double started, cpu_before;
} figures;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Of this process, children included. */
static double cpu_seconds(void)
{
	double sum = 0;

	for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
		struct rusage usage;

		getrusage(who, &usage);
		sum += usage.ru_utime.tv_sec + usage.ru_stime.tv_sec;
		sum += (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	}
	return sum;
}

/* The value of NAME=VALUE; NULL where the argument has another name. */
static const char *value_of(const char *argument, const char *name)
{
	size_t length = strlen(name);

	return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : NULL;
}

static bool take_number(const char *argument, const char *name, double least, double most, double *number)
{
	const char *value = value_of(argument, name);
	char *end;

	if (!value)
		return false;
	*number = strtod(value, &end);
	if (*end || end == value || !(*number >= least && *number <= most)) {
		fprintf(stderr, "%s takes %g to %g\n", name, least, most);
		exit(EX_USAGE);
	}
	return true;
}

/* The options that every attacker has. */
static bool take_common(const char *argument)
{
	return take_number(argument, "port", 1, 65535, &options.port) ||
	       take_number(argument, "seconds", 0.1, 600, &options.seconds) ||
	       take_number(argument, "rate", 0.1, 50000, &options.rate) ||
	       take_number(argument, "sources", 1, 1024, &options.sources) ||
	       take_number(argument, "connections", 1, MAX_CONNECTIONS, &options.connections);
}

/*
 * A socket on its way to 127.0.0.1, from 127.NET.x.y: of as many addresses as there are sources, one after the other. -1 where there is
 * none to be had.
 */
static int dial(int net, unsigned long number)
{
	unsigned int source = number % (unsigned long)options.sources + 1;
	struct sockaddr_in address = { .sin_family = AF_INET };
	int file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	if (file < 0)
		return -1;
	setsockopt(file, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	address.sin_addr.s_addr = htonl(0x7F000000u | (unsigned int)net << 16 | source);
	if (bind(file, (struct sockaddr *)&address, sizeof(address)) == 0) {
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		address.sin_port = htons((unsigned short)options.port);
		if (connect(file, (struct sockaddr *)&address, sizeof(address)) == 0 || errno == EINPROGRESS)
			return file;
	}
	close(file);
	return -1;
}

/* When the next connection is due. What couldn't be opened in time is left out: nothing is made up for. */
static double next_due(double due, double time)
{
	due += 1 / options.rate;
	return due < time - 0.1 ? time : due;
}

static void begin(void)
{
	struct rlimit files;

	signal(SIGPIPE, SIG_IGN);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	/* The start isn't counted: loading a library isn't part of the attack. */
	figures.cpu_before = cpu_seconds();
	figures.started = now();
}

/* As portcullis-sim attack --save writes it. */
static void report(void)
{
	printf("{\"seconds\": %.3f, \"cpuSeconds\": %.6f, \"connections\": %lu, \"answered\": %lu, \"refused\": %lu, "
	       "\"bytesSent\": %lu, \"bytesReceived\": %lu}\n",
	       now() - figures.started, cpu_seconds() - figures.cpu_before, figures.opened, figures.answered,
	       figures.refused, figures.sent, figures.received);
}

#endif
