import AppAttest
import Crypto
import FoundationEssentials

/// What an app of the token dialect sends to `/attest/register` and `/token`, with a device's keys.
package struct TokenRequests: Sendable {
    private static let platform = "ios"
    private let device: SimulatedDevice

    package init(_ device: SimulatedDevice) { self.device = device }

    /// The client data hash of an attestation or assertion: it covers the challenge and the device key.
    ///
    /// - Parameter nonce: the challenge as received: base64url.
    /// - Returns: nil if it isn't base64url.
    package func clientDataHash(nonce: String) -> [UInt8]? {
        guard let nonce = Data(base64URL: nonce) else { return nil }
        return Array(SHA256.hash(data: nonce + SHA256.hash(data: device.proofKey.jwk.canonicalJSON)))
    }

    /// - Parameter proof: the same as in the `DPoP` field.
    package func registration(attestation: [UInt8], nonce: String, proof: String) throws -> [UInt8] {
        let evidence = Evidence(device, attestation: Data(attestation).base64EncodedString())
        return try body(Body(device, attestation: evidence, nonce: nonce, dpop: proof))
    }

    /// - Parameter proof: the same as in the `DPoP` field.
    package func token(assertion: [UInt8], nonce: String, proof: String) throws -> [UInt8] {
        let evidence = Evidence(device, assertion: Data(assertion).base64EncodedString())
        return try body(Body(device, attestation: evidence, nonce: nonce, dpop: proof))
    }

    /// On a simulator, which has no App Attest.
    package func token(developmentToken: String, proof: String) throws -> [UInt8] {
        try body(Body(device, developmentToken: developmentToken, dpop: proof))
    }

    private func body(_ body: Body) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return Array(try encoder.encode(body))
    }

    private struct App: Encodable {
        let bundleId: String
    }

    private struct Evidence: Encodable {
        let type = "app_attest"
        let keyId, teamId: String
        let attestation, assertion: String?

        init(_ device: SimulatedDevice, attestation: String? = nil, assertion: String? = nil) {
            keyId = Data(device.keyID).base64EncodedString()
            teamId = device.app.teamID
            (self.attestation, self.assertion) = (attestation, assertion)
        }
    }

    private struct Body: Encodable {
        let platform = TokenRequests.platform
        let app: App
        let deviceKeyJwk: SimulatedJWK
        let attestation: Evidence?
        let devToken: String?
        let nonce: String?
        let dpop: String

        init(
            _ device: SimulatedDevice, attestation: Evidence? = nil, developmentToken: String? = nil,
            nonce: String? = nil, dpop: String
        ) {
            app = App(bundleId: device.app.bundleID)
            deviceKeyJwk = device.proofKey.jwk
            (self.attestation, devToken) = (attestation, developmentToken)
            (self.nonce, self.dpop) = (nonce, dpop)
        }
    }
}

/// The answer to `POST /attest/challenge`, read as strictly as apps do.
package struct ChallengeAnswer: Decodable, Sendable {
    package let nonce: String
    package let exp: Int

    package init(_ body: [UInt8]) throws { self = try JSONDecoder().decode(Self.self, from: Data(body)) }
}

/// The answer to `POST /token`.
package struct TokenAnswer: Decodable, Sendable {
    package let accessToken: String
    package let expiresIn: Int
    package let mode: String?

    package init(_ body: [UInt8]) throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        self = try decoder.decode(Self.self, from: Data(body))
    }
}

/// The refusal of a registration or a token.
package struct TokenRefusalAnswer: Decodable, Sendable {
    package let error: String
    package let errorDescription: String?

    package init(_ body: [UInt8]) throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        self = try decoder.decode(Self.self, from: Data(body))
    }

    /// Registering the key again helps.
    ///
    /// - Parameter status: of the answer.
    package func isRegistrationRequired(status: Int) -> Bool {
        status == 401 && error == "attestation_failed" && errorDescription?.contains("registration required") == true
    }
}
