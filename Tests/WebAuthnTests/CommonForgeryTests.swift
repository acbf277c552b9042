import DeviceSimulation
import Testing
import WebAuthn

/// Forgeries of the steps that both ceremonies have: each is tried in a registration and in an authentication.
@Suite("Both ceremonies")
struct CommonForgeryTests {
    typealias ClientDataForgery = Forgery<PasskeyClientDataPlan>
    typealias DataForgery = Forgery<PasskeyDataPlan>

    private static func text(_ text: String) -> @Sendable (inout PasskeyClientDataPlan) -> Void {
        { $0.changeText = { $0 = Array(text.utf8) } }
    }

    private static func set(_ name: String, _ json: String?) -> @Sendable (inout PasskeyClientDataPlan) -> Void {
        { $0.set(name, json) }
    }

    /// The bytes are those of a parser's refusals: ``JSONDefectTests`` has the rest.
    static let ofJSON: [(String, @Sendable (inout PasskeyClientDataPlan) -> Void)] = [
        ("nothing", text("")), ("an array", text("[]")), ("a text", text("\"webauthn.get\"")),
        ("something behind the object", { $0.changeText = { $0 += Array("{}".utf8) } }),
        ("no end", { $0.changeText = { $0.removeLast() } }),
        ("a member twice", { $0.members.append($0.members[0]) }),
        ("a member twice, once escaped", { $0.members.append(("\\u0074ype", $0.members[0].json)) }),
        ("half a surrogate pair", set("x", #""\ud800""#)),
        ("bytes that aren't UTF-8", { $0.changeText = { $0.insert(0xFF, at: 2) } }),
        ("UTF-16", { $0.changeText = { $0 = $0.flatMap { [0, $0] } } }),
        ("two byte order marks", { $0.changeText = { $0 = [0xEF, 0xBB, 0xBF, 0xEF, 0xBB, 0xBF] + $0 } }),
        ("a comment", { $0.changeText = { $0 += Array("//".utf8) } }),
        ("too deep", set("x", String(repeating: "[", count: 8) + String(repeating: "]", count: 8))),
        ("too many values", set("x", "[" + String(repeating: "0,", count: 128) + "0]")),
        ("a long number", set("x", String(repeating: "1", count: 33))),
        ("too long", set("x", "\"\(String(repeating: "x", count: 8_192))\"")),
    ]

    static let ofClientData: [ClientDataForgery] = [
        .init("no type", .clientDataMember(.type), set("type", nil)),
        .init("a number as type", .clientDataMember(.type), set("type", "1")),
        .init("another type", .typeMismatch, set("type", "\"payment.get\"")),
        .init("an upper-case type", .typeMismatch, { $0.set("type", $0.members[0].json.uppercased()) }),
        .init("no challenge", .clientDataMember(.challenge), set("challenge", nil)),
        .init("null as challenge", .clientDataMember(.challenge), set("challenge", "null")),
        .init("an empty challenge", .challengeMismatch, set("challenge", "\"\"")),
        .init(
            "another ceremony's challenge", .challengeMismatch,
            set("challenge", "\"\(PasskeyRequest.base64URL(PasskeyStage.otherChallenge))\"")),
        .init(
            "the challenge with padding", .challengeMismatch,
            set("challenge", "\"\(PasskeyRequest.base64URL(PasskeyStage.challenge))=\"")),
        .init(
            "the challenge in base64", .challengeMismatch,
            { plan in
                let text = PasskeyRequest.base64URL(PasskeyStage.challenge).replacing("-", with: "+")
                plan.set("challenge", "\"\(text.replacing("_", with: "/"))\"")
            }),
        .init(
            "the challenge and more", .challengeMismatch,
            set("challenge", "\"\(PasskeyRequest.base64URL(PasskeyStage.challenge + [0]))\"")),
        .init("no origin", .clientDataMember(.origin), set("origin", nil)),
        .init("an array as origin", .clientDataMember(.origin), set("origin", #"["https://mud.example"]"#)),
        .init("another origin", .originNotAllowed, set("origin", #""https://evil.example""#)),
        .init("the origin without TLS", .originNotAllowed, set("origin", #""http://mud.example""#)),
        .init("the origin with a port", .originNotAllowed, set("origin", #""https://mud.example:443""#)),
        .init("the origin with a slash", .originNotAllowed, set("origin", #""https://mud.example/""#)),
        .init("the origin in capitals", .originNotAllowed, set("origin", #""https://MUD.example""#)),
        .init("a subdomain as origin", .originNotAllowed, set("origin", #""https://x.mud.example""#)),
        .init("an origin that begins like ours", .originNotAllowed, set("origin", #""https://mud.example.evil""#)),
        .init("an empty origin", .originNotAllowed, set("origin", #""""#)),
        .init("a text as crossOrigin", .clientDataMember(.crossOrigin), set("crossOrigin", #""false""#)),
        .init("null as crossOrigin", .clientDataMember(.crossOrigin), set("crossOrigin", "null")),
        .init("a frame", .crossOriginNotAllowed, set("crossOrigin", "true")),
        .init("a number as topOrigin", .clientDataMember(.topOrigin), set("topOrigin", "1")),
        .init("a top origin", .topOriginNotAllowed, set("topOrigin", #""https://mud.example""#)),
    ]

    static let ofData: [DataForgery] = [
        .init("no data", .malformedAuthenticatorData(.truncated)) { $0.changeBytes = { $0 = [] } },
        .init("36 bytes", .malformedAuthenticatorData(.truncated)) {
            $0.credential = nil
            $0.changeBytes = { $0.removeLast() }
        },
        .init("trailing bytes", .malformedAuthenticatorData(.trailingBytes)) { $0.changeBytes = { $0.append(0) } },
        .init("outputs without their flag", .malformedAuthenticatorData(.trailingBytes)) {
            $0.extensions = .map([])
            $0.changeBytes = { $0[32] &= 0x7F }
        },
        .init("a list of outputs", .malformedAuthenticatorData(.unexpectedExtensions)) { $0.extensions = .array([]) },
        .init("outputs with a number as key", .malformedAuthenticatorData(.unexpectedExtensions)) {
            $0.extensions = .map([(.unsigned(1), .null)])
        },
        .init("an announced credential that isn't there", .malformedAuthenticatorData(.truncated)) {
            $0.credential = nil
            $0.changeBytes = { $0[32] |= 0x40 }
        },
        .init("another relying party", .rpIDHashMismatch) { $0.rpIDHash[31] ^= 1 },
        .init("no user", .userNotPresent) { $0.flags &= ~SimulatedPasskey.userPresent },
        .init("an unverified user", .userNotVerified) { $0.flags &= ~SimulatedPasskey.userVerified },
        .init("a backup without eligibility", .backedUpButNotEligible) {
            $0.flags &= ~SimulatedPasskey.backupEligible
        },
    ]

    private func register(_ change: (inout PasskeyRegistrationPlan) throws -> Void) async throws {
        _ = try await PasskeyStage().register(.packed, changing: change)
    }

    private func signIn(_ change: (inout PasskeyAuthenticationPlan) throws -> Void) async throws {
        var stage = try PasskeyStage()
        let record = try await stage.register().record
        _ = try stage.signIn(record, changing: change)
    }

    @Test(arguments: ofJSON.indices)
    func `refuse client data that isn't strict JSON`(index: Int) async throws {
        let (name, change) = Self.ofJSON[index]
        for attempt in [
            { try await register { change(&$0.clientData) } }, { try await signIn { change(&$0.clientData) } },
        ] {
            do {
                try await attempt()
                Issue.record("\(name) was accepted")
            } catch CeremonyError.malformedClientData {}
        }
    }

    @Test(arguments: ofClientData)
    func `refuse client data of another ceremony`(forgery: ClientDataForgery) async throws {
        await #expect(throws: forgery.expected) { try await register { try forgery.change(&$0.clientData) } }
        await #expect(throws: forgery.expected) { try await signIn { try forgery.change(&$0.clientData) } }
    }

    @Test func `refuse each other's client data`() async throws {
        await #expect(throws: CeremonyError.typeMismatch) {
            try await register { $0.clientData.set("type", "\"webauthn.get\"") }
        }
        await #expect(throws: CeremonyError.typeMismatch) {
            try await signIn { $0.clientData.set("type", "\"webauthn.create\"") }
        }
    }

    @Test(arguments: ofData)
    func `refuse authenticator data of another ceremony`(forgery: DataForgery) async throws {
        await #expect(throws: forgery.expected) { try await register { try forgery.change(&$0.authenticatorData) } }
        await #expect(throws: forgery.expected) { try await signIn { try forgery.change(&$0.authenticatorData) } }
    }

    @Test func `accept a byte order mark, unknown members, and any order and space`() async throws {
        let change: @Sendable (inout PasskeyClientDataPlan) -> Void = { plan in
            plan.members.reverse()
            plan.set("tokenBinding", #"{"status":"supported"}"#)
            plan.set("other_keys_can_be_added_here", #""do not compare""#)
            plan.changeText = { $0 = [0xEF, 0xBB, 0xBF] + Array(" \r\n\t".utf8) + $0 + Array("\n".utf8) }
        }
        try await register { change(&$0.clientData) }
        try await signIn { change(&$0.clientData) }
    }

    @Test func `accept none without a challenge, and reveal the claimed one`() async throws {
        let stage = try PasskeyStage()
        let made = try stage.passkey.registration(PasskeyStage.request, .none, by: stage.vendor, at: PasskeyStage.time)
        let response = RegistrationResponse(
            clientDataJSON: made.clientDataJSON, attestationObject: made.attestationObject)
        await #expect(throws: CeremonyError.challengeMismatch) {
            try await stage.registrationVerifier().verify(response, challenge: [], at: PasskeyStage.time)
        }
        let claimed = try CollectedClientData(json: made.clientDataJSON)
        #expect(claimed.challenge == PasskeyRequest.base64URL(PasskeyStage.challenge))
        #expect(claimed.type == "webauthn.create" && claimed.origin == PasskeyStage.request.origin)
        #expect(!claimed.isCrossOrigin && claimed.topOrigin == nil)
    }
}
