import Foundation
import NIOCore

extension Channel {
    /// Closes with a linger time of zero, which makes the kernel send a reset.
    func closeWithReset() async {
        if let socket = self as? any SocketOptionProvider {
            try? await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try? await close()
    }
}
