import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Synchronization
import Testing

@testable import Admission

/// The next ticket of a session, which outlives the process that has issued it. A process is a gate with a ticket
/// office of its own here, and what they share is the store.
@Suite("The next ticket of a session")
struct NextTicketTests {
    private static let lifetime = Duration.seconds(5_400)
    private var bench: Bench
    private let store = FallibleTickets()
    private let place = address("192.0.2.1")
    private let secret = "0123456789abcdef0123456789abcdef"

    init() throws {
        bench = try Bench()
        bench.settings.clientCertificates = TrustedChains(notAfter: .max)
        bench.settings.tickets = office()
    }

    private func office(maximum: Int = TicketOffice.defaultMaximum, lifetime: Duration? = lifetime) -> TicketOffice {
        TicketOffice(maximum: maximum, kept: store, nextLifetime: lifetime)
    }

    /// Another process on the same store, a while later.
    private func restarted(_ change: (inout GateSettings) -> Void = { _ in }) -> Gate {
        var settings = bench.settings
        settings.tickets = office()
        change(&settings)
        return Gate(settings)
    }

    private struct NoTicket: Error {}

    private func issue(
        to principal: Principal, _ session: String = "session", by gate: Gate? = nil, at moment: Moment = start
    ) throws -> TicketIssue {
        let issued = Mutex<TicketIssue?>(nil)
        (gate ?? bench.gate).issueNextTicket(to: principal, ofSession: session, from: place, at: moment) { issue in
            issued.withLock { $0 = issue }
        }
        return try #require(issued.withLock { $0 })
    }

    private func ticket(
        of principal: Principal, _ session: String = "session", by gate: Gate? = nil, at moment: Moment = start
    ) throws -> String {
        guard case .issued(let issued) = try issue(to: principal, session, by: gate, at: moment) else {
            throw NoTicket()
        }
        return issued.ticket.text
    }

    private func principal(_ device: inout SimulatedDevice) throws -> Principal {
        try #require(bench.gate.evaluate(bench.request(try bench.assertion(by: &device))).admitted?.principal)
    }

    private func decision(
        _ ticket: String, by gate: Gate, at moment: Moment = start,
        changing change: (inout AdmissionRequest) -> Void = { _ in }
    ) throws -> AdmissionDecision {
        let request = bench.request(at: moment).with {
            $0.ticket = ticket
            change(&$0)
        }
        return try #require(gate.evaluate(request).awaited)
    }

    @Test func `admits its client to another process, once`() throws {
        var device = try bench.registeredDevice()
        let ticket = try ticket(of: principal(&device))
        let gate = restarted()
        let principal = try #require(try decision(ticket, by: gate).admitted?.principal)
        #expect(principal.identity == .key(try #require(KeyID(bytes: device.keyID))))
        #expect(principal.isByTicket && (principal.proof as? AppAttestProof)?.app == Bench.app)
        for gate in [gate, restarted(), bench.gate] {
            #expect(try decision(ticket, by: gate).refusal?.answer == .invalidTicket)
        }
    }

    @Test func `admits clients of every kind, with their secrets`() throws {
        let secrets = try SharedSecrets(secretLine("main", secret))
        var bench = self.bench
        bench.settings.sharedSecrets = secrets
        let certificate = Principal(debugging: .good).showing(secrets.secret(shownAs: secret))
        let byOperator = Principal(.operatorTicket(TicketID()), proof: nil)
        for holder in [certificate, byOperator] {
            let ticket = try ticket(of: holder, by: bench.gate)
            let gate = restarted { $0.sharedSecrets = secrets }
            let principal = try #require(try decision(ticket, by: gate).admitted?.principal)
            #expect(principal.identity == holder.identity && principal.secretName == holder.secretName)
        }
        let anonymous = try ticket(of: .anonymous, by: restarted { $0.requiresAppAuth = false })
        #expect(try decision(anonymous, by: restarted()).refusal?.answer == .invalidTicket)
        let again = try ticket(of: .anonymous, by: restarted { $0.requiresAppAuth = false })
        let lax = restarted { $0.requiresAppAuth = false }
        #expect(try decision(again, by: lax).admitted?.principal.identity == .anonymous)
    }

    @Test func `ends with its proof: a revocation, the block list, a shared secret that is gone`() throws {
        var device = try bench.registeredDevice()
        let key = try #require(KeyID(bytes: device.keyID))
        let tickets = try (0..<3).map { try ticket(of: principal(&device), "\($0)") }
        let list = try BlockList("key \(key.base64)")
        let blocked = restarted { $0.blockList = list }
        #expect(try decision(tickets[0], by: blocked).refusal?.answer == .deviceBlocked)
        #expect(bench.registry.revoke(key, reason: "lost", at: 1))
        #expect(try decision(tickets[1], by: restarted()).refusal?.answer == .keyRevoked)
        #expect(bench.registry.restore(key) && bench.registry.forget(key) == .forgotten)
        #expect(try decision(tickets[2], by: restarted()).refusal?.answer == .invalidTicket)
        let certificate = try ticket(of: Principal(debugging: .good))
        let secrets = try SharedSecrets(secretLine("main", secret))
        let demanding = restarted { $0.sharedSecrets = secrets }
        #expect(try decision(certificate, by: demanding).refusal?.answer == .invalidTicket)
    }

    @Test func `is valid for its lifetime by the wall clock, and no moment longer`() throws {
        let alice = Principal(debugging: .good)
        let (first, second) = (try ticket(of: alice, "1"), try ticket(of: alice, "2"))
        guard case .issued(let issued) = try issue(to: alice, "3") else { throw NoTicket() }
        #expect(issued.expiresIn == 5_400)
        let end = 5_400_000
        // The monotonic clock of another boot says nothing about it.
        func moment(_ milliseconds: Int) -> Moment {
            Moment(
                monotonic: MonotonicTime(nanoseconds: 1),
                unixMilliseconds: start.unixMilliseconds + Int64(milliseconds))
        }
        #expect(try decision(first, by: restarted(), at: moment(end)).refusal?.answer == .invalidTicket)
        #expect(try decision(second, by: restarted(), at: moment(end - 1)).admitted != nil)
    }

    @Test func `isn't issued beyond the chain of its first ticket, nor by a client that came back with it`() throws {
        let alice = Principal(debugging: .good)
        let day = 86_400_000
        let ticket = try ticket(of: alice)
        let returned = try #require(try decision(ticket, by: restarted(), at: start + 1_000).admitted?.principal)
        guard case .issued(let last) = try issue(to: returned, at: start + (day - 60_000)) else { throw NoTicket() }
        #expect(last.expiresIn == 60)
        guard case .chainEnded = try issue(to: returned, at: start + day) else { throw NoTicket() }
    }

    @Test func `is used together with the others of its session`() throws {
        let alice = Principal(debugging: .good)
        let tickets = try (0..<3).map { try ticket(of: alice, at: start + $0) }
        #expect(try decision(tickets[1], by: restarted()).admitted != nil)
        for ticket in tickets { #expect(try decision(ticket, by: restarted()).refusal?.answer == .invalidTicket) }
    }

    @Test func `of many clients with one ticket admits one`() throws {
        let alice = Principal(debugging: .good)
        let gate = bench.gate
        for number in 0..<10 {
            let text = try ticket(of: alice, "\(number)")
            // From as many addresses, because failures are limited by address.
            let requests = (0..<40).map { client in
                bench.request().with {
                    $0.ticket = text
                    $0.address = address("198.51.\(number).\(client)")
                }
            }
            let decisions = race(40) { gate.evaluate(requests[$0]).awaited }
            #expect(decisions.compactMap { $0?.admitted }.count == 1)
            #expect(decisions.compactMap { $0?.refusal }.count { $0.answer == .invalidTicket } == 39)
        }
    }

    @Test func `isn't used up by a refusal for another reason`() throws {
        let ticket = try ticket(of: Principal(debugging: .good))
        let gate = restarted()
        #expect(try decision(ticket, by: gate) { $0.allowedMethods = ["app"] }.refusal?.answer == .wayNotAllowed)
        #expect(
            try decision(ticket, by: gate) { $0.handshake.fault = .version(received: "8") }.refusal?.answer
                == .unsupportedVersion)
        let full = restarted { $0.leases = SessionLeases(maximum: 0) }
        #expect(try decision(ticket, by: full).refusal?.answer == .atCapacity)
        #expect(try decision(ticket, by: gate) { $0.allowedMethods = ["cert"] }.admitted != nil)
    }

    @Test func `lasts for the time of a first ticket behind its session, unless the client has lost that`() throws {
        let alice = Principal(debugging: .good)
        let (ended, lost) = (try ticket(of: alice, "1"), try ticket(of: alice, "2"))
        let reloaded = try ticket(of: alice, "3")
        bench.gate.endTickets(ofSession: "1", keepingThem: false, at: start + 1_000)
        bench.gate.endTickets(ofSession: "2", keepingThem: true, at: start + 1_000)
        bench.gate.endTickets(ofSession: "3", keepingThem: false, at: start + 1_000)
        #expect(try decision(ended, by: bench.gate, at: start + 31_000).refusal?.answer == .invalidTicket)
        #expect(try decision(lost, by: bench.gate, at: start + 31_000).admitted != nil)
        #expect(try decision(reloaded, by: bench.gate, at: start + 30_999).admitted != nil)
    }

    @Test func `is an ordinary one where no session is kept`() throws {
        var bench = self.bench
        bench.settings.tickets = office(lifetime: nil)
        guard !bench.gate.keepsNextTickets,
            case .issued(let issued) = try issue(to: Principal(debugging: .good), by: bench.gate)
        else { throw NoTicket() }
        #expect(issued.expiresIn == 30 && store.count == 0)
        #expect(try decision(issued.ticket.text, by: restarted()).refusal?.answer == .invalidTicket)
        #expect(try decision(issued.ticket.text, by: bench.gate).admitted != nil)
    }

    @Test func `follows a reload of its lifetime`() throws {
        let office = try #require(bench.settings.tickets)
        for (lifetime, seconds) in [(Duration.seconds(120), 120), (.seconds(1), 30), (nil, 30)] {
            office.setNextLifetime(lifetime)
            guard case .issued(let issued) = try issue(to: Principal(debugging: .good), "\(seconds)") else {
                throw NoTicket()
            }
            #expect(issued.expiresIn == seconds)
        }
    }

    @Test func `isn't issued if the store doesn't keep it, and takes no place`() throws {
        let office = try #require(bench.settings.tickets)
        for failure in [KeyRegistryError.busy, .queueFull, .unavailable("no disk")] {
            store.fail(with: failure)
            guard case .refused(let refusal) = try issue(to: Principal(debugging: .good)) else { throw NoTicket() }
            #expect(refusal.answer == .storeUnavailable && office.count == 0)
        }
        store.fail(with: nil)
        _ = try ticket(of: Principal(debugging: .good))
        #expect(office.count == 1)
    }

    @Test func `isn't accepted while the store can't say whether it is used`() throws {
        let ticket = try ticket(of: Principal(debugging: .good))
        let gate = restarted()
        for call in [FallibleTickets.Call.find, .use] {
            store.fail(with: .busy, at: call)
            let refusal = try #require(try decision(ticket, by: gate).refusal)
            #expect(refusal.answer == .storeUnavailable && refusal.retryAfter != nil)
        }
        store.fail(with: nil)
        #expect(try decision(ticket, by: gate).admitted != nil)
    }

    @Test func `isn't issued to a client that would be refused now`() throws {
        var device = try bench.registeredDevice()
        let principal = try principal(&device)
        #expect(bench.registry.revoke(try #require(KeyID(bytes: device.keyID)), reason: "lost", at: 1))
        guard case .refused(let refusal) = try issue(to: principal) else { throw NoTicket() }
        #expect(refusal.answer == .keyRevoked && store.count == 0)
    }

    @Test func `is neither in the store nor in any description`() throws {
        let ticket = try ticket(of: Principal(debugging: .good), "a-name-4711")
        let kept = try #require(store.tickets.first)
        #expect(kept.hash == sha256(Array(ticket.utf8)))
        #expect(!String(decoding: kept.content, as: UTF8.self).contains(ticket))
        #expect(kept.session.bytes == sha256(Array("a-name-4711".utf8)))
        #expect(!String(decoding: kept.content, as: UTF8.self).contains("4711"))
    }

    /// Whoever writes to the file can admit anybody; what he writes must not do more than that.
    @Test func `is unknown if no gateway can have written it`() throws {
        let text = try ticket(of: Principal(debugging: .good))
        let good = try #require(store.tickets.first)
        let other = try #require(HolderMark(bytes: [UInt8](repeating: 1, count: 32)))
        for content in [[], [0xFF], Array(good.content.dropLast()), good.content + [0]] {
            store.replace(
                KeptTicket(
                    hash: good.hash, session: good.session, holder: good.holder, content: content,
                    expires: good.expires))
            #expect(try decision(text, by: restarted()).refusal?.answer == .invalidTicket)
        }
        store.replace(
            KeptTicket(
                hash: good.hash, session: good.session, holder: other, content: good.content, expires: good.expires))
        #expect(try decision(text, by: restarted()).refusal?.answer == .invalidTicket)
        store.replace(good)
        #expect(try decision(text, by: restarted()).admitted != nil)
    }
}

/// How many sessions can have next tickets, and that no client can use up what another one needs.
@Suite("The limits of next tickets")
struct NextTicketLimitTests {
    private let alice = Principal(debugging: .good)
    private let store = FallibleTickets()

    private struct NoTicket: Error {}

    private func isIssued(
        _ office: TicketOffice, to principal: Principal, _ session: String, from place: String = "203.0.113.7",
        at moment: Moment = start
    ) -> Bool {
        let issued = Mutex<TicketIssue?>(nil)
        let carrier = PrincipalCarrier.ofAll
        office.issueNext(
            to: principal, ofSession: session, from: address(place), carriedBy: carrier, at: moment
        ) { issue in issued.withLock { $0 = issue } }
        guard case .issued = issued.withLock({ $0 }) else { return false }
        return true
    }

    private func office(maximum: Int = TicketOffice.defaultMaximum) -> TicketOffice {
        TicketOffice(maximum: maximum, kept: store, nextLifetime: .seconds(5_400))
    }

    @Test func `count sessions by client and address, however often each is given one`() throws {
        let office = office()
        for number in 0..<TicketOffice.maximumPerHolder {
            for _ in 0..<3 { #expect(isIssued(office, to: .anonymous, "\(number)")) }
        }
        #expect(!isIssued(office, to: .anonymous, "more"))
        #expect(isIssued(office, to: .anonymous, "0") && isIssued(office, to: alice, "other"))
        #expect(isIssued(office, to: .anonymous, "elsewhere", from: "203.0.113.8"))
        office.end(session: "0", keepingTickets: false, at: start)
        #expect(!isIssued(office, to: .anonymous, "more", at: start + 29_000))
        #expect(isIssued(office, to: .anonymous, "more", at: start + 32_000))
    }

    @Test func `leave room for clients with credentials, and for first tickets`() throws {
        let office = office(maximum: 20)
        for host in 1...10 { #expect(isIssued(office, to: .anonymous, "\(host)", from: "198.51.100.\(host)")) }
        #expect(!isIssued(office, to: .anonymous, "11", from: "198.51.100.11"))
        for number in 0..<10 { #expect(isIssued(office, to: alice, "a\(number)")) }
        #expect(!isIssued(office, to: alice, "a10"))
        guard case .issued = office.issue(to: alice, at: start.monotonic) else { throw NoTicket() }
    }

    @Test func `say when to ask again, within half a minute`() throws {
        let office = office(maximum: 1)
        #expect(isIssued(office, to: alice, "1"))
        let issued = Mutex<TicketIssue?>(nil)
        office.issueNext(
            to: alice, ofSession: "2", from: address("192.0.2.1"), carriedBy: .ofAll, at: start
        ) { issue in issued.withLock { $0 = issue } }
        guard case .full(let seconds) = issued.withLock({ $0 }) else { throw NoTicket() }
        #expect(seconds == TicketOffice.longestRetrySeconds)
    }

    @Test func `end with the tickets, and with a session that goes to another address`() throws {
        let office = office()
        #expect(isIssued(office, to: alice, "1") && isIssued(office, to: alice, "2"))
        #expect(isIssued(office, to: alice, "1", from: "192.0.2.9") && office.count == 2)
        #expect(isIssued(office, to: alice, "3", at: start + 5_402_000) && office.count == 1)
    }
}
