import Accounts
import Admission
import BlockingWork
import HTTPWire
import KeyStore
import Observability
import Reactors
import WireText

/// `/api/auth/…`: players sign up, sign in and manage their passkeys and devices. Reactor thread, except for what reads
/// long bodies, verifies signatures and waits for the store; the answer is sent on the reactor.
///
/// Whoever shows a credential is authenticated by the gate, as for a ticket.
final class AccountEndpoints {
    private let services: AccountServices
    private let gate: Gate
    private let record: DecisionRecord
    private let registrations: PendingWork
    private let issuing: PendingWork
    private let related: RelatedOrigins

    /// - Parameters:
    ///   - registrations: for attestations, which take milliseconds.
    ///   - issuing: for everything else.
    init(
        services: AccountServices, gate: Gate, record: DecisionRecord, registrations: PendingWork, issuing: PendingWork
    ) {
        (self.services, self.gate, self.record) = (services, gate, record)
        (self.registrations, self.issuing) = (registrations, issuing)
        related = RelatedOrigins(services.relatedOrigins)
    }

    /// For answers that are made without these endpoints.
    func admitting(_ answer: HTTPAnswer, _ head: RequestHead) -> HTTPAnswer { related.admitting(answer, head) }

    func options(_ answer: HTTPAnswer, _ methods: [RequestMethod], _ head: RequestHead) -> HTTPAnswer {
        related.preflight(answer, methods, head)
    }

    func handle(_ exchange: HTTPExchange, _ path: AccountPath, _ context: RequestContext) {
        if let refusal = gate.refuseBlocked(context.address) { return refuse(exchange, refusal, context) }
        guard services.tokens.origins.areKnown else { return refuse(exchange, .publicOriginRequired, context) }
        if let refusal = limit(path, context) { return refuse(exchange, refusal, context) }
        let request = TokenRequest(exchange, services.tokens, context)
        let record = record
        let note: AccountAct.Record = { record.refuseUnwritten($0, context) }
        switch path {
        case .signInOptions:
            issue(exchange, for: request, context) { [signIn = SignIn(services)] in
                signIn.options(request).map(JSONAnswers.options)
            }
        case .signIn, .deviceSignIn, .tokenValidation: signIn(exchange, path, request, context)
        case .deviceSignInOptions:
            issue(exchange, for: request, context) { [signIn = DeviceSignIn(services)] in
                signIn.options(request).map(JSONAnswers.challenge)
            }
        case .logOut:
            authenticated(exchange, context) { [logOut = LogOut(services)] in
                await logOut.logOut(request, of: $0, unless: note).map { JSONAnswers.signedOut() }
            }
        case .registrationOptions:
            authenticate(exchange, context) { [services] endpoints, exchange, principal in
                endpoints.run(exchange, endpoints.issuing, context) {
                    await PasskeyRegistration(services).options(request, for: principal).map(JSONAnswers.options)
                }
            }
        case .registration:
            authenticate(exchange, context) { [services] endpoints, exchange, principal in
                endpoints.run(exchange, endpoints.registrations, context) {
                    await PasskeyRegistration(services).register(request, by: principal, unless: note)
                        .map(JSONAnswers.registered)
                }
            }
        case .devices:
            change(exchange, context) { await $0.account(of: $1).map(JSONAnswers.account) }
        case .deviceOptions:
            change(exchange, context) { $0.deviceChallenge(request, of: $1).map(JSONAnswers.deviceChallenge) }
        case .device:
            change(exchange, context) {
                await $0.joinDevice(request, of: $1, unless: note).map(JSONAnswers.joined)
            }
        case .passkey(let id):
            change(exchange, context) {
                await $0.removePasskey(id, request, of: $1, unless: note).map { JSONAnswers.removed() }
            }
        case .deviceNamed(let id):
            change(exchange, context) {
                await $0.removeDevice(id, request, of: $1, unless: note).map { JSONAnswers.removed() }
            }
        case .account:
            change(exchange, context) {
                await $0.removeAccount(request, of: $1, unless: note).map { JSONAnswers.removed() }
            }
        }
    }

    // MARK: Who asks

    /// Counts a request before any credential in it is looked at. What makes or changes something costs as much as the
    /// registration of a device. Sign-ins are counted where they are decided.
    private func limit(_ path: AccountPath, _ context: RequestContext) -> Refusal? {
        let time = context.moment.monotonic
        return switch path {
        case .signInOptions, .signIn, .deviceSignInOptions, .deviceSignIn, .tokenValidation: nil
        case .devices, .deviceOptions, .logOut: services.limits.refuseChallenge(to: context.address, at: time)
        case .registrationOptions, .registration, .device, .passkey, .deviceNamed, .account:
            services.limits.refuseRegistration(from: context.address, at: time)
                ?? gate.refuseSignIn(from: context.address, at: time)
        }
    }

    /// - Parameter then: on the reactor; the principal is nil for a client that shows no credential.
    private func authenticate(
        _ exchange: HTTPExchange, _ context: RequestContext,
        then: @escaping (AccountEndpoints, HTTPExchange, Principal?) -> Void
    ) {
        if let name = exchange.head.repeatedCredentialField(gate) {
            return refuse(exchange, Refusal(.malformedRequest, detail: "\(name) is repeated"), context)
        }
        var request = AdmissionRequest(
            exchange.head,
            CredentialFields(gate.fields, exchange.head, parameters: RequestQuery(exchange.head.query)),
            handshake: UpgradeHandshake(method: String(decoding: exchange.head.method, as: UTF8.self)),
            isTLS: exchange.isTLS, certificate: exchange.certificate, context)
        request.isWithoutRoute = true
        request.body = exchange.body
        guard gate.isShownCredential(in: request) else {
            if let refusal = gate.screen(request) { return refuse(exchange, refusal, context) }
            return then(self, exchange, nil)
        }
        switch gate.authenticate(request) {
        case .later(let later):
            let pinned = Pinned((exchange: exchange, endpoints: self, then: then), to: exchange.reactor)
            later.whenDecided { decision in
                pinned.reactor.submit {
                    let (exchange, endpoints, then) = pinned.value
                    endpoints.proceed(exchange, decision, context, then)
                }
            }
        case let decision: proceed(exchange, decision, context, then)
        }
    }

    private func proceed(
        _ exchange: HTTPExchange, _ decision: CredentialDecision, _ context: RequestContext,
        _ then: (AccountEndpoints, HTTPExchange, Principal?) -> Void
    ) {
        switch decision {
        case .authenticated(let principal): then(self, exchange, principal)
        case .refused(let refusal): refuse(exchange, refusal, context)
        case .later: preconditionFailure("A decision isn't later twice.")
        }
    }

    private func change(
        _ exchange: HTTPExchange, _ context: RequestContext,
        _ body: @escaping @Sendable (AccountChanges, Principal) async -> Result<HTTPAnswer, RefusedRequest>
    ) {
        authenticated(exchange, context) { [changes = AccountChanges(services)] in await body(changes, $0) }
    }

    private func authenticated(
        _ exchange: HTTPExchange, _ context: RequestContext,
        _ body: @escaping @Sendable (Principal) async -> Result<HTTPAnswer, RefusedRequest>
    ) {
        authenticate(exchange, context) { endpoints, exchange, principal in
            guard let principal else {
                return endpoints.refuse(exchange, Refusal(.appAuthRequired, detail: "no credentials"), context)
            }
            endpoints.run(exchange, endpoints.issuing, context) { await body(principal) }
        }
    }

    // MARK: Off the reactor

    private func signIn(
        _ exchange: HTTPExchange, _ path: AccountPath, _ request: TokenRequest, _ context: RequestContext
    ) {
        guard issuing.begin() else { return refuseBusy(exchange, context) }
        let pinned = Pinned((exchange: exchange, endpoints: self), to: exchange.reactor)
        Task(executorPreference: issuing.threads) { [services, gate, record, issuing] in
            let signedIn =
                switch path {
                case .tokenValidation:
                    await Refresh(services).validate(
                        request, by: gate, unless: { gate.refuseBlocked($0) },
                        or: { record.refuseUnrecorded(context) })
                case .deviceSignIn:
                    await DeviceSignIn(services).signIn(request, by: gate) { gate.refuseBlocked($0) }
                default: await SignIn(services).signIn(request, by: gate) { gate.refuseBlocked($0) }
                }
            let outcome = record.orUnwritten(signedIn, context)
            // Recorded here and not on the reactor, which may have stopped: the end of a family is reported only once.
            record.signedIn(outcome, isRefresh: path == .tokenValidation, context)
            pinned.reactor.submit {
                let (exchange, endpoints) = pinned.value
                switch outcome {
                case .signedIn(let token, _): endpoints.respond(exchange, JSONAnswers.signedIn(token))
                case .refused(let refusal):
                    endpoints.respond(exchange, JSONAnswers.refusal(refusal, requestID: context.id))
                }
                issuing.end()
            }
        }
    }

    private func run(
        _ exchange: HTTPExchange, _ pending: PendingWork, _ context: RequestContext,
        _ body: @escaping @Sendable () async -> Result<HTTPAnswer, RefusedRequest>
    ) {
        guard pending.begin() else { return refuseBusy(exchange, context) }
        let pinned = Pinned((exchange: exchange, endpoints: self), to: exchange.reactor)
        Task(executorPreference: pending.threads) {
            let outcome = await body()
            pinned.reactor.submit {
                let (exchange, endpoints) = pinned.value
                endpoints.conclude(exchange, outcome, context)
                pending.end()
            }
        }
    }

    private func conclude(
        _ exchange: HTTPExchange, _ outcome: Result<HTTPAnswer, RefusedRequest>, _ context: RequestContext
    ) {
        switch outcome {
        case .success(let answer): respond(exchange, answer)
        case .failure(let refused): refuse(exchange, counting(refused.refusal, context), context)
        }
    }

    // MARK: On the reactor

    /// Bodies up to this size are read on the reactor: a request for a challenge has only a thumbprint.
    private static let shortBodyBytes = 1_024

    /// Issues a challenge. Nothing is stored.
    private func issue(
        _ exchange: HTTPExchange, for request: TokenRequest, _ context: RequestContext,
        _ body: @escaping @Sendable () -> Result<HTTPAnswer, RefusedRequest>
    ) {
        guard request.body.count <= Self.shortBodyBytes else { return run(exchange, issuing, context) { body() } }
        conclude(exchange, body(), context)
    }

    /// What was signed for a change, and is wrong, counts as a failed sign-in. The gate has counted the credentials.
    private func counting(_ refusal: Refusal, _ context: RequestContext) -> Refusal {
        guard Self.failures.contains(refusal.code), !refusal.isCounterRegression else { return refusal }
        return gate.afterCountingSignIn(refusal, from: context.address, at: context.moment.monotonic)
    }

    private static let failures: Set<RefusalCode> = [.passkeyRejected, .assertionRejected, .unknownKey, .keyRevoked]

    private func refuseBusy(_ exchange: HTTPExchange, _ context: RequestContext) {
        let refusal = Refusal(
            .tokensUnavailable, detail: "too many requests at once", retryAfter: PendingTokens.retryAfterSeconds,
            failed: FailedCheck(.queue))
        refuse(exchange, refusal, context)
    }

    private func refuse(_ exchange: HTTPExchange, _ refusal: Refusal, _ context: RequestContext) {
        record.accountRefused(refusal, context)
        respond(exchange, JSONAnswers.refusal(refusal, requestID: context.id))
    }

    private func respond(_ exchange: HTTPExchange, _ answer: HTTPAnswer) {
        exchange.respond(related.admitting(answer, exchange.head))
    }
}
