import AppAttest
package import KeyStore
package import WireText

/// Decides on requests for HTTP services behind a proxy that their devices have signed, by the same rules as for
/// upgrades. On reactors, like the gate.
package struct SignedAuthorization: Sendable {
    private let settings: SignedRequestSettings
    private let blockList: BlockLists
    /// `AUTHZ_ADMIT`: the names of the methods in routes.
    private let admits: Set<String>
    private let limits: UpgradeLimits
    /// `AUTHZ_BODY=forwarded`: proxies forward bodies, and say how long they are.
    package let seesBodies: Bool
    /// `MAX_BODY_BYTES`
    package let maximumBodyBytes: Int

    package init(
        _ settings: SignedRequestSettings, blockList: BlockList, fleetBlockList: SharedBlockList? = nil,
        admits: Set<String>, limits: UpgradeLimits, seesBodies: Bool, maximumBodyBytes: Int
    ) {
        self.settings = settings
        self.admits = admits
        self.limits = limits
        self.blockList = BlockLists(own: blockList, fleet: fleetBlockList)
        (self.seesBodies, self.maximumBodyBytes) = (seesBodies, maximumBodyBytes)
    }

    /// Whether a location admits signed requests alone.
    package static func isDemanded(by methods: Set<String>?) -> Bool { methods == [route] }

    /// One question of a proxy.
    package struct Question: Sendable {
        package var request: OriginalRequest
        package var fields: SignedFields
        /// Nil if none was hashed.
        package var body: HashedBody?
        package var address: IPAddress
        /// Only these methods are admitted, of those that `AUTHZ_ADMIT` names; nil: all of these.
        package var methods: Set<String>?
        package var moment: Moment

        package init(
            request: OriginalRequest, fields: SignedFields, body: HashedBody?, address: IPAddress,
            methods: Set<String>?, moment: Moment
        ) {
            self.request = request
            self.fields = fields
            self.body = body
            self.address = address
            self.methods = methods
            self.moment = moment
        }
    }

    private static let maximumLengthDigits = 10

    package typealias Outcome = Result<Result<VerifiedSignedRequest, RefusedRequest>, KeyRegistryError>

    /// At once if the store does. Otherwise the answer comes on any thread, once.
    package func decision(on question: Question) -> Progress<Outcome> {
        do throws(RefusedRequest) {
            try refuseBlocked(question)
            try refuseOtherMethods(question)
            let resource = SignedResource(
                method: question.request.method, url: question.request.url, body: try body(of: question))
            let steps = try SignedRequestSteps(question.fields, resource, settings, admitsLower: true)
            try refuseRate(question)
            return Decision(steps).run(at: question.moment).map { $0.map { counting(refusingBlocked($0), question) } }
        } catch {
            return .decided(.success(.failure(error)))
        }
    }

    /// For the client's next request.
    package func nextChallenge(at moment: Moment) -> String {
        settings.appAttest.challenges.issueForSigned(at: moment).nonce
    }

    private func refuseBlocked(_ question: Question) throws(RefusedRequest) {
        guard !blockList.contains(question.address) else {
            throw RefusedRequest(.signed(.deviceBlocked, detail: "the address is on the block list"))
        }
        guard let key = question.fields.claimedKey else { return }
        let identity = Identity.signed(key)
        guard !blockList.contains(identity) else {
            throw RefusedRequest(
                .signed(
                    .deviceBlocked, detail: "\(identity.method.label) is on the block list",
                    failed: FailedCheck(.identityBlocked)))
        }
    }

    /// The store knows what account the device has joined.
    private func refusingBlocked(
        _ decided: Result<VerifiedSignedRequest, RefusedRequest>
    ) -> Result<VerifiedSignedRequest, RefusedRequest> {
        guard case .success(let verified) = decided,
            let blocked = verified.proof.furtherNames.first(where: { blockList.contains($0) })
        else { return decided }
        return .failure(
            RefusedRequest(
                .signed(
                    .deviceBlocked, detail: "\(blocked.method.label) is on the block list",
                    failed: FailedCheck(.identityBlocked))))
    }

    private func refuseOtherMethods(_ question: Question) throws(RefusedRequest) {
        let allowed = question.methods.map(admits.intersection) ?? admits
        guard !allowed.contains(Self.route) else { return }
        throw RefusedRequest(
            .signed(
                .wayNotAllowed, detail: "signed requests are not admitted here",
                failed: FailedCheck(
                    .route, expected: allowed.sorted().joined(separator: " or "), received: Self.route)))
    }

    // MARK: Failures

    /// Anybody can have the store asked about keys, with one challenge. As at upgrades, an address with too many
    /// failures isn't shut out: its signatures are verified while its budget lasts.
    private func refuseRate(_ question: Question) throws(RefusedRequest) {
        let (address, moment) = (question.address, question.moment)
        guard case .over = limits.failuresSoFar(of: address, at: moment),
            case .over(let seconds) = limits.payForVerification(of: address, cost: 1, at: moment)
        else { return }
        throw RefusedRequest(
            .signed(.rateLimited, detail: "over the limit of verifications per second", retryAfter: seconds))
    }

    /// Above the limit, the client gets the rate-limit refusal instead of the actual reason. Challenges that have ended
    /// aren't counted: that is found out without the store, and happens to many a phone behind a carrier's address.
    private func counting(
        _ decided: Result<VerifiedSignedRequest, RefusedRequest>, _ question: Question
    ) -> Result<VerifiedSignedRequest, RefusedRequest> {
        guard case .failure(let refused) = decided, Self.failures.contains(refused.refusal.code),
            case .over(let seconds) = limits.countFailure(of: question.address, at: question.moment)
        else { return decided }
        let refusal = refused.refusal
        let detail = "over FAILED_UPGRADES_PER_MINUTE; \(refusal.code.rawValue): \(refusal.detail)"
        var limited = Refusal.signed(.rateLimited, detail: detail, retryAfter: seconds, failed: refusal.failed)
        limited.signer = refusal.signer
        return .failure(RefusedRequest(limited))
    }

    /// Of those that have cost a question of the store.
    private static let failures: Set<RefusalCode> = [.unknownKey, .keyRevoked, .assertionRejected, .keyMismatch]

    /// A body counts as seen only if the proxy says how long it was when the client sent it: some proxies cut bodies,
    /// or drop them.
    private func body(of question: Question) throws(RefusedRequest) -> SignedResource.Body {
        guard seesBodies, let body = question.body else { return .unseen }
        do throws(SignedRequestFault) {
            guard let text = try question.fields.single(.originalLength) else { return .unseen }
            guard let length = Self.length(text) else { throw .malformed(.originalLength) }
            guard length == body.count else { throw .bodyLength }
        } catch { throw RefusedRequest(error.refusal) }
        guard body.count <= maximumBodyBytes else { throw RefusedRequest(.signedBodyTooLarge) }
        return .hashed(body)
    }

    private static func length(_ text: String) -> Int? {
        guard (1...maximumLengthDigits).contains(text.utf8.count), text.utf8.allSatisfy(ASCIIByte.isDigit) else {
            return nil
        }
        return text.utf8.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}

extension Refusal {
    package static var signedBodyTooLarge: Refusal { .signed(.bodyTooLarge, detail: "body is over MAX_BODY_BYTES") }
}

extension VerifiedSignedRequest {
    /// The verified identity in header fields, for the service behind a proxy.
    package var identityFields: [(name: String, value: String)] {
        [
            ("X-Portcullis-Subject", FieldText.escaped(identity.subject ?? "")),
            ("X-Portcullis-App", FieldText.escaped(app.description)),
            ("X-Portcullis-Method", FieldText.escaped(identity.method.label)),
            ("X-Portcullis-Mode", "production"),
            ("X-Portcullis-Content-Digest", digest.text),
        ]
    }
}
