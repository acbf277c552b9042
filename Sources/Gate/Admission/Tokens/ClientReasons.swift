import AppAttest
import DPoP
import FoundationEssentials
import KeyStore
import WireText

// What clients of access tokens and of registrations are told of a failed check, beyond the verifiers' own
// `clientDescription`.
//
// A stranger learns nothing of another client's key: whether it is revoked, which app it was attested for and how far
// its counter is, he hears only with a signature by it, or in the words that every key gets.

extension AppIDPart {
    /// - Parameter subject: "the attestation is" or "the key is".
    func reason(_ subject: String) -> String {
        switch self {
        case .bundle: "wrong bundle: \(subject) for another bundle identifier than this gateway accepts from its team"
        case .team:
            "wrong team: \(subject) for a team that this gateway does not accept, with a bundle identifier that it accepts"
        case .prefix: "wrong team: \(subject) for a bundle identifier without its team"
        case .both: "wrong bundle and team: \(subject) for an app that this gateway does not accept"
        case .unknown:
            "wrong bundle or team: \(subject) for another app than the request names, which this gateway does not accept either"
        }
    }
}

extension AppID {
    /// The part in which a request names another app than the one that was attested.
    func reason(named app: AppID) -> String {
        teamID.hasSameBytes(as: app.teamID)
            ? "wrong bundle: app.bundle_id is not that of the attested app"
            : "wrong team: attestation.team_id is not that of the attested app"
    }
}

extension DevelopmentTokenRefusal {
    var reason: String {
        switch self {
        case .unknown: "the development token is unknown"
        case .expired: "the development token has expired"
        case .revoked: "the development token is revoked"
        case .deviceLimit: "the development token is used up: as many devices as it allows have used it"
        }
    }

    static let switchedOff = "development tokens are switched off at this gateway"
}

extension ChallengeSpending {
    /// nil for a challenge that was spent.
    var reason: String? {
        switch self {
        case .spent: nil
        case .malformed: "nonce is not a challenge"
        case .foreign: "nonce is a challenge of another gateway, of another dialect, or of before a restart"
        case .expired(let age, let life): "nonce is \(age) s old: a challenge is valid for \(life) s"
        case .notYetIssued: "nonce is a challenge from the future"
        case .alreadySpent: "nonce was used before: each registration and each token needs a new challenge"
        case .full: "too many challenges were used within a short time"
        }
    }
}

extension ProofRefusal {
    private static let maximumURLBytes = 200

    /// - Parameters:
    ///   - url: of the request, as the gateway sees it; empty for a foreign host.
    ///   - foreignHost: of a request to another host than the gateway's.
    /// - Returns: nil where the verifier's words say as much.
    func reason(at url: String, _ foreignHost: ForeignHost?) -> String? {
        guard self == .uriMismatch else { return nil }
        guard foreignHost == nil else {
            return
                "the Host of this request, with its port, is not a name of the gateway's certificate: perhaps PUBLIC_ORIGIN has to be set"
        }
        // Without the query. It is the client's own URL, or what a proxy has made of it.
        guard let uri = TargetURI(url), uri.text.utf8.count <= Self.maximumURLBytes else { return nil }
        return "htu is not the URL of this request, which is \(uri.text)"
    }
}
