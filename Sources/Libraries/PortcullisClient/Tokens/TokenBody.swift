/// What this dialect sends to `/attest/register` and `/token`.
struct TokenBody: Sendable {
    enum Evidence: Sendable {
        case attestation([UInt8], key: String, challenge: String)
        case assertion([UInt8], key: String, challenge: String)
        case developmentToken(String)
    }

    private static let platform = "ios"

    private let bundle, team: String
    private let evidence: Evidence

    init(_ configuration: GateConfiguration, _ evidence: Evidence) {
        (bundle, team) = (configuration.bundleIdentifier, configuration.teamIdentifier)
        self.evidence = evidence
    }

    /// - Parameter proof: the same as in the field `DPoP`.
    @Sendable func json(_ key: ProofSigner, proof: String) -> [UInt8] {
        JSONText.object {
            $0.add("platform", Self.platform)
            $0.add("app") { $0.add("bundle_id", bundle) }
            $0.add("device_key_jwk", json: key.canonicalJWK)
            switch evidence {
            case .attestation(let bytes, let key, let challenge):
                addEvidence("attestation", bytes, key, challenge, to: &$0)
            case .assertion(let bytes, let key, let challenge): addEvidence("assertion", bytes, key, challenge, to: &$0)
            case .developmentToken(let token): $0.add("dev_token", token)
            }
            $0.add("dpop", proof)
        }
    }

    private func addEvidence(
        _ name: StaticString, _ bytes: [UInt8], _ key: String, _ challenge: String, to text: inout JSONText
    ) {
        text.add("attestation") {
            $0.add("type", "app_attest")
            $0.add("key_id", key)
            $0.add("team_id", team)
            $0.add(name, BinaryText.base64(bytes))
        }
        text.add("nonce", challenge)
    }
}
