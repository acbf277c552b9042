import Admission
import FoundationEssentials
import HTTPWire
import KeyStore
import Reactors
import WireText

/// `/authz` for requests that are signed one by one. Reactor thread.
///
/// It is asked before the endpoint for access tokens: one `X-AppAttest-*` field chooses this one, and so does
/// `/admit/signed`. A refusal is 401 or 403 here too, and 428 only behind `/status/428`; its status, as clients get it
/// elsewhere, is in `X-Refusal-Status`.
struct SignedAuthorizationEndpoint: InternalEndpoint {
    private let authorization: SignedAuthorization
    private let record: DecisionRecord
    private let proxies: AuthorizationProxies

    init(_ authorization: SignedAuthorization, record: DecisionRecord, proxies: TrustedProxies) {
        self.authorization = authorization
        self.record = record
        self.proxies = AuthorizationProxies(proxies)
    }

    /// `AUTHZ_BODY=forwarded`
    var seesBodies: Bool { authorization.seesBodies }

    func handle(_ exchange: InternalExchange) -> Bool {
        guard let demand = AuthorizationDemand(path: exchange.path, query: exchange.query) else { return false }
        let (head, reactor) = (exchange.head, exchange.reactor)
        let fields = SignedFields(head.texts)
        guard fields.arePresent || SignedAuthorization.isDemanded(by: demand.methods) else { return false }
        let context = proxies.context(of: head, reactor)
        do throws(OriginalRequest.Fault) {
            let question = SignedAuthorization.Question(
                request: try OriginalRequest(
                    path: demand.rest, ownMethod: String(decoding: head.method, as: UTF8.self), fields: head.texts),
                fields: fields, body: (exchange.bodyReader as? BodyHashing)?.finished, address: context.address,
                methods: demand.methods, moment: context.moment)
            switch authorization.decision(on: question) {
            case .decided(let outcome): exchange.respond(answer(outcome, demand, context, reactor))
            case .later(let later):
                let pinned = Pinned((exchange: exchange, endpoint: self), to: reactor)
                later.whenDecided { outcome in
                    reactor.submit {
                        let (exchange, endpoint) = pinned.value
                        exchange.respond(
                            endpoint.answer(outcome, demand, context, exchange.reactor))
                    }
                }
            }
        } catch {
            let refusal = Refusal(.signedFieldsMalformed, detail: "\(error)", failed: FailedCheck(.body))
            exchange.respond(refuse(refusal, demand, context, reactor))
        }
        return true
    }

    /// Of a body that isn't read to its end. Nothing is known of who has sent it, and nothing is used up.
    static func refuseBody() -> HTTPAnswer { refusal(.signedBodyTooLarge, requestID: RequestContext.makeID()) }

    private func answer(
        _ result: SignedAuthorization.Outcome, _ demand: AuthorizationDemand, _ context: RequestContext,
        _ reactor: Reactor
    ) -> HTTPAnswer {
        switch result {
        case .success(.success(let verified)): admit(verified, demand, context, reactor)
        case .success(.failure(let refused)): refuse(refused.refusal, demand, context, reactor)
        case .failure(let error):
            refuse(Refusal(.storeUnavailable, detail: "\(error)", retryAfter: 1), demand, context, reactor)
        }
    }

    private func admit(
        _ verified: VerifiedSignedRequest, _ demand: AuthorizationDemand, _ context: RequestContext, _ reactor: Reactor
    ) -> HTTPAnswer {
        record.authorized(verified, context)
        var fields = verified.identityFields
        fields += [("X-Portcullis-Request-Id", context.id), ("Cache-Control", "no-store"), next(reactor)]
        // Envoy accepts no other status as permission.
        return HTTPAnswer(status: demand.rest.isEmpty ? 204 : 200, headers: fields)
    }

    private func refuse(
        _ refusal: Refusal, _ demand: AuthorizationDemand, _ context: RequestContext, _ reactor: Reactor
    ) -> HTTPAnswer {
        record.signedRequestRefused(refusal, context)
        var answer = Self.refusal(
            refusal, requestID: context.id, passesReattestation: demand.passesReattestation)
        answer.headers.append(next(reactor))
        return answer
    }

    private static func refusal(
        _ refusal: Refusal, requestID: String, passesReattestation: Bool = false
    ) -> HTTPAnswer {
        var answer = AuthorizationEndpoint.refusal(
            refusal, requestID: requestID, passesReattestation: passesReattestation)
        answer.headers.append(("X-Refusal-Status", String(refusal.status)))
        return answer
    }

    private func next(_ reactor: Reactor) -> (name: String, value: String) {
        (SignedField.nextChallenge, authorization.nextChallenge(at: reactor.moment))
    }
}

/// Hashes a body while it passes. Reactor thread only.
final class BodyHashing: InternalBodyReader {
    private var hash: BodyHash

    /// For a request whose body is signed, of a peer that may ask. Others have theirs read and dropped: nothing is
    /// hashed for a stranger.
    init?(for head: RequestHead, of access: InternalAccess, isCertified: @autoclosure () -> Bool) {
        let path = String(decoding: head.path, as: UTF8.self)
        guard access.admits(head, isQuestion: true, isCertified: isCertified()),
            AuthorizationDemand(path: path, query: "") != nil, let clientData = SignedFields(head.texts).clientData
        else { return nil }
        hash = BodyHash(behind: clientData)
    }

    func read(_ bytes: UnsafeRawBufferPointer) { hash.update(bytes) }

    var finished: HashedBody { hash.finished() }
}
