import Foundation
import Glibc
import Synchronization

/// A relay on a loopback port to another one, which a test can delay, silence or cut.
package final class TCPRelay: Sendable {
    private struct State {
        var target: Int
        var delayMilliseconds = 0
        var isSilent = false
        var isClosed = false
        var sockets: Set<Int32> = []
    }

    package let port: Int
    private let listener: Int32
    private let state: Mutex<State>

    package init(to target: Int) throws {
        let (descriptor, port) = try Loopback.listen()
        listener = descriptor
        self.port = port
        state = Mutex(State(target: target))
        Thread.detachNewThread { [weak self, descriptor] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0, let self else {
                    if client >= 0 { close(client) }
                    // Here, because no other thread must get the number while this one accepts.
                    close(descriptor)
                    return
                }
                self.take(client)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
    }

    /// New connections lead there.
    package func lead(to target: Int) { state.withLock { $0.target = target } }

    /// Each piece of data waits so long, in both directions.
    package func delay(milliseconds: Int) { state.withLock { $0.delayMilliseconds = milliseconds } }

    /// Nothing passes, and no connection ends, until it is called with false.
    package func silence(_ isSilent: Bool) { state.withLock { $0.isSilent = isSilent } }

    /// Ends all present connections, on both sides.
    package func cut() {
        let sockets = state.withLock { Array($0.sockets) }
        for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    private func take(_ client: Int32) {
        let target = state.withLock { $0.target }
        guard let server = try? Loopback.connect(target) else {
            close(client)
            return
        }
        state.withLock { $0.sockets.formUnion([client, server]) }
        let ends = Ends(first: client, second: server) { [weak self] in
            self?.state.withLock { $0.sockets.subtract([client, server]) }
        }
        for (from, to) in [(client, server), (server, client)] {
            Thread.detachNewThread { [weak self] in
                Self.copy(from: from, to: to) { self?.pause() }
                shutdown(from, Int32(SHUT_RDWR))
                shutdown(to, Int32(SHUT_RDWR))
                withExtendedLifetime(ends) {}
            }
        }
    }

    private func pause() {
        while state.withLock({ $0.isSilent }) { usleep(5_000) }
        let delay = state.withLock { $0.delayMilliseconds }
        if delay > 0 { usleep(UInt32(delay) * 1_000) }
    }

    private static func copy(from: Int32, to: Int32, _ pause: () -> Void) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = read(from, &buffer, buffer.count)
            guard count > 0 else { return }
            pause()
            guard send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else { return }
        }
    }

    /// Closes both sockets when neither direction uses them any more.
    private final class Ends: Sendable {
        let first, second: Int32
        let ended: @Sendable () -> Void

        init(first: Int32, second: Int32, _ ended: @escaping @Sendable () -> Void) {
            (self.first, self.second, self.ended) = (first, second, ended)
        }

        deinit {
            ended()
            close(first)
            close(second)
        }
    }
}

enum Loopback {
    static func listen() throws -> (Int32, Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = self.address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && Glibc.listen(descriptor, 64) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isListening else { throw PostgresTestError("no port is free") }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    static func connect(_ port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = self.address(port)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                Glibc.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            close(descriptor)
            throw PostgresTestError("nobody listens on port \(port)")
        }
        return descriptor
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
