import Compression
import Testing
import WebSocketWire

/// The elements of one `Sec-WebSocket-Extensions` field.
private func members(_ field: String) -> [WebSocketExtension] { WebSocketExtension.list([field]) ?? [] }

private func offer(_ field: String) -> DeflateOffer? { members(field).first.flatMap { DeflateOffer($0) } }

@Suite("An offer of permessage-deflate")
struct DeflateOfferTests {
    @Test func `has any of four parameters (RFC 7692 §7.1)`() throws {
        let none = try #require(offer("permessage-deflate"))
        #expect(!none.serverNoContextTakeover && !none.clientNoContextTakeover && !none.allowsClientMaxWindowBits)
        #expect(none.serverMaxWindowBits == nil && none.clientMaxWindowBits == nil)
        let all = try #require(
            offer(
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                    + "server_max_window_bits=9; client_max_window_bits=\"15\""))
        #expect(all.serverNoContextTakeover && all.clientNoContextTakeover && all.allowsClientMaxWindowBits)
        #expect(all.serverMaxWindowBits == 9 && all.clientMaxWindowBits == 15)
        let bare = try #require(offer("permessage-deflate; client_max_window_bits"))
        #expect(bare.allowsClientMaxWindowBits && bare.clientMaxWindowBits == nil)
    }

    @Test(arguments: [
        "other", "server_no_context_takeover=1", "client_no_context_takeover=true", "server_max_window_bits",
        "server_max_window_bits=7", "server_max_window_bits=16", "server_max_window_bits=08",
        "server_max_window_bits=+9", "client_max_window_bits=7", "client_max_window_bits=16",
        "client_max_window_bits=x", "client_max_window_bits; client_max_window_bits",
        "server_no_context_takeover; server_no_context_takeover",
        "server_max_window_bits=9; server_max_window_bits=10", "Server_No_Context_Takeover",
    ])
    func `is declined for a parameter that is unknown, comes twice or has a wrong value (RFC 7692 §7.1)`(
        parameters: String
    ) {
        #expect(!members("permessage-deflate; " + parameters).isEmpty)
        #expect(offer("permessage-deflate; " + parameters) == nil)
    }

    @Test func `has exactly that name`() {
        #expect(offer("x-webkit-deflate-frame") == nil)
    }

    @Test func `has windows of 8 to 15 bits (RFC 7692 §7.1.2)`() {
        for bits in 8...15 {
            #expect(offer("permessage-deflate; server_max_window_bits=\(bits)")?.serverMaxWindowBits == bits)
        }
    }
}

@Suite("The agreement on permessage-deflate")
struct DeflateAgreementTests {
    private static let wide = DeflateSettings(serverWindowBits: 15, clientWindowBits: 15)

    private static func agree(_ field: String, _ settings: DeflateSettings = wide) throws -> DeflateAgreement? {
        DeflateAgreement(to: try #require(offer(field)), settings: settings)
    }

    @Test func `answers the plainest offer with nothing but the name`() throws {
        let agreement = try #require(try Self.agree("permessage-deflate"))
        #expect(agreement.response.text == "permessage-deflate")
        #expect(agreement.serverWindowBits == 15 && agreement.clientWindowBits == 15)
        #expect(agreement.serverKeepsContext && agreement.clientKeepsContext && agreement.memoryLevel == 8)
    }

    @Test func `is absent where compression is off`() throws {
        #expect(try Self.agree("permessage-deflate", DeflateSettings(isOn: false)) == nil)
    }

    @Test func `keeps no context that either side declines, and says so (RFC 7692 §7.1.1)`() throws {
        let asked = try #require(
            try Self.agree("permessage-deflate; server_no_context_takeover; client_no_context_takeover"))
        #expect(!asked.serverKeepsContext && !asked.clientKeepsContext)
        let text = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
        #expect(asked.response.text == text)
        var settings = Self.wide
        settings.serverKeepsContext = false
        settings.clientKeepsContext = false
        #expect(try Self.agree("permessage-deflate", settings)?.response.text == text)
    }

    @Test func `makes the server's window no larger than the offer has it (RFC 7692 §7.1.2.1)`() throws {
        let smaller = try #require(try Self.agree("permessage-deflate; server_max_window_bits=10"))
        #expect(smaller.serverWindowBits == 10)
        #expect(smaller.response.text == "permessage-deflate; server_max_window_bits=10")
        let own = try #require(
            try Self.agree("permessage-deflate; server_max_window_bits=14", DeflateSettings(serverWindowBits: 11)))
        #expect(own.serverWindowBits == 11 && own.memoryLevel == 4)
        #expect(own.response.text == "permessage-deflate; server_max_window_bits=11")
        #expect(try Self.agree("permessage-deflate", DeflateSettings(serverWindowBits: 9))?.serverWindowBits == 9)
    }

    @Test func `declines a server's window of 8 bits, which zlib can't make`() throws {
        #expect(try Self.agree("permessage-deflate; server_max_window_bits=8") == nil)
        #expect(try Self.agree("permessage-deflate; server_max_window_bits=9")?.memoryLevel == 2)
    }

    @Test func `limits the client's window only where the client allows it (RFC 7692 §7.1.2.2)`() throws {
        let small = DeflateSettings(serverWindowBits: 15, clientWindowBits: 10)
        let free = try #require(try Self.agree("permessage-deflate", small))
        #expect(free.clientWindowBits == 15 && free.response.text == "permessage-deflate")
        let limited = try #require(try Self.agree("permessage-deflate; client_max_window_bits", small))
        #expect(limited.clientWindowBits == 10)
        #expect(limited.response.text == "permessage-deflate; client_max_window_bits=10")
        let own = try #require(try Self.agree("permessage-deflate; client_max_window_bits=9", small))
        #expect(own.clientWindowBits == 9)
        #expect(own.response.text == "permessage-deflate; client_max_window_bits=9")
        let smallest = try #require(try Self.agree("permessage-deflate; client_max_window_bits=8"))
        #expect(smallest.clientWindowBits == 9)
        #expect(smallest.response.text == "permessage-deflate; client_max_window_bits=8")
    }

    @Test(arguments: [
        "permessage-deflate", "permessage-deflate; client_max_window_bits",
        "permessage-deflate; server_max_window_bits=10; client_max_window_bits=12",
        "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
    ])
    func `is the same for the client that reads the answer`(field: String) throws {
        for settings in [Self.wide, DeflateSettings(serverWindowBits: 9, clientWindowBits: 9)] {
            let server = try #require(try Self.agree(field, settings))
            let offered = try #require(members(field).first)
            let client = try #require(DeflateAgreement(response: server.response, to: offered))
            #expect(client.serverWindowBits >= server.serverWindowBits)
            #expect(client.clientWindowBits <= server.clientWindowBits)
            #expect(client.serverKeepsContext == server.serverKeepsContext)
            #expect(client.clientKeepsContext == server.clientKeepsContext)
        }
    }

    @Test(arguments: [
        ("permessage-deflate", "permessage-deflate; client_max_window_bits=10"),
        ("permessage-deflate; client_max_window_bits", "permessage-deflate; client_max_window_bits"),
        ("permessage-deflate; server_max_window_bits=10", "permessage-deflate"),
        ("permessage-deflate; server_max_window_bits=10", "permessage-deflate; server_max_window_bits=11"),
        ("permessage-deflate; server_no_context_takeover", "permessage-deflate"),
        ("permessage-deflate; client_max_window_bits", "permessage-deflate; client_max_window_bits=8"),
        ("permessage-deflate", "permessage-deflate; unknown"),
    ])
    func `is refused by a client where it must be (RFC 7692 §7.1)`(offered: String, response: String) throws {
        let (offered, response) = (try #require(members(offered).first), try #require(members(response).first))
        #expect(DeflateAgreement(response: response, to: offered) == nil)
    }
}

@Suite("The memory for compression")
struct DeflateBudgetTests {
    private static let costs = DeflateCosts(MessageInflateEngine.self, MessageDeflateEngine.self)
    private static let wide = DeflateSettings(serverWindowBits: 15, clientWindowBits: 15)
    private static let best = members("permessage-deflate; client_max_window_bits")

    private static func budget(session: Int = .max, total: Int = .max) -> DeflateBudget {
        DeflateBudget(limits: .init(sessionBytes: session, totalBytes: total), costs: costs)
    }

    @Test func `takes the first offer that can be accepted (RFC 7692 §5.1)`() {
        var budget = Self.budget()
        let offers = members(
            "other, permessage-deflate; unknown, permessage-deflate; server_max_window_bits=8, "
                + "permessage-deflate; server_max_window_bits=11, permessage-deflate")
        #expect(budget.agree(to: offers, settings: Self.wide)?.serverWindowBits == 11)
        #expect(budget.agree(to: members("other, permessage-deflate; x"), settings: Self.wide) == nil)
    }

    @Test func `is reserved for the engines' cost and released`() throws {
        var budget = Self.budget()
        let agreed = budget.agree(to: Self.best, settings: Self.wide)
        let agreement = try #require(agreed)
        let expected =
            MessageInflateEngine.bytes(windowBits: 15) + MessageDeflateEngine.bytes(windowBits: 15, memoryLevel: 8)
        #expect(budget.reservedBytes == expected)
        budget.release(agreement)
        #expect(budget.reservedBytes == 0)
    }

    @Test func `charges no deflater to a session whose context isn't kept`() throws {
        var budget = Self.budget()
        _ = budget.agree(to: members("permessage-deflate; server_no_context_takeover"), settings: Self.wide)
        #expect(budget.reservedBytes == MessageInflateEngine.bytes(windowBits: 15))
    }

    @Test func `makes windows smaller until a session fits, then shares the deflater, then doesn't compress`() throws {
        let all =
            MessageInflateEngine.bytes(windowBits: 15) + MessageDeflateEngine.bytes(windowBits: 15, memoryLevel: 8)
        var (exact, below) = (Self.budget(session: all), Self.budget(session: all - 1))
        #expect(exact.agree(to: Self.best, settings: Self.wide)?.serverWindowBits == 15)
        let agreedSmaller = below.agree(to: Self.best, settings: Self.wide)
        let smaller = try #require(agreedSmaller)
        #expect(smaller.serverWindowBits == 14 && smaller.clientWindowBits == 14 && smaller.serverKeepsContext)
        let least =
            MessageInflateEngine.bytes(windowBits: 9) + MessageDeflateEngine.bytes(windowBits: 9, memoryLevel: 2)
        var small = Self.budget(session: least - 1)
        let agreedShared = small.agree(to: Self.best, settings: Self.wide)
        let shared = try #require(agreedShared)
        #expect(!shared.serverKeepsContext && shared.serverWindowBits == 15)
        var none = Self.budget(session: MessageInflateEngine.bytes(windowBits: 9) - 1)
        #expect(none.agree(to: Self.best, settings: Self.wide) == nil && none.reservedBytes == 0)
    }

    @Test func `never exceeds its total, and a shortage only disables compression`() {
        var budget = Self.budget(total: 1_000_000)
        var agreements: [DeflateAgreement] = []
        for _ in 0..<200 {
            agreements += [budget.agree(to: Self.best, settings: Self.wide)].compactMap { $0 }
            #expect(budget.reservedBytes <= 1_000_000)
        }
        #expect(agreements.first?.serverWindowBits == 15)
        #expect(agreements.contains { $0.serverKeepsContext && $0.serverWindowBits < 15 })
        #expect(budget.agree(to: Self.best, settings: Self.wide) == nil)
        for agreement in agreements { budget.release(agreement) }
        #expect(budget.reservedBytes == 0)
        #expect(budget.agree(to: Self.best, settings: Self.wide)?.serverWindowBits == 15)
    }

    @Test func `takes idle deflaters back when three quarters are reserved, and not before`() throws {
        let offer = members("permessage-deflate; client_max_window_bits")
        let deflater = MessageDeflateEngine.bytes(windowBits: 15, memoryLevel: 8)
        let all = MessageInflateEngine.bytes(windowBits: 15) + deflater
        var budget = Self.budget(total: all * 4)
        let agreed = budget.agree(to: offer, settings: Self.wide)
        let agreement = try #require(agreed)
        _ = budget.agree(to: offer, settings: Self.wide)
        _ = budget.agree(to: offer, settings: Self.wide)
        #expect(budget.reservedBytes == 3 * all && !budget.isTight)
        let early = budget.suspendDeflater(of: agreement)
        #expect(!early)
        _ = budget.agree(to: offer, settings: Self.wide)
        #expect(budget.isTight)
        let isSuspended = budget.suspendDeflater(of: agreement)
        #expect(isSuspended)
        #expect(budget.reservedBytes == 4 * all - deflater)
        let isResumed = budget.resumeDeflater(of: agreement)
        #expect(!isResumed && budget.reservedBytes == 4 * all - deflater)
        budget.release(agreement, isDeflaterSuspended: true)
        #expect(budget.reservedBytes == 3 * all)
        let small = budget.agree(to: offer, settings: DeflateSettings(serverWindowBits: 9, clientWindowBits: 9))
        let other = try #require(small)
        let isOtherSuspended = budget.suspendDeflater(of: other)
        #expect(isOtherSuspended)
        budget.limits.totalBytes = .max
        let isOtherResumed = budget.resumeDeflater(of: other)
        #expect(isOtherResumed)
    }

    @Test func `by default has room for a client that doesn't let its window be limited`() throws {
        var budget = DeflateBudget(costs: Self.costs)
        let agreed = budget.agree(to: members("permessage-deflate"), settings: DeflateSettings())
        let agreement = try #require(agreed)
        #expect(agreement.clientWindowBits == 15 && agreement.serverWindowBits == 12 && agreement.serverKeepsContext)
    }
}
