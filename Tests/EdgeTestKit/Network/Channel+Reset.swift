import Foundation
import NIOCore
import NIOSSL

extension Channel {
    /// Closes with a linger time of zero, which makes the kernel send a reset. TLS isn't asked: its close would wait
    /// for the peer's.
    func closeWithReset() async {
        if let socket = self as? any SocketOptionProvider {
            try? await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try? await eventLoop.flatSubmit { [self] in
            guard let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self) else {
                return close()
            }
            return tls.close()
        }.get()
    }
}
