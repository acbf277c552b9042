import AppAttest
import FoundationEssentials
import Testing

/// The real attestations and assertions in `PORTCULLIS_VECTORS` (default: `../shared/vectors` beside the package). They
/// are third-party data and not part of the package: if they are missing, their tests are skipped with that reason.
enum Vectors {
    static let all: [Vector]? = load()
    static var areAvailable: Bool { all != nil }
    static let skipReason = "the real vectors are absent (PORTCULLIS_VECTORS)"

    static var attestations: [AttestationVector] { (all ?? []).compactMap(AttestationVector.init) }
    static var assertions: [AssertionVector] { (all ?? []).flatMap(AssertionVector.all) }

    private static var file: String {
        let configured = ProcessInfo.processInfo.environment["PORTCULLIS_VECTORS"]
        // <package>/Tests/AppAttestTests/Vectors.swift
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = configured.map { URL(filePath: $0) } ?? package.appending(path: "../shared/vectors")
        return folder.appending(path: "app-attest.json").standardizedFileURL.path(percentEncoded: false)
    }

    private static func load() -> [Vector]? {
        guard let data = try? Data(contentsOf: URL(filePath: file)) else {
            print("skipped: \(skipReason); looked for \(file)")
            return nil
        }
        do { return try JSONDecoder().decode([Vector].self, from: data) } catch {
            fatalError("\(file) can't be read: \(error)")
        }
    }
}

/// One test case of the file.
struct Vector: Decodable {
    struct Assertion: Decodable {
        let assertion: Data
        let clientDataHash: Data
        let counter: UInt32
        let previousCounter: UInt32
    }

    let id: String
    let os: String
    let teamID: String
    let bundleID: String
    let environment: String?
    let keyID: Data?
    let clientDataHash: Data?
    let attestation: Data?
    let validAt: String?
    let leafNotBefore: String?
    let leafNotAfter: String?
    let publicKeyX963: String
    let assertions: [Assertion]
}

/// An attestation with all data needed to verify it.
struct AttestationVector: Sendable, CustomTestStringConvertible {
    let id, os: String
    var app: AppID
    var environment: AttestationEnvironment
    var keyID, clientDataHash, attestation: [UInt8]
    var time: Date
    let notBefore, notAfter: Date
    let publicKeyX963: [UInt8]

    init?(_ vector: Vector) {
        guard let attestation = vector.attestation, let keyID = vector.keyID, let hash = vector.clientDataHash,
            let app = AppID(teamID: vector.teamID, bundleID: vector.bundleID),
            let environment = vector.environment.flatMap(AttestationEnvironment.init(rawValue:)),
            let time = vector.validAt.flatMap(date), let notBefore = vector.leafNotBefore.flatMap(date),
            let notAfter = vector.leafNotAfter.flatMap(date)
        else { return nil }
        (id, os, self.app, self.environment) = (vector.id, vector.os, app, environment)
        (self.keyID, clientDataHash, self.attestation) = (Array(keyID), Array(hash), Array(attestation))
        (self.time, self.notBefore, self.notAfter) = (time, notBefore, notAfter)
        publicKeyX963 = bytes(hex: vector.publicKeyX963)
    }

    var testDescription: String { id }

    func verify(_ trustRoot: TrustRoot = .apple) async throws(AttestationError) -> VerifiedAttestation {
        let policy = AttestationPolicy(apps: [app], environments: [environment])
        return try await AttestationVerifier(trustRoot: trustRoot, policy: policy)
            .verify(attestation: attestation, keyID: keyID, clientDataHash: clientDataHash, at: time)
    }
}

/// An assertion with all data needed to verify it.
struct AssertionVector: Sendable, CustomTestStringConvertible {
    let id, os: String
    var app: AppID
    var assertion, clientDataHash, publicKeyX963: [UInt8]
    let counter: UInt32
    var previousCounter: UInt32

    static func all(of vector: Vector) -> [AssertionVector] {
        guard let app = AppID(teamID: vector.teamID, bundleID: vector.bundleID) else { return [] }
        return vector.assertions.map {
            AssertionVector(
                id: "\(vector.id) #\($0.counter)", os: vector.os, app: app, assertion: Array($0.assertion),
                clientDataHash: Array($0.clientDataHash), publicKeyX963: bytes(hex: vector.publicKeyX963),
                counter: $0.counter, previousCounter: $0.previousCounter)
        }
    }

    var testDescription: String { id }

    func verify() throws(AssertionError) -> VerifiedAssertion {
        try AssertionVerifier().verify(
            assertion: assertion, clientDataHash: clientDataHash, publicKeyX963: publicKeyX963, app: app,
            previousCounter: previousCounter)
    }
}

/// ISO 8601, with or without fractional seconds.
private func date(_ text: String) -> Date? {
    let style = Date.ISO8601FormatStyle()
    return (try? style.parse(text)) ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
}

private func bytes(hex: String) -> [UInt8] {
    let digits = hex.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
