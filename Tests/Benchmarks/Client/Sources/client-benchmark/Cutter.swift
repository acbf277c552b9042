import Foundation

/// The way between client and gateway, which is cut: it passes bytes on, for one connection after the other. A thread
/// of its own carries all of it.
final class Cutter: @unchecked Sendable {
    private let listener: Socket
    private let gate: UInt16
    /// Wakes the thread: it reads one end of this pair.
    private let bell: (inside: Int32, outside: Int32)

    private let lock = NSLock()
    private var cutAt: Double?

    init(port: UInt16, to gate: UInt16) throws {
        self.gate = gate
        listener = try Socket.listening(on: port)
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure("no pipe: errno \(errno)") }
        bell = (ends[0], ends[1])
        Thread.detachNewThread { self.carry() }
    }

    /// Cuts the connection that there is.
    func cut() {
        lock.withLock { cutAt = Machine.now }
        var byte: UInt8 = 1
        _ = write(bell.outside, &byte, 1)
    }

    /// Seconds since the last cut.
    var sinceCut: Double? { lock.withLock { cutAt.map { Machine.now - $0 } } }

    // MARK: On the thread

    private func carry() {
        var pair: (client: Socket, gate: Socket)?
        func end(_ isReset: Bool) {
            guard let (client, gate) = pair else { return }
            for socket in [client, gate] {
                if isReset { socket.resetWhenClosed() }
                socket.close()
            }
            pair = nil
        }
        while true {
            let watched =
                [bell.inside, listener.descriptor] + (pair.map { [$0.client.descriptor, $0.gate.descriptor] } ?? [])
            var events = watched.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&events, nfds_t(events.count), -1) > 0 else { continue }
            if events[0].revents != 0 {
                var byte: UInt8 = 0
                _ = read(bell.inside, &byte, 1)
                // Half of the cuts look like the end of a process, the others like a router that forgot.
                end(.random())
            } else if events[1].revents != 0 {
                end(false)
                pair = accepted()
            } else if let (client, gate) = pair {
                let isOpen =
                    (events[2].revents == 0 || Self.pass(client, to: gate))
                    && (events[3].revents == 0 || Self.pass(gate, to: client))
                if !isOpen { end(false) }
            }
        }
    }

    private func accepted() -> (client: Socket, gate: Socket)? {
        guard let client = try? listener.accept() else { return nil }
        guard let gate = try? Socket.connected(to: gate) else {
            client.close()
            return nil
        }
        return (client, gate)
    }

    private static func pass(_ one: Socket, to other: Socket) -> Bool {
        one.read(atMost: 16_384).map { other.write($0[...]) } ?? false
    }
}
