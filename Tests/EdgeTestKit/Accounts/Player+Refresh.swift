import DeviceSimulation
import Foundation

/// How a player stays signed in, and signs out.
extension Player {
    private static let refreshPath = "/api/auth/token/validate"

    /// - Parameter token: nil: the last one.
    private func refreshBody(_ token: String?) -> String {
        #"{"refreshToken":"\#(token ?? refreshToken ?? "")"}"#
    }

    /// A request with a proof of the player's key. A demand for a nonce is met.
    package func prove(_ path: String, _ body: String) async throws -> ReceivedAnswer {
        let answer = try await request("POST", path, body, fields: proofField(path))
        guard answer.code == "use_dpop_nonce", let nonce = answer["dpop-nonce"] else { return answer }
        return try await request("POST", path, body, fields: proofField(path, nonce: nonce))
    }

    private func proofField(_ path: String, nonce: String? = nil) throws -> String {
        try "DPoP: \(holder.proof("POST", holder.url(path), nonce: nonce))\r\n"
    }

    // MARK: Refresh tokens

    /// The use of the last refresh token, as it goes over a connection.
    package func refreshRequest(nonce: String? = nil) throws -> String {
        Self.text("POST", Self.refreshPath, refreshBody(nil), try proofField(Self.refreshPath, nonce: nonce))
    }

    /// Uses a refresh token, whatever comes of it.
    ///
    /// - Parameter token: nil: the last one.
    package func tryRefresh(_ token: String? = nil) async throws -> ReceivedAnswer {
        try await tryRefresh(body: refreshBody(token))
    }

    /// The same with any body.
    package func tryRefresh(body: String) async throws -> ReceivedAnswer {
        try await prove(Self.refreshPath, body)
    }

    /// The same without a proof.
    package func refreshUnproven() async throws -> ReceivedAnswer {
        try await request("POST", Self.refreshPath, refreshBody(nil))
    }

    /// Uses the last refresh token, and keeps the next pair.
    package mutating func refresh() async throws {
        let answer = try await tryRefresh()
        try keep(answer)
    }

    package func logOut(_ body: String = "") async throws -> ReceivedAnswer {
        try await ask("POST", "/api/auth/logout", body)
    }

    // MARK: By a device

    /// A challenge for a device that signs the player in.
    package func deviceSignInChallenge() async throws -> [UInt8] {
        try Self.options(
            await request(
                "POST", "/api/auth/device/authenticate/options", #"{"dpop_jkt":"\#(holder.thumbprint)"}"#))
    }

    /// The body with which a device signs the player in.
    ///
    /// - Parameter statement: what the device signs the SHA-256 of; nil: as it should be.
    package func deviceSignIn(
        _ device: TestDevice, over challenge: [UInt8], signing statement: [UInt8]? = nil
    ) throws -> String {
        let key = Self.bytes(base64URL: holder.thumbprint) ?? []
        let own = Array("portcullis device sign-in\0".utf8) + challenge + key
        let assertion = try device.assertion(clientDataHash: Self.sha256(statement ?? own))
        return #"{"assertion":{"keyId":"\#(device.keyID)","data":"\#(Data(assertion).base64EncodedString())","#
            + #""challenge":"\#(PasskeyRequest.base64URL(challenge))"}}"#
    }

    package func authenticate(byDevice body: String) async throws -> ReceivedAnswer {
        try await prove("/api/auth/device/authenticate", body)
    }

    /// Signs in with a device that has joined, or fails.
    package mutating func signIn(by device: TestDevice) async throws {
        let body = try deviceSignIn(device, over: try await deviceSignInChallenge())
        let answer = try await authenticate(byDevice: body)
        try keep(answer)
    }
}
