import CharacterSets
import Reactors
import Relay
import RelayCore
import Settings
import Telnet

extension GatewayParts {
    /// Makes the dialer for targets. A TLS setup that fails stops the start.
    static func dialer(_ target: LiveValues<TargetSection>) throws(GatewayError) -> TargetDialer {
        let modes = Set([target.tlsMode] + target.routes.compactMap(\.options.tls))
        return TargetDialer(
            tlsMode: target.tlsMode,
            preferredTLS: modes.contains(.prefer) ? try tls(.prefer, target) : nil,
            requiredTLS: modes.contains(.required) ? try tls(.required, target) : nil,
            proxyHeader: target.proxyProtocol, timeoutMilliseconds: target.dialTimeoutMilliseconds)
    }

    private static func tls(
        _ mode: TargetTLSSettings.Mode, _ settings: LiveValues<TargetSection>
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

    static func dialects(_ live: LiveConfiguration) -> DialectSettings {
        var settings = DialectSettings()
        settings.standard = live.dialects.standard
        settings.wait = UInt64(live.dialects.waitMilliseconds) * 1_000_000
        settings.connectWait = UInt64(live.session.connectWaitSeconds) * 1_000_000_000
        settings.maximumMessageBytes = live.session.maximumMessageBytes
        settings.outputBufferBytes = live.resume.graceMinutes == 0 ? 0 : live.resume.outputBufferBytes
        settings.tellsTargetOfClient = live.resume.tellsTarget
        let keepAlive = UInt64(live.target.keepAliveSeconds)
        settings.keepAlive = keepAlive == 0 ? nil : keepAlive * 1_000_000_000
        settings.telnet.clientVersion = Gateway.version
        settings.telnet.encoding = live.telnet.encoding
        settings.telnet.tables = IconvTables.shared
        settings.telnet.mxp = live.telnet.mxp
        settings.telnet.mccp = live.telnet.mccp
        settings.telnet.maximumSubnegotiationBytes = live.telnet.maximumSubnegotiationBytes
        return settings
    }
}
