import Admission
import Reactors

/// Who may use the internal listener.
extension ConfigurationLoader {
    /// Nil without ADMIN_BIND.
    var internalAddress: InternalAddress? {
        mutating get { read(settings.internalListener.binding)?.address }
    }

    /// Bytes; room for the longest token and a line end.
    private static let maximumTokenFileBytes = 1_024

    mutating func internalToken() -> InternalToken? {
        let section = settings.internalListener
        let path = read(section.tokenPath)
        guard internalAddress != nil else {
            if path != nil { warn(section.tokenPath, "has no effect without ADMIN_BIND.") }
            return nil
        }
        guard let path else { return nil }
        if NamedFile.isReadableByEverybody(path) {
            warn(section.tokenPath, "everybody on this machine can read the token: chmod o= it.")
        }
        guard let text = text(of: section.tokenPath, path, maximumBytes: Self.maximumTokenFileBytes) else { return nil }
        do throws(OperatorListError) {
            return try InternalToken(text)
        } catch {
            fail(section.tokenPath, "names a file that \(error.problem)", error.remedy)
            return nil
        }
    }

    // MARK: TLS

    /// TLS is on where a certificate or an authority is set for the listener, and where other machines reach it.
    ///
    /// - Parameter edge: the TLS toward clients, whose certificate is used if the listener has none of its own.
    mutating func internalTLS(besides edge: GatewayConfiguration.TLS?) -> GatewayConfiguration.InternalTLS? {
        let (section, files) = (settings.internalTLS, read(\.internalTLS))
        let named = [section.certificatePath, section.keyPath, section.authorityPath, section.revocationListPath]
        guard let address = internalAddress else {
            for setting in named where isSet(setting) { warn(setting, "has no effect without ADMIN_BIND.") }
            return nil
        }
        guard !address.isUnix else {
            for setting in named where isSet(setting) { refuseOnUnixSocket(setting) }
            return nil
        }
        let isSecured = named.contains(where: isSet)
        let allowsPlainText = read(settings.internalListener.binding)?.allowsPlainText == true
        guard isSecured || address.isPublic && !allowsPlainText else { return nil }
        if allowsPlainText {
            warn(settings.internalListener.binding, "has tls=off without effect: the internal listener has TLS.")
        }
        let clients = internalClients(files)
        guard let pair = internalCertificate(files, besides: edge) else { return nil }
        return GatewayConfiguration.InternalTLS(
            certificatePath: pair.certificate, keyPath: pair.key, hasOwnCertificate: files.certificatePath != nil,
            clients: clients)
    }

    private mutating func refuseOnUnixSocket(_ setting: LiveSetting<String?>) {
        refuse(
            setting, "is set while ADMIN_BIND is a Unix socket, which has no TLS",
            "Remove it: the socket's group says who may connect (`group=` of ADMIN_BIND).",
            involving: [settings.internalListener.binding])
    }

    private mutating func internalCertificate(
        _ files: SectionValues<InternalTLSSection>, besides edge: GatewayConfiguration.TLS?
    ) -> (certificate: String, key: String)? {
        let section = settings.internalTLS
        switch (files.certificatePath, files.keyPath) {
        case (let certificate?, let key?):
            checkServerCertificate((section.certificatePath, certificate), (section.keyPath, key))
            return (certificate, key)
        case (.some, nil): refuseHalf(section.certificatePath, without: section.keyPath)
        case (nil, .some): refuseHalf(section.keyPath, without: section.certificatePath)
        case (nil, nil):
            if let edge { return (edge.certificatePath, edge.keyPath) }
            // That the edge's certificate is missing is an error of its own.
            guard read(settings.inboundTLS.mode) == .off else { return nil }
            refuse(
                settings.internalListener.binding, "needs TLS, and there is no certificate for it",
                "Set ADMIN_TLS_CERT_PATH and ADMIN_TLS_KEY_PATH. Otherwise use 127.0.0.1, [::1] or a Unix socket, or, if only a network"
                    + " of your own can reach it, add `,tls=off` to ADMIN_BIND.",
                involving: [settings.internalListener.binding, settings.inboundTLS.mode])
        }
        return nil
    }

    private mutating func refuseHalf(_ setting: LiveSetting<String?>, without other: LiveSetting<String?>) {
        refuse(
            setting, "is set without \(other.name)", "Set both, or neither to use the server's certificate.",
            involving: [setting, other])
    }

    private mutating func internalClients(
        _ files: SectionValues<InternalTLSSection>
    ) -> GatewayConfiguration.ClientCertificates? {
        let section = settings.internalTLS
        guard let authority = files.authorityPath else {
            if files.revocationListPath != nil {
                refuse(
                    section.revocationListPath, "is set without ADMIN_CLIENT_CA_PATH",
                    "Name the authority whose certificates the list revokes, or remove the list.",
                    involving: [section.authorityPath])
            }
            return nil
        }
        checkClientAuthorities(
            (section.authorityPath, authority),
            revocationLists: files.revocationListPath.map { (section.revocationListPath, $0) })
        return GatewayConfiguration.ClientCertificates(
            authorityPath: authority, revocationListPath: files.revocationListPath)
    }

    // MARK: Who may use it

    /// An address that other machines reach needs something to recognise the operator's programs by.
    mutating func checkInternalAccess(hasToken: Bool, _ tls: GatewayConfiguration.InternalTLS?) {
        let section = settings.internalListener
        guard let address = internalAddress else {
            if isSet(section.console) { warn(section.console, "has no effect without ADMIN_BIND.") }
            return
        }
        if read(section.console) == .on, read(section.binding)?.socketGroup != nil {
            warn(section.console, "the members of the group of ADMIN_BIND can close sessions and revoke devices.")
        }
        guard address.isPublic else { return }
        let hasAuthority = read(settings.internalTLS.authorityPath) != nil
        guard hasToken || hasAuthority || hasFailed(section.tokenPath) else {
            return refuse(
                section.binding,
                "is an address that other machines can reach, and neither ADMIN_TOKEN_PATH nor ADMIN_CLIENT_CA_PATH is set",
                "Use 127.0.0.1, [::1] or a Unix socket, or set one of the two: what connects there decides for clients.",
                involving: [section.binding, section.tokenPath, settings.internalTLS.authorityPath])
        }
        guard tls == nil, read(section.binding)?.allowsPlainText == true else { return }
        warn(section.binding, "has no TLS: anyone on the network path can read the token.")
    }

    // MARK: The Unix socket

    /// The number of the socket's group.
    mutating func internalSocketGroup() -> UInt32? {
        let section = settings.internalListener
        guard let name = read(section.binding)?.socketGroup else { return nil }
        guard let group = SystemGroup.number(of: name) else {
            fail(section.binding, "names no group of this machine", "Make it with `groupadd --system \(name)`.")
            return nil
        }
        guard SystemGroup.isOwn(group) else {
            fail(
                section.binding, "names a group that the gateway's user isn't a member of",
                "Add the user (`usermod --append --groups \(name) portcullis`) and start the gateway again.")
            return nil
        }
        return group
    }
}
