import Testing

@Suite("Admission methods")
struct AdmissionMethodRuleTests {
    private let methods = AdmissionMethodRule.methods(in: Repository.sources)
    private let proofs = AdmissionMethodRule.proofs(in: Repository.sources)

    private func findings(_ text: String, in path: String = "Sources/Gate/Admission/Policies/RatePolicy.swift")
        -> [String]
    {
        AdmissionMethodRule.namesElsewhere(SourceFile(path: path, text: text), methods.union(proofs))
    }

    @Test func `the rule finds the gateway's methods`() {
        #expect(
            methods == [
                "TicketMethod", "AppAttestMethod", "AccessTokenMethod", "SessionTokenMethod", "ClientCertificateMethod",
                "AnonymousMethod", "SignedRequestMethod",
            ])
    }

    @Test func `the rule finds the gateway's proofs`() {
        #expect(
            proofs == [
                "AppAttestProof", "AccessTokenProof", "ClientCertificateProof", "ReportedAdmission", "NoProof",
            ])
        #expect(
            findings("case let proof as AppAttestProof: true", in: "Sources/Gateway/GatewayServer/A.swift").count == 1)
    }

    @Test func `no policy, list, limit, log or route names a method, so that rules hold for all methods`() {
        #expect(Repository.sources.flatMap { AdmissionMethodRule.namesElsewhere($0, methods.union(proofs)) } == [])
        #expect(findings("if method is AppAttestMethod { return }").count == 1)
        #expect(findings("// AppAttestMethod\nlet a = \"TicketMethod\"") == [])
        #expect(findings("AppAttestMethod.name", in: "Sources/Session/Relay/DecisionRecord.swift") == [])
        #expect(findings("TicketMethod.name", in: "Sources/Session/Relay/DecisionRecord.swift").count == 1)
    }

    @Test func `no requirement of a method or of its proof has a silent default`() {
        for name in ["AdmissionMethod", "AdmissionProof"] {
            #expect(AdmissionMethodRule.defaults(of: name, in: Repository.sources) == [])
        }
        func found(_ text: String) -> Set<String> {
            AdmissionMethodRule.defaults(of: "A", in: [SourceFile(path: "Sources/Session/Relay/A.swift", text: text)])
        }
        let requirements = "protocol A: B { var end: Int { get }\n static func isRevoked(by c: C) -> Bool }\n"
        #expect(found(requirements + "extension A { var other: Int { let end = 1; return end } }") == [])
        #expect(
            found(requirements + "extension A { static func isRevoked(by c: C) -> Bool { false } }") == ["isRevoked"])
        #expect(found(requirements + "extension A { var end: Int { 0 } }\nextension B { func c() {} }") == ["end"])
    }

    @Test func `each exception names a method that occurs in its file`() {
        for (path, names) in AdmissionMethodRule.exceptions {
            let words = Set(Repository.sources.first { $0.path == path }?.swift.tokens.map(\.text) ?? [])
            #expect(names.isSubset(of: words), "\(path)")
        }
    }

    @Test func `no type has a case for each method`() {
        func listed(_ file: SourceFile) -> Set<String> {
            let names: Set = ["appAttest", "debugCertificate", "clientCertificate", "operatorTicket", "sessionToken"]
            let words = file.swift.tokens.map(\.text)
            return Set(words.indices.dropFirst().filter { words[$0 - 1] == "case" }.map { words[$0] }).intersection(
                names)
        }
        for file in Repository.sources { #expect(listed(file).count < 2, "\(file.path)") }
        let sample = SourceFile(
            path: "Sources/Session/Relay/A.swift", text: "enum A { case appAttest\n case sessionToken }")
        #expect(listed(sample).count == 2)
    }
}
