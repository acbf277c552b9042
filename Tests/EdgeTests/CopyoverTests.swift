import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// A new process takes over from a running gateway.
    @Suite struct CopyoverTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        private func start(
            _ manner: TargetServer.Manner = .scripted, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> Edge {
            try await Edge.start(manner) {
                change($0.setting("CONTROL_SOCKET_PATH", directory.file("control.sock")))
            }
        }

        // MARK: What crosses

        @Test func `no byte is lost or repeated under traffic in either direction`() async throws {
            let edge = try await start { $0.waitingForLateCloses }
            let count = 30
            var pairs: [(player: CopyoverPlayer, target: CopyoverTarget)] = []
            for index in 0..<count {
                let player = try await CopyoverPlayer(CopyoverPlayer.Dialect.allCases[index % 3], at: edge)
                let target = try await CopyoverTarget(
                    edge.target.connection(index), isCompressed: index.isMultiple(of: 2))
                pairs.append((player, target))
            }
            let isOver = Awaited(false)
            let talks = pairs.map { player, target in
                Task { () -> (said: String, sent: String) in
                    var (said, sent, round) = ("", "", 0)
                    while !isOver.current {
                        round += 1
                        await player.say("line \(round)")
                        said += "line \(round)\r\n"
                        try await target.send("<\(round)>")
                        sent += "<\(round)>"
                        // Both directions go on while the client is away, as far as the window allows.
                        let least = sent.utf8.count - Self.windowBytes
                        try await player.progress.wait(for: "output", within: .seconds(60)) {
                            $0.bytes >= least ? true : nil
                        }
                    }
                    try await target.send("<end>")
                    return (said, sent + "<end>")
                }
            }
            let reading = pairs.map { pair in Task { try await pair.player.read(upTo: "<end>") } }
            for (player, _) in pairs {
                try await player.progress.wait(for: "traffic", within: .seconds(60)) { $0.bytes > 30 ? true : nil }
            }
            let successor = try await Successor.start(replacing: edge.gateway)
            #expect(successor.report.contains("\(count) sessions went to it"), "\(successor.report)")
            for (player, _) in pairs {
                try await player.progress.wait(for: "a return", within: .seconds(60)) { $0.returns == 1 ? true : nil }
            }
            isOver.update { $0 = true }
            for (index, pair) in pairs.enumerated() {
                let (said, sent) = try await talks[index].value
                try await reading[index].value
                #expect(await String(decoding: pair.player.received, as: UTF8.self) == sent, "player \(index)")
                #expect(try await pair.target.connection.receiveText(said.utf8.count) == said, "target \(index)")
                #expect(await pair.player.closes.first?.code == 1012)
                #expect(await pair.player.hints == 1)
            }
            #expect(edge.target.connectionCount == count)
            try await edge.gateway.child.output.wait(for: "the old process' end") { $0.ending }
            #expect(edge.gateway.child.output.current.ending == .exited(0))
        }

        /// What a target may have sent before its player has read it.
        private static let windowBytes = 120

        @Test func `a second upgrade follows the first`() async throws {
            let edge = try await start()
            let player = try await CopyoverPlayer(.typed, at: edge)
            let target = try await CopyoverTarget(edge.target.connection(), isCompressed: true)
            var successors: [Successor] = []
            for round in 1...3 {
                try await target.send("<\(round)>")
                try await player.read(upTo: "<\(round)>")
                successors.append(try await Successor.start(replacing: edge.gateway))
                try await player.readPast(closes: round)
                await player.say("back \(round)")
                _ = try await target.connection.receive(upTo: "back \(round)\r\n")
            }
            try await target.send("<end>")
            try await player.read(upTo: "<end>")
            #expect(await String(decoding: player.received, as: UTF8.self) == "<1><2><3><end>")
            #expect(edge.target.connectionCount == 1)
        }

        /// As a package manager does it: the new file gets the name of the old one.
        @Test func `a program that was replaced on the disk is started from its place`() async throws {
            let (program, renewed) = (directory.file("portcullis"), directory.file("portcullis.new"))
            for path in [program, renewed] {
                try FileManager.default.copyItem(atPath: Binaries.portcullis(), toPath: path)
            }
            let target = try await TargetServer.start(.echo)
            let settings = GatewaySettings(targetPort: target.port)
                .setting("CONTROL_SOCKET_PATH", directory.file("control.sock"))
            let gateway = try await GatewayProcess.start(settings, program: program)
            _ = try await ChildProcess.check("mv", ["-T", renewed, program])
            let successor = try await Successor.start(replacing: gateway)
            let running = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(successor.processID)/exe")
            #expect(running == program)
        }

        @Test func `a session without a client keeps what its target says meanwhile`() async throws {
            let edge = try await start()
            let socket = try await edge.gateway.open()
            let session = try await TypedSession.connect(socket)
            let mud = try await edge.target.connection()
            await socket.connection.reset()
            try await edge.gateway.logLine("session detached")
            // Half of a character before, half after.
            try await mud.send(Array("before ".utf8) + [0xC3])
            let successor = try await Successor.start(replacing: edge.gateway)
            try await mud.send([0xA4] + Array(" after".utf8))
            let (back, _) = try await session.resumed(at: edge, after: 0)
            #expect(try await back.typedText("before ä after".utf8.count) == "before ä after")
            #expect(successor.report.contains("1 sessions went to it"))
        }

        @Test func `challenges of the old process are served once by the new one`() async throws {
            let apple = try SimulatedApple()
            let edge = try await start(.echo) { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let (used, unused) = (
                try await device.handshake(at: edge.gateway), try await device.handshake(at: edge.gateway)
            )
            _ = try await edge.gateway.open(used)
            let successor = try await Successor.start(replacing: edge.gateway)
            let refusal = try await edge.gateway.refusal(used)
            #expect(refusal.status == 401, "\(refusal)")
            _ = try await edge.gateway.open(unused)
            #expect(try await edge.gateway.refusal(unused).status == 401)
            withExtendedLifetime(successor) {}
        }

        @Test func `tickets of the old process are good at the new one as often as is left`() async throws {
            let edge = try await start(.echo) { $0.setting("REQUIRE_APP_AUTH", "true") }
            let output = try await GatewayProcess.run(
                ["ticket", "--uses", "2", "--socket", directory.file("control.sock")])
            let handshake = Handshake().path("/?ticket=" + (output.outputLines.first ?? ""))
            _ = try await edge.gateway.open(handshake)
            let successor = try await Successor.start(replacing: edge.gateway)
            try await Edge.expectEcho(edge.gateway.open(handshake))
            expectRefusal(try await edge.gateway.refusal(handshake), 401, "invalid_ticket")
            withExtendedLifetime(successor) {}
        }

        @Test func `sessions that report mode has admitted cross, and end with the mode`() async throws {
            let apple = try SimulatedApple()
            func date(in seconds: Int) -> String { (Date.now + TimeInterval(seconds)).formatted(.iso8601) }
            let edge = try await start(.echo) {
                $0.appAttest(apple).setting("REQUIRE_APP_AUTH", "report").setting("REPORT_UNTIL", date(in: 86_400))
            }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let proven = try await TypedSession.connect(edge.gateway.open(device.handshake(at: edge.gateway)))
            let player = try await CopyoverPlayer(.typed, at: edge)
            let reading = Task { try await player.readPast(closes: 1) }
            let successor = try await Successor.start(replacing: edge.gateway)
            try await reading.value
            #expect(successor.report.contains("2 sessions went to it"), "\(successor.report)")
            await player.say("echo")
            try await player.read(upTo: "echo\r\n")
            // The new process knows that it was only reported: the end of the mode ends it, and nobody else's session.
            try change(edge, "REPORT_UNTIL", date(in: 5))
            kill(successor.processID, SIGHUP)
            await #expect(throws: EdgeTestError.self) { try await player.readPast(closes: 2) }
            #expect(await player.closes.map(\.code) == [1012, 1008])
            try await edge.gateway.auditLine("\"session\"", "\"ended\"", "session_expired")
            let (back, _) = try await proven.resumed(
                at: edge, after: 0, presenting: device.handshake(at: edge.gateway))
            try await back.send(text: #"{"type":"input","text":"echo"}"#)
            #expect(try await back.typedText(4) == "echo")
        }

        @Test func `sessions of report mode end if the new process begins without the mode`() async throws {
            let apple = try SimulatedApple()
            let edge = try await start {
                $0.appAttest(apple).setting("REQUIRE_APP_AUTH", "report")
                    .setting("REPORT_UNTIL", (Date.now + 86_400).formatted(.iso8601))
            }
            let socket = try await edge.gateway.open()
            _ = try await TypedSession.connect(socket)
            _ = try await edge.target.connection()
            await socket.connection.reset()
            try await edge.gateway.logLine("session detached")
            try change(edge, "REQUIRE_APP_AUTH", "true")
            let successor = try await Successor.start(replacing: edge.gateway)
            #expect(successor.report.contains("1 sessions went to it"), "\(successor.report)")
            try await edge.gateway.auditLine("\"session\"", "\"ended\"", "session_expired")
        }

        @Test func `the audit log has the begin and the outcome of an upgrade`() async throws {
            let edge = try await start(.echo)
            _ = try await upgrade(to: "exit 3", edge)
            let failed = try await edge.gateway.auditLine("\"operation\"", "upgrade_failed", "status 3")
            #expect(failed.contains("\"failed\""), "\(failed)")
            let player = try await CopyoverPlayer(.gmcp, at: edge)
            let reading = Task { try await player.readPast(closes: 1) }
            let successor = try await Successor.start(replacing: edge.gateway)
            try await reading.value
            try await edge.gateway.auditLine("\"operation\"", "\"done\"", "upgrade_begun", "with the program")
            try await edge.gateway.auditLine(
                "\"operation\"", "\"done\"", "upgrade_done", "process \(successor.processID) ",
                "1 sessions went, 0 stay")
        }

        // MARK: What stays

        @Test func `a raw session stays with the old process until its end`() async throws {
            let edge = try await start(.echo)
            let raw = try await edge.gateway.open(Handshake().offering("telnet"))
            try await raw.send(binary: Array("one".utf8))
            #expect(try await raw.receiveText(3) == "one")
            let successor = try await Successor.start(replacing: edge.gateway)
            #expect(successor.report.contains("1 sessions stay with the old process"), "\(successor.report)")
            try await raw.send(binary: Array("two".utf8))
            #expect(try await raw.receiveText(3) == "two")
            let fresh = try await edge.gateway.open(Handshake().offering("telnet"))
            try await fresh.send(binary: Array("new".utf8))
            #expect(try await fresh.receiveText(3) == "new")
            #expect(edge.gateway.child.output.current.ending == nil)
            try await raw.close(1000)
            try await edge.gateway.child.output.wait(for: "the old process' end") { $0.ending }
        }

        @Test func `a raw session that stays too long is closed with 1012`() async throws {
            let edge = try await start(.echo) { $0.setting("COPYOVER_STAY_MINUTES", 0) }
            let raw = try await edge.gateway.open(Handshake().offering("telnet"))
            try await raw.send(binary: Array("one".utf8))
            #expect(try await raw.receiveText(3) == "one")
            let successor = try await Successor.start(replacing: edge.gateway)
            #expect(try await raw.closedByServer(within: .seconds(60)).code == 1012)
            withExtendedLifetime(successor) {}
        }

        @Test func `a session with TLS toward its target stays, and notices nothing`() async throws {
            let certificates = try await DevCertificates.shared()
            let target = try await TargetServer.start(.scripted, tls: certificates.server)
            let settings = GatewaySettings(targetPort: target.port).setting("MUD_TLS_MODE", "required")
                .setting("MUD_CA_PATH", certificates.serverCA).setting("TN_HOST", "localhost")
                .setting("CONTROL_SOCKET_PATH", directory.file("control.sock"))
            let edge = Edge(target: target, gateway: try await GatewayProcess.start(settings))
            let socket = try await edge.gateway.open()
            _ = try await TypedSession.connect(socket)
            let successor = try await Successor.start(replacing: edge.gateway)
            #expect(successor.report.contains("1 sessions stay with the old process"), "\(successor.report)")
            try await socket.send(text: #"{"type":"input","text":"look\r\n"}"#)
            _ = try await target.connection().receive(upTo: "look\r\n")
            try await target.connection().send("hall")
            #expect(try await socket.typedText(4) == "hall")
        }

        // MARK: What the new process makes of it

        /// One reactor has the sockets of two then, and four have copies.
        @Test(arguments: [1, 4]) func `the new process may have another number of reactors`(count: Int) async throws {
            let edge = try await start(.echo)
            let player = try await CopyoverPlayer(.gmcp, at: edge)
            try change(edge, "REACTOR_THREADS", "\(count)")
            let successor = try await Successor.start(replacing: edge.gateway)
            try await player.readPast(closes: 1)
            for _ in 0..<24 {
                let socket = try await edge.gateway.open(Handshake().offering("telnet"))
                try await socket.send(binary: Array("look".utf8))
                #expect(try await socket.receiveText(4) == "look")
            }
            withExtendedLifetime(successor) {}
        }

        @Test func `the internal listener goes on, with its file`() async throws {
            let path = directory.file("admin.sock")
            let edge = try await start(.echo) { $0.setting("ADMIN_BIND", "unix:\(path)") }
            // A raw session keeps the old process alive, and with it the connections that a proxy keeps.
            let raw = try await edge.gateway.open(Handshake().offering("telnet"))
            let request = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let kept = try await RawConnection.open(socketPath: path)
            try await kept.send(request)
            #expect(try await kept.answer().status == 200)
            let successor = try await Successor.start(replacing: edge.gateway)
            try await kept.send(request)
            #expect(try await kept.receiveToEnd().isEmpty)
            try await raw.close(1000)
            try await edge.gateway.child.output.wait(for: "the old process' end") { $0.ending }
            let connection = try await RawConnection.open(socketPath: path)
            try await connection.send(request)
            #expect(try await connection.answer().status == 200)
            withExtendedLifetime(successor) {}
        }

        @Test func `an internal listener with TLS that other machines reach goes on`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(.echo) {
                $0.setting("ADMIN_BIND", "0.0.0.0:0").setting("ADMIN_CLIENT_CA_PATH", certificates.clientCA)
                    .setting("ADMIN_TLS_CERT_PATH", certificates.server.certificate)
                    .setting("ADMIN_TLS_KEY_PATH", certificates.server.key)
            }
            let port = try await edge.gateway.internalPort()
            let successor = try await Successor.start(replacing: edge.gateway)
            try await edge.gateway.child.output.wait(for: "the old process' end") { $0.ending }
            func open(_ identity: DevCertificates.Identity) async throws -> RawConnection {
                let tls = TLSChoice(trustedCA: certificates.serverCA, identity: identity)
                let connection = try await RawConnection.open(port: port, tls: tls)
                connection.post(Array("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
                return connection
            }
            #expect(try await open(certificates.client).answer().status == 200)
            #expect(try await open(certificates.foreignClient).receiveToEnd().isEmpty)
            withExtendedLifetime(successor) {}
        }

        @Test func `wrong settings leave everything as it is`() async throws {
            let edge = try await start(.echo)
            try change(edge, "PING_INTERVAL_SECONDS", "often")
            let output = try await GatewayProcess.run(["upgrade", "--socket", directory.file("control.sock")])
            #expect(output.ending == .exited(1) && output.errorText.contains("its settings are wrong"), "\(output)")
            try await edge.expectHealthy()
        }

        /// In the file that the gateway was started with.
        private func change(_ edge: Edge, _ name: String, _ value: String) throws {
            let lines = edge.gateway.settings.setting(name, value)
                .setting("ATTESTED_KEYS_PATH", edge.gateway.storePath).values
            let text = lines.map { "\($0.key)=\($0.value)\n" }.joined()
            _ = try edge.gateway.directory.write(text, to: "portcullis.env")
        }

        // MARK: A new process that fails

        @Test(arguments: [
            ("exit 3", "it ended with status 3"), ("exec sleep 600", "didn't answer in time"),
            (HandoverScript.ready(format: 999) + HandoverScript.take(1_500), "takes over state of form 999"),
        ])
        func `a new process that isn't ready changes nothing`(script: String, reason: String) async throws {
            // Only for the one that never answers: a busy machine needs longer to start any other.
            let isSilent = script.contains("sleep")
            let edge = try await start(.echo) { isSilent ? $0.setting("COPYOVER_READY_MS", 1000) : $0 }
            let raw = try await edge.gateway.open(Handshake().offering("telnet"))
            try await raw.send(binary: Array("one".utf8))
            let socket = try await edge.gateway.open()
            _ = try await TypedSession.connect(socket)
            let output = try await upgrade(to: script, edge)
            #expect(output.ending == .exited(1) && output.errorText.contains("nothing has changed"), "\(output)")
            #expect(output.errorText.contains(reason), "\(output)")
            try await raw.send(binary: Array("two".utf8))
            #expect(try await raw.receiveText(6) == "onetwo")
            try await socket.send(text: #"{"type":"input","text":"echo"}"#)
            #expect(try await socket.typedText(4) == "echo")
            try await edge.expectHealthy()
            if isSilent {
                try change(edge, "COPYOVER_READY_MS", "60000")
                edge.gateway.child.signal(SIGHUP)
                try await edge.gateway.errorLine("setting changed", "COPYOVER_READY_MS")
            }
            let successor = try await Successor.start(replacing: edge.gateway)
            #expect(successor.report.contains("1 sessions went to it"), "\(successor.report)")
        }

        @Test func `sessions return to the old process if the new one dies on the way`() async throws {
            let edge = try await start()
            let player = try await CopyoverPlayer(.json, at: edge)
            let target = try await CopyoverTarget(edge.target.connection(), isCompressed: true)
            try await target.send("<1>")
            try await player.read(upTo: "<1>")
            await player.say("one")
            let reading = Task { try await player.readPast(closes: 1) }
            let output = try await upgrade(to: HandoverScript.ready() + HandoverScript.take(1_500), edge)
            #expect(output.ending == .exited(1) && output.errorText.contains("nothing has changed"), "\(output)")
            try await reading.value
            await player.say("two")
            try await target.send("<2>")
            try await player.read(upTo: "<2>")
            #expect(await String(decoding: player.received, as: UTF8.self) == "<1><2>")
            #expect(try await target.connection.receiveText(10) == "one\r\ntwo\r\n")
            try await edge.expectHealthy()
        }

        private func upgrade(to script: String, _ edge: Edge) async throws -> ChildOutput {
            let program = try directory.write("#!/bin/sh\n\(script)\n", to: "program")
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
            return try await GatewayProcess.run(
                ["upgrade", "--program", program, "--socket", directory.file("control.sock")])
        }
    }
}
