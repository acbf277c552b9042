// Wrappers for the parts of libwebsockets that Swift's importer can't import: macros that are expressions, and one union.
#pragma once
#include <libwebsockets.h>
#include <malloc.h>
#include <stdint.h>

/// `LWS_SERVER_OPTION_*` and `LWS_PRE` are expressions, which the importer skips.
static const uint64_t PORTCULLIS_LWS_OPTION_SSL_GLOBAL_INIT = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
static const uint64_t PORTCULLIS_LWS_OPTION_CREATE_SSL_CTX = LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX;
static const uint64_t PORTCULLIS_LWS_OPTION_EXPLICIT_VHOSTS = LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
static const uint64_t PORTCULLIS_LWS_OPTION_LIBUV = LWS_SERVER_OPTION_LIBUV;
static const uint64_t PORTCULLIS_LWS_OPTION_NO_OS_CERTIFICATES = LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS;
static const uint64_t PORTCULLIS_LWS_OPTION_NO_SIGNAL_SPIN = LWS_SERVER_OPTION_UV_NO_SIGSEGV_SIGFPE_SPIN;
static const size_t PORTCULLIS_LWS_PRE = LWS_PRE;
static const enum lws_write_protocol PORTCULLIS_LWS_WRITE_RAW = LWS_WRITE_RAW;

/// `lws_sock_file_fd_type` is a union; only sockets are adopted here. In the raw role libwebsockets doesn't interpret the bytes.
static inline struct lws *portcullis_lws_adopt_socket(
    struct lws_vhost *vhost, int socket, int tls, const char *protocol, void *opaque) {
    lws_adopt_desc_t description = {0};
    description.vh = vhost;
    description.type = LWS_ADOPT_SOCKET | (tls ? LWS_ADOPT_ALLOW_SSL : 0);
    description.vh_prot_name = protocol;
    description.fd.sockfd = socket;
    description.opaque = opaque;
    return lws_adopt_descriptor_vhost_via_info(&description);
}

/// Swift's Glibc module doesn't include malloc.h.
static inline void portcullis_malloc_trim(void) { malloc_trim(0); }

/// glibc shows it with _GNU_SOURCE alone, which Swift's importer doesn't define.
#include <spawn.h>
long syscall(long number, ...);
#include <sys/syscall.h>
static inline int portcullis_pidfd_open(int process) { return (int)syscall(SYS_pidfd_open, process, 0); }
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
static inline int portcullis_spawn_close_from(posix_spawn_file_actions_t *actions, int from) {
    return posix_spawn_file_actions_addclosefrom_np(actions, from);
}
