import DeviceSimulation
import KeyStore
import Testing

@testable import Admission

struct SharedSecretPolicyTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let other = "fedcba9876543210fedcba9876543210"

    /// - Parameter secrets: by name.
    private func bench(_ secrets: [(String, String)] = [("main", secret)], anonymous: Bool = true) throws -> Bench {
        var bench = try Bench()
        bench.settings.sharedSecrets = try SharedSecrets(
            secrets.map { secretLine($0, $1) }.joined(separator: "\n"))
        bench.settings.requiresAppAuth = !anonymous
        return bench
    }

    private func answer(_ authorization: String?, _ bench: Bench) -> RefusalAnswer? {
        bench.gate.evaluate(bench.request().with { $0.authorization = authorization }).refusal?.answer
    }

    // MARK: What is shown

    @Test(arguments: ["Bearer ", "bearer ", "BEARER ", "bEaReR ", "Bearer   "])
    func `the secret is accepted after its scheme`(scheme: String) throws {
        let bench = try bench()
        let request = bench.request().with { $0.authorization = scheme + Self.secret }
        let principal = try #require(bench.gate.evaluate(request).admitted?.principal)
        #expect(principal.identity == .anonymous)
        #expect(principal.secretName == "main")
    }

    @Test func `without a secret the refusal says that one is required`() throws {
        let refusal = try #require(bench().gate.evaluate(bench().request()).refusal)
        #expect(refusal.status == 401 && refusal.code.rawValue == "shared_secret_required")
    }

    @Test(arguments: [
        "Bearer \(other)", "Bearer", "Bearer ", "\(secret)", "Basic \(secret)", "Bearer\(secret)", "Bearer\t\(secret)",
        "Bearer \(secret) ", "Bearer \(secret), Bearer \(secret)", "Bearer \(secret.uppercased())",
        "Bearer \(secret.dropLast())", "Bearer \(secret)0", "Bearer \"\(secret)\"", "Bearer Bearer \(secret)",
        "\u{212A}Bearer \(secret)", " ",
    ])
    func `every other header is refused`(authorization: String) throws {
        let bench = try bench()
        #expect(answer(authorization, bench) == .invalidSharedSecret)
        #expect(answer("Bearer \(Self.secret)", bench) == nil)
    }

    @Test func `each of several secrets is accepted under its own name, and a removed one isn't`() throws {
        let both = try bench([("old", Self.other), ("new", Self.secret)])
        for (name, secret) in [("old", Self.other), ("new", Self.secret)] {
            let request = both.request().with { $0.authorization = "Bearer \(secret)" }
            #expect(both.gate.evaluate(request).admitted?.principal.secretName == name)
        }
        let rotated = try SharedSecrets(secretLine("new", Self.secret))
        let gate = both.gate.changed { $0.sharedSecrets = rotated }
        let request = both.request().with { $0.authorization = "Bearer \(Self.other)" }
        #expect(gate.evaluate(request).refusal?.answer == .invalidSharedSecret)
    }

    @Test func `if no secret is required the header is ignored`() throws {
        var bench = try bench()
        bench.settings.sharedSecrets = nil
        #expect(answer("Bearer nonsense", bench) == nil)
        #expect(answer(nil, bench) == nil)
    }

    // MARK: Together with the other ways

    @Test func `the secret alone isn't enough if more is required`() throws {
        let bench = try bench(anonymous: false)
        #expect(answer("Bearer \(Self.secret)", bench) == .appAuthRequired)
    }

    @Test func `secret and assertion are both needed`() throws {
        let bench = try bench(anonymous: false)
        var device = try bench.registeredDevice()
        let request = bench.request(try bench.assertion(by: &device))
        #expect(bench.gate.evaluate(request).refusal?.answer == .sharedSecretRequired)
        let wrong = request.with { $0.authorization = "Bearer \(Self.other)" }
        #expect(bench.gate.evaluate(wrong).refusal?.answer == .invalidSharedSecret)
        #expect(bench.challenges.spentCount == 0, "the challenge is still good")
        let both = request.with { $0.authorization = "Bearer \(Self.secret)" }
        let principal = try #require(bench.gate.evaluate(both).admitted?.principal)
        #expect(principal.proxyName == "app_attest" && principal.secretName == "main")
        #expect(bench.gate.evaluate(both).refusal?.answer == .invalidNonce, "wrong credentials are wrong with it, too")
    }

    @Test func `a client certificate needs the secret, too`() throws {
        var bench = try bench(anonymous: false)
        bench.settings.clientCertificates = TrustedChains()
        let request = bench.request().with { $0.certificate = .good }
        #expect(bench.gate.evaluate(request).refusal?.answer == .sharedSecretRequired)
        #expect(bench.gate.evaluate(request.with { $0.authorization = "Bearer \(Self.secret)" }).admitted != nil)
    }

    @Test func `a request for a ticket needs the secret, also when credentials are requested again`() throws {
        let bench = try bench()
        guard case .refused(let refusal) = bench.gate.authenticate(bench.request()) else {
            Issue.record("authenticated without a secret")
            return
        }
        #expect(refusal.answer == .sharedSecretRequired)
    }

    // MARK: Tickets

    private func ticket(_ bench: Bench, _ office: TicketOffice, secret: String) throws -> String {
        let request = bench.request().with { $0.authorization = "Bearer \(secret)" }
        guard case .authenticated(let principal) = bench.gate.authenticate(request),
            case .issued(let issued) = office.issue(to: principal, at: start.monotonic)
        else { throw NoTicket() }
        return issued.ticket.text
    }

    private struct NoTicket: Error {}

    @Test func `a ticket replaces the secret presented for it, and so does the next ticket`() throws {
        var bench = try bench([("old", Self.other), ("new", Self.secret)])
        let office = TicketOffice()
        bench.settings.tickets = office
        let text = try ticket(bench, office, secret: Self.other)
        let principal = try #require(bench.gate.evaluate(bench.request().with { $0.ticket = text }).admitted?.principal)
        #expect(principal.isByTicket && principal.secretName == "old")
        guard case .issued(let next) = office.issue(to: principal, at: start.monotonic) else { throw NoTicket() }
        let rotated = try SharedSecrets(secretLine("new", Self.secret))
        let gate = bench.gate.changed { $0.sharedSecrets = rotated }
        let request = bench.request().with { $0.ticket = next.ticket.text }
        #expect(gate.evaluate(request).refusal?.answer == .invalidTicket, "the old secret was removed")
    }

    @Test func `a ticket from before secrets were required is refused`() throws {
        var bench = try bench()
        let office = TicketOffice()
        bench.settings.tickets = office
        guard
            case .authenticated(let principal) = bench.gate.changed({ $0.sharedSecrets = nil }).authenticate(
                bench.request()),
            case .issued(let issued) = office.issue(to: principal, at: start.monotonic)
        else { throw NoTicket() }
        let refusal = bench.gate.evaluate(bench.request().with { $0.ticket = issued.ticket.text }).refusal
        #expect(refusal?.answer == .invalidTicket)
    }

    @Test func `a wrong secret beside a ticket is refused, and the ticket stays valid`() throws {
        var bench = try bench()
        let office = TicketOffice()
        bench.settings.tickets = office
        let text = try ticket(bench, office, secret: Self.secret)
        let request = bench.request().with { $0.ticket = text }
        let wrong = request.with { $0.authorization = "Bearer \(Self.other)" }
        #expect(bench.gate.evaluate(wrong).refusal?.answer == .invalidSharedSecret)
        #expect(bench.gate.evaluate(request).admitted != nil)
    }

    @Test func `a forged ticket doesn't replace the secret`() throws {
        var bench = try bench()
        bench.settings.tickets = TicketOffice()
        for forged in ["", String(repeating: "A", count: 43)] {
            #expect(bench.gate.evaluate(bench.request().with { $0.ticket = forged }).refusal?.answer == .invalidTicket)
        }
        bench.settings.tickets = nil
        #expect(bench.gate.evaluate(bench.request().with { $0.ticket = "" }).refusal?.answer == .invalidTicket)
    }

    @Test func `an operator's ticket needs no secret`() throws {
        var bench = try bench(anonymous: false)
        let office = TicketOffice()
        bench.settings.tickets = office
        guard case .issued(let issued) = office.issueForOperator(timeToLive: .seconds(60), uses: 1, at: start.monotonic)
        else { throw NoTicket() }
        let principal = bench.gate.evaluate(bench.request().with { $0.ticket = issued.ticket.text }).admitted?.principal
        #expect(principal?.identity.method == TicketMethod.name)
    }

    // MARK: Guessing

    @Test func `guesses count as failed upgrades, and above the limit they get 429`() throws {
        var bench = try bench()
        bench.settings.limits = UpgradeLimits(failedUpgradesPerMinute: 3, verificationsPerSecond: 2)
        for guess in ["Bearer \(Self.other)", "Basic x", nil] { #expect(answer(guess, bench) != .rateLimited) }
        #expect(answer(nil, bench) == .rateLimited, "no credentials")
        #expect(answer("Bearer \(Self.other)", bench) == .rateLimited)
        #expect(answer("Bearer \(Self.secret)", bench) == nil, "a right one still passes")
        #expect(answer("Bearer \(Self.secret)", bench) == .rateLimited, "until the budget for checks is spent")
    }

    @Test func `the log of a refusal contains nothing that the client presented`() throws {
        let bench = try bench()
        for shown in ["Bearer \(Self.other)", "Basic \(Self.other)"] {
            let request = bench.request().with { $0.authorization = shown }
            let refusal = try #require(bench.gate.evaluate(request).refusal)
            #expect(!"\(refusal)".contains(Self.other))
        }
    }
}
