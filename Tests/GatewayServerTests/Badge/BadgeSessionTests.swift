import Admission
import Foundation
import Logging
import MetricsTestKit
import Observability
import Settings
import Synchronization
import Testing
import WireText

@testable import GatewayServer
@testable import Relay

/// The results of an admission by a method that the sources don't mention: tickets, sessions and logs.
struct BadgeSessionTests {
    private typealias Unexpected = BadgeMethodTests.Unexpected

    private func principal(_ bench: BadgeBench) throws -> Principal {
        guard case .authenticated(let principal) = bench.gate.authenticate(bench.request()) else { throw Unexpected() }
        return principal
    }

    private func ticket(_ bench: BadgeBench, to principal: Principal) throws -> String {
        switch bench.gate.issueTicket(to: principal, from: bench.request().address, at: BadgeBench.start) {
        case .issued(let issued): issued.ticket.text
        default: throw Unexpected()
        }
    }

    @Test func `a ticket replaces the badge, and another is issued for it while the badge is valid`() throws {
        let bench = try BadgeBench()
        let text = try ticket(bench, to: principal(bench))
        let next = try #require(bench.gate.evaluate(bench.request(nil, ticket: text)).principal)
        #expect(next.identity == Identity(method: BadgeMethod.name, subject: "alice"))
        #expect(next.isByTicket && next.shown.label == "ticket" && next.proxyName == "badge_ticket")
        let last = try ticket(bench, to: next)
        bench.desk.takeBack("alice")
        #expect(bench.gate.evaluate(bench.request(nil, ticket: last)).refusal?.answer == .invalidTicket)
        #expect(bench.gate.recheck(next, from: bench.request().address, at: BadgeBench.start) != nil)
    }

    @Test func `without the method its badges and tickets are refused`() throws {
        let bench = try BadgeBench()
        let principal = try principal(bench)
        let text = try ticket(bench, to: principal)
        let gate = bench.gate.changed { $0.methods.removeFirst() }
        #expect(gate.evaluate(bench.request(nil, ticket: text)).refusal?.answer == .invalidTicket)
        #expect(gate.recheck(principal, from: bench.request().address, at: BadgeBench.start)?.answer == .invalidTicket)
    }

    @Test func `a session is resumed with its badge, or by its ticket's holder with the token alone`() throws {
        let bench = try BadgeBench()
        let text = try ticket(bench, to: principal(bench))
        let holder = try #require(bench.gate.evaluate(bench.request(nil, ticket: text)).principal)
        let address = bench.request().address
        var register = SessionRegister<Int>()
        let time = BadgeBench.start.monotonic
        guard case .reserved(let lease) = register.reserve(for: holder.owner, from: address, at: time) else {
            throw Unexpected()
        }
        var generator = SystemRandomNumberGenerator()
        let token = SessionToken(using: &generator)
        let isOpen = register.open(lease, id: "s1", token: token, of: holder, holder: 1)
        #expect(isOpen)
        let shown = SessionCredential(id: "s1", token: token.text)
        let found = register
        let gate = bench.gate.changed { settings in
            settings.methods = settings.methods.map {
                $0 is SessionTokenMethod ? SessionTokenMethod { found.bearer(of: $0, at: $1) } : $0
            }
        }
        let back = try #require(gate.evaluate(bench.request(nil) { $0.session = shown }).principal)
        #expect(back.isByToken && back.identity == holder.identity && back.shown.label == "session_token")
        let bob = Identity(method: BadgeMethod.name, subject: "bob")
        guard
            case .invalid = register.claim(
                id: "s1", token: token.text, owner: bob, at: BadgeBench.start.monotonic, using: &generator),
            case .claimed = register.claim(
                id: "s1", token: token.text, owner: back.identity, at: BadgeBench.start.monotonic, using: &generator)
        else { throw Unexpected() }
    }

    // MARK: What is written down

    private func context(_ bench: BadgeBench) -> RequestContext {
        RequestContext(id: "r1", address: bench.request().address, moment: BadgeBench.start, isForwarded: false)
    }

    @Test func `the audit log names the method and the badge, and for a refusal the method`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("badge-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("audit.jsonl")
        let bench = try BadgeBench(["AUDIT_LOG_PATH": path.path])
        let record = DecisionRecord(bench.relay)
        let admitted = try #require(bench.gate.evaluate(bench.request()).admitted)
        #expect(record.admitted(admitted, context(bench)).isWritten)
        let refusal = try #require(bench.gate.evaluate(bench.request("alice:guess")).refusal)
        record.upgradeRefused(refusal, by: refusal.method, context(bench))
        let lines = try String(contentsOf: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.contains(#""outcome":"admitted","way":"badge","who":"alice""#) == true)
        #expect(lines.last?.contains(#""outcome":"refused","way":"badge","reason":"app_auth_required""#) == true)
    }

    @Test func `metrics count the method under its label`() throws {
        let backend = TestMetrics()
        var bench = try BadgeBench()
        bench.relay.metrics = GatewayMetrics(factory: backend)
        let record = DecisionRecord(bench.relay)
        let admitted = try #require(bench.gate.evaluate(bench.request()).admitted)
        #expect(record.admitted(admitted, context(bench)).isWritten)
        let refusal = try #require(bench.gate.evaluate(bench.request("alice:guess")).refusal)
        record.upgradeRefused(refusal, by: refusal.method, context(bench))
        for (outcome, reason) in [("admitted", "none"), ("refused", "app_auth_required")] {
            let labels = [("way", "badge"), ("outcome", outcome), ("reason", reason)]
            #expect(try backend.expectCounter("portcullis_gate_decisions_total", labels).totalValue == 1)
        }
    }

    @Test func `every label is unique`() {
        let labels = ([ConfiguredMethod].all.flatMap(\.names) + [MethodName.none]).map(\.label)
        #expect(Set(labels).count == labels.count)
        #expect(labels.allSatisfy { $0.allSatisfy { "abcdefghijklmnopqrstuvwxyz_".contains($0) } })
        let routes = [ConfiguredMethod].all.routeNames
        #expect(
            Set(routes) == ["app", "signed", "token", "dev", "passkey", "cert", "ticket", "anonymous"]
                && routes.count == 8)
    }

    // MARK: Answers that come later

    /// The result of an asynchronous decision.
    private final class Outcome: Sendable {
        private let decision = Mutex<AdmissionDecision?>(nil)
        var value: AdmissionDecision? { decision.withLock { $0 } }
        func set(_ decision: AdmissionDecision) { self.decision.withLock { $0 = decision } }
    }

    private func outcome(of request: AdmissionRequest, _ bench: BadgeBench) throws -> Outcome {
        guard case .later(let later) = bench.gate.evaluate(request) else { throw Unexpected() }
        let outcome = Outcome()
        later.whenDecided { outcome.set($0) }
        #expect(outcome.value == nil)
        return outcome
    }

    @Test func `a verification may be answered later, and the same rules hold`() throws {
        let bench = try BadgeBench(["FAILED_UPGRADES_PER_MINUTE": "1"])
        bench.desk.answersLater = true
        let right = try outcome(of: bench.request(), bench)
        let first = try outcome(of: bench.request("alice:guess"), bench)
        let second = try outcome(of: bench.request("alice:guess"), bench)
        #expect(bench.state.leases.count == 0, "nothing is taken before the answer")
        bench.desk.answer()
        #expect(right.value?.principal?.identity.subject == "alice")
        #expect(bench.state.leases.count == 1)
        #expect(first.value?.refusal?.answer == .appAuthRequired)
        #expect(second.value?.refusal?.answer == .rateLimited, "failures count when they are known")
    }

    @Test func `a later answer handles a taken last lease and a broken store`() throws {
        let bench = try BadgeBench(["MAX_SESSIONS_GLOBAL": "1"])
        bench.desk.answersLater = true
        let outcomes = [try outcome(of: bench.request(), bench), try outcome(of: bench.request(), bench)]
        bench.desk.answer()
        #expect(outcomes[0].value?.principal != nil && outcomes[1].value?.refusal?.answer == .atCapacity)
        let broken = try BadgeBench()
        broken.desk.answersLater = true
        let late = try outcome(of: broken.request(), broken)
        broken.desk.isBroken = true
        broken.desk.answer()
        #expect(late.value?.refusal?.answer == .storeUnavailable)
    }
}
