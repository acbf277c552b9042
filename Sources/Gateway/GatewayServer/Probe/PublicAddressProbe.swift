import Admission
import Crypto
import Reactors
import Settings
import SwiftASN1
import WireText
import X509

/// Compares the address that clients use with the certificate and the port, and looks which certificate clients get
/// there.
struct PublicAddressProbe {
    private let configuration: GatewayConfiguration
    private let dialer: ProbeDialer
    private let settings = GatewaySettings.all
    /// That of `PUBLIC_ORIGIN`, or what the gateway assumes without it.
    private let origin: WebOrigin?

    init(_ configuration: GatewayConfiguration, _ dialer: ProbeDialer) {
        self.configuration = configuration
        self.dialer = dialer
        origin = WebOrigin(PageAddress.origin(of: configuration, port: configuration.listener.port))
    }

    var findings: [ProbeFinding] {
        guard let origin else { return [] }
        return [compareCertificate(origin), comparePort(origin), askForCertificate(origin)].compactMap(\.self)
    }

    private var originSetting: String { settings.tickets.publicOrigin.name }
    private var certificateSetting: String { settings.inboundTLS.certificatePath.name }

    /// Proxies that forward requests have a certificate of their own; those that pass connections on (PROXY protocol)
    /// don't.
    private var isBehindProxies: Bool {
        !configuration.proxies.trusted.isEmpty && !configuration.proxies.sendHeader
    }

    private func compareCertificate(_ origin: WebOrigin) -> ProbeFinding? {
        let isSecure = origin.text.hasBytePrefix("https:")
        guard let tls = configuration.tls else {
            guard isSecure else { return nil }
            return ProbeFinding(
                .attention, originSetting, "\(origin.text) has TLS, and the gateway hasn't: a proxy has to end it")
        }
        guard isSecure else {
            return ProbeFinding(
                .attention, originSetting, "\(origin.text) has no TLS, and the gateway has: a proxy has to add it")
        }
        if tls.names.covers(origin) {
            return ProbeFinding(.ok, certificateSetting, "the certificate is for \(origin.host)")
        }
        return ProbeFinding(
            isBehindProxies ? .attention : .failed, certificateSetting,
            "the certificate isn't for \(origin.host), but for: \(tls.names)")
    }

    private func comparePort(_ origin: WebOrigin) -> ProbeFinding? {
        let own = configuration.listener.port
        guard let port = origin.port, own != 0 else { return nil }
        guard Int(port) != own else { return ProbeFinding(.ok, originSetting, "its port is WS_PORT, \(own)") }
        return ProbeFinding(
            .attention, originSetting,
            "its port is \(port), and WS_PORT is \(own): a proxy or a router has to pass connections on")
    }

    /// The key that clients see there, compared with the file's. Whether clients trust its issuer is their business.
    private func askForCertificate(_ origin: WebOrigin) -> ProbeFinding? {
        guard let tls = configuration.tls, let port = origin.port, port != 0, let pin = Self.pin(of: tls),
            let context = try? TargetTLS(TargetTLSSettings(mode: .required, pins: [pin]))
        else { return nil }
        let isBracketed = origin.host.hasBytePrefix("[")
        let host =
            isBracketed ? String(decoding: origin.host.utf8.dropFirst().dropLast(), as: UTF8.self) : origin.host
        let result = dialer.dial([ProbeDialer.Destination(host: host, port: port, tls: context)])[0]
        let place = "\(origin.host):\(port)"
        switch result {
        case .success:
            return ProbeFinding(.ok, certificateSetting, "\(place) shows this certificate's key")
        case .failure(.notSecured(.notPinned)):
            return ProbeFinding(.attention, certificateSetting, "\(place) shows another key: \(Self.reason(tls.keys))")
        case .failure(let error):
            return ProbeFinding(
                .attention, certificateSetting, "\(place) doesn't answer (\(error)): is the gateway running?")
        }
    }

    private static func reason(_ keys: GatewayConfiguration.CertificateKeys) -> String {
        let reason = "a proxy's, another server's, or that of a gateway that hasn't been reloaded"
        guard let next = keys.next, next != keys.inUse else { return reason }
        return reason + "; NEXT_CERT_PATH doesn't announce this one, so clients that pin keys refuse it"
    }

    private static func pin(of tls: GatewayConfiguration.TLS) -> PublicKeyPin? {
        guard let text = try? NamedFile.text(tls.certificatePath),
            let document = try? PEMDocument.parseMultiple(pemString: text).first(where: {
                $0.discriminator.hasSameBytes(as: "CERTIFICATE")
            }),
            let key = try? Certificate(pemDocument: document).publicKey.serializeAsPEM().derBytes
        else { return nil }
        return PublicKeyPin(base64: Base64.encode(Array(SHA256.hash(data: key))))
    }
}
