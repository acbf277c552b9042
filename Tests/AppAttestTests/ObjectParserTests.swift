import AppAttest
import DeviceSimulation
import Testing

@Suite("Attestation objects, assertion objects and authenticator data")
struct ObjectParserTests {
    /// A device with iOS 27, so that every part is present.
    static func simulation() throws -> Simulation { try Simulation(.init(extensions: SimulatedExtensions())) }

    @Test func `no proper prefix of an attestation or an assertion is one`() throws {
        var simulation = try Self.simulation()
        let attestation = try simulation.attestation()
        for length in 0..<attestation.count {
            #expect(throws: AttestationError.malformedObject(.truncated)) {
                try AttestationObject(Array(attestation.prefix(length)))
            }
        }
        let assertion = try simulation.device.assert(clientDataHash: Simulation.clientDataHash)
        for length in 0..<assertion.count {
            #expect(throws: AssertionError.malformedObject(.truncated)) {
                try AssertionObject(Array(assertion.prefix(length)))
            }
        }
    }

    @Test func `authenticator data may end only after its fields or after its map`() throws {
        var simulation = try Self.simulation()
        let attested = try AttestationObject(try simulation.attestation()).authenticatorData
        let map = attested.count - 164
        #expect(map > 0)
        for length in 0..<attested.count {
            let data = try? AuthenticatorData(attestation: Array(attested.prefix(length)))
            #expect((data != nil) == (length == 164), "\(length) bytes")
        }
        #expect(try AuthenticatorData(attestation: attested).extensions.validationCategory == 4)

        let assertion = try simulation.device.assert(clientDataHash: Simulation.clientDataHash)
        let asserted = try AssertionObject(assertion).authenticatorData
        #expect(asserted.count == 37 + map)
        for length in 0..<asserted.count {
            let data = try? AuthenticatorData(assertion: Array(asserted.prefix(length)))
            #expect((data != nil) == (length == 37), "\(length) bytes")
        }
        #expect(try AuthenticatorData(assertion: asserted).counter == 1)
    }

    @Test func `flags change nothing: all 256 values give the same result`() throws {
        let bytes = try AttestationObject(try Self.simulation().attestation()).authenticatorData
        let header = Array(bytes.prefix(37))
        for flags in 0...255 as ClosedRange<UInt8> {
            var changed = bytes
            changed[32] = flags
            let attested = try AuthenticatorData(attestation: changed)
            #expect(attested.extensions.validationCategory == 4)
            #expect(attested.flags == flags)
            var bare = header
            bare[32] = flags
            #expect(try AuthenticatorData(assertion: bare).extensions.validationCategory == nil)
        }
    }

    @Test func `a validation category is four bytes, lowest first, or an integer`() throws {
        let header = [UInt8](repeating: 0, count: 37)
        func category(_ value: CBORItem) throws -> UInt32? {
            let map = CBORItem.map([(.text("apple_validation_category_01"), value), (.text("apple_new_01"), .null)])
            return try AuthenticatorData(assertion: header + map.encoded).extensions.validationCategory
        }
        #expect(try category(.bytes([4, 0, 0, 0])) == 4)
        #expect(try category(.bytes([1, 2, 3, 4])) == 0x0403_0201)
        #expect(try category(.unsigned(10)) == 10)
        #expect(try category(.unsigned(UInt64(UInt32.max))) == .max)
        for other in [CBORItem.unsigned(1 << 32), .bytes([4]), .bytes([]), .text("4"), .negative(3), .null] {
            #expect(throws: AuthenticatorDataError.unexpectedExtensions) { try category(other) }
        }
    }

    @Test func `keys of the appended map are texts, and a bundle version is one too`() {
        let header = [UInt8](repeating: 0, count: 37)
        for map in [
            CBORItem.map([(.unsigned(1), .null)]), .map([(.text("apple_bundle_version_01"), .bytes([1]))]), .null,
        ] {
            #expect(throws: AuthenticatorDataError.unexpectedExtensions) {
                try AuthenticatorData(assertion: header + map.encoded)
            }
        }
    }

    @Test func `a top-level cdHash is tolerated, whatever it is, and changes nothing`() async throws {
        let simulation = try Self.simulation()
        let attestation = try simulation.attestation()
        let plain = try await simulation.verify(attestation)
        for value in [CBORItem.bytes([UInt8](repeating: 1, count: 32)), .text("x"), .array([.null])] {
            // The map has one additional entry at the front.
            let tolerated = [0xa4] + CBORItem.text("cdHash").encoded + value.encoded + attestation.dropFirst()
            #expect(try await simulation.verify(tolerated) == plain)
        }
    }

    @Test func `a receipt is bytes or absent`() throws {
        func object(_ receipt: (CBORItem, CBORItem)?) -> [UInt8] {
            let chain = (CBORItem.text("x5c"), CBORItem.array([.bytes([1]), .bytes([2])]))
            return CBORItem.map([
                (.text("fmt"), .text("apple-appattest")),
                (.text("attStmt"), .map([chain] + (receipt.map { [$0] } ?? []))),
                (.text("authData"), .bytes([3])),
            ]).encoded
        }
        #expect(try AttestationObject(object(nil)).receipt == [])
        #expect(try AttestationObject(object((.text("receipt"), .bytes([4, 5])))).receipt == [4, 5])
        #expect(throws: AttestationError.unreadableField(.receipt)) {
            try AttestationObject(object((.text("receipt"), .text("x"))))
        }
    }

    @Test func `fields have App Attest's types`() {
        let wrongFormat = CBORItem.map([(.text("fmt"), .bytes([1]))]).encoded
        #expect(throws: AttestationError.unreadableField(.fmt)) { try AttestationObject(wrongFormat) }
        #expect(throws: AttestationError.notAMap) { try AttestationObject(CBORItem.null.encoded) }
        let wrongSignature = CBORItem.map([(.text("signature"), .text("x"))]).encoded
        #expect(throws: AssertionError.unreadableField(.signature)) { try AssertionObject(wrongSignature) }
    }
}
