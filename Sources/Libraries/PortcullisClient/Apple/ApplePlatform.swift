#if canImport(DeviceCheck) && canImport(Security) && canImport(Network) && canImport(os)
    import Foundation
    import os

    extension ClientPlatform {
        /// Everything of Apple's system.
        ///
        /// - Parameters:
        ///   - trust: pins, and in debug builds a client certificate.
        ///   - accessGroup: of the keychain, for apps that share a key with their extensions.
        public static func apple(trust: ServerTrust = ServerTrust(), accessGroup: String? = nil) -> ClientPlatform {
            let logger = Logger(subsystem: Bundle.main.bundleIdentifier ?? "portcullis", category: "Portcullis")
            return ClientPlatform(
                transport: URLSessionTransport(trust: trust), appAttest: AppleAppAttest(),
                deviceKeys: SecureEnclaveKeys.isAvailable ? SecureEnclaveKeys() : SoftwareDeviceKeys(),
                secrets: Keychain(accessGroup: accessGroup), network: AppleNetworkPath(),
                log: { level, text in logger.log(level: level.osLogType, "\(text, privacy: .public)") })
        }
    }

    extension LogLevel {
        fileprivate var osLogType: OSLogType {
            switch self {
            case .debug: .debug
            case .info: .info
            case .warning, .off: .default
            case .error: .error
            }
        }
    }
#endif
