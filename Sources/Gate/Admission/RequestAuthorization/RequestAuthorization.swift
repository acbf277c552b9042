package import KeyStore
package import WireText

/// Decides on requests for HTTP services behind a proxy: an access token with its proof, by the same rules as for
/// upgrades.
///
/// It runs on reactors, like the gate.
package struct RequestAuthorization: Sendable {
    private let tokens: TokenSettings
    private let blockList: BlockLists
    /// `AUTHZ_ADMIT`: the names of the methods in routes.
    private let admits: Set<String>

    package init(
        _ tokens: TokenSettings, blockList: BlockList, fleetBlockList: SharedBlockList? = nil, admits: Set<String>
    ) {
        self.tokens = tokens
        self.blockList = BlockLists(own: blockList, fleet: fleetBlockList)
        self.admits = admits
    }

    /// One question of a proxy.
    package struct Question: Sendable {
        package var request: OriginalRequest
        package var authorization: [String]
        package var proofs: [String]
        package var address: IPAddress
        /// Only these methods are admitted, of those that `AUTHZ_ADMIT` names; nil: all of these.
        package var methods: Set<String>?
        /// For development tokens that are limited to routes.
        package var route: String?
        package var moment: Moment

        package init(
            request: OriginalRequest, authorization: [String], proofs: [String], address: IPAddress,
            methods: Set<String>? = nil, route: String? = nil, moment: Moment
        ) {
            self.request = request
            self.authorization = authorization
            self.proofs = proofs
            self.address = address
            self.methods = methods
            self.route = route
            self.moment = moment
        }
    }

    /// What is decided about a question; an error if the store can't answer.
    package typealias Outcome = Result<ResourceVerifier.Outcome, KeyRegistryError>

    /// For a caller that can't wait: from what is known of the store, or with an error.
    package func decide(
        _ question: Question
    ) throws(KeyRegistryError) -> Result<VerifiedResourceRequest, RefusedRequest> {
        if let refused = refusal(of: question.address) { return .failure(refused) }
        return try ResourceVerifier(tokens).verify(Self.resource(question)) {
            refusal(of: $0.identity, alsoNamed: $0.furtherNames, $1, question)
        }
    }

    /// At once if the store does. Otherwise the answer comes on any thread, once.
    package func decision(on question: Question) -> Progress<Outcome> {
        if let refused = refusal(of: question.address) { return .decided(.success(.failure(refused))) }
        let steps = ResourceSteps(Self.resource(question), tokens) {
            refusal(of: $0.identity, alsoNamed: $0.furtherNames, $1, question)
        }
        return Decision(steps).run(at: question.moment)
    }

    private func refusal(of address: IPAddress) -> RefusedRequest? {
        guard blockList.contains(address) else { return nil }
        return RefusedRequest(.token(.deviceBlocked, detail: "the address is on the block list"))
    }

    private static func resource(_ question: Question) -> ResourceRequest {
        ResourceRequest(
            method: question.request.method, url: question.request.url, authorization: question.authorization,
            proofs: question.proofs, moment: question.moment)
    }

    /// Called before the proof is spent.
    private func refusal(
        of identity: Identity, alsoNamed names: [Identity], _ grant: DevelopmentGrant?, _ question: Question
    ) -> Refusal? {
        let blocked = ([identity] + names).first { blockList.contains($0) }
        if let blocked {
            return .token(
                .deviceBlocked, detail: "\(blocked.method.label) is on the block list",
                failed: FailedCheck(.identityBlocked))
        }
        let name = identity.method.route ?? ""
        guard admits.contains(name), question.methods?.contains(name) ?? true else {
            // A development token where an attestation is demanded: whatever the client claims to be, this token isn't
            // enough.
            return .token(
                .invalidToken, detail: "\(identity.method.label) is not admitted here",
                reason: "tokens of this kind (\(identity.method.label)) are not admitted here",
                failed: FailedCheck(
                    .route, expected: (methodsFor(question)).joined(separator: " or "), received: name))
        }
        guard let routes = grant?.routes, !(question.route.map(routes.containsBytes) ?? false) else { return nil }
        let detail = "the development token is not for this route"
        return .token(.invalidToken, detail: detail, reason: detail, failed: FailedCheck(.route))
    }

    private func methodsFor(_ question: Question) -> [String] {
        (question.methods.map(admits.intersection) ?? admits).sorted()
    }
}
