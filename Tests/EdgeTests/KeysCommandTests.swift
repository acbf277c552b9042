import AppAttest
import EdgeTestKit
import Testing

extension EdgeTests {
    /// `portcullis keys` on a store that a running gateway uses.
    @Suite struct KeysCommandTests {
        @Test func `a revoked key is refused at its next upgrade until it is restored`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
            try await expectSuccess(edge.gateway.keys("revoke", device.keyID))
            expectRefusal(try await edge.gateway.refusal(device.handshake(at: edge.gateway)), 403, "key_revoked")
            try await expectSuccess(edge.gateway.keys("restore", device.keyID))
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
        }

        @Test func `a revoked key stays revoked when it registers again`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await expectSuccess(edge.gateway.keys("revoke", device.keyID))
            expectRefusal(try await device.register(at: edge.gateway), 403, "key_revoked")
            expectRefusal(try await edge.gateway.refusal(device.handshake(at: edge.gateway)), 403, "key_revoked")
        }

        @Test func `forgetting a key doesn't lift its revocation`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await expectSuccess(edge.gateway.keys("revoke", device.keyID))
            #expect(try await edge.gateway.keys("forget", device.keyID).ending != .exited(0))
            expectRefusal(try await edge.gateway.refusal(device.handshake(at: edge.gateway)), 403, "key_revoked")
        }

        @Test func `a forgotten key is unknown`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await expectSuccess(edge.gateway.keys("forget", device.keyID))
            expectRefusal(try await edge.gateway.refusal(device.handshake(at: edge.gateway)), 401, "unknown_key")
        }

        @Test func `keys are listed and shown`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            var devices: [TestDevice] = []
            for _ in 0..<3 { devices.append(try await apple.enrolledDevice(at: edge.gateway)) }
            let list = try await edge.gateway.keys("list")
            try expectSuccess(list)
            for device in devices { #expect(list.outputText.contains(device.keyID)) }
            let shown = try await edge.gateway.keys("show", devices[1].keyID)
            try expectSuccess(shown)
            #expect(shown.outputText.contains(devices[1].keyID) && shown.outputText.contains(apple.app.bundleID))
            #expect(!shown.outputText.contains(devices[0].keyID))
        }

        /// Before the first start there is no store: listing isn't an error, revoking a key is one.
        @Test func `before the first start there are no keys`() async throws {
            let path = try TemporaryDirectory().file("keys.sqlite")
            let list = try await GatewayProcess.run(["keys", "list", "--store", path])
            #expect(list.ending == .exited(0) && list.outputText.isEmpty, "\(list)")
            #expect(list.errorText == "portcullis: no keys yet: no database at \(path)\n")
            let key = try SimulatedApple().device().keyID
            #expect(try await GatewayProcess.run(["keys", "revoke", key, "--store", path]).ending == .exited(1))
        }

        @Test func `an empty store is reported on standard error only`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let list = try await edge.gateway.keys("list")
            #expect(list.ending == .exited(0) && list.outputText.isEmpty, "\(list)")
            #expect(list.errorText == "portcullis: no keys are registered\n")
            _ = try await apple.enrolledDevice(at: edge.gateway)
            let other = try await edge.gateway.keys("list")
            #expect(other.ending == .exited(0) && !other.outputText.isEmpty && other.errorText.isEmpty, "\(other)")
        }

        @Test func `an unknown key makes the command fail`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let unknown = try apple.device().keyID
            for command in ["show", "revoke", "restore", "forget"] {
                #expect(try await edge.gateway.keys(command, unknown).ending != .exited(0), "\(command)")
            }
            #expect(try await edge.gateway.keys("show", "nonsense").ending != .exited(0))
        }

        private func expectSuccess(_ output: ChildOutput) throws {
            #expect(output.ending == .exited(0), "\(output)")
        }
    }
}
