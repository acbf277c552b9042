#if canImport(CryptoKit) && canImport(LocalAuthentication) && canImport(Security)
    import CryptoKit
    public import Foundation
    import LocalAuthentication
    import Security

    /// Unlocks the refresh token by biometrics, or by a PIN that the app asks for. In either case the wrapping key is
    /// in the Secure Enclave, and never leaves it.
    ///
    /// A key for biometrics is gone when a finger or a face is added or removed. With a PIN the system shows no dialog:
    /// the PIN is key material beside the Enclave's secret.
    public struct AppleUnlock: LocalUnlock {
        /// Shows the app's own dialog.
        ///
        /// - Parameter attemptsLeft: before the token is cleared; nil: the player chooses a new PIN.
        /// - Returns: nil if the player has closed it.
        public typealias PINDialog = @MainActor @Sendable (_ attemptsLeft: Int?) async -> String?

        private static let peerBytes = 65

        private let reason: String
        private let dialog: PINDialog?

        /// - Parameters:
        ///   - reason: what the system's dialog says.
        ///   - pin: nil: biometrics, where ``hasBiometrics`` is true.
        public init(reason: String, pin: PINDialog? = nil) { (self.reason, dialog) = (reason, pin) }

        /// Whether this device has them, and the user has set them up for this app.
        public static var hasBiometrics: Bool {
            LAContext().canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil)
        }

        /// - Returns: whether the key is bound to biometrics, the other party of its key agreement, and the key as only
        ///   this device's Enclave can read it.
        public func makeKey() async throws -> Data {
            guard SecureEnclave.isAvailable, dialog != nil || Self.hasBiometrics else {
                throw UnlockFailure.unsupported
            }
            let flags: SecAccessControlCreateFlags =
                dialog == nil ? [.privateKeyUsage, .biometryCurrentSet] : .privateKeyUsage
            let access = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, flags, nil)
            guard let access else { throw UnlockFailure.other(Int(errSecParam)) }
            return try Self.named {
                let key = try SecureEnclave.P256.KeyAgreement.PrivateKey(accessControl: access)
                // Nobody keeps the private key of the other party.
                let peer = P256.KeyAgreement.PrivateKey().publicKey
                return Data([dialog == nil ? 1 : 0]) + peer.x963Representation + key.dataRepresentation
            }
        }

        public func secret(of restoration: Data, salt: Data) async throws -> Data {
            let (isBiometric, peer) = (restoration.first == 1, restoration.dropFirst().prefix(Self.peerBytes))
            let context = LAContext()
            if isBiometric { try await authenticate(context) }
            return try Self.named {
                let key = try SecureEnclave.P256.KeyAgreement.PrivateKey(
                    dataRepresentation: Data(restoration.dropFirst(1 + Self.peerBytes)), authenticationContext: context)
                let shared = try key.sharedSecretFromKeyAgreement(
                    with: P256.KeyAgreement.PublicKey(x963Representation: Data(peer)))
                let secret = shared.hkdfDerivedSymmetricKey(
                    using: SHA256.self, salt: salt, sharedInfo: Data("portcullis local unlock".utf8),
                    outputByteCount: 32)
                return secret.withUnsafeBytes { Data($0) }
            }
        }

        public func pin(attemptsLeft: Int?) async throws -> String? {
            guard let dialog else { return nil }
            guard let pin = await dialog(attemptsLeft) else { throw UnlockFailure.cancelled }
            return pin
        }

        /// Shows the system's dialog here, because using the key would wait for it on a thread.
        private func authenticate(_ context: LAContext) async throws {
            do {
                let isOwner = try await context.evaluatePolicy(
                    .deviceOwnerAuthenticationWithBiometrics, localizedReason: reason)
                guard isOwner else { throw UnlockFailure.cancelled }
            } catch {
                throw Self.failure(error)
            }
        }

        private static func named<Value>(_ call: () throws -> Value) throws -> Value {
            do { return try call() } catch { throw failure(error) }
        }

        private static func failure(_ error: any Error) -> UnlockFailure {
            if let failure = error as? UnlockFailure { return failure }
            let error = error as NSError
            return UnlockFailure(domain: error.domain, code: error.code, own: LAError.errorDomain)
        }
    }
#endif
