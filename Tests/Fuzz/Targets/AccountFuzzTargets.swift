import DPoP
import KeyStore
import WebAuthn
import WireText

@testable import Accounts
@testable import Admission

/// The bodies of requests about players' accounts, their challenges, and the names in paths and tokens.
let accountFuzzTargets = [
    FuzzTarget("account-body") { bytes in
        let read = try reading { () throws(RefusedRequest) in try AccountBody(bytes, maximumBytes: 65_536) }
        guard let body = read else { return }
        if let label = try reading({ () throws(RefusedRequest) in try body.label() }) {
            try require(label.utf8.count <= AccountLimits.maximumLabelBytes, "a label is short")
        }
        if let key = try reading({ () throws(RefusedRequest) in try body.keyThumbprint() }) {
            try require(key.bytes.count == 32, "a thumbprint is a hash")
        }
        _ = try reading { () throws(RefusedRequest) in try body.object("assertion") }
        if let whole = try reading({ () throws(RefusedRequest) in try body.credential() }) {
            try check(whole, of: bytes)
        }
        if let member = try reading({ () throws(RefusedRequest) in try body.credential(in: "passkey") }) ?? nil {
            try check(member, of: bytes)
        }
    },
    FuzzTarget("account-challenge") { bytes in
        let moment = Moment(
            monotonic: MonotonicTime(nanoseconds: 5_000_000_000), unixMilliseconds: 1_790_000_000_000)
        let challenges = PasskeyChallenges(epoch: MonotonicTime(nanoseconds: 0))
        let payload = Array(bytes.prefix(PasskeyChallenges.maximumPayloadBytes))
        let binding = Array(bytes.dropFirst(payload.count))
        func isSpent(_ challenge: [UInt8], _ purpose: PasskeyChallenges.Purpose) -> Bool {
            let spending = challenges.spend(challenge, for: purpose, binding: binding, at: moment.monotonic)
            return if case .spent = spending { true } else { false }
        }
        for purpose in PasskeyChallenges.Purpose.allCases {
            try require(!isSpent(bytes, purpose), "nobody has a challenge of ours")
            let issued = challenges.issue(for: purpose, payload: payload, binding: binding, at: moment)
            try require(PasskeyChallenges.payload(of: issued) == payload, "a challenge carries its payload")
            for other in PasskeyChallenges.Purpose.allCases where other != purpose {
                try require(!isSpent(issued, other), "a challenge has one purpose")
            }
            try require(!isSpent(issued + [0], purpose), "nothing is added to a payload")
            try require(isSpent(issued, purpose), "a challenge stays good whatever else is shown")
            try require(!isSpent(issued, purpose), "a challenge is used once")
        }
        guard let grant = RegistrationGrant(bytes) else { return }
        try require(grant.payload == bytes, "a grant has one form")
    },
    FuzzTarget("account-names") { bytes in
        let text = text(bytes)
        if let id = AccountID(text: text) {
            try require(id.text == text && id.bytes.count == AccountID.length, "an account has one name")
        }
        if let mark = PasskeyMark(text: text) {
            try require(mark.text == text && mark.bytes.count == PasskeyMark.length, "a passkey has one name")
        }
        for kind in AccountOrigin.Kind.allCases {
            guard let origin = AccountOrigin(kind, proof: bytes) else { continue }
            try require(kind.endsWithProof, "only what ends with a proof has one")
            guard let end = AccountEnd(origin) else { continue }
            try require(end.origin.map { AccountEnd($0) != nil } ?? false, "what is read can be written and read again")
        }
    },
]

private let relyingParty = RelyingParty(id: "mud.example", origins: ["https://mud.example"])

private func check(_ credential: CredentialJSON, of body: [UInt8]) throws {
    try require(
        (1...AccountLimits.maximumCredentialIDBytes).contains(credential.id.count), "an identifier has its length")
    for name in ["clientDataJSON", "attestationObject", "authenticatorData", "signature"] {
        let part = try reading { () throws(RefusedRequest) in try credential.bytes(name) }
        try require((part?.count ?? 0) < body.count, "a part is smaller than its body")
    }
    let proof = try reading { () throws(RefusedRequest) in try PasskeyProof(credential, of: relyingParty) }
    try require(proof.map { $0.mark == .of(credential.id) } ?? true, "a proof is of its own passkey")
}

/// What isn't read is refused, with words that say nothing of the input.
private func reading<Value>(_ read: () throws(RefusedRequest) -> Value) throws -> Value? {
    do throws(RefusedRequest) { return try read() } catch {
        let refusal = error.refusal
        try require([400, 401, 413].contains(refusal.status), "bad input is the client's fault")
        try require(
            (refusal.reason ?? "").utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a refusal quotes nothing")
        return nil
    }
}
