import AppAttest
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `portcullis store`, `keys prune`, `export` and `erase` while a gateway uses the store.
    @Suite struct StoreMaintenanceTests {
        private let apple: SimulatedApple
        private let directory: TemporaryDirectory

        init() throws {
            apple = try SimulatedApple()
            directory = try TemporaryDirectory()
        }

        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> Edge {
            try await Edge.start { change($0.appAttest(apple)) }
        }

        private func store(_ arguments: [String], of gateway: GatewayProcess) async throws -> ChildOutput {
            try await GatewayProcess.run(["store"] + arguments + ["--store", gateway.storePath])
        }

        private func expectSuccess(_ output: ChildOutput, sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(output.ending == .exited(0), "\(output)", sourceLocation: sourceLocation)
        }

        /// Where the store's files contain the bytes.
        private func places(of bytes: Data, in gateway: GatewayProcess) -> [String] {
            ["", "-wal"].filter { suffix in
                FileManager.default.contents(atPath: gateway.storePath + suffix)?.range(of: bytes) != nil
            }
        }

        private func play(_ device: TestDevice, at gateway: GatewayProcess, times: UInt32) async throws {
            for counter in 1...times {
                let socket = try await gateway.open(device.handshake(at: gateway, counter: counter))
                await socket.connection.close()
            }
        }

        // MARK: Backup and restore

        @Test func `a copy is made under load, and a gateway goes on with it`() async throws {
            let edge = try await start()
            let gateway = edge.gateway
            let devices = try await [apple.enrolledDevice(at: gateway), apple.enrolledDevice(at: gateway)]
            let copy = directory.file("copy.sqlite")
            async let writing: Void = play(devices[0], at: gateway, times: 25)
            for round in 0..<3 {
                expectSuccess(try await store(["backup", copy] + (round > 0 ? ["--force"] : []), of: gateway))
            }
            try await writing
            #expect(try await store(["backup", copy], of: gateway).ending == .exited(1))
            expectSuccess(try await GatewayProcess.run(["store", "check", "--store", copy]))

            // What happens later isn't in the copy.
            let old = try await devices[1].handshake(at: gateway, counter: 100)
            try await Edge.expectEcho(gateway.open(old))
            expectSuccess(try await gateway.keys("revoke", devices[0].keyID))
            try await gateway.stop()
            var settings = gateway.settings
            settings["ATTESTED_KEYS_PATH"] = copy
            let restored = try await GatewayProcess.start(settings)
            // The counter fell back, and still the old request opens nothing: its challenge ended with the first
            // process.
            expectRefusal(try await restored.refusal(old), 401, "invalid_nonce")
            try await Edge.expectEcho(restored.open(devices[1].handshake(at: restored, counter: 50)))
            try await Edge.expectEcho(restored.open(devices[0].handshake(at: restored, counter: 50)))
        }

        @Test(.enabled(if: SmallDisk.isAvailable, "nobody may mount a tmpfs in a namespace here (unshare)"))
        func `a copy that a full disk cuts short leaves no file`() async throws {
            let edge = try await start()
            for _ in 0..<5 { _ = try await apple.enrolledDevice(at: edge.gateway) }
            let script = """
                mount -t tmpfs -o mode=700,size=24k tmpfs "$1" && { "$2" store backup "$1/copy" --store "$3"; echo "ended $?"; \
                echo "files $(ls -A "$1")"; }
                """
            let namespace = geteuid() == 0 ? ["--mount"] : ["--user", "--map-root-user", "--mount"]
            let child = try ChildProcess(
                ChildProcess.executable("unshare"),
                namespace + ["sh", "-c", script, "sh", directory.path, Binaries.portcullis(), edge.gateway.storePath])
            try child.closeInput()
            let output = try await child.ended()
            #expect(output.outputLines == ["ended 1", "files "], "\(output)")
            #expect(output.errorText.contains("the disk is full"), "\(output)")
            expectSuccess(try await store(["check"], of: edge.gateway))
        }

        @Test func `a check says what to do, to people and to programs`() async throws {
            let edge = try await start()
            _ = try await apple.enrolledDevice(at: edge.gateway)
            let text = try await store(["check"], of: edge.gateway)
            expectSuccess(text)
            #expect(text.outputText.contains("ok: records: 1 keys"), "\(text)")
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: edge.gateway.storePath)
            let json = try await store(["check", "--json"], of: edge.gateway)
            #expect(json.ending == .exited(1), "\(json)")
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(json.standardOutput)) as? [String: Any])
            let findings = try #require(object["findings"] as? [[String: String]])
            #expect(object["good"] as? Bool == false && findings.count == 7)
            let wrong = findings.filter { $0["state"] != "ok" }
            #expect(wrong.count == 1 && wrong[0]["remedy"]?.contains("chmod 600") == true, "\(findings)")
            #expect(try await GatewayProcess.run(["store", "check", "--store", "/missing"]).ending == .exited(1))
            #expect(try await GatewayProcess.run(["store", "backup", "x", "--store", "/missing"]).ending == .exited(1))
        }

        // MARK: Erasure and export

        @Test(arguments: [false, true])
        func `an erased device is gone from the gateway and from the store's files`(hasSocket: Bool) async throws {
            let control = directory.file("control.sock")
            let edge = try await start { hasSocket ? $0.setting("CONTROL_SOCKET_PATH", control) : $0 }
            let gateway = edge.gateway
            let device = try await apple.enrolledDevice(at: gateway)
            let other = try await apple.enrolledDevice(at: gateway)
            let session = try await gateway.open(device.handshake(at: gateway))
            let bystander = try await gateway.open(other.handshake(at: gateway))
            let key = try #require(Data(base64Encoded: device.keyID))
            #expect(!places(of: key, in: gateway).isEmpty)

            #expect(try await gateway.keys("erase", device.keyID).ending != .exited(0))
            try await Edge.expectEcho(session)
            let settings = GatewaySettings(targetPort: 1).setting("ATTESTED_KEYS_PATH", gateway.storePath)
            expectSuccess(
                try await GatewayProcess.run(
                    ["keys", "erase", device.keyID, "--yes"],
                    hasSocket ? settings.setting("CONTROL_SOCKET_PATH", control) : settings))
            #expect(try await session.closedByServer().reason == "device_blocked")
            #expect(places(of: key, in: gateway) == [])
            expectRefusal(try await gateway.refusal(device.handshake(at: gateway)), 401, "unknown_key")
            #expect(try await gateway.keys("show", device.keyID).ending == .exited(1))
            try await Edge.expectEcho(bystander)
            #expect(try await device.register(at: gateway).status == 200)
            try await Edge.expectEcho(gateway.open(device.handshake(at: gateway)))
        }

        @Test func `a revoked device stays out after its erasure until it is restored`() async throws {
            let edge = try await start()
            let gateway = edge.gateway
            let device = try await apple.enrolledDevice(at: gateway)
            expectSuccess(try await gateway.keys("revoke", device.keyID, "--reason", "stolen phone"))
            expectSuccess(try await gateway.keys("erase", device.keyID, "--yes"))
            expectRefusal(try await device.register(at: gateway), 403, "key_revoked")
            expectRefusal(try await gateway.refusal(device.handshake(at: gateway)), 403, "key_revoked")
            let shown = try await gateway.keys("show", device.keyID)
            #expect(!shown.outputText.contains("stolen") && !shown.outputText.contains(apple.app.bundleID), "\(shown)")
            #expect(try await gateway.keys("list").outputText.contains("\(device.keyID)  erased"))
            expectSuccess(try await gateway.keys("restore", device.keyID))
            #expect(try await device.register(at: gateway).status == 200)
        }

        @Test func `an export has what the store and the audit log say of one device`() async throws {
            let audit = directory.file("audit.log")
            let edge = try await start { $0.setting("AUDIT_LOG_PATH", audit) }
            let gateway = edge.gateway
            let device = try await apple.enrolledDevice(at: gateway)
            let other = try await apple.enrolledDevice(at: gateway)
            for device in [device, other] { try await Edge.expectEcho(gateway.open(device.handshake(at: gateway))) }
            let output = try await GatewayProcess.run(["keys", "export", device.keyID], gateway.settings)
            expectSuccess(output)
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(output.standardOutput)) as? [String: Any])
            let registration = try #require(object["registration"] as? [String: Any])
            #expect((registration["app"] as? String)?.contains(apple.app.bundleID) == true)
            let lines = try #require(object["audit"] as? [[String: Any]]).compactMap {
                $0["entry"] as? [String: String]
            }
            // The end of the session may have a line already.
            #expect(lines.prefix(2).map { $0["event"] } == ["registration", "upgrade"])
            #expect(lines.allSatisfy { $0["who"] == device.keyID })
            #expect(!output.outputText.contains(other.keyID))
        }

        // MARK: Pruning

        @Test(.enabled(if: StoreLock.isAvailable, "needs the sqlite3 program"))
        func `a pruned key is unknown while its session goes on`() async throws {
            let edge = try await start()
            let gateway = edge.gateway
            let old = try await apple.enrolledDevice(at: gateway)
            let recent = try await apple.enrolledDevice(at: gateway)
            let session = try await gateway.open(old.handshake(at: gateway))
            let key = try #require(Data(base64Encoded: old.keyID)).map { String(format: "%02x", $0) }.joined()
            let program = try ChildProcess(
                ChildProcess.executable("sqlite3"),
                [
                    "-cmd", ".timeout 5000", gateway.storePath,
                    "UPDATE device_key SET registered_at = 1, last_used_at = 1 WHERE key_id = x'\(key)'",
                ])
            try program.closeInput()
            #expect(try await program.ended().ending == .exited(0))

            let trial = try await gateway.keys("prune", "--idle", "90d", "--dry-run")
            expectSuccess(trial)
            #expect(trial.outputLines.count == 1 && trial.outputLines[0].hasPrefix(old.keyID), "\(trial)")
            try await Edge.expectEcho(gateway.open(old.handshake(at: gateway, counter: 50)))
            // It was used just now.
            #expect(try await gateway.keys("prune", "--idle", "90d").outputLines == [])
            let again = try ChildProcess(
                ChildProcess.executable("sqlite3"),
                [
                    "-cmd", ".timeout 5000", gateway.storePath,
                    "UPDATE device_key SET last_used_at = 1 WHERE key_id = x'\(key)'",
                ])
            try again.closeInput()
            #expect(try await again.ended().ending == .exited(0))
            let pruned = try await gateway.keys("prune", "--idle", "90d")
            expectSuccess(pruned)
            #expect(pruned.outputLines.count == 1 && pruned.errorText.contains("1 keys forgotten, 1 kept"), "\(pruned)")
            try await Edge.expectEcho(session)
            expectRefusal(try await gateway.refusal(old.handshake(at: gateway, counter: 60)), 401, "unknown_key")
            try await Edge.expectEcho(gateway.open(recent.handshake(at: gateway)))
            for wrong in ["90", "d", "0d", "-1d", "90h", "99999d"] {
                #expect(try await gateway.keys("prune", "--idle=\(wrong)").ending != .exited(0), "\(wrong)")
            }
        }

        // MARK: The target's own port

        @Test func `the check of the settings and the start's log warn of a target that is open to others`()
            async throws
        {
            let target = try await TargetServer.start(.echo)
            let quiet = try await GatewayProcess.run(["check-config"], GatewaySettings(targetPort: target.port))
            #expect(!quiet.errorText.contains("close-the-muds-own-port"), "\(quiet)")
            let open = try OpenPort()
            let settings = GatewaySettings(targetPort: open.port)
            let warned = try await GatewayProcess.run(["check-config"], settings)
            expectSuccess(warned)
            #expect(warned.errorText.contains("TARGET_HOST: leads to port \(open.port) of this machine"), "\(warned)")
            let gateway = try await GatewayProcess.start(settings)
            try await gateway.logLine("docs/RUNNING.md#close-the-muds-own-port")
        }
    }
}

/// A port that listens on all addresses, and accepts nothing.
private final class OpenPort {
    let port: Int
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isListening = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        port = Int(UInt16(bigEndian: name.sin_port))
        try #require(isListening)
    }

    deinit { close(descriptor) }
}
