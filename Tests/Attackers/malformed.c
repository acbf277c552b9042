/*
 * A client that sends malformed requests, frames and ClientHellos, and looks at what comes back.
 *
 *     malformed port=N kind=http|hello inputs=N seed=N [connections=N]
 *
 * `http` sends to a port without TLS: requests that are nearly right, and upgrades with frames that are nearly right behind them. `hello` sends
 * random bytes and beginnings of ClientHellos to a port with TLS. A connection's bytes depend on the seed and its number alone. Some clients
 * end their side at once, some wait for an answer first, some reset the connection.
 *
 * What counts as an input: a malformed request that was answered, and the first malformed bytes of each other connection. What
 * comes behind a refused request isn't counted, because nobody reads it.
 *
 * Ends with 1 where a connection isn't ended by the gateway within 30 s after its client has ended, where an answer isn't HTTP or is a 500, or
 * where the gateway can't be reached.
 *
 * compiled by scripts/fuzz-edge:  cc -O2 -o malformed malformed.c
 */
#include "attack.h"
#include <stdint.h>
#include <sys/uio.h>

enum {
	net = 109,
	MAX_BYTES = 262144,
	LOOK_MS = 5,
	/* A client that waits for an answer ends its side after so long without one, or after so many times what an answer takes. */
	PATIENCE_MS = 10,
	PATIENCE_FACTOR = 6,
	STUCK_SECONDS = 30,
};

enum kind { REQUESTS, FRAMES, HELLO };

struct connection {
	int file; /* -1: free */
	enum kind kind;
	bool awaits_upgrade, finishes_at_once, resets, has_finished;
	unsigned char *bytes;
	size_t count, sent, gate; /* gate: what follows waits for the 101 */
	unsigned long received, answers;
	double since, opened;
};

static struct connection connections[MAX_CONNECTIONS];
static int free_list[MAX_CONNECTIONS], free_count, poll_file;
static unsigned long wanted, number, requests, frames, hellos, opened, accepted;
static unsigned long long seed;
static bool is_hello;
/* From the opening of a connection to the first bytes of an answer, on average. */
static double latency;

/* ---- Random bytes ------------------------------------------------------------------------------------------------- */

static uint64_t random_state;

/* SplitMix64 */
static uint64_t next_random(void)
{
	uint64_t mixed = random_state += 0x9E3779B97F4A7C15u;

	mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
	mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
	return mixed ^ mixed >> 31;
}

static size_t below(size_t limit) { return limit ? next_random() % limit : 0; }

static bool one_in(size_t count) { return below(count) == 0; }

/* ---- Inputs ------------------------------------------------------------------------------------------------------- */

static const char *const samples[] = {
	"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"HEAD /health HTTP/1.1\r\nHost: [::1]:80\r\nConnection: keep-alive, x\r\n\r\n",
	"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET http://a.example:80/health?a=%20b&c HTTP/1.1\r\nHost: b\r\n\r\n",
	"GET /attest/challenge HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n",
	"POST /attest/register HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\n{\"keyId\":\"AA==\",\"nonce\":\"abc\"}",
	"POST /attest/register HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0\r\nT: x\r\n\r\n",
	"POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
	"POST /ticket HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nContent-Length: 0\r\n\r\n",
	"CONNECT host:1 HTTP/1.1\r\nHost: host:1\r\n\r\n",
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"GET / HTTP/1.0\r\n\r\n",
	"GET /?ticket=x HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: https://a\r\nSec-WebSocket-Protocol: telnet, binary\r\n"
	"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-App-Assert-KeyId: AAAA\r\nX-App-Assert-Data: AAAA\r\n"
	"X-App-Assert-Nonce: 00\r\n\r\n",
};

static const char *const upgrades[] = {
	"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
	"GET /?dialect=typed HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
	"GET /?dialect=gmcp HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
};

static const char *const pieces[] = {
	"\r", "\n", "\r\n", "\r\n\r\n", "\t", "\xFF", ": ", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n",
	"Connection: close\r\n", "Host: b\r\n", "%00%2e%2e/", " ", ",", "HTTP/1.1", "0\r\n\r\n", "Expect: x\r\n",
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static struct connection *filling;

static void put(const void *bytes, size_t count)
{
	if (filling->count + count > MAX_BYTES)
		count = MAX_BYTES - filling->count;
	memcpy(filling->bytes + filling->count, bytes, count);
	filling->count += count;
}

static void put_text(const char *text) { put(text, strlen(text)); }

static void put_random(size_t count)
{
	for (; count > 0 && filling->count < MAX_BYTES; count--)
		filling->bytes[filling->count++] = (unsigned char)next_random();
}

/* Makes room for `count` bytes at `index`, which hold something already. */
static size_t open_gap(size_t index, size_t count)
{
	if (filling->count + count > MAX_BYTES)
		count = MAX_BYTES - filling->count;
	memmove(filling->bytes + index + count, filling->bytes + index, filling->count - index);
	filling->count += count;
	return count;
}

/* One fault behind `start`: a flipped, lost, doubled, inserted or replaced piece, or an end too soon. */
static void spoil(size_t start)
{
	size_t index, length, count;
	const char *piece = pieces[below(COUNT(pieces))];

	if (filling->count <= start)
		return;
	index = start + below(filling->count - start);
	length = 1 + below(40);
	if (length > filling->count - index)
		length = filling->count - index;
	switch (below(8)) {
	case 0: filling->bytes[index] ^= 1 << below(8); break;
	case 1:
		memmove(filling->bytes + index, filling->bytes + index + length, filling->count - index - length);
		filling->count -= length;
		break;
	case 2: open_gap(index, length); break; /* doubles it */
	case 3:
		count = open_gap(index, strlen(piece));
		memcpy(filling->bytes + index, piece, count);
		break;
	case 4:
	case 5:
		for (size_t i = 0; i < length; i++)
			filling->bytes[index + i] = (unsigned char)next_random();
		break;
	case 6:
		count = open_gap(index, one_in(8) ? 20000 : 200);
		memset(filling->bytes + index, 'A', count);
		break;
	default: filling->count = index;
	}
}

static void make_requests(void)
{
	for (size_t count = 1 + below(4); count > 0; count--) {
		size_t start = filling->count;

		put_text(samples[below(COUNT(samples))]);
		for (size_t faults = 1 + below(4); faults > 0; faults--)
			spoil(start);
	}
}

static void put_frame(void)
{
	static const size_t lengths[] = { 0, 1, 2, 125, 126, 127, 1000, 65535, 65536, 70000 };
	size_t length = lengths[below(one_in(8) ? COUNT(lengths) : 6)];
	unsigned char header[14], mask[4] = { 0 }, flag = one_in(6) ? 0 : 0x80;
	size_t count = 2;

	header[0] = (unsigned char)(below(2) << 7 | (one_in(4) ? below(8) << 4 : 0) | below(16));
	if (one_in(6)) {
		header[1] = flag | 127;
		for (int shift = 56; shift >= 0; shift -= 8)
			header[count++] = (unsigned char)((uint64_t)length >> shift);
	} else if (length < 126) {
		header[1] = flag | (unsigned char)length;
	} else {
		header[1] = flag | 126;
		header[count++] = (unsigned char)(length >> 8);
		header[count++] = (unsigned char)length;
	}
	put(header, count);
	for (int i = 0; i < 4; i++)
		mask[i] = (unsigned char)next_random();
	if (flag)
		put(mask, 4);
	if (length > 1000 && one_in(2))
		length = below(length);
	if (one_in(3))
		put_random(length);
	else
		for (size_t i = 0; i < length && filling->count < MAX_BYTES; i++)
			filling->bytes[filling->count++] = (unsigned char)("{\"type\":\"input\"}"[i % 16] ^ (flag ? mask[i % 4] : 0));
}

static void make_frames(void)
{
	size_t start;

	put_text(upgrades[below(COUNT(upgrades))]);
	start = filling->count;
	if ((filling->awaits_upgrade = one_in(2)))
		filling->gate = start;
	for (size_t count = 1 + below(6); count > 0; count--)
		put_frame();
	for (size_t faults = below(3); faults > 0; faults--)
		spoil(start);
}

static void make_hello(void)
{
	size_t body = below(600), length = below(body + 20);
	unsigned char start[] = { 0x16, 3, (unsigned char)below(4), (unsigned char)(length >> 8), (unsigned char)length, 1, 0,
				  (unsigned char)(body >> 8), (unsigned char)body, 3, 3 };

	if (!one_in(4))
		put(start, 5 + below(sizeof(start) - 4));
	put_random(body);
}

static void make(struct connection *connection)
{
	filling = connection;
	random_state = seed * 0xD1342543DE82EF95u + number++;
	connection->kind = is_hello ? HELLO : below(5) < 3 ? REQUESTS : FRAMES;
	connection->finishes_at_once = one_in(3);
	connection->resets = one_in(20);
	if (connection->kind == HELLO)
		make_hello();
	else if (connection->kind == FRAMES)
		make_frames();
	else
		make_requests();
	if (!connection->gate)
		connection->gate = connection->count;
}

/* ---- Connections -------------------------------------------------------------------------------------------------- */

static unsigned long inputs(void) { return requests + frames + hellos; }

static void fail(const struct connection *connection, const char *what)
{
	fprintf(stderr, "malformed: connection %ld of seed %llu: %s\n", (long)(connection - connections), seed, what);
	exit(1);
}

static void end(struct connection *connection)
{
	struct linger now_ = { 1, 0 };

	if (connection->kind == HELLO)
		hellos++;
	else if (connection->kind == FRAMES)
		frames++;
	else
		requests += connection->answers > 0 ? connection->answers : 1;
	/* No TIME_WAIT: there are more connections than ports. */
	setsockopt(connection->file, SOL_SOCKET, SO_LINGER, &now_, sizeof(now_));
	close(connection->file);
	connection->file = -1;
	free_list[free_count++] = (int)(connection - connections);
}

static void finish(struct connection *connection, double time)
{
	if (connection->has_finished)
		return;
	connection->has_finished = true;
	connection->since = time;
	shutdown(connection->file, SHUT_WR);
}

/* Sends what may be sent. */
static void proceed(struct connection *connection, double time)
{
	size_t limit = connection->gate;

	while (connection->sent < limit) {
		ssize_t sent = send(connection->file, connection->bytes + connection->sent, limit - connection->sent, MSG_NOSIGNAL);

		if (sent < 0 && (errno == EAGAIN || errno == ENOTCONN))
			return;
		if (sent < 0)
			return; /* The end is read. */
		connection->sent += (size_t)sent;
		connection->since = time;
	}
	if (connection->sent < connection->count)
		return;
	if (connection->resets)
		return end(connection);
	if (connection->finishes_at_once)
		finish(connection, time);
}

static void take(struct connection *connection, const unsigned char *bytes, size_t count, double time)
{
	const unsigned char *place = bytes, *limit = bytes + count;

	if (connection->kind == HELLO)
		return;
	if (connection->received == 0 && (count < 12 || memcmp(bytes, "HTTP/1.1 ", 9)))
		fail(connection, "the answer isn't HTTP");
	if (connection->received == 0)
		latency += (time - connection->opened - latency) / 64;
	if (connection->received == 0 && !memcmp(bytes + 9, "101", 3)) {
		accepted++;
		connection->gate = connection->count;
		connection->received += count;
		return proceed(connection, time);
	}
	connection->received += count;
	if (connection->kind == FRAMES)
		return;
	while ((place = memmem(place, (size_t)(limit - place), "HTTP/1.1 ", 9))) {
		if (limit - place >= 12 && !memcmp(place + 9, "500", 3))
			fail(connection, "the answer is 500");
		/* An interim response answers nothing. */
		if (limit - place < 12 || place[9] != '1')
			connection->answers++;
		place += 9;
	}
}

static void happened(struct connection *connection, unsigned int events, double time)
{
	static unsigned char bytes[65536];

	if (connection->file < 0)
		return;
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP)) {
		ssize_t count = recv(connection->file, bytes, sizeof(bytes), 0);

		if (count == 0 || (count < 0 && errno != EAGAIN))
			return end(connection);
		if (count > 0) {
			connection->since = time;
			take(connection, bytes, (size_t)count, time);
		}
	}
	if (connection->file >= 0 && events & EPOLLOUT)
		proceed(connection, time);
}

static void open_one(double time)
{
	struct connection *connection = &connections[free_list[free_count - 1]];
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = connection };
	unsigned char *bytes = connection->bytes;
	int file = dial(net, opened);

	if (file < 0)
		return;
	free_count--;
	opened++;
	*connection = (struct connection){ .file = file, .since = time, .opened = time, .bytes = bytes };
	make(connection);
	epoll_ctl(poll_file, EPOLL_CTL_ADD, file, &event);
}

/* Those that wait for nothing end their side, and those that the gateway doesn't end are a finding. */
static void look_around(double time)
{
	double patience = PATIENCE_FACTOR * latency > PATIENCE_MS / 1e3 ? PATIENCE_FACTOR * latency : PATIENCE_MS / 1e3;

	for (int i = 0; i < (int)options.connections; i++) {
		struct connection *connection = &connections[i];

		if (connection->file < 0)
			continue;
		if (connection->has_finished && time - connection->since > STUCK_SECONDS)
			fail(connection, "the gateway hasn't ended it");
		if (!connection->has_finished && time - connection->since > patience)
			finish(connection, time);
	}
}

/* The edge-triggered loop reads once an event: what is left is found here. */
static void drain(double time)
{
	for (int i = 0; i < (int)options.connections; i++)
		happened(&connections[i], EPOLLIN | EPOLLOUT, time);
}

static void run(void)
{
	struct epoll_event events[MAX_EVENTS];
	double looked = 0;

	poll_file = epoll_create1(EPOLL_CLOEXEC);
	for (int i = (int)options.connections; i > 0; i--) {
		connections[i - 1].file = -1;
		connections[i - 1].bytes = malloc(MAX_BYTES);
		free_list[free_count++] = i - 1;
	}
	begin();
	while (inputs() < wanted || free_count < (int)options.connections) {
		double time = now();
		int count;

		while (inputs() + (unsigned long)((int)options.connections - free_count) < wanted && free_count > 0)
			open_one(time);
		count = epoll_wait(poll_file, events, MAX_EVENTS, 2);
		for (int i = 0; i < count; i++)
			happened(events[i].data.ptr, events[i].events, time);
		if (time - looked > LOOK_MS / 1e3) {
			looked = time;
			drain(time);
			look_around(time);
		}
	}
	printf("{\n  \"inputs\" : %lu,\n  \"requests\" : %lu,\n  \"frames\" : %lu,\n  \"hellos\" : %lu,\n  \"connections\" : %lu,\n"
	       "  \"admitted\" : %lu,\n  \"seconds\" : %.1f\n}\n",
	       inputs(), requests, frames, hellos, opened, accepted, now() - figures.started);
}

int main(int count, char **arguments)
{
	double inputs = 0, seed_ = 1;

	options.sources = 64;
	options.connections = 128;
	for (int i = 1; i < count; i++) {
		const char *kind = value_of(arguments[i], "kind");

		if (kind)
			is_hello = !strcmp(kind, "hello");
		else if (!take_number(arguments[i], "inputs", 1, 1e9, &inputs) &&
			 !take_number(arguments[i], "seed", 0, 1e15, &seed_) && !take_common(arguments[i]))
			options.port = 0;
	}
	if (!options.port || !inputs) {
		fprintf(stderr, "usage: malformed port=N kind=http|hello inputs=N seed=N [connections=N]\n");
		return EX_USAGE;
	}
	wanted = (unsigned long)inputs;
	seed = (unsigned long long)seed_;
	run();
	return 0;
}
