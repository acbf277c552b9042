// Wrappers for the parts of OpenSSL that Swift's importer can't import: functions that are macros.
#pragma once
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

static inline long portcullis_SSL_CTX_session_cache_off(SSL_CTX *context) {
    return SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}
static inline int portcullis_SSL_CTX_min_tls12(SSL_CTX *context) {
    return (int)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}
static inline int portcullis_SSL_CTX_min_tls13(SSL_CTX *context) {
    return (int)SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
}
// The library's callback exchanges the SSL_CTX for that of another vhost, by the name that the peer sends.
static inline void portcullis_SSL_CTX_ignore_server_names(SSL_CTX *context) {
    SSL_CTX_set_tlsext_servername_callback(context, NULL);
}
static inline void portcullis_SSL_CTX_forbid_resumption(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
}
static inline int portcullis_SSL_CTX_set1_groups_list(SSL_CTX *context, const char *groups) {
    return (int)SSL_CTX_set1_groups_list(context, groups);
}
static inline int portcullis_SSL_CTX_set1_client_sigalgs_list(SSL_CTX *context, const char *algorithms) {
    return (int)SSL_CTX_set1_client_sigalgs_list(context, algorithms);
}
static inline STACK_OF(X509) *portcullis_SSL_CTX_get0_chain(SSL_CTX *context) {
    STACK_OF(X509) *chain = NULL;
    SSL_CTX_get0_chain_certs(context, &chain);
    return chain;
}
static inline int portcullis_SSL_set1_verify_cert_store(SSL *ssl, X509_STORE *store) {
    return (int)SSL_set1_verify_cert_store(ssl, store);
}
static inline X509_STORE *portcullis_SSL_get0_verify_cert_store(SSL *ssl) {
    X509_STORE *store = NULL;
    SSL_get0_verify_cert_store(ssl, &store);
    return store;
}
static inline EVP_PKEY *portcullis_SSL_get1_tmp_key(SSL *ssl) {
    EVP_PKEY *key = NULL;
    return SSL_get_tmp_key(ssl, &key) == 1 ? key : NULL;
}
static inline EVP_PKEY *portcullis_SSL_get1_peer_tmp_key(SSL *ssl) {
    EVP_PKEY *key = NULL;
    return SSL_get_peer_tmp_key(ssl, &key) == 1 ? key : NULL;
}
static const unsigned long PORTCULLIS_XN_FLAGS = XN_FLAG_RFC2253 & ~ASN1_STRFLGS_UTF8_CONVERT;
static inline X509 *portcullis_SSL_get1_peer_certificate(const SSL *ssl) { return SSL_get1_peer_certificate(ssl); }

// For non-blocking writes: unsent bytes may be passed again from another address.
static inline void portcullis_SSL_CTX_set_modes(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}
static inline void portcullis_SSL_CTX_forbid_renegotiation(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}
static inline void portcullis_SSL_CTX_set_max_cert_list(SSL_CTX *context, long bytes) {
    SSL_CTX_set_max_cert_list(context, bytes);
}
static inline int portcullis_SSL_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}
static inline void portcullis_BIO_ask_to_read_again(BIO *bio) { BIO_set_retry_read(bio); }
static inline void portcullis_BIO_forget_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

/// Seconds since 1970. The older functions are deprecated since OpenSSL 3.4; the newer ones exist since 3.3.
static inline time_t portcullis_SSL_SESSION_get_time(const SSL_SESSION *session) {
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
    return SSL_SESSION_get_time_ex(session);
#else
    return (time_t)SSL_SESSION_get_time(session);
#endif
}

static inline void portcullis_SSL_SESSION_set_time(SSL_SESSION *session, time_t seconds) {
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
    SSL_SESSION_set_time_ex(session, seconds);
#else
    SSL_SESSION_set_time(session, (long)seconds);
#endif
}
