/// What the library needs of the system. Apps on Apple's systems use `ClientPlatform.apple(…)`; on Linux the parts are
/// given one by one.
public struct ClientPlatform: Sendable {
    public var appAttest: any AppAttestService
    public var passkeys: any PasskeyAuthenticator
    /// Without one no refresh token is stored: players sign in again when their access token has ended.
    public var unlock: any LocalUnlock = NoLocalUnlock()
    /// What stretches a PIN. Each unlock waits for it.
    var pinRounds = UnlockedKey.rounds
    public var deviceKeys: any DeviceKeyMaker
    public var secrets: any SecretStore
    public var clock: any ClientClock
    public var network: any NetworkPath
    public var transport: any Transport
    /// From 0 to 1, for jitter.
    public var random: @Sendable () -> Double
    /// Receives what the library logs. The configuration has the level.
    public var log: @Sendable (LogLevel, String) -> Void

    public init(
        transport: any Transport, appAttest: any AppAttestService = NoAppAttest(),
        passkeys: any PasskeyAuthenticator = NoPasskeys(),
        deviceKeys: any DeviceKeyMaker = SoftwareDeviceKeys(), secrets: any SecretStore = MemorySecretStore(),
        clock: any ClientClock = SystemClock(), network: any NetworkPath = UnobservedNetworkPath(),
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) },
        log: @escaping @Sendable (LogLevel, String) -> Void = { _, _ in }
    ) {
        (self.transport, self.appAttest, self.passkeys) = (transport, appAttest, passkeys)
        (self.deviceKeys, self.secrets) = (deviceKeys, secrets)
        (self.clock, self.network, self.random, self.log) = (clock, network, random, log)
    }
}

/// How much the library logs. No level logs tokens, assertions, challenges, nonces, or what players read and type.
public enum LogLevel: Int, Sendable, Comparable, CaseIterable {
    case debug, info, warning, error, off

    public static func < (one: LogLevel, other: LogLevel) -> Bool { one.rawValue < other.rawValue }
}
