import Testing
import WireText

@testable import Reactors

/// Who may open a connection to the internal listener. Times are nanoseconds.
struct InternalDoorTests {
    private let start: UInt64 = 3_600_000_000_000
    private let second: UInt64 = 1_000_000_000

    private func peer(_ number: UInt8) -> SocketAddress { SocketAddress(IPAddress(ipv4: (192, 0, 2, number)), port: 1) }

    @Test func `an address has its own limit where other machines reach the listener`() {
        let door = InternalDoor(maximumPerAddress: 2, isPublic: true)
        for _ in 0..<2 { #expect(door.enter(peer(1), isTLS: false, at: start) == nil) }
        #expect(door.enter(peer(1), isTLS: false, at: start) == .perAddress)
        #expect(door.enter(peer(2), isTLS: false, at: start) == nil)
        door.leave(peer(1))
        #expect(door.enter(peer(1), isTLS: false, at: start) == nil)
        #expect(door.enter(peer(1), isTLS: false, at: start) == .perAddress)
    }

    @Test func `programs of this machine have only the limit of all connections`() {
        let door = InternalDoor(maximumPerAddress: 1, isPublic: false)
        for index in 0..<InternalServer.maximumConnections {
            #expect(door.enter(index.isMultiple(of: 2) ? nil : peer(1), isTLS: true, at: start) == nil)
        }
        #expect(door.enter(peer(1), isTLS: true, at: start) == .total)
        #expect(door.enter(nil, isTLS: false, at: start) == .total)
        door.leave(nil)
        #expect(door.enter(peer(1), isTLS: true, at: start) == nil)
    }

    @Test func `the limit of all connections holds for strangers too`() {
        let door = InternalDoor(maximumPerAddress: 64, isPublic: true)
        for index in 0..<InternalServer.maximumConnections {
            #expect(door.enter(peer(UInt8(index / 64)), isTLS: false, at: start) == nil)
        }
        #expect(door.enter(peer(200), isTLS: false, at: start) == .total)
    }

    @Test func `handshakes above the rate of all addresses are refused and hold no place`() {
        let door = InternalDoor(maximumPerAddress: 1_000, isPublic: true)
        for index in 0..<InternalDoor.handshakeBurst {
            #expect(door.enter(peer(UInt8(index % 4)), isTLS: true, at: start) == nil)
        }
        for index in 0..<InternalServer.maximumConnections {
            #expect(door.enter(peer(UInt8(10 + index % 200)), isTLS: true, at: start) == .handshakeRate)
        }
        // Without TLS nothing is computed.
        #expect(door.enter(peer(9), isTLS: false, at: start) == nil)
        let interval = second / UInt64(InternalDoor.handshakesPerSecond)
        #expect(door.enter(peer(9), isTLS: true, at: start + interval - 1) == .handshakeRate)
        #expect(door.enter(peer(9), isTLS: true, at: start + interval) == nil)
    }

    @Test func `an address above its rate of handshakes is refused and others aren't`() {
        let door = InternalDoor(maximumPerAddress: 1_000, isPublic: true)
        let (steps, step) = (20, second * 2 / 5)
        var admitted = 0
        for index in 0..<steps {
            for _ in 0..<InternalDoor.handshakeBurst {
                if door.enter(peer(1), isTLS: true, at: start + UInt64(index) * step) == nil { admitted += 1 }
            }
        }
        // Ten seconds' worth at once, and what is added meanwhile; the address is within the rate of all addresses.
        let seconds = Double(steps - 1) * 0.4
        #expect(admitted == Int((10 + seconds) * Double(InternalDoor.handshakesPerSecondPerAddress)))
        #expect(door.enter(peer(2), isTLS: true, at: start + UInt64(steps - 1) * step) == nil)
    }
}
