import Glibc
import Testing

@testable import Reactors

/// The behaviour of `prefer` and `required` with targets that don't complete a handshake.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct TargetFallbackTests {
    private static let hello = Array("hello".utf8)
    private static let greeting = Array("Welcome to the MUD\r\n".utf8)

    /// Kinds of targets without TLS, by their behaviour on the first connection.
    enum Plain: CaseIterable, Sendable {
        case speaksFirst, negotiatesFirst, almostTLS, closes, resets, isSilent

        func play(_ socket: PlainSocket) {
            switch self {
            case .speaksFirst: socket.write(greeting)
            case .negotiatesFirst: socket.write([255, 253, 24])
            case .almostTLS: socket.write([22, 3, 5])
            case .closes: socket.finish()
            case .resets:
                _ = socket.read(upTo: 1)
                socket.resetAtClose()
                return
            case .isSilent: break
            }
            _ = socket.readAll()
        }

        var failure: TargetTLSFailure {
            switch self {
            case .speaksFirst, .negotiatesFirst, .almostTLS: .notTLS
            case .closes, .resets: .closed(hasSpokenTLS: false)
            case .isSilent: .timedOut(hasSpokenTLS: false)
            }
        }

        /// Short if the test must wait for it.
        var limit: Int { self == .isSilent ? 50 : Patience.milliseconds }
    }

    @Test(arguments: Plain.allCases)
    func `a target without TLS is dialled again in plain text`(plain: Plain) async throws {
        let server = try PlainServer()
        async let first: Void? = server.serve { plain.play($0) }
        var (connection, heard) = await WatchedTarget.open {
            let connection = TargetConnection.dial(
                host: "localhost", port: server.port, options: .patient,
                tls: try? .test(.prefer, handshakeMilliseconds: plain.limit), on: TestReactor.shared, handler: $0)
            Self.hello.withUnsafeBytes(connection.send)
            return connection
        }
        await first
        async let arrived = server.serve { socket -> [UInt8]? in
            socket.write(Self.greeting)
            return socket.readAll()
        }
        #expect(await heard.next() == .connected)
        #expect(await heard.bytes(Self.greeting.count) == Self.greeting)
        #expect(await connection.order { $0.fallback } == plain.failure)
        #expect(await connection.order { $0.tlsVersion } == .some(nil))
        await connection.send([1, 2, 3])
        await connection.finish()
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        #expect(await arrived == Self.hello + [1, 2, 3])
        server.close()
    }

    @Test(arguments: Plain.allCases)
    func `where TLS is required targets without it are given up`(plain: Plain) async throws {
        let server = try PlainServer()
        async let played: Void? = server.serve { plain.play($0) }
        var (_, heard) = await WatchedTarget.dial(
            server.port, tls: try .test(handshakeMilliseconds: plain.limit))
        #expect(await heard.next() == .closed(.notSecured(plain.failure)))
        await played
        #expect(!server.isDialled)
        server.close()
    }

    /// Kinds of targets that speak TLS and fail.
    enum Broken: CaseIterable, Sendable {
        case alert, beginsAndCloses, beginsAndIsSilent, nonsense

        func play(_ socket: PlainSocket) {
            _ = socket.read(upTo: 2_000)
            switch self {
            case .alert: socket.write([21, 3, 3, 0, 2, 2, 40])
            case .beginsAndCloses: socket.write([22])
            case .beginsAndIsSilent: socket.write([22, 3, 3, 0, 100, 2])
            case .nonsense: socket.write([22, 3, 3, 0, 5] + hello)
            }
            if self == .beginsAndCloses { socket.finish() }
            _ = socket.readAll()
        }
    }

    @Test(
        arguments: Broken.allCases,
        [TargetTLSSettings.Mode.prefer, .required])
    func `a target whose TLS fails is given up, also with prefer`(
        broken: Broken, mode: TargetTLSSettings.Mode
    ) async throws {
        let server = try PlainServer()
        async let played: Void? = server.serve { broken.play($0) }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: try .test(mode))
        if broken == .beginsAndIsSilent {
            while await connection.order({ $0.firstRecord.hasBegun }) == false { await Task.yield() }
            _ = await connection.order { $0.timerFired(now: 0) }  // As if the limit had passed.
        }
        guard case .closed(.notSecured(let failure)) = await heard.next() else {
            Issue.record("not given up")
            return
        }
        switch broken {
        case .alert: #expect("\(failure)".contains("alert handshake failure"))
        case .beginsAndCloses: #expect(failure == .closed(hasSpokenTLS: true))
        case .beginsAndIsSilent: #expect(failure == .timedOut(hasSpokenTLS: true))
        case .nonsense: if case .failed = failure {} else { Issue.record("\(failure)") }
        }
        #expect(!failure.showsNoTLS)
        await played
        #expect(!server.isDialled)
        server.close()
    }

    @Test func `an unreachable target isn't dialled again`() async throws {
        let deaf = try PlainSocket.bound(host: "127.0.0.1")
        var (connection, heard) = await WatchedTarget.dial(deaf.port, tls: try .test(.prefer))
        #expect(await heard.next() == .closed(.notConnected("connection refused")))
        #expect(await connection.order { $0.fallback } == .some(nil))
        deaf.close()
    }

    @Test func `an earlier finish or pause applies to the plain connection, too`() async throws {
        let server = try PlainServer()
        async let first: Void? = server.serve { Plain.speaksFirst.play($0) }
        var (connection, heard) = await WatchedTarget.open {
            let connection = TargetConnection.dial(
                host: "127.0.0.1", port: server.port, options: .patient, tls: try? .test(.prefer),
                on: TestReactor.shared, handler: $0)
            Self.hello.withUnsafeBytes(connection.send)
            connection.setReading(paused: true)
            connection.finish()
            return connection
        }
        await first
        async let second = server.serve { socket -> [UInt8]? in
            socket.write(Self.greeting)
            return socket.readAll()
        }
        #expect(await heard.next() == .connected)
        #expect(await second == Self.hello)
        await connection.turns()
        #expect(await connection.receivedBytes == 0)
        await connection.setReading(paused: false)
        #expect(await heard.bytes() == Self.greeting)
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        server.close()
    }

    @Test func `the plain connection begins with the prologue too, and passes the filter`() async throws {
        let server = try PlainServer()
        async let first: Void? = server.serve { Plain.speaksFirst.play($0) }
        let asked = BlockingAnswer<Bool>()
        var options = DialOptions.patient
        options.prologue = { _, _ in [9] }
        options.accepts = { address in
            asked.set(address == [127, 0, 0, 1])
            return true
        }
        var (connection, heard) = await WatchedTarget.dial(server.port, options: options, tls: try .test(.prefer))
        await first
        async let second = server.serve { $0.readAll() }
        #expect(await heard.next() == .connected)
        await connection.send(Self.hello)
        await connection.finish()
        #expect(await second == [9] + Self.hello)
        #expect(asked.wait())
        #expect(asked.wait(), "asked once for each connection")
        server.close()
    }

    // MARK: The first bytes

    @Test func `the decision doesn't depend on how the first bytes are split`() {
        let samples: [([UInt8], Bool)] = [
            ([22, 3, 3, 0, 100, 2, 0], true), ([21, 3, 1, 0, 2], true), ([22, 3, 0], true), ([22, 3, 4], true),
            ([22], true), ([22, 3], true), ([22, 3, 3, 255, 255, 255], true),
            ([22, 3, 5], false), ([22, 4, 3], false), ([20, 3, 3], false), ([23, 3, 3], false), ([255, 251, 1], false),
            (Array("\r\n".utf8), false), (Array("220 ".utf8), false), ([0], false),
        ]
        for (bytes, isTLS) in samples {
            for split in 0...bytes.count {
                var record = FirstTLSRecord()
                #expect(!record.hasBegun)
                let pieces = [bytes[..<split], bytes[split...]].map(Array.init)
                let isAccepted = pieces.allSatisfy { piece in piece.withUnsafeBytes { record.accepts($0) } }
                #expect(isAccepted == isTLS, "\(bytes) at \(split)")
                if isTLS { #expect(record.hasBegun) }
            }
        }
    }
}
