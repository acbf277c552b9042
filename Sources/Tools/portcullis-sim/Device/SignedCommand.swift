import ArgumentParser
import Crypto
import DeviceSimulation
import Foundation
import Logging
import Reactors

extension DeviceCommand {
    struct Signed: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send requests that the device signs one by one; it registers itself if --authority is given.")

        @Argument(help: "The method.")
        var method: String

        @Argument(help: "The URL, of a service behind a proxy that asks the gateway.")
        var url: String

        @OptionGroup var gateway: GatewayOptions

        @Option(help: "Before /challenge and /register: SIGNED_REQUESTS_PREFIX.")
        var prefix = ""

        @Option(help: "The device's file.")
        var device: String

        @Option(help: "The authority's file: register the device first.")
        var authority: String?

        @Option(help: "Apple developer team.")
        var team = "ABCDE12345"

        @Option(help: "Bundle identifier.")
        var bundle = "com.example.mud"

        @Option(help: "A file with the body.")
        var body: String?

        @Option(help: "1: the signature is over the body. 2: over method, URL and the body's digest.")
        var recipe = 1

        @Option(help: "How many requests are sent at once.")
        var parallel = 1

        func validate() throws {
            guard (1...2).contains(recipe) else { throw ValidationError("--recipe is 1 or 2.") }
            guard (1...1_000).contains(parallel) else { throw ValidationError("--parallel is 1 to 1000.") }
        }

        func run() async throws {
            guard let url = WebURL(url) else { throw SimOutput.failure("\(url) is no http or https URL.") }
            let content = try body.map { [UInt8](try Data(contentsOf: URL(fileURLWithPath: $0))) } ?? []
            let reactor = Reactor(index: 0, logger: Logger(label: "device"))
            try reactor.start()
            var file = try DeviceFile.keptOrNew(at: device, team: team, bundle: bundle)
            let client = SignedRequestClient(
                http: try gateway.requests(on: reactor), gateway: try gateway.url(), prefix: prefix)
            if let authority { try await client.register(&file, by: try StateFile.authority(authority)) }
            var requests: [[(name: String, value: String)]] = []
            for _ in 0..<parallel {
                requests.append(
                    try await client.fields(&file, method, recipe == 2 ? url.text : nil, body: content))
            }
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for fields in requests {
                    group.addTask { [method] in
                        let answer = try await client.http.send(
                            method, url, headers: fields, body: content.isEmpty ? nil : content)
                        guard (200..<300).contains(answer.status) else {
                            _ = GatewayRefusal.failure(status: answer.status, body: answer.body)
                            return answer.status
                        }
                        SimOutput.show(String(decoding: answer.body, as: UTF8.self))
                        return answer.status
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            guard statuses.allSatisfy({ (200..<300).contains($0) }) else { throw ExitCode.failure }
        }
    }
}

/// The third dialect's client.
struct SignedRequestClient: Sendable {
    let http: HTTPRequests
    let gateway: WebURL
    let prefix: String

    func register(_ file: inout DeviceFile, by authority: SimulatedAuthority) async throws {
        let challenge = try await challenge()
        let data = Self.clientData([("challenge", challenge)])
        let hash = Array(SHA256.hash(data: Array(data.utf8)))
        let attestation = try file.device.attest(clientDataHash: hash, by: authority, at: .now)
        let body = Array("{}".utf8)
        var fields = Self.fields(file, challenge, data, try file.assert(clientDataHash: hash), body: body)
        fields.append(("X-AppAttest-Attestation", Data(attestation).base64EncodedString()))
        guard let url = gateway.appending(prefix + "/register") else {
            throw SimOutput.failure("--gateway is no URL.")
        }
        let answer = try await http.send("POST", url, headers: fields, body: body)
        guard answer.status == 200 || answer.status == 201 else {
            throw GatewayRefusal.failure(status: answer.status, body: answer.body)
        }
        SimOutput.say("portcullis-sim: registered key \(file.device.keyIDText) for \(file.device.app)")
    }

    /// - Parameter url: with recipe 2; nil: recipe 1.
    func fields(
        _ file: inout DeviceFile, _ method: String, _ url: String?, body: [UInt8]
    ) async throws -> [(name: String, value: String)] {
        let challenge = try await challenge()
        var members: [(name: String, value: String)] = [("challenge", challenge)]
        if let url {
            let digest = "sha-256=:\(Data(SHA256.hash(data: body)).base64EncodedString()):"
            members += [("htm", method), ("htu", url), ("digest", body.isEmpty ? "absent" : digest)]
        }
        let data = Self.clientData(members)
        let hash = Array(SHA256.hash(data: Array(data.utf8) + (url == nil ? body : [])))
        return Self.fields(file, challenge, data, try file.assert(clientDataHash: hash), body: body)
    }

    private func challenge() async throws -> String {
        guard let url = gateway.appending(prefix + "/challenge") else {
            throw SimOutput.failure("--gateway is no URL.")
        }
        let answer = try await http.send("GET", url)
        guard answer.status == 200,
            let members = try? JSONDecoder().decode([String: String].self, from: Data(answer.body)),
            let challenge = members["challenge"]
        else { throw GatewayRefusal.failure(status: answer.status, body: answer.body) }
        return challenge
    }

    /// With escaped slashes, as apps write it.
    private static func clientData(_ members: [(name: String, value: String)]) -> String {
        let texts = members.map { "\"\($0.name)\":\"\($0.value.replacingOccurrences(of: "/", with: "\\/"))\"" }
        return "{" + texts.joined(separator: ",") + "}"
    }

    private static func fields(
        _ file: DeviceFile, _ challenge: String, _ data: String, _ assertion: [UInt8], body: [UInt8]
    ) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = [
            ("X-AppAttest-KeyId", file.device.keyIDText), ("X-AppAttest-Challenge", challenge),
            ("X-AppAttest-Assertion", Data(assertion).base64EncodedString()), ("X-AppAttest-ClientData", data),
        ]
        if !body.isEmpty {
            fields.append(("X-AppAttest-BodySHA256", Data(SHA256.hash(data: body)).base64EncodedString()))
        }
        return fields
    }
}
