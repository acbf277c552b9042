/// An admission method and its proof are named in the method's own folder and in the one list that adds it to the
/// gateway. Everything else uses `AdmissionMethod`, `AdmissionProof`, `MethodName` and `Identity`: then a method that
/// is added can't be forgotten anywhere.
enum AdmissionMethodRule {
    /// Files elsewhere that name a method, each for a part that only this method has.
    static let exceptions: [String: Set<String>] = [
        // The identity of clients without credentials.
        "Sources/Gate/Admission/Decision/Identity.swift": ["AnonymousMethod"],
        // Tickets and session tokens show an identity that another method has verified.
        "Sources/Gate/Admission/Decision/Principal.swift": ["TicketMethod", "SessionTokenMethod"],
        // Where the session's token is all that a client has, only the gateway that has the session can say who it is.
        "Sources/Gate/Admission/Gate+PassedOn.swift": ["SessionTokenMethod"],
        "Sources/Session/Relay/Fleet/Remote/UpgradeHandler+Fleet.swift": ["SessionTokenMethod"],
        // Issues tickets.
        "Sources/Gate/Admission/Gate.swift": ["TicketMethod"],
        "Sources/Session/Relay/TicketEndpoint.swift": ["TicketMethod"],
        "Sources/Gateway/GatewayServer/Control/ControlDesk.swift": ["TicketMethod"],
        // Registrations are App Attest's, and requests for access tokens are for that method.
        "Sources/Session/Relay/DecisionRecord.swift": ["AppAttestMethod", "AccessTokenMethod", "SignedRequestMethod"],
        // Access tokens are verified for other requests than upgrades, too.
        "Sources/Gate/Admission/Tokens/TokenSubject.swift": ["AccessTokenProof"],
        "Sources/Gate/Admission/Tokens/ResourceRequest.swift": ["AccessTokenProof"],
        "Sources/Gate/Admission/Tokens/ResourceVerifier.swift": ["AccessTokenProof"],
        // Issues access tokens, to devices that App Attest verifies.
        "Sources/Gate/Admission/Tokens/TokenIssuer.swift": ["AppAttestMethod", "AccessTokenMethod"],
    ]

    /// Where a method may be named freely: where it is defined, and where it is added.
    static func isHome(_ path: String) -> Bool {
        path.hasPrefix("Sources/Gate/Admission/Methods/") || path.hasSuffix("/AdmissionMethods.swift")
    }

    /// The types that conform to `AdmissionMethod`, but the names of type parameters.
    static func methods(in files: [SourceFile]) -> Set<String> {
        Set(
            files.flatMap { file in
                let words = file.swift.tokens.map(\.text)
                return words.indices.dropFirst(2).filter { index in
                    words[index] == "AdmissionMethod" && words[index - 1] == ":" && words[index - 2] != "Method"
                        && words[index - 2].hasSuffix("Method")
                }.map { words[$0 - 2] }
            })
    }

    /// The types that conform to `AdmissionProof`, but the names of type parameters.
    static func proofs(in files: [SourceFile]) -> Set<String> {
        Set(
            files.flatMap { file in
                let words = file.swift.tokens.map(\.text)
                return words.indices.dropFirst(2).filter { index in
                    words[index] == "AdmissionProof" && words[index - 1] == ":" && words[index - 2] != "Proof"
                }.map { words[$0 - 2] }
            })
    }

    /// What an extension answers for all types that conform to a protocol: silent defaults of its requirements.
    static func defaults(of name: String, in files: [SourceFile]) -> Set<String> {
        let words = files.map { $0.swift.tokens.map(\.text) }
        return members("protocol", name, in: words).intersection(members("extension", name, in: words))
    }

    /// Properties and functions in the blocks that a keyword and a name begin.
    private static func members(_ keyword: String, _ name: String, in files: [[String]]) -> Set<String> {
        var names: Set<String> = []
        for words in files {
            var (depth, isInside) = (0, false)
            for index in words.indices.dropFirst() {
                switch words[index] {
                case name where depth == 0 && words[index - 1] == keyword: isInside = true
                case "{": depth += 1
                case "}":
                    depth -= 1
                    isInside = isInside && depth > 0
                case let word where isInside && depth == 1 && ["var", "func"].contains(words[index - 1]):
                    names.insert(word)
                default: break
                }
            }
        }
        return names
    }

    static func namesElsewhere(_ file: SourceFile, _ methods: Set<String>) -> [String] {
        guard file.isSource, !isHome(file.path) else { return [] }
        let allowed = exceptions[file.path] ?? []
        return file.swift.tokens.filter { methods.contains($0.text) && !allowed.contains($0.text) }.map {
            file.finding(line: $0.line, "\($0.text) is named outside its folder and the list of methods")
        }
    }
}
