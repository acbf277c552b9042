import Admission
import FoundationEssentials
import KeyStore
import Settings
import Synchronization

@testable import GatewayServer

/// An admission method that the gateway doesn't have: the header `X-Badge` holds a name and a password. The gateway's
/// sources don't mention it.
struct BadgeMethod: AdmissionMethod {
    struct Badge: Sendable {
        let name: String
        let password: String
    }

    static let name = MethodName(label: "badge", route: "badge", holders: .one)

    let desk: BadgeDesk

    typealias Proof = BadgeProof

    /// The cost is twice that of the gateway's own methods.
    var traits: MethodTraits {
        MethodTraits(
            name: Self.name, identityNames: [Self.name], fields: CredentialFieldNames(headers: ["x-badge"]), cost: 2,
            needsSharedSecret: true, challenge: nil, exemption: nil)
    }

    func credential(in request: AdmissionRequest) -> Badge? {
        guard let text = request.fields.header("x-badge") else { return nil }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return Badge(name: String(parts[0]), password: parts.count == 2 ? String(parts[1]) : "")
    }

    func claim(of badge: Badge) -> Claim { Claim(Identity(method: Self.name, subject: badge.name)) }

    func verify(_ badge: Badge, of request: AdmissionRequest) throws(KeyRegistryError) -> Inquiry<Verification> {
        desk.noteVerification()
        return desk.answersLater ? .steps(Steps(method: self, badge: badge)) : .known(try verify(badge))
    }

    /// One question to the desk.
    private struct Steps: DecisionSteps {
        let method: BadgeMethod
        let badge: Badge

        func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Verification> {
            switch answer {
            case nil: .ask(.own(ask), of: GateStore())
            case .own(let verification as Verification): .decided(verification)
            default: preconditionFailure("The desk was asked.")
            }
        }

        private var ask: StoreQuestion.OwnQuestion {
            { answer in
                method.desk.hold {
                    do throws(KeyRegistryError) {
                        answer(.success(try method.verify(badge)))
                    } catch {
                        answer(.failure(error))
                    }
                }
            }
        }
    }

    private func verify(_ badge: Badge) throws(KeyRegistryError) -> Verification {
        if desk.isBroken { throw .busy }
        guard desk.isValid(badge.name), badge.password == "open sesame" else {
            return .refused(.appAuthRequired, "badge is unknown")
        }
        return .verified(Identity(method: Self.name, subject: badge.name), proof: BadgeProof(of: badge.name))
    }

    func revocation(of badge: Badge) -> Inquiry<Refusal?> { .known(nil) }

    func recheck(_ principal: Principal, at moment: Moment) -> Inquiry<Refusal?> {
        .known(
            principal.proof is BadgeProof && principal.identity.subject.map(desk.isValid) == true
                ? nil : Refusal(.invalidTicket, detail: "the badge was taken back"))
    }
}

/// Each badge has a key in the store, with which the operator revokes it, and is good until a date.
struct BadgeProof: AdmissionProof, Codable {
    static let end = Date(timeIntervalSince1970: 4_000_000_000)

    let holder: String

    init(of holder: String) { self.holder = holder }

    /// 32 bytes of the first letter.
    static func key(of holder: String) -> KeyID? {
        KeyID(bytes: [UInt8](repeating: holder.utf8.first ?? 0, count: KeyID.length))
    }

    var isLarge: Bool { false }
    var routes: Set<String>? { nil }

    func isRevoked(by revocations: Revocations) -> Bool {
        switch revocations {
        case .store(let revoked): Self.key(of: holder).map(revoked.keys.contains) ?? true
        case .certificates: false
        }
    }

    static var expiry: ProofExpiry<BadgeProof> { .at { _ in end } }
    func name(for name: MethodName) -> MethodName { name }
    var accountEvidence: AccountEvidence? { nil }
    var account: AccountID? { nil }
    var origins: [Identity] { [] }
}

/// Knows which badges are valid, and counts its calls.
final class BadgeDesk: Sendable {
    private struct State {
        var valid: Set<String> = ["alice", "bob"]
        var verifications = 0
        var answersLater = false
        var isBroken = false
        var held: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    var verifications: Int { state.withLock { $0.verifications } }

    var answersLater: Bool {
        get { state.withLock { $0.answersLater } }
        set { state.withLock { $0.answersLater = newValue } }
    }

    var isBroken: Bool {
        get { state.withLock { $0.isBroken } }
        set { state.withLock { $0.isBroken = newValue } }
    }

    func isValid(_ name: String) -> Bool { state.withLock { $0.valid.contains(name) } }
    func takeBack(_ name: String) { state.withLock { _ = $0.valid.remove(name) } }
    func noteVerification() { state.withLock { $0.verifications += 1 } }
    func hold(_ answer: @escaping @Sendable () -> Void) { state.withLock { $0.held.append(answer) } }

    /// Completes the held calls.
    func answer() {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for answer in held { answer() }
    }
}

extension ConfiguredMethod {
    static func badge(_ desk: BadgeDesk) -> ConfiguredMethod {
        let kind = BlockListKind(
            word: "badge", methods: BadgeMethod.name, problem: "holds no name", remedy: "Write a name."
        ) { $0 }
        return ConfiguredMethod(BadgeMethod.name, blockListKind: kind, isOn: { _ in true }) { _, _ in
            BadgeMethod(desk: desk)
        }
    }
}
