import Crypto
import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

@Suite("The third dialect: signed requests", .timeLimit(.minutes(5)))
struct SignedRequestTests {
    private let apple: SimulatedApple
    private let clock = ManualClock()
    private let script = AnswerScript()
    private let server: StandIn

    init() async throws {
        apple = try SimulatedApple()
        let (script, challenges) = (script, Awaited(0))
        server = try await StandIn { request in
            if let scripted = script.next(for: request) { return scripted }
            let number = challenges.next()
            switch request.path {
            case "/challenge": return .json("{\(Self.challenge(number))}")
            case "/register": return .reply(201, body: #"{"next_challenge":{\#(Self.challenge(number))}}"#)
            default: return .json("{}")
            }
        }
    }

    /// 32 bytes whose base64 has slashes.
    private static func challenge(_ number: Int) -> String {
        let bytes = [UInt8](repeating: 0xFF, count: 31) + [UInt8(number)]
        return #""challenge":"\#(Data(bytes).base64EncodedString())","expires_at":"2027-01-15T08:01:00Z""#
    }

    private func answer(_ path: String, _ answers: StandIn.Answer...) { script.add(path, answers) }

    private func bench(_ secrets: MemorySecretStore = .init()) throws -> Bench {
        try Bench(server.url, apple: apple, secrets: secrets, clock: clock)
    }

    @Test func `the first request registers, uses the next challenge, and is signed with its body`() async throws {
        let bench = try bench()
        let body = Data("the body".utf8)
        let response = try await bench.client.signedRequests.perform(path: "preferences?x=1", method: .put, body: body)
        #expect(response.status == 200)
        #expect(server.lines == ["POST /challenge", "POST /register", "PUT /preferences"])
        let request = server.requests[2]
        let names = ["KeyId", "Challenge", "Assertion", "ClientData", "BodySHA256"].map { "X-AppAttest-\($0)" }
        #expect(names.allSatisfy { request[$0]?.isEmpty == false } && request["X-AppAttest-Attestation"] == nil)
        #expect(request["X-AppAttest-ClientData"] == #"{"challenge":"\#(request["X-AppAttest-Challenge"] ?? "")"}"#)
        #expect(request["X-AppAttest-BodySHA256"] == Data(SHA256.hash(data: body)).base64EncodedString())
        #expect(request["X-AppAttest-Challenge"] != server.requests[1]["X-AppAttest-Challenge"])
    }

    @Test func `a registration repeats its fields in the body, and has an attestation`() async throws {
        let bench = try bench()
        try await bench.client.signedRequests.registerIfNeeded()
        let request = server.requests[1]
        #expect(request["X-AppAttest-Attestation"]?.isEmpty == false)
        #expect(request.member("app_attest_key_id") as? String == request["X-AppAttest-KeyId"])
        #expect(request.member("app_attest_attestation") as? String == request["X-AppAttest-Attestation"])
        let data = (request.member("app_attest_client_data") as? String).flatMap { Data(base64Encoded: $0) }
        #expect(data.map { String(decoding: $0, as: UTF8.self) } == request["X-AppAttest-ClientData"])
        #expect(request["X-AppAttest-BodySHA256"] == Data(SHA256.hash(data: request.body)).base64EncodedString())
        try await bench.client.signedRequests.registerIfNeeded()
        #expect(server.lines.count == 2)
    }

    @Test func `a GET has no digest, and neither has an empty body`() async throws {
        let bench = try bench()
        for (method, body) in [(HTTPMethod.get, Data("x".utf8)), (.post, Data()), (.delete, nil)]
            as [(HTTPMethod, Data?)]
        {
            _ = try await bench.client.signedRequests.perform(path: "x", method: method, body: body)
            #expect(server.requests.last?["X-AppAttest-BodySHA256"] == nil, "\(method.rawValue)")
        }
    }

    @Test func `the second recipe names method, URL and digest`() async throws {
        let bench = try bench()
        let headers = try await bench.client.signedRequests.headers(
            path: "a/b?c=d", method: .post, body: Data("x".utf8), recipe: .digest)
        let data = try #require(headers["X-AppAttest-ClientData"])
        let members = try JSONMembers(Array(data.utf8), maximumBytes: 1_024)
        #expect(members.count == 4 && members.string("htm") == "POST" && members.string("htu") == server.url + "/a/b")
        let digest = Data(SHA256.hash(data: Data("x".utf8))).base64EncodedString()
        #expect(members.string("digest") == "sha-256=:\(digest):")
        let without = try await bench.client.signedRequests.headers(path: "a", method: .get, recipe: .digest)
        #expect(without["X-AppAttest-ClientData"]?.contains(#""digest":"absent""#) == true)
    }

    @Test(arguments: [
        (401, #"{"error":"app attest key mismatch","code":"key_mismatch"}"#),
        (428, "device requires re-attestation due to Key Mismatch"),
        (428, #"{"message":"device REQUIRES re-attestation"}"#),
    ])
    func `a key that isn't accepted is replaced once, and the request is sent again`(status: Int, body: String)
        async throws
    {
        let bench = try bench()
        _ = try await bench.client.signedRequests.perform(path: "x", method: .get)
        answer("/x", .reply(status, body: body))
        #expect(try await bench.client.signedRequests.perform(path: "x", method: .get).status == 200)
        #expect(
            Array(server.lines[3...]) == ["POST /challenge", "GET /x", "POST /challenge", "POST /register", "GET /x"])
        #expect(server.requests[4]["X-AppAttest-KeyId"] != server.requests[7]["X-AppAttest-KeyId"])
        answer("/x", .reply(status, body: body), .reply(status, body: body))
        await #expect(throws: GateError.self) { try await bench.client.signedRequests.perform(path: "x", method: .get) }
    }

    @Test func `a key that ten requests at once find unknown is replaced once`() async throws {
        let (old, challenges, refused) = (Awaited<String?>(nil), Awaited(0), Awaited(0))
        let server = try await StandIn { request in
            let key = request["X-AppAttest-KeyId"]
            switch request.path {
            case "/challenge":
                let number = challenges.update { number -> Int in
                    number += 1
                    return number
                }
                return .json("{\(Self.challenge(number))}")
            case "/register":
                old.update { $0 = $0 ?? key }
                return .reply(201)
            default:
                guard key == old.current else { return .json("{}") }
                // All of them have used it before the first one hears that it isn't known.
                refused.update { $0 += 1 }
                _ = try? await refused.wait(for: "the others") { $0 >= 10 ? () : nil }
                return .reply(428)
            }
        }
        let bench = try Bench(server.url, apple: apple, clock: clock)
        try await bench.client.signedRequests.registerIfNeeded()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<10 {
                group.addTask {
                    try await bench.client.signedRequests.perform(path: "x\(number)", method: .get).status
                }
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 10))
        #expect(bench.attest.calls.count { $0 == .generateKey } == 2)
        #expect(await bench.client.circuit(.registration) == .closed)
    }

    @Test func `an expired challenge is replaced once, and then the answer is the app's`() async throws {
        let bench = try bench()
        let expired = StandIn.Answer.reply(401, body: "invalid or expired challenge")
        _ = try await bench.client.signedRequests.perform(path: "x", method: .get)
        answer("/x", expired)
        #expect(try await bench.client.signedRequests.perform(path: "x", method: .get).status == 200)
        answer("/x", expired, expired, expired)
        #expect(try await bench.client.signedRequests.perform(path: "x", method: .get).status == 401)
        #expect(server.requests.count { $0.path == "/x" } == 1 + 2 + 2)
    }

    @Test func `a challenge in a header field is used for the next request`() async throws {
        let bench = try bench()
        let challenge = Data(repeating: 7, count: 32).base64EncodedString()
        answer("/x", .reply(200, headers: ["X-AppAttest-Next-Challenge": challenge]))
        for _ in 0..<2 { _ = try await bench.client.signedRequests.perform(path: "x", method: .get) }
        #expect(server.lines == ["POST /challenge", "POST /register", "GET /x", "GET /x"])
        #expect(server.requests[3]["X-AppAttest-Challenge"] == challenge)
    }

    @Test func `a next challenge that has become old isn't used`() async throws {
        let bench = try bench()
        try await bench.client.signedRequests.registerIfNeeded()
        clock.advance(30)
        _ = try await bench.client.signedRequests.perform(path: "x", method: .get)
        #expect(server.lines == ["POST /challenge", "POST /register", "POST /challenge", "GET /x"])
    }

    @Test func `a registration that wants an attestation gets a new key`() async throws {
        answer("/register", .reply(400, body: "attestation payload required"))
        let bench = try bench()
        try await bench.client.signedRequests.registerIfNeeded()
        #expect(bench.attest.calls.count { $0 == .generateKey } == 2)
    }

    @Test(arguments: [404, 428, 200])
    func `unregistering forgets the key, also where the gate has forgotten it`(status: Int) async throws {
        let bench = try bench()
        try await bench.client.signedRequests.registerIfNeeded()
        answer("/unregister", .reply(status, body: "device not registered"))
        try await bench.client.signedRequests.unregister()
        #expect(await bench.client.assertions.isRegistered == false)
        try await bench.client.signedRequests.unregister()
        #expect(server.requests.count { $0.path == "/unregister" } == 1)
    }

    @Test(arguments: [403, 429, 503, 500])
    func `refusals that a new key can't help are the app's`(status: Int) async throws {
        let bench = try bench()
        answer("/x", .reply(status, headers: ["Retry-After": "5"], body: #"{"error":"no","requestId":"r3"}"#))
        let response = try await bench.client.signedRequests.perform(path: "x", method: .get)
        #expect(response.status == status && response.refusal?.requestId == "r3")
        #expect(bench.attest.calls.count { $0 == .generateKey } == 1)
    }

    @Test(arguments: [(HTTPMethod.post, 1), (.patch, 1), (.put, 2), (.get, 2)])
    func `a request that may have arrived is repeated only where that makes no difference`(
        method: HTTPMethod, count: Int
    ) async throws {
        let bench = try bench()
        try await bench.client.signedRequests.registerIfNeeded()
        answer("/x", .hangUp)
        let request = Task { try await bench.client.signedRequests.perform(path: "x", method: method, body: Data([1])) }
        if count > 1 {
            try await clock.pass(0.5...1)
            #expect(try await request.value.status == 200)
        } else {
            await #expect(throws: GateError.network(.connectionLost)) { try await request.value }
        }
        #expect(server.requests.count { $0.path == "/x" } == count)
    }

    @Test func `ten requests at once have ten challenges and one registration`() async throws {
        let bench = try bench()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<10 {
                group.addTask { _ = try await bench.client.signedRequests.perform(path: "x\(number)", method: .get) }
            }
            try await group.waitForAll()
        }
        #expect(server.requests.count { $0.path == "/register" } == 1)
        let used = server.requests.compactMap { $0["X-AppAttest-Challenge"] }
        #expect(Set(used).count == used.count)
    }
}
