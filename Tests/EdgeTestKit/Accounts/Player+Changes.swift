package import DeviceSimulation
import Foundation

/// What a player who has signed in does with the account.
extension Player {
    // MARK: WebSockets

    /// An upgrade with the access token.
    package func handshake(_ path: String = "/", nonce: String? = nil) throws -> Handshake {
        guard let token else { throw EdgeTestError("nobody has signed in") }
        return try holder.handshake(token, path: path, serverNonce: nonce)
    }

    /// Opens a WebSocket with the access token, with a nonce if one is demanded.
    package func open(_ path: String = "/") async throws -> TestWebSocket {
        switch try await gateway.attempt(handshake(path)) {
        case .open(let socket): return socket
        case .refused(let answer, _):
            guard answer.code == "use_dpop_nonce", let nonce = answer["dpop-nonce"] else {
                throw EdgeTestError("the upgrade was refused: \(answer)")
            }
            return try await gateway.open(handshake(path, nonce: nonce))
        }
    }

    // MARK: What the account has

    package struct Belongings: Sendable {
        package let account: String
        package let passkeys: [String]
        package let devices: [String]
        package let labels: [String]
    }

    package func belongings() async throws -> Belongings {
        let answer = try await ask("GET", "/api/auth/devices")
        guard answer.status == 200,
            let members = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any],
            let account = members["account"] as? String, let passkeys = members["passkeys"] as? [[String: Any]],
            let devices = members["devices"] as? [[String: Any]]
        else { throw EdgeTestError("no devices: \(answer)") }
        return Belongings(
            account: account, passkeys: passkeys.compactMap { $0["id"] as? String },
            devices: devices.compactMap { $0["id"] as? String },
            labels: (passkeys + devices).compactMap { $0["label"] as? String })
    }

    // MARK: Changes

    /// A use of the passkey for one change.
    package mutating func freshPasskey() async throws -> String {
        try authentication(over: Self.options(await requestOptions()))
    }

    /// - Parameter path: behind `/api/auth/`.
    package mutating func delete(_ path: String) async throws -> ReceivedAnswer {
        try await ask("DELETE", "/api/auth/" + path, #"{"passkey":\#(freshPasskey())}"#)
    }

    /// Adds the passkey of another authenticator.
    package mutating func add(_ other: SimulatedPasskey) async throws -> ReceivedAnswer {
        guard let token else { throw EdgeTestError("nobody has signed in") }
        let options = try await ask(
            "POST", "/api/auth/passkey/register/options", #"{"passkey":\#(freshPasskey())}"#)
        guard options.status == 200 else { return options }
        var there = self
        there.passkey = other
        return try await register(
            there.registration(over: Self.options(options)), showing: .accessToken(holder, token))
    }

    package func deviceChallenge() async throws -> [UInt8] {
        try Self.options(await ask("POST", "/api/auth/device/options"))
    }

    /// The body with which a device joins.
    ///
    /// - Parameters:
    ///   - label: JSON.
    ///   - statement: what the device signs the SHA-256 of; nil: as it should be.
    package mutating func joining(
        _ device: TestDevice, over challenge: [UInt8], label: String = #""tablet""#, signing statement: [UInt8]? = nil
    ) async throws -> String {
        let own = Array("portcullis account device\0".utf8) + challenge + (account.flatMap(Hex.decode) ?? [])
        let assertion = try device.assertion(clientDataHash: Self.sha256(statement ?? own))
        let members =
            #"{"keyId":"\#(device.keyID)","data":"\#(Data(assertion).base64EncodedString())","#
            + #""challenge":"\#(PasskeyRequest.base64URL(challenge))"}"#
        return #"{"passkey":\#(try await freshPasskey()),"assertion":\#(members),"label":\#(label)}"#
    }

    /// A registered device joins the account.
    package mutating func join(_ device: TestDevice, label: String = #""tablet""#) async throws -> ReceivedAnswer {
        let challenge = try await deviceChallenge()
        return try await ask("POST", "/api/auth/device", joining(device, over: challenge, label: label))
    }

    /// The path of one of the account's devices, with its identifier in base64url.
    package static func path(of device: TestDevice) -> String {
        "device/" + device.keyID.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
