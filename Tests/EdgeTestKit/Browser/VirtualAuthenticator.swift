import Foundation

/// An authenticator that Chromium simulates for one page: with its own code, and none of ours.
package struct VirtualAuthenticator: Hashable, Sendable {
    package enum Transport: String, CaseIterable, Sendable {
        /// Part of the device.
        case platform = "internal"
        /// A key that a player carries along.
        case roaming = "usb"
    }

    let id: String
}

/// A passkey as the authenticator keeps it, so that it can be put back.
package struct VirtualCredential: @unchecked Sendable {
    /// JSON, which nobody changes.
    fileprivate let members: [String: Any]

    /// Base64.
    package var id: String { members["credentialId"] as? String ?? "" }
    package var isDiscoverable: Bool { members["isResidentCredential"] as? Bool == true }
    package var relyingPartyID: String? { members["rpId"] as? String }
}

/// The domain `WebAuthn` of the Chrome DevTools Protocol.
extension BrowserPage {
    /// - Parameters:
    ///   - canVerify: it has a way to verify its user, such as a fingerprint.
    ///   - verifies: that succeeds.
    ///   - isTouched: its user agrees to everything at once.
    package func addAuthenticator(
        _ transport: VirtualAuthenticator.Transport, canVerify: Bool = true, verifies: Bool = true,
        isTouched: Bool = true
    ) async throws -> VirtualAuthenticator {
        try await tools.call("WebAuthn.enable")
        let options: [String: Any] = [
            "protocol": "ctap2", "ctap2Version": "ctap2_1", "transport": transport.rawValue, "hasResidentKey": true,
            "hasUserVerification": canVerify, "isUserVerified": verifies, "automaticPresenceSimulation": isTouched,
        ]
        let answer = try await tools.call("WebAuthn.addVirtualAuthenticator", ["options": options])
        guard let id = answer["authenticatorId"] as? String else { throw EdgeTestError("no authenticator: \(answer)") }
        return VirtualAuthenticator(id: id)
    }

    package func touch(_ authenticator: VirtualAuthenticator, _ isTouched: Bool) async throws {
        try await tools.call(
            "WebAuthn.setAutomaticPresenceSimulation", ["authenticatorId": authenticator.id, "enabled": isTouched])
    }

    package func remove(_ authenticator: VirtualAuthenticator) async throws {
        try await tools.call("WebAuthn.removeVirtualAuthenticator", ["authenticatorId": authenticator.id])
    }

    package func credentials(of authenticator: VirtualAuthenticator) async throws -> [VirtualCredential] {
        let answer = try await tools.call("WebAuthn.getCredentials", ["authenticatorId": authenticator.id])
        return (answer["credentials"] as? [[String: Any]] ?? []).map { VirtualCredential(members: $0) }
    }

    package func put(_ credential: VirtualCredential, back authenticator: VirtualAuthenticator) async throws {
        try await tools.call(
            "WebAuthn.addCredential", ["authenticatorId": authenticator.id, "credential": credential.members])
    }

    /// Waits until a page has told its browser that a passkey is of no use any more.
    package func waitUntilDeleted(_ credential: VirtualCredential, since mark: Int = 0) async throws {
        _ = try await tools.event("the end of a passkey", from: mark) {
            $0.method == "WebAuthn.credentialDeleted" && $0.parameters["credentialId"] as? String == credential.id
        }
    }

    /// The number of events so far, for ``waitUntilDeleted(_:since:)``.
    package var eventCount: Int { tools.events.count }
}
