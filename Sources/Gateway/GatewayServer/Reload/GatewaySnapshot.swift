import Admission
import Observability
import Reactors
import Relay
import Settings

/// What the settings say now, and what was made of them: all of one reload, or of the start. Immutable: a reload makes
/// another one.
final class GatewaySnapshot: Sendable {
    /// For the differences that the next reload reports.
    let settings: SettingsInEffect
    let pinned: StartupPinned
    let live: LiveConfiguration
    let parts: GatewayParts
    let certificates: CertificateFigures

    init(settings: SettingsInEffect, pinned: StartupPinned, live: LiveConfiguration, parts: GatewayParts) {
        self.settings = settings
        self.pinned = pinned
        self.live = live
        self.parts = parts
        certificates = CertificateFigures(parts)
    }
}

/// The one pointer to the snapshot that is in effect. What isn't on a reactor reads it where it uses a value; each
/// reactor has its own pointer, which it changes between two requests (`RelayServer.replace`).
typealias CurrentSnapshot = Current<GatewaySnapshot>

/// What TLS shows and trusts, as far as it expires; and whether a missing audit log keeps clients out.
struct CertificateFigures: Sendable {
    /// Nil without TLS.
    let server: CertificateValidity?
    /// By the label's value, in seconds since 1970.
    let expiries: [(name: String, time: Int64)]
    let refusesWithoutAudit: Bool

    init(_ parts: GatewayParts) {
        let (material, other) = (parts.material, parts.listening?.material)
        let found = [
            ("server", material?.validity?.upperBound), ("client_ca", material?.authorityExpiry),
            ("revocation_list", material?.revocationListExpiry),
            ("admin", parts.relay.internalCertificate?.period.upperBound), ("admin_client_ca", other?.authorityExpiry),
            ("admin_revocation_list", other?.revocationListExpiry),
        ]
        server = parts.relay.certificate
        expiries = found.compactMap { name, time in time.map { (name, $0) } }
        refusesWithoutAudit = parts.relay.whenAuditFails == .refuse
    }
}
