import EdgeTestKit
import Testing

extension EdgeTests {
    /// A slow peer causes no unbounded growth.
    @Suite struct BackPressureTests {
        /// 48 MiB in messages of 64 KiB: far above every buffer on the way.
        private static let message = [UInt8](repeating: 0x61, count: 65_536)
        private static let messages = 768

        @Test func `a target that never reads doesn't raise the gateway's memory`() async throws {
            let edge = try await Edge.start(.deaf)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            let before = try ProcessMemory.residentKiB(of: edge.gateway.processID)
            let frame = WebSocketFrame.binary(Self.message).encoded()
            for _ in 0..<Self.messages { socket.connection.post(frame) }
            // Another session shows that the reactors have run, and aren't blocked.
            for _ in 0..<20 { try await edge.expectHealthy() }
            let grown = try ProcessMemory.residentKiB(of: edge.gateway.processID) - before
            #expect(grown < 8 * 1024, "\(grown) KiB")
            try await target.setReading(true)
            let expected = Self.messages * Self.message.count
            let total = try await drain(target, expected)
            #expect(total == expected)
            let peak = try ProcessMemory.peakKiB(of: edge.gateway.processID) - before
            #expect(peak < 16 * 1024, "\(peak) KiB")
        }

        @Test func `a client that never reads doesn't raise the gateway's memory`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open(receiveBuffer: 131_072)
            let target = try await edge.target.connection()
            let before = try ProcessMemory.residentKiB(of: edge.gateway.processID)
            try await socket.connection.setReading(false)
            for _ in 0..<Self.messages { target.post(Self.message) }
            for _ in 0..<20 { try await edge.expectHealthy() }
            let grown = try ProcessMemory.residentKiB(of: edge.gateway.processID) - before
            #expect(grown < 8 * 1024, "\(grown) KiB")
            try await socket.connection.setReading(true)
            let bytes = try await socket.receive(Self.messages * Self.message.count, within: .seconds(60))
            #expect(bytes.allSatisfy { $0 == 0x61 })
        }

        /// While the target reads nothing, but only little has been sent, the client's pings are still answered.
        @Test func `a ping is answered while the target doesn't read`() async throws {
            let edge = try await Edge.start(.deaf)
            let socket = try await edge.gateway.open()
            try await socket.send(binary: [1, 2, 3])
            for number in 0..<5 as Range<UInt8> {
                try await socket.send(.ping([number]))
                #expect(try await socket.nextFrame().payload == [number])
            }
        }

        @Test func `a client's ping is answered while the client is flooded`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            for _ in 0..<50 { target.post(Self.message) }
            try await socket.send(.ping([42]))
            var received = 0
            var answered = false
            while received < 50 * Self.message.count || !answered {
                let frame = try await socket.nextFrame()
                if frame.opcode == WebSocketFrame.Opcode.pong { answered = frame.payload == [42] }
                if frame.opcode == WebSocketFrame.Opcode.binary { received += frame.payload.count }
            }
            #expect(received == 50 * Self.message.count)
        }

        /// A stalled session doesn't delay others on the same reactor.
        @Test func `a stuck session doesn't delay other sessions`() async throws {
            let edge = try await Edge.start(.deaf) { $0.setting("REACTOR_THREADS", 1) }
            let stuck = try await edge.gateway.open()
            // The target may take two connections in any order.
            _ = try await edge.target.connection(0)
            for _ in 0..<100 { stuck.connection.post(WebSocketFrame.binary(Self.message).encoded()) }
            let neighbour = try await edge.gateway.open()
            let target = try await edge.target.connection(1)
            try await target.setReading(true)
            try await neighbour.send(text: "hello")
            #expect(try await target.receiveText(5) == "hello")
        }

        private func drain(_ target: TargetConnection, _ expected: Int) async throws -> Int {
            var total = 0
            while total < expected {
                total += try await target.receive(min(Self.message.count, expected - total), within: .seconds(60)).count
            }
            return total
        }
    }
}
