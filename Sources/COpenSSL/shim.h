// What Swift's importer can't see of OpenSSL: functions that are macros.
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
static inline void portcullis_SSL_CTX_forbid_resumption(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
}
static const unsigned long PORTCULLIS_XN_FLAGS = XN_FLAG_RFC2253 & ~ASN1_STRFLGS_UTF8_CONVERT;
static inline X509 *portcullis_SSL_get1_peer_certificate(const SSL *ssl) { return SSL_get1_peer_certificate(ssl); }
