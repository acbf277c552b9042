import SwiftASN1
package import X509

/// Android's key description, with everything that a forgery may change.
package struct AndroidKeyDescriptionPlan: Sendable {
    /// An entry of an authorization list: its tag, and the DER in it.
    package struct Authorization: Sendable {
        package var tag: Int
        package var content: [UInt8]

        package init(_ tag: Int, _ content: [UInt8]) { (self.tag, self.content) = (tag, content) }

        /// What the key may be used for: 2 is signing.
        package static func purposes(_ numbers: UInt8...) -> Self {
            Self(1, DERItem.encode([0x31], numbers.flatMap { DERItem.encode([0x02], [$0]) }))
        }
        /// Where the key comes from: 0 means generated, 2 imported.
        package static func origin(_ number: UInt8) -> Self { Self(702, DERItem.encode([0x02], [number])) }
        package static var allApplications: Self { Self(600, DERItem.encode([0x05], [])) }
        /// When the key was made.
        static var creationTime: Self { Self(701, DERItem.encode([0x02], [0x01, 0x94, 0x70, 0x77, 0x38, 0xA2])) }
    }

    package var challenge: [UInt8]
    package var software: [Authorization] = [.creationTime]
    package var hardware: [Authorization] = [.purposes(2), .origin(0)]
    /// Appended to the fields.
    package var surplus: [UInt8] = []

    package init(challenge: [UInt8]) { self.challenge = challenge }

    package var encoded: [UInt8] {
        let number = DERItem.encode([0x02], [0x04])
        let hardwareLevel = DERItem.encode([0x0A], [0x01])
        let fields = [
            number, hardwareLevel, number, hardwareLevel, DERItem.encode([0x04], challenge),
            DERItem.encode([0x04], []), Self.list(software), Self.list(hardware), surplus,
        ]
        return DERItem.encode([0x30], fields.flatMap { $0 })
    }

    package var certificateExtension: Certificate.Extension {
        Certificate.Extension(oid: [1, 3, 6, 1, 4, 1, 11129, 2, 1, 17], critical: false, value: encoded[...])
    }

    private static func list(_ entries: [Authorization]) -> [UInt8] {
        DERItem.encode(
            [0x30],
            entries.flatMap { entry in
                let head =
                    entry.tag < 31
                    ? [0xA0 | UInt8(entry.tag)]
                    : [0xBF, 0x80 | UInt8(entry.tag >> 7), UInt8(entry.tag & 0x7F)]
                return DERItem.encode(head, entry.content)
            })
    }
}

/// DER written by hand: also what no serializer writes.
package enum DERItem {
    /// - Parameter tag: the identifier's bytes.
    package static func encode(_ tag: [UInt8], _ content: [UInt8]) -> [UInt8] {
        let length = content.count
        if length < 0x80 { return tag + [UInt8(length)] + content }
        if length < 0x100 { return tag + [0x81, UInt8(length)] + content }
        return tag + [0x82, UInt8(length >> 8), UInt8(length & 0xFF)] + content
    }
}
