import Admission
import KeyStore
import RelayCore
import Settings
import Testing
import WireText

@testable import GatewayServer

/// An admission method that the sources don't mention is subject to all rules for the gateway's own methods.
struct BadgeMethodTests {
    private let wrong = "alice:guess"

    @Test func `a valid badge is admitted as its holder`() throws {
        let bench = try BadgeBench()
        let principal = try #require(bench.gate.evaluate(bench.request()).principal)
        #expect(principal.identity == Identity(method: BadgeMethod.name, subject: "alice"))
        #expect(principal.shown.label == "badge" && principal.proxyName == "badge")
        #expect(bench.gate.evaluate(bench.request(wrong)).refusal?.answer == .appAuthRequired)
        #expect(bench.gate.evaluate(bench.request(nil)).refusal?.answer == .appAuthRequired)
    }

    @Test func `the edge knows the method's header, so that a repeated one is refused`() throws {
        let fields = try BadgeBench().gate.fields
        #expect(fields.headers.contains("x-badge") && fields.headers.contains("x-app-assert-data"))
        #expect(fields.parameters == ["ticket"])
    }

    // MARK: Limits

    @Test func `wrong badges count, and above the limit verifications cost the method's own weight`() throws {
        let bench = try BadgeBench(["FAILED_UPGRADES_PER_MINUTE": "2"])
        for _ in 0..<2 { #expect(bench.gate.evaluate(bench.request(wrong)).refusal?.answer == .appAuthRequired) }
        #expect(bench.gate.evaluate(bench.request(nil)).refusal?.answer == .rateLimited, "no credentials")
        for _ in 0..<2 { #expect(bench.gate.evaluate(bench.request()).principal != nil, "4 pay for 2 badges") }
        #expect(bench.desk.verifications == 4)
        #expect(bench.gate.evaluate(bench.request()).refusal?.answer == .rateLimited)
        #expect(bench.desk.verifications == 4, "the badge isn't looked at")
        #expect(bench.gate.evaluate(bench.request(at: 1_000)).principal != nil)
    }

    @Test func `a full gateway refuses before it verifies, and lets the holder of a session back in`() throws {
        var bench = try BadgeBench(["MAX_SESSIONS_GLOBAL": "1"])
        let first = bench.gate.evaluate(bench.request()).admitted
        #expect(first != nil)
        #expect(bench.gate.evaluate(bench.request()).refusal?.answer == .atCapacity)
        #expect(bench.desk.verifications == 1)
        bench.gate = bench.gate.changed {
            $0.mayComeBack = { identity, _ in identity == Identity(method: BadgeMethod.name, subject: "alice") }
        }
        #expect(bench.gate.evaluate(bench.request("bob:open sesame")).refusal?.answer == .atCapacity)
        #expect(bench.desk.verifications == 1)
        #expect(bench.gate.evaluate(bench.request()).principal != nil)
        withExtendedLifetime(first) {}
    }

    // MARK: Lists, routes, origins, secrets

    @Test func `a blocked badge is refused before it is verified, and its tickets are refused`() throws {
        var bench = try BadgeBench()
        guard case .authenticated(let alice) = bench.gate.authenticate(bench.request()),
            case .issued(let issued) = bench.gate.issueTicket(
                to: alice, from: bench.request().address, at: BadgeBench.start)
        else { throw Unexpected() }
        let kinds = ([.badge(bench.desk)] + [ConfiguredMethod].all).blockListKinds
        let list = try BlockList("badge alice", kinds: kinds)
        #expect(throws: OperatorListError.self) { try BlockList("medal alice", kinds: kinds) }
        bench.gate = bench.gate.changed { $0.blockList = list }
        #expect(bench.gate.evaluate(bench.request()).refusal?.answer == .deviceBlocked)
        #expect(bench.gate.evaluate(bench.request(wrong)).refusal?.answer == .deviceBlocked)
        #expect(bench.desk.verifications == 1)
        #expect(bench.gate.evaluate(bench.request("bob:open sesame")).principal != nil)
        let byTicket = bench.request(nil, ticket: issued.ticket.text)
        #expect(bench.gate.evaluate(byTicket).refusal?.answer == .deviceBlocked)
    }

    @Test func `routes admit or refuse the method by its name`() throws {
        let bench = try BadgeBench()
        let names = ([.badge(bench.desk)] + [ConfiguredMethod].all).routeNames
        let routes = try Route.list("a=a.example:1,admit=badge+app b=b.example:1,admit=app", methods: names) { _ in true
        }
        let policy = try TargetPolicy(TargetSettings(standard: nil, routes: routes))
        let open = bench.request { $0.allowedMethods = policy.decide(.route("a")).methods }
        let closed = bench.request { $0.allowedMethods = policy.decide(.route("b")).methods }
        #expect(bench.gate.evaluate(closed).refusal?.answer == .wayNotAllowed)
        #expect(bench.desk.verifications == 0)
        let principal = try #require(bench.gate.evaluate(open).principal)
        let route = try #require(principal.identity.method.route)
        guard case .authorized = policy.authorize(.route("a"), for: route) else { throw Unexpected() }
        #expect(policy.authorize(.route("b"), for: route) == .refused(.wayNotAllowed))
    }

    @Test func `a page of another origin is refused`() throws {
        let bench = try BadgeBench()
        let request = bench.request { $0.origin = "https://evil.example" }
        #expect(bench.gate.evaluate(request).refusal?.answer == .originRefused)
        #expect(bench.desk.verifications == 0)
        #expect(bench.gate.evaluate(bench.request { $0.origin = "http://gate.example:6200" }).principal != nil)
    }

    @Test func `if a shared secret is required the badge alone isn't enough`() throws {
        var bench = try BadgeBench()
        let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
        let secrets = try SharedSecrets("app sha256:\(digest)")
        bench.gate = bench.gate.changed { $0.sharedSecrets = secrets }
        #expect(bench.gate.evaluate(bench.request()).refusal?.answer == .sharedSecretRequired)
        #expect(bench.desk.verifications == 0)
    }

    // MARK: Which method decides

    @Test func `a wrong badge is refused even if no credentials are required`() throws {
        let bench = try BadgeBench(["REQUIRE_APP_AUTH": "false"])
        #expect(bench.gate.evaluate(bench.request(nil)).principal?.identity == .anonymous)
        #expect(bench.gate.evaluate(bench.request(wrong)).refusal?.answer == .appAuthRequired)
        #expect(bench.gate.evaluate(bench.request()).principal?.identity.method == BadgeMethod.name)
    }

    @Test func `one method decides, and no other one is asked after its refusal`() throws {
        let bench = try BadgeBench(["REQUIRE_APP_AUTH": "false"])
        guard case .authenticated(let alice) = bench.gate.authenticate(bench.request()),
            case .issued(let issued) = bench.gate.issueTicket(
                to: alice, from: bench.request().address, at: BadgeBench.start)
        else { throw Unexpected() }
        let both = bench.request(wrong, ticket: issued.ticket.text)
        #expect(bench.gate.evaluate(both).refusal?.answer == .appAuthRequired)
        #expect(bench.gate.evaluate(bench.request(nil, ticket: issued.ticket.text)).principal != nil, "it isn't spent")
    }

    @Test func `a method can't admit a client without a subject or in another method's name`() throws {
        let bench = try BadgeBench(["REQUIRE_APP_AUTH": "false"])
        let impostors = [
            Identity(method: ImpostorMethod.name, subject: ""), Identity(method: BadgeMethod.name, subject: "alice"),
            .anonymous,
        ]
        for identity in impostors {
            let gate = bench.gate.changed { $0.methods.insert(ImpostorMethod(identity: identity), at: 0) }
            #expect(gate.evaluate(bench.request()).refusal?.answer == .appAuthRequired)
        }
        let own = Identity(method: ImpostorMethod.name, subject: "own")
        let gate = bench.gate.changed { $0.methods.insert(ImpostorMethod(identity: own), at: 0) }
        #expect(gate.evaluate(bench.request()).principal?.identity == own)
    }

    @Test func `an unavailable store causes a 503`() throws {
        let bench = try BadgeBench()
        bench.desk.isBroken = true
        #expect(bench.gate.evaluate(bench.request()).refusal?.answer == .storeUnavailable)
    }

    struct Unexpected: Error {}
}

/// Finds its credential in every request, and claims this identity.
private struct ImpostorMethod: AdmissionMethod {
    typealias Proof = BadgeProof

    static let name = MethodName(label: "impostor", route: nil, holders: .one)

    let identity: Identity

    var traits: MethodTraits {
        MethodTraits(
            name: Self.name, identityNames: [Self.name], fields: CredentialFieldNames(), cost: 1,
            needsSharedSecret: true, challenge: nil, exemption: nil)
    }

    func credential(in request: AdmissionRequest) -> Bool? { true }
    func claim(of credential: Bool) -> Claim { Claim(method: nil) }
    func verify(_ credential: Bool, of request: AdmissionRequest) -> Inquiry<Verification> {
        .known(.verified(identity, proof: BadgeProof(of: "alice")))
    }
    func revocation(of credential: Bool) -> Inquiry<Refusal?> { .known(nil) }
    func recheck(_ principal: Principal, at moment: Moment) -> Inquiry<Refusal?> { .known(nil) }
}
