#if canImport(DeviceCheck)
    import DeviceCheck
    public import Foundation

    /// App Attest of the system.
    public struct AppleAppAttest: AppAttestService {
        public init() {}

        public var isSupported: Bool { DCAppAttestService.shared.isSupported }

        public func generateKey() async throws -> String {
            try await named { try await DCAppAttestService.shared.generateKey() }
        }

        public func attestKey(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data {
            try await named {
                try await DCAppAttestService.shared.attestKey(keyIdentifier, clientDataHash: clientDataHash)
            }
        }

        public func generateAssertion(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data {
            try await named {
                try await DCAppAttestService.shared.generateAssertion(keyIdentifier, clientDataHash: clientDataHash)
            }
        }

        private func named<Value>(_ call: () async throws -> Value) async throws -> Value {
            do { return try await call() } catch {
                let error = error as NSError
                throw AppAttestFailure(domain: error.domain, code: error.code, own: DCError.errorDomain)
            }
        }
    }
#endif
