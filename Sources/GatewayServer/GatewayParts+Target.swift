import CharacterSets
import Reactors
import Relay
import RelayCore
import Settings
import Telnet

extension GatewayParts {
    /// Makes the dialer for targets. A TLS setup that fails stops the start.
    static func dialer(_ target: SectionValues<TargetSection>) throws(GatewayError) -> TargetDialer {
        let modes = Set([target.tlsMode] + target.routes.compactMap(\.options.tls))
        return TargetDialer(
            tlsMode: target.tlsMode,
            preferredTLS: modes.contains(.prefer) ? try tls(.prefer, target) : nil,
            requiredTLS: modes.contains(.required) ? try tls(.required, target) : nil,
            proxyHeader: target.proxyProtocol, timeoutMilliseconds: target.dialTimeoutMilliseconds)
    }

    private static func tls(
        _ mode: TargetTLSSettings.Mode, _ settings: SectionValues<TargetSection>
    ) throws(GatewayError) -> TargetTLS {
        do throws(TargetTLSSettingsError) {
            return try TargetTLS(
                TargetTLSSettings(mode: mode, caPath: settings.authorityPath, pins: settings.pins))
        } catch {
            switch error {
            case .caFile(let path, let reason): throw .targetTLS("TARGET_CA_PATH \(path) can't be used: \(reason)")
            case .nothingTrusted:
                throw .targetTLS(
                    "no authority is trusted: install ca-certificates, or set TARGET_CA_PATH or TARGET_TLS_PIN")
            case .ownFile(let path, let reason): throw .targetTLS("\(path) can't be used: \(reason)")
            case .openSSL(let reason): throw .targetTLS("OpenSSL: \(reason)")
            }
        }
    }

    static func dialects(_ configuration: GatewayConfiguration) -> DialectSettings {
        var settings = DialectSettings()
        settings.standard = configuration.dialects.standard
        settings.wait = UInt64(configuration.dialects.waitMilliseconds) * 1_000_000
        settings.connectWait = UInt64(configuration.session.connectWaitSeconds) * 1_000_000_000
        settings.maximumMessageBytes = configuration.session.maximumMessageBytes
        settings.outputBufferBytes = configuration.resume.graceMinutes == 0 ? 0 : configuration.resume.outputBufferBytes
        settings.tellsTargetOfClient = configuration.resume.tellsTarget
        let keepAlive = UInt64(configuration.target.keepAliveSeconds)
        settings.keepAlive = keepAlive == 0 ? nil : keepAlive * 1_000_000_000
        settings.telnet.clientVersion = Gateway.version
        settings.telnet.encoding = configuration.telnet.encoding
        settings.telnet.tables = IconvTables.shared
        settings.telnet.mxp = configuration.telnet.mxp
        settings.telnet.mccp = configuration.telnet.mccp
        settings.telnet.maximumSubnegotiationBytes = configuration.telnet.maximumSubnegotiationBytes
        return settings
    }
}
