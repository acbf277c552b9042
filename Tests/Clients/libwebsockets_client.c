/*
 * libwebsockets' own WebSocket client against the gateway: see scripts/try-clients.
 *
 *     libwebsockets_client PORT CA CERTIFICATE KEY OFFERS
 *
 * Sends messages of many sizes, each when the last has come back, and closes.
 */
#include <libwebsockets.h>
#include <stdio.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t sizes[] = { 1, 4, 125, 126, 127, 1000, 4096, 16384, 65535, 65536 };
#define ROUNDS (3 * sizeof(sizes) / sizeof(sizes[0]))

static unsigned char message[LWS_PRE + 65536];
static size_t round_number, size, received, checks;
static bool is_over, has_failed, offers;
static char extensions[256] = "-";

static void fail(const char *what)
{
	fprintf(stderr, "libwebsockets: %s, in round %zu\n", what, round_number);
	has_failed = is_over = true;
}

/* Every third message compresses badly. */
static unsigned char byte_at(size_t index)
{
	return round_number % 3 ? (unsigned char)"look around\r\n"[index % 13] : (unsigned char)((index * 2654435761u >> 13) % 251);
}

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length)
{
	(void)user;
	switch (reason) {
	case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH:
		if (lws_hdr_copy(wsi, extensions, sizeof(extensions), WSI_TOKEN_EXTENSIONS) <= 0)
			strcpy(extensions, "-");
		break;
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		lws_callback_on_writable(wsi);
		break;
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		if (round_number == ROUNDS) {
			is_over = true;
			lws_close_reason(wsi, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
			return -1;
		}
		size = sizes[round_number % (sizeof(sizes) / sizeof(sizes[0]))];
		received = 0;
		for (size_t i = 0; i < size; i++)
			message[LWS_PRE + i] = byte_at(i);
		if (lws_write(wsi, message + LWS_PRE, size, LWS_WRITE_BINARY) < (int)size)
			fail("a write was refused");
		break;
	case LWS_CALLBACK_CLIENT_RECEIVE:
		for (size_t i = 0; i < length; i++)
			if (received >= size || ((unsigned char *)in)[i] != byte_at(received++))
				return fail("a wrong byte"), -1;
		if (received == size) {
			checks++;
			round_number++;
			lws_callback_on_writable(wsi);
		}
		break;
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		fail(in ? (const char *)in : "no connection");
		break;
	case LWS_CALLBACK_CLIENT_CLOSED:
		if (!is_over)
			fail("the connection was closed");
		break;
	default:
		break;
	}
	return lws_callback_http_dummy(wsi, reason, user, in, length);
}

static const struct lws_protocols protocols[] = { { "telnet", callback, 0, 65536, 0, NULL, 0 }, { 0 } };
#if defined(LWS_WITHOUT_EXTENSIONS)
#error "this libwebsockets has no extensions"
#endif
static const struct lws_extension deflate[] = {
	{ "permessage-deflate", lws_extension_callback_pm_deflate, "permessage-deflate; client_max_window_bits" }, { 0 },
};

static void too_late(int number)
{
	(void)number;
	fputs("libwebsockets: it takes too long\n", stderr);
	_exit(1);
}

int main(int count, char **arguments)
{
	struct lws_context_creation_info info = { .port = CONTEXT_PORT_NO_LISTEN, .protocols = protocols, .gid = -1, .uid = -1 };
	struct lws_client_connect_info connection = { .address = "localhost", .host = "localhost", .path = "/?cols=100",
						      .protocol = "telnet", .ssl_connection = LCCSCF_USE_SSL };

	if (count != 6)
		return 64;
	offers = !strcmp(arguments[5], "1");
	signal(SIGALRM, too_late);
	alarm(60);
	lws_set_log_level(LLL_ERR, NULL);
	info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
	info.client_ssl_ca_filepath = arguments[2];
	info.client_ssl_cert_filepath = arguments[3];
	info.client_ssl_private_key_filepath = arguments[4];
	info.extensions = offers ? deflate : NULL;
	connection.context = lws_create_context(&info);
	if (!connection.context)
		return 1;
	connection.port = atoi(arguments[1]);
	if (!lws_client_connect_via_info(&connection))
		fail("no connection");
	while (!is_over && lws_service(connection.context, 0) >= 0)
		;
	lws_context_destroy(connection.context);
	if (!has_failed)
		printf("%s\t%s\t%zu\n", lws_get_library_version(), extensions, checks);
	return has_failed;
}
