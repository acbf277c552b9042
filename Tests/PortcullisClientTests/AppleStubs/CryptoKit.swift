// Stand-in for Apple's module: the signatures of its public interface that the library uses.
public import Foundation
public import Security

public struct SHA256Digest: Sequence, Sendable {
    public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}

public struct SHA256: Sendable {
    public static func hash<D: DataProtocol>(data: D) -> SHA256Digest { SHA256Digest() }
}

public enum P256: Sendable {
    public enum Signing: Sendable {
        public struct ECDSASignature: Sendable {
            public var rawRepresentation: Data { Data() }
        }

        public struct PublicKey: Sendable {
            public var x963Representation: Data { Data() }
        }

        public struct PrivateKey: Sendable {
            public init(compactRepresentable: Bool = true) {}
            public init<D: ContiguousBytes>(rawRepresentation: D) throws {}

            public var publicKey: PublicKey { PublicKey() }
            public var rawRepresentation: Data { Data() }

            public func signature<D: DataProtocol>(for data: D) throws -> ECDSASignature { ECDSASignature() }
        }
    }
}

public enum SecureEnclave: Sendable {
    public static var isAvailable: Bool { false }

    public enum P256: Sendable {
        public enum Signing: Sendable {
            public struct PrivateKey: Sendable {
                public init(compactRepresentable: Bool = true, accessControl: SecAccessControl) throws {}
                public init(dataRepresentation: Data) throws {}

                public var publicKey: CryptoKit.P256.Signing.PublicKey { .init() }
                public var dataRepresentation: Data { Data() }

                public func signature<D: DataProtocol>(for data: D) throws -> CryptoKit.P256.Signing.ECDSASignature {
                    .init()
                }
            }
        }
    }
}

public struct SymmetricKey: ContiguousBytes, Sendable {
    public init<D: ContiguousBytes>(data: D) {}

    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

public protocol HashFunction: Sendable {}

extension SHA256: HashFunction {}

public struct HashedAuthenticationCode<H: HashFunction>: Sequence, Sendable {
    public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}

public struct HMAC<H: HashFunction>: Sendable {
    public static func authenticationCode<D: DataProtocol>(for data: D, using key: SymmetricKey)
        -> HashedAuthenticationCode<H>
    { HashedAuthenticationCode() }
}

public struct HKDF<H: HashFunction>: Sendable {
    public static func deriveKey<Salt: DataProtocol, Info: DataProtocol>(
        inputKeyMaterial: SymmetricKey, salt: Salt, info: Info, outputByteCount: Int
    ) -> SymmetricKey { inputKeyMaterial }
}

public enum AES: Sendable {
    public enum GCM: Sendable {
        public struct Nonce: Sendable {}

        public struct SealedBox: Sendable {
            public init<D: DataProtocol>(combined: D) throws {}

            public var combined: Data? { nil }
        }

        public static func seal<D: DataProtocol>(_ message: D, using key: SymmetricKey, nonce: Nonce? = nil) throws
            -> SealedBox
        { try SealedBox(combined: Data()) }

        public static func open(_ box: SealedBox, using key: SymmetricKey) throws -> Data { Data() }
    }
}
