/*
 * The floor of scripts/bench: a bare relay from WebSocket over TLS to TCP, as libwebsockets' documentation suggests it. No gate, no
 * limits, no log; one thread on the libuv event loop. Every message is queued, the other side asks to be writeable, and its writeable
 * callback writes one message and asks again while there are more. A side whose queue is long isn't fed: its source isn't read.
 *
 * With at-once it writes a message as soon as it has come, and queues only what the other side has no room for: fewer turns of the loop and
 * fewer copies, so a harder limit.
 *
 *     relay PORT TARGET-PORT CERTIFICATE KEY [at-once]        both on 127.0.0.1
 */
#include <libwebsockets.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Bytes in a queue above which its source isn't read, and below which it is again. */
#define HIGH_WATER 65536
#define LOW_WATER 32768
#define RECEIVE_SIZE 4096

struct message {
	struct message *next;
	size_t length;
	/* LWS_PRE bytes for the frame's head, then the payload. */
	unsigned char room[];
};

struct queue {
	struct message *first, *last;
	size_t bytes;
};

/* One connection of the outside and its connection to the target. Goes with the second of them. */
struct relay {
	struct lws *client, *target;
	struct queue to_client, to_target;
	int target_is_open, client_is_paused, target_is_paused;
};

static int target_port, writes_at_once;
static volatile sig_atomic_t is_done;

static int push(struct queue *queue, const void *bytes, size_t length)
{
	struct message *message = malloc(sizeof(*message) + LWS_PRE + length);

	if (!message)
		return -1;
	message->next = NULL;
	message->length = length;
	memcpy(message->room + LWS_PRE, bytes, length);
	if (queue->last)
		queue->last->next = message;
	else
		queue->first = message;
	queue->last = message;
	queue->bytes += length;
	return 0;
}

static void drop_first(struct queue *queue)
{
	struct message *message = queue->first;

	queue->first = message->next;
	if (!queue->first)
		queue->last = NULL;
	queue->bytes -= message->length;
	free(message);
}

static void empty(struct queue *queue)
{
	while (queue->first)
		drop_first(queue);
}

/* Writes one message, and asks to be called again while there are more. */
static int write_first(struct lws *wsi, struct queue *queue, enum lws_write_protocol protocol)
{
	struct message *message = queue->first;

	if (!message)
		return 0;
	if (lws_write(wsi, message->room + LWS_PRE, message->length, protocol) < (int)message->length)
		return -1;
	drop_first(queue);
	if (queue->first)
		lws_callback_on_writable(wsi);
	return 0;
}

/* What comes from one side, for the other. libwebsockets wants LWS_PRE bytes before it. */
static int forward(struct lws *wsi, struct queue *queue, const void *bytes, size_t length, enum lws_write_protocol protocol)
{
	static unsigned char room[LWS_PRE + RECEIVE_SIZE];

	if (!writes_at_once || !wsi || queue->first || length > RECEIVE_SIZE || lws_send_pipe_choked(wsi))
		return push(queue, bytes, length) ? -1 : 1;
	memcpy(room + LWS_PRE, bytes, length);
	return lws_write(wsi, room + LWS_PRE, length, protocol) < (int)length ? -1 : 0;
}

/* One side is gone: the other one goes too, and with the last the relay. */
static void side_ended(struct relay *relay)
{
	struct lws *other = relay->client ? relay->client : relay->target;

	if (other) {
		lws_set_timeout(other, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
		return;
	}
	empty(&relay->to_client);
	empty(&relay->to_target);
	free(relay);
}

static int dial(struct relay *relay)
{
	struct lws_client_connect_info info;

	memset(&info, 0, sizeof(info));
	info.context = lws_get_context(relay->client);
	info.vhost = lws_get_vhost(relay->client);
	info.address = "127.0.0.1";
	info.host = info.address;
	info.port = target_port;
	info.method = "RAW";
	info.local_protocol_name = "target";
	info.opaque_user_data = relay;
	info.pwsi = &relay->target;
	return lws_client_connect_via_info(&info) ? 0 : -1;
}

static int on_client(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length)
{
	struct relay *relay = lws_get_opaque_user_data(wsi);
	int outcome;

	switch (reason) {
	case LWS_CALLBACK_ESTABLISHED:
		relay = calloc(1, sizeof(*relay));
		if (!relay)
			return -1;
		relay->client = wsi;
		lws_set_opaque_user_data(wsi, relay);
		return dial(relay);

	case LWS_CALLBACK_RECEIVE:
		if (!relay)
			return -1;
		outcome = forward(relay->target_is_open ? relay->target : NULL, &relay->to_target, in, length, LWS_WRITE_RAW);
		if (outcome < 0)
			return -1;
		if (outcome && relay->target_is_open)
			lws_callback_on_writable(relay->target);
		if (relay->to_target.bytes > HIGH_WATER && !relay->client_is_paused) {
			relay->client_is_paused = 1;
			lws_rx_flow_control(wsi, 0);
		}
		return 0;

	case LWS_CALLBACK_SERVER_WRITEABLE:
		if (!relay)
			return 0;
		if (write_first(wsi, &relay->to_client, LWS_WRITE_BINARY))
			return -1;
		if (relay->target_is_paused && relay->to_client.bytes < LOW_WATER && relay->target) {
			relay->target_is_paused = 0;
			lws_rx_flow_control(relay->target, 1);
		}
		return 0;

	case LWS_CALLBACK_CLOSED:
		if (relay) {
			lws_set_opaque_user_data(wsi, NULL);
			relay->client = NULL;
			side_ended(relay);
		}
		return 0;

	default:
		return 0;
	}
}

static int on_target(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length)
{
	struct relay *relay = lws_get_opaque_user_data(wsi);
	int outcome;

	switch (reason) {
	case LWS_CALLBACK_RAW_CONNECTED:
		relay->target_is_open = 1;
		if (relay->to_target.first)
			lws_callback_on_writable(wsi);
		return 0;

	case LWS_CALLBACK_RAW_RX:
		if (!relay || !relay->client)
			return -1;
		outcome = forward(relay->client, &relay->to_client, in, length, LWS_WRITE_BINARY);
		if (outcome < 0)
			return -1;
		if (outcome)
			lws_callback_on_writable(relay->client);
		if (relay->to_client.bytes > HIGH_WATER && !relay->target_is_paused) {
			relay->target_is_paused = 1;
			lws_rx_flow_control(wsi, 0);
		}
		return 0;

	case LWS_CALLBACK_RAW_WRITEABLE:
		if (!relay)
			return 0;
		if (write_first(wsi, &relay->to_target, LWS_WRITE_RAW))
			return -1;
		if (relay->client_is_paused && relay->to_target.bytes < LOW_WATER && relay->client) {
			relay->client_is_paused = 0;
			lws_rx_flow_control(relay->client, 1);
		}
		return 0;

	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
	case LWS_CALLBACK_RAW_CLOSE:
		if (relay) {
			lws_set_opaque_user_data(wsi, NULL);
			relay->target = NULL;
			relay->target_is_open = 0;
			side_ended(relay);
		}
		return 0;

	default:
		return 0;
	}
}

static const struct lws_protocols protocols[] = {
	{ "binary", on_client, 0, RECEIVE_SIZE, 0, NULL, 0 },
	{ "target", on_target, 0, RECEIVE_SIZE, 0, NULL, 0 },
	{ NULL, NULL, 0, 0, 0, NULL, 0 },
};

static void on_signal(int number)
{
	is_done = number;
}

int main(int count, char **arguments)
{
	struct lws_context_creation_info info;
	struct lws_context *context;
	struct rlimit files;

	writes_at_once = count == 6 && !strcmp(arguments[5], "at-once");
	if (count != 5 && !writes_at_once) {
		fprintf(stderr, "usage: relay PORT TARGET-PORT CERTIFICATE KEY [at-once]\n");
		return 64;
	}
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	lws_set_log_level(LLL_ERR, NULL);
	target_port = atoi(arguments[2]);

	memset(&info, 0, sizeof(info));
	info.port = atoi(arguments[1]);
	info.iface = "127.0.0.1";
	info.protocols = protocols;
	info.ssl_cert_filepath = arguments[3];
	info.ssl_private_key_filepath = arguments[4];
	info.options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
	/* A whole TLS record at a time. */
	info.pt_serv_buf_size = 17408;
	context = lws_create_context(&info);
	if (!context) {
		fprintf(stderr, "relay: libwebsockets made no context\n");
		return 1;
	}
	while (!is_done && lws_service(context, 0) >= 0)
		;
	lws_context_destroy(context);
	return 0;
}
