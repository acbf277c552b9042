import CBOR
import DeviceSimulation
import FoundationEssentials
import StrictDER

@testable import AppAttest

/// App Attest's objects: CBOR, and what it names.
let attestPlaces = places {
    cbor("a text") { .text($0) }
    cbor("a map's key") { .map([(.text($0), .unsigned(1))]) }
    cbor("two keys of a map") { .map([(.text($0), .unsigned(1)), (.text($0 + "a"), .unsigned(1))]) }
    cbor("the format") {
        .map([(.text("fmt"), .text($0)), (.text("attStmt"), .map([])), (.text("authData"), .bytes([]))])
    }
    cbor("a statement's key") {
        .map([
            (.text("fmt"), .text("apple-appattest")), (.text("attStmt"), .map([(.text($0), .null)])),
            (.text("authData"), .bytes([])),
        ])
    }
    cbor("an assertion's key") { .map([(.text("signature"), .bytes([])), (.text($0), .bytes([]))]) }
    bytes("CBOR of hostile bytes", bytes: CBORLimits.maximumAttestationBytes, readObjects)
    made("a CBOR map of many texts", bytes: CBORLimits.maximumAttestationBytes) { bytes in
        let piece = String(decoding: bytes.prefix(100), as: UTF8.self)
        let entries = (0..<bytes.count / 120).map { (CBORItem.text(piece + "\($0)"), CBORItem.null) }
        let encoded = CBORItem.map(entries).encoded
        return { readObjects(encoded) }
    }
    text("an app's identifier") { use(AppID($0)) }
    text("a team and a bundle") { use(AppID(teamID: $0, bundleID: $0)) }
    text("a bundle") { use(AppID(teamID: "A1B2C3D4E5", bundleID: $0)) }
    bytes("authenticator data") { bytes in
        use(try? AuthenticatorData(attestation: bytes))
        use(try? AuthenticatorData(assertion: bytes))
    }
    bytes("a signature") { use(SignatureDER.rawRepresentation(of: $0)) }
}

private func cbor(_ name: String, _ item: @escaping @Sendable (String) -> CBORItem) -> HostilePlace {
    made("\(name) in CBOR", bytes: CBORLimits.maximumAttestationBytes - 256) { bytes in
        let encoded = item(String(decoding: bytes, as: UTF8.self)).encoded
        return { readObjects(encoded) }
    }
}

private func readObjects(_ bytes: [UInt8]) {
    do throws(AttestationError) {
        use(try AttestationObject(bytes))
    } catch {
        use("\(error)")
    }
    use(try? AssertionObject(bytes))
    use(try? CBORDecoder.decode(bytes, maximumBytes: CBORLimits.maximumAttestationBytes))
}
