import Crypto
package import FoundationEssentials

/// The hashes of a body that passes through: none of it is kept.
package struct BodyHash: Sendable {
    /// Of the client data, and the body behind it.
    private var signed = SHA256()
    private var body = SHA256()
    package private(set) var count = 0

    /// - Parameter clientData: as received.
    package init(behind clientData: [UInt8]) { signed.update(data: clientData) }

    package mutating func update(_ bytes: some DataProtocol) {
        signed.update(data: bytes)
        body.update(data: bytes)
        count += bytes.count
    }

    package func finished() -> HashedBody {
        HashedBody(signed: Array(signed.finalize()), digest: Array(body.finalize()), count: count)
    }
}

/// A body that has passed through.
package struct HashedBody: Sendable, Equatable {
    /// SHA-256 of the client data, and the body behind it.
    let signed: [UInt8]
    /// SHA-256 of the body.
    let digest: [UInt8]
    package let count: Int
}
