import Reactors
import Synchronization

extension SimOutput {
    /// A listening socket for a simulated server, or a failure as text.
    ///
    /// - Parameter isFirst: false joins a socket of this process.
    static func listeningSocket(host: String, port: UInt16, isFirst: Bool = true) throws -> ListeningSocket {
        do throws(ReactorError) {
            return try ListeningSocket(host: host, port: port, isFirst: isFirst)
        } catch {
            if case .portNotPermitted(let address) = error {
                throw failure("\(address) can't be listened on: Permission denied.", hint: "choose a --port from 1024.")
            }
            guard case .bindFailed(let address, let reason) = error else { throw error }
            throw failure("\(address) can't be listened on: \(reason).", hint: "choose another --port.")
        }
    }
}

/// Passes a socket, which can't be copied, into a closure that may run once.
final class ListeningBox: Sendable {
    private let socket: Mutex<ListeningSocket?>

    init(_ socket: consuming ListeningSocket) {
        self.socket = Mutex(consume socket)
    }

    func take() -> ListeningSocket? {
        socket.withLock { $0.take() }
    }
}
