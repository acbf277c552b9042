// Stand-in for Apple's module: the signatures of its public interface that the library uses.
public import Foundation
public import LocalAuthentication
public import Security

public struct SHA256Digest: Sequence, Sendable {
    public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}

public struct SHA256: Sendable {
    public init() {}

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

    public enum KeyAgreement: Sendable {
        public struct PublicKey: Sendable {
            public init<D: ContiguousBytes>(x963Representation: D) throws {}

            public var x963Representation: Data { Data() }

            fileprivate init() {}
        }

        public struct PrivateKey: Sendable {
            public init(compactRepresentable: Bool = true) {}

            public var publicKey: PublicKey { PublicKey() }
        }
    }
}

public struct SharedSecret: Sendable {
    public func hkdfDerivedSymmetricKey<H: HashFunction, Salt: DataProtocol, SI: DataProtocol>(
        using hashFunction: H.Type, salt: Salt, sharedInfo: SI, outputByteCount: Int
    ) -> SymmetricKey { SymmetricKey(data: Data()) }
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

        public enum KeyAgreement: Sendable {
            public struct PrivateKey: Sendable {
                public init(
                    compactRepresentable: Bool = true, accessControl: SecAccessControl,
                    authenticationContext: LAContext? = nil
                ) throws {}
                public init(dataRepresentation: Data, authenticationContext: LAContext? = nil) throws {}

                public var dataRepresentation: Data { Data() }

                public func sharedSecretFromKeyAgreement(
                    with publicKeyShare: CryptoKit.P256.KeyAgreement.PublicKey
                ) throws -> SharedSecret { SharedSecret() }
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

public protocol HashFunction: Sendable {
    init()
}

extension SHA256: HashFunction {}

public struct HashedAuthenticationCode<H: HashFunction>: ContiguousBytes, Sequence, Sendable {
    public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }

    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

public struct HMAC<H: HashFunction>: Sendable {
    public init(key: SymmetricKey) {}

    public mutating func update<D: DataProtocol>(data: D) {}

    public func finalize() -> HashedAuthenticationCode<H> { HashedAuthenticationCode() }
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
