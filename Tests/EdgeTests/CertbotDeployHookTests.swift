import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// config/certbot-deploy-hook with folders as certbot makes them, and a real gateway that reloads.
    @Suite struct CertbotDeployHookTests {
        private let certificates: DevCertificates
        private let directory: TemporaryDirectory

        init() async throws {
            certificates = try await DevCertificates.shared()
            directory = try TemporaryDirectory()
        }

        private var link: String { directory.file("tls") }
        private var pair: DevCertificates.Identity {
            DevCertificates.Identity(certificate: link + "/fullchain.pem", key: link + "/privkey.pem")
        }

        /// `live/NAME` with symbolic links, as certbot keeps it.
        private func lineage(_ name: String, _ identity: DevCertificates.Identity, key: String? = nil) throws -> String
        {
            let folder = directory.file("live-\(name)")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for (file, target) in [("fullchain.pem", identity.certificate), ("privkey.pem", key ?? identity.key)] {
                try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(file)", withDestinationPath: target)
            }
            return folder
        }

        /// - Parameter programs: a folder whose programs are used instead of the system's.
        private func run(
            _ lineage: String?, reload: String = "true", programs: String? = nil
        ) async throws -> ChildOutput {
            let hook = try Binaries.repositoryFile("config/certbot-deploy-hook")
            let group = try await ChildProcess.check("id", ["-gn"]).outputText.trimmingCharacters(in: .newlines)
            var environment = ChildProcess.plainEnvironment
            environment["PORTCULLIS_TLS_LINK"] = link
            environment["PORTCULLIS_GROUP"] = group
            environment["PORTCULLIS_RELOAD"] = reload
            environment["RENEWED_LINEAGE"] = lineage
            if let programs { environment["PATH"] = programs + ":" + (environment["PATH"] ?? "") }
            return try await ChildProcess.run(hook, [], environment: environment)
        }

        private func content(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

        private func expect(_ identity: DevCertificates.Identity, at line: SourceLocation = #_sourceLocation) throws {
            #expect(try content(pair.certificate) == content(identity.certificate), sourceLocation: line)
            #expect(try content(pair.key) == content(identity.key), sourceLocation: line)
        }

        /// The folders to which the link may lead.
        private func folders() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasPrefix("tls.") }
        }

        @Test func `a renewed pair is served after the hook`() async throws {
            let first = try await run(try lineage("old", certificates.server))
            #expect(first.ending == .exited(0), "\(first)")
            let control = directory.file("control.sock")
            let edge = try await Edge.start { settings in
                settings.tls(certificates).setting("TLS_CERT_PATH", pair.certificate)
                    .setting("TLS_KEY_PATH", pair.key).setting("CONTROL_SOCKET_PATH", control)
            }
            try await Edge.expectEcho(edge.gateway.open(tls: TLSChoice(trustedCA: certificates.serverCA)))

            let reload = "'\(try Binaries.portcullis())' reload --socket '\(control)'"
            let second = try await run(try lineage("new", certificates.otherServer), reload: reload)
            #expect(second.ending == .exited(0), "\(second)")
            try await Edge.expectEcho(edge.gateway.open(tls: TLSChoice(trustedCA: certificates.otherServerCA)))
        }

        @Test func `the group may read both files, and others nothing`() async throws {
            let result = try await run(try lineage("live", certificates.server))
            #expect(result.ending == .exited(0), "\(result)")
            let modes = try await ChildProcess.check("stat", ["-c", "%a", link + "/.", pair.certificate, pair.key])
            #expect(modes.outputLines == ["750", "640", "640"])
        }

        @Test func `the last two pairs are kept`() async throws {
            var newest = ""
            for index in 0..<4 {
                let identity = index.isMultiple(of: 2) ? certificates.server : certificates.otherServer
                let result = try await run(try lineage("\(index)", identity))
                #expect(result.ending == .exited(0), "\(result)")
                try expect(identity)
                let target = try FileManager.default.destinationOfSymbolicLink(atPath: link)
                #expect(target != newest && !target.contains("/"))
                newest = target
            }
            let kept = try folders()
            #expect(kept.count == 2 && kept.contains(newest), "\(kept)")
        }

        /// The first one's reload waits for the second one's start.
        @Test func `two runs at once take turns`() async throws {
            let (begun, release, order) = (directory.file("begun"), directory.file("release"), directory.file("order"))
            let waiting = directory.file("waiting")
            for fifo in [begun, release, waiting] { _ = try await ChildProcess.check("mkfifo", [fifo]) }
            let slow = "echo >'\(begun)'; read line <'\(release)'; cat '\(pair.certificate)' >>'\(order)'"
            let (old, new) = (
                try lineage("old", certificates.server), try lineage("new", certificates.otherServer)
            )
            let first = Task { try await run(old, reload: slow) }
            _ = try await ChildProcess.check("cat", [begun])
            let programs = try locks(saying: waiting)
            let second = Task {
                try await run(new, reload: "cat '\(pair.certificate)' >>'\(order)'", programs: programs)
            }
            #expect(try await ChildProcess.check("cat", [waiting]).outputText == "taken\n")
            try expect(certificates.server)
            _ = try await ChildProcess.check("sh", ["-c", "echo >'\(release)'"])
            #expect(try await first.value.ending == .exited(0))
            #expect(try await second.value.ending == .exited(0))
            try expect(certificates.otherServer)
            let expected = try content(certificates.server.certificate) + content(certificates.otherServer.certificate)
            #expect(try content(order) == expected)
        }

        /// A folder with a `flock` that tells a FIFO whether the lock of descriptor 9 is taken, and then does what it
        /// is told. (/proc/locks has no event to wait for, and in a PID namespace it leaves out locks whose taker has
        /// ended, as the hook's `flock` has.)
        private func locks(saying fifo: String) throws -> String {
            let real = try ChildProcess.executable("flock")
            let programs = directory.file("programs")
            try FileManager.default.createDirectory(atPath: programs, withIntermediateDirectories: false)
            let script =
                "#!/bin/sh\nif '\(real)' --nonblock 9; then echo free; else echo taken; fi >'\(fifo)'\nexec '\(real)' \"$@\"\n"
            try directory.write(script, to: "programs/flock")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: programs + "/flock")
            return programs
        }

        enum Fault: CaseIterable {
            case noLineage, noFolder, noKey, noCertificate, otherKey, emptyKey, expired
        }

        @Test(arguments: Fault.allCases)
        func `a faulty pair leaves the old one, and nothing else`(fault: Fault) async throws {
            let first = try await run(try lineage("old", certificates.server))
            #expect(first.ending == .exited(0), "\(first)")
            let before = try folders()
            let (other, empty) = (certificates.otherServer, try directory.write("", to: "empty"))
            let (faulty, message): (String?, String) =
                switch fault {
                case .noLineage: (nil, "RENEWED_LINEAGE isn't set")
                case .noFolder: (directory.file("nowhere"), "can't be read")
                case .noKey: (try lineage("new", other, key: directory.file("nothing")), "privkey.pem can't be read")
                case .noCertificate:
                    (try lineage("new", .init(certificate: empty, key: other.key)), "has no certificate")
                case .otherKey:
                    (try lineage("new", other, key: certificates.server.key), "isn't that of the certificate")
                case .emptyKey: (try lineage("new", other, key: empty), "has no private key")
                case .expired: (try lineage("new", certificates.expiredClient), "has expired")
                }
            let marker = directory.file("reloaded")
            let result = try await run(faulty, reload: "touch '\(marker)'")
            #expect(result.ending == .exited(1) && result.errorText.contains(message), "\(result)")
            try expect(certificates.server)
            #expect(try folders() == before)
            #expect(!FileManager.default.fileExists(atPath: marker))
        }

        @Test func `a folder in the link's place is left alone`() async throws {
            try FileManager.default.createDirectory(atPath: link, withIntermediateDirectories: true)
            let result = try await run(try lineage("live", certificates.server))
            #expect(result.ending == .exited(1) && result.errorText.contains("isn't a symbolic link"), "\(result)")
            #expect(try folders() == [] && FileManager.default.contentsOfDirectory(atPath: link) == [])
        }

        @Test func `a reload that fails is an error, with the new pair in place`() async throws {
            let result = try await run(try lineage("live", certificates.server), reload: "false")
            #expect(result.ending == .exited(1) && result.errorText.contains("didn't reload"), "\(result)")
            try expect(certificates.server)
        }
    }
}
