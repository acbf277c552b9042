import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Which settings the operator's commands work on, and that they say so.
    @Suite struct SettingsFileTests {
        private static let missing = "can't be read (/nonexistent.env: No such file or directory)"

        @Test func `the variable's file is read, and named`() async throws {
            let directory = try TemporaryDirectory()
            let file = try directory.write("ATTESTED_KEYS_PATH=\(directory.file("here.sqlite"))\n", to: "some.env")
            let list = try await GatewayProcess.run(["keys", "list"], environment: ["PORTCULLIS_ENV_FILE": file])
            #expect(list.ending == .exited(0) && list.outputText.isEmpty, "\(list)")
            #expect(list.errorLines.first == "portcullis: settings: \(file), of PORTCULLIS_ENV_FILE")
            #expect(list.errorText.contains("no database at \(directory.file("here.sqlite"))"), "\(list)")
        }

        @Test func `--env-file goes before the variable, and isn't repeated`() async throws {
            let directory = try TemporaryDirectory()
            let file = try directory.write("ATTESTED_KEYS_PATH=\(directory.file("there.sqlite"))\n", to: "other.env")
            let list = try await GatewayProcess.run(
                ["keys", "list", "--env-file", file], environment: ["PORTCULLIS_ENV_FILE": "/nonexistent.env"])
            #expect(list.errorText == "portcullis: no keys yet: no database at \(directory.file("there.sqlite"))\n")
        }

        /// In a mount namespace with an /etc of its own.
        @Test(.enabled(if: SmallDisk.isAvailable, "needs mount namespaces"))
        func `the package's file is read if nothing else is named, and named`() async throws {
            let directory = try TemporaryDirectory()
            let file = try directory.write("CONTROL_SOCKET_PATH=\(directory.file("none.sock"))\n", to: "some.env")
            for (words, answer) in [
                (["reload"], "no gateway answers on \(directory.file("none.sock"))"),
                (["keys", "list"], "no database at /"), (["audit"], "AUDIT_LOG_PATH isn't set"),
            ] {
                let ran = try await GatewayProcess.run(words, packaged: file)
                #expect(ran.errorLines.first == "portcullis: settings: /etc/portcullis/portcullis.env", "\(ran)")
                #expect(ran.errorLines.dropFirst().first?.contains(answer) == true, "\(words): \(ran)")
            }
            let none = try await GatewayProcess.run(["keys", "list"], packaged: nil)
            #expect(none.errorLines.first?.hasPrefix("portcullis: settings: the environment alone") == true, "\(none)")
        }

        /// The gateway makes its store. One that a command made would be one that no gateway reads.
        @Test func `no command makes a store`() async throws {
            let directory = try TemporaryDirectory()
            let folder = directory.file("config")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let key = try SimulatedApple().device().keyID
            let commands: [[String]] = [
                ["dev-tokens", "issue", "--name", "ci"], ["dev-tokens", "list"],
                ["dev-tokens", "revoke", "0123456789abcdef"], ["keys", "list"], ["keys", "revoke", key],
                ["keys", "erase", key, "--yes"], ["keys", "prune", "--idle", "90d"], ["signing-keys", "list"],
                ["signing-keys", "rotate"], ["accounts", "list"], ["accounts", "sign-out", "--all"],
                ["accounts", "close", "0123456789abcdef0123456789abcdef"], ["store", "check"],
                ["store", "backup", directory.file("copy")],
            ]
            for words in commands {
                let ran = try await GatewayProcess.run(words, in: directory)
                let listed = words[1] == "list" && words[0] != "signing-keys"
                #expect(ran.ending == .exited(listed ? 0 : 1) && !ran.outputText.contains("pcdev_"), "\(words): \(ran)")
                #expect(ran.errorText.contains("the environment alone"), "\(words): \(ran)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty, "\(words)")
            }
            // Nor of an empty file.
            try Data().write(to: URL(fileURLWithPath: folder + "/attested-keys.sqlite"))
            let issued = try await GatewayProcess.run(commands[0], in: directory)
            #expect(issued.ending == .exited(1) && issued.errorText.contains("the file is empty"), "\(issued)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/attested-keys.sqlite")).isEmpty)
        }

        @Test func `a file that can't be read is the cause that every command names`() async throws {
            let key = try SimulatedApple().device().keyID
            for words in [
                ["reload"], ["upgrade"], ["ticket"], ["top", "--once"], ["sessions", "list"], ["keys", "list"],
                ["keys", "revoke", key], ["dev-tokens", "list"], ["signing-keys", "list"], ["accounts", "list"],
                ["store", "check"], ["fleet", "status"], ["block-list", "list"], ["audit"],
                ["explain", "0123456789abcdef"],
                ["check-config"], ["serve"],
            ] {
                let ran = try await GatewayProcess.run(words + ["--env-file", "/nonexistent.env"])
                #expect(ran.ending == .exited(78) && ran.outputText.isEmpty, "\(words): \(ran)")
                #expect(ran.errorText.contains(Self.missing), "\(words): \(ran)")
            }
        }

        /// It works on the store that it was told, and says that no gateway will be waited for.
        @Test func `with --store a command can do without the settings`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let store = ["--store", edge.gateway.storePath, "--env-file", "/nonexistent.env"]
            let revoked = try await GatewayProcess.run(["keys", "revoke", device.keyID] + store)
            #expect(revoked.ending == .exited(0) && revoked.outputText == "revoked \(device.keyID)\n", "\(revoked)")
            #expect(revoked.errorText.contains("no gateway is asked") && revoked.errorText.contains(Self.missing))
            expectRefusal(try await edge.gateway.refusal(device.handshake(at: edge.gateway)), 403, "key_revoked")
        }

        @Test func `the gateway's log names its file`() async throws {
            let edge = try await Edge.start()
            let line = try await edge.gateway.logLine("listening on")
            #expect(
                line.contains("settings=") && line.contains(edge.gateway.directory.file("portcullis.env")), "\(line)")
        }
    }
}

extension GatewayProcess {
    /// - Parameter file: what is /etc/portcullis/portcullis.env for the command; nil: there is none.
    fileprivate static func run(_ arguments: [String], packaged file: String?) async throws -> ChildOutput {
        let asRoot = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
        let place = "mkdir /etc/portcullis && cp \"$0\" /etc/portcullis/portcullis.env && "
        let script = "mount -t tmpfs tmpfs /etc && \(file == nil ? "" : place)exec \"$@\""
        let directory = try TemporaryDirectory()
        return try await ChildProcess.run(
            "unshare",
            asRoot + ["--mount", "sh", "-c", script, file ?? "none", try Binaries.portcullis()] + arguments,
            directory: directory.path)
    }
}
